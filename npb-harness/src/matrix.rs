//! Runs kernels in every requested class, on every number of ranks, with every library, device and
//! progress mode, several times: plans the runs, skips those with results in a file, runs the others
//! one at a time, and prints a row of medians for each setting.
//!
//! ```text
//! for each kernel, class, number of ranks:   build with each library
//!     for each repeat:                       so that disturbances affect all libraries equally
//!         for each library, device, mode:    one job, one record
//! ```
//!
//! A [`Source`] supplies the programs.

use std::{
    collections::{HashMap, HashSet},
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use indicatif::{ProgressBar, ProgressStyle};

use crate::{
    job::{self, Stop},
    output,
    record::{Outcome, Record, Setting, Writer},
    request::Request,
    summary::Summary,
    toolchain::{Flavour, Scratch, Toolchain},
};

/// The variables for the device and the progress mode of Suiro.
const DEVICE: &str = "SUIRO_DEVICE";
const PROGRESS: &str = "SUIRO_PROGRESS";

/// The numbers of ranks that a kernel supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ranks {
    Any,
    /// 1, 4, 9, 16, ...
    Squares,
    /// 1, 2, 4, 8, ...
    PowersOfTwo,
    /// Products of two numbers, one at most twice the other.
    TwoFactors,
    /// Only this number, whatever was requested.
    Exactly(u32),
}

impl Ranks {
    /// Whether the kernel supports this number.
    pub(crate) fn allow(self, ranks: u32) -> bool {
        match self {
            Self::Any => true,
            Self::Squares => ranks.isqrt().pow(2) == ranks,
            Self::PowersOfTwo => ranks.is_power_of_two(),
            Self::TwoFactors => {
                let mut smaller = (1..=ranks.isqrt()).rev();
                let pair = smaller.find(|factor| ranks.is_multiple_of(*factor));
                pair.is_some_and(|factor| ranks / factor <= 2 * factor)
            }
            Self::Exactly(count) => ranks == count,
        }
    }

    /// The supported ones of these numbers.
    fn of(self, requested: &[u32]) -> Vec<u32> {
        match self {
            Self::Exactly(count) => vec![count],
            _ => requested.iter().copied().filter(|&ranks| self.allow(ranks)).collect(),
        }
    }

    fn rule(self) -> String {
        match self {
            Self::Any => "any number".to_owned(),
            Self::Squares => "a square".to_owned(),
            Self::PowersOfTwo => "a power of two".to_owned(),
            Self::TwoFactors => "a product of two numbers, at most twice apart".to_owned(),
            Self::Exactly(count) => format!("exactly {count}"),
        }
    }
}

/// A kernel in a class on a number of ranks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Cell {
    /// In lower case, with an optional variant after a dot.
    pub kernel: String,
    pub class: char,
    pub ranks: u32,
}

/// A program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    pub path: PathBuf,
    pub arguments: Vec<String>,
}

/// The reason for a missing program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// A sentence with the relevant lines of the log.
    pub why: String,
    /// The output of the build.
    pub log: Option<PathBuf>,
    /// Whether the library lacks something that the kernel needs; not a failure of a peer.
    pub is_unfit: bool,
}

impl Refusal {
    /// A failure without a log.
    pub(crate) fn broken(why: String) -> Self {
        Self { why, log: None, is_unfit: false }
    }

    /// A missing feature of the library, without a log.
    pub(crate) fn unfit(why: String) -> Self {
        Self { is_unfit: true, ..Self::broken(why) }
    }

    fn with_log(&self) -> String {
        let log = self.log.as_ref().map(|log| format!("\n    (log: {})", log.display()));
        self.why.replace('\n', "\n    ") + log.as_deref().unwrap_or("")
    }
}

/// A source of programs.
pub(crate) trait Source {
    /// The name in records.
    fn name(&self) -> &str;

    /// The numbers of ranks that the kernel supports in this class.
    fn ranks(&self, kernel: &str, class: char) -> Ranks;

    /// The reason if the kernel does not exist in this class.
    fn missing(&self, kernel: &str, class: char) -> Option<String>;

    /// Whether a program runs only on the number of ranks that it was built for.
    fn is_built_for_ranks(&self) -> bool;

    /// Builds the program, or finds the one that has been built.
    ///
    /// # Errors
    /// The reason for a missing program.
    fn build(&self, cell: &Cell, tools: &Toolchain, stop: &Stop) -> Result<Program, Refusal>;
}

/// A library with its settings.
struct Variant<'a> {
    tools: &'a Toolchain,
    device: Option<String>,
    progress: Option<String>,
}

/// The state of a series of runs.
struct Runner<'a> {
    source: &'a dyn Source,
    request: &'a Request,
    variants: Vec<Variant<'a>>,
    programs: HashMap<(String, String, char, u32), Result<Program, Refusal>>,
    writer: Option<Writer>,
    done: HashMap<(Setting, u32), Record>,
    scratch: &'a Scratch,
    stop: Stop,
    bar: ProgressBar,
}

