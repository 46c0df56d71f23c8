//! The hosts of the ranks, and the processors of the ranks of each host.
//!
//! ```text
//!   slots of hosts, policy --in turns--> host of each place --rank-by--> host of each rank
//!        ranks of one host, its topology --place--> processors
//! ```
//!
//! A host takes a number of ranks in its turn: its slots (by slot, and by objects inside the host),
//! one (by node), what `-ppn` or `ppr` say, or one for each object (`:span`). When the slots of all
//! hosts are taken, they are taken again. Hosts whose agents report one identity are one machine.

use platform::sys::topology::{CpuTopology, HardwareLevel};

use crate::{LaunchError, USAGE};

use super::files::Rankfile;
use super::place::{Placement, place};
use super::request::{PlacementRequest, RankMapping, RankOrder};
use super::slots::{ObjectCapacity, in_turns};

/// What a host has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostResources<'a> {
    pub name: &'a str,
    /// Equal for two names of one machine.
    pub identity: &'a str,
    /// The slots; unknown: the cores.
    pub slots: Option<u32>,
    pub slots_max: Option<u32>,
    pub topology: &'a CpuTopology,
    /// The topology is only supposed: that it cannot satisfy a binding is no error yet.
    pub is_supposed: bool,
}

/// The ranks of one program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProgramRanks<'a> {
    pub count: usize,
    /// Its hosts, if not all.
    pub hosts: Option<&'a [u32]>,
}

/// Places the ranks of `programs`, of `threads` threads each, on `hosts`, of which there is at least
/// one. On several hosts, ranks are on the first of two names of one machine.
///
/// # Errors
/// The hosts cannot satisfy the request; names what is missing, and the host.
pub(crate) fn place_on_hosts(
    request: &PlacementRequest, hosts: &[HostResources<'_>], programs: &[ProgramRanks<'_>],
    threads: usize,
) -> Result<Placement, LaunchError> {
    let wrong = |why| LaunchError::new(USAGE, why);
    let machines = Machines::new(hosts);
    let machine_of_rank =
        HostDistribution { request, machines: &machines, programs }.machines_of_ranks();
    let machine_of_rank = machine_of_rank.map_err(wrong)?;
    machines.check(request, &machine_of_rank).map_err(wrong)?;
    let mut all =
        Placement { processors: vec![None; machine_of_rank.len()], ..Placement::default() };
    let mut notes = Vec::new();
    for (number, machine) in machines.all.iter().enumerate() {
        let mut ranks = (0..).zip(&machine_of_rank).filter(|(_, on)| **on == number);
        let ranks: Vec<usize> = ranks.by_ref().map(|(rank, _)| rank).collect();
        let named = |why: String| match hosts.len() {
            1 => why,
            _ => format!("{}: {why}", machine.name),
        };
        let local = request.on_one_host(&ranks, hosts.len() > 1);
        let placed = match place(&local, machine.topology, ranks.len(), threads) {
            Err(_) if machine.is_supposed => continue,
            placed => placed.map_err(|error| LaunchError::new(error.code, named(error.why)))?,
        };
        notes.extend(placed.note.filter(|_| !machine.is_supposed).map(named));
        for (rank, processors) in ranks.into_iter().zip(placed.processors) {
            all.processors[rank] = processors;
        }
    }
    if hosts.len() > 1 {
        let host = |machine: &usize| machines.all[*machine].first as u32;
        all.host_of_rank = machine_of_rank.iter().map(host).collect();
    }
    all.note = (!notes.is_empty()).then(|| notes.join("; "));
    Ok(all)
}

