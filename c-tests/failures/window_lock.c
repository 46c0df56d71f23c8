/* Rank 1 ends while it holds locks of rank 0 or waits for one: the others get these locks, and locks of rank 1
 * are errors. Arguments: how rank 1 ends (held, shared, queued, all), and the memory (allocate, shared, create,
 * dynamic). */
#include "window_make.h"

static MPI_Win win;
static long *memory;
static MPI_Aint base, bases[64];

/* Adds 1 to the number of rank 0 by two accesses, which only the lock makes one. */
static void count(int times)
{
    for (int i = 0; i < times; i++) {
        long value = -1;
        EXPECT_IS(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win), MPI_SUCCESS);
        EXPECT_IS(MPI_Get(&value, 1, MPI_LONG, 0, base, 1, MPI_LONG, win), MPI_SUCCESS);
        EXPECT_IS(MPI_Win_flush(0, win), MPI_SUCCESS);
        value++;
        EXPECT_IS(MPI_Put(&value, 1, MPI_LONG, 0, base, 1, MPI_LONG, win), MPI_SUCCESS);
        EXPECT_IS(MPI_Win_unlock(0, win), MPI_SUCCESS);
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const char *way = argc > 1 ? argv[1] : "held", *kind = argc > 2 ? argv[2] : "allocate";
    int queued = strcmp(way, "queued") == 0, all = strcmp(way, "all") == 0, held = 0;
    int type = strcmp(way, "shared") == 0 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE;
    EXPECT_IS(make_window(kind, MPI_COMM_WORLD, &memory, bases, &win), MPI_SUCCESS);
    base = bases[0];
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0 && queued) {
        EXPECT_IS(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win), MPI_SUCCESS);
        held = 1;
    }
    if (rank == 1 && !queued) {
        if (all)
            EXPECT_IS(MPI_Win_lock_all(0, win), MPI_SUCCESS);
        else
            EXPECT_IS(MPI_Win_lock(type, 0, 0, win), MPI_SUCCESS);
        if (all || type == MPI_LOCK_EXCLUSIVE) {
            long zero = 0;
            MPI_Put(&zero, 1, MPI_LONG, 0, base, 1, MPI_LONG, win);
            MPI_Win_flush(0, win);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        if (queued) {
            /* This process ends while it waits. */
            die_in(30000);
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        }
        usleep(20000);
        die();
    }
    if (held) {
        usleep(60000);
        EXPECT_IS(MPI_Win_unlock(0, win), MPI_SUCCESS);
    }
    count(100);
    MPI_Comm survivors;
    EXPECT_IS(MPIX_Comm_shrink(MPI_COMM_WORLD, &survivors), MPI_SUCCESS);
    MPI_Barrier(survivors);
    long sum = -1;
    EXPECT_IS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPI_SUCCESS);
    EXPECT_IS(MPI_Get(&sum, 1, MPI_LONG, 0, base, 1, MPI_LONG, win), MPI_SUCCESS);
    EXPECT_IS(MPI_Win_flush(0, win), MPI_SUCCESS);
    EXPECT_IS(sum, 100L * (size - 1));
    EXPECT_IS(MPI_Win_unlock(0, win), MPI_SUCCESS);
    /* Locks of the rank that failed, alone and with others. */
    EXPECT_IS(class_of(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win)), MPIX_ERR_PROC_FAILED);
    EXPECT_IS(class_of(MPI_Win_unlock(1, win)), MPI_ERR_RMA_SYNC);
    EXPECT_IS(MPI_Win_lock_all(0, win), MPI_SUCCESS);
    EXPECT_IS(class_of(MPI_Put(&sum, 1, MPI_LONG, 1, base, 1, MPI_LONG, win)),
              MPIX_ERR_PROC_FAILED);
    EXPECT_IS(class_of(MPI_Win_flush(1, win)), MPIX_ERR_PROC_FAILED);
    EXPECT_IS(class_of(MPI_Win_flush_all(win)), MPIX_ERR_PROC_FAILED);
    EXPECT_IS(MPI_Win_flush(0, win), MPI_SUCCESS);
    EXPECT_IS(class_of(MPI_Win_unlock_all(win)), MPIX_ERR_PROC_FAILED);
    MPI_Barrier(survivors);
    /* All locks have ended. */
    EXPECT_IS(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win), MPI_SUCCESS);
    EXPECT_IS(MPI_Win_unlock(rank, win), MPI_SUCCESS);
    count(1);
    EXPECT_IS(class_of(MPI_Win_free(&win)), MPIX_ERR_PROC_FAILED);
    EXPECT(win == MPI_WIN_NULL);
    check_works(survivors, size - 1);
    return end(survivors);
}
