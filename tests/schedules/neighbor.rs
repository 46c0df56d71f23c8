//! Neighborhood collectives on every grid of up to 24 ranks and on random graphs, against their
//! definition by point-to-point messages (MPI 5.0 §8.6).

use std::collections::{HashMap, VecDeque};

use mpi_abi::mpi::collective::algorithms::neighbor::{NeighborBlocks, Neighborhood, schedule};
use mpi_abi::mpi::topology::dist_graph::{EdgeRole, GraphEdge, Neighbor};
use mpi_abi::mpi::topology::{Cart, DistGraph, Graph, VirtualTopology};
use platform::base::Random;

use super::symbolic::{Algebra, Byte};
use super::{Case, Shape};

/// The largest grid.
const RANKS_MAX: i32 = 24;

/// The topologies of all ranks, and the source of each block: a rank and its neighbor index.
struct World {
    name: String,
    neighborhoods: Vec<Neighborhood>,
    origins: Vec<Vec<Option<(u32, usize)>>>,
}

/// Sources of the blocks of each rank.
#[derive(Clone, Copy, Debug)]
enum Form {
    Allgather,
    Allgatherv,
    Alltoall,
    Alltoallv,
}

const FORMS: [Form; 4] = [Form::Allgather, Form::Allgatherv, Form::Alltoall, Form::Alltoallv];

/// Block length, where all blocks have the same.
const LEN: usize = 3;

impl World {
    /// A grid. A block from the previous rank was sent to its next rank.
    fn grid(lens: &[i32], periods: &[i32]) -> Self {
        let cart = Cart::new(lens, periods).unwrap();
        let origins = |rank| {
            let origin = |(dimension, _)| {
                let [before, after] = cart.shift(rank, dimension, 1).unwrap();
                let place = 2 * dimension as usize;
                [before.map(|rank| (rank, place + 1)), after.map(|rank| (rank, place))]
            };
            (0..).zip(lens).flat_map(origin).collect()
        };
        Self {
            name: format!("grid {lens:?} {periods:?}"),
            origins: (0..cart.size()).map(origins).collect(),
            neighborhoods: neighborhoods(cart.size(), |_| VirtualTopology::Cart(cart.clone())),
        }
    }

    /// A graph in which the sends of each rank, in order, meet the receives of the other, in order.
    fn graph(
        name: String, ranks: u32, sources: impl Fn(u32) -> Vec<u32>,
        destinations: impl Fn(u32) -> Vec<u32>, topology: impl Fn(u32) -> VirtualTopology,
    ) -> Self {
        let mut queues: HashMap<(u32, u32), VecDeque<usize>> = HashMap::new();
        for rank in 0..ranks {
            for (place, to) in destinations(rank).into_iter().enumerate() {
                queues.entry((rank, to)).or_default().push_back(place);
            }
        }
        let mut origins = |rank| {
            let mut origin = |from| {
                let place = queues.get_mut(&(from, rank)).and_then(VecDeque::pop_front);
                Some((from, place.unwrap()))
            };
            sources(rank).into_iter().map(&mut origin).collect()
        };
        let origins = (0..ranks).map(&mut origins).collect();
        assert!(queues.values().all(VecDeque::is_empty));
        Self { name, origins, neighborhoods: neighborhoods(ranks, topology) }
    }

    /// A distributed graph: each rank knows its own edges; two ranks may have several.
    fn dist_graph(ranks: u32, edges: &[(u32, u32)], name: String) -> Self {
        let edges: Vec<GraphEdge> = edges
            .iter()
            .map(|&(source, destination)| GraphEdge {
                source,
                destination,
                weight: 1,
                role: EdgeRole::Both,
            })
            .collect();
        let of = |rank| DistGraph::new(rank, &edges, false);
        let ranks_of =
            |list: Vec<Neighbor>| list.into_iter().map(|neighbor| neighbor.rank).collect();
        Self::graph(
            name,
            ranks,
            |rank| ranks_of(of(rank).sources),
            |rank| ranks_of(of(rank).destinations),
            |rank| VirtualTopology::DistGraph(of(rank)),
        )
    }

    /// A graph known to all ranks, with each edge in both directions.
    fn symmetric(ranks: u32, edges: &[(u32, u32)], name: String) -> Self {
        let mut lists = vec![Vec::new(); ranks as usize];
        for &(one, other) in edges {
            lists[one as usize].push(other);
            if one != other {
                lists[other as usize].push(one);
            }
        }
        let ends: Vec<i32> = lists
            .iter()
            .scan(0, |end, list| {
                *end += list.len() as i32;
                Some(*end)
            })
            .collect();
        let all: Vec<i32> = lists.iter().flatten().map(|rank| *rank as i32).collect();
        let graph = Graph::new(&ends, &all).unwrap();
        let list = |rank: u32| lists[rank as usize].clone();
        Self::graph(name, ranks, list, list, |_| VirtualTopology::Graph(graph.clone()))
    }

