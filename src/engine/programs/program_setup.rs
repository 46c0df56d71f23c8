//! The setup of a program: from a schedule to an operation that the device runs (`offloaded`).
//!
//! ```text
//!   begin ──grant exchange──> reserve ──target exchange──> load
//! ```
//!
//! `offload::compile` defines grants and arrival targets. Each target is sent with the keys of its
//! counter, one for each tank, and with the key of its buffer. A key is 0 if this rank could not
//! reserve it: the peers expect a fixed number of words. The first failure is kept and returned by
//! `load`.
//!
//! All words are little-endian. The exchanges have their own labels, which schedules do not use.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::device::Device;
use crate::device::rma::{MemoryKey, RemoteAccess};
use crate::device::trigger::{
    AwaitedArrival, CounterKey, PeerBinding, ProgramBinding, TriggerClass,
};
use crate::engine::memory::Memory;
use crate::engine::programs::offloaded::{OffloadedOperation, PackedBuffer, ReservedResources};
use crate::engine::programs::traffic::peer_traffic;
use crate::engine::schedules::plan::{Launch, RunPlan};
use crate::engine::schedules::reduction::ReductionMethod;
use crate::offload::compile::{ArrivalTarget, Draft, Rules};
use crate::offload::{
    Buffer, Program, Region, Schedule, ScheduleBuilder, Scheme, Step, StepAction, Wait, with_gates,
};
use platform::base::{ErrorClass, MpiError, Peer, Result, Span};

/// The labels of the two exchanges. No algorithm has so many rounds.
const GRANTS_LABEL: u16 = u16::MAX - 1;
const TARGETS_LABEL: u16 = u16::MAX;

/// The grant of a message that needs no ready-to-receive.
const NO_GROUP: u16 = u16::MAX;

/// Keys of a target: two counters and a buffer.
const KEYS: usize = 3;
/// Bytes of a target with its keys in a message.
const TARGET_BYTES: usize = (ArrivalTarget::WORDS + KEYS) * 8;

/// The launch, to be run by messages, and the reason.
pub(crate) type SetupError<Why> = Box<(Launch, Why)>;

pub(crate) struct ProgramSetup {
    launch: Launch,
    draft: Draft,
    tanks: usize,
    packed: Vec<PackedBuffer>,
    scratch: Vec<Memory>,
    reserved: ReservedResources,
    /// The number of targets that each peer expects, in the order of the peers.
    targets_due: Vec<usize>,
    /// The first failure.
    failed: Option<Box<MpiError>>,
}

impl std::fmt::Debug for ProgramSetup {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("ProgramSetup").field("plan", &self.launch.plan).finish_non_exhaustive()
    }
}

impl ProgramSetup {
    /// The part that needs no communication.
    ///
    /// # Errors
    /// The launch, and why its schedule cannot be a program.
    fn draft(mut launch: Launch, rules: &Rules) -> Result<Self, SetupError<String>> {
        let schedule = Arc::clone(&launch.plan.schedule);
        let draft = match Draft::new(&schedule, rules) {
            Ok(draft) => draft,
            Err(why) => return Err(Box::new((launch, why))),
        };
        Ok(Self {
            packed: pack_all(&mut launch.plan),
            scratch: schedule
                .scratch()
                .iter()
                .map(|bytes| Memory::owned(vec![0; *bytes]))
                .collect(),
            reserved: ReservedResources::default(),
            targets_due: Vec::new(),
            failed: None,
            tanks: usize::from(rules.tanks()),
            launch,
            draft,
        })
    }

    /// The exchange of grants, as a run.
    pub(crate) fn grant_exchange(&self) -> Launch {
        let send = |peer| (peer, encode(self.draft.grants_to(peer), u16::to_le_bytes));
        let receive = |peer| (peer, size_of::<u16>() * self.draft.grants_due(peer));
        let sends = self.draft.sources().map(send).collect();
        let receives = self.draft.destinations().map(receive).collect();
        self.exchange(GRANTS_LABEL, sends, receives)
    }

    /// Takes the results of [`ProgramSetup::grant_exchange`].
    pub(crate) fn take_grants(&mut self, received: &[Memory]) {
        let received = received.iter().map(|memory| decode(memory, u16::from_le_bytes));
        let destinations: Vec<u32> = self.draft.destinations().collect();
        let grants: HashMap<u32, Vec<u16>> = destinations.into_iter().zip(received).collect();
        for peer in self.draft.peers() {
            let groups = grants.get(&peer).map_or(0, |grants| groups(grants));
            self.targets_due.push(self.draft.grants_to(peer).len() + groups);
        }
        for (peer, grants) in grants {
            let taken = self.draft.take_grants(peer, &grants);
            record_failure(&mut self.failed, taken);
        }
    }

