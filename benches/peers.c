/* Cost of the calls of any MPI library with the C interface of MPI 3.
 *
 *   mpirun -n N peers [-t MS] [-b SECONDS] [-m BYTES] [-p] TEST...
 *
 *   -t   milliseconds for one figure (25)       -b   seconds for all of them (no limit)
 *   -m   longest message (all)                  -p   confine rank r to processor r modulo N
 *
 * A TEST is one of those below, or pt2pt, coll, icoll, pcoll for all of a kind, or with messages of
 * one length TEST:BYTES; or start, alone: what MPI_Init and MPI_Finalize take, as rank 0 sees it.
 *
 *   latency        one way between the first rank and the last; the others wait in a collective
 *   rate           messages in windows of 64, answered by an empty message
 *   stream         the same with long messages, counted in bytes
 *   bidirectional  the same in both directions at once; both are counted
 *   ring           MPI_Sendrecv to the right and from the left
 *   pairs          one way between rank r and rank r + N/2, all pairs at once
 *   allreduce ...  a collective, time of one; bytes are of the vector, or of each rank's block
 *   iallreduce ... its nonblocking form and the wait for it
 *   pallreduce ... its persistent form, made before: the start and the wait for it (since MPI 4)
 *
 * Collectives follow each other without pause. So that no rank runs ahead, which would show how
 * deep a library buffers, the root moves on by one each time, and the order of the ranks in a scan
 * is reversed each time: every call depends on the one before. Buffers are the same each time.
 * Each figure ends with one call whose data are checked. Small messages come first, for all tests,
 * so that -b cuts off the long ones. Lines: see measure.h; the first one is the library. */
#include "measure.h"
#include <mpi.h>
#include <unistd.h>

enum { WINDOW = 64, TAG = 1, POINT_WINDOWS = 8, WINDOWS_MIN = 3, WARM_TURNS = 3 };

struct test;
typedef int (*Pattern)(int bytes, long count);
typedef int (*Call)(long turn, MPI_Request *request);

/* A block that arrives is the sum of what the ranks `from` up to `to` sent in block `block`. */
struct sum {
    int from, to, block;
};
typedef struct sum (*Result)(int block);

enum form { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };
static const char *const form_prefix[FORMS] = {"", "i", "p"};

enum where { EVERYWHERE, AT_ROOT, NOT_AT_ROOT };

struct test {
    const char *name;
    const char *unit;
    Pattern pattern; /* point-to-point; else: */
    Call call;
    Result result;
    enum where where;
    int one_block; /* of those that arrive */
};

static int rank, size;
static MPI_Comm world;    /* what is measured */
static MPI_Comm reversed; /* the same ranks from the last to the first */
static MPI_Comm control;  /* agreement about it */
static char *outgoing, *incoming;
static int *counts, *places, *byte_places;
static MPI_Datatype *types;
static int elements; /* of a block, MPI_DOUBLE */
static MPI_Request *made; /* the requests of a persistent form, for one turn after the other */
static int made_count;

static struct {
    double point_s, budget_s;
    long most;
    int pinned;
} options = {0.025, 1e9, 4 << 20, 0};

