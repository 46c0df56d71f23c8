/* A rank ends, and calls of the others on windows: creation, fences, post-start-complete-wait, and freeing. The
 * argument is the kind of memory. */
#include "window_make.h"

static MPI_Win win;
static long *memory;
static MPI_Aint bases[64];

/* A group of the world without some of its ranks. */
static MPI_Group without(int one, int other)
{
    MPI_Group all, rest;
    int ranks[2] = {one, other};
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_excl(all, one == other ? 1 : 2, ranks, &rest);
    MPI_Group_free(&all);
    return rest;
}

static void put(int target)
{
    long value = rank + 1;
    EXPECT_IS(MPI_Put(&value, 1, MPI_LONG, target, bases[target] + 8 * rank, 1, MPI_LONG, win),
              MPI_SUCCESS);
    /* Until the epoch ends. */
    usleep(1000);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const char *kind = argc > 1 ? argv[1] : "allocate";
    int last = size - 1, flag = -1;
    long *second_memory;
    MPI_Win second, made = MPI_WIN_NULL;
    EXPECT_IS(make_window(kind, MPI_COMM_WORLD, &memory, bases, &win), MPI_SUCCESS);
    EXPECT_IS(make_window(kind, MPI_COMM_WORLD, &second_memory, bases + 32, &second), MPI_SUCCESS);
    EXPECT_IS(MPI_Win_fence(0, win), MPI_SUCCESS);
    put((rank + 1) % size);
    EXPECT_IS(MPI_Win_fence(MPI_MODE_NOSUCCEED, win), MPI_SUCCESS);

    /* Rank 0 is the target of all others, and the last rank ends before it completes its epoch. */
    MPI_Group origins = without(0, 0), target;
    MPI_Group all;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, (int[]){0}, &target);
    if (rank == 0) {
        EXPECT_IS(MPI_Win_post(origins, 0, win), MPI_SUCCESS);
    } else {
        EXPECT_IS(MPI_Win_start(target, 0, win), MPI_SUCCESS);
        long value = 7;
        EXPECT_IS(MPI_Put(&value, 1, MPI_LONG, 0, bases[0] + 8 * rank, 1, MPI_LONG, win), MPI_SUCCESS);
        if (rank == last) {
            usleep(20000);
            die();
        }
        if (rank == 1)
            usleep(60000); /* Completes after the call of rank 0 has ended. */
        EXPECT_IS(MPI_Win_complete(win), MPI_SUCCESS);
    }
    if (rank == 0)
        EXPECT_IS(class_of(MPI_Win_wait(win)), MPIX_ERR_PROC_FAILED);
    MPI_Comm survivors;
    EXPECT_IS(MPIX_Comm_shrink(MPI_COMM_WORLD, &survivors), MPI_SUCCESS);
    EXPECT_IS(MPIX_Win_is_revoked(win, &flag), MPI_SUCCESS);
    EXPECT_IS(flag, 0);
    MPI_Group failed;
    int count = -1, which = -1, one = 0;
    EXPECT_IS(MPIX_Win_get_failed(win, &failed), MPI_SUCCESS);
    MPI_Group_size(failed, &count);
    MPI_Group_translate_ranks(failed, 1, &one, all, &which);
    EXPECT(count == 1 && which == last);

    /* All targets but the failed one have their epoch: the call that completes it tells of the failure. */
    if (rank == 0) {
        EXPECT_IS(MPI_Win_start(origins, 0, win), MPI_SUCCESS);
        for (int other = 1; other < last; other++)
            put(other);
        long value = 0;
        EXPECT_IS(class_of(MPI_Put(&value, 1, MPI_LONG, last, bases[last], 1, MPI_LONG, win)),
                  MPIX_ERR_PROC_FAILED);
        EXPECT_IS(class_of(MPI_Win_complete(win)), MPIX_ERR_PROC_FAILED);
    } else {
        EXPECT_IS(MPI_Win_post(target, 0, win), MPI_SUCCESS);
        EXPECT_IS(MPI_Win_wait(win), MPI_SUCCESS);
        EXPECT_IS(memory[0], 1);
    }
    /* Epochs of those that live. The late completion of rank 1 does not count for this one. */
    MPI_Group living = without(0, last);
    if (rank == 0) {
        memory[1] = 0;
        EXPECT_IS(MPI_Win_post(living, 0, win), MPI_SUCCESS);
        EXPECT_IS(MPI_Win_wait(win), MPI_SUCCESS);
        for (int other = 1; other < last; other++)
            EXPECT_IS(memory[other], other + 1);
    } else {
        EXPECT_IS(MPI_Win_start(target, 0, win), MPI_SUCCESS);
        usleep(20000);
        put(0);
        EXPECT_IS(MPI_Win_complete(win), MPI_SUCCESS);
    }

    /* What needs all ranks ends at all of them. */
    for (int i = 0; i < 3; i++)
        EXPECT_IS(class_of(MPI_Win_fence(0, win)), MPIX_ERR_PROC_FAILED);
    long *more;
    EXPECT_IS(class_of(make_window(kind, MPI_COMM_WORLD, &more, bases, &made)), MPIX_ERR_PROC_FAILED);
    EXPECT_IS(class_of(MPI_Win_free(&win)), MPIX_ERR_PROC_FAILED);
    EXPECT(win == MPI_WIN_NULL);
    /* In an epoch, too. */
    if (rank == 0)
        EXPECT_IS(MPI_Win_post(living, 0, second), MPI_SUCCESS);
    EXPECT_IS(class_of(MPI_Win_free(&second)), MPIX_ERR_PROC_FAILED);
    EXPECT(second == MPI_WIN_NULL);

    /* A window of those that live works, and ends. */
    MPI_Group_free(&origins);
    MPI_Group_free(&target);
    MPI_Group_free(&living);
    MPI_Group_free(&failed);
    MPI_Group_free(&all);
    int me, left;
    MPI_Comm_rank(survivors, &me);
    MPI_Comm_size(survivors, &left);
    EXPECT_IS(make_window(kind, survivors, &memory, bases, &win), MPI_SUCCESS);
    EXPECT_IS(MPI_Win_fence(0, win), MPI_SUCCESS);
    put((me + 1) % left);
    EXPECT_IS(MPI_Win_fence(0, win), MPI_SUCCESS);
    EXPECT(memory[(me + left - 1) % left] > 0);
    EXPECT_IS(MPI_Win_lock_all(0, win), MPI_SUCCESS);
    EXPECT_IS(MPI_Win_unlock_all(win), MPI_SUCCESS);
    EXPECT_IS(MPI_Win_free(&win), MPI_SUCCESS);
    check_works(survivors, size - 1);
    return end(survivors);
}
