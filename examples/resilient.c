/*
 * Loses ranks at random steps, and ends with the right result all the same.
 *
 * A table of cells is distributed over the ranks. Each step changes every cell, and every rank keeps a copy of
 * the table of its right neighbor as of the last checkpoint. When a rank fails, the others shrink the
 * communicator, go back to the last checkpoint, distribute all cells anew, and go on.
 *
 *   mpicc examples/resilient.c -o resilient
 *   mpirun --with-ft ulfm -n 5 ./resilient [SEED]
 *
 * A step counts when all ranks have agreed on its success, so all survivors go back to the same checkpoint.
 * If two neighbors fail between two checkpoints, their cells are lost: the program says so and ends.
 */
#include <mpi.h>
#include <mpi-ext.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS = 960, STEPS = 60, CHECKPOINT_STEPS = 10 };

/* The cells of a rank in a checkpoint, and those that it keeps for its right neighbor. */
struct checkpoint {
    int step;
    int first, count;
    uint64_t cells[CELLS];
    int kept_first, kept_count;
    uint64_t kept[CELLS];
};

struct state {
    MPI_Comm comm;
    int rank, size;
    int step;
    int first, count;
    uint64_t cells[CELLS];
};

static struct state now;
static struct checkpoint saved;

/* What every cell has after a number of steps. */
static uint64_t expected(int cell, int steps)
{
    uint64_t value = cell;
    for (int step = 0; step < steps; step++)
        value = value * 6364136223846793005u + step + 1;
    return value;
}

/* The part of the cells of a rank. */
static void place(int rank, int size, int *first, int *count)
{
    *first = (int)((long)CELLS * rank / size);
    *count = (int)((long)CELLS * (rank + 1) / size) - *first;
}

static void join(MPI_Comm comm)
{
    now.comm = comm;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &now.rank);
    MPI_Comm_size(comm, &now.size);
    place(now.rank, now.size, &now.first, &now.count);
}

/* Whether all survivors have succeeded. */
static int all_succeeded(int code)
{
    int flag = code == MPI_SUCCESS;
    int agreed = MPIX_Comm_agree(now.comm, &flag);
    return flag && agreed == MPI_SUCCESS;
}

/* One step; its result is checked with the others. */
static int compute(void)
{
    uint64_t sum = 0, all;
    for (int cell = 0; cell < now.count; cell++) {
        now.cells[cell] = now.cells[cell] * 6364136223846793005u + now.step + 1;
        sum += now.cells[cell];
    }
    return MPI_Allreduce(&sum, &all, 1, MPI_UINT64_T, MPI_SUM, now.comm);
}

/* Every rank sends its cells to its left neighbor, which keeps them. */
static int save(void)
{
    static struct checkpoint next;
    int left = (now.rank + now.size - 1) % now.size, right = (now.rank + 1) % now.size;
    next.step = now.step;
    next.first = now.first;
    next.count = now.count;
    memcpy(next.cells, now.cells, sizeof next.cells);
    place(right, now.size, &next.kept_first, &next.kept_count);
    int code = MPI_Sendrecv(next.cells, next.count, MPI_UINT64_T, left, 1, next.kept, next.kept_count,
                            MPI_UINT64_T, right, 1, now.comm, MPI_STATUS_IGNORE);
    if (!all_succeeded(code))
        return 0;
    saved = next;
    return 1;
}

/* All survivors gather the cells of the last checkpoint. 0 if a rank has failed meanwhile. */
static int restore(void)
{
    static uint64_t mine[2 * CELLS], all[2 * CELLS];
    /* The value of each cell, and how many ranks have it. */
    memset(mine, 0, sizeof mine);
    for (int cell = 0; cell < saved.kept_count; cell++) {
        mine[saved.kept_first + cell] = saved.kept[cell];
        mine[CELLS + saved.kept_first + cell] = 1;
    }
    for (int cell = 0; cell < saved.count; cell++) {
        mine[saved.first + cell] = saved.cells[cell];
        mine[CELLS + saved.first + cell] = 1;
    }
    int code = MPI_Allreduce(mine, all, 2 * CELLS, MPI_UINT64_T, MPI_MAX, now.comm);
    if (!all_succeeded(code))
        return 0;
    for (int cell = 0; cell < CELLS; cell++) {
        if (!all[CELLS + cell]) {
            if (now.rank == 0)
                printf("cell %d is lost: two neighbors failed between two checkpoints\n", cell);
            MPI_Abort(now.comm, 3);
        }
    }
    memcpy(now.cells, all + now.first, now.count * sizeof *all);
    now.step = saved.step;
    return save();
}

/* Replaces the communicator by one without failed ranks. */
static void repair(void)
{
    MPI_Comm survivors;
    MPIX_Comm_revoke(now.comm);
    if (MPIX_Comm_shrink(now.comm, &survivors) != MPI_SUCCESS) {
        fprintf(stderr, "cannot shrink\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (now.comm != MPI_COMM_WORLD)
        MPI_Comm_free(&now.comm);
    join(survivors);
}

/* Random bits that all ranks compute alike. */
static uint64_t draw(uint64_t seed, uint64_t number)
{
    uint64_t bits = (seed << 32 ^ number) * 0x9e3779b97f4a7c15u;
    bits = (bits ^ bits >> 31) * 0xbf58476d1ce4e5b9u;
    return bits ^ bits >> 29;
}

/* Ends one of the processes once in a while, but never the last two. */
static void maybe_die(int seed, int attempt)
{
    uint64_t bits = draw(seed, attempt);
    if (now.size > 2 && bits % 8 == 0 && (int)(bits / 8 % now.size) == now.rank)
        raise(SIGKILL);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    join(MPI_COMM_WORLD);
    int seed = argc > 1 ? atoi(argv[1]) : 1, attempt = 0;
    for (int cell = 0; cell < now.count; cell++)
        now.cells[cell] = now.first + cell;
    int good = save();
    while (!good || now.step < STEPS) {
        if (!good) {
            repair();
            good = restore();
            continue;
        }
        maybe_die(seed, attempt++);
        good = all_succeeded(compute());
        if (good && ++now.step % CHECKPOINT_STEPS == 0)
            good = save();
    }
    int wrong = 0, all_wrong = 0, world;
    for (int cell = 0; cell < now.count; cell++)
        wrong += now.cells[cell] != expected(now.first + cell, STEPS);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    int code = MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, now.comm);
    if (now.rank == 0)
        printf("%d steps on %d of %d ranks: the result is %s\n", now.step, now.size, world,
               code == MPI_SUCCESS && all_wrong == 0 ? "right" : "WRONG");
    MPI_Finalize();
    return wrong != 0;
}
