/* Invalid buffers, arrays and strings: null pointers, MPI_IN_PLACE where it has no meaning, and
 * aliased buffers. */
#include "check.h"

enum { MANY = 64 };

static int one[MANY], two[MANY], counts[MANY], places[MANY];
static MPI_Datatype types[MANY];
static MPI_Request request;
static const MPI_Comm world = MPI_COMM_WORLD;

/* The first buffer is the second. */
static void aliased(void)
{
    const MPI_Datatype type = MPI_INT;
    MUST_FAIL(MPI_Allreduce(one, one, 1, type, MPI_SUM, world), MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Allgather(one + check_rank, 1, type, one, 1, type, world), MPI_ERR_BUFFER);
    if (!check_strict())
        return; /* MPICH 5 looks for fewer of these. */
    MUST_FAIL(MPI_Iallreduce(one, one, 1, type, MPI_SUM, world, &request), MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Reduce(one, one, 1, type, MPI_SUM, 0, MPI_COMM_SELF), MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Scan(one, one, 1, type, MPI_SUM, world), MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Allgather(one, 1, type, one, 1, type, MPI_COMM_SELF), MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Alltoall(one, 1, type, one, 1, type, world), MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Gather(one, 1, type, one, 1, type, 0, MPI_COMM_SELF), MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Scatter(one, 1, type, one, 1, type, 0, MPI_COMM_SELF), MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Reduce_scatter_block(one, one, 1, type, MPI_SUM, world), MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Reduce_scatter(one, one, counts, type, MPI_SUM, world), MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Allgatherv(one + check_rank, 1, type, one, counts, places, type, world),
              MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Alltoallv(one, counts, places, type, one, counts, places, type, world),
              MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Reduce_local(one, one, 1, type, MPI_SUM), MPI_ERR_BUFFER);
    /* Without elements there is nothing that could meet. */
    MUST(MPI_Allreduce(one, one, 0, type, MPI_SUM, world));
    MUST(MPI_Allgather(NULL, 0, type, NULL, 0, type, world));
}

static void in_place(void)
{
    void *const here = MPI_IN_PLACE;
    const MPI_Datatype type = MPI_INT;
    if (!check_strict())
        return; /* MPICH 5 crashes in most of these. */
    MUST_FAIL(MPI_Send(here, 1, type, 0, 1, MPI_COMM_SELF), MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Irecv(here, 1, type, 0, 1, MPI_COMM_SELF, &request), MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Bcast(here, 1, type, 0, world), MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Allreduce(one, here, 1, type, MPI_SUM, world), MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Allreduce(here, here, 1, type, MPI_SUM, world), MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Allgather(one, 1, type, here, 1, type, world), MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Alltoall(one, 1, type, here, 1, type, world), MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Scan(one, here, 1, type, MPI_SUM, world), MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Gather(one, 1, type, here, 1, type, 0, MPI_COMM_SELF), MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Scatter(here, 1, type, one, 1, type, 0, MPI_COMM_SELF), MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Reduce_local(here, one, 1, type, MPI_SUM), MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Reduce_local(one, here, 1, type, MPI_SUM), MPI_ERR_BUFFER);
    if (check_rank != 0) {
        MUST_FAIL(MPI_Gather(here, 1, type, NULL, 0, type, 0, world), MPI_ERR_BUFFER);
        MUST_FAIL(MPI_Reduce(here, NULL, 1, type, MPI_SUM, 0, world), MPI_ERR_BUFFER);
    }
}

static void null_buffers(void)
{
    const MPI_Datatype type = MPI_INT;
    MUST_FAIL(MPI_Send(NULL, 1, type, 0, 1, MPI_COMM_SELF), MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Recv(NULL, 1, type, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE), MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Isend(NULL, 1, type, 0, 1, MPI_COMM_SELF, &request), MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Bcast(NULL, 1, type, 0, world), MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Allreduce(NULL, one, 1, type, MPI_SUM, world), MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Allreduce(one, NULL, 1, type, MPI_SUM, world), MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Alltoall(one, 1, type, NULL, 1, type, world), MPI_ERR_BUFFER);
    if (check_strict()) {
        int position = 0;
        MUST_FAIL(MPI_Reduce_local(NULL, one, 1, type, MPI_SUM), MPI_ERR_BUFFER);
        MUST_FAIL(MPI_Pack(NULL, 1, type, one, sizeof one, &position, world), MPI_ERR_BUFFER);
        MUST_FAIL(MPI_Pack(one, 1, type, NULL, 4, &position, world), MPI_ERR_BUFFER);
        MUST_FAIL(MPI_Unpack(NULL, 4, &position, one, 1, type, world), MPI_ERR_BUFFER);
        MUST_FAIL(MPI_Unpack(one, 4, &position, NULL, 1, type, world), MPI_ERR_BUFFER);
    }
}

