//! `MPI_Comm_split_type`: splits by shared hardware or process sets (MPI 5.0 §7.4.2).

#![allow(unsafe_code)]

use std::ffi::c_int;

use super::comm::{give_hints, split};
use crate::abi::arguments::pointer::out;
use crate::abi::constants::*;
use crate::abi::entry_point::{PROCESS, finish, number};
use crate::abi::types::*;
use crate::mpi::communicator::hardware::{Resource, ResourceLocations};
use crate::mpi::communicator::hints::CommHints;
use crate::mpi::communicator::split_type::{SplitAssignment, SplitCriterion};
use crate::mpi::handle::Handle;
use crate::mpi::info::Info;
use crate::mpi::objects::INFO_ENV;
use crate::mpi::session::ProcessSet;
use crate::process::hardware;
use platform::base::{ErrorClass, Result};

const NAME: &str = "MPI_Comm_split_type";
/// Info key of the type of hardware.
const HARDWARE: &str = "mpi_hw_resource_type";
/// Info key of the process set.
const PROCESS_SET: &str = "mpi_pset_name";

/// One communicator per shared resource, ranks ordered by key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_split_type(
    comm: MPI_Comm, split_type: c_int, key: c_int, info: MPI_Info, newcomm: *mut MPI_Comm,
) -> c_int {
    // SAFETY: the caller's promise of the result.
    let result = unsafe { out(newcomm, "newcomm") }.and_then(|newcomm| {
        let asked: Result<_> = PROCESS.early(|objects| {
            let given = objects.infos.hints(number(info))?;
            Ok((split_criterion(split_type, given)?, CommHints::of(given)?))
        });
        let (by, hints) = asked?;
        let answer = resolve_split(number(comm), by)?;
        let made = split(NAME, |mpi| mpi.split(number(comm), answer.color, key))?;
        give_hints(made, hints)?;
        if let (SplitCriterion::Unguided, Some(resource)) = (by, answer.resource) {
            put_resource(number(info), resource)?;
        }
        newcomm.put_handle(made);
        Ok(())
    });
    finish(comm, NAME, result)
}

/// The criterion of a split type.
///
/// # Errors
/// `Arg` for an invalid split type, `Info` if the info has both hardware and a process set.
fn split_criterion(split_type: c_int, given: Option<&Info>) -> Result<SplitCriterion> {
    let value = |key: &str| match given {
        Some(given) => given.get(key.as_bytes()),
        None => Ok(None),
    };
    let resource = |name: &[u8]| {
        let found = str::from_utf8(name).ok().and_then(Resource::named);
        found.map_or(SplitCriterion::Unrecognized, SplitCriterion::Resource)
    };
    let set = |name: &[u8]| match ProcessSet::find(name) {
        Some(ProcessSet::World) => SplitCriterion::World,
        Some(ProcessSet::Own) => SplitCriterion::Alone,
        None => SplitCriterion::Unrecognized,
    };
    match split_type {
        MPI_UNDEFINED => Ok(SplitCriterion::Undefined),
        MPI_COMM_TYPE_SHARED => Ok(SplitCriterion::Resource(Resource::Machine)),
        MPI_COMM_TYPE_HW_UNGUIDED => Ok(SplitCriterion::Unguided),
        MPI_COMM_TYPE_HW_GUIDED => {
            Ok(value(HARDWARE)?.map_or(SplitCriterion::Unrecognized, resource))
        }
        MPI_COMM_TYPE_RESOURCE_GUIDED => match (value(HARDWARE)?, value(PROCESS_SET)?) {
            (None, None) => Ok(SplitCriterion::Unrecognized),
            (Some(name), None) => Ok(resource(name)),
            (None, Some(name)) => Ok(set(name)),
            (Some(_), Some(_)) => {
                let why =
                    format!("the info has {HARDWARE} and {PROCESS_SET}: expected one of them");
                Err(ErrorClass::Info.error(why))
            }
        },
        _ => Err(ErrorClass::Arg.error(format!(
            "split_type is {split_type}: expected MPI_COMM_TYPE_* or MPI_UNDEFINED"
        ))),
    }
}

/// Exchanges the criteria of all ranks, and returns the assignment of this rank.
fn resolve_split(comm: Handle, by: SplitCriterion) -> Result<SplitAssignment> {
    let places = match by {
        SplitCriterion::Resource(_) | SplitCriterion::Unguided => hardware::resource_locations(),
        SplitCriterion::Undefined
        | SplitCriterion::World
        | SplitCriterion::Alone
        | SplitCriterion::Unrecognized => ResourceLocations::default(),
    };
    PROCESS.until(
        |mpi| mpi.start_split_type(comm, by, places),
        |mpi, asked| mpi.end_split_type(asked),
        |mpi, asked| mpi.blocked_split_type(NAME, asked),
    )
}

/// Stores the resource of an unguided split in the info object of the caller, if it is not
/// read-only.
fn put_resource(info: Handle, resource: Resource) -> Result {
    PROCESS.early(|objects| match objects.infos.hints(info)? {
        Some(_) if info != INFO_ENV => {
            let info = objects.infos.get_mut(info)?;
            info.set(HARDWARE.as_bytes(), resource.uri().as_bytes())
        }
        _ => Ok(()),
    })
}
