//! Makes a [`PlacementRequest`] of the placement options of Open MPI, MPICH and Intel MPI.

use std::ffi::{OsStr, OsString};

use clap::ArgMatches;

use crate::command_line::options::{is_given, occurrences};
use crate::{LaunchError, USAGE};

use super::display::DisplayOptions;
use super::request::PlacementRequest;

/// Options without a value that stand for another option with a value: name, option, value.
pub(crate) const SHORTHANDS: &[(&str, &str, &str)] = &[
    ("bind-to-core", "bind-to", "core"),
    ("bind-to-none", "bind-to", "none"),
    ("bind-to-socket", "bind-to", "socket"),
    ("bycore", "map-by", "core"),
    ("bynode", "map-by", "node"),
    ("byslot", "map-by", "slot"),
    ("bysocket", "map-by", "socket"),
    ("display-allocation", "display", "allocation"),
    ("display-devel-allocation", "display", "allocation"),
    ("display-devel-map", "display", "map"),
    ("display-map", "display", "map"),
    ("display-topo", "display", "topology"),
    ("nolocal", "map-by", ":nolocal"),
    ("nooversubscribe", "map-by", ":nooversubscribe"),
    ("oversubscribe", "map-by", ":oversubscribe"),
    ("pernode", "npernode", "1"),
    ("print-rank-map", "display", "map"),
    ("rr", "ppn", "1"),
    ("use-hwthread-cpus", "map-by", ":hwtcpus"),
];

/// Variables of other launchers that replace a missing option: name, option.
const VARIABLES: &[(&str, &str)] = &[
    ("OMPI_MCA_rmaps_base_mapping_policy", "map-by"),
    ("PRTE_MCA_rmaps_default_mapping_policy", "map-by"),
    ("OMPI_MCA_hwloc_base_binding_policy", "bind-to"),
    ("PRTE_MCA_hwloc_default_binding_policy", "bind-to"),
    ("I_MPI_PERHOST", "ppn"),
];

/// Applies all placement options.
///
/// # Errors
/// Names the option with a wrong value and the expected values.
pub(crate) fn take(
    request: &mut PlacementRequest, show: &mut DisplayOptions, matches: &ArgMatches,
) -> Result<(), LaunchError> {
    let values = |option| occurrences(matches, option).into_iter().flatten();
    // A rankfile, a list or a count for each object overrides --map-by.
    for option in
        ["map-by", "rank-by", "bind-to", "cpus-per-proc", "cpu-set", "npersocket", "display"]
    {
        for value in values(option) {
            take_one(request, show, option, &value)?;
        }
    }
    for option in ["ppn", "npernode"] {
        for value in values(option) {
            take_one(request, show, option, &value)?;
        }
    }
    if let Some(file) = values("rankfile").last() {
        request.rankfile(file.into());
    }
    for (name, option, value) in SHORTHANDS {
        if is_given(matches, name) {
            take_one(request, show, option, OsStr::new(value))?;
        }
    }
    show.report |= is_given(matches, "report-bindings");
    Ok(())
}

/// `request`, completed from the environment. Wrong values there are ignored: the user of this
/// command line may not have set them.
pub(crate) fn from_environment(
    request: &PlacementRequest, variable: &dyn Fn(&str) -> Option<OsString>,
) -> PlacementRequest {
    let mut all = PlacementRequest::default();
    for (name, option) in VARIABLES {
        if let Some(value) = variable(name) {
            let mut next = all.clone();
            if take_one(&mut next, &mut DisplayOptions::default(), option, &value).is_ok() {
                all = next;
            }
        }
    }
    let off = |value: OsString| ["0", "no", "off", "disable"].iter().any(|word| value == *word);
    if variable("I_MPI_PIN").is_some_and(off) {
        all.bind_to_nothing();
    }
    all.with(request)
}

fn take_one(
    request: &mut PlacementRequest, show: &mut DisplayOptions, option: &str, value: &OsStr,
) -> Result<(), LaunchError> {
    let text = value.to_string_lossy();
    let count = || {
        let count = text.parse().ok().filter(|count| *count > 0);
        count.ok_or_else(|| LaunchError::new(USAGE, format!("--{option} {text}: expected a count")))
    };
    match option {
        "map-by" => request.map_by(&text)?,
        "rank-by" => request.rank_by(&text)?,
        "bind-to" => request.bind_to(&text)?,
        "display" => show.display(&text)?,
        "cpu-set" => request.map_by(&format!("pe-list={text}"))?,
        "cpus-per-proc" => request.map_by(&format!(":PE={}", count()?))?,
        "npersocket" => request.per_package(count()?),
        "npernode" => request.per_host(count()?),
        "ppn" => request.per_host_wrapping(count()?),
        _ => {}
    }
    Ok(())
}
