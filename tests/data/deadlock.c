/* Ranks that wait for each other for ever, and ranks that only seem to: which is the first
 * argument. Those that end print their rank. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define IS(name) (!strcmp(what, name))
#define WORLD MPI_COMM_WORLD
#define IGNORE MPI_STATUS_IGNORE

static const char *what;
static int rank, size, next, before, number, sum;
static char data[100000], more[1 << 20];

static void nap(double seconds)
{
    struct timespec time = {(time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9)};
    while (nanosleep(&time, &time) != 0) continue;
}

static void compute(double seconds)
{
    volatile double sum = 0;
    double end = MPI_Wtime() + seconds;
    while (MPI_Wtime() < end) sum = sum + 1;
}

static void receive(int source) { MPI_Recv(&number, 1, MPI_INT, source, 7, WORLD, IGNORE); }

static void send(int dest) { MPI_Send(&number, 1, MPI_INT, dest, 7, WORLD); }

/* The last rank is busy with something else for a while, and the others wait for it. */
static void wait_for_last(void (*pass)(double))
{
    if (rank == size - 1) pass(1.2);
    MPI_Barrier(WORLD);
    if (rank == size - 1) {
        pass(0.8);
        for (int dest = 0; dest < rank; dest++) send(dest);
    } else {
        receive(MPI_ANY_SOURCE);
    }
}

static void slow_sum(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    if (rank == 0) nap(1.2);
    for (int i = 0; i < *count; i++) ((int *)inout)[i] += ((int *)in)[i];
}

static int query(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_INT, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int ignore(void *state) { return (void)state, MPI_SUCCESS; }

static int ignore_cancel(void *state, int complete)
{
    return (void)state, (void)complete, MPI_SUCCESS;
}

static void generalized(void)
{
    MPI_Request request;
    MPI_Grequest_start(query, ignore, ignore_cancel, NULL, &request);
    if (rank == 0) MPI_Wait(&request, IGNORE);
}

static void *helper(void *argument)
{
    (void)argument;
    if (IS("threads")) {
        nap(1.2);
        send(next);
    } else {
        MPI_Recv(&sum, 1, MPI_INT, next, 8, WORLD, IGNORE);
    }
    return NULL;
}

/* A second thread of each rank that sends later, or waits too. */
static void threads(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, helper, NULL);
    receive(next);
    pthread_join(thread, NULL);
}

static void inter(void)
{
    MPI_Comm half, inter;
    MPI_Comm_split(WORLD, rank % 2, 0, &half);
    MPI_Intercomm_create(half, 0, WORLD, (rank + 1) % 2, 1, &inter);
    MPI_Recv(&number, 1, MPI_INT, 0, 9, inter, IGNORE);
}

static void list(void)
{
    MPI_Request requests[2];
    int index, indices[2];
    for (int i = 0; i < 2; i++)
        MPI_Irecv(&number, 1, MPI_INT, MPI_ANY_SOURCE, i, WORLD, &requests[i]);
    if (IS("waitany")) MPI_Waitany(2, requests, &index, IGNORE);
    else MPI_Waitsome(2, requests, &index, indices, MPI_STATUSES_IGNORE);
}

/* Two ranks lock the memory of the last one in two windows, in different orders. */
static void locks(void)
{
    MPI_Win windows[2];
    for (int i = 0; i < 2; i++)
        MPI_Win_create(data, 8, 1, MPI_INFO_NULL, WORLD, &windows[i]);
    if (rank < 2) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, size - 1, 0, windows[rank]);
    MPI_Barrier(WORLD);
    if (rank < 2) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, size - 1, 0, windows[1 - rank]);
    MPI_Barrier(WORLD);
}

