//! Creation of communicators with a topology (MPI 5.0 §8.5).
//!
//! The last stage is always a split of the old communicator, with the new ranks as keys. Ranks
//! exchange records before it if new ranks depend on nodes, or neighbors on edges of other ranks:
//!
//! ```text
//! grid, graph ────────────────────────────────────────────────────────> Splitting ──> Complete
//!       └─reorder─> Nodes ───────────────────────────────────────────────────┤
//!                                                                            │
//! distributed graph ─> Records ─┬─ each rank: only its own neighbors ────────┤
//!                               ├─ edges of other ranks ─> Counts ─> Edges ──┤
//!                               └─ reorder, several nodes ─> AllEdges ───────┘
//! ```
//!
//! `Nodes` and `Records` are allgathers of the node of each rank and of its [`GraphRecord`].
//! `Counts` and `Edges` are an alltoall and an alltoallv: each edge is sent to both of its ends.
//! `AllEdges` is an allgatherv: each rank computes the new order from all edges. The record of a
//! rank with invalid arguments has an error class, so that the other ranks fail instead of waiting.

use std::sync::Arc;

use super::dist_graph::{DistGraph, EDGE_BYTES, EdgeRole, GraphEdge};
use super::map::{self, NodeNumber};
use super::{Cart, Graph, TOPOLOGY_NAME, VirtualTopology};
use crate::device::Device;
use crate::engine::memory::Memory;
use crate::engine::schedules::plan::{RunId, RunPlan};
use crate::mpi::Mpi;
use crate::mpi::collective::algorithms::{
    BlockPairs, Collective, RankBlocks, UniformBlocks, allgatherv, alltoallv,
};
use crate::mpi::communicator::Comm;
use crate::mpi::communicator::create::Split;
use crate::mpi::handle::Handle;
use crate::mpi::request::Activity;
use crate::offload::Schedule;
use platform::base::{ErrorClass, MpiError, Result};
use platform::diagnosis::wait_report::WaitReport;

/// Bytes of an encoded [`GraphRecord`] and of an encoded count of edges.
const GRAPH_RECORD_BYTES: usize = 20;
const COUNT_BYTES: usize = 4;

/// Creation of a communicator with a topology.
pub struct TopologyCreation {
    comm: Handle,
    stage: TopologyStage,
}

enum TopologyStage {
    Nodes(RunId, ReplicatedTopology),
    Records(RunId, LocalEdges),
    Counts(RunId, Vec<GraphEdge>, bool),
    Edges(RunId, bool),
    AllEdges(RunId, Vec<NodeNumber>, bool),
    Splitting(Split, VirtualTopology),
    Complete,
}

/// A topology of which every rank passes a complete description.
#[derive(Debug)]
pub enum ReplicatedTopology {
    /// A Cartesian grid.
    Cart(Cart),
    /// A graph.
    Graph(Graph),
}

/// The edges of a distributed graph that one rank passes.
#[derive(Debug)]
pub struct LocalEdges {
    /// The edges, or the error of this rank.
    pub edges: Result<Vec<GraphEdge>>,
    /// Whether they have weights.
    pub weighted: bool,
}

/// The contribution of a rank to the first exchange of a distributed graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct GraphRecord {
    /// The node of the rank; 0 without reordering.
    node: NodeNumber,
    /// Number of edges passed by the rank.
    edges: u32,
    /// Error class of the rank, or 0.
    class: i32,
    reorder: bool,
    weighted: bool,
    /// Whether any of the edges has another rank as an end.
    foreign: bool,
}

impl GraphRecord {
    fn emit(self) -> [u8; GRAPH_RECORD_BYTES] {
        let flags = [self.reorder, self.weighted, self.foreign];
        let flags = flags.into_iter().rev().fold(0, |bits, flag| bits << 1 | u32::from(flag));
        let mut bytes = [0; GRAPH_RECORD_BYTES];
        bytes[..8].copy_from_slice(&self.node.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.edges.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.class.to_le_bytes());
        bytes[16..].copy_from_slice(&flags.to_le_bytes());
        bytes
    }

    fn parse(bytes: &[u8; GRAPH_RECORD_BYTES]) -> Self {
        let [low, high, edges, class, flags] = [0, 4, 8, 12, 16].map(|at| {
            let word: &[u8; 4] = bytes[at..].first_chunk().expect("20 bytes are five words");
            u32::from_le_bytes(*word)
        });
        Self {
            node: u64::from(high) << 32 | u64::from(low),
            edges,
            class: class as i32,
            reorder: flags & 1 != 0,
            weighted: flags & 2 != 0,
            foreign: flags & 4 != 0,
        }
    }
}

