//! `npb run` with a small tree in the layout of NPB and a library of one process: builds, runs, reports
//! of failures, second calls. And with Suiro.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

/// All commands here take seconds; one that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(120);

/// Files of one test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        if path.exists() {
            fs::remove_dir_all(&path).unwrap();
        }
        fs::create_dir_all(&path).unwrap();
        // Arguments are separated by spaces, which names of directories may contain.
        symlink(tree(), path.join("tree")).unwrap();
        symlink(tests().join("serial-mpi"), path.join("serial-mpi")).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// `npb` in this folder.
    fn npb(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_npb"));
        let out = |name| fs::File::create(self.path(name)).unwrap();
        command.args(arguments.split_whitespace()).current_dir(&self.0);
        command.stdin(Stdio::null()).stdout(out("stdout")).stderr(out("stderr"));
        command
    }

    /// Runs it to its end.
    fn run(&self, arguments: &str) -> Outcome {
        let child = self.npb(arguments).spawn().unwrap();
        self.end(child)
    }

    fn end(&self, mut child: Child) -> Outcome {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if start.elapsed() > LIMIT {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("npb still runs after {LIMIT:?}: {}", self.text("stderr"));
            }
            thread::sleep(Duration::from_millis(10));
        };
        Outcome { status, stdout: self.text("stdout"), stderr: self.text("stderr") }
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn results(&self) -> Vec<Value> {
        let text = self.text("results");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

struct Outcome {
    status: ExitStatus,
    stdout: String,
    stderr: String,
}

impl Outcome {
    fn code(&self, wanted: i32) -> &Self {
        assert_eq!(self.status.code(), Some(wanted), "{}\n{}", self.stdout, self.stderr);
        self
    }

    fn row(&self, start: &str) -> &str {
        let mut rows = self.stdout.lines();
        rows.find(|row| row.split_whitespace().collect::<Vec<_>>().join(" ").starts_with(start))
            .unwrap_or_else(|| panic!("no {start} in\n{}{}", self.stdout, self.stderr))
    }
}

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

fn tree() -> PathBuf {
    tests().join("tree-3.4")
}

/// The arguments for that library in place of Suiro.
fn serial() -> &'static str {
    let found = Command::new("gfortran").arg("--version").stdout(Stdio::null()).status();
    assert!(found.is_ok(), "gfortran is missing; install it, e.g. with: apt-get install gfortran");
    "--mpicc serial-mpi/bin/mpicc --mpifort serial-mpi/bin/mpifort --mpirun serial-mpi/bin/mpirun"
}

/// A copy of a folder.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Replaces a text in a file, which must contain it.
fn edit(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{}: no {from}", path.display());
    fs::write(path, text.replace(from, to)).unwrap();
}

/// The files below a directory with their modification times.
fn files(folder: &Path) -> Vec<(PathBuf, std::time::SystemTime)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            let changed = path.metadata().unwrap().modified().unwrap();
            found.push((path, changed));
        }
    }
    found.sort();
    found
}

#[test]
fn every_kernel_has_its_result_or_its_reason() {
    let folder = Folder::new("every-kernel");
    let before = files(&tree());
    let common = format!("run --source tree {} --classes S", serial());
    let outcome = folder.run(&format!("{common} --ranks 1,2 --limit-s 1 --results results"));
    outcome.code(1);
    for row in ["BT S 1", "EP S 1", "EP S 2", "IS S 2", "DT.BH S 5", "DT.WH S 5", "DT.SH S 12"] {
        assert!(outcome.row(row).ends_with("SUCCESSFUL"), "{}", outcome.stdout);
    }
    assert!(outcome.stderr.contains("bt.S: not on 2 ranks: it needs a square"));
    assert_eq!(files(&tree()), before, "the tree was changed");
    let reason = |kernel: &str, outcome: &str| {
        let results = folder.results();
        let result = results.iter().find(|result| result["kernel"] == kernel).unwrap();
        assert_eq!(result["outcome"], outcome);
        assert_eq!((&result["source"], &result["library"]), (&"tree-3.4".into(), &"suiro".into()));
        let log = fs::read_to_string(result["log"].as_str().unwrap()).unwrap();
        (result["why"].as_str().unwrap_or("").to_owned(), log)
    };
    let (why, log) = reason("ep", "verified");
    assert!(why.is_empty());
    assert!(log.contains("-O3 -fallow-argument-mismatch"), "{log}");
    let (why, log) = reason("cg", "unverified");
    assert_eq!(why, "verification unsuccessful\n VERIFICATION FAILED");
    assert!(log.contains("Zeta is 1.0 and should be 2.0"));
    let (why, log) = reason("mg", "failed");
    assert!(why.contains("cannot be built") && why.contains("no_such_header.h"), "{why}");
    assert!(log.contains("mg.c"), "{log}");
    let (why, log) = reason("ft", "failed");
    assert_eq!(why, "still running after 1 s\n about to hang");
    assert_eq!(log, " about to hang\n");
    let (why, _) = reason("lu", "failed");
    assert_eq!(why, "exit status: 3\n ERROR: the grid is too small");
}