    /// The exchange of arrival targets, as a run.
    pub(crate) fn target_exchange(&self) -> Launch {
        let peers = self.draft.peers();
        let send = |(peer, due): (&u32, &usize)| {
            if self.failed.is_some() {
                return (*peer, vec![0; TARGET_BYTES * due]);
            }
            let targets = self.draft.targets_to(*peer).into_iter();
            let words = targets.flat_map(|target| self.target_words(target));
            (*peer, encode(words, u64::to_le_bytes))
        };
        let receive = |peer: &u32| (*peer, TARGET_BYTES * self.draft.targets_due(*peer));
        let sends = peers.iter().zip(&self.targets_due).map(send).collect();
        self.exchange(TARGETS_LABEL, sends, peers.iter().map(receive).collect())
    }

    /// A target and its keys.
    fn target_words(&self, target: ArrivalTarget) -> Vec<u64> {
        let counters = usize::from(self.draft.counters());
        let counter = |tank: usize| {
            let index = tank * counters + usize::from(target.signal.counter);
            let key = self.reserved.counters.get(index).filter(|_| tank < self.tanks);
            key.map_or(0, |key| key.0)
        };
        let mut keys = self.reserved.keys.iter();
        let key =
            keys.find(|(buffer, _)| *buffer == target.into.buffer).map_or(0, |(_, key)| key.0);
        let words = target.to_words().into_iter();
        words.chain([counter(0), counter(1), key]).collect()
    }

    /// Takes the targets of a peer and binds their names to keys.
    fn take_targets(&mut self, rank: u32, words: &[u64]) -> PeerBinding {
        let tanks = self.tanks;
        let (mut targets, mut buffers) = (Vec::new(), Vec::new());
        let mut counters: [Vec<CounterKey>; 2] = Default::default();
        for record in words.chunks_exact(ArrivalTarget::WORDS + KEYS) {
            let (target, keys) = record.split_at(ArrivalTarget::WORDS);
            let target =
                target.try_into().map_err(|_| String::new()).and_then(ArrivalTarget::from_words);
            let target = match target {
                Ok(target) => target,
                Err(why) => {
                    record_failure(&mut self.failed, Err(why));
                    continue;
                }
            };
            let at = usize::from(target.signal.counter);
            for (tank, key) in counters.iter_mut().zip(keys) {
                if tank.len() <= at {
                    tank.resize(at + 1, CounterKey(0));
                }
                tank[at] = CounterKey(*key);
            }
            let (buffer, key) = (target.into.buffer, MemoryKey(keys[2]));
            if keys[..tanks].contains(&0) || target.into.len > 0 && key.0 == 0 {
                let why =
                    format!("rank {rank} has reserved no memory or no counters for its peers");
                record_failure(&mut self.failed, Err(why));
            }
            if target.into.len > 0 && !buffers.contains(&(buffer, key)) {
                buffers.push((buffer, key));
            }
            targets.push(target);
        }
        let taken = self.draft.take_targets(rank, targets);
        record_failure(&mut self.failed, taken);
        let counters = counters.into_iter().take(tanks).flatten().collect();
        PeerBinding { rank, peer: self.launch.members.peer(rank), counters, buffers }
    }

    /// A run of `sends`, messages to ranks, and of `receives`, lengths of messages from ranks. Its
    /// buffers are those of the receives, then those of the sends.
    fn exchange(
        &self, label: u16, sends: Vec<(u32, Vec<u8>)>, receives: Vec<(u32, usize)>,
    ) -> Launch {
        let (mut plan, mut buffers) = (ScheduleBuilder::new(), Vec::new());
        let mut next = |bytes: Vec<u8>| {
            let region = Buffer::User(buffers.len() as u32).region(0, bytes.len());
            buffers.push(Memory::owned(bytes));
            region
        };
        for (peer, len) in receives {
            let region = next(vec![0; len]);
            plan.push(StepAction::Receive { peer, region, label }, 1, Wait::All, &[]);
        }
        for (peer, bytes) in sends {
            let region = next(bytes);
            plan.push(StepAction::Send { peer, region, label }, 1, Wait::All, &[]);
        }
        Launch {
            plan: RunPlan::moving(plan.finish(), buffers),
            members: Arc::clone(&self.launch.members),
            ..self.launch
        }
    }
}

