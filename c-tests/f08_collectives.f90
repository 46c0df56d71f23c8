! Collective operations on sections of arrays with strides: blocking, nonblocking, persistent.
module f08_chain
  use mpi_f08
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
  implicit none
contains
  ! A sum that counts how often it was called for an element.
  subroutine chain(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: from(:), into(:)
    call c_f_pointer(invec, from, [len])
    call c_f_pointer(inoutvec, into, [len])
    if (datatype /= MPI_INTEGER) call MPI_Abort(MPI_COMM_WORLD, 2)
    into = from + into + 1000
  end subroutine
end module

program f08_collectives
  use mpi_f08
  use f08_chain, only: chain
  implicit none
  integer :: rank, ranks, i, from, step
  integer, allocatable :: send(:, :), receive(:, :), counts(:), places(:), whole(:)
  integer :: row(12), sums(12), inout(24), all
  type(MPI_Request) :: request
  type(MPI_Op) :: chained
  type(MPI_Datatype), allocatable :: types(:)

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  all = ranks * (ranks - 1) / 2
  allocate (send(3, 2 * ranks), receive(3, 2 * ranks), counts(ranks), places(ranks))
  allocate (whole(2 * ranks), types(ranks))

  ! A row of a matrix to all.
  call reset()
  if (rank == 0) receive(2, :) = [(7 * i, i = 1, 2 * ranks)]
  call MPI_Bcast(receive(2, :), 2 * ranks, MPI_INTEGER, 0, MPI_COMM_WORLD)
  call is("bcast", receive(2, :), [(7 * i, i = 1, 2 * ranks)])

  ! Blocks of two elements, which are no blocks of columns.
  call reset()
  call MPI_Allgather(send(1:3:2, 1), 2, MPI_INTEGER, receive(2, :), 2, MPI_INTEGER, MPI_COMM_WORLD)
  call is("allgather", receive(2, 1::2), [(1000 * from + 11, from = 0, ranks - 1)])
  call is("allgather, second", receive(2, 2::2), [(1000 * from + 31, from = 0, ranks - 1)])
  call is("beside allgather", receive(1, :), [(-1, i = 1, 2 * ranks)])
  call MPI_Ialltoall(send(3, :), 2, MPI_INTEGER, receive(1, 2 * ranks:1:-1), 2, MPI_INTEGER, &
    MPI_COMM_WORLD, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  whole = [(1000 * (i / 2) + 30 + 2 * rank + 1 + modulo(i, 2), i = 0, 2 * ranks - 1)]
  call is("ialltoall", receive(1, 2 * ranks:1:-1), whole)

  ! Lengths and places of blocks count elements of what is contiguous virtually.
  call reset()
  counts = [(1, i = 1, ranks)]
  places = [(2 * ranks - 2 * i + 1, i = 1, ranks)]
  call MPI_Gatherv(send(2, rank + 1:), 1, MPI_INTEGER, receive(1, :), counts, places, MPI_INTEGER, &
    0, MPI_COMM_WORLD)
  if (rank == 0) then
    whole = -1
    do i = 1, ranks
      whole(places(i) + 1) = 1000 * (i - 1) + 20 + i
    end do
    call is("gatherv", receive(1, :), whole)
  end if
  call reset()
  types = MPI_INTEGER
  call MPI_Alltoallw(send(3, :), counts, 8 * [(i, i = 0, ranks - 1)], types, receive(2, :), &
    counts, 4 * places, types, MPI_COMM_WORLD)
  whole = -1
  do i = 1, ranks
    whole(places(i) + 1) = 1000 * (i - 1) + 30 + 2 * rank + 1
  end do
  call is("alltoallw", receive(2, :), whole)

  ! Reductions: each buffer may be a section, or not, and lies in its own way.
  do i = 1, 12
    row(i) = rank + i
  end do
  inout = -1
  call MPI_Allreduce(row, inout(1:24:2), 12, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call is("allreduce into a section", inout(1::2), [(all + ranks * i, i = 1, 12)])
  call is("beside allreduce", inout(2::2), [(-1, i = 1, 12)])
  call MPI_Allreduce(row(12:2:-2), sums, 6, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD)
  call is("allreduce of a section", sums(:6), [(ranks - 1 + i, i = 12, 2, -2)])
  call MPI_Reduce(row(1:12:3), inout(1:10:3), 4, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD)
  if (rank == 0) call is("reduce", inout(1:10:3), [(all + ranks * i, i = 1, 12, 3)])
  inout(1::2) = row
  call MPI_Iallreduce(MPI_IN_PLACE, inout(1::2), 12, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call is("iallreduce in place", inout(1::2), [(all + ranks * i, i = 1, 12)])
  call MPI_Allreduce_init(row(1:11:2), inout(24:14:-2), 6, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, &
    MPI_INFO_NULL, request)
  do step = 1, 3
    row = [(rank + i * step, i = 1, 12)]
    call MPI_Start(request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call is("allreduce_init", inout(24:14:-2), [(all + ranks * i * step, i = 1, 11, 2)])
  end do
  call MPI_Request_free(request)
  call MPI_Scan(row(1:12:2), sums(6:1:-1), 6, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call is("scan", sums(6:1:-1), [(rank * (rank + 1) / 2 + (rank + 1) * i * 3, i = 1, 11, 2)])
  call reset()
  call MPI_Reduce_scatter_block(send(1, :), sums(1:4:3), 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call is("reduce_scatter_block", sums(1:4:3), 1000 * all + ranks * (10 + 2 * rank + [1, 2]))
  counts = 2
  counts(1) = 1
  sums = -1
  call MPI_Reduce_scatter(send(1, :), sums(1:4:3), counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) call is("reduce_scatter", sums(1:4:3), [1000 * all + ranks * 11, -1])
  if (rank > 0) then
    call is("reduce_scatter", sums(1:4:3), 1000 * all + ranks * (10 + 2 * rank + [0, 1]))
  end if
  call MPI_Reduce_local(row(1:12:4), inout(1:3), 3, MPI_INTEGER, MPI_PROD)

  ! The application's operation sees the elements, and their own datatype.
  call MPI_Op_create(chain, .true., chained)
  row = [(i, i = 1, 12)]
  call MPI_Allreduce(row(1:12:2), inout(2:12:2), 6, MPI_INTEGER, chained, MPI_COMM_WORLD)
  call is("an operation", inout(2:12:2), [(i * ranks + 1000 * (ranks - 1), i = 1, 11, 2)])
  call MPI_Iallreduce(row(1:12:2), inout(1:6), 6, MPI_INTEGER, chained, MPI_COMM_WORLD, request)
  call MPI_Op_free(chained)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call is("an operation, later", inout(1:6), [(i * ranks + 1000 * (ranks - 1), i = 1, 11, 2)])

  if (rank == 0) print '(a)', "errors = 0"
  call MPI_Finalize()

contains

  subroutine reset()
    integer :: column
    receive = -1
    do column = 1, 2 * ranks
      send(:, column) = 1000 * rank + [10, 20, 30] + column
    end do
  end subroutine

  subroutine is(what, got, expected)
    character(len=*), intent(in) :: what
    integer, intent(in) :: got(:), expected(:)
    if (size(got) == size(expected)) then
      if (all_equal(got, expected)) return
    end if
    print '(a, i0, 3a, *(1x, i0))', "rank ", rank, ": ", what, ":", got
    print '(a, *(1x, i0))', "expected", expected
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine

  logical function all_equal(got, expected)
    integer, intent(in) :: got(:), expected(:)
    all_equal = count(got /= expected) == 0
  end function
end program
