/* Cancelled receives: they complete, their status says so, and other receives get the
 * messages; a receive that has its message cannot be cancelled. */
#include "check.h"

static int partner;

static int was_cancelled(MPI_Request *request)
{
    MPI_Status status;
    int cancelled = -1;
    MUST(MPI_Wait(request, &status));
    CHECK(*request == MPI_REQUEST_NULL);
    MUST(MPI_Test_cancelled(&status, &cancelled));
    return cancelled;
}

static void every_form(void)
{
    const int sources[] = {partner, MPI_ANY_SOURCE}, tags[] = {1, MPI_ANY_TAG};
    for (int form = 0; form < 4; form++) {
        MPI_Request request;
        int value = 9;
        MUST(MPI_Irecv(&value, 1, MPI_INT, sources[form / 2], tags[form % 2], MPI_COMM_WORLD,
                       &request));
        MUST(MPI_Cancel(&request));
        CHECK(request != MPI_REQUEST_NULL);
        CHECK(was_cancelled(&request));
        CHECK_EQUAL(value, 9);
    }
}

/* The one in the middle goes; its neighbours keep their order. */
static void middle_of_three(void)
{
    MPI_Request receive[3], send[2];
    int got[3] = {-1, -1, -1}, out[2] = {10, 20};
    for (int index = 0; index < 3; index++)
        MUST(MPI_Irecv(&got[index], 1, MPI_INT, partner, 2, MPI_COMM_WORLD, &receive[index]));
    MUST(MPI_Cancel(&receive[1]));
    check_meet();
    for (int index = 0; index < 2; index++)
        MUST(MPI_Isend(&out[index], 1, MPI_INT, partner, 2, MPI_COMM_WORLD, &send[index]));
    CHECK(!was_cancelled(&receive[0]));
    CHECK(was_cancelled(&receive[1]));
    CHECK(!was_cancelled(&receive[2]));
    CHECK_EQUAL(got[0], 10);
    CHECK_EQUAL(got[1], -1);
    CHECK_EQUAL(got[2], 20);
    MUST(MPI_Waitall(2, send, MPI_STATUSES_IGNORE));
}

/* After it has matched, cancelling changes nothing. */
static void too_late(int count)
{
    MPI_Request receive, send;
    char *in = take((size_t)count), *out = take((size_t)count);
    int flag = 0;
    fill(out, (size_t)count, 4);
    MUST(MPI_Irecv(in, count, MPI_BYTE, partner, 3, MPI_COMM_WORLD, &receive));
    MUST(MPI_Isend(out, count, MPI_BYTE, partner, 3, MPI_COMM_WORLD, &send));
    while (!flag)
        MUST(MPI_Request_get_status(receive, &flag, MPI_STATUS_IGNORE));
    MUST(MPI_Cancel(&receive));
    CHECK(!was_cancelled(&receive));
    CHECK_EQUAL(spoiled(in, (size_t)count, 4), 0);
    MUST(MPI_Wait(&send, MPI_STATUS_IGNORE));
    free(in);
    free(out);
}

/* Either the receive gets the message, or it is cancelled and the next one does. */
static void race(void)
{
    for (int round = 0; round < 200; round++) {
        MPI_Request receive, send;
        int got = -1, out = round;
        MUST(MPI_Isend(&out, 1, MPI_INT, partner, 4, MPI_COMM_WORLD, &send));
        MUST(MPI_Irecv(&got, 1, MPI_INT, partner, 4, MPI_COMM_WORLD, &receive));
        MUST(MPI_Cancel(&receive));
        if (was_cancelled(&receive)) {
            CHECK_EQUAL(got, -1);
            MUST(MPI_Recv(&got, 1, MPI_INT, partner, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
        CHECK_EQUAL(got, round);
        MUST(MPI_Wait(&send, MPI_STATUS_IGNORE));
    }
}

/* A cancelled receive may be freed instead of waited for; tests and waits over several see it. */
static void other_ends(void)
{
    MPI_Request request[3];
    MPI_Status status[3];
    int value[3], flag = 0, cancelled = 0;
    MUST(MPI_Irecv(value, 1, MPI_INT, partner, 5, MPI_COMM_WORLD, &request[0]));
    MUST(MPI_Cancel(&request[0]));
    MUST(MPI_Request_free(&request[0]));
    CHECK(request[0] == MPI_REQUEST_NULL);
    for (int index = 0; index < 3; index++) {
        MUST(MPI_Irecv(&value[index], 1, MPI_INT, partner, 5, MPI_COMM_WORLD, &request[index]));
        MUST(MPI_Cancel(&request[index]));
    }
    while (!flag)
        MUST(MPI_Testall(3, request, &flag, status));
    for (int index = 0; index < 3; index++) {
        MUST(MPI_Test_cancelled(&status[index], &cancelled));
        CHECK(cancelled);
    }
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    partner = (check_rank ^ 1) < check_size ? check_rank ^ 1 : check_rank;
    section("every form of receive");
    every_form();
    check_meet();
    section("one of three");
    middle_of_three();
    section("too late");
    too_late(4);
    too_late(4000);
    too_late(1000000);
    check_meet();
    section("race");
    race();
    check_meet();
    section("other ends");
    other_ends();
    return check_end();
}
