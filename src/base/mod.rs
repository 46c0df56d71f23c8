//! What every layer may use: errors, peers, small containers. Knows nothing of MPI or Linux.

mod error;

pub use error::{ErrorClass, ErrorCode, MpiError, Result};

/// A process of the job, by its rank in the world; devices and the engine know no other name.
pub type Peer = u32;
