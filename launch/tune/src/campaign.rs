//! The jobs of a measurement: rounds of all algorithms for each number of ranks, then rounds with and without
//! the rules that have come out.
//!
//! A job sets one algorithm for each operation, so the jobs of a round are as many as the algorithms of the
//! operation that has most of them. An algorithm that is far slower than the default in the first rounds
//! is not measured further. The time of a call follows from the budget; where even the shortest is too long,
//! the rounds are fewer, at least [`ROUNDS_MIN`].

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mpi_abi::mpi::collective::selection::registry::CollectiveOperation;
use platform::base::settings::{COLLECTIVE_PREFIX, RULES};

use crate::choice;
use crate::choice::{RoundTimes, TunedRule, Winner};
use crate::job::{JobFailure, JobResult, JobStarter, MeasuringJob};
use crate::plan::{JobLayout, TunedCall};
use crate::rules_text;

/// The shortest and the longest time for a call in a job, in seconds. Below, a single interruption of a rank
/// counts; above, another round tells more.
const SECONDS_OF_CALL: [f64; 2] = [2e-3, 50e-3];

/// The part of the budget for the first rounds; the others are for those with rules.
const FIRST_PART: f64 = 0.7;

/// What a call takes beside the time that it is given: the calls before, and finding their number.
const UNMEASURED: f64 = 1.6;

/// Rounds that are made even if the budget is used up: fewer tell nothing.
pub const ROUNDS_MIN: usize = 3;

/// Rounds after which slow algorithms are left out, and how much slower than the default they are.
const TRIAL_ROUNDS: usize = 2;
const HOPELESS: f64 = 1.3;

/// The least time limit of a job, and how much more than the expected time a job has.
const LIMIT_MIN: Duration = Duration::from_secs(60);
const LIMIT_FACTOR: f64 = 20.0;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct TuningRequest {
    /// Sizes of jobs.
    pub ranks: Vec<u32>,
    /// What is measured.
    pub operations: Vec<CollectiveOperation>,
    /// Lengths, ascending, each once.
    pub bytes: Vec<usize>,
    /// Rounds of jobs, twice.
    pub rounds: usize,
    /// The part of the default's time by which an algorithm must be faster.
    pub margin: f64,
    /// The time for all.
    pub budget: Duration,
    /// Whether only reproducible reductions are admitted (`SUIRO_REDUCE`).
    pub reproducible: bool,
}

/// What has come out.
#[derive(Clone, Debug, Default)]
pub struct TuningResult {
    /// The rules, by ranks and operation.
    pub rules: Vec<TunedRule>,
    /// Calls that were measured.
    pub calls: usize,
    /// What went wrong and did not end the measurement.
    pub notes: Vec<String>,
}

impl TuningResult {
    /// Calls in which the default takes at most the part `near` more time than the fastest algorithm takes.
    pub fn near_default(&self, near: f64) -> usize {
        let winners = self.rules.iter().flat_map(|rule| &rule.winners);
        self.calls - winners.filter(|it| it.default_s > it.time_s * (1.0 + near)).count()
    }
}

/// A measurement that is running.
pub struct Campaign<'a> {
    request: &'a TuningRequest,
    starter: &'a JobStarter,
    /// The file of rules on trial; removed at the end.
    trial: TrialFile,
    /// Called with what begins.
    progress: &'a dyn Fn(&str),
    calls: usize,
    notes: Vec<String>,
}

/// The times of one call.
struct CallTimes {
    call: TunedCall,
    default: RoundTimes,
    by: Vec<(&'static str, RoundTimes)>,
}

/// One job of a round: the algorithm of each operation, if it is not the default, and the calls.
struct RoundJob {
    algorithms: Vec<(CollectiveOperation, &'static str)>,
    calls: Vec<TunedCall>,
}

/// A file that is removed when it is dropped.
struct TrialFile(PathBuf);

impl TrialFile {
    /// # Errors
    /// If the file cannot be written.
    fn write(&self, rules: &[TunedRule]) -> Result<(), JobFailure> {
        let text = rules_text::text(&["On trial.".to_owned()], rules);
        fs::write(&self.0, text).map_err(|error| {
            JobFailure::Failed(format!("cannot write {}: {error}", self.0.display()))
        })
    }
}

impl Drop for TrialFile {
    fn drop(&mut self) {
        // It may not have been written.
        let _ = fs::remove_file(&self.0);
    }
}

impl<'a> Campaign<'a> {
    /// A measurement whose rules will be in the file `output`: rules on trial are in a file beside it, which all
    /// hosts of a job must see.
    pub fn new(
        request: &'a TuningRequest, starter: &'a JobStarter, output: &Path,
        progress: &'a dyn Fn(&str),
    ) -> Self {
        let mut trial = output.as_os_str().to_owned();
        trial.push(".trial");
        Self {
            request,
            starter,
            trial: TrialFile(trial.into()),
            progress,
            calls: 0,
            notes: Vec::new(),
        }
    }

