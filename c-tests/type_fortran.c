/* Predefined types without a name: numbers of Fortran by digits and range; their handles, how they
 * were asked for, and that they communicate and reduce as their named twins do. */
#include "check.h"

static int size_of(MPI_Datatype type)
{
    int size = -1;
    MUST(MPI_Type_size(type, &size));
    return size;
}

static MPI_Datatype real(int digits, int range)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MUST(MPI_Type_create_f90_real(digits, range, &type));
    return type;
}

static void kinds(void)
{
    const int ranges[] = {0, 2, 3, 4, 5, 9, 10, 18}, bytes[] = {1, 1, 2, 2, 4, 4, 8, 8};
    MPI_Datatype type, again;
    section("kinds");
    for (int index = 0; index < 8; index++) {
        MUST(MPI_Type_create_f90_integer(ranges[index], &type));
        CHECK_EQUAL(size_of(type), bytes[index]);
        MUST(MPI_Type_create_f90_integer(ranges[index], &again));
        CHECK(type == again);
    }
    CHECK(size_of(real(6, 37)) == 4 && size_of(real(7, 37)) == 8 && size_of(real(6, 38)) == 8);
    CHECK(size_of(real(15, MPI_UNDEFINED)) == 8 && size_of(real(MPI_UNDEFINED, 307)) == 8);
    CHECK(size_of(real(16, 400)) == 16 && size_of(real(33, 4931)) == 16);
    CHECK(real(15, 300) == real(15, 300) && real(15, 300) != real(15, 301));
    MUST(MPI_Type_create_f90_complex(9, 9, &type));
    CHECK_EQUAL(size_of(type), 16);
    CHECK(type != real(9, 9));
    if (check_strict()) {
        MUST_FAIL(MPI_Type_create_f90_integer(39, &type), MPI_ERR_ARG);
        MUST_FAIL(MPI_Type_create_f90_integer(MPI_UNDEFINED, &type), MPI_ERR_ARG);
        MUST_FAIL(MPI_Type_create_f90_real(34, 5, &type), MPI_ERR_ARG);
        MUST_FAIL(MPI_Type_create_f90_real(5, 4932, &type), MPI_ERR_ARG);
        MUST_FAIL(MPI_Type_create_f90_complex(MPI_UNDEFINED, MPI_UNDEFINED, &type), MPI_ERR_ARG);
    }
}

/* How it was asked for; and that it is as predefined as the named ones. */
static void origins(void)
{
    MPI_Datatype type, part, found;
    int numbers[3], combiner, integers[2] = {-1, -1}, length = -1;
    char name[MPI_MAX_OBJECT_NAME];
    section("origins");
    type = real(10, MPI_UNDEFINED);
    MUST(MPI_Type_get_envelope(type, &numbers[0], &numbers[1], &numbers[2], &combiner));
    CHECK(numbers[0] == 2 && numbers[1] == 0 && numbers[2] == 0);
    CHECK_EQUAL(combiner, MPI_COMBINER_F90_REAL);
    MUST(MPI_Type_get_contents(type, 2, 0, 0, integers, NULL, NULL));
    CHECK(integers[0] == 10 && integers[1] == MPI_UNDEFINED);
    MUST(MPI_Type_get_name(type, name, &length));
    CHECK(length == 0 && name[0] == '\0');
    MUST(MPI_Type_create_f90_complex(3, 30, &part));
    MUST(MPI_Type_get_envelope(part, &numbers[0], &numbers[1], &numbers[2], &combiner));
    CHECK(numbers[0] == 2 && combiner == MPI_COMBINER_F90_COMPLEX);
    MUST(MPI_Type_create_f90_integer(12, &part));
    MUST(MPI_Type_get_envelope(part, &numbers[0], &numbers[1], &numbers[2], &combiner));
    CHECK(numbers[0] == 1 && numbers[2] == 0 && combiner == MPI_COMBINER_F90_INTEGER);
    MUST(MPI_Type_get_contents(part, 1, 0, 0, integers, NULL, NULL));
    CHECK_EQUAL(integers[0], 12);
    /* A part of another type is the same handle, not a new one to be freed. */
    MUST(MPI_Type_contiguous(3, part, &type));
    MUST(MPI_Type_get_contents(type, 1, 0, 1, integers, NULL, &found));
    CHECK(found == part);
    MUST(MPI_Type_free(&type));
    if (check_strict()) {
        found = part;
        MUST_FAIL(MPI_Type_free(&found), MPI_ERR_TYPE);
        CHECK(found == part && size_of(part) == 8);
    }
}

/* Committed from the start, and known to the operations. */
static void reductions(void)
{
    MPI_Datatype type = real(14, 200), complex;
    double values[3] = {check_rank + 1, 2, -check_rank}, sum[3] = {0, 0, 0};
    section("reductions");
    MUST(MPI_Allreduce(values, sum, 3, type, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum[0] == check_size * (check_size + 1) / 2.0 && sum[1] == 2.0 * check_size);
    MUST(MPI_Allreduce(values, sum, 3, type, MPI_MAX, MPI_COMM_WORLD));
    CHECK(sum[0] == check_size && sum[1] == 2 && sum[2] == 0);
    MUST(MPI_Type_create_f90_complex(14, 200, &complex));
    double pair[2] = {0, 1}, product[2] = {-1, -1};
    MUST(MPI_Allreduce(pair, product, 1, complex, MPI_PROD, MPI_COMM_WORLD));
    int turns = check_size % 4;
    CHECK(product[0] == (turns == 0 ? 1 : turns == 2 ? -1 : 0));
    CHECK(product[1] == (turns == 1 ? 1 : turns == 3 ? -1 : 0));
    long index = check_rank, total = -1;
    MUST(MPI_Type_create_f90_integer(18, &type));
    MUST(MPI_Allreduce(&index, &total, 1, type, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQUAL(total, (long)check_size * (check_size - 1) / 2);
    if (check_size > 1) {
        int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
        MUST(MPI_Sendrecv(&index, 1, type, to, 5, &total, 1, MPI_LONG, from, 5, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE));
        CHECK_EQUAL(total, from);
    }
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    kinds();
    origins();
    reductions();
    return check_end();
}
