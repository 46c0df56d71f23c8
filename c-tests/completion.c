/* Wait and test, for one, any, some and all: null and inactive requests among live ones, empty
 * lists, order, and what comes back when some of them fail. */
#include "check.h"

enum { MANY = 40 };
static int partner;
static int in[MANY], out[MANY];
static MPI_Request receive[MANY], send[MANY];

static void post_receives(int count)
{
    for (int index = 0; index < count; index++) {
        in[index] = -1;
        MUST(MPI_Irecv(&in[index], 1, MPI_INT, partner, index, MPI_COMM_WORLD,
                       &receive[index]));
    }
}

static void post_sends(int count)
{
    for (int index = 0; index < count; index++) {
        out[index] = check_rank * 100 + index;
        MUST(MPI_Isend(&out[index], 1, MPI_INT, partner, index, MPI_COMM_WORLD, &send[index]));
    }
}

static void expect_one(int index, const MPI_Status *status)
{
    int count = -1;
    CHECK(receive[index] == MPI_REQUEST_NULL);
    CHECK_EQUAL(in[index], partner * 100 + index);
    MUST(MPI_Get_count(status, MPI_INT, &count));
    CHECK_EQUAL(count, 1);
    CHECK_EQUAL(status->MPI_SOURCE, partner);
    CHECK_EQUAL(status->MPI_TAG, index);
}

static void finish_sends(int count)
{
    MUST(MPI_Waitall(count, send, MPI_STATUSES_IGNORE));
    for (int index = 0; index < count; index++)
        CHECK(send[index] == MPI_REQUEST_NULL);
    check_meet();
}

