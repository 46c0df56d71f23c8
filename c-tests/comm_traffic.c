/* Messages in different communicators do not meet; communicators come and go by the hundred;
 * one is freed while its messages are under way. */
#include "check.h"

enum { COMMS = 5, LOOP = 150, LONG = 100000 };
static int partner;

/* The same source and tag in several communicators; received in another order, by wildcards. */
static void apart(void)
{
    MPI_Comm comm[COMMS];
    MPI_Request send[COMMS];
    int out[COMMS], flag = 1;
    for (int index = 0; index < COMMS; index++) {
        MUST(MPI_Comm_dup(index ? comm[index - 1] : MPI_COMM_WORLD, &comm[index]));
        out[index] = index * 10 + check_rank;
    }
    for (int index = 0; index < COMMS; index++)
        MUST(MPI_Isend(&out[index], 1, MPI_INT, partner, 1, comm[index], &send[index]));
    check_meet();
    MUST(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    for (int index = COMMS - 1; index >= 0; index--) {
        int got = -1;
        MPI_Status status;
        MUST(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm[index], &status));
        CHECK_EQUAL(got, index * 10 + partner);
        CHECK_EQUAL(status.MPI_SOURCE, partner);
    }
    MUST(MPI_Waitall(COMMS, send, MPI_STATUSES_IGNORE));
    for (int index = 0; index < COMMS; index++)
        MUST(MPI_Comm_free(&comm[index]));
}

/* A wildcard receive in the world does not take a duplicate's message or a collective's. */
static void wildcard_waits(void)
{
    MPI_Comm dup;
    MPI_Request receive;
    int got = -1, other = -1, mine = check_rank, flag = 1;
    MUST(MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &receive));
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    MUST(MPI_Sendrecv(&mine, 1, MPI_INT, partner, 2, &other, 1, MPI_INT, partner, 2, dup,
                      MPI_STATUS_IGNORE));
    CHECK_EQUAL(other, partner);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Allreduce(&mine, &other, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    MUST(MPI_Test(&receive, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    check_meet();
    MUST(MPI_Send(&mine, 1, MPI_INT, partner, 3, MPI_COMM_WORLD));
    MUST(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    CHECK_EQUAL(got, partner);
    MUST(MPI_Comm_free(&dup));
}

static void many(void)
{
    for (int round = 0; round < LOOP; round++) {
        MPI_Comm dup;
        int got = -1;
        MUST(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
        if (round % 8 == 0) {
            MUST(MPI_Sendrecv(&round, 1, MPI_INT, partner, 1, &got, 1, MPI_INT, partner, 1, dup,
                              MPI_STATUS_IGNORE));
            CHECK_EQUAL(got, round);
        }
        MUST(MPI_Comm_free(&dup));
    }
}

static void many_at_once(void)
{
    enum { HELD = 100 };
    MPI_Comm held[HELD];
    for (int index = 0; index < HELD; index++)
        MUST(MPI_Comm_split(MPI_COMM_WORLD, index % 2, check_rank, &held[index]));
    for (int index = HELD - 1; index >= 0; index -= 7) {
        int sum = -1;
        MUST(MPI_Allreduce(&index, &sum, 1, MPI_INT, MPI_SUM, held[index]));
        CHECK_EQUAL(sum, index * check_size);
    }
    for (int index = 0; index < HELD; index++)
        MUST(MPI_Comm_free(&held[index]));
}

/* What was started in a communicator is finished after it was freed (section 7.4.3). */
static void freed_under_way(int count)
{
    static int out[LONG], in[LONG];
    MPI_Comm dup;
    MPI_Request request[2];
    int wrong = 0;
    for (int place = 0; place < count; place++)
        out[place] = check_rank + place;
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    MUST(MPI_Isend(out, count, MPI_INT, partner, 1, dup, &request[0]));
    MUST(MPI_Irecv(in, count, MPI_INT, partner, 1, dup, &request[1]));
    MUST(MPI_Comm_free(&dup));
    CHECK(dup == MPI_COMM_NULL);
    MUST(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
    for (int place = 0; place < count; place++)
        wrong += in[place] != partner + place;
    CHECK_EQUAL(wrong, 0);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    partner = (check_rank ^ 1) < check_size ? check_rank ^ 1 : check_rank;
    section("apart");
    apart();
    section("a wildcard waits for its own");
    wildcard_waits();
    section("many, one after the other");
    many();
    section("many at once");
    many_at_once();
    section("freed under way");
    freed_under_way(1);
    freed_under_way(LONG);
    return check_end();
}
