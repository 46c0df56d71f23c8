//! The process of a rank, and whether peers can read and write its memory: tested by real accesses.
//!
//! The address holds a copy of a number that the rank keeps in its own memory, the probe. A reader
//! that finds another number has the wrong process (a pid of another namespace); an error means that
//! the system forbids the access.
#![allow(unsafe_code)]

use std::hash::{BuildHasher, RandomState};

use super::primitive::{AtomicU32, AtomicU64, Ordering};
use platform::base::{ErrorClass, Result, Span};
use platform::sys::{cma, process};

/// The process of one rank, written once by that rank, the pid last.
#[repr(C, align(128))]
pub(crate) struct PeerAddress {
    /// The process that claimed this slot, or 0.
    pub(crate) owner: AtomicU32,
    /// The pid; 0 before the rank has attached.
    pub(crate) pid: AtomicU32,
    /// Address of the probe in the rank's own memory.
    probe_address: AtomicU64,
    /// The number at `probe_address`, different for each process.
    pub(crate) probe: AtomicU64,
    /// The pid namespace; 0 if unknown.
    pub(crate) namespace: AtomicU64,
}

/// The probe of this rank, which peers read as long as this value exists.
pub(crate) struct PublishedAddress(
    #[allow(dead_code, reason = "other processes read it")] Box<AtomicU64>,
);

impl PeerAddress {
    /// Writes the address of this rank.
    ///
    /// # Errors
    /// `Other` if a process has claimed this slot before.
    pub(crate) fn publish(&self) -> Result<PublishedAddress> {
        let pid = std::process::id();
        let order = (Ordering::AcqRel, Ordering::Acquire);
        if let Err(other) = self.owner.compare_exchange(0, pid, order.0, order.1) {
            return Err(ErrorClass::Other.error(format!(
                "process {other} has taken the place of this rank; each rank of a job is one \
                 program that uses MPI at a time, so start the others later, or by an mpirun of \
                 their own"
            )));
        }
        let number = RandomState::new().hash_one(pid);
        let probe = Box::new(AtomicU64::new(number));
        self.probe_address.store(&raw const *probe as u64, Ordering::Relaxed);
        self.probe.store(number, Ordering::Relaxed);
        self.namespace.store(process::namespace(), Ordering::Relaxed);
        self.pid.store(pid, Ordering::Release);
        Ok(PublishedAddress(probe))
    }

    /// The pid; 0 before the rank has attached.
    pub(crate) fn pid(&self) -> u32 {
        self.pid.load(Ordering::Acquire)
    }

    /// Whether the memory of the process can be read.
    pub(crate) fn is_readable(&self) -> bool {
        let pid = self.pid();
        let mut bytes = [0; 8];
        // SAFETY: `bytes` outlives the call, and only this call uses it.
        let into = unsafe { Span::of(&mut bytes) };
        pid != 0
            && cma::read(pid, self.probe_address.load(Ordering::Relaxed), into).is_ok()
            && u64::from_ne_bytes(bytes) == self.probe.load(Ordering::Relaxed)
    }

    /// Whether the memory of the process can be written too.
    ///
    /// # Errors
    /// A sentence with the cause.
    pub(crate) fn check_writable(&self) -> Result<(), String> {
        let pid = self.pid();
        if !self.is_readable() {
            return Err(format!("cannot read the memory of process {pid}"));
        }
        let mut bytes = self.probe.load(Ordering::Relaxed).to_ne_bytes();
        let to = self.probe_address.load(Ordering::Relaxed);
        // SAFETY: writes the number that is there already (`is_readable`); its owner never uses it.
        let written = unsafe { cma::write(pid, Span::of(&mut bytes), to) };
        written.map_err(|error| format!("cannot write to the memory of process {pid}: {error}"))
    }

    /// Whether the process has attached and has ended. `own` is the address of this rank: pids of
    /// another namespace have no known state.
    pub fn has_ended(&self, own: &Self) -> bool {
        let pid = self.pid();
        let [theirs, ours] = [self, own].map(|address| address.namespace.load(Ordering::Relaxed));
        pid != 0 && ours != 0 && theirs == ours && process::has_ended(pid)
    }
}