/* Rank 0 begins an access epoch, and rank 1 never exposes its memory to it. */
static void posts(void)
{
    MPI_Win window;
    MPI_Group all, other;
    MPI_Win_create(data, 8, 1, MPI_INFO_NULL, WORLD, &window);
    MPI_Comm_group(WORLD, &all);
    MPI_Group_incl(all, 1, &next, &other);
    if (rank == 0) MPI_Win_start(other, 0, window);
    MPI_Win_fence(0, window);
}

static void flood(void)
{
    for (int i = 0; i < 3000; i++) {
        if (rank == 0) MPI_Send(data, i % 3 ? 8 : 3000, MPI_CHAR, 1, 1, WORLD);
        if (rank == 1 && i % 1000 == 0) nap(0.6);
        if (rank == 1) MPI_Recv(data, 3000, MPI_CHAR, 0, 1, WORLD, IGNORE);
    }
}

static void test_loop(void)
{
    if (rank == 0) return receive(1);
    MPI_Request request;
    int flag;
    MPI_Irecv(&sum, 1, MPI_INT, 0, 8, WORLD, &request);
    for (double end = MPI_Wtime() + 1.2; MPI_Wtime() < end;) MPI_Test(&request, &flag, IGNORE);
    MPI_Cancel(&request);
    MPI_Wait(&request, IGNORE);
    send(0);
}

/* Rank 1 waits until the test has stopped and continued it, for a message that came meanwhile. */
static void stopped(void)
{
    if (rank == 1) {
        receive(0);
        send(0);
    } else {
        nap(1.0);
        send(1);
        receive(1);
    }
}

/* Rank 1 leaves its session and ends, though rank 0 waits for it. */
static void session(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "tag", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Comm_rank(comm, &rank);
    if (rank == 0) MPI_Recv(&number, 1, MPI_INT, 1, 3, comm, IGNORE);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
    exit(0);
}

int main(int argc, char **argv)
{
    what = argc > 1 ? argv[1] : "";
    int level = !strncmp(what, "threads", 7) ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED;
    if (IS("session")) session();
    MPI_Init_thread(&argc, &argv, level, &level);
    MPI_Comm_rank(WORLD, &rank);
    MPI_Comm_size(WORLD, &size);
    next = (rank + 1) % size;
    before = (rank + size - 1) % size;
    MPI_Barrier(WORLD);

    if (IS("receive")) receive(next);
    else if (IS("send")) MPI_Send(more, sizeof more, MPI_CHAR, next, 8, WORLD);
    else if (IS("ring")) MPI_Ssend(&number, 1, MPI_INT, next, 8, WORLD);
    else if (IS("waitany") || IS("waitsome")) list();
    else if (IS("wildcard")) receive(MPI_ANY_SOURCE);
    else if (IS("probe")) MPI_Probe(next, 3, WORLD, IGNORE);
    else if (IS("barrier")) rank == 0 ? (void)MPI_Barrier(WORLD) : receive(0);
    else if (IS("short-long")) MPI_Bcast(data, rank == 0 ? 20000 : 90000, MPI_CHAR, 0, WORLD);
    else if (IS("long-short")) MPI_Bcast(data, rank == 0 ? 90000 : 20000, MPI_CHAR, 0, WORLD);
    else if (IS("inter")) inter();
    else if (IS("finalize")) rank == 0 ? receive(1) : (void)0;
    else if (IS("alone")) receive(rank);
    else if (IS("compute")) wait_for_last(compute);
    else if (IS("sleep")) wait_for_last(nap);
    else if (IS("generalized")) generalized();
    else if (!strncmp(what, "threads", 7)) threads();
    else if (IS("locks")) locks();
    else if (IS("posts")) posts();
    else if (IS("flood")) flood();
    else if (IS("test-loop")) test_loop();
    else if (IS("stopped")) stopped();
    else if (IS("callback")) {
        MPI_Op op;
        MPI_Op_create(slow_sum, 1, &op);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, op, WORLD);
        MPI_Op_free(&op);
    }
    MPI_Finalize();
    printf("rank %d\n", rank);
    return 0;
}
