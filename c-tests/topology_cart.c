/* Cartesian grids: every shape of up to three dimensions on every number of ranks, against
 * arithmetic written out here; slices, duplicates, grids without dimensions, and errors. */
#include "check.h"

enum { DIMS_MAX = 4 };

/* The rank at these coordinates, MPI_PROC_NULL outside of the grid. */
static int naive_rank(int ndims, const int *dims, const int *periods, const int *coords)
{
    int rank = 0;
    for (int d = 0; d < ndims; d++) {
        int place = coords[d];
        if (periods[d])
            place = ((place % dims[d]) + dims[d]) % dims[d];
        if (place < 0 || place >= dims[d])
            return MPI_PROC_NULL;
        rank = rank * dims[d] + place;
    }
    return rank;
}

static void naive_coords(int ndims, const int *dims, int rank, int *coords)
{
    for (int d = ndims - 1; d >= 0; d--) {
        coords[d] = rank % dims[d];
        rank /= dims[d];
    }
}

/* All questions that a grid answers. */
static void ask(MPI_Comm grid, int ndims, const int *dims, const int *periods)
{
    int size, rank, found = -1, total = 1;
    int got_dims[DIMS_MAX], got_periods[DIMS_MAX], got[DIMS_MAX], coords[DIMS_MAX];
    for (int d = 0; d < ndims; d++)
        total *= dims[d];
    MUST(MPI_Comm_size(grid, &size));
    MUST(MPI_Comm_rank(grid, &rank));
    CHECK_EQUAL(size, total);
    MUST(MPI_Topo_test(grid, &found));
    CHECK_EQUAL(found, MPI_CART);
    MUST(MPI_Cartdim_get(grid, &found));
    CHECK_EQUAL(found, ndims);
    MUST(MPI_Cart_get(grid, DIMS_MAX, got_dims, got_periods, got));
    naive_coords(ndims, dims, rank, coords);
    for (int d = 0; d < ndims; d++) {
        CHECK_EQUAL(got_dims[d], dims[d]);
        CHECK_EQUAL(!got_periods[d], !periods[d]);
        CHECK_EQUAL(got[d], coords[d]);
    }
    for (int other = 0; other < size; other++) {
        MUST(MPI_Cart_coords(grid, other, ndims, got));
        naive_coords(ndims, dims, other, coords);
        for (int d = 0; d < ndims; d++) {
            CHECK_EQUAL(got[d], coords[d]);
            if (periods[d])
                coords[d] += (other % 5 - 2) * dims[d];
        }
        MUST(MPI_Cart_rank(grid, coords, &found));
        CHECK_EQUAL(found, other);
    }
    naive_coords(ndims, dims, rank, coords);
    static const int distances[] = {0, 1, -1, 2, -3, 7, 1000003};
    for (int d = 0; d < ndims; d++)
        for (unsigned i = 0; i < sizeof distances / sizeof *distances; i++) {
            int source = -9, dest = -9, place = coords[d];
            MUST(MPI_Cart_shift(grid, d, distances[i], &source, &dest));
            coords[d] = place + distances[i];
            CHECK_EQUAL(dest, naive_rank(ndims, dims, periods, coords));
            coords[d] = place - distances[i];
            CHECK_EQUAL(source, naive_rank(ndims, dims, periods, coords));
            coords[d] = place;
        }
}

/* A message along each dimension arrives where the grid says. */
static void send_along(MPI_Comm grid, int ndims)
{
    int rank;
    MUST(MPI_Comm_rank(grid, &rank));
    for (int d = 0; d < ndims; d++) {
        int source, dest, got = -1;
        MUST(MPI_Cart_shift(grid, d, 1, &source, &dest));
        MUST(MPI_Sendrecv(&rank, 1, MPI_INT, dest, d, &got, 1, MPI_INT, source, d, grid,
                          MPI_STATUS_IGNORE));
        CHECK_EQUAL(got, source == MPI_PROC_NULL ? -1 : source);
    }
}

/* Every choice of dimensions that remain. */
static void slices(MPI_Comm grid, int ndims, const int *dims, const int *periods)
{
    int rank, coords[DIMS_MAX];
    MUST(MPI_Comm_rank(grid, &rank));
    naive_coords(ndims, dims, rank, coords);
    for (int choice = 0; choice < 1 << ndims; choice++) {
        int remain[DIMS_MAX], sub_dims[DIMS_MAX], sub_periods[DIMS_MAX], sub_coords[DIMS_MAX];
        int count = 0, number = 0, own = -1, least = -1, most = -1;
        for (int d = 0; d < ndims; d++) {
            remain[d] = choice >> d & 1;
            if (remain[d]) {
                sub_dims[count] = dims[d];
                sub_periods[count] = periods[d];
                sub_coords[count++] = coords[d];
            } else {
                number = number * dims[d] + coords[d];
            }
        }
        MPI_Comm slice;
        MUST(MPI_Cart_sub(grid, remain, &slice));
        ask(slice, count, sub_dims, sub_periods);
        MUST(MPI_Comm_rank(slice, &own));
        CHECK_EQUAL(own, naive_rank(count, sub_dims, sub_periods, sub_coords));
        MUST(MPI_Allreduce(&number, &least, 1, MPI_INT, MPI_MIN, slice));
        MUST(MPI_Allreduce(&number, &most, 1, MPI_INT, MPI_MAX, slice));
        CHECK(least == number && most == number);
        MUST(MPI_Comm_free(&slice));
    }
}

