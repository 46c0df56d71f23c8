//! The files of `--map-by rankfile:file=FILE` and `seq:file=FILE`.
//!
//! ```text
//!   rank 0=localhost slot=0-1      the first two cores
//!   rank 1=+n0 slot=1:0,2          two cores of the second package
//!   rank 2=vm slot=0:*             all cores of the first package
//!   rank 3=vm                      not bound
//! ```
//!
//! Cores and packages are counted from 0 as in [`topology`](platform::sys::topology). `#` starts a
//! comment. A file of `seq` has one host on each line.
//!
//! Source: the manual of Open MPI's mpirun, "Rankfiles".

use std::collections::BTreeMap;

use platform::sys::topology::{CpuTopology, HardwareLevel, parse_list};

/// The slots of a rank in a rankfile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RankfileSlots {
    /// Cores (or hardware threads) of the host.
    Units(Vec<usize>),
    /// Cores (or hardware threads) of one package.
    InPackage(usize, Vec<usize>),
    /// One package.
    Package(usize),
}

/// A rankfile: the host of each rank, and its slots if the line has them.
pub(super) type Rankfile = BTreeMap<usize, (u32, Option<RankfileSlots>)>;

/// The index of a host in the list of hosts, by name.
pub(super) type HostFinder<'a> = &'a mut dyn FnMut(&str) -> Result<u32, String>;

/// Reads a rankfile.
///
/// # Errors
/// Names the wrong line.
pub(super) fn parse_ranks(text: &str, find: HostFinder<'_>) -> Result<Rankfile, String> {
    let mut ranks = Rankfile::new();
    for line in lines(text) {
        let wrong = |why: &str| format!("line {line:?}: {why}");
        let (rank, host, slots) =
            split(line).ok_or_else(|| wrong("expected \"rank NUMBER=HOST slot=CORES\""))?;
        let host = find(host).map_err(|why| wrong(&why))?;
        let slots = match slots {
            None => None,
            Some(slots) => {
                let why = || wrong("expected slots such as 0-1,4 or PACKAGE:0-1");
                Some(parse_slots(slots).ok_or_else(why)?)
            }
        };
        if ranks.insert(rank, (host, slots)).is_some() {
            return Err(wrong(&format!("rank {rank} has two lines")));
        }
    }
    Ok(ranks)
}

/// The hosts of a file of `seq`.
///
/// # Errors
/// Names the wrong line.
pub(super) fn parse_hosts(text: &str, find: HostFinder<'_>) -> Result<Vec<u32>, String> {
    let host = |line: &str| {
        let name = line.split_whitespace().next().unwrap_or(line);
        find(name).map_err(|why| format!("line {line:?}: {why}"))
    };
    lines(text).map(host).collect()
}

impl RankfileSlots {
    /// The processors of these slots.
    ///
    /// # Errors
    /// Names the missing object.
    pub(super) fn processors(
        &self, unit: HardwareLevel, topology: &CpuTopology,
    ) -> Result<Vec<usize>, String> {
        let package = |number: usize| {
            let packages = topology.objects(HardwareLevel::Package);
            packages
                .get(number)
                .cloned()
                .ok_or_else(|| missing_object(HardwareLevel::Package, number, packages.len()))
        };
        match self {
            Self::Package(number) => package(*number),
            Self::Units(numbers) => pick(numbers, unit, &topology.objects(unit)),
            Self::InPackage(number, numbers) => {
                pick(numbers, unit, &topology.objects_in(unit, &package(*number)?))
            }
        }
    }
}

/// The processors of the objects with these indices.
///
/// # Errors
/// Names the index that is too large.
pub(super) fn pick(
    numbers: &[usize], level: HardwareLevel, objects: &[Vec<usize>],
) -> Result<Vec<usize>, String> {
    let found = numbers.iter().map(|number| {
        let found = objects.get(*number).cloned();
        found.ok_or_else(|| missing_object(level, *number, objects.len()))
    });
    Ok(found.collect::<Result<Vec<_>, _>>()?.concat())
}

fn missing_object(level: HardwareLevel, number: usize, count: usize) -> String {
    let name = level.name();
    format!("there is no {name} {number}; {count} are usable, counted from 0")
}

/// The lines without comments that are not empty.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().map(|line| line.split('#').next().unwrap_or(line).trim());
    code.filter(|line| !line.is_empty())
}

