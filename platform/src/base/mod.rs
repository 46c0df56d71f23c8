//! What every layer may use: errors, peers, spans of memory, the names of settings. Knows nothing of MPI or Linux.

mod error;
mod memory;
mod random;
pub mod settings;
mod slab;

pub use error::{ErrorClass, ErrorCode, MpiError, Result};
pub use memory::Span;
pub use random::Random;
pub use slab::Slab;

/// A process of the job, by its rank in the world; devices and the engine know no other name.
pub type Peer = u32;
