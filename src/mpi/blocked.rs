//! Description of a blocked call in the standard's terms: the awaited ranks, tags and
//! communicators. Evaluated only after a long wait.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::Mpi;
use super::request::Activity;
use crate::device::Device;
use crate::engine::point_to_point::matching::MatchPattern;
use crate::engine::point_to_point::pending::PendingOperation;
use crate::engine::schedules::plan::Members;
use crate::engine::schedules::plan::PendingRun;
use crate::mpi::collective::shared::polling::{CollectiveOwner, SharedCollectiveId};
use crate::mpi::communicator::{Comm, Traffic};
use crate::mpi::handle::Handle;
use crate::mpi::partitioned::operation::{PartitionedKind, WaitingPartitions};
use platform::base::Peer;
use platform::diagnosis::wait_report::{CollectiveId, WaitCondition, WaitReport};

/// Maximum number of requests described; no others are examined.
const DESCRIBED_MAX: usize = 8;
const LOOKED_AT_MAX: usize = 4096;
/// Maximum number of listed messages that wait for another receive.
const MESSAGES_MAX: usize = 3;

/// An incomplete activity.
struct PendingActivity {
    verb: &'static str,
    arguments: String,
    need: WaitCondition,
    /// The context of an unmatched receive.
    unmatched: Option<u64>,
}

