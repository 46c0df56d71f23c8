/* Persistent collectives, all of them made first and then started again and again with other data:
 * in an order of its own on each rank, one by one or together, completed in every way, with
 * messages and other collectives in between, and freed. Types and operations are freed at once. */
#include "comms.h"

enum {
    BARRIER, BCAST, GATHER, GATHERV, SCATTER, SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV,
    ALLTOALLW, REDUCE, ALLREDUCE, BLOCK, UNEVEN_BLOCKS, SCAN, EXSCAN,
    BCAST_SPARSE, ALLGATHER_IN_PLACE, ALLTOALL_IN_PLACE, REDUCE_SPARSE, SCAN_SPARSE_IN_PLACE,
    ALLREDUCE_SPARSE_IN_PLACE, COMPOSE, KINDS
};
enum { SEND = KINDS, RECEIVE, REQUESTS }; /* and a message to the right */
enum { RANKS_MAX = 16, UNTOUCHED = -77, TWINS = 12 };

/* How the requests are completed. */
enum { WAIT_ALL, TEST_ALL, WAIT_EACH, WAIT_ANY, WAIT_SOME, TEST_ANY, TEST_SOME, TEST_EACH, WAYS };

/* Memory of one collective, and the counts and places that must stay as they are. */
typedef struct {
    int *out, *in;
    int out_counts[RANKS_MAX], out_begin[RANKS_MAX], in_counts[RANKS_MAX], in_begin[RANKS_MAX];
    MPI_Datatype types[RANKS_MAX];
} Job;

static uint64_t seed;
static Job jobs[KINDS];
static MPI_Request requests[REQUESTS];
static int sent, got;

static int number(int from, int to, int index, int turn)
{
    return from * 100000 + to * 1000 + index % 1000 + turn * 7;
}

/* What rank `from` has for `to` where the lengths differ. */
static int uneven(int from, int to, int count)
{
    return (from + 2 * to) % 3 == 0 ? 0 : count - (from + to) % 2 * (count / 2);
}

/* An affine map of each operand, composed from left to right: the order shows in the result. */
static void compose(void *in, void *inout, int *length, MPI_Datatype *type)
{
    const unsigned *first = in;
    unsigned *second = inout;
    (void)type;
    for (int index = 0; index < *length; index++, first += 2, second += 2) {
        unsigned slope = first[0] * second[0], start = first[1] * second[0] + second[1];
        second[0] = slope;
        second[1] = start;
    }
}

/* The sum of elements of which only every other int counts. */
static void add_sparse(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)type;
    for (int index = 0; index < 2 * *length; index += 2)
        ((int *)inout)[index] += ((int *)in)[index];
}

