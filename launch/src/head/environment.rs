//! The environment of each program: the launcher's own, without variables of an outer job, with those
//! of the command line.
//!
//! A launcher inside a rank of a world of several jobs (IMPI) inherits the variables by which that rank
//! has joined. Its own job is no client of that world, so they are removed as well: [`IMPI_PLACE`] tells
//! them from those that somebody has set for this job.

use std::env;
use std::ffi::{OsStr, OsString};

use platform::bootstrap::{IMPI_PLACE, PARENT_PORT, is_private_variable};

use crate::agent::environment::{EnvironmentVariable, set};
use crate::command_line::plan::{
    App, EnvironmentChanges, EnvironmentEdit, EnvironmentFilter, LaunchPlan, joined,
};

const IMPI_SERVER: &str = "SUIRO_IMPI_SERVER";
const IMPI_CLIENT: &str = "SUIRO_IMPI_CLIENT";

/// What says whether and how a job joins a world; other `SUIRO_IMPI_*` have no effect without them.
const OF_WORLD: &[&str] = &[IMPI_SERVER, IMPI_CLIENT, "SUIRO_IMPI_CLEARTEXT", "SUIRO_IMPI_GATEWAY"];

/// The value of a variable of the launcher, unless it belongs to an outer job.
pub(crate) fn own_variable(name: &str) -> Option<OsString> {
    let value = |name: &str| env::var_os(name);
    if OF_WORLD.contains(&name) && is_in_world(value) { None } else { value(name) }
}

/// `K HOST:PORT` of a job with these variables, if it joins a world.
fn impi_place(value: impl Fn(&str) -> Option<OsString>) -> Option<OsString> {
    let [mut client, server] = [value(IMPI_CLIENT)?, value(IMPI_SERVER)?];
    client.push(" ");
    client.push(server);
    Some(client)
}

/// Whether the variables are those by which a rank, inside which this is, joins its world.
fn is_in_world(value: impl Fn(&str) -> Option<OsString>) -> bool {
    let outer = value(IMPI_PLACE);
    outer.is_some() && outer == impi_place(value)
}

fn value_in(all: &[EnvironmentVariable], name: &str) -> Option<OsString> {
    all.iter().find(|variable| variable.0 == name).map(|variable| variable.1.clone())
}

/// `all` without the private variables of an outer job, and without those by which it joins a world.
pub(super) fn without_private(
    all: impl Iterator<Item = EnvironmentVariable>,
) -> Vec<EnvironmentVariable> {
    let mut all: Vec<_> = all.collect();
    let is_in_world = is_in_world(|name| value_in(&all, name));
    let is_of_world = |name: &OsStr| is_in_world && OF_WORLD.iter().any(|one| name == *one);
    all.retain(|(name, _)| !is_private_variable(name) && !is_of_world(name));
    all
}

/// The environment of each program of `plan`, in order.
pub(crate) fn of_apps(plan: &LaunchPlan) -> Vec<Vec<EnvironmentVariable>> {
    let base = without_private(env::vars_os());
    let of_app = |app: &App| {
        let mut all = of_app(&base, &plan.global_environment, &app.variables);
        if let Some(place) = impi_place(|name| value_in(&all, name)) {
            set(&mut all, OsStr::new(IMPI_PLACE), place);
        }
        if let Some(parent) = &plan.parent {
            set(&mut all, OsStr::new(PARENT_PORT), parent.port.clone());
        }
        all
    };
    plan.apps.iter().map(of_app).collect()
}

