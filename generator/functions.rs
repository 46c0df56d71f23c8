//! Table of the functions of MPI 5.0: `functions.tsv` as values.
//!
//! Each line has one function. Columns in use: `name`, `mpi5_chapter`, `c_prototype`, and `body`,
//! the origin of `PMPI_x`:
//!
//! | `body` | |
//! |---|---|
//! | `hand` | a file of `src/abi` |
//! | `int` | generated: widens its arguments and calls the hand-written `_c` form |
//! | `-` | none: the function is not in the standard ABI |
//!
//! This module does not depend on the generated text. A new hand-written function has `hand` in its
//! line, and `int` in the line of its `int` form; a line without a body does not compile.

#![allow(dead_code, reason = "each includer takes what it needs")]

const TABLE: &str = include_str!("functions.tsv");

/// A line of the table.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// Name in the standard, such as `MPI_Send`.
    pub name: &'static str,
    /// Chapter of the standard.
    pub chapter: u32,
    /// Declaration in C, without a semicolon.
    pub prototype: &'static str,
    /// Origin of the body.
    pub body: Body,
}

/// Origin of the body of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// A file of `src/abi`.
    Hand,
    /// Generated: widens the arguments and calls the `_c` form.
    IntForm,
    /// None: the function is not in the standard ABI.
    Absent,
}

impl Function {
    /// Whether the function is in the standard ABI.
    pub fn is_exported(&self) -> bool {
        self.body != Body::Absent
    }

    /// Whether the library implements the function.
    pub fn is_supported(&self) -> bool {
        matches!(self.body, Body::Hand | Body::IntForm)
    }
}

/// All functions of the table, in its order.
///
/// # Panics
/// If the table does not have the format above.
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
        _ => panic!("{name}: `{text}` is no place of a body"),
    }
}
