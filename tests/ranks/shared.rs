//! Collective operations in a shared segment, compared with their definitions.
//!
//! Each seed is a program of calls that all ranks start in the same order, each at any time. Ranks
//! take turns at random, so some run far ahead of others. The operation of the reductions does not
//! commute, so a result shows the order of the operands.

use std::sync::Arc;

use mpi_abi::devices::loopback::Loopback;
use mpi_abi::engine::Engine;
use mpi_abi::engine::memory::Memory;
use mpi_abi::mpi::collective::calls::Call;
use mpi_abi::mpi::collective::calls::function::CollectiveFunction;
use mpi_abi::mpi::collective::reduction_operator::ReductionOperator;
use mpi_abi::mpi::collective::selection::machine_model::{MachineModel, SHARED};
use mpi_abi::mpi::collective::shared::SharedCollective;
use mpi_abi::mpi::communicator::COMM_WORLD;
use mpi_abi::mpi::datatype::predefined;
use platform::base::{Peer, Random, Span};

use super::harness::is_long;
use super::mpi::INT64;

/// An element is the function `x -> a x + b`; the operation composes two.
const ELEMENT: usize = 8;
/// Polls of a missing entry are few, so that calls wait.
const MACHINE: MachineModel = MachineModel { spins_max: 2, ..SHARED };

fn compose(left: &[u8], right: &mut [u8]) {
    let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    for (left, right) in left.chunks_exact(ELEMENT).zip(right.chunks_exact_mut(ELEMENT)) {
        let (a, b) = (word(left, 0), word(left, 4));
        let (c, d) = (word(right, 0), word(right, 4));
        right[..4].copy_from_slice(&a.wrapping_mul(c).to_le_bytes());
        right[4..].copy_from_slice(&a.wrapping_mul(d).wrapping_add(b).to_le_bytes());
    }
}

fn composition() -> ReductionOperator {
    let kernel = Arc::new(|from: Span, into: Span| {
        let (mut left, mut right) = (vec![0; from.len()], vec![0; into.len()]);
        from.read(0, &mut left);
        into.read(0, &mut right);
        compose(&left, &mut right);
        into.write(0, &right);
    });
    let datatype = predefined(INT64).unwrap();
    assert_eq!(datatype.size(), ELEMENT);
    ReductionOperator::application(false, &datatype, kernel)
}

/// The composition of the operands of all ranks, in the order of ranks.
fn composed(operands: impl DoubleEndedIterator<Item = Vec<u8>>) -> Vec<u8> {
    let fold = |mut right: Vec<u8>, left: Vec<u8>| {
        compose(&left, &mut right);
        right
    };
    operands.rev().reduce(fold).unwrap_or_default()
}

/// The arguments of a call that all ranks know.
#[derive(Clone, Debug)]
struct DrawnCall {
    seed: u64,
    kind: CollectiveFunction,
    ranks: u32,
    root: u32,
    /// Bytes of each rank's block, where they differ; else all the same.
    blocks: Vec<usize>,
    in_place: bool,
}

/// The part of a rank in a call: its memory, and the expected result.
struct Part {
    call: Option<Call>,
    _send: Memory,
    receive: Memory,
    expected: Vec<u8>,
}

const KINDS: [CollectiveFunction; 13] = [
    CollectiveFunction::Barrier,
    CollectiveFunction::Bcast,
    CollectiveFunction::Gather,
    CollectiveFunction::Scatter,
    CollectiveFunction::Allgather,
    CollectiveFunction::Allgatherv,
    CollectiveFunction::Alltoall,
    CollectiveFunction::Reduce,
    CollectiveFunction::Allreduce,
    CollectiveFunction::ReduceScatterBlock,
    CollectiveFunction::ReduceScatter,
    CollectiveFunction::Scan,
    CollectiveFunction::Exscan,
];

/// Elements around the limits of entries, pieces and rounds.
const ELEMENTS: [u64; 16] =
    [0, 1, 2, 5, 6, 127, 512, 1023, 1024, 1025, 2047, 2048, 2049, 4096, 9001, 33_000];

