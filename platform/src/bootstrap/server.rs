//! The PMI-1 server of one job: the state of each rank, and which rank waits for which.
//!
//! ```text
//!   per rank:   Silent --init--> Joined --finalize--> Left --init--> Joined
//! ```
//!
//! A rank may run one MPI program after the other, in a shell script for instance: all first programs
//! are one world, all second programs the next. Each world has keys, barriers and memory files of its
//! own. An `init` after `finalize` starts the next program, unless the client says that its process
//! joins again.
//!
//! A rank in the world model requires all other ranks: none of them may exit without joining. A
//! rank that has only sessions does not, and its `init` says so; a second `init` may change that.
//!
//! The server does no I/O: `receive` takes bytes from a rank and returns events, among them the
//! replies to send. Ranks are known by number only; the launcher manages processes. All ranks of a
//! job are on one host here, so `NODE` groups are the whole job.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::mapping::single_host_mapping;
use super::wire::{Malformed, PmiLine, PmiRequest, PmiRequests};

/// Longest name of a key-value space, longest key, longest value, in bytes.
///
/// The limits of Hydra and Slurm, so that programs tried there fit here.
const MAXES: [u32; 3] = [256, 64, 1024];

/// What the server keeps for one rank, in bytes: keys with values, published names, the groups of
/// barriers that it opened.
const KEPT_MAX_BYTES: usize = 1 << 20;

/// Bytes that an entry takes besides its texts, about.
const ENTRY_BYTES: usize = 64;

/// Refused requests of one rank that are reported.
const REPORTED_REFUSALS: u32 = 8;

/// Result of a call to the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerEvent {
    /// Send these bytes to this rank.
    Reply {
        /// The destination rank.
        rank: u32,
        /// A complete line.
        bytes: Vec<u8>,
    },
    /// This rank joined the job.
    Joined(u32),
    /// This rank left the job.
    Left(u32),
    /// This rank requested the end of the job.
    Aborted {
        /// The requesting rank.
        rank: u32,
        /// Exit code for the launcher.
        code: i32,
        /// Message for the user, if any.
        message: Option<String>,
    },
    /// This rank sent invalid PMI; its connection is no longer usable.
    Broken {
        /// The rank.
        rank: u32,
        /// Description of the invalid data, in a sentence without a final stop.
        why: String,
    },
    /// A rank waits for an exited rank.
    Stuck {
        /// The exited rank.
        ended: u32,
        /// A rank that waits for it.
        waiting: u32,
    },
    /// This rank sent an unsupported request and received a refusal.
    Unsupported {
        /// The rank.
        rank: u32,
        /// Description of the request, in a sentence without a final stop.
        why: String,
    },
}

/// Whether a rank has joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinState {
    /// Not joined; it may not be an MPI program.
    NotJoined,
    /// Joined and has not left.
    Joined,
    /// Left the job.
    Left,
}

#[derive(Debug)]
struct ServerRank {
    join_state: JoinState,
    /// Joined, and does not require all ranks of the job.
    any: bool,
    app: u32,
    requests: PmiRequests,
    /// Will reach no further barrier.
    has_ended: bool,
    /// Of at most [`KEPT_MAX_BYTES`].
    kept_bytes: usize,
    refusals: u32,
    /// Number of MPI programs of this rank that have joined.
    programs: u32,
}

/// The ranks that wait at one barrier.
#[derive(Debug)]
struct PmiBarrier {
    members: BarrierMembers,
    arrived: HashSet<u32>,
    /// A member that has ended.
    gone: Option<u32>,
    /// The rank that came first, and what this barrier takes of its bytes.
    opener: (u32, usize),
    tag: String,
}

/// The ranks of a group.
#[derive(Debug)]
enum BarrierMembers {
    /// All ranks of a job of this size.
    All(u32),
    List(BTreeSet<u32>),
}

impl BarrierMembers {
    fn contain(&self, rank: u32) -> bool {
        match self {
            Self::All(size) => rank < *size,
            Self::List(ranks) => ranks.contains(&rank),
        }
    }

