//! The options that `acprun` and `macprun` have beside those of `mpirun`: those of the launchers of
//! ACP 3.
//!
//! ```text
//!   -smemsize 4096    --acp-smemsize=4096      an option of ACP in its two forms
//!   --smemsize 4096                            the form of mpirun, for options of both
//! ```
//!
//! Sizes of memory are those of all ranks, as the library requires. They reach it as arguments
//! behind those of the programs, from which `acp_init` takes them.
//!
//! Sources: the help of ACP's `acprun` and `macprun`, and its manual page.

use std::ffi::{OsStr, OsString};

use clap::ArgMatches;

use crate::command_line::options::{OptionSection, is_given, last};
use crate::command_line::plan::{EnvironmentEdit, LaunchPlan};
use crate::{LaunchError, USAGE};

/// The options that `mpirun` does not have.
pub(super) const SECTION: OptionSection = OptionSection {
    heading: "ACP",
    flags: &[("multirun", &["multrun", "mult"], "accepted; macprun starts several programs")],
    valued: &[
        (
            "startermemsize",
            &["smemsize"],
            &["BYTES"],
            "starter memory of each process (passed on as --acp-size-smem)",
        ),
        (
            "startermemsize-dl",
            &["smemsize-dl"],
            &["BYTES"],
            "memory of each process for acp_malloc and containers (--acp-size-smem-dl)",
        ),
        ("startermemsize-cl", &["smemsize-cl"], &["BYTES"], "accepted; channels need no limit"),
        (
            "net",
            &["ndev", "envnet"],
            &["NETWORK"],
            "UDP or IB: accepted, the library chooses the network; TOFU or TOFU2: --device tofu, \
            if all processes are on this host",
        ),
        ("portfile", &[], &["FILE"], "accepted; macprun starts several programs"),
        ("offsetrank", &[], &["RANK"], "accepted; macprun starts several programs"),
        ("ethspeed", &[], &["MBITS"], "accepted"),
        ("mhooksmall", &[], &["0|1"], "accepted; malloc is that of the program"),
        ("mhooklarge", &[], &["0|1"], "accepted"),
        ("mhookhuge", &[], &["0|1"], "accepted"),
        ("mhooklow", &[], &["BYTES"], "accepted"),
        ("mhookhigh", &[], &["BYTES"], "accepted"),
    ],
};

/// Names in ACP of options of `mpirun`.
pub(super) const ALIASES: &[(&str, &[&str])] = &[
    ("n", &["nprocs"]),
    ("host", &["node"]),
    ("hostfile", &["nodefile"]),
    ("launcher-exec", &["ssh", "rsh"]),
];

/// Names of one option in ACP and in `mpirun`.
const SHARED: &[&str] = &["n", "np", "host", "machinefile", "help", "h", "version"];

/// Names that mean another option in `mpirun`, with what they mean in ACP.
const RENAMED: &[(&str, &str)] = &[("debug", "explain"), ("v", "version")];

/// What help says about these options.
pub(super) const NOTES: &str = "\
Options of ACP may also be written with '--acp-' and '=', such as --acp-nodefile=FILE.
-debug and -v are --explain and --version, as in ACP; --debug and --v are those of mpirun.

Hosts of -nodefile and -host without slots take one process each, in the order in which they are
named, then again from the first. Names of -host replace those of -nodefile.

";

/// Options that concern parts which this library does not have.
const WITHOUT_EFFECT: &[&str] = &[
    "startermemsize-cl",
    "ethspeed",
    "mhooksmall",
    "mhooklarge",
    "mhookhuge",
    "mhooklow",
    "mhookhigh",
];

/// Options by which ACP joins jobs that are started one by one.
const OF_SEPARATE_JOBS: &[&str] = &["multirun", "portfile", "offsetrank"];

/// Names of networks in small letters, and whether they are simulated.
const NETWORKS: &[(&str, bool)] =
    &[("udp", false), ("ib", false), ("infiniband", false), ("tofu", true), ("tofu2", true)];

/// The option of [`options`](super::options) that a word means in ACP; the word has its dashes, but
/// no value.
pub(super) fn option_name(word: &[u8]) -> Option<&'static str> {
    let word = std::str::from_utf8(word).ok()?;
    let name = match word.strip_prefix("--") {
        Some(name) => name.strip_prefix("acp-")?,
        None => word.strip_prefix('-')?,
    };
    let flags = SECTION.flags.iter().map(|(name, others, _)| (name, *others));
    let valued = SECTION.valued.iter().map(|(name, others, ..)| (name, *others));
    let own = flags.chain(valued).flat_map(|(name, others)| [name].into_iter().chain(others));
    let aliases = ALIASES.iter().flat_map(|(_, names)| *names);
    let renamed = RENAMED.iter().find(|(of_acp, _)| *of_acp == name).map(|(_, option)| option);
    renamed.or_else(|| own.chain(aliases).chain(SHARED).find(|known| **known == name)).copied()
}

