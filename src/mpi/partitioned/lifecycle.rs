//! Partitioned operations: creation, start, messages, completion and end.
//!
//! ```text
//!   send       New ──start──> announced ──────────────────────────────> one message at a time leaves
//!   receive    New ──start──> Announced ──setup arrives──> Known ──┬──> a receive for each message
//!                                 └──the sender fails────> Lost ───┘    (each start)
//! ```
//!
//! With puts, data messages are not sent and received: see [`by_put`](super::by_put).
//!
//! An operation is active from a start to the call that completes it.

use std::sync::Arc;

use super::by_put::{ANSWER, answer_pattern};
use super::division::MessageDivision;
use super::operation::{
    OperationRole, PartitionedArguments, PartitionedId, PartitionedKind, PartitionedOperation,
    PartitionedPeer, SenderKnowledge,
};
use super::put_state::PutSender;
use super::setup::PartitionedSetup;
use super::state::PartitionedState;
use crate::device::Device;
use crate::engine::memory::Memory;
use crate::engine::point_to_point::matching::MatchPattern;
use crate::engine::point_to_point::operation::{CompletedPart, MemoryRange, PartId};
use crate::engine::point_to_point::send::Mode;
use crate::engine::point_to_point::wire::Envelope;
use crate::engine::schedules::plan::Members;
use crate::mpi::Mpi;
use crate::mpi::communicator::Traffic;
use crate::mpi::handle::Handle;
use crate::mpi::point_to_point::{StartArguments, check_tag};
use crate::mpi::request::status::{ANY_SOURCE, ANY_TAG, PROC_NULL};
use crate::mpi::request::{Outcome, REQUEST_NULL, not_a_request};
use platform::base::{ErrorClass, MpiError, Result};

/// The number of the setup message among the messages of an operation.
const SETUP: u32 = u32::MAX;

impl<D: Device> Mpi<D> {
    /// Creates an inactive request (`MPI_Psend_init`, `MPI_Precv_init`). Local.
    ///
    /// # Errors
    /// `Comm`, `Rank` or `Tag` for a wrong argument, wildcards included; `NoMem` without a free handle.
    pub(crate) fn create_partitioned(
        &mut self, arguments: PartitionedArguments, memory: Memory,
    ) -> Result<Handle> {
        let PartitionedArguments { kind, partitions, tag, comm, .. } = arguments;
        let peer = self.partitioned_peer(arguments)?;
        self.check_request_space()?;
        let id = self.partitioned.all.next_key();
        let handle = self.persistent(comm, StartArguments::Partitioned(id))?;
        let state = Arc::new(match (kind, peer) {
            (PartitionedKind::Send, _) => PartitionedState::sender(handle, partitions),
            (PartitionedKind::Receive, Some(_)) => PartitionedState::receiver(handle, partitions),
            (PartitionedKind::Receive, None) => {
                PartitionedState::without_sender(handle, partitions)
            }
        });
        let role = match kind {
            PartitionedKind::Send => {
                let first_tag = self.partitioned.next_tag;
                let messages = state.division().map_or(0, MessageDivision::messages);
                self.partitioned.next_tag = first_tag.wrapping_add(messages);
                OperationRole::Sender { first_tag, puts: None }
            }
            PartitionedKind::Receive => OperationRole::Receiver(SenderKnowledge::Unasked),
        };
        self.partitioned.table.insert(Arc::clone(&state));
        self.partitioned.all.insert(PartitionedOperation {
            state,
            memory,
            peer,
            tag,
            role,
            rounds: 0,
            left: 0,
            received_bytes: 0,
            error: None,
            is_freed: false,
        });
        self.partitioned.add_unannounced(id);
        Ok(handle)
    }

    /// The other side; `None` for `MPI_PROC_NULL`.
    fn partitioned_peer(&self, arguments: PartitionedArguments) -> Result<Option<PartitionedPeer>> {
        let PartitionedArguments { kind, rank, tag, comm, .. } = arguments;
        let comm = self.comms.get(comm)?;
        comm.check_usable()?;
        if kind == PartitionedKind::Receive && tag == ANY_TAG {
            return Err(ErrorClass::Tag.error(wildcard("MPI_ANY_TAG", "a tag of 0 or more")));
        }
        check_tag(tag)?;
        if rank == PROC_NULL {
            return Ok(None);
        }
        if kind == PartitionedKind::Receive && rank == ANY_SOURCE {
            return Err(ErrorClass::Rank.error(wildcard("MPI_ANY_SOURCE", "one rank")));
        }
        let rank = comm.check_rank(rank)?;
        let (peer, own_rank) = (comm.targets().peer(rank), comm.rank);
        Ok(Some(PartitionedPeer { peer, rank, own_rank, context: comm.context }))
    }

