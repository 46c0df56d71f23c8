//! The device that hands bytes to another library, which drives a network that this one cannot: another MPI library,
//! or libfabric.
//!
//! ```text
//!   short packet   | header | data |                one message
//!   long packet    | header |   | data            |   two; the second lands where the sink wants it
//!   access         | header | data |                messages to the owner and back, or by libfabric
//! ```
//!
//! The library is an MPI of the standard ABI ([`platform::sys::vendor`]), on a communicator of its own, or an
//! endpoint of libfabric ([`platform::sys::fabric`]), used by a handful of nonblocking calls ([`CarrierCalls`]).
//! It keeps the order of messages between two ranks, and it brings its own flow control, so a packet waits at
//! most for the packets before it.
//!
//! Either polls call the library (*polling mode*), or a thread does and wakes the rank (*thread mode*). The
//! idea, the two modes and the two kinds of messages are those of GridMPI's vendor MPI transport
//! ("GridMPI on pSeries", 2005). Unlike there, the first message of a long packet has no data, because the
//! second one needs no copy.
//!
//! An MPI library says nothing about peers that have failed; its launcher ends the job then. An endpoint tells of
//! peers to which messages cannot be sent.

mod access_message;
pub(crate) mod library;
mod message;
mod one_sided;
mod port;
pub(crate) mod settings;
#[cfg(test)]
mod tests;
mod watcher;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::MutexGuard;

use crate::device::rma::Rma;
use crate::device::{Busy, Caps, Device, Header, PacketSink, PeerCaps, WakeSource};
use platform::base::{Peer, Result, Span};
use platform::sys::carrier_request::CarrierRequest;
use platform::sys::fabric::FabricPlace;
use port::Port;
use watcher::{WatchedPort, Watcher};

/// The longest data of [`Device::send_short`], in bytes: longer data is as fast by [`Device::send`].
const SHORT_MAX: usize = 64;
/// The longest data of [`Device::send`], in bytes.
const PACKET_MAX: usize = 64 << 10;
/// The longest packet, in bytes: a message of the library has at most 2³¹ - 1.
const LONG_MAX: usize = 1 << 30;

/// How long messages may take to leave after the last call of the application.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The calls of the library, one at a time.
pub(crate) trait CarrierCalls: Send + Sync + 'static {
    /// Starts to send.
    fn send(&self, data: Span, to: Peer, tag: i32) -> CarrierRequest;
    /// Whether [`CarrierCalls::send_header_with`] is possible.
    fn gathers(&self) -> bool {
        false
    }
    /// Starts to send a header and data from memory elsewhere, in one message.
    ///
    /// # Panics
    /// Unless the library gathers.
    fn send_header_with(&self, header: Span, data: Span, to: Peer) -> CarrierRequest {
        unreachable!("{header:?} and {data:?} to {to} are not gathered")
    }
    /// Starts to receive, from any rank if `from` is none.
    fn receive(&self, into: Span, from: Option<Peer>, tag: i32) -> CarrierRequest;
    /// Lets the library work, if [`CarrierCalls::test`] does not.
    fn progress(&self) {}
    /// The rank whose message has been received, no rank if none has, or any number for a send, if the operation has
    /// completed; the request is none then.
    fn test(&self, request: &mut CarrierRequest) -> Option<Peer>;
    /// Makes none of the requests whose operations have completed; `indices` is memory for the call.
    fn test_some(&self, requests: &mut [CarrierRequest], indices: &mut Vec<i32>);
    /// Ends a receive; [`CarrierCalls::test`] tells when.
    fn cancel(&self, request: &mut CarrierRequest);
    /// The process of `peer` has ended: sends to it that wait for room are done.
    fn peer_ended(&self, peer: Peer) {
        let _ = peer;
    }
    /// A peer that messages do not reach any more, and why; each once.
    fn take_failure(&self) -> Option<(Peer, String)> {
        None
    }
    /// The longest access to memory of peers, in bytes; none without such access, and then none of the calls below is
    /// made.
    fn access_max(&self) -> Option<usize> {
        None
    }
    /// Lets peers read memory that exists until [`CarrierCalls::deregister`], and write it if that is asked for; the
    /// place of its first byte.
    ///
    /// # Errors
    /// A sentence.
    fn register(&self, memory: Span, is_writable: bool) -> Result<FabricPlace, String> {
        let _ = is_writable;
        Err(format!("the library does not register {} bytes of memory", memory.len()))
    }
    /// Ends the registration with this key of the library.
    fn deregister(&self, key: u64) {
        let _ = key;
    }
    /// Starts to write to memory of `peer`: it is done when the bytes are there.
    fn write(&self, from: Span, peer: Peer, at: FabricPlace) -> CarrierRequest {
        panic!("the library does not write {} bytes to {at:?} of rank {peer}", from.len());
    }
    /// Starts to read memory of `peer`.
    fn read(&self, into: Span, peer: Peer, at: FabricPlace) -> CarrierRequest {
        panic!("the library does not read {} bytes at {at:?} of rank {peer}", into.len());
    }
    /// Whether a write or a read is done, and the sentence of its error; the request is none then.
    fn access_end(&self, request: &mut CarrierRequest) -> Option<Result<(), String>> {
        let _ = request;
        None
    }
}

