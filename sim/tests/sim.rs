//! `suiro-sim` on the command line.

#[path = "../../tests/generated/mod.rs"]
mod generated;

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A program that runs longer hangs.
const LIMIT: Duration = Duration::from_secs(60);

fn sim(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_suiro-sim"));
    let command = command.args(words).stdin(Stdio::null());
    // Its output fits into a pipe.
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

/// The error message of a failing call.
fn error_of(words: &[&str]) -> String {
    let output = sim(words);
    assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// The texts of a picture, which is an XML document.
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
fn rsched_prints_the_times_of_every_policy_and_pattern() {
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
        (&["offload", "table", "sort", "--ranks", "4"], "expected one of barrier, bcast"),
        (&["offload", "table", "bcast", "--ranks", "0"], "'0'"),
        (
            &["offload", "table", "bcast", "--ranks", "4", "--rank", "4"],
            "--rank 4: expected a rank below 4",
        ),
        (&["offload", "table", "bcast", "--ranks", "4", "--root", "9"], "rank 9 as root"),
        (
            &["offload", "table", "bcast", "--ranks", "4", "--algorithm", "x"],
            "'x': expected one of binomial",
        ),
        (&["offload", "table", "bcast", "--ranks", "4", "--scheme", "pool"], "'pool'"),
        (&["offload", "table", "alltoall", "--ranks", "9999"], "steps on a rank of 9999"),
        (&["offload", "draw", "bcast", "--ranks", "4"], "--svg"),
        (&["coll", "sort", "--ranks", "4"], "expected one of barrier, bcast"),
        (&["coll", "bcast", "--ranks", "2^21"], "from 1 to 1048576"),
        (&["coll", "bcast", "--ranks", "three"], "such as 1024 or 2^10"),
        (&["coll", "bcast", "--ranks", "4", "--algorithm", "x"], "'x': expected one of binomial"),
        (
            &["coll", "bcast", "--ranks", "4", "--algorithm", "two_level"],
            "expected one of binomial",
        ),
        (
            &["coll", "allreduce", "--ranks", "4", "--algorithm", "redundant:1"],
            "redundant, redundant:M,L, redundant:M,L,descending",
        ),
        (&["coll", "bcast", "--ranks", "4", "--root", "4"], "rank 4 as root"),
        (&["coll", "bcast", "--ranks", "4", "--network", "x"], "[possible values: loggp, paper]"),
        (&["coll", "bcast", "--ranks", "4", "--latency", "0"], "--latency 0"),
        (&["coll", "bcast", "--ranks", "4", "--noise", "loud"], "'loud'"),
        (&["coll", "bcast", "--ranks", "4", "--topology", "ring"], "expected fat-tree:DOWN,LEVELS"),
        (&["coll", "bcast", "--ranks", "4", "--topology", "fat-tree:4,9"], "of 9 levels"),
        (
            &[
                "coll",
                "bcast",
                "--ranks",
                "9",
                "--topology",
                "fat-tree:4,1",
                "--ranks-per-node",
                "2",
            ],
            "9 ranks, 2 on a node, need 5 nodes: the topology has 4",
        ),
        (&["coll", "bcast", "--ranks", "4", "--hop", "3"], "--topology"),
        (&["coll", "bcast", "--ranks", "4", "--slots", "3"], "--offload"),
        (
            &["coll", "bcast", "--ranks", "4", "--offload", "tank1"],
            "[possible values: tank, prematched]",
        ),
        (&["coll", "bcast", "--ranks", "4", "--offload", "tank", "--interface", "x"], "tofud"),
        (
            &[
                "coll",
                "gather",
                "--ranks",
                "20",
                "--algorithm",
                "linear",
                "--offload",
                "prematched",
                "--interface",
                "tofu2",
            ],
            "expected at most 44",
        ),
        (&["coll", "bcast", "--ranks", "4", "--noise-length", "-1"], "'-1'"),
        (
            &["coll", "bcast", "--ranks", "4", "--noise", "periodic", "--noise-length", "10000"],
            "a noise length of 10000 us: expected less than the period of 10000 us",
        ),
        (
            &["coll", "bcast", "--ranks", "7", "--algorithm", "trinaryx3"],
            "does not fit 8 bytes on 7",
        ),
        (
            &["coll", "allgatherv", "--algorithm", "ring", "--ranks", "2^17"],
            "131071 rounds are more than 65023",
        ),
        (&["coll", "alltoall", "--ranks", "2^17"], "more than 160000000 steps"),
        (
            &["coll", "bcast", "--ranks", "4", "--bytes", "2^40", "--byte", "1000000000"],
            "may take 6.6e9 s",
        ),
        (&["coll", "bcast", "--ranks", "4", "--html", "/nowhere/a"], "cannot write /nowhere/a"),
        (&["jitter", "--ranks", "12"], "12: expected a power of two from 2^1 to 2^20"),
        (&["jitter", "--ranks", "2^4", "--middle-bits", "2"], "expected a bit below 2"),
        (&["jitter", "--ranks", "2^4", "--final-bits", "4"], "bit 4 of a final exchange"),
        (&["jitter", "--final", "65"], "from 0 to 64"),
        (&["jitter", "--final", "1", "--final-bits", "0"], "exclude each other"),
        (&["jitter", "--search", "--ranks", "16,32"], "2 numbers of ranks: expected one"),
        (&["swim"], "'swim'"),
    ] {
        let message = error_of(words);
        assert!(message.contains(wanted), "{words:?}: {message}");
    }
}

/// The cells of some columns of a table, without the line of headings.
fn cells(table: &str, columns: &[&str]) -> Vec<Vec<String>> {
    let mut lines = table.lines();
    let head = lines.next().unwrap();
    // Numbers end with their heading, words begin with it.
    let from = |column: &str| {
        let start = head.find(column).unwrap_or_else(|| panic!("{column} is not in {head}"));
        let before = head[..start].trim_end().len();
        (before, start + column.len())
    };
    let cell = |line: &str, column: &str| {
        let (begin, end) = match column {
            "operation" => (head.find(column).unwrap(), head.find("bytes").unwrap() - 2),
            _ => from(column),
        };
        line.get(begin..end.min(line.len())).unwrap_or("").trim().to_owned()
    };
    lines.map(|line| columns.iter().map(|column| cell(line, column)).collect()).collect()
}

fn table_of(words: &str, columns: &[&str]) -> Vec<Vec<String>> {
    let words: Vec<&str> = ["offload", "table"].into_iter().chain(words.split(' ')).collect();
    let table = text(&words);
    assert!(table.lines().next().unwrap().ends_with("counter"), "{table}");
    cells(&table, columns)
}

/// Rows as printed in the papers, with spaces between cells.
fn rows(text: &str) -> Vec<Vec<String>> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

#[test]
fn table_2_is_printed_literally() {
    // Th, Ot and the increments Cl and Cr, of which each request has one.
    let printed = "
        0 FI_OP_WRITE    1
        1 FI_OP_CNTR_ADD 2
        3 FI_OP_WRITE    1
        3 FI_OP_WRITE    1
    ";
    let words = "bcast --algorithm binary --ranks 15 --rank 1 --scheme tank1";
    let table = table_of(words, &["threshold", "operation", "increment"]);
    assert_eq!(table[..4], rows(printed));
    // The paper omits how the tank is emptied.
    assert_eq!(table[4..], rows("3 FI_OP_REMOTE_CNTR_ADD -3"));
    assert_eq!(table_of(words, &["peer"]).concat(), ["0", "1", "3", "4", "1"]);
}

#[test]
fn table_4_is_printed_literally() {
    let printed = "
        1 0 FI_OP_REMOTE_CNTR_ADD  4 1
        2 4 FI_OP_REMOTE_CNTR_ADD  2 2
        3 6 FI_OP_REMOTE_CNTR_ADD  1 4
        C 7 FI_OP_REMOTE_CNTR_ADD -7 0
    ";
    let columns = ["round", "threshold", "operation", "increment", "peer"];
    assert_eq!(table_of("barrier --ranks 8 --scheme tank1", &columns), rows(printed));
}

#[test]
fn table_5_is_printed_literally() {
    let printed = "
        1 1  0 FI_OP_REMOTE_CNTR_ADD  32 1
        1 2 32 FI_OP_WRITE             0 1
        1 2 32 FI_OP_REMOTE_CNTR_ADD  16 1
        2 3 48 FI_OP_REMOTE_CNTR_ADD   8 2
        2 4 56 FI_OP_WRITE             0 2
        2 4 56 FI_OP_REMOTE_CNTR_ADD   4 2
        3 5 60 FI_OP_REMOTE_CNTR_ADD   2 4
        3 6 62 FI_OP_WRITE             0 4
        3 6 62 FI_OP_REMOTE_CNTR_ADD   1 4
        C 7 63 FI_OP_REMOTE_CNTR_ADD -63 0
    ";
    let columns = ["round", "R", "threshold", "operation", "increment", "peer"];
    assert_eq!(table_of("allgather --ranks 8 --scheme tank1", &columns), rows(printed));
}

#[test]
fn tables_of_other_schemes_end_with_the_instance() {
    for scheme in ["tank", "prematched"] {
        let table = text(&["offload", "table", "allreduce", "--ranks", "5", "--scheme", scheme]);
        let last = table.lines().last().unwrap();
        assert!(last.starts_with("FIN") && last.contains("complete"), "{table}");
        assert!(table.contains("host computes"), "{table}");
    }
}

#[test]
fn table_6_is_what_the_paper_counts() {
    for (ranks, wanted) in [
        ("82944", "18 rounds of messages: as published, R = 36 of one tank, 54 counters"),
        ("1000000", "21 rounds of messages: as published, R = 42 of one tank, 63 counters"),
    ] {
        let table = text(&["offload", "resources", "allgather", "--ranks", ranks]);
        assert!(table.contains(wanted), "{table}");
        for (scheme, counters, tanks) in [("tank", "1", "2"), ("tank1", "1", "1")] {
            let line = table.lines().find(|line| line.split(' ').next() == Some(scheme)).unwrap();
            let cells: Vec<&str> = line.split_whitespace().collect();
            assert_eq!(cells[1..3], [counters, tanks], "{table}");
        }
    }
}

#[test]
fn resources_of_a_million_ranks_have_laws() {
    for (words, wanted) in [
        ("alltoall", "law of tank: counters for 0.346 n + 1 bits"),
        ("allreduce --algorithm ring", "ring does not fit 1024 bytes on 1000000 ranks"),
        ("bcast --algorithm trinaryx3", "law of tank1: counters for 1.00 log2 n"),
    ] {
        let call = ["offload", "resources"].into_iter().chain(words.split(' '));
        let table = text(&call.chain(["--ranks", "1000000"]).collect::<Vec<_>>());
        assert!(table.contains(wanted), "{table}");
        assert!(table.contains("rounds of messages"), "{table}");
        if words.ends_with("ring") {
            // One for each 12 ranks, as docs/offload.md says.
            let tank = table.lines().find(|line| line.starts_with("tank ")).unwrap();
            let counters: u32 = tank.split_whitespace().nth(1).unwrap().parse().unwrap();
            assert!((1_000_000 / 13..1_000_000 / 11).contains(&counters), "{table}");
        }
    }
}

/// `SUIRO_BLESS=1 cargo test -p sim --test sim` writes the page.
#[test]
fn the_page_on_offload_lists_what_the_generations_run() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/offload.md");
    let table = format!("```text\n{}```\n", text(&["offload", "generations"]));
    generated::part(&page, "generations", &table, "sim");
    let all = text(&["offload", "generations", "--all", "--ranks", "3"]);
    let pairwise = ["alltoall", "pairwise", "2-3", "2-3", "2-3", "2-3"];
    let is_pairwise = |line: &str| line.split_whitespace().take(6).eq(pairwise);
    assert!(all.lines().any(is_pairwise), "{all}");
}

