//! The calls that the threads of a rank are in, found from outside, without a debugger.
//!
//! ```text
//!   registers, stack ──unwind by .eh_frame──> addresses ──symbols, lines──> calls
//! ```
//!
//! Works for any program, whatever its MPI: unwinding needs what compilers put into every program
//! for exceptions, names need symbols, and lines need `-g`. A thread stands still only while its
//! stack is copied. What cannot be found is left out. Unwinding by `framehop`, names and lines by
//! `addr2line`: what profilers and Rust's own panics use.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use framehop::{
    CacheNative, FrameAddress, MayAllocateDuringUnwind, Module, UnwindRegsNative, Unwinder as _,
    UnwinderNative,
};

use super::program_file::{ProgramFile, SectionBytes};
use platform::sys::trace;
use platform::sys::trace::{FileView, MemoryMapping, Registers, Snapshot, Untraceable};

/// How long a thread may take to stop.
const STOP_TIMEOUT: Duration = Duration::from_millis(100);

/// How many threads of a rank are looked at, and how many calls of each.
const THREADS_MAX: usize = 16;
const CALLS_MAX: usize = 40;

/// One call that has not returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StackFrame {
    /// The function, or an address within `place` where that has no name.
    pub function: String,
    /// The file and the line if they are known, else the program or library.
    pub place: String,
}

/// The calls that threads of a rank are in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stack {
    /// How many threads are exactly there.
    pub threads: usize,
    /// The calls, innermost first.
    pub calls: Vec<StackFrame>,
}

/// The programs and libraries of all ranks, each read once.
#[derive(Default)]
pub(crate) struct ProgramFiles(BTreeMap<PathBuf, Option<Rc<ProgramFile>>>);

/// What the threads of a process were doing at one moment, not yet understood.
#[derive(Debug)]
pub(crate) struct ThreadSnapshots {
    pid: u32,
    mappings: Vec<MemoryMapping>,
    snapshots: Vec<Snapshot>,
}

impl ThreadSnapshots {
    /// Stops each thread of the process `pid` for a moment, until `deadline`.
    ///
    /// # Errors
    /// Why its first thread cannot be looked at.
    pub(crate) fn take(pid: u32, deadline: Instant) -> Result<Self, Untraceable> {
        let mappings = trace::mappings(pid).map_err(|_| Untraceable::Gone)?;
        let mut snapshots = Vec::new();
        for thread in trace::threads(pid).into_iter().take(THREADS_MAX) {
            let patience = deadline.min(Instant::now() + STOP_TIMEOUT);
            match Snapshot::take(pid, thread, &mappings, patience) {
                Ok(snapshot) => snapshots.push(snapshot),
                Err(why) if snapshots.is_empty() => return Err(why),
                Err(_) => {}
            }
        }
        if snapshots.is_empty() {
            return Err(Untraceable::Gone);
        }
        Ok(Self { pid, mappings, snapshots })
    }

    /// The stacks, that of the first thread first. After `deadline` there are no names any more.
    pub(crate) fn stacks(&self, files: &mut ProgramFiles, deadline: Instant) -> Vec<Stack> {
        let mut unwinding = StackUnwinder::new(self.pid, &self.mappings, files, deadline);
        let mut stacks: Vec<Stack> = Vec::new();
        for calls in self.snapshots.iter().map(|snapshot| unwinding.calls(snapshot)) {
            match stacks.iter_mut().find(|stack| stack.calls == calls) {
                Some(stack) => stack.threads += 1,
                None => stacks.push(Stack { threads: 1, calls }),
            }
        }
        stacks
    }
}

/// What is known of one process while its stacks are unwound.
struct StackUnwinder<'a> {
    pid: u32,
    mappings: &'a [MemoryMapping],
    files: &'a mut ProgramFiles,
    unwinder: UnwinderNative<SectionBytes, MayAllocateDuringUnwind>,
    /// Until when names are looked for.
    deadline: Instant,
    /// For each mapping that was met the file and its bias; `None` without a file.
    known_files: BTreeMap<u64, Option<(Rc<ProgramFile>, u64)>>,
}

impl<'a> StackUnwinder<'a> {
    fn new(
        pid: u32, mappings: &'a [MemoryMapping], files: &'a mut ProgramFiles, deadline: Instant,
    ) -> Self {
        let unwinder = UnwinderNative::new();
        Self { pid, mappings, files, unwinder, deadline, known_files: BTreeMap::new() }
    }

    fn calls(&mut self, snapshot: &Snapshot) -> Vec<StackFrame> {
        let mut cache = CacheNative::new();
        let mut registers = unwind_registers(&snapshot.registers);
        let mut at = FrameAddress::from_instruction_pointer(snapshot.registers.instruction);
        let mut calls = Vec::new();
        let mut read = |address| snapshot.word(address).ok_or(());
        while calls.len() < CALLS_MAX {
            calls.extend(self.calls_at(at.address_for_lookup()));
            let next = self.unwinder.unwind_frame(at, &mut registers, &mut cache, &mut read);
            match next.ok().flatten().and_then(FrameAddress::from_return_address) {
                Some(next) => at = next,
                None => break,
            }
        }
        relevant(calls)
    }

