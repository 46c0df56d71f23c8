//! Synchronization of windows: fences, post-start-complete-wait, locks, flushes (MPI 5.0 §12.5).
//!
//! ```text
//!   call ──> answers of targets, posts of targets, own sends and receives ──> barrier (fence) ──> returns
//! ```
//!
//! Locks are words of the segment if all ranks are on one node. Else the targets grant them by messages:
//! `MPI_Win_lock` waits for the grant, so that locks that all processes take in one order are granted in
//! this order; the operations of `MPI_Win_lock_all` wait at the target.

use super::Window;
use super::conflicts::EpochKind;
use super::epoch::ranks;
use super::mapped::{MappedMemory, WindowCall};
use super::origin::{Answer, OperationNumber};
use super::request_message::WindowRequest;
use crate::device::Device;
use crate::engine::Engine;
use crate::mpi::Mpi;
use crate::mpi::collective::binding::CallForm;
use crate::mpi::collective::calls::Call;
use crate::mpi::handle::Handle;
use crate::mpi::request::Activity;
use crate::shared_memory::primitive::full_fence;
pub use crate::shared_memory::turn_lock::LockKind;
use platform::base::Result;
use platform::diagnosis::wait_report::{WaitCondition, WaitReport};

/// Assertions of synchronization calls (§12.5.5), those that change what is done or are checked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Assertions {
    /// `MPI_MODE_NOCHECK`
    pub no_check: bool,
    /// `MPI_MODE_NOPRECEDE`
    pub no_precede: bool,
    /// `MPI_MODE_NOSUCCEED`
    pub no_succeed: bool,
    /// `MPI_MODE_NOPUT`
    pub no_put: bool,
}

/// What a synchronization call waits for.
#[derive(Debug)]
pub struct WindowWait {
    pub(super) window: Handle,
    /// Whether `MPI_Win_post` of the targets of this epoch is awaited.
    posts: bool,
    /// Whether `MPI_Win_complete` of the origins of this epoch is awaited.
    pub(super) completes: bool,
    /// `None` if nothing of it is awaited, as in most calls on one node.
    targets: Option<Box<TargetWaits>>,
    /// What is sent when all of this is there.
    then: Then,
    pub(super) barrier: Option<Activity>,
    /// The ranks that the call needs.
    involved: Involved,
}

/// The ranks without which a synchronization call fails. What it waits for tells of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Involved {
    None,
    /// That of `MPI_Win_lock`, which opens no epoch then.
    Locked(u32),
    Rank(u32),
    /// The targets of the last `MPI_Win_start`.
    Started,
    /// The targets that are locked.
    Epoch,
    All,
}

/// What a synchronization call waits for at single targets.
#[derive(Debug, Default)]
struct TargetWaits {
    answers: Vec<Answer>,
    /// The targets whose operations must complete at this process.
    locals: Vec<u32>,
    /// The targets whose locks in the segment are awaited.
    turns: Vec<u32>,
    /// The targets whose locks in the segment are asked for afterwards, the last one first.
    later_turns: Vec<u32>,
    /// Whether these locks are those of `MPI_Win_lock_all`.
    are_of_all: bool,
}

/// The last step of a synchronization call.
#[derive(Debug, PartialEq, Eq)]
enum Then {
    Return,
    /// `MPI_Win_fence`
    Barrier,
    /// `MPI_Win_complete`
    Complete,
    /// `MPI_Win_wait`
    EndExposure,
    /// `MPI_Win_unlock`: these targets complete all operations, and release a lock asked for by message.
    Unlock(Vec<u32>),
    /// Locks of these targets in the segment end.
    Leave(Vec<u32>),
}

impl WindowWait {
    /// Whether everything is there that the call waits for before its last step.
    #[inline]
    fn has_all(&self) -> bool {
        self.targets.is_none() && !self.posts && !self.completes
    }

    pub(super) fn new(window: Handle) -> Self {
        let (posts, completes, then) = (false, false, Then::Return);
        let (targets, barrier, involved) = (None, None, Involved::None);
        Self { window, posts, completes, targets, then, barrier, involved }
    }

