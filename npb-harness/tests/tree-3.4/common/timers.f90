module timers
  double precision :: start(64), elapsed(64)
end module timers

subroutine timer_clear(n)
  use timers
  implicit none
  integer :: n
  elapsed(n) = 0
end subroutine

subroutine timer_start(n)
  use timers
  implicit none
  integer :: n
  include 'mpif.h'
  start(n) = MPI_Wtime()
end subroutine

subroutine timer_stop(n)
  use timers
  implicit none
  integer :: n
  include 'mpif.h'
  elapsed(n) = elapsed(n) + MPI_Wtime() - start(n)
end subroutine

double precision function timer_read(n)
  use timers
  implicit none
  integer :: n
  timer_read = elapsed(n)
end function
