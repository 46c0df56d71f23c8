/* MPI_Pack and MPI_Unpack beside loops written by hand for each shape, at -O3.
 *
 *   pack [PASSES]
 *
 * One line a shape and direction: `TEST RANKS BYTES UNIT MEDIAN BEST WINDOWS STATUS` (measure.h),
 * of the library (pack-SHAPE) and of the loop (loop-SHAPE), in MB of data a second. Both move the
 * same memory in turn, so that a disturbance meets both. The data are compared once. */
#include "measure.h"

#include <mpi.h>
#include <stdint.h>

enum { DATA_BYTES = 1 << 20 };

/* Blocks of `block` elements of `bytes` bytes; `rows` of them at `stride` bytes in each of `planes`
 * at `step` bytes. */
struct shape {
    const char *name;
    int bytes, block;
    long rows, stride, planes, step;
};

static char *user, *packed, *other;

/* The loops, with the length of a block as the compiler likes it: a constant for short ones. */

#define LOOP(name, TO, FROM)                                                                     \
    __attribute__((noinline)) static void name(const struct shape *shape)                       \
    {                                                                                            \
        const struct shape s = *shape;                                                           \
        char *at = packed;                                                                       \
        for (long plane = 0; plane < s.planes; plane++)                                          \
            for (long row = 0; row < s.rows; row++) {                                            \
                char *place = user + plane * s.step + row * s.stride;                            \
                for (long item = 0; item < BLOCK; item++)                                        \
                    ((TYPE *)(TO))[item] = ((const TYPE *)(FROM))[item];                         \
                at += BLOCK * (long)sizeof(TYPE);                                                \
            }                                                                                    \
    }

typedef struct {
    double real, imaginary;
} pair;

#define TYPE uint32_t
#define BLOCK 1
LOOP(pack_4_1, at, place)
LOOP(unpack_4_1, place, at)
#undef BLOCK
#define BLOCK 4
LOOP(pack_4_4, at, place)
LOOP(unpack_4_4, place, at)
#undef BLOCK
#define BLOCK 64
LOOP(pack_4_64, at, place)
LOOP(unpack_4_64, place, at)
#undef BLOCK
#undef TYPE
#define TYPE uint64_t
#define BLOCK 1
LOOP(pack_8_1, at, place)
LOOP(unpack_8_1, place, at)
#undef BLOCK
#define BLOCK 4
LOOP(pack_8_4, at, place)
LOOP(unpack_8_4, place, at)
#undef BLOCK
#define BLOCK 64
LOOP(pack_8_64, at, place)
LOOP(unpack_8_64, place, at)
#undef BLOCK
#undef TYPE
#define TYPE pair
#define BLOCK 1
LOOP(pack_16_1, at, place)
LOOP(unpack_16_1, place, at)
#undef BLOCK
#define BLOCK 4
LOOP(pack_16_4, at, place)
LOOP(unpack_16_4, place, at)
#undef BLOCK
#define BLOCK 64
LOOP(pack_16_64, at, place)
LOOP(unpack_16_64, place, at)

typedef void loop(const struct shape *shape);

static loop *const loops[2][3][3] = {
    {{pack_4_1, pack_4_4, pack_4_64},
     {pack_8_1, pack_8_4, pack_8_64},
     {pack_16_1, pack_16_4, pack_16_64}},
    {{unpack_4_1, unpack_4_4, unpack_4_64},
     {unpack_8_1, unpack_8_4, unpack_8_64},
     {unpack_16_1, unpack_16_4, unpack_16_64}},
};

static void copy_out(const struct shape *shape)
{
    memcpy(packed, user, shape->rows * shape->block * shape->bytes);
}

static void copy_in(const struct shape *shape)
{
    memcpy(user, packed, shape->rows * shape->block * shape->bytes);
}

static MPI_Datatype element(int bytes)
{
    return bytes == 4 ? MPI_INT : bytes == 8 ? MPI_DOUBLE : MPI_C_DOUBLE_COMPLEX;
}

static long size_of(const struct shape *shape)
{
    return shape->planes * shape->rows * shape->block * shape->bytes;
}

