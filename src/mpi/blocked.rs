//! Why a call does not return, in the words of the standard: for whom, for what, on which
//! communicator. Evaluated only once a call has waited for long.

use std::collections::BTreeSet;

use super::Mpi;
use super::collective_shared::{HallId, Owner};
use super::comm::{Comm, Traffic};
use super::request::Activity;
use super::table::Handle;
use crate::base::Peer;
use crate::base::blocked::{Blocked, Call, Need};
use crate::core::matching::Pattern;
use crate::core::pending::{Pending, PendingRun};
use crate::core::run::Members;
use crate::device::Device;

/// How many requests are described at most, and how many are looked at.
const DESCRIBED_MAX: usize = 8;
const LOOKED_AT_MAX: usize = 4096;
/// How many messages that wait for another receive are told.
const MESSAGES_MAX: usize = 3;

/// One activity that has not ended.
struct Part {
    verb: &'static str,
    arguments: String,
    need: Need,
    /// The context in which nothing has matched it, if it is a receive.
    unmatched: Option<u64>,
}

impl<D: Device> Mpi<D> {
    /// The call `function`, which waits for all of these activities.
    pub fn blocked<'a>(
        &self, function: &str, activities: impl IntoIterator<Item = &'a Activity>,
    ) -> Blocked {
        let mut parts = Vec::new();
        activities.into_iter().for_each(|activity| self.describe(activity, &mut parts));
        let words = match &parts[..] {
            [Part { arguments, .. }] => format!("({arguments})"),
            parts => format!(": {}", list(parts)),
        };
        Blocked {
            words: words + &self.unreceived(&parts),
            needs: needs(parts),
            ..Blocked::new(function)
        }
    }

    /// The call `function`, which waits for all or any of these requests.
    pub fn blocked_requests(
        &self, function: &str, any: bool, requests: impl IntoIterator<Item = Handle>,
    ) -> Blocked {
        let mut parts = Vec::new();
        let mut count = 0;
        for activity in
            requests.into_iter().take(LOOKED_AT_MAX).filter_map(|handle| self.activity(handle))
        {
            if self.is_over(activity) {
                continue;
            }
            count += 1;
            if count <= DESCRIBED_MAX {
                self.describe(activity, &mut parts);
            }
        }
        let more = if count > DESCRIBED_MAX { ", ..." } else { "" };
        let words = match (&parts[..], count) {
            (parts @ [_], 1) => format!(" of {}", list(parts)),
            (parts, _) => format!(" of {count} requests: {}{more}", list(parts)),
        };
        let words = words + &self.unreceived(&parts);
        let mut needs = needs(parts);
        if count > DESCRIBED_MAX {
            needs.push(Need::default());
        }
        Blocked { words, needs, any, ..Blocked::new(function) }
    }

    /// The call `function`, which waits for a message to look at.
    pub fn blocked_probe(&self, function: &str, source: i32, tag: i32, comm: Handle) -> Blocked {
        let Ok(Some(pattern)) = self.pattern(source, tag, comm) else {
            return Blocked::new(function);
        };
        let part = self.part_of_receive(pattern, String::new());
        let words = format!("({})", part.arguments);
        let parts = [Part { unmatched: Some(pattern.context), ..part }];
        let words = words + &self.unreceived(&parts);
        Blocked { words, needs: needs(parts), ..Blocked::new(function) }
    }

    /// The call `function` on `comm`, of which nothing else is known.
    pub fn blocked_on(&self, function: &str, comm: Handle) -> Blocked {
        let words = self.comms.get(comm).map(|comm| format!("({})", comm.title()));
        Blocked { words: words.unwrap_or_default(), ..Blocked::new(function) }
    }

    fn describe(&self, activity: &Activity, parts: &mut Vec<Part>) {
        match activity {
            Activity::Over(_) => {}
            Activity::Message(operation) => {
                parts.extend(
                    self.engine.pending(*operation).map(|pending| self.part_of_message(pending)),
                );
            }
            Activity::Run(run) | Activity::Creation { run, .. } => {
                parts
                    .extend(self.engine.pending_run(*run).map(|pending| self.part_of_run(pending)));
            }
            Activity::Shared(hall) => parts.push(self.part_of_hall(*hall)),
            Activity::Program(program) => {
                let pending = self.engine.pending_offloaded(*program);
                parts.extend(pending.map(|pending| self.part_of_run(pending)));
            }
            Activity::Flush(_) => parts.push(Part {
                verb: "flush",
                arguments: "buffered messages that have not left".to_owned(),
                need: Need::default(),
                unmatched: None,
            }),
            Activity::General(..) => parts.push(Part {
                verb: "generalized request",
                arguments: "which the application completes".to_owned(),
                need: Need::default(),
                unmatched: None,
            }),
            Activity::Both(halves) => {
                halves.iter().for_each(|half| self.describe(half, parts));
            }
        }
    }

    fn part_of_message(&self, pending: Pending) -> Part {
        match pending {
            Pending::Send { to, envelope, bytes } => {
                let comm = self.comms.of_context(envelope.context);
                let dest = comm.and_then(|comm| comm.targets().rank_of(to)).unwrap_or(to);
                let (tag, remote, title) = (envelope.tag, remote(comm), title(comm));
                Part {
                    verb: "send",
                    arguments: format!("{remote}dest {dest}, tag {tag}, {bytes} bytes, {title}"),
                    need: Need { peers: vec![to], ..Need::default() },
                    unmatched: None,
                }
            }
            Pending::Receive { pattern, bytes } => {
                let part = self.part_of_receive(pattern, format!("up to {bytes} bytes, "));
                Part { unmatched: Some(pattern.context), ..part }
            }
            Pending::Arriving { envelope, bytes } => {
                let (source, tag) = (Some(envelope.source), Some(envelope.tag));
                let pattern = Pattern { context: envelope.context, source, tag };
                self.part_of_receive(pattern, format!("up to {bytes} bytes on their way, "))
            }
        }
    }

    fn part_of_receive(&self, pattern: Pattern, room: String) -> Part {
        let comm = self.comms.of_context(pattern.context);
        let remote = remote(comm);
        let source = match pattern.source {
            None => format!("any {remote}source"),
            Some(source) => format!("{remote}source {source}"),
        };
        let tag = pattern.tag.map_or("any tag".to_owned(), |tag| format!("tag {tag}"));
        let peers = match (comm, pattern.source) {
            (Some(comm), Some(source)) => vec![comm.targets().peer(source)],
            (Some(comm), None) => {
                comm.targets().peers().filter(|peer| *peer != self.engine.me()).collect()
            }
            (None, _) => Vec::new(),
        };
        Part {
            verb: "receive",
            arguments: format!("{source}, {tag}, {room}{}", title(comm)),
            need: Need { peers: ascending(peers), any: pattern.source.is_none(), call: None },
            unmatched: None,
        }
    }

    /// Messages that came where these receives wait, but that none of them accepts.
    fn unreceived(&self, parts: &[Part]) -> String {
        let contexts: BTreeSet<_> = parts.iter().filter_map(|part| part.unmatched).collect();
        let messages = || contexts.iter().flat_map(|context| self.engine.unexpected(*context));
        let told = messages().take(MESSAGES_MAX).map(|(envelope, bytes)| {
            let (remote, source) =
                (remote(self.comms.of_context(envelope.context)), envelope.source);
            format!("{remote}source {source} with tag {} ({bytes} bytes)", envelope.tag)
        });
        let told: Vec<_> = told.collect();
        let more = messages().take(LOOKED_AT_MAX).count() - told.len();
        match (told.is_empty(), more) {
            (true, _) => String::new(),
            (false, 0) => format!("; arrived but not asked for: {}", told.join(", ")),
            (false, more) => {
                format!("; arrived but not asked for: {}, {more} more", told.join(", "))
            }
        }
    }

    /// The call that is under way in a hall, whose communicator counts it as a run.
    fn part_of_hall(&self, hall: HallId) -> Part {
        let (context, sequence) = match self.halls.owner(hall) {
            Owner::Operation { context, sequence } => (context, sequence),
            Owner::Comm | Owner::Nobody => self
                .comms
                .of_hall(hall)
                .map_or((0, 0), |comm| (comm.context.of(Traffic::Collective), comm.calls)),
        };
        let peers = self.halls.waits_for(hall);
        let part = self.part_of_run(PendingRun { context, sequence, peers });
        match self.halls.bytes(hall) {
            0 => part,
            bytes => Part {
                arguments: format!("{}, {bytes} bytes in shared memory", part.arguments),
                ..part
            },
        }
    }

    fn part_of_run(&self, pending: PendingRun) -> Part {
        let PendingRun { context, sequence, peers } = pending;
        let comm = self.comms.of_context(context);
        let call = Some(Call { context, sequence });
        let is_persistent =
            comm.is_some_and(|comm| comm.context.of(Traffic::Persistent) == context);
        let kind = if is_persistent { "persistent operation" } else { "call" };
        Part {
            verb: "collective",
            arguments: format!("{}, {kind} {sequence}", title(comm)),
            need: Need { peers, any: false, call },
            unmatched: None,
        }
    }
}

/// What to call a communicator that may be gone by now.
fn title(comm: Option<&Comm>) -> &str {
    comm.map_or("a freed communicator", Comm::title)
}

/// Before a rank that is one of the other group of an intercommunicator.
fn remote(comm: Option<&Comm>) -> &'static str {
    if comm.is_some_and(Comm::is_inter) { "remote " } else { "" }
}

fn ascending(mut peers: Vec<Peer>) -> Vec<Peer> {
    peers.sort_unstable();
    peers.dedup();
    peers
}

fn list(parts: &[Part]) -> String {
    let part = |part: &Part| format!("{}({})", part.verb, part.arguments);
    parts.iter().map(part).collect::<Vec<_>>().join(", ")
}

fn needs(parts: impl IntoIterator<Item = Part>) -> Vec<Need> {
    parts.into_iter().map(|part| part.need).collect()
}