/* An array that must have elements is a null pointer, or has a negative count. */
static void arrays(void)
{
    const MPI_Datatype type = MPI_INT;
    MPI_Datatype made;
    MPI_Group group, part;
    MPI_Comm comm;
    int flag, index;
    if (!check_strict())
        return; /* MPICH 5 crashes in some of these. */
    MUST_FAIL(MPI_Alltoallv(one, NULL, places, type, two, counts, places, type, world),
              MPI_ERR_ARG);
    MUST_FAIL(MPI_Alltoallv(one, counts, NULL, type, two, counts, places, type, world),
              MPI_ERR_ARG);
    MUST_FAIL(MPI_Alltoallw(one, counts, places, NULL, two, counts, places, types, world),
              MPI_ERR_ARG);
    MUST_FAIL(MPI_Allgatherv(one, 1, type, two, counts, NULL, type, world), MPI_ERR_ARG);
    MUST_FAIL(MPI_Reduce_scatter(one, two, NULL, type, MPI_SUM, world), MPI_ERR_ARG);
    counts[check_size - 1] = -1;
    MUST_FAIL(MPI_Allgatherv(one, 1, type, two, counts, places, type, world), MPI_ERR_COUNT);
    MUST_FAIL(MPI_Alltoallv(one, counts, places, type, two, counts, places, type, world),
              MPI_ERR_COUNT);
    MUST_FAIL(MPI_Reduce_scatter(one, two, counts, type, MPI_SUM, world), MPI_ERR_COUNT);
    counts[check_size - 1] = 1;
    MUST_FAIL(MPI_Type_indexed(1, NULL, places, type, &made), MPI_ERR_ARG);
    MUST_FAIL(MPI_Type_indexed(1, counts, NULL, type, &made), MPI_ERR_ARG);
    MUST_FAIL(MPI_Type_create_indexed_block(1, 1, NULL, type, &made), MPI_ERR_ARG);
    MUST_FAIL(MPI_Type_create_struct(1, counts, NULL, types, &made), MPI_ERR_ARG);
    MUST_FAIL(MPI_Waitall(1, NULL, MPI_STATUSES_IGNORE), MPI_ERR_ARG);
    MUST_FAIL(MPI_Testall(1, NULL, &flag, MPI_STATUSES_IGNORE), MPI_ERR_ARG);
    MUST_FAIL(MPI_Waitany(1, NULL, &index, MPI_STATUS_IGNORE), MPI_ERR_ARG);
    MUST_FAIL(MPI_Startall(1, NULL), MPI_ERR_ARG);
    MUST(MPI_Comm_group(world, &group));
    MUST_FAIL(MPI_Group_incl(group, 1, NULL, &part), MPI_ERR_ARG);
    MUST_FAIL(MPI_Group_excl(group, 1, NULL, &part), MPI_ERR_ARG);
    MUST_FAIL(MPI_Group_range_incl(group, 1, NULL, &part), MPI_ERR_ARG);
    MUST_FAIL(MPI_Group_translate_ranks(group, 1, NULL, group, one), MPI_ERR_ARG);
    MUST(MPI_Group_free(&group));
    MUST_FAIL(MPI_Comm_split(world, -5, 0, &comm), MPI_ERR_ARG);
}

