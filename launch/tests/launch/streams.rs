//! Standard input, output and error of ranks: plain, in bulk, closed, full, and without a reader.
//!
//! `SUIRO_STREAM_MIB` sets the amount of data of the bulk tests (1024 for a GiB).

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use super::harness::{
    feed, folder, marked, mpirun, quoted, ranks, run, run_shell, run_with_input, signal_process,
    start, until,
};

/// The launcher's buffer for ranks that read more slowly than others, in MiB.
const WINDOW_MIB: usize = 64;

/// Two ranks on each of four hosts, of which all are this machine: the command that starts an agent runs
/// it here. Addresses of documentation (RFC 5737): names would be looked up, which may take seconds.
const HOSTS: [&str; 4] = ["-launcher-exec", r#"sh -c 'eval "$1"'"#, "-host", FOUR];

const FOUR: &str = "198.51.100.1:2,198.51.100.2:2,198.51.100.3:2,198.51.100.4:2";

/// `mpirun words` on [`HOSTS`].
fn on_hosts(words: &[&str]) -> Command {
    mpirun(&[&HOSTS, words].concat())
}

/// Random bytes of all values.
fn noise(len_bytes: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..len_bytes).map(|_| next()).collect()
}

#[test]
fn input_goes_to_rank_0_to_the_last_byte_and_ends() {
    let bytes = noise(1 << 20);
    let outcome = run_with_input(&["-n", "3", "cat"], &bytes);
    assert_eq!(outcome.code, Some(0));
    assert!(outcome.stdout == bytes);
}

fn much_mib() -> usize {
    std::env::var("SUIRO_STREAM_MIB").map_or(32, |mib| mib.parse().unwrap())
}

/// A file of random bytes; all its MiB differ.
fn much(folder: &Path) -> File {
    let mut file = File::create(folder.join("much")).unwrap();
    let mut bytes = noise(1 << 20);
    for number in 0..much_mib() {
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        file.write_all(&bytes).unwrap();
    }
    File::open(folder.join("much")).unwrap()
}

/// The output of cksum for `input`.
fn sum(input: File) -> String {
    let output = Command::new("cksum").stdin(input).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn much_input_arrives_from_files_and_pipes_at_one_and_at_all() {
    let folder = folder("launch-much-input");
    let expected = sum(much(&folder));
    for (ranks, count) in [("0", 1), ("2", 1), ("all", 3), ("0-1", 2)] {
        for through_pipe in [false, true] {
            let mut command = mpirun(&["--stdin", ranks, "-n", "3", "cksum"]);
            let mut feeder = None;
            if through_pipe {
                let mut cat = Command::new("cat");
                cat.arg(folder.join("much")).stdout(Stdio::piped());
                let mut cat = cat.spawn().unwrap();
                command.stdin(cat.stdout.take().unwrap());
                feeder = Some(cat);
            } else {
                command.stdin(File::open(folder.join("much")).unwrap());
            }
            let outcome = start(command).wait();
            assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
            let found = outcome.text().split_inclusive('\n').filter(|sum| *sum == expected);
            assert_eq!(found.count(), count, "--stdin {ranks}, pipe: {through_pipe}");
            assert_eq!(outcome.stderr, "");
            if let Some(mut feeder) = feeder {
                assert!(feeder.wait().unwrap().success());
            }
        }
    }
}

#[test]
fn unread_input_is_not_consumed() {
    let folder = folder("launch-input");
    fs::write(folder.join("lines"), "first\nsecond\n").unwrap();
    let lines = File::open(folder.join("lines")).unwrap();
    let mut command = mpirun(&["-n", "2", "true"]);
    command.stdin(lines.try_clone().unwrap());
    assert_eq!(start(command).wait().code, Some(0));
    let mut rest = String::new();
    (&lines).read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "first\nsecond\n");
}

#[test]
fn a_partial_line_is_written() {
    let outcome = run_shell("2", "printf $PMI_RANK; printf x$PMI_RANK >&2");
    assert!(["01", "10"].contains(&outcome.text()), "{}", outcome.text());
    assert!(["x0x1", "x1x0"].contains(&&*outcome.stderr), "{}", outcome.stderr);
}

#[test]
fn a_prompt_is_written_before_the_line_ends() {
    let running = start(mpirun(&["-n", "2", "sh", "-c", "printf 'name? '; sleep 600"]));
    running.until_output(|text| (text == "name? name? ").then_some(()));
    running.signal("TERM");
    assert_eq!(running.wait().code, Some(143));
}

