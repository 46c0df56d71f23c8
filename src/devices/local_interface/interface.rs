//! The interface of a rank, shared by its application and its engine thread.
//!
//! ```text
//!   application ──post──> NetworkInterface ──next──> short: performed by the application (bypass)
//!                                 ▲          └─────> other: performed by the engine thread
//!   engine thread ────────────────┘
//! ```
//!
//! An action toward a rank of another node goes by a link: the thread that performs it writes what the socket
//! takes, and the engine thread the rest.
//!
//! The thread that posts a short command performs it, so no other thread has to run (the bypass of
//! Nose et al., "Performance optimization of the ACP library"). The engine thread performs long commands, and work that becomes
//! due later. A thread holds the lock during short commands, and not during long ones.
//!
//! Requests of peers are served by the engine thread, and by an application that polls: it is idle, and the
//! engine thread may have no processor. Such an application also performs long commands that the thread has not
//! begun for a while, and serves the links: a wake-up of the thread takes longer than a packet.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use super::area::{FreePlaces, RequestCells, RequestSlots, WORDS};
use super::atomic_request::{AtomicRequest, apply_update};
use super::fabric::HostFabric;
use super::primitive::AtomicU32;
use crate::device::Busy;
use crate::device::rma::{
    AccessProgress, MemoryKey, NumberKind, PutSignal, RemoteAccess, RemoteAddress, RmaAccess,
    RmaCaps, RmaError, Update, UpdateExecutor, UpdateSet, write_number,
};
use crate::device::trigger::{
    AwaitedArrival, CounterKey, InstanceState, InterfaceLimits, ProgramBinding, ProgramKey, Runner,
};
use crate::devices::interface::{
    ActionId, Counters, DueAction, InterfaceAction, NetworkInterface, NetworkModel, PART_MAX,
    SHORT_MAX,
};
use crate::devices::put_links::{LinkNews, LostLink};
use crate::devices::rings::memory::Mapped;
use crate::devices::rings::mpsc_queue::{QueueArrival, QueueReader};
use crate::devices::rings::registrations::{Registration, RegistrationPool};
use crate::offload::StepId;
use platform::base::{ErrorClass, MpiError, Peer, Result, Span};
use platform::sys::{clock, futex};

/// Commands that the posting thread performs before it leaves the rest to the engine thread.
const BYPASS_MAX: usize = 64;

pub(crate) struct LocalInterface {
    pub(crate) fabric: HostFabric,
    state: Mutex<InterfaceState>,
    service: Mutex<RequestService>,
    link_news: Mutex<LinkNews>,
    /// Whether the application has polled, to go on polling, since the engine thread last asked.
    attended: AtomicBool,
    /// Not 0 while the engine thread leaves the work to the application: the word on which it naps without links.
    nap: AtomicU32,
    /// Programs in progress, and those among them with long commands.
    active: AtomicU32,
    long_active: AtomicU32,
    /// Counts handoffs to the engine thread.
    deferred: AtomicU64,
    /// Those that the thread has seen.
    accepted: AtomicU64,
    limits: InterfaceLimits,
    /// Transfers take time: the posting thread performs none.
    is_paced: bool,
    /// Time of the next wake-up of the host, in nanoseconds; `u64::MAX` for never.
    alarm_ns: AtomicU64,
}

/// What peers request of this rank.
#[derive(Default)]
struct RequestService {
    /// From the start of the engine thread on.
    requests: Option<QueueReader<Mapped<RequestCells>, Mapped<RequestSlots>>>,
    /// Replies for which the queues of peers had no room, with the slots of the peers.
    replies: VecDeque<(usize, AtomicRequest)>,
}

struct InterfaceState {
    nic: NetworkInterface,
    /// Actions taken from the interface and not begun.
    pending: VecDeque<DueAction>,
    /// Updates in progress, with the buffers of the old values.
    updates: Vec<(ActionId, Span)>,
    registrations: RegistrationPool,
    places: FreePlaces,
    /// The number of additions at which the interface had no work.
    quiescent_at: Option<u64>,
}

