//! Proofs that programs of deferred work do what their schedules say, on any network: by all runs
//! of small systems, and by many of large ones.

mod offload {
    pub mod model;
    pub mod paper;
    pub mod search;
    pub mod truth;
}
