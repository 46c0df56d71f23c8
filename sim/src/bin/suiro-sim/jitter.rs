//! `suiro-sim jitter`: the allreduce with redundant exchanges under noise.

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use mpi_abi::mpi::collective::algorithms::allreduce::extra_rounds::EXTRA_ROUNDS_MAX;
use sim::jitter::figure;
use sim::jitter::search::search;
use sim::jitter::{BITS_MAX, BitOrder, ExtraBits, JitterCase, JitterModel, rows};
use sim::noise::NoiseKind;

use crate::coll::{noise, threads, with_interruptions, with_output};
use crate::numbers::{NumberList, list_in, number_in, powers};

const LONG: &str = "\
Computes the mean time over the ranks of an allreduce by butterfly exchanges, with M redundant exchanges
in the middle and L at the end, in which a rank goes on with the copy that it has first. Without options
it is figure 3 of Matsumoto and Suda: the butterfly alone, and 0, 1 and 2 middle exchanges with 20 final
ones. --search looks for the best bits for each number of exchanges up to --middle and --final.";

/// The most extra exchanges of a kind.
const EXTRAS_MAX: u64 = EXTRA_ROUNDS_MAX as u64;

pub(crate) fn command() -> Command {
    let list = |name: &'static str, value: &'static str, max: u64, help: &'static str| {
        Arg::new(name).long(name).value_name(value).value_parser(list_in(0..=max)).help(help)
    };
    let command = Command::new("jitter")
        .about("Computes how redundant exchanges of an allreduce hide noise.")
        .long_about(LONG)
        .arg(
            Arg::new("ranks")
                .long("ranks")
                .value_name("LIST")
                .value_parser(|text: &str| powers(text, 1..=u64::from(BITS_MAX)))
                .help("powers of two, such as 2^4..2^20 or 16,65536  [default: 2^4..2^20; 2^16 with --search]"),
        )
        .arg(list("middle", "M", EXTRAS_MAX, "numbers of middle exchanges  [default: 0..2; 0..3 with --search]"))
        .arg(list("final", "L", EXTRAS_MAX, "numbers of final exchanges  [default: 20]"))
        .arg(
            Arg::new("order")
                .long("order")
                .value_name("ORDER")
                .default_value("ascending")
                .value_parser(BitOrder::NAMES.map(|(name, _)| name))
                .help("of the bits of extra exchanges: from 0, or from the latest down"),
        )
        .arg(list("middle-bits", "LIST", 31, "these bits, one for each middle exchange"))
        .arg(list("final-bits", "LIST", 31, "these bits, one for each final exchange"))
        .arg(
            Arg::new("bytes")
                .long("bytes")
                .value_name("B")
                .default_value("256")
                .value_parser(number_in(0..=1 << 30))
                .help("length of the operand"),
        )
        .arg(
            Arg::new("runs")
                .long("runs")
                .value_name("R")
                .value_parser(value_parser!(u32).range(1..=10_000))
                .help("number of runs with seeds of their own  [default: 64 of few ranks, 4 of 2^20; 16 with --search]"),
        )
        .arg(
            Arg::new("search")
                .long("search")
                .action(ArgAction::SetTrue)
                .help("look for the best numbers and bits"),
        );
    with_output(with_interruptions(command))
        .arg(Arg::new("svg").long("svg").value_name("FILE").help("draw the mean times"))
}

fn list(matches: &ArgMatches, name: &str) -> Option<Vec<u32>> {
    let given = matches.get_one::<NumberList>(name)?;
    Some(given.0.iter().map(|number| *number as u32).collect())
}

fn model(matches: &ArgMatches) -> Result<JitterModel, String> {
    let usual = JitterModel::paper();
    Ok(JitterModel {
        noise: noise(matches, NoiseKind::Periodic)?,
        bytes: matches.get_one("bytes").copied().unwrap_or(usual.bytes),
        runs: matches.get_one("runs").copied(),
        seed: matches.get_one("seed").copied().unwrap_or(usual.seed),
        ..usual
    })
}

