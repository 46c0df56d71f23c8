//! `mpicc`: see [`launch::wrapper`].

use std::env;
use std::process;

use launch::wrapper;
use launch::wrapper::CompilerWrapper;

fn main() {
    process::exit(wrapper::main(CompilerWrapper::Mpicc, env::args_os().skip(1)));
}
