//! Asymmetric memory fences, in which one side costs nothing (membarrier(2)).
//!
//! `store A; membarrier(); load B` in one process pairs with `store B; compiler fence; load A` in
//! every process that has [`register`]ed, as if both had a full fence: at least one sees the
//! other's store. The kernel interrupts the processors that run a registered process.
#![allow(unsafe_code)]

const GLOBAL_EXPEDITED: i32 = 1 << 1;
const REGISTER_GLOBAL_EXPEDITED: i32 = 1 << 2;
const PRIVATE_EXPEDITED: i32 = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: i32 = 1 << 4;

/// Registers this process: every [`barrier`] of the machine reaches its threads from now on.
///
/// False if the system has no such call or forbids it.
pub fn register() -> bool {
    call(REGISTER_GLOBAL_EXPEDITED)
}

/// A full fence here and in every thread of a process that has registered; false if that failed.
pub fn barrier() -> bool {
    call(GLOBAL_EXPEDITED)
}

/// Makes [`barrier_of_threads`] work; false if the system has no such call or forbids it.
pub fn register_threads() -> bool {
    call(REGISTER_PRIVATE_EXPEDITED)
}

/// A full fence here and in every thread of this process; false if that failed. The call is cheap
/// in a process with one thread.
pub fn barrier_of_threads() -> bool {
    call(PRIVATE_EXPEDITED)
}

fn call(command: i32) -> bool {
    // SAFETY: membarrier(2) takes integers and touches no memory of the caller.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registered_process_can_call_it() {
        assert!(!register() || barrier());
        assert!(!register_threads() || barrier_of_threads());
    }
}
