//! Random sequences of collectives by complete MPI: on communicators of every kind at once, also
//! intercommunicators, many active and completed in a different order on each rank, on nodes drawn
//! from a seed, over a network with full queues and delays; against naive results. Memory around
//! every buffer must stay unchanged.

use std::sync::Arc;

use mpi_abi::engine::schedules::reduction::ReductionKernel;
use mpi_abi::mpi::Memory;
use mpi_abi::mpi::attribute::Attributes;
use mpi_abi::mpi::collective::binding::CallForm;
use mpi_abi::mpi::collective::calls::Call;
use mpi_abi::mpi::collective::calls::roots::{ROOT, RootRole};
use mpi_abi::mpi::collective::reduction_operator::ReductionOperator;
use mpi_abi::mpi::communicator::COMM_WORLD;
use mpi_abi::mpi::request::Activity;
use mpi_abi::mpi::request::status::PROC_NULL;
use platform::base::{Random, Span};

use super::collectives::{combine, combine_spans};
use super::faults::Faults;
use super::harness::{Rank, each_seed, faulty, networked, placed, size};
use super::intercomm::{built, dealt, local, place_in};
use super::mpi::room;

/// `MPI_UINT64_T` of the standard ABI: elements of 8 bytes.
const ELEMENTS: u32 = 0x259;
const ELEMENT: usize = 8;
/// Bytes before and after each buffer.
const GUARD: usize = 16;
/// Largest number of active operations.
const PENDING_MAX: usize = 10;
/// Turns in which faults begin.
const FAULT_TURNS: u64 = 3000;

/// A communicator: the processes of each of its groups, in order; the local group first.
pub struct On {
    /// Its handle.
    pub comm: u32,
    /// The local group.
    pub near: Vec<u32>,
    far: Option<Vec<u32>>,
    /// The own index in `near`.
    own: usize,
}

impl On {
    /// A communicator of all processes, as process `me` sees it.
    pub fn whole(comm: u32, me: u32, count: u32) -> Self {
        Self::members(comm, me, (0..count).collect())
    }

    /// A communicator of these processes, as process `me` sees it.
    pub fn members(comm: u32, me: u32, near: Vec<u32>) -> Self {
        let own = near.iter().position(|rank| *rank == me).expect("a member");
        Self { comm, near, far: None, own }
    }

    /// The own index in the local group.
    pub fn own(&self) -> usize {
        self.own
    }
}

/// The world, a duplicate, its halves, and the intercommunicator of the halves.
pub async fn communicators(rank: &mut Rank, random: &mut Random, count: u32) -> Vec<On> {
    let (copy, activity) = rank.mpi.duplicate(COMM_WORLD, Attributes::default()).unwrap();
    rank.wait(activity).await;
    let mut all = Vec::from([COMM_WORLD, copy].map(|comm| On::whole(comm, rank.me, count)));
    if count > 1 {
        let groups = dealt(random, count, 2);
        let (side, own) = place_in(&groups, rank.me);
        let half = local(rank, &groups).await;
        let (near, far) = (groups[side].clone(), groups[1 - side].clone());
        let leader = far[0] as i32;
        let bridge = rank.mpi.intercomm_create(half, 0, COMM_WORLD, leader, 0).unwrap();
        let inter = built(rank, bridge).await;
        all.push(On { comm: half, near: near.clone(), far: None, own });
        all.push(On { comm: inter, near, far: Some(far), own });
    }
    all
}

/// A buffer between guard bytes, and its expected contents.
pub struct Buffer {
    /// The contents.
    pub now: Vec<u8>,
    /// The expected contents.
    pub due: Vec<u8>,
}

impl Buffer {
    fn new(before: &[u8], after: &[u8]) -> Self {
        assert_eq!(before.len(), after.len());
        let among = |bytes: &[u8]| [&[0xa5; GUARD], bytes, &[0x5a; GUARD]].concat();
        Self { now: among(before), due: among(after) }
    }

    fn memory(&mut self) -> Memory {
        let end = self.now.len() - GUARD;
        room(&mut self.now[GUARD..end])
    }
}

