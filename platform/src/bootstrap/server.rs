//! The PMI-1 server of one job: the state of each rank, and which rank waits for which.
//!
//! ```text
//!   per rank:   Silent --init--> Joined --finalize--> Left --init--> Joined
//! ```
//!
//! A rank in the world model requires all other ranks: none of them may exit without joining. A
//! rank that has only sessions does not, and its `init` says so; a second `init` may change that.
//!
//! The server does no I/O: `receive` takes bytes from a rank and returns events, among them the
//! replies to send. Ranks are known by number only; the launcher manages processes. All ranks of a
//! job are on one host here, so `NODE` groups are the whole job.

use std::collections::{BTreeSet, HashMap};

use super::mapping::single_host_mapping;
use super::wire::{Malformed, PmiLine, PmiRequest, PmiRequests};

/// Longest name of a key-value space, longest key, longest value, in bytes.
///
/// The limits of Hydra and Slurm, so that programs tried there fit here.
const MAXES: [u32; 3] = [256, 64, 1024];

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
}

/// The ranks that wait at one barrier.
#[derive(Debug, Default)]
struct PmiBarrier {
    members: BTreeSet<u32>,
    arrived: BTreeSet<u32>,
    tag: String,
}

/// The server of one job.
#[derive(Debug)]
pub struct Server {
    space: String,
    ranks: Vec<ServerRank>,
    values: HashMap<String, String>,
    services: HashMap<String, String>,
    barriers: HashMap<String, PmiBarrier>,
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
        };
        let mapping = single_host_mapping(apps.len() as u32);
        Self {
            space: name.to_owned(),
            ranks: apps.iter().map(rank).collect(),
            values: HashMap::from([("PMI_process_mapping".to_owned(), mapping)]),
            services: HashMap::new(),
            barriers: HashMap::new(),
        }
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
        if self.join_state(rank) == JoinState::NotJoined
            && let Some(joined) =
                self.first(|other| other.join_state == JoinState::Joined && !other.any)
        {
            return vec![ServerEvent::Stuck { ended: rank, waiting: joined }];
        }
        let waits = |barrier: &&PmiBarrier| barrier.members.contains(&rank);
        let stuck = self.barriers.values().find(waits);
        let waiting = stuck.and_then(|barrier| barrier.arrived.iter().find(|one| **one != rank));
        waiting
            .map(|waiting| ServerEvent::Stuck { ended: rank, waiting: *waiting })
            .into_iter()
            .collect()
    }

    fn serve(&mut self, rank: u32, request: PmiRequest, events: &mut Vec<ServerEvent>) {
        let line = match request {
            PmiRequest::Init { version, ours, any } => self.init(rank, version, ours, any, events),
            PmiRequest::Maxes => maxes(success("maxes")),
            PmiRequest::AppNumber => {
                success("appnum").number("appnum", self.ranks[rank as usize].app)
            }
            // Minus one: no limit is known (Hydra's answer too).
            PmiRequest::UniverseSize => success("universe_size").number("size", -1),
            PmiRequest::SpaceName => success("my_kvsname").text("kvsname", &self.space),
            PmiRequest::Put { key, value } => self.put(key, value),
            PmiRequest::Get { key } => {
                found("get_result", "value", self.values.get(&key), "no such key")
            }
            PmiRequest::Publish { service, port } => {
                self.services.insert(service, port);
                success("publish_result")
            }
            PmiRequest::Lookup { service } => {
                let port = self.services.get(&service);
                found("lookup_result", "port", port, "no such service")
            }
            PmiRequest::Unpublish { service } => match self.services.remove(&service) {
                Some(_) => success("unpublish_result"),
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
                events.push(ServerEvent::Unsupported { rank, why: why.to_owned() });
                failure("spawn_result", why)
            }
            PmiRequest::Barrier { group } => return self.enter(rank, group.as_deref(), events),
        };
        events.push(reply(rank, line));
    }

    fn init(
        &mut self, rank: u32, version: u32, ours: bool, any: bool, events: &mut Vec<ServerEvent>,
    ) -> PmiLine {
        let answer = |line: PmiLine| line.number("pmi_version", 1).number("pmi_subversion", 2);
        if version != 1 {
            return answer(failure("response_to_init", "only PMI version 1 is spoken here"));
        }
        self.ranks[rank as usize].join_state = JoinState::Joined;
        self.ranks[rank as usize].any = any;
        events.push(ServerEvent::Joined(rank));
        let silent =
            |other: &ServerRank| other.has_ended && other.join_state == JoinState::NotJoined;
        if !any && let Some(gone) = self.first(silent) {
            events.push(ServerEvent::Stuck { ended: gone, waiting: rank });
        }
        let line = answer(success("response_to_init"));
        if !ours {
            return line;
        }
        // One wake-up of two processes instead of six.
        maxes(line.number("suiro", 1))
            .number("appnum", self.ranks[rank as usize].app)
            .text("kvsname", &self.space)
            .text("mapping", &single_host_mapping(self.ranks.len() as u32))
    }

    /// The first rank that satisfies `is_so`.
    fn first(&self, is_so: impl Fn(&ServerRank) -> bool) -> Option<u32> {
        self.ranks.iter().position(is_so).map(|rank| rank as u32)
    }

    fn put(&mut self, key: String, value: String) -> PmiLine {
        if key.len() > MAXES[1] as usize || value.len() > MAXES[2] as usize {
            return failure("put_result", "the key or the value is too long");
        }
        if key.starts_with("PMI_") {
            return failure("put_result", "keys that start with PMI_ are reserved");
        }
        self.values.insert(key, value);
        success("put_result")
    }

    fn enter(&mut self, rank: u32, group: Option<&str>, events: &mut Vec<ServerEvent>) {
        let group = group.unwrap_or("WORLD:0");
        let Some((members, tag)) = self.members(group).filter(|found| found.0.contains(&rank))
        else {
            events.push(reply(rank, failure("barrier_out", "no such group of ranks")));
            return;
        };
        let barrier = self.barriers.entry(group.to_owned()).or_insert_with(|| PmiBarrier {
            members,
            arrived: BTreeSet::new(),
            tag: tag.to_owned(),
        });
        barrier.arrived.insert(rank);
        if let Some(gone) = barrier.members.iter().find(|one| self.ranks[**one as usize].has_ended)
        {
            events.push(ServerEvent::Stuck { ended: *gone, waiting: rank });
        }
        if barrier.arrived == barrier.members {
            let line = success("barrier_out").text("tag", &barrier.tag);
            events.extend(barrier.members.iter().map(|member| reply(*member, line.clone())));
            self.barriers.remove(group);
        }
    }

    /// The ranks of a group's name, and its tag.
    fn members<'a>(&self, group: &'a str) -> Option<(BTreeSet<u32>, &'a str)> {
        let (name, tag) = group.split_once(':').unwrap_or((group, "0"));
        let size = self.ranks.len() as u32;
        let members = match name {
            "WORLD" | "NODE" => (0..size).collect(),
            list => {
                let member = |text: &str| text.parse().ok().filter(|member| *member < size);
                list.split(',').map(member).collect::<Option<BTreeSet<u32>>>()?
            }
        };
        Some((members, tag))
    }
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

fn found(name: &str, key: &str, value: Option<&String>, missing: &str) -> PmiLine {
    match value {
        Some(value) => success(name).text(key, value),
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
