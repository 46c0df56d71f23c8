//! One-sided access, by messages to the owner and by the provider of libfabric.
//!
//! ```text
//!   short access   ── message ──> the owner looks its key up, and makes it ── answer ──> ended
//!   long access    ── question: which memory is this? ──> answer ──┐ once for a key
//!                  ── write, read ──> the provider of the owner <──┘ ── its end ──> ended
//! ```
//!
//! Short accesses are messages: on the same way a write of the provider that tells when it has arrived is no faster,
//! a number is never torn, and the owner sees a key that has ended. Long ones are checked here against what the owner
//! has told of its memory, as providers over connections end the connection of an access that goes beyond. The owner
//! tells the peers that have asked when it ends a registration. Where the provider has no access to memory of peers,
//! long accesses are messages, too.
//!
//! The owner makes accesses when it polls, and so do most providers: [`UpdateExecutor::Owner`]. Updates are messages.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::access_message::{AccessMessage, KnownMemory, PUT_BYTES, SentBytes};
use super::message::MessageKind;
use super::port::Port;
use super::{Carrier, CarrierCalls};
use crate::device::Header;
use crate::device::access_ledger::AccessLedger;
use crate::device::rma::{
    AccessProgress, MemoryKey, MemoryTable, NumberKind, PutSignal, RemoteAccess, RemoteAddress,
    Rma, RmaAccess, RmaCaps, RmaError, Update, UpdateExecutor, UpdateSet, check_range,
    write_number,
};
use platform::base::{ErrorClass, MpiError, Peer, Result, Span};
use platform::sys::carrier_request::CarrierRequest;
use platform::sys::fabric::FabricPlace;

/// The longest access that is a message where the provider has access to memory, in bytes.
pub(super) const MESSAGE_MAX: usize = 4096;
/// Accesses to one peer that may be in progress.
const ACCESSES_MAX: u64 = 256;

/// The one-sided accesses of a rank and to it.
#[derive(Default)]
pub(super) struct OneSided {
    memory: MemoryTable,
    /// What the provider has registered of it; none if it does not register that.
    places: BTreeMap<MemoryKey, Option<FabricPlace>>,
    /// Peers that have asked for memory of this rank.
    askers: BTreeMap<MemoryKey, BTreeSet<Peer>>,
    /// Memory of peers.
    known: BTreeMap<(Peer, MemoryKey), Knowledge>,
    ledger: AccessLedger,
    /// Accesses of this rank in progress, by a number.
    accesses: BTreeMap<u64, OriginAccess>,
    last_access: u64,
    /// Their parts by the provider.
    requests: Vec<(CarrierRequest, u64)>,
    /// Messages that wait for room, by the peer.
    waiting: BTreeMap<Peer, VecDeque<WaitingMessage>>,
}

/// What is known of memory of a peer.
#[derive(Clone, Copy, Debug)]
enum Knowledge {
    Asked,
    Known(KnownMemory),
    /// There is none; for the access that has asked.
    Unknown,
}

/// An access of this rank.
struct OriginAccess {
    peer: Peer,
    /// Among those to the peer.
    number: u64,
    /// Parts, or bytes of a get by messages, that have not ended.
    left: usize,
    error: Option<Box<MpiError>>,
    /// Where data goes, or an old number.
    into: Span,
    /// What follows it.
    signal: Option<PutSignal>,
}

/// A message, or several, that are made when there is room.
enum WaitingMessage {
    Whole(AccessMessage<SentBytes>),
    /// From here on.
    Put {
        access: u64,
        key: MemoryKey,
        offset: u64,
        from: Span,
    },
    /// What is left of the answer to a get.
    Data {
        access: u64,
        key: MemoryKey,
        offset: u64,
        at: u64,
        len: u64,
    },
    /// The answer to a question.
    Describe(MemoryKey),
}

impl KnownMemory {
    fn check(&self, offset: u64, len: usize, access: RemoteAccess) -> Result<usize> {
        access.check(self.access)?;
        check_range(self.len, offset, len)
    }
}

impl OneSided {
    /// Whether no access of this rank is in progress, and no message waits.
    pub(super) fn is_idle(&self) -> bool {
        self.ledger.in_progress() == 0 && self.waiting.is_empty()
    }

    /// Whether [`Port::advance_accesses`] has something to do.
    #[inline]
    pub(super) fn has_work(&self) -> bool {
        !(self.requests.is_empty() && self.waiting.is_empty())
    }