    /// Drops the answers that have arrived; whether none is left.
    pub(super) fn drop_answered(&mut self, mut has_answered: impl FnMut(&Answer) -> bool) -> bool {
        let Some(waits) = &mut self.targets else { return true };
        waits.answers.retain(|answer| !has_answered(answer));
        waits.answers.is_empty()
    }

    fn targets(&mut self) -> &mut TargetWaits {
        self.targets.get_or_insert_default()
    }
}

impl TargetWaits {
    fn is_empty(&self) -> bool {
        self.turns.is_empty()
            && self.later_turns.is_empty()
            && self.answers.is_empty()
            && self.locals.is_empty()
    }
}

impl<D: Device> Mpi<D> {
    /// `MPI_Win_fence`
    ///
    /// # Errors
    /// `Win`; `RmaSync` for a call in the wrong epoch; as all functions here.
    pub fn fence(&mut self, window: Handle, assertions: Assertions) -> Result<WindowWait> {
        let (engine, target) = self.usable_window(window)?;
        target.epochs.fence(assertions.no_succeed)?;
        let mut wait = WindowWait::new(window);
        let precedes = target.check_fence(assertions) || !assertions.no_precede;
        if precedes && !target.origin.is_idle() {
            target.expects_flush = false;
            target.flush(engine, target.origin.busy(), &mut wait);
        }
        if !(assertions.no_precede && assertions.no_succeed) {
            wait.then = Then::Barrier;
        }
        Ok(wait)
    }

    /// A flush of one target, or of all, if nothing has to be waited for; whether that is so.
    ///
    /// # Errors
    /// As of [`Mpi::flush_window`].
    #[inline]
    pub(crate) fn flush_at_once(
        &mut self, name: &str, window: Handle, rank: Option<i32>,
    ) -> Result<bool> {
        let target = self.windows.get_mut(window)?;
        target.check_usable()?;
        let of = match rank {
            Some(rank) if target.is_null_rank(rank) => return Ok(true),
            Some(rank) => Some(target.check_rank(rank)?),
            None => None,
        };
        target.epochs.check_passive(name, of)?;
        let is_idle = target.origin.is_idle();
        // A loop of flushes, which waits for what another rank does, makes progress.
        self.poll();
        // The long way tells of failures.
        Ok(is_idle && !self.engine.is_disturbed())
    }

    /// `MPI_Win_sync`
    ///
    /// # Errors
    /// `Win`
    pub(crate) fn sync_window(&mut self, window: Handle) -> Result {
        let window = self.windows.get_mut(window)?;
        window.check_usable()?;
        let is_poll_due = window.direct.is_poll_due();
        full_fence();
        if is_poll_due {
            self.poll();
        }
        Ok(())
    }

    /// `MPI_Win_flush` of one target, or of all; `is_local` if they complete at this process only.
    ///
    /// # Errors
    /// As of [`Mpi::fence`]; `Rank`.
    pub fn flush_window(
        &mut self, name: &str, window: Handle, rank: Option<i32>, is_local: bool,
    ) -> Result<WindowWait> {
        let (engine, target) = self.usable_window(window)?;
        let mut wait = WindowWait::new(window);
        let of = match rank {
            Some(rank) if target.is_null_rank(rank) => return Ok(wait),
            Some(rank) => Some(target.check_rank(rank)?),
            None => None,
        };
        target.epochs.check_passive(name, of)?;
        wait.involved = of.map_or(Involved::Epoch, Involved::Rank);
        let busy = match of {
            Some(of) => Some(of).filter(|of| target.origin.is_busy(*of)).into_iter().collect(),
            None => target.origin.busy(),
        };
        target.expects_flush = !is_local;
        if let Some(check) = &mut target.access_check {
            match is_local {
                true => check.end_fetching(of),
                false => check.end(of),
            }
        }
        match is_local {
            true => wait.targets().locals = busy,
            false => target.flush(engine, busy, &mut wait),
        }
        Ok(wait)
    }

