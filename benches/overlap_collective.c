/* How much of a long collective operation hides behind an application that calls no MPI, on any MPI
 * library of version 3, or 4 for persistent operations.
 *
 *   mpirun -n N overlap_collective [-m BYTES] [-w WINDOWS] [-p PROCESSOR] [-d DUTY] [-c MS] [-s MS]
 *
 *   -m   bytes of the message, and of all blocks of an allgather together (1 MiB)
 *   -w   windows of each figure (15)
 *   -p   the processor that all ranks are confined to after MPI_Init, and compute there; the
 *        library's own threads stay where they are. Else ranks wait for something that is not MPI
 *   -d   how long the application takes, in times of the blocking operation (2)
 *   -c   how many milliseconds it takes at least (1; 30 if it computes: ranks that share a processor
 *        get it in turns of some milliseconds, and none can begin what others wait for before)
 *   -s   measures the time to solution instead: so many milliseconds of computing on each rank, wherever
 *        the system lets it run, and the operation, in turns
 *
 * For each operation (bcast, allgather) and form (nonblocking, persistent) three figures, of the rank
 * for which they are worst, medians of the windows; APPLICATION is sleep or compute:
 *
 *   OPERATION_FORM_APPLICATION         how much of the blocking operation's time the calls do not
 *                                      take, which start the operation and end it
 *   ..._calls                          the time in these calls
 *   ..._whole                          from the start to the end, without the application's own time
 *
 * and OPERATION_blocking, the time of the blocking operation. With -s: OPERATION_FORM_solution, the time of
 * turns in which the operation is started before the computation and ended after it, to that of turns with the
 * blocking operation after the computation. The data of each operation are checked.
 * Lines: see measure.h. */
#include "measure.h"
#include <mpi.h>

static int rank, size;
static char *outgoing, *incoming;
static unsigned turn;

static struct {
    long bytes, windows;
    int processor;
    double duty, least_s, solution_s;
} options = {1 << 20, 15, -1, 2, 0, 0};

enum { TURNS = 5 }; /* of a window with -s */

enum { BCAST, ALLGATHER, OPERATIONS };
enum { BLOCKING, NONBLOCKING, PERSISTENT };
static const char *const operations[] = {"bcast", "allgather"};

/* ---- applications ---- */

static double application_s;
static double step_s; /* of a computation */

static void nap(void)
{
    struct timespec left = {(time_t)application_s,
                            (application_s - (time_t)application_s) * 1e9};
    while (nanosleep(&left, &left) != 0) continue;
}

static void compute(void)
{
    volatile double sum = 1;
    for (long step = application_s / step_s; step > 0; step--) sum = sum * 0.999999 + 0.000001;
}

