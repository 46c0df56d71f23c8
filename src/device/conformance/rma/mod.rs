//! The part of the suite about one-sided access, for devices that have it.

mod concurrency;
mod engines;

use super::{Ignore, TestDeadline};
use crate::device::Device;
use crate::device::rma::{
    MemoryKey, NumberKind, PutSignal, RemoteAccess, RemoteAddress, Rma, RmaError, Update,
};
pub(super) use concurrency::check_failure;
use concurrency::{
    accesses_wake_ranks_that_sleep, allocated_memory_is_shared,
    an_update_by_the_interface_wakes_its_owner, errors_among_other_accesses_are_told_once,
    many_accesses_are_in_progress, threads_update_one_number,
};
use engines::{
    deferred_accesses_follow_those_before, engines_carry_accesses,
    the_end_of_each_access_is_counted,
};
use platform::base::{ErrorClass, Peer, Random, Result, Span};

/// Runs it on new networks.
pub(super) fn check<D: Device>(network: &impl Fn(usize) -> Vec<D>) {
    if network(1)[0].rma().is_none() {
        return;
    }
    if !memory_is_reachable(network(2)) {
        eprintln!("skipped: processes cannot be read here");
        return;
    }
    for kind in [MemoryKind::Registered, MemoryKind::Allocated] {
        if kind == MemoryKind::Registered || allocates(network(1)) {
            check_kind(network, kind);
        }
    }
    allocated_memory_is_shared(network(3));
}

fn check_kind<D: Device>(network: &impl Fn(usize) -> Vec<D>, kind: MemoryKind) {
    every_size_is_put_and_got(network(2), kind);
    every_rank_puts_to_every_rank(network(4), kind);
    accesses_keep_their_order(network(2), kind);
    numbers_change_as_asked(network(2), kind);
    additions_are_atomic(network(5), kind);
    threads_update_one_number(network(4), kind);
    accesses_wake_ranks_that_sleep(network(2), kind);
    an_update_by_the_interface_wakes_its_owner(network(2), kind);
    what_is_not_allowed_is_an_error(network(2), kind);
    errors_among_other_accesses_are_told_once(network(2), kind);
    a_registration_ends(network(2), kind);
    accesses_end_for_each_peer(network(3), kind);
    a_refused_access_changes_nothing(network(2), kind);
    a_signal_comes_after_its_put(network(2), kind);
    engines_carry_accesses(network(2), kind);
    deferred_accesses_follow_those_before(network(3), kind);
    (0..3).for_each(|seed| the_end_of_each_access_is_counted(network(3), kind, seed));
    (0..10).for_each(|seed| random_accesses_agree_with_a_model(network(3), kind, seed));
    (0..3).for_each(|seed| many_accesses_are_in_progress(network(3), kind, seed));
}

fn allocates<D: Device>(mut devices: Vec<D>) -> bool {
    rma(&mut devices[0]).allocate(8, RemoteAccess::ReadWrite).unwrap().is_some()
}

/// Whether the system lets the devices use registered memory.
fn memory_is_reachable<D: Device>(mut devices: Vec<D>) -> bool {
    let memory = MemoryKind::Registered.provide(&mut devices[1], 8, 0);
    match rma(&mut devices[0]).open(1, memory.key) {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(error.code.0, ErrorClass::Other as i32, "{error}");
            false
        }
    }
}

pub(super) fn rma<D: Device>(device: &mut D) -> &mut dyn Rma {
    device.rma().expect("a device keeps its one-sided access")
}

/// Memory of a test, which does not move.
pub(crate) struct TestBuffer(Box<[u8]>);

impl TestBuffer {
    pub(crate) fn new(len: usize, byte: u8) -> Self {
        Self(vec![byte; len].into_boxed_slice())
    }

    #[allow(unsafe_code)]
    pub(crate) fn span(&mut self) -> Span {
        // SAFETY: a box does not move; tests read it by `bytes` after the accesses to it.
        unsafe { Span::of(&mut self.0) }
    }

