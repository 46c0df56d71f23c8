//! Creation of communicators from communicators, and their end (MPI 5.0 §7.4).
//!
//! Rank 0 of a new communicator chooses its context and claims its shared segment (`segment`). A
//! duplicate needs only these bytes ([`ContextMessage`]):
//!
//! ```text
//! duplicate ──> a communicator with a handle ──broadcast of the context──> usable
//! ```
//!
//! In a split, all ranks of the old communicator exchange color, key, and the context and segment
//! that they propose; the new communicator takes those of its own rank 0. Splits and merges of
//! intercommunicators use the same exchange.
//!
//! ```text
//! split ──allgather of (color, key, context and segment)──> a communicator, or none
//! ```
//!
//! Where only the members call, the context travels down a binomial tree, in messages of their own
//! kind of traffic (`Traffic::Creation`) with the application's tag:
//!
//! ```text
//! create_by_members ──> a communicator with a handle ──context from the tree──> usable
//! ```

use std::ops::Range;
use std::sync::Arc;

use crate::device::Device;
use crate::engine::memory::Memory;
use crate::engine::schedules::plan::{Launch, Members, RunId, RunPlan};
use crate::mpi::Mpi;
use crate::mpi::attribute::Attributes;
use crate::mpi::collective::algorithms::{Bcast, Collective, UniformBlocks};
use crate::mpi::communicator::host_segments::HostSegments;
use crate::mpi::communicator::segment::ContextMessage;
use crate::mpi::communicator::{COMM_NULL, Comm, Traffic};
use crate::mpi::errhandler::Handler;
use crate::mpi::group::Group;
use crate::mpi::handle::Handle;
use crate::mpi::point_to_point::buffer::{BsendBuffer, BufferOwner};
use crate::mpi::point_to_point::check_tag;
use crate::mpi::request::Activity;
use crate::mpi::request::status::Status;
use crate::offload::{Buffer, Schedule, ScheduleBuilder, StepAction, Wait};
use platform::base::{ErrorClass, Result};
use platform::diagnosis::wait_report::WaitReport;

const SPLIT_RECORD_BYTES: usize = 8 + ContextMessage::BYTES;

/// The contribution of a rank to the allgather.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SplitRecord {
    /// Ranks of one color get a communicator; a negative one gets none.
    color: i32,
    /// The order in the new communicator.
    key: i32,
    /// The context and segment of the new communicator, if this rank is its rank 0.
    grant: ContextMessage,
}

impl SplitRecord {
    fn emit(self) -> [u8; SPLIT_RECORD_BYTES] {
        let mut bytes = [0; SPLIT_RECORD_BYTES];
        bytes[..4].copy_from_slice(&self.color.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.key.to_le_bytes());
        bytes[8..].copy_from_slice(&self.grant.emit());
        bytes
    }

    fn parse(bytes: &[u8; SPLIT_RECORD_BYTES]) -> Self {
        let [color, key] = [0, 4].map(|at| {
            let word: &[u8; 4] = bytes[at..].first_chunk().expect("20 bytes are five words");
            i32::from_le_bytes(*word)
        });
        let grant = ContextMessage::parse(bytes[8..].first_chunk().expect("12 bytes remain"));
        Self { color, key, grant }
    }
}

/// A split in progress.
pub struct Split {
    run: RunId,
    members: Arc<dyn Members>,
    /// The members on the side of this process and on the other side.
    sides: [Range<u32>; 2],
    handler: Handler,
    session: Option<Handle>,
    rule: SplitRule,
    /// The shared segment that this process has claimed in case it becomes rank 0.
    claimed: Option<u32>,
    /// Where segments are claimed, if not at the device.
    host_segments: Option<Arc<HostSegments>>,
}

/// The members of the new communicator of a [`Split`].
enum SplitRule {
    /// The members with this color.
    Color(Option<i32>),
    /// This group of an intracommunicator, if it contains this process, and the old rank of its
    /// first process.
    Group(Arc<Group>, u32),
    /// All members in one group, those of color [`LOW`] first.
    Merge,
}