    /// Starts an operation that is inactive.
    pub(in crate::mpi) fn start_partitioned(&mut self, id: PartitionedId) {
        let operation = &mut self.partitioned.all[id];
        (operation.left, operation.received_bytes, operation.error) = (0, 0, None);
        operation.rounds += 1;
        operation.state.start();
        match (&operation.role, operation.state.division()) {
            (OperationRole::Sender { puts, .. }, division) => {
                operation.left = division.map_or(0, MessageDivision::messages);
                let failure = puts.as_ref().and_then(|puts| puts.failure());
                operation.error = failure.map(|error| Box::new(error.clone()));
            }
            (OperationRole::Receiver(SenderKnowledge::Lost(error)), _) => {
                operation.error = Some(error.clone());
            }
            (OperationRole::Receiver(SenderKnowledge::Known { .. }), _) => self.post_messages(id),
            (OperationRole::Receiver(SenderKnowledge::Unasked | SenderKnowledge::Asked(_)), _) => {
                // The receives of the messages are posted later.
                self.engine.note_long_start();
            }
        }
        for earlier in self.partitioned.take_unannounced(id) {
            self.announce(earlier);
        }
        self.advance_partitioned();
        self.await_puts(id);
    }

    /// Sends or asks for the setup of an operation.
    fn announce(&mut self, id: PartitionedId) {
        let operation = &mut self.partitioned.all[id];
        let Some(PartitionedPeer { peer, rank, own_rank, context }) = operation.peer else {
            return;
        };
        let context = context.for_traffic(Traffic::PartitionedSetup);
        match &mut operation.role {
            OperationRole::Sender { first_tag, puts } => {
                let partitions = operation.state.partitions();
                *puts = PutSender::offer(self.engine.interface_memory(), &operation.memory);
                let started = puts.as_ref().map(|puts| puts.started_key);
                let setup = PartitionedSetup { partitions, first_tag: *first_tag, started };
                if let Some(answer) = puts.as_ref().and_then(|puts| puts.answer()) {
                    let pattern = answer_pattern(context, rank, *first_tag);
                    let part = PartId { operation: id, part: ANSWER };
                    self.engine.receive_part(pattern, MemoryRange::all(answer.alias()), part);
                }
                let envelope = Envelope { context, source: own_rank, tag: operation.tag };
                let message = Memory::owned(setup.emit());
                let sent = self.engine.send(peer, envelope, message, Mode::Standard);
                sent.into_iter().for_each(|sent| self.engine.release(sent));
            }
            OperationRole::Receiver(knowledge) => {
                let memory = Memory::owned([0; PartitionedSetup::LEN]);
                let buffer = MemoryRange::all(memory.alias());
                *knowledge = SenderKnowledge::Asked(memory);
                let pattern =
                    MatchPattern { context, source: Some(rank), tag: Some(operation.tag) };
                let part = PartId { operation: id, part: SETUP };
                self.engine.receive_part(pattern, buffer, part);
            }
        }
    }

    /// Posts the receives of an operation that has started and whose sender is known.
    fn post_messages(&mut self, id: PartitionedId) {
        let operation = &mut self.partitioned.all[id];
        let (
            Some(peer),
            Some(division),
            OperationRole::Receiver(SenderKnowledge::Known { first_tag, puts }),
        ) = (operation.peer, operation.state.division(), &mut operation.role)
        else {
            return;
        };
        operation.left = division.messages();
        if let Some(puts) = puts {
            puts.start();
            return self.await_puts(id);
        }
        let first_tag = *first_tag;
        operation.error = operation.truncation(division.sender());
        let context = peer.context.for_traffic(Traffic::Partitioned);
        for message in 0..division.messages() {
            let tag = Some(first_tag.wrapping_add(message) as i32);
            let pattern = MatchPattern { context, source: Some(peer.rank), tag };
            let part = PartId { operation: id, part: message };
            self.engine.receive_part(pattern, operation.range(division, message), part);
        }
    }

