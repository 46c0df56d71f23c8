/* Sizes, extents and true extents of derived types, against numbers worked out by hand; sizes of
 * the predefined ones against those of C. */
#include "check.h"

#include <complex.h>
#include <stdbool.h>
#include <stddef.h>
#include <wchar.h>

/* Check and free a type. */
static void expect(const char *name, MPI_Datatype type, long size, long lower, long extent,
                   long true_lower, long true_extent)
{
    int bytes = -1;
    MPI_Aint lb = -77, ex = -77, true_lb = -77, true_ex = -77;
    MUST(MPI_Type_commit(&type));
    MUST(MPI_Type_size(type, &bytes));
    MUST(MPI_Type_get_extent(type, &lb, &ex));
    MUST(MPI_Type_get_true_extent(type, &true_lb, &true_ex));
    if (bytes != size || lb != lower || ex != extent || true_lb != true_lower
        || true_ex != true_extent)
        check_fail(__FILE__, __LINE__, "%s: size %d, %ld + %ld, truly %ld + %ld", name, bytes,
                   (long)lb, (long)ex, (long)true_lb, (long)true_ex);
    section("  %s: %d bytes, %ld + %ld, truly %ld + %ld", name, bytes, (long)lb, (long)ex,
            (long)true_lb, (long)true_ex);
    MUST(MPI_Type_free(&type));
    CHECK(type == MPI_DATATYPE_NULL);
}

static void regular(void)
{
    MPI_Datatype type;
    MUST(MPI_Type_contiguous(5, MPI_INT, &type));
    expect("contiguous", type, 20, 0, 20, 0, 20);
    MUST(MPI_Type_contiguous(0, MPI_INT, &type));
    expect("nothing", type, 0, 0, 0, 0, 0);
    MUST(MPI_Type_vector(3, 2, 4, MPI_INT, &type));
    expect("vector", type, 24, 0, 40, 0, 40);
    MUST(MPI_Type_vector(3, 1, -2, MPI_INT, &type));
    expect("vector backwards", type, 12, -16, 20, -16, 20);
    MUST(MPI_Type_vector(4, 2, 2, MPI_SHORT, &type));
    expect("vector without gaps", type, 16, 0, 16, 0, 16);
    MUST(MPI_Type_create_hvector(3, 1, 7, MPI_CHAR, &type));
    expect("hvector", type, 3, 0, 15, 0, 15);
    MUST(MPI_Type_create_hvector(2, 3, -40, MPI_INT, &type));
    expect("hvector backwards", type, 24, -40, 52, -40, 52);
    MUST(MPI_Type_vector(0, 3, 5, MPI_INT, &type));
    expect("vector of none", type, 0, 0, 0, 0, 0);
    MPI_Aint lower = -1, extent = -1;
    MUST(MPI_Type_vector(3, 0, 5, MPI_INT, &type));
    MUST(MPI_Type_get_extent(type, &lower, &extent));
    /* An empty type map has no bounds; MPICH 5 says 40. */
    CHECK_STRICTLY(lower == 0 && extent == 0);
    MUST(MPI_Type_free(&type));
}

static void irregular(void)
{
    const int lengths[] = {2, 0, 1}, places[] = {5, 100, -1};
    const MPI_Aint wide[] = {20, 400, -4};
    MPI_Datatype type;
    MUST(MPI_Type_indexed(3, lengths, places, MPI_INT, &type));
    expect("indexed", type, 12, -4, 32, -4, 32);
    MUST(MPI_Type_create_hindexed(3, lengths, wide, MPI_INT, &type));
    expect("hindexed", type, 12, -4, 32, -4, 32);
    MUST(MPI_Type_create_indexed_block(3, 2, places, MPI_SHORT, &type));
    expect("indexed block", type, 12, -2, 206, -2, 206);
    MUST(MPI_Type_create_hindexed_block(2, 3, wide, MPI_CHAR, &type));
    expect("hindexed block", type, 6, 20, 383, 20, 383);
}

