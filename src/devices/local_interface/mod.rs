//! The interface of a rank on its node: programs, and with `tofu` one-sided access, run by a thread.
//!
//! ```text
//!  application        InterfaceHost
//!       │  ▲
//!  commands│wake-ups       ┌──bytes────> memory of the peer (`fabric`, if registered)
//!       ▼  │               │
//!   interface ── engine ───┼──additions> its counters ──wake-up──> its engine thread
//!                thread    ├──requests─> its engine thread changes numbers (`atomic_request`)
//!                          └──frames───> the engine thread of a rank of another node (`put_links`)
//! ```
//!
//! [`NetworkInterface`](crate::devices::interface::NetworkInterface) decides which operation of
//! one-sided access and deferred work comes next; this module carries it out, on a thread that needs
//! no call of the application. Each rank has a thread of its own: it reads the memory of its process
//! directly, so a put is one system call and one copy, and it can call the functions of reductions.
//!
//! It knows no torus, packets or generations: the device that owns the interface gives the limits, and
//! the pace if there is one. Values read from the segment are checked before use.
#![allow(unsafe_code)]

mod area;
mod atomic_request;
mod engine_thread;
mod fabric;
mod interface;

use std::sync::Arc;

use crate::device::trigger::{
    AwaitedArrival, CounterKey, InstanceState, InterfaceLimits, ProgramBinding, ProgramKey, Runner,
    Trigger, TriggerClass,
};
use crate::devices::interface::NetworkModel;
use crate::offload::StepId;
use crate::shared_memory::primitive;
pub(crate) use area::{InterfaceArea, LAYOUT, WORDS};
use engine_thread::EngineThread;
pub(crate) use fabric::{HostFabric, InterfaceParts};
pub(crate) use interface::LocalInterface;
use platform::base::{MpiError, Peer, Result, Span};

/// Limits of an interface that is memory and a thread.
pub(crate) const SOFTWARE_LIMITS: InterfaceLimits = InterfaceLimits {
    // As many again are for programs by software, so that these can be told from the others.
    counters: WORDS as u32 / 2,
    slots: u32::MAX,
    // One thread copies for all of them, in turn: a long put does not hold those to other ranks.
    engines: 4,
    ordered: true,
    // The function of a reduction is called instead.
    arithmetic: 0,
    class: TriggerClass::Thresholds,
    counter_bits: u64::BITS,
    transfer_max: usize::MAX,
};

/// Polls of a waiting call before it does the work of an engine thread that has not run: about 2 µs, less than
/// a wake-up takes.
const LATE_POLLS: u32 = 64;

/// The interface of a rank with its thread.
pub(crate) struct InterfaceHost {
    interface: Arc<LocalInterface>,
    /// Runs from [`InterfaceHost::start_engine`] on.
    engine: Option<EngineThread>,
    /// Processors of the thread; if empty, all processors of the rank.
    cpus: Vec<usize>,
    /// The number of additions to counters at the last call of `poll_programs`.
    seen: u64,
    /// Such calls since the engine thread was given something, if it has not run since.
    late_polls: u32,
    /// Whether the application polls once more and then sleeps.
    is_armed: bool,
    /// Slots of ranks whose memory was not tested for writes yet.
    unchecked: Vec<usize>,
    /// The reason for packets only.
    refusal: Option<String>,
}

impl InterfaceHost {
    /// The interface of the rank of `fabric`, at the pace of `network` if that is given.
    ///
    /// # Safety
    /// It is the only one that this rank ever has in the segment of `fabric`.
    pub(crate) unsafe fn new(
        fabric: HostFabric, limits: InterfaceLimits, network: Option<Box<dyn NetworkModel>>,
        cpus: Vec<usize>,
    ) -> Self {
        // Without direct copies nothing depends on them.
        let copies = fabric.links().is_none_or(|links| !links.are_everywhere());
        let unchecked = if copies { (0..fabric.parts().len()).collect() } else { Vec::new() };
        let interface = Arc::new(LocalInterface::new(fabric, limits, network));
        Self {
            interface,
            engine: None,
            cpus,
            seen: 0,
            late_polls: 0,
            is_armed: false,
            unchecked,
            refusal: None,
        }
    }

    /// What the application and the thread share.
    pub(crate) fn interface(&self) -> &LocalInterface {
        &self.interface
    }

    /// Starts the engine thread if it does not run.
    ///
    /// # Errors
    /// `NoMem` if the system cannot start a thread.
    pub(crate) fn start_engine(&mut self) -> Result {
        if self.engine.is_none() {
            // SAFETY: the only thread: it runs as long as `self` exists, which is the only interface.
            self.engine = Some(unsafe { EngineThread::start(self.interface.clone(), &self.cpus)? });
        }
        Ok(())
    }

