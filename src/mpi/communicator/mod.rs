//! Communicators, and the table of all communicators of a process (MPI 5.0 §7).
//!
//! A communicator has a unique context id of 64 bits: the rank of the process that chose it, and a
//! counter of that process, exclusive or the random bits of their job. That process sends the context to
//! the other members, so no agreement on context masks is needed, and processes of jobs that were started
//! independently may meet. The three lowest bits are the kind of traffic:
//!
//! ```text
//!  63 .. 35            34 .. 3      2 .. 0
//!  rank of the leader  counter      0 point to point, 1 collectives, 2 creation by a group,
//!  ^ salt (bit 63: 1)  ^ salt       3 leaders of two groups, 4 persistent collectives,
//!                                   5 setups of partitioned operations, 6 their messages
//!  0                   0 or 1       the same, of MPI_COMM_WORLD and MPI_COMM_SELF
//!  all ones            a hash       2 and 3, without a parent communicator
//! ```
//!
//! Contexts of two jobs are equal by chance only, for 2^40 pairs of communicators in one of two million
//! cases. Within a job with one salt they are never equal.

pub(crate) mod clients;
pub(crate) mod connect;
pub mod create;
pub(crate) mod disconnect;
pub(crate) mod from_group;
pub(crate) mod hardware;
pub(crate) mod hints;
pub(crate) mod host_segments;
pub(crate) mod intercomm;
pub mod intercomm_create;
pub(crate) mod memory_domain;
pub(crate) mod port;
pub mod segment;
pub(crate) mod split_type;

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use super::attribute::Attributes;
use super::errhandler::Handler;
use super::group::Group;
use super::topology::VirtualTopology;
use crate::engine::memory::Memory;
use crate::engine::point_to_point::matching::MatchPattern;
use crate::engine::schedules::plan::Members;
use crate::mpi::collective::algorithms::hierarchical::Nodes;
use crate::mpi::collective::binding::neighborhood::NeighborhoodCache;
use crate::mpi::collective::shared::polling::SharedCollectiveId;
use crate::mpi::communicator::clients::{Clients, ClusterAttributes};
use crate::mpi::communicator::hints::CommHints;
use crate::mpi::communicator::host_segments::HostSegments;
use crate::mpi::communicator::intercomm::IntercommView;
use crate::mpi::datatype::{Datatype, PackedForm, external_memory};
use crate::mpi::file::idle_pointer::IdlePointer;
use crate::mpi::handle::{Handle, HandleKind, HandleTable};
use crate::mpi::point_to_point::buffer::BsendBuffer;
use crate::mpi::processes::{JobId, Processes};
use crate::mpi::resilience::CommResilience;
use platform::base::{ErrorClass, MpiError, Peer, Representation, Result};

/// `MPI_COMM_NULL` of the standard ABI.
pub const COMM_NULL: Handle = 0x100;
/// `MPI_COMM_WORLD` of the standard ABI.
pub const COMM_WORLD: Handle = 0x101;
/// `MPI_COMM_SELF` of the standard ABI.
pub const COMM_SELF: Handle = 0x102;

/// The bits of a context for the kind of traffic.
const TRAFFIC_BITS: u32 = 3;

/// The leader in contexts without one: larger than any peer number.
const NO_LEADER: Peer = (1 << 29) - 1;

/// The kinds of traffic within one communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Traffic {
    /// The application's messages.
    PointToPoint = 0,
    /// Messages of collective operations.
    Collective = 1,
    /// Messages of `MPI_Comm_create_group` and `MPI_Comm_create_from_group`, which only some ranks
    /// call.
    Creation = 2,
    /// Messages between the leaders of two groups that create an intercommunicator.
    Leaders = 3,
    /// Messages of persistent collective operations, which start in any order.
    Persistent = 4,
    /// The first messages of partitioned operations, with the tags of the application.
    PartitionedSetup = 5,
    /// The data of partitioned operations.
    Partitioned = 6,
    // 7: messages about failures, without a communicator (`NOTICE_CONTEXT` of the engine).
}

/// A context: [`Traffic`] takes the lowest bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Context(u64);

impl Context {
    /// No context, in messages.
    pub(crate) const NONE: Self = Self(0);

