//! `mpirun` and `mpiexec`: see [`launch`].

mod debugger;

use std::env;
use std::process;

fn main() {
    process::exit(launch::main(env::args_os().skip(1), &mut debugger::Mpir::default()));
}
