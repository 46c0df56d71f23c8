//! MPI on ranks in one process: communicators, point-to-point and collectives together, over a
//! network with random full queues and delays.

use mpi_abi::mpi::Memory;
use mpi_abi::mpi::collective::binding::CallForm;
use mpi_abi::mpi::collective::calls::Call;
use mpi_abi::mpi::communicator::{COMM_SELF, COMM_WORLD};
use mpi_abi::mpi::point_to_point::SendMode;
use mpi_abi::mpi::request::Activity;
use mpi_abi::mpi::request::status::{ANY_SOURCE, ANY_TAG};
use platform::base::{ErrorClass, Random, Span};

use super::harness::{Rank, networked, ranks};

/// `MPI_INT` of the standard ABI.
pub const INT: u32 = 0x209;
/// `MPI_INT64_T`.
pub const INT64: u32 = 0x258;

/// Receive memory, which the test keeps, untouched, until its receive has completed.
#[allow(unsafe_code)]
pub fn room(bytes: &mut [u8]) -> Memory {
    // SAFETY: every test keeps the buffer, untouched, until its receive has completed.
    Memory::Span(unsafe { Span::of(bytes) })
}

/// Starts a send.
pub fn send(
    rank: &mut Rank, mode: SendMode, data: Vec<u8>, to: u32, tag: i32, comm: u32,
) -> Activity {
    let recipe = rank.mpi.send_arguments(mode, Memory::owned(data), to as i32, tag, comm).unwrap();
    rank.mpi.start_operation(recipe, comm).unwrap()
}

/// Starts a receive; the test keeps the buffer, untouched, until it has completed.
pub fn receive(rank: &mut Rank, buffer: &mut [u8], source: i32, tag: i32, comm: u32) -> Activity {
    let recipe = rank.mpi.receive_arguments(room(buffer), source, tag, comm).unwrap();
    rank.mpi.start_operation(recipe, comm).unwrap()
}

/// Every rank sends every rank a message of every length and receives them in another order.
#[test]
fn everybody_exchanges_with_everybody() {
    for (count, seed) in (1..=5).flat_map(|count| (0..4).map(move |seed| (count, seed))) {
        let body = async |rank: &mut Rank| {
            let lengths = [0usize, 5, 41, 300, 9000];
            let mut activities = Vec::new();
            for (to, len) in (0..count).flat_map(|to| lengths.map(|len| (to, len))) {
                let mode = [SendMode::Standard, SendMode::Synchronous][len % 2];
                let data = vec![rank.me as u8 + 1; len];
                activities.push(send(rank, mode, data, to, len as i32, COMM_WORLD));
            }
            for (source, len) in (0..count).rev().flat_map(|s| lengths.map(|len| (s, len))) {
                let mut buffer = vec![0; len];
                let receiving = receive(rank, &mut buffer, source as i32, len as i32, COMM_WORLD);
                let outcome = rank.wait(receiving).await;
                assert_eq!((outcome.status.bytes, outcome.error), (len as u64, None));
                assert_eq!(buffer, vec![source as u8 + 1; len]);
            }
            for activity in activities {
                assert_eq!(rank.wait(activity).await.error, None);
            }
        };
        ranks(count, seed, body);
        networked(&(0..count).collect::<Vec<_>>(), seed, body);
    }
}

/// Ranks that pass different amounts of data to a collective operation get an error, whichever rank
/// passes more: for short data, through shared memory, and for long data, by messages.
#[test]
fn unlike_amounts_of_data_are_found_out() {
    for (seed, [at_root, elsewhere], class) in [
        (1, [4, 40], ErrorClass::Count),
        (2, [40, 4], ErrorClass::Truncate),
        (3, [70_000, 90_000], ErrorClass::Count),
        (4, [90_000, 70_000], ErrorClass::Truncate),
        (5, [20_000, 40_000], ErrorClass::Count),
        (6, [40_000, 20_000], ErrorClass::Truncate),
    ] {
        ranks(2, seed, async |rank| {
            let mut buffer = vec![0; if rank.me == 0 { at_root } else { elsewhere }];
            let bcast = {
                let call = Call::bcast(COMM_WORLD, 0, room(&mut buffer));
                rank.mpi.launch(call, CallForm::Blocking).unwrap()
            };
            let error = rank.wait(bcast).await.error;
            let wanted = (rank.me != 0).then_some(class as i32);
            assert_eq!(error.map(|error| error.code.0), wanted);
        });
    }
}

