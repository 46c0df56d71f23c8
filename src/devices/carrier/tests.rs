//! The device over a simulated library: all ranks in this process.
//!
//! Like a real one, the library copies short messages as long as its receiver has room, moves messages only
//! inside calls, and matches in order.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicUsize;

use parking_lot::Mutex;

use super::library::CarrierLibrary;
use super::*;
use crate::device::conformance;
use crate::device::conformance::rma::TestBuffer;
use crate::device::rma::{RemoteAccess, RemoteAddress, RmaError};
use platform::base::{ErrorClass, Random};
use platform::sys::fabric::{AccessChoice, FabricEndpoint};

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
        let mut device = Carrier::new(Arc::new(calls), rank as Peer, ranks as u32, short_max);
        device.offer_one_sided(usize::MAX);
        device
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

/// Devices over one provider of a library.
fn over_provider(path: &Path, provider: &str, ranks: usize) -> Vec<Carrier<CarrierLibrary>> {
    let open =
        |me| FabricEndpoint::open(Some(path), Some(provider), AccessChoice::Offered, me).unwrap();
    over_endpoints((0..ranks as u32).map(open).collect(), provider)
}

fn over_endpoints(endpoints: Vec<FabricEndpoint>, provider: &str) -> Vec<Carrier<CarrierLibrary>> {
    let ranks = endpoints.len();
    let addresses: Vec<_> = endpoints.iter().map(|one| one.address().to_vec()).collect();
    let device = |(endpoint, me): (FabricEndpoint, Peer)| {
        endpoint.meet(&addresses, 7).unwrap();
        let library = Arc::new(CarrierLibrary::Fabric(Box::new(endpoint)));
        let short_max = settings::fabric_short_max(provider);
        let mut device = Carrier::new(library, me, ranks as u32, short_max);
        device.offer_one_sided(usize::MAX);
        device
    };
    endpoints.into_iter().zip(0..).map(device).collect()
}

#[test]
fn conforms_over_libfabric() {
    let Some(path) = libfabric() else { return eprintln!("skipped: there is no libfabric") };
    for provider in ["tcp", "tcp;ofi_rxm"] {
        conformance::check_bare(|ranks| over_provider(&path, provider, ranks));
    }
}

#[test]
fn memory_of_peers_is_accessed_by_a_further_provider() {
    let Some(path) = libfabric() else { return eprintln!("skipped: there is no libfabric") };
    conformance::check_one_sided(|ranks| over_provider(&path, "sockets", ranks));
}

/// Starts an access of the first of two ranks, once it knows the memory; the class of its refusal, if it is refused.
fn begin_access(
    ranks: &mut [Carrier<CarrierLibrary>],
    mut access: impl FnMut(&mut dyn Rma) -> Result<(), RmaError>,
) -> Result<(), i32> {
    for _ in 0..1_000_000 {
        match access(ranks[0].rma().unwrap()) {
            Ok(()) => return Ok(()),
            Err(RmaError::Denied(error)) => return Err(error.code.0),
            Err(RmaError::Busy) => ranks.iter_mut().for_each(|rank| {
                rank.poll(&mut Count(0));
            }),
        }
    }
    panic!("the access is never started");
}

/// What is known of memory is forgotten when its registration ends, before what its owner sends next.
#[test]
fn the_end_of_a_registration_reaches_ranks_that_know_the_memory() {
    let Some(path) = libfabric() else { return eprintln!("skipped: there is no libfabric") };
    for provider in ["tcp", "tcp;ofi_rxm", "sockets"] {
        let (mut source, mut target) = (TestBuffer::new(20_000, 1), TestBuffer::new(20_000, 0));
        let (from, memory) = (source.span(), target.span());
        let mut ranks = over_provider(&path, provider, 2);
        let key = ranks[1].register(memory, RemoteAccess::ReadWrite).unwrap();
        let to = RemoteAddress { peer: 1, key, offset: 0 };
        begin_access(&mut ranks, |rma| rma.put(from, to)).unwrap();
        let mut heard = [Events::default(), Events::default()];
        while ranks[0].flush(1).is_none() {
            settle(&mut ranks, &mut heard, |_| true);
        }
        ranks[1].deregister(key);
        ranks[1].send(0, &Header::default(), 0, |_| ()).unwrap();
        settle(&mut ranks, &mut heard, |heard| !heard[0].packets.is_empty());
        target.span().write(0, &[0; 20_000]);
        let range = ErrorClass::RmaRange as i32;
        assert_eq!(begin_access(&mut ranks, |rma| rma.put(from, to)), Err(range), "{provider}");
        assert_eq!(begin_access(&mut ranks, |rma| rma.get(to, from)), Err(range), "{provider}");
        assert!(heard.iter().all(|events| events.failed.is_empty()));
        assert!(target.bytes().iter().all(|byte| *byte == 0));
    }
}

