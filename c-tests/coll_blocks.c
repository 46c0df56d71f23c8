/* Gatherv, scatterv, alltoallv and alltoallw with blocks around the limits of shared memory: a block
 * that an entry does not hold travels as a message, and only its two ranks know which. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

enum { CALLS = 60, FULL = 4, ENTRY = 32768, SIZES = 12, RANKS_MAX = 64 };
static const int sizes[SIZES] = {0, 1, 9, 36, 40, 600, 4000, 8191, 8192, 8193, 16000, 70000};

static int rank, ranks;

/* The length of the block from one rank to another in a call; calls of one kind have all lengths. Those of the last
 * calls fill an entry with its table to the last byte, or to one byte less or more. */
static int length_of(int call, int from, int to)
{
    if (call >= CALLS) {
        int others = ranks - 1, total = ENTRY - 2 * ranks - 2 + (call - CALLS);
        return to == from ? 5 : total / others + (to - (to > from) < total % others);
    }
    unsigned mixed = (unsigned)call * 2654435761u + (unsigned)(from * 31 + to) * 40503u;
    int bound = call % 3 == 0 ? 6 : SIZES;
    return sizes[(mixed >> 7) % (unsigned)bound];
}

static unsigned char byte_of(int call, int from, int to, int at)
{
    return (unsigned char)(call * 7 + from * 31 + to * 13 + at);
}

struct side {
    unsigned char *bytes;
    int counts[RANKS_MAX], offsets[RANKS_MAX];
};

/* Memory for the blocks of all ranks, with gaps; the lengths are those from or to this rank. */
static void side_open(struct side *side, int call, int is_sent)
{
    int end = 0;
    for (int other = 0; other < ranks; other++) {
        side->counts[other] = is_sent ? length_of(call, rank, other) : length_of(call, other, rank);
        side->offsets[other] = end;
        end += side->counts[other] + 3;
    }
    side->bytes = malloc((size_t)end + 1);
    memset(side->bytes, 0xee, (size_t)end + 1);
    for (int other = 0; is_sent && other < ranks; other++)
        for (int at = 0; at < side->counts[other]; at++)
            side->bytes[side->offsets[other] + at] = byte_of(call, rank, other, at);
}

/* Whether the block of `from` is what it has sent to `to`, and the gap after it is untouched. */
static int is_block(const unsigned char *block, int call, int from, int to)
{
    int length = length_of(call, from, to), at = 0;
    while (at < length && block[at] == byte_of(call, from, to, at))
        at++;
    return at == length && block[length] == 0xee;
}

static void check_all(const struct side *in, int call)
{
    for (int other = 0; other < ranks; other++)
        CHECK(is_block(in->bytes + in->offsets[other], call, other, rank));
}

static void alltoall(int call, int is_w)
{
    struct side out, in;
    MPI_Datatype types[RANKS_MAX];
    side_open(&out, call, 1);
    side_open(&in, call, 0);
    for (int other = 0; other < ranks; other++)
        types[other] = MPI_BYTE;
    if (is_w)
        MPI_Alltoallw(out.bytes, out.counts, out.offsets, types, in.bytes, in.counts, in.offsets,
                      types, MPI_COMM_WORLD);
    else
        MPI_Alltoallv(out.bytes, out.counts, out.offsets, MPI_BYTE, in.bytes, in.counts, in.offsets,
                      MPI_BYTE, MPI_COMM_WORLD);
    check_all(&in, call);
    free(out.bytes);
    free(in.bytes);
}

/* Block r of a gatherv is what rank r has for the root. */
static void gather(int call, int root)
{
    struct side out, in;
    side_open(&out, call, 1);
    side_open(&in, call, 0);
    if (rank == root && call % 2 == 0) {
        memcpy(in.bytes + in.offsets[rank], out.bytes + out.offsets[rank],
               (size_t)out.counts[rank]);
        MPI_Gatherv(MPI_IN_PLACE, 0, MPI_BYTE, in.bytes, in.counts, in.offsets, MPI_BYTE, root,
                    MPI_COMM_WORLD);
    } else {
        MPI_Gatherv(out.bytes + out.offsets[root], out.counts[root], MPI_BYTE, in.bytes, in.counts,
                    in.offsets, MPI_BYTE, root, MPI_COMM_WORLD);
    }
    if (rank == root)
        check_all(&in, call);
    free(out.bytes);
    free(in.bytes);
}

