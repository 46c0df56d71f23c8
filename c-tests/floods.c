/* Floods of unexpected messages: many small ones, and many of an eager size from all senders
 * while the receiver waits for something else. They must all arrive, and the receiver must not
 * keep the whole flood in memory. */
#include "check.h"
#include "process_status.h"

enum { SMALL = 4000, WILD = 300, PIECE = 8192, FLOOD_BYTES = 24 << 20, BOUND_KB = 12 << 10 };

/* Blocking sends while rank 0 sleeps, taken from the last rank to the first: by tag, or by a
 * wildcard (then fewer, since a library may have to look through all of them each time). */
static void small_while_asleep(int messages, int by_tag)
{
    if (check_rank != 0) {
        for (int index = 0; index < messages; index++) {
            int message[2] = {check_rank, index};
            MUST(MPI_Send(message, 2, MPI_INT, 0, index & 3, MPI_COMM_WORLD));
        }
        return;
    }
    sleep_ms(50);
    for (int rank = check_size - 1; rank > 0; rank--)
        for (int index = 0; index < messages; index++) {
            int message[2] = {-1, -1};
            MUST(MPI_Recv(message, 2, MPI_INT, rank, by_tag ? index & 3 : MPI_ANY_TAG,
                          MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK_EQUAL(message[0], rank);
            CHECK_EQUAL(message[1], index);
        }
}

static void flood_sender(int messages)
{
    static char piece[PIECE];
    MPI_Request *request = take((size_t)messages * sizeof *request);
    fill(piece, PIECE, (unsigned)check_rank);
    for (int index = 0; index < messages; index++)
        MUST(MPI_Isend(piece, PIECE, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request[index]));
    MUST(MPI_Send(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD));
    MUST(MPI_Waitall(messages, request, MPI_STATUSES_IGNORE));
    free(request);
}

static void flood_receiver(int messages)
{
    static char piece[PIECE];
    long before = status_of(getpid(), "VmRSS:");
    for (int rank = 1; rank < check_size; rank++)
        MUST(MPI_Recv(NULL, 0, MPI_BYTE, rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    long after = status_of(getpid(), "VmRSS:");
    if (check_strict() && after - before > BOUND_KB)
        check_fail(__FILE__, __LINE__, "the flood took %ld KiB", after - before);
    for (int rank = check_size - 1; rank > 0; rank--)
        for (int index = 0; index < messages; index++) {
            memset(piece, 0, PIECE);
            MUST(MPI_Recv(piece, PIECE, MPI_BYTE, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK_EQUAL(spoiled(piece, PIECE, (unsigned)rank), 0);
        }
}

/* The senders announce everything at once; rank 0 first waits for what comes last. */
static void eager_flood(void)
{
    int messages = check_size > 1 ? FLOOD_BYTES / PIECE / (check_size - 1) : 0;
    if (check_rank == 0)
        flood_receiver(messages);
    else
        flood_sender(messages);
}

/* Everybody floods everybody, then everybody receives. */
static void all_to_all(void)
{
    enum { EACH = 200 };
    int total = EACH * check_size, message[2];
    int(*out)[2] = take((size_t)total * sizeof *out);
    MPI_Request *request = take((size_t)total * sizeof *request);
    for (int index = 0; index < total; index++) {
        out[index][0] = check_rank;
        out[index][1] = index / check_size;
        MUST(MPI_Isend(out[index], 2, MPI_INT, index % check_size, 5, MPI_COMM_WORLD,
                       &request[index]));
    }
    for (int rank = 0; rank < check_size; rank++)
        for (int index = 0; index < EACH; index++) {
            MUST(MPI_Recv(message, 2, MPI_INT, rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK_EQUAL(message[0], rank);
            CHECK_EQUAL(message[1], index);
        }
    MUST(MPI_Waitall(total, request, MPI_STATUSES_IGNORE));
    free(request);
    free(out);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    section("small messages to a sleeper");
    small_while_asleep(SMALL, 1);
    check_meet();
    small_while_asleep(WILD, 0);
    check_meet();
    section("an eager flood");
    eager_flood();
    check_meet();
    section("all to all");
    all_to_all();
    return check_end();
}
