//! Where the parts of this installation are, found from the place of the running program: an
//! installation can be moved.
//!
//! `P/bin/mpicc` belongs to `P/include` and `P/lib`. In cargo's target folder the library is the
//! one that was built last, and the headers are those of the source tree.

use std::env;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// The library's file without its version, as the linker looks for it.
const LIBRARY: &str = "libmpi_abi.so";

/// The name that programs have in them, as the loader looks for it.
pub const SONAME: &str = "libmpi_abi.so.1";

/// The file of what Fortran programs call, as the linker looks for it.
pub const FORTRAN_LIBRARY: &str = "libmpifort_abi.so";

/// The name that Fortran programs have in them, as the loader looks for it.
pub const FORTRAN_SONAME: &str = "libmpifort_abi.so.1";

/// The folders of an installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folders {
    /// `mpirun`, `mpicc`.
    pub programs: PathBuf,
    /// `mpi.h`.
    pub include: PathBuf,
    /// `libmpi_abi.so`.
    pub library: PathBuf,
    /// A folder for each Fortran compiler that modules have been built for.
    pub modules: PathBuf,
    /// Is this cargo's target folder, instead of an installation?
    pub is_build: bool,
}

impl Folders {
    /// Those of the program that runs.
    ///
    /// # Errors
    /// What readlink(2) says of `/proc/self/exe`.
    pub fn own() -> io::Result<Self> {
        env::current_exe().map(|program| Self::of(&program))
    }

    fn of(program: &Path) -> Self {
        let programs = program.parent().unwrap_or(Path::new(".")).to_owned();
        // Every build of cargo renews the library in `deps`, but only `cargo build` the one
        // beside us.
        let mut built = [programs.join("deps"), programs.clone()].into_iter();
        let Some(library) = built.find(|folder| folder.join(LIBRARY).exists()) else {
            let prefix = programs.parent().unwrap_or(&programs);
            let (include, library) = (prefix.join("include"), prefix.join("lib"));
            let modules = include.join("suiro");
            return Self { programs, include, library, modules, is_build: false };
        };
        // Cargo does not make the names that programs ask the loader for. Where they cannot be made
        // (a read-only folder) the program still compiles.
        for (file, name) in [(LIBRARY, SONAME), (FORTRAN_LIBRARY, FORTRAN_SONAME)] {
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
