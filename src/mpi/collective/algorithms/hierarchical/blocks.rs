//! Gather, scatter and allgather on several nodes: one message for the blocks of a node.
//!
//! If the ranks of a node are consecutive, so are their blocks, and the message needs no copy.
//! Other blocks are reordered in scratch memory:
//!
//! ```text
//!   nodes       0     1           ranks 0 2 │ 1 3
//!   scratch    │0 2│1 3│
//!   buffer     │0 1 2 3│
//! ```

use super::HierarchyView;
use crate::mpi::collective::algorithms::building_blocks::phases::{PhasePlacement, Phases};
use crate::mpi::collective::algorithms::gather;
use crate::mpi::collective::algorithms::scatter;
use crate::mpi::collective::algorithms::{
    Bcast, RECEIVE, RankBlocks, Rooted, RootedBlocks, SEND, UniformBlocks, block_buffer,
    input_buffer,
};
use crate::mpi::collective::selection::registry;
use crate::offload::{Buffer, Region, Schedule};

/// Schedule of a rank in a gather.
pub fn gather(view: HierarchyView<'_>, args: Rooted) -> Schedule {
    let view = view.rooted(args.root);
    let mut phases = Phases::default();
    let Rooted { block, root, in_place } = args;
    if block == 0 {
        return phases.finish();
    }
    let at_root = view.rank == root;
    let homes = NodeBlocks::new(&mut phases, view, RECEIVE, block, at_root);
    let kept = at_root && in_place;
    // Outside its final location, the own block is gathered with the other blocks.
    let stays = kept && homes.is_in_rank_order();
    let own = if kept { homes.rank_block(root) } else { SEND.region(0, block) };
    let gathered = match (at_root, view.is_leader()) {
        (true, _) => homes.node_blocks(view.node()),
        (false, true) => phases.scratch(block * view.ranks().len()),
        (false, false) => Region::EMPTY,
    };
    let to_leader = |node| Rooted { block, root: view.leader_place(node), in_place: stays };
    let buffers = [own, gathered];
    view.intra_node(&mut phases, &registry::GATHER, &to_leader, &|entry| buffers[entry as usize]);
    if view.is_leader() {
        let lens = view.node_lengths(block);
        let node = view.nodes.node_of(root);
        let to_root = RootedBlocks { own: gathered.len, blocks: &lens, root: node, in_place: true };
        let part = gather::linear::gatherv(view.leaders(), view.node(), to_root);
        let buffer = |entry: u32| match entry.checked_sub(1) {
            None => gathered,
            Some(node) => homes.node_blocks(node),
        };
        phases.then(
            &part,
            1,
            &PhasePlacement { member: &|node| view.leader(node), buffer: &buffer },
        );
    }
    if at_root {
        phases.copy(homes.misplaced().filter(|(_, home)| !kept || *home != own));
    }
    phases.finish()
}

/// Schedule of a rank in a scatter.
pub fn scatter(view: HierarchyView<'_>, args: Rooted) -> Schedule {
    let view = view.rooted(args.root);
    let mut phases = Phases::default();
    let Rooted { block, root, in_place } = args;
    if block == 0 {
        return phases.finish();
    }
    let at_root = view.rank == root;
    let homes = NodeBlocks::new(&mut phases, view, SEND, block, at_root);
    if at_root {
        phases.copy(homes.misplaced().map(|(away, home)| (home, away)));
    }
    let arrived = match (at_root, view.is_leader()) {
        (true, _) => homes.node_blocks(view.node()),
        (false, true) => phases.scratch(block * view.ranks().len()),
        (false, false) => Region::EMPTY,
    };
    if view.is_leader() {
        let lens = view.node_lengths(block);
        let node = view.nodes.node_of(root);
        let from_root =
            RootedBlocks { own: arrived.len, blocks: &lens, root: node, in_place: true };
        let part = scatter::linear::scatterv(view.leaders(), view.node(), from_root);
        let buffer = |entry: u32| match entry.checked_sub(1) {
            None => arrived,
            Some(node) => homes.node_blocks(node),
        };
        phases.then(
            &part,
            1,
            &PhasePlacement { member: &|node| view.leader(node), buffer: &buffer },
        );
    } else {
        phases.skip_rounds(1);
    }
    let in_place = in_place && at_root;
    let from_leader = |node| Rooted { block, root: view.leader_place(node), in_place };
    let buffers = [arrived, RECEIVE.region(0, block)];
    view.intra_node(&mut phases, &registry::SCATTER, &from_leader, &|entry| {
        buffers[entry as usize]
    });
    phases.finish()
}

