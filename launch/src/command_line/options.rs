//! The options of `mpirun` in three tables: supported options, options of other launchers that
//! are accepted without effect, and options that are refused with a reason.
//!
//! Launchers have options such as `-np` and `-genv NAME VALUE`, which parsers for long and short
//! options do not support. [`with_two_dashes`] makes long options of them before the parser runs;
//! for that it needs the number of values of each option.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use super::acp;
use super::launcher_name::LauncherName;
use crate::placement::options::SHORTHANDS;
use crate::{LaunchError, USAGE};

/// The argument with the program and its own arguments.
pub(crate) const PROGRAM: &str = "program";

const HELP_NOTES: &str = "\
Options have one dash or two, and their value in the next argument or after '='. Options of Open
MPI, MPICH and Intel MPI that only tune these libraries are accepted without effect, with one note.

The exit code is that of the first process that failed: its own code, 128 plus the number of the
signal that killed it, or the code of MPI_Abort. With --with-ft, ranks that failed do not count unless
all did.
124: time limit; 127: program not found; 126: program could not be started; 2: wrong arguments.";

/// An option without a value: its name, its aliases, its help.
type Flag = (&'static str, &'static [&'static str], &'static str);

/// An option with values: its name, its aliases, the names of its values, its help.
type Valued = (&'static str, &'static [&'static str], &'static [&'static str], &'static str);

/// Options under one heading.
pub(super) struct OptionSection {
    pub heading: &'static str,
    pub flags: &'static [Flag],
    pub valued: &'static [Valued],
}

const SECTIONS: &[OptionSection] = &[
    OptionSection {
        heading: "Programs",
        flags: &[],
        valued: &[
            (
                "n",
                &["np", "c"],
                &["COUNT"],
                "start COUNT processes; default: the slots of the hosts, or -ppn, or 1",
            ),
            ("wdir", &["wd", "cwd"], &["DIRECTORY"], "working directory of the processes"),
            ("path", &[], &["DIRECTORIES"], "search the program in DIRECTORIES first"),
            (
                "prefix",
                &[],
                &["DIRECTORY"],
                "put DIRECTORY/bin and DIRECTORY/lib before PATH and LD_LIBRARY_PATH",
            ),
            ("app", &["configfile"], &["FILE"], "a program with its options on each line of FILE"),
            (
                "debug",
                &["wrap"],
                &["RANKS", "COMMAND"],
                "start these ranks (0,2-4 or all) under COMMAND, such as 'gdb -args'",
            ),
            ("gtool", &[], &["COMMAND:RANKS"], "--debug in the form of Intel MPI"),
        ],
    },
    OptionSection {
        heading: "Placement",
        flags: &[
            ("oversubscribe", &[], "accepted; more processes than cores are always allowed"),
            ("nooversubscribe", &[], "refuse more processes than slots or cores"),
            ("do-not-resolve", &[], "accepted; names of hosts are never resolved"),
            ("pernode", &[], "one process on each host"),
            ("allow-run-as-root", &[], "accepted; always allowed"),
            ("report-bindings", &[], "print the processors of each rank"),
        ],
        valued: &[
            (
                "host",
                &["H", "hosts"],
                &["HOSTS"],
                "hosts, each with an optional number of slots: a:4,node[01-08],user@b; +n2 and +e are \
                a host and the rest of a host file or an allocation",
            ),
            (
                "hostfile",
                &["f", "machinefile", "machine", "default-hostfile"],
                &["FILE"],
                "a host on each line: 'a:4' or 'a slots=4 max_slots=8 user=USER port=PORT'",
            ),
            (
                "rmk",
                &[],
                &["MANAGER"],
                "take the hosts of this resource manager only: slurm, pbs, lsf, sge, cobalt, or \
                user for none",
            ),
            (
                "ppn",
                &["perhost", "grr"],
                &["COUNT"],
                "processes on each host; with a larger -n, wrap around the hosts",
            ),
            ("npernode", &["N"], &["COUNT"], "processes on each host, at most"),
            ("npersocket", &[], &["COUNT"], "processes on each package"),
            (
                "map-by",
                &[],
                &["POLICY"],
                "distribute ranks over slot, hwthread, core, l1cache, l2cache, l3cache, numa, \
                package or ppr:N:OBJECT, with :PE=N for N cores each; or by pe-list=LIST or \
                rankfile:file=FILE",
            ),
            ("rank-by", &[], &["ORDER"], "order of the ranks: slot, fill (object by object), span"),
            (
                "bind-to",
                &[],
                &["OBJECT"],
                "bind each rank to a hwthread, core, l2cache, l3cache, numa, package; none; core:N \
                for N cores; user:LIST,LIST... Default: cores, if the ranks fill them exactly, \
                once or several times",
            ),
            (
                "rankfile",
                &["rf"],
                &["FILE"],
                "the processors of each rank: 'rank 0=HOST slot=0-1' or slot=PACKAGE:CORES",
            ),
            ("cpu-set", &["cpu-list"], &["LIST"], "use these cores only"),
            ("cpus-per-proc", &["cpus-per-rank"], &["COUNT"], "same as --map-by :PE=COUNT"),
            ("display", &[], &["LIST"], "print before the start: map, bindings, allocation, topo"),
        ],
    },
    OptionSection {
        heading: "Other hosts",
        flags: &[],
        valued: &[
            (
                "launcher",
                &["bootstrap"],
                &["NAME"],
                "what starts mpirun on other hosts: ssh, rsh, slurm (srun), sge (qrsh), lsf (blaunch); \
                default: the command of the allocation, or ssh. HYDRA_LAUNCHER and \
                I_MPI_HYDRA_BOOTSTRAP set it as well",
            ),
            (
                "launcher-exec",
                &["launch-agent", "bootstrap-exec"],
                &["COMMAND"],
                "start mpirun on other hosts by COMMAND, called like ssh with a host and a command \
                line; must not ask questions. HYDRA_LAUNCHER_EXEC, I_MPI_HYDRA_BOOTSTRAP_EXEC, \
                OMPI_MCA_plm_rsh_agent and PRTE_MCA_plm_ssh_agent set it as well",
            ),
            (
                "launcher-args",
                &["bootstrap-exec-args"],
                &["ARGUMENTS"],
                "further arguments of that command, such as '-o BatchMode=no'; OMPI_MCA_plm_rsh_args \
                and HYDRA_LAUNCHER_EXTRA_ARGS set them as well",
            ),
        ],
    },
    OptionSection {
        heading: "Other jobs",
        flags: &[
            ("impi-cleartext", &[], "join without encryption, for other implementations of IMPI"),
            ("impi-gateway", &[], "rank 0 forwards all messages between this job and the others"),
        ],
        valued: &[
            (
                "name-server",
                &["nameserver", "ompi-server"],
                &["SERVER"],
                "share the names of MPI_Publish_name with other jobs through the suiro-names of \
                file:PATH, HOST or HOST:PORT; SUIRO_NAME_SERVER sets it as well",
            ),
            (
                "impi-server",
                &[],
                &["HOST:PORT"],
                "join one MPI_COMM_WORLD with other jobs through this suiro-impi-server",
            ),
            ("impi-client", &[], &["K"], "the number of this job there, from 0"),
            ("client", &[], &["K", "HOST:PORT"], "both, in the spelling of IMPI"),
            (
                "impi-key-file",
                &[],
                &["FILE"],
                "the key of that server; default: SUIRO_IMPI_KEY_FILE, or $HOME/.suiro/impi-key",
            ),
        ],
    },
    OptionSection {
        heading: "Environment",
        flags: &[
            ("envall", &[], "pass the whole environment to this program (default)"),
            ("envnone", &[], "pass no variables to this program"),
            ("genvall", &[], "pass the whole environment to all programs"),
            ("genvnone", &[], "pass no variables to any program"),
        ],
        valued: &[
            (
                "x",
                &[],
                &["NAME[=VALUE]"],
                "set NAME for this program, or pass its value here; NAME* is every name with \
                this prefix",
            ),
            ("env", &[], &["NAME", "VALUE"], "set NAME for this program"),
            ("genv", &[], &["NAME", "VALUE"], "set NAME for all programs"),
            ("envlist", &[], &["NAMES"], "pass only these variables to this program"),
            ("genvlist", &[], &["NAMES"], "pass only these variables to all programs"),
            ("envexcl", &[], &["NAMES"], "pass all variables except these to this program"),
            ("genvexcl", &[], &["NAMES"], "pass all variables except these to all programs"),
            ("set-env", &[], &["NAME=VALUE"], "set NAME for this program"),
            ("unset-env", &[], &["NAME"], "remove NAME (or NAME*)"),
            (
                "prepend-env",
                &[],
                &["NAME[SEPARATOR]", "VALUE"],
                "put VALUE before the value of NAME, with ':' or SEPARATOR between",
            ),
            ("append-env", &[], &["NAME[SEPARATOR]", "VALUE"], "put VALUE after the value of NAME"),
            (
                "initial-errhandler",
                &[],
                &["HANDLER"],
                "the error handler before the program sets one: \
                 mpi_errors_are_fatal, mpi_errors_abort or mpi_errors_return",
            ),
            (
                "device",
                &[],
                &["DEVICE"],
                "what transports messages: shm (shared memory, and TCP between hosts), tcp, ofi (libfabric \
                 between hosts), auto (ofi if there is a fabric, else shm), or tofu (a simulated network \
                 interface that runs persistent collectives)",
            ),
            (
                "memory-alloc-kinds",
                &[],
                &["KINDS"],
                "request these memory allocation kinds, such as mpi:alloc_mem,system",
            ),
        ],
    },
    OptionSection {
        heading: "Output and input",
        flags: &[
            ("l", &["prepend-rank"], "begin each line with [RANK]"),
            ("tag-output", &[], "begin each line with [1,RANK]<stdout>:"),
            ("timestamp-output", &[], "begin each line with the time and the stream"),
            ("prepend-timestamp", &[], "begin each line with the time"),
            ("merge-stderr-to-stdout", &[], "write standard error to standard output"),
        ],
        valued: &[
            (
                "output",
                &[],
                &["LIST"],
                "a list of tag, tag-detailed, tag-fullname, rank, timestamp, merge, raw (do not \
                wait for whole lines), dir=DIRECTORY, file=NAME, nocopy (files only)",
            ),
            (
                "prepend-pattern",
                &[],
                &["PATTERN"],
                "begin each line with PATTERN; %r: rank, %h: host, %t: time, %%: %",
            ),
            ("outfile-pattern", &[], &["PATTERN"], "write standard output to files such as o.%r"),
            ("errfile-pattern", &[], &["PATTERN"], "write standard error to files such as e.%r"),
            ("output-filename", &[], &["NAME"], "copy output to NAME.RANK.out and NAME.RANK.err"),
            (
                "output-directory",
                &[],
                &["DIRECTORY"],
                "copy output to DIRECTORY/1/rank.RANK/stdout and stderr",
            ),
            ("output-from", &[], &["RANK"], "show only the output of RANK"),
            (
                "stdin",
                &["s"],
                &["RANKS"],
                "ranks that read standard input: 0 (default), 0,2-4, all, none",
            ),
        ],
    },
    OptionSection {
        heading: "Limits and signals",
        flags: &[
            ("get-stack-traces", &[], "accepted; --timeout always prints them"),
            ("report-state-on-timeout", &[], "accepted; --timeout always prints it"),
            (
                "enable-recovery",
                &["disable-auto-cleanup"],
                "the job goes on when a rank fails between MPI_Init and MPI_Finalize: others get \
                MPIX_ERR_PROC_FAILED (mpi-ext.h); exit code 0 if all ranks that are left end with 0",
            ),
        ],
        valued: &[
            (
                "timeout",
                &[],
                &["SECONDS"],
                "end the job after SECONDS with code 124, and print the state of each rank (also \
                MPIEXEC_TIMEOUT)",
            ),
            (
                "with-ft",
                &[],
                &["MODEL"],
                "ulfm or mpi: same as --enable-recovery; no: a failure ends the job (default)",
            ),
            (
                "forward-signals",
                &[],
                &["SIGNALS"],
                "signals, such as INT,ALRM, that are forwarded to the ranks and do not end the job; \
                USR1, USR2, TSTP and CONT always are",
            ),
        ],
    },
    OptionSection {
        heading: "Information",
        flags: &[
            ("do-not-launch", &["dry-run"], "print the placement and start nothing"),
            ("explain", &[], "print what was decided for this job, and why"),
            ("help-settings", &[], "print the settings of the library (environment variables)"),
            ("verbose", &["v"], "same as --explain"),
            ("quiet", &["q"], "print no notes"),
            ("info", &[], "print the version and facts about the build"),
            ("version", &["V"], "print the version"),
            ("help", &["h"], "print this help"),
        ],
        valued: &[],
    },
];

/// Options of other launchers that are accepted without effect, by their number of values. They
/// tune parts that Suiro does not have, or several hosts.
const IGNORED: &[(usize, &str)] = &[
    (
        0,
        "aps check_mpi continuous daemonize debug-daemons debug-daemons-file debug-devel \
         disable-hostname-propagation disable-recovery disable-x \
         display-comm display-comm-finalize enable-x \
         hybrid-hosts index-argv-by-rank keep-fqdn-hostnames leave-session-attached mps \
         no-app-prefix no-ready-msg noconf noprefix novm ordered-output pmi-port preload-binary \
         print-all-exitcodes profile prot report-child-jobs-separately \
         show-progress silent-abort skip-launch-node trace use-regexp",
    ),
    (
        1,
        "add-host add-hostfile am app-pmix-prefix \
         branch-count demux dvm gpu-support gpus-per-proc hosts-group iface \
         localhost max-restarts \
         max-vm-size membind order-nodes personality \
         pmix-prefix preload-files pset rankmap report-pid report-uri runtime-options \
         spawn-timeout stream-buffering tmpdir topolib tune usize",
    ),
    (2, "gmca gomca gpmixmca gprtemca mca omca pmixmca prtemca"),
];

/// Options among [`IGNORED`] that have no effect on this host, but would have one with other hosts, with
/// a replacement.
const REFUSED_WITH_HOSTS: &[(&str, &str)] = &[
    ("add-host", "name all hosts by --host"),
    ("add-hostfile", "name all hosts in --hostfile"),
    ("hosts-group", "name the hosts by --host"),
    ("order-nodes", "name the hosts in the order that you want"),
    ("preload-binary", "copy the program to the hosts, or to a folder that they share"),
    ("preload-files", "copy the files to the hosts, or to a folder that they share"),
    ("rankmap", "use --map-by seq or a rankfile"),
    ("skip-launch-node", "use --nolocal"),
];

/// Checks options without effect (as [`ignored`] has them) of a job with other hosts.
///
/// # Errors
/// Names an option that must not be ignored.
pub(crate) fn check_with_hosts(without_effect: &[String]) -> Result<(), LaunchError> {
    for option in without_effect {
        let name = option.split(' ').next().unwrap_or_default().trim_start_matches('-');
        if let Some((_, replacement)) = REFUSED_WITH_HOSTS.iter().find(|(other, _)| *other == name)
        {
            let why = format!("{option} is not supported with other hosts; {replacement}");
            return Err(LaunchError::new(USAGE, why));
        }
    }
    Ok(())
}

/// Options of other launchers that Suiro does not have and must not ignore, with a replacement.
const REFUSED: &[(&str, usize, &str)] = &[
    ("gdb", 0, "use --debug all 'gdb -args'"),
    ("gtoolfile", 1, "use --debug RANKS COMMAND for each line of the file"),
    ("set-cwd-to-session-dir", 0, "there is no session directory; use --wdir"),
    ("stop-in-app", 0, "use --debug RANKS 'gdb -args'"),
    ("stop-in-init", 0, "use --debug RANKS 'gdb -args'"),
    ("stop-on-exec", 0, "use --debug RANKS 'gdb -args'"),
    ("xml", 0, "use --tag-output, or --output dir=DIRECTORY"),
    ("xterm", 1, "use --debug RANKS 'xterm -e'"),
];

/// The parser for one program: its options, then [`PROGRAM`].
pub(crate) fn command(launcher: LauncherName) -> Command {
    let command = Command::new(launcher.name())
        .override_usage(format!("{} {}", launcher.name(), launcher.usage()))
        .after_help(format!("{}{HELP_NOTES}", launcher.notes()))
        .disable_help_flag(true)
        .disable_version_flag(true)
        .no_binary_name(true)
        .args_override_self(true);
    let of_acp = launcher.has_acp().then_some(&acp::SECTION);
    let mut command = SECTIONS.iter().chain(of_acp).fold(command, with_section);
    for (name, others) in acp::ALIASES.iter().filter(|_| launcher.has_acp()) {
        command = command.mut_arg(name, |option| option.visible_aliases(*others));
    }
    command = command.next_help_heading("Information").arg(
        Arg::new("output-proctable")
            .long("output-proctable")
            .value_name("FILE")
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("-")
            .action(ArgAction::Append)
            .value_parser(value_parser!(OsString))
            .help(
                "print rank, host, program and process of each rank to FILE; -: standard output \
                 (default), +: standard error",
            ),
    );
    let ignored = IGNORED
        .iter()
        .flat_map(|(values, names)| names.split_whitespace().map(|name| option(name, *values)));
    let known = |name: &str| SECTIONS.iter().any(|one| one.flags.iter().any(|flag| flag.0 == name));
    let shorthands =
        SHORTHANDS.iter().filter(|(name, ..)| !known(name)).map(|(name, ..)| flag(name));
    let refused = REFUSED.iter().map(|(name, values, _)| option(name, *values));
    let program = Arg::new(PROGRAM).num_args(0..).hide(true);
    command
        .args(ignored.chain(shorthands).chain(refused).map(|option| option.hide(true)))
        .arg(program.value_parser(value_parser!(OsString)))
}

/// `command` with the options of a section.
fn with_section(command: Command, section: &OptionSection) -> Command {
    let OptionSection { heading, flags, valued } = section;
    let flags = flags
        .iter()
        .map(|(name, others, help)| flag(name).visible_aliases(others.iter()).help(*help));
    let valued = valued.iter().map(|(name, others, values, help)| {
        let option = option(name, values.len()).value_names(values.iter());
        option.visible_aliases(others.iter()).help(*help)
    });
    command.next_help_heading(*heading).args(flags).args(valued)
}

fn flag(name: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue)
}

/// An option that may be repeated, each time with `values` arbitrary values.
fn option(name: &'static str, values: usize) -> Arg {
    if values == 0 {
        return flag(name);
    }
    let option = Arg::new(name).long(name).num_args(values).action(ArgAction::Append);
    option.allow_hyphen_values(true).value_parser(value_parser!(OsString))
}

/// `words` with two dashes before each option, and `--` before the program.
fn with_two_dashes(
    command: &Command, launcher: LauncherName, words: Vec<OsString>,
) -> Vec<OsString> {
    let mut all = Vec::with_capacity(words.len() + 1);
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let bytes = word.as_bytes();
        let Some(name) = bytes.strip_prefix(b"-").filter(|name| !name.is_empty()) else {
            all.push("--".into());
            all.push(word);
            break;
        };
        if bytes == b"--" {
            all.push(word);
            break;
        }
        let name = name.strip_prefix(b"-").unwrap_or(name);
        let plain = name.split(|byte| *byte == b'=').next().unwrap_or(name);
        let value = &name[plain.len()..];
        let renamed = launcher.option_name(&bytes[..bytes.len() - value.len()]);
        let plain = renamed.map_or(plain, str::as_bytes);
        let found = command.get_arguments().find(|option| is_called(option, plain));
        let values = found.map_or(0, |option| option.get_num_args().map_or(0, |n| n.min_values()));
        let attached = usize::from(!value.is_empty());
        all.push([b"--", plain, value].map(OsStr::from_bytes).into_iter().collect());
        all.extend(words.by_ref().take(values.saturating_sub(attached)));
    }
    all.extend(words);
    all
}

fn is_called(option: &Arg, name: &[u8]) -> bool {
    let mut names =
        option.get_long().into_iter().chain(option.get_all_aliases().into_iter().flatten());
    names.any(|other| other.as_bytes() == name)
}

/// Parses the arguments of one program.
///
/// # Errors
/// A [`LaunchError`] with code 2 that names the wrong argument.
pub(crate) fn parse(
    command: &mut Command, launcher: LauncherName, words: Vec<OsString>,
) -> Result<ArgMatches, LaunchError> {
    let words = with_two_dashes(command, launcher, words);
    let matches = command.try_get_matches_from_mut(words);
    let matches = matches.map_err(|error| usage_error(launcher, &error))?;
    match REFUSED.iter().find(|(name, _, _)| is_given(&matches, name)) {
        None => Ok(matches),
        Some((name, _, replacement)) => {
            Err(LaunchError::new(USAGE, format!("--{name} is not supported; {replacement}")))
        }
    }
}

/// Whether the option `name` was given.
pub(crate) fn is_given(matches: &ArgMatches, name: &str) -> bool {
    use clap::parser::ValueSource::CommandLine;
    matches.value_source(name) == Some(CommandLine)
}

/// Options among `matches` that have no effect, with their values; not those whose values `has_effect`.
pub(crate) fn ignored(
    matches: &ArgMatches, has_effect: impl Fn(&[OsString]) -> bool,
) -> Vec<String> {
    let mut found = Vec::new();
    for (values, names) in IGNORED {
        for name in names.split_whitespace().filter(|name| is_given(matches, name)) {
            if *values == 0 {
                found.push(format!("--{name}"));
                continue;
            }
            let occurrences = occurrences(matches, name).into_iter();
            for occurrence in occurrences.filter(|values| !has_effect(values)) {
                let words = occurrence.join(OsStr::new(" "));
                found.push(format!("--{name} {}", words.to_string_lossy()));
            }
        }
    }
    found
}

/// The values of each occurrence of `name`.
pub(crate) fn occurrences(matches: &ArgMatches, name: &str) -> Vec<Vec<OsString>> {
    let all = matches.get_occurrences::<OsString>(name).into_iter().flatten();
    all.map(|values| values.cloned().collect()).collect()
}

/// The last value of the option.
pub(crate) fn last(matches: &ArgMatches, name: &str) -> Option<OsString> {
    occurrences(matches, name).pop()?.pop()
}

fn usage_error(launcher: LauncherName, error: &clap::Error) -> LaunchError {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => texts.first().cloned(),
        _ => None,
    };
    let word = context(ContextKind::InvalidArg).unwrap_or_default();
    // "--n <COUNT>" is how the parser names an option with a value.
    let name = word.split(' ').next().unwrap_or_default();
    let why = match error.kind() {
        ErrorKind::UnknownArgument => {
            let similar = context(ContextKind::SuggestedArg);
            let similar =
                similar.map_or(String::new(), |other| format!(" (did you mean {other}?)"));
            let launcher = launcher.name();
            format!("unknown option {name}{similar};  {launcher} --help lists the options")
        }
        ErrorKind::WrongNumberOfValues | ErrorKind::TooFewValues => {
            format!("the option {name} lacks its second value")
        }
        ErrorKind::InvalidValue
            if context(ContextKind::InvalidValue).is_none_or(|value| value.is_empty()) =>
        {
            format!("the option {name} lacks its value")
        }
        _ => error.to_string().lines().next().unwrap_or_default().replace("error: ", ""),
    };
    LaunchError::new(USAGE, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    use LauncherName::{Acprun, Macprun, Mpirun};

    #[test]
    fn the_table_is_sound() {
        for launcher in [Mpirun, Acprun, Macprun] {
            command(launcher).debug_assert();
        }
    }

    #[test]
    fn dashes_stop_at_the_program() {
        let command = command(Mpirun);
        let words = |line: &str| -> Vec<OsString> { line.split(' ').map(OsString::from).collect() };
        for (line, expected) in [
            ("-np 4 a -np", "--np 4 -- a -np"),
            ("--np=4 -env A -np a -b", "--np=4 --env A -np -- a -b"),
            ("-mca a b -l -- -odd", "--mca a b --l -- -odd"),
            ("-n", "--n"),
        ] {
            assert_eq!(with_two_dashes(&command, Mpirun, words(line)), words(expected), "{line}");
        }
    }

    #[test]
    fn every_name_is_in_the_help_or_hidden() {
        let help = command(Mpirun).render_help().to_string();
        for OptionSection { flags, valued, .. } in SECTIONS {
            let names = flags.iter().map(|flag| flag.0).chain(valued.iter().map(|valued| valued.0));
            for name in names {
                assert!(help.contains(&format!("--{name}")), "{name}");
            }
        }
        assert!(!help.contains("--mca"));
    }
}
