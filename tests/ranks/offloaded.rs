//! Persistent collectives that the device runs by itself, on ranks in one process: of every kind
//! and on communicators of every kind, restarted with other data in a different order on each rank,
//! over an unordered network with delays; against naive results.

use std::sync::Arc;

use mpi_abi::device::trigger::{InterfaceLimits, TriggerClass};
use mpi_abi::devices::loopback::LIMITS;
use mpi_abi::mpi::collective::calls::Call;
use mpi_abi::mpi::collective::reduction_operator::ReductionOperator;
use mpi_abi::mpi::communicator::COMM_WORLD;
use mpi_abi::mpi::datatype::predefined;
use mpi_abi::mpi::op::Operator;
use mpi_abi::mpi::request::Completed;
use mpi_abi::mpi::topology::create::LocalEdges;
use mpi_abi::mpi::topology::dist_graph::{EdgeRole, GraphEdge};
use mpi_abi::mpi::{Layout, Memory};
use mpi_abi::offload::Scheme;
use mpi_abi::offload::packing::PackingPolicy;
use platform::base::{ErrorClass, Random};

use super::harness::{Rank, limited, ranks};
use super::mpi::{INT, INT64, room};
use super::sequences::{Buffer, Draw, On, communicators};

/// The kinds that [`Draw::prepare`] knows.
pub const KINDS: u64 = 16;
const OPERATIONS: usize = 12;
const TURNS: usize = 4;

/// A persistent operation with its memory.
pub struct Job {
    /// Its request.
    pub request: u32,
    buffers: Vec<Buffer>,
    /// What it is.
    pub drawn: Drawn,
}

/// The drawn parameters of an operation.
#[derive(Clone, Copy, Debug)]
pub struct Drawn {
    on: usize,
    /// Its kind, below [`KINDS`].
    pub kind: u64,
    number: usize,
    len: usize,
    root: u64,
    in_place: bool,
    commutative: bool,
}

impl Drawn {
    /// Operation `number` on one of the communicators.
    pub fn new(random: &mut Random, number: usize, comms: usize) -> Self {
        let on = random.below(comms as u64) as usize;
        let len = [0, 8, 40, 304, 9000][random.below(5) as usize];
        let [kind, root] = [KINDS, 1 << 20].map(|bound| random.below(bound));
        let [in_place, commutative] = [0; 2].map(|_| random.one_in(2));
        Self { on, kind, number, len, root, in_place, commutative }
    }

    /// The same for all ranks in one turn.
    fn draw<'a>(&self, rank: &'a mut Rank, on: &'a On, turn: usize) -> Draw<'a> {
        let Self { number, len, root, in_place, commutative, .. } = *self;
        let buffers = Vec::new();
        Draw { rank, on, number, turn, len, root, in_place, commutative, buffers }
    }

    /// Makes it.
    pub async fn make(self, rank: &mut Rank, on: &On) -> Job {
        let (call, buffers) = self.draw(rank, on, 0).call(self.kind);
        let request = init(rank, on.comm, call).await;
        Job { request, buffers, drawn: self }
    }
}

impl Job {
    /// Starts it with the data of a turn, in the memory that it has.
    pub fn start(&mut self, rank: &mut Rank, on: &On, turn: usize) {
        let (_, fresh) = self.drawn.draw(rank, on, turn).call(self.drawn.kind);
        assert_eq!(fresh.len(), self.buffers.len());
        for (buffer, fresh) in self.buffers.iter_mut().zip(fresh) {
            buffer.now.copy_from_slice(&fresh.now);
            buffer.due = fresh.due;
        }
        rank.mpi.start(self.request).unwrap();
        assert!(rank.mpi.start(self.request).is_err());
    }

    async fn complete(&self, rank: &mut Rank) {
        let Completed { outcome, handle_freed: gone, inactive: idle, .. } =
            rank.until(|mpi| mpi.complete(self.request).unwrap()).await;
        assert_eq!((outcome.error, gone, idle), (None, false, false), "{:?}", self.drawn);
        self.expect(rank);
    }

