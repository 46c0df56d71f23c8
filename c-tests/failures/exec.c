/* A rank leaves MPI by running another program, which lives for a second: for the others it has failed, and the
 * job waits for its end. */
#include "failures.h"

int main(int argc, char **argv)
{
    MPI_Comm next;
    begin(&argc, &argv);
    /* All others have left the barrier when it goes: else it would fail for them, too. */
    int number = 0;
    if (rank == size - 1) {
        MPI_Barrier(MPI_COMM_WORLD);
        for (int other = 0; other < size - 1; other++)
            MPI_Recv(&number, 1, MPI_INT, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        execlp("sh", "sh", "-c", "sleep 1; echo the other program has ended", (char *)NULL);
        _exit(9);
    }
    EXPECT_IS(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
    EXPECT_IS(MPI_Send(&number, 1, MPI_INT, size - 1, 2, MPI_COMM_WORLD), MPI_SUCCESS);
    int code = MPI_Recv(&number, 1, MPI_INT, size - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT_IS(class_of(code), MPIX_ERR_PROC_FAILED);
    EXPECT_IS(MPIX_Comm_shrink(MPI_COMM_WORLD, &next), MPI_SUCCESS);
    check_works(next, size - 1);
    return end(next);
}