struct Pending {
    activity: Activity,
    /// Keeps the memory; the vectors do not move their bytes.
    buffers: Vec<Buffer>,
    name: String,
}

/// One call as drawn by this rank; all ranks draw equally.
pub struct Draw<'a> {
    /// The drawing rank.
    pub rank: &'a mut Rank,
    /// Its communicator.
    pub on: &'a On,
    /// Its number among the calls, and how often it has been started before.
    pub number: usize,
    pub turn: usize,
    /// The length of a block in bytes.
    pub len: usize,
    /// Draws the side and the rank of a root.
    pub root: u64,
    /// Whether a buffer serves for both if it may.
    pub in_place: bool,
    /// Whether the operation commutes.
    pub commutative: bool,
    /// The buffers so far.
    pub buffers: Vec<Buffer>,
}

/// The contribution of a process to a call.
fn data(call: usize, process: u32, len: usize) -> Vec<u8> {
    let mut random = Random::new((call as u64) << 32 | u64::from(process));
    (0..len).map(|_| random.bits() as u8).collect()
}

fn add(from: &[u8], into: &mut [u8]) {
    for (left, right) in from.chunks_exact(ELEMENT).zip(into.chunks_exact_mut(ELEMENT)) {
        let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
        right.copy_from_slice(&word(left).wrapping_add(word(right)).to_le_bytes());
    }
}

fn add_spans(from: Span, into: Span) {
    let (mut left, mut right) = (vec![0; from.len()], vec![0; into.len()]);
    from.read(0, &mut left);
    into.read(0, &mut right);
    add(&left, &mut right);
    into.write(0, &right);
}