static void one_shape(int ndims, const int *dims, const int *periods, int reorder)
{
    int total = 1, whole_grid = -1;
    for (int d = 0; d < ndims; d++)
        total *= dims[d];
    MPI_Comm grid = MPI_COMM_WORLD, twin;
    MUST(MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods, reorder, &grid));
    int member = grid != MPI_COMM_NULL, members = 0;
    MUST(MPI_Allreduce(&member, &members, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQUAL(members, total);
    if (!reorder)
        CHECK_EQUAL(member, check_rank < total);
    if (!member)
        return;
    ask(grid, ndims, dims, periods);
    send_along(grid, ndims);
    if (ndims < 3 || total == check_size)
        slices(grid, ndims, dims, periods);
    MUST(MPI_Comm_dup(grid, &twin));
    ask(twin, ndims, dims, periods);
    MUST(MPI_Comm_compare(grid, twin, &whole_grid));
    CHECK_EQUAL(whole_grid, MPI_CONGRUENT);
    MUST(MPI_Comm_free(&twin));
    MUST(MPI_Comm_split(grid, 0, 0, &twin));
    MUST(MPI_Topo_test(twin, &whole_grid));
    CHECK_EQUAL(whole_grid, MPI_UNDEFINED);
    MUST(MPI_Comm_free(&twin));
    MUST(MPI_Comm_free(&grid));
}

static void shapes(void)
{
    int count = 0;
    for (int a = 1; a <= check_size; a++)
        for (int b = 1; a * b <= check_size; b++)
            for (int c = 1; a * b * c <= check_size; c++) {
                int dims[] = {a, b, c};
                int periods[] = {count & 1, count >> 1 & 1, count >> 2 & 1};
                one_shape(3, dims, periods, count++ % 3 == 0);
                if (c == 1)
                    one_shape(2, dims, periods, 0);
                if (b == 1 && c == 1)
                    one_shape(1, dims, periods, 1);
            }
}

/* A grid without dimensions is one rank; all others get none. */
static void points(void)
{
    MPI_Comm point, part;
    int found = -1, none[1] = {-7};
    MUST(MPI_Cart_create(MPI_COMM_WORLD, 0, none, none, 0, &point));
    CHECK_EQUAL(point != MPI_COMM_NULL, check_rank == 0);
    if (point == MPI_COMM_NULL)
        return;
    MUST(MPI_Cartdim_get(point, &found));
    CHECK_EQUAL(found, 0);
    MUST(MPI_Cart_rank(point, none, &found));
    CHECK_EQUAL(found, 0);
    MUST(MPI_Cart_coords(point, 0, 0, none));
    MUST(MPI_Cart_get(point, 0, none, none, none));
    MUST_FAIL_2(MPI_Cart_shift(point, 0, 1, &found, &found), MPI_ERR_ARG, MPI_ERR_TOPOLOGY);
    CHECK_EQUAL(none[0], -7);
    MUST(MPI_Cart_sub(point, none, &part));
    MUST(MPI_Cartdim_get(part, &found));
    CHECK_EQUAL(found, 0);
    MUST(MPI_Comm_free(&part));
    MUST(MPI_Comm_free(&point));
}

static void maps(void)
{
    int dims[] = {check_size, 1}, periods[] = {0, 1}, rank = -9;
    MUST(MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, &rank));
    CHECK(rank >= 0 && rank < check_size);
    dims[0] = (check_size + 1) / 2;
    MUST(MPI_Cart_map(MPI_COMM_WORLD, 1, dims, periods, &rank));
    CHECK(rank == MPI_UNDEFINED || (rank >= 0 && rank < dims[0]));
    int member = rank != MPI_UNDEFINED, members = 0;
    MUST(MPI_Allreduce(&member, &members, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQUAL(members, dims[0]);
}

static void errors(void)
{
    int dims[] = {check_size, 1}, periods[] = {0, 1}, coords[] = {0, 0}, one = 0, two = 0;
    MPI_Comm grid = MPI_COMM_NULL, other = MPI_COMM_SELF;
    MUST_FAIL(MPI_Cart_create(MPI_COMM_WORLD, -1, dims, periods, 0, &other), MPI_ERR_ARG);
    MUST_FAIL(MPI_Cart_create(MPI_COMM_NULL, 2, dims, periods, 0, &other), MPI_ERR_COMM);
    dims[1] = 2;
    MUST_FAIL(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &other), MPI_ERR_ARG);
    MUST_FAIL_2(MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, &one), MPI_ERR_ARG, MPI_ERR_DIMS);
    if (check_strict()) { /* MPICH 5 makes grids of these. */
        dims[1] = 0;
        MUST_FAIL(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &other), MPI_ERR_DIMS);
        dims[1] = -1;
        MUST_FAIL(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &other), MPI_ERR_DIMS);
    }
    CHECK_STRICTLY(other == MPI_COMM_SELF);
    MUST_FAIL(MPI_Cartdim_get(MPI_COMM_WORLD, &one), MPI_ERR_TOPOLOGY);
    if (check_strict()) /* MPICH 5 crashes. */
        MUST_FAIL(MPI_Cart_get(MPI_COMM_WORLD, 2, dims, periods, coords), MPI_ERR_TOPOLOGY);
    MUST_FAIL(MPI_Cart_rank(MPI_COMM_WORLD, coords, &one), MPI_ERR_TOPOLOGY);
    MUST_FAIL(MPI_Cart_coords(MPI_COMM_WORLD, 0, 2, coords), MPI_ERR_TOPOLOGY);
    MUST_FAIL(MPI_Cart_shift(MPI_COMM_WORLD, 0, 1, &one, &two), MPI_ERR_TOPOLOGY);
    MUST_FAIL(MPI_Cart_sub(MPI_COMM_WORLD, coords, &other), MPI_ERR_TOPOLOGY);
    dims[0] = check_size;
    dims[1] = 1;
    MUST(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid));
    MUST_FAIL(MPI_Cart_coords(grid, check_size, 2, coords), MPI_ERR_RANK);
    MUST_FAIL(MPI_Cart_coords(grid, -1, 2, coords), MPI_ERR_RANK);
    MUST_FAIL(MPI_Cart_coords(grid, 0, 1, coords), MPI_ERR_ARG);
    coords[0] = check_size;
    coords[1] = -4;
    MUST_FAIL(MPI_Cart_rank(grid, coords, &one), MPI_ERR_ARG);
    MUST_FAIL(MPI_Cart_shift(grid, 2, 1, &one, &two), MPI_ERR_ARG);
    MUST_FAIL(MPI_Cart_shift(grid, -1, 1, &one, &two), MPI_ERR_ARG);
    MUST_FAIL(MPI_Graphdims_get(grid, &one, &two), MPI_ERR_TOPOLOGY);
    MUST_FAIL(MPI_Dist_graph_neighbors_count(grid, &one, &two, &one), MPI_ERR_TOPOLOGY);
    MUST(MPI_Comm_free(&grid));
    MUST(MPI_Topo_test(MPI_COMM_WORLD, &one));
    CHECK_EQUAL(one, MPI_UNDEFINED);
}

