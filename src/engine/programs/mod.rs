//! Collective operations as programs that the device runs.
//!
//! | file | content |
//! |---|---|
//! | `program_setup` | from a schedule to a loaded program: two exchanges with the peers |
//! | `offloaded` | loaded operations: start, poll, complete, unload |
//! | `traffic` | the bytes that a program puts to each rank |
//! | `engine_assignment` | the engine for each put of operations that start together |

pub(crate) mod engine_assignment;
pub(crate) mod offloaded;
pub(crate) mod program_setup;
mod traffic;
