/* Cancelled sends: those that no receive has matched end without one, and nobody gets the message; others
 * are received. The standard permits a library to refuse, and some do, whose waits then never end: so
 * all of this is strict. */
#include "check.h"

static int partner;

enum { DATA_TAG = 2, FATE_TAG = 3 };

static int was_cancelled(MPI_Request *request)
{
    MPI_Status status;
    int cancelled = -1;
    MUST(MPI_Wait(request, &status));
    MUST(MPI_Test_cancelled(&status, &cancelled));
    return cancelled;
}

/* Whether this rank is the sender of its pair; a rank without a partner is both. */
static int is_sender(void)
{
    return check_rank <= partner;
}

/* The sender tells what has become of its send, with a message that is not overtaken. */
static int fate(int of_sender)
{
    int told = of_sender;
    if (partner == check_rank)
        return told;
    if (is_sender())
        MUST(MPI_Send(&told, 1, MPI_INT, partner, FATE_TAG, MPI_COMM_WORLD));
    else
        MUST(MPI_Recv(&told, 1, MPI_INT, partner, FATE_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    return told;
}

static void no_message(void)
{
    int found = 1;
    MUST(MPI_Iprobe(partner, DATA_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE));
    CHECK(!found);
}

/* Nobody receives: it ends without a receive, wherever its bytes are. */
static void unmatched(int count, int is_synchronous)
{
    char *out = take((size_t)count + 1);
    MPI_Request request;
    if (is_sender()) {
        if (is_synchronous)
            MUST(MPI_Issend(out, count, MPI_BYTE, partner, DATA_TAG, MPI_COMM_WORLD, &request));
        else
            MUST(MPI_Isend(out, count, MPI_BYTE, partner, DATA_TAG, MPI_COMM_WORLD, &request));
        MUST(MPI_Cancel(&request));
        MUST(MPI_Cancel(&request));
        CHECK(was_cancelled(&request));
        CHECK(request == MPI_REQUEST_NULL);
    }
    fate(1);
    no_message();
    check_meet();
    free(out);
}

/* One that leaves at once is cancelled or received. */
static void short_one(void)
{
    int value = 5, got = 0;
    MPI_Request request;
    int cancelled = 0;
    if (is_sender()) {
        MUST(MPI_Isend(&value, 1, MPI_INT, partner, DATA_TAG, MPI_COMM_WORLD, &request));
        MUST(MPI_Cancel(&request));
        cancelled = was_cancelled(&request);
    }
    if (fate(cancelled)) {
        no_message();
    } else if (!is_sender() || partner == check_rank) {
        MUST(MPI_Recv(&got, 1, MPI_INT, partner, DATA_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_EQUAL(got, 5);
    }
    check_meet();
}

/* The one in the middle goes; its neighbours keep their order. */
static void middle_of_three(int count)
{
    char *out[3], *in = take((size_t)count);
    MPI_Request request[3];
    for (int index = 0; index < 3; index++) {
        out[index] = take((size_t)count);
        memset(out[index], index + 1, (size_t)count);
    }
    if (is_sender()) {
        for (int index = 0; index < 3; index++)
            MUST(MPI_Issend(out[index], count, MPI_BYTE, partner, DATA_TAG, MPI_COMM_WORLD,
                            &request[index]));
        MUST(MPI_Cancel(&request[1]));
        CHECK(was_cancelled(&request[1]));
    }
    fate(1);
    if (!is_sender() || partner == check_rank) {
        for (int index = 0; index < 3; index += 2) {
            MUST(MPI_Recv(in, count, MPI_BYTE, partner, DATA_TAG, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE));
            CHECK_EQUAL(in[0], index + 1);
            CHECK_EQUAL(in[count - 1], index + 1);
        }
        no_message();
    }
    if (is_sender()) {
        CHECK(!was_cancelled(&request[0]));
        CHECK(!was_cancelled(&request[2]));
    }
    check_meet();
    for (int index = 0; index < 3; index++)
        free(out[index]);
    free(in);
}

/* A receive that waits has the message before it can be taken back; so has one that probed it. */
static void too_late(int count, int is_probed)
{
    char *out = take((size_t)count), *in = take((size_t)count);
    MPI_Request receive = MPI_REQUEST_NULL, send;
    MPI_Message message;
    fill(out, (size_t)count, 6);
    int receives = !is_sender() || partner == check_rank;
    if (receives && !is_probed)
        MUST(MPI_Irecv(in, count, MPI_BYTE, partner, DATA_TAG, MPI_COMM_WORLD, &receive));
    check_meet();
    if (is_sender())
        MUST(MPI_Issend(out, count, MPI_BYTE, partner, DATA_TAG, MPI_COMM_WORLD, &send));
    if (receives && is_probed)
        MUST(MPI_Mprobe(partner, DATA_TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    check_meet();
    if (is_sender())
        MUST(MPI_Cancel(&send));
    if (receives && is_probed)
        MUST(MPI_Imrecv(in, count, MPI_BYTE, &message, &receive));
    if (receives)
        MUST(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    if (is_sender())
        CHECK(!was_cancelled(&send));
    if (receives)
        CHECK_EQUAL(spoiled(in, (size_t)count, 6), 0);
    check_meet();
    free(out);
    free(in);
}

/* Either the receive gets the message, or the send is cancelled and the receive can be. */
static void race(int count)
{
    char *out = take((size_t)count), *in = take((size_t)count);
    for (int round = 0; round < (count > 10000 ? 5 : 100); round++) {
        MPI_Request receive, send;
        int cancelled = 0;
        memset(out, round, (size_t)count);
        memset(in, -1, (size_t)count);
        if (is_sender())
            MUST(MPI_Issend(out, count, MPI_BYTE, partner, DATA_TAG, MPI_COMM_WORLD, &send));
        if (!is_sender() || partner == check_rank)
            MUST(MPI_Irecv(in, count, MPI_BYTE, partner, DATA_TAG, MPI_COMM_WORLD, &receive));
        if (is_sender()) {
            MUST(MPI_Cancel(&send));
            cancelled = was_cancelled(&send);
        }
        cancelled = fate(cancelled);
        if (!is_sender() || partner == check_rank) {
            if (cancelled)
                MUST(MPI_Cancel(&receive));
            CHECK_EQUAL(was_cancelled(&receive), cancelled);
            CHECK_EQUAL(in[count - 1], cancelled ? -1 : round);
        }
        /* The next message must not meet this receive. */
        check_meet();
    }
    free(out);
    free(in);
}

/* A persistent send is started again after it was cancelled; a freed one is cancelled, too. */
static void again(int count)
{
    char *out = take((size_t)count), *in = take((size_t)count);
    MPI_Request send, freed;
    fill(out, (size_t)count, 8);
    if (is_sender()) {
        MUST(MPI_Ssend_init(out, count, MPI_BYTE, partner, DATA_TAG, MPI_COMM_WORLD, &send));
        MUST(MPI_Start(&send));
        MUST(MPI_Cancel(&send));
        CHECK(was_cancelled(&send));
        CHECK(send != MPI_REQUEST_NULL);
        MUST(MPI_Issend(out, count, MPI_BYTE, partner, DATA_TAG, MPI_COMM_WORLD, &freed));
        MUST(MPI_Cancel(&freed));
        MUST(MPI_Request_free(&freed));
        MUST(MPI_Start(&send));
    }
    if (!is_sender() || partner == check_rank) {
        MPI_Request receive;
        /* The freed one may be received if this is posted before its end. */
        fate(1);
        MUST(MPI_Irecv(in, count, MPI_BYTE, partner, DATA_TAG, MPI_COMM_WORLD, &receive));
        MUST(MPI_Wait(&receive, MPI_STATUS_IGNORE));
        CHECK_EQUAL(spoiled(in, (size_t)count, 8), 0);
        no_message();
    } else {
        fate(1);
    }
    if (is_sender()) {
        CHECK(!was_cancelled(&send));
        MUST(MPI_Request_free(&send));
    }
    check_meet();
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    partner = (check_rank ^ 1) < check_size ? check_rank ^ 1 : check_rank;
    if (check_strict()) {
        const int counts[] = {1, 5000, 300000};
        for (int index = 0; index < 3; index++) {
            unmatched(counts[index], 1);
            middle_of_three(counts[index]);
            too_late(counts[index], 0);
            too_late(counts[index], 1);
            race(counts[index]);
            again(counts[index]);
        }
        unmatched(0, 1);
        unmatched(10000000, 0);
        short_one();
    }
    check_meet();
    return check_end();
}
