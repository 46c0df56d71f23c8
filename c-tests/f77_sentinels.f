C     Values that MPI knows by their addresses, with mpif.h.
      program sentinels
      implicit none
      include 'mpif.h'
      integer rank, ranks, ierror
      call MPI_INIT(ierror)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierror)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierror)
      call bottom(rank, ranks)
      call ignored(rank)
      call graphs(rank, ranks)
      call in_place(rank, ranks)
      call finish()
      end

C     Absolute addresses in a datatype, with MPI_BOTTOM.
      subroutine bottom(rank, ranks)
      implicit none
      include 'mpif.h'
      integer rank, ranks, ierror, type, i, left, right, lengths(2)
      integer types(2), other, status(MPI_STATUS_SIZE), count
      integer(kind=MPI_ADDRESS_KIND) places(2)
      integer a, c
      double precision b, d
      right = mod(rank + 1, ranks)
      left = mod(rank + ranks - 1, ranks)
      do i = 1, 2
        lengths(i) = 1
      end do
      types(1) = MPI_INTEGER
      types(2) = MPI_DOUBLE_PRECISION
      call MPI_GET_ADDRESS(a, places(1), ierror)
      call MPI_GET_ADDRESS(b, places(2), ierror)
      call MPI_TYPE_CREATE_STRUCT(2, lengths, places, types, type,
     &                            ierror)
      call MPI_TYPE_COMMIT(type, ierror)
      call MPI_GET_ADDRESS(c, places(1), ierror)
      call MPI_GET_ADDRESS(d, places(2), ierror)
      call MPI_TYPE_CREATE_STRUCT(2, lengths, places, types, other,
     &                            ierror)
      call MPI_TYPE_COMMIT(other, ierror)
      a = rank
      b = rank + 0.5d0
      c = -1
      d = -1
      call touch(a, b)
      call touch(c, d)
      call MPI_SENDRECV(MPI_BOTTOM, 1, type, right, 1, MPI_BOTTOM, 1,
     &                  other, left, 1, MPI_COMM_WORLD, status, ierror)
      call MPI_GET_COUNT(status, other, count, ierror)
      call check(count .eq. 1, 'count of MPI_BOTTOM')
      call touch(c, d)
      call check(c .eq. left .and. d .eq. left + 0.5d0, 'MPI_BOTTOM')
      call MPI_BCAST(MPI_BOTTOM, 1, type, 0, MPI_COMM_WORLD, ierror)
      call touch(a, b)
      call check(a .eq. 0 .and. b .eq. 0.5d0, 'MPI_BCAST of MPI_BOTTOM')
      call MPI_TYPE_FREE(type, ierror)
      call MPI_TYPE_FREE(other, ierror)
      call check(type .eq. MPI_DATATYPE_NULL, 'a freed type')
      end

C     The compiler does not see that MPI knows the address of a variable.
      subroutine touch(i, d)
      implicit none
      integer i
      double precision d
      call MPI_F_SYNC_REG(i)
      call MPI_F_SYNC_REG(d)
      end

C     MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE keep their memory clean:
C     a status beside them is the one that is written.
      subroutine ignored(rank)
      implicit none
      include 'mpif.h'
      integer rank, ierror, i, requests(2), in, index, count, indices(2)
      integer status(MPI_STATUS_SIZE)
      logical flag
      do i = 1, MPI_STATUS_SIZE
        status(i) = -5
      end do
      do i = 1, 5
        call MPI_ISEND(rank, 1, MPI_INTEGER, rank, i, MPI_COMM_WORLD,
     &                 requests(1), ierror)
        call MPI_IRECV(in, 1, MPI_INTEGER, rank, i, MPI_COMM_WORLD,
     &                 requests(2), ierror)
        if (i .eq. 1) then
          call MPI_WAITALL(2, requests, MPI_STATUSES_IGNORE, ierror)
        else if (i .eq. 2) then
          call MPI_WAITANY(2, requests, index, MPI_STATUS_IGNORE,
     &                     ierror)
          call MPI_WAITANY(2, requests, index, MPI_STATUS_IGNORE,
     &                     ierror)
        else if (i .eq. 3) then
          flag = .false.
          do while (.not. flag)
            call MPI_TESTALL(2, requests, flag, MPI_STATUSES_IGNORE,
     &                       ierror)
          end do
        else if (i .eq. 4) then
          call MPI_WAIT(requests(1), MPI_STATUS_IGNORE, ierror)
          flag = .false.
          do while (.not. flag)
            call MPI_TEST(requests(2), flag, MPI_STATUS_IGNORE, ierror)
          end do
        else
          count = 0
          do while (count .ne. MPI_UNDEFINED)
            call MPI_WAITSOME(2, requests, count, indices,
     &                        MPI_STATUSES_IGNORE, ierror)
          end do
        end if
        call check(in .eq. rank, 'a message with an ignored status')
      end do
      call MPI_IPROBE(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, flag,
     &                MPI_STATUS_IGNORE, ierror)
      call check(.not. flag, 'MPI_IPROBE of nothing')
      call check(status(1) .eq. -5, 'a status that nobody asked for')
      call MPI_IPROBE(MPI_PROC_NULL, 0, MPI_COMM_WORLD, flag, status,
     &                ierror)
      call check(flag .and. status(MPI_SOURCE) .eq. MPI_PROC_NULL,
     &           'a status that was asked for')
      end

