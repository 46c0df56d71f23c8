//! Agreements on communicators, and what is made of their values: the flag of `MPIX_Comm_agree`, the
//! communicator of `MPIX_Comm_shrink`.
//!
//! The agreements of a communicator have numbers, in the order of the calls, which is the same at all
//! members. A process keeps those that it has decided, to answer members that have not; it drops old ones
//! ([`KEPT_DECISIONS`]).
//!
//! Flags in shared memory are looked for in each poll. They wait for no collective: their words in the
//! segment of the communicator are apart from its rounds.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::device::Device;
use crate::engine::memory::Memory;
use crate::engine::schedules::plan::Members;
use crate::mpi::Mpi;
use crate::mpi::attribute::Attributes;
use crate::mpi::communicator::host_segments::HostSegments;
use crate::mpi::communicator::{Comm, Context};
use crate::mpi::errhandler::Handler;
use crate::mpi::group::Group;
use crate::mpi::handle::Handle;
use crate::mpi::request::Activity;
use crate::mpi::resilience::agreement::{AgreementMessage, AgreementState, Value};
use crate::mpi::resilience::notice::Notice;
use crate::mpi::resilience::rank_bits::RankBits;
use crate::shared_memory::segment::PublishedFlag;
use platform::base::{ErrorClass, MpiError, Peer, Result};

/// The number of decided agreements of a communicator that a process keeps. By blocking calls, a process
/// is one agreement ahead of another at most; by nonblocking ones, as many as are in progress.
const KEPT_DECISIONS: u32 = 64;

/// The context and the number of an agreement.
pub(super) type AgreementKey = (u64, u32);

/// An agreement with its processes.
pub(super) struct RunningAgreement {
    agreement: AgreementState,
    members: Arc<dyn Members>,
    /// This process.
    me: u32,
    size: u32,
    /// The flags of the first members, which this process has seen in shared memory.
    seen: u32,
    flags: u32,
}

/// An agreement that a request or a call waits for.
#[derive(Debug)]
pub struct Consent {
    key: AgreementKey,
    use_of: ConsentUse,
}

/// What happens with the value.
#[derive(Debug)]
enum ConsentUse {
    /// The flag goes to this memory.
    Flag(Memory),
    /// The survivors get this communicator, which had the processes of the old one until then. This process
    /// has chosen a context and claimed a shared segment, in case it coordinates.
    Shrink { comm: Handle, old: OldComm, context: u64, claimed: Option<u32> },
    /// Nothing.
    Nothing,
}

/// What the communicator of the survivors takes from the old one, which may be freed meanwhile.
#[derive(Debug)]
struct OldComm {
    group: Arc<Group>,
    /// Of an intercommunicator.
    remote: Option<Arc<Group>>,
    /// The side of the local group among the members.
    side: usize,
    handler: Handler,
    /// Where it has shared segments, if not at the device.
    host_segments: Option<Arc<HostSegments>>,
}

impl OldComm {
    fn of(comm: &Comm) -> Self {
        Self {
            group: Arc::clone(&comm.group),
            remote: comm.remote().ok().cloned(),
            side: comm.side(),
            handler: comm.handler.clone(),
            host_segments: comm.host_segments.clone(),
        }
    }

    /// The communicator without the failed members.
    ///
    /// # Errors
    /// `ProcFailed` if no process of the remote group has survived.
    fn without(self, failed: &RankBits, context: Context, me: Peer) -> Result<Comm> {
        let Some(remote) = &self.remote else {
            let survivors = survivors(&self.group, 0, failed, me);
            return Comm::new(context, survivors, self.handler);
        };
        // Members are numbered from side 0 on.
        let (first, remote_first) = match self.side {
            0 => (0, self.group.size()),
            _ => (remote.size(), 0),
        };
        let local = survivors(&self.group, first, failed, me);
        let remote = survivors(remote, remote_first, failed, me);
        if remote.size() == 0 {
            let why = "all processes of the remote group have failed: no intercommunicator is left";
            return Err(ErrorClass::ProcFailed.error(why));
        }
        Comm::new_inter(context, (local, self.side), remote, self.handler)
    }
}

