/* The last rank dies without a word in the middle of a persistent collective, which all others have started.
 * Their waits end with an error, as does the next start; nothing is lost of what they do without it.
 *
 *   mpirun --with-ft ulfm -n N program_dies KIND      ranks that are left go on together
 *   mpirun -n N program_dies KIND alone               the launcher is stopped meanwhile: each rank by itself */
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <mpi-ext.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NUMBERS = 100000, ROUNDS = 3 };

static int errors, rank, size;

static void expect(int good, const char *what)
{
    if (good) return;
    errors++;
    fprintf(stderr, "rank %d: wrong: %s\n", rank, what);
}

static int class_of(int code)
{
    int class = MPI_SUCCESS;
    if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
    return class;
}

static MPI_Request made(int kind, int *own, int *all, MPI_Comm comm)
{
    MPI_Request request;
    MPI_Info info = MPI_INFO_NULL;
    if (kind == 0)
        MPI_Allgather_init(own, NUMBERS, MPI_INT, all, NUMBERS, MPI_INT, comm, info, &request);
    else if (kind == 1)
        MPI_Allreduce_init(own, all, NUMBERS, MPI_INT, MPI_SUM, comm, info, &request);
    else
        MPI_Alltoall_init(all, NUMBERS, MPI_INT, all + size * NUMBERS, NUMBERS, MPI_INT, comm, info,
                          &request);
    return request;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int kind = atoi(argv[1]), alone = argc > 2;
    int *own = calloc(NUMBERS, sizeof *own), *all = calloc(2 * (size_t)size * NUMBERS, sizeof *all);
    MPI_Request request = made(kind, own, all, MPI_COMM_WORLD);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Start(&request);
        expect(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "a round with all ranks");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1) {
        /* The others wait by now. */
        usleep(100000);
        if (alone) kill(getppid(), SIGSTOP);
        raise(SIGKILL);
    }
    for (int start = 0; start < 2; start++) {
        /* A start may know of the failure already. */
        int code = MPI_Start(&request), length;
        if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        char why[MPI_MAX_ERROR_STRING] = "success";
        if (code != MPI_SUCCESS) MPI_Error_string(code, why, &length);
        expect(class_of(code) == MPIX_ERR_PROC_FAILED, why);
    }
    MPI_Request_free(&request);
    memset(own, 1, NUMBERS * sizeof *own);
    memset(all, 2, 2 * (size_t)size * NUMBERS * sizeof *all);
    if (alone) {
        if (rank == 0) {
            printf("errors = %d\n", errors);
            fflush(stdout);
            usleep(200000);
            kill(getppid(), SIGCONT);
        }
        sleep(rank == 0 ? 0 : 1);
        _exit(0);
    }
    MPI_Comm left;
    expect(MPIX_Comm_shrink(MPI_COMM_WORLD, &left) == MPI_SUCCESS, "shrinking");
    MPI_Comm_size(left, &size);
    request = made(1, own, all, left);
    for (int round = 0; round < ROUNDS; round++) {
        for (int at = 0; at < NUMBERS; at++) own[at] = rank + at + round;
        MPI_Start(&request);
        expect(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "a round of those that are left");
        int sum = size * (size - 1) / 2, last = NUMBERS - 1;
        expect(all[0] == sum + size * round, "its first result");
        expect(all[last] == sum + size * (last + round), "its last result");
    }
    MPI_Request_free(&request);
    int sum = 0;
    MPI_Allreduce(&errors, &sum, 1, MPI_INT, MPI_SUM, left);
    if (rank == 0) printf("errors = %d\n", sum);
    MPI_Comm_free(&left);
    free(own);
    free(all);
    MPI_Finalize();
    return 0;
}
