//! Files (MPI 5.0, chapter 14): opening, closing, views, sizes, hints, data representations.

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_char, c_int, c_void};

use super::entry_point::{Scope, unsupported};
use super::handles::MPI_FILE_NULL;
use super::types::*;

/// Closes a file; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_close(fh: *mut MPI_File) -> c_int {
    unsupported("MPI_File_close", Scope::None)
}

/// Deletes a file by name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_delete(filename: *const c_char, info: MPI_Info) -> c_int {
    unsupported("MPI_File_delete", Scope::File(MPI_FILE_NULL))
}

/// The access mode of a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_get_amode(fh: MPI_File, amode: *mut c_int) -> c_int {
    unsupported("MPI_File_get_amode", fh)
}

/// Whether conflicting accesses are atomic.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_get_atomicity(fh: MPI_File, flag: *mut c_int) -> c_int {
    unsupported("MPI_File_get_atomicity", fh)
}

/// The byte in the file of an offset in the view.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_get_byte_offset(
    fh: MPI_File, offset: MPI_Offset, disp: *mut MPI_Offset,
) -> c_int {
    unsupported("MPI_File_get_byte_offset", fh)
}

/// The group that opened a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_get_group(fh: MPI_File, group: *mut MPI_Group) -> c_int {
    unsupported("MPI_File_get_group", fh)
}

/// The hints of a file that are in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_get_info(fh: MPI_File, info_used: *mut MPI_Info) -> c_int {
    unsupported("MPI_File_get_info", fh)
}

/// The size of a file in bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_get_size(fh: MPI_File, size: *mut MPI_Offset) -> c_int {
    unsupported("MPI_File_get_size", fh)
}

/// The extent of a datatype in this file's representation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_get_type_extent_c(
    fh: MPI_File, datatype: MPI_Datatype, extent: *mut MPI_Count,
) -> c_int {
    unsupported("MPI_File_get_type_extent_c", fh)
}

/// [`PMPI_File_get_type_extent_c`] with sizes of type `MPI_Aint`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_get_type_extent(
    fh: MPI_File, datatype: MPI_Datatype, extent: *mut MPI_Aint,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_File_get_type_extent_c(fh, datatype, extent.cast()) }
}

/// The view of a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_get_view(
    fh: MPI_File, disp: *mut MPI_Offset, etype: *mut MPI_Datatype, filetype: *mut MPI_Datatype,
    datarep: *mut c_char,
) -> c_int {
    unsupported("MPI_File_get_view", fh)
}

/// Opens a file; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_open(
    comm: MPI_Comm, filename: *const c_char, amode: c_int, info: MPI_Info, fh: *mut MPI_File,
) -> c_int {
    unsupported("MPI_File_open", Scope::File(MPI_FILE_NULL))
}

/// Makes sure that there is room for `size` bytes; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_preallocate(fh: MPI_File, size: MPI_Offset) -> c_int {
    unsupported("MPI_File_preallocate", fh)
}

/// Sets whether conflicting accesses are atomic; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_set_atomicity(fh: MPI_File, flag: c_int) -> c_int {
    unsupported("MPI_File_set_atomicity", fh)
}

/// Changes the hints of a file; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_set_info(fh: MPI_File, info: MPI_Info) -> c_int {
    unsupported("MPI_File_set_info", fh)
}

/// Truncates or extends a file; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_set_size(fh: MPI_File, size: MPI_Offset) -> c_int {
    unsupported("MPI_File_set_size", fh)
}

/// Sets the view of a file; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_set_view(
    fh: MPI_File, disp: MPI_Offset, etype: MPI_Datatype, filetype: MPI_Datatype,
    datarep: *const c_char, info: MPI_Info,
) -> c_int {
    unsupported("MPI_File_set_view", fh)
}

/// Moves the caller's writes to the storage device; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_sync(fh: MPI_File) -> c_int {
    unsupported("MPI_File_sync", fh)
}

/// Defines a data representation for files.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Register_datarep(
    datarep: *const c_char, read_conversion_fn: MPI_Datarep_conversion_function,
    write_conversion_fn: MPI_Datarep_conversion_function,
    dtype_file_extent_fn: MPI_Datarep_extent_function, extra_state: *mut c_void,
) -> c_int {
    unsupported("MPI_Register_datarep", Scope::File(MPI_FILE_NULL))
}

/// [`PMPI_Register_datarep`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Register_datarep_c(
    datarep: *const c_char, read_conversion_fn: MPI_Datarep_conversion_function_c,
    write_conversion_fn: MPI_Datarep_conversion_function_c,
    dtype_file_extent_fn: MPI_Datarep_extent_function, extra_state: *mut c_void,
) -> c_int {
    unsupported("MPI_Register_datarep_c", Scope::File(MPI_FILE_NULL))
}
