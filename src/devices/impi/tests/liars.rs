//! Peers that break the protocol, strangers, and connections that are cut.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use super::super::mesh_stream::MeshStream;
use super::*;
use platform::impi::HEADER_BYTES;
use platform::sys::poll::is_readable;
use platform::sys::tcp::{Moved, SendPart};

/// A packet of process `from` for process `to`, as it should be.
fn header(world: &World, from: usize, to: usize) -> PacketHeader {
    let id = |rank: usize| world.process(rank).unwrap().id;
    PacketHeader { source: id(from), destination: id(to), ..PacketHeader::default() }
}

fn stream(mesh: &mut Mesh, link: usize) -> &mut MeshStream {
    mesh.links[link].stream.as_mut().unwrap()
}

/// Sends bytes on a connection as if they were packets.
fn inject(mesh: &mut Mesh, link: usize, head: &[u8], len: usize) {
    stream(mesh, link).queue.push(head, len, |data| data.fill(3));
    mesh.write(link);
}

/// Three clients of one process; the last one lies to the first.
struct Lie {
    world: World,
    meshes: Vec<Mesh>,
}

impl Lie {
    fn new(security: &MeshSecurity) -> Self {
        let settings = MeshSettings { ack_mark: 1, high_water: 3, ..settings() };
        let (world, listeners) = world_of(&[1, 1, 1], &settings);
        let meshes = connected(&world, listeners, security);
        Self { world, meshes }
    }

    /// What process 0 says of process 2, while process 1 still reaches it.
    fn found(&mut self) -> String {
        let mut sink = ReceivedPackets { forbidden: Some(66), ..ReceivedPackets::default() };
        poll_until(&mut self.meshes[0], &mut sink, |_, sink| !sink.failed.is_empty());
        let failed = sink.failed.clone();
        assert!(failed.len() == 1 && failed[0].0 == 2, "{failed:?}");
        // What is sent to it is dropped.
        assert_eq!(send(&mut self.meshes[0], 2, 1, b"x"), Ok(()));
        self.meshes[0].cut(2, "again");
        send(&mut self.meshes[1], 0, 1, b"x").unwrap();
        let packets = sink.packets.len();
        poll_until(&mut self.meshes[0], &mut sink, |_, sink| sink.packets.len() > packets);
        assert_eq!((sink.failed, sink.packets.back().unwrap().0), (failed.clone(), 1));
        // The other end is told by its kernel.
        let mut sink = ReceivedPackets::default();
        poll_until(&mut self.meshes[2], &mut sink, |_, sink| !sink.failed.is_empty());
        assert_eq!((sink.failed.len(), sink.failed[0].0), (1, 0));
        failed[0].1.clone()
    }
}

#[test]
fn wrong_packets_cut_their_connection_off() {
    type Change = fn(&mut PacketHeader);
    let lies: [(&str, Change); 10] = [
        ("process id 999 at 127.0.0.1, which is not behind", |it| it.source.pid = 999),
        ("process id 101 at 127.0.0.1, which is not behind", |it| it.source.pid = 101),
        ("for process id 102 at 127.0.0.1, which is not here", |it| it.destination.pid = 102),
        ("DATA of 4001 bytes, longer than the 4000", |it| it.len = 4001),
        ("DATA of 9 bytes, part of a message of 8", |it| (it.len, it.message_len) = (9, 8)),
        ("SYNCACK of 1 bytes, where none", |it| (it.kind, it.len) = (ImpiKind::SyncAck, 1)),
        ("PROTOACK for 1 packets, of which 0", |it| it.kind = ImpiKind::ProtoAck),
        ("FINI of 2000 bytes", |it| (it.kind, it.len) = (ImpiKind::Fini, 2000)),
        ("the tag 66", |it| it.tag = 66),
        ("number 1 where number 0 is due", |it| it.sequence = 1),
    ];
    for security in [MeshSecurity::Cleartext, sealed()] {
        for (words, change) in lies {
            let mut lie = Lie::new(&security);
            let mut header = header(&lie.world, 2, 0);
            change(&mut header);
            inject(&mut lie.meshes[2], 0, &header.emit(), 0);
            if header.sequence > 0 && matches!(security, MeshSecurity::Cleartext) {
                // A foreign peer may count otherwise.
                let mut sink = ReceivedPackets::default();
                poll_until(&mut lie.meshes[0], &mut sink, |_, sink| !sink.packets.is_empty());
                continue;
            }
            let why = lie.found();
            assert!(why.contains(words), "{why}");
            let name = "process 2 (process id 103) of client 2 at host 2 (127.0.0.1:";
            assert!(why.starts_with(name) && why.contains("is cut off"), "{why}");
        }
    }
}

