C     The same in Fortran with mpif.h, in fixed form.
      program sum
      implicit none
      include 'mpif.h'
      integer rank, ranks, total, ierror
      call MPI_INIT(ierror)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierror)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierror)
      call MPI_ALLREDUCE(rank, total, 1, MPI_INTEGER, MPI_SUM,
     &                   MPI_COMM_WORLD, ierror)
      if (rank .eq. 0) print *, ranks, ' ranks, sum ', total
      call MPI_FINALIZE(ierror)
      if (total .ne. ranks * (ranks - 1) / 2 .or. ranks .ne. 2) stop 1
      end
