//! Many accesses at a time: threads, errors among others, memory of several ranks, deaths.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use super::{
    MemoryKind, ProvidedMemory, TestBuffer, all_make, end, flush, issue, number, pattern, poll_all,
    rma,
};
use crate::device::conformance::{Ignore, TestDeadline, has_fired};
use crate::device::rma::{
    NumberKind, PutSignal, RemoteAccess, RemoteAddress, Rma, RmaError, Update, UpdateExecutor,
};
use crate::device::{Device, WakeSource};
use platform::base::{Peer, Random, Span};

/// Each rank has a thread. Additions, and increments by comparison, of one number are all counted, those
/// of the owner too.
pub(super) fn threads_update_one_number<D: Device>(mut devices: Vec<D>, memory_kind: MemoryKind) {
    const EACH: u64 = 40;
    let kind = NumberKind::Unsigned4;
    let target = memory_kind.provide(&mut devices[0], 16, 0);
    let at = target.at(0, 8);
    let needed = [Update::Add(1), Update::CompareSwap(0, 1)];
    if !needed.iter().all(|update| all_make(&mut devices, target.key, *update, kind)) {
        return;
    }
    let (ranks, ended) = (devices.len(), AtomicUsize::new(0));
    thread::scope(|scope| {
        for device in &mut devices {
            let ended = &ended;
            scope.spawn(move || {
                let mut old = TestBuffer::new(4, 0);
                let into = old.span();
                for _ in 0..EACH {
                    change(device, at, kind, Update::Add(1), into);
                    let mut seen = number(&old.bytes(), kind) + 1;
                    loop {
                        change(device, at, kind, Update::CompareSwap(seen, seen + 1), into);
                        match number(&old.bytes(), kind) {
                            before if before == seen => break,
                            before => seen = before,
                        }
                    }
                }
                ended.fetch_add(1, Ordering::SeqCst);
                let deadline = TestDeadline::new();
                while ended.load(Ordering::SeqCst) < ranks {
                    device.poll(&mut Ignore);
                    deadline.wait();
                }
            });
        }
    });
    assert_eq!(number(&target.bytes()[8..], kind), 2 * EACH * ranks as u64);
    assert_eq!((&target.bytes()[..8], &target.bytes()[12..]), (&[0; 8][..], &[0; 4][..]));
}

/// Ranks that sleep while accesses are in progress are woken: the owner if it has something to do for
/// them, the other rank by their ends.
pub(super) fn accesses_wake_ranks_that_sleep<D: Device>(
    mut devices: Vec<D>, memory_kind: MemoryKind,
) {
    const ROUNDS: u8 = 50;
    let mut source = TestBuffer::new(5000, 0);
    let target = memory_kind.provide(&mut devices[1], 5000, 0);
    let (span, at, is_over) = (source.span(), target.at(1, 0), AtomicBool::new(false));
    let [mut owner, mut origin] = [devices.pop(), devices.pop()].map(Option::unwrap);
    let sleep = |wake: &WakeSource| {
        let deadline = TestDeadline::new();
        let is_awake = || matches!(wake, WakeSource::Never) || is_over.load(Ordering::SeqCst);
        while !is_awake() && !has_fired(wake) {
            deadline.wait();
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                let wake = owner.arm();
                if owner.poll(&mut Ignore) == 0 {
                    sleep(&wake);
                }
                owner.disarm();
            }
        });
        for round in 1..=ROUNDS {
            source.fill(round);
            let deadline = TestDeadline::new();
            while rma(&mut origin).put(span, at).is_err() {
                origin.poll(&mut Ignore);
                deadline.wait();
            }
            let mut end = rma(&mut origin).flush(1);
            while end.is_none() {
                let wake = origin.arm();
                origin.poll(&mut Ignore);
                end = rma(&mut origin).flush(1);
                if end.is_none() {
                    sleep(&wake);
                }
                origin.disarm();
            }
            end.unwrap().unwrap();
            assert_eq!(target.bytes()[4999], round);
        }
        is_over.store(true, Ordering::SeqCst);
    });
}

