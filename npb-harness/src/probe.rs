//! What a library can do, found out by small programs: whether its wrapper compiles Fortran, with
//! which flags old programs are accepted, whether MPI's files work.

use std::{
    fs,
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
const MISMATCH: &[&str] = &["-fallow-argument-mismatch"];

const FORTRAN: &str = "      program probe
      include 'mpif.h'
      integer ierr, all, n(2)
      parameter (all = MPI_COMM_WORLD)
      double precision x(2)
      call MPI_Init(ierr)
      call MPI_Bcast(x, 2, MPI_DOUBLE_PRECISION, 0, all, ierr)
      call MPI_Bcast(n, 2, MPI_INTEGER, 0, all, ierr)
      call MPI_Finalize(ierr)
      end
";

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
/// of NPB, which include `mpif.h`.
///
/// # Errors
/// Why it does not, in the compiler's words.
pub fn fortran_flags(tools: &Toolchain, folder: &Path) -> Result<&'static [&'static str], Refusal> {
    let source = written(folder, tools, "probe.f", FORTRAN)?;
    let compiled = |flags| compile(tools, Language::Fortran, flags, &source);
    match compiled(MISMATCH) {
        Ok(()) => Ok(MISMATCH),
        // Older compilers, and others, do not know the flag.
        Err(_) => compiled(&[])
            .map(|()| &[][..])
            .map_err(|why| unfit(&format!("no usable Fortran: {why}"), &source)),
    }
}

/// Whether the library has MPI's files.
///
/// # Errors
/// Why not, in its words.
pub fn files(tools: &Toolchain, folder: &Path) -> Result<(), Refusal> {
    let source = written(folder, tools, "files.c", FILES)?;
    let opened = compile(tools, Language::C, &[], &source).and_then(|()| {
        let mut job = tools.job(1, &source.with_extension("x"));
        job.arg(source.with_extension("data"));
        job::run(job, &log_of(&source), LIMIT, &Stop::default()).map(|_| ())
    });
    opened.map_err(|why| unfit(&format!("no files of MPI: {why}"), &source))
}

fn compile(
    tools: &Toolchain, language: Language, flags: &[&str], source: &Path,
) -> Result<(), String> {
    let compiler = tools.compiler(language);
    if compiler.is_absolute() && !compiler.exists() {
        return Err(format!("there is no {}", compiler.display()));
    }
    let mut command = tools.command(compiler);
    command.args(flags).arg(source).arg("-o").arg(source.with_extension("x"));
    job::run(command, &log_of(source), LIMIT, &Stop::default())
        .map(|_| ())
        .map_err(|why| format!("{}: {why}", compiler.display()))
}

fn log_of(source: &Path) -> PathBuf {
    source.with_extension("log")
}

fn unfit(why: &str, source: &Path) -> Refusal {
    let log = Some(log_of(source)).filter(|log| log.exists());
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
