//! The hosts of a plan, from the selected ones.

use std::fs;

use crate::command_line::HostEnvironment;
use crate::command_line::plan::LaunchPlan;
use crate::hosts::{self, SelectedHosts};
use crate::starter::StarterRequest;
use crate::{LaunchError, USAGE};

/// Adds to `plan` its hosts, also those that only a file of the placement names, and their starter.
///
/// # Errors
/// A file cannot be read or names an unknown host, no host is left, or there is no such starter.
pub(super) fn complete(
    plan: &mut LaunchPlan, found: SelectedHosts, starter: StarterRequest,
    here: &HostEnvironment<'_>,
) -> Result<(), LaunchError> {
    plan.hosts = found.list;
    for (program, hosts) in found.of_programs {
        if let Some(app) = plan.apps.get_mut(program) {
            app.hosts = Some(hosts);
        }
    }
    check_user(plan, here)?;
    if plan.placement.excludes_local() {
        let removed = plan.hosts.remove_local();
        let lists = plan.apps.iter_mut().filter_map(|app| app.hosts.as_mut());
        let lists = lists.filter_map(|hosts| {
            removed.iter().for_each(|removed| hosts::remove_index(hosts, *removed));
            hosts.is_empty().then_some(())
        });
        if lists.count() > 0 || plan.hosts.hosts.is_empty() {
            let why = "--nolocal: no other host than this one is named";
            return Err(LaunchError::new(USAGE, why));
        }
    }
    let mentions = plan.hosts.mentions.clone();
    let mut find = |name: &str| match mentions.is_empty() {
        // Without a list of hosts, the file names them.
        true => plan.hosts.add("--map-by", name, here.is_local),
        false => plan
            .hosts
            .find(name, here.is_local)
            .ok_or_else(|| format!("{name} is not in the list of hosts")),
    };
    plan.placement.read_files(&|path| fs::read_to_string(path), &mut find, &mentions)?;
    if plan.hosts.is_remote() {
        plan.starter = Some(starter.choose(&|name| (here.environment)(name))?);
    }
    Ok(())
}

/// No command starts the processes of this host: they have the user of the launcher.
fn check_user(plan: &LaunchPlan, here: &HostEnvironment<'_>) -> Result<(), LaunchError> {
    let local = plan.hosts.hosts.iter().find(|host| host.is_local);
    let Some((host, user)) = local.and_then(|host| Some((host, host.user.as_ref()?))) else {
        return Ok(());
    };
    let is_own = |name: &&str| (here.environment)(name).is_some_and(|own| own == *user.as_str());
    if ["USER", "LOGNAME"].iter().any(is_own) {
        return Ok(());
    }
    let why = format!(
        "{}: {user}@{}: this is the host of mpirun, where ranks have the user of mpirun",
        host.source, host.name
    );
    Err(LaunchError::new(USAGE, why))
}
