/* Cost of long queues: messages while many receives are posted or many messages wait that do not
 * match, and matching each of them, of any MPI library with the C interface of MPI 3.
 *
 *   mpirun -n 2 depth [-t MS] [-b SECONDS] [-d DEPTH] [-p] [TEST...]
 *
 *   -t   milliseconds for one figure (25)       -b   seconds for all of them (no limit)
 *   -d   deepest queue (10000)                  -p   confine rank r to processor r modulo N
 *
 * Without a TEST all of them run. BYTES in a line (see measure.h) is the number of entries: 1, 10,
 * 100, 1000, 10000. In the first three kinds both ranks have them; entries never fit what is timed.
 *
 *   posted-KIND       one way of 8 bytes, us, while receives are posted: for other tags, other
 *                     sources, any source (and other tags), any tag (and other sources), in other
 *                     communicators
 *   unexpected-KIND   one way of 8 bytes, us, while messages wait: with other tags, from other
 *                     sources, in other communicators; received by any source (others have other
 *                     tags), received by any tag (others have other sources)
 *   probe-KIND        one MPI_Iprobe that finds nothing, ns, while messages wait, as above
 *   post-KIND         MPI_Irecv of all entries, ns each; exact, or from any source
 *   arrive            messages that no receive fits, ns each
 *   meet-KIND-ORDER   messages for receives posted before, ns each
 *   take-KIND-ORDER   MPI_Recv of messages that wait, ns each
 *
 * ORDER is that of the entries, the reverse of it, or random: the same one each time. */
#include "measure.h"
#include <mpi.h>
#include <unistd.h>

enum { DEEPEST = 10000, POINT_WINDOWS = 8, WINDOWS_MIN = 3, COMMUNICATORS = 4 };
/* Tags: of what is timed, of what starts and ends a phase, of the first entry. */
enum { PING = 1, BEGIN = 2, END = 3, FIRST = 100 };

enum kind { TAGS, SOURCES, ANY_SOURCE, ANY_TAG, OTHERS };
enum phase { POSTED, UNEXPECTED, PROBE, POST, ARRIVE, MEET, TAKE };
enum order { FORWARD, REVERSE, RANDOM, ORDERS };

struct test {
    const char *name;
    enum phase phase;
    enum kind kind;
    enum order order;
};

static const struct test tests[] = {
    {"posted-tags", POSTED, TAGS, 0},
    {"posted-sources", POSTED, SOURCES, 0},
    {"posted-any-source", POSTED, ANY_SOURCE, 0},
    {"posted-any-tag", POSTED, ANY_TAG, 0},
    {"posted-communicators", POSTED, OTHERS, 0},
    {"unexpected-tags", UNEXPECTED, TAGS, 0},
    {"unexpected-sources", UNEXPECTED, SOURCES, 0},
    {"unexpected-any-source", UNEXPECTED, ANY_SOURCE, 0},
    {"unexpected-any-tag", UNEXPECTED, ANY_TAG, 0},
    {"unexpected-communicators", UNEXPECTED, OTHERS, 0},
    {"probe-tags", PROBE, TAGS, 0},
    {"probe-any-source", PROBE, ANY_SOURCE, 0},
    {"probe-any-tag", PROBE, ANY_TAG, 0},
    {"post-tags", POST, TAGS, 0},
    {"post-any-source", POST, ANY_SOURCE, 0},
    {"arrive", ARRIVE, TAGS, 0},
    {"meet-tags-forward", MEET, TAGS, FORWARD},
    {"meet-tags-reverse", MEET, TAGS, REVERSE},
    {"meet-tags-random", MEET, TAGS, RANDOM},
    {"meet-any-source-forward", MEET, ANY_SOURCE, FORWARD},
    {"meet-any-source-reverse", MEET, ANY_SOURCE, REVERSE},
    {"meet-any-source-random", MEET, ANY_SOURCE, RANDOM},
    {"take-tags-forward", TAKE, TAGS, FORWARD},
    {"take-tags-reverse", TAKE, TAGS, REVERSE},
    {"take-tags-random", TAKE, TAGS, RANDOM},
    {"take-any-source-forward", TAKE, ANY_SOURCE, FORWARD},
    {"take-any-source-reverse", TAKE, ANY_SOURCE, REVERSE},
    {"take-any-source-random", TAKE, ANY_SOURCE, RANDOM},
    {"take-any-tag", TAKE, ANY_TAG, FORWARD},
};
enum { TESTS = sizeof tests / sizeof *tests };

static int rank, peer;
static MPI_Comm world;                 /* what is measured */
static MPI_Comm others[COMMUNICATORS]; /* more of them */
static MPI_Comm control;               /* agreement about it */
static MPI_Request requests[DEEPEST];
static long outgoing[DEEPEST], incoming[DEEPEST];
static int orders[ORDERS][DEEPEST];
static long mistakes; /* messages that are not what they must be */

static struct {
    double point_s, budget_s;
    int deepest, pinned;
} options = {0.025, 1e9, DEEPEST, 0};

