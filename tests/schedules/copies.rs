//! Steps that take the first of several copies, in every order of arrival.
//!
//! The static checks cannot see that copies are equal. For a few ranks an explorer visits all
//! reachable states of the schedules: the next event is the arrival of any message whose two ends
//! have begun, or the completion of any reduction. Copies complete at once, as in executions.
//! Larger sizes run in orders drawn from seeds.
//!
//! A message carries its bytes from the start of the send. The explorer checks that the source
//! bytes are unchanged at the arrival, so the time at which a device reads them does not matter.

use std::collections::{BTreeMap, HashSet};

use mpi_abi::mpi::collective::algorithms::allreduce;
use mpi_abi::mpi::collective::algorithms::allreduce::extra_rounds::ExtraRounds;
use mpi_abi::mpi::collective::algorithms::{Allreduce, Operands};
use mpi_abi::offload::check::check;
use mpi_abi::offload::{Buffer, Region, Schedule, StepAction};

use super::reductions::assert_complete;
use super::symbolic::{Algebra, Byte, Machine, Rank};
use super::{Case, Shape, is_long, sizes};

/// Length of an element and of the operand.
const ELEMENT: usize = 1;

fn args(in_place: bool) -> Allreduce {
    Allreduce {
        operands: Operands { bytes: ELEMENT, element: ELEMENT, commutative: false },
        in_place,
    }
}

/// State of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    Waiting,
    /// Started, by the completion of the named step: the step may complete, or its message arrive.
    Begun(u32),
    Done,
}

/// State of one rank.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Local {
    stages: Vec<Stage>,
    user: Vec<Byte>,
    scratch: Vec<Byte>,
    /// The bytes of messages whose sends have begun, by step.
    sent: BTreeMap<u32, Byte>,
}

/// State of all ranks.
type State = Vec<Local>;

/// Visits all states.
struct Explorer<'a> {
    schedules: &'a [Schedule],
    algebra: Algebra,
    result: Byte,
    seen: HashSet<State>,
    /// Number of times a rank had its result before the last message to it arrived.
    early: usize,
    ends: usize,
}

