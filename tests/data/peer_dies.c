/* Rank 1 of two dies without a word. Each call of rank 0 that needs it returns an error, of which rank 0
 * prints a line. */
#include <mpi.h>
#include <mpi-ext.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static void say(const char *call, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "no error";
    int class = MPI_SUCCESS, length;
    if (code != MPI_SUCCESS) {
        MPI_Error_class(code, &class);
        MPI_Error_string(code, text, &length);
    }
    printf("%s: %s\n", call, class == MPIX_ERR_PROC_FAILED || class == MPI_ERR_IN_STATUS ? text : "wrong class");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    int rank, number = 0, over = 0, code;
    MPI_Request requests[2], parts[2];
    MPI_Status statuses[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Recv(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        raise(SIGKILL);
    }
    MPI_Irecv(&number, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &requests[1]);
    MPI_Precv_init(&number, 1, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &parts[0]);
    MPI_Psend_init(&number, 1, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &parts[1]);
    MPI_Start(&parts[0]);
    MPI_Send(&number, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    say("receive", MPI_Recv(&number, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    code = MPI_Waitall(2, requests, statuses);
    say("one of all", code == MPI_ERR_IN_STATUS ? statuses[0].MPI_ERROR : MPI_SUCCESS);
    say("any source", code == MPI_ERR_IN_STATUS ? statuses[1].MPI_ERROR : MPI_SUCCESS);
    MPI_Irecv(&number, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &requests[0]);
    do
        code = MPI_Test(&requests[0], &over, MPI_STATUS_IGNORE);
    while (code == MPI_SUCCESS && !over);
    say("test", code);
    say("send", MPI_Send(&number, 1, MPI_INT, 1, 3, MPI_COMM_WORLD));
    say("partitioned receive", MPI_Wait(&parts[0], MPI_STATUS_IGNORE));
    MPI_Startall(2, parts);
    say("its next start", MPI_Wait(&parts[0], MPI_STATUS_IGNORE));
    MPI_Pready(0, parts[1]);
    say("partitioned send", MPI_Wait(&parts[1], MPI_STATUS_IGNORE));
    say("barrier", MPI_Barrier(MPI_COMM_WORLD));
    _exit(0);
}
