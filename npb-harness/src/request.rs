//! The common arguments of subcommands that run kernels: sizes, numbers of ranks, libraries, repeats,
//! files.

use std::{
    ops::RangeInclusive,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{
    Arg, ArgAction, ArgMatches, Command,
    builder::{PossibleValuesParser, TypedValueParser},
    value_parser,
};

use crate::toolchain::{Scratch, Toolchain};

/// The devices of Suiro (`SUIRO_DEVICE`).
const DEVICES: [&str; 5] = ["shm", "tofu", "tcp", "ofi", "auto"];

/// The progress modes of Suiro (`SUIRO_PROGRESS`).
const PROGRESS: [&str; 4] = ["polling", "thread", "auto", "delegate"];

/// The parsed arguments.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Request {
    pub classes: Vec<char>,
    pub ranks: Vec<u32>,
    /// Devices of Suiro.
    pub devices: Vec<String>,
    /// Progress modes of Suiro.
    pub progress: Vec<String>,
    /// Number of runs of each setting.
    pub repeats: u32,
    /// Time limit of a run.
    pub limit: Duration,
    /// The file for results.
    pub results: Option<PathBuf>,
    /// The directory for the output of runs.
    pub logs: Option<PathBuf>,
    mpicc: Option<PathBuf>,
    mpifort: Option<PathBuf>,
    mpirun: Option<PathBuf>,
    peers: Vec<(PathBuf, String)>,
}

impl Request {
    /// The parsed arguments, with the directory for the output of runs, if any.
    pub(crate) fn of(matches: &ArgMatches, logs: Option<PathBuf>) -> Self {
        fn many<T: Clone + Send + Sync + 'static>(matches: &ArgMatches, name: &str) -> Vec<T> {
            matches.get_many(name).into_iter().flatten().cloned().collect()
        }
        let path = |name| matches.get_one::<PathBuf>(name).cloned();
        let default = "clap has a default";
        Self {
            classes: many(matches, "classes"),
            ranks: many(matches, "ranks"),
            devices: many(matches, "device"),
            progress: many(matches, "progress"),
            repeats: *matches.get_one("repeats").expect(default),
            limit: Duration::from_secs(*matches.get_one("limit-s").expect(default)),
            results: path("results"),
            logs,
            mpicc: path("mpicc"),
            mpifort: path("mpifort"),
            mpirun: path("mpirun"),
            peers: many(matches, "peer"),
        }
    }

    /// Suiro and the peers.
    ///
    /// # Errors
    /// The commands of a library do not work, or two libraries have the same label.
    pub(crate) fn libraries(&self, scratch: &Scratch) -> Result<Vec<Toolchain>, String> {
        let (mpicc, mpifort) = (self.mpicc.clone(), self.mpifort.clone());
        let mut all = vec![Toolchain::ours(mpicc, mpifort, self.mpirun.clone(), scratch)?];
        for (prefix, label) in &self.peers {
            if all.iter().any(|tools| tools.label == *label) {
                let prefix = prefix.display();
                return Err(format!(
                    "two libraries have the label {label}: use --peer {prefix}=LABEL"
                ));
            }
            all.push(Toolchain::peer(prefix, label)?);
        }
        Ok(all)
    }
}

