//! libfabric, loaded at run time: one endpoint for tagged messages between the processes of a job, and for access to
//! memory of peers where the provider has it ([`remote`]).
//!
//! ```text
//!   operation   started ── the queue has its entry ──> done ── test ──> gone
//!      │  ▲
//!      │  └─ the provider has room
//!      ▼  │
//!   put off: it said FI_EAGAIN, to this peer, or to an operation before
//!
//!   Receives for headers have half of the provider's queue of receives, and further ones wait in a queue of their own:
//!   those for data must not wait for headers, which may wait for the data.
//!
//!   tag         | number of the data | 0: header, 1: data | of the job: 27 bits | sender: 20 bits |
//! ```
//!
//! The endpoint is a reliable datagram endpoint with manual progress: nothing moves but inside calls. Messages of one
//! sender with one kind match receives in their order. A tag has bits of the job's secret, so a message of a
//! stranger matches no receive; a provider that matches fewer than 48 bits is refused. Where it matches more, messages
//! with data to one peer are numbered by them: data that follows what a provider has lost lands nowhere.
//!
//! Some providers lose the first messages of a connection: nothing is sent to a peer before it has answered a question
//! ([`contacts`]).
//!
//! Work that the provider starts by itself has an endpoint of its own ([`deferred_work`]).
//!
//! Headers of libfabric are not needed to build: see [`tables`].
#![allow(unsafe_code)]

mod contacts;
mod deferred_work;
pub mod interfaces;
mod library;
mod local;
mod objects;
mod remote;
mod tables;

use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use std::os::fd::{BorrowedFd, RawFd};
use std::path::Path;
use std::ptr;
use std::time::Instant;

use parking_lot::Mutex;

use crate::base::Span;
use crate::sys::carrier_request::CarrierRequest;
use crate::sys::iovec;
use crate::sys::thread::naming_helpers;
use contacts::{ContactMessage, Contacts};
use library::{FabricFunctions, keeping_signal_handlers};
use local::DescribedMemory;
use objects::{EndpointObjects, OpenedEndpoint};
use remote::{FabricAccess, MemoryDemands, RegisteredMemory};
use tables::*;

pub use deferred_work::{
    WaitingAction, WorkAction, WorkCounter, WorkEndpoint, WorkEvent, WorkLimits, WorkListKey,
    WriteError,
};
pub use remote::{AccessChoice, FabricPlace};

/// The bits of a tag: below, those of the sender, then those of the job, then the kind.
const SENDER_BITS: u32 = 20;
const JOB_BITS: u32 = 27;
const TAG_BITS: u32 = SENDER_BITS + JOB_BITS + 1;
const DATA_BIT: u64 = 1 << (TAG_BITS - 1);
const SENDER_MASK: u64 = (1 << SENDER_BITS) - 1;
const JOB_MASK: u64 = ((1 << JOB_BITS) - 1) << SENDER_BITS;

/// The most processes of a job.
pub const RANKS_MAX: u32 = 1 << SENDER_BITS;

/// In place of the rank whose message has been received, if none has.
pub const NO_RANK: u32 = u32::MAX;

/// Entries that are read at once.
const BATCH: usize = 16;

/// What a provider offers: an endpoint of tagged messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FabricOffer {
    /// As in `SUIRO_OFI_PROVIDER`.
    pub provider: String,
    /// An interface, or a device.
    pub domain: String,
}

/// The version of libfabric, loaded from `path` or from where the loader finds it, and what its providers offer here, the
/// best first.
///
/// # Errors
/// A sentence: the loader's, or no provider.
pub fn offers(path: Option<&Path>) -> Result<(String, Vec<FabricOffer>), String> {
    let functions = FabricFunctions::load(path)?;
    let offers = functions.choose(None)?.all();
    Ok((functions.version(), offers))
}

