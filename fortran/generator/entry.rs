//! The Fortran entry points in Rust: bodies `pmpi_x_` of the routines that only convert each argument
//! by its kind, and the other names of every routine as jumps.
//!
//! ```text
//!  mpi_x   mpi_x_   mpi_x__   MPI_X   pmpi_x   ...   mpi_x_f08_
//!     └───────┴────────┴────────┴──────────┴─────────────┘ jump
//!                       pmpi_x_ ── by kind ──> PMPI_x of C
//! ```
//!
//! `src/` has the conversions; a body only selects one for each argument.

use std::collections::BTreeMap;

use super::prototype::Prototype;
use super::table::{Argument, Intent, Kind, Routine};

/// The two forms of a routine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryForm {
    /// With counts of type INTEGER.
    Plain,
    /// With counts of kind `MPI_COUNT_KIND`, which only module `mpi_f08` has.
    Large,
}

/// The tables for bodies.
pub(crate) struct Tables<'a> {
    /// `kinds.tsv`.
    pub kinds: &'a BTreeMap<String, Kind>,
    /// The functions of C.
    pub prototypes: &'a BTreeMap<String, Prototype>,
}

/// The conversion of an argument.
struct ArgumentConversion {
    /// Name and type of the parameter.
    parameter: String,
    /// A statement before the call.
    before: Option<String>,
    /// The argument of the C function.
    value: String,
    /// A statement after the call.
    after: Option<String>,
}

const HANDLES: [&str; 11] = [
    "COMMUNICATOR",
    "DATATYPE",
    "ERRHANDLER",
    "FILE",
    "GROUP",
    "INFO",
    "MESSAGE",
    "OPERATION",
    "REQUEST",
    "SESSION",
    "WINDOW",
];

/// Routines whose result of kind INDEX is a position in a list of requests, from one in Fortran.
const COMPLETIONS: [&str; 6] = [
    "MPI_Request_get_status_any",
    "MPI_Request_get_status_some",
    "MPI_Testany",
    "MPI_Testsome",
    "MPI_Waitany",
    "MPI_Waitsome",
];

