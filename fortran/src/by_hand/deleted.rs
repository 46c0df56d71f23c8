//! Routines of MPI-1 that the standard has deleted and programs still call, implemented by their
//! replacements. Addresses are default INTEGERs here: they lose their high half, but differences of
//! addresses less than 2 GiB apart remain correct.

use std::ffi::c_void;

use crate::argument::{answer, handle, number};
use crate::c::*;
use crate::handles::Handles;
use crate::sentinel::choice;

/// `MPI_ERR_ARG`.
const MPI_ERR_ARG: Fint = 13;

/// `MPI_ADDRESS`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pmpi_address_(
    location: *mut c_void, address: *mut Fint, ierror: *mut Fint,
) {
    let mut found = 0;
    // SAFETY: the caller's promise of the arguments.
    unsafe {
        let code = PMPI_Get_address(choice(location), &mut found);
        *address = found as Fint;
        answer(ierror, code);
    }
}

/// `MPI_ERRHANDLER_CREATE`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pmpi_errhandler_create_(
    handler_fn: *const c_void, errhandler: *mut Fint, ierror: *mut Fint,
) {
    // SAFETY: the caller's promise of the arguments.
    unsafe {
        let mut made = handle(*errhandler);
        let code = PMPI_Comm_create_errhandler(handler_fn, &mut made);
        *errhandler = number(made);
        answer(ierror, code);
    }
}

/// `MPI_ERRHANDLER_GET`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pmpi_errhandler_get_(
    comm: *const Fint, errhandler: *mut Fint, ierror: *mut Fint,
) {
    // SAFETY: the caller's promise of the arguments.
    unsafe {
        let mut found = handle(*errhandler);
        let code = PMPI_Comm_get_errhandler(handle(*comm), &mut found);
        *errhandler = number(found);
        answer(ierror, code);
    }
}

/// `MPI_ERRHANDLER_SET`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pmpi_errhandler_set_(
    comm: *const Fint, errhandler: *const Fint, ierror: *mut Fint,
) {
    // SAFETY: the caller's promise of the arguments.
    unsafe { answer(ierror, PMPI_Comm_set_errhandler(handle(*comm), handle(*errhandler))) };
}

/// `MPI_TYPE_EXTENT`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pmpi_type_extent_(
    datatype: *const Fint, extent: *mut Fint, ierror: *mut Fint,
) {
    // SAFETY: the caller's promise of the arguments.
    unsafe { store_bounds(datatype, (extent, ierror), |_, extent| extent) };
}

/// `MPI_TYPE_LB`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pmpi_type_lb_(
    datatype: *const Fint, displacement: *mut Fint, ierror: *mut Fint,
) {
    // SAFETY: the caller's promise of the arguments.
    unsafe { store_bounds(datatype, (displacement, ierror), |lower, _| lower) };
}

/// `MPI_TYPE_UB`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pmpi_type_ub_(
    datatype: *const Fint, displacement: *mut Fint, ierror: *mut Fint,
) {
    // SAFETY: the caller's promise of the arguments.
    unsafe { store_bounds(datatype, (displacement, ierror), |lower, extent| lower + extent) };
}

/// `MPI_TYPE_HINDEXED`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pmpi_type_hindexed_(
    count: *const Fint, array_of_blocklengths: *const Fint, array_of_displacements: *const Fint,
    oldtype: *const Fint, newtype: *mut Fint, ierror: *mut Fint,
) {
    // SAFETY: the caller's promise of the arguments.
    unsafe {
        let displacements = addresses(array_of_displacements, *count);
        let mut made = handle(*newtype);
        let code = PMPI_Type_create_hindexed(
            *count,
            array_of_blocklengths,
            displacements.as_ptr(),
            handle(*oldtype),
            &mut made,
        );
        *newtype = number(made);
        answer(ierror, code);
    }
}

/// `MPI_TYPE_HVECTOR`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pmpi_type_hvector_(
    count: *const Fint, blocklength: *const Fint, stride: *const Fint, oldtype: *const Fint,
    newtype: *mut Fint, ierror: *mut Fint,
) {
    // SAFETY: the caller's promise of the arguments.
    unsafe {
        let mut made = handle(*newtype);
        let (stride, oldtype) = (*stride as Aint, handle(*oldtype));
        let code = PMPI_Type_create_hvector(*count, *blocklength, stride, oldtype, &mut made);
        *newtype = number(made);
        answer(ierror, code);
    }
}

/// `MPI_TYPE_STRUCT`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pmpi_type_struct_(
    count: *const Fint, array_of_blocklengths: *const Fint, array_of_displacements: *const Fint,
    array_of_types: *const Fint, newtype: *mut Fint, ierror: *mut Fint,
) {
    // SAFETY: the caller's promise of the arguments.
    unsafe {
        let displacements = addresses(array_of_displacements, *count);
        let mut types = Handles::of(array_of_types, *count);
        let mut made = handle(*newtype);
        let code = PMPI_Type_create_struct(
            *count,
            array_of_blocklengths,
            displacements.as_ptr(),
            types.as_mut_ptr(),
            &mut made,
        );
        *newtype = number(made);
        answer(ierror, code);
    }
}

/// Stores the result of `choose` for the lower bound and extent of a datatype.
///
/// # Safety
/// All may be read or written as the routine's arguments.
unsafe fn store_bounds(
    datatype: *const Fint, (result, ierror): (*mut Fint, *mut Fint), choose: fn(Aint, Aint) -> Aint,
) {
    let (mut lower, mut extent) = (0, 0);
    // SAFETY: the caller's promise.
    unsafe {
        let code = PMPI_Type_get_extent(handle(*datatype), &mut lower, &mut extent);
        if code != MPI_SUCCESS {
            return answer(ierror, code);
        }
        match Fint::try_from(choose(lower, extent)) {
            Ok(bound) => {
                *result = bound;
                answer(ierror, code);
            }
            // A truncated number would be taken for the bound.
            Err(_) => {
                *result = MPI_UNDEFINED;
                PMPI_Comm_call_errhandler(handle(MPI_COMM_SELF), MPI_ERR_ARG);
                answer(ierror, MPI_ERR_ARG);
            }
        }
    }
}

/// # Safety
/// `numbers` has `count` elements, unless that is negative.
unsafe fn addresses(numbers: *const Fint, count: Fint) -> Vec<Aint> {
    // SAFETY: the caller's promise.
    (0..count.max(0) as usize).map(|at| unsafe { *numbers.add(at) } as Aint).collect()
}
