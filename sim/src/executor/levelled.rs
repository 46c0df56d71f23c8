//! Executor of schedules round by round, for up to 2^20 ranks: no queue of events.
//!
//! ```text
//!   for each chunk of ranks         schedules ──► steps by rounds            on all threads
//!   for each round
//!       for each chunk of ranks     sends ──► outbox of the chunk            on all threads
//!       for each chunk of ranks     outboxes ──► receives, local steps       on all threads
//! ```
//!
//! A rank changes nothing but its own times and its outbox, and reads only outboxes that are finished,
//! so threads change no result.

use std::sync::atomic::{AtomicU64, Ordering};

use super::chunk::{
    ChunkBuilder, ChunkSteps, Level, LevelAction, LevelStep, MessageTotals, NO_SLOT,
};
use super::costs::{RankEngines, StepCosts};
use super::mark::Mark;
use super::{RunTimes, last_of};
use crate::collective::ScheduleOf;
use crate::parallel::each_on_thread;

/// Ranks of a chunk: enough that the rounds of a chunk are long, few enough that threads have equal
/// shares.
const CHUNK: u32 = 2048;

/// Steps of all ranks: about 8 GiB.
const STEPS_MAX: u64 = 160_000_000;

/// Done work of a run, out of [`PROGRESS`].
pub type ReportProgress<'a> = &'a (dyn Fn(u64) + Sync);

/// The progress of a finished run.
pub const PROGRESS: u64 = 1000;
/// The share of it for the schedules.
const GENERATED: u64 = 700;

/// Runs `schedule` on `ranks` ranks, with at most `threads` threads.
///
/// # Errors
/// A message has only one end, a step waits on a later one, there are too many steps, or they may take
/// longer than times can be.
pub fn run(
    ranks: u32, schedule: &ScheduleOf<'_>, costs: &StepCosts, threads: usize,
    progress: ReportProgress<'_>,
) -> Result<RunTimes, String> {
    let chunks = generate(ranks, schedule, threads, progress)?;
    let threads = threads.clamp(1, chunks.len().max(1));
    let mut totals = MessageTotals::default();
    chunks.iter().for_each(|chunk| totals.add(chunk.totals));
    costs.check(&totals)?;
    let rounds = chunks.iter().map(|chunk| chunk.levels.len()).max().unwrap_or(0);
    let mut chunks: Vec<RunningChunk> =
        (0..).zip(chunks).map(|(number, steps)| RunningChunk::new(number * CHUNK, steps)).collect();
    let mut outboxes: Vec<Outbox> = chunks.iter().map(|chunk| chunk.outbox()).collect();
    let share = chunks.len().div_ceil(threads).max(1);
    let mut received = 0;
    for round in 0..rounds {
        let parts = chunks.chunks_mut(share).zip(outboxes.chunks_mut(share));
        each_on_thread(parts, |(chunks, outboxes)| {
            let pairs = chunks.iter_mut().zip(outboxes);
            pairs.for_each(|(chunk, outbox)| chunk.send(round, costs, outbox));
            Ok(0)
        })?;
        let outboxes = &outboxes;
        received += each_on_thread(chunks.chunks_mut(share), |chunks| {
            let each = chunks.iter_mut().map(|chunk| chunk.receive(round, costs, outboxes));
            each.sum()
        })?;
        progress(GENERATED + (PROGRESS - GENERATED) * (round as u64 + 1) / rounds as u64);
    }
    if received != totals.messages {
        return Err(format!("{} messages are sent, {received} received", totals.messages));
    }
    Ok(collect(&chunks, rounds, totals, costs))
}

fn collect(
    chunks: &[RunningChunk], rounds: usize, totals: MessageTotals, costs: &StepCosts,
) -> RunTimes {
    let states = || chunks.iter().flat_map(|chunk| &chunk.state.ends);
    let ends_ps: Vec<u64> = states().map(|end| end.time_ps).collect();
    let last = last_of(&ends_ps);
    let path = states().nth(last).copied().unwrap_or_default().path(&costs.network);
    RunTimes {
        ends_ps,
        quiet_ps: chunks.iter().map(|chunk| chunk.state.quiet_ps).max().unwrap_or(0),
        last: last as u32,
        path,
        rounds: rounds.saturating_sub(1) as u32,
        totals,
    }
}