/// Runs all of `request`; whether all runs verified.
///
/// # Errors
/// The commands of a library do not work, no run is possible, or results cannot be written.
pub(crate) fn run(
    source: &dyn Source, kernels: &[String], request: &Request, scratch: &Scratch,
) -> Result<ExitCode, String> {
    let stop = Stop::on_signals()?;
    let libraries = request.libraries(scratch)?;
    let cells = cells(source, kernels, request)?;
    let (writer, done) = match &request.results {
        Some(path) => {
            let (writer, records) = Writer::open(path)?;
            let finished = records.into_iter().filter(|record| record.outcome != Outcome::Failed);
            let keyed = finished.map(|record| ((record.setting.clone(), record.repeat), record));
            (Some(writer), keyed.collect())
        }
        None => (None, HashMap::new()),
    };
    let variants: Vec<_> = libraries.iter().flat_map(|tools| variants(tools, request)).collect();
    let jobs = cells.len() * variants.len() * request.repeats as usize;
    let bar = ProgressBar::new(jobs as u64);
    let style =
        ProgressStyle::with_template("{wide_msg} {pos}/{len} {bar:24} {elapsed}/{duration}");
    bar.set_style(style.map_err(|error| error.to_string())?);
    let mut runner = Runner {
        source,
        request,
        variants,
        programs: HashMap::new(),
        writer,
        done,
        scratch,
        stop,
        bar,
    };
    let outcome = runner.run(&cells);
    runner.bar.finish_and_clear();
    outcome
}

/// The requested and possible cells, in the order of the table.
fn cells(source: &dyn Source, kernels: &[String], request: &Request) -> Result<Vec<Cell>, String> {
    let mut cells = Vec::new();
    for kernel in kernels {
        for &class in &request.classes {
            if let Some(why) = source.missing(kernel, class) {
                eprintln!("npb: {why}");
                continue;
            }
            let rule = source.ranks(kernel, class);
            let possible = rule.of(&request.ranks);
            let mut left_out = request.ranks.iter().filter(|ranks| !rule.allow(**ranks)).peekable();
            if !matches!(rule, Ranks::Exactly(_)) && left_out.peek().is_some() {
                let numbers: Vec<_> = left_out.map(u32::to_string).collect();
                let (numbers, rule) = (numbers.join(", "), rule.rule());
                eprintln!("npb: {kernel}.{class}: not on {numbers} ranks: it needs {rule}");
            }
            let cell = |ranks| Cell { kernel: kernel.clone(), class, ranks };
            cells.extend(possible.into_iter().map(cell));
        }
    }
    if cells.is_empty() { Err("nothing to run".to_owned()) } else { Ok(cells) }
}

/// The library with each of its settings; a peer has one.
fn variants<'a>(tools: &'a Toolchain, request: &Request) -> Vec<Variant<'a>> {
    if tools.flavour != Flavour::Suiro {
        return vec![Variant { tools, device: None, progress: None }];
    }
    let modes = |device: &String| {
        let device = Some(device.clone());
        let variant = move |progress: &String| Variant {
            tools,
            device: device.clone(),
            progress: Some(progress.clone()),
        };
        request.progress.iter().map(variant).collect::<Vec<_>>()
    };
    request.devices.iter().flat_map(modes).collect()
}

