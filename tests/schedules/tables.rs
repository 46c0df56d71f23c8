//! The tables of the paper that introduced the water tanks (`offload::compile`), computed from the
//! schedules of the library; and the counters of programs at the sizes of its table 6.

use mpi_abi::mpi::collective::algorithms::allgather;
use mpi_abi::mpi::collective::algorithms::barrier;
use mpi_abi::mpi::collective::algorithms::bcast;
use mpi_abi::mpi::collective::algorithms::{Bcast, Shape, UniformBlocks};
use mpi_abi::offload::causal_order::CausalOrder;
use mpi_abi::offload::compile::{Rules, SingleSource, link_all, link_one};
use mpi_abi::offload::resources::{MessageRounds, Resources};
use mpi_abi::offload::table::{Purpose, RowOperation, TableRow, rows};
use mpi_abi::offload::{Schedule, Scheme};

use Purpose::{Data, Exit, Finish, Signal};
use RowOperation::{Add, RemoteAdd, Write};

const EIGHT: Shape = Shape { ranks: 8 };

/// The rows of rank 0 in the paper, whose tables omit the end of the instance.
fn printed(program: &mpi_abi::offload::Program, rank: u32) -> Vec<TableRow> {
    let mut rows = rows(program, rank);
    rows.retain(|row| row.operation != RowOperation::Complete);
    rows
}

fn doubling(rank: u32) -> Schedule {
    allgather::doubling::schedule(EIGHT, rank, UniformBlocks { block: 8, in_place: true })
}

/// Rules for a broadcast from rank 0 as in the paper: all ranks send ready-to-receive to the root.
fn broadcast(ranks: u32) -> Rules {
    let single = Some(SingleSource { source: 0, ranks, rank: 0 });
    Rules { single, branches: true, ordered: true, ..Rules::PAPER }
}

/// Table 2: a rank of a binary tree that passes a message on; and the pipeline of figure 5.
#[test]
fn table_2_branches() {
    let ranks = 15;
    let (shape, args) = (Shape { ranks }, Bcast { bytes: 64, root: 0 });
    let part = |rank| bcast::binary::in_segments(shape, rank, args, 64);
    let programs = link_all(&(0..ranks).map(part).collect::<Vec<_>>(), &broadcast(ranks)).unwrap();
    let brief = |row: &TableRow| (row.threshold, row.operation, row.increment, row.peer);
    let table: Vec<_> = printed(&programs[1], 1).iter().map(brief).collect();
    let lowered = (3, RemoteAdd, -3, 1);
    let due = [(0, Write, 1, 0), (1, Add, 2, 1), (3, Write, 1, 3), (3, Write, 1, 4), lowered];
    assert_eq!(table, due);
    // The root sends once all others are ready.
    let root = printed(&programs[0], 0);
    assert!(root[..2].iter().all(|row| (row.threshold, row.purpose) == (14, Data)), "{root:?}");
    assert_eq!(CausalOrder::of(&programs).unwrap().two_tanks(), Ok(()));
}

#[test]
fn segments_are_counted() {
    let ranks = 4;
    let (shape, args) = (Shape { ranks }, Bcast { bytes: 5 * 8, root: 0 });
    let part = |rank| bcast::chain::in_segments(shape, rank, args, 8);
    let programs = link_all(&(0..ranks).map(part).collect::<Vec<_>>(), &broadcast(ranks)).unwrap();
    let sent: Vec<u64> = printed(&programs[1], 1)
        .iter()
        .filter(|row| row.purpose == Data)
        .map(|row| row.threshold)
        .collect();
    assert_eq!(sent, [1, 2, 3, 4, 5]);
    let at_root: Vec<TableRow> = printed(&programs[0], 0);
    assert!(at_root.iter().filter(|row| row.purpose == Data).all(|row| row.threshold == 3));
}

/// Table 4: the barrier of eight ranks; rank 0 notifies 1, 2 and 4.
#[test]
fn table_4_barrier() {
    let rules = Rules { synchronizes: true, ..Rules::PAPER };
    let part = |rank| barrier::dissemination::schedule(EIGHT, rank);
    let programs = link_all(&(0..8).map(part).collect::<Vec<_>>(), &rules).unwrap();
    let brief = |row: &TableRow| (row.round, row.threshold, row.operation, row.increment, row.peer);
    let table: Vec<_> = printed(&programs[0], 0).iter().map(brief).collect();
    let due = [
        (1, 0, RemoteAdd, 4, 1),
        (2, 4, RemoteAdd, 2, 2),
        (3, 6, RemoteAdd, 1, 4),
        (4, 7, RemoteAdd, -7, 0),
    ];
    assert_eq!(table, due);
    assert_eq!(CausalOrder::of(&programs).unwrap().one_tank(), Ok(()));
}