/// An endpoint, with the addresses of its peers.
///
/// One thread at a time calls it: it has a lock.
pub struct FabricEndpoint {
    state: Mutex<EndpointState>,
    provider: String,
    description: String,
    address: Vec<u8>,
    /// The descriptor of the queue, if the provider has one.
    descriptor: Option<RawFd>,
    /// Whether the provider sends a message from two places.
    gathers: bool,
    /// The longest access to memory of peers, if the provider has it.
    access_max: Option<usize>,
}

impl std::fmt::Debug for FabricEndpoint {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "FabricEndpoint({})", self.description)
    }
}

/// The objects of the library, and the operations.
struct EndpointState {
    functions: FabricFunctions,
    /// Dropped before the objects.
    registered: RegisteredMemory,
    objects: EndpointObjects,
    /// For access to memory of peers, if the provider has it.
    demands: Option<MemoryDemands>,
    me: u32,
    /// The longest message that the provider copies at once.
    inject_max: usize,
    /// The bits of the job, where they are in a tag.
    job: u64,
    /// The bits of a tag that number data.
    number_mask: u64,
    /// Messages with data to each peer and from it so far.
    data: Vec<DataCounts>,
    /// The library's names of the ranks.
    peers: Vec<u64>,
    /// Whether the first messages to a peer may be lost.
    greets: bool,
    contacts: Contacts,
    operations: Vec<FabricOperation>,
    free: Vec<u32>,
    /// Operations that have not started, but receives for headers.
    put_off: VecDeque<u32>,
    /// Receives for headers that the provider has, and the most of them.
    headers: usize,
    headers_max: usize,
    /// Those that have not started.
    waiting_headers: VecDeque<u32>,
    /// Peers to which messages could not be sent, or whose messages are lost, and why; not told yet.
    failures: Vec<(u32, String)>,
    /// These, and those that have ended: what is sent to them is dropped.
    failed: Vec<u32>,
}

// SAFETY: the objects and contexts are used under the lock alone, by any thread (`ONE_CALL`).
unsafe impl Send for EndpointState {}

/// Messages with data.
#[derive(Clone, Copy, Default)]
struct DataCounts {
    to: u16,
    from: u16,
}