/// The steps with the device.
impl ProgramSetup {
    /// Begins to make a program of `launch`.
    ///
    /// # Errors
    /// The launch, and why this rank cannot.
    pub(crate) fn begin(
        launch: Launch, scheme: Scheme, device: &mut impl Device,
    ) -> Result<Self, SetupError<String>> {
        let limits = match device.trigger() {
            Some(trigger) => trigger.limits(),
            None => return Err(Box::new((launch, "the device runs no programs".to_owned()))),
        };
        if device.rma().is_none() {
            let why = "the device writes to no memory of peers";
            return Err(Box::new((launch, why.to_owned())));
        }
        // Only a barrier moves no data. One tank of thresholds is proved safe for it at any size.
        let synchronizes = launch.plan.buffers.is_empty();
        let has_sessions = limits.class == TriggerClass::Sessions;
        let rules = match scheme {
            Scheme::Tank1 if !synchronizes || has_sessions => Rules { synchronizes, ..Rules::SAFE },
            _ => Rules { synchronizes, ..Rules::of(scheme) },
        };
        let setup = Self::draft(launch, &limits.rules(rules))?;
        let peer = |rank| setup.launch.members.peer(rank);
        let mut reaches = |peer| device.trigger().is_some_and(|trigger| trigger.reaches(peer));
        match setup.draft.peers().into_iter().map(peer).find(|peer| !reaches(*peer)) {
            Some(far) => {
                let why = format!("programs of the device do not reach process {far}");
                Err(Box::new((setup.cancel(device), why)))
            }
            None => Ok(setup),
        }
    }

    /// Begins to reach all peers; `None` until that has ended.
    ///
    /// # Errors
    /// Why the program cannot name all of them.
    pub(crate) fn connect(&self, device: &mut impl Device) -> Option<Result<(), String>> {
        let peers = self.draft.peers().into_iter().map(|rank| self.launch.members.peer(rank));
        let trigger = device.trigger()?;
        // All attempts run at the same time.
        let ends: Vec<_> = peers.map(|peer| trigger.connect(peer)).collect();
        ends.into_iter().collect::<Option<Result<(), String>>>()
    }

    /// Reserves the counters and registers the memory that peers use.
    pub(crate) fn reserve_resources(&mut self, device: &mut impl Device) {
        if self.failed.is_none() {
            self.failed = self.reserve(device).err();
        }
    }

    fn reserve(&mut self, device: &mut impl Device) -> Result {
        if let Some(trigger) = device.trigger() {
            let counters = usize::from(self.draft.counters()) * self.tanks;
            self.reserved.counters = trigger.reserve(counters)?;
        }
        let schedule = Arc::clone(&self.launch.plan.schedule);
        for step in schedule.steps() {
            let StepAction::Receive { region: Region { buffer, len, .. }, .. } = step.action else {
                continue;
            };
            if len > 0 && !self.reserved.keys.iter().any(|(other, _)| *other == buffer) {
                let span = self.written_by_peers(buffer, device)?;
                let Some(rma) = device.rma() else { return Ok(()) };
                let key = rma.register(span, RemoteAccess::ReadWrite)?;
                self.reserved.keys.push((buffer, key));
            }
        }
        let mut arrivals = self.awaited_arrivals();
        device.trigger().map_or(Ok(()), |trigger| trigger.await_arrivals(&mut arrivals))
    }

    /// What peers do here in each instance, for each tank.
    fn awaited_arrivals(&self) -> impl Iterator<Item = AwaitedArrival> {
        let Self { draft, tanks, launch, reserved, .. } = self;
        let counters = usize::from(draft.counters());
        let targets = draft
            .peers()
            .into_iter()
            .flat_map(|rank| draft.targets_to(rank).into_iter().map(move |target| (rank, target)));
        targets.flat_map(move |(rank, ArrivalTarget { signal, into })| {
            let key = reserved.keys.iter().find(|(buffer, _)| *buffer == into.buffer);
            let memory = key
                .filter(|_| into.len > 0)
                .and_then(|(buffer, key)| Some((*key, self.memory_of(*buffer)?.span()?)));
            (0..*tanks).map(move |tank| AwaitedArrival {
                peer: launch.members.peer(rank),
                counter: reserved.counters[tank * counters + usize::from(signal.counter)],
                value: signal.value,
                memory,
            })
        })
    }