static void structures(void)
{
    struct record {
        char letter;
        double number;
        int count[3];
        char last;
    };
    const int lengths[] = {1, 1, 3, 1};
    const MPI_Aint places[] = {offsetof(struct record, letter), offsetof(struct record, number),
                               offsetof(struct record, count), offsetof(struct record, last)};
    const MPI_Datatype parts[] = {MPI_CHAR, MPI_DOUBLE, MPI_INT, MPI_CHAR};
    MPI_Datatype type, whole;
    MUST(MPI_Type_create_struct(4, lengths, places, parts, &type));
    expect("struct with the padding of its alignment", type, 22, 0, (long)sizeof(struct record),
           0, 29);
    MUST(MPI_Type_create_struct(4, lengths, places, parts, &type));
    MUST(MPI_Type_create_resized(type, 0, 64, &whole));
    expect("resized struct", whole, 22, 0, 64, 0, 29);
    MUST(MPI_Type_free(&type));
    MUST(MPI_Type_create_struct(0, lengths, places, parts, &type));
    expect("struct of nothing", type, 0, 0, 0, 0, 0);
}

static void resized_and_nested(void)
{
    MPI_Datatype column, wide, type, inner;
    MUST(MPI_Type_vector(4, 1, 6, MPI_INT, &column));
    MUST(MPI_Type_create_resized(column, 0, 4, &wide));
    MUST(MPI_Type_contiguous(3, wide, &type));
    expect("three columns", type, 48, 0, 12, 0, 84);
    MUST(MPI_Type_create_resized(wide, -8, 20, &inner));
    MUST(MPI_Type_contiguous(2, inner, &type));
    expect("lower bound below", type, 32, -8, 40, 0, 96);
    MUST(MPI_Type_vector(2, 2, 3, inner, &type));
    expect("vector of those", type, 64, -8, 100, 0, 156);
    MUST(MPI_Type_free(&inner));
    MUST(MPI_Type_create_resized(MPI_INT, 4, -4, &inner));
    MUST(MPI_Type_contiguous(3, inner, &type));
    expect("negative extent", type, 12, -4, 4, -8, 12);
    MUST(MPI_Type_free(&inner));
    MUST(MPI_Type_free(&wide));
    MUST(MPI_Type_free(&column));
}

/* A type may be freed while a type made of it lives. */
static void freed_parts(void)
{
    MPI_Datatype type, next;
    MUST(MPI_Type_contiguous(2, MPI_SHORT, &type));
    for (int depth = 0; depth < 10; depth++) {
        MUST(MPI_Type_vector(1, 2, 1, type, &next));
        MUST(MPI_Type_free(&type));
        type = next;
    }
    expect("ten deep", type, 4096, 0, 4096, 0, 4096);
    MUST(MPI_Type_contiguous(3, MPI_INT, &type));
    MUST(MPI_Type_dup(type, &next));
    MUST(MPI_Type_free(&type));
    expect("duplicate", next, 12, 0, 12, 0, 12);
}

#define EXPECT_SIZE(type, c_type)                                                                \
    do {                                                                                         \
        int check_bytes = -1;                                                                    \
        MPI_Aint check_lb = -1, check_extent = -1;                                               \
        MUST(MPI_Type_size(type, &check_bytes));                                                 \
        MUST(MPI_Type_get_extent(type, &check_lb, &check_extent));                               \
        CHECK_EQUAL(check_bytes, sizeof(c_type));                                                \
        CHECK_EQUAL(check_lb, 0);                                                                \
        CHECK_EQUAL(check_extent, sizeof(c_type));                                               \
    } while (0)

