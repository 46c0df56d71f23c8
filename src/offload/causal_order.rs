//! What is certainly over when something arrives, for the programs of all ranks together: whether
//! instances that follow one another can disturb each other.
//!
//! A level that work waits for names the arrivals that must be there: those without which the counter
//! stays below, whatever else arrives. So the past of work is the past of what made these. Nothing
//! else of the compiler is believed here, and no weight.
//!
//! **Two tanks** are safe if each arrival at a rank comes after that rank's start of the same
//! instance, or of the one before as some rank saw it end ([`CausalOrder::two_tanks`]; condition C).
//! **One tank** is if each arrival comes after all arrivals there of the instance before; or if no
//! data moves, and no rank is through before all have begun: whoever is ahead has then seen that
//! nothing of the instance before can go wrong any more ([`CausalOrder::one_tank`]).
//!
//! Both say what is safe; there may be more that is.

use std::collections::HashSet;

use super::{CounterAdd, CounterId, DeferredWork, Program, ProgramOp};

/// An arrival at a counter.
#[derive(Clone, Copy, Debug)]
struct GlobalArrival {
    /// What makes it: a rank and its work.
    from: (u32, u32),
    to: u32,
    add: CounterAdd,
    /// It only tells that a put has left.
    is_end_of_put: bool,
}

/// Sets of small numbers, all below one bound.
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

/// What is over when work starts.
#[derive(Clone, Debug, Default)]
struct CausalPast {
    /// Ranks that have begun.
    begun: BitSet,
    /// Arrivals that are there.
    arrived: BitSet,
}

impl CausalPast {
    fn extend(&mut self, other: &Self) {
        self.begun.extend(&other.begun);
        self.arrived.extend(&other.arrived);
    }
}

/// The order of everything in one instance of the programs of all ranks.
#[derive(Debug)]
pub struct CausalOrder<'a> {
    programs: &'a [Program],
    arrivals: Vec<GlobalArrival>,
    /// For each rank and counter, the arrivals, the heaviest first.
    at: Vec<Vec<Vec<u32>>>,
    /// For each rank the past of its work; `None` while that is sought.
    past: Vec<Vec<Option<CausalPast>>>,
    /// For each rank, the past of its end.
    ends: Vec<CausalPast>,
}

impl<'a> CausalOrder<'a> {
    /// The order of the programs of ranks `0..programs.len()`.
    ///
    /// # Errors
    /// A sentence if some work waits for itself, for ever.
    pub fn of(programs: &'a [Program]) -> Result<Self, String> {
        let arrivals = arrivals(programs);
        let counters = |program: &Program| vec![Vec::new(); program.counters().into()];
        let mut at: Vec<Vec<Vec<u32>>> = programs.iter().map(counters).collect();
        for (index, arrival) in (0..).zip(&arrivals) {
            at[arrival.to as usize][usize::from(arrival.add.counter)].push(index);
        }
        for counter in at.iter_mut().flatten() {
            counter.sort_by_key(|&it| std::cmp::Reverse(arrivals[it as usize].add.value));
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
            order.ends.push(past.expect("it was sought"));
        }
        Ok(order)
    }

    /// The arrivals that must be there for a level of a counter.
    fn needed(&self, rank: u32, counter: CounterId, level: u64) -> &[u32] {
        let at = &self.at[rank as usize][usize::from(counter)];
        let value = |&arrival: &u32| u128::from(self.arrivals[arrival as usize].add.value);
        let total: u128 = at.iter().map(value).sum();
        let count = at.partition_point(|arrival| total - value(arrival) < level.into());
        &at[..count]
    }

    /// Finds the past of some work, after that of what it waits for.
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
            let needed = self.needed(rank, work.counter, work.level).to_vec();
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
            past.begun.insert(rank as usize);
            for arrival in needed {
                past.arrived.insert(arrival as usize);
                let (rank, work) = self.arrivals[arrival as usize].from;
                past.extend(self.past[rank as usize][work as usize].as_ref().expect("not open"));
            }
            self.past[rank as usize][index as usize] = Some(past);
        }
        Ok(())
    }

    fn past(&self, arrival: &GlobalArrival) -> &CausalPast {
        let (rank, work) = arrival.from;
        self.past[rank as usize][work as usize].as_ref().expect("all were sought")
    }

    /// What ranks tell each other.
    fn messages(&self) -> impl Iterator<Item = &GlobalArrival> {
        self.arrivals.iter().filter(|arrival| arrival.from.0 != arrival.to)
    }

    /// Whether two tanks by parity are enough.
    ///
    /// # Errors
    /// A sentence that names a message which they are not enough for.
    pub fn two_tanks(&self) -> Result<(), String> {
        for message in self.messages() {
            let to = message.to as usize;
            let begun = &self.past(message).begun;
            let saw = |rank: usize| self.ends[rank].begun.contains(to);
            if !begun.contains(to) && !begun.iter().any(saw) {
                return Err(self.fault(message, "two instances ahead of it"));
            }
            if self.is_put(message) && !begun.contains(to) {
                return Err(self.fault(message, "while its memory is in use"));
            }
        }
        Ok(())
    }

    /// Whether one tank is enough.
    ///
    /// # Errors
    /// A sentence that names a message which it is not enough for.
    pub fn one_tank(&self) -> Result<(), String> {
        let mut all_begun = self.ends.iter().map(|end| end.begun.iter().count());
        let moves_data = self.messages().any(|message| self.is_put(message));
        if !moves_data && all_begun.all(|begun| begun == self.programs.len()) {
            return Ok(());
        }
        self.two_tanks()?;
        for message in self.messages() {
            let begun = &self.past(message).begun;
            if begun.contains(message.to as usize) {
                continue;
            }
            let mut over = BitSet::default();
            begun.iter().for_each(|rank| over.extend(&self.ends[rank].arrived));
            let mut at = self.at[message.to as usize].iter().flatten();
            // Whoever has the data of a put knows that it has left, with its end counted or not: the
            // arrival of the data is listed before that of the end.
            let is_late = |&arrival: &u32| {
                let arrival = arrival as usize;
                let is_end = self.arrivals[arrival].is_end_of_put;
                !(over.contains(arrival) || is_end && over.contains(arrival - 1))
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

/// Everything that adds to a counter, but for resets.
fn arrivals(programs: &[Program]) -> Vec<GlobalArrival> {
    let mut arrivals = Vec::new();
    for (rank, program) in (0..).zip(programs) {
        for (index, work) in (0..).zip(program.work()) {
            let mut push = |to: u32, add: Option<CounterAdd>, is_end_of_put| {
                let from = (rank, index);
                arrivals.extend(add.map(|add| GlobalArrival { from, to, add, is_end_of_put }));
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
