/* Looking at requests without completing them, for one, any, some and all; and freeing requests
 * that are still active. */
#include "check.h"

enum { THREE = 3, LONG = 200000 };
static int partner;
static int in[THREE], out[THREE];
static MPI_Request receive[THREE], send[THREE];

static void post_receives(void)
{
    for (int index = 0; index < THREE; index++) {
        in[index] = -1;
        MUST(MPI_Irecv(&in[index], 1, MPI_INT, partner, index, MPI_COMM_WORLD,
                       &receive[index]));
    }
    check_meet();
}

static void post_sends(void)
{
    for (int index = 0; index < THREE; index++) {
        out[index] = check_rank * 10 + index;
        MUST(MPI_Isend(&out[index], 1, MPI_INT, partner, index, MPI_COMM_WORLD, &send[index]));
    }
}

static void finish(void)
{
    for (int index = 0; index < THREE; index++)
        CHECK(receive[index] != MPI_REQUEST_NULL);
    MUST(MPI_Waitall(THREE, receive, MPI_STATUSES_IGNORE));
    MUST(MPI_Waitall(THREE, send, MPI_STATUSES_IGNORE));
    for (int index = 0; index < THREE; index++)
        CHECK_EQUAL(in[index], partner * 10 + index);
}

static void expect_status(const MPI_Status *status, int tag)
{
    int count = -1;
    MUST(MPI_Get_count(status, MPI_INT, &count));
    CHECK_EQUAL(count, 1);
    CHECK_EQUAL(status->MPI_SOURCE, partner);
    CHECK_EQUAL(status->MPI_TAG, tag);
}

