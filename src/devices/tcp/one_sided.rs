//! One-sided access over connections, by polls of the owner.
//!
//! ```text
//!   put, get, update ──> AccessOrigin ──frames──> AccessTarget: the memory of the owner
//!                             ▲──────────────answers───┘
//! ```
//!
//! Frames wait here while the queue of their link is half full, so packets find room beside them. An
//! access of a rank to itself ends at once.

use std::collections::BTreeMap;

use super::Tcp;
use super::access_frame::{AccessBody, AccessFrame};
use super::access_origin::{AccessOrigin, AccessViolation};
use super::access_target::AccessTarget;
use super::frame::FrameClass;
use super::frame_reader::FrameSink;
use super::link::Link;
use super::near::NearRings;
use crate::device::access_ledger::AccessLedger;
use crate::device::rma::{
    AccessProgress, MemoryKey, MemoryTable, NumberKind, PutSignal, RemoteAccess, RemoteAddress,
    Rma, RmaAccess, RmaCaps, RmaError, Update, UpdateExecutor, UpdateSet,
};
use crate::device::{Busy, Header, PacketSink};
use platform::base::{ErrorClass, Peer, Result, Span};
use platform::sys::tcp::SendPart;

/// The longest access that is faster than packets, in bytes. Packets write longer data to its place without a copy.
/// (Between two ranks of one host a put and its end took 10 instead of 14 µs with 4 KiB, 44 instead of 53 µs with
/// 128 KiB, and 219 instead of 160 µs with 1 MiB.)
const FAST_ACCESS_MAX: usize = 128 << 10;

/// The one-sided accesses of a rank and to it.
#[derive(Debug, Default)]
pub(crate) struct OneSidedTraffic {
    memory: MemoryTable,
    ledger: AccessLedger,
    /// Peers with accesses, ever.
    peers: BTreeMap<Peer, PeerAccesses>,
    /// Peers for which there are frames.
    waiting: Vec<Peer>,
    /// Peers that have sent frames without a meaning.
    violators: Vec<Peer>,
}

#[derive(Debug, Default)]
struct PeerAccesses {
    origin: AccessOrigin,
    target: AccessTarget,
}

/// A sink for packets, and the accesses beside them.
pub(crate) struct SinkBesideAccesses<'a, S> {
    pub(crate) sink: &'a mut S,
    pub(crate) accesses: &'a mut OneSidedTraffic,
    /// Shared memory beside the connection.
    pub(crate) near: Option<&'a mut NearRings>,
}

impl PeerAccesses {
    fn has_frames(&self) -> bool {
        self.origin.has_frames() || self.target.has_frames()
    }
}

impl OneSidedTraffic {
    /// Whether no access of this rank or to it is in progress.
    pub(crate) fn is_idle(&self) -> bool {
        let is_idle = |peer: &PeerAccesses| peer.origin.in_progress() == 0 && peer.target.is_idle();
        self.peers.values().all(is_idle)
    }

    /// Whether no frame waits for room.
    pub(crate) fn is_sent(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether [`Tcp::advance_accesses`] has something to do.
    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        !(self.waiting.is_empty() && self.violators.is_empty())
    }

    /// `peer` has failed: accesses to it end, and those of it are forgotten.
    pub(crate) fn fail(&mut self, peer: Peer, why: &str) {
        self.waiting.retain(|waiting| *waiting != peer);
        let Some(PeerAccesses { origin, target }) = self.peers.get_mut(&peer) else { return };
        *target = AccessTarget::default();
        for _ in 0..origin.clear() {
            let why = format!("an access to memory of rank {peer} has not ended: {why}");
            self.ledger.complete_oldest(peer, Err(ErrorClass::Other.error(why)));
        }
    }

    fn accept(
        &mut self, peer: Peer, access: RmaAccess, signal: Option<PutSignal>,
    ) -> Result<(), Busy> {
        self.peers.entry(peer).or_default().origin.accept(access, signal)?;
        self.ledger.issue(peer);
        Ok(())
    }