    fn count(&self) -> usize {
        match self {
            Self::All(size) => *size as usize,
            Self::List(ranks) => ranks.len(),
        }
    }

    fn ranks(&self) -> Vec<u32> {
        match self {
            Self::All(size) => (0..*size).collect(),
            Self::List(ranks) => ranks.iter().copied().collect(),
        }
    }
}

/// Texts by name, each with the rank that it is kept for.
type KeptTexts = HashMap<String, (String, u32)>;

/// The server of one job.
#[derive(Debug)]
pub struct Server {
    space: String,
    ranks: Vec<ServerRank>,
    /// Values of each program, by its number.
    values: HashMap<u32, KeptTexts>,
    /// Ports by the names of services.
    services: KeptTexts,
    /// Barriers by the number of the program, and the group.
    barriers: HashMap<(u32, String), PmiBarrier>,
    /// The first rank that ended, by the number of its programs.
    ended: BTreeMap<u32, u32>,
    /// The highest number of programs of a rank.
    latest: u32,
    /// Where the memory files of each later program are.
    files: HashMap<u32, [String; 2]>,
}

impl Server {
    /// A server for `apps.len()` ranks; `apps` has the number of each rank's program on the command
    /// line. `name` is the job's name, without spaces.
    pub fn new(name: &str, apps: &[u32]) -> Self {
        let rank = |app: &u32| ServerRank {
            join_state: JoinState::NotJoined,
            any: false,
            app: *app,
            requests: PmiRequests::default(),
            has_ended: false,
            kept_bytes: 0,
            refusals: 0,
            programs: 0,
        };
        Self {
            space: name.to_owned(),
            ranks: apps.iter().map(rank).collect(),
            values: HashMap::new(),
            services: HashMap::new(),
            barriers: HashMap::new(),
            ended: BTreeMap::new(),
            latest: 0,
            files: HashMap::new(),
        }
    }

    /// Number of MPI programs of `rank` that have joined.
    pub fn programs(&self, rank: u32) -> u32 {
        self.ranks[rank as usize].programs
    }

    /// The memory files of the program `number` of all ranks, which is not their first, are at
    /// `locations`: segment and interface. Those of programs that no rank will join are forgotten;
    /// the lowest number that is left.
    pub fn provide_files(&mut self, number: u32, locations: [String; 2]) -> u32 {
        let oldest = self.ranks.iter().filter(|rank| !rank.has_ended).map(|rank| rank.programs);
        let oldest = oldest.min().unwrap_or(number);
        self.files.retain(|number, _| *number >= oldest);
        let old = self.values.extract_if(|number, _| *number < oldest);
        let old: Vec<_> = old.flat_map(|(_, texts)| texts).collect();
        for (key, (text, owner)) in old {
            self.release(owner, entry_bytes(&key, &text));
        }
        self.files.insert(number, locations);
        oldest
    }

    /// Whether `rank` has joined.
    pub fn join_state(&self, rank: u32) -> JoinState {
        self.ranks[rank as usize].join_state
    }

    /// Processes bytes from `rank`. Must not be called for a rank after its
    /// [`ServerEvent::Broken`].
    pub fn receive(&mut self, rank: u32, bytes: &[u8]) -> Vec<ServerEvent> {
        let mut events = Vec::new();
        self.ranks[rank as usize].requests.push(bytes);
        while let Some(request) = self.ranks[rank as usize].requests.next_request() {
            match request {
                Ok(request) => self.serve(rank, request, &mut events),
                Err(Malformed { why, reply: Some(name) }) => {
                    events.push(reply(rank, failure(name, &why)));
                }
                Err(Malformed { why, reply: None }) => {
                    events.push(ServerEvent::Broken { rank, why });
                    break;
                }
            }
        }
        events
    }