/// A send, a receive or an access.
struct FabricOperation {
    /// At an address of its own, which the library has until the operation is done.
    context: Box<FabricContext>,
    what: FabricTransfer,
    span: Span,
    /// The rest of a message that is sent from two places.
    rest: Span,
    tag: u64,
    state: TransferState,
    /// Of an access that has failed; else 0.
    error: c_int,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FabricTransfer {
    Send {
        to: u32,
    },
    /// `ignore`: bits of the tag that may differ.
    Receive {
        ignore: u64,
    },
    Access {
        peer: u32,
        access: FabricAccess,
        at: FabricPlace,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TransferState {
    PutOff,
    Started,
    /// Started, and the library has been asked to end it.
    Canceled,
    /// With the rank whose message has been received; [`NO_RANK`] if none has.
    Done(u32),
}

/// Operations that start in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StartOrder {
    Sends(u32),
    Headers,
    Data,
}

impl FabricOperation {
    /// The peer that it needs.
    fn peer(&self) -> Option<u32> {
        match self.what {
            FabricTransfer::Send { to: peer } | FabricTransfer::Access { peer, .. } => Some(peer),
            FabricTransfer::Receive { .. } => None,
        }
    }

    /// Ends it without effect: it has not started.
    fn drop_unstarted(&mut self) {
        self.state = TransferState::Done(NO_RANK);
        if matches!(self.what, FabricTransfer::Access { .. }) {
            self.error = NOT_CONNECTED;
        }
    }

    fn queue(&self) -> StartOrder {
        match self.peer() {
            Some(peer) => StartOrder::Sends(peer),
            None if self.tag & DATA_BIT != 0 => StartOrder::Data,
            None => StartOrder::Headers,
        }
    }
}

impl FabricEndpoint {
    /// Loads the library from `path`, or from where the loader finds it, and opens an endpoint of the best provider,
    /// or of `provider`, for the rank `me`.
    ///
    /// # Errors
    /// A sentence: the loader's, no provider, or a call that fails.
    pub fn open(
        path: Option<&Path>, provider: Option<&str>, access: AccessChoice, me: u32,
    ) -> Result<Self, String> {
        let functions = FabricFunctions::load(path)?;
        let found = functions.with_remote_access(functions.choose(provider)?, access);
        let (offer, matched) = (found.first(), found.tag_bits());
        let FabricOffer { provider, domain } = offer;
        if matched < TAG_BITS {
            return Err(format!(
                "the provider {provider} matches {matched} bits of a tag: expected {TAG_BITS} or more"
            ));
        }
        let description =
            format!("libfabric {}, provider {provider}, {domain}", functions.version());
        let opened = keeping_signal_handlers(|| {
            naming_helpers(|| EndpointObjects::open(&functions, &found))
        });
        let OpenedEndpoint { objects, address, descriptor } =
            opened.map_err(|(call, status)| {
                format!("{call} fails for {description}: {}", functions.error(status as isize))
            })?;
        let gathers = found.parts_max() >= 2 && objects.own_memory.is_none();
        let inject_max = found.inject_max();
        let demands = MemoryDemands::of(&found);
        let access_max = demands.as_ref().map(MemoryDemands::access_max);
        let headers_max = found.receives_max().map_or(usize::MAX, |all| (all / 2).max(1));
        drop(found);
        let state = EndpointState {
            functions,
            registered: RegisteredMemory::default(),
            objects,
            demands,
            me,
            inject_max,
            job: 0,
            number_mask: !0_u64 >> (u64::BITS - matched) & !(2 * DATA_BIT - 1),
            data: Vec::new(),
            peers: Vec::new(),
            greets: contacts::are_needed(&provider),
            contacts: Contacts::default(),
            operations: Vec::new(),
            free: Vec::new(),
            put_off: VecDeque::new(),
            headers: 0,
            headers_max,
            waiting_headers: VecDeque::new(),
            failures: Vec::new(),
            failed: Vec::new(),
        };
        let state = Mutex::new(state);
        Ok(Self { state, provider, description, address, descriptor, gathers, access_max })
    }

    /// The library, the provider and its domain.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The provider.
    pub fn provider(&self) -> &str {
        &self.provider
    }

    /// What peers need to reach this endpoint.
    pub fn address(&self) -> &[u8] {
        &self.address
    }

    /// What can be read when the endpoint has work, after [`FabricEndpoint::may_sleep`] has said so.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        // SAFETY: the queue has it, which is open as long as this value.
        self.descriptor.map(|number| unsafe { BorrowedFd::borrow_raw(number) })
    }

    /// Whether the descriptor will tell of all that happens from now on.
    pub fn may_sleep(&self) -> bool {
        let state = self.state.lock();
        let waits = !state.put_off.is_empty() || state.contacts.are_due();
        state.objects.may_sleep() && !waits && !state.may_start_headers()
    }

    /// Takes the addresses of all ranks, this one included, and bits of the job's secret, of which the lowest
    /// [`JOB_BITS`] count. Called once, before the first operation.
    ///
    /// # Errors
    /// A sentence for an address that the provider does not take, or more than [`RANKS_MAX`].
    pub fn meet(&self, addresses: &[Vec<u8>], job: u64) -> Result<(), String> {
        if addresses.len() > RANKS_MAX as usize {
            return Err(format!(
                "{} ranks are too many: expected {RANKS_MAX} at most",
                addresses.len()
            ));
        }
        let mut state = self.state.lock();
        state.job = job << SENDER_BITS & JOB_MASK;
        for (rank, address) in addresses.iter().enumerate() {
            let peer = state.objects.insert(address).ok_or_else(|| {
                format!("{} does not take the address of rank {rank}", self.description)
            })?;
            state.peers.push(peer);
        }
        state.data = vec![DataCounts::default(); addresses.len()];
        state.contacts = Contacts::new(addresses.len(), state.greets);
        Ok(())
    }

    /// Starts to send bytes that stay readable and unchanged until the operation is done.
    pub fn send(&self, data: Span, to: u32, is_data: bool) -> CarrierRequest {
        let mut state = self.state.lock();
        let me = state.me;
        let tag = match is_data {
            true => state.numbered_tag(me, to, |counts| &mut counts.to),
            false => state.tag(me),
        };
        state.start(FabricTransfer::Send { to }, [data, Span::EMPTY], tag)
    }

    /// Whether [`FabricEndpoint::send_header_with`] is possible.
    pub fn gathers(&self) -> bool {
        self.gathers
    }

    /// Starts to send a header and more that is elsewhere, in one message.
    pub fn send_header_with(&self, header: Span, rest: Span, to: u32) -> CarrierRequest {
        let mut state = self.state.lock();
        let tag = state.tag(state.me);
        state.start(FabricTransfer::Send { to }, [header, rest], tag)
    }

    /// Starts to receive at most as many bytes as there is room; from any rank if `from` is none, for headers only.
    pub fn receive(&self, into: Span, from: Option<u32>, is_data: bool) -> CarrierRequest {
        let mut state = self.state.lock();
        let tag = match from {
            Some(from) if is_data => state.numbered_tag(from, from, |counts| &mut counts.from),
            from => state.tag(from.unwrap_or(0)),
        };
        let ignore = if from.is_some() { 0 } else { SENDER_MASK };
        state.start(FabricTransfer::Receive { ignore }, [into, Span::EMPTY], tag)
    }

    /// Lets the provider work: only then, operations end.
    pub fn progress(&self) {
        self.state.lock().progress();
    }

    /// Whether an operation is done, and the rank whose message it has received, [`NO_RANK`] if it has failed or was
    /// cancelled: then the request is [`CarrierRequest::NULL`].
    pub fn test(&self, request: &mut CarrierRequest) -> Option<u32> {
        self.state.lock().take_done(request)
    }

    /// Makes [`CarrierRequest::NULL`] of all requests whose operations are done.
    pub fn test_some(&self, requests: &mut [CarrierRequest]) {
        let mut state = self.state.lock();
        for request in requests {
            state.take_done(request);
        }
    }

    /// Ends a receive that no message has matched; [`FabricEndpoint::test`] tells when.
    pub fn cancel(&self, request: &mut CarrierRequest) {
        self.state.lock().cancel(request.number() - CarrierRequest::FIRST);
    }

    /// The process of `peer` has ended: what was not sent to it is dropped, and so is what will be.
    pub fn peer_ended(&self, peer: u32) {
        self.state.lock().drop_sends(peer);
    }

    /// A peer to which a message could not be sent, or whose message is lost, and why; each once.
    pub fn take_failure(&self) -> Option<(u32, String)> {
        self.state.lock().failures.pop()
    }
}

impl EndpointState {
    fn tag(&self, sender: u32) -> u64 {
        self.job | u64::from(sender)
    }

