//! The engines of an interface: each performs the commands of its queue one after the other.
//!
//! ```text
//!   post ──> queue ──engine free──> in flight ──arrival time──> issued ──sent──> done
//!     │        ▲                    (paced only)                   │
//!     │        └──────────── rest of a long transfer ──────────────┘
//!     └────> signals ─────────────> in flight ──────────────────> issued ──────> done
//! ```
//!
//! Signals have a queue of their own, and wait for no transfer: the compiler of programs relies on no
//! order between a signal and a put (`offload::compile`). An engine that has a signal issues it first.
//!
//! A transfer that is longer than a command may be is divided: its engine issues the rest when the first
//! part is done, and no other transfer before.
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
use crate::device::trigger::InterfaceLimits;
use platform::base::{Peer, Slab};

/// The origin of a command.
#[derive(Clone, Copy, Debug)]
pub(super) enum CommandOrigin {
    /// An access of the rank to this peer, and the addition that follows it.
    Access { peer: Peer, number: AccessNumber, signal: Option<PutSignal> },
    /// Work of a program; `done`, the index of one of its counters and a number, is added when its source may be
    /// overwritten.
    Work { program: u32, done: Option<(u32, u64)> },
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
    signals: VecDeque<EngineCommand>,
    queue: VecDeque<EngineCommand>,
    /// Commands in flight with their arrival times, ascending.
    in_flight: VecDeque<(u64, EngineCommand)>,
    free_ns: u64,
    /// Commands issued and not sent, without signals.
    outstanding: u32,
    /// A part of a transfer is in flight or issued, and the rest waits for its end.
    is_dividing: bool,
}

/// An issued action.
#[derive(Clone, Copy, Debug)]
pub(super) struct IssuedAction {
    pub(super) origin: CommandOrigin,
    pub(super) is_sent: bool,
    engine: u8,
    /// The rest of a divided transfer.
    rest: Option<InterfaceAction>,
    is_signal: bool,
}

/// All engines of an interface.
#[derive(Debug)]
pub(super) struct InterfaceEngines {
    engines: Box<[InterfaceEngine]>,
    issued: Slab<IssuedAction>,
    ordered: bool,
    /// The longest transfer of a command, in bytes.
    transfer_max: usize,
    network: Option<Box<dyn NetworkModel>>,
    /// The engine that `next` tries first, for fairness.
    first: usize,
    /// Commands that are not issued.
    queued: usize,
    /// Signals among them.
    queued_signals: usize,
}

impl EngineCommand {
    fn is_signal(&self) -> bool {
        matches!(self.action, InterfaceAction::Signal { .. })
    }
}

impl InterfaceEngine {
    /// Starts the commands for which the engine became free by `now_ns`.
    fn launch(&mut self, network: &mut dyn NetworkModel, number: u8, most: usize, now_ns: u64) {
        for queue in [&mut self.queue, &mut self.signals] {
            let new = queue.iter_mut().rev().take_while(|command| command.seen_ns.is_none());
            new.for_each(|command| command.seen_ns = Some(now_ns));
        }
        // Packets of a signal go between those of a transfer.
        while let Some(command) = self.signals.pop_front() {
            let path = transfer_path(&command.action);
            let times = network.send(path, number, 0, command.seen_ns.unwrap_or(now_ns));
            self.insert_in_flight(times.arrived_ns, command);
        }
        while let Some(command) = self.queue.front().filter(|_| !self.is_dividing) {
            let start = self.free_ns.max(command.seen_ns.unwrap_or(now_ns));
            if start > now_ns {
                return;
            }
            let Some(command) = self.queue.pop_front() else { return };
            self.is_dividing = command.action.divide(most).1.is_some();
            let path = transfer_path(&command.action);
            let bytes = command.action.bytes().min(most) as u64;
            let times = network.send(path, number, bytes, start);
            self.free_ns = times.sent_ns;
            self.insert_in_flight(times.arrived_ns, command);
        }
    }

    /// Puts a command in flight. It does not overtake an earlier one to the same peer, unless one of them
    /// is a signal.
    fn insert_in_flight(&mut self, arrived_ns: u64, command: EngineCommand) {
        let peer = command.action.peer();
        let keeps_order = |other: &&(u64, EngineCommand)| {
            !command.is_signal() && !other.1.is_signal() && other.1.action.peer() == peer
        };
        let before = self.in_flight.iter().rev().find(keeps_order);
        let arrived_ns = before.map_or(arrived_ns, |(before, _)| arrived_ns.max(*before));
        let at = self.in_flight.partition_point(|(other, _)| *other <= arrived_ns);
        self.in_flight.insert(at, (arrived_ns, command));
    }

    /// The first command that may be issued at `now_ns`.
    fn take(&mut self, ordered: bool, is_paced: bool, now_ns: u64) -> Option<EngineCommand> {
        let holds = ordered && self.outstanding > 0;
        if is_paced {
            let is_due = |(arrived_ns, command): &(u64, EngineCommand)| {
                *arrived_ns <= now_ns && (command.is_signal() || !holds)
            };
            let at = self.in_flight.iter().position(is_due)?;
            return self.in_flight.remove(at).map(|(_, command)| command);
        }
        let signal = self.signals.pop_front();
        signal.or_else(|| self.queue.pop_front_if(|_| !holds && !self.is_dividing))
    }

