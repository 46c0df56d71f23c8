//! The job's variables in the environment: read once, in one place, into a plain value.

use std::env;
use std::ffi::OsStr;
use std::fmt;

use super::spawn::{PARENT_LINK, PARENT_PORT};
use crate::sys::topology::{format_list, parse_list};

/// Names the inherited descriptor of the shared segment: a memory file of size 0 that the
/// launcher made for the ranks of one host. The library grows it.
pub const SEGMENT_FD: &str = "SUIRO_SEGMENT_FD";

/// Names the inherited descriptor of a second memory file, for the network interfaces of one host
/// if there are any.
pub const INTERFACE_FD: &str = "SUIRO_INTERFACE_FD";

/// Names the inherited descriptor that carries the job's secret.
pub const JOB_FD: &str = "SUIRO_JOB_FD";

/// Names the inherited descriptor of the status table (see
/// [`StatusTable`](crate::diagnosis::status_table::StatusTable)).
pub const STATUS_FD: &str = "SUIRO_STATUS_FD";

/// The number of the rank's entry in that table, which has one for each rank of the host.
pub const STATUS_ENTRY: &str = "SUIRO_STATUS_ENTRY";

/// Names the inherited descriptor of the table of ended ranks (see
/// [`EndedRanks`](crate::diagnosis::ended_ranks::EndedRanks)) of a job that survives failures.
pub const ENDED_FD: &str = "SUIRO_ENDED_FD";

/// The binding that the launcher gave a rank, as `COUNT:LIST`: `LIST` names the rank's processors,
/// `COUNT` is the number of processors of all ranks of the host.
pub const BOUND: &str = "SUIRO_BOUND";

/// The world of several jobs (IMPI) that the ranks of this job join, as `K HOST:PORT`: the number of
/// this job there, and the server. A launcher inside a rank knows by it that `SUIRO_IMPI_SERVER` and
/// `SUIRO_IMPI_CLIENT` are those of the outer job.
pub const IMPI_PLACE: &str = "SUIRO_IMPI_PLACE";

/// Set to 1: be a singleton, regardless of the rest of the environment.
pub(super) const SINGLETON: &str = "SUIRO_SINGLETON";

/// The protocol to use with the launcher; by default the first that works.
const PROTOCOL: &str = "SUIRO_PMI";

/// Path of libpmix; by default the launcher's own copy.
const PMIX_LIBRARY: &str = "SUIRO_PMIX_LIBRARY";

/// Variables that a launcher sets for one rank and that are meaningless in another job.
///
/// A name that ends in `*` stands for all names with that prefix.
const PRIVATE_VARIABLES: &[&str] = &[
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
    INTERFACE_FD,
    JOB_FD,
    STATUS_FD,
    STATUS_ENTRY,
    ENDED_FD,
    BOUND,
    IMPI_PLACE,
    PARENT_PORT,
    PARENT_LINK,
];

/// Whether a launcher sets the variable `name` for one rank, so that it is meaningless in another job.
pub fn is_private_variable(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    PRIVATE_VARIABLES.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == *pattern,
    })
}

/// Variables with the number of processes in a job, and a variable that shows that this process is
/// one of them: a batch script has the size of its allocation, but is no rank.
const SIZES: &[(&str, &str)] = &[
    ("PMI_SIZE", "PMI_SIZE"),
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_SIZE"),
    ("MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE"),
    ("FLUX_JOB_SIZE", "FLUX_TASK_RANK"),
    ("JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_RANK"),
    ("MPI_LOCALNRANKS", "MPI_LOCALRANKID"),
];

/// Variables of a rank under launchers that do not set the number of ranks.
const RANKS: &[&str] = &["PMI_FD", "PMI_PORT", "PMIX_RANK", "PALS_RANKID"];

/// Slurm numbers anything other than a step of `srun`, such as a batch script, down from here.
const SLURM_STEP_MAX: u32 = 0xffff_fff0;

/// The launcher's variables. A number that does not parse counts as absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// `PMI_FD`: the socket to the launcher.
    pub pmi_fd: Option<i32>,
    /// `PMI_PORT`: address of the launcher, `host:port`.
    pub(crate) pmi_port: Option<String>,
    /// `PMI_ID`: identity sent when this process connects.
    pub(crate) pmi_id: Option<u32>,
    /// `PMI_RANK`.
    pub pmi_rank: Option<u32>,
    /// `PMI_SIZE`.
    pub pmi_size: Option<u32>,
    /// `PMI_JOBID`: sent to Slurm in PMI-2.
    pub(crate) pmi_job: Option<String>,
    /// `PMIX_NAMESPACE`: the name of the job, under a launcher with PMIx.
    pub(crate) pmix_job: Option<String>,
    /// `PMIX_RANK`.
    pub pmix_rank: Option<u32>,
    /// `SUIRO_PMIX_LIBRARY`.
    pub(crate) pmix_library: Option<String>,
    /// `SUIRO_PMI`.
    pub(crate) protocol: Option<String>,
    /// `SUIRO_SEGMENT_FD`.
    pub(crate) segment_fd: Option<i32>,
    /// `SUIRO_INTERFACE_FD`.
    pub(crate) interface_fd: Option<i32>,
    /// `SUIRO_JOB_FD`.
    pub(crate) job_fd: Option<i32>,
    /// `SUIRO_STATUS_FD`.
    pub status_fd: Option<i32>,
    /// `SUIRO_STATUS_ENTRY`.
    pub status_entry: Option<u32>,
    /// `SUIRO_ENDED_FD`.
    pub ended_fd: Option<i32>,
    /// `SUIRO_BOUND`.
    pub bound: Option<CpuBinding>,
    /// `SUIRO_PARENT_PORT`: where the parents accept this process, which they have spawned.
    pub parent_port: Option<String>,
    /// `SUIRO_SINGLETON` is 1.
    pub(crate) singleton: bool,
    /// A variable, with its value, which shows that this process is one of several ranks, or of an
    /// unknown number: then it must not be a singleton.
    pub several: Option<String>,
}

