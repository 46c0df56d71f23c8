//! The device over a simulated library: all ranks in this process.
//!
//! Like a real one, the library copies short messages as long as its receiver has room, moves messages only
//! inside calls, and matches in order.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;

use parking_lot::Mutex;

use super::library::CarrierLibrary;
use super::*;
use crate::device::conformance;
use platform::sys::fabric::FabricEndpoint;

/// Messages that the library keeps for a rank without a receive, and the longest of them.
const KEPT_MESSAGES: usize = 16;
const KEPT_BYTES: usize = 3000;

/// The library in all ranks; each has a lock of its own, as polls of one rank must not delay another.
#[derive(Default)]
struct FakeNetwork {
    requests: AtomicUsize,
    ranks: Vec<Mutex<FakeRank>>,
}

#[derive(Default)]
struct FakeRank {
    posted: Vec<FakeReceive>,
    arriving: VecDeque<FakeMessage>,
    /// Completed operations with the rank whose message has arrived.
    completed: BTreeMap<usize, Peer>,
}

struct FakeReceive {
    request: usize,
    into: Span,
    from: Option<Peer>,
    tag: i32,
}

struct FakeMessage {
    from: Peer,
    tag: i32,
    body: FakeBody,
}

enum FakeBody {
    Copied(Vec<u8>),
    /// The sender's memory and request.
    Lent(Span, usize),
}

/// The library in one rank.
struct FakeLibrary {
    rank: Peer,
    network: Arc<FakeNetwork>,
}

impl FakeNetwork {
    fn request(&self) -> usize {
        CarrierRequest::FIRST + self.requests.fetch_add(1, Ordering::Relaxed)
    }

    fn rank(&self, rank: Peer) -> MutexGuard<'_, FakeRank> {
        self.ranks[rank as usize].lock()
    }
}

impl FakeRank {
    /// Matches what has arrived with receives, in order; the senders whose memory is free, and their requests.
    fn progress(&mut self) -> Vec<(Peer, usize)> {
        let (mut index, mut free) = (0, Vec::new());
        while index < self.arriving.len() {
            let FakeMessage { from, tag, .. } = self.arriving[index];
            let fits = |receive: &FakeReceive| {
                receive.tag == tag && receive.from.is_none_or(|wanted| wanted == from)
            };
            let Some(place) = self.posted.iter().position(fits) else {
                index += 1;
                continue;
            };
            let receive = self.posted.remove(place);
            match self.arriving.remove(index).unwrap().body {
                FakeBody::Copied(data) => receive.into.write(0, &data),
                FakeBody::Lent(data, request) => {
                    data.copy_nonoverlapping(receive.into.part(0, data.len()));
                    free.push((from, request));
                }
            }
            self.completed.insert(receive.request, from);
        }
        free
    }
}

impl CarrierCalls for FakeLibrary {
    fn send(&self, data: Span, to: Peer, tag: i32) -> CarrierRequest {
        let request = self.network.request();
        let mut receiver = self.network.rank(to);
        let is_copied = receiver.arriving.len() < KEPT_MESSAGES && data.len() <= KEPT_BYTES;
        let body = match is_copied {
            true => {
                let mut copy = Vec::new();
                data.append_to(&mut copy);
                FakeBody::Copied(copy)
            }
            false => FakeBody::Lent(data, request),
        };
        receiver.arriving.push_back(FakeMessage { from: self.rank, tag, body });
        drop(receiver);
        if is_copied {
            self.network.rank(self.rank).completed.insert(request, 0);
        }
        CarrierRequest::numbered(request)
    }

    fn receive(&self, into: Span, from: Option<Peer>, tag: i32) -> CarrierRequest {
        let request = self.network.request();
        self.network.rank(self.rank).posted.push(FakeReceive { request, into, from, tag });
        CarrierRequest::numbered(request)
    }

    fn test(&self, request: &mut CarrierRequest) -> Option<Peer> {
        let mut own = self.network.rank(self.rank);
        let free = own.progress();
        let from = own.completed.remove(&request.number());
        drop(own);
        for (sender, request) in free {
            self.network.rank(sender).completed.insert(request, 0);
        }
        from.inspect(|_| *request = CarrierRequest::NULL)
    }

    fn test_some(&self, requests: &mut [CarrierRequest], _indices: &mut Vec<i32>) {
        for request in requests {
            self.test(request);
        }
    }

    fn cancel(&self, request: &mut CarrierRequest) {
        let mut own = self.network.rank(self.rank);
        if let Some(place) = own.posted.iter().position(|other| other.request == request.number()) {
            own.posted.remove(place);
            own.completed.insert(request.number(), 0);
        }
    }
}

