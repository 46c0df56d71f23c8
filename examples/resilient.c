/*
 * Loses ranks at random steps, and ends with the right result all the same.
 *
 * A table of cells is distributed over the ranks. Each step changes every cell, and every rank keeps a copy of
 * the table of its right neighbor as of the last checkpoint. When a rank fails, the others shrink the
 * communicator, spawn another process in its place, go back to the last checkpoint, distribute all cells
 * anew, and go on.
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

/* The processes at the start, and how often one may have failed. */
static int wanted, attempt;

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
    /* What a process that was spawned does not know. */
    int here[3] = {saved.step, wanted, attempt}, known[3];
    if (!all_succeeded(MPI_Allreduce(here, known, 3, MPI_INT, MPI_MAX, now.comm)))
        return 0;
    now.step = known[0], wanted = known[1], attempt = known[2];
    memcpy(now.cells, all + now.first, now.count * sizeof *all);
    return save();
}

/* Merges survivors, or spawned processes, which are those of `own`, with the others. 0 if a process has
 * failed meanwhile; all know that. */
static int merge(MPI_Comm between, MPI_Comm own, int high)
{
    MPI_Comm all;
    MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN);
    int code = MPI_Intercomm_merge(between, high, &all);
    int here = code == MPI_SUCCESS, there = here;
    MPIX_Comm_agree(own, &here);
    MPIX_Comm_agree(between, &there);
    MPI_Comm_free(&between);
    if (here && there)
        join(all);
    else if (code == MPI_SUCCESS)
        MPI_Comm_free(&all);
    return here && there;
}

/* Spawns processes in the places of those that have failed. 0 if another one has failed meanwhile. */
static int replace(char **argv)
{
    MPI_Comm between, survivors = now.comm;
    int missing = wanted - now.size;
    if (missing == 0)
        return 1;
    int code = MPI_Comm_spawn(argv[0], argv + 1, missing, MPI_INFO_NULL, 0, survivors, &between,
                              MPI_ERRCODES_IGNORE);
    int good = code == MPI_SUCCESS;
    MPIX_Comm_agree(survivors, &good);
    if (!good) {
        if (code == MPI_SUCCESS) {
            MPIX_Comm_revoke(between);
            MPI_Comm_free(&between);
        }
        return 0;
    }
    if (!merge(between, survivors, 0))
        return 0;
    if (survivors != MPI_COMM_WORLD)
        MPI_Comm_free(&survivors);
    return 1;
}

/* Replaces the communicator by one without failed ranks. */
static void shrink(void)
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
    MPI_Comm parents;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parents);
    int seed = argc > 1 ? atoi(argv[1]) : 1, good;
    join(MPI_COMM_WORLD);
    if (parents == MPI_COMM_NULL) {
        wanted = now.size;
        for (int cell = 0; cell < now.count; cell++)
            now.cells[cell] = now.first + cell;
        good = save();
    } else {
        if (!merge(parents, MPI_COMM_WORLD, 1)) {
            /* The survivors spawn others. */
            MPI_Finalize();
            return 0;
        }
        good = restore();
    }
    while (!good || now.step < STEPS) {
        if (!good) {
            shrink();
            good = replace(argv) && restore();
            continue;
        }
        maybe_die(seed, attempt++);
        good = all_succeeded(compute());
        if (good && ++now.step % CHECKPOINT_STEPS == 0)
            good = save();
    }
    int wrong = 0, all_wrong = 0, spawned = parents != MPI_COMM_NULL, all_spawned = 0;
    for (int cell = 0; cell < now.count; cell++)
        wrong += now.cells[cell] != expected(now.first + cell, STEPS);
    MPI_Allreduce(&spawned, &all_spawned, 1, MPI_INT, MPI_SUM, now.comm);
    int code = MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, now.comm);
    if (now.rank == 0)
        printf("%d steps on %d ranks, of which %d were spawned: the result is %s\n", now.step, now.size,
               all_spawned, code == MPI_SUCCESS && all_wrong == 0 ? "right" : "WRONG");
    MPI_Finalize();
    return wrong != 0;
}
