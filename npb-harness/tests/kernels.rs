//! `npb kernels` with Suiro: every kernel verifies, on several numbers of ranks and in every progress
//! mode. The commands of the library are beside `npb`: the packages `suiro` and `mpifort_abi` must have
//! been built. `npb` enforces time limits.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

const C: &str = "ep,is,cg,mg,ft,lu";
const FORTRAN: &str = "ep.f,lu.f08";

/// Runs `npb kernels` with these arguments; whether it succeeded, and its output.
fn kernels(arguments: &[&str]) -> (bool, String) {
    let npb = Path::new(env!("CARGO_BIN_EXE_npb"));
    let mpicc = npb.with_file_name("mpicc");
    assert!(mpicc.exists(), "{} is missing: build the package suiro first", mpicc.display());
    let output = Command::new(npb)
        .args(["kernels", "--limit-s", "60", "--mpicc"])
        .arg(mpicc)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

/// Runs it; all runs must verify.
fn verify(arguments: &[&str], runs: usize) {
    let (success, text) = kernels(arguments);
    assert!(success, "{arguments:?}\n{text}");
    assert_eq!(text.matches(" SUCCESSFUL\n").count(), runs, "{arguments:?}\n{text}");
}

/// As [`verify`] for kernels in Fortran.
fn verify_fortran(arguments: &[&str], runs: usize) {
    need_gfortran();
    verify(arguments, runs);
}

fn need_gfortran() {
    let found = Command::new("gfortran").arg("--version").output();
    assert!(found.is_ok(), "gfortran is missing: install it, e.g. with: apt-get install gfortran");
}

#[test]
fn kernels_in_c() {
    verify(&["--kernels", C, "--classes", "S", "--ranks", "1,4,8"], 18);
}

#[test]
fn kernels_in_fortran() {
    verify_fortran(&["--kernels", FORTRAN, "--classes", "S", "--ranks", "1,2,4,8"], 8);
}

#[test]
fn fortran_further() {
    let lu = ["--kernels", "lu.f08", "--classes"];
    verify_fortran(&[&lu[..], &["S", "--ranks", "3,6"]].concat(), 2);
    verify_fortran(&[&lu[..], &["S", "--progress", "thread,auto"]].concat(), 2);
}

#[test]
fn too_many_ranks_are_refused_by_the_kernel() {
    need_gfortran();
    let (success, text) = kernels(&["--kernels", "lu,lu.f08", "--classes", "S", "--ranks", "7"]);
    assert!(!success, "{text}");
    assert!(text.contains("LU class S cannot be distributed over 7 ranks"), "{text}");
    assert!(text.contains("LU on 7 ranks: too many ranks for so small a cube"), "{text}");
}

#[test]
fn ranks_that_are_not_a_power_of_two() {
    verify(&["--kernels", "is,cg,mg,ft,lu", "--classes", "S", "--ranks", "3,6"], 10);
}

#[test]
fn the_next_class() {
    verify(&["--kernels", "is,mg,lu", "--classes", "W", "--ranks", "4"], 3);
}

#[test]
fn every_progress_mode() {
    let modes = "polling,thread,auto";
    verify(
        &["--kernels", "is,mg,ft,lu", "--classes", "S", "--ranks", "2,4", "--progress", modes],
        24,
    );
}

/// A directory that is removed at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("npb-kernels-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Remaining files are in a directory for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn results_are_kept_and_not_repeated() {
    let folder = Folder::new("results");
    let results = folder.0.join("results");
    let path = results.to_str().unwrap();
    let arguments =
        ["--kernels", "is", "--classes", "S", "--ranks", "2", "--repeats", "3", "--results", path];
    verify(&arguments, 1);
    let text = fs::read_to_string(&results).unwrap();
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(text.lines().all(|line| line.contains("\"outcome\":\"verified\"")), "{text}");
    verify(&arguments, 1);
    assert_eq!(fs::read_to_string(&results).unwrap(), text);
}
