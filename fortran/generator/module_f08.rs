//! Module `mpi_f08`: handles and statuses have types, buffers are descriptors, procedures have
//! abstract interfaces, and generic names take counts of both kinds.

use super::module::{self, Language, Tables};
use super::module_types;
use super::table::{Argument, Intent, Routine, RoutineRole};

/// `mpi_f08.f90`.
pub fn render(tables: &Tables) -> String {
    let head = module::head(
        "!",
        &[
            "Module mpi_f08: handles and statuses have types, and a buffer may be a section of an array.",
            "",
        ],
    );
    let mut text = format!(
        "{head}\nmodule mpi_f08\n  use mpi_types\n  use, intrinsic :: iso_c_binding, only: C_PTR\n  \
         implicit none\n  public\n  private :: C_PTR\n\n  \
         logical, parameter :: MPI_SUBARRAYS_SUPPORTED = .true.\n  \
         logical, parameter :: MPI_ASYNC_PROTECTS_NONBLOCKING = .true.\n"
    );
    text += &module_types::handles(tables, true);
    text += &module_types::sentinels(true, true);
    text += &callbacks(tables);
    let (interfaces, profiling) = interfaces(tables);
    text += &interfaces;
    text += &predefined(tables);
    format!("{text}{profiling}end module mpi_f08\n")
}

/// The generic names of all routines with their procedures, and those of the profiling interface.
pub fn interfaces(tables: &Tables) -> (String, String) {
    let mut text = String::new();
    let (mut procedures, mut generics) = (String::new(), String::new());
    for generic in generics_of(tables) {
        text += &format!("\n  interface {}\n", generic.name);
        generics += &format!("\n  interface P{}\n", generic.name);
        for form in &generic.forms {
            let Form { name, symbol, .. } = form;
            text += &body(tables, form);
            let bind = match form.routine.has_buffer() {
                true => format!(", bind(C, name=\"p{symbol}\")"),
                false => String::new(),
            };
            procedures += &module::statement(2, &format!("procedure({name}){bind} :: P{name}"));
            generics += &format!("    procedure P{name}\n");
        }
        text += "  end interface\n";
        generics += "  end interface\n";
    }
    (text, format!("\n  ! The profiling interface.\n\n{procedures}{generics}"))
}

/// A generic name and its procedures.
struct Generic<'a> {
    name: String,
    forms: Vec<Form<'a>>,
}

/// A procedure of the library.
pub struct Form<'a> {
    /// The routine.
    pub routine: &'a Routine,
    /// Whether counts are large.
    pub large: bool,
    /// Its name in the module.
    pub name: String,
    /// Its symbol.
    pub symbol: String,
}

impl<'a> Form<'a> {
    /// The form of a routine, with large counts or without.
    pub fn of(routine: &'a Routine, large: bool) -> Self {
        let count = if large { "_c" } else { "" };
        let sort = if routine.has_buffer() { "_f08ts" } else { "_f08" };
        let name = format!("{}{count}{sort}", routine.name);
        Self { routine, large, symbol: format!("{}_", name.to_lowercase()), name }
    }
}

fn generics_of(tables: &Tables) -> Vec<Generic<'_>> {
    let both = Language::F08 { large: false };
    let routines = tables.procedures(both, |what| *what == RoutineRole::Routine);
    let mut generics = Vec::new();
    // Both modules have the same form.
    for routine in routines.filter(|routine| routine.name != "MPI_Sizeof") {
        let mut forms = vec![Form::of(routine, false)];
        match large(tables, routine) {
            Large::None => (),
            Large::Overload => forms.push(Form::of(routine, true)),
            Large::Name => generics.push(Generic {
                name: format!("{}_c", routine.name),
                forms: vec![Form::of(routine, true)],
            }),
        }
        generics.push(Generic { name: routine.name.clone(), forms });
    }
    generics
}

/// The name of the form with large counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Large {
    /// No such form, or its arguments would have the same kinds, because addresses are as long as
    /// counts (§19.2).
    None,
    /// By the same name.
    Overload,
    /// A separate name: the forms differ only in a procedure argument, which generics cannot resolve.
    Name,
}

/// The name of the form of a routine with large counts.
pub fn large(tables: &Tables, routine: &Routine) -> Large {
    if !routine.has_large(&tables.kinds) {
        return Large::None;
    }
    if routine.arguments.iter().any(|argument| argument.kind == "POLYFUNCTION") {
        return Large::Name;
    }
    let differs = |argument: &Argument| {
        let of = |large| {
            let of = tables.type_of(argument, Language::F08 { large });
            of.replace("MPI_ADDRESS_KIND", "8").replace("MPI_COUNT_KIND", "8")
        };
        argument.large || of(false) != of(true)
    };
    let told = routine.f08_arguments(true).any(differs);
    if told { Large::Overload } else { Large::None }
}

