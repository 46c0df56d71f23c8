/* Cost of one-sided communication of any MPI library with the C interface of MPI 3.
 *
 *   mpirun -n N windows [-t MS] [-b SECONDS] [-p] TEST...
 *
 *   -t   milliseconds for one figure (25)       -b   seconds for all of them (no limit)
 *   -p   confine rank r to processor r modulo their number
 *
 * A TEST is one of those below, or `allocated` for all. Each is measured with memory of
 * MPI_Win_allocate; `created-` before a name stands for MPI_Win_create, and `created` for all of these.
 *
 *   put, get             rank 0: 8 bytes at rank 1, and a flush, in an epoch of MPI_Win_lock_all
 *   accumulate           the same with MPI_SUM
 *   fetch_and_op, compare_and_swap   the same, and the flush
 *   put_stream           1 MiB and a flush; counted in bytes
 *   contended            all ranks fetch and add at rank 0; operations of all together
 *   lock                 rank 0: an exclusive lock of rank 1, and its end
 *   lock_put             the same with a put of 8 bytes
 *   fence                all ranks, without operations
 *   pscw                 a ring: exposed to the left, access to the right, 8 bytes put
 *   beside               8 KiB put and flushed while rank 1 computes outside of MPI for 1 ms
 *   beside_lock          the same by lock, put, unlock
 *   make                 a window of 64 KiB made and freed
 *
 * All ranks that have nothing to do wait in a collective call. The data of each test are checked at
 * its end. Lines: see measure.h; the first one is the library. */
#include "measure.h"
#include <mpi.h>
#include <stdint.h>
#include <unistd.h>

enum {
    LONG = 1 << 20,
    PUT_BESIDE = 8192,
    SMALL = 65536,
    ROOM = LONG,
    POINT_WINDOWS = 8,
    WINDOWS_MIN = 3,
    WARM_TURNS = 3
};

static int rank, size, target;
static MPI_Comm control;
static MPI_Win win;
static int64_t *memory; /* of the window */
static int64_t *buffer;
static int64_t done; /* operations of all ranks in this test */
static MPI_Group to_right, from_left;
static double point_s = 0.025, budget_s = 1e9;
static int is_created;

static void fail(const char *why)
{
    fprintf(stderr, "windows: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

#define TRY(call)                                        \
    do {                                                 \
        int code_ = (call);                              \
        if (code_ != MPI_SUCCESS) return code_;          \
    } while (0)

static int puts_of(int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        *buffer = done + i + 1;
        TRY(MPI_Put(buffer, 1, MPI_INT64_T, target, 0, 1, MPI_INT64_T, win));
        TRY(MPI_Win_flush(target, win));
    }
    return MPI_SUCCESS;
}

static int gets(int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        TRY(MPI_Get(buffer, 1, MPI_INT64_T, target, 0, 1, MPI_INT64_T, win));
        TRY(MPI_Win_flush(target, win));
        if (*buffer != 0) return MPI_ERR_OTHER;
    }
    return MPI_SUCCESS;
}

static int accumulates(int64_t count)
{
    *buffer = 1;
    for (int64_t i = 0; i < count; i++) {
        TRY(MPI_Accumulate(buffer, 1, MPI_INT64_T, target, 0, 1, MPI_INT64_T, MPI_SUM, win));
        TRY(MPI_Win_flush(target, win));
    }
    return MPI_SUCCESS;
}

static int adds(int64_t count, int at)
{
    int64_t one = 1, found;
    for (int64_t i = 0; i < count; i++) {
        TRY(MPI_Fetch_and_op(&one, &found, MPI_INT64_T, at, 0, MPI_SUM, win));
        TRY(MPI_Win_flush(at, win));
    }
    return MPI_SUCCESS;
}

static int fetches(int64_t count) { return adds(count, target); }

static int contended(int64_t count) { return adds(count, 0); }

static int swaps(int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t old = done + i, new = old + 1, found;
        TRY(MPI_Compare_and_swap(&new, &old, &found, MPI_INT64_T, target, 0, win));
        TRY(MPI_Win_flush(target, win));
    }
    return MPI_SUCCESS;
}

static int long_puts(int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        *buffer = done + i + 1;
        TRY(MPI_Put(buffer, LONG, MPI_BYTE, target, 0, LONG, MPI_BYTE, win));
        TRY(MPI_Win_flush(target, win));
    }
    return MPI_SUCCESS;
}

static int locks(int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        TRY(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
        TRY(MPI_Win_unlock(target, win));
    }
    return MPI_SUCCESS;
}

static int locked_puts(int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        *buffer = done + i + 1;
        TRY(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
        TRY(MPI_Put(buffer, 1, MPI_INT64_T, target, 0, 1, MPI_INT64_T, win));
        TRY(MPI_Win_unlock(target, win));
    }
    return MPI_SUCCESS;
}

static int fences(int64_t count)
{
    for (int64_t i = 0; i < count; i++) TRY(MPI_Win_fence(0, win));
    return MPI_SUCCESS;
}

