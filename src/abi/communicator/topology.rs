//! Virtual topologies (MPI 5.0, chapter 8): Cartesian grids, graphs, distributed graphs.

#![allow(unsafe_code)]

use std::ffi::c_int;

use crate::abi::arguments::pointer::{checked_out_list, list, out, out_list};
use crate::abi::constants::{MPI_CART, MPI_DIST_GRAPH, MPI_GRAPH, MPI_PROC_NULL, MPI_UNDEFINED};
use crate::abi::entry_point::{PROCESS, Scope, early, finish, local, number};
use crate::abi::handles::{MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY};
use crate::abi::types::*;
use crate::mpi::communicator::COMM_NULL;
use crate::mpi::topology::create::{LocalEdges, ReplicatedTopology, TopologyCreation};
use crate::mpi::topology::dist_graph::{
    GraphEdge, Neighbor, NeighborList, adjacent, edges_by_source, total_degree,
};
use crate::mpi::topology::map::NodeNumber;
use crate::mpi::topology::{Cart, Graph, VirtualTopology, dims};
use crate::process::{self, ProcessMpi};
use platform::base::{ErrorClass, Result};

/// The coordinates of a rank.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Cart_coords(
    comm: MPI_Comm, rank: c_int, maxdims: c_int, coords: *mut c_int,
) -> c_int {
    local("MPI_Cart_coords", comm, |mpi| {
        let comm = mpi.comms.get(number(comm))?;
        let found = comm.cart()?.coordinates(comm.check_rank(rank)?);
        // SAFETY: the caller gives room for `maxdims` coordinates.
        unsafe { checked_out_list(found.len(), (maxdims, coords), "coords")? }.put(signed(&found));
        Ok(())
    })
}

/// A communicator with a Cartesian grid attached.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Cart_create(
    comm_old: MPI_Comm, ndims: c_int, dims: *const c_int, periods: *const c_int, reorder: c_int,
    comm_cart: *mut MPI_Comm,
) -> c_int {
    let make = |mpi: &mut ProcessMpi, node| {
        // SAFETY: the caller gives `ndims` lengths and periods.
        let cart =
            unsafe { Cart::new(list((ndims, dims), "dims")?, list((ndims, periods), "periods")?)? };
        mpi.create_replicated(number(comm_old), ReplicatedTopology::Cart(cart), node)
    };
    // SAFETY: the caller gives a valid result pointer.
    unsafe { make_comm("MPI_Cart_create", comm_old, reorder, (comm_cart, "comm_cart"), make) }
}

/// The grid's lengths and periods, and the caller's coordinates.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Cart_get(
    comm: MPI_Comm, maxdims: c_int, dims: *mut c_int, periods: *mut c_int, coords: *mut c_int,
) -> c_int {
    local("MPI_Cart_get", comm, |mpi| {
        let comm = mpi.comms.get(number(comm))?;
        let cart = comm.cart()?;
        let all = cart.dimensions();
        // SAFETY: the caller gives room for `maxdims` lengths, periods and coordinates.
        let (dims, periods, coords) = unsafe {
            (
                checked_out_list(all.len(), (maxdims, dims), "dims")?,
                checked_out_list(all.len(), (maxdims, periods), "periods")?,
                checked_out_list(all.len(), (maxdims, coords), "coords")?,
            )
        };
        dims.put(all.iter().map(|one| one.len as c_int));
        periods.put(all.iter().map(|one| one.periodic.into()));
        coords.put(signed(&cart.coordinates(comm.rank)));
        Ok(())
    })
}

/// The recommended rank of the caller in this grid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Cart_map(
    comm: MPI_Comm, ndims: c_int, dims: *const c_int, periods: *const c_int, newrank: *mut c_int,
) -> c_int {
    local("MPI_Cart_map", comm, |mpi| {
        // SAFETY: the caller gives `ndims` lengths and periods.
        let cart =
            unsafe { Cart::new(list((ndims, dims), "dims")?, list((ndims, periods), "periods")?)? };
        // SAFETY: the caller gives a valid result pointer.
        unsafe { put_recommended(mpi, comm, &ReplicatedTopology::Cart(cart), newrank) }
    })
}