#[test]
fn bytes_that_are_no_packets_cut_their_connection_off() {
    for (security, words) in [(MeshSecurity::Cleartext, "kind 101"), (sealed(), "message of")] {
        let mut lie = Lie::new(&security);
        let garbage = vec![0; 3].into_iter().chain([101; 300]).collect::<Vec<_>>();
        let sent = stream(&mut lie.meshes[2], 0).connection().send(&[SendPart::Bytes(&garbage)]);
        assert_eq!(sent.unwrap(), Moved::Bytes(303));
        let why = lie.found();
        assert!(why.contains(words), "{why}");
    }
}

#[test]
fn nothing_may_follow_fini() {
    for security in [MeshSecurity::Cleartext, sealed()] {
        let (world, listeners) = world_of(&[1, 1], &settings());
        let mut meshes = connected(&world, listeners, &security);
        let mut sink = ReceivedPackets::default();
        meshes[1].leave();
        poll_until(&mut meshes[0], &mut sink, |mesh, _| mesh.presence_of(1) != HostPresence::Here);
        inject(&mut meshes[1], 0, &header(&world, 1, 0).emit(), 0);
        // It has left already, so this is no failure.
        poll_until(&mut meshes[0], &mut sink, |mesh, _| mesh.has_left());
        assert!(sink.failed.is_empty() && sink.packets.is_empty());
    }
}

#[test]
fn a_peer_that_sends_and_does_not_read_is_found() {
    for security in [MeshSecurity::Cleartext, sealed()] {
        let mut lie = Lie::new(&security);
        let mut header = header(&lie.world, 2, 0);
        let mut sink = ReceivedPackets::default();
        let begin = Instant::now();
        while sink.failed.is_empty() {
            assert!(begin.elapsed() < LIMIT);
            if lie.meshes[2].is_drained() {
                for _ in 0..500 {
                    stream(&mut lie.meshes[2], 0).queue.push(&header.emit(), 0, |_| {});
                    header.sequence += 1;
                }
            }
            lie.meshes[2].write(0);
            lie.meshes[0].poll(&mut sink);
            sink.packets.clear();
        }
        let why = &sink.failed[0].1;
        assert!(why.contains("more than 3 packets without acknowledgement"), "{why}");
        let longest = 3 << 20;
        let queue = |link: &MeshLink| link.stream.as_ref().map_or(0, |it| it.queue.len());
        assert!(lie.meshes[0].links.iter().map(queue).sum::<usize>() < longest);
    }
}

#[test]
fn a_cut_connection_is_the_failure_of_its_process() {
    for security in [MeshSecurity::Cleartext, sealed()] {
        for is_within in [false, true] {
            let mut lie = Lie::new(&security);
            if is_within {
                let bytes = header(&lie.world, 2, 0).emit();
                inject(&mut lie.meshes[2], 0, &bytes[..50], 0);
                // The bytes go before the end.
                let mut sink = ReceivedPackets::default();
                poll_until(&mut lie.meshes[0], &mut sink, |mesh, _| {
                    let mut streams = mesh.links.iter().filter_map(|link| link.stream.as_ref());
                    streams.any(|stream| stream.is_within_packet())
                });
            }
            lie.meshes.pop();
            let mut sink = ReceivedPackets::default();
            poll_until(&mut lie.meshes[0], &mut sink, |_, sink| !sink.failed.is_empty());
            let (process, why) = &sink.failed[0];
            let words = if is_within { "within a packet" } else { "before FINI" };
            assert!(*process == 2 && why.contains(words), "{why}");
            assert_eq!(send(&mut lie.meshes[0], 2, 1, b"x"), Ok(()));
        }
    }
}

