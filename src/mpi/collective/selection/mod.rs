//! Selection of the algorithm: the cheapest that fits, by the algorithms' stated costs and the
//! machine model; or the algorithm in a setting, or in a rule of the user ([`rules`]).
//!
//! The selection depends only on values that the standard requires to be equal on all ranks
//! ([`AgreedArguments::agreed`]): the packed bytes of a message or block, the shape of the
//! communicator, whether the operation commutes. Counts and datatypes may differ, and so may
//! `MPI_IN_PLACE` in rooted operations. Settings are compared when ranks connect.

pub mod chosen;
pub mod machine_model;
pub mod registry;
pub mod rules;
pub(crate) mod schedule_cache;

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::mpi::collective::algorithms::Shape;
use crate::mpi::collective::algorithms::algorithm::{AgreedArguments, Algorithm, Arguments};
use crate::mpi::collective::algorithms::allreduce::extra_rounds::ExtraRounds;
use crate::mpi::collective::algorithms::hierarchical::{Nodes, costs};
use crate::mpi::collective::selection::chosen::ChosenAlgorithm;
use crate::mpi::collective::selection::machine_model::MachineModel;
use crate::mpi::collective::selection::registry::{AlgorithmFamily, CollectiveOperation};
use crate::mpi::collective::selection::rules::{CallSize, RequestedAlgorithm, SelectionRules};
use crate::offload::{ROUNDS_MAX, Schedule};

/// Setting for an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AlgorithmChoice {
    /// The cheapest: through shared memory if the ranks share memory, otherwise by messages.
    #[default]
    Auto,
    /// Through shared memory, if the ranks share memory.
    Shared,
    /// By messages, with this algorithm for calls that it fits.
    Algorithm(NamedAlgorithm),
}

/// An algorithm in a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NamedAlgorithm {
    /// The name.
    pub name: &'static str,
    /// The extra rounds after the name, if it has some.
    pub extras: Option<ExtraRounds>,
}

impl AlgorithmChoice {
    /// Parses the setting `text` for `operation`.
    pub fn from_text(operation: CollectiveOperation, text: &str) -> Option<Self> {
        match text {
            "auto" => Some(Self::Auto),
            "shared" => Some(Self::Shared),
            _ => NamedAlgorithm::from_text(operation, text).map(Self::Algorithm),
        }
    }

    /// The valid settings for `operation`, as a list.
    pub(crate) fn texts(operation: CollectiveOperation) -> String {
        let names = operation.algorithms().into_iter().map(str::to_owned);
        let settings = ["auto", "shared"].map(str::to_owned).into_iter().chain(names);
        settings.chain(operation.forms_with_extra_rounds()).collect::<Vec<_>>().join("|")
    }
}

/// The text of the setting.
impl fmt::Display for AlgorithmChoice {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => out.write_str("auto"),
            Self::Shared => out.write_str("shared"),
            Self::Algorithm(NamedAlgorithm { name, extras: None }) => out.write_str(name),
            Self::Algorithm(NamedAlgorithm { name, extras: Some(extras) }) => {
                write!(out, "{name}:{extras}")
            }
        }
    }
}

impl NamedAlgorithm {
    /// Parses `NAME` or `NAME:PARAMETERS`.
    fn from_text(operation: CollectiveOperation, text: &str) -> Option<Self> {
        let (name, parameters) = match text.split_once(':') {
            Some((name, parameters)) => (name, Some(parameters)),
            None => (text, None),
        };
        let name = operation.algorithms().into_iter().find(|known| *known == name)?;
        let extras = match parameters {
            None => None,
            Some(text) if operation.with_extra_rounds() == Some(name) => {
                Some(ExtraRounds::from_text(text)?)
            }
            Some(_) => return None,
        };
        Some(Self { name, extras })
    }
}

/// Inputs of the selection; equal on all ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    machine: MachineModel,
    network: MachineModel,
    /// The network of communicators of several jobs.
    between_jobs: MachineModel,
    choices: [AlgorithmChoice; CollectiveOperation::ALL.len()],
    /// The rules for operations whose setting is [`AlgorithmChoice::Auto`].
    rules: Option<Arc<SelectionRules>>,
    /// Whether the nodes of communicators are hosts, as rules mean them.
    knows_hosts: bool,
    /// Whether messages between clusters are those that IMPI prescribes, where it does.
    pub(crate) follows_impi: bool,
    /// Whether only reductions with one association are admitted.
    reproducible: bool,
    /// A bit for each operation with a warning about a setting that did not fit.
    warned: Cell<u32>,
}

