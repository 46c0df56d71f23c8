! The same with module mpi.
program sum
  use mpi
  implicit none
  integer :: rank, ranks, total, ierror
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  if (rank == 0) print *, ranks, ' ranks, sum ', total
  call MPI_Finalize(ierror)
  if (total /= ranks * (ranks - 1) / 2 .or. ranks /= 2) stop 1
end program sum
