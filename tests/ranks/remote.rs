//! Messages between engines whose device is a network: lent memory, eager limits of peers,
//! destinations, room, and peers that fail.

use std::sync::Arc;

use mpi_abi::devices::loopback::Loopback;
use mpi_abi::engine::Engine;
use mpi_abi::engine::memory::Memory;
use mpi_abi::engine::memory::layout::Layout;
use mpi_abi::engine::point_to_point::operation::OperationId;
use mpi_abi::engine::point_to_point::send::Mode;
use platform::base::ErrorClass;

use super::engine::{envelope, from, over, room, settle};

/// The longest eager message of this network, in bytes.
const EAGER_MAX: usize = 5000;

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 7 + at / 256) as u8).collect()
}

/// The ends of an operation in turns of all ranks.
fn end(engines: &mut [Engine<Loopback>], me: usize, id: Option<OperationId>) {
    let Some(id) = id else { return };
    for _ in 0..10_000 {
        if let Some(end) = engines[me].take_completion(id) {
            assert_eq!(end.error, None);
            return;
        }
        engines.iter_mut().for_each(|engine| {
            engine.poll();
        });
    }
    panic!("operation {id} of rank {me} does not end");
}

/// A sender uses its memory again as soon as a send has completed, and the receiver its own.
#[test]
fn memory_belongs_to_the_application_once_an_operation_has_completed() {
    let lengths = [0, 41, 257, 4097, EAGER_MAX, EAGER_MAX + 1, 6001, 40_000];
    for (seed, (len, posted_first)) in
        (0..).zip(lengths.iter().flat_map(|len| [(*len, true), (*len, false)]))
    {
        for mode in [Mode::Standard, Mode::Synchronous] {
            let mut engines = over(Loopback::remote(2, seed));
            let (mut data, mut got) = (bytes(len), vec![0; len]);
            let post = |engines: &mut [Engine<Loopback>], got: &mut [u8]| {
                engines[1].receive(from(0, 5), room(got))
            };
            let posted = posted_first.then(|| post(&mut engines, &mut got));
            let send = engines[0].send(1, envelope(0, 5), room(&mut data), mode);
            if mode == Mode::Synchronous || len > EAGER_MAX {
                (0..100).for_each(|_| {
                    engines[0].poll();
                });
                assert!(posted_first || engines[0].completion(send.unwrap()).is_none());
            }
            let receive = posted.unwrap_or_else(|| post(&mut engines, &mut got));
            end(&mut engines, 0, send);
            data.fill(0xdd);
            end(&mut engines, 1, Some(receive));
            assert!(got == bytes(len), "{len} bytes, seed {seed}");
            settle(&mut engines);
            assert!(engines.iter().all(Engine::is_drained));
        }
    }
}

#[test]
fn a_device_or_the_user_limits_eager_messages() {
    // The device wants 5000 bytes, and has packets of 6000.
    for (limit, longest) in [(None, EAGER_MAX), (Some(0), 40), (Some(300), 300), (Some(9999), 6000)]
    {
        for len in [longest, longest + 1] {
            let mut engines = over(Loopback::remote(2, 3));
            limit.iter().for_each(|limit| engines[0].set_eager_max(*limit));
            let memory = Memory::owned(bytes(len));
            let send = engines[0].send(1, envelope(0, 1), memory, Mode::Standard);
            settle(&mut engines);
            let complete = send.is_none_or(|send| engines[0].take_completion(send).is_some());
            assert_eq!(complete, len == longest, "{len} bytes, limit {limit:?}");
            let mut got = vec![0; len];
            let receive = engines[1].receive(from(0, 1), room(&mut got));
            end(&mut engines, 1, Some(receive));
            assert_eq!(got, bytes(len));
        }
    }
}

#[test]
#[allow(unsafe_code)]
fn scattered_memory_is_packed_at_both_ends() {
    let every_third = Arc::new(Layout::aligned(4, 4).resized(0, 12).unwrap());
    let scattered = |bytes: &mut [u8]| {
        // SAFETY: the bytes of all elements are in the slice, which outlives the operations.
        unsafe { Memory::new(bytes.as_ptr(), bytes.len() / 12, &every_third) }
    };
    for (seed, len) in (0..).zip([600, 14_400, 60_000]) {
        let mut engines = over(Loopback::remote(2, seed));
        let (mut data, mut got) = (bytes(len), vec![0; len]);
        let memory = scattered(&mut data);
        let send = engines[0].send(1, envelope(0, 1), memory, Mode::Standard);
        settle(&mut engines);
        let receive = engines[1].receive(from(0, 1), scattered(&mut got));
        end(&mut engines, 0, send);
        end(&mut engines, 1, Some(receive));
        for (at, (got, sent)) in got.iter().zip(&data).enumerate() {
            assert_eq!(*got, if at % 12 < 4 { *sent } else { 0 }, "byte {at} of {len}");
        }
    }
}

