//! Code generated from the table of functions, `functions.tsv`: bodies without logic of their own,
//! and the profiling interface. `build.rs` includes this module; tests and `fortran/generator` use
//! the table and the prototypes. `linkage.rs` is for build scripts of other packages.
//!
//! ```text
//!  MPI_x ──jmp──> PMPI_x ──widen──> PMPI_x_c
//!   profile.rs     int_form.rs       src/abi, by hand
//! ```
//!
//! The result is plain Rust in the layout of rustfmt, in the order of the table; a debugger can
//! step through it in `target/*/build/suiro-*/out`. Modules of `src/abi` with the same names
//! include it and import the names that it uses.

pub mod functions;
pub mod int_form;
pub mod layout;
pub mod profile;
pub mod prototype;

use functions::Function;

/// Name and text of each file.
pub fn files(functions: &[Function]) -> [(&'static str, String); 2] {
    let files =
        [("int_form.rs", int_form::render(functions)), ("profile.rs", profile::render(functions))];
    files.map(|(name, text)| {
        (name, format!("// Made from generator/functions.tsv by generator/{name}.\n\n{text}"))
    })
}
