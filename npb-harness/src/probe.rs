//! Probes a library with small programs: whether its wrapper compiles Fortran, which flags old programs
//! need, whether files of MPI work.

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

/// Time limit of a probe, which normally takes less than a second.
const LIMIT: Duration = Duration::from_secs(30);

/// Without these flags, gfortran 10 and later refuse two things of NPB: calls of one routine with
/// different argument types, and constants such as `X'3F'` (`randi8.f` of 3.4.0).
const LENIENT: [&str; 2] = ["-fallow-argument-mismatch", "-fallow-invalid-boz"];

/// The Fortran interface that a program uses.
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
    /// A small program, with lines short enough for fixed form.
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

/// The flags with which the Fortran wrapper of this library compiles and links old programs such as
/// NPB that use this interface.
///
/// # Errors
/// The error of the compiler.
pub(crate) fn fortran_flags(
    tools: &Toolchain, binding: Binding, folder: &Path,
) -> Result<Vec<String>, Refusal> {
    let source = written(folder, tools, "probe.f", &binding.program())?;
    // Only recent versions of gfortran have the flags.
    let lenient = LENIENT.map(str::to_owned);
    let mut tried = vec![lenient.to_vec(), vec![]];
    if binding != Binding::Include {
        let include =
            |folder: PathBuf| [&lenient[..], &[format!("-I{}", folder.display())]].concat();
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
    // The same reason for every interface.
    if !tools.has(Language::Fortran) {
        return Err(Refusal::unfit(tools.without_fortran()));
    }
    Err(refused.expect("something was tried"))
}

/// The directories of Intel MPI with modules for gfortran, the newest first; one of them fits this
/// compiler. In its Python package they are not where its wrapper expects them.
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

/// Checks that files of MPI work.
///
/// # Errors
/// The error of the library.
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

/// Writes a source to the directory of the library.
fn written(folder: &Path, tools: &Toolchain, name: &str, text: &str) -> Result<PathBuf, Refusal> {
    let folder = folder.join(format!("probe-{}", tools.folder_name()));
    let path = folder.join(name);
    let written = fs::create_dir_all(&folder).and_then(|()| fs::write(&path, text));
    let unwritable = |error| Refusal::broken(format!("cannot write {}: {error}", path.display()));
    written.map_err(unwritable)?;
    Ok(path)
}
