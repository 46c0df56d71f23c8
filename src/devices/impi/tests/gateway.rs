//! Clients behind gateways.

use super::*;

/// How a client is connected: the number of its processes.
#[derive(Clone, Copy)]
pub(super) enum ClientShape {
    Direct(usize),
    Behind(usize),
}

/// The sockets of a client.
enum ClientSockets {
    Direct(Vec<MeshListener>),
    Behind(GatewayListener, usize),
}

/// A world with the gateways that are at work.
pub(super) struct TestWorld {
    pub(super) meshes: Vec<Mesh>,
    pub(super) gateways: Vec<Gateway>,
}

pub(super) fn network(
    clients: &[ClientShape], settings: &MeshSettings, security: &MeshSecurity,
) -> TestWorld {
    let (mut world, _) = world_of(&[], settings);
    let address = host_address("127.0.0.1".parse().unwrap());
    let mut sockets = Vec::new();
    let mut pid = 100;
    for client in clients {
        let mut hosts = Vec::new();
        match *client {
            ClientShape::Direct(count) => {
                let mut listeners = Vec::new();
                for _ in 0..count {
                    pid += 1;
                    listeners.push(MeshListener::open(settings).unwrap());
                    hosts.push(listeners.last().unwrap().offer(pid));
                }
                sockets.push(ClientSockets::Direct(listeners));
            }
            ClientShape::Behind(count) => {
                let listener = GatewayListener::open(settings).unwrap();
                let processes = (1..=count as i64).map(|it| ProcessId { address, pid: pid + it });
                hosts.push(listener.offer(processes.collect()));
                pid += count as i64;
                sockets.push(ClientSockets::Behind(listener, count));
            }
        }
        world.clients.push(WorldClient { hosts, representation: None });
    }
    let (mut threads, mut gateways) = (Vec::new(), Vec::new());
    let mut me = 0;
    for sockets in sockets {
        match sockets {
            ClientSockets::Direct(listeners) => {
                for listener in listeners {
                    let (world, security) = (world.clone(), security.clone());
                    threads.push(std::thread::spawn(move || {
                        Mesh::connect(listener, &world, me, security, deadline())
                    }));
                    me += 1;
                }
            }
            ClientSockets::Behind(listener, count) => {
                let card = listener.card();
                let start = Gateway::start(listener, &world, me, security.clone(), deadline());
                gateways.push(start.unwrap());
                for _ in 0..count {
                    let (card, world, security) = (card.clone(), world.clone(), security.clone());
                    let silence = settings.silence;
                    threads.push(std::thread::spawn(move || {
                        Mesh::connect_gateway(&card, &world, me, security, silence, deadline())
                    }));
                    me += 1;
                }
            }
        }
    }
    let meshes = threads.into_iter().map(|thread| thread.join().unwrap().unwrap()).collect();
    TestWorld { meshes, gateways }
}

#[test]
fn random_traffic_passes_gateways() {
    let seed = 20261128;
    let settings = MeshSettings { ack_mark: 3, high_water: 5, ..settings() };
    let shapes = [
        &[ClientShape::Behind(2), ClientShape::Direct(2)][..],
        &[ClientShape::Direct(1), ClientShape::Behind(3), ClientShape::Behind(1)],
        &[ClientShape::Behind(2), ClientShape::Behind(2)],
    ];
    for (at, security) in [MeshSecurity::Cleartext, sealed()].into_iter().enumerate() {
        for (shape, clients) in shapes.into_iter().enumerate() {
            let counts: Vec<_> = clients
                .iter()
                .map(|client| match client {
                    ClientShape::Direct(count) | ClientShape::Behind(count) => *count,
                })
                .collect();
            let TestWorld { meshes, gateways, .. } = network(clients, &settings, &security);
            traffic::run(meshes, &counts, seed + 10 * at as u64 + shape as u64, 3000);
            assert!(gateways.iter().all(|gateway| gateway.wait(deadline())));
        }
    }
}

