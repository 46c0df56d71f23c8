//! The settings of the library: environment variables, and what they may be.
//!
//! One table, from which help texts and messages are made; what the values mean to the code is
//! known where they are read.

use std::fmt::Write;

/// One setting.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The variable.
    pub name: &'static str,
    /// What it may be.
    pub values: &'static str,
    /// What it is when it is not set.
    pub default: &'static str,
    /// What it does, in a sentence.
    pub meaning: &'static str,
}

/// All settings.
pub const SETTINGS: &[Setting] = &[
    Setting {
        name: "SUIRO_LOG",
        values: "error|warn|info|debug|trace, or a filter like suiro=debug",
        default: "",
        meaning: "diagnostics on standard error beside error messages",
    },
    Setting {
        name: "SUIRO_PROGRESS",
        values: "polling|thread|auto|delegate",
        default: "polling",
        meaning: "whether messages move inside MPI calls, by a thread too (auto: once it pays), or by that alone",
    },
    Setting {
        name: "SUIRO_WAIT",
        values: "auto|spin|yield|sleep",
        default: "auto",
        meaning: "how a call waits: auto spins where each local rank has a processor, else only if that proves faster",
    },
    Setting {
        name: "SUIRO_DEVICE",
        values: "shm|tofu",
        default: "shm",
        meaning: "what carries messages: shared memory, or a simulated network interface that runs \
                  persistent collectives by itself",
    },
    Setting {
        name: "SUIRO_OFFLOAD",
        values: "auto|off|tank|tank1|prematched",
        default: "auto",
        meaning: "how an interface that can runs persistent collectives: not at all, or with counters \
                  by this scheme; auto is tank",
    },
    Setting {
        name: "SUIRO_RDMA_SCHEDULE",
        values: "none|rr1|rr2|rr4|bl1|bl2|bl4|access|best",
        default: "none",
        meaning: "how neighborhood collectives that the interface runs, and that start together, share its \
                  engines: as they come, in turn, or packed",
    },
    Setting {
        name: "SUIRO_TOFU_GENERATION",
        values: "tofu1|tofu2|tofud|bxi",
        default: "tofu1",
        meaning: "which network interface device tofu simulates: what it has, and how fast it is",
    },
    Setting {
        name: "SUIRO_TOFU_PACE",
        values: "off|real",
        default: "off",
        meaning: "whether its transfers take as long as on the real thing, or as short as they can",
    },
    Setting {
        name: "SUIRO_TOFU_TORUS",
        values: "auto|sizes like 4x3x2 or 2x2x2x2x3x2",
        default: "auto",
        meaning: "how many of its nodes lie along X, Y, Z, A, B and C, one for each rank",
    },
    Setting {
        name: "SUIRO_TOFU_COUNTERS",
        values: "auto|0|another number",
        default: "auto",
        meaning: "counters of its interface that let work start; the host runs what finds none free",
    },
    Setting {
        name: "SUIRO_TOFU_SLOTS",
        values: "auto|0|another number",
        default: "auto",
        meaning: "deferred work that its interface keeps at a time",
    },
    Setting {
        name: "SUIRO_TOFU_ENGINES",
        values: "auto|1|another number up to 32",
        default: "auto",
        meaning: "engines of its interface that send at the same time",
    },
    Setting {
        name: "SUIRO_TOFU_CPUS",
        values: "auto|a list like 0,2-3",
        default: "auto",
        meaning: "processors on which the threads that simulate it run; auto: those of their ranks",
    },
    Setting {
        name: "SUIRO_SHM_COPY",
        values: "auto|pipe|cma",
        default: "auto",
        meaning: "how long messages cross shared memory: through a ring, or by a direct read",
    },
    Setting {
        name: "SUIRO_EAGER_MAX",
        values: "0|4096|another number of bytes",
        default: "16384",
        meaning: "the longest message that is sent before its receive is known, at most as long as a packet of \
                  the device: 32768 in shared memory",
    },
    Setting {
        name: "SUIRO_CHECK",
        values: "0|1",
        default: "0",
        meaning: "whether ranks compare their collective calls before they begin them",
    },
    Setting {
        name: "SUIRO_HANG_REPORT",
        values: "off|a duration like 500ms, 30s or 2m",
        default: "off",
        meaning: "after how long a rank tells on standard error what its call waits for, and again \
                  each time that doubles",
    },
    Setting {
        name: "SUIRO_DEADLOCK",
        values: "report|abort|off",
        default: "report",
        meaning: "what happens when all ranks of a job wait for each other in MPI calls; those that \
                  loop over MPI_Test are not seen",
    },
    Setting {
        name: "SUIRO_PMI",
        values: "auto|1|2|x",
        default: "auto",
        meaning: "the protocol to speak with the launcher: PMI-1, PMI-2 or PMIx, or what it answers",
    },
    Setting {
        name: "SUIRO_PMIX_LIBRARY",
        values: "a path",
        default: "",
        meaning: "the libpmix.so.2 to use under launchers that speak PMIx, if not the launcher's own",
    },
    Setting {
        name: "SUIRO_EXPLAIN",
        values: "0|1",
        default: "0",
        meaning: "rank 0 tells on standard error what was decided for the job, and why",
    },
    Setting {
        name: "SUIRO_INITIAL_ERRHANDLER",
        values: "mpi_errors_are_fatal|mpi_errors_abort|mpi_errors_return",
        default: "mpi_errors_are_fatal",
        meaning: "what an error does where the program has not set an error handler",
    },
    Setting {
        name: "SUIRO_MEMORY_KINDS",
        values: "a list like mpi:alloc_mem,system",
        default: "",
        meaning: "memory allocation kinds that the program asks for, beside mpi and system",
    },
    Setting {
        name: "SUIRO_SINGLETON",
        values: "0|1",
        default: "0",
        meaning: "run alone even if the environment looks like a job without a launcher",
    },
    Setting {
        name: "SUIRO_REDUCE",
        values: "fast|reproducible",
        default: "fast",
        meaning: "whether results of reductions depend on nothing but the operands and their order",
    },
    collective("SUIRO_COLL_BARRIER", "how MPI_Barrier is done"),
    collective("SUIRO_COLL_BCAST", "how MPI_Bcast is done"),
    collective("SUIRO_COLL_GATHER", "how MPI_Gather is done"),
    collective("SUIRO_COLL_GATHERV", "how MPI_Gatherv is done"),
    collective("SUIRO_COLL_SCATTER", "how MPI_Scatter is done"),
    collective("SUIRO_COLL_SCATTERV", "how MPI_Scatterv is done"),
    collective("SUIRO_COLL_ALLGATHER", "how MPI_Allgather is done"),
    collective("SUIRO_COLL_ALLGATHERV", "how MPI_Allgatherv is done"),
    collective("SUIRO_COLL_ALLTOALL", "how MPI_Alltoall is done"),
    collective("SUIRO_COLL_ALLTOALLV", "how MPI_Alltoallv and MPI_Alltoallw is done"),
    collective("SUIRO_COLL_REDUCE", "how MPI_Reduce is done"),
    collective("SUIRO_COLL_ALLREDUCE", "how MPI_Allreduce is done"),
    collective(
        "SUIRO_COLL_REDUCE_SCATTER",
        "how MPI_Reduce_scatter and MPI_Reduce_scatter_block is done",
    ),
    collective("SUIRO_COLL_SCAN", "how MPI_Scan is done"),
    collective("SUIRO_COLL_EXSCAN", "how MPI_Exscan is done"),
];

