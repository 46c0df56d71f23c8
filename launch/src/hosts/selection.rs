//! From mentions of hosts to the list of hosts of the job.
//!
//! ```text
//!   offered:   host files; or a file that the environment names; or the allocation
//!   selected:  --host: names, +n and +e of the offered hosts; without --host all offered ones
//!   excluded:  ^name
//! ```
//!
//! The slots of a host are the sum of its mentions. A mention without a number counts 1 if there are
//! several: of the host in a file, of any host in `--host`. A host that only one line of a file
//! mentions, without a number, has as many slots as cores. These are the rules of Open MPI and MPICH.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;

use crate::{LaunchError, USAGE};

use super::allocation::{self, ResourceManager};
use super::entry::{self, HostMention, MentionSlots, MentionTarget};
use super::{EnvironmentLookup, HOSTS_MAX, HostList, IsLocalHost, JobHost, ranges};

/// Variables with the host file if no option names one: those of MPICH, Intel MPI and Open MPI,
/// which the MPI Operator of Kubernetes sets.
const HOST_FILES: &[&str] = &[
    "HYDRA_HOST_FILE",
    "I_MPI_HYDRA_HOST_FILE",
    "OMPI_MCA_orte_default_hostfile",
    "PRTE_MCA_prte_default_hostfile",
];

/// Variables with the slots of hosts without a number, which the MPI Operator sets.
const DEFAULT_SLOTS: &[&str] =
    &["OMPI_MCA_orte_set_default_slots", "PRTE_MCA_prte_set_default_slots"];

/// The hosts that options name.
#[derive(Debug, Default)]
pub(crate) struct HostSelection {
    /// `--host`, with the number of the program in whose options it stands.
    lists: Vec<(usize, HostMention)>,
    files: Vec<HostMention>,
    manager: Option<ResourceManager>,
}

/// The hosts of a job, and those of each program.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SelectedHosts {
    pub list: HostList,
    /// The hosts of each program that has its own, by the number of the program.
    pub of_programs: Vec<(usize, Vec<u32>)>,
}

impl HostSelection {
    /// Adds a comma-separated list that stands in the options of a program.
    ///
    /// # Errors
    /// Names the invalid entry.
    pub(crate) fn add_list(
        &mut self, program: usize, source: &str, list: &str,
    ) -> Result<(), LaunchError> {
        for word in ranges::split(list) {
            let mentions = entry::word(source, word).map_err(|why| wrong(source, &why))?;
            self.lists.extend(mentions.into_iter().map(|mention| (program, mention)));
            bounded(source, self.lists.len())?;
        }
        Ok(())
    }

    /// Adds the lines of a file; `source` is the option that names it.
    ///
    /// # Errors
    /// The file cannot be read, or a line is invalid.
    pub(crate) fn add_file(&mut self, source: &str, path: &OsStr) -> Result<(), LaunchError> {
        self.files.extend(read(source, path)?);
        bounded(source, self.files.len())
    }

    /// Takes the allocation of this resource manager only.
    pub(crate) fn restrict_to(&mut self, manager: ResourceManager) {
        self.manager = Some(manager);
    }

    /// If all mentions are names without slots, each is the place of one rank by the rules of ACP, and
    /// those of `--host` replace those of files. Whether that is so.
    pub(crate) fn take_names_as_places(&mut self) -> bool {
        let is_name = |one: &HostMention| {
            let has_slots = one.slots != MentionSlots::Default || one.slots_max.is_some();
            matches!(one.target, MentionTarget::Name(_)) && !one.is_excluded && !has_slots
        };
        let mut all = self.lists.iter().map(|(_, mention)| mention).chain(&self.files).peekable();
        let are_places = all.peek().is_some() && all.all(is_name);
        if are_places && !self.lists.is_empty() {
            self.files.clear();
        }
        are_places
    }

