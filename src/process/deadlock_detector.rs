//! What is said of calls that wait for long: `SUIRO_HANG_REPORT` and `SUIRO_DEADLOCK`.
//!
//! A rank whose call has waited for a moment *looks* now and then: each time before it sleeps, or
//! every few thousand polls in vain. A look happens with the lock held, after a poll that brought
//! nothing. It tells the user what is waited for if that is due, and takes part in finding out
//! whether the job can go on at all.
//!
//! # Deadlock
//! Each rank writes on the board of the node ([`WaitTable`]), which lies in the segment, so that all of
//! this is the same under every launcher:
//!
//! ```text
//!   from   the first look that found the rank in the state in which it still is
//!   until  the last look but one, at which that was so too
//! ```
//!
//! where *state* ([`WaitSnapshot::state`]) is a digest of which calls wait, of how many packets have
//! arrived, and of how often anything happened in the engine and in rooms. It is written only if
//! all threads that could call MPI wait, the engine is at rest (no packet waits for room, nothing is
//! to be pulled, reduced or answered), and nobody but a rank of this job can end a wait. Otherwise,
//! and once a wait ends, the rank takes back what it wrote.
//!
//! The rank with the lowest number that lives reads all. No rank can ever go on if
//!
//! ```text
//!   latest `from` + MARGIN <= earliest `until`                of all ranks that have not ended
//! ```
//!
//! *Proof.* Let T be the latest `from`, and t any time between T and the earliest `until`. At t each
//! rank is in the state in which it was at its own `from`, as the counts in its digest only grow and
//! were the same at a look before t and at one after it. In that time it has sent nothing: a rank
//! that waits and is at rest sends only in answer to a packet or an entry of a room, which changes
//! its state; and its threads, which wait, call nothing. So all that was ever sent was sent before
//! T. Each rank has polled after its `until`, that is MARGIN or more after T, which is longer than
//! any store takes to be seen; so it has everything that was ever sent to it, and did nothing about
//! it, as its state is the same. Nothing is on its way and nobody sends: so nothing will arrive,
//! for ever. This is two equal snapshots, with the sums of packets sent and received taken together
//! with the wait in which they do not change (Mattern, "Algorithms for distributed termination
//! detection", Distributed Computing 2, 1987). An ended rank sends nothing; it counts as one whose
//! `from` is when its end was seen, and of those the launcher may still make something, so it gets
//! [`EXIT_GRACE`].
//!
//! A rank that was stopped, that computes, that sleeps in a call of the system or runs a function
//! of the application does not look, so its `until` stays behind; one that loops over `MPI_Test`
//! does not wait, and is not seen. Which ranks wait for which others is needed for the words only.
//!
//! Where the proof does not hold, a rank keeps silent ([`WaitSnapshot::of`]).
//! Were it wrong all the same, the first rank that goes on says so, and nothing is reported any
//! more.
//!
//! # Costs
//! A call that waits for less than [`FIRST_LOOK_AGE`] reads the clock once more when it sleeps. A look takes
//! some microseconds, ten times a second.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use super::config::{Config, Deadlock};
use super::lock::Guard;
use super::waiting::WaitId;
use super::world::abort;
use super::{ProcessMpi, ProcessState};
use crate::devices::shm::{PeerState, WaitTable};
use platform::diagnosis::wait_graph::{
    RankState, diagnose_deadlock, groups, ranks_named, time_range,
};
use platform::diagnosis::wait_report::{QueueLengths, WaitReport};
use platform::sys::process;

/// Waits that are shorter than this are not looked at.
const FIRST_LOOK_AGE: Duration = Duration::from_millis(50);

/// Looks are at least so far apart, for ranks that never sleep.
const LOOK_INTERVAL: Duration = Duration::from_millis(25);

/// A rank that waits for less is not taken for one that never goes on.
const DEADLOCK_AGE_MIN: Duration = Duration::from_millis(250);

/// Far longer than a processor keeps a store to itself, or clocks of processors differ.
const MARGIN: Duration = Duration::from_millis(10);

/// How long the launcher has to end a job of which a rank has ended.
const EXIT_GRACE: Duration = Duration::from_secs(1);

/// The code of a job that `SUIRO_DEADLOCK=abort` ends: `EDEADLK`.
pub(crate) const DEADLOCK_CODE: i32 = 35;

