//! Parses the tables of routines (`routines.tsv`, `deleted.tsv`) and of kinds of arguments
//! (`kinds.tsv`).

use std::collections::BTreeMap;

/// A line of `routines.tsv` or `deleted.tsv`.
#[derive(Clone, Debug)]
pub(crate) struct Routine {
    /// The name in the standard: `MPI_Comm_rank`.
    pub name: String,
    /// The languages that have it.
    pub languages: Languages,
    pub role: RoutineRole,
    /// The kind of its result; `None` for a subroutine, and for a predefined procedure.
    pub result: Option<String>,
    /// In the order of the standard, including those of some languages only.
    pub arguments: Vec<Argument>,
}

/// The languages that have a routine or an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Languages {
    /// C.
    pub c: bool,
    /// `mpif.h` and module `mpi`.
    pub f90: bool,
    /// Module `mpi_f08`.
    pub f08: bool,
}

/// The role of a line of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RoutineRole {
    /// A routine that the application calls.
    Routine,
    /// A procedure of the application.
    Callback,
    /// A procedure of the library that may be passed as this callback.
    Predefined(String),
}

/// An argument of a routine.
#[derive(Clone, Debug)]
pub(crate) struct Argument {
    /// Its name in all languages.
    pub name: String,
    /// A kind of `kinds.tsv`.
    pub kind: String,
    /// Its direction.
    pub intent: Intent,
    /// The number of elements of an array, as an expression in other arguments; `*` if unknown.
    pub length: Option<String>,
    /// The callback of a procedure argument.
    pub function: Option<String>,
    /// Whether it is ASYNCHRONOUS in module `mpi_f08`.
    pub asynchronous: bool,
    /// Whether it is OPTIONAL in module `mpi_f08`.
    pub optional: bool,
    /// Whether only the form with large counts has it.
    pub large: bool,
    /// Whether module `mpi_f08` declares its INTENT.
    pub declares_intent: bool,
    /// The languages that have it.
    pub languages: Languages,
}

/// The direction of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Intent {
    /// Read.
    In,
    /// Written.
    Out,
    /// Read and written.
    InOut,
}

/// A line of `kinds.tsv`: the type of a kind of argument in each language that has it.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    /// In C.
    pub c: Option<String>,
    /// In the `_c` form in C, if it differs.
    pub c_large: Option<String>,
    /// In `mpif.h` and module `mpi`.
    pub f90: Option<String>,
    /// In module `mpi_f08`.
    pub f08: Option<String>,
    /// In the form with large counts in module `mpi_f08`, if it differs.
    pub f08_large: Option<String>,
}

/// The routines of a table.
///
/// # Panics
/// If the text does not have the form that the head of `routines.tsv` describes.
pub(crate) fn routines(text: &str) -> Vec<Routine> {
    lines(text).map(routine).collect()
}

/// The kinds of arguments by name.
///
/// # Panics
/// If the text does not have the form that the head of `kinds.tsv` describes.
pub(crate) fn kinds(text: &str) -> BTreeMap<String, Kind> {
    lines(text)
        .map(|fields| {
            let [name, c, c_large, f90, f08, f08_large] = fields[..] else {
                panic!("six fields instead of {fields:?}")
            };
            let known = |field: &str| (field != "-").then(|| field.to_owned());
            let kind = Kind {
                c: known(c),
                c_large: known(c_large),
                f90: known(f90),
                f08: known(f08),
                f08_large: known(f08_large),
            };
            (name.to_owned(), kind)
        })
        .collect()
}

impl Routine {
    /// The arguments that `mpif.h` and module `mpi` have.
    pub(crate) fn f90_arguments(&self) -> impl Iterator<Item = &Argument> {
        self.arguments.iter().filter(|argument| argument.languages.f90 && !argument.large)
    }

    /// The arguments that module `mpi_f08` has, in the form with large counts or without.
    pub(crate) fn f08_arguments(&self, large: bool) -> impl Iterator<Item = &Argument> {
        let has = move |argument: &&Argument| argument.languages.f08 && (large || !argument.large);
        self.arguments.iter().filter(has)
    }

    /// Whether an argument is a choice buffer.
    pub(crate) fn has_buffer(&self) -> bool {
        self.arguments.iter().any(|argument| argument.kind == "BUFFER")
    }

    /// Whether there is a form with large counts.
    pub(crate) fn has_large(&self, kinds: &BTreeMap<String, Kind>) -> bool {
        let grows = |argument: &Argument| kinds[&argument.kind].c_large.is_some();
        let function = |argument: &Argument| argument.kind == "POLYFUNCTION";
        self.arguments
            .iter()
            .any(|argument| argument.large || grows(argument) || function(argument))
    }
}

/// The fields of each line that is not a comment.
fn lines(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let wanted = |line: &&str| !line.is_empty() && !line.starts_with('#');
    text.lines().filter(wanted).map(|line| line.split('\t').collect())
}

fn routine(fields: Vec<&str>) -> Routine {
    let [name, languages, what, result, arguments @ ..] = &fields[..] else {
        panic!("at least four fields instead of {fields:?}")
    };
    let known = Some(result.to_string()).filter(|result| result != "-");
    let (what, result) = match *what {
        "routine" => (RoutineRole::Routine, known),
        "callback" => (RoutineRole::Callback, known),
        "predefined" => (RoutineRole::Predefined(result.to_string()), None),
        other => panic!("{name} is a {other}"),
    };
    let has = |language: char| languages.contains(language);
    let languages = Languages { c: has('c'), f90: has('9'), f08: has('8') };
    let arguments = arguments.iter().map(|text| argument(name, text)).collect();
    Routine { name: name.to_string(), languages, role: what, result, arguments }
}

fn argument(routine: &str, text: &str) -> Argument {
    let mut words = text.split(' ');
    let mut word = || words.next().unwrap_or_else(|| panic!("{routine}: {text}"));
    let (name, kind, intent) = (word().to_owned(), word().to_owned(), word());
    let intent = match intent {
        "in" => Intent::In,
        "out" => Intent::Out,
        "inout" => Intent::InOut,
        other => panic!("{routine}: {name} is {other}"),
    };
    let mut argument = Argument {
        name,
        kind,
        intent,
        length: None,
        function: None,
        asynchronous: false,
        optional: false,
        large: false,
        declares_intent: true,
        languages: Languages { c: true, f90: true, f08: true },
    };
    for word in words {
        match word.split_once('=') {
            Some(("len", length)) => argument.length = Some(length.to_owned()),
            Some(("fn", callback)) => argument.function = Some(callback.to_owned()),
            _ => note(&mut argument, word),
        }
    }
    argument
}

fn note(argument: &mut Argument, word: &str) {
    match word {
        "async" => argument.asynchronous = true,
        "opt" => argument.optional = true,
        "large" => argument.large = true,
        "no-intent" => argument.declares_intent = false,
        "no-c" => argument.languages.c = false,
        "no-f90" => argument.languages.f90 = false,
        "no-f08" => argument.languages.f08 = false,
        other => panic!("{} has {other:?}", argument.name),
    }
}
