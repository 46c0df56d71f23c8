//! `npb model`: the experiments of F. Okazaki et al., "Performance Evaluation of the GridMPI for IBM
//! pSeries", about progress modes, with Suiro in all its modes and with peers.
//!
//! ```text
//! messages: jobs ── toolchain, job ──> point ──┬── claims: claims of the paper ──> terminal
//! kernels: bundled ── matrix ──> record ───────┘
//! ```
//!
//! Figures and results go into one file, from which `npb report` makes charts. Beside messages and kernels in
//! one job, there are experiments with several jobs in one world (worlds).

pub(crate) mod claims;
mod messages;
pub(crate) mod point;
pub(crate) mod worlds;

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use clap::{
    Arg, ArgAction, ArgMatches, Command, builder::PossibleValuesParser, parser::ValueSource,
    value_parser,
};
use comfy_table::{ContentArrangement, presets};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::{
    job::Stop,
    kernels,
    record::{self, Outcome, Record},
    report::{Report, results::Results},
    request::{self, Request},
    toolchain::{Flavour, Scratch, Toolchain},
    tree::{self, Tree},
};
use claims::Claim;
use messages::ProgressVariant;
use point::Point;
use worlds::{Plan, experiment::WorldExperiment};

/// The experiments that run by default; those with several jobs are beside them.
const EXPERIMENTS: [&str; 2] = ["messages", "kernels"];
/// The numbers of ranks and of repeats of experiments with several jobs.
const WORLD_RANKS: [u32; 2] = [2, 4];
const WORLD_REPEATS: u32 = 1;
/// The kernels of the short form: one with long messages, and one with short ones.
const SHORT_KERNELS: [&str; 2] = ["is", "cg"];
/// The kernels without their variants in Fortran.
const KERNELS: [&str; 5] = ["ep", "is", "cg", "mg", "ft"];
/// Time limit of a job of the short form.
const SHORT_LIMIT: Duration = Duration::from_secs(20);

/// The arguments of `npb model`.
pub(crate) fn command() -> Command {
    let path = |name: &'static str, value: &'static str| {
        Arg::new(name).long(name).value_name(value).value_parser(value_parser!(PathBuf))
    };
    let experiments =
        EXPERIMENTS.into_iter().chain(WorldExperiment::ALL.map(WorldExperiment::name));
    let own = Command::new("model")
        .about("Measures messages and kernels in every progress mode, and compares them with a paper")
        .arg(
            Arg::new("experiments")
                .long("experiments")
                .value_name("LIST")
                .value_delimiter(',')
                .num_args(1)
                .default_values(EXPERIMENTS)
                .value_parser(PossibleValuesParser::new(experiments))
                .help(
                    "What to measure: messages (bandwidth, round trip, threshold, alltoall), kernels; clusters \
                     (two in one world, one of them over another MPI library), progress (by calls or threads, \
                     with one transport and two), vendor (another MPI library alone and below Suiro), wan (two \
                     clusters with a slow link)",
                ),
        )
        .arg(
            Arg::new("kernels")
                .long("kernels")
                .value_name("LIST")
                .value_delimiter(',')
                .value_parser(PossibleValuesParser::new(known_kernels()))
                .help("The kernels [default: all in the experiment kernels, else is,cg]"),
        )
        .arg(path("source", "DIR").help(
            "Take the kernels of experiments with several jobs from this published tree of NPB, as npb run \
             does",
        ))
        .arg(
            path("build", "DIR")
                .default_value("npb-build")
                .help("The directory for programs of that tree, which are reused"),
        )
        .arg(
            Arg::new("link")
                .long("link")
                .value_name("MS,RATE")
                .default_value("10ms,100Mbit")
                .help("The slow link of wan: its delay each way, and its rate"),
        )
        .arg(
            path("hosts", "PATH")
                .default_value("scripts/hosts")
                .help("scripts/hosts of the sources of Suiro, which makes the link"),
        )
        .arg(path("page", "PAGE").help("Also write a page with charts, as npb report does"))
        .arg(path("csv", "FILE").help("Also write the runs of kernels, as comma-separated values"))
        .arg(
            Arg::new("short")
                .long("short")
                .action(ArgAction::SetTrue)
                .help("Fewer and smaller measurements, without repeats: less than a minute"),
        );
    request::with_arguments(own)
        .mut_arg("classes", |classes| classes.default_value("S"))
        .mut_arg("ranks", |ranks| {
            ranks.default_value("4,8,16,32").help("The numbers of ranks of kernels")
        })
        .mut_arg("progress", |progress| progress.default_value("polling,thread,auto,delegate"))
        .mut_arg("repeats", |repeats| repeats.default_value("3"))
        .mut_arg("limit-s", |limit| limit.default_value("60"))
        .mut_arg("results", |results| {
            results.help("Add the figures to this file, a line of JSON each, for npb report")
        })
}

