/* A message longer than its receive: MPI_ERR_TRUNCATE, nothing written past the end, the sender
 * and the next message unaffected; short and long, expected and not. */
#include "check.h"

enum { LONGEST = 2000000, GUARD = 64 };
static int partner;
static char *out, *in;

static void expect_truncated(int code, int room)
{
    int damage = 0;
    CHECK_EQUAL(check_class(code), MPI_ERR_TRUNCATE);
    for (int place = 0; place < GUARD; place++)
        damage += in[room + place] != 0x33;
    CHECK_EQUAL(damage, 0);
}

/* The message after the one that did not fit. */
static void next_is_whole(int bytes)
{
    MPI_Request request;
    MUST(MPI_Isend(out, bytes, MPI_BYTE, partner, 2, MPI_COMM_WORLD, &request));
    MUST(MPI_Recv(in, bytes, MPI_BYTE, partner, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_EQUAL(spoiled(in, (size_t)bytes, (unsigned)partner), 0);
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void unexpected(int bytes, int room)
{
    MPI_Request request[2];
    memset(in, 0x33, (size_t)room + GUARD);
    MUST(MPI_Isend(out, bytes, MPI_BYTE, partner, 1, MPI_COMM_WORLD, &request[0]));
    MUST(MPI_Isend(NULL, 0, MPI_BYTE, partner, 3, MPI_COMM_WORLD, &request[1]));
    MUST(MPI_Recv(NULL, 0, MPI_BYTE, partner, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    int code = MPI_Recv(in, room, MPI_BYTE, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect_truncated(code, room);
    MUST(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
    next_is_whole(bytes);
}

static void expected(int bytes, int room)
{
    MPI_Request receive, send;
    memset(in, 0x33, (size_t)room + GUARD);
    MUST(MPI_Irecv(in, room, MPI_BYTE, partner, 1, MPI_COMM_WORLD, &receive));
    check_meet();
    MUST(MPI_Isend(out, bytes, MPI_BYTE, partner, 1, MPI_COMM_WORLD, &send));
    expect_truncated(MPI_Wait(&receive, MPI_STATUS_IGNORE), room);
    CHECK(receive == MPI_REQUEST_NULL);
    MUST(MPI_Wait(&send, MPI_STATUS_IGNORE));
    next_is_whole(bytes);
}

static void in_other_calls(int bytes, int room)
{
    MPI_Message message;
    MPI_Request send;
    memset(in, 0x33, (size_t)room + GUARD);
    int code = MPI_Sendrecv(out, bytes, MPI_BYTE, partner, 1, in, room, MPI_BYTE, partner, 1,
                            MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect_truncated(code, room);
    memset(in, 0x33, (size_t)room + GUARD);
    MUST(MPI_Isend(out, bytes, MPI_BYTE, partner, 1, MPI_COMM_WORLD, &send));
    MUST(MPI_Mprobe(partner, 1, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    expect_truncated(MPI_Mrecv(in, room, MPI_BYTE, &message, MPI_STATUS_IGNORE), room);
    MUST(MPI_Wait(&send, MPI_STATUS_IGNORE));
    next_is_whole(bytes);
}

/* The receive describes every second byte; the gaps and what follows stay as they were. */
static void typed(int bytes, int room)
{
    MPI_Datatype second;
    MPI_Request send;
    int damage = 0;
    MUST(MPI_Type_vector(room, 1, 2, MPI_BYTE, &second));
    MUST(MPI_Type_commit(&second));
    memset(in, 0x33, (size_t)room * 2 + GUARD);
    MUST(MPI_Isend(out, bytes, MPI_BYTE, partner, 1, MPI_COMM_WORLD, &send));
    int code = MPI_Recv(in, 1, second, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQUAL(check_class(code), MPI_ERR_TRUNCATE);
    for (int place = 1; place < 2 * room; place += 2)
        damage += in[place] != 0x33;
    for (int place = 2 * room; place < 2 * room + GUARD; place++)
        damage += in[place] != 0x33;
    CHECK_EQUAL(damage, 0);
    MUST(MPI_Wait(&send, MPI_STATUS_IGNORE));
    MUST(MPI_Type_free(&second));
}

int main(int argc, char **argv)
{
    static const int sizes[][2] = {{1, 0}, {40, 39}, {41, 40}, {64, 8}, {1000, 999}, {9000, 0},
        {70000, 100}, {70000, 69999}, {LONGEST, 0}, {LONGEST, 1000}, {LONGEST, LONGEST - 1}};
    check_start(&argc, &argv);
    partner = (check_rank ^ 1) < check_size ? check_rank ^ 1 : check_rank;
    out = take(LONGEST);
    in = take(LONGEST + GUARD);
    fill(out, LONGEST, (unsigned)check_rank);
    for (size_t index = 0; index < sizeof sizes / sizeof sizes[0]; index++) {
        section("%d bytes into %d", sizes[index][0], sizes[index][1]);
        unexpected(sizes[index][0], sizes[index][1]);
        expected(sizes[index][0], sizes[index][1]);
        in_other_calls(sizes[index][0], sizes[index][1]);
        /* MPICH 5 divides by zero when a type of no size gets a message. */
        if (sizes[index][1] < LONGEST / 2 && (sizes[index][1] > 0 || check_strict()))
            typed(sizes[index][0], sizes[index][1]);
    }
    free(out);
    free(in);
    return check_end();
}
