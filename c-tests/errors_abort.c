/* MPI_ERRORS_ABORT: an error ends the job. */
#include "check.h"

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    section("an error that aborts");
    check_meet();
    MUST(MPI_Comm_set_errhandler(check_comm, MPI_ERRORS_ABORT));
    if (check_rank == check_size - 1)
        MPI_Send(NULL, -1, MPI_INT, 0, 1, check_comm);
    else
        MPI_Recv(NULL, 0, MPI_INT, check_size - 1, 1, check_comm, MPI_STATUS_IGNORE);
    return check_end();
}
