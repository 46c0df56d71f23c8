! Shared code of the Fortran kernels: the classes by their letters and the lines that NPB prints at the
! end of a run. Free of MPI, so that each kernel can choose its interface of MPI.
module npb
  use, intrinsic :: iso_fortran_env, only: error_unit, int64, output_unit, real64
  implicit none
  private
  public :: class_index, near, report, result_of_run

  character(*), parameter :: CLASSES = "SWAB"

  type :: result_of_run
    character(2) :: kernel
    ! From 1, in the order of CLASSES.
    integer :: class
    integer(int64) :: size
    integer :: iterations = 0
    integer :: ranks
    real(real64) :: seconds
    ! In millions.
    real(real64) :: operations
    ! Of operation.
    character(24) :: kind
    logical :: verified
  end type result_of_run

contains

  ! The index of the class that the program's only argument names, or 0 after a message.
  integer function class_index()
    character(8) :: argument
    call get_command_argument(1, argument)
    class_index = 0
    if (command_argument_count() == 1 .and. len_trim(argument) == 1) &
      class_index = index(CLASSES, argument(1:1))
    if (class_index == 0) write (error_unit, "(a)") "usage: PROGRAM CLASS, one of S W A B"
  end function class_index

  ! Whether the value is the expected one up to a relative error of `tolerance`.
  elemental logical function near(value, expected, tolerance)
    real(real64), intent(in) :: value, expected, tolerance
    near = abs((value - expected)/expected) <= tolerance
  end function near

  ! The lines that NPB prints.
  subroutine report(run)
    type(result_of_run), intent(in) :: run
    character(12) :: verdict
    real(real64) :: rate
    rate = 0
    if (run%seconds > 0) rate = run%operations/run%seconds
    verdict = "UNSUCCESSFUL"
    if (run%verified) verdict = "  SUCCESSFUL"
    write (*, "(//1x,2a)") run%kernel, " Benchmark Completed"
    write (*, "(2a)") " Class           =                        ", CLASSES(run%class:run%class)
    write (*, "(a,i12)") " Size            =             ", run%size
    write (*, "(a,i12)") " Iterations      =             ", run%iterations
    write (*, "(a,f12.4)") " Time in seconds =             ", run%seconds
    write (*, "(a,i12)") " Total processes =             ", run%ranks
    write (*, "(a,f12.2)") " Mop/s total     =             ", rate
    write (*, "(a,f12.2)") " Mop/s/process   =             ", rate/run%ranks
    write (*, "(2a)") " Operation type  = ", adjustr(run%kind)
    write (*, "(2a)") " Verification    =             ", verdict
    flush (output_unit)
  end subroutine report

end module npb
