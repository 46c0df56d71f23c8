//! The arguments that all subcommands which run kernels have: sizes, numbers of ranks, libraries,
//! repeats, files.

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

/// The devices of our library that a job can be told to use. There is no choice yet: ranks of one
/// machine share memory.
const DEVICES: [&str; 1] = ["shm"];

/// How messages can be told to make progress in our library (`SUIRO_PROGRESS`).
const PROGRESS: [&str; 4] = ["polling", "thread", "auto", "delegate"];

/// What the arguments ask for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Request {
    /// The sizes.
    pub classes: Vec<char>,
    /// The numbers of ranks.
    pub ranks: Vec<u32>,
    /// Devices of our library.
    pub devices: Vec<String>,
    /// Progress modes of our library.
    pub progress: Vec<String>,
    /// How often each is run.
    pub repeats: u32,
    /// A run that lasts longer is ended.
    pub limit: Duration,
    /// Where results go.
    pub results: Option<PathBuf>,
    /// Where the output of runs is kept.
    pub logs: Option<PathBuf>,
    mpicc: Option<PathBuf>,
    mpifort: Option<PathBuf>,
    mpirun: Option<PathBuf>,
    peers: Vec<(PathBuf, String)>,
}

impl Request {
    /// What is asked for, with the folder to keep output of runs in, if any.
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

    /// Our library and the peers.
    ///
    /// # Errors
    /// If the commands of one do not work, or two have the same label.
    pub(crate) fn libraries(&self, scratch: &Scratch) -> Result<Vec<Toolchain>, String> {
        let (mpicc, mpifort) = (self.mpicc.clone(), self.mpifort.clone());
        let mut all = vec![Toolchain::ours(mpicc, mpifort, self.mpirun.clone(), scratch)?];
        for (prefix, label) in &self.peers {
            if all.iter().any(|tools| tools.label == *label) {
                let prefix = prefix.display();
                return Err(format!("two libraries are called {label}: say {prefix}=LABEL"));
            }
            all.push(Toolchain::peer(prefix, label)?);
        }
        Ok(all)
    }
}

/// A subcommand with these arguments beside its own.
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
                .help("The sizes to run them in, from the smallest"),
        )
        .arg(
            list("ranks", "4")
                .value_parser(value_parser!(u32).range(POSITIVE))
                .help("The numbers of ranks to run them on, such as 1,2,4"),
        )
        .arg(list("device", "shm").value_parser(DEVICES).help("How messages of our library travel"))
        .arg(
            list("progress", "polling")
                .value_parser(PROGRESS)
                .help("How messages of our library make progress"),
        )
        .arg(
            Arg::new("repeats")
                .long("repeats")
                .value_name("COUNT")
                .value_parser(value_parser!(u32).range(POSITIVE))
                .default_value("1")
                .help("How often each is run, in turn with the others; the table has medians"),
        )
        .arg(
            Arg::new("peer")
                .long("peer")
                .value_name("PREFIX[=LABEL]")
                .action(ArgAction::Append)
                .value_parser(peer)
                .help("Run the same with the library installed there; can be given again"),
        )
        .arg(path("results").help(
            "Add the results to this file, a line of JSON each, and leave out what it has already",
        ))
        .arg(
            Arg::new("limit-s")
                .long("limit-s")
                .value_name("SECONDS")
                .value_parser(value_parser!(u64).range(1..))
                .default_value("600")
                .help("A run that lasts longer is ended"),
        )
        .arg(path("mpicc").help("The compiler wrapper [default: beside npb, or in PATH]"))
        .arg(path("mpifort").help("That for Fortran [default: beside mpicc, or in PATH]"))
        .arg(path("mpirun").help("The launcher [default: beside mpicc, or in PATH]"))
}

/// A prefix with its label, which is the name of its folder if it is not said.
fn peer(text: &str) -> Result<(PathBuf, String), String> {
    let (prefix, label) = text.split_once('=').unwrap_or((text, ""));
    let folder = Path::new(prefix).file_name().and_then(|name| name.to_str());
    let label = if label.is_empty() { folder } else { Some(label) };
    let label = label.ok_or_else(|| format!("{prefix} has no name: say {prefix}=LABEL"))?;
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
    fn without_arguments_it_is_little() {
        let request = parse(&[]).unwrap();
        assert_eq!(request.classes, ['S', 'W']);
        assert_eq!(request.ranks, [4]);
        assert_eq!((request.repeats, request.limit), (1, Duration::from_secs(600)));
        assert_eq!((request.mpicc, request.mpirun, request.results), (None, None, None));
    }

    #[test]
    fn peers_are_called_as_their_folders_or_as_one_likes() {
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
        refused(&["--device", "tcp"], "[possible values: shm]");
        refused(&["--peer", "/"], "/ has no name: say /=LABEL");
        refused(&["--ranks"], "a value is required");
        refused(&["--color", "x"], "unexpected argument '--color'");
    }
}
