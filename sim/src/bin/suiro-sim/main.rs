//! `suiro-sim`: see [`sim`].

mod coll;
mod jitter;
mod numbers;
mod offload;
mod rsched;

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::{ArgMatches, Command};
use indicatif::{ProgressBar, ProgressStyle};

fn command() -> Command {
    Command::new("suiro-sim")
        .about("Simulates communication on networks, in virtual time.")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(coll::command())
        .subcommand(jitter::command())
        .subcommand(rsched::command())
        .subcommand(offload::command())
}

fn main() -> ExitCode {
    let matches = command().get_matches();
    let text = match matches.subcommand() {
        Some(("coll", matches)) => coll::run(matches),
        Some(("jitter", matches)) => jitter::run(matches),
        Some(("rsched", matches)) => rsched::run(matches),
        Some(("offload", matches)) => offload::run(matches),
        _ => Err("no subcommand".to_owned()),
    };
    let written = text.and_then(|text| {
        let written = io::stdout().write_all(text.as_bytes());
        written.map_err(|error| format!("cannot write standard output: {error}"))
    });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("suiro-sim: {why}");
            ExitCode::FAILURE
        }
    }
}

/// A progress bar on standard error, if that is a terminal.
fn bar(length: u64) -> ProgressBar {
    let bar = ProgressBar::new(length);
    match ProgressStyle::with_template("{bar:40} {percent:>3} %  {elapsed}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// Writes a picture to the file of the option `name`, if given.
fn write_file(
    matches: &ArgMatches, name: &str, picture: impl FnOnce() -> String,
) -> Result<(), String> {
    let Some(path) = matches.get_one::<String>(name) else { return Ok(()) };
    fs::write(Path::new(path), picture()).map_err(|error| format!("cannot write {path}: {error}"))
}
