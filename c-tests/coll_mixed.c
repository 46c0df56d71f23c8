/* Collectives among other traffic: pending messages in the same communicator, wildcards, many in
 * a row without a pause, overlapping communicators in turn, late ranks. */
#include "comms.h"

enum { LONG = 50000 };

/* Receives for anything are open all the time; the collectives do not feed them. */
static void open_wildcards(const Place *at)
{
    int *out = take(LONG * sizeof(int)), *in = take(LONG * sizeof(int)), wrong = 0, flag = 1;
    int right = (at->rank + 1) % at->size, left = (at->rank + at->size - 1) % at->size;
    MPI_Request receive, send;
    MPI_Status status;
    for (int place = 0; place < LONG; place++)
        out[place] = at->rank + place;
    MUST(MPI_Irecv(in, LONG, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, at->comm, &receive));
    for (int round = 0; round < 8; round++) {
        int sum = -1, root = round % at->size, value = at->rank == root ? round : -1;
        MUST(MPI_Allreduce(&at->rank, &sum, 1, MPI_INT, MPI_SUM, at->comm));
        CHECK_EQUAL(sum, at->size * (at->size - 1) / 2);
        MUST(MPI_Bcast(&value, 1, MPI_INT, root, at->comm));
        CHECK_EQUAL(value, round);
        MUST(MPI_Barrier(at->comm));
    }
    MUST(MPI_Test(&receive, &flag, &status));
    CHECK(!flag);
    MUST(MPI_Barrier(at->comm));
    MUST(MPI_Isend(out, LONG, MPI_INT, right, 3, at->comm, &send));
    MUST(MPI_Barrier(at->comm));
    MUST(MPI_Wait(&receive, &status));
    MUST(MPI_Wait(&send, MPI_STATUS_IGNORE));
    CHECK_EQUAL(status.MPI_SOURCE, left);
    CHECK_EQUAL(status.MPI_TAG, 3);
    for (int place = 0; place < LONG; place++)
        wrong += in[place] != left + place;
    CHECK_EQUAL(wrong, 0);
    free(out);
    free(in);
}

/* Messages are sent before a collective and received after it. */
static void across(const Place *at)
{
    for (int round = 0; round < 12; round++) {
        int mine[2] = {at->rank, round}, got[2] = {-1, -1}, sum = -1;
        int to = (at->rank + round) % at->size;
        int from = (at->rank + at->size - round % at->size) % at->size;
        MPI_Request send;
        MUST(MPI_Isend(mine, 2, MPI_INT, to, round, at->comm, &send));
        MUST(MPI_Allreduce(&round, &sum, 1, MPI_INT, MPI_MAX, at->comm));
        CHECK_EQUAL(sum, round);
        MUST(MPI_Recv(got, 2, MPI_INT, from, round, at->comm, MPI_STATUS_IGNORE));
        CHECK(got[0] == from && got[1] == round);
        MUST(MPI_Wait(&send, MPI_STATUS_IGNORE));
    }
}

/* A few hundred of all kinds, some ranks late now and then; no rank waits for another between. */
static void in_a_row(const Place *at)
{
    int *all = take((size_t)at->size * sizeof(int)), *out = take((size_t)at->size * sizeof(int));
    for (int round = 0; round < 24; round++) {
        int root = round % at->size, value = at->rank * 1000 + round, got = -1, wrong = 0;
        if (round % 10 == 7 && at->rank == root)
            sleep_ms(2);
        MUST(MPI_Gather(&value, 1, MPI_INT, all, 1, MPI_INT, root, at->comm));
        for (int rank = 0; rank < at->size && at->rank == root; rank++)
            wrong += all[rank] != rank * 1000 + round;
        MUST(MPI_Scatter(all, 1, MPI_INT, &got, 1, MPI_INT, root, at->comm));
        wrong += got != value;
        MUST(MPI_Reduce(&value, &got, 1, MPI_INT, MPI_MAX, root, at->comm));
        wrong += at->rank == root && got != (at->size - 1) * 1000 + round;
        MUST(MPI_Allgather(&value, 1, MPI_INT, all, 1, MPI_INT, at->comm));
        for (int rank = 0; rank < at->size; rank++) {
            wrong += all[rank] != rank * 1000 + round;
            out[rank] = at->rank * 100 + rank;
        }
        MUST(MPI_Alltoall(out, 1, MPI_INT, all, 1, MPI_INT, at->comm));
        for (int rank = 0; rank < at->size; rank++)
            wrong += all[rank] != rank * 100 + at->rank;
        CHECK_EQUAL(wrong, 0);
    }
    free(all);
    free(out);
}

/* Ranks take turns in communicators that overlap. */
static void overlapping(void)
{
    for (int round = 0; round < 15; round++)
        for (int index = 0; index < COMMS; index++) {
            const Place *at = &places[index];
            int sum = -1;
            MUST(MPI_Allreduce(&at->rank, &sum, 1, MPI_INT, MPI_SUM, at->comm));
            CHECK_EQUAL(sum, at->size * (at->size - 1) / 2);
        }
}

/* The root of a broadcast goes on long before the others come. */
static void late_comers(void)
{
    static int block[LONG];
    for (int root = 0; root < check_size; root++) {
        if (check_rank != root)
            sleep_ms(3);
        for (int place = 0; place < LONG && check_rank == root; place++)
            block[place] = place + root;
        MUST(MPI_Bcast(block, LONG, MPI_INT, root, MPI_COMM_WORLD));
        int wrong = 0;
        for (int place = 0; place < LONG; place++)
            wrong += block[place] != place + root;
        CHECK_EQUAL(wrong, 0);
    }
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    comms_open();
    section("open wildcards");
    comms_each(open_wildcards);
    section("across");
    comms_each(across);
    section("in a row");
    comms_each(in_a_row);
    section("overlapping");
    overlapping();
    section("late comers");
    late_comers();
    comms_close();
    return check_end();
}
