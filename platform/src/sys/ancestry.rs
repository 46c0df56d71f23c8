//! Ancestors of this process, read from /proc.
//!
//! An ancestor that cannot be read (another user's process, or one that has just exited) counts as
//! absent.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::process::{own_pid, parent_of};

/// Limit above the depth of any chain of launchers and wrappers.
const GENERATIONS_MAX: usize = 64;

/// A process above this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ancestor {
    pub(crate) pid: u32,
}

/// The parent of this process, its parent, and so on.
pub(crate) fn ancestors() -> impl Iterator<Item = Ancestor> {
    let parent = |pid: &u32| parent_of(*pid).filter(|parent| *parent != 0);
    std::iter::successors(parent(&own_pid()), parent)
        .take(GENERATIONS_MAX)
        .map(|pid| Ancestor { pid })
}

impl Ancestor {
    /// Value of the environment variable `name` when the process started its program.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        variable_in(&fs::read(self.place("environ")).ok()?, name)
    }

    /// First mapped file whose name starts with `start`.
    pub(crate) fn mapped_file(&self, start: &str) -> Option<PathBuf> {
        file_in(&fs::read(self.place("maps")).ok()?, start)
    }

    /// Whether socket `number` is closed on exec; `None` if the process has no such socket.
    pub(crate) fn closes_socket_on_exec(&self, number: i32) -> Option<bool> {
        let target = fs::read_link(self.place(&format!("fd/{number}"))).ok()?;
        if !target.as_os_str().as_bytes().starts_with(b"socket:") {
            return None;
        }
        closes_on_exec(&fs::read_to_string(self.place(&format!("fdinfo/{number}"))).ok()?)
    }

    fn place(&self, name: &str) -> PathBuf {
        Path::new("/proc").join(self.pid.to_string()).join(name)
    }
}

/// The value of a variable in the text of `/proc/PID/environ`.
fn variable_in(environment: &[u8], name: &str) -> Option<String> {
    let mut variables = environment.split(|byte| *byte == 0);
    let value = variables.find_map(|variable| {
        variable.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"="))
    });
    value.map(|value| String::from_utf8_lossy(value).into_owned())
}

/// First file in the text of `/proc/PID/maps` whose name starts with `start`.
fn file_in(maps: &[u8], start: &str) -> Option<PathBuf> {
    maps.split(|byte| *byte == b'\n').find_map(|line| {
        let path = &line[line.iter().position(|byte| *byte == b'/')?..];
        let name = &path[path.iter().rposition(|byte| *byte == b'/')? + 1..];
        let wanted = name.starts_with(start.as_bytes());
        wanted.then(|| PathBuf::from(std::ffi::OsStr::from_bytes(path)))
    })
}

/// Flag `FD_CLOEXEC` in the text of `/proc/PID/fdinfo/NUMBER`.
fn closes_on_exec(text: &str) -> Option<bool> {
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
    let flags = i32::from_str_radix(flags.trim(), 8).ok()?;
    Some(flags & libc::O_CLOEXEC != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::socket::SocketStream;
    use std::os::fd::{AsFd, AsRawFd};

    #[test]
    fn the_first_ancestor_is_the_parent() {
        let first = ancestors().next().unwrap();
        assert_eq!(first.pid, std::os::unix::process::parent_id());
        assert!(ancestors().count() < GENERATIONS_MAX);
    }

    #[test]
    fn a_process_is_seen_as_it_is() {
        let this = Ancestor { pid: own_pid() };
        let (socket, _other) = SocketStream::pair().unwrap();
        let number = socket.as_fd().as_raw_fd();
        assert_eq!(this.closes_socket_on_exec(number), Some(true));
        assert_eq!(this.closes_socket_on_exec(1_000_000), None);
        assert_eq!(this.variable("PATH"), std::env::var("PATH").ok());
        let own = std::env::current_exe().unwrap();
        let name = own.file_name().unwrap().to_str().unwrap();
        assert_eq!(this.mapped_file(name), Some(own.clone()));
    }

    #[test]
    fn texts_of_the_kernel_are_read() {
        let environment = b"PMI_FD_X=1\0PMI_FD=7\0";
        assert_eq!(variable_in(environment, "PMI_FD").as_deref(), Some("7"));
        assert_eq!(variable_in(environment, "PMI"), None);
        let maps =
            b"7f00-7f01 r-xp 00000000 08:01 12   /a b/libpmix.so.2.6\n7f02-7f03 rw-p 0 0:0 0\n";
        assert_eq!(file_in(maps, "libpmix.so.2"), Some(PathBuf::from("/a b/libpmix.so.2.6")));
        assert_eq!(file_in(maps, "libmpi"), None);
        assert_eq!(closes_on_exec("pos:\t0\nflags:\t02000002\n"), Some(true));
        assert_eq!(closes_on_exec("pos:\t0\nflags:\t02\n"), Some(false));
        assert_eq!(closes_on_exec("pos:\t0\n"), None);
    }
}