/// An owner that sleeps is woken by the addition of a signalled put that its interface makes, and its
/// number of changes grows.
pub(super) fn an_update_by_the_interface_wakes_its_owner<D: Device>(
    mut devices: Vec<D>, memory_kind: MemoryKind,
) {
    let mut source = TestBuffer::new(100, 1);
    let target = memory_kind.provide(&mut devices[1], 112, 0);
    let executor = rma(&mut devices[0]).open(1, target.key).unwrap().executor;
    if executor != UpdateExecutor::Interface {
        return;
    }
    let changes = |devices: &mut [D]| {
        let deadline = TestDeadline::new();
        loop {
            poll_all(devices);
            if let Some(changes) = devices[1].quiescence() {
                return changes;
            }
            deadline.wait();
        }
    };
    let (from, at) = (source.span(), target.at(1, 0));
    let signal = PutSignal { key: target.key, offset: 104, addend: 1 };
    for round in 1..=20 {
        let before = changes(&mut devices);
        let wake = devices[1].arm();
        devices[1].poll(&mut Ignore);
        issue(&mut devices, 0, &mut |rma| rma.put_signalled(from, at, signal)).unwrap();
        let deadline = TestDeadline::new();
        while !has_fired(&wake) && !matches!(wake, WakeSource::Never) {
            devices[0].poll(&mut Ignore);
            deadline.wait();
        }
        devices[1].disarm();
        flush(&mut devices, 0, 1).unwrap();
        assert_eq!(number(&target.bytes()[104..], NumberKind::Unsigned8), round);
        assert_ne!(changes(&mut devices), before);
    }
}

/// An update of a rank in a thread of its own, from its start to its end.
fn change<D: Device>(
    device: &mut D, at: RemoteAddress, kind: NumberKind, update: Update, old: Span,
) {
    let deadline = TestDeadline::new();
    while let Err(error) = rma(device).update(at, kind, update, old) {
        assert!(matches!(error, RmaError::Busy), "{error:?}");
        device.poll(&mut Ignore);
        deadline.wait();
    }
    loop {
        if let Some(end) = rma(device).flush(at.peer) {
            return end.unwrap();
        }
        device.poll(&mut Ignore);
        deadline.wait();
    }
}

/// Accesses that are not allowed among others in progress: those have their effects, and one flush
/// returns an error if any was accepted.
pub(super) fn errors_among_other_accesses_are_told_once<D: Device>(
    mut devices: Vec<D>, memory_kind: MemoryKind,
) {
    let mut source = TestBuffer::new(40, 1);
    let target = memory_kind.provide(&mut devices[1], 40, 0);
    let from = source.span();
    let mut late = 0;
    for part in 0..10 {
        let four = from.part(4 * part, 4);
        let beyond = &mut |rma: &mut dyn Rma| rma.put(four, target.at(1, 37));
        if part % 3 == 1 && issue(&mut devices, 0, beyond).is_ok() {
            late += 1;
        }
        issue(&mut devices, 0, &mut |rma| rma.put(four, target.at(1, 4 * part))).unwrap();
    }
    let first = flush(&mut devices, 0, 1);
    assert_eq!(first.is_err(), late > 0, "{late} errors");
    flush(&mut devices, 0, 1).unwrap();
    assert_eq!(target.bytes(), [1; 40]);
}

/// Accesses of all ranks to all ranks, of which many are in progress at a time, to disjoint bytes.
pub(super) fn many_accesses_are_in_progress<D: Device>(
    mut devices: Vec<D>, memory_kind: MemoryKind, seed: u64,
) {
    const PARTS: usize = 40;
    const PART: usize = 64;
    let (ranks, mut random) = (devices.len(), Random::new(seed));
    let len = ranks * PARTS * PART;
    let mut local: Vec<_> = (0..ranks).map(|_| TestBuffer::new(ranks * len, 0)).collect();
    let targets: Vec<_> =
        devices.iter_mut().map(|rank| memory_kind.provide(rank, len, 0)).collect();
    for (rank, (local, target)) in (0_u64..).zip(local.iter_mut().zip(&targets)) {
        local.span().write(0, &pattern(ranks * len, 3 * rank + 1));
        target.span.write(0, &pattern(len, 3 * rank + 2));
    }
    let mut expected_local: Vec<_> = local.iter_mut().map(TestBuffer::bytes).collect();
    let mut expected: Vec<_> = targets.iter().map(ProvidedMemory::bytes).collect();
    for part in 0..PARTS {
        for pair in 0..ranks * ranks {
            let (me, peer) = (pair / ranks, pair % ranks);
            let offset = (me * PARTS + part) * PART;
            let here = peer * len + offset;
            let size = random.below(PART as u64 + 1) as usize;
            let (span, at) =
                (local[me].span().part(here, size), targets[peer].at(peer as Peer, offset));
            if random.one_in(2) {
                issue(&mut devices, me, &mut |rma| rma.put(span, at)).unwrap();
                expected[peer][offset..][..size]
                    .copy_from_slice(&expected_local[me][here..][..size]);
            } else {
                issue(&mut devices, me, &mut |rma| rma.get(at, span)).unwrap();
                expected_local[me][here..][..size]
                    .copy_from_slice(&expected[peer][offset..][..size]);
            }
        }
        if random.one_in(30) {
            let (me, peer) = (random.below(ranks as u64), random.below(ranks as u64));
            flush(&mut devices, me as usize, peer as Peer).unwrap();
        }
    }
    (0..ranks * ranks)
        .for_each(|pair| flush(&mut devices, pair / ranks, (pair % ranks) as Peer).unwrap());
    for rank in 0..ranks {
        assert!(local[rank].bytes() == expected_local[rank], "seed {seed}: memory of rank {rank}");
        assert!(targets[rank].bytes() == expected[rank], "seed {seed}: memory for peers {rank}");
    }
}

