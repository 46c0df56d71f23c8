C     Messages between ranks with mpif.h in fixed form: blocking,
C     nonblocking and persistent, statuses, probes, indices of requests
C     from 1, and what calls without an error do with ierror.
      program messages
      implicit none
      include 'mpif.h'
      integer rank, ranks, ierror
      call MPI_INIT(ierror)
      call check(ierror .eq. MPI_SUCCESS, 'ierror of MPI_INIT')
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierror)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierror)
      call ring(rank, ranks)
      call types(rank, ranks)
      call many(rank)
      call some(rank)
      call lasting(rank, ranks)
      call nobody()
      call finish()
      end

C     A message around all ranks, and its status.
      subroutine ring(rank, ranks)
      implicit none
      include 'mpif.h'
      integer rank, ranks, left, right, value, count, ierror
      integer status(MPI_STATUS_SIZE)
      logical flag
      right = mod(rank + 1, ranks)
      left = mod(rank + ranks - 1, ranks)
      call MPI_SENDRECV(rank, 1, MPI_INTEGER, right, 7, value, 1,
     &                  MPI_INTEGER, left, MPI_ANY_TAG,
     &                  MPI_COMM_WORLD, status, ierror)
      call check(value .eq. left, 'value of the left')
      call check(status(MPI_SOURCE) .eq. left, 'MPI_SOURCE')
      call check(status(MPI_TAG) .eq. 7, 'MPI_TAG')
      call MPI_GET_COUNT(status, MPI_INTEGER, count, ierror)
      call check(count .eq. 1, 'MPI_GET_COUNT')
      call MPI_GET_COUNT(status, MPI_DOUBLE_PRECISION, count, ierror)
      call check(count .eq. MPI_UNDEFINED, 'part of a DOUBLE PRECISION')
      call MPI_TEST_CANCELLED(status, flag, ierror)
      call check(.not. flag, 'MPI_TEST_CANCELLED')
      value = rank
      call MPI_SENDRECV_REPLACE(value, 1, MPI_INTEGER, left, 8, right,
     &                          8, MPI_COMM_WORLD, status, ierror)
      call check(value .eq. right, 'value of the right')
      end