#[test]
fn lines_of_ranks_stay_whole() {
    let script = "i=0; while [ $i -lt 200 ]; do printf $PMI_RANK$PMI_RANK$PMI_RANK; \
                  printf $PMI_RANK$PMI_RANK; echo; i=$((i+1)); done";
    let outcome = run_shell("4", script);
    let lines = outcome.lines();
    assert_eq!(lines.len(), 800);
    for (line, rank) in lines.iter().zip((0..4).flat_map(|rank| [rank; 200])) {
        assert_eq!(*line, rank.to_string().repeat(5));
    }
}

#[test]
fn much_output_of_many_ranks_is_complete() {
    let outcome = run_shell("4", "head -c 1000000 /dev/zero; head -c 300000 /dev/zero >&2");
    assert_eq!(outcome.stdout.len(), 4_000_000);
    assert_eq!(outcome.stderr.len(), 1_200_000);
}

#[test]
fn much_output_is_unchanged() {
    let folder = folder("launch-much-output");
    let expected = sum(much(&folder));
    for options in [&["-n", "1"][..], &["-n", "2"], &["-n", "2", "--output", "file=F"]] {
        let mut command = mpirun(&[options, &["cat"]].concat());
        command.stdin(File::open(folder.join("much")).unwrap()).current_dir(&folder);
        command.stdout(File::create(folder.join("out")).unwrap());
        assert_eq!(start(command).wait().code, Some(0));
        assert_eq!(sum(File::open(folder.join("out")).unwrap()), expected, "{options:?}");
    }
    assert_eq!(sum(File::open(folder.join("F.0.out")).unwrap()), expected);
}

#[test]
fn ranks_that_read_nothing_or_end_do_not_keep_others_waiting() {
    let folder = folder("launch-lazy");
    let expected = sum(much(&folder));
    let script = "case $PMI_RANK in
        0) cksum; echo > done;;
        1) until [ -e done ]; do sleep 0.01; done;;
        2) head -c 1000 | wc -c;;
        3) exec <&-; sleep 0.1;; esac";
    let mut command = mpirun(&["-s", "all", "-n", "4", "sh", "-c", script]);
    let mut cat = Command::new("cat");
    let mut cat = cat.arg(folder.join("much")).stdout(Stdio::piped()).spawn().unwrap();
    command.stdin(cat.stdout.take().unwrap()).current_dir(&folder);
    let outcome = start(command).wait();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(outcome.lines(), ["1000", expected.trim_end()]);
    let given_up = "mpirun: rank 1 does not read its standard input while others wait for more; \
                    its input is closed\n";
    assert_eq!(outcome.stderr, if much_mib() > WINDOW_MIB { given_up } else { "" });
    cat.wait().unwrap();
}

#[test]
fn a_late_reader_of_copied_input_gets_everything() {
    let script = "[ $PMI_RANK = 1 ] && { until [ -e done ]; do sleep 0.01; done; }
                  cksum; echo > done";
    let folder = folder("launch-late-reader");
    fs::write(folder.join("some"), noise(3_000_001)).unwrap();
    let expected = sum(File::open(folder.join("some")).unwrap());
    let mut command = mpirun(&["--stdin=0,1", "-n", "3", "sh", "-c", script]);
    let mut cat = Command::new("cat");
    let mut cat = cat.arg(folder.join("some")).stdout(Stdio::piped()).spawn().unwrap();
    command.stdin(cat.stdout.take().unwrap()).current_dir(&folder);
    let outcome = start(command).wait();
    assert_eq!(outcome.lines().iter().filter(|sum| **sum == expected.trim_end()).count(), 2);
    cat.wait().unwrap();
}

#[test]
fn input_arrives_at_ranks_of_other_hosts() {
    let folder = folder("launch-hosts-input");
    fs::write(folder.join("some"), noise(3_000_001)).unwrap();
    let some = || File::open(folder.join("some")).unwrap();
    let expected = sum(some());
    for (ranks, count) in [("0", 1), ("5", 1), ("all", 8), ("0-1,6", 3)] {
        for through_pipe in [false, true] {
            let mut command = on_hosts(&["--stdin", ranks, "cksum"]);
            let mut cat = None;
            if through_pipe {
                let mut feeder = Command::new("cat");
                let mut feeder = feeder.stdin(some()).stdout(Stdio::piped()).spawn().unwrap();
                command.stdin(feeder.stdout.take().unwrap());
                cat = Some(feeder);
            } else {
                command.stdin(some());
            }
            let outcome = start(command).wait();
            assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
            let found = outcome.text().split_inclusive('\n').filter(|sum| *sum == expected);
            assert_eq!(found.count(), count, "--stdin {ranks}, pipe: {through_pipe}");
            if let Some(mut cat) = cat {
                cat.wait().unwrap();
            }
        }
    }
}

