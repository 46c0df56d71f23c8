//! Deferred work: a device that runs programs without the host, driven by counters of arrivals.
//!
//! ```text
//!   reserve counters, register buffers ──keys to peers, keys from peers──> load ──> program
//!
//!   idle ──start──> in progress ──poll──> host step due ──host_done──> in progress ──poll──> idle
//! ```
//!
//! Each rank decides by itself what runs a program. The hardware of the interface does if it has enough
//! counters, from the load on, and enough slots, from each start to the end of the instance; otherwise the
//! thread that simulates it does, by *software*. The counters are then words of memory, peers add to them in
//! the same way, and peers see no difference: neither waits for a call of the application. Only a reduction
//! by a function of the application does.
//!
//! It knows no schedules, datatypes or requests; `offload` defines the meaning of a program.

use std::collections::VecDeque;
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use crate::device::rma::MemoryKey;
use crate::offload::compile::Rules;
use crate::offload::session::STEPS_MAX;
use crate::offload::{Buffer, Program, ProgramOp, StepId, session};
use platform::base::{MpiError, Peer, Result, Span};

/// Resources of the interface of this rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterfaceLimits {
    /// Counters that can trigger work, free or not.
    pub counters: u32,
    /// Operations of deferred work that are posted at a time.
    pub slots: u32,
    /// Engines that send at the same time.
    pub engines: u8,
    /// Whether transfers from one rank to another through one engine arrive in order.
    pub ordered: bool,
    /// Elements of 8 bytes that one operation can add, compare or combine bitwise.
    pub arithmetic: u8,
    /// How work is triggered.
    pub class: TriggerClass,
    /// Bits of the level of a counter. Known interfaces have from 31 (the sockets provider of libfabric,
    /// which compares signed numbers of 32 bits) to 64; that of Slingshot (cxi) has 48.
    pub counter_bits: u32,
    /// The longest put or get of one command, in bytes. An engine divides longer ones.
    pub transfer_max: usize,
}

impl InterfaceLimits {
    /// The rules of the compiler for counters of this interface.
    pub fn rules(&self, rules: Rules) -> Rules {
        let steps_max = match self.class {
            TriggerClass::Thresholds => None,
            TriggerClass::Sessions => Some(STEPS_MAX),
        };
        let bits = rules.bits.min(self.counter_bits);
        Rules { ordered: self.ordered, bits, steps_max, ..rules }
    }

    /// The slots that an instance of a program needs.
    ///
    /// # Errors
    /// What the interface lacks, other than counters, to run the program.
    pub fn slots_for(&self, program: &Program) -> Result<SlotNeed, &'static str> {
        let work = program.work();
        let highest = work.iter().map(|work| work.level).max().unwrap_or(0);
        if u64::BITS - highest.leading_zeros() > self.counter_bits {
            return Err("a level has more bits than a counter of the interface");
        }
        let numbers = |op: &ProgramOp| match op {
            ProgramOp::Combine { from, .. } => from.len.div_ceil(8),
            _ => 0,
        };
        let most = work.iter().map(|work| numbers(&work.op)).max().unwrap_or(0);
        if most > usize::from(self.arithmetic) {
            return Err("the interface cannot combine this number of elements at once");
        }
        let least = work.chunk_by(|one, next| one.counter == next.counter).count() as u32;
        let most = match self.class {
            TriggerClass::Thresholds => work.len() as u32,
            TriggerClass::Sessions => {
                u32::try_from(session::entries(program)?).unwrap_or(u32::MAX).max(least)
            }
        };
        let need = SlotNeed { least, most };
        need.window(self.slots).map(|_| need)
    }
}

/// Slots of an instance of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotNeed {
    /// One for each counter on which operations wait.
    pub least: u32,
    /// One for each operation.
    pub most: u32,
}

