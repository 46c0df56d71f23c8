//! Packing: which engine of the interface transfers what, and in which order, where a rank starts
//! many puts at once (`MPI_Startall`, neighbourhood collectives).
//!
//! ```text
//!   time ▲
//!        │ ┌───┬───┐        an engine transfers one put at a time;
//!        │ │ S │   │        puts in one direction share a link: W beside W is slower,
//!        │ │   ├───┤        W beside N is not
//!        │ ├───┤ N │
//!        │ │ W │   │
//!        └─┴───┴───┴──► engines
//! ```
//!
//! The rules are those of RSched (Hatanaka, Hori, Ishikawa: "RDMA scheduling", IPSJ SIG Technical
//! Report 2013-HPC-140 No. 17): [`PackingPolicy::RoundRobin`], and [`PackingPolicy::BottomLeft`] with nothing at
//! the same time in one direction, and at most so many diagonal puts at once. The paper's open idea
//! is [`PackingPolicy::Access`]: writing to an engine's queue takes time too, so engines that are written
//! to later have less room. [`PackingPolicy::Best`] starts from all of these and improves what a model of
//! flows ([`fluid`]) says takes longest.
//!
//! **Symmetry.** If all ranks start the same puts with the same policy, a rank receives from a
//! direction what it sends in it, at the same time. So the puts of one rank show the load of links
//! further on, and the receiving engine has the number of the sending one: no engine receives two
//! puts at the same time. Engines change when a put arrives, not its data, and not its order among
//! the puts to one rank. So ranks with different policies (`SUIRO_RDMA_SCHEDULE`) remain correct;
//! they only share engines and links less well.
//!
//! It knows no ranks, addresses and routes: a put says which classes of links it passes. Pure: equal
//! puts are packed alike on every rank. Units: bytes, nanoseconds, bytes a nanosecond (GB/s).

pub mod fluid;
mod search;

use std::fmt;

use fluid::{TransferQueue, TransferTime};

/// What is to be put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Put {
    /// How long it is.
    pub bytes: u64,
    /// Where it goes: the same number for those with one way.
    pub direction: u16,
    /// The links it passes, each as the class of links that lead the same way from every rank; a
    /// class as often as its way has such links.
    pub links: Vec<u16>,
}

impl Put {
    /// Whether its way turns, so that it meets puts in other directions.
    pub(crate) fn is_diagonal(&self) -> bool {
        self.links.iter().any(|link| *link != self.links[0])
    }
}

/// How fast an interface is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InterfaceModel {
    /// Engines that send at the same time; as many receive.
    pub engines: u8,
    /// What one put can have.
    pub put_rate: f64,
    /// What a link can have in one direction.
    pub link_rate: f64,
    /// What all puts of a rank together can have.
    pub rank_rate: f64,
    /// Until the commands of one engine are in its queue; the host fills one after another.
    pub access_ns: f64,
    /// Between two puts of an engine.
    pub gap_ns: f64,
}

impl InterfaceModel {
    /// The Tofu interconnect of the K computer: 4 engines, and what makes a model of flows tell the
    /// times of the paper's figures 4, 6 and 8. These are fitted to the times that they explain:
    /// 4.0 from 224,256 bytes in 56 µs (figure 4), 4.875 from two flows on a link of 5 GB/s by name
    /// (figure 6), 13.2 from 897,024 bytes in 68 µs (figure 8), 1 µs from figure 14.
    pub const TOFU1: Self = Self {
        engines: 4,
        put_rate: 4.0,
        link_rate: 4.875,
        rank_rate: 13.2,
        access_ns: 1_000.0,
        gap_ns: 300.0,
    };

    /// How long a put takes an engine if nobody is in its way, rounded up; never 0.
    pub(crate) fn alone_ns(&self, put: &Put) -> u64 {
        ((put.bytes as f64 / self.put_rate + self.gap_ns).ceil() as u64).max(1)
    }
}