/// The color of the first group in a merge.
const LOW: i32 = 0;
/// The color of the last group in a merge.
const HIGH: i32 = 1;

impl<D: Device> Mpi<D> {
    /// Starts a duplicate of `comm` with these attributes (`MPI_Comm_idup`, §7.4.2). Its handle is
    /// valid once the activity has completed without an error; an error frees it.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator, `NoMem` without a free handle.
    pub fn duplicate(
        &mut self, comm: Handle, attributes: Attributes,
    ) -> Result<(Handle, Activity)> {
        let new = self.comm_like(comm, attributes)?;
        let made = self.comms.get(new)?;
        let (context, size) = (made.context, made.size());
        let claims = made.rank == 0 && !made.is_inter();
        let segment = if claims { self.claim_segment(Some(comm), size) } else { None };
        let bcast = Collective::Bcast(Bcast { bytes: ContextMessage::BYTES, root: 0 });
        let run =
            self.launch_on(comm, bcast, vec![ContextMessage { context, segment }.to_memory()])?;
        Ok((new, Activity::Creation { run, comm: new }))
    }

    /// A communicator like `comm`, with these attributes and a context that only this process knows.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator, `NoMem` without a free handle.
    pub(crate) fn comm_like(&mut self, comm: Handle, attributes: Attributes) -> Result<Handle> {
        let context = self.comms.choose_context();
        let old = self.comms.get(comm)?;
        let mut new = old.with_context(context);
        new.attributes = attributes;
        new.topology = old.topology.clone();
        self.comms.insert(new)
    }

    /// Completes an [`Activity::Creation`]: the communicator gets its context and segment, or an
    /// error frees it. The segment then stays claimed, because other ranks may not have failed.
    pub(crate) fn end_creation(&mut self, run: RunId, comm: Handle) -> Result {
        let Some(end) = self.engine.take_run_end(run) else { return Ok(()) };
        if let Some(error) = end.error {
            self.comms.remove(comm)?;
            return Err(error);
        }
        let grant = ContextMessage::from_memory(&end.buffers[0]);
        let made = self.comms.get_mut(comm)?;
        made.context = grant.context;
        // Known failures have closed the context that it had until now.
        let failed = std::mem::take(&mut made.resilience).failed;
        self.comms.note_context();
        self.attach_segment(comm, grant.segment)?;
        if !failed.is_empty() {
            self.members_failed(comm, &failed);
        }
        Ok(())
    }

    /// Starts a split: one communicator for each color, in the order of the keys and then of the
    /// old ranks; `MPI_COMM_NULL` without a color. On an intercommunicator both groups are split; a
    /// color that only one group has gets `MPI_COMM_NULL` (§7.4.2).
    ///
    /// # Errors
    /// `Comm` if there is no such communicator, `Arg` for a negative color.
    pub fn split(&mut self, comm: Handle, color: Option<i32>, key: i32) -> Result<Split> {
        if let Some(color) = color.filter(|color| *color < 0) {
            let why = format!("color {color} is negative: expected 0 or more, or MPI_UNDEFINED");
            return Err(ErrorClass::Arg.error(why));
        }
        self.start_split(comm, color.unwrap_or(-1), key, SplitRule::Color(color))
    }

    /// Starts the creation of a communicator for a group of ranks of `comm`; all ranks of `comm`
    /// call. On an intercommunicator each side passes a subset of its own group; the result is
    /// `MPI_COMM_NULL` if one of these is empty (`MPI_Comm_create`, §7.4.2).
    ///
    /// # Errors
    /// `Comm` if there is no such communicator, `Group` if the group is not a subset of its group.
    pub fn create(&mut self, comm: Handle, group: Arc<Group>) -> Result<Split> {
        let old = self.comms.get(comm)?;
        check_subset(&group, &old.group)?;
        if old.is_inter() {
            let color = group.rank().map(|_| 0);
            let key = group.rank().unwrap_or(0) as i32;
            return self.start_split(comm, color.unwrap_or(-1), key, SplitRule::Color(color));
        }
        let first = group.peers().next().and_then(|peer| old.group.rank_of(peer));
        self.start_split(comm, 0, 0, SplitRule::Group(group, first.unwrap_or(0)))
    }

