/* A thread that waits for a long message, which arrives packet by packet, lets calls of another thread
 * in. Rank 1 sends, rank 0 has the two threads. */
#include "../../c-tests/check.h"

#include <pthread.h>

enum { LONG = 32 << 20, ENOUGH = 8, ROUNDS = 16, GOOD_ROUNDS = 12 };

static volatile unsigned char *buffer;
static volatile int received;
static int calls;

/* Calls between the arrival of the first byte and the end of the receive. */
static void *call(void *unused)
{
    MPI_Datatype type;
    while (buffer[0] == 0)
        ;
    for (calls = 0; !received && calls < ENOUGH; calls++) {
        MUST(MPI_Type_contiguous(2, MPI_INT, &type));
        MUST(MPI_Type_free(&type));
    }
    return unused;
}

static void receive(void)
{
    pthread_t thread;
    memset((void *)buffer, 0, LONG);
    received = 0;
    CHECK(pthread_create(&thread, NULL, call, NULL) == 0);
    MUST(MPI_Recv((void *)buffer, LONG, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    received = 1;
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    int provided = -1, good = 0;
    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS)
        return 2;
    check_adopt();
    CHECK_EQUAL(provided, MPI_THREAD_MULTIPLE);
    buffer = malloc(LONG);
    memset((void *)buffer, 1, LONG);
    for (int round = 0; round < ROUNDS; round++) {
        if (check_rank == 0) {
            receive();
            good += calls == ENOUGH;
        } else if (check_rank == 1) {
            MUST(MPI_Send((void *)buffer, LONG, MPI_BYTE, 0, 0, MPI_COMM_WORLD));
        }
    }
    /* The second thread may come late, without a processor. */
    CHECK(check_rank != 0 || good >= GOOD_ROUNDS);
    free((void *)buffer);
    return check_end();
}
