//! `mpifort`: see [`mpi_abi::launch::wrapper`].

use std::env;
use std::process;

use mpi_abi::launch::wrapper::{self, SourceLanguage};

fn main() {
    process::exit(wrapper::main(SourceLanguage::Fortran, env::args_os().skip(1)));
}
