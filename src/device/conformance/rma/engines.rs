//! The order of accesses that a rank has in progress: how their ends are counted, and accesses that an
//! interface defers.

use super::{Ignore, MemoryKind, ProvidedMemory, TestBuffer, TestDeadline, issue, poll_all, rma};
use crate::device::Device;
use crate::device::rma::{AccessProgress, NumberKind, RmaAccess, RmaError, Update};
use platform::base::{Peer, Random};

/// What [`Rma::progress`](crate::device::rma::Rma::progress) counts as completed is there.
pub(super) fn the_end_of_each_access_is_counted<D: Device>(
    mut devices: Vec<D>, memory_kind: MemoryKind, seed: u64,
) {
    const ACCESSES: usize = 60;
    let mut random = Random::new(seed);
    let lens: Vec<usize> = (0..ACCESSES).map(|_| random.below(3000) as usize + 1).collect();
    let targets = [1, 2].map(|peer| memory_kind.provide(&mut devices[peer], 3000 * ACCESSES, 0));
    let mut sources: Vec<_> = lens.iter().map(|len| TestBuffer::new(*len, 1)).collect();
    let mut started: [Vec<usize>; 2] = Default::default();
    let progress = |devices: &mut [D], peer: Peer| rma(&mut devices[0]).progress(peer);
    assert_eq!(progress(&mut devices, 1), AccessProgress::default());
    let deadline = TestDeadline::new();
    let mut ended = [0; 2];
    while ended.iter().sum::<u64>() < ACCESSES as u64 {
        let next = started.iter().map(Vec::len).sum::<usize>();
        if next < ACCESSES && random.one_in(2) {
            let which = random.below(2) as usize;
            let from = sources[next].span();
            let to = targets[which].at(which as Peer + 1, 3000 * next);
            issue(&mut devices, 0, &mut |rma| rma.put(from, to)).unwrap();
            started[which].push(next);
        }
        for which in 0..2 {
            let now = progress(&mut devices, which as Peer + 1);
            assert_eq!(now.accepted, started[which].len() as u64);
            assert!(now.completed >= ended[which] && now.completed <= now.accepted);
            for access in &started[which][ended[which] as usize..now.completed as usize] {
                let span = targets[which].span.part(3000 * access, lens[*access]);
                let mut bytes = vec![0; span.len()];
                span.read(0, &mut bytes);
                assert!(bytes.iter().all(|byte| *byte == 1), "seed {seed}: access {access}");
            }
            ended[which] = now.completed;
        }
        poll_all(&mut devices);
        deadline.wait();
    }
}

/// A number travels through the memory of ranks 1 and 2 by accesses that are deferred until those before
/// them have completed, while rank 0 makes no call that could start one.
pub(super) fn deferred_accesses_follow_those_before<D: Device>(
    mut devices: Vec<D>, memory_kind: MemoryKind,
) {
    const ROUNDS: u64 = 40;
    if rma(&mut devices[0]).engines().is_none() {
        return;
    }
    let mut own = TestBuffer::new(8 * (ROUNDS as usize + 1), 0);
    let targets = [1, 2].map(|peer| memory_kind.provide(&mut devices[peer], 16, 0));
    let word = |own: &mut TestBuffer, at: u64| own.span().part(8 * at as usize, 8);
    word(&mut own, 0).write(0, &7_u64.to_ne_bytes());
    let kind = NumberKind::Unsigned8;
    for round in 0..ROUNDS {
        let which = (round % 2) as usize;
        let at = targets[which].at(which as Peer + 1, 8);
        let (from, into) = (word(&mut own, round), word(&mut own, round + 1));
        let old = platform::base::Span::EMPTY;
        for access in [
            RmaAccess::Put { from, to: at },
            RmaAccess::Update { at, kind, update: Update::Add(round), old },
            RmaAccess::Get { from: at, into },
        ] {
            start_deferred(&mut devices, access, round as u8);
        }
    }
    let deadline = TestDeadline::new();
    let mut peers = [1, 2].map(|peer| rma(&mut devices[0]).progress(peer));
    while peers.iter().any(|peer| peer.completed < peer.accepted) {
        for device in &mut devices[1..] {
            device.poll(&mut Ignore);
        }
        deadline.wait();
        peers = [1, 2].map(|peer| rma(&mut devices[0]).progress(peer));
    }
    let mut last = [0; 8];
    word(&mut own, ROUNDS).read(0, &mut last);
    assert_eq!(u64::from_ne_bytes(last), 7 + (0..ROUNDS).sum::<u64>());
}

/// Defers an access of rank 0, or starts it when there is nothing to wait for any more.
fn start_deferred<D: Device>(devices: &mut [D], access: RmaAccess, engine: u8) {
    let deadline = TestDeadline::new();
    loop {
        let engines = rma(&mut devices[0]).engines().expect("a device keeps its engines");
        match engines.start(access, engine, true) {
            Ok(()) => return,
            Err(RmaError::Busy) => poll_all(devices),
            Err(RmaError::Denied(error)) => panic!("{error}"),
        }
        deadline.wait();
    }
}

/// Every engine carries accesses, and one that is not allowed is refused as without an engine.
pub(super) fn engines_carry_accesses<D: Device>(mut devices: Vec<D>, memory_kind: MemoryKind) {
    let Some(engines) = rma(&mut devices[0]).engines().map(|engines| engines.count()) else {
        return;
    };
    assert!(engines > 0);
    let target: ProvidedMemory = memory_kind.provide(&mut devices[1], 300, 0);
    let mut sources: Vec<_> = (0..=u8::MAX).map(|byte| TestBuffer::new(1, byte)).collect();
    for (byte, source) in (0..=u8::MAX).zip(&mut sources) {
        let access = RmaAccess::Put { from: source.span(), to: target.at(1, byte.into()) };
        issue(&mut devices, 0, &mut |rma| {
            let engines = rma.engines().expect("a device keeps its engines");
            engines.start(access, byte, byte % 3 == 0)
        })
        .unwrap();
    }
    super::flush(&mut devices, 0, 1).unwrap();
    assert!(target.bytes()[..256].iter().copied().eq(0..=u8::MAX));
    let beyond = RmaAccess::Put { from: sources[1].span(), to: target.at(1, 300) };
    for is_deferred in [false, true] {
        let end = super::end(&mut devices, 0, 1, |rma| {
            let engines = rma.engines().expect("a device keeps its engines");
            engines.start(beyond, 0, is_deferred)
        });
        assert_eq!(end.unwrap_err().code.0, platform::base::ErrorClass::RmaRange as i32);
    }
}