impl Default for Selection {
    fn default() -> Self {
        Self::new(machine_model::SHARED)
    }
}

impl Selection {
    /// Selects the cheapest on `machine`, and on a network between several nodes of that kind.
    pub(crate) fn new(machine: MachineModel) -> Self {
        let choices = [AlgorithmChoice::Auto; CollectiveOperation::ALL.len()];
        let network = machine_model::NETWORK;
        let (reproducible, warned) = (false, Cell::new(0));
        Self {
            machine,
            network,
            between_jobs: network,
            choices,
            rules: None,
            knows_hosts: true,
            follows_impi: false,
            reproducible,
            warned,
        }
    }

    /// This selection for another machine.
    pub fn with_machine(self, machine: MachineModel) -> Self {
        Self { machine, ..self }
    }

    /// This selection for a world of several clusters.
    pub fn with_clusters(self) -> Self {
        Self { between_jobs: machine_model::WIDE_AREA, knows_hosts: false, ..self }
    }

    /// The selection for a communicator of several jobs, which may run on unlike machines, or for one
    /// of this job.
    pub fn across_jobs(&self, spans_jobs: bool) -> Cow<'_, Self> {
        match spans_jobs {
            true => Cow::Owned(Self {
                machine: machine_model::NETWORK,
                network: self.between_jobs,
                knows_hosts: false,
                ..self.clone()
            }),
            false => Cow::Borrowed(self),
        }
    }

    /// Sets the setting for `operation`.
    pub fn choose_for(&mut self, operation: CollectiveOperation, choice: AlgorithmChoice) {
        self.choices[operation as usize] = choice;
    }

    /// The setting for `operation`.
    pub fn choice(&self, operation: CollectiveOperation) -> AlgorithmChoice {
        self.choices[operation as usize]
    }

    /// Sets the rules for operations without a setting.
    pub fn set_rules(&mut self, rules: Option<SelectionRules>) {
        self.rules = rules.map(Arc::new);
    }

    /// The rules for operations without a setting.
    pub fn rules(&self) -> Option<&SelectionRules> {
        self.rules.as_deref()
    }

    /// What is asked for in a call: by the setting of the operation, or else by the first rule for it.
    #[inline]
    pub(crate) fn requested(
        &self, operation: CollectiveOperation, size: impl FnOnce() -> CallSize,
    ) -> RequestedAlgorithm<'_> {
        match (self.choice(operation), &self.rules) {
            (AlgorithmChoice::Auto, Some(rules)) => {
                RequestedAlgorithm::by_rule(rules, operation, size())
            }
            (choice, _) => RequestedAlgorithm::by_setting(choice),
        }
    }

    /// Ranks on the host that has most of them, if all ranks of the communicator know it.
    pub(crate) fn ranks_per_host(&self, shape: Shape, nodes: Option<&Nodes>) -> Option<u32> {
        self.knows_hosts.then(|| nodes.map_or(shape.ranks, Nodes::largest))
    }

    /// Admits only algorithms with one association (`algorithms`, "Association").
    pub(crate) fn set_reproducible(&mut self, reproducible: bool) {
        self.reproducible = reproducible;
    }

    /// Whether the algorithm with this name is admitted.
    pub(in crate::mpi) fn allows(&self, operation: CollectiveOperation, algorithm: &str) -> bool {
        let names = operation.reproducible().filter(|_| self.reproducible);
        names.is_none_or(|names| names.contains(&algorithm))
    }

    /// Whether `operation` uses shared memory, if all ranks share memory, where `choice` is asked for.
    #[inline]
    pub(crate) fn is_shared(
        &self, operation: CollectiveOperation, choice: AlgorithmChoice,
    ) -> bool {
        !matches!(choice, AlgorithmChoice::Algorithm(_))
            && (!self.reproducible || operation.reproducible().is_none())
    }

    /// The machine model for costs inside a node.
    pub(crate) fn machine(&self) -> &MachineModel {
        &self.machine
    }

    /// The machine model for shared segments. Jobs of a host may have more ranks than processors or not, so
    /// theirs is the same for all, except for what a rank does alone.
    pub(crate) fn machine_of_segments(&self, spans_jobs: bool) -> MachineModel {
        match spans_jobs {
            true => MachineModel { spins_max: self.machine.spins_max, ..machine_model::SHARED },
            false => self.machine,
        }
    }

    /// A number for the settings: jobs with unlike ones select unlike algorithms.
    pub(crate) fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let rules = self.rules().map(SelectionRules::digest);
        (self.reproducible, &self.choices, rules).hash(&mut hasher);
        hasher.finish()
    }

    /// The machine model for costs between nodes.
    pub(crate) fn network(&self) -> &MachineModel {
        &self.network
    }

    /// The algorithm of a part of a call, on one node: by the setting, without rules, which are for calls.
    ///
    /// # Panics
    /// If no algorithm fits; every family has one that fits.
    pub fn choose<A: Arguments>(
        &self, family: &AlgorithmFamily<A>, shape: Shape, args: A::Borrowed<'_>,
    ) -> ChosenAlgorithm<A> {
        let by_setting = RequestedAlgorithm::by_setting(self.choice(family.operation));
        self.choose_by(&self.machine, by_setting, family, shape, args)
    }

    /// The algorithm of a part of a call, between several nodes.
    ///
    /// # Panics
    /// As [`Selection::choose`].
    pub(crate) fn choose_across_nodes<A: Arguments>(
        &self, family: &AlgorithmFamily<A>, shape: Shape, args: A::Borrowed<'_>,
    ) -> ChosenAlgorithm<A> {
        let by_setting = RequestedAlgorithm::by_setting(self.choice(family.operation));
        self.choose_by(&self.network, by_setting, family, shape, args)
    }

    /// The algorithm that is requested, if it fits, or else the cheapest on `machine`.
    ///
    /// # Panics
    /// As [`Selection::choose`].
    pub(crate) fn choose_by<A: Arguments>(
        &self, machine: &MachineModel, requested: RequestedAlgorithm<'_>,
        family: &AlgorithmFamily<A>, shape: Shape, args: A::Borrowed<'_>,
    ) -> ChosenAlgorithm<A> {
        let agreed = args.agreed();
        let fitting = || {
            let fits = |algorithm: &&Algorithm<A>| {
                self.allows(family.operation, algorithm.name)
                    && (algorithm.fits)(shape, agreed)
                    && has_labels(algorithm, shape, agreed)
            };
            family.algorithms.iter().filter(fits)
        };
        if let AlgorithmChoice::Algorithm(NamedAlgorithm { name, extras }) = requested.choice {
            match fitting().find(|algorithm| algorithm.name == name) {
                Some(algorithm) => return ChosenAlgorithm::new(algorithm, extras),
                // This is one level of two, or the only level.
                None if name == costs::NAME => {}
                None => self.warn_once(family.operation, requested, shape),
            }
        }
        let time = |algorithm: &&Algorithm<A>| machine.time_ps((algorithm.cost)(shape, agreed));
        let cheapest = fitting().min_by_key(time);
        ChosenAlgorithm::new(cheapest.expect("one algorithm of a family fits any call"), None)
    }

    /// Schedule of `rank` in a call.
    pub fn schedule<A: Arguments>(
        &self, family: &AlgorithmFamily<A>, shape: Shape, rank: u32, args: A::Borrowed<'_>,
    ) -> Schedule {
        self.choose(family, shape, args).schedule(shape, rank, args)
    }

    /// Schedule of `rank` in a call among a group of an intercommunicator. Its hosts are not known.
    pub(crate) fn schedule_in_group<A: Arguments>(
        &self, family: &AlgorithmFamily<A>, shape: Shape, rank: u32, args: A::Borrowed<'_>,
    ) -> Schedule {
        let requested = self.requested(family.operation, || CallSize {
            ranks: shape.ranks,
            ranks_per_host: None,
            bytes: args.rule_bytes(),
        });
        self.choose_by(&self.machine, requested, family, shape, args).schedule(shape, rank, args)
    }

    /// Warns once that an algorithm does not fit a call.
    #[cold]
    fn warn_once(
        &self, operation: CollectiveOperation, requested: RequestedAlgorithm<'_>, shape: Shape,
    ) {
        let bit = 1 << operation as u32;
        if self.warned.replace(self.warned.get() | bit) & bit == 0 {
            let (name, ranks, algorithm) = (operation.name(), shape.ranks, requested.choice);
            let by = requested.rule.map_or(String::new(), |(rules, rule)| {
                format!(" of {}:{}", rules.file(), rule.line())
            });
            tracing::warn!(
                ranks,
                "SUIRO_COLL_{name}={algorithm}{by} does not fit a call; the cheapest that does is taken"
            );
        }
    }
}