    /// Handles a frame from `peer`.
    fn take(&mut self, peer: Peer, header: &Header, data: &[u8]) -> Result<(), AccessViolation> {
        let frame = AccessFrame::parse(header, data).ok_or(AccessViolation)?;
        let traffic = self.peers.entry(peer).or_default();
        match frame {
            AccessFrame::Completed(_)
            | AccessFrame::Old(_)
            | AccessFrame::GetData(_)
            | AccessFrame::Refused(..) => {
                let ledger = &mut self.ledger;
                traffic.origin.take(frame, |end| ledger.complete_oldest(peer, end))
            }
            AccessFrame::Put { .. }
            | AccessFrame::BeginPut { .. }
            | AccessFrame::PutData(_)
            | AccessFrame::Get { .. }
            | AccessFrame::Update { .. } => {
                traffic.target.take(frame, &self.memory)?;
                if traffic.has_frames() && !self.waiting.contains(&peer) {
                    self.waiting.push(peer);
                }
                Ok(())
            }
        }
    }

    /// Moves frames to the queue of a link while that has much room; whether any are left.
    fn fill(&mut self, link: &mut Link) -> bool {
        let Some(PeerAccesses { origin, target }) = self.peers.get_mut(&link.peer) else {
            return false;
        };
        while link.queue.has_much_room() {
            let mut is_last = true;
            target.next_frame(&self.memory, |frame| {
                push(link, frame);
                is_last = false;
            });
            if let Some(frame) = origin.next_frame() {
                push(link, frame);
                is_last = false;
            }
            if is_last {
                return false;
            }
        }
        origin.has_frames() || target.has_frames()
    }
}

/// Adds a frame to the queue of a link.
fn push(link: &mut Link, frame: AccessFrame<SendPart<'_>>) {
    let (header, body) = frame.emit();
    let received = link.reader.received();
    let len = match body {
        AccessBody::Numbers(_, len) => len,
        AccessBody::Data(SendPart::Bytes(bytes)) => bytes.len(),
        AccessBody::Data(SendPart::Memory(memory)) => memory.len(),
    };
    link.queue.push(FrameClass::Access, &header, received, len, |data| match body {
        AccessBody::Numbers(numbers, len) => data.copy_from_slice(&numbers[..len]),
        AccessBody::Data(SendPart::Bytes(bytes)) => data.copy_from_slice(bytes),
        AccessBody::Data(SendPart::Memory(memory)) => memory.read(0, data),
    });
    link.reader.note_acknowledged();
    link.said_leaving = false;
}

impl Tcp {
    /// Registers memory under a key of another device, which is unique there and here.
    pub(crate) fn register_under(&mut self, key: MemoryKey, memory: Span, access: RemoteAccess) {
        self.one_sided.memory.insert(key, memory, access);
    }

    /// Starts an access.
    fn access(
        &mut self, peer: Peer, access: RmaAccess, signal: Option<PutSignal>,
    ) -> Result<(), RmaError> {
        if peer == self.me {
            self.one_sided.memory.perform(access, signal)?;
            self.one_sided.ledger.pass(peer, Ok(()));
            return Ok(());
        }
        self.check_peer(peer)?;
        let Some(link) = self.linked(peer) else {
            return Err(ErrorClass::Other.error(format!("rank {peer} has failed")).into());
        };
        if !link.has_been_open() {
            return Err(RmaError::Busy);
        }
        self.one_sided.accept(peer, access, signal)?;
        self.send_frames(peer);
        Ok(())
    }

    fn check_peer(&self, peer: Peer) -> Result {
        match self.links.get(peer as usize) {
            Some(_) => Ok(()),
            None => Err(ErrorClass::Rank.error(format!("there is no rank {peer}"))),
        }
    }

    /// Sends the frames that wait for `peer`, as far as there is room.
    fn send_frames(&mut self, peer: Peer) {
        let Some(link) = &mut self.links[peer as usize] else { return };
        if link.has_failed() {
            return;
        }
        if self.one_sided.fill(link) && !self.one_sided.waiting.contains(&peer) {
            self.one_sided.waiting.push(peer);
        }
        link.note_stream();
        self.write(peer, false);
    }

