//! The source of the modules and of `mpif.h` (MPI 5.0 chapter 19), from the tables.
//!
//! | file | what |
//! |---|---|
//! | `mpif.h` | constants and sentinels; lines that mean the same in fixed and in free form |
//! | `mpi_types.f90` | module `mpi_types`: what `mpi` and `mpi_f08` share |
//! | `mpi.f90` | module `mpi`: handles are INTEGERs, no large counts |
//! | `mpi_f08.f90` | module `mpi_f08`: handles have types, buffers are descriptors |
//! | `mpif-ext.h`, `mpi_ext.f90`, `mpi_f08_ext.f90` | the functions of `mpi-ext.h`, for each of the three |
//!
//! No module needs code in an object file: interfaces declare procedures of the library, sentinels are
//! in COMMON blocks, constants are parameters. The implementation of the procedures is not known here.

use std::collections::BTreeMap;

use super::module_constants::{self, Constant};
use super::table::{self, Argument, Kind, Routine, RoutineRole};
use super::{module_extensions, module_f08, module_f90, module_header, module_types};

/// The head of a file after `comment`.
pub fn head(comment: &str, what: &[&str]) -> String {
    let mut text = String::new();
    for line in what {
        text += format!("{comment} {line}").trim_end();
        text += "\n";
    }
    text + &format!(
        "{comment} Made from the tables in fortran/ and tests/data/abi_constants.tsv by:\n"
    ) + &format!("{comment}   SUIRO_BLESS=1 cargo test --test fortran_modules\n")
}

/// Columns of a line of free form.
const COLUMNS: usize = 100;

/// All that the files are rendered from.
pub struct Tables {
    /// `routines.tsv`.
    pub routines: Vec<Routine>,
    /// `kinds.tsv`.
    pub kinds: BTreeMap<String, Kind>,
    /// The constants that Fortran has.
    pub constants: Vec<Constant>,
}

/// The same of the extensions: `extensions.tsv`, and the constants of `mpi-ext.h`.
pub struct Extensions(pub Tables);

/// The target language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Module `mpi`.
    F90,
    /// Module `mpi_f08`, with large counts or without.
    F08 {
        /// Whether counts are of MPI_COUNT_KIND.
        large: bool,
    },
}

impl Extensions {
    /// From the texts of `extensions.tsv`, `kinds.tsv` and `mpi-ext.h`.
    ///
    /// # Panics
    /// If one of the tables has a syntax error.
    pub fn parse(routines: &str, kinds: &str, header: &str) -> Self {
        Self(Tables {
            routines: table::routines(routines),
            kinds: table::kinds(kinds),
            constants: module_constants::defined(header),
        })
    }
}

impl Tables {
    /// From the texts of `routines.tsv`, `kinds.tsv` and `abi_constants.tsv`.
    ///
    /// # Panics
    /// If one of them has a syntax error.
    pub fn parse(routines: &str, kinds: &str, constants: &str) -> Self {
        Self {
            routines: table::routines(routines),
            kinds: table::kinds(kinds),
            constants: module_constants::constants(constants),
        }
    }

    /// Name and text of each file.
    pub fn files(&self, extensions: &Extensions) -> Vec<(&'static str, String)> {
        vec![
            ("mpif.h", module_header::render(self)),
            ("mpi_types.f90", module_types::render(self)),
            ("mpi.f90", module_f90::render(self)),
            ("mpi_f08.f90", module_f08::render(self)),
            ("mpif-ext.h", module_extensions::render_header(extensions)),
            ("mpi_ext.f90", module_extensions::render_f90(extensions)),
            ("mpi_f08_ext.f90", module_extensions::render_f08(extensions)),
        ]
    }

    /// The procedures of a language with this role, in the order of the table.
    pub fn procedures(
        &self, language: Language, wanted: impl Fn(&RoutineRole) -> bool,
    ) -> impl Iterator<Item = &Routine> {
        self.routines.iter().filter(move |routine| {
            let has = match language {
                Language::F90 => routine.languages.f90,
                Language::F08 { .. } => routine.languages.f08,
            };
            has && wanted(&routine.role)
        })
    }

    /// The routine, or callback, of a name.
    ///
    /// # Panics
    /// If there is none.
    pub fn named(&self, name: &str) -> &Routine {
        let found = self.routines.iter().find(|routine| routine.name == name);
        found.unwrap_or_else(|| panic!("{name} is not in the table"))
    }

    /// The type of an argument in the source.
    pub fn type_of(&self, argument: &Argument, language: Language) -> String {
        let kind = &self.kinds[&argument.kind];
        let small = || kind.f08.as_deref();
        let of = match language {
            Language::F90 => kind.f90.as_deref(),
            Language::F08 { large: false } => small(),
            Language::F08 { large: true } => kind.f08_large.as_deref().or_else(small),
        };
        let of = of.unwrap_or_else(|| panic!("{} has no type in {language:?}", argument.kind));
        shorten(of)
    }
}

/// `integer(MPI_COUNT_KIND)` for `INTEGER(KIND=MPI_COUNT_KIND)`: keywords are in lower case.
pub fn shorten(of: &str) -> String {
    let of = of.replace("KIND=", "");
    let words = of.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_');
    words
        .map(|word| if word.contains('_') { word.to_owned() } else { word.to_lowercase() })
        .collect()
}

/// The arguments in a language; Fortran has none for C's `...`.
pub fn arguments(routine: &Routine, language: Language) -> Vec<&Argument> {
    let fixed = |argument: &&Argument| argument.kind != "VARARGS";
    match language {
        Language::F90 => routine.f90_arguments().filter(fixed).collect(),
        Language::F08 { large } => routine.f08_arguments(large).filter(fixed).collect(),
    }
}

/// A statement that starts in column `indent`, split into lines.
pub fn statement(indent: usize, text: &str) -> String {
    let mut lines = String::new();
    let mut line = " ".repeat(indent);
    let mut is_empty = true;
    for word in text.split_inclusive(' ') {
        if !is_empty && line.len() + word.trim_end().len() + " &".len() > COLUMNS {
            lines += &format!("{} &\n", line.trim_end());
            line = " ".repeat(indent + 4);
        }
        line += word;
        is_empty = false;
    }
    lines + line.trim_end() + "\n"
}

/// Declarations; adjacent ones of equal type share a statement.
pub fn declarations(indent: usize, declared: &[(String, String)]) -> String {
    let mut text = String::new();
    let mut rest = declared;
    while let Some((of, _)) = rest.first() {
        let end = rest.iter().position(|(other, _)| other != of).unwrap_or(rest.len());
        let names: Vec<_> = rest[..end].iter().map(|(_, name)| name.as_str()).collect();
        text += &statement(indent, &format!("{of} :: {}", names.join(", ")));
        rest = &rest[end..];
    }
    text
}

/// A procedure of an interface block: `suffix` follows the list of arguments, `declared` has the
/// declarations of its arguments, `directives` their compiler directives.
pub fn body(
    routine: &Routine, name: &str, suffix: &str, language: Language, declared: &[(String, String)],
) -> String {
    let names: Vec<_> =
        arguments(routine, language).iter().map(|argument| argument.name.as_str()).collect();
    let what = if routine.result.is_some() { "function" } else { "subroutine" };
    let head = statement(4, &format!("{what} {name}({}){suffix}", names.join(", ")));
    format!("{head}      import\n{}    end {what}\n", declarations(6, declared))
}
