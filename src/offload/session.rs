//! Session mode: counters that are queues of commands.
//!
//! ```text
//!   queue      [1: nothing] [2: put] [3: nothing] [4: signal]
//!                              ▲ progress 2: commands 1 and 2 have run
//! ```
//!
//! An arrival runs the next 1 to 15 commands of a queue: session progress steps, 4 bits of a packet. So
//! the level of a command is its position in the queue, and positions are unique; positions between them
//! hold commands without effect. Commands of level 0 are posted to a queue of their own and run at once.
//!
//! Progress is never undone: a queue is filled anew for each instance. In a program, that is the
//! negative addition that removes the additions of the instance.
//!
//! The compiler makes programs of this form (`compile`), and [`entries`] checks it.
//!
//! Source: session mode in the header of a public driver (`tof_icc.h` of McKernel) and Ajima et al.,
//! "Tofu interconnect 2", Hot Interconnects 2014.

use crate::offload::program::{CounterAdd, Program, ProgramOp};

/// The largest progress of a queue for one arrival.
pub const STEPS_MAX: u64 = 15;

/// Bits of a position: a queue has at most 2^21 entries (`tof_icc.h`).
pub const POSITION_BITS: u32 = 21;

/// The number of queue entries of a program.
///
/// # Errors
/// The property of the program for which queues in session mode cannot run it.
pub fn entries(program: &Program) -> Result<u64, &'static str> {
    if !program.work().iter().flat_map(|work| additions(&work.op)).all(fits) {
        return Err("an arrival lets a queue progress by 1 to 15 commands");
    }
    let mut entries = 0;
    for queue in program.work().chunk_by(|one, next| one.counter == next.counter) {
        let commands = queue.iter().filter(|work| is_command(&work.op));
        let positions: Vec<u64> = commands.map(|work| work.level).collect();
        let at_once = positions.partition_point(|position| *position == 0);
        if !positions[at_once..].is_sorted_by(|one, next| one < next) {
            return Err("a queue runs one command at a time");
        }
        entries += at_once as u64 + positions.last().unwrap_or(&0);
    }
    Ok(entries)
}

/// Operations that are no commands are performed by the code that fills the queues.
fn is_command(op: &ProgramOp) -> bool {
    match op {
        ProgramOp::Add(add) => !is_refill(*add),
        ProgramOp::Complete => false,
        ProgramOp::Put { .. } | ProgramOp::Signal { .. } | ProgramOp::Copy { .. } => true,
        ProgramOp::Host { .. } | ProgramOp::Combine { .. } => true,
    }
}

fn is_refill(add: CounterAdd) -> bool {
    (add.value as i64) < 0
}

fn fits(add: CounterAdd) -> bool {
    is_refill(add) || (1..=STEPS_MAX).contains(&add.value)
}

fn additions(op: &ProgramOp) -> impl Iterator<Item = CounterAdd> + use<> {
    let (signal, done) = match *op {
        ProgramOp::Put { signal, done, .. } => (Some(signal), done),
        ProgramOp::Signal { signal, .. } => (Some(signal), None),
        ProgramOp::Copy { done, .. }
        | ProgramOp::Host { done, .. }
        | ProgramOp::Combine { done, .. } => (None, done),
        ProgramOp::Add(add) => (Some(add), None),
        ProgramOp::Complete => (None, None),
    };
    signal.into_iter().chain(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offload::program::{DeferredWork, Scheme};

    fn program(work: &[(u16, u64, ProgramOp)]) -> Program {
        let work =
            work.iter().map(|&(counter, level, op)| DeferredWork { counter, level, op, round: 0 });
        Program::new(Scheme::Tank, 2, 2, work.collect())
    }

    fn signal(value: u64) -> ProgramOp {
        ProgramOp::Signal { to: 1, signal: CounterAdd { counter: 0, value } }
    }

    #[test]
    fn a_command_has_a_place_of_its_own() {
        let lower = ProgramOp::Add(CounterAdd { counter: 0, value: 4_u64.wrapping_neg() });
        let fits = [(0, 0, signal(1)), (0, 0, signal(2)), (0, 2, signal(15)), (0, 4, signal(1))];
        let ends = [(0, 4, lower), (0, 4, ProgramOp::Complete), (1, 3, signal(1))];
        assert_eq!(entries(&program(&[&fits[..], &ends[..]].concat())), Ok(2 + 4 + 3));
        assert!(entries(&program(&[(0, 2, signal(1)), (0, 2, signal(1))])).is_err());
        assert!(entries(&program(&[(0, 1, signal(16))])).is_err());
        assert!(entries(&program(&[(0, 1, signal(0))])).is_err());
    }
}
