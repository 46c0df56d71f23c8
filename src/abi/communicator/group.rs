//! Groups of processes (MPI 5.0, chapter 7).

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int};
use std::sync::Arc;

use crate::abi::arguments::pointer::{Out, free_handle, list, out, out_list};
use crate::abi::constants::{MPI_IDENT, MPI_SIMILAR, MPI_UNEQUAL};
use crate::abi::entry_point::{PROCESS, finish, local, number};
use crate::abi::handles::{MPI_GROUP_NULL, handle};
use crate::abi::initialization::session::{look_at, set_named};
use crate::abi::types::*;
use crate::mpi::group::Group;
use crate::mpi::group::sets::{GroupComparison, UNDEFINED};
use crate::process::ProcessMpi;
use platform::base::{Peer, Result};

/// Whether two groups have the same members, in the same order or not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Group_compare(
    group1: MPI_Group, group2: MPI_Group, result: *mut c_int,
) -> c_int {
    local("MPI_Group_compare", group1, |mpi| {
        // SAFETY: the caller's promise of the result.
        let result = unsafe { out(result, "result")? };
        let groups = &mpi.objects.groups;
        let comparison = groups.get(number(group1))?.compare(groups.get(number(group2))?);
        result.put(value_of(comparison));
        Ok(())
    })
}

/// The members of the first group that are not in the second.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Group_difference(
    group1: MPI_Group, group2: MPI_Group, newgroup: *mut MPI_Group,
) -> c_int {
    // SAFETY: the caller gives a valid result pointer.
    unsafe { combined("MPI_Group_difference", group1, group2, newgroup, Group::difference) }
}

/// A group without the listed ranks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Group_excl(
    group: MPI_Group, n: c_int, ranks: *const c_int, newgroup: *mut MPI_Group,
) -> c_int {
    // SAFETY: the caller gives `n` ranks and a valid result pointer.
    unsafe { select_from("MPI_Group_excl", group, ((n, ranks), "ranks"), newgroup, Group::exclude) }
}

/// Frees a group.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Group_free(group: *mut MPI_Group) -> c_int {
    let free = |group| PROCESS.with_mpi(|mpi| mpi.objects.groups.free(number(group)));
    // SAFETY: the caller's promise of the handle.
    unsafe { free_handle("MPI_Group_free", (group, "group"), MPI_GROUP_NULL, free) }
}

/// The group of a named process set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Group_from_session_pset(
    session: MPI_Session, pset_name: *const c_char, newgroup: *mut MPI_Group,
) -> c_int {
    let result = look_at(session, |mpi| {
        // SAFETY: the caller gives a string that ends with a zero, and a valid result pointer.
        let (set, newgroup) = unsafe { (set_named(pset_name)?, out(newgroup, "newgroup")?) };
        let group = mpi.group_of_set(number(session), set)?;
        put_group(mpi, Arc::new(group), newgroup)
    });
    finish(session, "MPI_Group_from_session_pset", result)
}

/// A group of the listed ranks, in the order of the list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Group_incl(
    group: MPI_Group, n: c_int, ranks: *const c_int, newgroup: *mut MPI_Group,
) -> c_int {
    // SAFETY: the caller gives `n` ranks and a valid result pointer.
    unsafe { select_from("MPI_Group_incl", group, ((n, ranks), "ranks"), newgroup, Group::include) }
}

/// The members of the first group that are in the second too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Group_intersection(
    group1: MPI_Group, group2: MPI_Group, newgroup: *mut MPI_Group,
) -> c_int {
    // SAFETY: the caller gives a valid result pointer.
    unsafe { combined("MPI_Group_intersection", group1, group2, newgroup, Group::intersection) }
}

/// A group without the ranks in these (first, last, stride) ranges.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Group_range_excl(
    group: MPI_Group, n: c_int, ranges: *mut [c_int; 3], newgroup: *mut MPI_Group,
) -> c_int {
    let ranges = ranges.cast_const();
    // SAFETY: the caller gives `n` ranges and a valid result pointer.
    unsafe {
        select_from(
            "MPI_Group_range_excl",
            group,
            ((n, ranges), "ranges"),
            newgroup,
            Group::exclude_ranges,
        )
    }
}

