//! Standard input, output and error of ranks.

use std::fs::{self, File};
use std::io::Read;
use std::process::Stdio;

use super::harness::{folder, mpirun, run_shell, run_with_input, start};

/// Bytes of all values in no order.
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

#[test]
fn input_that_nobody_reads_stays_where_it_is() {
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
fn a_line_without_an_end_comes_through() {
    let outcome = run_shell("2", "printf $PMI_RANK; printf x$PMI_RANK >&2");
    assert!(["01", "10"].contains(&outcome.text()), "{}", outcome.text());
    assert!(["x0x1", "x1x0"].contains(&&*outcome.stderr), "{}", outcome.stderr);
}

#[test]
fn a_prompt_comes_before_the_line_ends() {
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
fn an_output_that_nobody_reads_ends_the_job_in_silence() {
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
fn an_output_that_is_full_is_told() {
    let mut command = mpirun(&["-n", "1", "echo", "x"]);
    command.stdout(File::options().write(true).open("/dev/full").unwrap());
    let outcome = start(command).wait();
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.contains("cannot write the output"), "{}", outcome.stderr);
}
