/* MPI_THREAD_MULTIPLE: several threads of each rank send, receive, probe, wait for requests, take
 * part in collectives, and create communicators, all at once. The first argument is the number of
 * threads, the second that of rounds, the third the seed. */
#include "check.h"

#include <pthread.h>

enum { THREADS_MAX = 8, LENGTH_MAX = 40000, TAG_STOP = 900, TAG_WORK = 100 };

static int threads = 4, rounds = 6;
static uint64_t seed = 1;
static int right, left;

struct job {
    int index;
    MPI_Comm comm; /* of this thread only */
    uint64_t random;
    unsigned char *out, *in;
};

typedef void work(struct job *);
static work *task;
static struct job jobs[THREADS_MAX];

static void *run(void *job)
{
    task(job);
    return NULL;
}

/* Every thread does its work; the main one is the first. */
static void together(work *what)
{
    pthread_t thread[THREADS_MAX];
    task = what;
    for (int index = 0; index < threads; index++) {
        jobs[index].index = index;
        jobs[index].random = seed * 1000 + (uint64_t)index;
        if (index > 0)
            CHECK(pthread_create(&thread[index], NULL, run, &jobs[index]) == 0);
    }
    run(&jobs[0]);
    for (int index = 1; index < threads; index++)
        pthread_join(thread[index], NULL);
}

/* Short ones more often than long ones. */
static int any_length(struct job *job)
{
    static const unsigned limit[] = {9, 100, 5000, LENGTH_MAX};
    return (int)draw(&job->random, limit[draw(&job->random, 4)]);
}

static void check_content(const struct job *job, int from, int round, int length)
{
    CHECK_EQUAL(spoiled(job->in, (size_t)length, (unsigned)(from * 64 + job->index + round)), 0);
}

static void make_content(const struct job *job, int round, int length)
{
    fill(job->out, (size_t)length, (unsigned)(check_rank * 64 + job->index + round));
}

/* Round the ring, with every way to wait; all threads use one communicator and a tag each. */
static void exchange(struct job *job)
{
    int tag = TAG_WORK + job->index;
    for (int round = 0; round < rounds; round++) {
        int length = any_length(job), how = (int)draw(&job->random, 5), index, flag = 0, count;
        MPI_Request request[2];
        MPI_Status status[2];
        make_content(job, round, length);
        if (how == 0) {
            MUST(MPI_Sendrecv(job->out, length, MPI_BYTE, right, tag, job->in, LENGTH_MAX, MPI_BYTE,
                              left, tag, MPI_COMM_WORLD, &status[0]));
            MUST(MPI_Get_count(&status[0], MPI_BYTE, &count));
            CHECK_EQUAL(count, length);
        } else {
            MUST(MPI_Irecv(job->in, LENGTH_MAX, MPI_BYTE, left, tag, MPI_COMM_WORLD, &request[0]));
            MUST(MPI_Isend(job->out, length, MPI_BYTE, right, tag, MPI_COMM_WORLD, &request[1]));
            if (how == 1) {
                MUST(MPI_Waitall(2, request, status));
            } else if (how == 2) {
                MUST(MPI_Waitany(2, request, &index, &status[0]));
                MUST(MPI_Wait(&request[1 - index], &status[0]));
            } else if (how == 3) {
                MUST(MPI_Wait(&request[0], &status[0]));
                MUST(MPI_Wait(&request[1], &status[1]));
            } else {
                while (!flag)
                    MUST(MPI_Testall(2, request, &flag, status));
            }
        }
        check_content(job, left, round, length);
    }
}

/* Probes of messages of unknown length; each thread takes exactly what it has found. */
static void probe(struct job *job)
{
    int tag = TAG_WORK + job->index;
    for (int round = 0; round < rounds; round++) {
        int length = any_length(job), count;
        MPI_Request request;
        MPI_Message message;
        MPI_Status status;
        make_content(job, round, length);
        MUST(MPI_Isend(job->out, length, MPI_BYTE, right, tag, MPI_COMM_WORLD, &request));
        if (draw(&job->random, 2)) {
            MUST(MPI_Mprobe(left, tag, MPI_COMM_WORLD, &message, &status));
            MUST(MPI_Get_count(&status, MPI_BYTE, &count));
            MUST(MPI_Mrecv(job->in, count, MPI_BYTE, &message, &status));
        } else {
            MUST(MPI_Probe(left, tag, MPI_COMM_WORLD, &status));
            MUST(MPI_Get_count(&status, MPI_BYTE, &count));
            MUST(MPI_Recv(job->in, count, MPI_BYTE, left, tag, MPI_COMM_WORLD, &status));
        }
        CHECK_EQUAL(count, length);
        check_content(job, left, round, length);
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
}

/* Messages between the threads of a rank: each is woken by another one's call. */
static void relay(struct job *job)
{
    int next = TAG_WORK + (job->index + 1) % threads, mine = TAG_WORK + job->index;
    for (int round = 0; round < rounds * 4; round++) {
        int got = -1;
        if (job->index == 0)
            MUST(MPI_Send(&round, 1, MPI_INT, 0, next, MPI_COMM_SELF));
        MUST(MPI_Recv(&got, 1, MPI_INT, 0, mine, MPI_COMM_SELF, MPI_STATUS_IGNORE));
        CHECK_EQUAL(got, round);
        if (job->index > 0)
            MUST(MPI_Send(&round, 1, MPI_INT, 0, next, MPI_COMM_SELF));
    }
}

static void add(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)type;
    for (int place = 0; place < *length; place++)
        ((int *)inout)[place] += ((int *)in)[place];
}

