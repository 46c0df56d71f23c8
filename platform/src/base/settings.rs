//! The settings of the library: environment variables and their values.
//!
//! Help texts and messages are made from this table. The code that reads a setting parses its value.

use std::fmt::Write;
use std::time::Duration;

/// One setting.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The name of the variable.
    pub name: &'static str,
    /// The possible values, separated by `|`.
    pub values: &'static str,
    /// The value if the variable is not set.
    pub default: &'static str,
    /// The effect, in a phrase.
    pub meaning: &'static str,
}

/// All settings.
pub const SETTINGS: &[Setting] = &[
    Setting {
        name: "SUIRO_LOG",
        values: "error|warn|info|debug|trace|a filter like suiro=debug",
        default: "",
        meaning: "diagnostic messages on standard error, beside error messages",
    },
    Setting {
        name: "SUIRO_PROGRESS",
        values: "polling|windows|thread|auto|delegate",
        default: "windows",
        meaning: "what makes progress: MPI calls (polling), MPI calls and a thread (thread), a \
                  thread alone (delegate); windows starts the thread with the first window or \
                  registered memory of ACP that other ranks access by messages; auto does so too, and, if each rank has a \
                  processor, when another operation needs the thread",
    },
    Setting {
        name: "SUIRO_WAIT",
        values: "auto|spin|yield|sleep",
        default: "auto",
        meaning: "how a call waits; auto spins if each local rank has a processor, otherwise only \
                  if spinning has proved faster",
    },
    Setting {
        name: "SUIRO_DEVICE",
        values: "shm|tofu|tcp|ofi|auto|vendor",
        default: "shm",
        meaning: "what transports messages: shared memory inside a host and TCP between hosts \
                  (shm), TCP everywhere (tcp), a simulated network interface that runs \
                  persistent collectives (tofu), libfabric between hosts (ofi), ofi if every host has an \
                  interface of a fabric that can be used, and else shm (auto), or another MPI \
                  library under its own launcher (vendor)",
    },
    Setting {
        name: "SUIRO_OFI_LIBRARY",
        values: "a path",
        default: "",
        meaning: "the libfabric.so.1 that device ofi uses; else the one that the loader finds",
    },
    Setting {
        name: "SUIRO_OFI_PROVIDER",
        values: "a name like verbs;ofi_rxm, cxi, efa, tcp;ofi_rxm or tcp",
        default: "",
        meaning: "the provider of libfabric that device ofi uses, and auto, whatever interfaces there are; else \
                  the one that libfabric names first, which FI_PROVIDER restricts, too",
    },
    Setting {
        name: "SUIRO_OFI_BETWEEN",
        values: "hosts|ranks",
        default: "hosts",
        meaning: "the messages that device ofi hands to libfabric: those between hosts, with shared memory \
                  inside a host (hosts), or all (ranks)",
    },
    Setting {
        name: "SUIRO_OFI_ACCESS",
        values: "auto|provider|messages",
        default: "auto",
        meaning: "what makes accesses to memory of other ranks with device ofi: the provider, if that has been \
                  tried (auto) or if it says that it can (provider), or messages",
    },
    Setting {
        name: "SUIRO_OFI_ROOT",
        values: "a folder",
        default: "/",
        meaning: "the folder with the folders sys and dev in which device auto looks for interfaces of fabrics, for \
                  containers that have those of the host elsewhere, and for tests",
    },
    Setting {
        name: "SUIRO_VENDOR_LIBRARY",
        values: "a path",
        default: "",
        meaning: "the libmpi_abi.so.1 of the MPI library that device vendor uses",
    },
    Setting {
        name: "SUIRO_VENDOR_SHORT",
        values: "a number of bytes from 64 to 1048576",
        default: "16384",
        meaning: "the longest data that device vendor sends with its header in one message of the other \
                  library; longer data follows in a second one, without a copy at the receiver",
    },
    Setting {
        name: "SUIRO_VENDOR_MODE",
        values: "auto|polling|thread",
        default: "auto",
        meaning: "what asks the other library of device vendor for messages: calls that wait (polling), or \
                  a thread, which wakes them (thread); auto is polling",
    },
    Setting {
        name: "SUIRO_VENDOR_BETWEEN",
        values: "ranks|hosts",
        default: "ranks",
        meaning: "the messages that device vendor hands to the other library: all (ranks), or those between \
                  hosts, with shared memory inside a host (hosts)",
    },
    Setting {
        name: "SUIRO_TCP_IF",
        values: "auto|a list like eth0,10.0.0.0/8,^docker0",
        default: "auto",
        meaning: "the addresses by which other hosts reach a rank: of interfaces (ib* is all whose \
                  names begin so) or in subnets; ^ excludes; auto: all except loopback, \
                  link-local addresses and bridges of containers",
    },
    Setting {
        name: "SUIRO_TCP_PORTS",
        values: "auto|a range like 40000-40100",
        default: "auto",
        meaning: "the ports on which ranks wait for connections by TCP; auto: any",
    },
    Setting {
        name: "SUIRO_TCP_CRYPT",
        values: "auth|full",
        default: "auth",
        meaning: "what is protected on connections by TCP: both ends prove the secret of the job \
                  (auth), or every byte is encrypted as well (full)",
    },
    Setting {
        name: "SUIRO_TCP_TIMEOUT",
        values: "a duration like 500ms, 30s or 2m",
        default: "60s",
        meaning: "the time of silence after which a rank that is reached by TCP has failed",
    },
    Setting {
        name: "SUIRO_HOST_TIMEOUT",
        values: "off|a duration like 500ms, 30s or 2m",
        default: "3s",
        meaning: "the time of silence after which a host is lost to mpirun, and the job ends; mpirun \
                  is lost to another host after twice that time",
    },
    Setting {
        name: "SUIRO_START_TIMEOUT",
        values: "off|a duration like 500ms, 30s or 2m",
        default: "2m",
        meaning: "the time that the command that starts mpirun on another host has to do so",
    },
    Setting {
        name: "SUIRO_START_FAN_OUT",
        values: "off|a number of hosts",
        default: "32",
        meaning: "the number of hosts on which one process starts mpirun at most: those start it on \
                  the rest; off or 0: mpirun starts all itself, as without this setting by other \
                  commands than ssh and rsh",
    },
    Setting {
        name: "SUIRO_NAME_SERVER",
        values: "file:PATH|HOST|HOST:PORT",
        default: "",
        meaning: "the suiro-names through which jobs share the names of MPI_Publish_name; read by mpirun, \
                  and by processes without it",
    },
    Setting {
        name: "SUIRO_IMPI_SERVER",
        values: "HOST:PORT",
        default: "",
        meaning: "the suiro-impi-server by which this job and others join one MPI_COMM_WORLD",
    },
    Setting {
        name: "SUIRO_IMPI_CLIENT",
        values: "a number from 0 to 31",
        default: "",
        meaning: "the number of this job among those of SUIRO_IMPI_SERVER; ranks of lower numbers come \
                  first",
    },
    Setting {
        name: "SUIRO_IMPI_KEY_FILE",
        values: "a path",
        default: "",
        meaning: "the key that jobs and suiro-impi-server prove to each other; default: \
                  $HOME/.suiro/impi-key",
    },
    Setting {
        name: "SUIRO_IMPI_CLEARTEXT",
        values: "0|1",
        default: "0",
        meaning: "whether connections to the server and to other jobs are neither encrypted nor \
                  authenticated, for other implementations of IMPI; IMPI_AUTH_KEY=NUMBER or \
                  IMPI_AUTH_NONE=1 proves the job to the server",
    },
    Setting {
        name: "SUIRO_IMPI_GATEWAY",
        values: "0|1",
        default: "0",
        meaning: "whether rank 0 of this job forwards what its ranks and those of other jobs send to each \
                  other; otherwise they connect directly",
    },
    Setting {
        name: "SUIRO_IMPI_DATA_BYTES",
        values: "a number of bytes from 1 to 16777216",
        default: "65536",
        meaning: "the longest data of a packet to other jobs; the lowest number of all jobs holds",
    },
    Setting {
        name: "SUIRO_IMPI_ACK_MARK",
        values: "a number of packets",
        default: "10",
        meaning: "packets from a rank of another job that are acknowledged at once",
    },
    Setting {
        name: "SUIRO_IMPI_HIGH_WATER",
        values: "a number of packets, SUIRO_IMPI_ACK_MARK at least",
        default: "20",
        meaning: "packets from a rank of another job that are not acknowledged, at most",
    },
    Setting {
        name: "SUIRO_IMPI_TIMEOUT",
        values: "a duration like 500ms, 30s or 2m",
        default: "60s",
        meaning: "the time in which all jobs of SUIRO_IMPI_SERVER must have joined",
    },
    Setting {
        name: "SUIRO_IMPI_REPRESENTATION",
        values: "alike|words like big-endian,long4,wchar2,long-double-64",
        default: "",
        meaning: "how this job says that it represents data, where that differs from the machine: \
                  little-endian or big-endian, long4 or long8, wchar2 or wchar4, and long-double-64, \
                  long-double-x87 or long-double-128; all data to and from jobs that say something else is \
                  converted to external32 and back; alike: jobs in cleartext, which say nothing, have data \
                  like this one, as LAM/MPI needs it; otherwise all data to and from them is converted",
    },
    Setting {
        name: "SUIRO_OFFLOAD",
        values: "auto|off|tank|tank1|prematched",
        default: "auto",
        meaning: "the scheme by which a network interface runs persistent collectives, with devices shm, \
                  tcp and ofi a thread of each rank; off: the host runs them; auto: tank with device tofu, off with \
                  all others",
    },
    Setting {
        name: "SUIRO_RDMA_SCHEDULE",
        values: "none|rr1|rr2|rr4|bl1|bl2|bl4|access|best",
        default: "none",
        meaning: "how neighborhood collectives that start together share the engines of the \
                  interface: in the order of their start (none), in turn (rr*), packed (bl*, \
                  access) or by search (best)",
    },
    Setting {
        name: "SUIRO_TOFU_GENERATION",
        values: "tofud|tofu2|bxi|tofu1-counters",
        default: "tofud",
        meaning: "the network interface that device tofu simulates: its resources and its speed; \
                  tofu1-counters is that of the K computer, with counters that the real one lacks",
    },
    Setting {
        name: "SUIRO_TOFU_PACE",
        values: "off|real",
        default: "off",
        meaning: "the duration of simulated transfers: that of the real interface, or the \
                  shortest possible (off)",
    },
    Setting {
        name: "SUIRO_TOFU_TORUS",
        values: "auto|sizes like 4x3x2 or 2x2x2x2x3x2",
        default: "auto",
        meaning: "nodes of the simulated torus along X, Y, Z, A, B and C, one node for each rank",
    },
    Setting {
        name: "SUIRO_TOFU_COUNTERS",
        values: "auto|a number",
        default: "auto",
        meaning: "counters of each simulated interface; software runs a program that finds none \
                  free",
    },
    Setting {
        name: "SUIRO_TOFU_COUNTER_BITS",
        values: "auto|a number from 4 to 64",
        default: "auto",
        meaning: "bits of each counter of a simulated interface; a program with longer levels has \
                  more counters",
    },
    Setting {
        name: "SUIRO_TOFU_SLOTS",
        values: "auto|a number",
        default: "auto",
        meaning: "deferred operations that each simulated interface can hold at a time; software \
                  runs a program that finds none free",
    },
    Setting {
        name: "SUIRO_TOFU_ENGINES",
        values: "auto|a number from 1 to 32",
        default: "auto",
        meaning: "engines of each simulated interface that send at the same time",
    },
    Setting {
        name: "SUIRO_TOFU_CPUS",
        values: "auto|a list like 0,2-3",
        default: "auto",
        meaning: "processors of the threads that simulate the interfaces; auto: those of the rank",
    },
    Setting {
        name: "SUIRO_ACP_WITHOUT",
        values: "none|a list of bypass, atomics, descriptors, threads",
        default: "none",
        meaning: "what accesses of ACP do without, to measure what it is worth: calls that carry out \
                  their accesses (bypass), atomic operations of the device (atomics), addresses that \
                  stay known (descriptors), threads that call at the same time (threads)",
    },
    Setting {
        name: "SUIRO_SHM_COPY",
        values: "auto|pipe|cma",
        default: "auto",
        meaning: "how long messages are copied: through a ring (pipe) or by a direct read of the \
                  sender's memory (cma)",
    },
    Setting {
        name: "SUIRO_EAGER_MAX",
        values: "auto|a number of bytes",
        default: "auto",
        meaning: "the longest message that is sent before its receive is posted; limited by the \
                  packet size of the device (32768 in shared memory); auto: 16384 in shared memory, \
                  and what suits it on a network",
    },
    Setting {
        name: "SUIRO_CHECK",
        values: "0|1",
        default: "0",
        meaning: "whether ranks compare each collective call before it begins, and find conflicting \
                  operations on windows",
    },
    Setting {
        name: "SUIRO_HANG_REPORT",
        values: "off|a duration like 500ms, 30s or 2m",
        default: "off",
        meaning: "the time after which a waiting call is reported on standard error, and again \
                  each time the waiting time doubles",
    },
    Setting {
        name: "SUIRO_DEADLOCK",
        values: "report|abort|off",
        default: "report",
        meaning: "what happens in a deadlock of all ranks in MPI calls; loops over MPI_Test are \
                  not detected",
    },
    Setting {
        name: "SUIRO_NOISE",
        values: "none|KIND:PERIOD,LENGTH like periodic:10000,1000 or random:10000,1000,seed=7,sends",
        default: "none",
        meaning: "injected noise, for experiments: each rank sleeps LENGTH in each PERIOD (microseconds) \
                  where it would ask for messages, and with sends also where it would send; periodic: from \
                  a random time on; synchronous: all ranks of a host together; random: at a time that is \
                  drawn for each period",
    },
    Setting {
        name: "SUIRO_PMI",
        values: "auto|1|2|x",
        default: "auto",
        meaning: "the protocol between rank and launcher: PMI-1, PMI-2 or PMIx (x); auto: the \
                  first that the launcher answers",
    },
    Setting {
        name: "SUIRO_PMIX_LIBRARY",
        values: "a path",
        default: "",
        meaning: "the libpmix.so.2 for launchers that use PMIx; default: that of the launcher",
    },
    Setting {
        name: "SUIRO_EXPLAIN",
        values: "0|1",
        default: "0",
        meaning: "whether rank 0 prints what was decided for the job, and why",
    },
    Setting {
        name: "SUIRO_INITIAL_ERRHANDLER",
        values: "mpi_errors_are_fatal|mpi_errors_abort|mpi_errors_return",
        default: "mpi_errors_are_fatal",
        meaning: "the error handler before the program sets one",
    },
    Setting {
        name: "SUIRO_MEMORY_KINDS",
        values: "a list like mpi:alloc_mem,system",
        default: "",
        meaning: "memory allocation kinds that the program requests, in addition to mpi and system",
    },
    Setting {
        name: "SUIRO_SINGLETON",
        values: "0|1",
        default: "0",
        meaning: "whether the program is a job of one rank even if the environment shows several \
                  processes",
    },
    Setting {
        name: "SUIRO_REDUCE",
        values: "fast|reproducible",
        default: "fast",
        meaning: "whether the result of a reduction depends only on the operands and their order",
    },
    collective("SUIRO_COLL_BARRIER", "the algorithm of MPI_Barrier"),
    collective("SUIRO_COLL_BCAST", "the algorithm of MPI_Bcast"),
    collective("SUIRO_COLL_GATHER", "the algorithm of MPI_Gather"),
    collective("SUIRO_COLL_GATHERV", "the algorithm of MPI_Gatherv"),
    collective("SUIRO_COLL_SCATTER", "the algorithm of MPI_Scatter"),
    collective("SUIRO_COLL_SCATTERV", "the algorithm of MPI_Scatterv"),
    collective("SUIRO_COLL_ALLGATHER", "the algorithm of MPI_Allgather"),
    collective("SUIRO_COLL_ALLGATHERV", "the algorithm of MPI_Allgatherv"),
    collective("SUIRO_COLL_ALLTOALL", "the algorithm of MPI_Alltoall"),
    collective("SUIRO_COLL_ALLTOALLV", "the algorithm of MPI_Alltoallv and MPI_Alltoallw"),
    collective("SUIRO_COLL_REDUCE", "the algorithm of MPI_Reduce"),
    collective("SUIRO_COLL_ALLREDUCE", "the algorithm of MPI_Allreduce"),
    collective(
        "SUIRO_COLL_REDUCE_SCATTER",
        "the algorithm of MPI_Reduce_scatter and MPI_Reduce_scatter_block",
    ),
    collective("SUIRO_COLL_SCAN", "the algorithm of MPI_Scan"),
    collective("SUIRO_COLL_EXSCAN", "the algorithm of MPI_Exscan"),
    Setting {
        name: RULES,
        values: "a path",
        default: "",
        meaning: "rules for the algorithms of operations without a setting, by the size of the communicator and the \
                  bytes (TOML); suiro-tune writes such a file",
    },
];

