//! Initialization, which has no arguments of `main` in Fortran, and which describes Fortran's types to
//! the C library (MPI 5.0, chapter 20).

use std::ffi::{CStr, c_int};
use std::ptr;
use std::sync::Once;

use crate::argument::{answer, handle, number};
use crate::c::*;

/// Properties of every Fortran compiler on these processors. Types that only some have, such as numbers
/// of 16 bytes, are left open.
const TYPES: [(&CStr, &CStr); 17] = [
    (c"mpi_logical_size", c"4"),
    (c"mpi_integer_size", c"4"),
    (c"mpi_real_size", c"4"),
    (c"mpi_double_precision_size", c"8"),
    (c"mpi_logical1_supported", c"true"),
    (c"mpi_logical2_supported", c"true"),
    (c"mpi_logical4_supported", c"true"),
    (c"mpi_logical8_supported", c"true"),
    (c"mpi_integer1_supported", c"true"),
    (c"mpi_integer2_supported", c"true"),
    (c"mpi_integer4_supported", c"true"),
    (c"mpi_integer8_supported", c"true"),
    (c"mpi_real4_supported", c"true"),
    (c"mpi_real8_supported", c"true"),
    (c"mpi_complex8_supported", c"true"),
    (c"mpi_complex16_supported", c"true"),
    (c"mpi_double_complex_supported", c"true"),
];

/// `MPI_INFO_NULL`.
const INFO_NULL: Fint = 0x130;

/// Described once: there may be many sessions.
static DESCRIBED: Once = Once::new();

/// [`PMPI_Init`] without arguments.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pmpi_init_(ierror: *mut Fint) {
    // SAFETY: C allows null for both (§11.2.1); the caller's promise of the result.
    unsafe { answer(ierror, described(PMPI_Init(ptr::null_mut(), ptr::null_mut()))) };
}

/// [`PMPI_Init_thread`] without arguments.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pmpi_init_thread_(
    required: *const Fint, provided: *mut Fint, ierror: *mut Fint,
) {
    // SAFETY: as in `pmpi_init_`, and the caller's promise of the arguments.
    unsafe {
        let code = PMPI_Init_thread(ptr::null_mut(), ptr::null_mut(), *required, provided);
        answer(ierror, described(code));
    }
}

/// [`PMPI_Session_init`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pmpi_session_init_(
    info: *const Fint, errhandler: *const Fint, session: *mut Fint, ierror: *mut Fint,
) {
    // SAFETY: the caller's promise of the arguments.
    unsafe {
        let mut made = handle(*session);
        let code = PMPI_Session_init(handle(*info), handle(*errhandler), &mut made);
        *session = number(made);
        answer(ierror, described(code));
    }
}

/// Describes Fortran's types to C after a successful initialization, unless they are already
/// described: a second description is an error.
fn described(code: c_int) -> c_int {
    if code == MPI_SUCCESS {
        DESCRIBED.call_once(|| {
            describe_booleans();
            describe_types();
        });
    }
    code
}

fn describe_booleans() {
    let (mut truth, mut falsity, mut is_set): (Fint, Fint, c_int) = (1, 0, 0);
    let size = size_of::<Fint>() as c_int;
    // SAFETY: both have that size, and the result is a local variable.
    unsafe {
        let (mut known_true, mut known_false): (Fint, Fint) = (0, 0);
        let known = ((&raw mut known_true).cast(), (&raw mut known_false).cast());
        PMPI_Abi_get_fortran_booleans(size, known.0, known.1, &mut is_set);
        if is_set == 0 {
            let (truth, falsity) = ((&raw mut truth).cast(), (&raw mut falsity).cast());
            PMPI_Abi_set_fortran_booleans(size, truth, falsity);
        }
    }
}

fn describe_types() {
    let mut info = handle(INFO_NULL);
    // SAFETY: the strings end with a zero, and this function made the handle.
    unsafe {
        if PMPI_Abi_get_fortran_info(&mut info) != MPI_SUCCESS {
            return;
        }
        if info == handle(INFO_NULL) && PMPI_Info_create(&mut info) == MPI_SUCCESS {
            for (key, value) in TYPES {
                PMPI_Info_set(info, key.as_ptr(), value.as_ptr());
            }
            PMPI_Abi_set_fortran_info(info);
        }
        PMPI_Info_free(&mut info);
    }
}
