//! Gather, scatter and allgather on several nodes: the blocks of a node cross in one message.
//!
//! Where the ranks of a node follow one another their blocks do too, and arrive in their place or
//! leave from it. Others go through scratch memory:
//!
//! ```text
//!   nodes       0     1           ranks 0 2 │ 1 3
//!   scratch    │0 2│1 3│
//!   buffer     │0 1 2 3│
//! ```

use super::View;
use crate::mpi::coll::phases::{Phases, Place};
use crate::mpi::coll::{
    Bcast, Blocks, Exchange, RECEIVE, Rooted, RootedBlocks, SEND, gather_linear, input, registry,
    scatter_linear,
};
use crate::offload::{Buffer, Region, Schedule};

/// The part of a rank in a gather.
pub fn gather(view: View<'_>, args: Rooted) -> Schedule {
    let view = view.rooted(args.root);
    let mut phases = Phases::default();
    let Rooted { block, root, in_place } = args;
    if block == 0 {
        return phases.finish();
    }
    let at_root = view.rank == root;
    let homes = Homes::new(&mut phases, view, RECEIVE, block, at_root);
    let kept = at_root && in_place;
    // Away from its place, the own block goes along with the others.
    let stays = kept && homes.is_home();
    let own = if kept { homes.of(root) } else { SEND.region(0, block) };
    let gathered = match (at_root, view.leads()) {
        (true, _) => homes.node(view.node()),
        (false, true) => phases.scratch(block * view.ranks().len()),
        (false, false) => Region::EMPTY,
    };
    let to_leader = |node| Rooted { block, root: view.leader_place(node), in_place: stays };
    let buffers = [own, gathered];
    view.inside(&mut phases, &registry::GATHER, &to_leader, &|entry| buffers[entry as usize]);
    if view.leads() {
        let lens = view.lens(block);
        let node = view.nodes.of(root);
        let to_root = RootedBlocks { own: gathered.len, blocks: &lens, root: node, in_place: true };
        let part = gather_linear::gatherv(view.leaders(), view.node(), to_root);
        let buffer = |entry: u32| match entry.checked_sub(1) {
            None => gathered,
            Some(node) => homes.node(node),
        };
        phases.then(&part, 1, &Place { member: &|node| view.leader(node), buffer: &buffer });
    }
    if at_root {
        phases.copy(homes.away().filter(|(_, home)| !kept || *home != own));
    }
    phases.finish()
}

/// The part of a rank in a scatter.
pub fn scatter(view: View<'_>, args: Rooted) -> Schedule {
    let view = view.rooted(args.root);
    let mut phases = Phases::default();
    let Rooted { block, root, in_place } = args;
    if block == 0 {
        return phases.finish();
    }
    let at_root = view.rank == root;
    let homes = Homes::new(&mut phases, view, SEND, block, at_root);
    if at_root {
        phases.copy(homes.away().map(|(away, home)| (home, away)));
    }
    let arrived = match (at_root, view.leads()) {
        (true, _) => homes.node(view.node()),
        (false, true) => phases.scratch(block * view.ranks().len()),
        (false, false) => Region::EMPTY,
    };
    if view.leads() {
        let lens = view.lens(block);
        let node = view.nodes.of(root);
        let from_root =
            RootedBlocks { own: arrived.len, blocks: &lens, root: node, in_place: true };
        let part = scatter_linear::scatterv(view.leaders(), view.node(), from_root);
        let buffer = |entry: u32| match entry.checked_sub(1) {
            None => arrived,
            Some(node) => homes.node(node),
        };
        phases.then(&part, 1, &Place { member: &|node| view.leader(node), buffer: &buffer });
    } else {
        phases.pass(1);
    }
    let in_place = in_place && at_root;
    let from_leader = |node| Rooted { block, root: view.leader_place(node), in_place };
    let buffers = [arrived, RECEIVE.region(0, block)];
    view.inside(&mut phases, &registry::SCATTER, &from_leader, &|entry| buffers[entry as usize]);
    phases.finish()
}

/// The part of a rank in an allgather.
pub fn allgather(view: View<'_>, args: Exchange) -> Schedule {
    let mut phases = Phases::default();
    let Exchange { block, in_place } = args;
    if block == 0 {
        return phases.finish();
    }
    let homes = Homes::new(&mut phases, view, RECEIVE, block, true);
    let stays = in_place && homes.is_home();
    let own = match input(in_place) {
        RECEIVE => homes.of(view.rank),
        send => send.region(0, block),
    };
    let to_leader = Rooted { block, root: 0, in_place: stays };
    let buffers = [own, homes.node(view.node())];
    let buffer = |entry: u32| buffers[entry as usize];
    view.inside(&mut phases, &registry::GATHER, &|_| to_leader, &buffer);
    exchange(&mut phases, view, &homes, block);
    let from_leader = Bcast { bytes: homes.all.len, root: 0 };
    view.inside(&mut phases, &registry::BCAST, &|_| from_leader, &|_| homes.all);
    phases.copy(homes.away());
    phases.finish()
}

/// The leaders tell each other the blocks of their nodes.
fn exchange(phases: &mut Phases, view: View<'_>, homes: &Homes<'_>, block: usize) {
    let lens = view.lens(block);
    if lens.iter().all(|len| *len == lens[0]) {
        let args = Exchange { block: lens[0], in_place: true };
        view.between(phases, &registry::ALLGATHER, args, &|_| homes.all);
    } else {
        let args = Blocks { blocks: &lens, in_place: true };
        let buffer = |entry: u32| homes.node(entry - 1);
        view.between(phases, &registry::ALLGATHERV, args, &buffer);
    }
}

/// Where the blocks of nodes are, on a rank that has those of all: in a buffer, in the order of
/// ranks, or all in scratch memory, in the order of nodes.
struct Homes<'a> {
    view: View<'a>,
    buffer: Buffer,
    block: usize,
    all: Region,
    /// The first rank of each node in the order of nodes.
    starts: Vec<u32>,
}

impl<'a> Homes<'a> {
    /// Scratch memory is only for a rank that `has_all`.
    fn new(
        phases: &mut Phases, view: View<'a>, buffer: Buffer, block: usize, has_all: bool,
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
    fn node(&self, node: u32) -> Region {
        let start = self.starts[node as usize] as usize;
        let len = self.view.shape(node).ranks as usize;
        self.all.buffer.region(self.all.start + start * self.block, len * self.block)
    }

    /// Where the block of a rank belongs.
    fn of(&self, rank: u32) -> Region {
        self.buffer.region(rank as usize * self.block, self.block)
    }

    /// Whether the blocks of nodes are where they belong.
    fn is_home(&self) -> bool {
        self.all.buffer == self.buffer
    }

    /// The blocks that are not where they belong: where they are, and where they belong.
    fn away(&self) -> impl Iterator<Item = (Region, Region)> {
        let nodes = self.view.all().filter(|_| !self.is_home());
        nodes.flat_map(move |node| {
            let blocks = self.node(node);
            self.view.nodes.ranks(node).iter().zip(0..).map(move |(rank, place)| {
                let start = blocks.start + place * self.block;
                (blocks.buffer.region(start, self.block), self.of(*rank))
            })
        })
    }
}

impl View<'_> {
    /// The bytes of each node's blocks.
    pub(super) fn lens(&self, block: usize) -> Vec<usize> {
        self.all().map(|node| self.shape(node).ranks as usize * block).collect()
    }
}
