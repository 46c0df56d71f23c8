//! The device as a whole, several ranks in one process.

use std::time::{Duration, Instant};

use super::*;
use crate::device::{MemoryDescriptor, conformance};
use platform::sys::{futex, shm};

fn network_of(peers: &[Peer], settings: &TofuSettings) -> Vec<Tofu> {
    let segment = shm::create().unwrap();
    let attach = |me| Tofu::attach(segment.try_clone().unwrap(), me, peers, settings).unwrap();
    (0..peers.len()).map(attach).collect()
}

fn network(ranks: usize) -> Vec<Tofu> {
    network_of(&(0..ranks as Peer).collect::<Vec<_>>(), &TofuSettings::default())
}

/// Registers memory of a rank for puts of others, where processes can be written.
fn admit_puts(rank: &mut Tofu, into: Span) -> Option<MemoryKey> {
    let Some(rma) = rank.rma() else {
        eprintln!("skipped: processes cannot be written here");
        return None;
    };
    Some(rma.register(into, RemoteAccess::ReadWrite).unwrap())
}

/// Waits for the end of all accesses to rank 1.
fn end(rma: &mut dyn Rma) -> Result {
    let begin = Instant::now();
    loop {
        if let Some(end) = rma.flush(1) {
            return end;
        }
        assert!(begin.elapsed() < Duration::from_secs(20), "no end");
        std::thread::yield_now();
    }
}

#[test]
fn conforms() {
    conformance::check(network);
}

#[test]
fn a_slot_is_attached_once_and_to_a_segment_of_this_device() {
    let segment = shm::create().unwrap();
    let settings = TofuSettings::default();
    let attach = || Tofu::attach(segment.try_clone().unwrap(), 1, &[0, 1], &settings);
    let _first = attach().unwrap();
    let error = attach().err().unwrap();
    assert!(error.why.contains("has taken the place of this rank"), "{error}");
    assert_eq!(error.code.0, ErrorClass::Other as i32);
}

#[test]
fn long_messages_are_read_from_their_sender() {
    let mut ranks = network_of(&[5, 3], &TofuSettings::default());
    let source: Vec<u8> = (0..100_000).map(|at| at as u8).collect();
    let mut copy = vec![0; source.len()];
    let bulk = ranks[1].bulk().unwrap();
    if !bulk.prefers(5, source.len()) {
        eprintln!("skipped: processes cannot be read here");
        return;
    }
    assert!(!bulk.prefers(5, 100));
    // SAFETY: `copy` outlives the read and nothing else uses it.
    let into = unsafe { Span::of(&mut copy) };
    let from = MemoryDescriptor::of_address(source.as_ptr() as u64);
    assert_eq!(bulk.read(5, from, into, 0), Ok(source.len()));
    assert!(copy == source);
    let why = bulk.read(5, MemoryDescriptor::of_address(8), into, 0).unwrap_err();
    assert!(why.contains("cannot read 100000 bytes"), "{why}");
    assert!(!bulk.prefers(5, source.len()), "a failed read is the last");
}

#[test]
fn paced_packets_take_time_and_wake_a_rank_that_sleeps() {
    struct Numbers(Vec<u8>);
    impl PacketSink for Numbers {
        fn packet(&mut self, from: Peer, _header: &Header, data: &[u8]) {
            assert_eq!((from, data.len()), (5, data[0] as usize * 100 + 1));
            self.0.push(data[0]);
        }
    }
    let settings = TofuSettings { is_paced: true, ..TofuSettings::default() };
    let mut ranks = network_of(&[5, 3], &settings);
    let (mut receiver, mut sender) = (ranks.remove(1), ranks.remove(0));
    let mut numbers = Numbers(Vec::new());
    for number in 0..200_u8 {
        let fill = |packet: &mut [u8]| packet.fill(number);
        sender.send(3, &Header::default(), number as usize * 100 + 1, fill).unwrap();
        while numbers.0.len() <= usize::from(number) {
            let WakeSource::Word { word, expected } = receiver.arm() else { panic!("no word") };
            if receiver.poll(&mut numbers) == 0 {
                let begin = Instant::now();
                futex::wait((*word).as_ref(), expected, Some(Duration::from_secs(20)));
                assert!(begin.elapsed() < Duration::from_secs(20), "slept through a packet");
            }
            receiver.disarm();
        }
    }
    assert!(numbers.0.iter().copied().eq(0..200));
    assert!(receiver.bulk().is_none());
}

