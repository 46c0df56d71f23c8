/* Programs that the standard promises not to deadlock: long messages head to head, all to all,
 * rings in both directions, chains that forward a long message, one rank that sleeps. */
#include "check.h"

enum { LONG = 1 << 20, EACH = 20000 };
static char *out, *in;
static int right, left, partner;

/* Both start to send, then receive, then wait. */
static void isend_first(int bytes)
{
    MPI_Request send;
    fill(out, (size_t)bytes, (unsigned)check_rank);
    MUST(MPI_Isend(out, bytes, MPI_BYTE, partner, 1, MPI_COMM_WORLD, &send));
    MUST(MPI_Recv(in, bytes, MPI_BYTE, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MUST(MPI_Wait(&send, MPI_STATUS_IGNORE));
    CHECK_EQUAL(spoiled(in, (size_t)bytes, (unsigned)partner), 0);
}

/* Both start to receive, then block in a send. */
static void irecv_first(int bytes)
{
    MPI_Request receive;
    MUST(MPI_Irecv(in, bytes, MPI_BYTE, partner, 2, MPI_COMM_WORLD, &receive));
    MUST(MPI_Send(out, bytes, MPI_BYTE, partner, 2, MPI_COMM_WORLD));
    MUST(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    CHECK_EQUAL(spoiled(in, (size_t)bytes, (unsigned)partner), 0);
}

/* All to all, every send started before the first receive. */
static void everybody(int each)
{
    MPI_Request *request = take(2 * (size_t)check_size * sizeof *request);
    char *from = take((size_t)check_size * (size_t)each);
    fill(out, (size_t)each, (unsigned)check_rank);
    for (int rank = 0; rank < check_size; rank++)
        MUST(MPI_Isend(out, each, MPI_BYTE, rank, 3, MPI_COMM_WORLD, &request[rank]));
    for (int rank = check_size - 1; rank >= 0; rank--)
        MUST(MPI_Irecv(from + (size_t)rank * (size_t)each, each, MPI_BYTE, rank, 3,
                       MPI_COMM_WORLD, &request[check_size + rank]));
    MUST(MPI_Waitall(2 * check_size, request, MPI_STATUSES_IGNORE));
    for (int rank = 0; rank < check_size; rank++)
        CHECK_EQUAL(spoiled(from + (size_t)rank * (size_t)each, (size_t)each, (unsigned)rank), 0);
    free(from);
    free(request);
}

/* Both directions of a ring at once, several long messages each. */
static void two_way_ring(void)
{
    enum { DEPTH = 4, BYTES = LONG / 4 };
    MPI_Request request[4 * DEPTH];
    char *from_left = take(DEPTH * BYTES), *from_right = take(DEPTH * BYTES);
    int used = 0;
    fill(out, BYTES, (unsigned)check_rank);
    for (int index = 0; index < DEPTH; index++) {
        MUST(MPI_Isend(out, BYTES, MPI_BYTE, right, 4, MPI_COMM_WORLD, &request[used++]));
        MUST(MPI_Isend(out, BYTES, MPI_BYTE, left, 5, MPI_COMM_WORLD, &request[used++]));
    }
    for (int index = 0; index < DEPTH; index++) {
        MUST(MPI_Irecv(from_left + index * BYTES, BYTES, MPI_BYTE, left, 4, MPI_COMM_WORLD,
                       &request[used++]));
        MUST(MPI_Irecv(from_right + index * BYTES, BYTES, MPI_BYTE, right, 5, MPI_COMM_WORLD,
                       &request[used++]));
    }
    MUST(MPI_Waitall(used, request, MPI_STATUSES_IGNORE));
    for (int index = 0; index < DEPTH; index++) {
        CHECK_EQUAL(spoiled(from_left + index * BYTES, BYTES, (unsigned)left), 0);
        CHECK_EQUAL(spoiled(from_right + index * BYTES, BYTES, (unsigned)right), 0);
    }
    free(from_left);
    free(from_right);
}

/* Rank 0 starts a long message around; everybody else receives before sending. */
static void passed_on(int bytes)
{
    if (check_size == 1)
        return;
    if (check_rank == 0) {
        fill(out, (size_t)bytes, 99);
        MUST(MPI_Send(out, bytes, MPI_BYTE, right, 6, MPI_COMM_WORLD));
        MUST(MPI_Recv(in, bytes, MPI_BYTE, left, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    } else {
        MUST(MPI_Recv(in, bytes, MPI_BYTE, left, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        MUST(MPI_Send(in, bytes, MPI_BYTE, right, 6, MPI_COMM_WORLD));
    }
    CHECK_EQUAL(spoiled(in, (size_t)bytes, 99), 0);
}

/* Hundreds of turns between two neighbours, while the others wait for theirs. */
static void many_turns(void)
{
    for (int turn = 0; turn < 300; turn++) {
        int got = -1;
        if (check_rank == 0) {
            MUST(MPI_Send(&turn, 1, MPI_INT, right, 7, MPI_COMM_WORLD));
            MUST(MPI_Recv(&got, 1, MPI_INT, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        } else {
            MUST(MPI_Recv(&got, 1, MPI_INT, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            MUST(MPI_Send(&got, 1, MPI_INT, right, 7, MPI_COMM_WORLD));
        }
        CHECK_EQUAL(got, turn);
    }
}

/* One rank sleeps in the middle of an exchange; the others get on as far as they can. */
static void one_sleeps(void)
{
    MPI_Request request[2];
    if (check_rank == check_size / 2)
        sleep_ms(100);
    MUST(MPI_Irecv(in, LONG, MPI_BYTE, left, 8, MPI_COMM_WORLD, &request[0]));
    MUST(MPI_Isend(out, LONG, MPI_BYTE, right, 8, MPI_COMM_WORLD, &request[1]));
    MUST(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    right = (check_rank + 1) % check_size;
    left = (check_rank + check_size - 1) % check_size;
    partner = check_size - 1 - check_rank;
    out = take(LONG);
    in = take(LONG);
    section("head to head");
    isend_first(100);
    isend_first(LONG);
    irecv_first(100);
    irecv_first(LONG);
    section("everybody to everybody");
    everybody(10);
    everybody(EACH);
    everybody(10 * EACH);
    section("rings");
    two_way_ring();
    passed_on(10);
    passed_on(LONG);
    if (check_size > 1)
        many_turns();
    section("one sleeps");
    one_sleeps();
    free(out);
    free(in);
    return check_end();
}
