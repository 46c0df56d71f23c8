/* Reduce and allreduce: every predefined operation on every type it is defined for, against a
 * naive loop over the ranks; counts, roots, in place; derived types of user operations are in
 * coll_user_ops. */
#include "comms.h"

#include <complex.h>
#include <stdbool.h>

enum { MOST = 700 };

/* Small numbers, so that sums and products are exact in every type and in every order. */
static int small(int rank, int index)
{
    return (rank * 5 + index * 3) % 4 - 1;
}

static int odd_bits(int rank, int index)
{
    return (rank * 37 + index * 11) % 127;
}

/* A function for one type: `count` elements on a place, all operations of the list. */
#define DEFINE(name, ctype, mpitype, value, list)                                                \
    static void name(const Place *at, int count)                                                 \
    {                                                                                            \
        static ctype mine[MOST], expected[MOST], got[MOST];                                      \
        const MPI_Datatype type = mpitype;                                                       \
        list(ctype, value)                                                                       \
    }

/* Try one operation: `merge` makes a new a from a and b. */
#define TRY(ctype, value, op, merge)                                                             \
    do {                                                                                         \
        int wrong = 0;                                                                           \
        for (int index = 0; index < count; index++) {                                            \
            ctype a = (ctype)value(0, index);                                                    \
            for (int rank = 1; rank < at->size; rank++) {                                        \
                ctype b = (ctype)value(rank, index);                                             \
                a = (ctype)(merge);                                                              \
            }                                                                                    \
            expected[index] = a;                                                                 \
            mine[index] = (ctype)value(at->rank, index);                                         \
            got[index] = (ctype)0;                                                               \
        }                                                                                        \
        MUST(MPI_Allreduce(mine, got, count, type, op, at->comm));                               \
        for (int index = 0; index < count; index++)                                              \
            wrong += got[index] != expected[index];                                              \
        if (wrong)                                                                               \
            check_fail(__FILE__, __LINE__, "%s of %s: %d wrong of %d", #op, #ctype, wrong,       \
                       count);                                                                   \
    } while (0);

#define ARITHMETIC(ctype, value)                                                                 \
    TRY(ctype, value, MPI_SUM, a + b)                                                            \
    TRY(ctype, value, MPI_PROD, a * b)                                                           \
    TRY(ctype, value, MPI_MAX, a > b ? a : b)                                                    \
    TRY(ctype, value, MPI_MIN, a < b ? a : b)
#define BITS(ctype, value)                                                                       \
    TRY(ctype, value, MPI_BAND, a & b)                                                           \
    TRY(ctype, value, MPI_BOR, a | b)                                                            \
    TRY(ctype, value, MPI_BXOR, a ^ b)
#define LOGIC(ctype, value)                                                                      \
    TRY(ctype, value, MPI_LAND, (a != 0) && (b != 0))                                            \
    TRY(ctype, value, MPI_LOR, (a != 0) || (b != 0))                                             \
    TRY(ctype, value, MPI_LXOR, (a != 0) != (b != 0))
#define SUMS(ctype, value)                                                                       \
    TRY(ctype, value, MPI_SUM, a + b)                                                            \
    TRY(ctype, value, MPI_PROD, a * b)
#define INTEGER(ctype, value) ARITHMETIC(ctype, small) BITS(ctype, odd_bits)
#define WHOLE(ctype, value) INTEGER(ctype, value) LOGIC(ctype, truth)

/* 0 or 1, so that one rank's input is a result already. */
static int truth(int rank, int index)
{
    return (rank + index) % 3 == 0;
}

static double complex whirl(int rank, int index)
{
    return small(rank, index) + (rank % 2 ? 1 : -1) * small(index, rank) * I;
}

