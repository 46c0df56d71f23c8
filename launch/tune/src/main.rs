//! `suiro-tune`: see [`suiro_tune`].

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use indicatif::{ProgressBar, ProgressStyle};
use launch::folders::Folders;
use mpi_abi::mpi::collective::selection::registry::CollectiveOperation;
use platform::sys::{clock, cpu, host};
use suiro_tune::campaign::{Campaign, ROUNDS_MIN, TuningRequest, TuningResult, dry_run};
use suiro_tune::job::{JobFailure, JobStarter, MEASURE};
use suiro_tune::measure;
use suiro_tune::plan;
use suiro_tune::plan::TunedCall;
use suiro_tune::rules_text;

/// The setting of reproducible reductions.
const REDUCE: &str = "SUIRO_REDUCE";

/// Code of a process that signal 0 would have ended, for shells.
const SIGNALLED: u8 = 128;

fn command() -> Command {
    let list = |name: &'static str, value: &'static str| {
        Arg::new(name).long(name).value_name(value).value_delimiter(',')
    };
    Command::new("suiro-tune")
        .about("Measures the algorithms of collective operations on this machine, and writes rules for SUIRO_COLL_RULES.")
        .version(env!("CARGO_PKG_VERSION"))
        .args_conflicts_with_subcommands(true)
        .arg(
            list("ranks", "COUNTS")
                .short('n')
                .value_parser(value_parser!(u32).range(2..=1 << 20))
                .help("sizes of jobs, such as 2,4,8  [default: 2 and the number of processors]"),
        )
        .arg(list("operations", "NAMES").value_parser(operation).help(
            "operations, such as bcast,allreduce  [default: barrier and all whose bytes all ranks know]",
        ))
        .arg(
            list("bytes", "LENGTHS")
                .value_parser(length)
                .default_value("8,64,512,4096,32768,262144,1048576")
                .help("bytes of a message, an operand or a block: multiples of 8"),
        )
        .arg(
            Arg::new("rounds")
                .long("rounds")
                .value_name("COUNT")
                .value_parser(value_parser!(u16).range(ROUNDS_MIN as i64..=1000))
                .default_value("5")
                .help("rounds of all algorithms, and rounds with and without the rules"),
        )
        .arg(
            Arg::new("margin")
                .long("margin")
                .value_name("PERCENT")
                .value_parser(value_parser!(u8).range(0..=99))
                .default_value("5")
                .help("a rule is written where an algorithm takes so much less time than the default"),
        )
        .arg(
            Arg::new("time")
                .long("time")
                .value_name("SECONDS")
                .value_parser(value_parser!(u32).range(1..))
                .default_value("300")
                .help("the time to use, about; three rounds of each kind may take more"),
        )
        .arg(
            Arg::new("output")
                .long("output")
                .short('o')
                .value_name("FILE")
                .default_value("suiro-rules.toml")
                .help("the file of rules; all hosts of a job must see its folder"),
        )
        .arg(
            Arg::new("dry-run")
                .long("dry-run")
                .action(ArgAction::SetTrue)
                .help("print the jobs and start none"),
        )
        .arg(
            Arg::new("options")
                .value_name("OPTIONS OF MPIRUN")
                .num_args(0..)
                .last(true)
                .value_parser(value_parser!(OsString))
                .help("after --, such as --host node1:4,node2:4 or --bind-to core"),
        )
        .subcommand(
            Command::new(MEASURE)
                .hide(true)
                .arg(Arg::new("seconds").required(true).value_parser(value_parser!(f64)))
                .arg(Arg::new("calls").num_args(1..).required(true).value_parser(call)),
        )
}

fn operation(text: &str) -> Result<CollectiveOperation, String> {
    let named = CollectiveOperation::from_name(text);
    named.filter(|operation| plan::operations().contains(operation)).ok_or_else(|| {
        let good = plan::operations().into_iter().map(|operation| operation.name().to_lowercase());
        format!("expected one of {}", good.collect::<Vec<_>>().join("|"))
    })
}

fn length(text: &str) -> Result<usize, String> {
    let bytes = text.parse().ok().filter(|bytes| *bytes > 0 && *bytes % 8 == 0);
    bytes.ok_or_else(|| "expected a multiple of 8".to_owned())
}

fn call(text: &str) -> Result<TunedCall, String> {
    TunedCall::parse(text).ok_or_else(|| "expected OPERATION:BYTES".to_owned())
}

fn main() -> ExitCode {
    let matches = command().get_matches();
    if let Some((_, matches)) = matches.subcommand() {
        let calls: Vec<TunedCall> = all(matches, "calls");
        measure::measure(&calls, matches.get_one("seconds").copied().unwrap_or(0.0));
        return ExitCode::SUCCESS;
    }
    match run(&matches) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(JobFailure::Failed(why)) => {
            eprintln!("suiro-tune: {why}");
            ExitCode::FAILURE
        }
        Err(JobFailure::Interrupted(signal)) => {
            ExitCode::from(SIGNALLED.saturating_add(signal as u8))
        }
    }
}

