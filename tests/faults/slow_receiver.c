/* Rank 0 sends eager messages to rank 1, which sleeps outside MPI and then receives all of them.
 *
 *   slow_receiver MESSAGES SECONDS
 *
 * Prints the peak of the resident memory of both, in MiB, and the number of wrong messages. */
#include "../../c-tests/process_status.h"
#include <mpi.h>
#include <unistd.h>

enum { WORDS = 128 };

int main(int argc, char **argv)
{
    static int message[WORDS];
    long peaks[2], mine, wrong = 0;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc < 3)
        MPI_Abort(MPI_COMM_WORLD, 2);
    long messages = atol(argv[1]);
    if (rank == 1)
        sleep((unsigned)atoi(argv[2]));
    for (int index = 0; index < messages && rank < 2; index++) {
        if (rank == 0) {
            message[0] = index;
            message[WORDS - 1] = -index;
            MPI_Send(message, WORDS, MPI_INT, 1, 3, MPI_COMM_WORLD);
        } else {
            MPI_Recv(message, WORDS, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            wrong += message[0] != index || message[WORDS - 1] != -index;
        }
    }
    mine = status_of(getpid(), "VmHWM:");
    if (rank == 1) {
        MPI_Send(&wrong, 1, MPI_LONG, 0, 4, MPI_COMM_WORLD);
        MPI_Send(&mine, 1, MPI_LONG, 0, 4, MPI_COMM_WORLD);
    } else if (rank == 0) {
        MPI_Recv(&wrong, 1, MPI_LONG, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&peaks[1], 1, MPI_LONG, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        peaks[0] = mine;
        printf("sender = %ld MiB, receiver = %ld MiB, wrong = %ld\n", peaks[0] >> 10, peaks[1] >> 10, wrong);
    }
    MPI_Finalize();
    return 0;
}