/// `base` with the changes for all programs, then those of the program.
fn of_app(
    base: &[EnvironmentVariable], global: &EnvironmentChanges, own: &EnvironmentChanges,
) -> Vec<EnvironmentVariable> {
    let passing = own.filter.as_ref().or(global.filter.as_ref()).unwrap_or(&EnvironmentFilter::All);
    let passes = |variable: &&EnvironmentVariable| {
        let mut passed = global.passed.iter().chain(&own.passed);
        passing.admits(&variable.0) || passed.any(|pattern| pattern.matches(&variable.0))
    };
    let mut all: Vec<_> = base.iter().filter(passes).cloned().collect();
    for edit in global.edits.iter().chain(&own.edits) {
        let present = |name: &OsStr| {
            let found = all.iter().find(|variable| variable.0 == name);
            found.map(|variable| variable.1.clone()).unwrap_or_default()
        };
        match edit {
            EnvironmentEdit::Set(name, value) => set(&mut all, name, value.clone()),
            EnvironmentEdit::Unset(pattern) => all.retain(|variable| !pattern.matches(&variable.0)),
            EnvironmentEdit::Prepend(name, value, separator) => {
                let value = joined(value, *separator, &present(name));
                set(&mut all, name, value);
            }
            EnvironmentEdit::Append(name, value, separator) => {
                let value = joined(&present(name), *separator, value);
                set(&mut all, name, value);
            }
        }
    }
    all
}

/// Variables about the host, the user there, and the session: ranks on other hosts see those of their
/// agent, or none.
const OF_HOST: &[&str] = &[
    "HOSTNAME",
    "HOST",
    "SLURMD_NODENAME",
    "SSH_CLIENT",
    "SSH_CONNECTION",
    "SSH_TTY",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "XDG_RUNTIME_DIR",
    "XDG_SESSION_ID",
    "DBUS_SESSION_BUS_ADDRESS",
];

/// The same, but if their agent has none, ranks see those of the launcher. A resource manager gives
/// each host devices of its own.
const OF_HOST_IF_SET: &[&str] = &[
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "MAIL",
    "CUDA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "ZE_AFFINITY_MASK",
];