/* Every thread has its own communicator, made by all at once. */
static void collectives(struct job *job)
{
    MPI_Comm comm;
    MPI_Op op;
    MPI_Request request;
    MUST(MPI_Comm_dup(job->comm, &comm));
    MUST(MPI_Op_create(add, 1, &op));
    for (int round = 0; round < rounds; round++) {
        int mine = check_rank + round, sum = -1, root = round % check_size;
        int word = check_rank == root ? job->index * 1000 + round : -1;
        int expected = check_size * (check_size - 1) / 2 + check_size * round;
        MUST(MPI_Allreduce(&mine, &sum, 1, MPI_INT, draw(&job->random, 2) ? MPI_SUM : op, comm));
        CHECK_EQUAL(sum, expected);
        MUST(MPI_Bcast(&word, 1, MPI_INT, root, comm));
        CHECK_EQUAL(word, job->index * 1000 + round);
        MUST(MPI_Iallreduce(&mine, &sum, 1, MPI_INT, op, comm, &request));
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_EQUAL(sum, expected);
        MUST(MPI_Barrier(comm));
    }
    MUST(MPI_Op_free(&op));
    MUST(MPI_Comm_free(&comm));
}

/* A copy function of attributes that calls MPI while other threads do, too. */
static int copy_attribute(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    int size = -1;
    (void)keyval;
    (void)extra;
    if (MPI_Comm_size(comm, &size) != MPI_SUCCESS || size != check_size)
        return MPI_ERR_OTHER;
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static void attributes(struct job *job)
{
    int keyval, flag = 0;
    char *value = NULL, *base = (char *)job->out;
    MUST(MPI_Comm_create_keyval(copy_attribute, MPI_COMM_NULL_DELETE_FN, &keyval, NULL));
    MUST(MPI_Comm_set_attr(job->comm, keyval, base));
    for (int round = 0; round < rounds; round++) {
        MPI_Comm comm;
        MUST(MPI_Comm_dup(job->comm, &comm));
        MUST(MPI_Comm_get_attr(comm, keyval, &value, &flag));
        CHECK(flag && value == base + 1);
        MUST(MPI_Comm_free(&comm));
    }
    MUST(MPI_Comm_delete_attr(job->comm, keyval));
    MUST(MPI_Comm_free_keyval(&keyval));
}

/* Requests that this thread starts and another one completes. */
static MPI_Request handed[THREADS_MAX][2];

static void start_for_next(struct job *job)
{
    MPI_Request *request = handed[(job->index + 1) % threads];
    int tag = TAG_WORK + job->index;
    make_content(job, 0, 300);
    MUST(MPI_Irecv(job->in, 300, MPI_BYTE, left, tag, MPI_COMM_WORLD, &request[0]));
    MUST(MPI_Isend(job->out, 300, MPI_BYTE, right, tag, MPI_COMM_WORLD, &request[1]));
}

static void finish_for_previous(struct job *job)
{
    MUST(MPI_Waitall(2, handed[job->index], MPI_STATUSES_IGNORE));
}

static void check_handed(struct job *job)
{
    check_content(job, left, 0, 300);
}

/* What any thread may call at any time, also before MPI_Init. */
static void inform(struct job *job)
{
    (void)job;
    for (int round = 0; round < 50; round++) {
        MPI_Info info;
        char value[16] = "";
        int flag = 0, length = sizeof value, initialized = -1;
        MPI_Initialized(&initialized);
        if (MPI_Info_create(&info) || MPI_Info_set(info, "key", "value")
            || MPI_Info_get_string(info, "key", &length, value, &flag) || MPI_Info_free(&info))
            check_fail(__FILE__, __LINE__, "an info function failed");
        CHECK(flag && strcmp(value, "value") == 0 && initialized >= 0);
    }
}

static void *receive_the_stop(void *unused)
{
    (void)unused;
    MUST(MPI_Recv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, TAG_STOP, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    return NULL;
}

static void say_levels(int provided)
{
    int level = -1, flag = 0;
    CHECK_EQUAL(provided, MPI_THREAD_MULTIPLE);
    MUST(MPI_Query_thread(&level));
    CHECK_EQUAL(level, provided);
    MUST(MPI_Is_thread_main(&flag));
    CHECK(flag);
}

int main(int argc, char **argv)
{
    int provided = -1;
    pthread_t listener;
    if (argc > 1)
        threads = atoi(argv[1]);
    if (argc > 2)
        rounds = atoi(argv[2]);
    if (argc > 3)
        seed = strtoull(argv[3], NULL, 10);
    if (threads < 1 || threads > THREADS_MAX)
        return 2;
    together(inform);
    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS)
        return 2;
    check_adopt();
    right = (check_rank + 1) % check_size;
    left = (check_rank + check_size - 1) % check_size;
    for (int index = 0; index < threads; index++) {
        jobs[index].out = take(LENGTH_MAX);
        jobs[index].in = take(LENGTH_MAX);
        MUST(MPI_Comm_dup(MPI_COMM_WORLD, &jobs[index].comm));
    }
    section("levels");
    say_levels(provided);
    section("one thread receives all the time");
    CHECK(pthread_create(&listener, NULL, receive_the_stop, NULL) == 0);
    section("exchange");
    together(exchange);
    section("probe");
    together(probe);
    section("relay");
    together(relay);
    section("collectives");
    together(collectives);
    section("attributes");
    together(attributes);
    section("requests handed over");
    together(start_for_next);
    together(finish_for_previous);
    together(check_handed);
    section("information");
    together(inform);
    MUST(MPI_Send(NULL, 0, MPI_BYTE, right, TAG_STOP, MPI_COMM_WORLD));
    pthread_join(listener, NULL);
    for (int index = 0; index < threads; index++) {
        MUST(MPI_Comm_free(&jobs[index].comm));
        free(jobs[index].out);
        free(jobs[index].in);
    }
    return check_end();
}
