//! The basic layer of ACP in `libmpi_abi`, behind safe functions.
//!
//! Its functions are called by name, as the two libraries are installed together; their contracts are in that
//! library (`src/abi/global_memory.rs`).
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use crate::messages::{CommHandle, SessionHandle};
use crate::space::{AccessRefused, GlobalSpace, SpaceAddress};

unsafe extern "C" {
    fn suiro_acp_open(session: *mut SessionHandle, comm: *mut CommHandle) -> c_int;
    fn suiro_acp_begin(comm: CommHandle, starter: usize, heap: usize) -> c_int;
    fn suiro_acp_end() -> c_int;
    fn suiro_acp_abort(text: *const u8, len: usize) -> !;
    fn suiro_acp_copy(to: u64, from: u64, len: usize, order: i64) -> i64;
    fn suiro_acp_update(
        old: u64, at: u64, code: u32, bytes: u32, one: u64, two: u64, order: i64,
    ) -> i64;
    fn suiro_acp_complete(handle: i64);
    fn suiro_acp_inquire(handle: i64) -> c_int;
    fn suiro_acp_read(from: u64, into: *mut c_void, len: usize) -> c_int;
    fn suiro_acp_write(to: u64, from: *const c_void, len: usize) -> c_int;
    fn suiro_acp_move(to: u64, from: u64, len: usize) -> c_int;
    fn suiro_acp_change(at: u64, code: u32, one: u64, two: u64, old: *mut u64) -> c_int;
    fn suiro_acp_pause();
    fn suiro_acp_register(memory: *mut c_void, len: usize, colour: c_int) -> u64;
    fn suiro_acp_unregister(first: u64) -> c_int;
    fn suiro_acp_address(first: u64, place: *const c_void) -> u64;
    fn suiro_acp_place(address: u64) -> *mut c_void;
    fn suiro_acp_rank(address: u64) -> c_int;
    fn suiro_acp_colour(address: u64) -> c_int;
    fn suiro_acp_colours() -> c_int;
    fn suiro_acp_system(rank: c_int, region: u32) -> u64;
    fn suiro_acp_counts(counts: *mut [u64; 5]);
}

/// The handle of all accesses so far.
pub(crate) const HANDLE_ALL: i64 = -1;

/// An atomic change of a number, as `libmpi_abi` counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Change {
    Add = 0,
    And = 1,
    Or = 2,
    Xor = 3,
    Swap = 6,
    CompareSwap = 7,
}

/// A region of system memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum SystemRegion {
    Starter = 0,
    Heap = 1,
}

/// The process has no basic layer, for a reason that has been told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoBasicLayer;

fn check(code: c_int) -> Result<(), NoBasicLayer> {
    if code == 0 { Ok(()) } else { Err(NoBasicLayer) }
}

/// Opens a session, and makes a communicator of all ranks; collective.
pub(crate) fn open() -> Result<(SessionHandle, CommHandle), NoBasicLayer> {
    let (mut session, mut comm) = (SessionHandle::NULL, CommHandle::NULL);
    // SAFETY: both may be written.
    check(unsafe { suiro_acp_open(&mut session, &mut comm) })?;
    Ok((session, comm))
}

/// Begins the basic layer for the ranks of a communicator, which nothing else uses; collective.
pub(crate) fn begin(comm: CommHandle, starter: usize, heap: usize) -> Result<(), NoBasicLayer> {
    // SAFETY: a communicator, or an error.
    check(unsafe { suiro_acp_begin(comm, starter, heap) })
}

/// Ends it, after the accesses of all ranks.
pub(crate) fn end() -> Result<(), NoBasicLayer> {
    // SAFETY: no access is in progress (the caller's matter, as of `acp_finalize`).
    check(unsafe { suiro_acp_end() })
}

/// Ends the job.
pub(crate) fn abort(text: &[u8]) -> ! {
    // SAFETY: so many bytes.
    unsafe { suiro_acp_abort(text.as_ptr(), text.len()) }
}

#[inline(always)]
pub(crate) fn copy(to: u64, from: u64, len: usize, order: i64) -> i64 {
    // SAFETY: the memory is registered, and the program's matter (`acp_register_memory`).
    unsafe { suiro_acp_copy(to, from, len, order) }
}

/// Changes a number of 4 or 8 bytes; the old one goes to memory of this rank.
#[inline(always)]
pub(crate) fn update(
    old: u64, at: u64, change: Change, bytes: u32, [one, two]: [u64; 2], order: i64,
) -> i64 {
    // SAFETY: as of `copy`.
    unsafe { suiro_acp_update(old, at, change as u32, bytes, one, two, order) }
}

