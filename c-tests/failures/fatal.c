/* MPI_ERRORS_ARE_FATAL ends the job although it may survive failures. */
#include "failures.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    if (rank == size - 1)
        die();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d goes on\n", rank);
    MPI_Finalize();
    return 0;
}
