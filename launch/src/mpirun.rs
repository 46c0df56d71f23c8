//! `mpirun` from its arguments to its exit code: parses, checks, places the ranks, runs the job.

use std::cell::LazyCell;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use platform::base::settings;
use platform::bootstrap::PARENT_LINK;
use platform::sys::cpu;
use platform::sys::host::{self, OwnNames};
use platform::sys::signals;
use platform::sys::topology::CpuTopology;

use crate::agent::environment::EnvironmentVariable;
use crate::agent::remote;
use crate::build_info;
use crate::command_line::launcher_name::LauncherName;
use crate::command_line::plan::{App, HostLayout, LaunchPlan, ParentPlan, VariablePattern};
use crate::command_line::{self, HostEnvironment, LaunchCommand};
use crate::control::{CallAddress, HostLimits};
use crate::debugger::Debugger;
use crate::explain;
use crate::folders::Folders;
use crate::head::environment;
use crate::head::ports::PortRange;
use crate::hosts::JobHost;
use crate::linkage;
use crate::placement::display::DisplayOptions;
use crate::placement::report::PlacementReport;
use crate::placement::{
    HostResources, Placement, counts_supposed_objects, may_fill, place_on_hosts,
};
use crate::supervisor;
use crate::{LaunchError, USAGE};

/// The first argument of an agent, which its head starts on another host, and the beginning of the
/// second of one that has to call back.
pub(crate) const AGENT: &str = "--agent";
pub(crate) const AGENT_CALL: &str = "--call=";

/// Runs `mpirun`, or the launcher that the program's own name, the first of `arguments`, means; the
/// exit code.
pub fn main(arguments: impl IntoIterator<Item = OsString>, debugger: &mut dyn Debugger) -> i32 {
    signals::restore();
    let mut arguments = arguments.into_iter();
    let launcher = LauncherName::of(&arguments.next().unwrap_or_default());
    let arguments: Vec<_> = arguments.collect();
    if let Some(code) = agent(&arguments) {
        return code;
    }
    let own_names = LazyCell::new(OwnNames::here);
    let here = HostEnvironment {
        is_local: &|name| own_names.include(name),
        topology: &CpuTopology::here,
        environment: &environment::own_variable,
    };
    let command = command_line::parse(launcher, arguments, &here);
    let code = command.and_then(|command| match command {
        LaunchCommand::Print(text) => print(&text),
        LaunchCommand::Settings => print(&settings::table(|name| std::env::var(name).ok())),
        LaunchCommand::BuildInfo => print(&build_info::text(Folders::own().ok().as_ref())),
        LaunchCommand::Run(mut plan) => launch(&mut plan, debugger),
    });
    code.unwrap_or_else(|error| {
        print_line(launcher.name(), &error.why);
        error.code
    })
}

/// Runs an agent, if these are its arguments; the exit code.
fn agent(arguments: &[OsString]) -> Option<i32> {
    match arguments {
        [agent] if agent == AGENT => Some(remote::main(None)),
        [agent, call] if agent == AGENT => {
            let address = CallAddress::parse(call.to_str()?.strip_prefix(AGENT_CALL)?)?;
            Some(remote::main(Some(&address)))
        }
        _ => None,
    }
}

fn print(text: &str) -> Result<i32, LaunchError> {
    match io::stdout().write_all(text.as_bytes()) {
        Ok(()) => Ok(0),
        Err(error) => Err(LaunchError::new(1, format!("cannot write standard output: {error}"))),
    }
}

/// Prints a line on standard error; a failure to write is ignored.
pub(crate) fn print_note(line: &str) {
    print_line("mpirun", line);
}

fn print_line(launcher: &str, line: &str) {
    let _ = writeln!(io::stderr(), "{launcher}: {line}");
}

fn launch(plan: &mut LaunchPlan, debugger: &mut dyn Debugger) -> Result<i32, LaunchError> {
    check(plan)?;
    plan.limits = HostLimits::from_lookup(|name| std::env::var(name).ok())?;
    plan.parent = ParentPlan::from_lookup(|name| std::env::var_os(name));
    plan.ports = PortRange::from_lookup(|name| std::env::var(name).ok())?;
    if let Some(ports) = &plan.ports {
        ports.pass_on(&mut plan.global_environment);
    }
    let environments = environment::of_apps(plan);
    let threads = threads(&environments);
    let placement = placed(plan, threads)?;
    plan.layout = HostLayout::new(&plan.hosts, &placement);
    if plan.explain {
        let host = explain::Host {
            name: &host::name(),
            processors: cpu::affinity().map_or(0, |processors| processors.len()),
            quota: cpu::quota(),
            threads,
        };
        explain::lines(plan, &placement, host).iter().for_each(|line| print_note(line));
    }
    if plan.dry_run {
        return Ok(0);
    }
    match supervisor::run(plan, &environments, &placement, debugger) {
        Ok(code) => Ok(code),
        Err(error) => Err(LaunchError::new(1, format!("cannot run the job: {error}"))),
    }
}