static void fail(const char *why)
{
    fprintf(stderr, "peers: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

/* ---- point to point ---- */

#define TRY(call)                                        \
    do {                                                 \
        int code_ = (call);                              \
        if (code_ != MPI_SUCCESS) return code_;          \
    } while (0)

static int give(int bytes, int to)
{
    return MPI_Send(outgoing, bytes, MPI_BYTE, to, TAG, world);
}

static int take(int bytes, int from)
{
    return MPI_Recv(incoming, bytes, MPI_BYTE, from, TAG, world, MPI_STATUS_IGNORE);
}

static int trips(int bytes, long count)
{
    for (long trip = 0; trip < count; trip++) {
        if (rank == 0) {
            TRY(give(bytes, size - 1));
            TRY(take(bytes, size - 1));
        } else if (rank == size - 1) {
            TRY(take(bytes, 0));
            TRY(give(bytes, 0));
        }
    }
    return MPI_SUCCESS;
}

/* The rank at the other end of a pair; -1 for the last of an odd number of ranks. */
static int opposite(void)
{
    int pairs = size / 2;
    if (rank >= 2 * pairs) return -1;
    return rank < pairs ? rank + pairs : rank - pairs;
}

static int trips_of_all(int bytes, long count)
{
    int other = opposite();
    for (long trip = 0; other >= 0 && trip < count; trip++) {
        if (rank < other) TRY(give(bytes, other));
        TRY(take(bytes, other));
        if (rank > other) TRY(give(bytes, other));
    }
    return MPI_SUCCESS;
}

/* 64 messages from each rank that is to send, and an empty one against the direction. */
static int burst(int bytes, int sends, int receives)
{
    MPI_Request requests[2 * WINDOW];
    int count = 0;
    for (int i = 0; receives && i < WINDOW; i++)
        TRY(MPI_Irecv(incoming, bytes, MPI_BYTE, 1 - rank, TAG, world, &requests[count++]));
    for (int i = 0; sends && i < WINDOW; i++)
        TRY(MPI_Isend(outgoing, bytes, MPI_BYTE, 1 - rank, TAG, world, &requests[count++]));
    TRY(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
    if (rank == 0) return take(0, 1);
    return give(0, 0);
}

static int bursts(int bytes, long count)
{
    for (long i = 0; i < count; i++) TRY(burst(bytes, rank == 0, rank == 1));
    return MPI_SUCCESS;
}

static int double_bursts(int bytes, long count)
{
    for (long i = 0; i < count; i++) TRY(burst(bytes, 1, 1));
    return MPI_SUCCESS;
}

static int turns(int bytes, long count)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (long turn = 0; turn < count; turn++)
        TRY(MPI_Sendrecv(outgoing, bytes, MPI_BYTE, right, TAG, incoming, bytes, MPI_BYTE, left,
                         TAG, world, MPI_STATUS_IGNORE));
    return MPI_SUCCESS;
}

/* The rank whose data this one has in the end, or -1. */
static int giver(Pattern pattern)
{
    if (pattern == turns) return (rank + size - 1) % size;
    if (pattern == trips_of_all) return opposite();
    if (rank == 0) return pattern == bursts ? -1 : size - 1;
    return rank == size - 1 ? 0 : -1;
}

/* ---- collectives ---- */

/* Set while a call with a request makes a persistent one. */
static int making;

#if MPI_VERSION >= 4
#define MADE(persistent, ...) persistent(__VA_ARGS__, MPI_INFO_NULL, request)
#else
#define MADE(persistent, ...) MPI_ERR_UNSUPPORTED_OPERATION
#endif
#define EITHER(blocking, nonblocking, persistent, ...)                        \
    (making ? MADE(persistent, __VA_ARGS__)                                   \
            : request ? nonblocking(__VA_ARGS__, request) : blocking(__VA_ARGS__))

#define ROOT ((int)(turn % size))

static int barrier(long turn, MPI_Request *request)
{
    (void)turn;
    return EITHER(MPI_Barrier, MPI_Ibarrier, MPI_Barrier_init, world);
}

static int bcast(long turn, MPI_Request *request)
{
    return EITHER(MPI_Bcast, MPI_Ibcast, MPI_Bcast_init, rank == ROOT ? outgoing : incoming, elements, MPI_DOUBLE,
                  ROOT, world);
}

static int reduce(long turn, MPI_Request *request)
{
    return EITHER(MPI_Reduce, MPI_Ireduce, MPI_Reduce_init, outgoing, incoming, elements, MPI_DOUBLE, MPI_SUM, ROOT,
                  world);
}

static int allreduce(long turn, MPI_Request *request)
{
    (void)turn;
    return EITHER(MPI_Allreduce, MPI_Iallreduce, MPI_Allreduce_init, outgoing, incoming, elements, MPI_DOUBLE, MPI_SUM,
                  world);
}

static int gather(long turn, MPI_Request *request)
{
    return EITHER(MPI_Gather, MPI_Igather, MPI_Gather_init, outgoing, elements, MPI_DOUBLE, incoming, elements,
                  MPI_DOUBLE, ROOT, world);
}

static int gatherv(long turn, MPI_Request *request)
{
    return EITHER(MPI_Gatherv, MPI_Igatherv, MPI_Gatherv_init, outgoing, elements, MPI_DOUBLE, incoming, counts,
                  places, MPI_DOUBLE, ROOT, world);
}

static int scatter(long turn, MPI_Request *request)
{
    return EITHER(MPI_Scatter, MPI_Iscatter, MPI_Scatter_init, outgoing, elements, MPI_DOUBLE, incoming, elements,
                  MPI_DOUBLE, ROOT, world);
}

static int scatterv(long turn, MPI_Request *request)
{
    return EITHER(MPI_Scatterv, MPI_Iscatterv, MPI_Scatterv_init, outgoing, counts, places, MPI_DOUBLE, incoming,
                  elements, MPI_DOUBLE, ROOT, world);
}

static int allgather(long turn, MPI_Request *request)
{
    (void)turn;
    return EITHER(MPI_Allgather, MPI_Iallgather, MPI_Allgather_init, outgoing, elements, MPI_DOUBLE, incoming, elements,
                  MPI_DOUBLE, world);
}

static int allgatherv(long turn, MPI_Request *request)
{
    (void)turn;
    return EITHER(MPI_Allgatherv, MPI_Iallgatherv, MPI_Allgatherv_init, outgoing, elements, MPI_DOUBLE, incoming, counts,
                  places, MPI_DOUBLE, world);
}

static int alltoall(long turn, MPI_Request *request)
{
    (void)turn;
    return EITHER(MPI_Alltoall, MPI_Ialltoall, MPI_Alltoall_init, outgoing, elements, MPI_DOUBLE, incoming, elements,
                  MPI_DOUBLE, world);
}

static int alltoallv(long turn, MPI_Request *request)
{
    (void)turn;
    return EITHER(MPI_Alltoallv, MPI_Ialltoallv, MPI_Alltoallv_init, outgoing, counts, places, MPI_DOUBLE, incoming,
                  counts, places, MPI_DOUBLE, world);
}

static int alltoallw(long turn, MPI_Request *request)
{
    (void)turn;
    return EITHER(MPI_Alltoallw, MPI_Ialltoallw, MPI_Alltoallw_init, outgoing, counts, byte_places, types, incoming,
                  counts, byte_places, types, world);
}

static int reduce_scatter(long turn, MPI_Request *request)
{
    (void)turn;
    return EITHER(MPI_Reduce_scatter, MPI_Ireduce_scatter, MPI_Reduce_scatter_init, outgoing, incoming, counts, MPI_DOUBLE,
                  MPI_SUM, world);
}

static int reduce_scatter_block(long turn, MPI_Request *request)
{
    (void)turn;
    return EITHER(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, MPI_Reduce_scatter_block_init, outgoing, incoming, elements,
                  MPI_DOUBLE, MPI_SUM, world);
}

static int scan(long turn, MPI_Request *request)
{
    return EITHER(MPI_Scan, MPI_Iscan, MPI_Scan_init, outgoing, incoming, elements, MPI_DOUBLE, MPI_SUM,
                  turn % 2 ? reversed : world);
}

static int exscan(long turn, MPI_Request *request)
{
    return EITHER(MPI_Exscan, MPI_Iexscan, MPI_Exscan_init, outgoing, incoming, elements, MPI_DOUBLE, MPI_SUM,
                  turn % 2 ? reversed : world);
}

/* What must arrive, with rank 0 as the root. */

static struct sum from_each(int block) { return (struct sum){block, block + 1, 0}; }
static struct sum mine_from_each(int block) { return (struct sum){block, block + 1, rank}; }
static struct sum from_root(int block) { return (struct sum){0, 1, block}; }
static struct sum mine_from_root(int block) { return (void)block, (struct sum){0, 1, rank}; }
static struct sum all_added(int block) { return (struct sum){0, size, block}; }
static struct sum mine_added(int block) { return (void)block, (struct sum){0, size, rank}; }
static struct sum up_to_me(int block) { return (struct sum){0, rank + 1, block}; }
static struct sum before_me(int block) { return (struct sum){0, rank, block}; }

static const struct test tests[] = {
    {"latency", "us", trips, NULL, NULL, 0, 1},
    {"rate", "Mmsg/s", bursts, NULL, NULL, 0, 1},
    {"stream", "MB/s", bursts, NULL, NULL, 0, 1},
    {"bidirectional", "MB/s", double_bursts, NULL, NULL, 0, 1},
    {"ring", "us", turns, NULL, NULL, 0, 1},
    {"pairs", "us", trips_of_all, NULL, NULL, 0, 1},
    {"barrier", "us", NULL, barrier, NULL, EVERYWHERE, 1},
    {"bcast", "us", NULL, bcast, from_root, NOT_AT_ROOT, 1},
    {"reduce", "us", NULL, reduce, all_added, AT_ROOT, 1},
    {"allreduce", "us", NULL, allreduce, all_added, EVERYWHERE, 1},
    {"gather", "us", NULL, gather, from_each, AT_ROOT, 0},
    {"gatherv", "us", NULL, gatherv, from_each, AT_ROOT, 0},
    {"scatter", "us", NULL, scatter, mine_from_root, EVERYWHERE, 1},
    {"scatterv", "us", NULL, scatterv, mine_from_root, EVERYWHERE, 1},
    {"allgather", "us", NULL, allgather, from_each, EVERYWHERE, 0},
    {"allgatherv", "us", NULL, allgatherv, from_each, EVERYWHERE, 0},
    {"alltoall", "us", NULL, alltoall, mine_from_each, EVERYWHERE, 0},
    {"alltoallv", "us", NULL, alltoallv, mine_from_each, EVERYWHERE, 0},
    {"alltoallw", "us", NULL, alltoallw, mine_from_each, EVERYWHERE, 0},
    {"reduce_scatter", "us", NULL, reduce_scatter, mine_added, EVERYWHERE, 1},
    {"reduce_scatter_block", "us", NULL, reduce_scatter_block, mine_added, EVERYWHERE, 1},
    {"scan", "us", NULL, scan, up_to_me, EVERYWHERE, 1},
    {"exscan", "us", NULL, exscan, before_me, NOT_AT_ROOT, 1},
};
enum { TESTS = sizeof tests / sizeof *tests };

/* Collectives, and more ranks than two, are measured at four of these; see `is_measured`. */
static const long sizes[] = {0,     8,     64,     1024,    4096,   16384,
                             65536, 262144, 1048576, 4194304};
enum { SIZES = sizeof sizes / sizeof *sizes, COLLECTIVE_MOST = 1048576 };

static int is_measured(const struct test *test, long bytes)
{
    int coarse = bytes == 8 || bytes == 1024 || bytes == 65536 || bytes == COLLECTIVE_MOST;
    if (bytes > options.most) return 0;
    if (test->call == barrier) return bytes == 0;
    if (test->call || test->pattern == turns) return coarse;
    if (test->pattern == trips_of_all) return coarse && size > 2;
    if (test->pattern == trips) return size == 2 || coarse;
    if (size != 2) return 0;
    if (strcmp(test->name, "rate") == 0) return bytes >= 8 && bytes <= 65536;
    return bytes >= 4096;
}

/* ---- data ---- */

/* Small whole numbers: sums of them are exact in any order. */
static double value(int from, int block, int i)
{
    return (from + 1) * 1000.0 + block * 10.0 + i % 7;
}

static double wanted(struct sum sum, int i)
{
    double total = 0;
    for (int from = sum.from; from < sum.to; from++) total += value(from, sum.block, i);
    return total;
}

static void fill(const struct test *test, long bytes)
{
    int blocks = test->pattern ? 1 : size;
    elements = (int)(bytes / (long)sizeof(double));
    for (int block = 0; block < blocks; block++) {
        counts[block] = elements;
        places[block] = block * elements;
        byte_places[block] = (int)(block * bytes);
        types[block] = MPI_DOUBLE;
        double *data = (double *)(outgoing + block * bytes);
        for (int i = 0; i < elements; i++) data[i] = value(rank, block, i);
    }
    memset(incoming, 0, blocks * bytes);
}

static int block_differs(long bytes, int block, struct sum sum)
{
    double *data = (double *)(incoming + block * bytes);
    for (int i = 0; i < elements; i++)
        if (data[i] != wanted(sum, i)) return 1;
    return 0;
}

/* Whether this rank holds other data than the call with turn 0 must have left. */
static int differs(const struct test *test, long bytes)
{
    if (test->pattern) {
        int from = giver(test->pattern);
        return from >= 0 && block_differs(bytes, 0, (struct sum){from, from + 1, 0});
    }
    int absent = (test->where == AT_ROOT && rank != 0) || (test->where == NOT_AT_ROOT && rank == 0);
    if (!test->result || absent) return 0;
    for (int block = 0; block < (test->one_block ? 1 : size); block++)
        if (block_differs(bytes, block, test->result(block))) return 1;
    return 0;
}

/* ---- measurement ---- */

static int calls(Call call, enum form form, long count)
{
    for (long turn = 0; turn < count; turn++) {
        MPI_Request own, *request = form == PERSISTENT ? &made[turn % made_count] : &own;
        if (form == PERSISTENT) TRY(MPI_Start(request));
        else TRY(call(turn, form == NONBLOCKING ? request : NULL));
        if (form != BLOCKING) TRY(MPI_Wait(request, MPI_STATUS_IGNORE));
    }
    return MPI_SUCCESS;
}

/* Makes the requests of a persistent form, one for each turn that differs from others. */
static int make(Call call)
{
    int code = MPI_SUCCESS;
    making = 1;
    for (made_count = 0; made_count < 2 * size && code == MPI_SUCCESS; made_count++) {
        made[made_count] = MPI_REQUEST_NULL;
        code = call(made_count, &made[made_count]);
    }
    making = 0;
    return code;
}

static void unmake(void)
{
    for (; made_count > 0; made_count--)
        if (made[made_count - 1] != MPI_REQUEST_NULL) MPI_Request_free(&made[made_count - 1]);
}

static int perform(const struct test *test, enum form form, long bytes, long count)
{
    if (test->pattern) return test->pattern((int)bytes, count);
    return calls(test->call, form, count);
}

/* The largest of all ranks' numbers, on all of them. Ranks wait for each other in it. */
static double largest(double own)
{
    double all;
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_MAX, control);
    return all;
}

/* Seconds that `count` calls take the slowest rank; the same answer on each. */
static double timed(const struct test *test, enum form form, long bytes, long count)
{
    double begin = seconds();
    if (perform(test, form, bytes, count) != MPI_SUCCESS)
        fail("a call failed which did not at first");
    return largest(seconds() - begin);
}

static double in_unit(const struct test *test, long bytes, double each_s)
{
    if (strcmp(test->unit, "Mmsg/s") == 0) return WINDOW / each_s * 1e-6;
    if (test->pattern == bursts) return (double)WINDOW * bytes / each_s * 1e-6;
    if (test->pattern == double_bursts) return 2.0 * WINDOW * bytes / each_s * 1e-6;
    int ways = test->pattern == trips || test->pattern == trips_of_all ? 2 : 1;
    return each_s * 1e6 / ways;
}

static void measure(const struct test *test, enum form form, long bytes, struct figure *figure)
{
    double begin = seconds(), wanted_s = options.point_s / POINT_WINDOWS;
    long count = 1;
    /* The first turns open connections, which may take longer than a window. */
    timed(test, form, bytes, WARM_TURNS);
    double took = timed(test, form, bytes, count);
    while (took < wanted_s / 4) {
        count *= 4;
        took = timed(test, form, bytes, count);
    }
    count = took < wanted_s ? (long)(count * wanted_s / took) : count;
    /* All ranks must see the same end: the slowest decides. */
    for (double used = 0; figure->windows < WINDOWS_MAX;) {
        if (figure->windows >= WINDOWS_MIN && used >= options.point_s) break;
        took = timed(test, form, bytes, count);
        figure->values[figure->windows++] = in_unit(test, bytes, took / count);
        used = largest(seconds() - begin);
    }
}

/* A first call: an error known to all ranks, or none. */
static int refusal(const struct test *test, enum form form, long bytes)
{
    int class = MPI_SUCCESS;
    int code = form == PERSISTENT ? make(test->call) : MPI_SUCCESS;
    if (code == MPI_SUCCESS) code = perform(test, form, bytes, 1);
    if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
    return (int)largest(class);
}

static void point(const struct test *test, enum form form, long bytes, double begin)
{
    char name[64], status[64] = "ok";
    snprintf(name, sizeof name, "%s%s", form_prefix[form], test->name);
    struct figure figure = {.test = name, .unit = test->unit, .ranks = size, .bytes = bytes};
    figure.larger_is_better = strcmp(test->unit, "us") != 0;
    if (largest(seconds() - begin) > options.budget_s) {
        strcpy(status, "budget");
    } else {
        fill(test, bytes);
        int class = refusal(test, form, bytes);
        if (class == MPI_ERR_UNSUPPORTED_OPERATION) strcpy(status, "unsupported");
        else if (class != MPI_SUCCESS) snprintf(status, sizeof status, "error-%d", class);
        else {
            measure(test, form, bytes, &figure);
            fill(test, bytes);
            timed(test, form, bytes, 1);
            if (largest(differs(test, bytes)) > 0) strcpy(status, "wrong");
        }
        unmake();
    }
    if (rank == 0) print_figure(&figure, status);
}

/* ---- the program ---- */

/* Whether one of the words names the test with this length of messages, or its kind. */
static int is_named(const struct test *test, enum form form, long bytes, char **words)
{
    static const char *const kinds[FORMS] = {"coll", "icoll", "pcoll"};
    const char *kind = test->pattern ? "pt2pt" : kinds[form];
    for (; *words; words++) {
        const char *name = *words, *only = strchr(name, ':');
        if (strcmp(name, kind) == 0) return 1;
        if (only && atol(only + 1) != bytes) continue;
        size_t prefix = strlen(form_prefix[form]), length = strcspn(name, ":");
        if (length < prefix || strncmp(name, form_prefix[form], prefix) != 0) continue;
        length -= prefix;
        if (strlen(test->name) == length && strncmp(name + prefix, test->name, length) == 0)
            return 1;
    }
    return 0;
}

static void *block(size_t bytes)
{
    void *memory = NULL;
    if (posix_memalign(&memory, 4096, bytes < 4096 ? 4096 : bytes) != 0) fail("no memory");
    memset(memory, 0, bytes);
    return memory;
}

static void prepare(void)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2) fail("two ranks or more are needed");
    MPI_Comm_dup(MPI_COMM_WORLD, &control);
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &reversed);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(reversed, MPI_ERRORS_RETURN);
    /* A block for each rank, or the longest message of two. */
    size_t longest = options.most < sizes[SIZES - 1] ? options.most : sizes[SIZES - 1];
    size_t room = (options.most < COLLECTIVE_MOST ? options.most : COLLECTIVE_MOST) * (size_t)size;
    if (room < longest) room = longest;
    outgoing = block(room);
    incoming = block(room);
    counts = block(size * sizeof *counts);
    places = block(size * sizeof *places);
    byte_places = block(size * sizeof *byte_places);
    types = block(size * sizeof *types);
    made = block(2 * size * sizeof *made);
}

