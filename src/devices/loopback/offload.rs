//! One-sided access and programs of the ranks of this network.

use std::sync::atomic::Ordering;

use super::Loopback;
use super::network::{LoopbackNetwork, RankInterface};
use crate::device::rma::{MemoryKey, RemoteAccess, RemoteAddress, Rma, RmaTicket, Update};
use crate::device::trigger::{
    CounterKey, InstanceState, InterfaceLimits, ProgramBinding, ProgramKey, Runner, Trigger,
};
use crate::offload::StepId;
use platform::base::{Peer, Result, Span};

impl Loopback {
    /// Lets the host of this rank do its part, and the network some of its.
    pub(super) fn advance_network(&mut self) {
        let called = self.inbox(self.me).host_work_due.swap(false, Ordering::AcqRel);
        if !called && !self.network.is_active.load(Ordering::Acquire) {
            return;
        }
        self.command(|wire, me| {
            let RankInterface { nic, levels, .. } = wire.interface(me);
            nic.run_host(levels);
        });
    }

    /// Lets everything happen that can without a rank: before one sleeps, and before one leaves.
    pub(super) fn run_to_quiescence(&mut self) {
        let mut wire = self.network.wire.lock();
        wire.run(true);
        self.network.is_active.store(false, Ordering::Release);
        let rung = wire.take_notified();
        drop(wire);
        self.notify_all(&rung);
    }

    /// Does something to the network and lets it move: a bit, or to the end if somebody sleeps, who
    /// would not move it.
    fn command<T>(&mut self, act: impl FnOnce(&mut LoopbackNetwork, Peer) -> T) -> T {
        let mut wire = self.network.wire.lock();
        let result = act(&mut wire, self.me);
        // Who arms from here on settles after this, as it needs the same lock.
        let somebody_sleeps = self.inboxes.iter().any(|inbox| inbox.arrivals.lock().is_armed);
        let more = wire.run(somebody_sleeps);
        self.network.is_active.store(more, Ordering::Release);
        let rung = wire.take_notified();
        drop(wire);
        self.notify_all(&rung);
        result
    }

    /// How often counters of this rank have changed, if no interface has work.
    pub(super) fn counter_changes(&self) -> Option<u64> {
        if self.inbox(self.me).host_work_due.load(Ordering::Acquire) {
            return None;
        }
        // Under the lock, as `is_active` changes there.
        let wire = self.network.wire.lock();
        if self.network.is_active.load(Ordering::Acquire) { None } else { wire.quiescence(self.me) }
    }

    /// Has the hosts of these ranks look at their programs, which may have something for them.
    fn notify_all(&self, rung: &[Peer]) {
        for &peer in rung {
            self.inbox(peer).host_work_due.store(true, Ordering::Release);
            self.inbox(peer).wake();
        }
    }
}

impl Rma for Loopback {
    fn register(&mut self, memory: Span, access: RemoteAccess) -> Result<MemoryKey> {
        Ok(self.network.wire.lock().register(self.me, memory, access))
    }

    fn deregister(&mut self, key: MemoryKey) {
        self.network.wire.lock().deregister(self.me, key);
    }

    fn put(&mut self, from: Span, to: RemoteAddress, engine: Option<u8>) -> Result<RmaTicket> {
        self.command(|wire, me| {
            wire.resolve(to, from.len(), true)?;
            Ok(wire.interface(me).nic.put(from, to, engine))
        })
    }

    fn get(&mut self, from: RemoteAddress, into: Span, engine: Option<u8>) -> Result<RmaTicket> {
        self.command(|wire, me| {
            wire.resolve(from, into.len(), false)?;
            Ok(wire.interface(me).nic.get(from, into, engine))
        })
    }

    fn update(
        &mut self, at: RemoteAddress, bytes: u8, update: Update, old: Span,
    ) -> Result<RmaTicket> {
        self.command(|wire, me| {
            wire.resolve(at, usize::from(bytes), true)?;
            wire.interface(me).nic.update(at, bytes, update, old)
        })
    }

    fn take_completion(&mut self, ticket: RmaTicket) -> Option<Result> {
        self.advance_network();
        self.network.wire.lock().interface(self.me).nic.take_completion(ticket)
    }
}

impl Trigger for Loopback {
    fn limits(&self) -> InterfaceLimits {
        self.network.wire.lock().limits(self.me)
    }

    fn reserve(&mut self, counters: usize) -> Result<Vec<CounterKey>> {
        let mut wire = self.network.wire.lock();
        let RankInterface { nic, levels, .. } = wire.interface(self.me);
        nic.reserve(counters, levels)
    }

    fn release(&mut self, counters: &[CounterKey]) {
        self.network.wire.lock().interface(self.me).nic.release(counters);
    }

    fn load(&mut self, loading: ProgramBinding, host: bool) -> ProgramKey {
        self.network.wire.lock().interface(self.me).nic.load(loading, host)
    }

    fn runner(&self, program: ProgramKey) -> Runner {
        self.network.wire.lock().interface(self.me).nic.runner(program)
    }

    fn assign_engines(&mut self, program: ProgramKey, engines: &[(u32, u8)]) {
        self.network.wire.lock().interface(self.me).nic.assign_engines(program, engines);
    }

    fn start(&mut self, program: ProgramKey) {
        self.command(|wire, me| wire.interface(me).nic.start(program));
        self.inbox(self.me).host_work_due.store(true, Ordering::Release);
    }

    fn poll_program(&mut self, program: ProgramKey) -> InstanceState {
        self.network.wire.lock().interface(self.me).nic.poll_program(program)
    }

    fn host_done(&mut self, program: ProgramKey, step: StepId) {
        self.command(|wire, me| {
            let RankInterface { nic, levels, .. } = wire.interface(me);
            nic.host_done(program, step, levels);
        });
        self.inbox(self.me).host_work_due.store(true, Ordering::Release);
    }

    fn unload(&mut self, program: ProgramKey) {
        self.network.wire.lock().interface(self.me).nic.unload(program);
    }

    fn fallbacks(&self) -> u64 {
        self.network.wire.lock().interface(self.me).nic.fallbacks()
    }
}