    /// Time of its next event; `None` if it waits for another one.
    fn next_event_ns(&self, ordered: bool) -> Option<u64> {
        let holds = ordered && self.outstanding > 0;
        let may_arrive = |(_, command): &&(u64, EngineCommand)| command.is_signal() || !holds;
        let arrives = self.in_flight.iter().find(may_arrive).map(|(arrived_ns, _)| *arrived_ns);
        let signals = self.signals.front().map(|next| next.seen_ns.unwrap_or(0));
        let starts = self.queue.front().filter(|_| !self.is_dividing);
        let starts = starts.map(|next| self.free_ns.max(next.seen_ns.unwrap_or(0)));
        arrives.into_iter().chain(signals).chain(starts).min()
    }
}

impl InterfaceEngines {
    pub(super) fn new(limits: &InterfaceLimits) -> Self {
        let engines = (0..limits.engines.max(1)).map(|_| InterfaceEngine::default()).collect();
        Self {
            engines,
            issued: Slab::default(),
            ordered: limits.ordered,
            transfer_max: limits.transfer_max,
            network: None,
            first: 0,
            queued: 0,
            queued_signals: 0,
        }
    }

    /// The time to post an operation to a slot, in nanoseconds; 0 without a pace.
    pub(super) fn post_ns(&self) -> u64 {
        self.network.as_ref().map_or(0, |network| network.post_ns())
    }

    /// Divides transfers of more than this number of bytes.
    pub(super) fn limit_transfers(&mut self, most: usize) {
        self.transfer_max = self.transfer_max.min(most);
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
        let engine = &mut self.engines[usize::from(engine)];
        let queue = if command.is_signal() { &mut engine.signals } else { &mut engine.queue };
        queue.push_back(command);
        self.queued += 1;
        self.queued_signals += usize::from(command.is_signal());
    }

    /// The next action of a free engine; a signal first.
    pub(super) fn next(&mut self, now_ns: u64) -> Option<DueAction> {
        if self.queued == 0 {
            return None;
        }
        let (count, first) = (self.engines.len(), self.first);
        let mut turns = (first..count).chain(0..first);
        let has_signals = |at: &usize| !self.engines[*at].signals.is_empty();
        let signalling = match &self.network {
            None if self.queued_signals > 0 => turns.clone().find(has_signals),
            _ => None,
        };
        let (at, command) = match signalling {
            Some(at) => (at, self.take(at, now_ns)?),
            None => turns.find_map(|at| Some((at, self.take(at, now_ns)?)))?,
        };
        self.first = if at + 1 == count { 0 } else { at + 1 };
        Some(self.issue(command, at as u8))
    }

    fn take(&mut self, at: usize, now_ns: u64) -> Option<EngineCommand> {
        let engine = &mut self.engines[at];
        if let Some(network) = &mut self.network {
            engine.launch(network.as_mut(), at as u8, self.transfer_max, now_ns);
        }
        engine.take(self.ordered, self.network.is_some(), now_ns)
    }

    fn issue(&mut self, command: EngineCommand, engine: u8) -> DueAction {
        let (action, rest) = command.action.divide(self.transfer_max);
        let is_signal = command.is_signal();
        let of = &mut self.engines[usize::from(engine)];
        of.outstanding += u32::from(!is_signal);
        of.is_dividing |= rest.is_some();
        self.queued -= 1;
        self.queued_signals -= usize::from(is_signal);
        let issued =
            IssuedAction { origin: command.origin, is_sent: false, engine, rest, is_signal };
        DueAction { id: ActionId(self.issued.insert(issued)), action, engine }
    }

    /// Time of the next action without an event before; `None` if there is none, and without a pace.
    pub(super) fn next_event_ns(&self) -> Option<u64> {
        self.network.as_ref()?;
        self.engines.iter().filter_map(|engine| engine.next_event_ns(self.ordered)).min()
    }

    /// The origin of an action in progress.
    pub(super) fn origin(&self, id: ActionId) -> CommandOrigin {
        self.issued[id.0].origin
    }

    /// The source of an action may be overwritten; returns its origin at the first call, unless the
    /// action is a part of a transfer and not its last one.
    pub(super) fn sent(&mut self, id: ActionId) -> Option<CommandOrigin> {
        let action = self.issued.get_mut(id.0).expect("an issued action");
        if action.rest.is_some() || std::mem::replace(&mut action.is_sent, true) {
            return None;
        }
        self.engines[usize::from(action.engine)].outstanding -= u32::from(!action.is_signal);
        Some(action.origin)
    }

    /// Removes an action that has completed. `None` if the rest of its transfer follows.
    pub(super) fn done(&mut self, id: ActionId, has_failed: bool) -> Option<IssuedAction> {
        let action = self.issued.remove(id.0).expect("an issued action");
        let engine = &mut self.engines[usize::from(action.engine)];
        if !action.is_sent {
            engine.outstanding -= u32::from(!action.is_signal);
        }
        let Some(rest) = action.rest else { return Some(action) };
        engine.is_dividing = false;
        if has_failed {
            return Some(action);
        }
        let rest = EngineCommand { origin: action.origin, action: rest, seen_ns: None };
        engine.queue.push_front(rest);
        self.queued += 1;
        None
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