/// The setting of the rules for the algorithms of collective operations.
pub const RULES: &str = "SUIRO_COLL_RULES";

/// The prefix of the settings that choose the algorithm of a collective operation.
pub const COLLECTIVE_PREFIX: &str = "SUIRO_COLL_";

const fn collective(name: &'static str, meaning: &'static str) -> Setting {
    let values = "auto|shared|an algorithm that suiro-info --coll lists";
    Setting { name, values, default: "auto", meaning }
}

/// The settings that must be equal on all ranks: with different values, ranks would send messages
/// that others do not expect. A `*` at the end of a name makes it a prefix.
///
/// `SUIRO_RDMA_SCHEDULE` is not one of them: it only chooses the engines by which a rank sends, and
/// engines of the receiver follow from the messages. Different values cost time, not correctness.
const AGREED: &[&str] = &[
    "SUIRO_COLL_*",
    "SUIRO_REDUCE",
    "SUIRO_CHECK",
    "SUIRO_DEVICE",
    "SUIRO_OFI_PROVIDER",
    "SUIRO_OFI_BETWEEN",
    "SUIRO_VENDOR_SHORT",
    "SUIRO_VENDOR_BETWEEN",
    "SUIRO_TCP_CRYPT",
    "SUIRO_TCP_TIMEOUT",
    "SUIRO_IMPI_SERVER",
    "SUIRO_IMPI_CLIENT",
    "SUIRO_IMPI_CLEARTEXT",
    "SUIRO_IMPI_GATEWAY",
    "SUIRO_OFFLOAD",
    "SUIRO_TOFU_GENERATION",
    "SUIRO_TOFU_PACE",
    "SUIRO_TOFU_TORUS",
];

