//! Random traffic against an oracle.

use super::*;

/// What one process does, and has seen.
struct Actor {
    mesh: Mesh,
    sink: ReceivedPackets,
    /// The number of packets sent to each process, and received of it.
    sent: Vec<u64>,
    received: Vec<u64>,
    /// Whether a process has refused a packet.
    is_refused: Vec<bool>,
}

/// The data of a packet, by its ends and number.
fn data(from: u32, to: u32, number: u64) -> Vec<u8> {
    let seed = u64::from(from) << 40 ^ u64::from(to) << 20 ^ number;
    let mut random = Random::new(seed);
    let bound = if random.one_in(4) { 4001 } else { 60 };
    let len = random.below(bound);
    (0..len).map(|at| (seed + at) as u8).collect()
}

impl Actor {
    fn send(&mut self, me: u32, to: u32, random: &mut Random) {
        let number = self.sent[to as usize];
        let bytes = data(me, to, number);
        let is_placed = random.one_in(2);
        let packet = Outgoing {
            source_request: number,
            destination_request: if is_placed { number + 1 } else { 0 },
            kind: if random.one_in(5) { ImpiKind::DataSync } else { ImpiKind::Data },
            ..message(7, bytes.len())
        };
        match self.mesh.send(to, &packet, bytes.len(), |out| out.copy_from_slice(&bytes)) {
            Ok(()) => self.sent[to as usize] += 1,
            Err(Busy) => self.is_refused[to as usize] = true,
        }
    }

    fn poll(&mut self, me: u32) {
        self.mesh.poll(&mut self.sink);
        for (from, header, bytes) in self.sink.packets.drain(..) {
            let number = &mut self.received[from as usize];
            assert_eq!(header.source_request, *number, "{from} to {me}");
            assert_eq!(bytes, data(from, me, *number), "{from} to {me}");
            *number += 1;
        }
        for to in self.sink.rooms.drain(..) {
            let was_refused = std::mem::take(&mut self.is_refused[to as usize]);
            assert!(was_refused, "room without a refusal");
        }
        assert_eq!(self.sink.failed, []);
    }
}

pub(super) fn run(meshes: Vec<Mesh>, clients: &[usize], seed: u64, steps: usize) {
    let client_of: Vec<_> = (0..).zip(clients).flat_map(|(it, count)| vec![it; *count]).collect();
    let count = meshes.len();
    let actor = |mesh| Actor {
        mesh,
        sink: ReceivedPackets { places_odd: true, ..ReceivedPackets::default() },
        sent: vec![0; count],
        received: vec![0; count],
        is_refused: vec![false; count],
    };
    let mut actors: Vec<_> = meshes.into_iter().map(actor).collect();
    let mut random = Random::new(seed);
    for _ in 0..steps {
        let me = random.below(count as u64) as usize;
        let to = random.below(count as u64) as usize;
        if client_of[me] != client_of[to] && !random.one_in(3) {
            for _ in 0..random.below(6) {
                actors[me].send(me as u32, to as u32, &mut random);
            }
        } else if random.one_in(2) {
            actors[me].poll(me as u32);
        }
    }
    let begin = Instant::now();
    loop {
        for (me, actor) in (0..).zip(&mut actors) {
            actor.poll(me);
        }
        let all = |(from, to): (usize, usize)| actors[to].received[from] == actors[from].sent[to];
        let mut pairs = (0..count).flat_map(|from| (0..count).map(move |to| (from, to)));
        if pairs.all(all) && actors.iter().all(|it| !it.is_refused.contains(&true)) {
            break;
        }
        assert!(begin.elapsed() < LIMIT, "seed {seed}: packets are missing");
    }
    let mut meshes: Vec<_> = actors.into_iter().map(|actor| actor.mesh).collect();
    leave_all(&mut meshes);
}

#[test]
fn random_traffic_arrives_in_order() {
    let seed = 20261127;
    for (at, security) in [MeshSecurity::Cleartext, sealed()].into_iter().enumerate() {
        for (shape, clients) in [&[1, 1][..], &[3, 2], &[1, 2, 3]].into_iter().enumerate() {
            let seed = seed + 10 * at as u64 + shape as u64;
            let settings = MeshSettings { ack_mark: 3, high_water: 5, ..settings() };
            let (world, listeners) = world_of(clients, &settings);
            run(connected(&world, listeners, &security), clients, seed, 6000);
        }
    }
}