    /// The tag of the next message with data to or from `peer`.
    fn numbered_tag(
        &mut self, sender: u32, peer: u32, count: impl Fn(&mut DataCounts) -> &mut u16,
    ) -> u64 {
        let number = count(&mut self.data[peer as usize]);
        *number = number.wrapping_add(1);
        u64::from(*number) << TAG_BITS & self.number_mask | DATA_BIT | self.tag(sender)
    }

    fn start(&mut self, what: FabricTransfer, parts: [Span; 2], tag: u64) -> CarrierRequest {
        let [span, rest] = parts;
        let number = self.free.pop().unwrap_or_else(|| {
            let number = u32::try_from(self.operations.len()).expect("few operations");
            let context = Box::new(FabricContext { library: [0; 8], number });
            let state = TransferState::PutOff;
            let error = 0;
            self.operations.push(FabricOperation { context, what, span, rest, tag, state, error });
            number
        });
        let operation = &mut self.operations[number as usize];
        (operation.what, operation.span, operation.rest) = (what, span, rest);
        operation.tag = tag;
        operation.state = TransferState::PutOff;
        if operation.queue() == StartOrder::Headers {
            self.waiting_headers.push_back(number);
            self.start_headers();
        } else if operation.peer().is_some_and(|peer| self.failed.contains(&peer)) {
            operation.drop_unstarted();
        // Behind those that wait, to keep the order.
        } else if !self.put_off.is_empty() || !self.try_start(number) {
            self.put_off.push_back(number);
        }
        CarrierRequest::numbered(CarrierRequest::FIRST + number as usize)
    }

