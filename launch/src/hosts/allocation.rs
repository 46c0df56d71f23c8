//! The hosts that a resource manager has allocated, from its variables and files.
//!
//! | manager | hosts | slots |
//! |---|---|---|
//! | PBS, Torque | `PBS_NODEFILE` | a line each |
//! | LSF | `LSB_DJOB_HOSTFILE`, `LSB_MCPU_HOSTS`, `LSB_HOSTS` | a line each; number; a word each |
//! | Cobalt | `COBALT_NODEFILE` | a line each |
//! | Grid Engine | `PE_HOSTFILE` | second column |
//! | Slurm | `SLURM_JOB_NODELIST` | `SLURM_TASKS_PER_NODE` |

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::{LaunchError, USAGE};

use super::entry::{HostMention, MentionSlots};
use super::{EnvironmentLookup, entry, ranges};

/// A system that allocates hosts to jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResourceManager {
    Pbs,
    Lsf,
    Cobalt,
    GridEngine,
    Slurm,
    /// The user names the hosts.
    Nothing,
}

/// The names of `-rmk`.
const NAMES: &[(&str, ResourceManager)] = &[
    ("slurm", ResourceManager::Slurm),
    ("pbs", ResourceManager::Pbs),
    ("lsf", ResourceManager::Lsf),
    ("sge", ResourceManager::GridEngine),
    ("cobalt", ResourceManager::Cobalt),
    ("user", ResourceManager::Nothing),
];

type MentionReader = fn(&str, &OsStr) -> Result<Vec<HostMention>, LaunchError>;

/// Variables with hosts, in the order in which they are looked for.
const SOURCES: &[(ResourceManager, &str, MentionReader)] = &[
    (ResourceManager::Pbs, "PBS_NODEFILE", node_file),
    (ResourceManager::Lsf, "LSB_DJOB_HOSTFILE", node_file),
    (ResourceManager::Lsf, "LSB_MCPU_HOSTS", host_pairs),
    (ResourceManager::Lsf, "LSB_HOSTS", host_words),
    (ResourceManager::Cobalt, "COBALT_NODEFILE", node_file),
    (ResourceManager::GridEngine, "PE_HOSTFILE", grid_engine_file),
];

impl ResourceManager {
    /// The names of `-rmk`.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, _)| *name)
    }

    /// Parses the value of `-rmk`.
    ///
    /// # Errors
    /// Names the known ones.
    pub(crate) fn parse(name: &str) -> Result<Self, LaunchError> {
        Self::parse_named("-rmk", name)
    }

    /// Parses the value of `source`.
    fn parse_named(source: &str, name: &str) -> Result<Self, LaunchError> {
        let found = NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, manager)| *manager).ok_or_else(|| {
            let names: Vec<_> = NAMES.iter().map(|(known, _)| *known).collect();
            let why = format!("{source} {name}: expected one of {}", names.join(", "));
            LaunchError::new(USAGE, why)
        })
    }
}

/// The hosts of the allocation, of `manager` only if it is given; none outside of allocations.
///
/// # Errors
/// A file of the allocation cannot be read, or a value has another form.
pub(super) fn mentions(
    lookup: &EnvironmentLookup<'_>, manager: Option<ResourceManager>,
) -> Result<Vec<HostMention>, LaunchError> {
    let manager = match manager {
        Some(manager) => Some(manager),
        None => manager_of(lookup)?,
    };
    let wanted = |other| manager.is_none_or(|manager| manager == other);
    for (_, name, read) in SOURCES.iter().filter(|(manager, ..)| wanted(*manager)) {
        if let Some(value) = lookup(name).filter(|value| !value.is_empty()) {
            return read(name, &value);
        }
    }
    if wanted(ResourceManager::Slurm) { slurm(lookup) } else { Ok(Vec::new()) }
}

/// The resource manager that the variables of MPICH and Intel MPI for `-rmk` name.
fn manager_of(lookup: &EnvironmentLookup<'_>) -> Result<Option<ResourceManager>, LaunchError> {
    let names = ["HYDRA_RMK", "I_MPI_HYDRA_RMK"].into_iter();
    let mut given = names.filter_map(|name| Some((name, lookup(name)?)));
    let first = given.find(|(_, value)| !value.is_empty());
    let parse = |(name, value): (&str, OsString)| {
        ResourceManager::parse_named(name, &value.to_string_lossy())
    };
    first.map(parse).transpose()
}

/// A mention with a number of slots.
fn counted(source: &str, name: &str, slots: u32) -> Result<HostMention, LaunchError> {
    let slots = MentionSlots::Count(slots);
    let wrong = |why| LaunchError::new(USAGE, format!("{source}: {why}"));
    match &entry::word(source, name).map_err(wrong)?[..] {
        [mention] => Ok(HostMention { slots, ..mention.clone() }),
        _ => Err(wrong(format!("{name:?} is not one host"))),
    }
}

