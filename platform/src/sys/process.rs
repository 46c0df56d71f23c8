//! Processes: starting, watching, signalling and collecting them.
//!
//! Whoever calls [`spawn`] must do so from the thread that lives as long as the process: the
//! kernel ends a child when the *thread* that made it ends (`PR_SET_PDEATHSIG`), which is how no
//! rank outlives the launcher. Process ids are plain numbers; one is valid until [`reap`]
//! returned it.

#![allow(unsafe_code)]

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::cpu::cpu_set;
use super::topology::format_list;
use super::trace;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::prctl;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{ForkResult, Pid, fork, getpgrp, getpid, getppid, setpgid, tcgetpgrp};

/// The limits of descriptors and of processes, as errors of the system.
pub use libc::{EAGAIN as TRY_AGAIN, EMFILE as TOO_MANY_FILES};

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It returned this code (0 to 255).
    Code(i32),
    /// This signal ended it.
    Signal(i32),
}

impl Exit {
    /// The code a shell would give: the exit code, or 128 and the signal's number.
    pub fn code(self) -> i32 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128 + signal,
        }
    }

    /// Reads a status word of wait(2).
    fn from_status(status: i32) -> Self {
        if libc::WIFSIGNALED(status) {
            Self::Signal(libc::WTERMSIG(status))
        } else {
            Self::Code(libc::WEXITSTATUS(status))
        }
    }
}

/// What [`reap`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reap {
    /// This child ended; its number may be used again by the system.
    Ended(u32, Exit),
    /// There are children, and all of them run.
    Running,
    /// There are no children.
    Childless,
}

/// A program to start: see [`spawn`].
#[derive(Debug)]
pub struct ChildProgram<'a> {
    /// A path, or a name to look up in the `PATH` of `environment`.
    pub name: &'a OsStr,
    /// The arguments after the name.
    pub arguments: &'a [OsString],
    /// The whole environment.
    pub environment: &'a [(OsString, OsString)],
    /// Where it starts; `None` means here.
    pub directory: Option<&'a Path>,
    /// Standard input, output and error.
    pub streams: [OwnedFd; 3],
    /// Further descriptors that it keeps under the numbers they have here.
    pub inherited: &'a [BorrowedFd<'a>],
    /// The limit of open files to restore (see [`raise_file_limit`]).
    pub file_limit: Option<u64>,
    /// The processors that it may run on; `None` means those that the calling thread may use.
    pub processors: Option<&'a [usize]>,
}

/// Starts `program` in a process group of its own, with no signal blocked; it ends when the calling
/// thread does.
///
/// # Errors
/// That of the system when the program cannot be started (`NotFound`, `PermissionDenied`, ...);
/// `InvalidInput`, with their numbers, when it cannot be bound to the processors.
pub fn spawn(program: ChildProgram<'_>) -> io::Result<u32> {
    let [input, output, error] = program.streams;
    let mut command = Command::new(program.name);
    command.args(program.arguments).env_clear();
    command.envs(program.environment.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::from(input)).stdout(Stdio::from(output)).stderr(Stdio::from(error));
    command.process_group(0);
    if let Some(directory) = program.directory {
        command.current_dir(directory);
    }
    let inherited: Vec<RawFd> = program.inherited.iter().map(AsRawFd::as_raw_fd).collect();
    let (parent, file_limit) = (getpid(), program.file_limit);
    let unbindable = || unbindable(program.processors.unwrap_or_default());
    let bound = program.processors.map(cpu_set).transpose().map_err(|_| unbindable())?;
    // SAFETY: the closure runs between fork and exec of a process that may have threads. It only
    // makes system calls (prctl, sigprocmask, getppid, fcntl, setrlimit, sched_setaffinity); it
    // neither allocates nor locks: what it needs was made above.
    unsafe { command.pre_exec(move || prepare(parent, &inherited, file_limit, bound.as_ref())) };
    match command.spawn() {
        Ok(child) => Ok(child.id()),
        Err(error) if error.raw_os_error() == Some(UNBINDABLE) => Err(unbindable()),
        Err(error) => Err(error),
    }
}

