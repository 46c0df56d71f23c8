//! The halo exchange of M. Hatanaka, A. Hori, Y. Ishikawa, "RDMA scheduling", IPSJ SIG Technical
//! Report 2013-HPC-140 No. 17: the climate code SCALE-LES3 on a periodic grid of processes, each of
//! which puts to its eight neighbours. The grid is X and Y of a torus (`devices::torus`), with a
//! process on each node.
//!
//! ```text
//!    NW  N  NE      a route goes east or west first, then north or south
//!      ╲ │ ╱        (dimension order), so NE and SE share the link to the east,
//!   W ── ▪ ── E     and NE shares a link with puts of the east neighbour to the north
//!      ╱ │ ╲
//!    SW  S  SE
//! ```
//!
//! All ranks start at the same time, as after the barrier before `MPI_Startall` in the paper's
//! measurements, and each executes its packing. Links, engines on both sides and ranks are resources
//! of the model of flows (`offload::packing::fluid`). Not modelled: other jobs, and the real nodes of
//! neighbours. Units: bytes, nanoseconds.

use std::fmt;

use Direction::{East, North, NorthEast, NorthWest, South, SouthEast, SouthWest, West};
use mpi_abi::devices::torus::{PORTS, TorusNode, TorusShape};
use mpi_abi::offload::packing::fluid;
use mpi_abi::offload::packing::fluid::{TransferQueue, TransferTime};
use mpi_abi::offload::packing::{InterfaceModel, Packing, PackingPolicy, Put};

/// The vertical sizes of table 1; the horizontal size is 16 × 16.
pub(crate) const GRIDS: [u64; 11] = [60, 70, 80, 109, 218, 327, 436, 545, 654, 763, 872];

/// The time of an exchange without its transfers: two barriers and the calls. The published times
/// (figures 4, 6 and 8) minus the transfer times by [`InterfaceModel::TOFU1`].
pub(crate) const CALLS_NS: f64 = 14_000.0;

/// The direction of a neighbour; the first four are links, numbered as in the torus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Up along X.
    East,
    /// Down along X.
    West,
    /// Up along Y.
    North,
    /// Down along Y.
    South,
    /// West, then north.
    NorthWest,
    /// East, then south.
    SouthEast,
    /// East, then north.
    NorthEast,
    /// West, then south.
    SouthWest,
}

impl Direction {
    /// All directions; opposite ones are adjacent, as they share no link.
    pub(crate) const ALL: [Self; 8] =
        [East, West, North, South, NorthWest, SouthEast, NorthEast, SouthWest];

    /// The links of the route.
    pub(crate) fn hops(self) -> Vec<Self> {
        match self {
            East | West | North | South => vec![self],
            NorthWest => vec![West, North],
            NorthEast => vec![East, North],
            SouthWest => vec![West, South],
            SouthEast => vec![East, South],
        }
    }

    /// An abbreviation of one or two letters.
    pub(crate) fn short(self) -> &'static str {
        ["E", "W", "N", "S", "NW", "SE", "NE", "SW"][self as usize]
    }
}

/// The neighbours of an exchange; the paper measures each pattern separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HaloPattern {
    /// East and west: one put each (figures 3 and 4).
    EastWest,
    /// North and south: two puts each (figures 5 and 6).
    NorthSouth,
    /// The four sides (figures 7 and 8).
    Sides,
    /// The four diagonals: two puts each (figures 9 and 10).
    Diagonals,
    /// All eight: 14 puts (figures 11 and 12).
    All,
}

impl HaloPattern {
    /// All patterns.
    pub const ALL: [Self; 5] =
        [Self::EastWest, Self::NorthSouth, Self::Sides, Self::Diagonals, Self::All];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::EastWest => "ew",
            Self::NorthSouth => "ns",
            Self::Sides => "sides",
            Self::Diagonals => "diagonals",
            Self::All => "all",
        }
    }

    /// The pattern with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|pattern| pattern.name() == name)
    }

    /// The puts of a rank at vertical size `grid`, in the order of the application: diagonals first,
    /// grouped by direction, as in the paper.
    pub fn puts(self, grid: u64) -> Vec<Put> {
        let directions: &[(Direction, usize)] = match self {
            Self::EastWest => &[(East, 1), (West, 1)],
            Self::NorthSouth => &[(North, 2), (South, 2)],
            Self::Sides => &[(East, 1), (West, 1), (North, 2), (South, 2)],
            Self::Diagonals => &[(NorthWest, 2), (NorthEast, 2), (SouthWest, 2), (SouthEast, 2)],
            Self::All => {
                let parts = [Self::Diagonals, Self::Sides].map(|part| part.puts(grid));
                return parts.concat();
            }
        };
        let put = |direction: Direction| Put {
            bytes: bytes(direction, grid),
            direction: direction as u16,
            links: direction.hops().into_iter().map(|hop| hop as u16).collect(),
        };
        directions
            .iter()
            .flat_map(|&(direction, count)| (0..count).map(move |_| put(direction)))
            .collect()
    }
}