#[test]
fn accesses_to_a_peer_that_has_ended_end_with_an_error() {
    let Some(path) = libfabric() else { return eprintln!("skipped: there is no libfabric") };
    for provider in ["tcp", "tcp;ofi_rxm", "sockets"] {
        let (mut source, mut target) = (TestBuffer::new(1 << 20, 1), TestBuffer::new(1 << 20, 0));
        let (from, memory) = (source.span(), target.span());
        let mut ranks = over_provider(&path, provider, 2);
        let key = ranks[1].register(memory, RemoteAccess::ReadWrite).unwrap();
        let to = RemoteAddress { peer: 1, key, offset: 0 };
        for len in [8, 1 << 20, 3000, 1 << 20] {
            begin_access(&mut ranks, |rma| rma.put(from.part(0, len), to)).unwrap();
        }
        let mut heard = Events::default();
        ranks[0].peer_ended(1, "its process has ended");
        ranks[0].poll(&mut heard);
        assert_eq!(heard.failed, [(1, "its process has ended".to_owned())]);
        let why = ranks[0].flush(1).expect("all have ended").unwrap_err().why;
        assert!(why.contains("its process has ended"), "{provider}: {why}");
        let progress = ranks[0].rma().unwrap().progress(1);
        assert_eq!((progress.accepted, progress.completed), (4, 4));
        let other = Err(ErrorClass::Other as i32);
        assert_eq!(begin_access(&mut ranks, |rma| rma.put(from, to)), other);
        assert!(ranks[0].is_drained(), "{provider}");
    }
}

/// The libfabric that makes trouble, loaded: the file is gone.
struct TroubleLibrary(PathBuf);

