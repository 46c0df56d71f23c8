/* Partitioned communication around a ring: partitions that differ on the two sides, every order of
 * MPI_Pready, several starts, late receivers, datatypes on both sides, order of matching,
 * MPI_PROC_NULL, and errors. */
#include "check.h"

enum { ROUNDS = 3, PARTITIONS_MAX = 4096, TAG = 5 };

static int left, right;

/* One side: so many partitions of so many integers, each in a block of `stride` integers. */
typedef struct {
    int partitions;
    int count;
    int stride;
} Side;

static MPI_Datatype element(const Side *side)
{
    MPI_Datatype block, type;
    MUST(MPI_Type_contiguous(1, MPI_INT, &block));
    MUST(MPI_Type_create_resized(block, 0, side->stride * (MPI_Aint)sizeof(int), &type));
    MUST(MPI_Type_commit(&type));
    MUST(MPI_Type_free(&block));
    return type;
}

static size_t integers(const Side *side)
{
    return (size_t)side->partitions * (size_t)side->count;
}

static int value(size_t place, int round, int from)
{
    return (int)place * 7 + round * 100003 + from * 1000003;
}

static void write_partition(int *buffer, const Side *side, int partition, int round)
{
    size_t first = (size_t)partition * (size_t)side->count;
    for (int place = 0; place < side->count; place++)
        buffer[(first + (size_t)place) * (size_t)side->stride] =
            value(first + (size_t)place, round, check_rank);
}

/* How many integers of a partition are wrong, those between the blocks included. */
static int wrong_in(const int *buffer, const Side *side, int partition, int round)
{
    int wrong = 0;
    size_t first = (size_t)partition * (size_t)side->count;
    for (size_t place = first; place < first + (size_t)side->count; place++) {
        const int *block = buffer + place * (size_t)side->stride;
        wrong += block[0] != value(place, round, left);
        for (int gap = 1; gap < side->stride; gap++)
            wrong += block[gap] != -1;
    }
    return wrong;
}

/* Every order of calls in which a sender may say that its partitions are ready. */
static void make_ready(int *buffer, const Side *side, MPI_Request request, int round)
{
    int list[PARTITIONS_MAX], partitions = side->partitions;
    uint64_t state = 77u + (unsigned)round;
    for (int place = 0; place < partitions; place++)
        list[place] = place;
    for (int last = partitions - 1; last > 0; last--) {
        int other = (int)draw(&state, (unsigned)last + 1), kept = list[last];
        list[last] = list[other];
        list[other] = kept;
    }
    int half = partitions / 2;
    switch (round % 4) {
    case 0:
        for (int place = 0; place < partitions; place++) {
            write_partition(buffer, side, place, round);
            MUST(MPI_Pready(place, request));
        }
        break;
    case 1:
        for (int place = 0; place < partitions; place++) {
            write_partition(buffer, side, list[place], round);
            MUST(MPI_Pready(list[place], request));
        }
        break;
    case 2:
        for (int place = 0; place < partitions; place++)
            write_partition(buffer, side, place, round);
        if (half > 0)
            MUST(MPI_Pready_range(half, partitions - 1, request));
        MUST(MPI_Pready_range(0, half > 0 ? half - 1 : partitions - 1, request));
        break;
    default:
        for (int place = 0; place < partitions; place++)
            write_partition(buffer, side, place, round);
        MUST(MPI_Pready_list(half, list, request));
        MUST(MPI_Pready_list(partitions - half, list + half, request));
    }
}

static void check_status(const MPI_Status *status, const Side *side, MPI_Datatype type)
{
    int count = -1;
    MUST(MPI_Get_count(status, type, &count));
    CHECK_EQUAL(status->MPI_SOURCE, left);
    CHECK_EQUAL(status->MPI_TAG, TAG);
    CHECK_EQUAL(count, integers(side));
}

/* Asks for the partitions, the last one first, and looks at each that has arrived. */
static void await_partitions(const int *buffer, const Side *side, MPI_Request request, int round)
{
    for (int partition = side->partitions - 1; partition >= 0; partition--) {
        int arrived = 0;
        while (!arrived)
            MUST(MPI_Parrived(request, partition, &arrived));
        CHECK_EQUAL(wrong_in(buffer, side, partition, round), 0);
    }
}

