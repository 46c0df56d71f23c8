//! Collective operations by the engine, against their definitions.
//!
//! Each seed is a program of collective calls that all ranks start in the same order, each at any
//! time, several active at once, on engines that take turns.

use std::sync::Arc;

use mpi_abi::devices::loopback::Loopback;
use mpi_abi::engine::Engine;
use mpi_abi::engine::memory::Memory;
use mpi_abi::engine::schedules::plan::{Launch, Members, RunId, RunPlan};
use mpi_abi::engine::schedules::reduction::{ReductionKernel, ReductionMethod};
use mpi_abi::mpi::collective::algorithms::{
    Allreduce, Bcast, BlockPairs, Collective, Operands, RankBlocks, Reduce, ReduceScatter,
    ReduceScatterBlock, Rooted, RootedBlocks, Scan, Shape, UniformBlocks, allgatherv, alltoallv,
    gatherv, reduce_scatter, scatterv,
};
use mpi_abi::mpi::collective::selection::Selection;
use mpi_abi::offload::Schedule;
use platform::base::{Peer, Random, Span};

/// The identity: rank `r` is peer `r`.
pub struct World;

impl Members for World {
    fn peer(&self, rank: u32) -> Peer {
        rank
    }
}

/// An element is the function `x -> a x + b`; the operation composes two. It does not commute.
type Element = (u32, u32);
const ELEMENT: usize = 8;

fn element(bytes: &[u8]) -> Element {
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    (word(0), word(4))
}

fn compose(left: Element, right: Element) -> Element {
    (left.0.wrapping_mul(right.0), left.0.wrapping_mul(right.1).wrapping_add(left.1))
}

/// `into = from op into`, for packed elements.
pub fn combine(from: &[u8], into: &mut [u8]) {
    for (left, right) in from.chunks_exact(ELEMENT).zip(into.chunks_exact_mut(ELEMENT)) {
        let (a, b) = compose(element(left), element(right));
        right[..4].copy_from_slice(&a.to_le_bytes());
        right[4..].copy_from_slice(&b.to_le_bytes());
    }
}

/// [`combine`] in place.
pub fn combine_spans(from: Span, into: Span) {
    let (mut left, mut right) = (vec![0; from.len()], vec![0; into.len()]);
    from.read(0, &mut left);
    into.read(0, &mut right);
    combine(&left, &mut right);
    into.write(0, &right);
}

/// One call: the schedule of each rank, its memory before the call, and the expected memory after.
struct Call {
    schedules: Vec<Schedule>,
    before: Vec<Vec<Vec<u8>>>,
    after: Vec<Vec<Vec<u8>>>,
    by_application: bool,
}

/// The contribution of rank `rank` to call number `call`.
fn data(call: usize, rank: u32, len: usize) -> Vec<u8> {
    let mut random = Random::new((call as u64) << 32 | u64::from(rank));
    (0..len).map(|_| random.bits() as u8).collect()
}

/// Draws call number `number` of a program.
struct Draw<'a> {
    number: usize,
    shape: Shape,
    random: &'a mut Random,
}

