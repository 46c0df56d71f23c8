//! The basic layer.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};

use crate::hooks::{self, Change, SystemRegion};
use crate::library;
use crate::options::{self, SystemSizes};

/// The code with which a process ends that has a wrong option.
const WRONG_OPTION: c_int = 1;

/// The cause of the last failure, which `acp.h` names. Failures are told on standard error instead.
#[unsafe(no_mangle)]
pub static mut ACP_ERRNO: c_int = 0;

/// Begins ACP, on all ranks together. Its options are taken out of the arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn acp_init(argc: *mut c_int, argv: *mut *mut *mut c_char) -> c_int {
    // SAFETY: the caller's promise of the arguments of `main`.
    let sizes = match unsafe { take_options(argc, argv) } {
        Ok(sizes) => sizes,
        Err(why) => {
            eprintln!("Suiro: acp_init: {why}");
            std::process::exit(WRONG_OPTION);
        }
    };
    code(library::begin(sizes))
}

/// # Safety
/// Both are null, or the addresses of the arguments of `main`.
unsafe fn take_options(
    argc: *mut c_int, argv: *mut *mut *mut c_char,
) -> Result<SystemSizes, String> {
    if argc.is_null() || argv.is_null() {
        return Ok(SystemSizes::default());
    }
    // SAFETY: the caller's promise.
    let (count, list) = unsafe { (usize::try_from(*argc).unwrap_or(0), *argv) };
    if list.is_null() {
        return Ok(SystemSizes::default());
    }
    // SAFETY: the list has so many strings.
    let arguments: Vec<&[u8]> =
        unsafe { (0..count).map(|at| CStr::from_ptr(*list.add(at)).to_bytes()).collect() };
    let (left, sizes) = options::take(&arguments, SystemSizes::default())?;
    for (to, from) in left.iter().enumerate() {
        // SAFETY: both are in the list.
        unsafe { *list.add(to) = *list.add(*from) };
    }
    if left.len() < count {
        // SAFETY: as above; the list of `main` ends with a null pointer.
        unsafe { *list.add(left.len()) = std::ptr::null_mut() };
    }
    // SAFETY: the caller's promise.
    unsafe { *argc = left.len() as c_int };
    Ok(sizes)
}

/// 0 or -1.
fn code<T, E>(end: Result<T, E>) -> c_int {
    if end.is_ok() { 0 } else { -1 }
}

/// Ends ACP, on all ranks together.
#[unsafe(no_mangle)]
pub extern "C" fn acp_finalize() -> c_int {
    code(library::end())
}

/// Gives this process another rank, on all ranks together; all memory is new.
#[unsafe(no_mangle)]
pub extern "C" fn acp_reset(rank: c_int) -> c_int {
    match library::reset(rank) {
        Ok(true) => 0,
        Ok(false) | Err(_) => -1,
    }
}

/// Ends the job, with a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn acp_abort(text: *const c_char) {
    if text.is_null() {
        hooks::abort(b"acp_abort");
    }
    // SAFETY: the caller's promise of a string.
    hooks::abort(unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// Waits for the own accesses, then for all ranks.
#[unsafe(no_mangle)]
pub extern "C" fn acp_sync() -> c_int {
    code(library::sync())
}

/// This rank; -1 unless ACP is in use.
#[unsafe(no_mangle)]
pub extern "C" fn acp_rank() -> c_int {
    library::rank()
}

/// The number of ranks; -1 unless ACP is in use.
#[unsafe(no_mangle)]
pub extern "C" fn acp_procs() -> c_int {
    library::ranks()
}

/// The number of colours; -1 unless ACP is in use.
#[unsafe(no_mangle)]
pub extern "C" fn acp_colors() -> c_int {
    hooks::colours()
}

/// The address of the starter memory of a rank; 0 if there is no such rank.
#[unsafe(no_mangle)]
pub extern "C" fn acp_query_starter_ga(rank: c_int) -> u64 {
    hooks::system(rank, SystemRegion::Starter)
}

/// Registers memory; its key, 0 if that is not possible.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn acp_register_memory(addr: *mut c_void, size: usize, color: c_int) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { hooks::register(addr, size, color) }
}