pub(crate) fn run(matches: &ArgMatches) -> Result<String, String> {
    match matches.get_flag("search") {
        true => run_search(matches),
        false => run_cases(matches),
    }
}

fn run_cases(matches: &ArgMatches) -> Result<String, String> {
    let model = model(matches)?;
    let cases = cases(matches)?;
    let bar = crate::bar(cases.iter().map(|case| u64::from(model.runs(case.bits))).sum());
    let rows = rows(&cases, &model, threads(matches), &|| bar.inc(1));
    bar.finish_and_clear();
    let rows = rows?;
    crate::write_file(matches, "svg", || figure::chart(&rows).file())?;
    Ok(if matches.get_flag("csv") { figure::csv(&rows) } else { figure::table(&rows) })
}

/// The lines of the result, in order.
fn cases(matches: &ArgMatches) -> Result<Vec<JitterCase>, String> {
    let ranks = list(matches, "ranks").unwrap_or_else(|| (4..=BITS_MAX).collect());
    let (middle, last) = (list(matches, "middle"), list(matches, "final"));
    let (middle_bits, last_bits) = (list(matches, "middle-bits"), list(matches, "final-bits"));
    for (number, bits) in [("middle", "middle-bits"), ("final", "final-bits")] {
        if matches.contains_id(number) && matches.contains_id(bits) {
            return Err(format!("--{number} and --{bits} exclude each other"));
        }
    }
    // The butterfly alone is the first line of the figure.
    let all_given = [&middle, &last, &middle_bits, &last_bits];
    let butterfly = all_given.iter().all(|given| given.is_none()).then_some((0, 0));
    let order = matches.get_one::<String>("order").and_then(|name| BitOrder::from_name(name));
    let order = order.unwrap_or_default();
    let middles =
        middle.unwrap_or_else(|| if middle_bits.is_some() { vec![0] } else { vec![0, 1, 2] });
    let lasts = last.unwrap_or_else(|| if last_bits.is_some() { vec![0] } else { vec![20] });
    let mut cases = Vec::new();
    for bits in ranks {
        let pairs =
            middles.iter().flat_map(|middle| lasts.iter().map(move |last| (*middle, *last)));
        for (middle, last) in butterfly.into_iter().chain(pairs) {
            let usual = order.bits(bits, middle, last);
            let extras = ExtraBits {
                middle: middle_bits.clone().unwrap_or(usual.middle),
                last: last_bits.clone().unwrap_or(usual.last),
            };
            cases.push(JitterCase { bits, extras });
        }
    }
    Ok(cases)
}

fn run_search(matches: &ArgMatches) -> Result<String, String> {
    if let Some(name) =
        ["middle-bits", "final-bits"].into_iter().find(|name| matches.contains_id(name))
    {
        return Err(format!("--search and --{name} exclude each other"));
    }
    let model = model(matches)?;
    let model = JitterModel { runs: model.runs.or(Some(16)), ..model };
    let most =
        |name, usual| list(matches, name).and_then(|list| list.into_iter().max()).unwrap_or(usual);
    let (middle, last) = (most("middle", 3), most("final", 20));
    let ranks = list(matches, "ranks").unwrap_or_else(|| vec![16]);
    let bits = match ranks[..] {
        [bits] => bits,
        _ => return Err(format!("--search with {} numbers of ranks: expected one", ranks.len())),
    };
    let bar = crate::bar(100);
    let found = search(bits, middle, last, &model, threads(matches), &|done| {
        bar.set_position((done * 100.0) as u64);
    });
    bar.finish_and_clear();
    crate::write_file(matches, "svg", || figure::search_chart(&found).file())?;
    Ok(match matches.get_flag("csv") {
        true => figure::search_csv(&found),
        false => figure::search_text(&found),
    })
}
