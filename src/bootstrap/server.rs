//! The PMI-1 server of one job: what each rank said, and who waits for whom.
//!
//! ```text
//!   per rank:   Silent --init--> Joined --finalize--> Left --init--> Joined
//! ```
//!
//! A rank in the world model counts on all others: none of them may end in silence. One that only
//! has sessions does not, and says so with its `init`; a second `init` may change that.
//!
//! A value without I/O: `receive` takes bytes that a rank sent and returns events, among them the
//! replies to send. It knows ranks by number only; processes are the launcher's business.
//! All ranks of a job are on one host here, so `NODE` groups are the whole job.

use std::collections::{BTreeSet, HashMap};

use super::mapping::single_host_mapping;
use super::wire::{Line, Malformed, Request, Requests};

/// Longest name of a key-value space, longest key, longest value, in bytes.
///
/// Those of Hydra and Slurm, so that programs tried there fit here.
const MAXES: [u32; 3] = [256, 64, 1024];

/// What a call to the server led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Send these bytes to this rank.
    Reply {
        /// To whom.
        rank: u32,
        /// A whole line.
        bytes: Vec<u8>,
    },
    /// This rank entered the job.
    Joined(u32),
    /// This rank said that it is done.
    Left(u32),
    /// This rank wants the job to end.
    Aborted {
        /// Who said so.
        rank: u32,
        /// What the launcher shall return.
        code: i32,
        /// Words for people, if any.
        message: Option<String>,
    },
    /// This rank sent something that is no PMI; nothing more can be said to it.
    Broken {
        /// Who.
        rank: u32,
        /// What it sent, in a sentence without a final stop.
        why: String,
    },
    /// A rank waits for one that can never come.
    Stuck {
        /// The rank that is gone.
        gone: u32,
        /// One that waits for it.
        waiting: u32,
    },
    /// This rank asked for something that is not done here; it was told so.
    Unable {
        /// Who.
        rank: u32,
        /// What, in a sentence without a final stop.
        why: String,
    },
}

/// What a rank has said so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing: it may not be an MPI program.
    Silent,
    /// It entered and did not say that it leaves.
    Joined,
    /// It said that it leaves.
    Left,
}

#[derive(Debug)]
struct Rank {
    standing: Standing,
    /// It has joined and does not count on all ranks of the job.
    any: bool,
    app: u32,
    requests: Requests,
    /// It will not come to any barrier any more.
    gone: bool,
}

/// The ranks that wait at one barrier.
#[derive(Debug, Default)]
struct Barrier {
    members: BTreeSet<u32>,
    arrived: BTreeSet<u32>,
    tag: String,
}

/// The server of one job.
#[derive(Debug)]
pub struct Server {
    space: String,
    ranks: Vec<Rank>,
    values: HashMap<String, String>,
    services: HashMap<String, String>,
    barriers: HashMap<String, Barrier>,
}

