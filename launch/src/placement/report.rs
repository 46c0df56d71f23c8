//! Prints placements and bindings.
//!
//! ```text
//!   rank 1 on vm bound to core 1 of package 0 (processors 1,5) [../BB][../..]
//! ```
//!
//! In the picture, brackets enclose a package, slashes separate cores, and `B` is a hardware thread
//! of the rank. This is the format of Open MPI up to release 4.

use platform::sys::topology::{CpuTopology, HardwareLevel, format_list};

use super::display::DisplayOptions;
use super::distribution::HostResources;
use super::place::Placement;

/// The input of a report.
pub(crate) struct PlacementReport<'a> {
    /// The hosts with their topologies, at least one.
    pub hosts: &'a [HostResources<'a>],
    pub placement: &'a Placement,
    /// The program of each rank.
    pub programs: &'a [String],
}

impl<'a> PlacementReport<'a> {
    /// The host of a rank.
    fn host(&self, rank: usize) -> &HostResources<'a> {
        &self.hosts[self.placement.host_of(rank)]
    }

    /// Everything that `show` requests, in lines.
    pub(crate) fn shown(&self, show: DisplayOptions) -> String {
        let parts: [(bool, &dyn Fn() -> String); 4] = [
            (show.allocation, &|| self.hosts.iter().map(allocation).collect()),
            (show.topology, &|| self.hosts.iter().map(machine).collect()),
            (show.map, &|| self.map()),
            (show.bindings, &|| self.bindings().concat()),
        ];
        parts.into_iter().filter(|(shown, _)| *shown).map(|(_, part)| part()).collect()
    }

    /// A line for each rank with its binding.
    pub(crate) fn bindings(&self) -> Vec<String> {
        let sets = (0..).zip(&self.placement.processors);
        sets.map(|(rank, set)| binding(self.host(rank as usize), rank, set.as_deref())).collect()
    }

    /// A table of the ranks.
    fn map(&self) -> String {
        let mut rows = vec![["rank", "program", "host", "processors"].map(String::from)];
        for (rank, set) in self.placement.processors.iter().enumerate() {
            let HostResources { name, topology, .. } = *self.host(rank);
            let processors = match set {
                Some(set) => format_list(set),
                None => format!("{} (not bound)", format_list(&topology.processors())),
            };
            let program = self.programs.get(rank).cloned().unwrap_or_default();
            rows.push([rank.to_string(), program, name.to_owned(), processors]);
        }
        let width = |column: usize| {
            rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
        };
        let [rank, program, host] = [0, 1, 2].map(width);
        let line = |row: &[String; 4]| {
            let [number, name, place, processors] = row;
            format!("{number:>rank$}  {name:<program$}  {place:<host$}  {processors}\n")
        };
        rows.iter().map(line).collect()
    }
}

fn binding(host: &HostResources<'_>, rank: u32, set: Option<&[usize]>) -> String {
    let HostResources { name, topology, .. } = *host;
    let place = match set {
        None => "not bound".to_owned(),
        Some(set) => {
            let (words, picture) = (description(topology, set), picture(topology, set));
            format!("bound to {words} (processors {}) {picture}", format_list(set))
        }
    };
    format!("rank {rank} on {name} {place}\n")
}

fn allocation(host: &HostResources<'_>) -> String {
    let counts =
        [HardwareLevel::Package, HardwareLevel::Core, HardwareLevel::Thread].map(|level| {
            let count = host.topology.objects(level).len();
            format!("{count} {}{}", level.name(), if count == 1 { "" } else { "s" })
        });
    let processors = format_list(&host.topology.processors());
    format!("{}: {} (processors {processors})\n", host.name, counts.join(", "))
}

/// The objects of the host as a tree. A level with the same objects as the one around it, or as
/// the cores, is left out.
fn machine(host: &HostResources<'_>) -> String {
    let cores = host.topology.objects(HardwareLevel::Core);
    let mut levels: Vec<(HardwareLevel, Vec<Vec<usize>>)> = Vec::new();
    for level in &HardwareLevel::ALL[1..] {
        let objects = host.topology.objects(*level);
        let same = levels.last().is_some_and(|(_, around)| *around == objects);
        if *level == HardwareLevel::Package
            || *level < HardwareLevel::Core && !same && objects != cores
        {
            levels.push((*level, objects));
        }
    }
    levels.push((HardwareLevel::Core, cores));
    let mut lines = format!("{}\n", host.name);
    write_inside(&levels, &host.topology.processors(), 1, &mut lines);
    lines
}

/// `cores 0-1 of package 0, package 1`.
fn description(topology: &CpuTopology, set: &[usize]) -> String {
    let packages = topology.objects(HardwareLevel::Package);
    let all_cores = topology.objects(HardwareLevel::Core);
    let parts = packages.iter().enumerate().filter_map(|(number, package)| {
        let inside = |one: &usize| package.contains(one) && set.contains(one);
        let held = |core: &Vec<usize>| core.iter().filter(|one| inside(one)).count();
        let touched = (0..all_cores.len()).filter(|core| held(&all_cores[*core]) > 0);
        let touched: Vec<_> = touched.collect();
        if touched.is_empty() {
            return None;
        }
        if touched.len() > 1 && package.iter().all(inside) {
            return Some(format!("package {number}"));
        }
        let whole = touched.iter().all(|core| held(&all_cores[*core]) == all_cores[*core].len());
        let part = if whole { "" } else { "part of " };
        let some = if touched.len() == 1 { "core" } else { "cores" };
        Some(format!("{part}{some} {} of package {number}", format_list(&touched)))
    });
    parts.collect::<Vec<_>>().join(", ")
}

