//! What a library can do, found out by small programs: whether its wrapper compiles Fortran, with
//! which flags old programs are accepted, whether MPI's files work.

use std::{
    cmp::Reverse,
    fmt, fs,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    job::{self, Stop},
    matrix::Refusal,
    toolchain::{Language, Toolchain},
};

/// To compile such a program, or to open a file, takes no second.
const LIMIT: Duration = Duration::from_secs(30);

/// Calls of one routine with arguments of several types, as NPB has them, are errors from gfortran
/// 10 on if nothing is said.
const MISMATCH: &str = "-fallow-argument-mismatch";

/// How a program in Fortran knows MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Binding {
    /// `include 'mpif.h'`
    Include,
    /// `use mpi`
    Module,
    /// `use mpi_f08`
    Module08,
}

impl Binding {
    /// A small program, in lines that are short enough for fixed form.
    fn program(self) -> String {
        let (module, include) = match self {
            Self::Include => ("", "      include 'mpif.h'\n"),
            Self::Module => ("      use mpi\n", ""),
            Self::Module08 => ("      use mpi_f08\n", ""),
        };
        format!(
            "      program probe
{module}      implicit none
{include}      integer ierr, n(2)
      real x(2)
      call MPI_Init(ierr)
      call MPI_Bcast(x, 2, MPI_REAL, 0, MPI_COMM_WORLD, ierr)
      call MPI_Bcast(n, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
      call MPI_Finalize(ierr)
      end
"
        )
    }
}

impl fmt::Display for Binding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Include => "mpif.h",
            Self::Module => "module mpi",
            Self::Module08 => "module mpi_f08",
        })
    }
}

const FILES: &str = "#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    MPI_File file;
    char why[MPI_MAX_ERROR_STRING];
    int error, length;

    MPI_Init(&argc, &argv);
    error = MPI_File_open(MPI_COMM_SELF, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
        &file);
    if (error == MPI_SUCCESS) {
        MPI_File_close(&file);
    } else {
        MPI_Error_string(error, why, &length);
        puts(why);
    }
    MPI_Finalize();
    return error != MPI_SUCCESS;
}
";

/// The flags with which this library's wrapper for Fortran compiles and links programs of the age
/// of NPB that know MPI that way.
///
/// # Errors
/// Why it does not, in the compiler's words.
pub(crate) fn fortran_flags(
    tools: &Toolchain, binding: Binding, folder: &Path,
) -> Result<Vec<String>, Refusal> {
    let source = written(folder, tools, "probe.f", &binding.program())?;
    // Older compilers, and others, do not know the flag.
    let mut tried = vec![vec![MISMATCH.to_owned()], vec![]];
    if binding != Binding::Include {
        let include =
            |folder: PathBuf| vec![MISMATCH.to_owned(), format!("-I{}", folder.display())];
        tried.extend(modules(tools).into_iter().map(include));
    }
    let mut refused = None;
    for (index, flags) in tried.into_iter().enumerate() {
        let log = source.with_extension(format!("{index}.log"));
        match compile(tools, Language::Fortran, &flags, &source, &log) {
            Ok(()) => return Ok(flags),
            Err(why) => {
                let why = format!("no usable Fortran with {binding}: {why}");
                refused.get_or_insert_with(|| unfit(&why, log));
            }
        }
    }
    Err(refused.expect("something was tried"))
}

/// Where Intel MPI has modules for gfortran, the newest first: one of them is for this compiler. As
/// a Python package it has them in another place than its wrapper says.
fn modules(tools: &Toolchain) -> Vec<PathBuf> {
    let prefix = tools.compiler(Language::Fortran).parent().and_then(Path::parent);
    let folder = prefix.map(|prefix| prefix.join("include/mpi/gfortran"));
    let entries = folder.and_then(|folder| fs::read_dir(folder).ok());
    let mut found: Vec<_> = entries.into_iter().flatten().flatten().map(|it| it.path()).collect();
    let version = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.split('.').map(|part| part.parse().unwrap_or(0)).collect::<Vec<u32>>()
    };
    found.sort_by_key(|path| Reverse(version(path)));
    found
}

/// Whether the library has MPI's files.
///
/// # Errors
/// Why not, in its words.
pub(crate) fn files(tools: &Toolchain, folder: &Path) -> Result<(), Refusal> {
    let source = written(folder, tools, "files.c", FILES)?;
    let log = source.with_extension("log");
    let opened = compile(tools, Language::C, &[], &source, &log).and_then(|()| {
        let mut job = tools.job(1, &source.with_extension("x"));
        job.arg(source.with_extension("data"));
        job::run(job, &log, LIMIT, &Stop::default()).map(|_| ())
    });
    opened.map_err(|why| unfit(&format!("no files of MPI: {why}"), log))
}

fn compile(
    tools: &Toolchain, language: Language, flags: &[String], source: &Path, log: &Path,
) -> Result<(), String> {
    let compiler = tools.compiler(language);
    if compiler.is_absolute() && !compiler.exists() {
        return Err(format!("there is no {}", compiler.display()));
    }
    let mut command = tools.command(compiler);
    command.args(flags).arg(source).arg("-o").arg(source.with_extension("x"));
    job::run(command, log, LIMIT, &Stop::default())
        .map(|_| ())
        .map_err(|why| format!("{}: {why}", compiler.display()))
}

fn unfit(why: &str, log: PathBuf) -> Refusal {
    let log = Some(log).filter(|log| log.exists());
    let why = log.as_ref().map_or(why.to_owned(), |log| job::explained(why, log));
    Refusal { why, log, is_unfit: true }
}

/// A source in a folder of the library's own.
fn written(folder: &Path, tools: &Toolchain, name: &str, text: &str) -> Result<PathBuf, Refusal> {
    let folder = folder.join(format!("probe-{}", tools.folder_name()));
    let path = folder.join(name);
    let written = fs::create_dir_all(&folder).and_then(|()| fs::write(&path, text));
    let unwritable = |error| Refusal::broken(format!("cannot write {}: {error}", path.display()));
    written.map_err(unwritable)?;
    Ok(path)
}