static void strings(void)
{
    MPI_Info info;
    MPI_Win win;
    MPI_Datatype type;
    int code, flag = 0, room = 0;
    if (!check_strict())
        return;
    MUST_FAIL(MPI_Comm_set_name(world, NULL), MPI_ERR_ARG);
    MUST(MPI_Type_dup(MPI_INT, &type));
    MUST_FAIL(MPI_Type_set_name(type, NULL), MPI_ERR_ARG);
    MUST(MPI_Type_free(&type));
    MUST(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_SELF, &win));
    MUST(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    MUST_FAIL(MPI_Win_set_name(win, NULL), MPI_ERR_ARG);
    MUST(MPI_Win_free(&win));
    MUST(MPI_Add_error_class(&code));
    MUST_FAIL(MPI_Add_error_string(code, NULL), MPI_ERR_ARG);
    MUST(MPI_Remove_error_class(code));
    MUST(MPI_Info_create(&info));
    MUST_FAIL(MPI_Info_set(info, NULL, "value"), MPI_ERR_INFO_KEY);
    MUST_FAIL(MPI_Info_set(info, "key", NULL), MPI_ERR_INFO_VALUE);
    MUST_FAIL(MPI_Info_get_string(info, NULL, &room, NULL, &flag), MPI_ERR_INFO_KEY);
    MUST(MPI_Info_free(&info));
}

/* A halo exchange: columns of one array, by subarrays with one address or by absolute addresses. */
static void sections_of_one_array(int absolute)
{
    enum { ROWS = 3, COLUMNS = 4 };
    static int grid[ROWS][COLUMNS], sent[MANY], received[MANY], none[MANY];
    const int sizes[] = {ROWS, COLUMNS}, part[] = {ROWS, 1}, first[] = {0, 0}, third[] = {0, 2};
    MPI_Datatype column[2], from[MANY], to[MANY];
    void *base = absolute ? MPI_BOTTOM : grid;
    int next = (check_rank + 1) % check_size, last = (check_rank + check_size - 1) % check_size;
    for (int row = 0; row < ROWS; row++)
        for (int index = 0; index < COLUMNS; index++)
            grid[row][index] = check_rank * 100 + row * 10 + index;
    for (int side = 0; side < 2; side++) {
        MUST(MPI_Type_create_subarray(2, sizes, part, side ? third : first, MPI_ORDER_C, MPI_INT,
                                      &column[side]));
        if (absolute) {
            MPI_Datatype relative = column[side];
            MPI_Aint place;
            MUST(MPI_Get_address(grid, &place));
            MUST(MPI_Type_create_hindexed_block(1, 1, &place, relative, &column[side]));
            MUST(MPI_Type_free(&relative));
        }
        MUST(MPI_Type_commit(&column[side]));
    }
    for (int rank = 0; rank < check_size; rank++) {
        sent[rank] = rank == next;
        received[rank] = rank == last;
        from[rank] = column[1];
        to[rank] = column[0];
    }
    MUST(MPI_Alltoallw(base, sent, none, from, base, received, none, to, world));
    for (int row = 0; row < ROWS; row++) {
        CHECK_EQUAL(grid[row][0], last * 100 + row * 10 + 2);
        for (int index = 1; index < COLUMNS; index++)
            CHECK_EQUAL(grid[row][index], check_rank * 100 + row * 10 + index);
    }
    if (check_strict()) {
        for (int rank = 0; rank < check_size; rank++)
            sent[rank] = received[rank] = 1;
        MUST_FAIL(MPI_Alltoallw(base, sent, none, to, base, received, none, to, world),
                  MPI_ERR_BUFFER);
    }
    for (int side = 0; side < 2; side++)
        MUST(MPI_Type_free(&column[side]));
}

/* After all that, messages and collectives still work. */
static void still_alive(void)
{
    int sum = -1;
    MUST(MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, world));
    CHECK_EQUAL(sum, check_size * (check_size - 1) / 2);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    for (int index = 0; index < MANY; index++) {
        counts[index] = 1;
        places[index] = index;
        types[index] = MPI_INT;
    }
    section("aliased");
    aliased();
    section("sections of one array");
    sections_of_one_array(0);
    sections_of_one_array(1);
    section("in place");
    in_place();
    section("null");
    null_buffers();
    section("arrays");
    arrays();
    section("strings");
    strings();
    section("still alive");
    still_alive();
    return check_end();
}
