//! Writes to memory of peers that this process starts by itself, and the queue that tells of their ends and of what peers
//! have written here.
//!
//! ```text
//!   write ──> started ── the queue has its entry ──> its end
//!     │         ▲
//!     └─> put off: the provider has no room
//! ```
//!
//! A write counts at the counter of the memory, as one of deferred work does, and leaves an entry in the queue of the peer:
//! its thread can sleep on that. Entries may come before their counters have risen.

use std::collections::{HashMap, VecDeque};
use std::os::fd::BorrowedFd;
use std::ptr;

use super::super::remote::is_of_connection;
use super::super::tables::*;
use super::{WorkCounter, WorkEndpoint, WorkState};
use crate::base::Span;
use crate::sys::iovec;

/// Entries that are read at once.
const BATCH: usize = 16;

/// The end of a write that was not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteError {
    /// A sentence of the library.
    pub why: String,
    /// Whether the connection to the peer is lost.
    pub is_lost: bool,
}

/// What the queue tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkEvent {
    /// A write of [`WorkEndpoint::write`] to `peer` has ended: its bytes are there.
    Written {
        /// The number that the caller has given.
        number: u32,
        /// The rank.
        peer: u32,
        /// What has become of it.
        end: Result<(), WriteError>,
    },
    /// A peer has written here, to memory with this key of [`WorkEndpoint::register_as`].
    Arrived(u64),
    /// Work of a list has ended, with this error or without one.
    Worked(Option<WriteError>),
}

/// The writes of an endpoint that have not ended.
#[derive(Default)]
pub(super) struct DirectWrites {
    /// By place, used again.
    all: Vec<DirectWrite>,
    free: Vec<usize>,
    by_context: HashMap<usize, usize>,
    put_off: VecDeque<usize>,
}

struct DirectWrite {
    /// The library's, at an address of its own until the write has ended.
    context: Box<[u64; 8]>,
    order: WriteOrder,
}

/// What is written.
struct WriteOrder {
    number: u32,
    peer: u32,
    from: Span,
    to: RemotePart,
    /// What the entry of the peer has: the whole key.
    data: u64,
}

impl DirectWrites {
    /// Whether all have ended.
    pub(super) fn are_idle(&self) -> bool {
        self.free.len() == self.all.len()
    }

    fn insert(&mut self, order: WriteOrder) -> usize {
        if let Some(at) = self.free.pop() {
            // The context stays: no memory is taken.
            self.all[at].order = order;
            return at;
        }
        let context = Box::new([0; 8]);
        let at = self.all.len();
        self.by_context.insert(ptr::from_ref(&*context).expose_provenance(), at);
        self.all.push(DirectWrite { context, order });
        at
    }

    /// The write of a context ends.
    fn end(&mut self, context: *mut FabricContext, end: Result<(), WriteError>) -> WorkEvent {
        match self.by_context.get(&context.expose_provenance()) {
            Some(&at) => self.end_at(at, end),
            None => WorkEvent::Worked(end.err()),
        }
    }

    fn end_at(&mut self, at: usize, end: Result<(), WriteError>) -> WorkEvent {
        self.free.push(at);
        let WriteOrder { number, peer, .. } = self.all[at].order;
        WorkEvent::Written { number, peer, end }
    }
}

