//! `suiro-info`: see [`mpi_abi::inventory`].

use std::env;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Arg, ArgAction, Command};
use mpi_abi::inventory::{self, Build};
use mpi_abi::launch::folders::Folders;

const BUILD: Build = Build {
    compiler: env!("SUIRO_BUILD_COMPILER"),
    target: env!("SUIRO_BUILD_TARGET"),
    profile: env!("SUIRO_BUILD_PROFILE"),
    // Set by scripts/install: were it asked of git, every commit would compile everything anew.
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
        .about("Tells what this installation of Suiro is and what it can do on this machine.")
        .version(env!("CARGO_PKG_VERSION"))
        .arg(flag("all", "every chapter, and what each setting may be").short('a'))
        .arg(flag("parsable", "lines key:value, for programs").visible_alias("parseable"))
        .arg(
            Arg::new("path")
                .long("path")
                .value_name("FOLDER")
                .value_parser(["bindir", "libdir", "incdir"])
                .help("print nothing but where programs, libraries or headers are"),
        )
}

fn main() -> ExitCode {
    let matches = command().get_matches();
    let folders = match Folders::own() {
        Ok(folders) => folders,
        Err(error) => return complain(&format!("cannot find itself: {error}")),
    };
    let text = match matches.get_one::<String>("path").map(String::as_str) {
        Some("bindir") => format!("{}\n", folders.programs.display()),
        Some("libdir") => format!("{}\n", folders.library.display()),
        Some(_) => format!("{}\n", folders.include.display()),
        None => {
            let sections = inventory::gather(BUILD, &folders, |name| env::var(name).ok());
            let all = matches.get_flag("all");
            match matches.get_flag("parsable") {
                true => inventory::parsable(&sections, all),
                false => inventory::readable(&sections, all),
            }
        }
    };
    match io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&format!("cannot write: {error}")),
    }
}

fn complain(why: &str) -> ExitCode {
    eprintln!("suiro-info: {why}");
    ExitCode::FAILURE
}