static void predefined(void)
{
    EXPECT_SIZE(MPI_CHAR, char);
    EXPECT_SIZE(MPI_SIGNED_CHAR, signed char);
    EXPECT_SIZE(MPI_UNSIGNED_CHAR, unsigned char);
    EXPECT_SIZE(MPI_BYTE, char);
    EXPECT_SIZE(MPI_SHORT, short);
    EXPECT_SIZE(MPI_UNSIGNED_SHORT, short);
    EXPECT_SIZE(MPI_INT, int);
    EXPECT_SIZE(MPI_UNSIGNED, int);
    EXPECT_SIZE(MPI_LONG, long);
    EXPECT_SIZE(MPI_UNSIGNED_LONG, long);
    EXPECT_SIZE(MPI_LONG_LONG, long long);
    EXPECT_SIZE(MPI_UNSIGNED_LONG_LONG, long long);
    EXPECT_SIZE(MPI_FLOAT, float);
    EXPECT_SIZE(MPI_DOUBLE, double);
    EXPECT_SIZE(MPI_LONG_DOUBLE, long double);
    EXPECT_SIZE(MPI_WCHAR, wchar_t);
    EXPECT_SIZE(MPI_C_BOOL, bool);
    EXPECT_SIZE(MPI_INT8_T, int8_t);
    EXPECT_SIZE(MPI_INT16_T, int16_t);
    EXPECT_SIZE(MPI_INT32_T, int32_t);
    EXPECT_SIZE(MPI_INT64_T, int64_t);
    EXPECT_SIZE(MPI_UINT8_T, int8_t);
    EXPECT_SIZE(MPI_UINT16_T, int16_t);
    EXPECT_SIZE(MPI_UINT32_T, int32_t);
    EXPECT_SIZE(MPI_UINT64_T, int64_t);
    EXPECT_SIZE(MPI_C_COMPLEX, float complex);
    EXPECT_SIZE(MPI_C_FLOAT_COMPLEX, float complex);
    EXPECT_SIZE(MPI_C_DOUBLE_COMPLEX, double complex);
    EXPECT_SIZE(MPI_C_LONG_DOUBLE_COMPLEX, long double complex);
    EXPECT_SIZE(MPI_AINT, MPI_Aint);
    EXPECT_SIZE(MPI_OFFSET, MPI_Offset);
    EXPECT_SIZE(MPI_COUNT, MPI_Count);
    EXPECT_SIZE(MPI_PACKED, char);
}

/* Value and index of the pair types: what the compiler makes of the struct. */
static void pairs(void)
{
    struct { float value; int index; } of_float;
    struct { double value; int index; } of_double;
    struct { long value; int index; } of_long;
    struct { short value; int index; } of_short;
    struct { long double value; int index; } of_long_double;
    const MPI_Datatype types[] = {MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_SHORT_INT,
                                  MPI_LONG_DOUBLE_INT, MPI_2INT};
    const long sizes[] = {8, 12, 12, 6, 20, 8};
    const long extents[] = {sizeof of_float, sizeof of_double, sizeof of_long, sizeof of_short,
                            sizeof of_long_double, 2 * sizeof(int)};
    for (int index = 0; index < 6; index++) {
        int size = -1;
        MPI_Aint lower = -1, extent = -1;
        MUST(MPI_Type_size(types[index], &size));
        MUST(MPI_Type_get_extent(types[index], &lower, &extent));
        CHECK_EQUAL(size, sizes[index]);
        CHECK_EQUAL(lower, 0);
        CHECK_EQUAL(extent, extents[index]);
    }
}

static void addresses(void)
{
    int numbers[4];
    MPI_Aint first = 0, third = 0;
    MUST(MPI_Get_address(&numbers[0], &first));
    MUST(MPI_Get_address(&numbers[2], &third));
    CHECK_EQUAL(MPI_Aint_diff(third, first), 2 * sizeof(int));
    CHECK_EQUAL(MPI_Aint_add(first, 8), third);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    section("regular");
    regular();
    section("irregular");
    irregular();
    section("structures");
    structures();
    section("resized and nested");
    resized_and_nested();
    freed_parts();
    section("predefined");
    predefined();
    pairs();
    addresses();
    return check_end();
}
