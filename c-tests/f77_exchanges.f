C     Exchanges with a datatype for each peer: lists of handles whose
C     length only the communicator knows, in place, between groups and
C     between neighbours.
      program exchanges
      implicit none
      include 'mpif.h'
      integer rank, ranks, ierror
      call MPI_INIT(ierror)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierror)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierror)
      call world(rank, ranks)
      call in_place(rank, ranks)
      if (ranks .gt. 1) call groups(rank, ranks)
      call circle(rank, ranks)
      call errors()
      call finish()
      end

C     Rank r sends to rank s the number 100 r + s, as an INTEGER to even
C     ranks and as bytes to odd ones: blocking, nonblocking, persistent.
      subroutine world(rank, ranks)
      implicit none
      include 'mpif.h'
      integer most
      parameter (most = 64)
      integer rank, ranks, ierror, i, round, request
      integer sent(most), got(most), counts(most), places(most)
      integer back(most), types(most), types_in(most)
      do i = 1, ranks
        sent(i) = 100 * rank + i
        places(i) = 4 * (i - 1)
        call what(i - 1, counts(i), types(i))
        call what(rank, back(i), types_in(i))
      end do
      do round = 1, 4
        do i = 1, ranks
          got(i) = 0
        end do
        if (round .eq. 1) then
          call MPI_ALLTOALLW(sent, counts, places, types, got, back,
     &                       places, types_in, MPI_COMM_WORLD, ierror)
        else if (round .eq. 2) then
          call MPI_IALLTOALLW(sent, counts, places, types, got, back,
     &                        places, types_in, MPI_COMM_WORLD,
     &                        request, ierror)
          call MPI_WAIT(request, MPI_STATUS_IGNORE, ierror)
        else
          if (round .eq. 3) then
            call MPI_ALLTOALLW_INIT(sent, counts, places, types, got,
     &                              back, places, types_in,
     &                              MPI_COMM_WORLD, MPI_INFO_NULL,
     &                              request, ierror)
          end if
          call MPI_START(request, ierror)
          call MPI_WAIT(request, MPI_STATUS_IGNORE, ierror)
        end if
        do i = 1, ranks
          call check(got(i) .eq. 100 * (i - 1) + rank + 1,
     &               'an exchange in the world')
        end do
      end do
      call MPI_REQUEST_FREE(request, ierror)
      end

C     What is sent to a rank.
      subroutine what(to, count, type)
      implicit none
      include 'mpif.h'
      integer to, count, type
      count = 1
      type = MPI_INTEGER
      if (mod(to, 2) .eq. 1) then
        count = 4
        type = MPI_BYTE
      end if
      end

C     The send side is not looked at: there is one INTEGER for each list.
      subroutine in_place(rank, ranks)
      implicit none
      include 'mpif.h'
      integer most
      parameter (most = 64)
      integer rank, ranks, ierror, i, none(1)
      integer data(most), counts(most), places(most), types(most)
      none(1) = -1
      do i = 1, ranks
        data(i) = 100 * rank + i
        counts(i) = 1
        places(i) = 4 * (i - 1)
        types(i) = MPI_INTEGER
      end do
      call MPI_ALLTOALLW(MPI_IN_PLACE, none, none, none, data, counts,
     &                   places, types, MPI_COMM_WORLD, ierror)
      do i = 1, ranks
        call check(data(i) .eq. 100 * (i - 1) + rank + 1,
     &             'an exchange in place')
      end do
      end

C     Rank 0 and all others: lists are as long as the other group.
      subroutine groups(rank, ranks)
      implicit none
      include 'mpif.h'
      integer most
      parameter (most = 64)
      integer rank, ranks, ierror, i, own, both, others, color
      integer sent(most), got(most), counts(most), places(most)
      integer types(most)
      color = min(rank, 1)
      call MPI_COMM_SPLIT(MPI_COMM_WORLD, color, rank, own, ierror)
      call MPI_INTERCOMM_CREATE(own, 0, MPI_COMM_WORLD, 1 - color, 5,
     &                          both, ierror)
      others = 1
      if (rank .eq. 0) others = ranks - 1
      do i = 1, others
        sent(i) = 100 * rank + i
        got(i) = 0
        counts(i) = 1
        places(i) = 4 * (i - 1)
        types(i) = MPI_INTEGER
      end do
      call MPI_ALLTOALLW(sent, counts, places, types, got, counts,
     &                   places, types, both, ierror)
      if (rank .eq. 0) then
        do i = 1, others
          call check(got(i) .eq. 100 * i + 1, 'an exchange with others')
        end do
      else
        call check(got(1) .eq. rank, 'an exchange with rank 0')
      end if
      call MPI_COMM_FREE(both, ierror)
      call MPI_COMM_FREE(own, ierror)
      end

