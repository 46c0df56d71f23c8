//! `npb kernels`: bundled implementations of the kernels, written from the public specification, built
//! and run with Suiro and its peers. Needs no download. Without a Fortran compiler, kernels in Fortran
//! are left out.

mod source;

use std::{fs, path::PathBuf, process::ExitCode};

use clap::{
    Arg, ArgMatches, Command,
    builder::{PossibleValue, PossibleValuesParser},
    parser::ValueSource,
};

use self::source::{BundledKernel, KERNELS};
use crate::{
    job::Stop,
    matrix::{self, Cell, Program, Ranks, Refusal, Source},
    request::{self, Request},
    toolchain::{Language, Scratch, Toolchain},
};

/// The classes with known results.
const CLASSES: &str = "SWAB";

/// The bundled sources, and a directory to build them in.
struct Kernels<'a> {
    scratch: &'a Scratch,
}

impl Kernels<'_> {
    fn program(&self, kernel: &BundledKernel, tools: &Toolchain) -> Result<PathBuf, String> {
        let folder = self.scratch.path().join(tools.folder_name());
        let program = folder.join(format!("{}.x", kernel.name));
        if !program.exists() {
            fs::create_dir_all(&folder)
                .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
            kernel.build(tools, &program)?;
        }
        Ok(program)
    }
}

impl Source for Kernels<'_> {
    fn name(&self) -> &'static str {
        "kernels"
    }

    // The kernels report numbers of ranks that they do not support.
    fn ranks(&self, _kernel: &str, _class: char) -> Ranks {
        Ranks::Any
    }

    fn missing(&self, kernel: &str, class: char) -> Option<String> {
        (!CLASSES.contains(class)).then(|| format!("{kernel}: no class {class}"))
    }

    fn is_built_for_ranks(&self) -> bool {
        false
    }

    fn build(&self, cell: &Cell, tools: &Toolchain, _stop: &Stop) -> Result<Program, Refusal> {
        let kernel =
            BundledKernel::named(&cell.kernel).expect("the kernels come from the command line");
        if kernel.language == Language::Fortran && !tools.has(Language::Fortran) {
            return Err(Refusal::unfit(tools.without_fortran()));
        }
        let arguments = vec![cell.class.to_string()];
        self.program(kernel, tools).map(|path| Program { path, arguments }).map_err(|log| {
            let error = log.lines().find(|line| line.contains("Error"));
            match (kernel.language, error) {
                // Not all libraries have modules for every compiler.
                (Language::Fortran, Some(error)) if tools.is_peer => Refusal::unfit(error.into()),
                _ => Refusal::broken(format!("{} cannot be built: {log}", kernel.name)),
            }
        })
    }
}

/// The arguments of `npb kernels`.
pub(crate) fn command() -> Command {
    let names = KERNELS.iter().map(|kernel| PossibleValue::new(kernel.name).help(kernel.purpose));
    let own = Command::new("kernels")
        .about("Builds, runs and verifies the bundled kernels of the NAS Parallel Benchmarks")
        .arg(
            Arg::new("kernels")
                .long("kernels")
                .value_name("LIST")
                .value_delimiter(',')
                .num_args(1)
                .default_values(KERNELS.iter().map(|kernel| kernel.name))
                .value_parser(PossibleValuesParser::new(names))
                .help("The kernels to run, separated by commas"),
        );
    request::with_arguments(own)
}

/// Runs the requested kernels.
///
/// # Errors
/// The commands of a library do not work.
pub(crate) fn run(matches: &ArgMatches) -> Result<ExitCode, String> {
    let requested = matches.get_many::<String>("kernels").into_iter().flatten();
    let mut names: Vec<_> = requested.cloned().collect();
    let scratch = Scratch::new()?;
    let request = Request::of(matches, None);
    if matches.value_source("kernels") != Some(ValueSource::CommandLine) {
        leave_out(&mut names, &request, &scratch)?;
    }
    matrix::run(&Kernels { scratch: &scratch }, &names, &request, &scratch)
}

/// Builds the kernel with this name for a library; its program, which needs the class as argument.
///
/// # Errors
/// The output of the compiler.
pub(crate) fn build(name: &str, tools: &Toolchain, scratch: &Scratch) -> Result<PathBuf, String> {
    let kernel = BundledKernel::named(name).expect("the kernels come from the command line");
    Kernels { scratch }.program(kernel, tools)
}

/// Runs the kernels with these names.
///
/// # Errors
/// As [`run`].
pub(crate) fn run_named(
    names: &[&str], request: &Request, scratch: &Scratch,
) -> Result<ExitCode, String> {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    matrix::run(&Kernels { scratch }, &names, request, scratch)
}

/// Removes kernels in Fortran if there is no compiler, unless they were requested by name.
fn leave_out(names: &mut Vec<String>, request: &Request, scratch: &Scratch) -> Result<(), String> {
    let libraries = request.libraries(scratch)?;
    let Some(ours) = libraries.iter().find(|tools| !tools.is_peer && !tools.has(Language::Fortran))
    else {
        return Ok(());
    };
    let in_fortran = |name: &String| {
        BundledKernel::named(name).is_some_and(|kernel| kernel.language == Language::Fortran)
    };
    let left_out: Vec<_> = names.extract_if(.., |name| in_fortran(name)).collect();
    let why = ours.without_fortran();
    eprintln!("npb: {why} (install gfortran); left out: {}", left_out.join(", "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_kernels_are_refused_with_the_known_ones() {
        let refused = command().try_get_matches_from(["kernels", "--kernels", "ep,sp"]);
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("[possible values: ep, ep.f, is, cg,"), "{error}");
    }

    #[test]
    fn without_arguments_all_kernels_run() {
        let matches = command().try_get_matches_from(["kernels"]).unwrap();
        let names: Vec<_> = matches.get_many::<String>("kernels").unwrap().collect();
        assert!(names.into_iter().eq(KERNELS.iter().map(|kernel| kernel.name)));
    }

    #[test]
    fn help_lists_the_kernels() {
        let help = command().render_long_help().to_string();
        for kernel in KERNELS {
            assert!(help.contains(&format!("- {}:", kernel.name)), "{help}");
        }
    }
}
