//! The C boundary: every exported symbol of the standard ABI of MPI 5.0.
//!
//! ```text
//!  C program ── MPI_Send ──jmp──> PMPI_Send ──widen──> PMPI_Send_c ──> entry_point ──> the library
//!                generated::        generated::        a folder       errors become ints
//!                  profile           int_form          per chapter
//! ```
//!
//! | modules | content |
//! |---|---|
//! | `types`, `handles`, `constants` | types and values of the ABI: `include/mpi.h` in Rust |
//! | `entry_point`, `arguments` | lock, wait, error handler; pointers, strings, buffers, counts of two widths |
//! | `generated` | bodies and jumps that `build.rs` generates |
//! | `resilience` | the functions of `mpi-ext.h`; not in the standard |
//! | `global_memory` | what `libacp` calls; not in the standard |
//! | all others | bodies by hand, by chapter of the standard |
//!
//! * `tests/header.rs` generates `include/mpi_proto.h` from the signatures here.
//! * The table of functions, `generator/functions.tsv`, lists the bodies by hand. `build.rs`
//!   generates all others, and the jumps.
//! * The body of a function is `PMPI_x`; `MPI_x` is a jump to it, so that a tool that interposes
//!   `MPI_x` can call `PMPI_x`. `-Bsymbolic-functions` binds the jump at link time, so that it does
//!   not go through the procedure linkage table, which an interposed symbol would change. Plain
//!   `-Bsymbolic` would also bind data, which breaks the sentinels of Fortran. `-z nodelete` keeps
//!   the library mapped, because its thread and its exit handlers need its code.
//! * The `_c` form is the implementation; the `int` form widens its arguments and calls it
//!   (`arguments::width`).
//!
//! Every function here is `unsafe` because it uses the pointers of its C caller. The standard
//! defines the contract of these pointers.

#![allow(non_camel_case_types, non_snake_case, reason = "the names are those of the standard")]
#![allow(clippy::missing_safety_doc, reason = "the contract is the standard's, see above")]
#![allow(clippy::too_many_arguments, reason = "the signatures are the standard's")]

pub(crate) mod allocation;
pub(crate) mod arguments;
pub(crate) mod attribute;
pub(crate) mod collective;
pub(crate) mod communicator;
pub mod constants;
pub(crate) mod conversion;
pub(crate) mod datatype;
pub(crate) mod entry_point;
pub(crate) mod environment;
pub(crate) mod errhandler;
pub(crate) mod file;
pub(crate) mod fortran_info;
pub(crate) mod generated;
pub(crate) mod global_memory;
pub mod handles;
pub(crate) mod info;
pub(crate) mod initialization;
pub(crate) mod legacy;
pub(crate) mod naming;
pub(crate) mod neighborhood;
pub(crate) mod partitioned;
pub(crate) mod point_to_point;
pub(crate) mod reduction;
pub(crate) mod request;
pub(crate) mod resilience;
pub(crate) mod tool;
pub mod types;
pub(crate) mod window;