    /// Records the exit of `rank`: no rank should wait for it any more. A joined rank that requires
    /// all ranks waits for each of them, at the latest when it leaves, including ranks that never
    /// joined.
    pub fn rank_ended(&mut self, rank: u32) -> Vec<ServerEvent> {
        self.ranks[rank as usize].has_ended = true;
        let programs = self.programs(rank);
        self.ended.entry(programs).or_insert(rank);
        let requires = |other: &ServerRank| {
            other.join_state == JoinState::Joined && !other.any && other.programs > programs
        };
        if programs < self.latest
            && let Some(joined) = self.first(requires)
        {
            return vec![ServerEvent::Stuck { ended: rank, waiting: joined }];
        }
        let mut waiting = None;
        for barrier in self.barriers.values_mut().filter(|barrier| barrier.members.contain(rank)) {
            barrier.gone.get_or_insert(rank);
            waiting = waiting.or(barrier.arrived.iter().copied().filter(|one| *one != rank).min());
        }
        waiting.map(|waiting| ServerEvent::Stuck { ended: rank, waiting }).into_iter().collect()
    }

    fn serve(&mut self, rank: u32, request: PmiRequest, events: &mut Vec<ServerEvent>) {
        let line = match request {
            PmiRequest::Init { version, ours, any, again } => {
                let later = !again && self.join_state(rank) == JoinState::Left;
                self.init(rank, version, [ours, any, later], events)
            }
            PmiRequest::Maxes => maxes(success("maxes")),
            PmiRequest::AppNumber => {
                success("appnum").number("appnum", self.ranks[rank as usize].app)
            }
            // Minus one: no limit is known (Hydra's answer too).
            PmiRequest::UniverseSize => success("universe_size").number("size", -1),
            PmiRequest::SpaceName => success("my_kvsname").text("kvsname", &self.space),
            PmiRequest::Put { key, value } => self.put(rank, key, value),
            PmiRequest::Get { key } => self.get(rank, &key),
            PmiRequest::Publish { service, port } => {
                self.store("publish_result", |server| &mut server.services, rank, service, port)
            }
            PmiRequest::Lookup { service } => {
                found("lookup_result", "port", self.services.get(&service), "no such service")
            }
            PmiRequest::Unpublish { service } => match self.services.remove(&service) {
                Some((port, owner)) => {
                    self.release(owner, entry_bytes(&service, &port));
                    success("unpublish_result")
                }
                None => failure("unpublish_result", "no such service"),
            },
            PmiRequest::Finalize => {
                self.ranks[rank as usize].join_state = JoinState::Left;
                events.push(ServerEvent::Left(rank));
                success("finalize_ack")
            }
            PmiRequest::Abort { code, message } => {
                events.push(ServerEvent::Aborted { rank, code, message });
                return;
            }
            PmiRequest::Spawn => {
                let why = "this launcher cannot start more processes (MPI_Comm_spawn)";
                events.extend(self.refusal(rank, why));
                failure("spawn_result", why)
            }
            PmiRequest::Barrier { group } => return self.enter(rank, group.as_deref(), events),
        };
        events.push(reply(rank, line));
    }

    fn init(
        &mut self, rank: u32, version: u32, [ours, any, later]: [bool; 3],
        events: &mut Vec<ServerEvent>,
    ) -> PmiLine {
        let answer = |line: PmiLine| line.number("pmi_version", 1).number("pmi_subversion", 2);
        if version != 1 {
            return answer(failure("response_to_init", "only PMI version 1 is spoken here"));
        }
        let joining = &mut self.ranks[rank as usize];
        joining.join_state = JoinState::Joined;
        joining.any = any;
        joining.programs += u32::from(later || joining.programs == 0);
        let programs = joining.programs;
        self.latest = self.latest.max(programs);
        events.push(ServerEvent::Joined(rank));
        if !any && let Some((_, gone)) = self.ended.range(..programs).next() {
            events.push(ServerEvent::Stuck { ended: *gone, waiting: rank });
        }
        let line = answer(success("response_to_init"));
        if !ours {
            return line;
        }
        // One wake-up of two processes instead of six.
        let line = maxes(line.number("suiro", 1))
            .number("appnum", self.ranks[rank as usize].app)
            .text("kvsname", &self.space)
            .text("mapping", &single_host_mapping(self.ranks.len() as u32));
        match self.files.get(&programs) {
            Some([segment, interface]) => {
                line.text("segment", segment).text("interface", interface)
            }
            None => line,
        }
    }

