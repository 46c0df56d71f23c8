/* Ranks end at random times, and the others finalize, with and without errors before. */
#include "failures.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    srand(rank * 77 + (argc > 1 ? atoi(argv[1]) : 0));
    int victims = size / 2;
    if (rank < victims) {
        usleep(rand() % 3000);
        die();
    }
    if (rank % 2) {
        int value = 1, sum;
        MPI_Request request;
        MPI_Irecv(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, &request);
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == size - 1)
        printf("errors = 0\n");
    MPI_Finalize();
    return 0;
}
