//! ACP in this process: its begin, its end, and what its functions share in between.
//!
//! ```text
//!   none ──init──> in use ──finalize──> none
//!                   │  ▲
//!                   └──┘ reset: the same ranks in another order, all memory new
//! ```
//!
//! ACP is a user of MPI by a session of its own, so a program may use MPI too, before, beside and after it.

use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::channel::Channels;
use crate::hooks::{self, BasicLayer, HANDLE_ALL, NoBasicLayer};
use crate::messages::{CommHandle, SessionHandle};
use crate::options::SystemSizes;
use crate::segment_buffer::SegmentBuffers;

/// ACP in use.
pub(crate) struct RunningAcp {
    session: SessionHandle,
    /// For channels, segment buffers and barriers.
    pub(crate) comm: CommHandle,
    /// For the basic layer.
    memory_comm: CommHandle,
    pub(crate) sizes: SystemSizes,
    pub(crate) channels: Channels,
    pub(crate) segment_buffers: SegmentBuffers,
    /// The rank on which the next work space begins.
    pub(crate) next_work_space_rank: u32,
}

static RUNNING: Mutex<Option<RunningAcp>> = Mutex::new(None);

/// This rank, the number of ranks and the length of each heap, without the lock; -1 and 0 before `acp_init`.
static RANK: AtomicI32 = AtomicI32::new(-1);
static RANKS: AtomicI32 = AtomicI32::new(-1);
static HEAP_BYTES: AtomicU64 = AtomicU64::new(0);

fn running() -> MutexGuard<'static, Option<RunningAcp>> {
    // A thread that panics ends the process, as this library is called from C.
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Uses ACP; `None` unless it is in use.
pub(crate) fn with<T>(body: impl FnOnce(&mut RunningAcp) -> T) -> Option<T> {
    running().as_mut().map(body)
}

/// This rank; -1 unless ACP is in use.
#[inline(always)]
pub(crate) fn rank() -> c_int {
    RANK.load(Ordering::Relaxed)
}

/// The number of ranks; -1 unless ACP is in use.
#[inline(always)]
pub(crate) fn ranks() -> c_int {
    RANKS.load(Ordering::Relaxed)
}

/// The basic layer; that of no ranks unless ACP is in use.
pub(crate) fn layer() -> BasicLayer {
    BasicLayer {
        rank: u32::try_from(rank()).unwrap_or(0),
        ranks: u32::try_from(ranks()).unwrap_or(0),
        heap_bytes: HEAP_BYTES.load(Ordering::Relaxed),
    }
}

fn set_place(rank: c_int, ranks: c_int, heap_bytes: u64) {
    RANK.store(rank, Ordering::Relaxed);
    RANKS.store(ranks, Ordering::Relaxed);
    HEAP_BYTES.store(heap_bytes, Ordering::Relaxed);
}

/// Begins, on all ranks together.
pub(crate) fn begin(sizes: SystemSizes) -> Result<(), NoBasicLayer> {
    let mut place = running();
    if place.is_some() {
        eprintln!("Suiro: acp_init: ACP is in use already");
        return Err(NoBasicLayer);
    }
    let (session, comm) = hooks::open()?;
    match RunningAcp::over(session, comm, sizes) {
        Ok(running) => *place = Some(running),
        Err(error) => {
            session.end();
            return Err(error);
        }
    }
    Ok(())
}

/// Ends, on all ranks together.
pub(crate) fn end() -> Result<(), NoBasicLayer> {
    let running = running().take().ok_or(NoBasicLayer)?;
    let session = running.session;
    let comm = running.end()?;
    set_place(-1, -1, 0);
    comm.free();
    session.end();
    Ok(())
}

/// Gives this process another rank; collective. False, without effect, unless the ranks are a permutation.
pub(crate) fn reset(rank: c_int) -> Result<bool, NoBasicLayer> {
    let mut place = running();
    let Some(comm) = place.as_ref().map(|running| running.comm) else { return Err(NoBasicLayer) };
    let mut wanted = comm.gather(&[u64::from(rank.cast_unsigned())]);
    wanted.sort_unstable();
    if !wanted.into_iter().eq(0..u64::from(comm.place().1)) {
        return Ok(false);
    }
    let running = place.take().ok_or(NoBasicLayer)?;
    let (session, sizes) = (running.session, running.sizes);
    let comm = running.end()?;
    let reordered = comm.reordered(rank.cast_unsigned());
    comm.free();
    *place = Some(RunningAcp::over(session, reordered, sizes)?);
    Ok(true)
}

/// Waits for the own accesses, then for all ranks.
pub(crate) fn sync() -> Result<(), NoBasicLayer> {
    let comm = with(|running| running.comm).ok_or(NoBasicLayer)?;
    hooks::complete(HANDLE_ALL);
    comm.barrier();
    Ok(())
}

impl RunningAcp {
    /// Begins the basic layer and the middle layer over a communicator.
    fn over(
        session: SessionHandle, comm: CommHandle, sizes: SystemSizes,
    ) -> Result<Self, NoBasicLayer> {
        let (rank, ranks) = comm.place();
        let memory_comm = comm.duplicate();
        if let Err(error) = hooks::begin(memory_comm, sizes.starter, heap_bytes(sizes)) {
            memory_comm.free();
            return Err(error);
        }
        set_place(rank.cast_signed(), ranks.cast_signed(), heap_bytes(sizes) as u64);
        Ok(Self {
            session,
            comm,
            memory_comm,
            sizes,
            channels: Channels::default(),
            segment_buffers: SegmentBuffers::default(),
            next_work_space_rank: 0,
        })
    }

    /// Ends both layers; the communicator.
    fn end(self) -> Result<CommHandle, NoBasicLayer> {
        hooks::complete(HANDLE_ALL);
        self.channels.end(self.comm);
        self.segment_buffers.end();
        // No rank gives memory back that another one accesses.
        self.comm.barrier();
        hooks::end()?;
        self.memory_comm.free();
        Ok(self.comm)
    }
}

/// The heap has whole words.
fn heap_bytes(sizes: SystemSizes) -> usize {
    sizes.heap & !7
}