impl ReplicatedTopology {
    fn size(&self) -> u32 {
        match self {
            Self::Cart(cart) => cart.size(),
            Self::Graph(graph) => graph.size(),
        }
    }

    /// The old rank of each new rank.
    fn order(&self, nodes: &[NodeNumber]) -> Vec<u32> {
        match self {
            Self::Cart(cart) => map::of_cart(cart, nodes),
            Self::Graph(graph) => map::of_graph(graph, nodes),
        }
    }
}

impl From<ReplicatedTopology> for VirtualTopology {
    fn from(replicated: ReplicatedTopology) -> Self {
        match replicated {
            ReplicatedTopology::Cart(cart) => Self::Cart(cart),
            ReplicatedTopology::Graph(graph) => Self::Graph(graph),
        }
    }
}

impl Comm {
    /// The node of this rank for the order of ranks: its host, or its part of the only host.
    fn locality(&self, part_of_host: NodeNumber) -> NodeNumber {
        self.nodes.as_ref().map_or(part_of_host, |nodes| nodes.node_of(self.rank).into())
    }
}

impl<D: Device> Mpi<D> {
    /// Starts the creation of a communicator with a grid or a graph, from as many of the first ranks
    /// of `comm`. `reorder` is the part of the host on which this rank runs, if the ranks are reordered
    /// (§8.5.1, §8.5.3); between hosts, the host counts.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator, `Arg` if it has too few ranks.
    pub fn create_replicated(
        &mut self, comm: Handle, replicated: ReplicatedTopology, reorder: Option<NodeNumber>,
    ) -> Result<TopologyCreation> {
        let old = self.comms.get(comm)?;
        let (own, wanted) = (old.rank, replicated.size());
        old.check_topology_size(wanted)?;
        let reorder = reorder.map(|part| old.locality(part));
        let stage = match reorder {
            Some(node) => {
                TopologyStage::Nodes(self.launch_allgather(comm, &node.to_le_bytes())?, replicated)
            }
            None => self.split_by(comm, (own < wanted).then_some(own), replicated.into())?,
        };
        Ok(TopologyCreation { comm, stage })
    }

    /// The rank that this process gets in a communicator with a grid or a graph, if ranks are reordered
    /// (§8.5.8); `None` outside. Between hosts, that of [`Mpi::create_replicated`]; on one host the old
    /// rank, as one process does not know the parts of the host on which others run.
    ///
    /// # Errors
    /// As [`Mpi::create_replicated`].
    pub fn recommended_rank(
        &self, comm: Handle, replicated: &ReplicatedTopology,
    ) -> Result<Option<u32>> {
        let old = self.comms.get(comm)?;
        let size = replicated.size();
        old.check_topology_size(size)?;
        let Some(nodes) = &old.nodes else { return Ok((old.rank < size).then_some(old.rank)) };
        let nodes: Vec<NodeNumber> = (0..size).map(|rank| nodes.node_of(rank).into()).collect();
        Ok(new_rank(old.rank, &replicated.order(&nodes)))
    }

    /// Starts the creation of a communicator with a distributed graph of the ranks of `comm`. The
    /// ranks are reordered if all of them pass their part of the host in `reorder` (§8.5.4).
    ///
    /// # Errors
    /// `Comm` if there is no such communicator. Invalid edges are an error of
    /// [`Mpi::end_topology`] on all ranks.
    pub fn create_dist_graph(
        &mut self, comm: Handle, local: LocalEdges, reorder: Option<NodeNumber>,
    ) -> Result<TopologyCreation> {
        let old = self.comms.get(comm)?;
        old.check_intra(TOPOLOGY_NAME)?;
        let own = old.rank;
        let edges = local.edges.as_deref().unwrap_or(&[]);
        let record = GraphRecord {
            node: reorder.map_or(0, |part| old.locality(part)),
            edges: edges.len() as u32,
            class: local.edges.as_ref().map_or_else(|error| error.code.0, |_| 0),
            reorder: reorder.is_some(),
            weighted: local.weighted,
            foreign: edges.iter().any(|edge| edge.ends().any(|end| end != own)),
        };
        let run = self.launch_allgather(comm, &record.emit())?;
        Ok(TopologyCreation { comm, stage: TopologyStage::Records(run, local) })
    }