impl Explorer<'_> {
    /// Every user and scratch buffer has one byte here.
    fn byte(local: &mut Local, region: Region) -> &mut Byte {
        assert_eq!((region.start, region.len), (0, 1));
        match region.buffer {
            Buffer::User(index) => &mut local.user[index as usize],
            Buffer::Scratch(index) => &mut local.scratch[index as usize],
            Buffer::None | Buffer::First => unreachable!("no memory"),
        }
    }

    fn begin(&self, local: &mut Local, rank: usize, step: u32, first: u32) {
        local.stages[step as usize] = Stage::Begun(first);
        match self.schedules[rank].action(step, first) {
            StepAction::Send { region, .. } => {
                let byte = *Self::byte(local, region);
                local.sent.insert(step, byte);
            }
            StepAction::Copy { from, to } => {
                *Self::byte(local, to) = *Self::byte(local, from);
                self.end(local, rank, step);
            }
            StepAction::Receive { .. } | StepAction::Reduce { .. } => {}
        }
    }

    /// Records the completion of a step and starts the steps that depended on it.
    fn end(&self, local: &mut Local, rank: usize, step: u32) {
        let schedule = &self.schedules[rank];
        local.stages[step as usize] = Stage::Done;
        for &then in schedule.successors(step) {
            let after = schedule.predecessors(then);
            let done = after.iter().filter(|it| local.stages[**it as usize] == Stage::Done).count();
            let due = schedule.waits()[then as usize] as usize;
            if local.stages[then as usize] == Stage::Waiting && done >= due {
                self.begin(local, rank, then, step);
            }
        }
    }

    /// The receive of a message, if it has started.
    fn receive(&self, state: &State, source: usize, peer: u32, label: u16) -> Option<u32> {
        let steps = (0..).zip(self.schedules[peer as usize].steps());
        let mut found = steps.filter(|(_, step)| match step.action {
            StepAction::Receive { peer, label: due, .. } => (peer as usize, due) == (source, label),
            _ => false,
        });
        let (step, _) = found.next()?;
        matches!(state[peer as usize].stages[step as usize], Stage::Begun(_)).then_some(step)
    }

    /// The state after step `step` of `rank` completes; `None` if it cannot, or is not to be tried.
    fn after(&mut self, state: &State, rank: usize, step: u32) -> Option<State> {
        let Stage::Begun(first) = state[rank].stages[step as usize] else { return None };
        let mut next = state.clone();
        match self.schedules[rank].action(step, first) {
            StepAction::Send { peer, region, label } => {
                let receive = self.receive(state, rank, peer, label)?;
                let byte = next[rank].sent.remove(&step).expect("the send has begun");
                let now = *Self::byte(&mut next[rank], region);
                assert_eq!(now, byte, "rank {rank} changes what step {step} sends");
                self.end(&mut next[rank], rank, step);
                let to = &mut next[peer as usize];
                let (_, place) = self.schedules[peer as usize].action(receive, 0).regions();
                *Self::byte(to, place.expect("a receive writes")) = byte;
                self.end(to, peer as usize, receive);
            }
            // Receives complete with their sends; copies have completed.
            StepAction::Receive { .. } | StepAction::Copy { .. } => return None,
            StepAction::Reduce { from, into } => {
                let local = &mut next[rank];
                let (left, right) = (*Self::byte(local, from), *Self::byte(local, into));
                *Self::byte(local, into) = self.algebra.pair(left, right);
                self.end(local, rank, step);
            }
        }
        Some(next)
    }

    /// A rank that has completed has the result, and keeps it.
    fn look_at(&mut self, state: &State) {
        for (local, schedule) in state.iter().zip(self.schedules) {
            let mut stages = schedule.steps().iter().zip(&local.stages);
            let is_over = stages.all(|(step, stage)| step.detached || *stage == Stage::Done);
            if is_over {
                assert_eq!(local.user[1], self.result, "another result");
                self.early += usize::from(local.stages.iter().any(|stage| *stage != Stage::Done));
            }
        }
    }

    fn explore(&mut self, first: State) {
        let mut open = vec![first];
        while let Some(state) = open.pop() {
            self.look_at(&state);
            let mut is_end = true;
            for rank in 0..state.len() {
                for step in 0..state[rank].stages.len() as u32 {
                    if let Some(next) = self.after(&state, rank, step) {
                        is_end = false;
                        if self.seen.insert(next.clone()) {
                            open.push(next);
                        }
                    }
                }
            }
            if is_end {
                self.ends += 1;
                let all_done = |local: &Local| local.stages.iter().all(|it| *it == Stage::Done);
                assert!(state.iter().all(all_done), "stops with steps left");
            }
        }
    }
}

/// Explores an allreduce with these numbers of middle and last extra rounds; returns the number of
/// states.
fn explore(ranks: u32, (middle, last): (u32, u32), in_place: bool) -> usize {
    let (shape, extras) = (Shape { ranks }, ExtraRounds::ascending(middle, last));
    let part = |rank| allreduce::redundant::schedule(shape, rank, args(in_place), extras);
    let schedules: Vec<Schedule> = (0..ranks).map(part).collect();
    check(&schedules).unwrap();
    let mut algebra = Algebra::default();
    let mut operands: Vec<Byte> = (0..ranks).map(|rank| algebra.leaf(rank, 0)).collect();
    let junk = algebra.junk(1)[0];
    let buffers = |own: Byte| if in_place { vec![junk, own] } else { vec![own, junk] };
    let state: State = (schedules.iter().zip(&operands))
        .map(|(schedule, own)| Local {
            stages: vec![Stage::Waiting; schedule.steps().len()],
            user: buffers(*own),
            scratch: vec![junk; schedule.scratch().len()],
            sent: BTreeMap::new(),
        })
        .collect();
    // Folded pairs, and then neighbours of neighbours.
    let places = 1 << ranks.ilog2();
    for pair in 0..(ranks - places) as usize {
        let right = operands.remove(pair + 1);
        operands[pair] = algebra.pair(operands[pair], right);
    }
    while operands.len() > 1 {
        operands = operands.chunks(2).map(|two| algebra.pair(two[0], two[1])).collect();
    }
    let result = operands[0];
    let (seen, early, ends) = (HashSet::new(), 0, 0);
    let mut explorer = Explorer { schedules: &schedules, algebra, result, seen, early, ends };
    let mut first = state;
    for (rank, local) in first.iter_mut().enumerate() {
        let waits = schedules[rank].waits();
        for step in (0..).zip(waits).filter(|(_, waits)| **waits == 0).map(|(step, _)| step) {
            explorer.begin(local, rank, step, step);
        }
    }
    explorer.explore(first);
    assert!(explorer.ends > 0);
    // Otherwise the extra rounds would have no effect.
    assert!(last == 0 || ranks < 4 || explorer.early > 0, "no copy is ever early");
    explorer.seen.len()
}

