//! Objects and operations of the standard: communicators, groups, datatypes, reduction operations,
//! collectives, requests.
//!
//! [`Mpi`] is the MPI state of one process, as a value: tests run many ranks in one process. The
//! layer knows no device by name, no system call, no thread, clock or global. It only stores
//! functions of the application (reductions, attribute callbacks, error handlers); the caller of
//! [`Mpi`] calls them, outside of the lock.

pub mod attribute;
pub(crate) mod blocked;
pub(crate) mod checked_mode;
pub mod collective;
pub mod communicator;
pub mod datatype;
pub mod errhandler;
pub(crate) mod file;
pub(crate) mod fortran;
pub(crate) mod global_memory;
pub mod group;
pub mod handle;
pub(crate) mod info;
pub(crate) mod memory_kinds;
pub mod objects;
pub mod op;
pub(crate) mod partitioned;
pub mod point_to_point;
pub mod processes;
mod progress;
pub mod request;
pub(crate) mod resilience;
pub(crate) mod session;
pub(crate) mod tool;
pub mod topology;
pub(crate) mod user_work;
pub mod window;

use crate::device::Device;
use crate::engine::Engine;
pub use crate::engine::memory::Memory;
pub use crate::engine::memory::layout::Layout;
pub(crate) use crate::engine::point_to_point::operation::OperationId;
use crate::global_memory::GlobalMemory;
use crate::global_memory::executor::AccessPolicy;
use crate::offload::Scheme;
use crate::offload::packing::PackingPolicy;

use crate::mpi::collective::selection::Selection;
use crate::mpi::collective::selection::schedule_cache::ScheduleCache;
use crate::mpi::collective::shared::polling::SharedCollectives;
use crate::mpi::communicator::Comms;
use crate::mpi::handle::{HandleKind, HandleTable};
use crate::mpi::partitioned::operation::PartitionedOperations;
use crate::mpi::point_to_point::MatchedMessage;
use crate::mpi::point_to_point::buffer::BsendBuffer;
use checked_mode::CheckedMode;
use file::Files;
use objects::Objects;
use request::Request;
use resilience::Resilience;
use session::Sessions;
use window::Windows;

/// Attributes of `MPI_COMM_WORLD` from the launcher (MPI 5.0 §9.1.2, §11.10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorldAttributes {
    /// `MPI_APPNUM`.
    pub(crate) app_number: Option<i32>,
    /// `MPI_UNIVERSE_SIZE`.
    pub(crate) universe_size: Option<i32>,
}

/// MPI state of one process, from the first initialization to the last finalization.
pub struct Mpi<D> {
    /// Message engine.
    pub engine: Engine<D>,
    /// Objects that need no communication.
    pub objects: Objects,
    /// Communicators.
    pub comms: Comms,
    /// Windows.
    pub windows: Windows,
    pub(crate) files: Files,
    pub(crate) global_memory: GlobalMemory,
    /// The ways of accesses to global memory; set before its first use.
    pub(crate) access_policy: AccessPolicy,
    pub(crate) sessions: Sessions,
    pub(crate) world_attributes: WorldAttributes,
    shared_collectives: SharedCollectives,
    resilience: Resilience,
    pub(crate) checked_mode: CheckedMode,
    requests: HandleTable<Request>,
    messages: HandleTable<MatchedMessage>,
    pub(crate) partitioned: PartitionedOperations,
    /// Selection of algorithms of collectives; set before the first collective call.
    pub(crate) selection: Selection,
    /// Scheme of offloaded persistent collectives, if the device supports them; set before the
    /// first collective call.
    pub offload: Option<Scheme>,
    /// Packing of the puts of operations that start together; `None`: in order of the requests.
    pub rdma_schedule: Option<PackingPolicy>,
    /// Schedules of previous collective calls.
    schedules: ScheduleCache,
    /// The buffer of `MPI_Buffer_attach`.
    bsend_buffer: BsendBuffer,
    /// What processes of other jobs are told of this one.
    pub(crate) presence: Presence,
}

/// What processes of other jobs are told of this one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Presence {
    /// The name of its host.
    pub(crate) host: String,
    /// A hash of the settings that are equal on all ranks of a job.
    pub(crate) settings: u64,
    /// A number that processes of other jobs have, too, if they and this one can map each other's memory;
    /// `None` before a connection, and if the device shares memory with no other job.
    pub(crate) memory: Option<u64>,
}

impl<D: Device> Mpi<D> {
    /// Process `me` of `size`, over `device`, before initialization.
    pub fn without_world(
        device: D, me: u32, size: u32, objects: Objects, world_attributes: WorldAttributes,
    ) -> Self {
        Self {
            engine: Engine::new(device, me, size as usize),
            objects,
            comms: Comms::without_world(me, size),
            windows: Windows::default(),
            files: Files::default(),
            global_memory: GlobalMemory::default(),
            access_policy: AccessPolicy::default(),
            sessions: Sessions::default(),
            world_attributes,
            shared_collectives: SharedCollectives::default(),
            resilience: Resilience::default(),
            checked_mode: CheckedMode::default(),
            requests: HandleTable::new(HandleKind::Request),
            messages: HandleTable::new(HandleKind::Message),
            partitioned: PartitionedOperations::default(),
            selection: Selection::default(),
            offload: None,
            rdma_schedule: None,
            schedules: ScheduleCache::default(),
            bsend_buffer: BsendBuffer::default(),
            presence: Presence::default(),
        }
    }

    /// The communicator or the file whose error handler is called for errors of a request.
    pub(crate) fn owner_of_request(
        &self, request: crate::mpi::handle::Handle,
    ) -> Option<crate::mpi::handle::Handle> {
        Some(self.requests.get(request)?.owner)
    }
}