    /// Hands an operation to the library; false if it has no room, or if it is not known whether the message would
    /// arrive.
    fn try_start(&mut self, number: u32) -> bool {
        let operation = &self.operations[number as usize];
        if let Some(peer) = operation.peer()
            && !self.contacts.is_open(peer)
        {
            self.contacts.ask(peer);
            return false;
        }
        let is_send = matches!(operation.what, FabricTransfer::Send { .. });
        let is_whole = operation.rest.is_empty();
        let is_copied = is_send && is_whole && operation.span.len() <= self.inject_max;
        let what = operation.what;
        let memory = match is_copied {
            true => Ok(DescribedMemory::plain(operation.span)),
            false => self.lend(number),
        };
        let status = match (memory, what) {
            (Err(status), _) => status,
            (Ok(memory), FabricTransfer::Send { to }) => {
                self.hand_send(number, memory, to, is_copied)
            }
            (Ok(memory), FabricTransfer::Receive { ignore }) => {
                self.hand_receive(number, memory, ignore)
            }
            (Ok(memory), FabricTransfer::Access { peer, access, at }) => {
                self.hand_access(number, memory, peer, access, at)
            }
        };
        let operation = &mut self.operations[number as usize];
        match (status, what) {
            (0, _) if is_copied => operation.state = TransferState::Done(NO_RANK),
            (0, _) => operation.state = TransferState::Started,
            (TRY_AGAIN, _) => return false,
            (error, FabricTransfer::Send { .. } | FabricTransfer::Receive { ignore: 0 })
                if memory.is_err() =>
            {
                self.fail_unregistered(number, error);
            }
            (error, FabricTransfer::Send { to }) => {
                operation.state = TransferState::Done(NO_RANK);
                self.take_back(number, None);
                self.fail(to, error);
            }
            (error, FabricTransfer::Access { peer, .. }) => {
                operation.state = TransferState::Done(NO_RANK);
                self.take_back(number, None);
                self.access_failed(number, peer, error as c_int);
            }
            // No message is lost, and other receives may make room.
            (error, FabricTransfer::Receive { .. }) => {
                let why = self.functions.error(error);
                tracing::warn!(why, "a receive cannot be posted now");
                return false;
            }
        }
        true
    }

    /// What the library returns for a send.
    fn hand_send(
        &mut self, number: u32, memory: DescribedMemory, to: u32, is_copied: bool,
    ) -> isize {
        let (endpoint, to) = (self.objects.endpoint, self.peers[to as usize]);
        let operation = &mut self.operations[number as usize];
        let (len, tag, description) = (operation.span.len(), operation.tag, memory.description);
        let context = (&raw mut *operation.context).cast::<c_void>();
        let from = ptr::with_exposed_provenance(memory.address);
        // SAFETY: an open endpoint. The spans are readable until their operation is done (`Span::new`), and the context
        // is in its box until then. The list of parts is read in the call.
        unsafe {
            let calls = &*(*endpoint).tagged;
            if is_copied {
                (calls.inject)(endpoint, from, len, to, tag)
            } else if operation.rest.is_empty() {
                (calls.send)(endpoint, from, len, description, to, tag, context)
            } else {
                let parts = [operation.span, operation.rest];
                let parts = parts.map(|part| iovec(part.address(), part.len()));
                let (list, count) = (parts.as_ptr(), parts.len());
                (calls.send_parts)(endpoint, list, ptr::null_mut(), count, to, tag, context)
            }
        }
    }

