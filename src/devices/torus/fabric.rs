//! Times of transfers through the network: busy times of links, receiving engines and nodes.
//!
//! ```text
//!   from: all engines ──link──link──...──link──> to: one receiving engine
//!         each resource is busy until a time; a transfer adds its duration to all on its path
//! ```
//!
//! Transfers that share a link share its rate: the last of them arrives when the link has carried the
//! bytes of all. A single transfer has the rate of one flow, which is less than that of a link.
//!
//! Times are words that several processes may share. A transfer only raises a word, so there is no
//! lock, and a process that exits leaves none behind.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{NetworkRates, PORTS, TorusLink, TorusNode, TorusShape};
use crate::devices::interface::{NetworkModel, TransferPath, TransferTimes};

/// Receiving engines of a node.
const ENGINES: usize = 8;

/// Words of a node: its links, its receiving engines, and its total injection.
const WORDS: usize = PORTS + ENGINES + 1;

/// The network between the nodes, with its busy times.
#[derive(Debug)]
pub(crate) struct TorusFabric<Words> {
    shape: TorusShape,
    rates: NetworkRates,
    /// The end of the busy time of each resource, in nanoseconds.
    busy: Words,
}

impl<Words: AsRef<[AtomicU64]>> TorusFabric<Words> {
    /// The network with these words, initially 0.
    ///
    /// # Panics
    /// With fewer than [`busy_words`].
    pub(crate) fn new(shape: TorusShape, rates: NetworkRates, busy: Words) -> Self {
        assert!(busy.as_ref().len() >= busy_words(shape));
        Self { shape, rates, busy }
    }

    /// Sends `bytes` at `at_ns`, or later if the path is busy.
    ///
    /// # Panics
    /// If there are no such nodes.
    pub(crate) fn send(
        &self, from: TorusNode, to: TorusNode, engine: u8, bytes: u64, at_ns: u64,
    ) -> TransferTimes {
        let NetworkRates { link, flow, node, command_ns, .. } = self.rates;
        let sends = nanoseconds(bytes, flow).max(command_ns);
        let receives = to as usize * WORDS + PORTS + usize::from(engine) % ENGINES;
        let leaves = from as usize * WORDS + PORTS + ENGINES;
        let ends = [(receives, flow), (leaves, node)];
        let links = self.shape.route(from, to);
        let links =
            links.map(|TorusLink { node, port }| (node as usize * WORDS + usize::from(port), link));
        let over = |(word, rate)| self.occupy(word, at_ns, nanoseconds(bytes, rate));
        let left_ns = links.chain(ends).map(over).fold(at_ns + sends, u64::max);
        TransferTimes { sent_ns: left_ns, arrived_ns: left_ns + self.latency_ns(from, to) }
    }

    /// Latency of a word between two nodes through an idle network, in nanoseconds.
    pub(crate) fn latency_ns(&self, from: TorusNode, to: TorusNode) -> u64 {
        let hops = self.shape.route(from, to).count() as u64;
        self.rates.latency_ns + hops.saturating_sub(1) * self.rates.hop_ns
    }

    /// Occupies a resource for `for_ns`, from `at_ns` on or later; returns the end of that time.
    fn occupy(&self, word: usize, at_ns: u64, for_ns: u64) -> u64 {
        let busy = &self.busy.as_ref()[word];
        let order = Ordering::Relaxed;
        let until = |busy: u64| busy.max(at_ns) + for_ns;
        let before = busy.fetch_update(order, order, |busy| Some(until(busy)));
        before.map_or(at_ns, until)
    }
}

/// The network at one node. The number of the node is the rank.
#[derive(Debug)]
pub(crate) struct TorusEndpoint<Words> {
    pub(crate) fabric: TorusFabric<Words>,
    pub(crate) node: TorusNode,
}

impl<Words: AsRef<[AtomicU64]> + fmt::Debug + Send> NetworkModel for TorusEndpoint<Words> {
    fn post_ns(&self) -> u64 {
        self.fabric.rates.command_ns
    }

    fn send(&mut self, path: TransferPath, engine: u8, bytes: u64, at_ns: u64) -> TransferTimes {
        let Self { fabric, node: me } = self;
        match path {
            TransferPath::Local => fabric.send(*me, *me, engine, bytes, at_ns),
            TransferPath::ToPeer(peer) => fabric.send(*me, peer, engine, bytes, at_ns),
            TransferPath::FromPeer(peer) => {
                let asked_ns = at_ns + fabric.latency_ns(*me, peer);
                let back = fabric.send(peer, *me, engine, bytes, asked_ns);
                TransferTimes { sent_ns: at_ns + fabric.rates.command_ns, ..back }
            }
        }
    }
}

/// The number of words of a network of this shape.
pub(crate) fn busy_words(shape: TorusShape) -> usize {
    shape.nodes() * WORDS
}

