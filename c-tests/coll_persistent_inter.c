/* Persistent collectives between two groups: every one, each side as the root, other lengths in
 * each direction, all of them started again and again in an order of its own on each rank. */
#include "check.h"

enum {
    BARRIER, BCAST, GATHER, GATHERV, SCATTER, SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV,
    ALLTOALLW, REDUCE, ALLREDUCE, BLOCK, BLOCKS, KINDS
};
enum { ROOTS = 2, REQUESTS = ROOTS * KINDS, RANKS_MAX = 16, UNTOUCHED = -5 };

typedef struct {
    MPI_Comm comm;
    int side, rank, size, remote;
} Bridge;

/* Memory of one collective, and the counts and places that must stay as they are. */
typedef struct {
    int *out, *in;
    int out_counts[RANKS_MAX], in_counts[RANKS_MAX], begin[RANKS_MAX];
    MPI_Datatype types[RANKS_MAX];
} Job;

static uint64_t seed;
static Job jobs[REQUESTS];
static MPI_Request requests[REQUESTS];

/* Element `index` of what a process has for rank `to` of the other side. */
static int number(int side, int from, int to, int index, int turn)
{
    return side * 5000000 + from * 100000 + to * 1000 + index % 100 + turn * 13;
}

/* Elements of the blocks that one side sends; the other side sends fewer. */
static int length(int side, int count)
{
    return side == 0 ? count : count / 2;
}

/* The same where every pair has its own. */
static int uneven(int side, int from, int to, int count)
{
    return (from + to) % 2 == 0 ? length(side, count) : length(side, count) / 3;
}

static int is_rooted(int kind)
{
    return kind == BCAST || kind == GATHER || kind == GATHERV || kind == SCATTER
           || kind == SCATTERV || kind == REDUCE;
}

/* The root is the last rank of side `of`. */
static int root_of(const Bridge *at, int of)
{
    if (at->side != of)
        return at->remote - 1;
    return at->rank == at->size - 1 ? MPI_ROOT : MPI_PROC_NULL;
}

static void make(const Bridge *at, int count)
{
    MPI_Info none = MPI_INFO_NULL;
    MPI_Comm comm = at->comm;
    int own = length(at->side, count), other = length(!at->side, count);
    for (int index = 0; index < REQUESTS; index++) {
        Job *job = &jobs[index];
        MPI_Request *request = &requests[index];
        int kind = index / ROOTS, root = root_of(at, index % ROOTS), unit = 1;
        size_t total = (size_t)(count * RANKS_MAX + 1);
        job->out = take(total * sizeof(int));
        job->in = take(total * sizeof(int));
        if (kind == ALLTOALLW)
            unit = sizeof(int);
        for (int peer = 0; peer < at->remote; peer++) {
            job->out_counts[peer] = uneven(at->side, at->rank, peer, count);
            job->in_counts[peer] = uneven(!at->side, peer, kind == GATHERV || kind == ALLGATHERV
                                                             ? 0 : at->rank, count);
            job->begin[peer] = peer * count * unit;
            job->types[peer] = MPI_INT;
        }
        int first = uneven(at->side, at->rank, 0, count);
        int last = uneven(!at->side, at->remote - 1, at->rank, count);
        switch (kind) {
        case BARRIER:
            MUST(MPI_Barrier_init(comm, none, request));
            break;
        case BCAST:
            MUST(MPI_Bcast_init(root == MPI_ROOT ? job->out : job->in, count, MPI_INT, root, comm,
                                none, request));
            break;
        case GATHER:
            MUST(MPI_Gather_init(job->out, own, MPI_INT, job->in, other, MPI_INT, root, comm, none,
                                 request));
            break;
        case GATHERV:
            MUST(MPI_Gatherv_init(job->out, first, MPI_INT, job->in, job->in_counts, job->begin,
                                  MPI_INT, root, comm, none, request));
            break;
        case SCATTER:
            MUST(MPI_Scatter_init(job->out, own, MPI_INT, job->in, other, MPI_INT, root, comm,
                                  none, request));
            break;
        case SCATTERV:
            MUST(MPI_Scatterv_init(job->out, job->out_counts, job->begin, MPI_INT, job->in, last,
                                   MPI_INT, root, comm, none, request));
            break;
        case ALLGATHER:
            MUST(MPI_Allgather_init(job->out, own, MPI_INT, job->in, other, MPI_INT, comm, none,
                                    request));
            break;
        case ALLGATHERV:
            MUST(MPI_Allgatherv_init(job->out, first, MPI_INT, job->in, job->in_counts, job->begin,
                                     MPI_INT, comm, none, request));
            break;
        case ALLTOALL:
            MUST(MPI_Alltoall_init(job->out, own, MPI_INT, job->in, other, MPI_INT, comm, none,
                                   request));
            break;
        case ALLTOALLV:
            MUST(MPI_Alltoallv_init(job->out, job->out_counts, job->begin, MPI_INT, job->in,
                                    job->in_counts, job->begin, MPI_INT, comm, none, request));
            break;
        case ALLTOALLW:
            MUST(MPI_Alltoallw_init(job->out, job->out_counts, job->begin, job->types, job->in,
                                    job->in_counts, job->begin, job->types, comm, none, request));
            break;
        case REDUCE:
            MUST(MPI_Reduce_init(job->out, job->in, count, MPI_INT, MPI_SUM, root, comm, none,
                                 request));
            break;
        case ALLREDUCE:
            MUST(MPI_Allreduce_init(job->out, job->in, count, MPI_INT, MPI_SUM, comm, none,
                                    request));
            break;
        case BLOCK: /* the operands of both sides have one length */
            MUST(MPI_Reduce_scatter_block_init(job->out, job->in, at->remote, MPI_INT, MPI_SUM,
                                               comm, none, request));
            break;
        case BLOCKS:
            for (int rank = 0; rank < at->size; rank++)
                job->in_counts[rank] = at->remote;
            MUST(MPI_Reduce_scatter_init(job->out, job->in, job->in_counts, MPI_INT, MPI_SUM, comm,
                                         none, request));
            break;
        }
    }
}

