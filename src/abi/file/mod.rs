//! Files (MPI 5.0, chapter 14): opening, sizes, hints, consistency.

#![allow(unsafe_code)]

pub(crate) mod blocking;
mod call;
pub(crate) mod nonblocking;
pub(crate) mod representation;
pub(crate) mod split;
pub(crate) mod view;

use std::ffi::{c_char, c_int};
use std::sync::Arc;

use crate::abi::arguments::pointer::{in_out, out};
use crate::abi::arguments::text::string_at;
use crate::abi::communicator::group::put_group;
use crate::abi::entry_point::{PROCESS, finish, finish_by, local, number};
use crate::abi::handles::MPI_FILE_NULL;
use crate::abi::types::*;
use crate::mpi::file::FILE_NULL;
use crate::process::Process;
use crate::process::files::{OpenArguments, SizeChange};
use platform::base::{ErrorClass, Result};

/// The longest name of a file, with its zero: `PATH_MAX`, and room for the name of a file system.
const NAME_MAX: c_int = 4096 + 64;

/// Closes a file; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_close(fh: *mut MPI_File) -> c_int {
    // SAFETY: the caller's promise of the handle.
    let place = match unsafe { in_out(fh, "fh") } {
        Ok(place) => place,
        Err(error) => return finish(MPI_FILE_NULL, "MPI_File_close", Err(error)),
    };
    let file = number(place.get());
    let handler = PROCESS.with_mpi(|mpi| Ok(mpi.files.get(file)?.handler.clone()));
    let closed = PROCESS.close_file(file);
    // An error of the system does not keep the file open: its handler is called nevertheless.
    let is_gone = PROCESS.with_mpi(|mpi| mpi.files.get(file).map(drop)).is_err();
    match handler {
        Ok(handler) if is_gone => {
            place.put(MPI_FILE_NULL);
            finish_by(handler, FILE_NULL, "MPI_File_close", closed)
        }
        _ => finish(place.get(), "MPI_File_close", closed),
    }
}

/// Deletes a file that no process has open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_delete(filename: *const c_char, info: MPI_Info) -> c_int {
    let delete = || {
        // SAFETY: the caller gives a string that ends with a zero.
        let name = unsafe { file_name(filename)? };
        PROCESS.with_mpi(|mpi| mpi.objects.infos.hints(number(info)).map(drop))?;
        Process::delete_file(&name)
    };
    finish(MPI_FILE_NULL, "MPI_File_delete", delete())
}

/// The access mode.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_get_amode(fh: MPI_File, amode: *mut c_int) -> c_int {
    local("MPI_File_get_amode", fh, |mpi| {
        // SAFETY: the caller's promise of the result.
        let amode = unsafe { out(amode, "amode")? };
        amode.put(mpi.files.get(number(fh))?.mode.value());
        Ok(())
    })
}

/// Whether accesses are atomic.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_get_atomicity(fh: MPI_File, flag: *mut c_int) -> c_int {
    local("MPI_File_get_atomicity", fh, |mpi| {
        // SAFETY: the caller's promise of the result.
        let flag = unsafe { out(flag, "flag")? };
        flag.put(mpi.files.get(number(fh))?.is_atomic.into());
        Ok(())
    })
}

/// The group of the processes that have opened the file together.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_get_group(fh: MPI_File, group: *mut MPI_Group) -> c_int {
    local("MPI_File_get_group", fh, |mpi| {
        // SAFETY: the caller's promise of the result.
        let group = unsafe { out(group, "group")? };
        let comm = mpi.files.get(number(fh))?.comm;
        let found = Arc::clone(&mpi.comms.get(comm)?.group);
        put_group(mpi, found, group)
    })
}

/// The hints in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_get_info(fh: MPI_File, info_used: *mut MPI_Info) -> c_int {
    local("MPI_File_get_info", fh, |mpi| {
        // SAFETY: the caller's promise of the result.
        let info_used = unsafe { out(info_used, "info_used")? };
        let told = mpi.files.get(number(fh))?.told_hints()?;
        info_used.put_handle(mpi.objects.infos.insert(told)?);
        Ok(())
    })
}

/// The size in bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_get_size(fh: MPI_File, size: *mut MPI_Offset) -> c_int {
    let get = || {
        // SAFETY: the caller's promise of the result.
        let size = unsafe { out(size, "size")? };
        PROCESS.with_file(number(fh), |file| file.mode.check_random())?;
        let found = PROCESS.call_storage(number(fh), "get the size of", |file| file.size())?;
        size.put(found as MPI_Offset);
        Ok(())
    };
    finish(fh, "MPI_File_get_size", get())
}

/// Opens a file on all processes of a communicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_open(
    comm: MPI_Comm, filename: *const c_char, amode: c_int, info: MPI_Info, fh: *mut MPI_File,
) -> c_int {
    let open = || {
        // SAFETY: the caller's promise of the result, and of a string that ends with a zero.
        let (fh, name) = unsafe { (out(fh, "fh")?, file_name(filename)?) };
        fh.put(MPI_FILE_NULL);
        let (comm, info) = (number(comm), number(info));
        fh.put_handle(PROCESS.open_file(OpenArguments { comm, name, amode, info })?);
        Ok(())
    };
    finish(MPI_FILE_NULL, "MPI_File_open", open())
}

/// Gives the file space for its first bytes; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_preallocate(fh: MPI_File, size: MPI_Offset) -> c_int {
    const NAME: &str = "MPI_File_preallocate";
    finish(fh, NAME, PROCESS.resize_file(NAME, number(fh), size, SizeChange::Allocate))
}

/// Makes all accesses atomic, or not; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_set_atomicity(fh: MPI_File, flag: c_int) -> c_int {
    const NAME: &str = "MPI_File_set_atomicity";
    finish(fh, NAME, PROCESS.set_file_atomicity(NAME, number(fh), flag != 0))
}

/// Changes hints; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_set_info(fh: MPI_File, info: MPI_Info) -> c_int {
    const NAME: &str = "MPI_File_set_info";
    finish(fh, NAME, PROCESS.set_file_info(NAME, number(fh), number(info)))
}

/// Cuts the file, or adds a hole; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_set_size(fh: MPI_File, size: MPI_Offset) -> c_int {
    const NAME: &str = "MPI_File_set_size";
    finish(fh, NAME, PROCESS.resize_file(NAME, number(fh), size, SizeChange::Set))
}

/// Brings what was written to the device; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_sync(fh: MPI_File) -> c_int {
    const NAME: &str = "MPI_File_sync";
    finish(fh, NAME, PROCESS.sync_file(NAME, number(fh)))
}

/// # Errors
/// `Arg` for a null pointer; `BadFile` for an empty name, or one that is too long.
///
/// # Safety
/// `filename` is null or ends with a zero.
unsafe fn file_name(filename: *const c_char) -> Result<Vec<u8>> {
    // SAFETY: the caller's promise.
    let name = unsafe { string_at((filename, "filename"), NAME_MAX)? };
    match name.len() {
        0 => Err(ErrorClass::BadFile.error("the name of the file is empty")),
        len if len + 1 == NAME_MAX as usize => {
            Err(ErrorClass::BadFile.error(format!("the name of the file has {len} bytes or more")))
        }
        _ => Ok(name),
    }
}