    /// Runs all jobs.
    ///
    /// # Errors
    /// If the file on trial cannot be written, a job with the default fails, or this process is asked to end.
    pub fn run(mut self) -> Result<TuningResult, JobFailure> {
        let begin = Instant::now();
        // A folder that cannot be written is known before all the jobs.
        self.trial.write(&[])?;
        let mut rules = Vec::new();
        let counts = &self.request.ranks;
        for (index, ranks) in counts.iter().enumerate() {
            let left = self.request.budget.saturating_sub(begin.elapsed());
            let budget = left / (counts.len() - index) as u32;
            rules.extend(self.tune(*ranks, budget)?);
        }
        Ok(TuningResult { rules, calls: self.calls, notes: self.notes })
    }

    /// The rules for one number of ranks.
    fn tune(&mut self, ranks: u32, budget: Duration) -> Result<Vec<TunedRule>, JobFailure> {
        let begin = Instant::now();
        let TuningRequest { operations, bytes, reproducible, .. } = self.request;
        let calls = TunedCall::all(operations, bytes, ranks);
        let Some(first) = calls.first() else { return Ok(Vec::new()) };
        self.calls += calls.len();
        (self.progress)(&format!("{ranks} ranks"));
        // The first job reads the programs from the disk.
        for _ in 0..2 {
            self.job(ranks, &[*first], SECONDS_OF_CALL[0], &[])?;
        }
        let probe = Instant::now();
        let on = self.job(ranks, &[*first], SECONDS_OF_CALL[0], &[])?.layout;
        let overhead = probe.elapsed();
        let times = calls.iter().map(|call| {
            let names = call.algorithms(on, *reproducible).into_iter();
            let by = names.map(|name| (name, RoundTimes::new())).collect();
            CallTimes { call: *call, default: RoundTimes::new(), by }
        });
        let mut times: Vec<CallTimes> = times.collect();
        let first_part = budget.mul_f64(FIRST_PART).saturating_sub(begin.elapsed());
        self.first_rounds(on, &mut times, first_part, overhead)?;
        let winners = winners(&times, on, self.request.margin);
        let left = budget.saturating_sub(begin.elapsed());
        let winners = self.second_rounds(on, winners, left, overhead)?;
        Ok(self.rules(&winners))
    }

    fn rules(&self, winners: &[Winner]) -> Vec<TunedRule> {
        let of_operation = |operation: &CollectiveOperation| {
            let own: Vec<Winner> =
                winners.iter().filter(|it| it.call.operation == *operation).cloned().collect();
            let bytes: &[usize] =
                if operation.has_agreed_bytes() { &self.request.bytes } else { &[0] };
            choice::rules(bytes, &own)
        };
        self.request.operations.iter().flat_map(of_operation).collect()
    }

    /// Rounds with every algorithm.
    fn first_rounds(
        &mut self, on: JobLayout, times: &mut [CallTimes], budget: Duration, overhead: Duration,
    ) -> Result<(), JobFailure> {
        let (begin, rounds) = (Instant::now(), self.request.rounds);
        let planned = round_jobs(times);
        let seconds = seconds_of_call(&planned, rounds, budget, overhead);
        for round in 0..rounds {
            if round >= ROUNDS_MIN && begin.elapsed() > budget {
                self.note_few_rounds(on, round);
                break;
            }
            let mut jobs = round_jobs(times);
            let count = jobs.len();
            // Another one first in each round: what is left by one job meets another one.
            jobs.rotate_left(round % count.max(1));
            for (index, job) in jobs.iter().enumerate() {
                (self.progress)(&format!(
                    "{} ranks: round {} of {rounds}, job {} of {count}",
                    on.ranks,
                    round + 1,
                    index + 1
                ));
                self.first_job(on, job, seconds, times)?;
            }
        }
        Ok(())
    }