impl WorkEndpoint {
    /// What can be read when the endpoint has work, after [`WorkEndpoint::may_sleep`] has said so.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        // SAFETY: the queue has it, which is open as long as this value.
        self.descriptor.map(|number| unsafe { BorrowedFd::borrow_raw(number) })
    }

    /// Whether the descriptor will tell of all that happens from now on.
    pub fn may_sleep(&self) -> bool {
        let state = self.state.lock();
        state.objects.may_sleep() && state.direct.put_off.is_empty()
    }

    /// The longest write, in bytes.
    pub fn write_max(&self) -> usize {
        self.state.lock().demands.access_max()
    }

    /// Registers memory that exists until [`WorkEndpoint::deregister`] for writes of peers, under a key of which the
    /// provider uses as many bits as it has. A write adds 1 to `counter`, after its bytes. A registration without bytes
    /// is one of memory whose contents are not used.
    ///
    /// # Errors
    /// A sentence, also for a key that is in use.
    pub fn register_as(
        &self, key: u64, memory: Span, counter: Option<WorkCounter>,
    ) -> Result<(), String> {
        let mut state = self.state.lock();
        let counter = counter.map(|counter| state.object(counter));
        let WorkState { registered, objects, demands, functions, nowhere, .. } = &mut **state;
        // SAFETY: memory of this endpoint, where only peers write.
        let memory = if memory.is_empty() { unsafe { Span::of(&mut **nowhere) } } else { memory };
        let added = registered.add_as(objects, demands, memory, key, counter);
        added.map_err(|status| {
            let why = functions.error(status as isize);
            format!(
                "{}: {} bytes of memory are not registered: {why}",
                self.description,
                memory.len()
            )
        })
    }

    /// Ends a registration: the provider refuses the key from now on.
    pub fn deregister(&self, key: u64) {
        let mut state = self.state.lock();
        let key = state.demands.fitting(key);
        state.registered.remove(key);
    }

    /// Sets a counter to 0, for a new use: nothing waits for it.
    pub fn reset(&self, counter: WorkCounter) {
        let state = self.state.lock();
        let object = state.object(counter);
        // SAFETY: an open counter.
        let status = unsafe { ((*(*object).calls).set)(object, 0) };
        if status != 0 {
            tracing::warn!(status, "libfabric has not set a counter");
        }
    }

    /// Starts to write bytes that stay readable and unchanged until the end of the write has been told, to memory of
    /// `peer` with a key of [`WorkEndpoint::register_as`]; without bytes, it only counts there.
    ///
    /// # Panics
    /// If the endpoint has not met the rank.
    pub fn write(&self, number: u32, from: Span, peer: u32, key: u64, offset: u64) {
        let mut state = self.state.lock();
        let to = RemotePart { address: offset, len: from.len(), key: state.demands.fitting(key) };
        let at = state.direct.insert(WriteOrder { number, peer, from, to, data: key });
        state.direct.put_off.push_back(at);
        state.start_writes();
    }

    /// Gives what the queue tells to `each`, and starts what was put off.
    pub fn look(&self, each: &mut dyn FnMut(WorkEvent)) {
        let mut state = self.state.lock();
        state.start_writes();
        while state.look(each) {}
        while let Some(event) = state.refused.pop() {
            each(event);
        }
    }
}

impl WorkState {
    /// Starts the writes that were put off, as long as there is room.
    fn start_writes(&mut self) {
        while let Some(&at) = self.direct.put_off.front() {
            let status = self.start_write(at);
            if status == TRY_AGAIN {
                return;
            }
            self.direct.put_off.pop_front();
            if status != 0 {
                let end = Err(self.write_error(status as i32));
                let event = self.direct.end_at(at, end);
                self.refused.push(event);
            }
        }
    }

    fn start_write(&mut self, at: usize) -> isize {
        let endpoint = self.objects.endpoint;
        let DirectWrite { context, order } = &mut self.direct.all[at];
        let WriteOrder { peer, from, to, data, .. } = order;
        let from = iovec(from.address(), from.len());
        let parts =
            RemoteParts::one(&raw const from, self.peers[*peer as usize], ptr::from_ref(to));
        let context = ptr::from_mut(&mut **context).cast();
        let write = RemoteWrite { parts, context, data: *data };
        // SAFETY: an open endpoint of a provider with this call. The span is readable until the write has ended
        // (`Span::new`), and the context is in its box until then. The library copies what describes the write.
        unsafe {
            let calls = &*(*endpoint).remote;
            (calls.write_message)(endpoint, &raw const write, TELL_DELIVERY | TELL_PEER)
        }
    }

    /// Reads entries of the queue; whether there may be more.
    fn look(&mut self, each: &mut dyn FnMut(WorkEvent)) -> bool {
        let queue = self.objects.queue;
        let mut entries = [const { FabricCompletion::NONE }; BATCH];
        // SAFETY: an open queue, and places for so many entries.
        let count = unsafe { ((*(*queue).calls).read)(queue, entries.as_mut_ptr(), BATCH) };
        if count == ERROR_ENTRY {
            let Some(failed) = self.objects.take_error() else { return false };
            let error = Err(self.write_error(failed.error));
            each(self.direct.end(failed.completion.context, error));
            return true;
        }
        let count = usize::try_from(count).unwrap_or(0);
        for entry in &entries[..count] {
            each(match self.direct.end(entry.context, Ok(())) {
                WorkEvent::Worked(_) if entry.flags & (PEERS_MAY_WRITE | TELL_PEER) != 0 => {
                    WorkEvent::Arrived(entry.data)
                }
                event => event,
            });
        }
        count > 0
    }

    fn write_error(&self, error: i32) -> WriteError {
        let why = self.functions.error(error as isize);
        WriteError { why, is_lost: is_of_connection(error) }
    }
}
