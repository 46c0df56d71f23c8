//! The engines of an interface: each does the commands of its queue one after the other.
//!
//! ```text
//!   post ──> queue ──engine free──> handed out ──left──> engine free
//!                                        └────────done──> forgotten
//! ```
//!
//! Where the network keeps order, an engine hands out a command when the one before has left: who
//! performs actions in several threads cannot change their order. Where it does not, commands are
//! handed out as they come.

use std::collections::VecDeque;

use super::action::{Action, ActionId, Due};
use crate::base::{Peer, Slab};
use crate::device::trigger::CounterKey;

/// Whose command it is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin {
    /// A read or write that the rank asked for.
    Access(u32),
    /// Work of a program, which adds to a counter once its source may be overwritten.
    Work { program: u32, done: Option<(CounterKey, u64)> },
}

#[derive(Clone, Copy, Debug)]
struct Command {
    origin: Origin,
    action: Action,
}

#[derive(Debug, Default)]
struct Engine {
    queue: VecDeque<Command>,
    /// Handed out and not left.
    under_way: u32,
}

/// An action that was handed out.
#[derive(Clone, Copy, Debug)]
pub(super) struct HandedOut {
    pub(super) origin: Origin,
    pub(super) left: bool,
    engine: u8,
}

/// All engines of an interface.
#[derive(Debug)]
pub(super) struct Engines {
    engines: Box<[Engine]>,
    handed_out: Slab<HandedOut>,
    ordered: bool,
    /// The engine that is asked first, so that none waits for ever behind the others.
    first: usize,
    /// Commands in all queues.
    waiting: usize,
}

impl Engines {
    pub(super) fn new(engines: u8, ordered: bool) -> Self {
        let engines = (0..engines.max(1)).map(|_| Engine::default()).collect();
        Self { engines, handed_out: Slab::default(), ordered, first: 0, waiting: 0 }
    }

    /// The engine of a command: the one that was asked for, else the same for all commands of one
    /// `flow` to one peer, which keep their order so.
    pub(super) fn choose(&self, wanted: Option<u8>, flow: u32, peer: Peer) -> u8 {
        let number = wanted.map_or(flow.wrapping_add(peer), u32::from);
        (number % self.engines.len() as u32) as u8
    }

    pub(super) fn post(&mut self, engine: u8, origin: Origin, action: Action) {
        self.engines[usize::from(engine)].queue.push_back(Command { origin, action });
        self.waiting += 1;
    }

    /// The next action of an engine that is free.
    pub(super) fn next(&mut self) -> Option<Due> {
        if self.waiting == 0 {
            return None;
        }
        let count = self.engines.len();
        let free = |at: &usize| {
            let engine = &self.engines[*at];
            !(engine.queue.is_empty() || self.ordered && engine.under_way > 0)
        };
        let at = (0..count).map(|step| (self.first + step) % count).find(free)?;
        self.first = (at + 1) % count;
        let Command { origin, action } = self.engines[at].queue.pop_front()?;
        self.engines[at].under_way += 1;
        self.waiting -= 1;
        let engine = at as u8;
        let id = ActionId(self.handed_out.insert(HandedOut { origin, left: false, engine }));
        Some(Due { id, action, engine })
    }

    /// The source of an action may be overwritten; what it is, if that is news.
    pub(super) fn left(&mut self, id: ActionId) -> Option<Origin> {
        let action = self.handed_out.get_mut(id.0).expect("an action that was handed out");
        if std::mem::replace(&mut action.left, true) {
            return None;
        }
        self.engines[usize::from(action.engine)].under_way -= 1;
        Some(action.origin)
    }

    /// Forgets an action that is over.
    pub(super) fn done(&mut self, id: ActionId) -> HandedOut {
        let action = self.handed_out.remove(id.0).expect("an action that was handed out");
        if !action.left {
            self.engines[usize::from(action.engine)].under_way -= 1;
        }
        action
    }

    /// Whether nothing waits and nothing is under way.
    pub(super) fn are_idle(&self) -> bool {
        self.waiting == 0 && self.handed_out.is_empty()
    }
}