/// Adds these arguments to a subcommand.
pub(crate) fn with_arguments(command: Command) -> Command {
    const POSITIVE: RangeInclusive<i64> = 1..=u32::MAX as i64;
    let list = |name: &'static str, default: &'static str| {
        Arg::new(name).long(name).value_name("LIST").value_delimiter(',').default_value(default)
    };
    let classes = PossibleValuesParser::new(["S", "W", "A", "B", "C", "D", "E", "F"]);
    let path = |name: &'static str| {
        Arg::new(name).long(name).value_name("PATH").value_parser(value_parser!(PathBuf))
    };
    command
        .arg(
            list("classes", "S,W")
                .value_parser(classes.map(|name| name.chars().next().unwrap_or_default()))
                .help("The classes (sizes), from the smallest"),
        )
        .arg(
            list("ranks", "4")
                .value_parser(value_parser!(u32).range(POSITIVE))
                .help("The numbers of ranks, such as 1,2,4"),
        )
        .arg(list("device", "shm").value_parser(DEVICES).help("The devices of Suiro"))
        .arg(
            list("progress", "polling")
                .value_parser(PROGRESS)
                .help("The progress modes of Suiro"),
        )
        .arg(
            Arg::new("repeats")
                .long("repeats")
                .value_name("COUNT")
                .value_parser(value_parser!(u32).range(POSITIVE))
                .default_value("1")
                .help("The number of runs of each setting, in turn with the others; the table has medians"),
        )
        .arg(
            Arg::new("peer")
                .long("peer")
                .value_name("PREFIX[=LABEL]")
                .action(ArgAction::Append)
                .value_parser(peer)
                .help("Also run with the library installed in PREFIX; may be repeated"),
        )
        .arg(path("results").help(
            "Append results to this file as lines of JSON, and skip runs that it already has",
        ))
        .arg(
            Arg::new("limit-s")
                .long("limit-s")
                .value_name("SECONDS")
                .value_parser(value_parser!(u64).range(1..))
                .default_value("600")
                .help("The time limit of a run"),
        )
        .arg(path("mpicc").help("The compiler wrapper [default: beside npb, or in PATH]"))
        .arg(path("mpifort").help("The compiler wrapper for Fortran [default: beside mpicc, or in PATH]"))
        .arg(path("mpirun").help("The launcher [default: beside mpicc, or in PATH]"))
}

/// A prefix with its label; by default the name of its directory.
fn peer(text: &str) -> Result<(PathBuf, String), String> {
    let (prefix, label) = text.split_once('=').unwrap_or((text, ""));
    let folder = Path::new(prefix).file_name().and_then(|name| name.to_str());
    let label = if label.is_empty() { folder } else { Some(label) };
    let label = label.ok_or_else(|| format!("{prefix} has no name: use {prefix}=LABEL"))?;
    Ok((prefix.into(), label.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Request, String> {
        let words = ["npb"].iter().chain(arguments);
        let matches = with_arguments(Command::new("npb")).try_get_matches_from(words);
        matches.map(|matches| Request::of(&matches, None)).map_err(|error| error.to_string())
    }

    #[test]
    fn lists_are_parsed() {
        let request = parse(&["--classes", "A,B", "--ranks", "1,8", "--progress", "thread,auto"]);
        let request = request.unwrap();
        assert_eq!(request.classes, ['A', 'B']);
        assert_eq!(request.ranks, [1, 8]);
        assert_eq!(request.progress, ["thread", "auto"]);
    }

    #[test]
    fn the_defaults_are_small() {
        let request = parse(&[]).unwrap();
        assert_eq!(request.classes, ['S', 'W']);
        assert_eq!(request.ranks, [4]);
        assert_eq!((request.repeats, request.limit), (1, Duration::from_secs(600)));
        assert_eq!((request.mpicc, request.mpirun, request.results), (None, None, None));
    }

    #[test]
    fn peers_have_the_name_of_their_directory_or_a_label() {
        let request = parse(&["--peer", "/opt/mpich", "--peer", "/usr=debian"]).unwrap();
        let peers = [("/opt/mpich", "mpich"), ("/usr", "debian")];
        assert_eq!(request.peers, peers.map(|(prefix, label)| (prefix.into(), label.into())));
    }

    #[test]
    fn bad_arguments_are_named() {
        let refused = |arguments: &[&str], wanted: &str| {
            let error = parse(arguments).unwrap_err();
            assert!(error.contains(wanted), "{error}");
        };
        refused(&["--classes", "S,Q"], "invalid value 'Q'");
        refused(&["--ranks", "0"], "invalid value '0'");
        refused(&["--limit-s", "soon"], "invalid value 'soon'");
        refused(&["--progress", "fast"], "[possible values: polling, thread, auto, delegate]");
        refused(&["--device", "udp"], "[possible values: shm, tofu, tcp, ofi, auto]");
        refused(&["--peer", "/"], "/ has no name: use /=LABEL");
        refused(&["--ranks"], "a value is required");
        refused(&["--color", "x"], "unexpected argument '--color'");
    }
}
