//! `npb kernels`: our own implementations of the kernels, from their public specification, built
//! and run with one MPI library. Needs no download.

use std::{
    fs,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use clap::{
    Arg, ArgMatches, Command, ValueEnum,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
    value_parser,
};

use crate::{
    job::{self, Stop},
    output,
    record::{Outcome, Record, Setting},
    toolchain::{Language, Scratch, Toolchain},
};

/// A benchmark that we have the source of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kernel {
    /// Gaussian deviates in an embarrassingly parallel way.
    Ep,
    /// Integer sort by buckets.
    Is,
    /// Conjugate gradient on a sparse matrix.
    Cg,
    /// Multigrid on a cube.
    Mg,
    /// Fourier transform of a box.
    Ft,
}

impl Kernel {
    /// Every kernel, in the order of the table.
    const ALL: [Self; 5] = [Self::Ep, Self::Is, Self::Cg, Self::Mg, Self::Ft];

    /// The name in lower case, as NPB's `make` has it.
    fn name(self) -> &'static str {
        match self {
            Self::Ep => "ep",
            Self::Is => "is",
            Self::Cg => "cg",
            Self::Mg => "mg",
            Self::Ft => "ft",
        }
    }

    /// What it does, in a few words.
    fn purpose(self) -> &'static str {
        match self {
            Self::Ep => "random numbers that hardly communicate",
            Self::Is => "an integer sort, all to all",
            Self::Cg => "conjugate gradient, sums over rows and a transpose",
            Self::Mg => "multigrid, exchanges with neighbours",
            Self::Ft => "a Fourier transform, all to all",
        }
    }

    fn source(self) -> &'static str {
        match self {
            Self::Ep => include_str!("../kernels/ep.c"),
            Self::Is => include_str!("../kernels/is.c"),
            Self::Cg => include_str!("../kernels/cg.c"),
            Self::Mg => include_str!("../kernels/mg.c"),
            Self::Ft => include_str!("../kernels/ft.c"),
        }
    }

    /// Compile it in `folder`; the program's path.
    fn build(self, tools: &Toolchain, folder: &Path) -> Result<PathBuf, String> {
        let source = folder.join(format!("{}.c", self.name()));
        let program = folder.join(self.name());
        let header = folder.join("npb.h");
        for (path, text) in [(&header, include_str!("../kernels/npb.h")), (&source, self.source())]
        {
            fs::write(path, text)
                .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        }
        let mut arguments = ["-std=c11", "-O3"].map(Into::into).to_vec();
        arguments.extend([source.into(), "-o".into(), program.clone().into(), "-lm".into()]);
        let built = tools.compile(Language::C, &arguments);
        built.map_err(|why| format!("{} cannot be built: {why}", self.name()))?;
        Ok(program)
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
    fn of(matches: &ArgMatches) -> Self {
        fn many<T: Clone + Send + Sync + 'static>(matches: &ArgMatches, name: &str) -> Vec<T> {
            matches.get_many(name).into_iter().flatten().cloned().collect()
        }
        let seconds = *matches.get_one("limit-s").expect("it has a default");
        Self {
            kernels: many(matches, "kernels"),
            classes: many(matches, "classes"),
            ranks: many(matches, "ranks"),
            limit: Duration::from_secs(seconds),
            mpicc: matches.get_one("mpicc").cloned(),
            mpirun: matches.get_one("mpirun").cloned(),
        }
    }
}

/// The arguments of `npb kernels`.
pub fn command() -> Command {
    const POSITIVE: RangeInclusive<i64> = 1..=u32::MAX as i64;
    let list = |name: &'static str, default: &'static str| {
        Arg::new(name).long(name).value_name("LIST").value_delimiter(',').default_value(default)
    };
    let classes = PossibleValuesParser::new(["S", "W", "A", "B"]);
    let path = |name: &'static str| {
        Arg::new(name).long(name).value_name("PATH").value_parser(value_parser!(PathBuf))
    };
    Command::new("kernels")
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
        .arg(path("mpirun").help("The launcher [default: beside mpicc, or in PATH]"))
}

/// Every kernel in every class on every number of ranks.
///
/// # Errors
/// If the library's commands do not work.
pub fn run(matches: &ArgMatches) -> Result<ExitCode, String> {
    let request = Request::of(matches);
    let scratch = Scratch::new()?;
    let stop = Stop::on_signals()?;
    let tools = Toolchain::ours(request.mpicc.clone(), None, request.mpirun.clone(), &scratch)?;
    let mut all_verified = true;
    println!("{}", output::HEADING);
    for &kernel in &request.kernels {
        let program = kernel.build(&tools, scratch.path())?;
        for &class in &request.classes {
            for &ranks in &request.ranks {
                let mut job = tools.job(ranks, &program);
                job.arg(class.to_string());
                let log = scratch.path().join("log");
                let output = job::run(job, &log, request.limit, &stop).map_err(|why| {
                    format!("{why}\n{}", fs::read_to_string(&log).unwrap_or_default())
                });
                let record = record(kernel, class, ranks, &tools, output);
                all_verified &= record.outcome == Outcome::Verified;
                println!("{}", output::row(&record));
                if stop.asked() {
                    return Ok(ExitCode::FAILURE);
                }
            }
        }
    }
    Ok(if all_verified { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn record(
    kernel: Kernel, class: char, ranks: u32, tools: &Toolchain, output: Result<String, String>,
) -> Record {
    let setting = Setting {
        source: "kernels".to_owned(),
        kernel: kernel.name().to_owned(),
        class,
        ranks,
        library: tools.label.clone(),
        device: None,
        progress: None,
    };
    output::record(setting, 0, output)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Request, String> {
        let words = ["kernels"].iter().chain(arguments);
        let matches = command().try_get_matches_from(words);
        matches.map(|matches| Request::of(&matches)).map_err(|error| error.to_string())
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
