//! Communicators with topologies and reordered ranks, on simulated nodes, as processes of one host
//! may all be at the same distance.

use mpi_abi::mpi::communicator::COMM_WORLD;
use mpi_abi::mpi::handle::Handle;
use mpi_abi::mpi::topology::create::{LocalEdges, ReplicatedTopology, TopologyCreation};
use mpi_abi::mpi::topology::dist_graph::{DistGraph, EdgeRole, GraphEdge};
use mpi_abi::mpi::topology::{Cart, Graph};
use platform::base::Random;

use super::harness::{Rank, placed, ranks};

async fn made(rank: &mut Rank, mut making: TopologyCreation) -> Option<Handle> {
    rank.until(|mpi| mpi.end_topology(&mut making).unwrap()).await
}

/// The rank in a new communicator, and its size.
fn place(rank: &Rank, comm: Handle) -> (u32, u32) {
    let comm = rank.mpi.comms.get(comm).unwrap();
    (comm.rank, comm.size())
}

/// Twelve ranks of which four are on each of three nodes in turn: those of one node become a
/// block of the grid, and all ranks agree on the position of each rank.
#[test]
fn a_grid_is_reordered_by_node() {
    for seed in 0..5 {
        let places = ranks(13, seed, async |rank| {
            let cart = Cart::new(&[2, 6], &[0, 0]).unwrap();
            let node = u64::from(rank.me % 3) + 50;
            let whole = ReplicatedTopology::Cart(cart);
            let making = rank.mpi.create_replicated(COMM_WORLD, whole, Some(node)).unwrap();
            let comm = made(rank, making).await?;
            let (own, size) = place(rank, comm);
            assert_eq!(size, 12);
            let grid = rank.mpi.comms.get(comm).unwrap().cart().unwrap().clone();
            assert_eq!(grid.size(), 12);
            Some((own, grid.coordinates(own)[1] / 2))
        });
        assert!(places[12].is_none());
        let mut seen = [false; 12];
        for (old, place) in places[..12].iter().enumerate() {
            let (new, block) = place.unwrap();
            assert!(!std::mem::replace(&mut seen[new as usize], true));
            assert_eq!(block as usize, old % 3, "blocks of two columns");
        }
    }
}

/// Ranks on several hosts, each bound to a processor of its own: the host counts, not the processor.
#[test]
fn a_grid_is_reordered_by_host() {
    let hosts: Vec<u32> = (0..12).map(|rank| rank % 3).collect();
    let places = placed(&hosts, 7, async |rank| {
        let whole = ReplicatedTopology::Cart(Cart::new(&[2, 6], &[0, 0]).unwrap());
        let processor = u64::from(rank.me / 3);
        let recommended = rank.mpi.recommended_rank(COMM_WORLD, &whole).unwrap();
        let making = rank.mpi.create_replicated(COMM_WORLD, whole, Some(processor)).unwrap();
        let comm = made(rank, making).await.unwrap();
        let (own, _) = place(rank, comm);
        assert_eq!(recommended, Some(own));
        rank.mpi.comms.get(comm).unwrap().cart().unwrap().coordinates(own)[1] / 2
    });
    assert_eq!(places, hosts, "blocks of two columns");
}

#[test]
fn a_graph_of_fewer_ranks_leaves_the_others_out() {
    let places = ranks(5, 3, async |rank| {
        let graph = Graph::new(&[1, 2, 3, 4], &[2, 3, 0, 1]).unwrap();
        let node = u64::from(rank.me / 2);
        let making = rank
            .mpi
            .create_replicated(COMM_WORLD, ReplicatedTopology::Graph(graph), Some(node))
            .unwrap();
        let comm = made(rank, making).await?;
        Some(place(rank, comm).0)
    });
    // The pairs (0, 2) and (1, 3) of the graph go to one node each.
    assert_eq!(places, [Some(0), Some(2), Some(1), Some(3), None]);
}