/* An intercommunicator has no topology, and gets none. */
static void across(void)
{
    if (check_size < 2)
        return;
    MPI_Comm half, inter, other = MPI_COMM_SELF;
    int upper = check_rank >= (check_size + 1) / 2, dims[] = {1}, periods[] = {0}, found = -9;
    MUST(MPI_Comm_split(MPI_COMM_WORLD, upper, 0, &half));
    MUST(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, upper ? 0 : (check_size + 1) / 2, 3,
                              &inter));
    MUST(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
    MUST_FAIL(MPI_Cart_create(inter, 1, dims, periods, 0, &other), MPI_ERR_COMM);
    if (check_strict()) { /* MPICH 5 has other classes, or makes one. */
        MUST_FAIL(MPI_Cart_map(inter, 1, dims, periods, &found), MPI_ERR_COMM);
        MUST_FAIL(MPI_Graph_create(inter, 1, dims, periods, 0, &other), MPI_ERR_COMM);
        MUST_FAIL(MPI_Graph_map(inter, 1, dims, periods, &found), MPI_ERR_COMM);
        MUST_FAIL(MPI_Dist_graph_create(inter, 0, dims, dims, dims, MPI_UNWEIGHTED,
                                        MPI_INFO_NULL, 0, &other), MPI_ERR_COMM);
        MUST_FAIL(MPI_Dist_graph_create_adjacent(inter, 0, dims, MPI_UNWEIGHTED, 0, dims,
                                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &other),
                  MPI_ERR_COMM);
        MUST_FAIL(MPI_Topo_test(inter, &found), MPI_ERR_COMM);
        MUST_FAIL(MPI_Cartdim_get(inter, &found), MPI_ERR_COMM);
        MUST_FAIL(MPI_Cart_sub(inter, dims, &other), MPI_ERR_COMM);
        MUST_FAIL(MPI_Graph_neighbors_count(inter, 0, &found), MPI_ERR_COMM);
        MUST_FAIL(MPI_Dist_graph_neighbors_count(inter, &found, &found, &found), MPI_ERR_COMM);
    }
    CHECK_STRICTLY(other == MPI_COMM_SELF);
    MUST(MPI_Comm_free(&inter));
    MUST(MPI_Comm_free(&half));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    section("shapes");
    shapes();
    section("points");
    points();
    section("maps");
    maps();
    section("errors");
    errors();
    section("across");
    across();
    return check_end();
}