#[test]
fn a_write_that_fails_loses_nothing_that_has_arrived() {
    for security in [MeshSecurity::Cleartext, sealed()] {
        let (world, listeners) = world_of(&[1, 1], &settings());
        let mut meshes = connected(&world, listeners, &security);
        send(&mut meshes[1], 0, 5, b"last words").unwrap();
        meshes[1].leave();
        meshes.pop();
        // The second write finds that the other end has gone.
        let begin = Instant::now();
        while meshes[0].links[0].broken.is_none() {
            assert!(begin.elapsed() < LIMIT);
            let _ = send(&mut meshes[0], 1, 6, b"x");
            if meshes[0].pairs[1].is_refused {
                inject(&mut meshes[0], 0, b"x", 0);
            }
        }
        let mut sink = ReceivedPackets::default();
        poll_until(&mut meshes[0], &mut sink, |mesh, _| mesh.has_left());
        assert_eq!((sink.packets.len(), sink.failed), (1, vec![]));
    }
}

#[test]
fn random_streams_end_no_process() {
    let mut random = Random::new(77);
    for round in 0..150 {
        let (world, listeners) = world_of(&[1, 1], &settings());
        let mut meshes = connected(&world, listeners, &MeshSecurity::Cleartext);
        let mut sink = ReceivedPackets { places_odd: true, ..ReceivedPackets::default() };
        for _ in 0..20 {
            let len = random.below(100) as u32;
            let kind = ImpiKind::ALL[random.below(7) as usize];
            let header = PacketHeader {
                kind,
                len: if matches!(kind, ImpiKind::Data | ImpiKind::DataSync) { len } else { 0 },
                message_len: 100,
                destination_request: random.below(3),
                ..header(&world, 1, 0)
            };
            let mut bytes = header.emit();
            if random.one_in(20) {
                bytes[random.below(HEADER_BYTES as u64) as usize] ^= 1 << random.below(8);
            }
            inject(&mut meshes[1], 0, &bytes, header.len as usize);
            meshes[0].poll(&mut sink);
        }
        meshes.pop();
        poll_until(&mut meshes[0], &mut sink, |mesh, _| mesh.has_left());
        assert!(sink.failed.len() <= 1, "round {round}: {:?}", sink.failed);
    }
}

/// A connection to a listener, as anybody can make it.
fn stranger(listener: &MeshListener) -> TcpStream {
    let port = listener.offer(0).port as u16;
    TcpStream::connect(SocketAddr::from(([127, 0, 0, 1], port))).unwrap()
}

#[test]
fn strangers_get_nothing_and_disturb_nobody() {
    for security in [MeshSecurity::Cleartext, sealed()] {
        let (world, listeners) = world_of(&[1, 1, 1], &settings());
        let mut strangers = Vec::new();
        for (kind, listener) in (0..300).zip(listeners.iter().cycle()) {
            let mut stranger = stranger(listener);
            let said: &[u8] = match kind % 6 {
                0 => b"",
                1 => b"\0",
                2 => b"\0\0\0\0",
                3 => b"\xff\xff\xff\xff",
                4 => b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
                _ => b"\xf5suiro\x03\0\x30\0 and nothing that proves anything",
            };
            stranger.write_all(said).unwrap();
            if kind % 7 != 0 {
                strangers.push(stranger);
            }
        }
        let mut meshes = connected(&world, listeners, &security);
        for mut stranger in strangers {
            stranger.set_read_timeout(Some(LIMIT)).unwrap();
            let mut heard = Vec::new();
            let _ = stranger.read_to_end(&mut heard);
            assert_eq!(heard, b"");
        }
        send(&mut meshes[2], 0, 1, b"x").unwrap();
        let mut sink = ReceivedPackets::default();
        poll_until(&mut meshes[0], &mut sink, |_, sink| sink.packets.len() == 1);
        leave_all(&mut meshes);
    }
}

/// Why process 1 of two has no mesh.
fn no_mesh(world: &World, listener: MeshListener, security: MeshSecurity, ms: u64) -> String {
    let deadline = Instant::now() + Duration::from_millis(ms);
    Mesh::connect(listener, world, 1, security, deadline).err().unwrap().why
}