/// The kernels of this program and of published trees.
fn known_kernels() -> Vec<&'static str> {
    let own = KERNELS.into_iter().chain(["lu"]);
    let of_trees: Vec<_> =
        tree::kernels().filter(|name| own.clone().all(|it| it != *name)).collect();
    own.chain(of_trees).collect()
}

/// Measures the requested experiments and prints them beside the claims of the paper.
///
/// # Errors
/// The commands of a library do not work, or the figures cannot be written.
pub(crate) fn run(matches: &ArgMatches) -> Result<ExitCode, String> {
    let scratch = Scratch::new()?;
    let mut request = Request::of(matches, None);
    let results = request.results.take();
    let is_short = matches.get_flag("short");
    if is_short {
        request.limit = request.limit.min(SHORT_LIMIT);
        request.repeats = 1;
        request.ranks.retain(|ranks| *ranks <= 8);
    }
    let libraries = request.libraries(&scratch)?;
    let is_requested = |name: &str| {
        matches.get_many::<String>("experiments").into_iter().flatten().any(|it| it == name)
    };
    let is_of_paper = is_requested("messages") || is_requested("kernels");
    if is_of_paper && !libraries.iter().any(|tools| tools.is_peer) {
        eprintln!(
            "npb: no --peer PREFIX: comparisons with the vendor's MPI of the paper have no baseline"
        );
    }
    let (mut points, mut records, mut all_well) = (Vec::new(), Vec::new(), true);
    let named: Vec<String> = matches.get_many("kernels").into_iter().flatten().cloned().collect();
    if is_requested("messages") {
        let stop = Stop::on_signals()?;
        let measured = measure(&libraries, &request, is_short, (&scratch, &stop))?;
        all_well &= measured.failures == 0;
        points = measured.points;
        append(results.as_deref(), &points)?;
    }
    if is_requested("kernels") && !request.ranks.is_empty() {
        let names: &[&str] = if is_short { &SHORT_KERNELS } else { &KERNELS };
        let own: Vec<&str> = named.iter().map(String::as_str).collect();
        let names = if own.is_empty() { names } else { &own };
        let file = scratch.path().join("kernels.jsonl");
        request.results = Some(file.clone());
        let outcome = kernels::run_named(names, &request, &scratch);
        // Also after an interrupt: finished runs are kept.
        records = if file.exists() { record::read(&file)? } else { Vec::new() };
        append(results.as_deref(), &records)?;
        all_well &= outcome? == ExitCode::SUCCESS;
    }
    if is_of_paper {
        let claims = claims::claims(&point::values(&points), &Results::of(&records));
        print(&lines(&claims));
    }
    let mut of_worlds = Vec::new();
    let outcome = run_worlds(matches, &named, (&libraries, &scratch), &mut of_worlds);
    append(results.as_deref(), &of_worlds)?;
    outcome?;
    all_well &= of_worlds.iter().all(|record| record.outcome == Outcome::Verified);
    records.extend(of_worlds);
    let report = Report::of(records, &points);
    print(&report.text_of_worlds());
    if let Some(path) = matches.get_one::<PathBuf>("page") {
        report.write_page(path, &["npb model".to_owned()])?;
    }
    if let Some(path) = matches.get_one::<PathBuf>("csv") {
        report.write_csv(path)?;
    }
    Ok(if all_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Writes to standard output; the reader may close the pipe early, as `head` does.
fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Adds the results of the requested experiments with several jobs.
fn run_worlds(
    matches: &ArgMatches, kernels: &[String], (libraries, scratch): (&[Toolchain], &Scratch),
    records: &mut Vec<Record>,
) -> Result<(), String> {
    let requested = matches.get_many::<String>("experiments").into_iter().flatten();
    let experiments: Vec<_> = requested.filter_map(|it| WorldExperiment::named(it)).collect();
    if experiments.is_empty() {
        return Ok(());
    }
    let mut request = Request::of(matches, None);
    let is_default = |name| matches.value_source(name) != Some(ValueSource::CommandLine);
    if is_default("ranks") {
        request.ranks = WORLD_RANKS.to_vec();
    }
    if is_default("repeats") || matches.get_flag("short") {
        request.repeats = WORLD_REPEATS;
    }
    let short = SHORT_KERNELS.map(str::to_owned);
    let path = |name| matches.get_one::<PathBuf>(name);
    let builds = path("build").expect("it has a default");
    let tree = path("source").map(|source| Tree::open(source, builds)).transpose()?;
    let plan = Plan {
        experiments: &experiments,
        kernels: if kernels.is_empty() { &short } else { kernels },
        tree: tree.as_ref(),
        request: &request,
        hosts: matches.get_one::<PathBuf>("hosts").expect("it has a default"),
        link: matches.get_one::<String>("link").expect("it has a default"),
    };
    worlds::measure(&plan, libraries, (scratch, &Stop::on_signals()?), records)
}

struct Measured {
    points: Vec<Point>,
    failures: usize,
}

/// All figures about messages. Libraries run in turn, so that disturbances affect all of them.
fn measure(
    libraries: &[Toolchain], request: &Request, is_short: bool, by: (&Scratch, &Stop),
) -> Result<Measured, String> {
    let ways: Vec<ProgressVariant<'_>> =
        libraries.iter().flat_map(|tools| progress_variants(tools, request)).collect();
    let programs: Result<Vec<_>, _> =
        ways.iter().map(|way| messages::build(way.tools, by.0)).collect();
    let (programs, jobs) = (programs?, messages::jobs(is_short));
    let suited = jobs.iter().map(|job| ways.iter().filter(|way| job.suits(way)).count());
    let bar = ProgressBar::new(suited.sum::<usize>() as u64 * u64::from(request.repeats));
    let style =
        ProgressStyle::with_template("{wide_msg} {pos}/{len} {bar:24} {elapsed}/{duration}");
    bar.set_style(style.map_err(|error| error.to_string())?);
    let mut measured = Measured { points: Vec::new(), failures: 0 };
    for job in &jobs {
        for repeat in 0..request.repeats {
            for (way, program) in ways.iter().zip(&programs).filter(|(way, _)| job.suits(way)) {
                let name = [Some(&way.tools.label), way.progress.as_ref()];
                let name: Vec<&str> = name.into_iter().flatten().map(String::as_str).collect();
                let name = format!("{}: {}", name.join(" "), job.name());
                bar.set_message(name.clone());
                match job.run(way, program, request, is_short, by) {
                    Ok(figures) => measured.points.extend(
                        figures
                            .into_iter()
                            .map(|(subject, value)| Point::new(subject, repeat, value)),
                    ),
                    Err(_) if by.1.is_interrupted() => return Err("interrupted".to_owned()),
                    Err(why) => {
                        measured.failures += 1;
                        bar.suspend(|| eprintln!("npb: {name}: {why}"));
                    }
                }
                bar.inc(1);
            }
        }
    }
    bar.finish_and_clear();
    Ok(measured)
}

/// A library in each requested progress mode; a peer has one.
fn progress_variants<'a>(tools: &'a Toolchain, request: &Request) -> Vec<ProgressVariant<'a>> {
    if tools.flavour != Flavour::Suiro {
        return vec![ProgressVariant { tools, progress: None }];
    }
    let way = |progress: &String| ProgressVariant { tools, progress: Some(progress.clone()) };
    request.progress.iter().map(way).collect()
}

