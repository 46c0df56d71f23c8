//! The global memory of a communicator: its ranks allocate system memory and tell each other its keys.
//!
//! ```text
//!   start ──memory allocated, or not──> exchange ──all have memory of one length──> in use
//!                                               └──one has none or another one──> error on all ranks
//! ```

use std::sync::Arc;

use crate::device::Device;
use crate::device::rma::MemoryKey;
use crate::engine::channel::MessageChannel;
use crate::engine::schedules::plan::{Members, RunId};
use crate::global_memory::address::{AddressLayout, COLOURS_MAX};
use crate::global_memory::front::{GlobalFront, SystemLayout};
use crate::global_memory::peers::SystemKeys;
use crate::global_memory::{GlobalParts, SystemMemory};
use crate::mpi::Mpi;
use crate::mpi::collective::exchange::exchanged;
use crate::mpi::communicator::Traffic;
use crate::mpi::handle::Handle;
use platform::base::{ErrorClass, MpiError, Result};
use platform::diagnosis::wait_report::WaitReport;

/// What each rank tells: two keys, the lengths of its starter memory and heap, its colours, and whether it failed.
type SystemRecord = [u64; 6];

/// Global memory that is being made.
#[derive(Debug)]
pub(crate) struct GlobalCreation {
    comm: Handle,
    run: RunId,
    layout: AddressLayout,
    system: Result<SystemMemory>,
    bytes: [usize; 2],
}

impl<D: Device> Mpi<D> {
    /// Starts to make the global memory of a communicator, which nothing else uses from now on: starter memory
    /// and a heap of so many bytes on each rank.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator or an intercommunicator, `Other` if global memory is in use.
    pub(crate) fn start_global_memory(
        &mut self, comm: Handle, bytes: [usize; 2],
    ) -> Result<GlobalCreation> {
        if self.global_memory.is_active() {
            return Err(ErrorClass::Other.error("global memory is in use already"));
        }
        let ranks = self.comms.get(comm)?.size();
        let engines = self.engine.rma().and_then(|rma| Some(rma.engines()?.count()));
        let colours = engines.map_or(1, |engines| u32::from(engines).clamp(1, COLOURS_MAX));
        let layout = AddressLayout::new(ranks, colours);
        let system = layout_of(bytes)
            .and_then(|parts| SystemMemory::allocate(&mut self.engine, parts.bytes(), layout));
        let lens = bytes.map(|bytes| bytes as u64);
        let (keys, failed) = match &system {
            Ok(system) => (system.keys(), 0),
            Err(_) => (SystemKeys { memory: MemoryKey(0), directory: MemoryKey(0) }, 1),
        };
        let record: SystemRecord =
            [keys.memory.0, keys.directory.0, lens[0], lens[1], colours.into(), failed];
        let run = self.start_exchange(comm, record)?;
        Ok(GlobalCreation { comm, run, layout, system, bytes })
    }

    /// What accesses of this process share, once all ranks have their memory.
    ///
    /// # Errors
    /// `NoMem` if a rank has no memory, `Arg` if the lengths differ; errors of messages.
    pub(crate) fn end_global_creation(
        &mut self, creation: &mut GlobalCreation,
    ) -> Result<Option<Arc<GlobalFront>>> {
        let Some(end) = self.engine.take_run_end(creation.run) else { return Ok(None) };
        let taken = Err(ErrorClass::Intern.error("this creation has ended"));
        let system = std::mem::replace(&mut creation.system, taken)?;
        let records: Vec<SystemRecord> = exchanged(&end.buffers);
        let lens = creation.bytes.map(|bytes| bytes as u64);
        let checked = end.error.map_or_else(|| check(&records, lens), Err);
        if let Err(error) = checked {
            system.free(&mut self.engine);
            return Err(error);
        }
        let comm = self.comms.get(creation.comm)?;
        let (members, rank) = (Arc::clone(&comm.group) as Arc<dyn Members>, comm.rank);
        let context = comm.context.for_traffic(Traffic::PointToPoint);
        let keys = records.iter().map(|record| SystemKeys {
            memory: MemoryKey(record[0]),
            directory: MemoryKey(record[1]),
        });
        let is_mapped_by_all = system.is_mapped() && !self.comms.has_several_nodes();
        let parts = GlobalParts {
            layout: creation.layout,
            layout_of_system: layout_of(creation.bytes)?,
            channel: MessageChannel::new(context, members, rank),
            needs_progress: records.len() > 1 && !is_mapped_by_all,
            keys: keys.collect(),
            policy: self.access_policy,
            system,
        };
        self.engine.note_long_start();
        Ok(Some(self.global_memory.begin(&mut self.engine, parts)))
    }

    /// A call that waits for accesses to global memory.
    pub(crate) fn blocked_access(&self, name: &str) -> WaitReport {
        let oldest = self.global_memory.oldest();
        let details = match oldest {
            Some((number, Some(rank))) => format!(" of access {number}, which rank {rank} makes"),
            Some((number, None)) => format!(" of access {number}"),
            None => String::new(),
        };
        WaitReport { details, ..WaitReport::new(name) }
    }

    /// Ends the use of global memory; which ways accesses have taken. All ranks have completed theirs.
    pub(crate) fn end_global_memory(&mut self) {
        self.global_memory.end(&mut self.engine);
    }
}

/// # Errors
/// `NoMem` if no memory is so long.
fn layout_of(bytes: [usize; 2]) -> Result<SystemLayout> {
    SystemLayout::new(bytes).ok_or_else(|| {
        let [starter, heap] = bytes;
        let why = format!("no memory has {starter} bytes for starter memory and {heap} for a heap");
        ErrorClass::NoMem.error(why)
    })
}

fn check(records: &[SystemRecord], lens: [u64; 2]) -> Result {
    for (rank, [_, _, starter, heap, colours, has_failed]) in records.iter().enumerate() {
        if *has_failed != 0 {
            let why = format!("rank {rank} has no memory for {starter} + {heap} bytes");
            return Err(ErrorClass::NoMem.error(why));
        }
        if [*starter, *heap] != lens || *colours != records[0][4] {
            return Err(unequal(rank, [*starter, *heap], lens));
        }
    }
    Ok(())
}

#[cold]
fn unequal(rank: usize, theirs: [u64; 2], ours: [u64; 2]) -> Box<MpiError> {
    ErrorClass::Arg.error(format!(
        "rank {rank} has {} bytes of starter memory and {} of heap, this rank {} and {}: the sizes must be \
         the same on all ranks",
        theirs[0], theirs[1], ours[0], ours[1]
    ))
}