    /// The hosts of the job. The environment is asked for what options leave open.
    ///
    /// # Errors
    /// Names a wrong line or variable, or a host that is not offered.
    pub(crate) fn finish(
        self, lookup: &EnvironmentLookup<'_>, is_local: &IsLocalHost<'_>,
    ) -> Result<SelectedHosts, LaunchError> {
        let is_relative = |mention: &HostMention| !matches!(mention.target, MentionTarget::Name(_));
        let needs_offer = |mention: &HostMention| is_relative(mention) || mention.is_excluded;
        let environment = || offered_by_environment(lookup, self.manager);
        let offered = if !self.files.is_empty() {
            let relative = self.files.iter().any(needs_offer);
            let below = if relative { environment()? } else { Vec::new() };
            selected(&self.files, &below, is_local)?
        } else if self.lists.is_empty() || self.lists.iter().any(|(_, one)| needs_offer(one)) {
            environment()?
        } else {
            // A list of names needs no allocation, but the slots of one are known.
            environment().unwrap_or_default()
        };
        let mut found = SelectedHosts::default();
        if self.lists.is_empty() {
            found.list = listed(&offered, is_local);
        } else {
            self.select(&offered, is_local, &mut found)?;
        }
        set_default_slots(&mut found.list, lookup);
        Ok(found)
    }

    /// Takes the hosts of `--host`. If the options of several programs have it, each list is for one
    /// program.
    fn select(
        &self, offered: &[HostMention], is_local: &IsLocalHost<'_>, found: &mut SelectedHosts,
    ) -> Result<(), LaunchError> {
        let is_strict = !self.files.is_empty();
        let offers = listed(offered, is_local);
        let mut builder = ListBuilder::default();
        for chunk in self.lists.chunk_by(|(one, _), (next, _)| one == next) {
            let mentions: Vec<_> = chunk.iter().map(|(_, mention)| mention.clone()).collect();
            let mut hosts: Vec<u32> = Vec::new();
            let selected = selected(&mentions, offered, is_local)?;
            let is_repeated = listed(&selected, is_local).hosts.len() < selected.len();
            let is_one = selected.len() == 1;
            for mention in selected {
                let MentionTarget::Name(name) = &mention.target else { continue };
                let offer = match offers.hosts.is_empty() {
                    true => None,
                    false => offers.find(name, is_local),
                };
                let offer = offer.and_then(|at| offers.hosts.get(at as usize));
                if is_strict && offer.is_none() {
                    return Err(wrong(&mention.source, &format!("{name} is not in the host file")));
                }
                let mention = match offer {
                    Some(offer) if !is_repeated => of_offer(offer, &mention),
                    _ if is_one || mention.slots != MentionSlots::Default => mention,
                    _ => HostMention { slots: MentionSlots::Count(1), ..mention },
                };
                let at = builder.push(&mention, is_local);
                hosts.extend(at.filter(|at| !hosts.contains(at)));
            }
            found.of_programs.push((chunk[0].0, hosts));
        }
        if found.of_programs.len() == 1 {
            found.of_programs.clear();
        }
        found.list = builder.list;
        Ok(())
    }
}

/// The lines of a host file.
fn read(source: &str, path: &OsStr) -> Result<Vec<HostMention>, LaunchError> {
    let file = format!("{source} {}", path.to_string_lossy());
    let text = std::fs::read_to_string(path).map_err(|error| wrong(&file, &error.to_string()))?;
    let mentions = parse_lines(&file, &text)?;
    match mentions.is_empty() {
        true => Err(wrong(&file, "the file names no host")),
        false => Ok(mentions),
    }
}

fn parse_lines(file: &str, text: &str) -> Result<Vec<HostMention>, LaunchError> {
    let mut mentions = Vec::new();
    for (line, at) in text.lines().zip(1..) {
        let source = format!("{file}, line {at}");
        mentions.extend(entry::line(&source, line).map_err(|why| wrong(&source, &why))?);
        bounded(&source, mentions.len())?;
    }
    Ok(mentions)
}

fn offered_by_environment(
    lookup: &EnvironmentLookup<'_>, manager: Option<ResourceManager>,
) -> Result<Vec<HostMention>, LaunchError> {
    if manager.is_none() {
        let file = |name: &&'static str| Some((*name, lookup(name)?));
        let file = HOST_FILES.iter().find_map(file).filter(|(_, path)| !path.is_empty());
        if let Some((name, path)) = file {
            return read(name, &path);
        }
    }
    allocation::mentions(lookup, manager)
}