/// Messages between two ranks do not overtake, with every kind of receive.
#[test]
fn messages_do_not_overtake() {
    for seed in 0..20 {
        ranks(2, seed, async |rank| {
            let mut random = Random::new(seed);
            let lengths: Vec<usize> = (0..60).map(|_| 4 + random.below(600) as usize).collect();
            if rank.me == 0 {
                let mut sends = Vec::new();
                for (number, len) in lengths.iter().enumerate() {
                    let mut data = vec![0; *len];
                    data[..4].copy_from_slice(&(number as u32).to_le_bytes());
                    sends.push(send(rank, SendMode::Standard, data, 1, 7, COMM_WORLD));
                }
                for activity in sends {
                    rank.wait(activity).await;
                }
                return;
            }
            for number in 0..lengths.len() as u32 {
                let mut buffer = vec![0; 604];
                let source = if random.below(2) == 0 { 0 } else { ANY_SOURCE };
                let tag = if random.below(2) == 0 { 7 } else { ANY_TAG };
                let receiving = receive(rank, &mut buffer, source, tag, COMM_WORLD);
                let outcome = rank.wait(receiving).await;
                assert_eq!(outcome.status.bytes, lengths[number as usize] as u64);
                assert_eq!(buffer[..4], number.to_le_bytes());
            }
        });
    }
}

/// One duplicate and two halves of the world carry messages with equal ranks and tags apart.
#[test]
fn communicators_keep_their_messages_apart() {
    for seed in 0..10 {
        ranks(4, seed, async |rank| {
            let split = rank.mpi.split(COMM_WORLD, Some((rank.me % 2) as i32), 0).unwrap();
            let half = rank.until(|mpi| mpi.end_split(&split).unwrap()).await.expect("a member");
            let (own, size) = {
                let comm = rank.mpi.comms.get(half).unwrap();
                (comm.rank, comm.size())
            };
            assert_eq!((own, size), (rank.me / 2, 2));
            let other = 1 - own;
            let pair = if own == 0 { rank.me + 2 } else { rank.me - 2 };
            let on_half = send(rank, SendMode::Standard, vec![1; 50], other, 3, half);
            let on_world = send(rank, SendMode::Standard, vec![2; 50], pair, 3, COMM_WORLD);
            let on_self = send(rank, SendMode::Standard, vec![3; 50], 0, 3, COMM_SELF);
            for (comm, expected) in [(COMM_SELF, 3), (COMM_WORLD, 2), (half, 1)] {
                let mut buffer = vec![0; 50];
                let receiving = receive(rank, &mut buffer, ANY_SOURCE, ANY_TAG, comm);
                rank.wait(receiving).await;
                assert_eq!(buffer, vec![expected; 50]);
            }
            for activity in [on_half, on_world, on_self] {
                rank.wait(activity).await;
            }
            let barrier = rank.mpi.start_barrier(half).unwrap();
            rank.wait(barrier).await;
        });
    }
}

/// A deadlock of the application is detected and reported with its seed.
#[test]
#[should_panic(expected = "2 ranks with seed 3 failed")]
fn a_deadlock_ends_the_run() {
    ranks(2, 3, async |rank| {
        let mut buffer = vec![0; 4];
        let receiving = receive(rank, &mut buffer, 1 - rank.me as i32, 0, COMM_WORLD);
        rank.wait(receiving).await;
    });
}