static void make(const Place *at, int count)
{
    MPI_Comm comm = at->comm;
    int root = at->size / 2, last = at->size - 1, me = at->rank;
    MPI_Datatype sparse, pair;
    MPI_Op op, add;
    MPI_Info none = MPI_INFO_NULL;
    MUST(MPI_Type_create_resized(MPI_INT, 0, 2 * (int)sizeof(int), &sparse));
    MUST(MPI_Type_commit(&sparse));
    MUST(MPI_Type_contiguous(2, MPI_INT, &pair));
    MUST(MPI_Type_commit(&pair));
    MUST(MPI_Op_create(compose, 0, &op));
    MUST(MPI_Op_create(add_sparse, 1, &add));
    for (int kind = 0; kind < KINDS; kind++) {
        Job *job = &jobs[kind];
        size_t total = (size_t)(count * at->size * 2 + 2);
        job->out = take(total * sizeof(int));
        job->in = take(total * sizeof(int));
        for (int peer = 0; peer < at->size; peer++) {
            int unit = kind == ALLTOALLW ? (int)sizeof(int) : 1;
            job->out_counts[peer] = uneven(me, peer, count);
            job->in_counts[peer] = uneven(peer, kind == GATHERV ? root
                                          : kind == ALLGATHERV  ? 0
                                                                : me, count);
            job->out_begin[peer] = job->in_begin[peer] = peer * count * unit;
            job->types[peer] = MPI_INT;
        }
    }
    for (int kind = 0; kind < KINDS; kind++) {
        Job *job = &jobs[kind];
        MPI_Request *request = &requests[kind];
        switch (kind) {
        case BARRIER:
            MUST(MPI_Barrier_init(comm, none, request));
            break;
        case BCAST:
            MUST(MPI_Bcast_init(job->in, count, MPI_INT, root, comm, none, request));
            break;
        case GATHER:
            MUST(MPI_Gather_init(job->out, count, MPI_INT, job->in, count, MPI_INT, last, comm,
                                 none, request));
            break;
        case GATHERV:
            MUST(MPI_Gatherv_init(job->out + root * count, job->out_counts[root], MPI_INT, job->in,
                                  job->in_counts, job->in_begin, MPI_INT, root, comm, none,
                                  request));
            break;
        case SCATTER:
            MUST(MPI_Scatter_init(job->out, count, MPI_INT, job->in, count, MPI_INT, last, comm,
                                  none, request));
            break;
        case SCATTERV:
            MUST(MPI_Scatterv_init(job->out, job->out_counts, job->out_begin, MPI_INT, job->in,
                                   job->in_counts[root], MPI_INT, root, comm, none, request));
            break;
        case ALLGATHER:
            MUST(MPI_Allgather_init(job->out, count, MPI_INT, job->in, count, MPI_INT, comm, none,
                                    request));
            break;
        case ALLGATHERV:
            MUST(MPI_Allgatherv_init(job->out, job->in_counts[me], MPI_INT, job->in,
                                     job->in_counts, job->in_begin, MPI_INT, comm, none, request));
            break;
        case ALLTOALL:
            MUST(MPI_Alltoall_init(job->out, count, MPI_INT, job->in, count, MPI_INT, comm, none,
                                   request));
            break;
        case ALLTOALLV:
            MUST(MPI_Alltoallv_init(job->out, job->out_counts, job->out_begin, MPI_INT, job->in,
                                    job->in_counts, job->in_begin, MPI_INT, comm, none, request));
            break;
        case ALLTOALLW:
            MUST(MPI_Alltoallw_init(job->out, job->out_counts, job->out_begin, job->types, job->in,
                                    job->in_counts, job->in_begin, job->types, comm, none,
                                    request));
            break;
        case REDUCE:
            MUST(MPI_Reduce_init(job->out, job->in, count, MPI_INT, MPI_SUM, root, comm, none,
                                 request));
            break;
        case ALLREDUCE:
            MUST(MPI_Allreduce_init(job->out, job->in, count, MPI_INT, MPI_SUM, comm, none,
                                    request));
            break;
        case BLOCK:
            MUST(MPI_Reduce_scatter_block_init(job->out, job->in, count, MPI_INT, MPI_SUM, comm,
                                               none, request));
            break;
        case UNEVEN_BLOCKS:
            for (int peer = 0; peer < at->size; peer++)
                job->in_counts[peer] = uneven(0, peer, count);
            MUST(MPI_Reduce_scatter_init(job->out, job->in, job->in_counts, MPI_INT, MPI_SUM, comm,
                                         none, request));
            break;
        case SCAN:
            MUST(MPI_Scan_init(job->out, job->in, count, MPI_INT, MPI_SUM, comm, none, request));
            break;
        case EXSCAN:
            MUST(MPI_Exscan_init(job->out, job->in, count, MPI_INT, MPI_SUM, comm, none, request));
            break;
        case BCAST_SPARSE:
            MUST(MPI_Bcast_init(job->in, count, sparse, root, comm, none, request));
            break;
        case ALLGATHER_IN_PLACE:
            MUST(MPI_Allgather_init(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, job->in, count, MPI_INT,
                                    comm, none, request));
            break;
        case ALLTOALL_IN_PLACE:
            MUST(MPI_Alltoall_init(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, job->in, count, MPI_INT,
                                   comm, none, request));
            break;
        case REDUCE_SPARSE:
            MUST(MPI_Reduce_init(job->out, job->in, count, sparse, add, root, comm, none,
                                 request));
            break;
        case SCAN_SPARSE_IN_PLACE:
            MUST(MPI_Scan_init(MPI_IN_PLACE, job->in, count, sparse, add, comm, none,
                               request));
            break;
        case ALLREDUCE_SPARSE_IN_PLACE:
            MUST(MPI_Allreduce_init(MPI_IN_PLACE, job->in, count, sparse, add, comm, none,
                                    request));
            break;
        case COMPOSE:
            MUST(MPI_Allreduce_init(MPI_IN_PLACE, job->in, count, pair, op, comm, none, request));
            break;
        }
    }
    MUST(MPI_Type_free(&sparse));
    MUST(MPI_Type_free(&pair));
    MUST(MPI_Op_free(&op));
    MUST(MPI_Op_free(&add));
    MUST(MPI_Send_init(&sent, 1, MPI_INT, (me + 1) % at->size, 4, comm, &requests[SEND]));
    MUST(MPI_Recv_init(&got, 1, MPI_INT, (me + last) % at->size, 4, comm, &requests[RECEIVE]));
}

