//! New communicators from old ones, and the end of them (MPI 5.0 §7.4).
//!
//! Whoever is rank 0 of a new communicator chooses its context and claims its room (`segment`).
//! Duplicates need these few bytes from there:
//!
//! ```text
//! duplicate ──> a communicator with a handle ──grant by broadcast──> usable
//! ```
//!
//! For a split every rank of the old communicator tells all others what it wants and which context
//! and room it would choose; the new communicator takes those of its own rank 0. That also makes
//! intercommunicators from intercommunicators, and merges them.
//!
//! ```text
//! split ──allgather of (color, key, grant)──> a communicator, or none
//! ```
//!
//! Where only the members call, the grant is passed down a binomial tree, as messages of their
//! own kind of traffic (`Traffic::Creation`) with the application's tag:
//!
//! ```text
//! create_by_members ──> a communicator with a handle ──grant from the tree──> usable
//! ```

use std::ops::Range;
use std::sync::Arc;

use crate::device::Device;
use crate::engine::memory::Memory;
use crate::engine::schedules::run::{Launch, Members, RunId, RunPlan};
use crate::mpi::Mpi;
use crate::mpi::attribute::Attributes;
use crate::mpi::collective::algorithms::{Bcast, Collective, UniformBlocks};
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

/// Bytes of a [`SplitRecord`] on its way.
const SPLIT_RECORD_BYTES: usize = 8 + ContextMessage::BYTES;

/// What a rank of the old communicator tells the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SplitRecord {
    /// Ranks of one color get a communicator; a negative one gets none.
    color: i32,
    /// The order in the new communicator.
    key: i32,
    /// What the new communicator gets, should this rank be its first.
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
        let grant = ContextMessage::parse(bytes[8..].first_chunk().expect("the rest is a grant"));
        Self { color, key, grant }
    }
}

/// A split under way.
pub struct Split {
    run: RunId,
    members: Arc<dyn Members>,
    /// The members on this process's side and on the other one.
    sides: [Range<u32>; 2],
    handler: Handler,
    session: Option<Handle>,
    rule: SplitRule,
    /// The room that this process has claimed, should it be rank 0.
    claimed: Option<u32>,
}

/// Which members of the old communicator the new one of a [`Split`] has.
enum SplitRule {
    /// Those that have this color.
    Color(Option<i32>),
    /// This group of an intracommunicator, if this process is in it; the first has this rank.
    Group(Arc<Group>, u32),
    /// All, in one group, those of color [`LOW`] first.
    Merge,
}

/// The color of a group that comes first in a merge.
const LOW: i32 = 0;
/// The color of a group that comes last in a merge.
const HIGH: i32 = 1;

