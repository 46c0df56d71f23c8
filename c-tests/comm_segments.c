/* Many communicators at once and one after the other, more than a library may have special means
 * for: each carries collective operations of its own, freed in orders that differ between ranks. */
#include "check.h"

enum { MANY = 80, TURNS = 2, SHORT_LIVES = 60 };

/* The sum of (rank + 1) * factor, an element of every rank, and the word of one. */
static void use(MPI_Comm comm, int factor)
{
    int rank, size;
    MUST(MPI_Comm_rank(comm, &rank));
    MUST(MPI_Comm_size(comm, &size));
    int own = (rank + 1) * factor, sum = -1;
    MUST(MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK_EQUAL(sum, size * (size + 1) / 2 * factor);
    int word = rank == factor % size ? factor : -1;
    MUST(MPI_Bcast(&word, 1, MPI_INT, factor % size, comm));
    CHECK_EQUAL(word, factor);
    int *all = take((size_t)size * sizeof *all);
    MUST(MPI_Allgather(&own, 1, MPI_INT, all, 1, MPI_INT, comm));
    for (int other = 0; other < size; other++)
        CHECK_EQUAL(all[other], (other + 1) * factor);
    free(all);
}

/* A place in 0..count, of each rank its own. */
static int place(uint64_t *state, int count)
{
    return (int)draw(state, (unsigned)count);
}

static void many_at_once(void)
{
    static MPI_Comm comms[MANY];
    uint64_t own = 1234 + (uint64_t)check_rank * 99991, common = 5;
    for (int turn = 0; turn < TURNS; turn++) {
        for (int at = 0; at < MANY; at++)
            MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comms[at]));
        for (int at = 0; at < MANY; at++)
            use(comms[MANY - 1 - at], at + turn);
        /* Half of them goes in the order of each rank, and comes again. */
        for (int at = 0; at < MANY / 2; at++) {
            int drawn = at + place(&own, MANY / 2 - at);
            MPI_Comm comm = comms[drawn];
            comms[drawn] = comms[at];
            MUST(MPI_Comm_free(&comm));
        }
        for (int at = 0; at < MANY / 2; at++)
            MUST(MPI_Comm_dup(comms[MANY / 2 + at % (MANY / 2)], &comms[at]));
        for (int number = 0; number < MANY; number++)
            use(comms[draw(&common, MANY)], number);
        for (int at = 0; at < MANY; at++)
            MUST(MPI_Comm_free(&comms[check_rank % 2 ? at : MANY - 1 - at]));
    }
}

static void short_lives(void)
{
    for (int life = 0; life < SHORT_LIVES; life++) {
        MPI_Comm comm, half;
        MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        MUST(MPI_Comm_split(comm, check_rank % (1 + life % 3), -check_rank, &half));
        use(half, life);
        MUST(MPI_Comm_free(&half));
        use(comm, life);
        MUST(MPI_Comm_free(&comm));
    }
}

static void beside_each_other(void)
{
    MPI_Comm rows[MANY];
    for (int at = 0; at < MANY; at++)
        MUST(MPI_Comm_split(MPI_COMM_WORLD, check_rank % (at % 4 + 1), at % 2 ? check_rank : 0,
                            &rows[at]));
    for (int at = 0; at < MANY; at++)
        use(rows[at], at + 1);
    for (int at = 0; at < MANY; at++)
        MUST(MPI_Comm_disconnect(&rows[at]));
}

static void while_others_are_made(void)
{
    MPI_Comm comms[8];
    MPI_Request requests[8];
    for (int turn = 0; turn < 20; turn++) {
        for (int at = 0; at < 8; at++)
            MUST(MPI_Comm_idup(MPI_COMM_WORLD, &comms[at], &requests[at]));
        use(MPI_COMM_WORLD, turn);
        MUST(MPI_Waitall(8, requests, MPI_STATUSES_IGNORE));
        for (int at = 0; at < 8; at++)
            use(comms[at], at + turn);
        for (int at = 0; at < 8; at++)
            MUST(MPI_Comm_free(&comms[(at + check_rank) % 8]));
    }
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    section("many communicators at once");
    many_at_once();
    section("communicators that live shortly");
    short_lives();
    section("parts of the world beside each other");
    beside_each_other();
    section("communicators that are made while others are used");
    while_others_are_made();
    return check_end();
}