    /// `MPI_Win_lock`
    ///
    /// # Errors
    /// As of [`Mpi::fence`]; `Rank`; `ProcFailed` for the lock of a rank that has failed.
    pub fn lock_window(
        &mut self, window: Handle, rank: i32, kind: LockKind, assertions: Assertions,
    ) -> Result<WindowWait> {
        let (engine, target) = self.usable_window(window)?;
        let mut wait = WindowWait::new(window);
        if target.is_null_rank(rank) {
            return Ok(wait);
        }
        let rank = target.check_rank(rank)?;
        target.check_locks()?;
        target.epochs.check_lock(rank)?;
        target.check_target(rank)?;
        target.epochs.lock(rank);
        wait.involved = Involved::Locked(rank);
        if !assertions.no_check {
            target.request_lock(engine, rank, kind, &mut wait);
        }
        Ok(wait)
    }

    /// `MPI_Win_lock_all`
    ///
    /// # Errors
    /// As of [`Mpi::fence`].
    pub fn lock_all_window(
        &mut self, window: Handle, assertions: Assertions,
    ) -> Result<WindowWait> {
        let (engine, target) = self.usable_window(window)?;
        let mut wait = WindowWait::new(window);
        target.check_locks()?;
        target.epochs.lock_all()?;
        target.locks_on_access = !assertions.no_check;
        if let (true, Some(words)) = (target.locks_on_access, target.words()) {
            // One after the other, in the order of all processes: no two wait for each other.
            let waits = wait.targets();
            waits.later_turns = words.ranks().iter().rev().copied().collect();
            waits.are_of_all = true;
        } else if target.locks_on_access {
            target.request_own_locks(engine, &mut wait);
        }
        Ok(wait)
    }

    /// `MPI_Win_unlock` of one target, or `MPI_Win_unlock_all`.
    ///
    /// # Errors
    /// As of [`Mpi::fence`]; `Rank`.
    pub fn unlock_window(&mut self, window: Handle, rank: Option<i32>) -> Result<WindowWait> {
        // A loop of locks, which waits for what another rank does, makes progress.
        self.poll();
        let (engine, target) = self.usable_window(window)?;
        let mut wait = WindowWait::new(window);
        let targets = match rank {
            Some(rank) if target.is_null_rank(rank) => return Ok(wait),
            Some(rank) => {
                let rank = target.check_rank(rank)?;
                target.epochs.unlock(rank)?;
                wait.involved = Involved::Rank(rank);
                if target.origin.is_idle() && target.leave_lock(engine, rank) {
                    return Ok(wait);
                }
                vec![rank]
            }
            None => {
                target.epochs.unlock_all()?;
                wait.involved = Involved::All;
                target.locks_on_access = false;
                let mut targets = target.origin.busy();
                targets.extend(target.origin.locked());
                targets.extend(target.mapped.iter().flat_map(|mapped| mapped.ranks()));
                targets.sort_unstable();
                targets.dedup();
                targets
            }
        };
        if let Some(check) = &mut target.access_check {
            targets.iter().for_each(|target| check.end(Some(*target)));
        }
        target.expects_flush &= target.origin.is_idle();
        // A get reads the memory of the target before the lock ends.
        wait.targets().locals = targets.clone();
        wait.then = Then::Unlock(targets);
        Ok(wait)
    }

    /// `MPI_Win_post`
    ///
    /// # Errors
    /// As of [`Mpi::fence`].
    pub fn post_window(
        &mut self, window: Handle, origins: Handle, assertions: Assertions,
    ) -> Result {
        let target = self.windows.get_mut(window)?;
        target.check_usable()?;
        let origins = self.objects.groups.get(origins)?;
        target.epochs.post(origins.peers().map(|peer| target.channel.rank_of(peer)))?;
        target.expose(EpochKind::Exposure, assertions);
        if !assertions.no_check {
            target.tell_all(&mut self.engine, WindowCall::Post);
        }
        Ok(())
    }

    /// `MPI_Win_start`
    ///
    /// # Errors
    /// As of [`Mpi::fence`].
    pub fn start_window(
        &mut self, window: Handle, targets: Handle, assertions: Assertions,
    ) -> Result<WindowWait> {
        let target = self.windows.get_mut(window)?;
        target.check_usable()?;
        let targets = self.objects.groups.get(targets)?;
        target.epochs.start(targets.peers().map(|peer| target.channel.rank_of(peer)))?;
        let posts = !assertions.no_check;
        Ok(WindowWait { posts, ..WindowWait::new(window) })
    }