    /// Starts the creation of communicators for the slices of a grid that keep the dimensions with
    /// `true` (`MPI_Cart_sub`, §8.5.7).
    ///
    /// # Errors
    /// `Comm` if there is no such communicator, `Topology` if it has no grid.
    pub(crate) fn create_slices(
        &mut self, comm: Handle, remain: &[bool],
    ) -> Result<TopologyCreation> {
        let old = self.comms.get(comm)?;
        let slice = old.cart()?.slice(old.rank, remain);
        let split = self.split(comm, Some(slice.number as i32), slice.rank as i32)?;
        Ok(TopologyCreation {
            comm,
            stage: TopologyStage::Splitting(split, VirtualTopology::Cart(slice.cart)),
        })
    }

    /// The new communicator, once, on completion; `Some(None)` if it is `MPI_COMM_NULL`. `None`
    /// before and after.
    ///
    /// # Errors
    /// Errors of messages or of the arguments of any rank, `NoMem` without a free handle.
    pub fn end_topology(
        &mut self, creation: &mut TopologyCreation,
    ) -> Result<Option<Option<Handle>>> {
        loop {
            let buffers = match &creation.stage {
                TopologyStage::Splitting(split, _) => {
                    let Some(made) = self.end_split(split)? else { return Ok(None) };
                    let stage = std::mem::replace(&mut creation.stage, TopologyStage::Complete);
                    if let (Some(comm), TopologyStage::Splitting(_, topology)) = (made, stage) {
                        self.comms.get_mut(comm)?.topology = Some(Arc::new(topology));
                    }
                    return Ok(Some(made));
                }
                TopologyStage::Nodes(run, _)
                | TopologyStage::Records(run, _)
                | TopologyStage::Counts(run, ..)
                | TopologyStage::Edges(run, _)
                | TopologyStage::AllEdges(run, ..) => {
                    let Some(end) = self.engine.take_run_end(*run) else { return Ok(None) };
                    end.error.map_or(Ok(end.buffers), Err)?
                }
                TopologyStage::Complete => return Ok(None),
            };
            let stage = std::mem::replace(&mut creation.stage, TopologyStage::Complete);
            creation.stage = self.advance(creation.comm, stage, &buffers)?;
        }
    }

    /// The stage after `stage`, which has completed with these buffers.
    fn advance(
        &mut self, comm: Handle, stage: TopologyStage, buffers: &[Memory],
    ) -> Result<TopologyStage> {
        let own = self.comms.get(comm)?.rank;
        match stage {
            TopologyStage::Nodes(_, replicated) => {
                let nodes: Vec<NodeNumber> =
                    parse_records(&buffers[1], |bytes| NodeNumber::from_le_bytes(*bytes));
                let order = replicated.order(&nodes[..replicated.size() as usize]);
                self.split_by(comm, new_rank(own, &order), replicated.into())
            }
            TopologyStage::Records(_, local) => {
                self.after_records(comm, local, &parse_records(&buffers[1], GraphRecord::parse))
            }
            TopologyStage::Counts(_, edges, weighted) => {
                let counts = parse_records(&buffers[1], |bytes| u32::from_le_bytes(*bytes));
                self.send_edges(comm, &edges, &counts, weighted)
            }
            TopologyStage::Edges(_, weighted) => {
                let received = &buffers[buffers.len() / 2..];
                let neighbors = DistGraph::new(own, &edges_in(received), weighted);
                self.split_by(comm, Some(own), VirtualTopology::DistGraph(neighbors))
            }
            TopologyStage::AllEdges(_, nodes, weighted) => {
                let edges = edges_in(&buffers[1..]);
                // An edge that both ends passed counts once.
                let once = edges.iter().filter(|edge| edge.role != EdgeRole::Incoming);
                let weights: Vec<_> = once
                    .map(|edge| (edge.source, edge.destination, u64::from(edge.weight as u32)))
                    .collect();
                let rank = new_rank(own, &map::of_edges(&weights, &nodes)).unwrap_or(own);
                let neighbors = DistGraph::new(rank, &edges, weighted);
                self.split_by(comm, Some(rank), VirtualTopology::DistGraph(neighbors))
            }
            TopologyStage::Splitting(..) | TopologyStage::Complete => Ok(stage),
        }
    }