/// Whether the objects of hosts with a supposed topology decide how many ranks a host has.
pub(crate) fn counts_supposed_objects(
    request: &PlacementRequest, hosts: &[HostResources<'_>],
) -> bool {
    let lacks_slots = hosts.iter().any(|host| host.is_supposed && host.slots.is_none());
    let is_fixed = matches!(
        (request.per_host, &request.mapping),
        (Some(_), _) | (None, Some(RankMapping::RankfileRanks(_) | RankMapping::HostSequence(_)))
    );
    let uses_slots = !is_fixed || request.oversubscribe == Some(false);
    request.counted_level().is_some() || lacks_slots && uses_slots
}

impl PlacementRequest {
    /// The level whose number of objects decides how many ranks a host has.
    fn counted_level(&self) -> Option<HardwareLevel> {
        let spans = self.spans_hosts || self.ranking == Some(RankOrder::Span);
        match (self.per_host, &self.mapping) {
            (None, Some(RankMapping::PerObject { level, .. })) => Some(*level),
            (None, Some(RankMapping::Level { level, .. })) if spans => Some(*level),
            _ => None,
        }
    }

    /// The request for these ranks of one host.
    fn on_one_host(&self, ranks: &[usize], is_one_of_several: bool) -> Self {
        let mut request = self.clone();
        if let Some(RankMapping::RankfileRanks(lines)) = &self.mapping {
            let local = ranks
                .iter()
                .zip(0..)
                .filter_map(|(rank, local)| lines.get(rank).map(|line| (local, line.clone())));
            request.mapping = Some(RankMapping::RankfileRanks(local.collect::<Rankfile>()));
        }
        if is_one_of_several {
            // All hosts were checked.
            request.oversubscribe = None;
        }
        request
    }
}

/// A machine, by all its names.
#[derive(Debug)]
struct MachineResources<'a> {
    name: &'a str,
    /// The index of its first name among the hosts.
    first: usize,
    slots: Option<usize>,
    slots_max: Option<usize>,
    topology: &'a CpuTopology,
    is_supposed: bool,
}

#[derive(Debug)]
struct Machines<'a> {
    all: Vec<MachineResources<'a>>,
    of_host: Vec<usize>,
}

impl<'a> Machines<'a> {
    fn new(hosts: &[HostResources<'a>]) -> Self {
        let mut found = Self { all: Vec::new(), of_host: Vec::new() };
        for (at, host) in hosts.iter().enumerate() {
            let slots = host.slots.map(|slots| slots as usize);
            let slots_max = host.slots_max.map(|most| most as usize);
            let same = (0..at).find(|other| hosts[*other].identity == host.identity);
            let Some(same) = same.map(|other| found.of_host[other]) else {
                found.of_host.push(found.all.len());
                let HostResources { name, topology, is_supposed, .. } = *host;
                let first = at;
                found.all.push(MachineResources {
                    name,
                    first,
                    slots,
                    slots_max,
                    topology,
                    is_supposed,
                });
                continue;
            };
            found.of_host.push(same);
            let machine = &mut found.all[same];
            machine.slots = match (machine.slots, slots) {
                (Some(one), Some(other)) => Some(one.saturating_add(other)),
                (one, other) => one.or(other),
            };
            let most = machine.slots_max.zip(slots_max);
            machine.slots_max = most.map(|(one, other)| one.saturating_add(other));
        }
        found
    }

    /// Checks the limits of each machine.
    fn check(&self, request: &PlacementRequest, machine_of_rank: &[usize]) -> Result<(), String> {
        let mut counts = vec![0; self.all.len()];
        machine_of_rank.iter().for_each(|machine| counts[*machine] += 1);
        for (machine, count) in self.all.iter().zip(counts) {
            if let Some(most) = machine.slots_max.filter(|most| count > *most) {
                let name = machine.name;
                return Err(format!(
                    "{name}: max_slots={most}, but {count} processes are placed there"
                ));
            }
            let slots = machine.slots.unwrap_or_else(|| machine.count(request.unit()));
            // Cores of a single host are checked together with its binding.
            let is_known = machine.slots.is_some() || self.all.len() > 1;
            if request.oversubscribe == Some(false) && is_known && count > slots {
                let name = machine.name;
                return Err(format!(
                    "{name}: {count} processes on {slots} slots, with --nooversubscribe"
                ));
            }
        }
        Ok(())
    }
}

impl MachineResources<'_> {
    /// Number of objects.
    fn count(&self, level: HardwareLevel) -> usize {
        self.topology.objects(level).len()
    }
}

struct HostDistribution<'a> {
    request: &'a PlacementRequest,
    machines: &'a Machines<'a>,
    programs: &'a [ProgramRanks<'a>],
}

