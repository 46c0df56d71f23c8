C     Arguments that are not numbers, with mpif.h: LOGICALs, strings with
C     blanks, errors that come back in ierror, info objects.
      program arguments
      implicit none
      include 'mpif.h'
      integer rank, ranks, ierror
      logical flag
      call MPI_INITIALIZED(flag, ierror)
      call check(.not. flag, 'MPI_INITIALIZED before')
      call MPI_INIT(ierror)
      call MPI_INITIALIZED(flag, ierror)
      call check(flag, 'MPI_INITIALIZED')
      call MPI_FINALIZED(flag, ierror)
      call check(.not. flag, 'MPI_FINALIZED')
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierror)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierror)
      call strings(rank)
      call infos()
      call errors_returned(ranks)
      call logicals(rank, ranks)
      call types()
      call finish()
      end

      subroutine strings(rank)
      implicit none
      include 'mpif.h'
      integer rank, ierror, length, class, i, comm
      character*(MPI_MAX_PROCESSOR_NAME) name
      character*(MPI_MAX_ERROR_STRING) text
      character*(MPI_MAX_LIBRARY_VERSION_STRING) library
      character*(MPI_MAX_OBJECT_NAME) object
      character*4 short
      call MPI_GET_PROCESSOR_NAME(name, length, ierror)
      call check(length .gt. 0, 'a processor has a name')
      call check(name(length + 1:) .eq. ' ', 'blanks behind a name')
      do i = 1, length
        call check(ichar(name(i:i)) .gt. 32, 'a name of letters')
      end do
      call MPI_GET_LIBRARY_VERSION(library, length, ierror)
      call check(library(length + 1:) .eq. ' ', 'blanks behind a text')
      call MPI_ERROR_STRING(MPI_ERR_RANK, text, length, ierror)
      call check(length .gt. 0 .and. text(length + 1:) .eq. ' ',
     &           'MPI_ERROR_STRING')
      call MPI_ERROR_CLASS(MPI_ERR_RANK, class, ierror)
      call check(class .eq. MPI_ERR_RANK, 'MPI_ERROR_CLASS')
C     Blanks at the end do not count, those before do.
      call MPI_COMM_DUP(MPI_COMM_WORLD, comm, ierror)
      call MPI_COMM_SET_NAME(comm, ' two words   ', ierror)
      object = 'x'
      call MPI_COMM_GET_NAME(comm, object, length, ierror)
      call check(length .eq. 10 .or. length .eq. 9, 'length of a name')
      if (length .eq. 10) then
        call check(object .eq. ' two words', 'a leading blank is kept')
      else
        call check(object .eq. 'two words', 'a leading blank is cut')
      end if
      call MPI_COMM_FREE(comm, ierror)
      call MPI_COMM_GET_NAME(MPI_COMM_WORLD, object, length, ierror)
      call check(object .eq. 'MPI_COMM_WORLD', 'name of the world')
      call check(length .eq. 14, 'length of the name of the world')
      call MPI_TYPE_GET_NAME(MPI_DOUBLE_PRECISION, object, length,
     &                       ierror)
      call check(object .eq. 'MPI_DOUBLE_PRECISION', 'name of a type')
      short = 'abcd'
      call check(short(1:4) .eq. 'abcd', 'nobody wrote here')
      end

      subroutine infos()
      implicit none
      include 'mpif.h'
      integer info, copy, ierror, length, keys, buflen
      logical flag
      character*(MPI_MAX_INFO_KEY) key
      character*20 value
      character*3 short
      call MPI_INFO_CREATE(info, ierror)
      call MPI_INFO_SET(info, 'first key', 'a value  ', ierror)
      call MPI_INFO_SET(info, '  second  ', '  spaced', ierror)
      call MPI_INFO_GET_NKEYS(info, keys, ierror)
      call check(keys .eq. 2, 'MPI_INFO_GET_NKEYS')
      call MPI_INFO_GET_NTHKEY(info, 0, key, ierror)
      call check(key .eq. 'first key', 'MPI_INFO_GET_NTHKEY from 0')
      call MPI_INFO_GET_NTHKEY(info, 1, key, ierror)
      call check(key .eq. 'second', 'blanks around a key are cut')
      value = 'x'
      call MPI_INFO_GET(info, 'first key', 20, value, flag, ierror)
      call check(flag .and. value .eq. 'a value', 'MPI_INFO_GET')
      value = 'x'
      call MPI_INFO_GET(info, 'second', 20, value, flag, ierror)
      call check(flag .and. value .eq. 'spaced',
     &           'blanks before a value are cut')
      call MPI_INFO_GET(info, 'third', 20, value, flag, ierror)
      call check(.not. flag, 'a key that is not there')
      call MPI_INFO_GET(info, 'first key', 3, short, flag, ierror)
      call check(flag .and. short .eq. 'a v', 'a value that is cut')
      buflen = 20
      value = 'x'
      call MPI_INFO_GET_STRING(info, 'first key', buflen, value, flag,
     &                         ierror)
      call check(flag .and. value .eq. 'a value', 'MPI_INFO_GET_STRING')
      call check(buflen .eq. 7, 'length of MPI_INFO_GET_STRING')
      call MPI_INFO_GET_VALUELEN(info, 'first key', length, flag,
     &                           ierror)
      call check(flag .and. length .eq. 7, 'MPI_INFO_GET_VALUELEN')
      call MPI_INFO_DUP(info, copy, ierror)
      call MPI_INFO_DELETE(info, 'first key', ierror)
      call MPI_INFO_GET_NKEYS(info, keys, ierror)
      call check(keys .eq. 1, 'MPI_INFO_DELETE')
      call MPI_INFO_GET_NKEYS(copy, keys, ierror)
      call check(keys .eq. 2, 'MPI_INFO_DUP')
      call MPI_INFO_FREE(info, ierror)
      call MPI_INFO_FREE(copy, ierror)
      call check(info .eq. MPI_INFO_NULL, 'a freed info')
      end