    /// Overwrites the content.
    pub(super) fn fill(&mut self, byte: u8) {
        self.0.fill(byte);
    }

    /// The content, read as the device reads it.
    pub(crate) fn bytes(&mut self) -> Vec<u8> {
        let mut bytes = vec![0; self.0.len()];
        self.span().read(0, &mut bytes);
        bytes
    }
}

/// Where memory for peers comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MemoryKind {
    /// The test.
    Registered,
    /// The device.
    Allocated,
}

/// Memory of a rank for its peers, as long as its device exists.
struct ProvidedMemory {
    key: MemoryKey,
    span: Span,
    _buffer: Option<TestBuffer>,
}

impl MemoryKind {
    /// Memory for reads and writes.
    fn provide<D: Device>(self, device: &mut D, len: usize, byte: u8) -> ProvidedMemory {
        self.provide_for(device, len, byte, RemoteAccess::ReadWrite)
    }

    fn provide_for<D: Device>(
        self, device: &mut D, len: usize, byte: u8, access: RemoteAccess,
    ) -> ProvidedMemory {
        let (key, span, buffer) = match self {
            Self::Registered => {
                let mut buffer = TestBuffer::new(len, byte);
                let span = buffer.span();
                (rma(device).register(span, access).unwrap(), span, Some(buffer))
            }
            Self::Allocated => {
                let (key, span) = rma(device).allocate(len, access).unwrap().unwrap();
                (key, span, None)
            }
        };
        assert!(key != MemoryKey(0) && span.len() == len);
        let memory = ProvidedMemory { key, span, _buffer: buffer };
        if self == Self::Allocated {
            assert!(memory.bytes().iter().all(|byte| *byte == 0));
        }
        memory.fill(byte);
        memory
    }
}

impl ProvidedMemory {
    fn fill(&self, byte: u8) {
        self.span.write(0, &vec![byte; self.span.len()]);
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.span.len()];
        self.span.read(0, &mut bytes);
        bytes
    }

    fn at(&self, peer: Peer, offset: usize) -> RemoteAddress {
        RemoteAddress { peer, key: self.key, offset: offset as u64 }
    }
}

/// Polls all ranks once.
pub(super) fn poll_all<D: Device>(devices: &mut [D]) {
    devices.iter_mut().for_each(|device| {
        device.poll(&mut Ignore);
    });
}

/// Starts an access of rank `me`, once the device has room.
fn issue<D: Device>(
    devices: &mut [D], me: usize, access: &mut dyn FnMut(&mut dyn Rma) -> Result<(), RmaError>,
) -> Result {
    let deadline = TestDeadline::new();
    loop {
        match access(rma(&mut devices[me])) {
            Ok(()) => return Ok(()),
            Err(RmaError::Denied(error)) => return Err(error),
            Err(RmaError::Busy) => poll_all(devices),
        }
        deadline.wait();
    }
}

/// Waits for the end of all accesses of rank `me` to `peer`.
fn flush<D: Device>(devices: &mut [D], me: usize, peer: Peer) -> Result {
    let deadline = TestDeadline::new();
    loop {
        if let Some(end) = rma(&mut devices[me]).flush(peer) {
            return end;
        }
        poll_all(devices);
        deadline.wait();
    }
}

/// An access of rank `me` to `peer` from its start to its end.
fn end<D: Device>(
    devices: &mut [D], me: usize, peer: Peer,
    mut access: impl FnMut(&mut dyn Rma) -> Result<(), RmaError>,
) -> Result {
    issue(devices, me, &mut access)?;
    flush(devices, me, peer)
}

fn pattern(len: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..len).map(|_| random.bits() as u8).collect()
}

/// The number of this kind at the beginning of `bytes`.
fn number(bytes: &[u8], kind: NumberKind) -> u64 {
    match kind.bytes() {
        4 => u32::from_ne_bytes(bytes[..4].try_into().unwrap()).into(),
        _ => u64::from_ne_bytes(bytes[..8].try_into().unwrap()),
    }
}