/// All values of an option.
fn all<T: Clone + Send + Sync + 'static>(matches: &ArgMatches, name: &str) -> Vec<T> {
    matches.get_many(name).into_iter().flatten().cloned().collect()
}

/// A value with a default.
fn one<T: Copy + Send + Sync + 'static>(matches: &ArgMatches, name: &str) -> T {
    *matches.get_one(name).expect("the option has a default")
}

fn request(matches: &ArgMatches) -> TuningRequest {
    let mut ranks: Vec<u32> = all(matches, "ranks");
    if ranks.is_empty() {
        ranks = vec![2, cpu::allowed().max(2) as u32];
    }
    ranks.sort_unstable();
    ranks.dedup();
    let mut bytes: Vec<usize> = all(matches, "bytes");
    bytes.sort_unstable();
    bytes.dedup();
    let mut operations: Vec<CollectiveOperation> = all(matches, "operations");
    if operations.is_empty() {
        operations = plan::operations();
    }
    operations.sort_by_key(|operation| *operation as usize);
    operations.dedup();
    TuningRequest {
        ranks,
        operations,
        bytes,
        rounds: one::<u16>(matches, "rounds").into(),
        margin: f64::from(one::<u8>(matches, "margin")) / 100.0,
        budget: Duration::from_secs(one::<u32>(matches, "time").into()),
        reproducible: env::var(REDUCE).is_ok_and(|value| value == "reproducible"),
    }
}

/// Measures, and writes the file; what to print.
fn run(matches: &ArgMatches) -> Result<String, JobFailure> {
    let failed =
        |what: &str, error: &dyn std::fmt::Display| JobFailure::Failed(format!("{what}: {error}"));
    let request = request(matches);
    let folders = Folders::own().map_err(|error| failed("cannot find itself", &error))?;
    let starter = JobStarter::new(folders.programs.join("mpirun"), all(matches, "options"))
        .map_err(|error| failed("cannot prepare jobs", &error))?;
    if matches.get_flag("dry-run") {
        return Ok(dry_run(&request, &starter));
    }
    let file = matches.get_one::<String>("output").expect("the option has a default");
    let (begin, bar) = (Instant::now(), bar(request.budget));
    let progress = |what: &str| {
        bar.set_position((begin.elapsed().as_millis() as u64).min(bar.length().unwrap_or(0)));
        bar.set_message(what.to_owned());
    };
    let result = Campaign::new(&request, &starter, Path::new(file), &progress).run();
    bar.finish_and_clear();
    let result = result?;
    for note in &result.notes {
        eprintln!("suiro-tune: {note}");
    }
    let margin = request.margin.max(NEAR);
    let near = result.near_default(margin);
    let TuningResult { rules, calls, .. } = result;
    let text = rules_text::text(&head(&request, &starter), &rules);
    fs::write(file, text).map_err(|error| failed(&format!("cannot write {file}"), &error))?;
    let use_it = match rules.len() {
        0 => String::new(),
        _ => format!("; use it by SUIRO_COLL_RULES={file}"),
    };
    Ok(format!(
        "{file}: {} rules{use_it}\n\
         The default is within {:.0} % of the fastest algorithm in {near} of {calls} calls.\n",
        rules.len(),
        margin * 100.0
    ))
}

/// The default selection is near the fastest algorithm where it takes at most so much more time.
const NEAR: f64 = 0.1;

/// A progress bar on standard error, if that is a terminal.
fn bar(budget: Duration) -> ProgressBar {
    let bar = ProgressBar::new(budget.as_millis() as u64);
    match ProgressStyle::with_template("{bar:30} {percent:>3} %  {elapsed}  {msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// What the file says about its measurement.
fn head(request: &TuningRequest, starter: &JobStarter) -> Vec<String> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let seconds = now.map_or(0, |since| since.as_secs() as i64);
    let commands: Vec<String> = request.ranks.iter().map(|ranks| starter.shown(*ranks)).collect();
    let TuningRequest { rounds, margin, .. } = request;
    vec![
        format!(
            "Written by suiro-tune {} on {}, {} processors, {}.",
            env!("CARGO_PKG_VERSION"),
            host::name(),
            cpu::allowed(),
            clock::local_time(seconds, c"%Y-%m-%d %H:%M")
        ),
        format!("Jobs: {}.", commands.join("; ")),
        format!(
            "Medians of {rounds} rounds at most. A rule is where an algorithm was faster than the default by \
             {:.0} % or more, twice.",
            margin * 100.0
        ),
    ]
}