#[test]
fn a_second_call_continues() {
    let folder = Folder::new("second-call");
    let common = format!("run --source tree {} --classes S", serial());
    let first = format!("{common} --kernels ep,is --ranks 2 --repeats 3 --results results");
    folder.run(&first).code(0);
    let results = folder.text("results");
    assert_eq!(results.lines().count(), 6);
    let builds = files(&folder.path("npb-build"));
    folder.run(&first).code(0).row("EP S 2");
    assert_eq!(folder.text("results"), results);
    // The last line is partial, as after a crash.
    fs::write(folder.path("results"), &results[..results.len() - 20]).unwrap();
    folder.run(&first).code(0);
    let ends: Vec<_> =
        folder.results().iter().map(|it| format!("{}{}", it["kernel"], it["repeat"])).collect();
    assert_eq!(
        ends,
        [r#""ep"0"#, r#""ep"1"#, r#""ep"2"#, r#""is"0"#, r#""is"1"#, r#""is"2"#],
        "{}",
        folder.text("results")
    );
    let program = |it: &&(PathBuf, _)| it.0.parent().unwrap().ends_with("bin");
    let again = files(&folder.path("npb-build"));
    let programs = |all: &[_]| all.iter().filter(program).cloned().collect::<Vec<_>>();
    assert_eq!(programs(&again), programs(&builds), "they were built again");
}

#[test]
fn a_tree_of_3_3_is_built_for_each_number_of_ranks() {
    let folder = Folder::new("tree-3.3");
    let root = folder.path("NPB3.3.1/NPB3.3-MPI");
    copy(&tree(), &root);
    edit(&root.join("Makefile"), "CLASS=$(CLASS)", "NPROCS=$(NPROCS) CLASS=$(CLASS)");
    edit(&root.join("Makefile"), "cd DT; $(MAKE) NPROCS=$(NPROCS)", "cd DT; $(MAKE)");
    let common = root.join("sys/make.common");
    edit(&common, "$(CLASS).x", "$(CLASS).$(NPROCS)");
    edit(&common, "MPIFC", "MPIF77");
    edit(&common, "CLASS=U\n", "CLASS=U\nNPROCS=1\n");
    edit(&common, "${BENCHMARK} ${CLASS}", "${BENCHMARK} ${NPROCS} ${CLASS}");
    // Products in the tree are not used.
    fs::write(root.join("EP/ep.o"), "no object").unwrap();
    fs::write(root.join("EP/npbparams.h"), "no header").unwrap();
    let what = "--kernels ep,is,dt.bh,bt.epio --classes S --ranks 1,2 --results results";
    let outcome = folder.run(&format!("run --source NPB3.3.1 {} {what}", serial()));
    outcome.code(0);
    assert!(outcome.row("BT.EPIO S 1").ends_with("SUCCESSFUL"));
    let results = folder.results();
    assert_eq!(results.len(), 6);
    assert!(results.iter().all(|result| result["source"] == "NPB3.3-MPI"));
    let programs = files(&folder.path("npb-build"));
    for name in ["ep.S.1", "ep.S.2", "is.S.2", "dt.S.x", "bt.S.1.ep_io"] {
        assert!(programs.iter().any(|(path, _)| path.ends_with(Path::new("bin").join(name))));
    }
}

#[test]
fn peers_run_in_turn_and_without_fortran_only_kernels_in_c() {
    let folder = Folder::new("peers");
    let peer = folder.path("poor");
    copy(&tests().join("serial-mpi"), &peer);
    fs::remove_file(peer.join("bin/mpifort")).unwrap();
    let outcome = folder.run(&format!(
        "run --source tree {} --kernels ep,is,bt.full --classes S --ranks 1 --repeats 2 \
         --peer serial-mpi=rich --peer poor --results results",
        serial()
    ));
    // Suiro must support everything that is requested.
    outcome.code(1);
    assert!(outcome.row("BT.FULL S 1 suiro").contains("FAILED: no files of MPI"));
    assert!(
        outcome
            .stderr
            .contains("bt.full.S is left out for rich, as others may be: no files of MPI")
    );
    let missing = peer.join("bin/mpifort");
    let reason = format!(
        "ep.S is left out for poor, as others may be: no Fortran compiler behind {}\n",
        missing.display()
    );
    assert!(outcome.stderr.contains(&reason), "{}", outcome.stderr);
    // One note for the library, not one for each kernel.
    assert_eq!(outcome.stderr.matches("left out for poor").count(), 1, "{}", outcome.stderr);
    let results = folder.results();
    let of = |kernel: &str| {
        let same = results.iter().filter(|result| result["kernel"] == kernel);
        same.map(|it| format!("{}{}", it["library"].as_str().unwrap(), it["repeat"]))
            .collect::<Vec<_>>()
    };
    assert_eq!(of("ep"), ["suiro0", "rich0", "suiro1", "rich1"]);
    assert_eq!(of("is"), ["suiro0", "rich0", "poor0", "suiro1", "rich1", "poor1"]);
    let same = folder.run(&format!("run --source tree {} --peer serial-mpi=suiro", serial()));
    assert!(same.code(1).stderr.contains("two libraries have the label suiro"), "{}", same.stderr);
}

#[test]
fn an_interrupt_leaves_results_and_no_processes() {
    let folder = Folder::new("interrupt");
    let arguments = "--kernels is,ft --classes S --ranks 1 --results results";
    let run = format!("run --source tree {} {arguments}", serial());
    let mut child = folder.npb(&run).spawn().unwrap();
    let log = folder.path("npb-build/logs/ft.S.1.suiro.0.log");
    let start = Instant::now();
    while !fs::read_to_string(&log).is_ok_and(|text| text.contains("about to hang")) {
        if start.elapsed() > LIMIT || child.try_wait().unwrap().is_some() {
            let _ = child.kill();
            panic!("no job: {}{}", folder.text("stdout"), folder.text("stderr"));
        }
        thread::sleep(Duration::from_millis(10));
    }
    let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(interrupt.unwrap().success());
    let outcome = folder.end(child);
    assert!(outcome.code(1).stderr.contains("interrupted; finished runs are in results"));
    let results = folder.results();
    assert_eq!((results.len(), &results[0]["kernel"]), (1, &"is".into()));
    let program = |process: fs::DirEntry| fs::read_link(process.path().join("exe")).ok();
    let running: Vec<_> = fs::read_dir("/proc").unwrap().flatten().filter_map(program).collect();
    assert!(!running.iter().any(|path| path.starts_with(&folder.0)), "{running:?}");
}

#[test]
fn unusable_arguments_are_named() {
    let folder = Folder::new("unusable");
    let refused = |arguments: &str, code: i32, wanted: &str| {
        let outcome = folder.run(arguments);
        assert!(outcome.code(code).stderr.contains(wanted), "{}", outcome.stderr);
    };
    let source = "run --source tree";
    refused("run", 2, "--source <DIR>");
    refused("run --source nowhere", 1, "no tree in nowhere: ");
    refused(&format!("{source} --mpirun /nowhere/mpirun"), 1, "cannot start /nowhere/mpirun: ");
    refused(&format!("{source} --peer /nowhere"), 1, "peer nowhere: /nowhere: ");
    refused(&format!("{source} --kernels xy"), 2, "invalid value 'xy'");
    let serial = serial();
    refused(&format!("{source} {serial} --fortran mpi"), 1, "has no choice of mpi: ");
    refused(&format!("{source} {serial} --kernels sp"), 1, "there is no ");
    refused(&format!("{source} {serial} --kernels dt.sh --classes F"), 1, "no class F");
    refused(&format!("{source} {serial} --kernels bt --ranks 2"), 1, "nothing to run");
    fs::write(folder.path("results"), "hello\n").unwrap();
    refused(&format!("{source} {serial} --results results"), 1, "results:1: not a result");
}

/// Checks that Suiro has been built.
fn need_ours() {
    for command in ["mpirun", "mpifort"] {
        let path = Path::new(env!("CARGO_BIN_EXE_npb")).with_file_name(command);
        assert!(path.exists(), "no {}: cargo build --workspace first", path.display());
    }
}

#[test]
fn kernels_run_on_suiro() {
    need_ours();
    let folder = Folder::new("ours");
    let outcome = folder.run(
        "run --source tree --kernels ep,is,dt.bh,bt.full --classes S --ranks 1,2 \
         --progress polling,thread --results results",
    );
    let rows = ["EP S 1 suiro shm polling", "EP S 2 suiro shm thread", "IS S 2 suiro shm thread"];
    for row in rows.into_iter().chain(["IS S 1 suiro shm polling", "DT.BH S 5 suiro shm"]) {
        assert!(outcome.row(row).ends_with("SUCCESSFUL"), "{}", outcome.stdout);
    }
    // With files of MPI.
    let row = "BT.FULL S 1 suiro shm polling";
    assert!(outcome.row(row).ends_with("SUCCESSFUL"), "{}", outcome.stdout);
}

#[test]
fn every_device_of_suiro_is_accepted_and_used() {
    need_ours();
    let folder = Folder::new("devices");
    let info = Path::new(env!("CARGO_BIN_EXE_npb")).with_file_name("suiro-info");
    let output = Command::new(info).args(["--parsable", "--all"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let values = text.lines().find_map(|line| line.strip_prefix("setting.SUIRO_DEVICE.values:"));
    // Another library carries messages below its own launcher only.
    let devices: Vec<_> = values.unwrap().split('|').filter(|device| *device != "vendor").collect();
    let list = devices.join(",");
    let arguments = "--kernels is --classes S --ranks 2 --results results --device";
    let outcome = folder.run(&format!("run --source tree {arguments} {list}"));
    for device in devices {
        let row = outcome.row(&format!("IS S 2 suiro {device} polling"));
        assert!(row.ends_with("SUCCESSFUL"), "{}", outcome.stdout);
        let log = folder.text(&format!("npb-build/logs/is.S.2.suiro-{device}-polling.0.log"));
        assert!(log.contains(&format!("SUIRO_DEVICE={device}\n")), "{log}");
    }
}

#[test]
fn the_tree_or_the_user_selects_the_fortran_interface() {
    need_ours();
    let folder = Folder::new("bindings");
    let root = folder.path("NPB3.4-MPI");
    copy(&tree(), &root);
    let makefile = root.join("EP/Makefile");
    edit(&makefile, "BENCHMARKU=EP\n", "BENCHMARKU=EP\nF08=def\n");
    let form = "mpinpb.f90: mpinpb_$(F08).f90\n\tcp mpinpb_$(F08).f90 $@\n";
    edit(&makefile, "mpinpb.o: mpinpb.f90\n", &format!("mpinpb.o: mpinpb.f90\n{form}"));
    fs::rename(root.join("EP/mpinpb.f90"), root.join("EP/mpinpb_f.f90")).unwrap();
    fs::copy(root.join("EP/mpinpb_f.f90"), root.join("EP/mpinpb_def.f90")).unwrap();
    let include = "  implicit none\n  include 'mpif.h'\n";
    edit(&root.join("EP/mpinpb_def.f90"), include, "  use mpi\n  implicit none\n");
    // Products in the tree are not used.
    fs::write(root.join("EP/mpinpb.f90"), "no module").unwrap();
    let common = "run --source . --kernels ep --classes S --ranks 2 --results results";
    folder.run(common).code(0);
    folder.run(&format!("{common} --fortran mpif.h")).code(0);
    let sources: Vec<_> = folder.results().iter().map(|it| it["source"].clone()).collect();
    assert_eq!(sources, ["NPB3.4-MPI", "NPB3.4-MPI mpif.h"]);
    let modules = files(&folder.path("npb-build"));
    let modules = modules.iter().filter(|(path, _)| path.ends_with("EP/mpinpb.f90"));
    let texts: Vec<_> = modules.map(|(path, _)| fs::read_to_string(path).unwrap()).collect();
    assert_eq!(texts.iter().filter(|text| text.contains("use mpi")).count(), 1, "{texts:?}");
    assert_eq!(texts.len(), 2);
}