static void fail(const char *why)
{
    fprintf(stderr, "depth: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

static void give(long value, int tag)
{
    MPI_Send(&value, 1, MPI_LONG, peer, tag, world);
}

static void take(long value, int source, int tag)
{
    long found = -1;
    MPI_Recv(&found, 1, MPI_LONG, source, tag, world, MPI_STATUS_IGNORE);
    mistakes += found != value;
}

/* ---- entries ---- */

/* Where entry `i` of a kind is sent, and as what. */
struct way {
    MPI_Comm comm;
    int from, to, tag;
};

static struct way way(enum kind kind, int i)
{
    int own = kind == SOURCES || kind == ANY_TAG;
    MPI_Comm comm = kind == OTHERS ? others[i % COMMUNICATORS] : world;
    int tag = kind == TAGS || kind == ANY_SOURCE ? FIRST + i : PING;
    return (struct way){comm, own ? rank : peer, own ? rank : peer, tag};
}

static void post(enum kind kind, int i)
{
    struct way way_ = way(kind, i);
    int source = kind == ANY_SOURCE ? MPI_ANY_SOURCE : way_.from;
    int tag = kind == ANY_TAG ? MPI_ANY_TAG : way_.tag;
    MPI_Irecv(&incoming[i], 1, MPI_LONG, source, tag, way_.comm, &requests[i]);
}

static void start_send(enum kind kind, int i)
{
    struct way way_ = way(kind, i);
    MPI_Isend(&outgoing[i], 1, MPI_LONG, way_.to, way_.tag, way_.comm, &requests[i]);
}

/* Both ranks have done what they did before this; what was sent before has arrived. */
static void meet(void)
{
    give(0, BEGIN);
    take(0, peer, BEGIN);
}

static void put_entries(const struct test *test, int depth)
{
    for (int i = 0; i < depth; i++) {
        if (test->phase == POSTED) post(test->kind, i);
        else start_send(test->kind, i);
    }
    meet();
}

static void drop_entries(const struct test *test, int depth)
{
    meet();
    for (int i = 0; i < depth; i++) {
        struct way way_ = way(test->kind, i);
        if (test->phase == POSTED) {
            MPI_Request sent;
            MPI_Isend(&outgoing[i], 1, MPI_LONG, way_.to, way_.tag, way_.comm, &sent);
            MPI_Wait(&sent, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&incoming[i], 1, MPI_LONG, way_.from, way_.tag, way_.comm, MPI_STATUS_IGNORE);
        }
    }
    MPI_Waitall(depth, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < depth; i++) mistakes += incoming[i] != i;
    memset(incoming, 0xff, sizeof incoming);
    meet();
}

/* ---- beside entries ---- */

static void trips(const struct test *test, long count)
{
    int unexpected = test->phase == UNEXPECTED;
    int source = unexpected && test->kind == ANY_SOURCE ? MPI_ANY_SOURCE : peer;
    int tag = unexpected && test->kind == ANY_TAG ? MPI_ANY_TAG : PING;
    for (long trip = 0; trip < count; trip++) {
        if (rank == 0) give(trip, PING);
        take(trip, source, tag);
        if (rank == 1) give(trip, PING);
    }
}

static void probes(const struct test *test, long count)
{
    int source = test->kind == ANY_SOURCE ? MPI_ANY_SOURCE : peer;
    int tag = test->kind == ANY_TAG ? MPI_ANY_TAG : PING;
    for (long i = 0; i < count; i++) {
        int found;
        MPI_Iprobe(source, tag, world, &found, MPI_STATUS_IGNORE);
        mistakes += found;
    }
}

/* ---- the entries themselves ---- */

/* Rank 0 sends each entry when rank 1 says so; from any source or not is the receiver's matter. */
static void feed(const struct test *test, int depth)
{
    enum order order = test->phase == MEET ? test->order : FORWARD;
    take(0, 1, BEGIN);
    for (int i = 0; i < depth; i++) give(orders[order][i], FIRST + orders[order][i]);
    give(0, END);
    take(0, 1, END);
}

/* The receiver's half; seconds in what the test is about. */
static double eat(const struct test *test, int depth)
{
    int is_posted = test->phase == POST || test->phase == MEET;
    double begin = seconds();
    for (int i = 0; is_posted && i < depth; i++) post(test->kind, i);
    double ready = seconds();
    give(0, BEGIN);
    if (is_posted) MPI_Waitall(depth, requests, MPI_STATUSES_IGNORE);
    double met = seconds();
    take(0, 0, END);
    double arrived = seconds();
    int source = test->kind == ANY_SOURCE ? MPI_ANY_SOURCE : 0;
    for (int i = 0; !is_posted && i < depth; i++) {
        int entry = orders[test->order][i];
        int tag = test->kind == ANY_TAG ? MPI_ANY_TAG : FIRST + entry;
        take(entry, source, tag);
    }
    double end = seconds();
    give(0, END);
    for (int i = 0; is_posted && i < depth; i++) {
        mistakes += incoming[i] != i;
        incoming[i] = -1;
    }
    switch (test->phase) {
    case POST: return ready - begin;
    case MEET: return met - ready;
    case ARRIVE: return arrived - ready;
    default: return end - arrived;
    }
}

/* ---- measurement ---- */

/* The larger of both ranks' numbers, on both. Ranks wait for each other in it. */
static double largest(double own)
{
    double all;
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_MAX, control);
    return all;
}

static int is_beside(const struct test *test)
{
    return test->phase <= PROBE;
}

/* Seconds for `count` calls beside the entries, or for meeting all entries `count` times. */
static double timed(const struct test *test, int depth, long count)
{
    double used = 0;
    if (is_beside(test)) {
        double begin = seconds();
        if (test->phase == PROBE) probes(test, count);
        else trips(test, count);
        used = seconds() - begin;
    } else {
        for (long i = 0; i < count; i++) {
            if (rank == 0) feed(test, depth);
            else used += eat(test, depth);
        }
    }
    return largest(used);
}

static double in_unit(const struct test *test, int depth, double each_s)
{
    if (test->phase <= UNEXPECTED) return each_s * 1e6 / 2;
    return each_s * 1e9 / (is_beside(test) ? 1 : depth);
}

/* Not before some windows took about the time that a figure may take. */
static void measure(const struct test *test, int depth, struct figure *figure)
{
    double begin = seconds(), wanted_s = options.point_s / POINT_WINDOWS;
    long count = 1;
    timed(test, depth, count); /* what is done once for all entries */
    double took = timed(test, depth, count);
    while (took < wanted_s / 4) {
        count *= 4;
        took = timed(test, depth, count);
    }
    count = took < wanted_s ? (long)(count * wanted_s / took) : count;
    /* Both ranks must see the same end: the slower decides. */
    for (double used = 0; figure->windows < WINDOWS_MAX;) {
        if (figure->windows >= WINDOWS_MIN && used >= options.point_s) break;
        took = timed(test, depth, count);
        figure->values[figure->windows++] = in_unit(test, depth, took / count);
        used = largest(seconds() - begin);
    }
}

static void point(const struct test *test, int depth, double begin)
{
    struct figure figure = {.test = test->name, .ranks = 2, .bytes = depth};
    figure.unit = test->phase <= UNEXPECTED ? "us" : "ns";
    const char *status = "ok";
    if (largest(seconds() - begin) > options.budget_s) {
        status = "budget";
    } else {
        mistakes = 0;
        if (is_beside(test)) put_entries(test, depth);
        measure(test, depth, &figure);
        if (is_beside(test)) drop_entries(test, depth);
        if (largest(mistakes) > 0) status = "wrong";
    }
    if (rank == 0) print_figure(&figure, status);
}

/* ---- the program ---- */

static int is_named(const char *name, char **words)
{
    if (!*words) return 1;
    for (; *words; words++)
        if (strcmp(name, *words) == 0) return 1;
    return 0;
}

/* The order of `depth` entries that arrive at random, which a fixed number decides. */
static void shuffle(int depth)
{
    unsigned long long state = 1;
    for (int i = 0; i < depth; i++) {
        orders[FORWARD][i] = orders[RANDOM][i] = i;
        orders[REVERSE][i] = depth - 1 - i;
    }
    for (int i = depth - 1; i > 0; i--) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        int other = (int)((state >> 33) % (i + 1)), kept = orders[RANDOM][i];
        orders[RANDOM][i] = orders[RANDOM][other];
        orders[RANDOM][other] = kept;
    }
}

