! Module mpi_f08 beside buffers: callbacks, sentinels, statuses, sizes, pointers, large counts; and
! both modules and mpif.h in one program.
module f08_callbacks
  use mpi_f08
  implicit none
  integer :: copied = 0, deleted = 0, handled = 0
contains
  subroutine copy(oldcomm, comm_keyval, extra_state, attribute_val_in, attribute_val_out, flag, &
      ierror)
    type(MPI_Comm) :: oldcomm
    integer :: comm_keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    copied = copied + 1
    attribute_val_out = attribute_val_in + extra_state
    flag = oldcomm == MPI_COMM_WORLD .and. comm_keyval /= MPI_KEYVAL_INVALID
    ierror = MPI_SUCCESS
  end subroutine

  subroutine delete(comm, comm_keyval, attribute_val, extra_state, ierror)
    type(MPI_Comm) :: comm
    integer :: comm_keyval, ierror
    integer(MPI_ADDRESS_KIND) :: attribute_val, extra_state
    if (comm /= MPI_COMM_NULL .and. comm_keyval /= MPI_KEYVAL_INVALID) deleted = deleted + 1
    if (attribute_val < extra_state) deleted = deleted + 1000
    ierror = MPI_SUCCESS
  end subroutine

  subroutine handle(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code, class
    call MPI_Error_class(error_code, class)
    if (comm == MPI_COMM_SELF .and. class == MPI_ERR_TAG) handled = handled + 1
  end subroutine
end module

program f08_objects
  use mpi_f08
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
  implicit none
  integer :: rank, wrongs = 0
  interface
    subroutine with_mpi(errors)
      integer, intent(inout) :: errors
    end subroutine
    subroutine with_header(errors)
      integer, intent(inout) :: errors
    end subroutine
  end interface

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call callbacks()
  call statuses()
  call sentinels()
  call sizes()
  call pointers()
  call large()
  call profiling()
  call with_mpi(wrongs)
  call with_header(wrongs)
  call MPI_Allreduce(MPI_IN_PLACE, wrongs, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) print '(a, i0)', "errors = ", wrongs
  call MPI_Finalize()

contains

  subroutine expect(what, holds)
    character(len=*), intent(in) :: what
    logical, intent(in) :: holds
    if (holds) return
    print '(a, i0, 2a)', "rank ", rank, ": ", what
    wrongs = wrongs + 1
  end subroutine

  subroutine callbacks()
    use f08_callbacks
    type(MPI_Comm) :: twin
    type(MPI_Errhandler) :: handler
    integer(MPI_ADDRESS_KIND) :: value
    integer :: keyval, other, error
    logical :: found
    call MPI_Comm_create_keyval(copy, delete, keyval, 7_MPI_ADDRESS_KIND)
    call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, other, &
      0_MPI_ADDRESS_KIND)
    call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, 2_MPI_ADDRESS_KIND**40)
    call MPI_Comm_set_attr(MPI_COMM_WORLD, other, 1_MPI_ADDRESS_KIND)
    call MPI_Comm_dup(MPI_COMM_WORLD, twin)
    call MPI_Comm_get_attr(twin, keyval, value, found)
    call expect("an attribute is copied", found .and. value == 2_MPI_ADDRESS_KIND**40 + 7)
    call MPI_Comm_get_attr(twin, other, value, found)
    call expect("an attribute is not copied", .not. found)
    call MPI_Comm_free(twin)
    call expect("a handle that is freed is null", twin == MPI_COMM_NULL)
    call MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval)
    call expect("copies and deletions", copied == 1 .and. deleted == 2)
    call MPI_Comm_create_errhandler(handle, handler)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, handler)
    call MPI_Send(rank, 1, MPI_INTEGER, 0, -5, MPI_COMM_SELF, error)
    call MPI_Send(rank, 1, MPI_INTEGER, 0, -5, MPI_COMM_SELF)
    call expect("an error handler", handled == 2 .and. error /= MPI_SUCCESS)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL)
    call MPI_Errhandler_free(handler)
  end subroutine

  subroutine statuses()
    type(MPI_Status) :: status, twin
    integer :: numbers(MPI_STATUS_SIZE), number
    call MPI_Sendrecv(rank, 1, MPI_INTEGER, 0, 77, number, 1, MPI_INTEGER, 0, 77, MPI_COMM_SELF, &
      status)
    call expect("fields of a status", status%MPI_TAG == 77 .and. status%MPI_SOURCE == 0)
    call MPI_Status_f082f(status, numbers)
    call expect("numbers of a status", numbers(MPI_TAG) == 77 .and. numbers(MPI_SOURCE) == 0)
    call MPI_Status_f2f08(numbers, twin)
    call MPI_Get_count(twin, MPI_INTEGER, number)
    call expect("a status that was converted", number == 1)
    twin%MPI_TAG = 0
    twin = status
    call expect("a status that was copied", twin%MPI_TAG == 77)
  end subroutine

  subroutine sentinels()
    type(MPI_Datatype) :: here
    integer(MPI_ADDRESS_KIND) :: place(1)
    integer, target :: number
    integer :: got, codes
    character(len=MPI_MAX_OBJECT_NAME) :: name
    number = 5 + rank
    call MPI_Get_address(number, place(1))
    call MPI_Type_create_hindexed(1, [1], place, MPI_INTEGER, here)
    call MPI_Type_commit(here)
    call MPI_Sendrecv(MPI_BOTTOM, 1, here, 0, 1, got, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, &
      MPI_STATUS_IGNORE)
    call expect("MPI_BOTTOM", got == 5 + rank)
    call MPI_Type_free(here)
    call MPI_Comm_get_name(MPI_COMM_WORLD, name, codes)
    call expect("a name", name == "MPI_COMM_WORLD" .and. codes == 14)
    call expect("equal handles", MPI_COMM_WORLD == MPI_COMM_WORLD .and. MPI_INTEGER /= MPI_REAL)
  end subroutine

  subroutine sizes()
    double precision :: matrix(3, 4)
    character(len=11) :: text
    type(MPI_Status) :: status
    complex(8) :: number
    integer :: bytes(4)
    call MPI_Sizeof(matrix, bytes(1))
    call MPI_Sizeof(text, bytes(2))
    call MPI_Sizeof(status, bytes(3))
    call MPI_Sizeof(number, bytes(4))
    call expect("sizes", all(bytes == [8, 11, 32, 16]))
  end subroutine

  subroutine pointers()
    type(c_ptr) :: memory, detached
    integer, pointer :: numbers(:)
    integer, target, asynchronous :: attached(2000)
    integer :: length, unit
    integer(MPI_ADDRESS_KIND) :: bytes
    type(MPI_Win) :: win
    call MPI_Alloc_mem(400_MPI_ADDRESS_KIND, MPI_INFO_NULL, memory)
    call c_f_pointer(memory, numbers, [100])
    numbers = 3
    call expect("allocated memory", sum(numbers) == 300)
    call MPI_Free_mem(numbers)
    call MPI_Buffer_attach(attached, 8000)
    call MPI_Bsend(rank, 1, MPI_INTEGER, 0, 9, MPI_COMM_SELF)
    call MPI_Recv(unit, 1, MPI_INTEGER, 0, 9, MPI_COMM_SELF, MPI_STATUS_IGNORE)
    call MPI_Buffer_detach(detached, length)
    call MPI_Get_address(attached, bytes)
    call expect("a buffer comes back", transfer(detached, bytes) == bytes .and. length == 8000)
    call expect("a buffered message", unit == rank)
    if (.false.) then
      call MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_SELF, memory, win)
      call MPI_Win_shared_query(win, 0, bytes, unit, memory)
    end if
  end subroutine

  subroutine large()
    integer(MPI_COUNT_KIND) :: many, got
    integer(MPI_ADDRESS_KIND) :: places(1)
    integer :: line(12), column(4, 2), few
    type(MPI_Status) :: status
    type(MPI_Datatype) :: wide
    many = 6
    line = [(few, few = 1, 12)]
    column = 0
    call MPI_Sendrecv(line(1:12:2), many, MPI_INTEGER, 0, 2, column(1:3, :), many, MPI_INTEGER, 0, &
      2, MPI_COMM_SELF, status)
    call MPI_Get_count(status, MPI_INTEGER, got)
    call expect("a message", got == 6 .and. column(3, 2) == 11 .and. column(4, 1) == 0)
    call MPI_Recv(column(1:4:3, :), 4_MPI_COUNT_KIND, MPI_INTEGER, MPI_PROC_NULL, 2, &
      MPI_COMM_SELF, status)
    call MPI_Get_count(status, MPI_INTEGER, got)
    call expect("a large count of nothing", got == 0)
    call MPI_Type_contiguous(2_MPI_COUNT_KIND**33, MPI_INTEGER, wide)
    call MPI_Type_size(wide, got)
    call expect("a large datatype", got == 2_MPI_COUNT_KIND**35)
    call MPI_Type_size(wide, few)
    call expect("a size that is too large", few == MPI_UNDEFINED)
    call MPI_Type_free(wide)
    places = 4
    call MPI_Allgatherv(line(1:3:2), 2_MPI_COUNT_KIND, MPI_INTEGER, line(12:1:-2), &
      [2_MPI_COUNT_KIND], places, MPI_INTEGER, MPI_COMM_SELF)
    call expect("large places", line(4) == 1 .and. line(2) == 3 .and. line(12) == 12)
    call MPI_Reduce(line(1:11:2), column(1:3, :), 6_MPI_COUNT_KIND, MPI_INTEGER, MPI_SUM, 0, &
      MPI_COMM_SELF)
    call expect("a large reduction", all(column(1:3, 2) == line(7:11:2)))
  end subroutine

  subroutine profiling()
    integer :: number
    double precision :: begun
    begun = MPI_Wtime()
    number = 0
    call PMPI_Sendrecv(41, 1, MPI_INTEGER, 0, 3, number, 1, MPI_INTEGER, 0, 3, MPI_COMM_SELF, &
      MPI_STATUS_IGNORE)
    call expect("the profiling interface", number == 41 .and. PMPI_Wtime() >= begun)
    call expect("addresses", MPI_Aint_add(8_MPI_ADDRESS_KIND, 4_MPI_ADDRESS_KIND) == 12)
  end subroutine
