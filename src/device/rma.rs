//! One-sided access: a device that reads and writes memory of peers without their help.
//!
//! Memory is *registered* first; the key that this gives is what peers name it by, together with an
//! offset (on Tofu: STADD, a steering tag and an offset). Each access is checked against the bounds
//! of the registration. Accesses of one rank to one peer through one engine take place in the order
//! in which they were asked for if the device keeps order
//! ([`InterfaceLimits::ordered`](super::trigger::InterfaceLimits::ordered)); others in any order.
//!
//! It knows no windows, epochs or datatypes.

use platform::base::{Peer, Result, Span};

/// What a peer names registered memory by. Never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemoryKey(pub(crate) u64);

/// Memory of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteAddress {
    /// Whose.
    pub(crate) peer: Peer,
    /// What it told about the memory.
    pub(crate) key: MemoryKey,
    /// The first byte, from the beginning of what was registered.
    pub(crate) offset: u64,
}

/// Names an access until its end was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RmaTicket(pub(crate) u64);

/// What peers may do with registered memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteAccess {
    /// Read it.
    Read,
    /// Read and write it.
    ReadWrite,
}

/// Atomic changes of a naturally aligned number of 4 or 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// Adds, wrapping.
    Add(u64),
    /// Bitwise and.
    And(u64),
    /// Bitwise or.
    Or(u64),
    /// Bitwise exclusive or.
    Xor(u64),
    /// Replaces.
    Swap(u64),
    /// Replaces if it is the first number.
    CompareSwap(u64, u64),
}

/// Reads and writes of peers' memory.
pub trait Rma {
    /// Registers memory of this rank for peers.
    ///
    /// # Errors
    /// `NoMem` without a free registration.
    fn register(&mut self, memory: Span, access: RemoteAccess) -> Result<MemoryKey>;

    /// Ends a registration. Nobody may use it any more.
    fn deregister(&mut self, key: MemoryKey);

    /// Starts to copy `from` to memory of a peer.
    ///
    /// # Errors
    /// Here or at [`take_completion`](Rma::take_completion): `RmaRange` if it leaves what is registered or nothing is,
    /// `RemoteAccess` if peers may only read it. Nothing is written then.
    fn put(&mut self, from: Span, to: RemoteAddress, engine: Option<u8>) -> Result<RmaTicket>;

    /// Starts to copy memory of a peer to `into`.
    ///
    /// # Errors
    /// As [`Rma::put`].
    fn get(&mut self, from: RemoteAddress, into: Span, engine: Option<u8>) -> Result<RmaTicket>;

    /// Starts to change a number of `bytes` (4 or 8) bytes; its old value goes to `old`, which is as
    /// long or empty. It is atomic to other changes by this.
    ///
    /// # Errors
    /// As [`Rma::put`]; `Arg` for other numbers of bytes, and if it is not aligned.
    fn update(
        &mut self, at: RemoteAddress, bytes: u8, update: Update, old: Span,
    ) -> Result<RmaTicket>;

    /// The result of an access that has completed, once; `None` while it is in progress.
    ///
    /// A write has completed when every byte is at the peer.
    fn take_completion(&mut self, ticket: RmaTicket) -> Option<Result>;
}
