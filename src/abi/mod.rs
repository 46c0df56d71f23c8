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

pub mod address;
pub mod allocation;
pub mod attribute;
pub mod attribute_fortran;
mod bodies;
pub mod buffer;
pub mod callback;
pub mod collective;
pub mod collective_nonblocking;
pub mod collective_persistent;
pub mod collective_start;
pub mod comm;
pub mod constants;
pub mod conversion;
pub mod datatype;
pub mod datatype_fortran;
pub mod datatype_query;
pub mod entry_point;
pub mod environment;
pub mod errhandler;
pub mod fortran_info;
pub mod grequest;
pub mod group;
pub mod handles;
pub mod info;
pub mod initialization;
pub mod int_form;
pub mod intercomm;
pub mod legacy;
pub mod naming;
pub mod neighborhood;
pub mod neighborhood_nonblocking;
pub mod neighborhood_persistent;
pub mod neighborhood_start;
pub mod op;
pub mod p2p;
pub mod p2p_nonblocking;
pub mod p2p_persistent;
pub mod pack;
pub mod pointer;
pub mod probe;
pub mod process_creation;
pub mod profile;
pub mod request;
pub mod request_list;
pub mod section;
pub mod session;
mod split_type;
pub mod status;
pub mod text;
pub mod tool;
pub mod tool_event;
pub mod tool_variable;
pub mod topology;
pub mod types;
pub mod unsupported;
pub mod user_function;
pub mod user_memory;
pub mod width;
pub mod window;
