//! The part of the suite about rooms, for devices that have them.

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
    a_sleeper_is_woken(network(2), 500);
    an_entry_waits_for_readers(network(3));
    each_segment_is_claimed_once(network(2));
    a_segment_is_free_when_all_have_left(network(3));
    what_is_published_outlives_its_publisher(network(2));
    a_segment_that_does_not_exist_is_none(network(2));
}

fn shared_memory<D: Device>(device: &mut D) -> &mut dyn SharedMemory {
    device.shared_memory().expect("a device keeps its rooms")
}

fn all(ranks: usize) -> Vec<Peer> {
    (0..ranks as Peer).collect()
}

/// Enters a room that the first rank claims.
fn enter_segments<D: Device>(devices: &mut [D]) -> Vec<SharedSegment> {
    let number = shared_memory(&mut devices[0]).claim().expect("a free room");
    let seats = all(devices.len());
    devices.iter_mut().map(|device| shared_memory(device).enter(number, &seats).unwrap()).collect()
}

/// How much a seat publishes in a round: inside a line, at its end, beyond it, all.
fn len(seat: usize, round: u64) -> usize {
    [0, 8, 40, 41, 1000, SharedSegment::DATA_MAX][(seat + round as usize) % 6]
}

fn publish<D: Device>(device: &mut D, room: &mut SharedSegment, round: u64) {
    let (seat, patience) = (room.local_rank(), TestDeadline::new());
    let len = len(seat, round);
    let span = loop {
        match room.entry(round, len) {
            Some(span) => break span,
            None => patience.wait(),
        }
    };
    span.write(0, &vec![round as u8 ^ seat as u8; len]);
    room.publish(round, SlotHeader { kind: seat as u8, root: !0, bytes: round << 40 });
    notify_others(device, room);
}

fn notify_others<D: Device>(device: &mut D, room: &SharedSegment) {
    for seat in (0..room.len()).filter(|seat| *seat != room.local_rank()) {
        device.notify(seat as Peer);
    }
}

fn check_entry(room: &mut SharedSegment, seat: usize, round: u64) -> bool {
    let Some((head, span)) = room.read(seat, round) else { return false };
    assert_eq!(head, SlotHeader { kind: seat as u8, root: !0, bytes: round << 40 });
    let mut data = vec![0; span.len()];
    span.read(0, &mut data);
    assert_eq!(data.len(), len(seat, round), "round {round} of seat {seat}");
    assert!(data.iter().all(|byte| *byte == round as u8 ^ seat as u8), "round {round}");
    true
}

fn await_entry(room: &mut SharedSegment, seat: usize, round: u64) {
    let patience = TestDeadline::new();
    while !check_entry(room, seat, round) {
        patience.wait();
    }
}

fn done<D: Device>(device: &mut D, room: &mut SharedSegment, round: u64) {
    if room.done(round) {
        notify_others(device, room);
    }
}

/// Each rank in a thread of its own.
fn on_threads<D: Device>(mut devices: Vec<D>, body: impl Fn(&mut D, SharedSegment) + Sync) {
    let rooms = enter_segments(&mut devices);
    thread::scope(|scope| {
        for (mut device, room) in devices.into_iter().zip(rooms) {
            let body = &body;
            scope.spawn(move || body(&mut device, room));
        }
    });
}

fn every_rank_reads_every_rank<D: Device>(devices: Vec<D>, calls: usize) {
    on_threads(devices, |device, mut room| {
        for _ in 0..calls {
            let first = room.begin(2);
            for round in first..first + 2 {
                publish(device, &mut room, round);
            }
            for round in first..first + 2 {
                (0..room.len()).for_each(|seat| await_entry(&mut room, seat, round));
            }
            done(device, &mut room, first + 1);
        }
        shared_memory(device).leave(room);
    });
}

/// One seat publishes, the others read, so that most learn nothing from entries of the others.
fn roots_take_turns<D: Device>(devices: Vec<D>, calls: usize) {
    on_threads(devices, |device, mut room| {
        for call in 0..calls {
            let (round, root) = (room.begin(1), call / 20 % room.len());
            match root == room.local_rank() {
                true => publish(device, &mut room, round),
                false => await_entry(&mut room, root, round),
            }
            done(device, &mut room, round);
        }
        shared_memory(device).leave(room);
    });
}

