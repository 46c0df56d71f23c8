//! `mpirun` and `mpiexec`: see [`mpi_abi::launch`].

mod debugger;

use std::env;
use std::process;

fn main() {
    process::exit(mpi_abi::launch::main(env::args_os().skip(1), &mut debugger::Mpir::default()));
}