/// What a child says that could not be bound. Only a number comes from there to its parent, and
/// the system's own end below this one.
const UNBINDABLE: i32 = 4096;

fn unbindable(processors: &[usize]) -> io::Error {
    let numbers = format_list(processors);
    let why = format!("it cannot be bound to the processors {numbers:?} here");
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

/// What a child does before its program starts.
fn prepare(
    parent: Pid, inherited: &[RawFd], file_limit: Option<u64>, bound: Option<&CpuSet>,
) -> io::Result<()> {
    if let Some(set) = bound
        && sched_setaffinity(Pid::from_raw(0), set).is_err()
    {
        return Err(io::Error::from_raw_os_error(UNBINDABLE));
    }
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    // The launcher's blocked signals (see `signals`) are not the program's.
    SigSet::empty().thread_set_mask()?;
    if getppid() != parent {
        // The parent died before the line above.
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    for fd in inherited {
        // SAFETY: fcntl on a number touches no memory; a closed one is an error below.
        if unsafe { libc::fcntl(*fd, libc::F_SETFD, 0) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    if let Some(soft) = file_limit {
        let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
        setrlimit(Resource::RLIMIT_NOFILE, soft, hard)?;
    }
    Ok(())
}

/// How many files this process may have open, and how far it may raise that.
///
/// # Errors
/// What getrlimit(2) says.
pub fn file_limit() -> io::Result<(u64, u64)> {
    Ok(getrlimit(Resource::RLIMIT_NOFILE)?)
}

/// Raises the limit of open files as far as allowed; the old one, for the children, if it changed.
pub fn raise_file_limit() -> Option<u64> {
    let (soft, hard) = file_limit().ok()?;
    (soft < hard && setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok()).then_some(soft)
}

/// Which side of [`fork_single_threaded`] this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The process that was there before; the child has this number.
    Parent(u32),
    /// The new process.
    Child,
}

/// Splits this process in two.
///
/// # Errors
/// `WouldBlock` or `OutOfMemory` when the system has no room; `Unsupported` when this process has
/// more than one thread, because the child would have the locks of threads that it has not.
pub fn fork_single_threaded() -> io::Result<Side> {
    if fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() != 1) {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "a process with threads forks"));
    }
    // SAFETY: there is one thread, by the check above, so the child finds every lock free.
    match unsafe { fork() }? {
        ForkResult::Parent { child } => Ok(Side::Parent(child.as_raw() as u32)),
        ForkResult::Child => Ok(Side::Child),
    }
}

/// Collects one ended child, its own or adopted, without waiting.
pub fn reap() -> Reap {
    let mut status = 0;
    loop {
        // SAFETY: `status` is a valid place for an int for the length of the call.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
        match pid {
            0 => return Reap::Running,
            // A thread that was too late for whoever wanted to look at it (`trace`): it goes on.
            1.. if libc::WIFSTOPPED(status) => trace::detach(pid),
            1.. => return Reap::Ended(pid as u32, Exit::from_status(status)),
            _ if io::Error::last_os_error().raw_os_error() == Some(libc::EINTR) => {}
            _ => return Reap::Childless,
        }
    }
}

/// From now on orphans below this process become its children.
pub fn adopt_orphans() -> io::Result<()> {
    Ok(prctl::set_child_subreaper(true)?)
}

/// Moves this process to a process group of its own.
pub fn leave_group() -> io::Result<()> {
    Ok(setpgid(Pid::from_raw(0), Pid::from_raw(0))?)
}

/// Does this process' group own the terminal `terminal`?
pub fn in_foreground(terminal: BorrowedFd<'_>) -> bool {
    tcgetpgrp(terminal).is_ok_and(|group| group == getpgrp())
}

/// The number of this process.
pub fn own_pid() -> u32 {
    getpid().as_raw() as u32
}

/// A number for the process namespace of this process: in another one its number means nothing.
/// 0 if the system does not tell.
pub fn namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |place| place.ino())
}

/// Whether the process `pid` of this namespace has ended, also if nobody has collected it yet.
pub fn has_ended(pid: u32) -> bool {
    // SAFETY: no signal is sent and no memory touched.
    let is_there = unsafe { libc::kill(pid as i32, 0) } == 0;
    if !is_there && io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH) {
        return true;
    }
    task_stat(pid).is_some_and(|vitals| vitals.state == TaskState::Ended)
}

