//! Signals and killed processes: the job ends with a reason and leaves nothing.

use std::fs;
use std::time::Duration;
use std::{env, thread};

use super::harness::{
    Running, built, compiled, marked, mpirun, quoted, ranks, run_shell, signal_process, start,
    state, until,
};
use super::role::{words, words_behind_shell};

fn start_shell(count: &str, script: &str) -> Running {
    start(mpirun(&["-n", count, "sh", "-c", script]))
}

/// `mpirun words`, started by the command `before`.
fn start_behind(before: &[&str], words: &[String]) -> Running {
    let mut command = marked(before[0]);
    command.args(&before[1..]).arg(built("mpirun")).args(words);
    start(command)
}

/// Waits for `echo ready` of all `count` ranks.
fn ready(running: &Running, count: usize) {
    running.until_output(|text| (text.matches("ready").count() == count).then_some(()));
}

#[test]
fn a_rank_that_a_signal_kills_is_named() {
    let outcome = run_shell("3", "test $PMI_RANK = 1 && kill -s SEGV $$; sleep 600");
    assert_eq!(outcome.code, Some(139));
    assert!(outcome.stderr.starts_with("mpirun: rank 1 (process "), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("signal 11 (SIGSEGV)"), "{}", outcome.stderr);
    assert_eq!(outcome.stderr.lines().count(), 1);
}

#[test]
fn a_killed_rank_ends_the_job() {
    let running = start(mpirun(&words("4", "sleep")));
    let victim = running.joined(4)[2];
    signal_process(victim, "KILL");
    let outcome = running.wait();
    assert_eq!(outcome.code, Some(137));
    let start = format!("mpirun: rank 2 (process {victim} on ");
    assert!(outcome.stderr.starts_with(&start), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("signal 9 (SIGKILL)"), "{}", outcome.stderr);
    assert_eq!(outcome.stderr.lines().count(), 1);
}

/// Also while other ranks need it: a lock that it holds, its fence, its epoch, its accumulate.
#[test]
fn a_rank_that_dies_in_one_sided_communication_ends_the_job() {
    let program = compiled("rma_dies");
    for device in ["shm", "tcp"] {
        for window in ["allocated", "created"] {
            let kinds = ["shared", "exclusive", "all", "fence", "pscw", "accumulate"];
            let jobs = kinds.map(|kind| {
                let words = ["-n", "3", "--device", device, &program, kind, window];
                (kind, start(mpirun(&words)))
            });
            for (kind, running) in jobs {
                let outcome = running.wait();
                let code = if kind == "accumulate" { 139 } else { 137 };
                let said = &outcome.stderr;
                assert_eq!(outcome.code, Some(code), "{device}, {window}, {kind}: {said}");
                assert!(said.contains("mpirun: rank 1 (process "), "{device}, {window}: {said}");
            }
        }
    }
}

#[test]
fn signals_to_mpirun_end_the_job_with_their_code() {
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let running = start_shell("2", "echo ready; sleep 600");
        ready(&running, 2);
        running.signal(signal);
        let outcome = running.wait();
        assert_eq!(outcome.code, Some(code), "{signal}");
        assert_eq!(outcome.stderr, "");
    }
}

#[test]
fn ranks_may_clean_up_and_those_that_do_not_exit_are_killed() {
    let script = "trap 'echo cleaned; test $PMI_RANK = 0 && exit 0' TERM; echo ready; \
                  while :; do sleep 0.05; done";
    let running = start_shell("2", script);
    ready(&running, 2);
    running.signal("TERM");
    let outcome = running.wait();
    assert_eq!(outcome.code, Some(143));
    assert!(outcome.text().contains("cleaned"));
}

#[test]
fn a_second_signal_kills_at_once() {
    let running = start_shell("2", "trap '' TERM INT; echo ready; while :; do sleep 600; done");
    ready(&running, 2);
    running.signal("INT");
    running.signal("INT");
    assert_eq!(running.wait().code, Some(130));
}

