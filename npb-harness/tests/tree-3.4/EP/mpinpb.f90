module mpinpb
  implicit none
  include 'mpif.h'
  integer :: me, nprocs, root
end module mpinpb
