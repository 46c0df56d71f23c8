//! Runs compilers and small programs from tests, with a time limit.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Time limit of a program; the slowest one is the static link.
const LIMIT: Duration = Duration::from_secs(120);

/// The directory of the package.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// An empty directory for the files of one test.
pub fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if path.exists() {
        fs::remove_dir_all(&path).unwrap();
    }
    fs::create_dir_all(&path).unwrap();
    path
}

/// Runs a command to its end and returns what it printed.
///
/// # Panics
/// If it fails, with all its output; if it takes longer than the limit, after killing it.
pub fn run(command: &mut Command, scratch: &Path) -> String {
    let (out, err) = (scratch.join("stdout"), scratch.join("stderr"));
    let mut child = command
        .stdin(Stdio::null())
        .stdout(File::create(&out).unwrap())
        .stderr(File::create(&err).unwrap())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if started.elapsed() > LIMIT {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{command:?}: still running after {LIMIT:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let printed = fs::read_to_string(&out).unwrap();
    assert!(
        status.success(),
        "{command:?}: {status}\n{printed}{}",
        fs::read_to_string(&err).unwrap()
    );
    printed
}

/// `cc` or `c++` with strict flags and our headers.
pub fn compiler(name: &str, standard: &str) -> Command {
    let mut command = Command::new(name);
    command.args([standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"]);
    command.arg(root().join("include"));
    command
}
