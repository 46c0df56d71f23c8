! Counting errors in Fortran, for fixed and for free form: included
! after the main program.
      subroutine check(ok, what)
      implicit none
      logical ok
      character*(*) what
      integer errors
      common /checks/ errors
      if (.not. ok) then
      errors = errors + 1
      print *, 'wrong: ', what
      endif
      end

! The last call of a program: rank 0 tells the errors of all ranks.
      subroutine finish()
      implicit none
      include 'mpif.h'
      integer errors, total, rank, ierror
      common /checks/ errors
      call MPI_ALLREDUCE(errors, total, 1, MPI_INTEGER, MPI_SUM,        &
     & MPI_COMM_WORLD, ierror)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierror)
      if (rank .eq. 0) print '(a,i0)', 'errors = ', total
      call MPI_FINALIZE(ierror)
      if (total .ne. 0) stop 1
      end

      block data
      integer errors
      common /checks/ errors
      data errors /0/
      end
