//! `suiro-sim coll`: one collective operation on all ranks in virtual time.

use std::ops::RangeInclusive;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use mpi_abi::device::trigger::InterfaceLimits;
use mpi_abi::devices::torus::Generation;
use mpi_abi::mpi::collective::algorithms::hierarchical::Nodes;
use mpi_abi::mpi::collective::selection::registry::CollectiveOperation;
use sim::coll::CollectiveReport;
use sim::collective::CollectiveCall;
use sim::executor::StepCosts;
use sim::executor::event_driven::{InterfaceSetting, LinkNetwork};
use sim::executor::levelled::PROGRESS;
use sim::network::LoggpRates;
use sim::noise::{Noise, NoiseKind, ps_of_us};
use sim::offload::{OffloadedCall, UNLIMITED};
use sim::topology::{NodeOrder, RankNodes, Topology};

use crate::numbers::{number, number_in};
use crate::offload::{names, operation, scheme_of};

const LONG: &str = "\
Runs the schedules of the library on all ranks, in virtual time: the time of each rank with what the
critical path consists of, and numbers of messages. loggp is a network of 100 Gbit/s in round figures;
paper is the one of the simulation of Matsumoto and Suda, where nothing waits for a port. With a
topology, messages also wait for the links between the ports; one thread runs it, event by event. With
--offload, interfaces with counters run the operation. Equal arguments give equal results, whatever the
number of threads is.";

pub(crate) fn command() -> Command {
    let command = Command::new("coll")
        .about("Runs a collective operation on up to 2^20 ranks.")
        .long_about(LONG)
        .arg(
            Arg::new("operation")
                .value_name("OPERATION")
                .required(true)
                .value_parser(operation)
                .help(names().join(", ")),
        )
        .arg(
            Arg::new("ranks")
                .long("ranks")
                .value_name("N")
                .required(true)
                .value_parser(number_in(1..=1 << 20))
                .help("number of ranks, such as 1000 or 2^20"),
        )
        .arg(
            Arg::new("algorithm")
                .long("algorithm")
                .value_name("NAME")
                .help("an algorithm that suiro-info --coll lists; two_level with several nodes  [default: the cheapest by the library's costs]"),
        )
        .arg(
            Arg::new("bytes")
                .long("bytes")
                .value_name("B")
                .default_value("8")
                .value_parser(number_in(0..=1 << 40))
                .help("length of the message, of each block or of an operand"),
        )
        .arg(
            Arg::new("root")
                .long("root")
                .value_name("RANK")
                .default_value("0")
                .value_parser(number)
                .help("the root, if the operation has one"),
        )
        .arg(
            Arg::new("in-place")
                .long("in-place")
                .action(ArgAction::SetTrue)
                .help("the own data are already in the receive buffer"),
        );
    let command = with_offload(with_noise(with_topology(with_network(command))));
    with_output(command)
        .arg(Arg::new("svg").long("svg").value_name("FILE").help("draw the distribution of times"))
        .arg(Arg::new("html").long("html").value_name("FILE").help("write a page with everything"))
}

fn with_network(command: Command) -> Command {
    let rate = |name: &'static str, unit: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name(unit)
            .value_parser(number_in(0..=1_000_000_000))
            .help(help)
    };
    command
        .arg(
            Arg::new("network")
                .long("network")
                .value_name("NAME")
                .default_value(LoggpRates::LOGGP.name)
                .value_parser(LoggpRates::ALL.map(|network| network.name))
                .help("rates of the network"),
        )
        .arg(rate("latency", "NS", "L, at least 1  [default: of the network]"))
        .arg(rate("overhead", "NS", "o, of a send and of a receive"))
        .arg(rate("gap", "NS", "g, rest of a port after a message"))
        .arg(rate("byte", "PS", "G, of a byte of a message"))
        .arg(rate("reduced-byte", "PS", "of a byte of a reduction"))
        .arg(rate("copied-byte", "PS", "of a byte of a copy"))
}