impl SlotNeed {
    /// The slots that an instance gets while this number is free: half of them, unless it needs fewer, or
    /// cannot make progress with so few.
    ///
    /// # Errors
    /// A sentence if it cannot make progress with all of them.
    pub fn window(self, free: u32) -> Result<u32, &'static str> {
        let window = self.most.min((free / 2).max(self.least));
        if window > free {
            return Err("the interface has no free slots for deferred work");
        }
        Ok(window)
    }
}

/// The operations of an instance in the slots of an interface: how many have started, and when their slots hold
/// others. Times have the unit of the caller.
#[derive(Debug, Default)]
pub struct PostedWork {
    begun: u32,
    /// When slots that became free have an operation again; ascending.
    refilled: VecDeque<u64>,
}

impl PostedWork {
    /// Begins the next instance.
    pub fn restart(&mut self) {
        self.begun = 0;
        self.refilled.clear();
    }

    /// When the next operation is posted, if a window of so many slots does not have it from the start.
    pub fn next(&self, window: u32) -> Option<u64> {
        self.refilled.front().copied().filter(|_| self.begun >= window)
    }

    /// An operation starts and leaves its slot, which is refilled after those that are free already. `post` is the time
    /// to post an operation.
    pub fn begin(&mut self, window: u32, now: u64, post: u64) {
        if window == 0 || post == 0 {
            return;
        }
        if self.begun >= window {
            self.refilled.pop_front();
        }
        self.begun += 1;
        let free = self.refilled.back().map_or(now, |last| now.max(*last));
        self.refilled.push_back(free + post);
    }
}

/// How an interface triggers work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerClass {
    /// Counters with thresholds (Portals, BXI, Cassini).
    Thresholds,
    /// Queues from which each arrival consumes commands (session mode of Tofu2 and TofuD); each
    /// counter is a queue, and the level of an operation is its position in the queue
    /// ([`session`]). Software runs programs of another form.
    Sessions,
}

/// Names a counter for peers. Never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CounterKey(pub(crate) u64);

/// A loaded program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProgramKey(pub(crate) u32);

/// Computes `into = from op into` for two spans of equal length, on any thread.
pub type ReductionKernel = Arc<dyn Fn(Span, Span) + Send + Sync>;

/// A program, and the objects for which its names stand on this rank.
#[derive(Clone)]
pub struct ProgramBinding {
    /// The program.
    pub program: Arc<Program>,
    /// This rank's counters: all of tank 0, then all of tank 1.
    pub counters: Vec<CounterKey>,
    /// This rank's buffers.
    pub memory: Vec<(Buffer, Span)>,
    /// The ranks that the program names.
    pub peers: Vec<PeerBinding>,
    /// Computes the steps of the host, without a call of the application; otherwise they are
    /// [`InstanceState::HostStep`].
    pub kernel: Option<ReductionKernel>,
}

impl Debug for ProgramBinding {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { program, counters, memory, peers, .. } = self;
        let binding = (program, counters, memory, peers);
        f.debug_tuple("ProgramBinding").field(&binding).finish_non_exhaustive()
    }
}

/// A rank of a program, and the objects for which the program's names stand on that rank.
#[derive(Clone, Debug)]
pub struct PeerBinding {
    /// Its number in the program.
    pub rank: u32,
    /// Its number at the device.
    pub peer: Peer,
    /// Its counters: all of tank 0, then all of tank 1.
    pub counters: Vec<CounterKey>,
    /// Those of its buffers to which this rank writes.
    pub buffers: Vec<(Buffer, MemoryKey)>,
}

/// What a peer will do here in each instance: write to memory, if it is given, and add to a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AwaitedArrival {
    /// The rank that does it.
    pub peer: Peer,
    /// The counter.
    pub counter: CounterKey,
    /// What is added.
    pub value: u64,
    /// The registered memory to which it writes, as a whole.
    pub memory: Option<(MemoryKey, Span)>,
}

/// What runs an instance of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runner {
    /// The hardware of the interface.
    Interface,
    /// Software of the interface, and why not its hardware.
    Software(&'static str),
}

