/* What it costs that processes come and go, on any MPI library.
 *
 *   mpirun -n 1 jobs [-t MS] spawn:COUNT...     MPI_Comm_spawn of COUNT children, until they are disconnected
 *   mpirun -n 2 jobs [-t MS] connect            accept and connect of two ranks, until they are disconnected
 *   mpirun -n 1 jobs accept FILE                the same of two jobs, which are started independently and
 *   mpirun -n 1 jobs connect FILE               find the port in FILE, and messages of both; the one that connects
 *                                               prints
 *   mpirun -n N jobs [-t MS] agree allreduce    MPIX_Comm_agree beside MPI_Allreduce, of one integer each
 *
 *   -t   milliseconds for one figure (25)
 *
 * The bytes of a spawn are the number of children. Before the first window, the processes that have met
 * exchange a number, and all take part in a reduction of two, which are checked. Lines: see measure.h; the
 * first one is the library. */
#include "measure.h"
#include <mpi.h>
#include <unistd.h>

#if defined(__has_include)
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#endif

enum { MEETINGS = 30, WINDOWS_MIN = 5, TAG = 1 };

static int rank, size;
static double point_s = 0.025;
/* MPICH opens a port only if the caller says that its name may be longer than MPICH's header does. */
static char port[4096];
static MPI_Info port_info;

#define TRY(call)                           \
    do {                                    \
        int error_ = (call);                \
        if (error_ != MPI_SUCCESS) return error_; \
    } while (0)

static void print_error(struct figure *figure, int error)
{
    char status[32];
    int class = error;
    MPI_Error_class(error, &class);
    snprintf(status, sizeof status, "error-%d", class);
    figure->windows = 0;
    print_figure(figure, status);
}

/* ---- processes that meet ---- */

/* The other side has sent what it must. */
static int exchange(MPI_Comm between, int *is_wrong)
{
    int mine = 41 + rank, other = 0;
    TRY(MPI_Sendrecv(&mine, 1, MPI_INT, 0, TAG, &other, 1, MPI_INT, 0, TAG, between, MPI_STATUS_IGNORE));
    *is_wrong |= other < 41 || other > 42;
    return MPI_SUCCESS;
}

/* Of the first process of the children; the others have no part in it. */
static int exchange_as_child(MPI_Comm parents)
{
    int is_wrong = 0;
    int result = rank == 0 ? exchange(parents, &is_wrong) : MPI_SUCCESS;
    return result != MPI_SUCCESS || is_wrong;
}

static int spawn(char *self, int children, int checks, int *is_wrong)
{
    char *words[] = {checks ? "child-that-talks" : "child", NULL};
    MPI_Comm between;
    TRY(MPI_Comm_spawn(self, words, children, MPI_INFO_NULL, 0, MPI_COMM_SELF, &between,
                       MPI_ERRCODES_IGNORE));
    if (checks) TRY(exchange(between, is_wrong));
    return MPI_Comm_disconnect(&between);
}

static void spawns(char *self, int children)
{
    struct figure figure = {.test = "spawn", .unit = "ms", .ranks = size, .bytes = children};
    int is_wrong = 0;
    double used_s = 0;
    int error = spawn(self, children, 1, &is_wrong);
    while (error == MPI_SUCCESS && figure.windows < WINDOWS_MAX &&
           (figure.windows < WINDOWS_MIN || used_s < 10 * point_s)) {
        double begin = seconds();
        error = spawn(self, children, 0, &is_wrong);
        double took = seconds() - begin;
        used_s += took;
        figure.values[figure.windows++] = took * 1e3;
    }
    if (error != MPI_SUCCESS)
        print_error(&figure, error);
    else
        print_figure(&figure, is_wrong ? "wrong" : "ok");
}

static int join(int accepts, MPI_Comm *between)
{
    if (accepts) return MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, between);
    return MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, between);
}

static int meet(int accepts, int checks, int *is_wrong)
{
    MPI_Comm between;
    TRY(join(accepts, &between));
    if (checks) TRY(exchange(between, is_wrong));
    return MPI_Comm_disconnect(&between);
}

/* Both sides meet this often; the one that connects prints. */
static void meetings(const char *test, int accepts)
{
    struct figure figure = {.test = test, .unit = "us", .ranks = 2};
    int is_wrong = 0;
    int error = meet(accepts, 1, &is_wrong);
    while (error == MPI_SUCCESS && figure.windows < MEETINGS) {
        double begin = seconds();
        error = meet(accepts, 0, &is_wrong);
        figure.values[figure.windows++] = (seconds() - begin) * 1e6;
    }
    if (accepts) return;
    if (error != MPI_SUCCESS)
        print_error(&figure, error);
    else
        print_figure(&figure, is_wrong ? "wrong" : "ok");
}

static void connect_ranks(void)
{
    if (rank == 0) MPI_Open_port(port_info, port);
    MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank < 2) meetings("connect", rank == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) MPI_Close_port(port);
}

/* Half of the time that a message of this many bytes takes there and back; the side that connects prints. */
static int messages(MPI_Comm between, int bytes, int accepts)
{
    struct figure figure = {.test = "jobs_latency", .unit = "us", .ranks = 2, .bytes = bytes};
    /* Both sides must take as many; long messages need fewer. */
    const int warm = bytes > 1 << 16 ? 40 : 200, each = bytes > 1 << 16 ? 5 : 100;
    char *data = calloc(1, bytes);
    int turns = warm;
    for (int window = 0; window <= MEETINGS; window++) {
        double begin = seconds();
        for (int turn = 0; turn < turns; turn++) {
            if (!accepts) TRY(MPI_Send(data, bytes, MPI_BYTE, 0, TAG, between));
            TRY(MPI_Recv(data, bytes, MPI_BYTE, 0, TAG, between, MPI_STATUS_IGNORE));
            if (accepts) TRY(MPI_Send(data, bytes, MPI_BYTE, 0, TAG, between));
        }
        if (window > 0) figure.values[figure.windows++] = (seconds() - begin) * 1e6 / (2 * turns);
        turns = each;
    }
    free(data);
    if (!accepts) print_figure(&figure, "ok");
    return MPI_SUCCESS;
}

