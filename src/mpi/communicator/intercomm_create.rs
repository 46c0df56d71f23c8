//! Intercommunicators from two groups with a leader each (MPI 5.0 §7.6.2).
//!
//! Only the leaders know each other. They exchange how large their groups are and which context
//! they would choose, then the groups themselves; each tells its own group:
//!
//! ```text
//! leader   Greetings ──> Lists ──┐
//!              │                 ▼
//!              └─ error ──>  Verdict ──> Members ──> a communicator, or none
//! others                    (from the leader, down a binomial tree)
//! ```
//!
//! Leaders without a common communicator meet where a string and both of them say, and each group
//! where the string and the group say ([`CreationKey`]).
//!
//! What only a leader can see to be wrong comes to its group with the verdict, so all of them
//! fail. Both groups see the same two lists, so that groups which overlap are refused everywhere.
//! The lower one of both contexts is taken.

use std::sync::Arc;

use crate::device::Device;
use crate::engine::memory::Memory;
use crate::engine::schedules::run::{Launch, Members, RunId, RunPlan};
use crate::mpi::Mpi;
use crate::mpi::communicator::create::binomial_bcast;
use crate::mpi::communicator::from_group::CreationKey;
use crate::mpi::communicator::{Comm, Context, Traffic};
use crate::mpi::errhandler::Handler;
use crate::mpi::group::Group;
use crate::mpi::handle::Handle;
use crate::mpi::point_to_point::check_tag;
use crate::offload::{Buffer, Schedule, ScheduleBuilder, StepAction, Wait};
use platform::base::{ErrorClass, ErrorCode, MpiError, Peer, Result};
use platform::diagnosis::wait_report::{WaitCondition, WaitReport};

/// Bytes of a [`LeaderRecord`] on its way.
const LEADER_RECORD_BYTES: usize = 16;
/// Bytes of a process in a list on its way.
const PEER_BYTES: usize = size_of::<Peer>();

/// What leaders tell each other, and then their groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LeaderRecord {
    /// The context of the intercommunicator.
    context: Context,
    /// How many processes the other group has; nothing comes of it with none.
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

/// Among whom messages go and what they are matched by.
struct CreationChannel {
    members: Arc<dyn Members>,
    /// This process among the members.
    rank: u32,
    context: u64,
    sequence: u32,
    label: u16,
}

impl CreationChannel {
    /// Where the members of `group` meet, seen by the one of this rank.
    fn for_group(meeting: CreationKey, traffic: Traffic, group: &Arc<Group>, rank: u32) -> Self {
        Self {
            members: Arc::clone(group) as Arc<dyn Members>,
            rank,
            context: Context::from_bits(meeting.context).for_traffic(traffic),
            sequence: meeting.sequence(),
            label: meeting.label(),
        }
    }
}

/// The making of an intercommunicator, as one process sees it.
pub struct IntercommCreation {
    local: Arc<Group>,
    /// This process, counted from the leader on.
    tree_rank: u32,
    /// Within the local group.
    channel: CreationChannel,
    handler: Handler,
    /// Why this leader did not reach the other one.
    failure: Option<Box<MpiError>>,
    /// What people should know of it while it waits.
    description: String,
    run: RunId,
    stage: IntercommStage,
}

/// What the run of a [`IntercommCreation`] does.
enum IntercommStage {
    /// The leaders exchange greetings.
    LeaderRecords(LeaderLink),
    /// The leaders exchange lists of their processes.
    PeerLists(LeaderRecord),
    /// A group hears from its leader, which keeps the list that comes next.
    Outcome(Option<Memory>),
    /// A group gets the list of the other group.
    Members(LeaderRecord),
}

/// What a process has to do with the other group.
enum CreationRole {
    /// Its leader knows.
    Member,
    /// It is the leader of its group.
    Leader(LeaderLink),
    /// It is a leader that does not reach another one, because of an error or because there is
    /// nobody.
    Unconnected(Option<Box<MpiError>>),
}

impl CreationRole {
    /// The role of a leader that has found the other one, or not.
    fn from_link(way: Result<LeaderLink>) -> Self {
        way.map_or_else(|failure| Self::Unconnected(Some(failure)), Self::Leader)
    }
}