    /// Starts a merge of both groups of an intercommunicator: the group that passes `high` is last;
    /// if both pass the same value, side 0 is first (§7.6.2).
    ///
    /// # Errors
    /// `Comm` if there is no such intercommunicator.
    pub fn merge(&mut self, comm: Handle, high: bool) -> Result<Split> {
        self.comms.get(comm)?.remote()?;
        self.start_split(comm, if high { HIGH } else { LOW }, 0, SplitRule::Merge)
    }

    fn start_split(
        &mut self, comm: Handle, color: i32, key: i32, rule: SplitRule,
    ) -> Result<Split> {
        let context = self.comms.choose_context();
        let claimed = self.claim_for_split(comm, color, &rule)?;
        let old = self.comms.get(comm)?;
        let (members, sides, handler) = (old.members(), old.sides(), old.handler.clone());
        let (session, host_segments) = (old.group.session(), old.host_segments.clone());
        let ranks = old.members_shape().ranks as usize;
        let allgather =
            Collective::Allgather(UniformBlocks { block: SPLIT_RECORD_BYTES, in_place: false });
        let grant = ContextMessage { context, segment: claimed };
        let own = Memory::owned(SplitRecord { color, key, grant }.emit());
        let all = Memory::owned(vec![0; SPLIT_RECORD_BYTES * ranks]);
        let run = self.launch_on(comm, allgather, vec![own, all])?;
        Ok(Split { run, members, sides, handler, session, rule, claimed, host_segments })
    }

