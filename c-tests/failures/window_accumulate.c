/* Rank 1 ends in an accumulate on memory of rank 0: accumulates of the others go on. The argument is the kind of
 * memory. */
#include "window_make.h"

enum { COUNT = 60000 };

static long operand[COUNT], found[COUNT];

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const char *kind = argc > 1 ? argv[1] : "allocate";
    long *memory, one = 1, old = -1;
    MPI_Aint bases[64];
    MPI_Win win;
    EXPECT_IS(make_window(kind, MPI_COMM_WORLD, &memory, bases, &win), MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_IS(MPI_Win_lock_all(0, win), MPI_SUCCESS);
    if (rank == 1) {
        die_in(30000);
        for (;;) {
            MPI_Accumulate(operand, COUNT, MPI_LONG, 0, bases[0], COUNT, MPI_LONG, MPI_SUM, win);
            MPI_Win_flush(0, win);
        }
    }
    /* Each operation finds what the one before it of this rank has left, or more. */
    for (int i = 0; i < 50; i++) {
        long before = old;
        EXPECT_IS(MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, bases[0], MPI_SUM, win), MPI_SUCCESS);
        EXPECT_IS(MPI_Win_flush(0, win), MPI_SUCCESS);
        EXPECT(old > before);
        EXPECT_IS(MPI_Get_accumulate(NULL, 0, MPI_LONG, found, COUNT, MPI_LONG, 0, bases[0], COUNT, MPI_LONG,
                                     MPI_NO_OP, win),
                  MPI_SUCCESS);
        EXPECT_IS(MPI_Win_flush(0, win), MPI_SUCCESS);
        EXPECT(found[0] > old && found[COUNT - 1] == 0);
        usleep(1000);
    }
    MPI_Comm survivors;
    EXPECT_IS(MPIX_Comm_shrink(MPI_COMM_WORLD, &survivors), MPI_SUCCESS);
    EXPECT_IS(MPI_Compare_and_swap(&one, &one, &old, MPI_LONG, 0, bases[0] + 8, win), MPI_SUCCESS);
    EXPECT_IS(MPI_Win_flush(0, win), MPI_SUCCESS);
    EXPECT_IS(old, 0);
    EXPECT_IS(class_of(MPI_Win_unlock_all(win)), MPIX_ERR_PROC_FAILED);
    EXPECT_IS(class_of(MPI_Win_free(&win)), MPIX_ERR_PROC_FAILED);
    check_works(survivors, size - 1);
    return end(survivors);
}
