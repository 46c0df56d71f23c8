//! IMPI: MPI jobs that were started independently, the clients, make one world.
//!
//! Sources: IMPI, the report of the steering committee (NIST, draft of March 1999, version of January
//! 2000), and the client of LAM/MPI 7, which speaks the latter.

pub mod packet;
pub mod world;

pub use packet::{HEADER_BYTES, PacketError, PacketHeader, PacketKind, ProcessId};
pub use world::{HostOffer, World, WorldClient, host_address, ip_address};
