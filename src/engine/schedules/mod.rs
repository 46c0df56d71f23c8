//! Schedules on the host: steps start when the steps that they wait for have completed.
//!
//! | file | content |
//! |---|---|
//! | `plan` | what a run needs besides its schedule, and what it returns |
//! | `reduction` | reductions by the library or by the application |
//! | `continuation` | a second plan for a run |
//! | `run_progress` | waiting counts and scratch memory of one run |
//! | `run` | the executor |

pub(crate) mod continuation;
pub mod plan;
pub mod reduction;
pub(crate) mod run;
mod run_progress;