impl fmt::Display for HaloPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EastWest => "east and west",
            Self::NorthSouth => "north and south",
            Self::Sides => "four sides",
            Self::Diagonals => "four diagonals",
            Self::All => "all eight directions",
        })
    }
}

/// The length of a put: two rows of halo around 16 × 16 columns of `grid` values of 8 bytes.
fn bytes(direction: Direction, grid: u64) -> u64 {
    let height = grid + 4;
    match direction {
        East | West => height * 2 * 16 * 8,
        North | South => height * 16 * 8,
        NorthWest | NorthEast | SouthWest | SouthEast => height * 2 * 8,
    }
}

/// The nodes of the paper's 48 processes, one each. Their arrangement is not published.
pub const PAPER: &str = "8x6x1";

/// The neighbour in a direction.
fn neighbour(shape: TorusShape, node: TorusNode, direction: Direction) -> TorusNode {
    let sizes = shape.coordinates(shape.nodes() as TorusNode - 1).map(|last| last + 1);
    let mut at = shape.coordinates(node);
    for hop in direction.hops() {
        let (dimension, is_up) = (hop as usize / 2, (hop as usize).is_multiple_of(2));
        let size = sizes[dimension];
        at[dimension] = (at[dimension] + if is_up { 1 } else { size - 1 }) % size;
    }
    shape.node(at)
}

/// A transfer of rank 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PutTransfer {
    /// Index of the put.
    pub put: usize,
    /// Index of the engine.
    pub engine: u8,
    /// Start and end.
    pub span: TransferTime,
}

/// The result of a simulated exchange.
#[derive(Clone, Debug)]
pub(crate) struct HaloExchange {
    /// From the end of the first barrier to the end of the last put of all ranks.
    pub transfers_ns: f64,
    /// The transfers of rank 0.
    pub transfers: Vec<PutTransfer>,
}

impl HaloExchange {
    /// Simulates `packing` of `puts` on all nodes of a torus.
    pub(crate) fn run(
        puts: &[Put], packing: &Packing, machine: &InterfaceModel, shape: TorusShape,
    ) -> Self {
        let (ranks, engines) = (shape.nodes() as u32, u32::from(machine.engines.max(1)));
        let ports = PORTS as u32;
        // Links of each node, then the sending side of each rank, then its receiving engines.
        let mut capacity = vec![machine.link_rate; (ports * ranks) as usize];
        capacity.resize(((ports + 1) * ranks) as usize, machine.rank_rate);
        capacity.resize(((ports + 1 + engines) * ranks) as usize, machine.put_rate);
        let resources = |rank: u32, engine: u32, put: &Put| {
            let to = neighbour(shape, rank, Direction::ALL[usize::from(put.direction)]);
            let links = shape.route(rank, to);
            let links = links.map(|link| ports * link.node + u32::from(link.port));
            let ends = [ports * ranks + rank, (ports + 1 + engine) * ranks + to];
            links.chain(ends).collect()
        };
        let mut queues = Vec::new();
        for rank in 0..ranks {
            for (engine, ready_ns) in packing.ready_ns(machine).enumerate() {
                let puts = packing.queues[engine].iter().map(|&put| &puts[put]);
                let flows = puts.map(|put| (put.bytes as f64, resources(rank, engine as u32, put)));
                queues.push(TransferQueue { ready_ns, flows: flows.collect() });
            }
        }
        let spans = fluid::run(&queues, capacity, machine.put_rate, machine.gap_ns);
        let transfers_ns = spans.iter().flatten().map(|span| span.end_ns).fold(0.0, f64::max);
        let own = packing.queues.iter().zip(&spans).enumerate();
        let transfers = own.flat_map(|(engine, (queue, spans))| {
            let engine = engine as u8;
            queue.iter().zip(spans).map(move |(&put, &span)| PutTransfer { put, engine, span })
        });
        Self { transfers_ns, transfers: transfers.collect() }
    }
}

/// The time of `MPI_Startall` and `MPI_Waitall`: barriers, calls and transfers.
pub(crate) fn exchange_ns(
    pattern: HaloPattern, grid: u64, policy: PackingPolicy, machine: &InterfaceModel,
    shape: TorusShape,
) -> f64 {
    let puts = pattern.puts(grid);
    let packing = Packing::new(policy, &puts, machine);
    CALLS_NS + HaloExchange::run(&puts, &packing, machine, shape).transfers_ns
}

