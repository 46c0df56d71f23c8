//! Functions of the application that have to be called before operations go on: reductions, and conversions of data
//! from files.
//!
//! They are called by a thread of the application, without the lock: the caller takes work, executes it, and returns
//! its end.

use super::Mpi;
use crate::device::Device;
use crate::engine::schedules::reduction::ReductionWork;
use crate::mpi::file::conversion::{ConversionEnd, ConversionWork};

/// Work for a thread of the application.
pub(crate) enum UserWork {
    Reduction(ReductionWork),
    Conversion(ConversionWork),
}

/// Work that has been executed.
pub(crate) enum UserWorkEnd {
    Reduction(ReductionWork),
    Conversion(ConversionEnd),
}

impl UserWork {
    /// Calls the function of the application. No lock may be held.
    pub(crate) fn execute(self) -> UserWorkEnd {
        match self {
            Self::Reduction(work) => {
                work.execute();
                UserWorkEnd::Reduction(work)
            }
            Self::Conversion(work) => UserWorkEnd::Conversion(work.execute()),
        }
    }
}

impl<D: Device> Mpi<D> {
    /// Whether there is work for a thread of the application.
    #[inline]
    pub(crate) fn has_user_work(&self) -> bool {
        self.engine.has_work() || self.files.has_conversions()
    }

    /// The next work for a thread of the application.
    pub(crate) fn take_user_work(&mut self) -> Option<UserWork> {
        let reduction = self.engine.take_work().map(UserWork::Reduction);
        reduction.or_else(|| self.files.take_conversion().map(UserWork::Conversion))
    }

    /// Operations go on after work that has been executed.
    pub(crate) fn end_user_work(&mut self, end: UserWorkEnd) {
        match end {
            UserWorkEnd::Reduction(work) => self.engine.work_done(&work),
            UserWorkEnd::Conversion(end) => self.end_conversion(end),
        }
    }
}