    /// Compares all memory with the expected contents.
    pub fn expect(&self, rank: &Rank) {
        for (number, buffer) in self.buffers.iter().enumerate() {
            assert!(
                buffer.now == buffer.due,
                "{:?}, rank {}: buffer {number}",
                self.drawn,
                rank.me
            );
        }
    }
}

fn shuffled(random: &mut Random, count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    (1..count).for_each(|place| order.swap(place, random.below(place as u64 + 1) as usize));
    order
}

/// Many operations, all active at once in each turn; some are freed while active.
fn sequence(count: u32, seed: u64, scheme: Scheme, limits: impl Fn(u32) -> InterfaceLimits) {
    limited(count, seed, limits, async |rank| {
        rank.mpi.offload = Some(scheme);
        let mut random = Random::new(seed);
        let mut own_random = Random::new(seed << 8 | u64::from(rank.me));
        let all = communicators(rank, &mut random, count).await;
        let mut jobs: Vec<Job> = Vec::new();
        for number in 0..OPERATIONS {
            let drawn = Drawn::new(&mut random, number, all.len());
            jobs.push(drawn.make(rank, &all[drawn.on]).await);
        }
        assert_eq!(rank.mpi.engine.has_offloads(), count > 1);
        for turn in 0..TURNS {
            for index in shuffled(&mut own_random, jobs.len()) {
                let on = jobs[index].drawn.on;
                jobs[index].start(rank, &all[on], turn);
            }
            if turn + 1 == TURNS {
                break;
            }
            for index in shuffled(&mut own_random, jobs.len()) {
                jobs[index].complete(rank).await;
            }
        }
        for index in shuffled(&mut own_random, jobs.len()) {
            if own_random.one_in(2) {
                jobs[index].complete(rank).await;
            }
            rank.mpi.free_request(jobs[index].request).unwrap();
            assert!(rank.mpi.start(jobs[index].request).is_err());
        }
        rank.until(|mpi| mpi.is_drained().then_some(())).await;
        jobs.iter().for_each(|job| job.expect(rank));
        assert!(!rank.mpi.engine.has_runs());
    });
}

#[test]
fn operations_of_every_kind_start_again() {
    for count in 1..=9 {
        sequence(count, u64::from(count) << 16, Scheme::Tank, |_| LIMITS);
    }
}

/// Some ranks run some or all of their programs on the host, and the others see no difference.
#[test]
fn ranks_that_lack_something_do_not_disturb_the_others() {
    for count in 2..=9 {
        let seed = u64::from(count) << 16 | 1;
        let queues = InterfaceLimits { class: TriggerClass::Sessions, counters: 2000, ..LIMITS };
        let lacking = |rank: u32| match (rank + count) % 7 {
            0 => InterfaceLimits { counters: 0, ..LIMITS },
            1 => InterfaceLimits { counters: 9, slots: 40, ..LIMITS },
            2 => InterfaceLimits { slots: 3, engines: 1, ..LIMITS },
            3 => InterfaceLimits { counter_bits: 1, ..LIMITS },
            4 => queues,
            5 => InterfaceLimits { counters: 20, slots: 60, ..queues },
            _ => LIMITS,
        };
        sequence(count, seed, Scheme::Tank, lacking);
    }
}

/// Every third element of 4 bytes, so often.
fn scattered(bytes: &mut [u8]) -> Memory {
    let element = Arc::new(Layout::aligned(4, 4).resized(0, 12).unwrap());
    // SAFETY: tests keep the buffer, untouched, until its operation has completed.
    #[allow(unsafe_code)]
    unsafe {
        Memory::new(bytes.as_ptr(), bytes.len() / 12, &element)
    }
}

/// The elements of scattered memory, and the gaps between them.
fn spread(values: impl Iterator<Item = i32>) -> Vec<u8> {
    values.flat_map(|value| [value.to_ne_bytes(), [0xa5; 4], [0x5a; 4]].concat()).collect()
}