/// `off` (`None`), or a positive duration: `500ms`, `30s`, `2m`, `1.5h`. `None` for other texts.
pub fn parse_duration(text: &str) -> Option<Option<Duration>> {
    if text == "off" {
        return Some(None);
    }
    let unit = text.find(|letter: char| letter.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(unit);
    let seconds = match unit {
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    let duration = Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds).ok()?;
    (!duration.is_zero()).then_some(Some(duration))
}

/// The settings that must be equal on all ranks and differ from the default, as lines of
/// `NAME=value`.
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

/// The lines of [`agreed`] that must be equal in jobs that connect, too: those of collective operations
/// and of checks, but none of devices.
pub fn agreed_across_jobs(agreed: &str) -> String {
    let is_across = |line: &&str| {
        ["SUIRO_COLL_", "SUIRO_REDUCE=", "SUIRO_CHECK="].iter().any(|start| line.starts_with(start))
    };
    agreed.lines().filter(is_across).flat_map(|line| [line, "\n"]).collect()
}

/// The first setting in which two texts of [`agreed`] differ, with both values.
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
        .map(|(name, ours, theirs)| (name, said(ours), said(theirs)))
}

/// A value in a message.
fn said(value: &str) -> &str {
    if value.is_empty() { "not set" } else { value }
}

