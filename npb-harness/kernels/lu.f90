! LU: the steady state of the compressible Navier-Stokes equations on a cube, by symmetric
! successive over-relaxation (SSOR). In each time step the residual is swept once from the lowest
! corner to the highest and once back; a point needs its three neighbours' new values.
!
!     k = 2   rank (1,1) . . . . .          Columns of the cube along z are spread over a grid of
!     k = 3   (1,1)  then (2,1) (1,2)       ranks. A plane of a column is computed once those of
!     k = 4   (1,1), (2,1) (1,2), (2,2)     the neighbours before it are there: planes follow one
!             ...                           another over the grid of ranks as a wavefront.
!
! Module mpi_f08, with array sections that are not contiguous as buffers: what a neighbour gets is
! named where it lies, `u(:, nx - 1:nx, 1:ny, :)` for example, also while the message is under way.
!
! The problem, its discretization and the values to verify are those of D. Bailey et al., "The NAS
! Parallel Benchmarks", NASA RNR-94-007, and "The NAS Parallel Benchmarks 2.0", NASA NAS-95-020.
! Blocks of 5 x 5 are never formed: the derivative of a flux is applied to a vector as it stands,
! and the diagonal block is solved forward, since nothing stands above its diagonal. So rates, which
! count the published number of operations, are higher than those of programs that form the blocks.
module lu_equations
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none

  ! Density, three momenta, energy. Of a state also what is derived from it: the inverse density,
  ! three velocities, the pressure, and the part of the heat flux that all directions share.
  integer, parameter :: PARTS = 5, DERIVED = 6

  ! The constants of the equations, named as in the specification.
  real(real64), parameter :: C1 = 1.4_real64, C2 = 0.4_real64, C34 = 0.1_real64
  real(real64), parameter :: C15 = 1.96_real64, OMEGA = 1.2_real64
  real(real64), parameter :: DIFFUSION(3) = [0.75_real64, 0.75_real64, 1.0_real64]
  real(real64), parameter :: DISSIPATION = 0.25_real64
  real(real64), parameter :: STRESS = 4.0_real64/3

  ! The exact solution: for each part the constant, then of x, y and z the powers 1 to 4.
  real(real64), parameter :: EXACT(13, PARTS) = reshape([real(real64) :: &
    2, 0, 0, 4, 5, 3, 0.5, 0.02_real64, 0.01_real64, 0.03_real64, 0.5, 0.4_real64, 0.3_real64, &
    1, 0, 0, 0, 1, 2, 3, 0.01_real64, 0.03_real64, 0.02_real64, 0.4_real64, 0.3_real64, 0.5, &
    2, 2, 0, 0, 0, 2, 3, 0.04_real64, 0.03_real64, 0.05_real64, 0.3_real64, 0.5, 0.4_real64, &
    2, 2, 0, 0, 0, 2, 3, 0.03_real64, 0.05_real64, 0.04_real64, 0.2_real64, 0.1_real64, &
    0.3_real64, &
    5, 4, 3, 2, 0.1_real64, 0.4_real64, 0.3_real64, 0.05_real64, 0.04_real64, 0.03_real64, &
    0.1_real64, 0.3_real64, 0.2_real64], [13, PARTS])

