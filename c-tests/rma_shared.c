/* Windows of shared memory: the memory of each rank as the others see it, contiguous or not, sizes
 * and units that differ, ranks without memory, loads and stores beside operations, alignment, queries
 * of other kinds of windows, communicators of some ranks. */
#include "rma.h"

static MPI_Comm host;
static int host_rank, host_size;

static MPI_Win shared(MPI_Aint bytes, int unit, const char *key, const char *value, void *base)
{
    MPI_Info info = MPI_INFO_NULL;
    MPI_Win win;
    if (key != NULL) {
        MUST(MPI_Info_create(&info));
        MUST(MPI_Info_set(info, key, value));
    }
    MUST(MPI_Win_allocate_shared(bytes, unit, info, host, base, &win));
    MUST(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    if (info != MPI_INFO_NULL)
        MUST(MPI_Info_free(&info));
    return win;
}

/* Each rank stores in its own part, and reads all others; contiguous unless told otherwise. */
static void parts(int is_apart)
{
    enum { EACH = 13 };
    int *own = NULL, *first = NULL, *last = NULL;
    MPI_Win win = shared(EACH * sizeof(int), sizeof(int), "alloc_shared_noncontig",
                         is_apart ? "true" : "false", &own);
    MUST(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    for (int index = 0; index < EACH; index++)
        own[index] = 100 * host_rank + index;
    MUST(MPI_Win_sync(win));
    MUST(MPI_Barrier(host));
    MUST(MPI_Win_sync(win));
    for (int rank = 0; rank < host_size; rank++) {
        MPI_Aint size = -1;
        int unit = -1, *theirs = NULL;
        MUST(MPI_Win_shared_query(win, rank, &size, &unit, &theirs));
        CHECK(size == EACH * sizeof(int) && unit == sizeof(int));
        for (int index = 0; index < EACH; index++)
            CHECK_EQUAL(theirs[index], 100 * rank + index);
        if (rank == 0)
            first = theirs;
        CHECK(is_apart || theirs == first + rank * EACH);
        if (rank == host_rank)
            CHECK(theirs == own);
        last = theirs;
    }
    MPI_Aint size = -1, large_unit = -1;
    int unit = -1, *null = NULL;
    MUST(MPI_Win_shared_query(win, MPI_PROC_NULL, &size, &unit, &null));
    CHECK(null == first && size == EACH * sizeof(int) && unit == sizeof(int));
    MUST(MPI_Win_shared_query_c(win, host_size - 1, &size, &large_unit, &null));
    CHECK(null == last && large_unit == sizeof(int));
    MUST(MPI_Barrier(host));
    /* What others store in this rank's memory. */
    int right = (host_rank + 1) % host_size, left = (host_rank + host_size - 1) % host_size;
    MUST(MPI_Win_shared_query(win, right, &size, &unit, &null));
    null[0] = 7000 + host_rank;
    MUST(MPI_Win_sync(win));
    MUST(MPI_Barrier(host));
    MUST(MPI_Win_sync(win));
    CHECK_EQUAL(own[0], 7000 + left);
    MUST(MPI_Win_unlock_all(win));
    MUST(MPI_Win_free(&win));
}

/* One table of a host: all memory is of one rank. */
static void table(void)
{
    enum { COUNT = 5000 };
    int owner = host_size - 1;
    MPI_Aint bytes = host_rank == owner ? COUNT * (MPI_Aint)sizeof(double) : 0, size = -1;
    double *own, *all = NULL, *lowest = NULL;
    int unit = -1, wrong = 0, *model, flag;
    MPI_Win win = shared(bytes, sizeof(double), NULL, NULL, &own);
    MUST(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &model, &flag));
    CHECK(flag && *model == MPI_WIN_FLAVOR_SHARED);
    MUST(MPI_Win_shared_query(win, owner, &size, &unit, &all));
    CHECK(size == COUNT * sizeof(double) && unit == sizeof(double));
    /* The lowest rank with memory. */
    MUST(MPI_Win_shared_query(win, MPI_PROC_NULL, &size, &unit, &lowest));
    CHECK(lowest == all && size == COUNT * sizeof(double));
    MUST(MPI_Win_fence(0, win));
    for (int index = host_rank; index < COUNT; index += host_size)
        all[index] = index / 2.0;
    MUST(MPI_Win_fence(0, win));
    for (int index = 0; index < COUNT; index++)
        wrong += all[index] != index / 2.0;
    CHECK_EQUAL(wrong, 0);
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Win_free(&win));
}

