//! Partitioned operations by signalled puts, where an interface of the device makes them.
//!
//! ```text
//!   sender                                          receiver
//!   registers the number of started rounds
//!       setup, with its key ──────────────────────────> registers its memory and a counter per message
//!       <───────────────────────── answer: both keys, or a refusal
//!   each round:
//!       number of started rounds <── add 1 ───────────  MPI_Start
//!       put of a message, then ───── add 1 ──────────>  its counter: arrived if it is the round
//! ```
//!
//! A message that is ready before the receiver has started the round waits at the sender, and a poll puts
//! it. A send has completed when all puts to its peer have. Puts of other operations may be among them, but
//! finitely many: no operation starts again before it has completed.
//!
//! A receiver refuses if its memory is scattered or too short. A sender whose device refuses a put waits
//! for the end of its other puts, then adds to a counter behind those of the messages: the receiver fails.

use super::division::MessageDivision;
use super::operation::{OperationRole, PartitionedId, PartitionedOperation, SenderKnowledge};
use super::put_state::{ArrivalCounters, PutReceiver, PutSender, PutState};
use super::setup::{PartitionedSetup, PutAnswer};
use crate::device::Device;
use crate::device::rma::{
    MemoryKey, NumberKind, PutSignal, RemoteAccess, RemoteAddress, Rma, RmaError, Update,
    UpdateExecutor,
};
use crate::engine::Engine;
use crate::engine::memory::Memory;
use crate::engine::point_to_point::matching::MatchPattern;
use crate::engine::point_to_point::send::Mode;
use crate::engine::point_to_point::wire::Envelope;
use crate::mpi::Mpi;
use crate::mpi::communicator::Traffic;
use platform::base::{ErrorClass, MpiError, Peer, Result, Span};

/// The number of the answer to an offer among the messages of an operation.
pub(super) const ANSWER: u32 = u32::MAX - 1;

/// The agreement on puts.
impl<D: Device> Mpi<D> {
    /// Accepts or refuses the offer of a sender, and answers it.
    pub(super) fn answer_offer(
        &mut self, id: PartitionedId, setup: PartitionedSetup,
    ) -> Option<(PutReceiver, ArrivalCounters)> {
        let started = setup.started?;
        let peer = self.partitioned.all[id].peer?;
        let accepted = self.accept_offer(id, peer.peer, started, setup);
        let keys = accepted.as_ref().map(|(puts, _)| puts.keys);
        let context = peer.context.for_traffic(Traffic::PartitionedSetup);
        let tag = answer_tag(setup.first_tag);
        let envelope = Envelope { context, source: peer.own_rank, tag };
        let message = Memory::owned(PutAnswer(keys).emit());
        let sent = self.engine.send(peer.peer, envelope, message, Mode::Standard);
        sent.into_iter().for_each(|sent| self.engine.release(sent));
        accepted
    }

    fn accept_offer(
        &mut self, id: PartitionedId, peer: Peer, started: MemoryKey, setup: PartitionedSetup,
    ) -> Option<(PutReceiver, ArrivalCounters)> {
        let operation = &self.partitioned.all[id];
        let memory = operation.memory.span().filter(|_| !operation.is_freed)?;
        let rma = self.engine.interface_memory()?;
        let is_long_enough = setup.partitions.total_bytes() <= memory.len() as u64;
        let executor = rma.open(peer, started).ok()?.executor;
        if !is_long_enough || executor != UpdateExecutor::Interface {
            return None;
        }
        let messages = MessageDivision::new(setup.partitions).messages();
        let counters = ArrivalCounters::new(messages, operation.rounds);
        let access = RemoteAccess::ReadWrite;
        let memory_key = rma.register(memory, access).ok()?;
        let Ok(counters_key) = rma.register(counters.span(), access) else {
            rma.deregister(memory_key);
            return None;
        };
        let keys = [memory_key, counters_key];
        let started = RemoteAddress { peer, key: started, offset: 0 };
        Some((PutReceiver { keys, started, untold: 0, counted: 0 }, counters))
    }

