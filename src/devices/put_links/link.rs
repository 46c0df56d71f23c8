//! What this rank sends to one peer.
//!
//! ```text
//!             connection                  error, end
//!   Opening ─────────────> Open ──────────────────────> Lost
//!      puts wait             puts leave in order           puts end with an error
//! ```
//!
//! A put has left when its last byte is in the socket: its source may be overwritten then.

use std::collections::VecDeque;
use std::sync::Arc;

use super::frame::PutFrame;
use crate::devices::interface::ActionId;
use platform::base::{ErrorClass, MpiError, Peer, Result, Span};
use platform::sys::tcp::{Moved, SendPart, StreamConnection};

/// Puts that one call of the system sends, at most.
const GATHER_MAX: usize = 16;

/// Bytes that one turn sends, about: the thread has other peers.
const WRITE_MAX: usize = 1 << 20;

/// The end of an action, for the interface.
pub(crate) type ActionEnd = (ActionId, Result);

/// Takes the ends of actions.
pub(super) type EndSink<'a> = dyn FnMut(ActionEnd) + 'a;

pub(super) enum PutLinkState {
    Opening,
    Open(Arc<StreamConnection>),
    Lost(Box<MpiError>),
}

pub(super) struct OutgoingPuts {
    pub(super) state: PutLinkState,
    queue: VecDeque<OutgoingPut>,
    /// Bytes to write before the puts.
    prelude: Vec<u8>,
    /// Whether the connection is watched for writing.
    pub(super) is_blocked: bool,
}

struct OutgoingPut {
    /// `None` for a frame of the link.
    id: Option<ActionId>,
    header: [u8; PutFrame::LEN],
    data: Span,
    /// Bytes of both that have left.
    written: usize,
}

impl OutgoingPut {
    fn rest(&self) -> [SendPart<'_>; 2] {
        let of_header = self.written.min(PutFrame::LEN);
        let of_data = self.written - of_header;
        let data = self.data.part(of_data, self.data.len() - of_data);
        [SendPart::Bytes(&self.header[of_header..]), SendPart::Memory(data)]
    }

    fn left(&self) -> usize {
        PutFrame::LEN + self.data.len() - self.written
    }
}

impl Default for OutgoingPuts {
    fn default() -> Self {
        Self {
            state: PutLinkState::Opening,
            queue: VecDeque::new(),
            prelude: Vec::new(),
            is_blocked: false,
        }
    }
}

impl OutgoingPuts {
    /// Adds a frame with its data; after the loss of the connection its end.
    pub(super) fn push(
        &mut self, id: Option<ActionId>, frame: PutFrame, data: Span,
    ) -> Option<ActionEnd> {
        if let PutLinkState::Lost(error) = &self.state {
            return id.map(|id| (id, Err(error.clone())));
        }
        self.queue.push_back(OutgoingPut { id, header: frame.emit(), data, written: 0 });
        None
    }

    pub(super) fn open(&mut self, connection: Arc<StreamConnection>, prelude: Vec<u8>) {
        (self.state, self.prelude) = (PutLinkState::Open(connection), prelude);
    }

    /// The connection is lost: all puts end. False if it was lost before.
    pub(super) fn lose(&mut self, error: &MpiError, ended: &mut EndSink<'_>) -> bool {
        if matches!(self.state, PutLinkState::Lost(_)) {
            return false;
        }
        self.state = PutLinkState::Lost(Box::new(error.clone()));
        let puts = self.queue.drain(..).filter_map(|put| put.id);
        puts.for_each(|id| ended((id, Err(Box::new(error.clone())))));
        true
    }

    /// Whether nothing waits to be written.
    pub(super) fn is_written(&self) -> bool {
        self.prelude.is_empty() && self.queue.is_empty()
    }

    /// Writes what the socket takes, a bounded part of it; reports the puts that have left. False if the
    /// socket has no more room.
    ///
    /// # Errors
    /// The reason for the end of the connection, as part of a sentence.
    pub(super) fn write(&mut self, ended: &mut EndSink<'_>) -> Result<bool, String> {
        let PutLinkState::Open(connection) = &self.state else { return Ok(true) };
        let mut taken = 0;
        while !self.is_written() && taken < WRITE_MAX {
            let mut parts = [SendPart::Bytes(&[]); 1 + 2 * GATHER_MAX];
            parts[0] = SendPart::Bytes(&self.prelude);
            let mut count = 1;
            for put in self.queue.iter().take(GATHER_MAX) {
                parts[count..count + 2].copy_from_slice(&put.rest());
                count += 2;
            }
            let moved = connection.send(&parts[..count]).map_err(|error| error.to_string())?;
            let Moved::Bytes(bytes) = moved else { return Ok(false) };
            taken += bytes;
            let of_prelude = bytes.min(self.prelude.len());
            self.prelude.drain(..of_prelude);
            let mut bytes = bytes - of_prelude;
            while let Some(put) = self.queue.front_mut() {
                let step = put.left().min(bytes);
                put.written += step;
                bytes -= step;
                if put.left() > 0 {
                    break;
                }
                put.id.into_iter().for_each(|id| ended((id, Ok(()))));
                self.queue.pop_front();
            }
        }
        Ok(self.is_written())
    }
}

/// The error of operations with a peer whose process has failed, for the reason `why`.
pub(crate) fn process_failed(peer: Peer, process: &str, why: &str) -> Box<MpiError> {
    let why = format!("rank {peer} of the world has failed: {process} {why}");
    ErrorClass::ProcFailed.error(why)
}