static void exchange(Side send, Side receive, MPI_Comm comm)
{
    section("%d x %d to %d x %d, strides %d and %d", send.partitions, send.count,
            receive.partitions, receive.count, send.stride, receive.stride);
    size_t out_bytes = integers(&send) * (size_t)send.stride * sizeof(int);
    size_t in_bytes = integers(&receive) * (size_t)receive.stride * sizeof(int);
    int *out = take(out_bytes), *in = take(in_bytes);
    MPI_Datatype types[2] = {element(&send), element(&receive)};
    MPI_Request pair[2];
    MUST(MPI_Psend_init(out, send.partitions, send.count, types[0], right, TAG, comm,
                        MPI_INFO_NULL, &pair[0]));
    MUST(MPI_Precv_init(in, receive.partitions, receive.count, types[1], left, TAG, comm,
                        MPI_INFO_NULL, &pair[1]));
    for (int round = 0; round < ROUNDS + 1; round++) {
        MPI_Status status[2];
        memset(in, 0xff, in_bytes);
        if (round % 2 == 0) {
            MUST(MPI_Startall(2, pair));
        } else {
            MUST(MPI_Start(&pair[1]));
            MUST(MPI_Start(&pair[0]));
        }
        int flag = 1;
        MUST(MPI_Request_get_status(pair[0], &flag, MPI_STATUS_IGNORE));
        CHECK_STRICTLY(!flag);
        make_ready(out, &send, pair[0], round);
        if (round != 1)
            await_partitions(in, &receive, pair[1], round);
        if (round < 2) {
            MUST(MPI_Waitall(2, pair, status));
        } else {
            /* MPICH has no MPI_Testall of partitioned requests. */
            for (int done = 0; check_strict() && !done;)
                MUST(MPI_Testall(2, pair, &done, status));
            for (int turn = 0; turn < 2 && !check_strict(); turn++) {
                for (int done = 0; !done;)
                    MUST(MPI_Test(&pair[turn], &done, &status[turn]));
            }
        }
        check_status(&status[1], &receive, types[1]);
        int wrong = 0;
        for (int partition = 0; partition < receive.partitions; partition++)
            wrong += wrong_in(in, &receive, partition, round);
        CHECK_EQUAL(wrong, 0);
    }
    for (int side = 0; side < 2; side++) {
        MUST(MPI_Request_free(&pair[side]));
        MUST(MPI_Type_free(&types[side]));
    }
    free(out);
    free(in);
}

/* Operations with one tag match in the order of their creation, whatever starts first, and they never
 * match other messages. */
static void order_of_matching(void)
{
    section("order of matching");
    enum { OPERATIONS = 4 };
    int out[OPERATIONS], in[OPERATIONS], plain = -1;
    MPI_Request send[OPERATIONS], receive[OPERATIONS], message;
    MUST(MPI_Irecv(&plain, 1, MPI_INT, left, TAG, MPI_COMM_WORLD, &message));
    for (int which = 0; which < OPERATIONS; which++) {
        MUST(MPI_Psend_init(&out[which], 1, 1, MPI_INT, right, TAG, MPI_COMM_WORLD,
                            MPI_INFO_NULL, &send[which]));
        MUST(MPI_Precv_init(&in[which], 1, 1, MPI_INT, left, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                            &receive[which]));
        out[which] = 10 * which;
        in[which] = -1;
    }
    for (int round = 0; round < 2; round++) {
        for (int turn = 0; turn < OPERATIONS; turn++) {
            int sent = (turn + 2) % OPERATIONS, received = OPERATIONS - 1 - turn;
            MUST(MPI_Start(&send[sent]));
            MUST(MPI_Pready(0, send[sent]));
            MUST(MPI_Start(&receive[received]));
        }
        MUST(MPI_Waitall(OPERATIONS, receive, MPI_STATUSES_IGNORE));
        MUST(MPI_Waitall(OPERATIONS, send, MPI_STATUSES_IGNORE));
        for (int which = 0; which < OPERATIONS; which++) {
            CHECK_EQUAL(in[which], 10 * which + round);
            out[which]++;
        }
    }
    for (int which = 0; which < OPERATIONS; which++) {
        MUST(MPI_Request_free(&send[which]));
        MUST(MPI_Request_free(&receive[which]));
    }
    CHECK_EQUAL(plain, -1);
    check_meet();
    int number = 42;
    MUST(MPI_Send(&number, 1, MPI_INT, right, TAG, MPI_COMM_WORLD));
    MUST(MPI_Wait(&message, MPI_STATUS_IGNORE));
    CHECK_EQUAL(plain, 42);
}