static void prepare(const Place *at, int count, int turn)
{
    int me = at->rank, root = at->size / 2;
    for (int kind = 0; kind < KINDS; kind++) {
        int *out = jobs[kind].out, *in = jobs[kind].in;
        for (int place = 0; place < 2 * count * at->size; place++) {
            int block = place / count, index = place % count, value = UNTOUCHED;
            out[place] = number(me, block, index, turn);
            switch (kind) {
            case BCAST:
                if (me == root && block == 0)
                    value = number(me, 0, index, turn);
                break;
            case BCAST_SPARSE:
                if (me == root && block < 2 && place % 2 == 0)
                    value = number(me, 0, place / 2, turn);
                break;
            case ALLGATHER_IN_PLACE:
                if (block == me)
                    value = number(me, 0, index, turn);
                break;
            case ALLTOALL_IN_PLACE:
                if (block < at->size)
                    value = number(me, block, index, turn);
                break;
            case SCAN_SPARSE_IN_PLACE:
            case ALLREDUCE_SPARSE_IN_PLACE:
                if (block < 2 && place % 2 == 0)
                    value = number(me, 0, place / 2, turn);
                break;
            case COMPOSE:
                if (block < 2)
                    value = place % 2 == 0 ? 3 + 2 * (me + place / 2 + turn) : me;
                break;
            }
            in[place] = value;
        }
    }
    sent = number(me, 0, 0, turn);
}

/* The sum over ranks `0..ranks` of what each has for `to`. */
static int sum(int ranks, int to, int index, int turn)
{
    int total = 0;
    for (int from = 0; from < ranks; from++)
        total += number(from, to, index, turn);
    return total;
}

static int composed(int ranks, int index, int turn, int part)
{
    unsigned slope = 1, start = 0;
    for (int rank = 0; rank < ranks; rank++) {
        unsigned theirs = 3u + 2u * (unsigned)(rank + index + turn);
        slope *= theirs;
        start = start * theirs + (unsigned)rank;
    }
    return (int)(part == 0 ? slope : start);
}

