//! What is made from the table of functions, `functions.tsv`: bodies that have no thought of their
//! own, and the profiling interface. `build.rs` includes this; tests and `fortran/generator` take
//! the table and the prototypes.
//!
//! ```text
//!  MPI_x ──jmp──> PMPI_x ──widen──> PMPI_x_c
//!   profile.rs     int_form.rs       src/abi, by hand
//!                  unsupported.rs
//! ```
//!
//! The result is plain Rust in the layout of rustfmt, one function after the other in the order of
//! the table: a debugger steps through it in `target/*/build/suiro-*/out`. The modules of `src/abi`
//! with the same names include it, and bring the names that it uses.

pub mod functions;
pub mod int_form;
pub mod layout;
pub mod profile;
pub mod prototype;
pub mod unsupported;

use functions::Function;

/// The name and the text of each file.
pub fn files(functions: &[Function]) -> [(&'static str, String); 3] {
    let files = [
        ("int_form.rs", int_form::render(functions)),
        ("profile.rs", profile::render(functions)),
        ("unsupported.rs", unsupported::render(functions)),
    ];
    files.map(|(name, text)| {
        (name, format!("// Made from generator/functions.tsv by generator/{name}.\n\n{text}"))
    })
}