/* Everything is ready before the receiver starts, in many rounds. Nothing arrives before. */
static void late_receiver(void)
{
    section("a late receiver");
    enum { OPERATIONS = 3, MANY = 40, PARTITIONS = 6, COUNT = 2000, ALL = PARTITIONS * COUNT };
    static int out[OPERATIONS][ALL], in[OPERATIONS][ALL];
    MPI_Request send[OPERATIONS], receive[OPERATIONS];
    for (int which = 0; which < OPERATIONS; which++) {
        MUST(MPI_Psend_init(out[which], PARTITIONS, COUNT, MPI_INT, right, TAG, MPI_COMM_WORLD,
                            MPI_INFO_NULL, &send[which]));
        MUST(MPI_Precv_init(in[which], 2, ALL / 2, MPI_INT, left, TAG, MPI_COMM_WORLD,
                            MPI_INFO_NULL, &receive[which]));
    }
    memset(in, 0xff, sizeof in);
    for (int round = 0; round < MANY; round++) {
        for (int which = 0; which < OPERATIONS; which++) {
            for (int place = 0; place < ALL; place++)
                out[which][place] = value((size_t)place, OPERATIONS * round + which, check_rank);
            MUST(MPI_Start(&send[which]));
            MUST(MPI_Pready_range(0, PARTITIONS - 1, send[which]));
        }
        if (round % 4 == 0)
            check_meet();
        int wrong = 0;
        for (int which = OPERATIONS - 1; which >= 0; which--) {
            for (int place = 0; place < ALL; place++)
                wrong += in[which][place] != -1;
            MUST(MPI_Start(&receive[which]));
        }
        MUST(MPI_Waitall(OPERATIONS, receive, MPI_STATUSES_IGNORE));
        MUST(MPI_Waitall(OPERATIONS, send, MPI_STATUSES_IGNORE));
        for (int which = 0; which < OPERATIONS; which++) {
            for (int place = 0; place < ALL; place++)
                wrong += in[which][place] != value((size_t)place, OPERATIONS * round + which, left);
        }
        CHECK_EQUAL(wrong, 0);
        memset(in, 0xff, sizeof in);
    }
    for (int which = 0; which < OPERATIONS; which++) {
        MUST(MPI_Request_free(&send[which]));
        MUST(MPI_Request_free(&receive[which]));
    }
}