#[test]
fn a_process_that_does_not_read_holds_up_no_other() {
    let settings = MeshSettings { ack_mark: 500, high_water: 1000, ..settings() };
    let clients = [ClientShape::Behind(2), ClientShape::Behind(2)];
    let TestWorld { mut meshes, gateways, .. } = network(&clients, &settings, &sealed());
    let mut sinks: [ReceivedPackets; 4] = Default::default();
    // More than all buffers of the kernel and the way hold.
    let mut sent = 0;
    let begin = Instant::now();
    while sent < 1000 {
        assert!(begin.elapsed() < LIMIT);
        if send(&mut meshes[0], 2, sent, &[sent as u8; 4000]).is_ok() {
            sent += 1;
        }
        meshes[0].poll(&mut sinks[0]);
    }
    assert_eq!(send(&mut meshes[0], 2, 0, b""), Err(Busy));
    // The same two gateways, the same sender, another receiver; and the other direction.
    send(&mut meshes[0], 3, 1, b"hello").unwrap();
    poll_until(&mut meshes[3], &mut sinks[3], |_, sink| sink.packets.len() == 1);
    send(&mut meshes[3], 0, 2, b"back").unwrap();
    poll_until(&mut meshes[0], &mut sinks[0], |_, sink| sink.packets.len() == 1);
    poll_until(&mut meshes[2], &mut sinks[2], |_, sink| sink.packets.len() == 1000);
    for (number, (from, header, data)) in (0..).zip(&sinks[2].packets) {
        assert_eq!((*from, header.tag, data), (0, number, &vec![number as u8; 4000]));
    }
    poll_until(&mut meshes[0], &mut sinks[0], |_, sink| sink.rooms == [2]);
    leave_all(&mut meshes);
    assert!(gateways.iter().all(|gateway| gateway.wait(deadline())));
}

/// Polls all until each has this number of failures.
fn poll_failures(meshes: &mut [Option<Mesh>], counts: &[usize]) -> Vec<ReceivedPackets> {
    let mut sinks: Vec<_> = meshes.iter().map(|_| ReceivedPackets::default()).collect();
    let begin = Instant::now();
    while sinks.iter().zip(counts).any(|(sink, count)| sink.failed.len() < *count) {
        let failed: Vec<_> = sinks.iter().map(|sink| &sink.failed).collect();
        assert!(begin.elapsed() < LIMIT, "{failed:?}");
        for (mesh, sink) in meshes.iter_mut().zip(&mut sinks) {
            if let Some(mesh) = mesh {
                mesh.poll(sink);
            }
        }
    }
    sinks
}

#[test]
fn the_failure_of_a_process_ends_its_client() {
    for security in [MeshSecurity::Cleartext, sealed()] {
        let clients = [ClientShape::Behind(2), ClientShape::Direct(1), ClientShape::Behind(1)];
        let TestWorld { meshes, gateways, .. } = network(&clients, &settings(), &security);
        let mut meshes: Vec<_> = meshes.into_iter().map(Some).collect();
        meshes[1] = None;
        let mut sinks = poll_failures(&mut meshes, &[2, 0, 2, 2]);
        let failed = |sink: &mut ReceivedPackets| {
            sink.failed.sort();
            sink.failed.iter().map(|(process, _)| *process).collect::<Vec<_>>()
        };
        assert_eq!(failed(&mut sinks[0]), [2, 3]);
        assert_eq!((failed(&mut sinks[2]), failed(&mut sinks[3])), (vec![0, 1], vec![0, 1]));
        let own = &sinks[0].failed[0].1;
        assert!(own.contains("process 2 (process id 103) of client 1"), "{own}");
        assert!(own.contains("process 1 (process id 102) of client 0"), "{own}");
        for sink in &sinks[2..] {
            let why = &sink.failed[0].1;
            assert!(why.starts_with("process 0 (process id 101) of client 0 at host 0"), "{why}");
            match security {
                MeshSecurity::Sealed(..) => assert!(
                    why.contains("has failed with its client: process 1 (process id 102)"),
                    "{why}"
                ),
                MeshSecurity::Cleartext => assert!(why.contains("before FINI"), "{why}"),
            }
        }
        assert!(gateways[0].wait(deadline()));
        // The other clients still have each other.
        let mut sink = ReceivedPackets::default();
        let [_, _, Some(one), Some(other)] = &mut meshes[..] else { panic!() };
        send(one, 3, 1, b"hello").unwrap();
        poll_until(other, &mut sink, |_, sink| sink.packets.len() == 1);
    }
}

