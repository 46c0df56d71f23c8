//! The stream of one peer, cut into puts.
//!
//! ```text
//!   header ──whole──> body ──last byte──> addition ──> header
//!      │                └── registration has ended: the rest is dropped
//!      └── no frame, or a key that was never given: the connection ends
//! ```
//!
//! A key is checked for each part that arrives, with the lock that the end of a registration takes
//! ([`InterfaceLinks::fence`](super::InterfaceLinks::fence)): no byte lands in memory that the application has back.

use super::frame::PutFrame;
use crate::device::rma::MemoryKey;
use crate::devices::interface::Signal;
use platform::base::{ErrorClass, Result, Span};

/// The memory and the counters of a rank, for what arrives.
pub(crate) trait Landing {
    /// The memory of `len` bytes under a key; `None` if its registration has ended.
    ///
    /// # Errors
    /// `RmaRange` or `Access` if no such bytes were ever registered for writes.
    fn locate(&self, key: MemoryKey, offset: u64, len: usize) -> Result<Option<Span>>;

    /// Adds to a counter of this rank.
    ///
    /// # Errors
    /// `Arg` if it has no such counter.
    fn count(&self, signal: Signal) -> Result;
}

/// The state of a stream.
pub(super) struct IncomingPuts {
    header: [u8; PutFrame::LEN],
    /// Bytes of the header that are there.
    have: usize,
    body: Option<PutBody>,
    /// The peer has announced its end.
    pub(super) is_leaving: bool,
}

/// The bytes of a put that have not arrived.
#[derive(Clone, Copy)]
struct PutBody {
    key: MemoryKey,
    offset: u64,
    left: usize,
    signal: Option<Signal>,
}

impl Default for IncomingPuts {
    fn default() -> Self {
        Self { header: [0; PutFrame::LEN], have: 0, body: None, is_leaving: false }
    }
}

impl IncomingPuts {
    /// Where the next bytes of the stream belong; empty if they are those of a header, or dropped.
    ///
    /// # Errors
    /// As [`Landing::locate`].
    pub(super) fn place(&self, landing: &dyn Landing) -> Result<Span> {
        let Some(PutBody { key, offset, left, .. }) = self.body else { return Ok(Span::EMPTY) };
        Ok(landing.locate(key, offset, left)?.unwrap_or(Span::EMPTY))
    }

    /// So many of the next bytes have been written to their place.
    ///
    /// # Errors
    /// As [`Landing::count`].
    pub(super) fn placed(&mut self, bytes: usize, landing: &dyn Landing) -> Result {
        let Some(body) = &mut self.body else { return Ok(()) };
        body.offset += bytes as u64;
        body.left -= bytes;
        if body.left > 0 {
            return Ok(());
        }
        let signal = body.signal;
        self.body = None;
        signal.map_or(Ok(()), |signal| landing.count(signal))
    }

    /// Takes the next bytes of the stream.
    ///
    /// # Errors
    /// `Other` for bytes without a meaning; as the methods of [`Landing`].
    pub(super) fn feed(&mut self, mut bytes: &[u8], landing: &dyn Landing) -> Result {
        while !bytes.is_empty() {
            let taken = match &self.body {
                Some(body) => {
                    let part = &bytes[..bytes.len().min(body.left)];
                    let place = self.place(landing)?;
                    if !place.is_empty() {
                        place.write(0, part);
                    }
                    self.placed(part.len(), landing)?;
                    part.len()
                }
                None => self.feed_header(bytes, landing)?,
            };
            bytes = &bytes[taken..];
        }
        Ok(())
    }