#[test]
fn ranks_of_other_hosts_that_read_nothing_or_end_do_not_keep_others_waiting() {
    let folder = folder("launch-hosts-lazy");
    fs::write(folder.join("some"), noise(9_000_001)).unwrap();
    let some = || File::open(folder.join("some")).unwrap();
    let script = "case $PMI_RANK in
        1) until [ -e done ]; do sleep 0.01; done;;
        2) head -c 1000 | wc -c;;
        3) exec <&-; sleep 0.1;;
        4) cksum; echo > done;; esac";
    let mut command = on_hosts(&["-s", "1-4", "sh", "-c", script]);
    let mut cat = Command::new("cat");
    let mut cat = cat.stdin(some()).stdout(Stdio::piped()).spawn().unwrap();
    command.stdin(cat.stdout.take().unwrap()).current_dir(&folder);
    let outcome = start(command).wait();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(outcome.lines(), ["1000", sum(some()).trim_end()]);
    cat.wait().unwrap();
}

/// `SUIRO_STREAM_MIB` sets the output of all ranks together.
#[test]
fn the_output_of_many_hosts_is_exact_though_its_reader_stops() {
    let script = "i=0; while [ $i -lt $0 ]; do head -c 131000 /dev/zero | tr '\\0' x; echo $PMI_RANK $i; \
                  i=$((i+1)); done";
    let count = much_mib();
    let mut command = on_hosts(&["sh", "-c", script, &count.to_string()]);
    let (mut read, write) = std::io::pipe().unwrap();
    command.stdout(write);
    let running = start(command);
    // All buffers fill up meanwhile.
    thread::sleep(Duration::from_millis(300));
    let mut expected = [0; 8];
    let mut text = String::new();
    read.read_to_string(&mut text).unwrap();
    assert_eq!(running.wait().code, Some(0));
    for line in text.lines() {
        let (filler, rest) = line.split_at(131_000);
        assert!(filler.bytes().all(|byte| byte == b'x'));
        let (rank, number) = rest.split_once(' ').unwrap();
        let next = &mut expected[rank.parse::<usize>().unwrap()];
        assert_eq!(number, next.to_string());
        *next += 1;
    }
    assert_eq!(expected, [count; 8]);
}

#[test]
fn the_output_of_a_failed_rank_of_another_host_waits_for_a_slow_reader() {
    let mut command = on_hosts(&["-n", "1", "sh", "-c", "seq 30000; kill -s SEGV $$"]);
    let (mut read, write) = std::io::pipe().unwrap();
    command.stdout(write.try_clone().unwrap()).stderr(write);
    let running = start(command);
    thread::sleep(Duration::from_millis(1300));
    let mut text = String::new();
    read.read_to_string(&mut text).unwrap();
    assert_eq!(running.wait().code, Some(139));
    assert_eq!(text.lines().filter(|line| line.parse::<u32>().is_ok()).count(), 30_000);
    assert!(text.contains("\nmpirun: rank 0 (process "), "{}", &text[text.len() - 200..]);
}

#[test]
fn output_of_other_hosts_without_a_reader_does_not_keep_the_job_from_ending() {
    let mut command = on_hosts(&["sh", "-c", "yes; sleep 600"]);
    let (read, write) = std::io::pipe().unwrap();
    command.stdout(write);
    let running = start(command);
    until(|| (running.processes().len() > 10).then_some(()));
    running.signal("TERM");
    running.signal("TERM");
    assert_eq!(running.wait().code, Some(143));
    drop(read);
    // A closed pipe ends the job as the signal would.
    let mut command = on_hosts(&["sh", "-c", "yes; sleep 600"]);
    let (read, write) = std::io::pipe().unwrap();
    command.stdout(write);
    let running = start(command);
    drop(read);
    assert_eq!(running.wait().code, Some(141));
}

#[test]
fn no_rank_reads_with_stdin_none() {
    let outcome = run_with_input(&["--stdin", "none", "-n", "2", "cat"], b"x");
    assert_eq!((outcome.code, outcome.text()), (Some(0), ""));
}

