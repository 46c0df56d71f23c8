! Attributes that cross languages (MPI 5.0, 19.3.7): what Fortran sets C reads as a pointer to an
! integer, what C sets Fortran reads as an address; functions that copy and delete, in both.
module functions
  use mpi
  implicit none
  integer :: copies = 0, deletions = 0
contains
  subroutine copy(oldcomm, keyval, extra, value_in, value_out, flag, ierror)
    integer :: oldcomm, keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra, value_in, value_out
    logical :: flag
    copies = copies + 1
    call check(extra == 99, 'extra state of a copy')
    value_out = value_in + 1
    flag = value_in /= 13
    ierror = MPI_SUCCESS
  end subroutine copy

  subroutine delete(comm, keyval, value, extra, ierror)
    integer :: comm, keyval, ierror
    integer(MPI_ADDRESS_KIND) :: value, extra
    deletions = deletions + 1
    call check(extra == 99, 'extra state of a deletion')
    ierror = MPI_SUCCESS
    if (value == 666) ierror = MPI_ERR_OTHER
  end subroutine delete
end module functions

program attributes
  use mpi
  implicit none
  integer :: ierror, errors
  call MPI_Init(ierror)
  call predefined
  call of_fortran
  call of_c
  call both
  call old
  call others
  call c_errors(errors)
  call check(errors == 0, 'the part in C')
  call finish
