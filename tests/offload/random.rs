//! Random schedules: compiled with all countermeasures, all runs are right; compiled without
//! ready-to-receive, all runs are right if *condition C* holds.
//!
//! **Condition C**, for messages without bytes and two tanks: the receiver's start is in the past of
//! each message, or in the past of the end of some rank in the past of the message. Then no rank is
//! ahead of a receiver by more than one instance, for which the receiver has the other tank.

use mpi_abi::offload::Schedule;
use mpi_abi::offload::check::check;
use mpi_abi::offload::compile::{Rules, link_all};
use platform::base::Random;

use super::graph::{Message, schedules};
use super::is_long;
use super::model::System;
use super::search::{Found, search};

const STATES_MAX: usize = 60_000;

/// Up to `most` messages between 2 or 3 ranks, each after some earlier messages to its sender. With
/// `bytes`, each message has a byte of one of those or a byte of its sender, and a receive may wait
/// for another message of its rank and use the same memory.
pub fn draw(random: &mut Random, most: u64, bytes: bool) -> (u32, Vec<Message>) {
    let ranks = [2, 3, 3][random.below(3) as usize];
    let mut messages: Vec<Message> = Vec::new();
    for index in 0..1 + random.below(most) as usize {
        let from = random.below(ranks.into()) as u32;
        let to = (from + 1 + random.below(u64::from(ranks) - 1) as u32) % ranks;
        let is_got = |&other: &usize| messages[other].to.0 == from;
        let mut after: Vec<usize> = (0..index).filter(is_got).collect();
        after.retain(|_| random.one_in(2));
        let touches = |&other: &usize| [messages[other].from.0, messages[other].to.0].contains(&to);
        let mut ready: Vec<usize> = (0..index).filter(touches).collect();
        ready.retain(|_| bytes && random.one_in(3));
        let before = after.iter().chain(&ready).map(|&other| messages[other].round).max();
        let round = 1 + before.unwrap_or(0) + u32::from(random.one_in(4));
        let read = after.last().map_or(index, |&other| messages[other].to.1);
        let place = |&other: &usize| {
            let Message { from, to: other_to, .. } = messages[other];
            if other_to.0 == to { other_to.1 } else { from.1 }
        };
        let written = ready.last().filter(|_| random.one_in(2)).map_or(index, place);
        let len = usize::from(bytes);
        let message = |read, written| {
            let (after, ready) = (after.clone(), ready.clone());
            Message { from: (from, read), to: (to, written), len, round, after, ready }
        };
        let fits = |message: &Message| {
            let all: Vec<Message> = messages.iter().chain([message]).cloned().collect();
            check(&schedules(ranks, &all)).is_ok()
        };
        // A new byte conflicts with no other.
        let places = [(read, written), (read, index), (index, index)];
        let message = places.map(|(read, written)| message(read, written)).into_iter().find(fits);
        let message = message.expect("a new byte conflicts with no other");
        messages.push(message);
    }
    (ranks, messages)
}

/// The first message that violates condition C.
fn uncovered(ranks: u32, messages: &[Message]) -> Option<usize> {
    let mut past: Vec<u32> = Vec::new();
    for message in messages {
        let before = message.after.iter().map(|&other| past[other]);
        past.push(before.fold(1 << message.from.0, |all, past| all | past));
    }
    let end = |rank: u32| {
        let got = messages.iter().zip(&past).filter(|(message, _)| message.to.0 == rank);
        got.fold(1 << rank, |all: u32, (_, past)| all | past)
    };
    let ends: Vec<u32> = (0..ranks).map(end).collect();
    let is_covered = |(message, past): (&Message, &u32)| {
        let (past, to) = (*past, 1 << message.to.0);
        past & to != 0
            || (0..ranks).any(|rank| past >> rank & 1 == 1 && ends[rank as usize] & to != 0)
    };
    messages.iter().zip(&past).position(|pair| !is_covered(pair))
}

fn compiled(schedules: Vec<Schedule>, instances: u8, rules: &Rules) -> System {
    System::new(link_all(&schedules, rules).unwrap(), schedules, instances)
}

/// Whether all runs are right; `None` if there are too many.
fn is_safe(system: &System) -> Option<bool> {
    match search(system, STATES_MAX) {
        Found::Safe(_) => Some(true),
        Found::Fault(..) => Some(false),
        Found::Limit(_) => None,
    }
}

#[test]
fn any_schedule_is_safe_with_all_countermeasures() {
    let (count, most) = if is_long() { (20_000, 6) } else { (200, 4) };
    let mut looked_at = 0;
    for seed in 0..count {
        let mut random = Random::new(seed);
        let bytes = !random.one_in(4);
        let (ranks, messages) = draw(&mut random, most, bytes);
        let rules = Rules { merges: random.one_in(2), ..Rules::SAFE };
        let system = compiled(schedules(ranks, &messages), 3, &rules);
        match search(&system, STATES_MAX) {
            Found::Safe(_) => looked_at += 1,
            Found::Limit(_) => {}
            Found::Fault(why, trace) => {
                panic!("seed {seed}, {messages:#?}: {why}\n{}", trace.join("\n"))
            }
        }
    }
    println!("{looked_at} of {count} schedules in all runs, the others in {STATES_MAX} states");
    assert!(looked_at * 2 > count);
}

#[test]
fn signals_are_safe_without_ready_to_receive_where_condition_c_holds() {
    let (count, most) = if is_long() { (20_000, 6) } else { (250, 5) };
    let blind = Rules { ready: false, ..Rules::SAFE };
    let [mut covered, mut lucky, mut unsafe_ones] = [0; 3];
    for seed in 0..count {
        let mut random = Random::new(seed);
        let (ranks, messages) = draw(&mut random, most, false);
        let system = compiled(schedules(ranks, &messages), 4, &blind);
        match (uncovered(ranks, &messages), is_safe(&system)) {
            (None, Some(false)) => panic!("seed {seed}: {messages:#?} is covered"),
            (None, Some(true)) => covered += 1,
            (Some(_), Some(true)) => lucky += 1,
            (Some(_), Some(false)) => unsafe_ones += 1,
            (_, None) => {}
        }
    }
    println!("condition C: {covered} safe; without it {unsafe_ones} unsafe, {lucky} safe");
    assert!(covered > 0 && unsafe_ones > 0);
}
