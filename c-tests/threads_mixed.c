/* MPI_THREAD_MULTIPLE without a beat: each thread has its own communicator and does what its seed
 * draws, while the others do something else: blocking and nonblocking messages, probes, tests, and
 * collectives of all kinds. Threads come and go, between many calls of the main thread alone. The
 * first argument is the number of threads, the second that of steps, the third the seed. */
#include "check.h"

#include <pthread.h>

enum { THREADS_MAX = 8, LENGTH_MAX = 20000, TAG = 7, SHIFTS = 3, ALONE = 1500 };

static int threads = 4, steps = 25;
static uint64_t seed = 1;

struct job {
    int index;
    MPI_Comm comm; /* of this thread only */
    uint64_t random; /* the same on all ranks */
    unsigned char *out, *in;
    int right, left, length, step;
};

static struct job jobs[THREADS_MAX];

static unsigned mark(const struct job *job, int rank)
{
    return (unsigned)(rank * 8 + job->index) * 64 + (unsigned)job->step;
}

/* Ranks may be a step ahead, and a receive from anybody must not take what they send then. */
static int tag_of(const struct job *job)
{
    return TAG + job->step;
}

static void check_arrived(const struct job *job)
{
    CHECK_EQUAL(spoiled(job->in, (size_t)job->length, mark(job, job->left)), 0);
}

/* ---- messages around the ring ---- */

static void send_and_receive(struct job *job)
{
    MUST(MPI_Sendrecv(job->out, job->length, MPI_BYTE, job->right, tag_of(job), job->in,
                      job->length, MPI_BYTE, job->left, tag_of(job), job->comm,
                      MPI_STATUS_IGNORE));
}

static void begin(struct job *job, MPI_Request request[2])
{
    int from = job->step % 2 ? job->left : MPI_ANY_SOURCE;
    MUST(MPI_Irecv(job->in, LENGTH_MAX, MPI_BYTE, from, tag_of(job), job->comm, &request[0]));
    MUST(MPI_Isend(job->out, job->length, MPI_BYTE, job->right, tag_of(job), job->comm,
                   &request[1]));
}

static void start_and_wait(struct job *job)
{
    MPI_Request request[2];
    MPI_Status status[2];
    int count;
    begin(job, request);
    MUST(MPI_Waitall(2, request, status));
    MUST(MPI_Get_count(&status[0], MPI_BYTE, &count));
    CHECK_EQUAL(count, job->length);
}

static void start_and_test(struct job *job)
{
    MPI_Request request[2];
    int flag = 0;
    begin(job, request);
    while (!flag)
        MUST(MPI_Testall(2, request, &flag, MPI_STATUSES_IGNORE));
}

static void start_and_take_one_by_one(struct job *job)
{
    MPI_Request request[2];
    int first, last;
    begin(job, request);
    MUST(MPI_Waitany(2, request, &first, MPI_STATUS_IGNORE));
    MUST(MPI_Waitany(2, request, &last, MPI_STATUS_IGNORE));
    CHECK_EQUAL(first + last, 1);
}