    /// The calls at an address of the process, whose file is made known to the unwinder.
    fn calls_at(&mut self, address: u64) -> Vec<StackFrame> {
        let found = self.mappings.iter().find(|mapping| mapping.addresses.contains(&address));
        let Some(mapping) = found.filter(|mapping| mapping.executable) else { return Vec::new() };
        let file = self.file_at(mapping);
        // The same on all ranks, wherever their kernels have put the file.
        let inside = address.wrapping_sub(file.as_ref().map_or(mapping.addresses.start, |it| it.1));
        let named = match file {
            Some((file, _)) if Instant::now() < self.deadline => file.calls(inside),
            Some(_) | None => Vec::new(),
        };
        let name = Path::new(&mapping.name).file_name().unwrap_or(mapping.name.as_ref());
        let name = name.to_string_lossy();
        if named.is_empty() {
            return vec![StackFrame { function: format!("{inside:#x}"), place: name.into_owned() }];
        }
        let placed = |call: StackFrame| match call.place.is_empty() {
            true => StackFrame { place: name.clone().into_owned(), ..call },
            false => call,
        };
        named.into_iter().map(placed).collect()
    }

    fn file_at(&mut self, mapping: &MemoryMapping) -> Option<(Rc<ProgramFile>, u64)> {
        let start = mapping.addresses.start;
        if let Some(known) = self.known_files.get(&start) {
            return known.clone();
        }
        let found = self.files.of(self.pid, mapping);
        let found = found.and_then(|file| file.bias(mapping).map(|bias| (file, bias)));
        if let Some((file, bias)) = &found {
            let addresses = mapping.addresses.clone();
            let module = Module::new(mapping.name.clone(), addresses, *bias, file.tables());
            self.unwinder.add_module(module);
        }
        self.known_files.insert(start, found.clone());
        found
    }
}

impl ProgramFiles {
    /// The file that the process `pid` has at `mapping`.
    fn of(&mut self, pid: u32, mapping: &MemoryMapping) -> Option<Rc<ProgramFile>> {
        if mapping.name == "[vdso]" {
            // Each process has its own, at a place of its own.
            let bytes = trace::copy(pid, mapping.addresses.clone()).ok()?;
            return ProgramFile::read(FileView::Copy(bytes), None).map(Rc::new);
        }
        // What is there now under the name of a deleted file is another file.
        if !mapping.name.starts_with('/') || mapping.name.ends_with(" (deleted)") {
            return None;
        }
        let path = trace::path_for(pid, Path::new(&mapping.name));
        let read = || {
            let view = trace::map_file_of(pid, Path::new(&mapping.name)).ok()?;
            ProgramFile::read(view, Some(path.clone())).map(Rc::new)
        };
        self.0.entry(PathBuf::from(&mapping.name)).or_insert_with(read).clone()
    }
}

/// What the application called, without what MPI does inside and what comes before `main`.
fn relevant(mut calls: Vec<StackFrame>) -> Vec<StackFrame> {
    let is_start =
        |call: &StackFrame| call.function == "_start" || call.function.starts_with("__libc_st");
    if let Some(main) = calls.iter().position(|call| call.function == "main") {
        calls.truncate(main + 1);
    } else if let Some(start) = calls.iter().position(is_start) {
        calls.truncate(start);
        // The C library's own functions have no names where symbols are left out.
        calls.pop_if(|call| call.function.starts_with("0x"));
    }
    if let Some(entry) = calls.iter().rposition(|call| is_of_mpi(&call.function)) {
        calls.drain(..entry);
    }
    calls
}

/// Is this a function of the standard, in C or Fortran?
fn is_of_mpi(function: &str) -> bool {
    let name = function.strip_prefix(['P', 'p']).unwrap_or(function);
    name.starts_with("MPI_") || (name.starts_with("mpi_") && name.ends_with('_'))
}

#[cfg(target_arch = "x86_64")]
fn unwind_registers(registers: &Registers) -> UnwindRegsNative {
    UnwindRegsNative::new(registers.instruction, registers.stack, registers.frame)
}

#[cfg(target_arch = "aarch64")]
fn unwind_registers(registers: &Registers) -> UnwindRegsNative {
    UnwindRegsNative::new(registers.link, registers.stack, registers.frame)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn call(function: &str) -> StackFrame {
        StackFrame { function: function.to_owned(), place: String::new() }
    }

    #[test]
    fn the_stack_of_another_process_is_read() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let limit = Instant::now() + Duration::from_secs(30);
        let found = loop {
            let copies = ThreadSnapshots::take(child.id(), limit);
            let stacks = copies.map(|copies| copies.stacks(&mut ProgramFiles::default(), limit));
            let in_libc = |call: &StackFrame| call.place.starts_with("libc");
            match stacks {
                Ok(stacks) if stacks[0].calls.iter().any(in_libc) => break true,
                _ if Instant::now() > limit => break false,
                _ => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(found);
        let gone = ThreadSnapshots::take(child.id(), limit);
        assert_eq!(gone.unwrap_err(), Untraceable::Gone);
    }

    #[test]
    fn calls_inside_mpi_and_before_main_are_left_out() {
        let names = ["poll", "PMPI_Recv_c", "PMPI_Recv", "solve", "main", "_start"];
        let calls = relevant(names.map(call).into());
        assert_eq!(calls, ["PMPI_Recv", "solve", "main"].map(call));
        let calls = relevant(["mpi_abi::wait", "pmpi_recv_", "MAIN__", "main"].map(call).into());
        assert_eq!(calls, ["pmpi_recv_", "MAIN__", "main"].map(call));
        let calls = relevant(["f", "0x1", "0x2", "__libc_start_main", "_start"].map(call).into());
        assert_eq!(calls, ["f", "0x1"].map(call));
        assert_eq!(relevant(["clone3"].map(call).into()), ["clone3"].map(call));
    }
}
