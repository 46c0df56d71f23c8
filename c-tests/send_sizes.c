/* Messages of every interesting size around a ring: nothing, around a cache line, around the
 * places where a protocol may change, megabytes; aligned and not; expected and unexpected. */
#include "check.h"

static const size_t around[] = {0, 8, 24, 32, 40, 48, 64, 96, 128, 256, 512, 1000, 1024, 2048,
    4096, 8192, 12288, 16384, 32768, 65536, 100000, 131072, 262144, 524288, 1048576, 4194304,
    8388608};
enum { ALL = sizeof around / sizeof around[0], UP_TO_1_MIB = ALL - 2, ROOM = 8388608 + 3 + 64 };

static unsigned char *out, *in;

static void expect_message(const MPI_Status *status, size_t bytes, int source, int tag, size_t at)
{
    int count = -1;
    MUST(MPI_Get_count(status, MPI_BYTE, &count));
    CHECK_EQUAL(count, bytes);
    CHECK_EQUAL(status->MPI_SOURCE, source);
    CHECK_EQUAL(status->MPI_TAG, tag);
    CHECK_EQUAL(spoiled(in + at, bytes, (unsigned)source), 0);
    CHECK_EQUAL(in[at + bytes], 0xee);
}

/* The receive is there before the message. */
static void expected(size_t bytes, size_t at, int to, int from)
{
    MPI_Request request;
    MPI_Status status = scrambled_status();
    memset(in, 0xee, bytes + 64);
    MUST(MPI_Irecv(in + at, (int)bytes + 1, MPI_BYTE, from, 7, MPI_COMM_WORLD, &request));
    MUST(MPI_Send(out + at, (int)bytes, MPI_BYTE, to, 7, MPI_COMM_WORLD));
    MUST(MPI_Wait(&request, &status));
    CHECK(request == MPI_REQUEST_NULL);
    expect_message(&status, bytes, from, 7, at);
}

/* The message is under way before the receive is there: the token behind it has come. */
static void unexpected(size_t bytes, size_t at, int to, int from)
{
    MPI_Request request[2];
    MPI_Status status = scrambled_status();
    memset(in, 0xee, bytes + 64);
    MUST(MPI_Isend(out + at, (int)bytes, MPI_BYTE, to, 8, MPI_COMM_WORLD, &request[0]));
    MUST(MPI_Isend(NULL, 0, MPI_BYTE, to, 9, MPI_COMM_WORLD, &request[1]));
    MUST(MPI_Recv(NULL, 0, MPI_BYTE, from, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MUST(MPI_Recv(in + at, (int)bytes + 1, MPI_BYTE, from, 8, MPI_COMM_WORLD, &status));
    MUST(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
    expect_message(&status, bytes, from, 8, at);
}

/* fill() counts places from its own start, so each alignment has its own copy. */
static void all_sizes(int sizes, size_t at, int to, int from,
                      void (*exchange)(size_t, size_t, int, int))
{
    fill(out + at, ROOM - at, (unsigned)check_rank);
    for (int index = 0; index < sizes; index++) {
        size_t first = around[index] < 3 ? 0 : around[index] - 3;
        size_t step = around[index] > 8192 ? 3 : 1;
        for (size_t bytes = first; bytes <= around[index] + 3; bytes += step)
            exchange(bytes, at, to, from);
    }
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    out = take(ROOM);
    in = take(ROOM);
    int right = (check_rank + 1) % check_size;
    int left = (check_rank + check_size - 1) % check_size;
    int most = check_size <= 4 ? ALL : UP_TO_1_MIB;
    section("expected messages around a ring");
    all_sizes(most, 0, right, left, expected);
    section("unexpected messages around a ring");
    all_sizes(UP_TO_1_MIB, 0, left, right, unexpected);
    section("odd addresses");
    all_sizes(UP_TO_1_MIB, 5, right, left, expected);
    section("messages to oneself");
    all_sizes(most, 0, check_rank, check_rank, expected);
    all_sizes(UP_TO_1_MIB, 1, check_rank, check_rank, unexpected);
    free(out);
    free(in);
    return check_end();
}