    /// The context with number `counter` of process `leader`.
    pub(crate) fn new(leader: Peer, counter: u32) -> Self {
        Self(u64::from(leader) << 35 | u64::from(counter) << TRAFFIC_BITS)
    }

    /// A context of no communicator, for messages between processes that computed the same bits
    /// ([`CreationKey`](crate::mpi::communicator::from_group::CreationKey)).
    pub(crate) fn without_leader(bits: u32) -> Self {
        Self::new(NO_LEADER, bits)
    }

    /// The context of this number in a job with this salt.
    fn salted(self, salt: u64) -> Self {
        Self(self.0 ^ salt)
    }

    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    pub(crate) fn from_bits(bits: u64) -> Self {
        Self(bits >> TRAFFIC_BITS << TRAFFIC_BITS)
    }

    /// The context id that messages of this kind are matched by.
    #[inline]
    pub(crate) fn for_traffic(self, traffic: Traffic) -> u64 {
        self.0 | traffic as u64
    }
}

/// A communicator.
#[derive(Debug)]
pub struct Comm {
    pub(crate) context: Context,
    /// The processes; the local group of an intercommunicator.
    pub group: Arc<Group>,
    /// The remote group of an intercommunicator.
    pub(crate) remote: Option<Arc<Group>>,
    /// Both groups of an intercommunicator, in one numbering.
    pub(crate) inter_view: Option<IntercommView>,
    /// The rank of this process in its group.
    pub rank: u32,
    pub(crate) handler: Handler,
    pub(crate) attributes: Attributes,
    pub(crate) name: Vec<u8>,
    /// Number of collective calls until now.
    pub(crate) calls: u32,
    /// Number of persistent collective operations created until now.
    pub(crate) inits: u32,
    pub(crate) bsend_buffer: BsendBuffer,
    pub(crate) topology: Option<Arc<VirtualTopology>>,
    /// Neighbor lists of neighborhood collectives, from the first of them on.
    pub(in crate::mpi) neighborhood_cache: Option<Box<NeighborhoodCache>>,
    pub(crate) hints: CommHints,
    /// The shared segment of its blocking collective calls; all of its processes have one, or none
    /// (`segment`).
    pub(crate) shared_collective: Option<SharedCollectiveId>,
    /// Where its segments are, if not at the device: it comes from a merge of several jobs of one host.
    pub(crate) host_segments: Option<Arc<HostSegments>>,
    /// What the last file of the communicator has left to the next one.
    pub(crate) idle_pointer: Option<Box<IdlePointer>>,
    /// What it knows of failures.
    pub(crate) resilience: CommResilience,
    /// The nodes of its ranks, if there are several; `None` for an intercommunicator.
    pub(crate) nodes: Option<Arc<Nodes>>,
    /// Whether some of its processes belong to other jobs.
    pub(crate) spans_jobs: bool,
    /// Whether its processes differ in how they represent data: all data is "external32" on its way.
    pub(crate) is_unlike: bool,
    /// Its attributes of IMPI, from their first use on.
    cluster_attributes: OnceLock<Box<ClusterAttributes>>,
}

impl Comm {
    /// A communicator of a group that contains this process.
    ///
    /// # Errors
    /// `Group` if the group does not contain this process.
    pub fn new(context: Context, group: Arc<Group>, handler: Handler) -> Result<Self> {
        let rank = group.rank().ok_or_else(|| {
            ErrorClass::Group.error("this process is not in the group of the communicator")
        })?;
        Ok(Self::blank(context, group, rank, handler))
    }

    fn blank(context: Context, group: Arc<Group>, rank: u32, handler: Handler) -> Self {
        Self {
            context,
            group,
            remote: None,
            inter_view: None,
            rank,
            handler,
            attributes: Attributes::default(),
            name: Vec::new(),
            calls: 0,
            inits: 0,
            bsend_buffer: BsendBuffer::default(),
            topology: None,
            neighborhood_cache: None,
            hints: CommHints::default(),
            shared_collective: None,
            host_segments: None,
            idle_pointer: None,
            resilience: CommResilience::default(),
            nodes: None,
            spans_jobs: false,
            is_unlike: false,
            cluster_attributes: OnceLock::new(),
        }
    }