/// A file with a line for each slot.
fn node_file(variable: &str, path: &OsStr) -> Result<Vec<HostMention>, LaunchError> {
    let lines = numbered_lines(variable, path)?;
    let mention = |(source, line): &(String, String)| counted(source, line.trim(), 1);
    lines.iter().map(mention).collect()
}

/// Lines of `host slots queue processors`.
fn grid_engine_file(variable: &str, path: &OsStr) -> Result<Vec<HostMention>, LaunchError> {
    let lines = numbered_lines(variable, path)?;
    let mention = |(source, line): &(String, String)| {
        let mut words = line.split_whitespace();
        let name = words.next().unwrap_or_default();
        let slots = words.next().map(str::parse);
        let Some(Ok(slots)) = slots else {
            let why = format!("{source}: {line:?}: expected HOST SLOTS QUEUE PROCESSORS");
            return Err(LaunchError::new(USAGE, why));
        };
        // An allocation may have hosts without slots for this job.
        if slots == 0 { Ok(None) } else { counted(source, name, slots).map(Some) }
    };
    lines.iter().filter_map(|line| mention(line).transpose()).collect()
}

/// The lines that are not empty, each with its source.
fn numbered_lines(variable: &str, path: &OsStr) -> Result<Vec<(String, String)>, LaunchError> {
    let file = format!("{variable} {}", path.to_string_lossy());
    let text = std::fs::read_to_string(Path::new(path))
        .map_err(|error| LaunchError::new(USAGE, format!("{file}: {error}")))?;
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    let lines: Vec<_> =
        lines.map(|(line, at)| (format!("{file}, line {at}"), line.to_owned())).collect();
    match lines.is_empty() {
        true => Err(LaunchError::new(USAGE, format!("{file}: the file names no host"))),
        false => Ok(lines),
    }
}

/// `a 2 b 3`.
fn host_pairs(variable: &str, value: &OsStr) -> Result<Vec<HostMention>, LaunchError> {
    let value = value.to_string_lossy();
    let words: Vec<_> = value.split_whitespace().collect();
    let wrong = |why| LaunchError::new(USAGE, format!("{variable}: {why}"));
    let mention = |pair: &[&str]| match pair {
        [name, slots] => match slots.parse() {
            Ok(slots) if slots > 0 => counted(variable, name, slots),
            _ => Err(wrong(format!("{slots:?} is not a number of slots"))),
        },
        _ => Err(wrong("expected HOST SLOTS HOST SLOTS...".to_owned())),
    };
    words.chunks(2).map(mention).collect()
}

/// `a a b`.
fn host_words(variable: &str, value: &OsStr) -> Result<Vec<HostMention>, LaunchError> {
    let value = value.to_string_lossy();
    value.split_whitespace().map(|name| counted(variable, name, 1)).collect()
}

fn slurm(lookup: &EnvironmentLookup<'_>) -> Result<Vec<HostMention>, LaunchError> {
    let first = |names: &[&'static str]| {
        let value = |name: &&'static str| Some((*name, lookup(name)?.into_string().ok()?));
        names.iter().find_map(value).filter(|(_, value)| !value.is_empty())
    };
    let count = first(&["SLURM_JOB_NUM_NODES", "SLURM_NNODES"]);
    let Some(count) = count.and_then(|(_, count)| count.parse::<usize>().ok()) else {
        return Ok(Vec::new());
    };
    let wrong = |name: &str, why: String| LaunchError::new(USAGE, format!("{name}: {why}"));
    let tasks = first(&["SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE"]);
    let counts = match &tasks {
        None => None,
        Some((name, list)) => Some(
            ranges::counts(list)
                .ok_or_else(|| wrong(name, format!("{list:?}: expected a list such as 4(x2),3")))?,
        ),
    };
    let own = first(&["SLURMD_NODENAME"]).map(|(_, name)| name);
    let Some((source, list)) = first(&["SLURM_JOB_NODELIST", "SLURM_NODELIST"]) else {
        // Without a list, one node is this host.
        let one = counts.filter(|_| count == 1);
        return one
            .iter()
            .flatten()
            .map(|slots| counted("SLURM_TASKS_PER_NODE", "localhost", *slots))
            .collect();
    };
    let words = ranges::split(&list).into_iter();
    let mut mentions: Vec<_> = words
        .map(|word| entry::word(source, word))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|why| wrong(source, why))?
        .concat();
    if let (Some(counts), Some((name, given))) = (&counts, &tasks)
        && counts.len() != mentions.len()
    {
        let (numbers, hosts) = (counts.len(), mentions.len());
        return Err(wrong(name, format!("{given:?} has {numbers} numbers for {hosts} hosts")));
    }
    for (at, mention) in mentions.iter_mut().enumerate() {
        let slots = counts.as_ref().and_then(|counts| counts.get(at));
        mention.slots = slots.map_or(MentionSlots::Default, |slots| MentionSlots::Count(*slots));
        // Slurm's name of a node may be no name of the host.
        mention.is_local =
            mention.target == entry::MentionTarget::Name(own.clone().unwrap_or_default());
    }
    Ok(mentions)
}
