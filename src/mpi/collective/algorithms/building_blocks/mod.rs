//! What several algorithms are made of: trees, butterflies, pipelines, zero-byte messages, and schedules
//! that consist of other schedules.

pub(crate) mod butterfly;
pub(crate) mod phases;
pub(crate) mod pipeline;
pub(crate) mod signal;
pub(crate) mod tree;
