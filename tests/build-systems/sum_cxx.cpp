// The same in C++.
#include <iostream>
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, size, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) std::cout << size << " ranks, sum " << sum << std::endl;
    MPI_Finalize();
    return sum != size * (size - 1) / 2 || size != 2;
}
