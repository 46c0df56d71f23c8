/* Agreements with a member that ends: before, during and after; blocking and not. */
#include "failures.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int victim = argc > 1 ? atoi(argv[1]) % size : 0, flag = 0xff & ~(1 << rank);
    EXPECT_IS(MPIX_Comm_agree(MPI_COMM_WORLD, &flag), MPI_SUCCESS);
    EXPECT_IS(flag, 0xff & ~((1 << size) - 1));
    if (rank == victim)
        die();
    flag = rank == 1 ? 0xf0 : 0xff;
    /* The failure may be known to none, to some or to all. */
    int code = class_of(MPIX_Comm_agree(MPI_COMM_WORLD, &flag));
    EXPECT(code == MPI_SUCCESS || code == MPIX_ERR_PROC_FAILED);
    EXPECT(flag == 0xf0 || (victim == 1 && flag == 0xff));
    while (code != MPIX_ERR_PROC_FAILED)
        code = class_of(MPIX_Comm_agree(MPI_COMM_WORLD, &flag));
    EXPECT_IS(MPIX_Comm_failure_ack(MPI_COMM_WORLD), MPI_SUCCESS);
    flag = 3;
    EXPECT_IS(MPIX_Comm_agree(MPI_COMM_WORLD, &flag), MPI_SUCCESS);
    EXPECT_IS(flag, 3);

    MPI_Request requests[2];
    MPI_Comm survivors;
    flag = 5;
    EXPECT_IS(MPIX_Comm_iagree(MPI_COMM_WORLD, &flag, &requests[0]), MPI_SUCCESS);
    EXPECT_IS(MPIX_Comm_ishrink(MPI_COMM_WORLD, &survivors, &requests[1]), MPI_SUCCESS);
    EXPECT_IS(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_IS(flag, 5);
    check_works(survivors, size - 1);
    return end(survivors);
}
