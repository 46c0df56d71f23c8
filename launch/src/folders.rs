//! The directories of this installation, relative to the running program: an installation can be
//! moved.
//!
//! `P/bin/mpicc` belongs to `P/include` and `P/lib`. In cargo's target directory, the library is
//! the one that was built last, and the headers are those of the source tree.

use std::env;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// The library's file name for the linker.
const LIBRARY: &str = "libmpi_abi.so";

/// The library's name for the loader.
pub const SONAME: &str = "libmpi_abi.so.1";

/// The Fortran library's file name for the linker.
pub(crate) const FORTRAN_LIBRARY: &str = "libmpifort_abi.so";

/// The Fortran library's name for the loader.
pub(crate) const FORTRAN_SONAME: &str = "libmpifort_abi.so.1";

/// The file name of the library of ACP for the linker, and its name for the loader.
const ACP_LIBRARY: (&str, &str) = ("libacp.so", "libacp.so.1");

/// The directories of an installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folders {
    /// `mpirun`, `mpicc`.
    pub programs: PathBuf,
    /// `mpi.h`.
    pub include: PathBuf,
    /// `libmpi_abi.so`.
    pub library: PathBuf,
    /// A directory for each Fortran compiler that modules have been built for.
    pub(crate) modules: PathBuf,
    /// Whether this is cargo's target directory and not an installation.
    pub(crate) is_build: bool,
}

impl Folders {
    /// The directories of the running program.
    ///
    /// # Errors
    /// Those of readlink(2) for `/proc/self/exe`.
    pub fn own() -> io::Result<Self> {
        env::current_exe().map(|program| Self::of(&program))
    }

    fn of(program: &Path) -> Self {
        let programs = program.parent().unwrap_or(Path::new(".")).to_owned();
        // Every build by cargo renews the library in `deps`; only `cargo build` renews the one
        // beside this program.
        let mut built = [programs.join("deps"), programs.clone()].into_iter();
        let Some(library) = built.find(|folder| folder.join(LIBRARY).exists()) else {
            let prefix = programs.parent().unwrap_or(&programs);
            let (include, library) = (prefix.join("include"), prefix.join("lib"));
            let modules = include.join("suiro");
            return Self { programs, include, library, modules, is_build: false };
        };
        // Cargo does not make the loader's names. In a read-only directory they cannot be made;
        // programs still compile.
        let fortran = (FORTRAN_LIBRARY, FORTRAN_SONAME);
        for (file, name) in [(LIBRARY, SONAME), fortran, ACP_LIBRARY] {
            let _ = symlink(file, library.join(name));
        }
        let source = programs.ancestors().nth(2).unwrap_or(&programs);
        let (include, modules) = (source.join("include"), programs.join("fortran-modules"));
        Self { programs, include, library, modules, is_build: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_follow_the_program() {
        let found = Folders::of(Path::new("/nowhere/q/bin/mpicc"));
        assert_eq!(found.programs, Path::new("/nowhere/q/bin"));
        assert_eq!(found.include, Path::new("/nowhere/q/include"));
        assert_eq!(found.library, Path::new("/nowhere/q/lib"));
        assert_eq!(found.modules, Path::new("/nowhere/q/include/suiro"));
    }
}
