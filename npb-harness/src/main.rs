//! Builds kernels of the NAS Parallel Benchmarks with a given `mpicc`, runs them with a given
//! `mpirun`, and prints one table: kernel, class, ranks, time, rate, verification.
//!
//! ```text
//! main: arguments ── job: sources -> programs -> output ── report: output -> rows -> table
//! ```
//!
//! It knows no MPI library: whatever the two commands belong to is what is tried. The exit code is
//! 0 if every run verified, 1 if one did not, 2 if the arguments are wrong.
//!
//! The problem sizes and verification values are those of NPB 3 (D. Bailey et al., "The NAS
//! Parallel Benchmarks", NASA RNR-94-007); the kernels are our own.

#![deny(unsafe_code)]

mod job;
mod report;

use std::{ops::RangeInclusive, path::PathBuf, process::ExitCode, time::Duration};

use clap::{
    Arg, ArgMatches, Command, ValueEnum,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
    value_parser,
};
use job::{Kernel, Tools};

/// What the arguments ask for.
#[derive(Debug, PartialEq)]
struct Request {
    kernels: Vec<Kernel>,
    classes: Vec<char>,
    ranks: Vec<u32>,
    limit: Duration,
    mpicc: Option<PathBuf>,
    mpirun: Option<PathBuf>,
}

impl Request {
    fn of(mut matches: ArgMatches) -> Self {
        let seconds = matches.remove_one("limit-s").expect("it has a default");
        Self {
            kernels: matches.remove_many("kernels").into_iter().flatten().collect(),
            classes: matches.remove_many("classes").into_iter().flatten().collect(),
            ranks: matches.remove_many("ranks").into_iter().flatten().collect(),
            limit: Duration::from_secs(seconds),
            mpicc: matches.remove_one("mpicc"),
            mpirun: matches.remove_one("mpirun"),
        }
    }
}

impl ValueEnum for Kernel {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()).help(self.purpose()))
    }
}

/// The command line.
fn command() -> Command {
    const POSITIVE: RangeInclusive<i64> = 1..=u32::MAX as i64;
    let list = |name: &'static str, default: &'static str| {
        Arg::new(name).long(name).value_name("LIST").value_delimiter(',').default_value(default)
    };
    let classes = PossibleValuesParser::new(["S", "W", "A", "B"]);
    let path = |name: &'static str| {
        Arg::new(name).long(name).value_name("PATH").value_parser(value_parser!(PathBuf))
    };
    Command::new("npb")
        .about("Builds, runs and verifies our own kernels of the NAS Parallel Benchmarks")
        .arg(
            list("kernels", "ep,is,cg,mg,ft")
                .value_parser(value_parser!(Kernel))
                .help("The kernels to run, with commas between"),
        )
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
        .arg(
            Arg::new("limit-s")
                .long("limit-s")
                .value_name("SECONDS")
                .value_parser(value_parser!(u64).range(1..))
                .default_value("600")
                .help("A run that lasts longer is ended"),
        )
        .arg(path("mpicc").help("The compiler wrapper [default: beside npb, or in PATH]"))
        .arg(path("mpirun").help("The launcher [default: beside npb, or in PATH]"))
}

/// Every kernel in every class on every number of ranks; whether all verified.
fn run(request: &Request) -> Result<bool, String> {
    let tools = Tools::find(request.mpicc.clone(), request.mpirun.clone())?;
    let mut all_verified = true;
    println!("{}", report::HEADING);
    for &kernel in &request.kernels {
        let program = tools.build(kernel)?;
        for &class in &request.classes {
            for &ranks in &request.ranks {
                let output = tools.run(&program, class, ranks, request.limit);
                let row = report::Row::of(kernel, class, ranks, output);
                all_verified &= row.verified();
                println!("{row}");
            }
        }
    }
    Ok(all_verified)
}

fn main() -> ExitCode {
    let request = Request::of(command().get_matches());
    match run(&request) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("npb: {why}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Request, String> {
        let words = ["npb"].iter().chain(arguments);
        command().try_get_matches_from(words).map(Request::of).map_err(|error| error.to_string())
    }

    #[test]
    fn lists_are_parsed() {
        let request = parse(&["--classes", "A,B", "--ranks", "1,8", "--kernels", "is,ft"]).unwrap();
        assert_eq!(request.classes, ['A', 'B']);
        assert_eq!(request.ranks, [1, 8]);
        assert_eq!(request.kernels, [Kernel::Is, Kernel::Ft]);
    }

    #[test]
    fn without_arguments_it_is_every_kernel() {
        let request = parse(&[]).unwrap();
        assert_eq!(request.kernels, Kernel::ALL);
        assert_eq!(request.classes, ['S', 'W']);
        assert_eq!(request.ranks, [4]);
        assert_eq!(request.limit, Duration::from_secs(600));
        assert_eq!((request.mpicc, request.mpirun), (None, None));
    }

    #[test]
    fn bad_arguments_are_named() {
        let refused = |arguments: &[&str], wanted: &str| {
            let error = parse(arguments).unwrap_err();
            assert!(error.contains(wanted), "{error}");
        };
        refused(&["--classes", "S,Q"], "invalid value 'Q'");
        refused(&["--kernels", "ep,lu"], "[possible values: ep, is, cg, mg, ft]");
        refused(&["--ranks", "0"], "invalid value '0'");
        refused(&["--limit-s", "soon"], "invalid value 'soon'");
        refused(&["--ranks"], "a value is required");
        refused(&["--color", "x"], "unexpected argument '--color'");
    }

    #[test]
    fn help_lists_the_kernels() {
        let help = command().render_long_help().to_string();
        for kernel in Kernel::ALL {
            assert!(help.contains(&format!("- {}:", kernel.name())), "{help}");
        }
    }
}