/// The way from one leader to the other.
struct LeaderLink {
    channel: CreationChannel,
    /// The other leader among the members of the lane.
    other: u32,
}

impl<D: Device> Mpi<D> {
    /// Starts an intercommunicator between the group of `local` and that of `remote_leader`, a
    /// rank of `peer` (`MPI_Intercomm_create`). The last three arguments count at the rank
    /// `local_leader` only; all others learn from it what is wrong with them.
    ///
    /// # Errors
    /// `Comm` if `local` is no intracommunicator, `Rank` if it has no such leader, `Tag` for a
    /// negative tag.
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
        let mut words = format!("(local leader {leader} of {}, tag {tag}", comm.title());
        if let (CreationRole::Leader(_), Ok(peer)) = (&role, self.comms.get(peer)) {
            words += &format!(", remote leader {remote_leader} of {}", peer.title());
        }
        words.push(')');
        let comm = self.comms.get_mut(local)?;
        let lane = CreationChannel {
            members: comm.members(),
            rank: comm.rank,
            context: comm.context.for_traffic(Traffic::Collective),
            sequence: comm.next_call(),
            label: 0,
        };
        let (group, handler) = (Arc::clone(&comm.group), comm.handler.clone());
        Ok(self.start_intercomm((group, leader), lane, handler, role, words))
    }

    /// Starts an intercommunicator between two groups with a leader each, without parent
    /// communicators (`MPI_Intercomm_create_from_groups`). The remote group and its leader count
    /// at the rank `local_leader` only. There is nothing to start for the empty group.
    ///
    /// # Errors
    /// `Group` if there is no such local group or this process is not in it, `Rank` if it has no
    /// such leader, `Arg` for a string that is too long.
    pub fn intercomm_from_groups(
        &mut self, (local, local_leader): (Handle, i32), remote: (Handle, i32), string: &[u8],
        handler: Handler,
    ) -> Result<Option<IntercommCreation>> {
        let group = Arc::clone(self.objects.groups.get(local)?);
        let meeting = CreationKey::from_string(string, group.peers())?;
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
        let lane = CreationChannel::for_group(meeting, Traffic::Creation, &group, rank);
        let string = String::from_utf8_lossy(string);
        let words = format!("(string tag {string:?}, local leader {leader})");
        Ok(Some(self.start_intercomm((group, leader), lane, handler, role, words)))
    }

    /// What this leader has to do with the leader of a remote group.
    fn role_between_groups(&self, (remote, leader): (Handle, i32), string: &[u8]) -> CreationRole {
        let way = |group: &Group| {
            let (me, other) = (self.engine.me(), group.peer(group.check(leader)?));
            if other == me {
                let why = format!("remote leader {leader} is the local leader");
                return Err(ErrorClass::Rank.error(why));
            }
            let leaders = [me.min(other), me.max(other)];
            let meeting = CreationKey::from_string(string, leaders)?;
            let (pair, rank) = (Arc::new(Group::new(&leaders, me)), u32::from(other < me));
            Ok(LeaderLink {
                channel: CreationChannel::for_group(meeting, Traffic::Leaders, &pair, rank),
                other: 1 - rank,
            })
        };
        match self.objects.groups.get(remote) {
            Ok(group) if group.size() == 0 => CreationRole::Unconnected(None),
            group => CreationRole::from_link(group.and_then(|group| way(group))),
        }
    }

    /// The way from this leader to the other one.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator, `Rank` if it has no such other process.
    fn leader_link(&self, peer: Handle, remote_leader: i32, tag: i32) -> Result<LeaderLink> {
        let comm = self.comms.get(peer)?;
        let rank = comm.check_rank(remote_leader)?;
        if comm.targets().peer(rank) == self.engine.me() {
            let why = format!("remote leader {rank} of {} is the local leader", comm.title());
            return Err(ErrorClass::Rank.error(why));
        }
        let lane = CreationChannel {
            members: comm.members(),
            rank: comm.member(),
            context: comm.context.for_traffic(Traffic::Leaders),
            // Sequence and label together are the tag of the messages: here the application's.
            sequence: tag as u32 >> 16,
            label: tag as u16,
        };
        Ok(LeaderLink { channel: lane, other: comm.member_of(rank) })
    }

    /// Starts with what this process knows: the way to the other leader, if it is one itself.
    fn start_intercomm(
        &mut self, (local, leader): (Arc<Group>, u32), lane: CreationChannel, handler: Handler,
        role: CreationRole, words: String,
    ) -> IntercommCreation {
        let place = (lane.rank + local.size() - leader) % local.size();
        let mut bridge = IntercommCreation {
            local,
            tree_rank: place,
            channel: lane,
            handler,
            failure: None,
            description: words,
            run: 0,
            stage: IntercommStage::Outcome(None),
        };
        bridge.run = match role {
            CreationRole::Member | CreationRole::Unconnected(None) => {
                self.bcast_from_leader(&bridge, LeaderRecord::EMPTY.message())
            }
            CreationRole::Leader(way) => {
                let context = self.comms.choose_context();
                let greeting = LeaderRecord { context, size: bridge.local.size(), code: 0 };
                let room = Memory::owned([0; LEADER_RECORD_BYTES]);
                let run = self.exchange_with_leader(&way, greeting.message(), room);
                bridge.stage = IntercommStage::LeaderRecords(way);
                run
            }
            CreationRole::Unconnected(Some(failure)) => self.bcast_failure(&mut bridge, failure),
        };
        bridge
    }

    /// The new communicator once the bridge is built, `Some(None)` if there is to be none.
    ///
    /// # Errors
    /// What this process or the leader of its group did wrong, `Comm` for groups that overlap,
    /// `NoMem` without a free handle.
    pub fn end_intercomm(
        &mut self, bridge: &mut IntercommCreation,
    ) -> Result<Option<Option<Handle>>> {
        loop {
            let Some(mut end) = self.engine.take_run_end(bridge.run) else { return Ok(None) };
            let error = end.error.take();
            let stage = std::mem::replace(&mut bridge.stage, IntercommStage::Outcome(None));
            bridge.run = match (stage, error) {
                (IntercommStage::LeaderRecords(_) | IntercommStage::PeerLists(_), Some(error)) => {
                    self.bcast_failure(bridge, error)
                }
                (IntercommStage::Outcome(_) | IntercommStage::Members(_), Some(error)) => {
                    return Err(error);
                }
                (IntercommStage::LeaderRecords(way), None) => {
                    let greeting = combine_records(&end.buffers);
                    let list = peer_list(&bridge.local);
                    let run = self.exchange_with_leader(&way, list, empty_peer_list(greeting.size));
                    bridge.stage = IntercommStage::PeerLists(greeting);
                    run
                }
                (IntercommStage::PeerLists(greeting), None) => {
                    bridge.stage = IntercommStage::Outcome(end.buffers.pop());
                    self.bcast_from_leader(bridge, greeting.message())
                }
                (IntercommStage::Outcome(list), None) => {
                    let greeting = LeaderRecord::parse(&end.buffers[0]);
                    if greeting.code != 0 {
                        let failure = bridge.failure.take();
                        return Err(failure.unwrap_or_else(|| leader_error(greeting.code)));
                    }
                    if greeting.size == 0 {
                        return Ok(Some(None));
                    }
                    bridge.stage = IntercommStage::Members(greeting);
                    self.bcast_from_leader(
                        bridge,
                        list.unwrap_or_else(|| empty_peer_list(greeting.size)),
                    )
                }
                (IntercommStage::Members(greeting), None) => {
                    let remote = Group::new(&parse_peers(&end.buffers[0]), self.engine.me());
                    let remote = remote.in_session(bridge.local.session());
                    let (local, handler) = (Arc::clone(&bridge.local), bridge.handler.clone());
                    let comm = Comm::new_inter(greeting.context, local, Arc::new(remote), handler)?;
                    return self.comms.insert(comm).map(|comm| Some(Some(comm)));
                }
            };
        }
    }

    /// The call `function`, which waits for a bridge.
    pub(crate) fn blocked_intercomm(
        &self, function: &str, bridge: &IntercommCreation,
    ) -> WaitReport {
        let needs = self.engine.pending_run(bridge.run).map(|pending| WaitCondition {
            peers: pending.peers,
            any: false,
            collective: None,
        });
        WaitReport {
            details: bridge.description.clone(),
            conditions: needs.into_iter().collect(),
            ..WaitReport::new(function)
        }
    }

    /// Sends something to the other leader and gets something from there.
    fn exchange_with_leader(&mut self, way: &LeaderLink, send: Memory, receive: Memory) -> RunId {
        let (peer, label) = (way.other, way.channel.label);
        let [out, room] = [&send, &receive].map(Memory::len);
        let mut plan = ScheduleBuilder::new();
        let region = Buffer::User(1).region(0, room);
        plan.push(StepAction::Receive { peer, region, label }, 1, Wait::All, &[]);
        let region = Buffer::User(0).region(0, out);
        plan.push(StepAction::Send { peer, region, label }, 1, Wait::All, &[]);
        self.launch_on_channel(&way.channel, plan.finish(), vec![send, receive])
    }

    /// Passes something from the leader to its group.
    fn bcast_from_leader(&mut self, bridge: &IntercommCreation, message: Memory) -> RunId {
        let (lane, size) = (&bridge.channel, bridge.local.size());
        let leader = (lane.rank + size - bridge.tree_rank) % size;
        let ranks: Vec<u32> = (leader..size).chain(0..leader).collect();
        let schedule = binomial_bcast(&ranks, bridge.tree_rank, lane.label, message.len());
        self.launch_on_channel(&bridge.channel, schedule, vec![message])
    }

    fn bcast_failure(&mut self, bridge: &mut IntercommCreation, failure: Box<MpiError>) -> RunId {
        let verdict = LeaderRecord { code: failure.code.0, ..LeaderRecord::EMPTY };
        bridge.failure = Some(failure);
        bridge.stage = IntercommStage::Outcome(None);
        self.bcast_from_leader(bridge, verdict.message())
    }

    fn launch_on_channel(
        &mut self, lane: &CreationChannel, schedule: Schedule, buffers: Vec<Memory>,
    ) -> RunId {
        self.engine.launch(Launch {
            plan: RunPlan::moving(schedule, buffers),
            members: Arc::clone(&lane.members),
            rank: lane.rank,
            context: lane.context,
            sequence: lane.sequence,
        })
    }
}

