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
//! where the string and the group say ([`Meeting`]).
//!
//! What only a leader can see to be wrong comes to its group with the verdict, so all of them
//! fail. Both groups see the same two lists, so that groups which overlap are refused everywhere.
//! The lower one of both contexts is taken.

use std::sync::Arc;

use super::Mpi;
use super::comm::{Comm, Context, Traffic};
use super::comm_create::tree;
use super::comm_from_group::Meeting;
use super::errhandler::Handler;
use super::group::Group;
use super::p2p::check_tag;
use super::table::Handle;
use crate::base::blocked::{Blocked, Need};
use crate::base::{ErrorClass, ErrorCode, MpiError, Peer, Result};
use crate::core::memory::Memory;
use crate::core::run::{Launch, Members, Plan, RunId};
use crate::device::Device;
use crate::offload::{Action, Buffer, Builder, Schedule, Wait};

/// Bytes of a [`Greeting`] on its way.
const GREETING_BYTES: usize = 16;
/// Bytes of a process in a list on its way.
const PEER_BYTES: usize = size_of::<Peer>();

/// What leaders tell each other, and then their groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Greeting {
    /// The context of the intercommunicator.
    context: Context,
    /// How many processes the other group has; nothing comes of it with none.
    size: u32,
    /// The code of an error, or 0.
    code: i32,
}

impl Greeting {
    /// No other group, and no error.
    const NOTHING: Self = Self { context: Context::NONE, size: 0, code: 0 };

