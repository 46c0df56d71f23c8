/* Messages of several threads at once, for any MPI library.
 *
 *   mpirun -n 2 threads [-t MS] single            one thread, with MPI_THREAD_SINGLE
 *   mpirun -n 2 threads [-t MS] multiple COUNT... so many threads, with MPI_THREAD_MULTIPLE
 *
 *   -t   milliseconds for one figure (25)
 *
 *   rate-T      messages of 8 bytes that T threads of a rank send to as many of the other, in windows
 *               of 64 that an empty message answers; of all threads together
 *   latency-T   8 bytes one way between T threads of a rank and as many of the other
 *
 * Each thread has a communicator of its own, which it shares with one thread of the other rank.
 * With MPI_THREAD_SINGLE, T is `single`. The data of the last message are checked. Lines: see
 * measure.h; the first one is the library. */
#include "measure.h"
#include <mpi.h>
#include <pthread.h>
#include <unistd.h>

enum { WINDOW = 64, BYTES = 8, THREADS_MAX = 64, WINDOWS_MIN = 3, POINT_WINDOWS = 8 };

struct worker {
    MPI_Comm comm;
    long got[WINDOW];
    int failed;
};

typedef void (*Pattern)(struct worker *, long count);

static int rank, size;
static double point_s = 0.025;
static struct worker workers[THREADS_MAX];
/* What all threads do next; the main one is the first of them. */
static Pattern pattern;
static long count;
static pthread_barrier_t begins, ends;

static void fail(const char *why)
{
    fprintf(stderr, "threads: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

static void bursts(struct worker *worker, long rounds)
{
    MPI_Request requests[WINDOW];
    for (long round = 0; round < rounds; round++) {
        long sent[WINDOW];
        for (int i = 0; i < WINDOW; i++) {
            sent[i] = round + i;
            if (rank == 0)
                MPI_Isend(&sent[i], BYTES, MPI_BYTE, 1, 0, worker->comm, &requests[i]);
            else
                MPI_Irecv(&worker->got[i], BYTES, MPI_BYTE, 0, 0, worker->comm, &requests[i]);
        }
        MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
        if (rank == 0)
            MPI_Recv(NULL, 0, MPI_BYTE, 1, 0, worker->comm, MPI_STATUS_IGNORE);
        else
            MPI_Send(NULL, 0, MPI_BYTE, 0, 0, worker->comm);
    }
    for (int i = 0; i < WINDOW; i++)
        if (rank == 1 && worker->got[i] != rounds - 1 + i) worker->failed = 1;
}

static void trips(struct worker *worker, long rounds)
{
    for (long round = 0; round < rounds; round++) {
        long *got = &worker->got[0];
        if (rank == 0) MPI_Send(&round, BYTES, MPI_BYTE, 1, 0, worker->comm);
        MPI_Recv(got, BYTES, MPI_BYTE, 1 - rank, 0, worker->comm, MPI_STATUS_IGNORE);
        if (rank == 1) MPI_Send(&round, BYTES, MPI_BYTE, 0, 0, worker->comm);
        if (*got != round) worker->failed = 1;
    }
}

static void *work(void *worker)
{
    for (;;) {
        pthread_barrier_wait(&begins);
        if (!pattern) return NULL;
        pattern(worker, count);
        pthread_barrier_wait(&ends);
    }
}

/* Seconds that `rounds` of all threads take; the same on both ranks. */
static double timed(long rounds)
{
    double took, all;
    count = rounds;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = seconds();
    pthread_barrier_wait(&begins);
    pattern(&workers[0], rounds);
    pthread_barrier_wait(&ends);
    took = seconds() - begin;
    MPI_Allreduce(&took, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

static void measure(struct figure *figure, Pattern what, double messages)
{
    double wanted_s = point_s / POINT_WINDOWS, used_s = 0, took;
    long rounds = 1;
    pattern = what;
    timed(rounds);
    while ((took = timed(rounds)) < wanted_s / 4) rounds *= 4;
    if (took < wanted_s) rounds = (long)(rounds * wanted_s / took);
    while (figure->windows < WINDOWS_MIN || (used_s < point_s && figure->windows < WINDOWS_MAX)) {
        took = timed(rounds);
        used_s += took;
        figure->values[figure->windows++] =
            figure->larger_is_better ? messages * rounds / took * 1e-6 : took / rounds / 2 * 1e6;
    }
}

static void point(const char *name, const char *label, Pattern what, int threads, int is_refused)
{
    char test[32];
    int wrong = 0, any_wrong;
    snprintf(test, sizeof test, "%s-%s", name, label);
    struct figure figure = {.test = test, .unit = "us", .ranks = size, .bytes = BYTES};
    if (what == bursts) {
        figure.unit = "Mmsg/s";
        figure.larger_is_better = 1;
    }
    if (!is_refused) measure(&figure, what, (double)WINDOW * threads);
    for (int i = 0; i < threads; i++) wrong |= workers[i].failed;
    MPI_Allreduce(&wrong, &any_wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0) print_figure(&figure, is_refused ? "unsupported" : any_wrong ? "wrong" : "ok");
}

static void points(const char *label, int threads, int is_refused)
{
    pthread_t others[THREADS_MAX];
    if (threads < 1 || threads > THREADS_MAX) fail("no such number of threads");
    pthread_barrier_init(&begins, NULL, threads);
    pthread_barrier_init(&ends, NULL, threads);
    for (int i = 1; !is_refused && i < threads; i++)
        if (pthread_create(&others[i], NULL, work, &workers[i]) != 0) fail("no thread");
    point("rate", label, bursts, threads, is_refused);
    point("latency", label, trips, threads, is_refused);
    pattern = NULL;
    if (!is_refused) pthread_barrier_wait(&begins);
    for (int i = 1; !is_refused && i < threads; i++) pthread_join(others[i], NULL);
    pthread_barrier_destroy(&begins);
    pthread_barrier_destroy(&ends);
}

/* The level of thread support that the first word asks for; -1 without one. */
static int level_of(int argc, char **argv)
{
    for (int option; (option = getopt(argc, argv, "t:")) != -1;) {
        if (option != 't' || (point_s = atof(optarg) * 1e-3) <= 0) return -1;
    }
    if (optind >= argc) return -1;
    if (strcmp(argv[optind], "single") == 0) return MPI_THREAD_SINGLE;
    return strcmp(argv[optind], "multiple") == 0 ? MPI_THREAD_MULTIPLE : -1;
}

int main(int argc, char **argv)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, provided, level = level_of(argc, argv);
    if (level < 0) {
        fprintf(stderr, "threads: wrong arguments; see the head of benches/threads.c\n");
        return 2;
    }
    MPI_Init_thread(&argc, &argv, level, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2) fail("two ranks are needed");
    MPI_Get_library_version(library, &length);
    if (rank == 0) printf("library %.*s\n", (int)strcspn(library, "\n"), library);
    for (int i = 0; i < THREADS_MAX; i++) MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
    if (level == MPI_THREAD_SINGLE) points("single", 1, 0);
    for (int word = optind + 1; word < argc; word++)
        points(argv[word], atoi(argv[word]), provided < level);
    for (int i = 0; i < THREADS_MAX; i++) MPI_Comm_free(&workers[i].comm);
    MPI_Finalize();
    return 0;
}
