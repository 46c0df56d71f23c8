! Functions of the program that the library calls, with module mpi: operations, error handlers,
! generalized requests.
module functions
  use mpi
  implicit none
  integer :: calls = 0, last_code = -1, last_comm = -1, queries = 0, frees = 0, cancels = 0
contains
  ! Products of 2 x 2 matrices: order matters.
  subroutine multiply(invec, inoutvec, length, type)
    integer :: length, type, i
    integer(8) :: invec(2, 2, length), inoutvec(2, 2, length)
    calls = calls + 1
    call check(type /= MPI_DATATYPE_NULL, 'the type of an operation')
    do i = 1, length
      inoutvec(:, :, i) = matmul(invec(:, :, i), inoutvec(:, :, i))
    end do
  end subroutine multiply

  subroutine longer(invec, inoutvec, length, type)
    integer :: length, type
    double precision :: invec(length), inoutvec(length)
    call check(type == MPI_DOUBLE_PRECISION, 'the handle of a type')
    inoutvec = sqrt(invec ** 2 + inoutvec ** 2)
  end subroutine longer

  subroutine note(comm, code)
    integer :: comm, code
    last_comm = comm
    last_code = code
  end subroutine note

  subroutine query(extra, status, ierror)
    integer(MPI_ADDRESS_KIND) :: extra
    integer :: status(MPI_STATUS_SIZE), ierror
    queries = queries + 1
    status(MPI_SOURCE) = 3
    status(MPI_TAG) = int(extra)
    call MPI_Status_set_elements(status, MPI_INTEGER, 6, ierror)
    call MPI_Status_set_cancelled(status, .false., ierror)
  end subroutine query

  subroutine release(extra, ierror)
    integer(MPI_ADDRESS_KIND) :: extra
    integer :: ierror
    frees = frees + 1
    ierror = MPI_SUCCESS
    if (extra /= 17) ierror = MPI_ERR_OTHER
  end subroutine release

  subroutine cancel(extra, complete, ierror)
    integer(MPI_ADDRESS_KIND) :: extra
    logical :: complete
    integer :: ierror
    if (.not. complete .and. extra == 17) cancels = cancels + 1
    ierror = MPI_SUCCESS
  end subroutine cancel
end module functions

program callbacks
  use mpi
  use functions
  implicit none
  integer :: rank, ranks, ierror
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call operations
  call handlers
  call requests
  call finish
contains
  subroutine operations
    integer :: op, type, i, request
    integer(8) :: mine(2, 2, 5), found(2, 2, 5), expected(2, 2), one(2, 2)
    double precision :: x(1000), length(1000)
    logical :: commutes
    call MPI_Op_create(multiply, .false., op, ierror)
    call MPI_Op_commutative(op, commutes, ierror)
    call check(.not. commutes, 'MPI_OP_COMMUTATIVE')
    call MPI_Type_contiguous(4, MPI_INTEGER8, type, ierror)
    call MPI_Type_commit(type, ierror)
    expected = reshape([1, 0, 0, 1], [2, 2])
    do i = 0, ranks - 1
      one = reshape([1, i, 1, 1], [2, 2])
      expected = matmul(expected, one)
      if (i == rank) mine = spread(one, 3, 5)
    end do
    found = 0
    call MPI_Allreduce(mine, found, 5, type, op, MPI_COMM_WORLD, ierror)
    call check(all(found == spread(expected, 3, 5)), 'an operation of the program')
    call check(ranks == 1 .or. calls > 0 .or. rank > 0, 'the operation is called')
    found = mine
    if (rank == 0) then
      call MPI_Reduce(MPI_IN_PLACE, found, 5, type, op, 0, MPI_COMM_WORLD, ierror)
      call check(all(found == spread(expected, 3, 5)), 'the same in place')
    else
      call MPI_Reduce(mine, found, 5, type, op, 0, MPI_COMM_WORLD, ierror)
    end if
    call MPI_Op_free(op, ierror)
    call check(op == MPI_OP_NULL, 'a freed operation')
    call MPI_Type_free(type, ierror)
    call MPI_Op_create(longer, .true., op, ierror)
    x = rank + 1
    call MPI_Iallreduce(x, length, 1000, MPI_DOUBLE_PRECISION, op, MPI_COMM_WORLD, request, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call MPI_F_sync_reg(length)
    call check(all(abs(length ** 2 - sum([(i ** 2, i = 1, ranks)])) < 1d-6), 'a nonblocking one')
    length(1) = 3
    x(1) = 4
    call MPI_Reduce_local(x, length, 1, MPI_DOUBLE_PRECISION, op, ierror)
    call check(abs(length(1) - 5) < 1d-12, 'MPI_REDUCE_LOCAL')
    call MPI_Op_free(op, ierror)
  end subroutine operations

  subroutine handlers
    integer :: handler, comm, other, value, class, code
    value = 0
    call MPI_Comm_create_errhandler(note, handler, ierror)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
    call MPI_Comm_set_errhandler(comm, handler, ierror)
    call MPI_Send(value, 1, MPI_INTEGER, ranks + 1, 0, comm, ierror)
    call check(last_comm == comm, 'the communicator of an error')
    call check(last_code == ierror, 'the code of an error')
    call MPI_Error_class(ierror, class, code)
    call check(class == MPI_ERR_RANK, 'the class of an error')
    last_comm = -1
    call MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER, ierror)
    call check(ierror == MPI_SUCCESS .and. last_comm == comm, 'MPI_COMM_CALL_ERRHANDLER')
    call check(last_code == MPI_ERR_OTHER, 'its code')
    ! It goes with a communicator, also when its handle is gone.
    call MPI_Errhandler_free(handler, ierror)
    call check(handler == MPI_ERRHANDLER_NULL, 'a freed handler')
    call MPI_Comm_dup(comm, other, ierror)
    last_comm = -1
    call MPI_Send(value, -1, MPI_INTEGER, 0, 0, other, ierror)
    call check(last_comm == other, 'a handler is inherited')
    call MPI_Comm_free(other, ierror)
    call MPI_Comm_free(comm, ierror)
  end subroutine handlers

  subroutine requests
    integer :: request, status(MPI_STATUS_SIZE), count
    logical :: flag
    call MPI_Grequest_start(query, release, cancel, 17_MPI_ADDRESS_KIND, request, ierror)
    call MPI_Test(request, flag, status, ierror)
    call check(.not. flag, 'a request that is not complete')
    call MPI_Cancel(request, ierror)
    call check(cancels == 1, 'the function that cancels')
    call MPI_Grequest_complete(request, ierror)
    call MPI_Wait(request, status, ierror)
    call check(ierror == MPI_SUCCESS .and. request == MPI_REQUEST_NULL, 'a complete request')
    call check(queries >= 1 .and. frees == 1, 'the functions of a request')
    call check(status(MPI_SOURCE) == 3 .and. status(MPI_TAG) == 17, 'its status')
    call MPI_Get_count(status, MPI_INTEGER, count, ierror)
    call check(count == 6, 'its count')
    call MPI_Test_cancelled(status, flag, ierror)
    call check(.not. flag, 'it was not cancelled')
  end subroutine requests
end program callbacks

include 'check_fortran.h'