/// What the options say about the job.
#[derive(Debug, Default)]
pub(super) struct AcpOptions {
    starter_bytes: Option<u64>,
    heap_bytes: Option<u64>,
    /// The last network, and whether it is simulated.
    network: Option<(OsString, bool)>,
}

impl AcpOptions {
    /// Applies the options of a program. Those without effect are added to the list.
    ///
    /// # Errors
    /// Names the option with a wrong value.
    pub(super) fn take(
        &mut self, matches: &ArgMatches, without_effect: &mut Vec<String>,
    ) -> Result<(), LaunchError> {
        for (option, bytes) in [
            ("startermemsize", &mut self.starter_bytes),
            ("startermemsize-dl", &mut self.heap_bytes),
        ] {
            if let Some(word) = last(matches, option) {
                *bytes = Some(size(option, &word)?);
            }
        }
        if let Some(name) = last(matches, "net") {
            let is_simulated = is_simulated(&name)?;
            self.network = Some((name, is_simulated));
        }
        let given = |names: &[&'static str]| {
            let given = names.iter().filter(|name| is_given(matches, name));
            given.map(|name| format!("--{name}")).collect::<Vec<_>>()
        };
        without_effect.extend(given(WITHOUT_EFFECT));
        let of_separate_jobs = given(OF_SEPARATE_JOBS).into_iter();
        without_effect.extend(of_separate_jobs.map(|option| {
            format!("{option} (ranks count from 0; macprun starts several programs as one job)")
        }));
        Ok(())
    }

    /// Completes the plan, once its hosts are known.
    pub(super) fn apply(self, plan: &mut LaunchPlan, without_effect: &mut Vec<String>) {
        let sizes =
            [("--acp-size-smem", self.starter_bytes), ("--acp-size-smem-dl", self.heap_bytes)];
        for (option, bytes) in sizes {
            let Some(bytes) = bytes else { continue };
            for app in &mut plan.apps {
                app.arguments.extend([option.into(), bytes.to_string().into()]);
            }
        }
        match self.network {
            Some((name, true)) if plan.hosts.is_remote() => {
                let name = name.to_string_lossy();
                without_effect
                    .push(format!("--net {name} (only if all processes are on this host)"));
            }
            // Options that name the variable itself come later.
            Some((_, true)) => {
                let edit = EnvironmentEdit::Set("SUIRO_DEVICE".into(), "tofu".into());
                plan.global_environment.edits.insert(0, edit);
            }
            Some((_, false)) | None => {}
        }
    }
}

/// A number of bytes.
fn size(option: &str, word: &OsStr) -> Result<u64, LaunchError> {
    word.to_str().and_then(|text| text.parse().ok()).ok_or_else(|| {
        let why = format!("--{option} {}: expected a number of bytes", word.to_string_lossy());
        LaunchError::new(USAGE, why)
    })
}