    /// Claims a shared segment, if this rank may become rank 0 of an intracommunicator of several
    /// ranks.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    fn claim_for_split(
        &mut self, comm: Handle, color: i32, rule: &SplitRule,
    ) -> Result<Option<u32>> {
        let old = self.comms.get(comm)?;
        let size = match rule {
            SplitRule::Color(_) if color < 0 || old.is_inter() => 0,
            SplitRule::Color(_) => old.size(),
            SplitRule::Group(group, _) if group.rank() == Some(0) => group.size(),
            SplitRule::Merge if old.rank == 0 => old.members_shape().ranks,
            SplitRule::Group(..) | SplitRule::Merge => 0,
        };
        Ok(self.claim_segment(Some(comm), size))
    }

    /// The new communicator once its split has completed; `Some(None)` if it is `MPI_COMM_NULL`,
    /// `None` before completion.
    ///
    /// # Errors
    /// Errors of messages, `Arg` if the values of `high` differ within a group, `NoMem` without a
    /// free handle.
    pub fn end_split(&mut self, split: &Split) -> Result<Option<Option<Handle>>> {
        let Some(end) = self.engine.take_run_end(split.run) else { return Ok(None) };
        if let Some(error) = end.error {
            // The segment stays claimed: ranks that did not fail may use it.
            return Err(error);
        }
        let bytes = end.buffers[1].packed();
        let (records, _) = bytes.as_chunks();
        let records: Vec<SplitRecord> = records.iter().map(SplitRecord::parse).collect();
        let made = self.new_comm(split, &records);
        let (granted, is_granted_here) = match &made {
            Ok(Some((comm, grant))) if comm.size() > 1 && !comm.is_inter() => {
                (grant.segment, comm.rank == 0)
            }
            Ok(_) | Err(_) => (None, false),
        };
        // Numbers do not tell: each node has its own segments.
        if let Some(own) = split.claimed.filter(|_| !is_granted_here) {
            self.release_segment(split.host_segments.as_deref(), own);
        }
        match made? {
            Some((mut comm, _)) => {
                comm.host_segments = split.host_segments.clone().filter(|_| !comm.is_inter());
                self.insert_comm(comm, granted).map(|comm| Some(Some(comm)))
            }
            None => Ok(Some(None)),
        }
    }

    /// The communicator of this process in a split with these records, and its context and segment.
    ///
    /// # Errors
    /// As [`Mpi::end_split`].
    fn new_comm(
        &self, split: &Split, records: &[SplitRecord],
    ) -> Result<Option<(Comm, ContextMessage)>> {
        let me = self.engine.me();
        let group = |ranks: &[u32]| {
            let peers: Vec<_> = ranks.iter().map(|rank| split.members.peer(*rank)).collect();
            Arc::new(Group::new(&peers, me).in_session(split.session))
        };
        let grant = |rank: u32| records[rank as usize].grant;
        let intra = |first: u32, group: Arc<Group>| {
            let grant = grant(first);
            let comm = Comm::new(grant.context, group, split.handler.clone())?;
            Ok(Some((comm, grant)))
        };
        match &split.rule {
            SplitRule::Group(group, first) if group.rank().is_some() => {
                intra(*first, Arc::clone(group))
            }
            SplitRule::Color(None) | SplitRule::Group(..) => Ok(None),
            SplitRule::Color(Some(color)) => {
                let [local, remote] =
                    split.sides.clone().map(|side| ranks_of_color(records, side, *color));
                match (&local[..], &remote[..]) {
                    (local, []) if split.sides[1].is_empty() => intra(local[0], group(local)),
                    (_, []) => Ok(None),
                    // The context of the lower one of the two first ranks.
                    (local, remote) => {
                        let grant = grant(local[0].min(remote[0]));
                        let (local, remote) = (group(local), group(remote));
                        let handler = split.handler.clone();
                        let local = self.comms.sided(local, &remote);
                        let comm = Comm::new_inter(grant.context, local, remote, handler)?;
                        Ok(Some((comm, grant)))
                    }
                }
            }
            SplitRule::Merge => {
                let ranks = merge_order(records, &split.sides)?;
                intra(ranks[0], group(&ranks))
            }
        }
    }

    /// Starts the creation of a communicator for a group of ranks of `comm`, where only these ranks
    /// call (`MPI_Comm_create_group`, §7.4.2). As for [`Mpi::duplicate`], its handle is valid on
    /// completion; it is `MPI_COMM_NULL` for a process that is not in the group.
    ///
    /// # Errors
    /// `Comm` if there is no such intracommunicator, `Group` if the group is not a subset of its
    /// group, `Tag` for a negative tag.
    pub fn create_by_members(
        &mut self, comm: Handle, group: Arc<Group>, tag: i32,
    ) -> Result<(Handle, Activity)> {
        check_tag(tag)?;
        let context = self.comms.choose_context();
        let old = self.comms.get(comm)?;
        old.check_intra("MPI_Comm_create_group")?;
        check_subset(&group, &old.group)?;
        if group.rank().is_none() {
            return Ok((COMM_NULL, Activity::Complete(Status::EMPTY)));
        }
        let mut new = Comm::new(context, Arc::clone(&group), old.handler.clone())?;
        new.host_segments = old.host_segments.clone();
        let ranks = group.ranks_within(&old.group);
        let claims = new.rank == 0;
        let segment = if claims { self.claim_segment(Some(comm), group.size()) } else { None };
        let old = self.comms.get(comm)?;
        let run = self.engine.launch(Launch {
            plan: RunPlan::moving(
                binomial_bcast(&ranks, new.rank, tag as u16, ContextMessage::BYTES),
                vec![ContextMessage { context, segment }.to_memory()],
            ),
            members: Arc::clone(&old.group) as Arc<dyn Members>,
            rank: old.rank,
            context: old.context.for_traffic(Traffic::Creation),
            // Sequence and label together are the tag of the messages: here the application's.
            sequence: tag as u32 >> 16,
        });
        let comm = self.comms.insert(new)?;
        Ok((comm, Activity::Creation { run, comm }))
    }

    /// Frees the handle of a communicator; operations in progress on it complete (§7.4.3). The
    /// caller has deleted its attributes.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator, or if it is predefined.
    pub fn free_comm(&mut self, comm: Handle) -> Result {
        let mut comm = self.comms.remove(comm)?;
        self.release_pending(&mut comm.bsend_buffer);
        self.close_shared(comm.shared_collective);
        comm.idle_pointer.take().map_or(Ok(()), |idle| self.free_idle_pointer(*idle))
    }

    /// Detaches the pending messages of a buffer, which the engine completes.
    pub(crate) fn release_pending(&mut self, buffering: &mut BsendBuffer) {
        buffering.remove_sent(|operation| {
            self.engine.release(operation);
            true
        });
    }

    /// Whether all operations of a communicator that have a request or are in its buffer have
    /// completed.
    pub(crate) fn is_quiescent(&self, comm: Handle) -> bool {
        self.has_flushed(BufferOwner::Comm(comm)) && self.are_complete(comm)
    }

    /// Report on the call `function`, which waits for a split.
    pub(crate) fn blocked_split(&self, function: &str, split: &Split) -> WaitReport {
        self.blocked(function, [&Activity::Run(split.run)])
    }

    /// Starts a collective operation among all members, which is part of a creation.
    pub(crate) fn launch_on(
        &mut self, comm: Handle, operation: Collective, buffers: Vec<Memory>,
    ) -> Result<RunId> {
        let on = self.comms.get(comm)?;
        let by = self.selection.across_jobs(on.spans_jobs);
        let schedule = match &on.nodes {
            Some(nodes) => operation.schedule(&by, &**nodes, on.rank),
            None => operation.schedule(&by, on.members_shape(), on.member()),
        };
        self.launch_run(comm, RunPlan::moving(schedule, buffers))
    }
}