impl Draw<'_> {
    fn below(&mut self, bound: usize) -> usize {
        self.random.below(bound as u64) as usize
    }

    /// Empty, short, eager, rendezvous.
    fn len(&mut self) -> usize {
        [0, 8, 40, 304, 20_000][self.below(5)]
    }

    fn call(mut self) -> Call {
        let root = self.below(self.shape.ranks as usize) as u32;
        let in_place = self.below(2) == 0;
        let len = self.len();
        let lengths: Vec<Vec<usize>> = self.ranks().map(|_| self.lengths()).collect();
        match self.below(16) {
            0 => self.uniform(Collective::Barrier, |_| Vec::new(), |_| Vec::new()),
            1 => self.bcast(Bcast { bytes: len, root }),
            2 => self.gather(Rooted { block: len, root, in_place }),
            3 => self.scatter(Rooted { block: len, root, in_place }),
            4 => self.allgather(UniformBlocks { block: len, in_place }),
            5 => self.alltoall(UniformBlocks { block: len, in_place }),
            6 => self.reduce(len, root, in_place),
            7 => self.allreduce(len, in_place),
            8 => self.gatherv(root, &lengths[0]),
            9 => self.scatterv(root, &lengths[0]),
            10 => self.allgatherv(&lengths[0]),
            11 => self.prefix(len, in_place, true),
            12 => self.prefix(len, in_place, false),
            13 => self.reduce_scatter_block(len, in_place),
            14 => self.reduce_scatter(&lengths[0], in_place),
            _ => self.alltoallv(&lengths),
        }
    }

    fn ranks(&self) -> std::ops::Range<u32> {
        0..self.shape.ranks
    }

    fn data(&self, rank: u32, len: usize) -> Vec<u8> {
        data(self.number, rank, len)
    }

    /// The data of all ranks, one after the other.
    fn all(&self, len: usize) -> Vec<u8> {
        self.ranks().flat_map(|rank| self.data(rank, len)).collect()
    }

    fn uniform(
        &self, collective: Collective, before: impl Fn(u32) -> Vec<Vec<u8>>,
        after: impl Fn(u32) -> Vec<Vec<u8>>,
    ) -> Call {
        self.each(
            |rank| collective.schedule(&Selection::default(), self.shape, rank),
            before,
            after,
        )
    }

    fn each(
        &self, schedule: impl Fn(u32) -> Schedule, before: impl Fn(u32) -> Vec<Vec<u8>>,
        after: impl Fn(u32) -> Vec<Vec<u8>>,
    ) -> Call {
        Call {
            schedules: self.ranks().map(schedule).collect(),
            before: self.ranks().map(before).collect(),
            after: self.ranks().map(after).collect(),
            by_application: self.number.is_multiple_of(2),
        }
    }

    fn bcast(&self, args: Bcast) -> Call {
        let full = self.data(args.root, args.bytes);
        self.uniform(
            Collective::Bcast(args),
            |rank| vec![if rank == args.root { full.clone() } else { vec![0; args.bytes] }],
            |_| vec![full.clone()],
        )
    }

    /// `own` at its position among zeros.
    fn placed(&self, rank: u32, block: usize, own: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; self.shape.ranks as usize * block];
        bytes[rank as usize * block..][..own.len()].copy_from_slice(own);
        bytes
    }

    fn gather(&self, args: Rooted) -> Call {
        let Rooted { block, root, in_place } = args;
        let send = |rank| if in_place && rank == root { vec![] } else { self.data(rank, block) };
        let before = |rank: u32| match rank == root {
            true => {
                let own = if in_place { self.data(root, block) } else { Vec::new() };
                vec![send(rank), self.placed(root, block, &own)]
            }
            false => vec![send(rank), Vec::new()],
        };
        self.uniform(Collective::Gather(args), before, |rank| match rank == root {
            true => vec![send(rank), self.all(block)],
            false => vec![send(rank), Vec::new()],
        })
    }

    fn scatter(&self, args: Rooted) -> Call {
        let Rooted { block, root, in_place } = args;
        let all = self.data(root, block * self.shape.ranks as usize);
        let send = |rank| if rank == root { all.clone() } else { Vec::new() };
        let kept = |rank| in_place && rank == root;
        self.uniform(
            Collective::Scatter(args),
            |rank| vec![send(rank), vec![0; if kept(rank) { 0 } else { block }]],
            |rank| match kept(rank) {
                true => vec![send(rank), Vec::new()],
                false => vec![send(rank), all[rank as usize * block..][..block].to_vec()],
            },
        )
    }

    fn allgather(&self, args: UniformBlocks) -> Call {
        let UniformBlocks { block, in_place } = args;
        let send = |rank| if in_place { Vec::new() } else { self.data(rank, block) };
        let own = |rank| if in_place { self.data(rank, block) } else { Vec::new() };
        self.uniform(
            Collective::Allgather(args),
            |rank| vec![send(rank), self.placed(rank, block, &own(rank))],
            |rank| vec![send(rank), self.all(block)],
        )
    }

    fn alltoall(&self, args: UniformBlocks) -> Call {
        let UniformBlocks { block, in_place } = args;
        let all = block * self.shape.ranks as usize;
        let send = |rank| if in_place { Vec::new() } else { self.data(rank, all) };
        self.uniform(
            Collective::Alltoall(args),
            |rank| match in_place {
                true => vec![Vec::new(), self.data(rank, all)],
                false => vec![send(rank), vec![0; all]],
            },
            |rank| {
                let at = rank as usize * block;
                let blocks = self.ranks().map(|from| self.data(from, all)[at..][..block].to_vec());
                vec![send(rank), blocks.flatten().collect()]
            },
        )
    }

    /// The operands of all ranks, combined one by one.
    fn combined(&self, bytes: usize) -> Vec<u8> {
        self.combined_below(self.shape.ranks, bytes)
    }

    /// The operands of ranks below `end`, which is not 0, combined one by one.
    fn combined_below(&self, end: u32, bytes: usize) -> Vec<u8> {
        let operands = (0..end).rev().map(|rank| self.data(rank, bytes));
        let folded = operands.reduce(|mut right, left| {
            combine(&left, &mut right);
            right
        });
        folded.unwrap()
    }

    fn reduce(&self, bytes: usize, root: u32, in_place: bool) -> Call {
        let operands = Operands { bytes, element: ELEMENT, commutative: false };
        let kept = |rank| in_place && rank == root;
        let send = |rank| if kept(rank) { Vec::new() } else { self.data(rank, bytes) };
        self.uniform(
            Collective::Reduce(Reduce { operands, root, in_place }),
            |rank| match (rank == root, kept(rank)) {
                (_, true) => vec![Vec::new(), self.data(rank, bytes)],
                (at_root, _) => vec![send(rank), vec![0; if at_root { bytes } else { 0 }]],
            },
            |rank| match rank == root {
                true => vec![send(rank), self.combined(bytes)],
                false => vec![send(rank), Vec::new()],
            },
        )
    }

    fn allreduce(&self, bytes: usize, in_place: bool) -> Call {
        let operands = Operands { bytes, element: ELEMENT, commutative: false };
        let send = |rank| if in_place { Vec::new() } else { self.data(rank, bytes) };
        let combined = self.combined(bytes);
        self.uniform(
            Collective::Allreduce(Allreduce { operands, in_place }),
            |rank| match in_place {
                true => vec![Vec::new(), self.data(rank, bytes)],
                false => vec![send(rank), vec![0; bytes]],
            },
            |rank| vec![send(rank), combined.clone()],
        )
    }

    /// A scan or an exscan.
    fn prefix(&self, bytes: usize, in_place: bool, inclusive: bool) -> Call {
        let operands = Operands { bytes, element: ELEMENT, commutative: false };
        let args = Scan { operands, in_place };
        let send = |rank| if in_place { Vec::new() } else { self.data(rank, bytes) };
        let receive = |rank| if in_place { self.data(rank, bytes) } else { vec![0; bytes] };
        let collective = if inclusive { Collective::Scan(args) } else { Collective::Exscan(args) };
        self.uniform(
            collective,
            |rank| vec![send(rank), receive(rank)],
            |rank| match rank + u32::from(inclusive) {
                0 => vec![send(rank), receive(rank)],
                end => vec![send(rank), self.combined_below(end, bytes)],
            },
        )
    }

    fn reduce_scatter_block(&self, bytes: usize, in_place: bool) -> Call {
        let block = Operands { bytes, element: ELEMENT, commutative: false };
        let collective = Collective::ReduceScatterBlock(ReduceScatterBlock { block, in_place });
        let schedule = |rank| collective.schedule(&Selection::default(), self.shape, rank);
        self.scattered(schedule, &vec![bytes; self.shape.ranks as usize], in_place)
    }

    fn reduce_scatter(&self, blocks: &[usize], in_place: bool) -> Call {
        let args = ReduceScatter { blocks, commutative: false, in_place };
        self.scattered(
            |rank| reduce_scatter(&Selection::default(), self.shape, rank, args),
            blocks,
            in_place,
        )
    }

    fn scattered(
        &self, schedule: impl Fn(u32) -> Schedule, blocks: &[usize], in_place: bool,
    ) -> Call {
        let total = blocks.iter().sum();
        let combined = self.combined(total);
        let send = |rank| if in_place { Vec::new() } else { self.data(rank, total) };
        let receive = |rank: u32| match in_place {
            true => self.data(rank, total),
            false => vec![0; blocks[rank as usize]],
        };
        self.each(
            schedule,
            |rank| vec![send(rank), receive(rank)],
            |rank| {
                let (own, mut receive) = (rank as usize, receive(rank));
                let start: usize = blocks[..own].iter().sum();
                receive[..blocks[own]].copy_from_slice(&combined[start..][..blocks[own]]);
                vec![send(rank), receive]
            },
        )
    }

    /// A length for each rank.
    fn lengths(&mut self) -> Vec<usize> {
        self.ranks().map(|_| self.len()).collect()
    }

    fn gatherv(&self, root: u32, blocks: &[usize]) -> Call {
        let send = |rank: u32| self.data(rank, blocks[rank as usize]);
        let receive = |rank: u32, fill: bool| {
            let blocks = self.ranks().zip(blocks).filter(move |_| rank == root);
            blocks.map(move |(of, len)| if fill { self.data(of, *len) } else { vec![0; *len] })
        };
        self.each(
            |rank| {
                let own = blocks[rank as usize];
                gatherv(
                    &Selection::default(),
                    self.shape,
                    rank,
                    RootedBlocks { own, blocks, root, in_place: false },
                )
            },
            |rank| [send(rank)].into_iter().chain(receive(rank, false)).collect(),
            |rank| [send(rank)].into_iter().chain(receive(rank, true)).collect(),
        )
    }

    fn scatterv(&self, root: u32, blocks: &[usize]) -> Call {
        let send = |rank: u32| {
            let blocks = self.ranks().zip(blocks).filter(move |_| rank == root);
            blocks.map(|(of, len)| self.data(of, *len))
        };
        self.each(
            |rank| {
                let own = blocks[rank as usize];
                scatterv(
                    &Selection::default(),
                    self.shape,
                    rank,
                    RootedBlocks { own, blocks, root, in_place: false },
                )
            },
            |rank| [vec![0; blocks[rank as usize]]].into_iter().chain(send(rank)).collect(),
            |rank| {
                let own = self.data(rank, blocks[rank as usize]);
                [own].into_iter().chain(send(rank)).collect()
            },
        )
    }

    fn allgatherv(&self, blocks: &[usize]) -> Call {
        let send = |rank: u32| self.data(rank, blocks[rank as usize]);
        let all = || self.ranks().map(send);
        self.each(
            |rank| {
                allgatherv(
                    &Selection::default(),
                    self.shape,
                    rank,
                    RankBlocks { blocks, in_place: false },
                )
            },
            |rank| [send(rank)].into_iter().chain(blocks.iter().map(|len| vec![0; *len])).collect(),
            |rank| [send(rank)].into_iter().chain(all()).collect(),
        )
    }

    fn alltoallv(&self, lengths: &[Vec<usize>]) -> Call {
        let len = |from: u32, to: u32| lengths[from as usize][to as usize];
        let block =
            |from: u32, to: u32| data(self.number, from * self.shape.ranks + to, len(from, to));
        let send = |rank: u32| self.ranks().map(move |to| block(rank, to));
        self.each(
            |rank| {
                let send: Vec<usize> = self.ranks().map(|to| len(rank, to)).collect();
                let receive: Vec<usize> = self.ranks().map(|from| len(from, rank)).collect();
                let args = BlockPairs { send: &send, receive: &receive, in_place: false };
                alltoallv(&Selection::default(), self.shape, rank, args)
            },
            |rank| {
                let receive = self.ranks().map(|from| vec![0; len(from, rank)]);
                send(rank).chain(receive).collect()
            },
            |rank| send(rank).chain(self.ranks().map(|from| block(from, rank))).collect(),
        )
    }
}

