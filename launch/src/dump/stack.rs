//! Call stacks of the threads of a rank, read from outside, without a debugger.
//!
//! ```text
//!   registers, stack ──unwind by .eh_frame──> addresses ──symbols, lines──> calls
//! ```
//!
//! Works for programs of any MPI library: unwinding needs the tables that compilers emit for
//! exceptions, names need symbols, and lines need `-g`. A thread is stopped only while its stack is
//! copied. Unknown parts are left out. `framehop` unwinds and `addr2line` finds names and lines;
//! profilers and Rust's panics use them too.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use framehop::{
    CacheNative, FrameAddress, MayAllocateDuringUnwind, Module, UnwindRegsNative, Unwinder as _,
    UnwinderNative,
};

use super::program_file::{ProgramFile, SectionBytes};
use platform::diagnosis::job_report::{CallStack, StackFrame};
use platform::sys::process;
use platform::sys::trace;
use platform::sys::trace::{FileView, MemoryMapping, Registers, Snapshot, Untraceable};

/// The time that a thread has to stop.
const STOP_TIMEOUT: Duration = Duration::from_millis(100);

/// Limits of the threads of a rank and of the calls of each.
const THREADS_MAX: usize = 16;
const CALLS_MAX: usize = 40;

/// The programs and libraries of all ranks; each is read once.
#[derive(Default)]
pub(crate) struct ProgramFiles(BTreeMap<PathBuf, Option<Rc<ProgramFile>>>);

/// Registers and stacks of the threads of a process, not unwound yet.
#[derive(Debug)]
pub(crate) struct ThreadSnapshots {
    pid: u32,
    mappings: Vec<MemoryMapping>,
    snapshots: Vec<Snapshot>,
}

impl ThreadSnapshots {
    /// Stops and copies each thread of the process `pid`, until `deadline`.
    ///
    /// # Errors
    /// The reason why its first thread cannot be read.
    pub(crate) fn take(pid: u32, deadline: Instant) -> Result<Self, Untraceable> {
        let mappings = trace::mappings(pid).map_err(|_| Untraceable::Gone)?;
        let mut snapshots = Vec::new();
        for thread in trace::threads(pid).into_iter().take(THREADS_MAX) {
            let stop_deadline = deadline.min(Instant::now() + STOP_TIMEOUT);
            match Snapshot::take(pid, thread, &mappings, stop_deadline) {
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

    /// The stacks, first that of the first thread. After `deadline`, names are left out.
    pub(crate) fn stacks(&self, files: &mut ProgramFiles, deadline: Instant) -> Vec<CallStack> {
        let mut unwinder = StackUnwinder::new(self.pid, &self.mappings, files, deadline);
        let mut stacks: Vec<CallStack> = Vec::new();
        for calls in self.snapshots.iter().map(|snapshot| unwinder.calls(snapshot)) {
            match stacks.iter_mut().find(|stack| stack.calls == calls) {
                Some(stack) => stack.threads += 1,
                None => stacks.push(CallStack { threads: 1, calls }),
            }
        }
        stacks
    }
}

/// Unwinds the stacks of one process.
struct StackUnwinder<'a> {
    pid: u32,
    mappings: &'a [MemoryMapping],
    files: &'a mut ProgramFiles,
    unwinder: UnwinderNative<SectionBytes, MayAllocateDuringUnwind>,
    /// After this, names are left out.
    deadline: Instant,
    /// The file and its bias of each mapping on a stack; `None` without a file.
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

    /// The calls at an address of the process; adds its file to the unwinder.
    fn calls_at(&mut self, address: u64) -> Vec<StackFrame> {
        let found = self.mappings.iter().find(|mapping| mapping.addresses.contains(&address));
        let Some(mapping) = found.filter(|mapping| mapping.executable) else { return Vec::new() };
        let file = self.file_at(mapping);
        // The address in the file, equal on all ranks whatever the load address.
        let inside = address.wrapping_sub(file.as_ref().map_or(mapping.addresses.start, |it| it.1));
        let named = match file {
            Some((file, _)) if Instant::now() < self.deadline => file.calls(inside),
            Some(_) | None => Vec::new(),
        };
        let name = Path::new(&mapping.name).file_name().unwrap_or(mapping.name.as_ref());
        let name = name.to_string_lossy();
        if named.is_empty() {
            return vec![StackFrame {
                function: format!("{inside:#x}"),
                location: name.into_owned(),
            }];
        }
        let placed = |call: StackFrame| match call.location.is_empty() {
            true => StackFrame { location: name.clone().into_owned(), ..call },
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
    /// The file of `mapping` in the process `pid`.
    fn of(&mut self, pid: u32, mapping: &MemoryMapping) -> Option<Rc<ProgramFile>> {
        if mapping.name == "[vdso]" {
            // The vDSO has no file. It is the same in all processes except for its address, and this
            // process may not be allowed to read the other.
            let own = trace::mappings(process::own_pid()).ok()?;
            let own = own.into_iter().find(|own| own.name == mapping.name)?;
            let bytes = trace::copy(process::own_pid(), own.addresses).ok()?;
            return ProgramFile::read(FileView::Copy(bytes), None).map(Rc::new);
        }
        // The path of a deleted file may name another file now.
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

/// Removes the calls inside MPI and those before `main`.
fn relevant(mut calls: Vec<StackFrame>) -> Vec<StackFrame> {
    let is_start =
        |call: &StackFrame| call.function == "_start" || call.function.starts_with("__libc_st");
    if let Some(main) = calls.iter().position(|call| call.function == "main") {
        calls.truncate(main + 1);
    } else if let Some(start) = calls.iter().position(is_start) {
        calls.truncate(start);
        // Functions of a C library without symbols have no names.
        calls.pop_if(|call| call.function.starts_with("0x"));
    }
    if let Some(entry) = calls.iter().rposition(|call| is_of_mpi(&call.function)) {
        calls.drain(..entry);
    }
    calls
}

/// Whether this is a function of the standard, in C or Fortran.
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
        StackFrame { function: function.to_owned(), location: String::new() }
    }

    #[test]
    fn the_stack_of_another_process_is_read() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let limit = Instant::now() + Duration::from_secs(30);
        let found = loop {
            let copies = ThreadSnapshots::take(child.id(), limit);
            let stacks = copies.map(|copies| copies.stacks(&mut ProgramFiles::default(), limit));
            let in_libc = |call: &StackFrame| call.location.starts_with("libc");
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
