/* The large-count forms of collectives, reductions without communication, and what collectives
 * refuse. */
#include "comms.h"

#include <stddef.h>

/* A number whose place in memory is not where its element begins. */
typedef struct {
    double before;
    int value;
    int after;
} Padded;

static int number(int from, int to, int index)
{
    return from * 10000 + to * 100 + index;
}

static void to_and_from_root(const Place *at)
{
    enum { COUNT = 3 };
    int root = at->size - 1, own[COUNT] = {0}, wrong = 0;
    int *all = take((size_t)at->size * (COUNT + 1) * sizeof(int));
    MPI_Count *counts = take((size_t)at->size * sizeof *counts);
    MPI_Aint *begin = take((size_t)at->size * sizeof *begin);
    for (int rank = 0; rank < at->size; rank++) {
        counts[rank] = rank % 2 ? COUNT : COUNT - 1;
        begin[rank] = (MPI_Aint)(at->size - 1 - rank) * (COUNT + 1);
    }
    for (int index = 0; index < COUNT; index++)
        own[index] = number(at->rank, 0, index);
    MUST(MPI_Gatherv_c(own, counts[at->rank], MPI_INT, all, counts, begin, MPI_INT, root,
                       at->comm));
    for (int rank = 0; rank < at->size && at->rank == root; rank++)
        for (int index = 0; index < counts[rank]; index++)
            wrong += all[begin[rank] + index] != number(rank, 0, index);
    memset(own, 0, sizeof own);
    MUST(MPI_Scatterv_c(all, counts, begin, MPI_INT, own, counts[at->rank], MPI_INT, root,
                        at->comm));
    for (int index = 0; index < COUNT; index++)
        wrong += own[index] != (index < counts[at->rank] ? number(at->rank, 0, index) : 0);
    MUST(MPI_Allgatherv_c(own, counts[at->rank], MPI_INT, all, counts, begin, MPI_INT, at->comm));
    for (int rank = 0; rank < at->size; rank++)
        for (int index = 0; index < counts[rank]; index++)
            wrong += all[begin[rank] + index] != number(rank, 0, index);
    MUST(MPI_Gather_c(own, 1, MPI_INT, all, 1, MPI_INT, root, at->comm));
    for (int rank = 0; rank < at->size && at->rank == root; rank++) {
        wrong += all[rank] != number(rank, 0, 0);
        all[rank] += 7;
    }
    MUST(MPI_Scatter_c(all, 1, MPI_INT, own, 1, MPI_INT, root, at->comm));
    wrong += own[0] != number(at->rank, 0, 0) + 7;
    MUST(MPI_Allgather_c(own, 1, MPI_INT, all, 1, MPI_INT, at->comm));
    for (int rank = 0; rank < at->size; rank++)
        wrong += all[rank] != number(rank, 0, 0) + 7;
    CHECK_EQUAL(wrong, 0);
    free(all);
    free(counts);
    free(begin);
}

/* Rank r sends two ints to even ranks and one double to odd ones. */
static void unlike_types(const Place *at)
{
    int wrong = 0;
    struct { int two[2]; double one; } *out, *in;
    MPI_Count *out_counts = take((size_t)at->size * sizeof *out_counts);
    MPI_Count *in_counts = take((size_t)at->size * sizeof *in_counts);
    MPI_Aint *out_begin = take((size_t)at->size * sizeof *out_begin);
    MPI_Aint *in_begin = take((size_t)at->size * sizeof *in_begin);
    MPI_Datatype *out_types = take((size_t)at->size * sizeof *out_types);
    MPI_Datatype *in_types = take((size_t)at->size * sizeof *in_types);
    out = take((size_t)at->size * sizeof *out);
    in = take((size_t)at->size * sizeof *in);
    memset(in, 0, (size_t)at->size * sizeof *in);
    for (int peer = 0; peer < at->size; peer++) {
        out[peer].two[0] = number(at->rank, peer, 0);
        out[peer].two[1] = number(at->rank, peer, 1);
        out[peer].one = number(at->rank, peer, 2);
        out_types[peer] = peer % 2 ? MPI_DOUBLE : MPI_INT;
        in_types[peer] = at->rank % 2 ? MPI_DOUBLE : MPI_INT;
        out_counts[peer] = peer % 2 ? 1 : 2;
        in_counts[peer] = at->rank % 2 ? 1 : 2;
        out_begin[peer] = peer * (MPI_Aint)sizeof *out + (peer % 2 ? 8 : 0);
        in_begin[peer] = peer * (MPI_Aint)sizeof *in + (at->rank % 2 ? 8 : 0);
    }
    MUST(MPI_Alltoallw_c(out, out_counts, out_begin, out_types, in, in_counts, in_begin, in_types,
                         at->comm));
    for (int peer = 0; peer < at->size; peer++) {
        int odd = at->rank % 2;
        wrong += in[peer].two[0] != (odd ? 0 : number(peer, at->rank, 0));
        wrong += in[peer].two[1] != (odd ? 0 : number(peer, at->rank, 1));
        wrong += in[peer].one != (odd ? number(peer, at->rank, 2) : 0);
    }
    CHECK_EQUAL(wrong, 0);
    free(out_counts);
    free(in_counts);
    free(out_begin);
    free(in_begin);
    free(out_types);
    free(in_types);
    free(out);
    free(in);
}