impl DrawnCall {
    fn draw(random: &mut Random, ranks: u32) -> Self {
        let kind = KINDS[random.below(13) as usize];
        let elements = ELEMENTS[random.below(16) as usize] as usize;
        // Blocks of every rank for every rank: the sizes add up.
        let has_blocks = matches!(
            kind,
            CollectiveFunction::Scatter
                | CollectiveFunction::Alltoall
                | CollectiveFunction::ReduceScatterBlock
                | CollectiveFunction::ReduceScatter
        );
        let elements = if has_blocks { elements.min(9000 / ranks as usize) } else { elements };
        let mut blocks = vec![elements * ELEMENT; ranks as usize];
        if matches!(kind, CollectiveFunction::Allgatherv | CollectiveFunction::ReduceScatter) {
            let mut other = || random.below(elements as u64 + 1) as usize * ELEMENT;
            blocks.iter_mut().for_each(|block| *block = other());
        }
        let root = random.below(u64::from(ranks)) as u32;
        Self { seed: random.bits(), kind, ranks, root, blocks, in_place: random.one_in(2) }
    }

    /// The data of a rank, for a block or for all.
    fn data(&self, rank: u32, len: usize) -> Vec<u8> {
        let mut random = Random::new(self.seed ^ u64::from(rank));
        (0..len.div_ceil(8)).flat_map(|_| random.bits().to_le_bytes()).take(len).collect()
    }

