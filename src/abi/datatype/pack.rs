//! Packing and unpacking (MPI 5.0, chapter 5), in the native representation and in "external32". For a
//! communicator of unlike processes `MPI_Pack` packs as messages do there, which is "external32".

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};

use crate::abi::arguments::pointer::{InOut, in_out, out};
use crate::abi::arguments::text::copy_text;
use crate::abi::arguments::user_memory::{checked_count, memory, memory_of, message_memory};
use crate::abi::constants::MPI_MAX_DATAREP_STRING;
use crate::abi::entry_point::{PROCESS, Scope, early, finish, local, number};
use crate::abi::handles::MPI_PACKED;
use crate::abi::types::*;
use crate::mpi::Memory;
use crate::mpi::datatype::{Datatype, external};
use platform::base::{ErrorClass, Result};

/// Packs items into a buffer at `position` and advances `position`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Pack_c(
    inbuf: *const c_void, incount: MPI_Count, datatype: MPI_Datatype, outbuf: *mut c_void,
    outsize: MPI_Count, position: *mut MPI_Count, comm: MPI_Comm,
) -> c_int {
    // SAFETY: the caller's promise of the buffers and of the position (§5.2).
    let found =
        unsafe { pack_arguments(comm, (inbuf, incount, datatype), (outbuf, outsize), position) };
    let result = found.map(|(items, mut packed, position)| {
        let len = items.len();
        items.copy(0, &mut packed, 0, len);
        position.change(|position| *position += len as MPI_Count);
    });
    finish(comm, "MPI_Pack", result)
}

/// Packs items in the named portable representation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Pack_external_c(
    datarep: *const c_char, inbuf: *const c_void, incount: MPI_Count, datatype: MPI_Datatype,
    outbuf: *mut c_void, outsize: MPI_Count, position: *mut MPI_Count,
) -> c_int {
    // SAFETY: the caller's promise of the buffers and of the strings (§5.3).
    let found = unsafe {
        let packed = Portable { datarep, buf: outbuf, size: outsize, position };
        packed.find(inbuf, incount, datatype)
    };
    let result = found.map(|(datatype, items, mut packed, position)| {
        external::pack(&datatype, incount as usize, &items, &mut packed);
        position.change(|position| *position += packed.len() as MPI_Count);
    });
    finish(Scope::None, "MPI_Pack_external", result)
}

/// Size in bytes of these items for `MPI_Pack_external`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Pack_external_size_c(
    datarep: *const c_char, incount: MPI_Count, datatype: MPI_Datatype, size: *mut MPI_Count,
) -> c_int {
    early("MPI_Pack_external_size", Scope::None, |objects| {
        // SAFETY: the caller's promise of the result.
        let size = unsafe { out(size, "size")? };
        let item = objects.datatypes.get(number(datatype))?.datatype.external_size();
        // SAFETY: the caller gives a string that ends with a zero.
        unsafe { external32(datarep)? };
        size.put(packed_len(incount, item)?);
        Ok(())
    })
}

/// Upper bound of the size in bytes of these items for `MPI_Pack`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Pack_size_c(
    incount: MPI_Count, datatype: MPI_Datatype, comm: MPI_Comm, size: *mut MPI_Count,
) -> c_int {
    local("MPI_Pack_size", comm, |mpi| {
        // SAFETY: the caller's promise of the result.
        let size = unsafe { out(size, "size")? };
        let form = mpi.comms.packed_form(number(comm))?;
        let item = mpi.objects.datatypes.get(number(datatype))?.datatype.packed_size(form);
        size.put(packed_len(incount, item)?);
        Ok(())
    })
}

/// Unpacks items from a buffer at `position` and advances `position`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Unpack_c(
    inbuf: *const c_void, insize: MPI_Count, position: *mut MPI_Count, outbuf: *mut c_void,
    outcount: MPI_Count, datatype: MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    // SAFETY: the caller's promise of the buffers and of the position (§5.2).
    let found =
        unsafe { pack_arguments(comm, (outbuf, outcount, datatype), (inbuf, insize), position) };
    let result = found.map(|(mut items, packed, position)| {
        let len = items.len();
        packed.copy(0, &mut items, 0, len);
        position.change(|position| *position += len as MPI_Count);
    });
    finish(comm, "MPI_Unpack", result)
}

/// Unpacks items from the named portable representation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Unpack_external_c(
    datarep: *const c_char, inbuf: *const c_void, insize: MPI_Count, position: *mut MPI_Count,
    outbuf: *mut c_void, outcount: MPI_Count, datatype: MPI_Datatype,
) -> c_int {
    // SAFETY: the caller's promise of the buffers and of the strings (§5.3).
    let found = unsafe {
        let packed = Portable { datarep, buf: inbuf, size: insize, position };
        packed.find(outbuf, outcount, datatype)
    };
    let result = found.map(|(datatype, mut items, packed, position)| {
        external::unpack(&datatype, outcount as usize, &packed, &mut items);
        position.change(|position| *position += packed.len() as MPI_Count);
    });
    finish(Scope::None, "MPI_Unpack_external", result)
}

