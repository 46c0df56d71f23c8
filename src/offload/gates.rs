//! Reductions by the interface, as barrier gates compute them for few numbers.
//!
//! The compiler leaves reductions to the host ([`ProgramOp::Host`]), because it knows no operations
//! and no datatypes. If a reduction is one of numbers of 8 bytes, an interface can compute the ones
//! that are short enough.

use crate::offload::program::{Arithmetic, DeferredWork, Program, ProgramOp};

/// The program with its reductions, all of the operation `with`, computed by an interface that takes up
/// to `numbers` numbers. The host computes longer ones.
pub(crate) fn with_gates(program: &Program, with: Arithmetic, numbers: usize) -> Program {
    let gate = |work: &DeferredWork| {
        let ProgramOp::Host { from, into, done, .. } = work.op else { return *work };
        let short = from.len.is_multiple_of(8) && from.len <= 8 * numbers;
        let op = if short { ProgramOp::Combine { from, into, with, done } } else { work.op };
        DeferredWork { op, ..*work }
    };
    let work = program.work().iter().map(gate).collect();
    Program::new(program.scheme, program.tanks, program.counters(), work)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offload::program::{CounterAdd, Scheme};
    use crate::offload::schedule::Buffer;

    #[test]
    fn the_interface_computes_short_reductions() {
        let regions = |len| (Buffer::Scratch(0).region(0, len), Buffer::User(1).region(0, len));
        let done = Some(CounterAdd { counter: 0, value: 1 });
        let host = |step: u32| {
            let (from, into) = regions([16, 24, 12][step as usize]);
            let op = ProgramOp::Host { step, from, into, done };
            DeferredWork { counter: 0, level: 0, op, round: 0 }
        };
        let program = Program::new(Scheme::Tank, 2, 1, (0..3).map(host).collect());
        let gated = with_gates(&program, Arithmetic::Sum, 2);
        let (from, into) = regions(16);
        let combine = ProgramOp::Combine { from, into, with: Arithmetic::Sum, done };
        let ops: Vec<_> = gated.work().iter().map(|work| work.op).collect();
        assert_eq!(ops, [combine, host(1).op, host(2).op]);
        assert_eq!((gated.tanks, gated.counters()), (2, 1));
    }
}
