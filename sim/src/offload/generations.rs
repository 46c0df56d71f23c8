//! Which programs an interface of a generation can hold: every algorithm of the operations with
//! uniform arguments, on an idle interface. Software of the interface runs the others.
//!
//! The text has a row for each algorithm and the ranks on which each generation runs it; a note has the
//! reason where that is not all of them.

use std::ops::RangeInclusive;

use mpi_abi::devices::torus::Generation;
use mpi_abi::mpi::collective::algorithms::Shape;
use mpi_abi::mpi::collective::algorithms::algorithm::{AgreedArguments, Arguments};
use mpi_abi::mpi::collective::selection::registry::{
    AlgorithmFamily, CollectiveOperation, Visitor,
};
use mpi_abi::offload::compile::{Rules, link_all};
use mpi_abi::offload::{Program, Schedule};

use super::table;

/// The segments of pipelined algorithms, beside one.
const SEGMENTS: usize = 64;

/// Operations that need only one length.
const OPERATIONS: [CollectiveOperation; 11] = [
    CollectiveOperation::Barrier,
    CollectiveOperation::Bcast,
    CollectiveOperation::Gather,
    CollectiveOperation::Scatter,
    CollectiveOperation::Allgather,
    CollectiveOperation::Alltoall,
    CollectiveOperation::Reduce,
    CollectiveOperation::Allreduce,
    CollectiveOperation::ReduceScatter,
    CollectiveOperation::Scan,
    CollectiveOperation::Exscan,
];

/// What an idle interface does with the programs of an operation on some ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fit {
    /// The number of ranks.
    pub ranks: u32,
    /// Counters of both tanks, the maximum over the ranks; 0 if there is no program.
    pub counters: u32,
    /// Why software runs the program of some rank.
    pub refusal: Option<String>,
}

/// An algorithm on one generation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The operation.
    pub operation: CollectiveOperation,
    /// The name of the algorithm, with its segments if there are several.
    pub algorithm: String,
    /// The generation.
    pub generation: Generation,
    /// By ascending numbers of ranks; none for those that the algorithm does not support.
    pub fits: Vec<Fit>,
}

impl Row {
    /// The numbers of ranks whose programs the interfaces run, like `2-8, 16`.
    pub fn ranks(&self) -> String {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for (fit, before) in
            self.fits.iter().zip([None].into_iter().chain(self.fits.iter().map(Some)))
        {
            if fit.refusal.is_some() {
                continue;
            }
            match runs.last_mut().filter(|_| before.is_some_and(|it| it.refusal.is_none())) {
                Some(run) => run.1 = fit.ranks,
                None => runs.push((fit.ranks, fit.ranks)),
            }
        }
        let run = |(first, last): (u32, u32)| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        };
        let runs: Vec<String> = runs.into_iter().map(run).collect();
        if runs.is_empty() { "none".to_owned() } else { runs.join(", ") }
    }

    /// The first refusal.
    pub fn refusal(&self) -> Option<&str> {
        self.fits.iter().find_map(|fit| fit.refusal.as_deref())
    }

    /// The largest number of counters.
    pub fn counters(&self) -> u32 {
        self.fits.iter().map(|fit| fit.counters).max().unwrap_or(0)
    }
}

/// The rows of all operations and generations, for messages, blocks or operands of this length.
pub fn rows(ranks: &RangeInclusive<u32>, bytes: usize) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for operation in OPERATIONS {
        let of_operation = rows.len();
        for ranks in ranks.clone() {
            let shape = Shape { ranks };
            for (algorithm, schedules) in operation.visit(shape, bytes, Listed { shape, bytes }) {
                for generation in Generation::ALL {
                    let same = |row: &Row| {
                        (row.algorithm.as_str(), row.generation) == (algorithm.as_str(), generation)
                    };
                    let at = rows[of_operation..].iter().position(same).unwrap_or_else(|| {
                        let (algorithm, fits) = (algorithm.clone(), Vec::new());
                        rows.push(Row { operation, algorithm, generation, fits });
                        rows.len() - 1 - of_operation
                    });
                    let fit = fit(operation, &schedules, generation);
                    rows[of_operation + at].fits.push(fit);
                }
            }
        }
    }
    rows
}

