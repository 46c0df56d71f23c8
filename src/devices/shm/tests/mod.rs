//! The device as a whole: conformance, rings and queue, sleep, direct reads, processes.

mod one_sided;

use std::os::fd::{AsFd, AsRawFd};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::*;
use crate::device::{COPY_STEP, MemoryDescriptor, conformance};
use crate::devices::rings::{PACKET_MAX, QUEUE_FIRST, RING_COUNT};
use platform::base::{ErrorClass, Random};
use platform::diagnosis::rank_status::{RankActivity, RankStatus};
use platform::diagnosis::wait_report::WaitReport;
use platform::sys::{futex, poll, shm};

fn network_of(peers: &[Peer], copy: CopyMethod) -> Vec<Shm> {
    let segment = shm::create().unwrap();
    let attach = |me| Shm::attach(segment.try_clone().unwrap(), me, peers, copy).unwrap();
    (0..peers.len()).map(attach).collect()
}

fn network(ranks: usize) -> Vec<Shm> {
    network_of(&(0..ranks as Peer).collect::<Vec<_>>(), CopyMethod::Auto)
}

/// Packets with their senders, in order.
#[derive(Default)]
struct Arrivals(Vec<(Peer, Vec<u8>)>);

impl PacketSink for Arrivals {
    fn packet(&mut self, from: Peer, _header: &Header, data: &[u8]) {
        self.0.push((from, data.to_vec()));
    }
}

#[test]
fn conforms() {
    conformance::check(network);
}

#[test]
fn conforms_with_fences() {
    conformance::check_bare(|ranks| {
        let mut network = network(ranks);
        for rank in &mut network {
            rank.packets.fence_everything();
        }
        network
    });
}

fn network_with_programs(ranks: usize) -> Vec<Shm> {
    let mut network = network(ranks);
    network.iter_mut().for_each(|rank| rank.run_programs(None).unwrap());
    network
}

#[test]
fn conforms_with_programs() {
    conformance::check_bare(network_with_programs);
}

/// Ranks that wait for descriptors: here, each for its doorbell only.
fn network_with_doorbells(ranks: usize) -> Vec<Shm> {
    let mut network = network(ranks);
    for rank in &mut network {
        let doorbell = Doorbell::new().unwrap();
        let descriptor = doorbell.as_fd().try_clone_to_owned().unwrap();
        rank.wait_for_descriptor(doorbell, Arc::new(descriptor));
    }
    network
}

#[test]
fn doorbells_wake() {
    conformance::check_waking(network_with_doorbells);
}

#[test]
fn a_thread_that_has_not_run_since_its_wake_up_still_wakes() {
    let mut ranks = network_with_doorbells(2);
    let (mut sender, mut receiver) = (ranks.remove(0), ranks.remove(0));
    let readable = |wake: &WakeSource| {
        let WakeSource::Descriptor { descriptor, .. } = wake else { panic!("no descriptor") };
        poll::is_readable(descriptor, Duration::ZERO)
    };
    let early = receiver.arm();
    sender.send_short(1, &Header::default(), b"x").unwrap();
    // Another thread polls, and sleeps again.
    assert_eq!(receiver.poll(&mut Arrivals::default()), 1);
    receiver.disarm();
    let late = receiver.arm();
    assert!(readable(&early) && readable(&late));
    drop((early, late));
    assert!(!readable(&receiver.arm()));
}

#[test]
fn a_rank_whose_doorbell_cannot_be_reached_does_not_sleep() {
    let mut ranks = network_with_doorbells(2);
    let (mut sender, mut receiver) = (ranks.remove(0), ranks.remove(0));
    receiver.packets.hide_doorbell();
    assert!(!matches!(receiver.arm(), WakeSource::Never));
    sender.send_short(1, &Header::default(), b"x").unwrap();
    receiver.disarm();
    assert!(matches!(receiver.arm(), WakeSource::Never));
    receiver.disarm();
    sender.send_short(1, &Header::default(), b"x").unwrap();
    assert_eq!(receiver.poll(&mut Arrivals::default()), 2);
}

#[test]
fn ranks_have_any_numbers_and_may_send_to_themselves() {
    let mut ranks = network_of(&[700, 3, 90], CopyMethod::Auto);
    let header = Header::default();
    ranks[2].send_short(700, &header, b"a").unwrap();
    ranks[0].send_short(700, &header, b"b").unwrap();
    let mut arrivals = Arrivals::default();
    assert_eq!(ranks[0].poll(&mut arrivals), 2);
    assert_eq!(arrivals.0, [(90, b"a".to_vec()), (700, b"b".to_vec())]);
}

