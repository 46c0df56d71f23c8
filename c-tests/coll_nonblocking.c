/* Nonblocking collectives, all of them under way at once: completed in every way, with messages in
 * between, and with types and operations freed while they are in use. */
#include "comms.h"

enum { KINDS = 14, RANKS_MAX = 64 };

/* How the requests are completed. */
enum { WAIT_ALL, TEST_ALL, WAIT_BACKWARDS, WAIT_ANY, TEST_EACH, WAYS };

/* Memory of one collective, and the counts and places that must stay as long as it runs. */
typedef struct {
    int *out, *in;
    int out_counts[RANKS_MAX], out_begin[RANKS_MAX], in_counts[RANKS_MAX], in_begin[RANKS_MAX];
    MPI_Datatype types[RANKS_MAX];
} Job;

static int number(int from, int to, int index)
{
    return from * 1000000 + to * 10000 + index % 10000;
}

/* What rank `from` has for `to` where the lengths differ. */
static int uneven(int from, int to, int count)
{
    return (from + 2 * to) % 3 == 0 ? 0 : count - (from + to) % 2 * (count / 2);
}

/* An affine map of each operand, composed from left to right: the order shows in the result. */
static void compose(void *in, void *inout, int *length, MPI_Datatype *type)
{
    const unsigned *first = in;
    unsigned *second = inout;
    (void)type;
    for (int index = 0; index < *length; index++, first += 2, second += 2) {
        unsigned slope = first[0] * second[0], start = first[1] * second[0] + second[1];
        second[0] = slope;
        second[1] = start;
    }
}

static unsigned slope_of(int rank, int index)
{
    return 3u + 2u * (unsigned)(rank + index);
}

static void prepare(Job *jobs, const Place *at, int count)
{
    for (int kind = 0; kind < KINDS; kind++) {
        Job *job = &jobs[kind];
        int total = count * at->size * 2;
        job->out = take((size_t)total * sizeof(int));
        job->in = take((size_t)total * sizeof(int));
        for (int place = 0; place < total; place++)
            job->out[place] = job->in[place] = -1;
        for (int peer = 0, begin = 0; peer < at->size; peer++, begin += count) {
            job->out_counts[peer] = uneven(at->rank, peer, count);
            job->in_counts[peer] = uneven(peer, at->rank, count);
            job->out_begin[peer] = job->in_begin[peer] = begin;
            for (int index = 0; index < count; index++)
                job->out[begin + index] = number(at->rank, peer, index);
        }
    }
}

