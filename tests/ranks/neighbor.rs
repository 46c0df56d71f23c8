//! Neighborhood collectives on random graphs, several active at once, over a network with random
//! full queues and delays.

use mpi_abi::mpi::Memory;
use mpi_abi::mpi::collective::binding::CallForm;
use mpi_abi::mpi::collective::calls::Call;
use mpi_abi::mpi::communicator::COMM_WORLD;
use mpi_abi::mpi::topology::create::LocalEdges;
use mpi_abi::mpi::topology::dist_graph::{EdgeRole, GraphEdge};
use platform::base::Random;

use super::harness::placed;
use super::mpi::room;

/// Empty, short, eager, rendezvous.
const LENS: [usize; 5] = [0, 8, 40, 304, 20_000];

/// The data of edge `edge` of the graph in call number `call`.
fn data(seed: u64, call: usize, edge: usize) -> Vec<u8> {
    let mut random = Random::new(seed << 32 | (call << 16 | edge) as u64);
    let len = LENS[random.below(LENS.len() as u64) as usize];
    (0..len).map(|_| random.bits() as u8).collect()
}

/// Every rank starts four exchanges along all edges and completes them last to first.
#[test]
fn edges_of_random_graphs_carry_their_blocks() {
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let size = random.below(6) as u32 + 1;
        let mut rank = || random.below(u64::from(size)) as u32;
        let edges: Vec<GraphEdge> = (0..3 * size)
            .map(|_| GraphEdge {
                source: rank(),
                destination: rank(),
                weight: 1,
                role: EdgeRole::Both,
            })
            .collect();
        // On one node or on two.
        let places: Vec<u32> = (0..size).map(|rank| rank % (1 + seed as u32 % 2)).collect();
        placed(&places, seed, async |rank| {
            // Rank 0 gives all edges, so their order is that of the list everywhere.
            let given = if rank.me == 0 { edges.clone() } else { Vec::new() };
            let given = LocalEdges { edges: Ok(given), weighted: false };
            let mut making = rank.mpi.create_dist_graph(COMM_WORLD, given, None).unwrap();
            let comm = rank.until(|mpi| mpi.end_topology(&mut making).unwrap()).await.unwrap();
            let numbered = || edges.iter().enumerate();
            let of = |call: usize, end: fn(&GraphEdge) -> u32| -> Vec<Vec<u8>> {
                let own = numbered().filter(|(_, edge)| end(edge) == rank.me);
                own.map(|(number, _)| data(seed, call, number)).collect()
            };
            let sent: Vec<_> = (0..4).map(|call| of(call, |edge| edge.source)).collect();
            let due: Vec<_> = (0..4).map(|call| of(call, |edge| edge.destination)).collect();
            let empty = |blocks: &Vec<Vec<u8>>| -> Vec<Vec<u8>> {
                blocks.iter().map(|block| vec![0; block.len()]).collect()
            };
            let mut received: Vec<_> = due.iter().map(empty).collect();
            let mut running = Vec::new();
            for (send, receive) in sent.into_iter().zip(&mut received) {
                let send = send.into_iter().map(Memory::owned).collect();
                let receive = receive.iter_mut().map(|block| room(block)).collect();
                let call = Call::neighbor_alltoallv(comm, send, receive);
                running.push(rank.mpi.launch(call, CallForm::Blocking).unwrap());
            }
            for activity in running.into_iter().rev() {
                assert_eq!(rank.wait(activity).await.error, None);
            }
            assert_eq!(received, due);
        });
    }
}