#[test]
fn levels_are_drawn_with_the_work_that_they_trigger() {
    let levels = file("levels.svg");
    let words = "offload draw allgather --ranks 4 --rank 0,3 --scheme tank --svg";
    let words: Vec<&str> = words.split(' ').chain([levels.as_str()]).collect();
    assert!(text(&words).starts_with("completed after"));
    let texts = texts_of(&levels);
    for wanted in ["rank 0, counter 0", "rank 3, counter 0", "reset, complete", "put to 2"] {
        assert!(texts.iter().any(|text| text == wanted), "{wanted}: {texts:?}");
    }
    let same = fs::read_to_string(&levels).unwrap();
    text(&words);
    assert_eq!(fs::read_to_string(&levels).unwrap(), same, "one seed gives one picture");
}

/// The values of a CSV text of one row, which has as many as the head.
fn row_of(csv: &str) -> Vec<&str> {
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!((lines.len(), lines[0].len()), (2, lines[1].len()));
    lines[1].clone()
}

#[test]
fn coll_prints_text_csv_and_a_page() {
    let (svg, html) = (file("times.svg"), file("coll.html"));
    let words = "coll allreduce --algorithm doubling --ranks 2^13 --bytes 8 --network loggp \
                 --noise periodic --noise-period 1000 --noise-length 10";
    let words: Vec<&str> = words.split_whitespace().collect();
    let pictures = ["--svg", &svg, "--html", &html];
    let report = text(&[&words[..], &pictures].concat());
    for wanted in [
        "allreduce by doubling, 8192 ranks, 8 B",
        "noise periodic 10 us in 1000 us, seed 1",
        "106496, a rank at most 13",
        "1 counters, 2 tanks",
    ] {
        assert!(report.contains(wanted), "{wanted}: {report}");
    }
    assert!(texts_of(&svg).iter().any(|text| text == "% of ranks"));
    let page = fs::read_to_string(&html).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.matches("<figure").count() == 2);
    assert!(!page.contains("src=") && !page.contains("href="), "the page needs no other file");
    let csv = text(&[&words[..], &["--csv"]].concat());
    let values = row_of(&csv);
    assert_eq!(values[..4], ["allreduce", "doubling", "8192", "8"]);
    // Equal seeds, equal bytes.
    for threads in ["1", "2", "5"] {
        assert_eq!(text(&[&words[..], &["--csv", "--threads", threads]].concat()), csv);
        let again = [&words[..], &["--threads", threads], &pictures[2..]].concat();
        assert_eq!(text(&again), report);
        assert_eq!(fs::read_to_string(&html).unwrap(), page);
    }
    assert_ne!(text(&[&words[..], &["--csv", "--seed", "2"]].concat()), csv);
}

