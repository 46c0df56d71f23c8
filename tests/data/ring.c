/* Messages around a ring and barriers without end: something to be killed in. */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, size;
    static char out[100000], in[100000];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    for (unsigned round = 0;; round++) {
        int bytes = round % 8 == 7 ? (int)sizeof out : 8;
        MPI_Sendrecv(out, bytes, MPI_BYTE, next, 1, in, bytes, MPI_BYTE, previous, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (round % 4 == 3) MPI_Barrier(MPI_COMM_WORLD);
    }
}
