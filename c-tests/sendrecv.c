/* Sendrecv, its replacing form, and both without blocking: rings, the rank itself, MPI_PROC_NULL at
 * the ends, different sizes and types on the two sides, long messages. */
#include "check.h"

enum { LONGEST = 1 << 20 };
static int right, left;
static int out[LONGEST], in[LONGEST];
static const int counts[] = {0, 1, 10, 11, 1000, 20000, LONGEST};
enum { COUNTS = sizeof counts / sizeof counts[0] };

static void prepare(int count)
{
    for (int place = 0; place < count; place++) {
        out[place] = check_rank * 11 + place;
        in[place] = -1;
    }
}

static int wrong(const int *buffer, int count, int rank)
{
    int bad = 0;
    for (int place = 0; place < count; place++)
        bad += buffer[place] != rank * 11 + place;
    return bad;
}

static void expect(const MPI_Status *status, int count, int source, int tag)
{
    int got = -1;
    MUST(MPI_Get_count(status, MPI_INT, &got));
    CHECK_EQUAL(got, count);
    CHECK_EQUAL(status->MPI_SOURCE, source);
    CHECK_EQUAL(status->MPI_TAG, tag);
}

/* The status of the nonblocking forms is that of the receive; MPICH 5 does not fill it. */
static void expect_nonblocking(const MPI_Status *status, int count, int source, int tag)
{
    if (check_strict())
        expect(status, count, source, tag);
}

static void ring(int count)
{
    MPI_Status status = scrambled_status();
    prepare(count);
    MUST(MPI_Sendrecv(out, count, MPI_INT, right, 1, in, LONGEST, MPI_INT, left, 1,
                      MPI_COMM_WORLD, &status));
    expect(&status, count, left, 1);
    CHECK_EQUAL(wrong(in, count, left), 0);
    MUST(MPI_Sendrecv_replace(out, count, MPI_INT, left, 2, right, MPI_ANY_TAG, MPI_COMM_WORLD,
                              &status));
    expect(&status, count, right, 2);
    CHECK_EQUAL(wrong(out, count, right), 0);
}

static void ring_nonblocking(int count)
{
    MPI_Request request;
    MPI_Status status = scrambled_status();
    prepare(count);
    MUST(MPI_Isendrecv(out, count, MPI_INT, right, 3, in, LONGEST, MPI_INT, left, 3,
                       MPI_COMM_WORLD, &request));
    MUST(MPI_Wait(&request, &status));
    CHECK(request == MPI_REQUEST_NULL);
    expect_nonblocking(&status, count, left, 3);
    CHECK_EQUAL(wrong(in, count, left), 0);
    status = scrambled_status();
    MUST(MPI_Isendrecv_replace(out, count, MPI_INT, left, 4, right, 4, MPI_COMM_WORLD,
                               &request));
    MUST(MPI_Wait(&request, &status));
    expect_nonblocking(&status, count, right, 4);
    CHECK_EQUAL(wrong(out, count, right), 0);
}

/* Two at once in opposite directions, finished in either order. */
static void crossing(int count)
{
    static int back[LONGEST];
    MPI_Request request[2];
    MPI_Status status[2];
    prepare(count);
    MUST(MPI_Isendrecv(out, count, MPI_INT, right, 5, in, count, MPI_INT, left, 5,
                       MPI_COMM_WORLD, &request[0]));
    MUST(MPI_Isendrecv(out, count, MPI_INT, left, 6, back, count, MPI_INT, right, 6,
                       MPI_COMM_WORLD, &request[1]));
    MUST(MPI_Waitall(2, request, status));
    expect_nonblocking(&status[0], count, left, 5);
    expect_nonblocking(&status[1], count, right, 6);
    CHECK_EQUAL(wrong(in, count, left), 0);
    CHECK_EQUAL(wrong(back, count, right), 0);
}

