//! What follows a run: another schedule, if what the first one brought allows it.
//!
//! ```text
//!   question ──> judge ──> next plan ──> over
//!                  │
//!                  └─ error ───────────> over
//! ```
//!
//! The run is one for whoever waits for it: it has the same key, and is over when the last of both
//! is.

use crate::engine::memory::Memory;
use crate::engine::schedules::run::RunPlan;
use platform::base::Result;

/// Says whether a run may go on, by the user buffers that its first plan had.
pub(crate) type ContinuationCheck = Box<dyn FnOnce(&[Memory]) -> Result + Send>;

/// What follows a run whose steps are all complete.
pub(crate) struct Continuation {
    /// Whether it may go on.
    pub(crate) check: ContinuationCheck,
    /// With what, under which number of the call; `None` if that was all.
    pub(crate) next: Option<(RunPlan, u32)>,
}
