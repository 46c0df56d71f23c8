//! Detachment of send buffers, and `MPI_F_SYNC_REG`.

use std::ffi::c_void;
use std::ptr;

use crate::argument::{answer, handle};
use crate::c::*;

/// Defines a detachment: `mpif.h` and module `mpi` have no type for the address, so it is not
/// returned (MPI 5.0 §3.6); in module `mpi_f08` it is a C pointer.
macro_rules! detachment {
    ($symbol:ident, $f08:ident, $f08_large:ident, $call:ident, $call_large:ident $(, $of:ident)?) => {
        #[doc = concat!("[`", stringify!($call), "`] without the address.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $symbol(
            $($of: *const Fint,)? _buffer_addr: *mut c_void, size: *mut Fint, ierror: *mut Fint,
        ) {
            let mut address: *mut c_void = ptr::null_mut();
            // SAFETY: the caller's promise of the arguments.
            unsafe { answer(ierror, $call($(handle(*$of),)? (&raw mut address).cast(), size)) };
        }

        #[doc = concat!("[`", stringify!($call), "`].")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $f08(
            $($of: *const Fint,)? buffer_addr: *mut c_void, size: *mut Fint, ierror: *mut Fint,
        ) {
            // SAFETY: the caller's promise of the arguments.
            unsafe { answer(ierror, $call($(handle(*$of),)? buffer_addr, size)) };
        }

        #[doc = concat!("[`", stringify!($call_large), "`].")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $f08_large(
            $($of: *const Fint,)? buffer_addr: *mut c_void, size: *mut Count, ierror: *mut Fint,
        ) {
            // SAFETY: the caller's promise of the arguments.
            unsafe { answer(ierror, $call_large($(handle(*$of),)? buffer_addr, size)) };
        }
    };
}

detachment!(
    pmpi_buffer_detach_,
    pmpi_buffer_detach_f08_,
    pmpi_buffer_detach_c_f08_,
    PMPI_Buffer_detach,
    PMPI_Buffer_detach_c
);
detachment!(
    pmpi_comm_detach_buffer_,
    pmpi_comm_detach_buffer_f08_,
    pmpi_comm_detach_buffer_c_f08_,
    PMPI_Comm_detach_buffer,
    PMPI_Comm_detach_buffer_c,
    comm
);
detachment!(
    pmpi_session_detach_buffer_,
    pmpi_session_detach_buffer_f08_,
    pmpi_session_detach_buffer_c_f08_,
    PMPI_Session_detach_buffer,
    PMPI_Session_detach_buffer_c,
    session
);

jumps! {
    mpi_buffer_detach_f08_ => pmpi_buffer_detach_f08_;
    mpi_buffer_detach_c_f08_ => pmpi_buffer_detach_c_f08_;
    mpi_comm_detach_buffer_f08_ => pmpi_comm_detach_buffer_f08_;
    mpi_comm_detach_buffer_c_f08_ => pmpi_comm_detach_buffer_c_f08_;
    mpi_session_detach_buffer_f08_ => pmpi_session_detach_buffer_f08_;
    mpi_session_detach_buffer_c_f08_ => pmpi_session_detach_buffer_c_f08_;
}

/// `MPI_F_SYNC_REG`: an opaque call, before which the compiler stores its argument to memory
/// (§19.1.17).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pmpi_f_sync_reg_(_buf: *mut c_void) {}
