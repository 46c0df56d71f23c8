//! `suiro-sim offload draw`: the levels of counters while an operation runs.

use clap::{Arg, ArgMatches, Command, value_parser};
use sim::draw;
use sim::executor::StepCosts;
use sim::executor::event_driven::{self, InterfaceSetting};
use sim::network::LoggpRates;
use sim::noise::{Noise, NoiseKind};
use sim::offload::UNLIMITED;

use super::{checked, offloaded, scheme, scheme_argument, with_collective};

/// Ranks start and go on at times of their own: an interruption of 3 us in each 10 us.
const NOISE_PS: (u64, u64) = (10_000_000, 3_000_000);

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
                .value_parser(value_parser!(u32).range(1..=100))
                .help("number of starts of the operation"),
        )
        .arg(
            Arg::new("seed")
                .long("seed")
                .value_name("N")
                .default_value("1")
                .value_parser(value_parser!(u64))
                .help("seed of the interruptions of ranks"),
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
    let offloaded = offloaded(matches, scheme(matches))?;
    let call = &offloaded.call;
    let ranks = matches.get_many::<u32>("rank").into_iter().flatten();
    let ranks: Vec<u32> = ranks.map(|&rank| checked(rank, call)).collect::<Result<_, _>>()?;
    let seed = matches.get_one("seed").copied().unwrap_or(1);
    let noise = Noise::new(NoiseKind::Random, NOISE_PS.0, NOISE_PS.1, seed)?;
    let costs = StepCosts { network: LoggpRates::LOGGP, noise };
    let instances = matches.get_one("instances").copied().unwrap_or(2);
    let setting = InterfaceSetting { limits: UNLIMITED, post_ps: 0, instances, traces: true };
    let programs = offloaded.all_programs()?;
    let (run, times) = event_driven::run_programs(&programs, &costs, None, &setting, &|_| {})?;
    let name = call.operation.name().to_lowercase();
    let algorithm = call.algorithm.as_deref().unwrap_or_default();
    let scheme = offloaded.rules.scheme.name();
    let title = format!("{name} by {algorithm}, {} ranks, scheme {scheme}", call.ranks);
    let summary = "Levels of counters over time, and the work that each threshold triggers.";
    crate::write_file(matches, "svg", || {
        draw::levels::file(&title, summary, &programs, &times, &ranks)
    })?;
    let last_ps = run.times.ends_ps.iter().max().copied().unwrap_or(0);
    Ok(format!("completed after {:.1} us\n", last_ps as f64 / 1e6))
}
