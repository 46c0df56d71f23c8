//! The engines of an interface: each performs the commands of its queue one after the other.
//!
//! ```text
//!   post ──> queue ──engine free──> in flight ──arrival time──> issued ──sent──> done
//!                                   (paced only)
//! ```
//!
//! Without a pace, commands are issued at once. If the network keeps order, an engine issues a command
//! after the one before was sent, so an owner with several threads cannot change their order. Otherwise
//! commands are issued as they come.
//!
//! With a pace, a command starts when the one before has left the engine, and is issued at its arrival
//! time. A command that waited for its engine starts at the time at which the engine became free,
//! however late the owner calls.

use std::collections::VecDeque;

use super::action::{ActionId, DueAction, InterfaceAction};
use super::network_model::{NetworkModel, TransferPath};
use crate::device::rma::PutSignal;
use crate::device::trigger::CounterKey;
use platform::base::{Peer, Slab};

/// The origin of a command.
#[derive(Clone, Copy, Debug)]
pub(super) enum CommandOrigin {
    /// An access of the rank to this peer, and the addition that follows it.
    Access { peer: Peer, number: AccessNumber, signal: Option<PutSignal> },
    /// Work of a program; `done` is added when its source may be overwritten.
    Work { program: u32, done: Option<(CounterKey, u64)> },
}

/// The number of an access, from 1 on: among those to its peer, and among all of the rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct AccessNumber {
    pub(super) of_peer: u64,
    pub(super) of_all: u64,
}

#[derive(Clone, Copy, Debug)]
struct EngineCommand {
    origin: CommandOrigin,
    action: InterfaceAction,
    /// Time of the first call of `next` after the post; unknown before.
    seen_ns: Option<u64>,
}

#[derive(Debug, Default)]
struct InterfaceEngine {
    queue: VecDeque<EngineCommand>,
    /// Commands in flight with their arrival times, ascending.
    in_flight: VecDeque<(u64, EngineCommand)>,
    free_ns: u64,
    /// Commands issued and not sent.
    outstanding: u32,
}

/// An issued action.
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
    /// The engine that `next` tries first, for fairness.
    first: usize,
    /// Commands that are not issued.
    queued: usize,
}

impl InterfaceEngine {
    /// Starts the commands for which the engine became free by `now_ns`.
    fn launch(&mut self, network: &mut dyn NetworkModel, number: u8, now_ns: u64) {
        for command in self.queue.iter_mut().rev().take_while(|command| command.seen_ns.is_none()) {
            command.seen_ns = Some(now_ns);
        }
        while let Some(command) = self.queue.front() {
            let start = self.free_ns.max(command.seen_ns.unwrap_or(now_ns));
            if start > now_ns {
                return;
            }
            let Some(command) = self.queue.pop_front() else { return };
            let path = transfer_path(&command.action);
            let times = network.send(path, number, command.action.bytes() as u64, start);
            self.free_ns = times.sent_ns;
            self.insert_in_flight(times.arrived_ns, command);
        }
    }

    /// Puts a command in flight. It does not overtake an earlier one to the same peer.
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
        Self { engines, issued, ordered, network: None, first: 0, queued: 0 }
    }

    pub(super) fn set_network(&mut self, network: Box<dyn NetworkModel>) {
        self.network = Some(network);
    }

    /// The engine of a command: the wanted one, else the same engine for all commands of one `flow` to
    /// one peer, which keeps their order.
    pub(super) fn choose(&self, wanted: Option<u8>, flow: u32, peer: Peer) -> u8 {
        let number = wanted.map_or(flow.wrapping_add(peer), u32::from);
        (number % self.engines.len() as u32) as u8
    }

    pub(super) fn post(&mut self, engine: u8, origin: CommandOrigin, action: InterfaceAction) {
        let command = EngineCommand { origin, action, seen_ns: None };
        self.engines[usize::from(engine)].queue.push_back(command);
        self.queued += 1;
    }

    /// The next action of a free engine.
    pub(super) fn next(&mut self, now_ns: u64) -> Option<DueAction> {
        if self.queued == 0 {
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
        if let Some(network) = &mut self.network {
            engine.launch(network.as_mut(), at as u8, now_ns);
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
        self.queued -= 1;
        let action = IssuedAction { origin: command.origin, is_sent: false, engine };
        let id = ActionId(self.issued.insert(action));
        DueAction { id, action: command.action, engine }
    }

    /// Time of the next action without an event before; `None` if there is none, and without a pace.
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

    /// The origin of an action in progress.
    pub(super) fn origin(&self, id: ActionId) -> CommandOrigin {
        self.issued[id.0].origin
    }

    /// The source of an action may be overwritten; returns its origin at the first call.
    pub(super) fn sent(&mut self, id: ActionId) -> Option<CommandOrigin> {
        let action = self.issued.get_mut(id.0).expect("an issued action");
        if std::mem::replace(&mut action.is_sent, true) {
            return None;
        }
        self.engines[usize::from(action.engine)].outstanding -= 1;
        Some(action.origin)
    }

    /// Removes an action that has completed.
    pub(super) fn done(&mut self, id: ActionId) -> IssuedAction {
        let action = self.issued.remove(id.0).expect("an issued action");
        if !action.is_sent {
            self.engines[usize::from(action.engine)].outstanding -= 1;
        }
        action
    }

    /// Whether no command waits or is in progress.
    pub(super) fn are_idle(&self) -> bool {
        self.queued == 0 && self.issued.is_empty()
    }
}

fn transfer_path(action: &InterfaceAction) -> TransferPath {
    match *action {
        InterfaceAction::Put { to, .. } => TransferPath::ToPeer(to.peer),
        InterfaceAction::Signal { peer, .. } => TransferPath::ToPeer(peer),
        InterfaceAction::Get { from, .. } => TransferPath::FromPeer(from.peer),
        InterfaceAction::Update { at, .. } => TransferPath::FromPeer(at.peer),
        InterfaceAction::Copy { .. }
        | InterfaceAction::Reduce { .. }
        | InterfaceAction::Combine { .. } => TransferPath::Local,
    }
}
