//! Static checks of the schedules of all ranks together, for tests.
//!
//! A collective operation whose schedules pass cannot deadlock, and its result does not depend on
//! the order in which messages arrive or steps run:
//!
//! * every send has exactly one receive of the same length, and every receive one send;
//! * rounds are levels of the global graph (`offload::schedule`), so the graph has no cycle, even if
//!   a send completes only after its receive has started;
//! * if two steps of a rank access the same byte and one of them writes it, their waits order them. A
//!   step that waits for any one of several steps is after the common predecessors of all of them;
//! * each of several copies has written to scratch memory all bytes that are read from the first one,
//!   and detached steps use only scratch memory.
//!
//! This module knows no algorithm: tests run the schedules to check the results. It does not check
//! that all copies are equal either: tests try every order of arrival.

use std::collections::HashMap;

use crate::offload::schedule::{Buffer, Region, Schedule, StepAction, StepId, Wait};

/// Checks the schedules of ranks `0..schedules.len()` of one operation.
///
/// # Errors
/// The rank and the step of the first fault.
pub fn check(schedules: &[Schedule]) -> Result<(), String> {
    for (rank, schedule) in schedules.iter().enumerate() {
        rounds(schedule)
            .and_then(|()| regions(schedule))
            .and_then(|()| copies(schedule))
            .and_then(|()| races(schedule))
            .map_err(|why| format!("rank {rank}: {why}"))?;
    }
    messages(schedules)
}

/// A message has a later round than its predecessors; a local step has the round of its
/// predecessors.
fn rounds(schedule: &Schedule) -> Result<(), String> {
    for (id, step) in schedule.steps().iter().enumerate() {
        let after = schedule.predecessors(id as StepId);
        let latest = after.iter().map(|&id| schedule.steps()[id as usize].round).max();
        let local = matches!(step.action, StepAction::Copy { .. } | StepAction::Reduce { .. });
        let due = latest.unwrap_or(0) + u32::from(!local);
        if step.round < due || (local && step.round > due) {
            return Err(format!("step {id} has round {}, due is {due}", step.round));
        }
    }
    Ok(())
}

/// Regions are inside their scratch buffers. The two regions of a local step have equal lengths and
/// do not overlap.
fn regions(schedule: &Schedule) -> Result<(), String> {
    for (id, step) in schedule.steps().iter().enumerate() {
        let (read, written) = step.action.regions();
        for region in [read, written].into_iter().flatten() {
            let len = match region.buffer {
                Buffer::None => 0,
                Buffer::User(_) => usize::MAX,
                Buffer::Scratch(index) => schedule.scratch()[index as usize],
                // `copies` checks the length.
                Buffer::First => usize::MAX,
            };
            if region.start > len || region.len > len - region.start {
                return Err(format!("step {id} leaves its buffer of {len} bytes: {region:?}"));
            }
        }
        if let (Some(read), Some(written)) = (read, written)
            && (read.len != written.len || read.overlaps(written))
        {
            return Err(format!("step {id} has regions that do not fit: {:?}", step.action));
        }
    }
    Ok(())
}

/// A step that reads the first copy waits for any one of steps that all write it. Detached steps use
/// only memory of the run.
fn copies(schedule: &Schedule) -> Result<(), String> {
    for (id, step) in schedule.steps().iter().enumerate() {
        let (read, written) = step.action.regions();
        if written.is_some_and(|region| region.buffer == Buffer::First) {
            return Err(format!("step {id} writes to the first copy"));
        }
        if let Some(read) = read.filter(|region| region.buffer == Buffer::First) {
            let after = schedule.predecessors(id as StepId);
            let waits_for_one = step.wait == Wait::Any || after.len() == 1;
            let is_written = |region: Region| {
                matches!(region.buffer, Buffer::Scratch(_)) && region.len >= read.end()
            };
            let are_written = after.iter().all(|&step| is_written(written_by(schedule, step)));
            if !waits_for_one || after.is_empty() || !are_written {
                return Err(format!(
                    "step {id} reads {} bytes that may not have been written",
                    read.end()
                ));
            }
        }
        let mut regions = [read, written].into_iter().flatten();
        let is_user = |region: Region| matches!(region.buffer, Buffer::User(_));
        if step.detached && regions.any(is_user) {
            return Err(format!("step {id} is detached but uses memory of the caller"));
        }
    }
    Ok(())
}

