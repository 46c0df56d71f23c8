/* Persistent requests: every mode, restarted, freed while active, with MPI_PROC_NULL, and
 * inactive requests in the completion calls. */
#include "check.h"

enum { ROUNDS = 6, LONG = 200000 };
static int partner;
static int out[LONG], in[LONG];

typedef int (*Initialize)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static void rounds(Initialize initialize, int count)
{
    MPI_Request pair[2];
    MUST(MPI_Recv_init(in, count, MPI_INT, partner, 1, MPI_COMM_WORLD, &pair[0]));
    MUST(initialize(out, count, MPI_INT, partner, 1, MPI_COMM_WORLD, &pair[1]));
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Status status[2];
        int got = -1, wrong = 0;
        for (int place = 0; place < count; place++)
            out[place] = check_rank + place + round * 7;
        MUST(MPI_Start(&pair[0]));
        check_meet();
        MUST(MPI_Start(&pair[1]));
        MUST(MPI_Waitall(2, pair, status));
        CHECK(pair[0] != MPI_REQUEST_NULL && pair[1] != MPI_REQUEST_NULL);
        MUST(MPI_Get_count(&status[0], MPI_INT, &got));
        CHECK_EQUAL(got, count);
        CHECK_EQUAL(status[0].MPI_SOURCE, partner);
        CHECK_EQUAL(status[0].MPI_TAG, 1);
        for (int place = 0; place < count; place++)
            wrong += in[place] != partner + place + round * 7;
        CHECK_EQUAL(wrong, 0);
    }
    MUST(MPI_Request_free(&pair[0]));
    MUST(MPI_Request_free(&pair[1]));
    CHECK(pair[0] == MPI_REQUEST_NULL && pair[1] == MPI_REQUEST_NULL);
}

static void every_mode(void)
{
    int room = 2 * (LONG * (int)sizeof(int) + MPI_BSEND_OVERHEAD), size;
    void *buffer = take((size_t)room), *address;
    const int counts[] = {0, 1, 10, 11, 3000};
    MUST(MPI_Buffer_attach(buffer, room));
    for (int index = 0; index < 5; index++) {
        rounds(MPI_Send_init, counts[index]);
        rounds(MPI_Bsend_init, counts[index]);
        rounds(MPI_Ssend_init, counts[index]);
        rounds(MPI_Rsend_init, counts[index]);
    }
    rounds(MPI_Send_init, LONG);
    rounds(MPI_Rsend_init, LONG);
    MUST(MPI_Buffer_detach(&address, &size));
    free(buffer);
}

/* Four requests at once, completed one by one. */
static void startall(void)
{
    MPI_Request request[8];
    int sent[4], got[4];
    for (int tag = 0; tag < 4; tag++) {
        MUST(MPI_Recv_init(&got[tag], 1, MPI_INT, partner, tag, MPI_COMM_WORLD, &request[tag]));
        MUST(MPI_Send_init(&sent[tag], 1, MPI_INT, partner, tag, MPI_COMM_WORLD,
                           &request[4 + tag]));
    }
    for (int round = 0; round < ROUNDS; round++) {
        int done = 0;
        for (int tag = 0; tag < 4; tag++) {
            sent[tag] = round * 10 + tag;
            got[tag] = -1;
        }
        MUST(MPI_Startall(8, request));
        while (done < 8) {
            int index = -1;
            MUST(MPI_Waitany(8, request, &index, MPI_STATUS_IGNORE));
            CHECK(index >= 0 && index < 8);
            done++;
        }
        int index = 0;
        MUST(MPI_Waitany(8, request, &index, MPI_STATUS_IGNORE));
        CHECK_EQUAL(index, MPI_UNDEFINED);
        for (int tag = 0; tag < 4; tag++)
            CHECK_EQUAL(got[tag], round * 10 + tag);
    }
    for (int index = 0; index < 8; index++)
        MUST(MPI_Request_free(&request[index]));
    MUST(MPI_Startall(0, NULL));
}

/* An inactive request is complete at once, with an empty status, and stays. */
static void inactive(void)
{
    MPI_Request request;
    MPI_Status status = scrambled_status();
    int flag = 0, value = 0;
    MUST(MPI_Recv_init(&value, 1, MPI_INT, partner, 2, MPI_COMM_WORLD, &request));
    MUST(MPI_Wait(&request, &status));
    CHECK(status_is_empty(&status));
    status = scrambled_status();
    MUST(MPI_Test(&request, &flag, &status));
    CHECK(flag);
    CHECK(status_is_empty(&status));
    CHECK(request != MPI_REQUEST_NULL);
    MUST(MPI_Request_free(&request));
    CHECK(request == MPI_REQUEST_NULL);
}