/// The reader arms whenever it finds nothing, the publisher when its ring is full.
fn a_sleeper_is_woken<D: Device>(devices: Vec<D>, rounds: u64) {
    fn sleep_until<D: Device>(device: &mut D, mut look: impl FnMut() -> bool) {
        while !look() {
            let wake = device.arm();
            device.poll(&mut Ignore);
            let patience = TestDeadline::new();
            if !look() {
                while !has_fired(&wake) && !matches!(wake, WakeSource::Never) {
                    patience.wait();
                }
            }
            device.disarm();
        }
    }
    on_threads(devices, |device, mut room| {
        for _ in 0..rounds {
            let round = room.begin(1);
            if room.local_rank() == 0 {
                sleep_until(device, || room.entry(round, 0).is_some());
                publish(device, &mut room, round);
            } else {
                sleep_until(device, || room.read(0, round).is_some());
            }
            done(device, &mut room, round);
        }
        shared_memory(device).leave(room);
    });
}

fn an_entry_waits_for_readers<D: Device>(mut devices: Vec<D>) {
    let mut rooms = enter_segments(&mut devices);
    let (publisher, readers) = rooms.split_first_mut().unwrap();
    let published = (1..).take_while(|round| {
        let span = publisher.entry(*round, 8);
        span.inspect(|_| publisher.publish(*round, SlotHeader::default())).is_some()
    });
    let published = published.count() as u64;
    assert!(publisher.entry(published + 1, 8).is_none());
    for (last, reader) in [false, true].into_iter().zip(readers) {
        for round in 1..=published {
            assert!(reader.read(0, round).is_some());
            let _told = reader.done(round);
        }
        assert_eq!(publisher.entry(published + 1, 8).is_some(), last);
    }
}

fn each_segment_is_claimed_once<D: Device>(mut devices: Vec<D>) {
    let mut numbers: Vec<_> =
        (0..).map_while(|turn| shared_memory(&mut devices[turn % 2]).claim()).collect();
    assert!(numbers.len() >= 8, "{} rooms", numbers.len());
    assert!(!numbers.contains(&0), "room 0 is everybody's");
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
        let mut rooms = enter_segments(&mut devices);
        let number = rooms[0].number();
        // What a room had before is not seen in it, whoever left last.
        let round = rooms[0].begin(1);
        for room in &mut rooms {
            assert!((0..count).all(|seat| room.read(seat, round).is_none()));
        }
        for (device, room) in devices.iter_mut().zip(&mut rooms) {
            publish(device, room, round);
        }
        rooms.rotate_left(turn % count);
        for room in rooms {
            let device = &mut devices[room.local_rank()];
            assert_ne!(
                device.shared_memory().unwrap().claim().inspect(|other| {
                    device.shared_memory().unwrap().release(*other);
                }),
                Some(number)
            );
            shared_memory(device).leave(room);
        }
        assert_eq!(shared_memory(&mut devices[turn % count]).claim(), Some(number));
        shared_memory(&mut devices[turn % count]).release(number);
    }
}

fn what_is_published_outlives_its_publisher<D: Device>(mut devices: Vec<D>) {
    let mut rooms = enter_segments(&mut devices);
    let number = rooms[0].number();
    for round in 1..4 {
        publish(&mut devices[0], &mut rooms[0], round);
    }
    shared_memory(&mut devices[0]).leave(rooms.remove(0));
    assert_ne!(shared_memory(&mut devices[0]).claim(), Some(number));
    for round in 1..4 {
        assert!(check_entry(&mut rooms[0], 0, round));
    }
    shared_memory(&mut devices[1]).leave(rooms.remove(0));
    assert_eq!(shared_memory(&mut devices[0]).claim(), Some(number));
}

fn a_segment_that_does_not_exist_is_none<D: Device>(mut devices: Vec<D>) {
    for number in [1 << 20, u32::MAX] {
        assert!(shared_memory(&mut devices[0]).enter(number, &all(2)).is_none());
        shared_memory(&mut devices[0]).release(number);
    }
    assert!(shared_memory(&mut devices[0]).enter(1, &[0, 99]).is_none());
}
