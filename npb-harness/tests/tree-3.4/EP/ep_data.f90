module ep_data
  implicit none
  include 'npbparams.h'
  double precision, parameter :: a = 1220703125.d0, s = 271828183.d0
  integer, parameter :: rounds = 1000
end module ep_data