/// The rank, the host and the slots of a line.
fn split(line: &str) -> Option<(usize, &str, Option<&str>)> {
    // A million is more than any host can start, and limits the memory for the file.
    const RANKS_MAX: usize = 1 << 20;
    let rest = line.strip_prefix("rank")?;
    let (rank, rest) = rest.split_once('=')?;
    let rank = rank.trim().parse().ok().filter(|rank| *rank < RANKS_MAX)?;
    let mut words = rest.split_whitespace();
    let host = words.next()?;
    let slots = words.next().map(|word| {
        let value = word.strip_prefix("slots=").or_else(|| word.strip_prefix("slot="));
        value.filter(|value| !value.is_empty())
    });
    match (slots, words.next()) {
        (None, None) => Some((rank, host, None)),
        (Some(Some(slots)), None) => Some((rank, host, Some(slots))),
        _ => None,
    }
}

fn parse_slots(text: &str) -> Option<RankfileSlots> {
    match text.split_once(':') {
        None => parse_list(text).map(RankfileSlots::Units),
        Some((package, "*")) => package.parse().ok().map(RankfileSlots::Package),
        Some((package, cores)) => {
            let cores = parse_list(cores).filter(|cores| !cores.is_empty())?;
            Some(RankfileSlots::InPackage(package.parse().ok()?, cores))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn find(name: &str) -> Result<u32, String> {
        let found = ["here", "there", "+n0"].iter().position(|known| *known == name);
        found.map(|at| at as u32).ok_or_else(|| format!("{name} is unknown"))
    }

    fn ranks(text: &str) -> Result<Rankfile, String> {
        parse_ranks(text, &mut find)
    }

    #[test]
    fn every_form_of_a_line_is_parsed() {
        let text = "# a comment\n\nrank 1=here slot=0-1,4 # why\nrank 0=+n0 slots=1:0,2\n\
                    rank  3 =here slot=1:*\nrank 2=there\n";
        let found = ranks(text).unwrap();
        let found: Vec<_> = found.into_iter().collect();
        assert_eq!(
            found,
            [
                (0, (2, Some(RankfileSlots::InPackage(1, vec![0, 2])))),
                (1, (0, Some(RankfileSlots::Units(vec![0, 1, 4])))),
                (2, (1, None)),
                (3, (0, Some(RankfileSlots::Package(1)))),
            ]
        );
        assert_eq!(ranks(""), Ok(Rankfile::new()));
    }

    #[test]
    fn wrong_lines_are_named() {
        for (line, named) in [
            ("nonsense", "expected \"rank"),
            ("rank x=here slot=0", "expected \"rank"),
            ("rank 99999999=here", "expected \"rank"),
            ("rank 0=", "expected \"rank"),
            ("rank 0=here slot=0 more", "expected \"rank"),
            ("rank 0=here cores=0", "expected \"rank"),
            ("rank 0=here slot=", "expected \"rank"),
            ("rank 0=here slot=a", "0-1,4"),
            ("rank 0=here slot=0:", "0-1,4"),
            ("rank 0=here slot=p0", "0-1,4"),
            ("rank 0=moon slot=0", "moon is unknown"),
            ("rank 0=here\nrank 0=here", "rank 0 has two lines"),
        ] {
            let why = ranks(line).unwrap_err();
            assert!(why.contains(named), "{line}: {why}");
        }
    }

    #[test]
    fn hosts_are_one_on_each_line() {
        let hosts = |text| parse_hosts(text, &mut find);
        assert_eq!(hosts("there\n# no\nhere slots=3\n"), Ok(vec![1, 0]));
        assert_eq!(hosts("here\nmoon\n").unwrap_err(), "line \"moon\": moon is unknown");
    }

    #[test]
    fn slots_are_processors_of_this_machine_or_an_error() {
        // Two packages of two cores of two threads, numbered as on PCs.
        let topology = crate::placement::machines::two_packages(2);
        let of = |slots: RankfileSlots| slots.processors(HardwareLevel::Core, &topology);
        assert_eq!(of(RankfileSlots::Units(vec![0, 3])), Ok(vec![0, 4, 3, 7]));
        assert_eq!(of(RankfileSlots::InPackage(1, vec![0])), Ok(vec![2, 6]));
        assert_eq!(of(RankfileSlots::Package(0)), Ok(vec![0, 4, 1, 5]));
        let threads = RankfileSlots::Units(vec![1]).processors(HardwareLevel::Thread, &topology);
        assert_eq!(threads, Ok(vec![4]));
        assert!(of(RankfileSlots::Units(vec![4])).unwrap_err().contains("no core 4; 4 are usable"));
        assert!(of(RankfileSlots::InPackage(0, vec![2])).unwrap_err().contains("no core 2"));
        assert!(of(RankfileSlots::Package(2)).unwrap_err().contains("no package 2"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(rank|slot|here|[0-9=:*,+n \n-]){0,12}") {
            let _ = ranks(&text);
            let _ = parse_hosts(&text, &mut |_| Ok(0));
        }
    }
}
