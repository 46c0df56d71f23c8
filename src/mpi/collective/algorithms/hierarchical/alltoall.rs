//! Alltoall on several nodes, for short blocks: one message for each ordered pair of nodes.
//!
//! ```text
//!   members of A ──gather──► leader of A ──one message──► leader of B ──scatter──► members of B
//!                              a for b of B                 b from a of A
//! ```
//!
//! The message from node A to node B has the blocks of A's first rank for all of B, then those of
//! A's second rank, and so on. Each leader copies outgoing blocks into that order, and arriving
//! blocks into the order of the receivers.

use super::HierarchyView;
use crate::mpi::collective::algorithms::alltoall;
use crate::mpi::collective::algorithms::building_blocks::phases::{PhasePlacement, Phases};
use crate::mpi::collective::algorithms::{
    BlockPairs, RECEIVE, Rooted, UniformBlocks, block_offsets, input_buffer,
};
use crate::mpi::collective::selection::registry;
use crate::offload::{Region, Schedule};

/// Schedule of a rank.
pub fn alltoall(view: HierarchyView<'_>, args: UniformBlocks) -> Schedule {
    let mut phases = Phases::default();
    let UniformBlocks { block, in_place } = args;
    let all = block * view.nodes.size() as usize;
    if all == 0 {
        return phases.finish();
    }
    let members = if view.is_leader() { view.ranks().len() } else { 0 };
    let rows = phases.scratch(members * all);
    let with_leader = Rooted { block: all, root: 0, in_place: false };
    let buffers = [input_buffer(in_place).region(0, all), rows];
    let buffer = |entry: u32| buffers[entry as usize];
    view.intra_node(&mut phases, &registry::GATHER, &|_| with_leader, &buffer);
    let rounds = (view.leaders().ranks - 1).div_ceil(alltoall::pairwise::WINDOW);
    let mut columns = Region::EMPTY;
    if view.is_leader() {
        let out = messages(&mut phases, view, block);
        phases.copy(out.packed(rows, all, false));
        let into = messages(&mut phases, view, block);
        let lens: Vec<usize> = out.regions.iter().map(|region| region.len).collect();
        let args = BlockPairs { send: &lens, receive: &lens, in_place: false };
        let part = alltoall::pairwise::alltoallv(view.leaders(), view.node(), args);
        let nodes = view.nodes.count();
        let buffer = |entry: u32| match entry.checked_sub(nodes) {
            None => out.regions[entry as usize],
            Some(from) => into.regions[from as usize],
        };
        phases.then(
            &part,
            rounds,
            &PhasePlacement { member: &|node| view.leader(node), buffer: &buffer },
        );
        columns = phases.scratch(members * all);
        phases.copy(into.packed(columns, all, true));
    } else {
        phases.skip_rounds(rounds);
    }
    let buffers = [columns, RECEIVE.region(0, all)];
    let buffer = |entry: u32| buffers[entry as usize];
    view.intra_node(&mut phases, &registry::SCATTER, &|_| with_leader, &buffer);
    phases.finish()
}

/// The messages of a leader to, or from, the leader of each node.
struct LeaderMessages<'a> {
    view: HierarchyView<'a>,
    block: usize,
    regions: Vec<Region>,
}

fn messages<'a>(phases: &mut Phases, view: HierarchyView<'a>, block: usize) -> LeaderMessages<'a> {
    let lens: Vec<usize> = view
        .all()
        .map(|node| view.shape(node).ranks as usize * view.ranks().len() * block)
        .collect();
    let room = phases.scratch(lens.iter().sum());
    let regions =
        block_offsets(&lens).zip(&lens).map(|(start, len)| room.buffer.region(start, *len));
    LeaderMessages { view, block, regions: regions.collect() }
}

impl LeaderMessages<'_> {
    /// The copies between the messages and `rows`. A row has `row` bytes for each local rank, with
    /// a block for each rank of the communicator. The copies read the messages if those `arrived`,
    /// and write them otherwise.
    fn packed(&self, rows: Region, row: usize, arrived: bool) -> Vec<(Region, Region)> {
        let (own, block) = (self.view.ranks().len(), self.block);
        let mut pairs = Vec::new();
        for (node, message) in self.view.all().zip(&self.regions) {
            let others = self.view.nodes.ranks(node);
            for (place, rank) in others.iter().enumerate() {
                for member in 0..own {
                    // Senders are the outer dimension: local ranks in outgoing messages, remote
                    // ranks in arrived ones.
                    let number =
                        if arrived { place * own + member } else { member * others.len() + place };
                    let part = message.buffer.region(message.start + number * block, block);
                    let start = member * row + *rank as usize * block;
                    let cell = rows.buffer.region(rows.start + start, block);
                    pairs.push(if arrived { (part, cell) } else { (cell, part) });
                }
            }
        }
        pairs
    }
}
