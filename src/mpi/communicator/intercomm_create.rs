//! Intercommunicators from two groups with a leader each (MPI 5.0 §7.6.2).
//!
//! Only the leaders know both groups. They exchange records (size of the group, proposed context),
//! then the peers of their groups; each leader broadcasts the outcome to its own group:
//!
//! ```text
//! leader   LeaderRecords ──> PeerLists ──┐
//!                │                       ▼
//!                └─ error ──────────> Outcome ──> Members ──> a communicator, or none
//! others                             (from the leader, down a binomial tree)
//! ```
//!
//! Without a common communicator, messages of the leaders are matched by a key from the string and
//! both leaders, and messages of a group by a key from the string and the group ([`CreationKey`]).
//!
//! An error that only a leader detects reaches its group with the outcome, so all its ranks fail.
//! Both groups see the same two lists of peers, so all ranks refuse groups that overlap. The new
//! communicator gets the lower one of the two proposed contexts.

use std::sync::Arc;

use crate::device::Device;
use crate::engine::memory::Memory;
use crate::engine::schedules::plan::{Launch, Members, RunId, RunPlan};
use crate::mpi::Mpi;
use crate::mpi::communicator::create::{binomial_bcast, pairwise_exchange};
use crate::mpi::communicator::from_group::CreationKey;
use crate::mpi::communicator::{Comm, Context, Traffic};
use crate::mpi::errhandler::Handler;
use crate::mpi::group::Group;
use crate::mpi::handle::Handle;
use crate::mpi::point_to_point::check_tag;
use crate::mpi::processes::{ProcessIdentity, Processes};
use crate::offload::Schedule;
use platform::base::{ErrorClass, ErrorCode, MpiError, Peer, Result};
use platform::diagnosis::wait_report::{WaitCondition, WaitReport};

const LEADER_RECORD_BYTES: usize = 16;
const PEER_BYTES: usize = ProcessIdentity::BYTES;

/// Record that leaders exchange, and then broadcast to their groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LeaderRecord {
    /// The context of the intercommunicator.
    context: Context,
    /// Size of the other group; 0: no communicator is created.
    size: u32,
    /// The code of an error, or 0.
    code: i32,
}

impl LeaderRecord {
    /// No other group, and no error.
    const EMPTY: Self = Self { context: Context::NONE, size: 0, code: 0 };

    fn message(self) -> Memory {
        let mut bytes = [0; LEADER_RECORD_BYTES];
        bytes[..8].copy_from_slice(&self.context.bits().to_le_bytes());
        bytes[8..12].copy_from_slice(&self.size.to_le_bytes());
        bytes[12..].copy_from_slice(&self.code.to_le_bytes());
        Memory::owned(bytes)
    }

    fn parse(memory: &Memory) -> Self {
        let mut context = [0; 8];
        let [mut size, mut code] = [[0; 4]; 2];
        memory.pack(0, &mut context);
        memory.pack(8, &mut size);
        memory.pack(12, &mut code);
        Self {
            context: Context::from_bits(u64::from_le_bytes(context)),
            size: u32::from_le_bytes(size),
            code: i32::from_le_bytes(code),
        }
    }
}

/// The ranks that exchange messages, and the matching key of these messages.
struct CreationChannel {
    members: Arc<dyn Members>,
    /// This process among the members.
    rank: u32,
    context: u64,
    sequence: u32,
    label: u16,
}

impl CreationChannel {
    fn for_group(key: CreationKey, traffic: Traffic, group: &Arc<Group>, rank: u32) -> Self {
        Self {
            members: Arc::clone(group) as Arc<dyn Members>,
            rank,
            context: Context::from_bits(key.context).for_traffic(traffic),
            sequence: key.sequence(),
            label: key.label(),
        }
    }
}

/// Creation of an intercommunicator, at one process.
pub struct IntercommCreation {
    local: Arc<Group>,
    /// Rank of this process in the broadcast tree: its distance from the leader, modulo the size.
    tree_rank: u32,
    /// Messages within the local group.
    channel: CreationChannel,
    handler: Handler,
    /// Error of this leader.
    failure: Option<Box<MpiError>>,
    /// Arguments of the call, for the report on a rank that waits.
    description: String,
    run: RunId,
    stage: IntercommStage,
}

/// State of an [`IntercommCreation`]: the schedule that runs.
enum IntercommStage {
    /// The leaders exchange records.
    LeaderRecords(LeaderLink),
    /// The leaders exchange the peers of their groups.
    PeerLists(LeaderRecord),
    /// A leader broadcasts the outcome; it keeps the peers of the other group, which are next.
    Outcome(Option<Memory>),
    /// A leader broadcasts the peers of the other group.
    Members(LeaderRecord),
}

