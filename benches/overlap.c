/* What goes on beside an application: how much of a long transfer hides behind it, and what ranks
 * that only wait cost, on any MPI library of version 3.
 *
 *   mpirun -n N overlap [-m BYTES] [-c MS] [-w WINDOWS] [TEST...]
 *
 *   -m   bytes of the message (1 MiB)        -c   milliseconds of the application (20)
 *   -w   windows of each figure (25)
 *
 * Ranks exchange one message in pairs: MPI_Irecv, MPI_Isend, the application, MPI_Waitall.
 *
 *   copy        the bare machine: one copy of the message, in memory of this process
 *   exchange    the exchange without an application: what there is to hide
 *   asleep      the application sleeps: how much of the exchange's time the calls do not take
 *   computing   the application computes on every processor that has a rank: how much longer that
 *               takes than the computation alone; `ratio` is the same in times of `copy`
 *   blocked     the processor time of a rank that waits for a second in MPI_Recv
 *   idle        the same of one that is outside MPI, and sleeps
 *
 * The data of each exchange are checked. Figures are of rank 0, those of blocked and idle of the
 * last rank. Lines: see measure.h. */
#include "measure.h"
#include <mpi.h>
#include <sys/resource.h>

enum { TAG = 1 };

static int rank, size, partner;
static char *outgoing, *incoming;
static unsigned turn;

static struct {
    long bytes, windows;
    double application_s;
} options = {1 << 20, 25, 0.02};

static void nap(double length_s)
{
    struct timespec left = {(time_t)length_s, (length_s - (time_t)length_s) * 1e9};
    while (nanosleep(&left, &left) != 0) continue;
}

static double processor_s(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_utime.tv_sec + used.ru_stime.tv_sec
           + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
}

/* ---- applications: what runs between the start of the exchange and its end ---- */

static long steps; /* of a computation */

static void compute(void)
{
    volatile double sum = 1;
    for (long step = 0; step < steps; step++) sum = sum * 0.999999 + 0.000001;
}

static void sleep_on(void)
{
    nap(options.application_s);
}

static void calibrate(void)
{
    for (steps = 1 << 12;; steps *= 2) {
        double begin = seconds();
        compute();
        double took = seconds() - begin;
        if (took > 0.1 * options.application_s) {
            steps *= options.application_s / took;
            return;
        }
    }
}

/* ---- the exchange ---- */

struct times {
    double start, end; /* seconds in the calls that start and end it */
    double total;
};