    /// The first rank that satisfies `is_so`.
    fn first(&self, is_so: impl Fn(&ServerRank) -> bool) -> Option<u32> {
        self.ranks.iter().position(is_so).map(|rank| rank as u32)
    }

    /// The event for a refused request, unless `rank` has had many.
    fn refusal(&mut self, rank: u32, why: &str) -> Option<ServerEvent> {
        let refusals = &mut self.ranks[rank as usize].refusals;
        *refusals = refusals.saturating_add(1);
        let end = match *refusals {
            ..REPORTED_REFUSALS => "",
            REPORTED_REFUSALS => "; its further refused requests are not reported",
            _ => return None,
        };
        Some(ServerEvent::Unsupported { rank, why: format!("{why}{end}") })
    }

    /// Counts `bytes` more for `rank`; whether it may have them.
    fn keep(&mut self, rank: u32, bytes: usize) -> bool {
        let kept_bytes = &mut self.ranks[rank as usize].kept_bytes;
        let is_allowed = *kept_bytes + bytes <= KEPT_MAX_BYTES;
        *kept_bytes += if is_allowed { bytes } else { 0 };
        is_allowed
    }

    fn release(&mut self, rank: u32, bytes: usize) {
        let kept_bytes = &mut self.ranks[rank as usize].kept_bytes;
        *kept_bytes = kept_bytes.saturating_sub(bytes);
    }

    /// Keeps a text for `rank`, in place of the one of this name; the reply is `name`.
    fn store(
        &mut self, name: &str, texts: impl Fn(&mut Self) -> &mut KeptTexts, rank: u32, key: String,
        text: String,
    ) -> PmiLine {
        let bytes = entry_bytes(&key, &text);
        if !self.keep(rank, bytes) {
            return failure(name, &too_much());
        }
        let old = texts(self).get(&key).map(|(old, owner)| (*owner, entry_bytes(&key, old)));
        if let Some((owner, old_bytes)) = old {
            self.release(owner, old_bytes);
        }
        texts(self).insert(key, (text, rank));
        success(name)
    }

    fn put(&mut self, rank: u32, key: String, value: String) -> PmiLine {
        if key.len() > MAXES[1] as usize || value.len() > MAXES[2] as usize {
            return failure("put_result", "the key or the value is too long");
        }
        if key.starts_with("PMI_") {
            return failure("put_result", "keys that start with PMI_ are reserved");
        }
        let program = self.programs(rank);
        self.store(
            "put_result",
            |server| server.values.entry(program).or_default(),
            rank,
            key,
            value,
        )
    }

    fn get(&self, rank: u32, key: &str) -> PmiLine {
        if key == "PMI_process_mapping" {
            let mapping = single_host_mapping(self.ranks.len() as u32);
            return success("get_result").text("value", &mapping);
        }
        let values = self.values.get(&self.programs(rank));
        found("get_result", "value", values.and_then(|values| values.get(key)), "no such key")
    }

    fn enter(&mut self, rank: u32, group: Option<&str>, events: &mut Vec<ServerEvent>) {
        let group = group.unwrap_or("WORLD:0");
        let name = (self.programs(rank), group.to_owned());
        if !self.barriers.contains_key(&name) {
            match self.opened(rank, group) {
                Ok(barrier) => self.barriers.insert(name.clone(), barrier),
                Err(why) => return events.push(reply(rank, failure("barrier_out", &why))),
            };
        }
        let Some(barrier) = self.barriers.get_mut(&name) else { return };
        if !barrier.members.contain(rank) {
            return events.push(reply(rank, failure("barrier_out", NO_GROUP)));
        }
        barrier.arrived.insert(rank);
        if let Some(gone) = barrier.gone {
            events.push(ServerEvent::Stuck { ended: gone, waiting: rank });
        }
        if barrier.arrived.len() < barrier.members.count() {
            return;
        }
        let Some(barrier) = self.barriers.remove(&name) else { return };
        self.release(barrier.opener.0, barrier.opener.1);
        let line = success("barrier_out").text("tag", &barrier.tag);
        let members = barrier.members.ranks();
        events.extend(members.into_iter().map(|member| reply(member, line.clone())));
    }

