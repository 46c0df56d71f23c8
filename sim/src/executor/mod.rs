//! Schedules of all ranks, and programs of their interfaces, in virtual time.
//!
//! | file | content |
//! |---|---|
//! | `mark` | a time with what led to it, so that a critical path needs no second pass |
//! | `costs` | the time of a send, a receive and a local step, and the engines of a rank |
//! | `chunk` | the schedules of a few thousand ranks, in a compact form by rounds |
//! | [`levelled`] | executor round by round, to 2^20 ranks |
//! | [`event_driven`] | executor event by event, as the engine of the library goes on; knows links, and programs of interfaces |
//!
//! **Steps.** A step is ready when the steps that it waits on have completed (`offload::schedule`): all
//! of them, or the first one. A send completes when its last byte has left, a receive when the
//! processor has taken the message, which it does after the receive has become ready and the message
//! has arrived.
//!
//! **Engines.** A rank has a processor, a port for sends and a port for receives. The processor takes
//! the attached steps of its rank in the order of their rounds; in a round first the sends, and each
//! of both in the order of the schedule. It is the order of a program that calls blocking functions,
//! and a late message delays what follows it. The sends leave in the same order. The port for receives
//! takes the messages of a round as they arrive, after those of earlier rounds. Detached steps
//! neither wait for an engine nor occupy it: which of several copies arrives first must not depend on
//! the order in which they are listed.
//!
//! **Noise** takes the processor: overheads, reductions and copies go on after an interruption, and a
//! message that arrives in one is noticed at its end. A send without overhead needs no processor.
//!
//! **Why rounds suffice.** A message has the same round on both sides, later than those of all steps
//! that its send or its receive waits on. So if the sends of a round are computed after all earlier
//! rounds, and then its receives and local steps, every step comes after what it waits on.

mod chunk;
mod costs;
pub mod event_driven;
pub mod levelled;
mod mark;

pub use chunk::MessageTotals;
pub use costs::StepCosts;
pub use mark::CriticalPath;

/// The lowest rank that completes last.
fn last_of(ends_ps: &[u64]) -> usize {
    let last_ps = ends_ps.iter().max();
    ends_ps.iter().position(|end_ps| Some(end_ps) == last_ps).unwrap_or(0)
}

/// Times of an operation on all ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunTimes {
    /// When the operation has completed on each rank, in picoseconds.
    pub ends_ps: Vec<u64>,
    /// When the last step of any rank has completed, detached ones included.
    pub quiet_ps: u64,
    /// The lowest rank that completes last.
    pub last: u32,
    /// What led to its completion.
    pub path: CriticalPath,
    /// Rounds of messages.
    pub rounds: u32,
    /// Numbers of messages.
    pub totals: MessageTotals,
}
