/* MPI_ERRORS_ARE_FATAL is what a program starts with: the first error ends the job, with an
 * exit code that is not zero. */
#include "check.h"

int main(int argc, char **argv)
{
    int value = 0;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
    if (handler != MPI_ERRORS_ARE_FATAL)
        return 0;
    check_adopt();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    section("an error that is fatal");
    check_meet();
    if (check_rank == 0)
        MPI_Send(&value, -1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    else
        MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    section("this line is never reached");
    return 0;
}