/// The rank at these coordinates.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Cart_rank(
    comm: MPI_Comm, coords: *const c_int, rank: *mut c_int,
) -> c_int {
    local("MPI_Cart_rank", comm, |mpi| {
        // SAFETY: the caller's promise of the result.
        let rank = unsafe { out(rank, "rank")? };
        let cart = mpi.comms.get(number(comm))?.cart()?;
        // SAFETY: the caller gives as many coordinates as the grid has dimensions.
        let coordinates = unsafe { list((cart.dimensions().len(), coords), "coords")? };
        let found = cart.rank(coordinates)?;
        rank.put(found as c_int);
        Ok(())
    })
}

/// The source and destination of a shift along one direction.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Cart_shift(
    comm: MPI_Comm, direction: c_int, disp: c_int, rank_source: *mut c_int, rank_dest: *mut c_int,
) -> c_int {
    local("MPI_Cart_shift", comm, |mpi| {
        // SAFETY: the caller's promise of the results.
        let (rank_source, rank_dest) =
            unsafe { (out(rank_source, "rank_source")?, out(rank_dest, "rank_dest")?) };
        let comm = mpi.comms.get(number(comm))?;
        let found = comm.cart()?.shift(comm.rank, direction, disp)?;
        let [source, dest] = found.map(|rank| rank.map_or(MPI_PROC_NULL, |rank| rank as c_int));
        rank_source.put(source);
        rank_dest.put(dest);
        Ok(())
    })
}

/// The communicator of the caller's lower-dimensional slice.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Cart_sub(
    comm: MPI_Comm, remain_dims: *const c_int, newcomm: *mut MPI_Comm,
) -> c_int {
    let make = |mpi: &mut ProcessMpi, _| {
        let count = mpi.comms.get(number(comm))?.cart()?.dimensions().len();
        // SAFETY: the caller gives as many truth values as the grid has dimensions.
        let remain = unsafe { list((count, remain_dims), "remain_dims")? };
        let remain: Vec<bool> = remain.iter().map(|remains| *remains != 0).collect();
        mpi.create_slices(number(comm), &remain)
    };
    // SAFETY: the caller gives a valid result pointer.
    unsafe { make_comm("MPI_Cart_sub", comm, 0, (newcomm, "newcomm"), make) }
}

/// The number of dimensions of the grid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Cartdim_get(comm: MPI_Comm, ndims: *mut c_int) -> c_int {
    local("MPI_Cartdim_get", comm, |mpi| {
        // SAFETY: the caller's promise of the result.
        let ndims = unsafe { out(ndims, "ndims")? };
        let found = mpi.comms.get(number(comm))?.cart()?.dimensions().len();
        ndims.put(found as c_int);
        Ok(())
    })
}

/// A balanced division of `nnodes` into `ndims` lengths.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Dims_create(nnodes: c_int, ndims: c_int, dims: *mut c_int) -> c_int {
    early("MPI_Dims_create", Scope::None, |_| {
        // SAFETY: the caller gives `ndims` lengths, which may be written.
        let (mut lens, found) = unsafe {
            (list((ndims, dims.cast_const()), "dims")?.to_vec(), out_list((ndims, dims), "dims")?)
        };
        dims::fill(nnodes, &mut lens)?;
        found.put(lens);
        Ok(())
    })
}

/// A distributed graph; each process passes any edges.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Dist_graph_create(
    comm_old: MPI_Comm, n: c_int, sources: *const c_int, degrees: *const c_int,
    destinations: *const c_int, weights: *const c_int, info: MPI_Info, reorder: c_int,
    comm_dist_graph: *mut MPI_Comm,
) -> c_int {
    let edges = |size| {
        // SAFETY: the caller gives `n` sources and degrees, and a destination and a weight for
        // each edge of these degrees.
        unsafe {
            let (sources, degrees) =
                (list((n, sources), "sources")?, list((n, degrees), "degrees")?);
            let (ranks, weights) = ((destinations, "destinations"), (weights, "weights"));
            let ends = ends(total_degree(degrees)? as c_int, ranks, weights)?;
            Ok((edges_by_source(size, sources, degrees, ends)?, ends.weights.is_some()))
        }
    };
    let make = |mpi: &mut ProcessMpi, node| make_dist_graph(mpi, comm_old, info, node, edges);
    // SAFETY: the caller gives a valid result pointer.
    unsafe {
        make_comm(
            "MPI_Dist_graph_create",
            comm_old,
            reorder,
            (comm_dist_graph, "comm_dist_graph"),
            make,
        )
    }
}