/// The published time at the largest grid in microseconds, if the text of the paper has it.
pub(crate) fn published_us(pattern: HaloPattern, policy: PackingPolicy) -> Option<f64> {
    match (pattern, policy) {
        (
            HaloPattern::EastWest,
            PackingPolicy::BottomLeft(_) | PackingPolicy::RoundRobin(2 | 4),
        ) => Some(72.0),
        (HaloPattern::NorthSouth, PackingPolicy::BottomLeft(_)) => Some(74.0),
        (HaloPattern::NorthSouth, PackingPolicy::RoundRobin(4)) => Some(64.0),
        (HaloPattern::NorthSouth, PackingPolicy::RoundRobin(2)) => Some(108.0),
        (HaloPattern::Sides, PackingPolicy::BottomLeft(4)) => Some(86.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time_us(pattern: HaloPattern, grid: u64, policy: PackingPolicy) -> f64 {
        exchange_ns(pattern, grid, policy, &InterfaceModel::TOFU1, PAPER.parse().unwrap()) / 1e3
    }

    #[test]
    fn puts_are_those_of_table_1() {
        let rows = [
            (60, 16_384, 8_192, 1_024),
            (70, 18_944, 9_472, 1_184),
            (80, 21_504, 10_752, 1_344),
            (109, 28_928, 14_464, 1_808),
            (218, 56_832, 28_416, 3_552),
            (327, 84_736, 42_368, 5_296),
            (436, 112_640, 56_320, 7_040),
            (545, 140_544, 70_272, 8_784),
            (654, 168_448, 84_224, 10_528),
            (763, 196_352, 98_176, 12_272),
            (872, 224_256, 112_128, 14_016),
        ];
        assert_eq!(rows.map(|row| row.0), GRIDS);
        for (grid, long, middle, short) in rows {
            let mut lengths: Vec<u64> =
                HaloPattern::All.puts(grid).iter().map(|put| put.bytes).collect();
            lengths.sort_unstable();
            assert_eq!(lengths[..8], [short; 8]);
            assert_eq!(lengths[8..], [middle, middle, middle, middle, long, long]);
        }
    }

    #[test]
    fn one_set_of_parameters_reproduces_the_published_times() {
        let mut compared = 0;
        for pattern in HaloPattern::ALL {
            for policy in PackingPolicy::ALL {
                let Some(wanted) = published_us(pattern, policy) else { continue };
                let found = time_us(pattern, 872, policy);
                assert!((found / wanted - 1.0).abs() < 0.15, "{pattern} {policy}: {found} us");
                compared += 1;
            }
        }
        // Five times, of which the first is that of five policies and the second of three.
        assert_eq!(compared, 5 + 3 + 1 + 1 + 1);
    }

    /// The times at the largest grid increase in this order; those of one group are equal.
    fn rise(pattern: HaloPattern, groups: &[&[PackingPolicy]]) {
        let mut before = 0.0;
        for group in groups {
            let times: Vec<f64> =
                group.iter().map(|policy| time_us(pattern, 872, *policy)).collect();
            for time in &times {
                assert!((time / times[0] - 1.0).abs() < 1e-6, "{pattern} {group:?}: {times:?}");
            }
            assert!(times[0] > before * 1.01, "{pattern} {group:?}: {} us", times[0]);
            before = times[0];
        }
    }

    #[test]
    fn the_order_is_that_of_the_paper() {
        let [rr1, rr2, rr4] = [1, 2, 4].map(PackingPolicy::RoundRobin);
        let [bl1, bl2, bl4] = [1, 2, 4].map(PackingPolicy::BottomLeft);
        rise(HaloPattern::EastWest, &[&[rr2, rr4, bl1, bl2, bl4], &[rr1]]);
        // Two puts on one link are faster than one after another.
        rise(HaloPattern::NorthSouth, &[&[rr4], &[bl1, bl2, bl4], &[rr2], &[rr1]]);
        // Here they are not: all four directions are busy.
        rise(HaloPattern::Sides, &[&[bl1, bl2, bl4], &[rr4], &[rr2], &[rr1]]);
        rise(HaloPattern::Diagonals, &[&[bl4], &[bl2], &[rr4], &[rr2], &[bl1, rr1]]);
        rise(HaloPattern::All, &[&[bl4], &[bl2], &[bl1], &[rr4], &[rr2], &[rr1]]);
    }

    #[test]
    fn short_puts_are_faster_on_fewer_engines() {
        // Figure 13: writing to an engine's queue takes longer than 1 KiB.
        let at = |policy| time_us(HaloPattern::Diagonals, 60, policy);
        assert!(at(PackingPolicy::BottomLeft(2)) < at(PackingPolicy::BottomLeft(4)));
        assert!(at(PackingPolicy::Access) < at(PackingPolicy::BottomLeft(4)));
    }

    #[test]
    fn on_a_torus_the_prediction_of_one_rank_holds_for_all() {
        for pattern in HaloPattern::ALL {
            let puts = pattern.puts(109);
            for policy in PackingPolicy::ALL {
                let packing = Packing::new(policy, &puts, &InterfaceModel::TOFU1);
                let predicted = packing.predicted_ns(&puts, &InterfaceModel::TOFU1);
                let run = HaloExchange::run(
                    &puts,
                    &packing,
                    &InterfaceModel::TOFU1,
                    PAPER.parse().unwrap(),
                );
                assert!((run.transfers_ns - predicted).abs() < 1.0, "{pattern} {policy}");
                assert_eq!(run.transfers.len(), puts.len());
            }
        }
    }
}
