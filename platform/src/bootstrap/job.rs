//! A rank's view of its job: all information from the launcher and the peers at the start.

use std::io;
use std::os::fd::OwnedFd;

use crate::base::{ErrorClass, Result};
use crate::sys::descriptor;
use crate::sys::host;
use crate::sys::secret::JobCredentials;

use super::client::{Client, JobAttributes};
use super::environment::Environment;
use super::host_file;
use super::hosts::JobHosts;
use super::identity;

/// Position of a rank in its job.
#[derive(Debug)]
pub struct JobView {
    /// The rank of this process.
    pub rank: u32,
    /// Number of processes.
    pub size: u32,
    /// The ranks on this host, this one included, ascending. Before [`JobView::exchange`], those
    /// that the launcher names.
    pub local_ranks: Vec<u32>,
    /// The hosts of all ranks: one before [`JobView::exchange`].
    pub hosts: JobHosts,
    /// The number of this program on the launcher's command line, if there is one.
    pub app_number: Option<u32>,
    /// Maximum number of processes, if the launcher reports it.
    pub universe_size: Option<u32>,
    /// A memory file that the launcher or [`JobView::exchange`] made for the ranks of this host, of
    /// size 0 until a rank grows it. Only Suiro's own launcher makes one.
    pub segment: Option<OwnedFd>,
    /// A second memory file, for the network interfaces of this host.
    pub interface: Option<OwnedFd>,
    /// The job's secret. Only Suiro's own launcher makes one.
    pub secret: Option<JobCredentials>,
}

impl JobView {
    /// A process without a launcher.
    pub(crate) fn singleton() -> Self {
        Self {
            rank: 0,
            size: 1,
            local_ranks: vec![0],
            hosts: JobHosts::one(host::name()),
            app_number: None,
            universe_size: None,
            segment: None,
            interface: None,
            secret: None,
        }
    }

    /// The index of this rank among the ranks of its host.
    pub fn local_index(&self) -> usize {
        self.local_ranks.iter().position(|rank| *rank == self.rank).unwrap_or(0)
    }

    /// Asks the launcher and, if necessary, the peers: then all ranks must call this.
    ///
    /// # Errors
    /// `Other` when the connection is lost, a reply is invalid, or a passed descriptor is unusable.
    pub fn assemble(environment: &Environment, client: Option<&mut Client>) -> Result<Self> {
        let Some(client) = client else { return Ok(Self::singleton()) };
        let (mut segment, mut interface, mut secret) = (None, None, None);
        if client.attributes().is_own_launcher {
            (segment, interface) = match &client.attributes().files {
                None => (
                    inherited("SUIRO_SEGMENT_FD", environment.segment_fd, Ok)?,
                    inherited("SUIRO_INTERFACE_FD", environment.interface_fd, Ok)?,
                ),
                Some((segment, interface)) => {
                    (Some(host_file::open(segment)?), Some(host_file::open(interface)?))
                }
            };
            secret = inherited("SUIRO_JOB_FD", environment.job_fd, JobCredentials::read)?;
        }
        let local_ranks = match client.attributes().local_ranks.clone() {
            Some(ranks) => ranks,
            None => compare_hosts(client)?,
        };
        let JobAttributes { rank, size, app_number, universe_size, .. } =
            client.attributes().clone();
        let hosts = JobHosts::one(host::name());
        Ok(Self {
            rank,
            size,
            local_ranks,
            hosts,
            app_number,
            universe_size,
            segment,
            interface,
            secret,
        })
    }

    /// Whether some ranks run on other hosts, according to the launcher: then [`JobView::exchange`]
    /// must follow.
    pub fn has_remote_ranks(&self) -> bool {
        self.local_ranks.len() != self.size as usize
    }
}

/// Opens a descriptor from the launcher, if the launcher passed one.
fn inherited<T>(
    name: &str, number: Option<i32>, read: impl FnOnce(OwnedFd) -> io::Result<T>,
) -> Result<Option<T>> {
    let Some(number) = number else { return Ok(None) };
    let found = descriptor::inherit(number).and_then(read).map(Some);
    found.map_err(|error| {
        let why = format!("{name}={number} is not a descriptor of the launcher: {error}");
        ErrorClass::Other.error(why)
    })
}

/// Finds the ranks on this host by comparing hosts; all ranks must call this.
fn compare_hosts(client: &mut Client) -> Result<Vec<u32>> {
    let (rank, size) = (client.attributes().rank, client.attributes().size);
    let own = identity::of_this_host();
    client.put(&format!("suiro-host-{rank}"), &own)?;
    client.barrier()?;
    let mut ranks = Vec::new();
    for other in 0..size {
        if client.get(other, &format!("suiro-host-{other}"))?.as_deref() == Some(&*own) {
            ranks.push(other);
        }
    }
    Ok(ranks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_launched_means_alone() {
        let job = JobView::assemble(&Environment::default(), None).unwrap();
        assert_eq!((job.rank, job.size, job.local_ranks), (0, 1, vec![0]));
    }
}