impl<D: Device> Mpi<D> {
    /// A call `function` that waits for all of these activities.
    pub(crate) fn blocked<'a>(
        &self, function: &str, activities: impl IntoIterator<Item = &'a Activity>,
    ) -> WaitReport {
        let mut parts = Vec::new();
        activities.into_iter().for_each(|activity| self.describe(activity, &mut parts));
        let words = match &parts[..] {
            [PendingActivity { arguments, .. }] => format!("({arguments})"),
            parts => format!(": {}", list(parts)),
        };
        WaitReport {
            details: words + &self.describe_unexpected(&parts),
            conditions: needs(parts),
            ..WaitReport::new(function)
        }
    }

    /// A call `function` that waits for all or any of these requests.
    pub fn blocked_requests(
        &self, function: &str, any: bool, requests: impl IntoIterator<Item = Handle>,
    ) -> WaitReport {
        let mut parts = Vec::new();
        let mut count = 0;
        for activity in
            requests.into_iter().take(LOOKED_AT_MAX).filter_map(|handle| self.activity(handle))
        {
            if self.is_complete(activity) {
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
        let words = words + &self.describe_unexpected(&parts);
        let mut needs = needs(parts);
        if count > DESCRIBED_MAX {
            needs.push(WaitCondition::default());
        }
        WaitReport { details: words, conditions: needs, any, ..WaitReport::new(function) }
    }

    /// A call `function` that waits for a message to probe.
    pub fn blocked_probe(&self, function: &str, source: i32, tag: i32, comm: Handle) -> WaitReport {
        let Ok(Some(pattern)) = self.pattern(source, tag, comm) else {
            return WaitReport::new(function);
        };
        let part = self.describe_receive(pattern, String::new());
        let words = format!("({})", part.arguments);
        let parts = [PendingActivity { unmatched: Some(pattern.context), ..part }];
        let words = words + &self.describe_unexpected(&parts);
        WaitReport { details: words, conditions: needs(parts), ..WaitReport::new(function) }
    }

    /// A call `function` on `comm`, without further details.
    pub fn blocked_on(&self, function: &str, comm: Handle) -> WaitReport {
        let words = self.comms.get(comm).map(|comm| format!("({})", comm.title()));
        WaitReport { details: words.unwrap_or_default(), ..WaitReport::new(function) }
    }

    fn describe(&self, activity: &Activity, parts: &mut Vec<PendingActivity>) {
        match activity {
            Activity::Complete(_) => {}
            Activity::Message(operation) => {
                parts.extend(
                    self.engine.pending(*operation).map(|pending| self.describe_message(pending)),
                );
            }
            Activity::Run(run) | Activity::Creation { run, .. } => {
                parts.extend(
                    self.engine.pending_run(*run).map(|pending| self.describe_run(pending)),
                );
            }
            Activity::Shared(id) => parts.push(self.describe_shared(*id)),
            Activity::Program(program) => {
                let pending = self.engine.pending_offloaded(*program);
                parts.extend(pending.map(|pending| self.describe_run(pending)));
            }
            Activity::Partitioned(partitioned) => {
                parts.push(self.describe_partitioned(&self.partitioned.waiting(*partitioned)));
            }
            Activity::Flush(_) => parts.push(PendingActivity {
                verb: "flush",
                arguments: "buffered messages that have not left".to_owned(),
                need: WaitCondition::default(),
                unmatched: None,
            }),
            Activity::Access { window, .. } => {
                let window = self.windows.get(*window).ok();
                parts.extend(window.map(|window| PendingActivity {
                    verb: "one-sided operation",
                    arguments: format!("on {}", window.title()),
                    need: window.any_rank(),
                    unmatched: None,
                }));
            }
            Activity::File(operation) => match self.file_run(*operation) {
                Some(run) => self.describe(&Activity::Run(run), parts),
                None => parts.push(PendingActivity {
                    verb: "file access",
                    arguments: "which the system makes".to_owned(),
                    need: WaitCondition::default(),
                    unmatched: None,
                }),
            },
            Activity::Consent(_) => parts.push(PendingActivity {
                verb: "agreement",
                arguments: "of all processes of the communicator that have not failed".to_owned(),
                need: WaitCondition::default(),
                unmatched: None,
            }),
            Activity::Generalized(..) => parts.push(PendingActivity {
                verb: "generalized request",
                arguments: "which the application completes".to_owned(),
                need: WaitCondition::default(),
                unmatched: None,
            }),
            Activity::Both(halves) => {
                halves.iter().for_each(|half| self.describe(half, parts));
            }
        }
    }

    fn describe_message(&self, pending: PendingOperation) -> PendingActivity {
        match pending {
            PendingOperation::Send { to, envelope, bytes } => {
                let comm = self.comms.of_context(envelope.context);
                let dest = comm.and_then(|comm| comm.targets().rank_of(to)).unwrap_or(to);
                let (tag, remote, title) = (envelope.tag, remote(comm), title(comm));
                PendingActivity {
                    verb: "send",
                    arguments: format!("{remote}dest {dest}, tag {tag}, {bytes} bytes, {title}"),
                    need: WaitCondition { peers: vec![to], ..WaitCondition::default() },
                    unmatched: None,
                }
            }
            PendingOperation::Receive { pattern, bytes } => {
                let part = self.describe_receive(pattern, format!("up to {bytes} bytes, "));
                PendingActivity { unmatched: Some(pattern.context), ..part }
            }
            PendingOperation::Arriving { envelope, bytes } => {
                let (source, tag) = (Some(envelope.source), Some(envelope.tag));
                let pattern = MatchPattern { context: envelope.context, source, tag };
                self.describe_receive(pattern, format!("up to {bytes} bytes on their way, "))
            }
        }
    }

    fn describe_receive(&self, pattern: MatchPattern, room: String) -> PendingActivity {
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
        PendingActivity {
            verb: "receive",
            arguments: format!("{source}, {tag}, {room}{}", title(comm)),
            need: WaitCondition {
                peers: ascending(peers),
                any: pattern.source.is_none(),
                collective: None,
            },
            unmatched: None,
        }
    }

    fn describe_partitioned(&self, waiting: &WaitingPartitions) -> PendingActivity {
        let WaitingPartitions { kind, peer, tag, partitions, unready, messages, awaits_start } =
            waiting;
        let context = peer.map(|peer| peer.context.for_traffic(Traffic::PartitionedSetup));
        let comm = context.and_then(|context| self.comms.of_context(context));
        let rank = peer.map_or("MPI_PROC_NULL".to_owned(), |peer| peer.rank.to_string());
        let (verb, side) = match kind {
            PartitionedKind::Send => ("partitioned send", "dest"),
            PartitionedKind::Receive => ("partitioned receive", "source"),
        };
        let progress = match (&unready[..], messages) {
            ([], None) => "no such send has been started".to_owned(),
            ([], Some(_)) if *awaits_start => "which the receiver has not started".to_owned(),
            ([], Some((left, all))) => format!("{left} of {all} messages on their way"),
            (unready, _) => {
                let first = unready.iter().take(DESCRIBED_MAX).map(u32::to_string);
                let more = if unready.len() > DESCRIBED_MAX { ", ..." } else { "" };
                let first = first.collect::<Vec<_>>().join(", ");
                let count = unready.len();
                format!("{count} of {partitions} partitions not marked ready: {first}{more}")
            }
        };
        // Another thread of this process may mark a partition as ready.
        let peers = peer.filter(|_| unready.is_empty()).map(|peer| peer.peer);
        let arguments =
            format!("{}{side} {rank}, tag {tag}, {progress}, {}", remote(comm), title(comm));
        PendingActivity {
            verb,
            arguments,
            need: WaitCondition { peers: peers.into_iter().collect(), ..WaitCondition::default() },
            unmatched: context.filter(|_| messages.is_none()),
        }
    }

    /// Unexpected messages in the contexts of these receives that match none of them.
    fn describe_unexpected(&self, parts: &[PendingActivity]) -> String {
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

    /// The current shared-memory collective, which its communicator counts as a run.
    fn describe_shared(&self, id: SharedCollectiveId) -> PendingActivity {
        let (context, sequence) = match self.shared_collectives.owner(id) {
            CollectiveOwner::Operation { context, sequence } => (context, sequence),
            CollectiveOwner::Comm | CollectiveOwner::Freed => self
                .comms
                .of_shared_collective(id)
                .map_or((0, 0), |comm| (comm.context.for_traffic(Traffic::Collective), comm.calls)),
        };
        let messages = self.shared_collectives.messages(id);
        if let Some(pending) = messages.and_then(|run| self.engine.pending_run(run)) {
            return self.describe_run(pending);
        }
        let peers = self.shared_collectives.waits_for(id);
        let part = self.describe_run(PendingRun { context, sequence, peers });
        match self.shared_collectives.bytes(id) {
            0 => part,
            bytes => PendingActivity {
                arguments: format!("{}, {bytes} bytes in shared memory", part.arguments),
                ..part
            },
        }
    }

    fn describe_run(&self, pending: PendingRun) -> PendingActivity {
        let PendingRun { context, sequence, peers } = pending;
        let comm = self.comms.of_context(context);
        let call = Some(CollectiveId { context, sequence });
        let is_persistent =
            comm.is_some_and(|comm| comm.context.for_traffic(Traffic::Persistent) == context);
        let kind = if is_persistent { "persistent operation" } else { "call" };
        PendingActivity {
            verb: "collective",
            arguments: format!("{}, {kind} {sequence}", title(comm)),
            need: WaitCondition { peers, any: false, collective: call },
            unmatched: None,
        }
    }
}

/// The name of a communicator that may have been freed.
fn title(comm: Option<&Comm>) -> Cow<'_, str> {
    comm.map_or("a freed communicator".into(), Comm::title)
}

/// Prefix for a rank of an intercommunicator's remote group.
fn remote(comm: Option<&Comm>) -> &'static str {
    if comm.is_some_and(Comm::is_inter) { "remote " } else { "" }
}

fn ascending(mut peers: Vec<Peer>) -> Vec<Peer> {
    peers.sort_unstable();
    peers.dedup();
    peers
}

fn list(parts: &[PendingActivity]) -> String {
    let part = |part: &PendingActivity| format!("{}({})", part.verb, part.arguments);
    parts.iter().map(part).collect::<Vec<_>>().join(", ")
}

fn needs(parts: impl IntoIterator<Item = PendingActivity>) -> Vec<WaitCondition> {
    parts.into_iter().map(|part| part.need).collect()
}
