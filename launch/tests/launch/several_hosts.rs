//! Jobs on several hosts, of which all are this machine: the command that starts the agent of another
//! host runs it here. The addresses are of no machine (RFC 5737), and no name server is asked for them.
//! Real networks are in `tests/hosts`.

use std::fs;

use super::harness::{
    HERE, Outcome, Running, agents, built, compiled, feed, folder, marked, mpirun, ranks, run,
    signal_process, start, until,
};

/// `mpirun words`, with agents for other hosts.
fn words<'a>(words: &[&'a str]) -> Vec<&'a str> {
    [&["-launcher-exec", HERE], words].concat()
}

/// A job on this host and two others, three ranks on each.
fn three_hosts(program: &[&str]) -> Outcome {
    run(&words(&[&["-host", "localhost:3,198.51.100.1:3,198.51.100.2:3"], program].concat()))
}

/// What a rank does until it is ended, and one that SIGTERM does not end.
const WAIT: &str = "echo here; exec sleep 300";
const WAIT_FOR_KILL: &str = "trap '' TERM; echo here; while :; do sleep 300; done";

/// Ranks of two other hosts in `script`, once all run.
fn waiting(script: &str) -> Running {
    let running =
        start(mpirun(&words(&["-host", "198.51.100.1:2,198.51.100.2:2", "sh", "-c", script])));
    running.until_output(|text| (text.matches("here").count() == 4).then_some(()));
    running
}

#[test]
fn ranks_know_their_place_and_write_their_lines() {
    let script = "echo $PMI_RANK/$PMI_SIZE $MPI_LOCALRANKID/$MPI_LOCALNRANKS; echo e >&2; exit 3";
    let outcome = three_hosts(&["-l", "sh", "-c", script]);
    let line = |rank: usize| format!("[{rank}] {rank}/9 {}/3", rank % 3);
    assert_eq!(outcome.lines(), (0..9).map(line).collect::<Vec<_>>());
    assert_eq!((outcome.stderr.matches("] e\n").count(), outcome.code), (9, Some(3)));
}

