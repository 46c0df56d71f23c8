//! One-sided access: a device that reads and writes memory of peers without a call of the peer.
//!
//! ```text
//!   owner                                       peer
//!   register or allocate ──key, sent along──>   open              what the device does there
//!                                               put, get, update ─┬─ refused: nothing happens
//!                                                                 └─ accepted: in progress
//!   deregister <──the last access has ended──   flush, close
//! ```
//!
//! A rank *registers* memory of its own, or has the device *allocate* memory that peers can map. Peers
//! name it by its key and an offset (on Tofu: STADD, a steering tag and an offset). A key is a number
//! that the owner sends to its peers by other means. The device checks each access against bounds and
//! rights of the registration, and refuses a key whose registration has ended, also if the place in its
//! table is in use again.
//!
//! # Guarantees
//! * No call blocks. [`RmaError::Busy`] refuses an access for want of room: the caller polls and tries
//!   again. An error refuses it for good. A refused access changes nothing and does not count.
//! * An accepted access makes progress by calls of [`Device::poll`](super::Device::poll), and the
//!   device says by [`Rma::flush`] that all to a peer have completed. Until then its local memory is in use.
//! * The end of an access makes the [`WakeSource`](super::WakeSource) of a rank fire that has armed since
//!   it started the access; so does, at the owner, what a poll of the owner has to do for it.
//! * A put or an update has completed when every byte is at the peer, visible to the peer's processors
//!   and to later accesses of all ranks; a get, or the old value of an update, when it is in local memory.
//! * [`Rma::progress`] counts completed accesses from the first one on, so it tells the end of each one: in the
//!   order in which they were started, whatever the order of their ends.
//! * An access may be refused after it was accepted, where only the owner knows its keys. It then
//!   completes without effect, and the next [`Rma::flush`] of that peer returns the first such error.
//! * A signalled put counts once. Whoever sees the addition sees every byte of the put.
//! * An update that the interface of the owner makes ([`UpdateExecutor::Interface`]), that of a signalled
//!   put included, makes the wake source of the owner fire if it is armed, and changes
//!   [`Device::quiescence`](super::Device::quiescence) there. No other access wakes its owner; where
//!   memory is shared, [`Device::notify`](super::Device::notify) does.
//! * Accesses of one rank to one peer take place in the order of their calls if [`RmaCaps::ordered`], and
//!   else in any order; a flush is the order between those before and after it. The addition of a signalled
//!   put has no order to later accesses.
//! * Updates are atomic to each other, for numbers of one size at one address, whichever ranks make them,
//!   the owner included if it uses this interface. An aligned put or get of 4 or 8 bytes does not tear a
//!   number.
//! * An access to a peer whose process has ended is an error, or it reaches memory that nobody reads:
//!   it does not wait for ever.
//!
//! It knows no windows, epochs or datatypes. `conformance` tests these guarantees.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use super::Busy;
use platform::base::{ErrorClass, MpiError, Peer, Result, Span};

/// Names registered memory for peers, together with its owner. Never 0.
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

/// Rights of peers to registered memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteAccess {
    /// Read it.
    Read,
    /// Read and write it.
    ReadWrite,
}

/// The kind of a naturally aligned number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberKind {
    /// 4 bytes without a sign.
    Unsigned4,
    /// 8 bytes without a sign.
    Unsigned8,
    /// 4 bytes in two's complement.
    Signed4,
    /// 8 bytes in two's complement.
    Signed8,
    /// 4 bytes, floating.
    Float4,
    /// 8 bytes, floating.
    Float8,
}

/// Atomic changes of a number. The operands are its bits, in the low bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// Adds; integers wrap.
    Add(u64),
    /// Bitwise and.
    And(u64),
    /// Bitwise or.
    Or(u64),
    /// Bitwise exclusive or.
    Xor(u64),
    /// Replaces by a smaller number.
    Min(u64),
    /// Replaces by a larger number.
    Max(u64),
    /// Replaces.
    Swap(u64),
    /// Replaces by the second number if it equals the first bit by bit.
    CompareSwap(u64, u64),
}

/// A set of updates and kinds of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateSet(u64);

/// What performs an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateExecutor {
    /// The processor of the caller.
    Processor,
    /// The interface of the owner, without its processors or beside the application.
    Interface,
    /// The owner itself, when it polls: it also makes puts and gets. A rank that computes makes none
    /// until its next poll.
    Owner,
}

