//! Checked mode of windows (`SUIRO_CHECK=1`): every operation is compared with those in progress on the
//! same memory (`conflicts`), twice.
//!
//! ```text
//!   origin   operation ──own operations on this target──> an error of the call, nothing happens
//!               │
//!   target      └──request──> operations of all origins ──> an error of the next answer to that origin
//! ```
//!
//! An origin waits for an answer of the target when a flush, an unlock, a fence or `MPI_Win_complete` ends
//! its operations. So two operations that a target has in its table at once have both started before
//! either was complete, whatever messages the application sends, and there are no false reports.

use std::collections::BTreeMap;

use super::Window;
use super::conflicts::{Access, AccessKind, AccessTable, EpochKind, ranges};
use super::operation::{CompletionForm, TargetArguments};
use super::request_message::WindowRequest;
use super::synchronization::Assertions;
use crate::device::Device;
use crate::engine::Engine;
use platform::base::{ErrorClass, Result};

/// The operations of this process in progress, by target.
#[derive(Debug, Default)]
pub(super) struct AccessCheck {
    targets: BTreeMap<u32, AccessTable>,
}

impl AccessCheck {
    /// Whether operations are in progress.
    fn has_operations(&self) -> bool {
        self.targets.values().any(|table| !table.is_empty())
    }

    /// The operations on a target are complete, or those on all.
    pub(super) fn end(&mut self, target: Option<u32>) {
        match target {
            Some(target) => drop(self.targets.remove(&target)),
            None => self.targets.clear(),
        }
    }

    /// The operations on a target, or on all, that fetch data are complete.
    pub(super) fn end_fetching(&mut self, target: Option<u32>) {
        let concerned = |of: &u32| target.is_none_or(|target| target == *of);
        for (_, table) in self.targets.iter_mut().filter(|(of, _)| concerned(of)) {
            table.remove(|access| access.kind.fetches());
        }
    }
}

impl Window {
    /// Checks operations from now on. No operation has started yet.
    pub(super) fn check_accesses(&mut self) {
        self.access_check = Some(Box::default());
        let own = self.channel.rank();
        self.target.accesses = Some(self.access_table(own));
    }

    fn access_table(&self, target: u32) -> AccessTable {
        AccessTable::new(target, (!self.is_dynamic()).then(|| self.shape.of(target).unit))
    }

    /// Compares an operation that starts with those in progress, in checked mode.
    ///
    /// # Errors
    /// `RmaConflict` if it conflicts with one of this process.
    #[inline]
    pub(super) fn check_conflicts<D: Device>(
        &mut self, engine: &mut Engine<D>, (target, offset): (u32, i64), to: &TargetArguments<'_>,
        kind: AccessKind, completion: CompletionForm<'_>,
    ) -> Result {
        match self.access_check {
            None => Ok(()),
            Some(_) => self.compare_access(engine, (target, offset), to, kind, completion),
        }
    }

    #[cold]
    fn compare_access<D: Device>(
        &mut self, engine: &mut Engine<D>, (target, offset): (u32, i64), to: &TargetArguments<'_>,
        kind: AccessKind, completion: CompletionForm<'_>,
    ) -> Result {
        let Some(ranges) = ranges(offset, to.count, to.datatype.layout()) else { return Ok(()) };
        let epoch = self.epochs.kind();
        let access = Access { origin: self.channel.rank(), kind, epoch };
        let unused = self.access_table(target);
        let Some(check) = &mut self.access_check else { return Ok(()) };
        let table = check.targets.entry(target).or_insert(unused);
        table.check(access, &ranges)?;
        // The request of a fetching operation may complete it at any time.
        let is_short = completion != CompletionForm::Epoch && kind.fetches();
        if !is_short && !table.insert(access, &ranges) {
            // The target knows this access.
            return Ok(());
        }
        let range = self.range(engine, target, offset, to);
        let request = WindowRequest::Access { range, kind, epoch };
        self.origin.request(engine, &self.channel, target, &request);
        self.origin.note(engine, target, None, None, None);
        Ok(())
    }

    /// A fence ends the operations of this process. Whether there are any: then the fence completes them,
    /// and returns an error if they are denied by `MPI_MODE_NOPRECEDE`.
    pub(super) fn check_fence(&mut self, assertions: Assertions) -> bool {
        let Some(check) = &mut self.access_check else { return false };
        let precedes = check.has_operations();
        check.end(None);
        if precedes && assertions.no_precede {
            let why = "MPI_MODE_NOPRECEDE is asserted, but this rank has started operations since the \
                       last fence: this fence completes them";
            self.origin.keep_error(ErrorClass::Assert.error(why));
        }
        self.expose(self.epochs.kind(), assertions);
        precedes
    }

    /// An epoch has begun in which this process may assert that nothing updates its memory.
    pub(super) fn expose(&mut self, epoch: EpochKind, assertions: Assertions) {
        if let Some(table) = self.target.accesses.as_mut().filter(|_| assertions.no_put) {
            table.set_read_only(epoch);
        }
    }

    /// The exposure epoch of this process has ended.
    pub(super) fn end_exposure(&mut self) {
        self.epochs.end_exposure();
        if let Some(table) = &mut self.target.accesses {
            table.end_exposure();
        }
    }
}