/// Events that the engine thread has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EngineProgress {
    additions: u64,
    deferred: u64,
}

impl LocalInterface {
    /// The interface of the rank of `fabric`, at the pace of `network` if that is given.
    pub(crate) fn new(
        fabric: HostFabric, limits: InterfaceLimits, network: Option<Box<dyn NetworkModel>>,
    ) -> Self {
        let (nic, is_paced) = (NetworkInterface::new(limits, WORDS as u32), network.is_some());
        let nic = match network {
            Some(network) => nic.paced(network),
            None => nic.divided(fabric.links().map_or(PART_MAX, |links| links.put_max())),
        };
        let state = InterfaceState {
            nic,
            pending: VecDeque::new(),
            updates: Vec::new(),
            registrations: RegistrationPool::default(),
            places: FreePlaces::default(),
            quiescent_at: Some(0),
        };
        Self {
            fabric,
            state: Mutex::new(state),
            service: Mutex::default(),
            link_news: Mutex::default(),
            attended: AtomicBool::new(false),
            nap: AtomicU32::new(0),
            active: AtomicU32::new(0),
            long_active: AtomicU32::new(0),
            deferred: AtomicU64::new(0),
            accepted: AtomicU64::new(0),
            limits,
            is_paced,
            alarm_ns: AtomicU64::new(u64::MAX),
        }
    }

    /// Resources of the interface.
    pub(crate) fn limits(&self) -> InterfaceLimits {
        self.limits
    }

    /// The number of additions to counters of this rank.
    pub(crate) fn additions(&self) -> u64 {
        self.fabric.additions()
    }

