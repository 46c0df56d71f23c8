//! The part of the suite about shared segments, for devices that have them.

use std::thread;

use super::{Ignore, TestDeadline, has_fired};
use crate::device::{Device, SharedMemory, WakeSource};
use crate::shared_memory::segment::{SharedSegment, SlotHeader};
use platform::base::Peer;

/// Runs it on new networks.
pub(super) fn check<D: Device>(network: &impl Fn(usize) -> Vec<D>) {
    if network(2)[0].shared_memory().is_none() {
        return;
    }
    for ranks in [1, 2, 3, 7] {
        every_rank_reads_every_rank(network(ranks), 60);
        roots_take_turns(network(ranks), 200);
    }
    a_rank_that_sleeps_is_woken(network(2), 500);
    an_entry_waits_for_readers(network(3));
    each_segment_is_claimed_once(network(2));
    a_segment_is_free_when_all_have_left(network(3));
    what_is_published_outlives_its_publisher(network(2));
    a_segment_that_does_not_exist_is_none(network(2));
}

fn shared_memory<D: Device>(device: &mut D) -> &mut dyn SharedMemory {
    device.shared_memory().expect("a device keeps its shared memory")
}

fn all(ranks: usize) -> Vec<Peer> {
    (0..ranks as Peer).collect()
}

/// Enters a segment that the first rank claims.
fn enter_segments<D: Device>(devices: &mut [D]) -> Vec<SharedSegment> {
    let number = shared_memory(&mut devices[0]).claim().expect("a free segment");
    let ranks = all(devices.len());
    devices.iter_mut().map(|device| shared_memory(device).enter(number, &ranks).unwrap()).collect()
}

/// How much a rank publishes in a round: inside a line, at its end, beyond it, all.
fn len(rank: usize, round: u64) -> usize {
    [0, 8, 40, 41, 1000, SharedSegment::DATA_MAX][(rank + round as usize) % 6]
}

fn publish<D: Device>(device: &mut D, segment: &mut SharedSegment, round: u64) {
    let (rank, deadline) = (segment.local_rank(), TestDeadline::new());
    let len = len(rank, round);
    let span = loop {
        match segment.entry(round, len) {
            Some(span) => break span,
            None => deadline.wait(),
        }
    };
    span.write(0, &vec![round as u8 ^ rank as u8; len]);
    segment.publish(round, SlotHeader { kind: rank as u8, root: !0, bytes: round << 40 });
    notify_others(device, segment);
}

fn notify_others<D: Device>(device: &mut D, segment: &SharedSegment) {
    for rank in (0..segment.len()).filter(|rank| *rank != segment.local_rank()) {
        device.notify(rank as Peer);
    }
}

fn check_entry(segment: &mut SharedSegment, rank: usize, round: u64) -> bool {
    let Some((header, span)) = segment.read(rank, round) else { return false };
    assert_eq!(header, SlotHeader { kind: rank as u8, root: !0, bytes: round << 40 });
    let mut data = vec![0; span.len()];
    span.read(0, &mut data);
    assert_eq!(data.len(), len(rank, round), "round {round} of rank {rank}");
    assert!(data.iter().all(|byte| *byte == round as u8 ^ rank as u8), "round {round}");
    true
}

fn await_entry(segment: &mut SharedSegment, rank: usize, round: u64) {
    let deadline = TestDeadline::new();
    while !check_entry(segment, rank, round) {
        deadline.wait();
    }
}

fn done<D: Device>(device: &mut D, segment: &mut SharedSegment, round: u64) {
    if segment.done(round, false) {
        notify_others(device, segment);
    }
}

/// Each rank in a thread of its own.
fn on_threads<D: Device>(mut devices: Vec<D>, body: impl Fn(&mut D, SharedSegment) + Sync) {
    let segments = enter_segments(&mut devices);
    thread::scope(|scope| {
        for (mut device, segment) in devices.into_iter().zip(segments) {
            let body = &body;
            scope.spawn(move || body(&mut device, segment));
        }
    });
}

fn every_rank_reads_every_rank<D: Device>(devices: Vec<D>, calls: usize) {
    on_threads(devices, |device, mut segment| {
        for _ in 0..calls {
            let first = segment.begin(2);
            for round in first..first + 2 {
                publish(device, &mut segment, round);
            }
            for round in first..first + 2 {
                (0..segment.len()).for_each(|rank| await_entry(&mut segment, rank, round));
            }
            done(device, &mut segment, first + 1);
        }
        shared_memory(device).leave(segment);
    });
}

/// One rank publishes, the others read, so that most learn nothing from entries of the others.
fn roots_take_turns<D: Device>(devices: Vec<D>, calls: usize) {
    on_threads(devices, |device, mut segment| {
        for call in 0..calls {
            let (round, root) = (segment.begin(1), call / 20 % segment.len());
            match root == segment.local_rank() {
                true => publish(device, &mut segment, round),
                false => await_entry(&mut segment, root, round),
            }
            done(device, &mut segment, round);
        }
        shared_memory(device).leave(segment);
    });
}

