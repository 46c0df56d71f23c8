//! The requested placement, in the keywords of Open MPI, MPICH and Intel MPI.
//!
//! ```text
//!   --map-by  WHERE[:MODIFIER]...      --bind-to  WHAT[:MODIFIER]...      --rank-by  ORDER
//! ```
//!
//! Keywords may be in capitals and abbreviated to an unambiguous prefix. Colons separate modifiers,
//! or commas as in older releases of Open MPI. The later of two contradicting options wins.
//!
//! Where the three differ: `--map-by package` is round robin over the packages (MPICH, and Open MPI
//! before 5), and `--rank-by fill` gives the order of Open MPI 5; `--map-by core:2` takes two cores
//! at a time (MPICH).

use std::path::PathBuf;

use crate::{LaunchError, USAGE};
use platform::sys::topology::{HardwareLevel, parse_list};

use super::files::Rankfile;
use super::keywords::{Keywords, find_keyword, keyword_list, unknown_keyword};

/// The requested placement; by default nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PlacementRequest {
    pub(super) mapping: Option<RankMapping>,
    pub(super) binding: Option<Binding>,
    pub(super) ranking: Option<RankOrder>,
    pub(super) per_host: Option<PerHost>,
    /// Cores or hardware threads of each rank (`PE=n`).
    pub(super) width: Option<usize>,
    /// Count hardware threads instead of cores.
    pub(super) by_thread: bool,
    /// Whether more than one rank may be bound to a core. Default: yes, with a note.
    pub(super) overload: Option<bool>,
    /// Whether there may be more ranks than cores. Default: yes.
    pub(super) oversubscribe: Option<bool>,
    /// Do not bind if binding is not possible.
    pub(super) if_possible: bool,
    /// No ranks on the host of the launcher.
    pub(super) no_local: bool,
    /// Mapped objects are those of all hosts together.
    pub(super) spans_hosts: bool,
}

/// How ranks are mapped to objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RankMapping {
    /// Core by core.
    Slot,
    /// Round robin over groups of `group` objects of this level.
    Level { level: HardwareLevel, group: usize },
    /// `count` ranks on each object of this level.
    PerObject { count: usize, level: HardwareLevel },
    /// By a rankfile, not read yet.
    Rankfile(PathBuf),
    /// By the lines of a rankfile.
    RankfileRanks(Rankfile),
    /// By a file of hosts, not read yet, or by the list of hosts.
    Sequence(Option<PathBuf>),
    /// A host for each rank, core by core.
    HostSequence(Vec<u32>),
    /// These cores: all for each rank, or one for each rank if `ordered`.
    List { units: Vec<usize>, ordered: bool },
}

/// The requested binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Binding {
    Nothing,
    /// `count` objects of this level.
    Level {
        level: HardwareLevel,
        count: usize,
    },
    /// The processors of each rank; ranks after the end of the list are not bound.
    Lists(Vec<Vec<usize>>),
}

/// The order of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RankOrder {
    /// Host by host, on each as mapped.
    Slot,
    /// Round robin over the hosts.
    Node,
    /// Object by object.
    Fill,
    /// Round robin over the objects that ranks are mapped to.
    Span,
    /// Round robin over the objects of this level.
    Level(HardwareLevel),
}

/// The number of ranks on each host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PerHost {
    pub count: usize,
    /// More ranks than that wrap around the hosts.
    pub wraps_around: bool,
}

const LEVELS: &Keywords<HardwareLevel> = &[
    ("hwthread", HardwareLevel::Thread),
    ("core", HardwareLevel::Core),
    ("l1cache", HardwareLevel::L1),
    ("l2cache", HardwareLevel::L2),
    ("l3cache", HardwareLevel::L3),
    ("numa", HardwareLevel::Numa),
    ("socket", HardwareLevel::Package),
    ("package", HardwareLevel::Package),
    ("board", HardwareLevel::Machine),
    ("node", HardwareLevel::Machine),
    ("machine", HardwareLevel::Machine),
    ("l1dcache", HardwareLevel::L1),
    ("l2ucache", HardwareLevel::L2),
    ("l3ucache", HardwareLevel::L3),
];

