/* MPI_Comm_split: colours, keys with ties, MPI_UNDEFINED, splits of splits. */
#include "check.h"
#include "hosts.h"

static void expect(MPI_Comm comm, int size, int rank)
{
    int got = -1, sum = -1;
    MUST(MPI_Comm_size(comm, &got));
    CHECK_EQUAL(got, size);
    MUST(MPI_Comm_rank(comm, &got));
    CHECK_EQUAL(got, rank);
    MUST(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK_EQUAL(sum, size * (size - 1) / 2);
}

static void by_parity(void)
{
    MPI_Comm comm;
    int odd = check_rank % 2;
    MUST(MPI_Comm_split(MPI_COMM_WORLD, odd, check_rank, &comm));
    expect(comm, (check_size + 1 - odd) / 2, check_rank / 2);
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Comm_split(MPI_COMM_WORLD, odd ? 1000000007 : 0, -check_rank, &comm));
    int size = (check_size + 1 - odd) / 2;
    expect(comm, size, size - 1 - check_rank / 2);
    MUST(MPI_Comm_free(&comm));
}

/* Equal keys keep the old order, whatever the colours are. */
static void with_ties(void)
{
    MPI_Comm comm;
    MUST(MPI_Comm_split(MPI_COMM_WORLD, 3, 42, &comm));
    expect(comm, check_size, check_rank);
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Comm_split(MPI_COMM_WORLD, 3, -(check_rank / 2), &comm));
    int pair = check_rank / 2, pairs = (check_size + 1) / 2, before = 0;
    for (int other = pair + 1; other < pairs; other++)
        before += 2 * other + 1 < check_size ? 2 : 1;
    expect(comm, check_size, before + check_rank % 2);
    MUST(MPI_Comm_free(&comm));
}

static void some_stay_out(void)
{
    MPI_Comm comm;
    int in = check_rank % 3 != 0;
    MUST(MPI_Comm_split(MPI_COMM_WORLD, in ? 5 : MPI_UNDEFINED, 0, &comm));
    CHECK_EQUAL(comm != MPI_COMM_NULL, in);
    if (in) {
        expect(comm, check_size - (check_size + 2) / 3, check_rank - check_rank / 3 - 1);
        MUST(MPI_Comm_free(&comm));
    }
    MUST(MPI_Comm_split(MPI_COMM_WORLD, MPI_UNDEFINED, 0, &comm));
    CHECK(comm == MPI_COMM_NULL);
}

/* Everybody alone; halves of halves down to one. */
static void down_to_one(void)
{
    MPI_Comm comm, half;
    MUST(MPI_Comm_split(MPI_COMM_WORLD, check_rank, 0, &comm));
    expect(comm, 1, 0);
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (;;) {
        int size = 0, rank = 0;
        MUST(MPI_Comm_size(comm, &size));
        MUST(MPI_Comm_rank(comm, &rank));
        if (size == 1)
            break;
        int upper = rank >= size / 2;
        MUST(MPI_Comm_split(comm, upper, rank, &half));
        expect(half, upper ? size - size / 2 : size / 2, upper ? rank - size / 2 : rank);
        MUST(MPI_Comm_free(&comm));
        comm = half;
    }
    MUST(MPI_Comm_free(&comm));
}

/* A split by shared memory gives all ranks of a host. */
static void by_shared_memory(void)
{
    MPI_Comm comm;
    int *here = same_host(), size = 0, above = 0;
    for (int rank = 0; rank < check_size; rank++) {
        size += here[rank];
        above += here[rank] && rank > check_rank;
    }
    free(here);
    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -check_rank, MPI_INFO_NULL,
                             &comm));
    expect(comm, size, above);
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_UNDEFINED, 0, MPI_INFO_NULL, &comm));
    CHECK(comm == MPI_COMM_NULL);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    section("by parity");
    by_parity();
    section("ties");
    with_ties();
    section("some stay out");
    some_stay_out();
    section("down to one");
    down_to_one();
    section("by shared memory");
    by_shared_memory();
    return check_end();
}
