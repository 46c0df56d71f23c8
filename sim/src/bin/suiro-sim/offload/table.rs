//! `suiro-sim offload table`: the deferred work of one rank.

use clap::{Arg, ArgMatches, Command, value_parser};
use mpi_abi::mpi::collective::selection::registry::CollectiveOperation;
use sim::offload::table::table;

use super::{checked, offloaded, scheme, scheme_argument, with_collective};

pub(super) fn command() -> Command {
    let command = Command::new("table").about("Prints the deferred work of a rank.");
    with_collective(command, 1 << 20)
        .arg(
            Arg::new("rank")
                .long("rank")
                .value_name("R")
                .default_value("0")
                .value_parser(value_parser!(u32))
                .help("the rank whose work is printed"),
        )
        .arg(scheme_argument())
}

pub(super) fn run(matches: &ArgMatches) -> Result<String, String> {
    let offloaded = offloaded(matches, scheme(matches))?;
    let rank = matches.get_one::<u32>("rank").copied().unwrap_or(0);
    let rank = checked(rank, &offloaded.call)?;
    let has_data = offloaded.call.operation != CollectiveOperation::Barrier;
    Ok(table(&offloaded.program(rank)?, rank, has_data))
}
