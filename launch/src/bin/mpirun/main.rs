//! `mpirun`, `mpiexec`, `acprun` and `macprun`, by its name: see [`launch`].

mod debugger;

use std::env;
use std::process;

fn main() {
    process::exit(launch::main(env::args_os(), &mut debugger::Mpir::default()));
}
