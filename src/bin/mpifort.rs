//! `mpifort`: see [`mpi_abi::launch::wrapper`].

use std::env;
use std::process;

use mpi_abi::launch::wrapper::{self, Language};

fn main() {
    process::exit(wrapper::main(Language::Fortran, env::args_os().skip(1)));
}
