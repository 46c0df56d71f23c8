//! The epochs of a window at one process (MPI 5.0 §12.5): which calls are legal.
//!
//! ```text
//!  access      Closed ──fence──> Fenced ──operation──> Fenced, used ──fence──> Fenced or Closed
//!                │ ^                └──start, lock, lock_all: no operation has followed the fence
//!                │ └──────complete, unlock of the last target, unlock_all
//!                └──start──> Started, ──lock──> Locked, ──lock_all──> LockedAll
//!  exposure    none ──post──> posted ──wait, test──> none
//! ```
//!
//! This is a value: other processes, memory and the synchronization itself are not in this module. The
//! caller checks the ranks first.

use std::fmt;

use super::conflicts::EpochKind;
use platform::base::{ErrorClass, Result};

/// The epochs of a window at this process.
#[derive(Debug, Default)]
pub(crate) struct Epochs {
    access: AccessEpoch,
    /// The targets of [`AccessEpoch::Locked`]; kept apart, as the next two, so that no epoch allocates memory
    /// again.
    locked: Vec<u32>,
    /// The targets of [`AccessEpoch::Started`].
    started: Vec<u32>,
    /// The origins of an exposure epoch.
    posted: Vec<u32>,
    /// Whether there is one: `MPI_Win_post` has opened it.
    is_posted: bool,
    /// Fences so far.
    fences: u64,
}

/// In which epoch this process may access the memory of others.
#[derive(Debug, Default)]
enum AccessEpoch {
    #[default]
    Closed,
    /// After a fence that another one may follow. It has opened an epoch if operations are `used`.
    Fenced {
        used: bool,
    },
    /// Of `MPI_Win_start`.
    Started,
    /// Of `MPI_Win_lock`, one epoch for each target.
    Locked,
    LockedAll,
}

impl Epochs {
    /// A fence; `is_last` if the caller asserts that no operation follows.
    ///
    /// # Errors
    /// `RmaSync` within an epoch of another kind; as all functions here.
    pub(crate) fn fence(&mut self, is_last: bool) -> Result {
        if !matches!(self.access, AccessEpoch::Closed | AccessEpoch::Fenced { .. }) {
            return self.refuse("a fence closes epochs of fences only");
        }
        self.check_unexposed("a fence")?;
        self.access =
            if is_last { AccessEpoch::Closed } else { AccessEpoch::Fenced { used: false } };
        self.fences += 1;
        Ok(())
    }

    /// What completes an operation that starts now; [`Epochs::operate`] has allowed it.
    pub(super) fn kind(&self) -> EpochKind {
        match self.access {
            AccessEpoch::Closed | AccessEpoch::Fenced { .. } => EpochKind::Fence(self.fences),
            AccessEpoch::Started => EpochKind::Exposure,
            AccessEpoch::Locked | AccessEpoch::LockedAll => EpochKind::Lock,
        }
    }

    /// An operation on the memory of `target`.
    #[inline]
    pub(crate) fn operate(&mut self, target: u32) -> Result {
        match self.admit(target) {
            true => Ok(()),
            false => self.refuse(&format!("no epoch gives access to rank {target}")),
        }
    }

    /// [`Epochs::operate`] without a sentence: whether it is legal.
    #[inline(always)]
    pub(crate) fn admit(&mut self, target: u32) -> bool {
        match &mut self.access {
            AccessEpoch::LockedAll => true,
            AccessEpoch::Fenced { used } => {
                *used = true;
                true
            }
            AccessEpoch::Locked => self.locked.contains(&target),
            AccessEpoch::Started => self.started.contains(&target),
            AccessEpoch::Closed => false,
        }
    }

    /// Whether locks give access to `target`, or to some rank.
    #[inline(always)]
    pub(crate) fn is_passive(&self, target: Option<u32>) -> bool {
        match self.access {
            AccessEpoch::LockedAll => true,
            AccessEpoch::Locked => target.is_none_or(|target| self.locked.contains(&target)),
            _ => false,
        }
    }

    /// Opens an access epoch to `targets`.
    ///
    /// # Errors
    /// As of [`Epochs::fence`], or that of a target.
    pub(crate) fn start(&mut self, targets: impl Iterator<Item = Result<u32>>) -> Result {
        self.check_closed("MPI_Win_start")?;
        refill(&mut self.started, targets)?;
        self.access = AccessEpoch::Started;
        Ok(())
    }