/// The rows as text: those that some generation does not run everywhere, or all.
pub fn text(rows: &[Row], all: bool) -> String {
    let head = ["operation", "algorithm"].map(str::to_owned).into_iter();
    let names = Generation::ALL.map(|generation| generation.name().to_owned());
    let mut lines: Vec<[String; 7]> = Vec::new();
    let tail = ["counters".to_owned()];
    lines.extend(head.chain(names).chain(tail).collect::<Vec<_>>().try_into());
    let mut notes: Vec<String> = Vec::new();
    for of_algorithm in rows.chunks(Generation::ALL.len()) {
        let is_everywhere = of_algorithm.iter().all(|row| row.refusal().is_none());
        if is_everywhere && !all {
            continue;
        }
        let first = &of_algorithm[0];
        let (operation, algorithm) = (first.operation.name().to_lowercase(), &first.algorithm);
        let mut cells = vec![operation, algorithm.clone()];
        for row in of_algorithm {
            let note = row.refusal().map(|why| {
                let known = notes.iter().position(|note| note == why);
                known.unwrap_or_else(|| {
                    notes.push(why.to_owned());
                    notes.len() - 1
                })
            });
            let note = note.map_or(String::new(), |note| format!(" [{}]", note + 1));
            cells.push(format!("{}{note}", row.ranks()));
        }
        cells.push(of_algorithm.iter().map(Row::counters).max().unwrap_or(0).to_string());
        lines.extend(<[String; 7]>::try_from(cells));
    }
    let notes = notes.iter().enumerate().map(|(at, why)| format!("[{}] {why}\n", at + 1));
    format!("{}\n{}", table::text(&lines), notes.collect::<String>())
}

/// Compiles for one generation.
fn fit(operation: CollectiveOperation, schedules: &[Schedule], generation: Generation) -> Fit {
    let limits = generation.limits();
    let synchronizes = operation == CollectiveOperation::Barrier;
    let rules = limits.rules(Rules { synchronizes, ..Rules::SAFE });
    let ranks = schedules.len() as u32;
    let programs = match link_all(schedules, &rules) {
        Ok(programs) => programs,
        Err(why) => {
            // The same for every rank and step.
            let why = why.rsplit_once(": ").map_or(why.as_str(), |(_, why)| why);
            let why = why.trim_start_matches("step ").trim_start_matches(char::is_numeric).trim();
            return Fit { ranks, counters: 0, refusal: Some(format!("a step {why}")) };
        }
    };
    let counters = |program: &Program| u32::from(program.counters()) * u32::from(program.tanks);
    let refusal = |program: &Program| match limits.slots_for(program) {
        Ok(_) if counters(program) > limits.counters => {
            Some(format!("more than the {} counters of {}", limits.counters, generation.name()))
        }
        Ok(_) => None,
        Err(why) => Some(why.to_owned()),
    };
    Fit {
        ranks,
        counters: programs.iter().map(counters).max().unwrap_or(0),
        refusal: programs.iter().find_map(refusal),
    }
}

/// The algorithms that fit: names, and the schedules of all ranks.
struct Listed {
    shape: Shape,
    bytes: usize,
}

impl Visitor for Listed {
    type Output = Vec<(String, Vec<Schedule>)>;

    fn visit<A: Arguments>(
        self, family: &AlgorithmFamily<A>, args: A::Borrowed<'_>,
    ) -> Self::Output {
        let Self { shape, bytes } = self;
        let mut listed = Vec::new();
        for algorithm in family.algorithms.iter().filter(|it| (it.fits)(shape, args.agreed())) {
            let whole = (0..shape.ranks).map(|rank| (algorithm.schedule)(shape, rank, args));
            listed.push((algorithm.name.to_owned(), whole.collect()));
            let segment = bytes / SEGMENTS;
            if let Some(cut) = algorithm.segmented.as_ref().filter(|_| segment > 0) {
                let cut = |rank| (cut.schedule)(shape, rank, args, segment);
                let name = format!("{}, {SEGMENTS} segments", algorithm.name);
                listed.push((name, (0..shape.ranks).map(cut).collect()));
            }
        }
        listed
    }
}
