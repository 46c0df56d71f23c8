//! Module `mpi_types`, which `mpi` and `mpi_f08` share, and the parts that both write in the same way:
//! constants and sentinels.

use super::module::{self, Tables};
use super::module_constants::{self, Constant, ConstantType};

/// The types of handles, in the order of the file.
pub const HANDLES: &[&str] = &[
    "Comm",
    "Datatype",
    "Errhandler",
    "File",
    "Group",
    "Info",
    "Message",
    "Op",
    "Request",
    "Session",
    "Win",
];

/// `mpi_types.f90`.
pub fn render(tables: &Tables) -> String {
    let head = module::head(
        "!",
        &[
            "What the modules mpi and mpi_f08 share: types, kinds, constants, and the variables that",
            "MPI knows by their addresses.",
            "",
        ],
    );
    let mut text = format!("{head}\nmodule mpi_types\n  implicit none\n  public\n\n");
    text += &integers(tables);
    for constant in tables.constants.iter().filter(|constant| constant.of == ConstantType::Offset) {
        let (name, value) = (&constant.name, constant.value);
        text += &format!("  integer(MPI_OFFSET_KIND), parameter :: {name} = {value}\n");
    }
    text += &types();
    text += &sentinels(false, false);
    text += SIZEOF;
    text + "end module mpi_types\n"
}

/// The types of handles with their operators, and that of a status.
fn types() -> String {
    let mut text = String::new();
    for handle in HANDLES {
        text += &format!(
            "\n  type, bind(C) :: MPI_{handle}\n    integer :: MPI_VAL\n  end type MPI_{handle}\n"
        );
    }
    text += "\n  type, bind(C) :: MPI_Status\n    integer :: MPI_SOURCE, MPI_TAG, MPI_ERROR\n    \
             integer, private :: MPI_internal(5)\n  end type MPI_Status\n";
    for (operator, name) in [("==", "equal"), ("/=", "unequal")] {
        text += &format!("\n  interface operator({operator})\n");
        for handle in HANDLES {
            text += &format!(
                "    pure logical function MPI_{handle}_{name}(a, b) bind(C, name=\"suiro_{name}\")\n      \
                 import\n      type(MPI_{handle}), intent(in) :: a, b\n    end function\n"
            );
        }
        text += "  end interface\n";
    }
    text
}

/// The constants that are INTEGERs.
pub fn integers(tables: &Tables) -> String {
    let all = tables.constants.iter().filter(|constant| constant.of == ConstantType::Integer);
    all.map(|Constant { name, value, .. }| format!("  integer, parameter :: {name} = {value}\n"))
        .collect()
}

/// The handles, as INTEGERs or as values of their types.
pub fn handles(tables: &Tables, typed: bool) -> String {
    let mut text = String::new();
    for constant in &tables.constants {
        let ConstantType::Handle(handle) = &constant.of else { continue };
        let (name, value) = (&constant.name, constant.value);
        text += &match typed {
            true => format!("  type(MPI_{handle}), parameter :: {name} = MPI_{handle}({value})\n"),
            false => format!("  integer, parameter :: {name} = {value}\n"),
        };
    }
    text
}

/// The sentinels that are statuses, of their type or INTEGERs, or all others.
pub fn sentinels(statuses: bool, typed: bool) -> String {
    let mut text = String::from("\n");
    for sentinel in module_constants::sentinels(statuses) {
        let cell = module_constants::cell(sentinel, typed);
        let (name, filler) = (sentinel.name, format!("{}_fill", sentinel.block));
        let (of, count) = cell.filler;
        text += &format!("  {} :: {name}{}\n", cell.of, cell.shape);
        text += &format!("  {of}, private :: {filler}({count})\n");
        text += &format!("  common /{}/ {name}, {filler}\n", sentinel.block);
    }
    text
}

/// A descriptor has the size of an element: one procedure for every type and kind.
const SIZEOF: &str = "
  interface MPI_Sizeof
    subroutine MPI_Sizeof_f08ts(x, size, ierror) bind(C, name=\"mpi_sizeof_f08ts_\")
      type(*), dimension(..) :: x
      integer, intent(out) :: size
      integer, intent(out), optional :: ierror
    end subroutine
  end interface

  interface PMPI_Sizeof
    subroutine PMPI_Sizeof_f08ts(x, size, ierror) bind(C, name=\"pmpi_sizeof_f08ts_\")
      type(*), dimension(..) :: x
      integer, intent(out) :: size
      integer, intent(out), optional :: ierror
    end subroutine
  end interface
";