    /// Posts a command, then performs short commands that are due.
    fn command<T>(&self, act: impl FnOnce(&mut MutexGuard<'_, InterfaceState>) -> T) -> T {
        let mut state = self.state.lock();
        let result = act(&mut state);
        let mut rest = !state.pending.is_empty();
        if self.is_paced {
            state.quiescent_at = None;
        }
        for _ in 0..if self.is_paced { 0 } else { BYPASS_MAX } {
            let Some(due) = self.next(&mut state) else { break };
            if let InterfaceAction::Update { old, .. } = due.action
                && self.request_update(&mut state, &due, old).is_ok()
            {
                continue;
            }
            if due.action.bytes() > SHORT_MAX
                || matches!(due.action, InterfaceAction::Update { .. })
            {
                state.pending.push_back(due);
                rest = true;
                continue;
            }
            self.perform(&mut state, &due);
        }
        rest |= state.quiescent_at.is_none();
        let news = state.nic.take_progressed();
        drop(state);
        if rest {
            self.hand_over();
        }
        if news {
            self.fabric.wake_host();
        }
        result
    }

    /// The engine thread has work.
    fn hand_over(&self) {
        self.deferred.fetch_add(1, Ordering::SeqCst);
        self.fabric.wake_engine();
        if self.fabric.links().is_none() {
            self.end_nap();
        }
    }

    /// The next action of the interface.
    fn next(&self, state: &mut InterfaceState) -> Option<DueAction> {
        let additions = self.additions();
        let now = if self.is_paced { clock::monotonic_ns() } else { 0 };
        let due = state.nic.next(now, &self.fabric);
        state.quiescent_at = due.is_none().then_some(additions);
        due
    }

    /// The next action; a long one only if no short one is due.
    fn next_short_first(&self, state: &mut InterfaceState) -> Option<DueAction> {
        while let Some(due) = self.next(state) {
            if due.action.bytes() <= SHORT_MAX {
                return Some(due);
            }
            state.pending.push_back(due);
        }
        state.pending.pop_front()
    }

    /// Whether there were events since the last call with `seen`.
    pub(crate) fn has_changed(&self, seen: &mut EngineProgress) -> bool {
        let now = EngineProgress {
            additions: self.additions(),
            deferred: self.deferred.load(Ordering::SeqCst),
        };
        let before = std::mem::replace(seen, now);
        if before.deferred != now.deferred {
            self.accepted.store(now.deferred, Ordering::Relaxed);
        }
        before != now
    }

    /// Sets the time of the next wake-up of the host.
    pub(crate) fn wake_host_at(&self, at_ns: u64) {
        if self.alarm_ns.swap(at_ns, Ordering::SeqCst) != at_ns {
            self.hand_over();
        }
    }

    /// Wakes the host if its time has come; returns the time of the next call.
    fn wake_host_if_due(&self) -> u64 {
        let at_ns = self.alarm_ns.load(Ordering::SeqCst);
        if at_ns > clock::monotonic_ns() {
            return at_ns;
        }
        let never = u64::MAX;
        let order = Ordering::SeqCst;
        // Keeps a time that was set meanwhile.
        let _ = self.alarm_ns.compare_exchange(at_ns, never, order, order);
        self.fabric.wake_host();
        never
    }

    /// The engine thread's part: performs everything that is due. Returns the time of the next call
    /// without an event: 0 if a request waits for room in the queue of a peer.
    pub(crate) fn work(&self) -> u64 {
        let alarm_ns = self.wake_host_if_due();
        let mut state = self.state.lock();
        let mut refused = VecDeque::new();
        while let Some(due) = self.next_short_first(&mut state) {
            if let InterfaceAction::Update { old, .. } = due.action {
                match self.request_update(&mut state, &due, old) {
                    Ok(()) => (),
                    Err(Busy) => refused.push_back(due),
                }
                continue;
            }
            self.perform(&mut state, &due);
            self.notify_host(&mut state);
        }
        // The last `next` may have found a completion.
        self.notify_host(&mut state);
        if !refused.is_empty() {
            state.pending.append(&mut refused);
            return 0;
        }
        state.nic.next_event_ns().map_or(alarm_ns, |at_ns| at_ns.min(alarm_ns))
    }

    /// Performs an action, a long one without the lock. One that goes by a link has begun, and ends when all of
    /// it is in the socket.
    fn perform(&self, state: &mut MutexGuard<'_, InterfaceState>, due: &DueAction) {
        let is_long = due.action.bytes() > SHORT_MAX;
        if let Some(links) = due.action.peer().and_then(|peer| self.fabric.links_toward(peer)) {
            let post = || links.post(due);
            let end = if is_long { MutexGuard::unlocked(state, post) } else { post() };
            if let Some(end) = end {
                state.nic.done(due.id, end, &self.fabric);
            }
            return;
        }
        let kernel = state.nic.kernel(due);
        let act = || match (due.action, kernel) {
            (InterfaceAction::Reduce { from, into }, Some(kernel)) => {
                kernel(from, into);
                Ok(())
            }
            (action, _) => self.fabric.perform(&action),
        };
        let end = if is_long { MutexGuard::unlocked(state, act) } else { act() };
        state.nic.done(due.id, end, &self.fabric);
    }

    /// The engine thread's part: takes what has arrived by links, and writes what has waited for room; whether
    /// there was any.
    pub(crate) fn serve_links(&self) -> bool {
        let Some(links) = self.fabric.links() else { return false };
        let mut news = self.link_news.lock();
        links.look(&self.fabric, &mut news);
        if !self.take_link_news(&mut news) {
            return news.has_arrivals;
        }
        // The end of a put lets its engine issue the next one.
        self.deferred.fetch_add(1, Ordering::SeqCst);
        true
    }

    /// The application polls while programs are in progress, and will poll again: links and short commands are its part.
    pub(crate) fn attend(&self) {
        let order = Ordering::Relaxed;
        if self.attended.load(order) || self.active.load(order) == 0 {
            return;
        }
        // After a program with long commands, the thread waits for the next one.
        if self.long_active.load(order) == 0 || self.fabric.links().is_some() {
            self.attended.store(true, order);
        }
    }

    /// The application's part, while it waits for a program: the same, unless the engine thread does so.
    pub(crate) fn serve_links_beside(&self) {
        let Some(links) = self.fabric.links() else { return };
        if self.active.load(Ordering::Relaxed) == 0 {
            return;
        }
        let Some(mut news) = self.link_news.try_lock() else { return };
        links.look_beside(&self.fabric, &mut news);
        let any = self.take_link_news(&mut news);
        drop(news);
        if any {
            self.command(|_| ());
        }
    }

    /// Whether the application has attended since the last call: the engine thread may leave the links to it for a
    /// while.
    pub(crate) fn takes_attendance(&self) -> bool {
        self.attended.swap(false, Ordering::Relaxed)
    }

    /// The same for all of its work, if the application can do that: without a pace and long commands.
    pub(crate) fn takes_attendance_of_all(&self) -> bool {
        !self.is_paced
            && self.attended.load(Ordering::Relaxed)
            && self.long_active.load(Ordering::SeqCst) == 0
            && self.takes_attendance()
    }

    /// The engine thread leaves work to the application, or does so no longer.
    pub(crate) fn set_napping(&self, naps: bool) {
        self.nap.store(naps.into(), Ordering::SeqCst);
    }

    /// Naps on its word, if the thread is still napping.
    pub(crate) fn nap(&self, time: Duration) {
        futex::wait(&self.nap, 1, Some(time));
    }

    /// The application goes to sleep: the engine thread does all work.
    pub(crate) fn leave(&self) {
        self.attended.store(false, Ordering::Relaxed);
        self.end_nap();
    }

    /// Wakes the engine thread if it naps.
    fn end_nap(&self) {
        if self.nap.load(Ordering::SeqCst) == 0 {
            return;
        }
        if self.fabric.links().is_some() {
            self.fabric.wake_engine();
        } else if self.nap.swap(0, Ordering::SeqCst) != 0 {
            futex::wake(&self.nap);
        }
    }

    /// Takes the ends of actions and of connections; whether there were any.
    fn take_link_news(&self, news: &mut LinkNews) -> bool {
        let LinkNews { ended, lost, .. } = news;
        if ended.is_empty() && lost.is_empty() {
            return false;
        }
        let mut state = self.state.lock();
        for LostLink { peer, error, ends_programs } in lost.drain(..) {
            state.nic.peer_failed(peer, &error, ends_programs);
        }
        for (id, end) in ended.drain(..) {
            state.nic.done(id, end, &self.fabric);
        }
        self.notify_host(&mut state);
        true
    }

    /// Ends the operations with a peer whose process has failed, also later ones.
    pub(crate) fn peer_failed(&self, peer: Peer, error: &MpiError) {
        self.command(|state| state.nic.peer_failed(peer, error, true));
    }

    /// [`Trigger::connect`](crate::device::trigger::Trigger::connect).
    pub(crate) fn connect(&self, peer: Peer) -> Option<Result<(), String>> {
        self.fabric.links_toward(peer).map_or(Some(Ok(())), |links| links.connect(peer))
    }

    /// [`Trigger::fail`](crate::device::trigger::Trigger::fail).
    pub(crate) fn fail(&self, program: ProgramKey, error: &MpiError) {
        self.command(|state| state.nic.fail(program, error));
    }

    /// Wakes the host if the interface made progress for which it may wait.
    fn notify_host(&self, state: &mut InterfaceState) {
        if state.nic.take_progressed() {
            self.fabric.wake_host();
        }
    }

    /// Sends an update to the owner of the number.
    fn request_update(
        &self, state: &mut InterfaceState, due: &DueAction, old: Span,
    ) -> Result<(), Busy> {
        let InterfaceAction::Update { at, kind, update, .. } = due.action else { return Ok(()) };
        match self.fabric.resolve(at, kind.bytes(), RemoteAccess::ReadWrite) {
            Ok((slot, _)) => {
                let RemoteAddress { key, offset, .. } = at;
                let request = AtomicRequest::Update { ticket: due.id, key, offset, kind, update };
                self.fabric.post(slot, request)?;
                state.updates.push((due.id, old));
            }
            Err(error) => {
                state.nic.done(due.id, Err(error), &self.fabric);
                self.notify_host(state);
            }
        }
        Ok(())
    }

    /// Takes requests from this queue from now on.
    pub(crate) fn set_requests(
        &self, requests: QueueReader<Mapped<RequestCells>, Mapped<RequestSlots>>,
    ) {
        self.service.lock().requests = Some(requests);
    }

    /// Whether replies wait for room in the queues of peers.
    pub(crate) fn has_replies(&self) -> bool {
        !self.service.lock().replies.is_empty()
    }

    /// The engine thread's part: serves all requests; whether there were any.
    pub(crate) fn serve_requests(&self) -> bool {
        self.serve(&mut self.service.lock())
    }

    /// The application's part: serves all requests, unless the engine thread does so.
    pub(crate) fn serve_requests_beside(&self) {
        let Some(mut service) = self.service.try_lock() else { return };
        let any = self.serve(&mut service);
        let has_replies = !service.replies.is_empty();
        drop(service);
        if has_replies {
            self.fabric.wake_engine();
        }
        if any {
            // The end of an access lets others start.
            self.command(|_| ());
        }
    }

    fn serve(&self, service: &mut RequestService) -> bool {
        let RequestService { requests: Some(requests), replies } = service else { return false };
        let mut any = false;
        loop {
            let request = requests.next(|arrival| match arrival {
                QueueArrival::Packet { from, header, data } => {
                    AtomicRequest::unpack(&header, data).map(|request| (from as usize, request))
                }
                QueueArrival::Switch { .. } => None,
            });
            let Some(request) = request else { break };
            any = true;
            let (from, request) = request.expect("shared segment damaged: an impossible request");
            assert!(from < self.fabric.parts().len(), "shared segment damaged: sender");
            replies.extend(self.receive(request).map(|reply| (from, reply)));
        }
        while let Some((slot, reply)) = replies.front() {
            if self.fabric.post(*slot, *reply).is_err() {
                break;
            }
            replies.pop_front();
            any = true;
        }
        any
    }

    /// Performs a request of a peer and returns the reply, or takes a reply.
    fn receive(&self, request: AtomicRequest) -> Option<AtomicRequest> {
        match request {
            AtomicRequest::Update { ticket, key, offset, kind, update } => {
                let found = self.fabric.own().registrations.find(key);
                let locate = |found: Registration| {
                    found.locate(offset, kind.bytes(), RemoteAccess::ReadWrite)
                };
                // SAFETY: the application has registered that memory for writes and not ended the
                // registration: after that, no rank may use the key.
                let update = |address| unsafe { apply_update(address, kind, update) };
                let old = found.and_then(locate).and_then(update);
                if old.is_ok() {
                    // The application may wait for this number.
                    self.fabric.count_update();
                }
                Some(AtomicRequest::Reply { ticket, old: old.map_err(|error| error.code.0) })
            }
            AtomicRequest::Reply { ticket, old } => {
                let mut state = self.state.lock();
                let at = state.updates.iter().position(|(id, _)| *id == ticket)?;
                let (id, old_buffer) = state.updates.swap_remove(at);
                let end = old.map(|old| write_number(old, old_buffer)).map_err(|class| {
                    let class = ErrorClass::from_value(class).unwrap_or(ErrorClass::Other);
                    class.error(
                        "the peer of an atomic update cannot change a number at that address",
                    )
                });
                state.nic.done(id, end, &self.fabric);
                self.notify_host(&mut state);
                drop(state);
                self.deferred.fetch_add(1, Ordering::SeqCst);
                None
            }
        }
    }

    /// [`Rma::register`](crate::device::rma::Rma::register).
    pub(crate) fn register(&self, memory: Span, access: RemoteAccess) -> Result<MemoryKey> {
        let pool = &mut self.state.lock().registrations;
        self.fabric.own().registrations.register(pool, memory, access, None)
    }

    /// [`Rma::deregister`](crate::device::rma::Rma::deregister).
    pub(crate) fn deregister(&self, key: MemoryKey) {
        self.fabric.own().registrations.deregister(&mut self.state.lock().registrations, key);
    }

    /// [`Rma::open`](crate::device::rma::Rma::open).
    pub(crate) fn open(&self, peer: Peer, key: MemoryKey) -> Result<RmaCaps> {
        self.fabric.resolve(RemoteAddress { peer, key, offset: 0 }, 0, RemoteAccess::Read)?;
        let (updates, executor) = (UpdateSet::ALL, UpdateExecutor::Interface);
        Ok(RmaCaps { updates, executor, ordered: self.limits.ordered, mapped: None })
    }

    /// An access of [`Rma`](crate::device::rma::Rma), by an engine or one chosen by the peer.
    pub(crate) fn access(&self, access: RmaAccess, engine: Option<u8>) -> Result<(), RmaError> {
        self.check(access)?;
        Ok(self.command(|state| state.nic.access(access, engine))?)
    }

    /// An access that starts after all before it.
    pub(crate) fn defer(&self, access: RmaAccess, engine: u8) -> Result<(), RmaError> {
        self.check(access)?;
        Ok(self.command(|state| state.nic.defer(access, engine))?)
    }

    fn check(&self, access: RmaAccess) -> Result {
        match access {
            RmaAccess::Put { from, to } => {
                self.fabric.resolve(to, from.len(), RemoteAccess::ReadWrite).map(drop)
            }
            RmaAccess::Get { from, into } => {
                self.fabric.resolve(from, into.len(), RemoteAccess::Read).map(drop)
            }
            RmaAccess::Update { at, kind, update, old } => {
                self.fabric.resolve(at, kind.bytes(), RemoteAccess::ReadWrite)?;
                UpdateSet::ALL.check(at.offset, kind, update, old)
            }
        }
    }

    /// [`Rma::put_signalled`](crate::device::rma::Rma::put_signalled).
    pub(crate) fn put_signalled(
        &self, from: Span, to: RemoteAddress, signal: PutSignal,
    ) -> Result<(), RmaError> {
        self.check(RmaAccess::Put { from, to })?;
        let (at, old) = (signal.address(to.peer), Span::EMPTY);
        let (kind, update) = (NumberKind::Unsigned8, Update::Add(signal.addend));
        self.check(RmaAccess::Update { at, kind, update, old })?;
        Ok(self.command(|state| state.nic.put_signalled(from, to, signal))?)
    }

    /// [`Rma::progress`](crate::device::rma::Rma::progress).
    pub(crate) fn progress(&self, peer: Peer) -> AccessProgress {
        self.state.lock().nic.accesses().progress(peer)
    }

    /// [`Rma::flush`](crate::device::rma::Rma::flush).
    pub(crate) fn flush(&self, peer: Peer) -> Option<Result> {
        self.state.lock().nic.accesses().flush(peer)
    }

    /// [`Trigger::reserve`](crate::device::trigger::Trigger::reserve).
    pub(crate) fn reserve(&self, counters: usize) -> Result<Vec<CounterKey>> {
        self.state.lock().nic.reserve(counters, &self.fabric)
    }

    /// [`Trigger::await_arrivals`](crate::device::trigger::Trigger::await_arrivals).
    pub(crate) fn await_arrivals(
        &self, arrivals: &mut dyn Iterator<Item = AwaitedArrival>,
    ) -> Result {
        let Some(links) = self.fabric.links() else { return Ok(()) };
        let is_linked = |arrival: &AwaitedArrival| self.fabric.links_toward(arrival.peer).is_some();
        links.await_arrivals(&mut arrivals.filter(is_linked))
    }

    /// [`Trigger::take_place`](crate::device::trigger::Trigger::take_place).
    pub(crate) fn take_place(&self, bytes: usize) -> Option<Span> {
        self.fabric.own().area.take_place(&mut self.state.lock().places, bytes)
    }

    /// [`Trigger::release`](crate::device::trigger::Trigger::release).
    pub(crate) fn release(&self, counters: &[CounterKey], places: &[Span]) {
        self.fabric.links().into_iter().for_each(|links| links.forget_arrivals(counters));
        let InterfaceState { nic, places: free, .. } = &mut *self.state.lock();
        // Peers that do not know of a failure may still write.
        if nic.release(counters) {
            let area = &self.fabric.own().area;
            places.iter().for_each(|place| area.return_place(free, *place));
        }
    }

    /// [`Trigger::load`](crate::device::trigger::Trigger::load).
    pub(crate) fn load(&self, binding: ProgramBinding, by_software: bool) -> ProgramKey {
        self.state.lock().nic.load(binding, by_software)
    }

    /// [`Trigger::unload`](crate::device::trigger::Trigger::unload).
    pub(crate) fn unload(&self, program: ProgramKey) {
        self.state.lock().nic.unload(program);
    }

    /// [`Trigger::runner`](crate::device::trigger::Trigger::runner).
    pub(crate) fn runner(&self, program: ProgramKey) -> Runner {
        self.state.lock().nic.runner(program)
    }

    /// [`Trigger::assign_engines`](crate::device::trigger::Trigger::assign_engines).
    pub(crate) fn assign_engines(&self, program: ProgramKey, engines: &[(u32, u8)]) {
        self.state.lock().nic.assign_engines(program, engines);
    }

    /// [`Trigger::start`](crate::device::trigger::Trigger::start).
    pub(crate) fn start(&self, program: ProgramKey) {
        self.command(|state| {
            state.nic.start(program);
            self.count_active(state);
        });
        // It does the work that peers cause while the application computes.
        if self.long_active.load(Ordering::SeqCst) > 0 {
            self.end_nap();
        }
    }

    fn count_active(&self, state: &InterfaceState) {
        let (all, long) = state.nic.active();
        self.active.store(all, Ordering::Relaxed);
        self.long_active.store(long, Ordering::SeqCst);
    }

    /// [`Trigger::poll_program`](crate::device::trigger::Trigger::poll_program).
    pub(crate) fn poll_program(&self, program: ProgramKey) -> InstanceState {
        let mut state = self.state.lock();
        let of_program = state.nic.poll_program(program);
        if matches!(of_program, InstanceState::Completed(_)) {
            self.count_active(&state);
        }
        of_program
    }

    /// [`Trigger::host_done`](crate::device::trigger::Trigger::host_done).
    pub(crate) fn host_done(&self, program: ProgramKey, step: StepId) {
        self.command(|state| state.nic.host_done(program, step, &self.fabric));
    }

    /// Performs the short commands that are due, without a pace.
    pub(crate) fn run_short_commands(&self) {
        if !self.is_paced {
            self.command(|_| ());
        }
    }

    /// Whether the engine thread has not run since the last handoff: it sleeps, or has no processor.
    pub(crate) fn awaits_engine(&self) -> bool {
        let order = Ordering::Relaxed;
        self.deferred.load(order) != self.accepted.load(order) && !self.is_paced
    }

    /// Performs a long command that the engine thread has not begun, and the short ones after it; whether there was
    /// one.
    pub(crate) fn run_long_command(&self) -> bool {
        let perform = |state: &mut MutexGuard<'_, InterfaceState>| {
            let is_long = |due: &DueAction| due.action.bytes() > SHORT_MAX;
            let at = state.pending.iter().position(is_long)?;
            let due = state.pending.remove(at)?;
            self.perform(state, &due);
            Some(())
        };
        self.command(perform).is_some()
    }

    /// [`Trigger::fallbacks`](crate::device::trigger::Trigger::fallbacks).
    pub(crate) fn fallbacks(&self) -> u64 {
        self.state.lock().nic.fallbacks()
    }

    /// How many additions there were, if all started programs wait for more of them or for the host,
    /// and no command is due or in progress. `None` while one waits for a link: what is in transit there
    /// is not counted.
    pub(crate) fn quiescence(&self) -> Option<u64> {
        let state = self.state.lock();
        let is_linked = |peer| self.fabric.links_toward(peer).is_some();
        if self.fabric.links().is_some() && state.nic.is_any_active(is_linked) {
            return None;
        }
        let additions = self.additions();
        let settled = state.quiescent_at == Some(additions) && !state.nic.has_news();
        (settled && state.nic.is_idle() && state.pending.is_empty()).then_some(additions)
    }
}
