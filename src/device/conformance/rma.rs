//! The part of the suite about one-sided access, for devices that have it.

use super::{Ignore, TestDeadline};
use crate::device::Device;
use crate::device::rma::{MemoryKey, RemoteAccess, RemoteAddress, Rma, RmaTicket, Update};
use platform::base::{ErrorClass, Peer, Random, Result, Span};

/// Runs it on new networks.
pub(super) fn check<D: Device>(network: &impl Fn(usize) -> Vec<D>) {
    if network(1)[0].rma().is_none() {
        return;
    }
    every_size_is_put_and_got(network(2));
    every_rank_puts_to_every_rank(network(4), 1);
    accesses_of_one_engine_keep_their_order(network(2));
    numbers_change_as_asked(network(2));
    additions_are_atomic(network(5));
    what_is_not_allowed_is_an_error(network(2));
    a_registration_ends(network(2));
}

pub(super) fn rma<D: Device>(device: &mut D) -> &mut dyn Rma {
    device.rma().expect("a device keeps its one-sided access")
}

/// Memory of a test, which does not move.
pub(super) struct TestBuffer(Box<[u8]>);

impl TestBuffer {
    pub(super) fn new(len: usize, byte: u8) -> Self {
        Self(vec![byte; len].into_boxed_slice())
    }

    #[allow(unsafe_code)]
    pub(super) fn span(&mut self) -> Span {
        // SAFETY: a box does not move; tests read it by `bytes` after the accesses to it.
        unsafe { Span::of(&mut self.0) }
    }

    /// Overwrites the content.
    pub(super) fn fill(&mut self, byte: u8) {
        self.0.fill(byte);
    }

    /// The content, read as the device reads it.
    pub(super) fn bytes(&mut self) -> Vec<u8> {
        let mut bytes = vec![0; self.0.len()];
        self.span().read(0, &mut bytes);
        bytes
    }
}

/// Polls all ranks once.
pub(super) fn poll_all<D: Device>(devices: &mut [D]) {
    devices.iter_mut().for_each(|device| {
        device.poll(&mut Ignore);
    });
}

/// Waits for the completion of an access of rank `me`.
fn end<D: Device>(devices: &mut [D], me: usize, ticket: RmaTicket) -> Result {
    let deadline = TestDeadline::new();
    loop {
        if let Some(end) = rma(&mut devices[me]).take_completion(ticket) {
            return end;
        }
        poll_all(devices);
        deadline.wait();
    }
}

fn register<D: Device>(device: &mut D, memory: &mut TestBuffer) -> MemoryKey {
    let key = rma(device).register(memory.span(), RemoteAccess::ReadWrite).unwrap();
    assert_ne!(key, MemoryKey(0));
    key
}

fn pattern(len: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..len).map(|_| random.bits() as u8).collect()
}

fn every_size_is_put_and_got<D: Device>(mut devices: Vec<D>) {
    const LEN: usize = 200_000;
    let (mut source, mut target, mut back) =
        (TestBuffer::new(LEN, 0), TestBuffer::new(LEN, 7), TestBuffer::new(LEN, 8));
    source.span().write(0, &pattern(LEN, 1));
    let key = register(&mut devices[1], &mut target);
    for (number, len) in [0, 1, 7, 8, 31, 32, 33, 4096, 65_537, LEN - 3].into_iter().enumerate() {
        let to = RemoteAddress { peer: 1, key, offset: (number % 4) as u64 };
        let start = number % 3;
        let from = source.span().part(start, len);
        let ticket = rma(&mut devices[0]).put(from, to, None).unwrap();
        end(&mut devices, 0, ticket).unwrap();
        let at = to.offset as usize;
        let expected = &pattern(LEN, 1)[start..start + len];
        let arrived = target.bytes();
        assert!(&arrived[at..at + len] == expected, "{len} bytes put");
        assert!(arrived[..at].iter().all(|byte| *byte == 7), "{len} bytes put: written before");
        let into = back.span().part(1, len);
        let ticket = rma(&mut devices[0]).get(to, into, Some(1)).unwrap();
        end(&mut devices, 0, ticket).unwrap();
        assert!(&back.bytes()[1..][..len] == expected, "{len} bytes got");
        target.span().write(0, &[7; LEN]);
    }
    rma(&mut devices[1]).deregister(key);
}