    /// A communicator of the same processes with the same error handler, without a shared segment.
    pub(crate) fn with_context(&self, context: Context) -> Self {
        Self {
            remote: self.remote.clone(),
            inter_view: self.inter_view.clone(),
            host_segments: self.host_segments.clone(),
            ..Self::blank(context, Arc::clone(&self.group), self.rank, self.handler.clone())
        }
    }

    /// The name for messages.
    pub(crate) fn title(&self) -> Cow<'_, str> {
        match (&*self.name, self.is_inter()) {
            (b"", false) => "an unnamed communicator".into(),
            (b"", true) => "an unnamed intercommunicator".into(),
            (name, _) => String::from_utf8_lossy(name),
        }
    }

    /// Size of its group.
    #[inline]
    pub fn size(&self) -> u32 {
        self.group.size()
    }

    /// Sequence number of the collective call that starts now.
    pub(crate) fn next_call(&mut self) -> u32 {
        self.calls = self.calls.wrapping_add(1);
        self.calls
    }

    /// Which ranks lead their nodes in the collective call that starts now: 0 or 1. Equal on all ranks.
    pub(crate) fn turn(&self) -> u32 {
        self.calls % 2
    }

    /// Sequence number of the persistent collective operation that is created now.
    pub(crate) fn next_init(&mut self) -> u32 {
        self.inits = self.inits.wrapping_add(1);
        self.inits
    }

    /// Checks the rank of a message's destination or source.
    ///
    /// # Errors
    /// `Rank` if there is no such rank.
    #[inline]
    pub(crate) fn check_rank(&self, rank: i32) -> Result<u32> {
        if rank >= 0 && (rank as u32) < self.targets().size() {
            return Ok(rank as u32);
        }
        Err(self.bad_rank(rank))
    }

    #[cold]
    fn bad_rank(&self, rank: i32) -> Box<MpiError> {
        ErrorClass::Rank.error(format!("rank {rank} is not in {}", self.ranks()))
    }

    /// Checks the root of a collective operation.
    ///
    /// # Errors
    /// `Root` if there is no such rank.
    pub fn check_root(&self, root: i32) -> Result<u32> {
        self.check_rank(root)
            .map_err(|_| ErrorClass::Root.error(format!("root {root} is not in {}", self.ranks())))
    }

    /// The valid ranks of messages and roots, for messages.
    fn ranks(&self) -> String {
        let of = if self.is_inter() { "the remote group of " } else { "" };
        format!("0..{} of {of}{}", self.targets().size(), self.title())
    }
}

/// All communicators of this process.
#[derive(Debug)]
pub struct Comms {
    table: HandleTable<Comm>,
    /// Handle of `MPI_COMM_WORLD` in the table; 0 outside of the world model.
    world: Handle,
    self_comm: Handle,
    /// Number of communicators inserted or changed so far.
    inserted: u64,
    /// Number of contexts chosen by this process.
    contexts_chosen: u32,
    /// Random bits of the contexts that this process chooses.
    context_salt: u64,
    me: Peer,
    pub(crate) processes: Processes,
    /// The node of each process, if there are several nodes.
    nodes: Option<Box<[u32]>>,
    /// The clients of the world, if there are several.
    clients: Option<Box<Clients>>,
    has_unlike: bool,
    /// Contexts of messages with a process of another job, without a communicator, while connections
    /// begin.
    pub(crate) job_links: Vec<(Context, Peer)>,
    /// The number of connections between jobs that begin.
    pub(crate) meetings: u32,
}

impl Comms {
    /// `MPI_COMM_WORLD` of `size` processes and `MPI_COMM_SELF`, at process `me`.
    ///
    /// # Errors
    /// `Group` if there is no such process.
    #[cfg(test)]
    pub(crate) fn new(me: Peer, size: u32) -> Result<Self> {
        let mut comms = Self::without_world(me, size);
        comms.open_world(&Handler::Fatal)?;
        Ok(comms)
    }

    /// An empty table of process `me` of `size`.
    pub(crate) fn without_world(me: Peer, size: u32) -> Self {
        // The predefined communicators have the first two contexts of process 0.
        let table = HandleTable::new(HandleKind::Comm);
        let (contexts_chosen, context_salt) = (2, 0);
        let processes = Processes::of_job(None, size);
        let (world, self_comm) = (0, 0);
        let inserted = 0;
        Self {
            table,
            world,
            self_comm,
            inserted,
            contexts_chosen,
            context_salt,
            me,
            processes,
            nodes: None,
            clients: None,
            has_unlike: false,
            job_links: Vec::new(),
            meetings: 0,
        }
    }

