// Costs of messages and reductions between two ranks: the terms of the cost model of collective
// algorithms (src/mpi/collective/selection/machine_model.rs). Best of many short runs, as noise
// only adds time.
//
//   machine [SECONDS for each term]
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONG = 1 << 20, BURST = 64, CUT = 64 << 10 };

static char *mine, *other;
static int rank, size;

// A message there and one back.
static void ping(int bytes) {
    if (rank == 0) {
        MPI_Send(mine, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(other, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(other, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(mine, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
}

// Many messages there at once, and one back.
static void burst(int bytes) {
    MPI_Request requests[BURST];
    if (rank > 1)
        return;
    for (int i = 0; i < BURST; i++) {
        if (rank == 0)
            MPI_Isend(mine, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Irecv(other, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(BURST, requests, MPI_STATUSES_IGNORE);
    ping(0);
}

static void copy(int bytes) { memcpy(other, mine, bytes); }

static void reduce(int bytes) {
    MPI_Reduce_local(mine, other, bytes / 8, MPI_DOUBLE, MPI_SUM);
}

// Seconds of one call, at best.
static double best(void (*work)(int), int bytes, int calls, double seconds) {
    double best = 1e9, end = MPI_Wtime() + seconds;
    int more = 1;
    while (more) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        for (int i = 0; i < calls; i++)
            work(bytes);
        double time = (MPI_Wtime() - begin) / calls;
        best = time < best ? time : best;
        more = MPI_Wtime() < end;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    return best;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2) {
        fprintf(stderr, "two ranks or more\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    mine = calloc(1, LONG), other = calloc(1, LONG);
    double round = best(ping, 0, 200, seconds) / 2;
    double many = best(burst, 0, 20, seconds);
    double cut = best(ping, CUT, 3, seconds) / 2;
    double full = best(ping, LONG, 1, seconds) / 2;
    double copied = best(copy, CUT, 20, seconds);
    double reduced = best(reduce, CUT, 20, seconds);
    if (rank == 0) {
        printf("%d ranks\n", size);
        printf("round_ps    %10.0f\n", round * 1e12);
        printf("message_ps  %10.0f\n", (many - 2 * round) / BURST * 1e12);
        printf("byte_ps     %10.0f  64 KiB\n", (cut - round) / CUT * 1e12);
        printf("            %10.0f  1 MiB\n", (full - round) / LONG * 1e12);
        printf("reduced_ps  %10.0f  64 KiB\n", reduced / CUT * 1e12);
        printf("copied_ps   %10.0f  64 KiB\n", copied / CUT * 1e12);
    }
    MPI_Finalize();
    return 0;
}