/// Adds the arguments of links.
fn with_topology(command: Command) -> Command {
    let number = |name: &'static str, unit: &'static str, range: RangeInclusive<u64>| {
        Arg::new(name)
            .long(name)
            .value_name(unit)
            .value_parser(number_in(range))
            .requires("topology")
    };
    command
        .arg(
            Arg::new("topology")
                .long("topology")
                .value_name("FORM")
                .value_parser(str::parse::<Topology>)
                .help(format!("links on which messages wait: {}", Topology::FORMS)),
        )
        .arg(number("hop", "NS", 0..=1_000_000).help("from one link to the next  [default: 100]"))
        .arg(
            number("link-byte", "PS", 0..=1_000_000_000)
                .help("of a byte of a message on a link  [default: as of a port]"),
        )
        .arg(number("ranks-per-node", "N", 1..=1024).help("ranks on a node  [default: 1]"))
        .arg(number("node-latency", "NS", 1..=1_000_000).help("L inside a node  [default: 200]"))
        .arg(
            Arg::new("placement")
                .long("placement")
                .value_name("ORDER")
                .default_value(NodeOrder::NAMES[0].0)
                .value_parser(NodeOrder::NAMES.map(|(name, _)| name))
                .help("the order in which ranks fill nodes; random: by the seed"),
        )
}

/// Adds the arguments of interfaces that run the operation.
fn with_offload(command: Command) -> Command {
    let number = |name: &'static str, unit: &'static str, range: RangeInclusive<u64>| {
        let number = Arg::new(name).long(name).value_name(unit);
        number.value_parser(number_in(range)).requires("offload")
    };
    command
        .arg(
            Arg::new("offload")
                .long("offload")
                .value_name("SCHEME")
                .value_parser(["tank", "prematched"])
                .help(
                    "a persistent operation as programs of interfaces, one event after the other",
                ),
        )
        .arg(number("instances", "N", 1..=1000).help("starts one after the other  [default: 1]"))
        .arg(
            Arg::new("interface")
                .long("interface")
                .value_name("NAME")
                .value_parser(str::parse::<Generation>)
                .requires("offload")
                .help(
                    "counters, slots and engines of a generation  [default: one engine, no limits]",
                ),
        )
        .arg(number("engines", "N", 1..=64).help("engines of an interface, each with a port"))
        .arg(number("slots", "N", 1..=1 << 20).help("operations that are posted at a time"))
        .arg(number("post", "NS", 0..=1_000_000).help("to post an operation  [default: 100]"))
}

/// The interfaces of the arguments.
fn interface(matches: &ArgMatches) -> InterfaceSetting {
    let given = |name| matches.get_one::<u64>(name).copied();
    let limits = matches.get_one::<Generation>("interface").map_or(UNLIMITED, |it| it.limits());
    let engines = given("engines").map_or(limits.engines, |engines| engines as u8);
    let slots = given("slots").map_or(limits.slots, |slots| slots as u32);
    InterfaceSetting {
        limits: InterfaceLimits { engines, slots, ..limits },
        post_ps: given("post").unwrap_or(100) * 1000,
        instances: given("instances").unwrap_or(1) as u32,
        traces: false,
    }
}

/// The links of the arguments.
fn links(matches: &ArgMatches, ranks: u32, port_ps: u64) -> Result<Option<LinkNetwork>, String> {
    let Some(&topology) = matches.get_one::<Topology>("topology") else { return Ok(None) };
    let given = |name| matches.get_one::<u64>(name).copied();
    let order = matches.get_one::<String>("placement");
    let order = order.and_then(|name| NodeOrder::from_name(name)).unwrap_or(NodeOrder::Block);
    let per_node = given("ranks-per-node").unwrap_or(1) as u32;
    let seed = matches.get_one("seed").copied().unwrap_or(1);
    let placement = RankNodes::new(ranks, per_node, topology.nodes(), order, seed)?;
    let hop_ps = given("hop").unwrap_or(100) * 1000;
    Ok(Some(LinkNetwork {
        topology,
        placement,
        node_latency_ps: given("node-latency").unwrap_or(200) * 1000,
        hop_ps,
        byte_ps: given("link-byte").unwrap_or(port_ps),
    }))
}

/// Adds the arguments of noise.
fn with_noise(command: Command) -> Command {
    let noise = Arg::new("noise")
        .long("noise")
        .value_name("KIND")
        .default_value("none")
        .value_parser(NoiseKind::NAMES.map(|(name, _)| name))
        .help("interruptions: with a phase of each rank, with one phase, or at random times");
    with_interruptions(command.arg(noise))
}

/// Adds the period, the length and the seed of noise.
pub(crate) fn with_interruptions(command: Command) -> Command {
    let us = |name: &'static str, usual: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name("US")
            .default_value(usual)
            .value_parser(value_parser!(f64))
            .help(help)
    };
    command
        .arg(us("noise-period", "10000", "microseconds between the begins of interruptions"))
        .arg(us("noise-length", "100", "microseconds of an interruption"))
        .arg(
            Arg::new("seed")
                .long("seed")
                .value_name("S")
                .default_value("1")
                .value_parser(value_parser!(u64))
                .help("seed of all random numbers"),
        )
}

