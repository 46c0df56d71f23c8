//! Options, environment and exit codes, with programs without MPI.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use super::harness::{compiled, folder, mpirun, quoted, run, run_shell, start};

#[test]
fn the_first_code_that_is_no_success_is_returned_and_the_others_run_on() {
    let script = "test $PMI_RANK = 1 && exit 3; sleep 0.2; echo done; test $PMI_RANK = 0 || exit 9";
    let outcome = run_shell("3", script);
    assert_eq!(outcome.code, Some(3));
    assert_eq!(outcome.text(), "done\ndone\n");
    assert_eq!(outcome.stderr, "");
}

#[test]
fn a_missing_program_is_reported_once() {
    for (program, code) in [("no-such-program", 127), ("/dev/null", 126), ("/", 126)] {
        let outcome = run(&["-n", "4", program]);
        assert_eq!(outcome.code, Some(code), "{program}");
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
        assert!(outcome.stderr.contains(program), "{}", outcome.stderr);
    }
}

#[test]
fn a_missing_later_program_ends_the_earlier_ones() {
    let outcome = run(&["-n", "2", "sleep", "600", ":", "-n", "2", "no-such-program"]);
    assert_eq!(outcome.code, Some(127));
    assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
}

#[test]
fn wrong_options_are_named() {
    for words in
        [&["-n", "x", "true"][..], &["--frobnicate", "true"], &["-wdir", "/no/where", "true"]]
    {
        let outcome = run(words);
        assert_eq!(outcome.code, Some(2), "{words:?}");
        assert!(outcome.stderr.contains(words[0]), "{}", outcome.stderr);
    }
}

#[test]
fn version_and_help_are_printed() {
    for word in ["--version", "-V", "--help"] {
        let outcome = run(&[word]);
        assert_eq!(outcome.code, Some(0));
        assert!(outcome.text().contains("mpirun"), "{}", outcome.text());
    }
}

