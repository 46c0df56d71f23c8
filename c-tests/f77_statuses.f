C     Statuses that cross languages: what Fortran received is read and
C     changed in C, and back. What is ignored is known in C, too.
      program crossing
      implicit none
      include 'mpif.h'
      integer rank, ierror, request, count, status(MPI_STATUS_SIZE)
      integer statuses(MPI_STATUS_SIZE, 2), numbers(3), got(5), wrong
      integer read_in_c, known_in_c
      external read_in_c, known_in_c
      logical flag
      call MPI_INIT(ierror)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierror)
      numbers(1) = 1
      numbers(2) = 2
      numbers(3) = 3
      call MPI_ISEND(numbers, 3, MPI_INTEGER, rank, 42, MPI_COMM_WORLD,
     &               request, ierror)
      call MPI_RECV(got, 5, MPI_INTEGER, rank, 42, MPI_COMM_WORLD,
     &              status, ierror)
      call MPI_WAIT(request, MPI_STATUS_IGNORE, ierror)
C     C finds the tag and three INTEGERs, and makes it two, cancelled.
      wrong = read_in_c(status, rank, 42, 3)
      call check(wrong .eq. 0, 'a status in C')
      call MPI_GET_COUNT(status, MPI_INTEGER, count, ierror)
      call check(count .eq. 2, 'the count that C has set')
      call MPI_TEST_CANCELLED(status, flag, ierror)
      call check(flag, 'the mark that C has set')
      call check(status(MPI_TAG) .eq. 42, 'the tag, back from C')
      call MPI_STATUS_F2F08(status, statuses(1, 2), ierror)
      call MPI_STATUS_F082F(statuses(1, 2), statuses, ierror)
      call MPI_GET_COUNT(statuses, MPI_INTEGER, count, ierror)
      call check(count .eq. 2, 'the count by way of mpi_f08')
      wrong = known_in_c(MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE, status)
      call check(wrong .eq. 0, 'what is ignored, in C')
      call finish()
      end

      include 'check_fortran.h'