/// `environment` of a program for another host, and the names of the variables that are those of its
/// agent there. What options set, pass by name or remove is as they request it.
pub(super) fn for_other_host(
    environment: &[EnvironmentVariable], changes: [&EnvironmentChanges; 2],
) -> (Vec<EnvironmentVariable>, Vec<OsString>) {
    let is_requested = |name: &OsStr| {
        changes.iter().any(|changes| {
            changes.filter.as_ref().is_some_and(|filter| !filter.admits(name))
                || changes.passed.iter().any(|pattern| pattern.matches(name))
                || changes.edits.iter().any(|edit| edit.concerns(name))
        })
    };
    let of_agent = |names: &[&'static str]| {
        let names = names.iter().map(OsStr::new).filter(|name| !is_requested(name));
        names.map(OsStr::to_owned).collect::<Vec<_>>()
    };
    let (mut names, others) = (of_agent(OF_HOST), of_agent(OF_HOST_IF_SET));
    let stays = |variable: &&EnvironmentVariable| !names.contains(&variable.0);
    let kept = environment.iter().filter(stays).cloned().collect();
    names.extend(others);
    (kept, names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::bootstrap::SEGMENT_FD;

    use crate::command_line::plan::VariablePattern;

    fn variable(name: &str, value: &str) -> EnvironmentVariable {
        (name.into(), value.into())
    }

    #[test]
    fn variables_of_an_outer_job_are_removed() {
        let outer = ["PMI_RANK", "PMIX_NAMESPACE", "OMPI_COMM_WORLD_SIZE", SEGMENT_FD, "PMI_FD"];
        let all = outer.iter().chain(&["HOME", "OMPI_MCA_x", "XPMI_RANK"]);
        let left = without_private(all.map(|name| variable(name, "1")));
        let names: Vec<_> = left.iter().map(|variable| variable.0.to_str().unwrap()).collect();
        assert_eq!(names, ["HOME", "OMPI_MCA_x", "XPMI_RANK"]);
    }

    #[test]
    fn variables_of_an_outer_world_are_removed() {
        let world = [(IMPI_SERVER, "head:4000"), (IMPI_CLIENT, "1"), ("SUIRO_IMPI_GATEWAY", "1")];
        let left = |others: &[(&str, &str)]| {
            let all = [&world[..], &[("SUIRO_IMPI_KEY_FILE", "/k")], others].concat();
            let left = without_private(all.into_iter().map(|(name, value)| variable(name, value)));
            left.len()
        };
        // Nobody has joined with them: somebody means this job.
        assert_eq!(left(&[]), 4);
        assert_eq!(left(&[(IMPI_PLACE, "1 head:4000")]), 1);
        // A program of the outer job has set others for this one.
        assert_eq!(left(&[(IMPI_PLACE, "0 head:4000")]), 4);
        assert_eq!(left(&[(IMPI_PLACE, "1 head:4001")]), 4);
        let base = world.map(|(name, value)| variable(name, value));
        let place = impi_place(|name| value_in(&base, name));
        assert_eq!(place, Some("1 head:4000".into()));
        assert_eq!(impi_place(|name| value_in(&base[..1], name)), None);
    }

    #[test]
    fn variables_of_the_host_come_from_its_agent() {
        let all = [variable("HOME", "/h"), variable("HOSTNAME", "h"), variable("A", "1")];
        let seen = |changes: &EnvironmentChanges| {
            let (kept, names) = for_other_host(&all, [&EnvironmentChanges::default(), changes]);
            let kept: Vec<_> = kept.iter().map(|(name, _)| name.to_str().unwrap()).collect();
            let is_of_agent = |name: &str| names.iter().any(|one| one == name);
            (kept.join(" "), is_of_agent("HOME"), is_of_agent("HOSTNAME"))
        };
        let own = EnvironmentChanges::default();
        assert_eq!(seen(&own), ("HOME A".to_owned(), true, true));
        let edits = vec![EnvironmentEdit::Set("HOME".into(), "/x".into())];
        let passed = vec![VariablePattern("HOST*".into())];
        let named = EnvironmentChanges { edits, passed, filter: None };
        assert_eq!(seen(&named), ("HOME HOSTNAME A".to_owned(), false, false));
        let filter = Some(EnvironmentFilter::Only(Vec::new()));
        let none = EnvironmentChanges { filter, ..EnvironmentChanges::default() };
        assert_eq!((seen(&none).1, seen(&none).2), (false, false));
    }

    #[test]
    fn programs_see_passed_and_changed_variables() {
        let base = [variable("A", "1"), variable("AB", "2"), variable("C", "3")];
        let pattern = |name: &str| VariablePattern(name.into());
        let seen = |own: EnvironmentChanges, global: EnvironmentChanges| {
            let all = of_app(&base, &global, &own);
            let words = all.iter().map(|(name, value)| {
                format!("{}={}", name.to_string_lossy(), value.to_string_lossy())
            });
            words.collect::<Vec<_>>().join(" ")
        };
        let passing =
            |passing| EnvironmentChanges { filter: Some(passing), ..EnvironmentChanges::default() };
        let none = EnvironmentChanges::default;
        assert_eq!(seen(none(), none()), "A=1 AB=2 C=3");
        assert_eq!(seen(none(), passing(EnvironmentFilter::Only(vec![pattern("C")]))), "C=3");
        assert_eq!(
            seen(passing(EnvironmentFilter::All), passing(EnvironmentFilter::Only(vec![]))),
            "A=1 AB=2 C=3"
        );
        assert_eq!(seen(passing(EnvironmentFilter::Except(vec![pattern("A*")])), none()), "C=3");
        let named = EnvironmentChanges {
            passed: vec![pattern("A*")],
            ..passing(EnvironmentFilter::Only(vec![]))
        };
        assert_eq!(seen(named, none()), "A=1 AB=2");
        let edits = |edits| EnvironmentChanges { edits, ..EnvironmentChanges::default() };
        let first = edits(vec![EnvironmentEdit::Set("A".into(), "9".into())]);
        let then = edits(vec![
            EnvironmentEdit::Prepend("A".into(), "0".into(), b':'),
            EnvironmentEdit::Append("A".into(), "8".into(), b','),
            EnvironmentEdit::Append("D".into(), "4".into(), b':'),
            EnvironmentEdit::Unset(pattern("AB")),
        ]);
        assert_eq!(seen(then, first), "A=0:9,8 C=3 D=4");
    }
}
