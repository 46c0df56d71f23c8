//! The device as a whole, several ranks in one process.

use super::*;
use crate::base::ErrorClass;
use crate::device::conformance;
use crate::sys::shm;

fn network_of(peers: &[Peer], settings: &Settings) -> Vec<Tofu> {
    let segment = shm::create().unwrap();
    let attach = |me| Tofu::attach(segment.try_clone().unwrap(), me, peers, settings).unwrap();
    (0..peers.len()).map(attach).collect()
}

fn network(ranks: usize) -> Vec<Tofu> {
    network_of(&(0..ranks as Peer).collect::<Vec<_>>(), &Settings::default())
}

#[test]
fn conforms() {
    conformance::check(network);
}

#[test]
fn a_slot_is_attached_once_and_to_a_segment_of_this_device() {
    let segment = shm::create().unwrap();
    let settings = Settings::default();
    let attach = || Tofu::attach(segment.try_clone().unwrap(), 1, &[0, 1], &settings);
    let _first = attach().unwrap();
    let error = attach().err().unwrap();
    assert!(error.why.contains("has taken the place of this rank"), "{error}");
    assert_eq!(error.code.0, ErrorClass::Other as i32);
}

#[test]
fn long_messages_are_got_from_their_sender() {
    let mut ranks = network_of(&[5, 3], &Settings::default());
    let source: Vec<u8> = (0..100_000).map(|at| at as u8).collect();
    let mut copy = vec![0; source.len()];
    let bulk = ranks[1].bulk().unwrap();
    if !bulk.prefers(5, source.len()) {
        eprintln!("skipped: processes cannot be read here");
        return;
    }
    assert!(!bulk.prefers(5, 100));
    // SAFETY: `copy` outlives the read and nobody else uses it.
    let into = unsafe { Span::of(&mut copy) };
    bulk.read(5, source.as_ptr() as u64, into).unwrap();
    assert!(copy == source);
    let why = bulk.read(5, 8, into).unwrap_err();
    assert!(why.contains("cannot read 100000 bytes"), "{why}");
    assert!(!bulk.prefers(5, source.len()), "a failed read is the last");
}