fn written_by(schedule: &Schedule, id: StepId) -> Region {
    schedule.steps()[id as usize].action.regions().1.unwrap_or(Region::EMPTY)
}

/// One access of a step to memory.
struct StepAccess {
    region: Region,
    writes: bool,
    step: usize,
    /// The step whose copy is read, if the access reads the first of several.
    copy: Option<usize>,
}

impl StepAccess {
    /// Whether the access is always after step `id`.
    fn is_after(&self, id: usize, before: &[StepSet]) -> bool {
        let copied = |copy: usize| copy == id || copy > id && before[copy].contains(id);
        before[self.step].contains(id) || self.copy.is_some_and(copied)
    }
}

/// Steps that access the same byte are ordered if one of them writes it.
fn races(schedule: &Schedule) -> Result<(), String> {
    let before = order(schedule);
    let mut accesses = accesses(schedule);
    accesses.sort_by_key(|access| (access.region.buffer, access.region.start));
    for (at, one) in accesses.iter().enumerate() {
        let rest = accesses[at + 1..].iter();
        for two in rest.take_while(|two| one.region.overlaps(two.region)) {
            let (first, second) = if one.step < two.step { (one, two) } else { (two, one) };
            let ordered = first.step == second.step || second.is_after(first.step, &before);
            if (one.writes || two.writes) && !ordered {
                return Err(format!(
                    "steps {} and {} race for {:?} and {:?}",
                    first.step, second.step, one.region, two.region
                ));
            }
        }
    }
    Ok(())
}

/// All accesses to at least one byte.
fn accesses(schedule: &Schedule) -> Vec<StepAccess> {
    let mut accesses = Vec::new();
    for (step, it) in schedule.steps().iter().enumerate() {
        let (read, written) = it.action.regions();
        for (region, writes) in [(read, false), (written, true)] {
            let Some(region) = region.filter(|region| region.len > 0) else { continue };
            if region.buffer != Buffer::First {
                accesses.push(StepAccess { region, writes, step, copy: None });
                continue;
            }
            for &copy in schedule.predecessors(step as StepId) {
                let written = written_by(schedule, copy);
                let region = written.buffer.region(written.start + region.start, region.len);
                accesses.push(StepAccess { region, writes, step, copy: Some(copy as usize) });
            }
        }
    }
    accesses
}

/// For each step, the steps that have always completed when it starts.
fn order(schedule: &Schedule) -> Vec<StepSet> {
    let mut before: Vec<StepSet> = Vec::with_capacity(schedule.steps().len());
    for (id, step) in schedule.steps().iter().enumerate() {
        let after = schedule.predecessors(id as StepId);
        let mut bits = StepSet(vec![0; id.div_ceil(64)]);
        if step.wait == Wait::All || after.len() <= 1 {
            for &earlier in after {
                bits.insert(earlier as usize);
                bits.extend(&before[earlier as usize]);
            }
        } else {
            bits.extend(&before[after[0] as usize]);
            after.iter().for_each(|&earlier| bits.intersect(&before[earlier as usize]));
        }
        before.push(bits);
    }
    before
}

/// A set of step numbers.
struct StepSet(Vec<u64>);

impl StepSet {
    fn contains(&self, id: usize) -> bool {
        self.0[id / 64] >> (id % 64) & 1 == 1
    }

    fn insert(&mut self, id: usize) {
        self.0[id / 64] |= 1 << (id % 64);
    }

    fn extend(&mut self, other: &Self) {
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            *word |= more;
        }
    }

    /// Removes the numbers that are not in `other`, which may have fewer words.
    fn intersect(&mut self, other: &Self) {
        for (word, kept) in self.0.iter_mut().zip(other.0.iter().chain(std::iter::repeat(&0))) {
            *word &= kept;
        }
    }
}

/// Source, destination and label of a message of one operation.
type MessageId = (usize, usize, u16);

