C     Routines of MPI-1 that the standard has deleted or deprecated and
C     programs still call: datatypes by INTEGER addresses, attributes
C     that are INTEGERs, error handlers by their old names.
      program oldest
      implicit none
      include 'mpif.h'
      integer rank, ierror
      call MPI_INIT(ierror)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierror)
      call structure(rank)
      call strided(rank)
      call bounds()
      call attributes()
      call predefined()
      call handlers()
      call finish()
      end

C     Variables where they are, by differences of their addresses.
      subroutine structure(rank)
      implicit none
      include 'mpif.h'
      integer rank, ierror, made, lengths(3), places(3), types(3), i
      integer numbers(4), base
      double precision real, real_in
      character*8 text, text_in
      integer numbers_in(4), status(MPI_STATUS_SIZE), request
      common /sent/ real, numbers, text
      common /received/ real_in, numbers_in, text_in
      call MPI_ADDRESS(real, base, ierror)
      call MPI_ADDRESS(real, places(1), ierror)
      call MPI_ADDRESS(numbers(2), places(2), ierror)
      call MPI_ADDRESS(text, places(3), ierror)
      do i = 1, 3
        places(i) = places(i) - base
      end do
      lengths(1) = 1
      lengths(2) = 3
      lengths(3) = 8
      types(1) = MPI_DOUBLE_PRECISION
      types(2) = MPI_INTEGER
      types(3) = MPI_CHARACTER
      call MPI_TYPE_STRUCT(3, lengths, places, types, made, ierror)
      call check(ierror .eq. MPI_SUCCESS, 'MPI_TYPE_STRUCT')
      call MPI_TYPE_COMMIT(made, ierror)
      real = 0.5d0 + rank
      do i = 1, 4
        numbers(i) = 10 * rank + i
        numbers_in(i) = -1
      end do
      text = 'eight!!!'
      call MPI_ISEND(real, 1, made, rank, 1, MPI_COMM_WORLD, request,
     &               ierror)
      call MPI_RECV(real_in, 1, made, rank, 1, MPI_COMM_WORLD, status,
     &              ierror)
      call MPI_WAIT(request, MPI_STATUS_IGNORE, ierror)
      call check(real_in .eq. real, 'the DOUBLE PRECISION')
      call check(numbers_in(1) .eq. -1, 'the INTEGER left out')
      call check(numbers_in(4) .eq. 10 * rank + 4, 'the last INTEGER')
      call check(text_in .eq. text, 'the CHARACTER')
      call MPI_TYPE_FREE(made, ierror)
      call check(made .eq. MPI_DATATYPE_NULL, 'MPI_TYPE_FREE')
      end

C     Vectors and lists of blocks whose distances are bytes.
      subroutine strided(rank)
      implicit none
      include 'mpif.h'
      integer rank, ierror, vector, list, i, request
      integer matrix(4, 3), row(3), lengths(2), places(2), pair(3)
      do i = 1, 3
        matrix(2, i) = 100 * rank + i
        row(i) = 0
      end do
      call MPI_TYPE_HVECTOR(3, 1, 16, MPI_INTEGER, vector, ierror)
      call MPI_TYPE_COMMIT(vector, ierror)
      call MPI_ISEND(matrix(2, 1), 1, vector, rank, 2, MPI_COMM_WORLD,
     &               request, ierror)
      call MPI_RECV(row, 3, MPI_INTEGER, rank, 2, MPI_COMM_WORLD,
     &              MPI_STATUS_IGNORE, ierror)
      call MPI_WAIT(request, MPI_STATUS_IGNORE, ierror)
      call check(row(3) .eq. 100 * rank + 3, 'MPI_TYPE_HVECTOR')
      lengths(1) = 1
      lengths(2) = 2
      places(1) = 8
      places(2) = -4
      do i = 1, 3
        pair(i) = 0
      end do
      call MPI_TYPE_HINDEXED(2, lengths, places, MPI_INTEGER, list,
     &                       ierror)
      call MPI_TYPE_COMMIT(list, ierror)
      call MPI_ISEND(row(2), 1, list, rank, 3, MPI_COMM_WORLD, request,
     &               ierror)
      call check(ierror .eq. MPI_SUCCESS, 'a list from the middle')
      call MPI_WAIT(request, MPI_STATUS_IGNORE, ierror)
      call MPI_RECV(pair, 3, MPI_INTEGER, rank, 3, MPI_COMM_WORLD,
     &              MPI_STATUS_IGNORE, ierror)
      call check(pair(2) .eq. row(1) .and. pair(3) .eq. row(2),
     &           'MPI_TYPE_HINDEXED')
      call MPI_TYPE_FREE(list, ierror)
      call MPI_TYPE_FREE(vector, ierror)
      end

