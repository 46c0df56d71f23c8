//! Virtual topologies (MPI 5.0, chapter 8): Cartesian grids, graphs, distributed graphs.

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::c_int;

use super::constants::MPI_UNDEFINED;
use super::types::*;
use super::verb::{Scope, local, number, unsupported};

/// The coordinates of a rank.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Cart_coords(
    comm: MPI_Comm, rank: c_int, maxdims: c_int, coords: *mut c_int,
) -> c_int {
    unsupported("MPI_Cart_coords", comm)
}

/// A communicator with a Cartesian grid attached.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Cart_create(
    comm_old: MPI_Comm, ndims: c_int, dims: *const c_int, periods: *const c_int, reorder: c_int,
    comm_cart: *mut MPI_Comm,
) -> c_int {
    unsupported("MPI_Cart_create", comm_old)
}

/// The grid's lengths and periods, and the caller's coordinates.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Cart_get(
    comm: MPI_Comm, maxdims: c_int, dims: *mut c_int, periods: *mut c_int, coords: *mut c_int,
) -> c_int {
    unsupported("MPI_Cart_get", comm)
}

/// The rank that the caller should have in this grid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Cart_map(
    comm: MPI_Comm, ndims: c_int, dims: *const c_int, periods: *const c_int, newrank: *mut c_int,
) -> c_int {
    unsupported("MPI_Cart_map", comm)
}

/// The rank at these coordinates.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Cart_rank(
    comm: MPI_Comm, coords: *const c_int, rank: *mut c_int,
) -> c_int {
    unsupported("MPI_Cart_rank", comm)
}

/// The source and destination of a shift along one direction.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Cart_shift(
    comm: MPI_Comm, direction: c_int, disp: c_int, rank_source: *mut c_int, rank_dest: *mut c_int,
) -> c_int {
    unsupported("MPI_Cart_shift", comm)
}

/// The communicator of the caller's lower-dimensional slice.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Cart_sub(
    comm: MPI_Comm, remain_dims: *const c_int, newcomm: *mut MPI_Comm,
) -> c_int {
    unsupported("MPI_Cart_sub", comm)
}

/// The number of dimensions of the grid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Cartdim_get(comm: MPI_Comm, ndims: *mut c_int) -> c_int {
    unsupported("MPI_Cartdim_get", comm)
}

/// A balanced division of `nnodes` into `ndims` lengths.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Dims_create(nnodes: c_int, ndims: c_int, dims: *mut c_int) -> c_int {
    unsupported("MPI_Dims_create", Scope::None)
}

/// A distributed graph, each process giving any of its edges.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Dist_graph_create(
    comm_old: MPI_Comm, n: c_int, sources: *const c_int, degrees: *const c_int,
    destinations: *const c_int, weights: *const c_int, info: MPI_Info, reorder: c_int,
    comm_dist_graph: *mut MPI_Comm,
) -> c_int {
    unsupported("MPI_Dist_graph_create", comm_old)
}

/// A distributed graph, each process giving its own neighbors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Dist_graph_create_adjacent(
    comm_old: MPI_Comm, indegree: c_int, sources: *const c_int, sourceweights: *const c_int,
    outdegree: c_int, destinations: *const c_int, destweights: *const c_int, info: MPI_Info,
    reorder: c_int, comm_dist_graph: *mut MPI_Comm,
) -> c_int {
    unsupported("MPI_Dist_graph_create_adjacent", comm_old)
}

/// The caller's neighbors in a distributed graph, with weights.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Dist_graph_neighbors(
    comm: MPI_Comm, maxindegree: c_int, sources: *mut c_int, sourceweights: *mut c_int,
    maxoutdegree: c_int, destinations: *mut c_int, destweights: *mut c_int,
) -> c_int {
    unsupported("MPI_Dist_graph_neighbors", comm)
}

/// How many neighbors the caller has in a distributed graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Dist_graph_neighbors_count(
    comm: MPI_Comm, indegree: *mut c_int, outdegree: *mut c_int, weighted: *mut c_int,
) -> c_int {
    unsupported("MPI_Dist_graph_neighbors_count", comm)
}

/// A communicator with a graph attached that all processes give whole.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Graph_create(
    comm_old: MPI_Comm, nnodes: c_int, indx: *const c_int, edges: *const c_int, reorder: c_int,
    comm_graph: *mut MPI_Comm,
) -> c_int {
    unsupported("MPI_Graph_create", comm_old)
}

/// The nodes and edges of the graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Graph_get(
    comm: MPI_Comm, maxindex: c_int, maxedges: c_int, indx: *mut c_int, edges: *mut c_int,
) -> c_int {
    unsupported("MPI_Graph_get", comm)
}

/// The rank that the caller should have in this graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Graph_map(
    comm: MPI_Comm, nnodes: c_int, indx: *const c_int, edges: *const c_int, newrank: *mut c_int,
) -> c_int {
    unsupported("MPI_Graph_map", comm)
}

/// The neighbors of a rank in the graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Graph_neighbors(
    comm: MPI_Comm, rank: c_int, maxneighbors: c_int, neighbors: *mut c_int,
) -> c_int {
    unsupported("MPI_Graph_neighbors", comm)
}

/// How many neighbors a rank has in the graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Graph_neighbors_count(
    comm: MPI_Comm, rank: c_int, nneighbors: *mut c_int,
) -> c_int {
    unsupported("MPI_Graph_neighbors_count", comm)
}

/// How many nodes and edges the graph has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Graphdims_get(
    comm: MPI_Comm, nnodes: *mut c_int, nedges: *mut c_int,
) -> c_int {
    unsupported("MPI_Graphdims_get", comm)
}

/// Which kind of topology a communicator has: none, as long as none can be made.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Topo_test(comm: MPI_Comm, status: *mut c_int) -> c_int {
    local("MPI_Topo_test", comm, |mpi| {
        mpi.comms.get(number(comm))?;
        // SAFETY: the caller gives a valid result pointer.
        unsafe { *status = MPI_UNDEFINED };
        Ok(())
    })
}
