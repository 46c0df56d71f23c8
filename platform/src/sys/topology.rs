//! Location of the processors that this process may use: core, cache, NUMA node and package.
//!
//! A *processor* is the unit that the system numbers and schedules: a hardware thread. An object is
//! known by its processors. Only processors that this process may use count: a package of which two
//! cores may be used has two cores here. Object numbers are therefore local to this process, from
//! 0, in the order of the machine; processor numbers are the system's.
//!
//! Source: Documentation/admin-guide/cputopology.rst and ABI/testing/sysfs-devices-system-cpu of
//! Linux. An absent file loses only its own information: a processor without a list of its core's
//! threads is a core, one without a package is in the only package, one without a NUMA node is in
//! the first. An absent first or second level cache is taken to be the core's own, an absent third
//! level cache to be the package's.

use std::io;
use std::path::Path;

use super::cpu;

/// Object that a set of processors has in common, the widest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HardwareLevel {
    /// All processors that this process may use.
    Machine,
    /// The processors of one socket.
    Package,
    /// The processors near the same memory.
    Numa,
    /// The processors that share a cache of the third level.
    L3,
    /// The processors that share a cache of the second level.
    L2,
    /// The processors that share a data cache of the first level.
    L1,
    /// The hardware threads of one core.
    Core,
    /// A processor alone.
    Thread,
}

impl HardwareLevel {
    /// All levels, the widest first.
    pub const ALL: [Self; 8] = [
        Self::Machine,
        Self::Package,
        Self::Numa,
        Self::L3,
        Self::L2,
        Self::L1,
        Self::Core,
        Self::Thread,
    ];

    /// Name of an object of this level.
    pub fn name(self) -> &'static str {
        match self {
            Self::Machine => "machine",
            Self::Package => "package",
            Self::Numa => "NUMA node",
            Self::L3 => "L3 cache",
            Self::L2 => "L2 cache",
            Self::L1 => "L1 cache",
            Self::Core => "core",
            Self::Thread => "hardware thread",
        }
    }
}

/// A processor, and for each level the smallest number of a usable processor in the same object.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Processor {
    number: usize,
    first: [usize; HardwareLevel::ALL.len()],
}

/// Location of a set of processors among the objects of one level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Residence {
    /// The system does not show such objects.
    Unknown,
    /// In more than one.
    Spread,
    /// In this object alone. Its number is the smallest number of a processor in it, usable or not:
    /// all processes of a host agree on it.
    In(usize),
}

pub(crate) fn residences(
    allowed: &[usize], read: SysfsReader<'_>,
) -> [Residence; HardwareLevel::ALL.len()] {
    let Some(&number) = allowed.first() else {
        return [Residence::Unknown; HardwareLevel::ALL.len()];
    };
    let objects = enclosing_objects(number, &numa_nodes(read), read);
    HardwareLevel::ALL.map(|level| match (level, &objects[level as usize]) {
        (HardwareLevel::Machine, _) => Residence::In(0),
        (_, None) => Residence::Unknown,
        (_, Some(object)) => match object.iter().min() {
            Some(first) if allowed.iter().all(|one| object.contains(one)) => Residence::In(*first),
            _ => Residence::Spread,
        },
    })
}

/// The narrowest of these objects that contains all processors `allowed`: a cache of the third
/// level, a NUMA node, a package, the machine. Between these, speed differs most. The object's
/// number is that of its first processor in every process, so processes can compare theirs.
pub fn common_object(allowed: &[usize], read: SysfsReader<'_>) -> (HardwareLevel, usize) {
    let residences = residences(allowed, read);
    let levels = [HardwareLevel::L3, HardwareLevel::Numa, HardwareLevel::Package];
    let found = levels.into_iter().find_map(|level| match residences[level as usize] {
        Residence::In(first) => Some((level, first)),
        Residence::Spread | Residence::Unknown => None,
    });
    found.unwrap_or((HardwareLevel::Machine, 0))
}

/// Location of the processors of the calling thread, by level.
///
/// # Errors
/// When the system does not report which processors may be used.
pub fn own_residences() -> io::Result<[Residence; HardwareLevel::ALL.len()]> {
    Ok(residences(&cpu::affinity()?, &|path| std::fs::read_to_string(path).ok()))
}

