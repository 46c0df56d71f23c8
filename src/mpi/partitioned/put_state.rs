//! The state of a partitioned operation by puts, on each side.
//!
//! ```text
//!   PutState:  Asked ──keys──> Open ──the device refuses a put──> Telling ──told──> Failed
//!              │ └──the peer ends──┴──────────────────────────────────┴───────────────^
//!              └──refusal──> no puts: each message is one of the engine
//! ```
//!
//! Rounds are counted from 1 and never begin again, so no counter is reset.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::setup::PutAnswer;
use crate::device::rma::{MemoryKey, RemoteAccess, RemoteAddress, Rma};
use crate::engine::memory::{Memory, OwnedBytes};
use platform::base::{MpiError, Span};

/// Numbers of 8 bytes that a peer adds to.
pub(super) struct PutCounters {
    memory: OwnedBytes,
    count: usize,
}

/// What a receiver counts.
pub(super) struct ArrivalCounters {
    /// One for each message, and one that is not 0 if the sender has failed.
    counters: PutCounters,
    round: AtomicU64,
    /// Nothing more arrives, and no loop over `MPI_Parrived` shall wait for it.
    has_failed: AtomicBool,
}

/// The puts of a sender.
pub(super) struct PutSender {
    pub(super) state: PutState,
    /// The rounds that the receiver has started.
    started: PutCounters,
    pub(super) started_key: MemoryKey,
    /// Messages that are ready and that the device has not accepted.
    pub(super) ready: VecDeque<u32>,
    /// Messages that the device has accepted and that have not completed.
    pub(super) accepted: u32,
}

pub(super) enum PutState {
    /// The answer will be in this memory.
    Asked(Memory),
    /// The memory of the receiver, and its counters.
    Open([MemoryKey; 2]),
    /// The counters of a receiver that does not know of the error.
    Telling(MemoryKey, Box<MpiError>),
    /// The answer may still arrive in this memory.
    Failed(Box<MpiError>, Option<Memory>),
}

/// The puts that a receiver gets.
pub(super) struct PutReceiver {
    /// Its memory, and its counters.
    pub(super) keys: [MemoryKey; 2],
    /// The number of started rounds at the sender.
    pub(super) started: RemoteAddress,
    /// The started rounds that the sender has not been told of.
    pub(super) untold: u32,
    /// The first messages of this round that have been counted as arrived.
    pub(super) counted: u32,
}

impl PutCounters {
    fn new(count: usize) -> Self {
        // Heap memory of bytes may begin anywhere.
        Self { memory: OwnedBytes::zeroed(8 * count + 7), count }
    }

    fn span(&self) -> Span {
        let all = self.memory.span();
        all.part(all.address().next_multiple_of(8) - all.address(), 8 * self.count)
    }

    /// Whoever sees an addition sees the bytes that were put before it.
    fn level(&self, index: u32) -> u64 {
        let number = self.span().part(8 * index as usize, 8);
        number.atomically(|four| four.load(Ordering::Acquire), |it| it.load(Ordering::Acquire))
    }
}

impl ArrivalCounters {
    pub(super) fn new(messages: u32, round: u64) -> Self {
        let counters = PutCounters::new(messages as usize + 1);
        Self { counters, round: AtomicU64::new(round), has_failed: AtomicBool::new(false) }
    }

    /// The operation is started: nothing has arrived. No thread may look meanwhile.
    pub(super) fn start(&self) {
        self.round.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether all of these messages have arrived; then the caller may read their bytes.
    pub(super) fn have(&self, mut messages: Range<u32>) -> bool {
        let round = self.round.load(Ordering::Relaxed);
        messages.all(|message| self.counters.level(message) >= round)
            || self.has_failed.load(Ordering::Relaxed)
    }

    /// Nothing more arrives.
    pub(super) fn fail(&self) {
        self.has_failed.store(true, Ordering::Relaxed);
    }

    /// The memory that the sender adds to.
    pub(super) fn span(&self) -> Span {
        self.counters.span()
    }

    /// Whether the sender has told of its failure.
    pub(super) fn has_sender_failed(&self) -> bool {
        self.counters.level(self.counters.count as u32 - 1) > 0
    }
}

impl PutSender {
    /// Registers what a receiver needs for an answer; `None` if there will be no puts from this memory.
    pub(super) fn offer(rma: Option<&mut dyn Rma>, memory: &Memory) -> Option<Box<Self>> {
        memory.span().filter(|span| !span.is_empty())?;
        let started = PutCounters::new(1);
        let started_key = rma?.register(started.span(), RemoteAccess::ReadWrite).ok()?;
        let state = PutState::Asked(Memory::owned([0; PutAnswer::LEN]));
        let ready = VecDeque::new();
        Some(Box::new(Self { state, started, started_key, ready, accepted: 0 }))
    }

    /// The memory for the answer while that has not arrived.
    pub(super) fn answer(&self) -> Option<&Memory> {
        match &self.state {
            PutState::Asked(memory) | PutState::Failed(_, Some(memory)) => Some(memory),
            PutState::Open(_) | PutState::Telling(..) | PutState::Failed(_, None) => None,
        }
    }

    /// The error of every later round.
    pub(super) fn failure(&self) -> Option<&MpiError> {
        match &self.state {
            PutState::Telling(_, error) | PutState::Failed(error, _) => Some(error),
            PutState::Asked(_) | PutState::Open(_) => None,
        }
    }

    /// Takes a message that is ready; whether it has completed, with an error.
    pub(super) fn add_ready(&mut self, message: u32) -> bool {
        let has_failed = self.failure().is_some();
        if !has_failed {
            self.ready.push_back(message);
        }
        has_failed
    }

    /// The rounds that the receiver has started.
    pub(super) fn started_rounds(&self) -> u64 {
        self.started.level(0)
    }

    /// The device has accepted the first message that was ready.
    pub(super) fn accept_first(&mut self) {
        self.ready.pop_front();
        self.accepted += 1;
    }

    /// The device or the peer has failed; the number of messages that complete by that.
    pub(super) fn fail(&mut self, error: Box<MpiError>, is_peer_there: bool) -> u32 {
        let ready = std::mem::take(&mut self.ready).len() as u32;
        match std::mem::replace(&mut self.state, PutState::Failed(error.clone(), None)) {
            PutState::Open([_, counters]) if is_peer_there => {
                self.state = PutState::Telling(counters, error);
            }
            PutState::Telling(counters, first) if is_peer_there => {
                self.state = PutState::Telling(counters, first);
            }
            PutState::Asked(answer) => self.state = PutState::Failed(error, Some(answer)),
            failed @ PutState::Failed(..) => self.state = failed,
            PutState::Open(_) | PutState::Telling(..) => {}
        }
        ready + if is_peer_there { 0 } else { std::mem::take(&mut self.accepted) }
    }
}

impl PutReceiver {
    /// The operation is started.
    pub(super) fn start(&mut self) {
        self.untold += 1;
        self.counted = 0;
    }
}
