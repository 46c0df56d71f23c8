//! Functions that the modules need and C does not have: comparisons of handles, sizes of variables, and
//! `MPI_F_SYNC_REG`.

use super::descriptor::Descriptor;
use crate::argument::answer;
use crate::c::{Fint, MPI_SUCCESS};

/// `==` of two handles of a type: a LOGICAL.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn suiro_equal(a: *const Fint, b: *const Fint) -> Fint {
    // SAFETY: the compiler passes two handles, each one INTEGER.
    unsafe { (*a == *b).into() }
}

/// `/=` of two handles of a type.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn suiro_unequal(a: *const Fint, b: *const Fint) -> Fint {
    // SAFETY: as above.
    unsafe { (*a != *b).into() }
}

/// `MPI_SIZEOF`: bytes of a variable, or of an element of an array (MPI 5.0 §19.1.9).
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn pmpi_sizeof_f08ts_(
    x: *const Descriptor, size: *mut Fint, ierror: *mut Fint,
) {
    // SAFETY: the compiler made the descriptor; the caller's promise of the results.
    unsafe {
        *size = (*x).element_bytes() as Fint;
        answer(ierror, MPI_SUCCESS);
    }
}

/// `MPI_F_SYNC_REG`: an empty function that is opaque to compilers.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn pmpi_f_sync_reg_f08ts_(_buf: *const Descriptor) {}

jumps! {
    mpi_sizeof_f08ts_ => pmpi_sizeof_f08ts_;
    mpi_f_sync_reg_f08ts_ => pmpi_f_sync_reg_f08ts_;
}
