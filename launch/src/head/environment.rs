//! The environment of each program: the launcher's own, without variables of an outer job, with those
//! of the command line.

use std::env;
use std::ffi::OsStr;

use platform::bootstrap::PRIVATE_VARIABLES;

use crate::agent::environment::{EnvironmentVariable, set};
use crate::command_line::plan::{
    EnvironmentChanges, EnvironmentEdit, EnvironmentFilter, LaunchPlan, joined,
};

/// `all` without the private variables of an outer job.
fn without_private(all: impl Iterator<Item = EnvironmentVariable>) -> Vec<EnvironmentVariable> {
    all.filter(|(name, _)| !is_private(name)).collect()
}

/// The environment of each program of `plan`, in order.
pub(crate) fn of_apps(plan: &LaunchPlan) -> Vec<Vec<EnvironmentVariable>> {
    let base = without_private(env::vars_os());
    let apps = plan.apps.iter();
    apps.map(|app| of_app(&base, &plan.global_environment, &app.variables)).collect()
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

fn is_private(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    PRIVATE_VARIABLES.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == *pattern,
    })
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