/* What is at `place` of the receive buffer afterwards. */
static int expected(const Place *at, int kind, int count, int place, int turn)
{
    int me = at->rank, size = at->size, root = size / 2, last = size - 1, begin = 0;
    int block = place / count, index = place % count, half = place / 2, even = place % 2 == 0;
    switch (kind) {
    case BCAST:
        return block == 0 ? number(root, 0, index, turn) : UNTOUCHED;
    case GATHER:
        return me == last && block < size ? number(block, 0, index, turn) : UNTOUCHED;
    case GATHERV:
        return me == root && block < size && index < uneven(block, root, count)
                   ? number(block, root, index, turn) : UNTOUCHED;
    case SCATTER:
        return block == 0 ? number(last, me, index, turn) : UNTOUCHED;
    case SCATTERV:
        return place < uneven(root, me, count) ? number(root, me, index, turn) : UNTOUCHED;
    case ALLGATHER:
    case ALLGATHER_IN_PLACE:
        return block < size ? number(block, 0, index, turn) : UNTOUCHED;
    case ALLGATHERV:
        return block < size && index < uneven(block, 0, count)
                   ? number(block, 0, index, turn) : UNTOUCHED;
    case ALLTOALL:
    case ALLTOALL_IN_PLACE:
        return block < size ? number(block, me, index, turn) : UNTOUCHED;
    case ALLTOALLV:
    case ALLTOALLW:
        return block < size && index < uneven(block, me, count)
                   ? number(block, me, index, turn) : UNTOUCHED;
    case REDUCE:
        return me == root && block == 0 ? sum(size, 0, index, turn) : UNTOUCHED;
    case ALLREDUCE:
        return block == 0 ? sum(size, 0, index, turn) : UNTOUCHED;
    case BLOCK:
        return block == 0 ? sum(size, me, index, turn) : UNTOUCHED;
    case UNEVEN_BLOCKS:
        for (int peer = 0; peer < me; peer++)
            begin += uneven(0, peer, count);
        return place < uneven(0, me, count)
                   ? sum(size, (begin + place) / count, (begin + place) % count, turn) : UNTOUCHED;
    case SCAN:
        return block == 0 ? sum(me + 1, 0, index, turn) : UNTOUCHED;
    case EXSCAN:
        return block == 0 && me > 0 ? sum(me, 0, index, turn) : UNTOUCHED;
    case BCAST_SPARSE:
        return block < 2 && even ? number(root, 0, half, turn) : UNTOUCHED;
    case REDUCE_SPARSE:
        return me == root && block < 2 && even ? sum(size, block, index, turn) : UNTOUCHED;
    case SCAN_SPARSE_IN_PLACE:
        return block < 2 && even ? sum(me + 1, 0, half, turn) : UNTOUCHED;
    case ALLREDUCE_SPARSE_IN_PLACE:
        return block < 2 && even ? sum(size, 0, half, turn) : UNTOUCHED;
    case COMPOSE:
        return block < 2 ? composed(size, half, turn, place % 2) : UNTOUCHED;
    }
    return UNTOUCHED;
}

static void check_results(const Place *at, int count, int turn)
{
    for (int kind = 0; kind < KINDS; kind++) {
        int wrong = 0;
        for (int place = 0; place < 2 * count * at->size; place++)
            wrong += jobs[kind].in[place] != expected(at, kind, count, place, turn);
        if (wrong != 0)
            check_fail(__FILE__, __LINE__, "operation %d, %d ints, turn %d: %d are wrong", kind,
                       count, turn, wrong);
    }
    CHECK_EQUAL(got, number((at->rank + at->size - 1) % at->size, 0, 0, turn));
}

/* Start all of them, in an order that other ranks do not have. */
static void start(const Place *at, int turn)
{
    int order[REQUESTS], value = at->rank;
    for (int index = 0; index < REQUESTS; index++) {
        int other = (int)draw(&seed, (unsigned)index + 1);
        order[index] = order[other];
        order[other] = index;
    }
    if (turn % 3 == 0) {
        MPI_Request list[REQUESTS];
        for (int index = 0; index < REQUESTS; index++)
            list[index] = requests[order[index]];
        MUST(MPI_Startall(REQUESTS, list));
        return;
    }
    for (int index = 0; index < REQUESTS; index++) {
        MUST(MPI_Start(&requests[order[index]]));
        if (index == REQUESTS / 2 && turn % 3 == 1) {
            MUST(MPI_Bcast(&value, 1, MPI_INT, at->size - 1, at->comm));
            CHECK_EQUAL(value, at->size - 1);
        }
    }
}

