//! `suiro-sim offload draw`: the levels of counters while an operation runs.

use clap::{Arg, ArgMatches, Command, value_parser};
use mpi_abi::offload::compile::link_all;
use sim::draw;
use sim::offload::levels;
use sim::offload::levels::Times;

use super::{checked, collective, scheme, scheme_argument, with_collective};

pub(super) fn command() -> Command {
    let command = Command::new("draw").about("Draws the levels of counters during a run.");
    with_collective(command, 256)
        .arg(
            Arg::new("rank")
                .long("rank")
                .value_name("R")
                .value_delimiter(',')
                .default_value("0")
                .value_parser(value_parser!(u32))
                .help("ranks whose counters are drawn"),
        )
        .arg(scheme_argument())
        .arg(
            Arg::new("instances")
                .long("instances")
                .value_name("N")
                .default_value("2")
                .value_parser(value_parser!(u64).range(1..=100))
                .help("number of starts of the operation"),
        )
        .arg(
            Arg::new("seed")
                .long("seed")
                .value_name("N")
                .default_value("1")
                .value_parser(value_parser!(u64))
                .help("seed of the random start times and message delays"),
        )
        .arg(
            Arg::new("svg")
                .long("svg")
                .value_name("FILE")
                .required(true)
                .help("file for the picture"),
        )
}

pub(super) fn run(matches: &ArgMatches) -> Result<String, String> {
    let collective = collective(matches)?;
    let scheme = scheme(matches);
    let ranks = matches.get_many::<u32>("rank").into_iter().flatten();
    let ranks: Vec<u32> =
        ranks.map(|&rank| checked(rank, &collective)).collect::<Result<_, _>>()?;
    let number = |name, default| matches.get_one::<u64>(name).copied().unwrap_or(default);
    let (seed, ordered) = (number("seed", 1), collective.ordered);
    let times = Times { seed, ordered, ..Times::default() };
    let rules = collective.rules(scheme);
    collective.with_schedules(|algorithm, schedule| {
        let schedules: Vec<_> = (0..collective.ranks).map(schedule).collect();
        let programs = link_all(&schedules, &rules)?;
        let run = levels::run(&programs, number("instances", 2), times)?;
        let name = collective.operation.name().to_lowercase();
        let scheme = format!("{scheme:?}").to_lowercase();
        let title = format!("{name} by {algorithm}, {} ranks, scheme {scheme}", collective.ranks);
        let summary = "Levels of counters over time, and the work that each threshold triggers.";
        crate::write_file(matches, "svg", || {
            draw::levels::file(&title, summary, &programs, &run, &ranks)
        })?;
        let last = run.ends.iter().flatten().max().copied().unwrap_or(0);
        Ok(format!("completed after {:.1} us\n", last as f64 / 1e3))
    })
}