/// The schedule of a rank that receives user buffer 1 from `peer` and sends user buffer 0 there, each if it
/// has a length; both messages have this label.
pub(crate) fn pairwise_exchange(
    peer: u32, label: u16, send: Option<usize>, receive: Option<usize>,
) -> Schedule {
    let mut plan = ScheduleBuilder::new();
    if let Some(len) = receive {
        let region = Buffer::User(1).region(0, len);
        plan.push(StepAction::Receive { peer, region, label }, 1, Wait::All, &[]);
    }
    if let Some(len) = send {
        let region = Buffer::User(0).region(0, len);
        plan.push(StepAction::Send { peer, region, label }, 1, Wait::All, &[]);
    }
    plan.finish()
}

/// The schedule of the rank `ranks[own]` in a binomial-tree broadcast of user buffer 0, of `len`
/// bytes, from the first rank; all messages have this label. The parent of an index is the index
/// without its highest bit, so the depth is the number of bits.
pub(crate) fn binomial_bcast(ranks: &[u32], own: u32, label: u16, len: usize) -> Schedule {
    let mut plan = ScheduleBuilder::new();
    let region = Buffer::User(0).region(0, len);
    let (depth, highest) = (own.count_ones(), own.checked_ilog2());
    let received = highest.map(|bit| {
        let peer = ranks[(own - (1 << bit)) as usize];
        plan.push(StepAction::Receive { peer, region, label }, depth, Wait::All, &[])
    });
    for bit in highest.map_or(0, |bit| bit + 1).. {
        let Some(&peer) = ranks.get(own as usize + (1_usize << bit)) else { break };
        let send = StepAction::Send { peer, region, label };
        plan.push(send, depth + 1, Wait::All, received.as_slice());
    }
    plan.finish()
}

/// # Errors
/// `Group` if a process of `group` is not in `all`.
fn check_subset(group: &Group, all: &Group) -> Result {
    if group.is_within(all) {
        return Ok(());
    }
    let outside = (0..).zip(group.peers()).find(|(_, peer)| all.rank_of(*peer).is_none());
    let rank = outside.map_or(0, |(rank, _): (u32, _)| rank);
    let why = format!("rank {rank} of the group is not a process of the communicator's group");
    Err(ErrorClass::Group.error(why))
}