#[test]
fn coll_on_a_topology_tells_of_its_links() {
    let html = file("links.html");
    let words = "coll alltoall --algorithm spread --ranks 32 --bytes 4096 --topology fat-tree:4,2,2 --ranks-per-node 2 \
                 --placement random";
    let words: Vec<&str> = words.split_whitespace().collect();
    let report = text(&[&words[..], &["--html", &html]].concat());
    for wanted in [
        "fat-tree:4,2,2, 2 ranks on a node, random",
        "links, node up            16, bytes mean 245760, max 245760, busy mean",
        "links, level 1 up         8, bytes mean",
        "links, level 1 down       8, bytes mean",
    ] {
        assert!(report.contains(wanted), "{wanted}: {report}");
    }
    let page = fs::read_to_string(&html).unwrap();
    assert!(page.matches("<figure").count() == 3 && page.contains("level 1 down"));
    let csv = text(&[&words[..], &["--csv"]].concat());
    let values = row_of(&csv);
    assert!(values.contains(&"fat-tree:4;2;2; 2 ranks on a node; random"), "{csv}");
    assert_eq!(text(&[&words[..], &["--csv", "--threads", "1"]].concat()), csv);
    assert_ne!(text(&[&words[..], &["--csv", "--seed", "2"]].concat()), csv);
}

