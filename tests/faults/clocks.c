/* Works for some seconds and watches MPI_Wtime, while something steps the wall clock.
 *
 *   clocks SECONDS
 *
 * Prints the number of ranks, steps of the wall clock that were seen, and errors of MPI_Wtime. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    int rank, size, more = 1, seen[2] = {0, 0}, all[2] = {-1, -1};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double begin = seconds(CLOCK_MONOTONIC), start = MPI_Wtime(), last = start;
    double wall = seconds(CLOCK_REALTIME);
    while (more) {
        double now = MPI_Wtime(), elapsed = seconds(CLOCK_MONOTONIC) - begin;
        double now_wall = seconds(CLOCK_REALTIME);
        seen[0] += fabs(now_wall - wall) > 1000;
        /* It never goes back, and is behind the other clock by the time between the calls only. */
        seen[1] += now < last || fabs(now - start - elapsed) > 1;
        wall = now_wall;
        last = now;
        usleep(10000);
        more = elapsed < atof(argv[1]);
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Reduce(seen, all, 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("ranks = %d, steps = %d, errors = %d\n", size, all[0], all[1]);
    MPI_Finalize();
    return 0;
}
