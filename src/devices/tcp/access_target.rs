//! The accesses of one peer to memory of this rank, and the answers to them.
//!
//! ```text
//!   Put, Get, Update ───────────────────────────────────────> answers ──> frames
//!   BeginPut ──checked──> put ── PutData ──all bytes, signal──>┘
//!                          └──not allowed: its data is dropped
//! ```
//!
//! The memory of every frame is looked up when the frame is handled, so none is written after the end of
//! its registration. It has no connection: the caller gives requests in and takes answers out.

use std::collections::VecDeque;

use super::access_frame::{AccessFrame, PIECE_MAX, sentence};
use super::access_origin::{ACCESSES_MAX, AccessViolation};
use crate::device::rma::{MemoryKey, MemoryTable, NumberKind, PutSignal, RemoteAccess, Update};
use platform::base::{ErrorClass, MpiError, Result};
use platform::sys::tcp::SendPart;

#[derive(Debug, Default)]
pub(crate) struct AccessTarget {
    put: Option<ArrivingPut>,
    answers: VecDeque<PendingAnswer>,
}

/// A put of which a part has arrived.
#[derive(Debug)]
struct ArrivingPut {
    key: MemoryKey,
    /// Of the next byte.
    offset: u64,
    left: u64,
    signal: Option<PutSignal>,
    /// Why nothing more is written.
    refusal: Option<Box<MpiError>>,
}

#[derive(Debug)]
enum PendingAnswer {
    Completed(u64),
    Old(u64),
    Refused(Box<MpiError>),
    /// `left` bytes of a get from `offset` on.
    Data {
        key: MemoryKey,
        offset: u64,
        left: u64,
    },
}

impl AccessTarget {
    /// Whether there is an answer to send.
    pub(crate) fn has_frames(&self) -> bool {
        !self.answers.is_empty()
    }

    /// Whether nothing has arrived in part or waits to be sent.
    pub(crate) fn is_idle(&self) -> bool {
        self.put.is_none() && self.answers.is_empty()
    }

    /// Handles a request.
    ///
    /// # Errors
    /// [`AccessViolation`] if no origin sends it now.
    pub(crate) fn take(
        &mut self, frame: AccessFrame<&[u8]>, memory: &MemoryTable,
    ) -> Result<(), AccessViolation> {
        if self.answers.len() >= ACCESSES_MAX {
            return Err(AccessViolation);
        }
        if let AccessFrame::PutData(data) = frame {
            return self.put_data(data, memory);
        }
        if self.put.is_some() {
            return Err(AccessViolation);
        }
        match frame {
            AccessFrame::Put { key, offset, data } => {
                let place = memory.find(key, offset, data.len(), RemoteAccess::ReadWrite);
                self.end(place.map(|place| place.write_untorn(data)));
            }
            AccessFrame::BeginPut { key, offset, len, signal } => {
                self.begin_put(key, offset, len, signal, memory);
            }
            AccessFrame::Get { key, offset, len } => {
                let found =
                    length(len).and_then(|len| memory.find(key, offset, len, RemoteAccess::Read));
                match found {
                    Ok(found) if !found.is_empty() => {
                        self.answers.push_back(PendingAnswer::Data { key, offset, left: len });
                    }
                    found => self.end(found.map(drop)),
                }
            }
            AccessFrame::Update { key, offset, kind, update } => {
                let old = memory.find_number(key, offset, kind);
                self.answers.push_back(match old {
                    Ok(number) => PendingAnswer::Old(update.perform(number, kind)),
                    Err(error) => PendingAnswer::Refused(error),
                });
            }
            _ => return Err(AccessViolation),
        }
        Ok(())
    }

    fn begin_put(
        &mut self, key: MemoryKey, offset: u64, len: u64, signal: Option<PutSignal>,
        memory: &MemoryTable,
    ) {
        let check = || {
            memory.find(key, offset, length(len)?, RemoteAccess::ReadWrite)?;
            if let Some(PutSignal { key, offset, .. }) = signal {
                memory.find_number(key, offset, NumberKind::Unsigned8)?;
            }
            Ok(())
        };
        let refusal = check().err();
        self.put = Some(ArrivingPut { key, offset, left: len, signal, refusal });
        if len == 0 {
            self.end_put(memory);
        }
    }

    fn put_data(&mut self, data: &[u8], memory: &MemoryTable) -> Result<(), AccessViolation> {
        let put = self.put.as_mut().ok_or(AccessViolation)?;
        let len = data.len() as u64;
        if len == 0 || len > put.left {
            return Err(AccessViolation);
        }
        if put.refusal.is_none() {
            match memory.find(put.key, put.offset, data.len(), RemoteAccess::ReadWrite) {
                Ok(place) => place.write_untorn(data),
                Err(error) => put.refusal = Some(error),
            }
        }
        put.left -= len;
        // A put that is refused may have any offset.
        put.offset = put.offset.wrapping_add(len);
        if put.left == 0 {
            self.end_put(memory);
        }
        Ok(())
    }

    /// All bytes of a put have arrived.
    fn end_put(&mut self, memory: &MemoryTable) {
        let Some(ArrivingPut { signal, refusal, .. }) = self.put.take() else { return };
        let signal = || {
            let Some(PutSignal { key, offset, addend }) = signal else { return Ok(()) };
            let kind = NumberKind::Unsigned8;
            let number = memory.find_number(key, offset, kind)?;
            Update::Add(addend).perform(number, kind);
            Ok(())
        };
        let end = refusal.map_or_else(signal, Err);
        self.end(end);
    }

    /// A put has ended.
    fn end(&mut self, end: Result) {
        match (end, self.answers.back_mut()) {
            (Ok(()), Some(PendingAnswer::Completed(count))) => *count += 1,
            (Ok(()), _) => self.answers.push_back(PendingAnswer::Completed(1)),
            (Err(error), _) => self.answers.push_back(PendingAnswer::Refused(error)),
        }
    }

    /// Gives the next answer to `send`, if there is one.
    pub(crate) fn next_frame(
        &mut self, memory: &MemoryTable, mut send: impl FnMut(AccessFrame<SendPart<'_>>),
    ) {
        let Some(answer) = self.answers.front_mut() else { return };
        match answer {
            PendingAnswer::Completed(count) => send(AccessFrame::Completed(*count)),
            PendingAnswer::Old(old) => send(AccessFrame::Old(*old)),
            PendingAnswer::Refused(error) => send(refused(error)),
            PendingAnswer::Data { key, offset, left } => {
                let len = (*left).min(PIECE_MAX as u64);
                match memory.find(*key, *offset, len as usize, RemoteAccess::Read) {
                    Ok(piece) => {
                        send(AccessFrame::GetData(SendPart::Memory(piece)));
                        (*offset, *left) = (*offset + len, *left - len);
                        if *left > 0 {
                            return;
                        }
                    }
                    Err(error) => send(refused(&error)),
                }
            }
        }
        self.answers.pop_front();
    }
}

fn refused(error: &MpiError) -> AccessFrame<SendPart<'_>> {
    AccessFrame::Refused(error.code.0, SendPart::Bytes(sentence(error)))
}

/// # Errors
/// `RmaRange` if no memory is so long.
fn length(len: u64) -> Result<usize> {
    usize::try_from(len)
        .map_err(|_| ErrorClass::RmaRange.error(format!("no memory has {len} bytes")))
}
