//! The table of settings in `docs/settings.md`, `mpirun --help-settings` and `suiro-info` say the
//! same: what the one table of settings says. `SUIRO_BLESS=1 cargo test --test settings` writes
//! the page.

mod generated;
#[allow(dead_code, reason = "each test uses a part")]
mod harness;

use std::env;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use platform::base::settings::{SETTINGS, Setting, agreed};

/// The columns that everything that lists settings has.
type Row = [String; 4];

/// The settings: name, values, default, meaning.
fn rows() -> Vec<Row> {
    let row = |setting: &Setting| {
        let Setting { name, values, default, meaning } = *setting;
        [name, values, default, meaning].map(str::to_owned)
    };
    SETTINGS.iter().map(row).collect()
}

/// What a program prints in an environment without settings.
fn printed(program: &str, words: &[&str]) -> String {
    let mut command = Command::new(program);
    for (name, _) in env::vars_os() {
        if name.to_string_lossy().starts_with("SUIRO_") {
            command.env_remove(name);
        }
    }
    let output = command.args(words).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The rows of `NAME=VALUES`, `    MEANING (DEFAULT by default)`.
fn told_by_mpirun() -> Vec<Row> {
    let text = printed(&harness::built("mpirun"), &["--help-settings"]);
    let lines: Vec<_> = text.lines().collect();
    let row = |pair: &[&str]| {
        let (name, values) = pair[0].split_once('=')?;
        let (meaning, default) = pair[1].strip_prefix("    ")?.rsplit_once(" (")?;
        let default = default.strip_suffix(" by default)")?;
        let default = if default == "not set" { "" } else { default };
        Some([name, values, default, meaning].map(str::to_owned))
    };
    lines.chunks(2).map(|pair| row(pair).unwrap_or_else(|| panic!("{pair:?}"))).collect()
}

/// The rows of `setting.NAME.PART:VALUE`.
fn told_by_suiro_info() -> Vec<Row> {
    let text = printed(&harness::built("suiro-info"), &["--all", "--parsable"]);
    let facts = text.lines().filter_map(|line| line.strip_prefix("setting.")?.split_once(':'));
    let facts: Vec<_> = facts.map(|(key, value)| (key.split_once('.').unwrap(), value)).collect();
    let part = |name: &str, part: &str| {
        let found = facts.iter().find(|(key, _)| *key == (name, part));
        found.unwrap_or_else(|| panic!("{name} has no {part}")).1.to_owned()
    };
    let names = facts.iter().filter(|((_, part), _)| *part == "value").map(|((name, _), _)| *name);
    let row = |name: &str| {
        assert_eq!(part(name, "value"), part(name, "default"), "{name} is not set");
        [name.to_owned(), part(name, "values"), part(name, "default"), part(name, "meaning")]
    };
    names.map(row).collect()
}

/// Values as code, and words between them as they are.
fn values(text: &str) -> String {
    let shown = |value: &str| {
        if value.contains(' ') { value.to_owned() } else { format!("`{value}`") }
    };
    text.split('|').map(shown).collect::<Vec<_>>().join(", ")
}

/// The table of the page.
fn table() -> String {
    let head =
        "| variable | values | default | meaning | equal on all ranks |\n|---|---|---|---|---|\n";
    let mut text = head.to_owned();
    for [name, choice, default, meaning] in rows() {
        let default =
            if default.is_empty() { "not set".to_owned() } else { format!("`{default}`") };
        let is_agreed = !agreed(|asked| (asked == name).then(|| "another".to_owned())).is_empty();
        let agreed = if is_agreed { "yes" } else { "" };
        let choice = values(&choice);
        writeln!(text, "| `{name}` | {choice} | {default} | {meaning} | {agreed} |").unwrap();
    }
    text
}

#[test]
fn the_page_has_the_settings() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/settings.md");
    assert!(rows().iter().flatten().all(|text| !text.contains('\n')), "a row is one line");
    generated::part(&page, "settings", &table(), "settings");
}

#[test]
fn programs_list_the_same_settings() {
    assert_eq!(told_by_mpirun(), rows());
    assert_eq!(told_by_suiro_info(), rows());
}

#[test]
fn a_value_is_code_and_words_are_not() {
    assert_eq!(values("off|a duration like 2m"), "`off`, a duration like 2m");
}
