/* MPI_Win_fence: with every assertion, empty epochs, loads and stores of the rank itself between
 * fences, many operations in one epoch, epochs that follow each other, fences beside messages. */
#include "rma.h"

static int right, left;

/* A ring of stores, fences, puts and loads, where each assertion is true. */
static void assertions(enum kind kind)
{
    enum { ROUNDS = 4 };
    struct area area = area_open(kind, 4 * sizeof(int), sizeof(int), MPI_INFO_NULL);
    int *own = (int *)(void *)area.base, value, found;
    for (int round = 0; round < ROUNDS; round++) {
        value = 100 * round + check_rank;
        MUST(MPI_Win_fence(MPI_MODE_NOPRECEDE, area.win));
        MUST(MPI_Put(&value, 1, MPI_INT, right, area_disp(&area, right, 0), 1, MPI_INT, area.win));
        /* Nothing was stored in the window, and no other rank puts after this fence. */
        MUST(MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOSUCCEED, area.win));
        CHECK_EQUAL(own[0], 100 * round + left);
        own[1] = value + 7;
        /* What was stored is there for the ranks that read it: also without operations before. */
        MUST(MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOPUT, area.win));
        found = -1;
        MUST(MPI_Get(&found, 1, MPI_INT, left, area_disp(&area, left, 4), 1, MPI_INT, area.win));
        MUST(MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOPUT, area.win));
        CHECK_EQUAL(found, 100 * round + left + 7);
        MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED | MPI_MODE_NOSTORE, area.win));
    }
    MUST(MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED, area.win));
    area_close(&area, kind);
}

/* A rank reads what the fence before brought and passes it on: after `size` fences each value is
 * back where it began. */
static void chain(enum kind kind)
{
    struct area area = area_open(kind, 2 * sizeof(int), 1, MPI_INFO_NULL);
    int *own = (int *)(void *)area.base;
    own[0] = own[1] = 1000 + check_rank;
    MUST(MPI_Win_fence(0, area.win));
    for (int step = 0; step < check_size; step++) {
        int from = step % 2 * 4, into = 4 - from;
        MUST(MPI_Put(area.base + from, 1, MPI_INT, right, area_disp(&area, right, into), 1,
                     MPI_INT, area.win));
        MUST(MPI_Win_fence(0, area.win));
        CHECK_EQUAL(own[into / 4], 1000 + (check_rank + check_size - step - 1) % check_size);
    }
    area_close(&area, kind);
}

/* Nothing between fences, or only on some ranks. */
static void empty(enum kind kind)
{
    struct area area = area_open(kind, 64, 1, MPI_INFO_NULL);
    for (int round = 0; round < 5; round++)
        MUST(MPI_Win_fence(0, area.win));
    for (int round = 0; round < check_size; round++) {
        char value = (char)(round + 1);
        if (check_rank == round)
            MUST(MPI_Put(&value, 1, MPI_CHAR, right, area_disp(&area, right, 3), 1, MPI_CHAR,
                         area.win));
        MUST(MPI_Win_fence(0, area.win));
        CHECK_EQUAL(area.base[3], left <= round ? left + 1 : 0);
        MUST(MPI_Win_fence(0, area.win));
    }
    area_close(&area, kind);
}

/* Hundreds of small operations in one epoch, to all ranks. */
static void flood(enum kind kind)
{
    enum { EACH = 150 };
    MPI_Aint bytes = (MPI_Aint)EACH * check_size * (MPI_Aint)sizeof(int);
    struct area area = area_open(kind, 2 * bytes, sizeof(int), MPI_INFO_NULL);
    int *own = (int *)(void *)area.base, *from = take((size_t)bytes), *into = take((size_t)bytes);
    for (int index = 0; index < EACH * check_size; index++) {
        from[index] = 100000 * check_rank + index;
        own[EACH * check_size + index] = 100000 * check_rank + index + 7;
    }
    MUST(MPI_Win_fence(0, area.win));
    for (int index = 0; index < EACH; index++) {
        for (int rank = 0; rank < check_size; rank++) {
            MPI_Aint place = (MPI_Aint)sizeof(int) * (EACH * check_rank + index);
            MUST(MPI_Put(&from[rank * EACH + index], 1, MPI_INT, rank,
                         area_disp(&area, rank, place), 1, MPI_INT, area.win));
            MUST(MPI_Get(&into[rank * EACH + index], 1, MPI_INT, rank,
                         area_disp(&area, rank, bytes + place), 1, MPI_INT, area.win));
        }
    }
    MUST(MPI_Win_fence(0, area.win));
    int wrong = 0;
    for (int rank = 0; rank < check_size; rank++) {
        for (int index = 0; index < EACH; index++) {
            wrong += own[rank * EACH + index] != 100000 * rank + EACH * check_rank + index;
            wrong += into[rank * EACH + index] != 100000 * rank + EACH * check_rank + index + 7;
        }
    }
    CHECK_EQUAL(wrong, 0);
    free(from);
    free(into);
    area_close(&area, kind);
}

/* Messages and collective operations go on during an epoch. */
static void beside_messages(enum kind kind)
{
    struct area area = area_open(kind, sizeof(int), sizeof(int), MPI_INFO_NULL);
    int value = check_rank + 5, got = -1, sum = 0;
    MUST(MPI_Win_fence(0, area.win));
    MUST(MPI_Put(&value, 1, MPI_INT, right, area_disp(&area, right, 0), 1, MPI_INT, area.win));
    MUST(MPI_Sendrecv(&check_rank, 1, MPI_INT, right, 3, &got, 1, MPI_INT, left, 3,
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_EQUAL(got, left);
    MUST(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQUAL(sum, check_size * (check_size - 1) / 2 + 5 * check_size);
    MUST(MPI_Win_fence(0, area.win));
    CHECK_EQUAL(*(int *)(void *)area.base, left + 5);
    area_close(&area, kind);
}

/* After a fence without operations, locks are legal. */
static void then_locks(enum kind kind)
{
    struct area area = area_open(kind, sizeof(int), sizeof(int), MPI_INFO_NULL);
    int found = -1;
    *(int *)(void *)area.base = 40 + check_rank;
    MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, area.win));
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, area.win));
    MUST(MPI_Get(&found, 1, MPI_INT, right, area_disp(&area, right, 0), 1, MPI_INT, area.win));
    MUST(MPI_Win_unlock(right, area.win));
    CHECK_EQUAL(found, 40 + right);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Win_fence(MPI_MODE_NOPRECEDE, area.win));
    MUST(MPI_Get(&found, 1, MPI_INT, left, area_disp(&area, left, 0), 1, MPI_INT, area.win));
    MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, area.win));
    CHECK_EQUAL(found, 40 + left);
    area_close(&area, kind);
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
        assertions(kind);
        chain(kind);
        empty(kind);
        flood(kind);
        beside_messages(kind);
        then_locks(kind);
    }
    return check_end();
}