/// The bytes of a number of this kind.
fn number_bytes(number: u64, kind: NumberKind) -> Vec<u8> {
    match kind.bytes() {
        4 => (number as u32).to_ne_bytes().to_vec(),
        _ => number.to_ne_bytes().to_vec(),
    }
}

fn every_size_is_put_and_got<D: Device>(mut devices: Vec<D>, memory_kind: MemoryKind) {
    const LEN: usize = 200_000;
    let (mut source, mut back) = (TestBuffer::new(LEN, 0), TestBuffer::new(LEN, 8));
    source.span().write(0, &pattern(LEN, 1));
    let target = memory_kind.provide(&mut devices[1], LEN, 7);
    for (number, len) in [0, 1, 7, 8, 31, 32, 33, 4096, 65_537, LEN - 3].into_iter().enumerate() {
        let to = target.at(1, number % 4);
        let start = number % 3;
        let from = source.span().part(start, len);
        end(&mut devices, 0, 1, |rma| rma.put(from, to)).unwrap();
        let at = to.offset as usize;
        let expected = &pattern(LEN, 1)[start..start + len];
        let arrived = target.bytes();
        assert!(&arrived[at..at + len] == expected, "{len} bytes put");
        assert!(arrived[..at].iter().all(|byte| *byte == 7), "{len} bytes put: written before");
        assert!(
            arrived[at + len..].iter().all(|byte| *byte == 7),
            "{len} bytes put: written after"
        );
        let into = back.span().part(1, len);
        end(&mut devices, 0, 1, |rma| rma.get(to, into)).unwrap();
        assert!(&back.bytes()[1..][..len] == expected, "{len} bytes got");
        target.fill(7);
    }
    rma(&mut devices[0]).close(1, target.key);
    rma(&mut devices[1]).deregister(target.key);
}

fn every_rank_puts_to_every_rank<D: Device>(mut devices: Vec<D>, memory_kind: MemoryKind) {
    const BLOCK: usize = 1000;
    let ranks = devices.len();
    let mut sources: Vec<_> = (0..ranks).map(|rank| TestBuffer::new(BLOCK, rank as u8)).collect();
    let targets: Vec<_> =
        devices.iter_mut().map(|rank| memory_kind.provide(rank, BLOCK * ranks, !0)).collect();
    for _ in 0..20 {
        targets.iter().for_each(|target| target.fill(!0));
        for pair in 0..ranks * ranks {
            let (from, to) = (pair / ranks, pair % ranks);
            let remote = targets[to].at(to as Peer, from * BLOCK);
            let source = sources[from].span();
            issue(&mut devices, from, &mut |rma| rma.put(source, remote)).unwrap();
        }
        for pair in 0..ranks * ranks {
            flush(&mut devices, pair / ranks, (pair % ranks) as Peer).unwrap();
        }
        for target in &targets {
            let bytes = target.bytes();
            assert!((0..bytes.len()).all(|at| bytes[at] == (at / BLOCK) as u8));
        }
    }
}

fn accesses_keep_their_order<D: Device>(mut devices: Vec<D>, memory_kind: MemoryKind) {
    let target = memory_kind.provide(&mut devices[1], 8, 0);
    if !rma(&mut devices[0]).open(1, target.key).unwrap().ordered {
        return;
    }
    let mut sources: Vec<_> = (0..100).map(|byte| TestBuffer::new(8, byte)).collect();
    let to = target.at(1, 0);
    for source in &mut sources {
        let from = source.span();
        issue(&mut devices, 0, &mut |rma| rma.put(from, to)).unwrap();
    }
    flush(&mut devices, 0, 1).unwrap();
    assert_eq!(target.bytes(), [99; 8]);
}

