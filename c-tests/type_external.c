/* "external32": bytes written by hand, sizes, mixed types, errors; and the x87's numbers against
 * the compiler's conversion to and from binary128. */
#include "check.h"

#include <math.h>
#include <stdbool.h>
#include <wchar.h>

static long external_size(int count, MPI_Datatype type)
{
    MPI_Aint size = -1;
    MUST(MPI_Pack_external_size("external32", count, type, &size));
    return (long)size;
}

static int packs_to(const void *items, int count, MPI_Datatype type, const char *expected,
                    int length)
{
    unsigned char buffer[256];
    MPI_Aint position = 3;
    memset(buffer, 0xee, sizeof buffer);
    MUST(MPI_Pack_external("external32", items, count, type, buffer, sizeof buffer, &position));
    return position == 3 + length && memcmp(buffer + 3, expected, (size_t)length) == 0
        && buffer[2] == 0xee && buffer[3 + length] == 0xee;
}

static void bytes(void)
{
    const int ints[] = {1, -2};
    const long longs[] = {-5, 0x12345678};
    const unsigned short shorts[] = {0x0102, 0xfffe};
    const double number = -2.0;
    const wchar_t letter = 0x20ac;
    const bool truths[] = {false, true};
    section("bytes");
    CHECK(packs_to(ints, 2, MPI_INT, "\0\0\0\1\377\377\377\376", 8));
    CHECK(packs_to(longs, 2, MPI_LONG, "\377\377\377\373\22\64\126\170", 8));
    CHECK(packs_to(shorts, 2, MPI_UNSIGNED_SHORT, "\1\2\377\376", 4));
    CHECK(packs_to(&number, 1, MPI_DOUBLE, "\300\0\0\0\0\0\0\0", 8));
    CHECK(packs_to(truths, 2, MPI_C_BOOL, "\0\1", 2));
    CHECK(packs_to("abc", 3, MPI_CHAR, "abc", 3));
    CHECK_STRICTLY(packs_to(&letter, 1, MPI_WCHAR, "\40\254", 2)); /* MPICH 5 aborts */
    section("sizes");
    CHECK(external_size(3, MPI_LONG) == 12 && external_size(2, MPI_WCHAR) == 4);
    CHECK(external_size(2, MPI_LONG_DOUBLE) == 32 && external_size(1, MPI_AINT) == 8);
    CHECK(external_size(1, MPI_C_BOOL) == 1 && external_size(1, MPI_OFFSET) == 8);
    CHECK(external_size(1, MPI_C_LONG_DOUBLE_COMPLEX) == 32 && external_size(0, MPI_INT) == 0);
    CHECK_STRICTLY(external_size(1, MPI_LOGICAL8) == 8 && external_size(1, MPI_LONG_INT) == 8);
    MPI_Count large = -1;
    MUST(MPI_Pack_external_size_c("external32", (MPI_Count)1 << 32, MPI_LONG, &large));
    CHECK_EQUAL(large, (MPI_Count)1 << 34);
}

struct record {
    char letter;
    short counts[3];
    double value;
    int last;
};

/* Several things behind one another, in both widths of the functions. */
static void mixed(void)
{
    section("mixed");
    if (!check_strict())
        return; /* MPICH 5 ends with an illegal instruction when a structure is packed */
    struct record from[5], to[5];
    int lengths[4] = {1, 2, 1, 1}, numbers[12], got[12];
    MPI_Aint places[4] = {0, 2, 8, 16}, position = 0, end;
    MPI_Datatype parts[4] = {MPI_CHAR, MPI_SHORT, MPI_DOUBLE, MPI_INT}, type, resized, comb;
    unsigned char buffer[200];
    MUST(MPI_Type_create_struct(4, lengths, places, parts, &type));
    MUST(MPI_Type_create_resized(type, 0, sizeof(struct record), &resized));
    MUST(MPI_Type_commit(&resized));
    MUST(MPI_Type_vector(4, 2, 3, MPI_INT, &comb));
    MUST_FAIL(MPI_Pack_external("external32", numbers, 1, comb, buffer, 200, &position),
              MPI_ERR_TYPE);
    MUST(MPI_Type_commit(&comb));
    CHECK(external_size(5, resized) == 5 * 17 && external_size(1, comb) == 32);
    memset(from, 0, sizeof from);
    memset(to, 0, sizeof to);
    for (int index = 0; index < 5; index++) {
        from[index] = (struct record){'a' + index, {index, -index, 77}, index / 4.0, 1 << index};
        to[index].counts[2] = 55;
    }
    for (int index = 0; index < 12; index++) {
        numbers[index] = index * 1000001;
        got[index] = -1;
    }
    MUST(MPI_Pack_external("external32", numbers, 1, comb, buffer, 200, &position));
    CHECK_EQUAL(position, 32);
    MUST(MPI_Pack_external("external32", from, 5, resized, buffer, 200, &position));
    end = position;
    CHECK_EQUAL(end, 32 + 85);
    CHECK(buffer[32] == 'a' && buffer[32 + 17] == 'b' && buffer[32 + 17 + 2] == 1);
    MPI_Count place = 0;
    MUST(MPI_Unpack_external_c("external32", buffer, end, &place, got, 1, comb));
    MUST(MPI_Unpack_external_c("external32", buffer, end, &place, to, 5, resized));
    CHECK_EQUAL(place, end);
    for (int index = 0; index < 11; index++)
        CHECK(got[index] == (index % 3 == 2 ? -1 : numbers[index]));
    for (int index = 0; index < 5; index++) {
        CHECK(to[index].letter == from[index].letter && to[index].counts[1] == -index);
        CHECK(to[index].value == from[index].value && to[index].last == from[index].last);
        CHECK_EQUAL(to[index].counts[2], 55);
    }
    MUST(MPI_Type_free(&type));
    MUST(MPI_Type_free(&resized));
    MUST(MPI_Type_free(&comb));
}

