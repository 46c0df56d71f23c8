/* Cost of accesses of ACP.
 *
 *   mpirun -n N acp [-t MS] [-b SECONDS] [-p] TEST...
 *
 *   -t   milliseconds for one figure (25)       -b   seconds for all of them (no limit)
 *   -p   confine rank r to processor r modulo their number
 *
 * A TEST is one of those below. What an access copies from or to at its own rank is in registered
 * memory, as the buffers of windows.c; what it accesses at another rank is in starter memory, or, with
 * `registered-` before the name, in memory that the other one has registered.
 *
 *   put, get             rank 0: 8 bytes at rank 1, and their completion; as in windows.c
 *   fetch_and_op, compare_and_swap   the same with acp_add8 and acp_cas8
 *   put_stream           1 MiB and its completion; counted in bytes
 *   contended            all ranks add at rank 0; operations of all together
 *   add4, add4_local     acp_add4 and its completion, at rank 1 and at rank 0
 *   bare                 what add4_local costs the processor alone
 *   sizes                copies of 1 B to 4 MiB: the time of each, of many that are completed together.
 *                        put, get, and third (between ranks 1 and 2, or the two of a job of two), each
 *                        -null for ACP_HANDLE_NULL and -all for ACP_HANDLE_ALL; round: a put and a get
 *                        behind it, as ACP's own benchmark has; through: third by a get and a put
 *
 * Ranks that have nothing to do wait in acp_sync. The data of each test are checked at its end. Lines:
 * see measure.h. */
#include "measure.h"
#include <acp.h>
#include <stdint.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    LONG = 1 << 20,
    LONGEST = 4 << 20,
    ROOM = LONGEST + PAGE, /* of each of two parts of a memory: sources and targets */
    MEMORY = 2 * ROOM + PAGE, /* with room for an old number */
    TOGETHER_MAX = 1000,
    TOGETHER_BYTES = 32 << 20,
    POINT_WINDOWS = 8,
    WINDOWS_MIN = 3,
    WARM_TURNS = 3
};

static int rank, size, target, third;
static acp_ga_t own, *at; /* the memory of rank 0 for itself, what each rank offers to others */
static char *mine, *offered; /* memory of this rank, for itself and for others */
static int64_t done; /* operations of all ranks in this test */
static double point_s = 0.025, budget_s = 1e9;
static int is_registered;
static char *registered;
static long bytes; /* of a copy */
static const acp_handle_t AT_ONCE = (acp_handle_t)ACP_HANDLE_NULL, ALL = (acp_handle_t)ACP_HANDLE_ALL;

static void fail(const char *why)
{
    fprintf(stderr, "acp: %s\n", why);
    acp_abort("a benchmark fails");
}

/* The first word of the two parts of a memory. */
static int64_t *first(char *memory) { return (int64_t *)(void *)memory; }
static int64_t *second(char *memory) { return first(memory + ROOM); }

/* The same as addresses. */
static acp_ga_t source_of(int owner) { return owner == 0 ? own : at[owner]; }
static acp_ga_t target_of(int owner) { return source_of(owner) + ROOM; }
static acp_ga_t old(void) { return own + 2 * (acp_ga_t)ROOM; }

/* Completes an access, which was not refused. */
static int completed(acp_handle_t handle)
{
    acp_complete(handle);
    return handle <= 0;
}

static int puts_of(int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        *first(mine) = done + i + 1;
        if (completed(acp_copy(target_of(target), source_of(0), (size_t)bytes, AT_ONCE))) return 1;
    }
    return 0;
}

static int gets(int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        *second(mine) = 1;
        acp_handle_t get = acp_copy(target_of(0), source_of(target), 8, AT_ONCE);
        if (completed(get) || *second(mine) != 0) return 1;
    }
    return 0;
}

static int adds(int64_t count, acp_ga_t number)
{
    for (int64_t i = 0; i < count; i++)
        if (completed(acp_add8(old(), number, 1, AT_ONCE))) return 1;
    return 0;
}

static int fetches(int64_t count) { return adds(count, target_of(target)); }
static int contended(int64_t count) { return adds(count, at[0] + ROOM); }

static int swaps(int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        uint64_t expected = (uint64_t)(done + i);
        if (completed(acp_cas8(old(), target_of(target), expected, expected + 1, AT_ONCE))) return 1;
    }
    return 0;
}

