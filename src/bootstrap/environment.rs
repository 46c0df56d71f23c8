//! What the environment says about the job: read once, at one place, then a plain value.

use std::env;

/// Names the inherited descriptor of the shared segment: a memory file of size 0 that the
/// launcher made for the ranks of one host. The library grows it.
pub const SEGMENT_FD: &str = "SUIRO_SEGMENT_FD";

/// Names the inherited descriptor that carries the job's secret.
pub const JOB_FD: &str = "SUIRO_JOB_FD";

/// Set to 1: be alone, whatever else the environment says.
const SINGLETON: &str = "SUIRO_SINGLETON";

/// The variables that a launcher sets for one rank and that mean nothing to another job.
///
/// A name that ends in `*` stands for all that start so.
pub const PRIVATE_VARIABLES: &[&str] = &[
    "PMI_*",
    "PMI2_*",
    "PMIX_*",
    "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS",
    "OMPI_COMM_WORLD_*",
    "OMPI_UNIVERSE_SIZE",
    "HYDI_CONTROL_FD",
    "PRTE_LAUNCHED",
    SEGMENT_FD,
    JOB_FD,
];

/// What launchers tell a process. A number that does not parse counts as not given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// `PMI_FD`: the socket to the launcher.
    pub pmi_fd: Option<i32>,
    /// `PMI_PORT`: where to connect to the launcher, `host:port`.
    pub pmi_port: Option<String>,
    /// `PMI_ID`: who we are when we connect.
    pub pmi_id: Option<u32>,
    /// `PMI_RANK`.
    pub pmi_rank: Option<u32>,
    /// `PMI_SIZE`.
    pub pmi_size: Option<u32>,
    /// `SUIRO_SEGMENT_FD`.
    pub segment_fd: Option<i32>,
    /// `SUIRO_JOB_FD`.
    pub job_fd: Option<i32>,
    /// `SUIRO_SINGLETON` is 1.
    pub singleton: bool,
    /// A launcher that started several of us but that we cannot talk to, by the variable that
    /// shows it.
    pub foreign: Option<String>,
}

impl Environment {
    /// Reads the environment of this process.
    pub fn read() -> Self {
        Self::from_lookup(|name| env::var(name).ok())
    }

    /// Reads the environment that `lookup` knows.
    pub fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let number = |name: &str| lookup(name)?.parse::<u32>().ok();
        let descriptor = |name: &str| lookup(name)?.parse::<i32>().ok();
        Self {
            pmi_fd: descriptor("PMI_FD"),
            pmi_port: lookup("PMI_PORT").filter(|port| !port.is_empty()),
            pmi_id: number("PMI_ID"),
            pmi_rank: number("PMI_RANK"),
            pmi_size: number("PMI_SIZE"),
            segment_fd: descriptor(SEGMENT_FD),
            job_fd: descriptor(JOB_FD),
            singleton: lookup(SINGLETON).is_some_and(|value| value == "1"),
            foreign: foreign(number),
        }
    }
}

/// The variable that shows a job of several ranks, whoever started it.
fn foreign(number: impl Fn(&str) -> Option<u32>) -> Option<String> {
    let several = |name: &str| {
        let count = number(name).filter(|count| *count > 1)?;
        Some(format!("{name}={count}"))
    };
    several("PMI_SIZE")
        .or_else(|| several("OMPI_COMM_WORLD_SIZE"))
        .or_else(|| Some(format!("PMIX_RANK={}", number("PMIX_RANK")?)))
        .or_else(|| number("SLURM_PROCID").and_then(|_| several("SLURM_NTASKS")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        Environment::from_lookup(|name| {
            let pair = pairs.iter().find(|pair| pair.0 == name)?;
            Some(pair.1.to_owned())
        })
    }

    #[test]
    fn an_empty_environment_says_nothing() {
        assert_eq!(environment(&[]), Environment::default());
    }

    #[test]
    fn several_ranks_show_in_many_ways() {
        for (pairs, shown) in [
            (&[("PMI_SIZE", "4")][..], "PMI_SIZE=4"),
            (&[("OMPI_COMM_WORLD_SIZE", "2")], "OMPI_COMM_WORLD_SIZE=2"),
            (&[("PMIX_RANK", "0")], "PMIX_RANK=0"),
            (&[("SLURM_NTASKS", "4"), ("SLURM_PROCID", "0")], "SLURM_NTASKS=4"),
        ] {
            assert_eq!(environment(pairs).foreign.as_deref(), Some(shown));
        }
        for alone in [&[("PMI_SIZE", "1")][..], &[("SLURM_NTASKS", "4")], &[("PMI_SIZE", "x")]] {
            assert_eq!(environment(alone).foreign, None);
        }
    }
}