static int posts_and_starts(int64_t count)
{
    int right = (rank + 1) % size;
    for (int64_t i = 0; i < count; i++) {
        *buffer = done + i + 1;
        TRY(MPI_Win_post(from_left, 0, win));
        TRY(MPI_Win_start(to_right, 0, win));
        TRY(MPI_Put(buffer, 1, MPI_INT64_T, right, 0, 1, MPI_INT64_T, win));
        TRY(MPI_Win_complete(win));
        TRY(MPI_Win_wait(win));
    }
    return MPI_SUCCESS;
}

static int makes(int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        MPI_Win made;
        void *base;
        if (is_created) TRY(MPI_Win_create(buffer, SMALL, 1, MPI_INFO_NULL, control, &made));
        else TRY(MPI_Win_allocate(SMALL, 1, MPI_INFO_NULL, control, &base, &made));
        TRY(MPI_Win_free(&made));
    }
    return MPI_SUCCESS;
}

static void compute(double for_s)
{
    double end = seconds() + for_s;
    while (seconds() < end) {}
}

static int beside(int64_t count, int by_lock)
{
    (void)count;
    *buffer = done + 1;
    if (by_lock) TRY(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
    TRY(MPI_Put(buffer, PUT_BESIDE, MPI_BYTE, target, 0, PUT_BESIDE, MPI_BYTE, win));
    return by_lock ? MPI_Win_unlock(target, win) : MPI_Win_flush(target, win);
}

static int puts_beside(int64_t count) { return beside(count, 0); }

static int locks_beside(int64_t count) { return beside(count, 1); }

enum actors { ONE, ALL, BESIDE };
/* What the memory of the rank that is written has at the end. */
enum left_over { NOTHING, COUNT_AT_TARGET, COUNT_AT_ZERO, COUNT_EVERYWHERE };

static const struct test {
    const char *name, *unit;
    long bytes;
    int (*run)(int64_t count);
    enum actors actors;
    int in_epoch; /* of MPI_Win_lock_all */
    enum left_over left_over;
} tests[] = {
    {"put", "us", 8, puts_of, ONE, 1, COUNT_AT_TARGET},
    {"get", "us", 8, gets, ONE, 1, NOTHING},
    {"accumulate", "us", 8, accumulates, ONE, 1, COUNT_AT_TARGET},
    {"fetch_and_op", "us", 8, fetches, ONE, 1, COUNT_AT_TARGET},
    {"compare_and_swap", "us", 8, swaps, ONE, 1, COUNT_AT_TARGET},
    {"put_stream", "MB/s", LONG, long_puts, ONE, 1, COUNT_AT_TARGET},
    {"contended", "Mop/s", 8, contended, ALL, 1, COUNT_AT_ZERO},
    {"lock", "us", 0, locks, ONE, 0, NOTHING},
    {"lock_put", "us", 8, locked_puts, ONE, 0, COUNT_AT_TARGET},
    {"fence", "us", 0, fences, ALL, 0, NOTHING},
    {"pscw", "us", 8, posts_and_starts, ALL, 0, COUNT_EVERYWHERE},
    {"beside", "us", PUT_BESIDE, puts_beside, BESIDE, 1, COUNT_AT_TARGET},
    {"beside_lock", "us", PUT_BESIDE, locks_beside, BESIDE, 0, COUNT_AT_TARGET},
    {"make", "us", 0, makes, ALL, 0, NOTHING},
};
enum { TESTS = sizeof tests / sizeof *tests };

/* The largest of all ranks' numbers, on all of them. Ranks wait for each other in it. */
static double largest(double own)
{
    double all;
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_MAX, control);
    return all;
}

/* Seconds that `count` turns take; the same answer on each rank. */
static double timed(const struct test *test, int64_t count)
{
    double begin = seconds(), took = 0;
    int code = MPI_SUCCESS, acts = test->actors == ALL || rank == 0;
    if (test->actors == BESIDE) {
        MPI_Barrier(control);
        /* The target computes already when the put begins. */
        compute(rank == target ? 1e-3 : rank == 0 ? 1e-4 : 0);
        begin = seconds();
    }
    if (acts) {
        code = test->run(count);
        took = seconds() - begin;
    }
    if (code != MPI_SUCCESS) fail("a call failed which did not at first");
    done += test->left_over == COUNT_AT_ZERO ? count * size : count;
    return largest(took);
}

static double in_unit(const struct test *test, double each_s)
{
    if (strcmp(test->unit, "MB/s") == 0) return test->bytes / each_s * 1e-6;
    if (strcmp(test->unit, "Mop/s") == 0) return size / each_s * 1e-6;
    return each_s * 1e6;
}

