/* A window over processes of two jobs, of which one ends while it holds the lock of rank 0 or waits for it: the
 * others get the lock, whichever job they are of. Arguments: of which job the process is that ends (child, parent),
 * how it ends (held, queued, adding), and the memory (allocate, shared, create). Children are this program, too. */
#include "window_make.h"

enum { CHILDREN = 3, TIMES = 100 };

static MPI_Win win;
static int me, all_size;

/* Adds 1 to the number of rank 0 by two accesses, which only the lock makes one. */
static void count(int times)
{
    for (int i = 0; i < times; i++) {
        long value = -1;
        EXPECT_IS(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win), MPI_SUCCESS);
        EXPECT_IS(MPI_Get(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win), MPI_SUCCESS);
        EXPECT_IS(MPI_Win_flush(0, win), MPI_SUCCESS);
        value++;
        EXPECT_IS(MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win), MPI_SUCCESS);
        EXPECT_IS(MPI_Win_unlock(0, win), MPI_SUCCESS);
    }
}

/* Adds without an end to numbers of rank 0, until a signal ends this process. */
static void add_until_killed(void)
{
    static long ones[4096];
    die_in(30000);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    for (;;)
        MPI_Accumulate(ones, 4096, MPI_LONG, 0, 64, 4096, MPI_LONG, MPI_SUM, win);
}

static void lose(int lost, const char *way)
{
    if (me != lost)
        return;
    if (strcmp(way, "adding") == 0)
        add_until_killed();
    if (strcmp(way, "queued") == 0) {
        die_in(30000);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    }
    usleep(20000);
    die();
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm parents, between, all, survivors;
    long *memory;
    const char *who = argv[1], *way = argv[2], *kind = argv[3];
    MPI_Comm_get_parent(&parents);
    int is_child = parents != MPI_COMM_NULL;
    if (is_child)
        between = parents;
    else
        EXPECT_IS(MPI_Comm_spawn(argv[0], &argv[1], CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between,
                                 MPI_ERRCODES_IGNORE), MPI_SUCCESS);
    EXPECT_IS(MPI_Intercomm_merge(between, is_child, &all), MPI_SUCCESS);
    MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
    MPI_Comm_rank(all, &me);
    MPI_Comm_size(all, &all_size);
    int lost = strcmp(who, "child") == 0 ? all_size - 1 : all_size - CHILDREN - 1;
    int queued = strcmp(way, "queued") == 0;
    EXPECT_IS(make_window(kind, all, &memory, NULL, &win), MPI_SUCCESS);
    MPI_Barrier(all);
    if (me == (queued ? 0 : lost) && strcmp(way, "adding") != 0)
        EXPECT_IS(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win), MPI_SUCCESS);
    MPI_Barrier(all);
    lose(lost, way);
    if (me == 0 && queued) {
        usleep(60000);
        EXPECT_IS(MPI_Win_unlock(0, win), MPI_SUCCESS);
    }
    if (strcmp(way, "adding") == 0) {
        long one = 1;
        EXPECT_IS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPI_SUCCESS);
        for (int i = 0; i < 20; i++) {
            EXPECT_IS(MPI_Accumulate(&one, 1, MPI_LONG, 0, 8, 1, MPI_LONG, MPI_SUM, win), MPI_SUCCESS);
            EXPECT_IS(MPI_Win_flush(0, win), MPI_SUCCESS);
            usleep(5000);
        }
        EXPECT_IS(MPI_Win_unlock(0, win), MPI_SUCCESS);
    }
    count(TIMES);
    EXPECT_IS(MPIX_Comm_shrink(all, &survivors), MPI_SUCCESS);
    MPI_Comm_set_errhandler(survivors, MPI_ERRORS_RETURN);
    MPI_Barrier(survivors);
    long sum = -1;
    EXPECT_IS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPI_SUCCESS);
    EXPECT_IS(MPI_Get(&sum, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win), MPI_SUCCESS);
    EXPECT_IS(MPI_Win_flush(0, win), MPI_SUCCESS);
    EXPECT_IS(sum, (long)TIMES * (all_size - 1));
    EXPECT_IS(MPI_Win_unlock(0, win), MPI_SUCCESS);
    EXPECT_IS(class_of(MPI_Win_lock(MPI_LOCK_SHARED, lost, 0, win)), MPIX_ERR_PROC_FAILED);
    MPI_Barrier(survivors);
    EXPECT_IS(class_of(MPI_Win_free(&win)), MPIX_ERR_PROC_FAILED);
    check_works(survivors, all_size - 1);
    return end(survivors);
}