    /// Whether nothing waits that moves only in calls of this rank.
    pub(super) fn is_drained(&self) -> bool {
        let is_live = |(_, access): &(CarrierRequest, u64)| self.accesses.contains_key(access);
        self.waiting.is_empty() && !self.requests.iter().any(is_live)
    }

    /// `peer` has failed: accesses to it end, and those of it are forgotten.
    pub(super) fn fail(&mut self, peer: Peer, why: &str) {
        self.waiting.remove(&peer);
        self.known.retain(|(owner, _), _| *owner != peer);
        let Self { accesses, ledger, .. } = self;
        accesses.retain(|_, access| {
            if access.peer == peer {
                let why = format!("an access to memory of rank {peer} has not ended: {why}");
                ledger.complete(peer, access.number, Err(ErrorClass::Other.error(why)));
            }
            access.peer != peer
        });
    }

    fn wait(&mut self, peer: Peer, message: WaitingMessage) {
        self.waiting.entry(peer).or_default().push_back(message);
    }

    fn wait_whole(&mut self, peer: Peer, message: AccessMessage<SentBytes>) {
        self.wait(peer, WaitingMessage::Whole(message));
    }

    /// What the owner says of its memory; asks it if it has not said anything.
    fn demand(&mut self, peer: Peer, key: MemoryKey) -> Result<KnownMemory, RmaError> {
        match self.known.get(&(peer, key)) {
            Some(Knowledge::Known(known)) => return Ok(*known),
            Some(Knowledge::Asked) => {}
            Some(Knowledge::Unknown) => {
                self.known.remove(&(peer, key));
                return Err(key.refusal().into());
            }
            None => {
                self.known.insert((peer, key), Knowledge::Asked);
                self.wait_whole(peer, AccessMessage::Ask(key));
            }
        }
        Err(RmaError::Busy)
    }

    /// Begins an access with so many parts; its number.
    fn begin(&mut self, peer: Peer, left: usize, into: Span, signal: Option<PutSignal>) -> u64 {
        self.last_access += 1;
        let number = self.ledger.issue(peer);
        let access = OriginAccess { peer, number, left, error: None, into, signal };
        self.accesses.insert(self.last_access, access);
        self.last_access
    }

    /// So much of an access to memory of `peer` has ended.
    fn end_part(&mut self, peer: Peer, id: u64, part: usize, end: Result) {
        // Not one that has ended by a failure.
        let Some(access) = self.accesses.get_mut(&id).filter(|access| access.peer == peer) else {
            return;
        };
        access.left = access.left.saturating_sub(part);
        if let Err(error) = end {
            access.error.get_or_insert(error);
        }
        if access.left > 0 {
            return;
        }
        if let (Some(signal), None) = (access.signal.take(), &access.error) {
            access.left = 1;
            let PutSignal { key, offset, addend } = signal;
            let (kind, update) = (NumberKind::Unsigned8, Update::Add(addend));
            let message = AccessMessage::Update { access: id, key, offset, kind, update };
            return self.wait_whole(peer, message);
        }
        let Some(OriginAccess { number, error, .. }) = self.accesses.remove(&id) else { return };
        self.ledger.complete(peer, number, error.map_or(Ok(()), Err));
    }

    /// Makes an access of `from`, or takes an answer.
    fn take(&mut self, from: Peer, message: AccessMessage<&[u8]>) {
        match message {
            AccessMessage::Put { access, key, offset, data } => {
                let found = self.memory.find(key, offset, data.len(), RemoteAccess::ReadWrite);
                let end = found.map(|memory| memory.write_untorn(data));
                self.wait_whole(from, AccessMessage::ended(access, end));
            }
            AccessMessage::Get { access, key, offset, len } => {
                let read = |len| self.memory.find(key, offset, len, RemoteAccess::Read);
                match read(usize::try_from(len).unwrap_or(usize::MAX)) {
                    Ok(_) if len > 0 => {
                        let at = 0;
                        self.wait(from, WaitingMessage::Data { access, key, offset, at, len });
                    }
                    other => {
                        self.wait_whole(from, AccessMessage::ended(access, other.map(|_| ())));
                    }
                }
            }
            AccessMessage::Update { access, key, offset, kind, update } => {
                let answer = match self.memory.find_number(key, offset, kind) {
                    Ok(at) => AccessMessage::Old { access, old: update.perform(at, kind) },
                    Err(error) => AccessMessage::ended(access, Err(error)),
                };
                self.wait_whole(from, answer);
            }
            AccessMessage::Ask(key) => self.wait(from, WaitingMessage::Describe(key)),
            AccessMessage::Ended { .. }
            | AccessMessage::Data { .. }
            | AccessMessage::Old { .. } => {
                self.take_answer(from, message);
            }
            AccessMessage::Known(key, known) => {
                self.known.insert((from, key), Knowledge::Known(known));
            }
            AccessMessage::Unknown(key) => {
                self.known.insert((from, key), Knowledge::Unknown);
            }
            AccessMessage::Closed(key) => {
                self.known.remove(&(from, key));
            }
        }
    }