/// What the device does with memory of a peer for one rank; for another rank it may do less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RmaCaps {
    /// The updates that it makes, atomically.
    pub updates: UpdateSet,
    /// What makes them.
    pub executor: UpdateExecutor,
    /// Whether accesses of this rank to the peer take place in the order of their calls.
    pub ordered: bool,
    /// The memory itself, if it is mapped into this process: valid until [`Rma::close`], or until the
    /// owner ends the registration.
    pub mapped: Option<Span>,
}

/// The addition after a put: to an aligned number of 8 bytes at the same peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PutSignal {
    /// The memory of the number.
    pub(crate) key: MemoryKey,
    /// Its offset in that memory.
    pub(crate) offset: u64,
    /// The addend.
    pub(crate) addend: u64,
}

/// An access to memory of a peer, as an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RmaAccess {
    /// [`Rma::put`].
    Put {
        /// The source.
        from: Span,
        /// The target, of the same length.
        to: RemoteAddress,
    },
    /// [`Rma::get`].
    Get {
        /// The source, as long as `into`.
        from: RemoteAddress,
        /// The target.
        into: Span,
    },
    /// [`Rma::update`].
    Update {
        /// The number.
        at: RemoteAddress,
        /// Its kind.
        kind: NumberKind,
        /// The change.
        update: Update,
        /// Where the old number goes.
        old: Span,
    },
}

/// The accesses of a rank to a peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccessProgress {
    /// Those that were started.
    pub(crate) accepted: u64,
    /// Those of them that have completed, from the first one on: not those behind one in progress.
    pub(crate) completed: u64,
    /// Whether the next [`Rma::flush`] returns an error.
    pub(crate) has_error: bool,
}

/// Why an access was refused.
#[derive(Debug)]
pub enum RmaError {
    /// There is no room: try again after a poll.
    Busy,
    /// `RmaRange` if the access leaves the registered memory or the key names none, `Access` if peers may
    /// only read it, `Arg` for a number that is not aligned or an old value of another length,
    /// `UnsupportedOperation` for an update that the device does not make, `Rank` for a peer that the
    /// device does not reach, `Other` if the system refuses.
    Denied(Box<MpiError>),
}

/// Reads and writes of peers' memory.
pub trait Rma {
    /// Registers memory of this rank for peers.
    ///
    /// # Errors
    /// `NoMem` if no registration is free.
    fn register(&mut self, memory: Span, access: RemoteAccess) -> Result<MemoryKey>;

    /// Allocates zeroed memory that peers can map, and registers it. It is there until
    /// [`Rma::deregister`]. `None` if the device maps no memory: register other memory then.
    ///
    /// # Errors
    /// `NoMem` without memory.
    fn allocate(
        &mut self, len_bytes: usize, access: RemoteAccess,
    ) -> Result<Option<(MemoryKey, Span)>> {
        let _ = (len_bytes, access);
        Ok(None)
    }

    /// Ends a registration. No peer may use the key any more; a later access is refused.
    fn deregister(&mut self, key: MemoryKey);

    /// What the device does with this memory of a peer; maps it if it can. An access needs no call
    /// before, but the first one without it may take longer.
    ///
    /// # Errors
    /// `RmaRange` or `Rank`, as of an access. `Other` if the system does not let this process reach the
    /// memory: the device refuses every access to it, and only messages reach it.
    fn open(&mut self, peer: Peer, key: MemoryKey) -> Result<RmaCaps>;

    /// This rank will not use the key again: the device may unmap the memory.
    fn close(&mut self, peer: Peer, key: MemoryKey) {
        let _ = (peer, key);
    }

    /// The longest put or get that is faster than packets which ask `peer` to make it, in bytes, where accesses end
    /// after their calls. 0 if none is.
    fn fast_max(&mut self, peer: Peer) -> usize {
        let _ = peer;
        0
    }

    /// Starts to copy `from` to memory of a peer.
    ///
    /// # Errors
    /// [`RmaError`].
    fn put(&mut self, from: Span, to: RemoteAddress) -> Result<(), RmaError>;

    /// The same, and afterwards the addition.
    ///
    /// # Errors
    /// [`RmaError`]; nothing is written if the addition is not possible.
    fn put_signalled(
        &mut self, from: Span, to: RemoteAddress, signal: PutSignal,
    ) -> Result<(), RmaError>;