    /// Sends the frames that wait for all peers, and ends the links to violators.
    #[cold]
    pub(crate) fn advance_accesses(&mut self) {
        for peer in std::mem::take(&mut self.one_sided.waiting) {
            self.send_frames(peer);
        }
        for peer in std::mem::take(&mut self.one_sided.violators) {
            self.expel(peer, "sent an access without a meaning");
        }
    }
}

impl<S: PacketSink> PacketSink for SinkBesideAccesses<'_, S> {
    #[inline]
    fn packet(&mut self, from: Peer, header: &Header, data: &[u8]) {
        self.sink.packet(from, header, data);
    }

    #[inline]
    fn place(&mut self, from: Peer, header: &Header, len: usize) -> Option<Span> {
        self.sink.place(from, header, len)
    }

    #[inline]
    fn placed(&mut self, from: Peer, header: &Header, len: usize) {
        self.sink.placed(from, header, len);
    }

    #[inline]
    fn sent(&mut self, to: Peer, token: u32) {
        self.sink.sent(to, token);
    }

    #[inline]
    fn room(&mut self, peer: Peer) {
        self.sink.room(peer);
    }

    #[inline]
    fn datagram(&mut self, from: Peer, data: &[u8]) {
        self.sink.datagram(from, data);
    }

    fn failed(&mut self, peer: Peer, why: &str) {
        self.sink.failed(peer, why);
    }
}

impl<S: PacketSink> FrameSink for SinkBesideAccesses<'_, S> {
    #[inline]
    fn next_is(&mut self, from: Peer, number: u64) {
        if let Some(near) = &mut self.near {
            near.precede(from, number, self.sink);
        }
    }

    fn access(&mut self, from: Peer, header: &Header, data: &[u8]) {
        if self.accesses.take(from, header, data).is_err() {
            self.accesses.violators.push(from);
        }
    }
}

impl Rma for Tcp {
    fn register(&mut self, memory: Span, access: RemoteAccess) -> Result<MemoryKey> {
        Ok(self.one_sided.memory.register(memory, access))
    }

    fn deregister(&mut self, key: MemoryKey) {
        self.one_sided.memory.remove(key);
    }

    fn open(&mut self, peer: Peer, key: MemoryKey) -> Result<RmaCaps> {
        self.check_peer(peer)?;
        if peer == self.me {
            self.one_sided.memory.find(key, 0, 0, RemoteAccess::Read)?;
        }
        let (updates, executor) = (UpdateSet::ALL, UpdateExecutor::Owner);
        Ok(RmaCaps { updates, executor, ordered: true, mapped: None })
    }

    fn fast_max(&mut self, _peer: Peer) -> usize {
        FAST_ACCESS_MAX
    }

    fn put(&mut self, from: Span, to: RemoteAddress) -> Result<(), RmaError> {
        self.access(to.peer, RmaAccess::Put { from, to }, None)
    }

    fn put_signalled(
        &mut self, from: Span, to: RemoteAddress, signal: PutSignal,
    ) -> Result<(), RmaError> {
        let (kind, add) = (NumberKind::Unsigned8, Update::Add(signal.addend));
        UpdateSet::ALL.check(signal.offset, kind, add, Span::EMPTY)?;
        self.access(to.peer, RmaAccess::Put { from, to }, Some(signal))
    }

    fn get(&mut self, from: RemoteAddress, into: Span) -> Result<(), RmaError> {
        self.access(from.peer, RmaAccess::Get { from, into }, None)
    }

    fn update(
        &mut self, at: RemoteAddress, kind: NumberKind, update: Update, old: Span,
    ) -> Result<(), RmaError> {
        UpdateSet::ALL.check(at.offset, kind, update, old)?;
        self.access(at.peer, RmaAccess::Update { at, kind, update, old }, None)
    }

    fn progress(&mut self, peer: Peer) -> AccessProgress {
        self.one_sided.ledger.progress(peer)
    }

    fn flush(&mut self, peer: Peer) -> Option<Result> {
        self.one_sided.ledger.flush(peer)
    }
}