impl<D: Device> Mpi<D> {
    /// Starts a duplicate of `comm` with these attributes (`MPI_Comm_idup`, §7.4.2). Its handle
    /// may be used once the activity has ended without an error; with one it is gone.
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
        let room = if claims { self.claim_segment(size) } else { None };
        let bcast = Collective::Bcast(Bcast { bytes: ContextMessage::BYTES, root: 0 });
        let run = self.launch_on(
            comm,
            bcast,
            vec![ContextMessage { context, segment: room }.to_memory()],
        )?;
        Ok((new, Activity::Creation { run, comm: new }))
    }

    /// A communicator like `comm`, with these attributes and a context that nobody else knows yet.
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

    /// The end of an [`Activity::Creation`]: the communicator gets what was granted, or goes. Then
    /// the room stays claimed, for there may be others who did not fail.
    pub(crate) fn end_creation(&mut self, run: RunId, comm: Handle) -> Result {
        let Some(end) = self.engine.take_run_end(run) else { return Ok(()) };
        if let Some(error) = end.error {
            self.comms.remove(comm)?;
            return Err(error);
        }
        let grant = ContextMessage::from_memory(&end.buffers[0]);
        let made = self.comms.get_mut(comm)?;
        made.context = grant.context;
        let group = Arc::clone(&made.group);
        self.attach_segment(Ok(comm), grant.segment, &group).map(drop)
    }

    /// Starts a split: one communicator for each color, in the order of the keys and then of the
    /// old ranks; none without a color. On an intercommunicator both groups are split, and there
    /// is none for a color that the other group has not (§7.4.2).
    ///
    /// # Errors
    /// `Comm` if there is no such communicator, `Arg` for a negative color.
    pub fn split(&mut self, comm: Handle, color: Option<i32>, key: i32) -> Result<Split> {
        if let Some(color) = color.filter(|color| *color < 0) {
            let why = format!("color {color} is negative and not MPI_UNDEFINED");
            return Err(ErrorClass::Arg.error(why));
        }
        self.start_split(comm, color.unwrap_or(-1), key, SplitRule::Color(color))
    }

    /// Starts the creation of a communicator for a group of ranks of `comm`, all of which call,
    /// members or not. On an intercommunicator each side gives a part of its own group, and there
    /// is none if one of them gives the empty group (`MPI_Comm_create`, §7.4.2).
    ///
    /// # Errors
    /// `Comm` if there is no such communicator, `Group` if it has not all of the group.
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

    /// Starts a merge of both groups of an intercommunicator into one: the group that says `high`
    /// comes last; if both say the same, side 0 comes first (§7.6.2).
    ///
    /// # Errors
    /// `Comm` if there is no such intercommunicator.
    pub fn merge(&mut self, comm: Handle, high: bool) -> Result<Split> {
        self.comms.get(comm)?.remote()?;
        self.start_split(comm, if high { HIGH } else { LOW }, 0, SplitRule::Merge)
    }

    fn start_split(&mut self, comm: Handle, color: i32, key: i32, of: SplitRule) -> Result<Split> {
        let context = self.comms.choose_context();
        let claimed = self.claim_for_split(comm, color, &of)?;
        let old = self.comms.get(comm)?;
        let (members, sides, handler) = (old.members(), old.sides(), old.handler.clone());
        let session = old.group.session();
        let ranks = old.members_shape().ranks as usize;
        let allgather =
            Collective::Allgather(UniformBlocks { block: SPLIT_RECORD_BYTES, in_place: false });
        let grant = ContextMessage { context, segment: claimed };
        let wish = Memory::owned(SplitRecord { color, key, grant }.emit());
        let wishes = Memory::owned(vec![0; SPLIT_RECORD_BYTES * ranks]);
        let run = self.launch_on(comm, allgather, vec![wish, wishes])?;
        Ok(Split { run, members, sides, handler, session, rule: of, claimed })
    }

    /// A room, if this rank may become the first of an intracommunicator of several.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    fn claim_for_split(&mut self, comm: Handle, color: i32, of: &SplitRule) -> Result<Option<u32>> {
        let old = self.comms.get(comm)?;
        let size = match of {
            SplitRule::Color(_) if color < 0 || old.is_inter() => 0,
            SplitRule::Color(_) => old.size(),
            SplitRule::Group(group, _) if group.rank() == Some(0) => group.size(),
            SplitRule::Merge if old.rank == 0 => old.members_shape().ranks,
            SplitRule::Group(..) | SplitRule::Merge => 0,
        };
        Ok(self.claim_segment(size))
    }

    /// The new communicator once its split is over, `Some(None)` for a rank that gets none.
    ///
    /// # Errors
    /// What went wrong with a message, `Arg` if a group does not agree on its place in a merge,
    /// `NoMem` without a free handle.
    pub fn end_split(&mut self, split: &Split) -> Result<Option<Option<Handle>>> {
        let Some(end) = self.engine.take_run_end(split.run) else { return Ok(None) };
        if let Some(error) = end.error {
            // What was claimed stays so: others, who did not fail, may have it.
            return Err(error);
        }
        let mut bytes = vec![0; end.buffers[1].len()];
        end.buffers[1].pack(0, &mut bytes);
        let (wishes, _) = bytes.as_chunks();
        let wishes: Vec<SplitRecord> = wishes.iter().map(SplitRecord::parse).collect();
        let made = self.new_comm(split, &wishes);
        let granted = match &made {
            Ok(Some((comm, grant))) if comm.size() > 1 && !comm.is_inter() => grant.segment,
            Ok(_) | Err(_) => None,
        };
        if let Some(own) = split.claimed.filter(|own| granted != Some(*own)) {
            self.release_segment(own);
        }
        match made? {
            Some((comm, _)) => self.insert_comm(comm, granted).map(|comm| Some(Some(comm))),
            None => Ok(Some(None)),
        }
    }

    /// The communicator that these wishes make for this process, and what is granted to it.
    ///
    /// # Errors
    /// As [`Mpi::end_split`].
    fn new_comm(
        &self, split: &Split, wishes: &[SplitRecord],
    ) -> Result<Option<(Comm, ContextMessage)>> {
        let me = self.engine.me();
        let group = |ranks: &[u32]| {
            let peers: Vec<_> = ranks.iter().map(|rank| split.members.peer(*rank)).collect();
            Arc::new(Group::new(&peers, me).in_session(split.session))
        };
        let grant = |rank: u32| wishes[rank as usize].grant;
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
                    split.sides.clone().map(|side| ranks_of_color(wishes, side, *color));
                match (&local[..], &remote[..]) {
                    (local, []) if split.sides[1].is_empty() => intra(local[0], group(local)),
                    (_, []) => Ok(None),
                    // Of both first ranks, the lower one's context.
                    (local, remote) => {
                        let grant = grant(local[0].min(remote[0]));
                        let (local, remote) = (group(local), group(remote));
                        let handler = split.handler.clone();
                        let comm = Comm::new_inter(grant.context, local, remote, handler)?;
                        Ok(Some((comm, grant)))
                    }
                }
            }
            SplitRule::Merge => {
                let ranks = merge_order(wishes, &split.sides)?;
                intra(ranks[0], group(&ranks))
            }
        }
    }

    /// Starts the creation of a communicator for a group of ranks of `comm` that call it alone
    /// (`MPI_Comm_create_group`, §7.4.2). As for [`Mpi::duplicate`], its handle may be used later.
    /// It is null for a process that calls although it is not in the group.
    ///
    /// # Errors
    /// `Comm` if there is no such intracommunicator, `Group` if it has not all of the group, `Tag`
    /// for a negative tag.
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
        let new = Comm::new(context, Arc::clone(&group), old.handler.clone())?;
        let ranks = group.ranks_within(&old.group);
        let room = if new.rank == 0 { self.claim_segment(group.size()) } else { None };
        let old = self.comms.get(comm)?;
        let run = self.engine.launch(Launch {
            plan: RunPlan::moving(
                binomial_bcast(&ranks, new.rank, tag as u16, ContextMessage::BYTES),
                vec![ContextMessage { context, segment: room }.to_memory()],
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

    /// Takes a communicator away from its handle; what has been started on it goes on (§7.4.3).
    /// Its attributes have been deleted.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator, or it is predefined.
    pub fn free_comm(&mut self, comm: Handle) -> Result {
        let mut comm = self.comms.remove(comm)?;
        self.release_pending(&mut comm.bsend_buffer);
        self.close_shared(comm.shared_collective);
        Ok(())
    }

    /// Lets the messages of a buffer go on without it.
    pub(crate) fn release_pending(&mut self, buffering: &mut BsendBuffer) {
        buffering.remove_sent(|operation| {
            self.engine.release(operation);
            true
        });
    }

    /// Whether everything that was started on a communicator and has a request or a place in its
    /// buffer is over.
    pub(crate) fn is_quiescent(&self, comm: Handle) -> bool {
        self.has_flushed(BufferOwner::Comm(comm)) && self.are_complete(comm)
    }

    /// The call `function`, which waits for a split.
    pub(crate) fn blocked_split(&self, function: &str, split: &Split) -> WaitReport {
        self.blocked(function, [&Activity::Run(split.run)])
    }

    /// Starts a collective operation of this chapter.
    pub(crate) fn launch_on(
        &mut self, comm: Handle, operation: Collective, buffers: Vec<Memory>,
    ) -> Result<RunId> {
        let on = self.comms.get(comm)?;
        let schedule = operation.schedule(&self.selection, on.members_shape(), on.member());
        self.launch_run(comm, RunPlan::moving(schedule, buffers))
    }
}

/// The part of the `own` one of `ranks` in passing the user buffer 0 of `len` bytes down a binomial
/// tree, from the first of them on; all messages have this label. A rank's parent is that without
/// its highest bit, so the depth is the number of bits.
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
    match group.is_within(all) {
        true => Ok(()),
        false => {
            Err(ErrorClass::Group.error("the group has a process that is not in the communicator"))
        }
    }
}

/// The ranks of a side with this color, in the order of their keys and then of the ranks.
fn ranks_of_color(wishes: &[SplitRecord], side: Range<u32>, color: i32) -> Vec<u32> {
    let mut ranks: Vec<u32> = side.filter(|rank| wishes[*rank as usize].color == color).collect();
    ranks.sort_by_key(|rank| wishes[*rank as usize].key);
    ranks
}

/// All ranks of both sides, in the order of a merge.
///
/// # Errors
/// `Arg` if the ranks of a side have different colors.
fn merge_order(wishes: &[SplitRecord], sides: &[Range<u32>; 2]) -> Result<Vec<u32>> {
    let color = |rank: u32| wishes[rank as usize].color;
    for side in sides {
        if let Some(rank) = side.clone().find(|rank| color(*rank) != color(side.start)) {
            let rank = rank - side.start;
            let why = format!("rank {rank} of a group gave another value of high than its rank 0");
            return Err(ErrorClass::Arg.error(why));
        }
    }
    let mut ranks: Vec<u32> = (0..wishes.len() as u32).collect();
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
    fn a_wish_reads_back() {
        let wish = SplitRecord { color: -1, key: i32::MIN, grant: grant() };
        assert_eq!(SplitRecord::parse(&wish.emit()), wish);
    }

    #[test]
    fn a_color_is_ordered_by_key_then_rank() {
        let wishes = [(1, 5), (2, 0), (1, -5), (-1, 0), (1, 5)].map(|(color, key)| SplitRecord {
            color,
            key,
            grant: grant(),
        });
        assert_eq!(ranks_of_color(&wishes, 0..5, 1), [2, 0, 4]);
        assert_eq!(ranks_of_color(&wishes, 0..5, 2), [1]);
        assert_eq!(ranks_of_color(&wishes, 3..5, 1), [4]);
    }

    #[test]
    fn the_high_group_comes_last_and_side_0_first_if_both_are_alike() {
        let merge = |colors: [i32; 5], own: usize| {
            let wishes = colors.map(|color| SplitRecord { color, key: 0, grant: grant() });
            let mut sides = [0..2, 2..5];
            sides.rotate_left(own);
            merge_order(&wishes, &sides)
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
            let mut ways = Vec::new();
            for (own, rank) in (0..).zip(&ranks) {
                for step in binomial_bcast(&ranks, own, 7, 12).steps() {
                    match step.action {
                        StepAction::Send { peer, .. } => edges.push((*rank, peer)),
                        StepAction::Receive { peer, .. } => ways.push((peer, *rank)),
                        _ => panic!("only messages were expected"),
                    }
                }
            }
            edges.sort_unstable();
            ways.sort_unstable();
            assert_eq!(edges, ways);
            let mut reached: Vec<u32> = edges.iter().map(|(_, to)| *to).collect();
            reached.sort_unstable();
            reached.reverse();
            assert_eq!(reached, ranks[1..]);
        }
    }
}