#[test]
fn a_paced_put_arrives() {
    let settings = TofuSettings { is_paced: true, ..TofuSettings::default() };
    let mut ranks = network_of(&[0, 1], &settings);
    let (mut source, mut target) = (vec![7_u8; 100_000], vec![0_u8; 100_000]);
    // SAFETY: both stay until the end, and are looked at after the put.
    let (from, into) = unsafe { (Span::of(&mut source), Span::of(&mut target)) };
    let Some(key) = admit_puts(&mut ranks[1], into) else { return };
    let rma = ranks[0].rma().unwrap();
    rma.put(from, RemoteAddress { peer: 1, key, offset: 0 }).unwrap();
    end(rma).unwrap();
    let mut copy = vec![0; 100_000];
    into.read(0, &mut copy);
    assert!(copy == source);
}

#[test]
fn a_rank_that_polls_does_what_the_engine_thread_does_not_begin() {
    let mut ranks = network(2);
    let (mut source, mut target) = (vec![7_u8; 600_000], vec![0_u8; 600_000]);
    // SAFETY: both stay until the end, and are looked at after the put.
    let (from, into) = unsafe { (Span::of(&mut source), Span::of(&mut target)) };
    let Some(key) = admit_puts(&mut ranks[1], into) else { return };
    let to = RemoteAddress { peer: 1, key, offset: 0 };
    // The thread of this rank has never been started.
    let host = &mut ranks[0].interface;
    host.interface().access(RmaAccess::Put { from, to }, None).unwrap();
    assert!(host.interface().flush(1).is_none());
    for _ in 0..200 {
        host.poll_programs();
    }
    host.interface().flush(1).expect("the put has ended").unwrap();
    let mut copy = vec![0; 600_000];
    into.read(0, &mut copy);
    assert!(copy == source);
}

#[test]
fn a_torus_with_too_few_nodes_is_an_error() {
    let settings = TofuSettings { torus: "2x1x1".parse().ok(), ..TofuSettings::default() };
    let error = Tofu::attach(shm::create().unwrap(), 0, &[0, 1, 2], &settings).err().unwrap();
    assert!(error.why.contains("3 ranks are more than the 2 nodes"), "{error}");
}

#[test]
fn memory_that_cannot_be_written_leaves_packets() {
    let mut ranks = network_of(&[0, 1, 2], &TofuSettings::default());
    let mut child = std::process::Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let address = &ranks[0].interface.interface().fabric.parts()[1].address;
    address.pid.store(child.id(), primitive::Ordering::SeqCst);
    let why = ranks[0]
        .interface
        .refusal()
        .expect("a process that has ended cannot be written")
        .to_owned();
    assert!(why.contains(&child.id().to_string()), "{why}");
    assert!(ranks[0].rma().is_none() && ranks[0].trigger().is_none());
    ranks[0].send_short(2, &Header::default(), b"x").unwrap();
    assert_eq!(ranks[2].poll(&mut conformance::Ignore), 1);
}

#[test]
fn a_put_to_a_process_that_has_ended_is_an_error() {
    let mut ranks = network_of(&[0, 1], &TofuSettings::default());
    let (mut source, mut target) = (vec![1_u8; 10_000], vec![0_u8; 10_000]);
    // SAFETY: both stay until the end.
    let (from, into) = unsafe { (Span::of(&mut source), Span::of(&mut target)) };
    let Some(key) = admit_puts(&mut ranks[1], into) else { return };
    assert!(ranks[0].rma().is_some());
    let mut child = std::process::Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let address = &ranks[0].interface.interface().fabric.parts()[1].address;
    address.pid.store(child.id(), primitive::Ordering::SeqCst);
    for len in [100, 10_000] {
        let rma = ranks[0].rma().unwrap();
        rma.put(from.part(0, len), RemoteAddress { peer: 1, key, offset: 0 }).unwrap();
        let error = end(rma).unwrap_err();
        assert!(error.why.contains(&format!("{len} bytes to memory of rank 1")), "{error}");
    }
}
