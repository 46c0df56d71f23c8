/* Every collective between two groups, evenly and unevenly split, with the lower ranks in either
 * group first: blocking and nonblocking, every root, other lengths in each direction, none at all,
 * an operation whose order shows, and what is refused. */
#include "check.h"

typedef struct {
    MPI_Comm comm;
    int side, rank, size, remote;
} Bridge;

static int number(int side, int rank, int index)
{
    return side * 1000000 + rank * 10000 + index % 9973;
}

/* Waits for what a nonblocking form has started. */
static void over(MPI_Request *request)
{
    MUST(MPI_Wait(request, MPI_STATUS_IGNORE));
}

/* The root as a process of this side names it. */
static int root_of(const Bridge *at, int side, int root)
{
    if (at->side != side)
        return root;
    return at->rank == root ? MPI_ROOT : MPI_PROC_NULL;
}

static void barriers(const Bridge *at)
{
    MPI_Request request;
    for (int time = 0; time < 3; time++) {
        MUST(MPI_Barrier(at->comm));
        MUST(MPI_Ibarrier(at->comm, &request));
        over(&request);
    }
}

static void rooted(const Bridge *at, int side, int root, int count, int later)
{
    int named = root_of(at, side, root), far = at->side != side, wrong = 0;
    int blocks = named == MPI_ROOT ? at->remote : 0;
    int *one = take((size_t)count * sizeof *one);
    int *all = take((size_t)count * (size_t)blocks * sizeof *all);
    MPI_Request request = MPI_REQUEST_NULL;
    /* Bystanders show that their buffers are not looked at. */
    void *mine = named == MPI_PROC_NULL && check_strict() ? NULL : one;

    for (int index = 0; index < count; index++)
        one[index] = named == MPI_ROOT ? number(side, root, index) : -1;
    /* MPICH 5.0.2 takes the wrong root, unless it is 0, in MPI_Ibcast. */
    if (later && (root == 0 || check_strict())) {
        MUST(MPI_Ibcast(mine, count, MPI_INT, named, at->comm, &request));
        over(&request);
    } else {
        MUST(MPI_Bcast(mine, count, MPI_INT, named, at->comm));
    }
    for (int index = 0; far && index < count; index++)
        wrong += one[index] != number(side, root, index);
    CHECK_EQUAL(wrong, 0);

    for (int index = 0; index < count; index++)
        one[index] = number(at->side, at->rank, index);
    if (later) {
        MUST(MPI_Igather(mine, count, MPI_INT, all, count, MPI_INT, named, at->comm, &request));
        over(&request);
    } else {
        MUST(MPI_Gather(mine, count, MPI_INT, all, count, MPI_INT, named, at->comm));
    }
    for (int from = 0; from < blocks; from++)
        for (int index = 0; index < count; index++)
            wrong += all[from * count + index] != number(!side, from, index);
    CHECK_EQUAL(wrong, 0);

    for (int index = 0; index < blocks * count; index++)
        all[index] = number(side, root, index);
    if (later) {
        MUST(MPI_Iscatter(all, count, MPI_INT, mine, count, MPI_INT, named, at->comm, &request));
        over(&request);
    } else {
        MUST(MPI_Scatter(all, count, MPI_INT, mine, count, MPI_INT, named, at->comm));
    }
    for (int index = 0; far && index < count; index++)
        wrong += one[index] != number(side, root, at->rank * count + index);
    CHECK_EQUAL(wrong, 0);

    for (int index = 0; index < count; index++)
        one[index] = number(at->side, at->rank, index);
    if (later) {
        MUST(MPI_Ireduce(mine, all, count, MPI_INT, MPI_SUM, named, at->comm, &request));
        over(&request);
    } else {
        MUST(MPI_Reduce(mine, all, count, MPI_INT, MPI_SUM, named, at->comm));
    }
    for (int index = 0; blocks && index < count; index++) {
        int due = 0;
        for (int from = 0; from < at->remote; from++)
            due += number(!side, from, index);
        wrong += all[index] != due;
    }
    CHECK_EQUAL(wrong, 0);
    free(one);
    free(all);
}

/* Elements of the block that a process sends or gets where lengths differ. */
static int length(int side, int rank)
{
    return (rank + side) % 3;
}

