//! New communicators from old ones, and the end of them (MPI 5.0 §7.4).
//!
//! Whoever is rank 0 of a new communicator chooses its context. Duplicates need 8 bytes from
//! there:
//!
//! ```text
//! duplicate ──> a communicator with a handle ──context by broadcast──> usable
//! ```
//!
//! For a split every rank of the old communicator tells all others what it wants and which context
//! it would choose; the new communicator takes the one of its own rank 0.
//!
//! ```text
//! split ──allgather of (color, key, context)──> a communicator, or none
//! ```
//!
//! Where only the members call, the context is passed down a binomial tree, as messages of their
//! own kind of traffic (`Traffic::Creation`) with the application's tag:
//!
//! ```text
//! create_by_members ──> a communicator with a handle ──context from the tree──> usable
//! ```

use std::sync::Arc;

use super::Mpi;
use super::attribute::Attributes;
use super::coll::{Bcast, Collective, Exchange};
use super::comm::{COMM_NULL, Comm, Context, Traffic};
use super::errhandler::Handler;
use super::group::Group;
use super::p2p::check_tag;
use super::request::Activity;
use super::status::Status;
use super::table::Handle;
use crate::base::blocked::Blocked;
use crate::base::{ErrorClass, Result};
use crate::core::memory::Memory;
use crate::core::run::{Launch, Members, Reduction, RunId};
use crate::device::Device;
use crate::offload::{Action, Buffer, Builder, Schedule, Wait};

/// Bytes of a context on its way.
const CONTEXT_BYTES: usize = 8;
/// Bytes of a [`Wish`] on its way.
const WISH_BYTES: usize = 16;

/// What a rank of the old communicator tells the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wish {
    /// Ranks of one color get a communicator; a negative one gets none.
    color: i32,
    /// The order in the new communicator.
    key: i32,
    /// The context of the new communicator, should this rank be its first.
    context: Context,
}

impl Wish {
    fn emit(self) -> [u8; WISH_BYTES] {
        let mut bytes = [0; WISH_BYTES];
        bytes[..4].copy_from_slice(&self.color.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.key.to_le_bytes());
        bytes[8..].copy_from_slice(&self.context.bits().to_le_bytes());
        bytes
    }

    fn parse(bytes: &[u8; WISH_BYTES]) -> Self {
        let [first, second, third, fourth] = [0, 4, 8, 12].map(|at| {
            let word: &[u8; 4] = bytes[at..].first_chunk().expect("16 bytes are four words");
            u32::from_le_bytes(*word)
        });
        let bits = u64::from(fourth) << 32 | u64::from(third);
        Self { color: first as i32, key: second as i32, context: Context::from_bits(bits) }
    }
}

/// A split under way.
#[derive(Debug)]
pub struct Split {
    run: RunId,
    parent: Arc<Group>,
    handler: Handler,
    of: Of,
}

