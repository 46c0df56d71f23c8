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
//! comment. A file of `seq` has one host on each line. Each host must be this one.
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

/// A rankfile: the slots of each rank, if its line has them.
pub(super) type Rankfile = BTreeMap<usize, Option<RankfileSlots>>;

/// Whether a name is that of the local host.
pub(super) type IsThisHost<'a> = &'a dyn Fn(&str) -> bool;

/// Reads a rankfile.
///
/// # Errors
/// Names the wrong line.
pub(super) fn parse_ranks(text: &str, is_here: IsThisHost<'_>) -> Result<Rankfile, String> {
    let mut ranks = Rankfile::new();
    for line in lines(text) {
        let wrong = |why: &str| format!("line {line:?}: {why}");
        let (rank, host, slots) =
            split(line).ok_or_else(|| wrong("expected \"rank NUMBER=HOST slot=CORES\""))?;
        if !is_here(host) {
            return Err(wrong(&other_host(host)));
        }
        let slots = match slots {
            None => None,
            Some(slots) => {
                let why = || wrong("expected slots such as 0-1,4 or PACKAGE:0-1");
                Some(parse_slots(slots).ok_or_else(why)?)
            }
        };
        if ranks.insert(rank, slots).is_some() {
            return Err(wrong(&format!("rank {rank} has two lines")));
        }
    }
    Ok(ranks)
}

/// Counts the lines of a file of `seq`.
///
/// # Errors
/// Names the wrong line.
pub(super) fn count_hosts(text: &str, is_here: IsThisHost<'_>) -> Result<usize, String> {
    let hosts = lines(text).map(|line| line.split_whitespace().next().unwrap_or(line));
    let mut count = 0;
    for host in hosts {
        if !is_here(host) {
            return Err(other_host(host));
        }
        count += 1;
    }
    Ok(count)
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

fn other_host(host: &str) -> String {
    format!("{host} is another host; this release starts ranks on the local host only")
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

    fn ranks(text: &str) -> Result<Rankfile, String> {
        parse_ranks(text, &|host| host == "here" || host == "+n0")
    }

    #[test]
    fn every_form_of_a_line_is_parsed() {
        let text = "# a comment\n\nrank 1=here slot=0-1,4 # why\nrank 0=+n0 slots=1:0,2\n\
                    rank  3 =here slot=1:*\nrank 2=here\n";
        let found = ranks(text).unwrap();
        let found: Vec<_> = found.into_iter().collect();
        assert_eq!(
            found,
            [
                (0, Some(RankfileSlots::InPackage(1, vec![0, 2]))),
                (1, Some(RankfileSlots::Units(vec![0, 1, 4]))),
                (2, None),
                (3, Some(RankfileSlots::Package(1))),
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
            ("rank 0=there slot=0", "there is another host"),
            ("rank 0=+n1 slot=0", "+n1 is another host"),
            ("rank 0=here\nrank 0=here", "rank 0 has two lines"),
        ] {
            let why = ranks(line).unwrap_err();
            assert!(why.contains(named), "{line}: {why}");
        }
    }

    #[test]
    fn hosts_are_counted() {
        let is_here = |host: &str| host == "here";
        assert_eq!(count_hosts("here\n# no\nhere slots=3\n", &is_here), Ok(2));
        assert!(count_hosts("here\nthere\n", &is_here).unwrap_err().contains("there"));
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
            let _ = count_hosts(&text, &|_| true);
        }
    }
}