impl Draw<'_> {
    fn data(&self, process: u32, len: usize) -> Vec<u8> {
        data(self.number | self.turn << 16, process, len)
    }

    fn me(&self) -> u32 {
        self.rank.me
    }

    /// The processes whose data this rank receives in an all-to-all operation.
    fn givers(&self) -> &[u32] {
        self.on.far.as_ref().unwrap_or(&self.on.near)
    }

    /// A buffer with the given contents before and after the call; returns its address.
    fn buffer(&mut self, before: &[u8], after: &[u8]) -> Memory {
        let mut buffer = Buffer::new(before, after);
        let memory = buffer.memory();
        self.buffers.push(buffer);
        memory
    }

    /// A send buffer.
    fn sent(&mut self, bytes: &[u8]) -> Option<Memory> {
        Some(self.buffer(bytes, bytes))
    }

    fn received(&mut self, after: &[u8]) -> Memory {
        self.buffer(&vec![0xee; after.len()], after)
    }

    /// One buffer for each block.
    fn blocks(&mut self, blocks: &[Vec<u8>], arrive: bool) -> Vec<Memory> {
        let each = |block: &Vec<u8>| match arrive {
            true => self.received(block),
            false => self.buffer(block, block),
        };
        blocks.iter().map(each).collect()
    }

    /// The role of this rank, the root as a member and as a process, and its group.
    fn seat(&self) -> (RootRole, u32, u32, Vec<u32>) {
        let near = &self.on.near;
        let Some(far) = &self.on.far else {
            let root = (self.root % near.len() as u64) as usize;
            let seat =
                self.rank.mpi.comms.get(self.on.comm).unwrap().root_role(root as i32).unwrap();
            return (seat.0, seat.1, near[root], near.clone());
        };
        // The group of process 0 is one side, on all ranks.
        let is_first = near.contains(&0);
        let is_near = self.root.is_multiple_of(2) == is_first;
        let (group, others) = if is_near { (near, far) } else { (far, near) };
        let root = (self.root / 2 % group.len() as u64) as usize;
        let named = match (is_near, group[root] == self.rank.me) {
            (true, true) => ROOT,
            (true, false) => PROC_NULL,
            (false, _) => root as i32,
        };
        let seat = self.rank.mpi.comms.get(self.on.comm).unwrap().root_role(named).unwrap();
        (seat.0, seat.1, group[root], others.clone())
    }

    fn comm(&self) -> u32 {
        self.on.comm
    }

    /// The length of a block between two processes.
    fn block(&self, from: u32, to: u32) -> usize {
        [0, 8, 24, self.len][(self.number + 3 * from as usize + 5 * to as usize) % 4]
    }

    fn combining(&self) -> ReductionOperator {
        let kernel: ReductionKernel =
            Arc::new(if self.commutative { add_spans } else { combine_spans });
        let datatype = self.rank.mpi.objects.datatypes.committed(ELEMENTS).unwrap();
        ReductionOperator::application(self.commutative, datatype, kernel)
    }

    /// The operands of these processes, combined one by one.
    fn combined(&self, of: &[u32], len: usize) -> Vec<u8> {
        let combine = if self.commutative { add } else { combine };
        let operands = of.iter().rev().map(|process| self.data(*process, len));
        let all = operands.reduce(|mut right, left| {
            combine(&left, &mut right);
            right
        });
        all.unwrap_or_default()
    }

    fn bcast(mut self) -> CallBuffers {
        let (seat, member, root, _) = self.seat();
        let full = self.data(root, self.len);
        let buffer = match seat {
            RootRole::ProcNull => return self.stand_by(),
            RootRole::Root | RootRole::InterRoot => self.buffer(&full, &full),
            RootRole::NonRoot => self.received(&full),
        };
        let call = Call::bcast(self.comm(), member, buffer);
        (call, self.buffers)
    }

    fn stand_by(self) -> CallBuffers {
        (Call::proc_null(self.comm()), self.buffers)
    }

    fn gather(mut self) -> CallBuffers {
        let (seat, member, _, of) = self.seat();
        let (len, own) = (self.len, self.data(self.me(), self.len));
        let all: Vec<u8> = of.iter().flat_map(|process| self.data(*process, len)).collect();
        let kept = self.in_place && seat == RootRole::Root;
        let (send, receive) = match seat {
            RootRole::ProcNull => return self.stand_by(),
            RootRole::NonRoot => (self.sent(&own), None),
            RootRole::InterRoot => (None, Some(self.received(&all))),
            RootRole::Root if kept => {
                let mut before = vec![0; all.len()];
                before[self.on.own * len..][..len].copy_from_slice(&own);
                (None, Some(self.buffer(&before, &all)))
            }
            RootRole::Root => (self.sent(&own), Some(self.received(&all))),
        };
        let call = self.rank.mpi.gather(self.comm(), member, send, receive).unwrap();
        (call, self.buffers)
    }

    fn gatherv(mut self) -> CallBuffers {
        let (seat, member, _, of) = self.seat();
        let block = |process: u32| self.data(process, self.block(process, 0));
        let (own, all): (_, Vec<_>) =
            (block(self.me()), of.iter().map(|one| block(*one)).collect());
        let send = match seat {
            RootRole::ProcNull => return self.stand_by(),
            RootRole::InterRoot => None,
            RootRole::Root | RootRole::NonRoot => self.sent(&own),
        };
        let receive = match seat {
            RootRole::Root | RootRole::InterRoot => self.blocks(&all, true),
            RootRole::NonRoot | RootRole::ProcNull => Vec::new(),
        };
        let call = self.rank.mpi.gatherv(self.comm(), member, send, receive).unwrap();
        (call, self.buffers)
    }

    fn scatter(mut self) -> CallBuffers {
        let (seat, member, root, of) = self.seat();
        let (len, all) = (self.len, self.data(root, self.len * of.len()));
        let place = of.iter().position(|process| *process == self.me()).unwrap_or(0);
        let own = &all[place * len..][..len];
        let (send, receive) = match seat {
            RootRole::ProcNull => return self.stand_by(),
            RootRole::NonRoot => (None, Some(self.received(own))),
            RootRole::InterRoot => (self.sent(&all), None),
            RootRole::Root if self.in_place => (self.sent(&all), None),
            RootRole::Root => (self.sent(&all), Some(self.received(own))),
        };
        let call = self.rank.mpi.scatter(self.comm(), member, send, receive).unwrap();
        (call, self.buffers)
    }

    fn scatterv(mut self) -> CallBuffers {
        let (seat, member, root, of) = self.seat();
        let block = |to: u32| self.data(root * 64 + to, self.block(0, to));
        let (own, all): (_, Vec<_>) =
            (block(self.me()), of.iter().map(|one| block(*one)).collect());
        let send = match seat {
            RootRole::ProcNull => return self.stand_by(),
            RootRole::Root | RootRole::InterRoot => self.blocks(&all, false),
            RootRole::NonRoot => Vec::new(),
        };
        let receive = (seat != RootRole::InterRoot).then(|| self.received(&own));
        let call = self.rank.mpi.scatterv(self.comm(), member, send, receive).unwrap();
        (call, self.buffers)
    }

    fn allgather(mut self) -> CallBuffers {
        let len = self.len;
        let all: Vec<u8> =
            self.givers().iter().flat_map(|process| self.data(*process, len)).collect();
        let own = self.data(self.me(), len);
        let (send, receive) = if self.in_place && self.on.far.is_none() {
            let mut before = vec![0; all.len()];
            before[self.on.own * len..][..len].copy_from_slice(&own);
            (None, self.buffer(&before, &all))
        } else {
            (self.sent(&own), self.received(&all))
        };
        let call = self.rank.mpi.allgather(self.comm(), send, receive).unwrap();
        (call, self.buffers)
    }

    fn allgatherv(mut self) -> CallBuffers {
        let block = |process: u32| self.data(process, self.block(process, 0));
        let all: Vec<_> = self.givers().iter().map(|process| block(*process)).collect();
        let own = block(self.me());
        let (send, receive) = (self.sent(&own), self.blocks(&all, true));
        let call = self.rank.mpi.allgatherv(self.comm(), send, receive).unwrap();
        (call, self.buffers)
    }

    fn alltoall(mut self) -> CallBuffers {
        let len = self.len;
        let own = self.data(self.me(), len * self.givers().len());
        let (size, place) = (self.on.near.len(), self.on.own);
        let column: Vec<u8> = (self.givers().iter())
            .flat_map(|from| self.data(*from, len * size)[place * len..][..len].to_vec())
            .collect();
        let (send, receive) = match self.in_place && self.on.far.is_none() {
            true => (None, self.buffer(&own, &column)),
            false => (self.sent(&own), self.received(&column)),
        };
        let call = self.rank.mpi.alltoall(self.comm(), send, receive).unwrap();
        (call, self.buffers)
    }

    fn alltoallv(mut self) -> CallBuffers {
        let block = |from: u32, to: u32| self.data(from * 64 + to, self.block(from, to));
        let out: Vec<_> = self.givers().iter().map(|to| block(self.me(), *to)).collect();
        let into: Vec<_> = self.givers().iter().map(|from| block(*from, self.me())).collect();
        let (send, receive) = (Some(self.blocks(&out, false)), self.blocks(&into, true));
        let call = self.rank.mpi.alltoallv(self.comm(), send, receive).unwrap();
        (call, self.buffers)
    }

    fn reduce(mut self) -> CallBuffers {
        let (seat, member, _, of) = self.seat();
        let (own, sum) = (self.data(self.me(), self.len), self.combined(&of, self.len));
        let (send, receive) = match seat {
            RootRole::ProcNull => return self.stand_by(),
            RootRole::NonRoot => (self.sent(&own), None),
            RootRole::InterRoot => (None, Some(self.received(&sum))),
            RootRole::Root if self.in_place => (None, Some(self.buffer(&own, &sum))),
            RootRole::Root => (self.sent(&own), Some(self.received(&sum))),
        };
        let (comm, combining) = (self.comm(), self.combining());
        let call = Call::reduce(comm, member, send, receive, combining);
        (call, self.buffers)
    }

    /// The buffers of a reduction with a result on each rank.
    fn operand_and(&mut self, result: &[u8]) -> (Option<Memory>, Memory) {
        let own = self.data(self.me(), result.len());
        match self.in_place && self.on.far.is_none() {
            true => (None, self.buffer(&own, result)),
            false => (self.sent(&own), self.received(result)),
        }
    }

    fn allreduce(mut self) -> CallBuffers {
        let sum = self.combined(self.givers(), self.len);
        let (send, receive) = self.operand_and(&sum);
        let (comm, combining) = (self.comm(), self.combining());
        let call = Call::allreduce(comm, send, receive, combining);
        (call, self.buffers)
    }

    /// Blocks of one length, or everything for the last rank.
    fn reduce_scatter(mut self, is_uniform: bool) -> CallBuffers {
        let size = self.on.near.len();
        let others = self.on.far.as_ref().map_or(1, Vec::len);
        // Equal total bytes for both groups.
        let total = self.len * size * others;
        let last = |place: usize| if place + 1 == size { total } else { 0 };
        let blocks: Vec<usize> =
            (0..size).map(|place| if is_uniform { total / size } else { last(place) }).collect();
        let sum = self.combined(self.givers(), total);
        let start: usize = blocks[..self.on.own].iter().sum();
        let result = &sum[start..][..blocks[self.on.own]];
        let own = self.data(self.me(), total);
        let (send, receive) = match self.in_place && self.on.far.is_none() {
            true => {
                let mut after = own.clone();
                after[..result.len()].copy_from_slice(result);
                (None, self.buffer(&own, &after))
            }
            false => (self.sent(&own), self.received(result)),
        };
        let (comm, combining, mpi) = (self.comm(), self.combining(), &mut self.rank.mpi);
        let call = match is_uniform {
            true => mpi.reduce_scatter_block(comm, send, receive, combining),
            false => mpi.reduce_scatter(comm, send, receive, &blocks, combining),
        };
        (call.unwrap(), self.buffers)
    }

    fn scan(mut self) -> CallBuffers {
        let sum = self.combined(&self.on.near[..=self.on.own], self.len);
        let (send, receive) = self.operand_and(&sum);
        let (comm, combining) = (self.comm(), self.combining());
        let call = Call::scan(comm, send, receive, combining);
        (call, self.buffers)
    }

    fn exscan(mut self) -> CallBuffers {
        let own = self.data(self.me(), self.len);
        let (send, receive) = if self.on.own > 0 {
            let sum = self.combined(&self.on.near[..self.on.own], self.len);
            let (send, receive) = self.operand_and(&sum);
            (send, Some(receive))
        } else if self.in_place {
            (None, Some(self.buffer(&own, &own)))
        } else {
            (self.sent(&own), None)
        };
        let (comm, combining) = (self.comm(), self.combining());
        let call = Call::exscan(comm, send, receive, combining);
        (call, self.buffers)
    }

    fn barrier(self) -> CallBuffers {
        (Call::barrier(self.comm()), self.buffers)
    }

    /// A call of one of 16 kinds, with its buffers.
    pub fn call(self, kind: u64) -> CallBuffers {
        // Operations that intercommunicators lack become an allreduce.
        let is_inter = self.on.far.is_some();
        match kind {
            0 => self.barrier(),
            1 => self.bcast(),
            2 => self.gather(),
            3 => self.gatherv(),
            4 => self.scatter(),
            5 => self.scatterv(),
            6 => self.allgather(),
            7 => self.allgatherv(),
            8 => self.alltoall(),
            9 => self.alltoallv(),
            10 => self.reduce(),
            11 => self.reduce_scatter(true),
            12 => self.reduce_scatter(false),
            13 if !is_inter => self.scan(),
            14 if !is_inter => self.exscan(),
            _ => self.allreduce(),
        }
    }
}

