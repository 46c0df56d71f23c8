//! Routines with application procedures that C cannot call directly (see `callback`).

use std::ffi::{c_char, c_void};

use super::predefined::is_no_conversion;
use crate::argument::{answer, handle, number};
use crate::c::*;
use crate::callback::{
    self, Cancel, Convert, ConvertLarge, Extent, Free, LargeRepresentation, PlainRepresentation,
    Query, Representation,
};
use crate::text::Text;

/// [`PMPI_Grequest_start`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pmpi_grequest_start_(
    query_fn: Query, free_fn: Free, cancel_fn: Cancel, extra_state: *const Aint,
    request: *mut Fint, ierror: *mut Fint,
) {
    // SAFETY: the caller's promise of the arguments: procedures with these interfaces (§13.2).
    unsafe {
        let functions = Box::into_raw(Box::new(callback::Request {
            query: query_fn,
            free: free_fn,
            cancel: cancel_fn,
            extra_state: *extra_state,
        }));
        let mut made = handle(*request);
        let code = PMPI_Grequest_start(
            callback::query as *const c_void,
            callback::free as *const c_void,
            callback::cancel as *const c_void,
            functions.cast(),
            &mut made,
        );
        if code != MPI_SUCCESS {
            drop(Box::from_raw(functions));
        }
        *request = number(made);
        answer(ierror, code);
    }
}

/// Defines the registration of a data representation. The registration and its procedures last until
/// the end of the program.
macro_rules! registration {
    ($symbol:ident, $call:ident, $of:ident, $convert:ty, $read:ident, $write:ident) => {
        #[doc = concat!("[`", stringify!($call), "`].")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $symbol(
            datarep: *const c_char, read_conversion_fn: $convert, write_conversion_fn: $convert,
            dtype_file_extent_fn: Extent, extra_state: *const Aint, ierror: *mut Fint,
            datarep_len: usize,
        ) {
            // SAFETY: the caller's promise of the arguments: procedures with these interfaces.
            unsafe {
                let datarep = Text::trimmed(datarep, datarep_len);
                let known =
                    |given: $convert| (!is_no_conversion(given as *const c_void)).then_some(given);
                let functions: *mut $of = Box::into_raw(Box::new(Representation {
                    read: known(read_conversion_fn),
                    write: known(write_conversion_fn),
                    extent: dtype_file_extent_fn,
                    extra_state: *extra_state,
                }));
                let read = (*functions).read.map(|_| callback::$read as *const c_void);
                let write = (*functions).write.map(|_| callback::$write as *const c_void);
                let code = $call(
                    datarep.as_ptr(),
                    read.unwrap_or(std::ptr::null()),
                    write.unwrap_or(std::ptr::null()),
                    extent_of(functions),
                    functions.cast(),
                );
                if code != MPI_SUCCESS {
                    drop(Box::from_raw(functions));
                }
                answer(ierror, code);
            }
        }
    };
}

registration!(
    pmpi_register_datarep_,
    PMPI_Register_datarep,
    PlainRepresentation,
    Convert,
    read,
    write
);
registration!(
    pmpi_register_datarep_c_f08_,
    PMPI_Register_datarep_c,
    LargeRepresentation,
    ConvertLarge,
    read_large,
    write_large
);

jumps! {
    mpi_register_datarep_c_f08_ => pmpi_register_datarep_c_f08_;
}

/// The extent function for these procedures.
fn extent_of<F>(_functions: *const Representation<F>) -> *const c_void {
    callback::extent::<F> as *const c_void
}
