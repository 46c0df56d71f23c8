//! A complete driver, as an example: the smallest device that passes the conformance suite.
//!
//! Every rank has a bounded queue behind a lock. Nothing wakes a rank that sleeps, so ranks poll.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use super::{Busy, Caps, Device, Header, PacketSink, WakeSource, conformance};
use platform::base::Peer;

const QUEUE_PACKETS: usize = 4;

/// Packets that wait at a rank, each with its sender.
type ExampleQueue = Mutex<VecDeque<(Peer, Header, Vec<u8>)>>;

struct ExampleDevice {
    rank: Peer,
    /// By rank.
    queues: Arc<[ExampleQueue]>,
}

impl ExampleDevice {
    fn network(ranks: usize) -> Vec<Self> {
        let queues: Arc<[_]> = (0..ranks).map(|_| Mutex::default()).collect();
        (0..ranks as Peer).map(|rank| Self { rank, queues: queues.clone() }).collect()
    }
}

impl Device for ExampleDevice {
    fn caps(&self) -> Caps {
        Caps { short_max: 16, packet_max: 64 }
    }

    fn send_short(&mut self, peer: Peer, header: &Header, data: &[u8]) -> Result<(), Busy> {
        self.send(peer, header, data.len(), |packet| packet.copy_from_slice(data))
    }

    fn send(
        &mut self, peer: Peer, header: &Header, len: usize, fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        let mut queue = self.queues[peer as usize].lock().unwrap();
        if queue.len() == QUEUE_PACKETS {
            return Err(Busy);
        }
        let mut data = vec![0; len];
        fill(&mut data);
        queue.push_back((self.rank, *header, data));
        Ok(())
    }

    fn poll(&mut self, sink: &mut impl PacketSink) -> usize {
        // All at once: packets that arrive meanwhile are for the next poll.
        let packets = std::mem::take(&mut *self.queues[self.rank as usize].lock().unwrap());
        for (from, header, data) in &packets {
            sink.packet(*from, header, data);
        }
        packets.len()
    }

    fn arm(&mut self) -> WakeSource {
        WakeSource::Never
    }

    fn disarm(&mut self) {}

    fn wake_self(&mut self) {}
}

#[test]
fn conforms() {
    conformance::check(ExampleDevice::network);
}
