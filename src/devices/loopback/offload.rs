//! One-sided access and programs of deferred work of the test device.

use std::sync::atomic::Ordering;

use super::Loopback;
use super::network::{LoopbackNetwork, RankInterface};
use crate::device::rma::{
    AccessEngines, AccessProgress, MemoryKey, NumberKind, PutSignal, RemoteAccess, RemoteAddress,
    Rma, RmaAccess, RmaCaps, RmaError, Update, UpdateExecutor, UpdateSet,
};
use crate::device::trigger::{
    CounterKey, InstanceState, InterfaceLimits, ProgramBinding, ProgramKey, Runner, Trigger,
};
use crate::offload::StepId;
use platform::base::{MpiError, Peer, Result, Span};

impl Loopback {
    /// Runs a few steps of the network.
    pub(super) fn advance_network(&mut self) {
        if self.network.is_active.load(Ordering::Acquire) {
            self.command(|_, _| ());
        }
    }

    /// Runs the network until it has no work: before a rank sleeps, and before it leaves.
    pub(super) fn run_to_quiescence(&mut self) {
        let mut interfaces = self.network.interfaces.lock();
        interfaces.run(true);
        self.network.is_active.store(false, Ordering::Release);
        let notified = interfaces.take_notified();
        drop(interfaces);
        self.notify_all(&notified);
    }

    /// Posts a command and runs the network: a few steps, or until it has no work if a rank sleeps and
    /// so cannot run it.
    fn command<T>(&mut self, act: impl FnOnce(&mut LoopbackNetwork, Peer) -> T) -> T {
        let mut interfaces = self.network.interfaces.lock();
        let result = act(&mut interfaces, self.me);
        // A rank that arms later runs the network after this, as it needs the same lock.
        let is_any_armed = self.inboxes.iter().any(|inbox| inbox.arrivals.lock().is_armed);
        let more = interfaces.run(is_any_armed);
        self.network.is_active.store(more, Ordering::Release);
        let notified = interfaces.take_notified();
        drop(interfaces);
        self.notify_all(&notified);
        result
    }

    /// How often counters of this rank have changed, if no interface has work.
    pub(super) fn counter_changes(&self) -> Option<u64> {
        // Under the lock, as `is_active` changes there.
        let interfaces = self.network.interfaces.lock();
        if self.network.is_active.load(Ordering::Acquire) {
            None
        } else {
            interfaces.quiescence(self.me)
        }
    }

    /// Starts an access, by an engine or one chosen by the peer.
    fn access(
        &mut self, access: RmaAccess, engine: Option<u8>, is_deferred: bool,
    ) -> Result<(), RmaError> {
        self.command(|interfaces, me| {
            check(interfaces, access)?;
            let nic = &mut interfaces.interface(me).nic;
            match engine.filter(|_| is_deferred) {
                Some(engine) => Ok(nic.defer(access, engine)?),
                None => Ok(nic.access(access, engine)?),
            }
        })
    }

    /// Wakes these ranks: they may have waited for what has happened.
    fn notify_all(&self, notified: &[Peer]) {
        notified.iter().for_each(|peer| self.inbox(*peer).wake());
    }
}

/// Checks an access before it starts.
fn check(interfaces: &LoopbackNetwork, access: RmaAccess) -> Result {
    match access {
        RmaAccess::Put { from, to } => interfaces.resolve(to, from.len(), true).map(drop),
        RmaAccess::Get { from, into } => interfaces.resolve(from, into.len(), false).map(drop),
        RmaAccess::Update { at, kind, update, old } => {
            interfaces.resolve(at, kind.bytes(), true)?;
            UpdateSet::ALL.check(at.offset, kind, update, old)
        }
    }
}

impl Rma for Loopback {
    fn register(&mut self, memory: Span, access: RemoteAccess) -> Result<MemoryKey> {
        Ok(self.network.interfaces.lock().register(self.me, memory, access))
    }

    fn deregister(&mut self, key: MemoryKey) {
        self.network.interfaces.lock().deregister(self.me, key);
    }

    fn open(&mut self, peer: Peer, key: MemoryKey) -> Result<RmaCaps> {
        let mut interfaces = self.network.interfaces.lock();
        interfaces.resolve(RemoteAddress { peer, key, offset: 0 }, 0, false)?;
        let ordered = interfaces.interface(self.me).nic.limits().ordered;
        let (updates, executor) = (UpdateSet::ALL, UpdateExecutor::Interface);
        Ok(RmaCaps { updates, executor, ordered, mapped: None })
    }

