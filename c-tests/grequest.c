/* Generalized requests: when query, free and cancel functions are called, what becomes of their
 * statuses and errors, alone and among other requests, and completion by another thread. */
#include "check.h"

#include <pthread.h>

struct operation {
    int queried, freed, cancelled, complete_at_cancel;
    int query_code, free_code;
    int count;
};

static int query(void *extra, MPI_Status *status)
{
    struct operation *operation = extra;
    operation->queried++;
    CHECK_EQUAL(operation->freed, 0);
    MPI_Status_set_elements(status, MPI_INT, operation->count);
    MPI_Status_set_cancelled(status, operation->cancelled);
    status->MPI_SOURCE = 17;
    status->MPI_TAG = 18;
    return operation->query_code;
}

static int release(void *extra)
{
    struct operation *operation = extra;
    operation->freed++;
    return operation->free_code;
}

static int cancel(void *extra, int complete)
{
    struct operation *operation = extra;
    operation->cancelled++;
    operation->complete_at_cancel = complete;
    return MPI_SUCCESS;
}

static MPI_Request start(struct operation *operation, int count)
{
    MPI_Request request = MPI_REQUEST_NULL;
    *operation = (struct operation){.count = count, .complete_at_cancel = -1};
    MUST(MPI_Grequest_start(query, release, cancel, operation, &request));
    CHECK(request != MPI_REQUEST_NULL);
    return request;
}

static void expect(const MPI_Status *status, int count, int cancelled)
{
    int got = -1, flag = -1;
    MUST(MPI_Get_elements(status, MPI_INT, &got));
    MUST(MPI_Test_cancelled(status, &flag));
    CHECK_EQUAL(got, count);
    CHECK_EQUAL(flag, cancelled);
    CHECK_EQUAL(status->MPI_SOURCE, 17);
    CHECK_EQUAL(status->MPI_TAG, 18);
}