/// How engines are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PackingPolicy {
    /// One put after another to so many engines in turn, in the order given.
    RoundRobin(u8),
    /// The longest first, as early as an engine and the direction are free; at most so many diagonal
    /// puts at the same time.
    BottomLeft(u8),
    /// The same with as many diagonal puts as engines, and with the time that writing to each
    /// engine's queue takes as its initial load.
    Access,
    /// The best of all these by a model of flows, improved step by step.
    Best,
}

impl PackingPolicy {
    /// All that have a name.
    pub const ALL: [Self; 8] = [
        Self::RoundRobin(1),
        Self::RoundRobin(2),
        Self::RoundRobin(4),
        Self::BottomLeft(1),
        Self::BottomLeft(2),
        Self::BottomLeft(4),
        Self::Access,
        Self::Best,
    ];

    /// What it is called in settings.
    pub fn name(self) -> String {
        match self {
            Self::RoundRobin(engines) => format!("rr{engines}"),
            Self::BottomLeft(diagonals) => format!("bl{diagonals}"),
            Self::Access => "access".to_owned(),
            Self::Best => "best".to_owned(),
        }
    }

    /// The policy of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.name() == name)
    }
}

impl fmt::Display for PackingPolicy {
    /// As the paper calls it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RoundRobin(engines) => write!(f, "RoundRobin({engines})"),
            Self::BottomLeft(diagonals) => write!(f, "BLbased({diagonals})"),
            Self::Access => f.write_str("BL + access"),
            Self::Best => f.write_str("best"),
        }
    }
}

/// Where a put was packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PutPlacement {
    /// Which engine sends it, and which one receives it.
    pub engine: u8,
    /// When it was meant to start.
    pub start_ns: u64,
    /// When it was meant to be over.
    pub end_ns: u64,
}

/// Puts, packed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packing {
    /// The place of each put, in the order given.
    pub placements: Vec<PutPlacement>,
    /// For each engine, the puts in its order.
    pub queues: Vec<Vec<usize>>,
}

impl Packing {
    /// Packs `puts` for an interface like `machine`.
    pub fn new(policy: PackingPolicy, puts: &[Put], machine: &InterfaceModel) -> Self {
        let all = machine.engines;
        match policy {
            PackingPolicy::RoundRobin(engines) => {
                let engines = usize::from(engines.min(all).max(1));
                let mut queues = vec![Vec::new(); all.max(1).into()];
                (0..puts.len()).for_each(|put| queues[put % engines].push(put));
                Self::stacked(queues, puts, machine)
            }
            PackingPolicy::BottomLeft(diagonals) => bottom_left(puts, machine, diagonals, false),
            PackingPolicy::Access => bottom_left(puts, machine, all, true),
            PackingPolicy::Best => search::best(puts, machine),
        }
    }

    /// Places as they come if each engine does its puts one after another, and none is in the way of
    /// another.
    fn stacked(queues: Vec<Vec<usize>>, puts: &[Put], machine: &InterfaceModel) -> Self {
        let mut placements = vec![PutPlacement { engine: 0, start_ns: 0, end_ns: 0 }; puts.len()];
        for (engine, queue) in queues.iter().enumerate() {
            let mut start_ns = 0;
            for &put in queue {
                let end_ns = start_ns + machine.alone_ns(&puts[put]);
                placements[put] = PutPlacement { engine: engine as u8, start_ns, end_ns };
                start_ns = end_ns;
            }
        }
        Self { placements, queues }
    }

    /// When the last put was meant to be over.
    #[cfg(test)]
    pub(crate) fn makespan_ns(&self) -> u64 {
        self.placements.iter().map(|place| place.end_ns).max().unwrap_or(0)
    }

    /// When each engine has its commands: the host writes to those that have any, one by one.
    pub fn ready_ns<'a>(&'a self, machine: &'a InterfaceModel) -> impl Iterator<Item = f64> + 'a {
        let mut ready_ns = 0.0;
        self.queues.iter().map(move |queue| {
            ready_ns += if queue.is_empty() { 0.0 } else { machine.access_ns };
            ready_ns
        })
    }