/// Ends a registration; -1 if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn acp_unregister_memory(atkey: u64) -> c_int {
    hooks::unregister(atkey)
}

/// The global address of a place in registered memory; 0 if it is outside.
#[unsafe(no_mangle)]
pub extern "C" fn acp_query_ga(atkey: u64, addr: *mut c_void) -> u64 {
    hooks::address(atkey, addr)
}

/// The place of a global address in this process; null for that of another rank.
#[unsafe(no_mangle)]
pub extern "C" fn acp_query_address(ga: u64) -> *mut c_void {
    hooks::place(ga)
}

/// The rank of a global address; -1 if it is none.
#[unsafe(no_mangle)]
pub extern "C" fn acp_query_rank(ga: u64) -> c_int {
    hooks::rank(ga)
}

/// The colour of a global address; -1 if it is none.
#[unsafe(no_mangle)]
pub extern "C" fn acp_query_color(ga: u64) -> c_int {
    hooks::colour(ga)
}

/// Starts to copy between any two ranks; a handle, 0 if that is not possible.
#[unsafe(no_mangle)]
pub extern "C" fn acp_copy(dst: u64, src: u64, size: usize, order: i64) -> i64 {
    hooks::copy(dst, src, size, order)
}

/// Defines the atomic operations with one operand, of 4 and 8 bytes.
macro_rules! updates {
    ($($four:ident, $eight:ident => $change:ident;)*) => {$(
        #[doc = concat!("Atomic change of 4 bytes: ", stringify!($change), "; a handle, 0 if that is not possible.")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $four(dst: u64, src: u64, value: u32, order: i64) -> i64 {
            hooks::update(dst, src, Change::$change, 4, [value.into(), 0], order)
        }

        #[doc = concat!("Atomic change of 8 bytes: ", stringify!($change), "; a handle, 0 if that is not possible.")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $eight(dst: u64, src: u64, value: u64, order: i64) -> i64 {
            hooks::update(dst, src, Change::$change, 8, [value, 0], order)
        }
    )*};
}

updates! {
    acp_swap4, acp_swap8 => Swap;
    acp_add4, acp_add8 => Add;
    acp_xor4, acp_xor8 => Xor;
    acp_or4, acp_or8 => Or;
    acp_and4, acp_and8 => And;
}

/// Atomic comparison and swap of 4 bytes; a handle, 0 if that is not possible.
#[unsafe(no_mangle)]
pub extern "C" fn acp_cas4(dst: u64, src: u64, oldval: u32, newval: u32, order: i64) -> i64 {
    hooks::update(dst, src, Change::CompareSwap, 4, [oldval.into(), newval.into()], order)
}

/// Atomic comparison and swap of 8 bytes; a handle, 0 if that is not possible.
#[unsafe(no_mangle)]
pub extern "C" fn acp_cas8(dst: u64, src: u64, oldval: u64, newval: u64, order: i64) -> i64 {
    hooks::update(dst, src, Change::CompareSwap, 8, [oldval, newval], order)
}

/// Waits until an access and all before it have completed.
#[unsafe(no_mangle)]
pub extern "C" fn acp_complete(handle: i64) {
    hooks::complete(handle);
}

/// 0 if an access and all before it have completed, else 1.
#[unsafe(no_mangle)]
pub extern "C" fn acp_inquire(handle: i64) -> c_int {
    hooks::inquire(handle)
}

/// How many accesses were made by each way: the processor, the device, deferred work of the device, other
/// ranks for this one, this one for others. Not a function of ACP.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn acpx_query_ways(counts: *mut u64) {
    if let Some(counts) = std::ptr::NonNull::new(counts.cast::<[u64; 5]>()) {
        // SAFETY: the caller's promise of five numbers.
        unsafe { counts.write_unaligned(hooks::counts()) };
    }
}