    /// Blocks of `data` for all ranks.
    fn blocks_of<'a>(&self, data: &'a [u8]) -> Vec<&'a [u8]> {
        let mut rest = data;
        let mut next = |len: &usize| {
            let (block, others) = rest.split_at(*len);
            rest = others;
            block
        };
        self.blocks.iter().map(&mut next).collect()
    }

    /// The data of a rank, its receive buffer before a call in place, and after the call.
    fn buffers(&self, rank: u32) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
        let (own, total) = (self.blocks[rank as usize], self.blocks.iter().sum());
        let all = || (0..self.ranks).map(|rank| (rank, self.blocks[rank as usize]));
        let is_root = rank == self.root;
        let mine = self.data(rank, own);
        let every = || all().map(|(rank, len)| self.data(rank, len));
        let full = || (0..self.ranks).map(|rank| self.data(rank, total));
        let placed = || {
            let mut blocks: Vec<_> = self.blocks.iter().map(|len| vec![0; *len]).collect();
            blocks[rank as usize].clone_from(&mine);
            blocks.concat()
        };
        let none = Vec::new;
        match self.kind {
            CollectiveFunction::Barrier => (none(), none(), none()),
            CollectiveFunction::Bcast => {
                let data = self.data(self.root, own);
                (none(), if is_root { data.clone() } else { vec![0; own] }, data)
            }
            CollectiveFunction::Gather if is_root => {
                (mine.clone(), placed(), every().collect::<Vec<_>>().concat())
            }
            CollectiveFunction::Gather => (mine.clone(), none(), none()),
            CollectiveFunction::Scatter => {
                let data = self.data(self.root, total);
                let block = self.blocks_of(&data)[rank as usize].to_vec();
                (if is_root { data } else { none() }, vec![0; own], block)
            }
            CollectiveFunction::Allgather | CollectiveFunction::Allgatherv => {
                (mine.clone(), placed(), every().collect::<Vec<_>>().concat())
            }
            CollectiveFunction::Alltoall => {
                let blocks = full().map(|data| self.blocks_of(&data)[rank as usize].to_vec());
                let data = self.data(rank, total);
                (data.clone(), data, blocks.collect::<Vec<_>>().concat())
            }
            CollectiveFunction::Reduce if !is_root => (mine, none(), none()),
            CollectiveFunction::Reduce | CollectiveFunction::Allreduce => {
                (mine.clone(), mine.clone(), composed(every()))
            }
            CollectiveFunction::ReduceScatterBlock | CollectiveFunction::ReduceScatter => {
                let blocks = full().map(|data| self.blocks_of(&data)[rank as usize].to_vec());
                let blocks: Vec<_> = blocks.collect();
                let data = self.data(rank, total);
                let mut after = composed(blocks.into_iter());
                if self.in_place {
                    // Bytes after the result are not compared.
                    after.truncate(own);
                }
                (data.clone(), data, after)
            }
            CollectiveFunction::Scan => {
                let result = composed(every().take(rank as usize + 1));
                (mine.clone(), mine, result)
            }
            CollectiveFunction::Exscan => {
                let result = composed(every().take(rank as usize));
                let result = if rank == 0 { mine.clone() } else { result };
                (mine.clone(), mine, result)
            }
            other => unreachable!("{other:?} has no form in shared memory"),
        }
    }

    fn part(&self, rank: u32) -> Part {
        let (sent, placed, expected) = self.buffers(rank);
        let is_root = rank == self.root;
        let rooted = matches!(
            self.kind,
            CollectiveFunction::Gather | CollectiveFunction::Reduce | CollectiveFunction::Scatter
        );
        let in_place = self.in_place && (!rooted || is_root);
        let keeps =
            in_place || matches!(self.kind, CollectiveFunction::Bcast | CollectiveFunction::Exscan);
        let receive = match self.kind {
            CollectiveFunction::Scatter if in_place => expected.clone(),
            _ if keeps => placed,
            _ => vec![0; expected.len()],
        };
        let (sent, receive) = (Memory::owned(sent), Memory::owned(receive));
        let give = (!in_place).then(|| sent.alias());
        let take = receive.alias();
        let block = self.blocks[rank as usize];
        let operator = composition();
        let call = match self.kind {
            CollectiveFunction::Barrier => Call::barrier(COMM_WORLD),
            CollectiveFunction::Bcast => Call::bcast(COMM_WORLD, self.root, take),
            CollectiveFunction::Gather => {
                Call::gather(COMM_WORLD, self.root, block, give, is_root.then_some(take))
            }
            CollectiveFunction::Scatter => {
                let give = is_root.then(|| sent.alias());
                Call::scatter(COMM_WORLD, self.root, block, give, (!in_place).then_some(take))
            }
            CollectiveFunction::Allgather => Call::allgather(COMM_WORLD, rank, block, give, take),
            CollectiveFunction::Allgatherv => {
                let mut at = 0;
                let places = self.blocks.iter().map(|len| {
                    let place = Memory::Span(take.span().unwrap().part(at, *len));
                    at += len;
                    place
                });
                Call::allgatherv(COMM_WORLD, rank, give, places.collect())
            }
            CollectiveFunction::Alltoall => Call::alltoall(COMM_WORLD, block, give, take),
            CollectiveFunction::Reduce => {
                Call::reduce(COMM_WORLD, self.root, give, is_root.then_some(take), operator)
            }
            CollectiveFunction::Allreduce => Call::allreduce(COMM_WORLD, give, take, operator),
            CollectiveFunction::Scan => Call::scan(COMM_WORLD, give, take, operator),
            CollectiveFunction::Exscan => Call::exscan(COMM_WORLD, give, Some(take), operator),
            CollectiveFunction::ReduceScatterBlock => {
                Call::reduce_scatter_block(COMM_WORLD, rank, block, give, take, operator)
            }
            CollectiveFunction::ReduceScatter => {
                Call::reduce_scatter(COMM_WORLD, rank, &self.blocks, give, take, operator)
            }
            other => unreachable!("{other:?} has no form in shared memory"),
        };
        Part { call: Some(call), _send: sent, receive, expected }
    }
}

/// A rank: its collectives of the segment, and its position in the program.
struct Rank {
    collective: SharedCollective,
    engine: Engine<Loopback>,
    begun: usize,
}

fn segment_of(ranks: u32) -> Vec<Rank> {
    let peers: Vec<Peer> = (0..ranks).collect();
    let rank = |(device, me)| {
        let mut engine = Engine::new(device, me, ranks as usize);
        let segment = engine.shared().unwrap().enter(0, &peers).unwrap();
        Rank {
            collective: SharedCollective::new(segment.into(), peers.clone(), &MACHINE),
            engine,
            begun: 0,
        }
    };
    Loopback::network(ranks as usize).into_iter().zip(0..).map(rank).collect()
}