/// A group of the ranks in these (first, last, stride) ranges.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Group_range_incl(
    group: MPI_Group, n: c_int, ranges: *mut [c_int; 3], newgroup: *mut MPI_Group,
) -> c_int {
    let ranges = ranges.cast_const();
    // SAFETY: the caller gives `n` ranges and a valid result pointer.
    unsafe {
        select_from(
            "MPI_Group_range_incl",
            group,
            ((n, ranges), "ranges"),
            newgroup,
            Group::include_ranges,
        )
    }
}

/// The calling process's rank in a group, or `MPI_UNDEFINED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Group_rank(group: MPI_Group, rank: *mut c_int) -> c_int {
    local("MPI_Group_rank", group, |mpi| {
        // SAFETY: the caller's promise of the result.
        let rank = unsafe { out(rank, "rank")? };
        let found = mpi.objects.groups.get(number(group))?.rank();
        rank.put(found.map_or(UNDEFINED, |rank| rank as c_int));
        Ok(())
    })
}

/// The number of members of a group.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Group_size(group: MPI_Group, size: *mut c_int) -> c_int {
    local("MPI_Group_size", group, |mpi| {
        // SAFETY: the caller's promise of the result.
        let size = unsafe { out(size, "size")? };
        let found = mpi.objects.groups.get(number(group))?.size();
        size.put(found as c_int);
        Ok(())
    })
}

/// The ranks in one group of members of another.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Group_translate_ranks(
    group1: MPI_Group, n: c_int, ranks1: *const c_int, group2: MPI_Group, ranks2: *mut c_int,
) -> c_int {
    local("MPI_Group_translate_ranks", group1, |mpi| {
        let groups = &mpi.objects.groups;
        let (from, to) = (groups.get(number(group1))?, groups.get(number(group2))?);
        // SAFETY: the caller gives `n` ranks, and room for as many.
        let (ranks, found) =
            unsafe { (list((n, ranks1), "ranks1")?, out_list((n, ranks2), "ranks2")?) };
        found.put(from.translate(ranks, to)?);
        Ok(())
    })
}

/// The members of the first group, then those only in the second.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Group_union(
    group1: MPI_Group, group2: MPI_Group, newgroup: *mut MPI_Group,
) -> c_int {
    // SAFETY: the caller gives a valid result pointer.
    unsafe { combined("MPI_Group_union", group1, group2, newgroup, Group::union) }
}

/// The result of `MPI_Group_compare` and `MPI_Comm_compare`.
pub(crate) fn value_of(comparison: GroupComparison) -> c_int {
    match comparison {
        GroupComparison::Ident => MPI_IDENT,
        GroupComparison::Similar => MPI_SIMILAR,
        GroupComparison::Unequal => MPI_UNEQUAL,
    }
}

/// Stores a handle for a group.
pub(crate) fn put_group(mpi: &mut ProcessMpi, group: Arc<Group>, target: Out<MPI_Group>) -> Result {
    target.put(handle(mpi.objects.groups.insert(group)? as c_int));
    Ok(())
}

/// A group from two groups.
///
/// # Safety
/// `newgroup` is null or may be written.
unsafe fn combined(
    name: &str, group1: MPI_Group, group2: MPI_Group, newgroup: *mut MPI_Group,
    combine: fn(&Group, &Group, Peer) -> Group,
) -> c_int {
    local(name, group1, |mpi| {
        // SAFETY: the caller's promise.
        let newgroup = unsafe { out(newgroup, "newgroup")? };
        let (groups, me) = (&mpi.objects.groups, mpi.engine.me());
        let (one, two) = (groups.get(number(group1))?, groups.get(number(group2))?);
        let made = combine(one, two, me).in_session(one.session().or(two.session()));
        put_group(mpi, Arc::new(made), newgroup)
    })
}

/// A group from some of the ranks of a group.
///
/// # Safety
/// The promise of [`list`]; `newgroup` is null or may be written.
unsafe fn select_from<T>(
    name: &str, group: MPI_Group, (selection, selected): ((c_int, *const T), &str),
    newgroup: *mut MPI_Group, select: fn(&Group, &[T], Peer) -> Result<Group>,
) -> c_int {
    local(name, group, |mpi| {
        // SAFETY: the caller's promise.
        let (newgroup, selection) =
            unsafe { (out(newgroup, "newgroup")?, list(selection, selected)?) };
        let from = mpi.objects.groups.get(number(group))?;
        let made = select(from, selection, mpi.engine.me())?.in_session(from.session());
        put_group(mpi, Arc::new(made), newgroup)
    })
}
