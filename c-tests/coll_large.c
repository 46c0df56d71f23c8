/* Collectives of megabytes in the world. */
#include "check.h"

enum { BYTES = 4 << 20, INTS = BYTES / 4 };

static int *out, *in;

static int wrong_ints(const int *buffer, int count, int scale, int offset)
{
    int wrong = 0;
    for (int index = 0; index < count; index++)
        wrong += buffer[index] != index * scale + offset;
    return wrong;
}

static void broadcast(void)
{
    for (int root = 0; root < check_size; root += check_size > 1 ? check_size - 1 : 1) {
        for (int index = 0; index < INTS; index++)
            in[index] = check_rank == root ? index * 3 + root : -1;
        MUST(MPI_Bcast(in, INTS, MPI_INT, root, MPI_COMM_WORLD));
        CHECK_EQUAL(wrong_ints(in, INTS, 3, root), 0);
    }
}

static void reductions(void)
{
    int ranks = check_size * (check_size - 1) / 2;
    for (int index = 0; index < INTS; index++)
        out[index] = index + check_rank;
    MUST(MPI_Allreduce(out, in, INTS, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQUAL(wrong_ints(in, INTS, check_size, ranks), 0);
    memset(in, 0, BYTES);
    MUST(MPI_Reduce(out, in, INTS, MPI_INT, MPI_SUM, check_size - 1, MPI_COMM_WORLD));
    if (check_rank == check_size - 1)
        CHECK_EQUAL(wrong_ints(in, INTS, check_size, ranks), 0);
    MUST(MPI_Allreduce(MPI_IN_PLACE, out, INTS, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    CHECK_EQUAL(wrong_ints(out, INTS, 1, check_size - 1), 0);
}

static void gatherings(void)
{
    int part = INTS / check_size, wrong = 0;
    for (int index = 0; index < part; index++)
        out[index] = index * 2 + check_rank;
    MUST(MPI_Allgather(out, part, MPI_INT, in, part, MPI_INT, MPI_COMM_WORLD));
    for (int rank = 0; rank < check_size; rank++)
        wrong += wrong_ints(in + rank * part, part, 2, rank);
    MUST(MPI_Gather(out, part, MPI_INT, in, part, MPI_INT, 0, MPI_COMM_WORLD));
    for (int rank = 0; rank < check_size; rank++)
        wrong += wrong_ints(in + rank * part, part, 2, rank);
    memset(out, 0, BYTES);
    MUST(MPI_Scatter(in, part, MPI_INT, out, part, MPI_INT, 0, MPI_COMM_WORLD));
    wrong += wrong_ints(out, part, 2, check_rank);
    CHECK_EQUAL(wrong, 0);
}

static void exchange(void)
{
    int part = INTS / check_size, wrong = 0;
    for (int rank = 0; rank < check_size; rank++)
        for (int index = 0; index < part; index++)
            out[rank * part + index] = index + check_rank * 100 + rank;
    MUST(MPI_Alltoall(out, part, MPI_INT, in, part, MPI_INT, MPI_COMM_WORLD));
    for (int rank = 0; rank < check_size; rank++)
        wrong += wrong_ints(in + rank * part, part, 1, rank * 100 + check_rank);
    CHECK_EQUAL(wrong, 0);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    out = take(BYTES);
    in = take(BYTES);
    section("broadcast");
    broadcast();
    section("reductions");
    reductions();
    section("gather, scatter, allgather");
    gatherings();
    section("alltoall");
    exchange();
    free(out);
    free(in);
    return check_end();
}
