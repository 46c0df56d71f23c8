! The mean of random numbers, the same on all ranks, and of the ranks' numbers; calls one routine
! with arguments of two types, as old programs do.
program ep
  use ep_data
  use mpinpb
  implicit none
  double precision :: x, mean, total, t
  integer :: ierr, i, sum_of_ranks
  logical :: verified
  double precision, external :: randlc, timer_read

  call mpi_init(ierr)
  call mpi_comm_rank(MPI_COMM_WORLD, me, ierr)
  call mpi_comm_size(MPI_COMM_WORLD, nprocs, ierr)
  root = 0
  call timer_clear(1)
  call timer_start(1)
  x = s
  mean = 0
  do i = 1, rounds
    mean = mean + randlc(x, a) / rounds
  end do
  call mpi_allreduce(mean, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
  call mpi_allreduce(me, sum_of_ranks, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  call timer_stop(1)
  t = timer_read(1)
  if (me == root) then
    verified = abs(total / nprocs - 0.5d0) < 0.05d0 .and. sum_of_ranks == nprocs * (nprocs - 1) / 2
    if (nprocs_compiled > 0) verified = verified .and. nprocs == nprocs_compiled
    call print_results('EP', class, nprocs, t, rounds / max(t, 1d-6) / 1d6, verified, cs_FFLAGS)
  end if
  call mpi_finalize(ierr)
end program ep
