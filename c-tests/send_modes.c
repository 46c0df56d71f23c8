/* The four send modes, blocking and nonblocking: buffered returns without a receive,
 * synchronous does not complete before one, ready finds it posted. */
#include "check.h"

enum { LONG = 300000, TOKEN = 90, TESTS = 200 };

typedef int (*Blocking)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
typedef int (*Starting)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static const int sizes[] = {0, 1, 40, 41, 5000, LONG};
enum { SIZES = sizeof sizes / sizeof sizes[0] };
static int out[LONG], in[LONG];
static int partner;

static void prepare(int count)
{
    for (int place = 0; place < count; place++) {
        out[place] = check_rank * 1000003 + place;
        in[place] = -1;
    }
}

static void verify(int count)
{
    int wrong = 0;
    for (int place = 0; place < count; place++)
        wrong += in[place] != partner * 1000003 + place;
    CHECK_EQUAL(wrong, 0);
}

/* Both sides: receive posted, a token that says so, then the send. Right for every mode. */
static void blocking_mode(Blocking send)
{
    for (int index = 0; index < SIZES; index++) {
        MPI_Request request, token;
        prepare(sizes[index]);
        MUST(MPI_Irecv(in, sizes[index], MPI_INT, partner, 1, MPI_COMM_WORLD, &request));
        MUST(MPI_Isend(NULL, 0, MPI_INT, partner, TOKEN, MPI_COMM_WORLD, &token));
        MUST(MPI_Recv(NULL, 0, MPI_INT, partner, TOKEN, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        MUST(send(out, sizes[index], MPI_INT, partner, 1, MPI_COMM_WORLD));
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
        MUST(MPI_Wait(&token, MPI_STATUS_IGNORE));
        verify(sizes[index]);
    }
}

static void nonblocking_mode(Starting start)
{
    for (int index = 0; index < SIZES; index++) {
        MPI_Request request[3];
        prepare(sizes[index]);
        MUST(MPI_Irecv(in, sizes[index], MPI_INT, partner, 2, MPI_COMM_WORLD, &request[0]));
        MUST(MPI_Isend(NULL, 0, MPI_INT, partner, TOKEN, MPI_COMM_WORLD, &request[1]));
        MUST(MPI_Recv(NULL, 0, MPI_INT, partner, TOKEN, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        MUST(start(out, sizes[index], MPI_INT, partner, 2, MPI_COMM_WORLD, &request[2]));
        MUST(MPI_Waitall(3, request, MPI_STATUSES_IGNORE));
        verify(sizes[index]);
    }
}

/* A synchronous send is not complete as long as the other side has no receive, and the other
 * side posts none before it has the token that comes after the tests. */
static void synchronous_waits(int count)
{
    MPI_Request send, token;
    int flag = 1, early = 0;
    prepare(count);
    MUST(MPI_Issend(out, count, MPI_INT, partner, 3, MPI_COMM_WORLD, &send));
    for (int attempt = 0; attempt < TESTS; attempt++) {
        MUST(MPI_Test(&send, &flag, MPI_STATUS_IGNORE));
        early += flag;
    }
    CHECK_EQUAL(early, 0);
    MUST(MPI_Isend(NULL, 0, MPI_INT, partner, TOKEN, MPI_COMM_WORLD, &token));
    MUST(MPI_Recv(NULL, 0, MPI_INT, partner, TOKEN, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MUST(MPI_Recv(in, count, MPI_INT, partner, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MUST(MPI_Wait(&send, MPI_STATUS_IGNORE));
    MUST(MPI_Wait(&token, MPI_STATUS_IGNORE));
    verify(count);
}

/* Both sides send first and receive afterwards; only buffered sends may. */
static void buffered_first(int count)
{
    MPI_Request request;
    prepare(count);
    MUST(MPI_Bsend(out, count, MPI_INT, partner, 4, MPI_COMM_WORLD));
    MUST(MPI_Ibsend(out, count, MPI_INT, partner, 5, MPI_COMM_WORLD, &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int place = 0; place < count; place++)
        out[place] = -2;
    for (int tag = 4; tag <= 5; tag++) {
        MUST(MPI_Recv(in, count, MPI_INT, partner, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        verify(count);
    }
}

/* Two synchronous sends in a row to one receiver: the first completes by itself. */
static void synchronous_in_order(void)
{
    int first = 1, second = 2, got[2] = {0, 0};
    MPI_Request send[2];
    MUST(MPI_Issend(&first, 1, MPI_INT, partner, 6, MPI_COMM_WORLD, &send[0]));
    MUST(MPI_Issend(&second, 1, MPI_INT, partner, 6, MPI_COMM_WORLD, &send[1]));
    MUST(MPI_Recv(&got[0], 1, MPI_INT, partner, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MUST(MPI_Wait(&send[0], MPI_STATUS_IGNORE));
    MUST(MPI_Recv(&got[1], 1, MPI_INT, partner, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MUST(MPI_Wait(&send[1], MPI_STATUS_IGNORE));
    CHECK_EQUAL(got[0], 1);
    CHECK_EQUAL(got[1], 2);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    partner = (check_rank ^ 1) < check_size ? check_rank ^ 1 : check_rank;
    int room = 3 * (LONG * (int)sizeof(int) + MPI_BSEND_OVERHEAD);
    void *buffer = take((size_t)room);
    MUST(MPI_Buffer_attach(buffer, room));

    section("blocking: standard, buffered, synchronous, ready");
    blocking_mode(MPI_Send);
    blocking_mode(MPI_Bsend);
    if (partner != check_rank)
        blocking_mode(MPI_Ssend);
    blocking_mode(MPI_Rsend);
    section("nonblocking: standard, buffered, synchronous, ready");
    nonblocking_mode(MPI_Isend);
    nonblocking_mode(MPI_Ibsend);
    nonblocking_mode(MPI_Issend);
    nonblocking_mode(MPI_Irsend);
    section("a synchronous send waits for its receive");
    for (int index = 0; index < SIZES; index++)
        synchronous_waits(sizes[index]);
    synchronous_in_order();
    section("buffered sends come first");
    for (int index = 0; index < SIZES; index++)
        buffered_first(sizes[index]);

    void *address = NULL;
    int size = 0;
    MUST(MPI_Buffer_detach(&address, &size));
    CHECK(address == buffer);
    CHECK_EQUAL(size, room);
    free(buffer);
    return check_end();
}
