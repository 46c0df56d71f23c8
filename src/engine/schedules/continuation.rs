//! Continuations: a second plan for a run, if a check of the results of the first one allows it.
//!
//! ```text
//!   first plan ──> check ──> next plan ──> complete
//!                    │
//!                    └─ error ───────────> complete
//! ```
//!
//! The caller sees one run with one key, which completes with its last plan.

use crate::engine::memory::Memory;
use crate::engine::schedules::plan::RunPlan;
use platform::base::Result;

/// Decides whether a run continues, from the user buffers of its first plan.
pub(crate) type ContinuationCheck = Box<dyn FnOnce(&[Memory]) -> Result + Send>;

/// What happens when all steps of a run have completed.
pub(crate) struct Continuation {
    /// Whether the run continues.
    pub(crate) check: ContinuationCheck,
    /// The next plan with the number of the call; `None` ends the run.
    pub(crate) next: Option<(RunPlan, u32)>,
}