/// A call that is ready to start, and its memory.
pub type CallBuffers = (Call, Vec<Buffer>);

/// Completes operation `which` of those under way.
async fn complete(rank: &mut Rank, which: usize, pending: &mut Vec<Pending>) {
    let Pending { activity, buffers, name } = pending.swap_remove(which);
    assert_eq!(rank.wait(activity).await.error, None, "{name}");
    for (number, buffer) in buffers.iter().enumerate() {
        assert!(buffer.now == buffer.due, "{name}, rank {}: buffer {number}", rank.me);
    }
}

fn sequence(places: &[u32], seed: u64, calls: usize, network: TestNetwork) {
    let count = places.len() as u32;
    let body = async |rank: &mut Rank| {
        let mut random = Random::new(seed);
        let mut own_random = Random::new(seed << 8 | u64::from(rank.me));
        if matches!(network, TestNetwork::Faulty) {
            rank.draw_limits(&mut own_random);
        }
        let all = communicators(rank, &mut random, count).await;
        let mut pending = Vec::new();
        for number in 0..calls {
            let on = &all[random.below(all.len() as u64) as usize];
            let len = [0, 8, 40, 304, 9000][random.below(5) as usize];
            let [kind, root] = [16, 1 << 20].map(|bound| random.below(bound));
            let [in_place, commutative] = [0; 2].map(|_| random.one_in(2));
            let form = [CallForm::Blocking, CallForm::Nonblocking][random.below(2) as usize];
            let name = format!("call {number}, kind {kind} of {len} bytes on {:?}", on.near);
            let buffers = Vec::new();
            let draw =
                Draw { rank, on, number, turn: 0, len, root, in_place, commutative, buffers };
            let (call, buffers) = draw.call(kind);
            let activity = rank.mpi.launch(call, form).unwrap();
            pending.push(Pending { activity, buffers, name });
            if form == CallForm::Blocking {
                let called = pending.len() - 1;
                complete(rank, called, &mut pending).await;
            }
            while pending.len() == PENDING_MAX || !pending.is_empty() && own_random.one_in(3) {
                let drawn = own_random.below(pending.len() as u64) as usize;
                complete(rank, drawn, &mut pending).await;
            }
        }
        while !pending.is_empty() {
            let drawn = own_random.below(pending.len() as u64) as usize;
            complete(rank, drawn, &mut pending).await;
        }
    };
    match network {
        TestNetwork::Local => drop(placed(places, seed, body)),
        TestNetwork::Remote => drop(networked(places, seed, body)),
        TestNetwork::Faulty => {
            let mut random = Random::new(seed);
            let faults = |network: &[_]| Faults::draw(network, &mut random, 0, FAULT_TURNS);
            drop(faulty(places, seed, faults, body));
        }
    }
}

