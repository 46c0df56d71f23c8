//! `suiro-info`: see [`suiro_info`].

use std::env;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use launch::folders::Folders;
use mpi_abi::mpi::collective::selection::registry::CollectiveOperation;
use suiro_info::{Build, FactSection};

const BUILD: Build = Build {
    compiler: env!("SUIRO_BUILD_COMPILER"),
    target: env!("SUIRO_BUILD_TARGET"),
    profile: env!("SUIRO_BUILD_PROFILE"),
    // Set by scripts/install; with a query to git here, every commit would rebuild everything.
    commit: match option_env!("SUIRO_COMMIT") {
        Some(commit) => commit,
        None => "",
    },
};

fn command() -> Command {
    let flag = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).help(help).action(ArgAction::SetTrue)
    };
    Command::new("suiro-info")
        .about("Prints facts about this installation of Suiro and about this machine.")
        .version(env!("CARGO_PKG_VERSION"))
        .arg(flag("all", "all facts: every chapter, and the values of each setting").short('a'))
        .arg(flag("parsable", "print lines key:value, for programs").visible_alias("parseable"))
        .arg(
            Arg::new("path")
                .long("path")
                .value_name("DIRECTORY")
                .value_parser(["bindir", "libdir", "incdir"])
                .help("print only the directory of programs, libraries or headers"),
        )
        .arg(
            Arg::new("coll")
                .long("coll")
                .value_name("NAME")
                .num_args(0..=1)
                .default_missing_value("")
                .help("print the algorithms of a collective operation, or of all, and their selection"),
        )
        .arg(flag("fabrics", "print what libfabric offers here (SUIRO_DEVICE=ofi); loading it takes a while"))
        .arg(
            Arg::new("ranks")
                .long("ranks")
                .value_name("COUNT")
                .requires("coll")
                .value_parser(value_parser!(u32).range(1..=1 << 20))
                .help("for communicators of COUNT ranks"),
        )
}

fn main() -> ExitCode {
    let matches = command().get_matches();
    let folders = match Folders::own() {
        Ok(folders) => folders,
        Err(error) => return print_error(&format!("cannot find itself: {error}")),
    };
    let text = match matches.get_one::<String>("path").map(String::as_str) {
        Some("bindir") => format!("{}\n", folders.programs.display()),
        Some("libdir") => format!("{}\n", folders.library.display()),
        Some(_) => format!("{}\n", folders.include.display()),
        None => {
            let sections = match sections(&matches, &folders) {
                Ok(sections) => sections,
                Err(why) => return print_error(&why),
            };
            let all = matches.get_flag("all");
            match matches.get_flag("parsable") {
                true => suiro_info::parsable(&sections, all),
                false => suiro_info::readable(&sections, all),
            }
        }
    };
    match io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => print_error(&format!("cannot write standard output: {error}")),
    }
}

fn sections(matches: &ArgMatches, folders: &Folders) -> Result<Vec<FactSection>, String> {
    let lookup = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    if matches.get_flag("fabrics") {
        return Ok(vec![suiro_info::fabrics(lookup)?]);
    }
    let Some(name) = matches.get_one::<String>("coll") else {
        return Ok(suiro_info::gather(BUILD, folders, lookup));
    };
    let operations: Vec<CollectiveOperation> = match CollectiveOperation::from_name(name) {
        Some(operation) => vec![operation],
        None if name.is_empty() => CollectiveOperation::ALL.into(),
        None => {
            let good: Vec<&str> =
                CollectiveOperation::ALL.iter().map(|operation| operation.name()).collect();
            return Err(format!("--coll {name}: expected one of {}", good.join("|")));
        }
    };
    let ranks = matches.get_one("ranks").copied();
    suiro_info::collectives(&operations, ranks, lookup).map_err(|error| error.why.to_string())
}

fn print_error(why: &str) -> ExitCode {
    eprintln!("suiro-info: {why}");
    ExitCode::FAILURE
}