#[test]
fn every_order_of_copies_gives_one_result() {
    for (ranks, extras) in
        [(2, (0, 2)), (3, (1, 2)), (4, (0, 0)), (4, (1, 0)), (4, (0, 1)), (4, (1, 1))]
    {
        // A separate buffer changes no order; the largest case is explored once.
        let places = if is_long() || extras.0 + extras.1 < 2 { 2 } else { 1 };
        for in_place in [false, true].into_iter().take(places) {
            let states = explore(ranks, extras, in_place);
            println!("{ranks} ranks, {extras:?}: {states} states");
        }
    }
}

/// Extra rounds as settings say them; more of them for few ranks.
fn settings(shape: Shape) -> Vec<String> {
    let mut texts: Vec<String> =
        ["0,0", "1,1", "3,2", "0,20", "2,3,descending", "middle-bits=1,0/final-bits=0..4,1"]
            .map(str::to_owned)
            .into();
    if shape.ranks <= 9 {
        let numbers = (0..=4).flat_map(|middle| (0..=4).map(move |last| (middle, last)));
        texts.extend(numbers.flat_map(|(middle, last)| {
            [format!("{middle},{last}"), format!("{middle},{last},descending")]
        }));
    }
    texts
}

/// Every size, with several extra rounds, in an order drawn from a seed each.
#[test]
fn redundant_rounds_change_nothing() {
    for shape in sizes() {
        for text in settings(shape) {
            let extras = ExtraRounds::from_text(&text).unwrap();
            let case = Case {
                name: format!("allreduce by redundant:{text}"),
                shape,
                element: ELEMENT,
                schedule: &|rank| {
                    allreduce::redundant::schedule(shape, rank, args(rank % 2 == 0), extras)
                },
                before: &|rank, algebra| {
                    let own = algebra.leaves(rank, 0, ELEMENT);
                    if rank % 2 == 0 { vec![Vec::new(), own] } else { vec![own, vec![0]] }
                },
            };
            let mut algebra = Algebra::default();
            let after = case.run(&mut algebra);
            let result = &after[0][1];
            assert_complete(result, shape.ranks, true, &algebra, &case.name);
            assert!(after.iter().all(|buffers| &buffers[1] == result), "{}", case.name);
        }
    }
}

/// Many orders of the same schedules.
#[test]
fn many_orders_of_copies_give_one_result() {
    for ranks in [8, 16, 21, 32] {
        let shape = Shape { ranks };
        let extras = ExtraRounds::ascending(2, 3);
        let part = |rank| allreduce::redundant::schedule(shape, rank, args(false), extras);
        let schedules: Vec<Schedule> = (0..ranks).map(part).collect();
        check(&schedules).unwrap();
        let mut algebra = Algebra::default();
        let mut result: Option<Vec<Byte>> = None;
        for seed in 0..100 {
            let ranks = (0..).zip(&schedules).map(|(rank, schedule)| {
                let own = algebra.leaves(rank, 0, ELEMENT);
                let user = vec![own, algebra.junk(ELEMENT)];
                Rank::new(schedule.clone(), user, &mut algebra)
            });
            let ranks: Vec<Rank> = ranks.collect();
            let after = Machine::new(&mut algebra, ranks, ELEMENT, seed).run();
            let result = result.get_or_insert_with(|| after[0][1].clone());
            let all_have_it = after.iter().all(|buffers| &buffers[1] == result);
            assert!(all_have_it, "{shape:?}, seed {seed}");
        }
    }
}