/// The device of one rank.
pub(crate) struct Carrier<C: CarrierCalls> {
    watched: Arc<WatchedPort<C>>,
    /// The thread, in thread mode.
    watcher: Option<Watcher>,
    short_max: usize,
    /// Whether a packet is where the next poll of its peer finds it, once the library has completed it:
    /// all ranks run on one host.
    is_one_host: bool,
    survives_failures: bool,
    has_one_sided: bool,
    /// The longest access that is faster than packets, in bytes.
    fast_access_max: usize,
}

impl<C: CarrierCalls> Carrier<C> {
    /// The device of the rank `me` of `size`, in polling mode. Data of at most `short_max` bytes travels
    /// with its header; all ranks have the same limit.
    ///
    /// # Panics
    /// If the limit is none of [`settings`].
    pub(crate) fn new(calls: Arc<C>, me: Peer, size: u32, short_max: usize) -> Self {
        assert!((settings::SHORT_MIN..=settings::SHORT_LIMIT_MAX).contains(&short_max));
        let port = Port::new(calls, me, size, short_max);
        let watched = Arc::new(WatchedPort::new(port));
        Self {
            watched,
            watcher: None,
            short_max,
            is_one_host: false,
            survives_failures: false,
            has_one_sided: false,
            fast_access_max: 0,
        }
    }

    /// Records that all ranks run on one host.
    pub(crate) fn runs_on_one_host(&mut self) {
        self.is_one_host = true;
    }

    /// Sends short packets only, before the first one. A library cannot take back what it does with memory of the
    /// application, which is free once a failure of the peer has been told.
    pub(crate) fn survive_failures(&mut self) {
        self.survives_failures = true;
    }

    /// Has one-sided access from now on, unless ranks survive failures of others: a library may write to memory of the
    /// application after a failure has been told. Accesses of up to `fast_max` bytes are faster than packets.
    pub(crate) fn offer_one_sided(&mut self, fast_max: usize) {
        (self.has_one_sided, self.fast_access_max) = (true, fast_max);
    }

    /// Whether it has one-sided access.
    pub(crate) fn has_one_sided(&self) -> bool {
        self.has_one_sided && !self.survives_failures
    }

    /// Begins thread mode: the thread calls `wake` when polls will find something.
    ///
    /// # Errors
    /// `NoMem` if the system cannot start a thread.
    pub(crate) fn start_thread(
        &mut self, is_crowded: bool, wake: impl Fn() + Send + 'static,
    ) -> Result {
        self.watcher = Some(Watcher::start(&self.watched, is_crowded, wake)?);
        Ok(())
    }

    /// Whether a thread calls the library.
    pub(crate) fn has_thread(&self) -> bool {
        self.watcher.is_some()
    }

    /// Ends thread mode: no call of the library is in progress in another thread afterwards.
    pub(crate) fn stop_thread(&mut self) {
        if let Some(watcher) = self.watcher.take() {
            watcher.stop(&self.watched);
        }
    }

    /// The process of `peer` has ended, as others have learned: what has not arrived of it is dropped, and the next
    /// poll reports the failure.
    pub(crate) fn peer_ended(&mut self, peer: Peer, why: &str) {
        self.port().peer_ended(peer, why);
        if self.watcher.is_some() {
            self.watched.has_news.store(true, Ordering::SeqCst);
        }
    }

