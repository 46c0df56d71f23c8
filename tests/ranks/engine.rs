//! Point-to-point messages between engines that take turns: every length, order, wildcards,
//! synchronous sends, cancelling, self-messages, bounded unexpected payload.

use std::sync::Arc;

use mpi_abi::devices::loopback::Loopback;
use mpi_abi::engine::Engine;
use mpi_abi::engine::memory::Memory;
use mpi_abi::engine::point_to_point::matching::MatchPattern;
use mpi_abi::engine::point_to_point::send::Mode;
use mpi_abi::engine::point_to_point::wire::Envelope;
use mpi_abi::engine::schedules::plan::{Launch, RunPlan};
use mpi_abi::offload::{Buffer, ScheduleBuilder, StepAction, Wait};
use platform::base::{Random, Span};

use super::collectives::World;

const CONTEXT: u64 = 2;

fn engines(ranks: usize) -> Vec<Engine<Loopback>> {
    over(Loopback::network(ranks))
}

pub fn over(network: Vec<Loopback>) -> Vec<Engine<Loopback>> {
    let ranks = network.len();
    let network = network.into_iter().enumerate();
    network.map(|(me, device)| Engine::new(device, me as u32, ranks)).collect()
}

pub fn from(source: u32, tag: i32) -> MatchPattern {
    MatchPattern { context: CONTEXT, source: Some(source), tag: Some(tag) }
}

pub fn envelope(source: u32, tag: i32) -> Envelope {
    Envelope { context: CONTEXT, source, tag }
}

/// A receive buffer that outlives its operation.
pub fn room(bytes: &mut [u8]) -> Memory {
    // The tests keep `bytes` until the operation has completed.
    Memory::Span(span(bytes))
}

#[allow(unsafe_code)]
fn span(bytes: &mut [u8]) -> Span {
    // SAFETY: every test keeps the buffer, untouched, until its receive has completed.
    unsafe { Span::of(bytes) }
}

pub fn settle(engines: &mut [Engine<Loopback>]) {
    // A network may do nothing in some polls.
    let mut quiet = 0;
    while quiet < 30 {
        let arrived: usize = engines.iter_mut().map(Engine::poll).sum();
        quiet = if arrived == 0 { quiet + 1 } else { 0 };
    }
    for engine in engines {
        engine.fault().expect("no fault");
    }
}

#[test]
fn every_length_arrives_in_every_mode_expected_or_not() {
    for (len, mode) in [0, 1, 39, 40, 41, 255, 256, 257, 5000, 100_000]
        .into_iter()
        .flat_map(|len| [(len, Mode::Standard), (len, Mode::Synchronous)])
    {
        for (posted_first, to) in [(true, 1), (false, 1), (true, 0), (false, 0)] {
            let mut engines = engines(2);
            let data: Vec<u8> = (0..len).map(|i| (i * 7 + 3) as u8).collect();
            let mut got = vec![0; len];
            let mut receive = None;
            if posted_first {
                receive = Some(engines[to].receive(from(0, 5), room(&mut got)));
            }
            let memory = Memory::owned(data.clone());
            let send = engines[0].send(to as u32, envelope(0, 5), memory, mode);
            settle(&mut engines);
            if !posted_first {
                let complete = send.is_none_or(|send| engines[0].completion(send).is_some());
                assert!(mode == Mode::Standard || !complete, "synchronous, {len} bytes");
                let (found, bytes) = engines[to].probe(from(0, 5)).expect("it has arrived");
                assert_eq!((found, bytes), (envelope(0, 5), len as u64));
            }
            let receive =
                receive.unwrap_or_else(|| engines[to].receive(from(0, 5), room(&mut got)));
            settle(&mut engines);
            let end = engines[to].take_completion(receive).expect("received");
            assert_eq!((end.source, end.tag, end.bytes, end.error), (0, 5, len, None));
            assert_eq!(got, data);
            assert!(send.is_none_or(|send| engines[0].take_completion(send).is_some()));
            assert!(engines[0].is_drained());
        }
    }
}

