C     Collective operations with mpif.h in fixed form, each against what
C     a loop finds: blocking and nonblocking, in place, with roots.
      program collectives
      implicit none
      include 'mpif.h'
      integer rank, ranks, ierror
      call MPI_INIT(ierror)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierror)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierror)
      call broadcasts(rank, ranks)
      call gathers(rank, ranks)
      call gathersv(rank, ranks)
      call alltoalls(rank, ranks)
      call reductions(rank, ranks)
      call pairs(rank, ranks)
      call nonblocking(rank, ranks)
      call communicators(rank, ranks)
      call finish()
      end

      subroutine broadcasts(rank, ranks)
      implicit none
      include 'mpif.h'
      integer rank, ranks, root, ierror, i, n
      parameter (n = 1000)
      double precision x(n)
      character*20 text
      logical flag
      do root = 0, ranks - 1
        do i = 1, n
          x(i) = 0
          if (rank .eq. root) x(i) = root + i / 4d0
        end do
        call MPI_BCAST(x, n, MPI_DOUBLE_PRECISION, root,
     &                 MPI_COMM_WORLD, ierror)
        do i = 1, n
          call check(x(i) .eq. root + i / 4d0, 'MPI_BCAST')
        end do
      end do
      text = ' '
      flag = .false.
      if (rank .eq. 0) text = 'blank padded'
      if (rank .eq. 0) flag = .true.
      call MPI_BCAST(text, 20, MPI_CHARACTER, 0, MPI_COMM_WORLD, ierror)
      call check(text .eq. 'blank padded', 'MPI_BCAST of CHARACTER')
      call MPI_BCAST(flag, 1, MPI_LOGICAL, 0, MPI_COMM_WORLD, ierror)
      call check(flag, 'MPI_BCAST of LOGICAL')
      call MPI_BARRIER(MPI_COMM_WORLD, ierror)
      end

      subroutine gathers(rank, ranks)
      implicit none
      include 'mpif.h'
      integer rank, ranks, root, ierror, i, mine(2), back(2), all(2, 64)
      mine(1) = rank
      mine(2) = -rank
      do root = 0, ranks - 1
        all(1, 1) = -7
        call MPI_GATHER(mine, 2, MPI_INTEGER, all, 2, MPI_INTEGER, root,
     &                  MPI_COMM_WORLD, ierror)
        if (rank .eq. root) then
          do i = 1, ranks
            call check(all(1, i) .eq. i - 1 .and. all(2, i) .eq. 1 - i,
     &                 'MPI_GATHER')
          end do
        end if
        back(1) = -1
        call MPI_SCATTER(all, 2, MPI_INTEGER, back, 2, MPI_INTEGER,
     &                   root, MPI_COMM_WORLD, ierror)
        call check(back(1) .eq. rank .and. back(2) .eq. -rank,
     &             'MPI_SCATTER')
C       In place, at the root only.
        if (rank .eq. root) then
          all(1, rank + 1) = rank
          all(2, rank + 1) = -rank
          call MPI_GATHER(MPI_IN_PLACE, 2, MPI_INTEGER, all, 2,
     &                    MPI_INTEGER, root, MPI_COMM_WORLD, ierror)
          call check(all(1, ranks) .eq. ranks - 1, 'in place')
          call MPI_SCATTER(all, 2, MPI_INTEGER, MPI_IN_PLACE, 2,
     &                     MPI_INTEGER, root, MPI_COMM_WORLD, ierror)
        else
          call MPI_GATHER(mine, 2, MPI_INTEGER, all, 2, MPI_INTEGER,
     &                    root, MPI_COMM_WORLD, ierror)
          call MPI_SCATTER(all, 2, MPI_INTEGER, back, 2, MPI_INTEGER,
     &                     root, MPI_COMM_WORLD, ierror)
          call check(back(1) .eq. rank, 'MPI_SCATTER, root in place')
        end if
      end do
      call MPI_ALLGATHER(mine, 2, MPI_INTEGER, all, 2, MPI_INTEGER,
     &                   MPI_COMM_WORLD, ierror)
      do i = 1, ranks
        call check(all(2, i) .eq. 1 - i, 'MPI_ALLGATHER')
        if (i .ne. rank + 1) all(2, i) = 99
      end do
      call MPI_ALLGATHER(MPI_IN_PLACE, 2, MPI_INTEGER, all, 2,
     &                   MPI_INTEGER, MPI_COMM_WORLD, ierror)
      do i = 1, ranks
        call check(all(2, i) .eq. 1 - i, 'MPI_ALLGATHER in place')
      end do
      end

