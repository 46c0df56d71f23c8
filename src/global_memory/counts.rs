//! Which ways accesses have taken.

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
