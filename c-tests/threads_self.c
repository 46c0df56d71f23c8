/* A message of a process to itself ends the probe of another of its threads, while a third thread
 * waits for something else. */
#include "check.h"

#include <pthread.h>

enum { PROBED = 1, LAST = 2, LONG = 100000 };

static MPI_Comm comm;
static char sent[LONG], received[LONG];

static void *receive_last(void *unused)
{
    MUST(MPI_Recv(NULL, 0, MPI_BYTE, check_rank, LAST, comm, MPI_STATUS_IGNORE));
    return unused;
}

static void *probe(void *unused)
{
    MUST(MPI_Probe(check_rank, PROBED, comm, MPI_STATUS_IGNORE));
    return unused;
}

static void *matched_probe(void *unused)
{
    MPI_Message message;
    MUST(MPI_Mprobe(check_rank, PROBED, comm, &message, MPI_STATUS_IGNORE));
    MUST(MPI_Mrecv(received, LONG, MPI_BYTE, &message, MPI_STATUS_IGNORE));
    return unused;
}

/* The threads wait, probably, before the message is sent. */
static void send_to_probe(void *(*probe_of_thread)(void *), int bytes)
{
    pthread_t thread;
    MPI_Request request;
    CHECK(pthread_create(&thread, NULL, probe_of_thread, NULL) == 0);
    sleep_ms(10);
    MUST(MPI_Isend(sent, bytes, MPI_BYTE, check_rank, PROBED, comm, &request));
    pthread_join(thread, NULL);
    if (probe_of_thread == probe)
        MUST(MPI_Recv(received, LONG, MPI_BYTE, check_rank, PROBED, comm, MPI_STATUS_IGNORE));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    static const int lengths[] = {0, 8, 1000, LONG};
    int provided = -1;
    pthread_t last;
    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS)
        return 2;
    check_adopt();
    CHECK_EQUAL(provided, MPI_THREAD_MULTIPLE);
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK(pthread_create(&last, NULL, receive_last, NULL) == 0);
    sleep_ms(10);
    for (size_t index = 0; index < sizeof lengths / sizeof lengths[0]; index++) {
        section("%d bytes", lengths[index]);
        send_to_probe(probe, lengths[index]);
        send_to_probe(matched_probe, lengths[index]);
    }
    MUST(MPI_Send(NULL, 0, MPI_BYTE, check_rank, LAST, comm));
    pthread_join(last, NULL);
    MUST(MPI_Comm_free(&comm));
    return check_end();
}