static void scatter(int call, int root)
{
    struct side out, in;
    side_open(&out, call, 1);
    side_open(&in, call, 0);
    int is_in_place = rank == root && call % 2 == 0;
    MPI_Scatterv(out.bytes, out.counts, out.offsets, MPI_BYTE,
                 is_in_place ? MPI_IN_PLACE : in.bytes + in.offsets[root], in.counts[root], MPI_BYTE,
                 root, MPI_COMM_WORLD);
    if (!is_in_place)
        CHECK(is_block(in.bytes + in.offsets[root], call, root, rank));
    free(out.bytes);
    free(in.bytes);
}

/* A lower triangle: half of the pairs exchange nothing, scattered elements on one side. */
static void triangle(int stride)
{
    int counts[2][RANKS_MAX], offsets[2][RANKS_MAX], block = 3000;
    MPI_Datatype every_second;
    short *out = calloc((size_t)(ranks * block), sizeof *out * 2);
    short *in = calloc((size_t)(ranks * block), sizeof *in);
    MPI_Type_vector(block, 1, 2, MPI_SHORT, &every_second);
    MPI_Type_commit(&every_second);
    for (int other = 0; other < ranks; other++) {
        counts[0][other] = other <= rank;
        counts[1][other] = other >= rank ? block : 0;
        offsets[0][other] = offsets[1][other] = other * block;
        for (int at = 0; at < block; at++)
            out[2 * (other * block + at)] = (short)(rank * 100 + other * 10 + at * stride);
    }
    MPI_Datatype types[2][RANKS_MAX];
    for (int other = 0; other < ranks; other++) {
        types[0][other] = every_second;
        types[1][other] = MPI_SHORT;
        offsets[0][other] *= 2 * (int)sizeof *out;
        offsets[1][other] *= (int)sizeof *in;
    }
    MPI_Alltoallw(out, counts[0], offsets[0], types[0], in, counts[1], offsets[1], types[1],
                  MPI_COMM_WORLD);
    for (int other = 0; other < ranks; other++) {
        int wrong = 0;
        for (int at = 0; at < block; at++) {
            short expected = (short)(other * 100 + rank * 10 + at * stride);
            wrong += in[other * block + at] != (other >= rank ? expected : 0);
        }
        CHECK(wrong == 0);
    }
    MPI_Type_free(&every_second);
    free(out);
    free(in);
}

/* A block is longer or shorter than its receiver expects: the receiver gets an error, and the next
 * call works. */
static void disagree(int more, int expected_class)
{
    char out[RANKS_MAX * 16] = {0}, in[RANKS_MAX * 16] = {0};
    int counts[2][RANKS_MAX], offsets[RANKS_MAX], class = MPI_SUCCESS;
    for (int other = 0; other < ranks; other++) {
        counts[0][other] = other == 0 && rank != 0 ? 8 + more : 8;
        counts[1][other] = 8;
        offsets[other] = other * 16;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int code = MPI_Alltoallv(out, counts[0], offsets, MPI_BYTE, in, counts[1], offsets, MPI_BYTE,
                             MPI_COMM_WORLD);
    MPI_Error_class(code, &class);
    CHECK_EQUAL(class, rank == 0 && ranks > 1 ? expected_class : MPI_SUCCESS);
    code = MPI_Gatherv(out, rank == 0 ? 8 : 8 + more, MPI_BYTE, in, counts[1], offsets, MPI_BYTE, 0,
                       MPI_COMM_WORLD);
    MPI_Error_class(code, &class);
    CHECK_EQUAL(class, rank == 0 && ranks > 1 ? expected_class : MPI_SUCCESS);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int call = 0; call < CALLS + FULL; call++) {
        alltoall(call, call % 4 == 3);
        gather(call, call % ranks);
        scatter(call, call * 5 % ranks);
        if (call % 20 == 0)
            triangle(call + 1);
    }
    disagree(4, MPI_ERR_TRUNCATE);
    disagree(-4, MPI_ERR_COUNT);
    return check_end();
}