fn every_rank_puts_to_every_rank<D: Device>(mut devices: Vec<D>, seed: u64) {
    const BLOCK: usize = 1000;
    let ranks = devices.len();
    let mut random = Random::new(seed);
    let mut memory: Vec<_> = (0..ranks)
        .map(|rank| [TestBuffer::new(BLOCK, rank as u8), TestBuffer::new(BLOCK * ranks, !0)])
        .collect();
    let keys: Vec<_> =
        (0..ranks).map(|rank| register(&mut devices[rank], &mut memory[rank][1])).collect();
    for _ in 0..20 {
        memory.iter_mut().for_each(|[_, to]| to.span().write(0, &vec![!0; BLOCK * ranks]));
        let mut tickets = Vec::new();
        for pair in 0..ranks * ranks {
            let (from, to) = (pair / ranks, pair % ranks);
            let remote =
                RemoteAddress { peer: to as Peer, key: keys[to], offset: (from * BLOCK) as u64 };
            let engine = (!random.one_in(3)).then(|| random.below(9) as u8);
            let source = memory[from][0].span();
            tickets.push((from, rma(&mut devices[from]).put(source, remote, engine).unwrap()));
        }
        for (from, ticket) in tickets {
            end(&mut devices, from, ticket).unwrap();
        }
        for [_, to] in &mut memory {
            let bytes = to.bytes();
            assert!((0..bytes.len()).all(|at| bytes[at] == (at / BLOCK) as u8));
        }
    }
}

fn accesses_of_one_engine_keep_their_order<D: Device>(mut devices: Vec<D>) {
    let ordered = devices[0].trigger().is_some_and(|trigger| trigger.limits().ordered);
    if !ordered {
        return;
    }
    let mut target = TestBuffer::new(8, 0);
    let key = register(&mut devices[1], &mut target);
    let mut sources: Vec<_> = (0..100).map(|byte| TestBuffer::new(8, byte)).collect();
    let to = RemoteAddress { peer: 1, key, offset: 0 };
    let mut put = |source: &mut TestBuffer| rma(&mut devices[0]).put(source.span(), to, Some(0));
    let tickets: Vec<_> = sources.iter_mut().map(|source| put(source).unwrap()).collect();
    for ticket in tickets {
        end(&mut devices, 0, ticket).unwrap();
    }
    assert_eq!(target.bytes(), [99; 8]);
}

fn numbers_change_as_asked<D: Device>(mut devices: Vec<D>) {
    let (mut target, mut old) = (TestBuffer::new(32, 0), TestBuffer::new(8, 0));
    let key = register(&mut devices[1], &mut target);
    for bytes in [8_u8, 4] {
        let len = usize::from(bytes);
        let low = if bytes == 4 { u64::from(u32::MAX) } else { u64::MAX };
        let number = |memory: &mut TestBuffer, at: usize| match <[u8; 8]>::try_from(
            &memory.bytes()[at..][..len],
        ) {
            Ok(bytes) => u64::from_ne_bytes(bytes),
            Err(_) => u32::from_ne_bytes(memory.bytes()[at..][..4].try_into().unwrap()).into(),
        };
        let at = RemoteAddress { peer: 1, key, offset: 16 };
        let mut value = 0;
        let changes = [
            Update::Add(u64::MAX),
            Update::Add(5),
            Update::Or(0xf0),
            Update::And(0xff),
            Update::Xor(0x1_0000_0001),
            Update::CompareSwap(3, 4),
            Update::Swap(0xffff_ffff_0000_0003),
            Update::CompareSwap(if bytes == 4 { 3 } else { 0xffff_ffff_0000_0003 }, 9),
        ];
        target.span().write(0, &[0; 32]);
        for change in changes {
            let into = old.span().part(0, len);
            let ticket = rma(&mut devices[0]).update(at, bytes, change, into).unwrap();
            end(&mut devices, 0, ticket).unwrap();
            assert_eq!(number(&mut old, 0), value, "old value of {bytes} bytes before {change:?}");
            value = change.apply(value, bytes) & low;
            assert_eq!(number(&mut target, 16), value, "{bytes} bytes after {change:?}");
        }
        assert_eq!(value, 9);
        assert!(
            target.bytes()[..16].iter().chain(&target.bytes()[16 + len..]).all(|byte| *byte == 0)
        );
    }
}

fn additions_are_atomic<D: Device>(mut devices: Vec<D>) {
    const EACH: usize = 50;
    let mut target = TestBuffer::new(8, 0);
    target.span().write(0, &0_u64.to_ne_bytes());
    let key = register(&mut devices[0], &mut target);
    let at = RemoteAddress { peer: 0, key, offset: 0 };
    let mut olds: Vec<_> = (0..devices.len() * EACH).map(|_| TestBuffer::new(8, 0)).collect();
    let mut tickets = Vec::new();
    for (number, old) in olds.iter_mut().enumerate() {
        let rank = number % devices.len();
        let ticket = rma(&mut devices[rank]).update(at, 8, Update::Add(1), old.span()).unwrap();
        tickets.push((rank, ticket));
    }
    for (rank, ticket) in tickets {
        end(&mut devices, rank, ticket).unwrap();
    }
    let number = |memory: &mut TestBuffer| u64::from_ne_bytes(memory.bytes().try_into().unwrap());
    let mut seen: Vec<_> = olds.iter_mut().map(number).collect();
    seen.sort_unstable();
    assert!(seen.into_iter().eq(0..olds.len() as u64));
    assert_eq!(number(&mut target), olds.len() as u64);
}

