//! Builds, runs and verifies the NAS Parallel Benchmarks with a given MPI library and its peers.
//!
//! ```text
//!  kernels: our own sources ──┐
//!                             ├── toolchain: programs ── job: logs ── output: results ── record
//!                             │                                                           │
//! main: the subcommand asked for                report: tables, a page of charts (chart) ──┘
//! ```
//!
//! It knows no MPI library from inside: what a library is asked with are the commands of its
//! installation. The exit code is 0 if every run verified, 1 if one did not or the command failed,
//! 2 if the arguments are wrong.
//!
//! The problem sizes and verification values are those of NPB 3 (D. Bailey et al., "The NAS
//! Parallel Benchmarks", NASA RNR-94-007).

#![deny(unsafe_code)]

mod chart;
mod job;
mod kernels;
mod output;
#[allow(dead_code, reason = "files of results are for other subcommands")]
mod record;
mod report;
#[allow(dead_code, reason = "peers are for other subcommands")]
mod toolchain;

use std::process::ExitCode;

use clap::{ArgMatches, Command};

/// What one word after `npb` does: its arguments, and the way to do it.
struct Subcommand {
    command: fn() -> Command,
    run: fn(&ArgMatches) -> Result<ExitCode, String>,
}

const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand { command: kernels::command, run: kernels::run },
    Subcommand { command: report::command, run: report::run },
];

/// The command line.
fn command() -> Command {
    Command::new("npb")
        .about("Builds, runs and verifies the NAS Parallel Benchmarks")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(SUBCOMMANDS.iter().map(|subcommand| (subcommand.command)()))
}

fn main() -> ExitCode {
    let matches = command().get_matches();
    let (name, arguments) = matches.subcommand().expect("clap asks for a subcommand");
    let asked = SUBCOMMANDS.iter().find(|subcommand| (subcommand.command)().get_name() == name);
    let run = asked.expect("clap knows no others").run;
    run(arguments).unwrap_or_else(|why| {
        eprintln!("npb: {why}");
        ExitCode::FAILURE
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_all_subcommands_make_sense() {
        command().debug_assert();
    }
}
