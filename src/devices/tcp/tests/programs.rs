//! Connections for interfaces: the same proof as for packets, then frames of another kind.

use parking_lot::Mutex;

use super::*;
use crate::device::rma::MemoryKey;
use crate::device::trigger::CounterKey;
use crate::devices::interface::{ActionId, DueAction, InterfaceAction, Signal};
use crate::devices::put_links::{InterfaceLinks, Landing, LinkNews, PutLinks};

/// The sum of what was added.
#[derive(Default)]
struct Sum(Mutex<u64>);

impl Landing for Sum {
    fn locate(&self, key: MemoryKey, _: u64, _: usize) -> Result<Option<Span>> {
        Err(ErrorClass::RmaRange.error(format!("key {:x}", key.0)))
    }

    fn count(&self, signal: Signal) -> Result {
        *self.0.lock() += signal.value;
        Ok(())
    }
}

fn served(network: &mut [Tcp]) -> Vec<PutLinks> {
    let size = network.len() as Peer;
    let serve = |(me, rank): (Peer, &mut Tcp)| {
        let links = PutLinks::new(me, size, true).unwrap();
        rank.serve_programs(links.desk());
        links
    };
    (0..).zip(network).map(serve).collect()
}

/// The results of all attempts, once they are there.
fn connected(network: &mut [Tcp], links: &[PutLinks]) -> Vec<Result<(), String>> {
    let begin = Instant::now();
    loop {
        assert!(begin.elapsed() < LIMIT, "no result");
        for rank in &mut *network {
            rank.poll(&mut conformance::Ignore);
        }
        let pairs = (0..links.len()).flat_map(|me| (0..links.len()).map(move |peer| (me, peer)));
        let pairs = pairs.filter(|(me, peer)| me != peer);
        let ends: Vec<_> = pairs.map(|(me, peer)| links[me].connect(peer as Peer)).collect();
        if let Some(ends) = ends.into_iter().collect() {
            return ends;
        }
    }
}

#[test]
fn interfaces_reach_each_other_after_the_proof() {
    let mut network = network(3, &TcpSettings::default());
    let links = served(&mut network);
    assert!(connected(&mut network, &links).iter().all(Result::is_ok));
    let sums = [(); 3].map(|()| Sum::default());
    for (me, own) in links.iter().enumerate() {
        for peer in (0..3).filter(|peer| *peer != me) {
            let signal = Signal { counter: CounterKey(1), value: 1 << (8 * me) };
            let action = InterfaceAction::Signal { peer: peer as Peer, signal };
            own.post(&DueAction { id: ActionId(0), action, engine: 0 });
        }
    }
    let begin = Instant::now();
    while sums.each_ref().map(|sum| *sum.0.lock()) != [0x01_01_00, 0x01_00_01, 0x00_01_01] {
        assert!(begin.elapsed() < LIMIT, "additions are lost");
        for (own, sum) in links.iter().zip(&sums) {
            let mut news = LinkNews::default();
            own.look(sum, &mut news);
            assert!(news.lost.is_empty());
        }
    }
    // They are no connections for packets.
    assert!(network.iter().all(|rank| rank.open.is_empty()));
}

#[test]
fn without_the_secret_no_interface_is_reached() {
    let settings = TcpSettings { timeout: Duration::from_secs(1), ..TcpSettings::default() };
    let mut network = keyed(&[[1; 32], [2; 32]], &settings);
    let links = served(&mut network);
    let ends = connected(&mut network, &links);
    assert!(ends[0].is_err(), "{ends:?}");
    let mut news = LinkNews::default();
    links[1].look(&Sum::default(), &mut news);
    // It would not be admitted if it had been there.
    assert!(!news.has_arrivals && links[1].desk().admits(0));
}

#[test]
fn where_every_byte_is_encrypted_interfaces_do_not_connect() {
    let settings = TcpSettings { crypt: CryptMode::Full, ..TcpSettings::default() };
    let mut network = network(2, &settings);
    let links = served(&mut network);
    let ends = connected(&mut network, &links);
    assert_eq!(ends[0], Err("SUIRO_TCP_CRYPT=full leaves nothing in the clear".to_owned()));
}
