//! The functions of MPI 5.0: `functions.tsv` as values.
//!
//! One function a line. The columns that are read: `name`, `mpi5_chapter`, `c_prototype`, and
//! `body`, which says where `PMPI_x` comes from:
//!
//! | `body` | |
//! |---|---|
//! | `hand` | a file of `src/abi` |
//! | `int` | generated: widens its arguments and calls the `_c` form, which is there by hand |
//! | `unsupported:win` | generated: reports an error to the handler of the argument `win` |
//! | `unsupported:MPI_FILE_NULL` | the same, to the handler of files to be opened |
//! | `unsupported:none` | the same, to the handler that is for no object |
//! | `unsupported:tool` | the same, to none: the tool interface only returns its code |
//! | `-` | nowhere: the standard ABI does not have this function |
//!
//! What is rendered from them is not known here. Who implements a function writes its body and says
//! `hand` here, and `int` in the line of its `int` form; a line without a body does not compile.

#![allow(dead_code, reason = "each includer takes what it needs")]

const TABLE: &str = include_str!("functions.tsv");

/// A line of the table.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// As the standard writes it: `MPI_Send`.
    pub name: &'static str,
    /// The chapter of the standard that defines it.
    pub chapter: u32,
    /// Its declaration in C, without a semicolon.
    pub prototype: &'static str,
    /// Where its body is.
    pub body: Body,
}

/// Where the body of a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// In a file of `src/abi`.
    Hand,
    /// It widens its arguments and calls the `_c` form.
    IntForm,
    /// It reports that the function is not supported.
    Unsupported(ErrorScope),
    /// The standard ABI does not have the function.
    Absent,
}

/// Which error handler a function that is not supported calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorScope {
    /// That of the object which this argument is a handle of.
    Argument(&'static str),
    /// That of files to be opened.
    NewFile,
    /// That for no object.
    None,
    /// None at all.
    Tool,
}

impl Function {
    /// Whether the standard ABI has it.
    pub fn is_exported(&self) -> bool {
        self.body != Body::Absent
    }

    /// Whether it does what the standard says.
    pub fn is_supported(&self) -> bool {
        matches!(self.body, Body::Hand | Body::IntForm)
    }
}

/// All functions of the table, in its order.
///
/// # Panics
/// If the table does not have the form that is described above.
pub fn functions() -> Vec<Function> {
    let mut lines = TABLE.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let head = lines.next().expect("a head");
    let column = |name: &str| head.iter().position(|field| *field == name).expect("a column");
    let (name, chapter) = (column("name"), column("mpi5_chapter"));
    let (prototype, body) = (column("c_prototype"), column("body"));
    lines
        .map(|fields| Function {
            name: fields[name],
            chapter: fields[chapter].parse().expect("the number of a chapter"),
            prototype: fields[prototype],
            body: body_of(fields[name], fields[body]),
        })
        .collect()
}

fn body_of(name: &str, text: &'static str) -> Body {
    match text {
        "hand" => Body::Hand,
        "int" => Body::IntForm,
        "-" => Body::Absent,
        _ => match text.strip_prefix("unsupported:") {
            Some("MPI_FILE_NULL") => Body::Unsupported(ErrorScope::NewFile),
            Some("none") => Body::Unsupported(ErrorScope::None),
            Some("tool") => Body::Unsupported(ErrorScope::Tool),
            Some(argument) => Body::Unsupported(ErrorScope::Argument(argument)),
            None => panic!("{name}: `{text}` is no place of a body"),
        },
    }
}
