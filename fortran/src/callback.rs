//! C callbacks that call Fortran procedures of the application: those of generalized requests (MPI 5.0
//! §13.2) and of data representations (§14.5.3). The extra state of C has the procedures to call;
//! they get all arguments by reference.

use std::ffi::{c_int, c_void};

use crate::argument::number;
use crate::c::*;
use crate::logical::logical;

/// The query procedure: extra state, status, error code.
pub(crate) type Query = unsafe extern "C" fn(*mut Aint, *mut MPI_Status, *mut Fint);
/// The free procedure: extra state, error code.
pub(crate) type Free = unsafe extern "C" fn(*mut Aint, *mut Fint);
/// The cancel procedure: extra state, whether the request is complete, error code.
pub(crate) type Cancel = unsafe extern "C" fn(*mut Aint, *mut Fint, *mut Fint);

/// The procedures of a generalized request.
pub(crate) struct Request {
    /// Fills the status.
    pub query: Query,
    /// Ends it.
    pub free: Free,
    /// Cancels the operation.
    pub cancel: Cancel,
    /// The extra state of the application.
    pub extra_state: Aint,
}

/// The query function of C.
///
/// # Safety
/// `request` is a [`Request`] that has not been freed, `status` may be written.
pub(crate) unsafe extern "C" fn query(request: *mut c_void, status: *mut MPI_Status) -> c_int {
    let mut code = MPI_SUCCESS;
    // SAFETY: the caller's promise; the application may change its extra state.
    unsafe {
        let request = request.cast::<Request>();
        ((*request).query)(&raw mut (*request).extra_state, status, &mut code);
    }
    code
}

/// The free function of C, which is called once and last.
///
/// # Safety
/// `request` is a [`Request`] from a box, and is freed by this call.
pub(crate) unsafe extern "C" fn free(request: *mut c_void) -> c_int {
    let mut code = MPI_SUCCESS;
    // SAFETY: the caller's promise.
    unsafe {
        let mut request = Box::from_raw(request.cast::<Request>());
        (request.free)(&mut request.extra_state, &mut code);
    }
    code
}

/// The cancel function of C.
///
/// # Safety
/// `request` is a [`Request`] that has not been freed.
pub(crate) unsafe extern "C" fn cancel(request: *mut c_void, complete: c_int) -> c_int {
    let (mut code, mut complete) = (MPI_SUCCESS, logical(complete));
    // SAFETY: the caller's promise.
    unsafe {
        let request = request.cast::<Request>();
        ((*request).cancel)(&raw mut (*request).extra_state, &mut complete, &mut code);
    }
    code
}

/// A conversion procedure.
pub(crate) type Convert = unsafe extern "C" fn(
    *mut c_void,
    *mut Fint,
    *mut Fint,
    *mut c_void,
    *mut Offset,
    *mut Aint,
    *mut Fint,
);
/// [`Convert`] with a large count.
pub(crate) type ConvertLarge = unsafe extern "C" fn(
    *mut c_void,
    *mut Fint,
    *mut Count,
    *mut c_void,
    *mut Offset,
    *mut Aint,
    *mut Fint,
);
/// An extent procedure: datatype, extent, extra state, error code.
pub(crate) type Extent = unsafe extern "C" fn(*mut Fint, *mut Aint, *mut Aint, *mut Fint);

/// The procedures of a data representation; those with large counts have another type.
pub(crate) struct Representation<F> {
    /// From the file.
    pub read: Option<F>,
    /// To the file.
    pub write: Option<F>,
    /// The extent of elements in the file.
    pub extent: Extent,
    /// The extra state of the application.
    pub extra_state: Aint,
}

/// [`Representation`] with counts of type INTEGER.
pub(crate) type PlainRepresentation = Representation<Convert>;
/// [`Representation`] with large counts.
pub(crate) type LargeRepresentation = Representation<ConvertLarge>;

/// Defines a conversion function of C.
macro_rules! conversion {
    ($name:ident, $field:ident, $of:ty, $count:ty) => {
        /// Calls the procedure of the application.
        ///
        /// # Safety
        /// `extra_state` is that of the registration, which has this procedure.
        pub unsafe extern "C" fn $name(
            userbuf: *mut c_void, datatype: Handle, mut count: $count, filebuf: *mut c_void,
            mut position: Offset, extra_state: *mut c_void,
        ) -> c_int {
            let (mut code, mut datatype) = (MPI_SUCCESS, number(datatype));
            // SAFETY: the caller's promise.
            unsafe {
                let known = extra_state.cast::<$of>();
                if let Some(call) = (*known).$field {
                    let extra = &raw mut (*known).extra_state;
                    call(
                        userbuf,
                        &mut datatype,
                        &mut count,
                        filebuf,
                        &mut position,
                        extra,
                        &mut code,
                    );
                }
            }
            code
        }
    };
}

conversion!(read, read, PlainRepresentation, c_int);
conversion!(write, write, PlainRepresentation, c_int);
conversion!(read_large, read, LargeRepresentation, Count);
conversion!(write_large, write, LargeRepresentation, Count);

/// The extent function of C.
///
/// # Safety
/// `extra_state` is that of the registration, a `Representation<F>`.
pub(crate) unsafe extern "C" fn extent<F>(
    datatype: Handle, extent: *mut Aint, extra_state: *mut c_void,
) -> c_int {
    let (mut code, mut datatype) = (MPI_SUCCESS, number(datatype));
    // SAFETY: the caller's promise.
    unsafe {
        let known = extra_state.cast::<Representation<F>>();
        ((*known).extent)(&mut datatype, extent, &raw mut (*known).extra_state, &mut code);
    }
    code
}