/// The processors that this process may use, neighbours beside each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuTopology {
    processors: Vec<Processor>,
}

/// Reads a file below /sys, if it exists.
pub(crate) type SysfsReader<'a> = &'a dyn Fn(&Path) -> Option<String>;

impl CpuTopology {
    /// The topology of the calling thread.
    ///
    /// # Errors
    /// When the system does not report which processors may be used.
    pub fn here() -> io::Result<Self> {
        Ok(Self::read(&cpu::affinity()?, &|path| std::fs::read_to_string(path).ok()))
    }

    /// The topology of the processors `allowed`.
    pub fn read(allowed: &[usize], read: SysfsReader<'_>) -> Self {
        let nodes = numa_nodes(read);
        let keys: Vec<_> =
            allowed.iter().map(|number| (*number, keys(*number, &nodes, read))).collect();
        let mut processors: Vec<_> = keys
            .iter()
            .map(|(number, own)| {
                let first = std::array::from_fn(|level| {
                    let same = keys.iter().filter(|(_, other)| other[level] == own[level]);
                    same.map(|(number, _)| *number).min().unwrap_or(*number)
                });
                Processor { number: *number, first }
            })
            .collect();
        processors.sort_by_key(|processor| (processor.first, processor.number));
        processors.dedup();
        Self { processors }
    }

    /// The numbers of all processors, neighbours beside each other.
    pub fn processors(&self) -> Vec<usize> {
        self.processors.iter().map(|processor| processor.number).collect()
    }

    /// The objects of `level` in order, each by its processors.
    pub fn objects(&self, level: HardwareLevel) -> Vec<Vec<usize>> {
        self.objects_in(level, &self.processors())
    }

    /// The part of `set` in each object of `level`; empty parts are left out.
    pub fn objects_in(&self, level: HardwareLevel, set: &[usize]) -> Vec<Vec<usize>> {
        let mut found: Vec<(usize, Vec<usize>)> = Vec::new();
        for processor in self.processors.iter().filter(|one| set.contains(&one.number)) {
            let first = processor.first[level as usize];
            match found.iter_mut().find(|(other, _)| *other == first) {
                Some((_, object)) => object.push(processor.number),
                None => found.push((first, vec![processor.number])),
            }
        }
        found.into_iter().map(|(_, object)| object).collect()
    }

    /// The topology restricted to the processors of `set`.
    pub fn within(&self, set: &[usize]) -> Self {
        let processors = self.processors.iter().filter(|one| set.contains(&one.number));
        Self { processors: processors.cloned().collect() }
    }

    /// One line for [`from_text`](Self::from_text): a word for each processor: the first
    /// processors of its package, NUMA node, L3, L2, L1 and core, then its own number.
    pub fn to_text(&self) -> String {
        let word = |processor: &Processor| {
            let first = &processor.first[HardwareLevel::Package as usize..];
            first.iter().map(usize::to_string).collect::<Vec<_>>().join("/")
        };
        self.processors.iter().map(word).collect::<Vec<_>>().join(" ")
    }

    /// The topology of another host from its text; `None` if it is no such text.
    pub fn from_text(text: &str) -> Option<Self> {
        // The limit of the kernel (NR_CPUS of Linux); bounds the work for the text of a stranger.
        const PROCESSORS_MAX: usize = 1 << 13;
        let number = |word: &str| word.parse().ok().filter(|number| *number < PROCESSORS_MAX);
        let words: Vec<_> = text.split_ascii_whitespace().take(PROCESSORS_MAX + 1).collect();
        let firsts = words.iter().map(|word| {
            let numbers: Vec<usize> = word.split('/').map(number).collect::<Option<_>>()?;
            <[usize; HardwareLevel::ALL.len() - 1]>::try_from(numbers).ok()
        });
        let firsts: Vec<_> = firsts.collect::<Option<_>>()?;
        let number = |first: &[usize; HardwareLevel::ALL.len() - 1]| first[first.len() - 1];
        let lowest = firsts.iter().map(number).min().unwrap_or(0);
        let mut processors: Vec<_> = firsts
            .iter()
            .map(|narrower| {
                let mut first = [lowest; HardwareLevel::ALL.len()];
                first[HardwareLevel::Package as usize..].copy_from_slice(narrower);
                Processor { number: number(narrower), first }
            })
            .collect();
        processors.sort_by_key(|processor| (processor.first, processor.number));
        let mut numbers: Vec<_> = processors.iter().map(|processor| processor.number).collect();
        numbers.sort_unstable();
        // No two words for one processor, so also not too many words.
        numbers.is_sorted_by(|one, other| one < other).then_some(Self { processors })
    }
}

