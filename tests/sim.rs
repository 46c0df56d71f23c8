//! `suiro-sim` as people call it.

use std::fs;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A program that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(60);

fn sim(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_suiro-sim"));
    let command = command.args(words).stdin(Stdio::null());
    // What it says is less than a pipe holds.
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > LIMIT {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("suiro-sim {words:?} runs longer than {LIMIT:?}");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.wait_with_output().unwrap()
}

fn text(words: &[&str]) -> String {
    let output = sim(words);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// What it complains about, on standard error and with a failure.
fn complaint(words: &[&str]) -> String {
    let output = sim(words);
    assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// The texts of a picture, which is a document.
fn texts_of(file: &str) -> Vec<String> {
    let picture = fs::read_to_string(file).unwrap();
    let document = roxmltree::Document::parse(&picture).unwrap();
    assert_eq!(document.root_element().tag_name().name(), "svg");
    document.descendants().filter_map(|node| Some(node.text()?.to_owned())).collect()
}

fn file(name: &str) -> String {
    format!("{}/{name}", env!("CARGO_TARGET_TMPDIR"))
}

#[test]
fn rsched_tells_the_times_of_every_policy_and_pattern() {
    let table = text(&["rsched"]);
    assert_eq!(table.lines().count(), 9, "{table}");
    let words: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(words[3..], ["ew", "ns", "sides", "diagonals", "all"]);
    assert!(table.contains("BLbased(4)") && table.contains("(86)"), "{table}");
    let other = text(&["rsched", "--grid", "60", "--policy", "bl4,best", "--pattern", "ew"]);
    assert!(!other.contains('(') || !other.contains("(72)"), "{other}");
}

#[test]
fn rsched_draws_packings_and_charts() {
    let (packings, chart) = (file("packings.svg"), file("chart.svg"));
    let words = ["rsched", "--pattern", "ns", "--policy", "rr4,bl4"];
    text(&[&words[..], &["--svg", &packings, "--chart", &chart]].concat());
    let texts = texts_of(&packings);
    for wanted in ["RoundRobin(4)", "BLbased(4)", "N", "S"] {
        assert!(texts.iter().any(|text| text == wanted), "{wanted}: {texts:?}");
    }
    assert!(texts_of(&chart).iter().any(|text| text == "vertical grid size"));
}

#[test]
fn wrong_arguments_are_named() {
    for (words, wanted) in [
        (&["rsched", "--policy", "rr3"][..], "'rr3'"),
        (&["rsched", "--pattern", "up"], "'up'"),
        (&["rsched", "--grid", "0"], "'0'"),
        (&["rsched", "--torus", "8"], "not a shape such as 4x3x2"),
        (&["rsched", "--torus", "32x32x32"], "32768 nodes are more than 4096"),
        (&["rsched", "--link-rate", "0"], "from 0.000001"),
        (&["rsched", "--policy", "rr1", "--svg", "/nowhere/a.svg"], "cannot write /nowhere/a.svg"),
        (&["swim"], "'swim'"),
    ] {
        let said = complaint(words);
        assert!(said.contains(wanted), "{words:?}: {said}");
    }
}
