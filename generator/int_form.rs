//! `PMPI_x` with `int` counts that only widens its arguments for `PMPI_x_c`.
//!
//! The types of an argument in both forms select its conversion. Forms with other arguments, such
//! as arrays of counts, are written by hand.
//!
//! | `int` form | `_c` form | |
//! |---|---|---|
//! | the same | | unchanged |
//! | `c_int` | `MPI_Count` | `.into()` |
//! | `c_int` | `MPI_Aint` | `as`, widening |
//! | `MPI_Aint` | `MPI_Count` | `as`, widening or no change |
//! | `*mut MPI_Aint` | `*mut MPI_Count` | a cast: equal widths (`src/abi/arguments/width.rs`) |
//! | `*mut c_int` | `*mut MPI_Count` | a temporary of the other width, by `width::narrowed` |
//!
//! A function has at most one narrowed argument.

use super::functions::{Body, Function};
use super::layout;
use super::prototype::Prototype;

/// Narrowed arguments that are read before they are written; C types do not show it.
const IN_PLACE: &str = "position";

/// Conversion of an argument.
enum Passing {
    /// Expression for the `_c` form.
    Value(String),
    /// Name of a pointer to a variable of the other width.
    Narrowed(String),
}

/// All `int` forms.
///
/// # Panics
/// If a function has no hand-written `_c` form, or an argument without a conversion.
pub fn render(functions: &[Function]) -> String {
    functions
        .iter()
        .filter(|function| function.body == Body::IntForm)
        .map(|function| {
            let large_name = format!("{}_c", function.name);
            let large = functions.iter().find(|large| large.name == large_name);
            let large = large.filter(|large| large.body == Body::Hand);
            one(function, large.unwrap_or_else(|| panic!("{large_name} is not there by hand")))
        })
        .collect::<Vec<_>>()
        .join("\n")
}

fn one(function: &Function, large: &Function) -> String {
    let prototype = Prototype::parse(function.prototype);
    let large_prototype = Prototype::parse(large.prototype);
    assert_eq!(
        prototype.arguments.len(),
        large_prototype.arguments.len(),
        "{} has other arguments than its large form: it is to be written by hand",
        function.name
    );
    let passings: Vec<_> = prototype
        .arguments
        .iter()
        .zip(&large_prototype.arguments)
        .map(|((name, int), (_, large))| passing(function.name, name, int, large))
        .collect();
    let values: Vec<_> = passings
        .iter()
        .map(|passing| match passing {
            Passing::Value(value) | Passing::Narrowed(value) => value.clone(),
        })
        .collect();
    let narrowed: Vec<_> = passings
        .iter()
        .filter_map(|passing| match passing {
            Passing::Narrowed(name) => Some(name),
            Passing::Value(_) => None,
        })
        .collect();
    let target = format!("P{}", large.name);
    let call = |level| layout::call(&target, &values, level);
    let block = match narrowed[..] {
        [] => layout::unsafe_block(call),
        [name] => {
            let by = if name == IN_PLACE { "narrowed_in_place" } else { "narrowed" };
            layout::unsafe_block(|level| layout::call_with_closure(by, name, call, level))
        }
        _ => panic!("{}: more than one result is narrowed", function.name),
    };
    let body = format!("    // SAFETY: the same contract.\n{block}");
    layout::function(function.name, &prototype, &format!("[`{target}`] with `int` counts."), &body)
}

fn passing(function: &str, name: &str, int: &str, large: &str) -> Passing {
    let value = match (int, large) {
        (int, large) if int == large => name.to_owned(),
        ("c_int", "MPI_Count") => format!("{name}.into()"),
        ("c_int", "MPI_Aint") => format!("{name} as MPI_Aint"),
        ("MPI_Aint", "MPI_Count") => format!("{name} as MPI_Count"),
        ("*mut MPI_Aint", "*mut MPI_Count") => format!("{name}.cast()"),
        ("*mut c_int", "*mut MPI_Count") => return Passing::Narrowed(name.to_owned()),
        _ => panic!("{function}: no rule makes `{large}` of `{name}: {int}`; write it by hand"),
    };
    Passing::Value(value)
}
