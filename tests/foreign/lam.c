/* One world of two libraries, of which one is LAM/MPI: messages of all lengths between all ranks, and what both have
 * between clients: barriers and broadcasts. MPI-1 only. Each rank prints one line. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, wrong;

/* Both protocols, and lengths about the limit between them. */
static void exchange(int length)
{
    char *out = malloc(length + 1), *in = malloc(length + 1);
    for (int other = 0; other < size; other++) {
        MPI_Status status;
        int count;
        if (other == rank)
            continue;
        memset(out, rank + 1, length);
        memset(in, 0, length + 1);
        MPI_Sendrecv(out, length, MPI_BYTE, other, 5, in, length, MPI_BYTE, other, 5, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        wrong += count != length || status.MPI_SOURCE != other;
        for (int at = 0; at < length; at++)
            wrong += in[at] != other + 1;
    }
    free(out);
    free(in);
}

/* Synchronous sends of rank 0, and others in between. */
static void from_first(void)
{
    enum { MANY = 8 };
    for (int number = 0; number < MANY; number++) {
        int value = -1;
        if (rank > 0) {
            MPI_Recv(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            wrong += value != number;
            continue;
        }
        for (int other = 1; other < size; other++) {
            if (number % 4 == 0)
                MPI_Ssend(&number, 1, MPI_INT, other, 9, MPI_COMM_WORLD);
            else
                MPI_Send(&number, 1, MPI_INT, other, 9, MPI_COMM_WORLD);
        }
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int length = 0; length <= 300000; length = length ? length * 5 : 1)
        exchange(length);
    from_first();
    for (int turn = 0; turn < 20; turn++) {
        int root = turn % size, value = rank == root ? 1000 + turn : 0;
        MPI_Bcast(&value, 1, MPI_INT, root, MPI_COMM_WORLD);
        wrong += value != 1000 + turn;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    printf("rank %d of %d: wrong = %d\n", rank, size, wrong);
    MPI_Finalize();
    return wrong > 0;
}