static void rooted_blocks(const Bridge *at, int side, int root, int later)
{
    enum { MOST = 4 };
    int named = root_of(at, side, root), far = at->side != side, wrong = 0;
    int blocks = named == MPI_ROOT ? at->remote : 0;
    int own = far ? length(at->side, at->rank) : 0;
    int counts[16], begin[16], one[MOST] = {0}, all[16 * MOST];
    MPI_Request request = MPI_REQUEST_NULL;
    for (int rank = 0; rank < blocks; rank++) {
        counts[rank] = length(!side, rank);
        begin[rank] = (blocks - 1 - rank) * MOST;
    }
    for (int index = 0; index < own; index++)
        one[index] = number(at->side, at->rank, index);
    if (later) {
        MUST(MPI_Igatherv(one, own, MPI_INT, all, counts, begin, MPI_INT, named, at->comm,
                          &request));
        over(&request);
    } else {
        MUST(MPI_Gatherv(one, own, MPI_INT, all, counts, begin, MPI_INT, named, at->comm));
    }
    for (int from = 0; from < blocks; from++)
        for (int index = 0; index < counts[from]; index++) {
            wrong += all[begin[from] + index] != number(!side, from, index);
            all[begin[from] + index] += 5;
        }
    if (later) {
        MUST(MPI_Iscatterv(all, counts, begin, MPI_INT, one, own, MPI_INT, named, at->comm,
                           &request));
        over(&request);
    } else {
        MUST(MPI_Scatterv(all, counts, begin, MPI_INT, one, own, MPI_INT, named, at->comm));
    }
    for (int index = 0; index < own; index++)
        wrong += one[index] != number(at->side, at->rank, index) + 5;
    CHECK_EQUAL(wrong, 0);
}

/* `counts` of each side's processes. */
static void all_to_all(const Bridge *at, const int counts[2], int later)
{
    int out = counts[at->side], in = counts[!at->side], wrong = 0;
    int *mine = take((size_t)(out * at->remote) * sizeof *mine);
    int *got = take((size_t)(in * at->remote) * sizeof *got);
    MPI_Request request = MPI_REQUEST_NULL;
    for (int index = 0; index < out * at->remote; index++)
        mine[index] = number(at->side, at->rank, index);
    if (later) {
        MUST(MPI_Iallgather(mine, out, MPI_INT, got, in, MPI_INT, at->comm, &request));
        over(&request);
    } else {
        MUST(MPI_Allgather(mine, out, MPI_INT, got, in, MPI_INT, at->comm));
    }
    for (int from = 0; from < at->remote; from++)
        for (int index = 0; index < in; index++)
            wrong += got[from * in + index] != number(!at->side, from, index);
    CHECK_EQUAL(wrong, 0);
    if (later) {
        MUST(MPI_Ialltoall(mine, out, MPI_INT, got, in, MPI_INT, at->comm, &request));
        over(&request);
    } else {
        MUST(MPI_Alltoall(mine, out, MPI_INT, got, in, MPI_INT, at->comm));
    }
    for (int from = 0; from < at->remote; from++)
        for (int index = 0; index < in; index++)
            wrong += got[from * in + index] != number(!at->side, from, at->rank * in + index);
    CHECK_EQUAL(wrong, 0);
    free(mine);
    free(got);
}

static void all_to_all_blocks(const Bridge *at, int later)
{
    enum { MOST = 8 };
    int mine[16 * MOST], got[16 * MOST], out[16], in[16], begin[16], bytes[16], wrong = 0;
    MPI_Datatype types[16];
    MPI_Request request = MPI_REQUEST_NULL;
    int own = length(at->side, at->rank);
    for (int index = 0; index < 16 * MOST; index++)
        mine[index] = number(at->side, at->rank, index);
    for (int peer = 0; peer < at->remote; peer++) {
        in[peer] = length(!at->side, peer);
        begin[peer] = (at->remote - 1 - peer) * MOST;
    }
    if (later) {
        MUST(MPI_Iallgatherv(mine, own, MPI_INT, got, in, begin, MPI_INT, at->comm, &request));
        over(&request);
    } else {
        MUST(MPI_Allgatherv(mine, own, MPI_INT, got, in, begin, MPI_INT, at->comm));
    }
    for (int from = 0; from < at->remote; from++)
        for (int index = 0; index < in[from]; index++)
            wrong += got[begin[from] + index] != number(!at->side, from, index);
    CHECK_EQUAL(wrong, 0);
    for (int peer = 0; peer < at->remote; peer++) {
        /* From side 0 to side 1, and back, in proportion to both ranks. */
        out[peer] = (at->rank + 2 * peer + at->side) % 4;
        in[peer] = (peer + 2 * at->rank + !at->side) % 4;
        begin[peer] = peer * MOST;
        bytes[peer] = begin[peer] * (int)sizeof(int);
        types[peer] = MPI_INT;
    }
    for (int wide = 0; wide < 2; wide++) {
        memset(got, 0, sizeof got);
        if (wide && later) {
            MUST(MPI_Ialltoallw(mine, out, bytes, types, got, in, bytes, types, at->comm,
                                &request));
            over(&request);
        } else if (wide) {
            MUST(MPI_Alltoallw(mine, out, bytes, types, got, in, bytes, types, at->comm));
        } else if (later) {
            MUST(MPI_Ialltoallv(mine, out, begin, MPI_INT, got, in, begin, MPI_INT, at->comm,
                                &request));
            over(&request);
        } else {
            MUST(MPI_Alltoallv(mine, out, begin, MPI_INT, got, in, begin, MPI_INT, at->comm));
        }
        for (int from = 0; from < at->remote; from++)
            for (int index = 0; index < MOST; index++)
                wrong += got[from * MOST + index]
                    != (index < in[from] ? number(!at->side, from, at->rank * MOST + index) : 0);
    }
    CHECK_EQUAL(wrong, 0);
}