/// Checks `plan` before anything is started, and prints its notes.
fn check(plan: &LaunchPlan) -> Result<(), LaunchError> {
    plan.input.check(plan.size())?;
    for app in &plan.apps {
        // Of a folder on another host, only its agent knows.
        let is_missing = |path: &&Path| !plan.hosts.is_remote() && !path.is_dir();
        if let Some(directory) = app.directory.as_deref().filter(is_missing) {
            let why = format!("-wdir {}: not a directory", directory.display());
            return Err(LaunchError::new(USAGE, why));
        }
        for VariablePattern(name) in &app.variables.passed {
            if !name.as_bytes().ends_with(b"*") && std::env::var_os(name).is_none() {
                print_note(&format!(
                    "-x {}: not set here, so not passed on",
                    name.to_string_lossy()
                ));
            }
        }
    }
    let several = if plan.size() > 1 { &plan.apps[..] } else { &[] };
    let notes = plan.notes.iter().cloned().chain(several.iter().filter_map(linkage::note));
    for note in notes.chain(without_name_server(plan)) {
        print_note(&format!("note: {note}"));
    }
    Ok(())
}

/// A note about a name server whose file is not there: it may be before a rank needs it. A spawned job has
/// the server of the job that has spawned it.
fn without_name_server(plan: &LaunchPlan) -> Option<String> {
    let is_first = std::env::var_os(PARENT_LINK).is_none();
    let address = plan.name_server.as_ref().filter(|_| is_first && !plan.quiet)?;
    let why = address.find().err()?;
    Some(format!("no name server yet: {why}"))
}

/// The placement of the ranks; prints it as far as `plan` requests.
fn placed(plan: &LaunchPlan, threads: usize) -> Result<Placement, LaunchError> {
    let mut display = plan.display;
    display.map |= plan.dry_run && display == DisplayOptions::default();
    let ranks = plan.size() as usize;
    let usable = cpu::affinity().map_or(0, |processors| processors.len());
    let is_remote = plan.hosts.is_remote();
    let may_bind = is_remote || may_fill(ranks, threads, usable);
    if plan.placement.is_empty() && display.is_empty() && !may_bind {
        return Ok(Placement::default());
    }
    // If the system does not show its processors, ranks are bound only if that was requested.
    let topology = CpuTopology::here().or_else(|error| {
        let why = format!("cannot find out which processors may be used: {error}");
        let empty = plan.placement.is_empty().then(|| CpuTopology::read(&[], &|_| None));
        empty.ok_or_else(|| LaunchError::new(1, why))
    })?;
    let own = host::name();
    let hosts = resources(plan, &own, &topology);
    let programs: Vec<_> = plan.apps.iter().map(App::ranks).collect();
    let placement = match place_on_hosts(&plan.placement, &hosts, &programs, threads) {
        // The agents report what their hosts have.
        Err(_) if !plan.dry_run && counts_supposed_objects(&plan.placement, &hosts) => {
            let (processors, host_of_rank) = (vec![None; ranks], vec![0; ranks]);
            Placement { processors, host_of_rank, note: None }
        }
        placed => placed?,
    };
    if is_remote && !plan.dry_run {
        // The head places the ranks anew and prints that.
        return Ok(placement);
    }
    if is_remote && !plan.quiet {
        print_note(
            "note: other hosts are not asked; shown as if they had the processors of this one",
        );
    }
    if let Some(note) = placement.note.as_deref().filter(|_| !plan.quiet) {
        print_note(&format!("note: {note}"));
    }
    let program = |app: u32| plan.apps[app as usize].program.to_string_lossy().into_owned();
    let programs: Vec<_> = plan.app_of_rank().into_iter().map(program).collect();
    let report = PlacementReport { hosts: &hosts, placement: &placement, programs: &programs };
    print(&report.shown(display))?;
    if display.report {
        report.bindings().iter().for_each(|line| print_note(line.trim_end()));
    }
    Ok(placement)
}

/// The hosts of `plan`, each with this topology.
pub(crate) fn resources<'a>(
    plan: &'a LaunchPlan, own: &'a str, topology: &'a CpuTopology,
) -> Vec<HostResources<'a>> {
    let local = HostResources {
        name: own,
        identity: own,
        slots: None,
        slots_max: None,
        topology,
        is_supposed: false,
    };
    let resources = |host: &'a JobHost| {
        let name = if host.is_local { own } else { &*host.name };
        let JobHost { slots, slots_max, .. } = *host;
        let is_supposed = !host.is_local;
        HostResources { name, identity: name, slots, slots_max, topology, is_supposed }
    };
    match plan.hosts.hosts.is_empty() {
        true => vec![local],
        false => plan.hosts.hosts.iter().map(resources).collect(),
    }
}

/// The threads of each rank according to `OMP_NUM_THREADS`.
pub(crate) fn threads(environments: &[Vec<EnvironmentVariable>]) -> usize {
    let of_app = |variables: &Vec<EnvironmentVariable>| {
        let (_, value) = variables.iter().find(|(name, _)| name == "OMP_NUM_THREADS")?;
        // A list has a number for each level of nested loops; the first is the outermost.
        value.to_str()?.split(',').next()?.trim().parse().ok()
    };
    environments.iter().filter_map(of_app).max().unwrap_or(1).max(1)
}
