//! A call of a collective operation with equal blocks, and its schedules on all ranks: those of the
//! library, from its registry.

use mpi_abi::mpi::collective::algorithms::algorithm::{AgreedArguments, Arguments};
use mpi_abi::mpi::collective::algorithms::hierarchical::costs::{NAME, TwoLevel};
use mpi_abi::mpi::collective::algorithms::hierarchical::{HierarchyView, Nodes};
use mpi_abi::mpi::collective::algorithms::{
    Allreduce, Bcast, BlockPairs, Operands, RankBlocks, Reduce, ReduceScatter, Rooted,
    RootedBlocks, Scan, Shape, UniformBlocks,
};
use mpi_abi::mpi::collective::selection::chosen::ChosenAlgorithm;
use mpi_abi::mpi::collective::selection::machine_model::NETWORK;
use mpi_abi::mpi::collective::selection::registry::{
    self, AlgorithmFamily, CollectiveOperation, Visitor,
};
use mpi_abi::mpi::collective::selection::{AlgorithmChoice, NamedAlgorithm, Selection};
use mpi_abi::offload::{ROUNDS_MAX, Schedule};

/// From a rank to its schedule.
pub type ScheduleOf<'a> = dyn Fn(u32) -> Schedule + Sync + 'a;

/// A collective operation of some ranks. Reductions commute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectiveCall {
    /// The operation.
    pub operation: CollectiveOperation,
    /// Its algorithm as in a setting of the library; `None`: the cheapest by the library's own costs of a network.
    pub algorithm: Option<String>,
    /// Number of ranks, at least 1.
    pub ranks: u32,
    /// Length of the message, of each block or of an operand.
    pub bytes: usize,
    /// The root, if the operation has one.
    pub root: u32,
    /// Whether a rank's own data are already in the receive buffer.
    pub in_place: bool,
    /// The nodes of the ranks, if there are several with several ranks: then the form in two levels is an algorithm,
    /// too.
    pub nodes: Option<Nodes>,
}

/// Length of an element of a reduction, where it divides the operand.
pub(crate) const ELEMENT: usize = 8;

impl CollectiveCall {
    /// A call with rank 0 as root, not in place, by the cheapest algorithm.
    pub fn new(operation: CollectiveOperation, ranks: u32, bytes: usize) -> Self {
        let (algorithm, root, in_place, nodes) = (None, 0, false, None);
        Self { operation, algorithm, ranks, bytes, root, in_place, nodes }
    }