/// Role of a process in the creation.
enum CreationRole {
    /// A rank that is not the leader.
    Member,
    /// The leader of its group.
    Leader(LeaderLink),
    /// A leader without a remote leader, because of an error or because the remote group is empty.
    Unconnected(Option<Box<MpiError>>),
}

impl CreationRole {
    fn from_link(link: Result<LeaderLink>) -> Self {
        link.map_or_else(|failure| Self::Unconnected(Some(failure)), Self::Leader)
    }
}

/// Connection from one leader to the other.
struct LeaderLink {
    channel: CreationChannel,
    /// Rank of the other leader in the channel.
    other: u32,
}

impl<D: Device> Mpi<D> {
    /// Starts an intercommunicator between the group of `local` and that of `remote_leader`, a
    /// rank of `peer` (`MPI_Intercomm_create`). The last three arguments are significant only at the
    /// rank `local_leader`; all other ranks of its group get their errors from this rank.
    ///
    /// # Errors
    /// `Comm` if `local` is not an intracommunicator, `Rank` if `local_leader` is not one of its
    /// ranks, `Tag` for a negative tag.
    pub fn intercomm_create(
        &mut self, local: Handle, local_leader: i32, peer: Handle, remote_leader: i32, tag: i32,
    ) -> Result<IntercommCreation> {
        let comm = self.comms.get(local)?;
        comm.check_intra("the creation of an intercommunicator")?;
        let leader = comm.check_rank(local_leader)?;
        check_tag(tag)?;
        let role = match comm.rank == leader {
            true => CreationRole::from_link(self.leader_link(peer, remote_leader, tag)),
            false => CreationRole::Member,
        };
        let mut description = format!("(local leader {leader} of {}, tag {tag}", comm.title());
        if let (CreationRole::Leader(_), Ok(peer)) = (&role, self.comms.get(peer)) {
            description += &format!(", remote leader {remote_leader} of {}", peer.title());
        }
        description.push(')');
        let comm = self.comms.get_mut(local)?;
        let channel = CreationChannel {
            members: comm.members(),
            rank: comm.rank,
            context: comm.context.for_traffic(Traffic::Collective),
            sequence: comm.next_call(),
            label: 0,
        };
        let (group, handler) = (Arc::clone(&comm.group), comm.handler.clone());
        Ok(self.start_intercomm((group, leader), channel, handler, role, description))
    }

    /// Starts an intercommunicator between two groups with a leader each, without parent
    /// communicators (`MPI_Intercomm_create_from_groups`). The remote group and its leader are
    /// significant only at the rank `local_leader`. `None` for the empty group.
    ///
    /// # Errors
    /// `Group` if the local group does not exist or does not contain this process, `Rank` if the
    /// leader is not one of its ranks, `Arg` for a string that is too long.
    pub fn intercomm_from_groups(
        &mut self, (local, local_leader): (Handle, i32), remote: (Handle, i32), string: &[u8],
        handler: Handler,
    ) -> Result<Option<IntercommCreation>> {
        let group = Arc::clone(self.objects.groups.get(local)?);
        let key = CreationKey::from_string(string, group.peers(), &self.comms.processes)?;
        if group.size() == 0 {
            return Ok(None);
        }
        let leader = group.check(local_leader)?;
        let rank = group.rank().ok_or_else(|| {
            ErrorClass::Group.error("this process is not in the local group of the communicator")
        })?;
        let role = match rank == leader {
            true => self.role_between_groups(remote, string),
            false => CreationRole::Member,
        };
        let channel = CreationChannel::for_group(key, Traffic::Creation, &group, rank);
        let string = String::from_utf8_lossy(string);
        let description = format!("(string tag {string:?}, local leader {leader})");
        Ok(Some(self.start_intercomm((group, leader), channel, handler, role, description)))
    }

    fn role_between_groups(&self, (remote, leader): (Handle, i32), string: &[u8]) -> CreationRole {
        let link = |group: &Group| {
            let (me, other) = (self.engine.me(), group.peer(group.check(leader)?));
            if other == me {
                let why = format!(
                    "remote leader {leader} is the local leader: expected a process of another group"
                );
                return Err(ErrorClass::Rank.error(why));
            }
            let identity = |peer: &Peer| self.comms.processes.identity_or_local(*peer);
            let mut leaders = [me, other];
            leaders.sort_by_key(identity);
            let key = CreationKey::from_string(string, leaders, &self.comms.processes)?;
            let (pair, rank) = (Arc::new(Group::new(&leaders, me)), u32::from(leaders[1] == me));
            Ok(LeaderLink {
                channel: CreationChannel::for_group(key, Traffic::Leaders, &pair, rank),
                other: 1 - rank,
            })
        };
        match self.objects.groups.get(remote) {
            Ok(group) if group.size() == 0 => CreationRole::Unconnected(None),
            group => CreationRole::from_link(group.and_then(|group| link(group))),
        }
    }

