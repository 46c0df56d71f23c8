C EP, "embarrassingly parallel", in fixed form and with mpif.h: pairs
C of uniform random numbers; those inside the unit circle become
C Gaussian deviates, which are summed and counted by square annuli.
C Every rank has one run of the batches. A batch's numbers are made by
C doubling: once there are n of them, the next n are those times a**n,
C so that the loop has no chain from one number to the next.
      PROGRAM EP
      USE NPB
      IMPLICIT NONE
      INCLUDE 'mpif.h'

      INTEGER, PARAMETER :: ANNULI = 10, BITS = 10, PAIRS = 2**BITS
      INTEGER, PARAMETER :: LONG = SELECTED_INT_KIND(18)
      INTEGER(LONG), PARAMETER :: MULTIPLIER = 1220703125
      INTEGER(LONG), PARAMETER :: SEED = 271828183
      DOUBLE PRECISION, PARAMETER :: TOLERANCE = 1D-8

C     The classes: the logarithm of the number of pairs, and the sums.
      INTEGER, PARAMETER :: PAIRS_BITS(4) = (/24, 25, 28, 30/)
      DOUBLE PRECISION, PARAMETER :: EXPECTED(2, 4) = RESHAPE((/
     &  -3.247834652034740D3, -6.958407078382297D3,
     &  -2.863319731645753D3, -6.320053679109499D3,
     &  -4.295875165629892D3, -1.580732573678431D4,
     &   4.033815542441498D4, -2.660669192809235D4/), (/2, 4/))

      INTEGER CLASS, RANK, RANKS, IERROR
      INTEGER(LONG) BATCHES, BATCH
C     First the two sums, then the counts.
      DOUBLE PRECISION MINE(2 + ANNULI), ALL(2 + ANNULI)
      DOUBLE PRECISION SECONDS, SLOWEST
      LOGICAL VERIFIED

      CALL MPI_INIT(IERROR)
      CALL MPI_COMM_RANK(MPI_COMM_WORLD, RANK, IERROR)
      CALL MPI_COMM_SIZE(MPI_COMM_WORLD, RANKS, IERROR)
      CLASS = CLASS_INDEX()
      IF (CLASS .EQ. 0) CALL MPI_ABORT(MPI_COMM_WORLD, 2, IERROR)
      BATCHES = 2_LONG**(PAIRS_BITS(CLASS) - BITS)

      CALL MPI_BARRIER(MPI_COMM_WORLD, IERROR)
      SECONDS = -MPI_WTIME()
      MINE = 0
      DO BATCH = BATCHES*RANK/RANKS, BATCHES*(RANK + 1)/RANKS - 1
        CALL ADD_BATCH(BATCH)
      END DO
      CALL MPI_ALLREDUCE(MINE, ALL, 2 + ANNULI, MPI_DOUBLE_PRECISION,
     &                   MPI_SUM, MPI_COMM_WORLD, IERROR)
      SECONDS = SECONDS + MPI_WTIME()
      CALL MPI_REDUCE(SECONDS, SLOWEST, 1, MPI_DOUBLE_PRECISION,
     &                MPI_MAX, 0, MPI_COMM_WORLD, IERROR)

      VERIFIED = NEAR(ALL(1), EXPECTED(1, CLASS), TOLERANCE) .AND.
     &  NEAR(ALL(2), EXPECTED(2, CLASS), TOLERANCE)
      IF (RANK .EQ. 0) THEN
        WRITE (*, '(A,F0.0)') ' Gaussian pairs = ', SUM(ALL(3:))
        WRITE (*, '(A,2ES25.15)') ' Sums = ', ALL(1:2)
        CALL REPORT(RESULT_OF_RUN('EP', CLASS, RANKS=RANKS,
     &    SIZE=2_LONG**(PAIRS_BITS(CLASS) + 1), SECONDS=SLOWEST,
     &    OPERATIONS=1D-6*2D0**(PAIRS_BITS(CLASS) + 1),
     &    KIND='Random numbers generated', VERIFIED=VERIFIED))
      END IF
      CALL MPI_FINALIZE(IERROR)
      IF (.NOT. VERIFIED) STOP 1

      CONTAINS

C     The product modulo 2**46, of numbers below that: in halves, since
C     an integer takes 63 bits.
      ELEMENTAL INTEGER(LONG) FUNCTION TIMES(LEFT, RIGHT)
      INTEGER(LONG), INTENT(IN) :: LEFT, RIGHT
      INTEGER, PARAMETER :: HALF = 23
      INTEGER(LONG), PARAMETER :: MASK = 2_LONG**HALF - 1
      INTEGER(LONG) MIDDLE
      MIDDLE = ISHFT(LEFT, -HALF)*IAND(RIGHT, MASK) +
     &  IAND(LEFT, MASK)*ISHFT(RIGHT, -HALF)
      TIMES = IAND(ISHFT(IAND(MIDDLE, MASK), HALF) +
     &  IAND(LEFT, MASK)*IAND(RIGHT, MASK), 2_LONG**46 - 1)
      END FUNCTION TIMES

C     The multiplier to a power.
      INTEGER(LONG) FUNCTION JUMP(STEPS)
      INTEGER(LONG), INTENT(IN) :: STEPS
      INTEGER(LONG) REST, SQUARE
      REST = STEPS
      SQUARE = MULTIPLIER
      JUMP = 1
      DO WHILE (REST .GT. 0)
        IF (IAND(REST, 1_LONG) .EQ. 1) JUMP = TIMES(JUMP, SQUARE)
        SQUARE = TIMES(SQUARE, SQUARE)
        REST = REST/2
      END DO
      END FUNCTION JUMP

      SUBROUTINE ADD_BATCH(BATCH)
      INTEGER(LONG), INTENT(IN) :: BATCH
      INTEGER(LONG) NUMBERS(2*PAIRS), POWER
      INTEGER MADE, PAIR, ANNULUS
      DOUBLE PRECISION X, Y, SQUARE, FACTOR
      NUMBERS(1) = TIMES(SEED, JUMP(2*PAIRS*BATCH + 1))
      POWER = MULTIPLIER
      MADE = 1
      DO WHILE (MADE .LT. 2*PAIRS)
        NUMBERS(MADE + 1:2*MADE) = TIMES(NUMBERS(1:MADE), POWER)
        POWER = TIMES(POWER, POWER)
        MADE = 2*MADE
      END DO
      DO PAIR = 1, PAIRS
        X = 2D0**(-45)*NUMBERS(2*PAIR - 1) - 1
        Y = 2D0**(-45)*NUMBERS(2*PAIR) - 1
        SQUARE = X*X + Y*Y
        IF (SQUARE .GT. 1) CYCLE
        FACTOR = SQRT(-2*LOG(SQUARE)/SQUARE)
        ANNULUS = INT(MAX(ABS(X*FACTOR), ABS(Y*FACTOR)))
        MINE(1) = MINE(1) + X*FACTOR
        MINE(2) = MINE(2) + Y*FACTOR
        MINE(3 + ANNULUS) = MINE(3 + ANNULUS) + 1
      END DO
      END SUBROUTINE ADD_BATCH

      END PROGRAM EP