contains

  pure function exact_at(x, y, z) result(state)
    real(real64), intent(in) :: x, y, z
    real(real64) :: state(PARTS)
    integer :: power
    state = EXACT(1, :)
    do power = 1, 4
      state = state + EXACT(3*power - 1, :)*x**power + EXACT(3*power, :)*y**power &
        + EXACT(3*power + 1, :)*z**power
    end do
  end function exact_at

  pure subroutine derive(state, more)
    real(real64), intent(in) :: state(PARTS)
    real(real64), intent(out) :: more(DERIVED)
    real(real64) :: squares
    more(1) = 1/state(1)
    more(2:4) = more(1)*state(2:4)
    squares = more(2)**2 + more(3)**2 + more(4)**2
    more(5) = C2*(state(5) - 0.5_real64*state(1)*squares)
    more(6) = 0.5_real64*(1 - C15)*squares + C15*more(1)*state(5)
  end subroutine derive

  ! The contribution of both neighbours along an axis to the change at a point, without
  ! the dissipation: `half` is half the inverse distance between points, `square` its square.
  pure subroutine add_fluxes(axis, half, square, before, at, after, before_more, at_more, &
                             after_more, change)
    integer, intent(in) :: axis
    real(real64), intent(in) :: half, square
    real(real64), intent(in), dimension(PARTS) :: before, at, after
    real(real64), intent(in), dimension(DERIVED) :: before_more, at_more, after_more
    real(real64), intent(inout) :: change(PARTS)
    real(real64) :: v_before, v_after, heat
    integer :: part
    v_before = before_more(1 + axis)
    v_after = after_more(1 + axis)
    do part = 1, PARTS
      change(part) = change(part) - half*(v_after*after(part) - v_before*before(part)) &
        + square*DIFFUSION(axis)*(before(part) - 2*at(part) + after(part))
    end do
    do part = 2, 4
      change(part) = change(part) &
        + square*C34*(before_more(part) - 2*at_more(part) + after_more(part))
    end do
    part = 1 + axis
    heat = before_more(6) - 2*at_more(6) + after_more(6) &
      + (v_before**2 - 2*at_more(part)**2 + v_after**2)/6
    change(part) = change(part) - half*(after_more(5) - before_more(5)) &
      + square*C34*(STRESS - 1)*(v_before - 2*at_more(part) + v_after)
    change(5) = change(5) - half*(v_after*after_more(5) - v_before*before_more(5)) &
      + square*C34*heat
  end subroutine add_fluxes

  ! Add `convection` times the derivative of the flux along an axis, in the direction of `vector`,
  ! and `conduction` times that of the diffusion.
  pure subroutine add_derivative(axis, convection, conduction, state, more, vector, total)
    integer, intent(in) :: axis
    real(real64), intent(in) :: convection, conduction
    real(real64), intent(in) :: state(PARTS), more(DERIVED), vector(PARTS)
    real(real64), intent(inout) :: total(PARTS)
    real(real64) :: turn(2:4), along, pressure, velocity, factor, work
    turn = more(1)*(vector(2:4) - more(2:4)*vector(1))
    along = turn(1 + axis)
    velocity = more(1 + axis)
    work = more(2)*turn(2) + more(3)*turn(3) + more(4)*turn(4)
    pressure = C2*(vector(5) - state(1)*work &
      - 0.5_real64*vector(1)*(more(2)**2 + more(3)**2 + more(4)**2))
    ! Diffusion and convection act on every part of the vector.
    factor = conduction*DIFFUSION(axis) + convection*velocity
    total(1) = total(1) + factor*vector(1) + convection*along*state(1)
    total(2:4) = total(2:4) + factor*vector(2:4) + convection*along*state(2:4) &
      + conduction*C34*turn
    total(1 + axis) = total(1 + axis) + convection*pressure + conduction*C34*(STRESS - 1)*along
    total(5) = total(5) + factor*vector(5) &
      + convection*(along*(state(5) + more(5)) + velocity*pressure) &
      + conduction*C34*((1 - C15)*work + velocity*along/3 &
                        + C15*more(1)*(vector(5) - more(1)*state(5)*vector(1)))
  end subroutine add_derivative

  ! Solve with the diagonal block: one, and `conduction` times the derivatives of the diffusion
  ! along all three axes.
  pure subroutine solve_diagonal(conduction, state, more, vector)
    real(real64), intent(in) :: conduction, state(PARTS), more(DERIVED)
    real(real64), intent(inout) :: vector(PARTS)
    real(real64) :: main, stress_all, inverse, work
    main = 1 + conduction*sum(DIFFUSION)
    stress_all = conduction*C34*(2 + STRESS)*more(1)
    inverse = 1/(main + stress_all)
    vector(1) = vector(1)/main
    vector(2:4) = inverse*(vector(2:4) + stress_all*more(2:4)*vector(1))
    work = more(2)*(vector(2) - more(2)*vector(1)) + more(3)*(vector(3) - more(3)*vector(1)) &
      + more(4)*(vector(4) - more(4)*vector(1))
    vector(5) = (vector(5) - conduction*C34*more(1)*((3*(1 - C15) + 1.0_real64/3)*work &
                                                     - 3*C15*more(1)*state(5)*vector(1))) &
      /(main + 3*conduction*C34*C15*more(1))
  end subroutine solve_diagonal

