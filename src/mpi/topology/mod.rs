//! Virtual topologies: which ranks of a communicator are neighbors (MPI 5.0 §8).
//!
//! A topology is a value that belongs to a communicator and to its duplicates. All questions about
//! it are answered here and now; only making one takes messages ([`create`]).
//!
//! | kind | every rank knows | questions |
//! |---|---|---|
//! | Cartesian grid | the whole grid | [`Cart`] |
//! | graph | the whole graph | [`Graph`] |
//! | distributed graph | its own neighbors | [`DistGraph`] |
//!
//! Ranks, lengths and weights of the application come in as they are, and are checked here.

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
    /// A graph that all ranks know.
    Graph(Graph),
    /// A graph of which each rank knows its own part.
    DistGraph(DistGraph),
}

/// What an intercommunicator cannot have, for its errors.
const TOPOLOGY_NAME: &str = "a topology";

impl Comm {
    /// Its topology, if it has one.
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
    /// `VirtualTopology` if it has none, `Comm` if it is an intercommunicator.
    pub fn cart(&self) -> Result<&Cart> {
        match self.topology()? {
            Some(VirtualTopology::Cart(cart)) => Ok(cart),
            _ => Err(self.without("Cartesian grid")),
        }
    }

    /// Its graph.
    ///
    /// # Errors
    /// `VirtualTopology` if it has none, `Comm` if it is an intercommunicator.
    pub(crate) fn graph(&self) -> Result<&Graph> {
        match self.topology()? {
            Some(VirtualTopology::Graph(graph)) => Ok(graph),
            _ => Err(self.without("graph")),
        }
    }

    /// This rank's neighbors in its distributed graph.
    ///
    /// # Errors
    /// `VirtualTopology` if it has none, `Comm` if it is an intercommunicator.
    pub fn dist_graph(&self) -> Result<&DistGraph> {
        match self.topology()? {
            Some(VirtualTopology::DistGraph(neighbors)) => Ok(neighbors),
            _ => Err(self.without("distributed graph")),
        }
    }

    /// Checks that it can have a topology, and has a rank for every place of it.
    ///
    /// # Errors
    /// `Comm` if it is an intercommunicator, `Arg` if it has not so many ranks.
    pub(crate) fn check_topology_size(&self, places: u32) -> Result {
        self.check_intra(TOPOLOGY_NAME)?;
        let size = self.size();
        if places <= size {
            return Ok(());
        }
        let why = format!("the topology has {places} places, {} {size} ranks", self.title());
        Err(ErrorClass::Arg.error(why))
    }

    fn without(&self, kind: &str) -> Box<MpiError> {
        ErrorClass::Topology.error(format!("{} has no {kind}", self.title()))
    }
}

/// A number of elements that the application gives or has room for.
///
/// # Errors
/// `Arg` if it is negative.
fn count(what: &str, given: i32) -> Result<usize> {
    usize::try_from(given)
        .map_err(|_| ErrorClass::Arg.error(format!("the number of {what} is {given}")))
}