    fn put(&mut self, from: Span, to: RemoteAddress) -> Result<(), RmaError> {
        self.access(RmaAccess::Put { from, to }, None, false)
    }

    fn put_signalled(
        &mut self, from: Span, to: RemoteAddress, signal: PutSignal,
    ) -> Result<(), RmaError> {
        self.command(|interfaces, me| {
            check(interfaces, RmaAccess::Put { from, to })?;
            let (at, old) = (signal.address(to.peer), Span::EMPTY);
            let (kind, update) = (NumberKind::Unsigned8, Update::Add(signal.addend));
            check(interfaces, RmaAccess::Update { at, kind, update, old })?;
            Ok(interfaces.interface(me).nic.put_signalled(from, to, signal)?)
        })
    }

    fn get(&mut self, from: RemoteAddress, into: Span) -> Result<(), RmaError> {
        self.access(RmaAccess::Get { from, into }, None, false)
    }

    fn update(
        &mut self, at: RemoteAddress, kind: NumberKind, update: Update, old: Span,
    ) -> Result<(), RmaError> {
        self.access(RmaAccess::Update { at, kind, update, old }, None, false)
    }

    fn progress(&mut self, peer: Peer) -> AccessProgress {
        self.network.interfaces.lock().interface(self.me).nic.accesses().progress(peer)
    }

    fn flush(&mut self, peer: Peer) -> Option<Result> {
        self.network.interfaces.lock().interface(self.me).nic.accesses().flush(peer)
    }

    fn engines(&mut self) -> Option<&mut dyn AccessEngines> {
        Some(self)
    }
}

impl AccessEngines for Loopback {
    fn count(&mut self) -> u8 {
        self.limits().engines
    }

    fn start(&mut self, access: RmaAccess, engine: u8, is_deferred: bool) -> Result<(), RmaError> {
        self.access(access, Some(engine), is_deferred)
    }
}

impl Trigger for Loopback {
    fn limits(&self) -> InterfaceLimits {
        self.network.interfaces.lock().limits(self.me)
    }

    fn reaches(&self, peer: Peer) -> bool {
        (peer as usize) < self.inboxes.len()
    }

    fn reserve(&mut self, counters: usize) -> Result<Vec<CounterKey>> {
        let mut interfaces = self.network.interfaces.lock();
        let RankInterface { nic, levels, .. } = interfaces.interface(self.me);
        nic.reserve(counters, levels)
    }

    fn release(&mut self, counters: &[CounterKey], _: &[Span]) {
        self.network.interfaces.lock().interface(self.me).nic.release(counters);
    }

    fn load(&mut self, binding: ProgramBinding, by_software: bool) -> ProgramKey {
        self.network.interfaces.lock().interface(self.me).nic.load(binding, by_software)
    }

    fn runner(&self, program: ProgramKey) -> Runner {
        self.network.interfaces.lock().interface(self.me).nic.runner(program)
    }

    fn assign_engines(&mut self, program: ProgramKey, engines: &[(u32, u8)]) {
        self.network.interfaces.lock().interface(self.me).nic.assign_engines(program, engines);
    }

    fn start(&mut self, program: ProgramKey) {
        self.command(|interfaces, me| interfaces.interface(me).nic.start(program));
    }

    fn poll_program(&mut self, program: ProgramKey) -> InstanceState {
        self.network.interfaces.lock().interface(self.me).nic.poll_program(program)
    }

    fn host_done(&mut self, program: ProgramKey, step: StepId) {
        self.command(|interfaces, me| {
            let RankInterface { nic, levels, .. } = interfaces.interface(me);
            nic.host_done(program, step, levels);
        });
    }

    fn fail(&mut self, program: ProgramKey, error: &MpiError) {
        self.command(|interfaces, me| interfaces.interface(me).nic.fail(program, error));
    }

    fn unload(&mut self, program: ProgramKey) {
        self.network.interfaces.lock().interface(self.me).nic.unload(program);
    }

    fn fallbacks(&self) -> u64 {
        self.network.interfaces.lock().interface(self.me).nic.fallbacks()
    }
}