/* Requests that were never started, on both sides or on one, leave nothing behind. */
static void never_started(void)
{
    section("never started");
    int out = 1, in = -1;
    for (int sides = 0; sides < 4; sides++) {
        MPI_Request send, receive;
        if (!check_strict() && sides != 3)
            continue;
        if (sides & 1) {
            MUST(MPI_Psend_init(&out, 1, 1, MPI_INT, right, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                                &send));
            MUST(MPI_Request_free(&send));
        }
        if (sides & 2) {
            MUST(MPI_Precv_init(&in, 1, 1, MPI_INT, left, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                                &receive));
            MUST(MPI_Request_free(&receive));
        }
        CHECK(!(sides & 1) || send == MPI_REQUEST_NULL);
        MUST(MPI_Psend_init(&out, 1, 1, MPI_INT, right, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
        MUST(MPI_Precv_init(&in, 1, 1, MPI_INT, left, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                            &receive));
        out = 5 + sides;
        MUST(MPI_Start(&send));
        MUST(MPI_Start(&receive));
        MUST(MPI_Pready(0, send));
        MUST(MPI_Wait(&receive, MPI_STATUS_IGNORE));
        MUST(MPI_Wait(&send, MPI_STATUS_IGNORE));
        CHECK_EQUAL(in, 5 + sides);
        MUST(MPI_Request_free(&send));
        MUST(MPI_Request_free(&receive));
    }
}

static void no_process(void)
{
    section("MPI_PROC_NULL");
    if (!check_strict()) /* MPICH 5.0 ends with a signal */
        return;
    int out[4] = {0}, in[4] = {7, 7, 7, 7}, flag = 0;
    MPI_Request send, receive;
    MPI_Status status;
    MUST(MPI_Psend_init(out, 4, 1, MPI_INT, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                        &send));
    MUST(MPI_Precv_init(in, 2, 2, MPI_INT, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                        &receive));
    for (int round = 0; round < 2; round++) {
        MUST(MPI_Start(&send));
        MUST(MPI_Start(&receive));
        MUST(MPI_Pready_range(0, 3, send));
        MUST(MPI_Wait(&send, MPI_STATUS_IGNORE));
        MUST(MPI_Parrived(receive, 1, &flag));
        CHECK(flag);
        status = scrambled_status();
        MUST(MPI_Wait(&receive, &status));
        CHECK(status_is_of_null(&status));
        CHECK_EQUAL(in[0] + in[3], 14);
    }
    MUST(MPI_Request_free(&send));
    MUST(MPI_Request_free(&receive));
}

/* A request may outlive the handle of its communicator. */
static void freed_communicator(void)
{
    section("a freed communicator");
    MPI_Comm comm;
    MPI_Request pair[2];
    int out = 3 + check_rank, in = -1;
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MUST(MPI_Psend_init(&out, 1, 1, MPI_INT, right, TAG, comm, MPI_INFO_NULL, &pair[0]));
    MUST(MPI_Precv_init(&in, 1, 1, MPI_INT, left, TAG, comm, MPI_INFO_NULL, &pair[1]));
    MUST(MPI_Startall(2, pair));
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Pready(0, pair[0]));
    MUST(MPI_Waitall(2, pair, MPI_STATUSES_IGNORE));
    CHECK_EQUAL(in, 3 + left);
    MUST(MPI_Request_free(&pair[0]));
    MUST(MPI_Request_free(&pair[1]));
}

/* MPI_Parrived on what is not active (MPI 5.0, section 4.2.2). */
static void inactive(void)
{
    section("inactive requests");
    int buffer[2] = {0, 0}, flag = 0;
    MPI_Request receive;
    MPI_Status status = scrambled_status();
    MUST(MPI_Precv_init(buffer, 2, 1, MPI_INT, left, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
    MUST(MPI_Parrived(receive, 1, &flag));
    CHECK(flag);
    MUST(MPI_Wait(&receive, &status));
    CHECK(status_is_empty(&status));
    CHECK(receive != MPI_REQUEST_NULL);
    MUST(MPI_Request_free(&receive));
    flag = 0;
    if (check_strict()) { /* MPICH 5.0 ends with a signal */
        MUST(MPI_Parrived(MPI_REQUEST_NULL, 0, &flag));
        CHECK(flag);
    }
}

static void wrong_arguments(void)
{
    section("wrong arguments");
    if (!check_strict())
        return;
    const MPI_Comm comm = MPI_COMM_WORLD;
    const MPI_Info none = MPI_INFO_NULL;
    int buffer[4] = {0}, list[2] = {0, 4}, flag;
    MPI_Request request = MPI_REQUEST_NULL;
    MUST_FAIL(MPI_Psend_init(buffer, -1, 1, MPI_INT, 0, TAG, comm, none, &request), MPI_ERR_ARG);
    MUST_FAIL(MPI_Precv_init(buffer, 0, 1, MPI_INT, 0, TAG, comm, none, &request), MPI_ERR_ARG);
    MUST_FAIL(MPI_Psend_init(buffer, 1, -1, MPI_INT, 0, TAG, comm, none, &request), MPI_ERR_COUNT);
    MUST_FAIL(MPI_Psend_init(buffer, 4, INT64_MAX / 2, MPI_INT, 0, TAG, comm, none, &request),
              MPI_ERR_COUNT);
    MUST_FAIL(MPI_Psend_init(NULL, 1, 1, MPI_INT, 0, TAG, comm, none, &request), MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Psend_init(buffer, 1, 1, MPI_DATATYPE_NULL, 0, TAG, comm, none, &request),
              MPI_ERR_TYPE);
    MUST_FAIL(MPI_Psend_init(buffer, 1, 1, MPI_INT, check_size, TAG, comm, none, &request),
              MPI_ERR_RANK);
    MUST_FAIL(MPI_Precv_init(buffer, 1, 1, MPI_INT, MPI_ANY_SOURCE, TAG, comm, none, &request),
              MPI_ERR_RANK);
    MUST_FAIL(MPI_Precv_init(buffer, 1, 1, MPI_INT, 0, MPI_ANY_TAG, comm, none, &request),
              MPI_ERR_TAG);
    MUST_FAIL(MPI_Psend_init(buffer, 1, 1, MPI_INT, 0, -7, comm, none, &request), MPI_ERR_TAG);
    MUST_FAIL(MPI_Psend_init(buffer, 1, 1, MPI_INT, 0, TAG, MPI_COMM_NULL, none, &request),
              MPI_ERR_COMM);
    MUST_FAIL(MPI_Psend_init(buffer, 1, 1, MPI_INT, 0, TAG, comm, none, NULL), MPI_ERR_ARG);
    CHECK(request == MPI_REQUEST_NULL);

    MPI_Request pair[2], other;
    MUST(MPI_Psend_init(buffer, 3, 1, MPI_INT, check_rank, TAG, comm, none, &pair[0]));
    MUST(MPI_Precv_init(buffer + 1, 3, 1, MPI_INT, check_rank, TAG, comm, none, &pair[1]));
    MUST(MPI_Send_init(buffer, 1, MPI_INT, check_rank, TAG, comm, &other));
    MUST_FAIL(MPI_Pready(0, pair[0]), MPI_ERR_REQUEST);
    MUST_FAIL(MPI_Pready(0, MPI_REQUEST_NULL), MPI_ERR_REQUEST);
    MUST_FAIL(MPI_Pready(0, other), MPI_ERR_REQUEST);
    MUST_FAIL(MPI_Parrived(other, 0, &flag), MPI_ERR_REQUEST);
    MUST_FAIL(MPI_Parrived(pair[0], 0, &flag), MPI_ERR_REQUEST);
    MUST_FAIL(MPI_Parrived(pair[1], 0, NULL), MPI_ERR_ARG);
    MUST(MPI_Startall(2, pair));
    MUST_FAIL(MPI_Start(&pair[0]), MPI_ERR_REQUEST);
    MUST_FAIL(MPI_Pready(3, pair[0]), MPI_ERR_ARG);
    MUST_FAIL(MPI_Pready(-1, pair[0]), MPI_ERR_ARG);
    MUST_FAIL(MPI_Pready_range(0, 3, pair[0]), MPI_ERR_ARG);
    MUST_FAIL(MPI_Pready_list(2, list, pair[0]), MPI_ERR_ARG);
    MUST_FAIL(MPI_Pready_list(-1, list, pair[0]), MPI_ERR_ARG);
    MUST_FAIL(MPI_Pready_list(2, NULL, pair[0]), MPI_ERR_ARG);
    MUST_FAIL(MPI_Pready(0, pair[1]), MPI_ERR_REQUEST);
    MUST_FAIL(MPI_Parrived(pair[1], 3, &flag), MPI_ERR_ARG);
    MUST_FAIL(MPI_Parrived(pair[1], -1, &flag), MPI_ERR_ARG);
    for (int side = 0; side < 2; side++) {
        MUST_FAIL(MPI_Request_free(&pair[side]), MPI_ERR_REQUEST);
        MUST_FAIL(MPI_Cancel(&pair[side]), MPI_ERR_REQUEST);
    }
    MUST(MPI_Pready_range(2, 1, pair[0]));
    MUST(MPI_Pready(0, pair[0]));
    MUST_FAIL(MPI_Pready(0, pair[0]), MPI_ERR_ARG);
    MUST_FAIL(MPI_Pready_range(0, 2, pair[0]), MPI_ERR_ARG);
    MUST(MPI_Pready_range(1, 2, pair[0]));
    MUST(MPI_Waitall(2, pair, MPI_STATUSES_IGNORE));
    MUST_FAIL(MPI_Pready(0, pair[0]), MPI_ERR_REQUEST);
    MPI_Request freed = pair[0];
    MUST(MPI_Request_free(&pair[0]));
    MUST(MPI_Request_free(&pair[1]));
    MUST(MPI_Request_free(&other));
    MUST_FAIL(MPI_Pready(0, freed), MPI_ERR_REQUEST);
}

/* A receive of another length: too short is an error with all that fits in place, as for a message. */
static void other_length(int sent, int received, int wanted)
{
    enum { COUNT = 3000 };
    static int out[8 * COUNT], in[8 * COUNT];
    MPI_Request pair[2];
    MPI_Status status[2];
    for (int place = 0; place < 8 * COUNT; place++)
        out[place] = value((size_t)place, 0, check_rank);
    memset(in, 0xff, sizeof in);
    MUST(MPI_Psend_init(out, sent, COUNT, MPI_INT, right, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                        &pair[0]));
    MUST(MPI_Precv_init(in, received, COUNT, MPI_INT, left, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                        &pair[1]));
    for (int round = 0; round < 2; round++) {
        MUST(MPI_Startall(2, pair));
        MUST(MPI_Pready_range(0, sent - 1, pair[0]));
        for (int partition = 0; partition < received; partition++) {
            int flag = 0;
            while (!flag)
                MUST(MPI_Parrived(pair[1], partition, &flag));
        }
        int class = check_class(MPI_Wait(&pair[1], &status[1]));
        CHECK_EQUAL(class, wanted);
        MUST(MPI_Wait(&pair[0], &status[0]));
        int both = sent < received ? sent : received, count = -1, wrong = 0;
        MUST(MPI_Get_count(&status[1], MPI_INT, &count));
        CHECK_EQUAL(count, both * COUNT);
        for (int place = 0; place < 8 * COUNT; place++)
            wrong += in[place] != (place < both * COUNT ? value((size_t)place, 0, left) : -1);
        CHECK_EQUAL(wrong, 0);
    }
    MUST(MPI_Request_free(&pair[0]));
    MUST(MPI_Request_free(&pair[1]));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    left = (check_rank + check_size - 1) % check_size;
    right = (check_rank + 1) % check_size;

    static const Side cases[][2] = {
        {{1, 1, 1}, {1, 1, 1}},       {{3, 8, 1}, {8, 3, 1}},       {{16, 256, 1}, {4, 1024, 1}},
        {{33, 17, 1}, {17, 33, 1}},   {{7, 0, 1}, {2, 0, 1}},       {{16, 5000, 1}, {16, 5000, 1}},
        {{4, 5000, 3}, {10, 2000, 1}}, {{10, 700, 1}, {7, 1000, 2}}, {{5, 3000, 2}, {6, 2500, 3}},
        {{2, 200000, 1}, {5, 80000, 1}}, {{4096, 8, 1}, {512, 64, 1}},
    };
    for (size_t which = 0; which < sizeof cases / sizeof cases[0]; which++)
        exchange(cases[which][0], cases[which][1], MPI_COMM_WORLD);
    order_of_matching();
    late_receiver();
    never_started();
    no_process();
    freed_communicator();
    inactive();
    wrong_arguments();
    section("other lengths");
    if (check_strict()) {
        other_length(4, 3, MPI_ERR_TRUNCATE);
        other_length(8, 1, MPI_ERR_TRUNCATE);
        other_length(3, 8, MPI_SUCCESS);
    }
    return check_end();
}
