/* Rank 1 dies without a word after the first round of a partitioned operation with rank 0, which is the sender
 * or the receiver of it, as told. What rank 0 waits for then must end with an error. Rank 1 stops the launcher,
 * which would end the job, and rank 0 lets it continue.
 *
 *   mpirun -n 2 partner_dies sender|receiver */
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PARTITIONS = 4, COUNT = 5000 };

static char bytes[PARTITIONS * COUNT];

int main(int argc, char **argv)
{
    int rank, length, class = MPI_SUCCESS;
    char text[MPI_MAX_ERROR_STRING] = "success";
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int sends = (strcmp(argv[argc - 1], "sender") == 0) == (rank == 0);
    if (sends)
        MPI_Psend_init(bytes, PARTITIONS, COUNT, MPI_BYTE, 1 - rank, 3, MPI_COMM_WORLD,
                       MPI_INFO_NULL, &request);
    else
        MPI_Precv_init(bytes, PARTITIONS, COUNT, MPI_BYTE, 1 - rank, 3, MPI_COMM_WORLD,
                       MPI_INFO_NULL, &request);
    for (int round = 0; round < 2; round++) {
        MPI_Start(&request);
        /* All but one in the second round, in which rank 1 is the sender that dies. */
        if (sends)
            MPI_Pready_range(0, PARTITIONS - 1 - (rank == 1 && round == 1), request);
        if (rank == 1 && round == 1) {
            kill(getppid(), SIGSTOP);
            raise(SIGKILL);
        }
        int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (rank == 0 && code != MPI_SUCCESS) {
            MPI_Error_class(code, &class);
            MPI_Error_string(class, text, &length);
        }
        if (rank == 0) {
            printf("round %d: %s\n", round, text);
            fflush(stdout);
        }
        /* The first round has ended at both ranks. */
        if (round == 0 && rank == 0)
            MPI_Send(&round, 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
        else if (round == 0)
            MPI_Recv(&round, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == 0)
        kill(getppid(), SIGCONT);
    _exit(0);
}
