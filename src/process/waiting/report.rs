//! Long waits of this process, for the monitor that publishes and reports them
//! ([`platform::diagnosis::wait_monitor`]).

use std::hash::{DefaultHasher, Hash, Hasher};

use super::super::abort::abort;
use super::WaitingCall;
use crate::process::lock::Guard;
use crate::process::{ProcessMpi, ProcessState, RunningMpi};
use platform::base::Peer;
use platform::diagnosis::deadlock::{DEADLOCK_CODE, WaitDiagnostic, WaitSnapshot};
use platform::diagnosis::wait_monitor::WaitSource;
use platform::diagnosis::wait_report::WaitReport;
use platform::sys::{clock, process};

/// The longest wait, among all waits of this process.
struct LongestWait<'a> {
    mpi: &'a ProcessMpi,
    call: &'a dyn WaitingCall,
    /// The number of waits, and the sum of their numbers.
    waits: usize,
    numbers: u64,
    has_thread_multiple: bool,
    helper_threads: &'a [u32],
}

impl RunningMpi {
    /// Passes all waits, that of the caller included, to the monitor; the text to print, if there
    /// is any.
    #[cold]
    pub(super) fn check_waits<'a>(
        &'a mut self, own: Option<&'a mut (dyn WaitingCall + 'a)>,
    ) -> Option<WaitDiagnostic> {
        let datagrams = self.mpi.engine.take_datagrams();
        let mut longest = own;
        let mut waits = usize::from(longest.is_some());
        let mut numbers = longest.as_mut().map_or(0, |own| own.wait_id().number());
        for parked in self.waiters.calls() {
            let call = parked.call();
            waits += 1;
            numbers = numbers.wrapping_add(call.wait_id().number());
            if longest.as_mut().is_none_or(|longest| call.wait_id() < longest.wait_id()) {
                longest = Some(call);
            }
        }
        let longest = longest?;
        let wait = longest.wait_id();
        let source = LongestWait {
            mpi: &self.mpi,
            call: longest,
            waits,
            numbers,
            has_thread_multiple: self.has_thread_multiple,
            helper_threads: &self.helper_threads,
        };
        let now_ns = clock::monotonic_ns();
        for (from, data) in &datagrams {
            self.wait_monitor.take_datagram(*from, data, now_ns, &source);
        }
        let diagnostic = self.wait_monitor.check(now_ns, wait, &source);
        for (to, data) in self.wait_monitor.take_outgoing() {
            self.mpi.engine.send_datagram(to, &data);
        }
        diagnostic
    }

    /// [`RunningMpi::check_waits`] by the progress thread.
    pub(in crate::process) fn check_other_waits(&mut self) -> Option<WaitDiagnostic> {
        self.check_waits(None)
    }
}

impl LongestWait<'_> {
    /// Whether every thread that may call MPI waits. Below `MPI_THREAD_MULTIPLE` no thread calls
    /// MPI while another one waits in MPI.
    fn all_threads_wait(&self) -> bool {
        let is_helper = |thread: &u32| self.helper_threads.contains(thread);
        let application_threads =
            || process::threads().iter().filter(|thread| !is_helper(thread)).count();
        !self.has_thread_multiple || application_threads() <= self.waits
    }
}

impl WaitSource for LongestWait<'_> {
    fn snapshot(&self) -> WaitSnapshot {
        let mut hasher = DefaultHasher::new();
        let quiescence = self.mpi.engine.device_quiescence();
        (self.numbers, self.mpi.position(), quiescence).hash(&mut hasher);
        // Generalized requests are completed by the application, accesses of files by the system, and other
        // jobs do what they like.
        let is_ended_by_ranks = !self.mpi.has_generalized()
            && !self.mpi.files.is_working()
            && !self.mpi.comms.has_other_jobs();
        WaitSnapshot {
            state: hasher.finish(),
            is_conclusive: self.mpi.engine.is_quiescent()
                && is_ended_by_ranks
                && self.all_threads_wait(),
            is_multiple: self.has_thread_multiple,
        }
    }

    fn report(&self) -> WaitReport {
        let mut report = self.call.report(self.mpi);
        // Other ranks and the launcher know the ranks of this job only.
        for condition in &mut report.conditions {
            condition.peers.retain(|peer| !self.mpi.comms.processes.is_appended(*peer));
        }
        WaitReport { queues: self.mpi.engine.queues(), ..report }
    }

    fn has_ended(&self, rank: Peer) -> bool {
        self.mpi.engine.device().has_ended(rank)
    }
}

/// Prints the text in one piece.
pub(super) fn print(diagnostic: &WaitDiagnostic) {
    eprint!("{}", diagnostic.text);
}

/// Prints the text with the lock free, and ends the job if the diagnostic says so.
pub(in crate::process) fn print_and_abort(
    diagnostic: &WaitDiagnostic, state: &mut Guard<'_, ProcessState>,
) {
    state.unlocked(|| print(diagnostic));
    if let Some(why) = diagnostic.abort_reason {
        abort(state, DEADLOCK_CODE, why);
    }
}