    fn take_answer(&mut self, from: Peer, message: AccessMessage<&[u8]>) {
        match message {
            AccessMessage::Ended { access, end } => {
                let is_get = self.accesses.get(&access).is_some_and(|it| !it.into.is_empty());
                let part = if is_get { usize::MAX } else { 1 };
                let end = end.map_err(|(class, why)| class.error(String::from_utf8_lossy(why)));
                self.end_part(from, access, part, end);
            }
            AccessMessage::Data { access, at, data } => {
                let into = self.accesses.get(&access).filter(|it| it.peer == from);
                let into = into.map_or(Span::EMPTY, |it| it.into);
                let start = check_range(into.len(), at, data.len());
                let end = start.map(|start| into.part(start, data.len()).write_untorn(data));
                self.end_part(from, access, data.len(), end);
            }
            AccessMessage::Old { access, old } => {
                if let Some(it) = self.accesses.get(&access).filter(|it| it.peer == from) {
                    write_number(old, it.into);
                }
                self.end_part(from, access, 1, Ok(()));
            }
            _ => {}
        }
    }

    /// The next message of the first that wait for `peer`, with at most `room` bytes of data.
    fn next_message(
        &mut self, peer: Peer, room: usize,
        describe: impl FnOnce(&mut Self, MemoryKey) -> KnownMemory,
    ) -> Option<AccessMessage<SentBytes>> {
        let queue = self.waiting.get_mut(&peer)?;
        let (message, rest) = match queue.pop_front()? {
            WaitingMessage::Whole(message) => (message, None),
            WaitingMessage::Put { access, key, offset, from } => {
                let part = from.len().min(room - PUT_BYTES);
                let data = SentBytes::Memory(from.part(0, part));
                let (offset_after, from) =
                    (offset.saturating_add(part as u64), from.part(part, from.len() - part));
                let rest = WaitingMessage::Put { access, key, offset: offset_after, from };
                let message = AccessMessage::Put { access, key, offset, data };
                (message, (!from.is_empty()).then_some(rest))
            }
            WaitingMessage::Data { access, key, offset, at, len } => {
                let part = len.min(room as u64);
                // It may have ended since.
                match self.memory.find(key, offset, part as usize, RemoteAccess::Read) {
                    Err(error) => (AccessMessage::ended(access, Err(error)), None),
                    Ok(memory) => {
                        let message =
                            AccessMessage::Data { access, at, data: SentBytes::Memory(memory) };
                        let (offset, at, len) = (offset + part, at + part, len - part);
                        let rest = WaitingMessage::Data { access, key, offset, at, len };
                        (message, (len > 0).then_some(rest))
                    }
                }
            }
            WaitingMessage::Describe(key) if self.memory.whole(key).is_none() => {
                (AccessMessage::Unknown(key), None)
            }
            WaitingMessage::Describe(key) => {
                self.askers.entry(key).or_default().insert(peer);
                (AccessMessage::Known(key, describe(self, key)), None)
            }
        };
        let queue = self.waiting.entry(peer).or_default();
        rest.into_iter().for_each(|rest| queue.push_front(rest));
        if queue.is_empty() {
            self.waiting.remove(&peer);
        }
        Some(message)
    }
}

/// What the port does for accesses.
impl<C: CarrierCalls> Port<C> {
    /// Handles a message of one-sided access.
    #[cold]
    pub(super) fn take_access(&mut self, from: Peer, header: &Header, data: &[u8]) {
        match AccessMessage::parse(header, data) {
            Some(message) => self.one_sided.take(from, message),
            None => tracing::warn!(from, "an access without a meaning was dropped"),
        }
        self.advance_accesses();
    }

    /// Takes the ends of accesses by the provider, and sends messages that wait while there is room; whether an
    /// access has ended.
    pub(super) fn advance_accesses(&mut self) -> bool {
        let mut index = 0;
        let before = self.one_sided.requests.len();
        while let Some((request, access)) = self.one_sided.requests.get_mut(index) {
            let Some(end) = self.calls.access_end(request) else {
                index += 1;
                continue;
            };
            let access = *access;
            self.one_sided.requests.swap_remove(index);
            let Some(peer) = self.one_sided.accesses.get(&access).map(|it| it.peer) else {
                continue;
            };
            let end = end.map_err(|why| {
                let why = format!("an access to memory of rank {peer} has failed: {why}");
                ErrorClass::Other.error(why)
            });
            self.one_sided.end_part(peer, access, 1, end);
        }
        let peers: Vec<_> = self.one_sided.waiting.keys().copied().collect();
        peers.into_iter().for_each(|peer| self.send_accesses(peer));
        self.one_sided.requests.len() < before
    }