    /// When each put starts and ends if all ranks run this packing at the same time, without
    /// barriers: the model of flows.
    pub(crate) fn predicted(&self, puts: &[Put], machine: &InterfaceModel) -> Vec<TransferTime> {
        let classes = puts.iter().flat_map(|put| &put.links).max().map_or(0, |most| most + 1);
        let mut capacity = vec![machine.link_rate; classes.into()];
        capacity.push(machine.rank_rate);
        let queues = self.queues.iter().zip(self.ready_ns(machine)).map(|(queue, ready_ns)| {
            let flows = queue.iter().map(|&put| {
                let links = puts[put].links.iter().map(|&link| u32::from(link));
                (puts[put].bytes as f64, links.chain([u32::from(classes)]).collect())
            });
            TransferQueue { ready_ns, flows: flows.collect() }
        });
        let queues: Vec<TransferQueue> = queues.collect();
        let by_engine = fluid::run(&queues, capacity, machine.put_rate, machine.gap_ns);
        let mut spans = vec![TransferTime::default(); puts.len()];
        for (queue, of_engine) in self.queues.iter().zip(by_engine) {
            for (&put, span) in queue.iter().zip(of_engine) {
                spans[put] = span;
            }
        }
        spans
    }

    /// When the last put is over in the model of flows.
    pub fn predicted_ns(&self, puts: &[Put], machine: &InterfaceModel) -> f64 {
        self.predicted(puts, machine).iter().map(|span| span.end_ns).fold(0.0, f64::max)
    }
}

/// Times that are taken, in order; they may overlap.
#[derive(Clone, Debug, Default)]
struct BusyIntervals(Vec<(u64, u64)>);

impl BusyIntervals {
    fn take(&mut self, start: u64, end: u64) {
        let at = self.0.partition_point(|taken| taken.0 < start);
        self.0.insert(at, (start, end));
    }

    /// The first time from `from` on at which `length` overlaps fewer than `most` others at any
    /// moment.
    fn earliest(&self, mut from: u64, length: u64, most: usize) -> u64 {
        loop {
            let end = from + length;
            let beside = || self.0.iter().filter(move |taken| taken.0 < end && taken.1 > from);
            // More begin only where one does, so these are the moments to look at.
            let moments = beside().map(|taken| taken.0.max(from));
            let is_full =
                |at: u64| beside().filter(|taken| taken.0 <= at && taken.1 > at).count() >= most;
            let Some(full) = moments.filter(|&at| is_full(at)).min() else { return from };
            let ends = beside().filter(|taken| taken.0 <= full && taken.1 > full);
            from = ends.map(|taken| taken.1).min().unwrap_or(end);
        }
    }
}

