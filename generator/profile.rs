//! The profiling interface: each function as a pair of names, for the macro in `abi/profile.rs`.

use super::functions::Function;

/// The list as text.
pub fn render(functions: &[Function]) -> String {
    let exported = functions.iter().filter(|function| function.is_exported());
    let pairs: String =
        exported.map(|function| format!("    {0} => P{0};\n", function.name)).collect();
    format!("profile! {{\n{pairs}}}\n")
}