    /// `MPI_Win_complete`
    ///
    /// # Errors
    /// As of [`Mpi::fence`].
    pub fn complete_window(&mut self, window: Handle) -> Result<WindowWait> {
        let (engine, target) = self.usable_window(window)?;
        target.epochs.started()?;
        let mut wait = WindowWait::new(window);
        wait.involved = Involved::Started;
        if let Some(check) = &mut target.access_check {
            check.end(None);
            target.flush(engine, target.origin.busy(), &mut wait);
        }
        if !target.origin.is_idle() {
            target.expects_flush = false;
            wait.targets().locals = target.epochs.started()?.to_vec();
        }
        wait.then = Then::Complete;
        Ok(wait)
    }

    /// `MPI_Win_wait`
    ///
    /// # Errors
    /// As of [`Mpi::fence`].
    pub fn wait_window(&mut self, window: Handle) -> Result<WindowWait> {
        let (_, target) = self.usable_window(window)?;
        target.epochs.posted()?;
        let then = Then::EndExposure;
        Ok(WindowWait { completes: true, then, ..WindowWait::new(window) })
    }

    /// `MPI_Win_test`: whether the exposure epoch has ended.
    ///
    /// # Errors
    /// As of [`Mpi::fence`].
    pub(crate) fn test_window(&mut self, window: Handle) -> Result<bool> {
        let mut wait = self.wait_window(window)?;
        Ok(self.end_window_wait(&mut wait)?.is_some())
    }

    /// Whether a synchronization call may return.
    ///
    /// # Errors
    /// The first error of an operation that it completes; `Revoked`, and `ProcFailed` if a rank that the call
    /// needs has failed.
    pub fn end_window_wait(&mut self, wait: &mut WindowWait) -> Result<Option<()>> {
        let is_disturbed = self.engine.is_disturbed();
        if is_disturbed && !self.end_disturbed_wait(wait)? {
            return Ok(None);
        }
        let end = self.end_undisturbed_wait(wait)?;
        if is_disturbed && end.is_some() {
            let involved = wait.involved;
            let (_, window) = self.window_and_engine(wait.window)?;
            if let Some(error) = window.involved_failure(involved) {
                window.undo(involved);
                return Err(error);
            }
        }
        Ok(end)
    }

    fn end_undisturbed_wait(&mut self, wait: &mut WindowWait) -> Result<Option<()>> {
        loop {
            let (engine, window) = self.window_and_engine(wait.window)?;
            if !wait.has_all() && !window.advance_wait(engine, wait) {
                if window.awaits_turn() {
                    self.windows.activate(wait.window);
                }
                return Ok(None);
            }
            match std::mem::replace(&mut wait.then, Then::Return) {
                Then::Return => break,
                Then::EndExposure => window.end_exposure(),
                Then::Barrier => wait.barrier = Some(self.start_window_barrier(wait.window)?),
                Then::Complete => window.complete(engine),
                Then::Unlock(targets) => {
                    window.send_unlocks(engine, &targets, wait);
                    wait.then = Then::Leave(targets);
                }
                Then::Leave(mut targets) => {
                    window.leave_locks(engine, &targets);
                    // Locks of words that became locks of messages after they were looked for.
                    targets.retain(|target| window.origin.is_locked(*target));
                    if !targets.is_empty() {
                        wait.then = Then::Unlock(targets);
                    }
                }
            }
        }
        if let Some(barrier) = &mut wait.barrier {
            let Some(outcome) = self.end_if_complete(barrier) else { return Ok(None) };
            wait.barrier = None;
            outcome.error.map_or(Ok(()), Err)?;
        }
        let (_, window) = self.window_and_engine(wait.window)?;
        window.origin.take_error().map(Some)
    }

    /// Whether an operation of a request is complete; so is one of a window that has been freed.
    pub(crate) fn is_access_complete(&self, window: Handle, operation: OperationNumber) -> bool {
        self.windows
            .get(window)
            .map_or(true, |window| window.origin.is_complete(&self.engine, operation))
    }