static void complete(int way)
{
    int done = 0, index = -1, some = 0, indices[REQUESTS];
    switch (way) {
    case WAIT_ALL:
        MUST(MPI_Waitall(REQUESTS, requests, MPI_STATUSES_IGNORE));
        break;
    case TEST_ALL:
        while (!done)
            MUST(MPI_Testall(REQUESTS, requests, &done, MPI_STATUSES_IGNORE));
        break;
    case WAIT_EACH:
        for (int kind = REQUESTS - 1; kind >= 0; kind--)
            MUST(MPI_Wait(&requests[kind], MPI_STATUS_IGNORE));
        break;
    case WAIT_ANY:
        for (int count = 0; count < REQUESTS; count++) {
            MUST(MPI_Waitany(REQUESTS, requests, &index, MPI_STATUS_IGNORE));
            CHECK(index >= 0 && index < REQUESTS);
        }
        break;
    case TEST_ANY:
        for (int count = 0; count < REQUESTS; count += done)
            MUST(MPI_Testany(REQUESTS, requests, &index, &done, MPI_STATUS_IGNORE));
        break;
    case WAIT_SOME:
        for (int count = 0; count < REQUESTS; count += some)
            MUST(MPI_Waitsome(REQUESTS, requests, &some, indices, MPI_STATUSES_IGNORE));
        break;
    case TEST_SOME:
        for (int count = 0; count < REQUESTS; count += some)
            MUST(MPI_Testsome(REQUESTS, requests, &some, indices, MPI_STATUSES_IGNORE));
        break;
    case TEST_EACH:
        for (int kind = 0; kind < REQUESTS; kind++) {
            for (done = 0; !done;)
                MUST(MPI_Request_get_status(requests[kind], &done, MPI_STATUS_IGNORE));
            MUST(MPI_Test(&requests[kind], &done, MPI_STATUS_IGNORE));
            CHECK_EQUAL(done, 1);
        }
        break;
    }
    MUST(MPI_Waitany(REQUESTS, requests, &index, MPI_STATUS_IGNORE));
    CHECK_EQUAL(index, MPI_UNDEFINED);
    for (int kind = 0; kind < REQUESTS; kind++)
        CHECK(requests[kind] != MPI_REQUEST_NULL);
}

static void again_and_again(const Place *at)
{
    static const int counts[] = {0, 1, 130, 9000}, turns[] = {2, 100, 8, 3};
    if (at->size > RANKS_MAX)
        return;
    for (int size = 0; size < 4; size++) {
        /* Many ranks share cores. */
        int count = counts[size], last = at->size > 4 ? (turns[size] + 3) / 4 : turns[size];
        make(at, count);
        for (int turn = 0; turn < last; turn++) {
            prepare(at, count, turn);
            start(at, turn);
            complete((int)draw(&seed, WAYS));
            check_results(at, count, turn);
        }
        for (int kind = 0; kind < KINDS; kind++) {
            free(jobs[kind].out);
            free(jobs[kind].in);
        }
        for (int kind = 0; kind < REQUESTS; kind++)
            MUST(MPI_Request_free(&requests[kind]));
    }
}

/* Operations that only the order in which they were made tells apart. */
static void twins(const Place *at)
{
    MPI_Request twin[TWINS];
    int out[TWINS], in[TWINS], order[TWINS];
    for (int index = 0; index < TWINS; index++)
        MUST(MPI_Allreduce_init(&out[index], &in[index], 1, MPI_INT, MPI_SUM, at->comm,
                                MPI_INFO_NULL, &twin[index]));
    for (int turn = 0; turn < 50; turn++) {
        for (int index = 0; index < TWINS; index++) {
            int other = (int)draw(&seed, (unsigned)index + 1);
            order[index] = order[other];
            order[other] = index;
            out[index] = number(at->rank, index, 0, turn);
        }
        for (int index = 0; index < TWINS; index++)
            MUST(MPI_Start(&twin[order[index]]));
        MUST(MPI_Waitall(TWINS, twin, MPI_STATUSES_IGNORE));
        for (int index = 0; index < TWINS; index++)
            CHECK_EQUAL(in[index], sum(at->size, index, 0, turn));
        /* One of them runs ahead of the others. */
        for (int ahead = 0; ahead < 3; ahead++) {
            MUST(MPI_Start(&twin[turn % TWINS]));
            MUST(MPI_Wait(&twin[turn % TWINS], MPI_STATUS_IGNORE));
        }
    }
    for (int index = 0; index < TWINS; index++)
        MUST(MPI_Request_free(&twin[index]));
}

