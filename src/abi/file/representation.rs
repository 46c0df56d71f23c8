//! Data representations of the application (MPI 5.0 §14.5.3): registration, and the calls of its
//! functions, without the lock.
//!
//! ```text
//!   write   user's buffer ── write_conversion_fn ──> elements of the file, one after the other ──> file
//!   read    file ──> elements of the file ── read_conversion_fn ──> user's buffer
//! ```
//!
//! The function of a write is called in the call that starts the access, that of a read by the thread that finds the
//! data there ([`conversion`](crate::mpi::file::conversion)).

#![allow(unsafe_code)]

use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_void};
use std::mem::transmute;
use std::sync::Arc;

use super::call::FileCall;
use crate::abi::arguments::text::string_at;
use crate::abi::constants::{MPI_MAX_DATAREP_STRING, MPI_SUCCESS};
use crate::abi::entry_point::{PROCESS, finish, number};
use crate::abi::handles::{MPI_FILE_NULL, handle};
use crate::abi::types::*;
use crate::mpi::Memory;
use crate::mpi::datatype::Datatype;
use crate::mpi::file::access::AccessDirection;
use crate::mpi::file::conversion::{Conversion, ReadConversion};
use crate::mpi::file::representation::{
    ConversionFunction, DataRepresentation, ElementExtents, UserRepresentation, unknown,
};
use crate::mpi::file::view::View;
use crate::mpi::handle::Handle;
use crate::process::ProcessMpi;
use platform::base::{ErrorClass, ErrorCode, MpiError, Result};

/// Makes a data representation known.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Register_datarep(
    datarep: *const c_char, read_conversion_fn: MPI_Datarep_conversion_function,
    write_conversion_fn: MPI_Datarep_conversion_function,
    dtype_file_extent_fn: MPI_Datarep_extent_function, extra_state: *mut c_void,
) -> c_int {
    let small = |function: MPI_Datarep_conversion_function| {
        function.map(|it| ConversionFunction { address: it as usize, is_large: false })
    };
    let functions = [small(read_conversion_fn), small(write_conversion_fn)];
    // SAFETY: the same contract.
    unsafe { register(datarep, functions, dtype_file_extent_fn, extra_state) }
}

/// Makes a data representation known whose functions have large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Register_datarep_c(
    datarep: *const c_char, read_conversion_fn: MPI_Datarep_conversion_function_c,
    write_conversion_fn: MPI_Datarep_conversion_function_c,
    dtype_file_extent_fn: MPI_Datarep_extent_function, extra_state: *mut c_void,
) -> c_int {
    let large = |function: MPI_Datarep_conversion_function_c| {
        function.map(|it| ConversionFunction { address: it as usize, is_large: true })
    };
    let functions = [large(read_conversion_fn), large(write_conversion_fn)];
    // SAFETY: the same contract.
    unsafe { register(datarep, functions, dtype_file_extent_fn, extra_state) }
}

/// # Safety
/// `datarep` is null or ends with a zero; the functions are what their types say.
unsafe fn register(
    datarep: *const c_char, [read, write]: [Option<ConversionFunction>; 2],
    extent: MPI_Datarep_extent_function, extra_state: *mut c_void,
) -> c_int {
    let register = || {
        // SAFETY: the caller's promise. A name that is too long is told from the longest one.
        let name = unsafe { string_at((datarep, "datarep"), MPI_MAX_DATAREP_STRING + 1)? };
        let Some(extent) = extent else {
            let why = "the function dtype_file_extent_fn is a null pointer: expected a function";
            return Err(ErrorClass::Arg.error(why));
        };
        let (extent, extra_state) = (extent as usize, extra_state.expose_provenance());
        let new = UserRepresentation { name, read, write, extent, extra_state };
        PROCESS.with_mpi(|mpi| mpi.files.representations.register(new))
    };
    finish(MPI_FILE_NULL, "MPI_Register_datarep", register())
}