#[test]
fn up_to_the_eager_limit_a_send_is_complete_before_it_is_received() {
    // This device sends up to 40 bytes inline and up to 256 bytes in a packet.
    for (limit, longest) in [(0, 40), (100, 100), (256, 256), (1 << 20, 256)] {
        for len in [longest, longest + 1] {
            let mut engines = engines(2);
            engines[0].set_eager_max(limit);
            let memory = Memory::owned(vec![7; len]);
            let send = engines[0].send(1, envelope(0, 1), memory, Mode::Standard);
            settle(&mut engines);
            let complete = send.is_none_or(|send| engines[0].take_completion(send).is_some());
            assert_eq!(complete, len == longest, "{len} bytes, eager up to {limit}");
            let mut got = vec![0; len];
            let receive = engines[1].receive(from(0, 1), room(&mut got));
            settle(&mut engines);
            assert_eq!(engines[1].take_completion(receive).expect("received").bytes, len);
            assert_eq!(got, vec![7; len]);
        }
    }
}

#[test]
fn a_message_longer_than_the_buffer_is_truncated_with_an_error() {
    for len in [41, 300, 50_000] {
        let mut engines = engines(2);
        let mut got = vec![9; 20];
        let send = engines[0].send(1, envelope(0, 1), Memory::owned(vec![1; len]), Mode::Standard);
        let receive = engines[1].receive(from(0, 1), room(&mut got));
        settle(&mut engines);
        let end = engines[1].take_completion(receive).expect("received");
        assert_eq!((end.bytes, end.error.expect("truncated").code.0), (20, 15));
        assert_eq!(got, vec![1; 20]);
        assert!(send.is_none_or(|send| engines[0].completion(send).is_some()));
    }
}

#[test]
fn a_cancelled_receive_matches_nothing() {
    let mut engines = engines(2);
    let (mut lost, mut got) = (vec![0; 4], vec![0; 4]);
    let cancelled = engines[1].receive(from(0, 1), room(&mut lost));
    engines[1].cancel(cancelled);
    assert!(engines[1].take_completion(cancelled).expect("completed").cancelled);
    engines[0].send(1, envelope(0, 1), Memory::owned(vec![5; 4]), Mode::Standard);
    let receive = engines[1].receive(from(0, 1), room(&mut got));
    settle(&mut engines);
    assert_eq!(engines[1].take_completion(receive).expect("received").bytes, 4);
    assert_eq!((lost, got), (vec![0; 4], vec![5; 4]));
}

#[test]
fn a_send_that_no_receive_has_matched_is_cancelled() {
    for len in [0, 40, 300, 50_000] {
        for to in [0, 1] {
            let mut engines = engines(2);
            let mut start = |value| {
                (engines[0].send(
                    to,
                    envelope(0, 1),
                    Memory::owned(vec![value; len]),
                    Mode::Synchronous,
                ))
                .expect("it waits")
            };
            let [first, cancelled, last] = [1, 2, 3].map(&mut start);
            settle(&mut engines);
            assert_eq!(engines[to as usize].queue_lengths(), (0, 3));
            engines[0].cancel(cancelled);
            engines[0].cancel(cancelled);
            settle(&mut engines);
            assert!(engines[0].take_completion(cancelled).expect("completed").cancelled);
            assert_eq!(engines[to as usize].queue_lengths(), (0, 2));
            for (send, value) in [(first, 1), (last, 3)] {
                let mut got = vec![0; len];
                let receive = engines[to as usize].receive(from(0, 1), room(&mut got));
                settle(&mut engines);
                assert_eq!(engines[to as usize].take_completion(receive).unwrap().bytes, len);
                assert_eq!(got, vec![value; len]);
                assert!(!engines[0].take_completion(send).expect("completed").cancelled);
            }
        }
    }
}

#[test]
fn a_send_that_a_receive_has_matched_is_not_cancelled() {
    // The cancel and the answer to the RTS pass each other, or not.
    for polls_before in 0..6 {
        let mut engines = engines(2);
        let mut got = vec![0; 50_000];
        let receive = engines[1].receive(from(0, 1), room(&mut got));
        let memory = Memory::owned(vec![5; 50_000]);
        let send = engines[0].send(1, envelope(0, 1), memory, Mode::Synchronous).unwrap();
        for poll in 0..polls_before {
            engines[(poll + 1) % 2].poll();
        }
        engines[0].cancel(send);
        // Its key is free for another operation before the answer arrives.
        settle(&mut engines);
        assert!(!engines[0].take_completion(send).expect("completed").cancelled);
        assert!(!engines[1].take_completion(receive).expect("received").cancelled);
        assert_eq!(got, vec![5; 50_000]);
    }
}