    fn memory_of(&self, buffer: Buffer) -> Option<&Memory> {
        match buffer {
            Buffer::User(entry) => self.launch.plan.buffers.get(entry as usize),
            Buffer::Scratch(index) => self.scratch.get(index as usize),
            Buffer::None | Buffer::First => None,
        }
    }

    /// The memory of a buffer that peers write to, which becomes memory that they have mapped if it is short.
    fn written_by_peers(&mut self, buffer: Buffer, device: &mut impl Device) -> Result<Span> {
        let Self { launch, scratch, packed, reserved, .. } = self;
        let plan = &mut launch.plan;
        let memory = match buffer {
            Buffer::User(entry) => Some(&mut plan.buffers[entry as usize]),
            Buffer::Scratch(index) => Some(&mut scratch[index as usize]),
            Buffer::None | Buffer::First => None,
        };
        let memory = memory.ok_or_else(|| internal_error("a receive without memory"))?;
        let place = device.trigger().and_then(|trigger| trigger.take_place(memory.len()));
        let Some(place) = place else {
            return memory.span().ok_or_else(|| internal_error("a receive into scattered memory"));
        };
        reserved.places.push(place);
        let memory = std::mem::replace(memory, Memory::Span(place));
        if let Buffer::User(entry) = buffer
            && !packed.iter().any(|packed| packed.entry == entry as usize)
        {
            let [read, written] = match &memory {
                // The library fills and reads it by the table of buffers.
                Memory::Owned(_) => Default::default(),
                _ => accesses(&plan.schedule, buffer),
            };
            packed.push(PackedBuffer { entry: entry as usize, memory, read, written });
        }
        Ok(place)
    }

    /// Loads the program; `received` has the results of [`ProgramSetup::target_exchange`].
    ///
    /// # Errors
    /// The launch, and the first failure of the setup.
    pub(crate) fn load(
        mut self, received: &[Memory], device: &mut impl Device,
    ) -> Result<OffloadedOperation, SetupError<Box<MpiError>>> {
        let received = received.iter().map(|memory| decode(memory, u64::from_le_bytes));
        let bound: Vec<PeerBinding> = match self.failed {
            Some(_) => Vec::new(),
            None => {
                let peers = self.draft.peers().into_iter().zip(received);
                peers.map(|(rank, words)| self.take_targets(rank, &words)).collect()
            }
        };
        if let Some(why) = self.failed.take() {
            return Err(Box::new((self.cancel(device), why)));
        }
        let Self { mut launch, packed, scratch, reserved, draft, .. } = self;
        if let Some(why) = draft.misfit() {
            tracing::debug!(why, "a persistent collective needs counters of software");
        }
        let program = draft.finish().map_err(|why| internal_error(&why));
        let loaded = program.and_then(|program| {
            let program = with_interface_arithmetic(program, &launch.plan, device);
            let members = &launch.members;
            let traffic = peer_traffic(&launch.plan.schedule, &program, |rank| members.peer(rank));
            let mut peers: Vec<Peer> = bound.iter().map(|bound| bound.peer).collect();
            peers.sort_unstable();
            let user = (0..).zip(&launch.plan.buffers);
            let user =
                user.filter_map(|(entry, memory)| Some((Buffer::User(entry), memory.span()?)));
            let own = (0..).zip(&scratch);
            let own =
                own.filter_map(|(index, bytes)| Some((Buffer::Scratch(index), bytes.span()?)));
            let kernel = match &launch.plan.reduction {
                ReductionMethod::Kernel(kernel) | ReductionMethod::Numbers(kernel, _) => {
                    Some(Arc::clone(kernel))
                }
                ReductionMethod::None | ReductionMethod::Application(_) => None,
            };
            let binding = ProgramBinding {
                program: Arc::new(program),
                counters: reserved.counters.clone(),
                memory: user.chain(own).collect(),
                peers: bound,
                kernel,
            };
            let trigger = device.trigger();
            let trigger =
                trigger.ok_or_else(|| internal_error("the device ran programs before"))?;
            Ok((trigger.load(binding, false), peers, traffic))
        });
        match loaded {
            Ok((program, peers, traffic)) => Ok(OffloadedOperation {
                launch,
                packed,
                scratch,
                reserved,
                program,
                peers,
                traffic,
            }),
            Err(why) => {
                reserved.release(device);
                PackedBuffer::restore(packed, &mut launch);
                Err(Box::new((launch, why)))
            }
        }
    }

    /// Gives up the setup and returns what a run by messages needs.
    pub(crate) fn cancel(self, device: &mut impl Device) -> Launch {
        let Self { mut launch, packed, reserved, .. } = self;
        reserved.release(device);
        PackedBuffer::restore(packed, &mut launch);
        launch
    }
}

