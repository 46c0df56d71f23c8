! A rank ends; the others revoke a communicator and a window, shrink and agree: by the modules mpi and mpi_ext.
program failures
  use mpi
  use mpi_ext
  implicit none
  integer :: ierror, rank, ranks, errors, class, flag, living, left, me, total, failed, members, win
  integer :: number_acked, request, window_memory(4)
  integer(MPI_ADDRESS_KIND) :: bytes
  logical :: revoked
  errors = 0
  call MPI_INIT(ierror)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierror)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierror)
  call MPI_COMM_SET_ERRHANDLER(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierror)
  bytes = 16
  call MPI_WIN_CREATE(window_memory, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
  call MPI_WIN_SET_ERRHANDLER(win, MPI_ERRORS_RETURN, ierror)
  call MPI_BARRIER(MPI_COMM_WORLD, ierror)
  if (rank == 0) call abort
  call MPI_WIN_FENCE(0, win, ierror)
  call expect_class(MPIX_ERR_PROC_FAILED, MPIX_ERR_REVOKED)
  call MPIX_WIN_REVOKE(win, ierror)
  call expect(ierror == MPI_SUCCESS)
  call MPIX_WIN_IS_REVOKED(win, revoked, ierror)
  call expect(revoked)
  call MPI_WIN_FENCE(0, win, ierror)
  call expect_class(MPIX_ERR_REVOKED, MPIX_ERR_REVOKED)
  call MPIX_COMM_REVOKE(MPI_COMM_WORLD, ierror)
  call MPIX_COMM_IS_REVOKED(MPI_COMM_WORLD, revoked, ierror)
  call expect(revoked)
  call MPIX_COMM_SHRINK(MPI_COMM_WORLD, living, ierror)
  call expect(ierror == MPI_SUCCESS)
  call MPIX_WIN_GET_FAILED(win, failed, ierror)
  call MPI_GROUP_SIZE(failed, members, ierror)
  call expect(members == 1)
  call MPI_WIN_FREE(win, ierror)
  call expect_class(MPIX_ERR_PROC_FAILED, MPIX_ERR_PROC_FAILED)
  call expect(win == MPI_WIN_NULL)
  call MPIX_COMM_ACK_FAILED(MPI_COMM_WORLD, 1, number_acked, ierror)
  call expect(number_acked == 1)
  flag = 3
  if (rank == 1) flag = 6
  call PMPIX_COMM_IAGREE(MPI_COMM_WORLD, flag, request, ierror)
  call MPI_WAIT(request, MPI_STATUS_IGNORE, ierror)
  call expect(ierror == MPI_SUCCESS)
  call expect(flag == merge(6, 2, ranks == 2))
  flag = 1
  call MPIX_COMM_AGREE(living, flag, ierror)
  call expect(ierror == MPI_SUCCESS .and. flag == 1)
  call MPI_COMM_SIZE(living, left, ierror)
  call MPI_COMM_RANK(living, me, ierror)
  call expect(left == ranks - 1)
  call MPI_ALLREDUCE(errors, total, 1, MPI_INTEGER, MPI_SUM, living, ierror)
  if (ierror /= MPI_SUCCESS) total = total + 1
  if (me == 0) print '(a,i0)', 'errors = ', total
  call MPI_FINALIZE(ierror)

contains

  subroutine expect(good)
    logical, intent(in) :: good
    if (.not. good) errors = errors + 1
  end subroutine

  subroutine expect_class(one, other)
    integer, intent(in) :: one, other
    integer :: code
    code = ierror
    call MPI_ERROR_CLASS(code, class, ierror)
    call expect(class == one .or. class == other)
  end subroutine
end program
