! Module mpi_ext: extensions of module mpi.
! See mpi-ext.h.
!
! Made from the tables in fortran/ and tests/data/abi_constants.tsv by:
!   SUIRO_BLESS=1 cargo test --test fortran_modules

module mpi_ext
  use mpi
  implicit none
  public

  integer, parameter :: OMPI_HAVE_MPI_EXT = 1
  integer, parameter :: OMPI_HAVE_MPI_EXT_FTMPI = 1
  integer, parameter :: OMPI_HAVE_MPIX_COMM_GET_FAILED = 1
  integer, parameter :: OMPI_HAVE_MPIX_COMM_ACK_FAILED = 1
  integer, parameter :: OMPI_HAVE_MPIX_COMM_ISHRINK = 1
  integer, parameter :: MPIX_ERR_PROC_FAILED = 75
  integer, parameter :: MPIX_ERR_PROC_FAILED_PENDING = 76
  integer, parameter :: MPIX_ERR_REVOKED = 77
  integer, parameter :: MPI_ERR_PROC_FAILED = 75
  integer, parameter :: MPI_ERR_PROC_FAILED_PENDING = 76
  integer, parameter :: MPI_ERR_REVOKED = 77
  integer, parameter :: MPIX_FT = 1000
  integer, parameter :: MPI_FT = 1000
  integer, parameter :: IMPI_CLIENT_SIZE = 1001
  integer, parameter :: IMPI_CLIENT_COLOR = 1002
  integer, parameter :: IMPI_HOST_SIZE = 1003
  integer, parameter :: IMPI_HOST_COLOR = 1004

  interface
    subroutine MPIX_COMM_ACK_FAILED(comm, num_to_ack, num_acked, ierror)
      import
      integer :: comm, num_to_ack, num_acked, ierror
    end subroutine
    subroutine MPIX_COMM_AGREE(comm, flag, ierror)
      import
      integer :: comm, flag, ierror
    end subroutine
    subroutine MPIX_COMM_FAILURE_ACK(comm, ierror)
      import
      integer :: comm, ierror
    end subroutine
    subroutine MPIX_COMM_FAILURE_GET_ACKED(comm, failedgrp, ierror)
      import
      integer :: comm, failedgrp, ierror
    end subroutine
    subroutine MPIX_COMM_GET_FAILED(comm, failedgrp, ierror)
      import
      integer :: comm, failedgrp, ierror
    end subroutine
    subroutine MPIX_COMM_IAGREE(comm, flag, request, ierror)
      import
      integer :: comm, flag, request, ierror
    end subroutine
    subroutine MPIX_COMM_IS_REVOKED(comm, flag, ierror)
      import
      integer :: comm
      logical :: flag
      integer :: ierror
    end subroutine
    subroutine MPIX_COMM_ISHRINK(comm, newcomm, request, ierror)
      import
      integer :: comm, newcomm, request, ierror
    end subroutine
    subroutine MPIX_COMM_REVOKE(comm, ierror)
      import
      integer :: comm, ierror
    end subroutine
    subroutine MPIX_COMM_SHRINK(comm, newcomm, ierror)
      import
      integer :: comm, newcomm, ierror
    end subroutine
    subroutine MPIX_FILE_GET_FAILED(fh, failedgrp, ierror)
      import
      integer :: fh, failedgrp, ierror
    end subroutine
    subroutine MPIX_FILE_IS_REVOKED(fh, flag, ierror)
      import
      integer :: fh
      logical :: flag
      integer :: ierror
    end subroutine
    subroutine MPIX_FILE_REVOKE(fh, ierror)
      import
      integer :: fh, ierror
    end subroutine
    subroutine MPIX_WIN_GET_FAILED(win, failedgrp, ierror)
      import
      integer :: win, failedgrp, ierror
    end subroutine
    subroutine MPIX_WIN_IS_REVOKED(win, flag, ierror)
      import
      integer :: win
      logical :: flag
      integer :: ierror
    end subroutine
    subroutine MPIX_WIN_REVOKE(win, ierror)
      import
      integer :: win, ierror
    end subroutine
  end interface

  ! The profiling interface.

  procedure(MPIX_COMM_ACK_FAILED) :: PMPIX_COMM_ACK_FAILED
  procedure(MPIX_COMM_AGREE) :: PMPIX_COMM_AGREE
  procedure(MPIX_COMM_FAILURE_ACK) :: PMPIX_COMM_FAILURE_ACK
  procedure(MPIX_COMM_FAILURE_GET_ACKED) :: PMPIX_COMM_FAILURE_GET_ACKED
  procedure(MPIX_COMM_GET_FAILED) :: PMPIX_COMM_GET_FAILED
  procedure(MPIX_COMM_IAGREE) :: PMPIX_COMM_IAGREE
  procedure(MPIX_COMM_IS_REVOKED) :: PMPIX_COMM_IS_REVOKED
  procedure(MPIX_COMM_ISHRINK) :: PMPIX_COMM_ISHRINK
  procedure(MPIX_COMM_REVOKE) :: PMPIX_COMM_REVOKE
  procedure(MPIX_COMM_SHRINK) :: PMPIX_COMM_SHRINK
  procedure(MPIX_FILE_GET_FAILED) :: PMPIX_FILE_GET_FAILED
  procedure(MPIX_FILE_IS_REVOKED) :: PMPIX_FILE_IS_REVOKED
  procedure(MPIX_FILE_REVOKE) :: PMPIX_FILE_REVOKE
  procedure(MPIX_WIN_GET_FAILED) :: PMPIX_WIN_GET_FAILED
  procedure(MPIX_WIN_IS_REVOKED) :: PMPIX_WIN_IS_REVOKED
  procedure(MPIX_WIN_REVOKE) :: PMPIX_WIN_REVOKE
end module mpi_ext