/// Fewer ranks never have too many rounds: pipelines have at most 2^15 segments.
const MANY_RANKS: u32 = 1 << 14;

/// Whether there are enough labels for the rounds of an algorithm.
fn has_labels<A: Arguments>(
    algorithm: &Algorithm<A>, shape: Shape, agreed: A::Borrowed<'_>,
) -> bool {
    shape.ranks < MANY_RANKS || (algorithm.cost)(shape, agreed).rounds <= u64::from(ROUNDS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::collective::algorithms::{Allreduce, Bcast, Operands, RankBlocks};
    use crate::mpi::collective::selection::registry::{ALLGATHERV, ALLREDUCE, BCAST};

    /// Whether a call of the operation is for shared memory by its setting.
    fn is_shared(by: &Selection, operation: CollectiveOperation) -> bool {
        by.is_shared(operation, by.choice(operation))
    }

    /// A selection with the rules of a text.
    fn ruled(text: &str) -> Selection {
        let mut by = Selection::default();
        by.set_rules(Some(SelectionRules::parse("r.toml", text).unwrap()));
        by
    }

    #[test]
    fn a_rule_is_heeded_where_it_fits_and_a_setting_beats_it() {
        let mut by = ruled(
            "[[rule]]\noperation = \"bcast\"\nranks = 8\nbytes = { to = 64 }\nalgorithm = \"chain\"\n\
             [[rule]]\noperation = \"allreduce\"\nalgorithm = \"ring\"\n",
        );
        let bcast = |by: &Selection, ranks, bytes| {
            by.name_on(&BCAST, Shape { ranks }, Bcast { bytes, root: 0 })
        };
        assert_eq!(bcast(&by, 8, 64), "chain");
        assert_ne!(bcast(&by, 8, 65), "chain");
        assert_ne!(bcast(&by, 7, 64), "chain");
        // Parts of a call have no rules.
        let part = by.choose(&BCAST, Shape { ranks: 8 }, Bcast { bytes: 64, root: 0 });
        assert_ne!(part.name, "chain");
        let allreduce = |by: &Selection, bytes| {
            let operands = Operands { bytes, element: 8, commutative: true };
            by.name_on(&ALLREDUCE, Shape { ranks: 8 }, Allreduce { operands, in_place: false })
        };
        assert_eq!(allreduce(&by, 64), "ring");
        assert_ne!(allreduce(&by, 8), "ring");
        assert_eq!(by.warned.get(), 1 << CollectiveOperation::Allreduce as u32);
        let linear = AlgorithmChoice::from_text(CollectiveOperation::Bcast, "linear").unwrap();
        by.choose_for(CollectiveOperation::Bcast, linear);
        assert_eq!(bcast(&by, 8, 64), "linear");
        by.choose_for(CollectiveOperation::Bcast, AlgorithmChoice::Auto);
        assert_eq!(bcast(&by, 8, 64), "chain");
    }

    #[test]
    fn a_rule_knows_the_hosts_of_a_job_and_selects_one_level_or_two() {
        let rule = |ranks, name| {
            format!(
                "[[rule]]\noperation = \"bcast\"\nranks_per_host = {ranks}\nalgorithm = \"{name}\"\n"
            )
        };
        let by = ruled(&(rule(3, "two_level") + &rule(2, "chain")));
        let name = |by: &Selection, places: &[u32]| {
            let nodes = Nodes::new(places.iter().copied()).unwrap();
            by.name_on(&BCAST, &nodes, Bcast { bytes: 1, root: 0 })
        };
        assert_eq!(name(&by, &[0, 0, 0, 1]), "two_level");
        assert_eq!(name(&by, &[0, 0, 1, 1]), "chain");
        assert_ne!(name(&by.across_jobs(true), &[0, 0, 1, 1]), "chain");
        assert_ne!(name(&by.clone().with_clusters(), &[0, 0, 1, 1]), "chain");
    }

    #[test]
    fn jobs_with_other_rules_have_another_digest() {
        let rule = "[[rule]]\noperation = \"bcast\"\nalgorithm = \"chain\"\n";
        assert_ne!(ruled(rule).digest(), Selection::default().digest());
        assert_ne!(ruled(rule).digest(), ruled("").digest());
        assert_eq!(ruled(rule).digest(), ruled(rule).digest());
    }

    #[test]
    fn a_setting_is_heeded_where_it_fits() {
        let bcast = |by: &Selection, bytes| {
            by.choose(&BCAST, Shape { ranks: 8 }, Bcast { bytes, root: 0 }).name
        };
        let mut by = Selection::default();
        assert_ne!(bcast(&by, 8), "chain");
        let chain = AlgorithmChoice::from_text(CollectiveOperation::Bcast, "chain").unwrap();
        by.choose_for(CollectiveOperation::Bcast, chain);
        assert_eq!(bcast(&by, 8), "chain");
        assert!(!is_shared(&by, CollectiveOperation::Bcast));
        assert!(is_shared(&by, CollectiveOperation::Reduce));

        let ring = AlgorithmChoice::from_text(CollectiveOperation::Allreduce, "ring").unwrap();
        by.choose_for(CollectiveOperation::Allreduce, ring);
        let allreduce = |bytes| {
            let operands = Operands { bytes, element: 8, commutative: true };
            by.choose(&ALLREDUCE, Shape { ranks: 8 }, Allreduce { operands, in_place: false }).name
        };
        assert_eq!(allreduce(64), "ring");
        assert_ne!(allreduce(8), "ring");
        assert_eq!(by.warned.get(), 1 << CollectiveOperation::Allreduce as u32);
    }

    #[test]
    fn algorithms_with_more_rounds_than_labels_do_not_fit() {
        let mut by = Selection::default();
        let ring = AlgorithmChoice::from_text(CollectiveOperation::Allgatherv, "ring").unwrap();
        by.choose_for(CollectiveOperation::Allgatherv, ring);
        let chosen = |ranks| {
            let blocks = &vec![8; ranks as usize];
            by.choose(&ALLGATHERV, Shape { ranks }, RankBlocks { blocks, in_place: false }).name
        };
        assert_eq!(chosen(ROUNDS_MAX + 1), "ring");
        assert_ne!(chosen(ROUNDS_MAX + 2), "ring");
    }

    #[test]
    fn reproducible_results_have_their_algorithms() {
        let mut by = Selection::default();
        by.set_reproducible(true);
        assert!(!is_shared(&by, CollectiveOperation::Reduce));
        assert!(is_shared(&by, CollectiveOperation::Bcast));
        let ring = AlgorithmChoice::from_text(CollectiveOperation::Allreduce, "ring").unwrap();
        by.choose_for(CollectiveOperation::Allreduce, ring);
        for elements in [1, 7, 100, 1 << 20] {
            let operands = Operands { bytes: 8 * elements, element: 8, commutative: true };
            let args = Allreduce { operands, in_place: false };
            let name = by.choose(&ALLREDUCE, Shape { ranks: 7 }, args).name;
            assert!(
                CollectiveOperation::Allreduce.reproducible().unwrap().contains(&name),
                "{name}"
            );
        }
        for operation in CollectiveOperation::ALL {
            let names = operation.algorithms();
            let known = operation.reproducible().unwrap_or_default();
            assert!(known.iter().all(|name| names.contains(name)), "{known:?}");
        }
    }

    #[test]
    fn an_algorithm_with_extra_rounds_has_those_of_the_setting() {
        let operation = CollectiveOperation::Allreduce;
        let shape = Shape { ranks: 8 };
        let operands = Operands { bytes: 8, element: 8, commutative: false };
        let args = Allreduce { operands, in_place: false };
        let rounds = |text: &str| {
            let mut by = Selection::default();
            let choice = AlgorithmChoice::from_text(operation, text).unwrap();
            assert_eq!(choice.to_string(), text);
            by.choose_for(operation, choice);
            assert!(!is_shared(&by, operation));
            let chosen = by.choose(&ALLREDUCE, shape, args);
            let schedule = by.schedule(&ALLREDUCE, shape, 3, args);
            assert_eq!(u64::from(schedule.rounds()), chosen.cost(shape, args).rounds, "{text}");
            (chosen.name, schedule.rounds(), by.digest())
        };
        let [usual, plain, more] =
            ["redundant", "redundant:0,0", "redundant:2,3,descending"].map(rounds);
        assert_eq!((usual.0, usual.1, plain.1, more.1), ("redundant", 5, 3, 8));
        assert!(usual.2 != plain.2 && plain.2 != more.2);
        for text in ["redundant:", "redundant:1", "doubling:1,1", "redundant:1,1:1", "auto:1,1"] {
            assert_eq!(AlgorithmChoice::from_text(operation, text), None, "{text}");
        }
        assert!(AlgorithmChoice::texts(operation).contains("|redundant:M,L|"));
        assert_eq!(CollectiveOperation::Bcast.forms_with_extra_rounds().count(), 0);
    }

    #[test]
    fn a_bad_name_is_none() {
        assert_eq!(AlgorithmChoice::from_text(CollectiveOperation::Barrier, "chain"), None);
        assert_eq!(
            AlgorithmChoice::from_text(CollectiveOperation::Barrier, "shared"),
            Some(AlgorithmChoice::Shared)
        );
        assert!(
            AlgorithmChoice::texts(CollectiveOperation::Bcast).starts_with("auto|shared|binomial|")
        );
    }
}