    /// Sets the identity of the job, equal on all processes if they have agreed on one, and random bits
    /// for contexts, which should be equal on all processes of a job and never on two jobs.
    pub fn set_job(&mut self, id: Option<JobId>, random: u64) {
        self.processes = Processes::of_job(id, self.processes.job_size());
        // The highest bit distinguishes chosen contexts from predefined ones.
        self.context_salt = (random | 1 << 63) >> TRAFFIC_BITS << TRAFFIC_BITS;
    }

    /// Sets the node of each process, equal on all processes. Communicators created from now on use
    /// it.
    ///
    /// # Panics
    /// If `nodes` does not have one number for each process.
    pub fn set_nodes(&mut self, nodes: &[u32]) {
        assert_eq!(nodes.len(), self.processes.job_size() as usize);
        let several = nodes.windows(2).any(|pair| pair[0] != pair[1]);
        self.nodes = several.then(|| nodes.into());
    }

    /// Whether the processes are on several nodes.
    pub(crate) fn has_several_nodes(&self) -> bool {
        self.nodes.is_some()
    }

    /// A number of the node of a process. Processes of two jobs share none.
    pub(crate) fn node_of(&self, peer: Peer) -> u32 {
        if self.processes.is_appended(peer) {
            return self.processes.node(peer);
        }
        self.nodes.as_ref().map_or(0, |nodes| nodes[peer as usize])
    }

    /// Whether a group contains processes of other jobs.
    pub(crate) fn spans_jobs(&self, group: &Group) -> bool {
        group.peers().any(|peer| self.processes.is_appended(peer))
    }

    /// The local group with its side.
    pub(crate) fn sided(&self, local: Arc<Group>, remote: &Group) -> (Arc<Group>, usize) {
        let side = self.side_of(&local, remote);
        (local, side)
    }

    /// Which side of an intercommunicator the group `local` is: equal on all processes of both groups.
    pub(crate) fn side_of(&self, local: &Group, remote: &Group) -> usize {
        let first =
            |group: &Group| group.peers().next().map(|peer| self.processes.identity_or_local(peer));
        usize::from(first(remote) < first(local))
    }

    /// Creates `MPI_COMM_WORLD` and `MPI_COMM_SELF`, with this error handler.
    ///
    /// # Errors
    /// `Group` if this process is not a member of `MPI_COMM_WORLD`.
    pub(crate) fn open_world(&mut self, handler: &Handler) -> Result {
        let world = self.world_group();
        let own = self.own_group();
        self.world = self.predefined(0, world, "MPI_COMM_WORLD", handler)?;
        self.self_comm = self.predefined(1, own, "MPI_COMM_SELF", handler)?;
        Ok(())
    }

    fn predefined(
        &mut self, number: u32, group: Group, name: &str, handler: &Handler,
    ) -> Result<Handle> {
        let mut comm = Comm::new(Context::new(0, number), Arc::new(group), handler.clone())?;
        comm.name = name.into();
        self.insert(comm)
    }

    /// Whether `MPI_COMM_WORLD` exists.
    pub(crate) fn has_world(&self) -> bool {
        self.world != 0
    }

    /// Number of processes of the world.
    pub(crate) fn world_size(&self) -> u32 {
        self.clients().map_or(self.processes.job_size(), |clients| clients.ranks().len() as u32)
    }

    /// The processes of the world.
    pub(crate) fn world_group(&self) -> Group {
        match self.clients() {
            None => Group::range(0, self.processes.job_size(), self.me),
            Some(clients) => Group::new(clients.ranks(), self.me),
        }
    }

    /// This process alone.
    pub(crate) fn own_group(&self) -> Group {
        Group::range(self.me, 1, self.me)
    }

