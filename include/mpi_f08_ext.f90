! Module mpi_f08_ext: extensions of module mpi_f08.
! See mpi-ext.h.
!
! Made from the tables in fortran/ and tests/data/abi_constants.tsv by:
!   SUIRO_BLESS=1 cargo test --test fortran_modules

module mpi_f08_ext
  use mpi_f08
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

  interface MPIX_Comm_ack_failed
    subroutine MPIX_Comm_ack_failed_f08(comm, num_to_ack, num_acked, ierror)
      import
      type(MPI_Comm), intent(in) :: comm
      integer, intent(in) :: num_to_ack
      integer, intent(out) :: num_acked
      integer, intent(out), optional :: ierror
    end subroutine
  end interface

  interface MPIX_Comm_agree
    subroutine MPIX_Comm_agree_f08(comm, flag, ierror)
      import
      type(MPI_Comm), intent(in) :: comm
      integer, intent(inout) :: flag
      integer, intent(out), optional :: ierror
    end subroutine
  end interface

  interface MPIX_Comm_failure_ack
    subroutine MPIX_Comm_failure_ack_f08(comm, ierror)
      import
      type(MPI_Comm), intent(in) :: comm
      integer, intent(out), optional :: ierror
    end subroutine
  end interface

  interface MPIX_Comm_failure_get_acked
    subroutine MPIX_Comm_failure_get_acked_f08(comm, failedgrp, ierror)
      import
      type(MPI_Comm), intent(in) :: comm
      type(MPI_Group), intent(out) :: failedgrp
      integer, intent(out), optional :: ierror
    end subroutine
  end interface

  interface MPIX_Comm_get_failed
    subroutine MPIX_Comm_get_failed_f08(comm, failedgrp, ierror)
      import
      type(MPI_Comm), intent(in) :: comm
      type(MPI_Group), intent(out) :: failedgrp
      integer, intent(out), optional :: ierror
    end subroutine
  end interface

  interface MPIX_Comm_iagree
    subroutine MPIX_Comm_iagree_f08(comm, flag, request, ierror)
      import
      type(MPI_Comm), intent(in) :: comm
      integer, intent(inout), asynchronous :: flag
      type(MPI_Request), intent(out) :: request
      integer, intent(out), optional :: ierror
    end subroutine
  end interface

  interface MPIX_Comm_is_revoked
    subroutine MPIX_Comm_is_revoked_f08(comm, flag, ierror)
      import
      type(MPI_Comm), intent(in) :: comm
      logical, intent(out) :: flag
      integer, intent(out), optional :: ierror
    end subroutine
  end interface

  interface MPIX_Comm_ishrink
    subroutine MPIX_Comm_ishrink_f08(comm, newcomm, request, ierror)
      import
      type(MPI_Comm), intent(in) :: comm
      type(MPI_Comm), intent(out), asynchronous :: newcomm
      type(MPI_Request), intent(out) :: request
      integer, intent(out), optional :: ierror
    end subroutine
  end interface

  interface MPIX_Comm_revoke
    subroutine MPIX_Comm_revoke_f08(comm, ierror)
      import
      type(MPI_Comm), intent(in) :: comm
      integer, intent(out), optional :: ierror
    end subroutine
  end interface

  interface MPIX_Comm_shrink
    subroutine MPIX_Comm_shrink_f08(comm, newcomm, ierror)
      import
      type(MPI_Comm), intent(in) :: comm
      type(MPI_Comm), intent(out) :: newcomm
      integer, intent(out), optional :: ierror
    end subroutine
  end interface

  interface MPIX_File_get_failed
    subroutine MPIX_File_get_failed_f08(fh, failedgrp, ierror)
      import
      type(MPI_File), intent(in) :: fh
      type(MPI_Group), intent(out) :: failedgrp
      integer, intent(out), optional :: ierror
    end subroutine
  end interface

  interface MPIX_File_is_revoked
    subroutine MPIX_File_is_revoked_f08(fh, flag, ierror)
      import
      type(MPI_File), intent(in) :: fh
      logical, intent(out) :: flag
      integer, intent(out), optional :: ierror
    end subroutine
  end interface

  interface MPIX_File_revoke
    subroutine MPIX_File_revoke_f08(fh, ierror)
      import
      type(MPI_File), intent(in) :: fh
      integer, intent(out), optional :: ierror
    end subroutine
  end interface

  interface MPIX_Win_get_failed
    subroutine MPIX_Win_get_failed_f08(win, failedgrp, ierror)
      import
      type(MPI_Win), intent(in) :: win
      type(MPI_Group), intent(out) :: failedgrp
      integer, intent(out), optional :: ierror
    end subroutine
  end interface

  interface MPIX_Win_is_revoked
    subroutine MPIX_Win_is_revoked_f08(win, flag, ierror)
      import
      type(MPI_Win), intent(in) :: win
      logical, intent(out) :: flag
      integer, intent(out), optional :: ierror
    end subroutine
  end interface

  interface MPIX_Win_revoke
    subroutine MPIX_Win_revoke_f08(win, ierror)
      import
      type(MPI_Win), intent(in) :: win
      integer, intent(out), optional :: ierror
    end subroutine
  end interface

  ! The profiling interface.

  procedure(MPIX_Comm_ack_failed_f08) :: PMPIX_Comm_ack_failed_f08
  procedure(MPIX_Comm_agree_f08) :: PMPIX_Comm_agree_f08
  procedure(MPIX_Comm_failure_ack_f08) :: PMPIX_Comm_failure_ack_f08
  procedure(MPIX_Comm_failure_get_acked_f08) :: PMPIX_Comm_failure_get_acked_f08
  procedure(MPIX_Comm_get_failed_f08) :: PMPIX_Comm_get_failed_f08
  procedure(MPIX_Comm_iagree_f08) :: PMPIX_Comm_iagree_f08
  procedure(MPIX_Comm_is_revoked_f08) :: PMPIX_Comm_is_revoked_f08
  procedure(MPIX_Comm_ishrink_f08) :: PMPIX_Comm_ishrink_f08
  procedure(MPIX_Comm_revoke_f08) :: PMPIX_Comm_revoke_f08
  procedure(MPIX_Comm_shrink_f08) :: PMPIX_Comm_shrink_f08
  procedure(MPIX_File_get_failed_f08) :: PMPIX_File_get_failed_f08
  procedure(MPIX_File_is_revoked_f08) :: PMPIX_File_is_revoked_f08
  procedure(MPIX_File_revoke_f08) :: PMPIX_File_revoke_f08
  procedure(MPIX_Win_get_failed_f08) :: PMPIX_Win_get_failed_f08
  procedure(MPIX_Win_is_revoked_f08) :: PMPIX_Win_is_revoked_f08
  procedure(MPIX_Win_revoke_f08) :: PMPIX_Win_revoke_f08

  interface PMPIX_Comm_ack_failed
    procedure PMPIX_Comm_ack_failed_f08
  end interface

  interface PMPIX_Comm_agree
    procedure PMPIX_Comm_agree_f08
  end interface

  interface PMPIX_Comm_failure_ack
    procedure PMPIX_Comm_failure_ack_f08
  end interface

  interface PMPIX_Comm_failure_get_acked
    procedure PMPIX_Comm_failure_get_acked_f08
  end interface

  interface PMPIX_Comm_get_failed
    procedure PMPIX_Comm_get_failed_f08
  end interface

  interface PMPIX_Comm_iagree
    procedure PMPIX_Comm_iagree_f08
  end interface

  interface PMPIX_Comm_is_revoked
    procedure PMPIX_Comm_is_revoked_f08
  end interface

  interface PMPIX_Comm_ishrink
    procedure PMPIX_Comm_ishrink_f08
  end interface

  interface PMPIX_Comm_revoke
    procedure PMPIX_Comm_revoke_f08
  end interface

  interface PMPIX_Comm_shrink
    procedure PMPIX_Comm_shrink_f08
  end interface

  interface PMPIX_File_get_failed
    procedure PMPIX_File_get_failed_f08
  end interface

  interface PMPIX_File_is_revoked
    procedure PMPIX_File_is_revoked_f08
  end interface

  interface PMPIX_File_revoke
    procedure PMPIX_File_revoke_f08
  end interface

  interface PMPIX_Win_get_failed
    procedure PMPIX_Win_get_failed_f08
  end interface

  interface PMPIX_Win_is_revoked
    procedure PMPIX_Win_is_revoked_f08
  end interface

  interface PMPIX_Win_revoke
    procedure PMPIX_Win_revoke_f08
  end interface
end module mpi_f08_ext
