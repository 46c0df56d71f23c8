/* Each rank sorts its keys; rank 0 verifies that all are there. */
#include "../common/kernel.h"
#include "npbparams.h"

#define KEYS 1000

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

int main(int argc, char **argv)
{
    int keys[KEYS], rank, size, i, is_sorted = 1, sorted = 0;

    MPI_Init(&argc, &argv);
    if (getenv("SUIRO_DEVICE")) printf(" SUIRO_DEVICE=%s\n", getenv("SUIRO_DEVICE"));
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (i = 0; i < KEYS; i++) keys[i] = (i * 7919 + rank) % KEYS;
    timer_clear(0);
    timer_start(0);
    qsort(keys, KEYS, sizeof *keys, ascending);
    for (i = 1; i < KEYS; i++) is_sorted &= keys[i - 1] <= keys[i];
    MPI_Allreduce(&is_sorted, &sorted, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    timer_stop(0);
    if (NPROCS_COMPILED > 0 && NPROCS_COMPILED != size) sorted = 0;
    if (rank == 0) c_print_results("IS", CLASS, size, timer_read(0), KEYS * 1e-3, sorted == size);
    MPI_Finalize();
    return 0;
}
