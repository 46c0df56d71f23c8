/* Says which process each rank is, meets all others, and waits for a message that comes from nobody; with
 * an argument, from its neighbor after so many seconds. */
#include "../check.h"

int main(int argc, char **argv)
{
    MUST(MPI_Init(&argc, &argv));
    int rank, size, none = 0, got = 0;
    MUST(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MUST(MPI_Comm_size(MPI_COMM_WORLD, &size));
    printf("rank %d is process %d\n", rank, (int)getpid());
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    printf("waiting\n");
    fflush(stdout);
    if (argc > 1) {
        sleep((unsigned)atoi(argv[1]));
        MUST(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 3, &got, 1, MPI_INT,
                          (rank + size - 1) % size, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (got != (rank + size - 1) % size)
            MPI_Abort(MPI_COMM_WORLD, 2);
    } else {
        MUST(MPI_Recv(&none, 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    MUST(MPI_Finalize());
    return 0;
}