DEFINE(signed_chars, signed char, MPI_SIGNED_CHAR, small, WHOLE)
DEFINE(unsigned_chars, unsigned char, MPI_UNSIGNED_CHAR, small, WHOLE)
DEFINE(shorts, short, MPI_SHORT, small, WHOLE)
DEFINE(unsigned_shorts, unsigned short, MPI_UNSIGNED_SHORT, small, WHOLE)
DEFINE(ints, int, MPI_INT, small, WHOLE)
DEFINE(unsigneds, unsigned, MPI_UNSIGNED, small, WHOLE)
DEFINE(longs, long, MPI_LONG, small, WHOLE)
DEFINE(unsigned_longs, unsigned long, MPI_UNSIGNED_LONG, small, WHOLE)
DEFINE(long_longs, long long, MPI_LONG_LONG, small, WHOLE)
DEFINE(unsigned_long_longs, unsigned long long, MPI_UNSIGNED_LONG_LONG, small, WHOLE)
DEFINE(int8s, int8_t, MPI_INT8_T, small, WHOLE)
DEFINE(int16s, int16_t, MPI_INT16_T, small, WHOLE)
DEFINE(int32s, int32_t, MPI_INT32_T, small, WHOLE)
DEFINE(int64s, int64_t, MPI_INT64_T, small, WHOLE)
DEFINE(uint8s, uint8_t, MPI_UINT8_T, small, WHOLE)
DEFINE(uint16s, uint16_t, MPI_UINT16_T, small, WHOLE)
DEFINE(uint32s, uint32_t, MPI_UINT32_T, small, WHOLE)
DEFINE(uint64s, uint64_t, MPI_UINT64_T, small, WHOLE)
DEFINE(aints, MPI_Aint, MPI_AINT, small, INTEGER)
DEFINE(offsets, MPI_Offset, MPI_OFFSET, small, INTEGER)
DEFINE(large_counts, MPI_Count, MPI_COUNT, small, INTEGER)
DEFINE(floats, float, MPI_FLOAT, small, ARITHMETIC)
DEFINE(doubles, double, MPI_DOUBLE, small, ARITHMETIC)
DEFINE(long_doubles, long double, MPI_LONG_DOUBLE, small, ARITHMETIC)
DEFINE(complexes, float complex, MPI_C_COMPLEX, whirl, SUMS)
DEFINE(float_complexes, float complex, MPI_C_FLOAT_COMPLEX, whirl, SUMS)
DEFINE(double_complexes, double complex, MPI_C_DOUBLE_COMPLEX, whirl, SUMS)
DEFINE(long_double_complexes, long double complex, MPI_C_LONG_DOUBLE_COMPLEX, whirl, SUMS)
DEFINE(bools, bool, MPI_C_BOOL, truth, LOGIC)
DEFINE(bytes, unsigned char, MPI_BYTE, odd_bits, BITS)

static void every_type(const Place *at)
{
    void (*const types[])(const Place *, int) = {signed_chars, unsigned_chars, shorts,
        unsigned_shorts, ints, unsigneds, longs, unsigned_longs, long_longs, unsigned_long_longs,
        int8s, int16s, int32s, int64s, uint8s, uint16s, uint32s, uint64s, aints, offsets,
        large_counts, floats, doubles, long_doubles, complexes, float_complexes,
        double_complexes, long_double_complexes, bools, bytes};
    /* Between unlike machines a long has 4 bytes on its way, which do not hold the -1 of an unsigned one. */
    int long_bytes;
    MUST(MPI_Pack_size(1, MPI_UNSIGNED_LONG, at->comm, &long_bytes));
    for (size_t index = 0; index < sizeof types / sizeof types[0]; index++) {
        if (types[index] == unsigned_longs && long_bytes != sizeof(unsigned long))
            continue;
        types[index](at, 1);
        types[index](at, MOST);
    }
}

