//! One-sided access and programs of the ranks of this network.

use std::sync::atomic::Ordering;

use super::Loopback;
use super::wire::{Station, Wire};
use crate::base::{Peer, Result, Span};
use crate::device::rma::{Access, Key, Remote, Rma, Ticket, Update};
use crate::device::trigger::{CounterKey, Limits, Loading, Look, ProgramKey, Runner, Trigger};
use crate::offload::StepId;

impl Loopback {
    /// Lets the host of this rank do its part, and the network some of its.
    pub(super) fn move_along(&mut self) {
        let called = self.inbox(self.me).called.swap(false, Ordering::AcqRel);
        if !called && !self.network.moves.load(Ordering::Acquire) {
            return;
        }
        self.command(|wire, me| {
            let Station { nic, levels, .. } = wire.station(me);
            nic.run_host(levels);
        });
    }

    /// Lets everything happen that can without a rank: before one sleeps, and before one leaves.
    pub(super) fn settle(&mut self) {
        let mut wire = self.network.wire.lock();
        wire.run(true);
        self.network.moves.store(false, Ordering::Release);
        let rung = wire.take_rung();
        drop(wire);
        self.ring_all(&rung);
    }

    /// Does something to the network and lets it move: a bit, or to the end if somebody sleeps, who
    /// would not move it.
    fn command<T>(&mut self, act: impl FnOnce(&mut Wire, Peer) -> T) -> T {
        let mut wire = self.network.wire.lock();
        let result = act(&mut wire, self.me);
        // Who arms from here on settles after this, as it needs the same lock.
        let somebody_sleeps = self.inboxes.iter().any(|inbox| inbox.arrivals.lock().sleeps);
        let more = wire.run(somebody_sleeps);
        self.network.moves.store(more, Ordering::Release);
        let rung = wire.take_rung();
        drop(wire);
        self.ring_all(&rung);
        result
    }

    /// Has the hosts of these ranks look at their programs, which may have something for them.
    fn ring_all(&self, rung: &[Peer]) {
        for &peer in rung {
            self.inbox(peer).called.store(true, Ordering::Release);
            self.inbox(peer).ring();
        }
    }
}

impl Rma for Loopback {
    fn register(&mut self, memory: Span, access: Access) -> Result<Key> {
        Ok(self.network.wire.lock().register(self.me, memory, access))
    }

    fn deregister(&mut self, key: Key) {
        self.network.wire.lock().deregister(self.me, key);
    }

    fn put(&mut self, from: Span, to: Remote, engine: Option<u8>) -> Result<Ticket> {
        self.command(|wire, me| {
            wire.find(to, from.len(), true)?;
            Ok(wire.station(me).nic.put(from, to, engine))
        })
    }

    fn get(&mut self, from: Remote, into: Span, engine: Option<u8>) -> Result<Ticket> {
        self.command(|wire, me| {
            wire.find(from, into.len(), false)?;
            Ok(wire.station(me).nic.get(from, into, engine))
        })
    }

    fn update(&mut self, at: Remote, bytes: u8, update: Update, old: Span) -> Result<Ticket> {
        self.command(|wire, me| {
            wire.find(at, usize::from(bytes), true)?;
            wire.station(me).nic.update(at, bytes, update, old)
        })
    }

    fn end(&mut self, ticket: Ticket) -> Option<Result> {
        self.move_along();
        self.network.wire.lock().station(self.me).nic.end(ticket)
    }
}

impl Trigger for Loopback {
    fn limits(&self) -> Limits {
        self.network.wire.lock().limits(self.me)
    }

    fn reserve(&mut self, counters: usize) -> Result<Vec<CounterKey>> {
        let mut wire = self.network.wire.lock();
        let Station { nic, levels, .. } = wire.station(self.me);
        nic.reserve(counters, levels)
    }

    fn release(&mut self, counters: &[CounterKey]) {
        self.network.wire.lock().station(self.me).nic.release(counters);
    }

    fn load(&mut self, loading: Loading, host: bool) -> ProgramKey {
        self.network.wire.lock().station(self.me).nic.load(loading, host)
    }

    fn runner(&self, program: ProgramKey) -> Runner {
        self.network.wire.lock().station(self.me).nic.runner(program)
    }

    fn arrange(&mut self, program: ProgramKey, engines: &[(u32, u8)]) {
        self.network.wire.lock().station(self.me).nic.arrange(program, engines);
    }

    fn start(&mut self, program: ProgramKey) {
        self.command(|wire, me| wire.station(me).nic.start(program));
        self.inbox(self.me).called.store(true, Ordering::Release);
    }

    fn look(&mut self, program: ProgramKey) -> Look {
        self.network.wire.lock().station(self.me).nic.look(program)
    }

    fn host_done(&mut self, program: ProgramKey, step: StepId) {
        self.command(|wire, me| {
            let Station { nic, levels, .. } = wire.station(me);
            nic.host_done(program, step, levels);
        });
        self.inbox(self.me).called.store(true, Ordering::Release);
    }

    fn unload(&mut self, program: ProgramKey) {
        self.network.wire.lock().station(self.me).nic.unload(program);
    }

    fn fallbacks(&self) -> u64 {
        self.network.wire.lock().station(self.me).nic.fallbacks()
    }

    fn rest(&self) -> Option<u64> {
        if self.inbox(self.me).called.load(Ordering::Acquire) {
            return None;
        }
        // Under the lock, as `moves` changes there.
        let wire = self.network.wire.lock();
        if self.network.moves.load(Ordering::Acquire) { None } else { wire.rest(self.me) }
    }
}