    /// Starts to copy memory of a peer to `into`.
    ///
    /// # Errors
    /// [`RmaError`].
    fn get(&mut self, from: RemoteAddress, into: Span) -> Result<(), RmaError>;

    /// Starts to change a number. Its old value goes to `old`, which has the same length or is empty.
    ///
    /// # Errors
    /// [`RmaError`].
    fn update(
        &mut self, at: RemoteAddress, kind: NumberKind, update: Update, old: Span,
    ) -> Result<(), RmaError>;

    /// How many accesses to `peer` this rank has started, and how many of them have completed.
    fn progress(&mut self, peer: Peer) -> AccessProgress;

    /// Whether all accesses to `peer` have completed; `None` while one is in progress. All of them are
    /// before every later access of this rank, and visible to whoever hears of this call.
    ///
    /// # Errors
    /// The first error of an access to `peer` that was accepted and then refused, once.
    fn flush(&mut self, peer: Peer) -> Option<Result>;

    /// Accesses that the interface makes by an engine of the caller's choice, or defers.
    fn engines(&mut self) -> Option<&mut dyn AccessEngines> {
        None
    }
}

/// An interface with engines and deferred work, as far as accesses use them.
pub trait AccessEngines {
    /// The number of engines.
    fn count(&mut self) -> u8;

    /// Starts an access by an engine, modulo their number. Accesses to one peer by one engine keep the order
    /// of their calls where [`RmaCaps::ordered`] is set. A deferred access occupies a slot of deferred work,
    /// and starts when all accesses that this rank has started before, to any peer, have completed: this
    /// takes no call of this rank.
    ///
    /// # Errors
    /// As of [`Rma::put`], [`Rma::get`] or [`Rma::update`]; [`RmaError::Busy`] also without a free slot.
    fn start(&mut self, access: RmaAccess, engine: u8, is_deferred: bool) -> Result<(), RmaError>;
}

impl NumberKind {
    /// All kinds.
    pub(crate) const ALL: [Self; 6] = [
        Self::Unsigned4,
        Self::Unsigned8,
        Self::Signed4,
        Self::Signed8,
        Self::Float4,
        Self::Float8,
    ];

    /// The length, in bytes.
    #[inline]
    pub fn bytes(self) -> usize {
        match self {
            Self::Unsigned4 | Self::Signed4 | Self::Float4 => 4,
            Self::Unsigned8 | Self::Signed8 | Self::Float8 => 8,
        }
    }

    /// # Errors
    /// `Arg` if a number of this kind at `offset` is not aligned in memory.
    pub(crate) fn check_place(self, address: u64, offset: u64) -> Result {
        let bytes = self.bytes();
        if address.is_multiple_of(bytes as u64) {
            return Ok(());
        }
        let why = format!("the number at offset {offset} is at no multiple of its {bytes} bytes");
        Err(ErrorClass::Arg.error(why))
    }

    /// Whether it is a floating-point number.
    pub(crate) const fn is_floating(self) -> bool {
        matches!(self, Self::Float4 | Self::Float8)
    }

    fn add(self, one: u64, other: u64) -> u64 {
        let float = |bits: u64| f32::from_bits(bits as u32);
        match self {
            Self::Float4 => (float(one) + float(other)).to_bits().into(),
            Self::Float8 => (f64::from_bits(one) + f64::from_bits(other)).to_bits(),
            _ => one.wrapping_add(other),
        }
    }

    /// Whether one number is below the other; false if a number is not comparable.
    fn is_below(self, one: u64, other: u64) -> bool {
        let float = |bits: u64| f32::from_bits(bits as u32);
        match self {
            Self::Unsigned4 => (one as u32) < other as u32,
            Self::Unsigned8 => one < other,
            Self::Signed4 => (one as i32) < other as i32,
            Self::Signed8 => (one as i64) < other as i64,
            Self::Float4 => float(one) < float(other),
            Self::Float8 => f64::from_bits(one) < f64::from_bits(other),
        }
    }
}

impl Update {
    /// The number of different updates.
    const CODES: u8 = 8;

