#![allow(unsafe_code)]

mod gateway;
mod liars;
mod traffic;

use std::collections::{HashMap, VecDeque};

use super::*;
use platform::base::{Random, Span};
use platform::impi::{ProcessId, WorldClient, host_address};
use platform::network::{InterfaceChoice, SharedSecret};

/// The time without progress after which a test fails.
const LIMIT: Duration = Duration::from_secs(60);

const WORLD_ID: [u8; 16] = [9; 16];

fn deadline() -> Instant {
    Instant::now() + LIMIT
}

fn sealed() -> MeshSecurity {
    MeshSecurity::Sealed(SharedSecret([7; 32]), WORLD_ID)
}

fn settings() -> MeshSettings {
    let interfaces = InterfaceChoice::parse("127.0.0.1").unwrap();
    MeshSettings { interfaces, spans_hosts: false, ..MeshSettings::default() }
}

/// A world of clients without gateways, by their numbers of processes; with the listener of each process.
fn world_of(clients: &[usize], settings: &MeshSettings) -> (World, Vec<MeshListener>) {
    let mut listeners = Vec::new();
    let mut pid = 100;
    let mut process = || {
        pid += 1;
        let listener = MeshListener::open(settings).unwrap();
        let offer = listener.offer(pid);
        listeners.push(listener);
        offer
    };
    let clients = clients.iter().map(|processes| WorldClient {
        hosts: (0..*processes).map(|_| process()).collect(),
        representation: None,
    });
    let world = World {
        id: WORLD_ID,
        data_len: 4000,
        tag_ub: 32_767,
        collective_xsize: 1024,
        collective_max_linear: 4,
        clients: clients.collect(),
    };
    (world, listeners)
}

/// The meshes of all processes of such a world.
fn connected(world: &World, listeners: Vec<MeshListener>, security: &MeshSecurity) -> Vec<Mesh> {
    let connect = |(me, listener): (u32, MeshListener)| {
        let (world, security) = (world.clone(), security.clone());
        std::thread::spawn(move || Mesh::connect(listener, &world, me, security, deadline()))
    };
    let threads: Vec<_> = (0..).zip(listeners).map(connect).collect();
    threads.into_iter().map(|thread| thread.join().unwrap().unwrap()).collect()
}

fn meshes(clients: &[usize], security: &MeshSecurity) -> Vec<Mesh> {
    let (world, listeners) = world_of(clients, &settings());
    connected(&world, listeners, security)
}

/// What one process has received.
#[derive(Default)]
struct ReceivedPackets {
    packets: VecDeque<(u32, PacketHeader, Vec<u8>)>,
    /// Places for the next packets with these sources and requests.
    places: HashMap<(u32, u64), Vec<u8>>,
    /// Whether there is one for each odd request.
    places_odd: bool,
    acknowledged: HashMap<u32, u32>,
    rooms: Vec<u32>,
    failed: Vec<(u32, String)>,
    /// A tag that no packet may have.
    forbidden: Option<i32>,
}

impl ReceivedPackets {
    fn take(&mut self, from: u32, header: &PacketHeader, data: &[u8]) -> Result<(), String> {
        if self.forbidden == Some(header.tag) {
            return Err(format!("the tag {}", header.tag));
        }
        assert_eq!(data.len(), header.len as usize);
        self.packets.push_back((from, *header, data.to_vec()));
        Ok(())
    }
}

impl MeshSink for ReceivedPackets {
    fn packet(&mut self, from: u32, header: &PacketHeader, data: &[u8]) -> Result<(), String> {
        self.take(from, header, data)
    }

    fn place(&mut self, from: u32, header: &PacketHeader) -> Option<Span> {
        let request = (from, header.destination_request);
        if self.places_odd && request.1 % 2 == 1 {
            self.places.insert(request, Vec::new());
        }
        let memory = self.places.get_mut(&request)?;
        memory.resize(header.len as usize, 0xee);
        // SAFETY: the memory stays where it is, and is not used otherwise before `placed`.
        Some(unsafe { Span::of(memory) })
    }