/// Adds the arguments of threads and of the form of the output.
pub(crate) fn with_output(command: Command) -> Command {
    command
        .arg(
            Arg::new("threads")
                .long("threads")
                .value_name("T")
                .value_parser(value_parser!(u16).range(1..=1024))
                .help(
                    "number of threads, which changes no result  [default: one for each processor]",
                ),
        )
        .arg(Arg::new("csv").long("csv").action(ArgAction::SetTrue).help("print CSV"))
}

pub(crate) fn threads(matches: &ArgMatches) -> usize {
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    matches.get_one::<u16>("threads").map_or_else(processors, |threads| usize::from(*threads))
}

/// Picoseconds of an argument in microseconds.
fn ps(matches: &ArgMatches, name: &str) -> Result<u64, String> {
    let us = matches.get_one::<f64>(name).copied().unwrap_or(0.0);
    ps_of_us(us).ok_or_else(|| format!("--{name} {us}: expected a number from 0 to 3600000000"))
}

/// The noise of the arguments.
pub(crate) fn noise(matches: &ArgMatches, kind: NoiseKind) -> Result<Noise, String> {
    let (period_ps, length_ps) = (ps(matches, "noise-period")?, ps(matches, "noise-length")?);
    Noise::new(kind, period_ps, length_ps, matches.get_one("seed").copied().unwrap_or(1))
}

fn network(matches: &ArgMatches) -> Result<LoggpRates, String> {
    let named = matches.get_one::<String>("network");
    let usual = named.and_then(|name| LoggpRates::from_name(name)).unwrap_or(LoggpRates::LOGGP);
    let given = |name| matches.get_one::<u64>(name).copied();
    let ns = |name, usual_ps| given(name).map_or(usual_ps, |ns| ns * 1000);
    let network = LoggpRates {
        latency_ps: ns("latency", usual.latency_ps),
        overhead_ps: ns("overhead", usual.overhead_ps),
        gap_ps: ns("gap", usual.gap_ps),
        byte_ps: given("byte").unwrap_or(usual.byte_ps),
        reduced_ps: given("reduced-byte").unwrap_or(usual.reduced_ps),
        copied_ps: given("copied-byte").unwrap_or(usual.copied_ps),
        ..usual
    };
    match network.latency_ps {
        0 => Err("--latency 0: expected at least 1".to_owned()),
        _ => Ok(network),
    }
}

pub(crate) fn run(matches: &ArgMatches) -> Result<String, String> {
    let count = |name| matches.get_one::<u64>(name).copied().unwrap_or(0);
    let bytes = count("bytes");
    let root = count("root");
    let ranks = count("ranks") as u32;
    let name = matches.get_one::<String>("noise").map_or("none", String::as_str);
    let kind = NoiseKind::from_name(name).unwrap_or_default();
    let costs = StepCosts { network: network(matches)?, noise: noise(matches, kind)? };
    let links = links(matches, ranks, costs.network.byte_ps)?;
    let nodes = links.as_ref().map(|links| (0..ranks).map(|rank| links.placement.node(rank)));
    let call = CollectiveCall {
        operation: matches.get_one("operation").copied().unwrap_or(CollectiveOperation::Barrier),
        algorithm: matches.get_one("algorithm").cloned(),
        ranks,
        bytes: usize::try_from(bytes).map_err(|_| format!("{bytes} bytes are too many"))?,
        root: u32::try_from(root)
            .map_err(|_| format!("rank {root} as root: expected a rank below {ranks}"))?,
        in_place: matches.get_flag("in-place"),
        nodes: nodes.and_then(Nodes::new),
    };
    let bar = crate::bar(PROGRESS);
    let progress = |done| bar.set_position(done);
    let report = match (scheme_of(matches, "offload"), links) {
        (Some(scheme), links) => {
            let setting = interface(matches);
            let offloaded = OffloadedCall::on(call, scheme, &setting.limits, &costs.network);
            CollectiveReport::run_offloaded(offloaded, costs, links.as_ref(), &setting, &progress)
        }
        (None, Some(links)) => CollectiveReport::run_on_links(call, costs, &links, &progress),
        (None, None) => CollectiveReport::run(call, costs, threads(matches), &progress),
    };
    bar.finish_and_clear();
    let report = report?;
    crate::write_file(matches, "svg", || report.distribution().file())?;
    crate::write_file(matches, "html", || report.page())?;
    Ok(if matches.get_flag("csv") { report.csv() } else { report.text() })
}
