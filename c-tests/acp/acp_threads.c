/* Accesses of several threads of every rank. */
#include "acp_check.h"

#include <pthread.h>

enum { THREADS = 4, TIMES = 200, BYTES = 600 };

static struct memory memory, counters;

/* The part of a thread in the memory of every rank, for one initiator. */
static size_t part(int initiator, int thread)
{
    return ((size_t)initiator * THREADS + (size_t)thread) * BYTES;
}

static void *access_all(void *argument)
{
    int thread = *(int *)argument;
    unsigned char private[BYTES];
    acp_atkey_t key = acp_register_memory(private, BYTES, 0);
    acp_ga_t here = acp_query_ga(key, private), old = counters.at[check_rank] + 8 + 8 * (acp_ga_t)thread;
    for (int time = 0; time < TIMES; time++) {
        int target = (check_rank + time) % check_size;
        acp_ga_t there = memory.at[target] + part(check_rank, thread);
        unsigned seed = (unsigned)(time * THREADS + thread);
        size_t bytes = 1 + (size_t)time * 7 % (BYTES - 1);
        fill(private, bytes, seed);
        acp_handle_t put = acp_copy(there, here, bytes, NONE);
        CHECK(put > 0);
        acp_complete(put);
        memset(private, 0, bytes);
        acp_handle_t get = acp_copy(here, there, bytes, time % 2 ? put : ALL);
        CHECK(get > put);
        acp_handle_t count = acp_add8(old, counters.at[target], 1, NONE);
        CHECK(count > get);
        acp_complete(count);
        CHECK_EQUAL(spoiled(private, bytes, seed), 0);
        CHECK_EQUAL(acp_inquire(get), 0);
    }
    CHECK_EQUAL(acp_unregister_memory(key), 0);
    return NULL;
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    section("%d threads", THREADS);
    memory = memory_open((size_t)check_size * THREADS * BYTES);
    counters = memory_open(8 + 8 * THREADS);
    pthread_t threads[THREADS];
    int numbers[THREADS];
    for (int thread = 0; thread < THREADS; thread++) {
        numbers[thread] = thread;
        pthread_create(&threads[thread], NULL, access_all, &numbers[thread]);
    }
    for (int thread = 0; thread < THREADS; thread++)
        pthread_join(threads[thread], NULL);
    acp_sync();
    uint64_t *all = calloc((size_t)check_size, sizeof *all), sum = 0;
    gather(*(uint64_t *)(void *)counters.base, all);
    for (int rank = 0; rank < check_size; rank++)
        sum += all[rank];
    CHECK_EQUAL(sum, (uint64_t)check_size * THREADS * TIMES);
    free(all);
    memory_close(&counters);
    memory_close(&memory);
    return check_end();
}
