/* Persistent collectives run beside a rank that is outside MPI, whatever runs its part of them: after
 * MPI_Start, each rank in turn only waits for files that the others write once their part is over. If an
 * interface left anything to the application, this program would not end.
 *
 *   mpirun -n N offload_beside FOLDER */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 1 << 20, NUMBERS = 3000 };

static int rank, size;
static const char *folder;

static void tell(int step)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%d.%d", folder, step, rank);
    close(open(path, O_CREAT | O_WRONLY, 0600));
}

/* Waits, without MPI, until all others are done with a step. */
static void hear(int step)
{
    for (int other = 0; other < size; other++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%d.%d", folder, step, other);
        while (other != rank && access(path, F_OK) != 0) usleep(1000);
    }
}

/* Ends when all ranks are here and all of their messages have arrived: some devices send in calls of MPI only. */
static void flush(int step)
{
    MPI_Barrier(MPI_COMM_WORLD);
    tell(step);
    for (int other = 0; other < size; other++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%d.%d", folder, step, other);
        for (int any; access(path, F_OK) != 0; usleep(1000))
            MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &any, MPI_STATUS_IGNORE);
    }
}

static void expect(int good, const char *what, int step)
{
    if (good) return;
    fprintf(stderr, "rank %d, step %d: %s\n", rank, step, what);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

int main(int argc, char **argv)
{
    enum { BCAST, ALLGATHER, ALLTOALL, SUM, SUMS, PRODUCTS, KINDS };
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    folder = argv[1];
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Info info = MPI_INFO_NULL;
    char *bytes = malloc(BYTES);
    int *all = malloc(size * NUMBERS * sizeof *all), *own = malloc(size * NUMBERS * sizeof *own);
    double number, sum, numbers[NUMBERS], sums[NUMBERS];
    int factors[NUMBERS], products[NUMBERS];
    MPI_Request requests[KINDS];
    MPI_Bcast_init(bytes, BYTES, MPI_BYTE, 0, comm, info, &requests[BCAST]);
    MPI_Allgather_init(own, NUMBERS, MPI_INT, all, NUMBERS, MPI_INT, comm, info, &requests[ALLGATHER]);
    MPI_Alltoall_init(own, NUMBERS, MPI_INT, all, NUMBERS, MPI_INT, comm, info, &requests[ALLTOALL]);
    MPI_Allreduce_init(&number, &sum, 1, MPI_DOUBLE, MPI_SUM, comm, info, &requests[SUM]);
    MPI_Allreduce_init(numbers, sums, NUMBERS, MPI_DOUBLE, MPI_SUM, comm, info, &requests[SUMS]);
    MPI_Allreduce_init(factors, products, NUMBERS, MPI_INT, MPI_PROD, comm, info, &requests[PRODUCTS]);
    flush(KINDS * size);
    for (int step = 0; step < KINDS * size; step++) {
        int kind = step % KINDS, absent = step / KINDS;
        memset(bytes, rank == 0 ? step : 0, BYTES);
        memset(all, 0, size * NUMBERS * sizeof *all);
        for (int at = 0; at < size * NUMBERS; at++) own[at] = 1000 * rank + at / NUMBERS + step;
        number = rank + step;
        for (int at = 0; at < NUMBERS; at++) {
            numbers[at] = rank + at;
            factors[at] = 1 + (rank + at) % 3;
        }
        MPI_Start(&requests[kind]);
        if (rank == absent) hear(step);
        MPI_Wait(&requests[kind], MPI_STATUS_IGNORE);
        if (rank != absent) tell(step);
        int last = size - 1, pairs = size * last / 2, product = 1;
        for (int other = 0; other < size; other++) product *= 1 + (other + NUMBERS - 1) % 3;
        const int good[] = {
            bytes[0] == (char)step && bytes[BYTES - 1] == (char)step,
            all[0] == step && all[size * NUMBERS - 1] == 1000 * last + step,
            all[0] == rank + step && all[size * NUMBERS - 1] == 1000 * last + rank + step,
            sum == pairs + size * step,
            sums[NUMBERS - 1] == pairs + size * (NUMBERS - 1),
            products[NUMBERS - 1] == product,
        };
        expect(good[kind], "the result is right", step);
    }
    for (int kind = 0; kind < KINDS; kind++) MPI_Request_free(&requests[kind]);
    if (rank == 0) puts("all beside");
    free(bytes);
    free(all);
    free(own);
    MPI_Finalize();
    return 0;
}
