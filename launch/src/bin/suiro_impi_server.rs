//! `suiro-impi-server`: see [`launch::impi_server`].

use std::env;
use std::process;

use launch::impi_server;

fn main() {
    process::exit(impi_server::main(env::args_os()));
}
