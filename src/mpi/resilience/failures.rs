//! Failed members of communicators: which there are, and the operations that end.
//!
//! ```text
//!   message from or to a failed member     PROC_FAILED
//!   collective of the communicator         PROC_FAILED, at every member that knows of the failure, so
//!                                          that none waits for one that has given up
//!   receive from MPI_ANY_SOURCE            blocking: PROC_FAILED; a request: PROC_FAILED_PENDING, and it
//!                                          stays active; neither once the failure is acknowledged
//! ```

use std::sync::Arc;

use crate::device::Device;
use crate::engine::point_to_point::operation::OperationId;
use crate::engine::point_to_point::pending::PendingOperation;
use crate::engine::schedules::plan::Members;
use crate::mpi::Mpi;
use crate::mpi::collective::shared::polling::CollectiveOwner;
use crate::mpi::communicator::{Comm, Traffic};
use crate::mpi::group::Group;
use crate::mpi::handle::Handle;
use crate::mpi::resilience::notice::Notice;
use platform::base::{ErrorClass, MpiError, Peer, Result};

impl<D: Device> Mpi<D> {
    /// Looks for members that have failed: in all communicators, after a failure or for a new one.
    pub(super) fn find_failed_members(&mut self) {
        self.find_members(&[]);
    }

    /// Looks for members among `agreed`, processes of whose failure this one may not have heard itself, and for those of
    /// whose failure it has.
    pub(super) fn find_members(&mut self, agreed: &[Peer]) {
        for comm in self.comms.handles() {
            let Ok(found) = self.comms.get(comm) else { continue };
            let (members, size) = (found.members(), found.members_shape().ranks);
            let known = &found.resilience.failed;
            let has_failed = |rank: &u32| {
                let peer = members.peer(*rank);
                agreed.contains(&peer) || self.engine.failure(peer).is_some()
            };
            let new: Vec<_> =
                (0..size).filter(|rank| has_failed(rank) && !known.contains(rank)).collect();
            if !new.is_empty() {
                self.members_failed(comm, &new);
            }
        }
    }

    /// The members `new` of `comm` have failed: its collectives end, and what waits for them.
    pub(in crate::mpi) fn members_failed(&mut self, comm: Handle, new: &[u32]) {
        let Ok(found) = self.comms.get_mut(comm) else { return };
        if let ([], [first, ..]) = (&found.resilience.failed[..], new) {
            found.resilience.why = self.engine.failure(found.members().peer(*first));
        }
        found.resilience.failed.extend(new);
        found.resilience.is_impaired = true;
        let (context, is_revoked) = (found.context, found.resilience.is_revoked);
        let spans_jobs = found.spans_jobs;
        if is_revoked {
            self.pass_revocation_on(comm);
        } else {
            let error = found.impairment();
            for traffic in [Traffic::Collective, Traffic::Persistent] {
                self.engine.close_context(context.for_traffic(traffic), &error);
            }
            self.fail_shared(comm, &error);
        }
        if spans_jobs {
            self.pass_failures_on(comm, new);
        }
        self.agreement_members_failed(context.bits(), new);
        self.window_members_failed(comm, new);
        // Receives from any source have another result now.
        self.engine.note_event();
    }

    /// Tells all members of a communicator of several jobs of failures: those of other jobs learn of an end by a
    /// connection only. A member that has failed too is found by this.
    fn pass_failures_on(&mut self, comm: Handle, new: &[u32]) {
        let Ok(found) = self.comms.get(comm) else { return };
        let (me, size, members) = (found.member(), found.members_shape().ranks, found.members());
        let context = found.context.bits();
        for other in (0..size).filter(|other| *other != me && !new.contains(other)) {
            for member in new.iter().copied() {
                let notice = Notice::Failed { context, member };
                self.send_notice(me, members.peer(other), &notice);
            }
        }
    }

    /// Another process has found that a member has failed. The word makes this process look for itself, by a
    /// connection: that fails unless the member lives, after all that the member has sent. The launcher tells
    /// of the processes of the own job.
    pub(super) fn member_may_have_failed(&mut self, comm: Handle, member: u32) {
        let Ok(found) = self.comms.get(comm) else { return };
        if member >= found.members_shape().ranks || found.resilience.failed.contains(&member) {
            return;
        }
        let peer = found.members().peer(member);
        self.connect_to_other_jobs([peer]);
    }

