//! Shared memory and sockets as one device: all ranks in this process.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::*;
use crate::device::conformance;
use crate::device::reach::{ConnectionKey, ForeignAddress, ForeignProcess};
use crate::device::rma::{NumberKind, RemoteAccess, RemoteAddress, Update, UpdateExecutor};
use crate::devices::tcp::{JobKey, TcpSettings};
use platform::base::{ErrorClass, Random};
use platform::sys::{poll, shm};

/// The ranks of a job; `hosts` says on which host each of them runs.
fn job(hosts: &[usize]) -> Vec<Devices> {
    let size = hosts.len();
    let key = JobKey { id: [3; 16], secret: [5; 32] };
    let listen = |me| {
        let addresses = vec![Ipv4Addr::LOCALHOST.into()];
        Tcp::listen_at(me, size, key.clone(), &TcpSettings::default(), addresses).unwrap()
    };
    let mut sockets: Vec<_> = (0..size as Peer).map(listen).collect();
    let cards: Vec<_> = sockets.iter().map(|rank| rank.card().to_owned()).collect();
    let segments: Vec<_> = hosts.iter().map(|_| shm::create().unwrap()).collect();
    let attach = |(me, mut tcp): (usize, Tcp)| {
        for (peer, card) in (0..).zip(&cards) {
            tcp.set_card(peer, card, "here").unwrap();
        }
        let here = |rank: &usize| hosts[*rank] == hosts[me];
        let ranks: Vec<_> = (0..size).filter(here).map(|rank| rank as Peer).collect();
        let slot = ranks.iter().position(|rank| *rank == me as Peer).unwrap();
        let segment = segments[hosts[me]].try_clone().unwrap();
        let mut devices = Devices::attach(segment, slot, &ranks, CopyMethod::Auto).unwrap();
        devices.attach_sockets(tcp, me as Peer, false).unwrap();
        devices
    };
    sockets.drain(..).enumerate().map(attach).collect()
}

#[test]
fn a_rank_of_the_same_host_wakes() {
    conformance::check_waking(|ranks| job(&vec![0; ranks]));
}

#[test]
fn a_rank_of_another_host_wakes() {
    conformance::check_waking(|ranks| {
        let mut ranks = job(&(0..ranks).collect::<Vec<_>>());
        connect(&mut ranks);
        ranks
    });
}

/// Connects all ranks with those of other hosts.
fn connect(ranks: &mut [Devices]) {
    let size = ranks.len();
    let near =
        |rank: &Devices| Heard((0..size as Peer).filter(|peer| rank.node.reaches(*peer)).collect());
    let mut heard: Vec<_> = ranks.iter().map(near).collect();
    let begin = Instant::now();
    while heard.iter().any(|heard| heard.0.len() < size) {
        assert!(begin.elapsed() < Duration::from_secs(20), "no connection");
        for (rank, heard) in ranks.iter_mut().zip(&mut heard) {
            (0..size as Peer).for_each(|peer| rank.send_datagram(peer, b""));
            rank.poll(heard);
        }
    }
}

/// Processes of this host, each alone in its job; they know each other by the numbers 0, 1, ... Packets go
/// by shared memory, or by connections.
fn jobs(count: usize, by_memory: bool) -> Vec<Devices> {
    let key = ConnectionKey { id: [77; 16], secret: [7; 32] };
    let start = |me: usize| {
        let own = JobKey { id: [me as u8 + 1; 16], secret: [me as u8; 32] };
        let addresses = vec![Ipv4Addr::LOCALHOST.into()];
        let tcp = Tcp::listen_at(me as Peer, count, own, &TcpSettings::default(), addresses);
        let segment = shm::create().unwrap();
        let mut devices = Devices::attach(segment, 0, &[me as Peer], CopyMethod::Auto).unwrap();
        devices.attach_sockets(tcp.unwrap(), me as Peer, !by_memory).unwrap();
        devices.reach().unwrap().add_key(&key);
        devices
    };
    let mut all: Vec<_> = (0..count).map(start).collect();
    let cards: Vec<_> = all.iter_mut().map(|it| it.reach().unwrap().card()).collect();
    for (me, devices) in all.iter_mut().enumerate() {
        for (peer, card) in cards.iter().enumerate().filter(|(peer, _)| *peer != me) {
            let process = ForeignProcess { job: [peer as u8 + 1; 16], rank: peer as u32 };
            let address = ForeignAddress { process, card, host: "here", key: key.id };
            devices.reach().unwrap().admit(peer as Peer, address).unwrap();
        }
    }
    all
}

/// Whether packets to `peer` go by shared memory.
fn is_near(devices: &Devices, peer: Peer) -> bool {
    !devices.peer_caps(peer).lends
}

fn poll_all(all: &mut [Devices], sink: &mut impl PacketSink) {
    for devices in all {
        devices.poll(sink);
    }
}

/// Processes of several jobs, after enough packets that they share memory.
fn near_jobs(count: usize) -> Vec<Devices> {
    let mut all = jobs(count, true);
    let pairs: Vec<_> = (0..count).flat_map(|me| (0..count).map(move |it| (me, it))).collect();
    let pairs = pairs.into_iter().filter(|(me, it)| me != it).collect::<Vec<_>>();
    let begin = Instant::now();
    while pairs.iter().any(|(me, peer)| !is_near(&all[*me], *peer as Peer)) {
        assert!(begin.elapsed() < Duration::from_secs(20), "no shared memory");
        for (me, peer) in &pairs {
            if !is_near(&all[*me], *peer as Peer) {
                let _ = all[*me].send_short(*peer as Peer, &Header::default(), b"");
            }
        }
        poll_all(&mut all, &mut conformance::Ignore);
    }
    for _ in 0..1000 {
        poll_all(&mut all, &mut conformance::Ignore);
    }
    all
}