static int adds_of_4(int64_t count, int owner)
{
    for (int64_t i = 0; i < count; i++)
        if (completed(acp_add4(old(), target_of(owner), 1, AT_ONCE))) return 1;
    return 0;
}

static int remote_adds(int64_t count) { return adds_of_4(count, target); }
static int local_adds(int64_t count) { return adds_of_4(count, 0); }

static int bare_adds(int64_t count)
{
    int32_t *old_number = (int32_t *)(void *)(mine + 2 * ROOM), *number = (int32_t *)(void *)second(mine);
    for (int64_t i = 0; i < count; i++)
        *(volatile int32_t *)old_number = __atomic_fetch_add(number, 1, __ATOMIC_SEQ_CST);
    return 0;
}

/* Copies that are completed together, as many as a window has at most. */
static int copies(int64_t count, acp_ga_t to, acp_ga_t from, acp_handle_t order)
{
    int64_t together = TOGETHER_BYTES / bytes < TOGETHER_MAX ? TOGETHER_BYTES / bytes : TOGETHER_MAX;
    for (int64_t i = 0; i < count; i++) {
        acp_handle_t handle = acp_copy(to, from, (size_t)bytes, order);
        if (handle <= 0) return 1;
        if (i % together == together - 1 || i == count - 1) acp_complete(handle);
    }
    return 0;
}

static int put_null(int64_t n) { return copies(n, target_of(target), source_of(0), AT_ONCE); }
static int put_all(int64_t n) { return copies(n, target_of(target), source_of(0), ALL); }
static int get_null(int64_t n) { return copies(n, target_of(0), source_of(target), AT_ONCE); }
static int get_all(int64_t n) { return copies(n, target_of(0), source_of(target), ALL); }
static int third_null(int64_t n) { return copies(n, target_of(third), source_of(target), AT_ONCE); }
static int third_all(int64_t n) { return copies(n, target_of(third), source_of(target), ALL); }

static int rounds(int64_t count)
{
    acp_handle_t last = AT_ONCE;
    for (int64_t i = 0; i < count; i++) {
        acp_handle_t there = acp_copy(target_of(target), source_of(0), (size_t)bytes, last);
        last = acp_copy(target_of(0), target_of(target), (size_t)bytes, there);
        if (there <= 0 || last <= 0) return 1;
        if (i % TOGETHER_MAX == TOGETHER_MAX - 1) acp_complete(last);
    }
    acp_complete(last);
    return 0;
}

static int through(int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if (completed(acp_copy(target_of(0), source_of(target), (size_t)bytes, AT_ONCE))) return 1;
        if (completed(acp_copy(target_of(third), target_of(0), (size_t)bytes, AT_ONCE))) return 1;
    }
    return 0;
}

/* What is checked at the end. */
enum left_over { NOTHING, COUNT_AT_TARGET, COUNT_AT_ZERO, COPIED };

static const struct test {
    const char *name, *unit;
    long bytes;
    int (*run)(int64_t count);
    int is_of_all; /* ranks */
    enum left_over left_over;
} tests[] = {
    {"put", "us", 8, puts_of, 0, COUNT_AT_TARGET},
    {"get", "us", 8, gets, 0, NOTHING},
    {"fetch_and_op", "us", 8, fetches, 0, COUNT_AT_TARGET},
    {"compare_and_swap", "us", 8, swaps, 0, COUNT_AT_TARGET},
    {"put_stream", "MB/s", LONG, puts_of, 0, COUNT_AT_TARGET},
    {"contended", "Mop/s", 8, contended, 1, COUNT_AT_ZERO},
    {"add4", "us", 4, remote_adds, 0, COUNT_AT_TARGET},
    {"add4_local", "us", 4, local_adds, 0, COUNT_AT_ZERO},
    {"bare", "us", 4, bare_adds, 0, COUNT_AT_ZERO},
};
/* Those of `sizes`, whose length varies. */
static const struct test sized[] = {
    {"put-null", "us", 0, put_null, 0, COPIED},     {"put-all", "us", 0, put_all, 0, COPIED},
    {"get-null", "us", 0, get_null, 0, COPIED},     {"get-all", "us", 0, get_all, 0, COPIED},
    {"third-null", "us", 0, third_null, 0, COPIED}, {"third-all", "us", 0, third_all, 0, COPIED},
    {"round", "us", 0, rounds, 0, COPIED},          {"through", "us", 0, through, 0, COPIED},
};
enum { TESTS = sizeof tests / sizeof *tests, SIZED = sizeof sized / sizeof *sized };