/// Whether the network is simulated.
fn is_simulated(name: &OsStr) -> Result<bool, LaunchError> {
    let known = NETWORKS.iter().find(|(known, _)| name.eq_ignore_ascii_case(known));
    known.map(|(_, is_simulated)| *is_simulated).ok_or_else(|| {
        let why = format!("--net {}: expected UDP, IB, TOFU or TOFU2", name.to_string_lossy());
        LaunchError::new(USAGE, why)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::LaunchCommand;
    use crate::command_line::launcher_name::LauncherName::{Acprun, Mpirun};
    use crate::command_line::tests::{parse_as, plan_as};
    use crate::placement::PlacementRequest;

    fn plan(line: &str) -> LaunchPlan {
        plan_as(Acprun, &[], line)
    }

    fn why(line: &str) -> String {
        parse_as(Acprun, &[], line).unwrap_err().why
    }

    #[test]
    fn options_of_acp_have_two_forms() {
        for (word, name) in [
            ("-smemsize", Some("smemsize")),
            ("--acp-startermemsize-dl", Some("startermemsize-dl")),
            ("--acp-np", Some("np")),
            ("--acp-node", Some("node")),
            ("-debug", Some("explain")),
            ("--acp-debug", Some("explain")),
            ("--debug", None),
            ("--smemsize", None),
            ("--acp-timeout", None),
            ("-timeout", None),
            ("--acp-", None),
        ] {
            assert_eq!(option_name(word.as_bytes()), name, "{word}");
        }
        for line in ["-np 3 a", "--acp-np=3 a", "--acp-nprocs=3 a", "--acp-n 3 a", "-nprocs 3 a"] {
            assert_eq!(plan(line).apps[0].count, 3, "{line}");
        }
        assert!(plan("-debug -np 2 a").explain && plan("--acp-debug a").explain);
        assert_eq!(plan("--debug 0 gdb a").apps[0].wraps.len(), 1);
        for line in ["-v", "--acp-version", "-version"] {
            let version = parse_as(Acprun, &[], line).unwrap();
            let is_version = |text: &String| text.starts_with("acprun (Suiro) ");
            assert!(matches!(version, LaunchCommand::Print(text) if is_version(&text)), "{line}");
        }
    }

    #[test]
    fn what_acp_does_not_have_is_an_error() {
        for (line, start) in [
            ("--acp-timeout=3 a", "unknown option --acp-timeout"),
            ("--acp-size-smem 5 a", "unknown option --acp-size-smem"),
            ("-smemsize 4k a", "--startermemsize 4k: expected a number of bytes"),
            ("--acp-startermemsize-dl=-1 a", "--startermemsize-dl -1: expected a number of bytes"),
            ("-net MOON a", "--net MOON: expected UDP, IB, TOFU or TOFU2"),
            ("-net", "the option --net lacks its value"),
            ("-np 2", "no program to start was given; acprun --help"),
        ] {
            let why = why(line);
            assert!(why.starts_with(start), "{line}: {why}");
        }
        assert!(why("--acp-x a").contains("acprun --help lists the options"));
        let why = parse_as(Mpirun, &[], "-smemsize 5 a").unwrap_err().why;
        assert!(why.starts_with("unknown option --smemsize"), "{why}");
    }

    #[test]
    fn sizes_are_arguments_of_all_programs() {
        let line = "-smemsize 4096 -np 2 a -x : --acp-startermemsize-dl=100 -np 1 b";
        let plan = plan(line);
        let sizes = ["--acp-size-smem", "4096", "--acp-size-smem-dl", "100"];
        assert_eq!(plan.apps[0].arguments, [&["-x"], &sizes[..]].concat());
        assert_eq!(plan.apps[1].arguments, sizes);
        assert!(plan.notes.is_empty());
        assert_eq!(self::plan("-np 2 a -smemsize 1").apps[0].arguments, ["-smemsize", "1"]);
        assert_eq!(self::plan("-smemsize 1 -smemsize 010 a").apps[0].arguments[1], "10");
    }

    #[test]
    fn options_without_effect_are_noted_once() {
        let line = "-startermemsize-cl 4 -mhooksmall 1 --acp-ethspeed=1000 -portfile f -net ib a";
        let [note] = &plan(line).notes[..] else { panic!("one note") };
        for part in ["-cl", "--mhooksmall", "--ethspeed", "--portfile (ranks count from 0; "] {
            assert!(note.contains(part), "{part}: {note}");
        }
        assert!(!note.contains("--net"), "{note}");
        assert!(plan("-net UDP --acp-ndev=infiniband a").notes.is_empty());
    }

    #[test]
    fn tofu_is_simulated_on_one_host() {
        let edits = |line: &str| plan(line).global_environment.edits;
        let set = |value: &str| EnvironmentEdit::Set("SUIRO_DEVICE".into(), value.into());
        assert_eq!(edits("-net TOFU a"), [set("tofu")]);
        assert_eq!(edits("-genv SUIRO_DEVICE shm -net tofu2 a"), [set("tofu"), set("shm")]);
        assert_eq!(edits("-net TOFU -envnet UDP a"), []);
        assert_eq!(edits("-net TOFU -host there a"), []);
        let notes = plan("-net TOFU -host there a").notes;
        assert!(notes[0].contains("--net TOFU (only if all processes are on this host)"));
    }

    #[test]
    fn hosts_without_slots_take_turns_as_they_are_named() {
        let turns = |mentions: &[u32], ranks: u32| {
            let mut request = PlacementRequest::default();
            assert!(request.take_turns(mentions, ranks));
            request
        };
        let file = std::env::temp_dir().join(format!("acprun-nodes-{}", std::process::id()));
        std::fs::write(&file, "there\nhere\nthere\n").unwrap();
        let option = format!("-nodefile {}", file.display());
        let with_file = plan(&format!("{option} -np 4 a : -np 1 b"));
        let with_both = plan(&format!("{option} -host x,y -np 3 a"));
        let alone = plan(&format!("--acp-machinefile={} a", file.display()));
        std::fs::remove_file(&file).unwrap();
        assert_eq!(with_file.placement, turns(&[0, 1, 0], 5));
        assert_eq!(with_both.placement, turns(&[0, 1], 3));
        let names: Vec<_> = with_both.hosts.hosts.iter().map(|host| &*host.name).collect();
        assert_eq!(names, ["x", "y"]);
        let list = plan("--acp-node=there,here -np 3 a");
        assert_eq!((list.placement, list.notes.len()), (turns(&[0, 1], 3), 0));
        assert_eq!(alone.apps[0].count, 3);
        for line in [
            "-host there:2,here -np 3 a",
            "-host here,here -np 4 a",
            "-host there -np 1 a : -host here -np 1 b",
        ] {
            assert_eq!(plan(line).placement, PlacementRequest::default(), "{line}");
        }
        let mut by_node = PlacementRequest::default();
        by_node.map_by("node").unwrap();
        assert_eq!(plan("-host there,here -map-by node -np 3 a").placement, by_node);
    }

    #[test]
    fn the_remote_shell_has_the_names_of_acp() {
        for line in ["-ssh /r", "--acp-rsh=/r", "-launcher-exec /r"] {
            let starter = plan(&format!("{line} -host there a")).starter.unwrap();
            assert_eq!(starter.program, ["/r"], "{line}");
        }
    }
}