    /// A job of the first rounds. An algorithm whose job fails is measured no more.
    fn first_job(
        &mut self, on: JobLayout, job: &RoundJob, seconds: f64, times: &mut [CallTimes],
    ) -> Result<(), JobFailure> {
        let settings = job.settings();
        match self.job(on.ranks, &job.calls, seconds, &settings) {
            Ok(result) => {
                job.keep(&result, times);
                Ok(())
            }
            Err(JobFailure::Failed(why)) if !job.algorithms.is_empty() => {
                self.notes.push(format!("{} ranks, {}: {why}", on.ranks, job.names()));
                for call in times {
                    call.by.retain(|(name, _)| !job.sets(call.call.operation, name));
                }
                Ok(())
            }
            Err(failure) => Err(failure),
        }
    }

    /// Rounds with the rules of the winners and without; those that win again.
    fn second_rounds(
        &mut self, on: JobLayout, winners: Vec<Winner>, budget: Duration, overhead: Duration,
    ) -> Result<Vec<Winner>, JobFailure> {
        if winners.is_empty() {
            return Ok(winners);
        }
        self.trial.write(&self.rules(&winners))?;
        // Ranks may run in another folder.
        let file = fs::canonicalize(&self.trial.0).unwrap_or_else(|_| self.trial.0.clone());
        let ruled = [(RULES.to_owned(), file.into_os_string())];
        let calls: Vec<TunedCall> = winners.iter().map(|winner| winner.call).collect();
        let job = || RoundJob { algorithms: Vec::new(), calls: calls.clone() };
        let (begin, rounds) = (Instant::now(), self.request.rounds);
        let seconds = seconds_of_call(&[job(), job()], rounds, budget, overhead);
        let mut results = [Vec::new(), Vec::new()];
        for round in 0..rounds {
            if round >= ROUNDS_MIN && begin.elapsed() > budget {
                self.note_few_rounds(on, round);
                break;
            }
            for which in [round % 2, 1 - round % 2] {
                (self.progress)(&format!(
                    "{} ranks: trial of rules, round {} of {rounds}",
                    on.ranks,
                    round + 1
                ));
                let settings: &[_] = if which == 1 { &ruled } else { &[] };
                results[which].push(self.job(on.ranks, &calls, seconds, settings)?);
            }
        }
        let margin = self.request.margin;
        Ok(winners.into_iter().filter_map(|winner| again(winner, &results, margin)).collect())
    }

    fn note_few_rounds(&mut self, on: JobLayout, rounds: usize) {
        self.notes.push(format!(
            "{} ranks: only {rounds} of {} rounds in the time; give more by --time, or measure less",
            on.ranks, self.request.rounds
        ));
    }

    fn job(
        &self, ranks: u32, calls: &[TunedCall], seconds: f64, settings: &[(String, OsString)],
    ) -> Result<JobResult, JobFailure> {
        let expected = seconds * UNMEASURED * calls.len() as f64;
        let limit = LIMIT_MIN + Duration::from_secs_f64(expected * LIMIT_FACTOR);
        self.starter.run(&MeasuringJob { ranks, calls, seconds, settings, limit })
    }
}

impl CallTimes {
    /// Whether an algorithm is so much slower than the default that more rounds tell nothing.
    fn is_hopeless(&self, times: &RoundTimes) -> bool {
        let medians = (choice::median(times), choice::median(&self.default));
        let (Some(time), Some(default)) = medians else { return false };
        times.len() >= TRIAL_ROUNDS && time > default * HOPELESS
    }

    /// The algorithms that are worth another round.
    fn hopeful(&self) -> impl Iterator<Item = &'static str> {
        self.by.iter().filter(|(_, times)| !self.is_hopeless(times)).map(|(name, _)| *name)
    }
}

impl RoundJob {
    fn settings(&self) -> Vec<(String, OsString)> {
        let setting = |(operation, name): &(CollectiveOperation, &'static str)| {
            (format!("{COLLECTIVE_PREFIX}{}", operation.name()), OsString::from(name))
        };
        self.algorithms.iter().map(setting).collect()
    }