#[test]
fn a_message_that_has_not_left_is_cancelled_here() {
    let mut engines = engines(2);
    let memory = || Memory::owned(vec![5; 100]);
    let queued = (0..100_000)
        .find_map(|_| engines[0].send(1, envelope(0, 1), memory(), Mode::Standard))
        .expect("the network is full");
    let behind = engines[0].send(1, envelope(0, 2), memory(), Mode::Standard).unwrap();
    engines[0].cancel(queued);
    assert!(engines[0].take_completion(queued).expect("completed").cancelled);
    settle(&mut engines);
    let mut got = vec![0; 100];
    let receive = engines[1].receive(from(0, 2), room(&mut got));
    settle(&mut engines);
    assert_eq!(engines[1].take_completion(receive).expect("received").bytes, 100);
    assert!(!engines[0].take_completion(behind).expect("completed").cancelled);
}

#[test]
fn withdrawn_receives_match_nothing() {
    let mut engines = engines(2);
    let (mut lost, mut freed, mut got) = (vec![0; 4], vec![0; 4], vec![0; 4]);
    let withdrawn = engines[1].receive(from(0, 1), room(&mut lost));
    let released = engines[1].receive(from(0, 1), room(&mut freed));
    engines[1].release(released);
    engines[1].withdraw_receives();
    assert!(engines[1].take_completion(withdrawn).expect("completed").cancelled);
    engines[0].send(1, envelope(0, 1), Memory::owned(vec![5; 4]), Mode::Standard);
    settle(&mut engines);
    assert_eq!(engines[1].queue_lengths(), (0, 1));
    let receive = engines[1].receive(from(0, 1), room(&mut got));
    settle(&mut engines);
    assert_eq!(engines[1].take_completion(receive).expect("received").bytes, 4);
    assert_eq!((lost, freed, got), (vec![0; 4], vec![0; 4], vec![5; 4]));
}

#[test]
fn a_matched_probe_takes_the_message_out_of_matching() {
    let mut engines = engines(2);
    for (tag, len) in [(1, 10), (1, 2000)] {
        engines[0].send(1, envelope(0, tag), Memory::owned(vec![tag as u8; len]), Mode::Standard);
    }
    settle(&mut engines);
    let any = MatchPattern { context: CONTEXT, source: None, tag: None };
    let first = engines[1].probe_matched(any).expect("arrived");
    assert_eq!(engines[1].probe(any).expect("the second").1, 2000);
    assert_eq!((first.len(), first.envelope), (10, envelope(0, 1)));
    let second = engines[1].probe_matched(any).expect("arrived");
    let (mut one, mut two) = (vec![0; 10], vec![0; 2000]);
    let operations = [
        engines[1].receive_matched(second, room(&mut two)),
        engines[1].receive_matched(first, room(&mut one)),
    ];
    settle(&mut engines);
    assert!(operations.map(|id| engines[1].take_completion(id).is_some()) == [true, true]);
    assert_eq!((one, two), (vec![1; 10], vec![1; 2000]));
}

/// Threads that wait look for their result when the number of events changes.
#[test]
fn an_unexpected_message_to_oneself_is_an_event() {
    for (len, mode) in [(4, Mode::Standard), (4, Mode::Synchronous), (5000, Mode::Standard)] {
        let mut engines = engines(1);
        let before = engines[0].events();
        engines[0].send(0, envelope(0, 1), Memory::owned(vec![5; len]), mode);
        assert!(engines[0].probe(from(0, 1)).is_some());
        assert_ne!(engines[0].events(), before, "{len} bytes, {mode:?}");
    }
}

