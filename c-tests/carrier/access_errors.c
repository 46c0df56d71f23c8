/* Puts of which the transport loses one: the flush after it says so, and all others are made. With FATAL, errors end the
 * job, with their sentences. */
#include "../rma.h"

enum { COUNT = 40, EACH = 20000 };

int main(int argc, char **argv)
{
    unsigned char *sent, *base;
    int errors = 0, wrong = 0;
    MPI_Win win;
    check_start(&argc, &argv);
    int right = (check_rank + 1) % check_size;
    sent = take(EACH);
    MUST(MPI_Win_allocate((MPI_Aint)COUNT * EACH, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    MUST(MPI_Win_set_errhandler(win, getenv("FATAL") ? MPI_ERRORS_ARE_FATAL : MPI_ERRORS_RETURN));
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
    for (int index = 0; index < COUNT; index++) {
        int class, code;
        memset(sent, 1 + index, EACH);
        MUST(MPI_Put(sent, EACH, MPI_BYTE, right, (MPI_Aint)index * EACH, EACH, MPI_BYTE, win));
        code = MPI_Win_flush(right, win);
        MUST(MPI_Error_class(code, &class));
        if (class != MPI_SUCCESS)
            CHECK_EQUAL(class, MPI_ERR_OTHER);
        errors += class != MPI_SUCCESS;
    }
    MUST(MPI_Win_unlock(right, win));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win));
    for (int index = 0; index < COUNT; index++)
        wrong += base[index * EACH + EACH - 1] != 1 + index;
    MUST(MPI_Win_unlock(check_rank, win));
    CHECK_EQUAL(errors, 1);
    CHECK_EQUAL(wrong, 1);
    MUST(MPI_Win_free(&win));
    free(sent);
    return check_end();
}
