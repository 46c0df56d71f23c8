! Sections of arrays with strides as buffers of messages: blocking, nonblocking, persistent.
program f08_sections
  use mpi_f08
  implicit none
  integer :: rank, ranks, next, before, step, number
  integer :: grid(10, 12), copy(5, 4), line(20), column(10), expected(10, 12)
  double precision :: cube(4, 5, 6)
  character(len=3) :: words(8), half(4)
  type(MPI_Request) :: requests(4)
  type(MPI_Status) :: statuses(4), status
  type(MPI_Datatype) :: pair, sparse

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  next = modulo(rank + 1, ranks)
  before = modulo(rank - 1, ranks)
  if (.not. MPI_SUBARRAYS_SUPPORTED) call wrong("subarrays", 0)

  ! Every other row of every third column goes round, and arrives as a whole array.
  call fill(rank)
  call MPI_Irecv(copy, 20, MPI_INTEGER, before, 1, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(grid(1:9:2, 2:11:3), 20, MPI_INTEGER, next, 1, MPI_COMM_WORLD, requests(2))
  call MPI_Waitall(2, requests, statuses)
  call fill(before)
  if (any(copy /= grid(1:9:2, 2:11:3))) call wrong("isend of a section", copy(1, 1))

  ! A whole array arrives in a section, backwards; the rest is left alone.
  line = [(1000 * rank + number, number = 1, 20)]
  grid = -1
  expected = -1
  expected(9:1:-2, 11:2:-3) = reshape([(1000 * before + number, number = 1, 20)], [5, 4])
  call MPI_Sendrecv(line, 20, MPI_INTEGER, next, 2, grid(9:1:-2, 11:2:-3), 20, MPI_INTEGER, &
    before, 2, MPI_COMM_WORLD, status)
  if (any(grid /= expected)) call wrong("a section backwards", count(grid /= expected))
  call MPI_Get_count(status, MPI_INTEGER, number)
  if (number /= 20 .or. status%MPI_SOURCE /= before) call wrong("the status", number)

  ! Fewer elements than the section has: those that come first.
  grid = -1
  call MPI_Sendrecv(line, 7, MPI_INTEGER, next, 3, grid(2, :), 7, MPI_INTEGER, before, 3, &
    MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  line(1:7) = 1000 * before + [(number, number = 1, 7)]
  if (any(grid(2, 1:7) /= line(1:7))) call wrong("a row", grid(2, 1))
  if (any(grid(2, 8:) /= -1) .or. any(grid(1, :) /= -1)) call wrong("beyond a row", grid(1, 1))

  ! Persistent requests read and write their sections each time they start.
  call MPI_Send_init(grid(3, 1:9:2), 5, MPI_INTEGER, next, 4, MPI_COMM_WORLD, requests(1))
  call MPI_Recv_init(column(10:2:-2), 5, MPI_INTEGER, before, 4, MPI_COMM_WORLD, requests(2))
  do step = 1, 3
    call fill(rank + 100 * step)
    column = 0
    call MPI_Startall(2, requests)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call fill(before + 100 * step)
    if (any(column(10:2:-2) /= grid(3, 1:9:2))) call wrong("a persistent request", step)
    if (any(column(1:9:2) /= 0)) call wrong("beside a persistent request", step)
  end do
  call MPI_Request_free(requests(1))
  call MPI_Request_free(requests(2))

  ! An element that is a multiple of the array's, one that has gaps, and a fraction.
  call MPI_Type_contiguous(2, MPI_INTEGER, pair)
  call MPI_Type_commit(pair)
  call MPI_Type_vector(2, 1, 3, MPI_INTEGER, sparse)
  call MPI_Type_commit(sparse)
  call fill(rank)
  line = 0
  call MPI_Sendrecv(grid(1, 1:12:2), 3, pair, rank, 5, line, 6, MPI_INTEGER, rank, 5, &
    MPI_COMM_WORLD, status)
  if (any(line(1:6) /= grid(1, 1:12:2))) call wrong("pairs", line(1))
  call MPI_Sendrecv(grid(2, 1:12:1), 3, sparse, rank, 5, line, 6, MPI_INTEGER, rank, 5, &
    MPI_COMM_WORLD, status)
  if (any(line(1:6) /= grid(2, [1, 4, 5, 8, 9, 12]))) call wrong("gaps", line(2))
  line = 0
  call MPI_Sendrecv(grid(4, 1:2), 2, MPI_INTEGER, rank, 5, line(1:19:3), 1, sparse, rank, 5, &
    MPI_COMM_WORLD, status)
  if (line(1) /= grid(4, 1) .or. line(10) /= grid(4, 2)) call wrong("gaps in a section", line(10))
  cube = reshape([(dble(number), number = 1, 120)], [4, 5, 6])
  call MPI_Sendrecv(cube(1:3:2, 2:5:3, :), 24 * 8, MPI_BYTE, rank, 6, cube(2:4:2, 2:5:3, 6:1:-1), &
    24, MPI_DOUBLE_PRECISION, rank, 6, MPI_COMM_WORLD, status)
  if (any(cube(1:3:2, 2:5:3, :) /= cube(2:4:2, 2:5:3, 6:1:-1))) call wrong("bytes", 1)
  words = ["abc", "def", "ghi", "jkl", "mno", "pqr", "stu", "vwx"]
  call MPI_Sendrecv(words(1:7:2), 12, MPI_CHARACTER, rank, 7, half, 12, MPI_CHARACTER, rank, 7, &
    MPI_COMM_WORLD, status)
  if (any(half /= words(1:7:2))) call wrong("characters", 1)
  call MPI_Type_free(pair)
  call MPI_Type_free(sparse)

  ! Packing, and an element of an array as the beginning of the rest.
  call pack_sections()
  call fill(rank)
  call MPI_Sendrecv(grid(3, 2), 4, MPI_INTEGER, rank, 8, line, 4, MPI_INTEGER, rank, 8, &
    MPI_COMM_WORLD, status)
  if (any(line(1:4) /= grid(3:6, 2))) call wrong("the rest of an array", line(4))
  call assumed_size(grid)

  if (rank == 0) print '(a)', "errors = 0"
  call MPI_Finalize()

contains

  subroutine fill(of)
    integer, intent(in) :: of
    integer :: i, j
    do j = 1, size(grid, 2)
      do i = 1, size(grid, 1)
        grid(i, j) = 1000000 * of + 100 * i + j
      end do
    end do
  end subroutine

  subroutine wrong(what, got)
    character(len=*), intent(in) :: what
    integer, intent(in) :: got
    print '(a, i0, 3a, i0)', "rank ", rank, ": ", what, ": ", got
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine

  subroutine pack_sections()
    character :: packed(200)
    integer :: at, i, there(6)
    at = 0
    call MPI_Pack(grid(1:9:4, 5), 3, MPI_INTEGER, packed, 200, at, MPI_COMM_WORLD)
    call MPI_Pack(grid(2, 7:11:2), 3, MPI_INTEGER, packed, 200, at, MPI_COMM_WORLD)
    if (at /= 24) call wrong("the end of what is packed", at)
    at = 0
    column = 0
    call MPI_Unpack(packed, 200, at, column(1:10:2), 5, MPI_INTEGER, MPI_COMM_WORLD)
    there = [grid(1:9:4, 5), grid(2, 7:11:2)]
    if (any(column(1:10:2) /= there(1:5))) call wrong("unpacked", column(1))
    block
      integer(MPI_ADDRESS_KIND) :: place
      place = 0
      call MPI_Pack_external("external32", grid(1:9:4, 5), 3, MPI_INTEGER, packed, &
        200_MPI_ADDRESS_KIND, place)
      if (place /= 12) call wrong("the end of what is packed externally", int(place))
      place = 0
      column = 0
      call MPI_Unpack_external("external32", packed, 200_MPI_ADDRESS_KIND, place, column(9:5:-2), &
        3, MPI_INTEGER)
      do i = 1, 3
        if (column(11 - 2 * i) /= there(i)) call wrong("unpacked externally", i)
      end do
    end block
  end subroutine

  subroutine assumed_size(array)
    integer :: array(10, *)
    call MPI_Sendrecv(array, 12, MPI_INTEGER, rank, 9, line, 12, MPI_INTEGER, rank, 9, &
      MPI_COMM_WORLD, status)
    if (any(line(1:10) /= array(:, 1)) .or. any(line(11:12) /= array(1:2, 2))) then
      call wrong("an array of assumed size", line(12))
    end if
  end subroutine
end program
