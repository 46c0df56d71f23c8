//! The purpose of each rule of the compiler: without it some run fails, with it no run fails.

use mpi_abi::offload::check::check;
use mpi_abi::offload::compile::{Rules, link_all};
use mpi_abi::offload::{
    DeferredWork, Program, ProgramOp, Region, Schedule, ScheduleBuilder, Scheme, StepAction,
    StepId, Wait,
};

use super::collectives::Collective;
use super::graph::{Message, schedules};
use super::model::{Adds, Ends, Network, System};
use super::safe::system;
use super::search::{expect_fault, expect_safe};

const STATES_MAX: usize = 400_000;

const SAFE: Rules = Rules::SAFE;

/// A message without bytes.
fn signal(from: u32, to: u32) -> Message {
    Message { from: (from, 0), to: (to, 0), len: 0, round: 1, after: Vec::new(), ready: Vec::new() }
}

fn compiled(schedules: Vec<Schedule>, instances: u8, rules: &Rules) -> System {
    check(&schedules).unwrap();
    System::new(link_all(&schedules, rules).unwrap(), schedules, instances)
}

#[test]
fn without_ready_to_receive_bytes_arrive_before_the_memory_is_given() {
    let land = "land in the memory of the application";
    let blind = Rules { ready: false, ..SAFE };
    for what in
        [Collective::Bcast("chain", 1), Collective::Gather("linear"), Collective::Scatter("linear")]
    {
        expect_fault(&format!("{what:?}, unready"), &system(what, 3, 2, &blind), land);
        expect_safe(&format!("{what:?}, ready"), &system(what, 3, 2, &SAFE), STATES_MAX);
    }
}

#[test]
fn one_tank_is_enough_for_barriers() {
    let one = Rules { parity: false, ..SAFE };
    let loose =
        |what, ranks, rules: &Rules| System { exact: false, ..system(what, ranks, 3, rules) };
    // A rank that waits for its put may mistake the next ready-to-receive for the end of the put.
    for (what, ranks) in [
        (Collective::AllgatherInPlace("doubling"), 2),
        (Collective::AllgatherInPlace("ring"), 3),
        (Collective::Gather("linear"), 2),
        (Collective::Scatter("linear"), 2),
        (Collective::Bcast("chain", 1), 2),
    ] {
        expect_fault(&format!("{what:?}, one tank"), &loose(what, ranks, &one), "ends instance");
        expect_safe(&format!("{what:?}, two tanks"), &system(what, ranks, 3, &SAFE), STATES_MAX);
    }
    // If the end of a put always counts first, all runs along a line of ranks are right.
    let ends_first = |what| System { ends: Ends::First, ..loose(what, 3, &one) };
    for what in [Collective::Gather("linear"), Collective::Bcast("chain", 3)] {
        let name = format!("{what:?}, one tank, ends first");
        expect_safe(&name, &ends_first(what), STATES_MAX);
    }
    let tree = ends_first(Collective::Bcast("binomial", 1));
    expect_fault("binomial broadcast, one tank, ends first", &tree, "is not over");
    for name in ["dissemination", "tree", "linear"] {
        let what = Collective::Barrier(name);
        let trusting = Rules { synchronizes: true, ..one };
        expect_safe(&format!("{what:?}, one tank"), &loose(what, 4, &trusting), STATES_MAX);
    }
}

/// An interface that completes an instance only after all of its puts compensates for that, unless a
/// rank sends to others in different rounds: one of them may be an instance ahead.
#[test]
fn an_interface_that_waits_for_its_puts_compensates_for_one_tank_in_some_trees() {
    let one = Rules { parity: false, ..SAFE };
    let held = |what, ranks| System { exact: false, holds: true, ..system(what, ranks, 3, &one) };
    for what in [
        Collective::Gather("linear"),
        Collective::Scatter("linear"),
        Collective::Bcast("linear", 1),
        Collective::Bcast("chain", 2),
    ] {
        expect_safe(&format!("{what:?}, one tank, held"), &held(what, 3), STATES_MAX);
    }
    let tree = held(Collective::Bcast("binomial", 1), 4);
    expect_safe("binomial broadcast, one tank, held", &tree, STATES_MAX);
    let tree = held(Collective::Scatter("binomial"), 3);
    expect_fault("binomial scatter, one tank, held", &tree, "land in the memory");
}

#[test]
fn without_a_carry_the_next_counter_runs_ahead() {
    // Rank 0 forwards two bytes: one that it receives first and answers, and a later one.
    let message = |from, to, len, round, after: &[usize]| Message {
        from,
        to,
        len,
        round,
        after: after.to_vec(),
        ready: Vec::new(),
    };
    let messages = [
        message((1, 0), (0, 0), 1, 1, &[]),
        message((0, 2), (1, 1), 1, 2, &[0]),
        message((2, 0), (0, 1), 1, 2, &[]),
        message((0, 0), (2, 1), 2, 3, &[0, 2]),
    ];
    let few = |carry| Rules { bits: 2, carry, ..SAFE };
    let system = |rules, instances| System {
        counters_lag: true,
        ..compiled(schedules(3, &messages), instances, &rules)
    };
    let loose = system(few(false), 1);
    assert!(loose.programs[0].counters() > 1);
    expect_fault("relay, split counters without a carry", &loose, "rank");
    expect_safe("relay, split counters with a carry", &system(few(true), 3), STATES_MAX);
}

