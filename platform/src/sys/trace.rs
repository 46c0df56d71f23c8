//! Location of the threads of another process: registers, stack and mappings, copied while the
//! thread is stopped for a moment.
//!
//! ```text
//!   seize ──> interrupt ──> stopped ──registers, stack──> detached
//! ```
//!
//! The trace is invisible to the other process: no signal reaches it, the kernel restarts its
//! system calls, and a stopped process stays stopped. The kernel allows this for processes of the
//! same user; where the Yama module or a container restricts tracing, for descendants or not at
//! all. Exits of children are never collected here. Addresses are those of the other process.
//!
//! Source: ptrace(2), sections "Attaching and detaching" and "Group-stop".
#![allow(unsafe_code)]

use std::fs::{self, File};
use std::io;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use memmap2::Mmap;
use nix::errno::Errno;
use nix::sys::ptrace::{self, Options};
use nix::unistd::Pid;

use super::cma;
use super::process::{TaskState, task_stat};
use crate::base::Span;

/// Maximum size of a stack copy in bytes; the innermost calls are at its start.
const STACK_MAX_BYTES: u64 = 256 << 10;

/// Pause between two checks whether a thread has stopped.
const STOP_POLL_INTERVAL: Duration = Duration::from_micros(50);

/// State of a thread at one moment.
#[derive(Debug)]
pub struct Snapshot {
    /// Its registers.
    pub registers: Registers,
    stack_start: u64,
    stack: Vec<u8>,
}

/// The registers that locate a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    /// The next instruction.
    pub instruction: u64,
    /// The top of the stack.
    pub stack: u64,
    /// The frame pointer, if the program uses one.
    pub frame: u64,
    /// The return address of the innermost call, on processors that keep it in a register; else 0.
    pub link: u64,
}

/// A range of addresses and its backing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryMapping {
    /// The addresses.
    pub addresses: Range<u64>,
    /// The file offset of the first address.
    pub offset: u64,
    /// The file as the kernel names it, or a name in brackets; empty for plain memory.
    pub name: String,
    /// Whether it holds instructions.
    pub executable: bool,
}

/// The bytes of a file, or of its equivalent in memory.
#[derive(Debug)]
pub enum FileView {
    /// A file, mapped.
    File(Mmap),
    /// Copied bytes.
    Copy(Vec<u8>),
}

impl Deref for FileView {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::File(map) => map,
            Self::Copy(bytes) => bytes,
        }
    }
}

/// Why a thread cannot be traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Untraceable {
    /// It has exited.
    Gone,
    /// The system forbids it.
    Forbidden,
    /// It does not stop in time: it is deep in the kernel.
    Late,
    /// Not on this kind of processor.
    Unsupported,
}

impl Snapshot {
    /// Copies registers and stack of thread `thread` of the process `pid`, which has `mappings`.
    ///
    /// # Errors
    /// The reason, if the copy cannot be made before `deadline`.
    pub fn take(
        pid: u32, thread: u32, mappings: &[MemoryMapping], deadline: Instant,
    ) -> Result<Self, Untraceable> {
        let stopped = Stopped::stop(thread, deadline)?;
        let registers = stopped.registers()?;
        // Some functions keep data below the top of their stack, but no return address.
        let start = registers.stack & !7;
        let room = mappings.iter().find(|mapping| mapping.addresses.contains(&start));
        let len = room.map_or(0, |room| room.addresses.end - start).min(STACK_MAX_BYTES);
        let stack = copy(pid, start..start + len).unwrap_or_default();
        Ok(Self { registers, stack_start: start, stack })
    }

    /// The word at `address` of the copied stack.
    pub fn word(&self, address: u64) -> Option<u64> {
        let at = usize::try_from(address.checked_sub(self.stack_start)?).ok()?;
        let bytes = self.stack.get(at..)?.first_chunk()?;
        Some(u64::from_ne_bytes(*bytes))
    }
}

/// Detaches a thread that stopped after [`Snapshot::take`] gave up on it.
pub(super) fn detach(thread: libc::pid_t) {
    // Fails for a thread that has exited.
    let _ = ptrace::detach(Pid::from_raw(thread), None);
}

/// The memory of the process `pid` at these addresses.
///
/// # Errors
/// The error of process_vm_readv(2); there are no partial reads.
pub fn copy(pid: u32, addresses: Range<u64>) -> io::Result<Vec<u8>> {
    let len = addresses.end.saturating_sub(addresses.start);
    let mut bytes = vec![0; usize::try_from(len).map_err(io::Error::other)?];
    // SAFETY: `bytes` outlives the read and has no other user meanwhile.
    cma::read(pid, addresses.start, unsafe { Span::of(&mut bytes) })?;
    Ok(bytes)
}