/// The table of settings for users, with the values of `lookup`.
pub fn table(lookup: impl Fn(&str) -> Option<String>) -> String {
    let mut text = String::new();
    for Setting { name, values, default, meaning } in SETTINGS {
        let default = said(default);
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
    fn agreed_settings_are_listed_unless_they_are_the_default() {
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
    fn jobs_may_have_different_devices() {
        let text = "SUIRO_COLL_BCAST=chain\nSUIRO_DEVICE=tcp\nSUIRO_TCP_TIMEOUT=5s\n";
        assert_eq!(agreed_across_jobs(text), "SUIRO_COLL_BCAST=chain\n");
    }

    #[test]
    fn the_first_difference_has_both_values() {
        let (ours, theirs) = ("SUIRO_COLL_BCAST=chain\n", "SUIRO_COLL_SCAN=chain\n");
        assert_eq!(difference(ours, theirs), Some(("SUIRO_COLL_BCAST", "chain", "auto")));
        assert_eq!(difference("", theirs), Some(("SUIRO_COLL_SCAN", "auto", "chain")));
        assert_eq!(difference(ours, ours), None);
        let rules = "SUIRO_COLL_RULES=a file\n";
        assert_eq!(difference(rules, ""), Some((RULES, "a file", "not set")));
    }
}
