/* Persistent allgathers, one after the other, until one fails: each rank prints why.
 *
 *   mpirun -n N program_cut */
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BYTES = 1 << 20, WARM = 20 };

int main(int argc, char **argv)
{
    int rank, size, code = MPI_SUCCESS, length;
    char why[MPI_MAX_ERROR_STRING];
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    char *own = calloc(BYTES, 1), *all = calloc(size, BYTES);
    MPI_Allgather_init(own, BYTES, MPI_BYTE, all, BYTES, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int round = 0; code == MPI_SUCCESS; round++) {
        code = MPI_Start(&request);
        if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (rank == 0 && round == WARM) {
            puts("under way");
            fflush(stdout);
        }
        usleep(1000);
    }
    MPI_Error_string(code, why, &length);
    printf("rank %d: %s\n", rank, why);
    fflush(stdout);
    free(own);
    free(all);
    /* The launcher reaches the other host no longer. */
    sleep(1);
    _exit(0);
}