    /// The new value of a number.
    pub(crate) fn apply(self, old: u64, kind: NumberKind) -> u64 {
        let mask = if kind.bytes() == 4 { u64::from(u32::MAX) } else { u64::MAX };
        let new = match self {
            Self::Add(value) => kind.add(old, value),
            Self::And(value) => old & value,
            Self::Or(value) => old | value,
            Self::Xor(value) => old ^ value,
            Self::Min(value) if kind.is_below(value, old) => value,
            Self::Max(value) if kind.is_below(old, value) => value,
            Self::Swap(value) => value,
            Self::CompareSwap(expected, value) if old == expected & mask => value,
            Self::Min(_) | Self::Max(_) | Self::CompareSwap(..) => old,
        };
        new & mask
    }

    /// Changes a number in memory by the processor's atomics, and returns the old value.
    ///
    /// # Panics
    /// Unless it is an aligned number of this kind.
    #[inline]
    pub(crate) fn perform(self, number: Span, kind: NumberKind) -> u64 {
        assert_eq!(number.len(), kind.bytes());
        let order = Ordering::SeqCst;
        match self {
            Self::Add(addend) if !kind.is_floating() => number
                .atomically(|n| n.fetch_add(addend as u32, order), |n| n.fetch_add(addend, order)),
            Self::And(bits) => {
                number.atomically(|n| n.fetch_and(bits as u32, order), |n| n.fetch_and(bits, order))
            }
            Self::Or(bits) => {
                number.atomically(|n| n.fetch_or(bits as u32, order), |n| n.fetch_or(bits, order))
            }
            Self::Xor(bits) => {
                number.atomically(|n| n.fetch_xor(bits as u32, order), |n| n.fetch_xor(bits, order))
            }
            Self::Swap(new) => {
                number.atomically(|n| n.swap(new as u32, order), |n| n.swap(new, order))
            }
            Self::CompareSwap(expected, new) => number.atomically(
                |n| match n.compare_exchange(expected as u32, new as u32, order, order) {
                    Ok(old) | Err(old) => old,
                },
                |n| match n.compare_exchange(expected, new, order, order) {
                    Ok(old) | Err(old) => old,
                },
            ),
            Self::Add(_) | Self::Min(_) | Self::Max(_) => {
                number.fetch_update(|old| self.apply(old, kind))
            }
        }
    }

    /// A number for the update and the kind, below 64.
    pub(crate) fn code_of(self, kind: NumberKind) -> u8 {
        self.parts().0 * NumberKind::ALL.len() as u8 + kind as u8
    }

    /// The update of [`Update::code_of`]; `None` for another number.
    pub(crate) fn of_code(code: u8, operands: [u64; 2]) -> Option<(Self, NumberKind)> {
        let kinds = NumberKind::ALL.len() as u8;
        let kind = NumberKind::ALL[usize::from(code % kinds)];
        Some((Self::from_parts(code / kinds, operands)?, kind))
    }

    /// A code below [`Update::CODES`], and the operands.
    pub(crate) fn parts(self) -> (u8, [u64; 2]) {
        match self {
            Self::Add(value) => (0, [value, 0]),
            Self::And(value) => (1, [value, 0]),
            Self::Or(value) => (2, [value, 0]),
            Self::Xor(value) => (3, [value, 0]),
            Self::Min(value) => (4, [value, 0]),
            Self::Max(value) => (5, [value, 0]),
            Self::Swap(value) => (6, [value, 0]),
            Self::CompareSwap(expected, value) => (7, [expected, value]),
        }
    }

    /// The update of [`Update::parts`]; `None` for another code.
    pub(crate) fn from_parts(code: u8, [one, two]: [u64; 2]) -> Option<Self> {
        Some(match code {
            0 => Self::Add(one),
            1 => Self::And(one),
            2 => Self::Or(one),
            3 => Self::Xor(one),
            4 => Self::Min(one),
            5 => Self::Max(one),
            6 => Self::Swap(one),
            7 => Self::CompareSwap(one, two),
            _ => return None,
        })
    }
}

impl UpdateSet {
    /// No update.
    pub(crate) const NONE: Self = Self(0);

    /// Every update of every kind of number, but no bitwise one of floating-point numbers.
    pub(crate) const ALL: Self = {
        let mut bits = 0;
        let mut kind = 0;
        while kind < NumberKind::ALL.len() {
            let mut code = 0;
            while code < Update::CODES {
                let is_bitwise = code >= 1 && code <= 3;
                if !(is_bitwise && NumberKind::ALL[kind].is_floating()) {
                    bits |= 1 << (kind as u32 * Update::CODES as u32 + code as u32);
                }
                code += 1;
            }
            kind += 1;
        }
        Self(bits)
    };