/// The schedules of all ranks, in chunks.
fn generate(
    ranks: u32, schedule: &ScheduleOf<'_>, threads: usize, progress: ReportProgress<'_>,
) -> Result<Vec<ChunkSteps>, String> {
    let too_many = || {
        format!(
            "{ranks} ranks have more than {STEPS_MAX} steps: expected fewer ranks or an algorithm \
             with fewer messages"
        )
    };
    if expected_steps(ranks, schedule) > 2 * STEPS_MAX {
        return Err(too_many());
    }
    let count = ranks.div_ceil(CHUNK) as usize;
    let mut chunks: Vec<ChunkSteps> = Vec::new();
    chunks.resize_with(count, ChunkSteps::default);
    let (steps, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let share = count.div_ceil(threads.max(1)).max(1);
    let firsts = (0..ranks).step_by(CHUNK as usize * share);
    each_on_thread(firsts.zip(chunks.chunks_mut(share)), |(first, chunks)| {
        for (number, chunk) in (0..).zip(chunks) {
            let first = first + number * CHUNK;
            let mut builder = ChunkBuilder::default();
            for rank in first..ranks.min(first + CHUNK) {
                let schedule = schedule(rank);
                let own = schedule.steps().len() as u64;
                if steps.fetch_add(own, Ordering::Relaxed) + own > STEPS_MAX {
                    return Err(too_many());
                }
                builder.add(rank, &schedule)?;
            }
            *chunk = builder.finish();
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            progress(GENERATED * done / count as u64);
        }
        Ok(0)
    })?;
    Ok(chunks)
}

/// About the number of steps, from the median of some ranks: the root may have many more than others.
fn expected_steps(ranks: u32, schedule: &ScheduleOf<'_>) -> u64 {
    const PROBES: u32 = 5;
    let mut steps: Vec<u64> = (0..PROBES)
        .map(|probe| u64::from(ranks) * u64::from(2 * probe + 1) / u64::from(2 * PROBES))
        .map(|rank| schedule(rank as u32).steps().len() as u64)
        .collect();
    steps.sort_unstable();
    steps[steps.len() / 2] * u64::from(ranks)
}

/// A message that has left.
struct SentMessage {
    to: u32,
    label: u16,
    arrival: Mark,
}

/// The messages of the ranks of a chunk in one round.
struct Outbox {
    messages: Vec<SentMessage>,
    /// For each rank, its messages, by receiver and label.
    ranges: Vec<(u32, u32)>,
}

impl Outbox {
    fn find(&self, index: u32, to: u32, label: u16) -> Option<Mark> {
        let (start, end) = self.ranges[index as usize];
        let own = &self.messages[start as usize..end as usize];
        let found = match own {
            [only] => (only.to, only.label) == (to, label),
            _ => false,
        };
        if found {
            return Some(own[0].arrival);
        }
        let at = own.binary_search_by_key(&(to, label), |sent| (sent.to, sent.label)).ok()?;
        Some(own[at].arrival)
    }
}

/// Some adjacent ranks in a run.
struct RunningChunk {
    levels: Vec<Level>,
    state: ChunkState,
}

/// What changes in a run.
struct ChunkState {
    first: u32,
    /// The end of the slots of each rank.
    slot_ends: Vec<u32>,
    slots: Vec<Mark>,
    engines: Vec<RankEngines>,
    ends: Vec<Mark>,
    quiet_ps: u64,
    /// The arrivals of the messages for a rank in a round, in the order of its receives; with the
    /// first bytes, places and lengths of those for the port.
    arrivals: Vec<Mark>,
    at_port: Vec<(u64, u32, u64)>,
}

impl RunningChunk {
    fn new(first: u32, steps: ChunkSteps) -> Self {
        let ranks = steps.slot_ends.len();
        let slots = steps.slot_ends.last().copied().unwrap_or(0) as usize;
        let state = ChunkState {
            first,
            slots: vec![Mark::default(); slots],
            slot_ends: steps.slot_ends,
            engines: vec![RankEngines::default(); ranks],
            ends: vec![Mark::default(); ranks],
            quiet_ps: 0,
            arrivals: Vec::new(),
            at_port: Vec::new(),
        };
        Self { levels: steps.levels, state }
    }

    fn outbox(&self) -> Outbox {
        Outbox { messages: Vec::new(), ranges: vec![(0, 0); self.state.ends.len()] }
    }

    /// Executes the sends of a round.
    fn send(&mut self, round: usize, costs: &StepCosts, outbox: &mut Outbox) {
        outbox.messages.clear();
        if let Some(before) = round.checked_sub(1).and_then(|round| self.levels.get(round)) {
            before.ranks.iter().for_each(|(index, _)| outbox.ranges[*index as usize] = (0, 0));
            self.levels[round - 1] = Level::default();
        }
        let Some(level) = self.levels.get(round) else { return };
        for run in runs(level) {
            let start = outbox.messages.len();
            let noise = costs.noise.of_rank(self.state.first + run.index);
            for (step, waits) in run.steps() {
                if step.action != LevelAction::Send {
                    break;
                }
                let ready = self.state.ready(run.index, step, waits);
                let engines = self.state.engines(run.index, step, costs);
                let (done, arrival) = costs.send(noise, ready, engines, step.bytes);
                self.state.complete(run.index, step, done);
                outbox.messages.push(SentMessage { to: step.peer, label: step.label, arrival });
            }
            outbox.messages[start..].sort_unstable_by_key(|sent| (sent.to, sent.label));
            outbox.ranges[run.index as usize] = (start as u32, outbox.messages.len() as u32);
        }
    }

    /// Executes the receives and the local steps of a round; returns the number of receives.
    fn receive(
        &mut self, round: usize, costs: &StepCosts, outboxes: &[Outbox],
    ) -> Result<u64, String> {
        let Some(level) = self.levels.get(round) else { return Ok(0) };
        let mut received = 0;
        for run in runs(level) {
            self.state.take_arrivals(&run, costs, outboxes)?;
            received += self.state.arrivals.len() as u64;
            let noise = costs.noise.of_rank(self.state.first + run.index);
            let mut next = 0;
            for (step, waits) in run.steps() {
                let mut ready = self.state.ready(run.index, step, waits);
                let done = match step.action {
                    LevelAction::Send => continue,
                    LevelAction::Receive => {
                        ready = self.state.arrivals[next].later(ready);
                        next += 1;
                        let engines = self.state.engines(run.index, step, costs);
                        costs.receive(noise, ready, engines)
                    }
                    LevelAction::Local(local) => {
                        let engines = self.state.engines(run.index, step, costs);
                        costs.local(noise, ready, engines, local, step.bytes)
                    }
                };
                self.state.complete(run.index, step, done);
            }
        }
        Ok(received)
    }
}

impl ChunkState {
    /// When a step is ready.
    #[inline]
    fn ready(&self, index: u32, step: &LevelStep, waits: &[u32]) -> Mark {
        let start = index.checked_sub(1).map_or(0, |before| self.slot_ends[before as usize]);
        let mut marks = waits.iter().map(|slot| self.slots[(start + slot) as usize]);
        let Some(first) = marks.next() else { return Mark::default() };
        match step.waits_for_one() {
            true => marks.fold(first, |one, two| if two.time_ps < one.time_ps { two } else { one }),
            false => marks.fold(first, Mark::later),
        }
    }

    /// The engines for a step that waits for them.
    #[inline]
    fn engines(
        &mut self, index: u32, step: &LevelStep, costs: &StepCosts,
    ) -> Option<&mut RankEngines> {
        let waits = costs.network.contends && !step.is_detached();
        waits.then(|| &mut self.engines[index as usize])
    }

    #[inline]
    fn complete(&mut self, index: u32, step: &LevelStep, done: Mark) {
        if step.slot != NO_SLOT {
            let start = index.checked_sub(1).map_or(0, |before| self.slot_ends[before as usize]);
            self.slots[(start + step.slot) as usize] = done;
        }
        if !step.is_detached() {
            let end = &mut self.ends[index as usize];
            *end = end.later(done);
        }
        self.quiet_ps = self.quiet_ps.max(done.time_ps);
    }

    /// Finds the messages for the receives of a rank, and takes them through its port.
    fn take_arrivals(
        &mut self, run: &LevelRun<'_>, costs: &StepCosts, outboxes: &[Outbox],
    ) -> Result<(), String> {
        let rank = self.first + run.index;
        self.arrivals.clear();
        self.at_port.clear();
        let receives = run.steps().filter(|(step, _)| step.action == LevelAction::Receive);
        for (step, _) in receives {
            let outbox = outboxes.get((step.peer / CHUNK) as usize);
            let found = outbox.and_then(|outbox| outbox.find(step.peer % CHUNK, rank, step.label));
            let Some(arrival) = found else {
                let LevelStep { peer, label, .. } = step;
                return Err(format!(
                    "rank {rank} receives a message {label} that rank {peer} does not send"
                ));
            };
            if costs.network.contends && !step.is_detached() {
                let first_byte_ps = costs.first_byte_ps(arrival, step.bytes);
                self.at_port.push((first_byte_ps, self.arrivals.len() as u32, step.bytes));
            }
            self.arrivals.push(arrival);
        }
        if self.at_port.len() > 1 {
            self.at_port.sort_unstable();
        }
        for &(_, place, bytes) in &self.at_port {
            let arrival = &mut self.arrivals[place as usize];
            let engines = &mut self.engines[run.index as usize];
            *arrival = costs.through_port(*arrival, engines, bytes);
        }
        Ok(())
    }
}

/// The steps of a rank in a round.
struct LevelRun<'a> {
    index: u32,
    steps: &'a [LevelStep],
    waits_start: u32,
    waits: &'a [u32],
}

impl<'a> LevelRun<'a> {
    /// Each step with the slots of those that it waits on.
    #[inline]
    fn steps(&self) -> impl Iterator<Item = (&'a LevelStep, &'a [u32])> {
        let (steps, waits) = (self.steps, self.waits);
        let mut start = self.waits_start;
        steps.iter().map(move |step| {
            let own = &waits[start as usize..step.waits_end as usize];
            start = step.waits_end;
            (step, own)
        })
    }
}

/// The ranks of a round.
fn runs(level: &Level) -> impl Iterator<Item = LevelRun<'_>> {
    let mut start = 0;
    let mut waits_start = 0;
    level.ranks.iter().map(move |&(index, end)| {
        let steps = &level.steps[start..end as usize];
        let run = LevelRun { index, steps, waits_start, waits: &level.waits };
        start = end as usize;
        waits_start = steps.last().map_or(waits_start, |step| step.waits_end);
        run
    })
}