/* Alone on its processor, one rank after the other. */
static void calibrate(void)
{
    for (int turn_of = 0; turn_of < size; turn_of++) {
        if (turn_of == rank) {
            application_s = step_s = 1;
            volatile double sum = 1;
            long steps = 2000000;
            double begin = seconds();
            for (long step = 0; step < steps; step++) sum = sum * 0.999999 + 0.000001;
            step_s = (seconds() - begin) / steps;
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* ---- operations ---- */

static long block(void)
{
    return options.bytes / size;
}

static void begin(int operation, int form, MPI_Request *request)
{
    int bytes = operation == BCAST ? options.bytes : block();
    switch (form * OPERATIONS + operation) {
    case BLOCKING * OPERATIONS + BCAST:
        MPI_Bcast(incoming, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
        break;
    case BLOCKING * OPERATIONS + ALLGATHER:
        MPI_Allgather(outgoing, bytes, MPI_BYTE, incoming, bytes, MPI_BYTE, MPI_COMM_WORLD);
        break;
    case NONBLOCKING * OPERATIONS + BCAST:
        MPI_Ibcast(incoming, bytes, MPI_BYTE, 0, MPI_COMM_WORLD, request);
        break;
    case NONBLOCKING * OPERATIONS + ALLGATHER:
        MPI_Iallgather(outgoing, bytes, MPI_BYTE, incoming, bytes, MPI_BYTE, MPI_COMM_WORLD,
                       request);
        break;
    default: MPI_Start(request); break;
    }
}

static int make(int operation, MPI_Request *request)
{
#if MPI_VERSION >= 4
    int bytes = operation == BCAST ? options.bytes : block();
    if (operation == BCAST)
        return MPI_Bcast_init(incoming, bytes, MPI_BYTE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, request);
    return MPI_Allgather_init(outgoing, bytes, MPI_BYTE, incoming, bytes, MPI_BYTE, MPI_COMM_WORLD,
                              MPI_INFO_NULL, request);
#else
    (void)operation;
    (void)request;
    return MPI_ERR_OTHER;
#endif
}

static char mark(int from)
{
    return (char)(turn * 7 + from * 3 + 1);
}

static void fill(int operation)
{
    turn++;
    memset(incoming, operation == BCAST && rank == 0 ? mark(0) : 0, options.bytes);
    memset(outgoing, mark(rank), block());
}

static int is_right(int operation)
{
    int pieces = operation == BCAST ? 1 : size;
    long piece = operation == BCAST ? options.bytes : block();
    for (int from = 0; from < pieces; from++)
        for (long at = 0; at < piece; at++)
            if (incoming[from * piece + at] != mark(from)) return 0;
    return 1;
}

/* ---- figures ---- */

static struct figure figure_of(const char *name, const char *unit)
{
    struct figure figure = {.test = name, .unit = unit, .ranks = size, .bytes = options.bytes};
    figure.windows = options.windows;
    return figure;
}

/* Of each window the rank for which it is largest, or least. */
static void report(struct figure *figure, MPI_Op worst, int good, const char *problem)
{
    int all;
    double values[WINDOWS_MAX];
    MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(figure->values, values, figure->windows, MPI_DOUBLE, worst, MPI_COMM_WORLD);
    memcpy(figure->values, values, sizeof values);
    if (rank == 0) print_figure(figure, problem ? problem : all ? "ok" : "wrong");
}

static double blocking_s[OPERATIONS];

static void blocking(int operation)
{
    char name[64];
    int good = 1;
    snprintf(name, sizeof name, "%s_blocking", operations[operation]);
    struct figure figure = figure_of(name, "us");
    for (int window = -2; window < figure.windows; window++) {
        fill(operation);
        MPI_Barrier(MPI_COMM_WORLD);
        double start = seconds();
        begin(operation, BLOCKING, NULL);
        double took = seconds() - start;
        if (window >= 0) figure.values[window] = took * 1e6;
        good &= is_right(operation);
    }
    report(&figure, MPI_MAX, good, NULL);
    qsort(figure.values, figure.windows, sizeof figure.values[0], compare_values);
    blocking_s[operation] = figure.values[(figure.windows - 1) / 2] * 1e-6;
    MPI_Bcast(&blocking_s[operation], 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static void overlap(int operation, int form, const char *application, void (*run)(void))
{
    char names[3][64];
    const char *const forms[] = {"blocking", "nonblocking", "persistent"};
    const char *const parts[] = {"", "_calls", "_whole"};
    for (int part = 0; part < 3; part++)
        snprintf(names[part], sizeof names[part], "%s_%s_%s%s", operations[operation], forms[form],
                 application, parts[part]);
    struct figure hidden = figure_of(names[0], "%");
    struct figure calls = figure_of(names[1], "us"), whole = figure_of(names[2], "us");
    MPI_Request request = MPI_REQUEST_NULL;
    int good = 1;
    hidden.larger_is_better = 1;
    if (form == PERSISTENT && make(operation, &request) != MPI_SUCCESS) {
        hidden.windows = 0;
        if (rank == 0) print_figure(&hidden, "unsupported");
        return;
    }
    application_s = blocking_s[operation] * options.duty;
    if (application_s < options.least_s) application_s = options.least_s;
    for (int window = -2; window < hidden.windows; window++) {
        fill(operation);
        MPI_Barrier(MPI_COMM_WORLD);
        double first = seconds();
        begin(operation, form, &request);
        double started = seconds();
        run();
        double computed = seconds();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        double last = seconds();
        good &= is_right(operation);
        if (window < 0) continue;
        double inside = started - first + last - computed;
        calls.values[window] = inside * 1e6;
        whole.values[window] = (last - first - application_s) * 1e6;
        hidden.values[window] = 100 * (1 - inside / blocking_s[operation]);
    }
    if (form == PERSISTENT) MPI_Request_free(&request);
    report(&hidden, MPI_MIN, good, NULL);
    report(&calls, MPI_MAX, good, NULL);
    report(&whole, MPI_MAX, good, NULL);
}

/* Time of turns. */
static double solve(int operation, int form, MPI_Request *request)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double first = seconds();
    for (int done = 0; done < TURNS; done++) {
        if (form != BLOCKING) begin(operation, form, request);
        compute();
        if (form == BLOCKING) begin(operation, form, NULL);
        else MPI_Wait(request, MPI_STATUS_IGNORE);
    }
    double mine = seconds() - first, all;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

static void solution(int operation, int form)
{
    char name[64];
    const char *const forms[] = {"blocking", "nonblocking", "persistent"};
    snprintf(name, sizeof name, "%s_%s_solution", operations[operation], forms[form]);
    struct figure figure = figure_of(name, "x");
    MPI_Request request = MPI_REQUEST_NULL;
    int good = 1;
    if (form == PERSISTENT && make(operation, &request) != MPI_SUCCESS) {
        figure.windows = 0;
        if (rank == 0) print_figure(&figure, "unsupported");
        return;
    }
    application_s = options.solution_s;
    for (int window = -2; window < figure.windows; window++) {
        fill(operation);
        double started = solve(operation, form, &request);
        good &= is_right(operation);
        double blocking = solve(operation, BLOCKING, NULL);
        if (window >= 0) figure.values[window] = started / blocking;
    }
    if (form == PERSISTENT) MPI_Request_free(&request);
    report(&figure, MPI_MAX, good, NULL);
}

static int fail(const char *why, const char *what)
{
    if (rank == 0) fprintf(stderr, "overlap_collective: %s%s\n", why, what);
    MPI_Abort(MPI_COMM_WORLD, 2);
    return 2;
}

int main(int count, char **words)
{
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int word = 1; word + 1 < count; word += 2) {
        double value = atof(words[word + 1]);
        switch (words[word][1]) {
        case 'm': options.bytes = value; break;
        case 'w': options.windows = value; break;
        case 'p': options.processor = value; break;
        case 'd': options.duty = value; break;
        case 'c': options.least_s = value / 1e3; break;
        case 's': options.solution_s = value / 1e3; break;
        default: return fail("no such option: ", words[word]);
        }
    }
    if (options.least_s == 0) options.least_s = options.processor < 0 ? 1e-3 : 30e-3;
    if (options.bytes < size || options.windows < 1 || options.windows > WINDOWS_MAX)
        return fail("sizes are positive, and windows at most 64", "");
    if (options.processor >= 0 && !confine(options.processor))
        return fail("there is no such processor", "");
    outgoing = malloc(options.bytes);
    incoming = malloc(options.bytes);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    calibrate();
    for (int operation = 0; operation < OPERATIONS; operation++) {
        if (options.solution_s == 0) blocking(operation);
        for (int form = NONBLOCKING; form <= PERSISTENT; form++) {
            if (options.solution_s > 0)
                solution(operation, form);
            else if (options.processor < 0)
                overlap(operation, form, "sleep", nap);
            else
                overlap(operation, form, "compute", compute);
        }
    }
    MPI_Finalize();
    return 0;
}
