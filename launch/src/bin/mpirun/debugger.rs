//! The symbols by which a parallel debugger (TotalView, DDT, gdb with a script) finds the ranks:
//! the MPIR process acquisition interface 1.1. They are read and written from outside the process.
//!
//! They are in this program and not in a library: a debugger must find them in the launcher only.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::ptr;

use launch::debugger::{DebuggedProcess, Debugger};

/// `MPIR_PROCDESC`.
#[repr(C)]
pub(crate) struct ProcessDescription {
    host_name: *const c_char,
    executable_name: *const c_char,
    pid: c_int,
}

/// Value of `MPIR_debug_state`: all processes have started.
const SPAWNED: c_int = 1;

/// The processes, by rank.
#[used]
#[unsafe(no_mangle)]
pub(crate) static mut MPIR_proctable: *mut ProcessDescription = ptr::null_mut();

/// The number of entries of `MPIR_proctable`.
#[used]
#[unsafe(no_mangle)]
pub(crate) static mut MPIR_proctable_size: c_int = 0;

/// The event for which `MPIR_Breakpoint` is called.
#[used]
#[unsafe(no_mangle)]
pub(crate) static mut MPIR_debug_state: c_int = 0;

/// A debugger sets it to 1.
#[used]
#[unsafe(no_mangle)]
pub(crate) static mut MPIR_being_debugged: c_int = 0;

/// Its presence means that this process is not a rank.
#[used]
#[unsafe(no_mangle)]
pub(crate) static mut MPIR_i_am_starter: c_int = 1;

/// Its presence means that ranks run without an attached debugger.
#[used]
#[unsafe(no_mangle)]
pub(crate) static mut MPIR_partial_attach_ok: c_int = 1;

/// Where a debugger has its breakpoint.
#[unsafe(no_mangle)]
#[inline(never)]
pub(crate) extern "C" fn MPIR_Breakpoint() {
    // Volatile, so that no optimizer merges this function with another empty one.
    // SAFETY: this process has one thread, and reads its own integer.
    std::hint::black_box(unsafe { (&raw const MPIR_debug_state).read_volatile() });
}

/// The table behind the symbols. Its memory is valid until the process ends.
#[derive(Default)]
pub(crate) struct Mpir {
    table: Vec<ProcessDescription>,
    texts: Vec<CString>,
}

impl Debugger for Mpir {
    fn is_there(&self) -> bool {
        // SAFETY: only a debugger writes this integer, while the process is stopped.
        unsafe { (&raw const MPIR_being_debugged).read_volatile() != 0 }
    }

    fn show(&mut self, processes: &[DebuggedProcess]) {
        for process in processes {
            let mut text = |bytes: &[u8]| {
                self.texts.push(CString::new(bytes).unwrap_or_default());
                // The bytes of a `CString` do not move when the vector grows.
                self.texts.last().map_or(ptr::null(), |text| text.as_ptr())
            };
            let host_name = text(process.host.as_bytes());
            let executable_name = text(process.program.as_bytes());
            let pid = process.pid as c_int;
            self.table.push(ProcessDescription { host_name, executable_name, pid });
        }
        // SAFETY: this process has one thread; `self` lives in `main` until the process ends, and
        // its table does not change after this.
        unsafe {
            (&raw mut MPIR_proctable).write_volatile(self.table.as_mut_ptr());
            (&raw mut MPIR_proctable_size).write_volatile(self.table.len() as c_int);
            (&raw mut MPIR_debug_state).write_volatile(SPAWNED);
        }
        MPIR_Breakpoint();
    }
}
