//! `npb run`: kernels of a published tree of NPB, built and run with Suiro and its peers.

use std::{fs, path::PathBuf, process::ExitCode};

use clap::{Arg, ArgMatches, Command, builder::PossibleValuesParser, value_parser};

use crate::{matrix, request, request::Request, toolchain::Scratch, tree, tree::Tree};

/// The name for all graphs of DT, each of which is a kernel.
const ALL_GRAPHS: &str = "dt";

/// The arguments of `npb run`.
pub(crate) fn command() -> Command {
    let path = |name: &'static str| {
        Arg::new(name).long(name).value_name("DIR").value_parser(value_parser!(PathBuf))
    };
    let names: Vec<_> = tree::kernels().chain([ALL_GRAPHS]).collect();
    let own = Command::new("run")
        .about("Builds, runs and verifies the kernels of a source tree of NPB 3.3-MPI or 3.4-MPI")
        .arg(
            path("source")
                .required(true)
                .help("The published tree, such as NPB3.4-MPI, or the directory that contains it"),
        )
        .arg(
            path("build")
                .default_value("npb-build")
                .help("The directory for programs, which are reused, and for the output of runs"),
        )
        .arg(
            Arg::new("kernels")
                .long("kernels")
                .value_name("LIST")
                .value_delimiter(',')
                .value_parser(PossibleValuesParser::new(names))
                .help("The kernels to run [default: all of the tree that need no files]"),
        );
    let bindings = tree::BINDINGS.map(|(name, _)| name);
    let own = own.arg(
        Arg::new("fortran")
            .long("fortran")
            .value_name("BINDING")
            .value_parser(PossibleValuesParser::new(bindings))
            .help("The Fortran interface of MPI, if the tree supports several [default: that of the tree]"),
    );
    request::with_arguments(own)
}

/// Runs the requested kernels.
///
/// # Errors
/// No tree, no working library, or nothing to run.
pub(crate) fn run(matches: &ArgMatches) -> Result<ExitCode, String> {
    let folder = |name| matches.get_one::<PathBuf>(name).expect("clap requires it");
    let mut tree = Tree::open(folder("source"), folder("build"))?;
    if let Some(binding) = matches.get_one::<String>("fortran") {
        tree = tree.with_binding(binding)?;
    }
    let logs = tree.logs();
    fs::create_dir_all(&logs)
        .map_err(|error| format!("cannot make {}: {error}", logs.display()))?;
    let requested = matches.get_many::<String>("kernels").into_iter().flatten();
    let mut kernels: Vec<String> = requested.cloned().collect();
    if kernels.is_empty() {
        kernels = tree.kernels();
    } else if let Some(at) = kernels.iter().position(|name| name == ALL_GRAPHS) {
        let graphs = tree::kernels().filter(|name| name.starts_with("dt.")).map(str::to_owned);
        kernels.splice(at..=at, graphs);
    }
    let request = Request::of(matches, Some(logs));
    matrix::run(&tree, &kernels, &request, &Scratch::new()?)
}