    /// The targets of the epoch of [`Epochs::start`], which stays open.
    pub(crate) fn started(&self) -> Result<&[u32]> {
        match self.access {
            AccessEpoch::Started => Ok(&self.started),
            _ => self.refuse("MPI_Win_complete needs an epoch of MPI_Win_start"),
        }
    }

    /// The targets of the last epoch of [`Epochs::start`], open or closed.
    pub(crate) fn last_started(&self) -> &[u32] {
        &self.started
    }

    /// Closes this epoch.
    pub(crate) fn complete(&mut self) {
        self.access = AccessEpoch::Closed;
    }

    /// Exposes the memory of this process to `origins`.
    ///
    /// # Errors
    /// As of [`Epochs::fence`], or that of an origin.
    pub(crate) fn post(&mut self, origins: impl Iterator<Item = Result<u32>>) -> Result {
        self.check_unexposed("MPI_Win_post")?;
        if let AccessEpoch::Fenced { used: true } = self.access {
            return self.refuse("MPI_Win_post exposes memory that a fence exposes");
        }
        refill(&mut self.posted, origins)?;
        self.is_posted = true;
        Ok(())
    }

    /// The origins of the exposure epoch, which stays open.
    pub(crate) fn posted(&self) -> Result<&[u32]> {
        if !self.is_posted {
            let why = "no epoch of MPI_Win_post is open: there is nothing to wait for";
            return Err(ErrorClass::RmaSync.error(why));
        }
        Ok(&self.posted)
    }

    /// All origins have completed.
    pub(crate) fn end_exposure(&mut self) {
        self.is_posted = false;
    }

    /// Whether `target` may be locked now.
    pub(crate) fn check_lock(&self, target: u32) -> Result {
        match &self.access {
            _ if self.may_lock(target) => return Ok(()),
            AccessEpoch::Locked if self.locked.contains(&target) => {
                return self.refuse(&format!("rank {target} cannot be locked again"));
            }
            AccessEpoch::Locked => {}
            _ => self.check_closed("MPI_Win_lock")?,
        }
        self.check_unexposed("MPI_Win_lock")
    }

    /// [`Epochs::check_lock`] without a sentence.
    #[inline(always)]
    pub(crate) fn may_lock(&self, target: u32) -> bool {
        let is_free = match self.access {
            AccessEpoch::Locked => !self.locked.contains(&target),
            AccessEpoch::Closed | AccessEpoch::Fenced { used: false } => true,
            _ => false,
        };
        is_free && !self.is_posted
    }

    /// The lock of `target` is held. [`Epochs::check_lock`] has allowed it.
    pub(crate) fn lock(&mut self, target: u32) {
        self.access = AccessEpoch::Locked;
        self.locked.push(target);
    }

    /// Ends the lock of `target`.
    pub(crate) fn unlock(&mut self, target: u32) -> Result {
        match self.try_unlock(target) {
            true => Ok(()),
            false => self.refuse(&format!("MPI_Win_unlock: rank {target} is not locked")),
        }
    }

    /// [`Epochs::unlock`] without a sentence: whether `target` was locked.
    #[inline(always)]
    pub(crate) fn try_unlock(&mut self, target: u32) -> bool {
        let Some(place) = self.locked.iter().position(|locked| *locked == target) else {
            return false;
        };
        self.locked.swap_remove(place);
        if self.locked.is_empty() {
            self.access = AccessEpoch::Closed;
        }
        true
    }

    /// Opens the epoch of all targets.
    pub(crate) fn lock_all(&mut self) -> Result {
        self.check_closed("MPI_Win_lock_all")?;
        self.check_unexposed("MPI_Win_lock_all")?;
        self.access = AccessEpoch::LockedAll;
        Ok(())
    }

    /// Closes the epoch of all targets.
    pub(crate) fn unlock_all(&mut self) -> Result {
        if !matches!(self.access, AccessEpoch::LockedAll) {
            return self.refuse("MPI_Win_unlock_all needs an epoch of MPI_Win_lock_all");
        }
        self.access = AccessEpoch::Closed;
        Ok(())
    }