/// Some updates with operands of this kind.
fn updates(kind: NumberKind, random: &mut Random) -> Vec<Update> {
    let mut operand = || match kind {
        NumberKind::Float4 => u64::from((random.below(200) as f32 - 100.0).to_bits()),
        NumberKind::Float8 => (random.below(200) as f64 - 100.0).to_bits(),
        _ if random.one_in(2) => random.bits(),
        _ => random.below(3),
    };
    (0..8).filter_map(|code| Update::from_parts(code, [operand(), operand()])).collect()
}

fn numbers_change_as_asked<D: Device>(mut devices: Vec<D>, memory_kind: MemoryKind) {
    let mut old = TestBuffer::new(8, 0);
    let target = memory_kind.provide(&mut devices[1], 32, 0);
    let made = rma(&mut devices[0]).open(1, target.key).unwrap().updates;
    let at = target.at(1, 16);
    let mut random = Random::new(5);
    for kind in NumberKind::ALL {
        let len = kind.bytes();
        let into = old.span().part(0, len);
        let mut value = 0;
        target.fill(0);
        for round in 0..6 {
            let mut changes = updates(kind, &mut random);
            // A comparison that succeeds.
            changes.push(Update::Swap(round));
            changes.push(Update::CompareSwap(round, 9));
            for change in changes {
                let ended = end(&mut devices, 0, 1, |rma| rma.update(at, kind, change, into));
                if !made.contains(change, kind) {
                    let class = ErrorClass::UnsupportedOperation as i32;
                    assert_eq!(ended.unwrap_err().code.0, class);
                    continue;
                }
                ended.unwrap();
                assert_eq!(number(&old.bytes(), kind), value, "{kind:?} before {change:?}");
                value = change.apply(value, kind);
                assert_eq!(number(&target.bytes()[16..], kind), value, "after {change:?}");
            }
        }
        let bytes = target.bytes();
        assert!(bytes[..16].iter().chain(&bytes[16 + len..]).all(|byte| *byte == 0));
    }
}

/// Whether all ranks make this update of memory of rank 0.
fn all_make<D: Device>(
    devices: &mut [D], key: MemoryKey, update: Update, kind: NumberKind,
) -> bool {
    devices.iter_mut().all(|rank| rma(rank).open(0, key).unwrap().updates.contains(update, kind))
}

fn additions_are_atomic<D: Device>(mut devices: Vec<D>, memory_kind: MemoryKind) {
    const EACH: usize = 50;
    let kind = NumberKind::Unsigned8;
    let target = memory_kind.provide(&mut devices[0], 8, 0);
    let at = target.at(0, 0);
    if !all_make(&mut devices, target.key, Update::Add(1), kind) {
        return;
    }
    let ranks = devices.len();
    let mut olds: Vec<_> = (0..ranks * EACH).map(|_| TestBuffer::new(8, 0)).collect();
    for (count, old) in olds.iter_mut().enumerate() {
        let into = old.span();
        let add = &mut |rma: &mut dyn Rma| rma.update(at, kind, Update::Add(1), into);
        issue(&mut devices, count % ranks, add).unwrap();
    }
    (0..ranks).for_each(|rank| flush(&mut devices, rank, 0).unwrap());
    let mut seen: Vec<_> = olds.iter_mut().map(|old| number(&old.bytes(), kind)).collect();
    seen.sort_unstable();
    assert!(seen.into_iter().eq(0..olds.len() as u64));
    assert_eq!(number(&target.bytes(), kind), olds.len() as u64);
}

/// The class of the error of an access of rank 0 to rank 1.
fn class<D: Device>(
    devices: &mut [D], access: impl FnMut(&mut dyn Rma) -> Result<(), RmaError>,
) -> Option<ErrorClass> {
    let error = end(devices, 0, 1, access).err()?;
    assert!(!error.why.is_empty());
    ErrorClass::from_value(error.code.0)
}