static int sum_across(const Bridge *at, int index)
{
    int sum = 0;
    for (int from = 0; from < at->remote; from++)
        sum += number(!at->side, from, index);
    return sum;
}

/* Each side gets the same number of elements in all, so a block has as many as `per_block` times
 * the size of the other group. */
static void reductions(const Bridge *at, int per_block, int later)
{
    int block = per_block * at->remote, total = block * at->size, wrong = 0;
    int *mine = take((size_t)total * sizeof *mine), *got = take((size_t)total * sizeof *got);
    int counts[16], start = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    for (int index = 0; index < total; index++)
        mine[index] = number(at->side, at->rank, index);
    if (later) {
        MUST(MPI_Iallreduce(mine, got, total, MPI_INT, MPI_SUM, at->comm, &request));
        over(&request);
    } else {
        MUST(MPI_Allreduce(mine, got, total, MPI_INT, MPI_SUM, at->comm));
    }
    for (int index = 0; index < total; index++)
        wrong += got[index] != sum_across(at, index);
    CHECK_EQUAL(wrong, 0);
    if (later) {
        MUST(MPI_Ireduce_scatter_block(mine, got, block, MPI_INT, MPI_SUM, at->comm, &request));
        over(&request);
    } else {
        MUST(MPI_Reduce_scatter_block(mine, got, block, MPI_INT, MPI_SUM, at->comm));
    }
    for (int index = 0; index < block; index++)
        wrong += got[index] != sum_across(at, at->rank * block + index);
    CHECK_EQUAL(wrong, 0);
    /* All to the last rank but one element less for each other. */
    for (int rank = 0; rank < at->size; rank++)
        counts[rank] = rank + 1 < at->size ? block / 2 : total - block / 2 * (at->size - 1);
    start = at->rank * (block / 2);
    if (later) {
        MUST(MPI_Ireduce_scatter(mine, got, counts, MPI_INT, MPI_SUM, at->comm, &request));
        over(&request);
    } else {
        MUST(MPI_Reduce_scatter(mine, got, counts, MPI_INT, MPI_SUM, at->comm));
    }
    for (int index = 0; index < counts[at->rank]; index++)
        wrong += got[index] != sum_across(at, start + index);
    CHECK_EQUAL(wrong, 0);
    free(mine);
    free(got);
}

/* A run of ranks without a hole: first, last, whole. */
static void join(void *in, void *inout, int *length, MPI_Datatype *type)
{
    const int *before = in;
    int *after = inout;
    (void)type;
    for (int run = 0; run < *length; run++, before += 3, after += 3) {
        after[2] = after[2] && before[2] && before[1] + 1 == after[0];
        after[0] = before[0];
    }
}

static void in_order(const Bridge *at)
{
    MPI_Datatype three;
    MPI_Op op;
    int mine[3] = {at->rank, at->rank, 1}, got[3] = {-1, -1, -1};
    MUST(MPI_Type_contiguous(3, MPI_INT, &three));
    MUST(MPI_Type_commit(&three));
    MUST(MPI_Op_create(join, 0, &op));
    MUST(MPI_Allreduce(mine, got, 1, three, op, at->comm));
    CHECK(got[0] == 0 && got[1] == at->remote - 1 && got[2] == 1);
    for (int side = 0; side < 2; side++) {
        int named = root_of(at, side, 0);
        memset(got, 0xff, sizeof got);
        MUST(MPI_Reduce(mine, got, 1, three, op, named, at->comm));
        if (named == MPI_ROOT)
            CHECK(got[0] == 0 && got[1] == at->remote - 1 && got[2] == 1);
    }
    MUST(MPI_Op_free(&op));
    MUST(MPI_Type_free(&three));
}