/* True if the data are right. */
static int exchange(void (*application)(void), struct times *times)
{
    MPI_Request requests[2];
    int bytes = options.bytes;
    char mine = ++turn + rank, theirs = turn + partner;
    outgoing[0] = outgoing[bytes - 1] = mine;
    incoming[0] = incoming[bytes - 1] = mine;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = seconds();
    MPI_Irecv(incoming, bytes, MPI_BYTE, partner, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(outgoing, bytes, MPI_BYTE, partner, TAG, MPI_COMM_WORLD, &requests[1]);
    double started = seconds();
    if (application != NULL) application();
    double computed = seconds();
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    double end = seconds();
    times->start = started - begin;
    times->end = end - computed;
    times->total = end - begin;
    return incoming[0] == theirs && incoming[bytes - 1] == theirs;
}

static double alone(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = seconds();
    compute();
    return seconds() - begin;
}

/* ---- figures ---- */

static struct figure figure_of(const char *test, const char *unit)
{
    struct figure figure = {.test = test, .unit = unit, .ranks = size, .bytes = options.bytes};
    figure.windows = options.windows;
    return figure;
}

static void report(struct figure *figure, int good)
{
    if (rank == 0) print_figure(figure, good ? "ok" : "wrong");
}

/* The median; the windows are sorted by it. */
static double median(struct figure *figure)
{
    qsort(figure->values, figure->windows, sizeof figure->values[0], compare_values);
    return figure->values[(figure->windows - 1) / 2];
}

static double copy_us(struct figure *figure)
{
    for (int window = 0; window < figure->windows; window++) {
        memset(outgoing, window, options.bytes);
        double begin = seconds();
        memcpy(incoming, outgoing, options.bytes);
        figure->values[window] = (seconds() - begin) * 1e6;
    }
    return median(figure);
}

static void copy(void)
{
    struct figure figure = figure_of("overlap_copy", "us");
    copy_us(&figure);
    report(&figure, memcmp(incoming, outgoing, options.bytes) == 0);
}

static double exchange_us(struct figure *figure, int *good)
{
    struct times times;
    for (int window = 0; window < figure->windows; window++) {
        *good &= exchange(NULL, &times);
        figure->values[window] = times.total * 1e6;
    }
    return median(figure);
}

static void exchanges(void)
{
    int good = 1;
    struct figure figure = figure_of("overlap_exchange", "us");
    exchange_us(&figure, &good);
    report(&figure, good);
}

static void asleep(void)
{
    int good = 1;
    struct times times;
    struct figure bare = figure_of("", ""), hidden = figure_of("overlap_asleep", "%");
    struct figure start = figure_of("overlap_asleep_start", "us");
    struct figure end = figure_of("overlap_asleep_end", "us");
    double whole = exchange_us(&bare, &good);
    hidden.larger_is_better = 1;
    for (int window = 0; window < hidden.windows; window++) {
        good &= exchange(sleep_on, &times);
        start.values[window] = times.start * 1e6;
        end.values[window] = times.end * 1e6;
        hidden.values[window] = 100 * (1 - (times.start + times.end) * 1e6 / whole);
    }
    report(&hidden, good);
    report(&start, good);
    report(&end, good);
}

static void computing(void)
{
    int good = 1;
    struct times times;
    struct figure bare = figure_of("", "");
    struct figure more = figure_of("overlap_computing", "us");
    struct figure ratio = figure_of("overlap_computing_ratio", "x");
    double copied = copy_us(&bare);
    calibrate();
    for (int window = 0; window < more.windows; window++) {
        /* Both orders, for a processor that becomes slower or faster. */
        double before = alone();
        good &= exchange(compute, &times);
        double over = (times.total - (before + alone()) / 2) * 1e6;
        more.values[window] = over;
        ratio.values[window] = over / copied;
    }
    report(&more, good);
    report(&ratio, good);
}

/* The processor time of the last rank during `wait`, in per cent of the time that passes. */
static void waiting(const char *test, void (*wait)(void))
{
    struct figure figure = figure_of(test, "%");
    figure.windows = 1;
    figure.bytes = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    double used = processor_s(), begin = seconds();
    wait();
    figure.values[0] = 100 * (processor_s() - used) / (seconds() - begin);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1) print_figure(&figure, "ok");
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 0 lets the others wait. */
static void receive(void)
{
    if (rank > 0) {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    nap(1);
    for (int to = 1; to < size; to++) MPI_Send(NULL, 0, MPI_BYTE, to, TAG, MPI_COMM_WORLD);
}

static void rest(void)
{
    nap(1);
}

static void blocked(void)
{
    waiting("blocked_receive", receive);
}

static void idle(void)
{
    waiting("blocked_idle", rest);
}

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {{"copy", copy},           {"exchange", exchanges}, {"asleep", asleep},
             {"computing", computing}, {"blocked", blocked},    {"idle", idle}};

static int fail(const char *why, const char *what)
{
    if (rank == 0) fprintf(stderr, "overlap: %s%s\n", why, what);
    MPI_Abort(MPI_COMM_WORLD, 2);
    return 2;
}

static int run(const char *name)
{
    int known = 0;
    for (size_t test = 0; test < sizeof tests / sizeof tests[0]; test++) {
        if (name != NULL && strcmp(name, tests[test].name) != 0) continue;
        tests[test].run();
        known = 1;
    }
    return known;
}

int main(int count, char **words)
{
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int word = 1;
    for (; word + 1 < count && words[word][0] == '-'; word += 2) {
        double value = atof(words[word + 1]);
        switch (words[word][1]) {
        case 'm': options.bytes = value; break;
        case 'c': options.application_s = value / 1e3; break;
        case 'w': options.windows = value; break;
        default: return fail("no such option: ", words[word]);
        }
    }
    if (size % 2 != 0) return fail("ranks exchange in pairs: an even number, please", "");
    if (options.bytes < 1 || options.windows < 1 || options.windows > WINDOWS_MAX)
        return fail("sizes are positive, and windows at most 64", "");
    partner = rank ^ 1;
    outgoing = malloc(options.bytes);
    incoming = malloc(options.bytes);
    memset(outgoing, 0, options.bytes);
    memset(incoming, 0, options.bytes);
    if (word == count) run(NULL);
    for (; word < count; word++)
        if (!run(words[word])) return fail("no such test: ", words[word]);
    MPI_Finalize();
    return 0;
}
