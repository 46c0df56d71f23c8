/* MPI_THREAD_SERIALIZED: several threads call MPI, one at a time; requests started by one thread
 * are completed by another; two collectives by two threads. */
#include "check.h"

#include <pthread.h>

enum { THREADS = 3, ROUNDS = 60, COUNT = 3000 };
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static int right, left;
static MPI_Request handed[2];
static int out[COUNT], in[COUNT];

/* Each thread has its own tag; no call is made without the turn, and none blocks in it. */
static void *exchange(void *argument)
{
    int tag = (int)(intptr_t)argument;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request request[2];
        int mine = check_rank * 1000 + round * 10 + tag, got = -1, flag = 0;
        pthread_mutex_lock(&turn);
        MUST(MPI_Irecv(&got, 1, MPI_INT, left, tag, MPI_COMM_WORLD, &request[0]));
        MUST(MPI_Isend(&mine, 1, MPI_INT, right, tag, MPI_COMM_WORLD, &request[1]));
        pthread_mutex_unlock(&turn);
        while (!flag) {
            pthread_mutex_lock(&turn);
            MUST(MPI_Testall(2, request, &flag, MPI_STATUSES_IGNORE));
            pthread_mutex_unlock(&turn);
        }
        pthread_mutex_lock(&turn);
        CHECK_EQUAL(got, left * 1000 + round * 10 + tag);
        pthread_mutex_unlock(&turn);
    }
    return NULL;
}

static void by_turns(void)
{
    pthread_t thread[THREADS];
    for (intptr_t index = 0; index < THREADS; index++)
        CHECK(pthread_create(&thread[index], NULL, exchange, (void *)(index + 1)) == 0);
    exchange((void *)(intptr_t)(THREADS + 1));
    for (int index = 0; index < THREADS; index++)
        pthread_join(thread[index], NULL);
}

static void *start_requests(void *unused)
{
    (void)unused;
    MUST(MPI_Irecv(in, COUNT, MPI_INT, left, 50, MPI_COMM_WORLD, &handed[0]));
    MUST(MPI_Isend(out, COUNT, MPI_INT, right, 50, MPI_COMM_WORLD, &handed[1]));
    return NULL;
}

static void *finish_requests(void *unused)
{
    (void)unused;
    int flag = 1;
    MUST(MPI_Waitall(2, handed, MPI_STATUSES_IGNORE));
    MUST(MPI_Is_thread_main(&flag));
    CHECK(!flag);
    return NULL;
}

/* The thread that started a request is gone when it is completed. */
static void handed_over(void)
{
    pthread_t thread;
    int wrong = 0;
    for (int place = 0; place < COUNT; place++)
        out[place] = check_rank + place;
    pthread_create(&thread, NULL, start_requests, NULL);
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, finish_requests, NULL);
    pthread_join(thread, NULL);
    for (int place = 0; place < COUNT; place++)
        wrong += in[place] != left + place;
    CHECK_EQUAL(wrong, 0);
}

static void *sum_ranks(void *comm)
{
    int sum = -1;
    MUST(MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, *(MPI_Comm *)comm));
    CHECK_EQUAL(sum, check_size * (check_size - 1) / 2);
    return NULL;
}

static void collective_in_a_thread(void)
{
    pthread_t thread;
    MPI_Comm dup, world = MPI_COMM_WORLD;
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    pthread_create(&thread, NULL, sum_ranks, &dup);
    pthread_join(thread, NULL);
    sum_ranks(&world);
    MUST(MPI_Comm_free(&dup));
}

int main(int argc, char **argv)
{
    int provided = -1, level = -1, flag = 0;
    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS)
        return 2;
    check_adopt();
    right = (check_rank + 1) % check_size;
    left = (check_rank + check_size - 1) % check_size;
    section("levels");
    CHECK(provided >= MPI_THREAD_SERIALIZED);
    MUST(MPI_Query_thread(&level));
    CHECK_EQUAL(level, provided);
    MUST(MPI_Is_thread_main(&flag));
    CHECK(flag);
    section("by turns");
    by_turns();
    section("handed over");
    handed_over();
    section("collectives");
    collective_in_a_thread();
    return check_end();
}
