//! From a request to the processors of each rank.
//!
//! ```text
//!   objects of --map-by --slots--> (object, index) of each rank
//!        objects of --bind-to by index --> processors --rank-by--> order of ranks
//! ```
//!
//! If ranks are bound to smaller objects than they are mapped to, each rank gets the next of these;
//! if to larger ones, the object around it. Without `--map-by`, the host is the only object.
//!
//! Ranks are bound only on request, with three exceptions:
//!
//! 1. Ranks that are mapped by objects are bound to them, as in Open MPI.
//! 2. Ranks that exactly fill the usable processors with their threads (`OMP_NUM_THREADS`) are bound
//!    to one core (or hardware thread) for each thread, so that their memory stays near. Ranks that
//!    do not fill them are not bound: two such jobs on one host would share some cores while others
//!    are idle, as on laptops and in continuous integration. Jobs that fill them share every core.
//! 3. Ranks of one thread each whose number is a multiple of the processors time-share them (rank r
//!    on processor r modulo their number). Waiting ranks yield and look busy to the scheduler, which
//!    otherwise leaves five of eight on one of two processors, or migrates them at each wake-up.
//!
//! Otherwise no hardware thread gets more than one thread.
//!
//! Measurements on two busy cores, jobs of two ranks, medians of 7 in milliseconds, bound and not
//! bound. CG of the NAS Parallel Benchmarks, class W: one job 325 and 354, two at the same time 899
//! and 942, three 1,479 and 1,655. The worst case, a job in which one rank computes while the other
//! waits: one 708 and 622, two 1,076 and 981. With 8 ranks on the two cores, medians of 4 in Mop/s,
//! bound and not bound: CG, class S, 1,667 and 1,185; MG 1,101 and 822; IS 101 and 70; a wavefront of
//! small messages 870 and 758.

use std::collections::{HashMap, HashSet};

use crate::{LaunchError, USAGE};
use platform::sys::topology::{CpuTopology, HardwareLevel, format_list};

use super::files::{Rankfile, pick};
use super::request::{Binding, PlacementRequest, RankMapping};
use super::slots::{self, PlacementSlot};

/// The processors of the ranks of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Placement {
    /// The processors of each rank that is bound.
    pub processors: Vec<Option<Vec<usize>>>,
    /// The host of each rank, by its index in the list of hosts; empty if the list has one host.
    pub host_of_rank: Vec<u32>,
    /// A note for the user.
    pub note: Option<String>,
}

impl Placement {
    /// The host of `rank`, by its index in the list of hosts.
    pub(crate) fn host_of(&self, rank: usize) -> usize {
        self.host_of_rank.get(rank).map_or(0, |host| *host as usize)
    }

    /// The processors of `rank`, if it is bound.
    pub(crate) fn of_rank(&self, rank: u32) -> Option<&[usize]> {
        self.processors.get(rank as usize)?.as_deref()
    }
}

/// The number of processors of ranks with these, if all are bound.
pub(crate) fn total_processors<'a>(
    ranks: impl Iterator<Item = Option<&'a [usize]>>,
) -> Option<usize> {
    let sets: Option<Vec<_>> = ranks.collect();
    Some(sets?.concat().into_iter().collect::<HashSet<_>>().len())
}

/// Whether ranks may be bound without a request on this many usable processors.
pub(crate) fn may_fill(ranks: usize, threads: usize, processors: usize) -> bool {
    // No core has more hardware threads.
    const THREADS_OF_A_CORE_MAX: usize = 8;
    let busy = ranks.saturating_mul(threads);
    (processors.div_ceil(THREADS_OF_A_CORE_MAX)..=processors).contains(&busy)
        || is_time_shared(ranks, threads, processors)
}

/// Whether the ranks are a multiple, at least two, of the processors.
fn is_time_shared(ranks: usize, threads: usize, processors: usize) -> bool {
    threads == 1 && processors > 1 && ranks > processors && ranks.is_multiple_of(processors)
}

