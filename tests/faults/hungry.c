/* The last rank writes to more and more memory; the others wait for it in a barrier. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    /* Far more than the limit, and not so much that a machine without one suffers. */
    for (int mib = 0; rank == size - 1 && mib < 512; mib++) {
        char *more = malloc(1 << 20);
        if (more)
            memset(more, mib, 1 << 20);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
