/* Probe in all four forms: its status, that it receives nothing, that a matched probe takes
 * exactly its message; wildcards; MPI_PROC_NULL. */
#include "check.h"

enum { LONG = 150000 };
static int partner;
static int out[LONG], in[LONG];

static void send_to_partner(int count, int tag, MPI_Request *request)
{
    MUST(MPI_Isend(out, count, MPI_INT, partner, tag, MPI_COMM_WORLD, request));
}

static void expect_status(MPI_Status *status, int count, int tag)
{
    int got = -1;
    MUST(MPI_Get_count(status, MPI_INT, &got));
    CHECK_EQUAL(got, count);
    CHECK_EQUAL(status->MPI_SOURCE, partner);
    CHECK_EQUAL(status->MPI_TAG, tag);
}

static void expect_data(int count)
{
    int wrong = 0;
    for (int place = 0; place < count; place++)
        wrong += in[place] != partner * 100 + place;
    CHECK_EQUAL(wrong, 0);
}

/* Probe, probe again, receive: exact and with wildcards. */
static void probe_takes_nothing(int count)
{
    const int sources[] = {partner, MPI_ANY_SOURCE}, tags[] = {6, MPI_ANY_TAG};
    for (int form = 0; form < 4; form++) {
        MPI_Request request;
        MPI_Status status = scrambled_status();
        int source = sources[form / 2], tag = tags[form % 2], flag = 0;
        send_to_partner(count, 6, &request);
        MUST(MPI_Probe(source, tag, MPI_COMM_WORLD, &status));
        expect_status(&status, count, 6);
        status = scrambled_status();
        MUST(MPI_Iprobe(source, tag, MPI_COMM_WORLD, &flag, &status));
        CHECK(flag);
        expect_status(&status, count, 6);
        MUST(MPI_Probe(source, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        memset(in, 0, sizeof in);
        MUST(MPI_Recv(in, LONG, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
                      &status));
        expect_status(&status, count, 6);
        expect_data(count);
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
        check_meet();
    }
}

static void iprobe_finds_nothing(void)
{
    int flag = 1;
    MUST(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    MPI_Message message = MPI_MESSAGE_NO_PROC;
    flag = 1;
    MUST(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message,
                     MPI_STATUS_IGNORE));
    CHECK(!flag);
    check_meet();
}

/* Polling alone sees the message in the end. */
static void iprobe_makes_progress(int count)
{
    MPI_Request request;
    MPI_Status status;
    int flag = 0;
    send_to_partner(count, 7, &request);
    while (!flag)
        MUST(MPI_Iprobe(partner, 7, MPI_COMM_WORLD, &flag, &status));
    expect_status(&status, count, 7);
    MUST(MPI_Recv(in, LONG, MPI_INT, partner, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    expect_data(count);
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

/* Of several messages, the probe with wildcards finds the first one. */
static void probe_in_order(void)
{
    MPI_Request request[3];
    for (int index = 0; index < 3; index++)
        send_to_partner(index + 1, 20 - index, &request[index]);
    for (int index = 0; index < 3; index++) {
        MPI_Status status;
        MUST(MPI_Probe(partner, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        expect_status(&status, index + 1, 20 - index);
        MUST(MPI_Recv(in, LONG, MPI_INT, partner, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        expect_status(&status, index + 1, 20 - index);
    }
    MUST(MPI_Waitall(3, request, MPI_STATUSES_IGNORE));
    check_meet();
}

/* A matched message is out of the queue: the receive in between gets the next one. */
static void matched_is_taken(int count)
{
    MPI_Request request[2], receive;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status = scrambled_status();
    int flag = 1;
    for (int place = 0; place < count; place++)
        out[place] = check_rank * 100 + place;
    send_to_partner(count, 8, &request[0]);
    send_to_partner(1, 8, &request[1]);
    MUST(MPI_Mprobe(MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &message, &status));
    CHECK(message != MPI_MESSAGE_NULL && message != MPI_MESSAGE_NO_PROC);
    expect_status(&status, count, 8);
    MUST(MPI_Recv(in, LONG, MPI_INT, partner, 8, MPI_COMM_WORLD, &status));
    expect_status(&status, 1, 8);
    MUST(MPI_Iprobe(partner, 8, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    memset(in, 0, sizeof in);
    MUST(MPI_Imrecv(in, count, MPI_INT, &message, &receive));
    CHECK(message == MPI_MESSAGE_NULL);
    MUST(MPI_Wait(&receive, &status));
    expect_status(&status, count, 8);
    expect_data(count);
    MUST(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
    check_meet();
}

static void improbe_then_mrecv(int count)
{
    MPI_Request request;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status = scrambled_status();
    int flag = 0;
    send_to_partner(count, 9, &request);
    while (!flag)
        MUST(MPI_Improbe(partner, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status));
    expect_status(&status, count, 9);
    memset(in, 0, sizeof in);
    status = scrambled_status();
    MUST(MPI_Mrecv(in, LONG, MPI_INT, &message, &status));
    CHECK(message == MPI_MESSAGE_NULL);
    expect_status(&status, count, 9);
    expect_data(count);
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    check_meet();
}

/* Two matched messages are received in the other order. */
static void matched_twice(void)
{
    MPI_Request request[2];
    MPI_Message first, second;
    MPI_Status status;
    send_to_partner(3, 10, &request[0]);
    send_to_partner(60000, 10, &request[1]);
    MUST(MPI_Mprobe(partner, 10, MPI_COMM_WORLD, &first, MPI_STATUS_IGNORE));
    MUST(MPI_Mprobe(partner, 10, MPI_COMM_WORLD, &second, MPI_STATUS_IGNORE));
    MUST(MPI_Mrecv(in, LONG, MPI_INT, &second, &status));
    expect_status(&status, 60000, 10);
    MUST(MPI_Mrecv(in, LONG, MPI_INT, &first, &status));
    expect_status(&status, 3, 10);
    expect_data(3);
    MUST(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
    check_meet();
}

static void nobody(void)
{
    MPI_Status status = scrambled_status();
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Request request;
    int flag = 0, value = 3;
    MUST(MPI_Probe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status));
    CHECK(status_is_of_null(&status));
    status = scrambled_status();
    MUST(MPI_Iprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &flag, &status));
    CHECK(flag);
    CHECK(status_is_of_null(&status));
    status = scrambled_status();
    MUST(MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &message, &status));
    CHECK(message == MPI_MESSAGE_NO_PROC);
    CHECK(status_is_of_null(&status));
    status = scrambled_status();
    MUST(MPI_Mrecv(&value, 1, MPI_INT, &message, &status));
    CHECK(message == MPI_MESSAGE_NULL);
    CHECK(status_is_of_null(&status));
    flag = 0;
    MUST(MPI_Improbe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &flag, &message, &status));
    CHECK(flag);
    CHECK(message == MPI_MESSAGE_NO_PROC);
    MUST(MPI_Imrecv(&value, 1, MPI_INT, &message, &request));
    CHECK(message == MPI_MESSAGE_NULL);
    status = scrambled_status();
    MUST(MPI_Wait(&request, &status));
    CHECK(status_is_of_null(&status));
    CHECK_EQUAL(value, 3);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    partner = (check_rank ^ 1) < check_size ? check_rank ^ 1 : check_rank;
    for (int place = 0; place < LONG; place++)
        out[place] = check_rank * 100 + place;
    const int counts[] = {0, 1, 10, 11, 2000, LONG};
    section("nothing there");
    check_meet();
    iprobe_finds_nothing();
    for (int index = 0; index < 6; index++) {
        section("messages of %d ints", counts[index]);
        probe_takes_nothing(counts[index]);
        iprobe_makes_progress(counts[index]);
        check_meet();
        matched_is_taken(counts[index]);
        improbe_then_mrecv(counts[index]);
    }
    section("order");
    probe_in_order();
    matched_twice();
    section("nobody");
    nobody();
    return check_end();
}
