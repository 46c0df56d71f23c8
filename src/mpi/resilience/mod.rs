//! Failures that a job survives: User-Level Failure Mitigation, with the functions of `mpi-ext.h`.
//!
//! Source: Bland, Bouteiller, Herault, Bosilca and Dongarra, "Post-failure recovery of MPI communication
//! capability: Design and rationale", IJHPCA 2013, and the proposals to the MPI Forum (mpi-issues 581 to
//! 583).
//!
//! ```text
//!   the launcher or a device            a process that revokes          a process that agrees or shrinks
//!     │ a peer has failed                 │ Revoke                        │ Vote, Decide
//!     ▼                                   ▼                               ▼
//!   failures: members of            revocation: contexts            agreement: one value for
//!   communicators, operations       are closed, the word            all that survive
//!   that end                        is passed on
//! ```
//!
//! What a process knows of failures is local. The launcher tells of the ranks of its job; a connection tells
//! of a process of another job, so members of a communicator of several jobs make each other connect
//! ([`other_jobs`]). Three operations are not local: *revoke* reaches all members that live, *agree* and
//! *shrink* decide the same value at all of them. Their messages ([`notice`]) are handled in polls, so they
//! need no call of the application at the receiver.
//!
//! Every poll looks here once a peer has failed or a notice has arrived, and never before.

pub(crate) mod agreement;
pub(crate) mod consent;
mod failures;
mod notice;
mod other_jobs;
pub(crate) mod rank_bits;
mod revocation;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::device::Device;
use crate::engine::channel::{ArrivingMessage, MessageChannel};
use crate::engine::memory::Memory;
use crate::engine::point_to_point::matching::MatchPattern;
use crate::engine::point_to_point::wire::NOTICE_CONTEXT;
use crate::engine::schedules::plan::Members;
use crate::mpi::Mpi;
use crate::mpi::resilience::consent::{AgreementKey, RunningAgreement};
use crate::mpi::resilience::notice::Notice;
use platform::base::{MpiError, Peer};

/// Notices about communicators that do not exist here yet, at most. Those of communicators that were
/// freed stay among them until newer ones replace them.
const EARLY_MAX: usize = 4096;

/// The tag of all notices.
const NOTICE_TAG: i32 = 0;

/// What a process knows of failures and agreements.
#[derive(Debug, Default)]
pub(crate) struct Resilience {
    /// By context and instance.
    agreements: BTreeMap<(u64, u32), RunningAgreement>,
    /// Those that wait for flags in shared memory.
    by_flags: Vec<AgreementKey>,
    /// Notices about communicators that do not exist here, with the ranks of their senders there.
    early: Vec<(u32, Notice)>,
    arriving: Option<ArrivingMessage>,
    /// The numbers of failures and of new communicators that have been looked after.
    seen: (u32, u64),
    /// What could change which receives end, when they were last looked after.
    receives_seen: (u64, usize, u32, u64),
    /// The number of posted receives when processes of other jobs were last connected to.
    connected_for: u64,
    /// What was probed then.
    probed: Option<MatchPattern>,
}

/// What a communicator knows of failures.
#[derive(Debug, Default)]
pub(crate) struct CommResilience {
    pub(crate) is_revoked: bool,
    /// Whether a collective cannot complete: the communicator was revoked or a member has failed.
    pub(crate) is_impaired: bool,
    /// The members that have failed, in the order in which this process has learned of it.
    pub(crate) failed: Vec<u32>,
    /// Why the first of them has failed, if this process knows it.
    why: Option<Box<MpiError>>,
    /// How many of them this process has acknowledged.
    pub(crate) acknowledged: usize,
    /// The number of agreements until now.
    agreements: u32,
}

/// All processes by their peer numbers.
struct AllPeers;

impl Members for AllPeers {
    fn peer(&self, rank: u32) -> Peer {
        rank
    }
}

impl Resilience {
    /// Whether an agreement waits for flags in shared memory.
    #[inline]
    pub(in crate::mpi) fn awaits_flags(&self) -> bool {
        !self.by_flags.is_empty()
    }
}

impl<D: Device> Mpi<D> {
    /// Handles notices and failures; called by each poll once there was any.
    #[cold]
    pub(in crate::mpi) fn look_after_failures(&mut self) {
        while let Some((from, notice)) = self.next_notice() {
            self.handle_notice(from, notice);
        }
        let now = (self.engine.failures(), self.comms.inserted());
        if self.resilience.seen != now {
            self.resilience.seen = now;
            self.find_failed_members();
            self.tell_agreements_of_freed_comms();
            let early = std::mem::take(&mut self.resilience.early);
            early.into_iter().for_each(|(from, notice)| self.handle_notice(from, notice));
        }
        let (posted, closed) = self.engine.receives_and_closings();
        let seen = (posted, closed, now.0, now.1);
        if std::mem::replace(&mut self.resilience.receives_seen, seen) != seen {
            self.end_lost_receives();
        }
    }

    /// The source of a notice is the rank `me` of this process among the members of the communicator: its
    /// number is not the same at all processes.
    fn notice_channel(me: u32) -> MessageChannel {
        MessageChannel::new(NOTICE_CONTEXT, Arc::new(AllPeers), me)
    }

    /// The next notice, with the rank of its sender.
    fn next_notice(&mut self) -> Option<(u32, Notice)> {
        let channel = Self::notice_channel(0);
        loop {
            let arriving = &mut self.resilience.arriving;
            let (from, bytes) = channel.next_message(&mut self.engine, NOTICE_TAG, arriving)?;
            if let Some(notice) = Notice::parse(&bytes) {
                return Some((from, notice));
            }
        }
    }

    fn send_notice(&mut self, me: u32, to: Peer, notice: &Notice) {
        if self.engine.failure(to).is_none() {
            let memory = Memory::owned(notice.emit());
            Self::notice_channel(me).send_detached(&mut self.engine, to, NOTICE_TAG, memory);
        }
    }

    fn handle_notice(&mut self, from: u32, notice: Notice) {
        match &notice {
            Notice::Revoke { context } => {
                if let Some(comm) = self.comms.handle_of_context(*context) {
                    return self.mark_revoked(comm);
                }
            }
            Notice::Failed { context, member } => {
                if let Some(comm) = self.comms.handle_of_context(*context) {
                    return self.member_may_have_failed(comm, *member);
                }
            }
            Notice::Agreement { context, instance, message } => {
                let key = (*context, *instance);
                let has = self.resilience.agreements.contains_key(&key);
                if has || self.comms.handle_of_context(*context).is_some() {
                    return self.agreement_message(key, from, message.clone());
                }
            }
        }
        if self.resilience.early.len() == EARLY_MAX {
            self.resilience.early.remove(0);
        }
        self.resilience.early.push((from, notice));
    }
}