/// A persistent request for `call` on `comm`.
async fn init(rank: &mut Rank, comm: u32, call: Call) -> u32 {
    let mut init = rank.mpi.begin_persistent_init("", comm, Ok(call)).unwrap();
    rank.until(|mpi| mpi.end_persistent_init(&mut init).unwrap()).await
}

/// Gaps stay as they were, of buffers that are read, written, and both in parts.
#[test]
fn scattered_memory_is_packed_and_unpacked() {
    const ELEMENTS: usize = 50;
    for (count, seed) in [(2, 1), (3, 2), (5, 3)] {
        ranks(count, seed, async |rank| {
            rank.mpi.offload = Some(Scheme::Tank);
            let (me, size) = (rank.me as i32, count as i32);
            let blank = |len: usize| spread((0..len).map(|_| -1));
            let mut cast = blank(ELEMENTS);
            let mut gathered = blank(ELEMENTS * count as usize);
            let (mut operand, mut sum) = (blank(ELEMENTS), blank(ELEMENTS));
            let int = predefined(INT).unwrap();
            let combining = ReductionOperator::predefined(Operator::Sum, &int, None).unwrap();
            let memory = scattered(&mut cast);
            let call = Call::bcast(COMM_WORLD, 1, memory);
            let bcast = init(rank, COMM_WORLD, call).await;
            let memory = scattered(&mut gathered);
            let call = rank.mpi.allgather(COMM_WORLD, None, memory).unwrap();
            let allgather = init(rank, COMM_WORLD, call).await;
            let (from, into) = (scattered(&mut operand), scattered(&mut sum));
            let call = Call::allreduce(COMM_WORLD, Some(from), into, combining);
            let allreduce = init(rank, COMM_WORLD, call).await;
            for turn in 0..6 {
                let value = |from: i32, at: usize| from * 1000 + at as i32 + turn;
                let of = |from: i32| spread((0..ELEMENTS).map(|at| value(from, at)));
                cast.copy_from_slice(&if me == 1 { of(1) } else { blank(ELEMENTS) });
                gathered.copy_from_slice(&blank(ELEMENTS * count as usize));
                let own = of(me);
                gathered[me as usize * own.len()..][..own.len()].copy_from_slice(&own);
                operand.copy_from_slice(&own);
                sum.copy_from_slice(&blank(ELEMENTS));
                for request in [bcast, allgather, allreduce] {
                    rank.mpi.start(request).unwrap();
                }
                for request in [allreduce, bcast, allgather] {
                    let completed = rank.until(|mpi| mpi.complete(request).unwrap()).await;
                    assert_eq!(completed.outcome.error, None);
                }
                assert_eq!(cast, of(1));
                assert_eq!(gathered, (0..size).flat_map(of).collect::<Vec<u8>>());
                let total = |at| (0..size).map(|from| value(from, at)).sum();
                assert_eq!(sum, spread((0..ELEMENTS).map(total)));
                assert_eq!(operand, own);
            }
            for request in [bcast, allgather, allreduce] {
                rank.mpi.free_request(request).unwrap();
            }
            assert!(!rank.mpi.engine.has_runs());
        });
    }
}

/// Short ones of 8 bytes by the interface, more than it takes by the host.
#[test]
fn integers_are_combined() {
    for (count, seed) in [(2, 1), (3, 2), (4, 3)] {
        ranks(count, seed, async |rank| {
            rank.mpi.offload = Some(Scheme::Tank);
            let long = predefined(INT64).unwrap();
            let bytes = |numbers: &[i64]| -> Vec<u8> {
                numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
            };
            for len in [1, 8, 9] {
                let (mut from, mut into) = (vec![0; 8 * len], vec![0; 8 * len]);
                let sum = ReductionOperator::predefined(Operator::Sum, &long, None).unwrap();
                let (operand, result) = (room(&mut from), room(&mut into));
                let call = Call::allreduce(COMM_WORLD, Some(operand), result, sum);
                let request = init(rank, COMM_WORLD, call).await;
                for turn in 0..10 {
                    let value = |rank: i64, at: usize| rank * 100 - turn * (at as i64 + 7);
                    let numbers = |rank: i64| (0..len).map(move |at| value(rank, at));
                    from.copy_from_slice(&bytes(&numbers(rank.me.into()).collect::<Vec<_>>()));
                    rank.mpi.start(request).unwrap();
                    let completed = rank.until(|mpi| mpi.complete(request).unwrap()).await;
                    assert_eq!(completed.outcome.error, None);
                    let total = |at| (0..i64::from(count)).map(|rank| value(rank, at)).sum();
                    assert_eq!(into, bytes(&(0..len).map(total).collect::<Vec<_>>()));
                }
                rank.mpi.free_request(request).unwrap();
            }
        });
    }
}