end module lu_equations

! The local column of the cube, its operations, and its neighbours.
module lu_column
  use mpi_f08
  use lu_equations
  implicit none

  integer, parameter :: AXES = 2, TAG = 1
  type(MPI_Comm) :: grid
  integer :: rank, ranks
  ! Neighbouring ranks along x and y.
  integer :: lower(AXES), upper(AXES)

  ! Points along every side of the cube; the local column has `nx` times `ny`, after `before`.
  integer :: side, nx, ny, before(AXES)
  ! The first and last local points that are not on the boundary of the cube.
  integer :: first(AXES), last(AXES)
  ! The distance between points, and of time.
  real(real64) :: step, time_step
  ! Half the inverse of that between points, and its square.
  real(real64) :: half, square

  ! The solution with two points around, what is derived from it with one, the residual with one,
  ! the forces. In z there is one plane of zeros below and above the cube.
  real(real64), allocatable, asynchronous :: u(:, :, :, :)
  real(real64), allocatable :: more(:, :, :, :), forces(:, :, :, :)
  real(real64), allocatable, asynchronous :: residual(:, :, :, :)
  ! Of the fourth difference, for each position along a side: none reaches over the boundary.
  real(real64), allocatable :: fourth(:, :)

contains

  ! Whether every rank got points enough for its neighbours to take two from.
  logical function lay_out_column(points)
    integer, intent(in) :: points
    integer :: dims(AXES), place(AXES), count(AXES)
    side = points
    step = 1.0_real64/(side - 1)
    half = 1/(2*step)
    square = 1/step**2
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    dims = 0
    call MPI_Dims_create(ranks, AXES, dims)
    call MPI_Cart_create(MPI_COMM_WORLD, AXES, dims, [.false., .false.], .true., grid)
    call MPI_Comm_rank(grid, rank)
    call MPI_Cart_coords(grid, rank, AXES, place)
    call MPI_Cart_shift(grid, 0, 1, lower(1), upper(1))
    call MPI_Cart_shift(grid, 1, 1, lower(2), upper(2))
    before = side*place/dims
    count = side*(place + 1)/dims - before
    nx = count(1)
    ny = count(2)
    first = max(1, 2 - before)
    last = min(count, side - 1 - before)
    lay_out_column = all(side/dims >= 2)
  end function lay_out_column

  subroutine take_memory()
    integer :: place
    allocate (u(PARTS, -1:nx + 2, -1:ny + 2, 0:side + 1), source=0.0_real64)
    allocate (more(DERIVED, 0:nx + 1, 0:ny + 1, side), source=0.0_real64)
    allocate (residual(PARTS, 0:nx + 1, 0:ny + 1, side), source=0.0_real64)
    allocate (forces(PARTS, nx, ny, side), source=0.0_real64)
    allocate (fourth(-2:2, side))
    do place = 1, side
      fourth(:, place) = DISSIPATION*[1, -4, 6, -4, 1]
    end do
    fourth(:, 2) = DISSIPATION*[0, 0, 5, -4, 1]
    fourth(:, 3) = DISSIPATION*[0, -4, 6, -4, 1]
    fourth(:, side - 2) = DISSIPATION*[1, -4, 6, -4, 0]
    fourth(:, side - 1) = DISSIPATION*[1, -4, 5, 0, 0]
  end subroutine take_memory

  ! The exact solution at a point of my column or around it.
  pure function exact_here(i, j, k) result(state)
    integer, intent(in) :: i, j, k
    real(real64) :: state(PARTS)
    state = exact_at(step*(before(1) + i - 1), step*(before(2) + j - 1), step*(k - 1))
  end function exact_here

  ! Forces that keep the exact solution steady; the solution is one afterwards.
  subroutine set_forces()
    integer :: i, j, k
    do concurrent(k=1:side, j=-1:ny + 2, i=-1:nx + 2)
      u(:, i, j, k) = exact_here(i, j, k)
    end do
    forces = 0
    call find_residual()
    forces = residual(:, 1:nx, 1:ny, :)
  end subroutine set_forces

  ! The exact solution on the boundary, and from there inwards.
  subroutine set_start()
    integer :: i, j, k
    do concurrent(k=1:side, j=1:ny, i=1:nx)
      if (on_boundary(before(1) + i) .or. on_boundary(before(2) + j) .or. on_boundary(k)) then
        u(:, i, j, k) = exact_here(i, j, k)
      else
        u(:, i, j, k) = blend(step*(before(1) + i - 1), step*(before(2) + j - 1), step*(k - 1))
      end if
    end do
  end subroutine set_start

  pure logical function on_boundary(position)
    integer, intent(in) :: position
    on_boundary = position == 1 .or. position == side
  end function on_boundary

  ! Between opposite faces, along the three axes.
  pure function blend(x, y, z) result(state)
    real(real64), intent(in) :: x, y, z
    real(real64), dimension(PARTS) :: state, along_x, along_y, along_z
    real(real64), parameter :: low = 0, high = 1
    along_x = (1 - x)*exact_at(low, y, z) + x*exact_at(high, y, z)
    along_y = (1 - y)*exact_at(x, low, z) + y*exact_at(x, high, z)
    along_z = (1 - z)*exact_at(x, y, low) + z*exact_at(x, y, high)
    state = along_x + along_y + along_z - along_x*along_y - along_y*along_z - along_z*along_x &
      + along_x*along_y*along_z
  end function blend

  ! The two points around, from the neighbours, wherever there is one.
  subroutine exchange_around()
    type(MPI_Request) :: requests(8)
    integer :: across_x, across_y
    across_x = PARTS*2*ny*side
    across_y = PARTS*nx*2*side
    call MPI_Irecv(u(:, -1:0, 1:ny, 1:side), across_x, MPI_DOUBLE_PRECISION, lower(1), TAG, &
                   grid, requests(1))
    call MPI_Irecv(u(:, nx + 1:nx + 2, 1:ny, 1:side), across_x, MPI_DOUBLE_PRECISION, upper(1), &
                   TAG, grid, requests(2))
    call MPI_Irecv(u(:, 1:nx, -1:0, 1:side), across_y, MPI_DOUBLE_PRECISION, lower(2), TAG, &
                   grid, requests(3))
    call MPI_Irecv(u(:, 1:nx, ny + 1:ny + 2, 1:side), across_y, MPI_DOUBLE_PRECISION, upper(2), &
                   TAG, grid, requests(4))
    call MPI_Isend(u(:, nx - 1:nx, 1:ny, 1:side), across_x, MPI_DOUBLE_PRECISION, upper(1), TAG, &
                   grid, requests(5))
    call MPI_Isend(u(:, 1:2, 1:ny, 1:side), across_x, MPI_DOUBLE_PRECISION, lower(1), TAG, &
                   grid, requests(6))
    call MPI_Isend(u(:, 1:nx, ny - 1:ny, 1:side), across_y, MPI_DOUBLE_PRECISION, upper(2), TAG, &
                   grid, requests(7))
    call MPI_Isend(u(:, 1:nx, 1:2, 1:side), across_y, MPI_DOUBLE_PRECISION, lower(2), TAG, &
                   grid, requests(8))
    call MPI_Waitall(size(requests), requests, MPI_STATUSES_IGNORE)
  end subroutine exchange_around

  ! Points across a corner keep the values of the forces: they are never read.
  subroutine derive_all()
    integer :: i, j, k
    do k = 1, side
      do j = first(2) - 1, last(2) + 1
        do i = first(1) - 1, last(1) + 1
          call derive(u(:, i, j, k), more(:, i, j, k))
        end do
      end do
    end do
  end subroutine derive_all

  subroutine find_residual()
    integer :: i, j, k
    call exchange_around()
    call derive_all()
    do k = 2, side - 1
      do j = first(2), last(2)
        do i = first(1), last(1)
          call find_residual_at(i, j, k)
        end do
      end do
    end do
  end subroutine find_residual

  subroutine find_residual_at(i, j, k)
    integer, intent(in) :: i, j, k
    real(real64) :: change(PARTS)
    integer :: near, x, y
    x = before(1) + i
    y = before(2) + j
    change = -forces(:, i, j, k)
    do near = -2, 2
      change = change - fourth(near, x)*u(:, i + near, j, k) &
        - fourth(near, y)*u(:, i, j + near, k) - fourth(near, k)*u(:, i, j, k + near)
    end do
    call add_fluxes(1, half, square, u(:, i - 1, j, k), u(:, i, j, k), u(:, i + 1, j, k), &
                    more(:, i - 1, j, k), more(:, i, j, k), more(:, i + 1, j, k), change)
    call add_fluxes(2, half, square, u(:, i, j - 1, k), u(:, i, j, k), u(:, i, j + 1, k), &
                    more(:, i, j - 1, k), more(:, i, j, k), more(:, i, j + 1, k), change)
    call add_fluxes(3, half, square, u(:, i, j, k - 1), u(:, i, j, k), u(:, i, j, k + 1), &
                    more(:, i, j, k - 1), more(:, i, j, k), more(:, i, j, k + 1), change)
    residual(:, i, j, k) = change
  end subroutine find_residual_at

  ! From the lowest corner up: the residual becomes the solution of the lower triangle.
  subroutine sweep_up()
    integer :: i, j, k
    real(real64) :: convection, conduction, total(PARTS)
    convection = OMEGA*time_step*half
    conduction = OMEGA*time_step*square
    do k = 2, side - 1
      call MPI_Recv(residual(:, 0, 1:ny, k), PARTS*ny, MPI_DOUBLE_PRECISION, lower(1), TAG, &
                    grid, MPI_STATUS_IGNORE)
      call MPI_Recv(residual(:, 1:nx, 0, k), PARTS*nx, MPI_DOUBLE_PRECISION, lower(2), TAG, &
                    grid, MPI_STATUS_IGNORE)
      do j = first(2), last(2)
        do i = first(1), last(1)
          total = time_step*residual(:, i, j, k)
          call add_derivative(3, convection, conduction, u(:, i, j, k - 1), &
                              more(:, i, j, k - 1), residual(:, i, j, k - 1), total)
          call add_derivative(2, convection, conduction, u(:, i, j - 1, k), &
                              more(:, i, j - 1, k), residual(:, i, j - 1, k), total)
          call add_derivative(1, convection, conduction, u(:, i - 1, j, k), &
                              more(:, i - 1, j, k), residual(:, i - 1, j, k), total)
          call solve_diagonal(2*time_step*square, u(:, i, j, k), more(:, i, j, k), total)
          residual(:, i, j, k) = total
        end do
      end do
      call MPI_Send(residual(:, nx, 1:ny, k), PARTS*ny, MPI_DOUBLE_PRECISION, upper(1), TAG, grid)
      call MPI_Send(residual(:, 1:nx, ny, k), PARTS*nx, MPI_DOUBLE_PRECISION, upper(2), TAG, grid)
    end do
  end subroutine sweep_up

  ! From the highest corner down: the upper triangle; what results is the change of the solution.
  subroutine sweep_down()
    integer :: i, j, k
    real(real64) :: convection, conduction, total(PARTS)
    convection = -OMEGA*time_step*half
    conduction = OMEGA*time_step*square
    do k = side - 1, 2, -1
      call MPI_Recv(residual(:, nx + 1, 1:ny, k), PARTS*ny, MPI_DOUBLE_PRECISION, upper(1), TAG, &
                    grid, MPI_STATUS_IGNORE)
      call MPI_Recv(residual(:, 1:nx, ny + 1, k), PARTS*nx, MPI_DOUBLE_PRECISION, upper(2), TAG, &
                    grid, MPI_STATUS_IGNORE)
      do j = last(2), first(2), -1
        do i = last(1), first(1), -1
          total = 0
          call add_derivative(3, convection, conduction, u(:, i, j, k + 1), &
                              more(:, i, j, k + 1), residual(:, i, j, k + 1), total)
          call add_derivative(2, convection, conduction, u(:, i, j + 1, k), &
                              more(:, i, j + 1, k), residual(:, i, j + 1, k), total)
          call add_derivative(1, convection, conduction, u(:, i + 1, j, k), &
                              more(:, i + 1, j, k), residual(:, i + 1, j, k), total)
          call solve_diagonal(2*time_step*square, u(:, i, j, k), more(:, i, j, k), total)
          residual(:, i, j, k) = residual(:, i, j, k) + total
        end do
      end do
      call MPI_Send(residual(:, 1, 1:ny, k), PARTS*ny, MPI_DOUBLE_PRECISION, lower(1), TAG, grid)
      call MPI_Send(residual(:, 1:nx, 1, k), PARTS*nx, MPI_DOUBLE_PRECISION, lower(2), TAG, grid)
    end do
  end subroutine sweep_down

  ! `steps` steps from the present residual.
  subroutine advance(steps)
    integer, intent(in) :: steps
    integer :: done, k
    do done = 1, steps
      call sweep_up()
      call sweep_down()
      do k = 2, side - 1
        u(:, first(1):last(1), first(2):last(2), k) = &
          u(:, first(1):last(1), first(2):last(2), k) &
          + residual(:, first(1):last(1), first(2):last(2), k)/(OMEGA*(2 - OMEGA))
      end do
      call find_residual()
    end do
  end subroutine advance

  ! The root of the mean of squares, over all ranks.
  function mean_of(squares) result(norms)
    real(real64), intent(in) :: squares(PARTS)
    real(real64) :: norms(PARTS)
    call MPI_Allreduce(squares, norms, PARTS, MPI_DOUBLE_PRECISION, MPI_SUM, grid)
    norms = sqrt(norms/real(side - 2, real64)**3)
  end function mean_of

  function residual_norms() result(norms)
    real(real64) :: norms(PARTS)
    integer :: part
    do part = 1, PARTS
      norms(part) = sum(residual(part, first(1):last(1), first(2):last(2), 2:side - 1)**2)
    end do
    norms = mean_of(norms)
  end function residual_norms

  function error_norms() result(norms)
    real(real64) :: norms(PARTS)
    integer :: i, j, k
    norms = 0
    do k = 2, side - 1
      do j = first(2), last(2)
        do i = first(1), last(1)
          norms = norms + (exact_here(i, j, k) - u(:, i, j, k))**2
        end do
      end do
    end do
    norms = mean_of(norms)
  end function error_norms

  ! The integral of the pressure over the surface of a box inside the cube, by trapezoids.
  real(real64) function surface_integral()
    integer, parameter :: FROM(3) = [2, 2, 3], SHORT(3) = [1, 2, 1]
    integer :: i, j, k, place(3), until(3), axis
    real(real64) :: mine, weight(3)
    until = side - SHORT
    mine = 0
    do k = FROM(3), until(3)
      do j = 1, ny
        do i = 1, nx
          place = [before(1) + i, before(2) + j, k]
          if (any(place < FROM .or. place > until)) cycle
          weight = merge(0.5_real64, 1.0_real64, place == FROM .or. place == until)
          do axis = 1, 3
            if (place(axis) == FROM(axis) .or. place(axis) == until(axis)) &
              mine = mine + product(weight)/weight(axis)*more(5, i, j, k)
          end do
        end do
      end do
    end do
    call MPI_Allreduce(mine, surface_integral, 1, MPI_DOUBLE_PRECISION, MPI_SUM, grid)
    surface_integral = step**2*surface_integral
  end function surface_integral

