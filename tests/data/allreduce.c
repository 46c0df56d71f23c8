// Adds up the ranks again and again: so many times, or for ever with 0. Rank 0 prints a line now
// and then, every rank says when it begins.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    long times = argc > 1 ? atol(argv[1]) : 0;
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (long done = 0; times == 0 || done < times; done++) {
        long mine = rank + done, sum = 0, expected = size * done + (long)size * (size - 1) / 2;
        MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        if (sum != expected) {
            fprintf(stderr, "rank %d: sum %ld instead of %ld\n", rank, sum, expected);
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
        if (done == 0) {
            printf("ready %d\n", rank);
            fflush(stdout);
        } else if (rank == 0 && times == 0 && done % 100 == 0) {
            printf("done %ld times\n", done);
            fflush(stdout);
        }
    }
    MPI_Finalize();
    printf("finished %d\n", rank);
    return 0;
}