/// Random graphs with edges given by any rank: a rank's neighbors are those of its new rank,
/// reordered or not, and equal to those of the whole list.
#[test]
fn a_distributed_graph_keeps_its_edges_when_it_is_reordered() {
    for seed in 0..12 {
        let reorder = seed % 2 == 0;
        let mut random = Random::new(seed);
        let edges: Vec<(usize, GraphEdge)> = (0..random.below(40))
            .map(|_| {
                let mut rank = || random.below(6) as u32;
                let (giver, source, destination) = (rank() as usize, rank(), rank());
                (
                    giver,
                    GraphEdge { source, destination, weight: rank() as i32, role: EdgeRole::Both },
                )
            })
            .collect();
        let by_giver = |rank: usize| -> Vec<GraphEdge> {
            edges.iter().filter(|(giver, _)| *giver == rank).map(|(_, edge)| *edge).collect()
        };
        let whole: Vec<GraphEdge> = (0..6).flat_map(by_giver).collect();
        let mut taken = ranks(6, seed, async |rank| {
            let given = LocalEdges { edges: Ok(by_giver(rank.me as usize)), weighted: true };
            let node = reorder.then_some(u64::from(rank.me % 2));
            let making = rank.mpi.create_dist_graph(COMM_WORLD, given, node).unwrap();
            let comm = made(rank, making).await.unwrap();
            let (own, _) = place(rank, comm);
            let found = rank.mpi.comms.get(comm).unwrap().dist_graph().unwrap().clone();
            assert_eq!(found, DistGraph::new(own, &whole, true));
            assert!(reorder || own == rank.me);
            own
        });
        taken.sort_unstable();
        assert_eq!(taken, [0, 1, 2, 3, 4, 5]);
    }
}

/// Edges given by their ends, moved to another rank with their weights and order.
#[test]
fn adjacent_edges_move_with_the_rank() {
    // A ring of heavy pairs (0, 3), (1, 2) where nodes have (0, 1) and (2, 3).
    let weights = [[1, 9], [1, 9], [1, 9], [1, 9]];
    let news = ranks(4, 9, async |rank| {
        let me = rank.me;
        let (far, beside) = (3 - me, me ^ 1);
        let mut edges = Vec::new();
        for (other, weight) in [beside, far].into_iter().zip(weights[me as usize]) {
            let into =
                GraphEdge { source: other, destination: me, weight, role: EdgeRole::Incoming };
            let out =
                GraphEdge { source: me, destination: other, weight, role: EdgeRole::Outgoing };
            edges.extend([into, out]);
        }
        let given = LocalEdges { edges: Ok(edges), weighted: true };
        let node = Some(u64::from(me / 2));
        let making = rank.mpi.create_dist_graph(COMM_WORLD, given, node).unwrap();
        let comm = made(rank, making).await.unwrap();
        let (own, _) = place(rank, comm);
        let found = rank.mpi.comms.get(comm).unwrap().dist_graph().unwrap().clone();
        let pairs: Vec<_> = found.sources.iter().map(|one| (one.rank, one.weight)).collect();
        assert_eq!(pairs, [(own ^ 1, 1), (3 - own, 9)]);
        assert_eq!(found.sources, found.destinations);
        own
    });
    let node_of = |new: u32| news.iter().position(|own| *own == new).unwrap() / 2;
    assert!(node_of(0) == node_of(3) && node_of(1) == node_of(2));
}

/// Invalid arguments of one rank: no other rank waits for it.
#[test]
fn wrong_edges_of_one_rank_are_an_error_of_all() {
    ranks(3, 1, async |rank| {
        let error = platform::base::ErrorClass::Arg.error("seven is no rank");
        let edges = if rank.me == 1 { Err(error) } else { Ok(Vec::new()) };
        let local = LocalEdges { edges, weighted: false };
        let mut creation = rank.mpi.create_dist_graph(COMM_WORLD, local, None).unwrap();
        let error = rank
            .until(|mpi| match mpi.end_topology(&mut creation) {
                Ok(Some(_)) => panic!("the edges are invalid"),
                Ok(None) => None,
                Err(error) => Some(error),
            })
            .await;
        let own = rank.me == 1;
        let why = if own { "seven is no rank" } else { "rank 1 passed invalid edges" };
        assert!(error.why.starts_with(why), "{error}");
    });
}