    fn after_records(
        &mut self, comm: Handle, local: LocalEdges, records: &[GraphRecord],
    ) -> Result<TopologyStage> {
        let edges = local.edges?;
        let weighted = check_weights(records, local.weighted)?;
        let nodes: Vec<NodeNumber> = records.iter().map(|record| record.node).collect();
        let several = nodes.iter().any(|node| *node != nodes[0]);
        if several && records.iter().all(|record| record.reorder) {
            let blocks: Vec<_> =
                records.iter().map(|record| record.edges as usize * EDGE_BYTES).collect();
            let mut buffers = vec![packed(edges.iter())];
            buffers.extend(blocks.iter().map(|block| Memory::owned(vec![0; *block])));
            let args = RankBlocks { blocks: &blocks, in_place: false };
            let on = self.comms.get(comm)?;
            let by = self.selection.across_jobs(on.spans_jobs);
            let schedule = allgatherv(&by, on.layout()?, on.rank, args);
            return Ok(TopologyStage::AllEdges(
                self.launch_schedule(comm, schedule, buffers)?,
                nodes,
                weighted,
            ));
        }
        if records.iter().any(|record| record.foreign) {
            let mut counts = vec![0_u32; records.len()];
            for edge in &edges {
                receivers(edge).for_each(|rank| counts[rank as usize] += 1);
            }
            let counts: Vec<u8> = counts.into_iter().flat_map(u32::to_le_bytes).collect();
            let buffers = vec![Memory::owned(counts.clone()), Memory::owned(counts)];
            let alltoall =
                Collective::Alltoall(UniformBlocks { block: COUNT_BYTES, in_place: false });
            return Ok(TopologyStage::Counts(
                self.launch_on(comm, alltoall, buffers)?,
                edges,
                weighted,
            ));
        }
        let own = self.comms.get(comm)?.rank;
        let neighbors = DistGraph::new(own, &edges, weighted);
        self.split_by(comm, Some(own), VirtualTopology::DistGraph(neighbors))
    }

    /// Sends each edge to its ends. This rank receives `counts[r]` edges from rank `r`.
    fn send_edges(
        &mut self, comm: Handle, edges: &[GraphEdge], counts: &[u32], weighted: bool,
    ) -> Result<TopologyStage> {
        let mut outgoing = vec![Vec::new(); counts.len()];
        for edge in edges {
            receivers(edge).for_each(|rank| outgoing[rank as usize].push(edge));
        }
        let mut buffers: Vec<_> =
            outgoing.into_iter().map(|edges| packed(edges.into_iter())).collect();
        let send: Vec<_> = buffers.iter().map(Memory::len).collect();
        let receive: Vec<_> = counts.iter().map(|count| *count as usize * EDGE_BYTES).collect();
        buffers.extend(receive.iter().map(|bytes| Memory::owned(vec![0; *bytes])));
        let args = BlockPairs { send: &send, receive: &receive, in_place: false };
        let on = self.comms.get(comm)?;
        let by = self.selection.across_jobs(on.spans_jobs);
        let schedule = alltoallv(&by, on.layout()?, on.rank, args);
        Ok(TopologyStage::Edges(self.launch_schedule(comm, schedule, buffers)?, weighted))
    }

    /// The last stage: this process gets the new rank, if any, and the topology.
    fn split_by(
        &mut self, comm: Handle, rank: Option<u32>, topology: VirtualTopology,
    ) -> Result<TopologyStage> {
        let key = rank.unwrap_or(0) as i32;
        Ok(TopologyStage::Splitting(self.split(comm, rank.map(|_| 0), key)?, topology))
    }

    /// Starts an allgather of the bytes `own` into buffer 1.
    fn launch_allgather(&mut self, comm: Handle, own: &[u8]) -> Result<RunId> {
        let all = vec![0; own.len() * self.comms.get(comm)?.size() as usize];
        let allgather = Collective::Allgather(UniformBlocks { block: own.len(), in_place: false });
        self.launch_on(comm, allgather, vec![Memory::owned(own), Memory::owned(all)])
    }

    fn launch_schedule(
        &mut self, comm: Handle, schedule: Schedule, buffers: Vec<Memory>,
    ) -> Result<RunId> {
        self.launch_run(comm, RunPlan::moving(schedule, buffers))
    }

    /// Report on the call `function`, which waits for a communicator with a topology.
    pub(crate) fn blocked_topology(
        &self, function: &str, creation: &TopologyCreation,
    ) -> WaitReport {
        match &creation.stage {
            TopologyStage::Splitting(split, _) => self.blocked_split(function, split),
            TopologyStage::Nodes(run, _)
            | TopologyStage::Records(run, _)
            | TopologyStage::Counts(run, ..)
            | TopologyStage::Edges(run, _)
            | TopologyStage::AllEdges(run, ..) => self.blocked(function, [&Activity::Run(*run)]),
            TopologyStage::Complete => WaitReport::new(function),
        }
    }
}

