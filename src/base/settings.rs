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
        values: "polling|thread",
        default: "polling",
        meaning: "whether messages move inside MPI calls only, or by a thread of their own too",
    },
    Setting {
        name: "SUIRO_WAIT",
        values: "auto|spin|yield|sleep",
        default: "auto",
        meaning: "how a call waits: auto spins only where each local rank has a processor",
    },
    Setting {
        name: "SUIRO_SHM_COPY",
        values: "auto|pipe|cma",
        default: "auto",
        meaning: "how long messages cross shared memory: through a ring, or by a direct read",
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
];

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
