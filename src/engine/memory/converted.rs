//! Memory whose bytes differ in number or in value from those that a message has.
//!
//! A layer above knows the representation. The engine moves any range of the converted bytes, in any
//! order: a range may begin and end inside a number.

use std::fmt;

use platform::base::Span;

/// Memory of the application in another representation.
pub trait ConvertedMemory: fmt::Debug + Send + Sync {
    /// The number of converted bytes.
    fn len(&self) -> usize;

    /// Whether there is no data.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The adjacent bytes of the memory that come first in packed order.
    fn first_piece(&self) -> Span;

    /// Fills `out` with the converted bytes from `from` on. Of a number that has arrived in part these are
    /// the bytes that have arrived.
    ///
    /// # Panics
    /// If there are fewer.
    fn pack(&self, from: usize, out: &mut [u8]);

    /// Takes `data` as the converted bytes from `from` on. A number is written when all its bytes have
    /// arrived.
    ///
    /// # Panics
    /// If there are fewer.
    fn unpack(&self, from: usize, data: &[u8]);
}