impl HostDistribution<'_> {
    fn machines_of_ranks(&self) -> Result<Vec<usize>, String> {
        let ranks = self.programs.iter().map(|program| program.count).sum();
        let machine = |host: u32| {
            let found = self.machines.of_host.get(host as usize).copied();
            found.ok_or_else(|| format!("there is no host {host}"))
        };
        match &self.request.mapping {
            Some(RankMapping::RankfileRanks(lines)) => {
                let line = |rank| {
                    let line = lines.get(&rank);
                    line.ok_or_else(|| format!("the rankfile has no line for rank {rank}"))
                };
                (0..ranks).map(|rank| machine(line(rank)?.0)).collect()
            }
            Some(RankMapping::HostSequence(hosts)) => match hosts.get(..ranks) {
                Some(hosts) => hosts.iter().map(|host| machine(*host)).collect(),
                None => Err(format!("seq names {} hosts for {ranks} ranks", hosts.len())),
            },
            _ => self.by_capacity(ranks),
        }
    }

    fn by_capacity(&self, ranks: usize) -> Result<Vec<usize>, String> {
        let capacities: Vec<_> =
            self.machines.all.iter().map(|machine| self.capacity(machine)).collect();
        self.check_objects(&capacities)?;
        let mut taken = vec![0; capacities.len()];
        if self.programs.iter().all(|program| program.hosts.is_none()) {
            return self.distributed(&capacities, &mut taken, ranks);
        }
        let mut all = Vec::with_capacity(ranks);
        for program in self.programs {
            let is_allowed = |machine: usize| {
                let of_host = |host: &u32| self.machines.of_host.get(*host as usize);
                program
                    .hosts
                    .is_none_or(|hosts| hosts.iter().any(|host| of_host(host) == Some(&machine)))
            };
            let mut own = capacities.clone();
            for (machine, capacity) in own.iter_mut().enumerate() {
                capacity.most = if is_allowed(machine) { capacity.most } else { 0 };
            }
            all.extend(self.distributed(&own, &mut taken, program.count)?);
        }
        Ok(all)
    }

    fn distributed(
        &self, capacities: &[ObjectCapacity], taken: &mut [usize], ranks: usize,
    ) -> Result<Vec<usize>, String> {
        let places = in_turns(capacities, taken, ranks).ok_or_else(|| {
            let most = capacities.iter().map(|one| one.most).fold(0, usize::saturating_add);
            format!("{ranks} processes on hosts with max_slots of {most} together")
        })?;
        let machines = places.into_iter().map(|place| (place.object, place.index));
        Ok(self.ordered(machines.collect()))
    }

    /// The ranks that a machine takes.
    fn capacity(&self, machine: &MachineResources<'_>) -> ObjectCapacity {
        let units = machine.count(self.request.unit());
        let known = machine.slots.unwrap_or(units).max(1);
        let (turn, slots) = match (self.request.per_host, &self.request.mapping) {
            (Some(per_host), _) => (per_host.count, per_host.count),
            (None, Some(RankMapping::PerObject { count, level })) => {
                let all = count.saturating_mul(machine.count(*level));
                (all, all)
            }
            (None, Some(RankMapping::Level { level: HardwareLevel::Machine, group })) => {
                (*group, known)
            }
            (None, Some(RankMapping::Level { level, .. })) if self.request.spans_hosts => {
                (machine.count(*level).max(1), known)
            }
            _ => (known, known),
        };
        ObjectCapacity { turn, slots, most: machine.slots_max.unwrap_or(usize::MAX) }
    }

    /// `ppr:N:OBJECT` and `-N` are limits for each program.
    fn check_objects(&self, capacities: &[ObjectCapacity]) -> Result<(), String> {
        let (each, name) = match (self.request.per_host, &self.request.mapping) {
            (Some(per_host), _) if !per_host.wraps_around => (per_host.count, "host"),
            (None, Some(RankMapping::PerObject { count, level })) => (*count, level.name()),
            _ => return Ok(()),
        };
        let most = capacities.iter().map(|one| one.slots).fold(0, usize::saturating_add);
        match self.programs.iter().find(|program| program.count > most) {
            None => Ok(()),
            Some(program) => {
                let count = program.count;
                Err(format!("-n {count}: {each} on each {name} allows at most {most}"))
            }
        }
    }

    /// The machines by rank; `places` has the machine of each place, as mapped, and its index there.
    fn ordered(&self, mut places: Vec<(usize, usize)>) -> Vec<usize> {
        let objects = |machine: usize| match &self.request.mapping {
            Some(RankMapping::Level { level, group }) => {
                self.machines.all[machine].count(*level).div_ceil(*group).max(1)
            }
            Some(RankMapping::PerObject { level, .. }) => {
                self.machines.all[machine].count(*level).max(1)
            }
            _ => 1,
        };
        match self.request.ranking {
            None => {}
            Some(RankOrder::Slot | RankOrder::Fill | RankOrder::Level(_)) => {
                places.sort_by_key(|(machine, _)| *machine);
            }
            Some(RankOrder::Node) => places.sort_by_key(|(machine, index)| (*index, *machine)),
            Some(RankOrder::Span) => {
                places.sort_by_key(|(machine, index)| (index / objects(*machine), *machine));
            }
        }
        places.into_iter().map(|(machine, _)| machine).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::placement::machines::{big, two_packages};
    use platform::sys::topology::format_list;

    fn request(line: &str) -> PlacementRequest {
        let mut request = PlacementRequest::default();
        for option in line.split_whitespace() {
            let (name, value) = option.split_once('=').unwrap();
            match name {
                "map" => request.map_by(value).unwrap(),
                "bind" => request.bind_to(value).unwrap(),
                "rank" => request.rank_by(value).unwrap(),
                "ppn" => request.per_host_wrapping(value.parse().unwrap()),
                "N" => request.per_host(value.parse().unwrap()),
                _ => panic!("{name}"),
            }
        }
        request
    }

    /// Hosts `a`, `b`, ... of four cores in two packages each, with these slots; 0 is unknown.
    fn placed(line: &str, slots: &[u32], ranks: usize) -> Result<Placement, String> {
        let topology = two_packages(1);
        let names = ["a", "b", "c", "d"];
        let host = |(name, slots): (&&'static str, &u32)| HostResources {
            name,
            identity: name,
            slots: Some(*slots).filter(|slots| *slots > 0),
            slots_max: None,
            topology: &topology,
            is_supposed: false,
        };
        let hosts: Vec<_> = names.iter().zip(slots).map(host).collect();
        let programs = [ProgramRanks { count: ranks, hosts: None }];
        place_on_hosts(&request(line), &hosts, &programs, 1).map_err(|error| error.why)
    }

    /// The host of each rank.
    fn hosts(placement: &Placement) -> String {
        let name = |host: &u32| char::from(b'a' + *host as u8);
        placement.host_of_rank.iter().map(name).collect()
    }

    #[test]
    fn hosts_are_filled_or_take_turns() {
        for (line, slots, expected) in [
            ("", &[2, 2][..], "aabbaabb"),
            ("", &[1, 1], "abababab"),
            ("", &[0, 0], "aaaabbbb"),
            ("", &[1, 3], "abbbabbb"),
            ("map=node", &[2, 2], "abababab"),
            ("map=node", &[1, 3], "abbbabbb"),
            ("map=node", &[0, 2, 0], "abcabcac"),
            ("map=node:2", &[0, 0], "aabbaabb"),
            ("map=core", &[2, 2], "aabbaabb"),
            ("map=package:span", &[4, 4], "aabbaabb"),
            ("map=slot rank=node", &[4, 4], "abababab"),
            ("map=node rank=slot", &[4, 4], "aaaabbbb"),
            ("map=package rank=span", &[4, 4], "aabbaabb"),
            ("map=package rank=fill", &[4, 4], "aaaabbbb"),
            ("ppn=1", &[2, 2], "abababab"),
            ("ppn=3", &[2, 2], "aaabbbaa"),
            ("N=4", &[2, 2], "aaaabbbb"),
            ("map=ppr:1:core", &[2, 2], "aaaabbbb"),
            ("map=ppr:2:package", &[2, 2], "aaaabbbb"),
            ("map=ppr:1:package", &[2, 2, 2, 2], "aabbccdd"),
        ] {
            let placement = placed(line, slots, 8).unwrap();
            assert_eq!(hosts(&placement), expected, "{line} {slots:?}");
        }
        assert_eq!(hosts(&placed("N=2", &[4, 4], 3).unwrap()), "aab");
    }

    #[test]
    fn what_hosts_cannot_hold_is_an_error() {
        for (line, slots, why) in [
            ("N=1", &[4, 4][..], "-n 8: 1 on each host allows at most 2"),
            ("map=ppr:1:package", &[4, 4], "-n 8: 1 on each package allows at most 4"),
            ("map=:nooversubscribe", &[3, 4], "a: 4 processes on 3 slots, with --nooversubscribe"),
            ("map=:nooversubscribe", &[0, 3], "a: 5 processes on 4 slots, with --nooversubscribe"),
            ("bind=core:9", &[4, 4], "a: requested 9 cores for each rank; 4 are usable"),
        ] {
            assert_eq!(placed(line, slots, 8).unwrap_err(), why, "{line}");
        }
        assert!(placed("map=:nooversubscribe", &[4, 4], 8).is_ok());
        assert!(placed("map=:nooversubscribe", &[0, 0], 8).is_ok());
        let topology = two_packages(1);
        let host = |name, most| HostResources {
            name,
            identity: name,
            slots: Some(1),
            slots_max: Some(most),
            topology: &topology,
            is_supposed: false,
        };
        let limited = |ranks, line: &str| {
            let programs = [ProgramRanks { count: ranks, hosts: None }];
            let hosts = [host("a", 1), host("b", 3)];
            place_on_hosts(&request(line), &hosts, &programs, 1).map_err(|error| error.why)
        };
        assert_eq!(hosts(&limited(4, "").unwrap()), "abbb");
        let why = "5 processes on hosts with max_slots of 4 together";
        assert_eq!(limited(5, "").unwrap_err(), why);
    }

    #[test]
    fn each_host_binds_by_its_own_topology() {
        let (small, large) = (two_packages(1), big());
        let host = |name, topology| HostResources {
            name,
            identity: name,
            slots: Some(3),
            slots_max: None,
            topology,
            is_supposed: false,
        };
        let programs = [ProgramRanks { count: 6, hosts: None }];
        let both = [host("a", &small), host("b", &large)];
        let sets = |line: &str| {
            let placement = place_on_hosts(&request(line), &both, &programs, 1).unwrap();
            let set = |set: &Option<Vec<usize>>| set.as_deref().map_or("-".into(), format_list);
            placement.processors.iter().map(set).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(sets("bind=core"), "0 1 2 0,16 1,17 2,18");
        assert_eq!(sets("map=package"), "0-1 2-3 0-1 0-7,16-23 8-15,24-31 0-7,16-23");
        assert_eq!(sets("map=node bind=package"), "0-1 0-7,16-23 2-3 8-15,24-31 0-1 0-7,16-23");
        assert_eq!(sets("bind=user:1,0"), "1 0 - 1 0 -");
        // Four ranks fill the four cores of one host, but none of the other.
        let full = [HostResources { slots: Some(4), ..both[0] }, both[1]];
        let placement = place_on_hosts(&request(""), &full, &programs, 1).unwrap();
        let bound: Vec<_> = placement.processors.iter().map(Option::is_some).collect();
        assert_eq!(bound, [true, true, true, true, false, false]);
        let overloaded = place_on_hosts(&request("bind=core:2"), &both, &programs, 1).unwrap();
        assert!(overloaded.note.unwrap().starts_with("a: more ranks than cores are bound"));
    }

    #[test]
    fn what_depends_on_hosts_that_have_not_been_asked_is_no_error_yet() {
        let topology = two_packages(1);
        let host = |slots, is_supposed| HostResources {
            name: "a",
            identity: "",
            slots,
            slots_max: None,
            topology: &topology,
            is_supposed,
        };
        let counts =
            |line: &str, slots| counts_supposed_objects(&request(line), &[host(slots, true)]);
        for (line, with_slots, without) in [
            ("", false, true),
            ("map=node", false, true),
            ("N=2", false, false),
            ("ppn=2", false, false),
            ("map=ppr:1:core", true, true),
            ("map=package:span", true, true),
            ("map=package", false, true),
        ] {
            assert_eq!(
                (counts(line, Some(2)), counts(line, None)),
                (with_slots, without),
                "{line}"
            );
        }
        let programs = [ProgramRanks { count: 1, hosts: None }];
        let early = |is_supposed| {
            place_on_hosts(&request("bind=core:9"), &[host(None, is_supposed)], &programs, 1)
        };
        assert!(early(false).is_err());
        assert_eq!(early(true).unwrap().processors, [None]);
    }

    #[test]
    fn two_names_of_a_machine_are_one() {
        let topology = two_packages(1);
        let host = |name, identity| HostResources {
            name,
            identity,
            slots: Some(2),
            slots_max: None,
            topology: &topology,
            is_supposed: false,
        };
        let all = [host("a", "x"), host("b", "y"), host("c", "x")];
        let programs = [ProgramRanks { count: 6, hosts: None }];
        let placement = place_on_hosts(&request("bind=core"), &all, &programs, 1).unwrap();
        assert_eq!(hosts(&placement), "aaaabb");
        assert_eq!(placement.processors[3], Some(vec![3]));
        let placement = place_on_hosts(&request("N=3"), &all, &programs, 1).unwrap();
        assert_eq!(hosts(&placement), "aaabbb");
    }

    #[test]
    fn programs_may_have_hosts_of_their_own() {
        let topology = two_packages(1);
        let host = |name| HostResources {
            name,
            identity: name,
            slots: None,
            slots_max: None,
            topology: &topology,
            is_supposed: false,
        };
        let programs = [
            ProgramRanks { count: 2, hosts: Some(&[0]) },
            ProgramRanks { count: 3, hosts: Some(&[1]) },
            ProgramRanks { count: 3, hosts: Some(&[1, 0]) },
        ];
        let both = [host("a"), host("b")];
        let placement = place_on_hosts(&request(""), &both, &programs, 1).unwrap();
        assert_eq!(hosts(&placement), "aabbbaab");
    }

    #[test]
    fn files_name_the_host_of_each_rank() {
        let topology = two_packages(1);
        let host = |name| HostResources {
            name,
            identity: name,
            slots: None,
            slots_max: None,
            topology: &topology,
            is_supposed: false,
        };
        let both = [host("a"), host("b")];
        let placed = |line: &str, text: &str, ranks| {
            let mut request = request(line);
            let mut find = |name: &str| match name {
                "a" => Ok(0),
                "b" => Ok(1),
                _ => Err(format!("{name} is unknown")),
            };
            request.read_files(&|_| Ok(text.to_owned()), &mut find, &[]).unwrap();
            let programs = [ProgramRanks { count: ranks, hosts: None }];
            place_on_hosts(&request, &both, &programs, 1).map_err(|error| error.why)
        };
        let text = "rank 0=b slot=1\nrank 1=a slot=2\nrank 2=b slot=3\n";
        let placement = placed("map=rankfile:file=x", text, 3).unwrap();
        assert_eq!(hosts(&placement), "bab");
        assert_eq!(placement.processors, [Some(vec![1]), Some(vec![2]), Some(vec![3])]);
        let why = placed("map=rankfile:file=x", text, 4).unwrap_err();
        assert_eq!(why, "the rankfile has no line for rank 3");
        let placement = placed("map=seq:file=x", "b\na\nb slots=7\n", 3).unwrap();
        assert_eq!(hosts(&placement), "bab");
        let why = placed("map=seq:file=x", "b\na\n", 3).unwrap_err();
        assert_eq!(why, "seq names 2 hosts for 3 ranks");
    }

    proptest! {
        #[test]
        fn every_rank_has_a_host_and_no_limit_is_exceeded(
            limits in proptest::collection::vec((0u32..4, 0u32..5, 0usize..4), 1..5),
            map in "(core|slot|node|package|package:span|ppr:[1-3]:(core|package|node))",
            rank in "(slot|node|fill|span|core)",
            ranks in 0usize..30,
        ) {
            let topology = two_packages(1);
            let identities = ["w", "x", "y", "z"];
            let host = |(slots, most, identity): &(u32, u32, usize)| HostResources {
                name: "h",
                identity: identities[*identity],
                slots: Some(*slots).filter(|slots| *slots > 0),
                slots_max: Some(slots + most).filter(|_| *most < 4 && *slots > 0),
                topology: &topology,
                is_supposed: false,
            };
            let hosts: Vec<_> = limits.iter().map(host).collect();
            let request = request(&format!("map={map} rank={rank}"));
            let programs = [ProgramRanks { count: ranks, hosts: None }];
            let Ok(placement) = place_on_hosts(&request, &hosts, &programs, 1) else {
                return Ok(());
            };
            prop_assert_eq!(placement.processors.len(), ranks);
            let expected = if hosts.len() > 1 { ranks } else { 0 };
            prop_assert_eq!(placement.host_of_rank.len(), expected);
            for (at, host) in hosts.iter().enumerate() {
                let on = placement.host_of_rank.iter().filter(|on| **on as usize == at).count();
                let same = || hosts.iter().filter(|other| other.identity == host.identity);
                let most: Option<u32> = same().map(|one| one.slots_max).sum();
                prop_assert!(most.is_none_or(|most| on <= most as usize), "{on} {most:?}");
                let first = hosts.iter().position(|one| one.identity == host.identity);
                prop_assert!(on == 0 || first == Some(at));
            }
        }
    }
}