/* A large array, to cross every internal buffer. */
static void long_array(void)
{
    enum { COUNT = 3000 };
    double *from = take(COUNT * sizeof *from), *to = take(COUNT * sizeof *to);
    unsigned char *buffer = take(COUNT * sizeof *from);
    MPI_Aint position = 0;
    section("long arrays");
    for (int index = 0; index < COUNT; index++)
        from[index] = index * 0.37 - 1e9;
    MUST(MPI_Pack_external("external32", from, COUNT, MPI_DOUBLE, buffer, COUNT * 8, &position));
    CHECK_EQUAL(position, COUNT * 8);
    position = 0;
    MUST(MPI_Unpack_external("external32", buffer, COUNT * 8, &position, to, COUNT, MPI_DOUBLE));
    CHECK(memcmp(from, to, COUNT * sizeof *from) == 0);
    free(from);
    free(to);
    free(buffer);
}

static void refused(void)
{
    int number = 5;
    char buffer[8];
    MPI_Aint position = 0, size;
    section("refused");
    if (!check_strict())
        return;
    MUST_FAIL(MPI_Pack_external_size("native", 1, MPI_INT, &size), MPI_ERR_UNSUPPORTED_DATAREP);
    MUST_FAIL(MPI_Pack_external("External32", &number, 1, MPI_INT, buffer, 8, &position),
              MPI_ERR_UNSUPPORTED_DATAREP);
    MUST_FAIL(MPI_Unpack_external("", buffer, 8, &position, &number, 1, MPI_INT),
              MPI_ERR_UNSUPPORTED_DATAREP);
    MUST_FAIL(MPI_Pack_external(NULL, &number, 1, MPI_INT, buffer, 8, &position), MPI_ERR_ARG);
    MUST_FAIL(MPI_Pack_external("external32", &number, -1, MPI_INT, buffer, 8, &position),
              MPI_ERR_COUNT);
    MUST_FAIL(MPI_Pack_external("external32", &number, 1, MPI_DATATYPE_NULL, buffer, 8, &position),
              MPI_ERR_TYPE);
    MUST_FAIL(MPI_Pack_external("external32", NULL, 1, MPI_INT, buffer, 8, &position),
              MPI_ERR_BUFFER);
    position = 5;
    MUST_FAIL(MPI_Pack_external("external32", &number, 1, MPI_INT, buffer, 8, &position),
              MPI_ERR_ARG);
    MUST_FAIL(MPI_Unpack_external("external32", buffer, 8, &position, &number, 1, MPI_INT),
              MPI_ERR_ARG);
    position = -1;
    MUST_FAIL(MPI_Unpack_external("external32", buffer, 8, &position, &number, 1, MPI_INT),
              MPI_ERR_ARG);
    CHECK(position == -1 && number == 5);
}

#if defined __x86_64__ && defined __GNUC__
static int same(long double one, long double other)
{
    return isnan(one) ? isnan(other) : memcmp(&one, &other, 10) == 0;
}

/* Random bits, with the exponents at both ends more often. */
static uint64_t random_bits(uint64_t *state)
{
    uint64_t bits = 0;
    for (int part = 0; part < 4; part++)
        bits = bits << 16 | draw(state, 1 << 16);
    return bits;
}

static void extended(void)
{
    enum { ROUNDS = 500 };
    uint64_t state = 2026 + (uint64_t)check_rank;
    section("long double");
    for (int round = 0; round < ROUNDS && check_errors == 0; round++) {
        unsigned exponent = draw(&state, 1 << 15);
        unsigned near = draw(&state, 4), step = draw(&state, 120);
        if (near < 2)
            exponent = near == 0 ? step : 0x7fff - step;
        uint64_t fraction = random_bits(&state) >> draw(&state, 64);
        unsigned sign = draw(&state, 2) << 15;
        long double number = 0, back = 0;
        __float128 wide, packed;
        unsigned char bytes[16], swapped[16];
        MPI_Aint position = 0;
        /* The leading bit is set but in subnormal numbers. */
        uint64_t significand = fraction >> 1 | (uint64_t)(exponent != 0) << 63;
        unsigned short upper = (unsigned short)(sign | exponent);
        memcpy(&number, &significand, 8);
        memcpy((char *)&number + 8, &upper, 2);
        MUST(MPI_Pack_external("external32", &number, 1, MPI_LONG_DOUBLE, bytes, 16, &position));
        for (int at = 0; at < 16; at++)
            swapped[at] = bytes[15 - at];
        memcpy(&packed, swapped, 16);
        wide = number;
        CHECK(isnan(number) ? packed != packed : memcmp(&packed, &wide, 16) == 0);
        position = 0;
        MUST(MPI_Unpack_external("external32", bytes, 16, &position, &back, 1, MPI_LONG_DOUBLE));
        CHECK(same(back, number));
        /* And what is rounded on the way in. */
        uint64_t tail = random_bits(&state) >> draw(&state, 64);
        memcpy(swapped, &tail, 6);
        for (int at = 0; at < 16; at++)
            bytes[at] = swapped[15 - at];
        memcpy(&wide, swapped, 16);
        position = 0;
        MUST(MPI_Unpack_external("external32", bytes, 16, &position, &back, 1, MPI_LONG_DOUBLE));
        CHECK(same(back, (long double)wide));
        if (check_errors > 0)
            check_fail(__FILE__, __LINE__, "seed %d, number %d", 2026 + check_rank, round);
    }
}
#else
static void extended(void)
{
    section("long double");
}
#endif

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    bytes();
    mixed();
    long_array();
    refused();
    extended();
    return check_end();
}