/// How many groups of ranks are told.
const GROUPS_MAX: usize = 100;

/// What is to be said, and whether the job ends then. It is printed with the lock free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WaitDiagnostic {
    /// Lines, the last one ended too.
    pub(crate) text: String,
    /// Why the job ends, if it does.
    pub(crate) abort_reason: Option<&'static str>,
}

/// A rank that waits, as it looks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitSnapshot {
    /// The call that has waited longest.
    pub(crate) wait_id: WaitId,
    /// A number that is another one once anything has happened to this rank.
    pub(crate) state: u64,
    /// Whether others of the job must act before it can go on, and only they.
    pub(crate) is_conclusive: bool,
    /// Whether threads of this rank may call MPI at any time.
    pub(crate) is_multiple: bool,
}

/// This rank's watch over its own waits and those of the others.
pub(crate) struct DeadlockDetector {
    rank: u32,
    /// Threads that never call MPI.
    helper_threads: usize,
    deadlock: Deadlock,
    hang_report: Option<Duration>,
    /// Where ranks tell what they wait for, unless nobody wants to know.
    wait_table: Option<WaitTable>,
    /// When to look next, in nanoseconds of the host's clock.
    next_ns: u64,
    /// The state in which the last look found this rank, the first look that found it so, and the
    /// last one.
    steady: Option<SteadyState>,
    /// Whether the board says that this rank waits.
    has_written: bool,
    /// Which wait the user was told of, and the age at which that happens again.
    reported: Option<(WaitId, Duration)>,
    /// By slot, when the process was first seen to have ended.
    ended_ns: Vec<Option<u64>>,
}

#[derive(Clone, Copy)]
struct SteadyState {
    state: u64,
    from_ns: u64,
    last_ns: u64,
}

/// What a rank has written on the board.
#[derive(Clone, Debug, PartialEq, Eq)]
struct WaitEntry {
    from_ns: u64,
    until_ns: u64,
    is_multiple: bool,
    since_ns: u64,
    blocked: WaitReport,
}

impl WaitDiagnostic {
    /// Says it with the lock free, and ends the job if it is to end.
    pub(super) fn print_and_abort(self, state: &mut Guard<'_, ProcessState>) {
        state.unlocked(|| self.print());
        if let Some(why) = self.abort_reason {
            abort(state, DEADLOCK_CODE, why);
        }
    }

    /// Says it, in one piece.
    pub(super) fn print(&self) {
        eprint!("{}", self.text);
    }
}

impl WaitSnapshot {
    /// The standing of a rank of which this call has waited longest. `tickets` is a number for all
    /// calls that wait, and `all_wait` says that no thread may call MPI but theirs.
    pub(super) fn of(
        mpi: &ProcessMpi, wait_id: WaitId, tickets: u64, is_multiple: bool, all_wait: bool,
    ) -> Self {
        let state = digest((tickets, mpi.position(), mpi.engine.device_quiescence()));
        // Here belongs whoever else may end a wait, once there are such: processes that connect,
        // and those of other jobs that were joined.
        let is_ended_by_ranks = !mpi.has_generalized();
        let is_conclusive = mpi.engine.is_quiescent() && is_ended_by_ranks && all_wait;
        Self { wait_id, state, is_conclusive, is_multiple }
    }
}

impl WaitEntry {
    fn emit(&self) -> String {
        let Self { from_ns, until_ns, is_multiple, since_ns, blocked } = self;
        format!("{from_ns} {until_ns} {}\n{}", u8::from(*is_multiple), blocked.emit(*since_ns))
    }

    fn parse(text: &[u8]) -> Option<Self> {
        let (head, blocked) = std::str::from_utf8(text).ok()?.split_once('\n')?;
        let mut words = head.split(' ');
        let mut number = || words.next()?.parse().ok();
        let (from_ns, until_ns, is_multiple) = (number()?, number()?, number()? == 1);
        let (since_ns, blocked) = WaitReport::parse(blocked)?;
        Some(Self { from_ns, until_ns, is_multiple, since_ns, blocked })
    }
}

/// A rank of the job, to one that reads the board.
enum PeerWait {
    Waiting(WaitEntry),
    Ended,
}