/// State of an instance of a program.
#[derive(Debug)]
pub enum InstanceState {
    /// It waits for peers or for the interface.
    Waiting,
    /// The caller must run this step, then call [`Trigger::host_done`]. Each step is returned once.
    HostStep(StepId),
    /// It has completed, and its sources may be overwritten; the program may start again. One tank is
    /// safe for some operations (`offload::compile`) because completion includes the own puts.
    Completed(Result),
}

/// Counters, and programs that they drive.
pub trait Trigger {
    /// Resources of the interface.
    fn limits(&self) -> InterfaceLimits;

    /// Whether programs can name `peer`.
    fn reaches(&self, peer: Peer) -> bool;

    /// Begins to reach `peer`; `None` until that has ended, which needs polls of both. A program that names
    /// the peer is loaded after that. By default, all are reached.
    ///
    /// # Errors
    /// Why programs cannot name the peer, as a sentence.
    fn connect(&mut self, peer: Peer) -> Option<Result<(), String>> {
        let _ = peer;
        Some(Ok(()))
    }

    /// Takes counters at level 0: counters of the interface if enough are free, else words of memory.
    /// Peers that know the keys may add to them from now on, also before a program that waits for
    /// them is loaded.
    ///
    /// # Errors
    /// `NoMem` if there are not enough of either.
    fn reserve(&mut self, counters: usize) -> Result<Vec<CounterKey>>;

    /// Prepares for arrivals, each named as often as it comes in an instance, before peers learn of the keys. By
    /// default, nothing is needed.
    ///
    /// # Errors
    /// `NoMem` without a resource for one.
    fn await_arrivals(&mut self, arrivals: &mut dyn Iterator<Item = AwaitedArrival>) -> Result {
        let _ = arrivals;
        Ok(())
    }

    /// Memory of so many bytes that peers have mapped: a put to it is a copy without a system call. Its contents
    /// are undefined. By default, and if there is none left, none.
    fn take_place(&mut self, bytes: usize) -> Option<Span> {
        let _ = bytes;
        None
    }

    /// Gives counters back, what was prepared for arrivals at them, and places that peers write to when these
    /// counters count. No rank may use them any more.
    fn release(&mut self, counters: &[CounterKey], places: &[Span]);

    /// Loads a program. With `by_software`, the hardware does not run it.
    fn load(&mut self, binding: ProgramBinding, by_software: bool) -> ProgramKey;

    /// What runs the instance in progress, or the last one. Before the first one, the hardware unless it
    /// never can.
    fn runner(&self, program: ProgramKey) -> Runner;

    /// Sends the puts of an idle program to each of these ranks (numbers of the program) through this
    /// engine, modulo the number of engines, from the next instance on.
    fn assign_engines(&mut self, program: ProgramKey, engines: &[(u32, u8)]);

    /// The links of the route to `peer`: for each link, the class of links with the same direction on
    /// every rank. By default, each peer has a route of its own.
    fn link_classes(&self, peer: Peer) -> Vec<u16> {
        vec![peer as u16]
    }

    /// Starts the next instance of an idle program.
    fn start(&mut self, program: ProgramKey);

    /// The state of the instance. This call makes no progress.
    fn poll_program(&mut self, program: ProgramKey) -> InstanceState;

    /// Reports that the host has run the step that [`Trigger::poll_program`] returned.
    fn host_done(&mut self, program: ProgramKey, step: StepId);

    /// Ends the instance in progress with this error as soon as no command uses its memory, and all later ones
    /// at once. Its counters are not used again: peers that do not know of the error may add to them.
    fn fail(&mut self, program: ProgramKey, error: &MpiError);

    /// Unloads an idle program. The caller gives back its counters and memory.
    fn unload(&mut self, program: ProgramKey);

    /// How many programs were for software because the hardware lacked a resource.
    fn fallbacks(&self) -> u64;
}