/// The completion of a step and that of its run may be apart.
#[test]
fn the_end_of_a_run_is_an_event() {
    let mut engines = engines(2);
    let fill = |engine: &mut Engine<Loopback>| {
        while engine.send(1, envelope(0, 1), Memory::owned(vec![5; 4]), Mode::Standard).is_none() {}
    };
    fill(&mut engines[0]);
    let mut schedule = ScheduleBuilder::new();
    let region = Buffer::User(0).region(0, 4);
    schedule.push(StepAction::Send { peer: 1, region, label: 0 }, 0, Wait::All, &[]);
    let plan = RunPlan::moving(schedule.finish(), vec![Memory::owned(vec![7; 4])]);
    let launch = Launch { plan, members: Arc::new(World), rank: 0, context: 4, sequence: 0 };
    let run = engines[0].launch(launch);
    engines[1].poll();
    // Another call sends the message of the run.
    fill(&mut engines[0]);
    assert!(engines[0].take_run_end(run).is_none());
    let before = engines[0].events();
    engines[0].poll();
    assert!(engines[0].take_run_end(run).is_some());
    assert_ne!(engines[0].events(), before);
}

/// The caller of a poll holds the lock of the process, and other threads wait for it.
#[test]
fn a_poll_copies_a_part_of_a_long_message() {
    let mut engines = engines(1);
    let data: Vec<u8> = (0..1 << 20).map(|at: u32| (at % 251) as u8).collect();
    let mut got = vec![0; data.len()];
    let receive = engines[0].receive(from(0, 1), room(&mut got));
    engines[0].send(0, envelope(0, 1), Memory::owned(data.clone()), Mode::Standard);
    let mut polls = 0;
    while engines[0].take_completion(receive).is_none() {
        assert!(engines[0].poll() > 0, "a poll that copies has not found nothing");
        polls += 1;
    }
    assert!(polls >= 4, "{polls} polls");
    assert!(got == data);
}

/// Many messages without receives: credit bounds the payload that the receiver keeps, the rest waits
/// at the sender, and all messages arrive in order.
#[test]
fn an_unexpected_flood_is_bounded_and_in_order() {
    let mut engines = engines(2);
    let (count, len) = (5000u32, 250);
    for index in 0..count {
        let data = vec![index as u8; len];
        if let Some(id) = engines[0].send(1, envelope(0, 1), Memory::owned(data), Mode::Standard) {
            engines[0].release(id);
        }
    }
    settle(&mut engines);
    assert_eq!(engines[1].queue_lengths().1, count as usize);
    assert!(!engines[0].is_drained(), "what has no credit stays with the sender");
    for index in 0..count {
        let mut got = vec![0; len];
        let receive = engines[1].receive(from(0, 1), room(&mut got));
        while engines[1].take_completion(receive).is_none() {
            for engine in &mut engines {
                engine.poll();
            }
        }
        assert_eq!(got, vec![index as u8; len]);
    }
    settle(&mut engines);
    assert!(engines[0].is_drained());
}

/// The limit of the tests below, and more short messages than it permits.
const LIMIT: usize = 64 << 10;
const FLOOD: u32 = 5000;

/// Rank 1 gets a flood of short messages from two peers, and keeps a part of it.
fn flooded() -> Vec<Engine<Loopback>> {
    let mut engines = engines(3);
    engines[1].set_unexpected_max(LIMIT);
    for index in 0..FLOOD {
        for source in [0, 2] {
            let data = Memory::owned(index.to_le_bytes().to_vec());
            let sent = engines[source].send(1, envelope(source as u32, 1), data, Mode::Standard);
            if let Some(id) = sent {
                engines[source].release(id);
            }
        }
        for engine in &mut engines {
            engine.poll();
        }
    }
    settle(&mut engines);
    let (_, unexpected) = engines[1].queue_lengths();
    assert!((100..1000).contains(&unexpected), "{unexpected} messages are kept");
    assert!(!engines[0].is_drained() && !engines[2].is_drained(), "the rest is with the senders");
    engines
}

fn receive_now(engines: &mut [Engine<Loopback>], pattern: MatchPattern) -> Vec<u8> {
    let mut got = vec![0; 4];
    let receive = engines[1].receive(pattern, room(&mut got));
    while engines[1].take_completion(receive).is_none() {
        settle(engines);
    }
    got
}

#[test]
fn all_unexpected_messages_are_bounded_together_and_arrive_in_order() {
    let mut engines = flooded();
    for index in 0..FLOOD {
        for source in [0, 2] {
            let got = receive_now(&mut engines, from(source, 1));
            assert_eq!(got, index.to_le_bytes());
        }
        assert!(engines[1].queue_lengths().1 < 1000);
    }
    settle(&mut engines);
    assert!(engines.iter().all(|engine| engine.is_drained()));
}