/// The named hosts of `mentions`; relative ones are those of `offered`.
fn selected(
    mentions: &[HostMention], offered: &[HostMention], is_local: &IsLocalHost<'_>,
) -> Result<Vec<HostMention>, LaunchError> {
    let local = [HostMention { is_local: true, ..HostMention::named("", "localhost") }];
    let offered = if offered.is_empty() { &local } else { offered };
    let offers = listed(offered, is_local);
    let (excluded, mut rest): (Vec<_>, Vec<_>) =
        mentions.iter().cloned().partition(|mention| mention.is_excluded);
    if rest.is_empty() {
        rest = offered.to_vec();
    }
    let mut taken: HashSet<u32> = HashSet::new();
    for mention in &rest {
        taken.extend(match &mention.target {
            MentionTarget::Name(name) => offers.find(name, is_local),
            MentionTarget::Index(index) => Some(*index),
            MentionTarget::Unnamed(_) => None,
        });
    }
    let mut named = Vec::new();
    for mention in rest {
        let hosts: Vec<&JobHost> = match mention.target {
            MentionTarget::Name(_) => {
                named.push(mention);
                continue;
            }
            MentionTarget::Index(index) => offers.hosts.get(index as usize).into_iter().collect(),
            MentionTarget::Unnamed(count) => {
                let free = (0..).zip(&offers.hosts).filter(|(at, _)| !taken.contains(at));
                let most = count.map_or(usize::MAX, |count| count as usize);
                let free: Vec<_> = free.take(most).collect();
                taken.extend(free.iter().map(|(at, _)| *at));
                let enough = count.is_none_or(|count| free.len() == count as usize);
                free.into_iter().map(|(_, host)| host).filter(|_| enough).collect()
            }
        };
        if hosts.is_empty() {
            let why = format!("the allocation has too few hosts: {}", offers.hosts.len());
            return Err(wrong(&mention.source, &why));
        }
        named.extend(hosts.into_iter().map(|host| of_offer(host, &mention)));
    }
    let is_excluded = |mention: &HostMention| {
        let MentionTarget::Name(name) = &mention.target else { return false };
        excluded.iter().any(|excluded| match &excluded.target {
            MentionTarget::Name(other) => {
                other.eq_ignore_ascii_case(name)
                    || is_local(other) && (mention.is_local || is_local(name))
            }
            MentionTarget::Index(index) => offers.find(name, is_local) == Some(*index),
            MentionTarget::Unnamed(_) => false,
        })
    };
    named.retain(|mention| !is_excluded(mention));
    match (named.is_empty(), excluded.first()) {
        (true, Some(mention)) => Err(wrong(&mention.source, "every host is excluded")),
        _ => Ok(named),
    }
}

/// The mention of an offered host.
fn of_offer(host: &JobHost, mention: &HostMention) -> HostMention {
    let slots = match (mention.slots, host.slots) {
        (MentionSlots::Default, Some(slots)) => MentionSlots::Count(slots),
        (slots, _) => slots,
    };
    HostMention {
        target: MentionTarget::Name(host.name.clone()),
        is_local: host.is_local,
        user: mention.user.clone().or_else(|| host.user.clone()),
        port: mention.port.or(host.port),
        slots_max: mention.slots_max.or(host.slots_max),
        slots,
        ..mention.clone()
    }
}

/// The list of these mentions.
fn listed(mentions: &[HostMention], is_local: &IsLocalHost<'_>) -> HostList {
    let mut builder = ListBuilder::default();
    for mention in mentions {
        builder.push(mention, is_local);
    }
    builder.list
}

/// A list to which mentions are added.
#[derive(Debug, Default)]
pub(super) struct ListBuilder {
    list: HostList,
    /// The index of each name, in small letters.
    names: HashMap<String, u32>,
    local: Option<u32>,
}