/// Adds lines to the file, if there is one.
fn append<T: Serialize>(path: Option<&Path>, lines: &[T]) -> Result<(), String> {
    let Some(path) = path else { return Ok(()) };
    let unwritable = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    let mut text = String::new();
    // The file may end with a partial line.
    if fs::read_to_string(path).is_ok_and(|before| !before.is_empty() && !before.ends_with('\n')) {
        text.push('\n');
    }
    for line in lines {
        text += &serde_json::to_string(line).map_err(|error| unwritable(error.into()))?;
        text.push('\n');
    }
    let file = OpenOptions::new().append(true).create(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(unwritable)
}

/// The claims as a table for a terminal.
pub(crate) fn lines(claims: &[Claim]) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(132);
    table.set_header(["figure", "the paper", "here", ""]);
    for claim in claims {
        table.add_row([claim.figure, claim.paper, &claim.measured, claim.verdict()]);
    }
    format!("\nThe paper (GridMPI on IBM pSeries) and the results here:\n{}\n", table.trim_fmt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_those_of_runs_with_other_defaults() {
        let matches = command().try_get_matches_from(["model", "--peer", "/usr"]).unwrap();
        let request = Request::of(&matches, None);
        assert_eq!(request.ranks, [4, 8, 16, 32]);
        assert_eq!(request.progress, ["polling", "thread", "auto", "delegate"]);
        assert_eq!((request.classes, request.repeats), (vec!['S'], 3));
        let refused = command().try_get_matches_from(["model", "--experiments", "weather"]);
        assert!(
            refused
                .unwrap_err()
                .to_string()
                .contains("[possible values: messages, kernels, clusters")
        );
    }

    #[test]
    fn every_claim_has_its_result() {
        let text = lines(&claims::claims(&point::Values::new(), &Results::default()));
        assert_eq!(text.matches("unknown").count(), 9, "{text}");
        assert!(
            text.contains("12") && text.lines().all(|line| line.chars().count() <= 132),
            "{text}"
        );
    }
}