#[test]
#[should_panic(expected = "rank 4 is not on this node")]
fn a_peer_elsewhere_is_a_mistake() {
    let mut ranks = network_of(&[3, 5], CopyMethod::Auto);
    let _ = ranks[0].send_short(4, &Header::default(), b"");
}

#[test]
fn a_slot_is_attached_once() {
    let segment = shm::create().unwrap();
    let attach = || Shm::attach(segment.try_clone().unwrap(), 1, &[0, 1], CopyMethod::Auto);
    let _first = attach().unwrap();
    let error = attach().err().unwrap();
    assert!(error.why.contains("has taken the place of this rank"), "{error}");
}

#[test]
fn a_node_of_another_size_is_an_error() {
    let segment = shm::create().unwrap();
    let attach =
        |ranks: &[Peer]| Shm::attach(segment.try_clone().unwrap(), 0, ranks, CopyMethod::Auto);
    let _first = attach(&[0, 1]).unwrap();
    assert_eq!(attach(&[0]).err().unwrap().code.0, ErrorClass::Arg as i32);
}

#[test]
fn busy_pairs_get_rings_and_the_rest_shares_the_queue() {
    let mut ranks = network(RING_COUNT + 3);
    let mut arrivals = Arrivals::default();
    for _ in 0..20 {
        let (receiver, senders) = ranks.split_first_mut().unwrap();
        for sender in senders {
            sender.send_short(0, &Header::default(), b"x").unwrap();
            receiver.poll(&mut arrivals);
        }
    }
    assert_eq!(arrivals.0.len(), 20 * (RING_COUNT + 2));
    assert_eq!(ranks[0].packets.inbound_rings(), RING_COUNT);
    let has_no_ring = |rank: &&Shm| rank.packets.route(0) == "no ring";
    assert_eq!(ranks.iter().filter(has_no_ring).count(), 2);
    // A pair with few packets takes no ring.
    assert_eq!(ranks[0].packets.route(1), "unused");
}

/// A rank stops between two steps of a packet, as without a processor. The packets of the others arrive,
/// in order, also after they have switched to a ring.
#[test]
fn a_sender_that_stops_in_the_queue_holds_up_no_other() {
    let mut ranks = network(4);
    let [receiver, stopped, second, third] = ranks.get_disjoint_mut([0, 1, 2, 3]).unwrap();
    let (header, count) = (Header::default(), 2 * QUEUE_FIRST as u8);
    let mut arrivals = Arrivals::default();
    let stop = |packet: &mut [u8]| {
        for value in 0..count {
            second.send_short(0, &header, &[value]).unwrap();
            if value % 2 == 0 {
                third.send_short(0, &header, &[value]).unwrap();
            }
            // As a rank that is about to sleep: one poll is to find what there is.
            receiver.arm();
            receiver.poll(&mut arrivals);
        }
        for _ in 0..100 {
            receiver.poll(&mut arrivals);
        }
        assert_eq!(arrivals.0.len(), usize::from(count) * 3 / 2);
        packet[0] = 77;
    };
    stopped.send(0, &header, 1, stop).unwrap();
    assert_eq!(receiver.poll(&mut arrivals), 1);
    let of = |rank: Peer| {
        arrivals.0.iter().filter(move |(from, _)| *from == rank).map(|(_, data)| data[0])
    };
    assert!(of(1).eq([77]));
    assert!(of(2).eq(0..count));
    assert!(of(3).eq((0..count).step_by(2)));
}

#[test]
fn few_ranks_have_rings_from_the_first_packet_on() {
    let mut ranks = network(3);
    ranks.iter_mut().for_each(Shm::share_processors);
    let mut arrivals = Arrivals::default();
    ranks[1].send_short(0, &Header::default(), b"x").unwrap();
    assert_eq!(ranks[1].packets.route(0), "ring");
    while arrivals.0.is_empty() {
        ranks[0].poll(&mut arrivals);
    }
    assert_eq!((arrivals.0.len(), ranks[0].packets.inbound_rings()), (1, 1));
}