#[test]
fn programs_have_their_own_count_folder_and_variables() {
    let show = "echo $PMI_RANK $A $B $(pwd -P)";
    let outcome = run(&[
        "-n", "1", "-x", "A=1", "-wdir", "/", "sh", "-c", show, ":", "-n", "2", "-env", "A", "2",
        "-genv", "B", "3", "-wdir", "/proc", "sh", "-c", show,
    ]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(outcome.lines(), ["0 1 3 /", "1 2 3 /proc", "2 2 3 /proc"]);
}

#[test]
fn ranks_know_their_place_in_every_dialect() {
    let outcome = run_shell(
        "2",
        "echo $PMI_RANK $PMI_SIZE $MPI_LOCALRANKID $MPI_LOCALNRANKS $OMPI_COMM_WORLD_RANK \
         $OMPI_COMM_WORLD_SIZE $OMPI_COMM_WORLD_LOCAL_RANK $OMPI_COMM_WORLD_LOCAL_SIZE \
         $OMPI_COMM_WORLD_NODE_RANK",
    );
    assert_eq!(outcome.lines(), ["0 2 0 2 0 2 0 2 0", "1 2 1 2 1 2 1 2 1"]);
}

#[test]
fn different_settings_of_ranks_are_reported() {
    let program = &compiled("allreduce")[..];
    let one = ["-n", "1", program, "10", ":", "-n", "1", "-env", "SUIRO_COLL_ALLREDUCE", "ring"];
    let outcome = run(&[&one[..], &[program, "10"]].concat());
    assert_ne!(outcome.code, Some(0));
    // Either rank may be the later one.
    let messages = ["is auto in rank 0 but ring in rank 1", "is ring in rank 1 but auto in rank 0"];
    let messages = messages.map(|words| format!("SUIRO_COLL_ALLREDUCE {words}"));
    assert!(messages.iter().any(|words| outcome.stderr.contains(words)), "{}", outcome.stderr);
    let both = ["-genv", "SUIRO_COLL_ALLREDUCE", "ring", "-n", "2", program, "10"];
    let outcome = run(&both);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    for (name, words) in [
        ("SUIRO_COLL_ALLREDUCE", "SUIRO_COLL_ALLREDUCE=loud is not one of auto|shared|doubling|"),
        (
            "SUIRO_COLL_LOUD",
            "SUIRO_COLL_LOUD is no setting: after SUIRO_COLL_ comes one of BARRIER|",
        ),
    ] {
        let outcome = run(&["-genv", name, "loud", "-n", "1", program, "10"]);
        assert!(outcome.stderr.contains(words), "{}", outcome.stderr);
    }
}

#[test]
fn an_inner_mpirun_starts_a_job_of_its_own() {
    let launcher = quoted(env!("CARGO_BIN_EXE_mpirun"));
    let inner = format!("{launcher} -n 1 sh -c 'echo $PMI_RANK $PMI_SIZE'");
    assert_eq!(run_shell("2", &inner).lines(), ["0 1", "0 1"]);
}

#[test]
fn variables_of_an_outer_job_do_not_pass() {
    let mut command = mpirun(&["-n", "1", "env"]);
    command.env("PMIX_RANK", "5").env("PMI_PORT", "host:1").env("OMPI_MCA_kept", "1");
    let outcome = start(command).wait();
    assert!(!outcome.text().contains("PMIX_RANK") && !outcome.text().contains("PMI_PORT"));
    assert!(outcome.text().contains("OMPI_MCA_kept=1"));
}

#[test]
fn ranks_may_outnumber_cores() {
    let outcome = run_shell("100", "echo $PMI_RANK");
    assert_eq!(outcome.code, Some(0));
    assert_eq!(outcome.lines().len(), 100);
}

#[test]
fn ranks_inherit_five_more_descriptors_than_a_plain_program() {
    let show = "ls -m -w 1000 /proc/$$/fd; \
                echo $PMI_FD,$SUIRO_SEGMENT_FD,$SUIRO_INTERFACE_FD,$SUIRO_JOB_FD,$SUIRO_STATUS_FD";
    let numbers = |line: &str| -> BTreeSet<u32> {
        line.split(',').filter_map(|word| word.trim().parse().ok()).collect()
    };
    let alone = Command::new("sh").args(["-c", show]).stdin(Stdio::null()).output().unwrap();
    let alone = numbers(std::str::from_utf8(&alone.stdout).unwrap().lines().next().unwrap());
    let outcome = run_shell("1", show);
    let lines: Vec<_> = outcome.text().lines().map(numbers).collect();
    assert_eq!(lines[1].len(), 5);
    assert_eq!(lines[0], alone.union(&lines[1]).copied().collect());
}

#[test]
fn ranks_have_the_signal_mask_of_a_plain_program() {
    let signals = |status: &[u8]| -> Vec<String> {
        let lines = std::str::from_utf8(status).unwrap().lines();
        let kept = |line: &&str| line.starts_with("SigBlk") || line.starts_with("SigIgn");
        lines.filter(kept).map(str::to_owned).collect()
    };
    let alone = Command::new("cat").arg("/proc/self/status").output().unwrap();
    let outcome = run(&["-n", "1", "cat", "/proc/self/status"]);
    assert_eq!(signals(&outcome.stdout), signals(&alone.stdout));
}

#[test]
fn the_limit_of_open_files_is_that_of_the_user() {
    let own = Command::new("sh").args(["-c", "ulimit -n"]).output().unwrap().stdout;
    assert_eq!(run_shell("1", "ulimit -n").stdout, own);
}

#[test]
fn the_process_table_is_printed_where_requested() {
    let folder = folder("launch-process-table");
    for (option, place) in [
        ("--output-proctable", "out"),
        ("--output-proctable=+", "error"),
        ("-output-proctable=table/t", "file"),
    ] {
        let mut command = mpirun(&[option, "-n", "2", "sh", "-c", "echo $PMI_RANK $$"]);
        command.current_dir(&folder);
        let outcome = start(command).wait();
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        let is_table = |line: &&str| line.starts_with("(rank, host, exe, pid) = (");
        let table: Vec<String> = match place {
            "out" => outcome.text().lines().filter(is_table).map(str::to_owned).collect(),
            "error" => outcome.stderr.lines().map(str::to_owned).collect(),
            _ => {
                let text = std::fs::read_to_string(folder.join("table/t")).unwrap();
                text.lines().map(str::to_owned).collect()
            }
        };
        assert_eq!(table.len(), 2, "{option}");
        for line in outcome.text().lines().filter(|line| !is_table(line)) {
            let (rank, pid) = line.split_once(' ').unwrap();
            let entry = &table[rank.parse::<usize>().unwrap()];
            let start = format!("(rank, host, exe, pid) = ({rank}, ");
            assert!(entry.starts_with(&start), "{entry}");
            assert!(entry.ends_with(&format!(", sh, {pid})")), "{entry}");
        }
    }
}

#[test]
fn facts_about_the_build_are_printed() {
    for option in ["-info", "--info"] {
        let outcome = run(&[option]);
        assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""));
        assert!(outcome.text().starts_with("Suiro build details:\n    Version:  "));
        assert!(outcome.text().contains("rustc "), "{}", outcome.text());
    }
}

#[test]
fn one_process_runs_on_each_host() {
    for options in [&["-pernode"][..], &["--pernode", "-host", "localhost:4"]] {
        let outcome = run(&[options, &["echo", "x"]].concat());
        assert_eq!((outcome.code, outcome.text()), (Some(0), "x\n"), "{}", outcome.stderr);
    }
}
