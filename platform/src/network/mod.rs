//! What the connections of the processes of a job have in common, whether ranks or launchers connect:
//! at which addresses, and how both ends prove the job's secret.
//!
//! All of it is values without I/O.

pub mod address_choice;
#[cfg(test)]
pub(crate) mod fuzz;
pub mod handshake;
pub mod key_wrap;
pub mod sealed_channel;

pub use address_choice::{AddressDecision, InterfaceChoice, parse_ports};
pub use handshake::{HELLO_MAX, Handshake, HandshakeStep, MAGIC, Refusal, SharedSecret};
pub use sealed_channel::SealedChannel;
