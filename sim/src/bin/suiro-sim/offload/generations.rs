//! `suiro-sim offload generations`: the programs that the interfaces of each generation can hold.

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use sim::offload::generations;

/// Ranks of the table.
const RANKS_MAX: i64 = 64;

pub(super) fn command() -> Command {
    let about = "Lists the algorithms that the interfaces of each generation run.";
    let long = "Lists the algorithms that idle interfaces of each generation run, with the numbers of \
    ranks, and the counters of both tanks that a rank needs at most. Software of the interface runs the \
    others; numbers in brackets name the reason.";
    Command::new("generations")
        .about(about)
        .long_about(long)
        .arg(
            Arg::new("ranks")
                .long("ranks")
                .value_name("P")
                .default_value("16")
                .value_parser(value_parser!(u32).range(2..=RANKS_MAX))
                .help("the largest number of ranks"),
        )
        .arg(
            Arg::new("bytes")
                .long("bytes")
                .value_name("B")
                .default_value("1024")
                .value_parser(value_parser!(u64).range(1..=1 << 30))
                .help("length of the message, block or operand"),
        )
        .arg(
            Arg::new("all")
                .long("all")
                .action(ArgAction::SetTrue)
                .help("also algorithms that all generations run on all numbers of ranks"),
        )
}

pub(super) fn run(matches: &ArgMatches) -> Result<String, String> {
    let ranks = matches.get_one::<u32>("ranks").copied().unwrap_or(16);
    let bytes = matches.get_one::<u64>("bytes").copied().unwrap_or(1024);
    let bytes = usize::try_from(bytes).map_err(|_| format!("{bytes} bytes are too many"))?;
    Ok(generations::text(&generations::rows(&(2..=ranks), bytes), matches.get_flag("all")))
}