contains
  ! Values in Fortran, where C has pointers to them.
  subroutine predefined
    integer(MPI_ADDRESS_KIND) :: value
    logical :: flag
    value = -1
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierror)
    call check(flag .and. value >= 32767 .and. value <= huge(0), 'MPI_TAG_UB')
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, value, flag, ierror)
    call check(flag .and. (value == 0 .or. value == 1), 'MPI_WTIME_IS_GLOBAL')
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, value, flag, ierror)
    if (flag) call check(value == 0, 'MPI_APPNUM')
  end subroutine predefined

  subroutine of_fortran
    use functions
    integer :: keyval, other, comm, third
    integer(MPI_ADDRESS_KIND) :: value, extra
    logical :: flag
    extra = 99
    call MPI_Comm_create_keyval(copy, delete, keyval, extra, ierror)
    call MPI_Comm_dup(MPI_COMM_SELF, comm, ierror)
    call MPI_Comm_get_attr(comm, keyval, value, flag, ierror)
    call check(.not. flag, 'no attribute before')
    value = 2_MPI_ADDRESS_KIND**40 + 5
    call MPI_Comm_set_attr(comm, keyval, value, ierror)
    call c_read_aint(comm, keyval, value)
    call MPI_Comm_dup(comm, other, ierror)
    call check(copies == 1, 'a copy')
    call MPI_Comm_get_attr(other, keyval, value, flag, ierror)
    call check(flag .and. value == 2_MPI_ADDRESS_KIND**40 + 6, 'the value of a copy')
    value = -3
    call MPI_Comm_set_attr(other, keyval, value, ierror)
    call check(deletions == 1, 'a value that is replaced is deleted')
    call c_read_aint(other, keyval, value)
    call MPI_Comm_delete_attr(comm, keyval, ierror)
    call check(deletions == 2, 'a value that is deleted')
    value = 13
    call MPI_Comm_set_attr(comm, keyval, value, ierror)
    call MPI_Comm_dup(comm, third, ierror)
    call MPI_Comm_get_attr(third, keyval, value, flag, ierror)
    call check(.not. flag, 'a copy that is not wanted')
    call MPI_Comm_free(third, ierror)
    call check(deletions == 2, 'nothing to delete')
    call MPI_Comm_free(other, ierror)
    call check(deletions == 3, 'deleted with its communicator')
    call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN, ierror)
    value = 666
    call MPI_Comm_set_attr(comm, keyval, value, ierror)
    call check(deletions == 4, 'deleted before the next')
    call MPI_Comm_delete_attr(comm, keyval, ierror)
    call check(ierror /= MPI_SUCCESS, 'a deletion that fails')
    value = 1
    call MPI_Comm_free_keyval(keyval, ierror)
    call check(keyval == MPI_KEYVAL_INVALID, 'a freed keyval')
  end subroutine of_fortran

  ! Predefined functions, found by their addresses.
  subroutine of_c
    integer :: keyval, comm, other
    integer(MPI_ADDRESS_KIND) :: value, address
    logical :: flag
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval, &
      0_MPI_ADDRESS_KIND, ierror)
    call MPI_Comm_dup(MPI_COMM_SELF, comm, ierror)
    call c_set(comm, keyval, address)
    call MPI_Comm_get_attr(comm, keyval, value, flag, ierror)
    call check(flag .and. value == address, 'the address that C set')
    call MPI_Comm_dup(comm, other, ierror)
    call MPI_Comm_get_attr(other, keyval, value, flag, ierror)
    call check(flag .and. value == address, 'MPI_COMM_DUP_FN')
    call c_read_own(other, keyval)
    call c_set_value(other, keyval, -17_MPI_ADDRESS_KIND)
    call MPI_Comm_get_attr(other, keyval, value, flag, ierror)
    call check(flag .and. value == -17, 'a value that C set')
    call MPI_Comm_set_attr(comm, keyval, 21_MPI_ADDRESS_KIND, ierror)
    call MPI_Comm_free(other, ierror)
    call MPI_Comm_dup(comm, other, ierror)
    call c_read_aint(other, keyval, 21_MPI_ADDRESS_KIND)
    call MPI_Comm_free(other, ierror)
    call MPI_Comm_free(comm, ierror)
    call MPI_Comm_free_keyval(keyval, ierror)
  end subroutine of_c

  ! Functions in C for values of Fortran: C is given pointers to them.
  subroutine both
    integer :: keyval, comm, count
    integer(MPI_ADDRESS_KIND) :: value
    logical :: flag
    call c_keyval(keyval)
    call MPI_Comm_dup(MPI_COMM_SELF, comm, ierror)
    call MPI_Comm_set_attr(comm, keyval, 5_MPI_ADDRESS_KIND, ierror)
    call MPI_Comm_get_attr(comm, keyval, value, flag, ierror)
    call check(flag .and. value == 5, 'a value of Fortran with functions in C')
    call MPI_Comm_free(comm, ierror)
    call c_deleted(count)
    call check(count == 1, 'deleted in C')
    call MPI_Comm_free_keyval(keyval, ierror)
  end subroutine both

  ! Attributes of MPI 1 are INTEGERs.
  subroutine old
    integer :: keyval, comm, value
    integer(MPI_ADDRESS_KIND) :: wide
    logical :: flag
    external :: MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN
    call MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, keyval, 0, ierror)
    call MPI_Comm_dup(MPI_COMM_SELF, comm, ierror)
    call MPI_Attr_put(comm, keyval, -44, ierror)
    call c_read_int(comm, keyval, -44)
    call MPI_Comm_get_attr(comm, keyval, wide, flag, ierror)
    call check(flag .and. wide == -44, 'an INTEGER as an address')
    value = 0
    call MPI_Attr_get(comm, keyval, value, flag, ierror)
    call check(flag .and. value == -44, 'MPI_ATTR_GET')
    call MPI_Attr_delete(comm, keyval, ierror)
    call MPI_Attr_get(comm, keyval, value, flag, ierror)
    call check(.not. flag, 'MPI_ATTR_DELETE')
    call MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierror)
    call check(flag .and. value >= 32767, 'MPI_TAG_UB of MPI 1')
    call MPI_Keyval_free(keyval, ierror)
    call MPI_Comm_free(comm, ierror)
  end subroutine old

  ! The same of datatypes.
  subroutine others
    integer :: keyval, type, copy
    integer(MPI_ADDRESS_KIND) :: value
    logical :: flag
    call MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, keyval, &
      0_MPI_ADDRESS_KIND, ierror)
    call MPI_Type_contiguous(3, MPI_INTEGER, type, ierror)
    call MPI_Type_set_attr(type, keyval, 31_MPI_ADDRESS_KIND, ierror)
    call MPI_Type_dup(type, copy, ierror)
    call MPI_Type_get_attr(copy, keyval, value, flag, ierror)
    call check(flag .and. value == 31, 'MPI_TYPE_DUP_FN')
    call MPI_Type_free(copy, ierror)
    call MPI_Type_free(type, ierror)
    call MPI_Type_free_keyval(keyval, ierror)
  end subroutine others
end program attributes

include 'check_fortran.h'