fn what_is_not_allowed_is_an_error<D: Device>(mut devices: Vec<D>, memory_kind: MemoryKind) {
    let mut mine = TestBuffer::new(64, 1);
    let open = memory_kind.provide(&mut devices[1], 64, 2);
    let closed = memory_kind.provide_for(&mut devices[1], 64, 3, RemoteAccess::Read);
    let (key, read_only) = (open.key, closed.key);
    let (all, eight) = (mine.span(), mine.span().part(0, 8));
    let at = |key, offset| RemoteAddress { peer: 1, key, offset };
    let signal = |key, offset| PutSignal { key, offset, addend: 1 };
    let range = Some(ErrorClass::RmaRange);
    for offset in [1, 64, 65, 1 << 40, u64::MAX, u64::MAX - 63] {
        assert_eq!(class(&mut devices, |rma| rma.put(all, at(key, offset))), range);
        assert_eq!(class(&mut devices, |rma| rma.get(at(key, offset), all)), range);
    }
    let (add, wide, half) = (Update::Add(1), NumberKind::Unsigned8, NumberKind::Signed4);
    let empty = Span::EMPTY;
    assert_eq!(class(&mut devices, |rma| rma.update(at(key, 64), wide, add, eight)), range);
    let beyond = |rma: &mut dyn Rma| rma.put_signalled(eight, at(key, 0), signal(key, 64));
    assert_eq!(class(&mut devices, beyond), range);
    let unknown = MemoryKey(key.0.max(read_only.0) + (1 << 20));
    for unknown in [unknown, MemoryKey(u64::MAX), MemoryKey(0)] {
        assert_eq!(class(&mut devices, |rma| rma.put(eight, at(unknown, 0))), range);
        assert_eq!(class(&mut devices, |rma| rma.get(at(unknown, 0), eight)), range);
    }
    let access = Some(ErrorClass::Access);
    assert_eq!(class(&mut devices, |rma| rma.put(eight, at(read_only, 0))), access);
    assert_eq!(class(&mut devices, |rma| rma.update(at(read_only, 0), wide, add, eight)), access);
    let closed_signal =
        |rma: &mut dyn Rma| rma.put_signalled(eight, at(key, 0), signal(read_only, 0));
    assert_eq!(class(&mut devices, closed_signal), access);
    let made = rma(&mut devices[0]).open(1, key).unwrap().updates;
    let argument = match made.contains(add, wide) {
        true => Some(ErrorClass::Arg),
        false => Some(ErrorClass::UnsupportedOperation),
    };
    assert_eq!(class(&mut devices, |rma| rma.update(at(key, 4), wide, add, eight)), argument);
    assert_eq!(class(&mut devices, |rma| rma.update(at(key, 2), half, add, empty)), argument);
    assert_eq!(class(&mut devices, |rma| rma.update(at(key, 0), half, add, eight)), argument);
    let askew = |rma: &mut dyn Rma| rma.put_signalled(eight, at(key, 0), signal(key, 4));
    assert_eq!(class(&mut devices, askew), argument);
    assert_eq!((mine.bytes(), open.bytes()), (vec![1; 64], vec![2; 64]));
    assert_eq!(closed.bytes(), [3; 64]);
    assert_eq!(class(&mut devices, |rma| rma.get(at(read_only, 56), eight)), None);
    assert_eq!(class(&mut devices, |rma| rma.put(empty, at(key, 64))), None);
}

fn a_registration_ends<D: Device>(mut devices: Vec<D>, memory_kind: MemoryKind) {
    let mut mine = TestBuffer::new(8, 1);
    let from = mine.span();
    let ended: Vec<_> = (0..40).map(|_| memory_kind.provide(&mut devices[1], 8, 2)).collect();
    // A mapping of memory whose registration ends is not used.
    end(&mut devices, 0, 1, |rma| rma.put(from, ended[3].at(1, 0))).unwrap();
    let keys: Vec<_> = ended.iter().map(|memory| memory.key).collect();
    keys.iter().for_each(|key| rma(&mut devices[1]).deregister(*key));
    let again = memory_kind.provide(&mut devices[1], 8, 2);
    for key in keys {
        let to = RemoteAddress { peer: 1, key, offset: 0 };
        let range = Some(ErrorClass::RmaRange);
        assert_eq!(class(&mut devices, |rma| rma.put(from, to)), range, "{key:?}");
    }
    assert_eq!(again.bytes(), [2; 8]);
    let to = again.at(1, 0);
    assert_eq!(class(&mut devices, |rma| rma.put(from, to)), None);
    assert_eq!(again.bytes(), [1; 8]);
}

