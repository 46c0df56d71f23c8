//! The C boundary: every exported symbol of the standard ABI of MPI 5.0.
//!
//! ```text
//!  C program ── MPI_Send ──jmp──> PMPI_Send ──widen──> PMPI_Send_c ──> entry_point ──> the library
//!                 profile.rs       int_form.rs        one file       errors become ints
//!                                                   per chapter
//! ```
//!
//! * `types` and `handles`, `constants` are the ABI's types and values, `include/mpi.h` in Rust.
//!   `include/mpi_proto.h` is made from the signatures here (`tests/header.rs`).
//! * The table of functions, `generator/functions.tsv`, says which bodies are written here by hand.
//!   `build.rs` generates all others, and the jumps: `int_form`, `unsupported` and `profile`
//!   include them.
//! * The body of a function is `PMPI_x`; `MPI_x` is a jump to it, so that a tool which interposes
//!   `MPI_x` can call `PMPI_x`. `-Bsymbolic-functions` binds that jump when the library is linked
//!   (no table in between, which the tool's `MPI_x` would be in); plain `-Bsymbolic` would also
//!   bind data, which Fortran's sentinels must not have. `-z nodelete` keeps the library mapped:
//!   its thread and its exit handlers must not lose their code.
//! * The `_c` form is the implementation; the `int` form widens and calls it (`width`).
//! * A function that is not supported yet says so (`entry_point::unsupported`); the coverage table
//!   of the README is made from the table of functions.
//!
//! Every function here is `unsafe` for one reason: it trusts the pointers that C hands in, as the
//! standard lets it. What the caller promises is the text of the standard.

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
pub(crate) mod fortran_info;
pub(crate) mod generated;
pub mod handles;
pub(crate) mod info;
pub(crate) mod initialization;
pub(crate) mod legacy;
pub(crate) mod naming;
pub(crate) mod neighborhood;
pub(crate) mod point_to_point;
pub(crate) mod reduction;
pub(crate) mod request;
pub(crate) mod tool;
pub mod types;
pub(crate) mod window;
