/* Atomic operations on numbers of 4 and 8 bytes: their results, and that they are atomic to each
 * other, to copies, and to instructions of the owner. */
#include "acp_check.h"

enum { NUMBER = CHECK_OWN, OLD = CHECK_OWN + 64, AREA = 1024 };

/* Sets the number at a rank, applies an operation to it and checks both the old and the new number.
 */
#define OPERATION(bytes, type, rank, before, after, call)                                        \
    do {                                                                                         \
        acp_ga_t at = starter(rank, NUMBER + AREA + 16 * (size_t)check_rank);                    \
        acp_ga_t old = starter(check_rank, OLD), here = starter(check_rank, NUMBER);             \
        volatile type *mine = own(NUMBER), *seen = own(OLD);                                     \
        *mine = (type)(before);                                                                  \
        *seen = 0x5a;                                                                            \
        seen[1] = (type)0x1122334455667788;                                                      \
        DONE(acp_copy(at, here, bytes, NONE));                                                   \
        DONE(call);                                                                              \
        CHECK_EQUAL(*seen, (type)(before));                                                      \
        CHECK_EQUAL(seen[1], (type)0x1122334455667788);                                          \
        DONE(acp_copy(here, at, bytes, NONE));                                                   \
        CHECK_EQUAL(*mine, (type)(after));                                                       \
    } while (0)

static void results_4(int rank)
{
    const uint32_t a = 0xf0f0f0f0u, b = 0x3c3c3c3cu;
    OPERATION(4, uint32_t, rank, a, b, acp_swap4(old, at, b, NONE));
    OPERATION(4, uint32_t, rank, a, a + b, acp_add4(old, at, b, NONE));
    OPERATION(4, uint32_t, rank, UINT32_MAX, 1, acp_add4(old, at, 2, NONE));
    OPERATION(4, uint32_t, rank, a, a ^ b, acp_xor4(old, at, b, NONE));
    OPERATION(4, uint32_t, rank, a, a | b, acp_or4(old, at, b, NONE));
    OPERATION(4, uint32_t, rank, a, a & b, acp_and4(old, at, b, NONE));
    OPERATION(4, uint32_t, rank, a, b, acp_cas4(old, at, a, b, NONE));
    OPERATION(4, uint32_t, rank, a, a, acp_cas4(old, at, b, a, NONE));
}

static void results_8(int rank)
{
    const uint64_t a = 0xf0f0f0f00f0f0f0fu, b = 0x3c3c3c3cc3c3c3c3u;
    OPERATION(8, uint64_t, rank, a, b, acp_swap8(old, at, b, NONE));
    OPERATION(8, uint64_t, rank, a, a + b, acp_add8(old, at, b, NONE));
    OPERATION(8, uint64_t, rank, UINT64_MAX, 1, acp_add8(old, at, 2, NONE));
    OPERATION(8, uint64_t, rank, a, a ^ b, acp_xor8(old, at, b, NONE));
    OPERATION(8, uint64_t, rank, a, a | b, acp_or8(old, at, b, NONE));
    OPERATION(8, uint64_t, rank, a, a & b, acp_and8(old, at, b, NONE));
    OPERATION(8, uint64_t, rank, a, b, acp_cas8(old, at, a, b, NONE));
    OPERATION(8, uint64_t, rank, a, a, acp_cas8(old, at, b, a, NONE));
}

/* All ranks count at rank 0 and see each number once; at the end it is the sum. */
static void counters(void)
{
    enum { TIMES = 300 };
    struct memory seen = memory_open(8 * TIMES), all = memory_open(8 * TIMES * (size_t)check_size);
    acp_ga_t counter = starter(0, 4096), old = seen.at[check_rank];
    for (size_t time = 0; time < TIMES; time++) {
        acp_handle_t handle = acp_add8(old + 8 * time, counter, 1, time % 3 ? NONE : ALL);
        if (time % 7 == 0)
            acp_complete(handle);
    }
    acp_complete(ALL);
    DONE(acp_copy(all.at[0] + 8 * TIMES * (acp_ga_t)check_rank, old, 8 * TIMES, NONE));
    acp_sync();
    if (check_rank == 0) {
        size_t total = TIMES * (size_t)check_size, missing = 0;
        unsigned char *found = calloc(total, 1);
        for (size_t at = 0; at < total; at++) {
            uint64_t number = ((uint64_t *)(void *)all.base)[at];
            CHECK(number < total);
            if (number < total)
                found[number] = 1;
        }
        for (size_t number = 0; number < total; number++)
            missing += found[number] == 0;
        CHECK_EQUAL(missing, 0);
        CHECK_EQUAL(*own_number(4096), total);
        free(found);
    }
    memory_close(&seen);
    memory_close(&all);
}

/* A lock taken by compare and swap and given back by a copy; the owner takes it by its
 * instructions. */
static void lock(void)
{
    enum { TIMES = 40, LOCK = 4160, SUM = 4168 };
    acp_ga_t at = starter(0, LOCK), sum = starter(0, SUM);
    volatile uint64_t *old = own_number(OLD), *number = own_number(OLD + 8), *zero = own_number(OLD + 16);
    *zero = 0;
    for (int time = 0; time < TIMES; time++) {
        if (check_rank == 0 && time % 2 == 0) {
            uint64_t *word = own(LOCK);
            uint64_t expected = 0;
            while (!__atomic_compare_exchange_n(word, &expected, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
                expected = 0;
                sched_yield();
            }
            ++*own_number(SUM);
            __atomic_store_n(word, 0, __ATOMIC_SEQ_CST);
            continue;
        }
        do {
            sched_yield();
            DONE(acp_cas8(starter(check_rank, OLD), at, 0, (uint64_t)check_rank + 1, NONE));
        } while (*old != 0);
        DONE(acp_copy(starter(check_rank, OLD + 8), sum, 8, NONE));
        ++*number;
        DONE(acp_copy(sum, starter(check_rank, OLD + 8), 8, NONE));
        DONE(acp_copy(at, starter(check_rank, OLD + 16), 8, NONE));
    }
    acp_sync();
    if (check_rank == 0)
        CHECK_EQUAL(*own_number(SUM), TIMES * check_size);
    acp_sync();
}

/* Additions by all ranks and by instructions of the owner meet in one number. */
static void with_owner(void)
{
    enum { TIMES = 2000, SUM = 4224 };
    if (check_rank == 0)
        for (int time = 0; time < TIMES; time++)
            __atomic_fetch_add((uint32_t *)own(SUM), 1, __ATOMIC_RELAXED);
    else
        for (int time = 0; time < TIMES / 10; time++)
            DONE(acp_add4(starter(check_rank, OLD), starter(0, SUM), 1, NONE));
    acp_sync();
    if (check_rank == 0)
        CHECK_EQUAL(*(volatile uint32_t *)own(SUM), TIMES + TIMES / 10 * (check_size - 1));
    acp_sync();
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    for (int by = 0; by < check_size; by++) {
        section("results %d ranks on", by);
        results_4((check_rank + by) % check_size);
        results_8((check_rank + by) % check_size);
    }
    acp_sync();
    section("counters");
    counters();
    section("lock");
    lock();
    section("with instructions of the owner");
    with_owner();
    return check_end();
}