    /// The connection from this leader to the other one.
    ///
    /// # Errors
    /// `Comm` if `peer` is not a communicator, `Rank` if `remote_leader` is not the rank of another
    /// process in it.
    fn leader_link(&self, peer: Handle, remote_leader: i32, tag: i32) -> Result<LeaderLink> {
        let comm = self.comms.get(peer)?;
        let rank = comm.check_rank(remote_leader)?;
        if comm.targets().peer(rank) == self.engine.me() {
            let why = format!(
                "remote leader {rank} of {} is the local leader: expected a process of another group",
                comm.title()
            );
            return Err(ErrorClass::Rank.error(why));
        }
        let channel = CreationChannel {
            members: comm.members(),
            rank: comm.member(),
            context: comm.context.for_traffic(Traffic::Leaders),
            // Sequence and label together are the tag of the messages: here the application's.
            sequence: tag as u32 >> 16,
            label: tag as u16,
        };
        Ok(LeaderLink { channel, other: comm.member_of(rank) })
    }

    fn start_intercomm(
        &mut self, (local, leader): (Arc<Group>, u32), channel: CreationChannel, handler: Handler,
        role: CreationRole, description: String,
    ) -> IntercommCreation {
        let tree_rank = (channel.rank + local.size() - leader) % local.size();
        let mut creation = IntercommCreation {
            local,
            tree_rank,
            channel,
            handler,
            failure: None,
            description,
            run: 0,
            stage: IntercommStage::Outcome(None),
        };
        creation.run = match role {
            CreationRole::Member | CreationRole::Unconnected(None) => {
                self.bcast_from_leader(&creation, LeaderRecord::EMPTY.message())
            }
            CreationRole::Leader(link) => {
                let context = self.comms.choose_context();
                let own = LeaderRecord { context, size: creation.local.size(), code: 0 };
                let other = Memory::owned([0; LEADER_RECORD_BYTES]);
                let run = self.exchange_with_leader(&link, own.message(), other);
                creation.stage = IntercommStage::LeaderRecords(link);
                run
            }
            CreationRole::Unconnected(Some(failure)) => self.bcast_failure(&mut creation, failure),
        };
        creation
    }

    /// The new communicator once the creation has completed; `Some(None)` if it is
    /// `MPI_COMM_NULL`, `None` before completion.
    ///
    /// # Errors
    /// Errors of this process or of the leader of its group, `Comm` for groups that overlap, `NoMem`
    /// without a free handle.
    pub fn end_intercomm(
        &mut self, creation: &mut IntercommCreation,
    ) -> Result<Option<Option<Handle>>> {
        loop {
            let Some(mut end) = self.engine.take_run_end(creation.run) else { return Ok(None) };
            let error = end.error.take();
            let stage = std::mem::replace(&mut creation.stage, IntercommStage::Outcome(None));
            creation.run = match (stage, error) {
                (IntercommStage::LeaderRecords(_) | IntercommStage::PeerLists(_), Some(error)) => {
                    self.bcast_failure(creation, error)
                }
                (IntercommStage::Outcome(_) | IntercommStage::Members(_), Some(error)) => {
                    return Err(error);
                }
                (IntercommStage::LeaderRecords(link), None) => {
                    let record = combine_records(&end.buffers);
                    let peers = peer_list(&creation.local, &self.comms.processes);
                    let other = empty_peer_list(record.size);
                    let run = self.exchange_with_leader(&link, peers, other);
                    creation.stage = IntercommStage::PeerLists(record);
                    run
                }
                (IntercommStage::PeerLists(record), None) => {
                    creation.stage = IntercommStage::Outcome(end.buffers.pop());
                    self.bcast_from_leader(creation, record.message())
                }
                (IntercommStage::Outcome(peers), None) => {
                    let record = LeaderRecord::parse(&end.buffers[0]);
                    if record.code != 0 {
                        let failure = creation.failure.take();
                        return Err(failure.unwrap_or_else(|| leader_error(record.code)));
                    }
                    if record.size == 0 {
                        return Ok(Some(None));
                    }
                    creation.stage = IntercommStage::Members(record);
                    self.bcast_from_leader(
                        creation,
                        peers.unwrap_or_else(|| empty_peer_list(record.size)),
                    )
                }
                (IntercommStage::Members(record), None) => {
                    let peers = parse_peers(&end.buffers[0], &self.comms.processes)?;
                    let remote = Group::new(&peers, self.engine.me());
                    let remote = remote.in_session(creation.local.session());
                    let (local, handler) = (Arc::clone(&creation.local), creation.handler.clone());
                    let local = self.comms.sided(local, &remote);
                    let comm = Comm::new_inter(record.context, local, Arc::new(remote), handler)?;
                    return self.comms.insert(comm).map(|comm| Some(Some(comm)));
                }
            };
        }
    }