impl TroubleLibrary {
    fn compile(name: &str) -> Self {
        let place = std::env::temp_dir().join(format!("suiro-{name}-{}.so", std::process::id()));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("c-tests/carrier/fabric_stub.c");
        let mut command = Command::new("cc");
        command.args(["-std=gnu11", "-O1", "-shared", "-fPIC", "-o"]).args([&place, &source]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self(place)
    }
}

impl Drop for TroubleLibrary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn conforms_over_a_provider_that_makes_trouble() {
    let library = TroubleLibrary::compile("conforms");
    let is_long = std::env::var_os("SUIRO_TEST_LONG").is_some_and(|value| value == "1");
    for seed in 1..=if is_long { 50 } else { 1 } {
        // One queue for all ranks could be filled by messages to one, which would affect the others.
        let (again, each) = (15 * (seed % 5), [1, 8, 64][seed % 3]);
        let local = ["", ";local=1;bind=1"][seed % 2];
        let provider = format!("stub;seed={seed};again={again};each={each}{local}");
        eprintln!("{provider}");
        conformance::check_bare(|ranks| over_provider(&library.0, &provider, ranks));
    }
}

/// The ways in which a provider may demand that memory for peers is registered and named.
const MEMORY_DEMANDS: [&str; 4] =
    ["", ";virtual=1;keys=1;local=1", ";bind=1;local=1", ";virtual=1;keys=1;bind=1"];

#[test]
fn accesses_conform_over_a_provider_that_makes_trouble() {
    let library = TroubleLibrary::compile("accesses");
    let is_long = std::env::var_os("SUIRO_TEST_LONG").is_some_and(|value| value == "1");
    for seed in 1..=if is_long { 40 } else { 2 } {
        let (again, each) = (15 * (seed % 5), [1, 8, 64][seed % 3]);
        let demands = MEMORY_DEMANDS[seed % 4];
        let provider = format!("stub;access=1;seed={seed};again={again};each={each}{demands}");
        eprintln!("{provider}");
        conformance::check_one_sided(|ranks| over_provider(&library.0, &provider, ranks));
    }
}

#[test]
fn an_error_of_an_access_is_told_once() {
    const LEN: usize = 20_000;
    let library = TroubleLibrary::compile("access-errors");
    for (trouble, why) in [
        ("deny=3", "Input/output error"),
        ("break=3", "Input/output error"),
        ("reset=3", "Connection reset by peer"),
    ] {
        let provider = format!("stub;access=1;seed=3;{trouble}");
        let (mut source, mut target) = (TestBuffer::new(LEN, 1), TestBuffer::new(8 * LEN, 0));
        let (from, memory) = (source.span(), target.span());
        let mut ranks = over_provider(&library.0, &provider, 3);
        let mut heard = [Events::default(), Events::default(), Events::default()];
        let key = ranks[1].register(memory, RemoteAccess::ReadWrite).unwrap();
        for number in 0..8 {
            let to = RemoteAddress { peer: 1, key, offset: number * LEN as u64 };
            begin_access(&mut ranks, |rma| rma.put(from, to)).unwrap();
        }
        let error = loop {
            settle(&mut ranks, &mut heard, |_| true);
            if let Some(end) = ranks[0].flush(1) {
                break end.unwrap_err();
            }
        };
        assert!(error.why.contains("memory of rank 1"), "{trouble}: {error}");
        assert!(error.why.contains(why), "{trouble}: {error}");
        assert_eq!(ranks[0].flush(1), Some(Ok(())), "{trouble}: told again");
        if trouble.starts_with("reset") {
            let [(1, said)] = &heard[0].failed[..] else { panic!("{:?}", heard[0].failed) };
            assert!(said.contains(why), "{said}");
            continue;
        }
        // All others are made, and so is the next one.
        assert!(heard.iter().all(|events| events.failed.is_empty()), "{trouble}");
        let arrived = target.bytes();
        for (number, bytes) in arrived.chunks(LEN).enumerate() {
            assert_eq!(bytes.iter().all(|byte| *byte == 1), number != 2, "{trouble}: {number}");
        }
        let to = RemoteAddress { peer: 1, key, offset: 2 * LEN as u64 };
        begin_access(&mut ranks, |rma| rma.get(to, from)).unwrap();
        while ranks[0].flush(1).is_none() {
            settle(&mut ranks, &mut heard, |_| true);
        }
        let expected = if trouble.starts_with("break") { 1 } else { 0 };
        assert_eq!(source.bytes()[0], expected, "{trouble}: the half that was written");
    }
}

#[test]
fn conforms_where_the_first_messages_to_a_peer_are_lost() {
    let library = TroubleLibrary::compile("lost");
    let provider = "net;seed=2;again=20;lost=2;each=8";
    conformance::check_bare(|ranks| over_provider(&library.0, provider, ranks));
}

#[test]
fn conforms_with_short_packets_only() {
    let Some(path) = libfabric() else { return eprintln!("skipped: there is no libfabric") };
    conformance::check_bare(|ranks| {
        let mut devices = over_provider(&path, "tcp;ofi_rxm", ranks);
        devices.iter_mut().for_each(Carrier::survive_failures);
        devices
    });
}

/// What the sink of a rank hears.
#[derive(Default)]
struct Events {
    packets: Vec<(Peer, Vec<u8>)>,
    sent: Vec<u32>,
    failed: Vec<(Peer, String)>,
}

impl PacketSink for Events {
    fn packet(&mut self, from: Peer, _header: &Header, data: &[u8]) {
        self.packets.push((from, data.to_vec()));
    }
    fn sent(&mut self, _to: Peer, token: u32) {
        self.sent.push(token);
    }
    fn failed(&mut self, peer: Peer, why: &str) {
        self.failed.push((peer, why.to_owned()));
    }
}

/// Polls all ranks until `is_over`.
fn settle(
    ranks: &mut [Carrier<CarrierLibrary>], heard: &mut [Events],
    is_over: impl Fn(&[Events]) -> bool,
) {
    for _ in 0..100_000 {
        ranks.iter_mut().zip(&mut *heard).for_each(|(rank, events)| {
            rank.poll(events);
        });
        if is_over(heard) {
            return;
        }
    }
    panic!("this does not end");
}

/// Two ranks that connect to each other at the same time, their calls in an order that a seed decides.
#[test]
fn first_messages_that_cross_arrive() {
    let Some(path) = libfabric() else { return eprintln!("skipped: there is no libfabric") };
    let is_long = std::env::var_os("SUIRO_TEST_LONG").is_some_and(|value| value == "1");
    for seed in 1..=if is_long { 1000 } else { 20 } {
        let mut ranks = over_provider(&path, "tcp", 2);
        let mut heard = [Events::default(), Events::default()];
        for (me, other) in [(0, 1), (1, 0)] {
            for number in 0..2 {
                let data = [number; 100];
                let fill = |packet: &mut [u8]| packet.copy_from_slice(&data);
                ranks[me].send(other, &Header::default(), 100, fill).unwrap();
            }
        }
        let mut random = Random::new(seed);
        let has_all = |events: &Events| events.packets.len() == 2 || !events.failed.is_empty();
        for polls in 0.. {
            assert!(polls < 1_000_000, "seed {seed}: a message is lost");
            let me = random.below(2) as usize;
            ranks[me].poll(&mut heard[me]);
            if heard.iter().all(has_all) {
                break;
            }
        }
        assert!(heard.iter().all(|events| events.failed.is_empty()), "seed {seed}");
    }
}

#[test]
fn an_error_of_the_provider_is_a_failure_of_the_peer_told_once() {
    let library = TroubleLibrary::compile("errors");
    for (trouble, who, why) in [
        ("fail=3", 0, "Input/output error"),
        ("refuse=3", 0, "Input/output error"),
        // At the receiver, all that came before is delivered.
        ("truncate=3", 1, "Truncation error"),
        // Nobody has canceled it here.
        ("cancel=3", 1, "Operation canceled"),
        // The same if an error tells of no operation.
        ("strange=1;truncate=3", 1, "Truncation error"),
    ] {
        let provider = format!("stub;{trouble}");
        let mut ranks = over_provider(&library.0, &provider, 3);
        let mut heard = [Events::default(), Events::default(), Events::default()];
        for number in 0..8 {
            // Without room in a message that the provider copies at once.
            let data = [number; 100];
            ranks[0]
                .send(1, &Header::default(), 100, |packet| packet.copy_from_slice(&data))
                .unwrap();
        }
        settle(&mut ranks, &mut heard, |heard| !heard[who].failed.is_empty());
        (0..100).for_each(|_| {
            ranks.iter_mut().zip(&mut heard).for_each(|(rank, events)| {
                rank.poll(events);
            });
        });
        let [(peer, said)] = &heard[who].failed[..] else { panic!("{trouble}") };
        assert!(*peer == 1 - who as Peer && said.contains(why), "{trouble}: {said}");
        let numbers: Vec<_> = heard[1].packets.iter().map(|(_, data)| data[0]).collect();
        let good: Vec<_> = (0..8).collect();
        assert!(who == 0 || good.starts_with(&numbers), "{trouble}: {numbers:?}");
        assert!(ranks[0].is_drained(), "{trouble}");
        assert!(heard[2].failed.is_empty() && heard[2].packets.is_empty());
    }
}

/// Memory that cannot be registered: a message from it, or to it, is lost, and an access fails.
#[test]
fn memory_that_cannot_be_registered_is_named() {
    let library = TroubleLibrary::compile("pinned");
    for (sender, receiver, failing) in [(1100, 9999, 0), (9999, 1100, 1)] {
        let limits = [sender, receiver];
        let open = |me: u32| {
            let provider = format!("stub;local=1;pinned={}", limits[me as usize]);
            let scope = AccessChoice::Never;
            FabricEndpoint::open(Some(&library.0), Some(&provider), scope, me).unwrap()
        };
        let mut ranks = over_endpoints((0..2).map(open).collect(), "stub");
        let mut heard = [Events::default(), Events::default()];
        ranks[0].send(1, &Header::default(), 100, |packet| packet.fill(7)).unwrap();
        let mut data = TestBuffer::new(200_000, 7);
        ranks[0].send_lent(1, &Header::default(), data.span(), 5).unwrap();
        settle(&mut ranks, &mut heard, |heard| !heard[failing].failed.is_empty());
        let failures = &heard[failing].failed;
        let [(peer, why)] = &failures[..] else { panic!("{failures:?}") };
        assert_eq!(*peer, 1 - failing as Peer);
        let what = "200000 bytes of memory cannot be registered";
        assert!(why.contains(what) && why.contains("Cannot allocate memory"), "{why}");
        assert!(heard[1].packets.iter().all(|(_, data)| data.len() == 100));
    }
    let provider = Some("stub;local=1;pinned=1000");
    let refused = FabricEndpoint::open(Some(&library.0), provider, AccessChoice::Never, 0);
    let why = refused.unwrap_err();
    assert!(why.contains("fi_mr_reg fails") && why.contains("Cannot allocate memory"), "{why}");
}

#[test]
fn a_long_packet_whose_data_the_provider_has_canceled_is_not_delivered() {
    let library = TroubleLibrary::compile("canceled");
    let mut ranks = over_provider(&library.0, "stub;cancel=2", 3);
    let mut heard = [Events::default(), Events::default(), Events::default()];
    ranks[0].send(1, &Header::default(), 20_000, |packet| packet.fill(7)).unwrap();
    settle(&mut ranks, &mut heard, |heard| !heard[1].failed.is_empty());
    let [(0, said)] = &heard[1].failed[..] else { panic!("not a failure of rank 0") };
    assert!(said.contains("Operation canceled"), "{said}");
    assert!(heard[1].packets.is_empty() && ranks[1].is_drained());
}

#[test]
fn what_a_peer_that_has_ended_holds_up_is_given_up() {
    let library = TroubleLibrary::compile("ended");
    let mut ranks = over_provider(&library.0, "stub;seed=5;again=20;queue=4", 3);
    let mut heard = [Events::default(), Events::default(), Events::default()];
    // Rank 1 never polls: its socket is full soon.
    let mut data = TestBuffer::new(1 << 20, 7);
    ranks[0].send_lent(1, &Header::default(), data.span(), 5).unwrap();
    for _ in 0..40 {
        ranks[0].send(1, &Header::default(), 2000, |_| ()).unwrap();
        ranks[0].poll(&mut heard[0]);
    }
    assert!(!ranks[0].is_drained());
    ranks[0].peer_ended(1, "its process has ended");
    ranks[0].poll(&mut heard[0]);
    let ended = ranks.remove(1);
    drop(ended);
    assert_eq!(heard[0].failed, [(1, "its process has ended".to_owned())]);
    assert!(ranks[0].is_drained() && heard[0].sent.is_empty());
    // Others are reached as before, and what is sent there is dropped.
    ranks[0].send(1, &Header::default(), 2000, |_| ()).unwrap();
    ranks[1].send(0, &Header::default(), 3, |packet| packet.copy_from_slice(b"two")).unwrap();
    ranks[0].send(2, &Header::default(), 3, |packet| packet.copy_from_slice(b"one")).unwrap();
    let others = |heard: &[Events]| !heard[0].packets.is_empty() && !heard[2].packets.is_empty();
    for _ in 0..100_000 {
        ranks[0].poll(&mut heard[0]);
        ranks[1].poll(&mut heard[2]);
        if others(&heard) {
            break;
        }
    }
    assert_eq!(heard[0].packets, [(2, b"two".to_vec())]);
    assert_eq!(heard[2].packets, [(0, b"one".to_vec())]);
    assert_eq!(heard[0].failed.len(), 1);
    assert!(ranks[0].close() && ranks[1].close());
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