/// The threads of the process `pid`, the main thread first.
pub fn threads(pid: u32) -> Vec<u32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let mut threads: Vec<_> =
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    threads.sort_unstable_by_key(|thread| (*thread != pid, *thread));
    threads
}

/// The memory mappings of the process `pid`.
///
/// # Errors
/// When it has exited or the system forbids the access.
pub fn mappings(pid: u32) -> io::Result<Vec<MemoryMapping>> {
    let text = fs::read(format!("/proc/{pid}/maps"))?;
    Ok(String::from_utf8_lossy(&text).lines().filter_map(MemoryMapping::parse).collect())
}

/// The file `path` as the process `pid` sees it, to read.
///
/// # Errors
/// When it cannot be opened.
pub fn map_file_of(pid: u32, path: &Path) -> io::Result<FileView> {
    let file = File::open(path_for(pid, path))?;
    // SAFETY: only read, as bytes whose values no code relies on. If the file were truncated
    // meanwhile, the process that runs from it would crash as well.
    Ok(FileView::File(unsafe { Mmap::map(&file) }?))
}

/// The path at which this process finds the file `path` of the process `pid`.
pub fn path_for(pid: u32, path: &Path) -> PathBuf {
    let inside = path.strip_prefix("/").unwrap_or(path);
    let place = PathBuf::from(format!("/proc/{pid}/root")).join(inside);
    if place.exists() { place } else { path.to_owned() }
}

impl MemoryMapping {
    /// Reads `start-end permissions offset device inode name`.
    fn parse(line: &str) -> Option<Self> {
        let mut rest = line;
        let mut field = || {
            let (field, after) = rest.split_once(' ').unwrap_or((rest, ""));
            rest = after.trim_start();
            field
        };
        let (addresses, permissions, offset) = (field(), field(), field());
        let _device_and_inode = (field(), field());
        let (start, end) = addresses.split_once('-')?;
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        Some(Self {
            addresses: number(start)?..number(end)?,
            offset: number(offset)?,
            name: rest.to_owned(),
            executable: permissions.as_bytes().get(2) == Some(&b'x'),
        })
    }
}

/// A thread that is stopped until this value is dropped.
struct Stopped {
    thread: libc::pid_t,
}

impl Stopped {
    fn stop(thread: u32, deadline: Instant) -> Result<Self, Untraceable> {
        let thread = thread as libc::pid_t;
        ptrace::seize(Pid::from_raw(thread), Options::empty()).map_err(|e| refused(thread, e))?;
        // From here on, dropping `seized` detaches the thread.
        let seized = Self { thread };
        ptrace::interrupt(Pid::from_raw(thread)).map_err(|e| refused(thread, e))?;
        loop {
            if seized.has_stopped()? {
                return Ok(seized);
            }
            if Instant::now() >= deadline {
                return Err(Untraceable::Late);
            }
            std::thread::sleep(STOP_POLL_INTERVAL);
        }
    }

    /// Only asks about stops: the exit of a thread is left to the process's own parent.
    fn has_stopped(&self) -> Result<bool, Untraceable> {
        // SAFETY: all bytes of the structure may be zero; the kernel fills them in.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let options = libc::WSTOPPED | libc::WNOHANG | libc::__WALL;
        // SAFETY: `info` is writable for the length of the call.
        let result =
            unsafe { libc::waitid(libc::P_PID, self.thread as libc::id_t, &raw mut info, options) };
        match result {
            // SAFETY: waitid fills in the number of the child, or leaves it zero.
            0 => Ok(unsafe { info.si_pid() } != 0),
            _ => Err(Untraceable::Gone),
        }
    }

    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn registers(&self) -> Result<Registers, Untraceable> {
        const NT_PRSTATUS: usize = 1;
        // SAFETY: the structure holds integers only, so zeros are a value.
        let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        let mut place = libc::iovec {
            iov_base: (&raw mut registers).cast(),
            iov_len: size_of::<libc::user_regs_struct>(),
        };
        // SAFETY: the kernel writes at most `iov_len` bytes to `registers`, and their number to
        // `place`; both live through the call.
        let result = unsafe {
            libc::ptrace(libc::PTRACE_GETREGSET, self.thread, NT_PRSTATUS, &raw mut place)
        };
        match result {
            0 => Ok(Registers::of(&registers)),
            _ => Err(Untraceable::Gone),
        }
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    fn registers(&self) -> Result<Registers, Untraceable> {
        Err(Untraceable::Unsupported)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        // Fails for a thread that has exited, and for one that has not stopped yet: the kernel
        // detaches the latter when this process exits.
        detach(self.thread);
    }
}

impl Registers {
    #[cfg(target_arch = "x86_64")]
    fn of(all: &libc::user_regs_struct) -> Self {
        Self { instruction: all.rip, stack: all.rsp, frame: all.rbp, link: 0 }
    }