    /// Report on the call `function`, which waits for the creation.
    pub(crate) fn blocked_intercomm(
        &self, function: &str, creation: &IntercommCreation,
    ) -> WaitReport {
        let needs = self.engine.pending_run(creation.run).map(|pending| WaitCondition {
            peers: pending.peers,
            any: false,
            collective: None,
        });
        WaitReport {
            details: creation.description.clone(),
            conditions: needs.into_iter().collect(),
            ..WaitReport::new(function)
        }
    }

    fn exchange_with_leader(&mut self, link: &LeaderLink, send: Memory, receive: Memory) -> RunId {
        let (peer, label) = (link.other, link.channel.label);
        let schedule = pairwise_exchange(peer, label, Some(send.len()), Some(receive.len()));
        self.launch_on_channel(&link.channel, schedule, vec![send, receive])
    }

    fn bcast_from_leader(&mut self, creation: &IntercommCreation, message: Memory) -> RunId {
        let (channel, size) = (&creation.channel, creation.local.size());
        let leader = (channel.rank + size - creation.tree_rank) % size;
        let ranks: Vec<u32> = (leader..size).chain(0..leader).collect();
        let schedule = binomial_bcast(&ranks, creation.tree_rank, channel.label, message.len());
        self.launch_on_channel(&creation.channel, schedule, vec![message])
    }

    fn bcast_failure(&mut self, creation: &mut IntercommCreation, failure: Box<MpiError>) -> RunId {
        let outcome = LeaderRecord { code: failure.code.0, ..LeaderRecord::EMPTY };
        creation.failure = Some(failure);
        creation.stage = IntercommStage::Outcome(None);
        self.bcast_from_leader(creation, outcome.message())
    }

    fn launch_on_channel(
        &mut self, channel: &CreationChannel, schedule: Schedule, buffers: Vec<Memory>,
    ) -> RunId {
        self.engine.launch(Launch {
            plan: RunPlan::moving(schedule, buffers),
            members: Arc::clone(&channel.members),
            rank: channel.rank,
            context: channel.context,
            sequence: channel.sequence,
        })
    }
}

/// The outcome of the records of both leaders, the own one first.
fn combine_records(buffers: &[Memory]) -> LeaderRecord {
    let [own, other] = [0, 1].map(|index: usize| LeaderRecord::parse(&buffers[index]));
    let context = if own.context.bits() < other.context.bits() { own } else { other }.context;
    LeaderRecord { context, ..other }
}

/// The error of a process whose leader failed with this code.
#[cold]
fn leader_error(code: i32) -> Box<MpiError> {
    let why = "the local leader could not exchange groups with the remote leader; the error of the \
               local leader has the cause";
    MpiError::new(ErrorCode(code), why.to_owned())
}

fn peer_list(group: &Group, processes: &Processes) -> Memory {
    let identities = group.peers().flat_map(|peer| processes.identity_or_local(peer).emit());
    Memory::owned(identities.collect::<Vec<u8>>())
}

fn empty_peer_list(size: u32) -> Memory {
    Memory::owned(vec![0; size as usize * PEER_BYTES])
}

/// # Errors
/// `Group` for a process that this one cannot reach.
fn parse_peers(message: &Memory, processes: &Processes) -> Result<Vec<Peer>> {
    let bytes = message.packed();
    let (identities, _) = bytes.as_chunks();
    let peer = |bytes| {
        let ProcessIdentity { job, rank, epoch } = ProcessIdentity::parse(bytes);
        processes.peer_or_local(ProcessIdentity { job, rank, epoch }).ok_or_else(|| {
            ErrorClass::Group.error(format!(
                "rank {rank} of another job is not connected with this process: both must be in the \
                 communicators of one MPI_Comm_connect, MPI_Comm_accept or MPI_Comm_spawn before"
            ))
        })
    };
    identities.iter().map(peer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_a_leader_reads_back() {
        let context = Context::new(u32::MAX >> 2, u32::MAX);
        let record = LeaderRecord { context, size: u32::MAX, code: i32::MIN };
        assert_eq!(LeaderRecord::parse(&record.message()), record);
    }

    #[test]
    fn a_list_of_processes_reads_back() {
        let processes = Processes::of_job(None, 10);
        for peers in [&[][..], &[7], &[3, 2, 1, 0], &[0, 9, 4]] {
            let list = peer_list(&Group::new(peers, 0), &processes);
            assert_eq!(list.len(), empty_peer_list(peers.len() as u32).len());
            assert_eq!(parse_peers(&list, &processes).unwrap(), peers);
        }
    }
}