fn network(ranks: usize, short_max: usize) -> Vec<Carrier<FakeLibrary>> {
    network_and_library(ranks, short_max).0
}

fn network_and_library(
    ranks: usize, short_max: usize,
) -> (Vec<Carrier<FakeLibrary>>, Arc<FakeNetwork>) {
    let network = FakeNetwork {
        ranks: (0..ranks).map(|_| Mutex::default()).collect(),
        ..FakeNetwork::default()
    };
    let network = Arc::new(network);
    let device = |rank: usize| {
        let calls = FakeLibrary { rank: rank as Peer, network: Arc::clone(&network) };
        Carrier::new(Arc::new(calls), rank as Peer, ranks as u32, short_max)
    };
    ((0..ranks).map(device).collect(), network)
}

#[test]
fn conforms() {
    conformance::check(|ranks| network(ranks, 1024));
}

#[test]
fn conforms_with_other_limits() {
    let is_long = std::env::var_os("SUIRO_TEST_LONG").is_some_and(|value| value == "1");
    let lowest = is_long.then_some(settings::SHORT_MIN);
    for short_max in lowest.into_iter().chain([PACKET_MAX]) {
        conformance::check_bare(|ranks| network(ranks, short_max));
    }
}

#[test]
fn conforms_in_thread_mode() {
    conformance::check_bare(|ranks| {
        let mut devices = network(ranks, 1024);
        for device in &mut devices {
            let word = device.watched.wake_word.clone();
            device.start_thread(true, move || word.change()).unwrap();
        }
        devices
    });
}

/// The libfabric of MPICH's package, which tests of programs install.
fn libfabric() -> Option<PathBuf> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("build/peers/mpich/lib/mpich/libfabric.so.1");
    path.exists().then_some(path)
}

#[test]
fn conforms_over_libfabric() {
    let Some(path) = libfabric() else { return eprintln!("skipped: there is no libfabric") };
    for provider in ["tcp", "tcp;ofi_rxm"] {
        conformance::check_bare(|ranks| {
            let open = |me| FabricEndpoint::open(Some(&path), Some(provider), me).unwrap();
            let endpoints: Vec<_> = (0..ranks as u32).map(open).collect();
            let addresses: Vec<_> = endpoints.iter().map(|one| one.address().to_vec()).collect();
            let device = |(endpoint, me): (FabricEndpoint, Peer)| {
                endpoint.meet(&addresses, 7).unwrap();
                let library = Arc::new(CarrierLibrary::Fabric(Box::new(endpoint)));
                Carrier::new(library, me, ranks as u32, settings::FABRIC_SHORT_MAX)
            };
            endpoints.into_iter().zip(0..).map(device).collect()
        });
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
fn a_closed_device_has_nothing_in_progress() {
    let (mut ranks, library) = network_and_library(3, 64);
    let mut sink = Count(0);
    ranks[0].send(1, &Header::default(), 1000, |_| ()).unwrap();
    while sink.0 == 0 {
        ranks[0].poll(&mut Count(0));
        ranks[1].poll(&mut sink);
    }
    ranks[2].start_thread(true, || ()).unwrap();
    for rank in &mut ranks {
        assert!(rank.close());
    }
    for rank in &library.ranks {
        let rank = rank.lock();
        assert!(rank.posted.is_empty() && rank.arriving.is_empty());
    }
}

#[test]
fn datagrams_and_messages_of_one_host_are_known_to_have_arrived() {
    let mut ranks = network(2, 2048);
    struct Heard(Vec<u8>);
    impl PacketSink for Heard {
        fn packet(&mut self, _from: Peer, _header: &Header, _data: &[u8]) {}
        fn datagram(&mut self, _from: Peer, data: &[u8]) {
            self.0 = data.to_vec();
        }
    }
    assert_eq!(ranks[0].quiescence(), None, "other hosts are unknown");
    ranks.iter_mut().for_each(Carrier::runs_on_one_host);
    assert_eq!(ranks[0].quiescence(), Some(0));
    ranks[0].send_datagram(1, b"news");
    assert_eq!(ranks[0].quiescence(), None);
    let mut heard = Heard(Vec::new());
    while heard.0.is_empty() {
        ranks[0].poll(&mut Count(0));
        ranks[1].poll(&mut heard);
    }
    assert_eq!(heard.0, b"news");
    assert_eq!((ranks[0].quiescence(), ranks[1].quiescence()), (Some(0), Some(0)));
}
