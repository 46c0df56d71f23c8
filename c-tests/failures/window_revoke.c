/* A rank revokes a window: calls of all ranks on it end, those on another window go on. Arguments: the kind of
 * memory, and "die" if the rank that revokes ends at once. */
#include "window_make.h"

static MPI_Win win, other;
static long *memory, *other_memory;
static MPI_Aint bases[64], other_bases[64];

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const char *kind = argc > 1 ? argv[1] : "allocate";
    int dies = argc > 2 && strcmp(argv[2], "die") == 0, flag = -1;
    long value = 3;
    EXPECT_IS(make_window(kind, MPI_COMM_WORLD, &memory, bases, &win), MPI_SUCCESS);
    EXPECT_IS(make_window(kind, MPI_COMM_WORLD, &other_memory, other_bases, &other), MPI_SUCCESS);
    MPI_Group all, first;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, (int[]){0}, &first);
    EXPECT_IS(MPIX_Win_is_revoked(win, &flag), MPI_SUCCESS);
    EXPECT_IS(flag, 0);
    if (rank == 0)
        EXPECT_IS(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win), MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    /* Each rank waits in another call. */
    if (rank == 0) {
        usleep(50000);
        EXPECT_IS(MPIX_Win_revoke(win), MPI_SUCCESS);
        if (dies)
            die();
        EXPECT_IS(MPIX_Win_revoke(win), MPI_SUCCESS);
    } else if (rank == 1) {
        EXPECT_IS(class_of(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win)), MPIX_ERR_REVOKED);
    } else if (rank == 2) {
        EXPECT_IS(class_of(MPI_Win_fence(0, win)), MPIX_ERR_REVOKED);
    } else if (rank == 3) {
        EXPECT_IS(MPI_Win_post(first, 0, win), MPI_SUCCESS);
        EXPECT_IS(class_of(MPI_Win_wait(win)), MPIX_ERR_REVOKED);
    } else {
        int code = MPI_Win_start(first, 0, win);
        EXPECT_IS(class_of(code), MPIX_ERR_REVOKED);
    }
    /* And all calls that follow. */
    EXPECT_IS(class_of(MPI_Put(&value, 1, MPI_LONG, rank, bases[rank], 1, MPI_LONG, win)), MPIX_ERR_REVOKED);
    EXPECT_IS(class_of(MPI_Get(&value, 1, MPI_LONG, rank, bases[rank], 1, MPI_LONG, win)), MPIX_ERR_REVOKED);
    EXPECT_IS(class_of(MPI_Accumulate(&value, 1, MPI_LONG, rank, bases[rank], 1, MPI_LONG, MPI_SUM, win)),
              MPIX_ERR_REVOKED);
    EXPECT_IS(class_of(MPI_Fetch_and_op(&value, &value, MPI_LONG, rank, bases[rank], MPI_NO_OP, win)),
              MPIX_ERR_REVOKED);
    EXPECT_IS(class_of(MPI_Win_fence(0, win)), MPIX_ERR_REVOKED);
    EXPECT_IS(class_of(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win)), MPIX_ERR_REVOKED);
    EXPECT_IS(class_of(MPI_Win_lock_all(0, win)), MPIX_ERR_REVOKED);
    EXPECT_IS(class_of(MPI_Win_unlock(0, win)), MPIX_ERR_REVOKED);
    EXPECT_IS(class_of(MPI_Win_unlock_all(win)), MPIX_ERR_REVOKED);
    EXPECT_IS(class_of(MPI_Win_flush(0, win)), MPIX_ERR_REVOKED);
    EXPECT_IS(class_of(MPI_Win_flush_local_all(win)), MPIX_ERR_REVOKED);
    EXPECT_IS(class_of(MPI_Win_sync(win)), MPIX_ERR_REVOKED);
    EXPECT_IS(class_of(MPI_Win_post(first, 0, win)), MPIX_ERR_REVOKED);
    EXPECT_IS(class_of(MPI_Win_start(first, 0, win)), MPIX_ERR_REVOKED);
    EXPECT_IS(class_of(MPI_Win_complete(win)), MPIX_ERR_REVOKED);
    EXPECT_IS(class_of(MPI_Win_wait(win)), MPIX_ERR_REVOKED);
    EXPECT_IS(class_of(MPI_Win_test(win, &flag)), MPIX_ERR_REVOKED);
    EXPECT_IS(MPIX_Win_is_revoked(win, &flag), MPI_SUCCESS);
    EXPECT_IS(flag, 1);
    MPI_Group group;
    EXPECT_IS(MPI_Win_get_group(win, &group), MPI_SUCCESS);
    MPI_Group_free(&group);
    MPI_Comm survivors;
    EXPECT_IS(MPIX_Comm_shrink(MPI_COMM_WORLD, &survivors), MPI_SUCCESS);
    /* Freeing needs no other rank: here, each waits for the one before it. */
    int me, left, before;
    MPI_Comm_rank(survivors, &me);
    MPI_Comm_size(survivors, &left);
    if (me > 0)
        MPI_Recv(&before, 1, MPI_INT, me - 1, 5, survivors, MPI_STATUS_IGNORE);
    int freed = class_of(MPI_Win_free(&win));
    EXPECT_IS(freed, dies ? MPIX_ERR_PROC_FAILED : MPI_SUCCESS);
    EXPECT(win == MPI_WIN_NULL);
    if (me < left - 1)
        MPI_Send(&me, 1, MPI_INT, me + 1, 5, survivors);
    EXPECT_IS(MPIX_Win_is_revoked(other, &flag), MPI_SUCCESS);
    EXPECT_IS(flag, 0);
    if (!dies) {
        EXPECT_IS(MPI_Win_fence(0, other), MPI_SUCCESS);
        EXPECT_IS(MPI_Put(&value, 1, MPI_LONG, 0, other_bases[0] + 8 * rank, 1, MPI_LONG, other), MPI_SUCCESS);
        EXPECT_IS(MPI_Win_fence(0, other), MPI_SUCCESS);
    }
    EXPECT_IS(class_of(MPI_Win_free(&other)), dies ? MPIX_ERR_PROC_FAILED : MPI_SUCCESS);
    MPI_Group_free(&all);
    MPI_Group_free(&first);
    check_works(survivors, dies ? size - 1 : size);
    return end(survivors);
}
