//! Groups of processes (MPI 5.0, chapter 7).

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_char, c_int};

use super::types::*;
use super::verb::{Scope, unsupported};

/// Whether two groups have the same members, in the same order or not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Group_compare(
    group1: MPI_Group, group2: MPI_Group, result: *mut c_int,
) -> c_int {
    unsupported("MPI_Group_compare", Scope::None)
}

/// The members of the first group that are not in the second.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Group_difference(
    group1: MPI_Group, group2: MPI_Group, newgroup: *mut MPI_Group,
) -> c_int {
    unsupported("MPI_Group_difference", Scope::None)
}

/// A group without the listed ranks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Group_excl(
    group: MPI_Group, n: c_int, ranks: *const c_int, newgroup: *mut MPI_Group,
) -> c_int {
    unsupported("MPI_Group_excl", Scope::None)
}

/// Lets go of a group.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Group_free(group: *mut MPI_Group) -> c_int {
    unsupported("MPI_Group_free", Scope::None)
}

/// The group of a named process set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Group_from_session_pset(
    session: MPI_Session, pset_name: *const c_char, newgroup: *mut MPI_Group,
) -> c_int {
    unsupported("MPI_Group_from_session_pset", session)
}

/// A group of the listed ranks, in the order of the list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Group_incl(
    group: MPI_Group, n: c_int, ranks: *const c_int, newgroup: *mut MPI_Group,
) -> c_int {
    unsupported("MPI_Group_incl", Scope::None)
}

/// The members of the first group that are in the second too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Group_intersection(
    group1: MPI_Group, group2: MPI_Group, newgroup: *mut MPI_Group,
) -> c_int {
    unsupported("MPI_Group_intersection", Scope::None)
}

/// A group without the ranks in these (first, last, stride) ranges.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Group_range_excl(
    group: MPI_Group, n: c_int, ranges: *mut [c_int; 3], newgroup: *mut MPI_Group,
) -> c_int {
    unsupported("MPI_Group_range_excl", Scope::None)
}

/// A group of the ranks in these (first, last, stride) ranges.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Group_range_incl(
    group: MPI_Group, n: c_int, ranges: *mut [c_int; 3], newgroup: *mut MPI_Group,
) -> c_int {
    unsupported("MPI_Group_range_incl", Scope::None)
}

/// The calling process's rank in a group, or `MPI_UNDEFINED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Group_rank(group: MPI_Group, rank: *mut c_int) -> c_int {
    unsupported("MPI_Group_rank", Scope::None)
}

/// The number of members of a group.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Group_size(group: MPI_Group, size: *mut c_int) -> c_int {
    unsupported("MPI_Group_size", Scope::None)
}

/// The ranks in one group of members of another.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Group_translate_ranks(
    group1: MPI_Group, n: c_int, ranks1: *const c_int, group2: MPI_Group, ranks2: *mut c_int,
) -> c_int {
    unsupported("MPI_Group_translate_ranks", Scope::None)
}

/// The members of the first group, then those only in the second.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Group_union(
    group1: MPI_Group, group2: MPI_Group, newgroup: *mut MPI_Group,
) -> c_int {
    unsupported("MPI_Group_union", Scope::None)
}