impl ListBuilder {
    /// Adds the slots of `mention` to its host; the index of the host.
    fn push(&mut self, mention: &HostMention, is_local: &IsLocalHost<'_>) -> Option<u32> {
        let MentionTarget::Name(name) = &mention.target else { return None };
        let key = name.to_ascii_lowercase();
        let at = match self.names.get(&key) {
            Some(at) => *at,
            None => {
                let is_local = mention.is_local || is_local(name);
                let new = self.list.hosts.len() as u32;
                let at = if is_local { *self.local.get_or_insert(new) } else { new };
                self.names.insert(key, at);
                if at == new {
                    self.list.mentions.push(at);
                    self.list.hosts.push(new_host(name, is_local, mention));
                    return Some(at);
                }
                at
            }
        };
        self.list.mentions.push(at);
        add_slots(&mut self.list.hosts[at as usize], mention);
        Some(at)
    }
}

pub(super) fn new_host(name: &str, is_local: bool, mention: &HostMention) -> JobHost {
    JobHost {
        name: name.to_owned(),
        is_local,
        user: mention.user.clone(),
        port: mention.port,
        slots: mention.slots.count(),
        slots_max: mention.slots_max,
        source: mention.source.clone(),
    }
}

fn add_slots(host: &mut JobHost, mention: &HostMention) {
    let slots = mention.slots.count().unwrap_or(1);
    let sum = host.slots.unwrap_or(1).saturating_add(slots);
    host.slots = Some(sum).filter(|_| mention.slots != MentionSlots::Cores);
    let most = host.slots_max.zip(mention.slots_max);
    host.slots_max = most.map(|(one, other)| one.saturating_add(other));
    host.user = host.user.take().or_else(|| mention.user.clone());
    host.port = host.port.or(mention.port);
}

/// The slots of hosts without a number, if the environment has them.
fn set_default_slots(list: &mut HostList, lookup: &EnvironmentLookup<'_>) {
    let number = |name: &&str| lookup(name)?.to_str()?.parse().ok().filter(|slots| *slots > 0);
    if let Some(slots) = DEFAULT_SLOTS.iter().find_map(number) {
        list.hosts.iter_mut().for_each(|host| host.slots = host.slots.or(Some(slots)));
    }
}

fn bounded(source: &str, mentions: usize) -> Result<(), LaunchError> {
    match mentions > HOSTS_MAX {
        true => Err(wrong(source, &format!("more than {HOSTS_MAX} hosts"))),
        false => Ok(()),
    }
}

