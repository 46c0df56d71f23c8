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
use crate::mpi::handle::Handle;
use crate::mpi::request::Activity;
use crate::shared_memory::primitive::full_fence;
pub(crate) use crate::shared_memory::turn_lock::LockKind;
use platform::base::Result;
use platform::diagnosis::wait_report::{WaitCondition, WaitReport};

/// Assertions of synchronization calls (§12.5.5), those that change what is done or are checked.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Assertions {
    /// `MPI_MODE_NOCHECK`
    pub(crate) no_check: bool,
    /// `MPI_MODE_NOPRECEDE`
    pub(crate) no_precede: bool,
    /// `MPI_MODE_NOSUCCEED`
    pub(crate) no_succeed: bool,
    /// `MPI_MODE_NOPUT`
    pub(crate) no_put: bool,
}

/// What a synchronization call waits for.
#[derive(Debug)]
pub(crate) struct WindowWait {
    window: Handle,
    answers: Vec<Answer>,
    /// The targets whose operations must complete at this process.
    locals: Vec<u32>,
    /// The targets whose locks in the segment are awaited.
    turns: Vec<u32>,
    /// The targets whose locks in the segment are asked for afterwards, the last one first.
    later_turns: Vec<u32>,
    /// Whether `MPI_Win_post` of the targets of this epoch is awaited.
    posts: bool,
    /// Whether `MPI_Win_complete` of the origins of this epoch is awaited.
    completes: bool,
    /// What is sent when all of this is there.
    then: Then,
    barrier: Option<Activity>,
}

/// The last step of a synchronization call.
#[derive(Debug, PartialEq, Eq)]
enum Then {
    Return,
    /// `MPI_Win_fence`
    Barrier,
    /// `MPI_Win_complete`
    Complete(Box<[u32]>),
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
        self.turns.is_empty()
            && self.later_turns.is_empty()
            && self.answers.is_empty()
            && self.locals.is_empty()
            && !self.posts
            && !self.completes
    }

    fn new(window: Handle) -> Self {
        Self {
            window,
            answers: Vec::new(),
            locals: Vec::new(),
            turns: Vec::new(),
            later_turns: Vec::new(),
            posts: false,
            completes: false,
            then: Then::Return,
            barrier: None,
        }
    }
}

impl<D: Device> Mpi<D> {
    /// `MPI_Win_fence`
    ///
    /// # Errors
    /// `Win`; `RmaSync` for a call in the wrong epoch; as all functions here.
    pub(crate) fn fence(&mut self, window: Handle, assertions: Assertions) -> Result<WindowWait> {
        let (engine, target) = self.window_and_engine(window)?;
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
        let of = match rank {
            Some(rank) if target.is_null_rank(rank) => return Ok(true),
            Some(rank) => Some(target.check_rank(rank)?),
            None => None,
        };
        target.epochs.check_passive(name, of)?;
        let is_idle = target.origin.is_idle();
        // A loop of flushes, which waits for what another rank does, makes progress.
        self.poll();
        Ok(is_idle)
    }

    /// `MPI_Win_sync`
    ///
    /// # Errors
    /// `Win`
    pub(crate) fn sync_window(&mut self, window: Handle) -> Result {
        let is_poll_due = self.windows.get_mut(window)?.direct.is_poll_due();
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
    pub(crate) fn flush_window(
        &mut self, name: &str, window: Handle, rank: Option<i32>, is_local: bool,
    ) -> Result<WindowWait> {
        let (engine, target) = self.window_and_engine(window)?;
        let mut wait = WindowWait::new(window);
        let of = match rank {
            Some(rank) if target.is_null_rank(rank) => return Ok(wait),
            Some(rank) => Some(target.check_rank(rank)?),
            None => None,
        };
        target.epochs.check_passive(name, of)?;
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
            true => wait.locals = busy,
            false => target.flush(engine, busy, &mut wait),
        }
        Ok(wait)
    }

    /// `MPI_Win_lock`
    ///
    /// # Errors
    /// As of [`Mpi::fence`]; `Rank`.
    pub(crate) fn lock_window(
        &mut self, window: Handle, rank: i32, kind: LockKind, assertions: Assertions,
    ) -> Result<WindowWait> {
        let (engine, target) = self.window_and_engine(window)?;
        let mut wait = WindowWait::new(window);
        if target.is_null_rank(rank) {
            return Ok(wait);
        }
        let rank = target.check_rank(rank)?;
        target.check_locks()?;
        target.epochs.check_lock(rank)?;
        target.epochs.lock(rank);
        if !assertions.no_check {
            target.request_lock(engine, rank, kind, &mut wait);
        }
        Ok(wait)
    }

