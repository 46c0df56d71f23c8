//! `npb kernels`: our own implementations of the kernels, from their public specification, built
//! and run with one MPI library. Needs no download.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Arg, ArgMatches, Command, ValueEnum, builder::PossibleValue, value_parser};

use crate::{
    job::Stop,
    matrix::{self, Cell, Program, Ranks, Refusal, Source},
    request::{self, Request},
    toolchain::{Language, Scratch, Toolchain},
};

/// The classes that we know the right results of.
const CLASSES: &str = "SWAB";

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

    /// Compile it to `program`, with its sources beside it.
    fn build(self, tools: &Toolchain, program: &Path) -> Result<(), String> {
        let source = program.with_extension("c");
        let header = program.with_file_name("npb.h");
        for (path, text) in [(&header, include_str!("../kernels/npb.h")), (&source, self.source())]
        {
            fs::write(path, text)
                .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        }
        let mut arguments = ["-std=c11", "-O3"].map(Into::into).to_vec();
        arguments.extend([source.into(), "-o".into(), program.into(), "-lm".into()]);
        tools.compile(Language::C, &arguments)
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

/// Our sources, and a folder to build them in.
struct Kernels<'a> {
    scratch: &'a Scratch,
}

impl Kernels<'_> {
    fn program(&self, kernel: Kernel, tools: &Toolchain) -> Result<PathBuf, String> {
        let folder = self.scratch.path().join(tools.folder_name());
        let program = folder.join(kernel.name());
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
        let kernel = Kernel::ALL.into_iter().find(|kernel| kernel.name() == cell.kernel);
        let kernel = kernel.expect("the kernels come from the command line");
        let path = self.program(kernel, tools).map_err(|why| Refusal::Broken {
            why: format!("{} cannot be built: {why}", kernel.name()),
            log: None,
        })?;
        Ok(Program { path, arguments: vec![cell.class.to_string()] })
    }
}

/// The arguments of `npb kernels`.
pub fn command() -> Command {
    let own = Command::new("kernels")
        .about("Builds, runs and verifies our own kernels of the NAS Parallel Benchmarks")
        .arg(
            Arg::new("kernels")
                .long("kernels")
                .value_name("LIST")
                .value_delimiter(',')
                .default_value("ep,is,cg,mg,ft")
                .value_parser(value_parser!(Kernel))
                .help("The kernels to run, with commas between"),
        );
    request::with_arguments(own)
}

/// Run what is asked for.
///
/// # Errors
/// If a library's commands do not work.
pub fn run(matches: &ArgMatches) -> Result<ExitCode, String> {
    let kernels = matches.get_many::<Kernel>("kernels").into_iter().flatten();
    let names: Vec<_> = kernels.map(|kernel| kernel.name().to_owned()).collect();
    let scratch = Scratch::new()?;
    matrix::run(&Kernels { scratch: &scratch }, &names, &Request::of(matches, None), &scratch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_kernels_are_refused_with_those_there_are() {
        let refused = command().try_get_matches_from(["kernels", "--kernels", "ep,sp"]);
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("[possible values: ep, is, cg, mg, ft]"), "{error}");
    }

    #[test]
    fn help_lists_the_kernels() {
        let help = command().render_long_help().to_string();
        for kernel in Kernel::ALL {
            assert!(help.contains(&format!("- {}:", kernel.name())), "{help}");
        }
    }
}