    fn placed(&mut self, from: u32, header: &PacketHeader) -> Result<(), String> {
        let memory = self.places.remove(&(from, header.destination_request)).unwrap();
        self.take(from, header, &memory)
    }

    fn acknowledged(&mut self, to: u32, packets: u32) {
        *self.acknowledged.entry(to).or_default() += packets;
    }

    fn room(&mut self, to: u32) {
        self.rooms.push(to);
    }

    fn failed(&mut self, process: u32, why: &str) {
        self.failed.push((process, why.to_owned()));
    }
}

/// Polls until the condition on what was received holds.
fn poll_until(
    mesh: &mut Mesh, sink: &mut ReceivedPackets, is_done: impl Fn(&Mesh, &ReceivedPackets) -> bool,
) {
    let begin = Instant::now();
    while !is_done(mesh, sink) {
        assert!(begin.elapsed() < LIMIT, "no progress");
        if mesh.poll(sink) == 0 {
            std::thread::yield_now();
        }
    }
}

/// A message of one packet.
fn message(tag: i32, len: usize) -> Outgoing {
    let (message_len, count) = (len as u64, len as i64);
    Outgoing { tag, message_len, count, ..Outgoing::default() }
}

fn send(mesh: &mut Mesh, to: u32, tag: i32, data: &[u8]) -> Result<(), Busy> {
    mesh.send(to, &message(tag, data.len()), data.len(), |out| out.copy_from_slice(data))
}

#[test]
fn packets_go_to_each_process_of_other_clients() {
    for security in [MeshSecurity::Cleartext, sealed()] {
        let mut meshes = meshes(&[2, 1, 3], &security);
        let clients = [0, 0, 1, 2, 2, 2];
        for (from, mesh) in meshes.iter_mut().enumerate() {
            for to in (0..6).filter(|to| clients[*to] != clients[from]) {
                send(mesh, to as u32, from as i32, &[from as u8, to as u8]).unwrap();
            }
            assert_eq!(mesh.packet_counts().0, [4, 4, 5, 3, 3, 3][from]);
        }
        for (to, mesh) in meshes.iter_mut().enumerate() {
            let expected = (0..6).filter(|from| clients[*from] != clients[to]);
            let expected: Vec<_> =
                expected.map(|from| (from as u32, vec![from as u8, to as u8])).collect();
            let mut sink = ReceivedPackets::default();
            poll_until(mesh, &mut sink, |_, sink| sink.packets.len() == expected.len());
            let mut packets: Vec<_> = sink.packets.iter().map(|it| (it.0, it.2.clone())).collect();
            packets.sort();
            assert_eq!(
                (packets, mesh.packet_counts().1),
                (expected.clone(), expected.len() as u64)
            );
        }
        leave_all(&mut meshes);
    }
}

/// All processes leave, and none of them fails.
fn leave_all(meshes: &mut [Mesh]) {
    let mut sinks: Vec<_> = meshes.iter().map(|_| ReceivedPackets::default()).collect();
    meshes.iter_mut().for_each(Mesh::leave);
    let begin = Instant::now();
    while !meshes.iter().all(Mesh::has_left) {
        assert!(begin.elapsed() < LIMIT, "a process does not leave");
        for (mesh, sink) in meshes.iter_mut().zip(&mut sinks) {
            mesh.poll(sink);
        }
    }
    assert!(sinks.iter().all(|sink| sink.failed.is_empty()));
    assert!(meshes.iter().all(Mesh::is_drained));
}

#[test]
fn many_hosts_find_each_other() {
    for security in [MeshSecurity::Cleartext, sealed()] {
        let mut meshes = meshes(&[15, 1, 14], &security);
        for (from, to) in [(0, 29), (29, 0), (15, 14), (14, 15), (16, 3)] {
            send(&mut meshes[from], to, 1, b"x").unwrap();
            let mut sink = ReceivedPackets::default();
            poll_until(&mut meshes[to as usize], &mut sink, |_, sink| sink.packets.len() == 1);
        }
        leave_all(&mut meshes);
    }
}

