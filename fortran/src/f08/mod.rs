//! Module `mpi_f08`: choice buffers are descriptors, and may be sections of arrays.
//!
//! A contiguous array is passed by its address, with the call of `mpif.h`. For a section with strides,
//! the C library makes a datatype for this call that describes the layout (`Elements`). The call uses
//! that datatype and frees it immediately: MPI keeps it until the operation has completed. The entry
//! points are generated (`generator/f08.rs`); this module has the functions that they call, and routines
//! that need more than conversions.

mod descriptor;
mod elements;
mod entry;
mod exchange;
mod object;
