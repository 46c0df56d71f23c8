/* Partitioned communication by threads: each writes its partitions and says that they are ready, while
 * others look for partitions that have arrived. */
#include "check.h"
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 20, OPERATIONS = 2, TAG = 3 };

static int left, right;
static pthread_barrier_t barrier;

/* An operation in each direction; the receiver has another number of partitions. */
typedef struct {
    int sent, received, bytes;
    unsigned char *out, *in;
    MPI_Request send, receive;
} Exchange;

static Exchange exchanges[OPERATIONS] = {
    {.sent = 64, .received = 16, .bytes = 64 * 16 * 3},
    {.sent = 32, .received = 48, .bytes = 32 * 48 * 512},
};
static int wrong[THREADS];

static unsigned seed(int round, int rank, int operation)
{
    return (unsigned)(round * 64 + rank * 4 + operation);
}

static void write_partition(const Exchange *at, int partition, unsigned with)
{
    int length = at->bytes / at->sent;
    for (int place = partition * length; place < (partition + 1) * length; place++)
        at->out[place] = pattern((size_t)place, with);
}

static int spoiled_partition(const Exchange *at, int partition, unsigned with)
{
    int length = at->bytes / at->received, count = 0;
    for (int place = partition * length; place < (partition + 1) * length; place++)
        count += at->in[place] != pattern((size_t)place, with);
    return count;
}

static void one_round(int thread, int round)
{
    for (int which = 0; which < OPERATIONS; which++) {
        Exchange *at = &exchanges[which];
        for (int partition = thread; partition < at->sent; partition += THREADS) {
            write_partition(at, partition, seed(round, check_rank, which));
            MUST(MPI_Pready(partition, at->send));
        }
    }
    for (int which = 0; which < OPERATIONS; which++) {
        Exchange *at = &exchanges[which];
        for (int partition = thread; partition < at->received; partition += THREADS) {
            int arrived = 0;
            while (!arrived)
                MUST(MPI_Parrived(at->receive, partition, &arrived));
            wrong[thread] += spoiled_partition(at, partition, seed(round, left, which));
        }
    }
}

static void *work(void *argument)
{
    int thread = *(int *)argument;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&barrier);
        one_round(thread, round);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

/* Another thread waits for the operation while threads still have partitions to send. */
static void *wait_for_send(void *argument)
{
    MUST(MPI_Wait(argument, MPI_STATUS_IGNORE));
    return NULL;
}

static void wait_beside(void)
{
    section("a thread that waits beside");
    Exchange *at = &exchanges[1];
    pthread_t waiter;
    for (int round = 0; round < ROUNDS; round++) {
        MUST(MPI_Start(&at->receive));
        MUST(MPI_Start(&at->send));
        /* The waiting thread may change the handle only when all partitions are ready. */
        MPI_Request send = at->send;
        pthread_create(&waiter, NULL, wait_for_send, &send);
        for (int partition = 0; partition < at->sent; partition++) {
            write_partition(at, partition, seed(round, check_rank, 3));
            MUST(MPI_Pready(partition, at->send));
        }
        pthread_join(waiter, NULL);
        MUST(MPI_Wait(&at->receive, MPI_STATUS_IGNORE));
        for (int partition = 0; partition < at->received; partition++)
            CHECK_EQUAL(spoiled_partition(at, partition, seed(round, left, 3)), 0);
    }
}

int main(int argc, char **argv)
{
    int level = 0, numbers[THREADS];
    pthread_t threads[THREADS];
    MUST(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level));
    check_adopt();
    CHECK_EQUAL(level, MPI_THREAD_MULTIPLE);
    left = (check_rank + check_size - 1) % check_size;
    right = (check_rank + 1) % check_size;
    for (int which = 0; which < OPERATIONS; which++) {
        Exchange *at = &exchanges[which];
        at->out = take((size_t)at->bytes);
        at->in = take((size_t)at->bytes);
        MUST(MPI_Psend_init(at->out, at->sent, at->bytes / at->sent, MPI_BYTE, right, TAG,
                            MPI_COMM_WORLD, MPI_INFO_NULL, &at->send));
        MUST(MPI_Precv_init(at->in, at->received, at->bytes / at->received, MPI_BYTE, left, TAG,
                            MPI_COMM_WORLD, MPI_INFO_NULL, &at->receive));
    }
    section("threads");
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (int thread = 0; thread < THREADS; thread++) {
        numbers[thread] = thread;
        pthread_create(&threads[thread], NULL, work, &numbers[thread]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int which = 0; which < OPERATIONS; which++) {
            MUST(MPI_Start(&exchanges[which].receive));
            MUST(MPI_Start(&exchanges[which].send));
        }
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
        for (int which = 0; which < OPERATIONS; which++) {
            MUST(MPI_Wait(&exchanges[which].send, MPI_STATUS_IGNORE));
            MUST(MPI_Wait(&exchanges[which].receive, MPI_STATUS_IGNORE));
        }
    }
    for (int thread = 0; thread < THREADS; thread++) {
        pthread_join(threads[thread], NULL);
        CHECK_EQUAL(wrong[thread], 0);
    }
    wait_beside();
    for (int which = 0; which < OPERATIONS; which++) {
        MUST(MPI_Request_free(&exchanges[which].send));
        MUST(MPI_Request_free(&exchanges[which].receive));
        free(exchanges[which].out);
        free(exchanges[which].in);
    }
    return check_end();
}
