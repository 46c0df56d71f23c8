/* Every rank prints a line that no newline ends and aborts, so that what it has printed is in a buffer. Rank 0
 * holds the lock of its standard output instead, if the word "locked" is given: the abort must not wait for it.
 *
 *   mpirun -n N abort_prints [locked] */
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static void *hold(void *both)
{
    flockfile(stdout);
    pthread_barrier_wait(both);
    pause();
    return NULL;
}

int main(int argc, char **argv)
{
    int rank;
    pthread_t holder;
    pthread_barrier_t both;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 1) {
        pthread_barrier_init(&both, NULL, 2);
        if (rank == 0 && pthread_create(&holder, NULL, hold, &both) == 0) {
            pthread_barrier_wait(&both);
            MPI_Abort(MPI_COMM_WORLD, 7);
        }
        pause();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d has printed this", rank);
    MPI_Abort(MPI_COMM_WORLD, 7);
}
