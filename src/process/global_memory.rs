//! Global memory: its begin and end, and accesses that wait for room or for their ends.
#![allow(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::settings::Config;
use super::{Process, ProcessEngine, ProcessMpi, ThreadLevel};
use crate::global_memory::ActiveMemory;
use crate::global_memory::access::{AccessOrder, GlobalAccess};
use crate::global_memory::counts::WayCounts;
use crate::global_memory::front::GlobalFront;
use crate::mpi::handle::Handle;
use platform::base::Result;
use platform::diagnosis::wait_report::WaitReport;

impl Process {
    /// What accesses share on the short way; `None` unless global memory is in use.
    #[inline(always)]
    pub(crate) fn global_front(&self) -> Option<&'static GlobalFront> {
        // SAFETY: null, or a value that is never freed (`begin_global_memory`).
        unsafe { self.global_front.load(Ordering::Acquire).as_ref() }
    }

    /// The level of thread support for accesses: any threads make them, unless a setting excludes that.
    ///
    /// # Errors
    /// `Other` for an invalid setting.
    pub(crate) fn access_level(&self) -> Result<ThreadLevel> {
        let without_threads = Config::read()?.acp.without_threads;
        Ok(if without_threads { ThreadLevel::Serialized } else { ThreadLevel::Multiple })
    }

    /// Makes the global memory of a communicator, on all its ranks together.
    ///
    /// # Errors
    /// As [`ProcessMpi::start_global_memory`] and [`ProcessMpi::end_global_creation`].
    pub(crate) fn begin_global_memory(
        &'static self, name: &str, comm: Handle, bytes: [usize; 2],
    ) -> Result {
        let front = self.until(
            |mpi| mpi.start_global_memory(comm, bytes),
            |mpi, creation| mpi.end_global_creation(creation),
            |mpi, _| mpi.blocked_on(name, comm),
        )?;
        // It stays for threads that are about to use it.
        let front = Arc::into_raw(front).cast_mut();
        self.global_front.store(front, Ordering::Release);
        self.with_mpi(|mpi| {
            mpi.engine.note_long_start();
            Ok(())
        })
    }

    /// Ends the use of global memory, after all ranks have completed their accesses. Rank 0 prints which ways
    /// they took if decisions are explained.
    ///
    /// # Errors
    /// `Other` unless it is in use.
    pub(crate) fn end_global_memory(&'static self) -> Result {
        let is_told = Config::read().is_ok_and(|config| config.explain);
        let is_first = self.global_front().is_some_and(|front| front.rank() == 0);
        self.global_front.store(std::ptr::null_mut(), Ordering::Release);
        self.with_mpi(|mpi| {
            mpi.global_memory.active()?;
            mpi.end_global_memory();
            if is_told && is_first {
                eprintln!("Suiro: ACP on rank 0: {}", mpi.global_memory.counts());
            }
            Ok(())
        })
    }

    /// Which ways accesses have taken.
    pub(crate) fn access_counts(&'static self) -> WayCounts {
        self.with_mpi(|mpi| Ok(mpi.global_memory.counts())).unwrap_or_default()
    }

    /// Uses global memory without waiting.
    ///
    /// # Errors
    /// `Other` unless it is in use; the errors of `body`.
    pub(crate) fn with_global_memory<T>(
        &'static self, body: impl FnOnce(&mut ActiveMemory, &mut ProcessEngine) -> Result<T>,
    ) -> Result<T> {
        self.with_mpi(|mpi| body(mpi.global_memory.active()?, &mut mpi.engine))
    }

    /// Starts an access, and waits for room before if that is necessary; its number.
    ///
    /// # Errors
    /// As [`ActiveMemory::submit`].
    pub(crate) fn start_access(
        &'static self, access: GlobalAccess, order: AccessOrder, polls: bool,
    ) -> Result<u64> {
        let submit = |mpi: &mut ProcessMpi| {
            let active = mpi.global_memory.active()?;
            match active.has_room() {
                true => active.submit(&mut mpi.engine, access, order).map(Some),
                false => Ok(None),
            }
        };
        let started = match polls {
            true => self.test(submit, |_| true)?,
            false => self.with_mpi(submit)?,
        };
        match started {
            Some(number) => Ok(number),
            None => {
                self.until(|_| Ok(()), |mpi, ()| submit(mpi), |_, ()| WaitReport::new("acp_copy"))
            }
        }
    }

    /// Waits until all accesses up to this number have completed.
    ///
    /// # Errors
    /// Why an access could not be made.
    pub(crate) fn complete_accesses(&self, name: &str, number: u64) -> Result {
        self.until(
            |_| Ok(()),
            |mpi, ()| {
                let is_complete = mpi.global_memory.active()?.has_completed(number)?;
                Ok(is_complete.then_some(()))
            },
            |mpi, ()| mpi.blocked_access(name),
        )
    }

    /// Whether all accesses up to this number have completed, after a poll.
    ///
    /// # Errors
    /// As [`Process::complete_accesses`].
    pub(crate) fn are_accesses_complete(&self, number: u64) -> Result<bool> {
        self.test(|mpi| mpi.global_memory.active()?.has_completed(number), |complete| *complete)
    }

    /// Makes an access from its start to its end.
    ///
    /// # Errors
    /// As [`ActiveMemory::submit`], and why it could not be made.
    pub(crate) fn access(&'static self, name: &str, access: GlobalAccess) -> Result {
        let number = self.start_access(access, AccessOrder::Unordered, false)?;
        self.until(
            |_| Ok(()),
            |mpi, ()| {
                let active = mpi.global_memory.active()?;
                Ok(active.has_finished(&mut mpi.engine, number)?.then_some(()))
            },
            |mpi, ()| mpi.blocked_access(name),
        )
    }
}
