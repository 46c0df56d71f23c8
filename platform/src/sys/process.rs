//! Processes: start, watch, signal and collect.
//!
//! Call [`spawn`] from a thread that lives as long as the process: the kernel ends a child when the
//! *thread* that made it exits (`PR_SET_PDEATHSIG`), so that no rank outlives the launcher. Process
//! ids are plain numbers; an id is valid until [`reap`] returned it.

#![allow(unsafe_code)]

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::cpu::CpuMask;
use super::topology::format_list;
use super::trace;
use nix::sys::prctl;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{ForkResult, Pid, fork, getpgrp, getpid, getppid, setpgid, tcgetpgrp};

/// Errors of the system for exhausted descriptors and processes.
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
    /// The code that a shell would return: the exit code, or 128 plus the signal's number.
    pub fn code(self) -> i32 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128 + signal,
        }
    }

    /// Reads a status word of wait(2).
    pub(super) fn from_status(status: i32) -> Self {
        if libc::WIFSIGNALED(status) {
            Self::Signal(libc::WTERMSIG(status))
        } else {
            Self::Code(libc::WEXITSTATUS(status))
        }
    }
}

/// Result of [`reap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reap {
    /// This child has exited; the system may use its number again.
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
    /// Its working directory; `None` means the current one.
    pub directory: Option<&'a Path>,
    /// Standard input, output and error.
    pub streams: [OwnedFd; 3],
    /// Further descriptors to inherit, under the same numbers.
    pub inherited: &'a [BorrowedFd<'a>],
    /// The limit of open files to restore (see [`raise_file_limit`]).
    pub file_limit: Option<u64>,
    /// The processors on which it may run; `None` means those of the calling thread.
    pub processors: Option<&'a [usize]>,
}

/// Starts `program` in a process group of its own, with no signal blocked; the program ends when
/// the calling thread exits.
///
/// # Errors
/// The system's error when the program cannot be started (`NotFound`, `PermissionDenied`, ...);
/// `InvalidInput`, with the processors' numbers, when it cannot be bound to them.
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
    let bound = program.processors.map(CpuMask::of).transpose().map_err(|_| unbindable())?;
    // SAFETY: the closure runs between fork and exec of a process that may have threads. It only
    // makes system calls (prctl, sigprocmask, getppid, fcntl, setrlimit, sched_setaffinity); it
    // neither allocates nor locks: its data was made above.
    unsafe { command.pre_exec(move || prepare(parent, &inherited, file_limit, bound.as_ref())) };
    match command.spawn() {
        Ok(child) => Ok(child.id()),
        Err(error) if error.raw_os_error() == Some(UNBINDABLE) => Err(unbindable()),
        Err(error) => Err(error),
    }
}

/// Error number of a child that could not be bound. A child can report only a number to its parent,
/// and the system's own numbers are below this one.
const UNBINDABLE: i32 = 4096;