C     MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY.
      subroutine graphs(rank, ranks)
      implicit none
      include 'mpif.h'
      integer rank, ranks, ierror, comm, ins, outs, from(1), to(1)
      integer weight(1), other(1)
      logical weighted
      from(1) = mod(rank + ranks - 1, ranks)
      to(1) = mod(rank + 1, ranks)
      call MPI_DIST_GRAPH_CREATE_ADJACENT(MPI_COMM_WORLD, 1, from,
     &   MPI_UNWEIGHTED, 1, to, MPI_UNWEIGHTED, MPI_INFO_NULL, .false.,
     &   comm, ierror)
      call MPI_DIST_GRAPH_NEIGHBORS_COUNT(comm, ins, outs, weighted,
     &                                    ierror)
      call check(ins .eq. 1 .and. outs .eq. 1, 'neighbours')
      call check(.not. weighted, 'MPI_UNWEIGHTED')
      from(1) = -1
      call MPI_DIST_GRAPH_NEIGHBORS(comm, 1, from, MPI_UNWEIGHTED, 1,
     &                              to, MPI_UNWEIGHTED, ierror)
      call check(from(1) .eq. mod(rank + ranks - 1, ranks), 'sources')
      call MPI_COMM_FREE(comm, ierror)
      weight(1) = 10 + rank
      call MPI_DIST_GRAPH_CREATE_ADJACENT(MPI_COMM_WORLD, 1, from,
     &   weight, 1, to, weight, MPI_INFO_NULL, .false., comm, ierror)
      weight(1) = 0
      call MPI_DIST_GRAPH_NEIGHBORS(comm, 1, from, weight, 1, to, other,
     &                              ierror)
      call check(weight(1) .eq. 10 + rank .and. other(1) .eq. 10 + rank,
     &           'weights')
      call MPI_COMM_FREE(comm, ierror)
      call MPI_DIST_GRAPH_CREATE_ADJACENT(MPI_COMM_WORLD, 0, from,
     &   MPI_WEIGHTS_EMPTY, 0, to, MPI_WEIGHTS_EMPTY, MPI_INFO_NULL,
     &   .false., comm, ierror)
      call MPI_DIST_GRAPH_NEIGHBORS_COUNT(comm, ins, outs, weighted,
     &                                    ierror)
      call check(ins .eq. 0 .and. weighted, 'MPI_WEIGHTS_EMPTY')
      call MPI_COMM_FREE(comm, ierror)
      end

C     In every position where it is allowed.
      subroutine in_place(rank, ranks)
      implicit none
      include 'mpif.h'
      integer rank, ranks, ierror, i, x(64), counts(64), request
      do i = 1, ranks
        counts(i) = 1
        x(i) = rank
      end do
      call MPI_REDUCE_SCATTER(MPI_IN_PLACE, x, counts, MPI_INTEGER,
     &                        MPI_SUM, MPI_COMM_WORLD, ierror)
      call check(x(1) .eq. ranks * (ranks - 1) / 2,
     &           'MPI_REDUCE_SCATTER in place')
      x(1) = rank
      call MPI_SCAN(MPI_IN_PLACE, x, 1, MPI_INTEGER, MPI_SUM,
     &              MPI_COMM_WORLD, ierror)
      call check(x(1) .eq. rank * (rank + 1) / 2, 'MPI_SCAN in place')
      x(1) = 1
      if (rank .eq. 0) then
        call MPI_REDUCE(MPI_IN_PLACE, x, 1, MPI_INTEGER, MPI_SUM, 0,
     &                  MPI_COMM_WORLD, ierror)
        call check(x(1) .eq. ranks, 'MPI_REDUCE in place')
      else
        call MPI_REDUCE(x, MPI_BOTTOM, 1, MPI_INTEGER, MPI_SUM, 0,
     &                  MPI_COMM_WORLD, ierror)
      end if
      x(1) = rank
      call MPI_IALLREDUCE(MPI_IN_PLACE, x, 1, MPI_INTEGER, MPI_MAX,
     &                    MPI_COMM_WORLD, request, ierror)
      call MPI_WAIT(request, MPI_STATUS_IGNORE, ierror)
      call check(x(1) .eq. ranks - 1, 'MPI_IALLREDUCE in place')
      end

      include 'check_fortran.h'
