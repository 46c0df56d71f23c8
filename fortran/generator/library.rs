//! The generated part of the library: routines with generated bodies, routines in `src/by_hand`, and
//! all symbols.

use std::collections::BTreeMap;

use super::entry::{EntryForm, Tables, jumps, manglings};
use super::functions::functions;
use super::prototype::{Prototype, is_function};
use super::sentinel::{SENTINELS, Sentinel};
use super::table::{Kind, Routine, RoutineRole};

/// Routines that need more than a conversion of each argument; their bodies are in `src/by_hand`.
pub(crate) const BY_HAND: &[&str] = &[
    "MPI_Alltoallw",
    "MPI_Alltoallw_init",
    "MPI_Attr_get",
    "MPI_Attr_put",
    "MPI_Buffer_detach",
    "MPI_Cart_sub",
    "MPI_Comm_create_keyval",
    "MPI_Comm_detach_buffer",
    "MPI_Comm_get_attr",
    "MPI_Comm_set_attr",
    "MPI_Comm_spawn",
    "MPI_Comm_spawn_multiple",
    "MPI_F_sync_reg",
    "MPI_Grequest_start",
    "MPI_Ialltoallw",
    "MPI_Ineighbor_alltoallw",
    "MPI_Info_create_env",
    "MPI_Info_get",
    "MPI_Info_get_string",
    "MPI_Init",
    "MPI_Init_thread",
    "MPI_Keyval_create",
    "MPI_Neighbor_alltoallw",
    "MPI_Neighbor_alltoallw_init",
    "MPI_Pcontrol",
    "MPI_Register_datarep",
    "MPI_Session_detach_buffer",
    "MPI_Session_get_nth_pset",
    "MPI_Session_init",
    "MPI_Status_f082f",
    "MPI_Status_f2f08",
    "MPI_Type_create_keyval",
    "MPI_Type_get_attr",
    "MPI_Type_set_attr",
    "MPI_Win_create_keyval",
    "MPI_Win_get_attr",
    "MPI_Win_set_attr",
];

/// Not in the library: generic in the modules, over types of the compiler.
pub(crate) const IN_MODULES: &[&str] = &["MPI_Sizeof"];

/// Whether the library has entry points for a line of the table in `mpif.h` and module `mpi`.
pub(crate) fn is_entry(routine: &Routine) -> bool {
    let is_callback = matches!(routine.role, RoutineRole::Callback);
    routine.languages.f90 && !is_callback && !IN_MODULES.contains(&routine.name.as_str())
}

/// Whether module `mpi_f08` has a name for the same procedure.
pub(crate) fn has_f08_twin(routine: &Routine) -> bool {
    let is_same = !routine.has_buffer() && !is_detachment(routine);
    routine.languages.f08 && routine.role == RoutineRole::Routine && is_same
}

/// Whether a routine returns a buffer. Only module `mpi_f08` has a type for its address.
fn is_detachment(routine: &Routine) -> bool {
    routine.arguments.iter().any(|argument| argument.kind == "C_BUFFER2")
}

/// Every symbol of a routine except that of its body, `pmpi_x_`.
pub(crate) fn names(routine: &Routine) -> Vec<String> {
    let mut names = Vec::new();
    for prefix in ["", "P"] {
        let name = format!("{prefix}{}", routine.name);
        names.extend(manglings(&name));
        if let Some(suffix) = twin_suffix(routine) {
            names.extend(manglings(&format!("{name}{suffix}")));
        }
        if has_f08_twin(routine) {
            names.push(format!("{}_f08_", name.to_lowercase()));
        }
    }
    names.retain(|name| *name != body_name(routine));
    names
}

/// The suffix of a twin with another interface and the same arguments: an address as a C pointer
/// (MPI 5.0 §19.1.5), a conversion with large counts.
fn twin_suffix(routine: &Routine) -> Option<&'static str> {
    let gives_address = routine.arguments.iter().any(|argument| argument.kind == "C_BUFFER");
    match routine.name.as_str() {
        "MPI_CONVERSION_FN_NULL" => Some("_C"),
        _ => gives_address.then_some("_CPTR"),
    }
}

/// The symbol of the body.
pub(crate) fn body_name(routine: &Routine) -> String {
    format!("p{}_", routine.name.to_lowercase())
}

/// Every symbol of the routines and predefined procedures, and the cells.
pub(crate) fn symbols(
    routines: &[Routine], deleted: &[Routine], kinds: &BTreeMap<String, Kind>,
) -> Vec<String> {
    let mut symbols = Vec::new();
    for routine in routines.iter().chain(deleted).filter(|routine| is_entry(routine)) {
        symbols.extend(names(routine));
        symbols.push(body_name(routine));
        let name = routine.name.to_lowercase();
        let detaches = is_detachment(routine);
        if detaches {
            symbols.extend([format!("{name}_f08_"), format!("p{name}_f08_")]);
        }
        if detaches || (has_f08_twin(routine) && routine.has_large(kinds)) {
            symbols.extend([format!("{name}_c_f08_"), format!("p{name}_c_f08_")]);
        }
    }
    symbols.extend(SENTINELS.iter().flat_map(Sentinel::symbols));
    symbols
}