#[test]
fn coll_runs_programs_of_interfaces() {
    let words = "coll allreduce --ranks 24 --bytes 64 --topology fat-tree:4,2,2 --ranks-per-node 2 --noise random \
                 --noise-period 50 --noise-length 5 --offload tank --instances 3";
    let words: Vec<&str> = words.split_whitespace().collect();
    let report = text(&words);
    for wanted in [
        ", offload tank\n",
        "2 tanks",
        "instances                 3, the last at most",
        "links, node up",
    ] {
        assert!(report.contains(wanted), "{wanted}: {report}");
    }
    let csv = text(&[&words[..], &["--csv"]].concat());
    let values = row_of(&csv);
    assert!(values.contains(&"tank"), "{csv}");
    assert_eq!(text(&[&words[..], &["--csv"]].concat()), csv);
    // Fewer slots, later operations.
    let time = |more: &[&str]| {
        let words =
            ["coll", "bcast", "--algorithm", "linear", "--ranks", "9", "--offload", "prematched"];
        let csv = text(&[&words[..], more, &["--csv"]].concat());
        let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let (heads, cells) = (lines.next().unwrap(), lines.next().unwrap());
        let at = heads.iter().position(|head| *head == "max_us").unwrap();
        cells[at].parse::<f64>().unwrap()
    };
    assert!(time(&["--slots", "16", "--post", "5000"]) > time(&[]) + 5.0);
    assert!(time(&["--interface", "tofu1-counters"]) > 0.0);
}