/// The ranks of a side with this color, in the order of their keys and then of the ranks.
fn ranks_of_color(records: &[SplitRecord], side: Range<u32>, color: i32) -> Vec<u32> {
    let mut ranks: Vec<u32> = side.filter(|rank| records[*rank as usize].color == color).collect();
    ranks.sort_by_key(|rank| records[*rank as usize].key);
    ranks
}

/// All ranks of both sides, in the order of a merge.
///
/// # Errors
/// `Arg` if the ranks of a side have different colors.
fn merge_order(records: &[SplitRecord], sides: &[Range<u32>; 2]) -> Result<Vec<u32>> {
    let color = |rank: u32| records[rank as usize].color;
    for side in sides {
        if let Some(rank) = side.clone().find(|rank| color(*rank) != color(side.start)) {
            let rank = rank - side.start;
            let why = format!(
                "rank {rank} of a group passed another value of high than rank 0 of that group: \
                 expected one value in each group"
            );
            return Err(ErrorClass::Arg.error(why));
        }
    }
    let mut ranks: Vec<u32> = (0..records.len() as u32).collect();
    ranks.sort_by_key(|rank| color(*rank));
    Ok(ranks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::communicator::Context;

    fn grant() -> ContextMessage {
        ContextMessage { context: Context::new(u32::MAX >> 2, u32::MAX), segment: Some(77) }
    }

    #[test]
    fn a_record_reads_back() {
        let record = SplitRecord { color: -1, key: i32::MIN, grant: grant() };
        assert_eq!(SplitRecord::parse(&record.emit()), record);
    }

    #[test]
    fn a_color_is_ordered_by_key_then_rank() {
        let records = [(1, 5), (2, 0), (1, -5), (-1, 0), (1, 5)].map(|(color, key)| SplitRecord {
            color,
            key,
            grant: grant(),
        });
        assert_eq!(ranks_of_color(&records, 0..5, 1), [2, 0, 4]);
        assert_eq!(ranks_of_color(&records, 0..5, 2), [1]);
        assert_eq!(ranks_of_color(&records, 3..5, 1), [4]);
    }

    #[test]
    fn the_high_group_comes_last_and_side_0_first_if_both_are_alike() {
        let merge = |colors: [i32; 5], own: usize| {
            let records = colors.map(|color| SplitRecord { color, key: 0, grant: grant() });
            let mut sides = [0..2, 2..5];
            sides.rotate_left(own);
            merge_order(&records, &sides)
        };
        for own in 0..2 {
            assert_eq!(merge([LOW, LOW, HIGH, HIGH, HIGH], own).unwrap(), [0, 1, 2, 3, 4]);
            assert_eq!(merge([HIGH, HIGH, LOW, LOW, LOW], own).unwrap(), [2, 3, 4, 0, 1]);
            assert_eq!(merge([HIGH; 5], own).unwrap(), [0, 1, 2, 3, 4]);
            assert_eq!(merge([LOW; 5], own).unwrap(), [0, 1, 2, 3, 4]);
            let error = merge([LOW, LOW, HIGH, LOW, HIGH], own).unwrap_err();
            assert_eq!(error.code.0, ErrorClass::Arg as i32);
        }
    }

    #[test]
    fn the_tree_reaches_every_rank_once_and_from_one_that_sends_to_it() {
        for size in 1..40 {
            let ranks: Vec<u32> = (0..size).map(|rank| 100 - 2 * rank).collect();
            let mut edges = Vec::new();
            let mut receives = Vec::new();
            for (own, rank) in (0..).zip(&ranks) {
                for step in binomial_bcast(&ranks, own, 7, 12).steps() {
                    match step.action {
                        StepAction::Send { peer, .. } => edges.push((*rank, peer)),
                        StepAction::Receive { peer, .. } => receives.push((peer, *rank)),
                        _ => panic!("only messages were expected"),
                    }
                }
            }
            edges.sort_unstable();
            receives.sort_unstable();
            assert_eq!(edges, receives);
            let mut reached: Vec<u32> = edges.iter().map(|(_, to)| *to).collect();
            reached.sort_unstable();
            reached.reverse();
            assert_eq!(reached, ranks[1..]);
        }
    }
}