/// Which group the new communicator of a [`Split`] gets.
#[derive(Debug)]
enum Of {
    /// That of the ranks that have this color.
    Color(Option<i32>),
    /// This one, if this process is in it.
    Group(Arc<Group>),
}

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
        let context = self.comms.get(new)?.context;
        let bcast = Collective::Bcast(Bcast { bytes: CONTEXT_BYTES, root: 0 });
        let message = Memory::owned(context.bits().to_le_bytes());
        let run = self.launch_on(comm, bcast, vec![message])?;
        Ok((new, Activity::Creation { run, comm: new }))
    }

    /// A communicator like `comm`, with these attributes and a context that nobody else knows yet.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator, `NoMem` without a free handle.
    pub fn comm_like(&mut self, comm: Handle, attributes: Attributes) -> Result<Handle> {
        let context = self.comms.choose_context();
        let old = self.comms.get(comm)?;
        let mut new = Comm::new(context, Arc::clone(&old.group), old.handler.clone())?;
        new.attributes = attributes;
        self.comms.insert(new)
    }

    /// The end of an [`Activity::Creation`]: the communicator gets its context, or goes.
    pub(super) fn end_creation(&mut self, run: RunId, comm: Handle) -> Result {
        let Some(end) = self.engine.take_end(run) else { return Ok(()) };
        if let Some(error) = end.error {
            self.comms.remove(comm)?;
            return Err(error);
        }
        self.comms.get_mut(comm)?.context = context_in(&end.buffers[0]);
        Ok(())
    }

    /// Starts a split: one communicator for each color, in the order of the keys and then of the
    /// old ranks; none without a color (§7.4.2).
    ///
    /// # Errors
    /// `Comm` if there is no such communicator, `Arg` for a negative color.
    pub fn split(&mut self, comm: Handle, color: Option<i32>, key: i32) -> Result<Split> {
        if let Some(color) = color.filter(|color| *color < 0) {
            let why = format!("color {color} is negative and not MPI_UNDEFINED");
            return Err(ErrorClass::Arg.error(why));
        }
        self.start_split(comm, color.unwrap_or(-1), key, Of::Color(color))
    }

    /// Starts the creation of a communicator for a group of ranks of `comm`, all of which call,
    /// members or not (`MPI_Comm_create`, §7.4.2).
    ///
    /// # Errors
    /// `Comm` if there is no such communicator, `Group` if it has not all of the group.
    pub fn create(&mut self, comm: Handle, group: Arc<Group>) -> Result<Split> {
        let old = self.comms.get(comm)?;
        check_subset(&group, &old.group)?;
        self.start_split(comm, 0, 0, Of::Group(group))
    }

    fn start_split(&mut self, comm: Handle, color: i32, key: i32, of: Of) -> Result<Split> {
        let context = self.comms.choose_context();
        let old = self.comms.get(comm)?;
        let (parent, handler) = (Arc::clone(&old.group), old.handler.clone());
        let allgather = Collective::Allgather(Exchange { block: WISH_BYTES, in_place: false });
        let wish = Memory::owned(Wish { color, key, context }.emit());
        let wishes = Memory::owned(vec![0; WISH_BYTES * parent.size() as usize]);
        let run = self.launch_on(comm, allgather, vec![wish, wishes])?;
        Ok(Split { run, parent, handler, of })
    }

    /// The new communicator once its split is over, `Some(None)` for a rank that gets none.
    ///
    /// # Errors
    /// What went wrong with a message, `NoMem` without a free handle.
    pub fn end_split(&mut self, split: &Split) -> Result<Option<Option<Handle>>> {
        let Some(end) = self.engine.take_end(split.run) else { return Ok(None) };
        if let Some(error) = end.error {
            return Err(error);
        }
        let mut bytes = vec![0; end.buffers[1].len()];
        end.buffers[1].pack(0, &mut bytes);
        let (wishes, _) = bytes.as_chunks();
        let wishes: Vec<Wish> = wishes.iter().map(Wish::parse).collect();
        let group = match &split.of {
            Of::Color(None) => return Ok(Some(None)),
            Of::Color(Some(color)) => {
                let peers: Vec<_> =
                    of_color(&wishes, *color).map(|rank| split.parent.peer(rank)).collect();
                Arc::new(Group::new(&peers, self.engine.me()))
            }
            Of::Group(group) if group.rank().is_some() => Arc::clone(group),
            Of::Group(_) => return Ok(Some(None)),
        };
        let leader = split.parent.rank_of(group.peer(0)).unwrap_or(0);
        let context = wishes[leader as usize].context;
        let comm = Comm::new(context, group, split.handler.clone())?;
        self.comms.insert(comm).map(|comm| Some(Some(comm)))
    }

    /// Starts the creation of a communicator for a group of ranks of `comm` that call it alone
    /// (`MPI_Comm_create_group`, §7.4.2). As for [`Mpi::duplicate`], its handle may be used later.
    /// It is null for a process that calls although it is not in the group.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator, `Group` if it has not all of the group, `Tag` for
    /// a negative tag.
    pub fn create_by_members(
        &mut self, comm: Handle, group: Arc<Group>, tag: i32,
    ) -> Result<(Handle, Activity)> {
        check_tag(tag)?;
        let context = self.comms.choose_context();
        let old = self.comms.get(comm)?;
        check_subset(&group, &old.group)?;
        if group.rank().is_none() {
            return Ok((COMM_NULL, Activity::Over(Status::EMPTY)));
        }
        let new = Comm::new(context, Arc::clone(&group), old.handler.clone())?;
        let ranks = group.ranks_within(&old.group);
        let run = self.engine.launch(Launch {
            schedule: Arc::new(tree(&ranks, new.rank, tag as u16)),
            buffers: vec![Memory::owned(context.bits().to_le_bytes())],
            reduction: Reduction::None,
            members: Arc::clone(&old.group) as Arc<dyn Members>,
            rank: old.rank,
            context: old.context.of(Traffic::Creation),
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
        comm.buffering.reap(|operation| {
            self.engine.release(operation);
            true
        });
        Ok(())
    }

    /// Whether everything that was started on a communicator and has a request or a place in its
    /// buffer is over.
    pub fn is_quiet(&self, comm: Handle) -> bool {
        self.has_flushed(Some(comm)) && self.are_over(comm)
    }

    /// The call `function`, which waits for a split.
    pub fn blocked_split(&self, function: &str, split: &Split) -> Blocked {
        self.blocked(function, [&Activity::Run { run: split.run, landing: None }])
    }

    /// Starts a collective operation of this chapter.
    fn launch_on(
        &mut self, comm: Handle, operation: Collective, buffers: Vec<Memory>,
    ) -> Result<RunId> {
        let comm = self.comms.get_mut(comm)?;
        Ok(self.engine.launch(Launch {
            schedule: Arc::new(operation.schedule(comm.members_shape(), comm.member())),
            buffers,
            reduction: Reduction::None,
            members: comm.members(),
            rank: comm.member(),
            context: comm.context.of(Traffic::Collective),
            sequence: comm.next_call(),
        }))
    }
}

/// The part of the `own` one of `ranks` in passing the user buffer 0 down a binomial tree, from
/// the first of them on; all messages have this label. A rank's parent is that without its highest
/// bit, so the depth is the number of bits.
pub(super) fn tree(ranks: &[u32], own: u32, label: u16) -> Schedule {
    let mut plan = Builder::new();
    let region = Buffer::User(0).region(0, CONTEXT_BYTES);
    let (depth, highest) = (own.count_ones(), own.checked_ilog2());
    let received = highest.map(|bit| {
        let peer = ranks[(own - (1 << bit)) as usize];
        plan.push(Action::Receive { peer, region, label }, depth, Wait::All, &[])
    });
    for bit in highest.map_or(0, |bit| bit + 1).. {
        let Some(&peer) = ranks.get(own as usize + (1_usize << bit)) else { break };
        let send = Action::Send { peer, region, label };
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

fn context_in(memory: &Memory) -> Context {
    let mut bytes = [0; CONTEXT_BYTES];
    memory.pack(0, &mut bytes);
    Context::from_bits(u64::from_le_bytes(bytes))
}

/// The ranks with this color, in the order of their keys and then of the ranks.
fn of_color(wishes: &[Wish], color: i32) -> impl Iterator<Item = u32> {
    let mut ranks: Vec<u32> =
        (0..).zip(wishes).filter(|(_, wish)| wish.color == color).map(|(rank, _)| rank).collect();
    ranks.sort_by_key(|rank| wishes[*rank as usize].key);
    ranks.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_reads_back() {
        let context = Context::new(u32::MAX >> 2, u32::MAX);
        let wish = Wish { color: -1, key: i32::MIN, context };
        assert_eq!(Wish::parse(&wish.emit()), wish);
    }

    #[test]
    fn a_color_is_ordered_by_key_then_rank() {
        let context = Context::new(0, 0);
        let wishes = [(1, 5), (2, 0), (1, -5), (-1, 0), (1, 5)].map(|(color, key)| Wish {
            color,
            key,
            context,
        });
        assert_eq!(of_color(&wishes, 1).collect::<Vec<_>>(), [2, 0, 4]);
        assert_eq!(of_color(&wishes, 2).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn the_tree_reaches_every_rank_once_and_from_one_that_sends_to_it() {
        for size in 1..40 {
            let ranks: Vec<u32> = (0..size).map(|rank| 100 - 2 * rank).collect();
            let mut edges = Vec::new();
            let mut ways = Vec::new();
            for (own, rank) in (0..).zip(&ranks) {
                for step in tree(&ranks, own, 7).steps() {
                    match step.action {
                        Action::Send { peer, .. } => edges.push((*rank, peer)),
                        Action::Receive { peer, .. } => ways.push((peer, *rank)),
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
