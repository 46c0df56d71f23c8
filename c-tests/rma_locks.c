/* Passive target: shared and exclusive locks, MPI_MODE_NOCHECK, locks of several targets at once, of
 * the rank itself, of all; flushes in every form; MPI_Win_sync; locks of many ranks on one target. */
#include "rma.h"

static int right, left;

/* An exclusive lock protects what no operation alone could: get, add, put. */
static void exclusion(enum kind kind)
{
    enum { ROUNDS = 10 };
    struct area area = area_open(kind, 4 * sizeof(int), sizeof(int), MPI_INFO_NULL);
    MPI_Aint start = area_disp(&area, 0, 0);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    for (int round = 0; round < ROUNDS; round++) {
        int found[2] = {-1, -1};
        MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, area.win));
        MUST(MPI_Get(found, 2, MPI_INT, 0, start, 2, MPI_INT, area.win));
        MUST(round % 2 ? MPI_Win_flush(0, area.win) : MPI_Win_flush_local(0, area.win));
        CHECK_EQUAL(found[1], -found[0]);
        found[0]++;
        found[1]--;
        MUST(MPI_Put(found, 2, MPI_INT, 0, start, 2, MPI_INT, area.win));
        MUST(MPI_Win_unlock(0, area.win));
    }
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    int found = -1;
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, area.win));
    MUST(MPI_Get(&found, 1, MPI_INT, 0, start, 1, MPI_INT, area.win));
    MUST(MPI_Win_unlock(0, area.win));
    CHECK_EQUAL(found, ROUNDS * check_size);
    area_close(&area, kind);
}

/* A rank changes its own memory under its own exclusive lock by loads and stores. */
static void own_memory(enum kind kind)
{
    enum { ROUNDS = 10 };
    struct area area = area_open(kind, 8, 8, MPI_INFO_NULL);
    int64_t *own = (int64_t *)(void *)area.base;
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    for (int round = 0; round < ROUNDS; round++) {
        int64_t found = 0;
        MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, check_rank, 0, area.win));
        ++*own;
        MUST(MPI_Win_unlock(check_rank, area.win));
        MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, area.win));
        MUST(MPI_Get(&found, 1, MPI_INT64_T, right, area_disp(&area, right, 0), 1, MPI_INT64_T,
                     area.win));
        MUST(MPI_Win_flush(right, area.win));
        found++;
        MUST(MPI_Put(&found, 1, MPI_INT64_T, right, area_disp(&area, right, 0), 1, MPI_INT64_T,
                     area.win));
        MUST(MPI_Win_unlock(right, area.win));
    }
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, area.win));
    CHECK_EQUAL(*own, 2 * ROUNDS);
    MUST(MPI_Win_unlock(check_rank, area.win));
    area_close(&area, kind);
}

/* Shared locks are held by all ranks at once: none unlocks before all have met. */
static void shared_at_once(enum kind kind)
{
    struct area area = area_open(kind, (MPI_Aint)sizeof(int) * check_size, 4, MPI_INFO_NULL);
    for (int target = 0; target < check_size; target += check_size > 1 ? check_size - 1 : 1) {
        int value = 10 * target + check_rank, due = 10 * target;
        MUST(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, area.win));
        MUST(MPI_Put(&value, 1, MPI_INT, target, area_disp(&area, target, 4 * check_rank), 1,
                     MPI_INT, area.win));
        MUST(MPI_Win_flush(target, area.win));
        MUST(MPI_Barrier(MPI_COMM_WORLD));
        for (int rank = 0; rank < check_size; rank++) {
            int found = -1;
            MUST(MPI_Get(&found, 1, MPI_INT, target, area_disp(&area, target, 4 * rank), 1,
                         MPI_INT, area.win));
            MUST(MPI_Win_flush_local(target, area.win));
            CHECK_EQUAL(found, due + rank);
        }
        MUST(MPI_Win_unlock(target, area.win));
    }
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    area_close(&area, kind);
}

/* Locks of all targets, one after the other, released in the reverse order; exclusive ones in the
 * same order on all ranks, so that none waits for ever. */
static void several_targets(enum kind kind)
{
    struct area area = area_open(kind, 4 * sizeof(int), sizeof(int), MPI_INFO_NULL);
    int *own = (int *)(void *)area.base;
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    for (int round = 0; round < 2; round++) {
        int type = round == 0 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, one = 1;
        for (int rank = 0; rank < check_size; rank++)
            MUST(MPI_Win_lock(type, rank, 0, area.win));
        for (int rank = 0; rank < check_size; rank++)
            MUST(MPI_Accumulate(&one, 1, MPI_INT, rank, area_disp(&area, rank, 4 * round), 1,
                                MPI_INT, MPI_SUM, area.win));
        for (int rank = check_size - 1; rank >= 0; rank--)
            MUST(MPI_Win_unlock(rank, area.win));
    }
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_EQUAL(own[0], check_size);
    CHECK_EQUAL(own[1], check_size);
    area_close(&area, kind);
}