#[test]
fn an_end_before_the_reset_starts_the_next_instance_on_remaining_levels() {
    let what = Collective::AllgatherInPlace("doubling");
    let early = system(what, 2, 3, &Rules { reset_first: false, ..SAFE });
    let early = System { adds: Adds::Ungated, ..early };
    expect_fault("allgather, end before the reset", &early, "rank");
    let gated = System { adds: Adds::Gated, ..system(what, 2, 4, &SAFE) };
    expect_safe("allgather, end after the reset", &gated, STATES_MAX);
}

#[test]
fn a_unary_digit_needs_order() {
    let what = Collective::Bcast("chain", 3);
    let counted = Rules { ordered: true, ..SAFE };
    expect_fault("pipeline, counted out of order", &system(what, 3, 1, &counted), "rank");
    let in_order = System { network: Network::InOrderByEngine, ..system(what, 3, 3, &counted) };
    expect_safe("pipeline, counted in order", &in_order, STATES_MAX);
    expect_safe("pipeline, a digit for each segment", &system(what, 3, 2, &SAFE), STATES_MAX);
}

#[test]
fn rounds_counted_by_each_rank_alone_deadlock() {
    // Two requests with replies; the ranks list their receives in opposite orders.
    let part = |me: u32| {
        let (peer, own, others) = (1 - me, me as u16, 1 - me as u16);
        let [questions, answers, thanks] = [0, 2, 4];
        let mut plan = ScheduleBuilder::new();
        let mut step = |is_send, label, round, after: &[StepId]| {
            let region = Region::EMPTY;
            let action = match is_send {
                true => StepAction::Send { peer, region, label },
                false => StepAction::Receive { peer, region, label },
            };
            plan.push(action, round, Wait::All, after)
        };
        step(true, questions + own, 1, &[]);
        let answer = step(false, answers + own, 2, &[]);
        step(true, thanks + own, 3, &[answer]);
        let question = step(false, questions + others, 1, &[]);
        step(true, answers + others, 2, &[question]);
        step(false, thanks + others, 3, &[]);
        plan.finish()
    };
    let parts = || vec![part(0), part(1)];
    let own = compiled(parts(), 1, &Rules { rounds: false, ..SAFE });
    expect_fault("questions and answers, own order", &own, "nothing more happens");
    expect_safe("questions and answers, rounds", &compiled(parts(), 3, &SAFE), STATES_MAX);
}

#[test]
fn an_end_before_the_ends_of_the_puts_releases_their_memory() {
    let what = Collective::Bcast("chain", 1);
    let early = system(what, 2, 1, &Rules { local: false, ..SAFE });
    expect_fault("broadcast, own puts not waited for", &early, "is not over");
    expect_safe("broadcast, own puts waited for", &system(what, 2, 3, &SAFE), STATES_MAX);
}

#[test]
fn signals_need_no_ready_to_receive_if_all_wait_for_all() {
    let trusting = Rules { synchronizes: true, ..SAFE };
    let barrier = system(Collective::Barrier("dissemination"), 3, 3, &trusting);
    expect_safe("barrier, not ready", &barrier, STATES_MAX);
    let gather = schedules(3, &[signal(1, 0), signal(2, 0)]);
    let ahead = compiled(gather.clone(), 3, &trusting);
    expect_fault("gather of signals, not ready", &ahead, "rank");
    expect_safe("gather of signals, ready", &compiled(gather, 3, &SAFE), STATES_MAX);
}

/// The program of a rank whose host runs it, but not like the interface.
fn alone(program: &Program, change: impl Fn(DeferredWork) -> DeferredWork) -> Program {
    let work = program.work().iter().map(|&work| change(work)).collect();
    Program::new(Scheme::Tank, program.tanks, program.counters(), work)
}

#[test]
fn one_rank_alone_must_behave_on_the_wire_as_the_others_expect() {
    let what = Collective::Bcast("chain", 1);
    let with = |change: &dyn Fn(DeferredWork) -> DeferredWork| {
        let mut system = system(what, 3, 2, &SAFE);
        system.programs[1] = alone(&system.programs[1], change);
        system
    };
    // Its messages are packets, which no counter counts.
    let packets = with(&|work| {
        let op = match work.op {
            ProgramOp::Put { to, from, into, mut signal, done, engine } => {
                signal.value = 0;
                ProgramOp::Put { to, from, into, signal, done, engine }
            }
            ProgramOp::Signal { to, mut signal } => {
                signal.value = 0;
                ProgramOp::Signal { to, signal }
            }
            op => op,
        };
        DeferredWork { op, ..work }
    });
    expect_fault("broadcast, rank 1 sends packets", &packets, "nothing more happens");
    // It sends at once, as to a receiver that matches messages.
    let mut eager = system(what, 3, 2, &SAFE);
    eager.programs[0] = alone(&eager.programs[0], |work| match work.op {
        ProgramOp::Put { .. } => DeferredWork { level: 0, ..work },
        _ => work,
    });
    expect_fault("broadcast, rank 0 sends at once", &eager, "land in the memory");
    // It polls its counters and does what the interface would do.
    let host = System { counters_lag: true, ..system(what, 3, 2, &SAFE) };
    expect_safe("broadcast, hosts that look now and then", &host, STATES_MAX);
}