    /// The answer to the offer of a sender has arrived, or the receiver has failed.
    pub(super) fn complete_answer(
        &mut self, id: PartitionedId, bytes: usize, error: Option<Box<MpiError>>,
    ) {
        let operation = &mut self.partitioned.all[id];
        let OperationRole::Sender { puts: Some(puts), .. } = &mut operation.role else { return };
        let Some(memory) = puts.answer() else { return };
        let mut message = [0; PutAnswer::LEN];
        // A shorter message leaves zeros, which are a refusal.
        memory.pack(0, &mut message[..bytes.min(memory.len())]);
        if let PutState::Failed(_, answer) = &mut puts.state {
            *answer = None;
        } else if let Some(error) = error {
            self.fail_sender(id, error, false);
            return self.complete_answer(id, 0, None);
        } else if let PutAnswer(Some(keys)) = PutAnswer::parse(message) {
            puts.state = PutState::Open(keys);
        } else {
            let ready: Vec<_> = puts.ready.drain(..).collect();
            self.end_puts(id);
            self.partitioned.by_put.retain(|other| *other != id);
            self.send_messages(id, &ready);
        }
        if self.partitioned.all[id].is_freed {
            self.end_puts(id);
            drop(self.partitioned.all.remove(id));
        } else {
            self.engine.note_event();
            self.advance_put_operation(id);
        }
    }

    /// Ends the puts of an operation, and its registrations, which no peer uses any more.
    pub(super) fn end_puts(&mut self, id: PartitionedId) {
        let (sender, receiver) = match &mut self.partitioned.all[id].role {
            OperationRole::Sender { puts, .. } => (puts.take(), None),
            OperationRole::Receiver(SenderKnowledge::Known { puts, .. }) => (None, puts.take()),
            OperationRole::Receiver(_) => (None, None),
        };
        let sent = sender.iter().map(|puts| puts.started_key);
        let received = receiver.iter().flat_map(|puts| puts.keys);
        if let Some(rma) = self.engine.rma() {
            sent.chain(received).for_each(|key| rma.deregister(key));
        }
    }
}

/// Rounds.
impl<D: Device> Mpi<D> {
    /// From now on polls advance a started operation if it is by puts.
    pub(super) fn await_puts(&mut self, id: PartitionedId) {
        let operation = &mut self.partitioned.all[id];
        let is_by_put =
            operation.puts_of_sender().is_some() || operation.puts_of_receiver().is_some();
        if !is_by_put || operation.is_complete() {
            return;
        }
        if !self.partitioned.by_put.contains(&id) {
            self.partitioned.by_put.push(id);
        }
        self.engine.note_long_start();
        self.advance_put_operation(id);
    }

    /// Takes messages of an active send that are ready.
    pub(super) fn put_messages(&mut self, id: PartitionedId, messages: &[u32]) {
        let operation = &mut self.partitioned.all[id];
        let Some(puts) = operation.puts_of_sender() else { return };
        let failed = messages.iter().filter(|message| puts.add_ready(**message)).count();
        self.complete_messages(id, failed as u32);
        self.advance_put_operation(id);
    }

    /// Advances the started operations by puts; the number of events.
    #[cold]
    pub(in crate::mpi) fn advance_puts(&mut self) -> usize {
        let (mut events, mut index) = (0, 0);
        while let Some(&id) = self.partitioned.by_put.get(index) {
            let peer = self.partitioned.all[id].peer.map(|peer| peer.peer);
            let failed = self.engine.is_disturbed();
            match peer.filter(|_| failed).and_then(|peer| self.engine.failure(peer)) {
                Some(error) => self.fail_put_operation(id, error),
                None => events += self.advance_put_operation(id),
            }
            if self.partitioned.all[id].is_complete() {
                self.partitioned.by_put.swap_remove(index);
            } else {
                index += 1;
            }
        }
        events
    }

    /// Does what is due for an operation; the number of events.
    pub(super) fn advance_put_operation(&mut self, id: PartitionedId) -> usize {
        match &self.partitioned.all[id].role {
            OperationRole::Sender { puts: Some(_), .. } => {
                self.put_ready(id) + self.take_ends(id) + self.tell_failure(id)
            }
            OperationRole::Receiver(SenderKnowledge::Known { puts: Some(_), .. }) => {
                self.tell_start(id) + self.count_arrivals(id)
            }
            OperationRole::Sender { puts: None, .. } | OperationRole::Receiver(_) => 0,
        }
    }