    /// The reason if no programs can run: memory of a rank that has attached cannot be written.
    pub(crate) fn refusal(&mut self) -> Option<&str> {
        if self.refusal.is_none() && !self.unchecked.is_empty() {
            let parts = self.interface.fabric.parts();
            let mut refusal = None;
            self.unchecked.retain(|slot| match &parts[*slot].address {
                address if address.pid() == 0 => true,
                address => {
                    refusal = refusal.take().or(address.check_writable().err());
                    false
                }
            });
            self.refusal = refusal;
        }
        self.refusal.as_deref()
    }

    /// The part of a thread that polls: it is idle, and the engine thread may have no processor.
    #[inline]
    pub(crate) fn poll(&mut self) {
        if self.engine.is_some() {
            self.interface.serve_requests_beside();
            self.poll_programs();
        }
    }

    /// The same for a device whose peers send no requests: performs the short commands that are due after
    /// changes of counters, and long ones if the engine thread does not begin them.
    #[inline]
    pub(crate) fn poll_programs(&mut self) {
        if !self.is_armed {
            self.interface.attend();
        }
        self.interface.serve_links_beside();
        let additions = self.interface.additions();
        if std::mem::replace(&mut self.seen, additions) != additions {
            self.interface.run_short_commands();
        }
        self.late_polls = if self.interface.awaits_engine() { self.late_polls + 1 } else { 0 };
        if self.late_polls > LATE_POLLS && !self.interface.run_long_command() {
            self.late_polls = 0;
        }
    }

    /// As [`Device::arm`](crate::device::Device::arm): the engine thread does all work.
    pub(crate) fn arm(&mut self) {
        self.is_armed = true;
        self.interface.leave();
    }

    /// As [`Device::disarm`](crate::device::Device::disarm).
    pub(crate) fn disarm(&mut self) {
        self.is_armed = false;
    }

    /// The process of `peer` has failed: its operations end with this error.
    pub(crate) fn peer_failed(&self, peer: Peer, error: &MpiError) {
        self.interface.peer_failed(peer, error);
    }

    /// Tells ranks of other nodes that this process may exit.
    pub(crate) fn leave(&self) {
        self.interface.fabric.links().into_iter().for_each(|links| links.leave());
    }

    /// No byte of other nodes lands any more in memory whose registration has ended before.
    pub(crate) fn fence(&self) {
        self.interface.fabric.links().into_iter().for_each(|links| links.fence());
    }

    /// As [`Device::quiescence`](crate::device::Device::quiescence).
    pub(crate) fn quiescence(&self) -> Option<u64> {
        // Without an engine thread there were no commands.
        if self.engine.is_none() { Some(0) } else { self.interface.quiescence() }
    }
}

impl Trigger for InterfaceHost {
    fn limits(&self) -> InterfaceLimits {
        self.interface.limits()
    }

    fn reserve(&mut self, counters: usize) -> Result<Vec<CounterKey>> {
        self.start_engine()?;
        self.interface.reserve(counters)
    }

    fn await_arrivals(&mut self, arrivals: &mut dyn Iterator<Item = AwaitedArrival>) -> Result {
        self.interface.await_arrivals(arrivals)
    }

    fn take_place(&mut self, bytes: usize) -> Option<Span> {
        self.interface.take_place(bytes)
    }

    fn release(&mut self, counters: &[CounterKey], places: &[Span]) {
        self.interface.release(counters, places);
    }

    fn load(&mut self, binding: ProgramBinding, by_software: bool) -> ProgramKey {
        self.interface.load(binding, by_software)
    }

    fn runner(&self, program: ProgramKey) -> Runner {
        self.interface.runner(program)
    }

    fn assign_engines(&mut self, program: ProgramKey, engines: &[(u32, u8)]) {
        self.interface.assign_engines(program, engines);
    }

    fn reaches(&self, peer: Peer) -> bool {
        self.interface.fabric.reaches(peer)
    }

    fn connect(&mut self, peer: Peer) -> Option<Result<(), String>> {
        self.interface.connect(peer)
    }

    fn start(&mut self, program: ProgramKey) {
        self.interface.start(program);
    }

    fn poll_program(&mut self, program: ProgramKey) -> InstanceState {
        self.interface.poll_program(program)
    }

    fn host_done(&mut self, program: ProgramKey, step: StepId) {
        self.interface.host_done(program, step);
    }

    fn fail(&mut self, program: ProgramKey, error: &MpiError) {
        self.interface.fail(program, error);
    }

    fn unload(&mut self, program: ProgramKey) {
        self.interface.unload(program);
    }

    fn fallbacks(&self) -> u64 {
        self.interface.fallbacks()
    }
}
