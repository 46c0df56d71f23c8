//! The tool interface (MPI 5.0 §15.3.5): enumerations, of which the library has none.

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "there is nothing to describe")]

use std::ffi::{c_char, c_int};

use crate::abi::constants::MPI_T_ERR_INVALID_HANDLE;
use crate::abi::entry_point::{number, tool, tool_error};
use crate::abi::types::*;

/// Describes an enumeration.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_enum_get_info(
    enumtype: MPI_T_enum, num: *mut c_int, name: *mut c_char, name_len: *mut c_int,
) -> c_int {
    invalid("MPI_T_enum_get_info", enumtype)
}

/// Describes an item of an enumeration.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_enum_get_item(
    enumtype: MPI_T_enum, indx: c_int, value: *mut c_int, name: *mut c_char, name_len: *mut c_int,
) -> c_int {
    invalid("MPI_T_enum_get_item", enumtype)
}

/// Body of a function of one enumeration.
fn invalid(name: &str, enumtype: MPI_T_enum) -> c_int {
    tool(name, |_| {
        let why = format!("{:#x} is not an enumeration: there are none", number(enumtype));
        Err(tool_error(MPI_T_ERR_INVALID_HANDLE, why))
    })
}