static void alone(void)
{
    struct operation operation;
    MPI_Request request = start(&operation, 3);
    MPI_Status status = scrambled_status();
    int flag = 1, error = status.MPI_ERROR;
    MUST(MPI_Test(&request, &flag, &status));
    CHECK(!flag && operation.queried == 0);
    MUST(MPI_Request_get_status(request, &flag, &status));
    CHECK(!flag && operation.queried == 0);
    MUST(MPI_Grequest_complete(request));
    CHECK_EQUAL(operation.queried, 0);
    MUST(MPI_Request_get_status(request, &flag, &status));
    CHECK(flag && operation.queried == 1 && operation.freed == 0);
    expect(&status, 3, 0);
    MUST(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
    CHECK(flag && operation.queried == 2 && operation.freed == 0);
    status = scrambled_status();
    MUST(MPI_Wait(&request, &status));
    CHECK(request == MPI_REQUEST_NULL && operation.queried == 3 && operation.freed == 1);
    expect(&status, 3, 0);
    CHECK_EQUAL(status.MPI_ERROR, error);
}

static void freed(void)
{
    struct operation before, after;
    MPI_Request request = start(&before, 0), copy = request;
    MUST(MPI_Request_free(&request));
    CHECK(request == MPI_REQUEST_NULL && before.freed == 0);
    MUST(MPI_Grequest_complete(copy));
    CHECK(before.freed == 1 && before.queried == 0);
    request = start(&after, 0);
    MUST(MPI_Grequest_complete(request));
    CHECK_EQUAL(after.freed, 0);
    MUST(MPI_Request_free(&request));
    CHECK(request == MPI_REQUEST_NULL && after.freed == 1 && after.queried == 0);
}

static void cancelled(void)
{
    struct operation operation;
    MPI_Status status;
    MPI_Request request = start(&operation, 0);
    MUST(MPI_Cancel(&request));
    CHECK(operation.cancelled == 1 && operation.complete_at_cancel == 0);
    MUST(MPI_Grequest_complete(request));
    MUST(MPI_Wait(&request, &status));
    expect(&status, 0, 1);
    request = start(&operation, 0);
    MUST(MPI_Grequest_complete(request));
    MUST(MPI_Cancel(&request));
    CHECK(operation.cancelled == 1 && operation.complete_at_cancel != 0);
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

/* Two generalized requests, a message to oneself, and none. */
enum { MIXED = 4 };

static void start_mixed(struct operation *operation, MPI_Request *request, int *in)
{
    request[0] = start(&operation[0], 1);
    MUST(MPI_Irecv(in, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &request[1]));
    request[2] = start(&operation[1], 2);
    request[3] = MPI_REQUEST_NULL;
}

static void mixed(void)
{
    struct operation operation[2];
    MPI_Request request[MIXED];
    MPI_Status status[MIXED];
    int in = -1, out = 7, flag = 1, index = -1, count = -1, indices[MIXED];
    start_mixed(operation, request, &in);
    MUST(MPI_Testall(MIXED, request, &flag, status));
    CHECK(!flag);
    MUST(MPI_Testany(MIXED, request, &index, &flag, status));
    CHECK(!flag);
    MUST(MPI_Testsome(MIXED, request, &count, indices, status));
    CHECK_EQUAL(count, 0);
    MUST(MPI_Grequest_complete(request[2]));
    MUST(MPI_Waitany(MIXED, request, &index, status));
    CHECK(index == 2 && operation[1].freed == 1 && request[2] == MPI_REQUEST_NULL);
    expect(status, 2, 0);
    MUST(MPI_Send(&out, 1, MPI_INT, 0, 5, MPI_COMM_SELF));
    MUST(MPI_Grequest_complete(request[0]));
    MUST(MPI_Waitall(MIXED, request, status));
    CHECK(operation[0].queried == 1 && operation[0].freed == 1 && in == 7);
    expect(&status[0], 1, 0);
    CHECK_EQUAL(status[1].MPI_TAG, 5);
    start_mixed(operation, request, &in);
    MUST(MPI_Send(&out, 1, MPI_INT, 0, 5, MPI_COMM_SELF));
    MUST(MPI_Grequest_complete(request[0]));
    MUST(MPI_Waitsome(MIXED, request, &count, indices, status));
    CHECK(count == 2 && indices[0] + indices[1] == 1 && operation[0].freed == 1);
    expect(&status[indices[0] == 0 ? 0 : 1], 1, 0);
    MUST(MPI_Grequest_complete(request[2]));
    MUST(MPI_Testall(MIXED, request, &flag, MPI_STATUSES_IGNORE));
    CHECK(flag && operation[1].freed == 1);
    CHECK_STRICTLY(operation[1].queried == 1);
}

static void errors(void)
{
    struct operation operation[2];
    MPI_Request request[2];
    MPI_Status status[2];
    int code, class, index;
    MUST(MPI_Add_error_class(&class));
    MUST(MPI_Add_error_code(class, &code));
    request[0] = start(&operation[0], 1);
    operation[0].free_code = code;
    MUST(MPI_Grequest_complete(request[0]));
    CHECK_EQUAL(MPI_Wait(&request[0], status), code);
    CHECK(request[0] == MPI_REQUEST_NULL && operation[0].freed == 1);
    request[0] = start(&operation[0], 1);
    operation[0].query_code = code;
    MUST(MPI_Grequest_complete(request[0]));
    CHECK_EQUAL(MPI_Waitany(1, request, &index, status), code);
    CHECK(request[0] == MPI_REQUEST_NULL && operation[0].freed == 1);
    for (int place = 0; place < 2; place++)
        request[place] = start(&operation[place], 1);
    operation[1].free_code = code;
    MUST(MPI_Grequest_complete(request[0]));
    MUST(MPI_Grequest_complete(request[1]));
    MUST_FAIL(MPI_Waitall(2, request, status), MPI_ERR_IN_STATUS);
    CHECK_EQUAL(status[0].MPI_ERROR, MPI_SUCCESS);
    CHECK_STRICTLY(status[1].MPI_ERROR == code);
    CHECK(operation[0].freed == 1 && operation[1].freed == 1);
}

static void bad_input(void)
{
    MPI_Request request, done;
    struct operation operation;
    int in, out = 1;
    if (!check_strict())
        return;
    MUST(MPI_Irecv(&in, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &request));
    MUST_FAIL(MPI_Grequest_complete(request), MPI_ERR_REQUEST);
    MUST(MPI_Send(&out, 1, MPI_INT, 0, 5, MPI_COMM_SELF));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MUST_FAIL(MPI_Grequest_complete(MPI_REQUEST_NULL), MPI_ERR_REQUEST);
    request = done = start(&operation, 1);
    MUST(MPI_Grequest_complete(request));
    MUST_FAIL(MPI_Grequest_complete(request), MPI_ERR_REQUEST);
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MUST_FAIL(MPI_Grequest_complete(done), MPI_ERR_REQUEST);
    request = done = start(&operation, 1);
    MUST(MPI_Request_free(&request));
    MUST_FAIL(MPI_Wait(&done, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    MUST(MPI_Grequest_complete(done));
    CHECK_EQUAL(operation.freed, 1);
    MUST_FAIL(MPI_Grequest_start(NULL, release, cancel, NULL, &request), MPI_ERR_ARG);
}

static void *complete_late(void *request)
{
    sleep_ms(30);
    MUST(MPI_Grequest_complete(*(MPI_Request *)request));
    return NULL;
}

/* The thread that waits sleeps by then. */
static void from_another_thread(void)
{
    struct operation operation;
    pthread_t thread;
    for (int round = 0; round < 3; round++) {
        MPI_Request request = start(&operation, 1), copy = request;
        MPI_Status status;
        CHECK(pthread_create(&thread, NULL, complete_late, &copy) == 0);
        MUST(MPI_Wait(&request, &status));
        expect(&status, 1, 0);
        pthread_join(thread, NULL);
    }
}

int main(int argc, char **argv)
{
    int provided = -1;
    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS)
        return 2;
    check_adopt();
    section("alone");
    alone();
    section("freed");
    freed();
    section("cancelled");
    cancelled();
    section("mixed");
    mixed();
    section("errors");
    errors();
    section("bad input");
    bad_input();
    section("from another thread");
    from_another_thread();
    return check_end();
}
