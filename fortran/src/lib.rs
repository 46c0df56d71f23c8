//! MPI for Fortran: the entry points of `mpif.h` and of the modules `mpi` and `mpi_f08`, above any C
//! library with the ABI of MPI 5.0.
//!
//! ```text
//!  Fortran program ── MPI_SEND ── mpi_send_ ──jmp──> pmpi_send_ ──by kind──> PMPI_Send (libmpi_abi)
//!                                   jumps      made from routines.tsv
//! ```
//!
//! Most routines only convert each argument by its kind; `build.rs` generates them from the table
//! (`generator/entry.rs`), the files here have the conversions, and `by_hand` has the routines that
//! need more. The functions of `mpi-ext.h` (`extensions.tsv`) may be missing in C: [`c`] calls them if they are
//! there. Compilers make these symbols of `MPI_SEND`: `mpi_send_`, `mpi_send`, `mpi_send__`,
//! `MPI_SEND`.
//!
//! Calling convention of Fortran on the supported processors:
//!
//! * all arguments by reference; the lengths of CHARACTER arguments, in bytes, by value after all
//!   others. A LOGICAL is true if its lowest bit is set.
//! * a handle is the INTEGER of `MPI_X_toint`, which in this ABI is the low half of the C handle;
//! * a status has the numbers of C in their order, so it is written in place (MPI 5.0, §19.3.5);
//! * variables that are identified by their address (`sentinel`) become the constants of C.
//!
//! Callbacks: reduction functions and error handlers have the same signature in both languages, because
//! C passes all arguments by reference and the low half of a handle is the INTEGER on a little-endian
//! machine. The C library calls the functions of attributes and stores their language (hooks `suiro_*`).
//! Those of generalized requests and of data representations are called through `callback`.
//!
//! The only state of this library is whether Fortran's types have been described to C. It has no lock
//! and no thread.

#![allow(unsafe_code)]
#![allow(non_camel_case_types, non_snake_case, reason = "the names are those of the standard")]
#![allow(clippy::missing_safety_doc, reason = "the contract is the standard's for each argument")]
#![allow(clippy::too_many_arguments, reason = "the signatures are the standard's")]

#[cfg(not(all(target_endian = "little", target_pointer_width = "64")))]
compile_error!(
    "callbacks read the low half of a handle at its address: a little-endian processor is required"
);

/// Defines each symbol on the left as a jump to the body on the right: no argument is touched, so
/// one form serves every signature.
macro_rules! jumps {
    ($($name:ident => $body:ident;)*) => {
        $(
            #[doc = concat!("Jumps to [`", stringify!($body), "`].")]
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name() {
                #[cfg(target_arch = "x86_64")]
                std::arch::naked_asm!("jmp {}", sym $body);
                #[cfg(target_arch = "aarch64")]
                std::arch::naked_asm!("b {}", sym $body);
            }
        )*
    };
}

mod argument;
mod by_hand;
mod c;
mod callback;
mod entry;
mod f08;
mod handles;
mod logical;
mod sentinel;
mod text;