/// A flush waits for the accesses to one peer, and its error is that of an access to this peer.
fn accesses_end_for_each_peer<D: Device>(mut devices: Vec<D>, memory_kind: MemoryKind) {
    let (mut source, mut late) = (TestBuffer::new(8, 1), false);
    let targets = [1, 2].map(|peer| memory_kind.provide(&mut devices[peer], 8, 0));
    let from = source.span();
    for (peer, target) in (1..).zip(&targets) {
        let to = target.at(peer, 0);
        for _ in 0..peer {
            issue(&mut devices, 0, &mut |rma| rma.put(from, to)).unwrap();
        }
        if peer == 1 {
            let beyond = RemoteAddress { offset: 1, ..to };
            late = issue(&mut devices, 0, &mut |rma| rma.put(from, beyond)).is_ok();
        }
    }
    for peer in [2, 1] {
        assert_eq!(flush(&mut devices, 0, peer).is_err(), late && peer == 1);
        assert_eq!(targets[peer as usize - 1].bytes(), [1; 8]);
    }
    flush(&mut devices, 1, 2).unwrap();
}

/// Fills the device if its room is small, and looks for the effects of what it refused.
fn a_refused_access_changes_nothing<D: Device>(mut devices: Vec<D>, memory_kind: MemoryKind) {
    const ACCESSES: usize = 1000;
    let mut source = TestBuffer::new(1, 1);
    let target = memory_kind.provide(&mut devices[1], ACCESSES, 0);
    let from = source.span();
    let at = |offset: usize| target.at(1, offset);
    let accepted: Vec<bool> = (0..ACCESSES)
        .map(|offset| match rma(&mut devices[0]).put(from, at(offset)) {
            Ok(()) => true,
            Err(RmaError::Busy) => false,
            Err(RmaError::Denied(error)) => panic!("{error}"),
        })
        .collect();
    flush(&mut devices, 0, 1).unwrap();
    assert!(target.bytes().iter().map(|byte| *byte == 1).eq(accepted));
    // There is room again.
    end(&mut devices, 0, 1, |rma| rma.put(from, at(0))).unwrap();
}

fn a_signal_comes_after_its_put<D: Device>(mut devices: Vec<D>, memory_kind: MemoryKind) {
    const LEN: usize = 3000;
    let kind = NumberKind::Unsigned8;
    let mut sources: Vec<_> = (1..=20).map(|byte| TestBuffer::new(LEN, byte)).collect();
    let [target, counter] = [LEN, 16].map(|len| memory_kind.provide(&mut devices[1], len, 0));
    if !rma(&mut devices[0]).open(1, counter.key).unwrap().updates.contains(Update::Add(1), kind) {
        return;
    }
    let to = target.at(1, 0);
    let signal = PutSignal { key: counter.key, offset: 8, addend: 3 };
    let mut sum = 0;
    for source in &mut sources {
        let from = source.span();
        issue(&mut devices, 0, &mut |rma| rma.put_signalled(from, to, signal)).unwrap();
        let deadline = TestDeadline::new();
        while number(&counter.bytes()[8..], kind) == sum {
            poll_all(&mut devices);
            deadline.wait();
        }
        sum += 3;
        assert_eq!(number(&counter.bytes()[8..], kind), sum);
        assert_eq!(target.bytes(), source.bytes(), "the signal came before the data");
    }
    flush(&mut devices, 0, 1).unwrap();
}