fn unbindable(processors: &[usize]) -> io::Error {
    let numbers = format_list(processors);
    let why = format!("it cannot be bound to the processors {numbers:?} here");
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

/// Prepares a child before its program starts.
fn prepare(
    parent: Pid, inherited: &[RawFd], file_limit: Option<u64>, bound: Option<&CpuMask>,
) -> io::Result<()> {
    if bound.is_some_and(|mask| mask.confine().is_err()) {
        return Err(io::Error::from_raw_os_error(UNBINDABLE));
    }
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    // The program does not inherit the launcher's blocked signals (see `signals`).
    SigSet::empty().thread_set_mask()?;
    if getppid() != parent {
        // The parent exited before the line above.
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

/// The limit of open files of this process, and its maximum.
///
/// # Errors
/// The error of getrlimit(2).
pub fn file_limit() -> io::Result<(u64, u64)> {
    Ok(getrlimit(Resource::RLIMIT_NOFILE)?)
}

/// Raises the limit of open files as far as allowed. Returns the old limit, for the children, if it
/// changed.
pub fn raise_file_limit() -> Option<u64> {
    let (soft, hard) = file_limit().ok()?;
    (soft < hard && setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok()).then_some(soft)
}

/// The side of [`fork_single_threaded`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The original process; the child has this number.
    Parent(u32),
    /// The new process.
    Child,
}

/// Forks this process.
///
/// # Errors
/// `WouldBlock` or `OutOfMemory` when the system has no room; `Unsupported` when this process has
/// more than one thread, because the child would have locks held by threads that do not exist
/// there.
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

/// Collects one exited child, its own or adopted, without waiting.
pub fn reap() -> Reap {
    let mut status = 0;
    loop {
        // SAFETY: `status` is a valid place for an int for the length of the call.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
        match pid {
            0 => return Reap::Running,
            // A thread that stopped after `trace` gave up on it: it continues.
            1.. if libc::WIFSTOPPED(status) => trace::detach(pid),
            1.. => return Reap::Ended(pid as u32, Exit::from_status(status)),
            _ if io::Error::last_os_error().raw_os_error() == Some(libc::EINTR) => {}
            _ => return Reap::Childless,
        }
    }
}

/// Makes orphaned descendants children of this process from now on.
pub fn adopt_orphans() -> io::Result<()> {
    Ok(prctl::set_child_subreaper(true)?)
}

/// Moves this process to a process group of its own.
pub fn leave_group() -> io::Result<()> {
    Ok(setpgid(Pid::from_raw(0), Pid::from_raw(0))?)
}

/// Whether the process group of this process owns the terminal `terminal`.
pub fn in_foreground(terminal: BorrowedFd<'_>) -> bool {
    tcgetpgrp(terminal).is_ok_and(|group| group == getpgrp())
}

/// Whether this process has rights that the process which started it may lack, because its program is
/// set-user-id or has capabilities: its environment and its ancestors are not to be trusted.
pub(crate) fn has_more_rights() -> bool {
    // SAFETY: getauxval takes an integer and touches no memory.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// The user whose rights this process has.
pub fn effective_user() -> u32 {
    nix::unistd::geteuid().as_raw()
}

/// Runs `body` when this process exits by exit(3), before what was registered earlier; in no child that was
/// forked. This library must not be unloaded before. False if there is no memory.
pub fn at_exit(body: impl FnOnce() + Send + 'static) -> bool {
    type ExitCall = Box<dyn FnOnce() + Send>;
    unsafe extern "C" {
        fn __cxa_atexit(
            call: extern "C" fn(*mut libc::c_void), argument: *mut libc::c_void,
            object: *const libc::c_void,
        ) -> libc::c_int;
    }
    extern "C" fn run(argument: *mut libc::c_void) {
        // SAFETY: the argument is that below, and each registration runs once.
        let body = unsafe { Box::from_raw(argument.cast::<ExitCall>()) };
        body();
    }
    let own = own_pid();
    let guarded: ExitCall = Box::new(move || {
        if own_pid() == own {
            body();
        }
    });
    let argument = Box::into_raw(Box::new(guarded)).cast();
    // SAFETY: the function takes this argument, and stays: it is called for no object in particular.
    unsafe { __cxa_atexit(run, argument, std::ptr::null()) == 0 }
}

/// The number of this process.
pub fn own_pid() -> u32 {
    getpid().as_raw() as u32
}

/// An identifier of this process's pid namespace: process ids are valid only within it. 0 if the
/// system does not report one.
pub fn namespace() -> u64 {
    namespace_of("pid")
}

/// An identifier of this process's user namespace: the kernel lets no process look into one that has
/// another. 0 if the system does not report one.
pub(crate) fn user_namespace() -> u64 {
    namespace_of("user")
}

fn namespace_of(kind: &str) -> u64 {
    fs::metadata(format!("/proc/self/ns/{kind}")).map_or(0, |place| place.ino())
}

/// Whether the process `pid` of this namespace has exited, even if not yet collected.
pub fn has_ended(pid: u32) -> bool {
    // SAFETY: no signal is sent and no memory touched.
    let is_there = unsafe { libc::kill(pid as i32, 0) } == 0;
    if !is_there && io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH) {
        return true;
    }
    task_stat(pid).is_some_and(|vitals| vitals.state == TaskState::Ended)
}

/// Whether the process `pid` is ending: its files may be closed, and its parent may not know yet. Also true
/// after its end, until it is collected.
pub fn is_exiting(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| has_exit_flag(&stat).unwrap_or(false))
}

fn has_exit_flag(stat: &str) -> Option<bool> {
    /// Set before the files of a process are closed (include/linux/sched.h).
    const PF_EXITING: u64 = 4;
    // The flags are the ninth field of the line; the name is the second.
    let flags: u64 = stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(6)?.parse().ok()?;
    Some(flags & PF_EXITING != 0)
}

/// The ids of the threads of this process, except those that have the name of this library: its own,
/// and those of libraries that it uses.
pub fn threads() -> Vec<u32> {
    let is_foreign = |task: &fs::DirEntry| {
        let name = fs::read(task.path().join("comm")).unwrap_or_default();
        !name.starts_with(THREAD_NAME.as_bytes())
    };
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let foreign = tasks.filter(is_foreign);
    foreign.filter_map(|task| task.file_name().to_str()?.parse().ok()).collect()
}

/// Prefix of the names of all threads of this library, and of threads that foreign libraries start.
pub const THREAD_NAME: &str = "suiro-";

/// Sends `signal` to the process `pid`; an exited process is no error.
pub fn signal_process(pid: u32, signal: i32) {
    // SAFETY: kill touches no memory of this process; a wrong number is only an error.
    unsafe { libc::kill(pid as i32, signal) };
}

/// Whether the kernel kills this process when its parent ends, and that is the process `parent`.
pub(crate) fn ends_with(parent: u32) -> bool {
    getppid().as_raw() as u32 == parent && prctl::get_pdeathsig() == Ok(Some(Signal::SIGKILL))
}

/// Kills all processes of the process group of this one.
pub fn kill_own_group() {
    // SAFETY: kill touches no memory of this process.
    unsafe { libc::kill(0, libc::SIGKILL) };
}

/// Sends `signal` to the process group that `pid` leads; an exited group is no error.
pub fn signal_group(pid: u32, signal: i32) {
    // SAFETY: as above; the cast keeps a positive number, so this never means "all processes".
    unsafe { libc::kill(-(pid as i32), signal) };
}

/// State of a process, as the kernel reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// Runs or is ready to run.
    Running,
    /// Waits; a signal would wake it.
    Sleeping,
    /// Waits in the kernel, for a disk for example; no signal wakes it.
    Uninterruptible,
    /// A signal stopped it.
    Stopped,
    /// A debugger holds it.
    Traced,
    /// It has exited.
    Ended,
}