impl Tables<'_> {
    /// The body of `symbol` for a routine, as Rust.
    ///
    /// # Panics
    /// If an argument has a kind that needs more than a conversion.
    pub(crate) fn body(&self, routine: &Routine, form: EntryForm, symbol: &str) -> String {
        let large = form == EntryForm::Large;
        let c_name = if large { format!("{}_c", routine.name) } else { routine.name.clone() };
        let prototype = self.prototypes.get(&c_name).unwrap_or_else(|| panic!("no {c_name} in C"));
        let arguments: Vec<_> = match form {
            EntryForm::Plain => routine.f90_arguments().collect(),
            EntryForm::Large => routine.f08_arguments(true).collect(),
        };
        let has_error = arguments.last().is_some_and(|last| last.name == "ierror");
        let given = &arguments[..arguments.len() - usize::from(has_error)];
        let passings: Vec<_> = given
            .iter()
            .zip(&prototype.arguments)
            .map(|(argument, (_, c_type))| self.passing(routine, argument, form, c_type))
            .collect();
        assert_eq!(passings.len(), prototype.arguments.len(), "{c_name}");
        let mut parameters: Vec<_> =
            passings.iter().map(|passing| passing.parameter.clone()).collect();
        if has_error {
            parameters.push("ierror: *mut Fint".to_owned());
        }
        let texts = given.iter().filter(|argument| argument.kind == "STRING");
        parameters.extend(texts.map(|text| format!("{}_len: usize", name_of(text))));
        let values: Vec<_> = passings.iter().map(|passing| passing.value.as_str()).collect();
        let call = format!("c::P{c_name}({})", values.join(", "));
        let lines = |part: fn(&ArgumentConversion) -> &Option<String>| -> String {
            let parts = passings.iter().filter_map(|passing| part(passing).as_ref());
            parts.map(|line| format!("        {line}\n")).collect()
        };
        let result = match &routine.result {
            Some(_) => format!(" -> {}", prototype.result),
            None => String::new(),
        };
        let run = match has_error {
            true => format!("        let code = {call};\n"),
            false => format!("        {call}\n"),
        };
        let answer = if has_error { "        answer(ierror, code);\n" } else { "" };
        format!(
            "/// [`c::P{c_name}`].\n#[unsafe(no_mangle)]\npub unsafe extern \"C\" fn {symbol}({}){result} {{\n    \
             // SAFETY: the caller's promise is that of the standard for each argument.\n    \
             unsafe {{\n{}{run}{}{answer}    }}\n}}\n",
            parameters.join(", "),
            lines(|passing| &passing.before),
            lines(|passing| &passing.after),
        )
    }

    fn passing(
        &self, routine: &Routine, argument: &Argument, form: EntryForm, c_type: &str,
    ) -> ArgumentConversion {
        let name = name_of(argument);
        let kind = argument.kind.as_str();
        match kind {
            _ if HANDLES.contains(&kind) => return handle(argument, c_type),
            "LOGICAL" => return logical(argument),
            "STRING" => return string(routine, argument),
            "INDEX" if COMPLETIONS.contains(&routine.name.as_str()) => return index(argument),
            "BUFFER" => return simple(argument, "*mut c_void", format!("choice({name})")),
            "STATUS" => {
                let convert = if argument.length.is_some() {
                    "sentinel::statuses"
                } else {
                    "sentinel::status"
                };
                return simple(argument, "*mut Fint", format!("{convert}({name})"));
            }
            "WEIGHT" => return simple(argument, "*mut Fint", format!("sentinel::weights({name})")),
            "C_BUFFER" => return simple(argument, "*mut Aint", format!("{name}.cast()")),
            "LOGICAL_VOID" => return simple(argument, "*mut c_void", name.clone()),
            "FUNCTION" | "POLYFUNCTION" => return simple(argument, "*const c_void", name.clone()),
            _ => {}
        }
        let of = self.number(routine, argument, form);
        match (argument.intent, &argument.length) {
            (Intent::In, None) => simple(argument, &format!("*const {of}"), format!("*{name}")),
            (Intent::In, Some(length)) if length.ends_with(",3") => {
                simple(argument, &format!("*const {of}"), format!("{name}.cast_mut().cast()"))
            }
            (Intent::In, Some(_)) => simple(argument, &format!("*const {of}"), name.clone()),
            (Intent::Out | Intent::InOut, _) => {
                simple(argument, &format!("*mut {of}"), name.clone())
            }
        }
    }

    /// The Rust type of a number.
    fn number(&self, routine: &Routine, argument: &Argument, form: EntryForm) -> &'static str {
        let kind = &self.kinds[&argument.kind];
        let large = kind.f08_large.as_ref().filter(|_| form == EntryForm::Large);
        match large.or(kind.f90.as_ref()).map(String::as_str) {
            Some("INTEGER") => "Fint",
            Some("INTEGER(KIND=MPI_ADDRESS_KIND)") => "Aint",
            Some("INTEGER(KIND=MPI_COUNT_KIND)") => "Count",
            Some("INTEGER(KIND=MPI_OFFSET_KIND)") => "Offset",
            other => panic!("{}: {} is {other:?}", routine.name, argument.name),
        }
    }
}

/// The names of a routine except `body`, as jumps to it.
pub(crate) fn jumps(names: &[String], body: &str) -> String {
    names.iter().map(|name| format!("    {name} => {body};\n")).collect()
}

/// The symbols of compilers for a routine's name: lower case with one underscore, with none, with two,
/// and upper case.
pub(crate) fn manglings(name: &str) -> [String; 4] {
    let lower = name.to_lowercase();
    [format!("{lower}_"), lower.clone(), format!("{lower}__"), name.to_uppercase()]
}

fn simple(argument: &Argument, of: &str, value: String) -> ArgumentConversion {
    let parameter = format!("{}: {of}", name_of(argument));
    ArgumentConversion { parameter, before: None, value, after: None }
}

