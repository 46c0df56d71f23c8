//! Versions, clock, processor, memory (MPI 5.0, chapter 9) and `MPI_Pcontrol` (chapter 15).
//!
//! `MPI_Pcontrol` is variadic in C. Its body takes the first argument alone, which the C calling
//! conventions of Linux allow; `mpi.h` has the prototype by hand.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_double, c_int, c_void};

use super::allocation::{self, AllocationOwner};
use super::constants::{
    MPI_MAX_LIBRARY_VERSION_STRING, MPI_MAX_PROCESSOR_NAME, MPI_SUBVERSION, MPI_SUCCESS,
    MPI_VERSION,
};
use super::entry_point::{Scope, early, finish, number, unlocked};
use super::info::store;
use super::types::*;
use crate::abi::arguments::pointer::out;
use crate::abi::arguments::text::put_text;
use crate::mpi::communicator::hardware::{Resource, ResourceLocation, ResourceLocations};
use crate::mpi::info::Info;
use crate::process::{self, hardware};
use platform::base::{ErrorClass, Result};
use platform::sys::clock;

/// Allocates memory that suits communication.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Alloc_mem(
    size: MPI_Aint, info: MPI_Info, baseptr: *mut c_void,
) -> c_int {
    early("MPI_Alloc_mem", Scope::None, |objects| {
        // SAFETY: the caller gives the address of a pointer.
        let baseptr = unsafe { out(baseptr.cast(), "baseptr")? };
        let len = usize::try_from(size)
            .map_err(|_| ErrorClass::Arg.error(format!("the size {size} is negative")))?;
        let hints = objects.infos.hints(number(info))?;
        baseptr.put(allocation::allocate(AllocationOwner::Application, len, alignment(hints)?)?);
        Ok(())
    })
}

/// Frees memory of `MPI_Alloc_mem`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Free_mem(base: *mut c_void) -> c_int {
    finish(Scope::None, "MPI_Free_mem", allocation::free(AllocationOwner::Application, base.addr()))
}

/// Creates an info object with the hardware resources of the process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Get_hw_resource_info(hw_info: *mut MPI_Info) -> c_int {
    let places = hardware::resource_locations();
    // SAFETY: the caller gives a valid result pointer.
    unsafe { store("MPI_Get_hw_resource_info", (hw_info, "hw_info"), |_| restrictions(&places)) }
}

/// Name and version of the library on the first line, version of the ABI on the second.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Get_library_version(
    version: *mut c_char, resultlen: *mut c_int,
) -> c_int {
    const ROOM: c_int = MPI_MAX_LIBRARY_VERSION_STRING;
    // SAFETY: the caller's promise of the results; `version` has that length.
    let told = || unsafe { put_text(LIBRARY_VERSION, (version, "version", ROOM), resultlen) };
    unlocked("MPI_Get_library_version", told)
}

/// The name of the host.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Get_processor_name(
    name: *mut c_char, resultlen: *mut c_int,
) -> c_int {
    let host = process::host_name();
    // SAFETY: the caller's promise of the results; `name` has that length.
    let told = || unsafe { put_text(&host, (name, "name", MPI_MAX_PROCESSOR_NAME), resultlen) };
    unlocked("MPI_Get_processor_name", told)
}

/// The version of the MPI standard.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Get_version(version: *mut c_int, subversion: *mut c_int) -> c_int {
    unlocked("MPI_Get_version", || {
        // SAFETY: the caller's promise of the results.
        let (version, subversion) =
            unsafe { (out(version, "version")?, out(subversion, "subversion")?) };
        version.put(MPI_VERSION);
        subversion.put(MPI_SUBVERSION);
        Ok(())
    })
}

/// Controls a profiling tool; no effect without a tool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Pcontrol(level: c_int) -> c_int {
    let _no_tool_listens = level;
    MPI_SUCCESS
}

/// Seconds between two ticks of `MPI_Wtime`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Wtick() -> c_double {
    clock::resolution_ns() as f64 * 1e-9
}

/// Seconds since some time in the past, the same for all processes of a host.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Wtime() -> c_double {
    clock::monotonic_ns() as f64 * 1e-9
}

/// Result of `MPI_Get_library_version`. Bindings identify a library by this text: the first line is
/// unique to Suiro, the second has the name that the standard gives the library.
const LIBRARY_VERSION: &str =
    concat!("Suiro ", env!("CARGO_PKG_VERSION"), " (MPI 5.0)\nmpi_abi 1.0 (standard ABI)");

/// Each type of hardware resource of the machine, with a flag: the process is restricted to one of
/// them (§9.1.2).
fn restrictions(places: &ResourceLocations) -> Result<Info> {
    let mut known = Info::default();
    for resource in Resource::ALL {
        let restricted: &[u8] = match places.of(resource) {
            ResourceLocation::Unknown => continue,
            ResourceLocation::Several => b"false",
            ResourceLocation::One(_) => b"true",
        };
        known.set(resource.uri().as_bytes(), restricted)?;
    }
    Ok(known)
}

/// Alignment in bytes from the hints, at least a cache line (§9.2).
///
/// # Errors
/// `InfoValue` for a value that is not a number.
pub(crate) fn alignment(hints: Option<&Info>) -> Result<usize> {
    let Some(hints) = hints else { return Ok(allocation::ALIGNMENT) };
    let Some(value) = hints.get(b"mpi_minimum_memory_alignment")? else {
        return Ok(allocation::ALIGNMENT);
    };
    let number = str::from_utf8(value).ok().and_then(|text| text.trim().parse().ok());
    let number: usize = number.ok_or_else(|| {
        let value = String::from_utf8_lossy(value);
        let why = format!("mpi_minimum_memory_alignment is {value:?}, not a number of bytes");
        ErrorClass::InfoValue.error(why)
    })?;
    Ok(number.max(allocation::ALIGNMENT))
}
