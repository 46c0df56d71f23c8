//! One-sided access: a device that reads and writes memory of peers without their CPU.
//!
//! A rank *registers* memory. Peers name registered memory by its key and an offset (on Tofu: STADD, a
//! steering tag and an offset). The device checks each access against the bounds of the registration.
//! Accesses of one rank to one peer through one engine take place in the order of their calls if the
//! device keeps order ([`InterfaceLimits::ordered`](super::trigger::InterfaceLimits::ordered)); other
//! accesses in any order.
//!
//! It knows no windows, epochs or datatypes.

use platform::base::{Peer, Result, Span};

/// Names registered memory for peers. Never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemoryKey(pub(crate) u64);

/// Memory of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteAddress {
    /// The owner.
    pub(crate) peer: Peer,
    /// The owner's key for it.
    pub(crate) key: MemoryKey,
    /// The first byte, counted from the beginning of the registered memory.
    pub(crate) offset: u64,
}

/// Names an access until its result was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RmaTicket(pub(crate) u64);

/// Rights of peers to registered memory.
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
    /// Replaces by the second number if it equals the first.
    CompareSwap(u64, u64),
}

/// Reads and writes of peers' memory.
pub trait Rma {
    /// Registers memory of this rank for peers.
    ///
    /// # Errors
    /// `NoMem` if no registration is free.
    fn register(&mut self, memory: Span, access: RemoteAccess) -> Result<MemoryKey>;

    /// Ends a registration. No peer may use the key any more.
    fn deregister(&mut self, key: MemoryKey);

    /// Starts to copy `from` to memory of a peer.
    ///
    /// # Errors
    /// Here or from [`take_completion`](Rma::take_completion): `RmaRange` if the access leaves the
    /// registered memory or the key names none, `Access` if peers may only read it. Nothing is
    /// written then.
    fn put(&mut self, from: Span, to: RemoteAddress, engine: Option<u8>) -> Result<RmaTicket>;

    /// Starts to copy memory of a peer to `into`.
    ///
    /// # Errors
    /// As [`Rma::put`].
    fn get(&mut self, from: RemoteAddress, into: Span, engine: Option<u8>) -> Result<RmaTicket>;

    /// Starts to change a number of `bytes` (4 or 8) bytes, atomically to other calls of this
    /// function. Its old value goes to `old`, which has the same length or is empty.
    ///
    /// # Errors
    /// As [`Rma::put`]; `Arg` for another length, or a number that is not aligned.
    fn update(
        &mut self, at: RemoteAddress, bytes: u8, update: Update, old: Span,
    ) -> Result<RmaTicket>;

    /// The result of an access that has completed, once; `None` while it is in progress.
    ///
    /// A write has completed when every byte is at the peer.
    fn take_completion(&mut self, ticket: RmaTicket) -> Option<Result>;
}