impl TaskState {
    /// Description of a process in this state, for messages.
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

/// The kernel's statistics of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskStat {
    /// Its current state.
    pub state: TaskState,
    /// Processor time used by its threads.
    pub processor_time: Duration,
}

/// The kernel's statistics of the process `pid`, if it exists.
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

/// The name of the program of the process `pid`, as the kernel has it: its first 15 bytes.
pub fn name(pid: u32) -> Option<String> {
    let name = fs::read(format!("/proc/{pid}/comm")).ok()?;
    Some(String::from_utf8_lossy(&name).trim_end().to_owned())
}

/// All descendants of this process, found in /proc, except zombies.
pub fn descendants() -> Vec<u32> {
    descendants_without(&[])
}

/// As [`descendants`], without these children and all below them.
pub fn descendants_without(children: &[u32]) -> Vec<u32> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if let Some(parent) = parent_of(pid).filter(|_| !children.contains(&pid)) {
            parents.push((pid, parent));
        }
    }
    below(own_pid(), &parents)
}

/// Whether this process has children besides `children`; zombies do not count.
pub fn has_other_children(children: &[u32]) -> bool {
    // Of the thread that started them: the launcher has one.
    let list = fs::read_to_string(format!("/proc/self/task/{}/children", own_pid()));
    match list {
        Ok(list) => {
            let mut all = list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok());
            all.any(|pid| !children.contains(&pid) && parent_of(pid).is_some())
        }
        // A kernel without this file.
        Err(_) => !descendants_without(children).is_empty(),
    }
}

/// The parent of `pid`, unless `pid` has exited.
pub(crate) fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    parse_stat(&stat)
}

/// The parent in a line of /proc/PID/stat; `None` for a zombie. The name may contain any byte.
fn parse_stat(stat: &str) -> Option<u32> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    match fields.next()? {
        "Z" | "X" => None,
        _ => fields.next()?.parse().ok(),
    }
}

/// All processes with `root` among their ancestors.
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

/// Writes the buffered output of all streams of C. It waits for readers, and for threads that hold the lock of
/// a stream.
pub fn flush_streams() {
    // SAFETY: a null pointer means all output streams; each is locked meanwhile.
    unsafe { libc::fflush(std::ptr::null_mut()) };
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
        assert_eq!(has_exit_flag(stat), Some(false));
        assert_eq!(has_exit_flag(&stat.replace("4194304", "4194308")), Some(true));
        assert_eq!(has_exit_flag("12 (sh) S 7"), None);
        assert!(super::task_stat(own_pid()).is_some());
    }

    #[test]
    fn a_process_has_ended_before_it_is_collected() {
        assert!(!has_ended(own_pid()) && namespace() != 0 && !threads().is_empty());
        let mut child = Command::new("true").spawn().unwrap();
        while !has_ended(child.id()) {
            std::thread::yield_now();
        }
        assert!(is_exiting(child.id()) && !is_exiting(own_pid()));
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