static void start(Job *jobs, const Place *at, int count, MPI_Request *requests)
{
    MPI_Comm comm = at->comm;
    int root = at->size / 2, last = at->size - 1;
    Job *job = jobs;
    MPI_Datatype pair, *types;
    MPI_Op op;
    MUST(MPI_Ibarrier(comm, requests++));
    job++;
    MUST(MPI_Ibcast(job->out, count, MPI_INT, root, comm, requests++));
    job++;
    MUST(MPI_Igather(job->out, count, MPI_INT, job->in, count, MPI_INT, last, comm, requests++));
    job++;
    for (int peer = 0; peer < at->size; peer++)
        job->in_counts[peer] = uneven(peer, root, count);
    MUST(MPI_Igatherv(job->out + root * count, job->out_counts[root], MPI_INT, job->in,
                      job->in_counts, job->in_begin, MPI_INT, root, comm, requests++));
    job++;
    MUST(MPI_Iscatter(job->out, count, MPI_INT, job->in, count, MPI_INT, last, comm, requests++));
    job++;
    MUST(MPI_Iscatterv(job->out, job->out_counts, job->out_begin, MPI_INT, job->in,
                       job->in_counts[root], MPI_INT, root, comm, requests++));
    job++;
    MUST(MPI_Iallgather(job->out, count, MPI_INT, job->in, count, MPI_INT, comm, requests++));
    job++;
    for (int peer = 0; peer < at->size; peer++)
        job->in_counts[peer] = uneven(peer, 0, count);
    MUST(MPI_Iallgatherv(job->out, job->in_counts[at->rank], MPI_INT, job->in, job->in_counts,
                         job->in_begin, MPI_INT, comm, requests++));
    job++;
    MUST(MPI_Ialltoall(job->out, count, MPI_INT, job->in, count, MPI_INT, comm, requests++));
    job++;
    MUST(MPI_Ialltoallv(job->out, job->out_counts, job->out_begin, MPI_INT, job->in,
                        job->in_counts, job->in_begin, MPI_INT, comm, requests++));
    job++;
    types = job->types;
    for (int peer = 0; peer < at->size; peer++) {
        types[peer] = MPI_INT;
        job->out_begin[peer] *= (int)sizeof(int);
        job->in_begin[peer] *= (int)sizeof(int);
    }
    MUST(MPI_Ialltoallw(job->out, job->out_counts, job->out_begin, types, job->in,
                        job->in_counts, job->in_begin, types, comm, requests++));
    job++;
    for (int index = 0; index < count; index++)
        job->out[index] = at->rank + index;
    MUST(MPI_Ireduce(job->out, job->in, count, MPI_INT, MPI_MAX, root, comm, requests++));
    job++;
    for (int index = 0; index < count; index++)
        job->out[index] = at->rank + index;
    MUST(MPI_Iallreduce(job->out, job->in, count, MPI_INT, MPI_SUM, comm, requests++));
    job++;
    for (int index = 0; index < count; index++) {
        job->in[2 * index] = (int)slope_of(at->rank, index);
        job->in[2 * index + 1] = at->rank;
    }
    MUST(MPI_Type_contiguous(2, MPI_INT, &pair));
    MUST(MPI_Type_commit(&pair));
    MUST(MPI_Op_create(compose, 0, &op));
    MUST(MPI_Iallreduce(MPI_IN_PLACE, job->in, count, pair, op, comm, requests++));
    MUST(MPI_Op_free(&op));
    MUST(MPI_Type_free(&pair));
}

static void complete(MPI_Request *requests, int way)
{
    int done = 0, index = -1;
    switch (way) {
    case WAIT_ALL:
        MUST(MPI_Waitall(KINDS, requests, MPI_STATUSES_IGNORE));
        break;
    case TEST_ALL:
        while (!done)
            MUST(MPI_Testall(KINDS, requests, &done, MPI_STATUSES_IGNORE));
        break;
    case WAIT_BACKWARDS:
        for (int kind = KINDS - 1; kind >= 0; kind--)
            MUST(MPI_Wait(&requests[kind], MPI_STATUS_IGNORE));
        break;
    case WAIT_ANY:
        for (int kind = 0; kind < KINDS; kind++)
            MUST(MPI_Waitany(KINDS, requests, &index, MPI_STATUS_IGNORE));
        break;
    case TEST_EACH:
        for (int kind = KINDS - 1; kind >= 0; kind--)
            for (done = 0; !done;)
                MUST(MPI_Test(&requests[kind], &done, MPI_STATUS_IGNORE));
        break;
    }
    for (int kind = 0; kind < KINDS; kind++)
        CHECK(requests[kind] == MPI_REQUEST_NULL);
}

/* Whether the block of `from` for `to` is at `begin`, `length` ints long, and nothing after it. */
static int wrong_block(const int *in, int begin, int length, int count, int from, int to)
{
    int wrong = 0;
    for (int index = 0; index < count; index++)
        wrong += in[begin + index] != (index < length ? number(from, to, index) : -1);
    return wrong;
}

