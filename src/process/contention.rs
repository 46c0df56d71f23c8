//! Calls that another rank of this node keeps out: for less than a microsecond, unless that rank has no
//! processor, or has ended.

use std::thread;

use super::{Process, ProcessMpi, RunningMpi, running_mpi};
use platform::base::{ErrorClass, Peer, Result};
use platform::diagnosis::deadlock::{EXIT_GRACE, age};
use platform::sys::clock;

/// Attempts for each check of the lock owner's process, which is a system call.
const ATTEMPTS_PER_LOOK: u32 = 1024;

/// The attempts of a call that is kept out.
#[derive(Debug, Default)]
pub(crate) struct Contention {
    attempts: u32,
    /// When the rank was first seen to have ended, in nanoseconds of the host's clock.
    end_ns: Option<u64>,
}

impl Process {
    /// Gives up the processor before the next attempt. `holder` finds the rank that keeps the call out.
    ///
    /// # Errors
    /// `Other` if the process of that rank has ended, and the launcher, which has had [`EXIT_GRACE`], has not
    /// ended the job.
    pub(crate) fn yield_to(
        &self, contention: &mut Contention, holder: impl FnOnce(&ProcessMpi) -> Option<Peer>,
    ) -> Result {
        if contention.is_look_due() {
            let mut state = self.state.lock();
            let mpi = &mut running_mpi(&mut state)?.mpi;
            // A process of another job ends by a lost connection, and another one may take its place then.
            mpi.poll();
            let ended = holder(mpi).filter(|rank| mpi.engine.device().has_ended(*rank));
            drop(state);
            contention.look(ended, clock::monotonic_ns())?;
        }
        thread::yield_now();
        Ok(())
    }
}

impl RunningMpi {
    /// Ends accumulates of other hosts that a process of this host keeps out which has ended: as
    /// [`Process::yield_to`] the calls of this one. Each poll tries again, and has an event. Whether an
    /// accumulate is kept out: the process that does so may need this processor.
    #[inline]
    pub(super) fn end_lost_accumulates(&mut self) -> bool {
        let are_kept_out = self.mpi.windows.contended().next().is_some();
        if are_kept_out && self.served_contention.is_look_due() {
            self.look_for_lost_accumulates();
        }
        are_kept_out
    }

    #[cold]
    fn look_for_lost_accumulates(&mut self) {
        let device = self.mpi.engine.device();
        let lost = self.mpi.lost_accumulator(|rank| device.has_ended(rank));
        let looked = self.served_contention.look(lost.map(|(_, rank)| rank), clock::monotonic_ns());
        if let (Err(why), Some((window, _))) = (looked, lost) {
            self.served_contention = Contention::default();
            self.mpi.refuse_accumulates(window, why);
        }
    }
}

impl Contention {
    /// Counts an attempt. Whether it is time for [`Contention::look`].
    fn is_look_due(&mut self) -> bool {
        self.attempts = self.attempts.wrapping_add(1);
        self.attempts.is_multiple_of(ATTEMPTS_PER_LOOK)
    }

    /// Records which rank keeps the call out and has ended.
    fn look(&mut self, ended: Option<Peer>, now_ns: u64) -> Result {
        let Some(rank) = ended else {
            self.end_ns = None;
            return Ok(());
        };
        if age(*self.end_ns.get_or_insert(now_ns), now_ns) < EXIT_GRACE {
            return Ok(());
        }
        Err(ErrorClass::Other.error(format!(
            "rank {rank} of the world ended in an accumulate operation on the same memory, which no \
             other one can access any more"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_that_has_ended_keeps_a_call_out_for_a_while() {
        let mut contention = Contention::default();
        let second = EXIT_GRACE.as_nanos() as u64;
        assert!(contention.look(Some(3), 5 * second).is_ok());
        assert!(contention.look(Some(3), 6 * second - 1).is_ok());
        assert!(contention.look(None, 6 * second).is_ok());
        assert!(contention.look(Some(3), 7 * second).is_ok());
        let error = contention.look(Some(3), 8 * second).unwrap_err();
        assert!(error.why.starts_with("rank 3 of the world ended"), "{}", error.why);
    }
}
