//! Creation of windows: what each rank tells the others (MPI 5.0 §12.2).

use std::sync::Arc;

use super::channel::WindowChannel;
use super::{Window, WindowMemory};
use crate::device::Device;
use crate::engine::memory::Memory;
use crate::engine::schedules::plan::RunId;
use crate::mpi::Mpi;
use crate::mpi::collective::algorithms::{Collective, UniformBlocks};
use crate::mpi::handle::Handle;
use crate::mpi::request::Activity;
use platform::base::Result;
use platform::diagnosis::wait_report::WaitReport;

/// The memory of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PeerMemory {
    /// In bytes.
    pub(crate) size: u64,
    /// The displacement unit, in bytes.
    pub(crate) unit: i64,
}

/// The memories of all ranks.
#[derive(Clone, Debug)]
pub(super) struct WindowShape(Arc<[PeerMemory]>);

/// The exchange of these.
#[derive(Debug)]
pub(crate) struct WindowExchange {
    run: RunId,
    comm: Handle,
    window: Option<Window>,
}

impl PeerMemory {
    const BYTES: usize = 16;

    fn emit(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.size.to_le_bytes());
        bytes[8..].copy_from_slice(&self.unit.to_le_bytes());
        bytes
    }

    fn parse(bytes: &[u8; Self::BYTES]) -> Self {
        let bits = u128::from_le_bytes(*bytes);
        Self { size: bits as u64, unit: (bits >> 64) as i64 }
    }
}

impl From<&WindowMemory> for PeerMemory {
    fn from(memory: &WindowMemory) -> Self {
        Self { size: memory.size as u64, unit: memory.unit as i64 }
    }
}

impl WindowShape {
    /// Of no ranks.
    pub(super) fn empty() -> Self {
        Self(Arc::default())
    }

    #[inline]
    pub(super) fn of(&self, rank: u32) -> PeerMemory {
        self.0[rank as usize]
    }
}

impl<D: Device> Mpi<D> {
    /// Starts the exchange about `window`, which gets the private communicator `comm`.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub(crate) fn start_window_exchange(
        &mut self, mut window: Window, comm: Handle,
    ) -> Result<WindowExchange> {
        let private = self.comms.get(comm)?;
        window.connect(comm, WindowChannel::new(private));
        let size = private.size() as usize;
        let own = Memory::owned(PeerMemory::from(&*window.memory).emit());
        let all = Memory::owned(vec![0; PeerMemory::BYTES * size]);
        let blocks = UniformBlocks { block: PeerMemory::BYTES, in_place: false };
        let run = self.launch_on(comm, Collective::Allgather(blocks), vec![own, all])?;
        Ok(WindowExchange { run, comm, window: Some(window) })
    }

    /// The window, once all ranks have its memory.
    ///
    /// # Errors
    /// Errors of messages; `NoMem` without a free handle.
    pub(crate) fn end_window_exchange(
        &mut self, exchange: &mut WindowExchange,
    ) -> Result<Option<Handle>> {
        let Some(end) = self.engine.take_run_end(exchange.run) else { return Ok(None) };
        let Some(mut window) = exchange.window.take() else { return Ok(None) };
        if let Some(error) = end.error {
            self.free_comm(exchange.comm)?;
            return Err(error);
        }
        let mut bytes = vec![0; end.buffers[1].len()];
        end.buffers[1].pack(0, &mut bytes);
        let (records, _) = bytes.as_chunks();
        window.shape = WindowShape(records.iter().map(PeerMemory::parse).collect());
        if window.may_be_locked() {
            // Other processes may access this memory while the application computes.
            self.engine.note_long_start();
        }
        self.windows.insert(window).map(Some)
    }

    /// The call `function`, which waits for the exchange.
    pub(crate) fn blocked_window_exchange(
        &self, function: &str, exchange: &WindowExchange,
    ) -> WaitReport {
        self.blocked(function, [&Activity::Run(exchange.run)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_read_back() {
        for memory in
            [PeerMemory { size: 0, unit: 1 }, PeerMemory { size: 1 << 60, unit: i64::MAX }]
        {
            assert_eq!(PeerMemory::parse(&memory.emit()), memory);
        }
    }
}