    /// Ends the use of the library by this device, after the last packet of all ranks. False if messages
    /// are left: peers have not received them.
    pub(crate) fn close(&mut self) -> bool {
        self.stop_thread();
        let mut port = self.watched.port.lock();
        let until = Instant::now() + CLOSE_TIMEOUT;
        while !port.withdraw() {
            if Instant::now() >= until {
                return false;
            }
            std::thread::yield_now();
        }
        true
    }

    #[inline]
    fn port(&self) -> MutexGuard<'_, Port<C>> {
        if self.watcher.is_none() {
            return self.watched.port.lock();
        }
        self.watched.is_wanted.store(true, Ordering::Relaxed);
        let port = self.watched.port.lock();
        self.watched.is_wanted.store(false, Ordering::Relaxed);
        port
    }

    /// After a message has been started.
    #[inline]
    fn rouse(&self) {
        if let Some(watcher) = &self.watcher {
            watcher.rouse(&self.watched);
        }
    }
}

impl<C: CarrierCalls> Device for Carrier<C> {
    fn caps(&self) -> Caps {
        let packet_max =
            if self.survives_failures { PACKET_MAX.min(self.short_max) } else { PACKET_MAX };
        Caps { short_max: SHORT_MAX, packet_max }
    }

    #[inline]
    fn peer_caps(&self, _peer: Peer) -> PeerCaps {
        let long_max = if self.survives_failures { self.caps().packet_max } else { LONG_MAX };
        PeerCaps {
            long_max,
            eager_max: Some(self.short_max.min(long_max)),
            lends: !self.survives_failures,
            delivers_alone: false,
            announces_room: false,
            announced_max: 0,
        }
    }

    #[inline]
    fn send_short(&mut self, peer: Peer, header: &Header, data: &[u8]) -> Result<(), Busy> {
        self.send(peer, header, data.len(), |packet| packet.copy_from_slice(data))
    }

    #[inline]
    fn send(
        &mut self, peer: Peer, header: &Header, len: usize, fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        self.port().send(peer, header, len, fill)?;
        self.rouse();
        Ok(())
    }

    fn send_lent(
        &mut self, peer: Peer, header: &Header, data: Span, token: u32,
    ) -> Result<(), Busy> {
        self.port().send_lent(peer, header, data, token)?;
        if self.watcher.is_some() {
            // The memory of a short packet is free already.
            self.watched.has_news.store(true, Ordering::SeqCst);
        }
        self.rouse();
        Ok(())
    }

    fn send_datagram(&mut self, peer: Peer, data: &[u8]) {
        self.port().send_datagram(peer, data);
        self.rouse();
    }

    fn is_drained(&self) -> bool {
        self.port().is_drained()
    }

    #[inline]
    fn poll(&mut self, sink: &mut impl PacketSink) -> usize {
        if self.watcher.is_none() {
            let mut port = self.watched.port.lock();
            port.look();
            return port.deliver(sink);
        }
        if !self.watched.has_news.swap(false, Ordering::SeqCst) {
            return 0;
        }
        // What completes after this look is for the thread to find, which wakes this rank: it may be about
        // to sleep.
        let mut port = self.port();
        let has_found = port.look();
        let count = port.deliver(sink);
        drop(port);
        if has_found || count > 0 {
            // Where something came, more may come: the next poll looks, too, and the thread ends its nap.
            self.watched.has_news.store(true, Ordering::SeqCst);
            self.rouse();
        }
        count
    }

    fn arm(&mut self) -> WakeSource {
        if self.watcher.is_none() {
            return WakeSource::Never;
        }
        let word = self.watched.wake_word.clone();
        let expected = word.now();
        WakeSource::Word { word: Arc::new(word), expected }
    }

    fn disarm(&mut self) {}

    fn wake_self(&mut self) {
        self.watched.wake_word.change();
    }

    fn rma(&mut self) -> Option<&mut dyn Rma> {
        if self.has_one_sided() { Some(self) } else { None }
    }

    fn quiescence(&self) -> Option<u64> {
        self.port().quiescence().filter(|_| self.is_one_host)
    }
}

impl<C: CarrierCalls> Drop for Carrier<C> {
    fn drop(&mut self) {
        self.stop_thread();
    }
}