    /// Removes all communicators that were derived from this session, or for `None` from the world
    /// model, with its two predefined ones.
    pub(crate) fn take_derived(&mut self, session: Option<Handle>) -> Vec<Comm> {
        if session.is_none() {
            (self.world, self.self_comm) = (0, 0);
        }
        let of_session = |(_, comm): &(Handle, &Comm)| comm.group.session() == session;
        let handles = self.table.iter().filter(of_session).map(|(handle, _)| handle);
        let handles: Vec<_> = handles.collect();
        handles.into_iter().filter_map(|handle| self.table.remove(handle)).collect()
    }

    /// A context that no communicator has had before.
    pub(crate) fn choose_context(&mut self) -> Context {
        let context = Context::new(self.me, self.contexts_chosen);
        self.contexts_chosen += 1;
        context.salted(self.context_salt)
    }

    /// A handle for a new communicator.
    ///
    /// # Errors
    /// `NoMem` without a free handle.
    pub(crate) fn insert(&mut self, mut comm: Comm) -> Result<Handle> {
        self.place(&mut comm);
        self.inserted += 1;
        self.has_unlike |= comm.is_unlike;
        self.table.insert(comm)
    }

    /// Replaces the communicator of a handle.
    ///
    /// # Errors
    /// As [`Comms::get`].
    pub(crate) fn replace(&mut self, handle: Handle, mut comm: Comm) -> Result {
        self.place(&mut comm);
        self.inserted += 1;
        self.has_unlike |= comm.is_unlike;
        *self.get_mut(handle)? = comm;
        Ok(())
    }

    fn place(&self, comm: &mut Comm) {
        let remote = comm.remote.as_ref();
        comm.spans_jobs = self.processes.has_appended()
            && (self.spans_jobs(&comm.group) || remote.is_some_and(|group| self.spans_jobs(group)));
        comm.is_unlike = comm.spans_jobs && self.is_unlike(comm);
        if (self.nodes.is_some() || comm.spans_jobs) && !comm.is_inter() {
            let places = comm.group.peers().map(|peer| self.part_of(peer, comm.spans_jobs));
            comm.nodes = Nodes::new(places).map(Arc::new);
        }
    }

    /// Whether the processes of a communicator of several jobs differ in how they represent data.
    fn is_unlike(&self, comm: &Comm) -> bool {
        let own = self.processes.representation(self.me);
        let remote = comm.remote.iter().flat_map(|group| group.peers());
        comm.group
            .peers()
            .chain(remote)
            .any(|peer| !Representation::are_alike(self.processes.representation(peer), own))
    }

    /// Whether some communicator has been unlike ([`Comm::is_unlike`]).
    #[inline(always)]
    pub(crate) fn has_unlike(&self) -> bool {
        self.has_unlike
    }

    /// The memory of `count` elements of `datatype` as messages on a communicator have it.
    #[cold]
    pub(crate) fn on_the_way(
        &self, comm: Handle, datatype: &Datatype, count: usize, memory: Memory,
    ) -> Memory {
        match self.get(comm) {
            Ok(comm) if comm.is_unlike => external_memory(datatype, count, memory),
            // Without a communicator the call fails.
            Ok(_) | Err(_) => memory,
        }
    }