    /// The call `name`, which waits.
    pub(crate) fn blocked_window(&self, name: &str, wait: &WindowWait) -> WaitReport {
        match (&wait.barrier, self.windows.get(wait.window)) {
            (None, Ok(window)) => window.blocked(name, wait),
            (barrier, _) => self.blocked(name, barrier),
        }
    }

    /// Starts a barrier of a window. All calls on its communicator from the first one on are barriers.
    fn start_window_barrier(&mut self, window: Handle) -> Result<Activity> {
        let Window { comm, barriers, .. } = *self.windows.get_mut(window)?;
        if let Some(id) = barriers {
            let comm = self.comms.get_mut(comm)?;
            comm.check_collective()?;
            let sequence = comm.next_call();
            return Ok(self.repeat_shared(id, sequence));
        }
        let call = Call::barrier(comm);
        let barriers = self.shared_collective(&call, CallForm::Blocking)?;
        self.windows.get_mut(window)?.barriers = barriers;
        self.launch(call, CallForm::Blocking)
    }

    pub(super) fn window_and_engine(
        &mut self, window: Handle,
    ) -> Result<(&mut Engine<D>, &mut Window)> {
        Ok((&mut self.engine, self.windows.get_mut(window)?))
    }

    /// The window of a call that begins.
    ///
    /// # Errors
    /// `Win`; `Revoked`.
    fn usable_window(&mut self, window: Handle) -> Result<(&mut Engine<D>, &mut Window)> {
        let (engine, window) = self.window_and_engine(window)?;
        window.check_usable()?;
        Ok((engine, window))
    }
}

impl Window {
    /// The call `name`, which waits for other ranks. An answer may depend on any of them: a lock that a
    /// third rank holds can delay it.
    pub(super) fn blocked(&self, name: &str, wait: &WindowWait) -> WaitReport {
        let mapped = self.mapped.as_ref();
        let targets = self.epochs.started().ok().filter(|_| wait.posts).unwrap_or_default();
        let posts: Vec<_> = self.target.posts.missing(targets, mapped).collect();
        let origins = self.epochs.posted().ok().filter(|_| wait.completes).unwrap_or_default();
        let completes: Vec<_> = self.target.completes.missing(origins, mapped).collect();
        let (mut answers, mut turns) = (Vec::new(), &[][..]);
        if let Some(waits) = &wait.targets {
            answers.extend(waits.answers.iter().map(|answer| answer.target));
            answers.extend(&waits.locals);
            answers.sort_unstable();
            answers.dedup();
            turns = &waits.turns;
        }
        let mut words = Vec::new();
        let mut conditions = Vec::new();
        for (call, of) in [("MPI_Win_post", posts), ("MPI_Win_complete", completes)] {
            if !of.is_empty() {
                words.push(format!("{call} of {}", ranks(of.iter().copied())));
                conditions.push(self.condition(&of, false));
            }
        }
        for turn in turns {
            let before = mapped.map(|mapped| mapped.awaited(*turn)).unwrap_or_default();
            if before.is_empty() {
                words.push(format!("the lock of rank {turn}"));
                conditions.push(self.any_rank());
            } else {
                let owners = ranks(before.iter().copied());
                words.push(format!("the lock of rank {turn}, behind {owners}"));
                conditions.push(self.condition(&before, false));
            }
        }
        if !answers.is_empty() {
            words.push(format!("operations on {}", ranks(answers.into_iter())));
            conditions.push(self.any_rank());
        }
        WaitReport {
            details: format!(" on {}: {}", self.title(), words.join(", ")),
            conditions,
            ..WaitReport::new(name)
        }
    }

    /// An action of any other rank.
    pub(crate) fn any_rank(&self) -> WaitCondition {
        let me = self.channel.rank();
        let others: Vec<_> = (0..self.channel.size()).filter(|rank| *rank != me).collect();
        self.condition(&others, true)
    }