    /// Whether it has this update of numbers of this kind.
    #[inline]
    pub fn contains(self, update: Update, kind: NumberKind) -> bool {
        let bit = kind as u32 * u32::from(Update::CODES) + u32::from(update.parts().0);
        self.0 >> bit & 1 == 1
    }

    /// Checks an update before a device starts it.
    ///
    /// # Errors
    /// `Arg` unless the offset is aligned and `old` has the length of the number or is empty;
    /// `UnsupportedOperation` for an update that is not in the set.
    #[inline]
    pub(crate) fn check(self, offset: u64, kind: NumberKind, update: Update, old: Span) -> Result {
        let bytes = kind.bytes();
        if self.contains(update, kind)
            && offset.is_multiple_of(bytes as u64)
            && (old.is_empty() || old.len() == bytes)
        {
            return Ok(());
        }
        Err(self.refusal(offset, kind, update, old))
    }

    #[cold]
    fn refusal(self, offset: u64, kind: NumberKind, update: Update, old: Span) -> Box<MpiError> {
        let bytes = kind.bytes();
        if !self.contains(update, kind) {
            let why = format!("the device cannot make {update:?} of {kind:?} at a peer");
            return ErrorClass::UnsupportedOperation.error(why);
        }
        if !offset.is_multiple_of(bytes as u64) {
            return ErrorClass::Arg
                .error(format!("offset {offset} of a number is no multiple of its {bytes} bytes"));
        }
        let len = old.len();
        ErrorClass::Arg.error(format!("{len} bytes for the old value of a number of {bytes} bytes"))
    }
}

impl PutSignal {
    /// The number that is added to, of `peer`.
    pub(crate) fn address(self, peer: Peer) -> RemoteAddress {
        RemoteAddress { peer, key: self.key, offset: self.offset }
    }
}

/// Writes the low bytes of a number to `into`, which has 4, 8 or no bytes.
pub(crate) fn write_number(number: u64, into: Span) {
    match into.len() {
        4 => into.write(0, &(number as u32).to_ne_bytes()),
        8 => into.write(0, &number.to_ne_bytes()),
        _ => (),
    }
}

impl From<Box<MpiError>> for RmaError {
    fn from(error: Box<MpiError>) -> Self {
        Self::Denied(error)
    }
}

impl From<Busy> for RmaError {
    fn from(_: Busy) -> Self {
        Self::Busy
    }
}

impl MemoryKey {
    /// It names nothing.
    pub(crate) fn refusal(self) -> Box<MpiError> {
        let why = format!("the peer has registered no memory under key {:x}", self.0);
        ErrorClass::RmaRange.error(why)
    }
}

impl RemoteAccess {
    /// # Errors
    /// `Access` if it is not `allowed`.
    pub(crate) fn check(self, allowed: Self) -> Result {
        match (self, allowed) {
            (Self::ReadWrite, Self::Read) => {
                Err(ErrorClass::Access.error("this memory of the peer is read-only"))
            }
            (Self::Read | Self::ReadWrite, _) => Ok(()),
        }
    }
}

/// The first byte of an access of `len` bytes to memory of `registered` bytes.
///
/// # Errors
/// `RmaRange` if it leaves the memory.
pub(crate) fn check_range(registered: usize, offset: u64, len: usize) -> Result<usize> {
    let start = usize::try_from(offset).ok().filter(|start| *start <= registered);
    start.filter(|start| len <= registered - start).ok_or_else(|| {
        ErrorClass::RmaRange.error(format!(
            "{len} bytes at offset {offset} are outside the {registered} registered bytes"
        ))
    })
}

/// The memory that a rank has registered, for a device where the owner looks up its keys.
#[derive(Debug, Default)]
pub(crate) struct MemoryTable {
    memory: BTreeMap<MemoryKey, (Span, RemoteAccess)>,
    /// The last key that this table has made.
    keys: u64,
}

impl MemoryTable {
    /// Registers memory under a key of its own.
    pub(crate) fn register(&mut self, memory: Span, access: RemoteAccess) -> MemoryKey {
        self.keys += 1;
        let key = MemoryKey(self.keys);
        self.insert(key, memory, access);
        key
    }