impl Server {
    /// A server for as many ranks as there are in `apps`: the number of each rank's program on
    /// the command line. `name` is the job's name, without spaces.
    pub fn new(name: &str, apps: &[u32]) -> Self {
        let rank = |app: &u32| Rank {
            standing: Standing::Silent,
            any: false,
            app: *app,
            requests: Requests::default(),
            gone: false,
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

    /// What `rank` has said so far.
    pub fn standing(&self, rank: u32) -> Standing {
        self.ranks[rank as usize].standing
    }

    /// Takes bytes that `rank` sent. After [`Event::Broken`] it must not be called for that rank.
    pub fn receive(&mut self, rank: u32, bytes: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        self.ranks[rank as usize].requests.push(bytes);
        while let Some(request) = self.ranks[rank as usize].requests.next_request() {
            match request {
                Ok(request) => self.serve(rank, request, &mut events),
                Err(Malformed { why, reply: Some(name) }) => {
                    events.push(reply(rank, failure(name, &why)));
                }
                Err(Malformed { why, reply: None }) => {
                    events.push(Event::Broken { rank, why });
                    break;
                }
            }
        }
        events
    }

    /// `rank` has ended: nobody should wait for it any more. Who has joined and counts on all ranks
    /// waits for them, at the latest when it leaves, and so for those that never joined.
    pub fn gone(&mut self, rank: u32) -> Vec<Event> {
        self.ranks[rank as usize].gone = true;
        if self.standing(rank) == Standing::Silent
            && let Some(joined) =
                self.first(|other| other.standing == Standing::Joined && !other.any)
        {
            return vec![Event::Stuck { gone: rank, waiting: joined }];
        }
        let waits = |barrier: &&Barrier| barrier.members.contains(&rank);
        let stuck = self.barriers.values().find(waits);
        let waiting = stuck.and_then(|barrier| barrier.arrived.iter().find(|one| **one != rank));
        waiting.map(|waiting| Event::Stuck { gone: rank, waiting: *waiting }).into_iter().collect()
    }

    fn serve(&mut self, rank: u32, request: Request, events: &mut Vec<Event>) {
        let line = match request {
            Request::Init { version, ours, any } => self.init(rank, version, ours, any, events),
            Request::Maxes => maxes(good("maxes")),
            Request::AppNumber => good("appnum").number("appnum", self.ranks[rank as usize].app),
            // Minus one: no limit is known (Hydra's answer too).
            Request::UniverseSize => good("universe_size").number("size", -1),
            Request::SpaceName => good("my_kvsname").text("kvsname", &self.space),
            Request::Put { key, value } => self.put(key, value),
            Request::Get { key } => {
                found("get_result", "value", self.values.get(&key), "no such key")
            }
            Request::Publish { service, port } => {
                self.services.insert(service, port);
                good("publish_result")
            }
            Request::Lookup { service } => {
                let port = self.services.get(&service);
                found("lookup_result", "port", port, "no such service")
            }
            Request::Unpublish { service } => match self.services.remove(&service) {
                Some(_) => good("unpublish_result"),
                None => failure("unpublish_result", "no such service"),
            },
            Request::Finalize => {
                self.ranks[rank as usize].standing = Standing::Left;
                events.push(Event::Left(rank));
                good("finalize_ack")
            }
            Request::Abort { code, message } => {
                events.push(Event::Aborted { rank, code, message });
                return;
            }
            Request::Spawn => {
                let why = "this launcher cannot start more processes (MPI_Comm_spawn)";
                events.push(Event::Unable { rank, why: why.to_owned() });
                failure("spawn_result", why)
            }
            Request::Barrier { group } => return self.enter(rank, group.as_deref(), events),
        };
        events.push(reply(rank, line));
    }

    fn init(
        &mut self, rank: u32, version: u32, ours: bool, any: bool, events: &mut Vec<Event>,
    ) -> Line {
        let answer = |line: Line| line.number("pmi_version", 1).number("pmi_subversion", 2);
        if version != 1 {
            return answer(failure("response_to_init", "only PMI version 1 is spoken here"));
        }
        self.ranks[rank as usize].standing = Standing::Joined;
        self.ranks[rank as usize].any = any;
        events.push(Event::Joined(rank));
        let silent = |other: &Rank| other.gone && other.standing == Standing::Silent;
        if !any && let Some(gone) = self.first(silent) {
            events.push(Event::Stuck { gone, waiting: rank });
        }
        let line = answer(good("response_to_init"));
        if !ours {
            return line;
        }
        // One wake-up of two processes in place of six.
        maxes(line.number("suiro", 1))
            .number("appnum", self.ranks[rank as usize].app)
            .text("kvsname", &self.space)
            .text("mapping", &single_host_mapping(self.ranks.len() as u32))
    }

    /// The first rank that is so.
    fn first(&self, is_so: impl Fn(&Rank) -> bool) -> Option<u32> {
        self.ranks.iter().position(is_so).map(|rank| rank as u32)
    }

    fn put(&mut self, key: String, value: String) -> Line {
        if key.len() > MAXES[1] as usize || value.len() > MAXES[2] as usize {
            return failure("put_result", "the key or the value is too long");
        }
        if key.starts_with("PMI_") {
            return failure("put_result", "keys that start with PMI_ are reserved");
        }
        self.values.insert(key, value);
        good("put_result")
    }

    fn enter(&mut self, rank: u32, group: Option<&str>, events: &mut Vec<Event>) {
        let group = group.unwrap_or("WORLD:0");
        let Some((members, tag)) = self.members(group).filter(|found| found.0.contains(&rank))
        else {
            events.push(reply(rank, failure("barrier_out", "no such group of ranks")));
            return;
        };
        let barrier = self.barriers.entry(group.to_owned()).or_insert_with(|| Barrier {
            members,
            arrived: BTreeSet::new(),
            tag: tag.to_owned(),
        });
        barrier.arrived.insert(rank);
        if let Some(gone) = barrier.members.iter().find(|one| self.ranks[**one as usize].gone) {
            events.push(Event::Stuck { gone: *gone, waiting: rank });
        }
        if barrier.arrived == barrier.members {
            let line = good("barrier_out").text("tag", &barrier.tag);
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

fn reply(rank: u32, line: Line) -> Event {
    Event::Reply { rank, bytes: line.into_bytes() }
}

fn good(name: &str) -> Line {
    Line::new(name).number("rc", 0)
}

fn maxes(line: Line) -> Line {
    line.number("kvsname_max", MAXES[0])
        .number("keylen_max", MAXES[1])
        .number("vallen_max", MAXES[2])
}

fn failure(name: &str, why: &str) -> Line {
    Line::new(name).number("rc", 1).text("msg", &why.replace(' ', "_"))
}

fn found(name: &str, key: &str, value: Option<&String>, missing: &str) -> Line {
    match value {
        Some(value) => good(name).text(key, value),
        None => failure(name, missing),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(event: &Event) -> (u32, String) {
        match event {
            Event::Reply { rank, bytes } => (*rank, String::from_utf8(bytes.clone()).unwrap()),
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
        assert_eq!(server.standing(1), Standing::Silent);
        let events = server.receive(1, b"cmd=init pmi_version=1 pmi_subversion=1\n");
        assert_eq!(events[0], Event::Joined(1));
        assert_eq!(
            text(&events[1]).1,
            "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=2\n"
        );
        assert_eq!((server.standing(0), server.standing(1)), (Standing::Silent, Standing::Joined));
        assert_eq!(answer(&mut server, 1, "cmd=finalize"), "cmd=finalize_ack rc=0");
        assert_eq!(server.standing(1), Standing::Left);
        server.receive(1, b"cmd=init pmi_version=1 pmi_subversion=1\n");
        assert_eq!(server.standing(1), Standing::Joined);
    }

    #[test]
    fn another_protocol_is_refused_and_does_not_join() {
        let mut server = Server::new("job", &[0]);
        let line = answer(&mut server, 0, "cmd=init pmi_version=2 pmi_subversion=0");
        assert!(line.starts_with("cmd=response_to_init rc=1"), "{line}");
        assert_eq!(server.standing(0), Standing::Silent);
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
        assert_eq!(server.gone(0), [Event::Stuck { gone: 0, waiting: 1 }]);
        let mut server = Server::new("job", &[0, 0]);
        assert_eq!(server.gone(0), []);
        let events = server.receive(1, b"cmd=barrier_in\n");
        assert_eq!(events, [Event::Stuck { gone: 0, waiting: 1 }]);
    }

    #[test]
    fn one_that_ends_without_joining_is_missed_by_none_that_counts_on_nobody() {
        let any = b"cmd=init pmi_version=1 pmi_subversion=1 suiro=1 any=1\n";
        let mut server = Server::new("job", &[0, 0, 0]);
        server.receive(1, any);
        assert_eq!(server.gone(0), []);
        assert_eq!(server.receive(2, any).len(), 2);
        let all = b"cmd=init pmi_version=1 pmi_subversion=1 suiro=1\n";
        assert_eq!(server.receive(1, all)[1], Event::Stuck { gone: 0, waiting: 1 });
    }

    #[test]
    fn one_that_ends_without_joining_is_missed_by_those_who_join_before_or_after() {
        let hello = b"cmd=init pmi_version=1 pmi_subversion=1\n";
        let mut server = Server::new("job", &[0, 0, 0]);
        server.receive(1, hello);
        assert_eq!(server.gone(0), [Event::Stuck { gone: 0, waiting: 1 }]);
        let mut server = Server::new("job", &[0, 0, 0]);
        assert_eq!(server.gone(2), []);
        assert_eq!(server.receive(1, hello)[1], Event::Stuck { gone: 2, waiting: 1 });
        let mut server = Server::new("job", &[0, 0]);
        server.receive(1, hello);
        server.receive(0, hello);
        server.receive(0, b"cmd=finalize\n");
        assert_eq!(server.gone(0), []);
    }

    #[test]
    fn an_abort_is_an_event_without_reply() {
        let mut server = Server::new("job", &[0]);
        let events = server.receive(0, b"cmd=abort exitcode=42 message=too bad\n");
        let message = Some("too bad".to_owned());
        assert_eq!(events, [Event::Aborted { rank: 0, code: 42, message }]);
    }

    #[test]
    fn spawning_is_refused_and_noise_ends_the_conversation() {
        let mut server = Server::new("job", &[0]);
        let refused = answer(&mut server, 0, "mcmd=spawn\nnprocs=1\nexecname=x\nendcmd");
        assert!(refused.starts_with("cmd=spawn_result rc=1"));
        let events = server.receive(0, b"\x00\n");
        assert!(matches!(events[..], [Event::Broken { rank: 0, .. }]));
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
                if matches!(events.last(), Some(Event::Broken { .. })) {
                    break;
                }
            }
        }
    }
}
