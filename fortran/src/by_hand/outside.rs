//! Routines without a C function, or with another signature in C.

use crate::argument::{answer, handle, number};
use crate::c::*;
use crate::logical::truths;

/// [`PMPI_Pcontrol`] with its level, the only meaningful argument.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pmpi_pcontrol_(level: *const Fint) {
    // SAFETY: the caller's promise of the argument.
    unsafe { PMPI_Pcontrol(*level) };
}

/// [`PMPI_Cart_sub`]: the communicator has the number of dimensions.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pmpi_cart_sub_(
    comm: *const Fint, remain_dims: *const Fint, newcomm: *mut Fint, ierror: *mut Fint,
) {
    // SAFETY: the caller's promise of the arguments.
    unsafe {
        let mut dimensions = 0;
        let code = PMPI_Cartdim_get(handle(*comm), &mut dimensions);
        if code != MPI_SUCCESS {
            return answer(ierror, code);
        }
        let remain = truths(remain_dims, dimensions);
        let mut made = handle(*newcomm);
        let code = PMPI_Cart_sub(handle(*comm), remain.as_ptr(), &mut made);
        *newcomm = number(made);
        answer(ierror, code);
    }
}

/// `MPI_STATUS_F082F`: both have the same numbers.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pmpi_status_f082f_(
    f08_status: *const MPI_Status, f_status: *mut MPI_Status, ierror: *mut Fint,
) {
    // SAFETY: the caller's promise of the arguments.
    unsafe {
        *f_status = *f08_status;
        answer(ierror, MPI_SUCCESS);
    }
}

/// `MPI_STATUS_F2F08`: both have the same numbers.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pmpi_status_f2f08_(
    f_status: *const MPI_Status, f08_status: *mut MPI_Status, ierror: *mut Fint,
) {
    // SAFETY: the caller's promise of the arguments.
    unsafe {
        *f08_status = *f_status;
        answer(ierror, MPI_SUCCESS);
    }
}