    /// Sends messages that wait for `peer`, as far as packets find room beside them.
    fn send_accesses(&mut self, peer: Peer) {
        while self.has_much_room(peer) {
            let (calls, room) = (&self.calls, self.short_max);
            let describe = |it: &mut OneSided, key| describe(it, key, &**calls);
            let Some(message) = self.one_sided.next_message(peer, room, describe) else { return };
            self.send_access(peer, message);
        }
    }

    fn send_access(&mut self, peer: Peer, message: AccessMessage<SentBytes>) {
        let message = message.emit();
        let len = message.len(self.short_max);
        let fill = |data: &mut [u8]| message.fill(data);
        self.send_message(peer, &message.header, MessageKind::Access, len, fill);
    }

    /// Starts an access.
    fn start_access(
        &mut self, peer: Peer, access: RmaAccess, signal: Option<PutSignal>,
    ) -> Result<(), RmaError> {
        if peer == self.me {
            self.one_sided.memory.perform(access, signal)?;
            self.one_sided.ledger.pass(peer, Ok(()));
            return Ok(());
        }
        self.check_peer(peer)?;
        if self.has_failed(peer) {
            return Err(ErrorClass::Other.error(format!("rank {peer} has failed")).into());
        }
        let AccessProgress { accepted, completed, .. } = self.one_sided.ledger.progress(peer);
        if accepted - completed >= ACCESSES_MAX {
            return Err(RmaError::Busy);
        }
        let end = self.accept(peer, access, signal);
        self.send_accesses(peer);
        end
    }

    fn accept(
        &mut self, peer: Peer, access: RmaAccess, signal: Option<PutSignal>,
    ) -> Result<(), RmaError> {
        let access_max = self.calls.access_max();
        let (at, memory, rights) = match access {
            RmaAccess::Put { from, to } => (to, from, RemoteAccess::ReadWrite),
            RmaAccess::Get { from, into } => (from, into, RemoteAccess::Read),
            RmaAccess::Update { at, kind, update, old } => {
                let RemoteAddress { key, offset, .. } = at;
                let id = self.one_sided.begin(peer, 1, old, None);
                let message = AccessMessage::Update { access: id, key, offset, kind, update };
                self.one_sided.wait_whole(peer, message);
                return Ok(());
            }
        };
        // In one message the owner checks it whole.
        let is_long = memory.len() > MESSAGE_MAX.min(self.short_max - PUT_BYTES);
        let mut place = None;
        if is_long || signal.is_some() {
            let known = self.one_sided.demand(peer, at.key)?;
            if let Some(signal) = signal {
                let other = self.one_sided.demand(peer, signal.key)?;
                let kind = NumberKind::Unsigned8;
                other.check(signal.offset, kind.bytes(), RemoteAccess::ReadWrite)?;
                kind.check_place(other.address.wrapping_add(signal.offset), signal.offset)?;
            }
            known.check(at.offset, memory.len(), rights)?;
            place = known.place.filter(|_| is_long);
        }
        let is_put = rights == RemoteAccess::ReadWrite;
        match (place, access_max) {
            (Some(place), Some(longest)) => {
                let first = place.address.wrapping_add(at.offset);
                let place = FabricPlace { address: first, ..place };
                self.start_by_provider(peer, place, memory, longest, is_put, signal);
            }
            _ => self.start_by_messages(peer, at, memory, is_put, signal),
        }
        Ok(())
    }

    fn start_by_provider(
        &mut self, peer: Peer, place: FabricPlace, memory: Span, longest: usize, is_put: bool,
        signal: Option<PutSignal>,
    ) {
        let parts = memory.len().div_ceil(longest);
        let id = self.one_sided.begin(peer, parts, Span::EMPTY, signal);
        for start in (0..memory.len()).step_by(longest) {
            let part = memory.part(start, longest.min(memory.len() - start));
            let address = place.address.wrapping_add(start as u64);
            let at = FabricPlace { address, ..place };
            let request = match is_put {
                true => self.calls.write(part, peer, at),
                false => self.calls.read(part, peer, at),
            };
            self.one_sided.requests.push((request, id));
        }
    }