static void prepare(void)
{
    int size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2) fail("two ranks are needed");
    peer = 1 - rank;
    MPI_Comm_dup(MPI_COMM_WORLD, &control);
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    for (int i = 0; i < COMMUNICATORS; i++) MPI_Comm_dup(MPI_COMM_WORLD, &others[i]);
    for (int i = 0; i < DEEPEST; i++) outgoing[i] = i;
    memset(incoming, 0xff, sizeof incoming);
}

static void run(char **words)
{
    double begin = seconds();
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(library, &length);
    if (rank == 0) printf("library %.*s\n", (int)strcspn(library, "\n"), library);
    for (int depth = 1; depth <= options.deepest; depth *= 10) {
        shuffle(depth);
        for (int test = 0; test < TESTS; test++)
            if (is_named(tests[test].name, words)) point(&tests[test], depth, begin);
    }
}

static int read_options(int argc, char **argv)
{
    for (int option; (option = getopt(argc, argv, "t:b:d:p")) != -1;) {
        if (option == 't') options.point_s = atof(optarg) * 1e-3;
        else if (option == 'b') options.budget_s = atof(optarg);
        else if (option == 'd') options.deepest = atoi(optarg);
        else if (option == 'p') options.pinned = 1;
        else return 0;
    }
    return options.point_s > 0 && options.deepest <= DEEPEST;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (!read_options(argc, argv)) fail("wrong arguments; see the head of benches/depth.c");
    prepare();
    if (options.pinned && !confine(rank % (int)sysconf(_SC_NPROCESSORS_ONLN)))
        fail("no such processor");
    run(argv + optind);
    MPI_Finalize();
    return 0;
}