    /// Puts the messages that are ready, if the receiver has started the round.
    fn put_ready(&mut self, id: PartitionedId) -> usize {
        let operation = &mut self.partitioned.all[id];
        let (division, memory) = (operation.state.division(), operation.memory.span());
        let rounds = operation.rounds;
        let (Some(to), Some(division), Some(memory)) = (operation.peer, division, memory) else {
            return 0;
        };
        let Some(puts) = operation.puts_of_sender() else { return 0 };
        let PutState::Open([key, counters]) = puts.state else { return 0 };
        if puts.started_rounds() < rounds {
            return 0;
        }
        let before = puts.ready.len();
        while let Some(&message) = puts.ready.front() {
            let bytes = division.bytes_of(message);
            let from = memory.part(bytes.start as usize, (bytes.end - bytes.start) as usize);
            let at = RemoteAddress { peer: to.peer, key, offset: bytes.start };
            let offset = 8 * u64::from(message);
            let signal = PutSignal { key: counters, offset, addend: 1 };
            let put = |rma: &mut dyn Rma| rma.put_signalled(from, at, signal);
            match try_access(&mut self.engine, to.peer, put) {
                Ok(true) => puts.accept_first(),
                Ok(false) => break,
                Err(error) => {
                    self.fail_sender(id, error, true);
                    return 1;
                }
            }
        }
        before - puts.ready.len()
    }

    /// Completes the messages of all senders to a peer whose puts have ended.
    fn take_ends(&mut self, id: PartitionedId) -> usize {
        let operation = &mut self.partitioned.all[id];
        let Some(peer) = operation.peer.map(|peer| peer.peer) else { return 0 };
        if operation.puts_of_sender().is_none_or(|puts| puts.accepted == 0) {
            return 0;
        }
        let Some(end) = self.engine.rma().and_then(|rma| rma.flush(peer)) else { return 0 };
        // The error of a flush is told once, and does not name the access.
        for index in 0..self.partitioned.by_put.len() {
            let other = self.partitioned.by_put[index];
            let operation = &mut self.partitioned.all[other];
            let to = operation.peer.map(|peer| peer.peer);
            let Some(puts) = operation.puts_of_sender().filter(|_| to == Some(peer)) else {
                continue;
            };
            let ended = std::mem::take(&mut puts.accepted);
            self.complete_messages(other, ended);
            if let (Err(error), 1..) = (&end, ended) {
                self.fail_sender(other, error.clone(), true);
            }
        }
        1
    }

    /// Tells the receiver that there will be no more puts, after those before have ended.
    fn tell_failure(&mut self, id: PartitionedId) -> usize {
        let operation = &mut self.partitioned.all[id];
        let (peer, division) = (operation.peer, operation.state.division());
        let (Some(to), Some(division)) = (peer, division) else { return 0 };
        let Some(puts) = operation.puts_of_sender().filter(|puts| puts.accepted == 0) else {
            return 0;
        };
        let PutState::Telling(key, error) = &puts.state else { return 0 };
        let offset = 8 * u64::from(division.messages());
        let at = RemoteAddress { peer: to.peer, key: *key, offset };
        // Nothing more can be done if the device refuses this, too.
        if let Ok(false) = try_access(&mut self.engine, to.peer, |rma| add(rma, at)) {
            return 0;
        }
        puts.state = PutState::Failed(error.clone(), None);
        self.complete_messages(id, 1);
        1
    }

    /// Tells the sender that this side has started a round.
    fn tell_start(&mut self, id: PartitionedId) -> usize {
        let Some(puts) = self.partitioned.all[id].puts_of_receiver() else { return 0 };
        let mut events = 0;
        while puts.untold > 0 {
            let (peer, at) = (puts.started.peer, puts.started);
            match try_access(&mut self.engine, peer, |rma| add(rma, at)) {
                Ok(true) => puts.untold -= 1,
                Ok(false) => break,
                Err(error) => {
                    self.fail_receiver(id, error);
                    return 1;
                }
            }
            events += 1;
        }
        events
    }

    /// Counts the messages of a receiver that have arrived.
    fn count_arrivals(&mut self, id: PartitionedId) -> usize {
        let operation = &mut self.partitioned.all[id];
        let state = operation.state.clone();
        let (Some(division), Some(counters)) = (state.division(), state.counters()) else {
            return 0;
        };
        if counters.has_sender_failed() {
            let why = "the device of the sender of a partitioned receive could not write its bytes";
            self.fail_receiver(id, ErrorClass::Other.error(why));
            return 1;
        }
        let Some(puts) = operation.puts_of_receiver() else { return 0 };
        let before = puts.counted;
        let all = before..division.messages();
        let arrived =
            all.take_while(|message| counters.have(*message..*message + 1)).count() as u32;
        puts.counted += arrived;
        let bytes = (before..before + arrived).map(|message| division.bytes_of(message));
        operation.received_bytes += bytes.map(|bytes| bytes.end - bytes.start).sum::<u64>();
        self.complete_messages(id, arrived);
        arrived as usize
    }