/// Each send has one receive of the same length and round, and each receive one send.
fn messages(schedules: &[Schedule]) -> Result<(), String> {
    let mut sends: HashMap<MessageId, (usize, u32)> = HashMap::new();
    let mut receives = sends.clone();
    for (rank, schedule) in schedules.iter().enumerate() {
        for step in schedule.steps() {
            let (side, name, region) = match step.action {
                StepAction::Send { peer, region, label } => {
                    (&mut sends, (rank, peer as usize, label), region)
                }
                StepAction::Receive { peer, region, label } => {
                    (&mut receives, (peer as usize, rank, label), region)
                }
                StepAction::Copy { .. } | StepAction::Reduce { .. } => continue,
            };
            if name.0 == name.1 || name.0.max(name.1) >= schedules.len() {
                return Err(format!(
                    "rank {rank} has a message to or from no other rank: {name:?}"
                ));
            }
            if side.insert(name, (region.len, step.round)).is_some() {
                return Err(format!("rank {rank} has two messages {name:?}"));
            }
        }
    }
    pair(&sends, &receives)
}

fn pair(
    sends: &HashMap<MessageId, (usize, u32)>, receives: &HashMap<MessageId, (usize, u32)>,
) -> Result<(), String> {
    for (name, send) in sends {
        match receives.get(name) {
            Some(receive) if receive == send => {}
            receive => {
                return Err(format!("message {name:?}: {send:?} is sent, {receive:?} received"));
            }
        }
    }
    match receives.keys().find(|name| !sends.contains_key(name)) {
        Some(name) => Err(format!("message {name:?} is received but not sent")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offload::schedule::ScheduleBuilder;

    const BUFFER: Buffer = Buffer::User(0);

    /// Rank 0 sends what rank 1 receives.
    fn pair_of(send: Region, receive: Region, rounds: (u32, u32)) -> [Schedule; 2] {
        let mut sender = ScheduleBuilder::new();
        sender.send(1, send, rounds.0, &[]);
        let mut receiver = ScheduleBuilder::new();
        receiver.receive(0, receive, rounds.1, &[]);
        [sender.finish(), receiver.finish()]
    }

    fn fault(schedules: &[Schedule]) -> String {
        check(schedules).expect_err("the fault is not found")
    }

    #[test]
    fn messages_pair_up() {
        let (four, eight) = (BUFFER.region(0, 4), BUFFER.region(0, 8));
        assert_eq!(check(&pair_of(four, four, (1, 1))), Ok(()));
        assert!(fault(&pair_of(four, eight, (1, 1))).contains("is sent"));
        assert!(fault(&pair_of(four, four, (1, 2))).contains("is sent"));
        let [sender, receiver] = pair_of(four, four, (1, 1));
        let idle = Schedule::default();
        assert!(fault(&[sender.clone(), idle.clone()]).contains("None received"));
        assert!(fault(&[idle, receiver]).contains("but not sent"));
        assert!(fault(&[sender]).contains("no other rank"));
    }

    #[test]
    fn one_label_is_one_message() {
        let mut plan = ScheduleBuilder::new();
        plan.send(1, Region::EMPTY, 1, &[]);
        plan.send(1, Region::EMPTY, 1, &[]);
        assert!(fault(&[plan.finish(), Schedule::default()]).contains("two messages"));
    }

    #[test]
    fn a_ring_of_waits_has_no_rounds() {
        // Each rank sends only after it has received: no rounds can be given.
        for (receive, send) in [(1, 1), (1, 2), (2, 1)] {
            let schedules = [0, 1].map(|rank| {
                let mut plan = ScheduleBuilder::new();
                let receive = plan.receive(1 - rank, Region::EMPTY, receive, &[]);
                plan.send(1 - rank, Region::EMPTY, send, &[receive]);
                plan.finish()
            });
            fault(&schedules);
        }
    }

    #[test]
    fn unordered_writes_race() {
        let race = |ordered: bool, wait: Wait, start: usize| {
            let mut plan = ScheduleBuilder::new();
            let first = plan.receive(1, BUFFER.region(0, 8), 1, &[]);
            let other = plan.receive(2, Region::EMPTY, 1, &[]);
            let action = StepAction::Send { peer: 1, region: BUFFER.region(start, 8), label: 2 };
            let after = [first, other];
            plan.push(action, 2, wait, &after[usize::from(!ordered)..]);
            races(&plan.finish())
        };
        assert_eq!(race(true, Wait::All, 0), Ok(()));
        assert!(race(true, Wait::Any, 0).is_err());
        assert!(race(false, Wait::All, 7).is_err());
        assert_eq!(race(false, Wait::All, 8), Ok(()));
    }

    #[test]
    fn any_of_several_is_after_the_common_predecessors() {
        let mut plan = ScheduleBuilder::new();
        let shared = plan.receive(1, BUFFER.region(0, 8), 1, &[]);
        let one = plan.send(1, Region::EMPTY, 2, &[shared]);
        let two = plan.send(2, Region::EMPTY, 2, &[shared]);
        let action = StepAction::Send { peer: 3, region: BUFFER.region(0, 8), label: 3 };
        plan.push(action, 3, Wait::Any, &[one, two]);
        assert_eq!(races(&plan.finish()), Ok(()));
    }

    /// A copy of the first of two receives, changed by `spoil`, which gets the three steps.
    fn first_of_two(
        spoil: impl FnOnce(&mut ScheduleBuilder, Buffer, [StepId; 3]),
    ) -> Result<(), String> {
        let mut plan = ScheduleBuilder::new();
        let scratch = plan.scratch(16);
        let one = plan.receive(1, scratch.region(0, 8), 1, &[]);
        let two = plan.receive(2, scratch.region(8, 8), 1, &[]);
        let copy = plan.copy_first(BUFFER.region(0, 8), &[one, two]);
        plan.detach(one);
        plan.detach(two);
        spoil(&mut plan, scratch, [one, two, copy]);
        let schedule = plan.finish();
        copies(&schedule).and_then(|()| races(&schedule))
    }

    #[test]
    fn either_copy_may_come_first() {
        assert_eq!(first_of_two(|_, _, _| ()), Ok(()));
        // A step reads one copy but has waited for the other.
        let late = |plan: &mut ScheduleBuilder, scratch: Buffer, [one, _, copy]: [StepId; 3]| {
            plan.copy(BUFFER.region(8, 8), scratch.region(8, 8), &[one, copy]);
        };
        assert!(first_of_two(late).unwrap_err().contains("race"));
        let unread =
            |plan: &mut ScheduleBuilder, scratch: Buffer, [one, two, copy]: [StepId; 3]| {
                plan.copy(BUFFER.region(8, 8), scratch.region(8, 8), &[one, two, copy]);
            };
        assert_eq!(first_of_two(unread), Ok(()));
    }

    #[test]
    fn every_copy_has_the_bytes_that_are_read() {
        let push = |region: Region, wait, after: fn([StepId; 3]) -> Vec<StepId>| {
            first_of_two(|plan, _, steps| {
                let action = StepAction::Send { peer: 3, region, label: 2 };
                plan.push(action, 2, wait, &after(steps));
            })
        };
        let first = |len| Buffer::First.region(0, len);
        assert_eq!(push(first(8), Wait::Any, |[one, two, _]| vec![one, two]), Ok(()));
        assert_eq!(push(first(8), Wait::All, |[one, ..]| vec![one]), Ok(()));
        assert!(push(first(9), Wait::Any, |[one, two, _]| vec![one, two]).is_err());
        assert!(push(first(8), Wait::All, |[one, two, _]| vec![one, two]).is_err());
        assert!(push(first(8), Wait::Any, |_| Vec::new()).is_err());
        let late = first_of_two(|plan, _, [.., copy]| plan.detach(copy));
        assert!(late.unwrap_err().contains("memory of the caller"));
    }

    #[test]
    fn order_runs_through_other_steps_and_reads_share() {
        let mut plan = ScheduleBuilder::new();
        let receive = plan.receive(1, BUFFER.region(0, 8), 1, &[]);
        let token = plan.send(2, Region::EMPTY, 2, &[receive]);
        plan.send(1, BUFFER.region(0, 8), 3, &[token]);
        plan.send(2, BUFFER.region(0, 8), 3, &[token]);
        assert_eq!(races(&plan.finish()), Ok(()));
    }

    #[test]
    fn regions_stay_inside_and_apart() {
        let mut plan = ScheduleBuilder::new();
        let scratch = plan.scratch(8);
        plan.receive(1, scratch.region(4, 8), 1, &[]);
        assert!(regions(&plan.finish()).unwrap_err().contains("leaves its buffer"));
        let mut plan = ScheduleBuilder::new();
        plan.reduce(BUFFER.region(0, 8), BUFFER.region(4, 8), &[]);
        assert!(regions(&plan.finish()).unwrap_err().contains("do not fit"));
    }
}