/// Places `ranks` ranks of `threads` threads each.
///
/// # Errors
/// The host cannot satisfy the request; names what is missing.
pub(crate) fn place(
    request: &PlacementRequest, topology: &CpuTopology, ranks: usize, threads: usize,
) -> Result<Placement, LaunchError> {
    let free = Placement { processors: vec![None; ranks], ..Placement::default() };
    if topology.processors().is_empty() || ranks == 0 {
        return Ok(free);
    }
    let placing = Placer { request, topology, unit: request.unit(), ranks, threads };
    match placing.place() {
        Err(_) if request.if_possible => Ok(free),
        placed => placed.map_err(|why| LaunchError::new(USAGE, why)),
    }
}

/// Objects that each rank is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BindingTarget {
    level: HardwareLevel,
    /// Number of adjacent objects.
    width: usize,
    /// Whether the user requested it.
    explicit: bool,
    /// Whether ranks time-share the objects without a request.
    time_shared: bool,
}

impl BindingTarget {
    /// The cores (or hardware threads) of each rank that the user requested.
    fn needs(self) -> Option<usize> {
        let needs = if self.level < HardwareLevel::Core { 1 } else { self.width };
        self.explicit.then_some(needs)
    }
}

struct Placer<'a> {
    request: &'a PlacementRequest,
    topology: &'a CpuTopology,
    unit: HardwareLevel,
    ranks: usize,
    threads: usize,
}

type ProcessorSets = Vec<Option<Vec<usize>>>;