C     Rank r has r + 1 elements, with a gap before each rank's.
      subroutine gathersv(rank, ranks)
      implicit none
      include 'mpif.h'
      integer rank, ranks, root, ierror, i, j, at
      integer counts(64), places(64), mine(64), all(4096), back(64)
      at = 0
      do i = 1, ranks
        counts(i) = i
        places(i) = at + 1
        at = at + 1 + i
      end do
      do j = 1, rank + 1
        mine(j) = 100 * rank + j
      end do
      do root = 0, ranks - 1
        do i = 1, at
          all(i) = -1
        end do
        call MPI_GATHERV(mine, rank + 1, MPI_INTEGER, all, counts,
     &                   places, MPI_INTEGER, root, MPI_COMM_WORLD,
     &                   ierror)
        do i = 1, ranks
          if (rank .eq. root) then
            call check(all(places(i)) .eq. -1, 'MPI_GATHERV: gap')
            do j = 1, i
              call check(all(places(i) + j) .eq. 100 * (i - 1) + j,
     &                   'MPI_GATHERV')
            end do
          end if
        end do
        call MPI_SCATTERV(all, counts, places, MPI_INTEGER, back,
     &                    rank + 1, MPI_INTEGER, root, MPI_COMM_WORLD,
     &                    ierror)
        do j = 1, rank + 1
          call check(back(j) .eq. mine(j), 'MPI_SCATTERV')
        end do
      end do
      do i = 1, at
        all(i) = -1
      end do
      call MPI_ALLGATHERV(mine, rank + 1, MPI_INTEGER, all, counts,
     &                    places, MPI_INTEGER, MPI_COMM_WORLD, ierror)
      do i = 1, ranks
        call check(all(places(i)) .eq. -1, 'MPI_ALLGATHERV: gap')
        do j = 1, i
          call check(all(places(i) + j) .eq. 100 * (i - 1) + j,
     &               'MPI_ALLGATHERV')
        end do
      end do
      end

      subroutine alltoalls(rank, ranks)
      implicit none
      include 'mpif.h'
      integer rank, ranks, ierror, i, out(64), in(64), counts(64)
      integer places(64), bytes(64), types(64)
      do i = 1, ranks
        out(i) = 100 * rank + i - 1
        in(i) = -1
        counts(i) = 1
        places(i) = ranks - i
        bytes(i) = 4 * (ranks - i)
        types(i) = MPI_INTEGER
      end do
      call MPI_ALLTOALL(out, 1, MPI_INTEGER, in, 1, MPI_INTEGER,
     &                  MPI_COMM_WORLD, ierror)
      do i = 1, ranks
        call check(in(i) .eq. 100 * (i - 1) + rank, 'MPI_ALLTOALL')
      end do
      call MPI_ALLTOALL(MPI_IN_PLACE, 1, MPI_INTEGER, in, 1,
     &                  MPI_INTEGER, MPI_COMM_WORLD, ierror)
      do i = 1, ranks
        call check(in(i) .eq. out(i), 'MPI_ALLTOALL in place')
        in(i) = -1
      end do
