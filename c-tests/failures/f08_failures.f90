! A rank ends; the others revoke a communicator, a window and a file, shrink and agree: by the modules mpi_f08 and
! mpi_f08_ext.
program failures
  use mpi_f08
  use mpi_f08_ext
  implicit none
  integer :: ierror, rank, ranks, errors, flag, left, me, total, members, number_acked, value
  type(MPI_Comm) :: living, again
  type(MPI_Group) :: failed
  type(MPI_Request) :: request
  type(MPI_Win) :: win
  type(MPI_File) :: file
  integer, asynchronous :: agreed
  integer :: window_memory(4)
  logical :: revoked
  errors = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  call MPI_Win_create(window_memory, 16_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
  call MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN)
  call MPI_File_open(MPI_COMM_WORLD, '/dev/null', MPI_MODE_RDWR, MPI_INFO_NULL, file)
  call MPI_Barrier(MPI_COMM_WORLD)
  if (rank == ranks - 1) call abort
  ! A lock of a rank that fails.
  do
    call MPI_Win_lock(MPI_LOCK_SHARED, ranks - 1, 0, win, ierror)
    if (ierror /= MPI_SUCCESS) exit
    call MPI_Win_unlock(ranks - 1, win, ierror)
    if (ierror /= MPI_SUCCESS) exit
  end do
  call expect_class(MPIX_ERR_PROC_FAILED)
  call MPI_Recv(value, 1, MPI_INTEGER, ranks - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
  call expect_class(MPIX_ERR_PROC_FAILED)
  call MPIX_Comm_shrink(MPI_COMM_WORLD, living)
  call MPIX_Comm_ishrink(living, again, request, ierror)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  call expect(ierror == MPI_SUCCESS)
  call MPIX_Win_revoke(win)
  call MPIX_Win_is_revoked(win, revoked)
  call expect(revoked)
  call MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win, ierror)
  call expect_class(MPIX_ERR_REVOKED)
  call MPIX_Win_get_failed(win, failed)
  call MPI_Group_size(failed, members)
  call expect(members == 1)
  call MPI_Win_free(win, ierror)
  call expect_class(MPIX_ERR_PROC_FAILED)
  call expect(win == MPI_WIN_NULL)
  call MPIX_File_revoke(file)
  call MPIX_File_is_revoked(file, revoked)
  call expect(revoked)
  call MPI_File_sync(file, ierror)
  call expect_class(MPIX_ERR_REVOKED)
  call MPIX_File_get_failed(file, failed)
  call MPI_Group_size(failed, members)
  call expect(members == 1)
  call MPI_File_close(file, ierror)
  call expect_class(MPIX_ERR_PROC_FAILED)
  call expect(file == MPI_FILE_NULL)
  call MPIX_Comm_revoke(MPI_COMM_WORLD)
  call MPIX_Comm_is_revoked(MPI_COMM_WORLD, revoked, ierror)
  call expect(revoked .and. ierror == MPI_SUCCESS)
  call MPIX_Comm_get_failed(MPI_COMM_WORLD, failed)
  call MPI_Group_size(failed, members)
  call expect(members == 1)
  call MPIX_Comm_ack_failed(MPI_COMM_WORLD, 1, number_acked)
  call expect(number_acked == 1)
  call MPIX_Comm_failure_ack(MPI_COMM_WORLD)
  call MPIX_Comm_failure_get_acked(MPI_COMM_WORLD, failed)
  call MPI_Group_size(failed, members)
  call expect(members == 1)
  flag = merge(5, 7, rank == 0)
  call MPIX_Comm_agree(MPI_COMM_WORLD, flag, ierror)
  call expect(ierror == MPI_SUCCESS .and. flag == 5)
  agreed = merge(6, 3, rank == 0)
  call PMPIX_Comm_iagree(again, agreed, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  call expect(ierror == MPI_SUCCESS .and. agreed == merge(6, 2, ranks == 2))
  call MPI_Comm_size(again, left)
  call MPI_Comm_rank(again, me)
  call expect(left == ranks - 1)
  call MPI_Allreduce(errors, total, 1, MPI_INTEGER, MPI_SUM, again, ierror)
  if (ierror /= MPI_SUCCESS) total = total + 1
  if (me == 0) print '(a,i0)', 'errors = ', total
  call MPI_Finalize()

contains

  subroutine expect(good)
    logical, intent(in) :: good
    if (.not. good) errors = errors + 1
  end subroutine

  subroutine expect_class(expected)
    integer, intent(in) :: expected
    integer :: class
    call MPI_Error_class(ierror, class)
    call expect(class == expected)
  end subroutine
end program