/* Sizes and units that differ: a part begins where the one before ends. */
static void uneven(void)
{
    MPI_Aint bytes = 8 * (host_rank % 3), size;
    int units[3] = {1, 2, 8}, unit;
    char *own, *before = NULL, *part;
    MPI_Win win = shared(bytes, units[host_rank % 3], NULL, NULL, &own);
    for (int rank = 0; rank < host_size; rank++) {
        MUST(MPI_Win_shared_query(win, rank, &size, &unit, &part));
        CHECK_EQUAL(size, 8 * (rank % 3));
        CHECK_EQUAL(unit, units[rank % 3]);
        if (before != NULL && size > 0)
            CHECK(part == before);
        if (size > 0)
            before = part + size;
    }
    MUST(MPI_Win_free(&win));
}

/* Operations and loads see the same memory. */
static void operations(void)
{
    int64_t *own, *first, found = -1, one = 1;
    MPI_Aint size;
    int unit;
    MPI_Win win = shared(2 * sizeof *own, sizeof *own, NULL, NULL, &own);
    own[0] = own[1] = 0;
    MUST(MPI_Win_shared_query(win, 0, &size, &unit, &first));
    MUST(MPI_Barrier(host));
    MUST(MPI_Win_lock_all(0, win));
    for (int round = 0; round < 20; round++)
        MUST(MPI_Accumulate(&one, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, MPI_SUM, win));
    MUST(MPI_Win_flush_all(win));
    MUST(MPI_Win_sync(win));
    MUST(MPI_Barrier(host));
    MUST(MPI_Win_sync(win));
    CHECK_EQUAL(first[0], 20 * host_size);
    MUST(MPI_Barrier(host));
    if (host_rank == host_size - 1)
        first[1] = 99;
    MUST(MPI_Win_sync(win));
    MUST(MPI_Barrier(host));
    MUST(MPI_Get(&found, 1, MPI_INT64_T, 0, 1, 1, MPI_INT64_T, win));
    MUST(MPI_Win_flush(0, win));
    CHECK_EQUAL(found, 99);
    MUST(MPI_Win_unlock_all(win));
    MUST(MPI_Barrier(host));
    MUST(MPI_Win_free(&win));
}

static void alignment(void)
{
    char *own, *allocated;
    MPI_Win win = shared(64, 1, "mpi_minimum_memory_alignment", "256", &own);
    CHECK_STRICTLY((uintptr_t)own % (host_rank == 0 ? 256 : 1) == 0);
    MUST(MPI_Win_free(&win));
    MPI_Info info;
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "mpi_minimum_memory_alignment", "4096"));
    MUST(MPI_Win_allocate(24, 1, info, MPI_COMM_WORLD, &allocated, &win));
    MUST(MPI_Info_free(&info));
    CHECK_STRICTLY((uintptr_t)allocated % 4096 == 0);
    MUST(MPI_Win_free(&win));
}

/* Memory that is not shared, as the query tells of other kinds, has size 0, or it can be loaded. */
static void queries(void)
{
    int memory[4] = {1, 2, 3, 4}, unit = -1;
    MPI_Aint size = -1;
    int *theirs = NULL, *allocated;
    MPI_Win win;
    if (!check_strict())
        return;
    MUST(MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MUST(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    for (int rank = 0; rank < check_size; rank++) {
        MUST(MPI_Win_shared_query(win, rank, &size, &unit, &theirs));
        CHECK(size == 0 || (theirs[0] == 1 && size == sizeof memory));
    }
    MUST_FAIL(MPI_Win_shared_query(win, check_size, &size, &unit, &theirs), MPI_ERR_RANK);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Win_free(&win));
    MUST(MPI_Win_allocate(sizeof(int), 4, MPI_INFO_NULL, MPI_COMM_WORLD, &allocated, &win));
    *allocated = 40 + check_rank;
    MUST(MPI_Win_fence(0, win));
    for (int rank = 0; rank < check_size; rank++) {
        MUST(MPI_Win_shared_query(win, rank, &size, &unit, &theirs));
        CHECK(size == 0 || (size == sizeof(int) && unit == 4 && *theirs == 40 + rank));
    }
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Win_free(&win));
    MUST(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MUST(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    int code = MPI_Win_shared_query(win, 0, &size, &unit, &theirs);
    CHECK(code == MPI_SUCCESS ? size == 0 : check_class(code) == MPI_ERR_RMA_FLAVOR);
    MUST(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    int possible = kind_possible(SHARED);
    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -check_rank, MPI_INFO_NULL,
                             &host));
    MUST(MPI_Comm_set_errhandler(host, MPI_ERRORS_RETURN));
    MUST(MPI_Comm_rank(host, &host_rank));
    MUST(MPI_Comm_size(host, &host_size));
    section("shared memory");
    if (possible) {
        parts(0);
        parts(1);
        table();
        uneven();
        operations();
        alignment();
    }
    section("queries of other windows");
    queries();
    MUST(MPI_Comm_free(&host));
    return check_end();
}