    /// Sends messages of an active send whose partitions are all ready.
    ///
    /// # Errors
    /// `Request` if the handle is not a partitioned request.
    pub(crate) fn send_partitions(&mut self, handle: Handle, messages: &[u32]) -> Result {
        let Some(StartArguments::Partitioned(id)) = self.start_arguments(handle) else {
            return Err(self.not_partitioned(handle));
        };
        let id = *id;
        match &mut self.partitioned.all[id].role {
            OperationRole::Sender { puts: Some(_), .. } => self.put_messages(id, messages),
            OperationRole::Sender { puts: None, .. } => self.send_messages(id, messages),
            OperationRole::Receiver(_) => return Err(self.not_partitioned(handle)),
        }
        self.advance_partitioned();
        Ok(())
    }

    /// Sends messages of an active send by the engine.
    pub(super) fn send_messages(&mut self, id: PartitionedId, messages: &[u32]) {
        for message in messages {
            let operation = &self.partitioned.all[id];
            let (OperationRole::Sender { first_tag, .. }, Some(division)) =
                (&operation.role, operation.state.division())
            else {
                return;
            };
            let part = PartId { operation: id, part: *message };
            let is_sent = operation.peer.is_none_or(|to| {
                let context = to.context.for_traffic(Traffic::Partitioned);
                let tag = first_tag.wrapping_add(*message) as i32;
                let envelope = Envelope { context, source: to.own_rank, tag };
                let range = operation.range(division, *message);
                self.engine.send_part(to.peer, envelope, range, part)
            });
            if is_sent {
                self.complete_part(CompletedPart { id: part, bytes: 0, error: None });
            }
        }
    }

    /// The error of a call that needs a partitioned request.
    pub(crate) fn not_partitioned(&self, handle: Handle) -> Box<MpiError> {
        if handle == REQUEST_NULL || self.owner_of_request(handle).is_none() {
            return not_a_request(handle);
        }
        let why = format!("request {handle:#x} is not of MPI_Psend_init or MPI_Precv_init");
        ErrorClass::Request.error(why)
    }

    /// Takes in the messages that have completed; their number.
    #[cold]
    pub(in crate::mpi) fn advance_partitioned(&mut self) -> usize {
        let mut completed = 0;
        while let Some(part) = self.engine.next_completed_part() {
            self.complete_part(part);
            completed += 1;
        }
        completed
    }

    fn complete_part(&mut self, completed: CompletedPart) {
        let CompletedPart { id: PartId { operation: id, part }, bytes, error } = completed;
        match part {
            SETUP => return self.complete_setup(id, bytes, error),
            ANSWER => return self.complete_answer(id, bytes, error),
            _ => {}
        }
        let operation = &mut self.partitioned.all[id];
        operation.left -= 1;
        operation.received_bytes += bytes as u64;
        // Also after an error, so that a loop over `MPI_Parrived` ends; the completion has the error.
        operation.state.arrive(part);
        operation.error = operation.error.take().or(error);
        if operation.left == 0 {
            self.engine.note_event();
        }
    }

    /// The setup message of a receive has arrived, or the sender has failed.
    fn complete_setup(&mut self, id: PartitionedId, bytes: usize, error: Option<Box<MpiError>>) {
        let operation = &self.partitioned.all[id];
        let OperationRole::Receiver(SenderKnowledge::Asked(memory)) = &operation.role else {
            return;
        };
        let mut message = [0; PartitionedSetup::LEN];
        // A shorter message leaves zeros, which are no setup.
        memory.pack(0, &mut message[..bytes.min(memory.len())]);
        let setup = error.map_or_else(|| PartitionedSetup::parse(message), Err);
        let puts = setup.as_ref().ok().and_then(|setup| self.answer_offer(id, *setup));
        let operation = &mut self.partitioned.all[id];
        if operation.is_freed {
            drop(self.partitioned.all.remove(id));
            return;
        }
        let is_started = operation.state.is_started();
        operation.role = OperationRole::Receiver(match setup {
            Ok(PartitionedSetup { partitions, first_tag, .. }) => {
                let (puts, counters) = puts.unzip();
                operation.state.set_sender(partitions, counters);
                SenderKnowledge::Known { first_tag, puts }
            }
            Err(error) => {
                operation.error = Some(error.clone());
                SenderKnowledge::Lost(error)
            }
        });
        self.engine.note_event();
        if is_started {
            self.post_messages(id);
        }
    }

