/* MPI_Init_thread with MPI_THREAD_SINGLE, and NULL arguments: a program may start so, too. */
#include "check.h"

int main(void)
{
    int provided = -1, level = -1;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS)
        return 2;
    check_adopt();
    section("single");
    CHECK(provided >= MPI_THREAD_SINGLE && provided <= MPI_THREAD_MULTIPLE);
    MUST(MPI_Query_thread(&level));
    CHECK_EQUAL(level, provided);
    int right = (check_rank + 1) % check_size, got = -1;
    int left = (check_rank + check_size - 1) % check_size;
    MUST(MPI_Sendrecv(&check_rank, 1, MPI_INT, right, 1, &got, 1, MPI_INT, left, 1,
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_EQUAL(got, left);
    return check_end();
}