/// What a leader makes of its own greeting and the other one's.
fn combine_records(buffers: &[Memory]) -> LeaderRecord {
    let [own, other] = [0, 1].map(|index: usize| LeaderRecord::parse(&buffers[index]));
    let context = if own.context.bits() < other.context.bits() { own } else { other }.context;
    LeaderRecord { context, ..other }
}

/// The error of a process whose leader failed with this code.
#[cold]
fn leader_error(code: i32) -> Box<MpiError> {
    let why = "the leader of this group could not reach the leader of the other one";
    MpiError::new(ErrorCode(code), why.to_owned())
}

fn peer_list(group: &Group) -> Memory {
    Memory::owned(group.peers().flat_map(Peer::to_le_bytes).collect::<Vec<u8>>())
}

fn empty_peer_list(size: u32) -> Memory {
    Memory::owned(vec![0; size as usize * PEER_BYTES])
}

fn parse_peers(list: &Memory) -> Vec<Peer> {
    let mut bytes = vec![0; list.len()];
    list.pack(0, &mut bytes);
    let (peers, _) = bytes.as_chunks();
    peers.iter().map(|peer| Peer::from_le_bytes(*peer)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_greeting_reads_back() {
        let context = Context::new(u32::MAX >> 2, u32::MAX);
        let greeting = LeaderRecord { context, size: u32::MAX, code: i32::MIN };
        assert_eq!(LeaderRecord::parse(&greeting.message()), greeting);
    }

    #[test]
    fn a_list_of_processes_reads_back() {
        for peers in [&[][..], &[7], &[3, 2, 1, 0], &[0, 9, 4]] {
            let list = peer_list(&Group::new(peers, 0));
            assert_eq!(list.len(), empty_peer_list(peers.len() as u32).len());
            assert_eq!(parse_peers(&list), peers);
        }
    }
}