static int messages_between_jobs(int accepts)
{
    MPI_Comm between;
    TRY(join(accepts, &between));
    TRY(messages(between, 8, accepts));
    TRY(messages(between, 1 << 20, accepts));
    return MPI_Comm_disconnect(&between);
}

/* The port goes through a file, which appears as a whole. */
static int connect_jobs(int accepts, const char *path)
{
    char unfinished[4096];
    snprintf(unfinished, sizeof unfinished, "%s.new", path);
    if (accepts) {
        MPI_Open_port(port_info, port);
        FILE *file = fopen(unfinished, "w");
        if (!file || fputs(port, file) < 0 || fclose(file) != 0 || rename(unfinished, path) != 0)
            return 1;
    } else {
        FILE *file;
        while (!(file = fopen(path, "r"))) usleep(1000);
        size_t length = fread(port, 1, sizeof port - 1, file);
        port[length] = '\0';
        fclose(file);
    }
    meetings("connect_jobs", accepts);
    int error = messages_between_jobs(accepts);
    if (accepts) MPI_Close_port(port);
    return error != MPI_SUCCESS;
}

/* ---- agreement ---- */

typedef int (*Call)(int *value);

static int reduce(int *value)
{
    int mine = *value;
    return MPI_Allreduce(&mine, value, 1, MPI_INT, MPI_BAND, MPI_COMM_WORLD);
}

#ifdef OMPI_HAVE_MPI_EXT_FTMPI
static int agree(int *value)
{
    return MPIX_Comm_agree(MPI_COMM_WORLD, value);
}
#else
#define agree NULL
#endif

/* Seconds that one of `count` calls takes, for the slowest rank. */
static double timed(Call call, long count, int *error)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = seconds(), slowest;
    for (long i = 0; i < count && *error == MPI_SUCCESS; i++) {
        int value = 1;
        *error = call(&value);
    }
    double took = (seconds() - begin) / count;
    MPI_Allreduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

static void agreement(const char *test, Call call)
{
    struct figure figure = {.test = test, .unit = "us", .ranks = size, .bytes = sizeof(int)};
    int error = MPI_SUCCESS, value = rank == size - 1 ? 6 : 7, is_wrong, any_wrong;
    if (!call) {
        if (rank == 0) print_figure(&figure, "unsupported");
        return;
    }
    error = call(&value);
    is_wrong = value != 6;
    long count = 1;
    double used_s = 0, each_s = timed(call, count, &error);
    while (error == MPI_SUCCESS && each_s * count < point_s / 8) {
        count *= 2;
        each_s = timed(call, count, &error);
    }
    while (error == MPI_SUCCESS && figure.windows < WINDOWS_MAX &&
           (figure.windows < WINDOWS_MIN || used_s < point_s)) {
        each_s = timed(call, count, &error);
        used_s += each_s * count;
        figure.values[figure.windows++] = each_s * 1e6;
    }
    MPI_Allreduce(&is_wrong, &any_wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank != 0) return;
    if (error != MPI_SUCCESS)
        print_error(&figure, error);
    else
        print_figure(&figure, any_wrong ? "wrong" : "ok");
}

static int wrong_words(void)
{
    fprintf(stderr, "jobs: wrong arguments; see the head of benches/jobs.c\n");
    return 2;
}

static int tests(char *self, int argc, char **argv)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    for (int option; (option = getopt(argc, argv, "t:")) != -1;)
        if (option != 't' || (point_s = atof(optarg) * 1e-3) <= 0) return wrong_words();
    int words = argc - optind;
    int accepts = words == 2 && strcmp(argv[optind], "accept") == 0;
    MPI_Get_library_version(library, &length);
    if (rank == 0 && !accepts) printf("library %.*s\n", (int)strcspn(library, "\n"), library);
    if (words == 0) return wrong_words();
    if (accepts || (words == 2 && strcmp(argv[optind], "connect") == 0))
        return connect_jobs(accepts, argv[optind + 1]);
    for (char **word = argv + optind; *word; word++) {
        if (strncmp(*word, "spawn:", 6) == 0 && size == 1 && atoi(*word + 6) > 0)
            spawns(self, atoi(*word + 6));
        else if (strcmp(*word, "connect") == 0 && size >= 2)
            connect_ranks();
        else if (strcmp(*word, "agree") == 0)
            agreement("agree", agree);
        else if (strcmp(*word, "allreduce") == 0)
            agreement("allreduce", reduce);
        else
            return wrong_words();
    }
    return 0;
}

int main(int argc, char **argv)
{
    MPI_Comm parents;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&parents);
    MPI_Info_create(&port_info);
    MPI_Info_set(port_info, "port_name_size", "4096");
    int code = 0;
    if (parents != MPI_COMM_NULL) {
        if (argc > 1 && strcmp(argv[1], "child-that-talks") == 0) code = exchange_as_child(parents);
        MPI_Comm_disconnect(&parents);
    } else {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        code = tests(argv[0], argc, argv);
    }
    MPI_Info_free(&port_info);
    MPI_Finalize();
    return code;
}