#[test]
fn positions_pass_the_end_of_their_counters() {
    /// The number of the next packet, which is also its first word.
    struct Next(u32);
    impl PacketSink for Next {
        fn packet(&mut self, _from: Peer, _header: &Header, data: &[u8]) {
            assert_eq!((&data[..4], data.len()), (&self.0.to_ne_bytes()[..], len(self.0)));
            self.0 += 1;
        }
    }
    fn len(number: u32) -> usize {
        if number.is_multiple_of(8) { 4 } else { PACKET_MAX }
    }
    for shares_processors in [false, true] {
        let mut ranks = network(2);
        if shares_processors {
            ranks.iter_mut().for_each(Shm::share_processors);
        }
        let (mut sender, mut receiver) = (ranks.remove(0), ranks.remove(0));
        let mut next = Next(0);
        // More than 4 GiB: the byte positions go round.
        for number in 0..160_000_u32 {
            let fill = |data: &mut [u8]| data[..4].copy_from_slice(&number.to_ne_bytes());
            sender.send(1, &Header::default(), len(number), fill).unwrap();
            assert_eq!(receiver.poll(&mut next), 1);
        }
    }
}

#[test]
fn small_rings_carry_packets_of_every_size() {
    let mut ranks = network(2);
    ranks.iter_mut().for_each(Shm::share_processors);
    let (mut sender, mut receiver) = (ranks.remove(0), ranks.remove(0));
    let mut random = Random::new(1);
    let (mut sent, mut arrivals) = (Vec::new(), Arrivals::default());
    while sent.len() < 5000 {
        let data = vec![sent.len() as u8; random.below(PACKET_MAX as u64 + 1) as usize];
        let fill = |packet: &mut [u8]| packet.copy_from_slice(&data);
        match sender.send(1, &Header::default(), data.len(), fill) {
            Ok(()) => sent.push((0, data)),
            Err(Busy) => drop(receiver.poll(&mut arrivals)),
        }
    }
    while receiver.poll(&mut arrivals) > 0 {}
    assert!(arrivals.0 == sent);
}

#[test]
fn every_packet_wakes_a_rank_that_sleeps() {
    const PACKETS: usize = 300;
    let mut ranks = network(2);
    let (mut sender, mut receiver) = (ranks.remove(0), ranks.remove(0));
    let thread = std::thread::spawn(move || {
        for number in 0..PACKETS {
            while sender.send_short(1, &Header::default(), b"x").is_err() {
                std::thread::yield_now();
            }
            if number % 3 == 0 {
                std::thread::sleep(Duration::from_micros(200));
            }
        }
    });
    let mut arrivals = Arrivals::default();
    while arrivals.0.len() < PACKETS {
        let WakeSource::Word { word, expected } = receiver.arm() else { panic!("no word") };
        if receiver.poll(&mut arrivals) == 0 {
            let begin = Instant::now();
            futex::wait((*word).as_ref(), expected, Some(Duration::from_secs(20)));
            assert!(begin.elapsed() < Duration::from_secs(20), "slept through a packet");
        }
        receiver.disarm();
    }
    thread.join().unwrap();
}

#[test]
fn a_readable_peer_is_read() {
    let mut ranks = network_of(&[0, 1], CopyMethod::Cma);
    let source: Vec<u8> = (0..3 * COPY_STEP + 100).map(|at| (at * 7 / 3) as u8).collect();
    let mut copy = vec![0; source.len()];
    let bulk = ranks[1].bulk().unwrap();
    if !bulk.prefers(0, source.len()) {
        eprintln!("skipped: processes cannot be read here");
        return;
    }
    // SAFETY: `copy` outlives the read and nothing else uses it.
    let into = unsafe { Span::of(&mut copy) };
    let mut done = 0;
    while done < source.len() {
        let from = MemoryDescriptor::of_address(source.as_ptr() as u64);
        let next = bulk.read(0, from, into, done).unwrap();
        assert!((1..=COPY_STEP).contains(&(next - done)), "{done} to {next}");
        done = next;
    }
    assert!(copy == source);
    assert!(network_of(&[0, 1], CopyMethod::Pipe)[0].bulk().is_none());
}

/// Takes the steps of one end of a split copy.
fn until_end(mut step: impl FnMut() -> SplitEnd) -> SplitEnd {
    loop {
        match step() {
            SplitEnd::Paused => {}
            end => return end,
        }
    }
}