#[test]
fn processes_of_several_jobs_keep_the_contract_by_shared_memory() {
    conformance::check_packets(near_jobs, |devices| devices.network = None);
}

#[test]
fn a_job_that_uses_sockets_everywhere_shares_no_memory() {
    let mut all = jobs(2, false);
    let (mut sink, begin) = (Count(0), Instant::now());
    while sink.0 < 100 {
        assert!(begin.elapsed() < Duration::from_secs(20), "no packets");
        let _ = all[0].send_short(1, &Header::default(), b"");
        poll_all(&mut all, &mut sink);
    }
    assert!(!is_near(&all[0], 1) && !is_near(&all[1], 0));
}

/// The ranks from which a datagram has come.
struct Heard(Vec<Peer>);

impl PacketSink for Heard {
    fn packet(&mut self, _from: Peer, _header: &Header, _data: &[u8]) {}

    fn datagram(&mut self, from: Peer, _data: &[u8]) {
        if !self.0.contains(&from) {
            self.0.push(from);
        }
    }
}

/// Counts packets.
struct Count(usize);

impl PacketSink for Count {
    fn packet(&mut self, _from: Peer, _header: &Header, _data: &[u8]) {
        self.0 += 1;
    }
}

#[test]
fn one_sleep_hears_shared_memory_and_sockets() {
    const PACKETS: usize = 1000;
    const LONGEST: Duration = Duration::from_secs(20);
    let mut ranks = job(&[0, 0, 1]);
    let (mut receiver, senders) = (ranks.remove(0), ranks);
    let drained = AtomicUsize::new(0);
    let send = |(seed, mut sender): (u64, Devices)| {
        let mut random = Random::new(seed);
        let mut sink = Count(0);
        for number in 0..PACKETS {
            while sender.send_short(0, &Header::default(), b"x").is_err() {
                sender.poll(&mut sink);
            }
            // Sockets deliver while their rank polls.
            sender.poll(&mut sink);
            (0..random.below(2000)).for_each(|_| std::hint::spin_loop());
            if number % 20 == 0 {
                thread::sleep(Duration::from_micros(random.below(500)));
            }
        }
        let begin = Instant::now();
        while !sender.is_drained() {
            assert!(begin.elapsed() < LONGEST, "no acknowledgement");
            sender.poll(&mut sink);
        }
        drained.fetch_add(1, Ordering::Relaxed);
    };
    thread::scope(|scope| {
        for sender in (1..).zip(senders) {
            scope.spawn(|| send(sender));
        }
        let (mut sink, mut sleeps) = (Count(0), 0);
        while sink.0 < 2 * PACKETS {
            let wake = receiver.arm();
            if receiver.poll(&mut sink) == 0 {
                let WakeSource::Descriptor { descriptor, .. } = &wake else { panic!("no sleep") };
                let begin = Instant::now();
                poll::is_readable(descriptor, LONGEST);
                assert!(begin.elapsed() < LONGEST, "slept through a packet");
                sleeps += 1;
            }
            receiver.disarm();
        }
        assert!(sleeps > 0);
        // Acknowledgements leave while this rank polls.
        let begin = Instant::now();
        while drained.load(Ordering::Relaxed) < 2 && begin.elapsed() < LONGEST {
            receiver.poll(&mut sink);
        }
    });
}

/// The ranks of one host use mapped memory, those of others sockets: one number counts all of them.
#[test]
fn updates_of_all_hosts_are_atomic() {
    const EACH: u64 = 200;
    let mut ranks = job(&[0, 0, 1, 2]);
    connect(&mut ranks);
    let rma = ranks[0].rma().unwrap();
    let (key, memory) = rma.allocate(8, RemoteAccess::ReadWrite).unwrap().unwrap();
    let executors = [1, 2].map(|rank: usize| {
        let caps = ranks[rank].rma().unwrap().open(0, key).unwrap();
        (caps.executor, caps.mapped.is_some())
    });
    assert_eq!(executors, [(UpdateExecutor::Processor, true), (UpdateExecutor::Owner, false)]);
    let (ended, count) = (AtomicUsize::new(0), ranks.len());
    thread::scope(|scope| {
        for rank in &mut ranks {
            scope.spawn(|| {
                let (mut sink, begin) = (Count(0), Instant::now());
                let (at, kind) = (RemoteAddress { peer: 0, key, offset: 0 }, NumberKind::Signed8);
                let (mut made, mut has_ended) = (0, false);
                while ended.load(Ordering::SeqCst) < count {
                    assert!(begin.elapsed() < Duration::from_secs(20), "no end");
                    let rma = rank.rma().unwrap();
                    if made < EACH {
                        let update = rma.update(at, kind, Update::Add(1), Span::EMPTY);
                        made += u64::from(update.is_ok());
                    } else if !has_ended && rma.flush(0).is_some_and(|end| end.is_ok()) {
                        has_ended = true;
                        ended.fetch_add(1, Ordering::SeqCst);
                    }
                    rank.poll(&mut sink);
                }
            });
        }
    });
    let mut number = [0; 8];
    memory.read(0, &mut number);
    assert_eq!(u64::from_ne_bytes(number), EACH * count as u64);
    ranks[0].rma().unwrap().deregister(key);
    let error = ranks[1].rma().unwrap().open(0, key).unwrap_err();
    assert_eq!(error.code.0, ErrorClass::RmaRange as i32, "{error}");
}

#[test]
fn one_sided_access_conforms_on_two_hosts() {
    conformance::check_one_sided(|ranks| {
        let mut ranks = job(&(0..ranks).map(|rank| rank % 2).collect::<Vec<_>>());
        connect(&mut ranks);
        ranks
    });
}