    fn start_by_messages(
        &mut self, peer: Peer, at: RemoteAddress, memory: Span, is_put: bool,
        signal: Option<PutSignal>,
    ) {
        let RemoteAddress { key, offset, .. } = at;
        if is_put {
            let parts = memory.len().div_ceil(self.short_max - PUT_BYTES).max(1);
            let access = self.one_sided.begin(peer, parts, Span::EMPTY, signal);
            let from = memory;
            return self.one_sided.wait(peer, WaitingMessage::Put { access, key, offset, from });
        }
        let len = memory.len();
        let access = self.one_sided.begin(peer, len.max(1), memory, None);
        let message = AccessMessage::Get { access, key, offset, len: len as u64 };
        self.one_sided.wait_whole(peer, message);
    }

    fn check_peer(&self, peer: Peer) -> Result {
        match peer < self.ranks() {
            true => Ok(()),
            false => Err(ErrorClass::Rank.error(format!("there is no rank {peer}"))),
        }
    }

    /// Ends a registration, and tells the peers that know the memory.
    fn end_registration(&mut self, key: MemoryKey) {
        self.one_sided.memory.remove(key);
        if let Some(Some(place)) = self.one_sided.places.remove(&key) {
            self.calls.deregister(place.key);
        }
        for peer in self.one_sided.askers.remove(&key).into_iter().flatten() {
            // Also without room: before what this rank sends next.
            if !self.has_failed(peer) {
                let header = AccessMessage::Closed(key).emit().header;
                self.send_notice(peer, &header, MessageKind::Access);
            }
        }
    }

    /// What is known before the first access to memory of `peer`; asks for the rest.
    fn open_memory(&mut self, peer: Peer, key: MemoryKey) -> Result {
        if peer == self.me {
            return self.one_sided.memory.find(key, 0, 0, RemoteAccess::Read).map(|_| ());
        }
        self.check_peer(peer)?;
        let is_new = !self.one_sided.known.contains_key(&(peer, key));
        if is_new && !self.has_failed(peer) {
            // The answer comes with later polls.
            let _ = self.one_sided.demand(peer, key);
            self.send_accesses(peer);
        }
        Ok(())
    }
}

/// What peers are told of memory of this rank, which the provider registers for the first of them.
fn describe<C: CarrierCalls>(it: &mut OneSided, key: MemoryKey, calls: &C) -> KnownMemory {
    let (memory, access) = it.memory.whole(key).unwrap_or((Span::EMPTY, RemoteAccess::Read));
    let place = it.places.entry(key).or_insert_with(|| {
        if memory.len() <= MESSAGE_MAX {
            return None;
        }
        let place = calls.register(memory, access == RemoteAccess::ReadWrite);
        place.inspect_err(|why| tracing::debug!(why, "accesses are messages")).ok()
    });
    KnownMemory { len: memory.len(), access, address: memory.address() as u64, place: *place }
}

impl<C: CarrierCalls> Carrier<C> {
    /// Registers memory under a key of another device, which is unique there and here.
    pub(crate) fn register_under(&mut self, key: MemoryKey, memory: Span, access: RemoteAccess) {
        self.port().one_sided.memory.insert(key, memory, access);
    }

    fn access(
        &mut self, peer: Peer, access: RmaAccess, signal: Option<PutSignal>,
    ) -> Result<(), RmaError> {
        let end = self.port().start_access(peer, access, signal);
        self.rouse();
        end
    }
}

impl<C: CarrierCalls> Rma for Carrier<C> {
    fn register(&mut self, memory: Span, access: RemoteAccess) -> Result<MemoryKey> {
        Ok(self.port().one_sided.memory.register(memory, access))
    }

    fn deregister(&mut self, key: MemoryKey) {
        self.port().end_registration(key);
        self.rouse();
    }

    fn open(&mut self, peer: Peer, key: MemoryKey) -> Result<RmaCaps> {
        self.port().open_memory(peer, key)?;
        self.rouse();
        let (updates, executor) = (UpdateSet::ALL, UpdateExecutor::Owner);
        Ok(RmaCaps { updates, executor, ordered: false, mapped: None })
    }

    fn close(&mut self, peer: Peer, key: MemoryKey) {
        self.port().one_sided.known.remove(&(peer, key));
    }

    fn fast_max(&mut self, _peer: Peer) -> usize {
        self.fast_access_max
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
        self.port().one_sided.ledger.progress(peer)
    }

    fn flush(&mut self, peer: Peer) -> Option<Result> {
        self.port().one_sided.ledger.flush(peer)
    }
}
