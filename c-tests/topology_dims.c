/* MPI_Dims_create: the examples of the standard, what every answer must satisfy, and errors. */
#include "check.h"

/* Lengths with this product that descend where the application left them open. */
static void good(int nodes, int ndims, const int *given)
{
    int dims[8], before = nodes, product = 1;
    memcpy(dims, given, (size_t)ndims * sizeof *dims);
    MUST(MPI_Dims_create(nodes, ndims, dims));
    for (int d = 0; d < ndims; d++) {
        product *= dims[d];
        if (given[d] != 0) {
            CHECK_EQUAL(dims[d], given[d]);
            continue;
        }
        CHECK(dims[d] >= 1 && dims[d] <= before);
        before = dims[d];
    }
    CHECK_EQUAL(product, nodes);
}

static void expect(int nodes, int ndims, const int *given, const int *expected)
{
    int dims[8];
    memcpy(dims, given, (size_t)ndims * sizeof *dims);
    MUST(MPI_Dims_create(nodes, ndims, dims));
    CHECK(memcmp(dims, expected, (size_t)ndims * sizeof *dims) == 0);
}

static void all_small(void)
{
    const int open[8] = {0};
    for (int nodes = 1; nodes <= 200; nodes++)
        for (int ndims = 1; ndims <= 6; ndims++)
            good(nodes, ndims, open);
    for (int fixed = 1; fixed <= 12; fixed++)
        for (int rest = 1; rest <= 24; rest++) {
            int given[4] = {0, fixed, 0, 0};
            good(fixed * rest, 4, given);
        }
}

/* The most balanced lengths, which other libraries do not always find. */
static void balanced(void)
{
    const int open[4] = {0};
    expect(36, 3, open, (int[]){4, 3, 3});
    expect(72, 3, open, (int[]){6, 4, 3});
    expect(1440, 2, open, (int[]){40, 36});
    expect(1000000, 3, open, (int[]){100, 100, 100});
    expect(2095133040, 2, open, (int[]){46189, 45360});
}

static void errors(void)
{
    int dims[3] = {3, 0, 0};
    MUST_FAIL(MPI_Dims_create(7, 3, dims), MPI_ERR_DIMS);
    dims[0] = -3;
    MUST_FAIL(MPI_Dims_create(6, 3, dims), MPI_ERR_DIMS);
    if (check_strict()) { /* MPICH 5 takes these. */
        dims[0] = dims[1] = dims[2] = 2;
        MUST_FAIL(MPI_Dims_create(9, 3, dims), MPI_ERR_DIMS);
        dims[0] = 0;
        MUST_FAIL(MPI_Dims_create(0, 1, dims), MPI_ERR_DIMS);
        MUST_FAIL(MPI_Dims_create(-1, 1, dims), MPI_ERR_DIMS);
        MUST_FAIL(MPI_Dims_create(2, 0, dims), MPI_ERR_DIMS);
    }
    MUST_FAIL(MPI_Dims_create(4, -1, dims), MPI_ERR_ARG);
    CHECK(dims[0] == 0 || dims[0] == -3);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    section("examples");
    expect(6, 2, (int[]){0, 0}, (int[]){3, 2});
    expect(7, 2, (int[]){0, 0}, (int[]){7, 1});
    expect(6, 3, (int[]){0, 3, 0}, (int[]){2, 3, 1});
    MUST(MPI_Dims_create(1, 0, NULL));
    section("properties");
    all_small();
    section("balance");
    if (check_strict())
        balanced();
    section("errors");
    errors();
    return check_end();
}