/// How many threads this process has, but for those of this library, which have its name.
pub fn threads() -> usize {
    let is_foreign = |task: &fs::DirEntry| {
        let name = fs::read(task.path().join("comm")).unwrap_or_default();
        !name.starts_with(THREAD_NAME.as_bytes())
    };
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    tasks.filter(is_foreign).count()
}

/// What the names of all threads of this library begin with.
pub const THREAD_NAME: &str = "suiro-";

/// Sends `signal` to the process `pid`; one that is gone is no error.
pub fn signal_process(pid: u32, signal: i32) {
    // SAFETY: kill touches no memory of this process; a wrong number is only an error.
    unsafe { libc::kill(pid as i32, signal) };
}

/// Sends `signal` to the process group that `pid` leads; one that is gone is no error.
pub fn signal_group(pid: u32, signal: i32) {
    // SAFETY: as above; the cast keeps a positive number, so this never means "everybody".
    unsafe { libc::kill(-(pid as i32), signal) };
}

/// A descriptor that becomes readable when the process `pid` ends.
///
/// # Errors
/// `NotFound`-like when there is no such process, `Unsupported` on old kernels.
pub fn open_pidfd(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: pidfd_open takes two integers and touches no memory.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid as libc::pid_t, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call above made this descriptor and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// How the process behind `open_pidfd` ended; `None` if the system cannot tell (before Linux 6.15).
pub fn pidfd_exit(watch: BorrowedFd<'_>) -> Option<Exit> {
    const EXIT: u64 = 1 << 3;
    let mut info = PidfdInfo { mask: EXIT, ..PidfdInfo::default() };
    let request = libc::_IOWR::<PidfdInfo>(0xff, 11);
    // SAFETY: `info` has the size that the request names and lives through the call.
    let result = unsafe { libc::ioctl(watch.as_raw_fd(), request, &raw mut info) };
    (result == 0 && info.mask & EXIT != 0).then(|| Exit::from_status(info.exit_code))
}

/// `struct pidfd_info` of linux/pidfd.h, in its first version of 64 bytes.
#[repr(C)]
#[derive(Default)]
struct PidfdInfo {
    mask: u64,
    cgroup: u64,
    ids: [u32; 11],
    exit_code: i32,
}

/// What a process is doing, as the kernel sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// It runs or could run.
    Running,
    /// It waits, and a signal would wake it.
    Sleeping,
    /// It waits in the kernel, for a disk say, and no signal wakes it.
    Uninterruptible,
    /// A signal stopped it.
    Stopped,
    /// A debugger holds it.
    Traced,
    /// It has ended.
    Ended,
}

impl TaskState {
    /// What to say of such a process.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Sleeping => "asleep",
            Self::Uninterruptible => "in the kernel, which cannot be interrupted",
            Self::Stopped => "stopped by a signal",
            Self::Traced => "held by a debugger",
            Self::Ended => "ended",
        }
    }
}

/// What the kernel says of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskStat {
    /// What it is doing now.
    pub state: TaskState,
    /// How long its threads have had a processor.
    pub processor_time: Duration,
}

/// What the kernel says of the process `pid`, if there is one.
pub fn task_stat(pid: u32) -> Option<TaskStat> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // SAFETY: sysconf takes an integer and touches no memory.
    let ticks_a_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    parse_task_stat(&stat, u64::try_from(ticks_a_second).ok()?)
}

fn parse_task_stat(stat: &str, ticks_a_second: u64) -> Option<TaskStat> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = match fields.next()? {
        "R" => TaskState::Running,
        "D" => TaskState::Uninterruptible,
        "T" => TaskState::Stopped,
        "t" => TaskState::Traced,
        "Z" | "X" => TaskState::Ended,
        _ => TaskState::Sleeping,
    };
    // Fields 14 and 15 of the line, utime and stime; the state is the third.
    let mut times = fields.skip(10).map(str::parse::<u64>);
    let ticks = times.next()?.ok()? + times.next()?.ok()?;
    let processor_time = Duration::from_millis(ticks * 1000 / ticks_a_second.max(1));
    Some(TaskStat { state, processor_time })
}