/// The ranks with correct arguments get a request nevertheless, which needs no device.
#[test]
fn wrong_arguments_of_one_rank_keep_nobody_waiting() {
    for (count, seed) in [(2, 1), (4, 2), (5, 3)] {
        ranks(count, seed, async |rank| {
            rank.mpi.offload = Some(Scheme::Tank);
            for wrong in 0..count {
                if rank.me == wrong {
                    let error = ErrorClass::Count.error("this rank is wrong");
                    let refused =
                        rank.mpi.begin_persistent_init("", COMM_WORLD, Err(error)).unwrap_err();
                    assert_eq!(refused.code.0, ErrorClass::Count as i32);
                } else {
                    let call = Call::barrier(COMM_WORLD);
                    let request = init(rank, COMM_WORLD, call).await;
                    assert!(!rank.mpi.engine.has_offloads());
                    rank.mpi.free_request(request).unwrap();
                }
            }
            // What follows takes place.
            let call = Call::barrier(COMM_WORLD);
            let request = init(rank, COMM_WORLD, call).await;
            assert!(rank.mpi.engine.has_offloads());
            rank.mpi.start(request).unwrap();
            rank.until(|mpi| mpi.complete(request).unwrap()).await;
            rank.mpi.free_request(request).unwrap();
        });
    }
}

/// Ranks that pass different amounts of data get an error at the start, as without a device.
#[test]
fn unlike_amounts_of_data_are_found_out() {
    for (seed, [at_root, elsewhere], class) in
        [(1, [4, 40], ErrorClass::Count), (2, [40, 4], ErrorClass::Truncate)]
    {
        ranks(2, seed, async |rank| {
            rank.mpi.offload = Some(Scheme::Tank);
            let mut buffer = vec![0; if rank.me == 0 { at_root } else { elsewhere }];
            let call = Call::bcast(COMM_WORLD, 0, room(&mut buffer));
            let request = init(rank, COMM_WORLD, call).await;
            rank.mpi.start(request).unwrap();
            let completed = rank.until(|mpi| mpi.complete(request).unwrap()).await;
            let error = completed.outcome.error.map(|error| error.code.0);
            assert_eq!(error, (rank.me == 1).then_some(class as i32));
            rank.mpi.free_request(request).unwrap();
        });
    }
}

/// The report of a rank that waits for an operation of the device names the operation and the peer.
#[test]
fn a_wait_for_the_device_is_a_wait_for_others() {
    ranks(3, 1, async |rank| {
        rank.mpi.offload = Some(Scheme::Tank);
        let call = Call::barrier(COMM_WORLD);
        let request = init(rank, COMM_WORLD, call).await;
        let told = |rank: &Rank| rank.mpi.blocked_requests("MPI_Wait", false, [request]);
        if rank.me == 0 {
            rank.mpi.start(request).unwrap();
            let rest = |mpi: &mut super::harness::TestMpi| {
                (mpi.poll() == 0 && mpi.engine.is_quiescent()).then(|| mpi.position())
            };
            let position = rank.until(rest).await;
            let blocked = told(rank);
            assert!(blocked.details.contains("persistent operation 1"), "{}", blocked.details);
            assert_eq!(blocked.conditions[0].peers, [1, 2]);
            assert_eq!(rank.until(rest).await, position);
        }
        // The others begin when rank 0 has looked.
        let barrier = rank.mpi.start_barrier(COMM_WORLD).unwrap();
        rank.wait(barrier).await;
        if rank.me > 0 {
            rank.mpi.start(request).unwrap();
        }
        rank.until(|mpi| mpi.complete(request).unwrap()).await;
        assert!(told(rank).conditions.is_empty());
        rank.mpi.free_request(request).unwrap();
    });
}

