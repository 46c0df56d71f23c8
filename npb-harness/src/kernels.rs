//! `npb kernels`: our own implementations of the kernels, from their public specification, built
//! and run with our library and its peers. Needs no download. Where there is no compiler for
//! Fortran, what is written in it is left out.

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

/// The classes that we know the right results of.
const CLASSES: &str = "SWAB";

/// Our sources, and a folder to build them in.
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

    // They say themselves what they cannot be dealt to.
    fn ranks(&self, _kernel: &str, _class: char) -> Ranks {
        Ranks::Any
    }

    fn missing(&self, kernel: &str, class: char) -> Option<String> {
        (!CLASSES.contains(class)).then(|| format!("{kernel}: there is no class {class} of it"))
    }

    fn is_built_for_ranks(&self) -> bool {
        false
    }

    fn build(&self, cell: &Cell, tools: &Toolchain, _stop: &Stop) -> Result<Program, Refusal> {
        let kernel =
            BundledKernel::named(&cell.kernel).expect("the kernels come from the command line");
        if kernel.language == Language::Fortran && !tools.has(Language::Fortran) {
            return Err(Refusal::unfit(without_fortran(tools)));
        }
        let arguments = vec![cell.class.to_string()];
        self.program(kernel, tools).map(|path| Program { path, arguments }).map_err(|said| {
            let error = said.lines().find(|line| line.contains("Error"));
            match (kernel.language, error) {
                // Modules are made for one compiler, and not all libraries have every one.
                (Language::Fortran, Some(error)) if tools.is_peer => Refusal::unfit(error.into()),
                _ => Refusal::broken(format!("{} cannot be built: {said}", kernel.name)),
            }
        })
    }
}

fn without_fortran(tools: &Toolchain) -> String {
    let wrapper = tools.compiler(Language::Fortran).display();
    format!("no Fortran compiler behind {wrapper}")
}

/// The arguments of `npb kernels`.
pub(crate) fn command() -> Command {
    let names = KERNELS.iter().map(|kernel| PossibleValue::new(kernel.name).help(kernel.purpose));
    let own = Command::new("kernels")
        .about("Builds, runs and verifies our own kernels of the NAS Parallel Benchmarks")
        .arg(
            Arg::new("kernels")
                .long("kernels")
                .value_name("LIST")
                .value_delimiter(',')
                .num_args(1)
                .default_values(KERNELS.iter().map(|kernel| kernel.name))
                .value_parser(PossibleValuesParser::new(names))
                .help("The kernels to run, with commas between"),
        );
    request::with_arguments(own)
}

/// Run what is asked for.
///
/// # Errors
/// If a library's commands do not work.
pub(crate) fn run(matches: &ArgMatches) -> Result<ExitCode, String> {
    let asked = matches.get_many::<String>("kernels").into_iter().flatten();
    let mut names: Vec<_> = asked.cloned().collect();
    let scratch = Scratch::new()?;
    let request = Request::of(matches, None);
    if matches.value_source("kernels") != Some(ValueSource::CommandLine) {
        leave_out(&mut names, &request, &scratch)?;
    }
    matrix::run(&Kernels { scratch: &scratch }, &names, &request, &scratch)
}

/// Run the kernels of these names.
///
/// # Errors
/// As [`run`].
pub(crate) fn run_named(
    names: &[&str], request: &Request, scratch: &Scratch,
) -> Result<ExitCode, String> {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    matrix::run(&Kernels { scratch }, &names, request, scratch)
}

/// Without a compiler for Fortran, only the kernels in C are run, unless others are named.
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
    let why = without_fortran(ours);
    eprintln!("npb: {why} (install gfortran); left out: {}", left_out.join(", "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_kernels_are_refused_with_those_there_are() {
        let refused = command().try_get_matches_from(["kernels", "--kernels", "ep,sp"]);
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("[possible values: ep, ep.f, is, cg,"), "{error}");
    }

    #[test]
    fn without_arguments_it_is_every_kernel() {
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