#[test]
fn a_header_is_what_its_sender_decides_and_what_the_mesh_knows() {
    let mut meshes = meshes(&[1, 1], &MeshSecurity::Cleartext);
    let packet = Outgoing {
        kind: ImpiKind::DataSync,
        source_request: 1,
        destination_request: 2,
        message_len: 300,
        source_rank: 4,
        tag: 5,
        context: 6,
        count: 7,
        datatype: 8,
    };
    for sequence in 0..2 {
        meshes[0].send(1, &packet, 200, |data| data.fill(9)).unwrap();
        let mut sink = ReceivedPackets::default();
        poll_until(&mut meshes[1], &mut sink, |_, sink| !sink.packets.is_empty());
        let (from, header, data) = sink.packets.pop_front().unwrap();
        let address = host_address("127.0.0.1".parse().unwrap());
        let expected = PacketHeader {
            kind: ImpiKind::DataSync,
            len: 200,
            source: ProcessId { address, pid: 101 },
            destination: ProcessId { address, pid: 102 },
            source_request: 1,
            destination_request: 2,
            message_len: 300,
            source_rank: 4,
            tag: 5,
            context: 6,
            sequence,
            count: 7,
            datatype: 8,
        };
        assert_eq!((from, header, data), (0, expected, vec![9; 200]));
    }
}

#[test]
fn a_receiver_decides_how_many_packets_are_on_their_way() {
    let (one, other) = (settings(), settings());
    let one = MeshSettings { ack_mark: 2, high_water: 3, ..one };
    let other = MeshSettings { ack_mark: 4, high_water: 7, ..other };
    let (mut world, mut listeners) = world_of(&[1], &one);
    let (more, listener) = world_of(&[1], &other);
    world.clients.extend(more.clients);
    world.clients[1].hosts[0].processes[0].pid = 102;
    listeners.extend(listener);
    let mut meshes = connected(&world, listeners, &sealed());
    for (from, to, mark, high_water) in [(0_usize, 1, 4, 7), (1, 0, 2, 3)] {
        let mut sender = ReceivedPackets::default();
        for number in 0..high_water {
            send(&mut meshes[from], to, number, b"x").unwrap();
        }
        assert_eq!(send(&mut meshes[from], to, 0, b"x"), Err(Busy));
        assert_eq!(send(&mut meshes[from], to, 0, b"x"), Err(Busy));
        let mut receiver = ReceivedPackets::default();
        poll_until(&mut meshes[to as usize], &mut receiver, |_, sink| {
            sink.packets.len() == high_water as usize
        });
        poll_until(&mut meshes[from], &mut sender, |_, sink| !sink.rooms.is_empty());
        assert_eq!(sender.rooms, [to]);
        assert_eq!(sender.acknowledged, HashMap::from([(to, mark as u32)]));
        // As many again as one PROTOACK has acknowledged.
        for number in 0..mark {
            send(&mut meshes[from], to, number, b"x").unwrap();
        }
        assert_eq!(send(&mut meshes[from], to, 0, b"x"), Err(Busy));
        poll_until(&mut meshes[to as usize], &mut receiver, |_, sink| {
            sink.packets.len() == (high_water + mark) as usize
        });
    }
}

#[test]
fn withheld_acknowledgements_stop_a_sender_until_they_come() {
    let settings = MeshSettings { ack_mark: 2, high_water: 5, ..settings() };
    let (world, listeners) = world_of(&[1, 1], &settings);
    let mut meshes = connected(&world, listeners, &sealed());
    let [mut sender, mut receiver] = [ReceivedPackets::default(), ReceivedPackets::default()];
    meshes[1].withhold(0, true);
    for number in 0..5 {
        send(&mut meshes[0], 1, number, b"x").unwrap();
    }
    assert_eq!(send(&mut meshes[0], 1, 0, b"x"), Err(Busy));
    poll_until(&mut meshes[1], &mut receiver, |_, sink| sink.packets.len() == 5);
    // The other direction goes on, and its packets come after any PROTOACK.
    send(&mut meshes[1], 0, 7, b"y").unwrap();
    poll_until(&mut meshes[0], &mut sender, |_, sink| sink.packets.len() == 1);
    assert_eq!((sender.rooms.len(), sender.acknowledged.len()), (0, 0));
    meshes[1].withhold(0, false);
    poll_until(&mut meshes[0], &mut sender, |_, sink| sink.acknowledged.get(&1) == Some(&4));
    assert_eq!(sender.rooms, [1]);
}

