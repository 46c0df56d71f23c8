//! Static checks of the schedules of all ranks together, for tests.
//!
//! A collective operation whose schedules pass cannot deadlock, and its result does not depend on
//! the order in which messages arrive or steps run:
//!
//! * every send has exactly one receive, of the same length, and the other way round;
//! * rounds level the global graph (`offload::schedule` says how), so it has no cycle, even where
//!   a send is not complete before its receive has started;
//! * two steps of a rank that touch the same byte, one of them writing, are ordered by what they
//!   wait on. Waiting for any one of several steps orders nothing, unless there is only one.
//!
//! It knows no algorithm: that the result is the right one is shown by running the schedules.

use std::collections::HashMap;

use super::{Action, Buffer, Region, Schedule, StepId, Wait};

/// Checks the schedules of ranks `0..schedules.len()` of one operation.
///
/// # Errors
/// A sentence that names the rank and the step of the first fault found.
pub fn check(schedules: &[Schedule]) -> Result<(), String> {
    for (rank, schedule) in schedules.iter().enumerate() {
        rounds(schedule)
            .and_then(|()| regions(schedule))
            .and_then(|()| races(schedule))
            .map_err(|why| format!("rank {rank}: {why}"))?;
    }
    messages(schedules)
}

/// A message is later than all it waits on; a local step is as late as that.
fn rounds(schedule: &Schedule) -> Result<(), String> {
    for (id, step) in schedule.steps().iter().enumerate() {
        let after = schedule.after(id as StepId);
        let latest = after.iter().map(|&id| schedule.steps()[id as usize].round).max();
        let local = matches!(step.action, Action::Copy { .. } | Action::Reduce { .. });
        let due = latest.unwrap_or(0) + u32::from(!local);
        if step.round < due || (local && step.round > due) {
            return Err(format!("step {id} has round {}, due is {due}", step.round));
        }
    }
    Ok(())
}

