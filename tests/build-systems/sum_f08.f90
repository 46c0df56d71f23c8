! The same with module mpi_f08. A polymorphic pointer wants what the compiler makes of a type.
program sum
  use mpi_f08
  implicit none
  integer :: rank, ranks, total
  type(MPI_Comm), target :: comm
  class(*), pointer :: object
  comm = MPI_COMM_WORLD
  object => comm
  call MPI_Init()
  call MPI_Comm_rank(comm, rank)
  call MPI_Comm_size(comm, ranks)
  call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, comm)
  if (rank == 0) print *, ranks, ' ranks, sum ', total
  call MPI_Finalize()
  if (total /= ranks * (ranks - 1) / 2 .or. ranks /= 2) stop 1
  if (.not. associated(object) .or. comm /= MPI_COMM_WORLD) stop 2
end program sum