/// The class of the error of an access.
fn class<D: Device>(
    devices: &mut [D], access: impl FnOnce(&mut dyn Rma) -> Result<RmaTicket>,
) -> Option<ErrorClass> {
    let ticket = access(rma(&mut devices[0]));
    let error = ticket.and_then(|ticket| end(devices, 0, ticket)).err()?;
    assert!(!error.why.is_empty());
    ErrorClass::from_value(error.code.0)
}

fn what_is_not_allowed_is_an_error<D: Device>(mut devices: Vec<D>) {
    let (mut mine, mut open, mut closed) =
        (TestBuffer::new(64, 1), TestBuffer::new(64, 2), TestBuffer::new(64, 3));
    let key = register(&mut devices[1], &mut open);
    let read_only = rma(&mut devices[1]).register(closed.span(), RemoteAccess::Read).unwrap();
    let (all, eight) = (mine.span(), mine.span().part(0, 8));
    let at = |key, offset| RemoteAddress { peer: 1, key, offset };
    let range = Some(ErrorClass::RmaRange);
    for offset in [1, 64, 65, 1 << 40, u64::MAX, u64::MAX - 63] {
        assert_eq!(class(&mut devices, |rma| rma.put(all, at(key, offset), None)), range);
        assert_eq!(class(&mut devices, |rma| rma.get(at(key, offset), all, None)), range);
    }
    let add = Update::Add(1);
    assert_eq!(class(&mut devices, |rma| rma.update(at(key, 64), 8, add, eight)), range);
    let unknown = MemoryKey(key.0.max(read_only.0) + (1 << 20));
    for unknown in [unknown, MemoryKey(u64::MAX)] {
        assert_eq!(class(&mut devices, |rma| rma.put(eight, at(unknown, 0), None)), range);
        assert_eq!(class(&mut devices, |rma| rma.get(at(unknown, 0), eight, None)), range);
    }
    let access = Some(ErrorClass::Access);
    assert_eq!(class(&mut devices, |rma| rma.put(eight, at(read_only, 0), None)), access);
    assert_eq!(class(&mut devices, |rma| rma.update(at(read_only, 0), 8, add, eight)), access);
    let argument = Some(ErrorClass::Arg);
    assert_eq!(class(&mut devices, |rma| rma.update(at(key, 4), 8, add, eight)), argument);
    assert_eq!(class(&mut devices, |rma| rma.update(at(key, 2), 4, add, Span::EMPTY)), argument);
    assert_eq!(class(&mut devices, |rma| rma.update(at(key, 0), 2, add, Span::EMPTY)), argument);
    assert_eq!(class(&mut devices, |rma| rma.update(at(key, 0), 4, add, eight)), argument);
    assert_eq!((mine.bytes(), open.bytes()), (vec![1; 64], vec![2; 64]));
    assert_eq!(closed.bytes(), [3; 64]);
    assert_eq!(class(&mut devices, |rma| rma.get(at(read_only, 56), eight, None)), None);
    assert_eq!(class(&mut devices, |rma| rma.put(Span::EMPTY, at(key, 64), None)), None);
}

fn a_registration_ends<D: Device>(mut devices: Vec<D>) {
    let (mut mine, mut memory) = (TestBuffer::new(8, 1), TestBuffer::new(8, 2));
    let keys: Vec<_> = (0..40).map(|_| register(&mut devices[1], &mut memory)).collect();
    keys.iter().for_each(|key| rma(&mut devices[1]).deregister(*key));
    let again = register(&mut devices[1], &mut memory);
    let from = mine.span();
    for key in keys {
        let to = RemoteAddress { peer: 1, key, offset: 0 };
        let range = Some(ErrorClass::RmaRange);
        assert_eq!(class(&mut devices, |rma| rma.put(from, to, None)), range, "{key:?}");
    }
    assert_eq!(memory.bytes(), [2; 8]);
    let to = RemoteAddress { peer: 1, key: again, offset: 0 };
    assert_eq!(class(&mut devices, |rma| rma.put(from, to, None)), None);
    assert_eq!(memory.bytes(), [1; 8]);
}