C     Backwards: what is for rank i - 1 lies at ranks - i.
      call MPI_ALLTOALLV(out, counts, places, MPI_INTEGER, in, counts,
     &                   places, MPI_INTEGER, MPI_COMM_WORLD, ierror)
      do i = 1, ranks
        call check(in(ranks - i + 1) .eq. 100 * (i - 1) + ranks - rank
     &             - 1, 'MPI_ALLTOALLV')
        in(ranks - i + 1) = -1
      end do
      call MPI_ALLTOALLW(out, counts, bytes, types, in, counts, bytes,
     &                   types, MPI_COMM_WORLD, ierror)
      do i = 1, ranks
        call check(in(ranks - i + 1) .eq. 100 * (i - 1) + ranks - rank
     &             - 1, 'MPI_ALLTOALLW')
      end do
      end

      subroutine reductions(rank, ranks)
      implicit none
      include 'mpif.h'
      integer rank, ranks, root, ierror, i, mine(3), sum(3), counts(64)
      integer blocks(64), total, largest, block
      double precision x, product, expected
      logical flags(2), found(2)
      complex z, zsum
      do i = 1, 3
        mine(i) = rank * i + 1
      end do
      total = ranks * (ranks - 1) / 2
      do root = 0, ranks - 1
        sum(3) = -1
        call MPI_REDUCE(mine, sum, 3, MPI_INTEGER, MPI_SUM, root,
     &                  MPI_COMM_WORLD, ierror)
        if (rank .eq. root) then
          do i = 1, 3
            call check(sum(i) .eq. total * i + ranks, 'MPI_REDUCE')
          end do
        else
          call check(sum(3) .eq. -1, 'MPI_REDUCE elsewhere')
        end if
      end do
      call MPI_ALLREDUCE(rank, largest, 1, MPI_INTEGER, MPI_MAX,
     &                   MPI_COMM_WORLD, ierror)
      call check(largest .eq. ranks - 1, 'MPI_MAX')
      sum(1) = rank
      call MPI_ALLREDUCE(MPI_IN_PLACE, sum, 1, MPI_INTEGER, MPI_SUM,
     &                   MPI_COMM_WORLD, ierror)
      call check(sum(1) .eq. total, 'MPI_ALLREDUCE in place')
      x = 1 + rank
      call MPI_ALLREDUCE(x, product, 1, MPI_DOUBLE_PRECISION, MPI_PROD,
     &                   MPI_COMM_WORLD, ierror)
      expected = 1
      do i = 1, ranks
        expected = expected * i
      end do
      call check(product .eq. expected, 'MPI_PROD')
      flags(1) = .true.
      flags(2) = rank .eq. 0
      call MPI_ALLREDUCE(flags, found, 2, MPI_LOGICAL, MPI_LAND,
     &                   MPI_COMM_WORLD, ierror)
      call check(found(1), 'MPI_LAND of .TRUE.')
      call check(found(2) .eqv. ranks .eq. 1, 'MPI_LAND')
      call MPI_ALLREDUCE(flags, found, 2, MPI_LOGICAL, MPI_LOR,
     &                   MPI_COMM_WORLD, ierror)
      call check(found(1) .and. found(2), 'MPI_LOR')
      z = cmplx(1, rank)
      call MPI_ALLREDUCE(z, zsum, 1, MPI_COMPLEX, MPI_SUM,
     &                   MPI_COMM_WORLD, ierror)
      call check(zsum .eq. cmplx(ranks, total), 'MPI_SUM of COMPLEX')
      call MPI_SCAN(rank, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD,
     &              ierror)
      call check(sum(1) .eq. rank * (rank + 1) / 2, 'MPI_SCAN')
      call MPI_EXSCAN(rank, sum, 1, MPI_INTEGER, MPI_SUM,
     &                MPI_COMM_WORLD, ierror)
      if (rank .gt. 0) then
        call check(sum(1) .eq. rank * (rank - 1) / 2, 'MPI_EXSCAN')
      end if
      do i = 1, ranks
        counts(i) = 1
        blocks(i) = rank + i
      end do
      call MPI_REDUCE_SCATTER(blocks, block, counts, MPI_INTEGER,
     &                        MPI_SUM, MPI_COMM_WORLD, ierror)
      call check(block .eq. total + ranks * (rank + 1),
     &           'MPI_REDUCE_SCATTER')
      call MPI_REDUCE_SCATTER_BLOCK(blocks, block, 1, MPI_INTEGER,
     &                              MPI_SUM, MPI_COMM_WORLD, ierror)
      call check(block .eq. total + ranks * (rank + 1),
     &           'MPI_REDUCE_SCATTER_BLOCK')
      sum(1) = 5
      call MPI_REDUCE_LOCAL(rank, sum, 1, MPI_INTEGER, MPI_SUM, ierror)
      call check(sum(1) .eq. 5 + rank, 'MPI_REDUCE_LOCAL')
      end

C     The largest value and where it is.
      subroutine pairs(rank, ranks)
      implicit none
      include 'mpif.h'
      integer rank, ranks, ierror, p(2), best(2)
      real r(2), rbest(2)
      double precision d(2), dbest(2)
      p(1) = mod(rank + 1, ranks)
      p(2) = rank
      call MPI_ALLREDUCE(p, best, 1, MPI_2INTEGER, MPI_MAXLOC,
     &                   MPI_COMM_WORLD, ierror)
      call check(best(1) .eq. ranks - 1 .and.
     &           best(2) .eq. max(ranks - 2, 0), 'MPI_MAXLOC, INTEGER')
      r(1) = p(1)
      r(2) = rank
      call MPI_ALLREDUCE(r, rbest, 1, MPI_2REAL, MPI_MINLOC,
     &                   MPI_COMM_WORLD, ierror)
      call check(rbest(1) .eq. 0 .and. rbest(2) .eq. ranks - 1,
     &           'MPI_MINLOC, REAL')
      d(1) = 1
      d(2) = rank
      call MPI_ALLREDUCE(d, dbest, 1, MPI_2DOUBLE_PRECISION, MPI_MAXLOC,
     &                   MPI_COMM_WORLD, ierror)
      call check(dbest(2) .eq. 0, 'MPI_MAXLOC of equal values')
      end

      subroutine nonblocking(rank, ranks)
      implicit none
      include 'mpif.h'
      integer rank, ranks, ierror, i, requests(5), sum, from, all(64)
      integer scanned