    /// Messages of this number have completed.
    fn complete_messages(&mut self, id: PartitionedId, messages: u32) {
        let operation = &mut self.partitioned.all[id];
        operation.left -= messages;
        if messages > 0 && operation.left == 0 {
            self.engine.note_event();
        }
    }
}

/// Failures.
impl<D: Device> Mpi<D> {
    /// Ends the started operations by puts with a process that has ended.
    pub(in crate::mpi) fn end_puts_with(&mut self, ended: Peer) {
        let all = self.partitioned.by_put.iter().copied();
        let with_peer = |id: &PartitionedId| {
            self.partitioned.all[*id].peer.is_some_and(|peer| peer.peer == ended)
        };
        for id in all.filter(with_peer).collect::<Vec<_>>() {
            let why = format!(
                "the process of rank {ended} of the world ended before a partitioned operation with \
                 tag {} was complete",
                self.partitioned.all[id].tag
            );
            self.fail_put_operation(id, ErrorClass::Other.error(why));
        }
    }

    /// The peer of an operation does not exist any more.
    fn fail_put_operation(&mut self, id: PartitionedId, error: Box<MpiError>) {
        match &self.partitioned.all[id].role {
            OperationRole::Sender { .. } => self.fail_sender(id, error, false),
            OperationRole::Receiver(_) => self.fail_receiver(id, error),
        }
        self.engine.note_event();
    }

    fn fail_sender(&mut self, id: PartitionedId, error: Box<MpiError>, is_peer_there: bool) {
        let operation = &mut self.partitioned.all[id];
        let Some(puts) = operation.puts_of_sender() else { return };
        let was_telling = matches!(puts.state, PutState::Telling(..));
        let ended = puts.fail(error.clone(), is_peer_there);
        // What tells the receiver counts as a message.
        let is_telling = matches!(puts.state, PutState::Telling(..));
        operation.left += u32::from(is_telling && !was_telling);
        operation.error.get_or_insert(error);
        self.complete_messages(id, ended + u32::from(was_telling && !is_telling));
    }

    fn fail_receiver(&mut self, id: PartitionedId, error: Box<MpiError>) {
        self.end_puts(id);
        let operation = &mut self.partitioned.all[id];
        operation.state.counters().iter().for_each(|counters| counters.fail());
        operation.error.get_or_insert(error.clone());
        operation.role = OperationRole::Receiver(SenderKnowledge::Lost(error));
        operation.left = 0;
        self.engine.note_event();
    }
}

impl PartitionedOperation {
    fn puts_of_sender(&mut self) -> Option<&mut PutSender> {
        match &mut self.role {
            OperationRole::Sender { puts, .. } => puts.as_deref_mut(),
            OperationRole::Receiver(_) => None,
        }
    }

    fn puts_of_receiver(&mut self) -> Option<&mut PutReceiver> {
        match &mut self.role {
            OperationRole::Receiver(SenderKnowledge::Known { puts, .. }) => puts.as_mut(),
            OperationRole::Receiver(_) | OperationRole::Sender { .. } => None,
        }
    }
}

/// Makes an access to memory of `peer`; whether the device has accepted it.
///
/// # Errors
/// The device refuses it for good.
fn try_access<D: Device>(
    engine: &mut Engine<D>, peer: Peer, access: impl FnOnce(&mut dyn Rma) -> Result<(), RmaError>,
) -> Result<bool> {
    match engine.rma().map(access) {
        Some(Ok(())) => Ok(true),
        Some(Err(RmaError::Busy)) => Ok(false),
        Some(Err(RmaError::Denied(error))) => Err(error),
        None => {
            let why = format!("the device no longer writes to memory of rank {peer}");
            Err(ErrorClass::Other.error(why))
        }
    }
}

fn add(rma: &mut dyn Rma, at: RemoteAddress) -> Result<(), RmaError> {
    rma.update(at, NumberKind::Unsigned8, Update::Add(1), Span::EMPTY)
}

