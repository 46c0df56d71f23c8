//! The name server of several jobs (`suiro-names`): where it is, and both ends of a connection to it.
//!
//! ```text
//!   mpirun, or a process without it: NameServerLink          suiro-names: NameCaller
//!     ── TCP; handshake with the key of the server ─────────>
//!     ── NameRequest, a line of PMI, sealed ────────────────>
//!     <───────────────────── NameReply, in order, sealed ────
//!     ── end ───────────────────────────────────────────────> removes the names of this job
//! ```
//!
//! The server draws a key and writes it with its addresses to a file that only its user can read
//! ([`NameServerContact`]). Both ends prove the key before anything else is read, and every byte after that
//! is encrypted ([`network::handshake`](crate::network::handshake)); the lines are those between a rank and
//! its launcher.

mod address;
mod caller;
mod contact;
mod link;
mod sealed_lines;

pub use address::{NAME_SERVER, NameServerAddress};
pub use caller::NameCaller;
pub use contact::NameServerContact;
pub use link::NameServerLink;
