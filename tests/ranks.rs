//! N ranks in one process: the engine over the loopback device, taking turns by a seeded order.

mod ranks {
    pub mod collectives;
    pub mod engine;
}