static void probe_and_receive(struct job *job)
{
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;
    int count, flag = 0;
    MUST(MPI_Isend(job->out, job->length, MPI_BYTE, job->right, tag_of(job), job->comm,
                   &request));
    while (!flag && job->step % 2)
        MUST(MPI_Improbe(job->left, tag_of(job), job->comm, &flag, &message, &status));
    if (!flag)
        MUST(MPI_Mprobe(job->left, MPI_ANY_TAG, job->comm, &message, &status));
    MUST(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK_EQUAL(count, job->length);
    MUST(MPI_Mrecv(job->in, count, MPI_BYTE, &message, MPI_STATUS_IGNORE));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void message(struct job *job)
{
    static void (*const ways[])(struct job *) = {send_and_receive, start_and_wait, start_and_test,
                                                 start_and_take_one_by_one, probe_and_receive};
    static const unsigned limits[] = {9, 100, 3000, LENGTH_MAX};
    int shift = 1 + (int)draw(&job->random, SHIFTS);
    job->right = (check_rank + shift) % check_size;
    job->left = (check_rank + SHIFTS * check_size - shift) % check_size;
    job->length = (int)draw(&job->random, limits[draw(&job->random, 4)]);
    fill(job->out, (size_t)job->length, mark(job, check_rank));
    ways[draw(&job->random, sizeof ways / sizeof *ways)](job);
    check_arrived(job);
}

/* ---- collectives ---- */

static int sum_of_ranks(void)
{
    return check_size * (check_size - 1) / 2;
}

static void reduce_to_all(struct job *job)
{
    int mine = check_rank + job->step, sum = -1;
    MUST(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, job->comm));
    CHECK_EQUAL(sum, sum_of_ranks() + check_size * job->step);
}

static void reduce_beside(struct job *job)
{
    MPI_Request request;
    int sum = -1, flag = 0;
    MUST(MPI_Iallreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, job->comm, &request));
    while (!flag && job->step % 3)
        MUST(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_EQUAL(sum, sum_of_ranks());
}

static void tell_all(struct job *job)
{
    int root = job->step % check_size, word = check_rank == root ? (int)mark(job, root) : -1;
    MUST(MPI_Bcast(&word, 1, MPI_INT, root, job->comm));
    CHECK_EQUAL(word, (int)mark(job, root));
}

static void exchange_all(struct job *job)
{
    int *out = (int *)job->out, *in = (int *)job->in, wrong = 0;
    for (int to = 0; to < check_size; to++)
        out[to] = check_rank * 1000 + to + job->step;
    MUST(MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, job->comm));
    for (int from = 0; from < check_size; from++)
        wrong += in[from] != from * 1000 + check_rank + job->step;
    CHECK_EQUAL(wrong, 0);
}

static void meet_all(struct job *job)
{
    MUST(MPI_Barrier(job->comm));
}

static void copy_communicator(struct job *job)
{
    MPI_Comm comm;
    int size = -1;
    MUST(MPI_Comm_dup(job->comm, &comm));
    MUST(MPI_Comm_size(comm, &size));
    CHECK_EQUAL(size, check_size);
    MUST(MPI_Comm_free(&comm));
}

static void collective(struct job *job)
{
    static void (*const ways[])(struct job *) = {reduce_to_all, reduce_beside, tell_all,
                                                 exchange_all,  meet_all,      copy_communicator};
    ways[draw(&job->random, sizeof ways / sizeof *ways)](job);
}

/* ---- threads ---- */

static void *work(void *argument)
{
    struct job *job = argument;
    for (job->step = 0; job->step < steps; job->step++) {
        if (draw(&job->random, 3) == 0)
            collective(job);
        else
            message(job);
    }
    return NULL;
}

/* The main thread and the first `others` of the others, one of which may come late. */
static void together(int others)
{
    pthread_t thread[THREADS_MAX];
    for (int index = 1; index <= others; index++)
        CHECK(pthread_create(&thread[index], NULL, work, &jobs[index]) == 0);
    work(&jobs[0]);
    for (int index = 1; index <= others; index++)
        pthread_join(thread[index], NULL);
}

/* So many calls of one thread that a library may come to expect no other. */
static void alone(void)
{
    int flag = -1;
    for (int call = 0; call < ALONE; call++)
        MUST(MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
    CHECK_EQUAL(flag, 0);
}

int main(int argc, char **argv)
{
    int provided = -1;
    if (argc > 1)
        threads = atoi(argv[1]);
    if (argc > 2)
        steps = atoi(argv[2]);
    if (argc > 3)
        seed = strtoull(argv[3], NULL, 10);
    if (threads < 1 || threads > THREADS_MAX)
        return 2;
    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS)
        return 2;
    check_adopt();
    CHECK_EQUAL(provided, MPI_THREAD_MULTIPLE);
    for (int index = 0; index < threads; index++) {
        jobs[index].index = index;
        jobs[index].random = seed * 1000 + (uint64_t)index;
        jobs[index].out = take(LENGTH_MAX);
        jobs[index].in = take(LENGTH_MAX);
        MUST(MPI_Comm_dup(MPI_COMM_WORLD, &jobs[index].comm));
    }
    for (int others = 0; others < threads; others++) {
        section("the main thread and %d others", others);
        alone();
        together(others);
    }
    for (int index = 0; index < threads; index++) {
        MUST(MPI_Comm_free(&jobs[index].comm));
        free(jobs[index].out);
        free(jobs[index].in);
    }
    return check_end();
}
