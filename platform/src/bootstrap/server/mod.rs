//! The PMI-1 server of the ranks of one host: the state of each rank, and which rank waits for which.
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
//! replies to send. Ranks are known by number only; the launcher manages processes.
//!
//! A job may have other hosts, each with a server. Puts and gets are local. A barrier that all its
//! members on this host have reached is a [`Fence`], with all pairs that were put since the last one;
//! [`FenceMerger`] merges those of all hosts, and [`Server::fence_done`] ends the barrier. A job on one host
//! has no fences.

mod barriers;
mod fences;
mod names;
mod values;

#[cfg(test)]
mod host_tests;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use barriers::PmiBarrier;
use values::{KeptTexts, too_much};

use super::mapping::process_mapping;
use super::spawn::SpawnCall;
use super::wire::{Malformed, PmiLine, PmiRequest, PmiRequests};

pub use fences::{Fence, FenceEvent, FenceMerger};
pub use names::{NamePlace, NameReply, NameRequest, NameScope, NameService};

/// Longest name of a key-value space, longest key, longest value, in bytes.
///
/// The limits of Hydra and Slurm, so that programs tried there fit here.
const MAXES: [u32; 3] = [256, 64, 1024];

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
    /// All members of a barrier on this host have reached it, and others are on other hosts.
    Fence(Fence),
    /// This rank waits for the reply of the job's [`NameService`].
    Name {
        /// The rank.
        rank: u32,
        /// Its request.
        request: NameRequest,
    },
    /// This rank waits for the [`SpawnReply`](super::SpawnReply) to a call about further jobs.
    Spawn {
        /// The rank.
        rank: u32,
        /// Its call.
        call: SpawnCall,
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
    /// What is kept for it, in bytes; limited.
    kept_bytes: usize,
    refusals: u32,
    /// Number of MPI programs of this rank that have joined.
    programs: u32,
}

/// The server of the ranks of one host.
#[derive(Debug)]
pub struct Server {
    space: String,
    /// All ranks of the job.
    ranks: Vec<ServerRank>,
    /// The ranks of this host.
    local: Arc<BTreeSet<u32>>,
    /// `PMI_process_mapping`, unless it is longer than a value may be.
    mapping: Option<String>,
    /// Values of each program, by its number.
    values: HashMap<u32, KeptTexts>,
    /// The keys of each program that ranks of this host have put since the last fence of all ranks.
    fresh: HashMap<u32, BTreeSet<String>>,
    /// Of a server without a launcher around it.
    names: Option<NameService>,
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
    /// A server for all `apps.len()` ranks of a job, which also serves published names; `apps` has the
    /// number of each rank's program on the command line. `name` is the job's name, without spaces.
    pub fn new(name: &str, apps: &[u32]) -> Self {
        Self { names: Some(NameService::default()), ..Self::of_host(name, apps, &[], 0) }
    }

    /// A server for those ranks of a job that run on `host`; `host_of_rank` has the host of each rank,
    /// or nothing if all are on one.
    pub fn of_host(name: &str, apps: &[u32], host_of_rank: &[u32], host: u32) -> Self {
        let (size, is_one) = (apps.len(), host_of_rank.is_empty());
        let is_local = |rank: &u32| is_one || host_of_rank.get(*rank as usize) == Some(&host);
        let local = (0..size as u32).filter(is_local).collect();
        let mapping =
            if is_one { process_mapping(&vec![0; size]) } else { process_mapping(host_of_rank) };
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
            local: Arc::new(local),
            mapping: Some(mapping).filter(|mapping| mapping.len() <= MAXES[2] as usize),
            values: HashMap::new(),
            fresh: HashMap::new(),
            names: None,
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
        let local = self.local.iter().map(|rank| &self.ranks[*rank as usize]);
        let oldest = local.filter(|rank| !rank.has_ended).map(|rank| rank.programs).min();
        let oldest = oldest.unwrap_or(number);
        self.files.retain(|number, _| *number >= oldest);
        self.forget_values(oldest);
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
        for barrier in self.barriers.values_mut().filter(|barrier| barrier.is_for(rank)) {
            barrier.gone.get_or_insert(rank);
            waiting = waiting.or(barrier.arrived.iter().copied().filter(|one| *one != rank).min());
        }
        waiting.map(|waiting| ServerEvent::Stuck { ended: rank, waiting }).into_iter().collect()
    }

    /// Records the exit of a rank of another host, after it had joined by this number of programs.
    pub fn remote_ended(&mut self, rank: u32, programs: u32) -> Vec<ServerEvent> {
        let is_local = self.local.contains(&rank);
        match self.ranks.get_mut(rank as usize) {
            Some(remote) if !is_local && !remote.has_ended => remote.programs = programs,
            Some(_) | None => return Vec::new(),
        }
        self.rank_ended(rank)
    }

    /// Whether other ranks of the job are on other hosts.
    fn spans_hosts(&self) -> bool {
        self.local.len() < self.ranks.len()
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
            PmiRequest::Name(request) => match &mut self.names {
                Some(names) => {
                    let reply = names.serve(rank, &request);
                    request.reply_line(reply)
                }
                None => return events.push(ServerEvent::Name { rank, request }),
            },
            PmiRequest::SpawnCall(call) => return events.push(ServerEvent::Spawn { rank, call }),
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
                let why =
                    "this launcher starts more processes (MPI_Comm_spawn) only for its own library";
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
            .text("kvsname", &self.space);
        let line = match &self.mapping {
            Some(mapping) => line.text("mapping", mapping),
            None => line.text("local", &self.local_list()),
        };
        match self.files.get(&programs) {
            Some([segment, interface]) => {
                line.text("segment", segment).text("interface", interface)
            }
            None => line,
        }
    }

    /// The ranks of this host, with commas.
    fn local_list(&self) -> String {
        let ranks: Vec<_> = self.local.iter().map(u32::to_string).collect();
        ranks.join(",")
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
