//! The functions of `mpi-ext.h` in Fortran: `mpif-ext.h`, and the modules `mpi_ext` and `mpi_f08_ext`, with the
//! names of Open MPI.
//!
//! A program uses each with its counterpart of the standard: `mpif.h`, `mpi`, `mpi_f08`. A module has all of that
//! again, which is no conflict, because the entities are the same.

use super::module::{self, Extensions, Language};
use super::table::RoutineRole;
use super::{module_f08, module_f90, module_header, module_types};

fn head(what: &str) -> String {
    module::head("!", &[what, "See mpi-ext.h.", ""])
}

/// `mpif-ext.h`.
pub fn render_header(Extensions(tables): &Extensions) -> String {
    let head = head(
        "Extensions of MPI for Fortran without modules, in fixed and in free form, after mpif.h.",
    );
    format!("{head}\n{}", module_header::constants(tables))
}

/// `mpi_ext.f90`.
pub fn render_f90(Extensions(tables): &Extensions) -> String {
    let head = head("Module mpi_ext: extensions of module mpi.");
    let mut text = format!(
        "{head}\nmodule mpi_ext\n  use mpi\n  implicit none\n  public\n\n{}\n  interface\n",
        module_types::integers(tables)
    );
    let mut names = Vec::new();
    for routine in tables.procedures(Language::F90, |what| *what == RoutineRole::Routine) {
        let name = routine.name.to_uppercase();
        text += &module_f90::body(tables, routine, &name, false);
        names.push(name);
    }
    text += "  end interface\n\n  ! The profiling interface.\n\n";
    for name in &names {
        text += &format!("  procedure({name}) :: P{name}\n");
    }
    text + "end module mpi_ext\n"
}

/// `mpi_f08_ext.f90`.
pub fn render_f08(Extensions(tables): &Extensions) -> String {
    let head = head("Module mpi_f08_ext: extensions of module mpi_f08.");
    let (interfaces, profiling) = module_f08::interfaces(tables);
    format!(
        "{head}\nmodule mpi_f08_ext\n  use mpi_f08\n  implicit none\n  public\n\n{}{interfaces}{profiling}\
         end module mpi_f08_ext\n",
        module_types::integers(tables)
    )
}