/* Where the blocks for the ranks of the other side begin in the send buffer. */
static int apart(int kind, int side, int count)
{
    return kind == SCATTER || kind == ALLTOALL ? length(side, count) : count;
}

static void prepare(const Bridge *at, int count, int turn)
{
    for (int index = 0; index < REQUESTS; index++) {
        int block = apart(index / ROOTS, at->side, count);
        for (int place = 0; place < count * RANKS_MAX; place++) {
            jobs[index].in[place] = UNTOUCHED;
            jobs[index].out[place] = UNTOUCHED;
            if (block > 0)
                jobs[index].out[place] =
                    number(at->side, at->rank, place / block, place % block, turn);
        }
    }
}

/* The sum over the other side of element `place`, blocks of `count` behind one another. */
static int sum(const Bridge *at, int place, int count, int turn)
{
    int total = 0;
    for (int from = 0; from < at->remote; from++)
        total += number(!at->side, from, place / count, place % count, turn);
    return total;
}

/* What is at `place` of the receive buffer afterwards. */
static int expected(const Bridge *at, int kind, int root, int count, int place, int turn)
{
    int far = !at->side, other = length(far, count), from, within;
    if (is_rooted(kind)) {
        int gets = kind == GATHER || kind == GATHERV || kind == REDUCE;
        if (gets ? root != MPI_ROOT : root < 0)
            return UNTOUCHED;
    }
    switch (kind) {
    case BCAST:
        return place < count ? number(far, root, 0, place, turn) : UNTOUCHED;
    case SCATTER:
        return place < other ? number(far, root, at->rank, place, turn) : UNTOUCHED;
    case SCATTERV:
        return place < uneven(far, root, at->rank, count) ? number(far, root, at->rank, place, turn)
                                                          : UNTOUCHED;
    case GATHER:
    case ALLGATHER:
    case ALLTOALL:
        if (other == 0 || place >= other * at->remote)
            return UNTOUCHED;
        from = place / other;
        within = place % other;
        return number(far, from, kind == ALLTOALL ? at->rank : 0, within, turn);
    case GATHERV:
    case ALLGATHERV:
    case ALLTOALLV:
    case ALLTOALLW:
        from = place / count;
        within = place % count;
        int to = kind == GATHERV || kind == ALLGATHERV ? 0 : at->rank;
        if (from >= at->remote || within >= uneven(far, from, to, count))
            return UNTOUCHED;
        return number(far, from, to, within, turn);
    case REDUCE:
    case ALLREDUCE:
        return place < count ? sum(at, place, count, turn) : UNTOUCHED;
    case BLOCK:
    case BLOCKS:
        return place < at->remote ? sum(at, at->rank * at->remote + place, count, turn) : UNTOUCHED;
    }
    return UNTOUCHED;
}

static void check_results(const Bridge *at, int count, int turn)
{
    for (int index = 0; index < REQUESTS; index++) {
        int wrong = 0, kind = index / ROOTS, root = root_of(at, index % ROOTS);
        for (int place = 0; place < count * RANKS_MAX; place++)
            wrong += jobs[index].in[place] != expected(at, kind, root, count, place, turn);
        if (wrong != 0)
            check_fail(__FILE__, __LINE__, "operation %d, root %d, %d ints, turn %d: %d are wrong",
                       kind, root, count, turn, wrong);
    }
}

static void again_and_again(const Bridge *at, int count, int turns)
{
    make(at, count);
    for (int turn = 0; turn < turns; turn++) {
        int order[REQUESTS];
        prepare(at, count, turn);
        for (int index = 0; index < REQUESTS; index++) {
            int other = (int)draw(&seed, (unsigned)index + 1);
            order[index] = order[other];
            order[other] = index;
        }
        for (int index = 0; index < REQUESTS; index++)
            MUST(MPI_Start(&requests[order[index]]));
        for (int index = 0; index < REQUESTS; index++)
            MUST(MPI_Wait(&requests[order[index]], MPI_STATUS_IGNORE));
        check_results(at, count, turn);
    }
    for (int index = 0; index < REQUESTS; index++) {
        MUST(MPI_Request_free(&requests[index]));
        free(jobs[index].out);
        free(jobs[index].in);
    }
}

/* Between the first `left` ranks of the world and the others. */
static void between(int left)
{
    Bridge at = {.side = check_rank >= left};
    MPI_Comm local;
    section("%d and %d ranks", left, check_size - left);
    MUST(MPI_Comm_split(MPI_COMM_WORLD, at.side, check_rank, &local));
    MUST(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, at.side == 0 ? left : 0, 8, &at.comm));
    MUST(MPI_Comm_rank(at.comm, &at.rank));
    MUST(MPI_Comm_size(at.comm, &at.size));
    MUST(MPI_Comm_remote_size(at.comm, &at.remote));
    again_and_again(&at, 64, 10);
    again_and_again(&at, 4000, 2);
    MUST(MPI_Comm_free(&at.comm));
    MUST(MPI_Comm_free(&local));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    seed = (uint64_t)check_rank + 11;
    if (check_size > 1 && check_size <= RANKS_MAX)
        between(1);
    if (check_size > 2 && check_size <= RANKS_MAX)
        between(check_size / 2 + 1);
    return check_end();
}