/// All processes below this one, found in /proc; zombies left out.
pub fn descendants() -> Vec<u32> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if let Some(parent) = parent_of(pid) {
            parents.push((pid, parent));
        }
    }
    below(own_pid(), &parents)
}

/// The parent of `pid`, unless that has ended.
pub(crate) fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    parse_stat(&stat)
}

/// The parent in a line of /proc/PID/stat; `None` for a zombie. The name may hold anything.
fn parse_stat(stat: &str) -> Option<u32> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    match fields.next()? {
        "Z" | "X" => None,
        _ => fields.next()?.parse().ok(),
    }
}

/// Every process whose line of parents reaches `root`.
fn below(root: u32, parents: &[(u32, u32)]) -> Vec<u32> {
    let mut found = vec![root];
    let mut next = 0;
    while next < found.len() {
        let parent = found[next];
        found.extend(parents.iter().filter(|entry| entry.1 == parent).map(|entry| entry.0));
        next += 1;
    }
    found.split_off(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_line_with_a_strange_name_gives_the_parent() {
        assert_eq!(parse_stat("12 (a) b (c) S 7 12 12 0"), Some(7));
        assert_eq!(parse_stat("12 (sh) Z 7 12 12 0"), None);
        assert_eq!(parse_stat("12 (sh"), None);
    }

    #[test]
    fn a_status_line_gives_state_and_processor_time() {
        let stat = "12 (a) b) T 7 12 12 0 -1 4194304 100 0 0 0 250 50 9 9 20 0 1 0";
        let vitals = parse_task_stat(stat, 100).unwrap();
        assert_eq!(
            (vitals.state, vitals.processor_time),
            (TaskState::Stopped, Duration::from_secs(3))
        );
        assert_eq!(parse_task_stat("12 (sh) S 7", 100), None);
        assert!(super::task_stat(own_pid()).is_some());
    }

    #[test]
    fn a_process_has_ended_before_it_is_collected() {
        assert!(!has_ended(own_pid()) && namespace() != 0 && threads() > 0);
        let mut child = Command::new("true").spawn().unwrap();
        while !has_ended(child.id()) {
            std::thread::yield_now();
        }
        assert!(child.wait().unwrap().success() && has_ended(child.id()));
    }

    #[test]
    fn descendants_are_found_through_any_number_of_parents() {
        let parents = [(5, 4), (4, 3), (9, 1), (3, 2)];
        assert_eq!(below(2, &parents), [3, 4, 5]);
        assert_eq!(below(9, &parents), [0u32; 0]);
    }

    #[test]
    fn a_program_is_bound_or_the_processors_are_named() {
        let started = |processors: &[usize]| {
            let (read, write) = crate::sys::descriptor::pipe().unwrap();
            let silence = || fs::File::open("/dev/null").unwrap().into();
            let pid = spawn(ChildProgram {
                name: OsStr::new("/bin/grep"),
                arguments: &["Cpus_allowed_list".into(), "/proc/self/status".into()],
                environment: &[],
                directory: None,
                streams: [silence(), write, silence()],
                inherited: &[],
                file_limit: None,
                processors: Some(processors),
            })?;
            let status = std::io::read_to_string(fs::File::from(read))?;
            // SAFETY: no memory is touched; this collects the one child made above.
            unsafe { libc::waitpid(pid as i32, std::ptr::null_mut(), 0) };
            Ok::<_, io::Error>(status)
        };
        for cpu in crate::sys::cpu::affinity().unwrap() {
            assert_eq!(started(&[cpu]).unwrap(), format!("Cpus_allowed_list:\t{cpu}\n"));
        }
        for (processors, named) in
            [(&[][..], "\"\""), (&[1023], "1023"), (&[5, 1 << 20], "1048576")]
        {
            let error = started(processors).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
            assert!(error.to_string().contains(named), "{error}");
        }
    }

    #[test]
    fn a_status_word_is_a_code_or_a_signal() {
        assert_eq!(Exit::from_status(3 << 8), Exit::Code(3));
        assert_eq!(Exit::from_status(9).code(), 137);
    }
}
