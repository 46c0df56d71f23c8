//! Virtual topologies: the neighbors of the ranks of a communicator (MPI 5.0 §8).
//!
//! A topology is an immutable value of a communicator and its duplicates. Queries are local; only
//! the creation needs messages ([`create`]).
//!
//! | kind | known to every rank | queries |
//! |---|---|---|
//! | Cartesian grid | the whole grid | [`Cart`] |
//! | graph | the whole graph | [`Graph`] |
//! | distributed graph | its own neighbors | [`DistGraph`] |
//!
//! This module checks ranks, lengths and weights of the application.

pub(crate) mod cart;
pub mod create;
pub(crate) mod dims;
pub mod dist_graph;
pub(crate) mod graph;
pub(crate) mod map;
mod neighborhood;

pub use cart::Cart;
pub use dist_graph::DistGraph;
pub use graph::Graph;

use crate::mpi::communicator::Comm;
use platform::base::{ErrorClass, MpiError, Result};

/// The topology of a communicator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VirtualTopology {
    /// A Cartesian grid.
    Cart(Cart),
    /// A graph that is replicated on all ranks.
    Graph(Graph),
    /// A graph of which each rank knows its own edges.
    DistGraph(DistGraph),
}

/// Name of the operation in errors of intercommunicators.
const TOPOLOGY_NAME: &str = "a topology";

impl Comm {
    /// The topology, if there is one.
    ///
    /// # Errors
    /// `Comm` if it is an intercommunicator.
    pub(crate) fn topology(&self) -> Result<Option<&VirtualTopology>> {
        self.check_intra(TOPOLOGY_NAME)?;
        Ok(self.topology.as_deref())
    }

    /// Its grid.
    ///
    /// # Errors
    /// `Topology` if it has none, `Comm` if it is an intercommunicator.
    pub fn cart(&self) -> Result<&Cart> {
        match self.topology()? {
            Some(VirtualTopology::Cart(cart)) => Ok(cart),
            _ => Err(self.without("Cartesian grid")),
        }
    }

    /// Its graph.
    ///
    /// # Errors
    /// `Topology` if it has none, `Comm` if it is an intercommunicator.
    pub(crate) fn graph(&self) -> Result<&Graph> {
        match self.topology()? {
            Some(VirtualTopology::Graph(graph)) => Ok(graph),
            _ => Err(self.without("graph")),
        }
    }

    /// The neighbors of this rank in the distributed graph.
    ///
    /// # Errors
    /// `Topology` if it has none, `Comm` if it is an intercommunicator.
    pub fn dist_graph(&self) -> Result<&DistGraph> {
        match self.topology()? {
            Some(VirtualTopology::DistGraph(neighbors)) => Ok(neighbors),
            _ => Err(self.without("distributed graph")),
        }
    }

    /// Checks that the communicator can have a topology of `ranks` ranks.
    ///
    /// # Errors
    /// `Comm` if it is an intercommunicator, `Arg` if it has fewer ranks.
    pub(crate) fn check_topology_size(&self, ranks: u32) -> Result {
        self.check_intra(TOPOLOGY_NAME)?;
        let size = self.size();
        if ranks <= size {
            return Ok(());
        }
        let why = format!(
            "the topology has {ranks} ranks: expected at most {size}, the size of {}",
            self.title()
        );
        Err(ErrorClass::Arg.error(why))
    }

    fn without(&self, kind: &str) -> Box<MpiError> {
        ErrorClass::Topology.error(format!("{} has no {kind}: expected one", self.title()))
    }
}

/// A number of elements, or the length of an array.
///
/// # Errors
/// `Arg` if it is negative.
fn count(what: &str, given: i32) -> Result<usize> {
    usize::try_from(given).map_err(|_| {
        ErrorClass::Arg.error(format!("the number of {what} is {given}: expected 0 or more"))
    })
}
