/* The _c forms: counts of type MPI_Count for sends, receives, probes, types and collectives. */
#include "check.h"

enum { COUNT = 5000 };
static int partner;
static int out[COUNT], in[COUNT];

static void expect_data(int source)
{
    int wrong = 0;
    for (int place = 0; place < COUNT; place++) {
        wrong += in[place] != source * 7 + place;
        in[place] = -1;
    }
    CHECK_EQUAL(wrong, 0);
}

static void point_to_point(void)
{
    MPI_Request request[2];
    MPI_Status status;
    MPI_Message message;
    MPI_Count count = -1;
    MUST(MPI_Irecv_c(in, COUNT, MPI_INT, partner, 1, MPI_COMM_WORLD, &request[0]));
    MUST(MPI_Send_c(out, COUNT, MPI_INT, partner, 1, MPI_COMM_WORLD));
    MUST(MPI_Wait(&request[0], &status));
    MUST(MPI_Get_count_c(&status, MPI_INT, &count));
    CHECK_EQUAL(count, COUNT);
    expect_data(partner);
    MUST(MPI_Isend_c(out, COUNT, MPI_INT, partner, 2, MPI_COMM_WORLD, &request[1]));
    MUST(MPI_Recv_c(in, COUNT, MPI_INT, partner, 2, MPI_COMM_WORLD, &status));
    MUST(MPI_Wait(&request[1], MPI_STATUS_IGNORE));
    expect_data(partner);
    MUST(MPI_Issend_c(out, COUNT, MPI_INT, partner, 3, MPI_COMM_WORLD, &request[1]));
    MUST(MPI_Mprobe(partner, 3, MPI_COMM_WORLD, &message, &status));
    MUST(MPI_Mrecv_c(in, COUNT, MPI_INT, &message, &status));
    MUST(MPI_Wait(&request[1], MPI_STATUS_IGNORE));
    expect_data(partner);
    MUST(MPI_Sendrecv_c(out, COUNT, MPI_INT, partner, 4, in, COUNT, MPI_INT, partner, 4,
                        MPI_COMM_WORLD, &status));
    expect_data(partner);
}