#[test]
fn the_ranks_are_killed_even_if_the_job_loop_is_busy() {
    let running = start_shell("2", "trap '' TERM INT; echo ready; while :; do sleep 600; done");
    ready(&running, 2);
    let job_loop = running.job_loop();
    signal_process(job_loop, "STOP");
    running.signal("TERM");
    // Pending signals of the same number are one.
    until(|| (pending(job_loop, 15)).then_some(()));
    running.signal("INT");
    until(|| ranks(&running).is_empty().then_some(()));
    signal_process(job_loop, "CONT");
    assert!([Some(143), Some(130)].contains(&running.wait().code));
}

/// Whether `signal` waits for the process `pid`.
fn pending(pid: u32, signal: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("ShdPnd:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() >> (signal - 1) & 1 == 1
}

#[test]
fn user_signals_reach_every_rank() {
    let script = "trap 'echo got-1' USR1; trap 'echo got-2; exit 0' USR2; echo ready; \
                  while :; do sleep 0.02; done";
    let running = start_shell("3", script);
    ready(&running, 3);
    running.signal("USR1");
    running.until_output(|text| (text.matches("got-1").count() == 3).then_some(()));
    running.signal("USR2");
    let outcome = running.wait();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(outcome.text().matches("got-2").count(), 3);
}

#[test]
fn other_signals_reach_the_ranks_with_an_option() {
    let script = "trap 'echo got-int' INT; trap 'echo got-alarm; exit 4' ALRM; echo ready; \
                  while :; do sleep 0.02; done";
    let words = ["--forward-signals", "SIGINT,alrm", "-n", "2", "sh", "-c", script];
    let running = start(mpirun(&words));
    ready(&running, 2);
    running.signal("INT");
    running.until_output(|text| (text.matches("got-int").count() == 2).then_some(()));
    running.signal("ALRM");
    let outcome = running.wait();
    assert_eq!(outcome.code, Some(4), "{}", outcome.stderr);
    assert_eq!(outcome.text().matches("got-alarm").count(), 2);
}

#[test]
fn a_stopped_job_stops_and_continues() {
    let running = start(mpirun(&words("2", "sleep")));
    let ranks = running.joined(2);
    let all_are = |wanted: fn(char) -> bool| {
        let mut pids = ranks.iter().copied().chain([running.pid()]);
        pids.all(|pid| state(pid).is_some_and(wanted)).then_some(())
    };
    running.signal("TSTP");
    until(|| all_are(|state| state == 'T'));
    running.signal("CONT");
    until(|| all_are(|state| state != 'T'));
    running.signal("TERM");
    assert_eq!(running.wait().code, Some(143));
}

#[test]
fn a_stopped_rank_can_be_ended() {
    let running = start(mpirun(&words("2", "sleep")));
    signal_process(running.joined(2)[1], "STOP");
    running.signal("TERM");
    assert_eq!(running.wait().code, Some(143));
}

#[test]
fn remaining_processes_of_ranks_end_with_the_job() {
    let script =
        "exec >/dev/null 2>&1; sleep 600 & setsid sh -c 'trap \"\" TERM; sleep 600' & exit";
    let outcome = run_shell("2", script);
    assert_eq!(outcome.code, Some(0));
    assert_eq!(outcome.stderr, "");
}

/// Ranks with children, also in other sessions.
fn start_family() -> Running {
    let running = start_shell("2", "setsid sleep 600 & sh -c 'sleep 600; true' & echo ready; wait");
    ready(&running, 2);
    running
}

#[test]
fn nothing_is_left_if_either_launcher_process_is_killed() {
    let running = start_family();
    signal_process(running.pid(), "KILL");
    assert_eq!(running.wait().code, None);

    let running = start_family();
    signal_process(running.job_loop(), "KILL");
    assert_eq!(running.wait().code, Some(137));
}

#[test]
fn a_rank_behind_shells_ends_with_the_launcher() {
    // The kernel ends the outer shell. Nothing is printed after the first line: a rank that writes to the
    // pipe of its launcher when that has gone ends by SIGPIPE first, and its shell goes on.
    let inner = quoted(&format!("{} 1000000000; sleep 600", quoted(&compiled("allreduce"))));
    let script = format!("sh -c {inner}; true");
    let running = start_shell("2", &script);
    running.until_output(|text| (text.matches("ready").count() == 2).then_some(()));
    let job_loop = running.job_loop();
    signal_process(running.pid(), "STOP");
    signal_process(job_loop, "KILL");
    until(|| (state(job_loop) == Some('Z')).then_some(()));
    signal_process(running.pid(), "KILL");
    assert_eq!(running.wait().code, None);
}

#[test]
fn inherited_signal_settings_affect_neither_mpirun_nor_ranks() {
    let before = ["env", "--ignore-signal=CHLD", "--block-signal"];
    let words = ["-n", "2", "sh", "-c", "grep -E '^Sig(Blk|Ign)' /proc/self/status; exit 3"];
    let outcome = start_behind(&before, &words.map(str::to_owned)).wait();
    assert_eq!((outcome.code, &*outcome.stderr), (Some(3), ""));
    let set = |line: &str| u64::from_str_radix(line.split_once(":\t").unwrap().1, 16).unwrap();
    let (blocked, ignored): (Vec<_>, _) =
        outcome.lines().into_iter().partition(|line| line.starts_with("SigBlk"));
    assert_eq!(blocked.into_iter().map(set).collect::<Vec<_>>(), [0, 0]);
    assert!(ignored.iter().all(|line| set(line) & 1 << 16 == 0), "{ignored:?}");
    // The compiler wrapper waits for a compiler, too.
    let mut command = marked(before[0]);
    command.args(&before[1..]).arg(built("mpifort")).arg("-show");
    assert_eq!(start(command).wait().code, Some(0));
}

#[test]
fn jobs_run_and_end_without_descriptors_of_processes() {
    let refuse = compiled("refuse");
    // ENOSYS of an old kernel, EPERM of a filter.
    for number in ["38", "1"] {
        let before = [&refuse[..], number];
        let outcome = start_behind(&before, &words("2", "exchange")).wait();
        assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""));
        let outcome = start_behind(&before, &words_behind_shell("2", "leave", "sleep 600")).wait();
        assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("ended without MPI_Finalize"), "{}", outcome.stderr);
        let running = start_behind(&before, &words("2", "sleep"));
        running.joined(2);
        signal_process(running.pid(), "KILL");
        let outcome = running.wait();
        assert!(outcome.stderr.contains("supervisor process"), "{}", outcome.stderr);
    }
}

