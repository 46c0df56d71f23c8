//! Module `mpi_f08`: choice buffers are descriptors, and may be sections of arrays.
//!
//! An array that is adjacent in memory is its address, and the call is that of `mpif.h`. For a
//! section with strides the C library makes a datatype for this call, which knows how the buffer
//! lies (`Elements`); the call is the same with that datatype, and frees it at once, since MPI keeps
//! what an operation needs until it is over. The entry points are made from the table
//! (`generator/f08.rs`); here is what they call, and what is no conversion of arguments.

mod descriptor;
mod elements;
mod entry;
mod exchange;
mod object;