    fn run(&self, form: Form) {
        let ranks = self.origins.len() as u32;
        let lens = |rank: u32| -> [Vec<usize>; 2] {
            let of = &self.neighborhoods[rank as usize];
            let sent = (0..of.outdegree()).map(|place| form.len(rank, place)).collect();
            let origins = self.origins[rank as usize].iter();
            let received = origins.map(|origin| origin.map_or(5, |(from, at)| form.len(from, at)));
            [sent, received.collect()]
        };
        let part = |rank: u32| {
            let [sent, received] = lens(rank);
            let of = &self.neighborhoods[rank as usize];
            let send = match form {
                Form::Allgather | Form::Allgatherv => NeighborBlocks::Same(form.len(rank, 0)),
                Form::Alltoall => NeighborBlocks::Contiguous(LEN),
                Form::Alltoallv => NeighborBlocks::Each(&sent),
            };
            let receive = match form {
                Form::Allgather | Form::Alltoall => NeighborBlocks::Contiguous(LEN),
                Form::Allgatherv | Form::Alltoallv => NeighborBlocks::Each(&received),
            };
            schedule(of, send, receive)
        };
        let send = |rank: u32, algebra: &mut Algebra| -> Vec<Vec<Byte>> {
            let [sent, _] = lens(rank);
            let blocks = sent.iter().enumerate();
            let blocks: Vec<_> =
                blocks.map(|(place, _)| form.block(rank, place, algebra)).collect();
            match form {
                Form::Allgather | Form::Allgatherv => vec![form.block(rank, 0, algebra)],
                Form::Alltoall => vec![blocks.concat()],
                Form::Alltoallv => blocks,
            }
        };
        let table = |rank: u32, receive: Vec<Vec<Byte>>, algebra: &mut Algebra| {
            let receive = match form {
                Form::Allgather | Form::Alltoall => vec![receive.concat()],
                Form::Allgatherv | Form::Alltoallv => receive,
            };
            [send(rank, algebra), receive].concat()
        };
        let case = Case {
            name: format!("{}, {form:?}", self.name),
            shape: Shape { ranks },
            element: 1,
            schedule: &part,
            before: &|rank, algebra| {
                let [_, received] = lens(rank);
                let junk = received.into_iter().map(|len| algebra.junk(form.place(len))).collect();
                table(rank, junk, algebra)
            },
        };
        case.expect(&|rank, algebra| {
            let [_, received] = lens(rank);
            let origins = self.origins[rank as usize].iter().zip(received);
            let blocks = origins.map(|(origin, len)| match origin {
                Some((from, place)) => form.block(*from, *place, algebra),
                None => algebra.junk(form.place(len)),
            });
            let blocks = blocks.collect();
            table(rank, blocks, algebra)
        });
    }
}

impl Form {
    /// Length of the block that `rank` sends from `place`.
    fn len(self, rank: u32, place: usize) -> usize {
        match self {
            Self::Allgather | Self::Alltoall => LEN,
            Self::Allgatherv => rank as usize % 4,
            Self::Alltoallv => (rank as usize * 3 + place) % 4,
        }
    }

    /// Length of a receive block of `len` bytes without a sender.
    fn place(self, len: usize) -> usize {
        match self {
            Self::Allgather | Self::Alltoall => LEN,
            Self::Allgatherv | Self::Alltoallv => len,
        }
    }

    /// The block that `rank` sends from `place`.
    fn block(self, rank: u32, place: usize, algebra: &mut Algebra) -> Vec<Byte> {
        let start = match self {
            Self::Allgather | Self::Allgatherv => 0,
            Self::Alltoall | Self::Alltoallv => place * 16,
        };
        algebra.leaves(rank, start, self.len(rank, place))
    }
}

fn neighborhoods(ranks: u32, topology: impl Fn(u32) -> VirtualTopology) -> Vec<Neighborhood> {
    (0..ranks).map(|rank| topology(rank).neighborhood(rank).unwrap()).collect()
}

/// All lists of `dimensions` lengths whose product is at most [`RANKS_MAX`].
fn grids(dimensions: usize) -> Vec<Vec<i32>> {
    let mut all = vec![Vec::new()];
    for _ in 0..dimensions {
        let longer = |lens: &Vec<i32>| -> Vec<Vec<i32>> {
            let most = RANKS_MAX / lens.iter().product::<i32>();
            (1..=most).map(|len| [&lens[..], &[len]].concat()).collect()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

#[test]
fn grids_exchange_along_every_dimension() {
    for dimensions in 0..=3 {
        for (number, lens) in grids(dimensions).iter().enumerate() {
            for bits in 0..1 << dimensions {
                let periods: Vec<i32> = (0..dimensions).map(|at| bits >> at & 1).collect();
                let world = World::grid(lens, &periods);
                world.run(Form::Alltoallv);
                if dimensions < 3 {
                    world.run(FORMS[(number + bits as usize) % 3]);
                }
            }
        }
    }
}

fn random_edges(ranks: u32, random: &mut Random) -> Vec<(u32, u32)> {
    let count = random.below(3 * u64::from(ranks) + 1);
    let mut rank = || random.below(u64::from(ranks)) as u32;
    (0..count).map(|_| (rank(), rank())).collect()
}

#[test]
fn multigraphs_exchange_along_every_edge() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let ranks = random.below(24) as u32 + 1;
        let edges = random_edges(ranks, &mut random);
        for form in FORMS {
            World::dist_graph(ranks, &edges, format!("distributed graph {seed}")).run(form);
            World::symmetric(ranks, &edges, format!("graph {seed}")).run(form);
        }
    }
}