/// The representation of this name; that of the application without its extents yet.
///
/// # Errors
/// `UnsupportedDatarep` if there is none.
pub(super) fn find(mpi: &ProcessMpi, name: &[u8]) -> Result<DataRepresentation> {
    if let Some(known) = DataRepresentation::of_standard(name) {
        return Ok(known);
    }
    let user = mpi.files.representations.find(name).ok_or_else(|| unknown(name))?;
    Ok(DataRepresentation::User(Arc::clone(user), Arc::default()))
}

/// The representation, with the extents of all elements of some datatypes. Calls the application.
///
/// # Errors
/// That of its function; `Conversion` for an extent that is none.
pub(super) fn with_extents_of(
    known: DataRepresentation, datatypes: &[&Datatype],
) -> Result<DataRepresentation> {
    let DataRepresentation::User(user, extents) = known else { return Ok(known) };
    let extents = RefCell::new(ElementExtents::clone(&extents));
    for datatype in datatypes {
        datatype.rebuilt(&|entry| {
            if !extents.borrow().contains_key(&entry.handle) {
                let extent = extent_of(&user, entry.handle)?;
                extents.borrow_mut().insert(entry.handle, extent);
            }
            Ok(None)
        })?;
    }
    Ok(DataRepresentation::User(user, Arc::new(extents.into_inner())))
}

fn extent_of(user: &UserRepresentation, datatype: u32) -> Result<usize> {
    let address = user.extent as *const c_void;
    // SAFETY: the address came with this type to `MPI_Register_datarep`.
    let call = unsafe { transmute::<*const c_void, MPI_Datarep_extent_function>(address) };
    let (mut extent, state) = (0, std::ptr::with_exposed_provenance_mut(user.extra_state));
    // SAFETY: the standard's types (§14.5.3); the result is a local variable.
    let code = call
        .map_or(MPI_SUCCESS, |call| unsafe { call(handle(datatype as c_int), &mut extent, state) });
    check_code(code, "dtype_file_extent_fn")?;
    usize::try_from(extent).map_err(|_| {
        let why = format!("the function dtype_file_extent_fn gave the extent {extent}");
        ErrorClass::Conversion.error(why)
    })
}

fn check_code(code: c_int, function: &str) -> Result {
    match code {
        MPI_SUCCESS => Ok(()),
        code => Err(MpiError::new(ErrorCode(code), format!("the function {function} failed"))),
    }
}

/// Bytes for an access whose data the application converts.
pub(super) struct ConvertedData {
    /// In the representation of the file.
    pub(super) memory: Memory,
    pub(super) conversion: Conversion,
}

/// The function of the application that converts data in this direction, and the representation.
fn conversion(
    view: &View, direction: AccessDirection,
) -> Option<(ConversionFunction, &Arc<UserRepresentation>)> {
    let user = view.representation.user()?;
    let function = match direction {
        AccessDirection::Read => user.read,
        AccessDirection::Write => user.write,
    };
    Some((function?, user))
}

/// Whether the application converts the data of an access.
///
/// # Errors
/// `File` if there is no such file.
pub(super) fn converts(mpi: &ProcessMpi, fh: MPI_File, direction: AccessDirection) -> Result<bool> {
    Ok(conversion(&mpi.files.get(number(fh))?.view, direction).is_some())
}

/// The bytes of an access whose data the application converts, converted if the access writes; `None` if the
/// application does not convert. The inner error is one that other ranks of a collective access must hear of.
///
/// # Errors
/// `File` if there is no such file. Inside: those of the datatype, of the count, and of the application.
///
/// # Safety
/// The standard's requirements for the buffer, until the access is complete.
pub(super) unsafe fn converted(call: &FileCall) -> Result<Option<Result<ConvertedData>>> {
    let found = PROCESS.with_file(number(call.fh), |file| {
        let found = conversion(&file.view, call.direction);
        Ok(found
            .map(|(function, user)| (function, user.extra_state, file.view.representation.clone())))
    })?;
    Ok(found.map(|(function, extra_state, representation)| {
        let elements = UserElements {
            function,
            extra_state,
            buffer: call.buf.expose_provenance(),
            datatype: number(call.datatype),
        };
        // SAFETY: the caller's promise.
        unsafe { elements.prepare(call, representation) }
    }))
}