    /// Takes bytes of a header; their number.
    fn feed_header(&mut self, bytes: &[u8], landing: &dyn Landing) -> Result<usize> {
        let taken = bytes.len().min(PutFrame::LEN - self.have);
        self.header[self.have..][..taken].copy_from_slice(&bytes[..taken]);
        self.have += taken;
        if self.have < PutFrame::LEN {
            return Ok(taken);
        }
        self.have = 0;
        match PutFrame::parse(&self.header) {
            Some(PutFrame::Put { key, offset, len, signal }) => {
                self.is_leaving = false;
                let left = len as usize;
                self.body = Some(PutBody { key, offset, left, signal });
                match left {
                    0 => self.placed(0, landing)?,
                    _ => drop(self.place(landing)?),
                }
            }
            Some(PutFrame::Leaving) => self.is_leaving = true,
            None => {
                let why = "bytes without a meaning for an interface";
                return Err(ErrorClass::Other.error(why));
            }
        }
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::device::conformance::TestBuffer;
    use crate::device::trigger::CounterKey;
    use proptest::prelude::*;

    /// Memory under key 5, and under key 3 until its registration ended.
    struct Place {
        memory: Span,
        counted: RefCell<Vec<(u64, u64)>>,
    }

    impl Landing for Place {
        fn locate(&self, key: MemoryKey, offset: u64, len: usize) -> Result<Option<Span>> {
            let end = offset.checked_add(len as u64);
            match key.0 {
                3 => Ok(None),
                5 if end.is_some_and(|end| end <= self.memory.len() as u64) => {
                    Ok(Some(self.memory.part(offset as usize, len)))
                }
                _ => Err(ErrorClass::RmaRange.error("no such memory")),
            }
        }

        fn count(&self, signal: Signal) -> Result {
            self.counted.borrow_mut().push((signal.counter.0, signal.value));
            Ok(())
        }
    }

    fn put(key: u64, offset: u64, data: &[u8], weight: u64) -> Vec<u8> {
        let signal = Some(Signal { counter: CounterKey(9), value: weight });
        let (key, len) = (MemoryKey(key), data.len() as u32);
        [&PutFrame::Put { key, offset, len, signal }.emit()[..], data].concat()
    }

    fn bytes(memory: Span) -> Vec<u8> {
        let mut bytes = vec![0; memory.len()];
        memory.read(0, &mut bytes);
        bytes
    }

    #[test]
    fn puts_land_however_the_stream_is_cut() {
        let stream = [
            put(5, 2, b"abc", 1),
            put(3, 0, b"dropped", 2),
            put(0, 0, b"", 4),
            put(5, 7, b"x", 8),
            PutFrame::Leaving.emit().to_vec(),
        ]
        .concat();
        for step in 1..stream.len() {
            let mut buffer = TestBuffer::new(8, 0);
            let place = Place { memory: buffer.span(), counted: RefCell::default() };
            let mut incoming = IncomingPuts::default();
            for part in stream.chunks(step) {
                incoming.feed(part, &place).unwrap();
            }
            assert!(incoming.is_leaving);
            assert_eq!(bytes(place.memory), *b"\0\0abc\0\0x");
            assert_eq!(place.counted.take(), [(9, 1), (9, 2), (9, 4), (9, 8)]);
        }
    }

    #[test]
    fn wrong_keys_end_the_stream_before_their_data() {
        let mut buffer = TestBuffer::new(8, 0);
        let place = Place { memory: buffer.span(), counted: RefCell::default() };
        let wrong = [put(4, 0, b"a", 1), put(5, 6, b"abc", 1), put(5, u64::MAX, b"ab", 1)];
        for stream in wrong {
            let error = IncomingPuts::default().feed(&stream[..PutFrame::LEN], &place).unwrap_err();
            assert!(error.is(ErrorClass::RmaRange), "{error}");
        }
        assert_eq!((bytes(place.memory), place.counted.take()), (vec![0; 8], Vec::new()));
    }

    proptest! {
        #[test]
        fn any_stream_is_taken(stream in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut buffer = TestBuffer::new(8, 0);
            let place = Place { memory: buffer.span(), counted: RefCell::default() };
            let _ = IncomingPuts::default().feed(&stream, &place);
        }
    }
}