/// Table 5: the allgather of eight ranks, and that one tank is not enough for it.
#[test]
fn table_5_allgather() {
    let schedules: Vec<Schedule> = (0..8).map(doubling).collect();
    let programs = link_all(&schedules, &Rules::PAPER).unwrap();
    let brief = |row: &TableRow| {
        (row.purpose, row.round, row.step, row.threshold, row.operation, row.increment, row.peer)
    };
    let table: Vec<_> = printed(&programs[0], 0).iter().map(brief).collect();
    let due = [
        (Signal, 1, 1, 0, RemoteAdd, 32, 1),
        (Data, 1, 2, 32, Write, 0, 1),
        (Exit, 1, 2, 32, RemoteAdd, 16, 1),
        (Signal, 2, 3, 48, RemoteAdd, 8, 2),
        (Data, 2, 4, 56, Write, 0, 2),
        (Exit, 2, 4, 56, RemoteAdd, 4, 2),
        (Signal, 3, 5, 60, RemoteAdd, 2, 4),
        (Data, 3, 6, 62, Write, 0, 4),
        (Exit, 3, 6, 62, RemoteAdd, 1, 4),
        (Finish, 4, 7, 63, RemoteAdd, -63, 0),
    ];
    assert_eq!(table, due);
    assert!(CausalOrder::of(&programs).unwrap().one_tank().is_err());
    let safe = link_all(&schedules, &Rules::SAFE).unwrap();
    assert_eq!(CausalOrder::of(&safe).unwrap().two_tanks(), Ok(()));
}

/// Table 6: counters of a butterfly on the K computer and on a million nodes.
#[test]
fn table_6_resources() {
    for (ranks, rounds, prematched) in [(82_944, 18, 54), (1_000_000, 21, 63)] {
        let args = UniformBlocks { block: 8, in_place: true };
        let part = |rank| allgather::doubling::schedule(Shape { ranks }, rank, args);
        assert_eq!(part(0).rounds(), rounds);
        assert_eq!(MessageRounds(rounds).prematched(), prematched);
        assert_eq!(MessageRounds(rounds).of_tank(), 2 * rounds);
        let of = |rank, rules: &Rules| Resources::of(&link_one(part, rank, rules).unwrap());
        let most = |rules: &Rules| {
            let ranks = [0, 1, ranks / 2, ranks - 1].map(|rank| of(rank, rules));
            ranks.into_iter().reduce(Resources::max).unwrap()
        };
        let tank = most(&Rules::SAFE);
        assert_eq!((tank.counters, tank.tanks), (1, 2));
        let paper = most(&Rules::PAPER);
        assert_eq!((paper.counters, paper.tanks), (1, 1));
        // Too many for 32 bits, as the paper says.
        assert!((32..=62).contains(&paper.bits), "{paper:?}");
        // A rank that stands for another one has a receive before, and a send after all others.
        let own = most(&Rules::of(Scheme::Prematched)).counters;
        assert_eq!(own, prematched - 3);
    }
}

/// Three trees: three counters, and nine where sends and receives are matched beforehand.
#[test]
fn three_trees_take_three_counters() {
    let ranks = 27;
    let counters = |segments: usize, rules: &Rules| {
        let args = Bcast { bytes: segments * 8, root: 0 };
        let part = |rank| bcast::trinaryx3::in_segments(Shape { ranks }, rank, args, 8);
        let programs = link_all(&(0..ranks).map(part).collect::<Vec<_>>(), rules).unwrap();
        programs.iter().map(|program| program.counters()).max()
    };
    let ordered = Rules { ordered: true, ..Rules::SAFE };
    assert_eq!(counters(3 * 100, &ordered), Some(3));
    assert_eq!(counters(3, &Rules::of(Scheme::Prematched)), Some(9));
    assert_eq!(counters(12, &Rules { streams: 1, ..ordered }), Some(1));
}