/// The program with short reductions computed by the interface, if the interface can do that.
fn with_interface_arithmetic(
    program: Program, plan: &RunPlan, device: &mut impl Device,
) -> Program {
    let numbers = device.trigger().map_or(0, |trigger| trigger.limits().arithmetic);
    match plan.reduction {
        ReductionMethod::Numbers(_, arithmetic) if numbers > 0 => {
            with_gates(&program, arithmetic, numbers.into())
        }
        _ => program,
    }
}

/// Replaces scattered memory in the table of buffers by adjacent bytes.
fn pack_all(plan: &mut RunPlan) -> Vec<PackedBuffer> {
    let RunPlan { schedule, buffers, .. } = plan;
    let mut all = Vec::new();
    for (entry, memory) in buffers.iter_mut().enumerate() {
        if memory.span().is_none() {
            let bytes = Memory::owned(vec![0; memory.len()]);
            let memory = std::mem::replace(memory, bytes);
            let [read, written] = accesses(schedule, Buffer::User(entry as u32));
            all.push(PackedBuffer { entry, memory, read, written });
        }
    }
    all
}

/// The bytes of a buffer that steps read, and the bytes that steps write.
fn accesses(schedule: &Schedule, buffer: Buffer) -> [Vec<Range<usize>>; 2] {
    let mut accesses = [Vec::new(), Vec::new()];
    for Step { action, .. } in schedule.steps() {
        let (read, written) = action.regions();
        // The result of a reduction is its second operand, too.
        let combined = matches!(action, StepAction::Reduce { .. }).then_some(written).flatten();
        let to = |region: &Region| region.buffer == buffer && region.len > 0;
        let [reads, writes] = &mut accesses;
        reads.extend([read, combined].into_iter().flatten().filter(to).map(range));
        writes.extend(written.filter(to).map(range));
    }
    accesses.map(merge_ranges)
}

fn range(region: Region) -> Range<usize> {
    region.start..region.end()
}

/// The same bytes in as few ranges as possible, ascending.
fn merge_ranges(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match merged.last_mut().filter(|last| range.start <= last.end) {
            Some(last) => last.end = last.end.max(range.end),
            None => merged.push(range),
        }
    }
    merged
}

/// The number of groups in a list of grants.
fn groups(grants: &[u16]) -> usize {
    let last = grants.iter().filter(|group| **group != NO_GROUP).max();
    last.map_or(0, |last| usize::from(*last) + 1)
}

fn encode<T, const N: usize>(
    numbers: impl IntoIterator<Item = T>, to: impl Fn(T) -> [u8; N],
) -> Vec<u8> {
    numbers.into_iter().flat_map(to).collect()
}

fn decode<T, const N: usize>(memory: &Memory, from: impl Fn([u8; N]) -> T) -> Vec<T> {
    let bytes = memory.packed();
    let (numbers, _) = bytes.as_chunks::<N>();
    numbers.iter().copied().map(from).collect()
}

fn record_failure(failed: &mut Option<Box<MpiError>>, result: Result<(), String>) {
    if let (None, Err(why)) = (&failed, result) {
        *failed = Some(internal_error(&why));
    }
}

fn internal_error(why: &str) -> Box<MpiError> {
    ErrorClass::Intern.error(why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjacent_ranges_are_merged() {
        assert_eq!(merge_ranges(vec![4..6, 0..2, 2..3, 5..9, 12..13]), [0..3, 4..9, 12..13]);
    }

    #[test]
    fn the_result_of_a_reduction_is_read_and_written() {
        let mut plan = ScheduleBuilder::new();
        let (one, two) = (Buffer::User(0), Buffer::User(1));
        let first = plan.receive(1, one.region(0, 8), 1, &[]);
        plan.reduce(one.region(0, 8), two.region(8, 8), &[first]);
        let schedule = plan.finish();
        let both = |bytes: Range<usize>| [(); 2].map(|()| Vec::from([bytes.clone()]));
        assert_eq!(accesses(&schedule, one), both(0..8));
        assert_eq!(accesses(&schedule, two), both(8..16));
    }

    #[test]
    fn decoded_numbers_are_the_encoded_ones() {
        let memory = Memory::owned(encode([1, 0xfffe], u16::to_le_bytes));
        assert_eq!(decode(&memory, u16::from_le_bytes), [1, 0xfffe]);
    }
}
