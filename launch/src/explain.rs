//! What the launcher decided for a job, and why, in sentences for people (`--explain`). Rank 0
//! tells the rest, which only the library knows.

use super::placement::Placement;
use crate::command_line::plan::LaunchPlan;

/// What this host is, for a job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Host<'a> {
    /// Its name.
    pub name: &'a str,
    /// How many processors the launcher may use, and gives to the ranks.
    pub processors: usize,
    /// Processors' worth of time that control groups leave, if they limit it.
    pub quota: Option<f64>,
    /// How many threads a rank may have, as far as the environment says.
    pub threads: usize,
}

/// One sentence for each decision about `plan`.
pub(crate) fn lines(plan: &LaunchPlan, placement: &Placement, host: Host<'_>) -> Vec<String> {
    let timeout = plan.timeout.map(|time| format!("the job may take {} s", time.as_secs_f64()));
    [size(plan, host), binding(plan, placement, host)]
        .into_iter()
        .chain(timeout)
        .chain([
            "no port is open: ranks inherit a socket to the launcher (PMI-1), a memory file to \
                 share, and the job's secret"
                .to_owned(),
        ])
        .collect()
}

fn size(plan: &LaunchPlan, host: Host<'_>) -> String {
    let Host { name, processors, quota, .. } = host;
    let quota = quota.map_or(String::new(), |quota| format!(", {quota} processors' worth of time"));
    format!("{} ranks on {name}, with {processors} processors to use{quota}", plan.size())
}

fn binding(plan: &LaunchPlan, placement: &Placement, host: Host<'_>) -> String {
    let Host { processors, threads, .. } = host;
    let bound = (0..plan.size()).filter(|rank| placement.of_rank(*rank).is_some()).count();
    let how = match bound {
        0 => "no rank is bound to processors".to_owned(),
        _ if bound == plan.size() as usize => "all ranks are bound to processors".to_owned(),
        _ => format!("{bound} ranks are bound to processors"),
    };
    let why = match (plan.placement.decides_binding(), bound) {
        (true, _) => "options or the environment say so".to_owned(),
        (false, 0) => format!(
            "{} ranks of {threads} threads do not fill {processors} processors exactly, so \
             others may need them",
            plan.size()
        ),
        (false, _) => {
            format!("{} ranks of {threads} threads fill {processors} processors", plan.size())
        }
    };
    format!("{how}: {why}; --report-bindings shows it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::plan::App;

    #[test]
    fn the_reason_follows_the_decision() {
        let plan =
            LaunchPlan { apps: vec![App { count: 2, ..App::default() }], ..LaunchPlan::default() };
        let host = Host { name: "here", processors: 4, quota: Some(1.5), threads: 1 };
        let free = lines(&plan, &Placement::default(), host).join("\n");
        assert!(free.contains("2 ranks on here, with 4 processors to use, 1.5"), "{free}");
        assert!(free.contains("no rank is bound"), "{free}");
        assert!(free.contains("do not fill 4 processors exactly"), "{free}");
        let bound = Placement { processors: vec![Some(vec![0]), None], ..Placement::default() };
        assert!(lines(&plan, &bound, host)[1].starts_with("1 ranks are bound"));
    }
}
