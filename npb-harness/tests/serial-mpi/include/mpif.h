      integer MPI_COMM_WORLD, MPI_SUM, MPI_INTEGER
      integer MPI_DOUBLE_PRECISION, MPI_REAL
      parameter (MPI_COMM_WORLD = 0, MPI_SUM = 0, MPI_INTEGER = 4)
      parameter (MPI_DOUBLE_PRECISION = 8, MPI_REAL = 5)
      double precision MPI_Wtime
      external MPI_Wtime
