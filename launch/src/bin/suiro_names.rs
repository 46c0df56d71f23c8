//! `suiro-names`: see [`launch::name_server`].

use std::env;
use std::process;

use launch::name_server;

fn main() {
    process::exit(name_server::main(env::args_os()));
}
