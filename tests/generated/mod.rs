//! Files and tables that are made from the code: compared with it, or written with `SUIRO_BLESS=1`.

#![allow(dead_code, reason = "each test uses a part")]

use std::fs;
use std::path::Path;

/// Compares a whole file with the text that the code makes; with `SUIRO_BLESS` writes it.
///
/// # Panics
/// If they differ, with the first line and the command that writes the file.
pub fn file(path: &Path, text: &str, test: &str) {
    if std::env::var_os("SUIRO_BLESS").is_some() {
        // In one step: another test compiles it at this moment.
        let new = path.with_extension("new");
        fs::write(&new, text).unwrap();
        fs::rename(&new, path).unwrap();
    }
    let (committed, name) = (fs::read_to_string(path).unwrap(), path.display());
    for (old, new) in committed.lines().zip(text.lines()) {
        assert_eq!(old, new, "{name} is stale: SUIRO_BLESS=1 cargo test --test {test}");
    }
    assert_eq!(committed.len(), text.len(), "{name}");
}

/// As [`file`], for the lines between `<!-- NAME:begin -->` and `<!-- NAME:end -->` of a page.
///
/// # Panics
/// As [`file`]; if the page has no such lines.
pub fn part(path: &Path, name: &str, text: &str, test: &str) {
    let (begin, end) = (format!("<!-- {name}:begin -->\n"), format!("<!-- {name}:end -->\n"));
    let page = fs::read_to_string(path).unwrap();
    let parts = page.split_once(&begin).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(&end)?;
        Some((before, after))
    });
    let (before, after) = parts.unwrap_or_else(|| panic!("{}: no {begin}", path.display()));
    file(path, &format!("{before}{begin}{text}{end}{after}"), test);
}