static void everywhere(const Place *at)
{
    int *out = take((size_t)at->size * 2 * sizeof(int)), wrong = 0, sum = -1;
    int *in = take((size_t)at->size * 2 * sizeof(int));
    MPI_Count *counts = take((size_t)at->size * sizeof *counts);
    MPI_Aint *begin = take((size_t)at->size * sizeof *begin);
    for (int peer = 0; peer < at->size; peer++) {
        out[2 * peer] = number(at->rank, peer, 0);
        out[2 * peer + 1] = number(at->rank, peer, 1);
        counts[peer] = 2;
        begin[peer] = 2 * peer;
    }
    MUST(MPI_Alltoall_c(out, 2, MPI_INT, in, 2, MPI_INT, at->comm));
    for (int peer = 0; peer < at->size; peer++)
        wrong += in[2 * peer + 1] != number(peer, at->rank, 1);
    memset(in, 0, (size_t)at->size * 2 * sizeof(int));
    MUST(MPI_Alltoallv_c(out, counts, begin, MPI_INT, in, counts, begin, MPI_INT, at->comm));
    for (int peer = 0; peer < at->size; peer++)
        wrong += in[2 * peer + 1] != number(peer, at->rank, 1);
    MUST(MPI_Bcast_c(out, 2, MPI_INT, at->size - 1, at->comm));
    wrong += out[1] != number(at->size - 1, 0, 1);
    MUST(MPI_Allreduce_c(&at->rank, &sum, 1, MPI_INT, MPI_SUM, at->comm));
    wrong += sum != at->size * (at->size - 1) / 2;
    sum = -1;
    MUST(MPI_Reduce_c(&at->rank, &sum, 1, MPI_INT, MPI_MAX, 0, at->comm));
    wrong += sum != (at->rank == 0 ? at->size - 1 : -1);
    CHECK_EQUAL(wrong, 0);
    free(out);
    free(in);
    free(counts);
    free(begin);
}

static void large_forms(const Place *at)
{
    to_and_from_root(at);
    unlike_types(at);
    everywhere(at);
}

/* inout = 10 * inout + in, where `value` of each element is the data. */
static void append(void *in, void *inout, int *length, MPI_Datatype *type)
{
    MPI_Aint lower = 0, extent = 0;
    MUST(MPI_Type_get_extent(*type, &lower, &extent));
    CHECK_EQUAL(extent, sizeof(Padded));
    for (int index = 0; index < *length; index++) {
        const Padded *from = (const Padded *)((char *)in + index * extent);
        Padded *to = (Padded *)((char *)inout + index * extent);
        to->value = 10 * to->value + from->value;
    }
}

static void append_large(void *in, void *inout, MPI_Count *length, MPI_Datatype *type)
{
    int small = (int)*length;
    append(in, inout, &small, type);
}

static MPI_Datatype padded_type(void)
{
    MPI_Datatype inner, padded;
    int length = 1;
    MPI_Aint place = offsetof(Padded, value);
    MUST(MPI_Type_create_hindexed(1, &length, &place, MPI_INT, &inner));
    MUST(MPI_Type_create_resized(inner, 0, sizeof(Padded), &padded));
    MUST(MPI_Type_commit(&padded));
    MUST(MPI_Type_free(&inner));
    return padded;
}

static void reduce_local(void)
{
    enum { COUNT = 5 };
    struct { double value; int place; } one[2] = {{1, 4}, {7, 2}}, other[2] = {{1, 3}, {9, 9}};
    int in[COUNT] = {1, 2, 3, 4, 5}, inout[COUNT] = {10, 20, 30, 40, 50};
    Padded from[COUNT], to[COUNT];
    MPI_Datatype padded = padded_type();
    MPI_Op op, large;
    MUST(MPI_Op_create(append, 0, &op));
    MUST(MPI_Op_create_c(append_large, 0, &large));
    MUST(MPI_Reduce_local(in, inout, COUNT, MPI_INT, MPI_SUM));
    for (int index = 0; index < COUNT; index++) {
        CHECK_EQUAL(inout[index], 11 * (index + 1));
        from[index] = (Padded){-1, index, -2};
        to[index] = (Padded){-3, 7, -4};
    }
    MUST(MPI_Reduce_local(one, other, 2, MPI_DOUBLE_INT, MPI_MINLOC));
    CHECK(other[0].value == 1 && other[0].place == 3 && other[1].value == 7);
    CHECK_EQUAL(other[1].place, 2);
    MUST(MPI_Reduce_local(from, to, COUNT, padded, op));
    MUST(MPI_Reduce_local_c(from, to, COUNT, padded, large));
    for (int index = 0; index < COUNT; index++) {
        CHECK_EQUAL(to[index].value, 700 + 11 * index);
        CHECK(to[index].before == -3 && to[index].after == -4);
    }
    MUST(MPI_Op_free(&op));
    MUST(MPI_Op_free(&large));
    MUST(MPI_Type_free(&padded));
}

