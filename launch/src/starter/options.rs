//! Makes a [`StarterRequest`] of the options of Open MPI, MPICH and Intel MPI.

use std::ffi::OsString;

use clap::ArgMatches;

use crate::LaunchError;
use crate::command_line::options::{last, occurrences};

use super::StarterRequest;

/// Applies the options; the values of `--mca` that are among them.
///
/// # Errors
/// Names the option with a wrong value.
pub(crate) fn take(
    request: &mut StarterRequest, matches: &ArgMatches,
) -> Result<Vec<Vec<OsString>>, LaunchError> {
    let mut used = Vec::new();
    for option in ["mca", "omca", "gomca", "gmca", "prtemca", "gprtemca"] {
        for pair in occurrences(matches, option) {
            let source = format!("--{option} {}", pair[0].to_string_lossy());
            match pair[0].to_str() {
                Some("plm_rsh_agent" | "plm_ssh_agent") => {
                    request.commands(&source, &pair[1])?;
                }
                Some("plm") if request.component(&source, &pair[1].to_string_lossy()) => {}
                Some("plm_rsh_no_tree_spawn" | "plm_ssh_no_tree_spawn") => {
                    request.without_tree(&pair[1]);
                }
                Some("plm_rsh_args" | "plm_ssh_args" | "plm_slurm_args") => {
                    request.extra(&source, &pair[1])?
                }
                _ => continue,
            }
            used.push(pair);
        }
    }
    if let Some(folder) = last(matches, "prefix") {
        request.prefix(folder);
    }
    if let Some(name) = last(matches, "launcher") {
        request.kind("-launcher", &name.to_string_lossy())?;
    }
    if let Some(command) = last(matches, "launcher-exec") {
        request.command("-launcher-exec", &command)?;
    }
    if let Some(arguments) = last(matches, "launcher-args") {
        request.extra("-launcher-args", &arguments)?;
    }
    Ok(used)
}