fn wrong(source: &str, why: &str) -> LaunchError {
    LaunchError::new(USAGE, format!("{source}: {why}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use std::ffi::OsString;

    fn here(name: &str) -> bool {
        ["here", "localhost", "::1"].contains(&name)
    }

    /// `name:slots/most` of each host; `*` marks the local one.
    fn picture(list: &HostList) -> String {
        let one = |host: &JobHost| {
            let number =
                |number: Option<u32>| number.map_or("?".into(), |number| number.to_string());
            let most = host.slots_max.map_or(String::new(), |most| format!("/{most}"));
            let local = if host.is_local { "*" } else { "" };
            format!("{}{local}:{}{most}", host.name, number(host.slots))
        };
        list.hosts.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    /// The hosts of lists (one for each program), the lines of a file, and variables.
    fn select(
        lists: &[&str], lines: &str, variables: &[(&str, &str)],
    ) -> Result<SelectedHosts, LaunchError> {
        let mut selection = HostSelection::default();
        for (program, list) in lists.iter().enumerate() {
            selection.add_list(program, "--host", list)?;
        }
        selection.files = parse_lines("-f x", lines)?;
        let lookup = |name: &str| {
            variables.iter().find(|pair| pair.0 == name).map(|pair| OsString::from(pair.1))
        };
        selection.finish(&lookup, &here)
    }

    fn pictured(lists: &[&str], lines: &str, variables: &[(&str, &str)]) -> String {
        match select(lists, lines, variables) {
            Ok(found) => picture(&found.list),
            Err(error) => error.why,
        }
    }

    #[test]
    fn slots_of_files_are_numbers_or_repeated_lines() {
        for (lines, hosts) in [
            ("here:4", "here*:4"),
            ("here slots=4 max_slots=8\n\n# none", "here*:4/8"),
            ("here:2 binding=user:0\nlocalhost:3", "here*:5"),
            ("here\nhere\nhere", "here*:3"),
            ("a\nb", "a:? b:?"),
            ("a\nb\na\nA", "a:3 b:?"),
            ("a:2 max_slots=2\na:2 max_slots=3", "a:4/5"),
            ("a slots=2\na:*", "a:?"),
            ("bob@a:2", "a:2"),
            ("+n0 slots=2", "localhost*:2"),
            ("^there\nhere:2", "here*:2"),
            ("a\nb\n^a", "b:?"),
            ("n[1-3]:2", "n1:2 n2:2 n3:2"),
            ("^here", "-f x, line 1: every host is excluded"),
            ("a\nb:x", "-f x, line 2: \"b:x\" is neither HOST nor HOST:SLOTS"),
            ("+n1", "-f x, line 1: the allocation has too few hosts: 1"),
        ] {
            assert_eq!(pictured(&[], lines, &[]), hosts, "{lines}");
        }
        let found = select(&[], "b\na\nb", &[]).unwrap();
        assert_eq!(
            (found.list.mentions, found.list.hosts[0].source.as_str()),
            (vec![0, 1, 0], "-f x, line 1")
        );
    }

    #[test]
    fn hosts_of_a_list_have_one_slot_each_or_what_was_offered() {
        let file = "a slots=4\nb slots=2 max_slots=3\nhere";
        for (list, lines, hosts) in [
            ("here:2,localhost:3", "", "here*:5"),
            ("here", "", "here*:?"),
            ("here,here", "", "here*:2"),
            ("::1", "", "::1*:?"),
            ("[::1]:2", "", "::1*:2"),
            ("a,b", "", "a:1 b:1"),
            ("a,b:*", "", "a:1 b:?"),
            ("n[1-2],c:3", "", "n1:1 n2:1 c:3"),
            ("b", file, "b:2/3"),
            ("b:1,a", file, "b:1/3 a:4"),
            ("a,a", file, "a:2"),
            ("+n1", file, "b:2/3"),
            ("+n2,+n0", file, "here*:? a:4"),
            ("a,+e", file, "a:4 b:2/3 here*:?"),
            ("+e:1,a", file, "b:2/3 a:4"),
            ("^a", file, "b:2/3 here*:?"),
            ("c", file, "--host: c is not in the host file"),
            ("+n3", file, "--host: the allocation has too few hosts: 3"),
            ("+e:4", file, "--host: the allocation has too few hosts: 3"),
            ("+e", "", "localhost*:?"),
            ("here:0", "", "--host: \"here:0\" is neither HOST nor HOST:SLOTS"),
        ] {
            assert_eq!(pictured(&[list], lines, &[]), hosts, "{list}");
        }
    }

    #[test]
    fn lists_of_several_programs_are_theirs() {
        let found = select(&["a", "b,a"], "", &[]).unwrap();
        assert_eq!(picture(&found.list), "a:2 b:1");
        assert_eq!(found.of_programs, [(0, vec![0]), (1, vec![1, 0])]);
        assert_eq!(select(&["a,b"], "", &[]).unwrap().of_programs, []);
    }

    #[test]
    fn resource_managers_offer_their_allocation() {
        let folder = std::env::temp_dir().join(format!("mpirun-hosts-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.join(name);
            std::fs::write(&path, text).unwrap();
            path.into_os_string().into_string().unwrap()
        };
        let nodes = file("nodes", "a\na\n\nb\n");
        let grid = file("grid", "a 3 all.q@a UNDEFINED\nb 1 all.q@b <NULL>\nc 0 q x\n");
        let wrong = file("wrong", "a\nb many q x\n");
        let slurm = |nodes: &'static str, tasks: &'static str| {
            vec![
                ("SLURM_JOB_NUM_NODES", "3"),
                ("SLURM_JOB_NODELIST", nodes),
                ("SLURM_TASKS_PER_NODE", tasks),
            ]
        };
        let cases: Vec<(Vec<(&str, &str)>, &str)> = vec![
            (vec![], ""),
            (vec![("PBS_NODEFILE", &nodes)], "a:2 b:1"),
            (vec![("LSB_DJOB_HOSTFILE", &nodes)], "a:2 b:1"),
            (vec![("LSB_MCPU_HOSTS", "a 2 b 3")], "a:2 b:3"),
            (vec![("LSB_HOSTS", "a b a")], "a:2 b:1"),
            (vec![("PBS_NODEFILE", &nodes), ("LSB_HOSTS", "c"), ("HYDRA_RMK", "lsf")], "c:1"),
            (vec![("PBS_NODEFILE", &nodes), ("I_MPI_HYDRA_RMK", "slurm")], ""),
            (vec![("PE_HOSTFILE", &grid)], "a:3 b:1"),
            (vec![("SLURM_JOB_NUM_NODES", "1"), ("SLURM_TASKS_PER_NODE", "4")], "localhost*:4"),
            (slurm("node[01-03]", "4(x2),3"), "node01:4 node02:4 node03:3"),
            (
                vec![("SLURM_NNODES", "1"), ("SLURM_NODELIST", "x7"), ("SLURMD_NODENAME", "x7")],
                "x7*:?",
            ),
            (vec![("PBS_NODEFILE", &nodes), ("OMPI_MCA_orte_set_default_slots", "9")], "a:2 b:1"),
            (
                vec![("HYDRA_HOST_FILE", &nodes), ("OMPI_MCA_orte_set_default_slots", "9")],
                "a:2 b:9",
            ),
        ];
        for (variables, hosts) in cases {
            assert_eq!(pictured(&[], "", &variables), hosts, "{variables:?}");
        }
        for (variables, why) in [
            (vec![("PBS_NODEFILE", "/nowhere")], "PBS_NODEFILE /nowhere: "),
            (vec![("PE_HOSTFILE", &*wrong)], "line 1: \"a\": expected HOST SLOTS"),
            (vec![("LSB_MCPU_HOSTS", "a 2 b")], "LSB_MCPU_HOSTS: expected HOST SLOTS"),
            (vec![("HYDRA_RMK", "moon")], "HYDRA_RMK moon: expected one of slurm, pbs"),
            (vec![("LSB_MCPU_HOSTS", "a 0")], "\"0\" is not a number of slots"),
            (slurm("node[01-03]", "4"), "SLURM_TASKS_PER_NODE: \"4\" has 1 numbers for 3 hosts"),
            (slurm("node[01-03]", "x"), "expected a list such as 4(x2),3"),
            (slurm("node[01-", "4"), "SLURM_JOB_NODELIST: \"node[01-\": ']' is missing"),
        ] {
            let found = pictured(&[], "", &variables);
            assert!(found.contains(why), "{variables:?}: {found}");
        }
        let allocation = [("PBS_NODEFILE", nodes.as_str())];
        assert_eq!(pictured(&["+n1,c"], "", &allocation), "b:1 c:1");
        assert_eq!(pictured(&["a"], "", &allocation), "a:2");
        assert_eq!(pictured(&["c"], "", &[("PBS_NODEFILE", "/nowhere")]), "c:?");
        std::fs::remove_dir_all(&folder).unwrap();
        let mut selection = HostSelection::default();
        selection.restrict_to(ResourceManager::parse("slurm").unwrap());
        let found = selection.finish(&|_| Some("/nowhere".into()), &here).unwrap();
        assert_eq!(found.list.hosts, []);
        assert!(ResourceManager::parse("moon").unwrap_err().why.contains("slurm, pbs"));
    }

    proptest! {
        #[test]
        fn any_lines_and_lists_are_selected_or_refused(
            lines in proptest::collection::vec("(a|b|here|[+^*]|[en:0-2@ -]|slots=){0,5}", 0..4),
            list in "(a|b|here|[+^*]|[en:0-2@,-]|\\[1-2\\]){0,6}",
        ) {
            if let Ok(found) = select(&[&list], &lines.join("\n"), &[]) {
                let count = found.list.hosts.len() as u32;
                prop_assert!(found.list.mentions.iter().all(|at| *at < count));
                let mut names: Vec<_> = found.list.hosts.iter().map(|host| &host.name).collect();
                names.sort();
                names.dedup();
                prop_assert_eq!(names.len() as u32, count);
                prop_assert!(found.list.hosts.iter().filter(|host| host.is_local).count() <= 1);
            }
        }
    }
}