static void measure(const struct test *test, struct figure *figure)
{
    double begin = seconds(), wanted_s = point_s / POINT_WINDOWS;
    int64_t count = 1;
    for (int turn = 0; turn < WARM_TURNS; turn++) timed(test, 1);
    if (test->actors != BESIDE) {
        double took = timed(test, count);
        while (took < wanted_s / 4) {
            count *= 4;
            took = timed(test, count);
        }
        count = took < wanted_s ? (int64_t)(count * wanted_s / took) : count;
    }
    for (double used = 0; figure->windows < WINDOWS_MAX;) {
        if (figure->windows >= WINDOWS_MIN && used >= point_s) break;
        figure->values[figure->windows++] = in_unit(test, timed(test, count) / count);
        used = largest(seconds() - begin);
    }
}

/* Makes the window; an error known to all ranks, or none. */
static int open_window(void)
{
    int code, class = MPI_SUCCESS;
    if (is_created) {
        memory = malloc(ROOM);
        code = MPI_Win_create(memory, ROOM, 8, MPI_INFO_NULL, control, &win);
    } else {
        code = MPI_Win_allocate(ROOM, 8, MPI_INFO_NULL, control, &memory, &win);
    }
    if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
    class = (int)largest(class);
    if (class != MPI_SUCCESS) return class;
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    memset(memory, 0, ROOM);
    memset(buffer, 0, ROOM);
    done = 0;
    return class;
}

static void close_window(void)
{
    MPI_Win_free(&win);
    if (is_created) free(memory);
}

/* Whether the memory of this rank is not what it must be. */
static int differs(const struct test *test)
{
    if (test->left_over == COUNT_AT_TARGET && rank == target) return *memory != done;
    if (test->left_over == COUNT_AT_ZERO && rank == 0) return *memory != done;
    if (test->left_over == COUNT_EVERYWHERE) return *memory != done;
    return 0;
}

static void point(const struct test *test, double begin)
{
    char name[64], status[64] = "ok";
    snprintf(name, sizeof name, "%s%s", is_created ? "created-" : "", test->name);
    struct figure figure = {.test = name, .unit = test->unit, .ranks = size, .bytes = test->bytes};
    figure.larger_is_better = strcmp(test->unit, "us") != 0;
    if (largest(seconds() - begin) > budget_s) {
        strcpy(status, "budget");
    } else {
        int class = open_window();
        if (class == MPI_ERR_UNSUPPORTED_OPERATION) strcpy(status, "unsupported");
        else if (class != MPI_SUCCESS) snprintf(status, sizeof status, "error-%d", class);
        else {
            MPI_Barrier(control);
            if (test->in_epoch) MPI_Win_lock_all(0, win);
            measure(test, &figure);
            if (test->in_epoch) MPI_Win_unlock_all(win);
            MPI_Barrier(control);
            if (largest(differs(test)) > 0) strcpy(status, "wrong");
            close_window();
        }
    }
    if (rank == 0) print_figure(&figure, status);
}

static int is_named(const struct test *test, char **words)
{
    for (; *words; words++) {
        const char *name = *words;
        if (strcmp(name, is_created ? "created" : "allocated") == 0) return 1;
        int of_created = strncmp(name, "created-", 8) == 0;
        if (of_created == is_created && strcmp(name + 8 * of_created, test->name) == 0) return 1;
    }
    return 0;
}

static void run(char **words)
{
    double begin = seconds();
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(library, &length);
    if (rank == 0) printf("library %.*s\n", (int)strcspn(library, "\n"), library);
    for (is_created = 0; is_created < 2; is_created++)
        for (int test = 0; test < TESTS; test++)
            if (is_named(&tests[test], words)) point(&tests[test], begin);
}

static void prepare(void)
{
    MPI_Group world;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2) fail("two ranks or more are needed");
    target = 1;
    MPI_Comm_dup(MPI_COMM_WORLD, &control);
    MPI_Comm_set_errhandler(control, MPI_ERRORS_RETURN);
    MPI_Comm_group(control, &world);
    MPI_Group_incl(world, 1, (int[]){(rank + 1) % size}, &to_right);
    MPI_Group_incl(world, 1, (int[]){(rank + size - 1) % size}, &from_left);
    MPI_Group_free(&world);
    buffer = malloc(ROOM);
    if (!buffer) fail("no memory");
}

int main(int argc, char **argv)
{
    int pinned = 0;
    MPI_Init(&argc, &argv);
    for (int option; (option = getopt(argc, argv, "t:b:p")) != -1;) {
        if (option == 't') point_s = atof(optarg) * 1e-3;
        else if (option == 'b') budget_s = atof(optarg);
        else if (option == 'p') pinned = 1;
        else fail("wrong arguments; see the head of benches/windows.c");
    }
    if (optind == argc || point_s <= 0) fail("wrong arguments; see the head of benches/windows.c");
    prepare();
    if (pinned && !confine(rank % (int)sysconf(_SC_NPROCESSORS_ONLN))) fail("no such processor");
    run(argv + optind);
    MPI_Group_free(&to_right);
    MPI_Group_free(&from_left);
    MPI_Comm_free(&control);
    MPI_Finalize();
    free(buffer);
    return 0;
}
