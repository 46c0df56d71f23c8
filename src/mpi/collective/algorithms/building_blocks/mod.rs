//! Building blocks of algorithms: trees, butterflies, pipelines, empty messages, and schedules
//! composed of other schedules.

pub(crate) mod butterfly;
pub(crate) mod phases;
pub(crate) mod pipeline;
pub(crate) mod signal;
pub(crate) mod tree;