end program

subroutine with_mpi(errors)
  use mpi, only: MPI_SENDRECV, MPI_COMM_SELF, MPI_INTEGER, MPI_STATUS_IGNORE, MPI_STATUS_SIZE, &
    MPI_TAG, MPI_ALLREDUCE, MPI_IN_PLACE, MPI_SUM, MPI_SIZEOF, MPI_Comm, MPI_STATUS_F2F08, &
    MPI_Status, MPI_ALLOC_MEM, MPI_FREE_MEM, MPI_ADDRESS_KIND, MPI_INFO_NULL, MPI_WAITALL, &
    MPI_STATUSES_IGNORE, MPI_ISEND, MPI_IRECV, operator(==)
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
  implicit none
  integer, intent(inout) :: errors
  integer :: status(MPI_STATUS_SIZE), ierror, got(2), matrix(3, 3), bytes, requests(2)
  type(MPI_Status) :: typed
  type(c_ptr) :: memory
  integer, pointer :: numbers(:)
  matrix = reshape([1, 2, 3, 4, 5, 6, 7, 8, 9], [3, 3])
  call MPI_SENDRECV(matrix(1:3:2, 2), 2, MPI_INTEGER, 0, 5, got, 2, MPI_INTEGER, 0, 5, &
    MPI_COMM_SELF, status, ierror)
  if (any(got /= [4, 6]) .or. status(MPI_TAG) /= 5) errors = errors + 1
  call MPI_STATUS_F2F08(status, typed, ierror)
  if (typed%MPI_TAG /= 5) errors = errors + 1
  call MPI_ALLREDUCE(MPI_IN_PLACE, got, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_SELF, ierror)
  call MPI_SENDRECV(got(1), 1, MPI_INTEGER, 0, 5, got(2), 1, MPI_INTEGER, 0, 5, MPI_COMM_SELF, &
    MPI_STATUS_IGNORE, ierror)
  if (any(got /= 4)) errors = errors + 1
  call MPI_SIZEOF(got, bytes, ierror)
  if (bytes /= 4) errors = errors + 1
  if (.not. MPI_Comm(MPI_COMM_SELF) == MPI_Comm(MPI_COMM_SELF)) errors = errors + 1
  call MPI_ALLOC_MEM(40_MPI_ADDRESS_KIND, MPI_INFO_NULL, memory, ierror)
  call c_f_pointer(memory, numbers, [10])
  numbers = 0
  call MPI_IRECV(numbers, 2, MPI_INTEGER, 0, 6, MPI_COMM_SELF, requests(1), ierror)
  call MPI_ISEND(got, 2, MPI_INTEGER, 0, 6, MPI_COMM_SELF, requests(2), ierror)
  call MPI_WAITALL(2, requests, MPI_STATUSES_IGNORE, ierror)
  if (any(numbers(1:3) /= [4, 4, 0])) errors = errors + 1
  call MPI_FREE_MEM(numbers, ierror)
end subroutine

subroutine with_header(errors)
  implicit none
  include 'mpif.h'
  integer, intent(inout) :: errors
  integer :: ierror, number
  number = 6
  call MPI_ALLREDUCE(MPI_IN_PLACE, number, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_SELF, ierror)
  call MPI_SENDRECV(number, 1, MPI_INTEGER, MPI_PROC_NULL, 5, number, 1, MPI_INTEGER, &
    MPI_PROC_NULL, 5, MPI_COMM_SELF, MPI_STATUS_IGNORE, ierror)
  if (number /= 6 .or. ierror /= MPI_SUCCESS) errors = errors + 1
end subroutine