static void persistent(void)
{
    MPI_Request request[2];
    MUST(MPI_Recv_init_c(in, COUNT, MPI_INT, partner, 5, MPI_COMM_WORLD, &request[0]));
    MUST(MPI_Send_init_c(out, COUNT, MPI_INT, partner, 5, MPI_COMM_WORLD, &request[1]));
    for (int round = 0; round < 3; round++) {
        MUST(MPI_Startall(2, request));
        MUST(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
        expect_data(partner);
    }
    MUST(MPI_Request_free(&request[0]));
    MUST(MPI_Request_free(&request[1]));
}

/* Types larger than an int can say: their sizes are known, the small forms say so. */
static void huge_types(void)
{
    const MPI_Count many = (MPI_Count)3 << 30;
    MPI_Datatype huge, wide;
    MPI_Count size = -1, lower = -1, extent = -1;
    int small = 0;
    MUST(MPI_Type_contiguous_c(many, MPI_INT, &huge));
    MUST(MPI_Type_commit(&huge));
    MUST(MPI_Type_size_c(huge, &size));
    CHECK_EQUAL(size, many * 4);
    MUST(MPI_Type_size_x(huge, &size));
    CHECK_EQUAL(size, many * 4);
    MUST(MPI_Type_size(huge, &small));
    CHECK_EQUAL(small, MPI_UNDEFINED);
    MUST(MPI_Type_get_extent_c(huge, &lower, &extent));
    CHECK_EQUAL(lower, 0);
    CHECK_EQUAL(extent, many * 4);
    MUST(MPI_Type_vector_c(3, 1, many, MPI_INT, &wide));
    MUST(MPI_Type_commit(&wide));
    MUST(MPI_Type_size_c(wide, &size));
    CHECK_EQUAL(size, 12);
    MUST(MPI_Type_get_extent_c(wide, &lower, &extent));
    CHECK_EQUAL(extent, 2 * many * 4 + 4);
    MUST(MPI_Type_free(&huge));
    MUST(MPI_Type_free(&wide));
}

/* Small types by the large constructors, in use. */
static void large_constructors(void)
{
    const MPI_Count lengths[] = {2, 1}, places[] = {0, 12}, steps[] = {0, 3};
    const MPI_Datatype parts[] = {MPI_INT, MPI_INT};
    MPI_Datatype types[4];
    int source[8] = {10, 11, 12, 13, 14, 15, 16, 17}, target[3];
    MUST(MPI_Type_create_struct_c(2, lengths, places, parts, &types[0]));
    MUST(MPI_Type_indexed_c(2, lengths, steps, MPI_INT, &types[1]));
    MUST(MPI_Type_create_hindexed_c(2, lengths, places, MPI_INT, &types[2]));
    MUST(MPI_Type_create_resized_c(types[1], 0, 32, &types[3]));
    for (int index = 0; index < 4; index++) {
        MPI_Request request;
        MUST(MPI_Type_commit(&types[index]));
        memset(target, 0, sizeof target);
        MUST(MPI_Irecv_c(target, 3, MPI_INT, check_rank, 6, MPI_COMM_WORLD, &request));
        MUST(MPI_Send_c(source, 1, types[index], check_rank, 6, MPI_COMM_WORLD));
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(target[0] == 10 && target[1] == 11 && target[2] == 13);
    }
    for (int index = 0; index < 4; index++)
        MUST(MPI_Type_free(&types[index]));
}

static void collectives(void)
{
    int sum = -1, everyone = check_size * (check_size - 1) / 2;
    int *all = take((size_t)check_size * 2 * sizeof(int));
    int *mine = take((size_t)check_size * 2 * sizeof(int));
    MPI_Count *counts = take((size_t)check_size * sizeof *counts);
    MPI_Aint *places = take((size_t)check_size * sizeof *places);
    for (int rank = 0; rank < check_size; rank++) {
        counts[rank] = 2;
        places[rank] = 2 * (check_size - 1 - rank);
        mine[2 * rank] = check_rank;
        mine[2 * rank + 1] = rank;
    }
    MUST(MPI_Allreduce_c(&check_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQUAL(sum, everyone);
    MUST(MPI_Reduce_c(&check_rank, &sum, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD));
    CHECK_EQUAL(sum, check_rank == 0 ? check_size - 1 : everyone);
    MUST(MPI_Bcast_c(&sum, 1, MPI_INT, 0, MPI_COMM_WORLD));
    CHECK_EQUAL(sum, check_size - 1);
    MUST(MPI_Allgather_c(mine, 2, MPI_INT, all, 2, MPI_INT, MPI_COMM_WORLD));
    for (int rank = 0; rank < check_size; rank++)
        CHECK(all[2 * rank] == rank && all[2 * rank + 1] == 0);
    MUST(MPI_Allgatherv_c(mine, 2, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD));
    for (int rank = 0; rank < check_size; rank++)
        CHECK_EQUAL(all[places[rank]], rank);
    MUST(MPI_Alltoall_c(mine, 2, MPI_INT, all, 2, MPI_INT, MPI_COMM_WORLD));
    for (int rank = 0; rank < check_size; rank++)
        CHECK(all[2 * rank] == rank && all[2 * rank + 1] == check_rank);
    MUST(MPI_Alltoallv_c(mine, counts, places, MPI_INT, all, counts, places, MPI_INT,
                         MPI_COMM_WORLD));
    for (int rank = 0; rank < check_size; rank++)
        CHECK_EQUAL(all[places[rank]], rank);
    free(all);
    free(mine);
    free(counts);
    free(places);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    partner = (check_rank ^ 1) < check_size ? check_rank ^ 1 : check_rank;
    for (int place = 0; place < COUNT; place++)
        out[place] = check_rank * 7 + place;
    section("point to point");
    point_to_point();
    persistent();
    section("types");
    huge_types();
    large_constructors();
    section("collectives");
    collectives();
    return check_end();
}
