//! The coverage table of the README agrees with the table of functions, which `tests/tidy.rs`
//! compares with the bodies in `src/abi`. `SUIRO_BLESS=1 cargo test --test coverage` writes it.

#[path = "../generator/functions.rs"]
mod functions;
mod generated;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use functions::functions;

/// The chapters of MPI 5.0 that define functions.
const CHAPTERS: &[(u32, &str)] = &[
    (3, "Point-to-point communication"),
    (4, "Partitioned communication"),
    (5, "Datatypes"),
    (6, "Collective communication"),
    (7, "Groups, contexts, communicators, and caching"),
    (8, "Virtual topologies"),
    (9, "Environment"),
    (10, "Info objects"),
    (11, "Process initialization, creation, and management"),
    (12, "One-sided communication"),
    (13, "External interfaces"),
    (14, "Input and output"),
    (15, "Tool support"),
    (16, "Deprecated interfaces"),
    (19, "Language bindings"),
    (20, "Application binary interface"),
];

fn table() -> String {
    let mut chapters: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
    for function in functions().iter().filter(|function| function.is_exported()) {
        let (have, all) = chapters.entry(function.chapter).or_default();
        *have += usize::from(function.is_supported());
        *all += 1;
    }
    let sum = chapters.values().fold((0, 0), |sum, row| (sum.0 + row.0, sum.1 + row.1));
    let mut text = String::from("| chapter of MPI 5.0 | functions | supported |\n|---|--:|--:|\n");
    for (chapter, (have, all)) in &chapters {
        let (_, title) = CHAPTERS.iter().find(|(number, _)| number == chapter).unwrap();
        writeln!(text, "| {chapter} {title} | {all} | {have} |").unwrap();
    }
    writeln!(text, "| **all** | **{}** | **{}** |", sum.1, sum.0).unwrap();
    text
}

#[test]
fn the_readme_tells_what_is_supported() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    generated::part(&readme, "coverage", &table(), "coverage");
}