/// A random graph with these edges.
async fn graph(rank: &mut Rank, edges: &[GraphEdge]) -> u32 {
    let given = if rank.me == 0 { edges.to_vec() } else { Vec::new() };
    let given = LocalEdges { edges: Ok(given), weighted: false };
    let mut making = rank.mpi.create_dist_graph(COMM_WORLD, given, None).unwrap();
    rank.until(|mpi| mpi.end_topology(&mut making).unwrap()).await.unwrap()
}

/// The data of an edge in exchange `which`, in one turn.
fn block(which: usize, edge: usize, turn: u8) -> Vec<u8> {
    let len = [0, 8, 304, 3000][(which + edge) % 4];
    vec![(which * 50 + edge) as u8 ^ turn << 3; len]
}

/// Several exchanges with neighbors start as one, with every assignment of puts to engines.
#[test]
fn exchanges_with_neighbors_start_together() {
    let policies = [None].into_iter().chain(PackingPolicy::ALL.map(Some));
    for (policy, seed) in policies.zip(0..) {
        let mut random = Random::new(seed);
        let size = 2 + seed as u32 % 5;
        let mut end = || random.below(u64::from(size)) as u32;
        let edges: Vec<GraphEdge> = (0..3 * size)
            .map(|_| GraphEdge {
                source: end(),
                destination: end(),
                weight: 1,
                role: EdgeRole::Both,
            })
            .collect();
        ranks(size, seed, async |rank| {
            rank.mpi.offload = Some(Scheme::Tank);
            rank.mpi.rdma_schedule = policy;
            let comm = graph(rank, &edges).await;
            let me = rank.me;
            let of = |which: usize, turn: u8, end: fn(&GraphEdge) -> u32| -> Vec<Vec<u8>> {
                let own = edges.iter().enumerate().filter(|(_, edge)| end(edge) == me);
                own.map(|(number, _)| block(which, number, turn)).collect()
            };
            let sent = |which, turn| of(which, turn, |edge| edge.source);
            let due = |which, turn| of(which, turn, |edge| edge.destination);
            let mut send: Vec<_> = (0..3).map(|which| sent(which, 0)).collect();
            let mut received: Vec<_> = (0..3).map(|which| due(which, 0)).collect();
            let mut requests = Vec::new();
            for (send, receive) in send.iter_mut().zip(&mut received) {
                let send = send.iter_mut().map(|block| room(block)).collect();
                let receive = receive.iter_mut().map(|block| room(block)).collect();
                let call = Call::neighbor_alltoallv(comm, send, receive);
                requests.push(init(rank, comm, call).await);
            }
            for turn in 1..6 {
                for which in 0..3 {
                    for (block, now) in send[which].iter_mut().zip(of(which, turn, |e| e.source)) {
                        block.copy_from_slice(&now);
                    }
                    received[which].iter_mut().for_each(|block| block.fill(0xee));
                }
                rank.mpi.start_all(requests.iter().copied()).unwrap();
                for &request in requests.iter().rev() {
                    let completed = rank.until(|mpi| mpi.complete(request).unwrap()).await;
                    assert_eq!(completed.outcome.error, None);
                }
                (0..3).for_each(|which| {
                    let now = of(which, turn, |edge| edge.destination);
                    assert_eq!(received[which], now, "{policy:?}, turn {turn}");
                });
            }
            for request in requests {
                rank.mpi.free_request(request).unwrap();
            }
        });
    }
}