/* Other peer, other size and other tag on each side; the plain calls match with it. */
static void unlike(void)
{
    MPI_Status status;
    int more = 100 + check_rank, from_left = 100 + left;
    prepare(more);
    MUST(MPI_Sendrecv(out, more, MPI_INT, right, 10 + check_rank, in, from_left, MPI_INT,
                      MPI_ANY_SOURCE, 10 + left, MPI_COMM_WORLD, &status));
    expect(&status, from_left, left, 10 + left);
    CHECK_EQUAL(wrong(in, from_left, left), 0);
    check_meet();
    prepare(50);
    if (check_size > 1 && check_rank == 0) {
        MUST(MPI_Send(out, 50, MPI_INT, right, 7, MPI_COMM_WORLD));
        MUST(MPI_Recv(in, 50, MPI_INT, left, 7, MPI_COMM_WORLD, &status));
    } else {
        MUST(MPI_Sendrecv(out, 50, MPI_INT, right, 7, in, 50, MPI_INT, left, 7, MPI_COMM_WORLD,
                          &status));
    }
    expect(&status, 50, left, 7);
    CHECK_EQUAL(wrong(in, 50, left), 0);
}

/* Every second int goes out, comes in densely; and every second int replaced in place. */
static void typed(int count)
{
    MPI_Datatype second;
    MPI_Status status;
    int bad = 0;
    MUST(MPI_Type_vector(count, 1, 2, MPI_INT, &second));
    MUST(MPI_Type_commit(&second));
    prepare(2 * count);
    MUST(MPI_Sendrecv(out, 1, second, right, 8, in, count, MPI_INT, left, 8, MPI_COMM_WORLD,
                      &status));
    expect(&status, count, left, 8);
    for (int place = 0; place < count; place++)
        bad += in[place] != left * 11 + 2 * place;
    MUST(MPI_Sendrecv_replace(out, 1, second, right, 9, left, 9, MPI_COMM_WORLD, &status));
    for (int place = 0; place < 2 * count; place++)
        bad += out[place] != (place % 2 ? check_rank : left) * 11 + place;
    CHECK_EQUAL(bad, 0);
    MUST(MPI_Type_free(&second));
}

/* A line: the ends send to nobody and receive from nobody. */
static void line(void)
{
    int next = check_rank + 1 < check_size ? check_rank + 1 : MPI_PROC_NULL;
    int previous = check_rank > 0 ? check_rank - 1 : MPI_PROC_NULL;
    int mine = check_rank, got = -5;
    MPI_Status status = scrambled_status();
    MPI_Request request;
    MUST(MPI_Sendrecv(&mine, 1, MPI_INT, next, 1, &got, 1, MPI_INT, previous, 1, MPI_COMM_WORLD,
                      &status));
    CHECK_EQUAL(got, previous == MPI_PROC_NULL ? -5 : previous);
    CHECK(previous != MPI_PROC_NULL || status_is_of_null(&status));
    status = scrambled_status();
    MUST(MPI_Isendrecv_replace(&mine, 1, MPI_INT, previous, 2, next, 2, MPI_COMM_WORLD,
                               &request));
    MUST(MPI_Wait(&request, &status));
    CHECK_EQUAL(mine, next == MPI_PROC_NULL ? check_rank : next);
    CHECK_STRICTLY(next != MPI_PROC_NULL || status_is_of_null(&status));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    right = (check_rank + 1) % check_size;
    left = (check_rank + check_size - 1) % check_size;
    for (int index = 0; index < COUNTS; index++) {
        section("%d ints", counts[index]);
        ring(counts[index]);
        ring_nonblocking(counts[index]);
        crossing(counts[index]);
    }
    section("unlike sides");
    unlike();
    section("derived types");
    typed(3);
    typed(400);
    typed(100000);
    section("nobody at the ends");
    line();
    section("oneself");
    right = left = check_rank;
    ring(100000);
    ring_nonblocking(100000);
    return check_end();
}
