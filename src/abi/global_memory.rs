//! Global memory for `libacp`: the functions of the library that ACP's C functions call.
//!
//! ```text
//!  C program ── acp_copy ──> libacp: acp_copy ──> suiro_acp_copy ── memory here ──> copied
//!                                                        └── else ── the lock ── queue ──> …
//! ```
//!
//! They are no functions of the standard, and programs do not call them. The arguments are those of `acp.h`:
//! a global address is a number, 0 for none; a handle is the number of an access, 0 for an error, -1 for all
//! accesses and -2 for the one before. An access that is refused is told on standard error, as ACP has no
//! other place for that; one that fails after its start ends the job.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::abi::arguments::pointer::out;
use crate::abi::communicator::comm::made;
use crate::abi::entry_point::{PROCESS, number};
use crate::abi::types::*;
use crate::global_memory::access::{
    AccessOrder, GlobalAccess, GlobalPlace, NumberKind, Update, write_number,
};
use crate::global_memory::address::{GlobalAddress, SYSTEM_REGIONS};
use crate::global_memory::front::GlobalFront;
use crate::mpi::errhandler::Handler;
use crate::mpi::session::ProcessSet;
use platform::base::{ErrorClass, MpiError, Result, Span};

/// Refused accesses that are told.
const REFUSALS_TOLD: u32 = 20;

/// The handle of all accesses.
const HANDLE_ALL: i64 = -1;
/// The handle of the access before.
const HANDLE_CONTINUATION: i64 = -2;

/// The code with which a job ends after an access that failed.
const FAILED: c_int = 1;

/// Refused accesses so far.
static REFUSALS: AtomicU32 = AtomicU32::new(0);

/// Opens a session, and makes a communicator of all ranks; collective. 0, or an error class that has been
/// told.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suiro_acp_open(session: *mut MPI_Session, comm: *mut MPI_Comm) -> c_int {
    let name = "acp_init";
    let open = || {
        // SAFETY: the caller's promise of the results.
        let (session, comm) = unsafe { (out(session, "session")?, out(comm, "comm")?) };
        let level = PROCESS.access_level()?;
        let opened = PROCESS.open_session(Handler::Return, level, None)?;
        session.put_handle(opened);
        comm.put_handle(made(name, |mpi| {
            let group = mpi.group_of_set(opened, ProcessSet::World)?;
            mpi.create_from_group(Arc::new(group), b"acp", Handler::Return)
        })?);
        Ok(())
    };
    told(name, open())
}

/// Makes the global memory of a communicator, which nothing else uses from now on: starter memory and a heap
/// of so many bytes for each rank; collective. 0, or an error class that has been told.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suiro_acp_begin(comm: MPI_Comm, starter: usize, heap: usize) -> c_int {
    let name = "acp_init";
    told(name, PROCESS.begin_global_memory(name, number(comm), [starter, heap]))
}

/// Ends the use of global memory, after all ranks have completed their accesses. 0, or an error class that
/// has been told.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suiro_acp_end() -> c_int {
    told("acp_finalize", PROCESS.end_global_memory())
}

/// Ends the job, with a text.
///
/// # Safety
/// `text` has `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suiro_acp_abort(text: *const u8, len: usize) -> ! {
    // SAFETY: the caller's promise.
    let text = unsafe { std::slice::from_raw_parts(text, len) };
    let rank =
        PROCESS.global_front().map_or(String::new(), |front| format!("rank {}: ", front.rank()));
    PROCESS.abort(FAILED, &format!("{rank}{}", String::from_utf8_lossy(text)))
}

/// Starts to copy bytes between any two ranks; its handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suiro_acp_copy(to: u64, from: u64, len: usize, order: i64) -> i64 {
    let (to, from) = (GlobalAddress(to), GlobalAddress(from));
    let is_due = match PROCESS.global_front() {
        Some(front) => {
            let is_due = front.is_poll_due();
            if !is_due && let Some(number) = front.copy(to, from, len) {
                return number as i64;
            }
            is_due
        }
        None => false,
    };
    let (to, from) = (GlobalPlace::Global(to), GlobalPlace::Global(from));
    start("acp_copy", GlobalAccess::Copy { to, from, len }, order, is_due)
}

