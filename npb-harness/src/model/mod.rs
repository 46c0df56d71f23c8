//! `npb model`: the experiments of F. Okazaki et al., "Performance Evaluation of the GridMPI for IBM
//! pSeries", about progress modes, with Suiro in all its modes and with peers.
//!
//! ```text
//! messages: jobs ── toolchain, job ──> point ──┬── claims: claims of the paper ──> terminal
//! kernels: bundled ── matrix ──> record ───────┘
//! ```
//!
//! Figures and results go into one file, from which `npb report` makes charts.

pub(crate) mod claims;
mod messages;
pub(crate) mod point;

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    path::Path,
    process::ExitCode,
    time::Duration,
};

use clap::{Arg, ArgAction, ArgMatches, Command, builder::PossibleValuesParser};
use comfy_table::{ContentArrangement, presets};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::{
    job::Stop,
    kernels, record,
    report::results::Results,
    request::{self, Request},
    toolchain::{Flavour, Scratch, Toolchain},
};
use claims::Claim;
use messages::ProgressVariant;
use point::Point;

/// The experiments.
const EXPERIMENTS: [&str; 2] = ["messages", "kernels"];
/// The kernels of the short form: one with long messages, and one with short ones.
const SHORT_KERNELS: [&str; 2] = ["is", "cg"];
/// The kernels without their variants in Fortran.
const KERNELS: [&str; 5] = ["ep", "is", "cg", "mg", "ft"];
/// Time limit of a job of the short form.
const SHORT_LIMIT: Duration = Duration::from_secs(20);

/// The arguments of `npb model`.
pub(crate) fn command() -> Command {
    let own = Command::new("model")
        .about("Measures messages and kernels in every progress mode, and compares them with a paper")
        .arg(
            Arg::new("experiments")
                .long("experiments")
                .value_name("LIST")
                .value_delimiter(',')
                .num_args(1)
                .default_values(EXPERIMENTS)
                .value_parser(PossibleValuesParser::new(EXPERIMENTS))
                .help("What to measure: messages (bandwidth, round trip, threshold, alltoall), kernels"),
        )
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
    if !libraries.iter().any(|tools| tools.is_peer) {
        eprintln!(
            "npb: no --peer PREFIX: comparisons with the vendor's MPI of the paper have no baseline"
        );
    }
    let is_requested = |name: &str| {
        matches.get_many::<String>("experiments").into_iter().flatten().any(|it| it == name)
    };
    let (mut points, mut records, mut all_well) = (Vec::new(), Vec::new(), true);
    if is_requested("messages") {
        let stop = Stop::on_signals()?;
        let measured = measure(&libraries, &request, is_short, (&scratch, &stop))?;
        all_well &= measured.failures == 0;
        points = measured.points;
        append(results.as_deref(), &points)?;
    }
    if is_requested("kernels") && !request.ranks.is_empty() {
        let names: &[&str] = if is_short { &SHORT_KERNELS } else { &KERNELS };
        let file = scratch.path().join("kernels.jsonl");
        request.results = Some(file.clone());
        let outcome = kernels::run_named(names, &request, &scratch);
        // Also after an interrupt: finished runs are kept.
        records = if file.exists() { record::read(&file)? } else { Vec::new() };
        append(results.as_deref(), &records)?;
        all_well &= outcome? == ExitCode::SUCCESS;
    }
    let claims = claims::claims(&point::values(&points), &Results::of(&records));
    // The reader may close the pipe early, as `head` does.
    let _ = std::io::stdout().write_all(lines(&claims).as_bytes());
    Ok(if all_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
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
        assert!(refused.unwrap_err().to_string().contains("[possible values: messages, kernels]"));
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