/// Elements in the buffer of an access, and the function that converts them.
struct UserElements {
    function: ConversionFunction,
    extra_state: usize,
    buffer: usize,
    datatype: Handle,
}

impl UserElements {
    /// # Errors
    /// Those of the datatype, of the count, and of the application.
    ///
    /// # Safety
    /// The standard's requirements for the buffer, until the access is complete.
    unsafe fn prepare(
        self, call: &FileCall, representation: DataRepresentation,
    ) -> Result<ConvertedData> {
        // The function of a read gets the handle also after `MPI_Type_free`.
        let (datatype, handle_use) = PROCESS.with_mpi(|mpi| {
            let datatypes = &mpi.objects.datatypes;
            let datatype = datatypes.committed(self.datatype)?.clone();
            Ok((datatype, datatypes.handle_use(self.datatype)))
        })?;
        let file_bytes = with_extents_of(representation, &[&datatype])?.layout(&datatype)?.size();
        let count = call.elements()?;
        let len = file_bytes.checked_mul(count).ok_or_else(|| {
            ErrorClass::Count.error(format!("{count} elements have too many bytes in the file"))
        })?;
        let mut bytes = vec![0_u8; len];
        let read: Option<ReadConversion> = match call.direction {
            AccessDirection::Write => {
                // SAFETY: the caller's promise; the bytes have room for all elements.
                unsafe { self.convert(count, &mut bytes)? };
                None
            }
            AccessDirection::Read => Some(Box::new(move |bytes: &Memory, count| {
                let _in_use = &handle_use;
                // SAFETY: the caller's promise; so many elements were read.
                unsafe { self.convert(count, &mut bytes.packed()) }
            })),
        };
        let conversion = Conversion { file_bytes, memory_bytes: datatype.size(), read };
        Ok(ConvertedData { memory: Memory::owned(bytes), conversion })
    }

    /// Calls the function for the first `count` elements.
    ///
    /// # Errors
    /// That of the function; `Conversion` if its count is an int, and too small.
    ///
    /// # Safety
    /// The buffer has these elements, and so have the bytes.
    unsafe fn convert(&self, count: usize, bytes: &mut [u8]) -> Result {
        let (address, count) = (self.function.address as *const c_void, count as MPI_Count);
        let user = std::ptr::with_exposed_provenance_mut(self.buffer);
        let state = std::ptr::with_exposed_provenance_mut(self.extra_state);
        let (file, datatype) = (bytes.as_mut_ptr().cast(), handle(self.datatype as c_int));
        // SAFETY: the address came with this type to `MPI_Register_datarep` or its large form; the
        // standard's types and buffers (§14.5.3).
        let code = unsafe {
            if self.function.is_large {
                transmute::<*const c_void, MPI_Datarep_conversion_function_c>(address)
                    .map(|convert| convert(user, datatype, count, file, 0, state))
            } else {
                let count = c_int::try_from(count).map_err(|_| too_many(count))?;
                transmute::<*const c_void, MPI_Datarep_conversion_function>(address)
                    .map(|convert| convert(user, datatype, count, file, 0, state))
            }
        };
        check_code(code.unwrap_or(MPI_SUCCESS), "that converts data")
    }
}

fn too_many(count: MPI_Count) -> Box<MpiError> {
    ErrorClass::Conversion.error(format!(
        "{count} elements are too many for a conversion function with an int count: \
         MPI_Register_datarep_c registers others"
    ))
}
