/* Checked mode (SUIRO_CHECK=1): if ranks do not agree on a collective operation, all get an error
 * of the right class and continue; if they agree, they get their results. */
#include "check.h"

static int ours(const char *variable)
{
    const char *value = getenv(variable);
    return value != NULL && strcmp(value, "1") == 0;
}

/* What one kind of mistake gives on every rank. */
#define ALL_FAIL(call, class)                                                                    \
    do {                                                                                         \
        MUST_FAIL(call, class);                                                                  \
        agree();                                                                                 \
    } while (0)

/* The communicator serves the next call as if nothing had been. */
static void agree(void)
{
    int sum = -1, due = check_size * (check_size - 1) / 2;
    MUST(MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQUAL(sum, due);
}

/* This rank is the one that is wrong. */
static int odd;

static int data[64], result[64], ones[64], zeros[64];

static void roots(void)
{
    int root = odd ? 1 : 0;
    ALL_FAIL(MPI_Bcast(data, 2, MPI_INT, root, MPI_COMM_WORLD), MPI_ERR_ROOT);
    ALL_FAIL(MPI_Reduce(data, result, 2, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD), MPI_ERR_ROOT);
    ALL_FAIL(MPI_Gather(data, 1, MPI_INT, result, 1, MPI_INT, root, MPI_COMM_WORLD),
             MPI_ERR_ROOT);
    ALL_FAIL(MPI_Gatherv(data, 1, MPI_INT, result, ones, zeros, MPI_INT, root, MPI_COMM_WORLD),
             MPI_ERR_ROOT);
    ALL_FAIL(MPI_Scatter(data, 1, MPI_INT, result, 1, MPI_INT, root, MPI_COMM_WORLD),
             MPI_ERR_ROOT);
    ALL_FAIL(MPI_Scatterv(data, ones, zeros, MPI_INT, result, 1, MPI_INT, root, MPI_COMM_WORLD),
             MPI_ERR_ROOT);
}

static void amounts(void)
{
    int count = odd ? 3 : 2;
    ALL_FAIL(MPI_Bcast(data, count, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
    ALL_FAIL(MPI_Reduce(data, result, count, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
    ALL_FAIL(MPI_Allreduce(data, result, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_COUNT);
    ALL_FAIL(MPI_Scan(data, result, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_COUNT);
    ALL_FAIL(MPI_Exscan(data, result, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_COUNT);
    ALL_FAIL(MPI_Gather(data, count, MPI_INT, result, count, MPI_INT, 0, MPI_COMM_WORLD),
             MPI_ERR_COUNT);
    ALL_FAIL(MPI_Scatter(data, count, MPI_INT, result, count, MPI_INT, 0, MPI_COMM_WORLD),
             MPI_ERR_COUNT);
    ALL_FAIL(MPI_Allgather(data, count, MPI_INT, result, count, MPI_INT, MPI_COMM_WORLD),
             MPI_ERR_COUNT);
    ALL_FAIL(MPI_Alltoall(data, count, MPI_INT, result, count, MPI_INT, MPI_COMM_WORLD),
             MPI_ERR_COUNT);
    ALL_FAIL(MPI_Reduce_scatter_block(data, result, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD),
             MPI_ERR_COUNT);
    int counts[64];
    for (int rank = 0; rank < check_size; rank++)
        counts[rank] = 1 + (odd && rank == 0);
    ALL_FAIL(MPI_Reduce_scatter(data, result, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD),
             MPI_ERR_COUNT);
    ALL_FAIL(MPI_Allgatherv(data, counts[check_rank], MPI_INT, result, counts, zeros, MPI_INT,
                            MPI_COMM_WORLD), MPI_ERR_COUNT);
    /* Equal bytes of other types are equal amounts. */
    MUST(MPI_Bcast(data, odd ? 8 : 2, odd ? MPI_BYTE : MPI_INT, 0, MPI_COMM_WORLD));
}

static void keep(void *from, void *into, int *count, MPI_Datatype *type)
{
    (void)from, (void)into, (void)count, (void)type;
}

static void operations(void)
{
    MPI_Op op = odd ? MPI_MAX : MPI_SUM, own;
    ALL_FAIL(MPI_Allreduce(data, result, 2, MPI_INT, op, MPI_COMM_WORLD), MPI_ERR_OP);
    ALL_FAIL(MPI_Reduce(data, result, 2, MPI_INT, op, 0, MPI_COMM_WORLD), MPI_ERR_OP);
    MUST(MPI_Op_create(keep, 1, &own));
    ALL_FAIL(MPI_Scan(data, result, 2, MPI_INT, odd ? own : MPI_SUM, MPI_COMM_WORLD), MPI_ERR_OP);
    MUST(MPI_Scan(data, result, 2, MPI_INT, own, MPI_COMM_WORLD));
    MUST(MPI_Op_free(&own));
}

static void functions(void)
{
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Request request;
    ALL_FAIL(odd ? MPI_Allreduce(data, result, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD)
                 : MPI_Bcast(data, 2, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_ARG);
    ALL_FAIL(odd ? MPI_Barrier(MPI_COMM_WORLD)
                 : MPI_Alltoall(data, 4, MPI_INT, result, 4, MPI_INT, MPI_COMM_WORLD),
             MPI_ERR_ARG);
    ALL_FAIL(odd ? MPI_Comm_dup(MPI_COMM_WORLD, &comm) : MPI_Barrier(MPI_COMM_WORLD),
             MPI_ERR_ARG);
    /* A nonblocking call returns and its request has the error. It does not match a blocking one. */
    if (odd) {
        MUST(MPI_Ibcast(data, 2, MPI_INT, 0, MPI_COMM_WORLD, &request));
        MUST_FAIL(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_ARG);
    } else {
        MUST_FAIL(MPI_Bcast(data, 2, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_ARG);
    }
    agree();
}

/* Persistent operations are compared where they are made, not where they start. */
static void persistent(void)
{
    MPI_Request requests[2];
    MUST_FAIL(MPI_Bcast_init(data, odd ? 3 : 2, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                             &requests[0]), MPI_ERR_COUNT);
    MUST_FAIL(odd ? MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0])
                  : MPI_Bcast_init(data, 2, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                                   &requests[0]), MPI_ERR_ARG);
    int code = MPI_Bcast_init(data, 2, MPI_INT, odd ? -3 : 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                              &requests[0]);
    CHECK_EQUAL(check_class(code), MPI_ERR_ROOT);
    MUST(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
    MUST(MPI_Allreduce_init(&check_rank, result, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD,
                            MPI_INFO_NULL, &requests[1]));
    MUST(MPI_Start(&requests[odd]));
    agree();
    MUST(MPI_Start(&requests[!odd]));
    MUST(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK_EQUAL(result[0], check_size - 1);
    MUST(MPI_Request_free(&requests[0]));
    MUST(MPI_Request_free(&requests[1]));
}

/* Two calls in unlike order: both fail everywhere. */
static void order(void)
{
    MPI_Request requests[2];
    int at = odd;
    MUST(MPI_Ibcast(data, 2, MPI_INT, 0, MPI_COMM_WORLD, &requests[0]));
    for (int call = 0; call < 2; call++, at = !at) {
        if (call == 0) {
            MUST(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        }
        if (at)
            MUST(MPI_Ibarrier(MPI_COMM_WORLD, &requests[call]));
        else
            MUST(MPI_Iallreduce(data, result, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                &requests[call]));
    }
    for (int call = 1; call >= 0; call--)
        MUST_FAIL(MPI_Wait(&requests[call], MPI_STATUS_IGNORE), MPI_ERR_ARG);
    agree();
}

/* One rank's arguments are no good at all: the others do not wait for it. */
static void wrong_on_one_rank(void)
{
    ALL_FAIL(MPI_Bcast(data, 2, MPI_INT, odd ? check_size : 0, MPI_COMM_WORLD), MPI_ERR_ROOT);
    ALL_FAIL(MPI_Allreduce(data, result, odd ? -1 : 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD),
             MPI_ERR_COUNT);
    ALL_FAIL(MPI_Allgather(data, 1, odd ? MPI_DATATYPE_NULL : MPI_INT, result, 1, MPI_INT,
                           MPI_COMM_WORLD), MPI_ERR_TYPE);
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_Ireduce(data, result, 1, MPI_INT, odd ? MPI_OP_NULL : MPI_SUM, 0,
                           MPI_COMM_WORLD, &request);
    MUST_FAIL(odd ? code : MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_OP);
    agree();
}

/* The error names both ranks with their calls. */
static void words(void)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    int code = MPI_Bcast(data, 2, MPI_INT, odd, MPI_COMM_WORLD);
    MUST(MPI_Error_string(code, text, &length));
    CHECK(length > 0);
}

static void between_groups(void)
{
    MPI_Comm half, bridge;
    int low = check_rank < check_size / 2;
    MUST(MPI_Comm_split(MPI_COMM_WORLD, low, check_rank, &half));
    MUST(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? check_size / 2 : 0, 7, &bridge));
    MUST(MPI_Comm_set_errhandler(bridge, MPI_ERRORS_RETURN));
    int own, root;
    MUST(MPI_Comm_rank(bridge, &own));
    root = low ? own == 0 ? MPI_ROOT : MPI_PROC_NULL : 0;
    MUST(MPI_Bcast(data, 2, MPI_INT, root, bridge));
    MUST_FAIL(MPI_Bcast(data, odd ? 3 : 2, MPI_INT, root, bridge), MPI_ERR_COUNT);
    MUST(MPI_Allgather(data, 1, MPI_INT, result, 1, MPI_INT, bridge));
    MUST_FAIL(low ? MPI_Barrier(bridge)
                  : MPI_Alltoall(data, 1, MPI_INT, result, 1, MPI_INT, bridge), MPI_ERR_ARG);
    MUST(MPI_Barrier(bridge));
    MUST(MPI_Comm_free(&bridge));
    MUST(MPI_Comm_free(&half));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    for (int index = 0; index < 64; index++)
        ones[index] = 1;
    section("unlike calls");
    /* Elsewhere these programs are wrong. */
    if (ours("SUIRO_CHECK") && check_strict() && check_size > 1) {
        for (int wrong = 0; wrong < check_size; wrong += check_size - 1) {
            odd = check_rank == wrong;
            roots();
            amounts();
            operations();
            functions();
            persistent();
            order();
            wrong_on_one_rank();
            words();
        }
        odd = check_rank == check_size - 1;
        between_groups();
    }
    return check_end();
}