C     They change while no call has them as arguments.
      volatile sum, from, all, scanned
      from = -1
      if (rank .eq. ranks - 1) from = 77
      call MPI_IBARRIER(MPI_COMM_WORLD, requests(1), ierror)
      call MPI_IBCAST(from, 1, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD,
     &                requests(2), ierror)
      call MPI_IALLREDUCE(rank, sum, 1, MPI_INTEGER, MPI_SUM,
     &                    MPI_COMM_WORLD, requests(3), ierror)
      call MPI_IALLGATHER(rank, 1, MPI_INTEGER, all, 1, MPI_INTEGER,
     &                    MPI_COMM_WORLD, requests(4), ierror)
      call MPI_ISCAN(rank, scanned, 1, MPI_INTEGER, MPI_SUM,
     &               MPI_COMM_WORLD, requests(5), ierror)
      call MPI_WAITALL(5, requests, MPI_STATUSES_IGNORE, ierror)
      call check(from .eq. 77, 'MPI_IBCAST')
      call check(sum .eq. ranks * (ranks - 1) / 2, 'MPI_IALLREDUCE')
      do i = 1, ranks
        call check(all(i) .eq. i - 1, 'MPI_IALLGATHER')
      end do
      call check(scanned .eq. rank * (rank + 1) / 2, 'MPI_ISCAN')
      call MPI_ALLREDUCE_INIT(rank, sum, 1, MPI_INTEGER, MPI_MAX,
     &                        MPI_COMM_WORLD, MPI_INFO_NULL,
     &                        requests(1), ierror)
      do i = 1, 2
        sum = -1
        call MPI_START(requests(1), ierror)
        call MPI_WAIT(requests(1), MPI_STATUS_IGNORE, ierror)
        call check(sum .eq. ranks - 1, 'MPI_ALLREDUCE_INIT')
      end do
      call MPI_REQUEST_FREE(requests(1), ierror)
      end

C     Halves, groups, and an intercommunicator between the halves.
      subroutine communicators(rank, ranks)
      implicit none
      include 'mpif.h'
      integer rank, ranks, ierror, comm, size, me, sum, inter, group
      integer world, other, result, ranges(3, 1), chosen(1), translated
      logical flag
      call MPI_COMM_SPLIT(MPI_COMM_WORLD, mod(rank, 2), -rank, comm,
     &                    ierror)
      call MPI_COMM_SIZE(comm, size, ierror)
      call MPI_COMM_RANK(comm, me, ierror)
      call check(size .eq. (ranks + 1 - mod(rank, 2)) / 2, 'a half')
      call check(me .eq. size - 1 - rank / 2, 'the order of a half')
      call MPI_COMM_TEST_INTER(comm, flag, ierror)
      call check(.not. flag, 'MPI_COMM_TEST_INTER')
      if (ranks .gt. 1) then
        call MPI_INTERCOMM_CREATE(comm, size - 1, MPI_COMM_WORLD,
     &                            1 - mod(rank, 2), 5, inter, ierror)
        call MPI_COMM_TEST_INTER(inter, flag, ierror)
        call check(flag, 'MPI_COMM_TEST_INTER of one')
        call MPI_ALLREDUCE(rank, sum, 1, MPI_INTEGER, MPI_MAX, inter,
     &                     ierror)
        call check(mod(sum, 2) .ne. mod(rank, 2), 'the other half')
        call MPI_COMM_FREE(inter, ierror)
        call check(inter .eq. MPI_COMM_NULL, 'a freed communicator')
      end if
      call MPI_COMM_GROUP(MPI_COMM_WORLD, world, ierror)
      call MPI_COMM_GROUP(comm, group, ierror)
      call MPI_GROUP_COMPARE(world, group, result, ierror)
      if (ranks .gt. 1) then
        call check(result .eq. MPI_UNEQUAL, 'MPI_GROUP_COMPARE')
      else
        call check(result .eq. MPI_IDENT, 'MPI_GROUP_COMPARE')
      end if
      ranges(1, 1) = 0
      ranges(2, 1) = ranks - 1
      ranges(3, 1) = 2
      call MPI_GROUP_RANGE_INCL(world, 1, ranges, other, ierror)
      call MPI_GROUP_SIZE(other, size, ierror)
      call check(size .eq. (ranks + 1) / 2, 'MPI_GROUP_RANGE_INCL')
      chosen(1) = size - 1
      call MPI_GROUP_TRANSLATE_RANKS(other, 1, chosen, world,
     &                               translated, ierror)
      call check(translated .eq. 2 * (size - 1),
     &           'MPI_GROUP_TRANSLATE_RANKS')
      call MPI_GROUP_FREE(other, ierror)
      call MPI_GROUP_FREE(group, ierror)
      call MPI_GROUP_FREE(world, ierror)
      call check(world .eq. MPI_GROUP_NULL, 'a freed group')
      call MPI_COMM_FREE(comm, ierror)
      end

      include 'check_fortran.h'
