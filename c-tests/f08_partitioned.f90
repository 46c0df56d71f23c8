! Partitioned communication around a ring, with mpif.h, module mpi and module mpi_f08, where buffers may be
! sections of arrays.
program partitioned
  use mpi_f08
  implicit none
  integer :: rank, ranks, left, right
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  left = mod(rank + ranks - 1, ranks)
  right = mod(rank + 1, ranks)
  call with_mpi_f08
  call with_mpi(rank, left, right)
  call with_header(rank, left, right)
  call finish
contains
  ! Six partitions of the odd elements become four of adjacent ones.
  subroutine with_mpi_f08
    integer, asynchronous :: out(48), in(24)
    integer :: turn, place, ierror, count
    integer(MPI_COUNT_KIND) :: four = 4, six = 6
    logical :: arrived
    type(MPI_Request) :: requests(2)
    type(MPI_Status) :: statuses(2)
    call MPI_Psend_init(out(1::2), 6, four, MPI_INTEGER, right, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &
      requests(1))
    call MPI_Precv_init(in, 4, six, MPI_INTEGER, left, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &
      requests(2), ierror)
    call check(ierror == MPI_SUCCESS, 'MPI_Precv_init')
    do turn = 1, 3
      out = -1
      in = -2
      call MPI_Startall(2, requests)
      out(1::2) = [(1000 * rank + 100 * turn + place, place = 1, 24)]
      call MPI_Pready(5, requests(1))
      call MPI_Pready_list(2, [3, 1], requests(1))
      call MPI_Pready_range(4, 4, requests(1))
      call MPI_Pready(0, requests(1), ierror)
      call check(ierror == MPI_SUCCESS, 'MPI_Pready')
      call MPI_Pready_list(1, [2], requests(1))
      arrived = .false.
      do while (.not. arrived)
        call MPI_Parrived(requests(2), 3, arrived)
      end do
      call check(all(in(19:) == [(1000 * left + 100 * turn + place, place = 19, 24)]), &
        'the last partition')
      call MPI_Waitall(2, requests, statuses)
      call check(all(in == [(1000 * left + 100 * turn + place, place = 1, 24)]), 'a section')
      call MPI_Get_count(statuses(2), MPI_INTEGER, count)
      call check(count == 24 .and. statuses(2)%MPI_SOURCE == left, 'the status')
    end do
    call MPI_Request_free(requests(1))
    call MPI_Request_free(requests(2))
    call MPI_Parrived(MPI_REQUEST_NULL, 0, arrived)
    call check(arrived, 'the null request')
  end subroutine with_mpi_f08
end program partitioned

! With module mpi.
subroutine with_mpi(rank, left, right)
  use mpi
  implicit none
  integer :: rank, left, right, requests(2), place, ierror
  integer(MPI_COUNT_KIND) :: two = 2, three = 3
  double precision, asynchronous :: out(6), in(6)
  logical :: arrived
  call MPI_Psend_init(out, 3, two, MPI_DOUBLE_PRECISION, right, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &
    requests(1), ierror)
  call MPI_Precv_init(in, 2, three, MPI_DOUBLE_PRECISION, left, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &
    requests(2), ierror)
  call MPI_Startall(2, requests, ierror)
  out = [(rank + place / 8d0, place = 1, 6)]
  call MPI_Pready_list(2, [2, 0], requests(1), ierror)
  call MPI_Pready_range(1, 1, requests(1), ierror)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
  call MPI_F_sync_reg(in)
  call MPI_Parrived(requests(2), 1, arrived, ierror)
  call check(arrived .and. ierror == MPI_SUCCESS, 'MPI_PARRIVED')
  call check(all(in == [(left + place / 8d0, place = 1, 6)]), 'module mpi')
  call MPI_Request_free(requests(1), ierror)
  call MPI_Request_free(requests(2), ierror)
end subroutine with_mpi

! With mpif.h; from and to MPI_PROC_NULL, too.
subroutine with_header(rank, left, right)
  implicit none
  include 'mpif.h'
  integer :: rank, left, right, requests(4), ierror
  integer, asynchronous :: out(4), in(4)
  integer :: statuses(MPI_STATUS_SIZE, 4)
  integer(MPI_COUNT_KIND) :: one = 1, four = 4
  logical :: arrived
  call MPI_PSEND_INIT(out, 4, one, MPI_INTEGER, right, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &
    requests(1), ierror)
  call MPI_PRECV_INIT(in, 1, four, MPI_INTEGER, left, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &
    requests(2), ierror)
  call MPI_PSEND_INIT(out, 1, one, MPI_INTEGER, MPI_PROC_NULL, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &
    requests(3), ierror)
  call MPI_PRECV_INIT(out, 1, one, MPI_INTEGER, MPI_PROC_NULL, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &
    requests(4), ierror)
  in = -1
  out = 7 * rank
  call MPI_STARTALL(4, requests, ierror)
  call MPI_PREADY_RANGE(0, 2, requests(1), ierror)
  call MPI_PREADY(3, requests(1), ierror)
  call MPI_PREADY(0, requests(3), ierror)
  call MPI_PARRIVED(requests(4), 0, arrived, ierror)
  call check(arrived, 'MPI_PARRIVED from nobody')
  call MPI_WAITALL(4, requests, statuses, ierror)
  call MPI_F_SYNC_REG(in)
  call check(all(in == 7 * left), 'mpif.h')
  call check(statuses(MPI_SOURCE, 2) == left, 'MPI_SOURCE')
  call check(statuses(MPI_SOURCE, 4) == MPI_PROC_NULL, 'MPI_SOURCE from nobody')
  call MPI_REQUEST_FREE(requests(1), ierror)
  call MPI_REQUEST_FREE(requests(2), ierror)
  call MPI_REQUEST_FREE(requests(3), ierror)
  call MPI_REQUEST_FREE(requests(4), ierror)
end subroutine with_header

include 'check_fortran.h'
