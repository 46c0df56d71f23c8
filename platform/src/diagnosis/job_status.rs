//! What all ranks of the job do, as one rank knows it: the [`StatusTable`] of its host, and what other
//! hosts have answered ([`StatusExchange`]).

use super::rank_status::{RankActivity, RankStatus};
use super::status_exchange::{RemoteActivity, StatusExchange};
use super::status_table::StatusTable;
use crate::base::Peer;
use crate::bootstrap::JobHosts;

/// The view of one rank.
#[derive(Debug)]
pub struct JobStatus {
    /// One entry for each rank of the host, in the order of ranks.
    table: StatusTable,
    /// `None` if there is one host.
    exchange: Option<StatusExchange>,
}

impl JobStatus {
    /// The view of `rank` in a job of `size` ranks on `hosts`.
    pub fn new(table: StatusTable, (rank, size): (Peer, u32), hosts: &JobHosts) -> Self {
        let exchange = (!hosts.is_one()).then(|| StatusExchange::new(rank, size, hosts));
        Self { table, exchange }
    }

    /// Whether there is an entry for each rank of this host in a job of `size` ranks.
    pub fn is_complete(&self, size: u32) -> bool {
        let local = self.exchange.as_ref().map_or(size as usize, |it| it.local_ranks().len());
        self.table.ranks() == local
    }

    /// The exchange with other hosts, if there are any.
    pub fn exchange(&mut self) -> Option<(&mut StatusExchange, &StatusTable)> {
        Some((self.exchange.as_mut()?, &self.table))
    }

    /// Replaces the status of `rank` of this host.
    pub fn write(&self, rank: Peer, status: &RankStatus) {
        self.entry(rank).into_iter().for_each(|entry| self.table.write(entry, status));
    }

    /// Records that `rank` of this host does not wait.
    pub fn clear(&self, rank: Peer) {
        self.entry(rank).into_iter().for_each(|entry| self.table.clear(entry));
    }

    /// The status of `rank`.
    pub fn read(&self, rank: Peer) -> RankActivity {
        match self.entry(rank) {
            Some(entry) => self.table.read(entry),
            None => match self.remote(rank) {
                Some(RemoteActivity::Waiting(status)) => RankActivity::Waiting(status.clone()),
                Some(RemoteActivity::Ended) | None => RankActivity::Unknown,
            },
        }
    }

    /// Whether the process of a rank of another host is known to have ended.
    pub fn has_ended_elsewhere(&self, rank: Peer) -> bool {
        self.remote(rank) == Some(&RemoteActivity::Ended)
    }

    /// As [`StatusTable::raise_alarm`], for this host.
    pub fn raise_alarm(&self) -> bool {
        self.table.raise_alarm()
    }

    /// As [`StatusTable::withdraw_alarm`], for this host.
    pub fn withdraw_alarm(&self) -> bool {
        self.table.withdraw_alarm()
    }

    fn remote(&self, rank: Peer) -> Option<&RemoteActivity> {
        self.exchange.as_ref()?.known(rank)
    }

    /// The number of the entry of `rank`, if it runs on this host.
    fn entry(&self, rank: Peer) -> Option<u32> {
        match &self.exchange {
            None => Some(rank),
            Some(exchange) => exchange.entry(rank),
        }
    }
}