    /// Registers memory under a new key.
    pub(crate) fn insert(&mut self, key: MemoryKey, memory: Span, access: RemoteAccess) {
        self.memory.insert(key, (memory, access));
    }

    /// Ends a registration.
    pub(crate) fn remove(&mut self, key: MemoryKey) {
        self.memory.remove(&key);
    }

    /// The memory under a key, and the rights of peers.
    pub(crate) fn whole(&self, key: MemoryKey) -> Option<(Span, RemoteAccess)> {
        self.memory.get(&key).copied()
    }

    /// The memory of an access.
    ///
    /// # Errors
    /// `RmaRange` if there is no such memory, `Access` if it is read-only.
    pub(crate) fn find(
        &self, key: MemoryKey, offset: u64, len: usize, access: RemoteAccess,
    ) -> Result<Span> {
        let (memory, allowed) = self.whole(key).ok_or_else(|| key.refusal())?;
        access.check(allowed)?;
        let start = check_range(memory.len(), offset, len)?;
        Ok(memory.part(start, len))
    }

    /// The number of an update.
    ///
    /// # Errors
    /// As [`MemoryTable::find`]; `Arg` if it is not aligned in memory.
    pub(crate) fn find_number(
        &self, key: MemoryKey, offset: u64, kind: NumberKind,
    ) -> Result<Span> {
        let number = self.find(key, offset, kind.bytes(), RemoteAccess::ReadWrite)?;
        kind.check_place(number.address() as u64, offset)?;
        Ok(number)
    }

    /// Makes an access of the owner itself, and the addition after a put.
    ///
    /// # Errors
    /// As [`MemoryTable::find`] and [`MemoryTable::find_number`]: then nothing has changed.
    pub(crate) fn perform(&self, access: RmaAccess, signal: Option<PutSignal>) -> Result {
        match access {
            RmaAccess::Put { from, to } => {
                let into = self.find(to.key, to.offset, from.len(), RemoteAccess::ReadWrite)?;
                let kind = NumberKind::Unsigned8;
                let number = signal.map(|it| self.find_number(it.key, it.offset, kind));
                let number = number.transpose()?;
                from.copy_untorn(into);
                if let (Some(number), Some(signal)) = (number, signal) {
                    Update::Add(signal.addend).perform(number, kind);
                }
            }
            RmaAccess::Get { from, into } => {
                self.find(from.key, from.offset, into.len(), RemoteAccess::Read)?.copy_untorn(into);
            }
            RmaAccess::Update { at, kind, update, old } => {
                let number = self.find_number(at.key, at.offset, kind)?;
                write_number(update.perform(number, kind), old);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_have_codes() {
        for code in 0..Update::CODES {
            let update = Update::from_parts(code, [3, 4]).unwrap();
            assert_eq!(update.parts().0, code);
            for kind in NumberKind::ALL {
                let is_bitwise = matches!(update, Update::And(_) | Update::Or(_) | Update::Xor(_));
                let expected = !(is_bitwise && kind.is_floating());
                assert_eq!(UpdateSet::ALL.contains(update, kind), expected, "{update:?} {kind:?}");
            }
        }
        assert_eq!(Update::from_parts(Update::CODES, [0, 0]), None);
    }

    #[test]
    fn numbers_are_compared_by_their_kinds() {
        let minus_one = u64::from(u32::MAX);
        assert_eq!(Update::Min(minus_one).apply(3, NumberKind::Unsigned4), 3);
        assert_eq!(Update::Min(minus_one).apply(3, NumberKind::Signed4), minus_one);
        assert_eq!(Update::Max(u64::MAX).apply(3, NumberKind::Signed8), 3);
        let (one, two) = (1.5_f64.to_bits(), (-2.0_f64).to_bits());
        assert_eq!(Update::Min(two).apply(one, NumberKind::Float8), two);
        assert_eq!(Update::Max(two).apply(one, NumberKind::Float8), one);
        assert_eq!(Update::Add(two).apply(one, NumberKind::Float8), (-0.5_f64).to_bits());
        let not_a_number = f64::NAN.to_bits();
        assert_eq!(Update::Min(not_a_number).apply(one, NumberKind::Float8), one);
    }
}
