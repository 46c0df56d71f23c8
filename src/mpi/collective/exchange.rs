//! An exchange of a few words between all ranks of a communicator: what each tells the others when an object
//! is created.

use crate::device::Device;
use crate::engine::memory::Memory;
use crate::engine::schedules::plan::{RunEnd, RunId};
use crate::mpi::Mpi;
use crate::mpi::collective::algorithms::{Collective, UniformBlocks};
use crate::mpi::handle::Handle;
use platform::base::Result;

impl<D: Device> Mpi<D> {
    /// Starts to tell the record of this rank to all, with as many words on all of them; [`exchanged`] has
    /// those of all ranks afterwards.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub(crate) fn start_exchange<const WORDS: usize>(
        &mut self, comm: Handle, record: [u64; WORDS],
    ) -> Result<RunId> {
        let size = self.comms.get(comm)?.size() as usize;
        let own = Memory::owned(record.map(u64::to_le_bytes).concat());
        let block = own.len();
        let all = Memory::owned(vec![0; block * size]);
        let blocks = UniformBlocks { block, in_place: false };
        self.launch_on(comm, Collective::Allgather(blocks), vec![own, all])
    }

    /// The end of a run that has completed.
    ///
    /// # Errors
    /// That of the run.
    pub(crate) fn run_end(&mut self, run: RunId) -> Result<Option<RunEnd>> {
        match self.engine.take_run_end(run) {
            Some(RunEnd { error: Some(error), .. }) => Err(error),
            end => Ok(end),
        }
    }

    /// The buffers of a run that has completed.
    ///
    /// # Errors
    /// That of the run.
    pub(crate) fn run_buffers(&mut self, run: RunId) -> Result<Option<Vec<Memory>>> {
        Ok(self.run_end(run)?.map(|end| end.buffers))
    }
}

/// The records of all ranks, by rank, from the buffers of an exchange that has completed.
pub(crate) fn exchanged<const WORDS: usize>(buffers: &[Memory]) -> Vec<[u64; WORDS]> {
    let Some(memory) = buffers.last() else { return Vec::new() };
    let bytes = memory.packed();
    let (words, _) = bytes.as_chunks();
    let (records, _) = words.as_chunks();
    records.iter().map(|record: &[[u8; 8]; WORDS]| record.map(u64::from_le_bytes)).collect()
}