#[inline(always)]
pub(crate) fn complete(handle: i64) {
    // SAFETY: any number is a handle.
    unsafe { suiro_acp_complete(handle) }
}

pub(crate) fn inquire(handle: i64) -> c_int {
    // SAFETY: as of `complete`.
    unsafe { suiro_acp_inquire(handle) }
}

/// The first address of registered memory; 0 if that is not possible.
///
/// # Safety
/// The memory stays valid until [`unregister`]; any rank may read and write it.
pub(crate) unsafe fn register(memory: *mut c_void, len: usize, colour: c_int) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { suiro_acp_register(memory, len, colour) }
}

pub(crate) fn unregister(first: u64) -> c_int {
    // SAFETY: any number is an address.
    unsafe { suiro_acp_unregister(first) }
}

/// The address of a place in registered memory; 0 if it is outside.
pub(crate) fn address(first: u64, place: *const c_void) -> u64 {
    // SAFETY: nothing is read there.
    unsafe { suiro_acp_address(first, place) }
}

/// The place of an address in memory of this rank; null for others.
pub(crate) fn place(address: u64) -> *mut c_void {
    // SAFETY: any number is an address.
    unsafe { suiro_acp_place(address) }
}

pub(crate) fn rank(address: u64) -> c_int {
    // SAFETY: as of `place`.
    unsafe { suiro_acp_rank(address) }
}

pub(crate) fn colour(address: u64) -> c_int {
    // SAFETY: as of `place`.
    unsafe { suiro_acp_colour(address) }
}

pub(crate) fn colours() -> c_int {
    // SAFETY: it has no arguments.
    unsafe { suiro_acp_colours() }
}

/// The first address of a region of system memory; 0 if there is no such rank.
pub(crate) fn system(rank: c_int, region: SystemRegion) -> u64 {
    // SAFETY: any number may be asked for.
    unsafe { suiro_acp_system(rank, region as u32) }
}

/// Accesses by the processor, the device, deferred work, other ranks, and for other ranks.
pub(crate) fn counts() -> [u64; 5] {
    let mut counts = [0; 5];
    // SAFETY: five numbers.
    unsafe { suiro_acp_counts(&mut counts) };
    counts
}

/// The basic layer of this process, for the middle layer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BasicLayer {
    pub(crate) rank: u32,
    pub(crate) ranks: u32,
    pub(crate) heap_bytes: u64,
}

fn end_of(code: c_int) -> Result<(), AccessRefused> {
    if code == 0 { Ok(()) } else { Err(AccessRefused) }
}

impl GlobalSpace for BasicLayer {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn owner(&self, at: SpaceAddress) -> Option<u32> {
        u32::try_from(rank(at.0)).ok()
    }

    fn heap(&self, rank: u32) -> Option<(SpaceAddress, u64)> {
        let first = system(c_int::try_from(rank).ok()?, SystemRegion::Heap);
        (first != 0).then_some((SpaceAddress(first), self.heap_bytes))
    }

    fn read(&self, from: SpaceAddress, into: &mut [u8]) -> Result<(), AccessRefused> {
        // SAFETY: so many bytes, which may be written.
        end_of(unsafe { suiro_acp_read(from.0, into.as_mut_ptr().cast(), into.len()) })
    }

    fn write(&self, to: SpaceAddress, data: &[u8]) -> Result<(), AccessRefused> {
        // SAFETY: so many bytes.
        end_of(unsafe { suiro_acp_write(to.0, data.as_ptr().cast(), data.len()) })
    }

    fn copy(
        &self, to: SpaceAddress, from: SpaceAddress, len_bytes: u64,
    ) -> Result<(), AccessRefused> {
        let len = usize::try_from(len_bytes).map_err(|_| AccessRefused)?;
        // SAFETY: the memory is registered.
        end_of(unsafe { suiro_acp_move(to.0, from.0, len) })
    }

    fn compare_swap(
        &self, at: SpaceAddress, expected: u64, new: u64,
    ) -> Result<u64, AccessRefused> {
        let (change, mut old) = (Change::CompareSwap as u32, 0);
        // SAFETY: the old number may be written.
        end_of(unsafe { suiro_acp_change(at.0, change, expected, new, &mut old) })?;
        Ok(old)
    }

    fn pause(&self, attempts: u32) {
        // Another processor needs some nanoseconds; a rank without a processor needs this one.
        match attempts {
            0..32 => std::hint::spin_loop(),
            // SAFETY: the basic layer is in use.
            _ => unsafe { suiro_acp_pause() },
        }
        if attempts > 64 {
            std::thread::yield_now();
        }
    }
}
