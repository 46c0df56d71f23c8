//! `suiro-sim rsched`: the engine of each put, and the time of the exchange.

use clap::{Arg, ArgMatches, Command, value_parser};
use mpi_abi::devices::torus::TorusShape;
use mpi_abi::offload::packing::{InterfaceModel, PackingPolicy};
use sim::halo::{HaloPattern, PAPER};
use sim::rsched::PackingComparison;

const LONG: &str = "\
The puts of a halo exchange (SCALE-LES3 on a periodic grid of processes) are given to the engines of
the interface by each policy: in turn (rr1, rr2, rr4), packed Bottom-Left with at most so many
diagonal ones at once (bl1, bl2, bl4), the same with the time of access to each engine as its initial
load (access), and the best that a search finds (best). Prints the time of an exchange by each; in
parentheses what was measured on the K computer, where that is published.";

pub(crate) fn command() -> Command {
    let file = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name("FILE").help(help)
    };
    let number = |name: &'static str, unit: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(unit).value_parser(positive).help(help)
    };
    Command::new("rsched")
        .about("Packs the puts of a halo exchange on the engines of an interface.")
        .long_about(LONG)
        .arg(
            Arg::new("pattern")
                .long("pattern")
                .value_name("NAME")
                .value_delimiter(',')
                .value_parser(HaloPattern::ALL.map(HaloPattern::name))
                .help("the neighbours; pictures show the last  [default: each pattern]"),
        )
        .arg(
            Arg::new("policy")
                .long("policy")
                .value_name("NAME")
                .value_delimiter(',')
                .value_parser(policy)
                .help("rr1, rr2, rr4, bl1, bl2, bl4, access, best  [default: all]"),
        )
        .arg(
            Arg::new("grid")
                .long("grid")
                .value_name("K")
                .default_value("872")
                .value_parser(value_parser!(u64).range(1..=1 << 20))
                .help("vertical size of the grid; horizontally 16 × 16"),
        )
        .arg(
            Arg::new("torus")
                .long("torus")
                .value_name("XxYxZ")
                .default_value(PAPER)
                .value_parser(torus)
                .help("the nodes, one process on each; exchanges are along X and Y"),
        )
        .arg(
            Arg::new("engines")
                .long("engines")
                .value_name("N")
                .value_parser(value_parser!(u8).range(1..=16))
                .help("engines of an interface  [default: 4]"),
        )
        .arg(number("put-rate", "GB/s", "rate of one put  [default: 4.0]"))
        .arg(number("link-rate", "GB/s", "rate of a link  [default: 4.875]"))
        .arg(number("rank-rate", "GB/s", "rate of a sending process  [default: 13.2]"))
        .arg(number("access", "us", "time to write the commands of one engine  [default: 1.0]"))
        .arg(number("gap", "us", "time between two puts of an engine  [default: 0.3]"))
        .arg(file("svg", "draw the packings"))
        .arg(file("chart", "draw the times for the eleven published sizes of the grid"))
}

pub(crate) fn run(matches: &ArgMatches) -> Result<String, String> {
    let patterns = matches.get_many::<String>("pattern").into_iter().flatten();
    let mut patterns: Vec<HaloPattern> =
        patterns.filter_map(|name| HaloPattern::from_name(name)).collect();
    if patterns.is_empty() {
        patterns = HaloPattern::ALL.into();
    }
    let policies = matches.get_many::<PackingPolicy>("policy");
    let comparison = PackingComparison {
        patterns,
        policies: policies
            .map_or(PackingPolicy::ALL.into(), |policies| policies.copied().collect()),
        grid: matches.get_one("grid").copied().unwrap_or(872),
        machine: machine(matches),
        torus: matches.get_one("torus").copied().map_or_else(|| torus(PAPER), Ok)?,
    };
    let shown = comparison.patterns.last().copied().unwrap_or(HaloPattern::All);
    crate::write_file(matches, "svg", || comparison.picture(shown))?;
    crate::write_file(matches, "chart", || comparison.chart(shown))?;
    Ok(comparison.table())
}

fn machine(matches: &ArgMatches) -> InterfaceModel {
    let usual = InterfaceModel::TOFU1;
    let or = |name, usual: f64| matches.get_one::<f64>(name).copied().unwrap_or(usual);
    InterfaceModel {
        engines: matches.get_one("engines").copied().unwrap_or(usual.engines),
        put_rate: or("put-rate", usual.put_rate),
        link_rate: or("link-rate", usual.link_rate),
        rank_rate: or("rank-rate", usual.rank_rate),
        access_ns: 1e3 * or("access", usual.access_ns / 1e3),
        gap_ns: 1e3 * or("gap", usual.gap_ns / 1e3),
    }
}

fn policy(name: &str) -> Result<PackingPolicy, String> {
    let good = || PackingPolicy::ALL.map(PackingPolicy::name).join(", ");
    PackingPolicy::from_name(name).ok_or_else(|| format!("expected one of {}", good()))
}

fn torus(text: &str) -> Result<TorusShape, String> {
    const NODES_MAX: usize = 4096;
    let shape: TorusShape = text.parse()?;
    match shape.nodes() {
        ..=NODES_MAX => Ok(shape),
        nodes => Err(format!("{nodes} nodes are more than {NODES_MAX}")),
    }
}

/// A number above 0; with a rate or a time of 0, times would not be numbers.
fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if (1e-6..=1e9).contains(&number) => Ok(number),
        _ => Err("expected a number from 0.000001 to 1e9".to_owned()),
    }
}
