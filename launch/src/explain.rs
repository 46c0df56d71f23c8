//! `--explain`: the decisions of the launcher for a job, with reasons. Rank 0 prints those of the
//! library.

use std::ffi::OsStr;

use super::placement::Placement;
use crate::command_line::plan::LaunchPlan;
use crate::hosts::JobHost;

/// The host of a job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Host<'a> {
    pub name: &'a str,
    /// Processors that the ranks may use.
    pub processors: usize,
    /// The limit of control groups on processor time, in processors.
    pub quota: Option<f64>,
    /// Threads of each rank, by `OMP_NUM_THREADS`.
    pub threads: usize,
}

/// One sentence for each decision about `plan`.
pub(crate) fn lines(plan: &LaunchPlan, placement: &Placement, host: Host<'_>) -> Vec<String> {
    let timeout = plan.timeout.map(|time| format!("time limit: {} s", time.as_secs_f64()));
    [size(plan, host), binding(plan, placement, host)]
        .into_iter()
        .chain(hosts(plan))
        .chain(timeout)
        .chain([
            "no open port of the launcher: ranks inherit a socket to the launcher (PMI-1), a shared memory file and \
            the secret of the job"
                .to_owned(),
        ])
        .collect()
}

fn size(plan: &LaunchPlan, host: Host<'_>) -> String {
    let Host { name, processors, quota, .. } = host;
    let quota =
        quota.map_or(String::new(), |quota| format!(", limited to the time of {quota} processors"));
    let size = plan.size();
    match plan.hosts.is_remote() {
        false => format!("{size} ranks on {name}; {processors} usable processors{quota}"),
        true => {
            let hosts = plan.hosts.count();
            format!(
                "{size} ranks on {hosts} hosts; {name} has {processors} usable processors{quota}"
            )
        }
    }
}

/// The hosts with their slots, and what names them.
fn hosts(plan: &LaunchPlan) -> Option<String> {
    // Longer lists say no more.
    const NAMED_MAX: usize = 16;
    let one = |host: &JobHost| {
        let slots = host.slots.map_or("a slot for each core".to_owned(), |slots| match slots {
            1 => "1 slot".to_owned(),
            _ => format!("{slots} slots"),
        });
        let here = if host.is_local { ", this host" } else { "" };
        format!("{} ({slots}{here}; {})", host.name, host.source)
    };
    let all = &plan.hosts.hosts;
    let named: Vec<_> = all.iter().take(NAMED_MAX).map(one).collect();
    let more = match all.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let starter = plan.starter.as_ref().map_or(String::new(), |starter| {
        let program = starter.program.join(OsStr::new(" "));
        format!("; other hosts are reached by {} ({})", program.to_string_lossy(), starter.source)
    });
    (!all.is_empty()).then(|| format!("hosts: {}{more}{starter}", named.join(", ")))
}

fn binding(plan: &LaunchPlan, placement: &Placement, host: Host<'_>) -> String {
    if plan.hosts.is_remote() {
        let why = match plan.placement.decides_binding() {
            true => "by options or the environment",
            false => "where they fill the processors of their host",
        };
        return format!("ranks are bound to processors {why}; --report-bindings prints them");
    }
    let Host { processors, threads, .. } = host;
    let bound = (0..plan.size()).filter(|rank| placement.of_rank(*rank).is_some()).count();
    let how = match bound {
        0 => "no rank is bound to processors".to_owned(),
        _ if bound == plan.size() as usize => "all ranks are bound to processors".to_owned(),
        1 => "1 rank is bound to processors".to_owned(),
        _ => format!("{bound} ranks are bound to processors"),
    };
    let why = match (plan.placement.decides_binding(), bound) {
        (true, _) => "by options or the environment".to_owned(),
        (false, 0) => format!(
            "{} ranks of {threads} threads do not fill {processors} processors exactly, and \
             other jobs may need them",
            plan.size()
        ),
        (false, _) => {
            format!("{} ranks of {threads} threads fill {processors} processors", plan.size())
        }
    };
    format!("{how}: {why}; --report-bindings prints them")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::plan::App;
    use crate::hosts::HostList;

    #[test]
    fn the_reason_follows_the_decision() {
        let plan =
            LaunchPlan { apps: vec![App { count: 2, ..App::default() }], ..LaunchPlan::default() };
        let host = Host { name: "here", processors: 4, quota: Some(1.5), threads: 1 };
        let free = lines(&plan, &Placement::default(), host).join("\n");
        assert!(
            free.contains("2 ranks on here; 4 usable processors, limited to the time of 1.5"),
            "{free}"
        );
        assert!(free.contains("no rank is bound"), "{free}");
        assert!(free.contains("do not fill 4 processors exactly"), "{free}");
        assert!(!free.contains("hosts: "), "{free}");
        let host_of = |name: &str| JobHost { name: name.into(), ..JobHost::default() };
        let two = HostList { hosts: vec![host_of("a"), host_of("b")], mentions: vec![0, 1] };
        let remote = LaunchPlan { hosts: two, ..plan.clone() };
        let several = lines(&remote, &Placement::default(), host).join("\n");
        for part in
            ["2 ranks on 2 hosts; here has 4", "of their host", "hosts: a (a slot for each core"]
        {
            assert!(several.contains(part), "{several}");
        }
        let bound = Placement { processors: vec![Some(vec![0]), None], ..Placement::default() };
        assert!(lines(&plan, &bound, host)[1].starts_with("1 rank is bound"));
    }
}
