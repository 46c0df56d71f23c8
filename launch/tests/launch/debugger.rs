//! A parallel debugger reads the process table from the launcher's memory (MPIR).

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::process::Command;

use super::harness::{HERE, mpirun, start, until};
use super::role::words;

/// The memory of a process, and the load address of its program.
struct Memory {
    file: File,
    base: u64,
    symbols: String,
}

impl Memory {
    fn of(pid: u32) -> Self {
        let program = env!("CARGO_BIN_EXE_mpirun");
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
        let own = maps.lines().find(|line| line.ends_with(program)).unwrap();
        let base = u64::from_str_radix(own.split('-').next().unwrap(), 16).unwrap();
        let output = Command::new("nm").arg(program).output().unwrap();
        let symbols = String::from_utf8(output.stdout).unwrap();
        Self { file: File::open(format!("/proc/{pid}/mem")).unwrap(), base, symbols }
    }

    fn address(&self, symbol: &str) -> u64 {
        let ends = |line: &&str| line.split_whitespace().last() == Some(symbol);
        let line = self.symbols.lines().find(ends).expect(symbol);
        self.base + u64::from_str_radix(line.split(' ').next().unwrap(), 16).unwrap()
    }

    fn bytes<const N: usize>(&mut self, address: u64) -> [u8; N] {
        let mut bytes = [0; N];
        self.file.seek(SeekFrom::Start(address)).unwrap();
        self.file.read_exact(&mut bytes).unwrap();
        bytes
    }

    fn int(&mut self, symbol: &str) -> i32 {
        i32::from_ne_bytes(self.bytes(self.address(symbol)))
    }

    fn text(&mut self, address: u64) -> String {
        let bytes = (address..).map(|at| self.bytes::<1>(at)[0]).take_while(|byte| *byte != 0);
        String::from_utf8(bytes.collect()).unwrap()
    }
}

/// The host of each of three ranks in the process table of a job with these options.
fn hosts_in_table(options: &[&str]) -> Vec<String> {
    let words = words("3", "sleep");
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let running = start(mpirun(&[options, &words].concat()));
    let ranks = running.joined(3);
    let mut memory = Memory::of(running.pid());
    until(|| (memory.int("MPIR_proctable_size") == 3).then_some(()));
    assert_eq!(memory.int("MPIR_debug_state"), 1);
    assert_eq!(memory.int("MPIR_being_debugged"), 0);
    for symbol in ["MPIR_Breakpoint", "MPIR_i_am_starter", "MPIR_partial_attach_ok"] {
        memory.address(symbol);
    }
    let table = u64::from_ne_bytes(memory.bytes(memory.address("MPIR_proctable")));
    let mut hosts = Vec::new();
    for (rank, pid) in (0u64..).zip(ranks) {
        let entry = table + rank * 24;
        let [host, program] = [0, 8].map(|at| u64::from_ne_bytes(memory.bytes(entry + at)));
        hosts.push(memory.text(host));
        assert_eq!(memory.text(program), std::env::current_exe().unwrap().to_str().unwrap());
        assert_eq!(u32::from_ne_bytes(memory.bytes(entry + 16)), pid);
    }
    hosts
}

#[test]
fn a_debugger_that_attaches_finds_the_ranks() {
    assert!(hosts_in_table(&[]).iter().all(|host| !host.is_empty()));
}

#[test]
fn a_debugger_finds_ranks_of_other_hosts() {
    let hosts = ["-launcher-exec", HERE, "-host", "198.51.100.1:1,198.51.100.2:2"];
    assert_eq!(hosts_in_table(&hosts), ["198.51.100.1", "198.51.100.2", "198.51.100.2"]);
}
