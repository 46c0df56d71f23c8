//! Which ways accesses have taken.

use std::fmt::{self, Display, Formatter};

/// Numbers of accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WayCounts {
    /// By the processor of this rank.
    pub(crate) processor: u64,
    /// By the device.
    pub(crate) device: u64,
    /// By the device, which also kept their order: deferred work.
    pub(crate) deferred: u64,
    /// By other ranks for this one.
    pub(crate) delegated: u64,
    /// By this rank for others.
    pub(crate) served: u64,
}

impl WayCounts {
    pub(crate) fn count_device(&mut self, is_deferred: bool) {
        match is_deferred {
            true => self.deferred += 1,
            false => self.device += 1,
        }
    }

    pub(crate) fn count_delegated(&mut self) {
        self.delegated += 1;
    }
}

impl Display for WayCounts {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let Self { processor, device, deferred, delegated, served } = self;
        write!(
            formatter,
            "{processor} accesses by the processor, {device} by the device, {deferred} deferred in the \
             device, {delegated} by other ranks, {served} for other ranks"
        )
    }
}
