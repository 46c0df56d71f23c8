/* Puts, gets and flushes in a ring without end, of lengths that go by messages and by the device: something to be
 * killed in. */
#include <mpi.h>

int main(int argc, char **argv)
{
    enum { BYTES = 300000 };
    static char out[BYTES], in[BYTES];
    const int lengths[] = {8, 3000, 20000, BYTES};
    int rank, size;
    char *memory;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    int next = (rank + 1) % size;
    for (unsigned epoch = 0;; epoch++) {
        MPI_Win_lock_all(0, win);
        for (unsigned round = 0; round < 64; round++) {
            int bytes = lengths[round % 4];
            MPI_Put(out, bytes, MPI_BYTE, next, 0, bytes, MPI_BYTE, win);
            MPI_Win_flush(next, win);
            MPI_Get(in, bytes, MPI_BYTE, next, 0, bytes, MPI_BYTE, win);
            if (round % 8 == 7) MPI_Win_flush_all(win);
        }
        MPI_Win_unlock_all(win);
        if (epoch % 4 == 3) MPI_Win_fence(0, win);
    }
}
