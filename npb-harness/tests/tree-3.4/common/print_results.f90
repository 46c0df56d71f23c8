subroutine print_results(name, class, nprocs, t, mops, verified, flags)
  implicit none
  character(len=2) :: name
  character :: class
  integer :: nprocs
  double precision :: t, mops
  logical :: verified
  character(len=*) :: flags

  write (*, '(//, 1x, a, " Benchmark Completed.")') name
  write (*, '(" Class           = ", 12x, a12)') class
  write (*, '(" Time in seconds = ", 12x, f12.2)') t
  write (*, '(" Total processes = ", 12x, i12)') nprocs
  write (*, '(" Mop/s total     = ", 12x, f12.2)') mops
  write (*, '(" Mop/s/process   = ", 12x, f12.2)') mops / nprocs
  if (verified) then
    write (*, '(" Verification    = ", 12x, a)') '  SUCCESSFUL'
  else
    write (*, '(" Verification    = ", 12x, a)') 'UNSUCCESSFUL'
  end if
  write (*, '(/, " Compile options:", /, "    FFLAGS       = ", a)') flags
end subroutine
