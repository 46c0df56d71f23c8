/* Buffers for buffered sends: attach, detach, flush; the process's and a communicator's;
 * automatic; a full buffer is an error and nothing is lost. */
#include "check.h"

enum { MESSAGES = 10, PIECE = 1001 };
static int partner;
static char in[200000];

static int room_for(int messages, int bytes)
{
    return messages * (bytes + MPI_BSEND_OVERHEAD);
}

static void take_one(int bytes, int tag, unsigned seed, MPI_Comm comm)
{
    MPI_Status status;
    int count = -1;
    memset(in, 0, sizeof in);
    MUST(MPI_Recv(in, sizeof in, MPI_BYTE, partner, tag, comm, &status));
    MUST(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK_EQUAL(count, bytes);
    CHECK_EQUAL(spoiled(in, (size_t)bytes, seed), 0);
}

/* The buffer holds exactly what the standard says it must hold. */
static void exactly_full(int bytes)
{
    char *message = take((size_t)bytes);
    int room = room_for(MESSAGES, bytes), size = -1;
    void *buffer = take((size_t)room), *address = NULL;
    MUST(MPI_Buffer_attach(buffer, room));
    for (int index = 0; index < MESSAGES; index++) {
        fill(message, (size_t)bytes, (unsigned)index);
        MUST(MPI_Bsend(message, bytes, MPI_BYTE, partner, index, MPI_COMM_WORLD));
    }
    memset(message, 0, (size_t)bytes);
    for (int index = MESSAGES - 1; index >= 0; index--)
        take_one(bytes, index, (unsigned)index, MPI_COMM_WORLD);
    MUST(MPI_Buffer_detach(&address, &size));
    CHECK(address == buffer);
    CHECK_EQUAL(size, room);
    free(buffer);
    free(message);
}

/* Space comes back when a message has gone: far more goes through than fits at once. */
static void space_comes_back(void)
{
    static char message[PIECE];
    int room = room_for(2, PIECE), size = -1;
    void *buffer = take((size_t)room), *address = NULL;
    MUST(MPI_Buffer_attach(buffer, room));
    for (unsigned index = 0; index < 200; index++) {
        fill(message, PIECE, index);
        MUST(MPI_Bsend(message, PIECE, MPI_BYTE, partner, 1, MPI_COMM_WORLD));
        take_one(PIECE, 1, index, MPI_COMM_WORLD);
        MUST(MPI_Buffer_flush());
    }
    MUST(MPI_Buffer_detach(&address, &size));
    free(buffer);
}

/* A call without space first frees that of messages that have gone since the last call: no other
 * call is needed between. */
static void calls_free_space(int bytes)
{
    enum { LIMIT_S = 30 };
    char *message = take((size_t)bytes);
    int room = room_for(1, bytes), size = -1, code = MPI_SUCCESS;
    void *buffer = take((size_t)room), *address = NULL;
    MPI_Request receive;
    MUST(MPI_Irecv(in, bytes, MPI_BYTE, partner, 8, MPI_COMM_WORLD, &receive));
    MUST(MPI_Buffer_attach(buffer, room));
    fill(message, (size_t)bytes, 11);
    MUST(MPI_Bsend(message, bytes, MPI_BYTE, partner, 8, MPI_COMM_WORLD));
    fill(message, (size_t)bytes, 12);
    time_t end = time(NULL) + LIMIT_S;
    do
        code = MPI_Bsend(message, bytes, MPI_BYTE, partner, 9, MPI_COMM_WORLD);
    while (code != MPI_SUCCESS && time(NULL) < end);
    MUST(code);
    MUST(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    CHECK_EQUAL(spoiled(in, (size_t)bytes, 11), 0);
    take_one(bytes, 9, 12, MPI_COMM_WORLD);
    MUST(MPI_Buffer_detach(&address, &size));
    free(buffer);
    free(message);
}

/* Detach and flush return only when every message has gone; the memory is ours again. */
static void detach_delivers(int bytes)
{
    char *message = take((size_t)bytes);
    int room = room_for(1, bytes), size = -1;
    char *buffer = take((size_t)room);
    void *address = NULL;
    MPI_Request receive;
    MUST(MPI_Irecv(in, bytes, MPI_BYTE, partner, 2, MPI_COMM_WORLD, &receive));
    MUST(MPI_Buffer_attach(buffer, room));
    fill(message, (size_t)bytes, 5);
    MUST(MPI_Bsend(message, bytes, MPI_BYTE, partner, 2, MPI_COMM_WORLD));
    MUST(MPI_Buffer_detach(&address, &size));
    memset(buffer, 0x77, (size_t)room);
    MUST(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    CHECK_EQUAL(spoiled(in, (size_t)bytes, 5), 0);
    free(buffer);
    free(message);
}

static void flush_nonblocking(void)
{
    static char message[PIECE];
    int room = room_for(1, PIECE), size = -1;
    void *buffer = take((size_t)room), *address = NULL;
    MPI_Request flush;
    MUST(MPI_Buffer_attach(buffer, room));
    fill(message, PIECE, 3);
    MUST(MPI_Bsend(message, PIECE, MPI_BYTE, partner, 3, MPI_COMM_WORLD));
    MUST(MPI_Buffer_iflush(&flush));
    take_one(PIECE, 3, 3, MPI_COMM_WORLD);
    MUST(MPI_Wait(&flush, MPI_STATUS_IGNORE));
    CHECK(flush == MPI_REQUEST_NULL);
    MUST(MPI_Buffer_flush());
    MUST(MPI_Buffer_detach(&address, &size));
    free(buffer);
}

static void errors(void)
{
    static char message[PIECE];
    int room = room_for(1, 100), size = -1;
    void *buffer = take((size_t)room), *address = NULL;
    MUST_FAIL(MPI_Bsend(message, 10, MPI_BYTE, partner, 4, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    MUST(MPI_Buffer_attach(buffer, room));
    /* MPICH 5 says MPI_ERR_OTHER. */
    int again = check_class(MPI_Buffer_attach(message, PIECE));
    CHECK(again != MPI_SUCCESS);
    CHECK_STRICTLY(again == MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Bsend(message, PIECE, MPI_BYTE, partner, 4, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    fill(message, 100, 9);
    MUST(MPI_Bsend(message, 100, MPI_BYTE, partner, 4, MPI_COMM_WORLD));
    take_one(100, 4, 9, MPI_COMM_WORLD);
    MUST(MPI_Buffer_detach(&address, &size));
    CHECK(address == buffer);
    free(buffer);
}

static void automatic(void)
{
    char *message = take(100000);
    void *address = NULL;
    int size = -1;
    MUST(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0));
    for (unsigned index = 0; index < MESSAGES; index++) {
        fill(message, 10000 * index, index);
        MUST(MPI_Bsend(message, 10000 * (int)index, MPI_BYTE, partner, 5, MPI_COMM_WORLD));
    }
    memset(message, 0, 100000);
    for (unsigned index = 0; index < MESSAGES; index++)
        take_one(10000 * (int)index, 5, index, MPI_COMM_WORLD);
    MUST(MPI_Buffer_flush());
    MUST(MPI_Buffer_detach(&address, &size));
    CHECK(address == MPI_BUFFER_AUTOMATIC);
    CHECK_EQUAL(size, 0);
    free(message);
}

/* A communicator's own buffer serves its messages; the process's serves the others. */
static void of_a_communicator(void)
{
    static char message[PIECE];
    MPI_Comm dup;
    int room = room_for(2, PIECE), size = -1;
    void *buffer = take((size_t)room), *address = NULL;
    MPI_Request flush;
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    MUST(MPI_Comm_set_errhandler(dup, MPI_ERRORS_RETURN));
    MUST_FAIL(MPI_Bsend(message, 10, MPI_BYTE, partner, 6, dup), MPI_ERR_BUFFER);
    MUST(MPI_Comm_attach_buffer(dup, buffer, room));
    for (unsigned index = 0; index < 2; index++) {
        fill(message, PIECE, index);
        MUST(MPI_Bsend(message, PIECE, MPI_BYTE, partner, 6, dup));
    }
    MUST_FAIL(MPI_Bsend(message, 10, MPI_BYTE, partner, 6, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    MUST(MPI_Comm_iflush_buffer(dup, &flush));
    for (unsigned index = 0; index < 2; index++)
        take_one(PIECE, 6, index, dup);
    MUST(MPI_Wait(&flush, MPI_STATUS_IGNORE));
    MUST(MPI_Comm_flush_buffer(dup));
    MUST(MPI_Comm_detach_buffer(dup, &address, &size));
    CHECK(address == buffer);
    CHECK_EQUAL(size, room);
    MUST(MPI_Comm_free(&dup));
    free(buffer);
}

/* The _c forms count bytes in MPI_Count. */
static void large_forms(void)
{
    static char message[PIECE];
    MPI_Count room = room_for(1, PIECE), size = -1;
    void *buffer = take((size_t)room), *address = NULL;
    MUST(MPI_Buffer_attach_c(buffer, room));
    fill(message, PIECE, 8);
    MUST(MPI_Bsend_c(message, PIECE, MPI_BYTE, partner, 7, MPI_COMM_WORLD));
    take_one(PIECE, 7, 8, MPI_COMM_WORLD);
    MUST(MPI_Buffer_detach_c(&address, &size));
    CHECK(address == buffer);
    CHECK_EQUAL(size, room);
    free(buffer);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    partner = (check_rank ^ 1) < check_size ? check_rank ^ 1 : check_rank;
    section("a buffer holds what the standard says");
    exactly_full(0);
    exactly_full(1);
    exactly_full(PIECE);
    exactly_full(100001);
    section("space comes back");
    space_comes_back();
    section("calls without space free it");
    calls_free_space(PIECE);
    calls_free_space(150000);
    section("detach and flush deliver");
    detach_delivers(0);
    detach_delivers(PIECE);
    detach_delivers(150000);
    flush_nonblocking();
    section("errors");
    errors();
    section("automatic");
    automatic();
    section("a communicator's own buffer");
    of_a_communicator();
    section("large forms");
    large_forms();
    return check_end();
}
