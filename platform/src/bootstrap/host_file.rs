//! Memory files that the ranks of one host share.
//!
//! `mpirun` creates them and passes descriptors to the ranks; for a later MPI program of a rank it
//! creates new ones, and its reply says where they are. With another launcher the first local
//! rank creates a file and publishes where it is:
//!
//! ```text
//!   first local rank   create, put key ── barrier ──────────────── barrier ── map
//!   other local ranks                     barrier, get key, open ── barrier ── map
//! ```
//!
//! The second barrier keeps the first rank from closing its descriptor before the others have
//! opened the file.

use std::os::fd::{AsRawFd, OwnedFd};

use super::client::Client;
use super::identity;
use super::job::JobView;
use crate::base::{ErrorClass, MpiError, Peer, Result};
use crate::sys::{process, shm};

/// A purpose of a memory file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostFile {
    /// The segment of the ranks.
    Segment,
    /// The network interfaces of the host.
    Interface,
}

impl HostFile {
    fn key(self, leader: u32) -> String {
        match self {
            Self::Segment => format!("suiro-segment-{leader}"),
            Self::Interface => format!("suiro-interface-{leader}"),
        }
    }
}

impl JobView {
    /// Opens a file, of size 0 until a rank grows it. All ranks of the job call this with the same
    /// purpose, once.
    ///
    /// # Errors
    /// `NoMem` if there is no such file; `Other` if the launcher has gone.
    pub fn open_host_file(
        &mut self, purpose: HostFile, launcher: Option<&mut Client>,
    ) -> Result<OwnedFd> {
        let inherited = match purpose {
            HostFile::Segment => self.segment.take(),
            HostFile::Interface => self.interface.take(),
        };
        match (inherited, launcher) {
            (Some(file), _) => Ok(file),
            (None, None) => create(),
            (None, Some(launcher)) => self.pass_file(purpose, launcher),
        }
    }

    fn pass_file(&self, purpose: HostFile, launcher: &mut Client) -> Result<OwnedFd> {
        let leader = self.local_ranks.first().copied().unwrap_or(self.rank);
        let key = purpose.key(leader);
        if leader == self.rank {
            let file = create()?;
            let location = format!("{}:{}", process::own_pid(), file.as_raw_fd());
            launcher.put(&key, &format!("{location}@{}", identity::of_this_host()))?;
            launcher.barrier()?;
            launcher.barrier()?;
            return Ok(file);
        }
        launcher.barrier()?;
        let value = launcher.get(leader, &key)?;
        let opened = open_value(leader, value.as_deref(), &identity::of_this_host());
        launcher.barrier()?;
        opened
    }
}

pub(super) fn create() -> Result<OwnedFd> {
    shm::create().map_err(|error| cannot_share(&error.to_string()))
}

/// Opens what rank `leader` has published: `process:descriptor@host`. In another namespace the numbers
/// would be those of another process.
fn open_value(leader: Peer, value: Option<&str>, own_host: &str) -> Result<OwnedFd> {
    match value.and_then(|value| value.split_once('@')) {
        Some((location, host)) if host == own_host => open(location),
        Some(_) => Err(cannot_share(&format!(
            "rank {leader} runs in another container than this rank, though the launcher says that \
             they share a host; SUIRO_DEVICE=tcp needs no shared memory"
        ))),
        None => Err(cannot_share(&format!(
            "rank {leader} has published no memory; SUIRO_DEVICE and the library must be the same in \
             all ranks of a job"
        ))),
    }
}

/// Opens `process:descriptor`.
pub(super) fn open(location: &str) -> Result<OwnedFd> {
    let numbers = location.split_once(':');
    let numbers = numbers.and_then(|(pid, fd)| Some((pid.parse().ok()?, fd.parse().ok()?)));
    let Some((pid, fd)) = numbers else {
        return Err(cannot_share(&format!("{location:?} is not a process and a descriptor")));
    };
    shm::open_of(pid, fd).map_err(|error| cannot_share(&format!("process {pid}: {error}")))
}

pub(super) fn cannot_share(why: &str) -> Box<MpiError> {
    ErrorClass::NoMem.error(format!("cannot share memory with the ranks of this host: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_alone_creates_its_file() {
        let mut job = JobView::singleton();
        assert!(job.open_host_file(HostFile::Segment, None).is_ok());
    }

    #[test]
    fn a_file_of_another_process_is_opened_by_its_location() {
        let file = shm::create().unwrap();
        assert!(open(&format!("{}:{}", process::own_pid(), file.as_raw_fd())).is_ok());
        for bad in ["", "1", "x:3", "1:x"] {
            let why = open(bad).unwrap_err().why;
            assert!(why.contains("cannot share memory") && why.contains(bad), "{why}");
        }
    }

    #[test]
    fn a_file_of_another_container_is_not_opened() {
        let file = shm::create().unwrap();
        let location = format!("{}:{}", process::own_pid(), file.as_raw_fd());
        let value = format!("{location}@here");
        assert!(open_value(0, Some(&value), "here").is_ok());
        let why = |value, own| open_value(0, value, own).unwrap_err().why;
        assert!(why(Some(&*value), "there").contains("another container"));
        for bad in [None, Some(&*location)] {
            assert!(why(bad, "here").contains("rank 0 has published no memory"));
        }
    }
}