static void padded_everywhere(const Place *at)
{
    MPI_Datatype padded = padded_type();
    MPI_Op op;
    Padded mine[2] = {{-1, at->rank + 1, -2}, {-1, 1, -2}}, got[2] = {{-3, 0, -4}, {-3, 0, -4}};
    /* What `append` does is not associative, so only two ranks agree on its result. */
    MUST(MPI_Op_create(append, 0, &op));
    if (at->size <= 2) {
        MUST(MPI_Allreduce(mine, got, 2, padded, op, at->comm));
        CHECK_EQUAL(got[0].value, at->size == 2 ? 21 : 1);
        CHECK_EQUAL(got[1].value, at->size == 2 ? 11 : 1);
        CHECK(got[0].before == -3 && got[1].after == -4 && mine[0].value == at->rank + 1);
    }
    MUST(MPI_Op_free(&op));
    MUST(MPI_Type_free(&padded));
}

/* Alone, so that nobody waits for a rank whose call was refused. */
static void refused(void)
{
    MPI_Comm own = MPI_COMM_SELF;
    int value = 1, two[2] = {0, 0}, counts[1] = {1}, begin[1] = {0};
    MPI_Op op = MPI_SUM;
    MPI_Datatype pair;
    MPI_Request request;
    MUST_FAIL_2(MPI_Allreduce(&value, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, own), MPI_ERR_BUFFER,
                MPI_ERR_ARG);
    MUST_FAIL_2(MPI_Reduce_local(MPI_IN_PLACE, two, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER,
                MPI_ERR_ARG);
    MUST_FAIL_2(MPI_Allgather(&value, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, own), MPI_ERR_BUFFER,
                MPI_ERR_ARG);
    MUST_FAIL(MPI_Ibcast(&value, 1, MPI_INT, 1, own, &request), MPI_ERR_ROOT);
    MUST_FAIL(MPI_Igatherv(&value, 1, MPI_INT, two, counts, begin, MPI_INT, -1, own, &request),
              MPI_ERR_ROOT);
    MUST_FAIL(MPI_Ireduce(&value, two, 1, MPI_INT, MPI_OP_NULL, 0, own, &request), MPI_ERR_OP);
    MUST_FAIL(MPI_Ibarrier(MPI_COMM_NULL, &request), MPI_ERR_COMM);
    MUST_FAIL(MPI_Alltoallw(&value, counts, begin, &pair, two, counts, begin, &pair,
                            MPI_COMM_NULL), MPI_ERR_COMM);
    counts[0] = -1;
    MUST_FAIL(MPI_Allgatherv(&value, 1, MPI_INT, two, counts, begin, MPI_INT, own),
              MPI_ERR_COUNT);
    MUST_FAIL(MPI_Op_free(&op), MPI_ERR_OP);
    MUST(MPI_Type_contiguous(2, MPI_INT, &pair));
    MUST_FAIL(MPI_Bcast(two, 1, pair, 0, own), MPI_ERR_TYPE);
    MUST(MPI_Type_commit(&pair));
    MUST_FAIL(MPI_Allreduce(&value, two, 1, pair, MPI_SUM, own), MPI_ERR_OP);
    MUST_FAIL(MPI_Reduce_local(two, two, 1, MPI_DOUBLE_INT, MPI_SUM), MPI_ERR_OP);
    MUST(MPI_Type_free(&pair));
    MUST(MPI_Op_create(append, 1, &op));
    MPI_Op copy = op;
    MUST(MPI_Op_free(&op));
    if (check_strict()) {
        MUST_FAIL_2(MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, own), MPI_ERR_BUFFER, MPI_ERR_ARG);
        MUST_FAIL(MPI_Op_free(&copy), MPI_ERR_OP);
        MUST_FAIL(MPI_Op_create(NULL, 1, &op), MPI_ERR_ARG);
        MUST_FAIL(MPI_Gather(two, 2, MPI_INT, &value, 1, MPI_INT, 0, own), MPI_ERR_TRUNCATE);
        MUST_FAIL(MPI_Alltoall(two, 2, MPI_INT, &value, 1, MPI_INT, own), MPI_ERR_TRUNCATE);
    }
    CHECK_EQUAL(value, 1);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    comms_open();
    section("large counts");
    comms_each(large_forms);
    section("without communication");
    reduce_local();
    section("padded elements");
    comms_each(padded_everywhere);
    section("refused");
    refused();
    comms_close();
    return check_end();
}
