//! The engines of an interface: each does the commands of its queue one after the other.
//!
//! ```text
//!   post ──> queue ──engine free──> on its way ──time is over──> handed out ──left──> done
//!                                   (only at the pace of a real one)
//! ```
//!
//! Without a pace, the time is over at once. Where the network keeps order, an engine hands out a
//! command when the one before has left: who performs actions in several threads cannot change
//! their order. Where it does not, commands are handed out as they come.
//!
//! At the pace of a real interface, the next command starts when the one before has left the
//! engine, and is handed out when all of it would have arrived. A command that waited for its
//! engine starts when that was free, however late the owner asks.

use std::collections::VecDeque;

use super::action::{ActionId, DueAction, InterfaceAction};
use super::network_model::{NetworkModel, TransferPath};
use crate::device::trigger::CounterKey;
use platform::base::{Peer, Slab};

/// Whose command it is.
#[derive(Clone, Copy, Debug)]
pub(super) enum CommandOrigin {
    /// A read or write that the rank asked for.
    Access(u32),
    /// Work of a program, which adds to a counter once its source may be overwritten.
    Work { program: u32, done: Option<(CounterKey, u64)> },
}

#[derive(Clone, Copy, Debug)]
struct EngineCommand {
    origin: CommandOrigin,
    action: InterfaceAction,
    /// When the interface first saw it; unknown until the owner asks what is due.
    seen_ns: Option<u64>,
}

#[derive(Debug, Default)]
struct InterfaceEngine {
    queue: VecDeque<EngineCommand>,
    /// On their way, with the times at which they are over, which rise.
    in_flight: VecDeque<(u64, EngineCommand)>,
    free_ns: u64,
    /// Handed out and not left.
    outstanding: u32,
}

/// An action that was handed out.
#[derive(Clone, Copy, Debug)]
pub(super) struct IssuedAction {
    pub(super) origin: CommandOrigin,
    pub(super) is_sent: bool,
    engine: u8,
}

/// All engines of an interface.
#[derive(Debug)]
pub(super) struct InterfaceEngines {
    engines: Box<[InterfaceEngine]>,
    issued: Slab<IssuedAction>,
    ordered: bool,
    network: Option<Box<dyn NetworkModel>>,
    /// The engine that is asked first, so that none waits for ever behind the others.
    first: usize,
    /// Commands that were not handed out.
    waiting: usize,
}

impl InterfaceEngine {
    /// Starts the commands for which the engine was free by now.
    fn launch(&mut self, links: &mut dyn NetworkModel, number: u8, now_ns: u64) {
        for command in self.queue.iter_mut().rev().take_while(|command| command.seen_ns.is_none()) {
            command.seen_ns = Some(now_ns);
        }
        while let Some(command) = self.queue.front() {
            let start = self.free_ns.max(command.seen_ns.unwrap_or(now_ns));
            if start > now_ns {
                return;
            }
            let Some(command) = self.queue.pop_front() else { return };
            let way = transfer_path(&command.action);
            let flight = links.send(way, number, command.action.bytes() as u64, start);
            self.free_ns = flight.sent_ns;
            self.insert_in_flight(flight.arrived_ns, command);
        }
    }

    /// Puts a command among those on their way; it overtakes none to the same peer.
    fn insert_in_flight(&mut self, arrived_ns: u64, command: EngineCommand) {
        let peer = command.action.peer();
        let before = self.in_flight.iter().rev().find(|(_, other)| other.action.peer() == peer);
        let arrived_ns = before.map_or(arrived_ns, |(before, _)| arrived_ns.max(*before));
        let at = self.in_flight.partition_point(|(other, _)| *other <= arrived_ns);
        self.in_flight.insert(at, (arrived_ns, command));
    }
}

impl InterfaceEngines {
    pub(super) fn new(engines: u8, ordered: bool) -> Self {
        let engines = (0..engines.max(1)).map(|_| InterfaceEngine::default()).collect();
        let issued = Slab::default();
        Self { engines, issued, ordered, network: None, first: 0, waiting: 0 }
    }

    pub(super) fn set_network(&mut self, links: Box<dyn NetworkModel>) {
        self.network = Some(links);
    }

