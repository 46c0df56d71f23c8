//! Proofs that programs of deferred work do the same as their schedules on any network: all runs of
//! small systems, many runs of large ones, and runs on a provider of libfabric.

mod offload {
    pub mod collectives;
    pub mod countermeasures;
    pub mod counting;
    pub mod graph;
    pub mod model;
    pub mod oracle;
    pub mod paper;
    pub mod random;
    pub mod safe;
    pub mod schemes;
    pub mod search;
    pub mod sessions;
    pub mod system;
    pub mod truth;

    /// Whether to run long cases (`SUIRO_TEST_LONG=1`).
    pub fn is_long() -> bool {
        std::env::var_os("SUIRO_TEST_LONG").is_some_and(|value| value == "1")
    }
}
