//! The environment of a rank: that of its program, with the variables of this job.

use std::ffi::{OsStr, OsString};

use crate::control::ShareApp;
use platform::bootstrap::{
    BOUND, CpuBinding, ENDED_FD, INTERFACE_FD, JOB_FD, SEGMENT_FD, STATUS_ENTRY, STATUS_FD,
};

pub(crate) type EnvironmentVariable = (OsString, OsString);

/// Values of the variables that differ between ranks.
#[derive(Clone, Debug)]
pub(super) struct RankEnvironment {
    pub rank: u32,
    pub size: u32,
    /// The number of this rank among the ranks of its host.
    pub local_rank: u32,
    /// Number of ranks of this host.
    pub local_size: u32,
    /// Connection to the launcher.
    pub pmi_fd: i32,
    /// Shared segment of the node.
    pub segment_fd: i32,
    /// Shared segment of the simulated interfaces of the node.
    pub interface_fd: i32,
    /// Secret of the job.
    pub job_fd: i32,
    /// Status table, if there is one.
    pub status_fd: Option<i32>,
    /// Table of ended ranks, if the job survives failures.
    pub ended_fd: Option<i32>,
    /// Processors of the rank, if all ranks are bound.
    pub bound: Option<CpuBinding>,
}

/// The variables of `app` on the host of this process, whose variables `own` knows.
pub(super) fn of_app(
    app: &ShareApp, own: impl Fn(&OsStr) -> Option<OsString>,
) -> Vec<EnvironmentVariable> {
    let mut all = app.environment.clone();
    for name in &app.host_variables {
        if let Some(value) = own(name) {
            set(&mut all, name, value);
        }
    }
    all
}

/// `all` with the variables of `values`.
pub(super) fn of_rank(
    mut all: Vec<EnvironmentVariable>, values: RankEnvironment,
) -> Vec<EnvironmentVariable> {
    let RankEnvironment { rank, size, local_rank, local_size, .. } = values;
    for (name, value) in [
        ("PMI_RANK", i64::from(rank)),
        ("PMI_SIZE", i64::from(size)),
        ("PMI_FD", values.pmi_fd.into()),
        ("MPI_LOCALRANKID", local_rank.into()),
        ("MPI_LOCALNRANKS", local_size.into()),
        ("OMPI_COMM_WORLD_RANK", rank.into()),
        ("OMPI_COMM_WORLD_SIZE", size.into()),
        ("OMPI_COMM_WORLD_LOCAL_RANK", local_rank.into()),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", local_size.into()),
        ("OMPI_COMM_WORLD_NODE_RANK", local_rank.into()),
        (SEGMENT_FD, values.segment_fd.into()),
        (INTERFACE_FD, values.interface_fd.into()),
        (JOB_FD, values.job_fd.into()),
    ] {
        set(&mut all, OsStr::new(name), value.to_string().into());
    }
    if let Some(number) = values.status_fd {
        set(&mut all, OsStr::new(STATUS_FD), number.to_string().into());
        set(&mut all, OsStr::new(STATUS_ENTRY), local_rank.to_string().into());
    }
    if let Some(number) = values.ended_fd {
        set(&mut all, OsStr::new(ENDED_FD), number.to_string().into());
    }
    if let Some(bound) = values.bound {
        set(&mut all, OsStr::new(BOUND), bound.to_string().into());
    }
    all
}

/// Replaces or adds a variable.
pub(crate) fn set(all: &mut Vec<EnvironmentVariable>, name: &OsStr, value: OsString) {
    match all.iter_mut().find(|variable| variable.0 == name) {
        Some(variable) => variable.1 = value,
        None => all.push((name.to_owned(), value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(name: &str, value: &str) -> EnvironmentVariable {
        (name.into(), value.into())
    }

    #[test]
    fn a_host_has_variables_of_its_own() {
        let app = ShareApp {
            environment: vec![variable("HOME", "/head"), variable("USER", "head")],
            host_variables: vec!["HOME".into(), "USER".into(), "HOSTNAME".into()],
            ..ShareApp::default()
        };
        let own = |name: &OsStr| (name != "USER").then(|| "here".into());
        let expected = [("HOME", "here"), ("USER", "head"), ("HOSTNAME", "here")];
        assert_eq!(of_app(&app, own), expected.map(|(name, value)| variable(name, value)));
    }

    #[test]
    fn values_of_the_rank_override_the_others() {
        let (interface_fd, status_fd, bound) = (11, Some(10), None);
        let (pmi_fd, segment_fd, job_fd) = (7, 8, 9);
        let values = RankEnvironment {
            rank: 1,
            size: 3,
            local_rank: 0,
            local_size: 2,
            pmi_fd,
            segment_fd,
            interface_fd,
            job_fd,
            status_fd,
            ended_fd: Some(12),
            bound,
        };
        let all = of_rank(vec![variable("A", "3"), variable("PMI_RANK", "9")], values);
        let value = |name: &str| {
            let mut found = all.iter().filter(|variable| variable.0 == name);
            let value = found.next().unwrap().1.to_str().unwrap();
            assert!(found.next().is_none(), "{name} is defined twice");
            value
        };
        assert_eq!((value("A"), value("PMI_RANK"), value("PMI_FD")), ("3", "1", "7"));
        assert_eq!((value("OMPI_COMM_WORLD_SIZE"), value(SEGMENT_FD)), ("3", "8"));
        assert_eq!(value(ENDED_FD), "12");
        assert_eq!((value(STATUS_FD), value(STATUS_ENTRY)), ("10", "0"));
        assert_eq!((value("MPI_LOCALRANKID"), value("OMPI_COMM_WORLD_LOCAL_SIZE")), ("0", "2"));
    }
}
