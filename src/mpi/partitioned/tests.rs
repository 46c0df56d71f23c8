//! Random programs of partitioned sends and receives: several ranks in one thread, over a network with
//! random full queues and delays. Each step of each operation comes in an order that a seed decides.

use std::ops::Range;

use super::division::Partitions;
use super::operation::{PartitionedArguments, PartitionedKind};
use crate::device::middleware::delay::Delay;
use crate::device::middleware::fault::Fault;
use crate::devices::loopback::Loopback;
use crate::engine::memory::Memory;
use crate::mpi::communicator::COMM_WORLD;
use crate::mpi::handle::Handle;
use crate::mpi::objects::Objects;
use crate::mpi::{Mpi, WorldAttributes};
use platform::base::Random;

type TestMpi = Mpi<Fault<Delay<Loopback>>>;

const ROUNDS: u32 = 4;

fn world(size: u32, seed: u64) -> Vec<TestMpi> {
    let network = Loopback::on_nodes(&vec![0; size as usize]).into_iter().zip(0..);
    let with_faults = |(device, me)| {
        let seed = seed ^ u64::from(me) << 32;
        let device = Fault::new(Delay::new(device, seed, 4), seed, 5);
        let attributes = WorldAttributes::default();
        let mut mpi = Mpi::without_world(device, me, size, Objects::default(), attributes);
        mpi.begin_world().unwrap();
        mpi
    };
    network.map(with_faults).collect()
}

fn create(
    mpi: &mut TestMpi, kind: PartitionedKind, (rank, tag): (u32, i32), partitions: Partitions,
    memory: &Memory,
) -> Handle {
    let (rank, comm) = (rank as i32, COMM_WORLD);
    let arguments = PartitionedArguments { kind, partitions, rank, tag, comm };
    mpi.create_partitioned(arguments, memory.alias()).unwrap()
}

fn byte(place: usize, round: u32, operation: usize) -> u8 {
    (place * 31 + place / 251 + round as usize * 7 + operation * 101) as u8
}

/// One side of an operation, on one rank.
struct Side {
    /// Its operation, equal on both sides.
    operation: usize,
    rank: u32,
    is_sender: bool,
    partitions: Partitions,
    memory: Memory,
    request: Handle,
    round: u32,
    is_active: bool,
    /// The partitions of a sender that are not ready, in the order in which they will be.
    unready: Vec<u32>,
}

impl Side {
    fn bytes(&self, partition: u32) -> Range<usize> {
        let length = self.partitions.bytes as usize;
        partition as usize * length..(partition as usize + 1) * length
    }

    fn write(&mut self, partition: u32) {
        let Range { start, end } = self.bytes(partition);
        let bytes: Vec<_> =
            (start..end).map(|place| byte(place, self.round, self.operation)).collect();
        self.memory.unpack(start, &bytes);
    }

    fn check(&self, partition: u32) {
        let Range { start, end } = self.bytes(partition);
        let mut bytes = vec![0; end - start];
        self.memory.pack(start, &mut bytes);
        let expected: Vec<_> =
            (start..end).map(|place| byte(place, self.round, self.operation)).collect();
        assert!(bytes == expected, "operation {}, partition {partition}", self.operation);
    }

    fn start(&mut self, mpi: &mut TestMpi, random: &mut Random) {
        if !self.is_sender {
            let len = self.memory.len();
            self.memory.unpack(0, &vec![0xee; len]);
        }
        mpi.start(self.request).unwrap();
        assert!(mpi.start(self.request).is_err());
        self.is_active = true;
        self.unready = if self.is_sender { (0..self.partitions.count).collect() } else { vec![] };
        for last in (1..self.unready.len()).rev() {
            self.unready.swap(last, random.below(last as u64 + 1) as usize);
        }
    }

    /// Marks the next partitions of a sender, up to three.
    fn make_ready(&mut self, mpi: &mut TestMpi, random: &mut Random) {
        let count = self.unready.len().min(random.below(3) as usize + 1);
        let next = self.unready.split_off(self.unready.len() - count);
        next.iter().for_each(|partition| self.write(*partition));
        let named = next.iter().map(|partition| *partition as i32);
        let (table, mut complete) = (mpi.partitioned.table().clone(), Vec::new());
        table.look(self.request, |state| state.make_ready(named, &mut complete)).unwrap().unwrap();
        mpi.send_partitions(self.request, &complete).unwrap();
    }

    /// Looks at a partition of a receiver, and at its bytes if it has arrived.
    fn look(&self, mpi: &TestMpi, random: &mut Random) {
        let partition = random.below(u64::from(self.partitions.count)) as u32;
        let looked = mpi
            .partitioned
            .table()
            .look(self.request, |state| state.is_there(partition as i32).unwrap());
        if looked.unwrap() {
            self.check(partition);
        }
    }