/// A distributed graph; each process passes its own neighbors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Dist_graph_create_adjacent(
    comm_old: MPI_Comm, indegree: c_int, sources: *const c_int, sourceweights: *const c_int,
    outdegree: c_int, destinations: *const c_int, destweights: *const c_int, info: MPI_Info,
    reorder: c_int, comm_dist_graph: *mut MPI_Comm,
) -> c_int {
    let make = |mpi: &mut ProcessMpi, node| {
        let rank = mpi.comms.get(number(comm_old))?.rank;
        make_dist_graph(mpi, comm_old, info, node, |size| {
            // SAFETY: the caller gives `indegree` sources with weights and `outdegree`
            // destinations with weights.
            let (into, out) = unsafe {
                (
                    ends(indegree, (sources, "sources"), (sourceweights, "sourceweights"))?,
                    ends(outdegree, (destinations, "destinations"), (destweights, "destweights"))?,
                )
            };
            Ok((adjacent(size, rank, into, out)?, are_weighted(into, out)?))
        })
    };
    // SAFETY: the caller gives a valid result pointer.
    unsafe {
        make_comm(
            "MPI_Dist_graph_create_adjacent",
            comm_old,
            reorder,
            (comm_dist_graph, "comm_dist_graph"),
            make,
        )
    }
}

/// The caller's neighbors in a distributed graph, with weights.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Dist_graph_neighbors(
    comm: MPI_Comm, maxindegree: c_int, sources: *mut c_int, sourceweights: *mut c_int,
    maxoutdegree: c_int, destinations: *mut c_int, destweights: *mut c_int,
) -> c_int {
    local("MPI_Dist_graph_neighbors", comm, |mpi| {
        let found = mpi.comms.get(number(comm))?.dist_graph()?;
        // SAFETY: the caller gives room for so many sources and destinations.
        let (sources, destinations) = unsafe {
            let sources = out_list((maxindegree, sources), "sources")?;
            (sources, out_list((maxoutdegree, destinations), "destinations")?)
        };
        sources.put(found.sources.iter().map(|one| one.rank as c_int));
        destinations.put(found.destinations.iter().map(|one| one.rank as c_int));
        if found.weighted {
            // SAFETY: the caller gives room for as many weights.
            unsafe {
                put_weights(&found.sources, (maxindegree, sourceweights), "sourceweights")?;
                put_weights(&found.destinations, (maxoutdegree, destweights), "destweights")?;
            }
        }
        Ok(())
    })
}

/// Number of neighbors of the caller in a distributed graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Dist_graph_neighbors_count(
    comm: MPI_Comm, indegree: *mut c_int, outdegree: *mut c_int, weighted: *mut c_int,
) -> c_int {
    local("MPI_Dist_graph_neighbors_count", comm, |mpi| {
        // SAFETY: the caller's promise of the results.
        let (indegree, outdegree, weighted) = unsafe {
            (out(indegree, "indegree")?, out(outdegree, "outdegree")?, out(weighted, "weighted")?)
        };
        let found = mpi.comms.get(number(comm))?.dist_graph()?;
        indegree.put(found.sources.len() as c_int);
        outdegree.put(found.destinations.len() as c_int);
        weighted.put(found.weighted.into());
        Ok(())
    })
}

/// A communicator with a graph, which every process passes completely.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Graph_create(
    comm_old: MPI_Comm, nnodes: c_int, indx: *const c_int, edges: *const c_int, reorder: c_int,
    comm_graph: *mut MPI_Comm,
) -> c_int {
    let make = |mpi: &mut ProcessMpi, node| {
        // SAFETY: the caller gives `nnodes` ends, and as many edges as these announce.
        let graph = unsafe { graph(nnodes, indx, edges)? };
        mpi.create_replicated(number(comm_old), ReplicatedTopology::Graph(graph), node)
    };
    // SAFETY: the caller gives a valid result pointer.
    unsafe { make_comm("MPI_Graph_create", comm_old, reorder, (comm_graph, "comm_graph"), make) }
}

/// The nodes and edges of the graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Graph_get(
    comm: MPI_Comm, maxindex: c_int, maxedges: c_int, indx: *mut c_int, edges: *mut c_int,
) -> c_int {
    local("MPI_Graph_get", comm, |mpi| {
        let graph = mpi.comms.get(number(comm))?.graph()?;
        // SAFETY: the caller gives room for so many ends and edges.
        let (indx, edges) = unsafe {
            (
                checked_out_list(graph.ends().len(), (maxindex, indx), "indx")?,
                checked_out_list(graph.all_neighbors().len(), (maxedges, edges), "edges")?,
            )
        };
        indx.put(signed(graph.ends()));
        edges.put(signed(graph.all_neighbors()));
        Ok(())
    })
}