    /// Whether the operations on `target`, or on all targets, may be completed by a flush (§12.5.4).
    #[inline]
    pub(crate) fn check_passive(&self, name: &str, target: Option<u32>) -> Result {
        match target {
            _ if self.is_passive(target) => Ok(()),
            Some(target) => self.refuse(&format!("{name}: rank {target} is not locked")),
            None => self.refuse(&format!("{name}: no rank is locked")),
        }
    }

    /// Whether the window may be freed.
    pub(crate) fn check_free(&self) -> Result {
        self.check_closed("MPI_Win_free")?;
        self.check_unexposed("MPI_Win_free")
    }

    /// No access epoch is open, or one of fences without operations.
    fn check_closed(&self, name: &str) -> Result {
        match self.access {
            AccessEpoch::Closed | AccessEpoch::Fenced { used: false } => Ok(()),
            _ => self.refuse(&format!("{name} is not allowed within an access epoch")),
        }
    }

    fn check_unexposed(&self, name: &str) -> Result {
        if !self.is_posted {
            return Ok(());
        }
        let origins = ranks(self.posted.iter().copied());
        Err(ErrorClass::RmaSync.error(format!(
            "{name} is not allowed within an exposure epoch: that of MPI_Win_post to {origins} is open"
        )))
    }

    #[cold]
    fn refuse<T>(&self, rule: &str) -> Result<T> {
        Err(ErrorClass::RmaSync.error(format!("{rule}: {self}")))
    }
}

/// A clause about the open epoch.
impl fmt::Display for Epochs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.access {
            AccessEpoch::Closed => f.write_str("no access epoch is open"),
            AccessEpoch::Fenced { used: true } => {
                f.write_str("the epoch of MPI_Win_fence is open, with operations")
            }
            AccessEpoch::Fenced { used: false } => {
                f.write_str("the epoch of MPI_Win_fence is open, without operations")
            }
            AccessEpoch::Started => {
                let targets = ranks(self.started.iter().copied());
                write!(f, "the epoch of MPI_Win_start to {targets} is open")
            }
            AccessEpoch::Locked => {
                write!(f, "the lock of {} is held", ranks(self.locked.iter().copied()))
            }
            AccessEpoch::LockedAll => f.write_str("the epoch of MPI_Win_lock_all is open"),
        }
    }
}

/// Replaces the content of a list; incomplete after an error.
fn refill(list: &mut Vec<u32>, ranks: impl Iterator<Item = Result<u32>>) -> Result {
    list.clear();
    for rank in ranks {
        list.push(rank?);
    }
    Ok(())
}

