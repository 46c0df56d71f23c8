//! Channels: messages in one direction between two ranks, in order, without tags.
//!
//! ```text
//!   sender                                              receiver
//!   create ── the k-th of (sender, receiver) on both sides ── create      no message: they know the tags
//!   nbsend ───────── data, eager or by rendezvous ─────────> nbrecv
//!   nbfree ───────── end ──────────────────────────────────>
//!          <──────── end ─────────────────────────────────── nbfree
//! ```
//!
//! A channel is a pair of tags of messages of MPI, which have what a channel needs: order, eager and
//! rendezvous buffers, messages before the other side is there. Channels and requests are known to C by
//! numbers that are never used again, so a wrong one is an error.
#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::ptr;

use crate::messages::{CommHandle, PostedMessage};

/// Tags of one channel.
const TAGS: c_int = 3;

/// The channels and requests of this process.
#[derive(Debug, Default)]
pub(crate) struct Channels {
    /// The channels made so far, by sender and receiver.
    made: BTreeMap<(u32, u32), c_int>,
    open: BTreeMap<u64, OpenChannel>,
    requests: BTreeMap<u64, ChannelRequest>,
    /// The last number of a channel or request.
    last: u64,
}

#[derive(Clone, Copy, Debug)]
struct OpenChannel {
    peer: u32,
    is_sender: bool,
    /// The tag of data; those of the ends follow, the sender's first.
    tag: c_int,
}

/// A request, until it has been waited for.
#[derive(Debug)]
pub(crate) enum ChannelRequest {
    Send(PostedMessage),
    Receive(PostedMessage),
    /// The end of a channel: that of this side, and that of the other.
    Free([PostedMessage; 2]),
}

impl Channels {
    fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn request(&mut self, request: ChannelRequest) -> u64 {
        let number = self.number();
        self.requests.insert(number, request);
        number
    }

    /// A channel between two different ranks, of which `me` is one; its number.
    pub(crate) fn create(&mut self, me: u32, ranks: u32, ends: [u32; 2]) -> Option<u64> {
        let [sender, receiver] = ends;
        let is_sender = sender == me;
        let is_valid = sender != receiver && sender < ranks && receiver < ranks;
        if !is_valid || !(is_sender || receiver == me) {
            return None;
        }
        let made = self.made.entry((sender, receiver)).or_default();
        let tag = made.checked_mul(TAGS).filter(|tag| *tag < TAGS_MAX)?;
        *made += 1;
        let peer = if is_sender { receiver } else { sender };
        let number = self.number();
        self.open.insert(number, OpenChannel { peer, is_sender, tag });
        Some(number)
    }

    /// Starts to send; the number of the request.
    ///
    /// # Safety
    /// `from` has `len` bytes that do not change until the request has been waited for.
    pub(crate) unsafe fn send(
        &mut self, comm: CommHandle, channel: u64, from: *const c_void, len: usize,
    ) -> Option<u64> {
        let OpenChannel { peer, tag, .. } =
            *self.open.get(&channel).filter(|open| open.is_sender)?;
        // SAFETY: the caller's promise.
        let message = unsafe { comm.send(from, len, peer, tag) };
        Some(self.request(ChannelRequest::Send(message)))
    }

    /// Starts to receive at most `len` bytes; the number of the request.
    ///
    /// # Safety
    /// `into` has `len` bytes that nothing uses until the request has been waited for.
    pub(crate) unsafe fn receive(
        &mut self, comm: CommHandle, channel: u64, into: *mut c_void, len: usize,
    ) -> Option<u64> {
        let OpenChannel { peer, tag, .. } =
            *self.open.get(&channel).filter(|open| !open.is_sender)?;
        // SAFETY: the caller's promise.
        let message = unsafe { comm.receive(into, len, peer, tag) };
        Some(self.request(ChannelRequest::Receive(message)))
    }

    /// Starts to free a channel, which no request uses afterwards; the number of the request.
    pub(crate) fn free(&mut self, comm: CommHandle, channel: u64) -> Option<u64> {
        let OpenChannel { peer, is_sender, tag } = self.open.remove(&channel)?;
        let tags = if is_sender { [tag + 1, tag + 2] } else { [tag + 2, tag + 1] };
        let (nothing, len) = (ptr::null_mut(), 0);
        // SAFETY: messages of no bytes.
        let ends = unsafe {
            [comm.send(nothing, len, peer, tags[0]), comm.receive(nothing, len, peer, tags[1])]
        };
        Some(self.request(ChannelRequest::Free(ends)))
    }

    /// A request that is waited for, without the lock; `None` if there is none.
    pub(crate) fn take(&mut self, request: u64) -> Option<ChannelRequest> {
        self.requests.remove(&request)
    }

    /// Ends all channels, on all ranks together: what has not arrived by now will not.
    pub(crate) fn end(mut self, comm: CommHandle) {
        comm.barrier();
        for request in std::mem::take(&mut self.requests).into_values() {
            match request {
                ChannelRequest::Send(message) | ChannelRequest::Receive(message) => {
                    message.cancel()
                }
                ChannelRequest::Free(ends) => ends.into_iter().for_each(PostedMessage::cancel),
            }
        }
    }
}

/// The tags from here on are those of segment buffers.
pub(crate) const TAGS_MAX: c_int = 1 << 29;

impl ChannelRequest {
    /// Waits for its end; the bytes that have arrived.
    pub(crate) fn wait(self) -> usize {
        match self {
            Self::Receive(mut message) => message.wait(),
            Self::Send(mut message) => {
                message.wait();
                0
            }
            Self::Free(mut ends) => {
                ends.iter_mut().for_each(|end| {
                    end.wait();
                });
                0
            }
        }
    }
}