/// The items to convert, their place in a pack buffer with its size, and the position.
///
/// # Errors
/// `Comm`, `Arg` for a null position, and those of [`memory`] and [`packed_at`].
///
/// # Safety
/// `position` is null, or may be read and written during its use; and the promise of [`memory`] for
/// the items and for the pack buffer.
unsafe fn pack_arguments(
    comm: MPI_Comm, (items, count, datatype): (*const c_void, MPI_Count, MPI_Datatype),
    (packed, size): (*const c_void, MPI_Count), position: *mut MPI_Count,
) -> Result<(Memory, Memory, InOut<MPI_Count>)> {
    PROCESS.with_mpi(|mpi| {
        mpi.comms.get(number(comm))?;
        // SAFETY: the caller's promise.
        unsafe {
            let position = in_out(position, "position")?;
            let items = message_memory(mpi, number(comm), items, count, datatype)?;
            let packed = packed_at(packed, position.get(), items.len(), size)?;
            let packed = memory(mpi, packed, items.len() as MPI_Count, MPI_PACKED)?;
            Ok((items, packed, position))
        }
    })
}

/// Pack buffer in a portable representation.
struct Portable {
    datarep: *const c_char,
    buf: *const c_void,
    size: MPI_Count,
    position: *mut MPI_Count,
}

impl Portable {
    /// The datatype and the items to convert, and their place in this buffer.
    ///
    /// # Errors
    /// `UnsupportedDatarep`, and those of [`memory_of`] and [`packed_at`].
    ///
    /// # Safety
    /// `datarep` and `position` are null or valid; and the promise of [`memory_of`] for the items
    /// and for this buffer.
    unsafe fn find(
        &self, items: *const c_void, count: MPI_Count, datatype: MPI_Datatype,
    ) -> Result<(Datatype, Memory, Memory, InOut<MPI_Count>)> {
        let find =
            |handle| PROCESS.early(|objects| objects.datatypes.committed(number(handle)).cloned());
        let (datatype, byte) = (find(datatype)?, find(MPI_PACKED)?);
        // SAFETY: the caller's promise.
        let position = unsafe {
            external32(self.datarep)?;
            in_out(self.position, "position")?
        };
        // SAFETY: as above.
        unsafe {
            let items = memory_of(items, count, &datatype)?;
            let len = packed_len(count, datatype.external_size())?;
            let packed = packed_at(self.buf, position.get(), len as usize, self.size)?;
            Ok((datatype, items, memory_of(packed, len, &byte)?, position))
        }
    }
}

/// # Errors
/// `UnsupportedDatarep` for any representation other than "external32", the only one of §5.3; `Arg`
/// for null.
///
/// # Safety
/// `datarep` is null or ends with a zero.
unsafe fn external32(datarep: *const c_char) -> Result {
    // SAFETY: the caller's promise.
    let name = unsafe { copy_text((datarep, "datarep"), MPI_MAX_DATAREP_STRING)? };
    if name == "external32" {
        return Ok(());
    }
    let why = format!("the data representation \"{name}\" is not \"external32\"");
    Err(ErrorClass::UnsupportedDatarep.error(why))
}

/// Size in bytes of `count` items of `item` bytes.
///
/// # Errors
/// `Count` if that is negative or overflows.
fn packed_len(count: MPI_Count, item: usize) -> Result<MPI_Count> {
    let bytes = checked_count(count)?.checked_mul(item);
    bytes.and_then(|bytes| MPI_Count::try_from(bytes).ok()).ok_or_else(|| {
        let why = format!("{count} items of {item} bytes are more than MPI_Count can hold");
        ErrorClass::Count.error(why)
    })
}

/// Address of `len` packed bytes in a buffer of `size` bytes; a null pointer stays null.
///
/// # Errors
/// `Arg` if they do not fit after `position`.
fn packed_at(
    buf: *const c_void, position: MPI_Count, len: usize, size: MPI_Count,
) -> Result<*const c_void> {
    let room = size.checked_sub(position).filter(|_| position >= 0);
    match (usize::try_from(position), room.and_then(|room| usize::try_from(room).ok())) {
        (Ok(_), Some(room)) if len <= room && buf.is_null() => Ok(buf),
        (Ok(place), Some(room)) if len <= room => Ok(buf.wrapping_byte_add(place)),
        _ => {
            let what = format!("{len} bytes at position {position} do not fit a pack buffer");
            Err(ErrorClass::Arg.error(format!("{what} of {size} bytes")))
        }
    }
}
