//! IMPI, Interoperable MPI: jobs that are started independently join one world.
//!
//! ```text
//!   client 0 (a job) ──┐                       ┌── World: all clients, hosts and processes
//!   client 1 (a job) ──┼── start-up server ────┤
//!   client K (a job) ──┘  (suiro-impi-server)  └── then hosts connect directly, without the server
//! ```
//!
//! Here are the values of the start-up, [`ImpiServer`] and [`ImpiClient`], and the blocking client
//! [`join()`]; and the packets that hosts send to each other after the start-up, as bytes ([`packet`]).
//!
//! All integers on the wire are big-endian. Between jobs of Suiro, connections prove a key and are
//! encrypted ([`ImpiSecurity::Sealed`]); foreign implementations need plain bytes
//! ([`ImpiSecurity::Cleartext`]).
//!
//! Source: W. L. George, J. G. Hagedorn and J. E. Devaney, "IMPI: making MPI interoperable", Journal of
//! Research of NIST 105(3), 2000, and the protocol document of the IMPI steering committee, version 0.0.

mod agreed_settings;
mod agreement;
mod authentication;
mod channel;
mod client;
mod commands;
mod join;
mod key_file;
pub mod packet;
mod server;
#[cfg(test)]
mod tests;
mod world;

pub use agreed_settings::AgreedSettings;
pub use authentication::{Authentication, ImpiSecurity};
pub use client::ImpiClient;
pub use join::{ServerConnection, is_server_address, join};
pub use key_file::{ImpiKeyFile, ImpiProtection};
pub use packet::{HEADER_BYTES, ImpiKind, PacketError, PacketHeader, ProcessId};
pub use server::{ImpiOutcome, ImpiServer};
pub use world::{
    ClientOffer, HostOffer, PROCESSES_MAX, World, WorldClient, WorldProcess, host_address,
    ip_address,
};

/// The highest number of clients: masks of clients have 32 bits.
pub const CLIENTS_MAX: u32 = 32;
