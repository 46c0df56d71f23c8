! Topologies with module mpi: grids, graphs, their neighbours and collectives among these.
program topology
  use mpi
  implicit none
  integer :: rank, ranks, ierror
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call check(MPI_SUBARRAYS_SUPPORTED .eqv. .false., 'no sections with module mpi')
  call grid
  call ring
  call graph
  call finish
contains
  subroutine grid
    integer :: dims(2), comm, coords(2), found(2), other, from, to, kind, me, n, place
    logical :: periods(2), known(2)
    dims = 0
    call MPI_Dims_create(ranks, 2, dims, ierror)
    call check(product(dims) == ranks .and. dims(1) >= dims(2), 'MPI_DIMS_CREATE')
    periods = [.true., .false.]
    call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, .false., comm, ierror)
    call MPI_Topo_test(comm, kind, ierror)
    call check(kind == MPI_CART, 'MPI_TOPO_TEST')
    call MPI_Cartdim_get(comm, n, ierror)
    call check(n == 2, 'MPI_CARTDIM_GET')
    call MPI_Comm_rank(comm, me, ierror)
    call MPI_Cart_coords(comm, me, 2, coords, ierror)
    call check(me == coords(1) * dims(2) + coords(2), 'MPI_CART_COORDS')
    call MPI_Cart_rank(comm, coords, other, ierror)
    call check(other == me, 'MPI_CART_RANK')
    call MPI_Cart_get(comm, 2, found, known, coords, ierror)
    call check(all(found == dims) .and. all(known .eqv. periods), 'MPI_CART_GET')
    call MPI_Cart_shift(comm, 0, 1, from, to, ierror)
    call check(to == mod(coords(1) + 1, dims(1)) * dims(2) + coords(2), 'a shift around')
    call MPI_Cart_shift(comm, 1, 1, from, to, ierror)
    if (coords(2) == dims(2) - 1) then
      call check(to == MPI_PROC_NULL, 'a shift over the edge')
    else
      call check(to == me + 1, 'a shift')
    end if
    call MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, place, ierror)
    call check(place >= 0 .and. place < ranks, 'MPI_CART_MAP')
    call MPI_Comm_free(comm, ierror)
  end subroutine grid

  subroutine ring
    integer :: comm, out(2), in(2), left, right, counts(2), places(2), request
    call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.true.], .false., comm, ierror)
    right = mod(rank + 1, ranks)
    left = mod(rank + ranks - 1, ranks)
    in = -1
    call MPI_Neighbor_allgather(rank, 1, MPI_INTEGER, in, 1, MPI_INTEGER, comm, ierror)
    call check(all(in == [left, right]), 'MPI_NEIGHBOR_ALLGATHER')
    out = [100 * rank, 100 * rank + 1]
    call MPI_Neighbor_alltoall(out, 1, MPI_INTEGER, in, 1, MPI_INTEGER, comm, ierror)
    call check(all(in == [100 * left + 1, 100 * right]), 'MPI_NEIGHBOR_ALLTOALL')
    counts = 1
    places = [1, 0]
    in = -1
    call MPI_Ineighbor_alltoallv(out, counts, places, MPI_INTEGER, in, counts, places, &
      MPI_INTEGER, comm, request, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call MPI_F_sync_reg(in)
    call check(all(in == [100 * right + 1, 100 * left]), 'MPI_INEIGHBOR_ALLTOALLV')
    call MPI_Comm_free(comm, ierror)
  end subroutine ring

  ! Rank 0 is beside all others.
  subroutine graph
    integer :: comm, i, index(ranks), edges(2 * ranks), nodes, count, found(2 * ranks), kind
    integer :: indegree, outdegree, sources(1), degrees(1), to(1)
    logical :: weighted
    index = [(ranks - 2 + i, i = 1, ranks)]
    edges = 0
    edges(1:ranks - 1) = [(i, i = 1, ranks - 1)]
    call MPI_Graph_create(MPI_COMM_WORLD, ranks, index, edges, .false., comm, ierror)
    call MPI_Topo_test(comm, kind, ierror)
    call check(kind == MPI_GRAPH, 'MPI_TOPO_TEST of a graph')
    call MPI_Graphdims_get(comm, nodes, count, ierror)
    call check(nodes == ranks .and. count == 2 * (ranks - 1), 'MPI_GRAPHDIMS_GET')
    call MPI_Graph_neighbors_count(comm, 0, count, ierror)
    call check(count == ranks - 1, 'MPI_GRAPH_NEIGHBORS_COUNT')
    call MPI_Graph_neighbors(comm, 0, 2 * ranks, found, ierror)
    call check(all(found(1:ranks - 1) == edges(1:ranks - 1)), 'MPI_GRAPH_NEIGHBORS')
    call MPI_Comm_free(comm, ierror)
    ! Each rank tells its own edge, with a weight.
    sources = rank
    degrees = 1
    to = mod(rank + 1, ranks)
    call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, sources, degrees, to, MPI_UNWEIGHTED, &
      MPI_INFO_NULL, .false., comm, ierror)
    call MPI_Dist_graph_neighbors_count(comm, indegree, outdegree, weighted, ierror)
    call check(indegree == 1 .and. outdegree == 1 .and. .not. weighted, 'MPI_DIST_GRAPH_CREATE')
    call MPI_Comm_free(comm, ierror)
  end subroutine graph
end program topology

include 'check_fortran.h'