C     Extents and bounds as INTEGERs; one that does not fit is an error.
      subroutine bounds()
      implicit none
      include 'mpif.h'
      integer ierror, number, made, old, wide
      integer (kind=MPI_ADDRESS_KIND) lower, extent
      call MPI_TYPE_EXTENT(MPI_DOUBLE_COMPLEX, number, ierror)
      call check(number .eq. 16, 'MPI_TYPE_EXTENT')
      lower = -8
      extent = 40
      call MPI_TYPE_CREATE_RESIZED(MPI_INTEGER, lower, extent, made,
     &                             ierror)
      call MPI_TYPE_LB(made, number, ierror)
      call check(number .eq. -8, 'MPI_TYPE_LB')
      call MPI_TYPE_UB(made, number, ierror)
      call check(number .eq. 32, 'MPI_TYPE_UB')
      call MPI_TYPE_EXTENT(made, number, ierror)
      call check(number .eq. 40, 'MPI_TYPE_EXTENT of a resized type')
      extent = 2
      extent = extent ** 40
      call MPI_TYPE_CREATE_RESIZED(MPI_INTEGER, lower, extent, wide,
     &                             ierror)
      call MPI_ERRHANDLER_GET(MPI_COMM_SELF, old, ierror)
      call MPI_ERRHANDLER_SET(MPI_COMM_SELF, MPI_ERRORS_RETURN, ierror)
      call MPI_TYPE_EXTENT(wide, number, ierror)
      call check(ierror .eq. MPI_ERR_ARG, 'an extent of a tebibyte')
      call check(number .eq. MPI_UNDEFINED, 'an unknown extent')
      call MPI_TYPE_EXTENT(MPI_DATATYPE_NULL, number, ierror)
      call check(ierror .eq. MPI_ERR_TYPE, 'the extent of no type')
      call MPI_ERRHANDLER_SET(MPI_COMM_SELF, old, ierror)
      call MPI_TYPE_FREE(made, ierror)
      call MPI_TYPE_FREE(wide, ierror)
      end