/// Memory that one rank allocates and three ranks use, mapped or by accesses.
pub(super) fn allocated_memory_is_shared<D: Device>(mut devices: Vec<D>) {
    let ranks = devices.len();
    let kind = NumberKind::Signed8;
    let Some((key, memory)) = rma(&mut devices[0]).allocate(64, RemoteAccess::ReadWrite).unwrap()
    else {
        return;
    };
    let at = |offset| RemoteAddress { peer: 0, key, offset };
    let (mut bytes, mut expected) = ([0; 64], [0; 64]);
    for rank in 0..ranks {
        let caps = rma(&mut devices[rank]).open(0, key).unwrap();
        let update = Update::Add(1 << (8 * rank));
        assert!(caps.updates.contains(update, kind));
        let mut sum = 1;
        if let Some(mapped) = caps.mapped {
            assert_eq!((mapped.len(), caps.executor), (64, UpdateExecutor::Processor));
            mapped.write(8 * rank, &[rank as u8 + 1; 8]);
            expected[8 * rank..][..8].fill(rank as u8 + 1);
            update.perform(mapped.part(56, 8), kind);
            sum += 1;
        }
        end(&mut devices, rank, 0, |rma| rma.update(at(56), kind, update, Span::EMPTY)).unwrap();
        memory.read(0, &mut bytes);
        assert_eq!(number(&bytes[56..], kind) >> (8 * rank) & 0xff, sum);
    }
    assert_eq!(bytes[..56], expected[..56]);
    rma(&mut devices[1]).close(0, key);
    rma(&mut devices[0]).deregister(key);
    assert!(rma(&mut devices[2]).open(0, key).is_err());
}

/// A peer dies while accesses to it are in progress: each of them ends, and so do later ones.
pub(in crate::device::conformance) fn check_failure<D: Device>(
    network: &impl Fn(usize) -> Vec<D>, kill: impl Fn(&mut D) + Copy,
) {
    if network(1)[0].rma().is_none() {
        return;
    }
    for accesses in [1, 10, 100] {
        let mut devices = network(3);
        let mut local = TestBuffer::new(10_000, 1);
        let targets =
            [1, 2].map(|rank| MemoryKind::Registered.provide(&mut devices[rank], 10_000, 0));
        let span = local.span();
        for access in 0..accesses {
            for (peer, target) in (1..).zip(&targets) {
                let at = target.at(peer, 0);
                issue(&mut devices, 0, &mut |rma| match access % 2 {
                    0 => rma.put(span, at),
                    _ => rma.get(at, span),
                })
                .unwrap();
            }
        }
        kill(&mut devices[1]);
        let dead = devices.remove(1);
        // An error, or memory that nobody reads: it does not wait for ever.
        let first = flush(&mut devices, 0, 1);
        let second = end(&mut devices, 0, 1, |rma| rma.put(span, targets[0].at(1, 0)));
        for error in [first, second].into_iter().filter_map(Result::err) {
            assert!(!error.why.is_empty());
        }
        flush(&mut devices, 0, 2).unwrap();
        end(&mut devices, 0, 2, |rma| rma.put(span, targets[1].at(2, 0))).unwrap();
        drop(dead);
    }
}
