//! `suiro-sim offload`: collective operations as deferred work of an interface.

mod draw;
mod generations;
mod resources;
mod table;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use mpi_abi::mpi::collective::selection::registry::CollectiveOperation;
use mpi_abi::offload::Scheme;
use sim::collective::CollectiveCall;
use sim::offload::{OffloadedCall, published_algorithm};

pub(crate) fn command() -> Command {
    Command::new("offload")
        .about("Shows a collective operation as deferred work of an interface.")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(table::command())
        .subcommand(resources::command())
        .subcommand(draw::command())
        .subcommand(generations::command())
}

pub(crate) fn run(matches: &ArgMatches) -> Result<String, String> {
    match matches.subcommand() {
        Some(("table", matches)) => table::run(matches),
        Some(("resources", matches)) => resources::run(matches),
        Some(("draw", matches)) => draw::run(matches),
        Some(("generations", matches)) => generations::run(matches),
        _ => Err("no subcommand".to_owned()),
    }
}

/// Adds the arguments of a collective operation of at most `ranks_max` ranks.
fn with_collective(command: Command, ranks_max: i64) -> Command {
    command
        .arg(
            Arg::new("collective")
                .value_name("COLLECTIVE")
                .required(true)
                .value_parser(operation)
                .help(names().join(", ")),
        )
        .arg(
            Arg::new("ranks")
                .long("ranks")
                .value_name("P")
                .required(true)
                .value_parser(value_parser!(u32).range(1..=ranks_max))
                .help("number of ranks"),
        )
        .arg(
            Arg::new("algorithm")
                .long("algorithm")
                .value_name("NAME")
                .help("an algorithm that suiro-info --coll lists  [default: one that was published for offloading]"),
        )
        .arg(
            Arg::new("bytes")
                .long("bytes")
                .value_name("B")
                .default_value("1024")
                .value_parser(value_parser!(u64).range(0..=1 << 40))
                .help("length of the message, block or operand"),
        )
        .arg(
            Arg::new("root")
                .long("root")
                .value_name("RANK")
                .default_value("0")
                .value_parser(value_parser!(u32))
                .help("the root, if the operation has one"),
        )
        .arg(
            Arg::new("unordered")
                .long("unordered")
                .action(ArgAction::SetTrue)
                .help("messages between two ranks may arrive out of order"),
        )
        .arg(
            Arg::new("copy")
                .long("copy")
                .action(ArgAction::SetTrue)
                .help("a rank's own block is not yet in the receive buffer"),
        )
}

fn offloaded(matches: &ArgMatches, scheme: Scheme) -> Result<OffloadedCall, String> {
    let operation = matches.get_one("collective").copied().unwrap_or(CollectiveOperation::Barrier);
    let number = |name| matches.get_one::<u32>(name).copied().unwrap_or(0);
    let bytes = matches.get_one::<u64>("bytes").copied().unwrap_or(0);
    let bytes = usize::try_from(bytes).map_err(|_| format!("{bytes} bytes are too many"))?;
    let algorithm = matches.get_one::<String>("algorithm").cloned();
    let call = CollectiveCall {
        algorithm: algorithm.or_else(|| Some(published_algorithm(operation).to_owned())),
        root: number("root"),
        in_place: !matches.get_flag("copy"),
        ..CollectiveCall::new(operation, number("ranks"), bytes)
    };
    Ok(OffloadedCall::published(call, scheme, !matches.get_flag("unordered")))
}

pub(crate) fn names() -> Vec<String> {
    CollectiveOperation::ALL.map(|operation| operation.name().to_lowercase()).into()
}

/// A parser for the name of an operation.
pub(crate) fn operation(name: &str) -> Result<CollectiveOperation, String> {
    let known = CollectiveOperation::from_name(name);
    known.ok_or_else(|| format!("expected one of {}", names().join(", ")))
}

fn scheme_argument() -> Arg {
    Arg::new("scheme")
        .long("scheme")
        .value_name("NAME")
        .default_value("tank")
        .value_parser(Scheme::ALL.map(Scheme::name))
        .help("tank1 is the single tank as published, prematched has three counters for a message")
}

fn scheme(matches: &ArgMatches) -> Scheme {
    scheme_of(matches, "scheme").unwrap_or_default()
}

/// The scheme of an argument.
pub(crate) fn scheme_of(matches: &ArgMatches, argument: &str) -> Option<Scheme> {
    Scheme::from_name(matches.get_one::<String>(argument)?)
}

/// Checks that the rank is one of the operation.
fn checked(rank: u32, call: &CollectiveCall) -> Result<u32, String> {
    let ranks = call.ranks;
    if rank < ranks {
        Ok(rank)
    } else {
        Err(format!("--rank {rank}: expected a rank below {ranks}"))
    }
}