/// The answer to the offer of a sender. The tag is negative, so no setup message has it, and the sender has
/// no other operation with it at that time.
pub(super) fn answer_pattern(context: u64, rank: u32, first_tag: u32) -> MatchPattern {
    MatchPattern { context, source: Some(rank), tag: Some(answer_tag(first_tag)) }
}

fn answer_tag(first_tag: u32) -> i32 {
    !((first_tag & i32::MAX as u32) as i32)
}

#[cfg(test)]
mod tests {
    use super::super::division::Partitions;
    use super::super::operation::{PartitionedArguments, PartitionedKind};
    use super::*;
    use crate::devices::loopback::Loopback;
    use crate::engine::memory::OwnedBytes;
    use crate::engine::memory::layout::Layout;
    use crate::mpi::WorldAttributes;
    use crate::mpi::communicator::COMM_WORLD;
    use crate::mpi::handle::Handle;
    use crate::mpi::objects::Objects;
    use std::sync::Arc;

    const PARTITIONS: Partitions = Partitions { count: 3, bytes: 5000 };
    const LEN: usize = 15_000;

    /// A send of rank 0 to rank 1, with its receive.
    struct Pair {
        world: Vec<Mpi<Loopback>>,
        requests: [Handle; 2],
        memory: [Memory; 2],
    }

    impl Pair {
        fn new() -> Self {
            Self::with_memory([0, 1].map(|_| Memory::owned(vec![0; LEN])))
        }

        fn with_memory(memory: [Memory; 2]) -> Self {
            let devices = Loopback::network(2).into_iter().zip(0..);
            let mut world: Vec<_> = devices
                .map(|(device, me)| {
                    let attributes = WorldAttributes::default();
                    let mut mpi = Mpi::without_world(device, me, 2, Objects::default(), attributes);
                    mpi.begin_world().unwrap();
                    mpi
                })
                .collect();
            let kinds = [PartitionedKind::Send, PartitionedKind::Receive];
            let requests = [0, 1].map(|side| {
                let (kind, rank, tag) = (kinds[side], 1 - side as i32, 4);
                let (partitions, comm) = (PARTITIONS, COMM_WORLD);
                let arguments = PartitionedArguments { kind, partitions, rank, tag, comm };
                world[side].create_partitioned(arguments, memory[side].alias()).unwrap()
            });
            Self { world, requests, memory }
        }

        fn start(&mut self, rank: usize) {
            self.world[rank].start(self.requests[rank]).unwrap();
        }

        /// Fills the memory of the sender, which has started, and marks its partitions.
        fn make_ready(&mut self, byte: u8) {
            self.memory[0].unpack(0, &[byte; LEN]);
            let (table, mut complete) = (self.world[0].partitioned.table().clone(), Vec::new());
            let marked = table.look(self.requests[0], |state| {
                state.make_ready(0..PARTITIONS.count as i32, |message| complete.push(message))
            });
            marked.unwrap().unwrap();
            self.world[0].send_partitions(self.requests[0], &complete).unwrap();
        }

        fn poll(&mut self) {
            for _ in 0..200 {
                for mpi in &mut self.world {
                    mpi.poll();
                }
            }
        }

        fn has_bytes(&self, byte: u8) -> bool {
            let mut bytes = [0; LEN];
            self.memory[1].pack(0, &mut bytes);
            bytes == [byte; LEN]
        }

        /// The error of a request that completes.
        fn end(&mut self, rank: usize) -> Option<String> {
            for _ in 0..10_000 {
                self.poll();
                if let Some(end) = self.world[rank].complete(self.requests[rank]).unwrap() {
                    return end.outcome.error.map(|error| error.why.to_string());
                }
            }
            panic!("the request of rank {rank} does not complete");
        }

        fn is_pending(&mut self, rank: usize) -> bool {
            self.world[rank].complete(self.requests[rank]).unwrap().is_none()
        }

        fn round(&mut self, byte: u8) {
            (0..2).for_each(|rank| self.start(rank));
            self.make_ready(byte);
            assert_eq!([0, 1].map(|rank| self.end(rank)), [None, None]);
            assert!(self.has_bytes(byte));
        }

        fn operation(&mut self, rank: usize) -> &mut PartitionedOperation {
            let all = &mut self.world[rank].partitioned.all;
            let id = all.iter().next().unwrap().0;
            &mut all[id]
        }