/// Whether the graph has weights, from the ranks that passed edges; `own` without edges.
///
/// # Errors
/// The class of a rank with invalid edges; `Arg` if only some ranks passed weights.
fn check_weights(records: &[GraphRecord], own: bool) -> Result<bool> {
    if let Some((rank, record)) = (0..).zip(records).find(|(_, record)| record.class != 0) {
        let class = ErrorClass::from_value(record.class).unwrap_or(ErrorClass::Arg);
        return Err(wrong_edges(class, rank));
    }
    let mut with_edges = (0..).zip(records).filter(|(_, record)| record.edges > 0);
    let Some((first, record)) = with_edges.next() else { return Ok(own) };
    match with_edges.find(|(_, other)| other.weighted != record.weighted) {
        None => Ok(record.weighted),
        Some((other, _)) => {
            let (with, without) = if record.weighted { (first, other) } else { (other, first) };
            let why = format!(
                "rank {with} passed weights, rank {without} passed MPI_UNWEIGHTED: expected weights \
                 from all ranks with edges, or from none"
            );
            Err(ErrorClass::Arg.error(why))
        }
    }
}

fn wrong_edges(class: ErrorClass, rank: u32) -> Box<MpiError> {
    class.error(format!("rank {rank} passed invalid edges; the error of that rank has the cause"))
}

/// The new rank of the old rank `old`; `order` has the old rank of each new one.
fn new_rank(old: u32, order: &[u32]) -> Option<u32> {
    order.iter().position(|rank| *rank == old).map(|rank| rank as u32)
}

/// The ranks to which an edge is sent, each once.
fn receivers(edge: &GraphEdge) -> impl Iterator<Item = u32> + use<> {
    let mut before = None;
    edge.ends().filter(move |end| before.replace(*end) != Some(*end))
}

fn packed<'a>(edges: impl Iterator<Item = &'a GraphEdge>) -> Memory {
    Memory::owned(edges.flat_map(GraphEdge::emit).collect::<Vec<u8>>())
}

fn edges_in(buffers: &[Memory]) -> Vec<GraphEdge> {
    buffers.iter().flat_map(|buffer| parse_records(buffer, GraphEdge::parse)).collect()
}

/// The records of `N` bytes in a buffer.
fn parse_records<const N: usize, T>(buffer: &Memory, parse: impl Fn(&[u8; N]) -> T) -> Vec<T> {
    let bytes = buffer.packed();
    let (records, _) = bytes.as_chunks();
    records.iter().map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: GraphRecord = GraphRecord {
        node: 1 << 40 | 3,
        edges: 5,
        class: 0,
        reorder: true,
        weighted: false,
        foreign: true,
    };

    #[test]
    fn records_read_back() {
        for (class, weighted) in [(0, true), (13, false), (-1, true)] {
            let record = GraphRecord { class, weighted, ..RECORD };
            assert_eq!(GraphRecord::parse(&record.emit()), record);
        }
        let record = GraphRecord { reorder: false, foreign: false, ..RECORD };
        assert_eq!(GraphRecord::parse(&record.emit()), record);
    }

    #[test]
    fn only_ranks_with_edges_determine_weights() {
        let with = GraphRecord { weighted: true, ..RECORD };
        let none = GraphRecord { edges: 0, ..with };
        assert!(!check_weights(&[none, RECORD], true).unwrap());
        assert!(check_weights(&[with, with, GraphRecord { edges: 0, ..RECORD }], false).unwrap());
        assert!(check_weights(&[none], true).unwrap());
        let error = check_weights(&[RECORD, with], true).unwrap_err();
        assert!(error.why.starts_with("rank 1 passed weights, rank 0 passed MPI_UNWEIGHTED"));
        let wrong = GraphRecord { class: ErrorClass::Rank as i32, ..RECORD };
        let error = check_weights(&[RECORD, wrong], true).unwrap_err();
        assert_eq!(error.code.0, 6);
        assert!(error.why.starts_with("rank 1 passed invalid edges"), "{error}");
    }

    #[test]
    fn an_edge_to_itself_is_sent_once() {
        let edge = |source, destination, role| GraphEdge { source, destination, weight: 1, role };
        let to = |edge: GraphEdge| receivers(&edge).collect::<Vec<_>>();
        assert_eq!(to(edge(2, 2, EdgeRole::Both)), [2]);
        assert_eq!(to(edge(2, 1, EdgeRole::Both)), [2, 1]);
        assert_eq!(to(edge(2, 1, EdgeRole::Incoming)), [1]);
        assert_eq!(to(edge(2, 1, EdgeRole::Outgoing)), [2]);
    }
}