    /// What the library returns for a receive.
    fn hand_receive(&mut self, number: u32, memory: DescribedMemory, ignore: u64) -> isize {
        let endpoint = self.objects.endpoint;
        let operation = &mut self.operations[number as usize];
        let (len, tag, description) = (operation.span.len(), operation.tag, memory.description);
        let context = (&raw mut *operation.context).cast::<c_void>();
        let into = ptr::with_exposed_provenance_mut(memory.address);
        let any = ANY_ADDRESS;
        // SAFETY: as in `hand_send`; the span is writable.
        unsafe {
            let calls = &*(*endpoint).tagged;
            (calls.receive)(endpoint, into, len, description, any, tag, ignore, context)
        }
    }

    fn fail(&mut self, peer: u32, error: isize) {
        self.fail_because(peer, self.functions.error(error));
    }

    fn fail_because(&mut self, peer: u32, why: String) {
        if !self.failed.contains(&peer) {
            self.failures.push((peer, why));
        }
        self.drop_sends(peer);
    }

    /// Drops sends to `peer` that have not started, which some providers put off for ever once it has ended, and all
    /// that come.
    fn drop_sends(&mut self, peer: u32) {
        if self.failed.contains(&peer) {
            return;
        }
        self.failed.push(peer);
        self.contacts.forget(peer);
        let operations = &self.operations;
        let is_lost = |number: &u32| operations[*number as usize].peer() == Some(peer);
        let (lost, put_off) = self.put_off.iter().copied().partition::<VecDeque<u32>, _>(is_lost);
        self.put_off = put_off;
        for number in lost {
            self.take_back(number, None);
            self.operations[number as usize].drop_unstarted();
        }
    }

    /// Lets the provider work, and starts what was put off.
    fn progress(&mut self) {
        let mut entries = [FabricCompletion::NONE; BATCH];
        loop {
            let queue = self.objects.queue;
            // SAFETY: an open queue, and places for as many entries.
            let count =
                unsafe { ((*(*queue).calls).read)(queue, entries.as_mut_ptr(), entries.len()) };
            match count {
                1.. => {
                    for entry in &entries[..count as usize] {
                        self.completed(entry);
                    }
                }
                ERROR_ENTRY => self.take_error(),
                _ => break,
            }
            if count > 0 && (count as usize) < BATCH {
                break;
            }
        }
        if self.may_start_headers() {
            self.start_headers();
        }
        if self.contacts.are_due() {
            self.send_contacts();
        }
        if !self.put_off.is_empty() {
            self.start_put_off();
        }
    }

    /// Whether a receive for a header waits for nothing but the provider.
    #[inline]
    fn may_start_headers(&self) -> bool {
        self.headers < self.headers_max && !self.waiting_headers.is_empty()
    }

    fn start_headers(&mut self) {
        while self.headers < self.headers_max
            && let Some(number) = self.waiting_headers.pop_front()
        {
            if !self.try_start(number) {
                return self.waiting_headers.push_front(number);
            }
            self.headers += 1;
        }
    }

    /// Sends the questions and answers that are due.
    #[cold]
    fn send_contacts(&mut self) {
        let now = Instant::now();
        for (to, message) in self.contacts.due(now) {
            let (byte, tag) = ([message as u8], self.tag(self.me));
            let (endpoint, name) = (self.objects.endpoint, self.peers[to as usize]);
            let from = byte.as_ptr().cast();
            // SAFETY: an open endpoint, and a byte, which is copied.
            let status = unsafe { ((*(*endpoint).tagged).inject)(endpoint, from, 1, name, tag) };
            match status {
                0 => self.contacts.sent(to, message, now),
                TRY_AGAIN => {}
                error => self.fail(to, error),
            }
        }
    }

    #[inline]
    fn completed(&mut self, entry: &FabricCompletion) {
        let Some(number) = self.number_of(entry.context) else { return };
        self.take_back(number, Some(entry.len));
        let operation = &self.operations[number as usize];
        let sender = (entry.tag & SENDER_MASK) as u32;
        if operation.queue() != StartOrder::Headers {
            return self.end(number, sender);
        }
        match ContactMessage::of(operation.span, entry.len) {
            Some(message) => {
                self.contacts.arrived(sender, message);
                self.end(number, NO_RANK);
            }
            None => {
                self.contacts.open(sender);
                self.end(number, sender);
            }
        }
    }