    fn names(&self) -> String {
        let names = self
            .algorithms
            .iter()
            .map(|(operation, name)| format!("{COLLECTIVE_PREFIX}{}={name}", operation.name()));
        names.collect::<Vec<_>>().join(" ")
    }

    /// Whether the job sets this algorithm for this operation.
    fn sets(&self, operation: CollectiveOperation, name: &str) -> bool {
        self.algorithms.iter().any(|it| (it.0, it.1) == (operation, name))
    }

    /// Adds the times of the job.
    fn keep(&self, result: &JobResult, times: &mut [CallTimes]) {
        for (call, seconds) in &result.times {
            let Some(of) = times.iter_mut().find(|it| it.call == *call) else { continue };
            if self.algorithms.is_empty() {
                of.default.push(*seconds);
            }
            let by = of.by.iter_mut().filter(|(name, _)| self.sets(call.operation, name));
            by.for_each(|(_, times)| times.push(*seconds));
        }
    }
}

/// The jobs of a round: one with the default, and one for the first, second, ... algorithm of each operation
/// that is worth it.
fn round_jobs(times: &[CallTimes]) -> Vec<RoundJob> {
    let calls = times.iter().map(|it| it.call).collect();
    let mut jobs = vec![RoundJob { algorithms: Vec::new(), calls }];
    let mut names: Vec<(CollectiveOperation, Vec<&'static str>)> = Vec::new();
    for it in times {
        let operation = it.call.operation;
        if names.last().is_none_or(|(other, _)| *other != operation) {
            names.push((operation, Vec::new()));
        }
        let Some((_, own)) = names.last_mut() else { continue };
        for name in it.hopeful() {
            if !own.contains(&name) {
                own.push(name);
            }
        }
    }
    let count = names.iter().map(|(_, own)| own.len()).max().unwrap_or(0);
    jobs.extend((0..count).map(|index| {
        let algorithms: Vec<_> = names
            .iter()
            .filter_map(|(operation, own)| Some((*operation, *own.get(index)?)))
            .collect();
        let has = |it: &&CallTimes| {
            it.hopeful().any(|name| algorithms.contains(&(it.call.operation, name)))
        };
        let calls = times.iter().filter(has).map(|it| it.call).collect();
        RoundJob { algorithms, calls }
    }));
    jobs
}

/// The time for each call, so that these jobs take the budget in so many rounds.
fn seconds_of_call(jobs: &[RoundJob], rounds: usize, budget: Duration, overhead: Duration) -> f64 {
    let calls: usize = jobs.iter().map(|job| job.calls.len()).sum();
    let measured = budget.saturating_sub(overhead * (jobs.len() * rounds) as u32);
    let each = measured.as_secs_f64() / UNMEASURED / (calls * rounds).max(1) as f64;
    each.clamp(SECONDS_OF_CALL[0], SECONDS_OF_CALL[1])
}

fn winners(times: &[CallTimes], on: JobLayout, margin: f64) -> Vec<Winner> {
    let winner = |it: &CallTimes| {
        let others = it.by.iter().map(|(name, times)| (*name, times));
        let (algorithm, time_s, default_s) = choice::best(&it.default, others, margin)?;
        Some(Winner { call: it.call, on, algorithm, time_s, default_s })
    };
    times.iter().filter_map(winner).collect()
}

/// The winner with its times in the jobs without and with its rule, if it wins there.
fn again(winner: Winner, results: &[Vec<JobResult>; 2], margin: f64) -> Option<Winner> {
    let times = |results: &[JobResult]| -> RoundTimes {
        let all = results.iter().flat_map(|result| &result.times);
        all.filter(|(call, _)| *call == winner.call).map(|(_, seconds)| *seconds).collect()
    };
    let (time_s, default_s) = choice::faster(&times(&results[1]), &times(&results[0]), margin)?;
    Some(Winner { time_s, default_s, ..winner })
}

/// What the jobs of a request will be, for users.
pub fn dry_run(request: &TuningRequest, starter: &JobStarter) -> String {
    let mut text = String::new();
    for ranks in &request.ranks {
        let on = JobLayout { ranks: *ranks, ranks_per_host: *ranks };
        let calls = TunedCall::all(&request.operations, &request.bytes, *ranks);
        let times = calls.iter().map(|call| CallTimes {
            call: *call,
            default: RoundTimes::new(),
            by: call
                .algorithms(on, request.reproducible)
                .into_iter()
                .map(|name| (name, RoundTimes::new()))
                .collect(),
        });
        let jobs = round_jobs(&times.collect::<Vec<_>>());
        let command = starter.shown(*ranks);
        text += &format!("{} rounds of {} jobs: {command}\n", request.rounds, jobs.len());
        for job in &jobs {
            let names = if job.algorithms.is_empty() { "default".to_owned() } else { job.names() };
            text += &format!("  {} calls: {names}\n", job.calls.len());
        }
    }
    text += "On several hosts, two_level is measured instead of shared.\n";
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const ON: JobLayout = JobLayout { ranks: 4, ranks_per_host: 4 };

    fn call(operation: CollectiveOperation, bytes: usize) -> TunedCall {
        TunedCall { operation, bytes }
    }

    fn times(call: TunedCall, default: &[f64], by: &[(&'static str, &[f64])]) -> CallTimes {
        let by = by.iter().map(|(name, times)| (*name, times.to_vec())).collect();
        CallTimes { call, default: default.to_vec(), by }
    }

    #[test]
    fn a_round_has_a_job_for_each_algorithm_that_is_worth_it() {
        let bcast = |bytes| call(CollectiveOperation::Bcast, bytes);
        let reduce = call(CollectiveOperation::Reduce, 8);
        let all = [
            times(bcast(8), &[1.0, 1.0], &[("chain", &[2.0, 2.0]), ("linear", &[0.9, 0.9])]),
            times(bcast(64), &[1.0, 1.0], &[("chain", &[1.1, 1.1]), ("linear", &[9.0, 9.0])]),
            times(reduce, &[1.0, 1.0], &[("in_order", &[9.0])]),
        ];
        let jobs = round_jobs(&all);
        let shown: Vec<_> = jobs.iter().map(|job| (job.names(), job.calls.clone())).collect();
        let expected = [
            (String::new(), vec![bcast(8), bcast(64), reduce]),
            (
                "SUIRO_COLL_BCAST=linear SUIRO_COLL_REDUCE=in_order".to_owned(),
                vec![bcast(8), reduce],
            ),
            ("SUIRO_COLL_BCAST=chain".to_owned(), vec![bcast(64)]),
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn times_go_to_their_algorithm_and_the_best_wins() {
        let bcast = call(CollectiveOperation::Bcast, 8);
        let mut all = [times(bcast, &[], &[("chain", &[]), ("linear", &[])])];
        for (job, seconds) in round_jobs(&all).iter().zip([4.0, 3.0, 2.0]) {
            job.keep(&JobResult { layout: ON, times: vec![(bcast, seconds)] }, &mut all);
        }
        let found = winners(&all, ON, 0.05);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].algorithm, found[0].time_s, found[0].default_s), ("linear", 2.0, 4.0));
    }

    #[test]
    fn a_winner_must_win_again() {
        let bcast = call(CollectiveOperation::Bcast, 8);
        let winner =
            Winner { call: bcast, on: ON, algorithm: "linear", time_s: 2.0, default_s: 4.0 };
        let results = |seconds| vec![JobResult { layout: ON, times: vec![(bcast, seconds)] }];
        let found = again(winner.clone(), &[results(4.0), results(3.0)], 0.05).unwrap();
        assert_eq!((found.time_s, found.default_s), (3.0, 4.0));
        assert_eq!(again(winner.clone(), &[results(4.0), results(3.9)], 0.05), None);
        assert_eq!(again(winner, &[results(4.0), Vec::new()], 0.05), None);
    }

    #[test]
    fn the_time_of_a_call_follows_from_the_budget_within_limits() {
        let bcast = call(CollectiveOperation::Bcast, 8);
        let jobs = [RoundJob { algorithms: Vec::new(), calls: vec![bcast; 10] }];
        let seconds = |budget_s| {
            seconds_of_call(&jobs, 5, Duration::from_secs_f64(budget_s), Duration::from_millis(100))
        };
        assert_eq!(seconds(0.1), SECONDS_OF_CALL[0]);
        assert_eq!(seconds(1e6), SECONDS_OF_CALL[1]);
        assert!((seconds(1.3) - 0.01).abs() < 1e-9, "{}", seconds(1.3));
    }
}