impl DeadlockDetector {
    /// The watch of `rank`, in a job of `size` ranks. So many threads of this process belong to the
    /// launcher's library, as `helper_threads` says.
    pub(crate) fn new(
        config: &Config, rank: u32, size: u32, helper_threads: usize,
        board: impl FnOnce() -> WaitTable,
    ) -> Self {
        let board = (config.deadlock != Deadlock::Off).then(board);
        // Of ranks elsewhere nothing is known.
        let wait_table = board.filter(|board| board.ranks().len() == size as usize);
        Self {
            rank,
            helper_threads,
            deadlock: config.deadlock,
            hang_report: config.hang_report,
            next_ns: 0,
            steady: None,
            has_written: false,
            reported: None,
            ended_ns: vec![None; wait_table.as_ref().map_or(0, |board| board.ranks().len())],
            wait_table,
        }
    }

    /// How many threads of this process may call MPI if those that the application started may.
    pub fn application_threads(&self) -> usize {
        process::threads().saturating_sub(self.helper_threads)
    }

    /// Whether to look at a wait that began at `since_ns`.
    #[inline]
    pub(crate) fn is_due(&self, since_ns: u64, now_ns: u64) -> bool {
        let begin = match (&self.wait_table, self.hang_report) {
            (None, None) => return false,
            (None, Some(limit)) => limit,
            (Some(_), limit) => limit.map_or(FIRST_LOOK_AGE, |limit| limit.min(FIRST_LOOK_AGE)),
        };
        now_ns >= self.next_ns && age(since_ns, now_ns) >= begin
    }

    /// Looks, at `now_ns` of the host's clock; what there is to say.
    pub(crate) fn check(
        &mut self, now_ns: u64, standing: WaitSnapshot, blocked: impl FnOnce() -> WaitReport,
    ) -> Option<WaitDiagnostic> {
        self.next_ns = now_ns + nanoseconds(LOOK_INTERVAL);
        let since_ns = standing.wait_id.since_ns();
        let waited = age(since_ns, now_ns);
        let until_ns = self.update_steady(now_ns, standing).filter(|_| waited >= DEADLOCK_AGE_MIN);
        if until_ns.is_none() {
            self.clear_entry();
        }
        let reports = self.is_report_due(standing.wait_id, waited);
        if until_ns.is_none() && !reports {
            return None;
        }
        let blocked = blocked();
        let report = reports.then(|| self.report(waited, &blocked));
        let verdict = until_ns.zip(self.steady).and_then(|(until_ns, steady)| {
            let (from_ns, is_multiple) = (steady.from_ns, standing.is_multiple);
            self.write(&WaitEntry { from_ns, until_ns, is_multiple, since_ns, blocked });
            self.detect(now_ns)
        });
        match (report, verdict) {
            (None, verdict) => verdict,
            (Some(text), None) => Some(WaitDiagnostic { text, abort_reason: None }),
            (Some(text), Some(verdict)) => {
                Some(WaitDiagnostic { text: text + &verdict.text, ..verdict })
            }
        }
    }

    /// A wait of this rank has ended; what there is to say about that.
    #[inline]
    pub(crate) fn wait_ended(&mut self) -> Option<WaitDiagnostic> {
        if self.has_written { self.retract() } else { None }
    }

    #[cold]
    fn retract(&mut self) -> Option<WaitDiagnostic> {
        self.clear_entry();
        self.steady = None;
        let was_wrong = self.wait_table.as_ref().is_some_and(WaitTable::withdraw_alarm);
        was_wrong.then(|| {
            let rank = self.rank;
            let text = format!("Suiro: rank {rank} goes on: what was reported is no deadlock\n");
            WaitDiagnostic { text, abort_reason: None }
        })
    }

    /// Notes the state of this rank; the time of the last look but one in it, if it has been in it
    /// for so long.
    fn update_steady(&mut self, now_ns: u64, standing: WaitSnapshot) -> Option<u64> {
        self.wait_table.as_ref()?;
        let last = self.steady.filter(|last| last.state == standing.state);
        if !standing.is_conclusive {
            self.steady = None;
            return None;
        }
        let from_ns = last.map_or(now_ns, |last| last.from_ns);
        self.steady = Some(SteadyState { state: standing.state, from_ns, last_ns: now_ns });
        last.map(|last| last.last_ns)
    }

    fn write(&mut self, entry: &WaitEntry) {
        if let Some(board) = &self.wait_table {
            board.write(entry.emit().as_bytes());
            self.has_written = true;
        }
    }

