//! The accesses of this rank to one peer, from their start to the answer.
//!
//! ```text
//!   accept ──> outgoing ──all frames have left──> awaiting ──answer──> ended
//!                 └──────────────────────────────────┴──the peer fails──> ended
//! ```
//!
//! It has no connection: the caller takes frames out and gives answers in.

use std::collections::VecDeque;

use super::access_frame::{AccessFrame, PIECE_MAX, refusal};
use crate::device::Busy;
use crate::device::rma::{PutSignal, RemoteAddress, RmaAccess, write_number};
use platform::base::{Result, Span};
use platform::sys::tcp::SendPart;

/// Accesses in progress to one peer, at most. The owner takes more for damage.
pub(crate) const ACCESSES_MAX: usize = 1024;

/// A frame has no meaning at this time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AccessViolation;

#[derive(Debug, Default)]
pub(crate) struct AccessOrigin {
    /// Each with the addition after it, of a put.
    outgoing: VecDeque<(RmaAccess, Option<PutSignal>)>,
    /// Bytes of the first put that have left, if it was begun.
    begun: Option<usize>,
    awaiting: VecDeque<AwaitedAnswer>,
}

#[derive(Debug)]
enum AwaitedAnswer {
    Completed,
    Old(Span),
    /// So many bytes of the get have come.
    Data(Span, usize),
}

impl AccessOrigin {
    /// # Errors
    /// [`Busy`] with too many accesses in progress.
    pub(crate) fn accept(
        &mut self, access: RmaAccess, signal: Option<PutSignal>,
    ) -> Result<(), Busy> {
        if self.in_progress() >= ACCESSES_MAX {
            return Err(Busy);
        }
        self.outgoing.push_back((access, signal));
        Ok(())
    }

    /// Accesses that have not ended.
    pub(crate) fn in_progress(&self) -> usize {
        self.outgoing.len() + self.awaiting.len()
    }

    /// Whether there is a frame to send.
    pub(crate) fn has_frames(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// The next frame to send.
    pub(crate) fn next_frame(&mut self) -> Option<AccessFrame<SendPart<'static>>> {
        let first = *self.outgoing.front()?;
        let (frame, awaited) = match first {
            (RmaAccess::Put { from, .. }, _) if self.begun.is_some() => {
                let sent = self.begun.unwrap_or(0);
                let piece = from.part(sent, (from.len() - sent).min(PIECE_MAX));
                let sent = sent + piece.len();
                self.begun = (sent < from.len()).then_some(sent);
                let is_last = self.begun.is_none();
                let frame = AccessFrame::PutData(SendPart::Memory(piece));
                (frame, is_last.then_some(AwaitedAnswer::Completed))
            }
            (RmaAccess::Put { from, to }, None) if from.len() <= PIECE_MAX => {
                let RemoteAddress { key, offset, .. } = to;
                let data = SendPart::Memory(from);
                (AccessFrame::Put { key, offset, data }, Some(AwaitedAnswer::Completed))
            }
            (RmaAccess::Put { from, to }, signal) => {
                let RemoteAddress { key, offset, .. } = to;
                self.begun = (!from.is_empty()).then_some(0);
                let frame = AccessFrame::BeginPut { key, offset, len: from.len() as u64, signal };
                (frame, from.is_empty().then_some(AwaitedAnswer::Completed))
            }
            (RmaAccess::Get { from, into }, _) => {
                let RemoteAddress { key, offset, .. } = from;
                let awaited = match into.is_empty() {
                    true => AwaitedAnswer::Completed,
                    false => AwaitedAnswer::Data(into, 0),
                };
                (AccessFrame::Get { key, offset, len: into.len() as u64 }, Some(awaited))
            }
            (RmaAccess::Update { at, kind, update, old }, _) => {
                let RemoteAddress { key, offset, .. } = at;
                let frame = AccessFrame::Update { key, offset, kind, update };
                (frame, Some(AwaitedAnswer::Old(old)))
            }
        };
        if let Some(awaited) = awaited {
            self.outgoing.pop_front();
            self.awaiting.push_back(awaited);
        }
        Some(frame)
    }

    /// Takes an answer; `ended` hears of each access that has ended by it.
    ///
    /// # Errors
    /// [`AccessViolation`] if it is no answer to the oldest request.
    pub(crate) fn take(
        &mut self, frame: AccessFrame<&[u8]>, mut ended: impl FnMut(Result),
    ) -> Result<(), AccessViolation> {
        let first = self.awaiting.front_mut().ok_or(AccessViolation)?;
        match (frame, first) {
            (AccessFrame::Completed(count), AwaitedAnswer::Completed) => {
                for _ in 0..count {
                    match self.awaiting.pop_front() {
                        Some(AwaitedAnswer::Completed) => ended(Ok(())),
                        _ => return Err(AccessViolation),
                    }
                }
                return Ok(());
            }
            (AccessFrame::Old(value), AwaitedAnswer::Old(old)) => {
                write_number(value, *old);
                ended(Ok(()));
            }
            (AccessFrame::GetData(data), AwaitedAnswer::Data(into, arrived)) => {
                if data.is_empty() || data.len() > into.len() - *arrived {
                    return Err(AccessViolation);
                }
                into.write(*arrived, data);
                *arrived += data.len();
                if *arrived < into.len() {
                    return Ok(());
                }
                ended(Ok(()));
            }
            (AccessFrame::Refused(class, why), _) => ended(Err(refusal(class, why))),
            _ => return Err(AccessViolation),
        }
        self.awaiting.pop_front();
        Ok(())
    }

    /// The peer has failed: all accesses end. Returns their number.
    pub(crate) fn clear(&mut self) -> usize {
        let count = self.in_progress();
        *self = Self::default();
        count
    }
}