#[test]
fn a_slow_reader_is_no_failure_and_its_sender_is_refused() {
    for security in [MeshSecurity::Cleartext, sealed()] {
        let settings = MeshSettings { ack_mark: 1 << 20, high_water: 1 << 20, ..settings() };
        let (world, listeners) = world_of(&[1, 1], &settings);
        let mut meshes = connected(&world, listeners, &security);
        let mut packets = 0;
        while send(&mut meshes[0], 1, packets, &[packets as u8; 4000]).is_ok() {
            packets += 1;
        }
        assert!(packets > 200 && !meshes[0].is_drained());
        let [mut sender, mut receiver] = [ReceivedPackets::default(), ReceivedPackets::default()];
        let begin = Instant::now();
        while receiver.packets.len() < packets as usize {
            assert!(begin.elapsed() < LIMIT);
            meshes[0].poll(&mut sender);
            meshes[1].poll(&mut receiver);
        }
        for (number, (_, header, data)) in (0..).zip(&receiver.packets) {
            assert_eq!((header.tag, data), (number, &vec![number as u8; 4000]));
        }
        assert_eq!((sender.rooms, meshes[0].is_drained()), (vec![1], true));
        assert_eq!((sender.failed, receiver.failed), (vec![], vec![]));
    }
}

#[test]
fn long_data_goes_to_its_place() {
    for security in [MeshSecurity::Cleartext, sealed()] {
        let mut meshes = meshes(&[1, 1], &security);
        let mut sink = ReceivedPackets::default();
        let lengths = [0, 1, 1000, 4000];
        for (request, len) in (1..).zip(lengths) {
            sink.places.insert((1, request), Vec::new());
            let packet = Outgoing { destination_request: request, ..message(5, len) };
            let fill = |data: &mut [u8]| data.fill(request as u8);
            meshes[1].send(0, &packet, len, fill).unwrap();
        }
        // Without a place, and without a request.
        let unknown = Outgoing { destination_request: 99, ..message(5, 10) };
        meshes[1].send(0, &unknown, 10, |data| data.fill(99)).unwrap();
        send(&mut meshes[1], 0, 5, &[98; 10]).unwrap();
        poll_until(&mut meshes[0], &mut sink, |_, sink| sink.packets.len() == 6);
        let lengths = (1..).zip(lengths).chain([(99, 10), (98, 10)]);
        for ((value, len), (_, _, data)) in lengths.zip(&sink.packets) {
            assert_eq!(*data, vec![value as u8; len]);
        }
        assert!(sink.places.is_empty());
    }
}

#[test]
fn a_sleeper_hears_of_packets() {
    use platform::sys::poll::is_readable;
    let mut meshes = meshes(&[1, 1], &sealed());
    let [mut first, mut second] = [ReceivedPackets::default(), ReceivedPackets::default()];
    // Questions about silence may still be due.
    for (mesh, sink) in meshes.iter_mut().zip([&mut first, &mut second]) {
        mesh.arm();
        let begin = Instant::now();
        while is_readable(mesh.descriptor(), Duration::ZERO) || mesh.due_ns < u64::MAX {
            assert!(begin.elapsed() < LIMIT);
            mesh.poll(sink);
        }
    }
    send(&mut meshes[1], 0, 3, b"data").unwrap();
    assert!(is_readable(meshes[0].descriptor(), LIMIT));
    poll_until(&mut meshes[0], &mut first, |_, sink| sink.packets.len() == 1);
    assert!(!is_readable(meshes[0].descriptor(), Duration::ZERO));
    meshes[0].ring();
    assert!(is_readable(meshes[0].descriptor(), LIMIT));
    meshes[0].poll(&mut first);
    meshes[0].disarm();
    // A failure that was not found by reading is heard of, too.
    meshes[0].arm();
    meshes[0].cut(1, "because of a test");
    assert!(is_readable(meshes[0].descriptor(), LIMIT));
    meshes[0].poll(&mut first);
    assert_eq!(first.failed.len(), 1);
}
