//! Memory of `MPI_Alloc_mem` and of windows (MPI 5.0 §9.2, §12.2.2), from the heap. A table of
//! addresses lets `MPI_Free_mem` refuse memory that it does not own.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use platform::base::{ErrorClass, MpiError, Result};

/// Default alignment in bytes: a cache line.
pub const ALIGNMENT: usize = 64;

/// Owner, which frees the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AllocationOwner {
    /// The application, by `MPI_Free_mem`.
    Application,
    /// The window of the memory.
    Window,
}

/// Layout of each allocation, by owner and address.
type Allocated = BTreeMap<(AllocationOwner, usize), Layout>;

static ALLOCATED: Mutex<Allocated> = Mutex::new(BTreeMap::new());

fn allocated() -> MutexGuard<'static, Allocated> {
    // No panic between lock and unlock leaves the map inconsistent.
    ALLOCATED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Allocates `len` bytes at a multiple of `alignment`; never null, even if `len` is 0.
///
/// # Errors
/// `Arg` for an alignment that is not a power of two, `NoMem` without memory.
pub fn allocate(owner: AllocationOwner, len: usize, alignment: usize) -> Result<*mut u8> {
    if !alignment.is_power_of_two() {
        let why = format!("an alignment of {alignment} bytes is no power of two");
        return Err(ErrorClass::Arg.error(why));
    }
    let layout =
        Layout::from_size_align(len.max(1), alignment).map_err(|_| no_memory(len, alignment))?;
    // SAFETY: the layout has at least one byte.
    let memory = unsafe { alloc(layout) };
    if memory.is_null() {
        return Err(no_memory(len, alignment));
    }
    allocated().insert((owner, memory.expose_provenance()), layout);
    Ok(memory)
}

/// Frees memory that [`allocate`] returned for this owner.
///
/// # Errors
/// `Base` for any other address.
pub fn free(owner: AllocationOwner, address: usize) -> Result {
    let layout = allocated().remove(&(owner, address)).ok_or_else(|| {
        let why = format!("{address:#x} is not memory of MPI_Alloc_mem");
        ErrorClass::Base.error(why)
    })?;
    // SAFETY: `allocate` recorded this address with this layout, and the removal from the map makes
    // this the only deallocation.
    unsafe { dealloc(std::ptr::with_exposed_provenance_mut(address), layout) };
    Ok(())
}

fn no_memory(len: usize, alignment: usize) -> Box<MpiError> {
    let why = format!("there is no memory for {len} bytes at a multiple of {alignment}");
    ErrorClass::NoMem.error(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_aligned_and_freed_once() {
        for alignment in [1, ALIGNMENT, 4096] {
            let memory = allocate(AllocationOwner::Application, 100, alignment).unwrap();
            assert!(memory.addr().is_multiple_of(alignment));
            assert!(free(AllocationOwner::Window, memory.addr()).is_err());
            free(AllocationOwner::Application, memory.addr()).unwrap();
            assert_eq!(
                free(AllocationOwner::Application, memory.addr()).unwrap_err().code.0,
                ErrorClass::Base as i32
            );
        }
        let nothing = allocate(AllocationOwner::Application, 0, ALIGNMENT).unwrap();
        assert!(!nothing.is_null() && free(AllocationOwner::Application, nothing.addr()).is_ok());
    }

    #[test]
    fn too_much_and_a_senseless_alignment_are_errors() {
        let class = |result: Result<*mut u8>| result.unwrap_err().code.0;
        assert_eq!(
            class(allocate(AllocationOwner::Application, isize::MAX as usize, 64)),
            ErrorClass::NoMem as i32
        );
        assert_eq!(class(allocate(AllocationOwner::Application, 1, 3)), ErrorClass::Arg as i32);
    }
}