fn picture(topology: &CpuTopology, set: &[usize]) -> String {
    let thread = |number: &usize| if set.contains(number) { 'B' } else { '.' };
    let core = |core: &Vec<usize>| core.iter().map(thread).collect::<String>();
    let package = |package: Vec<usize>| {
        let cores = topology.objects_in(HardwareLevel::Core, &package);
        format!("[{}]", cores.iter().map(core).collect::<Vec<_>>().join("/"))
    };
    topology.objects(HardwareLevel::Package).into_iter().map(package).collect()
}

/// Writes the objects of the first of `levels` that intersect `set`, with their contents.
fn write_inside(
    levels: &[(HardwareLevel, Vec<Vec<usize>>)], set: &[usize], depth: usize, lines: &mut String,
) {
    let [(level, objects), below @ ..] = levels else { return };
    for (number, object) in objects.iter().enumerate() {
        let part: Vec<_> = object.iter().filter(|one| set.contains(one)).copied().collect();
        if !part.is_empty() {
            let (indent, name, list) = (depth * 2, level.name(), format_list(&part));
            *lines += &format!("{:indent$}{name} {number} (processors {list})\n", "");
            write_inside(below, &part, depth + 1, lines);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::machines::{big, two_packages};

    fn shown(topology: &CpuTopology, sets: &[Option<&[usize]>], words: &str) -> String {
        let processors = sets.iter().map(|set| set.map(<[_]>::to_vec)).collect();
        let placement = Placement { processors, ..Placement::default() };
        let programs = vec!["./a.out".to_owned(); sets.len()];
        let mut show = DisplayOptions::default();
        show.display(words).unwrap();
        let host = HostResources {
            name: "vm",
            identity: "",
            slots: None,
            slots_max: None,
            topology,
            is_supposed: false,
        };
        PlacementReport { hosts: &[host], placement: &placement, programs: &programs }.shown(show)
    }

    #[test]
    fn bindings_are_text_and_a_picture() {
        let sets: [Option<&[usize]>; 7] = [
            Some(&[0, 4]),
            Some(&[1, 5, 0, 4]),
            Some(&[4]),
            Some(&[1, 2, 6]),
            Some(&[0, 1, 2, 3, 4, 5, 6, 7]),
            Some(&[2, 6]),
            None,
        ];
        assert_eq!(
            shown(&two_packages(2), &sets, "bindings"),
            "rank 0 on vm bound to core 0 of package 0 (processors 0,4) [BB/..][../..]\n\
             rank 1 on vm bound to package 0 (processors 0-1,4-5) [BB/BB][../..]\n\
             rank 2 on vm bound to part of core 0 of package 0 (processors 4) [.B/..][../..]\n\
             rank 3 on vm bound to part of core 1 of package 0, core 2 of package 1 \
             (processors 1-2,6) [../B.][BB/..]\n\
             rank 4 on vm bound to package 0, package 1 (processors 0-7) [BB/BB][BB/BB]\n\
             rank 5 on vm bound to core 2 of package 1 (processors 2,6) [../..][BB/..]\n\
             rank 6 on vm not bound\n"
        );
    }

    #[test]
    fn several_hosts_are_named() {
        let (small, large) = (two_packages(1), two_packages(2));
        let host = |name, topology| HostResources {
            name,
            identity: name,
            slots: None,
            slots_max: None,
            topology,
            is_supposed: false,
        };
        let placement = Placement {
            processors: vec![Some(vec![0, 4]), Some(vec![1]), None],
            host_of_rank: vec![1, 0, 0],
            note: None,
        };
        let mut show = DisplayOptions::default();
        show.display("map,bindings,alloc").unwrap();
        let hosts = [host("a", &small), host("node2", &large)];
        let programs = ["x", "x", "x"].map(String::from);
        let report = PlacementReport { hosts: &hosts, placement: &placement, programs: &programs };
        assert_eq!(
            report.shown(show),
            "a: 2 packages, 4 cores, 4 hardware threads (processors 0-3)\n\
             node2: 2 packages, 4 cores, 8 hardware threads (processors 0-7)\n\
             rank  program  host   processors\n   \
             0  x        node2  0,4\n   \
             1  x        a      1\n   \
             2  x        a      0-3 (not bound)\n\
             rank 0 on node2 bound to core 0 of package 0 (processors 0,4) [BB/..][../..]\n\
             rank 1 on a bound to core 1 of package 0 (processors 1) [./B][./.]\n\
             rank 2 on a not bound\n"
        );
    }

    #[test]
    fn the_map_is_a_table() {
        assert_eq!(
            shown(&two_packages(1), &[Some(&[0, 1]), None], "map,alloc"),
            "vm: 2 packages, 4 cores, 4 hardware threads (processors 0-3)\n\
             rank  program  host  processors\n   \
             0  ./a.out  vm    0-1\n   \
             1  ./a.out  vm    0-3 (not bound)\n"
        );
    }

    #[test]
    fn the_machine_is_a_tree() {
        assert_eq!(
            shown(&big().within(&[0, 1, 4, 20, 8]), &[], "topo"),
            "vm\n  \
             package 0 (processors 0-1,4,20)\n    \
             NUMA node 0 (processors 0-1)\n      \
             core 0 (processors 0)\n      \
             core 1 (processors 1)\n    \
             NUMA node 1 (processors 4,20)\n      \
             core 2 (processors 4,20)\n  \
             package 1 (processors 8)\n    \
             NUMA node 2 (processors 8)\n      \
             core 3 (processors 8)\n"
        );
    }
}
