/* Ranks that never get on: what they do instead is the first argument. Each prints its process
 * first. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FUNCTION static __attribute__((noinline)) void

static int rank, size, peer, number;
static volatile double sum;
static char message[1 << 20];
static MPI_Request requests[3];

FUNCTION compute(void)
{
    for (;;) sum += 1;
}

FUNCTION reduce(void)
{
    int all;
    MPI_Allreduce(&rank, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

FUNCTION exchange(void)
{
    MPI_Recv(&number, 1, MPI_INT, peer, 40 + rank, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

FUNCTION wait_for_all(void)
{
    MPI_Send(&number, 1, MPI_INT, peer, 77, MPI_COMM_WORLD);
    MPI_Irecv(&number, 1, MPI_INT, peer, 5, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(message, sizeof message, MPI_CHAR, peer, 6, MPI_COMM_WORLD, &requests[1]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
}

FUNCTION wait_for_any(void)
{
    MPI_Irecv(&number, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
    requests[1] = MPI_REQUEST_NULL;
    MPI_Waitany(2, requests, &number, MPI_STATUS_IGNORE);
}

FUNCTION meet_elsewhere(void)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_name(comm, "meeting place");
    if (rank != 0) MPI_Barrier(comm);
    MPI_Barrier(rank == 0 ? MPI_COMM_WORLD : comm);
}

FUNCTION stop_here(void)
{
    if (rank == 1) raise(SIGSTOP);
    reduce();
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    peer = (rank + 1) % size;
    printf("process %d of rank %d\n", (int)getpid(), rank);
    fflush(stdout);
    if (!strcmp(what, "receive")) exchange();
    else if (!strcmp(what, "send")) MPI_Send(message, sizeof message, MPI_CHAR, peer, 8, MPI_COMM_WORLD);
    else if (!strcmp(what, "ssend")) MPI_Ssend(&number, 1, MPI_INT, peer, 9, MPI_COMM_WORLD);
    else if (!strcmp(what, "probe")) MPI_Probe(peer, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (!strcmp(what, "sendrecv"))
        MPI_Sendrecv(message, sizeof message, MPI_CHAR, peer, 11, &number, 1, MPI_INT, peer, 12,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (!strcmp(what, "waitall")) wait_for_all();
    else if (!strcmp(what, "waitany")) wait_for_any();
    else if (!strcmp(what, "elsewhere")) meet_elsewhere();
    else if (!strcmp(what, "stop")) stop_here();
    else if (!strcmp(what, "compute")) rank == 1 ? compute() : reduce();
    else if (!strcmp(what, "leave") && rank == 0) compute();
    MPI_Finalize();
    return 0;
}