    /// Ends the calls in shared memory of a communicator.
    pub(super) fn fail_shared(&mut self, comm: Handle, error: &MpiError) {
        let Ok(found) = self.comms.get(comm) else { return };
        let context = found.context.for_traffic(Traffic::Persistent);
        let own = found.shared_collective;
        let is_of_comm = |owner| matches!(owner, CollectiveOwner::Operation { context: of, .. } if of == context);
        // What a process has published before it failed may be all that a call waits for.
        self.advance_shared();
        self.shared_collectives.fail(|id, owner| Some(id) == own || is_of_comm(owner), error);
        self.engine.note_event();
    }

    /// The failed members of a communicator, in the order in which this process has learned of them, or
    /// only those that it has acknowledged.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub(crate) fn failed_group(&mut self, comm: Handle, acknowledged: bool) -> Result<Arc<Group>> {
        self.find_failed_members();
        let found = self.comms.get(comm)?;
        let failed = &found.resilience.failed;
        let failed = if acknowledged { &failed[..found.resilience.acknowledged] } else { failed };
        let members = found.members();
        let peers: Vec<_> = failed.iter().map(|rank| members.peer(*rank)).collect();
        let group = Group::new(&peers, self.engine.me()).in_session(found.group.session());
        Ok(Arc::new(group))
    }

    /// Acknowledges the first failures of a communicator, `count` of them or all; the number of those
    /// that are acknowledged then.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub fn acknowledge(&mut self, comm: Handle, count: Option<usize>) -> Result<usize> {
        self.find_failed_members();
        let known = &mut self.comms.get_mut(comm)?.resilience;
        let all = known.failed.len();
        known.acknowledged = known.acknowledged.max(count.map_or(all, |count| count.min(all)));
        Ok(known.acknowledged)
    }

    /// Ends the receives that only processes that have failed could satisfy.
    #[cold]
    pub(in crate::mpi) fn end_lost_receives(&mut self) {
        let (comms, me) = (&self.comms, self.engine.me());
        self.engine.end_posted_receives(|pattern, has_failed| {
            let mut others = comms.senders(pattern).into_iter().filter(|peer| *peer != me);
            let first = others.next()?;
            (has_failed(first) && others.all(has_failed)).then_some(first)
        });
    }

    /// Whether a receive may wait for a failed process that has not been acknowledged.
    pub(in crate::mpi) fn is_receive_in_doubt(&self, operation: OperationId) -> bool {
        let Some(PendingOperation::Receive { pattern, .. }) = self.engine.pending(operation) else {
            return false;
        };
        let comm = self.comms.of_context(pattern.context);
        pattern.source.is_none() && comm.is_some_and(Comm::has_new_failures)
    }

    /// The error of a request that stays active, if its receive is in doubt.
    #[cold]
    pub(in crate::mpi) fn doubt(&self, operation: OperationId) -> Option<Box<MpiError>> {
        self.is_receive_in_doubt(operation).then(|| {
            ErrorClass::ProcFailedPending.error(
                "a process that may send the message to a receive from MPI_ANY_SOURCE has failed; the \
                 request stays active (MPIX_Comm_ack_failed lets it continue)",
            )
        })
    }

    /// Ends a blocking receive from any source that is in doubt.
    #[cold]
    pub(crate) fn end_in_doubt(&mut self, operation: OperationId) {
        if self.is_receive_in_doubt(operation) {
            let error = self.doubtful_source();
            self.engine.fail_receive(operation, error);
        }
    }

    /// The error of a receive or probe of any source, with the reason of a failure that this process has not
    /// acknowledged.
    fn doubtful_source(&self) -> Box<MpiError> {
        let new = |comm: &Comm| {
            let rank = *comm.resilience.failed.get(comm.resilience.acknowledged)?;
            self.engine.failure(comm.members().peer(rank))
        };
        let why = self
            .comms
            .iter()
            .find_map(new)
            .map_or(String::new(), |error| format!(": {}", error.why));
        ErrorClass::ProcFailed.error(format!(
            "a process that may send the message from MPI_ANY_SOURCE has failed (MPIX_Comm_ack_failed lets \
             receives go on without it){why}"
        ))
    }

    /// # Errors
    /// `Revoked` or `ProcFailed` if a probe of `source`, or of any source, may wait for ever.
    #[cold]
    pub(in crate::mpi) fn check_probe(&self, source: Option<u32>, comm: Handle) -> Result {
        let comm = self.comms.get(comm)?;
        comm.check_usable()?;
        match source {
            Some(rank) => self.engine.failure(comm.targets().peer(rank)).map_or(Ok(()), Err),
            None if comm.has_new_failures() => Err(self.doubtful_source()),
            None => Ok(()),
        }
    }
}

impl Comm {
    /// Whether members have failed that this process has not acknowledged.
    fn has_new_failures(&self) -> bool {
        self.resilience.acknowledged < self.resilience.failed.len()
    }
}