    /// The operation with this context; none for a context that is none of an operation in progress: some providers
    /// tell of errors with contexts of their own.
    #[inline]
    fn number_of(&self, context: *mut FabricContext) -> Option<u32> {
        if context.is_null() {
            return None;
        }
        // SAFETY: the context of an operation is in its box; one of a provider is at the beginning of a longer
        // structure of it.
        let number = unsafe { (*context).number };
        let operation = self.operations.get(number as usize)?;
        let is_known = ptr::eq(&raw const *operation.context, context)
            && matches!(operation.state, TransferState::Started | TransferState::Canceled);
        if !is_known {
            tracing::warn!("the provider has ended an operation that is none");
        }
        is_known.then_some(number)
    }

    /// The provider has ended an operation.
    fn end(&mut self, number: u32, sender: u32) {
        let operation = &mut self.operations[number as usize];
        operation.state = TransferState::Done(sender);
        if operation.queue() == StartOrder::Headers {
            self.headers -= 1;
        }
    }

    fn take_error(&mut self) {
        let Some(entry) = self.objects.take_error() else { return };
        let Some(number) = self.number_of(entry.completion.context) else { return };
        let was_canceled = self.operations[number as usize].state == TransferState::Canceled;
        self.end(number, NO_RANK);
        self.take_back(number, None);
        let operation = &self.operations[number as usize];
        match operation.what {
            FabricTransfer::Send { to } => self.fail(to, entry.error as isize),
            FabricTransfer::Access { peer, .. } => self.access_failed(number, peer, entry.error),
            // Else by the provider: tcp tells so of all that is under way when a connection ends.
            FabricTransfer::Receive { .. } if was_canceled && entry.error.abs() == CANCELED => {}
            FabricTransfer::Receive { ignore } => {
                let why = self.functions.error(entry.error as isize);
                tracing::warn!(why, provider_error = entry.provider_error, "a receive has failed");
                // The message that it has matched is lost, which makes a gap in those of its sender.
                let tag = if ignore == 0 { operation.tag } else { entry.completion.tag };
                let (of_job, sender) = (tag & JOB_MASK, (tag & SENDER_MASK) as u32);
                if of_job == self.job && (sender as usize) < self.peers.len() {
                    self.fail(sender, entry.error as isize);
                }
            }
        }
    }

    /// Tries each operation that was put off, those to one peer in their order.
    fn start_put_off(&mut self) {
        let mut full = Vec::new();
        for _ in 0..self.put_off.len() {
            let Some(number) = self.put_off.pop_front() else { return };
            let queue = self.operations[number as usize].queue();
            if full.contains(&queue) || !self.try_start(number) {
                full.push(queue);
                self.put_off.push_back(number);
            }
        }
    }

    fn take_done(&mut self, request: &mut CarrierRequest) -> Option<u32> {
        if *request == CarrierRequest::NULL {
            return None;
        }
        let number = request.number() - CarrierRequest::FIRST;
        let TransferState::Done(sender) = self.operations[number].state else { return None };
        self.free.push(number as u32);
        *request = CarrierRequest::NULL;
        Some(sender)
    }

    fn cancel(&mut self, number: usize) {
        let operation = &mut self.operations[number];
        match operation.state {
            TransferState::Done(_) | TransferState::Canceled => {}
            TransferState::PutOff => {
                operation.state = TransferState::Done(NO_RANK);
                self.take_back(number as u32, None);
                self.put_off.retain(|other| *other as usize != number);
                self.waiting_headers.retain(|other| *other as usize != number);
            }
            TransferState::Started => {
                operation.state = TransferState::Canceled;
                let endpoint = self.objects.endpoint;
                let context = (&raw mut *operation.context).cast::<c_void>();
                // SAFETY: an open endpoint, and the context of an operation in progress.
                unsafe { ((*(*endpoint).calls).cancel)(endpoint.cast(), context) };
            }
        }
    }
}