    /// The representation of packed data on a communicator.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub(crate) fn packed_form(&self, comm: Handle) -> Result<PackedForm> {
        Ok(if self.get(comm)?.is_unlike { PackedForm::External } else { PackedForm::Native })
    }

    /// A number that changes with every new communicator.
    pub(crate) fn inserted(&self) -> u64 {
        self.inserted
    }

    /// A communicator has got its context, by which messages may have arrived before.
    pub(crate) fn note_context(&mut self) {
        self.inserted += 1;
    }

    pub(crate) fn handles(&self) -> Vec<Handle> {
        self.table.iter().map(|(handle, _)| handle).collect()
    }

    pub(crate) fn handle_of_context(&self, context: u64) -> Option<Handle> {
        let context = Context::from_bits(context);
        let found = self.table.iter().find(|(_, comm)| comm.context == context);
        found.map(|(handle, _)| handle)
    }

    /// The communicator of a handle.
    ///
    /// # Errors
    /// `Comm` for the null handle, a freed handle and other invalid values.
    #[inline]
    pub fn get(&self, handle: Handle) -> Result<&Comm> {
        self.table.get(self.resolve_handle(handle)).ok_or_else(|| not_a_comm(handle))
    }

    /// The processes that may send what a receive with this pattern accepts.
    pub(crate) fn senders(&self, pattern: MatchPattern) -> Vec<Peer> {
        let Some(comm) = self.of_context(pattern.context) else {
            return self.linked_peer(pattern.context).into_iter().collect();
        };
        let is_collective = [Traffic::Collective, Traffic::Persistent]
            .map(|traffic| comm.context.for_traffic(traffic))
            .contains(&pattern.context);
        match pattern.source {
            Some(source) if is_collective => vec![comm.members().peer(source)],
            // Leaders of two groups number each other in their own way.
            Some(source) if source >= comm.targets().size() => Vec::new(),
            Some(source) => vec![comm.targets().peer(source)],
            None => comm.targets().peers().collect(),
        }
    }

    /// The process of another job with which this one talks in a context without a communicator.
    fn linked_peer(&self, context: u64) -> Option<Peer> {
        let context = Context::from_bits(context);
        self.job_links.iter().find(|(linked, _)| *linked == context).map(|(_, peer)| *peer)
    }

    /// The job of the first remote process of an intercommunicator.
    pub(crate) fn remote_job(&self, comm: Handle) -> Option<JobId> {
        let first = self.get(comm).ok()?.remote.as_ref()?.peers().next()?;
        self.processes.identity(first).map(|identity| identity.job)
    }

    /// All communicators.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Comm> {
        self.table.iter().map(|(_, comm)| comm)
    }

    /// Whether processes of other jobs are connected, or may connect now.
    pub(crate) fn has_other_jobs(&self) -> bool {
        self.processes.has_appended() || self.meetings > 0
    }

    /// The communicator of `context`, for any kind of traffic.
    pub(crate) fn of_context(&self, context: u64) -> Option<&Comm> {
        let context = Context::from_bits(context);
        self.table.iter().map(|(_, comm)| comm).find(|comm| comm.context == context)
    }

    pub(crate) fn of_shared_collective(&self, id: SharedCollectiveId) -> Option<&Comm> {
        self.table.iter().map(|(_, comm)| comm).find(|comm| comm.shared_collective == Some(id))
    }

    /// The communicator of a handle, mutable.
    ///
    /// # Errors
    /// As [`Comms::get`].
    #[inline]
    pub(crate) fn get_mut(&mut self, handle: Handle) -> Result<&mut Comm> {
        self.table.get_mut(self.resolve_handle(handle)).ok_or_else(|| not_a_comm(handle))
    }

    /// The communicator of a handle, if it may be freed.
    ///
    /// # Errors
    /// As [`Comms::get`], and `Comm` for the predefined ones.
    pub(crate) fn freeable(&self, handle: Handle) -> Result<&Comm> {
        let comm = self.get(handle)?;
        if [self.world, self.self_comm].contains(&self.resolve_handle(handle)) {
            let why = format!("{} is predefined and cannot be freed", comm.title());
            return Err(ErrorClass::Comm.error(why));
        }
        Ok(comm)
    }

    /// Removes a communicator and invalidates its handle.
    ///
    /// # Errors
    /// As [`Comms::freeable`].
    pub(crate) fn remove(&mut self, handle: Handle) -> Result<Comm> {
        self.freeable(handle)?;
        self.table.remove(handle).ok_or_else(|| not_a_comm(handle))
    }

    #[inline]
    fn resolve_handle(&self, handle: Handle) -> Handle {
        match handle {
            COMM_WORLD => self.world,
            COMM_SELF => self.self_comm,
            _ => handle,
        }
    }
}