    /// A barrier of `group` that `rank` is the first to reach.
    fn opened(&mut self, rank: u32, group: &str) -> Result<PmiBarrier, String> {
        let found = self.members(group).filter(|(members, _)| members.contain(rank));
        let (members, tag) = found.ok_or(NO_GROUP)?;
        let listed = if let BarrierMembers::List(ranks) = &members { ranks.len() } else { 0 };
        let bytes = entry_bytes(group, tag) + listed * size_of::<u32>();
        if !self.keep(rank, bytes) {
            return Err(too_much());
        }
        let gone = match &members {
            BarrierMembers::All(_) => self.first(|rank| rank.has_ended),
            BarrierMembers::List(ranks) => {
                ranks.iter().copied().find(|one| self.ranks[*one as usize].has_ended)
            }
        };
        let (arrived, opener) = (HashSet::new(), (rank, bytes));
        Ok(PmiBarrier { members, arrived, gone, opener, tag: tag.to_owned() })
    }

    /// The ranks of a group's name, and its tag.
    fn members<'a>(&self, group: &'a str) -> Option<(BarrierMembers, &'a str)> {
        let (name, tag) = group.split_once(':').unwrap_or((group, "0"));
        let size = self.ranks.len() as u32;
        let members = match name {
            "WORLD" | "NODE" => BarrierMembers::All(size),
            list => {
                let member = |text: &str| text.parse().ok().filter(|member| *member < size);
                let ranks = list.split(',').map(member).collect::<Option<_>>()?;
                BarrierMembers::List(ranks)
            }
        };
        Some((members, tag))
    }
}

const NO_GROUP: &str = "no such group of ranks";

fn entry_bytes(key: &str, value: &str) -> usize {
    key.len() + value.len() + ENTRY_BYTES
}

fn too_much() -> String {
    format!("the launcher keeps at most {KEPT_MAX_BYTES} bytes for a rank")
}

fn reply(rank: u32, line: PmiLine) -> ServerEvent {
    ServerEvent::Reply { rank, bytes: line.into_bytes() }
}

fn success(name: &str) -> PmiLine {
    PmiLine::new(name).number("rc", 0)
}

fn maxes(line: PmiLine) -> PmiLine {
    line.number("kvsname_max", MAXES[0])
        .number("keylen_max", MAXES[1])
        .number("vallen_max", MAXES[2])
}

fn failure(name: &str, why: &str) -> PmiLine {
    PmiLine::new(name).number("rc", 1).text("msg", &why.replace(' ', "_"))
}

