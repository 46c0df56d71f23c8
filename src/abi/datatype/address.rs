//! Addresses and displacements in memory (MPI 5.0, chapter 5).

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use crate::abi::arguments::pointer::out;
use crate::abi::entry_point::unlocked;
use crate::abi::types::*;

/// An address and a displacement, added without overflow checks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Aint_add(base: MPI_Aint, disp: MPI_Aint) -> MPI_Aint {
    base.wrapping_add(disp)
}

/// The displacement between two addresses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Aint_diff(addr1: MPI_Aint, addr2: MPI_Aint) -> MPI_Aint {
    addr1.wrapping_sub(addr2)
}

/// The address of a location in memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Get_address(
    location: *const c_void, address: *mut MPI_Aint,
) -> c_int {
    unlocked("MPI_Get_address", || {
        // SAFETY: the caller's promise of the result.
        unsafe { out(address, "address")? }.put(location.addr() as MPI_Aint);
        Ok(())
    })
}
