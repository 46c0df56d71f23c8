// One line of each rank, with a sum over all of them; then the last rank ends the way that the
// argument names: abort with code 42, kill, or code (each rank returns 10 and its number).
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    const char *end = argc > 1 ? argv[1] : "";
    int rank, size, sum = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    int names[64] = {0};
    MPI_Allgather(&rank, 1, MPI_INT, names, 1, MPI_INT, MPI_COMM_WORLD);
    printf("rank %d of %d: sum %d, last %d\n", rank, size, sum, names[size - 1]);
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1 && strcmp(end, "abort") == 0) {
        MPI_Abort(MPI_COMM_WORLD, 42);
    } else if (rank == size - 1 && strcmp(end, "kill") == 0) {
        raise(SIGKILL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return strcmp(end, "code") == 0 ? 10 + rank : 0;
}