const RANKINGS: &Keywords<RankOrder> = &[
    ("slot", RankOrder::Slot),
    ("node", RankOrder::Node),
    ("fill", RankOrder::Fill),
    ("span", RankOrder::Span),
    ("hwthread", RankOrder::Level(HardwareLevel::Thread)),
    ("core", RankOrder::Level(HardwareLevel::Core)),
    ("l1cache", RankOrder::Level(HardwareLevel::L1)),
    ("l2cache", RankOrder::Level(HardwareLevel::L2)),
    ("l3cache", RankOrder::Level(HardwareLevel::L3)),
    ("numa", RankOrder::Level(HardwareLevel::Numa)),
    ("socket", RankOrder::Level(HardwareLevel::Package)),
    ("package", RankOrder::Level(HardwareLevel::Package)),
    ("board", RankOrder::Node),
    ("machine", RankOrder::Node),
];

const PLACES: &str = "slot, hwthread, core, l1cache, l2cache, l3cache, numa, package (socket), \
                      machine (board, node), ppr:N:OBJECT, pe-list=LIST, rankfile:file=FILE, seq";
const BOUNDS: &str = "none, hwthread, core, l1cache, l2cache, l3cache, numa, package (socket), \
                      machine (board, node), each also with :N, rr, user:LIST,LIST...";
const MAP_MODIFIERS: &str = "PE=N, span, oversubscribe, nooversubscribe, hwtcpus, corecpus, \
                             nolocal, ordered, file=FILE";
const BIND_MODIFIERS: &str = "overload-allowed, no-overload, if-supported";

impl PlacementRequest {
    /// The level that has one slot for each rank.
    pub(super) fn unit(&self) -> HardwareLevel {
        match self.binding {
            Some(Binding::Level { level: HardwareLevel::Thread, .. }) => HardwareLevel::Thread,
            _ if self.by_thread => HardwareLevel::Thread,
            _ => HardwareLevel::Core,
        }
    }

    /// Applies the value of `--map-by`.
    ///
    /// # Errors
    /// Names the unknown keyword and the known ones.
    pub(crate) fn map_by(&mut self, words: &str) -> Result<(), LaunchError> {
        let wrong = |why: String| LaunchError::new(USAGE, format!("--map-by {words}: {why}"));
        let mut rest = words.split(':');
        let first = rest.next().unwrap_or_default();
        let mut modifiers: Vec<_> = rest.flat_map(|part| part.split(',')).collect();
        let mapping = match first.to_ascii_lowercase().as_str() {
            "" => None,
            "ppr" => {
                let (per_object, used) = per_object(&modifiers).map_err(wrong)?;
                modifiers.drain(..used);
                self.map_per_object(per_object);
                None
            }
            word => Some(mapping(first, word, &mut modifiers).map_err(wrong)?),
        };
        if mapping.is_some() {
            self.mapping = mapping;
        }
        modifiers.into_iter().try_for_each(|modifier| self.map_modifier(modifier)).map_err(wrong)
    }

    /// Applies the value of `--bind-to`.
    ///
    /// # Errors
    /// Names the unknown keyword and the known ones.
    pub(crate) fn bind_to(&mut self, words: &str) -> Result<(), LaunchError> {
        let wrong = |why: String| LaunchError::new(USAGE, format!("--bind-to {words}: {why}"));
        let (first, rest) = words.split_once(':').unwrap_or((words, ""));
        let first = first.to_ascii_lowercase();
        if first == "user" {
            self.binding = Some(Binding::Lists(user_lists(rest).map_err(wrong)?));
            return Ok(());
        }
        let mut binding = match first.as_str() {
            "" => None,
            "none" => Some(Binding::Nothing),
            // Processors in the numbering of the system.
            "rr" => Some(Binding::Level { level: HardwareLevel::Thread, count: 1 }),
            word => {
                let level = find_keyword(LEVELS, word)
                    .ok_or_else(|| wrong(unknown_keyword(word, BOUNDS)))?;
                Some(Binding::Level { level, count: 1 })
            }
        };
        for modifier in rest.split([':', ',']).filter(|_| !rest.is_empty()) {
            match (&mut binding, modifier.parse::<usize>()) {
                (Some(Binding::Level { count, .. }), Ok(given)) if given > 0 => *count = given,
                _ => self.bind_modifier(modifier).map_err(wrong)?,
            }
        }
        if binding.is_some() {
            self.binding = binding;
        }
        Ok(())
    }

