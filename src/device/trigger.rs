//! Deferred work: a device that runs programs by itself, as counters of arrivals let it.
//!
//! ```text
//!   reserve counters, register buffers ──keys to peers, places from peers──> load ──> program
//!
//!   idle ──start──> under way ──look──> host step due ──host_done──> under way ──look──> over = idle
//! ```
//!
//! Who runs a program is a matter of one rank alone. It is the interface where it has counters and
//! slots left, else the host, in [`Device::poll`](super::Device::poll): then the counters are words
//! of memory that peers add to in the same way, and no peer sees a difference.
//!
//! It knows no schedules, datatypes or requests; what a program means is said in `offload`.

use std::sync::Arc;

use crate::device::rma::MemoryKey;
use crate::offload::{Buffer, Program, StepId};
use platform::base::{Peer, Result, Span};

/// What the interface of this rank has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterfaceLimits {
    /// Counters that can trigger work, used or not.
    pub counters: u32,
    /// Deferred work that it keeps at a time.
    pub slots: u32,
    /// Engines that send at the same time.
    pub engines: u8,
    /// Whether what one rank sends to another through one engine arrives in order.
    pub ordered: bool,
    /// Elements of 8 bytes that it can add, compare or combine bitwise in one operation.
    pub arithmetic: u8,
    /// How it lets work start.
    pub class: TriggerClass,
}

/// How an interface lets work start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerClass {
    /// Counters with thresholds (Portals, BXI, Cassini).
    Thresholds,
    /// Queues of which each arrival consumes some commands (session mode of Tofu2 and TofuD): each
    /// counter is a queue. It takes the programs in which an addition is one of 1 to 15, or lowers a
    /// counter by what the instance has added; and in which no two of the work that waits for a
    /// counter, but for such lowering and the end, have one level other than 0, which is their
    /// place in the queue. The host runs others.
    Sessions,
}

/// What peers name a counter by. Never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CounterKey(pub(crate) u64);

/// A loaded program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProgramKey(pub(crate) u32);

/// A program and everything that its names stand for.
#[derive(Clone, Debug)]
pub struct ProgramBinding {
    /// The program.
    pub program: Arc<Program>,
    /// This rank's counters: all of tank 0, all of tank 1.
    pub counters: Vec<CounterKey>,
    /// This rank's buffers.
    pub memory: Vec<(Buffer, Span)>,
    /// The ranks that it names.
    pub peers: Vec<PeerBinding>,
}

/// What a rank of a program is, and what its names stand for.
#[derive(Clone, Debug)]
pub struct PeerBinding {
    /// As the program calls it.
    pub rank: u32,
    /// As the device calls it.
    pub peer: Peer,
    /// Its counters: all of tank 0, all of tank 1.
    pub counters: Vec<CounterKey>,
    /// Its buffers, as far as this rank writes to them.
    pub buffers: Vec<(Buffer, MemoryKey)>,
}

/// Who runs a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runner {
    /// The interface.
    Interface,
    /// The host, as the interface lacks something.
    Host(&'static str),
}

/// How far an instance is.
#[derive(Debug)]
pub enum InstanceState {
    /// Others have to do something, or the interface has.
    Waiting,
    /// The host has to run this step, and to say so; it is asked for once.
    HostStep(StepId),
    /// It is over, and what it has put may be overwritten; the program may start again. That this
    /// waits for the own puts is what makes one tank safe for some operations (`offload::compile`).
    Completed(Result),
}

/// Counters, and programs that they drive.
pub trait Trigger {
    /// What the interface has.
    fn limits(&self) -> InterfaceLimits;

    /// Takes counters at level 0: of the interface if it has so many left, else words of memory.
    /// Peers that have been told of them may add to them from now on, also before a program is
    /// loaded that looks at them.
    ///
    /// # Errors
    /// `NoMem` without either.
    fn reserve(&mut self, counters: usize) -> Result<Vec<CounterKey>>;

    /// Gives counters back. Nobody may add to them any more.
    fn release(&mut self, counters: &[CounterKey]);

    /// Takes a program. With `host`, the host runs it.
    fn load(&mut self, loading: ProgramBinding, host: bool) -> ProgramKey;

    /// Who runs it.
    fn runner(&self, program: ProgramKey) -> Runner;

    /// Lets the puts of an idle program to each of these ranks, as the program calls them, go through
    /// this engine, modulo how many there are, from the next instance on.
    fn assign_engines(&mut self, program: ProgramKey, engines: &[(u32, u8)]);

    /// The links that a put to `peer` passes, each as the class of links that lead the same way from
    /// every rank, a class as often as there are such links. By default peers have ways of their own.
    fn link_classes(&self, peer: Peer) -> Vec<u16> {
        vec![peer as u16]
    }

    /// Starts the next instance of a program that is idle.
    fn start(&mut self, program: ProgramKey);

    /// Looks how far it is, without helping it along.
    fn poll_program(&mut self, program: ProgramKey) -> InstanceState;

    /// The host has run the step that a look asked for.
    fn host_done(&mut self, program: ProgramKey, step: StepId);

    /// Forgets an idle program. Its counters and memory are the caller's to give back.
    fn unload(&mut self, program: ProgramKey);

    /// How many programs were loaded that the host runs for lack of something.
    fn fallbacks(&self) -> u64;
}