/* No other rank locks what a rank locks with MPI_MODE_NOCHECK. */
static void unchecked(enum kind kind)
{
    struct area area = area_open(kind, 4 * sizeof(int), sizeof(int), MPI_INFO_NULL);
    int *own = (int *)(void *)area.base, value = check_rank + 3;
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, MPI_MODE_NOCHECK, area.win));
    MUST(MPI_Put(&value, 1, MPI_INT, right, area_disp(&area, right, 0), 1, MPI_INT, area.win));
    MUST(MPI_Win_unlock(right, area.win));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_EQUAL(own[0], left + 3);
    MUST(MPI_Win_lock_all(MPI_MODE_NOCHECK, area.win));
    MUST(MPI_Put(&value, 1, MPI_INT, right, area_disp(&area, right, 4), 1, MPI_INT, area.win));
    MUST(MPI_Win_flush_all(area.win));
    MUST(MPI_Win_unlock_all(area.win));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_EQUAL(own[1], left + 3);
    area_close(&area, kind);
}

/* One epoch for the life of a window, as programs do: put, flush, tell by message, read. */
static void for_life(enum kind kind)
{
    enum { ROUNDS = 12, LONG = 2000 };
    struct area area = area_open(kind, 2 * LONG * sizeof(int), 1, MPI_INFO_NULL);
    int *own = (int *)(void *)area.base, *from = take(LONG * sizeof(int)),
        *into = take(LONG * sizeof(int));
    MUST(MPI_Win_lock_all(0, area.win));
    for (int round = 0; round < ROUNDS; round++) {
        int count = round % 3 == 0 ? 1 : round % 3 == 1 ? 17 : LONG, token = -1, wrong = 0;
        for (int index = 0; index < count; index++)
            from[index] = 10000 * round + 100 * check_rank + index % 100;
        MUST(MPI_Put(from, count, MPI_INT, right, area_disp(&area, right, 0), count, MPI_INT,
                     area.win));
        MUST(round % 2 ? MPI_Win_flush(right, area.win) : MPI_Win_flush_all(area.win));
        MUST(MPI_Sendrecv(&round, 1, MPI_INT, right, 1, &token, 1, MPI_INT, left, 1,
                          MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        MUST(MPI_Win_sync(area.win));
        for (int index = 0; index < count; index++)
            wrong += own[index] != 10000 * round + 100 * left + index % 100;
        CHECK_EQUAL(wrong, 0);
        /* What this rank stores, the left one gets. */
        for (int index = 0; index < count; index++)
            own[LONG + index] = round + check_rank + index;
        MUST(MPI_Win_sync(area.win));
        MUST(MPI_Sendrecv(&round, 1, MPI_INT, left, 2, &token, 1, MPI_INT, right, 2,
                          MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        MUST(MPI_Get(into, count, MPI_INT, right, area_disp(&area, right, LONG * sizeof(int)),
                     count, MPI_INT, area.win));
        MUST(round % 2 ? MPI_Win_flush_local(right, area.win)
                       : MPI_Win_flush_local_all(area.win));
        for (int index = 0; index < count; index++)
            wrong += into[index] != round + right + index;
        CHECK_EQUAL(wrong, 0);
        MUST(MPI_Barrier(MPI_COMM_WORLD));
    }
    MUST(MPI_Win_unlock_all(area.win));
    free(from);
    free(into);
    area_close(&area, kind);
}

/* After a local flush the buffer belongs to the program again. */
static void reused_buffer(enum kind kind)
{
    enum { ROUNDS = 40 };
    struct area area = area_open(kind, 4 * ROUNDS, 4, MPI_INFO_NULL);
    int *own = (int *)(void *)area.base;
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, area.win));
    for (int round = 0, value; round < ROUNDS; round++) {
        value = 100 * check_rank + round;
        MUST(MPI_Put(&value, 1, MPI_INT, right, area_disp(&area, right, 4 * round), 1, MPI_INT,
                     area.win));
        MUST(MPI_Win_flush_local(right, area.win));
        value = -1;
    }
    MUST(MPI_Win_unlock(right, area.win));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    for (int round = 0; round < ROUNDS; round++)
        CHECK_EQUAL(own[round], 100 * left + round);
    area_close(&area, kind);
}

/* A flush of the rank itself lets operations of others proceed: all wait for a counter that other
 * ranks increment. An operation on another rank is in progress meanwhile. */
static void waiting_by_flushes(enum kind kind)
{
    struct area area = area_open(kind, 2 * sizeof(int), sizeof(int), MPI_INFO_NULL);
    int one = 1, seen = 0;
    MUST(MPI_Win_lock_all(0, area.win));
    for (int rank = 0; rank < check_size; rank++)
        MUST(MPI_Accumulate(&one, 1, MPI_INT, rank, area_disp(&area, rank, 0), 1, MPI_INT,
                            MPI_SUM, area.win));
    MUST(MPI_Win_flush_all(area.win));
    MUST(MPI_Put(&one, 1, MPI_INT, right, area_disp(&area, right, 4), 1, MPI_INT, area.win));
    while (seen < check_size) {
        MUST(MPI_Fetch_and_op(NULL, &seen, MPI_INT, check_rank,
                              area_disp(&area, check_rank, 0), MPI_NO_OP, area.win));
        MUST(MPI_Win_flush_local(check_rank, area.win));
    }
    CHECK_EQUAL(seen, check_size);
    MUST(MPI_Win_unlock_all(area.win));
    area_close(&area, kind);
}

/* The same without flushes: by epochs on the rank itself, which wait for nobody, and by loads after
 * MPI_Win_sync. */
static void waiting_by_epochs(enum kind kind)
{
    struct area area = area_open(kind, 2 * sizeof(int), sizeof(int), MPI_INFO_NULL);
    volatile int *own = (int *)(void *)area.base;
    int one = 1, seen = 0;
    for (int rank = 0; rank < check_size; rank++) {
        MUST(MPI_Win_lock(MPI_LOCK_SHARED, rank, MPI_MODE_NOCHECK, area.win));
        MUST(MPI_Accumulate(&one, 1, MPI_INT, rank, area_disp(&area, rank, 0), 1, MPI_INT,
                            MPI_SUM, area.win));
        MUST(MPI_Win_unlock(rank, area.win));
    }
    while (seen < check_size) {
        MUST(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, MPI_MODE_NOCHECK, area.win));
        MUST(MPI_Fetch_and_op(NULL, &seen, MPI_INT, check_rank,
                              area_disp(&area, check_rank, 0), MPI_NO_OP, area.win));
        MUST(MPI_Win_unlock(check_rank, area.win));
    }
    MUST(MPI_Win_lock_all(MPI_MODE_NOCHECK, area.win));
    MUST(MPI_Put(&one, 1, MPI_INT, right, area_disp(&area, right, 4), 1, MPI_INT, area.win));
    if (check_strict()) /* MPI 5.0 does not say that MPI_Win_sync makes progress. */
        while (own[1] == 0)
            MUST(MPI_Win_sync(area.win));
    MUST(MPI_Win_unlock_all(area.win));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_EQUAL(own[0], check_size);
    CHECK_EQUAL(own[1], 1);
    area_close(&area, kind);
}

/* Locks of single targets and of all in turn, on two windows at once. */
static void in_turn(enum kind kind)
{
    struct area one = area_open(kind, 8, 8, MPI_INFO_NULL);
    struct area two = area_open(kind, 8, 8, MPI_INFO_NULL);
    int64_t add = 1;
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    for (int round = 0; round < 4; round++) {
        int target = (check_rank + round) % check_size;
        int type = round % 2 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED;
        MUST(MPI_Win_lock(type, target, 0, one.win));
        MUST(MPI_Accumulate(&add, 1, MPI_INT64_T, target, area_disp(&one, target, 0), 1,
                            MPI_INT64_T, MPI_SUM, one.win));
        MUST(MPI_Win_unlock(target, one.win));
        MUST(MPI_Win_lock_all(0, one.win));
        MUST(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, two.win));
        for (int rank = 0; rank < check_size; rank++)
            MUST(MPI_Accumulate(&add, 1, MPI_INT64_T, rank, area_disp(&one, rank, 0), 1,
                                MPI_INT64_T, MPI_SUM, one.win));
        MUST(MPI_Accumulate(&add, 1, MPI_INT64_T, target, area_disp(&two, target, 0), 1,
                            MPI_INT64_T, MPI_SUM, two.win));
        MUST(MPI_Win_unlock_all(one.win));
        MUST(MPI_Win_unlock(target, two.win));
    }
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_EQUAL(*(int64_t *)(void *)one.base, 4 + 4 * check_size);
    CHECK_EQUAL(*(int64_t *)(void *)two.base, 4);
    area_close(&one, kind);
    area_close(&two, kind);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    right = (check_rank + 1) % check_size;
    left = (check_rank + check_size - 1) % check_size;
    for (enum kind kind = 0; kind < KINDS; kind++) {
        section("%s", kind_name(kind));
        if (!kind_possible(kind))
            continue;
        exclusion(kind);
        own_memory(kind);
        shared_at_once(kind);
        several_targets(kind);
        unchecked(kind);
        for_life(kind);
        reused_buffer(kind);
        waiting_by_flushes(kind);
        waiting_by_epochs(kind);
        in_turn(kind);
    }
    return check_end();
}
