/* Messages on an intercommunicator: ranks are those of the other group, whatever sends, receives
 * or looks. */
#include "check.h"

enum { LONG = 40000 };

static MPI_Comm inter;
static int rank, size, remote, side;

/* The world in even and odd ranks, the odd ones backwards. */
static void open_inter(void)
{
    MPI_Comm half;
    side = check_rank % 2;
    MUST(MPI_Comm_split(MPI_COMM_WORLD, side, side ? -check_rank : check_rank, &half));
    MUST(MPI_Comm_rank(half, &rank));
    MUST(MPI_Comm_size(half, &size));
    /* The leaders are ranks 0 and 1 of the world. */
    MUST(MPI_Intercomm_create(half, side ? size - 1 : 0, MPI_COMM_WORLD, !side, 11, &inter));
    MUST(MPI_Comm_remote_size(inter, &remote));
    MUST(MPI_Comm_free(&half));
}

/* A rank of one side as one number that both sides know. */
static int code(int of_side, int of_rank)
{
    return 100 * of_side + of_rank;
}

static void expect_status(const MPI_Status *status, int source, int tag, int ints)
{
    int count = -1;
    CHECK_EQUAL(status->MPI_SOURCE, source);
    CHECK_EQUAL(status->MPI_TAG, tag);
    MUST(MPI_Get_count(status, MPI_INT, &count));
    CHECK_EQUAL(count, ints);
}

/* Everybody sends to everybody on the other side in every mode; wildcards receive. */
static void wildcards(void)
{
    MPI_Request requests[8][2];
    int own = code(side, rank), seen[8] = {0};
    for (int peer = 0; peer < remote; peer++) {
        MUST(MPI_Isend(&own, 1, MPI_INT, peer, peer, inter, &requests[peer][0]));
        MUST(MPI_Issend(&own, 1, MPI_INT, peer, peer, inter, &requests[peer][1]));
    }
    for (int message = 0; message < 2 * remote; message++) {
        MPI_Status status = scrambled_status();
        int in = -1;
        MUST(MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, inter, &status));
        expect_status(&status, in % 100, rank, 1);
        CHECK_EQUAL(in / 100, !side);
        seen[in % 100]++;
    }
    for (int peer = 0; peer < remote; peer++) {
        CHECK_EQUAL(seen[peer], 2);
        MUST(MPI_Waitall(2, requests[peer], MPI_STATUSES_IGNORE));
    }
}

