//! Notices the end of a process that need not be a child: by a pidfd, or by looking it up where the
//! system has none (before Linux 5.3) or refuses it (filters of system calls, gVisor).

#![allow(unsafe_code)]

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use super::process::{self, Exit};

/// A process that is watched.
#[derive(Debug)]
pub struct ProcessWatch {
    pid: u32,
    /// When the process started, in ticks since the machine did: another process may get its number.
    started: Option<u64>,
    pidfd: Option<OwnedFd>,
}

impl ProcessWatch {
    /// Watches the process `pid`.
    pub fn of(pid: u32) -> Self {
        Self { pid, started: start_time(pid), pidfd: open_pidfd(pid).ok() }
    }

    /// The number of the process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// A descriptor that becomes readable when the process ends; without one,
    /// [`has_ended`](Self::has_ended) must be asked from time to time.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.pidfd.as_ref().map(AsFd::as_fd)
    }

    /// Whether the process has ended; one that is not collected yet has.
    pub fn has_ended(&self) -> bool {
        process::has_ended(self.pid) || start_time(self.pid) != self.started
    }

    /// How the process ended; `None` if the system does not report it (before Linux 6.15).
    pub fn exit(&self) -> Option<Exit> {
        const EXIT: u64 = 1 << 3;
        let mut info = PidfdInfo { mask: EXIT, ..PidfdInfo::default() };
        let request = libc::_IOWR::<PidfdInfo>(0xff, 11);
        let pidfd = self.pidfd.as_ref()?.as_raw_fd();
        // SAFETY: `info` has the size that the request names and lives through the call.
        let result = unsafe { libc::ioctl(pidfd, request, &raw mut info) };
        (result == 0 && info.mask & EXIT != 0).then(|| Exit::from_status(info.exit_code))
    }
}

fn open_pidfd(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: pidfd_open takes two integers and touches no memory.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid as libc::pid_t, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call above made this descriptor, and it has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// Field 22 of /proc/PID/stat; the state, after the name in parentheses, is the third.
fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(19)?.parse().ok()
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

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn an_end_is_noticed_with_and_without_a_pidfd() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let watches = [
            ProcessWatch::of(child.id()),
            ProcessWatch { pidfd: None, ..ProcessWatch::of(child.id()) },
        ];
        assert!(watches.iter().all(|watch| !watch.has_ended() && watch.exit().is_none()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(watches.iter().all(ProcessWatch::has_ended));
        assert!(
            ProcessWatch { started: Some(1), ..ProcessWatch::of(process::own_pid()) }.has_ended()
        );
    }
}