C     Each type with its elements, to the rank itself.
      subroutine types(rank, ranks)
      implicit none
      include 'mpif.h'
      integer rank, ranks, request, ierror, i
      double precision doubles(5), doubles_in(5)
      real reals(3), reals_in(3)
      complex z, z_in
      double complex zz, zz_in
      logical logicals(2), logicals_in(2)
      character*11 text, text_in
      do i = 1, 5
        doubles(i) = rank + i / 8d0
        doubles_in(i) = 0
      end do
      call MPI_ISEND(doubles, 5, MPI_DOUBLE_PRECISION, rank, 1,
     &               MPI_COMM_WORLD, request, ierror)
      call MPI_RECV(doubles_in, 5, MPI_DOUBLE_PRECISION, rank, 1,
     &              MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
      call MPI_WAIT(request, MPI_STATUS_IGNORE, ierror)
      do i = 1, 5
        call check(doubles_in(i) .eq. doubles(i), 'DOUBLE PRECISION')
      end do
      call check(request .eq. MPI_REQUEST_NULL, 'a done request')
      reals(1) = 0.5
      reals(2) = -1.5
      reals(3) = ranks
      call MPI_ISEND(reals, 3, MPI_REAL, rank, 2, MPI_COMM_WORLD,
     &               request, ierror)
      call MPI_RECV(reals_in, 3, MPI_REAL, rank, 2, MPI_COMM_WORLD,
     &              MPI_STATUS_IGNORE, ierror)
      call MPI_WAIT(request, MPI_STATUS_IGNORE, ierror)
      call check(reals_in(2) .eq. -1.5, 'REAL')
      z = (1.0, -2.0)
      call MPI_ISEND(z, 1, MPI_COMPLEX, rank, 3, MPI_COMM_WORLD,
     &               request, ierror)
      call MPI_RECV(z_in, 1, MPI_COMPLEX, rank, 3, MPI_COMM_WORLD,
     &              MPI_STATUS_IGNORE, ierror)
      call MPI_WAIT(request, MPI_STATUS_IGNORE, ierror)
      call check(z_in .eq. z, 'COMPLEX')
      zz = (3d0, 4d-300)
      call MPI_ISEND(zz, 1, MPI_DOUBLE_COMPLEX, rank, 3,
     &               MPI_COMM_WORLD, request, ierror)
      call MPI_RECV(zz_in, 1, MPI_DOUBLE_COMPLEX, rank, 3,
     &              MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
      call MPI_WAIT(request, MPI_STATUS_IGNORE, ierror)
      call check(zz_in .eq. zz, 'DOUBLE COMPLEX')
      logicals(1) = .true.
      logicals(2) = .false.
      call MPI_ISEND(logicals, 2, MPI_LOGICAL, rank, 4, MPI_COMM_WORLD,
     &               request, ierror)
      call MPI_RECV(logicals_in, 2, MPI_LOGICAL, rank, 4,
     &              MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
      call MPI_WAIT(request, MPI_STATUS_IGNORE, ierror)
      call check(logicals_in(1) .and. .not. logicals_in(2), 'LOGICAL')
C     A CHARACTER as a buffer has a hidden length behind all arguments.
      text = 'hello world'
      text_in = ' '
      call MPI_ISEND(text, 11, MPI_CHARACTER, rank, 5, MPI_COMM_WORLD,
     &               request, ierror)
      call MPI_RECV(text_in, 11, MPI_CHARACTER, rank, 5,
     &              MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
      call MPI_WAIT(request, MPI_STATUS_IGNORE, ierror)
      call check(text_in .eq. text, 'CHARACTER')
      end

C     MPI_WAITALL, MPI_TESTALL, MPI_WAITANY and MPI_TESTANY with
C     messages of a rank to itself.
      subroutine many(rank)
      implicit none
      include 'mpif.h'
      integer n
      parameter (n = 6)
      integer rank, i, index, ierror, seen(n)
      integer requests(2 * n), statuses(MPI_STATUS_SIZE, 2 * n)
      integer status(MPI_STATUS_SIZE), in(n), out(n)
      logical flag
      volatile in
      do i = 1, n
        out(i) = 100 * rank + i
        in(i) = 0
        call MPI_IRECV(in(i), 1, MPI_INTEGER, rank, i, MPI_COMM_WORLD,
     &                 requests(i), ierror)
      end do
      call MPI_TESTALL(n, requests, flag, statuses, ierror)
      call check(.not. flag, 'MPI_TESTALL before there is anything')
      call MPI_TESTANY(n, requests, index, flag, status, ierror)
      call check(.not. flag .and. index .eq. MPI_UNDEFINED,
     &           'MPI_TESTANY before there is anything')
      do i = 1, n
        call MPI_ISEND(out(i), 1, MPI_INTEGER, rank, i, MPI_COMM_WORLD,
     &                 requests(n + i), ierror)
      end do
      call MPI_WAITALL(2 * n, requests, statuses, ierror)
      do i = 1, n
        call check(in(i) .eq. out(i), 'MPI_WAITALL: value')
        call check(statuses(MPI_TAG, i) .eq. i, 'MPI_WAITALL: tag')
        call check(statuses(MPI_SOURCE, i) .eq. rank,
     &             'MPI_WAITALL: source')
      end do
      do i = 1, n
        seen(i) = 0
        in(i) = 0
        call MPI_IRECV(in(i), 1, MPI_INTEGER, rank, i, MPI_COMM_WORLD,
     &                 requests(i), ierror)
      end do
      do i = n, 1, -1
        call MPI_SEND(out(i), 1, MPI_INTEGER, rank, i, MPI_COMM_WORLD,
     &                ierror)
        call MPI_WAITANY(n, requests, index, status, ierror)
        call check(index .eq. i, 'MPI_WAITANY: index from 1')
        if (index .ge. 1 .and. index .le. n) then
          seen(index) = seen(index) + 1
          call check(status(MPI_TAG) .eq. index, 'MPI_WAITANY: tag')
        end if
      end do
      do i = 1, n
        call check(seen(i) .eq. 1, 'MPI_WAITANY: each once')
      end do
      call MPI_WAITANY(n, requests, index, status, ierror)
      call check(index .eq. MPI_UNDEFINED, 'MPI_WAITANY of nothing')
      call MPI_TESTANY(n, requests, index, flag, status, ierror)
      call check(flag .and. index .eq. MPI_UNDEFINED,
     &           'MPI_TESTANY of nothing')
      end

C     MPI_WAITSOME and MPI_TESTSOME: indices from 1.
      subroutine some(rank)
      implicit none
      include 'mpif.h'
      integer n
      parameter (n = 5)
      integer rank, i, k, count, done, ierror, seen(n), indices(n)
      integer requests(n), statuses(MPI_STATUS_SIZE, n), in(n)
      volatile in
      do k = 1, 2
        do i = 1, n
          seen(i) = 0
          in(i) = 0
          call MPI_IRECV(in(i), 1, MPI_INTEGER, rank, i,
     &                   MPI_COMM_WORLD, requests(i), ierror)
        end do
        do i = 1, n
          call MPI_SEND(i, 1, MPI_INTEGER, rank, i, MPI_COMM_WORLD,
     &                  ierror)
        end do
        done = 0
        do while (done .lt. n)
          if (k .eq. 1) then
            call MPI_WAITSOME(n, requests, count, indices, statuses,
     &                        ierror)
            call check(count .ge. 1, 'MPI_WAITSOME: count')
          else
            call MPI_TESTSOME(n, requests, count, indices, statuses,
     &                        ierror)
          end if
          if (count .lt. 0 .or. count .gt. n - done) then
            call check(.false., 'more than there were')
            return
          end if
          do i = 1, count
            call check(indices(i) .ge. 1 .and. indices(i) .le. n,
     &                 'indices from 1')
            seen(indices(i)) = seen(indices(i)) + 1
            call check(statuses(MPI_TAG, i) .eq. indices(i),
     &                 'tag of an index')
          end do
          done = done + count
        end do
        do i = 1, n
          call check(seen(i) .eq. 1 .and. in(i) .eq. i, 'each once')
        end do
        call MPI_WAITSOME(n, requests, count, indices,
     &                    MPI_STATUSES_IGNORE, ierror)
        call check(count .eq. MPI_UNDEFINED, 'MPI_WAITSOME of nothing')
      end do
      end

C     Persistent requests, a probe, a message that was matched, one that
C     is buffered.
      subroutine lasting(rank, ranks)
      implicit none
      include 'mpif.h'
      integer rank, ranks, i, ierror, requests(2), in, out, message
      integer status(MPI_STATUS_SIZE), count, bytes, numbers(3)
      integer left, right, size
      logical flag
      character buffer(1000)
C     They are used while no call has them as arguments.
      volatile in, out
      right = mod(rank + 1, ranks)
      left = mod(rank + ranks - 1, ranks)
      call MPI_SEND_INIT(out, 1, MPI_INTEGER, right, 3, MPI_COMM_WORLD,
     &                   requests(1), ierror)
      call MPI_RECV_INIT(in, 1, MPI_INTEGER, left, 3, MPI_COMM_WORLD,
     &                   requests(2), ierror)
      do i = 1, 3
        out = 10 * rank + i
        call MPI_STARTALL(2, requests, ierror)
        call MPI_WAITALL(2, requests, MPI_STATUSES_IGNORE, ierror)
        call check(in .eq. 10 * left + i, 'a persistent message')
      end do
      call MPI_REQUEST_FREE(requests(1), ierror)
      call MPI_REQUEST_FREE(requests(2), ierror)
      call check(requests(2) .eq. MPI_REQUEST_NULL, 'a freed request')
      call MPI_PACK_SIZE(3, MPI_INTEGER, MPI_COMM_WORLD, size, ierror)
      call MPI_BUFFER_ATTACH(buffer, 1000, ierror)
      numbers(1) = rank
      numbers(2) = 2
      numbers(3) = 3
      call MPI_BSEND(numbers, 3, MPI_INTEGER, right, 4, MPI_COMM_WORLD,
     &               ierror)
      call MPI_PROBE(left, 4, MPI_COMM_WORLD, status, ierror)
      call MPI_GET_COUNT(status, MPI_INTEGER, count, ierror)
      call check(count .eq. 3, 'count of a probe')
      flag = .false.
      do while (.not. flag)
        call MPI_IMPROBE(MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, flag,
     &                   message, status, ierror)
      end do
      call check(message .ne. MPI_MESSAGE_NULL, 'a matched message')
      numbers(1) = -1
      call MPI_MRECV(numbers, 3, MPI_INTEGER, message, status, ierror)
      call check(numbers(1) .eq. left, 'value of a matched message')
      call check(message .eq. MPI_MESSAGE_NULL, 'a received message')
      bytes = 0
      call MPI_BUFFER_DETACH(buffer, bytes, ierror)
      call check(bytes .eq. 1000, 'size of the detached buffer')
      end

C     MPI_PROC_NULL.
      subroutine nobody()
      implicit none
      include 'mpif.h'
      integer value, count, ierror, status(MPI_STATUS_SIZE)
      value = 5
      call MPI_SEND(value, 1, MPI_INTEGER, MPI_PROC_NULL, 0,
     &              MPI_COMM_WORLD, ierror)
      call MPI_RECV(value, 1, MPI_INTEGER, MPI_PROC_NULL, 0,
     &              MPI_COMM_WORLD, status, ierror)
      call check(value .eq. 5, 'nothing was received')
      call check(status(MPI_SOURCE) .eq. MPI_PROC_NULL, 'from nobody')
      call check(status(MPI_TAG) .eq. MPI_ANY_TAG, 'with no tag')
      call MPI_GET_COUNT(status, MPI_INTEGER, count, ierror)
      call check(count .eq. 0, 'no elements')
      end

      include 'check_fortran.h'