/* A root that is done long before the others, who are late with instance after instance. */
static void ahead(const Place *at)
{
    MPI_Request cast;
    int value = -1;
    MUST(MPI_Bcast_init(&value, 1, MPI_INT, 0, at->comm, MPI_INFO_NULL, &cast));
    if (at->rank == at->size - 1 && at->size > 1)
        sleep_ms(5);
    for (int turn = 0; turn < 100; turn++) {
        value = at->rank == 0 ? turn : -1;
        MUST(MPI_Start(&cast));
        MUST(MPI_Wait(&cast, MPI_STATUS_IGNORE));
        CHECK_EQUAL(value, turn);
    }
    MUST(MPI_Request_free(&cast));
}

/* The communicator's handle goes before the request; a request goes while it is active. */
static void freed(const Place *at)
{
    MPI_Comm comm;
    MPI_Request reduce;
    int own = at->rank + 1, total = 0, all = at->size * (at->size + 1) / 2;
    MUST(MPI_Comm_dup(at->comm, &comm));
    MUST(MPI_Allreduce_init(&own, &total, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &reduce));
    MUST(MPI_Comm_free(&comm));
    for (int turn = 0; turn < 3; turn++) {
        total = 0;
        MUST(MPI_Start(&reduce));
        MUST(MPI_Wait(&reduce, MPI_STATUS_IGNORE));
        CHECK_EQUAL(total, all);
    }
    if (check_strict()) {
        int flag;
        total = 0;
        MUST(MPI_Start(&reduce));
        MUST(MPI_Request_free(&reduce));
        CHECK(reduce == MPI_REQUEST_NULL);
        while (*(volatile int *)&total != all)
            MUST(MPI_Iprobe(0, 99, at->comm, &flag, MPI_STATUS_IGNORE));
        MUST(MPI_Barrier(at->comm));
    } else {
        MUST(MPI_Request_free(&reduce));
    }
}

/* Wrong arguments are found when the request is made, and a request is not misused. */
static void errors(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Info info;
    int out = 1, in = 0;
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "some", "hint"));
    MUST(MPI_Allreduce_init(&out, &in, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF, info, &request));
    MUST(MPI_Info_free(&info));
    MUST(MPI_Start(&request));
    if (check_strict()) {
        MUST_FAIL(MPI_Start(&request), MPI_ERR_REQUEST);
        MUST_FAIL(MPI_Cancel(&request), MPI_ERR_REQUEST);
        MUST_FAIL(MPI_Barrier_init(MPI_COMM_SELF, (MPI_Info)MPI_COMM_SELF, &request),
                  MPI_ERR_INFO);
    }
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_EQUAL(in, 1);
    if (check_strict())
        MUST_FAIL(MPI_Cancel(&request), MPI_ERR_REQUEST);
    MUST(MPI_Request_free(&request));
    MUST_FAIL(MPI_Bcast_init(&out, 1, MPI_INT, 1, MPI_COMM_SELF, MPI_INFO_NULL, &request),
              MPI_ERR_ROOT);
    MUST_FAIL(MPI_Bcast_init(&out, -1, MPI_INT, 0, MPI_COMM_SELF, MPI_INFO_NULL, &request),
              MPI_ERR_COUNT);
    MUST_FAIL(MPI_Allreduce_init(&out, &in, 1, MPI_FLOAT, MPI_BAND, MPI_COMM_SELF, MPI_INFO_NULL,
                                 &request),
              MPI_ERR_OP);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    seed = (uint64_t)check_rank + 5;
    comms_open();
    section("again and again");
    comms_each(again_and_again);
    section("twins");
    comms_each(twins);
    section("one ahead");
    comms_each(ahead);
    section("freed");
    comms_each(freed);
    section("errors");
    errors();
    comms_close();
    return check_end();
}