    fn clear_entry(&mut self) {
        if std::mem::take(&mut self.has_written)
            && let Some(board) = &self.wait_table
        {
            board.write(b"");
        }
    }

    fn is_report_due(&mut self, ticket: WaitId, waited: Duration) -> bool {
        let Some(limit) = self.hang_report else { return false };
        let due = match self.reported {
            Some((told, due)) if told == ticket => due,
            _ => limit,
        };
        if waited < due {
            return false;
        }
        self.reported = Some((ticket, waited * 2));
        true
    }

    fn report(&self, waited: Duration, blocked: &WaitReport) -> String {
        let (rank, seconds, queues) =
            (self.rank, waited.as_secs_f64(), QueueLengths::describe(&[blocked.queues]));
        let comma = if queues.is_empty() { "" } else { ", " };
        let WaitReport { function, details: words, .. } = blocked;
        format!("Suiro: rank {rank} has waited {seconds:.1} s{comma}{queues}: {function}{words}\n")
    }

    /// Whether no rank can go on, if it is for this rank to say so and nobody has.
    fn detect(&mut self, now_ns: u64) -> Option<WaitDiagnostic> {
        let others = self.read_entries(now_ns)?;
        let board = self.wait_table.as_ref()?;
        if !board.raise_alarm() {
            return None;
        }
        let mut others: Vec<_> = board.ranks().iter().zip(others).collect();
        others.sort_by_key(|(rank, _)| **rank);
        let others: Vec<_> = others.into_iter().map(|(_, other)| other).collect();
        let waits_multiple =
            |other: &PeerWait| matches!(other, PeerWait::Waiting(it) if it.is_multiple);
        let ends = self.deadlock == Deadlock::Abort && !others.iter().any(waits_multiple);
        let end = ends.then_some("no rank can go on (SUIRO_DEADLOCK=abort)");
        Some(WaitDiagnostic {
            text: deadlock_text(now_ns, &others, self.deadlock, ends),
            abort_reason: end,
        })
    }

    /// All ranks by slot, if none can go on and it is for this rank to say so.
    fn read_entries(&mut self, now_ns: u64) -> Option<Vec<PeerWait>> {
        let board = self.wait_table.as_ref()?;
        let (mut latest, mut earliest) = (0, u64::MAX);
        let mut others = Vec::new();
        for slot in 0..board.ranks().len() {
            let entry = match board.read(slot) {
                PeerState::NotWaiting => return None,
                PeerState::Waiting(text) => Some(WaitEntry::parse(&text)?),
                PeerState::Ended => None,
            };
            // One that was killed while it waited has left its words behind.
            let is_fresh = |entry: &WaitEntry| age(entry.until_ns, now_ns) < EXIT_GRACE;
            match entry {
                Some(entry) if is_fresh(&entry) || !board.has_ended(slot) => {
                    let is_first = others.iter().all(|other| matches!(other, PeerWait::Ended));
                    if is_first && slot != board.own_slot() {
                        return None;
                    }
                    latest = latest.max(entry.from_ns);
                    earliest = earliest.min(entry.until_ns);
                    others.push(PeerWait::Waiting(entry));
                }
                Some(_) | None => {
                    let ended_ns = *self.ended_ns[slot].get_or_insert(now_ns);
                    latest = latest.max(ended_ns + nanoseconds(EXIT_GRACE));
                    others.push(PeerWait::Ended);
                }
            }
        }
        (latest + nanoseconds(MARGIN) <= earliest).then_some(others)
    }
}