C     MPI_ERRORS_RETURN: the class is in ierror.
      subroutine errors_returned(ranks)
      implicit none
      include 'mpif.h'
      integer ranks, ierror, value, class, handler, code, length
      integer added, request
      character*(MPI_MAX_ERROR_STRING) text
      call MPI_COMM_SET_ERRHANDLER(MPI_COMM_WORLD, MPI_ERRORS_RETURN,
     &                             ierror)
      call MPI_COMM_SET_ERRHANDLER(MPI_COMM_SELF, MPI_ERRORS_RETURN,
     &                             ierror)
      call MPI_COMM_GET_ERRHANDLER(MPI_COMM_WORLD, handler, ierror)
      call check(handler .eq. MPI_ERRORS_RETURN,
     &           'MPI_COMM_GET_ERRHANDLER')
      value = 0
      call MPI_SEND(value, 1, MPI_INTEGER, ranks, 0, MPI_COMM_WORLD,
     &              ierror)
      call MPI_ERROR_CLASS(ierror, class, code)
      call check(class .eq. MPI_ERR_RANK, 'MPI_ERR_RANK')
      call MPI_SEND(value, -1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD,
     &              ierror)
      call MPI_ERROR_CLASS(ierror, class, code)
      call check(class .eq. MPI_ERR_COUNT, 'MPI_ERR_COUNT')
      call MPI_SEND(value, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD,
     &              ierror)
      call MPI_ERROR_CLASS(ierror, class, code)
      call check(class .eq. MPI_ERR_TYPE, 'MPI_ERR_TYPE')
      call MPI_SEND(value, 1, MPI_INTEGER, 0, -9, MPI_COMM_WORLD,
     &              ierror)
      call MPI_ERROR_CLASS(ierror, class, code)
      call check(class .eq. MPI_ERR_TAG, 'MPI_ERR_TAG')
      call MPI_SEND(value, 1, MPI_INTEGER, 0, 0, MPI_COMM_NULL, ierror)
      call MPI_ERROR_CLASS(ierror, class, code)
      call check(class .eq. MPI_ERR_COMM, 'MPI_ERR_COMM')
      call MPI_BCAST(value, 1, MPI_INTEGER, -1, MPI_COMM_WORLD, ierror)
      call MPI_ERROR_CLASS(ierror, class, code)
      call check(class .eq. MPI_ERR_ROOT, 'MPI_ERR_ROOT')
      call MPI_ALLREDUCE(value, request, 1, MPI_INTEGER, MPI_OP_NULL,
     &                   MPI_COMM_WORLD, ierror)
      call MPI_ERROR_CLASS(ierror, class, code)
      call check(class .eq. MPI_ERR_OP, 'MPI_ERR_OP')
      call MPI_ADD_ERROR_CLASS(added, ierror)
      call check(added .gt. MPI_ERR_LASTCODE, 'MPI_ADD_ERROR_CLASS')
      call MPI_ADD_ERROR_CODE(added, code, ierror)
      call MPI_ADD_ERROR_STRING(code, 'our own error  ', ierror)
      call MPI_ERROR_STRING(code, text, length, ierror)
      call check(text .eq. 'our own error' .and. length .eq. 13,
     &           'MPI_ADD_ERROR_STRING')
      call MPI_ERROR_CLASS(code, class, ierror)
      call check(class .eq. added, 'MPI_ADD_ERROR_CODE')
      call MPI_COMM_SET_ERRHANDLER(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL,
     &                             ierror)
      end

