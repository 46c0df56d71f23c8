//! The environment of a rank: the launcher's own, without what an outer job said, with what the
//! command line and this job say.

use std::ffi::{OsStr, OsString};

use crate::bootstrap::{JOB_FD, PRIVATE_VARIABLES, SEGMENT_FD};

/// A variable and its value.
pub type Variable = (OsString, OsString);

/// What differs between the ranks of a job. All ranks are on one host here.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The rank.
    pub rank: u32,
    /// How many there are.
    pub size: u32,
    /// The descriptor of the connection to the launcher.
    pub pmi_fd: i32,
    /// The descriptor of the shared segment.
    pub segment_fd: i32,
    /// The descriptor of the job's secret.
    pub job_fd: i32,
}

/// The variables of `all` that mean something to another job.
pub fn without_private(all: impl Iterator<Item = Variable>) -> Vec<Variable> {
    all.filter(|(name, _)| !is_private(name)).collect()
}

/// `base` with `settings` in order, the later ones winning, and the variables of `place`.
pub fn of_rank<'a>(
    base: &[Variable], settings: impl IntoIterator<Item = &'a Variable>, place: Place,
) -> Vec<Variable> {
    let mut all = base.to_vec();
    for (name, value) in settings {
        set(&mut all, name, value.clone());
    }
    let Place { rank, size, .. } = place;
    for (name, value) in [
        ("PMI_RANK", i64::from(rank)),
        ("PMI_SIZE", i64::from(size)),
        ("PMI_FD", place.pmi_fd.into()),
        ("MPI_LOCALRANKID", rank.into()),
        ("MPI_LOCALNRANKS", size.into()),
        ("OMPI_COMM_WORLD_RANK", rank.into()),
        ("OMPI_COMM_WORLD_SIZE", size.into()),
        ("OMPI_COMM_WORLD_LOCAL_RANK", rank.into()),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", size.into()),
        ("OMPI_COMM_WORLD_NODE_RANK", rank.into()),
        (SEGMENT_FD, place.segment_fd.into()),
        (JOB_FD, place.job_fd.into()),
    ] {
        set(&mut all, OsStr::new(name), value.to_string().into());
    }
    all
}

fn set(all: &mut Vec<Variable>, name: &OsStr, value: OsString) {
    match all.iter_mut().find(|variable| variable.0 == name) {
        Some(variable) => variable.1 = value,
        None => all.push((name.to_owned(), value)),
    }
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

    fn variable(name: &str, value: &str) -> Variable {
        (name.into(), value.into())
    }

    #[test]
    fn what_an_outer_job_said_is_gone() {
        let outer = ["PMI_RANK", "PMIX_NAMESPACE", "OMPI_COMM_WORLD_SIZE", SEGMENT_FD, "PMI_FD"];
        let all = outer.iter().chain(&["HOME", "OMPI_MCA_x", "XPMI_RANK"]);
        let left = without_private(all.map(|name| variable(name, "1")));
        let names: Vec<_> = left.iter().map(|variable| variable.0.to_str().unwrap()).collect();
        assert_eq!(names, ["HOME", "OMPI_MCA_x", "XPMI_RANK"]);
    }

    #[test]
    fn later_settings_win_and_the_place_wins_over_all() {
        let place = Place { rank: 1, size: 3, pmi_fd: 7, segment_fd: 8, job_fd: 9 };
        let settings = [variable("A", "2"), variable("A", "3"), variable("PMI_RANK", "9")];
        let all = of_rank(&[variable("A", "1")], &settings, place);
        let value = |name: &str| {
            let mut found = all.iter().filter(|variable| variable.0 == name);
            let value = found.next().unwrap().1.to_str().unwrap();
            assert!(found.next().is_none(), "{name} is there twice");
            value
        };
        assert_eq!((value("A"), value("PMI_RANK"), value("PMI_FD")), ("3", "1", "7"));
        assert_eq!((value("OMPI_COMM_WORLD_LOCAL_SIZE"), value(SEGMENT_FD)), ("3", "8"));
    }
}