#[test]
fn a_missing_host_is_named() {
    let (world, mut listeners) = world_of(&[1, 1, 1], &settings());
    let secret = |byte| SharedSecret([byte; 32]);
    // Its system accepts, but no process does.
    let why = no_mesh(&world, listeners.remove(1), sealed(), 500);
    assert!(why.starts_with("host 0 (127.0.0.1:"), "{why}");
    assert!(why.contains("of client 0, with process 0 has not answered in time"), "{why}");
    // A host that should connect.
    let world = World { clients: world.clients[1..].to_vec(), ..world };
    let listener = MeshListener::open(&settings()).unwrap();
    let deadline = Instant::now() + Duration::from_millis(500);
    let mesh = Mesh::connect(listener, &world, 0, sealed(), deadline);
    let why = mesh.err().unwrap().why;
    assert!(why.contains("with process 1 has not connected in time"), "{why}");
    // Another secret, another world.
    let (world, mut listeners) = world_of(&[1, 1], &settings());
    for (other, words) in [
        (MeshSecurity::Sealed(secret(8), WORLD_ID), "closed the connection"),
        (MeshSecurity::Sealed(secret(7), [1; 16]), "another world"),
        (MeshSecurity::Cleartext, "has not answered"),
    ] {
        let listener = MeshListener::open(&settings()).unwrap();
        let mut world = world.clone();
        world.clients[0].hosts[0].port = listener.offer(0).port;
        let one = std::thread::spawn({
            let world = world.clone();
            move || {
                let deadline = Instant::now() + Duration::from_millis(1500);
                Mesh::connect(listener, &world, 0, other, deadline).err().unwrap().why
            }
        });
        let why = no_mesh(&world, MeshListener::open(&settings()).unwrap(), sealed(), 1500);
        assert!(why.contains(words), "{why}");
        let why = one.join().unwrap();
        assert!(why.contains("has not connected in time; the last connection"), "{why}");
    }
    // The process has ended.
    let own = listeners.pop().unwrap();
    drop(listeners);
    let why = no_mesh(&world, own, sealed(), 60_000);
    assert!(why.contains("with process 0 has ended"), "{why}");
}

#[test]
fn the_second_connection_of_a_host_is_closed() {
    let (world, mut listeners) = world_of(&[1, 1, 1], &settings());
    let address = SocketAddr::from(([127, 0, 0, 1], listeners[0].offer(0).port as u16));
    let mut twice = [1_u32, 1].map(|number| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(&number.to_be_bytes()).unwrap();
        stream
    });
    let listener = listeners.remove(0);
    let (own, security) = (world.clone(), MeshSecurity::Cleartext);
    let mesh = std::thread::spawn(move || Mesh::connect(listener, &own, 0, security, deadline()));
    twice[1].set_read_timeout(Some(LIMIT)).unwrap();
    assert!(matches!(twice[1].read(&mut [0]), Ok(0) | Err(_)));
    let mut last = TcpStream::connect(address).unwrap();
    last.write_all(&2_u32.to_be_bytes()).unwrap();
    // A foreign host sends packets at once.
    let first = header(&world, 1, 0);
    twice[0].write_all(&first.emit()).unwrap();
    last.write_all(&PacketHeader { source: header(&world, 2, 0).source, ..first }.emit()).unwrap();
    let mut mesh = mesh.join().unwrap().unwrap();
    let mut sink = ReceivedPackets::default();
    mesh.arm();
    assert!(is_readable(mesh.descriptor(), LIMIT));
    poll_until(&mut mesh, &mut sink, |_, sink| sink.packets.len() == 2);
    // What comes back is a PROTOACK after ten packets, byte for byte.
    for sequence in 1..10 {
        twice[0].write_all(&PacketHeader { sequence, ..first }.emit()).unwrap();
    }
    poll_until(&mut mesh, &mut sink, |_, sink| sink.packets.len() == 11);
    let mut back = [0; HEADER_BYTES];
    twice[0].read_exact(&mut back).unwrap();
    let acknowledged = PacketHeader { kind: ImpiKind::ProtoAck, ..header(&world, 0, 1) };
    assert_eq!(PacketHeader::parse(&back), Ok(acknowledged));
}