#[test]
fn both_ends_copy_every_byte_once() {
    const LENS: [usize; 5] = [SPLIT_MIN, 65_537, 300_000, 1 << 20, 5_000_001];
    let mut ranks = network_of(&[0, 1], CopyMethod::Cma);
    let (mut sender, mut receiver) = (ranks.remove(0), ranks.remove(0));
    if !receiver.bulk().unwrap().prefers(0, 1 << 20) {
        eprintln!("skipped: processes cannot be read here");
        return;
    }
    let mut got = vec![0_u8; LENS[4]];
    let mut into = |len| {
        got.fill(0);
        // SAFETY: `got` outlives the copy and is looked at after it.
        unsafe { Span::of(&mut got[..len]) }
    };
    assert_eq!(receiver.begin_split(0, into(1 << 20)), None, "no processor for the sender");
    receiver.enable_split_copies();
    assert_eq!(receiver.begin_split(0, into(SPLIT_MIN - 1)), None, "too short");
    let mut source: Vec<u8> = (0..LENS[4]).map(|at| (at % 251) as u8 + 1).collect();
    for (round, len) in LENS.iter().cycle().take(200).copied().enumerate() {
        let into = into(len);
        // SAFETY: `source` stays and is only read.
        let from = unsafe { Span::of(&mut source[..len]) };
        let ticket = receiver.begin_split(0, into).expect("a free split copy");
        let described = sender.describe(1, from);
        let helper = &mut sender;
        let ends = std::thread::scope(|scope| {
            let writing = scope.spawn(move || {
                if round % 3 == 0 {
                    std::thread::yield_now();
                }
                until_end(|| helper.write_split(1, ticket, from))
            });
            let read = until_end(|| receiver.read_split(0, ticket, described, into));
            [read, writing.join().unwrap()]
        });
        assert!(
            matches!(
                ends,
                [SplitEnd::Completed, SplitEnd::PeerPending]
                    | [SplitEnd::PeerPending, SplitEnd::Completed]
            ),
            "{ends:?}"
        );
        let mut copy = vec![0; len];
        into.read(0, &mut copy);
        assert!(copy == source[..len], "{len} bytes");
        assert_eq!(sender.write_split(1, ticket, from), SplitEnd::PeerPending, "over");
    }
    assert_eq!(
        sender.write_split(1, u64::MAX, Span::EMPTY),
        SplitEnd::PeerPending,
        "no such place"
    );
}

#[test]
fn a_copy_that_fails_at_one_end_fails_for_both() {
    let mut ranks = network_of(&[0, 1], CopyMethod::Cma);
    let (mut sender, mut receiver) = (ranks.remove(0), ranks.remove(0));
    receiver.enable_split_copies();
    let mut got = vec![0_u8; 1 << 20];
    // SAFETY: both outlive the copies, and nothing else uses them.
    let (into, from) = unsafe { (Span::of(&mut got), Span::new(8 as *const u8, 1 << 20)) };
    let ticket = receiver.begin_split(0, into).unwrap();
    assert_eq!(sender.write_split(1, ticket, from), SplitEnd::PeerPending, "the receiver is in it");
    assert_eq!(
        receiver.read_split(0, ticket, MemoryDescriptor::of_address(8), into),
        SplitEnd::Failed
    );
    let ticket = receiver.begin_split(0, into).unwrap();
    assert_eq!(
        receiver.read_split(0, ticket, MemoryDescriptor::of_address(8), into),
        SplitEnd::Failed
    );
    assert_eq!(sender.write_split(1, ticket, from), SplitEnd::PeerPending);
    assert!(!receiver.prefers(0, 1 << 20), "a failed read is the last");
}

#[test]
fn a_rank_that_sleeps_takes_no_part_in_a_copy() {
    let mut ranks = network_of(&[0, 1], CopyMethod::Cma);
    let (mut sender, mut receiver) = (ranks.remove(0), ranks.remove(0));
    receiver.enable_split_copies();
    let mut got = vec![0_u8; 1 << 20];
    // SAFETY: `got` outlives the copies, and nothing else uses it.
    let into = unsafe { Span::of(&mut got) };
    sender.arm();
    assert_eq!(receiver.begin_split(0, into), None);
    sender.disarm();
    let tickets: Vec<_> = std::iter::from_fn(|| receiver.begin_split(0, into)).collect();
    assert_eq!(tickets.len(), segment::SPLIT_COPIES, "one message each");
}

/// Ends a child that outlives its test.
struct Kill(Child);

