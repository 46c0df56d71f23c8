//! Types for every layer: errors, peers, spans of memory, slabs, settings,
//! the representation of data, hashes, noise. Knows no MPI and no Linux.

mod error;
mod fnv;
pub mod hex;
mod memory;
pub mod noise;
mod random;
mod representation;
pub mod settings;
mod slab;

pub use error::{ErrorClass, ErrorCode, MpiError, Result};
pub use fnv::fnv1a;
pub use memory::Span;
pub use random::Random;
pub use representation::Representation;
pub use slab::Slab;

/// A process of the job: its rank in the world. Devices and the engine use no other name.
pub type Peer = u32;
