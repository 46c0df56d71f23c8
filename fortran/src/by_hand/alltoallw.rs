//! Exchanges with a datatype for every peer: the communicator determines the number of handles, and
//! with `MPI_IN_PLACE` the send side is ignored (MPI 5.0 §6.8).

use std::ffi::c_void;

use crate::argument::{answer, handle, number};
use crate::c::*;
use crate::handles::Handles;
use crate::sentinel::choice;

/// `MPI_IN_PLACE` of C.
const IN_PLACE: usize = 1;
/// `MPI_GRAPH`, a result of `MPI_Topo_test`.
const MPI_GRAPH: i32 = 212;
/// `MPI_CART`.
const MPI_CART: i32 = 211;
/// `MPI_DIST_GRAPH`.
const MPI_DIST_GRAPH: i32 = 213;

/// The datatypes of both sides.
pub(crate) struct Types {
    pub send: Handles,
    pub receive: Handles,
}

impl Types {
    /// One for each rank of the other side; none if the handle is not a communicator, for which C raises
    /// the error.
    ///
    /// # Safety
    /// The lists have as many elements as the standard requires, except the send side in place.
    pub(crate) unsafe fn of_ranks(
        sendbuf: *mut c_void, send: *const Fint, receive: *const Fint, comm: Handle,
    ) -> Self {
        let (mut is_inter, mut size) = (0, 0);
        // SAFETY: the results are local variables; the caller's promise of the lists.
        unsafe {
            if is_communicator(comm) && PMPI_Comm_test_inter(comm, &mut is_inter) == MPI_SUCCESS {
                match is_inter {
                    0 => PMPI_Comm_size(comm, &mut size),
                    _ => PMPI_Comm_remote_size(comm, &mut size),
                };
            }
            let sent = if sendbuf.addr() == IN_PLACE { 0 } else { size };
            Self { send: Handles::of(send, sent), receive: Handles::of(receive, size) }
        }
    }

    /// One for each neighbor.
    ///
    /// # Safety
    /// The lists have as many elements as the topology has neighbors.
    pub(crate) unsafe fn of_neighbors(
        _sendbuf: *mut c_void, send: *const Fint, receive: *const Fint, comm: Handle,
    ) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            let (sources, destinations) = neighbors(comm);
            Self { send: Handles::of(send, destinations), receive: Handles::of(receive, sources) }
        }
    }
}

/// Whether queries of sizes will not call an error handler. Without C, only the null handle can be
/// detected.
fn is_communicator(comm: Handle) -> bool {
    comm != handle(MPI_COMM_NULL)
}

/// The numbers of neighbors to receive from and to send to (§8.6); 0 without a topology.
///
/// # Safety
/// None beyond that of C.
unsafe fn neighbors(comm: Handle) -> (Fint, Fint) {
    let (mut topology, mut sources, mut destinations) = (0, 0, 0);
    // SAFETY: the results are local variables.
    unsafe {
        if !is_communicator(comm) || PMPI_Topo_test(comm, &mut topology) != MPI_SUCCESS {
            return (0, 0);
        }
        match topology {
            MPI_CART => {
                PMPI_Cartdim_get(comm, &mut sources);
                (2 * sources, 2 * sources)
            }
            MPI_GRAPH => {
                let mut rank = 0;
                PMPI_Comm_rank(comm, &mut rank);
                PMPI_Graph_neighbors_count(comm, rank, &mut sources);
                (sources, sources)
            }
            MPI_DIST_GRAPH => {
                let mut is_weighted = 0;
                PMPI_Dist_graph_neighbors_count(
                    comm,
                    &mut sources,
                    &mut destinations,
                    &mut is_weighted,
                );
                (sources, destinations)
            }
            _ => (0, 0),
        }
    }
}

/// Defines a routine by its peers, the type of displacements, and the arguments after the
/// communicator: an optional info object and an optional request.
macro_rules! exchange {
    ($symbol:ident, $call:ident, $of:ident, $displacement:ty
     $(, info $info:ident)? $(, request $request:ident)?) => {
        #[doc = concat!("[`", stringify!($call), "`].")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $symbol(
            sendbuf: *mut c_void, sendcounts: *const Fint, sdispls: *const $displacement,
            sendtypes: *const Fint, recvbuf: *mut c_void, recvcounts: *const Fint,
            rdispls: *const $displacement, recvtypes: *const Fint, comm: *const Fint,
            $($info: *const Fint,)? $($request: *mut Fint,)? ierror: *mut Fint,
        ) {
            // SAFETY: the caller's promise is that of the standard for each argument.
            unsafe {
                let (sendbuf, comm) = (choice(sendbuf), handle(*comm));
                let mut types = Types::$of(sendbuf, sendtypes, recvtypes, comm);
                $(let mut made = handle(*$request);)?
                let code = $call(
                    sendbuf, sendcounts, sdispls, types.send.as_mut_ptr(), choice(recvbuf),
                    recvcounts, rdispls, types.receive.as_mut_ptr(), comm,
                    $(handle(*$info),)? $({ let _ = $request; &raw mut made },)?
                );
                $(*$request = number(made);)?
                answer(ierror, code);
            }
        }
    };
}

exchange!(pmpi_alltoallw_, PMPI_Alltoallw, of_ranks, Fint);
exchange!(pmpi_ialltoallw_, PMPI_Ialltoallw, of_ranks, Fint, request request);
exchange!(pmpi_alltoallw_init_, PMPI_Alltoallw_init, of_ranks, Fint, info info, request request);
exchange!(pmpi_neighbor_alltoallw_, PMPI_Neighbor_alltoallw, of_neighbors, Aint);
exchange!(pmpi_ineighbor_alltoallw_, PMPI_Ineighbor_alltoallw, of_neighbors, Aint, request request);
exchange!(
    pmpi_neighbor_alltoallw_init_,
    PMPI_Neighbor_alltoallw_init,
    of_neighbors,
    Aint,
    info info,
    request request
);