#[test]
fn login_scripts_may_print() {
    let printing = r#"sh -c 'echo Welcome; echo Today is Monday >&2; eval "$1"'"#;
    let outcome =
        run(&["-launcher-exec", printing, "-host", "198.51.100.1,198.51.100.2", "echo", "here"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(outcome.lines(), ["here", "here"]);
    assert!(outcome.stderr.contains("198.51.100.2: Today is Monday\n"), "{}", outcome.stderr);
}

#[test]
fn lines_of_a_starter_wait_until_they_are_read() {
    // 50 MB, of which nothing is read at first, and the memory of mpirun after that.
    let starter = "sh -c '\
        awk \"BEGIN { for (i = 1; i <= 50000; i++) printf \\\"%0999d\\n\\\", i }\" >&2; \
        grep VmHWM /proc/$PPID/status >&2; eval \"$1\"'";
    let words = ["-launcher-exec", starter, "-host", "198.51.100.1", "echo", "here"];
    let mut shell = marked("sh");
    shell.arg("-c").arg("\"$0\" \"$@\" 2>&1 | { sleep 0.5; cat; }");
    shell.arg(built("mpirun")).args(words);
    let outcome = start(shell).wait();
    // On a slow machine, mpirun says that it waits.
    let is_note = |line: &&str| line.starts_with("mpirun: note: ");
    let mut lines = outcome.text().lines().filter(|line| !is_note(line));
    for number in 1..=50000 {
        assert_eq!(lines.next(), Some(&*format!("198.51.100.1: {number:0999}")));
    }
    let peak = lines.next().unwrap().strip_prefix("198.51.100.1: VmHWM:").unwrap();
    let peak: u32 = peak.trim().strip_suffix(" kB").unwrap().parse().unwrap();
    assert!(peak < 30_000, "{peak} kB");
    assert_eq!(lines.collect::<Vec<_>>(), ["here"]);
}

#[test]
fn ranks_of_a_host_have_its_home_and_the_limits_of_the_launcher() {
    let limits = "ulimit -S -c 0; ulimit -S -n 300; umask 007";
    let other = &format!(r#"env HOME=/there HOSTNAME=there sh -c '{limits}; eval "$1"'"#);
    let host = ["-launcher-exec", other, "-host", "198.51.100.1"];
    let show = "echo $HOME $HOSTNAME $A `ulimit -S -s` `ulimit -S -n` `umask`";
    let here = |options: &[&str], mask: &str| {
        let mut shell = marked("sh");
        let text = format!("umask {mask}; ulimit -S -s 4096; ulimit -S -n 200; exec \"$0\" \"$@\"");
        shell.arg("-c").arg(text).arg(built("mpirun")).args(options);
        shell.args(["-n", "1", "sh", "-c", show]);
        shell.env("HOME", "/here").env("HOSTNAME", "here").env("A", "1");
        let outcome = start(shell).wait();
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        outcome.text().trim().to_owned()
    };
    assert_eq!(here(&["-host", "127.0.0.1"], "027"), "/here here 1 4096 200 0027");
    assert_eq!(here(&host, "027"), "/there there 1 4096 200 0027");
    let named = [&host, &["-x", "HOME", "-x", "HOSTNAME=x"][..]].concat();
    assert_eq!(here(&named, "022"), "/here x 1 4096 200 0022");
}

#[test]
fn ranks_have_no_more_open_files_than_their_host_allows_and_agents_all() {
    let other = r#"sh -c 'ulimit -S -n 200; ulimit -H -n 300; eval "$1"'"#;
    let show = "ulimit -S -n; ulimit -H -n; grep '^Max open files' /proc/$PPID/limits";
    let outcome = run(&["-launcher-exec", other, "-host", "198.51.100.1", "sh", "-c", show]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let words: Vec<_> = outcome.text().split_whitespace().collect();
    assert_eq!(words, ["300", "300", "Max", "open", "files", "300", "300", "files"]);
}

#[test]
fn mpi_programs_run_over_hosts() {
    let outcome = three_hosts(&[&compiled("allreduce"), "10"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
}

#[test]
fn a_name_that_a_rank_publishes_is_found_on_other_hosts() {
    let script = "ask() { echo \"cmd=$*\" >&$PMI_FD; read -r answer <&$PMI_FD; }\n\
        ask init pmi_version=1 pmi_subversion=1\n\
        [ $PMI_RANK != 3 ] || ask publish_name service=harbour port=berth\n\
        ask barrier_in; ask lookup_name service=harbour; found=${answer##*port=}\n\
        ask barrier_in; [ $PMI_RANK != 8 ] || ask unpublish_name service=harbour\n\
        ask barrier_in; ask lookup_name service=harbour\n\
        case $answer in *rc=1*) echo $found ;; esac\n\
        ask finalize\n";
    let outcome = three_hosts(&["bash", "-c", script]);
    assert_eq!(outcome.text(), "berth\n".repeat(9), "{}", outcome.stderr);
    assert_eq!(outcome.code, Some(0));
}

#[test]
fn files_that_are_not_copied_are_written_by_the_host_of_the_rank() {
    let folder = folder("launch-files-on-hosts");
    // Whether the parent has the file open: the agent of this host, or the head. It may close other
    // files meanwhile, which ls reports.
    let script = "ls -l /proc/$PPID/fd 2>/dev/null | grep -c /out/file.$PMI_RANK.out; \
        echo e >&2; printf end";
    for (copy, written) in [(":nocopy", ["1", "1", "1"]), (":copy", ["1", "0", "0"])] {
        let name = format!("out/file{copy}");
        let options = [
            "-host",
            "localhost,198.51.100.1,198.51.100.2",
            "--output",
            "rank",
            "--output-filename",
        ];
        let mut command = mpirun(&words(&[&options[..], &[&*name, "sh", "-c", script]].concat()));
        command.current_dir(&folder);
        let outcome = start(command).wait();
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert_eq!(outcome.text().is_empty(), copy == ":nocopy", "{}", outcome.text());
        for (rank, count) in written.iter().enumerate() {
            let text =
                |end| fs::read_to_string(folder.join(format!("out/file.{rank}.{end}"))).unwrap();
            let lines = format!("[{rank}]<stdout>: {count}\n[{rank}]<stdout>: end\n");
            assert_eq!((text("out"), text("err")), (lines, format!("[{rank}]<stderr>: e\n")));
        }
    }
    let mut name = folder.join("out/file.0.out/x").into_os_string();
    name.push(":nocopy");
    let name = name.to_str().unwrap();
    let outcome =
        run(&words(&["-host", "198.51.100.1", "-n", "1", "--output-filename", name, "true"]));
    assert_eq!(outcome.code, Some(1));
    for part in ["cannot write", "file.0.out/x.0.out", "on host 198.51.100.1"] {
        assert!(outcome.stderr.contains(part), "{}", outcome.stderr);
    }
}

#[test]
fn input_and_much_output_cross_unchanged() {
    let text: String = (0..300_000).map(|number| format!("{number}\n")).collect();
    let command = mpirun(&words(&["-host", "198.51.100.1,198.51.100.2", "-n", "2", "cat"]));
    let outcome = feed(command, text.as_bytes());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(outcome.text() == text);
}

#[test]
fn what_cannot_start_names_the_host() {
    let outcome = three_hosts(&["/no/such/program"]);
    assert_eq!(outcome.code, Some(127));
    let outcome = run(&words(&["-host", "198.51.100.1", "-n", "1", "/no/such/program"]));
    let line = "cannot start /no/such/program: program not found on host 198.51.100.1";
    assert!(outcome.stderr.contains(line), "{}", outcome.stderr);
    let debugger = ["-host", "198.51.100.1", "--debug", "0", "/no/such/debugger -args", "true"];
    let outcome = run(&words(&debugger));
    let line = "cannot start /no/such/debugger: program not found on host 198.51.100.1";
    assert!(outcome.stderr.contains(line), "{}", outcome.stderr);
    let outcome = three_hosts(&["sh", "-c", "[ $PMI_RANK != 4 ] || exec /no/such/program"]);
    let line = " on 198.51.100.1) exited with code 127: a program or a library was not found there";
    assert!(outcome.stderr.contains(line), "{}", outcome.stderr);
    let outcome = run(&words(&["-host", "198.51.100.1", "-wdir", "/no/such/folder", "true"]));
    let line = "cannot start true: there is no directory /no/such/folder on host 198.51.100.1";
    assert!(outcome.stderr.contains(line), "{}", outcome.stderr);
    for (command, why) in [
        ("false", "its connection has ended: the command exited with code 1 (false 198.51.100.2 "),
        ("echo Welcome to the machine", "it sent \"Welcome to the machine 198.51.100.2"),
        ("/no/such/command", "/no/such/command: "),
    ] {
        let outcome =
            run(&["-launcher-exec", command, "-host", "localhost,198.51.100.2", "sleep", "300"]);
        let start = "mpirun: cannot start mpirun's agent on host 198.51.100.2: ";
        assert!(outcome.stderr.contains(&format!("{start}{why}")), "{}", outcome.stderr);
        assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    }
}

#[test]
fn a_host_whose_agent_does_not_answer_is_named() {
    let silent = "sh -c 'exec sleep 300'";
    let hosts = ["-host", "localhost,198.51.100.2", "--timeout", "1", "sleep", "300"];
    let outcome = run(&[&["-launcher-exec", silent], &hosts[..]].concat());
    assert_eq!(outcome.code, Some(124), "{}", outcome.stderr);
    let line = "mpirun: mpirun's agent on host 198.51.100.2 has not answered";
    assert!(outcome.stderr.contains(line), "{}", outcome.stderr);
}

#[test]
fn a_command_that_starts_no_agent_is_given_up() {
    let silent = "sh -c 'exec sleep 300'";
    let words = ["-launcher-exec", silent, "-host", "localhost,198.51.100.2", "sleep", "300"];
    let mut command = mpirun(&words);
    command.env("SUIRO_START_TIMEOUT", "500ms");
    let outcome = start(command).wait();
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    let line = "mpirun: cannot start mpirun's agent on host 198.51.100.2: it has not answered for \
                0.5 s (SUIRO_START_TIMEOUT); its command: sh -c 'exec sleep 300' 198.51.100.2 ";
    assert!(outcome.stderr.contains(line), "{}", outcome.stderr);
}

#[test]
fn processes_that_ranks_left_are_named_with_their_hosts() {
    let hosts = ["198.51.100.1", "198.51.100.2"];
    let script = ["-n", "2", "sh", "-c", "sleep 600 & echo x"];
    let outcome = run(&words(&[&["-host", &hosts.join(",")], &script[..]].concat()));
    assert_eq!((outcome.code, outcome.text()), (Some(0), "x\nx\n"));
    for host in hosts {
        let line = format!(
            "mpirun: all ranks have ended, but processes that they started on {host} may still \
             write their output; ending them: "
        );
        let found = outcome.stderr.lines().find(|found| found.starts_with(&line));
        assert!(found.is_some_and(|found| found.ends_with(" sleep")), "{}", outcome.stderr);
    }
}

#[test]
fn limits_of_hosts_are_checked_before_the_start() {
    let mut command = mpirun(&["true"]);
    command.env("SUIRO_HOST_TIMEOUT", "5");
    let outcome = start(command).wait();
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert!(
        outcome.stderr.starts_with("mpirun: SUIRO_HOST_TIMEOUT=5 is not one of off|a duration")
    );
}

/// The process of `mpirun --agent` that starts ranks: the child of another.
fn agent(running: &Running) -> u32 {
    let all = until(|| Some(agents(running)).filter(|all| all.len() == 4));
    *all.iter().find(|pid| all.contains(&parent(**pid))).unwrap()
}

fn parent(pid: u32) -> u32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(')').unwrap().1.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// As [`waiting`], with this limit of silence.
fn waiting_within(limit: &str) -> Running {
    let words = words(&["-host", "198.51.100.1:2,198.51.100.2:2", "sh", "-c", WAIT_FOR_KILL]);
    let mut command = mpirun(&words);
    command.env("SUIRO_HOST_TIMEOUT", limit);
    let running = start(command);
    running.until_output(|text| (text.matches("here").count() == 4).then_some(()));
    running
}

#[test]
fn a_stopped_agent_is_lost() {
    let running = waiting_within("1s");
    signal_process(agent(&running), "STOP");
    let outcome = running.wait();
    assert_eq!(outcome.code, Some(137), "{}", outcome.stderr);
    let lost =
        outcome.stderr.lines().find(|line| line.starts_with("mpirun: lost host 198.51.100."));
    let lost = lost.unwrap_or_else(|| panic!("{}", outcome.stderr));
    assert!(lost.ends_with(": it has been silent for 1 s (SUIRO_HOST_TIMEOUT); ending the job"));
}

#[test]
fn a_stopped_head_is_lost_to_its_agents() {
    let running = waiting_within("1s");
    let head = running.job_loop();
    signal_process(head, "STOP");
    until(|| ranks(&running).is_empty().then_some(()));
    signal_process(head, "CONT");
    let outcome = running.wait();
    assert_eq!(outcome.code, Some(137), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("mpirun is silent; ending its processes on "));
}

#[test]
fn processes_that_are_stopped_for_a_short_time_are_not_lost() {
    let running = start(mpirun(&words(&["-host", "198.51.100.1:2,198.51.100.2:2", "sleep", "1"])));
    for process in [agent(&running), running.job_loop()] {
        signal_process(process, "STOP");
        std::thread::sleep(std::time::Duration::from_millis(300));
        signal_process(process, "CONT");
    }
    let outcome = running.wait();
    assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""));
}

#[test]
fn a_killed_rank_of_another_host_is_named() {
    let running = waiting(WAIT);
    signal_process(ranks(&running)[&3], "KILL");
    let outcome = running.wait();
    assert_eq!(outcome.code, Some(137));
    let line = " on 198.51.100.2) was killed by signal 9 (SIGKILL); ending the other 3 ranks";
    assert!(outcome.stderr.contains("mpirun: rank 3 (process "), "{}", outcome.stderr);
    assert!(outcome.stderr.contains(line), "{}", outcome.stderr);
}

#[test]
fn a_killed_agent_ends_the_job_and_its_host_is_named() {
    for (number, why) in [(0, ""), (1, "its connection has ended")] {
        let running = waiting(WAIT_FOR_KILL);
        let all = until(|| Some(agents(&running)).filter(|all| all.len() == 4));
        // Each agent is a supervisor, and its child.
        let is_child = |pid: &u32| all.contains(&parent(*pid));
        let (children, supervisors): (Vec<u32>, Vec<u32>) =
            all.iter().partition(|one| is_child(one));
        signal_process([&supervisors, &children][number][1], "KILL");
        let outcome = running.wait();
        assert_eq!(outcome.code, Some(137), "{}", outcome.stderr);
        let lost = outcome.stderr.lines().find(|line| line.starts_with("mpirun: lost host "));
        let lost = lost.unwrap_or_else(|| panic!("{}", outcome.stderr));
        assert!(lost.contains(" with ranks ") && lost.contains(why), "{lost}");
    }
}

#[test]
fn nothing_is_left_when_mpirun_is_ended_or_killed() {
    for (signal, code) in [("INT", Some(130)), ("TERM", Some(143)), ("KILL", None)] {
        let running = waiting(WAIT_FOR_KILL);
        running.signal(signal);
        assert_eq!(running.wait().code, code, "{signal}");
    }
    let running = waiting(WAIT);
    signal_process(running.job_loop(), "KILL");
    assert_eq!(running.wait().code, Some(137));
}

#[test]
fn a_job_that_takes_too_long_is_reported_with_the_ranks_of_all_hosts() {
    let hosts = ["-host", "198.51.100.1,198.51.100.2", "-n", "2", "--timeout", "2"];
    let report = |program: &[&str]| {
        let outcome = run(&words(&[&hosts, program].concat()));
        assert_eq!(outcome.code, Some(124), "{}", outcome.stderr);
        let (_, report) = outcome.stderr.split_once("mpirun: state of the ranks:\n").unwrap();
        report.to_owned()
    };
    let text = report(&["sleep", "300"]);
    let line = text.lines().next().unwrap();
    assert!(line.starts_with("  ranks 0 on 198.51.100.1 (process "), "{text}");
    assert!(line.contains("), 1 on 198.51.100.2 (process "), "{text}");
    // Which rank waits for which is known over hosts.
    let text = report(&["-genv", "SUIRO_DEADLOCK", "off", &compiled("deadlock"), "receive"]);
    assert!(text.contains("\n  deadlock: rank 0 in MPI_Recv(source 1, "), "{text}");
}

#[test]
fn a_report_does_not_wait_for_a_host_that_is_stopped() {
    let mut words = words(&["-host", "198.51.100.1:2,198.51.100.2:2", "--timeout", "2"]);
    words.extend(["sh", "-c", WAIT_FOR_KILL]);
    let mut command = mpirun(&words);
    command.env("SUIRO_HOST_TIMEOUT", "off");
    let running = start(command);
    running.until_output(|text| (text.matches("here").count() == 4).then_some(()));
    signal_process(agent(&running), "STOP");
    let outcome = running.wait();
    assert_eq!(outcome.code, Some(124), "{}", outcome.stderr);
    let (_, report) = outcome.stderr.split_once("mpirun: state of the ranks:\n").unwrap();
    let mut lines = report.lines().filter(|line| line.starts_with("mpirun: host 198.51.100."));
    let line = lines.next().unwrap_or_else(|| panic!("{report}"));
    let (stopped, ranks, other) = match line.contains("198.51.100.1 ") {
        true => ("198.51.100.1", "0-1", " on 198.51.100.2 (process"),
        false => ("198.51.100.2", "2-3", " on 198.51.100.1 (process"),
    };
    let wanted = format!("host {stopped} with ranks {ranks} has not answered for 7 s, and is not");
    assert!(line.contains(&wanted) && report.contains(other), "{report}");
    assert_eq!(lines.next(), None);
}

#[test]
fn a_host_whose_ranks_have_all_ended_is_a_part_of_a_deadlock() {
    let hosts = ["-host", "198.51.100.1:1,198.51.100.2:2", "-n", "3"];
    let program = compiled("session_end");
    let outcome =
        run(&words(&[&hosts[..], &["-genv", "SUIRO_DEADLOCK", "abort", &program]].concat()));
    assert_eq!(outcome.code, Some(35), "{}", outcome.stderr);
    assert!(outcome.stderr.contains(" waits for rank 1, which has ended\n"), "{}", outcome.stderr);
}

#[test]
fn ranks_are_distributed_by_the_cores_of_each_host() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    let first: String = list.trim().chars().take_while(char::is_ascii_digit).collect();
    // Agents have one processor, mpirun as many as there are.
    let agent = format!(r#"sh -c 'eval "taskset -c {first} $1"'"#);
    let job = |options: &[&str]| {
        let hosts = ["-launcher-exec", &agent, "-host", "198.51.100.1,198.51.100.2"];
        run(&[&hosts, options, &["sh", "-c", "echo $MPI_LOCALNRANKS"]].concat())
    };
    let outcome = job(&["-n", "2", "-map-by", "ppr:1:core", "-report-bindings"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(outcome.lines(), ["1", "1"]);
    for (rank, host) in [(0, "198.51.100.1"), (1, "198.51.100.2")] {
        let line = format!("mpirun: rank {rank} on {host} bound to core 0 of package 0");
        assert!(outcome.stderr.contains(&line), "{}", outcome.stderr);
    }
    let outcome = job(&["-n", "2", "-map-by", "ppr:1:core", "-display", "map,allocation"]);
    let host = |name| format!("{name}: 1 package, 1 core, 1 hardware thread (processors {first})");
    for name in ["198.51.100.1", "198.51.100.2"] {
        assert!(outcome.text().contains(&host(name)), "{}", outcome.text());
    }
    let outcome = job(&["-n", "3", "-map-by", "ppr:1:core"]);
    assert_eq!(outcome.code, Some(2));
    let why = "mpirun: -n 3: 1 on each core allows at most 2";
    assert!(outcome.stderr.contains(why), "{}", outcome.stderr);
}