C     Left and right neighbour on a circle, in each kind of topology.
      subroutine circle(rank, ranks)
      implicit none
      include 'mpif.h'
      integer rank, ranks, ierror, comm, i, dims(1), left, right
      integer index(64), edges(128), sources(2), targets(2)
      logical periods(1)
      dims(1) = ranks
      periods(1) = .true.
      left = mod(rank + ranks - 1, ranks)
      right = mod(rank + 1, ranks)
      call MPI_CART_CREATE(MPI_COMM_WORLD, 1, dims, periods, .false.,
     &                     comm, ierror)
      call neighbours(rank, left, right, comm, .true.)
      call MPI_COMM_FREE(comm, ierror)
      do i = 1, ranks
        index(i) = 2 * i
        edges(2 * i - 1) = mod(i + ranks - 2, ranks)
        edges(2 * i) = mod(i, ranks)
      end do
      call MPI_GRAPH_CREATE(MPI_COMM_WORLD, ranks, index, edges,
     &                      .false., comm, ierror)
      call neighbours(rank, left, right, comm, ranks .gt. 2)
      call MPI_COMM_FREE(comm, ierror)
      sources(1) = left
      sources(2) = right
      targets(1) = left
      targets(2) = right
      call MPI_DIST_GRAPH_CREATE_ADJACENT(MPI_COMM_WORLD, 2, sources,
     &       MPI_UNWEIGHTED, 2, targets, MPI_UNWEIGHTED, MPI_INFO_NULL,
     &       .false., comm, ierror)
      call neighbours(rank, left, right, comm, ranks .gt. 2)
      call MPI_COMM_FREE(comm, ierror)
      end

C     A double goes to the left and an INTEGER to the right. What went to
C     the left comes from the right, but where both neighbours are one
C     and there is no grid, the first message sent is the first received.
      subroutine neighbours(rank, left, right, comm, crossed)
      implicit none
      include 'mpif.h'
      integer rank, left, right, comm, ierror, request, round
      integer counts(2), types(2), types_in(2), number, number_in
      logical crossed
      integer (kind=MPI_ADDRESS_KIND) places(2), places_in(2)
      double precision real, real_in
      counts(1) = 1
      counts(2) = 1
      types(1) = MPI_DOUBLE_PRECISION
      types(2) = MPI_INTEGER
      types_in(1) = MPI_INTEGER
      types_in(2) = MPI_DOUBLE_PRECISION
      call MPI_GET_ADDRESS(real, places(1), ierror)
      call MPI_GET_ADDRESS(number, places(2), ierror)
      call MPI_GET_ADDRESS(number_in, places_in(1), ierror)
      call MPI_GET_ADDRESS(real_in, places_in(2), ierror)
      if (.not. crossed) then
        types_in(1) = MPI_DOUBLE_PRECISION
        types_in(2) = MPI_INTEGER
        call MPI_GET_ADDRESS(real_in, places_in(1), ierror)
        call MPI_GET_ADDRESS(number_in, places_in(2), ierror)
      end if
      real = rank + 0.5d0
      number = rank
      do round = 1, 3
        real_in = -1
        number_in = -1
        if (round .eq. 1) then
          call MPI_NEIGHBOR_ALLTOALLW(MPI_BOTTOM, counts, places,
     &           types, MPI_BOTTOM, counts, places_in, types_in, comm,
     &           ierror)
        else if (round .eq. 2) then
          call MPI_INEIGHBOR_ALLTOALLW(MPI_BOTTOM, counts, places,
     &           types, MPI_BOTTOM, counts, places_in, types_in, comm,
     &           request, ierror)
          call MPI_WAIT(request, MPI_STATUS_IGNORE, ierror)
        else
          call MPI_NEIGHBOR_ALLTOALLW_INIT(MPI_BOTTOM, counts, places,
     &           types, MPI_BOTTOM, counts, places_in, types_in, comm,
     &           MPI_INFO_NULL, request, ierror)
          call MPI_START(request, ierror)
          call MPI_WAIT(request, MPI_STATUS_IGNORE, ierror)
          call MPI_REQUEST_FREE(request, ierror)
        end if
        call MPI_F_SYNC_REG(real_in)
        call MPI_F_SYNC_REG(number_in)
        call check(real_in .eq. right + 0.5d0, 'from the right')
        call check(number_in .eq. left, 'from the left')
      end do
      end

C     Without a communicator nothing is read, and there is an error.
      subroutine errors()
      implicit none
      include 'mpif.h'
      integer ierror, old, x(1)
      call MPI_COMM_GET_ERRHANDLER(MPI_COMM_SELF, old, ierror)
      call MPI_COMM_SET_ERRHANDLER(MPI_COMM_SELF, MPI_ERRORS_RETURN,
     &                             ierror)
      x(1) = 0
      call MPI_ALLTOALLW(x, x, x, x, x, x, x, x, MPI_COMM_NULL, ierror)
      call check(ierror .eq. MPI_ERR_COMM, 'MPI_COMM_NULL')
      call MPI_COMM_SET_ERRHANDLER(MPI_COMM_SELF, old, ierror)
      end

      include 'check_fortran.h'
