/* How soon a failure is known: the time from the end of a rank to the error, in microseconds. */
#include "failures.h"
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    double *at;
    MPI_Win window;
    MPI_Win_allocate_shared(rank == 0 ? sizeof(double) : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &at,
                            &window);
    MPI_Aint bytes;
    int unit, value = 0;
    MPI_Win_shared_query(window, 0, &bytes, &unit, &at);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1) {
        usleep(20000);
        *at = now();
        die();
    }
    EXPECT_IS(class_of(MPI_Recv(&value, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD,
                                MPI_STATUS_IGNORE)),
              MPIX_ERR_PROC_FAILED);
    double took = now() - *at;
    MPI_Comm survivors;
    EXPECT_IS(MPIX_Comm_shrink(MPI_COMM_WORLD, &survivors), MPI_SUCCESS);
    double shrunk = now() - *at;
    fprintf(stderr, "rank %d knows after %.0f us, shrunk after %.0f us\n", rank, took, shrunk);
    EXPECT(took < 1e6);
    check_works(survivors, size - 1);
    return end(survivors);
}