/// Keys that distinguish the objects of one processor, by level.
fn keys(
    number: usize, nodes: &[Vec<usize>], read: SysfsReader<'_>,
) -> [usize; HardwareLevel::ALL.len()] {
    let objects = enclosing_objects(number, nodes, read);
    let first = |level: HardwareLevel| objects[level as usize].as_ref()?.iter().min().copied();
    let core = first(HardwareLevel::Core).unwrap_or(number);
    let package = first(HardwareLevel::Package).unwrap_or(0);
    HardwareLevel::ALL.map(|level| match level {
        HardwareLevel::Machine => 0,
        HardwareLevel::Package => package,
        HardwareLevel::Numa => {
            let first_node = || nodes.first().and_then(|node| node.iter().min().copied());
            first(level).or_else(first_node).unwrap_or(0)
        }
        HardwareLevel::L3 => first(level).unwrap_or(package),
        HardwareLevel::L2 | HardwareLevel::L1 => first(level).unwrap_or(core),
        HardwareLevel::Core => core,
        HardwareLevel::Thread => number,
    })
}

/// The processors of the objects that contain one processor, by level, where the system shows them.
/// The machine has no list.
fn enclosing_objects(
    number: usize, nodes: &[Vec<usize>], read: SysfsReader<'_>,
) -> [Option<Vec<usize>>; HardwareLevel::ALL.len()] {
    let folder = Path::new("/sys/devices/system/cpu").join(format!("cpu{number}"));
    let list = |names: [&str; 2]| {
        let list = names.iter().find_map(|name| read(&folder.join("topology").join(name)));
        list.and_then(|list| parse_list(list.trim())).filter(|list| !list.is_empty())
    };
    let [l1, l2, l3] = caches(&folder, read);
    // The second name is that before Linux 5.3.
    let core = list(["core_cpus_list", "thread_siblings_list"]);
    let package = list(["package_cpus_list", "core_siblings_list"]);
    let node = nodes.iter().find(|node| node.contains(&number)).cloned();
    [None, package, node, l3, l2, l1, core, Some(vec![number])]
}

/// The processors that share the data cache of level 1, 2 and 3.
fn caches(folder: &Path, read: SysfsReader<'_>) -> [Option<Vec<usize>>; 3] {
    // Limit above the caches of any processor; bounds the search in a damaged tree.
    const CACHES_MAX: usize = 16;
    let mut found = [None, None, None];
    for index in 0..CACHES_MAX {
        let cache = folder.join("cache").join(format!("index{index}"));
        let text = |name: &str| Some(read(&cache.join(name))?.trim().to_owned());
        let Some(level) = text("level") else { break };
        let place =
            level.parse().ok().and_then(|level: usize| found.get_mut(level.checked_sub(1)?));
        let Some(place) = place else { continue };
        if text("type").is_some_and(|kind| kind == "Instruction") {
            continue;
        }
        let sharing = text("shared_cpu_list").and_then(|list| parse_list(&list));
        *place = sharing.filter(|list| !list.is_empty());
    }
    found
}

/// The processors of each nonempty NUMA node.
fn numa_nodes(read: SysfsReader<'_>) -> Vec<Vec<usize>> {
    let folder = Path::new("/sys/devices/system/node");
    let online = read(&folder.join("online")).and_then(|list| parse_list(list.trim()));
    let nodes = online.unwrap_or_default().into_iter().filter_map(|node| {
        let list = read(&folder.join(format!("node{node}/cpulist")))?;
        parse_list(list.trim()).filter(|list| !list.is_empty())
    });
    nodes.collect()
}