/* Several under way, completed the other way round. */
static void at_once(const Bridge *at)
{
    enum { CALLS = 5 };
    int mine[CALLS], got[CALLS], all[CALLS][16];
    MPI_Request requests[2 * CALLS];
    for (int call = 0; call < CALLS; call++) {
        mine[call] = number(at->side, at->rank, call);
        MUST(MPI_Iallreduce(&mine[call], &got[call], 1, MPI_INT, MPI_SUM, at->comm,
                            &requests[2 * call]));
        MUST(MPI_Iallgather(&mine[call], 1, MPI_INT, all[call], 1, MPI_INT, at->comm,
                            &requests[2 * call + 1]));
    }
    for (int call = 2 * CALLS - 1; call >= 0; call--)
        over(&requests[call]);
    for (int call = 0; call < CALLS; call++) {
        CHECK_EQUAL(got[call], sum_across(at, call));
        for (int from = 0; from < at->remote; from++)
            CHECK_EQUAL(all[call][from], number(!at->side, from, call));
    }
}

static void refused(const Bridge *at)
{
    int one = 0, many[64] = {0};
    MPI_Comm comm = at->comm;
    MPI_Request request = MPI_REQUEST_NULL;
    MUST(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    MUST_FAIL(MPI_Scan(&one, many, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_COMM);
    MUST_FAIL(MPI_Exscan(&one, many, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_COMM);
    MUST_FAIL(MPI_Bcast(&one, 1, MPI_INT, at->remote, comm), MPI_ERR_ROOT);
    if (!check_strict())
        return;
    MUST_FAIL(MPI_Iscan(&one, many, 1, MPI_INT, MPI_SUM, comm, &request), MPI_ERR_COMM);
    MUST_FAIL(MPI_Gather(&one, 1, MPI_INT, many, 1, MPI_INT, -7, comm), MPI_ERR_ROOT);
    MUST_FAIL(MPI_Allreduce(MPI_IN_PLACE, many, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, many, 1, MPI_INT, comm), MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, many, 1, MPI_INT, comm), MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Reduce_scatter_block(MPI_IN_PLACE, many, 1, MPI_INT, MPI_SUM, comm),
              MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Reduce(MPI_IN_PLACE, many, 1, MPI_INT, MPI_SUM, 0, comm), MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Bcast(&one, 1, MPI_INT, MPI_ROOT, MPI_COMM_WORLD), MPI_ERR_ROOT);
}

static void everything(const Bridge *at)
{
    const int lengths[][2] = {{0, 0}, {3, 0}, {0, 2}, {1, 4}, {2100, 3}, {5, 9000}};
    const int counts[] = {0, 1, 7, 9000, 40000};
    barriers(at);
    for (int side = 0; side < 2; side++)
        for (int root = 0; root < (side == at->side ? at->size : at->remote); root++) {
            for (int which = 0; which < (root ? 3 : 5); which++)
                rooted(at, side, root, counts[which], (root + which) % 2);
            for (int later = 0; later < 2; later++)
                rooted_blocks(at, side, root, later);
        }
    for (int which = 0; which < 6; which++)
        all_to_all(at, lengths[which], which % 2);
    for (int later = 0; later < 2; later++) {
        all_to_all_blocks(at, later);
        reductions(at, 0, later);
        reductions(at, 1, later);
        reductions(at, 300, later);
    }
    in_order(at);
    at_once(at);
    refused(at);
}

/* The first `border` ranks on one side, the others on the other. */
static void bridge(int border)
{
    Bridge at = {MPI_COMM_NULL, check_rank >= border, -1, -1, -1};
    MPI_Comm half;
    MUST(MPI_Comm_split(MPI_COMM_WORLD, at.side, check_rank, &half));
    MUST(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, at.side ? 0 : border, 5, &at.comm));
    MUST(MPI_Comm_rank(at.comm, &at.rank));
    MUST(MPI_Comm_size(at.comm, &at.size));
    MUST(MPI_Comm_remote_size(at.comm, &at.remote));
    everything(&at);
    MUST(MPI_Comm_free(&at.comm));
    MUST(MPI_Comm_free(&half));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    const int borders[] = {1, check_size / 2, check_size - 1};
    for (int which = 0; which < 3; which++) {
        int border = borders[which];
        if (border < 1 || border >= check_size || (which && border == borders[which - 1]))
            continue;
        section("border %d", border);
        bridge(border);
    }
    return check_end();
}