/// Starts to change a number of 4 or 8 bytes (`bytes`) by the update of this code; its handle. The old number
/// goes to memory of this rank.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suiro_acp_update(
    old: u64, at: u64, code: u32, bytes: u32, one: u64, two: u64, order: i64,
) -> i64 {
    let (at, old) = (GlobalAddress(at), GlobalAddress(old));
    let kind = if bytes == 4 { NumberKind::Unsigned4 } else { NumberKind::Unsigned8 };
    let Some(update) = Update::from_parts(code as u8, [one, two]) else {
        return refused("acp", ErrorClass::Arg.error(format!("there is no update {code}")));
    };
    let is_due = match PROCESS.global_front() {
        Some(front) => {
            let is_due = front.is_poll_due();
            if !is_due && let Some(number) = update_here(front, at, old, kind, update) {
                return number as i64;
            }
            is_due
        }
        None => false,
    };
    let old = GlobalPlace::Global(old);
    start(
        "an atomic operation of ACP",
        GlobalAccess::Update { at, kind, update, old },
        order,
        is_due,
    )
}

/// An update by the short way; its number.
#[inline(always)]
fn update_here(
    front: &GlobalFront, at: GlobalAddress, old: GlobalAddress, kind: NumberKind, update: Update,
) -> Option<u64> {
    let place = front.find_own(old, kind.bytes())?;
    place.number()?;
    write_number(front.update(at, kind, update)?, place);
    Some(front.end())
}

#[cold]
fn start(name: &str, access: GlobalAccess, order: i64, polls: bool) -> i64 {
    let order = match order {
        0 => AccessOrder::Unordered,
        HANDLE_ALL => AccessOrder::AfterAll,
        HANDLE_CONTINUATION => AccessOrder::Continuation,
        number => AccessOrder::After(number.cast_unsigned()),
    };
    match PROCESS.start_access(access, order, polls) {
        Ok(number) => number as i64,
        Err(error) => refused(name, error),
    }
}

/// The number of the last access that a handle stands for.
fn last_number(front: &GlobalFront, handle: i64) -> u64 {
    let last = front.last_number();
    match handle {
        HANDLE_ALL | HANDLE_CONTINUATION => last,
        number => u64::try_from(number).ok().filter(|number| *number <= last).unwrap_or(0),
    }
}

/// Waits until an access and all before it have completed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suiro_acp_complete(handle: i64) {
    let Some(front) = PROCESS.global_front().filter(|front| front.is_busy()) else { return };
    let end = PROCESS.complete_accesses("acp_complete", last_number(front, handle));
    if let Err(error) = end {
        failed("acp_complete", &error);
    }
}

/// 0 if an access and all before it have completed, else 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suiro_acp_inquire(handle: i64) -> c_int {
    let Some(front) = PROCESS.global_front().filter(|front| front.is_busy()) else { return 0 };
    match PROCESS.are_accesses_complete(last_number(front, handle)) {
        Ok(are_complete) => (!are_complete).into(),
        Err(error) => failed("acp_inquire", &error),
    }
}

/// Copies memory of any rank to `into`; 0, or -1 if that is not possible.
///
/// # Safety
/// `into` has `len` bytes that may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suiro_acp_read(from: u64, into: *mut c_void, len: usize) -> c_int {
    let from = GlobalAddress(from);
    // SAFETY: the caller's promise.
    let into = unsafe { Span::new(into.cast(), len) };
    if PROCESS.global_front().is_some_and(|front| front.read(from, into)) {
        return 0;
    }
    let (to, from) = (GlobalPlace::Private(into), GlobalPlace::Global(from));
    made_access(PROCESS.access("a read of ACP", GlobalAccess::Copy { to, from, len }))
}