/// Bodies and jumps.
pub(crate) fn render_entries(routines: &[Routine], deleted: &[Routine], tables: &Tables) -> String {
    let mut text = String::new();
    let made = |routine: &&Routine| {
        is_entry(routine)
            && routine.role == RoutineRole::Routine
            && !BY_HAND.contains(&routine.name.as_str())
    };
    for routine in routines.iter().filter(made) {
        text += &tables.body(routine, EntryForm::Plain, &body_name(routine));
    }
    text += "jumps! {\n";
    for routine in routines.iter().chain(deleted).filter(|routine| is_entry(routine)) {
        text += &jumps(&names(routine), &body_name(routine));
    }
    text + "}\n"
}

/// A function that identifies the predefined procedures by the addresses of all their names.
pub(crate) fn render_meaning(routines: &[Routine]) -> String {
    let mut text = "/// The predefined procedure that has this address.\n\
                    pub fn meaning(given: *const c_void) -> Option<&'static str> {\n    [\n"
        .to_owned();
    for (name, symbol) in predefined(routines) {
        text += &format!("        (crate::entry::{symbol} as *const c_void, \"{name}\"),\n");
    }
    text + "    ]\n    .into_iter()\n    .find_map(|(address, name)| (address == given).then_some(name))\n}\n"
}

/// The symbols that the linker must not bind within the library: the cells, because a program has its
/// own, and the predefined procedures, because a position-dependent program has its own addresses.
pub(crate) fn render_dynamic_list(routines: &[Routine]) -> String {
    let procedures = predefined(routines).map(|(_, symbol)| symbol);
    let cells = SENTINELS.iter().flat_map(Sentinel::symbols);
    let symbols: String = procedures.chain(cells).map(|name| format!("    {name};\n")).collect();
    format!("{{\n{symbols}}};\n")
}

/// Names of the predefined procedures with each of their symbols.
fn predefined(routines: &[Routine]) -> impl Iterator<Item = (&str, String)> {
    let is = |routine: &&Routine| is_entry(routine) && routine.role != RoutineRole::Routine;
    routines.iter().filter(is).flat_map(|routine| {
        let symbols = names(routine).into_iter().chain([body_name(routine)]);
        symbols.map(|symbol| (routine.name.as_str(), symbol))
    })
}

/// The bodies with large counts that module `mpi_f08` calls as external procedures.
pub(crate) fn render_large_entries(
    routines: &[Routine], kinds: &BTreeMap<String, Kind>, tables: &Tables,
) -> String {
    let mut text = String::new();
    let mut twins = String::new();
    let made = |routine: &&Routine| {
        has_f08_twin(routine)
            && routine.has_large(kinds)
            && !BY_HAND.contains(&routine.name.as_str())
    };
    for routine in routines.iter().filter(made) {
        let name = routine.name.to_lowercase();
        let body = format!("p{name}_c_f08_");
        text += &tables.body(routine, EntryForm::Large, &body);
        twins += &jumps(&[format!("{name}_c_f08_")], &body);
    }
    text + "jumps! {\n" + &twins + "}\n"
}

/// The C functions that the entry points call, by name; the tool interface is not for Fortran.
pub fn prototypes() -> BTreeMap<String, Prototype> {
    let functions = functions().into_iter();
    functions
        .filter(|function| !function.name.starts_with("MPI_T_"))
        .map(|function| (function.name.to_owned(), Prototype::parse(function.prototype)))
        .collect()
}

/// The C functions of `mpi-ext.h`, by name.
pub fn extensions(header: &str) -> BTreeMap<String, Prototype> {
    let declared = header.lines().filter_map(|line| Some((line.strip_prefix("int ")?, line)));
    let named =
        declared.filter(|(rest, _)| rest.starts_with("MPIX_")).filter_map(|(rest, line)| {
            let name = rest.split('(').next()?;
            Some((name.to_owned(), Prototype::parse(line)))
        });
    named.collect()
}

/// Functions that call those of `mpi-ext.h`, where the library of C has them.
pub(crate) fn render_extensions(prototypes: &BTreeMap<String, Prototype>) -> String {
    let line = |(name, prototype): (&String, &Prototype)| {
        let arguments = prototype.arguments.iter().map(|(name, of)| format!("{name}: {of}"));
        format!("    P{name}({});\n", arguments.collect::<Vec<_>>().join(", "))
    };
    format!("optional! {{\n{}}}\n", prototypes.iter().map(line).collect::<String>())
}

/// Declarations of the C functions.
pub(crate) fn render_declarations(prototypes: &BTreeMap<String, Prototype>) -> String {
    let lines: String =
        prototypes.iter().map(|(name, prototype)| declare(name, prototype)).collect();
    format!("unsafe extern \"C\" {{\n{lines}}}\n")
}

/// The declaration of `P<name>`; callbacks are addresses.
fn declare(name: &str, prototype: &Prototype) -> String {
    let of = |of: &str| if is_function(of) { "*const c_void".to_owned() } else { of.to_owned() };
    let mut arguments: Vec<_> =
        prototype.arguments.iter().map(|(name, given)| format!("{name}: {}", of(given))).collect();
    if prototype.is_variadic {
        arguments.push("...".to_owned());
    }
    format!("    pub fn P{name}({}) -> {};\n", arguments.join(", "), prototype.result)
}
