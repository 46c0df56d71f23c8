//! Datatypes, packing and addresses (MPI 5.0, chapter 5; for Fortran, chapter 19).

pub(crate) mod address;
pub(crate) mod constructor;
pub(crate) mod fortran;
pub(crate) mod pack;
pub(crate) mod query;
pub(crate) mod section;