fn body(tables: &Tables, form: &Form) -> String {
    let language = Language::F08 { large: form.large };
    let mut declared: Vec<_> = module::arguments(form.routine, language)
        .iter()
        .map(|argument| match argument.kind.as_str() {
            // Before version 12, gfortran refuses strings of assumed length in BIND(C) procedures; a
            // descriptor has the length too.
            "STRING" if form.routine.has_buffer() => {
                ("type(*), dimension(..), intent(in)".to_owned(), argument.name.clone())
            }
            _ => declaration(tables, argument, language),
        })
        .collect();
    if let Some(result) = &form.routine.result {
        let of = tables.kinds[result].f08.as_ref().expect("a type");
        declared.push((module::shorten(of), form.name.clone()));
    }
    let suffix = match form.routine.has_buffer() {
        true => format!(" bind(C, name=\"{}\")", form.symbol),
        false => String::new(),
    };
    module::body(form.routine, &form.name, &suffix, language, &declared)
}

/// Type with attributes, and name with shape, of an argument of a routine.
fn declaration(tables: &Tables, argument: &Argument, language: Language) -> (String, String) {
    let (mut of, shape) = typed(tables, argument, language);
    let intent = match (argument.kind.as_str(), argument.intent) {
        ("FUNCTION" | "POLYFUNCTION", _) => "",
        // The argument may be a sentinel, which is not written.
        ("STATUS" | "BUFFER", Intent::Out) | ("BUFFER", Intent::InOut) => "",
        _ if !argument.declares_intent => "",
        (_, Intent::In) => ", intent(in)",
        (_, Intent::Out) => ", intent(out)",
        (_, Intent::InOut) => ", intent(inout)",
    };
    of += intent;
    if argument.asynchronous {
        of += ", asynchronous";
    }
    if argument.optional {
        of += ", optional";
    }
    (of, format!("{}{shape}", argument.name))
}

/// Type and shape of an argument.
fn typed(tables: &Tables, argument: &Argument, language: Language) -> (String, String) {
    let of = match argument.kind.as_str() {
        "FUNCTION" | "POLYFUNCTION" => return (procedure(argument, language), String::new()),
        "STRING" => {
            let length = argument.length.as_deref().unwrap_or("*");
            return (format!("character(len={length})"), String::new());
        }
        "STRING_ARRAY" => return ("character(len=*)".to_owned(), "(*)".to_owned()),
        "STRING_2DARRAY" => return ("character(len=*)".to_owned(), "(count, *)".to_owned()),
        "F90_STATUS" => return ("integer".to_owned(), "(MPI_STATUS_SIZE)".to_owned()),
        _ => tables.type_of(argument, language),
    };
    let shape = match argument.length.as_deref() {
        None => String::new(),
        Some("") => "(*)".to_owned(),
        // C's order of dimensions.
        Some(length) => match length.split_once(',') {
            Some((outer, inner)) => format!("({inner}, {outer})"),
            None => format!("({length})"),
        },
    };
    (of, shape)
}

fn procedure(argument: &Argument, language: Language) -> String {
    let callback = argument.function.as_deref().expect("the callback of a procedure");
    let is_large = argument.kind == "POLYFUNCTION" && language == Language::F08 { large: true };
    // The table may have a separate callback for the large form.
    let count = if is_large && !callback.ends_with("_c") { "_c" } else { "" };
    format!("procedure({callback}{count})")
}

/// The abstract interfaces of the application's procedures.
fn callbacks(tables: &Tables) -> String {
    let mut text = String::from("\n  abstract interface\n");
    let small = Language::F08 { large: false };
    for callback in tables.procedures(small, |what| *what == RoutineRole::Callback) {
        text += &callback_body(tables, callback, &callback.name, small);
        if callback.has_large(&tables.kinds) {
            let name = format!("{}_c", callback.name);
            text += &callback_body(tables, callback, &name, Language::F08 { large: true });
        }
    }
    text + "  end interface\n"
}

fn callback_body(tables: &Tables, callback: &Routine, name: &str, language: Language) -> String {
    let declared: Vec<_> = module::arguments(callback, language)
        .iter()
        .map(|argument| (tables.type_of(argument, language), argument.name.clone()))
        .collect();
    module::body(callback, name, "", language, &declared)
}

/// The procedures of the library that may be arguments.
fn predefined(tables: &Tables) -> String {
    let small = Language::F08 { large: false };
    let mut text = String::from("\n  interface\n");
    for routine in tables.procedures(small, |what| matches!(what, RoutineRole::Predefined(_))) {
        let RoutineRole::Predefined(callback) = &routine.role else { unreachable!("filtered") };
        let callback = tables.named(callback);
        text += &callback_body(tables, callback, &routine.name, small);
        if callback.has_large(&tables.kinds) {
            let name = format!("{}_C", routine.name);
            text += &callback_body(tables, callback, &name, Language::F08 { large: true });
        }
    }
    text + "  end interface\n"
}