/// What waits for room moves when there is room, without calls in between.
#[test]
fn a_flood_waits_for_room() {
    let mut engines = over(Loopback::remote(2, 8));
    let count: usize = 300;
    for index in 0..count {
        let data = Memory::owned(vec![index as u8; 30 + index]);
        if let Some(id) = engines[0].send(1, envelope(0, 1), data, Mode::Standard) {
            engines[0].release(id);
        }
    }
    assert!(!engines[0].is_drained());
    engines[0].poll();
    assert!(!engines[0].is_quiescent());
    for index in 0..count {
        let mut got = vec![0; 30 + index];
        let receive = engines[1].receive(from(0, 1), room(&mut got));
        end(&mut engines, 1, Some(receive));
        assert_eq!(got, vec![index as u8; 30 + index]);
    }
    settle(&mut engines);
    assert!(engines[0].is_drained());
}

fn expect_failure(engine: &mut Engine<Loopback>, id: OperationId) {
    let end = engine.take_completion(id).expect("it has ended");
    let error = end.error.expect("an error");
    assert_eq!(error.code.0, ErrorClass::ProcFailed as i32);
    assert!(error.why.starts_with("rank 1 of the world has failed: the process"), "{}", error.why);
}

#[test]
fn the_failure_of_a_peer_ends_its_operations() {
    for seed in 0..10 {
        let network = Loopback::remote(3, seed);
        let kill = network[1].death();
        let mut engines = over(network);
        let (mut long, mut kept) = (bytes(200_000), bytes(50_000));
        let mut buffers = vec![vec![0; 200_000]; 4];
        let mut buffers = buffers.iter_mut();
        let mut buffer = || room(buffers.next().unwrap());
        // Before the failure: a whole message and an RTS that nobody has received, a matched receive,
        // an unanswered send and a granted one, and messages of another peer.
        engines[1].send(0, envelope(1, 1), Memory::owned(bytes(3000)), Mode::Standard);
        engines[1].send(0, envelope(1, 2), room(&mut long), Mode::Standard);
        engines[1].send(0, envelope(1, 3), room(&mut kept), Mode::Standard);
        settle(&mut engines);
        let granted = engines[1].receive(from(0, 5), buffer());
        let matched = engines[0].receive(from(1, 2), buffer());
        let posted = engines[0].receive(from(2, 9), buffer());
        let mut data = bytes(200_000);
        let send = |engines: &mut [Engine<Loopback>], data: &mut [u8], tag| {
            engines[0].send(1, envelope(0, tag), room(data), Mode::Standard).expect("in progress")
        };
        let sends = [send(&mut engines, &mut data, 4), send(&mut engines, &mut data, 5)];
        (0..seed % 4).for_each(|_| {
            engines[0].poll();
            engines[1].poll();
        });
        let dead = engines.remove(1);
        assert!(dead.completion(granted).is_none());
        kill();
        settle_after_failure(&mut engines);
        let why = engines[0].fault().unwrap_err();
        assert!(why.why.starts_with("rank 1 of the world has failed"), "{}", why.why);
        for operation in [matched, sends[0], sends[1]] {
            expect_failure(&mut engines[0], operation);
        }
        assert!(engines[0].is_drained(), "seed {seed}");
        // What arrived before can be received; the rest of a message cannot.
        let mut got = vec![0; 3000];
        let whole = engines[0].receive(from(1, 1), room(&mut got));
        assert_eq!(engines[0].take_completion(whole).expect("arrived").error, None);
        assert_eq!(got, bytes(3000));
        let lost = engines[0].receive(from(1, 3), buffer());
        expect_failure(&mut engines[0], lost);
        // Later sends of every kind end at once.
        for (len, mode) in [
            (4, Mode::Standard),
            (3000, Mode::Standard),
            (50_000, Mode::Standard),
            (4, Mode::Synchronous),
        ] {
            let memory = Memory::owned(bytes(len));
            let send = engines[0].send(1, envelope(0, 1), memory, mode).expect("an error");
            expect_failure(&mut engines[0], send);
        }
        // Other peers are as before.
        engines[1].send(0, envelope(2, 9), Memory::owned(bytes(9000)), Mode::Standard);
        settle_after_failure(&mut engines);
        assert_eq!(engines[0].take_completion(posted).expect("received").bytes, 9000);
    }
}

/// [`settle`] where a failure is no surprise.
fn settle_after_failure(engines: &mut [Engine<Loopback>]) {
    for _ in 0..1000 {
        engines.iter_mut().for_each(|engine| {
            engine.poll();
        });
    }
}