/* The number of rank 0, on all ranks. */
static int64_t of_first(int64_t number)
{
    int64_t *own = acp_query_address(acp_query_starter_ga(rank));
    if (rank == 0) *own = number;
    acp_sync();
    acp_complete(acp_copy(acp_query_starter_ga(rank) + 8, acp_query_starter_ga(0), 8, AT_ONCE));
    number = own[1];
    acp_sync();
    return number;
}

/* Seconds that `count` turns of rank 0 take. */
static double timed(const struct test *test, int64_t count)
{
    double took = 0;
    if (test->is_of_all) acp_sync();
    double begin = seconds();
    if (rank == 0 || test->is_of_all) {
        if (test->run(count) != 0) fail("an access is refused, or has a wrong result");
        if (test->is_of_all) acp_sync();
        took = seconds() - begin;
    }
    done += test->is_of_all ? count * size : count;
    return took;
}

static double in_unit(const struct test *test, double each_s)
{
    if (strcmp(test->unit, "MB/s") == 0) return bytes / each_s * 1e-6;
    if (strcmp(test->unit, "Mop/s") == 0) return size / each_s * 1e-6;
    return each_s * 1e6;
}

/* How many turns a window has; the other ranks learn what rank 0 found where they take part. */
static int64_t turns_of(const struct test *test)
{
    double wanted_s = point_s / POINT_WINDOWS;
    for (int turn = 0; turn < WARM_TURNS; turn++) timed(test, 1);
    for (int64_t count = 1;; count *= 4) {
        double took = timed(test, count);
        int is_enough = took >= wanted_s / 4;
        if (test->is_of_all) is_enough = (int)of_first(is_enough);
        if (!is_enough) continue;
        if (took < wanted_s) count = (int64_t)(count * wanted_s / took);
        return test->is_of_all ? of_first(count) : count;
    }
}

static void measure(const struct test *test, struct figure *figure)
{
    if (rank != 0 && !test->is_of_all) return;
    int64_t count = turns_of(test);
    double begin = seconds();
    for (int goes_on = 1; goes_on;) {
        figure->values[figure->windows++] = in_unit(test, timed(test, count) / count);
        goes_on = figure->windows < WINDOWS_MAX
            && (figure->windows < WINDOWS_MIN || seconds() - begin < point_s);
        if (test->is_of_all) goes_on = (int)of_first(goes_on);
    }
}

/* The keys of memory that is registered. */
struct keys {
    acp_atkey_t mine, offered;
};

static struct keys open_memory(void)
{
    struct keys keys = {acp_register_memory(mine, MEMORY, 0), ACP_ATKEY_NULL};
    acp_ga_t *told = acp_query_address(acp_query_starter_ga(rank));
    own = acp_query_ga(keys.mine, mine);
    told[2] = acp_query_starter_ga(rank) + PAGE;
    if (is_registered) {
        keys.offered = acp_register_memory(registered, MEMORY, 0);
        told[2] = acp_query_ga(keys.offered, registered);
    }
    offered = acp_query_address(told[2]);
    memset(mine, 0, MEMORY);
    memset(offered, 0, MEMORY);
    acp_sync();
    for (int owner = 0; owner < size; owner++) {
        acp_ga_t into = acp_query_starter_ga(rank) + 24, from = acp_query_starter_ga(owner) + 16;
        acp_complete(acp_copy(into, from, 8, AT_ONCE));
        at[owner] = told[3];
    }
    done = 0;
    acp_sync();
    return keys;
}

static void close_memory(struct keys keys)
{
    acp_unregister_memory(keys.mine);
    if (keys.offered != ACP_ATKEY_NULL) acp_unregister_memory(keys.offered);
}

/* Whether the memory of this rank is not what it must be. */
static int differs(const struct test *test)
{
    /* Rank 0 accesses its own operands as its own memory; the others access what it offers. */
    int64_t *number = second(rank == 0 && !test->is_of_all ? mine : offered);
    int64_t found = bytes == 4 ? *(int32_t *)(void *)number : *number;
    int64_t expected = bytes == 4 ? (int32_t)done : done;
    if (test->left_over == COUNT_AT_TARGET && rank == target) return found != expected;
    if (test->left_over == COUNT_AT_ZERO && rank == 0) return found != expected;
    return 0;
}

