//! Causal order of the programs of all ranks: whether successive instances can disturb each other.
//!
//! A level that work waits for determines the arrivals that must have happened: those without which
//! the counter stays below the level, whatever else arrives. So the causal past of work is the past
//! of the work that made these arrivals. Nothing else of the compiler is assumed, not even weights.
//!
//! **Two tanks** are safe if each arrival at a rank is after that rank's start of the same instance,
//! or of the previous one: a rank in the past of the arrival saw the previous instance end, and that
//! end is after the start ([`CausalOrder::two_tanks`]; condition C). **One tank** is safe if each
//! arrival is after all arrivals of the previous instance there; or if no data moves and no rank
//! completes before all have started: a rank that is ahead has then seen that nothing of the previous
//! instance can go wrong any more ([`CausalOrder::one_tank`]).
//!
//! Both conditions are sufficient, not necessary.

use std::collections::{HashMap, HashSet};

use crate::offload::program::{CounterAdd, CounterId, DeferredWork, Program, ProgramOp};

/// An arrival at a counter.
#[derive(Clone, Copy, Debug)]
struct GlobalArrival {
    /// The rank and the index of the work that makes it.
    from: (u32, u32),
    to: u32,
    add: CounterAdd,
    /// How much of the level is missing without it. The additions of one counter of a rank to another
    /// one start in the order of their levels: none of them is there before the first has started.
    missing: u64,
    /// The level of its own counter to which it adds at the earliest, if it adds to that.
    own_level: Option<u64>,
    /// Whether it is the local end of a put.
    is_end_of_put: bool,
}

/// A set of small numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct BitSet(Vec<u64>);

impl BitSet {
    fn insert(&mut self, number: usize) {
        if self.0.len() <= number / 64 {
            self.0.resize(number / 64 + 1, 0);
        }
        self.0[number / 64] |= 1 << (number % 64);
    }

    fn contains(&self, number: usize) -> bool {
        self.0.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    fn extend(&mut self, other: &Self) {
        self.0.resize(self.0.len().max(other.0.len()), 0);
        self.0.iter_mut().zip(&other.0).for_each(|(word, more)| *word |= more);
    }

    fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.0.len() * 64).filter(|&number| self.contains(number))
    }
}

/// What has happened when work starts.
#[derive(Clone, Debug, Default)]
struct CausalPast {
    /// Ranks that have started.
    started: BitSet,
    /// Arrivals that have happened.
    arrived: BitSet,
}

impl CausalPast {
    fn extend(&mut self, other: &Self) {
        self.started.extend(&other.started);
        self.arrived.extend(&other.arrived);
    }
}

/// The causal order of one instance of the programs of all ranks.
#[derive(Debug)]
pub struct CausalOrder<'a> {
    programs: &'a [Program],
    arrivals: Vec<GlobalArrival>,
    /// For each rank and counter the arrivals, each with the highest level without it, by that.
    at: Vec<Vec<Vec<(u64, u32)>>>,
    /// For each rank the past of its work; `None` until it is computed.
    past: Vec<Vec<Option<CausalPast>>>,
    /// For each rank, the past of its end.
    ends: Vec<CausalPast>,
}

impl<'a> CausalOrder<'a> {
    /// The order of the programs of ranks `0..programs.len()`.
    ///
    /// # Errors
    /// A sentence if some work waits for itself.
    pub fn of(programs: &'a [Program]) -> Result<Self, String> {
        let arrivals = arrivals(programs);
        let counters = |program: &Program| vec![Vec::new(); program.counters().into()];
        let mut at: Vec<Vec<Vec<(u64, u32)>>> = programs.iter().map(counters).collect();
        for (index, arrival) in (0..).zip(&arrivals) {
            at[arrival.to as usize][usize::from(arrival.add.counter)].push((0, index));
        }
        for counter in at.iter_mut().flatten() {
            levels_without(counter, &arrivals);
        }
        let nothing = |program: &Program| vec![None; program.work().len()];
        let past = programs.iter().map(nothing).collect();
        let mut order = Self { programs, arrivals, at, past, ends: Vec::new() };
        for (rank, program) in (0..).zip(programs) {
            for work in 0..program.work().len() as u32 {
                order.compute_past((rank, work))?;
            }
            let is_end = |work: &DeferredWork| work.op == ProgramOp::Complete;
            let end = program.work().iter().position(is_end);
            let end = end.ok_or(format!("the program of rank {rank} has no end"))?;
            let past = order.past[rank as usize][end].clone();
            order.ends.push(past.expect("computed above"));
        }
        Ok(order)
    }

