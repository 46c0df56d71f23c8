//! What the connections of the processes of a job have in common, whether ranks or launchers connect:
//! at which addresses, and how both ends prove the job's secret.
//!
//! All of it is values without I/O.

pub mod address_choice;
#[cfg(test)]
pub(crate) mod fuzz;
pub mod handshake;
pub mod key_wrap;
pub mod local_proof;
pub mod sealed_channel;
pub mod strangers;
pub mod tag_bits;

pub use address_choice::{AddressDecision, InterfaceChoice, parse_ports};
pub use handshake::{HELLO_MAX, Handshake, HandshakeStep, MAGIC, Refusal, SharedSecret};
pub use local_proof::{LocalProof, LocalSession};
pub use sealed_channel::SealedChannel;
pub use strangers::StrangerCount;
pub use tag_bits::{memory_key, tag_bits};