#[test]
fn the_failure_of_a_host_reaches_the_processes_behind_a_gateway() {
    for security in [MeshSecurity::Cleartext, sealed()] {
        let clients = [ClientShape::Direct(2), ClientShape::Behind(2)];
        let TestWorld { meshes, gateways: _gateways, .. } =
            network(&clients, &settings(), &security);
        let mut meshes: Vec<_> = meshes.into_iter().map(Some).collect();
        meshes[0] = None;
        let sinks = poll_failures(&mut meshes, &[0, 0, 1, 1]);
        for sink in &sinks[2..] {
            let (process, why) = &sink.failed[0];
            assert_eq!(*process, 0);
            assert!(why.starts_with("process 0 (process id 101) of client 0 at host 0"), "{why}");
            assert!(why.contains("before FINI") || why.contains("reset"), "{why}");
        }
        let mut sink = ReceivedPackets::default();
        let [_, Some(one), Some(other), _] = &mut meshes[..] else { panic!() };
        send(other, 1, 1, b"hello").unwrap();
        poll_until(one, &mut sink, |_, sink| sink.packets.len() == 1);
        assert!(sink.failed.is_empty());
    }
}

#[test]
fn a_process_behind_a_gateway_cuts_off_a_host() {
    let clients = [ClientShape::Direct(2), ClientShape::Behind(2)];
    let TestWorld { meshes, gateways: _gateways, .. } = network(&clients, &settings(), &sealed());
    let mut meshes: Vec<_> = meshes.into_iter().map(Some).collect();
    let mut sink = ReceivedPackets { forbidden: Some(66), ..ReceivedPackets::default() };
    // The place of a packet that is cut off belongs to the application again.
    for tag in [66, 67] {
        send(meshes[0].as_mut().unwrap(), 2, tag, &[1; 4000]).unwrap();
    }
    poll_until(meshes[2].as_mut().unwrap(), &mut sink, |_, sink| !sink.failed.is_empty());
    assert_eq!((sink.failed[0].0, sink.packets.len()), (0, 0));
    let why = &sink.failed[0].1;
    assert!(why.contains("of client 0 at host 0") && why.contains("the tag 66"), "{why}");
    let sinks = poll_failures(&mut meshes, &[2, 0, 0, 1]);
    assert!(sinks[3].failed[0].1.contains("the tag 66"), "{:?}", sinks[3].failed);
    let [_, Some(one), Some(other), _] = &mut meshes[..] else { panic!() };
    send(one, 2, 1, b"hello").unwrap();
    poll_until(other, &mut sink, |_, sink| sink.packets.len() == 1);
}

#[test]
fn a_gateway_without_a_mesh_says_why() {
    let settings = settings();
    let (mut world, listeners) = world_of(&[1], &settings);
    // A port where nobody listens any more.
    drop(listeners);
    let listener = GatewayListener::open(&settings).unwrap();
    let address = host_address("127.0.0.1".parse().unwrap());
    let processes = [201, 202].map(|pid| ProcessId { address, pid }).to_vec();
    let hosts = vec![listener.offer(processes)];
    world.clients.push(WorldClient { hosts, representation: None });
    for security in [MeshSecurity::Cleartext, sealed()] {
        let listener = GatewayListener::open(&settings).unwrap();
        let card = listener.card();
        let gateway = Gateway::start(listener, &world, 1, security.clone(), deadline()).unwrap();
        let threads = [1, 2].map(|me| {
            let (card, world, security) = (card.clone(), world.clone(), security.clone());
            let silence = settings.silence;
            std::thread::spawn(move || {
                Mesh::connect_gateway(&card, &world, me, security, silence, deadline())
            })
        });
        for thread in threads {
            let why = thread.join().unwrap().err().unwrap().why;
            assert!(why.contains("the gateway of this client cannot be reached"), "{why}");
            assert!(why.contains("of client 0, with process 0 has ended"), "{why}");
        }
        assert!(gateway.wait(deadline()));
    }
}

#[test]
fn a_dropped_gateway_is_the_end_of_its_connections() {
    let clients = [ClientShape::Behind(1), ClientShape::Direct(1)];
    let TestWorld { meshes, gateways, .. } = network(&clients, &settings(), &sealed());
    let mut meshes: Vec<_> = meshes.into_iter().map(Some).collect();
    assert!(!gateways[0].wait(Instant::now()));
    drop(gateways);
    let sinks = poll_failures(&mut meshes, &[1, 1]);
    let why = &sinks[0].failed[0].1;
    assert!(why.contains("the gateway of this client has ended its connection"), "{why}");
}