        fn keys(&mut self) -> [MemoryKey; 3] {
            let started = self.operation(0).puts_of_sender().unwrap().started_key;
            let [memory, counters] = self.operation(1).puts_of_receiver().unwrap().keys;
            [started, memory, counters]
        }

        fn free(&mut self) {
            for rank in 0..2 {
                self.world[rank].free_request(self.requests[rank]).unwrap();
                self.poll();
            }
            assert!(self.world.iter().all(|mpi| mpi.partitioned.is_empty()));
        }
    }

    #[test]
    fn nothing_is_put_before_the_receiver_has_started_the_round() {
        let mut pair = Pair::new();
        for round in 1..9 {
            pair.start(0);
            pair.make_ready(round);
            pair.poll();
            assert!(pair.is_pending(0) && pair.has_bytes(round - 1));
            let report = pair.world[0].blocked_requests("MPI_Wait", false, [pair.requests[0]]);
            assert!(report.details.contains("which the receiver has not started"));
            pair.start(1);
            assert_eq!([1, 0].map(|rank| pair.end(rank)), [None, None]);
            assert!(pair.has_bytes(round));
        }
        pair.free();
    }

    #[test]
    fn no_peer_reaches_memory_of_freed_operations() {
        let mut pair = Pair::new();
        pair.round(7);
        let [started, memory, counters] = pair.keys();
        let keys = [(1, 0, started), (0, 1, memory), (0, 1, counters)];
        let can_open = |pair: &mut Pair| {
            keys.map(|(rank, peer, key)| {
                pair.world[rank].engine.rma().unwrap().open(peer, key).is_ok()
            })
        };
        assert_eq!(can_open(&mut pair), [true; 3]);
        pair.free();
        assert_eq!(can_open(&mut pair), [false; 3]);
    }

    #[test]
    fn a_device_that_refuses_a_put_fails_both_sides() {
        let mut pair = Pair::new();
        pair.round(7);
        let [_, memory, _] = pair.keys();
        pair.world[1].engine.rma().unwrap().deregister(memory);
        for _ in 0..2 {
            (0..2).for_each(|rank| pair.start(rank));
            pair.make_ready(9);
            let [sender, receiver] = [0, 1].map(|rank| pair.end(rank).expect("an error"));
            assert!(sender.contains("registered no memory"), "{sender}");
            assert!(receiver.contains("could not write"), "{receiver}");
        }
        assert!(pair.has_bytes(7));
        pair.free();
    }

    #[test]
    fn the_end_of_a_process_ends_operations_with_it() {
        let mut pair = Pair::new();
        (0..2).for_each(|round| pair.round(round));
        for _ in 0..2 {
            pair.start(0);
            pair.make_ready(9);
            pair.world[0].end_operations_with(1);
            assert!(pair.end(0).expect("an error").contains("rank 1 of the world ended"));
        }
        pair.start(1);
        assert_eq!(pair.world[1].awaited_processes(), [0]);
        pair.world[1].end_operations_with(0);
        assert!(pair.end(1).expect("an error").contains("rank 0 of the world ended"));
        pair.start(1);
        assert!(pair.end(1).is_some() && pair.has_bytes(1));
        pair.free();
    }

    #[test]
    fn an_answer_to_a_freed_send_is_taken() {
        let mut pair = Pair::new();
        pair.start(0);
        pair.make_ready(9);
        pair.world[0].end_operations_with(1);
        assert!(pair.end(0).is_some());
        pair.world[0].free_request(pair.requests[0]).unwrap();
        assert!(!pair.world[0].partitioned.is_empty());
        pair.start(1);
        pair.poll();
        assert!(pair.world[0].partitioned.is_empty() && pair.is_pending(1));
    }

    #[test]
    fn scattered_memory_is_sent_in_messages() {
        let block = Arc::new(Layout::dense(10).resized(0, 12).unwrap());
        let region = OwnedBytes::zeroed(12 * LEN / 10);
        for scattered in 0..2 {
            let mut memory = [0, 1].map(|_| Memory::owned(vec![0; LEN]));
            memory[scattered] = Memory::within(region.span(), 0, LEN / 10, &block).unwrap();
            let mut pair = Pair::with_memory(memory);
            (1..4).for_each(|byte| pair.round(byte));
            assert!(pair.operation(0).puts_of_sender().is_none());
            assert!(pair.operation(1).puts_of_receiver().is_none());
            pair.free();
        }
    }
}
