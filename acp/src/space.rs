//! Memory of all ranks, as the middle layer sees it: global addresses, blocking reads and writes, atomic
//! changes of words.
//!
//! [`GlobalSpace`] is the basic layer behind a trait, so that the middle layer is a value without C,
//! processes and devices: tests run it over the memory of one process (`test_space`).
//!
//! All words are 8 bytes in the byte order of the processor, at addresses that are multiples of 8.

/// An address in the memory of all ranks. 0 is no address.
///
/// A program may add to an address: `at.plus(n)` is `n` bytes behind `at`, within one registered region.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[repr(transparent)]
pub struct SpaceAddress(pub u64);

/// An access was refused, and nothing has happened: there is no such rank, or the bytes are not all in one
/// region that its rank has registered, or a word is not aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessRefused;

/// The memory of all ranks, at one of them. An access has completed when its function returns: the bytes
/// are where they belong, for the processors of their owner and for later accesses of all ranks.
pub trait GlobalSpace {
    /// This rank.
    fn rank(&self) -> u32;

    /// The number of ranks.
    fn ranks(&self) -> u32;

    /// The rank that an address belongs to; `None` if there is no such rank.
    fn owner(&self, at: SpaceAddress) -> Option<u32>;

    /// The heap memory of a rank: its first byte, at a multiple of 64, and its length, a multiple of 8, which
    /// is the same on all ranks. It is zero at first. `None` if there is no such rank.
    fn heap(&self, rank: u32) -> Option<(SpaceAddress, u64)>;

    /// Copies the bytes from `from` on to `into`.
    ///
    /// # Errors
    /// [`AccessRefused`]; the same for all accesses.
    fn read(&self, from: SpaceAddress, into: &mut [u8]) -> Result<(), AccessRefused>;

    /// Copies `data` to the bytes from `to` on.
    fn write(&self, to: SpaceAddress, data: &[u8]) -> Result<(), AccessRefused>;

    /// Copies `len_bytes` bytes from `from` to `to`, of any ranks. They may overlap.
    fn copy(
        &self, to: SpaceAddress, from: SpaceAddress, len_bytes: u64,
    ) -> Result<(), AccessRefused>;

    /// Replaces the word at `at` by `new` if it is `expected`, atomically; the old word.
    fn compare_swap(&self, at: SpaceAddress, expected: u64, new: u64)
    -> Result<u64, AccessRefused>;

    /// Pauses before the next of several attempts, of which there have been `attempts`: another rank is
    /// given time.
    fn pause(&self, attempts: u32);
}

impl SpaceAddress {
    /// No address.
    pub const NULL: Self = Self(0);

    /// Whether this is no address.
    #[inline]
    pub fn is_null(self) -> bool {
        self.0 == 0
    }

    /// The address `bytes` behind this one.
    #[inline]
    #[must_use]
    pub fn plus(self, bytes: u64) -> Self {
        Self(self.0.wrapping_add(bytes))
    }
}
