//! `mpicxx`: see [`launch::wrapper`].

use std::env;
use std::process;

use launch::wrapper;
use launch::wrapper::SourceLanguage;

fn main() {
    process::exit(wrapper::main(SourceLanguage::Cxx, env::args_os().skip(1)));
}