    fn message(self) -> Memory {
        let mut bytes = [0; GREETING_BYTES];
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
struct Lane {
    members: Arc<dyn Members>,
    /// This process among the members.
    rank: u32,
    context: u64,
    sequence: u32,
    label: u16,
}

impl Lane {
    /// Where the members of `group` meet, seen by the one of this rank.
    fn at(meeting: Meeting, traffic: Traffic, group: &Arc<Group>, rank: u32) -> Self {
        Self {
            members: Arc::clone(group) as Arc<dyn Members>,
            rank,
            context: Context::from_bits(meeting.context).of(traffic),
            sequence: meeting.sequence(),
            label: meeting.label(),
        }
    }
}

/// The making of an intercommunicator, as one process sees it.
pub struct Bridge {
    local: Arc<Group>,
    /// This process, counted from the leader on.
    place: u32,
    /// Within the local group.
    lane: Lane,
    handler: Handler,
    /// Why this leader did not reach the other one.
    failure: Option<Box<MpiError>>,
    /// What people should know of it while it waits.
    words: String,
    run: RunId,
    stage: Stage,
}

/// What the run of a [`Bridge`] does.
enum Stage {
    /// The leaders exchange greetings.
    Greetings(Way),
    /// The leaders exchange lists of their processes.
    Lists(Greeting),
    /// A group hears from its leader, which keeps the list that comes next.
    Verdict(Option<Memory>),
    /// A group gets the list of the other group.
    Members(Greeting),
}

/// What a process has to do with the other group.
enum Role {
    /// Its leader knows.
    Member,
    /// It is the leader of its group.
    Leader(Way),
    /// It is a leader that does not reach another one, because of an error or because there is
    /// nobody.
    Alone(Option<Box<MpiError>>),
}

impl Role {
    /// The role of a leader that has found the other one, or not.
    fn of(way: Result<Way>) -> Self {
        way.map_or_else(|failure| Self::Alone(Some(failure)), Self::Leader)
    }
}

/// The way from one leader to the other.
struct Way {
    lane: Lane,
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
    ) -> Result<Bridge> {
        let comm = self.comms.get(local)?;
        comm.check_intra("the creation of an intercommunicator")?;
        let leader = comm.check_rank(local_leader)?;
        check_tag(tag)?;
        let role = match comm.rank == leader {
            true => Role::of(self.way(peer, remote_leader, tag)),
            false => Role::Member,
        };
        let mut words = format!("(local leader {leader} of {}, tag {tag}", comm.title());
        if let (Role::Leader(_), Ok(peer)) = (&role, self.comms.get(peer)) {
            words += &format!(", remote leader {remote_leader} of {}", peer.title());
        }
        words.push(')');
        let comm = self.comms.get_mut(local)?;
        let lane = Lane {
            members: comm.members(),
            rank: comm.rank,
            context: comm.context.of(Traffic::Collective),
            sequence: comm.next_call(),
            label: 0,
        };
        let (group, handler) = (Arc::clone(&comm.group), comm.handler.clone());
        Ok(self.start_bridge((group, leader), lane, handler, role, words))
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
    ) -> Result<Option<Bridge>> {
        let group = Arc::clone(self.objects.groups.get(local)?);
        let meeting = Meeting::of(string, group.peers())?;
        if group.size() == 0 {
            return Ok(None);
        }
        let leader = group.check(local_leader)?;
        let rank = group.rank().ok_or_else(|| {
            ErrorClass::Group.error("this process is not in the local group of the communicator")
        })?;
        let role = match rank == leader {
            true => self.role_between_groups(remote, string),
            false => Role::Member,
        };
        let lane = Lane::at(meeting, Traffic::Creation, &group, rank);
        let string = String::from_utf8_lossy(string);
        let words = format!("(string tag {string:?}, local leader {leader})");
        Ok(Some(self.start_bridge((group, leader), lane, handler, role, words)))
    }

    /// What this leader has to do with the leader of a remote group.
    fn role_between_groups(&self, (remote, leader): (Handle, i32), string: &[u8]) -> Role {
        let way = |group: &Group| {
            let (me, other) = (self.engine.me(), group.peer(group.check(leader)?));
            if other == me {
                let why = format!("remote leader {leader} is the local leader");
                return Err(ErrorClass::Rank.error(why));
            }
            let leaders = [me.min(other), me.max(other)];
            let meeting = Meeting::of(string, leaders)?;
            let (pair, rank) = (Arc::new(Group::new(&leaders, me)), u32::from(other < me));
            Ok(Way { lane: Lane::at(meeting, Traffic::Leaders, &pair, rank), other: 1 - rank })
        };
        match self.objects.groups.get(remote) {
            Ok(group) if group.size() == 0 => Role::Alone(None),
            group => Role::of(group.and_then(|group| way(group))),
        }
    }

    /// The way from this leader to the other one.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator, `Rank` if it has no such other process.
    fn way(&self, peer: Handle, remote_leader: i32, tag: i32) -> Result<Way> {
        let comm = self.comms.get(peer)?;
        let rank = comm.check_rank(remote_leader)?;
        if comm.targets().peer(rank) == self.engine.me() {
            let why = format!("remote leader {rank} of {} is the local leader", comm.title());
            return Err(ErrorClass::Rank.error(why));
        }
        let lane = Lane {
            members: comm.members(),
            rank: comm.member(),
            context: comm.context.of(Traffic::Leaders),
            // Sequence and label together are the tag of the messages: here the application's.
            sequence: tag as u32 >> 16,
            label: tag as u16,
        };
        Ok(Way { lane, other: comm.member_of(rank) })
    }

    /// Starts with what this process knows: the way to the other leader, if it is one itself.
    fn start_bridge(
        &mut self, (local, leader): (Arc<Group>, u32), lane: Lane, handler: Handler, role: Role,
        words: String,
    ) -> Bridge {
        let place = (lane.rank + local.size() - leader) % local.size();
        let mut bridge = Bridge {
            local,
            place,
            lane,
            handler,
            failure: None,
            words,
            run: 0,
            stage: Stage::Verdict(None),
        };
        bridge.run = match role {
            Role::Member | Role::Alone(None) => self.tell(&bridge, Greeting::NOTHING.message()),
            Role::Leader(way) => {
                let context = self.comms.choose_context();
                let greeting = Greeting { context, size: bridge.local.size(), code: 0 };
                let room = Memory::owned([0; GREETING_BYTES]);
                let run = self.exchange(&way, greeting.message(), room);
                bridge.stage = Stage::Greetings(way);
                run
            }
            Role::Alone(Some(failure)) => self.tell_failure(&mut bridge, failure),
        };
        bridge
    }

    /// The new communicator once the bridge is built, `Some(None)` if there is to be none.
    ///
    /// # Errors
    /// What this process or the leader of its group did wrong, `Comm` for groups that overlap,
    /// `NoMem` without a free handle.
    pub fn end_bridge(&mut self, bridge: &mut Bridge) -> Result<Option<Option<Handle>>> {
        loop {
            let Some(mut end) = self.engine.take_end(bridge.run) else { return Ok(None) };
            let error = end.error.take();
            let stage = std::mem::replace(&mut bridge.stage, Stage::Verdict(None));
            bridge.run = match (stage, error) {
                (Stage::Greetings(_) | Stage::Lists(_), Some(error)) => {
                    self.tell_failure(bridge, error)
                }
                (Stage::Verdict(_) | Stage::Members(_), Some(error)) => return Err(error),
                (Stage::Greetings(way), None) => {
                    let greeting = agreed(&end.buffers);
                    let list = list_of(&bridge.local);
                    let run = self.exchange(&way, list, room_of(greeting.size));
                    bridge.stage = Stage::Lists(greeting);
                    run
                }
                (Stage::Lists(greeting), None) => {
                    bridge.stage = Stage::Verdict(end.buffers.pop());
                    self.tell(bridge, greeting.message())
                }
                (Stage::Verdict(list), None) => {
                    let greeting = Greeting::parse(&end.buffers[0]);
                    if greeting.code != 0 {
                        let failure = bridge.failure.take();
                        return Err(failure.unwrap_or_else(|| of_leader(greeting.code)));
                    }
                    if greeting.size == 0 {
                        return Ok(Some(None));
                    }
                    bridge.stage = Stage::Members(greeting);
                    self.tell(bridge, list.unwrap_or_else(|| room_of(greeting.size)))
                }
                (Stage::Members(greeting), None) => {
                    let remote = Group::new(&peers_in(&end.buffers[0]), self.engine.me());
                    let remote = remote.in_session(bridge.local.session());
                    let (local, handler) = (Arc::clone(&bridge.local), bridge.handler.clone());
                    let comm = Comm::between(greeting.context, local, Arc::new(remote), handler)?;
                    return self.comms.insert(comm).map(|comm| Some(Some(comm)));
                }
            };
        }
    }

    /// The call `function`, which waits for a bridge.
    pub fn blocked_bridge(&self, function: &str, bridge: &Bridge) -> Blocked {
        let needs = self.engine.pending_run(bridge.run).map(|pending| Need {
            peers: pending.peers,
            any: false,
            call: None,
        });
        Blocked {
            words: bridge.words.clone(),
            needs: needs.into_iter().collect(),
            ..Blocked::new(function)
        }
    }

    /// Sends something to the other leader and gets something from there.
    fn exchange(&mut self, way: &Way, send: Memory, receive: Memory) -> RunId {
        let (peer, label) = (way.other, way.lane.label);
        let [out, room] = [&send, &receive].map(Memory::len);
        let mut plan = Builder::new();
        let region = Buffer::User(1).region(0, room);
        plan.push(Action::Receive { peer, region, label }, 1, Wait::All, &[]);
        let region = Buffer::User(0).region(0, out);
        plan.push(Action::Send { peer, region, label }, 1, Wait::All, &[]);
        self.launch_in(&way.lane, plan.finish(), vec![send, receive])
    }

    /// Passes something from the leader to its group.
    fn tell(&mut self, bridge: &Bridge, message: Memory) -> RunId {
        let (lane, size) = (&bridge.lane, bridge.local.size());
        let leader = (lane.rank + size - bridge.place) % size;
        let ranks: Vec<u32> = (leader..size).chain(0..leader).collect();
        let schedule = tree(&ranks, bridge.place, lane.label, message.len());
        self.launch_in(&bridge.lane, schedule, vec![message])
    }

    fn tell_failure(&mut self, bridge: &mut Bridge, failure: Box<MpiError>) -> RunId {
        let verdict = Greeting { code: failure.code.0, ..Greeting::NOTHING };
        bridge.failure = Some(failure);
        bridge.stage = Stage::Verdict(None);
        self.tell(bridge, verdict.message())
    }

    fn launch_in(&mut self, lane: &Lane, schedule: Schedule, buffers: Vec<Memory>) -> RunId {
        self.engine.launch(Launch {
            plan: Plan::moving(schedule, buffers),
            members: Arc::clone(&lane.members),
            rank: lane.rank,
            context: lane.context,
            sequence: lane.sequence,
        })
    }
}

/// What a leader makes of its own greeting and the other one's.
fn agreed(buffers: &[Memory]) -> Greeting {
    let [own, other] = [0, 1].map(|index: usize| Greeting::parse(&buffers[index]));
    let context = if own.context.bits() < other.context.bits() { own } else { other }.context;
    Greeting { context, ..other }
}

/// The error of a process whose leader failed with this code.
#[cold]
fn of_leader(code: i32) -> Box<MpiError> {
    let why = "the leader of this group could not reach the leader of the other one";
    MpiError::new(ErrorCode(code), why.to_owned())
}

fn list_of(group: &Group) -> Memory {
    Memory::owned(group.peers().flat_map(Peer::to_le_bytes).collect::<Vec<u8>>())
}

fn room_of(size: u32) -> Memory {
    Memory::owned(vec![0; size as usize * PEER_BYTES])
}

fn peers_in(list: &Memory) -> Vec<Peer> {
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
        let greeting = Greeting { context, size: u32::MAX, code: i32::MIN };
        assert_eq!(Greeting::parse(&greeting.message()), greeting);
    }

    #[test]
    fn a_list_of_processes_reads_back() {
        for peers in [&[][..], &[7], &[3, 2, 1, 0], &[0, 9, 4]] {
            let list = list_of(&Group::new(peers, 0));
            assert_eq!(list.len(), room_of(peers.len() as u32).len());
            assert_eq!(peers_in(&list), peers);
        }
    }
}