fn handle(argument: &Argument, c_type: &str) -> ArgumentConversion {
    let name = name_of(argument);
    let writes = c_type.starts_with("*mut");
    let parameter = format!("{name}: *{} Fint", if writes { "mut" } else { "const" });
    let Some(length) = &argument.length else {
        return match c_type.starts_with('*') {
            false => ArgumentConversion {
                parameter,
                before: None,
                value: format!("handle(*{name})"),
                after: None,
            },
            true => ArgumentConversion {
                parameter,
                before: Some(format!("let mut c_{name} = handle(*{name});")),
                value: format!("&mut c_{name}"),
                after: Some(format!("*{name} = number(c_{name});")),
            },
        };
    };
    ArgumentConversion {
        parameter,
        before: Some(format!(
            "let mut c_{name} = Handles::new();\n        c_{name}.take({name}, *{length});"
        )),
        value: format!("c_{name}.as_mut_ptr()"),
        after: writes.then(|| format!("c_{name}.put({name});")),
    }
}

fn logical(argument: &Argument) -> ArgumentConversion {
    let name = name_of(argument);
    match (argument.intent, &argument.length) {
        (Intent::In, None) => simple(argument, "*const Fint", format!("truth(*{name})")),
        (Intent::In, Some(length)) => ArgumentConversion {
            parameter: format!("{name}: *const Fint"),
            before: Some(format!("let c_{name} = truths({name}, *{length});")),
            value: format!("c_{name}.as_ptr()"),
            after: None,
        },
        (_, None) => ArgumentConversion {
            parameter: format!("{name}: *mut Fint"),
            before: Some(format!("let mut c_{name} = 0;")),
            value: format!("&mut c_{name}"),
            after: Some(format!("*{name} = logical(c_{name});")),
        },
        (_, Some(length)) => ArgumentConversion {
            parameter: format!("{name}: *mut Fint"),
            before: None,
            value: name.clone(),
            after: Some(format!("logicals({name}, *{length});")),
        },
    }
}

fn string(routine: &Routine, argument: &Argument) -> ArgumentConversion {
    let name = name_of(argument);
    if argument.intent == Intent::In {
        // "Leading and trailing spaces are stripped" in info objects (§10).
        let info = routine.name.starts_with("MPI_Info_");
        let make = if info { "stripped" } else { "trimmed" };
        return ArgumentConversion {
            parameter: format!("{name}: *const c_char"),
            before: Some(format!("let c_{name} = Text::{make}({name}, {name}_len);")),
            value: format!("c_{name}.as_ptr()"),
            after: None,
        };
    }
    let size = match (routine.name.as_str(), argument.length.as_deref()) {
        ("MPI_File_get_view", _) => "MPI_MAX_DATAREP_STRING",
        ("MPI_Info_get_nthkey", _) => "MPI_MAX_INFO_KEY",
        (_, Some(length)) if length.starts_with("MPI_MAX_") => length,
        (name, length) => panic!("{name}: a string of length {length:?}"),
    };
    ArgumentConversion {
        parameter: format!("{name}: *mut c_char"),
        before: Some(format!("let mut c_{name} = CharacterBuffer::new({size});")),
        value: format!("c_{name}.as_mut_ptr()"),
        after: Some(format!("c_{name}.put({name}, {name}_len);")),
    }
}

/// One or several positions in a list of requests.
fn index(argument: &Argument) -> ArgumentConversion {
    let name = name_of(argument);
    if argument.length.is_some() {
        return ArgumentConversion {
            parameter: format!("{name}: *mut Fint"),
            before: Some("*outcount = MPI_UNDEFINED;".to_owned()),
            value: name.clone(),
            after: Some(format!("count_from_one({name}, *outcount);")),
        };
    }
    ArgumentConversion {
        parameter: format!("{name}: *mut Fint"),
        before: Some(format!("let mut c_{name} = MPI_UNDEFINED;")),
        value: format!("&mut c_{name}"),
        after: Some(format!("*{name} = from_one(c_{name});")),
    }
}

/// The name of an argument; changed if it is a keyword of Rust.
fn name_of(argument: &Argument) -> String {
    match argument.name.as_str() {
        "type" | "in" => format!("{}_", argument.name),
        name => name.to_owned(),
    }
}