#[test]
fn long_lines_of_many_ranks_stay_whole_however_slow_the_reader_is() {
    let script = "i=0; while [ $i -lt 4 ]; do head -c 200000 /dev/zero | tr '\\0' $PMI_RANK; echo; \
                  i=$((i+1)); done";
    for option in [&[][..], &["-l"]] {
        let mut command = mpirun(&[option, &["-n", "8", "sh", "-c", script]].concat());
        let (mut read, write) = std::io::pipe().unwrap();
        command.stdout(write);
        let running = start(command);
        // All buffers fill up meanwhile.
        thread::sleep(Duration::from_millis(300));
        let mut text = String::new();
        read.read_to_string(&mut text).unwrap();
        assert_eq!(running.wait().code, Some(0));
        assert_eq!(text.lines().count(), 32);
        for line in text.lines() {
            let (prefix, text) = if option.is_empty() { ("", line) } else { line.split_at(4) };
            assert_eq!(text.len(), 200_000);
            let rank = &text[..1];
            assert!(text.bytes().all(|byte| byte == rank.as_bytes()[0]));
            assert!(prefix.is_empty() || prefix == format!("[{rank}] "));
        }
    }
}

#[test]
fn a_keyboard_is_read_by_the_selected_ranks() {
    for (ranks, expected) in [("0", ["got:", "got:typed"]), ("all", ["got:typed", "got:typed"])] {
        // script(1) gives the launcher a terminal, and passes its own input to it.
        let program = quoted(env!("CARGO_BIN_EXE_mpirun"));
        let line = format!("{program} --stdin {ranks} -n 2 sh -c 'read x; echo got:$x'");
        let mut command = marked("script");
        command.args(["-qec", &line, "/dev/null"]);
        let outcome = feed(command, b"typed\n");
        assert_eq!(outcome.code, Some(0), "{}", outcome.text());
        let lines = outcome.lines();
        let got: Vec<_> = lines.iter().filter(|line| line.starts_with("got:")).collect();
        assert_eq!(got, expected.each_ref(), "{}", outcome.text());
    }
}

#[test]
fn closed_streams_are_empty_or_discard() {
    let program = quoted(env!("CARGO_BIN_EXE_mpirun"));
    for (redirection, output, error) in
        [("<&-", "a\na\n", "b\nb\n"), (">&-", "", "b\nb\n"), ("2>&-", "a\na\n", "")]
    {
        let line = format!("exec {program} -n 2 sh -c 'cat; echo a; echo b >&2' {redirection}");
        let mut command = marked("sh");
        command.args(["-c", &line]);
        let outcome = start(command).wait();
        assert_eq!(outcome.code, Some(0), "{redirection}");
        assert_eq!((outcome.text(), &*outcome.stderr), (output, error), "{redirection}");
    }
}

#[test]
fn an_output_without_a_reader_ends_the_job_silently() {
    let mut command = mpirun(&["-n", "2", "yes"]);
    let (read, write) = std::io::pipe().unwrap();
    command.stdout(Stdio::from(write));
    let running = start(command);
    let mut one = [0];
    (&read).read_exact(&mut one).unwrap();
    drop(read);
    let outcome = running.wait();
    assert_eq!(outcome.code, Some(141));
    assert_eq!(outcome.stderr, "");
}

#[test]
fn a_full_output_is_reported() {
    let mut command = mpirun(&["-n", "1", "echo", "x"]);
    command.stdout(File::options().write(true).open("/dev/full").unwrap());
    let outcome = start(command).wait();
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.contains("cannot write standard output"), "{}", outcome.stderr);
}

#[test]
fn a_full_standard_error_is_reported_on_standard_output() {
    let mut command = mpirun(&["-n", "2", "sh", "-c", "echo x >&2; sleep 600"]);
    command.stderr(File::options().write(true).open("/dev/full").unwrap());
    let outcome = start(command).wait();
    assert_eq!(outcome.code, Some(1));
    let why = "mpirun: cannot write standard error: No space left";
    assert!(outcome.text().starts_with(why), "{}", outcome.text());
}

#[test]
fn a_standard_error_without_a_reader_ends_the_job_silently() {
    let mut command = mpirun(&["-n", "2", "sh", "-c", "echo x >&2; sleep 600"]);
    let (read, write) = std::io::pipe().unwrap();
    command.stderr(write);
    drop(read);
    let outcome = start(command).wait();
    assert_eq!((outcome.code, outcome.text()), (Some(141), ""));
}

