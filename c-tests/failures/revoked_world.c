/* A job ends well after MPI_COMM_WORLD was revoked, also without the option for failures. */
#include "failures.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm rest;
    MPI_Comm_dup(MPI_COMM_WORLD, &rest);
    MPI_Comm_set_errhandler(rest, MPI_ERRORS_RETURN);
    /* All have the other communicator before this one is of no use. */
    MPI_Barrier(rest);
    if (rank == size - 1)
        EXPECT_IS(MPIX_Comm_revoke(MPI_COMM_WORLD), MPI_SUCCESS);
    /* Some learn of it in a call, the others in MPI_Finalize. */
    if (rank % 2) {
        int is_revoked = 0;
        while (!is_revoked)
            EXPECT_IS(MPIX_Comm_is_revoked(MPI_COMM_WORLD, &is_revoked), MPI_SUCCESS);
        EXPECT_IS(class_of(MPI_Barrier(MPI_COMM_WORLD)), MPIX_ERR_REVOKED);
    }
    return end(rest);
}