    /// Applies the value of `--rank-by`.
    ///
    /// # Errors
    /// Names the unknown keyword and the known ones.
    pub(crate) fn rank_by(&mut self, word: &str) -> Result<(), LaunchError> {
        let ranking = find_keyword(RANKINGS, word);
        self.ranking = Some(ranking.ok_or_else(|| {
            let why = unknown_keyword(word, &keyword_list(RANKINGS));
            LaunchError::new(USAGE, format!("--rank-by {word}: {why}"))
        })?);
        Ok(())
    }

    /// `-N` or `-npernode`: at most `count` ranks on each host.
    pub(crate) fn per_host(&mut self, count: u32) {
        self.per_host = Some(PerHost { count: count as usize, wraps_around: false });
    }

    /// `-ppn` or `-perhost`: `count` ranks on each host, wrapping around.
    pub(crate) fn per_host_wrapping(&mut self, count: u32) {
        self.per_host = Some(PerHost { count: count as usize, wraps_around: true });
    }

    /// `-npersocket`: `count` ranks on each package.
    pub(crate) fn per_package(&mut self, count: u32) {
        self.map_per_object(RankMapping::PerObject {
            count: count as usize,
            level: HardwareLevel::Package,
        });
    }

    /// `--rankfile`.
    pub(crate) fn rankfile(&mut self, file: PathBuf) {
        self.mapping = Some(RankMapping::Rankfile(file));
    }

    /// Places rank after rank on the hosts of these mentions, then again from the first. False if
    /// another distribution was requested.
    pub(crate) fn take_turns(&mut self, mentions: &[u32], ranks: u32) -> bool {
        if self.mapping.is_some() || self.per_host.is_some() {
            return false;
        }
        let hosts = mentions.iter().copied().cycle().take(ranks as usize);
        self.mapping = Some(RankMapping::HostSequence(hosts.collect()));
        true
    }

    pub(crate) fn bind_to_nothing(&mut self) {
        self.binding = Some(Binding::Nothing);
    }

    /// `later`, completed from `self`.
    pub(crate) fn with(self, later: &Self) -> Self {
        Self {
            mapping: later.mapping.clone().or(self.mapping),
            binding: later.binding.clone().or(self.binding),
            ranking: later.ranking.or(self.ranking),
            per_host: later.per_host.or(self.per_host),
            width: later.width.or(self.width),
            by_thread: later.by_thread || self.by_thread,
            overload: later.overload.or(self.overload),
            oversubscribe: later.oversubscribe.or(self.oversubscribe),
            if_possible: later.if_possible || self.if_possible,
            no_local: later.no_local || self.no_local,
            spans_hosts: later.spans_hosts || self.spans_hosts,
        }
    }

    /// Whether there may be more ranks than slots or cores, if that was given.
    pub(crate) fn oversubscribe(&self) -> Option<bool> {
        self.oversubscribe
    }

    /// Whether the host of the launcher is left out.
    pub(crate) fn excludes_local(&self) -> bool {
        self.no_local
    }

    /// The hosts have enough slots; then the number of cores is not checked.
    pub(crate) fn slots_are_enough(&mut self) {
        self.oversubscribe = None;
    }

    /// Whether mapping or binding was given.
    pub(crate) fn decides_binding(&self) -> bool {
        self.binding.is_some() || self.mapping.is_some() || self.width.is_some()
    }