    /// The engine of a command: the one that was asked for, else the same for all commands of one
    /// `flow` to one peer, which keep their order so.
    pub(super) fn choose(&self, wanted: Option<u8>, flow: u32, peer: Peer) -> u8 {
        let number = wanted.map_or(flow.wrapping_add(peer), u32::from);
        (number % self.engines.len() as u32) as u8
    }

    pub(super) fn post(&mut self, engine: u8, origin: CommandOrigin, action: InterfaceAction) {
        let command = EngineCommand { origin, action, seen_ns: None };
        self.engines[usize::from(engine)].queue.push_back(command);
        self.waiting += 1;
    }

    /// The next action of an engine that is free.
    pub(super) fn next(&mut self, now_ns: u64) -> Option<DueAction> {
        if self.waiting == 0 {
            return None;
        }
        let (count, first) = (self.engines.len(), self.first);
        for at in (0..count).map(|step| (first + step) % count) {
            if let Some(command) = self.take(at, now_ns) {
                self.first = (at + 1) % count;
                return Some(self.issue(command, at as u8));
            }
        }
        None
    }

    fn take(&mut self, at: usize, now_ns: u64) -> Option<EngineCommand> {
        let engine = &mut self.engines[at];
        if let Some(links) = &mut self.network {
            engine.launch(links.as_mut(), at as u8, now_ns);
        }
        if self.ordered && engine.outstanding > 0 {
            return None;
        }
        if self.network.is_none() {
            return engine.queue.pop_front();
        }
        engine.in_flight.front().filter(|(arrived_ns, _)| *arrived_ns <= now_ns)?;
        engine.in_flight.pop_front().map(|(_, command)| command)
    }

    fn issue(&mut self, command: EngineCommand, engine: u8) -> DueAction {
        self.engines[usize::from(engine)].outstanding += 1;
        self.waiting -= 1;
        let action = IssuedAction { origin: command.origin, is_sent: false, engine };
        let id = ActionId(self.issued.insert(action));
        DueAction { id, action: command.action, engine }
    }

    /// When an engine has something to do although nothing happens before; `None` if none has, as
    /// without a pace.
    pub(super) fn next_event_ns(&self) -> Option<u64> {
        self.network.as_ref()?;
        let engine = |engine: &InterfaceEngine| {
            let held = self.ordered && engine.outstanding > 0;
            let arrives = engine.in_flight.front().map(|(arrived_ns, _)| *arrived_ns);
            let starts = engine.queue.front();
            let starts = starts.map(|next| engine.free_ns.max(next.seen_ns.unwrap_or(0)));
            arrives.filter(|_| !held).into_iter().chain(starts).min()
        };
        self.engines.iter().filter_map(engine).min()
    }

    /// The source of an action may be overwritten; what it is, if that is news.
    pub(super) fn sent(&mut self, id: ActionId) -> Option<CommandOrigin> {
        let action = self.issued.get_mut(id.0).expect("an action that was handed out");
        if std::mem::replace(&mut action.is_sent, true) {
            return None;
        }
        self.engines[usize::from(action.engine)].outstanding -= 1;
        Some(action.origin)
    }

    /// Forgets an action that is over.
    pub(super) fn done(&mut self, id: ActionId) -> IssuedAction {
        let action = self.issued.remove(id.0).expect("an action that was handed out");
        if !action.is_sent {
            self.engines[usize::from(action.engine)].outstanding -= 1;
        }
        action
    }

    /// Whether nothing waits and nothing is under way.
    pub(super) fn are_idle(&self) -> bool {
        self.waiting == 0 && self.issued.is_empty()
    }
}

fn transfer_path(action: &InterfaceAction) -> TransferPath {
    match *action {
        InterfaceAction::Put { to, .. } => TransferPath::ToPeer(to.peer),
        InterfaceAction::Signal { peer, .. } => TransferPath::ToPeer(peer),
        InterfaceAction::Get { from, .. } => TransferPath::FromPeer(from.peer),
        InterfaceAction::Update { at, .. } => TransferPath::FromPeer(at.peer),
        InterfaceAction::Copy { .. } | InterfaceAction::Combine { .. } => TransferPath::Local,
    }
}
