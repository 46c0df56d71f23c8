//! `PMPI_x` of functions that the library does not support yet: each raises an error with its name
//! on the error handler of the table.

use super::functions::{Body, ErrorScope, Function};
use super::layout;
use super::prototype::Prototype;

/// All unsupported functions.
///
/// # Panics
/// If a function has no argument with the name in the table.
pub fn render(functions: &[Function]) -> String {
    let rendered = functions.iter().filter_map(|function| match function.body {
        Body::Unsupported(scope) => Some(one(function, scope)),
        Body::Hand | Body::IntForm | Body::Absent => None,
    });
    rendered.collect::<Vec<_>>().join("\n")
}

fn one(function: &Function, scope: ErrorScope) -> String {
    let prototype = Prototype::parse(function.prototype);
    let scope = match scope {
        ErrorScope::Argument(argument) => {
            let is_there = prototype.arguments.iter().any(|(name, _)| name == argument);
            assert!(is_there, "{} has no argument {argument}", function.name);
            argument
        }
        ErrorScope::NewFile => "MPI_FILE_NULL",
        ErrorScope::None => "Scope::None",
    };
    let documentation = format!("Not supported yet (MPI 5.0, chapter {}).", function.chapter);
    let body = format!("    unsupported(\"{}\", {scope})\n", function.name);
    layout::function(function.name, &prototype, &documentation, &body)
}
