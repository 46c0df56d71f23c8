! Module mpi: handles and statuses are INTEGERs, and a buffer may be of any type.
!
! Made from the tables in fortran/ and tests/data/abi_constants.tsv by:
!   SUIRO_BLESS=1 cargo test --test fortran_modules

module mpi
  use mpi_types
  use, intrinsic :: iso_c_binding, only: C_PTR
  implicit none
  public
  private :: C_PTR

  logical, parameter :: MPI_SUBARRAYS_SUPPORTED = .false.
  logical, parameter :: MPI_ASYNC_PROTECTS_NONBLOCKING = .false.
  integer, parameter :: MPI_OP_NULL = 32
  integer, parameter :: MPI_SUM = 33
  integer, parameter :: MPI_MIN = 34
  integer, parameter :: MPI_MAX = 35
  integer, parameter :: MPI_PROD = 36
  integer, parameter :: MPI_BAND = 40
  integer, parameter :: MPI_BOR = 41
  integer, parameter :: MPI_BXOR = 42
  integer, parameter :: MPI_LAND = 48
  integer, parameter :: MPI_LOR = 49
  integer, parameter :: MPI_LXOR = 50
  integer, parameter :: MPI_MINLOC = 56
  integer, parameter :: MPI_MAXLOC = 57
  integer, parameter :: MPI_REPLACE = 60
  integer, parameter :: MPI_NO_OP = 61
  integer, parameter :: MPI_COMM_NULL = 256
  integer, parameter :: MPI_COMM_WORLD = 257
  integer, parameter :: MPI_COMM_SELF = 258
  integer, parameter :: MPI_GROUP_NULL = 264
  integer, parameter :: MPI_GROUP_EMPTY = 265
  integer, parameter :: MPI_WIN_NULL = 272
  integer, parameter :: MPI_FILE_NULL = 280
  integer, parameter :: MPI_SESSION_NULL = 288
  integer, parameter :: MPI_MESSAGE_NULL = 296
  integer, parameter :: MPI_MESSAGE_NO_PROC = 297
  integer, parameter :: MPI_INFO_NULL = 304
  integer, parameter :: MPI_INFO_ENV = 305
  integer, parameter :: MPI_ERRHANDLER_NULL = 320
  integer, parameter :: MPI_ERRORS_ARE_FATAL = 321
  integer, parameter :: MPI_ERRORS_ABORT = 322
  integer, parameter :: MPI_ERRORS_RETURN = 323
  integer, parameter :: MPI_REQUEST_NULL = 384
  integer, parameter :: MPI_DATATYPE_NULL = 512
  integer, parameter :: MPI_AINT = 513
  integer, parameter :: MPI_COUNT = 514
  integer, parameter :: MPI_OFFSET = 515
  integer, parameter :: MPI_PACKED = 519
  integer, parameter :: MPI_SHORT = 520
  integer, parameter :: MPI_INT = 521
  integer, parameter :: MPI_LONG = 522
  integer, parameter :: MPI_LONG_LONG = 523
  integer, parameter :: MPI_LONG_LONG_INT = 523
  integer, parameter :: MPI_UNSIGNED_SHORT = 524
  integer, parameter :: MPI_UNSIGNED = 525
  integer, parameter :: MPI_UNSIGNED_LONG = 526
  integer, parameter :: MPI_UNSIGNED_LONG_LONG = 527
  integer, parameter :: MPI_FLOAT = 528
  integer, parameter :: MPI_C_FLOAT_COMPLEX = 530
  integer, parameter :: MPI_C_COMPLEX = 530
  integer, parameter :: MPI_CXX_FLOAT_COMPLEX = 531
  integer, parameter :: MPI_DOUBLE = 532
  integer, parameter :: MPI_C_DOUBLE_COMPLEX = 534
  integer, parameter :: MPI_CXX_DOUBLE_COMPLEX = 535
  integer, parameter :: MPI_LOGICAL = 536
  integer, parameter :: MPI_INTEGER = 537
  integer, parameter :: MPI_REAL = 538
  integer, parameter :: MPI_COMPLEX = 539
  integer, parameter :: MPI_DOUBLE_PRECISION = 540
  integer, parameter :: MPI_DOUBLE_COMPLEX = 541
  integer, parameter :: MPI_CHARACTER = 542
  integer, parameter :: MPI_LONG_DOUBLE = 544
  integer, parameter :: MPI_C_LONG_DOUBLE_COMPLEX = 548
  integer, parameter :: MPI_CXX_LONG_DOUBLE_COMPLEX = 549
  integer, parameter :: MPI_FLOAT_INT = 552
  integer, parameter :: MPI_DOUBLE_INT = 553
  integer, parameter :: MPI_LONG_INT = 554
  integer, parameter :: MPI_2INT = 555
  integer, parameter :: MPI_SHORT_INT = 556
  integer, parameter :: MPI_LONG_DOUBLE_INT = 557
  integer, parameter :: MPI_2REAL = 560
  integer, parameter :: MPI_2DOUBLE_PRECISION = 561
  integer, parameter :: MPI_2INTEGER = 562
  integer, parameter :: MPI_C_BOOL = 568
  integer, parameter :: MPI_CXX_BOOL = 569
  integer, parameter :: MPI_WCHAR = 572
  integer, parameter :: MPI_INT8_T = 576
  integer, parameter :: MPI_UINT8_T = 577
  integer, parameter :: MPI_CHAR = 579
  integer, parameter :: MPI_SIGNED_CHAR = 580
  integer, parameter :: MPI_UNSIGNED_CHAR = 581
  integer, parameter :: MPI_BYTE = 583
  integer, parameter :: MPI_INT16_T = 584
  integer, parameter :: MPI_UINT16_T = 585
  integer, parameter :: MPI_INT32_T = 592
  integer, parameter :: MPI_UINT32_T = 593
  integer, parameter :: MPI_INT64_T = 600
  integer, parameter :: MPI_UINT64_T = 601
  integer, parameter :: MPI_LOGICAL1 = 704
  integer, parameter :: MPI_INTEGER1 = 705
  integer, parameter :: MPI_LOGICAL2 = 712
  integer, parameter :: MPI_INTEGER2 = 713
  integer, parameter :: MPI_REAL2 = 714
  integer, parameter :: MPI_LOGICAL4 = 720
  integer, parameter :: MPI_INTEGER4 = 721
  integer, parameter :: MPI_REAL4 = 722
  integer, parameter :: MPI_COMPLEX4 = 723
  integer, parameter :: MPI_LOGICAL8 = 728
  integer, parameter :: MPI_INTEGER8 = 729
  integer, parameter :: MPI_REAL8 = 730
  integer, parameter :: MPI_COMPLEX8 = 731
  integer, parameter :: MPI_LOGICAL16 = 736
  integer, parameter :: MPI_INTEGER16 = 737
  integer, parameter :: MPI_REAL16 = 738
  integer, parameter :: MPI_COMPLEX16 = 739
  integer, parameter :: MPI_COMPLEX32 = 747

  integer :: MPI_STATUSES_IGNORE(MPI_STATUS_SIZE,1)
  integer, private :: suirostatusesignore_fill(8)
  common /suirostatusesignore/ MPI_STATUSES_IGNORE, suirostatusesignore_fill
  integer :: MPI_STATUS_IGNORE(MPI_STATUS_SIZE)
  integer, private :: suirostatusignore_fill(8)
  common /suirostatusignore/ MPI_STATUS_IGNORE, suirostatusignore_fill

  interface
    subroutine MPI_ABI_GET_FORTRAN_BOOLEANS(logical_size, logical_true, logical_false, is_set, &
        ierror)
      import
      integer :: logical_size
      logical :: logical_true, logical_false, is_set
      integer :: ierror
    end subroutine
    subroutine MPI_ABI_GET_FORTRAN_INFO(info, ierror)
      import
      integer :: info, ierror
    end subroutine
    subroutine MPI_ABI_GET_INFO(info, ierror)
      import
      integer :: info, ierror
    end subroutine
    subroutine MPI_ABI_GET_VERSION(abi_major, abi_minor, ierror)
      import
      integer :: abi_major, abi_minor, ierror
    end subroutine
    subroutine MPI_ABI_SET_FORTRAN_BOOLEANS(logical_size, logical_true, logical_false, ierror)
      import
      integer :: logical_size
      logical :: logical_true, logical_false
      integer :: ierror
    end subroutine
    subroutine MPI_ABI_SET_FORTRAN_INFO(info, ierror)
      import
      integer :: info, ierror
    end subroutine
    subroutine MPI_ABORT(comm, errorcode, ierror)
      import
      integer :: comm, errorcode, ierror
    end subroutine
    subroutine MPI_ACCUMULATE(origin_addr, origin_count, origin_datatype, target_rank, &
        target_disp, target_count, target_datatype, op, win, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr
!DEC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr
!DIR$ IGNORE_TKR origin_addr
!$PRAGMA IGNORE_TKR origin_addr
!IBM* IGNORE_TKR origin_addr
      type(*), dimension(*) :: origin_addr
      integer :: origin_count, origin_datatype, target_rank
      integer(MPI_ADDRESS_KIND) :: target_disp
      integer :: target_count, target_datatype, op, win, ierror
    end subroutine
    subroutine MPI_ADD_ERROR_CLASS(errorclass, ierror)
      import
      integer :: errorclass, ierror
    end subroutine
    subroutine MPI_ADD_ERROR_CODE(errorclass, errorcode, ierror)
      import
      integer :: errorclass, errorcode, ierror
    end subroutine
    subroutine MPI_ADD_ERROR_STRING(errorcode, string, ierror)
      import
      integer :: errorcode
      character(len=*) :: string
      integer :: ierror
    end subroutine
    function MPI_AINT_ADD(base, disp)
      import
      integer(MPI_ADDRESS_KIND) :: base, disp, MPI_AINT_ADD
    end function
    function MPI_AINT_DIFF(addr1, addr2)
      import
      integer(MPI_ADDRESS_KIND) :: addr1, addr2, MPI_AINT_DIFF
    end function
    subroutine MPI_ALLGATHER(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, &
        ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcount, sendtype
      type(*), dimension(*) :: recvbuf
      integer :: recvcount, recvtype, comm, ierror
    end subroutine
    subroutine MPI_ALLGATHER_INIT(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
        comm, info, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcount, sendtype
      type(*), dimension(*) :: recvbuf
      integer :: recvcount, recvtype, comm, info, request, ierror
    end subroutine
    subroutine MPI_ALLGATHERV(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, &
        comm, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcount, sendtype
      type(*), dimension(*) :: recvbuf
      integer :: recvcounts(*), displs(*), recvtype, comm, ierror
    end subroutine
    subroutine MPI_ALLGATHERV_INIT(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
        recvtype, comm, info, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcount, sendtype
      type(*), dimension(*) :: recvbuf
      integer :: recvcounts(*), displs(*), recvtype, comm, info, request, ierror
    end subroutine
    subroutine MPI_ALLREDUCE(sendbuf, recvbuf, count, datatype, op, comm, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf, recvbuf
      integer :: count, datatype, op, comm, ierror
    end subroutine
    subroutine MPI_ALLREDUCE_INIT(sendbuf, recvbuf, count, datatype, op, comm, info, request, &
        ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf, recvbuf
      integer :: count, datatype, op, comm, info, request, ierror
    end subroutine
    subroutine MPI_ALLTOALL(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, &
        ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcount, sendtype
      type(*), dimension(*) :: recvbuf
      integer :: recvcount, recvtype, comm, ierror
    end subroutine
    subroutine MPI_ALLTOALL_INIT(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, &
        info, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcount, sendtype
      type(*), dimension(*) :: recvbuf
      integer :: recvcount, recvtype, comm, info, request, ierror
    end subroutine
    subroutine MPI_ALLTOALLV(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, &
        recvtype, comm, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcounts(*), sdispls(*), sendtype
      type(*), dimension(*) :: recvbuf
      integer :: recvcounts(*), rdispls(*), recvtype, comm, ierror
    end subroutine
    subroutine MPI_ALLTOALLV_INIT(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, &
        rdispls, recvtype, comm, info, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcounts(*), sdispls(*), sendtype
      type(*), dimension(*) :: recvbuf
      integer :: recvcounts(*), rdispls(*), recvtype, comm, info, request, ierror
    end subroutine
    subroutine MPI_ALLTOALLW(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, &
        rdispls, recvtypes, comm, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcounts(*), sdispls(*), sendtypes(*)
      type(*), dimension(*) :: recvbuf
      integer :: recvcounts(*), rdispls(*), recvtypes(*), comm, ierror
    end subroutine
    subroutine MPI_ALLTOALLW_INIT(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, &
        rdispls, recvtypes, comm, info, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcounts(*), sdispls(*), sendtypes(*)
      type(*), dimension(*) :: recvbuf
      integer :: recvcounts(*), rdispls(*), recvtypes(*), comm, info, request, ierror
    end subroutine
    subroutine MPI_ATTR_DELETE(comm, keyval, ierror)
      import
      integer :: comm, keyval, ierror
    end subroutine
    subroutine MPI_ATTR_GET(comm, keyval, attribute_val, flag, ierror)
      import
      integer :: comm, keyval, attribute_val
      logical :: flag
      integer :: ierror
    end subroutine
    subroutine MPI_ATTR_PUT(comm, keyval, attribute_val, ierror)
      import
      integer :: comm, keyval, attribute_val, ierror
    end subroutine
    subroutine MPI_BARRIER(comm, ierror)
      import
      integer :: comm, ierror
    end subroutine
    subroutine MPI_BARRIER_INIT(comm, info, request, ierror)
      import
      integer :: comm, info, request, ierror
    end subroutine
    subroutine MPI_BCAST(buffer, count, datatype, root, comm, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buffer
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buffer
!DIR$ IGNORE_TKR buffer
!$PRAGMA IGNORE_TKR buffer
!IBM* IGNORE_TKR buffer
      type(*), dimension(*) :: buffer
      integer :: count, datatype, root, comm, ierror
    end subroutine
    subroutine MPI_BCAST_INIT(buffer, count, datatype, root, comm, info, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buffer
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buffer
!DIR$ IGNORE_TKR buffer
!$PRAGMA IGNORE_TKR buffer
!IBM* IGNORE_TKR buffer
      type(*), dimension(*) :: buffer
      integer :: count, datatype, root, comm, info, request, ierror
    end subroutine
    subroutine MPI_BSEND(buf, count, datatype, dest, tag, comm, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      type(*), dimension(*) :: buf
      integer :: count, datatype, dest, tag, comm, ierror
    end subroutine
    subroutine MPI_BSEND_INIT(buf, count, datatype, dest, tag, comm, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      type(*), dimension(*) :: buf
      integer :: count, datatype, dest, tag, comm, request, ierror
    end subroutine
    subroutine MPI_BUFFER_ATTACH(buffer, size, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buffer
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buffer
!DIR$ IGNORE_TKR buffer
!$PRAGMA IGNORE_TKR buffer
!IBM* IGNORE_TKR buffer
      type(*), dimension(*) :: buffer
      integer :: size, ierror
    end subroutine
    subroutine MPI_BUFFER_DETACH(buffer_addr, size, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buffer_addr
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buffer_addr
!DIR$ IGNORE_TKR buffer_addr
!$PRAGMA IGNORE_TKR buffer_addr
!IBM* IGNORE_TKR buffer_addr
      type(*), dimension(*) :: buffer_addr
      integer :: size, ierror
    end subroutine
    subroutine MPI_BUFFER_FLUSH(ierror)
      import
      integer :: ierror
    end subroutine
    subroutine MPI_BUFFER_IFLUSH(request, ierror)
      import
      integer :: request, ierror
    end subroutine
    subroutine MPI_CANCEL(request, ierror)
      import
      integer :: request, ierror
    end subroutine
    subroutine MPI_CART_COORDS(comm, rank, maxdims, coords, ierror)
      import
      integer :: comm, rank, maxdims, coords(*), ierror
    end subroutine
    subroutine MPI_CART_CREATE(comm_old, ndims, dims, periods, reorder, comm_cart, ierror)
      import
      integer :: comm_old, ndims, dims(*)
      logical :: periods(*), reorder
      integer :: comm_cart, ierror
    end subroutine
    subroutine MPI_CART_GET(comm, maxdims, dims, periods, coords, ierror)
      import
      integer :: comm, maxdims, dims(*)
      logical :: periods(*)
      integer :: coords(*), ierror
    end subroutine
    subroutine MPI_CART_MAP(comm, ndims, dims, periods, newrank, ierror)
      import
      integer :: comm, ndims, dims(*)
      logical :: periods(*)
      integer :: newrank, ierror
    end subroutine
    subroutine MPI_CART_RANK(comm, coords, rank, ierror)
      import
      integer :: comm, coords(*), rank, ierror
    end subroutine
    subroutine MPI_CART_SHIFT(comm, direction, disp, rank_source, rank_dest, ierror)
      import
      integer :: comm, direction, disp, rank_source, rank_dest, ierror
    end subroutine
    subroutine MPI_CART_SUB(comm, remain_dims, newcomm, ierror)
      import
      integer :: comm
      logical :: remain_dims(*)
      integer :: newcomm, ierror
    end subroutine
    subroutine MPI_CARTDIM_GET(comm, ndims, ierror)
      import
      integer :: comm, ndims, ierror
    end subroutine
    subroutine MPI_CLOSE_PORT(port_name, ierror)
      import
      character(len=*) :: port_name
      integer :: ierror
    end subroutine
    subroutine MPI_COMM_ACCEPT(port_name, info, root, comm, newcomm, ierror)
      import
      character(len=*) :: port_name
      integer :: info, root, comm, newcomm, ierror
    end subroutine
    subroutine MPI_COMM_ATTACH_BUFFER(comm, buffer, size, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buffer
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buffer
!DIR$ IGNORE_TKR buffer
!$PRAGMA IGNORE_TKR buffer
!IBM* IGNORE_TKR buffer
      integer :: comm
      type(*), dimension(*) :: buffer
      integer :: size, ierror
    end subroutine
    subroutine MPI_COMM_CALL_ERRHANDLER(comm, errorcode, ierror)
      import
      integer :: comm, errorcode, ierror
    end subroutine
    subroutine MPI_COMM_COMPARE(comm1, comm2, result, ierror)
      import
      integer :: comm1, comm2, result, ierror
    end subroutine
    subroutine MPI_COMM_CONNECT(port_name, info, root, comm, newcomm, ierror)
      import
      character(len=*) :: port_name
      integer :: info, root, comm, newcomm, ierror
    end subroutine
    subroutine MPI_COMM_CREATE(comm, group, newcomm, ierror)
      import
      integer :: comm, group, newcomm, ierror
    end subroutine
    subroutine MPI_COMM_CREATE_ERRHANDLER(comm_errhandler_fn, errhandler, ierror)
      import
      external :: comm_errhandler_fn
      integer :: errhandler, ierror
    end subroutine
    subroutine MPI_COMM_CREATE_FROM_GROUP(group, stringtag, info, errhandler, newcomm, ierror)
      import
      integer :: group
      character(len=*) :: stringtag
      integer :: info, errhandler, newcomm, ierror
    end subroutine
    subroutine MPI_COMM_CREATE_GROUP(comm, group, tag, newcomm, ierror)
      import
      integer :: comm, group, tag, newcomm, ierror
    end subroutine
    subroutine MPI_COMM_CREATE_KEYVAL(comm_copy_attr_fn, comm_delete_attr_fn, comm_keyval, &
        extra_state, ierror)
      import
      external :: comm_copy_attr_fn, comm_delete_attr_fn
      integer :: comm_keyval
      integer(MPI_ADDRESS_KIND) :: extra_state
      integer :: ierror
    end subroutine
    subroutine MPI_COMM_DELETE_ATTR(comm, comm_keyval, ierror)
      import
      integer :: comm, comm_keyval, ierror
    end subroutine
    subroutine MPI_COMM_DETACH_BUFFER(comm, buffer_addr, size, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buffer_addr
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buffer_addr
!DIR$ IGNORE_TKR buffer_addr
!$PRAGMA IGNORE_TKR buffer_addr
!IBM* IGNORE_TKR buffer_addr
      integer :: comm
      type(*), dimension(*) :: buffer_addr
      integer :: size, ierror
    end subroutine
    subroutine MPI_COMM_DISCONNECT(comm, ierror)
      import
      integer :: comm, ierror
    end subroutine
    subroutine MPI_COMM_DUP(comm, newcomm, ierror)
      import
      integer :: comm, newcomm, ierror
    end subroutine
    subroutine MPI_COMM_DUP_WITH_INFO(comm, info, newcomm, ierror)
      import
      integer :: comm, info, newcomm, ierror
    end subroutine
    subroutine MPI_COMM_FLUSH_BUFFER(comm, ierror)
      import
      integer :: comm, ierror
    end subroutine
    subroutine MPI_COMM_FREE(comm, ierror)
      import
      integer :: comm, ierror
    end subroutine
    subroutine MPI_COMM_FREE_KEYVAL(comm_keyval, ierror)
      import
      integer :: comm_keyval, ierror
    end subroutine
    subroutine MPI_COMM_GET_ATTR(comm, comm_keyval, attribute_val, flag, ierror)
      import
      integer :: comm, comm_keyval
      integer(MPI_ADDRESS_KIND) :: attribute_val
      logical :: flag
      integer :: ierror
    end subroutine
    subroutine MPI_COMM_GET_ERRHANDLER(comm, errhandler, ierror)
      import
      integer :: comm, errhandler, ierror
    end subroutine
    subroutine MPI_COMM_GET_INFO(comm, info_used, ierror)
      import
      integer :: comm, info_used, ierror
    end subroutine
    subroutine MPI_COMM_GET_NAME(comm, comm_name, resultlen, ierror)
      import
      integer :: comm
      character(len=*) :: comm_name
      integer :: resultlen, ierror
    end subroutine
    subroutine MPI_COMM_GET_PARENT(parent, ierror)
      import
      integer :: parent, ierror
    end subroutine
    subroutine MPI_COMM_GROUP(comm, group, ierror)
      import
      integer :: comm, group, ierror
    end subroutine
    subroutine MPI_COMM_IDUP(comm, newcomm, request, ierror)
      import
      integer :: comm, newcomm, request, ierror
    end subroutine
    subroutine MPI_COMM_IDUP_WITH_INFO(comm, info, newcomm, request, ierror)
      import
      integer :: comm, info, newcomm, request, ierror
    end subroutine
    subroutine MPI_COMM_IFLUSH_BUFFER(comm, request, ierror)
      import
      integer :: comm, request, ierror
    end subroutine
    subroutine MPI_COMM_JOIN(fd, intercomm, ierror)
      import
      integer :: fd, intercomm, ierror
    end subroutine
    subroutine MPI_COMM_RANK(comm, rank, ierror)
      import
      integer :: comm, rank, ierror
    end subroutine
    subroutine MPI_COMM_REMOTE_GROUP(comm, group, ierror)
      import
      integer :: comm, group, ierror
    end subroutine
    subroutine MPI_COMM_REMOTE_SIZE(comm, size, ierror)
      import
      integer :: comm, size, ierror
    end subroutine
    subroutine MPI_COMM_SET_ATTR(comm, comm_keyval, attribute_val, ierror)
      import
      integer :: comm, comm_keyval
      integer(MPI_ADDRESS_KIND) :: attribute_val
      integer :: ierror
    end subroutine
    subroutine MPI_COMM_SET_ERRHANDLER(comm, errhandler, ierror)
      import
      integer :: comm, errhandler, ierror
    end subroutine
    subroutine MPI_COMM_SET_INFO(comm, info, ierror)
      import
      integer :: comm, info, ierror
    end subroutine
    subroutine MPI_COMM_SET_NAME(comm, comm_name, ierror)
      import
      integer :: comm
      character(len=*) :: comm_name
      integer :: ierror
    end subroutine
    subroutine MPI_COMM_SIZE(comm, size, ierror)
      import
      integer :: comm, size, ierror
    end subroutine
    subroutine MPI_COMM_SPAWN(command, argv, maxprocs, info, root, comm, intercomm, &
        array_of_errcodes, ierror)
      import
      character(len=*) :: command, argv(*)
      integer :: maxprocs, info, root, comm, intercomm, array_of_errcodes(*), ierror
    end subroutine
    subroutine MPI_COMM_SPAWN_MULTIPLE(count, array_of_commands, array_of_argv, array_of_maxprocs, &
        array_of_info, root, comm, intercomm, array_of_errcodes, ierror)
      import
      integer :: count
      character(len=*) :: array_of_commands(*), array_of_argv(count,*)
      integer :: array_of_maxprocs(*), array_of_info(*), root, comm, intercomm, &
          array_of_errcodes(*), ierror
    end subroutine
    subroutine MPI_COMM_SPLIT(comm, color, key, newcomm, ierror)
      import
      integer :: comm, color, key, newcomm, ierror
    end subroutine
    subroutine MPI_COMM_SPLIT_TYPE(comm, split_type, key, info, newcomm, ierror)
      import
      integer :: comm, split_type, key, info, newcomm, ierror
    end subroutine
    subroutine MPI_COMM_TEST_INTER(comm, flag, ierror)
      import
      integer :: comm
      logical :: flag
      integer :: ierror
    end subroutine
    subroutine MPI_COMPARE_AND_SWAP(origin_addr, compare_addr, result_addr, datatype, target_rank, &
        target_disp, win, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr, compare_addr, result_addr
!DEC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr, compare_addr, result_addr
!DIR$ IGNORE_TKR origin_addr, compare_addr, result_addr
!$PRAGMA IGNORE_TKR origin_addr, compare_addr, result_addr
!IBM* IGNORE_TKR origin_addr, compare_addr, result_addr
      type(*), dimension(*) :: origin_addr, compare_addr, result_addr
      integer :: datatype, target_rank
      integer(MPI_ADDRESS_KIND) :: target_disp
      integer :: win, ierror
    end subroutine
    subroutine MPI_DIMS_CREATE(nnodes, ndims, dims, ierror)
      import
      integer :: nnodes, ndims, dims(*), ierror
    end subroutine
    subroutine MPI_DIST_GRAPH_CREATE(comm_old, n, sources, degrees, destinations, weights, info, &
        reorder, comm_dist_graph, ierror)
      import
      integer :: comm_old, n, sources(*), degrees(*), destinations(*), weights(*), info
      logical :: reorder
      integer :: comm_dist_graph, ierror
    end subroutine
    subroutine MPI_DIST_GRAPH_CREATE_ADJACENT(comm_old, indegree, sources, sourceweights, &
        outdegree, destinations, destweights, info, reorder, comm_dist_graph, ierror)
      import
      integer :: comm_old, indegree, sources(*), sourceweights(*), outdegree, destinations(*), &
          destweights(*), info
      logical :: reorder
      integer :: comm_dist_graph, ierror
    end subroutine
    subroutine MPI_DIST_GRAPH_NEIGHBORS(comm, maxindegree, sources, sourceweights, maxoutdegree, &
        destinations, destweights, ierror)
      import
      integer :: comm, maxindegree, sources(*), sourceweights(*), maxoutdegree, destinations(*), &
          destweights(*), ierror
    end subroutine
    subroutine MPI_DIST_GRAPH_NEIGHBORS_COUNT(comm, indegree, outdegree, weighted, ierror)
      import
      integer :: comm, indegree, outdegree
      logical :: weighted
      integer :: ierror
    end subroutine
    subroutine MPI_ERRHANDLER_FREE(errhandler, ierror)
      import
      integer :: errhandler, ierror
    end subroutine
    subroutine MPI_ERROR_CLASS(errorcode, errorclass, ierror)
      import
      integer :: errorcode, errorclass, ierror
    end subroutine
    subroutine MPI_ERROR_STRING(errorcode, string, resultlen, ierror)
      import
      integer :: errorcode
      character(len=*) :: string
      integer :: resultlen, ierror
    end subroutine
    subroutine MPI_EXSCAN(sendbuf, recvbuf, count, datatype, op, comm, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf, recvbuf
      integer :: count, datatype, op, comm, ierror
    end subroutine
    subroutine MPI_EXSCAN_INIT(sendbuf, recvbuf, count, datatype, op, comm, info, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf, recvbuf
      integer :: count, datatype, op, comm, info, request, ierror
    end subroutine
    subroutine MPI_F_SYNC_REG(buf)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      type(*), dimension(*) :: buf
    end subroutine
    subroutine MPI_FETCH_AND_OP(origin_addr, result_addr, datatype, target_rank, target_disp, op, &
        win, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr, result_addr
!DEC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr, result_addr
!DIR$ IGNORE_TKR origin_addr, result_addr
!$PRAGMA IGNORE_TKR origin_addr, result_addr
!IBM* IGNORE_TKR origin_addr, result_addr
      type(*), dimension(*) :: origin_addr, result_addr
      integer :: datatype, target_rank
      integer(MPI_ADDRESS_KIND) :: target_disp
      integer :: op, win, ierror
    end subroutine
    subroutine MPI_FILE_CALL_ERRHANDLER(fh, errorcode, ierror)
      import
      integer :: fh, errorcode, ierror
    end subroutine
    subroutine MPI_FILE_CLOSE(fh, ierror)
      import
      integer :: fh, ierror
    end subroutine
    subroutine MPI_FILE_CREATE_ERRHANDLER(file_errhandler_fn, errhandler, ierror)
      import
      external :: file_errhandler_fn
      integer :: errhandler, ierror
    end subroutine
    subroutine MPI_FILE_DELETE(filename, info, ierror)
      import
      character(len=*) :: filename
      integer :: info, ierror
    end subroutine
    subroutine MPI_FILE_GET_AMODE(fh, amode, ierror)
      import
      integer :: fh, amode, ierror
    end subroutine
    subroutine MPI_FILE_GET_ATOMICITY(fh, flag, ierror)
      import
      integer :: fh
      logical :: flag
      integer :: ierror
    end subroutine
    subroutine MPI_FILE_GET_BYTE_OFFSET(fh, offset, disp, ierror)
      import
      integer :: fh
      integer(MPI_OFFSET_KIND) :: offset, disp
      integer :: ierror
    end subroutine
    subroutine MPI_FILE_GET_ERRHANDLER(file, errhandler, ierror)
      import
      integer :: file, errhandler, ierror
    end subroutine
    subroutine MPI_FILE_GET_GROUP(fh, group, ierror)
      import
      integer :: fh, group, ierror
    end subroutine
    subroutine MPI_FILE_GET_INFO(fh, info_used, ierror)
      import
      integer :: fh, info_used, ierror
    end subroutine
    subroutine MPI_FILE_GET_POSITION(fh, offset, ierror)
      import
      integer :: fh
      integer(MPI_OFFSET_KIND) :: offset
      integer :: ierror
    end subroutine
    subroutine MPI_FILE_GET_POSITION_SHARED(fh, offset, ierror)
      import
      integer :: fh
      integer(MPI_OFFSET_KIND) :: offset
      integer :: ierror
    end subroutine
    subroutine MPI_FILE_GET_SIZE(fh, size, ierror)
      import
      integer :: fh
      integer(MPI_OFFSET_KIND) :: size
      integer :: ierror
    end subroutine
    subroutine MPI_FILE_GET_TYPE_EXTENT(fh, datatype, extent, ierror)
      import
      integer :: fh, datatype
      integer(MPI_ADDRESS_KIND) :: extent
      integer :: ierror
    end subroutine
    subroutine MPI_FILE_GET_VIEW(fh, disp, etype, filetype, datarep, ierror)
      import
      integer :: fh
      integer(MPI_OFFSET_KIND) :: disp
      integer :: etype, filetype
      character(len=*) :: datarep
      integer :: ierror
    end subroutine
    subroutine MPI_FILE_IREAD(fh, buf, count, datatype, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      integer :: fh
      type(*), dimension(*) :: buf
      integer :: count, datatype, request, ierror
    end subroutine
    subroutine MPI_FILE_IREAD_ALL(fh, buf, count, datatype, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      integer :: fh
      type(*), dimension(*) :: buf
      integer :: count, datatype, request, ierror
    end subroutine
    subroutine MPI_FILE_IREAD_AT(fh, offset, buf, count, datatype, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      integer :: fh
      integer(MPI_OFFSET_KIND) :: offset
      type(*), dimension(*) :: buf
      integer :: count, datatype, request, ierror
    end subroutine
    subroutine MPI_FILE_IREAD_AT_ALL(fh, offset, buf, count, datatype, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      integer :: fh
      integer(MPI_OFFSET_KIND) :: offset
      type(*), dimension(*) :: buf
      integer :: count, datatype, request, ierror
    end subroutine
    subroutine MPI_FILE_IREAD_SHARED(fh, buf, count, datatype, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      integer :: fh
      type(*), dimension(*) :: buf
      integer :: count, datatype, request, ierror
    end subroutine
    subroutine MPI_FILE_IWRITE(fh, buf, count, datatype, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      integer :: fh
      type(*), dimension(*) :: buf
      integer :: count, datatype, request, ierror
    end subroutine
    subroutine MPI_FILE_IWRITE_ALL(fh, buf, count, datatype, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      integer :: fh
      type(*), dimension(*) :: buf
      integer :: count, datatype, request, ierror
    end subroutine
    subroutine MPI_FILE_IWRITE_AT(fh, offset, buf, count, datatype, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      integer :: fh
      integer(MPI_OFFSET_KIND) :: offset
      type(*), dimension(*) :: buf
      integer :: count, datatype, request, ierror
    end subroutine
    subroutine MPI_FILE_IWRITE_AT_ALL(fh, offset, buf, count, datatype, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      integer :: fh
      integer(MPI_OFFSET_KIND) :: offset
      type(*), dimension(*) :: buf
      integer :: count, datatype, request, ierror
    end subroutine
    subroutine MPI_FILE_IWRITE_SHARED(fh, buf, count, datatype, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      integer :: fh
      type(*), dimension(*) :: buf
      integer :: count, datatype, request, ierror
    end subroutine
    subroutine MPI_FILE_OPEN(comm, filename, amode, info, fh, ierror)
      import
      integer :: comm
      character(len=*) :: filename
      integer :: amode, info, fh, ierror
    end subroutine
    subroutine MPI_FILE_PREALLOCATE(fh, size, ierror)
      import
      integer :: fh
      integer(MPI_OFFSET_KIND) :: size
      integer :: ierror
    end subroutine
    subroutine MPI_FILE_READ(fh, buf, count, datatype, status, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      integer :: fh
      type(*), dimension(*) :: buf
      integer :: count, datatype, status(MPI_STATUS_SIZE), ierror
    end subroutine
    subroutine MPI_FILE_READ_ALL(fh, buf, count, datatype, status, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      integer :: fh
      type(*), dimension(*) :: buf
      integer :: count, datatype, status(MPI_STATUS_SIZE), ierror
    end subroutine
    subroutine MPI_FILE_READ_ALL_BEGIN(fh, buf, count, datatype, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      integer :: fh
      type(*), dimension(*) :: buf
      integer :: count, datatype, ierror
    end subroutine
    subroutine MPI_FILE_READ_ALL_END(fh, buf, status, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      integer :: fh
      type(*), dimension(*) :: buf
      integer :: status(MPI_STATUS_SIZE), ierror
    end subroutine
    subroutine MPI_FILE_READ_AT(fh, offset, buf, count, datatype, status, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      integer :: fh
      integer(MPI_OFFSET_KIND) :: offset
      type(*), dimension(*) :: buf
      integer :: count, datatype, status(MPI_STATUS_SIZE), ierror
    end subroutine
    subroutine MPI_FILE_READ_AT_ALL(fh, offset, buf, count, datatype, status, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      integer :: fh
      integer(MPI_OFFSET_KIND) :: offset
      type(*), dimension(*) :: buf
      integer :: count, datatype, status(MPI_STATUS_SIZE), ierror
    end subroutine
    subroutine MPI_FILE_READ_AT_ALL_BEGIN(fh, offset, buf, count, datatype, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      integer :: fh
      integer(MPI_OFFSET_KIND) :: offset
      type(*), dimension(*) :: buf
      integer :: count, datatype, ierror
    end subroutine
    subroutine MPI_FILE_READ_AT_ALL_END(fh, buf, status, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      integer :: fh
      type(*), dimension(*) :: buf
      integer :: status(MPI_STATUS_SIZE), ierror
    end subroutine
    subroutine MPI_FILE_READ_ORDERED(fh, buf, count, datatype, status, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      integer :: fh
      type(*), dimension(*) :: buf
      integer :: count, datatype, status(MPI_STATUS_SIZE), ierror
    end subroutine
    subroutine MPI_FILE_READ_ORDERED_BEGIN(fh, buf, count, datatype, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      integer :: fh
      type(*), dimension(*) :: buf
      integer :: count, datatype, ierror
    end subroutine
    subroutine MPI_FILE_READ_ORDERED_END(fh, buf, status, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      integer :: fh
      type(*), dimension(*) :: buf
      integer :: status(MPI_STATUS_SIZE), ierror
    end subroutine
    subroutine MPI_FILE_READ_SHARED(fh, buf, count, datatype, status, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      integer :: fh
      type(*), dimension(*) :: buf
      integer :: count, datatype, status(MPI_STATUS_SIZE), ierror
    end subroutine
    subroutine MPI_FILE_SEEK(fh, offset, whence, ierror)
      import
      integer :: fh
      integer(MPI_OFFSET_KIND) :: offset
      integer :: whence, ierror
    end subroutine
    subroutine MPI_FILE_SEEK_SHARED(fh, offset, whence, ierror)
      import
      integer :: fh
      integer(MPI_OFFSET_KIND) :: offset
      integer :: whence, ierror
    end subroutine
    subroutine MPI_FILE_SET_ATOMICITY(fh, flag, ierror)
      import
      integer :: fh
      logical :: flag
      integer :: ierror
    end subroutine
    subroutine MPI_FILE_SET_ERRHANDLER(file, errhandler, ierror)
      import
      integer :: file, errhandler, ierror
    end subroutine
    subroutine MPI_FILE_SET_INFO(fh, info, ierror)
      import
      integer :: fh, info, ierror
    end subroutine
    subroutine MPI_FILE_SET_SIZE(fh, size, ierror)
      import
      integer :: fh
      integer(MPI_OFFSET_KIND) :: size
      integer :: ierror
    end subroutine
    subroutine MPI_FILE_SET_VIEW(fh, disp, etype, filetype, datarep, info, ierror)
      import
      integer :: fh
      integer(MPI_OFFSET_KIND) :: disp
      integer :: etype, filetype
      character(len=*) :: datarep
      integer :: info, ierror
    end subroutine
    subroutine MPI_FILE_SYNC(fh, ierror)
      import
      integer :: fh, ierror
    end subroutine
    subroutine MPI_FILE_WRITE(fh, buf, count, datatype, status, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      integer :: fh
      type(*), dimension(*) :: buf
      integer :: count, datatype, status(MPI_STATUS_SIZE), ierror
    end subroutine
    subroutine MPI_FILE_WRITE_ALL(fh, buf, count, datatype, status, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      integer :: fh
      type(*), dimension(*) :: buf
      integer :: count, datatype, status(MPI_STATUS_SIZE), ierror
    end subroutine
    subroutine MPI_FILE_WRITE_ALL_BEGIN(fh, buf, count, datatype, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      integer :: fh
      type(*), dimension(*) :: buf
      integer :: count, datatype, ierror
    end subroutine
    subroutine MPI_FILE_WRITE_ALL_END(fh, buf, status, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      integer :: fh
      type(*), dimension(*) :: buf
      integer :: status(MPI_STATUS_SIZE), ierror
    end subroutine
    subroutine MPI_FILE_WRITE_AT(fh, offset, buf, count, datatype, status, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      integer :: fh
      integer(MPI_OFFSET_KIND) :: offset
      type(*), dimension(*) :: buf
      integer :: count, datatype, status(MPI_STATUS_SIZE), ierror
    end subroutine
    subroutine MPI_FILE_WRITE_AT_ALL(fh, offset, buf, count, datatype, status, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      integer :: fh
      integer(MPI_OFFSET_KIND) :: offset
      type(*), dimension(*) :: buf
      integer :: count, datatype, status(MPI_STATUS_SIZE), ierror
    end subroutine
    subroutine MPI_FILE_WRITE_AT_ALL_BEGIN(fh, offset, buf, count, datatype, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      integer :: fh
      integer(MPI_OFFSET_KIND) :: offset
      type(*), dimension(*) :: buf
      integer :: count, datatype, ierror
    end subroutine
    subroutine MPI_FILE_WRITE_AT_ALL_END(fh, buf, status, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      integer :: fh
      type(*), dimension(*) :: buf
      integer :: status(MPI_STATUS_SIZE), ierror
    end subroutine
    subroutine MPI_FILE_WRITE_ORDERED(fh, buf, count, datatype, status, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      integer :: fh
      type(*), dimension(*) :: buf
      integer :: count, datatype, status(MPI_STATUS_SIZE), ierror
    end subroutine
    subroutine MPI_FILE_WRITE_ORDERED_BEGIN(fh, buf, count, datatype, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      integer :: fh
      type(*), dimension(*) :: buf
      integer :: count, datatype, ierror
    end subroutine
    subroutine MPI_FILE_WRITE_ORDERED_END(fh, buf, status, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      integer :: fh
      type(*), dimension(*) :: buf
      integer :: status(MPI_STATUS_SIZE), ierror
    end subroutine
    subroutine MPI_FILE_WRITE_SHARED(fh, buf, count, datatype, status, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      integer :: fh
      type(*), dimension(*) :: buf
      integer :: count, datatype, status(MPI_STATUS_SIZE), ierror
    end subroutine
    subroutine MPI_FINALIZE(ierror)
      import
      integer :: ierror
    end subroutine
    subroutine MPI_FINALIZED(flag, ierror)
      import
      logical :: flag
      integer :: ierror
    end subroutine
    subroutine MPI_FREE_MEM(base, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: base
!DEC$ ATTRIBUTES NO_ARG_CHECK :: base
!DIR$ IGNORE_TKR base
!$PRAGMA IGNORE_TKR base
!IBM* IGNORE_TKR base
      type(*), dimension(*) :: base
      integer :: ierror
    end subroutine
    subroutine MPI_GATHER(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm, &
        ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcount, sendtype
      type(*), dimension(*) :: recvbuf
      integer :: recvcount, recvtype, root, comm, ierror
    end subroutine
    subroutine MPI_GATHER_INIT(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, &
        comm, info, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcount, sendtype
      type(*), dimension(*) :: recvbuf
      integer :: recvcount, recvtype, root, comm, info, request, ierror
    end subroutine
    subroutine MPI_GATHERV(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, &
        root, comm, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcount, sendtype
      type(*), dimension(*) :: recvbuf
      integer :: recvcounts(*), displs(*), recvtype, root, comm, ierror
    end subroutine
    subroutine MPI_GATHERV_INIT(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
        recvtype, root, comm, info, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcount, sendtype
      type(*), dimension(*) :: recvbuf
      integer :: recvcounts(*), displs(*), recvtype, root, comm, info, request, ierror
    end subroutine
    subroutine MPI_GET(origin_addr, origin_count, origin_datatype, target_rank, target_disp, &
        target_count, target_datatype, win, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr
!DEC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr
!DIR$ IGNORE_TKR origin_addr
!$PRAGMA IGNORE_TKR origin_addr
!IBM* IGNORE_TKR origin_addr
      type(*), dimension(*) :: origin_addr
      integer :: origin_count, origin_datatype, target_rank
      integer(MPI_ADDRESS_KIND) :: target_disp
      integer :: target_count, target_datatype, win, ierror
    end subroutine
    subroutine MPI_GET_ACCUMULATE(origin_addr, origin_count, origin_datatype, result_addr, &
        result_count, result_datatype, target_rank, target_disp, target_count, target_datatype, &
        op, win, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr, result_addr
!DEC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr, result_addr
!DIR$ IGNORE_TKR origin_addr, result_addr
!$PRAGMA IGNORE_TKR origin_addr, result_addr
!IBM* IGNORE_TKR origin_addr, result_addr
      type(*), dimension(*) :: origin_addr
      integer :: origin_count, origin_datatype
      type(*), dimension(*) :: result_addr
      integer :: result_count, result_datatype, target_rank
      integer(MPI_ADDRESS_KIND) :: target_disp
      integer :: target_count, target_datatype, op, win, ierror
    end subroutine
    subroutine MPI_GET_ADDRESS(location, address, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: location
!DEC$ ATTRIBUTES NO_ARG_CHECK :: location
!DIR$ IGNORE_TKR location
!$PRAGMA IGNORE_TKR location
!IBM* IGNORE_TKR location
      type(*), dimension(*) :: location
      integer(MPI_ADDRESS_KIND) :: address
      integer :: ierror
    end subroutine
    subroutine MPI_GET_COUNT(status, datatype, count, ierror)
      import
      integer :: status(MPI_STATUS_SIZE), datatype, count, ierror
    end subroutine
    subroutine MPI_GET_ELEMENTS(status, datatype, count, ierror)
      import
      integer :: status(MPI_STATUS_SIZE), datatype, count, ierror
    end subroutine
    subroutine MPI_GET_ELEMENTS_X(status, datatype, count, ierror)
      import
      integer :: status(MPI_STATUS_SIZE), datatype
      integer(MPI_COUNT_KIND) :: count
      integer :: ierror
    end subroutine
    subroutine MPI_GET_HW_RESOURCE_INFO(hw_info, ierror)
      import
      integer :: hw_info, ierror
    end subroutine
    subroutine MPI_GET_LIBRARY_VERSION(version, resultlen, ierror)
      import
      character(len=*) :: version
      integer :: resultlen, ierror
    end subroutine
    subroutine MPI_GET_PROCESSOR_NAME(name, resultlen, ierror)
      import
      character(len=*) :: name
      integer :: resultlen, ierror
    end subroutine
    subroutine MPI_GET_VERSION(version, subversion, ierror)
      import
      integer :: version, subversion, ierror
    end subroutine
    subroutine MPI_GRAPH_CREATE(comm_old, nnodes, index, edges, reorder, comm_graph, ierror)
      import
      integer :: comm_old, nnodes, index(*), edges(*)
      logical :: reorder
      integer :: comm_graph, ierror
    end subroutine
    subroutine MPI_GRAPH_GET(comm, maxindex, maxedges, index, edges, ierror)
      import
      integer :: comm, maxindex, maxedges, index(*), edges(*), ierror
    end subroutine
    subroutine MPI_GRAPH_MAP(comm, nnodes, index, edges, newrank, ierror)
      import
      integer :: comm, nnodes, index(*), edges(*), newrank, ierror
    end subroutine
    subroutine MPI_GRAPH_NEIGHBORS(comm, rank, maxneighbors, neighbors, ierror)
      import
      integer :: comm, rank, maxneighbors, neighbors(*), ierror
    end subroutine
    subroutine MPI_GRAPH_NEIGHBORS_COUNT(comm, rank, nneighbors, ierror)
      import
      integer :: comm, rank, nneighbors, ierror
    end subroutine
    subroutine MPI_GRAPHDIMS_GET(comm, nnodes, nedges, ierror)
      import
      integer :: comm, nnodes, nedges, ierror
    end subroutine
    subroutine MPI_GREQUEST_COMPLETE(request, ierror)
      import
      integer :: request, ierror
    end subroutine
    subroutine MPI_GREQUEST_START(query_fn, free_fn, cancel_fn, extra_state, request, ierror)
      import
      external :: query_fn, free_fn, cancel_fn
      integer(MPI_ADDRESS_KIND) :: extra_state
      integer :: request, ierror
    end subroutine
    subroutine MPI_GROUP_COMPARE(group1, group2, result, ierror)
      import
      integer :: group1, group2, result, ierror
    end subroutine
    subroutine MPI_GROUP_DIFFERENCE(group1, group2, newgroup, ierror)
      import
      integer :: group1, group2, newgroup, ierror
    end subroutine
    subroutine MPI_GROUP_EXCL(group, n, ranks, newgroup, ierror)
      import
      integer :: group, n, ranks(*), newgroup, ierror
    end subroutine
    subroutine MPI_GROUP_FREE(group, ierror)
      import
      integer :: group, ierror
    end subroutine
    subroutine MPI_GROUP_FROM_SESSION_PSET(session, pset_name, newgroup, ierror)
      import
      integer :: session
      character(len=*) :: pset_name
      integer :: newgroup, ierror
    end subroutine
    subroutine MPI_GROUP_INCL(group, n, ranks, newgroup, ierror)
      import
      integer :: group, n, ranks(*), newgroup, ierror
    end subroutine
    subroutine MPI_GROUP_INTERSECTION(group1, group2, newgroup, ierror)
      import
      integer :: group1, group2, newgroup, ierror
    end subroutine
    subroutine MPI_GROUP_RANGE_EXCL(group, n, ranges, newgroup, ierror)
      import
      integer :: group, n, ranges(3,*), newgroup, ierror
    end subroutine
    subroutine MPI_GROUP_RANGE_INCL(group, n, ranges, newgroup, ierror)
      import
      integer :: group, n, ranges(3,*), newgroup, ierror
    end subroutine
    subroutine MPI_GROUP_RANK(group, rank, ierror)
      import
      integer :: group, rank, ierror
    end subroutine
    subroutine MPI_GROUP_SIZE(group, size, ierror)
      import
      integer :: group, size, ierror
    end subroutine
    subroutine MPI_GROUP_TRANSLATE_RANKS(group1, n, ranks1, group2, ranks2, ierror)
      import
      integer :: group1, n, ranks1(*), group2, ranks2(*), ierror
    end subroutine
    subroutine MPI_GROUP_UNION(group1, group2, newgroup, ierror)
      import
      integer :: group1, group2, newgroup, ierror
    end subroutine
    subroutine MPI_IALLGATHER(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, &
        request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcount, sendtype
      type(*), dimension(*) :: recvbuf
      integer :: recvcount, recvtype, comm, request, ierror
    end subroutine
    subroutine MPI_IALLGATHERV(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
        recvtype, comm, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcount, sendtype
      type(*), dimension(*) :: recvbuf
      integer :: recvcounts(*), displs(*), recvtype, comm, request, ierror
    end subroutine
    subroutine MPI_IALLREDUCE(sendbuf, recvbuf, count, datatype, op, comm, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf, recvbuf
      integer :: count, datatype, op, comm, request, ierror
    end subroutine
    subroutine MPI_IALLTOALL(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, &
        request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcount, sendtype
      type(*), dimension(*) :: recvbuf
      integer :: recvcount, recvtype, comm, request, ierror
    end subroutine
    subroutine MPI_IALLTOALLV(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, &
        rdispls, recvtype, comm, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcounts(*), sdispls(*), sendtype
      type(*), dimension(*) :: recvbuf
      integer :: recvcounts(*), rdispls(*), recvtype, comm, request, ierror
    end subroutine
    subroutine MPI_IALLTOALLW(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, &
        rdispls, recvtypes, comm, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcounts(*), sdispls(*), sendtypes(*)
      type(*), dimension(*) :: recvbuf
      integer :: recvcounts(*), rdispls(*), recvtypes(*), comm, request, ierror
    end subroutine
    subroutine MPI_IBARRIER(comm, request, ierror)
      import
      integer :: comm, request, ierror
    end subroutine
    subroutine MPI_IBCAST(buffer, count, datatype, root, comm, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buffer
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buffer
!DIR$ IGNORE_TKR buffer
!$PRAGMA IGNORE_TKR buffer
!IBM* IGNORE_TKR buffer
      type(*), dimension(*) :: buffer
      integer :: count, datatype, root, comm, request, ierror
    end subroutine
    subroutine MPI_IBSEND(buf, count, datatype, dest, tag, comm, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      type(*), dimension(*) :: buf
      integer :: count, datatype, dest, tag, comm, request, ierror
    end subroutine
    subroutine MPI_IEXSCAN(sendbuf, recvbuf, count, datatype, op, comm, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf, recvbuf
      integer :: count, datatype, op, comm, request, ierror
    end subroutine
    subroutine MPI_IGATHER(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm, &
        request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcount, sendtype
      type(*), dimension(*) :: recvbuf
      integer :: recvcount, recvtype, root, comm, request, ierror
    end subroutine
    subroutine MPI_IGATHERV(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, &
        root, comm, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcount, sendtype
      type(*), dimension(*) :: recvbuf
      integer :: recvcounts(*), displs(*), recvtype, root, comm, request, ierror
    end subroutine
    subroutine MPI_IMPROBE(source, tag, comm, flag, message, status, ierror)
      import
      integer :: source, tag, comm
      logical :: flag
      integer :: message, status(MPI_STATUS_SIZE), ierror
    end subroutine
    subroutine MPI_IMRECV(buf, count, datatype, message, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      type(*), dimension(*) :: buf
      integer :: count, datatype, message, request, ierror
    end subroutine
    subroutine MPI_INEIGHBOR_ALLGATHER(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
        comm, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcount, sendtype
      type(*), dimension(*) :: recvbuf
      integer :: recvcount, recvtype, comm, request, ierror
    end subroutine
    subroutine MPI_INEIGHBOR_ALLGATHERV(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
        recvtype, comm, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcount, sendtype
      type(*), dimension(*) :: recvbuf
      integer :: recvcounts(*), displs(*), recvtype, comm, request, ierror
    end subroutine
    subroutine MPI_INEIGHBOR_ALLTOALL(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
        comm, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcount, sendtype
      type(*), dimension(*) :: recvbuf
      integer :: recvcount, recvtype, comm, request, ierror
    end subroutine
    subroutine MPI_INEIGHBOR_ALLTOALLV(sendbuf, sendcounts, sdispls, sendtype, recvbuf, &
        recvcounts, rdispls, recvtype, comm, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcounts(*), sdispls(*), sendtype
      type(*), dimension(*) :: recvbuf
      integer :: recvcounts(*), rdispls(*), recvtype, comm, request, ierror
    end subroutine
    subroutine MPI_INEIGHBOR_ALLTOALLW(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, &
        recvcounts, rdispls, recvtypes, comm, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcounts(*)
      integer(MPI_ADDRESS_KIND) :: sdispls(*)
      integer :: sendtypes(*)
      type(*), dimension(*) :: recvbuf
      integer :: recvcounts(*)
      integer(MPI_ADDRESS_KIND) :: rdispls(*)
      integer :: recvtypes(*), comm, request, ierror
    end subroutine
    subroutine MPI_INFO_CREATE(info, ierror)
      import
      integer :: info, ierror
    end subroutine
    subroutine MPI_INFO_CREATE_ENV(info, ierror)
      import
      integer :: info, ierror
    end subroutine
    subroutine MPI_INFO_DELETE(info, key, ierror)
      import
      integer :: info
      character(len=*) :: key
      integer :: ierror
    end subroutine
    subroutine MPI_INFO_DUP(info, newinfo, ierror)
      import
      integer :: info, newinfo, ierror
    end subroutine
    subroutine MPI_INFO_FREE(info, ierror)
      import
      integer :: info, ierror
    end subroutine
    subroutine MPI_INFO_GET(info, key, valuelen, value, flag, ierror)
      import
      integer :: info
      character(len=*) :: key
      integer :: valuelen
      character(len=*) :: value
      logical :: flag
      integer :: ierror
    end subroutine
    subroutine MPI_INFO_GET_NKEYS(info, nkeys, ierror)
      import
      integer :: info, nkeys, ierror
    end subroutine
    subroutine MPI_INFO_GET_NTHKEY(info, n, key, ierror)
      import
      integer :: info, n
      character(len=*) :: key
      integer :: ierror
    end subroutine
    subroutine MPI_INFO_GET_STRING(info, key, buflen, value, flag, ierror)
      import
      integer :: info
      character(len=*) :: key
      integer :: buflen
      character(len=*) :: value
      logical :: flag
      integer :: ierror
    end subroutine
    subroutine MPI_INFO_GET_VALUELEN(info, key, valuelen, flag, ierror)
      import
      integer :: info
      character(len=*) :: key
      integer :: valuelen
      logical :: flag
      integer :: ierror
    end subroutine
    subroutine MPI_INFO_SET(info, key, value, ierror)
      import
      integer :: info
      character(len=*) :: key, value
      integer :: ierror
    end subroutine
    subroutine MPI_INIT(ierror)
      import
      integer :: ierror
    end subroutine
    subroutine MPI_INIT_THREAD(required, provided, ierror)
      import
      integer :: required, provided, ierror
    end subroutine
    subroutine MPI_INITIALIZED(flag, ierror)
      import
      logical :: flag
      integer :: ierror
    end subroutine
    subroutine MPI_INTERCOMM_CREATE(local_comm, local_leader, peer_comm, remote_leader, tag, &
        newintercomm, ierror)
      import
      integer :: local_comm, local_leader, peer_comm, remote_leader, tag, newintercomm, ierror
    end subroutine
    subroutine MPI_INTERCOMM_CREATE_FROM_GROUPS(local_group, local_leader, remote_group, &
        remote_leader, stringtag, info, errhandler, newintercomm, ierror)
      import
      integer :: local_group, local_leader, remote_group, remote_leader
      character(len=*) :: stringtag
      integer :: info, errhandler, newintercomm, ierror
    end subroutine
    subroutine MPI_INTERCOMM_MERGE(intercomm, high, newintracomm, ierror)
      import
      integer :: intercomm
      logical :: high
      integer :: newintracomm, ierror
    end subroutine
    subroutine MPI_IPROBE(source, tag, comm, flag, status, ierror)
      import
      integer :: source, tag, comm
      logical :: flag
      integer :: status(MPI_STATUS_SIZE), ierror
    end subroutine
    subroutine MPI_IRECV(buf, count, datatype, source, tag, comm, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      type(*), dimension(*) :: buf
      integer :: count, datatype, source, tag, comm, request, ierror
    end subroutine
    subroutine MPI_IREDUCE(sendbuf, recvbuf, count, datatype, op, root, comm, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf, recvbuf
      integer :: count, datatype, op, root, comm, request, ierror
    end subroutine
    subroutine MPI_IREDUCE_SCATTER(sendbuf, recvbuf, recvcounts, datatype, op, comm, request, &
        ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf, recvbuf
      integer :: recvcounts(*), datatype, op, comm, request, ierror
    end subroutine
    subroutine MPI_IREDUCE_SCATTER_BLOCK(sendbuf, recvbuf, recvcount, datatype, op, comm, request, &
        ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf, recvbuf
      integer :: recvcount, datatype, op, comm, request, ierror
    end subroutine
    subroutine MPI_IRSEND(buf, count, datatype, dest, tag, comm, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      type(*), dimension(*) :: buf
      integer :: count, datatype, dest, tag, comm, request, ierror
    end subroutine
    subroutine MPI_IS_THREAD_MAIN(flag, ierror)
      import
      logical :: flag
      integer :: ierror
    end subroutine
    subroutine MPI_ISCAN(sendbuf, recvbuf, count, datatype, op, comm, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf, recvbuf
      integer :: count, datatype, op, comm, request, ierror
    end subroutine
    subroutine MPI_ISCATTER(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, &
        comm, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcount, sendtype
      type(*), dimension(*) :: recvbuf
      integer :: recvcount, recvtype, root, comm, request, ierror
    end subroutine
    subroutine MPI_ISCATTERV(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, &
        root, comm, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcounts(*), displs(*), sendtype
      type(*), dimension(*) :: recvbuf
      integer :: recvcount, recvtype, root, comm, request, ierror
    end subroutine
    subroutine MPI_ISEND(buf, count, datatype, dest, tag, comm, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      type(*), dimension(*) :: buf
      integer :: count, datatype, dest, tag, comm, request, ierror
    end subroutine
    subroutine MPI_ISENDRECV(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, &
        recvtype, source, recvtag, comm, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcount, sendtype, dest, sendtag
      type(*), dimension(*) :: recvbuf
      integer :: recvcount, recvtype, source, recvtag, comm, request, ierror
    end subroutine
    subroutine MPI_ISENDRECV_REPLACE(buf, count, datatype, dest, sendtag, source, recvtag, comm, &
        request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      type(*), dimension(*) :: buf
      integer :: count, datatype, dest, sendtag, source, recvtag, comm, request, ierror
    end subroutine
    subroutine MPI_ISSEND(buf, count, datatype, dest, tag, comm, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      type(*), dimension(*) :: buf
      integer :: count, datatype, dest, tag, comm, request, ierror
    end subroutine
    subroutine MPI_KEYVAL_CREATE(copy_fn, delete_fn, keyval, extra_state, ierror)
      import
      external :: copy_fn, delete_fn
      integer :: keyval, extra_state, ierror
    end subroutine
    subroutine MPI_KEYVAL_FREE(keyval, ierror)
      import
      integer :: keyval, ierror
    end subroutine
    subroutine MPI_LOOKUP_NAME(service_name, info, port_name, ierror)
      import
      character(len=*) :: service_name
      integer :: info
      character(len=*) :: port_name
      integer :: ierror
    end subroutine
    subroutine MPI_MPROBE(source, tag, comm, message, status, ierror)
      import
      integer :: source, tag, comm, message, status(MPI_STATUS_SIZE), ierror
    end subroutine
    subroutine MPI_MRECV(buf, count, datatype, message, status, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      type(*), dimension(*) :: buf
      integer :: count, datatype, message, status(MPI_STATUS_SIZE), ierror
    end subroutine
    subroutine MPI_NEIGHBOR_ALLGATHER(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
        comm, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcount, sendtype
      type(*), dimension(*) :: recvbuf
      integer :: recvcount, recvtype, comm, ierror
    end subroutine
    subroutine MPI_NEIGHBOR_ALLGATHER_INIT(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
        recvtype, comm, info, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcount, sendtype
      type(*), dimension(*) :: recvbuf
      integer :: recvcount, recvtype, comm, info, request, ierror
    end subroutine
    subroutine MPI_NEIGHBOR_ALLGATHERV(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
        recvtype, comm, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcount, sendtype
      type(*), dimension(*) :: recvbuf
      integer :: recvcounts(*), displs(*), recvtype, comm, ierror
    end subroutine
    subroutine MPI_NEIGHBOR_ALLGATHERV_INIT(sendbuf, sendcount, sendtype, recvbuf, recvcounts, &
        displs, recvtype, comm, info, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcount, sendtype
      type(*), dimension(*) :: recvbuf
      integer :: recvcounts(*), displs(*), recvtype, comm, info, request, ierror
    end subroutine
    subroutine MPI_NEIGHBOR_ALLTOALL(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
        comm, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcount, sendtype
      type(*), dimension(*) :: recvbuf
      integer :: recvcount, recvtype, comm, ierror
    end subroutine
    subroutine MPI_NEIGHBOR_ALLTOALL_INIT(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
        recvtype, comm, info, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcount, sendtype
      type(*), dimension(*) :: recvbuf
      integer :: recvcount, recvtype, comm, info, request, ierror
    end subroutine
    subroutine MPI_NEIGHBOR_ALLTOALLV(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, &
        rdispls, recvtype, comm, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcounts(*), sdispls(*), sendtype
      type(*), dimension(*) :: recvbuf
      integer :: recvcounts(*), rdispls(*), recvtype, comm, ierror
    end subroutine
    subroutine MPI_NEIGHBOR_ALLTOALLV_INIT(sendbuf, sendcounts, sdispls, sendtype, recvbuf, &
        recvcounts, rdispls, recvtype, comm, info, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcounts(*), sdispls(*), sendtype
      type(*), dimension(*) :: recvbuf
      integer :: recvcounts(*), rdispls(*), recvtype, comm, info, request, ierror
    end subroutine
    subroutine MPI_NEIGHBOR_ALLTOALLW(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, &
        recvcounts, rdispls, recvtypes, comm, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcounts(*)
      integer(MPI_ADDRESS_KIND) :: sdispls(*)
      integer :: sendtypes(*)
      type(*), dimension(*) :: recvbuf
      integer :: recvcounts(*)
      integer(MPI_ADDRESS_KIND) :: rdispls(*)
      integer :: recvtypes(*), comm, ierror
    end subroutine
    subroutine MPI_NEIGHBOR_ALLTOALLW_INIT(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, &
        recvcounts, rdispls, recvtypes, comm, info, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcounts(*)
      integer(MPI_ADDRESS_KIND) :: sdispls(*)
      integer :: sendtypes(*)
      type(*), dimension(*) :: recvbuf
      integer :: recvcounts(*)
      integer(MPI_ADDRESS_KIND) :: rdispls(*)
      integer :: recvtypes(*), comm, info, request, ierror
    end subroutine
    subroutine MPI_OP_COMMUTATIVE(op, commute, ierror)
      import
      integer :: op
      logical :: commute
      integer :: ierror
    end subroutine
    subroutine MPI_OP_CREATE(user_fn, commute, op, ierror)
      import
      external :: user_fn
      logical :: commute
      integer :: op, ierror
    end subroutine
    subroutine MPI_OP_FREE(op, ierror)
      import
      integer :: op, ierror
    end subroutine
    subroutine MPI_OPEN_PORT(info, port_name, ierror)
      import
      integer :: info
      character(len=*) :: port_name
      integer :: ierror
    end subroutine
    subroutine MPI_PACK(inbuf, incount, datatype, outbuf, outsize, position, comm, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: inbuf, outbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: inbuf, outbuf
!DIR$ IGNORE_TKR inbuf, outbuf
!$PRAGMA IGNORE_TKR inbuf, outbuf
!IBM* IGNORE_TKR inbuf, outbuf
      type(*), dimension(*) :: inbuf
      integer :: incount, datatype
      type(*), dimension(*) :: outbuf
      integer :: outsize, position, comm, ierror
    end subroutine
    subroutine MPI_PACK_EXTERNAL(datarep, inbuf, incount, datatype, outbuf, outsize, position, &
        ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: inbuf, outbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: inbuf, outbuf
!DIR$ IGNORE_TKR inbuf, outbuf
!$PRAGMA IGNORE_TKR inbuf, outbuf
!IBM* IGNORE_TKR inbuf, outbuf
      character(len=*) :: datarep
      type(*), dimension(*) :: inbuf
      integer :: incount, datatype
      type(*), dimension(*) :: outbuf
      integer(MPI_ADDRESS_KIND) :: outsize, position
      integer :: ierror
    end subroutine
    subroutine MPI_PACK_EXTERNAL_SIZE(datarep, incount, datatype, size, ierror)
      import
      character(len=*) :: datarep
      integer :: incount, datatype
      integer(MPI_ADDRESS_KIND) :: size
      integer :: ierror
    end subroutine
    subroutine MPI_PACK_SIZE(incount, datatype, comm, size, ierror)
      import
      integer :: incount, datatype, comm, size, ierror
    end subroutine
    subroutine MPI_PARRIVED(request, partition, flag, ierror)
      import
      integer :: request, partition
      logical :: flag
      integer :: ierror
    end subroutine
    subroutine MPI_PCONTROL(level)
      import
      integer :: level
    end subroutine
    subroutine MPI_PREADY(partition, request, ierror)
      import
      integer :: partition, request, ierror
    end subroutine
    subroutine MPI_PREADY_LIST(length, array_of_partitions, request, ierror)
      import
      integer :: length, array_of_partitions(*), request, ierror
    end subroutine
    subroutine MPI_PREADY_RANGE(partition_low, partition_high, request, ierror)
      import
      integer :: partition_low, partition_high, request, ierror
    end subroutine
    subroutine MPI_PRECV_INIT(buf, partitions, count, datatype, source, tag, comm, info, request, &
        ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      type(*), dimension(*) :: buf
      integer :: partitions
      integer(MPI_COUNT_KIND) :: count
      integer :: datatype, source, tag, comm, info, request, ierror
    end subroutine
    subroutine MPI_PROBE(source, tag, comm, status, ierror)
      import
      integer :: source, tag, comm, status(MPI_STATUS_SIZE), ierror
    end subroutine
    subroutine MPI_PSEND_INIT(buf, partitions, count, datatype, dest, tag, comm, info, request, &
        ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      type(*), dimension(*) :: buf
      integer :: partitions
      integer(MPI_COUNT_KIND) :: count
      integer :: datatype, dest, tag, comm, info, request, ierror
    end subroutine
    subroutine MPI_PUBLISH_NAME(service_name, info, port_name, ierror)
      import
      character(len=*) :: service_name
      integer :: info
      character(len=*) :: port_name
      integer :: ierror
    end subroutine
    subroutine MPI_PUT(origin_addr, origin_count, origin_datatype, target_rank, target_disp, &
        target_count, target_datatype, win, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr
!DEC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr
!DIR$ IGNORE_TKR origin_addr
!$PRAGMA IGNORE_TKR origin_addr
!IBM* IGNORE_TKR origin_addr
      type(*), dimension(*) :: origin_addr
      integer :: origin_count, origin_datatype, target_rank
      integer(MPI_ADDRESS_KIND) :: target_disp
      integer :: target_count, target_datatype, win, ierror
    end subroutine
    subroutine MPI_QUERY_THREAD(provided, ierror)
      import
      integer :: provided, ierror
    end subroutine
    subroutine MPI_RACCUMULATE(origin_addr, origin_count, origin_datatype, target_rank, &
        target_disp, target_count, target_datatype, op, win, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr
!DEC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr
!DIR$ IGNORE_TKR origin_addr
!$PRAGMA IGNORE_TKR origin_addr
!IBM* IGNORE_TKR origin_addr
      type(*), dimension(*) :: origin_addr
      integer :: origin_count, origin_datatype, target_rank
      integer(MPI_ADDRESS_KIND) :: target_disp
      integer :: target_count, target_datatype, op, win, request, ierror
    end subroutine
    subroutine MPI_RECV(buf, count, datatype, source, tag, comm, status, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      type(*), dimension(*) :: buf
      integer :: count, datatype, source, tag, comm, status(MPI_STATUS_SIZE), ierror
    end subroutine
    subroutine MPI_RECV_INIT(buf, count, datatype, source, tag, comm, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      type(*), dimension(*) :: buf
      integer :: count, datatype, source, tag, comm, request, ierror
    end subroutine
    subroutine MPI_REDUCE(sendbuf, recvbuf, count, datatype, op, root, comm, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf, recvbuf
      integer :: count, datatype, op, root, comm, ierror
    end subroutine
    subroutine MPI_REDUCE_INIT(sendbuf, recvbuf, count, datatype, op, root, comm, info, request, &
        ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf, recvbuf
      integer :: count, datatype, op, root, comm, info, request, ierror
    end subroutine
    subroutine MPI_REDUCE_LOCAL(inbuf, inoutbuf, count, datatype, op, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: inbuf, inoutbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: inbuf, inoutbuf
!DIR$ IGNORE_TKR inbuf, inoutbuf
!$PRAGMA IGNORE_TKR inbuf, inoutbuf
!IBM* IGNORE_TKR inbuf, inoutbuf
      type(*), dimension(*) :: inbuf, inoutbuf
      integer :: count, datatype, op, ierror
    end subroutine
    subroutine MPI_REDUCE_SCATTER(sendbuf, recvbuf, recvcounts, datatype, op, comm, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf, recvbuf
      integer :: recvcounts(*), datatype, op, comm, ierror
    end subroutine
    subroutine MPI_REDUCE_SCATTER_BLOCK(sendbuf, recvbuf, recvcount, datatype, op, comm, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf, recvbuf
      integer :: recvcount, datatype, op, comm, ierror
    end subroutine
    subroutine MPI_REDUCE_SCATTER_BLOCK_INIT(sendbuf, recvbuf, recvcount, datatype, op, comm, &
        info, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf, recvbuf
      integer :: recvcount, datatype, op, comm, info, request, ierror
    end subroutine
    subroutine MPI_REDUCE_SCATTER_INIT(sendbuf, recvbuf, recvcounts, datatype, op, comm, info, &
        request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf, recvbuf
      integer :: recvcounts(*), datatype, op, comm, info, request, ierror
    end subroutine
    subroutine MPI_REGISTER_DATAREP(datarep, read_conversion_fn, write_conversion_fn, &
        dtype_file_extent_fn, extra_state, ierror)
      import
      character(len=*) :: datarep
      external :: read_conversion_fn, write_conversion_fn, dtype_file_extent_fn
      integer(MPI_ADDRESS_KIND) :: extra_state
      integer :: ierror
    end subroutine
    subroutine MPI_REMOVE_ERROR_CLASS(errorclass, ierror)
      import
      integer :: errorclass, ierror
    end subroutine
    subroutine MPI_REMOVE_ERROR_CODE(errorcode, ierror)
      import
      integer :: errorcode, ierror
    end subroutine
    subroutine MPI_REMOVE_ERROR_STRING(errorcode, ierror)
      import
      integer :: errorcode, ierror
    end subroutine
    subroutine MPI_REQUEST_FREE(request, ierror)
      import
      integer :: request, ierror
    end subroutine
    subroutine MPI_REQUEST_GET_STATUS(request, flag, status, ierror)
      import
      integer :: request
      logical :: flag
      integer :: status(MPI_STATUS_SIZE), ierror
    end subroutine
    subroutine MPI_REQUEST_GET_STATUS_ALL(count, array_of_requests, flag, array_of_statuses, &
        ierror)
      import
      integer :: count, array_of_requests(*)
      logical :: flag
      integer :: array_of_statuses(MPI_STATUS_SIZE,*), ierror
    end subroutine
    subroutine MPI_REQUEST_GET_STATUS_ANY(count, array_of_requests, index, flag, status, ierror)
      import
      integer :: count, array_of_requests(*), index
      logical :: flag
      integer :: status(MPI_STATUS_SIZE), ierror
    end subroutine
    subroutine MPI_REQUEST_GET_STATUS_SOME(incount, array_of_requests, outcount, array_of_indices, &
        array_of_statuses, ierror)
      import
      integer :: incount, array_of_requests(*), outcount, array_of_indices(*), &
          array_of_statuses(MPI_STATUS_SIZE,*), ierror
    end subroutine
    subroutine MPI_RGET(origin_addr, origin_count, origin_datatype, target_rank, target_disp, &
        target_count, target_datatype, win, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr
!DEC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr
!DIR$ IGNORE_TKR origin_addr
!$PRAGMA IGNORE_TKR origin_addr
!IBM* IGNORE_TKR origin_addr
      type(*), dimension(*) :: origin_addr
      integer :: origin_count, origin_datatype, target_rank
      integer(MPI_ADDRESS_KIND) :: target_disp
      integer :: target_count, target_datatype, win, request, ierror
    end subroutine
    subroutine MPI_RGET_ACCUMULATE(origin_addr, origin_count, origin_datatype, result_addr, &
        result_count, result_datatype, target_rank, target_disp, target_count, target_datatype, &
        op, win, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr, result_addr
!DEC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr, result_addr
!DIR$ IGNORE_TKR origin_addr, result_addr
!$PRAGMA IGNORE_TKR origin_addr, result_addr
!IBM* IGNORE_TKR origin_addr, result_addr
      type(*), dimension(*) :: origin_addr
      integer :: origin_count, origin_datatype
      type(*), dimension(*) :: result_addr
      integer :: result_count, result_datatype, target_rank
      integer(MPI_ADDRESS_KIND) :: target_disp
      integer :: target_count, target_datatype, op, win, request, ierror
    end subroutine
    subroutine MPI_RPUT(origin_addr, origin_count, origin_datatype, target_rank, target_disp, &
        target_count, target_datatype, win, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr
!DEC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr
!DIR$ IGNORE_TKR origin_addr
!$PRAGMA IGNORE_TKR origin_addr
!IBM* IGNORE_TKR origin_addr
      type(*), dimension(*) :: origin_addr
      integer :: origin_count, origin_datatype, target_rank
      integer(MPI_ADDRESS_KIND) :: target_disp
      integer :: target_count, target_datatype, win, request, ierror
    end subroutine
    subroutine MPI_RSEND(buf, count, datatype, dest, tag, comm, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      type(*), dimension(*) :: buf
      integer :: count, datatype, dest, tag, comm, ierror
    end subroutine
    subroutine MPI_RSEND_INIT(buf, count, datatype, dest, tag, comm, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      type(*), dimension(*) :: buf
      integer :: count, datatype, dest, tag, comm, request, ierror
    end subroutine
    subroutine MPI_SCAN(sendbuf, recvbuf, count, datatype, op, comm, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf, recvbuf
      integer :: count, datatype, op, comm, ierror
    end subroutine
    subroutine MPI_SCAN_INIT(sendbuf, recvbuf, count, datatype, op, comm, info, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf, recvbuf
      integer :: count, datatype, op, comm, info, request, ierror
    end subroutine
    subroutine MPI_SCATTER(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm, &
        ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcount, sendtype
      type(*), dimension(*) :: recvbuf
      integer :: recvcount, recvtype, root, comm, ierror
    end subroutine
    subroutine MPI_SCATTER_INIT(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, &
        comm, info, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcount, sendtype
      type(*), dimension(*) :: recvbuf
      integer :: recvcount, recvtype, root, comm, info, request, ierror
    end subroutine
    subroutine MPI_SCATTERV(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, &
        root, comm, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcounts(*), displs(*), sendtype
      type(*), dimension(*) :: recvbuf
      integer :: recvcount, recvtype, root, comm, ierror
    end subroutine
    subroutine MPI_SCATTERV_INIT(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, &
        recvtype, root, comm, info, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcounts(*), displs(*), sendtype
      type(*), dimension(*) :: recvbuf
      integer :: recvcount, recvtype, root, comm, info, request, ierror
    end subroutine
    subroutine MPI_SEND(buf, count, datatype, dest, tag, comm, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      type(*), dimension(*) :: buf
      integer :: count, datatype, dest, tag, comm, ierror
    end subroutine
    subroutine MPI_SEND_INIT(buf, count, datatype, dest, tag, comm, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      type(*), dimension(*) :: buf
      integer :: count, datatype, dest, tag, comm, request, ierror
    end subroutine
    subroutine MPI_SENDRECV(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, &
        recvtype, source, recvtag, comm, status, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
!DIR$ IGNORE_TKR sendbuf, recvbuf
!$PRAGMA IGNORE_TKR sendbuf, recvbuf
!IBM* IGNORE_TKR sendbuf, recvbuf
      type(*), dimension(*) :: sendbuf
      integer :: sendcount, sendtype, dest, sendtag
      type(*), dimension(*) :: recvbuf
      integer :: recvcount, recvtype, source, recvtag, comm, status(MPI_STATUS_SIZE), ierror
    end subroutine
    subroutine MPI_SENDRECV_REPLACE(buf, count, datatype, dest, sendtag, source, recvtag, comm, &
        status, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      type(*), dimension(*) :: buf
      integer :: count, datatype, dest, sendtag, source, recvtag, comm, status(MPI_STATUS_SIZE), &
          ierror
    end subroutine
    subroutine MPI_SESSION_ATTACH_BUFFER(session, buffer, size, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buffer
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buffer
!DIR$ IGNORE_TKR buffer
!$PRAGMA IGNORE_TKR buffer
!IBM* IGNORE_TKR buffer
      integer :: session
      type(*), dimension(*) :: buffer
      integer :: size, ierror
    end subroutine
    subroutine MPI_SESSION_CALL_ERRHANDLER(session, errorcode, ierror)
      import
      integer :: session, errorcode, ierror
    end subroutine
    subroutine MPI_SESSION_CREATE_ERRHANDLER(session_errhandler_fn, errhandler, ierror)
      import
      external :: session_errhandler_fn
      integer :: errhandler, ierror
    end subroutine
    subroutine MPI_SESSION_DETACH_BUFFER(session, buffer_addr, size, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buffer_addr
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buffer_addr
!DIR$ IGNORE_TKR buffer_addr
!$PRAGMA IGNORE_TKR buffer_addr
!IBM* IGNORE_TKR buffer_addr
      integer :: session
      type(*), dimension(*) :: buffer_addr
      integer :: size, ierror
    end subroutine
    subroutine MPI_SESSION_FINALIZE(session, ierror)
      import
      integer :: session, ierror
    end subroutine
    subroutine MPI_SESSION_FLUSH_BUFFER(session, ierror)
      import
      integer :: session, ierror
    end subroutine
    subroutine MPI_SESSION_GET_ERRHANDLER(session, errhandler, ierror)
      import
      integer :: session, errhandler, ierror
    end subroutine
    subroutine MPI_SESSION_GET_INFO(session, info_used, ierror)
      import
      integer :: session, info_used, ierror
    end subroutine
    subroutine MPI_SESSION_GET_NTH_PSET(session, info, n, pset_len, pset_name, ierror)
      import
      integer :: session, info, n, pset_len
      character(len=*) :: pset_name
      integer :: ierror
    end subroutine
    subroutine MPI_SESSION_GET_NUM_PSETS(session, info, npset_names, ierror)
      import
      integer :: session, info, npset_names, ierror
    end subroutine
    subroutine MPI_SESSION_GET_PSET_INFO(session, pset_name, info, ierror)
      import
      integer :: session
      character(len=*) :: pset_name
      integer :: info, ierror
    end subroutine
    subroutine MPI_SESSION_IFLUSH_BUFFER(session, request, ierror)
      import
      integer :: session, request, ierror
    end subroutine
    subroutine MPI_SESSION_INIT(info, errhandler, session, ierror)
      import
      integer :: info, errhandler, session, ierror
    end subroutine
    subroutine MPI_SESSION_SET_ERRHANDLER(session, errhandler, ierror)
      import
      integer :: session, errhandler, ierror
    end subroutine
    subroutine MPI_SSEND(buf, count, datatype, dest, tag, comm, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      type(*), dimension(*) :: buf
      integer :: count, datatype, dest, tag, comm, ierror
    end subroutine
    subroutine MPI_SSEND_INIT(buf, count, datatype, dest, tag, comm, request, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
!$PRAGMA IGNORE_TKR buf
!IBM* IGNORE_TKR buf
      type(*), dimension(*) :: buf
      integer :: count, datatype, dest, tag, comm, request, ierror
    end subroutine
    subroutine MPI_START(request, ierror)
      import
      integer :: request, ierror
    end subroutine
    subroutine MPI_STARTALL(count, array_of_requests, ierror)
      import
      integer :: count, array_of_requests(*), ierror
    end subroutine
    subroutine MPI_STATUS_F082F(f08_status, f_status, ierror)
      import
      type(MPI_Status) :: f08_status
      integer :: f_status(MPI_STATUS_SIZE), ierror
    end subroutine
    subroutine MPI_STATUS_F2F08(f_status, f08_status, ierror)
      import
      integer :: f_status(MPI_STATUS_SIZE)
      type(MPI_Status) :: f08_status
      integer :: ierror
    end subroutine
    subroutine MPI_STATUS_GET_ERROR(status, err, ierror)
      import
      integer :: status(MPI_STATUS_SIZE), err, ierror
    end subroutine
    subroutine MPI_STATUS_GET_SOURCE(status, source, ierror)
      import
      integer :: status(MPI_STATUS_SIZE), source, ierror
    end subroutine
    subroutine MPI_STATUS_GET_TAG(status, tag, ierror)
      import
      integer :: status(MPI_STATUS_SIZE), tag, ierror
    end subroutine
    subroutine MPI_STATUS_SET_CANCELLED(status, flag, ierror)
      import
      integer :: status(MPI_STATUS_SIZE)
      logical :: flag
      integer :: ierror
    end subroutine
    subroutine MPI_STATUS_SET_ELEMENTS(status, datatype, count, ierror)
      import
      integer :: status(MPI_STATUS_SIZE), datatype, count, ierror
    end subroutine
    subroutine MPI_STATUS_SET_ELEMENTS_X(status, datatype, count, ierror)
      import
      integer :: status(MPI_STATUS_SIZE), datatype
      integer(MPI_COUNT_KIND) :: count
      integer :: ierror
    end subroutine
    subroutine MPI_STATUS_SET_ERROR(status, err, ierror)
      import
      integer :: status(MPI_STATUS_SIZE), err, ierror
    end subroutine
    subroutine MPI_STATUS_SET_SOURCE(status, source, ierror)
      import
      integer :: status(MPI_STATUS_SIZE), source, ierror
    end subroutine
    subroutine MPI_STATUS_SET_TAG(status, tag, ierror)
      import
      integer :: status(MPI_STATUS_SIZE), tag, ierror
    end subroutine
    subroutine MPI_TEST(request, flag, status, ierror)
      import
      integer :: request
      logical :: flag
      integer :: status(MPI_STATUS_SIZE), ierror
    end subroutine
    subroutine MPI_TEST_CANCELLED(status, flag, ierror)
      import
      integer :: status(MPI_STATUS_SIZE)
      logical :: flag
      integer :: ierror
    end subroutine
    subroutine MPI_TESTALL(count, array_of_requests, flag, array_of_statuses, ierror)
      import
      integer :: count, array_of_requests(*)
      logical :: flag
      integer :: array_of_statuses(MPI_STATUS_SIZE,*), ierror
    end subroutine
    subroutine MPI_TESTANY(count, array_of_requests, index, flag, status, ierror)
      import
      integer :: count, array_of_requests(*), index
      logical :: flag
      integer :: status(MPI_STATUS_SIZE), ierror
    end subroutine
    subroutine MPI_TESTSOME(incount, array_of_requests, outcount, array_of_indices, &
        array_of_statuses, ierror)
      import
      integer :: incount, array_of_requests(*), outcount, array_of_indices(*), &
          array_of_statuses(MPI_STATUS_SIZE,*), ierror
    end subroutine
    subroutine MPI_TOPO_TEST(comm, status, ierror)
      import
      integer :: comm, status, ierror
    end subroutine
    subroutine MPI_TYPE_COMMIT(datatype, ierror)
      import
      integer :: datatype, ierror
    end subroutine
    subroutine MPI_TYPE_CONTIGUOUS(count, oldtype, newtype, ierror)
      import
      integer :: count, oldtype, newtype, ierror
    end subroutine
    subroutine MPI_TYPE_CREATE_DARRAY(size, rank, ndims, array_of_gsizes, array_of_distribs, &
        array_of_dargs, array_of_psizes, order, oldtype, newtype, ierror)
      import
      integer :: size, rank, ndims, array_of_gsizes(*), array_of_distribs(*), array_of_dargs(*), &
          array_of_psizes(*), order, oldtype, newtype, ierror
    end subroutine
    subroutine MPI_TYPE_CREATE_F90_COMPLEX(p, r, newtype, ierror)
      import
      integer :: p, r, newtype, ierror
    end subroutine
    subroutine MPI_TYPE_CREATE_F90_INTEGER(r, newtype, ierror)
      import
      integer :: r, newtype, ierror
    end subroutine
    subroutine MPI_TYPE_CREATE_F90_REAL(p, r, newtype, ierror)
      import
      integer :: p, r, newtype, ierror
    end subroutine
    subroutine MPI_TYPE_CREATE_HINDEXED(count, array_of_blocklengths, array_of_displacements, &
        oldtype, newtype, ierror)
      import
      integer :: count, array_of_blocklengths(*)
      integer(MPI_ADDRESS_KIND) :: array_of_displacements(*)
      integer :: oldtype, newtype, ierror
    end subroutine
    subroutine MPI_TYPE_CREATE_HINDEXED_BLOCK(count, blocklength, array_of_displacements, oldtype, &
        newtype, ierror)
      import
      integer :: count, blocklength
      integer(MPI_ADDRESS_KIND) :: array_of_displacements(*)
      integer :: oldtype, newtype, ierror
    end subroutine
    subroutine MPI_TYPE_CREATE_HVECTOR(count, blocklength, stride, oldtype, newtype, ierror)
      import
      integer :: count, blocklength
      integer(MPI_ADDRESS_KIND) :: stride
      integer :: oldtype, newtype, ierror
    end subroutine
    subroutine MPI_TYPE_CREATE_INDEXED_BLOCK(count, blocklength, array_of_displacements, oldtype, &
        newtype, ierror)
      import
      integer :: count, blocklength, array_of_displacements(*), oldtype, newtype, ierror
    end subroutine
    subroutine MPI_TYPE_CREATE_KEYVAL(type_copy_attr_fn, type_delete_attr_fn, type_keyval, &
        extra_state, ierror)
      import
      external :: type_copy_attr_fn, type_delete_attr_fn
      integer :: type_keyval
      integer(MPI_ADDRESS_KIND) :: extra_state
      integer :: ierror
    end subroutine
    subroutine MPI_TYPE_CREATE_RESIZED(oldtype, lb, extent, newtype, ierror)
      import
      integer :: oldtype
      integer(MPI_ADDRESS_KIND) :: lb, extent
      integer :: newtype, ierror
    end subroutine
    subroutine MPI_TYPE_CREATE_STRUCT(count, array_of_blocklengths, array_of_displacements, &
        array_of_types, newtype, ierror)
      import
      integer :: count, array_of_blocklengths(*)
      integer(MPI_ADDRESS_KIND) :: array_of_displacements(*)
      integer :: array_of_types(*), newtype, ierror
    end subroutine
    subroutine MPI_TYPE_CREATE_SUBARRAY(ndims, array_of_sizes, array_of_subsizes, array_of_starts, &
        order, oldtype, newtype, ierror)
      import
      integer :: ndims, array_of_sizes(*), array_of_subsizes(*), array_of_starts(*), order, &
          oldtype, newtype, ierror
    end subroutine
    subroutine MPI_TYPE_DELETE_ATTR(datatype, type_keyval, ierror)
      import
      integer :: datatype, type_keyval, ierror
    end subroutine
    subroutine MPI_TYPE_DUP(oldtype, newtype, ierror)
      import
      integer :: oldtype, newtype, ierror
    end subroutine
    subroutine MPI_TYPE_FREE(datatype, ierror)
      import
      integer :: datatype, ierror
    end subroutine
    subroutine MPI_TYPE_FREE_KEYVAL(type_keyval, ierror)
      import
      integer :: type_keyval, ierror
    end subroutine
    subroutine MPI_TYPE_GET_ATTR(datatype, type_keyval, attribute_val, flag, ierror)
      import
      integer :: datatype, type_keyval
      integer(MPI_ADDRESS_KIND) :: attribute_val
      logical :: flag
      integer :: ierror
    end subroutine
    subroutine MPI_TYPE_GET_CONTENTS(datatype, max_integers, max_addresses, max_datatypes, &
        array_of_integers, array_of_addresses, array_of_datatypes, ierror)
      import
      integer :: datatype, max_integers, max_addresses, max_datatypes, array_of_integers(*)
      integer(MPI_ADDRESS_KIND) :: array_of_addresses(*)
      integer :: array_of_datatypes(*), ierror
    end subroutine
    subroutine MPI_TYPE_GET_ENVELOPE(datatype, num_integers, num_addresses, num_datatypes, &
        combiner, ierror)
      import
      integer :: datatype, num_integers, num_addresses, num_datatypes, combiner, ierror
    end subroutine
    subroutine MPI_TYPE_GET_EXTENT(datatype, lb, extent, ierror)
      import
      integer :: datatype
      integer(MPI_ADDRESS_KIND) :: lb, extent
      integer :: ierror
    end subroutine
    subroutine MPI_TYPE_GET_EXTENT_X(datatype, lb, extent, ierror)
      import
      integer :: datatype
      integer(MPI_COUNT_KIND) :: lb, extent
      integer :: ierror
    end subroutine
    subroutine MPI_TYPE_GET_NAME(datatype, type_name, resultlen, ierror)
      import
      integer :: datatype
      character(len=*) :: type_name
      integer :: resultlen, ierror
    end subroutine
    subroutine MPI_TYPE_GET_TRUE_EXTENT(datatype, true_lb, true_extent, ierror)
      import
      integer :: datatype
      integer(MPI_ADDRESS_KIND) :: true_lb, true_extent
      integer :: ierror
    end subroutine
    subroutine MPI_TYPE_GET_TRUE_EXTENT_X(datatype, true_lb, true_extent, ierror)
      import
      integer :: datatype
      integer(MPI_COUNT_KIND) :: true_lb, true_extent
      integer :: ierror
    end subroutine
    subroutine MPI_TYPE_GET_VALUE_INDEX(value_type, index_type, pair_type, ierror)
      import
      integer :: value_type, index_type, pair_type, ierror
    end subroutine
    subroutine MPI_TYPE_INDEXED(count, array_of_blocklengths, array_of_displacements, oldtype, &
        newtype, ierror)
      import
      integer :: count, array_of_blocklengths(*), array_of_displacements(*), oldtype, newtype, &
          ierror
    end subroutine
    subroutine MPI_TYPE_MATCH_SIZE(typeclass, size, datatype, ierror)
      import
      integer :: typeclass, size, datatype, ierror
    end subroutine
    subroutine MPI_TYPE_SET_ATTR(datatype, type_keyval, attribute_val, ierror)
      import
      integer :: datatype, type_keyval
      integer(MPI_ADDRESS_KIND) :: attribute_val
      integer :: ierror
    end subroutine
    subroutine MPI_TYPE_SET_NAME(datatype, type_name, ierror)
      import
      integer :: datatype
      character(len=*) :: type_name
      integer :: ierror
    end subroutine
    subroutine MPI_TYPE_SIZE(datatype, size, ierror)
      import
      integer :: datatype, size, ierror
    end subroutine
    subroutine MPI_TYPE_SIZE_X(datatype, size, ierror)
      import
      integer :: datatype
      integer(MPI_COUNT_KIND) :: size
      integer :: ierror
    end subroutine
    subroutine MPI_TYPE_VECTOR(count, blocklength, stride, oldtype, newtype, ierror)
      import
      integer :: count, blocklength, stride, oldtype, newtype, ierror
    end subroutine
    subroutine MPI_UNPACK(inbuf, insize, position, outbuf, outcount, datatype, comm, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: inbuf, outbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: inbuf, outbuf
!DIR$ IGNORE_TKR inbuf, outbuf
!$PRAGMA IGNORE_TKR inbuf, outbuf
!IBM* IGNORE_TKR inbuf, outbuf
      type(*), dimension(*) :: inbuf
      integer :: insize, position
      type(*), dimension(*) :: outbuf
      integer :: outcount, datatype, comm, ierror
    end subroutine
    subroutine MPI_UNPACK_EXTERNAL(datarep, inbuf, insize, position, outbuf, outcount, datatype, &
        ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: inbuf, outbuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: inbuf, outbuf
!DIR$ IGNORE_TKR inbuf, outbuf
!$PRAGMA IGNORE_TKR inbuf, outbuf
!IBM* IGNORE_TKR inbuf, outbuf
      character(len=*) :: datarep
      type(*), dimension(*) :: inbuf
      integer(MPI_ADDRESS_KIND) :: insize, position
      type(*), dimension(*) :: outbuf
      integer :: outcount, datatype, ierror
    end subroutine
    subroutine MPI_UNPUBLISH_NAME(service_name, info, port_name, ierror)
      import
      character(len=*) :: service_name
      integer :: info
      character(len=*) :: port_name
      integer :: ierror
    end subroutine
    subroutine MPI_WAIT(request, status, ierror)
      import
      integer :: request, status(MPI_STATUS_SIZE), ierror
    end subroutine
    subroutine MPI_WAITALL(count, array_of_requests, array_of_statuses, ierror)
      import
      integer :: count, array_of_requests(*), array_of_statuses(MPI_STATUS_SIZE,*), ierror
    end subroutine
    subroutine MPI_WAITANY(count, array_of_requests, index, status, ierror)
      import
      integer :: count, array_of_requests(*), index, status(MPI_STATUS_SIZE), ierror
    end subroutine
    subroutine MPI_WAITSOME(incount, array_of_requests, outcount, array_of_indices, &
        array_of_statuses, ierror)
      import
      integer :: incount, array_of_requests(*), outcount, array_of_indices(*), &
          array_of_statuses(MPI_STATUS_SIZE,*), ierror
    end subroutine
    subroutine MPI_WIN_ATTACH(win, base, size, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: base
!DEC$ ATTRIBUTES NO_ARG_CHECK :: base
!DIR$ IGNORE_TKR base
!$PRAGMA IGNORE_TKR base
!IBM* IGNORE_TKR base
      integer :: win
      type(*), dimension(*) :: base
      integer(MPI_ADDRESS_KIND) :: size
      integer :: ierror
    end subroutine
    subroutine MPI_WIN_CALL_ERRHANDLER(win, errorcode, ierror)
      import
      integer :: win, errorcode, ierror
    end subroutine
    subroutine MPI_WIN_COMPLETE(win, ierror)
      import
      integer :: win, ierror
    end subroutine
    subroutine MPI_WIN_CREATE(base, size, disp_unit, info, comm, win, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: base
!DEC$ ATTRIBUTES NO_ARG_CHECK :: base
!DIR$ IGNORE_TKR base
!$PRAGMA IGNORE_TKR base
!IBM* IGNORE_TKR base
      type(*), dimension(*) :: base
      integer(MPI_ADDRESS_KIND) :: size
      integer :: disp_unit, info, comm, win, ierror
    end subroutine
    subroutine MPI_WIN_CREATE_DYNAMIC(info, comm, win, ierror)
      import
      integer :: info, comm, win, ierror
    end subroutine
    subroutine MPI_WIN_CREATE_ERRHANDLER(win_errhandler_fn, errhandler, ierror)
      import
      external :: win_errhandler_fn
      integer :: errhandler, ierror
    end subroutine
    subroutine MPI_WIN_CREATE_KEYVAL(win_copy_attr_fn, win_delete_attr_fn, win_keyval, &
        extra_state, ierror)
      import
      external :: win_copy_attr_fn, win_delete_attr_fn
      integer :: win_keyval
      integer(MPI_ADDRESS_KIND) :: extra_state
      integer :: ierror
    end subroutine
    subroutine MPI_WIN_DELETE_ATTR(win, win_keyval, ierror)
      import
      integer :: win, win_keyval, ierror
    end subroutine
    subroutine MPI_WIN_DETACH(win, base, ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: base
!DEC$ ATTRIBUTES NO_ARG_CHECK :: base
!DIR$ IGNORE_TKR base
!$PRAGMA IGNORE_TKR base
!IBM* IGNORE_TKR base
      integer :: win
      type(*), dimension(*) :: base
      integer :: ierror
    end subroutine
    subroutine MPI_WIN_FENCE(assert, win, ierror)
      import
      integer :: assert, win, ierror
    end subroutine
    subroutine MPI_WIN_FLUSH(rank, win, ierror)
      import
      integer :: rank, win, ierror
    end subroutine
    subroutine MPI_WIN_FLUSH_ALL(win, ierror)
      import
      integer :: win, ierror
    end subroutine
    subroutine MPI_WIN_FLUSH_LOCAL(rank, win, ierror)
      import
      integer :: rank, win, ierror
    end subroutine
    subroutine MPI_WIN_FLUSH_LOCAL_ALL(win, ierror)
      import
      integer :: win, ierror
    end subroutine
    subroutine MPI_WIN_FREE(win, ierror)
      import
      integer :: win, ierror
    end subroutine
    subroutine MPI_WIN_FREE_KEYVAL(win_keyval, ierror)
      import
      integer :: win_keyval, ierror
    end subroutine
    subroutine MPI_WIN_GET_ATTR(win, win_keyval, attribute_val, flag, ierror)
      import
      integer :: win, win_keyval
      integer(MPI_ADDRESS_KIND) :: attribute_val
      logical :: flag
      integer :: ierror
    end subroutine
    subroutine MPI_WIN_GET_ERRHANDLER(win, errhandler, ierror)
      import
      integer :: win, errhandler, ierror
    end subroutine
    subroutine MPI_WIN_GET_GROUP(win, group, ierror)
      import
      integer :: win, group, ierror
    end subroutine
    subroutine MPI_WIN_GET_INFO(win, info_used, ierror)
      import
      integer :: win, info_used, ierror
    end subroutine
    subroutine MPI_WIN_GET_NAME(win, win_name, resultlen, ierror)
      import
      integer :: win
      character(len=*) :: win_name
      integer :: resultlen, ierror
    end subroutine
    subroutine MPI_WIN_LOCK(lock_type, rank, assert, win, ierror)
      import
      integer :: lock_type, rank, assert, win, ierror
    end subroutine
    subroutine MPI_WIN_LOCK_ALL(assert, win, ierror)
      import
      integer :: assert, win, ierror
    end subroutine
    subroutine MPI_WIN_POST(group, assert, win, ierror)
      import
      integer :: group, assert, win, ierror
    end subroutine
    subroutine MPI_WIN_SET_ATTR(win, win_keyval, attribute_val, ierror)
      import
      integer :: win, win_keyval
      integer(MPI_ADDRESS_KIND) :: attribute_val
      integer :: ierror
    end subroutine
    subroutine MPI_WIN_SET_ERRHANDLER(win, errhandler, ierror)
      import
      integer :: win, errhandler, ierror
    end subroutine
    subroutine MPI_WIN_SET_INFO(win, info, ierror)
      import
      integer :: win, info, ierror
    end subroutine
    subroutine MPI_WIN_SET_NAME(win, win_name, ierror)
      import
      integer :: win
      character(len=*) :: win_name
      integer :: ierror
    end subroutine
    subroutine MPI_WIN_START(group, assert, win, ierror)
      import
      integer :: group, assert, win, ierror
    end subroutine
    subroutine MPI_WIN_SYNC(win, ierror)
      import
      integer :: win, ierror
    end subroutine
    subroutine MPI_WIN_TEST(win, flag, ierror)
      import
      integer :: win
      logical :: flag
      integer :: ierror
    end subroutine
    subroutine MPI_WIN_UNLOCK(rank, win, ierror)
      import
      integer :: rank, win, ierror
    end subroutine
    subroutine MPI_WIN_UNLOCK_ALL(win, ierror)
      import
      integer :: win, ierror
    end subroutine
    subroutine MPI_WIN_WAIT(win, ierror)
      import
      integer :: win, ierror
    end subroutine
    function MPI_WTICK()
      import
      double precision :: MPI_WTICK
    end function
    function MPI_WTIME()
      import
      double precision :: MPI_WTIME
    end function
  end interface

  interface MPI_ALLOC_MEM
    subroutine MPI_ALLOC_MEM(size, info, baseptr, ierror)
      import
      integer(MPI_ADDRESS_KIND) :: size
      integer :: info
      integer(MPI_ADDRESS_KIND) :: baseptr
      integer :: ierror
    end subroutine
    subroutine MPI_ALLOC_MEM_CPTR(size, info, baseptr, ierror)
      import
      integer(MPI_ADDRESS_KIND) :: size
      integer :: info
      type(C_PTR) :: baseptr
      integer :: ierror
    end subroutine
  end interface

  interface PMPI_ALLOC_MEM
    subroutine PMPI_ALLOC_MEM(size, info, baseptr, ierror)
      import
      integer(MPI_ADDRESS_KIND) :: size
      integer :: info
      integer(MPI_ADDRESS_KIND) :: baseptr
      integer :: ierror
    end subroutine
    subroutine PMPI_ALLOC_MEM_CPTR(size, info, baseptr, ierror)
      import
      integer(MPI_ADDRESS_KIND) :: size
      integer :: info
      type(C_PTR) :: baseptr
      integer :: ierror
    end subroutine
  end interface

  interface MPI_WIN_ALLOCATE
    subroutine MPI_WIN_ALLOCATE(size, disp_unit, info, comm, baseptr, win, ierror)
      import
      integer(MPI_ADDRESS_KIND) :: size
      integer :: disp_unit, info, comm
      integer(MPI_ADDRESS_KIND) :: baseptr
      integer :: win, ierror
    end subroutine
    subroutine MPI_WIN_ALLOCATE_CPTR(size, disp_unit, info, comm, baseptr, win, ierror)
      import
      integer(MPI_ADDRESS_KIND) :: size
      integer :: disp_unit, info, comm
      type(C_PTR) :: baseptr
      integer :: win, ierror
    end subroutine
  end interface

  interface PMPI_WIN_ALLOCATE
    subroutine PMPI_WIN_ALLOCATE(size, disp_unit, info, comm, baseptr, win, ierror)
      import
      integer(MPI_ADDRESS_KIND) :: size
      integer :: disp_unit, info, comm
      integer(MPI_ADDRESS_KIND) :: baseptr
      integer :: win, ierror
    end subroutine
    subroutine PMPI_WIN_ALLOCATE_CPTR(size, disp_unit, info, comm, baseptr, win, ierror)
      import
      integer(MPI_ADDRESS_KIND) :: size
      integer :: disp_unit, info, comm
      type(C_PTR) :: baseptr
      integer :: win, ierror
    end subroutine
  end interface

  interface MPI_WIN_ALLOCATE_SHARED
    subroutine MPI_WIN_ALLOCATE_SHARED(size, disp_unit, info, comm, baseptr, win, ierror)
      import
      integer(MPI_ADDRESS_KIND) :: size
      integer :: disp_unit, info, comm
      integer(MPI_ADDRESS_KIND) :: baseptr
      integer :: win, ierror
    end subroutine
    subroutine MPI_WIN_ALLOCATE_SHARED_CPTR(size, disp_unit, info, comm, baseptr, win, ierror)
      import
      integer(MPI_ADDRESS_KIND) :: size
      integer :: disp_unit, info, comm
      type(C_PTR) :: baseptr
      integer :: win, ierror
    end subroutine
  end interface

  interface PMPI_WIN_ALLOCATE_SHARED
    subroutine PMPI_WIN_ALLOCATE_SHARED(size, disp_unit, info, comm, baseptr, win, ierror)
      import
      integer(MPI_ADDRESS_KIND) :: size
      integer :: disp_unit, info, comm
      integer(MPI_ADDRESS_KIND) :: baseptr
      integer :: win, ierror
    end subroutine
    subroutine PMPI_WIN_ALLOCATE_SHARED_CPTR(size, disp_unit, info, comm, baseptr, win, ierror)
      import
      integer(MPI_ADDRESS_KIND) :: size
      integer :: disp_unit, info, comm
      type(C_PTR) :: baseptr
      integer :: win, ierror
    end subroutine
  end interface

  interface MPI_WIN_SHARED_QUERY
    subroutine MPI_WIN_SHARED_QUERY(win, rank, size, disp_unit, baseptr, ierror)
      import
      integer :: win, rank
      integer(MPI_ADDRESS_KIND) :: size
      integer :: disp_unit
      integer(MPI_ADDRESS_KIND) :: baseptr
      integer :: ierror
    end subroutine
    subroutine MPI_WIN_SHARED_QUERY_CPTR(win, rank, size, disp_unit, baseptr, ierror)
      import
      integer :: win, rank
      integer(MPI_ADDRESS_KIND) :: size
      integer :: disp_unit
      type(C_PTR) :: baseptr
      integer :: ierror
    end subroutine
  end interface

  interface PMPI_WIN_SHARED_QUERY
    subroutine PMPI_WIN_SHARED_QUERY(win, rank, size, disp_unit, baseptr, ierror)
      import
      integer :: win, rank
      integer(MPI_ADDRESS_KIND) :: size
      integer :: disp_unit
      integer(MPI_ADDRESS_KIND) :: baseptr
      integer :: ierror
    end subroutine
    subroutine PMPI_WIN_SHARED_QUERY_CPTR(win, rank, size, disp_unit, baseptr, ierror)
      import
      integer :: win, rank
      integer(MPI_ADDRESS_KIND) :: size
      integer :: disp_unit
      type(C_PTR) :: baseptr
      integer :: ierror
    end subroutine
  end interface

  interface
    subroutine MPI_COMM_DUP_FN(oldcomm, comm_keyval, extra_state, attribute_val_in, &
        attribute_val_out, flag, ierror)
      import
      integer :: oldcomm, comm_keyval
      integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
      logical :: flag
      integer :: ierror
    end subroutine
    subroutine MPI_COMM_NULL_COPY_FN(oldcomm, comm_keyval, extra_state, attribute_val_in, &
        attribute_val_out, flag, ierror)
      import
      integer :: oldcomm, comm_keyval
      integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
      logical :: flag
      integer :: ierror
    end subroutine
    subroutine MPI_COMM_NULL_DELETE_FN(comm, comm_keyval, attribute_val, extra_state, ierror)
      import
      integer :: comm, comm_keyval
      integer(MPI_ADDRESS_KIND) :: attribute_val, extra_state
      integer :: ierror
    end subroutine
    subroutine MPI_CONVERSION_FN_NULL(userbuf, datatype, count, filebuf, position, extra_state, &
        ierror)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: userbuf, filebuf
!DEC$ ATTRIBUTES NO_ARG_CHECK :: userbuf, filebuf
!DIR$ IGNORE_TKR userbuf, filebuf
!$PRAGMA IGNORE_TKR userbuf, filebuf
!IBM* IGNORE_TKR userbuf, filebuf
      type(*), dimension(*) :: userbuf
      integer :: datatype, count
      type(*), dimension(*) :: filebuf
      integer(MPI_OFFSET_KIND) :: position
      integer(MPI_ADDRESS_KIND) :: extra_state
      integer :: ierror
    end subroutine
    subroutine MPI_DUP_FN(oldcomm, keyval, extra_state, attribute_val_in, attribute_val_out, flag, &
        ierr)
      import
      integer :: oldcomm, keyval, extra_state, attribute_val_in, attribute_val_out
      logical :: flag
      integer :: ierr
    end subroutine
    subroutine MPI_NULL_COPY_FN(oldcomm, keyval, extra_state, attribute_val_in, attribute_val_out, &
        flag, ierr)
      import
      integer :: oldcomm, keyval, extra_state, attribute_val_in, attribute_val_out
      logical :: flag
      integer :: ierr
    end subroutine
    subroutine MPI_NULL_DELETE_FN(comm, keyval, attribute_val, extra_state, ierr)
      import
      integer :: comm, keyval, attribute_val, extra_state, ierr
    end subroutine
    subroutine MPI_TYPE_DUP_FN(oldtype, type_keyval, extra_state, attribute_val_in, &
        attribute_val_out, flag, ierror)
      import
      integer :: oldtype, type_keyval
      integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
      logical :: flag
      integer :: ierror
    end subroutine
    subroutine MPI_TYPE_NULL_COPY_FN(oldtype, type_keyval, extra_state, attribute_val_in, &
        attribute_val_out, flag, ierror)
      import
      integer :: oldtype, type_keyval
      integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
      logical :: flag
      integer :: ierror
    end subroutine
    subroutine MPI_TYPE_NULL_DELETE_FN(datatype, type_keyval, attribute_val, extra_state, ierror)
      import
      integer :: datatype, type_keyval
      integer(MPI_ADDRESS_KIND) :: attribute_val, extra_state
      integer :: ierror
    end subroutine
    subroutine MPI_WIN_DUP_FN(oldwin, win_keyval, extra_state, attribute_val_in, &
        attribute_val_out, flag, ierror)
      import
      integer :: oldwin, win_keyval
      integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
      logical :: flag
      integer :: ierror
    end subroutine
    subroutine MPI_WIN_NULL_COPY_FN(oldwin, win_keyval, extra_state, attribute_val_in, &
        attribute_val_out, flag, ierror)
      import
      integer :: oldwin, win_keyval
      integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
      logical :: flag
      integer :: ierror
    end subroutine
    subroutine MPI_WIN_NULL_DELETE_FN(win, win_keyval, attribute_val, extra_state, ierror)
      import
      integer :: win, win_keyval
      integer(MPI_ADDRESS_KIND) :: attribute_val, extra_state
      integer :: ierror
    end subroutine
  end interface

  ! The profiling interface.

  procedure(MPI_ABI_GET_FORTRAN_BOOLEANS) :: PMPI_ABI_GET_FORTRAN_BOOLEANS
  procedure(MPI_ABI_GET_FORTRAN_INFO) :: PMPI_ABI_GET_FORTRAN_INFO
  procedure(MPI_ABI_GET_INFO) :: PMPI_ABI_GET_INFO
  procedure(MPI_ABI_GET_VERSION) :: PMPI_ABI_GET_VERSION
  procedure(MPI_ABI_SET_FORTRAN_BOOLEANS) :: PMPI_ABI_SET_FORTRAN_BOOLEANS
  procedure(MPI_ABI_SET_FORTRAN_INFO) :: PMPI_ABI_SET_FORTRAN_INFO
  procedure(MPI_ABORT) :: PMPI_ABORT
  procedure(MPI_ACCUMULATE) :: PMPI_ACCUMULATE
  procedure(MPI_ADD_ERROR_CLASS) :: PMPI_ADD_ERROR_CLASS
  procedure(MPI_ADD_ERROR_CODE) :: PMPI_ADD_ERROR_CODE
  procedure(MPI_ADD_ERROR_STRING) :: PMPI_ADD_ERROR_STRING
  procedure(MPI_AINT_ADD) :: PMPI_AINT_ADD
  procedure(MPI_AINT_DIFF) :: PMPI_AINT_DIFF
  procedure(MPI_ALLGATHER) :: PMPI_ALLGATHER
  procedure(MPI_ALLGATHER_INIT) :: PMPI_ALLGATHER_INIT
  procedure(MPI_ALLGATHERV) :: PMPI_ALLGATHERV
  procedure(MPI_ALLGATHERV_INIT) :: PMPI_ALLGATHERV_INIT
  procedure(MPI_ALLREDUCE) :: PMPI_ALLREDUCE
  procedure(MPI_ALLREDUCE_INIT) :: PMPI_ALLREDUCE_INIT
  procedure(MPI_ALLTOALL) :: PMPI_ALLTOALL
  procedure(MPI_ALLTOALL_INIT) :: PMPI_ALLTOALL_INIT
  procedure(MPI_ALLTOALLV) :: PMPI_ALLTOALLV
  procedure(MPI_ALLTOALLV_INIT) :: PMPI_ALLTOALLV_INIT
  procedure(MPI_ALLTOALLW) :: PMPI_ALLTOALLW
  procedure(MPI_ALLTOALLW_INIT) :: PMPI_ALLTOALLW_INIT
  procedure(MPI_ATTR_DELETE) :: PMPI_ATTR_DELETE
  procedure(MPI_ATTR_GET) :: PMPI_ATTR_GET
  procedure(MPI_ATTR_PUT) :: PMPI_ATTR_PUT
  procedure(MPI_BARRIER) :: PMPI_BARRIER
  procedure(MPI_BARRIER_INIT) :: PMPI_BARRIER_INIT
  procedure(MPI_BCAST) :: PMPI_BCAST
  procedure(MPI_BCAST_INIT) :: PMPI_BCAST_INIT
  procedure(MPI_BSEND) :: PMPI_BSEND
  procedure(MPI_BSEND_INIT) :: PMPI_BSEND_INIT
  procedure(MPI_BUFFER_ATTACH) :: PMPI_BUFFER_ATTACH
  procedure(MPI_BUFFER_DETACH) :: PMPI_BUFFER_DETACH
  procedure(MPI_BUFFER_FLUSH) :: PMPI_BUFFER_FLUSH
  procedure(MPI_BUFFER_IFLUSH) :: PMPI_BUFFER_IFLUSH
  procedure(MPI_CANCEL) :: PMPI_CANCEL
  procedure(MPI_CART_COORDS) :: PMPI_CART_COORDS
  procedure(MPI_CART_CREATE) :: PMPI_CART_CREATE
  procedure(MPI_CART_GET) :: PMPI_CART_GET
  procedure(MPI_CART_MAP) :: PMPI_CART_MAP
  procedure(MPI_CART_RANK) :: PMPI_CART_RANK
  procedure(MPI_CART_SHIFT) :: PMPI_CART_SHIFT
  procedure(MPI_CART_SUB) :: PMPI_CART_SUB
  procedure(MPI_CARTDIM_GET) :: PMPI_CARTDIM_GET
  procedure(MPI_CLOSE_PORT) :: PMPI_CLOSE_PORT
  procedure(MPI_COMM_ACCEPT) :: PMPI_COMM_ACCEPT
  procedure(MPI_COMM_ATTACH_BUFFER) :: PMPI_COMM_ATTACH_BUFFER
  procedure(MPI_COMM_CALL_ERRHANDLER) :: PMPI_COMM_CALL_ERRHANDLER
  procedure(MPI_COMM_COMPARE) :: PMPI_COMM_COMPARE
  procedure(MPI_COMM_CONNECT) :: PMPI_COMM_CONNECT
  procedure(MPI_COMM_CREATE) :: PMPI_COMM_CREATE
  procedure(MPI_COMM_CREATE_ERRHANDLER) :: PMPI_COMM_CREATE_ERRHANDLER
  procedure(MPI_COMM_CREATE_FROM_GROUP) :: PMPI_COMM_CREATE_FROM_GROUP
  procedure(MPI_COMM_CREATE_GROUP) :: PMPI_COMM_CREATE_GROUP
  procedure(MPI_COMM_CREATE_KEYVAL) :: PMPI_COMM_CREATE_KEYVAL
  procedure(MPI_COMM_DELETE_ATTR) :: PMPI_COMM_DELETE_ATTR
  procedure(MPI_COMM_DETACH_BUFFER) :: PMPI_COMM_DETACH_BUFFER
  procedure(MPI_COMM_DISCONNECT) :: PMPI_COMM_DISCONNECT
  procedure(MPI_COMM_DUP) :: PMPI_COMM_DUP
  procedure(MPI_COMM_DUP_WITH_INFO) :: PMPI_COMM_DUP_WITH_INFO
  procedure(MPI_COMM_FLUSH_BUFFER) :: PMPI_COMM_FLUSH_BUFFER
  procedure(MPI_COMM_FREE) :: PMPI_COMM_FREE
  procedure(MPI_COMM_FREE_KEYVAL) :: PMPI_COMM_FREE_KEYVAL
  procedure(MPI_COMM_GET_ATTR) :: PMPI_COMM_GET_ATTR
  procedure(MPI_COMM_GET_ERRHANDLER) :: PMPI_COMM_GET_ERRHANDLER
  procedure(MPI_COMM_GET_INFO) :: PMPI_COMM_GET_INFO
  procedure(MPI_COMM_GET_NAME) :: PMPI_COMM_GET_NAME
  procedure(MPI_COMM_GET_PARENT) :: PMPI_COMM_GET_PARENT
  procedure(MPI_COMM_GROUP) :: PMPI_COMM_GROUP
  procedure(MPI_COMM_IDUP) :: PMPI_COMM_IDUP
  procedure(MPI_COMM_IDUP_WITH_INFO) :: PMPI_COMM_IDUP_WITH_INFO
  procedure(MPI_COMM_IFLUSH_BUFFER) :: PMPI_COMM_IFLUSH_BUFFER
  procedure(MPI_COMM_JOIN) :: PMPI_COMM_JOIN
  procedure(MPI_COMM_RANK) :: PMPI_COMM_RANK
  procedure(MPI_COMM_REMOTE_GROUP) :: PMPI_COMM_REMOTE_GROUP
  procedure(MPI_COMM_REMOTE_SIZE) :: PMPI_COMM_REMOTE_SIZE
  procedure(MPI_COMM_SET_ATTR) :: PMPI_COMM_SET_ATTR
  procedure(MPI_COMM_SET_ERRHANDLER) :: PMPI_COMM_SET_ERRHANDLER
  procedure(MPI_COMM_SET_INFO) :: PMPI_COMM_SET_INFO
  procedure(MPI_COMM_SET_NAME) :: PMPI_COMM_SET_NAME
  procedure(MPI_COMM_SIZE) :: PMPI_COMM_SIZE
  procedure(MPI_COMM_SPAWN) :: PMPI_COMM_SPAWN
  procedure(MPI_COMM_SPAWN_MULTIPLE) :: PMPI_COMM_SPAWN_MULTIPLE
  procedure(MPI_COMM_SPLIT) :: PMPI_COMM_SPLIT
  procedure(MPI_COMM_SPLIT_TYPE) :: PMPI_COMM_SPLIT_TYPE
  procedure(MPI_COMM_TEST_INTER) :: PMPI_COMM_TEST_INTER
  procedure(MPI_COMPARE_AND_SWAP) :: PMPI_COMPARE_AND_SWAP
  procedure(MPI_DIMS_CREATE) :: PMPI_DIMS_CREATE
  procedure(MPI_DIST_GRAPH_CREATE) :: PMPI_DIST_GRAPH_CREATE
  procedure(MPI_DIST_GRAPH_CREATE_ADJACENT) :: PMPI_DIST_GRAPH_CREATE_ADJACENT
  procedure(MPI_DIST_GRAPH_NEIGHBORS) :: PMPI_DIST_GRAPH_NEIGHBORS
  procedure(MPI_DIST_GRAPH_NEIGHBORS_COUNT) :: PMPI_DIST_GRAPH_NEIGHBORS_COUNT
  procedure(MPI_ERRHANDLER_FREE) :: PMPI_ERRHANDLER_FREE
  procedure(MPI_ERROR_CLASS) :: PMPI_ERROR_CLASS
  procedure(MPI_ERROR_STRING) :: PMPI_ERROR_STRING
  procedure(MPI_EXSCAN) :: PMPI_EXSCAN
  procedure(MPI_EXSCAN_INIT) :: PMPI_EXSCAN_INIT
  procedure(MPI_F_SYNC_REG) :: PMPI_F_SYNC_REG
  procedure(MPI_FETCH_AND_OP) :: PMPI_FETCH_AND_OP
  procedure(MPI_FILE_CALL_ERRHANDLER) :: PMPI_FILE_CALL_ERRHANDLER
  procedure(MPI_FILE_CLOSE) :: PMPI_FILE_CLOSE
  procedure(MPI_FILE_CREATE_ERRHANDLER) :: PMPI_FILE_CREATE_ERRHANDLER
  procedure(MPI_FILE_DELETE) :: PMPI_FILE_DELETE
  procedure(MPI_FILE_GET_AMODE) :: PMPI_FILE_GET_AMODE
  procedure(MPI_FILE_GET_ATOMICITY) :: PMPI_FILE_GET_ATOMICITY
  procedure(MPI_FILE_GET_BYTE_OFFSET) :: PMPI_FILE_GET_BYTE_OFFSET
  procedure(MPI_FILE_GET_ERRHANDLER) :: PMPI_FILE_GET_ERRHANDLER
  procedure(MPI_FILE_GET_GROUP) :: PMPI_FILE_GET_GROUP
  procedure(MPI_FILE_GET_INFO) :: PMPI_FILE_GET_INFO
  procedure(MPI_FILE_GET_POSITION) :: PMPI_FILE_GET_POSITION
  procedure(MPI_FILE_GET_POSITION_SHARED) :: PMPI_FILE_GET_POSITION_SHARED
  procedure(MPI_FILE_GET_SIZE) :: PMPI_FILE_GET_SIZE
  procedure(MPI_FILE_GET_TYPE_EXTENT) :: PMPI_FILE_GET_TYPE_EXTENT
  procedure(MPI_FILE_GET_VIEW) :: PMPI_FILE_GET_VIEW
  procedure(MPI_FILE_IREAD) :: PMPI_FILE_IREAD
  procedure(MPI_FILE_IREAD_ALL) :: PMPI_FILE_IREAD_ALL
  procedure(MPI_FILE_IREAD_AT) :: PMPI_FILE_IREAD_AT
  procedure(MPI_FILE_IREAD_AT_ALL) :: PMPI_FILE_IREAD_AT_ALL
  procedure(MPI_FILE_IREAD_SHARED) :: PMPI_FILE_IREAD_SHARED
  procedure(MPI_FILE_IWRITE) :: PMPI_FILE_IWRITE
  procedure(MPI_FILE_IWRITE_ALL) :: PMPI_FILE_IWRITE_ALL
  procedure(MPI_FILE_IWRITE_AT) :: PMPI_FILE_IWRITE_AT
  procedure(MPI_FILE_IWRITE_AT_ALL) :: PMPI_FILE_IWRITE_AT_ALL
  procedure(MPI_FILE_IWRITE_SHARED) :: PMPI_FILE_IWRITE_SHARED
  procedure(MPI_FILE_OPEN) :: PMPI_FILE_OPEN
  procedure(MPI_FILE_PREALLOCATE) :: PMPI_FILE_PREALLOCATE
  procedure(MPI_FILE_READ) :: PMPI_FILE_READ
  procedure(MPI_FILE_READ_ALL) :: PMPI_FILE_READ_ALL
  procedure(MPI_FILE_READ_ALL_BEGIN) :: PMPI_FILE_READ_ALL_BEGIN
  procedure(MPI_FILE_READ_ALL_END) :: PMPI_FILE_READ_ALL_END
  procedure(MPI_FILE_READ_AT) :: PMPI_FILE_READ_AT
  procedure(MPI_FILE_READ_AT_ALL) :: PMPI_FILE_READ_AT_ALL
  procedure(MPI_FILE_READ_AT_ALL_BEGIN) :: PMPI_FILE_READ_AT_ALL_BEGIN
  procedure(MPI_FILE_READ_AT_ALL_END) :: PMPI_FILE_READ_AT_ALL_END
  procedure(MPI_FILE_READ_ORDERED) :: PMPI_FILE_READ_ORDERED
  procedure(MPI_FILE_READ_ORDERED_BEGIN) :: PMPI_FILE_READ_ORDERED_BEGIN
  procedure(MPI_FILE_READ_ORDERED_END) :: PMPI_FILE_READ_ORDERED_END
  procedure(MPI_FILE_READ_SHARED) :: PMPI_FILE_READ_SHARED
  procedure(MPI_FILE_SEEK) :: PMPI_FILE_SEEK
  procedure(MPI_FILE_SEEK_SHARED) :: PMPI_FILE_SEEK_SHARED
  procedure(MPI_FILE_SET_ATOMICITY) :: PMPI_FILE_SET_ATOMICITY
  procedure(MPI_FILE_SET_ERRHANDLER) :: PMPI_FILE_SET_ERRHANDLER
  procedure(MPI_FILE_SET_INFO) :: PMPI_FILE_SET_INFO
  procedure(MPI_FILE_SET_SIZE) :: PMPI_FILE_SET_SIZE
  procedure(MPI_FILE_SET_VIEW) :: PMPI_FILE_SET_VIEW
  procedure(MPI_FILE_SYNC) :: PMPI_FILE_SYNC
  procedure(MPI_FILE_WRITE) :: PMPI_FILE_WRITE
  procedure(MPI_FILE_WRITE_ALL) :: PMPI_FILE_WRITE_ALL
  procedure(MPI_FILE_WRITE_ALL_BEGIN) :: PMPI_FILE_WRITE_ALL_BEGIN
  procedure(MPI_FILE_WRITE_ALL_END) :: PMPI_FILE_WRITE_ALL_END
  procedure(MPI_FILE_WRITE_AT) :: PMPI_FILE_WRITE_AT
  procedure(MPI_FILE_WRITE_AT_ALL) :: PMPI_FILE_WRITE_AT_ALL
  procedure(MPI_FILE_WRITE_AT_ALL_BEGIN) :: PMPI_FILE_WRITE_AT_ALL_BEGIN
  procedure(MPI_FILE_WRITE_AT_ALL_END) :: PMPI_FILE_WRITE_AT_ALL_END
  procedure(MPI_FILE_WRITE_ORDERED) :: PMPI_FILE_WRITE_ORDERED
  procedure(MPI_FILE_WRITE_ORDERED_BEGIN) :: PMPI_FILE_WRITE_ORDERED_BEGIN
  procedure(MPI_FILE_WRITE_ORDERED_END) :: PMPI_FILE_WRITE_ORDERED_END
  procedure(MPI_FILE_WRITE_SHARED) :: PMPI_FILE_WRITE_SHARED
  procedure(MPI_FINALIZE) :: PMPI_FINALIZE
  procedure(MPI_FINALIZED) :: PMPI_FINALIZED
  procedure(MPI_FREE_MEM) :: PMPI_FREE_MEM
  procedure(MPI_GATHER) :: PMPI_GATHER
  procedure(MPI_GATHER_INIT) :: PMPI_GATHER_INIT
  procedure(MPI_GATHERV) :: PMPI_GATHERV
  procedure(MPI_GATHERV_INIT) :: PMPI_GATHERV_INIT
  procedure(MPI_GET) :: PMPI_GET
  procedure(MPI_GET_ACCUMULATE) :: PMPI_GET_ACCUMULATE
  procedure(MPI_GET_ADDRESS) :: PMPI_GET_ADDRESS
  procedure(MPI_GET_COUNT) :: PMPI_GET_COUNT
  procedure(MPI_GET_ELEMENTS) :: PMPI_GET_ELEMENTS
  procedure(MPI_GET_ELEMENTS_X) :: PMPI_GET_ELEMENTS_X
  procedure(MPI_GET_HW_RESOURCE_INFO) :: PMPI_GET_HW_RESOURCE_INFO
  procedure(MPI_GET_LIBRARY_VERSION) :: PMPI_GET_LIBRARY_VERSION
  procedure(MPI_GET_PROCESSOR_NAME) :: PMPI_GET_PROCESSOR_NAME
  procedure(MPI_GET_VERSION) :: PMPI_GET_VERSION
  procedure(MPI_GRAPH_CREATE) :: PMPI_GRAPH_CREATE
  procedure(MPI_GRAPH_GET) :: PMPI_GRAPH_GET
  procedure(MPI_GRAPH_MAP) :: PMPI_GRAPH_MAP
  procedure(MPI_GRAPH_NEIGHBORS) :: PMPI_GRAPH_NEIGHBORS
  procedure(MPI_GRAPH_NEIGHBORS_COUNT) :: PMPI_GRAPH_NEIGHBORS_COUNT
  procedure(MPI_GRAPHDIMS_GET) :: PMPI_GRAPHDIMS_GET
  procedure(MPI_GREQUEST_COMPLETE) :: PMPI_GREQUEST_COMPLETE
  procedure(MPI_GREQUEST_START) :: PMPI_GREQUEST_START
  procedure(MPI_GROUP_COMPARE) :: PMPI_GROUP_COMPARE
  procedure(MPI_GROUP_DIFFERENCE) :: PMPI_GROUP_DIFFERENCE
  procedure(MPI_GROUP_EXCL) :: PMPI_GROUP_EXCL
  procedure(MPI_GROUP_FREE) :: PMPI_GROUP_FREE
  procedure(MPI_GROUP_FROM_SESSION_PSET) :: PMPI_GROUP_FROM_SESSION_PSET
  procedure(MPI_GROUP_INCL) :: PMPI_GROUP_INCL
  procedure(MPI_GROUP_INTERSECTION) :: PMPI_GROUP_INTERSECTION
  procedure(MPI_GROUP_RANGE_EXCL) :: PMPI_GROUP_RANGE_EXCL
  procedure(MPI_GROUP_RANGE_INCL) :: PMPI_GROUP_RANGE_INCL
  procedure(MPI_GROUP_RANK) :: PMPI_GROUP_RANK
  procedure(MPI_GROUP_SIZE) :: PMPI_GROUP_SIZE
  procedure(MPI_GROUP_TRANSLATE_RANKS) :: PMPI_GROUP_TRANSLATE_RANKS
  procedure(MPI_GROUP_UNION) :: PMPI_GROUP_UNION
  procedure(MPI_IALLGATHER) :: PMPI_IALLGATHER
  procedure(MPI_IALLGATHERV) :: PMPI_IALLGATHERV
  procedure(MPI_IALLREDUCE) :: PMPI_IALLREDUCE
  procedure(MPI_IALLTOALL) :: PMPI_IALLTOALL
  procedure(MPI_IALLTOALLV) :: PMPI_IALLTOALLV
  procedure(MPI_IALLTOALLW) :: PMPI_IALLTOALLW
  procedure(MPI_IBARRIER) :: PMPI_IBARRIER
  procedure(MPI_IBCAST) :: PMPI_IBCAST
  procedure(MPI_IBSEND) :: PMPI_IBSEND
  procedure(MPI_IEXSCAN) :: PMPI_IEXSCAN
  procedure(MPI_IGATHER) :: PMPI_IGATHER
  procedure(MPI_IGATHERV) :: PMPI_IGATHERV
  procedure(MPI_IMPROBE) :: PMPI_IMPROBE
  procedure(MPI_IMRECV) :: PMPI_IMRECV
  procedure(MPI_INEIGHBOR_ALLGATHER) :: PMPI_INEIGHBOR_ALLGATHER
  procedure(MPI_INEIGHBOR_ALLGATHERV) :: PMPI_INEIGHBOR_ALLGATHERV
  procedure(MPI_INEIGHBOR_ALLTOALL) :: PMPI_INEIGHBOR_ALLTOALL
  procedure(MPI_INEIGHBOR_ALLTOALLV) :: PMPI_INEIGHBOR_ALLTOALLV
  procedure(MPI_INEIGHBOR_ALLTOALLW) :: PMPI_INEIGHBOR_ALLTOALLW
  procedure(MPI_INFO_CREATE) :: PMPI_INFO_CREATE
  procedure(MPI_INFO_CREATE_ENV) :: PMPI_INFO_CREATE_ENV
  procedure(MPI_INFO_DELETE) :: PMPI_INFO_DELETE
  procedure(MPI_INFO_DUP) :: PMPI_INFO_DUP
  procedure(MPI_INFO_FREE) :: PMPI_INFO_FREE
  procedure(MPI_INFO_GET) :: PMPI_INFO_GET
  procedure(MPI_INFO_GET_NKEYS) :: PMPI_INFO_GET_NKEYS
  procedure(MPI_INFO_GET_NTHKEY) :: PMPI_INFO_GET_NTHKEY
  procedure(MPI_INFO_GET_STRING) :: PMPI_INFO_GET_STRING
  procedure(MPI_INFO_GET_VALUELEN) :: PMPI_INFO_GET_VALUELEN
  procedure(MPI_INFO_SET) :: PMPI_INFO_SET
  procedure(MPI_INIT) :: PMPI_INIT
  procedure(MPI_INIT_THREAD) :: PMPI_INIT_THREAD
  procedure(MPI_INITIALIZED) :: PMPI_INITIALIZED
  procedure(MPI_INTERCOMM_CREATE) :: PMPI_INTERCOMM_CREATE
  procedure(MPI_INTERCOMM_CREATE_FROM_GROUPS) :: PMPI_INTERCOMM_CREATE_FROM_GROUPS
  procedure(MPI_INTERCOMM_MERGE) :: PMPI_INTERCOMM_MERGE
  procedure(MPI_IPROBE) :: PMPI_IPROBE
  procedure(MPI_IRECV) :: PMPI_IRECV
  procedure(MPI_IREDUCE) :: PMPI_IREDUCE
  procedure(MPI_IREDUCE_SCATTER) :: PMPI_IREDUCE_SCATTER
  procedure(MPI_IREDUCE_SCATTER_BLOCK) :: PMPI_IREDUCE_SCATTER_BLOCK
  procedure(MPI_IRSEND) :: PMPI_IRSEND
  procedure(MPI_IS_THREAD_MAIN) :: PMPI_IS_THREAD_MAIN
  procedure(MPI_ISCAN) :: PMPI_ISCAN
  procedure(MPI_ISCATTER) :: PMPI_ISCATTER
  procedure(MPI_ISCATTERV) :: PMPI_ISCATTERV
  procedure(MPI_ISEND) :: PMPI_ISEND
  procedure(MPI_ISENDRECV) :: PMPI_ISENDRECV
  procedure(MPI_ISENDRECV_REPLACE) :: PMPI_ISENDRECV_REPLACE
  procedure(MPI_ISSEND) :: PMPI_ISSEND
  procedure(MPI_KEYVAL_CREATE) :: PMPI_KEYVAL_CREATE
  procedure(MPI_KEYVAL_FREE) :: PMPI_KEYVAL_FREE
  procedure(MPI_LOOKUP_NAME) :: PMPI_LOOKUP_NAME
  procedure(MPI_MPROBE) :: PMPI_MPROBE
  procedure(MPI_MRECV) :: PMPI_MRECV
  procedure(MPI_NEIGHBOR_ALLGATHER) :: PMPI_NEIGHBOR_ALLGATHER
  procedure(MPI_NEIGHBOR_ALLGATHER_INIT) :: PMPI_NEIGHBOR_ALLGATHER_INIT
  procedure(MPI_NEIGHBOR_ALLGATHERV) :: PMPI_NEIGHBOR_ALLGATHERV
  procedure(MPI_NEIGHBOR_ALLGATHERV_INIT) :: PMPI_NEIGHBOR_ALLGATHERV_INIT
  procedure(MPI_NEIGHBOR_ALLTOALL) :: PMPI_NEIGHBOR_ALLTOALL
  procedure(MPI_NEIGHBOR_ALLTOALL_INIT) :: PMPI_NEIGHBOR_ALLTOALL_INIT
  procedure(MPI_NEIGHBOR_ALLTOALLV) :: PMPI_NEIGHBOR_ALLTOALLV
  procedure(MPI_NEIGHBOR_ALLTOALLV_INIT) :: PMPI_NEIGHBOR_ALLTOALLV_INIT
  procedure(MPI_NEIGHBOR_ALLTOALLW) :: PMPI_NEIGHBOR_ALLTOALLW
  procedure(MPI_NEIGHBOR_ALLTOALLW_INIT) :: PMPI_NEIGHBOR_ALLTOALLW_INIT
  procedure(MPI_OP_COMMUTATIVE) :: PMPI_OP_COMMUTATIVE
  procedure(MPI_OP_CREATE) :: PMPI_OP_CREATE
  procedure(MPI_OP_FREE) :: PMPI_OP_FREE
  procedure(MPI_OPEN_PORT) :: PMPI_OPEN_PORT
  procedure(MPI_PACK) :: PMPI_PACK
  procedure(MPI_PACK_EXTERNAL) :: PMPI_PACK_EXTERNAL
  procedure(MPI_PACK_EXTERNAL_SIZE) :: PMPI_PACK_EXTERNAL_SIZE
  procedure(MPI_PACK_SIZE) :: PMPI_PACK_SIZE
  procedure(MPI_PARRIVED) :: PMPI_PARRIVED
  procedure(MPI_PCONTROL) :: PMPI_PCONTROL
  procedure(MPI_PREADY) :: PMPI_PREADY
  procedure(MPI_PREADY_LIST) :: PMPI_PREADY_LIST
  procedure(MPI_PREADY_RANGE) :: PMPI_PREADY_RANGE
  procedure(MPI_PRECV_INIT) :: PMPI_PRECV_INIT
  procedure(MPI_PROBE) :: PMPI_PROBE
  procedure(MPI_PSEND_INIT) :: PMPI_PSEND_INIT
  procedure(MPI_PUBLISH_NAME) :: PMPI_PUBLISH_NAME
  procedure(MPI_PUT) :: PMPI_PUT
  procedure(MPI_QUERY_THREAD) :: PMPI_QUERY_THREAD
  procedure(MPI_RACCUMULATE) :: PMPI_RACCUMULATE
  procedure(MPI_RECV) :: PMPI_RECV
  procedure(MPI_RECV_INIT) :: PMPI_RECV_INIT
  procedure(MPI_REDUCE) :: PMPI_REDUCE
  procedure(MPI_REDUCE_INIT) :: PMPI_REDUCE_INIT
  procedure(MPI_REDUCE_LOCAL) :: PMPI_REDUCE_LOCAL
  procedure(MPI_REDUCE_SCATTER) :: PMPI_REDUCE_SCATTER
  procedure(MPI_REDUCE_SCATTER_BLOCK) :: PMPI_REDUCE_SCATTER_BLOCK
  procedure(MPI_REDUCE_SCATTER_BLOCK_INIT) :: PMPI_REDUCE_SCATTER_BLOCK_INIT
  procedure(MPI_REDUCE_SCATTER_INIT) :: PMPI_REDUCE_SCATTER_INIT
  procedure(MPI_REGISTER_DATAREP) :: PMPI_REGISTER_DATAREP
  procedure(MPI_REMOVE_ERROR_CLASS) :: PMPI_REMOVE_ERROR_CLASS
  procedure(MPI_REMOVE_ERROR_CODE) :: PMPI_REMOVE_ERROR_CODE
  procedure(MPI_REMOVE_ERROR_STRING) :: PMPI_REMOVE_ERROR_STRING
  procedure(MPI_REQUEST_FREE) :: PMPI_REQUEST_FREE
  procedure(MPI_REQUEST_GET_STATUS) :: PMPI_REQUEST_GET_STATUS
  procedure(MPI_REQUEST_GET_STATUS_ALL) :: PMPI_REQUEST_GET_STATUS_ALL
  procedure(MPI_REQUEST_GET_STATUS_ANY) :: PMPI_REQUEST_GET_STATUS_ANY
  procedure(MPI_REQUEST_GET_STATUS_SOME) :: PMPI_REQUEST_GET_STATUS_SOME
  procedure(MPI_RGET) :: PMPI_RGET
  procedure(MPI_RGET_ACCUMULATE) :: PMPI_RGET_ACCUMULATE
  procedure(MPI_RPUT) :: PMPI_RPUT
  procedure(MPI_RSEND) :: PMPI_RSEND
  procedure(MPI_RSEND_INIT) :: PMPI_RSEND_INIT
  procedure(MPI_SCAN) :: PMPI_SCAN
  procedure(MPI_SCAN_INIT) :: PMPI_SCAN_INIT
  procedure(MPI_SCATTER) :: PMPI_SCATTER
  procedure(MPI_SCATTER_INIT) :: PMPI_SCATTER_INIT
  procedure(MPI_SCATTERV) :: PMPI_SCATTERV
  procedure(MPI_SCATTERV_INIT) :: PMPI_SCATTERV_INIT
  procedure(MPI_SEND) :: PMPI_SEND
  procedure(MPI_SEND_INIT) :: PMPI_SEND_INIT
  procedure(MPI_SENDRECV) :: PMPI_SENDRECV
  procedure(MPI_SENDRECV_REPLACE) :: PMPI_SENDRECV_REPLACE
  procedure(MPI_SESSION_ATTACH_BUFFER) :: PMPI_SESSION_ATTACH_BUFFER
  procedure(MPI_SESSION_CALL_ERRHANDLER) :: PMPI_SESSION_CALL_ERRHANDLER
  procedure(MPI_SESSION_CREATE_ERRHANDLER) :: PMPI_SESSION_CREATE_ERRHANDLER
  procedure(MPI_SESSION_DETACH_BUFFER) :: PMPI_SESSION_DETACH_BUFFER
  procedure(MPI_SESSION_FINALIZE) :: PMPI_SESSION_FINALIZE
  procedure(MPI_SESSION_FLUSH_BUFFER) :: PMPI_SESSION_FLUSH_BUFFER
  procedure(MPI_SESSION_GET_ERRHANDLER) :: PMPI_SESSION_GET_ERRHANDLER
  procedure(MPI_SESSION_GET_INFO) :: PMPI_SESSION_GET_INFO
  procedure(MPI_SESSION_GET_NTH_PSET) :: PMPI_SESSION_GET_NTH_PSET
  procedure(MPI_SESSION_GET_NUM_PSETS) :: PMPI_SESSION_GET_NUM_PSETS
  procedure(MPI_SESSION_GET_PSET_INFO) :: PMPI_SESSION_GET_PSET_INFO
  procedure(MPI_SESSION_IFLUSH_BUFFER) :: PMPI_SESSION_IFLUSH_BUFFER
  procedure(MPI_SESSION_INIT) :: PMPI_SESSION_INIT
  procedure(MPI_SESSION_SET_ERRHANDLER) :: PMPI_SESSION_SET_ERRHANDLER
  procedure(MPI_SSEND) :: PMPI_SSEND
  procedure(MPI_SSEND_INIT) :: PMPI_SSEND_INIT
  procedure(MPI_START) :: PMPI_START
  procedure(MPI_STARTALL) :: PMPI_STARTALL
  procedure(MPI_STATUS_F082F) :: PMPI_STATUS_F082F
  procedure(MPI_STATUS_F2F08) :: PMPI_STATUS_F2F08
  procedure(MPI_STATUS_GET_ERROR) :: PMPI_STATUS_GET_ERROR
  procedure(MPI_STATUS_GET_SOURCE) :: PMPI_STATUS_GET_SOURCE
  procedure(MPI_STATUS_GET_TAG) :: PMPI_STATUS_GET_TAG
  procedure(MPI_STATUS_SET_CANCELLED) :: PMPI_STATUS_SET_CANCELLED
  procedure(MPI_STATUS_SET_ELEMENTS) :: PMPI_STATUS_SET_ELEMENTS
  procedure(MPI_STATUS_SET_ELEMENTS_X) :: PMPI_STATUS_SET_ELEMENTS_X
  procedure(MPI_STATUS_SET_ERROR) :: PMPI_STATUS_SET_ERROR
  procedure(MPI_STATUS_SET_SOURCE) :: PMPI_STATUS_SET_SOURCE
  procedure(MPI_STATUS_SET_TAG) :: PMPI_STATUS_SET_TAG
  procedure(MPI_TEST) :: PMPI_TEST
  procedure(MPI_TEST_CANCELLED) :: PMPI_TEST_CANCELLED
  procedure(MPI_TESTALL) :: PMPI_TESTALL
  procedure(MPI_TESTANY) :: PMPI_TESTANY
  procedure(MPI_TESTSOME) :: PMPI_TESTSOME
  procedure(MPI_TOPO_TEST) :: PMPI_TOPO_TEST
  procedure(MPI_TYPE_COMMIT) :: PMPI_TYPE_COMMIT
  procedure(MPI_TYPE_CONTIGUOUS) :: PMPI_TYPE_CONTIGUOUS
  procedure(MPI_TYPE_CREATE_DARRAY) :: PMPI_TYPE_CREATE_DARRAY
  procedure(MPI_TYPE_CREATE_F90_COMPLEX) :: PMPI_TYPE_CREATE_F90_COMPLEX
  procedure(MPI_TYPE_CREATE_F90_INTEGER) :: PMPI_TYPE_CREATE_F90_INTEGER
  procedure(MPI_TYPE_CREATE_F90_REAL) :: PMPI_TYPE_CREATE_F90_REAL
  procedure(MPI_TYPE_CREATE_HINDEXED) :: PMPI_TYPE_CREATE_HINDEXED
  procedure(MPI_TYPE_CREATE_HINDEXED_BLOCK) :: PMPI_TYPE_CREATE_HINDEXED_BLOCK
  procedure(MPI_TYPE_CREATE_HVECTOR) :: PMPI_TYPE_CREATE_HVECTOR
  procedure(MPI_TYPE_CREATE_INDEXED_BLOCK) :: PMPI_TYPE_CREATE_INDEXED_BLOCK
  procedure(MPI_TYPE_CREATE_KEYVAL) :: PMPI_TYPE_CREATE_KEYVAL
  procedure(MPI_TYPE_CREATE_RESIZED) :: PMPI_TYPE_CREATE_RESIZED
  procedure(MPI_TYPE_CREATE_STRUCT) :: PMPI_TYPE_CREATE_STRUCT
  procedure(MPI_TYPE_CREATE_SUBARRAY) :: PMPI_TYPE_CREATE_SUBARRAY
  procedure(MPI_TYPE_DELETE_ATTR) :: PMPI_TYPE_DELETE_ATTR
  procedure(MPI_TYPE_DUP) :: PMPI_TYPE_DUP
  procedure(MPI_TYPE_FREE) :: PMPI_TYPE_FREE
  procedure(MPI_TYPE_FREE_KEYVAL) :: PMPI_TYPE_FREE_KEYVAL
  procedure(MPI_TYPE_GET_ATTR) :: PMPI_TYPE_GET_ATTR
  procedure(MPI_TYPE_GET_CONTENTS) :: PMPI_TYPE_GET_CONTENTS
  procedure(MPI_TYPE_GET_ENVELOPE) :: PMPI_TYPE_GET_ENVELOPE
  procedure(MPI_TYPE_GET_EXTENT) :: PMPI_TYPE_GET_EXTENT
  procedure(MPI_TYPE_GET_EXTENT_X) :: PMPI_TYPE_GET_EXTENT_X
  procedure(MPI_TYPE_GET_NAME) :: PMPI_TYPE_GET_NAME
  procedure(MPI_TYPE_GET_TRUE_EXTENT) :: PMPI_TYPE_GET_TRUE_EXTENT
  procedure(MPI_TYPE_GET_TRUE_EXTENT_X) :: PMPI_TYPE_GET_TRUE_EXTENT_X
  procedure(MPI_TYPE_GET_VALUE_INDEX) :: PMPI_TYPE_GET_VALUE_INDEX
  procedure(MPI_TYPE_INDEXED) :: PMPI_TYPE_INDEXED
  procedure(MPI_TYPE_MATCH_SIZE) :: PMPI_TYPE_MATCH_SIZE
  procedure(MPI_TYPE_SET_ATTR) :: PMPI_TYPE_SET_ATTR
  procedure(MPI_TYPE_SET_NAME) :: PMPI_TYPE_SET_NAME
  procedure(MPI_TYPE_SIZE) :: PMPI_TYPE_SIZE
  procedure(MPI_TYPE_SIZE_X) :: PMPI_TYPE_SIZE_X
  procedure(MPI_TYPE_VECTOR) :: PMPI_TYPE_VECTOR
  procedure(MPI_UNPACK) :: PMPI_UNPACK
  procedure(MPI_UNPACK_EXTERNAL) :: PMPI_UNPACK_EXTERNAL
  procedure(MPI_UNPUBLISH_NAME) :: PMPI_UNPUBLISH_NAME
  procedure(MPI_WAIT) :: PMPI_WAIT
  procedure(MPI_WAITALL) :: PMPI_WAITALL
  procedure(MPI_WAITANY) :: PMPI_WAITANY
  procedure(MPI_WAITSOME) :: PMPI_WAITSOME
  procedure(MPI_WIN_ATTACH) :: PMPI_WIN_ATTACH
  procedure(MPI_WIN_CALL_ERRHANDLER) :: PMPI_WIN_CALL_ERRHANDLER
  procedure(MPI_WIN_COMPLETE) :: PMPI_WIN_COMPLETE
  procedure(MPI_WIN_CREATE) :: PMPI_WIN_CREATE
  procedure(MPI_WIN_CREATE_DYNAMIC) :: PMPI_WIN_CREATE_DYNAMIC
  procedure(MPI_WIN_CREATE_ERRHANDLER) :: PMPI_WIN_CREATE_ERRHANDLER
  procedure(MPI_WIN_CREATE_KEYVAL) :: PMPI_WIN_CREATE_KEYVAL
  procedure(MPI_WIN_DELETE_ATTR) :: PMPI_WIN_DELETE_ATTR
  procedure(MPI_WIN_DETACH) :: PMPI_WIN_DETACH
  procedure(MPI_WIN_FENCE) :: PMPI_WIN_FENCE
  procedure(MPI_WIN_FLUSH) :: PMPI_WIN_FLUSH
  procedure(MPI_WIN_FLUSH_ALL) :: PMPI_WIN_FLUSH_ALL
  procedure(MPI_WIN_FLUSH_LOCAL) :: PMPI_WIN_FLUSH_LOCAL
  procedure(MPI_WIN_FLUSH_LOCAL_ALL) :: PMPI_WIN_FLUSH_LOCAL_ALL
  procedure(MPI_WIN_FREE) :: PMPI_WIN_FREE
  procedure(MPI_WIN_FREE_KEYVAL) :: PMPI_WIN_FREE_KEYVAL
  procedure(MPI_WIN_GET_ATTR) :: PMPI_WIN_GET_ATTR
  procedure(MPI_WIN_GET_ERRHANDLER) :: PMPI_WIN_GET_ERRHANDLER
  procedure(MPI_WIN_GET_GROUP) :: PMPI_WIN_GET_GROUP
  procedure(MPI_WIN_GET_INFO) :: PMPI_WIN_GET_INFO
  procedure(MPI_WIN_GET_NAME) :: PMPI_WIN_GET_NAME
  procedure(MPI_WIN_LOCK) :: PMPI_WIN_LOCK
  procedure(MPI_WIN_LOCK_ALL) :: PMPI_WIN_LOCK_ALL
  procedure(MPI_WIN_POST) :: PMPI_WIN_POST
  procedure(MPI_WIN_SET_ATTR) :: PMPI_WIN_SET_ATTR
  procedure(MPI_WIN_SET_ERRHANDLER) :: PMPI_WIN_SET_ERRHANDLER
  procedure(MPI_WIN_SET_INFO) :: PMPI_WIN_SET_INFO
  procedure(MPI_WIN_SET_NAME) :: PMPI_WIN_SET_NAME
  procedure(MPI_WIN_START) :: PMPI_WIN_START
  procedure(MPI_WIN_SYNC) :: PMPI_WIN_SYNC
  procedure(MPI_WIN_TEST) :: PMPI_WIN_TEST
  procedure(MPI_WIN_UNLOCK) :: PMPI_WIN_UNLOCK
  procedure(MPI_WIN_UNLOCK_ALL) :: PMPI_WIN_UNLOCK_ALL
  procedure(MPI_WIN_WAIT) :: PMPI_WIN_WAIT
  procedure(MPI_WTICK) :: PMPI_WTICK
  procedure(MPI_WTIME) :: PMPI_WTIME
end module mpi