/// Copies `from` to memory of any rank; 0, or -1 if that is not possible.
///
/// # Safety
/// `from` has `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suiro_acp_write(to: u64, from: *const c_void, len: usize) -> c_int {
    let to = GlobalAddress(to);
    // SAFETY: the caller's promise; it is read only.
    let from = unsafe { Span::new(from.cast(), len) };
    if PROCESS.global_front().is_some_and(|front| front.write(to, from)) {
        return 0;
    }
    let (to, from) = (GlobalPlace::Global(to), GlobalPlace::Private(from));
    made_access(PROCESS.access("a write of ACP", GlobalAccess::Copy { to, from, len }))
}

/// Copies between any two ranks; 0, or -1 if that is not possible.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suiro_acp_move(to: u64, from: u64, len: usize) -> c_int {
    let (to, from) = (GlobalAddress(to), GlobalAddress(from));
    if PROCESS.global_front().is_some_and(|front| front.copy(to, from, len).is_some()) {
        return 0;
    }
    let (to, from) = (GlobalPlace::Global(to), GlobalPlace::Global(from));
    made_access(PROCESS.access("a copy of ACP", GlobalAccess::Copy { to, from, len }))
}

/// Changes a number of 8 bytes by the update of this code; 0, or -1 if that is not possible.
///
/// # Safety
/// `old` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suiro_acp_change(
    at: u64, code: u32, one: u64, two: u64, old: *mut u64,
) -> c_int {
    let (at, kind) = (GlobalAddress(at), NumberKind::Unsigned8);
    let Some(update) = Update::from_parts(code as u8, [one, two]) else { return -1 };
    // SAFETY: the caller's promise.
    let place = unsafe { Span::new(old.cast(), kind.bytes()) };
    if let Some(number) = PROCESS.global_front().and_then(|front| front.update(at, kind, update)) {
        write_number(number, place);
        return 0;
    }
    let old = GlobalPlace::Private(place);
    made_access(
        PROCESS
            .access("an atomic operation of ACP", GlobalAccess::Update { at, kind, update, old }),
    )
}

/// The end of an access that the library makes for itself: what cannot be accessed has no effect there.
fn made_access(end: Result) -> c_int {
    match end {
        Ok(()) => 0,
        Err(error) if is_refusal(&error) => -1,
        Err(error) => failed("ACP", &error),
    }
}

fn is_refusal(error: &MpiError) -> bool {
    let classes = [ErrorClass::RmaRange, ErrorClass::Rank, ErrorClass::Arg, ErrorClass::Access];
    classes.iter().any(|class| *class as c_int == error.code.0)
}

/// Makes progress, and lets other ranks run: before one of several attempts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suiro_acp_pause() {
    // A poll that finds nothing yields if ranks share processors.
    if let Err(error) = PROCESS.test(|_| Ok(false), |found| *found) {
        failed("ACP", &error);
    }
}

/// Registers memory; its first address, 0 if that is not possible.
///
/// # Safety
/// The memory stays valid until [`suiro_acp_unregister`], and other ranks may read and write it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suiro_acp_register(memory: *mut c_void, len: usize, colour: c_int) -> u64 {
    // SAFETY: the caller's promise.
    let memory = unsafe { Span::new(memory.cast(), len) };
    let registered = PROCESS.with_global_memory(|active, engine| {
        let colour = u32::try_from(colour).unwrap_or(u32::MAX);
        active.register(engine, memory, colour)
    });
    match registered {
        Ok(first) => first.0,
        Err(error) => {
            tell("acp_register_memory", &error);
            0
        }
    }
}

/// Ends a registration, of which this is the first address; 0, or -1 if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suiro_acp_unregister(first: u64) -> c_int {
    let ended = PROCESS
        .with_global_memory(|active, engine| Ok(active.deregister(engine, GlobalAddress(first))));
    if matches!(ended, Ok(true)) { 0 } else { -1 }
}

