//! Runs of schedules: steps that start as the steps before them complete.

pub(crate) mod continuation;
pub mod run;
mod run_progress;