/* One direction of one shape. */
static void measure(const struct shape *shape, MPI_Datatype type, loop *by_hand, int unpacks,
                    int passes)
{
    char names[2][64];
    struct figure figures[2];
    const long bytes = size_of(shape);
    for (int who = 0; who < 2; who++) {
        snprintf(names[who], sizeof names[who], "%s%s-%s-%dx%d", who ? "loop-" : "",
                 unpacks ? "unpack" : "pack", shape->name, shape->block, shape->bytes);
        figures[who] = (struct figure){.test = names[who], .ranks = 1, .bytes = bytes,
                                       .unit = "MB/s", .larger_is_better = 1};
    }
    const int repeats = (int)(4 * (long)DATA_BYTES / bytes) + 1;
    for (int window = 0; window < passes; window++)
        for (int who = 0; who < 2; who++) {
            double start = seconds();
            for (int repeat = 0; repeat < repeats; repeat++) {
                int position = 0;
                if (who == 1)
                    by_hand(shape);
                else if (unpacks)
                    MPI_Unpack(packed, (int)bytes, &position, user, 1, type, MPI_COMM_SELF);
                else
                    MPI_Pack(user, 1, type, packed, (int)bytes, &position, MPI_COMM_SELF);
            }
            figures[who].values[figures[who].windows++] =
                (double)bytes * repeats / (seconds() - start) / 1e6;
        }
    for (int who = 0; who < 2; who++) print_figure(&figures[who], "ok");
}

/* Whether the library packs what the loop packs. */
static int agrees(const struct shape *shape, MPI_Datatype type, loop *by_hand)
{
    int position = 0;
    const long bytes = size_of(shape);
    MPI_Pack(user, 1, type, other, (int)bytes, &position, MPI_COMM_SELF);
    by_hand(shape);
    return position == bytes && memcmp(other, packed, bytes) == 0;
}

static void both(const struct shape *shape, MPI_Datatype type, loop *out, loop *in, int passes)
{
    MPI_Type_commit(&type);
    if (!agrees(shape, type, out)) {
        struct figure figure = {.test = shape->name, .ranks = 1, .unit = "MB/s"};
        print_figure(&figure, "wrong");
    }
    measure(shape, type, out, 0, passes);
    measure(shape, type, in, 1, passes);
    MPI_Type_free(&type);
}

/* All shapes of blocks of `block` elements of `bytes` bytes. */
static void strided(int bytes, int block, int passes)
{
    const int which = bytes == 4 ? 0 : bytes == 8 ? 1 : 2, length = block == 1 ? 0 : block == 4 ? 1 : 2;
    loop *out = loops[0][which][length], *in = loops[1][which][length];
    const long rows = DATA_BYTES / 4 / (block * bytes);
    MPI_Datatype type;

    struct shape vector = {"vector", bytes, block, rows, 2L * block * bytes, 1, 0};
    MPI_Type_vector((int)rows, block, 2 * block, element(bytes), &type);
    both(&vector, type, out, in, passes);

    /* Some columns of a matrix that is four times as wide. */
    int sizes[2] = {(int)rows, 4 * block}, subsizes[2] = {(int)rows, block}, starts[2] = {0, 0};
    struct shape plane = {"subarray-2d", bytes, block, rows, 4L * block * bytes, 1, 0};
    MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, element(bytes), &type);
    both(&plane, type, out, in, passes);

    /* A box in the corner of a box that is twice as large in each direction. */
    int edge = 16;
    int sizes3[3] = {(int)rows / edge, 2 * edge, 2 * block};
    int subsizes3[3] = {(int)rows / edge, edge, block}, starts3[3] = {0, 0, 0};
    struct shape box = {"subarray-3d", bytes, block, edge, 2L * block * bytes, rows / edge,
                        4L * edge * block * bytes};
    MPI_Type_create_subarray(3, sizes3, subsizes3, starts3, MPI_ORDER_C, element(bytes), &type);
    both(&box, type, out, in, passes);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const int passes = argc > 1 ? atoi(argv[1]) : 20;
    if (passes < 1 || passes > WINDOWS_MAX) return 2;
    user = malloc(8 * DATA_BYTES);
    packed = malloc(DATA_BYTES);
    other = malloc(DATA_BYTES);
    if (user == NULL || packed == NULL || other == NULL) return 2;
    for (long at = 0; at < 8 * DATA_BYTES; at++) user[at] = (char)(at * 7 + at / 256);
    memset(packed, 1, DATA_BYTES);
    const int sizes[] = {4, 8, 16}, blocks[] = {1, 4, 64};
    for (int size = 0; size < 3; size++) {
        MPI_Datatype type;
        struct shape whole = {"contiguous", sizes[size], 1, DATA_BYTES / sizes[size] / 4, 0, 1, 0};
        MPI_Type_contiguous((int)whole.rows, element(sizes[size]), &type);
        both(&whole, type, copy_out, copy_in, passes);
        for (int block = 0; block < 3; block++) strided(sizes[size], blocks[block], passes);
    }
    MPI_Finalize();
    return 0;
}