    #[cfg(target_arch = "aarch64")]
    fn of(all: &libc::user_regs_struct) -> Self {
        let [frame, link] = [all.regs[29], all.regs[30]];
        Self { instruction: all.pc, stack: all.sp, frame, link }
    }
}

fn refused(thread: libc::pid_t, error: Errno) -> Untraceable {
    match error {
        Errno::ESRCH => Untraceable::Gone,
        // The kernel's answer for a thread that has exited and whose exit nobody has collected.
        Errno::EPERM if has_exited(thread) => Untraceable::Gone,
        Errno::ENOSYS => Untraceable::Unsupported,
        _ => Untraceable::Forbidden,
    }
}

fn has_exited(thread: libc::pid_t) -> bool {
    task_stat(thread as u32).is_none_or(|stat| stat.state == TaskState::Ended)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    /// A child that sleeps, ended with the test.
    struct Sleeper(Child);

    impl Sleeper {
        fn start() -> Self {
            let sleeper = Self(Command::new("sleep").arg("600").spawn().unwrap());
            sleeper.until_state(TaskState::Sleeping);
            sleeper
        }

        fn until_state(&self, wanted: TaskState) {
            let limit = Instant::now() + Duration::from_secs(30);
            let state = || task_stat(self.0.id()).map(|stat| stat.state);
            while state() != Some(wanted) {
                assert!(Instant::now() < limit, "{:?}", state());
                std::thread::sleep(Duration::from_millis(1));
            }
        }

        fn snapshot(&self) -> Result<Snapshot, Untraceable> {
            let mappings = mappings(self.0.id()).unwrap();
            let deadline = Instant::now() + Duration::from_secs(30);
            Snapshot::take(self.0.id(), self.0.id(), &mappings, deadline)
        }
    }

    impl Drop for Sleeper {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn a_child_is_looked_at_and_goes_on() {
        let sleeper = Sleeper::start();
        let snapshot = sleeper.snapshot().unwrap();
        let Registers { instruction, stack, .. } = snapshot.registers;
        let mappings = mappings(sleeper.0.id()).unwrap();
        let at = |address| mappings.iter().find(|mapping| mapping.addresses.contains(&address));
        assert!(at(instruction).unwrap().executable);
        assert_eq!(at(stack).unwrap().name, "[stack]");
        assert!(snapshot.word(stack & !7).is_some() && snapshot.word(stack - 64).is_none());
        assert_eq!(threads(sleeper.0.id()), [sleeper.0.id()]);
        sleeper.until_state(TaskState::Sleeping);
        sleeper.snapshot().unwrap();
    }

    #[test]
    fn a_stopped_child_stays_stopped() {
        let sleeper = Sleeper::start();
        crate::sys::process::signal_process(sleeper.0.id(), libc::SIGSTOP);
        sleeper.until_state(TaskState::Stopped);
        sleeper.snapshot().unwrap();
        sleeper.until_state(TaskState::Stopped);
        crate::sys::process::signal_process(sleeper.0.id(), libc::SIGCONT);
        sleeper.until_state(TaskState::Sleeping);
    }

    #[test]
    fn the_end_of_a_child_is_not_collected_here() {
        let mut sleeper = Sleeper::start();
        let id = sleeper.0.id();
        sleeper.0.kill().unwrap();
        let late = Snapshot::take(id, id, &[], Instant::now());
        assert!(matches!(late.unwrap_err(), Untraceable::Gone | Untraceable::Late));
        sleeper.until_state(TaskState::Ended);
        let dead = Snapshot::take(id, id, &[], Instant::now());
        assert_eq!(dead.unwrap_err(), Untraceable::Gone);
        assert!(!sleeper.0.wait().unwrap().success());
        let gone = Snapshot::take(id, id, &[], Instant::now());
        assert!(matches!(gone.unwrap_err(), Untraceable::Gone | Untraceable::Forbidden));
    }

    #[test]
    fn lines_of_maps_are_read_whatever_the_name() {
        let line = "7f5a-7f5b r-xp 00001000 fd:01 12                  /a b/c (deleted)";
        let mapping = MemoryMapping::parse(line).unwrap();
        assert_eq!((mapping.addresses, mapping.offset), (0x7f5a..0x7f5b, 0x1000));
        assert_eq!((&*mapping.name, mapping.executable), ("/a b/c (deleted)", true));
        assert_eq!(MemoryMapping::parse("10-20 rw-p 0 00:00 0").unwrap().name, "");
        assert_eq!(MemoryMapping::parse("nonsense"), None);
    }
}