#[test]
fn nothing_is_reported_when_both_outputs_are_full() {
    let mut command = mpirun(&["-n", "2", "sh", "-c", "echo x; echo x >&2; sleep 600"]);
    let full = || File::options().write(true).open("/dev/full").unwrap();
    command.stdout(full()).stderr(full());
    assert_eq!(start(command).wait().code, Some(1));
}

#[test]
fn output_that_a_filter_has_when_the_ranks_end_is_written() {
    let script = "exec > >(sleep 0.3; cat); seq 1000; echo ended $PMI_RANK";
    let outcome = run(&["-n", "2", "bash", "-c", script]);
    assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""));
    assert_eq!(outcome.lines().len(), 2002, "{}", outcome.text());
}

#[test]
fn output_that_a_filter_has_when_the_job_fails_is_written() {
    let folder = folder("launch-filter");
    let script = "exec > >(read line; touch $PMI_RANK; sleep 0.1; echo $line); echo line $PMI_RANK
        test $PMI_RANK = 0 && exec sleep 600
        until [ -e 0 -a -e 1 ]; do sleep 0.01; done; kill -s SEGV $$";
    let mut command = mpirun(&["-n", "2", "bash", "-c", script]);
    command.current_dir(&folder);
    let outcome = start(command).wait();
    assert_eq!(outcome.code, Some(139), "{}", outcome.stderr);
    assert_eq!(outcome.lines(), ["line 0", "line 1"]);
}

#[test]
fn processes_that_keep_the_output_open_are_ended_and_named() {
    let outcome = run_shell("1", "sleep 600 & echo x");
    assert_eq!((outcome.code, outcome.text()), (Some(0), "x\n"));
    let words = "mpirun: all ranks have ended, but processes that they started may still write";
    assert!(outcome.stderr.starts_with(words), "{}", outcome.stderr);
    assert!(outcome.stderr.ends_with(" sleep\n"), "{}", outcome.stderr);
}

#[test]
fn the_output_of_a_failed_job_waits_for_a_slow_reader() {
    let mut command = mpirun(&["-n", "1", "sh", "-c", "seq 30000; kill -s SEGV $$"]);
    let (mut read, write) = std::io::pipe().unwrap();
    command.stdout(write.try_clone().unwrap()).stderr(write);
    let running = start(command);
    thread::sleep(Duration::from_millis(1300));
    let mut text = String::new();
    read.read_to_string(&mut text).unwrap();
    assert_eq!(running.wait().code, Some(139));
    assert_eq!(text.lines().filter(|line| line.parse::<u32>().is_ok()).count(), 30_000);
    assert!(text.contains("\nmpirun: rank 0 (process "), "{}", &text[text.len() - 200..]);
}

#[test]
fn output_that_nobody_reads_is_given_up_with_its_length() {
    let script = "head -c 200000 /dev/zero; echo written >&2; exec sleep 600";
    let mut command = mpirun(&["-n", "1", "sh", "-c", script]);
    let (mut read, write) = std::io::pipe().unwrap();
    command.stdout(write);
    let running = start(command);
    running.until_errors(|text| text.contains("written").then_some(()));
    running.signal("TERM");
    running.signal("TERM");
    let errors = running.wait().stderr;
    let mut found = Vec::new();
    read.read_to_end(&mut found).unwrap();
    let lost = 200_000 - found.len();
    let line = format!("{lost} bytes are lost: standard output did not accept them in time");
    assert_eq!(errors, format!("written\nmpirun: {line}\n"));
}

#[test]
fn a_terminal_that_nobody_drains_does_not_keep_the_job_from_ending() {
    for (options, signal) in [("", "TERM"), ("", "INT"), ("--timeout 1", "")] {
        // script(1) reads its terminal only as fast as its own output is read.
        let program = quoted(env!("CARGO_BIN_EXE_mpirun"));
        let line = format!("exec {program} {options} -n 2 yes");
        let mut command = marked("script");
        command.args(["-qec", &line, "/dev/null"]);
        let (read, write) = std::io::pipe().unwrap();
        command.stdout(write);
        let running = start(command);
        until(|| (ranks(&running).len() == 2).then_some(()));
        thread::sleep(Duration::from_millis(300));
        let is_launcher = |pid: &u32| {
            fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "mpirun\n")
        };
        let launcher = || running.processes().into_iter().find(is_launcher);
        let supervisor = launcher().unwrap();
        if !signal.is_empty() {
            signal_process(supervisor, signal);
        }
        until(|| ranks(&running).is_empty().then_some(()));
        signal_process(supervisor, "TERM");
        until(|| launcher().is_none().then_some(()));
        drop(read);
        running.wait();
    }
}