/// The processes of a group that have not failed; its first one is the member `first`.
fn survivors(group: &Group, first: u32, failed: &RankBits, me: Peer) -> Arc<Group> {
    let lives = |(member, _): &(u32, Peer)| !failed.contains(*member);
    let peers = (first..).zip(group.peers()).filter(lives).map(|(_, peer)| peer);
    Arc::new(Group::collect(peers, me).in_session(group.session()))
}

impl std::fmt::Debug for RunningAgreement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunningAgreement")
            .field("agreement", &self.agreement)
            .finish_non_exhaustive()
    }
}

impl<D: Device> Mpi<D> {
    /// Starts an agreement on the bitwise and of the flags, which `flag` has and gets.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub fn start_agree(&mut self, comm: Handle, flag: Memory) -> Result<Activity> {
        let mut bytes = [0; 4];
        flag.pack(0, &mut bytes);
        let value = Value { flag: u32::from_ne_bytes(bytes), ..Value::default() };
        let key = self.start_consent(comm, value, true)?;
        Ok(Activity::Consent(Box::new(Consent { key, use_of: ConsentUse::Flag(flag) })))
    }

    /// Starts an agreement whose value does not matter: all members that live have called this.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub(crate) fn start_rendezvous(&mut self, comm: Handle) -> Result<Activity> {
        let key = self.start_consent(comm, Value::default(), true)?;
        Ok(Activity::Consent(Box::new(Consent { key, use_of: ConsentUse::Nothing })))
    }

    /// Starts to create a communicator of the members that survive. Its handle is valid once the activity
    /// has completed without an error; an error frees it.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator, `NoMem` without a free handle.
    pub fn shrink(&mut self, comm: Handle) -> Result<(Handle, Activity)> {
        let old = OldComm::of(self.comms.get(comm)?);
        let new = self.comm_like(comm, Attributes::default())?;
        self.comms.get_mut(new)?.topology = None;
        let context = self.comms.choose_context().bits();
        let claimed = self.claim_for_survivors(comm)?;
        let value = Value { context, segment: claimed, ..Value::default() };
        let key = self.start_consent(comm, value, false)?;
        let use_of = ConsentUse::Shrink { comm: new, old, context, claimed };
        Ok((new, Activity::Consent(Box::new(Consent { key, use_of }))))
    }

    /// A shared segment for the communicator of the survivors, if this process is the first of those that it
    /// knows.
    fn claim_for_survivors(&mut self, comm: Handle) -> Result<Option<u32>> {
        let on = self.comms.get(comm)?;
        let failed = &on.resilience.failed;
        let is_first = (0..on.rank).all(|rank| failed.contains(&rank));
        let size = if on.is_inter() { 0 } else { on.size() - failed.len() as u32 };
        Ok(if is_first { self.claim_segment(Some(comm), size) } else { None })
    }

    /// Starts an agreement with this value, to which it adds what this process knows of failures; by flags in
    /// shared memory if the flag is the whole value.
    fn start_consent(
        &mut self, comm: Handle, value: Value, is_flag_only: bool,
    ) -> Result<AgreementKey> {
        self.find_failed_members();
        let found = self.comms.get_mut(comm)?;
        found.resilience.agreements = found.resilience.agreements.wrapping_add(1);
        let key = (found.context.bits(), found.resilience.agreements);
        let has_memory = found.shared_collective.is_some();
        let known = &found.resilience;
        let (failed, flag) = (known.failed.iter().copied().collect::<RankBits>(), value.flag);
        let acknowledged = known.failed[..known.acknowledged].iter().copied().collect();
        let value = Value { failed, acknowledged, ..value };
        self.drop_decisions(key);
        let publishes = is_flag_only && has_memory && value.failed.is_empty();
        if let Some(running) = self.agreement_at(key) {
            if publishes && running.agreement.may_publish() {
                running.agreement.start_published(value);
                self.publish_flag(key, flag);
            } else {
                running.agreement.start(value, has_memory);
                self.send_agreement(key);
            }
        }
        if self.comms.processes.has_guests() {
            let on = self.comms.get(comm)?;
            let (size, members) = (on.members_shape().ranks, on.members());
            self.connect_to_other_jobs((0..size).map(|rank| members.peer(rank)));
        }
        // A member may have sent its vote long ago.
        self.engine.note_long_start();
        Ok(key)
    }

    /// Publishes the flag of this process, and wakes the others if it is the last one.
    fn publish_flag(&mut self, key: AgreementKey, flag: u32) {
        let collective = self.comms.of_context(key.0).and_then(|comm| comm.shared_collective);
        let Some(id) = collective else { return };
        if let Some(segment) = self.shared_collectives.segment(id) {
            segment.publish_flag(key.1, flag);
        }
        self.resilience.by_flags.push(key);
        self.look_for_flags();
        if self.decision(key).is_some() {
            self.shared_collectives.wake_others(id, &mut self.engine);
        }
    }

    /// Looks for the flags of all members in the agreements that wait for them.
    pub(in crate::mpi) fn look_for_flags(&mut self) {
        let mut keys = std::mem::take(&mut self.resilience.by_flags);
        keys.retain(|key| self.awaits_flags(*key));
        // Nothing was added meanwhile.
        self.resilience.by_flags = keys;
    }

    /// Looks for the flags of all members; whether some are missing.
    fn awaits_flags(&mut self, key: AgreementKey) -> bool {
        let Some(comm) = self.comms.of_context(key.0) else { return self.give_up_flags(key) };
        let segment = comm.shared_collective.and_then(|id| self.shared_collectives.segment(id));
        let (Some(segment), Some(running)) = (segment, self.resilience.agreements.get_mut(&key))
        else {
            return self.give_up_flags(key);
        };
        if !running.agreement.awaits_flags() {
            return false;
        }
        while running.seen < running.size {
            match segment.flag(running.seen as usize, key.1) {
                PublishedFlag::Nothing => return true,
                PublishedFlag::Flag(flag) => running.flags &= flag,
                PublishedFlag::Overwritten => return self.give_up_flags(key),
            }
            running.seen += 1;
        }
        running.agreement.all_published(running.flags);
        self.send_agreement(key);
        false
    }

    /// The communicator was freed, or the others go on without this process: it votes. No flags are awaited.
    #[cold]
    fn give_up_flags(&mut self, key: AgreementKey) -> bool {
        if let Some(running) = self.resilience.agreements.get_mut(&key) {
            running.agreement.give_up_flags();
        }
        self.send_agreement(key);
        false
    }

    /// Drops the decided agreements of a communicator that are long before `key`.
    fn drop_decisions(&mut self, (context, instance): AgreementKey) {
        let old = (context, 0)..(context, instance.saturating_sub(KEPT_DECISIONS));
        let all = &mut self.resilience.agreements;
        let is_decided = |running: &RunningAgreement| running.agreement.decision().is_some();
        let decided = all.range(old).filter(|(_, running)| is_decided(running));
        let decided: Vec<_> = decided.map(|(key, _)| *key).collect();
        decided.into_iter().for_each(|key| drop(all.remove(&key)));
    }

    /// The agreement with this key, made now if it is new; `None` without such a communicator.
    pub(super) fn agreement_at(&mut self, key: AgreementKey) -> Option<&mut RunningAgreement> {
        if !self.resilience.agreements.contains_key(&key) {
            let comm = self.comms.of_context(key.0)?;
            let (me, size, members) = (comm.member(), comm.members_shape().ranks, comm.members());
            let failed = comm.resilience.failed.iter().copied().collect();
            // A late word about an agreement that all members have decided.
            if key.1 < comm.resilience.agreements {
                return None;
            }
            let running = RunningAgreement {
                agreement: AgreementState::new(me, size, failed),
                members,
                me,
                size,
                seen: 0,
                flags: u32::MAX,
            };
            self.resilience.agreements.insert(key, running);
        }
        self.resilience.agreements.get_mut(&key)
    }

    /// A message of an agreement has arrived from the member `from`.
    pub(super) fn agreement_message(
        &mut self, key: AgreementKey, from: u32, message: AgreementMessage,
    ) {
        let Some(running) = self.agreement_at(key) else { return };
        if from < running.size {
            running.agreement.arrived(from, message);
        }
        self.send_agreement(key);
    }

    /// Members of the communicator with this context have failed.
    pub(super) fn agreement_members_failed(&mut self, context: u64, failed: &[u32]) {
        // A flag that a member published before it failed counts.
        self.look_for_flags();
        let range = (context, 0)..=(context, u32::MAX);
        let keys: Vec<_> = self.resilience.agreements.range(range).map(|(key, _)| *key).collect();
        for key in keys {
            if let Some(running) = self.resilience.agreements.get_mut(&key) {
                failed.iter().for_each(|rank| running.agreement.failed(*rank));
            }
            self.send_agreement(key);
        }
    }

    /// Tells the agreements of communicators that have been freed which of their members have failed: a
    /// member that has not decided may coordinate now, and wait for the decision of this process.
    pub(super) fn tell_agreements_of_freed_comms(&mut self) {
        let (engine, comms) = (&self.engine, &self.comms);
        let failed_of = |(key, running): (&AgreementKey, &RunningAgreement)| {
            let has_failed = |rank: &u32| engine.failure(running.members.peer(*rank)).is_some();
            (key.0, (0..running.size).filter(has_failed).collect())
        };
        let all = self.resilience.agreements.iter();
        let freed = all.filter(|((context, _), _)| comms.of_context(*context).is_none());
        let failed: BTreeMap<u64, Vec<u32>> = freed.map(failed_of).collect();
        for (context, failed) in failed.into_iter().filter(|(_, failed)| !failed.is_empty()) {
            self.agreement_members_failed(context, &failed);
        }
    }

    /// Sends what an agreement by messages has to send, and expects those of the others.
    fn send_agreement(&mut self, key: AgreementKey) {
        self.engine.expect_notices();
        let Some(running) = self.resilience.agreements.get_mut(&key) else { return };
        let (me, members) = (running.me, Arc::clone(&running.members));
        let outgoing = running.agreement.take_outgoing();
        for (to, message) in outgoing {
            let notice = Notice::Agreement { context: key.0, instance: key.1, message };
            self.send_notice(me, members.peer(to), &notice);
        }
        self.engine.note_event();
    }

    fn decision(&self, key: AgreementKey) -> Option<&Value> {
        self.resilience.agreements.get(&key)?.agreement.decision()
    }

    pub(in crate::mpi) fn has_consent(&self, consent: &Consent) -> bool {
        self.decision(consent.key).is_some()
    }

    /// Uses the value of an agreement; the error of the operation.
    pub(in crate::mpi) fn end_consent(&mut self, consent: Consent) -> Option<Box<MpiError>> {
        let value = self.decision(consent.key)?.clone();
        self.learn_failures(consent.key.0, &value.failed);
        match consent.use_of {
            ConsentUse::Nothing => None,
            ConsentUse::Flag(mut memory) => {
                memory.unpack(0, &value.flag.to_ne_bytes());
                let is_news = !value.failed.is_subset(&value.acknowledged);
                is_news.then(|| unacknowledged(&value))
            }
            ConsentUse::Shrink { comm, old, context, claimed } => {
                let claimed = claimed.filter(|_| value.context != context);
                if let Some(unused) = claimed {
                    self.release_segment(old.host_segments.as_deref(), unused);
                }
                self.end_shrink(comm, old, &value).err()
            }
        }
    }

    /// Failures that others knew of count here from the decision on, so that an acknowledgement that
    /// follows covers them: on all communicators, also those of windows and files.
    fn learn_failures(&mut self, context: u64, failed: &RankBits) {
        let Some(comm) = self.comms.handle_of_context(context) else { return };
        let Ok(found) = self.comms.get(comm) else { return };
        let new = failed.iter().filter(|rank| !found.resilience.failed.contains(rank));
        let new: Vec<_> = new.collect();
        if !new.is_empty() {
            let members = found.members();
            let peers: Vec<_> = new.iter().map(|rank| members.peer(*rank)).collect();
            self.find_members(&peers);
        }
    }

    fn end_shrink(&mut self, comm: Handle, old: OldComm, value: &Value) -> Result {
        let context = Context::from_bits(value.context);
        let host_segments = old.host_segments.clone();
        match old.without(&value.failed, context, self.engine.me()) {
            Ok(mut made) => {
                made.host_segments = host_segments;
                self.comms.replace(comm, made)?;
                self.attach_segment(comm, value.segment)
            }
            Err(error) => {
                self.comms.remove(comm)?;
                Err(error)
            }
        }
    }
}

fn unacknowledged(value: &Value) -> Box<MpiError> {
    let new: Vec<_> =
        value.failed.iter().filter(|rank| !value.acknowledged.contains(*rank)).collect();
    ErrorClass::ProcFailed.error(format!(
        "ranks {new:?} of the communicator have failed, which not all members have acknowledged; the \
         flag is agreed"
    ))
}
