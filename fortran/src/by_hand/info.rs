//! Strings whose length is an argument: in C it includes the final zero, in Fortran not (MPI 5.0,
//! chapter 10).

use std::ffi::{c_char, c_int};
use std::ptr;

use crate::argument::{answer, handle, number};
use crate::c::*;
use crate::logical::logical;
use crate::text::{CharacterBuffer, Text};

/// [`PMPI_Info_create_env`] without arguments of `main`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pmpi_info_create_env_(info: *mut Fint, ierror: *mut Fint) {
    // SAFETY: C allows no arguments; the caller's promise of the results.
    unsafe {
        let mut made = handle(*info);
        let code = PMPI_Info_create_env(0, ptr::null_mut(), &mut made);
        *info = number(made);
        answer(ierror, code);
    }
}

/// [`PMPI_Info_get`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pmpi_info_get_(
    info: *const Fint, key: *const c_char, valuelen: *const Fint, value: *mut c_char,
    flag: *mut Fint, ierror: *mut Fint, key_len: usize, value_len: usize,
) {
    // SAFETY: the caller's promise of the arguments.
    unsafe {
        let key = Text::stripped(key, key_len);
        let mut buffer = CharacterBuffer::new((*valuelen).max(0) as usize + 1);
        let mut found = 0;
        let code =
            PMPI_Info_get(handle(*info), key.as_ptr(), *valuelen, buffer.as_mut_ptr(), &mut found);
        if found != 0 {
            buffer.put(value, value_len);
        }
        *flag = logical(found);
        answer(ierror, code);
    }
}

/// [`PMPI_Info_get_string`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pmpi_info_get_string_(
    info: *const Fint, key: *const c_char, buflen: *mut Fint, value: *mut c_char, flag: *mut Fint,
    ierror: *mut Fint, key_len: usize, value_len: usize,
) {
    // SAFETY: the caller's promise of the arguments.
    unsafe {
        let key = Text::stripped(key, key_len);
        let mut buffer = CharacterBuffer::new((*buflen).max(0) as usize + 1);
        let (mut len, mut found) = (len_in_c(*buflen), 0);
        let code = PMPI_Info_get_string(
            handle(*info),
            key.as_ptr(),
            &mut len,
            buffer.as_mut_ptr(),
            &mut found,
        );
        if found != 0 {
            if *buflen > 0 {
                buffer.put(value, value_len);
            }
            *buflen = len - 1;
        }
        *flag = logical(found);
        answer(ierror, code);
    }
}

/// [`PMPI_Session_get_nth_pset`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pmpi_session_get_nth_pset_(
    session: *const Fint, info: *const Fint, n: *const Fint, pset_len: *mut Fint,
    pset_name: *mut c_char, ierror: *mut Fint, pset_name_len: usize,
) {
    // SAFETY: the caller's promise of the arguments.
    unsafe {
        let mut buffer = CharacterBuffer::new((*pset_len).max(0) as usize + 1);
        let mut len = len_in_c(*pset_len);
        let code = PMPI_Session_get_nth_pset(
            handle(*session),
            handle(*info),
            *n,
            &mut len,
            buffer.as_mut_ptr(),
        );
        if code == MPI_SUCCESS {
            if *pset_len > 0 {
                buffer.put(pset_name, pset_name_len);
            }
            *pset_len = len - 1;
        }
        answer(ierror, code);
    }
}

/// The length of a buffer in C: one more; zero only queries the length.
fn len_in_c(len: Fint) -> c_int {
    if len > 0 { len.saturating_add(1) } else { len }
}
