//! Views and file pointers (MPI 5.0 §14.3, §14.4).

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int};

use crate::abi::arguments::pointer::out;
use crate::abi::arguments::text::{store_bytes, string_at};
use crate::abi::constants::{
    MPI_DISPLACEMENT_CURRENT, MPI_MAX_DATAREP_STRING, MPI_SEEK_CUR, MPI_SEEK_END, MPI_SEEK_SET,
};
use crate::abi::entry_point::{PROCESS, finish, local, number};
use crate::abi::file::representation;
use crate::abi::types::*;
use crate::mpi::datatype::Datatype;
use crate::mpi::file::view::View;
use crate::mpi::handle::Handle;
use crate::process::ProcessMpi;
use platform::base::{ErrorClass, Result};

/// The displacement of a sequential file.
const CURRENT: MPI_Offset = MPI_DISPLACEMENT_CURRENT as MPI_Offset;

/// The offset in the file of an offset in the view.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_get_byte_offset(
    fh: MPI_File, offset: MPI_Offset, disp: *mut MPI_Offset,
) -> c_int {
    local("MPI_File_get_byte_offset", fh, |mpi| {
        // SAFETY: the caller's promise of the result.
        let disp = unsafe { out(disp, "disp")? };
        let file = mpi.files.get(number(fh))?;
        file.mode.check_random()?;
        disp.put(byte_offset(&file.view, file.view.position(offset)?)?);
        Ok(())
    })
}

/// The individual file pointer, in etypes of the view.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_get_position(fh: MPI_File, offset: *mut MPI_Offset) -> c_int {
    local("MPI_File_get_position", fh, |mpi| {
        // SAFETY: the caller's promise of the result.
        let offset = unsafe { out(offset, "offset")? };
        let file = mpi.files.get(number(fh))?;
        file.mode.check_random()?;
        offset.put(file.view.etypes(file.pointer));
        Ok(())
    })
}

/// The shared file pointer, in etypes of the view.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_get_position_shared(
    fh: MPI_File, offset: *mut MPI_Offset,
) -> c_int {
    const NAME: &str = "MPI_File_get_position_shared";
    let get = || {
        // SAFETY: the caller's promise of the result.
        let offset = unsafe { out(offset, "offset")? };
        let position = PROCESS.shared_position(NAME, number(fh))?;
        offset.put(PROCESS.with_file(number(fh), |file| Ok(file.view.etypes(position)))?);
        Ok(())
    };
    finish(fh, NAME, get())
}

/// The extent of a datatype in the file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_get_type_extent_c(
    fh: MPI_File, datatype: MPI_Datatype, extent: *mut MPI_Count,
) -> c_int {
    let get = || {
        // SAFETY: the caller's promise of the result.
        let extent = unsafe { out(extent, "extent")? };
        let (datatype, known) = PROCESS.with_mpi(|mpi| {
            let view = &mpi.files.get(number(fh))?.view;
            let datatype = mpi.objects.datatypes.get(number(datatype))?.datatype.clone();
            Ok((datatype, view.representation.clone()))
        })?;
        let in_file = representation::with_extents_of(known, &[&datatype])?;
        extent.put(in_file.layout(&datatype)?.extent() as MPI_Count);
        Ok(())
    };
    finish(fh, "MPI_File_get_type_extent", get())
}

/// The view.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_get_view(
    fh: MPI_File, disp: *mut MPI_Offset, etype: *mut MPI_Datatype, filetype: *mut MPI_Datatype,
    datarep: *mut c_char,
) -> c_int {
    local("MPI_File_get_view", fh, |mpi| {
        // SAFETY: the caller's promise of the results.
        let (disp, etype, filetype, datarep) = unsafe {
            (
                out(disp, "disp")?,
                out(etype, "etype")?,
                out(filetype, "filetype")?,
                out(datarep, "datarep")?,
            )
        };
        let view = std::sync::Arc::clone(&mpi.files.get(number(fh))?.view);
        disp.put(view.tiles.displacement() as MPI_Offset);
        etype.put_handle(handle_of(mpi, &view.etype)?);
        filetype.put_handle(handle_of(mpi, &view.filetype)?);
        let name = view.representation.name();
        // SAFETY: the caller's promise of room for the longest name (§14.3).
        unsafe { store_bytes(name, datarep.as_ptr(), MPI_MAX_DATAREP_STRING) };
        Ok(())
    })
}

/// Moves the individual file pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_seek(fh: MPI_File, offset: MPI_Offset, whence: c_int) -> c_int {
    let seek = || {
        let at = PROCESS.with_file(number(fh), |file| {
            file.mode.check_random()?;
            Ok(file.view.etypes(file.pointer))
        })?;
        let position = sought(number(fh), offset, whence, at)?;
        PROCESS.with_file(number(fh), |file| {
            file.pointer = position;
            Ok(())
        })
    };
    finish(fh, "MPI_File_seek", seek())
}