C     Keys with functions of the program: a copy adds one, and a value
C     that is deleted is added up.
      subroutine attributes()
      implicit none
      include 'mpif.h'
      external add_one, add_up
      integer ierror, key, plain, none, value, twin, deleted
      logical flag
      common /deletions/ deleted
      deleted = 0
      call MPI_KEYVAL_CREATE(add_one, add_up, key, 7, ierror)
      call MPI_KEYVAL_CREATE(MPI_DUP_FN, MPI_NULL_DELETE_FN, plain, 0,
     &                       ierror)
      call MPI_KEYVAL_CREATE(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN,
     &                       none, 0, ierror)
      call MPI_ATTR_GET(MPI_COMM_SELF, key, value, flag, ierror)
      call check(.not. flag, 'an attribute that is not set')
      call MPI_ATTR_PUT(MPI_COMM_SELF, key, -41, ierror)
      call MPI_ATTR_PUT(MPI_COMM_SELF, plain, -5, ierror)
      call MPI_ATTR_PUT(MPI_COMM_SELF, none, 6, ierror)
      call MPI_ATTR_GET(MPI_COMM_SELF, key, value, flag, ierror)
      call check(flag .and. value .eq. -41, 'MPI_ATTR_GET')
      call MPI_COMM_DUP(MPI_COMM_SELF, twin, ierror)
      call MPI_ATTR_GET(twin, key, value, flag, ierror)
      call check(flag .and. value .eq. -40, 'a copy function')
      call MPI_ATTR_GET(twin, plain, value, flag, ierror)
      call check(flag .and. value .eq. -5, 'MPI_DUP_FN')
      call MPI_ATTR_GET(twin, none, value, flag, ierror)
      call check(.not. flag, 'MPI_NULL_COPY_FN')
      call MPI_COMM_FREE(twin, ierror)
      call check(deleted .eq. -40, 'a delete function of a copy')
      call MPI_ATTR_DELETE(MPI_COMM_SELF, key, ierror)
      call check(deleted .eq. -81, 'MPI_ATTR_DELETE')
      call MPI_KEYVAL_FREE(key, ierror)
      call check(key .eq. MPI_KEYVAL_INVALID, 'MPI_KEYVAL_FREE')
      call MPI_KEYVAL_FREE(plain, ierror)
      call MPI_KEYVAL_FREE(none, ierror)
      end

      subroutine add_one(comm, key, extra, old, new, flag, ierror)
      implicit none
      include 'mpif.h'
      integer comm, key, extra, old, new, ierror
      logical flag
      new = old + 1
      flag = extra .eq. 7 .and. comm .eq. MPI_COMM_SELF
      ierror = MPI_SUCCESS
      end

      subroutine add_up(comm, key, value, extra, ierror)
      implicit none
      include 'mpif.h'
      integer comm, key, value, extra, ierror, deleted
      common /deletions/ deleted
      if (extra .eq. 7) deleted = deleted + value
      ierror = MPI_SUCCESS
      end

C     What the standard sets: values, not addresses.
      subroutine predefined()
      implicit none
      include 'mpif.h'
      integer ierror, value
      integer (kind=MPI_ADDRESS_KIND) wide
      logical flag
      call MPI_ATTR_GET(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierror)
      call check(flag .and. value .ge. 32767, 'MPI_TAG_UB')
      call MPI_COMM_GET_ATTR(MPI_COMM_WORLD, MPI_TAG_UB, wide, flag,
     &                       ierror)
      call check(flag .and. wide .eq. value, 'MPI_TAG_UB, wide')
      call MPI_ATTR_GET(MPI_COMM_WORLD, MPI_HOST, value, flag, ierror)
      call check(flag .and. value .eq. MPI_PROC_NULL, 'MPI_HOST')
      call MPI_ATTR_GET(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, value,
     &                  flag, ierror)
      call check(flag .and. (value .eq. 0 .or. value .eq. 1),
     &           'MPI_WTIME_IS_GLOBAL')
      end

C     An error handler of the program.
      subroutine handlers()
      implicit none
      include 'mpif.h'
      external note
      integer ierror, handler, found, old, comm, seen
      common /noted/ seen
      seen = MPI_SUCCESS
      call MPI_COMM_DUP(MPI_COMM_SELF, comm, ierror)
      call MPI_ERRHANDLER_CREATE(note, handler, ierror)
      call MPI_ERRHANDLER_GET(comm, old, ierror)
      call MPI_ERRHANDLER_SET(comm, handler, ierror)
      call MPI_ERRHANDLER_GET(comm, found, ierror)
      call check(found .ne. old .and. found .ne. MPI_ERRHANDLER_NULL,
     &           'MPI_ERRHANDLER_GET')
      call MPI_SEND(seen, 1, MPI_INTEGER, 7, 1, comm, ierror)
      call check(ierror .eq. MPI_ERR_RANK .and. seen .eq. ierror,
     &           'an error handler')
      call MPI_ERRHANDLER_FREE(handler, ierror)
      call MPI_ERRHANDLER_FREE(found, ierror)
      call check(handler .eq. MPI_ERRHANDLER_NULL,
     &           'MPI_ERRHANDLER_FREE')
      call MPI_COMM_FREE(comm, ierror)
      end

      subroutine note(comm, code)
      implicit none
      integer comm, code, seen
      common /noted/ seen
      if (comm .ne. 0) seen = code
      end

      include 'check_fortran.h'