    /// Whether nothing was requested.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn map_per_object(&mut self, mapping: RankMapping) {
        match mapping {
            RankMapping::PerObject { count, level: HardwareLevel::Machine } => {
                self.per_host = Some(PerHost { count, wraps_around: false });
            }
            mapping => self.mapping = Some(mapping),
        }
    }

    fn map_modifier(&mut self, modifier: &str) -> Result<(), String> {
        let lower = modifier.to_ascii_lowercase();
        if let Some(width) = lower.strip_prefix("pe=") {
            let width = width.parse().ok().filter(|width| *width > 0);
            let why = || format!("{modifier}: expected a number of cores for each rank");
            self.width = Some(width.ok_or_else(why)?);
            return Ok(());
        }
        if lower.strip_prefix("file=").is_some() {
            return Err(format!("{modifier}: only rankfile and seq have a file"));
        }
        match (lower.as_str(), &mut self.mapping) {
            ("ordered", Some(RankMapping::List { ordered, .. })) => *ordered = true,
            ("ordered", _) => return Err("ordered: only pe-list=LIST has an order".into()),
            ("oversubscribe", _) => self.oversubscribe = Some(true),
            ("nooversubscribe", _) => self.oversubscribe = Some(false),
            ("hwtcpus", _) => self.by_thread = true,
            ("corecpus", _) => self.by_thread = false,
            ("span", _) => self.spans_hosts = true,
            // There is no parent job.
            ("inherit" | "noinherit", _) => {}
            ("nolocal", _) => self.no_local = true,
            _ => return Err(unknown_keyword(modifier, MAP_MODIFIERS)),
        }
        Ok(())
    }

    fn bind_modifier(&mut self, modifier: &str) -> Result<(), String> {
        match modifier.to_ascii_lowercase().as_str() {
            "overload-allowed" | "overload" => self.overload = Some(true),
            "no-overload" | "nooverload" => self.overload = Some(false),
            "if-supported" => self.if_possible = true,
            _ => return Err(unknown_keyword(modifier, BIND_MODIFIERS)),
        }
        Ok(())
    }
}

/// The mapping `first`; removes its arguments from `modifiers`.
fn mapping(first: &str, word: &str, modifiers: &mut Vec<&str>) -> Result<RankMapping, String> {
    if let Some(list) = word.strip_prefix("pe-list=") {
        let units = parse_list(list).filter(|units| !units.is_empty());
        let why = || format!("{list:?}: expected a list such as 0,2,4-7");
        return Ok(RankMapping::List { units: units.ok_or_else(why)?, ordered: false });
    }
    if word == "dist" || word.starts_with("dist=") {
        let why = "the distance to a device is unknown; numa uses the nearest memory";
        return Err(why.into());
    }
    let mut file = || {
        let is_file = |modifier: &&str| modifier.to_ascii_lowercase().starts_with("file=");
        let at = modifiers.iter().position(is_file)?;
        modifiers.remove(at).split_once('=').map(|(_, path)| PathBuf::from(path))
    };
    match word {
        "slot" => Ok(RankMapping::Slot),
        "rankfile" => file()
            .map(RankMapping::Rankfile)
            .ok_or_else(|| "missing file: rankfile:file=FILE".into()),
        "seq" => Ok(RankMapping::Sequence(file())),
        _ => {
            // Only in full, so that a prefix of them means "socket".
            let clear = !["slot", "seq"].iter().any(|name| name.starts_with(word));
            let level = find_keyword(LEVELS, word).filter(|_| clear);
            let level = level.ok_or_else(|| unknown_keyword(first, PLACES))?;
            let number = modifiers.first().and_then(|word| word.parse().ok());
            let group = number.filter(|group| *group > 0);
            modifiers.drain(..usize::from(group.is_some()));
            Ok(RankMapping::Level { level, group: group.unwrap_or(1) })
        }
    }
}