static void by_one(void)
{
    MPI_Status status;
    int flag = 1;
    post_receives(2);
    MUST(MPI_Test(&receive[0], &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    CHECK(receive[0] != MPI_REQUEST_NULL);
    check_meet();
    post_sends(2);
    while (!flag)
        MUST(MPI_Test(&receive[1], &flag, &status));
    expect_one(1, &status);
    MUST(MPI_Wait(&receive[0], &status));
    expect_one(0, &status);
    finish_sends(2);
}

static void by_any(int testing)
{
    int seen[MANY] = {0}, index, flag;
    MPI_Status status;
    post_receives(MANY);
    if (testing) {
        flag = 1;
        index = 0;
        MUST(MPI_Testany(MANY, receive, &index, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag);
        CHECK_EQUAL(index, MPI_UNDEFINED);
        check_meet();
    }
    post_sends(MANY);
    for (int done = 0; done < MANY; done++) {
        index = -1;
        flag = 0;
        if (testing)
            while (!flag)
                MUST(MPI_Testany(MANY, receive, &index, &flag, &status));
        else
            MUST(MPI_Waitany(MANY, receive, &index, &status));
        CHECK(index >= 0 && index < MANY);
        expect_one(index, &status);
        seen[index]++;
    }
    for (index = 0; index < MANY; index++)
        CHECK_EQUAL(seen[index], 1);
    finish_sends(MANY);
}

static void by_some(int testing)
{
    int seen[MANY] = {0}, done = 0, count, indices[MANY];
    MPI_Status status[MANY];
    post_receives(MANY);
    if (testing) {
        count = -1;
        MUST(MPI_Testsome(MANY, receive, &count, indices, status));
        CHECK_EQUAL(count, 0);
        check_meet();
    }
    post_sends(MANY);
    while (done < MANY) {
        count = -1;
        if (testing)
            MUST(MPI_Testsome(MANY, receive, &count, indices, status));
        else
            MUST(MPI_Waitsome(MANY, receive, &count, indices, status));
        CHECK(count >= !testing && count <= MANY - done);
        for (int place = 0; place < count; place++) {
            expect_one(indices[place], &status[place]);
            seen[indices[place]]++;
        }
        done += count;
    }
    for (int index = 0; index < MANY; index++)
        CHECK_EQUAL(seen[index], 1);
    finish_sends(MANY);
}

static void by_all(int testing)
{
    MPI_Status status[MANY];
    int flag = 1;
    post_receives(MANY);
    if (testing) {
        MUST(MPI_Testall(MANY, receive, &flag, status));
        CHECK(!flag);
        for (int index = 0; index < MANY; index++)
            CHECK(receive[index] != MPI_REQUEST_NULL);
        check_meet();
    }
    post_sends(MANY);
    flag = !testing;
    if (!testing)
        MUST(MPI_Waitall(MANY, receive, status));
    while (!flag)
        MUST(MPI_Testall(MANY, receive, &flag, status));
    for (int index = 0; index < MANY; index++)
        expect_one(index, &status[index]);
    finish_sends(MANY);
}

/* Null requests only, and no requests at all. */
static void nothing_to_wait_for(void)
{
    for (int count = 0; count <= 3; count += 3) {
        MPI_Request none[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Status status[3] = {scrambled_status(), scrambled_status(), scrambled_status()};
        int index = 0, flag = 0, some = 0, indices[3];
        MUST(MPI_Waitany(count, none, &index, &status[0]));
        CHECK_EQUAL(index, MPI_UNDEFINED);
        CHECK(status_is_empty(&status[0]));
        index = 0;
        status[0] = scrambled_status();
        MUST(MPI_Testany(count, none, &index, &flag, &status[0]));
        CHECK(flag);
        CHECK_EQUAL(index, MPI_UNDEFINED);
        CHECK(status_is_empty(&status[0]));
        MUST(MPI_Waitsome(count, none, &some, indices, status));
        CHECK_EQUAL(some, MPI_UNDEFINED);
        some = 0;
        MUST(MPI_Testsome(count, none, &some, indices, status));
        CHECK_EQUAL(some, MPI_UNDEFINED);
        status[0] = scrambled_status();
        MUST(MPI_Waitall(count, none, status));
        flag = 0;
        MUST(MPI_Testall(count, none, &flag, status));
        CHECK(flag);
        for (int place = 0; place < count; place++)
            CHECK(status_is_empty(&status[place]));
    }
    MPI_Request null = MPI_REQUEST_NULL;
    MPI_Status status = scrambled_status();
    int flag = 0;
    MUST(MPI_Wait(&null, &status));
    CHECK(status_is_empty(&status));
    status = scrambled_status();
    MUST(MPI_Test(&null, &flag, &status));
    CHECK(flag);
    CHECK(status_is_empty(&status));
}

/* A live request between null and inactive ones is the one that is found. */
static void among_others(void)
{
    MPI_Request request[4];
    MPI_Status status[4];
    int inactive = 0, index = -1, got = -1, mine = check_rank, some = -1, indices[4];
    MUST(MPI_Recv_init(&inactive, 1, MPI_INT, partner, 77, MPI_COMM_WORLD, &request[1]));
    request[0] = request[3] = MPI_REQUEST_NULL;
    for (int form = 0; form < 3; form++) {
        MUST(MPI_Irecv(&got, 1, MPI_INT, partner, 3, MPI_COMM_WORLD, &request[2]));
        MUST(MPI_Isend(&mine, 1, MPI_INT, partner, 3, MPI_COMM_WORLD, &send[0]));
        if (form == 0) {
            MUST(MPI_Waitany(4, request, &index, &status[0]));
            CHECK_EQUAL(index, 2);
        } else if (form == 1) {
            MUST(MPI_Waitsome(4, request, &some, indices, status));
            CHECK_EQUAL(some, 1);
            CHECK_EQUAL(indices[0], 2);
        } else {
            MUST(MPI_Waitall(4, request, status));
            CHECK(status_is_empty(&status[0]) && status_is_empty(&status[1]));
            CHECK(status_is_empty(&status[3]));
            CHECK_EQUAL(status[2].MPI_TAG, 3);
        }
        CHECK_EQUAL(got, partner);
        CHECK(request[1] != MPI_REQUEST_NULL && request[2] == MPI_REQUEST_NULL);
        MUST(MPI_Wait(&send[0], MPI_STATUS_IGNORE));
    }
    MUST(MPI_Request_free(&request[1]));
}

/* Three receives, the middle one too short for its message. */
static void start_three(int (*room)[2])
{
    static const int big[4] = {1, 2, 3, 4};
    for (int index = 0; index < 3; index++) {
        room[index][0] = -1;
        MUST(MPI_Irecv(room[index], index == 1 ? 1 : 2, MPI_INT, partner, index, MPI_COMM_WORLD,
                       &receive[index]));
    }
    check_meet();
    for (int index = 0; index < 3; index++)
        MUST(MPI_Isend(big, index == 1 ? 4 : 2, MPI_INT, partner, index, MPI_COMM_WORLD,
                       &send[index]));
}

static void finish_three(int seen_error, int (*room)[2])
{
    CHECK_EQUAL(seen_error, 1);
    CHECK_EQUAL(room[0][0], 1);
    CHECK_EQUAL(room[2][1], 2);
    for (int index = 0; index < 3; index++)
        CHECK(receive[index] == MPI_REQUEST_NULL);
    MUST(MPI_Waitall(3, send, MPI_STATUSES_IGNORE));
    check_meet();
}

/* Statuses of a call that gave MPI_ERR_IN_STATUS; the errors in it. */
static int errors_in(const MPI_Status *status, const int *indices, int count)
{
    int errors = 0;
    for (int place = 0; place < count; place++) {
        int class = check_class(status[place].MPI_ERROR);
        int index = indices ? indices[place] : place;
        if (class == MPI_ERR_PENDING)
            continue;
        CHECK_EQUAL(class, index == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
        errors += class != MPI_SUCCESS;
    }
    return errors;
}

static void failures_of_all(int testing)
{
    int room[3][2], errors = 0, rounds = 0;
    start_three(room);
    for (;;) {
        MPI_Status status[3];
        int flag = 1, live = 0;
        int code = testing ? MPI_Testall(3, receive, &flag, status)
                           : MPI_Waitall(3, receive, status);
        if (code == MPI_SUCCESS && flag)
            break;
        if (code == MPI_SUCCESS)
            continue;
        CHECK_EQUAL(check_class(code), MPI_ERR_IN_STATUS);
        errors += errors_in(status, NULL, 3);
        for (int index = 0; index < 3; index++)
            live += receive[index] != MPI_REQUEST_NULL;
        if (live == 0 || ++rounds > 1000000)
            break;
    }
    /* A test that reports the error before all are complete leaves the requests and may do so
     * again. */
    CHECK(errors == 1 || testing);
    finish_three(errors > 0, room);
}

static void failures_of_some(int testing)
{
    int room[3][2], errors = 0, done = 0;
    start_three(room);
    while (done < 3) {
        MPI_Status status[3];
        int count = 0, indices[3];
        int code = testing ? MPI_Testsome(3, receive, &count, indices, status)
                           : MPI_Waitsome(3, receive, &count, indices, status);
        if (code != MPI_SUCCESS) {
            CHECK_EQUAL(check_class(code), MPI_ERR_IN_STATUS);
            errors += errors_in(status, indices, count);
        }
        if (count == MPI_UNDEFINED)
            break;
        done += count;
    }
    CHECK_EQUAL(done, 3);
    finish_three(errors, room);
}

/* The calls that complete one request give the error itself, and say which one it was. */
static void failures_of_any(int testing)
{
    int room[3][2], errors = 0;
    start_three(room);
    for (int done = 0; done < 3;) {
        int index = -1, flag = 1;
        int code = testing ? MPI_Testany(3, receive, &index, &flag, MPI_STATUS_IGNORE)
                           : MPI_Waitany(3, receive, &index, MPI_STATUS_IGNORE);
        if (code == MPI_SUCCESS && !flag)
            continue;
        if (code != MPI_SUCCESS) {
            CHECK_EQUAL(check_class(code), MPI_ERR_TRUNCATE);
            CHECK_EQUAL(index, 1);
            errors++;
        }
        done++;
    }
    finish_three(errors, room);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    partner = (check_rank ^ 1) < check_size ? check_rank ^ 1 : check_rank;
    section("one");
    by_one();
    for (int testing = 0; testing < 2; testing++) {
        section(testing ? "test any, some, all" : "wait any, some, all");
        by_any(testing);
        by_some(testing);
        by_all(testing);
    }
    section("nothing to wait for");
    nothing_to_wait_for();
    section("among null and inactive requests");
    among_others();
    for (int testing = 0; testing < 2; testing++) {
        section(testing ? "failures in test" : "failures in wait");
        failures_of_all(testing);
        failures_of_some(testing);
        failures_of_any(testing);
    }
    return check_end();
}