/// Moves the shared file pointer; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_seek_shared(
    fh: MPI_File, offset: MPI_Offset, whence: c_int,
) -> c_int {
    const NAME: &str = "MPI_File_seek_shared";
    let file = number(fh);
    let seek = || {
        PROCESS.with_file(file, |file| file.mode.check_random())?;
        let at = match whence {
            MPI_SEEK_CUR => PROCESS.shared_position(NAME, file)?,
            _ => 0,
        };
        let at = PROCESS.with_file(file, |file| Ok(file.view.etypes(at)))?;
        PROCESS.seek_file_shared(NAME, file, sought(file, offset, whence, at))
    };
    finish(fh, NAME, seek())
}

/// Gives the file another view; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_set_view(
    fh: MPI_File, disp: MPI_Offset, etype: MPI_Datatype, filetype: MPI_Datatype,
    datarep: *const c_char, info: MPI_Info,
) -> c_int {
    const NAME: &str = "MPI_File_set_view";
    // SAFETY: the caller gives a string that ends with a zero.
    let name = unsafe { string_at((datarep, "datarep"), MPI_MAX_DATAREP_STRING) };
    let set = || {
        PROCESS.with_file(number(fh), |_| Ok(()))?;
        let view = name.and_then(|name| view(fh, disp, [etype, filetype], &name));
        PROCESS.set_file_view(NAME, number(fh), number(info), view)
    };
    finish(fh, NAME, set())
}

fn view(fh: MPI_File, disp: MPI_Offset, types: [MPI_Datatype; 2], name: &[u8]) -> Result<View> {
    let (mode, [etype, filetype], known) = PROCESS.with_mpi(|mpi| {
        let mode = mpi.files.get(number(fh))?.mode;
        let datatypes = &mpi.objects.datatypes;
        let committed = |datatype| datatypes.committed(number(datatype)).cloned();
        let types = [committed(types[0])?, committed(types[1])?];
        Ok((mode, types, representation::find(mpi, name)?))
    })?;
    let disp = match (disp, mode.is_sequential()) {
        (CURRENT, true) => current_displacement(fh)?,
        (_, true) => {
            return Err(ErrorClass::Arg.error(format!(
                "the displacement is {disp} in a file opened with MPI_MODE_SEQUENTIAL: expected \
                 MPI_DISPLACEMENT_CURRENT"
            )));
        }
        (disp, false) => disp,
    };
    let in_file = representation::with_extents_of(known, &[&etype, &filetype])?;
    View::new(disp, etype, filetype, in_file, mode.writes())
}

/// The offset of the shared pointer in the file.
fn current_displacement(fh: MPI_File) -> Result<MPI_Offset> {
    let position = PROCESS.shared_position("MPI_File_set_view", number(fh))?;
    PROCESS.with_file(number(fh), |file| byte_offset(&file.view, position))
}

fn byte_offset(view: &View, position: u64) -> Result<MPI_Offset> {
    let offset = view.tiles.offset(position);
    offset.map(|offset| offset as MPI_Offset).ok_or_else(|| {
        ErrorClass::Arg.error(format!("position {position} of the view is beyond the largest file"))
    })
}

/// The position that a seek asks for; `at` is the one before, in etypes.
///
/// # Errors
/// `Arg` for a position before the begin of the view, and an unknown `whence`.
fn sought(file: Handle, offset: MPI_Offset, whence: c_int, at: MPI_Offset) -> Result<u64> {
    let base = match whence {
        MPI_SEEK_SET => 0,
        MPI_SEEK_CUR => at,
        MPI_SEEK_END => end_of_view(file)?,
        _ => {
            let why = format!("whence is {whence}: expected one of MPI_SEEK_*");
            return Err(ErrorClass::Arg.error(why));
        }
    };
    let sum = base.checked_add(offset).filter(|sum| *sum >= 0).ok_or_else(|| {
        ErrorClass::Arg.error(format!(
            "the offset {offset} from {base} is before the begin of the view, or in no file"
        ))
    })?;
    PROCESS.with_file(file, |file| file.view.position(sum))
}

/// The first etype of the view at or behind the end of the file.
fn end_of_view(file: Handle) -> Result<MPI_Offset> {
    let size = PROCESS.call_storage(file, "get the size of", |file| file.size())?;
    PROCESS.with_file(file, |file| {
        let unit = file.view.unit().max(1);
        Ok((file.view.tiles.bytes_before_end(size).div_ceil(unit)) as MPI_Offset)
    })
}

/// A handle of a datatype that the application frees, unless it is predefined.
fn handle_of(mpi: &mut ProcessMpi, datatype: &Datatype) -> Result<Handle> {
    match mpi.objects.datatypes.predefined_handle(datatype) {
        Some(handle) => Ok(handle),
        None => mpi.objects.datatypes.insert(datatype.dup(), true),
    }
}
