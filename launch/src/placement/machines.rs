//! Machines for the tests of placement.

use std::path::Path;

use platform::sys::topology::{CpuTopology, format_list};

/// Two packages of two cores; the threads of core N are N, N + 4, ...
pub fn two_packages(threads: usize) -> CpuTopology {
    machine(2, 1, 2, threads)
}

/// Two packages of two NUMA nodes, each with an L3 and four cores of two threads: N and N + 16.
pub fn big() -> CpuTopology {
    machine(2, 2, 4, 2)
}

/// `packages` of `nodes` of `cores` of `threads`, numbered as on PCs: all first threads first.
fn machine(packages: usize, nodes: usize, cores: usize, threads: usize) -> CpuTopology {
    let all_cores = packages * nodes * cores;
    // The processors of the cores `group * size` and following.
    let list = |group: usize, size: usize| {
        let first = group * size..(group + 1) * size;
        let all = (0..threads).flat_map(|t| first.clone().map(move |core| core + t * all_cores));
        Some(format_list(&all.collect::<Vec<_>>()))
    };
    let read = |path: &Path| {
        let path = path.to_str()?.strip_prefix("/sys/devices/system/")?;
        if path == "node/online" {
            return Some(format!("0-{}", packages * nodes - 1));
        }
        if let Some(node) = path.strip_prefix("node/node") {
            return list(node.strip_suffix("/cpulist")?.parse().ok()?, cores);
        }
        let (cpu, file) = path.strip_prefix("cpu/cpu")?.split_once('/')?;
        let core = cpu.parse::<usize>().ok()? % all_cores;
        match file {
            "topology/core_cpus_list" => list(core, 1),
            "topology/package_cpus_list" => list(core / cores / nodes, cores * nodes),
            "cache/index0/level" => Some("3".into()),
            "cache/index0/shared_cpu_list" => list(core / cores, cores),
            _ => None,
        }
    };
    CpuTopology::read(&(0..all_cores * threads).collect::<Vec<_>>(), &read)
}
