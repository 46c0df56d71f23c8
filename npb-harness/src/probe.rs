//! What a library can do, found out by small programs: whether its wrapper compiles Fortran, with
//! which flags old programs are accepted, whether MPI's files work.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    job::{self, Stop},
    toolchain::{Language, Toolchain},
};

/// A program of one rank that opens a file takes milliseconds.
const LIMIT: Duration = Duration::from_secs(30);

/// Calls of one routine with arguments of several types, as NPB has them, are errors from gfortran
/// 10 on if nothing is said.
const MISMATCH: &[&str] = &["-fallow-argument-mismatch"];

const FORTRAN: &str = "      program probe
      include 'mpif.h'
      integer ierr
      double precision x(2)
      integer n(2)
      call MPI_Init(ierr)
      call MPI_Bcast(x, 2, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr)
      call MPI_Bcast(n, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
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
pub fn fortran_flags(tools: &Toolchain, folder: &Path) -> Result<&'static [&'static str], String> {
    let source = written(folder, tools, "probe.f", FORTRAN)?;
    let program = source.with_extension("x");
    let compiled = |flags: &[&str]| {
        let files = [source.as_os_str(), "-o".as_ref(), program.as_os_str()];
        let flags = flags.iter().map(Into::into);
        let arguments: Vec<_> = flags.chain(files.map(Into::into)).collect();
        tools.compile(Language::Fortran, &arguments)
    };
    let result = match compiled(MISMATCH) {
        Ok(()) => Ok(MISMATCH),
        // Older compilers, and others, do not know the flag.
        Err(why) => compiled(&[]).map(|()| &[][..]).map_err(|_| why),
    };
    result.map_err(|why| format!("no usable Fortran: {why}"))
}

/// Whether the library has MPI's files.
///
/// # Errors
/// Why not, in its words.
pub fn files(tools: &Toolchain, folder: &Path) -> Result<(), String> {
    let source = written(folder, tools, "files.c", FILES)?;
    let program = source.with_extension("x");
    let arguments = [source.as_os_str(), "-o".as_ref(), program.as_os_str()].map(Into::into);
    tools.compile(Language::C, &arguments)?;
    let mut job = tools.job(1, &program);
    job.arg(source.with_extension("data"));
    let log = source.with_extension("log");
    let opened = job::run(job, &log, LIMIT, &Stop::default());
    opened.map(|_| ()).map_err(|why| job::explained(&format!("no files of MPI: {why}"), &log))
}

/// A source in a folder of the library's own.
fn written(folder: &Path, tools: &Toolchain, name: &str, text: &str) -> Result<PathBuf, String> {
    let folder = folder.join(format!("probe-{}", tools.folder_name()));
    let path = folder.join(name);
    let written = fs::create_dir_all(&folder).and_then(|()| fs::write(&path, text));
    written.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    Ok(path)
}
