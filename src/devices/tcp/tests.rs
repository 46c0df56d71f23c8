use std::net::Ipv4Addr;

use super::*;
use crate::device::conformance;

/// A job of this number of ranks, each with the cards of all, in this process.
fn network(ranks: usize, settings: &TcpSettings) -> Vec<Tcp> {
    let job = JobKey { id: [3; 16], secret: [5; 32] };
    let listen = |me| {
        let addresses = vec![Ipv4Addr::LOCALHOST.into()];
        Tcp::listen_at(me, ranks, job.clone(), settings, addresses).unwrap()
    };
    let mut network: Vec<_> = (0..ranks as Peer).map(listen).collect();
    let cards: Vec<_> = network.iter().map(|rank| rank.card().to_owned()).collect();
    for rank in &mut network {
        for (peer, card) in (0..).zip(&cards) {
            rank.set_card(peer, card, "here").unwrap();
        }
    }
    network
}

#[test]
fn the_contract_is_kept() {
    conformance::check(|ranks| network(ranks, &TcpSettings::default()));
}

#[test]
fn the_contract_is_kept_with_every_byte_encrypted() {
    let settings = TcpSettings { crypt: CryptMode::Full, ..TcpSettings::default() };
    conformance::check(|ranks| network(ranks, &settings));
}