/// Schedule of a rank in an allgather.
pub fn allgather(view: HierarchyView<'_>, args: UniformBlocks) -> Schedule {
    let mut phases = Phases::default();
    let UniformBlocks { block, in_place } = args;
    if block == 0 {
        return phases.finish();
    }
    let homes = NodeBlocks::new(&mut phases, view, RECEIVE, block, true);
    let stays = in_place && homes.is_in_rank_order();
    let own = match input_buffer(in_place) {
        RECEIVE => homes.rank_block(view.rank),
        send => send.region(0, block),
    };
    let to_leader = Rooted { block, root: 0, in_place: stays };
    let buffers = [own, homes.node_blocks(view.node())];
    let buffer = |entry: u32| buffers[entry as usize];
    view.intra_node(&mut phases, &registry::GATHER, &|_| to_leader, &buffer);
    exchange(&mut phases, view, &homes, block);
    let from_leader = Bcast { bytes: homes.all.len, root: 0 };
    view.intra_node(&mut phases, &registry::BCAST, &|_| from_leader, &|_| homes.all);
    phases.copy(homes.misplaced());
    phases.finish()
}

/// Schedule of a rank in an allgather of blocks with different lengths, which travel together through
/// scratch memory, in node order.
pub fn allgatherv(view: HierarchyView<'_>, args: RankBlocks<'_>) -> Schedule {
    let mut phases = Phases::default();
    let RankBlocks { blocks, in_place } = args;
    let total: usize = blocks.iter().sum();
    if total == 0 {
        return phases.finish();
    }
    let all = phases.scratch(total);
    let parts = NodeParts::new(view, blocks);
    let region = |rank: u32| parts.rank_part(all, rank);
    let own = if in_place { block_buffer(view.rank) } else { SEND };
    let own = own.region(0, blocks[view.rank as usize]);
    let lens = parts.rank_lengths(view.node());
    let to_leader = RootedBlocks { own: own.len, blocks: &lens, root: 0, in_place: false };
    let part = gather::linear::gatherv(view.shape(view.node()), view.place(), to_leader);
    view.intra_node_round(&mut phases, &part, &|entry| match entry.checked_sub(1) {
        None => own,
        Some(place) => region(view.ranks()[place as usize]),
    });
    let among = RankBlocks { blocks: &parts.lens, in_place: true };
    let buffer = |entry: u32| parts.node_part(all, entry - 1);
    view.inter_node(&mut phases, &registry::ALLGATHERV, among, &buffer);
    let from_leader = Bcast { bytes: total, root: 0 };
    view.intra_node(&mut phases, &registry::BCAST, &|_| from_leader, &|_| all);
    let others = (0..view.nodes.size()).filter(|rank| !in_place || *rank != view.rank);
    phases.copy(others.map(|rank| {
        let from = region(rank);
        (from, block_buffer(rank).region(0, from.len))
    }));
    phases.finish()
}

/// The leaders exchange the blocks of their nodes.
fn exchange(phases: &mut Phases, view: HierarchyView<'_>, homes: &NodeBlocks<'_>, block: usize) {
    let lens = view.node_lengths(block);
    if lens.iter().all(|len| *len == lens[0]) {
        let args = UniformBlocks { block: lens[0], in_place: true };
        view.inter_node(phases, &registry::ALLGATHER, args, &|_| homes.all);
    } else {
        let args = RankBlocks { blocks: &lens, in_place: true };
        let buffer = |entry: u32| homes.node_blocks(entry - 1);
        view.inter_node(phases, &registry::ALLGATHERV, args, &buffer);
    }
}

/// Location of the blocks of nodes, on a rank that has all blocks: in a buffer, in rank order, or
/// all in scratch memory, in node order.
struct NodeBlocks<'a> {
    view: HierarchyView<'a>,
    buffer: Buffer,
    block: usize,
    all: Region,
    /// The first rank of each node in node order.
    starts: Vec<u32>,
}