/// Regions are inside their scratch buffers, and the two of a local step are apart and alike.
fn regions(schedule: &Schedule) -> Result<(), String> {
    for (id, step) in schedule.steps().iter().enumerate() {
        let (read, written) = step.action.regions();
        for region in [read, written].into_iter().flatten() {
            let len = match region.buffer {
                Buffer::None => 0,
                Buffer::User(_) => usize::MAX,
                Buffer::Scratch(index) => schedule.scratch()[index as usize],
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

/// One access of a step to memory.
struct Access {
    region: Region,
    writes: bool,
    step: usize,
}

/// Steps that touch the same byte are ordered when one of them writes it.
fn races(schedule: &Schedule) -> Result<(), String> {
    let before = order(schedule);
    let mut accesses = accesses(schedule);
    accesses.sort_by_key(|access| (access.region.buffer, access.region.start));
    for (at, one) in accesses.iter().enumerate() {
        let rest = accesses[at + 1..].iter();
        for two in rest.take_while(|two| one.region.overlaps(two.region)) {
            let (first, second) = (one.step.min(two.step), one.step.max(two.step));
            if first != second && (one.writes || two.writes) && !before[second].contains(first) {
                return Err(format!(
                    "steps {first} and {second} race for {:?} and {:?}",
                    one.region, two.region
                ));
            }
        }
    }
    Ok(())
}

/// All accesses to at least one byte.
fn accesses(schedule: &Schedule) -> Vec<Access> {
    let mut accesses = Vec::new();
    for (step, it) in schedule.steps().iter().enumerate() {
        let (read, written) = it.action.regions();
        for (region, writes) in [(read, false), (written, true)] {
            if let Some(region) = region.filter(|region| region.len > 0) {
                accesses.push(Access { region, writes, step });
            }
        }
    }
    accesses
}

/// For each step, the steps that are certainly complete when it starts.
fn order(schedule: &Schedule) -> Vec<Bits> {
    let mut before: Vec<Bits> = Vec::with_capacity(schedule.steps().len());
    for (id, step) in schedule.steps().iter().enumerate() {
        let after = schedule.after(id as StepId);
        let mut bits = Bits(vec![0; id.div_ceil(64)]);
        if step.wait == Wait::All || after.len() == 1 {
            for &earlier in after {
                bits.insert(earlier as usize);
                bits.extend(&before[earlier as usize]);
            }
        }
        before.push(bits);
    }
    before
}

/// A set of step numbers.
struct Bits(Vec<u64>);

impl Bits {
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
}

/// Source, destination and label: what identifies a message of one operation.
type Name = (usize, usize, u16);

/// Sends and receives pair up one to one, with one length and one round.
fn messages(schedules: &[Schedule]) -> Result<(), String> {
    let mut sends: HashMap<Name, (usize, u32)> = HashMap::new();
    let mut receives = sends.clone();
    for (rank, schedule) in schedules.iter().enumerate() {
        for step in schedule.steps() {
            let (side, name, region) = match step.action {
                Action::Send { peer, region, label } => {
                    (&mut sends, (rank, peer as usize, label), region)
                }
                Action::Receive { peer, region, label } => {
                    (&mut receives, (peer as usize, rank, label), region)
                }
                Action::Copy { .. } | Action::Reduce { .. } => continue,
            };
            if name.0 == name.1 || name.0.max(name.1) >= schedules.len() {
                return Err(format!("rank {rank} has a message to or from nobody: {name:?}"));
            }
            if side.insert(name, (region.len, step.round)).is_some() {
                return Err(format!("rank {rank} has two messages {name:?}"));
            }
        }
    }
    pair(&sends, &receives)
}

fn pair(
    sends: &HashMap<Name, (usize, u32)>, receives: &HashMap<Name, (usize, u32)>,
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
    use super::super::Builder;
    use super::*;

    const BUFFER: Buffer = Buffer::User(0);

    /// Rank 0 sends what rank 1 receives.
    fn pair_of(send: Region, receive: Region, rounds: (u32, u32)) -> [Schedule; 2] {
        let mut sender = Builder::new();
        sender.send(1, send, rounds.0, &[]);
        let mut receiver = Builder::new();
        receiver.receive(0, receive, rounds.1, &[]);
        [sender.finish(), receiver.finish()]
    }

    fn fault(schedules: &[Schedule]) -> String {
        check(schedules).expect_err("the fault goes unnoticed")
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
        assert!(fault(&[sender]).contains("nobody"));
    }

    #[test]
    fn one_label_is_one_message() {
        let mut plan = Builder::new();
        plan.send(1, Region::EMPTY, 1, &[]);
        plan.send(1, Region::EMPTY, 1, &[]);
        assert!(fault(&[plan.finish(), Schedule::default()]).contains("two messages"));
    }

    #[test]
    fn a_ring_of_waits_has_no_rounds() {
        // Each rank sends only after it has received: no rounds can be given.
        for (receive, send) in [(1, 1), (1, 2), (2, 1)] {
            let schedules = [0, 1].map(|rank| {
                let mut plan = Builder::new();
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
            let mut plan = Builder::new();
            let first = plan.receive(1, BUFFER.region(0, 8), 1, &[]);
            let other = plan.receive(2, Region::EMPTY, 1, &[]);
            let action = Action::Send { peer: 1, region: BUFFER.region(start, 8), label: 2 };
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
    fn order_runs_through_other_steps_and_reads_share() {
        let mut plan = Builder::new();
        let receive = plan.receive(1, BUFFER.region(0, 8), 1, &[]);
        let token = plan.send(2, Region::EMPTY, 2, &[receive]);
        plan.send(1, BUFFER.region(0, 8), 3, &[token]);
        plan.send(2, BUFFER.region(0, 8), 3, &[token]);
        assert_eq!(races(&plan.finish()), Ok(()));
    }

    #[test]
    fn regions_stay_inside_and_apart() {
        let mut plan = Builder::new();
        let scratch = plan.scratch(8);
        plan.receive(1, scratch.region(4, 8), 1, &[]);
        assert!(regions(&plan.finish()).unwrap_err().contains("leaves its buffer"));
        let mut plan = Builder::new();
        plan.reduce(BUFFER.region(0, 8), BUFFER.region(4, 8), &[]);
        assert!(regions(&plan.finish()).unwrap_err().contains("do not fit"));
    }
}
