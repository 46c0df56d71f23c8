//! Starting processes: lists of strings that end with a blank one (MPI 5.0 §11.8).

use std::ffi::c_char;
use std::ptr;

use crate::argument::{answer, handle, number};
use crate::c::*;
use crate::handles::Handles;
use crate::sentinel::{error_codes, is_argv_null};
use crate::text::Text;

/// [`PMPI_Comm_spawn`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pmpi_comm_spawn_(
    command: *const c_char, argv: *const c_char, maxprocs: *const Fint, info: *const Fint,
    root: *const Fint, comm: *const Fint, intercomm: *mut Fint, array_of_errcodes: *mut Fint,
    ierror: *mut Fint, command_len: usize, argv_len: usize,
) {
    // SAFETY: the caller's promise of the arguments; the list ends with a blank string.
    unsafe {
        let command = Text::stripped(command, command_len);
        let arguments = Arguments::of(argv, argv_len, 1, 0);
        let mut made = handle(*intercomm);
        let code = PMPI_Comm_spawn(
            command.as_ptr(),
            arguments.as_ptr(),
            *maxprocs,
            handle(*info),
            *root,
            handle(*comm),
            &mut made,
            error_codes(array_of_errcodes),
        );
        *intercomm = number(made);
        answer(ierror, code);
    }
}

/// [`PMPI_Comm_spawn_multiple`]; `array_of_argv` has a row for each command.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pmpi_comm_spawn_multiple_(
    count: *const Fint, array_of_commands: *const c_char, array_of_argv: *const c_char,
    array_of_maxprocs: *const Fint, array_of_info: *const Fint, root: *const Fint,
    comm: *const Fint, intercomm: *mut Fint, array_of_errcodes: *mut Fint, ierror: *mut Fint,
    array_of_commands_len: usize, array_of_argv_len: usize,
) {
    // SAFETY: the caller's promise of the arguments. C reads only those of the root, but they exist
    // at every rank, because Fortran has no null.
    unsafe {
        let rows = (*count).max(0) as usize;
        let command = |row: usize| {
            let start = array_of_commands.add(row * array_of_commands_len);
            Text::stripped(start, array_of_commands_len)
        };
        let commands: Vec<_> = (0..rows).map(command).collect();
        let mut command_starts: Vec<_> =
            commands.iter().map(|command| command.as_ptr().cast_mut()).collect();
        let lists: Vec<_> = (0..rows)
            .map(|row| Arguments::of(array_of_argv, array_of_argv_len, rows, row))
            .collect();
        let mut list_starts: Vec<_> = lists.iter().map(Arguments::as_ptr).collect();
        let no_lists = is_argv_null(array_of_argv);
        let mut infos = Handles::of(array_of_info, *count);
        let mut made = handle(*intercomm);
        let code = PMPI_Comm_spawn_multiple(
            *count,
            command_starts.as_mut_ptr(),
            if no_lists { ptr::null_mut() } else { list_starts.as_mut_ptr() },
            array_of_maxprocs,
            infos.as_mut_ptr(),
            *root,
            handle(*comm),
            &mut made,
            error_codes(array_of_errcodes),
        );
        *intercomm = number(made);
        answer(ierror, code);
    }
}

/// Arguments of a program for C.
struct Arguments {
    /// Owns what `starts` points to.
    _texts: Vec<Text>,
    /// Null-terminated; empty for `MPI_ARGV_NULL`.
    starts: Vec<*mut c_char>,
}

impl Arguments {
    /// The strings of `len` characters in row `row` of an array with `rows` rows, up to a blank one.
    ///
    /// # Safety
    /// `start` is that array, or `MPI_ARGV_NULL` or `MPI_ARGVS_NULL`.
    unsafe fn of(start: *const c_char, len: usize, rows: usize, row: usize) -> Self {
        let mut texts = Vec::new();
        if is_argv_null(start) {
            return Self { _texts: texts, starts: Vec::new() };
        }
        loop {
            let at = texts.len() * rows + row;
            // SAFETY: the caller's promise: nothing before this one was blank.
            let text = unsafe { Text::stripped(start.add(at * len), len) };
            if text.is_empty() {
                break;
            }
            texts.push(text);
        }
        let starts = texts.iter().map(|text| text.as_ptr().cast_mut());
        let starts = starts.chain([ptr::null_mut()]).collect();
        Self { _texts: texts, starts }
    }

    fn as_ptr(&self) -> *mut *mut c_char {
        if self.starts.is_empty() { ptr::null_mut() } else { self.starts.as_ptr().cast_mut() }
    }
}