static void look_at_one(void)
{
    MPI_Status status = scrambled_status();
    int flag = 1;
    post_receives();
    MUST(MPI_Request_get_status(receive[1], &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    check_meet();
    post_sends();
    while (!flag)
        MUST(MPI_Request_get_status(receive[1], &flag, &status));
    expect_status(&status, 1);
    CHECK_EQUAL(in[1], partner * 10 + 1);
    flag = 0;
    status = scrambled_status();
    MUST(MPI_Request_get_status(receive[1], &flag, &status));
    CHECK(flag);
    expect_status(&status, 1);
    finish();
}

static void look_at_any(void)
{
    MPI_Status status = scrambled_status();
    int flag = 1, index = 0;
    post_receives();
    MUST(MPI_Request_get_status_any(THREE, receive, &index, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    CHECK_EQUAL(index, MPI_UNDEFINED);
    check_meet();
    post_sends();
    while (!flag)
        MUST(MPI_Request_get_status_any(THREE, receive, &index, &flag, &status));
    CHECK(index >= 0 && index < THREE);
    expect_status(&status, index);
    finish();
}

static void look_at_some(void)
{
    MPI_Status status[THREE];
    int count = -1, indices[THREE];
    /* MPICH 5 never reports more than one. */
    int wanted = check_strict() ? THREE : 1;
    post_receives();
    MUST(MPI_Request_get_status_some(THREE, receive, &count, indices, status));
    CHECK_EQUAL(count, 0);
    check_meet();
    post_sends();
    while (count < wanted)
        MUST(MPI_Request_get_status_some(THREE, receive, &count, indices, status));
    for (int place = 0; place < count; place++)
        expect_status(&status[place], indices[place]);
    finish();
}

static void look_at_all(void)
{
    MPI_Status status[THREE];
    int flag = 1;
    post_receives();
    MUST(MPI_Request_get_status_all(THREE, receive, &flag, MPI_STATUSES_IGNORE));
    CHECK(!flag);
    check_meet();
    post_sends();
    while (!flag)
        MUST(MPI_Request_get_status_all(THREE, receive, &flag, status));
    for (int index = 0; index < THREE; index++)
        expect_status(&status[index], index);
    finish();
}

static void null_and_inactive(void)
{
    MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status status[2] = {scrambled_status(), scrambled_status()};
    int flag = 0, index = 0, count = 0, indices[2];
    MUST(MPI_Request_get_status(MPI_REQUEST_NULL, &flag, &status[0]));
    CHECK(flag);
    CHECK(status_is_empty(&status[0]));
    MUST(MPI_Recv_init(&index, 1, MPI_INT, partner, 1, MPI_COMM_WORLD, &request[1]));
    flag = 0;
    status[0] = scrambled_status();
    MUST(MPI_Request_get_status(request[1], &flag, &status[0]));
    CHECK(flag);
    CHECK(status_is_empty(&status[0]));
    flag = 0;
    MUST(MPI_Request_get_status_any(2, request, &index, &flag, &status[0]));
    CHECK(flag);
    CHECK_EQUAL(index, MPI_UNDEFINED);
    MUST(MPI_Request_get_status_some(2, request, &count, indices, status));
    CHECK_EQUAL(count, MPI_UNDEFINED);
    flag = 0;
    status[0] = status[1] = scrambled_status();
    MUST(MPI_Request_get_status_all(2, request, &flag, status));
    CHECK(flag);
    CHECK(status_is_empty(&status[0]) && status_is_empty(&status[1]));
    MUST(MPI_Request_free(&request[1]));
}

/* Freed sends arrive, whatever their size and mode. */
static void free_active_sends(int count)
{
    static int big[LONG], back[LONG];
    MPI_Request request;
    int wrong = 0;
    for (int place = 0; place < count; place++)
        big[place] = check_rank * 9 + place;
    for (int round = 0; round < 5; round++) {
        int (*start)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *) =
            round % 2 ? MPI_Issend : MPI_Isend;
        MUST(start(big, count, MPI_INT, partner, round, MPI_COMM_WORLD, &request));
        MUST(MPI_Request_free(&request));
        CHECK(request == MPI_REQUEST_NULL);
    }
    for (int round = 4; round >= 0; round--) {
        memset(back, 0, sizeof back);
        MUST(MPI_Recv(back, count, MPI_INT, partner, round, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE));
        for (int place = 0; place < count; place++)
            wrong += back[place] != partner * 9 + place;
    }
    CHECK_EQUAL(wrong, 0);
    check_meet();
}

/* A freed receive still takes its message: the one behind it proves that it has come. */
static void free_active_receive(void)
{
    MPI_Request request;
    int got = -1, behind = -1, mine[2] = {check_rank, check_rank + 1};
    MUST(MPI_Irecv(&got, 1, MPI_INT, partner, 7, MPI_COMM_WORLD, &request));
    MUST(MPI_Request_free(&request));
    CHECK(request == MPI_REQUEST_NULL);
    check_meet();
    for (int index = 0; index < 2; index++)
        MUST(MPI_Send(&mine[index], 1, MPI_INT, partner == check_rank ? MPI_PROC_NULL : partner,
                      7, MPI_COMM_WORLD));
    if (partner == check_rank) {
        MUST(MPI_Isend(&mine[0], 1, MPI_INT, partner, 7, MPI_COMM_WORLD, &request));
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
        MUST(MPI_Isend(&mine[1], 1, MPI_INT, partner, 7, MPI_COMM_WORLD, &request));
        MUST(MPI_Request_free(&request));
    }
    MUST(MPI_Recv(&behind, 1, MPI_INT, partner, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_EQUAL(behind, partner + 1);
    CHECK_EQUAL(*(volatile int *)&got, partner);
    check_meet();
}

/* Many freed sends are still under way when the program ends; finalize waits for them. */
static void free_before_the_end(void)
{
    static int big[LONG], back[LONG];
    MPI_Request request;
    if (partner == check_rank)
        return;
    if (check_rank < partner) {
        MUST(MPI_Isend(big, LONG, MPI_INT, partner, 9, MPI_COMM_WORLD, &request));
        MUST(MPI_Request_free(&request));
    } else {
        sleep_ms(30);
        MUST(MPI_Recv(back, LONG, MPI_INT, partner, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    partner = (check_rank ^ 1) < check_size ? check_rank ^ 1 : check_rank;
    section("one, any, some, all");
    look_at_one();
    look_at_any();
    look_at_some();
    look_at_all();
    section("null and inactive");
    null_and_inactive();
    section("freed while active");
    free_active_sends(0);
    free_active_sends(10);
    free_active_sends(3000);
    free_active_sends(LONG);
    free_active_receive();
    int total = check_total();
    free_before_the_end();
    MUST(MPI_Comm_free(&check_comm));
    MUST(MPI_Finalize());
    return check_verdict(total);
}