/// The numbers in a list such as `0-2,8`; `None` if the text is no such list.
pub fn parse_list(list: &str) -> Option<Vec<usize>> {
    // Limit above any kernel's numbers; bounds the memory for a damaged file or a user's mistake.
    const NUMBERS_MAX: usize = 1 << 16;
    let mut numbers = Vec::new();
    for part in list.split(',').filter(|_| !list.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last >= NUMBERS_MAX || numbers.len() > NUMBERS_MAX {
            return None;
        }
        numbers.extend(first..=last);
    }
    Some(numbers)
}

/// `0-2,8` of 0, 1, 2 and 8, in any order.
pub fn format_list(numbers: &[usize]) -> String {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let ranges = sorted.chunk_by(|left, right| left + 1 == *right).map(|range| match range {
        [first, .., last] => format!("{first}-{last}"),
        alone => alone.iter().map(usize::to_string).collect(),
    });
    ranges.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    /// Files of a machine whose second threads are numbered after all first ones, as on PCs.
    struct Tree(HashMap<String, String>);

    impl Tree {
        /// `packages` of two NUMA nodes, each with its L3 and `cores` of `threads`.
        fn new(packages: usize, cores: usize, threads: usize) -> Self {
            let all_cores = packages * 2 * cores;
            let numbers = |range: std::ops::Range<usize>| {
                let every =
                    (0..threads).flat_map(|t| range.clone().map(move |c| c + t * all_cores));
                format_list(&every.collect::<Vec<_>>()) + "\n"
            };
            let mut files = HashMap::new();
            for cpu in 0..all_cores * threads {
                let core = cpu % all_cores;
                let (node, package) = (core / cores, core / cores / 2);
                let folder = format!("/sys/devices/system/cpu/cpu{cpu}");
                let own = numbers(core..core + 1);
                let node_cpus = numbers(node * cores..(node + 1) * cores);
                let package_cpus = numbers(package * 2 * cores..(package + 1) * 2 * cores);
                let mut put = |name: &str, text: &str| {
                    files.insert(format!("{folder}/{name}"), text.to_owned());
                };
                put("topology/core_cpus_list", &own);
                put("topology/package_cpus_list", &package_cpus);
                for (index, (level, kind, shared)) in [
                    ("1\n", "Data\n", &own),
                    ("1\n", "Instruction\n", &node_cpus),
                    ("2\n", "Unified\n", &own),
                    ("3\n", "Unified\n", &node_cpus),
                ]
                .into_iter()
                .enumerate()
                {
                    put(&format!("cache/index{index}/level"), level);
                    put(&format!("cache/index{index}/type"), kind);
                    put(&format!("cache/index{index}/shared_cpu_list"), shared);
                }
                files.insert(format!("/sys/devices/system/node/node{node}/cpulist"), node_cpus);
            }
            let online = format!("0-{}\n", packages * 2 - 1);
            files.insert("/sys/devices/system/node/online".into(), online);
            Self(files)
        }

        fn without(mut self, part: &str) -> Self {
            self.0.retain(|name, _| !name.contains(part));
            self
        }

        fn topology(&self, allowed: &[usize]) -> CpuTopology {
            CpuTopology::read(allowed, &|path| self.0.get(path.to_str().unwrap()).cloned())
        }
    }

    fn counts(topology: &CpuTopology) -> [usize; 8] {
        HardwareLevel::ALL.map(|level| topology.objects(level).len())
    }

    #[test]
    fn two_packages_of_two_nodes_with_two_threads_a_core() {
        let all: Vec<_> = (0..16).collect();
        let topology = Tree::new(2, 2, 2).topology(&all);
        assert_eq!(counts(&topology), [1, 2, 4, 4, 8, 8, 8, 16]);
        assert_eq!(topology.objects(HardwareLevel::Core)[..3], [[0, 8], [1, 9], [2, 10]]);
        assert_eq!(topology.objects(HardwareLevel::Package)[1], [4, 12, 5, 13, 6, 14, 7, 15]);
        assert_eq!(topology.processors()[..4], [0, 8, 1, 9]);
    }

    #[test]
    fn only_what_may_be_used_counts() {
        let topology = Tree::new(2, 2, 2).topology(&[3, 9, 11, 14]);
        assert_eq!(counts(&topology), [1, 2, 3, 3, 3, 3, 3, 4]);
        assert_eq!(topology.objects(HardwareLevel::Package), [vec![3, 11, 9], vec![14]]);
        assert_eq!(topology.objects_in(HardwareLevel::Core, &[11, 14]), [[11], [14]]);
        assert_eq!(counts(&topology.within(&[3, 11, 14])), [1, 2, 2, 2, 2, 2, 2, 3]);
    }

    #[test]
    fn residences_are_those_of_the_machine_whoever_asks() {
        use Residence::{In, Spread, Unknown};
        let residences = |tree: &Tree, allowed: &[usize]| {
            residences(allowed, &|path| tree.0.get(path.to_str().unwrap()).cloned())
        };
        // Package 0 has cores 0 to 3 and threads 0-3 and 8-11, of which node 1 the upper halves.
        let tree = Tree::new(2, 2, 2);
        let all: Vec<_> = (0..16).collect();
        let only_machine = [In(0), Spread, Spread, Spread, Spread, Spread, Spread, Spread];
        assert_eq!(residences(&tree, &all), only_machine);
        assert_eq!(residences(&tree, &[3, 7]), only_machine);
        let core = [In(0), In(0), In(2), In(2), In(3), In(3), In(3), Spread];
        assert_eq!(residences(&tree, &[11, 3]), core);
        let thread = [In(0), In(0), In(2), In(2), In(3), In(3), In(3), In(11)];
        assert_eq!(residences(&tree, &[11]), thread);
        let node = [In(0), In(4), In(6), In(6), Spread, Spread, Spread, Spread];
        assert_eq!(residences(&tree, &[6, 15]), node);
        let bare = tree.without("/cache/").without("/node").without("/topology/");
        let little = [In(0), Unknown, Unknown, Unknown, Unknown, Unknown, Unknown, In(5)];
        assert_eq!(residences(&bare, &[5]), little);
        assert_eq!(residences(&bare, &[]), [Unknown; 8]);
    }

    #[test]
    fn processors_that_are_offline_leave_holes() {
        // The core of processor 8 lost its first thread: the lists name online processors only.
        let mut tree = Tree::new(1, 4, 2).without("/cpu0/");
        let list = "/sys/devices/system/cpu/cpu8/topology/core_cpus_list";
        tree.0.insert(list.into(), "8\n".into());
        let topology = tree.topology(&[1, 2, 8, 9, 10]);
        assert_eq!(topology.objects(HardwareLevel::Core), [vec![1, 9], vec![2, 10], vec![8]]);
        assert_eq!(topology.objects(HardwareLevel::Package).len(), 1);
    }

    #[test]
    fn caches_that_are_not_shown_are_the_cores_and_the_packages() {
        let all: Vec<_> = (0..16).collect();
        let topology = Tree::new(2, 2, 2).without("/cache/").topology(&all);
        assert_eq!(counts(&topology), [1, 2, 4, 2, 8, 8, 8, 16]);
        let topology = Tree::new(2, 2, 2).without("/node").topology(&all);
        assert_eq!(counts(&topology), [1, 2, 1, 4, 8, 8, 8, 16]);
    }

    #[test]
    fn without_any_file_each_processor_is_a_core_of_one_package() {
        let topology = CpuTopology::read(&[2, 5, 7], &|_| None);
        assert_eq!(counts(&topology), [1, 1, 1, 1, 3, 3, 3, 3]);
        assert_eq!(topology.objects(HardwareLevel::Core), [[2], [5], [7]]);
        assert_eq!(counts(&CpuTopology::read(&[], &|_| None)), [0; 8]);
    }

    #[test]
    fn the_narrowest_object_has_the_same_number_for_all_in_it() {
        let tree = Tree::new(2, 2, 2);
        let common = |allowed: &[usize]| {
            common_object(allowed, &|path| tree.0.get(path.to_str().unwrap()).cloned())
        };
        assert_eq!(common(&[3]), (HardwareLevel::L3, 2));
        assert_eq!(common(&[2, 11]), (HardwareLevel::L3, 2));
        assert_eq!(common(&[2, 8]), (HardwareLevel::Package, 0));
        assert_eq!(common(&[4, 15]), (HardwareLevel::Package, 4));
        assert_eq!(common(&[0, 4]), (HardwareLevel::Machine, 0));
        assert_eq!(common(&[]), (HardwareLevel::Machine, 0));
        let tree = tree.without("/cache/");
        let read = |path: &Path| tree.0.get(path.to_str().unwrap()).cloned();
        assert_eq!(common_object(&[2, 11], &read), (HardwareLevel::Numa, 2));
        assert_eq!(common_object(&[2, 3], &|_| None), (HardwareLevel::Machine, 0));
    }

    #[test]
    fn the_names_before_linux_5_3_do_as_well() {
        let files = [
            ("/sys/devices/system/cpu/cpu3/topology/thread_siblings_list", "1,3\n"),
            ("/sys/devices/system/cpu/cpu3/topology/core_siblings_list", "0-3\n"),
        ];
        let read = |path: &Path| {
            let file = files.iter().find(|(name, _)| Path::new(name) == path);
            file.map(|(_, text)| (*text).to_owned())
        };
        let topology = CpuTopology::read(&[1, 3], &read);
        assert_eq!(topology.objects(HardwareLevel::Core), [[1, 3]]);
    }

    #[test]
    fn this_machine_is_one() {
        let topology = CpuTopology::here().unwrap();
        let mut processors = topology.processors();
        processors.sort_unstable();
        assert_eq!(processors, cpu::affinity().unwrap());
    }

    #[test]
    fn a_topology_crosses_the_wire_as_text() {
        let topology = Tree::new(2, 2, 2).topology(&[3, 9, 11, 14]);
        let text = topology.to_text();
        assert_eq!(text, "3/3/3/3/3/3/3 3/3/3/3/3/3/11 3/9/9/9/9/9/9 14/14/14/14/14/14/14");
        assert_eq!(CpuTopology::from_text(&text), Some(topology));
        assert_eq!(CpuTopology::from_text("").unwrap().processors(), []);
        for wrong in ["0", "0/0/0/0/0/0/x", "0/0/0/0/0/0/9999", "0/0/0/0/0/0/0/0", "0/0/0/0/0/0/-1"]
        {
            assert_eq!(CpuTopology::from_text(wrong), None, "{wrong}");
        }
        let twice = "0/0/0/0/0/0/1 0/0/0/0/0/0/1";
        assert_eq!(CpuTopology::from_text(twice), None);
    }

    #[test]
    fn lists_are_read_and_written() {
        for (list, numbers) in
            [("", &[][..]), ("3", &[3]), ("0-2,8", &[0, 1, 2, 8]), ("1,3-4", &[1, 3, 4])]
        {
            assert_eq!(parse_list(list).as_deref(), Some(numbers), "{list}");
            assert_eq!(format_list(numbers), list);
        }
        for list in ["a", "1-", "-", ",", "2-1", "1,,2", "0-99999999", "1 2"] {
            assert_eq!(parse_list(list), None, "{list}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_topology_or_none(text in "[0-9/ x]{0,60}") {
            if let Some(topology) = CpuTopology::from_text(&text) {
                prop_assert_eq!(CpuTopology::from_text(&topology.to_text()), Some(topology));
            }
        }

        #[test]
        fn every_level_parts_the_allowed_processors(
            allowed in proptest::collection::btree_set(0usize..40, 0..40),
            damaged in proptest::collection::vec("[-,0-9a]{0,6}", 8),
        ) {
            let allowed: Vec<_> = allowed.into_iter().collect();
            // Any text in any file still gives a machine.
            let read = |path: &Path| {
                let sum: usize = path.to_str().unwrap().bytes().map(usize::from).sum();
                damaged.get(sum % 11).cloned()
            };
            let topology = CpuTopology::read(&allowed, &read);
            let text = topology.to_text();
            prop_assert_eq!(CpuTopology::from_text(&text), Some(topology.clone()));
            for level in HardwareLevel::ALL {
                let mut parts = topology.objects(level).concat();
                parts.sort_unstable();
                prop_assert_eq!(&parts, &allowed);
            }
        }
    }
}