impl<'a> NodeBlocks<'a> {
    /// Only a rank that `has_all` uses scratch memory.
    fn new(
        phases: &mut Phases, view: HierarchyView<'a>, buffer: Buffer, block: usize, has_all: bool,
    ) -> Self {
        let bytes = block * view.nodes.size() as usize;
        let all = match (view.nodes.are_in_order(), has_all) {
            (true, _) => buffer.region(0, bytes),
            (false, true) => phases.scratch(bytes),
            (false, false) => Region::EMPTY,
        };
        let sizes = view.all().map(|node| view.shape(node).ranks);
        let starts = sizes.scan(0, |end, size| {
            *end += size;
            Some(*end - size)
        });
        Self { view, buffer, block, all, starts: starts.collect() }
    }

    /// The blocks of a node.
    fn node_blocks(&self, node: u32) -> Region {
        let start = self.starts[node as usize] as usize;
        let len = self.view.shape(node).ranks as usize;
        self.all.buffer.region(self.all.start + start * self.block, len * self.block)
    }

    /// Final location of the block of a rank.
    fn rank_block(&self, rank: u32) -> Region {
        self.buffer.region(rank as usize * self.block, self.block)
    }

    /// Whether the blocks of nodes are in their final location.
    fn is_in_rank_order(&self) -> bool {
        self.all.buffer == self.buffer
    }

    /// The blocks outside their final location: current location and final location.
    fn misplaced(&self) -> impl Iterator<Item = (Region, Region)> {
        let nodes = self.view.all().filter(|_| !self.is_in_rank_order());
        nodes.flat_map(move |node| {
            let blocks = self.node_blocks(node);
            self.view.nodes.ranks(node).iter().zip(0..).map(move |(rank, place)| {
                let start = blocks.start + place * self.block;
                (blocks.buffer.region(start, self.block), self.rank_block(*rank))
            })
        })
    }
}

/// The blocks of all ranks, of different lengths, in node order.
pub(super) struct NodeParts<'a> {
    view: HierarchyView<'a>,
    blocks: &'a [usize],
    /// The bytes of each node's blocks.
    pub(super) lens: Vec<usize>,
    /// Where the block of each rank begins.
    starts: Vec<usize>,
}

impl<'a> NodeParts<'a> {
    pub(super) fn new(view: HierarchyView<'a>, blocks: &'a [usize]) -> Self {
        let mut starts = vec![0; blocks.len()];
        let mut end = 0;
        for rank in view.all().flat_map(|node| view.nodes.ranks(node)) {
            starts[*rank as usize] = end;
            end += blocks[*rank as usize];
        }
        let mut parts = Self { view, blocks, lens: Vec::new(), starts };
        parts.lens = view.all().map(|node| parts.rank_lengths(node).iter().sum()).collect();
        parts
    }

    /// The bytes of the blocks of a node's ranks.
    pub(super) fn rank_lengths(&self, node: u32) -> Vec<usize> {
        self.view.nodes.ranks(node).iter().map(|rank| self.blocks[*rank as usize]).collect()
    }

    /// The blocks of a node in `all`.
    fn node_part(&self, all: Region, node: u32) -> Region {
        let start = self.starts[self.view.nodes.ranks(node)[0] as usize];
        all.buffer.region(all.start + start, self.lens[node as usize])
    }

    /// The block of a rank in `all`.
    pub(super) fn rank_part(&self, all: Region, rank: u32) -> Region {
        let rank = rank as usize;
        all.buffer.region(all.start + self.starts[rank], self.blocks[rank])
    }

    /// The block of a rank of the own node in `part`, which has the blocks of the node.
    pub(super) fn local_part(&self, part: Region, rank: u32) -> Region {
        let first = self.starts[self.view.ranks()[0] as usize];
        let rank = rank as usize;
        part.buffer.region(part.start + self.starts[rank] - first, self.blocks[rank])
    }
}

impl HierarchyView<'_> {
    /// The bytes of each node's blocks.
    pub(super) fn node_lengths(&self, block: usize) -> Vec<usize> {
        self.all().map(|node| self.shape(node).ranks as usize * block).collect()
    }
}
