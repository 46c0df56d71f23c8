/* Collective operations, intercommunicators and windows between clients that represent data otherwise, or
 * alike: the argument says which ("unlike" or "alike"). */
#include "unlike.h"

#include <complex.h>

/* Elements of `count` for each rank, those of rank r by the seed `seed + r`. */
static char *blocks_of(MPI_Datatype type, int count, int seed)
{
    MPI_Aint lower, extent;
    MUST(MPI_Type_get_extent(type, &lower, &extent));
    char *all = room(type, count * check_size);
    for (int rank = 0; rank < check_size; rank++) {
        char *one = elements_of(type, count, seed + rank);
        memcpy(all + rank * count * extent, one, (size_t)(count * extent));
        free(one);
    }
    return all;
}

static void check_blocks(int line, const char *what, char *all, MPI_Datatype type, int count, int seed)
{
    MPI_Aint lower, extent;
    MUST(MPI_Type_get_extent(type, &lower, &extent));
    for (int rank = 0; rank < check_size; rank++)
        check_elements(line, what, all + rank * count * extent, type, count, seed + rank);
    free(all);
}

static void moves(MPI_Datatype type, int count, MPI_Comm comm)
{
    const int root = check_size - 1;
    char *one = check_rank == root ? elements_of(type, count, 77) : room(type, count);
    MUST(MPI_Bcast(one, count, type, root, comm));
    check_elements(__LINE__, "bcast", one, type, count, 77);
    free(one);
    char *mine = elements_of(type, count, check_rank), *all = room(type, count * check_size);
    MUST(MPI_Gather(mine, count, type, all, count, type, 0, comm));
    if (check_rank == 0)
        check_blocks(__LINE__, "gather", all, type, count, 0);
    else
        free(all);
    all = room(type, count * check_size);
    MUST(MPI_Allgather(mine, count, type, all, count, type, comm));
    check_blocks(__LINE__, "allgather", all, type, count, 0);
    all = check_rank == root ? blocks_of(type, count, 5) : room(type, 1);
    one = room(type, count);
    MUST(MPI_Scatter(all, count, type, one, count, type, root, comm));
    check_elements(__LINE__, "scatter", one, type, count, 5 + check_rank);
    free(all);
    free(one);
    char *out = blocks_of(type, count, 100 * check_rank);
    all = room(type, count * check_size);
    MPI_Request request;
    MUST(MPI_Ialltoall(out, count, type, all, count, type, comm, &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MPI_Aint lower, extent;
    MUST(MPI_Type_get_extent(type, &lower, &extent));
    for (int rank = 0; rank < check_size; rank++)
        check_elements(__LINE__, "alltoall", all + rank * count * extent, type, count, 100 * rank + check_rank);
    free(out);
    free(all);
    free(mine);
}

/* Blocks of unequal lengths, with a type for each rank in the last one. */
static void unequal(MPI_Datatype type, MPI_Comm comm)
{
    MPI_Aint lower, extent;
    MUST(MPI_Type_get_extent(type, &lower, &extent));
    int *counts = take((size_t)check_size * 6 * sizeof *counts), total = 0;
    int *places = counts + check_size, *out_counts = places + check_size, *bytes = out_counts + check_size;
    MPI_Datatype *each = take((size_t)check_size * sizeof *each);
    for (int rank = 0; rank < check_size; rank++) {
        counts[rank] = 2 * rank + 1;
        places[rank] = total;
        out_counts[rank] = 2 * check_rank + 1;
        bytes[rank] = (int)(places[rank] * extent);
        bytes[rank + check_size] = 0;
        each[rank] = type;
        total += counts[rank];
    }
    char *mine = elements_of(type, counts[check_rank], 30 + check_rank), *all = room(type, total);
    MUST(MPI_Allgatherv(mine, counts[check_rank], type, all, counts, places, type, comm));
    for (int rank = 0; rank < check_size; rank++)
        check_elements(__LINE__, "allgatherv", all + places[rank] * extent, type, counts[rank], 30 + rank);
    memset(all, 0, (size_t)(total * extent));
    MUST(MPI_Alltoallw(mine, out_counts, bytes + check_size, each, all, counts, bytes, each, comm));
    for (int rank = 0; rank < check_size; rank++)
        check_elements(__LINE__, "alltoallw", all + places[rank] * extent, type, counts[rank], 30 + rank);
    memset(mine, 0, 1);
    MUST(MPI_Scatterv(all, counts, places, type, mine, counts[check_rank], type, 0, comm));
    check_elements(__LINE__, "scatterv", mine, type, counts[check_rank], 30 + check_rank);
    memset(all, 0, (size_t)(total * extent));
    MUST(MPI_Gatherv(mine, counts[check_rank], type, all, counts, places, type, 0, comm));
    for (int rank = 0; rank < check_size && check_rank == 0; rank++)
        check_elements(__LINE__, "gatherv", all + places[rank] * extent, type, counts[rank], 30 + rank);
    free(mine);
    free(all);
    free(each);
    free(counts);
}

/* Rank r gives r + 1 + i % 5 as element i; every reduction of these sums is exact. */
#define SUM_OF(name, ctype, type)                                                                \
    static void name(int count, MPI_Comm comm)                                                   \
    {                                                                                            \
        ctype *mine = take((size_t)count * sizeof *mine), *all = take((size_t)count * sizeof *all); \
        for (int at = 0; at < count; at++)                                                       \
            mine[at] = (ctype)(check_rank + 1 + at % 5);                                         \
        int wrong = 0, ranks = check_size, sum = ranks * (ranks + 1) / 2;                        \
        MUST(MPI_Allreduce(mine, all, count, type, MPI_SUM, comm));                              \
        for (int at = 0; at < count; at++)                                                       \
            wrong += all[at] != (ctype)(sum + ranks * (at % 5));                                 \
        MUST(MPI_Scan(mine, all, count, type, MPI_SUM, comm));                                   \
        int until = check_rank + 1;                                                              \
        for (int at = 0; at < count; at++)                                                       \
            wrong += all[at] != (ctype)(until * (until + 1) / 2 + until * (at % 5));             \
        memcpy(all, mine, (size_t)count * sizeof *all);                                          \
        MUST(MPI_Reduce(check_rank == 0 ? MPI_IN_PLACE : mine, all, count, type, MPI_PROD, 0, comm)); \
        for (int at = 0; at < count && check_rank == 0; at++) {                                  \
            ctype product = (ctype)1;                                                            \
            for (int rank = 0; rank < ranks; rank++)                                             \
                product *= (ctype)(rank + 1 + at % 5);                                           \
            wrong += all[at] != product;                                                         \
        }                                                                                        \
        int block = count / ranks;                                                               \
        MUST(MPI_Reduce_scatter_block(mine, all, block, type, MPI_SUM, comm));                   \
        for (int at = 0; at < block; at++)                                                       \
            wrong += all[at] != (ctype)(sum + ranks * ((check_rank * block + at) % 5));          \
        if (wrong)                                                                               \
            check_fail(__FILE__, __LINE__, "%d wrong reductions of %d %s", wrong, count, #ctype); \
        free(mine);                                                                              \
        free(all);                                                                               \
    }

SUM_OF(shorts, short, MPI_SHORT)
SUM_OF(ints, int, MPI_INT)
SUM_OF(longs, long, MPI_LONG)
SUM_OF(numbers, int64_t, MPI_INT64_T)
SUM_OF(floats, float, MPI_FLOAT)
SUM_OF(doubles, double, MPI_DOUBLE)
SUM_OF(long_doubles, long double, MPI_LONG_DOUBLE)
SUM_OF(complexes, double complex, MPI_C_DOUBLE_COMPLEX)

/* Where the least value is, and an operation of the program on records. */
static void other_reductions(MPI_Comm comm)
{
    struct { double value; int place; } pair[300], least[300];
    struct { long double value; int place; } long_pair = {3.5L - check_rank, 1000 + check_rank}, greatest;
    for (int at = 0; at < 300; at++) {
        pair[at].value = 0.5 * ((check_rank + at) % check_size) - 7;
        pair[at].place = 70000 + check_rank;
    }
    MUST(MPI_Allreduce(pair, least, 300, MPI_DOUBLE_INT, MPI_MINLOC, comm));
    for (int at = 0; at < 300; at++) {
        CHECK(least[at].value == -7);
        CHECK_EQUAL(least[at].place, 70000 + (check_size - at % check_size) % check_size);
    }
    MUST(MPI_Allreduce(&long_pair, &greatest, 1, MPI_LONG_DOUBLE_INT, MPI_MAXLOC, comm));
    CHECK(greatest.value == 3.5L);
    CHECK_EQUAL(greatest.place, 1000);
}

static void add_records(void *in, void *into, int *count, MPI_Datatype *type)
{
    const Mixed *from = in;
    Mixed *to = into;
    (void)type;
    for (int at = 0; at < *count; at++) {
        to[at].letter = (char)(to[at].letter + from[at].letter);
        to[at].number += from[at].number;
        for (int part = 0; part < 3; part++)
            to[at].small[part] = (short)(to[at].small[part] + from[at].small[part]);
        to[at].precise += from[at].precise;
        to[at].wide += from[at].wide;
        to[at].real += from[at].real;
    }
}

static void own_operation(MPI_Datatype mixed, MPI_Comm comm)
{
    enum { COUNT = 60 };
    static Mixed mine[COUNT], all[COUNT];
    MPI_Op op;
    MUST(MPI_Op_create(add_records, 1, &op));
    for (int at = 0; at < COUNT; at++)
        mine[at] = (Mixed){(char)check_rank, -100000L * check_rank - at, {(short)check_rank, 300, (short)at},
                           0.25L * check_rank, 500 + at, 1.5F};
    MUST(MPI_Allreduce(mine, all, COUNT, mixed, op, comm));
    int ranks = check_size, sum = ranks * (ranks - 1) / 2;
    for (int at = 0; at < COUNT; at++) {
        CHECK_EQUAL(all[at].letter, sum);
        CHECK_EQUAL(all[at].number, -100000L * sum - at * ranks);
        CHECK_EQUAL(all[at].small[0], sum);
        CHECK_EQUAL(all[at].small[1], 300 * ranks);
        CHECK_EQUAL(all[at].small[2], at * ranks);
        CHECK(all[at].precise == 0.25L * sum);
        CHECK_EQUAL(all[at].wide, (500 + at) * ranks);
        CHECK(all[at].real == 1.5F * (float)ranks);
    }
    MUST(MPI_Op_free(&op));
}

/* What collective operations move is on its way as "external32" between unlike clients: a long keeps its
 * lower 4 bytes then. The ranks of a client that is alone keep all. */
static void wide_longs(int is_unlike)
{
    const long wide = 5L << 32 | 6, expected = is_unlike ? 6 : wide;
    long one = check_rank == 0 ? wide : 0, greatest = 0, *all = take((size_t)check_size * sizeof *all);
    MUST(MPI_Bcast(&one, 1, MPI_LONG, 0, MPI_COMM_WORLD));
    CHECK_EQUAL(one, check_rank == 0 ? wide : expected);
    one = wide + check_rank;
    MUST(MPI_Allgather(&one, 1, MPI_LONG, all, 1, MPI_LONG, MPI_COMM_WORLD));
    for (int rank = 0; rank < check_size; rank++)
        CHECK_EQUAL(all[rank], expected + rank);
    MUST(MPI_Allreduce(&one, &greatest, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD));
    CHECK_EQUAL(greatest, expected + check_size - 1);
    MUST(MPI_Allreduce(&one, &greatest, 1, MPI_LONG, MPI_MAX, MPI_COMM_SELF));
    CHECK_EQUAL(greatest, one);
    free(all);
}

/* Neighbors on a ring, and a persistent operation. */
static void rings(MPI_Datatype type)
{
    int periodic = 1, dims[] = {check_size};
    MPI_Comm ring;
    MUST(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, &periodic, 0, &ring));
    MPI_Aint lower, extent;
    MUST(MPI_Type_get_extent(type, &lower, &extent));
    char *out = elements_of(type, 4, 40 + check_rank), *in = room(type, 8);
    MUST(MPI_Neighbor_allgather(out, 4, type, in, 4, type, ring));
    check_elements(__LINE__, "left", in, type, 4, 40 + (check_rank + check_size - 1) % check_size);
    check_elements(__LINE__, "right", in + 4 * extent, type, 4, 40 + (check_rank + 1) % check_size);
    MPI_Request request;
    MUST(MPI_Bcast_init(in, 4, type, 0, ring, MPI_INFO_NULL, &request));
    for (int round = 0; round < 3; round++) {
        char *new = check_rank == 0 ? elements_of(type, 4, round) : room(type, 4);
        memcpy(in, new, (size_t)(4 * extent));
        MUST(MPI_Start(&request));
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
        check_elements(__LINE__, "persistent bcast", in, type, 4, round);
        free(new);
    }
    MUST(MPI_Request_free(&request));
    free(out);
    free(in);
    MUST(MPI_Comm_free(&ring));
}

/* Two groups, one of the first rank alone. */
static void groups(MPI_Datatype type, int is_unlike)
{
    MPI_Comm own, both, merged;
    const int side = check_rank != 0;
    MUST(MPI_Comm_split(MPI_COMM_WORLD, side, 0, &own));
    MUST(MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, side ? 0 : 1, 9, &both));
    CHECK_EQUAL(is_external(both), is_unlike);
    char *out = elements_of(type, 20, side), *in = room(type, 20);
    if (side == 0) {
        MUST(MPI_Bcast(out, 20, type, MPI_ROOT, both));
        MUST(MPI_Recv(in, 20, type, 0, 1, both, MPI_STATUS_IGNORE));
        check_elements(__LINE__, "from the other group", in, type, 20, 1);
    } else {
        MUST(MPI_Bcast(in, 20, type, 0, both));
        check_elements(__LINE__, "bcast of the other group", in, type, 20, 0);
        if (check_rank == 1)
            MUST(MPI_Send(out, 20, type, 0, 1, both));
    }
    MUST(MPI_Intercomm_merge(both, side, &merged));
    ints(11, merged);
    MUST(MPI_Comm_free(&merged));
    MUST(MPI_Comm_free(&both));
    MUST(MPI_Comm_free(&own));
    free(out);
    free(in);
}

/* Put and get of elements of each type, short and long. */
static void accesses(MPI_Datatype type, int count)
{
    MPI_Aint lower, extent;
    MUST(MPI_Type_get_extent(type, &lower, &extent));
    char *memory = room(type, 2 * count), *out = elements_of(type, count, 60 + check_rank), *in = room(type, count);
    int next = (check_rank + 1) % check_size, before = (check_rank + check_size - 1) % check_size;
    MPI_Win win;
    MUST(MPI_Win_create(memory, 2 * count * extent, (int)extent, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Put(out, count, type, next, count, count, type, win));
    MUST(MPI_Win_fence(0, win));
    check_elements(__LINE__, "put", memory + count * extent, type, count, 60 + before);
    MUST(MPI_Get(in, count, type, before, count, count, type, win));
    MUST(MPI_Win_fence(0, win));
    check_elements(__LINE__, "get", in, type, count, 60 + (before + check_size - 1) % check_size);
    MUST(MPI_Win_free(&win));
    free(memory);
    free(out);
    free(in);
}

/* All ranks add into the last one; then one number is swapped. */
static void accumulates(int is_unlike)
{
    enum { COUNT = 500 };
    static long memory[COUNT];
    static double sums[COUNT];
    long *ones = take(COUNT * sizeof *ones), *old = take(COUNT * sizeof *old);
    double half = 0.5, last = -1;
    const int target = check_size - 1;
    for (int at = 0; at < COUNT; at++) {
        ones[at] = check_rank + 1;
        memory[at] = 1000 + at;
        sums[at] = 0.25;
    }
    MPI_Win win, reals;
    MUST(MPI_Win_create(memory, sizeof memory, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MUST(MPI_Win_create(sums, sizeof sums, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &reals));
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Win_fence(0, reals));
    MUST(MPI_Accumulate(ones, COUNT, MPI_LONG, target, 0, COUNT, MPI_LONG, MPI_SUM, win));
    MUST(MPI_Fetch_and_op(&half, &last, MPI_DOUBLE, target, 3, MPI_SUM, reals));
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Win_fence(0, reals));
    CHECK(last >= 0.25 && last <= 0.25 + 0.5 * (check_size - 1));
    int sum = check_size * (check_size + 1) / 2, wrong = 0;
    for (int at = 0; at < COUNT && check_rank == target; at++)
        wrong += memory[at] != 1000 + at + sum;
    CHECK_EQUAL(wrong, 0);
    if (check_rank == target)
        CHECK(sums[3] == 0.25 + 0.5 * check_size);
    MUST(MPI_Get_accumulate(NULL, 0, MPI_LONG, old, COUNT, MPI_LONG, target, 0, COUNT, MPI_LONG, MPI_NO_OP, win));
    MUST(MPI_Win_fence(0, win));
    for (int at = 0; at < COUNT; at++)
        wrong += old[at] != 1000 + at + sum;
    CHECK_EQUAL(wrong, 0);
    long compared = 1000 + sum, new = -5, found = 0;
    if (check_rank == 0)
        MUST(MPI_Compare_and_swap(&new, &compared, &found, MPI_LONG, target, 0, win));
    MUST(MPI_Win_fence(0, win));
    if (check_rank == 0)
        CHECK_EQUAL(found, compared);
    if (check_rank == target)
        CHECK_EQUAL(memory[0], new);
    /* From rank 0, of another client, a long arrives as the 4 bytes of "external32". */
    long wide = 5L << 32 | 6;
    MUST(MPI_Win_fence(0, win));
    if (check_rank == 0)
        MUST(MPI_Put(&wide, 1, MPI_LONG, target, 7, 1, MPI_LONG, win));
    MUST(MPI_Win_fence(0, win));
    if (check_rank == target)
        CHECK_EQUAL(memory[7], is_unlike ? 6 : wide);
    MUST(MPI_Win_free(&win));
    MUST(MPI_Win_free(&reals));
    free(ones);
    free(old);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    const int is_unlike = argc > 1 && strcmp(argv[1], "unlike") == 0;
    make_types();
    CHECK_EQUAL(is_external(MPI_COMM_WORLD), is_unlike);
    section("moves");
    for (int of = 0; of < type_count; of++)
        moves(types[of], 3, MPI_COMM_WORLD);
    moves(MPI_SHORT, 20001, MPI_COMM_WORLD);
    moves(types[first_derived], 2001, MPI_COMM_WORLD);
    section("unequal blocks");
    for (int of = 0; of < type_count; of++)
        unequal(types[of], MPI_COMM_WORLD);
    section("reductions");
    static void (*const sums[])(int, MPI_Comm) = {shorts, ints, longs, numbers, floats, doubles, long_doubles,
        complexes};
    for (size_t at = 0; at < sizeof sums / sizeof *sums; at++) {
        sums[at](7, MPI_COMM_WORLD);
        sums[at](5003, MPI_COMM_WORLD);
    }
    other_reductions(MPI_COMM_WORLD);
    own_operation(types[first_derived], MPI_COMM_WORLD);
    wide_longs(is_unlike);
    section("neighbors");
    rings(types[first_derived]);
    rings(MPI_LONG);
    section("groups");
    groups(types[first_derived], is_unlike);
    section("windows");
    for (int of = 0; of < type_count; of++)
        accesses(types[of], 3);
    accesses(types[first_derived], 1000);
    accesses(MPI_INT, 5000);
    accumulates(is_unlike);
    free_types();
    return check_end();
}