    /// The names of the algorithms of an operation.
    pub fn algorithms(operation: CollectiveOperation) -> Vec<&'static str> {
        operation.visit(Shape { ranks: 1 }, 0, FamilyNames)
    }

    /// Calls `then` with the name of the algorithm and the schedules.
    ///
    /// # Errors
    /// The algorithm does not exist or does not fit; or an error of `then`.
    pub fn with_schedules<T>(
        &self, then: impl FnOnce(&'static str, &ScheduleOf<'_>) -> Result<T, String>,
    ) -> Result<T, String> {
        use CollectiveOperation as Operation;
        let Self { ranks, bytes, root, in_place, .. } = *self;
        if root >= ranks {
            return Err(format!("rank {root} as root: expected a rank below {ranks}"));
        }
        let element = if bytes.is_multiple_of(ELEMENT) { ELEMENT } else { 1 };
        let operands = Operands { bytes, element, commutative: true };
        let rooted = Rooted { block: bytes, root, in_place };
        let exchange = UniformBlocks { block: bytes, in_place };
        let scan = Scan { operands, in_place };
        let has_list = matches!(
            self.operation,
            Operation::Gatherv
                | Operation::Scatterv
                | Operation::Allgatherv
                | Operation::Alltoallv
                | Operation::ReduceScatter
        );
        let blocks: &[usize] = &vec![bytes; if has_list { ranks as usize } else { 0 }];
        let listed = RootedBlocks { own: bytes, blocks, root, in_place };
        match self.operation {
            Operation::Barrier => self.with_family(&registry::BARRIER, (), then),
            Operation::Bcast => self.with_family(&registry::BCAST, Bcast { bytes, root }, then),
            Operation::Gather => self.with_family(&registry::GATHER, rooted, then),
            Operation::Gatherv => self.with_family(&registry::GATHERV, listed, then),
            Operation::Scatter => self.with_family(&registry::SCATTER, rooted, then),
            Operation::Scatterv => self.with_family(&registry::SCATTERV, listed, then),
            Operation::Allgather => self.with_family(&registry::ALLGATHER, exchange, then),
            Operation::Allgatherv => {
                self.with_family(&registry::ALLGATHERV, RankBlocks { blocks, in_place }, then)
            }
            Operation::Alltoall => self.with_family(&registry::ALLTOALL, exchange, then),
            Operation::Alltoallv => {
                let pairs = BlockPairs { send: blocks, receive: blocks, in_place };
                self.with_family(&registry::ALLTOALLV, pairs, then)
            }
            Operation::Reduce => {
                self.with_family(&registry::REDUCE, Reduce { operands, root, in_place }, then)
            }
            Operation::Allreduce => {
                self.with_family(&registry::ALLREDUCE, Allreduce { operands, in_place }, then)
            }
            Operation::ReduceScatter => {
                let args = ReduceScatter { blocks, commutative: true, in_place };
                self.with_family(&registry::REDUCE_SCATTER, args, then)
            }
            Operation::Scan => self.with_family(&registry::SCAN, scan, then),
            Operation::Exscan => self.with_family(&registry::EXSCAN, scan, then),
        }
    }

    fn with_family<'a, A: Arguments, T>(
        &self, family: &AlgorithmFamily<A>, args: A::Borrowed<'a>,
        then: impl FnOnce(&'static str, &ScheduleOf<'_>) -> Result<T, String>,
    ) -> Result<T, String>
    where
        A::Borrowed<'a>: Sync,
    {
        let shape = Shape { ranks: self.ranks };
        if let Some((two, nodes)) = self.two_level(family, args) {
            if !(two.fits)(nodes, args) {
                return Err(format!("two levels do not fit {} bytes on these nodes", self.bytes));
            }
            return then(NAME, &|rank| {
                let selection = Selection::default();
                (two.schedule)(HierarchyView::new(nodes, &selection, rank), args)
            });
        }
        let algorithm = match &self.algorithm {
            Some(text) => self.named(family, text)?,
            None => Selection::default().with_machine(NETWORK).choose(family, shape, args),
        };
        if !algorithm.fits(shape, args.agreed()) {
            let Self { ranks, bytes, .. } = self;
            return Err(format!("{} does not fit {bytes} bytes on {ranks} ranks", algorithm.name));
        }
        let rounds = algorithm.cost(shape, args.agreed()).rounds;
        if rounds > u64::from(ROUNDS_MAX) {
            let (name, ranks) = (algorithm.name, self.ranks);
            return Err(format!(
                "{name} does not fit {ranks} ranks: {rounds} rounds are more than {ROUNDS_MAX}"
            ));
        }
        then(algorithm.name, &|rank| algorithm.schedule(shape, rank, args))
    }

    /// The form in two levels, if it is named, or chosen.
    fn two_level<A: Arguments>(
        &self, family: &AlgorithmFamily<A>, args: A::Borrowed<'_>,
    ) -> Option<(&'static TwoLevel<A>, &Nodes)> {
        let (two, nodes) = (family.two_level?, self.nodes.as_ref()?);
        let name = match &self.algorithm {
            Some(name) => name,
            None => Selection::default().name_on(family, nodes, args),
        };
        (name == NAME).then_some((two, nodes))
    }

    /// The algorithm that a text of a setting names.
    fn named<A: Arguments>(
        &self, family: &AlgorithmFamily<A>, text: &str,
    ) -> Result<ChosenAlgorithm<A>, String> {
        let found = match AlgorithmChoice::from_text(self.operation, text) {
            Some(AlgorithmChoice::Algorithm(NamedAlgorithm { name, extras })) => {
                let mut algorithms = family.algorithms.iter();
                let found = algorithms.find(|algorithm| algorithm.name == name);
                found.map(|algorithm| ChosenAlgorithm::new(algorithm, extras))
            }
            Some(AlgorithmChoice::Auto | AlgorithmChoice::Shared) | None => None,
        };
        found.ok_or_else(|| {
            let two = family.two_level_name().filter(|_| self.nodes.is_some());
            let names = Self::algorithms(self.operation).into_iter().chain(two).map(str::to_owned);
            let texts: Vec<_> = names.chain(self.operation.forms_with_extra_rounds()).collect();
            format!("algorithm '{text}': expected one of {}", texts.join(", "))
        })
    }
}

struct FamilyNames;

impl Visitor for FamilyNames {
    type Output = Vec<&'static str>;

    fn visit<A: Arguments>(self, family: &AlgorithmFamily<A>, _: A::Borrowed<'_>) -> Self::Output {
        family.algorithms.iter().map(|algorithm| algorithm.name).collect()
    }
}