/// The beginning of the settings that say how a collective operation is done.
pub const COLLECTIVE_PREFIX: &str = "SUIRO_COLL_";

const fn collective(name: &'static str, meaning: &'static str) -> Setting {
    let values = "auto|shared|an algorithm that suiro-info --coll lists";
    Setting { name, values, default: "auto", meaning }
}

/// The settings that must be the same on all ranks, as ranks that disagree about them would not
/// understand each other. A name that ends in `*` stands for all that start so.
const AGREED: &[&str] = &[
    "SUIRO_COLL_*",
    "SUIRO_REDUCE",
    "SUIRO_CHECK",
    "SUIRO_DEVICE",
    "SUIRO_OFFLOAD",
    "SUIRO_TOFU_GENERATION",
    "SUIRO_TOFU_PACE",
    "SUIRO_TOFU_TORUS",
];

/// The settings that must be the same on all ranks and are not what they are by default:
/// `NAME=value`, one a line.
pub fn agreed(lookup: impl Fn(&str) -> Option<String>) -> String {
    let is_agreed = |name: &str| {
        AGREED.iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == *pattern,
        })
    };
    let mut text = String::new();
    for Setting { name, default, .. } in SETTINGS.iter().filter(|setting| is_agreed(setting.name)) {
        let value = lookup(name).filter(|value| !value.is_empty() && value != default);
        if let Some(value) = value {
            // Writing to a string never fails.
            let _ = writeln!(text, "{name}={value}");
        }
    }
    text
}

/// In which setting two texts of [`agreed`] differ first, with both values; `None` if in none.
pub fn difference<'a>(ours: &'a str, theirs: &'a str) -> Option<(&'a str, &'a str, &'a str)> {
    let value_in = |text: &'a str, name: &str| {
        let mut values = text.lines().filter_map(|line| line.split_once('='));
        values.find(|(other, _)| *other == name).map(|(_, value)| value)
    };
    let default = |name: &str| {
        let setting = SETTINGS.iter().find(|setting| setting.name == name);
        setting.map_or("", |setting| setting.default)
    };
    let names = ours.lines().chain(theirs.lines()).filter_map(|line| line.split_once('='));
    names
        .map(|(name, _)| {
            let value = |text| value_in(text, name).unwrap_or_else(|| default(name));
            (name, value(ours), value(theirs))
        })
        .find(|(_, ours, theirs)| ours != theirs)
}

/// The table for people, with the values that `lookup` knows.
pub fn table(lookup: impl Fn(&str) -> Option<String>) -> String {
    let mut text = String::new();
    for Setting { name, values, default, meaning } in SETTINGS {
        let default = if default.is_empty() { "not set" } else { default };
        let now = lookup(name).map_or(String::new(), |value| format!(", now {value}"));
        // Writing to a string never fails.
        let _ = writeln!(text, "{name}={values}\n    {meaning} ({default} by default{now})");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_must_agree_is_told_unless_it_is_the_default() {
        let lookup = |name: &str| match name {
            "SUIRO_COLL_BCAST" => Some("chain".to_owned()),
            "SUIRO_COLL_SCAN" => Some("auto".to_owned()),
            "SUIRO_COLL_REDUCE" => Some(String::new()),
            "SUIRO_WAIT" => Some("spin".to_owned()),
            _ => None,
        };
        assert_eq!(agreed(lookup), "SUIRO_COLL_BCAST=chain\n");
    }

    #[test]
    fn the_first_difference_has_both_values() {
        let (ours, theirs) = ("SUIRO_COLL_BCAST=chain\n", "SUIRO_COLL_SCAN=chain\n");
        assert_eq!(difference(ours, theirs), Some(("SUIRO_COLL_BCAST", "chain", "auto")));
        assert_eq!(difference("", theirs), Some(("SUIRO_COLL_SCAN", "auto", "chain")));
        assert_eq!(difference(ours, ours), None);
    }
}
