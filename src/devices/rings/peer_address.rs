//! Who a rank of a node is, and whether others can get at its memory: found out by doing so.
//!
//! A card repeats a number that the rank keeps in its own memory. A process number that means another
//! process here (another namespace) is found out so, as well as a system that forbids it.
#![allow(unsafe_code)]

use std::hash::{BuildHasher, RandomState};

use super::primitive::{AtomicU32, AtomicU64, Ordering};
use platform::base::{ErrorClass, Result, Span};
use platform::sys::{cma, process};

/// What a rank tells about itself, written once, the process number last.
#[repr(C, align(128))]
pub(crate) struct PeerAddress {
    /// The process that took this slot, or 0.
    pub(crate) owner: AtomicU32,
    /// Its process number; 0 before it has come.
    pub(crate) pid: AtomicU32,
    /// Where in its own memory it keeps `probe`, as a test for others.
    probe_address: AtomicU64,
    /// A number that no other process has.
    pub(crate) probe: AtomicU64,
    /// The namespace in which the process has that number; 0 if it does not know.
    pub(crate) namespace: AtomicU64,
}

/// What stands on the card of this rank, where others look for it as long as this exists.
pub(crate) struct PublishedAddress(
    #[allow(dead_code, reason = "other processes read it")] Box<AtomicU64>,
);

impl PeerAddress {
    /// Fills in this rank's card.
    ///
    /// # Errors
    /// `Other` if a process has done so before.
    pub(crate) fn publish(&self) -> Result<PublishedAddress> {
        let pid = std::process::id();
        let order = (Ordering::AcqRel, Ordering::Acquire);
        if let Err(other) = self.owner.compare_exchange(0, pid, order.0, order.1) {
            return Err(ErrorClass::Other.error(format!(
                "process {other} has taken the place of this rank; each rank of a job is one \
                 program that uses MPI, so start the others by an mpirun of their own"
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

    /// The number of its process; 0 if it has not come.
    pub(crate) fn pid(&self) -> u32 {
        self.pid.load(Ordering::Acquire)
    }

    /// Whether the memory of its process can be read.
    pub(crate) fn is_readable(&self) -> bool {
        let pid = self.pid();
        let mut bytes = [0; 8];
        // SAFETY: `bytes` outlives the call and nobody else uses it.
        let into = unsafe { Span::of(&mut bytes) };
        pid != 0
            && cma::read(pid, self.probe_address.load(Ordering::Relaxed), into).is_ok()
            && u64::from_ne_bytes(bytes) == self.probe.load(Ordering::Relaxed)
    }

    /// Whether it can be written too.
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
        // SAFETY: the number that lies there already (`is_readable`), which its owner only keeps.
        let written = unsafe { cma::write(pid, Span::of(&mut bytes), to) };
        written.map_err(|error| format!("cannot write to the memory of process {pid}: {error}"))
    }

    /// Whether its process has come and has ended, as far as `self` and `other`, the card of the
    /// one who asks, can tell.
    pub fn has_ended(&self, other: &Self) -> bool {
        let pid = self.pid();
        let [theirs, ours] = [self, other].map(|card| card.namespace.load(Ordering::Relaxed));
        pid != 0 && ours != 0 && theirs == ours && process::has_ended(pid)
    }
}