/// What to say where no rank can go on. Ranks of which the same is to be said are said together.
fn deadlock_text(now_ns: u64, others: &[PeerWait], deadlock: Deadlock, ends: bool) -> String {
    let words = others.iter().map(|other| match other {
        PeerWait::Waiting(WaitEntry { blocked, .. }) => {
            Some(format!("{}{}", blocked.function, blocked.details))
        }
        PeerWait::Ended => Some("ended".to_owned()),
    });
    let mut lines = vec!["no rank can go on: all of them wait for each other".to_owned()];
    let groups = groups(words);
    let hidden = groups.len().saturating_sub(GROUPS_MAX);
    for (words, ranks) in groups.into_iter().take(GROUPS_MAX) {
        let ages = ranks.iter().filter_map(|rank| match &others[*rank as usize] {
            PeerWait::Waiting(entry) => Some(age(entry.since_ns, now_ns)),
            PeerWait::Ended => None,
        });
        let waited = time_range(ages).map_or(String::new(), |waited| format!(" for {waited}"));
        lines.push(format!("  {}: {words}{waited}", ranks_named(&ranks)));
    }
    if hidden > 0 {
        lines.push(format!("  and {hidden} more"));
    }
    let fates: Vec<_> = others
        .iter()
        .map(|other| match other {
            PeerWait::Waiting(entry) => RankState::Waiting(&entry.blocked),
            PeerWait::Ended => RankState::Ended,
        })
        .collect();
    lines.extend(diagnose_deadlock(&fates).into_iter().map(|sentence| format!("  {sentence}")));
    lines.extend(match (deadlock, ends) {
        (Deadlock::Abort, false) => Some(
            "  the job goes on, as threads may call MPI at any time (MPI_THREAD_MULTIPLE)"
                .to_owned(),
        ),
        (Deadlock::Report, _) => Some("  SUIRO_DEADLOCK=abort ends such a job".to_owned()),
        (Deadlock::Abort | Deadlock::Off, _) => None,
    });
    lines.into_iter().map(|line| format!("Suiro: {line}\n")).collect()
}

/// A digest of everything that changes when something happens to a rank.
pub(crate) fn digest(parts: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    hasher.finish()
}

fn age(since_ns: u64, now_ns: u64) -> Duration {
    Duration::from_nanos(now_ns.saturating_sub(since_ns))
}

