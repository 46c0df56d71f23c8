/* Passive target: rank 1 computes without a call of MPI while rank 0 puts, gets, accumulates and locks.
 * Rank 1 computes until it loads from its memory what rank 0 puts there after all of that has completed.
 * Without progress beside the computation, the limit ends the program.
 *
 *   mpirun -n 2 passive */
#include "../../c-tests/rma.h"
#include <stddef.h>

enum { LIMIT_S = 30, LONG = 20000 };

/* The memory of rank 1. */
struct memory {
    int64_t value, counter, swapped;
    volatile int64_t done;
    unsigned char bytes[LONG];
};

#define AT(member) area_disp(area, 1, offsetof(struct memory, member))

static void origin(const struct area *area)
{
    MPI_Win win = area->win;
    int64_t one = 1, old = -1, seven = 7, none = 0, found = -1;
    unsigned char *bytes = take(LONG), *back = take(LONG);
    fill(bytes, LONG, 3);
    MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win));
    MUST(MPI_Put(&seven, 1, MPI_INT64_T, 1, AT(value), 1, MPI_INT64_T, win));
    MUST(MPI_Put(bytes, LONG, MPI_BYTE, 1, AT(bytes), LONG, MPI_BYTE, win));
    MUST(MPI_Win_unlock(1, win));
    MUST(MPI_Win_lock_all(0, win));
    MUST(MPI_Get(back, LONG, MPI_BYTE, 1, AT(bytes), LONG, MPI_BYTE, win));
    MUST(MPI_Get(&found, 1, MPI_INT64_T, 1, AT(value), 1, MPI_INT64_T, win));
    MUST(MPI_Win_flush(1, win));
    CHECK_EQUAL(found, 7);
    CHECK_EQUAL(spoiled(back, LONG, 3), 0);
    MUST(MPI_Fetch_and_op(&one, &old, MPI_INT64_T, 1, AT(counter), MPI_SUM, win));
    MUST(MPI_Compare_and_swap(&seven, &none, &found, MPI_INT64_T, 1, AT(swapped), win));
    MUST(MPI_Accumulate(&one, 1, MPI_INT64_T, 1, AT(counter), 1, MPI_INT64_T, MPI_SUM, win));
    MUST(MPI_Win_flush(1, win));
    CHECK(old == 0 && found == 0);
    MUST(MPI_Accumulate(&one, 1, MPI_INT64_T, 1, AT(done), 1, MPI_INT64_T, MPI_REPLACE, win));
    MUST(MPI_Win_unlock_all(win));
    free(bytes);
    free(back);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void target(const struct memory *memory)
{
    volatile double sum = 0;
    double limit = seconds() + LIMIT_S;
    while (memory->done == 0 && seconds() < limit)
        for (int term = 1; term < 1000; term++)
            sum += 1.0 / term;
    CHECK_EQUAL(memory->done, 1);
}

static void compute_beside(enum kind kind)
{
    struct area area = area_open(kind, sizeof(struct memory), 1, MPI_INFO_NULL);
    const struct memory *memory = (const void *)area.base;
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    if (check_rank == 0)
        origin(&area);
    if (check_rank == 1)
        target(memory);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    if (check_rank == 1) {
        CHECK(memory->value == 7 && memory->counter == 2 && memory->swapped == 7);
        CHECK_EQUAL(spoiled(memory->bytes, LONG, 3), 0);
    }
    area_close(&area, kind);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    for (enum kind kind = 0; kind < KINDS; kind++)
        if (kind_possible(kind))
            compute_beside(kind);
    return check_end();
}