/// The algorithm is that of a setting of the library.
#[test]
fn an_allreduce_has_the_extra_rounds_of_its_algorithm() {
    let rounds = |algorithm: &str| {
        let words = ["coll", "allreduce", "--ranks", "16", "--algorithm", algorithm, "--csv"];
        let csv = text(&words);
        let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let (heads, cells) = (lines.next().unwrap(), lines.next().unwrap());
        let cell = |name| cells[heads.iter().position(|head| *head == name).unwrap()].to_owned();
        (cell("algorithm"), cell("rounds"))
    };
    let of = |name: &str, rounds: &str| (name.to_owned(), rounds.to_owned());
    assert_eq!(rounds("redundant"), of("redundant", "6"));
    assert_eq!(rounds("redundant:2,3,descending"), of("redundant:2;3;descending", "9"));
    assert_eq!(rounds("redundant:final-bits=0,9"), of("redundant:final-bits=0;9", "5"));
}

#[test]
fn jitter_prints_a_line_for_each_case() {
    let svg = file("jitter.svg");
    let words = ["jitter", "--ranks", "2^4..2^6", "--runs", "2"];
    let csv = text(&[&words[..], &["--csv", "--svg", &svg]].concat());
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!((lines[0], lines.len()), ("ranks,middle,final,mean_s", 1 + 3 * 4));
    assert!(lines[1].starts_with("16,0,0,") && lines[12].starts_with("64,2,20,"), "{csv}");
    assert_eq!(text(&[&words[..], &["--csv", "--threads", "1"]].concat()), csv);
    assert!(texts_of(&svg).iter().any(|text| text == "M = 2, L = 20"));
    let table = text(&[&words[..], &["--middle", "1", "--final", "0..2"]].concat());
    assert!(table.contains("M=1 L=0") && table.contains("M=1 L=2"), "{table}");
    assert_eq!(table.lines().count(), 4, "{table}");
    let bits = text(&["jitter", "--ranks", "64", "--middle-bits", "2,0", "--csv"]);
    assert!(bits.lines().nth(1).unwrap().starts_with("64,2,20,"), "{bits}");
}

#[test]
fn jitter_searches_the_best_exchanges() {
    let svg = file("search.svg");
    let words = "jitter --search --ranks 2^8 --middle 2 --final 4 --runs 2 --noise-period 200 \
                 --noise-length 5";
    let words: Vec<&str> = words.split_whitespace().collect();
    let report = text(&[&words[..], &["--svg", &svg]].concat());
    assert!(report.contains("fewest within 5 %"), "{report}");
    assert!(texts_of(&svg).iter().any(|text| text == "final exchanges"));
    let csv = text(&[&words[..], &["--csv"]].concat());
    assert_eq!(csv.lines().count(), 1 + 3 * 5, "{csv}");
}