static void probes(void)
{
    static int out[LONG], in[LONG];
    MPI_Request request;
    for (int peer = 0; peer < remote; peer++) {
        int flag = 0, length = LONG - code(!side, peer);
        MPI_Status status = scrambled_status();
        MPI_Message message = MPI_MESSAGE_NULL;
        out[0] = code(side, rank);
        MUST(MPI_Isend(out, LONG - code(side, rank), MPI_INT, peer, 5, inter, &request));
        if (peer % 2 == 0)
            MUST(MPI_Probe(peer, 5, inter, &status));
        else
            while (!flag)
                MUST(MPI_Iprobe(peer, MPI_ANY_TAG, inter, &flag, &status));
        expect_status(&status, peer, 5, length);
        MUST(MPI_Mprobe(peer, 5, inter, &message, &status));
        expect_status(&status, peer, 5, length);
        MUST(MPI_Mrecv(in, LONG, MPI_INT, &message, &status));
        expect_status(&status, peer, 5, length);
        CHECK_EQUAL(in[0], code(!side, peer));
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
}

/* Only ranks that both sides have exchange. */
static void exchanges(void)
{
    MPI_Status status = scrambled_status();
    MPI_Request request;
    int peer = rank < remote ? rank : MPI_PROC_NULL;
    int own = code(side, rank), in = -1;
    MUST(MPI_Sendrecv(&own, 1, MPI_INT, peer, 1, &in, 1, MPI_INT, peer, 1, inter, &status));
    if (peer == MPI_PROC_NULL)
        CHECK(status_is_of_null(&status));
    else {
        expect_status(&status, peer, 1, 1);
        CHECK_EQUAL(in, code(!side, peer));
    }
    in = own;
    MUST(MPI_Sendrecv_replace(&in, 1, MPI_INT, peer, 2, peer, MPI_ANY_TAG, inter, &status));
    CHECK_EQUAL(in, peer == MPI_PROC_NULL ? own : code(!side, peer));
    in = -1;
    MUST(MPI_Isendrecv(&own, 1, MPI_INT, peer, 3, &in, 1, MPI_INT, peer, 3, inter, &request));
    MUST(MPI_Wait(&request, &status));
    CHECK_EQUAL(in, peer == MPI_PROC_NULL ? -1 : code(!side, peer));
}

static void persistent(void)
{
    MPI_Request requests[2];
    int peer = rank < remote ? rank : MPI_PROC_NULL, out = -1, in = -1;
    MUST(MPI_Send_init(&out, 1, MPI_INT, peer, 8, inter, &requests[0]));
    MUST(MPI_Recv_init(&in, 1, MPI_INT, peer, 8, inter, &requests[1]));
    for (int time = 0; time < 3; time++) {
        MPI_Status statuses[2];
        out = 1000 * time + code(side, rank);
        MUST(MPI_Startall(2, requests));
        MUST(MPI_Waitall(2, requests, statuses));
        if (peer != MPI_PROC_NULL) {
            expect_status(&statuses[1], peer, 8, 1);
            CHECK_EQUAL(in, 1000 * time + code(!side, peer));
        }
    }
    for (int request = 0; request < 2; request++)
        MUST(MPI_Request_free(&requests[request]));
}

static void buffered(void)
{
    int peer = rank < remote ? rank : MPI_PROC_NULL, own = code(side, rank), in = -1;
    static char room[1000];
    void *back;
    int bytes;
    MUST(MPI_Buffer_attach(room, sizeof room));
    MUST(MPI_Bsend(&own, 1, MPI_INT, peer, 9, inter));
    MUST(MPI_Recv(&in, 1, MPI_INT, peer, 9, inter, MPI_STATUS_IGNORE));
    CHECK_EQUAL(in, peer == MPI_PROC_NULL ? -1 : code(!side, peer));
    MUST(MPI_Buffer_detach(&back, &bytes));
}

/* The same rank, tag and length on the intercommunicator, a duplicate and the world. */
static void apart(void)
{
    MPI_Comm copy, comms[3];
    MPI_Request requests[3];
    int out[3] = {1, 2, 3}, in;
    MUST(MPI_Comm_dup(inter, &copy));
    comms[0] = inter;
    comms[1] = copy;
    comms[2] = MPI_COMM_WORLD;
    int peer = rank < remote ? rank : MPI_PROC_NULL;
    for (int place = 0; place < 3; place++) {
        int to = place < 2 ? peer : check_rank;
        MUST(MPI_Isend(&out[place], 1, MPI_INT, to, 4, comms[place], &requests[place]));
    }
    for (int place = 2; place >= 0; place--) {
        in = -1;
        MUST(MPI_Recv(&in, 1, MPI_INT, place == 2 || peer >= 0 ? MPI_ANY_SOURCE : MPI_PROC_NULL,
                      MPI_ANY_TAG, comms[place], MPI_STATUS_IGNORE));
        CHECK_EQUAL(in, place == 2 || peer >= 0 ? out[place] : -1);
    }
    MUST(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    MUST(MPI_Comm_free(&copy));
}

/* Leaving waits for what has been started; a freed one still delivers. */
static void leaving(void)
{
    MPI_Request requests[2];
    int peer = rank < remote ? rank : MPI_PROC_NULL, own = code(side, rank), in = -1;
    MPI_Comm copy;
    MUST(MPI_Comm_dup(inter, &copy));
    MUST(MPI_Irecv(&in, 1, MPI_INT, peer, 6, copy, &requests[0]));
    MUST(MPI_Comm_free(&copy));
    CHECK(copy == MPI_COMM_NULL);
    MUST(MPI_Comm_dup(inter, &copy));
    MUST(MPI_Isend(&own, 1, MPI_INT, peer, 6, copy, &requests[1]));
    MUST(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    in = -2;
    MUST(MPI_Recv(&in, 1, MPI_INT, peer, 6, copy, MPI_STATUS_IGNORE));
    CHECK_EQUAL(in, peer == MPI_PROC_NULL ? -2 : code(!side, peer));
    MUST(MPI_Comm_disconnect(&copy));
    MUST(MPI_Cancel(&requests[0]));
    MUST(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    if (check_size > 1) {
        void (*const parts[])(void) = {wildcards, probes, exchanges, persistent, buffered, apart,
                                       leaving};
        open_inter();
        for (size_t part = 0; part < sizeof parts / sizeof *parts; part++) {
            parts[part]();
            check_meet(); /* No wildcard meets what is sent in the next part. */
        }
        MUST(MPI_Comm_disconnect(&inter));
    }
    return check_end();
}
