//! Packing: the engine of the interface for each put, and the order of puts on each engine, when a
//! rank starts many puts at once (`MPI_Startall`, neighborhood collectives).
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
//! The policies are those of RSched (Hatanaka, Hori, Ishikawa: "RDMA scheduling", IPSJ SIG Technical
//! Report 2013-HPC-140 No. 17): [`PackingPolicy::RoundRobin`], and [`PackingPolicy::BottomLeft`] with
//! one put at a time in each direction and a limit of simultaneous diagonal puts. The paper leaves
//! [`PackingPolicy::Access`] as an idea: to write to the queue of an engine takes time, so engines that
//! are written later have less time. [`PackingPolicy::Best`] starts from all of these and improves them
//! in a model of flows ([`fluid`]).
//!
//! **Symmetry.** If all ranks start the same puts with the same policy, a rank receives from a
//! direction what it sends in it, at the same time. So the puts of one rank show the load of links
//! further on, and the receiving engine has the number of the sending one: no engine receives two
//! puts at the same time. Engines change when a put arrives, not its data, and not its order among
//! the puts to one rank. So ranks with different policies (`SUIRO_RDMA_SCHEDULE`) remain correct;
//! they only share engines and links less well.
//!
//! This module knows no ranks, addresses and routes: a put has the classes of its links. Equal puts
//! have equal packings on every rank. Units: bytes, nanoseconds, bytes per nanosecond (GB/s).

mod bottom_left;
pub mod fluid;
mod placement;
mod policy;
mod put;
mod search;

pub use placement::{Packing, PutPlacement};
pub use policy::PackingPolicy;
pub use put::{InterfaceModel, Put};

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

    /// All pairs of puts that overlap in time.
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
    fn the_number_of_diagonals_is_limited() {
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
        // The search is slow.
        #![proptest_config(ProptestConfig::with_cases(8))]

        /// Every policy packs each put once, one at a time on each engine.
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

        /// The best is not slower than any other, and nothing is faster than the machine.
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

        /// Bottom-Left keeps directions and diagonals apart, is never longer than one put after another,
        /// and starts every put at time 0 or at the end of another one.
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
