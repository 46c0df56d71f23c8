//! The test suite itself: no test is in a target for which the manifests disable tests.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Folders of the workspace members; the folder of the library is empty.
fn members() -> Vec<PathBuf> {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let (_, list) = manifest.split_once("\nmembers = [").unwrap();
    let (list, _) = list.split_once(']').unwrap();
    let names = list.split('"').skip(1).step_by(2);
    [""].into_iter().chain(names).map(|name| root().join(name)).collect()
}

/// The Rust files of a file or folder, with their texts.
fn sources(place: &Path) -> Vec<(PathBuf, String)> {
    let (mut found, mut pending) = (Vec::new(), vec![place.to_owned()]);
    while let Some(path) = pending.pop() {
        if let Ok(entries) = fs::read_dir(&path) {
            pending.extend(entries.map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push((path.clone(), fs::read_to_string(path).unwrap()));
        }
    }
    found
}

/// The targets of a manifest, each a section that begins with `[lib]` or `[[bin]]`.
fn targets(manifest: &str) -> impl Iterator<Item = &str> {
    let sections = manifest.split("\n[").map(|section| section.trim_start_matches('['));
    sections.filter(|section| section.starts_with("lib]") || section.starts_with("bin]"))
}

/// The numbers of lines that begin an example which rustdoc would run.
fn examples(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    // The previous line of the same comment, and whether a fence is open there.
    let (mut before, mut inside): (Option<&str>, bool) = (None, false);
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim_start();
        let Some(line) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else {
            (before, inside) = (None, false);
            continue;
        };
        if let Some(language) = line.trim_start().strip_prefix("```") {
            inside = !inside;
            let is_rust = ["rust", "no_run", "should_panic", "compile_fail", "edition"]
                .iter()
                .any(|word| language.starts_with(word));
            if inside && (language.is_empty() || is_rust) {
                found.push(number);
            }
        } else if !inside && line.starts_with("     ") && before.is_none_or(str::is_empty) {
            found.push(number);
        }
        before = Some(line);
    }
    found
}

#[test]
fn no_documentation_has_an_example_that_would_not_run() {
    let mut wrong = Vec::new();
    for folder in members() {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let libraries = targets(&manifest).filter(|target| target.starts_with("lib]"));
        // With documentation tests, scripts/test needs `cargo test --doc`.
        let runs = libraries.filter(|target| !target.contains("\ndoctest = false")).count();
        let has_library = folder.join("src/lib.rs").exists();
        assert_eq!(runs, 0, "{}: a library without doctest = false", folder.display());
        assert_eq!(has_library, targets(&manifest).any(|target| target.starts_with("lib]")));
        for (path, text) in sources(&folder.join("src")) {
            let lines = examples(&text);
            wrong.extend(lines.iter().map(|line| format!("{}:{line}: an example", path.display())));
        }
    }
    assert!(wrong.is_empty(), "doctest = false, so these never run:\n{}", wrong.join("\n"));
}

#[test]
fn no_target_without_tests_has_one() {
    let mut targets_without = 0;
    for folder in members() {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        for target in targets(&manifest).filter(|target| target.contains("\ntest = false")) {
            targets_without += 1;
            let path = target.lines().find_map(|line| line.strip_prefix("path = "));
            let file = folder.join(path.unwrap_or("src/lib.rs").trim_matches('"'));
            let beside = file.parent().unwrap();
            let is_alone = file.ends_with("lib.rs")
                || file.ends_with("main.rs") && !beside.join("lib.rs").exists();
            for (path, text) in sources(if is_alone { beside } else { &file }) {
                let is_test = |line: &str| line.contains("#[test]") || line.contains("cfg(test)");
                assert!(!text.lines().any(is_test), "{}: a test that never runs", path.display());
            }
        }
    }
    assert_eq!(
        targets_without, 12,
        "programs of launch, launch/info, launch/tune and sim, the Fortran library"
    );
}

#[test]
fn examples_are_found() {
    assert_eq!(examples("/// Adds.\n/// ```\n/// f();\n/// ```\nfn f() {}\n"), [2]);
    assert_eq!(examples("//! ```rust,no_run\n//! ```\n"), [1]);
    assert_eq!(examples("/// ```text\n///     a\n/// ```\n/// b\n"), []);
    assert_eq!(examples("/// Adds.\n///\n///     f();\nfn f() {}\n"), [3]);
    assert_eq!(examples("//     f();\n/// * a\n///   b\n"), []);
}