/// Runs the program of each rank, in turns; returns the errors of each rank.
fn run(random: &mut Random, program: &mut [Vec<Part>], errors: &mut [Vec<String>]) {
    let mut ranks = segment_of(program.len() as u32);
    let calls = program[0].len();
    let mut quiet = 0;
    while ranks.iter().any(|rank| rank.begun < calls || !rank.collective.is_complete()) {
        let chosen = random.below(ranks.len() as u64) as usize;
        let Rank { collective, engine, begun } = &mut ranks[chosen];
        let ended = if !collective.is_complete() {
            collective.advance(engine)
        } else if *begun < calls {
            *begun += 1;
            collective.begin(program[chosen][*begun - 1].call.take().unwrap(), engine)
        } else {
            continue;
        };
        if ended && let Some(error) = collective.take_error() {
            errors[chosen].push(error.to_string());
        }
        quiet = if ended { 0 } else { quiet + 1 };
        assert!(quiet < 20_000, "no progress");
    }
}

fn program(seed: u64) {
    let mut random = Random::new(seed);
    let ranks = 2 + random.below(7) as u32;
    let calls: Vec<_> = (0..8).map(|_| DrawnCall::draw(&mut random, ranks)).collect();
    let mut parts: Vec<Vec<_>> =
        (0..ranks).map(|rank| calls.iter().map(|call| call.part(rank)).collect()).collect();
    let mut errors = vec![Vec::new(); ranks as usize];
    run(&mut random, &mut parts, &mut errors);
    assert!(errors.iter().all(Vec::is_empty), "seed {seed}: {errors:?}");
    for (rank, parts) in parts.iter().enumerate() {
        for (call, part) in calls.iter().zip(parts) {
            let mut result = vec![0; part.expected.len()];
            part.receive.pack(0, &mut result);
            let differs = result.iter().zip(&part.expected).position(|(one, two)| one != two);
            assert_eq!(differs, None, "seed {seed}, rank {rank}, {call:?}");
        }
    }
}

#[test]
fn shared_segments_carry_every_collective() {
    (0..if is_long() { 60 } else { 20 }).for_each(program);
}

#[test]
fn ranks_in_different_calls_get_errors_and_continue() {
    let data = || Memory::owned(vec![7; 100_000]);
    let memory = [data(), data()];
    let part = |call: Call| Part {
        call: Some(call),
        _send: Memory::EMPTY,
        receive: Memory::EMPTY,
        expected: Vec::new(),
    };
    let bytes = |rank: usize, len| Memory::Span(memory[rank].span().unwrap().part(0, len));
    let disagreements: [([Call; 2], &[&str]); 4] = [
        (
            [
                Call::bcast(COMM_WORLD, 0, bytes(0, 8)),
                Call::bcast(COMM_WORLD, 0, bytes(1, 100_000)),
            ],
            &["fewer than the 100000"],
        ),
        (
            [
                Call::bcast(COMM_WORLD, 0, bytes(0, 100_000)),
                Call::bcast(COMM_WORLD, 0, bytes(1, 8)),
            ],
            &["more than the 8 bytes"],
        ),
        (
            [
                Call::barrier(COMM_WORLD),
                Call::allgather(COMM_WORLD, 1, 50_000, None, bytes(1, 100_000)),
            ],
            &[
                "rank 1 is in MPI_Allgather while this rank 0 is in MPI_Barrier",
                "rank 0 is in MPI_Barrier while this rank 1 is in MPI_Allgather",
            ],
        ),
        (
            [Call::bcast(COMM_WORLD, 0, bytes(0, 8)), Call::barrier(COMM_WORLD)],
            &["rank 0 is in MPI_Bcast with root 0 while this rank 1 is in MPI_Barrier"],
        ),
    ];
    for (calls, expected) in disagreements {
        let mut program: Vec<_> =
            calls.map(|call| vec![part(call), part(Call::barrier(COMM_WORLD))]).into();
        let mut errors = vec![Vec::new(), Vec::new()];
        run(&mut Random::new(1), &mut program, &mut errors);
        let errors = errors.concat();
        assert_eq!(errors.len(), expected.len(), "{errors:?}");
        assert!(errors.iter().zip(expected).all(|(one, two)| one.contains(two)), "{errors:?}");
    }
}