fn found(name: &str, key: &str, value: Option<&(String, u32)>, missing: &str) -> PmiLine {
    match value {
        Some((value, _)) => success(name).text(key, value),
        None => failure(name, missing),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(event: &ServerEvent) -> (u32, String) {
        match event {
            ServerEvent::Reply { rank, bytes } => {
                (*rank, String::from_utf8(bytes.clone()).unwrap())
            }
            other => panic!("{other:?} is no reply"),
        }
    }

    fn answer(server: &mut Server, rank: u32, line: &str) -> String {
        let events = server.receive(rank, format!("{line}\n").as_bytes());
        text(events.last().unwrap()).1.trim_end().to_owned()
    }

    #[test]
    fn init_and_finalize_move_a_rank_through_its_states() {
        let mut server = Server::new("job", &[0, 0]);
        assert_eq!(server.join_state(1), JoinState::NotJoined);
        let events = server.receive(1, b"cmd=init pmi_version=1 pmi_subversion=1\n");
        assert_eq!(events[0], ServerEvent::Joined(1));
        assert_eq!(
            text(&events[1]).1,
            "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=2\n"
        );
        assert_eq!(
            (server.join_state(0), server.join_state(1)),
            (JoinState::NotJoined, JoinState::Joined)
        );
        assert_eq!(answer(&mut server, 1, "cmd=finalize"), "cmd=finalize_ack rc=0");
        assert_eq!(server.join_state(1), JoinState::Left);
        server.receive(1, b"cmd=init pmi_version=1 pmi_subversion=1\n");
        assert_eq!(server.join_state(1), JoinState::Joined);
    }

    const HELLO: &str = "cmd=init pmi_version=1 pmi_subversion=1 suiro=1";

    #[test]
    fn a_later_program_has_keys_barriers_and_files_of_its_own() {
        let mut server = Server::new("job", &[0, 0]);
        for rank in 0..2 {
            assert!(!answer(&mut server, rank, HELLO).contains("segment="));
        }
        answer(&mut server, 0, "cmd=put key=a value=old");
        assert_eq!(server.receive(1, b"cmd=barrier_in\n"), []);
        answer(&mut server, 0, "cmd=finalize");
        assert_eq!(server.provide_files(2, ["1:2".to_owned(), "1:3".to_owned()]), 1);
        let line = answer(&mut server, 0, HELLO);
        assert!(line.ends_with(" segment=1:2 interface=1:3"), "{line}");
        assert_eq!((server.programs(0), server.programs(1)), (2, 1));
        assert!(answer(&mut server, 0, "cmd=get key=a").contains("rc=1"));
        assert_eq!(server.receive(0, b"cmd=barrier_in\n"), []);
        answer(&mut server, 0, "cmd=put key=a value=new");
        assert!(answer(&mut server, 1, "cmd=get key=a").ends_with("value=old"));
        answer(&mut server, 1, "cmd=finalize");
        assert!(answer(&mut server, 1, HELLO).ends_with(" segment=1:2 interface=1:3"));
        assert!(answer(&mut server, 1, "cmd=get key=a").ends_with("value=new"));
        assert_eq!(server.receive(1, b"cmd=barrier_in\n").len(), 2);
        assert_eq!(server.provide_files(3, ["1:4".to_owned(), "1:5".to_owned()]), 2);
    }

    #[test]
    fn a_process_that_joins_again_is_no_later_program() {
        let mut server = Server::new("job", &[0]);
        answer(&mut server, 0, HELLO);
        answer(&mut server, 0, "cmd=put key=a value=b");
        answer(&mut server, 0, "cmd=finalize");
        answer(&mut server, 0, &format!("{HELLO} again=1"));
        assert_eq!(server.programs(0), 1);
        assert!(answer(&mut server, 0, "cmd=get key=a").ends_with("value=b"));
    }

    #[test]
    fn a_rank_that_ends_before_a_later_program_is_missed() {
        let mut server = Server::new("job", &[0, 0]);
        for rank in 0..2 {
            answer(&mut server, rank, HELLO);
            answer(&mut server, rank, "cmd=finalize");
        }
        assert_eq!(server.rank_ended(1), []);
        let events = server.receive(0, format!("{HELLO}\n").as_bytes());
        assert_eq!(events[1], ServerEvent::Stuck { ended: 1, waiting: 0 });
    }

    #[test]
    fn another_protocol_is_refused_and_does_not_join() {
        let mut server = Server::new("job", &[0]);
        let line = answer(&mut server, 0, "cmd=init pmi_version=2 pmi_subversion=0");
        assert!(line.starts_with("cmd=response_to_init rc=1"), "{line}");
        assert_eq!(server.join_state(0), JoinState::NotJoined);
    }

    #[test]
    fn values_are_found_by_others() {
        let mut server = Server::new("job", &[0, 1]);
        assert_eq!(
            answer(&mut server, 0, "cmd=put kvsname=job key=a value=b"),
            "cmd=put_result rc=0"
        );
        assert_eq!(
            answer(&mut server, 1, "cmd=get kvsname=job key=a"),
            "cmd=get_result rc=0 value=b"
        );
        assert!(answer(&mut server, 1, "cmd=get key=c").starts_with("cmd=get_result rc=1"));
        assert!(answer(&mut server, 1, "cmd=put key=PMI_x value=y").contains("rc=1"));
        let long = format!("cmd=put key=a value={}", "v".repeat(1025));
        assert!(answer(&mut server, 1, &long).contains("rc=1"));
        assert_eq!(answer(&mut server, 1, "cmd=get_appnum"), "cmd=appnum rc=0 appnum=1");
        assert_eq!(
            answer(&mut server, 1, "cmd=get key=PMI_process_mapping"),
            "cmd=get_result rc=0 value=(vector,(0,1,2))"
        );
    }

    #[test]
    fn a_port_with_spaces_comes_back_escaped() {
        let mut server = Server::new("job", &[0]);
        answer(&mut server, 0, "cmd=publish_name service=a b port=c d");
        assert_eq!(
            answer(&mut server, 0, "cmd=lookup_name service=a b"),
            "cmd=lookup_result rc=0 port=c\\ d"
        );
        assert_eq!(
            answer(&mut server, 0, "cmd=unpublish_name service=a b"),
            "cmd=unpublish_result rc=0"
        );
        assert!(answer(&mut server, 0, "cmd=lookup_name service=a b").contains("rc=1"));
        assert!(answer(&mut server, 0, "cmd=unpublish_name service=a b").contains("rc=1"));
    }

    #[test]
    fn a_barrier_lets_all_go_when_the_last_comes() {
        let mut server = Server::new("job", &[0, 0, 0]);
        assert_eq!(server.receive(2, b"cmd=barrier_in\n"), []);
        assert_eq!(server.receive(0, b"cmd=barrier_in group=0,1:7\n"), []);
        let pair = server.receive(1, b"cmd=barrier_in group=0,1:7\n");
        assert_eq!(pair.iter().map(text).map(|(rank, _)| rank).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(text(&pair[0]).1, "cmd=barrier_out rc=0 tag=7\n");
        assert_eq!(server.receive(0, b"cmd=barrier_in\n"), []);
        assert_eq!(server.receive(1, b"cmd=barrier_in\n").len(), 3);
        assert_eq!(server.receive(1, b"cmd=barrier_in\n"), []);
    }

    #[test]
    fn a_group_without_the_caller_or_beyond_the_job_is_refused() {
        let mut server = Server::new("job", &[0, 0]);
        assert!(answer(&mut server, 0, "cmd=barrier_in group=1:0").contains("rc=1"));
        assert!(answer(&mut server, 0, "cmd=barrier_in group=0,5:0").contains("rc=1"));
    }

    #[test]
    fn waiting_for_one_that_is_gone_is_noticed_in_either_order() {
        let mut server = Server::new("job", &[0, 0]);
        server.receive(1, b"cmd=barrier_in\n");
        assert_eq!(server.rank_ended(0), [ServerEvent::Stuck { ended: 0, waiting: 1 }]);
        let mut server = Server::new("job", &[0, 0]);
        assert_eq!(server.rank_ended(0), []);
        let events = server.receive(1, b"cmd=barrier_in\n");
        assert_eq!(events, [ServerEvent::Stuck { ended: 0, waiting: 1 }]);
    }

    #[test]
    fn one_that_ends_without_joining_is_missed_by_none_that_counts_on_nobody() {
        let any = b"cmd=init pmi_version=1 pmi_subversion=1 suiro=1 any=1\n";
        let mut server = Server::new("job", &[0, 0, 0]);
        server.receive(1, any);
        assert_eq!(server.rank_ended(0), []);
        assert_eq!(server.receive(2, any).len(), 2);
        let all = b"cmd=init pmi_version=1 pmi_subversion=1 suiro=1\n";
        assert_eq!(server.receive(1, all)[1], ServerEvent::Stuck { ended: 0, waiting: 1 });
    }

    #[test]
    fn one_that_ends_without_joining_is_missed_by_those_who_join_before_or_after() {
        let hello = b"cmd=init pmi_version=1 pmi_subversion=1\n";
        let mut server = Server::new("job", &[0, 0, 0]);
        server.receive(1, hello);
        assert_eq!(server.rank_ended(0), [ServerEvent::Stuck { ended: 0, waiting: 1 }]);
        let mut server = Server::new("job", &[0, 0, 0]);
        assert_eq!(server.rank_ended(2), []);
        assert_eq!(server.receive(1, hello)[1], ServerEvent::Stuck { ended: 2, waiting: 1 });
        let mut server = Server::new("job", &[0, 0]);
        server.receive(1, hello);
        server.receive(0, hello);
        server.receive(0, b"cmd=finalize\n");
        assert_eq!(server.rank_ended(0), []);
    }

    #[test]
    fn an_abort_is_an_event_without_reply() {
        let mut server = Server::new("job", &[0]);
        let events = server.receive(0, b"cmd=abort exitcode=42 message=too bad\n");
        let message = Some("too bad".to_owned());
        assert_eq!(events, [ServerEvent::Aborted { rank: 0, code: 42, message }]);
    }

    #[test]
    fn spawning_is_refused_and_noise_ends_the_conversation() {
        let mut server = Server::new("job", &[0]);
        let refused = answer(&mut server, 0, "mcmd=spawn\nnprocs=1\nexecname=x\nendcmd");
        assert!(refused.starts_with("cmd=spawn_result rc=1"));
        let events = server.receive(0, b"\x00\n");
        assert!(matches!(events[..], [ServerEvent::Broken { rank: 0, .. }]));
    }

    #[test]
    fn what_is_kept_for_a_rank_is_bounded() {
        let mut server = Server::new("job", &[0, 0]);
        let floods: [&dyn Fn(u32) -> String; 3] = [
            &|round| format!("cmd=put key=k{round} value={}", "v".repeat(1000)),
            &|round| format!("cmd=publish_name service=s{round} port={}", "p".repeat(1000)),
            &|round| format!("cmd=barrier_in group=WORLD:t{round}"),
        ];
        for flood in floods {
            let refused = (0..30_000).position(|round| {
                let events = server.receive(0, format!("{}\n", flood(round)).as_bytes());
                events
                    .iter()
                    .map(text)
                    .any(|(_, line)| line.contains("rc=1 msg=the_launcher_keeps"))
            });
            assert!(refused.is_some());
            // Other ranks are not affected, and what the rank has is still there.
            assert!(answer(&mut server, 1, "cmd=put key=x value=y").contains("rc=0"));
            assert!(answer(&mut server, 1, "cmd=get key=k0").contains("rc=0"));
        }
        let requests = b"mcmd=spawn\nnprocs=1\nexecname=x\nendcmd\n".repeat(1000);
        let events = server.receive(0, &requests);
        let is_report = |event: &&ServerEvent| matches!(event, ServerEvent::Unsupported { .. });
        let reports = events.iter().filter(is_report).count();
        assert_eq!((reports, events.len() - reports), (REPORTED_REFUSALS as usize, 1000));
    }

    #[test]
    fn what_is_replaced_or_released_does_not_count() {
        let mut server = Server::new("job", &[0, 0]);
        for round in 0..2000 {
            let value = "v".repeat(1000 - round % 2);
            for line in [
                format!("cmd=put key=a value={value}"),
                format!("cmd=publish_name service=a port={value}"),
                format!("cmd=publish_name service=b port={value}"),
                "cmd=unpublish_name service=b".to_owned(),
            ] {
                assert!(answer(&mut server, 0, &line).contains("rc=0"), "{round}: {line}");
            }
            let line = format!("cmd=barrier_in group=0,1:{value}\n");
            assert_eq!(server.receive(0, line.as_bytes()), []);
            assert_eq!(server.receive(1, line.as_bytes()).len(), 2);
        }
        assert!(server.barriers.is_empty());
    }

    proptest! {
        #[test]
        fn every_request_with_a_name_gets_one_reply_or_ends_the_rank(
            lines in proptest::collection::vec("cmd=[a-z_]{1,12}( [a-z]{1,6}=[!-~]{0,9}){0,4}", 1..8),
        ) {
            let mut server = Server::new("job", &[0]);
            for line in lines {
                let events = server.receive(0, format!("{line}\n").as_bytes());
                prop_assert!(!events.is_empty());
                if matches!(events.last(), Some(ServerEvent::Broken { .. })) {
                    break;
                }
            }
        }
    }
}
