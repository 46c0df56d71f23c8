//! Module `mpi`: handles and statuses are INTEGERs; buffers of any type are passed by address.

use super::module::{self, Language, Tables};
use super::module_types;
use super::table::{Argument, Routine, RoutineRole};

/// `mpi.f90`.
pub fn render(tables: &Tables) -> String {
    let head = module::head(
        "!",
        &["Module mpi: handles and statuses are INTEGERs, and a buffer may be of any type.", ""],
    );
    let mut text = format!(
        "{head}\nmodule mpi\n  use mpi_types\n  use, intrinsic :: iso_c_binding, only: C_PTR\n  \
         implicit none\n  public\n  private :: C_PTR\n\n  \
         logical, parameter :: MPI_SUBARRAYS_SUPPORTED = .false.\n  \
         logical, parameter :: MPI_ASYNC_PROTECTS_NONBLOCKING = .false.\n"
    );
    text += &module_types::handles(tables, false);
    text += &module_types::sentinels(true, false);
    let (mut plain, mut generic, mut names) = (String::new(), String::new(), Vec::new());
    for routine in tables.procedures(Language::F90, |what| *what == RoutineRole::Routine) {
        let name = routine.name.to_uppercase();
        if gives_address(routine) {
            // If a generic name is also the name of a procedure, only an interface may declare both.
            for name in [name.clone(), format!("P{name}")] {
                generic += &with_pointer(tables, routine, &name);
            }
        // Both modules have the same form.
        } else if routine.name != "MPI_Sizeof" {
            plain += &body(tables, routine, &name, false);
            names.push(name);
        }
    }
    text += &format!("\n  interface\n{plain}  end interface\n{generic}{}", predefined(tables));
    text += "\n  ! The profiling interface.\n\n";
    for name in &names {
        text += &format!("  procedure({name}) :: P{name}\n");
    }
    text + "end module mpi\n"
}

/// Whether a routine returns an address: in a variable of either type.
fn gives_address(routine: &Routine) -> bool {
    routine.arguments.iter().any(|argument| argument.kind == "C_BUFFER")
}

/// The interface of a routine that returns an address.
fn with_pointer(tables: &Tables, routine: &Routine, name: &str) -> String {
    let integer = body(tables, routine, name, false);
    let pointer = body(tables, routine, &format!("{name}_CPTR"), true);
    format!("\n  interface {name}\n{integer}{pointer}  end interface\n")
}

/// The interface of a procedure, with an address, if any, as a pointer or as an integer.
pub fn body(tables: &Tables, routine: &Routine, name: &str, pointer: bool) -> String {
    let arguments = module::arguments(routine, Language::F90);
    let mut declared: Vec<_> =
        arguments.iter().map(|argument| declaration(tables, argument, pointer)).collect();
    if let Some(result) = &routine.result {
        let of = tables.kinds[result].f90.as_ref().expect("a type");
        declared.push((module::shorten(of), name.to_owned()));
    }
    let body = module::body(routine, name, "", Language::F90, &declared);
    let buffers: Vec<_> = arguments
        .iter()
        .filter(|argument| is_any(tables, argument))
        .map(|argument| argument.name.as_str())
        .collect();
    body.replacen("      import\n", &format!("      import\n{}", directives(&buffers)), 1)
}

/// The directives of several compilers for arguments of any type, kind and rank.
fn directives(buffers: &[&str]) -> String {
    if buffers.is_empty() {
        return String::new();
    }
    let names = buffers.join(", ");
    [
        "!GCC$ ATTRIBUTES NO_ARG_CHECK ::",
        "!DEC$ ATTRIBUTES NO_ARG_CHECK ::",
        "!DIR$ IGNORE_TKR",
        "!$PRAGMA IGNORE_TKR",
        "!IBM* IGNORE_TKR",
    ]
    .map(|directive| format!("{directive} {names}\n"))
    .concat()
}

fn is_any(tables: &Tables, argument: &Argument) -> bool {
    tables.kinds[&argument.kind].f90.as_deref().is_some_and(|of| of.starts_with('<'))
}

/// Type and name with shape of an argument.
fn declaration(tables: &Tables, argument: &Argument, pointer: bool) -> (String, String) {
    let name = &argument.name;
    if is_any(tables, argument) {
        return ("type(*), dimension(*)".to_owned(), name.clone());
    }
    let shape = match &argument.length {
        None => "",
        Some(length) if length.contains(",3") => "(3,*)",
        Some(_) => "(*)",
    };
    let (of, shape) = match argument.kind.as_str() {
        "FUNCTION" | "POLYFUNCTION" => ("external".to_owned(), ""),
        "STATUS" if shape.is_empty() => ("integer".to_owned(), "(MPI_STATUS_SIZE)"),
        "STATUS" => ("integer".to_owned(), "(MPI_STATUS_SIZE,*)"),
        "F90_STATUS" => ("integer".to_owned(), "(MPI_STATUS_SIZE)"),
        "STRING" => ("character(len=*)".to_owned(), ""),
        "STRING_ARRAY" => ("character(len=*)".to_owned(), "(*)"),
        "STRING_2DARRAY" => ("character(len=*)".to_owned(), "(count,*)"),
        "C_BUFFER" if pointer => ("type(C_PTR)".to_owned(), ""),
        _ => (tables.type_of(argument, Language::F90), shape),
    };
    (of, format!("{name}{shape}"))
}

/// The procedures of the library that may be arguments.
fn predefined(tables: &Tables) -> String {
    let mut text = String::from("\n  interface\n");
    for routine in
        tables.procedures(Language::F90, |what| matches!(what, RoutineRole::Predefined(_)))
    {
        let RoutineRole::Predefined(callback) = &routine.role else { unreachable!("filtered") };
        let name = routine.name.to_uppercase();
        text += &body(tables, tables.named(callback), &name, false);
    }
    text + "  end interface\n"
}