/// Between the ranks of a sequence.
#[derive(Clone, Copy)]
enum TestNetwork {
    /// Ranks of a node share segments.
    Local,
    Remote,
    /// It is divided for a while, or a rank is slow.
    Faulty,
}

#[test]
fn sequences_on_communicators_of_every_kind() {
    for (count, number) in (1..=8).flat_map(|count| (0..3).map(move |number| (count, number))) {
        let seed = u64::from(count) << 16 | number;
        let mut random = Random::new(seed);
        // One node, two by block, and any.
        let places: Vec<u32> = (0..count)
            .map(|rank| match number {
                0 => 0,
                1 => rank * 2 / count,
                _ => random.below(3) as u32,
            })
            .collect();
        sequence(&places, seed, 30, TestNetwork::Local);
        sequence(&places, seed, 15, TestNetwork::Remote);
    }
}

#[test]
fn sequences_on_hosts_in_turn_and_uneven() {
    for (seed, places) in (1 << 20..).zip([
        &[0, 0, 1, 1][..],
        &[0, 1, 0, 1],
        &[0, 0, 0, 1],
        &[0, 1, 1, 1, 2],
        &[0, 1, 2, 0, 1, 2, 0],
    ]) {
        sequence(places, seed, 60, TestNetwork::Local);
    }
}

#[test]
fn any_seed_of_collectives_has_the_naive_results() {
    each_seed(30, 5_000, |seed| {
        let mut random = Random::new(seed);
        let count = size(&mut random);
        let places: Vec<u32> = (0..count).map(|_| random.below(3) as u32).collect();
        sequence(&places, seed, 15, TestNetwork::Faulty);
    });
}