    /// `MPI_Win_lock_all`
    ///
    /// # Errors
    /// As of [`Mpi::fence`].
    pub(crate) fn lock_all_window(
        &mut self, window: Handle, assertions: Assertions,
    ) -> Result<WindowWait> {
        let (engine, target) = self.window_and_engine(window)?;
        let mut wait = WindowWait::new(window);
        target.check_locks()?;
        target.epochs.lock_all()?;
        target.locks_on_access = !assertions.no_check;
        if let (true, Some(words)) = (target.locks_on_access, target.words()) {
            // One after the other, in the order of all processes: no two wait for each other.
            wait.later_turns = words.ranks().iter().rev().copied().collect();
        } else if target.locks_on_access {
            target.request_own_locks(engine, &mut wait);
        }
        Ok(wait)
    }

    /// `MPI_Win_unlock` of one target, or `MPI_Win_unlock_all`.
    ///
    /// # Errors
    /// As of [`Mpi::fence`]; `Rank`.
    pub(crate) fn unlock_window(
        &mut self, window: Handle, rank: Option<i32>,
    ) -> Result<WindowWait> {
        // A loop of locks, which waits for what another rank does, makes progress.
        self.poll();
        let (engine, target) = self.window_and_engine(window)?;
        let mut wait = WindowWait::new(window);
        let targets = match rank {
            Some(rank) if target.is_null_rank(rank) => return Ok(wait),
            Some(rank) => {
                let rank = target.check_rank(rank)?;
                target.epochs.unlock(rank)?;
                if target.origin.is_idle() && target.leave_lock(engine, rank) {
                    return Ok(wait);
                }
                vec![rank]
            }
            None => {
                target.epochs.unlock_all()?;
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
        wait.locals = targets.clone();
        wait.then = Then::Unlock(targets);
        Ok(wait)
    }

    /// `MPI_Win_post`
    ///
    /// # Errors
    /// As of [`Mpi::fence`].
    pub(crate) fn post_window(
        &mut self, window: Handle, origins: Box<[u32]>, assertions: Assertions,
    ) -> Result {
        let (engine, target) = self.window_and_engine(window)?;
        target.epochs.check_post()?;
        target.expose(EpochKind::Exposure, assertions);
        if !assertions.no_check {
            for origin in &origins {
                target.tell(engine, *origin, WindowCall::Post);
            }
        }
        target.epochs.post(origins);
        Ok(())
    }

    /// `MPI_Win_start`
    ///
    /// # Errors
    /// As of [`Mpi::fence`].
    pub(crate) fn start_window(
        &mut self, window: Handle, targets: Box<[u32]>, assertions: Assertions,
    ) -> Result<WindowWait> {
        let (_, target) = self.window_and_engine(window)?;
        let mut wait = WindowWait::new(window);
        wait.posts = !assertions.no_check;
        target.epochs.start(targets)?;
        Ok(wait)
    }

    /// `MPI_Win_complete`
    ///
    /// # Errors
    /// As of [`Mpi::fence`].
    pub(crate) fn complete_window(&mut self, window: Handle) -> Result<WindowWait> {
        let (engine, target) = self.window_and_engine(window)?;
        let targets = target.epochs.complete()?;
        let mut wait = WindowWait::new(window);
        if let Some(check) = &mut target.access_check {
            check.end(None);
            target.flush(engine, target.origin.busy(), &mut wait);
        }
        if !target.origin.is_idle() {
            target.expects_flush = false;
            wait.locals = targets.to_vec();
        }
        wait.then = Then::Complete(targets);
        Ok(wait)
    }

    /// `MPI_Win_wait`
    ///
    /// # Errors
    /// As of [`Mpi::fence`].
    pub(crate) fn wait_window(&mut self, window: Handle) -> Result<WindowWait> {
        let (_, target) = self.window_and_engine(window)?;
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
    /// The first error of an operation that it completes.
    pub(crate) fn end_window_wait(&mut self, wait: &mut WindowWait) -> Result<Option<()>> {
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
                Then::Barrier => {
                    let comm = window.comm;
                    wait.barrier = Some(self.start_barrier(comm)?);
                }
                Then::Complete(targets) => window.send_completes(engine, &targets),
                Then::Unlock(targets) => {
                    window.send_unlocks(engine, &targets, wait);
                    wait.then = Then::Leave(targets);
                }
                Then::Leave(targets) => window.leave_locks(engine, &targets),
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

    fn window_and_engine(&mut self, window: Handle) -> Result<(&mut Engine<D>, &mut Window)> {
        Ok((&mut self.engine, self.windows.get_mut(window)?))
    }
}

impl Window {
    /// The call `name`, which waits for other ranks. An answer may depend on any of them: a lock that a
    /// third rank holds can delay it.
    fn blocked(&self, name: &str, wait: &WindowWait) -> WaitReport {
        let mapped = self.mapped.as_ref();
        let targets = if wait.posts { self.epochs.started() } else { &[] };
        let posts: Vec<_> = self.target.posts.missing(targets, mapped).collect();
        let origins = self.epochs.posted().ok().filter(|_| wait.completes).unwrap_or_default();
        let completes: Vec<_> = self.target.completes.missing(origins, mapped).collect();
        let mut answers: Vec<_> = wait.answers.iter().map(|answer| answer.target).collect();
        answers.extend(&wait.locals);
        answers.sort_unstable();
        answers.dedup();
        let mut words = Vec::new();
        let mut conditions = Vec::new();
        for (call, of) in [("MPI_Win_post", posts), ("MPI_Win_complete", completes)] {
            if !of.is_empty() {
                words.push(format!("{call} of {}", ranks(of.iter().copied())));
                conditions.push(self.condition(&of, false));
            }
        }
        for turn in &wait.turns {
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
        let me = self.channel.rank;
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
            wait.answers.push(self.origin.ask(engine, &self.channel, *target, ask));
        }
        wait.locals = targets;
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
        wait.answers.push(self.origin.ask(engine, &self.channel, rank, ask));
    }

    /// Asks for a lock in the segment.
    fn request_turn<D: Device>(
        &mut self, engine: &mut Engine<D>, rank: u32, kind: LockKind, wait: &mut WindowWait,
    ) {
        let Some(mapped) = &mut self.mapped else { return };
        if !mapped.enter_or_queue(engine, &self.channel, rank, kind) {
            wait.turns.push(rank);
        }
    }

    /// Asks for the locks of `MPI_Win_lock_all` that loads, stores and direct copies of this process need:
    /// those of this node. They are waited for.
    fn request_own_locks<D: Device>(&mut self, engine: &mut Engine<D>, wait: &mut WindowWait) {
        let own = [self.channel.rank];
        let here = self.mapped.as_ref().map_or(&own[..], MappedMemory::ranks).to_vec();
        for rank in here {
            self.origin.set_locked(rank, true);
            let ask = |answer| WindowRequest::LockAll { answer: Some(answer) };
            wait.answers.push(self.origin.ask(engine, &self.channel, rank, ask));
        }
    }

    /// The segment, if locks are its words: all ranks are on this node.
    pub(super) fn words(&self) -> Option<&MappedMemory> {
        let size = self.channel.size() as usize;
        self.mapped.as_ref().filter(|mapped| mapped.ranks().len() == size)
    }

    /// Asks for the lock of `MPI_Win_lock_all` at the first access of a target.
    pub(super) fn lock_if_due<D: Device>(&mut self, engine: &mut Engine<D>, target: u32) {
        let is_due = self.locks_on_access && self.words().is_none();
        if is_due && !self.origin.set_locked(target, true) {
            let request = WindowRequest::LockAll { answer: None };
            self.origin.request(engine, &self.channel, target, &request);
        }
    }

    fn send_completes<D: Device>(&mut self, engine: &mut Engine<D>, targets: &[u32]) {
        for target in targets {
            self.tell(engine, *target, WindowCall::Complete);
        }
    }

    /// Tells a rank of a call; after all operations on it.
    fn tell<D: Device>(&mut self, engine: &mut Engine<D>, rank: u32, call: WindowCall) {
        let mapped = self.mapped.as_ref().filter(|mapped| mapped.reaches(rank));
        if let Some(mapped) = mapped.filter(|_| !self.origin.is_unflushed(rank)) {
            return mapped.call(engine, &self.channel, call, rank);
        }
        let request = match call {
            WindowCall::Post => WindowRequest::Post,
            WindowCall::Complete => {
                self.origin.set_flushed(rank);
                WindowRequest::Complete
            }
        };
        self.origin.request(engine, &self.channel, rank, &request);
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
                wait.answers.push(self.origin.ask(engine, &self.channel, *target, ask));
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
        wait.answers.retain(|answer| !self.origin.has_answered(engine, answer));
        wait.locals.retain(|target| !self.origin.collect(engine, *target));
        if let Some(mapped) = &self.mapped {
            wait.turns.retain(|target| !mapped.holds(*target));
        }
        while wait.turns.is_empty()
            && let Some(next) = wait.later_turns.pop()
        {
            self.request_turn(engine, next, LockKind::Shared, wait);
        }
        let mapped = self.mapped.as_ref();
        if wait.posts && self.target.posts.take(self.epochs.started(), mapped) {
            wait.posts = false;
        }
        if wait.completes {
            let origins = self.epochs.posted().unwrap_or_default();
            wait.completes = !self.target.completes.take(origins, mapped);
        }
        wait.has_all()
    }
}