/* Of copies: whether one more arrives. */
static int is_lost(const struct test *test)
{
    int is_put = strncmp(test->name, "put", 3) == 0 || strcmp(test->name, "round") == 0;
    int is_get = strncmp(test->name, "get", 3) == 0;
    int from = is_put ? 0 : target, to = is_put ? target : is_get ? 0 : third;
    char *memory = rank == 0 ? mine : offered;
    if (rank == from) memory[bytes - 1] = 77;
    acp_sync();
    if (rank == 0) test->run(1);
    acp_sync();
    return rank == to && memory[ROOM + bytes - 1] != 77;
}

static void point(const struct test *test, double begin)
{
    char name[64];
    const char *status = "ok";
    snprintf(name, sizeof name, "%s%s", is_registered ? "registered-" : "", test->name);
    struct figure figure = {.test = name, .unit = test->unit, .ranks = size, .bytes = bytes};
    figure.larger_is_better = strcmp(test->unit, "us") != 0;
    if (of_first(seconds() - begin > budget_s)) {
        status = "budget";
    } else {
        struct keys keys = open_memory();
        measure(test, &figure);
        /* Rank 0 alone knows how many there were. */
        done = of_first(done);
        int is_wrong = test->left_over == COPIED ? is_lost(test) : differs(test);
        int64_t *wrong = acp_query_address(acp_query_starter_ga(rank) + 32);
        wrong[0] = 0;
        acp_sync();
        acp_ga_t total = acp_query_starter_ga(0) + 32;
        acp_complete(acp_add8(acp_query_starter_ga(rank) + 40, total, (uint64_t)is_wrong, AT_ONCE));
        acp_sync();
        if (rank == 0 && wrong[0] > 0) status = "wrong";
        close_memory(keys);
    }
    if (rank == 0) print_figure(&figure, status);
}

static int is_named(const char *name, char **words)
{
    for (; *words; words++) {
        int of_registered = strncmp(*words, "registered-", 11) == 0;
        if (of_registered == is_registered && strcmp(*words + 11 * of_registered, name) == 0) return 1;
    }
    return 0;
}

static void run(char **words)
{
    double begin = seconds();
    for (is_registered = 0; is_registered < 2; is_registered++) {
        for (int test = 0; test < TESTS; test++) {
            bytes = tests[test].bytes;
            if (is_named(tests[test].name, words)) point(&tests[test], begin);
        }
        for (int test = 0; test < SIZED && is_named("sizes", words); test++)
            for (bytes = 1; bytes <= LONGEST; bytes *= 2) point(&sized[test], begin);
    }
}

int main(int argc, char **argv)
{
    int pinned = 0, count = 3;
    char room[32], *sizes[] = {argv[0], "--acp-size-smem", room, NULL}, **of_acp = sizes;
    snprintf(room, sizeof room, "%d", MEMORY + PAGE);
    if (acp_init(&count, &of_acp) != 0) return 2;
    for (int option; (option = getopt(argc, argv, "t:b:p")) != -1;) {
        if (option == 't') point_s = atof(optarg) * 1e-3;
        else if (option == 'b') budget_s = atof(optarg);
        else if (option == 'p') pinned = 1;
        else fail("wrong arguments; see the head of benches/acp.c");
    }
    if (optind == argc || point_s <= 0) fail("wrong arguments; see the head of benches/acp.c");
    rank = acp_rank();
    size = acp_procs();
    if (size < 2) fail("two ranks or more are needed");
    target = 1;
    third = size > 2 ? 2 : 1;
    if (pinned && !confine(rank % (int)sysconf(_SC_NPROCESSORS_ONLN))) fail("no such processor");
    at = calloc((size_t)size, sizeof *at);
    mine = aligned_alloc(PAGE, MEMORY);
    registered = aligned_alloc(PAGE, MEMORY);
    if (!at || !mine || !registered) fail("no memory");
    run(argv + optind);
    acp_finalize();
    free(mine);
    free(registered);
    free(at);
    return 0;
}
