//! Options that existing scripts use, one on each line, from the manuals of Open MPI, MPICH and Intel
//! MPI: which are accepted, their effects, the messages.

use std::fs;
use std::path::Path;

use super::harness::{compiled, folder, mpirun, run, start};

/// The arguments before `sh -c SCRIPT`, the script, the exit code, the sorted lines of standard output,
/// and a part of standard error; an empty part means no output at all.
type Row<'a> = (&'a str, &'a str, i32, &'a str, &'a str);

/// Runs each row in `folder`.
fn check(folder: &Path, rows: &[Row<'_>]) {
    for (options, script, code, output, errors) in rows {
        let mut words: Vec<&str> = options.split_whitespace().collect();
        words.extend(["sh", "-c", script]);
        let mut command = mpirun(&words);
        command.current_dir(folder);
        let outcome = start(command).wait();
        let context = format!("mpirun {options} sh -c {script:?}\n{}", outcome.stderr);
        assert_eq!(outcome.code, Some(*code), "{context}");
        assert_eq!(outcome.lines().join(" | "), *output, "{context}");
        match *errors {
            "" => assert_eq!(outcome.stderr, "", "{context}"),
            part => assert!(outcome.stderr.contains(part), "{part}: {context}"),
        }
    }
}

#[test]
fn options_of_other_launchers_are_accepted() {
    let folder = folder("launch-table");
    fs::write(folder.join("slots"), "localhost slots=2\n").unwrap();
    fs::write(folder.join("colon"), "localhost:2 # two\n").unwrap();
    let accepted = |options: &str| (format!("{options} -n 2"), "");
    let noted = |options: &str| (format!("{options} -n 2"), "accepted without effect: ");
    for (options, errors) in [
        accepted("-hostfile slots"),
        accepted("-hostfile colon"),
        accepted("-f colon"),
        accepted("-machinefile colon"),
        accepted("--default-hostfile slots"),
        accepted("-host localhost:2"),
        accepted("-hosts localhost:2"),
        accepted("-H localhost,localhost"),
        accepted("-ppn 2"),
        accepted("-npernode 2"),
        accepted("-N 2"),
        accepted("--do-not-resolve"),
        accepted("-x FOO=1"),
        accepted("-env FOO 1"),
        accepted("-genv FOO 1"),
        accepted("-envall -genvall"),
        accepted("-wdir /tmp"),
        accepted("--wdir=/tmp"),
        accepted("--timeout 50"),
        accepted("--oversubscribe"),
        accepted("--allow-run-as-root"),
        noted("--mca btl self,sm"),
        noted("--prtemca x 1 --pmixmca y 2"),
        noted("-genv I_MPI_FABRICS shm"),
        noted("-x OMPI_MCA_btl=self"),
        accepted("-launcher fork"),
        accepted("-bootstrap ssh"),
        accepted("--mca plm_rsh_agent ssh"),
        accepted("-disable-auto-cleanup"),
        accepted("--with-ft ulfm"),
        accepted("--enable-recovery"),
        noted("-iface lo"),
        noted("--personality ompi"),
        accepted("-q --mca btl self"),
    ] {
        check(&folder, &[(&options, "echo $PMI_SIZE", 0, "2 | 2", errors)]);
    }
}

#[test]
fn options_have_their_effect() {
    let folder = folder("launch-table-effects");
    fs::write(folder.join("slots"), "localhost slots=3 max_slots=4\n").unwrap();
    let both = "echo $A-$B";
    let rows = [
        // Counts.
        ("", "echo $PMI_SIZE", 0, "1", ""),
        ("-ppn 2", "echo $PMI_SIZE", 0, "2 | 2", ""),
        ("--hostfile slots", "echo $PMI_SIZE", 0, "3 | 3 | 3", ""),
        ("--host localhost:2", "echo $PMI_SIZE", 0, "2 | 2", ""),
        ("--host localhost:1 -n 2", "true", 0, "", "2 processes on 1 slots"),
        ("--host localhost:1 -n 2 --oversubscribe", "true", 0, "", ""),
        ("--host localhost:1 -n 2 --nooversubscribe", "true", 2, "", "2 processes on 1 slots"),
        (
            "--host 192.0.2.7 -launcher-exec false -n 1",
            "true",
            1,
            "",
            "cannot start mpirun's agent on host 192.0.2.7: its connection has ended: the command \
             exited with code 1",
        ),
        // The environment.
        ("-x A=1 -env B 2", both, 0, "1-2", ""),
        ("-genv A 1 -env A 2", both, 0, "2-", ""),
        ("-x A=1 --unset-env A -x B", both, 0, "-", "-x B: not set here"),
        ("-x A=b --prepend-env A[;] a --append-env A c", both, 0, "a;b:c-", ""),
        ("-genvnone -x A=1", "echo $A-$HOME", 0, "1-", ""),
        ("--memory-alloc-kinds mpi,x", "echo $SUIRO_MEMORY_KINDS", 0, "mpi,x", ""),
        ("-envlist HOME", "test -n \"$HOME\" && env | grep -c CARGO", 1, "0", ""),
        ("-genvexcl CARGO* -n 1", "env | grep -c ^CARGO", 1, "0", ""),
        (
            "--prefix /nowhere",
            "echo $PATH | cut -d: -f1; echo $LD_LIBRARY_PATH | cut -d: -f1",
            0,
            "/nowhere/bin | /nowhere/lib",
            "",
        ),
        // Placement and wrappers.
        ("-wdir /proc", "pwd -P", 0, "/proc", ""),
        ("-wdir /nowhere", "true", 2, "", "-wdir /nowhere"),
        ("-n 2 --debug 1 env", "echo $PMI_RANK", 0, "0 | 1", ""),
        (
            "-n 3 -gtool echo:1-2",
            "echo $PMI_RANK",
            0,
            "0 | sh -c echo $PMI_RANK | sh -c echo $PMI_RANK",
            "",
        ),
        ("--path /nowhere:/bin", "true", 0, "", ""),
        // Refused and wrong options.
        ("--xterm 0", "true", 2, "", "use --debug RANKS 'xterm -e'"),
        ("-gdb", "true", 2, "", "use --debug all 'gdb -args'"),
        ("--frobnicate", "true", 2, "", "unknown option --frobnicate"),
        ("--timeout soon", "true", 2, "", "--timeout soon: expected a number of seconds"),
        ("-n 0", "true", 2, "", "-n 0: expected a number of processes"),
        ("-x =", "true", 2, "", "expected the name of a variable"),
    ];
    check(&folder, &rows);
}

#[test]
fn files_contain_programs_and_their_options() {
    let app = folder("launch-table-app").join("app");
    fs::write(&app, "-n 2 sh -c 'echo a $PMI_RANK' # two\n-n 1 -x X=y sh -c 'echo $X $PMI_RANK'\n")
        .unwrap();
    for option in ["--app", "-configfile"] {
        let outcome = run(&[option, app.to_str().unwrap()]);
        assert_eq!(outcome.lines(), ["a 0", "a 1", "y 2"], "{}", outcome.stderr);
    }
}

#[test]
fn settings_of_the_library_are_listed() {
    let outcome = run(&["--help-settings"]);
    for setting in platform::base::settings::SETTINGS {
        assert!(outcome.text().contains(setting.name), "{}", outcome.text());
    }
}

#[test]
fn decisions_are_explained_by_the_launcher_and_by_rank_0() {
    let outcome = run(&["--explain", "-n", "3", &compiled("allreduce"), "1"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    for part in [
        "mpirun: 3 ranks on ",
        "no open port",
        "Suiro: 3 ranks, started by the mpirun of this library",
        "Suiro: device shm between all ranks",
        "Suiro: waiting calls ",
    ] {
        assert_eq!(outcome.stderr.matches(part).count(), 1, "{part}: {}", outcome.stderr);
    }
}