C     Arrays of LOGICAL in and out, and any value that is true.
      subroutine logicals(rank, ranks)
      implicit none
      include 'mpif.h'
      integer rank, ranks, ierror, comm, dims(2), coords(2), line, size
      integer claimed, level
      logical periods(2), found(2), kept(2), flag
      dims(1) = ranks
      dims(2) = 1
      periods(1) = .true.
      periods(2) = .false.
      call MPI_CART_CREATE(MPI_COMM_WORLD, 2, dims, periods, .false.,
     &                     comm, ierror)
      call MPI_CART_GET(comm, 2, dims, found, coords, ierror)
      call check(found(1) .and. .not. found(2), 'MPI_CART_GET')
      call check(found(1) .eqv. .true., 'what .EQV. compares')
      call check(coords(1) .eq. rank .and. coords(2) .eq. 0,
     &           'coordinates')
      kept(1) = .false.
      kept(2) = .true.
      call MPI_CART_SUB(comm, kept, line, ierror)
      call MPI_COMM_SIZE(line, size, ierror)
      call check(size .eq. 1, 'MPI_CART_SUB')
      call MPI_COMM_FREE(line, ierror)
      call MPI_COMM_FREE(comm, ierror)
      call MPI_QUERY_THREAD(level, ierror)
      call check(level .ge. MPI_THREAD_SINGLE, 'MPI_QUERY_THREAD')
      call MPI_IS_THREAD_MAIN(flag, ierror)
      call check(flag, 'MPI_IS_THREAD_MAIN')
      claimed = 0
      end

      subroutine types()
      implicit none
      include 'mpif.h'
      integer ierror, size, type, blocks(2), places(2), position, a(8)
      integer ints(8), adds(1), kinds(1), combiner, nints, nadds, nkinds
      integer b(8), i
      integer(kind=MPI_ADDRESS_KIND) lower, extent, large(1)
      character packed(200)
      call MPI_TYPE_SIZE(MPI_DOUBLE_PRECISION, size, ierror)
      call check(size .eq. 8, 'MPI_TYPE_SIZE')
      call MPI_TYPE_GET_EXTENT(MPI_2INTEGER, lower, extent, ierror)
      call check(lower .eq. 0 .and. extent .eq. 8,
     &           'MPI_TYPE_GET_EXTENT')
      blocks(1) = 2
      blocks(2) = 1
      places(1) = 1
      places(2) = 6
      call MPI_TYPE_INDEXED(2, blocks, places, MPI_INTEGER, type,
     &                      ierror)
      call MPI_TYPE_COMMIT(type, ierror)
      call MPI_TYPE_GET_ENVELOPE(type, nints, nadds, nkinds, combiner,
     &                           ierror)
      call check(combiner .eq. MPI_COMBINER_INDEXED .and. nints .eq. 5
     &           .and. nadds .eq. 0 .and. nkinds .eq. 1, 'envelope')
      adds(1) = 0
      call MPI_TYPE_GET_CONTENTS(type, nints, nadds, nkinds, ints,
     &                           large, kinds, ierror)
      call check(ints(1) .eq. 2 .and. ints(2) .eq. 2 .and. ints(5) .eq.
     &           6 .and. kinds(1) .eq. MPI_INTEGER, 'contents')
      do i = 1, 8
        a(i) = i
        b(i) = 0
      end do
      position = 0
      call MPI_PACK(a, 1, type, packed, 200, position, MPI_COMM_WORLD,
     &              ierror)
      call check(position .eq. 12, 'MPI_PACK')
      position = 0
      call MPI_UNPACK(packed, 200, position, b, 1, type, MPI_COMM_WORLD,
     &                ierror)
      call check(b(1) .eq. 0 .and. b(2) .eq. 2 .and. b(3) .eq. 3 .and.
     &           b(4) .eq. 0 .and. b(7) .eq. 7, 'MPI_UNPACK')
      call MPI_TYPE_FREE(type, ierror)
      call MPI_TYPE_MATCH_SIZE(MPI_TYPECLASS_REAL, 8, type, ierror)
      call MPI_TYPE_SIZE(type, size, ierror)
      call check(size .eq. 8, 'MPI_TYPE_MATCH_SIZE')
      end

      include 'check_fortran.h'
