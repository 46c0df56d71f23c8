//! Exchanges with a datatype for every peer (MPI 5.0 §6.8): if the buffer is a section, each of these
//! is replaced by one for the section. Displacements are bytes in the virtually contiguous array.

use super::descriptor::Descriptor;
use super::elements::{free, made};
use crate::argument::{answer, handle, number};
use crate::by_hand::Types;
use crate::c::*;
use crate::handles::Handles;
use crate::sentinel::choice;

/// The datatypes of one side.
struct Side<'a> {
    types: &'a mut Handles,
    /// Datatypes that were made for the call.
    made: Vec<Handle>,
}

impl<'a> Side<'a> {
    fn of(types: &'a mut Handles, buffer: &Descriptor) -> Self {
        let mut side = Self { types, made: Vec::new() };
        if !buffer.is_adjacent() {
            for datatype in side.types.as_mut_slice() {
                if let Some(section) = made(*datatype, &[buffer]) {
                    *datatype = section;
                    side.made.push(section);
                }
            }
        }
        side
    }
}

impl Drop for Side<'_> {
    fn drop(&mut self) {
        self.made.drain(..).for_each(free);
    }
}

/// Defines a routine by its peers, the types of counts and displacements, and the arguments after the
/// communicator: an optional info object and an optional request.
macro_rules! exchange {
    ($symbol:ident, $twin:ident, $call:ident, $of:ident, $count:ty, $displacement:ty
     $(, info $info:ident)? $(, request $request:ident)?) => {
        #[doc = concat!("[`", stringify!($call), "`] with descriptors.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $symbol(
            sendbuf: *const Descriptor, sendcounts: *const $count, sdispls: *const $displacement,
            sendtypes: *const Fint, recvbuf: *const Descriptor, recvcounts: *const $count,
            rdispls: *const $displacement, recvtypes: *const Fint, comm: *const Fint,
            $($info: *const Fint,)? $($request: *mut Fint,)? ierror: *mut Fint,
        ) {
            // SAFETY: the compiler made the descriptors; all else is the contract of the standard.
            unsafe {
                let (sendbuf, recvbuf, comm) = (&*sendbuf, &*recvbuf, handle(*comm));
                let from = choice(sendbuf.address());
                let mut types = Types::$of(from, sendtypes, recvtypes, comm);
                let send = Side::of(&mut types.send, sendbuf);
                let receive = Side::of(&mut types.receive, recvbuf);
                $(let mut made = handle(*$request);)?
                let code = $call(
                    from, sendcounts, sdispls, send.types.as_mut_ptr(),
                    choice(recvbuf.address()), recvcounts, rdispls, receive.types.as_mut_ptr(),
                    comm, $(handle(*$info),)? $({ let _ = $request; &raw mut made },)?
                );
                $(*$request = number(made);)?
                answer(ierror, code);
            }
        }

        jumps! { $twin => $symbol; }
    };
}

exchange!(pmpi_alltoallw_f08ts_, mpi_alltoallw_f08ts_, PMPI_Alltoallw, of_ranks, Fint, Fint);
exchange!(pmpi_alltoallw_c_f08ts_, mpi_alltoallw_c_f08ts_, PMPI_Alltoallw_c, of_ranks, Count, Aint);
exchange!(pmpi_ialltoallw_f08ts_, mpi_ialltoallw_f08ts_, PMPI_Ialltoallw, of_ranks, Fint, Fint, request request);
exchange!(pmpi_ialltoallw_c_f08ts_, mpi_ialltoallw_c_f08ts_, PMPI_Ialltoallw_c, of_ranks, Count, Aint, request request);
exchange!(pmpi_alltoallw_init_f08ts_, mpi_alltoallw_init_f08ts_, PMPI_Alltoallw_init, of_ranks, Fint, Fint, info info, request request);
exchange!(pmpi_alltoallw_init_c_f08ts_, mpi_alltoallw_init_c_f08ts_, PMPI_Alltoallw_init_c, of_ranks, Count, Aint, info info, request request);
exchange!(
    pmpi_neighbor_alltoallw_f08ts_,
    mpi_neighbor_alltoallw_f08ts_,
    PMPI_Neighbor_alltoallw,
    of_neighbors,
    Fint,
    Aint
);
exchange!(
    pmpi_neighbor_alltoallw_c_f08ts_,
    mpi_neighbor_alltoallw_c_f08ts_,
    PMPI_Neighbor_alltoallw_c,
    of_neighbors,
    Count,
    Aint
);
exchange!(pmpi_ineighbor_alltoallw_f08ts_, mpi_ineighbor_alltoallw_f08ts_, PMPI_Ineighbor_alltoallw, of_neighbors, Fint, Aint, request request);
exchange!(pmpi_ineighbor_alltoallw_c_f08ts_, mpi_ineighbor_alltoallw_c_f08ts_, PMPI_Ineighbor_alltoallw_c, of_neighbors, Count, Aint, request request);
exchange!(pmpi_neighbor_alltoallw_init_f08ts_, mpi_neighbor_alltoallw_init_f08ts_, PMPI_Neighbor_alltoallw_init, of_neighbors, Fint, Aint, info info, request request);
exchange!(pmpi_neighbor_alltoallw_init_c_f08ts_, mpi_neighbor_alltoallw_init_c_f08ts_, PMPI_Neighbor_alltoallw_init_c, of_neighbors, Count, Aint, info info, request request);