end module lu_column

program lu
  use, intrinsic :: iso_fortran_env, only: error_unit, int64
  use mpi_f08
  use lu_column
  use npb
  implicit none

  type :: class_of_problem
    integer :: side, steps
    real(real64) :: time_step
    real(real64) :: residuals(PARTS), errors(PARTS), surface
  end type class_of_problem

  real(real64), parameter :: TOLERANCE = 1e-8_real64
  type(class_of_problem), parameter :: classes(4) = [ &
    class_of_problem(12, 50, 0.5_real64, &
      [1.6196343210976702e-2_real64, 2.1976745164821318e-3_real64, 1.5179927653399185e-3_real64, &
       1.5029584435994323e-3_real64, 3.4264073155896461e-2_real64], &
      [6.4223319957960924e-4_real64, 8.4144342047347926e-5_real64, 5.8588269616485186e-5_real64, &
       5.8474222595157350e-5_real64, 1.3103347914111294e-3_real64], 7.8418928865937083_real64), &
    class_of_problem(33, 300, 1.5e-3_real64, &
      [12.36511638192_real64, 1.317228477799_real64, 2.550120713095_real64, &
       2.326187750252_real64, 28.26799444189_real64], &
      [0.4867877144216_real64, 0.05064652880982_real64, 0.09281818101960_real64, &
       0.08570126542733_real64, 1.084277417792_real64], 11.61399311023_real64), &
    class_of_problem(64, 250, 2.0_real64, &
      [779.02107606689367_real64, 63.402765259692870_real64, 194.99249727292479_real64, &
       178.45301160418537_real64, 1838.4760349464247_real64], &
      [29.964085685471943_real64, 2.8194576365003349_real64, 7.3473412698774742_real64, &
       6.7139225687777051_real64, 70.715315688392578_real64], 26.030925604886277_real64), &
    class_of_problem(102, 250, 2.0_real64, &
      [3553.2672969982736_real64, 262.14750795310692_real64, 883.33721850952190_real64, &
       778.12774739425265_real64, 7308.7969592545314_real64], &
      [114.01176380212709_real64, 8.1098963655421574_real64, 28.480597317698308_real64, &
       25.905394567832939_real64, 260.54907504857413_real64], 47.887162703308227_real64)]

  type(class_of_problem) :: problem
  integer :: class
  real(real64) :: seconds, slowest, residuals(PARTS), errors(PARTS), surface
  logical :: verified

  call MPI_Init()
  class = class_index()
  if (class == 0) call MPI_Abort(MPI_COMM_WORLD, 2)
  problem = classes(class)
  if (.not. MPI_SUBARRAYS_SUPPORTED) &
    call refuse("this MPI's module mpi_f08 cannot take array sections without copying them")
  if (.not. lay_out_column(problem%side)) call refuse("too many ranks for so small a cube")
  time_step = problem%time_step
  call take_memory()
  call set_forces()
  call set_start()
  call find_residual()
  call advance(1)
  call set_start()
  call find_residual()

  call MPI_Barrier(grid)
  seconds = -MPI_Wtime()
  call advance(problem%steps)
  residuals = residual_norms()
  seconds = seconds + MPI_Wtime()
  call MPI_Reduce(seconds, slowest, 1, MPI_DOUBLE_PRECISION, MPI_MAX, 0, grid)

  errors = error_norms()
  surface = surface_integral()
  verified = all(near(residuals, problem%residuals, TOLERANCE)) &
    .and. all(near(errors, problem%errors, TOLERANCE)) &
    .and. near(surface, problem%surface, TOLERANCE)
  if (rank == 0) then
    write (*, "(a,5es22.13)") " Residuals = ", residuals
    write (*, "(a,5es22.13)") " Errors    = ", errors
    write (*, "(a,es22.13)") " Surface   = ", surface
    call report(result_of_run("LU", class, int(problem%side, int64), problem%steps, ranks, &
                              slowest, operations(), "floating point", verified))
  end if
  call MPI_Finalize()
  if (.not. verified) stop 1

contains

  ! End the job with a message of rank 0; called by every rank.
  subroutine refuse(why)
    character(*), intent(in) :: why
    integer :: me, all_ranks
    call MPI_Comm_rank(MPI_COMM_WORLD, me)
    call MPI_Comm_size(MPI_COMM_WORLD, all_ranks)
    if (me == 0) write (error_unit, "(a,i0,2a)") "error: LU on ", all_ranks, " ranks: ", why
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Abort(MPI_COMM_WORLD, 2)
  end subroutine refuse

  ! In millions: what the specification counts.
  real(real64) function operations()
    real(real64) :: n
    n = problem%side
    operations = 1e-6_real64*problem%steps &
      *(1984.77_real64*n**3 - 10923.3_real64*n**2 + 27770.9_real64*n - 144010)
  end function operations

end program lu