fn nanoseconds(duration: Duration) -> u64 {
    duration.as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::shm::{CopyMethod, Shm};
    use platform::diagnosis::wait_report::WaitCondition;
    use platform::sys::shm;

    const BEFORE_NS: u64 = 1 << 40;

    /// All ranks of a job in one process, each in a call since time 0.
    fn detectors(
        count: u32, deadlock: Deadlock, hang_report: Option<Duration>,
    ) -> Vec<DeadlockDetector> {
        let config = Config { deadlock, hang_report, ..Config::default() };
        let segment = shm::create().unwrap();
        let ranks: Vec<_> = (0..count).collect();
        let vigil = |rank: u32| {
            let own = segment.try_clone().unwrap();
            let device = Shm::attach(own, rank as usize, &ranks, CopyMethod::Pipe).unwrap();
            DeadlockDetector::new(&config, rank, count, 0, || device.wait_table())
        };
        ranks.iter().map(|rank| vigil(*rank)).collect()
    }

    fn snapshot(state: u64) -> WaitSnapshot {
        let ticket = WaitId::new(BEFORE_NS, 0);
        WaitSnapshot { wait_id: ticket, state, is_conclusive: true, is_multiple: false }
    }

    /// A look at this time, in milliseconds after the call began.
    fn look(
        vigil: &mut DeadlockDetector, ms: u64, standing: WaitSnapshot,
    ) -> Option<WaitDiagnostic> {
        let now_ns = BEFORE_NS + ms * 1_000_000;
        if !vigil.is_due(BEFORE_NS, now_ns) {
            return None;
        }
        let needs =
            vec![WaitCondition { peers: vec![1 - vigil.rank.min(1)], ..WaitCondition::default() }];
        vigil.check(now_ns, standing, || WaitReport {
            conditions: needs,
            ..WaitReport::new("MPI_Recv")
        })
    }

    /// Looks of all every 100 ms, from one time up to before another; what they say, with the time.
    fn looks(
        vigils: &mut [DeadlockDetector], from_ms: u64, to_ms: u64,
        of: impl Fn(u32, u64) -> WaitSnapshot,
    ) -> Vec<(u64, u32, WaitDiagnostic)> {
        let mut said = Vec::new();
        for ms in (from_ms..to_ms).step_by(100) {
            for (rank, vigil) in (0..).zip(&mut *vigils) {
                said.extend(look(vigil, ms, of(rank, ms)).map(|words| (ms, rank, words)));
            }
        }
        said
    }

    #[test]
    fn a_job_that_stands_still_is_told_once_by_the_first_rank() {
        let mut all = detectors(3, Deadlock::Report, None);
        let said = looks(&mut all, 0, 2000, |rank, _| snapshot(u64::from(rank)));
        let [(400, 0, words)] = &said[..] else { panic!("{said:?}") };
        assert_eq!(words.abort_reason, None);
        let expected = "\
Suiro: no rank can go on: all of them wait for each other
Suiro:   ranks 0-2: MPI_Recv for 0.4 s
Suiro:   deadlock: rank 0 in MPI_Recv <- rank 1 in MPI_Recv <- rank 0
Suiro:   SUIRO_DEADLOCK=abort ends such a job
";
        assert_eq!(words.text, expected);
    }

    #[test]
    fn where_anything_happens_now_and_then_nothing_is_told() {
        let mut all = detectors(2, Deadlock::Report, None);
        let said = looks(&mut all, 0, 3000, |rank, ms| snapshot(u64::from(rank) * (ms / 200)));
        assert_eq!(said, []);
    }

    #[test]
    fn a_rank_that_others_than_ranks_may_wake_is_not_counted() {
        let mut all = detectors(2, Deadlock::Report, None);
        let of = |rank, _| WaitSnapshot { is_conclusive: rank == 0, ..snapshot(0) };
        assert_eq!(looks(&mut all, 0, 2000, of), []);
    }

    #[test]
    fn a_rank_that_does_not_look_any_more_proves_nothing_about_later() {
        let mut all = detectors(2, Deadlock::Report, None);
        assert_eq!(looks(&mut all[1..], 0, 600, |_, _| snapshot(0)), []);
        // Rank 1 is stopped now, with a message on its way to it that rank 0 has sent just before.
        assert_eq!(looks(&mut all[..1], 600, 3000, |_, _| snapshot(0)), []);
        let said = looks(&mut all, 3000, 3500, |rank, _| snapshot(u64::from(rank)));
        assert_eq!(said.len(), 1, "{said:?}");
    }

    #[test]
    fn a_job_is_ended_only_if_no_thread_may_call() {
        for is_multiple in [false, true] {
            let mut all = detectors(2, Deadlock::Abort, None);
            let of =
                |rank, _| WaitSnapshot { is_multiple: is_multiple && rank == 1, ..snapshot(0) };
            let said = looks(&mut all, 0, 1000, of);
            let [(_, 0, words)] = &said[..] else { panic!("{said:?}") };
            assert_eq!(words.abort_reason.is_none(), is_multiple);
            assert_eq!(words.text.contains("the job goes on"), is_multiple, "{}", words.text);
        }
    }

    #[test]
    fn who_goes_on_after_all_says_so_once_and_nothing_is_told_any_more() {
        let mut all = detectors(2, Deadlock::Report, None);
        assert_eq!(all[1].wait_ended(), None);
        assert_eq!(looks(&mut all, 0, 1000, |_, _| snapshot(0)).len(), 1);
        let words = all[1].wait_ended().unwrap().text;
        assert_eq!(words, "Suiro: rank 1 goes on: what was reported is no deadlock\n");
        assert_eq!((all[0].wait_ended(), all[1].wait_ended()), (None, None));
        assert_eq!(looks(&mut all, 1000, 3000, |_, _| snapshot(0)), []);
    }

    #[test]
    fn a_wait_is_told_at_its_limit_and_each_time_that_it_has_doubled() {
        let mut all = detectors(1, Deadlock::Off, Some(Duration::from_millis(500)));
        let said = looks(&mut all, 0, 5000, |_, _| snapshot(0));
        let times: Vec<_> = said.iter().map(|(ms, ..)| *ms).collect();
        assert_eq!(times, [500, 1000, 2000, 4000]);
        assert_eq!(said[1].2.text, "Suiro: rank 0 has waited 1.0 s: MPI_Recv\n");
    }

    #[test]
    fn an_entry_reads_back_and_the_longest_has_room() {
        let words = "x".repeat(5000);
        let blocked = WaitReport { details: words, ..WaitReport::new("MPI_Recv") };
        let (from_ns, until_ns) = (u64::MAX, u64::MAX);
        let mut entry = WaitEntry { from_ns, until_ns, is_multiple: true, since_ns: 3, blocked };
        let text = entry.emit();
        assert!(text.len() <= platform::diagnosis::status_table::STATUS_MAX_BYTES);
        let read = WaitEntry::parse(text.as_bytes()).unwrap();
        entry.blocked.details.truncate(read.blocked.details.len());
        assert_eq!(read, entry);
        assert_eq!(WaitEntry::parse(b"1 2\nx"), None);
    }
}