    fn condition(&self, ranks: &[u32], any: bool) -> WaitCondition {
        let mut peers: Vec<_> = ranks.iter().map(|rank| self.channel.peer(*rank)).collect();
        peers.sort_unstable();
        WaitCondition { peers, any, collective: None }
    }

    /// Asks targets for answers when all operations until now are complete there, unless these tell it
    /// themselves.
    fn flush<D: Device>(
        &mut self, engine: &mut Engine<D>, targets: Vec<u32>, wait: &mut WindowWait,
    ) {
        for target in &targets {
            if !self.origin.is_unflushed(*target) {
                continue;
            }
            let ask = |answer| WindowRequest::Flush { answer };
            wait.targets().answers.push(self.origin.ask(engine, &self.channel, *target, ask));
        }
        wait.targets().locals = targets;
    }

    /// Asks for a lock, which is waited for.
    fn request_lock<D: Device>(
        &mut self, engine: &mut Engine<D>, rank: u32, kind: LockKind, wait: &mut WindowWait,
    ) {
        if self.words().is_some() {
            return self.request_turn(engine, rank, kind, wait);
        }
        self.origin.set_locked(rank, true);
        let ask = |answer| WindowRequest::Lock { kind, answer };
        wait.targets().answers.push(self.origin.ask(engine, &self.channel, rank, ask));
    }

    /// Asks for a lock in the segment.
    fn request_turn<D: Device>(
        &mut self, engine: &mut Engine<D>, rank: u32, kind: LockKind, wait: &mut WindowWait,
    ) {
        if !self.enter_or_queue(engine, rank, kind) {
            wait.targets().turns.push(rank);
        }
    }

    /// Asks for a lock in the segment; whether this process has it at once.
    fn enter_or_queue<D: Device>(
        &mut self, engine: &mut Engine<D>, rank: u32, kind: LockKind,
    ) -> bool {
        let Some(mapped) = &mut self.mapped else { return true };
        mapped.enter_or_queue(engine, &self.channel, rank, kind)
    }

    /// Asks for the locks of `MPI_Win_lock_all` that loads, stores and direct copies of this process need:
    /// those of this node. They are waited for.
    fn request_own_locks<D: Device>(&mut self, engine: &mut Engine<D>, wait: &mut WindowWait) {
        let own = [self.channel.rank()];
        let here = self.mapped.as_ref().map_or(&own[..], MappedMemory::ranks).to_vec();
        for rank in here {
            self.origin.set_locked(rank, true);
            let ask = |answer| WindowRequest::LockAll { answer: Some(answer) };
            wait.targets().answers.push(self.origin.ask(engine, &self.channel, rank, ask));
        }
    }

    /// The segment, if locks are its words: all ranks are on this node, and none has failed.
    pub(super) fn words(&self) -> Option<&MappedMemory> {
        let size = self.channel.size() as usize;
        let are_words = !self.failures.has_handed_over();
        self.mapped.as_ref().filter(|mapped| are_words && mapped.ranks().len() == size)
    }

    /// Asks for the lock of `MPI_Win_lock_all` at the first access of a target.
    pub(super) fn lock_if_due<D: Device>(&mut self, engine: &mut Engine<D>, target: u32) {
        let is_due = self.locks_on_access && self.words().is_none();
        if is_due && !self.origin.set_locked(target, true) {
            let request = WindowRequest::LockAll { answer: None };
            self.origin.request(engine, &self.channel, target, &request);
        }
    }

    fn complete<D: Device>(&mut self, engine: &mut Engine<D>) {
        self.tell_all(engine, WindowCall::Complete);
        self.epochs.complete();
    }

    /// Tells the ranks of the epoch of a call; after all operations on them.
    fn tell_all<D: Device>(&mut self, engine: &mut Engine<D>, call: WindowCall) {
        let Self { epochs, mapped, origin, channel, .. } = self;
        let ranks = match call {
            WindowCall::Post => epochs.posted(),
            WindowCall::Complete => epochs.started(),
        };
        for rank in ranks.unwrap_or_default() {
            let here = mapped.as_ref().filter(|mapped| mapped.reaches(*rank));
            if let Some(mapped) = here.filter(|_| !origin.is_unflushed(*rank)) {
                mapped.call(engine, channel, call, *rank);
                continue;
            }
            let request = match call {
                WindowCall::Post => WindowRequest::Post,
                WindowCall::Complete => {
                    origin.set_flushed(*rank);
                    WindowRequest::Complete
                }
            };
            origin.request(engine, channel, *rank, &request);
        }
    }

