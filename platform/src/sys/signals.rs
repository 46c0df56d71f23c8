//! Signals as something to read: blocked, and taken from a descriptor.
//!
//! A signal that was ignored when the process started (`nohup`, `&` in a script) stays ignored, except
//! SIGCHLD ([`restore`]).

#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::ptr;

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal, sigaction};
use nix::sys::signalfd::{SfdFlags, SignalFd};

/// Numbers of the signals that the launcher handles.
pub use libc::{
    SIGCHLD as CHLD, SIGCONT as CONT, SIGHUP as HUP, SIGINT as INT, SIGKILL as KILL,
    SIGQUIT as QUIT, SIGTERM as TERM, SIGTSTP as TSTP, SIGTTOU as TTOU, SIGUSR1 as USR1,
    SIGUSR2 as USR2,
};

/// The signals that concern a job: both processes of the launcher read them.
pub const JOB_SIGNALS: [i32; 9] = [CHLD, INT, TERM, HUP, QUIT, USR1, USR2, TSTP, CONT];

/// A set of blocked signals that can be polled and read.
#[derive(Debug)]
pub struct Signals(SignalFd);

impl Signals {
    /// Blocks `signals`, except ignored ones, and opens a descriptor for them.
    ///
    /// # Errors
    /// `InvalidInput` for a number that is no signal; else that of the system.
    pub fn block(signals: &[i32]) -> io::Result<Self> {
        let mut set = SigSet::empty();
        for number in signals {
            if *number == libc::SIGCHLD || !is_ignored(*number) {
                set.add(Signal::try_from(*number)?);
            }
        }
        set.thread_block()?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        Ok(Self(SignalFd::with_flags(&set, flags)?))
    }

    /// The next pending signal, if any.
    pub fn take(&self) -> Option<i32> {
        self.0.read_signal().ok().flatten().map(|info| info.ssi_signo as i32)
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Calls a function, such as one that starts a thread, with all signals blocked: a thread started
/// in it handles no signals sent to the process.
pub fn without<T>(body: impl FnOnce() -> T) -> T {
    let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK);
    let result = body();
    if let Ok(before) = before {
        // This mask was the thread's until the call above.
        let _ = before.thread_set_mask();
    }
    result
}

/// Undoes what this process inherited and cannot work with: SIGCHLD ignored, after which the ends of
/// children are not reported, and blocked signals.
pub fn restore() {
    let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    // SAFETY: no handler is installed.
    let restored = unsafe { sigaction(Signal::SIGCHLD, &default) };
    // Both calls fail only for arguments that are wrong.
    let _ = restored.and_then(|_| SigSet::empty().thread_set_mask());
}

/// Whether `signal` is set to be ignored.
fn is_ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: the null pointer requests no change, and `action` is a valid place for the answer;
    // all zeroes is a valid value of it.
    let action = unsafe {
        libc::sigaction(signal, ptr::null(), action.as_mut_ptr());
        action.assume_init()
    };
    action.sa_sigaction == libc::SIG_IGN
}

/// Stops this process until it is continued, like the terminal's stop key.
pub fn stop_self() {
    // SAFETY: raise takes an integer and touches no memory.
    unsafe { libc::raise(libc::SIGSTOP) };
}

/// The signal with a name (`INT`, `SIGINT`) or number, if it can be taken and forwarded.
pub fn parse(text: &str) -> Option<i32> {
    let text = text.to_ascii_uppercase();
    let named = [text.clone(), format!("SIG{text}")].into_iter().find_map(|name| name.parse().ok());
    let signal = match named {
        Some(signal) => signal,
        None => Signal::try_from(text.parse::<i32>().ok()?).ok()?,
    };
    let own = [Signal::SIGKILL, Signal::SIGSTOP, Signal::SIGCHLD];
    (!own.contains(&signal)).then_some(signal as i32)
}

/// The name of a signal, such as `SIGKILL`.
pub fn name(signal: i32) -> String {
    match Signal::try_from(signal) {
        Ok(known) => known.as_str().to_owned(),
        Err(_) if signal >= libc::SIGRTMIN() => format!("SIGRTMIN+{}", signal - libc::SIGRTMIN()),
        Err(_) => format!("signal {signal}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cover_the_real_time_signals() {
        assert_eq!(name(libc::SIGKILL), "SIGKILL");
        assert_eq!(name(libc::SIGRTMIN() + 2), "SIGRTMIN+2");
    }
}