    fn complete(&mut self, mpi: &mut TestMpi) {
        let Some(completed) = mpi.complete(self.request).unwrap() else { return };
        assert!(completed.outcome.error.is_none() && !completed.inactive);
        assert!(self.unready.is_empty());
        if !self.is_sender {
            (0..self.partitions.count).for_each(|partition| self.check(partition));
            assert_eq!(completed.outcome.status.bytes, self.partitions.total_bytes());
        }
        self.is_active = false;
        self.round += 1;
    }

    fn step(&mut self, mpi: &mut TestMpi, random: &mut Random) {
        match (self.is_active, self.is_sender) {
            (false, _) if self.round < ROUNDS => self.start(mpi, random),
            (false, _) => {}
            (true, true) if !self.unready.is_empty() => self.make_ready(mpi, random),
            (true, true) => self.complete(mpi),
            (true, false) if random.one_in(3) => self.look(mpi, random),
            (true, false) => self.complete(mpi),
        }
    }
}

/// A number of partitions and one that may differ, of the same bytes in all.
fn two_divisions(random: &mut Random) -> [Partitions; 2] {
    let [one, other] = [(); 2].map(|()| random.below(12) as u32 + 1);
    let unit = [0, 1, 30, 900, 5000][random.below(5) as usize];
    [(one, other), (other, one)]
        .map(|(count, factor)| Partitions { count, bytes: u64::from(factor) * unit })
}

/// Both sides of an operation, after operations of one side or of both that are freed at once.
fn operation(number: usize, world: &mut [TestMpi], random: &mut Random) -> [Side; 2] {
    let [from, to] = [(); 2].map(|()| random.below(world.len() as u64) as u32);
    let tag = random.below(2) as i32;
    let [sent, received] = two_divisions(random);
    [(true, from, to, sent), (false, to, from, received)].map(
        |(is_sender, rank, peer, partitions)| {
            let kind = if is_sender { PartitionedKind::Send } else { PartitionedKind::Receive };
            let mpi = &mut world[rank as usize];
            let memory = Memory::owned(vec![0; partitions.total_bytes() as usize]);
            if random.one_in(3) {
                let unused = create(mpi, kind, (peer, tag), partitions, &memory);
                mpi.free_request(unused).unwrap();
            }
            let request = create(mpi, kind, (peer, tag), partitions, &memory);
            let (round, is_active, unready) = (0, false, Vec::new());
            let operation = number;
            Side {
                operation,
                rank,
                is_sender,
                partitions,
                memory,
                request,
                round,
                is_active,
                unready,
            }
        },
    )
}

fn run(seed: u64) {
    let random = &mut Random::new(seed);
    let size = random.below(4) as u32 + 1;
    let mut world = world(size, seed);
    let operations = random.below(8) as usize + 1;
    let mut sides: Vec<_> =
        (0..operations).flat_map(|number| operation(number, &mut world, random)).collect();
    for _ in 0..200_000 {
        let rank = random.below(u64::from(size)) as usize;
        world[rank].poll();
        world[rank].engine.fault().expect("all keep to the protocol");
        let side = random.below(sides.len() as u64) as usize;
        let side = &mut sides[side];
        side.step(&mut world[side.rank as usize], random);
        if sides.iter().all(|side| side.round == ROUNDS) {
            for side in sides {
                world[side.rank as usize].free_request(side.request).unwrap();
            }
            assert!(world.iter().all(|mpi| mpi.partitioned.is_empty()));
            return;
        }
    }
    panic!("the operations do not complete");
}

#[test]
fn partitions_arrive_whatever_the_order_of_all_steps() {
    for seed in 0..40 {
        println!("seed {seed}");
        run(seed);
    }
}

#[test]
fn a_wait_says_which_rank_and_which_partitions_it_waits_for() {
    let mut world = world(2, 1);
    let mpi = &mut world[0];
    let partitions = Partitions { count: 3, bytes: 8 };
    let memory = Memory::owned(vec![0; 24]);
    let send = create(mpi, PartitionedKind::Send, (1, 7), partitions, &memory);
    let receive = create(mpi, PartitionedKind::Receive, (1, 8), partitions, &memory);
    mpi.start_all([send, receive].into_iter()).unwrap();
    let table = mpi.partitioned.table().clone();
    let marked = table.look(send, |state| state.make_ready([1].into_iter(), &mut Vec::new()));
    marked.unwrap().unwrap();
    let report = mpi.blocked_requests("MPI_Waitall", false, [send, receive]);
    assert_eq!(
        report.details,
        " of 2 requests: partitioned send(dest 1, tag 7, 2 of 3 partitions not marked ready: 0, 2, \
         MPI_COMM_WORLD), partitioned receive(source 1, tag 8, no such send has been started, \
         MPI_COMM_WORLD)"
    );
    let peers: Vec<_> = report.conditions.iter().map(|condition| &condition.peers[..]).collect();
    assert_eq!(peers, [&[][..], &[1]]);
}