/// An access of a random program, to words of 8 bytes.
#[derive(Clone, Copy, Debug)]
enum RandomAccess {
    Put { words: usize },
    Get { words: usize },
    Signalled { words: usize, counter: usize },
    Update { kind: NumberKind, update: Update },
}

/// Every rank accesses memory of every rank, one access after another to each target; the model is a
/// vector of bytes.
fn random_accesses_agree_with_a_model<D: Device>(
    mut devices: Vec<D>, memory_kind: MemoryKind, seed: u64,
) {
    const WORDS: usize = 16;
    let (ranks, mut random) = (devices.len(), Random::new(seed));
    let mut local = TestBuffer::new(8 * WORDS, 0);
    let memory: Vec<_> =
        devices.iter_mut().map(|rank| memory_kind.provide(rank, 8 * WORDS, 0)).collect();
    let mut model = vec![vec![0; 8 * WORDS]; ranks];
    for _ in 0..60 {
        let (me, peer) = (random.below(ranks as u64) as usize, random.below(ranks as u64) as usize);
        let made = rma(&mut devices[me]).open(peer as Peer, memory[peer].key).unwrap().updates;
        let word = random.below(WORDS as u64) as usize;
        let words = random.below((WORDS - word) as u64 + 1) as usize;
        let kind = NumberKind::ALL[random.below(6) as usize];
        let update = updates(kind, &mut random)[random.below(8) as usize];
        let signals = made.contains(Update::Add(1), NumberKind::Unsigned8);
        let access = match random.below(4) {
            0 => RandomAccess::Get { words },
            1 if signals => {
                RandomAccess::Signalled { words, counter: random.below(WORDS as u64) as usize }
            }
            2 if made.contains(update, kind) => RandomAccess::Update { kind, update },
            _ => RandomAccess::Put { words },
        };
        let data = pattern(8 * WORDS, random.bits());
        local.span().write(0, &data);
        let (span, offset) = (local.span(), 8 * word);
        let at = memory[peer].at(peer as Peer, offset);
        end(&mut devices, me, peer as Peer, |rma| match access {
            RandomAccess::Put { words } => rma.put(span.part(0, 8 * words), at),
            RandomAccess::Get { words } => rma.get(at, span.part(0, 8 * words)),
            RandomAccess::Signalled { words, counter } => {
                let key = memory[peer].key;
                let signal = PutSignal { key, offset: 8 * counter as u64, addend: u64::MAX };
                rma.put_signalled(span.part(0, 8 * words), at, signal)
            }
            RandomAccess::Update { kind, update } => {
                rma.update(at, kind, update, span.part(0, kind.bytes()))
            }
        })
        .unwrap();
        let (model, mut expected) = (&mut model[peer], data.clone());
        match access {
            RandomAccess::Put { words } => {
                model[offset..][..8 * words].copy_from_slice(&data[..8 * words]);
            }
            RandomAccess::Get { words } => {
                expected[..8 * words].copy_from_slice(&model[offset..][..8 * words]);
            }
            RandomAccess::Signalled { words, counter } => {
                model[offset..][..8 * words].copy_from_slice(&data[..8 * words]);
                let number = number(&model[8 * counter..], NumberKind::Unsigned8);
                model[8 * counter..][..8].copy_from_slice(&number.wrapping_sub(1).to_ne_bytes());
            }
            RandomAccess::Update { kind, update } => {
                let old = number(&model[offset..], kind);
                expected[..kind.bytes()].copy_from_slice(&number_bytes(old, kind));
                let new = number_bytes(update.apply(old, kind), kind);
                model[offset..][..new.len()].copy_from_slice(&new);
            }
        }
        assert_eq!(local.bytes(), expected, "seed {seed}: {access:?} at rank {me}");
        assert_eq!(memory[peer].bytes(), *model, "seed {seed}: {access:?} to rank {peer}");
    }
}