/// The reader arms whenever it finds nothing, the publisher when its ring is full.
fn a_rank_that_sleeps_is_woken<D: Device>(devices: Vec<D>, rounds: u64) {
    fn sleep_until<D: Device>(device: &mut D, mut look: impl FnMut() -> bool) {
        while !look() {
            let wake = device.arm();
            device.poll(&mut Ignore);
            let deadline = TestDeadline::new();
            if !look() {
                while !has_fired(&wake) && !matches!(wake, WakeSource::Never) {
                    deadline.wait();
                }
            }
            device.disarm();
        }
    }
    on_threads(devices, |device, mut segment| {
        for _ in 0..rounds {
            let round = segment.begin(1);
            if segment.local_rank() == 0 {
                sleep_until(device, || segment.entry(round, 0).is_some());
                publish(device, &mut segment, round);
            } else {
                sleep_until(device, || segment.read(0, round).is_some());
            }
            done(device, &mut segment, round);
        }
        shared_memory(device).leave(segment);
    });
}

fn an_entry_waits_for_readers<D: Device>(mut devices: Vec<D>) {
    let mut segments = enter_segments(&mut devices);
    let (publisher, readers) = segments.split_first_mut().unwrap();
    let published = (1..).take_while(|round| {
        let span = publisher.entry(*round, 8);
        span.inspect(|_| publisher.publish(*round, SlotHeader::default())).is_some()
    });
    let published = published.count() as u64;
    assert!(publisher.entry(published + 1, 8).is_none());
    for (last, reader) in [false, true].into_iter().zip(readers) {
        for round in 1..=published {
            assert!(reader.read(0, round).is_some());
            let _told = reader.done(round, false);
        }
        assert_eq!(publisher.entry(published + 1, 8).is_some(), last);
    }
}

fn each_segment_is_claimed_once<D: Device>(mut devices: Vec<D>) {
    let mut numbers: Vec<_> =
        (0..).map_while(|turn| shared_memory(&mut devices[turn % 2]).claim()).collect();
    assert!(numbers.len() >= 8, "{} segments", numbers.len());
    assert!(!numbers.contains(&0), "segment 0 belongs to all ranks");
    assert_eq!(shared_memory(&mut devices[1]).claim(), None);
    shared_memory(&mut devices[0]).release(numbers[4]);
    assert_eq!(shared_memory(&mut devices[1]).claim(), Some(numbers[4]));
    numbers.sort_unstable();
    numbers.dedup();
    numbers.iter().for_each(|number| shared_memory(&mut devices[0]).release(*number));
    let spare: Vec<_> =
        (0..).map_while(|turn| shared_memory(&mut devices[turn % 2]).claim_spare()).collect();
    assert_eq!(spare.len(), numbers.len().div_ceil(2), "at least half are left");
    for number in &numbers[spare.len()..] {
        assert_eq!(shared_memory(&mut devices[1]).claim(), Some(*number));
    }
}

fn a_segment_is_free_when_all_have_left<D: Device>(mut devices: Vec<D>) {
    let count = devices.len();
    for turn in 0..3 * count {
        let mut segments = enter_segments(&mut devices);
        let number = segments[0].number();
        // A segment is empty after its claim, whichever rank left last.
        let round = segments[0].begin(1);
        for segment in &mut segments {
            assert!((0..count).all(|rank| segment.read(rank, round).is_none()));
        }
        for (device, segment) in devices.iter_mut().zip(&mut segments) {
            publish(device, segment, round);
        }
        segments.rotate_left(turn % count);
        for segment in segments {
            let device = &mut devices[segment.local_rank()];
            assert_ne!(
                device.shared_memory().unwrap().claim().inspect(|other| {
                    device.shared_memory().unwrap().release(*other);
                }),
                Some(number)
            );
            shared_memory(device).leave(segment);
        }
        assert_eq!(shared_memory(&mut devices[turn % count]).claim(), Some(number));
        shared_memory(&mut devices[turn % count]).release(number);
    }
}

fn what_is_published_outlives_its_publisher<D: Device>(mut devices: Vec<D>) {
    let mut segments = enter_segments(&mut devices);
    let number = segments[0].number();
    for round in 1..4 {
        publish(&mut devices[0], &mut segments[0], round);
    }
    shared_memory(&mut devices[0]).leave(segments.remove(0));
    assert_ne!(shared_memory(&mut devices[0]).claim(), Some(number));
    for round in 1..4 {
        assert!(check_entry(&mut segments[0], 0, round));
    }
    shared_memory(&mut devices[1]).leave(segments.remove(0));
    assert_eq!(shared_memory(&mut devices[0]).claim(), Some(number));
}

fn a_segment_that_does_not_exist_is_none<D: Device>(mut devices: Vec<D>) {
    for number in [1 << 20, u32::MAX] {
        assert!(shared_memory(&mut devices[0]).enter(number, &all(2)).is_none());
        shared_memory(&mut devices[0]).release(number);
    }
    assert!(shared_memory(&mut devices[0]).enter(1, &[0, 99]).is_none());
}