/* A started send that is freed still arrives. */
static void freed_while_active(int count)
{
    MPI_Request request;
    int wrong = 0;
    for (int place = 0; place < count; place++)
        out[place] = check_rank * 3 + place;
    MUST(MPI_Send_init(out, count, MPI_INT, partner, 3, MPI_COMM_WORLD, &request));
    MUST(MPI_Start(&request));
    MUST(MPI_Request_free(&request));
    CHECK(request == MPI_REQUEST_NULL);
    MUST(MPI_Recv(in, count, MPI_INT, partner, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int place = 0; place < count; place++)
        wrong += in[place] != partner * 3 + place;
    CHECK_EQUAL(wrong, 0);
    check_meet();
}

static void of_nobody(void)
{
    MPI_Request pair[2];
    MPI_Status status[2];
    int value = 17;
    MUST(MPI_Send_init(&value, 1, MPI_INT, MPI_PROC_NULL, 4, MPI_COMM_WORLD, &pair[0]));
    MUST(MPI_Recv_init(&value, 1, MPI_INT, MPI_PROC_NULL, 4, MPI_COMM_WORLD, &pair[1]));
    for (int round = 0; round < 3; round++) {
        status[1] = scrambled_status();
        MUST(MPI_Startall(2, pair));
        MUST(MPI_Waitall(2, pair, status));
        /* MPICH 5 leaves an empty status here. */
        CHECK_STRICTLY(status_is_of_null(&status[1]));
        CHECK_EQUAL(value, 17);
    }
    MUST(MPI_Request_free(&pair[0]));
    MUST(MPI_Request_free(&pair[1]));
}

static int handled;

static void count_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    handled += check_class(*code) == MPI_ERR_REQUEST;
}

/* A list with a request that cannot be started starts none; the error is that of its
 * communicator. */
static void not_all_can_start(void)
{
    MPI_Comm comm;
    MPI_Errhandler counting;
    MPI_Request request[3];
    int in = -1, other = -1, sent = 5, flag = 0;
    if (!check_strict())
        return;
    MUST(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    MUST(MPI_Comm_create_errhandler(count_error, &counting));
    MUST(MPI_Comm_set_errhandler(comm, counting));
    MUST(MPI_Errhandler_free(&counting));
    MUST(MPI_Recv_init(&in, 1, MPI_INT, 0, 1, comm, &request[0]));
    MUST(MPI_Recv_init(&other, 1, MPI_INT, 0, 2, comm, &request[1]));
    request[2] = MPI_REQUEST_NULL;
    MUST_FAIL(MPI_Startall(3, request), MPI_ERR_REQUEST);
    CHECK_EQUAL(handled, 0);
    MUST(MPI_Start(&request[1]));
    MUST_FAIL(MPI_Startall(2, request), MPI_ERR_REQUEST);
    CHECK_EQUAL(handled, 1);
    /* The first is still inactive: nothing has matched this message. */
    MUST(MPI_Send(&sent, 1, MPI_INT, 0, 1, comm));
    MUST(MPI_Iprobe(0, 1, comm, &flag, MPI_STATUS_IGNORE));
    CHECK(flag);
    MUST(MPI_Send(&sent, 1, MPI_INT, 0, 2, comm));
    MUST(MPI_Wait(&request[1], MPI_STATUS_IGNORE));
    if (flag) {
        MUST(MPI_Start(&request[0]));
        MUST(MPI_Wait(&request[0], MPI_STATUS_IGNORE));
        CHECK_EQUAL(in, 5);
    }
    MUST(MPI_Request_free(&request[0]));
    MUST(MPI_Request_free(&request[1]));
    MUST(MPI_Comm_free(&comm));
}

/* One persistent receive takes from everybody, in any order of tags. */
static void from_anyone(void)
{
    MPI_Request request, sends;
    int value = check_rank, got = -1, seen = 0;
    MUST(MPI_Isend(&value, 1, MPI_INT, 0, 100 + check_rank, MPI_COMM_WORLD, &sends));
    if (check_rank == 0) {
        MUST(MPI_Recv_init(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                           &request));
        for (int rank = 0; rank < check_size; rank++) {
            MPI_Status status;
            MUST(MPI_Start(&request));
            MUST(MPI_Wait(&request, &status));
            CHECK_EQUAL(status.MPI_SOURCE, got);
            CHECK_EQUAL(status.MPI_TAG, 100 + got);
            seen |= 1 << got;
        }
        CHECK_EQUAL(seen, (1 << check_size) - 1);
        MUST(MPI_Request_free(&request));
    }
    MUST(MPI_Wait(&sends, MPI_STATUS_IGNORE));
    check_meet();
}

/* A started receive that is cancelled can be started again. */
static void cancelled_and_restarted(void)
{
    MPI_Request request;
    MPI_Status status;
    int value = -1, mine = check_rank + 50, cancelled = 0;
    MUST(MPI_Recv_init(&value, 1, MPI_INT, partner, 5, MPI_COMM_WORLD, &request));
    for (int round = 0; round < 3; round++) {
        MUST(MPI_Start(&request));
        MUST(MPI_Cancel(&request));
        MUST(MPI_Wait(&request, &status));
        MUST(MPI_Test_cancelled(&status, &cancelled));
        CHECK(cancelled);
    }
    check_meet();
    MUST(MPI_Start(&request));
    MUST(MPI_Send(&mine, 1, MPI_INT, partner, 5, MPI_COMM_WORLD));
    MUST(MPI_Wait(&request, &status));
    MUST(MPI_Test_cancelled(&status, &cancelled));
    CHECK(!cancelled);
    CHECK_EQUAL(value, partner + 50);
    MUST(MPI_Request_free(&request));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    partner = (check_rank ^ 1) < check_size ? check_rank ^ 1 : check_rank;
    section("every mode, restarted");
    every_mode();
    section("startall");
    startall();
    section("inactive requests");
    inactive();
    section("not all can start");
    not_all_can_start();
    section("freed while active");
    freed_while_active(1);
    freed_while_active(5000);
    section("of nobody");
    of_nobody();
    section("from anyone");
    from_anyone();
    section("cancelled and restarted");
    cancelled_and_restarted();
    return check_end();
}