/// The message that a receive or a probe waits for comes, although its sender holds a flood back.
#[test]
fn a_message_behind_a_flood_arrives() {
    for probes in [false, true] {
        let mut engines = flooded();
        let last = Memory::owned(vec![9; 4]);
        let id = engines[0].send(1, envelope(0, 2), last, Mode::Synchronous).expect("queued");
        settle(&mut engines);
        while probes && engines[1].probe(from(0, 2)).is_none() {
            settle(&mut engines);
        }
        assert_eq!(receive_now(&mut engines, from(0, 2)), [9; 4]);
        settle(&mut engines);
        assert!(engines[0].take_completion(id).is_some());
        for index in 0..FLOOD {
            assert_eq!(receive_now(&mut engines, from(0, 1)), index.to_le_bytes());
        }
    }
}

/// Random sends and receives with wildcards between four ranks, in a random order of turns: messages
/// of one source with one tag arrive in order, and all arrive.
#[test]
fn random_traffic_keeps_order_and_loses_nothing() {
    for seed in 0..40 {
        random_traffic(seed, engines(RANKS));
        random_traffic(seed, over(Loopback::remote(RANKS, seed)));
    }
}

const RANKS: usize = 4;

fn random_traffic(seed: u64, mut engines: Vec<Engine<Loopback>>) {
    const MESSAGES: usize = 200;
    let mut random = Random::new(seed);
    // Peers hold messages back in every second run.
    if seed % 2 == 1 {
        engines.iter_mut().for_each(|engine| engine.set_unexpected_max(1000));
    }
    // (number sent) for each (to, from, tag); each message begins with its number.
    let mut sent = [[[0u32; 3]; RANKS]; RANKS];
    let mut seen = [[[0u32; 3]; RANKS]; RANKS];
    let mut open: Vec<Vec<(u32, Box<[u8]>)>> = (0..RANKS).map(|_| Vec::new()).collect();
    let mut expected = [0; RANKS];
    for _ in 0..MESSAGES {
        let (source, to) =
            (random.below(RANKS as u64) as usize, random.below(RANKS as u64) as usize);
        let tag = random.below(3) as usize;
        let len = [4, 30, 200, 1000, 4800, 20_000][random.below(6) as usize];
        let mut data = vec![0; len];
        data[..4].copy_from_slice(&sent[to][source][tag].to_le_bytes());
        sent[to][source][tag] += 1;
        expected[to] += 1;
        let mode = [Mode::Standard, Mode::Synchronous][random.below(2) as usize];
        let envelope = envelope(source as u32, tag as i32);
        if let Some(id) = engines[source].send(to as u32, envelope, Memory::owned(data), mode) {
            engines[source].release(id);
        }
        engines[random.below(RANKS as u64) as usize].poll();
        let taker = random.below(RANKS as u64) as usize;
        post(&mut engines[taker], &mut open[taker]);
    }
    let mut received = [0; RANKS];
    while received != expected {
        let turn = random.below(RANKS as u64) as usize;
        engines[turn].poll();
        engines[turn].fault().expect("no fault");
        if received[turn] + open[turn].len() < expected[turn] {
            post(&mut engines[turn], &mut open[turn]);
        }
        while let Some((id, buffer)) = open[turn].first() {
            let Some(end) = engines[turn].take_completion(*id) else { break };
            let number = u32::from_le_bytes(buffer[..4].try_into().unwrap());
            let next = &mut seen[turn][end.source as usize][end.tag as usize];
            assert_eq!(
                number, *next,
                "seed {seed}: rank {turn} from {} tag {}",
                end.source, end.tag
            );
            *next += 1;
            received[turn] += 1;
            open[turn].remove(0);
        }
    }
}

fn post(engine: &mut Engine<Loopback>, open: &mut Vec<(u32, Box<[u8]>)>) {
    let mut buffer = vec![0; 20_000].into_boxed_slice();
    let any = MatchPattern { context: CONTEXT, source: None, tag: None };
    let id = engine.receive(any, Memory::Span(span(&mut buffer)));
    open.push((id, buffer));
}
