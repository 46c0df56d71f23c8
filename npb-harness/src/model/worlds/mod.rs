//! `npb model --experiments clusters,progress,vendor,wan`: kernels in worlds of several jobs, and with another
//! MPI library as the carrier of messages.
//!
//! ```text
//! experiment: set-ups ──> stage: jobs of a world ──> record ──> report: tables, charts, CSV
//!                           └── sites: two hosts with a slow link
//! ```

pub(crate) mod experiment;
mod sites;
mod stage;

use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};

use crate::{
    job::Stop,
    kernels,
    matrix::{Cell, Program, Refusal, Source as _},
    output,
    record::{Outcome, Record, Setting},
    report::results::OURS,
    request::Request,
    toolchain::{Scratch, Toolchain},
    tree::Tree,
};
use experiment::{Setup, WorldExperiment};
use sites::Sites;
use stage::Stage;

/// What to run.
pub(super) struct Plan<'a> {
    pub experiments: &'a [WorldExperiment],
    pub kernels: &'a [String],
    /// The tree that they come from; `None`: those of this program.
    pub tree: Option<&'a Tree>,
    pub request: &'a Request,
    /// `scripts/hosts`.
    pub hosts: &'a Path,
    /// The slow link, such as `10ms,100Mbit`.
    pub link: &'a str,
}

/// One run, repeated.
struct Run<'a> {
    setting: Setting,
    /// `None`: a peer alone.
    setup: Option<Setup>,
    tools: &'a Toolchain,
}

/// Runs all set-ups that this machine permits, says which it does not, and adds the results to `records`.
///
/// # Errors
/// A kernel cannot be built, or an interrupt. Finished runs are kept.
pub(super) fn measure(
    plan: &Plan<'_>, libraries: &[Toolchain], (scratch, stop): (&Scratch, &Stop),
    records: &mut Vec<Record>,
) -> Result<(), String> {
    let ours = libraries.iter().find(|tools| !tools.is_peer).ok_or("Suiro is missing")?;
    let vendor = libraries.iter().find_map(|it| Some((it, it.standard_library()?)));
    let needs = |what: &dyn Fn(&Setup) -> bool| {
        plan.experiments.iter().any(|experiment| experiment.setups(2).iter().any(what))
    };
    if vendor.is_none() && needs(&Setup::needs_vendor) {
        eprintln!(
            "npb: no --peer PREFIX with lib/libmpi_abi.so.1: set-ups with another MPI library are left \
             out. To get one: python3 -m venv DIR && DIR/bin/pip install mpich, then --peer DIR"
        );
    }
    let mut sites = None;
    if needs(&|setup| setup.has_link) {
        let folder = ours.compiler(crate::toolchain::Language::C).parent();
        let needed = [scratch.path(), folder.unwrap_or(scratch.path())];
        match Sites::start(plan.hosts, plan.link, &needed) {
            Ok(started) => sites = Some(started),
            Err(why) => eprintln!(
                "npb: no slow link, set-ups with it are left out: {why} (--hosts PATH names scripts/hosts of \
                 the sources of Suiro)"
            ),
        }
    }
    let peer = vendor.as_ref().map(|(peer, _)| *peer);
    let peer = peer.or_else(|| libraries.iter().find(|tools| tools.is_peer));
    let stage = Stage { ours, vendor, sites, scratch, stop, limit: plan.request.limit };
    let runs = runs(plan, &stage, peer);
    let bar = ProgressBar::new(runs.len() as u64 * u64::from(plan.request.repeats));
    let style =
        ProgressStyle::with_template("{wide_msg} {pos}/{len} {bar:24} {elapsed}/{duration}");
    bar.set_style(style.map_err(|error| error.to_string())?);
    for repeat in 0..plan.request.repeats {
        for run in &runs {
            let Setting { source, kernel, class, ranks, .. } = &run.setting;
            let name = format!("{source}: {kernel}.{class} on {ranks}, {}", run.setting.variant());
            bar.set_message(name.clone());
            let record =
                output::record(run.setting.clone(), repeat, output_of(run, plan.tree, &stage)?);
            if stop.is_interrupted() {
                return Err("interrupted".to_owned());
            }
            if record.outcome != Outcome::Verified {
                let why = record.why.as_deref().unwrap_or("no reason");
                bar.suspend(|| eprintln!("npb: {name}: {why}"));
            }
            records.push(record);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    Ok(())
}

/// All runs that are possible here.
fn runs<'a>(plan: &Plan<'_>, stage: &Stage<'a>, peer: Option<&'a Toolchain>) -> Vec<Run<'a>> {
    let mut runs = Vec::new();
    for experiment in plan.experiments {
        for kernel in plan.kernels {
            for &class in &plan.request.classes {
                let allowed = plan.tree.map(|tree| tree.ranks(kernel, class));
                let may_have = |ranks: &&u32| allowed.is_none_or(|rule| rule.allow(**ranks));
                for &ranks in plan.request.ranks.iter().filter(may_have) {
                    let setting = Setting {
                        source: experiment.name().to_owned(),
                        kernel: kernel.clone(),
                        class,
                        ranks,
                        library: OURS.to_owned(),
                        device: None,
                        progress: None,
                    };
                    if let Some(tools) = peer.filter(|_| experiment.has_peer()) {
                        let setting = Setting { library: tools.label.clone(), ..setting.clone() };
                        runs.push(Run { setting, setup: None, tools });
                    }
                    let setups = experiment.setups(ranks).into_iter();
                    runs.extend(setups.filter(|setup| stage.has(setup)).map(|setup| {
                        let device = Some(setup.name(plan.link));
                        let progress = Some(setup.mode.to_owned());
                        let setting = Setting { device, progress, ..setting.clone() };
                        Run { setting, setup: Some(setup), tools: stage.ours }
                    }));
                }
            }
        }
    }
    runs
}

/// What a run has printed, or why it has failed.
///
/// # Errors
/// The kernel cannot be built.
fn output_of(
    run: &Run<'_>, tree: Option<&Tree>, stage: &Stage<'_>,
) -> Result<Result<String, String>, String> {
    let ranks = &run.setting.ranks;
    let program = match program(run, tree, stage) {
        Ok(program) => program,
        // A tree need not have all kernels, nor a library all that they need.
        Err(refusal) if tree.is_some() => return Ok(Err(refusal.why)),
        Err(refusal) => return Err(refusal.why),
    };
    let Some(setup) = &run.setup else {
        let mut command = run.tools.job(*ranks, &program.path);
        command.args(&program.arguments);
        let log = stage.scratch.path().join("peer.log");
        let output = crate::job::run(command, &log, stage.limit, stage.stop);
        return Ok(output.map_err(|why| crate::job::explained(&why, &log)));
    };
    Ok(stage.run(setup, &program, *ranks))
}

/// Builds the kernel of a run, or finds the one that has been built.
fn program(run: &Run<'_>, tree: Option<&Tree>, stage: &Stage<'_>) -> Result<Program, Refusal> {
    let Setting { kernel, class, ranks, .. } = &run.setting;
    let Some(tree) = tree else {
        let path = kernels::build(kernel, run.tools, stage.scratch).map_err(Refusal::broken)?;
        return Ok(Program { path, arguments: vec![class.to_string()] });
    };
    if let Some(why) = tree.missing(kernel, *class) {
        return Err(Refusal::broken(why));
    }
    tree.build(
        &Cell { kernel: kernel.clone(), class: *class, ranks: *ranks },
        run.tools,
        stage.stop,
    )
}