impl Drop for Kill {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Kill {
    fn wait(&mut self) -> bool {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status.success();
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "the child does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// The command that runs one test of this test binary, after the words of `before`.
fn command_of(test: &str, before: &[&str]) -> Command {
    let own = std::env::current_exe().unwrap();
    let words = [before, &[own.to_str().unwrap(), "--exact", "--ignored"]].concat();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).arg(format!("devices::shm::tests::{test}")).stdout(Stdio::null());
    command
}

const ROUNDS: usize = 2000;

/// Sends packets of growing sizes back and forth with rank `1 - me`.
fn ping_pong(mut device: Shm, me: Peer) {
    let begin = Instant::now();
    let mut arrivals = Arrivals::default();
    for round in 0..ROUNDS {
        let data = vec![round as u8; round * 17 % (PACKET_MAX + 1)];
        let send = |device: &mut Shm| {
            let fill = |packet: &mut [u8]| packet.copy_from_slice(&data);
            device.send(1 - me, &Header::default(), data.len(), fill).unwrap();
        };
        if me == 0 {
            send(&mut device);
        }
        while device.poll(&mut arrivals) == 0 {
            assert!(begin.elapsed() < Duration::from_secs(50), "the peer is silent");
            std::thread::yield_now();
        }
        assert!(arrivals.0.pop().unwrap() == (1 - me, data.clone()));
        if me == 1 {
            send(&mut device);
        }
    }
}

#[test]
fn two_processes_communicate() {
    let segment = shm::create().unwrap();
    let mut child = Kill(
        command_of("helper_the_other_process", &[])
            .env("SUIRO_TEST_PID", std::process::id().to_string())
            .env("SUIRO_TEST_NUMBER", segment.as_raw_fd().to_string())
            .spawn()
            .unwrap(),
    );
    let device = Shm::attach(segment.try_clone().unwrap(), 0, &[0, 1], CopyMethod::Auto).unwrap();
    ping_pong(device, 0);
    assert!(child.wait());
}

#[test]
#[ignore = "started by two_processes_communicate"]
fn helper_the_other_process() {
    let number = |name| std::env::var(name).unwrap().parse::<i32>().unwrap();
    let segment =
        shm::open_of(number("SUIRO_TEST_PID") as u32, number("SUIRO_TEST_NUMBER")).unwrap();
    ping_pong(Shm::attach(segment, 1, &[0, 1], CopyMethod::Auto).unwrap(), 1);
}

#[test]
#[ignore = "started by the_size_of_dev_shm_does_not_matter"]
fn helper_two_processes_communicate() {
    two_processes_communicate();
}

#[test]
fn the_size_of_dev_shm_does_not_matter() {
    let small = "mount -t tmpfs -o size=64k none /dev/shm";
    let full = "head -c 1000000 /dev/zero > /dev/shm/full 2>/dev/null";
    let missing = "mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3";
    let run = |script: &str| {
        let before = ["unshare", "--mount", "sh", "-c", script];
        command_of("helper_two_processes_communicate", &before)
            .spawn()
            .is_ok_and(|child| Kill(child).wait())
    };
    if !run(small) {
        eprintln!("skipped: this needs the right to mount");
        return;
    }
    // The words after the script.
    let talk = "\"$0\" \"$@\"";
    assert!(run(&format!("{small} && {talk}")), "64 KiB");
    assert!(run(&format!("{small} && ! {full} && {talk}")), "full");
    assert!(run(&format!("{missing} && ! test -e /dev/shm && {talk}")), "missing");
}

#[test]
fn ranks_share_one_status_table() {
    let ranks = network_of(&[7, 3], CopyMethod::Auto);
    let tables: Vec<_> = ranks.iter().map(Shm::status_table).collect();
    assert_eq!((tables[1].ranks(), tables[1].read(0)), (2, RankActivity::Unknown));
    let status = RankStatus { since_ns: 3, report: WaitReport::new("MPI_Recv"), steady: None };
    tables[0].write(0, &status);
    assert_eq!(tables[1].read(0), RankActivity::Waiting(status));
    tables[0].clear(0);
    assert_eq!(tables[1].read(0), RankActivity::Busy);
    assert!(tables[0].raise_alarm() && !tables[1].raise_alarm());
}

#[test]
fn a_process_that_has_ended_is_seen() {
    let ranks = network(2);
    assert!(!ranks[0].has_ended(1));
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let address = &ranks[0].areas[1].address;
    address.pid.store(child.id(), std::sync::atomic::Ordering::Relaxed);
    assert!(ranks[0].has_ended(1));
    address.namespace.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    assert!(!ranks[0].has_ended(1), "of another namespace");
}

#[test]
fn every_packet_changes_the_quiescence_number() {
    let mut ranks = network(2);
    let mut seen = ranks[1].quiescence();
    for _ in 0..3 * QUEUE_FIRST {
        ranks[0].send_short(1, &Header::default(), b"x").unwrap();
        assert_eq!(ranks[1].quiescence(), seen);
        ranks[1].poll(&mut Arrivals::default());
        assert_ne!(ranks[1].quiescence(), seen);
        seen = ranks[1].quiescence();
    }
}