    /// Ends a complete operation: it becomes inactive.
    pub(in crate::mpi) fn end_partitioned(&mut self, id: PartitionedId) -> Outcome {
        let operation = &mut self.partitioned.all[id];
        operation.state.stop();
        let outcome = Outcome { status: operation.status(), error: operation.error.take() };
        outcome.error.iter().for_each(|error| self.engine.told(error));
        outcome
    }

    /// Checks that the request of an operation can be freed (MPI 5.0 §4.2.1).
    ///
    /// # Errors
    /// `Request` if it is active and not complete.
    pub(in crate::mpi) fn check_partitioned_free(
        &self, handle: Handle, id: PartitionedId,
    ) -> Result {
        let operation = &self.partitioned.all[id];
        if operation.state.is_started() && !operation.is_complete() {
            let why = format!(
                "the partitioned request {handle:#x} is active: complete it before it is freed"
            );
            return Err(ErrorClass::Request.error(why));
        }
        Ok(())
    }

    /// Frees an operation that is inactive or complete.
    pub(in crate::mpi) fn free_partitioned(&mut self, id: PartitionedId) {
        self.partitioned.remove_unannounced(id);
        self.partitioned.by_put.retain(|other| *other != id);
        let operation = &mut self.partitioned.all[id];
        operation.state.stop();
        self.partitioned.table.remove(operation.state.handle());
        if operation.awaits_setup() {
            // The setup message that this operation has to match is still to come, or the answer.
            operation.is_freed = true;
        } else {
            self.end_puts(id);
            drop(self.partitioned.all.remove(id));
        }
    }
}

fn wildcard(name: &str, expected: &str) -> String {
    format!("{name} is not allowed in a partitioned receive: expected {expected}")
}

#[cfg(test)]
mod tests {
    //! Random programs: several ranks in one thread, over a network with random full queues and delays.
    //! Each step of each operation comes in an order that a seed decides. The network makes signalled puts,
    //! or it is one without them.

    use super::super::division::Partitions;
    use super::*;
    use crate::device::middleware::delay::Delay;
    use crate::device::middleware::fault::Fault;
    use crate::devices::loopback::Loopback;
    use crate::mpi::WorldAttributes;
    use crate::mpi::communicator::COMM_WORLD;
    use crate::mpi::objects::Objects;
    use platform::base::Random;
    use std::ops::Range;

    type TestMpi = Mpi<Fault<Delay<Loopback>>>;

    const ROUNDS: u32 = 4;

    fn world(size: u32, seed: u64, makes_puts: bool) -> Vec<TestMpi> {
        let network = match makes_puts {
            true => Loopback::on_nodes(&vec![0; size as usize]),
            false => Loopback::remote(size as usize, seed),
        };
        let network = network.into_iter().zip(0..);
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
            self.unready =
                if self.is_sender { (0..self.partitions.count).collect() } else { vec![] };
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
            table
                .look(self.request, |state| {
                    state.make_ready(named, |message| complete.push(message))
                })
                .unwrap()
                .unwrap();
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

    fn run(seed: u64, makes_puts: bool) {
        let random = &mut Random::new(seed);
        let size = random.below(4) as u32 + 1;
        let mut world = world(size, seed, makes_puts);
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
        for seed in 0..25 {
            println!("seed {seed}");
            run(seed, true);
            run(seed, false);
        }
    }

    #[test]
    fn a_wait_says_which_rank_and_which_partitions_it_waits_for() {
        let mut world = world(2, 1, true);
        let mpi = &mut world[0];
        let partitions = Partitions { count: 3, bytes: 8 };
        let memory = Memory::owned(vec![0; 24]);
        let send = create(mpi, PartitionedKind::Send, (1, 7), partitions, &memory);
        let receive = create(mpi, PartitionedKind::Receive, (1, 8), partitions, &memory);
        mpi.start_all([send, receive].into_iter()).unwrap();
        let table = mpi.partitioned.table().clone();
        let marked = table.look(send, |state| state.make_ready([1].into_iter(), |_| ()));
        marked.unwrap().unwrap();
        let report = mpi.blocked_requests("MPI_Waitall", false, [send, receive]);
        assert_eq!(
            report.details,
            " of 2 requests: partitioned send(dest 1, tag 7, 2 of 3 partitions not marked ready: 0, 2, \
             MPI_COMM_WORLD), partitioned receive(source 1, tag 8, no such send has been started, \
             MPI_COMM_WORLD)"
        );
        let peers: Vec<_> =
            report.conditions.iter().map(|condition| &condition.peers[..]).collect();
        assert_eq!(peers, [&[][..], &[1]]);
    }
}