    /// The arrivals without which a counter does not reach a level.
    fn needed(&self, rank: u32, counter: CounterId, level: u64) -> impl Iterator<Item = u32> {
        let at = &self.at[rank as usize][usize::from(counter)];
        at.iter().take_while(move |(without, _)| *without < level).map(|(_, arrival)| *arrival)
    }

    /// Computes the past of some work, after the pasts of the work that it waits for.
    fn compute_past(&mut self, work: (u32, u32)) -> Result<(), String> {
        let mut path = vec![work];
        let mut on_path = HashSet::from([work]);
        while let Some(&(rank, index)) = path.last() {
            if self.past[rank as usize][index as usize].is_some() {
                path.pop();
                on_path.remove(&(rank, index));
                continue;
            }
            let work = self.programs[rank as usize].work()[index as usize];
            let needed: Vec<u32> = self.needed(rank, work.counter, work.level).collect();
            let made_by = |&arrival: &u32| self.arrivals[arrival as usize].from;
            let is_open =
                |&(rank, work): &(u32, u32)| self.past[rank as usize][work as usize].is_none();
            if let Some(next) = needed.iter().map(made_by).find(is_open) {
                if !on_path.insert(next) {
                    let (rank, work) = next;
                    return Err(format!("work {work} of rank {rank} waits for itself"));
                }
                path.push(next);
                continue;
            }
            let mut past = CausalPast::default();
            past.started.insert(rank as usize);
            for arrival in needed {
                // Of several additions that stand for one another, another one may have arrived.
                let GlobalArrival { add, missing, .. } = self.arrivals[arrival as usize];
                if missing == add.value {
                    past.arrived.insert(arrival as usize);
                }
                let (rank, work) = self.arrivals[arrival as usize].from;
                past.extend(
                    self.past[rank as usize][work as usize].as_ref().expect("computed before"),
                );
            }
            self.past[rank as usize][index as usize] = Some(past);
        }
        Ok(())
    }

    fn past(&self, arrival: &GlobalArrival) -> &CausalPast {
        let (rank, work) = arrival.from;
        self.past[rank as usize][work as usize].as_ref().expect("all are computed")
    }

    /// Arrivals from other ranks.
    fn messages(&self) -> impl Iterator<Item = &GlobalArrival> {
        self.arrivals.iter().filter(|arrival| arrival.from.0 != arrival.to)
    }

    /// Checks that two tanks by parity are safe.
    ///
    /// # Errors
    /// A message for which they are not.
    pub fn two_tanks(&self) -> Result<(), String> {
        for message in self.messages() {
            let to = message.to as usize;
            let started = &self.past(message).started;
            let saw = |rank: usize| self.ends[rank].started.contains(to);
            if !started.contains(to) && !started.iter().any(saw) {
                return Err(self.fault(message, "two instances ahead of it"));
            }
            if self.is_put(message) && !started.contains(to) {
                return Err(self.fault(message, "while its memory is in use"));
            }
        }
        Ok(())
    }

    /// Checks that one tank is safe.
    ///
    /// # Errors
    /// A message for which it is not.
    pub fn one_tank(&self) -> Result<(), String> {
        let mut all_started = self.ends.iter().map(|end| end.started.iter().count());
        let moves_data = self.messages().any(|message| self.is_put(message));
        if !moves_data && all_started.all(|started| started == self.programs.len()) {
            return Ok(());
        }
        self.two_tanks()?;
        for message in self.messages() {
            let started = &self.past(message).started;
            if started.contains(message.to as usize) {
                continue;
            }
            let mut arrived = BitSet::default();
            started.iter().for_each(|rank| arrived.extend(&self.ends[rank].arrived));
            let mut at = self.at[message.to as usize].iter().flatten();
            // The arrival of the data of a put implies its local end, counted or not. The arrival
            // of the data is listed before that of the end.
            let is_late = |&(_, arrival): &(u64, u32)| {
                let arrival = arrival as usize;
                let is_end = self.arrivals[arrival].is_end_of_put;
                !(arrived.contains(arrival) || is_end && arrived.contains(arrival - 1))
            };
            if at.any(is_late) {
                return Err(self.fault(message, "before all of the last instance"));
            }
        }
        Ok(())
    }