fn nanoseconds(bytes: u64, bytes_per_microsecond: u64) -> u64 {
    bytes.saturating_mul(1000) / bytes_per_microsecond
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::devices::torus::Generation;

    const RATES: NetworkRates = NetworkRates {
        link: 5000,
        flow: 4000,
        node: 12_000,
        latency_ns: 900,
        hop_ns: 100,
        command_ns: 50,
    };

    fn fabric(shape: &str, rates: NetworkRates) -> TorusFabric<Vec<AtomicU64>> {
        let shape: TorusShape = shape.parse().unwrap();
        let busy = (0..busy_words(shape)).map(|_| AtomicU64::new(0)).collect();
        TorusFabric::new(shape, rates, busy)
    }

    #[test]
    fn a_transfer_alone_is_as_fast_as_one_flow() {
        let fabric = fabric("4x1x1", RATES);
        let times = fabric.send(0, 1, 0, 400_000, 1000);
        assert_eq!(times, TransferTimes { sent_ns: 101_000, arrived_ns: 101_900 });
        assert_eq!(fabric.send(2, 3, 0, 0, 0), TransferTimes { sent_ns: 50, arrived_ns: 950 });
        assert_eq!(fabric.latency_ns(0, 2), 1000);
        assert_eq!(fabric.latency_ns(0, 0), 900);
    }

    #[test]
    fn transfers_that_share_a_link_share_its_rate() {
        let fabric = fabric("8x1x1", RATES);
        // Both along the link from 1 to 2, through engines of their own.
        let one = fabric.send(0, 2, 0, 400_000, 0);
        let two = fabric.send(1, 3, 1, 400_000, 0);
        assert_eq!((one.sent_ns, two.sent_ns), (100_000, 160_000));
        // The opposite direction and other links are free.
        assert_eq!(fabric.send(3, 1, 0, 400_000, 0).sent_ns, 100_000);
        assert_eq!(fabric.send(4, 5, 0, 400_000, 0).sent_ns, 100_000);
    }

    #[test]
    fn an_engine_receives_one_transfer_after_the_other_and_a_node_sends_no_more_than_it_can() {
        let other = fabric("8x1x1", RATES);
        assert_eq!(other.send(1, 0, 3, 400_000, 0).sent_ns, 100_000);
        assert_eq!(other.send(7, 0, 3, 400_000, 0).sent_ns, 200_000);
        let fabric = fabric("3x3x3", RATES);
        let times: Vec<_> =
            [1, 2, 3, 6, 9].map(|to| fabric.send(0, to, 0, 1_200_000, 0).sent_ns).into();
        assert_eq!(times, [300_000, 300_000, 300_000, 400_000, 500_000]);
    }

    #[test]
    fn a_get_begins_with_a_request() {
        let mut endpoint = TorusEndpoint { fabric: fabric("4x1x1", RATES), node: 0 };
        let got = endpoint.send(TransferPath::FromPeer(2), 0, 400_000, 0);
        assert_eq!(got, TransferTimes { sent_ns: 50, arrived_ns: 1000 + 100_000 + 1000 });
        assert_eq!(endpoint.send(TransferPath::Local, 1, 4000, 0).sent_ns, 1000);
        assert_eq!(endpoint.send(TransferPath::ToPeer(1), 2, 4000, 0).sent_ns, 1000);
    }

    /// Figure 6 of "RDMA scheduling" (2013): 112,128 bytes twice to one neighbour take 46 us on two
    /// engines (64 us less 18 us of fixed costs), and 56 us one after the other (74 us less 18 us).
    #[test]
    fn a_link_of_the_k_computer_carries_one_transfer_and_two_as_measured() {
        let two = fabric("4x1x1", Generation::Tofu1WithCounters.rates());
        let both = (0..2).map(|engine| two.send(0, 1, engine, 112_128, 0).sent_ns).max().unwrap();
        assert!((45_000..47_000).contains(&both), "{both}");
        let one = fabric("4x1x1", Generation::Tofu1WithCounters.rates())
            .send(0, 1, 0, 224_256, 0)
            .sent_ns;
        assert!((55_000..57_000).contains(&one), "{one}");
    }

    proptest! {
        #[test]
        fn no_link_carries_more_than_it_can(
            sends in prop::collection::vec((0..8_u32, 0..8_u32, 0..8_u8, 1..500_000_u64, 0..100_000_u64), 1..50),
        ) {
            let fabric = fabric("2x2x2", RATES);
            let mut load = std::collections::HashMap::new();
            let mut last = 0;
            for &(from, to, engine, bytes, at) in &sends {
                let times = fabric.send(from, to, engine, bytes, at);
                prop_assert!(times.sent_ns >= at + nanoseconds(bytes, RATES.flow));
                prop_assert!(times.arrived_ns >= times.sent_ns + RATES.latency_ns);
                last = last.max(times.sent_ns);
                for link in fabric.shape.route(from, to) {
                    *load.entry(link).or_insert(0) += nanoseconds(bytes, RATES.link);
                }
            }
            prop_assert!(load.values().all(|load| *load <= last));
        }
    }
}