/// Parses `N` and `OBJECT` of `ppr:N:OBJECT`; the mapping, and the number of parsed words.
fn per_object(words: &[&str]) -> Result<(RankMapping, usize), String> {
    let count = words.first().and_then(|word| word.parse().ok()).filter(|count| *count > 0);
    let level = words.get(1).and_then(|word| find_keyword(LEVELS, word));
    match (count, level) {
        (Some(count), Some(level)) => Ok((RankMapping::PerObject { count, level }, 2)),
        (None, _) => Err("ppr:N:OBJECT needs a number".into()),
        (_, None) => Err(unknown_keyword(words.get(1).unwrap_or(&""), &keyword_list(LEVELS))),
    }
}

/// Parses `0+2,1,3-4`: a set of processors for each rank.
fn user_lists(text: &str) -> Result<Vec<Vec<usize>>, String> {
    let lists = text.split(',').map(|part| {
        let list = parse_list(&part.replace('+', ",")).filter(|list| !list.is_empty());
        list.ok_or_else(|| format!("{part:?}: expected processors such as 0+2"))
    });
    lists.collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn mapped(words: &str) -> PlacementRequest {
        let mut request = PlacementRequest::default();
        request.map_by(words).unwrap_or_else(|error| panic!("{}", error.why));
        request
    }

    fn bound(words: &str) -> PlacementRequest {
        let mut request = PlacementRequest::default();
        request.bind_to(words).unwrap_or_else(|error| panic!("{}", error.why));
        request
    }

    fn by(level: HardwareLevel) -> Option<RankMapping> {
        Some(RankMapping::Level { level, group: 1 })
    }

    #[test]
    fn mappings_have_the_names_of_all_three() {
        for (words, mapping) in [
            ("slot", Some(RankMapping::Slot)),
            ("hwthread", by(HardwareLevel::Thread)),
            ("core", by(HardwareLevel::Core)),
            ("CORE", by(HardwareLevel::Core)),
            ("L1cache", by(HardwareLevel::L1)),
            ("L2", by(HardwareLevel::L2)),
            ("l3", by(HardwareLevel::L3)),
            ("numa", by(HardwareLevel::Numa)),
            ("socket", by(HardwareLevel::Package)),
            ("pac", by(HardwareLevel::Package)),
            ("node", by(HardwareLevel::Machine)),
            ("board", by(HardwareLevel::Machine)),
            ("machine", by(HardwareLevel::Machine)),
            ("socket:2", Some(RankMapping::Level { level: HardwareLevel::Package, group: 2 })),
            ("ppr:2:core", Some(RankMapping::PerObject { count: 2, level: HardwareLevel::Core })),
            (
                "ppr:4:socket,span",
                Some(RankMapping::PerObject { count: 4, level: HardwareLevel::Package }),
            ),
            ("seq", Some(RankMapping::Sequence(None))),
            ("seq:file=/Hosts", Some(RankMapping::Sequence(Some("/Hosts".into())))),
            ("rankfile:FILE=/Ranks", Some(RankMapping::Rankfile("/Ranks".into()))),
            (
                "pe-list=0,2,4-5",
                Some(RankMapping::List { units: vec![0, 2, 4, 5], ordered: false }),
            ),
            ("pe-list=3:ordered", Some(RankMapping::List { units: vec![3], ordered: true })),
            (":oversubscribe", None),
        ] {
            assert_eq!(mapped(words).mapping, mapping, "{words}");
        }
        let per_host = |count, again| Some(PerHost { count, wraps_around: again });
        assert_eq!(mapped("ppr:3:node").per_host, per_host(3, false));
        let mut request = PlacementRequest::default();
        request.per_host_wrapping(4);
        assert_eq!(request.per_host, per_host(4, true));
        request.per_host(2);
        assert_eq!(request.per_host, per_host(2, false));
        request.per_package(5);
        assert_eq!(request.mapping, mapped("ppr:5:package").mapping);
        assert!(!request.is_empty() && PlacementRequest::default().is_empty());
    }

    #[test]
    fn modifiers_of_several_options_are_combined() {
        let mut request = mapped("numa:PE=4:hwtcpus");
        request.map_by(":nooversubscribe").unwrap();
        request.bind_to("core:overload-allowed:if-supported").unwrap();
        request.rank_by("FILL").unwrap();
        assert_eq!((request.width, request.by_thread), (Some(4), true));
        assert_eq!((request.overload, request.oversubscribe), (Some(true), Some(false)));
        assert!(request.if_possible);
        assert_eq!(request.mapping, by(HardwareLevel::Numa));
        assert_eq!(request.ranking, Some(RankOrder::Fill));
        // As in older releases of Open MPI.
        assert_eq!(mapped("ppr:2:socket,pe=7,oversubscribe").width, Some(7));
        assert_eq!(mapped("slot:inherit"), mapped("slot"));
        assert!(mapped("core:span").spans_hosts);
        assert!(mapped("slot:nolocal").excludes_local());
    }

    #[test]
    fn bindings_have_the_names_of_all_three() {
        let level = |level, count| Some(Binding::Level { level, count });
        for (words, binding) in [
            ("none", Some(Binding::Nothing)),
            ("rr", level(HardwareLevel::Thread, 1)),
            ("hwthread:2", level(HardwareLevel::Thread, 2)),
            ("core", level(HardwareLevel::Core, 1)),
            ("Core:3", level(HardwareLevel::Core, 3)),
            ("socket:2", level(HardwareLevel::Package, 2)),
            ("l2cache", level(HardwareLevel::L2, 1)),
            ("L3", level(HardwareLevel::L3, 1)),
            ("board:no-overload", level(HardwareLevel::Machine, 1)),
            ("user:0+2,1,3", Some(Binding::Lists(vec![vec![0, 2], vec![1], vec![3]]))),
            (":overload-allowed", None),
        ] {
            assert_eq!(bound(words).binding, binding, "{words}");
        }
    }

    #[test]
    fn wrong_keywords_are_named_with_the_known_ones() {
        type Take = fn(&mut PlacementRequest, &str) -> Result<(), LaunchError>;
        let takes: [(&str, Take); 3] = [
            ("--map-by", PlacementRequest::map_by),
            ("--bind-to", PlacementRequest::bind_to),
            ("--rank-by", PlacementRequest::rank_by),
        ];
        for (option, words, named) in [
            (0, "nonsense", "\"nonsense\" is unknown; expected one of slot,"),
            (0, "s", "\"s\" is unknown"),
            (0, "core:fast", "\"fast\" is unknown; expected one of PE=N"),
            (0, "core:PE=0", "PE=0"),
            (0, "core:", "\"\""),
            (0, "core:ordered", "pe-list"),
            (0, "ppr:0:core", "needs a number"),
            (0, "ppr", "needs a number"),
            (0, "ppr:1:moon", "moon"),
            (0, "ppr:1", "expected one of hwthread"),
            (0, "pe-list=a", "\"a\""),
            (0, "pe-list=", "0,2,4-7"),
            (0, "rankfile", "rankfile:file=FILE"),
            (0, "core:file=x", "rankfile"),
            (0, "dist:auto", "numa"),
            (1, "nonsense", "\"nonsense\" is unknown; expected one of none,"),
            (1, "core:fast", "expected one of overload-allowed"),
            (1, "core:0", "\"0\""),
            (1, "none:2", "\"2\""),
            (1, "user:1,,2", "\"\""),
            (1, "user:", "0+2"),
            (2, "nonsense", "\"nonsense\" is unknown; expected one of slot,"),
        ] {
            let (name, take) = takes[option];
            let taken = take(&mut PlacementRequest::default(), words);
            let error = taken.expect_err(words);
            assert_eq!(error.code, USAGE);
            assert!(error.why.starts_with(&format!("{name} {words}: ")), "{}", error.why);
            assert!(error.why.contains(named), "{words}: {}", error.why);
        }
    }

    proptest! {
        #[test]
        fn any_words_are_taken_or_refused(
            words in "(pe-list=|ppr|core|user|l3|rankfile|:|,|[0-9+=-]|[a-zF]){0,8}",
        ) {
            let mut request = PlacementRequest::default();
            let _ = request.map_by(&words);
            let _ = request.bind_to(&words);
            let _ = request.rank_by(&words);
        }
    }
}
