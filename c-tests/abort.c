/* MPI_Abort from the last rank ends all ranks, also ranks that wait for a message that never
 * comes, and its code is the exit code of the job. This program is expected to exit with 42. */
#include "check.h"

int main(int argc, char **argv)
{
    int never = 0;
    check_start(&argc, &argv);
    section("abort with 42");
    check_meet();
    if (check_rank == check_size - 1)
        MPI_Abort(MPI_COMM_WORLD, 42);
    MPI_Recv(&never, 1, MPI_INT, check_size - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    section("this line is never reached");
    return 0;
}