/// The recommended rank of the caller in this graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Graph_map(
    comm: MPI_Comm, nnodes: c_int, indx: *const c_int, edges: *const c_int, newrank: *mut c_int,
) -> c_int {
    local("MPI_Graph_map", comm, |mpi| {
        // SAFETY: the caller gives `nnodes` ends, and as many edges as these announce.
        let graph = unsafe { graph(nnodes, indx, edges)? };
        // SAFETY: the caller gives a valid result pointer.
        unsafe { put_recommended(mpi, comm, &ReplicatedTopology::Graph(graph), newrank) }
    })
}

/// The neighbors of a rank in the graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Graph_neighbors(
    comm: MPI_Comm, rank: c_int, maxneighbors: c_int, neighbors: *mut c_int,
) -> c_int {
    local("MPI_Graph_neighbors", comm, |mpi| {
        let found = mpi.comms.get(number(comm))?.graph()?.neighbors(rank)?;
        // SAFETY: the caller gives room for so many ranks.
        unsafe { checked_out_list(found.len(), (maxneighbors, neighbors), "neighbors")? }
            .put(signed(found));
        Ok(())
    })
}

/// Number of neighbors of a rank in the graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Graph_neighbors_count(
    comm: MPI_Comm, rank: c_int, nneighbors: *mut c_int,
) -> c_int {
    local("MPI_Graph_neighbors_count", comm, |mpi| {
        // SAFETY: the caller's promise of the result.
        let nneighbors = unsafe { out(nneighbors, "nneighbors")? };
        let found = mpi.comms.get(number(comm))?.graph()?.neighbors(rank)?.len();
        nneighbors.put(found as c_int);
        Ok(())
    })
}

/// Numbers of nodes and edges of the graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Graphdims_get(
    comm: MPI_Comm, nnodes: *mut c_int, nedges: *mut c_int,
) -> c_int {
    local("MPI_Graphdims_get", comm, |mpi| {
        // SAFETY: the caller's promise of the results.
        let (nnodes, nedges) = unsafe { (out(nnodes, "nnodes")?, out(nedges, "nedges")?) };
        let graph = mpi.comms.get(number(comm))?.graph()?;
        nnodes.put(graph.size() as c_int);
        nedges.put(graph.all_neighbors().len() as c_int);
        Ok(())
    })
}

/// The kind of topology of a communicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Topo_test(comm: MPI_Comm, status: *mut c_int) -> c_int {
    local("MPI_Topo_test", comm, |mpi| {
        // SAFETY: the caller's promise of the result.
        let status = unsafe { out(status, "status")? };
        let kind = match mpi.comms.get(number(comm))?.topology()? {
            None => MPI_UNDEFINED,
            Some(VirtualTopology::Cart(_)) => MPI_CART,
            Some(VirtualTopology::Graph(_)) => MPI_GRAPH,
            Some(VirtualTopology::DistGraph(_)) => MPI_DIST_GRAPH,
        };
        status.put(kind);
        Ok(())
    })
}

/// Creates a communicator with a topology and waits for it. `body` gets the node of this process
/// if its rank may change.
///
/// # Safety
/// `newcomm` is null or may be written.
unsafe fn make_comm(
    name: &str, comm: MPI_Comm, reorder: c_int, (newcomm, argument): (*mut MPI_Comm, &str),
    body: impl FnOnce(&mut ProcessMpi, Option<NodeNumber>) -> Result<TopologyCreation>,
) -> c_int {
    // SAFETY: the caller's promise.
    let result = unsafe { out(newcomm, argument) }.and_then(|newcomm| {
        let node = (reorder != 0).then(process::locality_id);
        let made = PROCESS.until(
            |mpi| body(mpi, node),
            |mpi, making| mpi.end_topology(making),
            |mpi, making| mpi.blocked_topology(name, making),
        )?;
        newcomm.put_handle(made.unwrap_or(COMM_NULL));
        Ok(())
    });
    finish(comm, name, result)
}