static int wrong_blocks(const Job *jobs, const Place *at, int count)
{
    int wrong = 0, root = at->size / 2, last = at->size - 1, me = at->rank;
    for (int peer = 0; peer < at->size; peer++) {
        int begin = peer * count, towards = uneven(peer, me, count);
        int at_root = me == root ? uneven(peer, root, count) : 0;
        wrong += wrong_block(jobs[2].in, begin, me == last ? count : 0, count, peer, 0);
        wrong += wrong_block(jobs[3].in, begin, at_root, count, peer, root);
        wrong += wrong_block(jobs[6].in, begin, count, count, peer, 0);
        wrong += wrong_block(jobs[7].in, begin, uneven(peer, 0, count), count, peer, 0);
        wrong += wrong_block(jobs[8].in, begin, count, count, peer, me);
        wrong += wrong_block(jobs[9].in, begin, towards, count, peer, me);
        wrong += wrong_block(jobs[10].in, begin, towards, count, peer, me);
    }
    wrong += wrong_block(jobs[1].out, 0, count, count, root, 0);
    wrong += wrong_block(jobs[4].in, 0, count, count, last, me);
    wrong += wrong_block(jobs[5].in, 0, uneven(root, me, count), count, root, me);
    return wrong;
}

static int wrong_reductions(const Job *jobs, const Place *at, int count)
{
    int wrong = 0, root = at->size / 2;
    for (int index = 0; index < count; index++) {
        int sum = at->size * (at->size - 1) / 2 + at->size * index;
        unsigned slope = 1, begin = 0;
        for (int rank = 0; rank < at->size; rank++) {
            slope *= slope_of(rank, index);
            begin = begin * slope_of(rank, index) + (unsigned)rank;
        }
        wrong += jobs[11].in[index] != (at->rank == root ? at->size - 1 + index : -1);
        wrong += jobs[12].in[index] != sum;
        wrong += (unsigned)jobs[13].in[2 * index] != slope;
        wrong += (unsigned)jobs[13].in[2 * index + 1] != begin;
    }
    return wrong;
}

static void all_at_once(const Place *at)
{
    static const int counts[] = {0, 1, 7, 2500, 20000};
    static Job jobs[KINDS];
    MPI_Request requests[KINDS];
    if (at->size > RANKS_MAX)
        return;
    for (int turn = 0; turn < 5 * WAYS; turn++) {
        int count = counts[turn / WAYS], got = -1;
        int right = (at->rank + 1) % at->size, left = (at->rank + at->size - 1) % at->size;
        prepare(jobs, at, count);
        start(jobs, at, count, requests);
        MUST(MPI_Sendrecv(&at->rank, 1, MPI_INT, right, 5, &got, 1, MPI_INT, left, 5, at->comm,
                          MPI_STATUS_IGNORE));
        CHECK_EQUAL(got, left);
        complete(requests, (turn + at->rank) % WAYS);
        CHECK_EQUAL(wrong_blocks(jobs, at, count), 0);
        CHECK_EQUAL(wrong_reductions(jobs, at, count), 0);
        for (int kind = 0; kind < KINDS; kind++) {
            free(jobs[kind].out);
            free(jobs[kind].in);
        }
    }
}

/* A wait that stores a status, and messages between the start of a barrier and its end. */
static void statuses(const Place *at)
{
    MPI_Request request;
    MPI_Status status = scrambled_status();
    int value = at->rank, flag = 0;
    MUST(MPI_Ibcast(&value, 1, MPI_INT, 0, at->comm, &request));
    MUST(MPI_Wait(&request, &status));
    CHECK_EQUAL(value, 0);
    MUST(MPI_Ibarrier(at->comm, &request));
    if (at->rank == 0 && at->size > 1) {
        MUST(MPI_Recv(&value, 1, MPI_INT, at->size - 1, 6, at->comm, MPI_STATUS_IGNORE));
    } else if (at->rank == at->size - 1 && at->size > 1) {
        MUST(MPI_Send(&value, 1, MPI_INT, 0, 6, at->comm));
    }
    while (!flag)
        MUST(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    CHECK(request == MPI_REQUEST_NULL);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    comms_open();
    section("all at once");
    comms_each(all_at_once);
    section("statuses");
    comms_each(statuses);
    comms_close();
    return check_end();
}