#[cold]
fn not_a_comm(handle: Handle) -> Box<platform::base::MpiError> {
    ErrorClass::Comm.error(match handle {
        COMM_NULL => "the communicator is MPI_COMM_NULL".into(),
        COMM_WORLD => "MPI_COMM_WORLD exists only between MPI_Init and MPI_Finalize".into(),
        COMM_SELF => "MPI_COMM_SELF exists only between MPI_Init and MPI_Finalize".into(),
        _ => format!("{handle:#x} is not a communicator; it may have been freed"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predefined_communicators_exist_and_cannot_be_freed() {
        let mut comms = Comms::new(2, 4).unwrap();
        assert_eq!(
            (comms.get(COMM_WORLD).unwrap().rank, comms.get(COMM_SELF).unwrap().rank),
            (2, 0)
        );
        assert!(comms.get(COMM_NULL).is_err());
        assert!(comms.remove(COMM_WORLD).is_err() && comms.remove(COMM_SELF).is_err());
        let world = comms.get(COMM_WORLD).unwrap();
        assert!(world.check_rank(4).is_err() && world.check_rank(-1).is_err());
        assert_eq!(world.check_root(9).unwrap_err().code.0, ErrorClass::Root as i32);
    }

    #[test]
    fn communicators_of_a_session_outlive_the_world_model() {
        let mut comms = Comms::without_world(1, 3);
        let error = comms.get(COMM_WORLD).unwrap_err();
        assert_eq!(error.code.0, ErrorClass::Comm as i32);
        assert!(error.why.contains("between MPI_Init and MPI_Finalize"), "{error}");
        let of = |session| {
            let group = Group::range(0, 3, 1).in_session(session);
            Comm::new(Context::without_leader(0), Arc::new(group), Handler::Return).unwrap()
        };
        let mine = comms.insert(of(Some(7))).unwrap();
        comms.open_world(&Handler::Return).unwrap();
        let worlds = comms.insert(of(None)).unwrap();
        assert!(comms.has_world() && comms.remove(COMM_SELF).is_err());
        assert_eq!(comms.take_derived(None).len(), 3);
        assert!(!comms.has_world() && comms.get(COMM_SELF).is_err() && comms.get(worlds).is_err());
        assert!(comms.get(mine).is_ok());
        assert_eq!(comms.take_derived(Some(7)).len(), 1);
        assert!(comms.get(mine).is_err());
    }

    #[test]
    fn communicators_store_the_nodes_of_their_ranks() {
        let mut comms = Comms::without_world(1, 4);
        comms.set_nodes(&[6, 2, 6, 2]);
        comms.open_world(&Handler::Return).unwrap();
        let world = comms.get(COMM_WORLD).unwrap();
        let nodes = world.nodes.as_ref().unwrap();
        assert_eq!((nodes.ranks(0), nodes.ranks(1)), (&[0, 2][..], &[1, 3][..]));
        assert_eq!(comms.get(COMM_SELF).unwrap().nodes, None);
        let mut on = |ranks: &[u32]| {
            let group = Arc::new(Group::new(ranks, 1));
            let comm = Comm::new(Context::without_leader(0), group, Handler::Return).unwrap();
            let comm = comms.insert(comm).unwrap();
            comms.get(comm).unwrap().nodes.clone()
        };
        assert_eq!(on(&[3, 1]), None);
        assert_eq!(on(&[1, 2, 3]).unwrap().ranks(0), [0, 2]);
        let mut near = Comms::without_world(0, 2);
        near.set_nodes(&[5, 5]);
        near.open_world(&Handler::Return).unwrap();
        assert_eq!(near.get(COMM_WORLD).unwrap().nodes, None);
    }

    #[test]
    fn contexts_of_two_jobs_differ() {
        let mut seen = std::collections::BTreeSet::new();
        for random in [0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210] {
            for me in 0..30 {
                let mut comms = Comms::without_world(me, 30);
                comms.set_job(Some(JobId(random.into())), random);
                for _ in 0..30 {
                    let context = comms.choose_context();
                    assert!(seen.insert(context.bits()), "{context:?} of rank {me} again");
                    assert_eq!(Context::from_bits(context.for_traffic(Traffic::Leaders)), context);
                    assert!(context.bits() > Context::new(0, 1).bits());
                }
            }
        }
    }

    #[test]
    fn contexts_are_unique() {
        let (mut one, mut two) = (Comms::new(0, 2).unwrap(), Comms::new(1, 2).unwrap());
        let world = one.get(COMM_WORLD).unwrap().context;
        let own = one.get(COMM_SELF).unwrap().context;
        let chosen = [one.choose_context(), one.choose_context(), two.choose_context()];
        let mut all: Vec<u64> = chosen.iter().chain([&world, &own]).map(|c| c.bits()).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 5);
        assert_eq!(Context::from_bits(chosen[2].for_traffic(Traffic::Creation)), chosen[2]);
    }
}