/// The launcher's binding of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuBinding {
    /// The processors of this rank.
    pub own: Vec<usize>,
    /// Number of processors of all ranks of the host together.
    pub host_total: usize,
}

impl CpuBinding {
    fn parse(text: &str) -> Option<Self> {
        let (together, own) = text.split_once(':')?;
        Some(Self { own: parse_list(own)?, host_total: together.parse().ok()? })
    }
}

impl fmt::Display for CpuBinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host_total, format_list(&self.own))
    }
}

impl Environment {
    /// Reads the environment of this process.
    pub fn read() -> Self {
        Self::from_lookup(|name| env::var(name).ok())
    }

    /// Reads the environment through `lookup`.
    pub(crate) fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let text = |name: &str| lookup(name).filter(|text| !text.is_empty());
        let number = |name: &str| text(name)?.parse::<u32>().ok();
        let descriptor = |name: &str| text(name)?.parse::<i32>().ok();
        Self {
            pmi_fd: descriptor("PMI_FD"),
            pmi_port: text("PMI_PORT"),
            pmi_id: number("PMI_ID"),
            pmi_rank: number("PMI_RANK"),
            pmi_size: number("PMI_SIZE"),
            pmi_job: text("PMI_JOBID"),
            pmix_job: text("PMIX_NAMESPACE"),
            pmix_rank: number("PMIX_RANK"),
            pmix_library: text(PMIX_LIBRARY),
            protocol: text(PROTOCOL),
            segment_fd: descriptor(SEGMENT_FD),
            interface_fd: descriptor(INTERFACE_FD),
            job_fd: descriptor(JOB_FD),
            status_fd: descriptor(STATUS_FD),
            status_entry: number(STATUS_ENTRY),
            ended_fd: descriptor(ENDED_FD),
            bound: text(BOUND).and_then(|text| CpuBinding::parse(&text)),
            parent_port: text(PARENT_PORT),
            singleton: lookup(SINGLETON).is_some_and(|value| value == "1"),
            several: several(number, text),
        }
    }
}

/// The variable that shows a job of several ranks under any launcher; or that shows a rank, if no
/// variable says that it is the only one.
fn several(
    number: impl Fn(&str) -> Option<u32>, text: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let sizes = SIZES.iter().filter(|(_, member)| number(member).is_some());
    let sizes = sizes.filter_map(|(name, _)| Some((*name, number(name)?)));
    let sizes: Vec<_> = sizes.chain(slurm_step(&number)).collect();
    if let Some((name, size)) = sizes.iter().find(|(_, size)| *size > 1) {
        return Some(format!("{name}={size}"));
    }
    if !sizes.is_empty() {
        return None;
    }
    RANKS.iter().find_map(|name| Some(format!("{name}={}", text(name)?)))
}

/// The size of a job step of Slurm, if this is a task of one.
fn slurm_step(number: impl Fn(&str) -> Option<u32>) -> Option<(&'static str, u32)> {
    number("SLURM_PROCID")?;
    number("SLURM_STEP_ID").filter(|step| *step < SLURM_STEP_MAX)?;
    ["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"].iter().find_map(|name| Some((*name, number(name)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_rank_is_bound_to_is_told_and_heard() {
        let bound = CpuBinding { own: vec![0, 1, 8], host_total: 16 };
        assert_eq!(bound.to_string(), "16:0-1,8");
        assert_eq!(CpuBinding::parse("16:0-1,8"), Some(bound));
        for damaged in ["", "16", ":0", "16:a", "x:0"] {
            assert_eq!(CpuBinding::parse(damaged), None, "{damaged}");
        }
    }

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
            (&[("MPI_LOCALNRANKS", "2"), ("MPI_LOCALRANKID", "0")], "MPI_LOCALNRANKS=2"),
            (&[("FLUX_JOB_SIZE", "3"), ("FLUX_TASK_RANK", "1")], "FLUX_JOB_SIZE=3"),
            (&[("PMIX_RANK", "0")], "PMIX_RANK=0"),
            (&[("PALS_RANKID", "0")], "PALS_RANKID=0"),
            (&[("PMI_PORT", "here:1")], "PMI_PORT=here:1"),
        ] {
            assert_eq!(environment(pairs).several.as_deref(), Some(shown));
        }
        for alone in [
            &[("PMI_SIZE", "1"), ("PMI_FD", "5")][..],
            &[("OMPI_COMM_WORLD_SIZE", "1"), ("PMIX_RANK", "0")],
            &[("PMI_SIZE", "x")],
            // A process that Flux started, but not as a task.
            &[("FLUX_JOB_SIZE", "3")],
        ] {
            assert_eq!(environment(alone).several, None, "{alone:?}");
        }
    }

    #[test]
    fn a_task_of_slurm_is_a_rank_and_a_batch_script_is_none() {
        let step = [("SLURM_PROCID", "0"), ("SLURM_NTASKS", "4"), ("SLURM_STEP_ID", "0")];
        assert_eq!(environment(&step).several.as_deref(), Some("SLURM_NTASKS=4"));
        let one = [step[0], step[1], step[2], ("SLURM_STEP_NUM_TASKS", "1")];
        assert_eq!(environment(&one).several, None);
        for script in [&step[..2], &[step[0], step[1], ("SLURM_STEP_ID", "4294967291")]] {
            assert_eq!(environment(script).several, None, "{script:?}");
        }
    }
}
