//! Builds, runs and verifies the NAS Parallel Benchmarks with a given MPI library and its peers.
//!
//! ```text
//! main: the subcommand ──┬── kernels: bundled sources ──┐
//!                        ├── run ── tree: NPB's sources ─┴── matrix ── record ──┐
//!                        ├── model: messages, kernels, a paper's claims ────────┤
//!                        └── report: tables, a page of charts (chart) ──────────┘
//!
//! matrix: runs ── toolchain: commands ── job: logs ── output: results ── summary: medians
//! ```
//!
//! MPI libraries are used only by the commands of their installations. The exit code is 0 if every
//! run verified, 1 if one did not or the command failed, 2 if the arguments are wrong.
//!
//! The problem sizes and verification values are those of NPB 3 (D. Bailey et al., "The NAS
//! Parallel Benchmarks", NASA RNR-94-007).

#![deny(unsafe_code)]

mod job;
mod kernels;
mod matrix;
mod model;
mod output;
mod probe;
mod record;
mod report;
mod request;
mod run;
mod summary;
mod toolchain;
mod tree;

use std::process::ExitCode;

use clap::{ArgMatches, Command};

/// A subcommand: its arguments and its function.
struct Subcommand {
    command: fn() -> Command,
    run: fn(&ArgMatches) -> Result<ExitCode, String>,
}

const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand { command: run::command, run: run::run },
    Subcommand { command: kernels::command, run: kernels::run },
    Subcommand { command: report::command, run: report::run },
    Subcommand { command: model::command, run: model::run },
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
    let (name, arguments) = matches.subcommand().expect("clap requires a subcommand");
    let requested = SUBCOMMANDS.iter().find(|subcommand| (subcommand.command)().get_name() == name);
    let run = requested.expect("clap accepts no others").run;
    run(arguments).unwrap_or_else(|why| {
        eprintln!("npb: {why}");
        ExitCode::FAILURE
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_all_subcommands_are_consistent() {
        command().debug_assert();
    }
}
