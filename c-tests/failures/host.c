/* The two highest ranks are on a host that is lost while all exchange messages. */
#include "failures.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int one = 1, sum, code, rounds = 0;
    do {
        code = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (rank == 0 && rounds++ == 0)
            fprintf(stderr, "running\n");
    } while (code == MPI_SUCCESS);
    EXPECT_IS(class_of(code), MPIX_ERR_PROC_FAILED);
    /* A process of the lost host may live on until its launcher finds that it is alone. */
    if (rank >= size - 2)
        pause();
    MPI_Comm survivors;
    EXPECT_IS(MPIX_Comm_shrink(MPI_COMM_WORLD, &survivors), MPI_SUCCESS);
    check_works(survivors, size - 2);
    return end(survivors);
}