/// Bottom-Left: by falling length, then by direction, each put as early as its engine and its
/// direction are free and not too many diagonal ones are under way, on the first such engine.
fn bottom_left(
    puts: &[Put], machine: &InterfaceModel, diagonals: u8, counts_access: bool,
) -> Packing {
    let engines = usize::from(machine.engines.max(1));
    let mut order: Vec<usize> = (0..puts.len()).collect();
    order.sort_by_key(|&put| (std::cmp::Reverse(puts[put].bytes), puts[put].direction));
    let directions = puts.iter().map(|put| usize::from(put.direction) + 1).max().unwrap_or(0);
    let mut on_engine = vec![BusyIntervals::default(); engines];
    if counts_access {
        for (engine, lane) in on_engine.iter_mut().enumerate() {
            lane.take(0, ((engine + 1) as f64 * machine.access_ns).ceil() as u64);
        }
    }
    let mut in_direction = vec![BusyIntervals::default(); directions];
    let mut diagonal = BusyIntervals::default();
    let mut places = vec![PutPlacement { engine: 0, start_ns: 0, end_ns: 0 }; puts.len()];
    for put in order {
        let Put { direction, .. } = puts[put];
        let (length, turns) = (machine.alone_ns(&puts[put]), puts[put].is_diagonal());
        let lane = &mut in_direction[usize::from(direction)];
        let earliest = |engine: &BusyIntervals| {
            let mut at = 0;
            loop {
                let mut next = lane.earliest(engine.earliest(at, length, 1), length, 1);
                if turns {
                    next = diagonal.earliest(next, length, usize::from(diagonals.max(1)));
                }
                if next == at {
                    return at;
                }
                at = next;
            }
        };
        let starts = on_engine.iter().map(earliest).enumerate();
        let (engine, start_ns) = starts.min_by_key(|&(engine, at)| (at, engine)).unwrap_or((0, 0));
        let end_ns = start_ns + length;
        on_engine[engine].take(start_ns, end_ns);
        lane.take(start_ns, end_ns);
        if turns {
            diagonal.take(start_ns, end_ns);
        }
        places[put] = PutPlacement { engine: engine as u8, start_ns, end_ns };
    }
    let mut queues = vec![Vec::new(); engines];
    let mut by_start: Vec<usize> = (0..puts.len()).collect();
    by_start.sort_by_key(|&put| places[put].start_ns);
    by_start.into_iter().for_each(|put| queues[usize::from(places[put].engine)].push(put));
    Packing { placements: places, queues }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MACHINE: InterfaceModel = InterfaceModel::TOFU1;

    /// Directions 0 to 3 are straight, 4 to 7 diagonal.
    fn put(bytes: u64, direction: u16) -> Put {
        let links = match direction {
            0..4 => vec![direction],
            _ => vec![direction % 2, 2 + direction / 2 % 2],
        };
        Put { bytes, direction, links }
    }

    fn engines(packing: &Packing) -> Vec<u8> {
        packing.placements.iter().map(|place| place.engine).collect()
    }

    /// Every two puts that overlap in time.
    fn pairs(packing: &Packing) -> impl Iterator<Item = (usize, usize)> {
        let places = &packing.placements;
        let overlap = |one: &PutPlacement, two: &PutPlacement| {
            one.start_ns.max(two.start_ns) < one.end_ns.min(two.end_ns)
        };
        (0..places.len()).flat_map(move |one| {
            let rest =
                (one + 1..places.len()).filter(move |&two| overlap(&places[one], &places[two]));
            rest.map(move |two| (one, two))
        })
    }

    #[test]
    fn round_robin_takes_engines_in_turn() {
        let puts = [put(8, 0), put(8, 1), put(8, 2), put(8, 3), put(8, 0)];
        let of = |policy| engines(&Packing::new(policy, &puts, &MACHINE));
        assert_eq!(of(PackingPolicy::RoundRobin(1)), [0, 0, 0, 0, 0]);
        assert_eq!(of(PackingPolicy::RoundRobin(2)), [0, 1, 0, 1, 0]);
        assert_eq!(of(PackingPolicy::RoundRobin(4)), [0, 1, 2, 3, 0]);
    }

    #[test]
    fn four_sides_are_four_columns() {
        // As in the paper's figure 7: east, west, both to the north and both to the south.
        let puts =
            [put(2000, 0), put(2000, 1), put(1000, 2), put(1000, 2), put(1000, 3), put(1000, 3)];
        let packing = Packing::new(PackingPolicy::BottomLeft(4), &puts, &MACHINE);
        assert_eq!(engines(&packing), [0, 1, 2, 2, 3, 3]);
        assert_eq!(packing.makespan_ns(), 2 * MACHINE.alone_ns(&puts[2]));
    }

    #[test]
    fn as_many_diagonals_as_asked_for() {
        let puts: Vec<Put> =
            (4..8).flat_map(|direction| [put(1000, direction), put(1000, direction)]).collect();
        for most in [1, 2, 4] {
            let packing = Packing::new(PackingPolicy::BottomLeft(most), &puts, &MACHINE);
            let height = MACHINE.alone_ns(&puts[0]) * 8 / u64::from(most);
            assert_eq!(packing.makespan_ns(), height, "{most}");
            assert_eq!(engines(&packing).into_iter().max(), Some(most - 1));
        }
    }

    #[test]
    fn short_puts_share_an_engine_where_access_counts() {
        let puts: Vec<Put> = (4..8).map(|direction| put(1000, direction)).collect();
        let used = |policy| {
            let packing = Packing::new(policy, &puts, &MACHINE);
            packing.queues.iter().filter(|queue| !queue.is_empty()).count()
        };
        assert_eq!((used(PackingPolicy::BottomLeft(4)), used(PackingPolicy::Access)), (4, 2));
    }

    #[test]
    fn names_are_read_as_written() {
        for policy in PackingPolicy::ALL {
            assert_eq!(PackingPolicy::from_name(&policy.name()), Some(policy));
        }
        assert_eq!(PackingPolicy::from_name("rr3"), None);
        assert_eq!(Packing::new(PackingPolicy::Best, &[], &MACHINE).makespan_ns(), 0);
    }

    fn some_puts() -> impl Strategy<Value = Vec<Put>> {
        prop::collection::vec((0_u64..300_000, 0_u16..8), 1..20)
            .prop_map(|puts| puts.into_iter().map(|(bytes, way)| put(bytes, way)).collect())
    }

    proptest! {
        // The search takes its time.
        #![proptest_config(ProptestConfig::with_cases(8))]

        /// One put an engine at a time, under every policy, and each put once.
        #[test]
        fn an_engine_has_one_put_at_a_time(puts in some_puts()) {
            for policy in PackingPolicy::ALL {
                let packing = Packing::new(policy, &puts, &MACHINE);
                for (one, two) in pairs(&packing) {
                    let places = &packing.placements;
                    prop_assert_ne!(places[one].engine, places[two].engine, "{}", policy);
                }
                let mut all: Vec<usize> = packing.queues.concat();
                all.sort_unstable();
                prop_assert_eq!(all, (0..puts.len()).collect::<Vec<_>>());
            }
        }

        /// The best is not slower than any, and nothing is faster than the machine.
        #[test]
        fn nothing_is_better_than_the_best(puts in some_puts()) {
            let time = |policy| Packing::new(policy, &puts, &MACHINE).predicted_ns(&puts, &MACHINE);
            let best = time(PackingPolicy::Best);
            for policy in PackingPolicy::ALL {
                prop_assert!(best <= time(policy) + 1e-3, "{}: {} < {best}", policy, time(policy));
            }
            let bytes: u64 = puts.iter().map(|put| put.bytes).sum();
            let link = |link: u16| -> u64 {
                puts.iter().filter(|put| put.links.contains(&link)).map(|put| put.bytes).sum()
            };
            let busiest = (0..4).map(link).max().unwrap_or(0) as f64;
            let longest = puts.iter().map(|put| put.bytes).max().unwrap_or(0) as f64;
            let bound = (bytes as f64 / MACHINE.rank_rate)
                .max(busiest / MACHINE.link_rate)
                .max(longest / MACHINE.put_rate);
            prop_assert!(best >= bound + MACHINE.access_ns - 1.0);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        /// Bottom-Left keeps directions and diagonals apart, and wastes little: never longer than
        /// everything in turn, and every put but the first starts when something ends.
        #[test]
        fn bottom_left_keeps_its_rules(puts in some_puts()) {
            let sum: u64 = puts.iter().map(|put| MACHINE.alone_ns(put)).sum();
            for most in [1, 2, 4] {
                let packing = Packing::new(PackingPolicy::BottomLeft(most), &puts, &MACHINE);
                for (one, two) in pairs(&packing) {
                    prop_assert_ne!(puts[one].direction, puts[two].direction);
                }
                for place in &packing.placements {
                    let diagonals = puts.iter().zip(&packing.placements).filter(|(put, other)| {
                        put.is_diagonal()
                            && other.start_ns <= place.start_ns
                            && other.end_ns > place.start_ns
                    });
                    prop_assert!(diagonals.count() <= most.into());
                    let starts_at_an_end = packing.placements.iter().any(|other| other.end_ns == place.start_ns);
                    prop_assert!(place.start_ns == 0 || starts_at_an_end);
                }
                let longest = puts.iter().map(|put| MACHINE.alone_ns(put)).max();
                let bound = longest.max(Some(sum.div_ceil(4))).unwrap();
                prop_assert!((bound..=sum).contains(&packing.makespan_ns()));
            }
        }
    }
}