/// The names of some ranks in a message.
pub(super) fn ranks(all: impl Iterator<Item = u32>) -> String {
    // Longer lists say no more.
    const NAMED_MAX: usize = 8;
    let all: Vec<_> = all.collect();
    let named: Vec<_> = all.iter().take(NAMED_MAX).map(u32::to_string).collect();
    match all.len() {
        0 => "no rank".into(),
        1 => format!("rank {}", named[0]),
        count if count > NAMED_MAX => format!("{count} ranks ({}, ...)", named.join(", ")),
        _ => format!("ranks {}", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why<T: fmt::Debug>(result: Result<T>) -> String {
        let error = result.unwrap_err();
        assert_eq!(error.code.0, ErrorClass::RmaSync as i32, "{error}");
        error.why
    }

    fn started(targets: &[u32]) -> Epochs {
        let mut epochs = Epochs::default();
        epochs.start(targets.iter().copied().map(Ok)).unwrap();
        epochs
    }

    fn locked(targets: &[u32]) -> Epochs {
        let mut epochs = Epochs::default();
        for target in targets {
            epochs.check_lock(*target).unwrap();
            epochs.lock(*target);
        }
        epochs
    }

    #[test]
    fn a_fence_opens_an_epoch_if_operations_follow() {
        let mut epochs = Epochs::default();
        epochs.fence(false).unwrap();
        // MPI 5.0 §12.5.1: without operations there is no epoch.
        epochs.check_lock(1).unwrap();
        epochs.lock(1);
        epochs.operate(1).unwrap();
        epochs.unlock(1).unwrap();
        assert_eq!(
            why(epochs.operate(1)),
            "no epoch gives access to rank 1: no access epoch is open"
        );
        epochs.fence(false).unwrap();
        epochs.operate(0).unwrap();
        assert!(why(epochs.check_lock(1)).contains("MPI_Win_fence is open, with operations"));
        assert!(why(epochs.check_free()).contains("MPI_Win_free is not allowed"));
        epochs.fence(true).unwrap();
        assert!(why(epochs.operate(1)).contains("no access epoch"));
        epochs.check_free().unwrap();
    }

    #[test]
    fn an_operation_needs_the_epoch_of_its_target() {
        let mut epochs = started(&[2, 5]);
        epochs.operate(5).unwrap();
        let open = "the epoch of MPI_Win_start to ranks 2, 5 is open";
        assert!(why(epochs.operate(3)).ends_with(open));
        assert!(why(epochs.check_lock(3)).ends_with(open));
        assert!(why(epochs.fence(false)).ends_with(open));
        assert!(why(epochs.start([Ok(1)].into_iter())).ends_with(open));
        assert!(why(epochs.check_passive("MPI_Win_flush", Some(5))).ends_with(open));
        assert_eq!(epochs.started().unwrap(), [2, 5]);
        epochs.complete();
        assert!(why(epochs.started()).ends_with("no access epoch is open"));
        let unknown = ErrorClass::Rank.error("no such rank");
        let targets = [Ok(1), Err(unknown)].into_iter();
        assert_eq!(epochs.start(targets).unwrap_err().why, "no such rank");
        assert!(why(epochs.operate(1)).ends_with("no access epoch is open"));
        let mut epochs = locked(&[4, 7]);
        epochs.operate(7).unwrap();
        assert!(why(epochs.operate(5)).ends_with("the lock of ranks 4, 7 is held"));
        let mut all = Epochs::default();
        all.lock_all().unwrap();
        all.operate(1 << 20).unwrap();
        assert!(why(all.unlock(1)).ends_with("the epoch of MPI_Win_lock_all is open"));
    }

    #[test]
    fn several_targets_are_locked_and_each_once() {
        let mut epochs = locked(&[1, 3]);
        assert!(why(epochs.check_lock(3)).starts_with("rank 3 cannot be locked again"));
        assert!(why(epochs.lock_all()).contains("the lock of ranks 1, 3 is held"));
        epochs.check_passive("MPI_Win_flush", Some(1)).unwrap();
        epochs.check_passive("MPI_Win_flush_all", None).unwrap();
        epochs.unlock(1).unwrap();
        assert!(why(epochs.unlock(1)).starts_with("MPI_Win_unlock: rank 1 is not locked"));
        assert!(why(epochs.check_passive("MPI_Win_flush", Some(1))).contains("rank 1 is not"));
        epochs.unlock(3).unwrap();
        assert!(why(epochs.check_passive("MPI_Win_flush_all", None)).contains("no rank is locked"));
        epochs.lock_all().unwrap();
        assert!(why(epochs.lock_all()).contains("MPI_Win_lock_all is open"));
        epochs.unlock_all().unwrap();
        assert!(why(epochs.unlock_all()).contains("needs an epoch of MPI_Win_lock_all"));
    }

    #[test]
    fn an_exposed_window_may_be_accessed_but_not_locked_or_fenced() {
        let mut epochs = Epochs::default();
        assert!(why(epochs.posted()).contains("nothing to wait for"));
        epochs.post([Ok(0)].into_iter()).unwrap();
        assert_eq!(epochs.posted().unwrap(), [0]);
        epochs.start([].into_iter()).unwrap();
        epochs.complete();
        let open = "that of MPI_Win_post to rank 0 is open";
        assert!(why(epochs.post([Ok(1)].into_iter())).ends_with(open));
        assert!(why(epochs.fence(false)).ends_with(open));
        assert!(why(epochs.check_lock(0)).ends_with(open));
        assert!(why(epochs.lock_all()).ends_with(open));
        assert!(why(epochs.check_free()).ends_with(open));
        epochs.end_exposure();
        epochs.check_free().unwrap();
    }

    #[test]
    fn long_lists_of_ranks_are_cut() {
        assert_eq!(ranks(0..0), "no rank");
        assert_eq!(ranks(0..8), "ranks 0, 1, 2, 3, 4, 5, 6, 7");
        assert_eq!(ranks(0..9), "9 ranks (0, 1, 2, 3, 4, 5, 6, 7, ...)");
    }
}
