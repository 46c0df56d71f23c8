//! `suiro-sim`: see [`sim`].

mod offload;
mod rsched;

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::{ArgMatches, Command};

fn command() -> Command {
    Command::new("suiro-sim")
        .about("Simulates communication on networks, in virtual time.")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(rsched::command())
        .subcommand(offload::command())
}

fn main() -> ExitCode {
    let matches = command().get_matches();
    let text = match matches.subcommand() {
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

/// Writes a picture to the file of the option `name`, if given.
fn write_file(
    matches: &ArgMatches, name: &str, picture: impl FnOnce() -> String,
) -> Result<(), String> {
    let Some(path) = matches.get_one::<String>(name) else { return Ok(()) };
    fs::write(Path::new(path), picture()).map_err(|error| format!("cannot write {path}: {error}"))
}