impl Call {
    fn launch(&mut self, rank: u32, sequence: u32, kernel: &ReductionKernel) -> Launch {
        let buffers = std::mem::take(&mut self.before[rank as usize]);
        let schedule = std::mem::take(&mut self.schedules[rank as usize]);
        let reduction = match self.by_application {
            true => ReductionMethod::Application(Arc::new(combine_spans)),
            false => ReductionMethod::Kernel(Arc::clone(kernel)),
        };
        let buffers = buffers.into_iter().map(Memory::owned).collect();
        Launch {
            plan: RunPlan { reduction, ..RunPlan::moving(schedule, buffers) },
            members: Arc::new(World),
            rank,
            context: 3,
            sequence,
        }
    }
}

fn packed(memory: &Memory) -> Vec<u8> {
    let mut bytes = vec![0; memory.len()];
    memory.pack(0, &mut bytes);
    bytes
}

/// Runs a program of `calls` calls on `ranks` engines.
fn program(seed: u64, ranks: u32, calls: usize) {
    let mut random = Random::new(seed);
    let shape = Shape { ranks };
    let mut calls: Vec<Call> =
        (0..calls).map(|number| Draw { number, shape, random: &mut random }.call()).collect();
    let network = Loopback::network(ranks as usize).into_iter().zip(0..);
    let mut engines: Vec<Engine<Loopback>> =
        network.map(|(device, me)| Engine::new(device, me, ranks as usize)).collect();
    let kernel: ReductionKernel = Arc::new(combine_spans);
    let mut runs: Vec<Vec<Option<RunId>>> = vec![Vec::new(); ranks as usize];
    let mut left = calls.len() * ranks as usize;
    for turn in 0_u64.. {
        assert!(turn < 10_000_000, "seed {seed}: {ranks} ranks stop with {left} runs left");
        let rank = random.below(u64::from(ranks)) as usize;
        let (engine, runs) = (&mut engines[rank], &mut runs[rank]);
        engine.poll();
        engine.fault().expect("nobody breaks the protocol");
        while let Some(work) = engine.take_work() {
            work.execute();
            engine.work_done(&work);
        }
        if runs.len() < calls.len() && random.one_in(3) {
            let sequence = runs.len();
            let launch = calls[sequence].launch(rank as u32, sequence as u32, &kernel);
            runs.push(Some(engine.launch(launch)));
        }
        for (call, run) in calls.iter().zip(runs.iter_mut()) {
            let Some(end) = run.and_then(|run| engine.take_run_end(run)) else { continue };
            *run = None;
            left -= 1;
            assert_eq!(end.error, None, "seed {seed}, {ranks} ranks, rank {rank}");
            let buffers: Vec<Vec<u8>> = end.buffers.iter().map(packed).collect();
            assert!(buffers == call.after[rank], "seed {seed}, {ranks} ranks, rank {rank}");
        }
        if left == 0 {
            break;
        }
    }
    assert!(engines.iter().all(|engine| !engine.has_runs()), "seed {seed}: runs stay behind");
}

#[test]
fn programs_of_collectives_do_what_they_are_defined_to_do() {
    for seed in 0..4 {
        for ranks in 1..=9 {
            program(seed, ranks, 24);
        }
    }
}