#[test]
fn a_single_host_job_opens_no_port() {
    let running = start(mpirun(&words("2", "sleep")));
    running.joined(2);
    let listening: Vec<String> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .flat_map(|table| {
            fs::read_to_string(table)
                .unwrap_or_default()
                .lines()
                .skip(1)
                .filter_map(|line| line.split_ascii_whitespace().nth(9).map(str::to_owned))
                .collect::<Vec<_>>()
        })
        .collect();
    for pid in running.processes() {
        for fd in fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten() {
            let target = fs::read_link(fd.path()).unwrap_or_default();
            let inode = target.to_string_lossy().replace("socket:[", "").replace(']', "");
            assert!(!listening.contains(&inode), "process {pid} has a TCP socket");
        }
    }
}

/// Kills any process of a job at any time. `SUIRO_KILL_RUNS` makes it more than 20 times.
#[test]
fn random_kills_leave_nothing() {
    let runs = env::var("SUIRO_KILL_RUNS").ok().and_then(|text| text.parse().ok()).unwrap_or(20);
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    for run in 0..runs {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let words = match run % 2 {
            0 => words("3", "sleep"),
            // A shell that continues endlessly after a program without MPI would look healthy.
            _ => words_behind_shell("3", "sleep", "true"),
        };
        let running = start(mpirun(&words));
        thread::sleep(Duration::from_micros(random % 60_000));
        let processes = running.processes();
        let victim = processes[(random >> 20) as usize % processes.len()];
        println!("run {run}: killing {victim} of {processes:?} below {}", running.pid());
        signal_process(victim, "KILL");
        let outcome = running.wait();
        assert_ne!(outcome.code, Some(0), "run {run}, process {victim}");
    }
}
