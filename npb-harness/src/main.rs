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

use std::{env, path::PathBuf, process::ExitCode, time::Duration};

use job::{Kernel, Tools};

const USAGE: &str = "\
usage: npb [--kernels ep,is] [--classes S,W] [--ranks 4] [--limit-s 600]
           [--mpicc PATH] [--mpirun PATH]

Builds and runs our own NAS kernels. Classes: S W A B. Several ranks: 1,2,4.
mpicc and mpirun are taken from the folder of this program, or else from PATH.
";

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
    /// # Errors
    /// A sentence that names the argument which is not understood.
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut request = Self {
            kernels: vec![Kernel::Ep, Kernel::Is],
            classes: vec!['S', 'W'],
            ranks: vec![4],
            limit: Duration::from_secs(600),
            mpicc: None,
            mpirun: None,
        };
        while let Some(option) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("{option} wants a value"))?;
            match option.as_str() {
                "--kernels" => request.kernels = list(&value, Kernel::parse)?,
                "--classes" => request.classes = list(&value, class)?,
                "--ranks" => request.ranks = list(&value, count)?,
                "--limit-s" => {
                    let seconds = count(&value).ok_or_else(|| format!("no limit: {value}"))?;
                    request.limit = Duration::from_secs(seconds.into());
                }
                "--mpicc" => request.mpicc = Some(value.into()),
                "--mpirun" => request.mpirun = Some(value.into()),
                _ => return Err(format!("unknown option {option}")),
            }
        }
        Ok(request)
    }
}

fn list<T>(text: &str, parse: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, String> {
    text.split(',').map(|item| parse(item).ok_or_else(|| format!("not known: {item}"))).collect()
}

fn class(text: &str) -> Option<char> {
    let letter = text.parse().ok()?;
    ['S', 'W', 'A', 'B'].contains(&letter).then_some(letter)
}

fn count(text: &str) -> Option<u32> {
    text.parse().ok().filter(|&number| number > 0)
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
    let arguments: Vec<String> = env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        print!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let request = match Request::parse(arguments.into_iter()) {
        Ok(request) => request,
        Err(why) => {
            eprint!("npb: {why}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
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
        Request::parse(arguments.iter().map(ToString::to_string))
    }

    #[test]
    fn lists_are_parsed() {
        let request = parse(&["--classes", "A,B", "--ranks", "1,8", "--kernels", "is"]).unwrap();
        assert_eq!(request.classes, ['A', 'B']);
        assert_eq!(request.ranks, [1, 8]);
        assert_eq!(request.kernels, [Kernel::Is]);
    }

    #[test]
    fn bad_arguments_are_named() {
        assert_eq!(parse(&["--classes", "S,Q"]), Err("not known: Q".into()));
        assert_eq!(parse(&["--ranks", "0"]), Err("not known: 0".into()));
        assert_eq!(parse(&["--ranks"]), Err("--ranks wants a value".into()));
        assert_eq!(parse(&["--color", "x"]), Err("unknown option --color".into()));
    }
}