/// The address of `place` in a region of this rank, of which this is the first address; 0 if it is outside.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suiro_acp_address(first: u64, place: *const c_void) -> u64 {
    let found = PROCESS
        .with_global_memory(|active, _| Ok(active.address_of(GlobalAddress(first), place.addr())));
    found.ok().flatten().unwrap_or(GlobalAddress::NULL).0
}

/// The place of an address in this process; null if it is not in memory of this rank.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suiro_acp_place(address: u64) -> *mut c_void {
    let front = PROCESS.global_front();
    let found = front.and_then(|front| front.find_own(GlobalAddress(address), 0));
    found.map_or(ptr::null_mut(), |memory| memory.address() as *mut c_void)
}

/// The rank of an address; -1 if it is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suiro_acp_rank(address: u64) -> c_int {
    let front = PROCESS.global_front();
    let fields = front.and_then(|front| front.layout().split(GlobalAddress(address)));
    fields.map_or(-1, |fields| fields.rank as c_int)
}

/// The colour of an address; -1 if it is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suiro_acp_colour(address: u64) -> c_int {
    let front = PROCESS.global_front();
    let fields = front.and_then(|front| front.layout().split(GlobalAddress(address)));
    fields.map_or(-1, |fields| fields.colour as c_int)
}

/// The number of colours; -1 if global memory is not in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suiro_acp_colours() -> c_int {
    PROCESS.global_front().map_or(-1, |front| front.layout().colours() as c_int)
}

/// The first address of the starter memory (0) or the heap (1) of a rank; 0 if there is no such rank.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suiro_acp_system(rank: c_int, region: u32) -> u64 {
    let layout = PROCESS.global_front().map(|front| front.layout());
    let rank = u32::try_from(rank).ok();
    match layout.zip(rank) {
        Some((layout, rank)) if rank < layout.ranks() && region < SYSTEM_REGIONS => {
            layout.system(rank, region).0
        }
        _ => 0,
    }
}

/// How many accesses were made so far by each way: the processor, the device, deferred work of the device,
/// other ranks for this one, this one for others.
///
/// # Safety
/// `counts` has five elements that may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suiro_acp_counts(counts: *mut [u64; 5]) {
    let found = PROCESS.access_counts();
    let all = [found.processor, found.device, found.deferred, found.delegated, found.served];
    // SAFETY: the caller's promise.
    unsafe { counts.write(all) };
}

/// 0, or the class of an error that is told.
fn told<T>(name: &str, result: Result<T>) -> c_int {
    match result {
        Ok(_) => 0,
        Err(error) => {
            tell(name, &error);
            error.code.0
        }
    }
}

/// The handle of an access that is refused.
#[cold]
fn refused(name: &str, error: Box<MpiError>) -> i64 {
    if !is_refusal(&error) && PROCESS.global_front().is_some() {
        failed(name, &error);
    }
    tell(name, &error);
    0
}

#[cold]
fn tell(name: &str, error: &MpiError) {
    let told = REFUSALS.fetch_add(1, Ordering::Relaxed);
    if told < REFUSALS_TOLD {
        let rank = PROCESS.global_front();
        let rank = rank.map_or(String::new(), |front| format!(" of rank {}", front.rank()));
        eprintln!("Suiro: {name}{rank}: {error}");
    }
    if told == REFUSALS_TOLD {
        eprintln!("Suiro: {name}: further errors of this process are not printed");
    }
}

/// An access has failed after its start: nobody knows what is in memory.
#[cold]
fn failed(name: &str, error: &MpiError) -> ! {
    let rank =
        PROCESS.global_front().map_or(String::new(), |front| format!(" of rank {}", front.rank()));
    PROCESS.abort(FAILED, &format!("{name}{rank}: {error}"))
}
