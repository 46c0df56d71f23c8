/* Ranks compute a little, then all but one wait in a barrier and a receive while rank 0 sleeps.
 *
 *   idle SECONDS
 *
 * Prints the processor time of all ranks while they wait, in milliseconds. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static long used_ms(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
           (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
}

int main(int argc, char **argv)
{
    int rank, size, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < 100; round++)
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    long before = used_ms(), used, all = -1;
    if (rank == 0)
        sleep(argc > 1 ? (unsigned)atoi(argv[1]) : 1);
    if (rank % 2 == 1)
        MPI_Recv(NULL, 0, MPI_BYTE, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (rank > 0)
        MPI_Recv(NULL, 0, MPI_BYTE, rank - 2, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank % 2 == 0 && rank + 1 < size)
        MPI_Send(NULL, 0, MPI_BYTE, rank + 1, 1, MPI_COMM_WORLD);
    if (rank % 2 == 0 && rank + 2 < size)
        MPI_Send(NULL, 0, MPI_BYTE, rank + 2, 1, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    used = used_ms() - before;
    MPI_Reduce(&used, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("sum = %d, used = %ld ms\n", sum, all);
    MPI_Finalize();
    return 0;
}