impl Runner<'_> {
    fn run(&mut self, cells: &[Cell]) -> Result<ExitCode, String> {
        println!("{}", output::HEADING);
        let mut all_verified = true;
        let mut reported = HashSet::new();
        for cell in cells {
            let mut records = Vec::new();
            for repeat in 0..self.request.repeats {
                for index in 0..self.variants.len() {
                    let record = self.record(cell, index, repeat)?;
                    if self.stop.is_interrupted() {
                        return self.interrupted();
                    }
                    self.bar.inc(1);
                    records.extend(record);
                }
            }
            for summary in Summary::all(&records) {
                all_verified &= summary.outcome == Outcome::Verified;
                let is_news = reported.insert(summary.why.clone());
                self.bar.suspend(|| println!("{}", output::row(&summary, is_news)));
            }
        }
        Ok(if all_verified { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn interrupted(&self) -> Result<ExitCode, String> {
        let again = self.request.results.as_ref().map_or(String::new(), |path| {
            format!("; finished runs are in {}, and the same command continues", path.display())
        });
        Err(format!("interrupted{again}"))
    }

    /// The result of a run, from the file or new; `None` for a peer that cannot run it, and after an
    /// interrupt.
    fn record(&mut self, cell: &Cell, index: usize, repeat: u32) -> Result<Option<Record>, String> {
        let setting = self.setting(cell, index);
        self.bar.set_message(format!("{}.{} {}", setting.kernel, setting.class, setting.variant()));
        if let Some(record) = self.done.get(&(setting.clone(), repeat)) {
            return Ok(Some(record.clone()));
        }
        let record = match self.program(cell, index) {
            Ok(program) => self.job(&program, index, setting, repeat),
            Err(_) if self.stop.is_interrupted() => return Ok(None),
            // A failed build is not repeated.
            Err(_) if repeat > 0 => return Ok(None),
            Err(refusal) if self.is_left_out(&refusal, index) => return Ok(None),
            Err(Refusal { why, log, .. }) => {
                Record { why: Some(why), log, ..Record::new(setting, repeat) }
            }
        };
        if self.stop.is_interrupted() {
            return Ok(None);
        }
        if let Some(writer) = &mut self.writer {
            writer.add(&record)?;
        }
        Ok(Some(record))
    }

    fn is_left_out(&self, refusal: &Refusal, index: usize) -> bool {
        refusal.is_unfit && self.variants[index].tools.is_peer
    }

    fn setting(&self, cell: &Cell, index: usize) -> Setting {
        let Variant { tools, device, progress } = &self.variants[index];
        Setting {
            source: self.source.name().to_owned(),
            kernel: cell.kernel.clone(),
            class: cell.class,
            ranks: cell.ranks,
            library: tools.label.clone(),
            device: device.clone(),
            progress: progress.clone(),
        }
    }

    /// The program of a cell, built once for each library. A missing feature of a peer is reported once,
    /// however many kernels need it.
    fn program(&mut self, cell: &Cell, index: usize) -> Result<Program, Refusal> {
        let tools = self.variants[index].tools;
        let ranks = if self.source.is_built_for_ranks() { cell.ranks } else { 0 };
        let key = (tools.label.clone(), cell.kernel.clone(), cell.class, ranks);
        if let Some(built) = self.programs.get(&key) {
            return built.clone();
        }
        let Cell { kernel, class, .. } = cell;
        self.bar.set_message(format!("building {kernel}.{class} for {}", tools.label));
        let built = self.source.build(cell, tools, &self.stop);
        if let Err(refusal) = &built
            && self.is_left_out(refusal, index)
            && !self.programs.iter().any(|(of, other)| of.0 == tools.label && *other == built)
        {
            let (label, why) = (&tools.label, refusal.with_log());
            let note = format!("{kernel}.{class} is left out for {label}, as others may be: {why}");
            self.bar.suspend(|| eprintln!("npb: {note}"));
        }
        self.programs.insert(key, built.clone());
        built
    }

    /// Runs a program once.
    fn job(&self, program: &Program, index: usize, setting: Setting, repeat: u32) -> Record {
        let log = self.log(&setting, repeat);
        let folder = self.scratch.path().join("job");
        let output = self
            .command(program, index, setting.ranks, &folder)
            .and_then(|command| job::run(command, &log, self.request.limit, &self.stop));
        // Files that a kernel writes beside its output are not needed, and can be large.
        let _ = fs::remove_dir_all(&folder);
        let record = output::record(setting, repeat, output);
        let why = record.why.as_ref().map(|why| job::explained(why, &log));
        let kept = self.request.logs.as_ref().map(|_| log);
        Record { why, log: kept, ..record }
    }

    fn command(
        &self, program: &Program, index: usize, ranks: u32, folder: &Path,
    ) -> Result<Command, String> {
        let unusable = |error| format!("cannot make {}: {error}", folder.display());
        fs::create_dir_all(folder).map_err(unusable)?;
        let Variant { tools, device, progress } = &self.variants[index];
        let mut command = tools.job(ranks, &program.path);
        command.args(&program.arguments).current_dir(folder);
        for (name, value) in [(DEVICE, device), (PROGRESS, progress)] {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        Ok(command)
    }

    /// The log file of a run.
    fn log(&self, setting: &Setting, repeat: u32) -> PathBuf {
        let Setting { kernel, class, ranks, .. } = setting;
        let variant = setting.variant().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let name = format!("{kernel}.{class}.{ranks}.{variant}.{repeat}.log");
        self.request.logs.as_deref().unwrap_or(self.scratch.path()).join(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_ranks_follow_their_rules() {
        let allowed =
            |rule: Ranks| (1..=20).filter(|&ranks| rule.allow(ranks)).collect::<Vec<u32>>();
        assert_eq!(allowed(Ranks::Squares), [1, 4, 9, 16]);
        assert_eq!(allowed(Ranks::PowersOfTwo), [1, 2, 4, 8, 16]);
        assert_eq!(allowed(Ranks::TwoFactors), [1, 2, 4, 6, 8, 9, 12, 15, 16, 18, 20]);
        assert_eq!(allowed(Ranks::Any).len(), 20);
        assert_eq!(Ranks::Squares.of(&[1, 2, 4]), [1, 4]);
        assert_eq!(Ranks::Exactly(5).of(&[1, 2]), [5]);
    }
}