impl Placer<'_> {
    fn place(&self) -> Result<Placement, String> {
        let units = self.topology.objects(self.unit);
        if self.request.oversubscribe == Some(false) && self.ranks > units.len() {
            let (ranks, count, name) = (self.ranks, units.len(), self.unit.name());
            return Err(format!("nooversubscribe: {ranks} ranks, but {count} usable {name}s"));
        }
        let sets = match (&self.request.binding, &self.request.mapping) {
            (Some(Binding::Nothing), _) => vec![None; self.ranks],
            (Some(Binding::Lists(lists)), _) => self.user(lists)?,
            (_, Some(RankMapping::RankfileRanks(ranks))) => self.of_file(ranks)?,
            (binding, Some(RankMapping::List { units: numbers, ordered })) => {
                let all = pick(numbers, self.unit, &units)?;
                if let (Some(_), false) = (binding, ordered) {
                    return self.within(&all);
                }
                let set = |rank: usize| match ordered {
                    true => units[numbers[rank % numbers.len()]].clone(),
                    false => all.clone(),
                };
                (0..self.ranks).map(|rank| Some(set(rank))).collect()
            }
            _ => return self.mapped(),
        };
        self.checked(sets, Some(1))
    }

    /// Places on these processors only.
    fn within(&self, processors: &[usize]) -> Result<Placement, String> {
        let request = PlacementRequest { mapping: None, ..self.request.clone() };
        let topology = self.topology.within(processors);
        Placer { request: &request, topology: &topology, ..*self }.place()
    }

    /// The processors of each rank by `--bind-to user:LIST`.
    fn user(&self, lists: &[Vec<usize>]) -> Result<ProcessorSets, String> {
        let usable = self.topology.processors();
        match lists.iter().flatten().find(|number| !usable.contains(number)) {
            None => Ok((0..self.ranks).map(|rank| lists.get(rank).cloned()).collect()),
            Some(number) => {
                let usable = format_list(&usable);
                Err(format!("processor {number} is not usable; usable processors: {usable}"))
            }
        }
    }

    fn of_file(&self, ranks: &Rankfile) -> Result<ProcessorSets, String> {
        let set = |rank: usize| {
            let line = ranks.get(&rank);
            let slots = line.ok_or_else(|| format!("the rankfile has no line for rank {rank}"))?;
            let wrong = |why| format!("the rankfile, rank {rank}: {why}");
            let found = slots.1.as_ref().map(|slots| slots.processors(self.unit, self.topology));
            found.transpose().map_err(wrong)
        };
        (0..self.ranks).map(set).collect()
    }

    /// Places ranks on the objects of `--map-by`.
    fn mapped(&self) -> Result<Placement, String> {
        let Some(target) = self.target()? else {
            return Ok(Placement { processors: vec![None; self.ranks], ..Placement::default() });
        };
        let objects = self.objects(target);
        let choices: Vec<_> = objects.iter().map(|object| self.choices(object, target)).collect();
        let slots = self.slots(&objects, target, &choices);
        let set = |slot: &PlacementSlot| {
            choices[slot.object][slot.index % choices[slot.object].len()].clone()
        };
        let mut places: Vec<_> = slots.iter().map(|slot| (*slot, set(slot))).collect();
        slots::sort_by_rank_order(&mut places, self.request.ranking, |set, level| {
            let objects = self.topology.objects(level);
            objects.iter().position(|object| object.contains(&set[0])).unwrap_or(0)
        });
        let sets = places.into_iter().map(|(_, set)| Some(set)).collect();
        if target.time_shared {
            return Ok(Placement { processors: sets, ..Placement::default() });
        }
        self.checked(sets, target.needs())
    }

    /// The binding of ranks, requested or implicit.
    fn target(&self) -> Result<Option<BindingTarget>, String> {
        let explicit =
            |level, width| Some(BindingTarget { level, width, explicit: true, time_shared: false });
        let target = match (&self.request.binding, self.request.width) {
            (
                Some(Binding::Level { level: HardwareLevel::Core | HardwareLevel::Thread, .. })
                | None,
                Some(width),
            ) => explicit(self.unit, width),
            (Some(Binding::Level { level, .. }), Some(width)) => {
                let name = level.name();
                return Err(format!(
                    "--map-by :PE={width} binds ranks to {width} cores, --bind-to to a {name}; \
                    remove one of them"
                ));
            }
            (Some(Binding::Level { level, count }), None) => explicit(*level, *count),
            _ => self.implicit(),
        };
        let Some(BindingTarget { level, width, .. }) = target else { return Ok(None) };
        let count = self.topology.objects(level).len();
        if width > count {
            let name = level.name();
            return Err(format!("requested {width} {name}s for each rank; {count} are usable"));
        }
        Ok(target)
    }

    /// The binding without a request.
    fn implicit(&self) -> Option<BindingTarget> {
        let implicit =
            |level, width| BindingTarget { level, width, explicit: false, time_shared: false };
        match self.request.mapping {
            Some(RankMapping::Level { level, group }) if level != HardwareLevel::Machine => {
                Some(implicit(level, group))
            }
            Some(RankMapping::PerObject { level, .. }) => Some(implicit(level, 1)),
            _ => {
                let busy = self.ranks.checked_mul(self.threads)?;
                let levels = [HardwareLevel::Core, HardwareLevel::Thread];
                let filled = levels.into_iter().find(|level| {
                    let allowed =
                        *level == HardwareLevel::Thread || self.unit == HardwareLevel::Core;
                    allowed && self.topology.objects(*level).len() == busy
                });
                filled.map(|level| implicit(level, self.threads)).or_else(|| self.time_shared())
            }
        }
    }

    /// One hardware thread for each rank, with equally many ranks on each.
    fn time_shared(&self) -> Option<BindingTarget> {
        let processors = self.topology.objects(HardwareLevel::Thread).len();
        let refused = self.request.overload == Some(false) || self.request.mapping.is_some();
        let time_shared = !refused && is_time_shared(self.ranks, self.threads, processors);
        time_shared.then_some(BindingTarget {
            level: HardwareLevel::Thread,
            width: 1,
            explicit: false,
            time_shared,
        })
    }

    /// The objects that ranks are mapped to, each as its processors.
    fn objects(&self, target: BindingTarget) -> Vec<Vec<usize>> {
        let all = || vec![self.topology.processors()];
        match &self.request.mapping {
            Some(RankMapping::Level { level, group }) => {
                let objects = self.topology.objects(*level);
                let groups: Vec<_> = objects.chunks(*group).map(<[_]>::concat).collect();
                let enough = |object: &Vec<usize>| {
                    self.topology.objects_in(target.level, object).len() >= target.width
                };
                // If a rank needs more than one object, it gets adjacent ones of the whole host.
                let fits = target.level < *level || groups.iter().all(enough);
                if fits { groups } else { all() }
            }
            Some(RankMapping::PerObject { level, .. }) => self.topology.objects(*level),
            Some(RankMapping::Slot) if target.level < self.unit => self.topology.objects(self.unit),
            _ => all(),
        }
    }

    /// The sets of processors for the ranks of `object`, by index.
    fn choices(
        &self, object: &[usize], BindingTarget { level, width, .. }: BindingTarget,
    ) -> Vec<Vec<usize>> {
        let inside = self.topology.objects_in(level, object);
        if inside.len() >= width.max(2) {
            return inside.chunks_exact(width).map(<[_]>::concat).collect();
        }
        // The object around this one, and its neighbours if more are needed.
        let objects = self.topology.objects(level);
        let first = objects.iter().position(|other| other.contains(&object[0])).unwrap_or(0);
        let start = (first / width * width).min(objects.len() - width);
        vec![objects[start..start + width].concat()]
    }

    /// The slot of each rank.
    fn slots(
        &self, objects: &[Vec<usize>], target: BindingTarget, choices: &[Vec<Vec<usize>>],
    ) -> Vec<PlacementSlot> {
        if let Some(RankMapping::PerObject { count, .. }) = self.request.mapping {
            return slots::in_blocks(objects.len(), count, self.ranks);
        }
        let capacity = |(object, choices): (&Vec<usize>, &Vec<Vec<usize>>)| match target.level {
            HardwareLevel::Core | HardwareLevel::Thread => choices.len(),
            _ => self.topology.objects_in(self.unit, object).len(),
        };
        let capacities: Vec<_> = objects.iter().zip(choices).map(capacity).collect();
        slots::in_rounds(&capacities, self.ranks)
    }

    /// Checks for overloaded processors. Ranks for which the user requested what they `need` are bound
    /// nevertheless, with a note; otherwise no rank is bound.
    fn checked(&self, sets: ProcessorSets, needs: Option<usize>) -> Result<Placement, String> {
        let over = self.overloaded(&sets, needs);
        let placed = |processors, note| Ok(Placement { processors, note, ..Placement::default() });
        if over.is_empty() {
            return placed(sets, None);
        }
        if needs.is_none() {
            return placed(vec![None; self.ranks], None);
        }
        let over = format_list(&over);
        let why = format!("more ranks than cores are bound to the processors {over}");
        match self.request.overload {
            Some(true) => placed(sets, None),
            Some(false) => Err(format!("--bind-to :no-overload: {why}")),
            None => {
                placed(sets, Some(format!("{why} (--bind-to :overload-allowed omits this note)")))
            }
        }
    }

    /// The processors with more load than 1.
    fn overloaded(&self, sets: &ProcessorSets, needs: Option<usize>) -> Vec<usize> {
        let mut loads: HashMap<usize, f64> = HashMap::new();
        for set in sets.iter().flatten() {
            let load = match needs {
                Some(needs) => needs as f64 / self.topology.objects_in(self.unit, set).len() as f64,
                None => self.threads as f64 / set.len() as f64,
            };
            for processor in set {
                *loads.entry(*processor).or_default() += load;
            }
        }
        // Sums of fractions have rounding errors.
        loads.into_iter().filter(|(_, load)| *load > 1.000_001).map(|(number, _)| number).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::placement::machines::{big, two_packages};

    /// The request of a line such as `--map-by core --bind-to numa`.
    fn request(line: &str) -> PlacementRequest {
        let mut request = PlacementRequest::default();
        let mut words = line.split_whitespace();
        while let (Some(option), Some(word)) = (words.next(), words.next()) {
            let taken = match option {
                "--map-by" => request.map_by(word),
                "--bind-to" => request.bind_to(word),
                "--rank-by" => request.rank_by(word),
                _ => panic!("{option}"),
            };
            taken.unwrap_or_else(|error| panic!("{}", error.why));
        }
        request
    }

    fn placed(topology: &CpuTopology, line: &str, ranks: usize) -> Placement {
        place(&request(line), topology, ranks, 1).unwrap_or_else(|error| panic!("{}", error.why))
    }

    /// The processors of all ranks; `-` for a rank that is not bound.
    fn picture(placement: &Placement) -> String {
        let set = |set: &Option<Vec<usize>>| set.as_deref().map_or("-".into(), format_list);
        placement.processors.iter().map(set).collect::<Vec<_>>().join(" ")
    }

    /// On two packages of two NUMA nodes, each with an L3 and four cores of two threads; the
    /// threads of core N are N and N + 16. Observed with MPICH 5.0.2 (the first group) and Open MPI
    /// 5.0.11 (the second) with the same machine described to hwloc.
    #[test]
    fn placements_are_those_of_the_other_launchers() {
        for (line, places) in [
            ("--bind-to core", "0,16 1,17 2,18 3,19 4,20 5,21"),
            ("--bind-to core:2", "0-1,16-17 2-3,18-19 4-5,20-21 6-7,22-23 8-9,24-25 10-11,26-27"),
            ("--bind-to socket", "0-7,16-23 8-15,24-31 0-7,16-23 8-15,24-31 0-7,16-23 8-15,24-31"),
            ("--bind-to hwthread", "0 16 1 17 2 18"),
            ("--bind-to rr", "0 16 1 17 2 18"),
            ("--bind-to core --map-by socket", "0,16 8,24 1,17 9,25 2,18 10,26"),
            ("--bind-to hwthread --map-by numa", "0 4 8 12 16 20"),
            (
                "--bind-to numa --map-by core",
                "0-3,16-19 0-3,16-19 0-3,16-19 0-3,16-19 4-7,20-23 4-7,20-23",
            ),
            ("--bind-to user:0+2,1", "0,2 1 - - - -"),
            ("--map-by package --bind-to core --rank-by fill", "0,16 1,17 2,18 8,24 9,25 10,26"),
            ("--map-by package --bind-to core --rank-by span", "0,16 8,24 1,17 9,25 2,18 10,26"),
            ("--map-by numa --rank-by slot --bind-to core", "0,16 4,20 8,24 12,28 1,17 5,21"),
            (
                "--map-by numa:PE=2 --rank-by fill",
                "0-1,16-17 2-3,18-19 4-5,20-21 6-7,22-23 8-9,24-25 12-13,28-29",
            ),
            ("--map-by slot:PE=2", "0-1,16-17 2-3,18-19 4-5,20-21 6-7,22-23 8-9,24-25 10-11,26-27"),
            (
                "--map-by slot --bind-to package",
                "0-7,16-23 0-7,16-23 0-7,16-23 0-7,16-23 0-7,16-23 0-7,16-23",
            ),
            ("--map-by hwthread --bind-to hwthread", "0 16 1 17 2 18"),
            ("--map-by pe-list=0,2,4,6,8,10:ordered", "0,16 2,18 4,20 6,22 8,24 10,26"),
            ("--map-by node --bind-to core", "0,16 1,17 2,18 3,19 4,20 5,21"),
            ("--bind-to none", "- - - - - -"),
            ("--map-by core --bind-to none", "- - - - - -"),
            ("--bind-to core:if-supported", "0,16 1,17 2,18 3,19 4,20 5,21"),
        ] {
            assert_eq!(picture(&placed(&big(), line, 6)), places, "{line}");
        }
    }

    #[test]
    fn ranks_mapped_by_objects_are_bound_to_them_if_they_fit() {
        for (line, ranks, places) in [
            ("--map-by core", 2, "0,16 1,17"),
            ("--map-by hwthread", 2, "0 16"),
            ("--map-by L3", 3, "0-3,16-19 4-7,20-23 8-11,24-27"),
            ("--map-by package:PE=4", 3, "0-3,16-19 8-11,24-27 4-7,20-23"),
            ("--map-by core:2", 2, "0-1,16-17 2-3,18-19"),
            ("--map-by core:PE=3", 2, "0-2,16-18 3-5,19-21"),
            ("--map-by ppr:2:package:PE=2", 4, "0-1,16-17 2-3,18-19 8-9,24-25 10-11,26-27"),
            ("--map-by ppr:2:package --rank-by span --bind-to core", 4, "0,16 8,24 1,17 9,25"),
            ("--map-by ppr:2:core", 3, "0,16 0,16 1,17"),
            ("--map-by ppr:3:core", 3, "- - -"),
            ("--map-by pe-list=1-2", 2, "1-2,17-18 1-2,17-18"),
            ("--map-by pe-list=1-2 --bind-to core", 2, "1,17 2,18"),
            ("--map-by pe-list=1-2:hwtcpus", 1, "1,16"),
            ("--map-by slot", 2, "- -"),
            ("--map-by node", 2, "- -"),
        ] {
            assert_eq!(picture(&placed(&big(), line, ranks)), places, "{line}");
        }
        // More ranks than hardware threads: not bound.
        assert!(placed(&big(), "--map-by numa", 33).processors.iter().all(Option::is_none));
        let packed = place(&request("--map-by core"), &big(), 2, 3).unwrap();
        assert_eq!(picture(&packed), "- -");
    }

    #[test]
    fn without_a_request_only_ranks_that_fill_the_processors_are_bound() {
        let machine = two_packages(2);
        let request = PlacementRequest::default();
        for (ranks, threads, places) in [
            (1, 1, "-"),
            (3, 1, "- - -"),
            (4, 1, "0,4 1,5 2,6 3,7"),
            (2, 2, "0-1,4-5 2-3,6-7"),
            (8, 1, "0 4 1 5 2 6 3 7"),
            (4, 2, "0,4 1,5 2,6 3,7"),
            (9, 1, "- - - - - - - - -"),
            (2, usize::MAX, "- -"),
            (16, 1, "0 4 1 5 2 6 3 7 0 4 1 5 2 6 3 7"),
            (16, 2, "- - - - - - - - - - - - - - - -"),
        ] {
            let placement = place(&request, &machine, ranks, threads).unwrap();
            assert_eq!(picture(&placement), places, "{ranks} x {threads}");
            assert_eq!(placement.note, None);
            assert!(places.contains('-') && !places.contains(',') || may_fill(ranks, threads, 8));
        }
        assert!(!may_fill(1, 1, 16) && may_fill(2, 1, 16) && !may_fill(17, 1, 16));
        assert!(may_fill(32, 1, 16) && !may_fill(32, 2, 16) && !may_fill(8, 1, 1));
    }

    #[test]
    fn too_many_on_a_core_is_noted_unless_allowed_or_refused() {
        let machine = two_packages(1);
        let noted = placed(&machine, "--bind-to core", 5);
        assert_eq!(picture(&noted), "0 1 2 3 0");
        assert!(noted.note.unwrap().contains("processors 0 "));
        for line in ["--bind-to core:overload-allowed", "--bind-to none", "--bind-to package"] {
            assert_eq!(placed(&machine, line, 4).note, None, "{line}");
        }
        let allowed = placed(&machine, "--bind-to core:overload-allowed", 5);
        assert_eq!((picture(&allowed).as_str(), &allowed.note), ("0 1 2 3 0", &None));
        assert!(placed(&machine, "--bind-to package", 5).note.is_some());
        assert!(place(&request("--bind-to core:no-overload"), &machine, 5, 1).is_err());
        let total = |placement: &Placement| {
            total_processors(placement.processors.iter().map(Option::as_deref))
        };
        assert_eq!((total(&allowed), total(&placed(&machine, "", 3))), (Some(4), None));
        // Two threads of a core are two slots only with hwtcpus.
        assert!(placed(&two_packages(2), "--bind-to core", 5).note.is_some());
        assert_eq!(placed(&two_packages(2), "--bind-to core --map-by :hwtcpus", 5).note, None);
    }

    #[test]
    fn missing_objects_are_named() {
        let machine = two_packages(1);
        for (line, named) in [
            ("--bind-to core:5", "requested 5 cores for each rank; 4 are usable"),
            ("--map-by :PE=5", "requested 5 cores for each rank; 4 are usable"),
            ("--map-by package:PE=2 --bind-to package", "remove one of them"),
            ("--bind-to user:0,7", "processor 7 is not usable; usable processors: 0-3"),
            ("--map-by pe-list=2,9", "there is no core 9"),
            ("--map-by :nooversubscribe", "6 ranks, but 4 usable cores"),
        ] {
            let error = place(&request(line), &machine, 6, 1).unwrap_err();
            assert_eq!(error.code, USAGE);
            assert!(error.why.contains(named), "{line}: {}", error.why);
            let optional = request(&format!("{line} --bind-to :if-supported"));
            let placement = place(&optional, &machine, 6, 1).unwrap();
            assert_eq!(picture(&placement), "- - - - - -", "{line}");
        }
        let nothing = CpuTopology::read(&[], &|_| None);
        assert_eq!(picture(&placed(&nothing, "--bind-to core", 2)), "- -");
    }

    #[test]
    fn a_rankfile_places_its_ranks() {
        let mut request = request("--map-by rankfile:file=x");
        let text = "rank 1=a slot=0:1\nrank 0=a slot=2-3\nrank 2=a\n";
        request.read_files(&|_| Ok(text.to_owned()), &mut |_| Ok(0), &[]).unwrap();
        let machine = two_packages(2);
        assert_eq!(picture(&place(&request, &machine, 3, 1).unwrap()), "2-3,6-7 1,5 -");
        assert!(place(&request, &machine, 4, 1).unwrap_err().why.contains("no line for rank 3"));
    }

    proptest! {
        #[test]
        fn every_rank_is_placed_where_it_may_be(
            allowed in proptest::collection::btree_set(0usize..32, 1..32),
            map in "(core|slot|hwthread|l1|l2|l3|numa|package|node|ppr:[1-3]:(core|numa|package))",
            more in "(:PE=[1-4])?(:hwtcpus)?",
            bind in "(core|hwthread|l2|l3|numa|package|machine|none)(:[1-3])?",
            rank in "(slot|fill|span|core|numa|package)",
            explicit: bool, ranks in 0usize..40, threads in 1usize..4,
        ) {
            let allowed: Vec<_> = allowed.into_iter().collect();
            let topology = big().within(&allowed);
            let mut request = PlacementRequest::default();
            request.map_by(&(map + &more)).unwrap();
            request.rank_by(&rank).unwrap();
            if explicit && request.bind_to(&bind).is_err() {
                return Ok(());
            }
            let Ok(placement) = place(&request, &topology, ranks, threads) else { return Ok(()) };
            prop_assert_eq!(placement.processors.len(), ranks);
            let bound = placement.processors.iter().filter(|set| set.is_some()).count();
            prop_assert!(bound == 0 || bound == ranks);
            for set in placement.processors.iter().flatten() {
                prop_assert!(!set.is_empty());
                prop_assert!(set.iter().all(|number| allowed.contains(number)));
            }
            if let (Some(RankMapping::PerObject { count, level }), 1..) = (&request.mapping, bound) {
                // Bound to the object itself or less, no object has more than its count until
                // all have theirs.
                let objects = topology.objects(*level);
                let inside = |object: &Vec<usize>| {
                    let sets = placement.processors.iter().flatten();
                    sets.filter(|set| set.iter().all(|one| object.contains(one))).count()
                };
                let held: Vec<_> = objects.iter().map(inside).collect();
                if held.iter().sum::<usize>() == ranks && ranks <= count * objects.len() {
                    prop_assert!(held.iter().all(|held| held <= count), "{held:?}");
                }
            }
        }
    }
}