    /// Ends locks, or epochs with `MPI_MODE_NOCHECK`, of these targets.
    fn send_unlocks<D: Device>(
        &mut self, engine: &mut Engine<D>, targets: &[u32], wait: &mut WindowWait,
    ) {
        for target in targets {
            let is_locked = self.origin.set_locked(*target, false);
            let ask = |answer| match is_locked {
                true => WindowRequest::Unlock { answer },
                false => WindowRequest::Flush { answer },
            };
            if is_locked || self.origin.is_unflushed(*target) {
                wait.targets().answers.push(self.origin.ask(engine, &self.channel, *target, ask));
            }
        }
    }

    /// Ends locks in the segment.
    fn leave_locks<D: Device>(&mut self, engine: &mut Engine<D>, targets: &[u32]) {
        for target in targets {
            self.leave_lock(engine, *target);
        }
    }

    /// Ends a lock in the segment; false if it is none.
    #[inline]
    pub(super) fn leave_lock<D: Device>(&mut self, engine: &mut Engine<D>, target: u32) -> bool {
        let Some(mapped) = &mut self.mapped else { return false };
        let Some(turn) = mapped.give_up(target) else { return false };
        mapped.leave(engine, &self.channel, target, turn);
        true
    }

    /// Looks for what a call waits for; whether everything is there.
    fn advance_wait<D: Device>(&mut self, engine: &mut Engine<D>, wait: &mut WindowWait) -> bool {
        if let Some(mut waits) = wait.targets.take() {
            self.advance_targets(engine, &mut waits);
            wait.targets = Some(waits).filter(|waits| !waits.is_empty());
        }
        let mapped = self.mapped.as_ref();
        if wait.posts {
            let targets = self.epochs.started().unwrap_or_default();
            let failures = &self.failures;
            let has_failed = |rank| failures.has_failed(rank);
            wait.posts = !self.target.posts.take(targets, mapped, has_failed);
        }
        if wait.completes {
            let origins = self.epochs.posted().unwrap_or_default();
            wait.completes = !self.target.completes.take(origins, mapped, |_| false);
        }
        wait.has_all()
    }

    fn advance_targets<D: Device>(&mut self, engine: &mut Engine<D>, waits: &mut TargetWaits) {
        waits.answers.retain(|answer| !self.origin.has_answered(engine, answer));
        waits.locals.retain(|target| !self.origin.collect(engine, *target));
        if self.failures.has_handed_over() {
            return self.ask_for_turns(engine, waits);
        }
        if let Some(mapped) = &self.mapped {
            waits.turns.retain(|target| !mapped.holds(*target));
        }
        while waits.turns.is_empty()
            && let Some(next) = waits.later_turns.pop()
        {
            if !self.enter_or_queue(engine, next, LockKind::Shared) {
                waits.turns.push(next);
            }
        }
    }

    /// Asks by messages for locks that were waited for in the segment, or would have been.
    #[cold]
    fn ask_for_turns<D: Device>(&mut self, engine: &mut Engine<D>, waits: &mut TargetWaits) {
        let turns = std::mem::take(&mut waits.turns);
        for target in turns.into_iter().chain(std::mem::take(&mut waits.later_turns)) {
            let withdrawn = self.mapped.as_mut().and_then(|mapped| mapped.take_withdrawn(target));
            if self.failures.has_failed(target) || self.origin.set_locked(target, true) {
                continue;
            }
            let kind = withdrawn.unwrap_or(LockKind::Shared);
            let is_of_all = waits.are_of_all;
            let ask = |answer| match is_of_all {
                true => WindowRequest::LockAll { answer: Some(answer) },
                false => WindowRequest::Lock { kind, answer },
            };
            waits.answers.push(self.origin.ask(engine, &self.channel, target, ask));
        }
    }
}