/// Starts a distributed graph. Invalid edges are an error on all ranks.
fn make_dist_graph(
    mpi: &mut ProcessMpi, comm: MPI_Comm, info: MPI_Info, node: Option<NodeNumber>,
    edges: impl FnOnce(u32) -> Result<(Vec<GraphEdge>, bool)>,
) -> Result<TopologyCreation> {
    let size = mpi.comms.get(number(comm))?.size();
    let edges = mpi.objects.infos.hints(number(info)).map(drop).and_then(|()| edges(size));
    let given = match edges {
        Ok((edges, weighted)) => LocalEdges { edges: Ok(edges), weighted },
        Err(error) => LocalEdges { edges: Err(error), weighted: false },
    };
    mpi.create_dist_graph(number(comm), given, node)
}

/// The graph of `MPI_Graph_create`.
///
/// # Errors
/// `Arg` for an invalid argument.
///
/// # Safety
/// There are `nnodes` ends, as many edges as they announce, and no other thread writes them during the call.
unsafe fn graph(nnodes: c_int, indx: *const c_int, edges: *const c_int) -> Result<Graph> {
    // SAFETY: the caller's promise.
    unsafe {
        let ends = list((nnodes, indx), "indx")?;
        Graph::new(ends, list((Graph::neighbor_count(ends)?, edges), "edges")?)
    }
}

/// The other ends of `count` edges, with their weights.
///
/// # Errors
/// `Arg` for a negative count, or for a null array with a positive count.
///
/// # Safety
/// The promise of [`list`] for the ranks, and for the weights unless they are
/// `MPI_UNWEIGHTED` or `MPI_WEIGHTS_EMPTY`.
unsafe fn ends<'a>(
    count: c_int, (ranks, of_ranks): (*const c_int, &str),
    (weights, of_weights): (*const c_int, &str),
) -> Result<NeighborList<'a>> {
    // SAFETY: the caller's promise.
    let ranks = unsafe { list((count, ranks), of_ranks)? };
    if weights == MPI_UNWEIGHTED {
        return Ok(NeighborList { ranks, weights: None });
    }
    if weights == MPI_WEIGHTS_EMPTY && count > 0 {
        let why = format!(
            "the weights of {count} edges are MPI_WEIGHTS_EMPTY: expected an array or \
             MPI_UNWEIGHTED"
        );
        return Err(ErrorClass::Arg.error(why));
    }
    // SAFETY: the caller's promise.
    let weights = unsafe { list((count, weights), of_weights)? };
    Ok(NeighborList { ranks, weights: Some(weights) })
}

/// Whether the edges of one rank have weights, from a side with edges if there is one.
///
/// # Errors
/// `Arg` if one side has weights and the other has none.
fn are_weighted(into: NeighborList<'_>, out: NeighborList<'_>) -> Result<bool> {
    match (into.weights.is_some(), out.weights.is_some()) {
        (one, other) if one == other => Ok(one),
        (one, _) if out.ranks.is_empty() => Ok(one || into.ranks.is_empty()),
        (_, other) if into.ranks.is_empty() => Ok(other),
        _ => {
            let why = "only one of sourceweights and destweights is MPI_UNWEIGHTED: expected both \
                       or neither";
            Err(ErrorClass::Arg.error(why))
        }
    }
}

/// Stores the rank of the caller as its rank in a topology of `size` ranks.
///
/// # Errors
/// `Arg` if the communicator has fewer ranks.
///
/// # Safety
/// `newrank` is null or may be written.
unsafe fn put_recommended(
    mpi: &ProcessMpi, comm: MPI_Comm, topology: &ReplicatedTopology, newrank: *mut c_int,
) -> Result {
    // SAFETY: the caller's promise.
    let newrank = unsafe { out(newrank, "newrank")? };
    let rank = mpi.recommended_rank(number(comm), topology)?;
    newrank.put(rank.map_or(MPI_UNDEFINED, |rank| rank as c_int));
    Ok(())
}

/// Ranks or lengths as `int`.
fn signed(values: &[u32]) -> impl Iterator<Item = c_int> {
    values.iter().map(|value| *value as c_int)
}

/// Stores the weights of the neighbors, as many as fit (§8.5.5), unless the array is
/// `MPI_UNWEIGHTED`.
///
/// # Errors
/// `Arg` for a negative length.
///
/// # Safety
/// The array has that length, or is null, `MPI_UNWEIGHTED` or `MPI_WEIGHTS_EMPTY`.
unsafe fn put_weights(
    neighbors: &[Neighbor], (room, array): (c_int, *mut c_int), name: &str,
) -> Result {
    if array.is_null() || [MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY].contains(&array) {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    let weights = unsafe { out_list((room, array), name)? };
    weights.put(neighbors.iter().map(|one| one.weight));
    Ok(())
}