    fn is_put(&self, message: &GlobalArrival) -> bool {
        let (rank, work) = message.from;
        matches!(self.programs[rank as usize].work()[work as usize].op, ProgramOp::Put { .. })
    }

    fn fault(&self, message: &GlobalArrival, what: &str) -> String {
        let (from, to) = (message.from.0, message.to);
        let round = self.programs[from as usize].work()[message.from.1 as usize].round;
        format!("the message of round {round} from rank {from} can reach rank {to} {what}")
    }
}

/// Computes the highest level of a counter without each of its arrivals, and sorts them by that. What the
/// counter adds to itself arrives only if the level is reached without it.
fn levels_without(counter: &mut [(u64, u32)], arrivals: &[GlobalArrival]) {
    let all = || counter.iter().map(|(_, arrival)| &arrivals[*arrival as usize]);
    let others: u128 =
        all().filter(|it| it.own_level.is_none()).map(|it| u128::from(it.add.value)).sum();
    let mut own: Vec<(u64, u64)> =
        all().filter_map(|it| Some((it.own_level?, it.add.value))).collect();
    own.sort_unstable();
    let highest = |without: &GlobalArrival| {
        let mut level = others;
        let mut itself = without.own_level.map(|level| (level, without.add.value));
        if itself.is_none() {
            level -= u128::from(without.missing);
        }
        // Without one of its own, those of higher levels have not started either.
        let last = without.own_level.unwrap_or(u64::MAX);
        for &(due, value) in own.iter().take_while(|(due, _)| *due <= last) {
            if itself == Some((due, value)) {
                itself = None;
            } else if u128::from(due) <= level {
                level += u128::from(value);
            }
        }
        u64::try_from(level).unwrap_or(u64::MAX)
    };
    let levels: Vec<u64> = all().map(highest).collect();
    counter.iter_mut().zip(levels).for_each(|(at, level)| at.0 = level);
    counter.sort_by_key(|(level, _)| *level);
}

/// All additions to counters, except resets.
fn arrivals(programs: &[Program]) -> Vec<GlobalArrival> {
    let mut arrivals: Vec<GlobalArrival> = Vec::new();
    for (rank, program) in (0..).zip(programs) {
        // For each counter and target of additions, the first of them.
        let mut chains: HashMap<(CounterId, CounterId), usize> = HashMap::new();
        for (index, work) in (0..).zip(program.work()) {
            let is_own = |add: CounterAdd| add.counter == work.counter;
            if let ProgramOp::Add(add) = work.op
                && (add.value as i64) >= 0
                && !is_own(add)
            {
                let first = *chains.entry((work.counter, add.counter)).or_insert(arrivals.len());
                if let Some(first) = arrivals.get_mut(first) {
                    first.missing += add.value;
                }
            }
            let mut push = |to: u32, add: Option<CounterAdd>, is_end_of_put| {
                let from = (rank, index);
                let arrival = |add: CounterAdd| {
                    let is_own = matches!(work.op, ProgramOp::Add(_)) && is_own(add);
                    let own_level = is_own.then_some(work.level);
                    GlobalArrival { from, to, add, missing: add.value, own_level, is_end_of_put }
                };
                arrivals.extend(add.map(arrival));
            };
            match work.op {
                ProgramOp::Put { to, signal, done, .. } => {
                    push(to, Some(signal), false);
                    push(rank, done, true);
                }
                ProgramOp::Signal { to, signal } => push(to, Some(signal), false),
                ProgramOp::Copy { done, .. }
                | ProgramOp::Host { done, .. }
                | ProgramOp::Combine { done, .. } => {
                    push(rank, done, false);
                }
                ProgramOp::Add(add) if (add.value as i64) >= 0 => push(rank, Some(add), false),
                ProgramOp::Add(_) | ProgramOp::Complete => {}
            }
        }
    }
    arrivals
}