static void run(char **words)
{
    double begin = seconds();
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(library, &length);
    if (rank == 0) printf("library %.*s\n", (int)strcspn(library, "\n"), library);
    for (int at = 0; at < SIZES; at++)
        for (int test = 0; test < TESTS; test++)
            for (int form = 0; form < (tests[test].pattern ? 1 : FORMS); form++)
                if (is_measured(&tests[test], sizes[at])
                    && is_named(&tests[test], form, sizes[at], words))
                    point(&tests[test], form, sizes[at], begin);
}

static void start(int *argc, char ***argv)
{
    double begin = seconds();
    MPI_Init(argc, argv);
    double ready = seconds();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double end = seconds();
    MPI_Finalize();
    double done = seconds();
    if (rank != 0) return;
    struct figure init = {"MPI_Init", "ms", size, 0, 0, 1, {(ready - begin) * 1e3}};
    struct figure finalize = {"MPI_Finalize", "ms", size, 0, 0, 1, {(done - end) * 1e3}};
    print_figure(&init, "ok");
    print_figure(&finalize, "ok");
}

static int read_options(int argc, char **argv)
{
    for (int option; (option = getopt(argc, argv, "t:b:m:p")) != -1;) {
        if (option == 't') options.point_s = atof(optarg) * 1e-3;
        else if (option == 'b') options.budget_s = atof(optarg);
        else if (option == 'm') options.most = atol(optarg);
        else if (option == 'p') options.pinned = 1;
        else return 0;
    }
    return optind < argc && options.point_s > 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "start") == 0) {
        start(&argc, &argv);
        return 0;
    }
    MPI_Init(&argc, &argv);
    if (!read_options(argc, argv)) fail("wrong arguments; see the head of benches/peers.c");
    prepare();
    if (options.pinned && !confine(rank % (int)sysconf(_SC_NPROCESSORS_ONLN)))
        fail("no such processor");
    run(argv + optind);
    MPI_Finalize();
    return 0;
}
