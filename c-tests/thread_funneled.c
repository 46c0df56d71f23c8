/* MPI_THREAD_FUNNELED: the main thread calls MPI while others compute. */
#include "check.h"

#include <pthread.h>

enum { MESSAGES = 300 };
static volatile int stop;
static unsigned long work[2];

static void *compute(void *counter)
{
    while (!stop) {
        ++*(unsigned long *)counter;
        sleep_ms(1);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided = -1;
    pthread_t thread[2];
    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
        return 2;
    check_adopt();
    section("funneled");
    CHECK(provided >= MPI_THREAD_FUNNELED);
    for (int index = 0; index < 2; index++)
        CHECK(pthread_create(&thread[index], NULL, compute, &work[index]) == 0);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    for (int message = 0; message < MESSAGES; message++) {
        int got = -1;
        MUST(MPI_Sendrecv(&message, 1, MPI_INT, right, 1, &got, 1, MPI_INT, left, 1,
                          MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_EQUAL(got, message);
    }
    stop = 1;
    for (int index = 0; index < 2; index++)
        pthread_join(thread[index], NULL);
    return check_end();
}