/* Value and place: the smallest place wins a tie. */
#define DEFINE_PAIR(name, ctype, mpitype)                                                        \
    static void name(const Place *at)                                                            \
    {                                                                                            \
        struct pair { ctype value; int place; };                                                 \
        static struct pair mine[MOST], got[MOST];                                                \
        for (int sign = -1; sign <= 1; sign += 2) {                                              \
            int wrong = 0;                                                                       \
            for (int index = 0; index < MOST; index++) {                                         \
                mine[index].value = (ctype)(sign * small(at->rank, index));                      \
                mine[index].place = (at->rank * 7 + index) % at->size + 100;                     \
            }                                                                                    \
            MUST(MPI_Allreduce(mine, got, MOST, mpitype, sign < 0 ? MPI_MINLOC : MPI_MAXLOC,     \
                               at->comm));                                                       \
            for (int index = 0; index < MOST; index++) {                                         \
                struct pair best = {(ctype)(sign * small(0, index)), index % at->size + 100};    \
                for (int rank = 1; rank < at->size; rank++) {                                    \
                    ctype value = (ctype)(sign * small(rank, index));                            \
                    int place = (rank * 7 + index) % at->size + 100;                             \
                    int better = sign < 0 ? value < best.value : value > best.value;             \
                    if (better || (value == best.value && place < best.place))                   \
                        best = (struct pair){value, place};                                      \
                }                                                                                \
                wrong += got[index].value != best.value || got[index].place != best.place;       \
            }                                                                                    \
            if (wrong)                                                                           \
                check_fail(__FILE__, __LINE__, "%s: %d wrong", #mpitype, wrong);                 \
        }                                                                                        \
    }

DEFINE_PAIR(float_pairs, float, MPI_FLOAT_INT)
DEFINE_PAIR(double_pairs, double, MPI_DOUBLE_INT)
DEFINE_PAIR(long_pairs, long, MPI_LONG_INT)
DEFINE_PAIR(int_pairs, int, MPI_2INT)
DEFINE_PAIR(short_pairs, short, MPI_SHORT_INT)
DEFINE_PAIR(long_double_pairs, long double, MPI_LONG_DOUBLE_INT)

static void every_pair(const Place *at)
{
    float_pairs(at);
    double_pairs(at);
    long_pairs(at);
    int_pairs(at);
    short_pairs(at);
    long_double_pairs(at);
}

/* Every root, or of many only the first and the last for long vectors; in place or not. */
static void shapes_of(const Place *at, int count)
{
    int *mine = take((size_t)count * sizeof(int)), *got = take(((size_t)count + 1) * sizeof(int));
    int step = count > 5000 && at->size > 2 ? at->size - 1 : 1;
    for (int root = -1; root < at->size; root += root < 0 ? 1 : step)
        for (int in_place = 0; in_place < 2; in_place++) {
            int wrong = 0, has_result = root < 0 || at->rank == root;
            for (int index = 0; index < count; index++) {
                mine[index] = at->rank + index;
                got[index] = in_place ? mine[index] : -1;
            }
            got[count] = -7;
            const void *from = in_place && has_result ? MPI_IN_PLACE : mine;
            if (root < 0)
                MUST(MPI_Allreduce(from, got, count, MPI_INT, MPI_SUM, at->comm));
            else
                MUST(MPI_Reduce(from, has_result ? got : NULL, count, MPI_INT, MPI_SUM, root,
                                at->comm));
            for (int index = 0; index < count && has_result; index++)
                wrong += got[index] != at->size * index + at->size * (at->size - 1) / 2;
            CHECK_EQUAL(wrong, 0);
            CHECK_EQUAL(got[count], -7);
        }
    free(mine);
    free(got);
}

static void shapes(const Place *at)
{
    static const int counts[] = {0, 1, 2, 9, 10, 11, 100, 1023, 4097, 60000};
    for (size_t index = 0; index < sizeof counts / sizeof counts[0]; index++)
        shapes_of(at, counts[index]);
}

/* Sums of doubles that depend on the order: still the same bits on every rank. */
static void same_bits(const Place *at)
{
    enum { COUNT = 3000 };
    static double mine[COUNT], got[COUNT], first[COUNT];
    uint64_t state = (uint64_t)at->rank + 1;
    for (int count = 1; count <= COUNT; count = count * 7 + 3) {
        for (int index = 0; index < count; index++)
            mine[index] = (draw(&state, 2000001) - 1e6) * 1.1e-3 / (1 + draw(&state, 999));
        MUST(MPI_Allreduce(mine, got, count, MPI_DOUBLE, MPI_SUM, at->comm));
        memcpy(first, got, sizeof first);
        MUST(MPI_Bcast(first, count, MPI_DOUBLE, 0, at->comm));
        CHECK_EQUAL(memcmp(first, got, (size_t)count * sizeof(double)), 0);
    }
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    comms_open();
    section("every operation on every type");
    every_type(&places[0]);
    section("pairs");
    every_pair(&places[1]);
    section("counts, roots, in place");
    comms_each(shapes);
    section("the same bits everywhere");
    comms_each(same_bits);
    comms_close();
    return check_end();
}
