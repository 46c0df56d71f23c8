/* What access to files costs, on any MPI library.
 *
 *   mpirun -n N files [-t MS] TEST...
 *
 *   -t   milliseconds for one figure (25)
 *
 * A test is one of those below, or all: with disk_ before its name in $TMPDIR or /tmp, else in /dev/shm. Data
 * of 64 MiB is in the file in all; the bytes of a figure are those of one call of one rank. Times are those of the
 * slowest rank, per call. Data is written, read back and checked before the first window: a read finds what the same
 * library has written. Lines: see measure.h; the first one is the library. */
#include "measure.h"
#include <mpi.h>
#include <unistd.h>

enum { ALL_BYTES = 64 << 20, TURN = 4096, APPEND = 1024, PART = 64, STEP = 256, SIEVED = 4 << 20 };
enum { WINDOWS_MIN = 5 };

static int rank, size;
static double point_s = 0.025;
static char name[512];
static char *buffer;
static MPI_File file;
static long share;          /* bytes of a rank */
static MPI_Offset begin_at; /* the offset of its data in the view */

static void fail(const char *why)
{
    fprintf(stderr, "files: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

static void must(int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (code == MPI_SUCCESS) return;
    MPI_Error_string(code, text, &length);
    fail(text);
}

static double largest(double mine)
{
    double all;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

static void open_file(void)
{
    must(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
}

/* Blocks of `block` bytes, the ranks in turn. */
static void in_turn(int block)
{
    MPI_Datatype own, tile;
    MPI_Type_contiguous(block, MPI_BYTE, &own);
    MPI_Type_create_resized(own, 0, (MPI_Aint)block * size, &tile);
    MPI_Type_commit(&tile);
    must(MPI_File_set_view(file, (MPI_Offset)block * rank, MPI_BYTE, tile, "native", MPI_INFO_NULL));
    MPI_Type_free(&own);
    MPI_Type_free(&tile);
}

/* Few bytes of every step, the ranks one after the other. */
static void with_gaps(void)
{
    MPI_Datatype own, tile;
    MPI_Type_contiguous(PART, MPI_BYTE, &own);
    MPI_Type_create_resized(own, 0, STEP, &tile);
    MPI_Type_commit(&tile);
    must(MPI_File_set_view(file, (MPI_Offset)rank * SIEVED, MPI_BYTE, tile, "native", MPI_INFO_NULL));
    MPI_Type_free(&own);
    MPI_Type_free(&tile);
}

static void plain(void)
{
    must(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
}

/* ---- one call ---- */

static void write_all(long bytes)
{
    must(MPI_File_write_at_all(file, begin_at, buffer, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void read_all(long bytes)
{
    must(MPI_File_read_at_all(file, begin_at, buffer, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void write_alone(long bytes)
{
    must(MPI_File_write_at(file, begin_at, buffer, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void read_alone(long bytes)
{
    must(MPI_File_read_at(file, begin_at, buffer, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void write_shared(long bytes)
{
    must(MPI_File_write_shared(file, buffer, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void write_ordered(long bytes)
{
    must(MPI_File_write_ordered(file, buffer, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void open_and_close(long bytes)
{
    (void)bytes;
    must(MPI_File_close(&file));
    open_file();
}

static void make_and_delete(long bytes)
{
    (void)bytes;
    must(MPI_File_close(&file));
    if (rank == 0) must(MPI_File_delete(name, MPI_INFO_NULL));
    MPI_Barrier(MPI_COMM_WORLD);
    open_file();
}

/* ---- tests ---- */

enum layout { PLAIN, TURNS, GAPS };
enum amount { SHARE, SHORT, SIEVE, NONE };

static const struct test {
    const char *name;
    enum layout layout;
    enum amount amount;
    void (*call)(long bytes);
    /* What puts data into the file, and reads it again: the call is one of them. */
    void (*write)(long bytes);
    void (*read)(long bytes);
    int appends;
} tests[] = {
    {"write_all", PLAIN, SHARE, write_all, write_all, read_all, 0},
    {"read_all", PLAIN, SHARE, read_all, write_all, read_all, 0},
    {"turns_write_all", TURNS, SHARE, write_all, write_all, read_all, 0},
    {"turns_read_all", TURNS, SHARE, read_all, write_all, read_all, 0},
    {"turns_write", TURNS, SHARE, write_alone, write_alone, read_alone, 0},
    {"turns_read", TURNS, SHARE, read_alone, write_alone, read_alone, 0},
    {"gaps_write", GAPS, SIEVE, write_alone, write_alone, read_alone, 0},
    {"gaps_read", GAPS, SIEVE, read_alone, write_alone, read_alone, 0},
    {"write", PLAIN, SHORT, write_alone, NULL, NULL, 0},
    {"write_shared", PLAIN, SHORT, write_shared, NULL, NULL, 1},
    {"write_ordered", PLAIN, SHORT, write_ordered, NULL, NULL, 1},
    {"open", PLAIN, NONE, open_and_close, NULL, NULL, 0},
    {"create", PLAIN, NONE, make_and_delete, NULL, NULL, 0},
};
enum { TESTS = sizeof tests / sizeof tests[0] };

static long bytes_of(const struct test *test)
{
    switch (test->amount) {
    case SHARE: return share;
    case SHORT: return APPEND;
    case SIEVE: return (long)SIEVED / STEP * PART;
    default: return 0;
    }
}

static char letter(long at)
{
    return (char)(at * 7 + at / 4096 + rank);
}

/* Whether what is read is what was written. */
static int differs(const struct test *test, long bytes)
{
    if (!test->write || bytes <= 0) return 0;
    for (long at = 0; at < bytes; at++) buffer[at] = letter(at);
    test->write(bytes);
    memset(buffer, 0, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    test->read(bytes);
    for (long at = 0; at < bytes; at++)
        if (buffer[at] != letter(at)) return 1;
    return 0;
}

static double per_call(const struct test *test, long bytes, int calls)
{
    if (test->appends) must(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = seconds();
    for (int call = 0; call < calls; call++) test->call(bytes);
    return largest(seconds() - begin) / calls;
}

static void name_file(int on_disk)
{
    const char *temporary = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    const char *folder = on_disk ? temporary : "/dev/shm";
    if (rank == 0) snprintf(name, sizeof name, "%s/suiro-files-%ld", folder, (long)getpid());
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
}

static void point(const struct test *test, int on_disk)
{
    long bytes = bytes_of(test);
    char title[64];
    snprintf(title, sizeof title, "%s%s", on_disk ? "disk_" : "", test->name);
    struct figure figure = {.test = title, .unit = "us", .ranks = size, .bytes = bytes};
    name_file(on_disk);
    open_file();
    must(MPI_File_set_size(file, ALL_BYTES));
    begin_at = test->layout == PLAIN ? (MPI_Offset)rank * share : 0;
    if (test->layout == TURNS) in_turn(TURN);
    else if (test->layout == GAPS) with_gaps();
    else plain();
    int is_wrong = largest(differs(test, bytes)) > 0;
    per_call(test, bytes, 1);
    int calls = 1;
    while (calls < 1 << 12 && per_call(test, bytes, calls) * calls < point_s / WINDOWS_MIN) calls *= 2;
    double begin = seconds();
    while (figure.windows < WINDOWS_MAX
           && (figure.windows < WINDOWS_MIN || largest(seconds() - begin) < point_s))
        figure.values[figure.windows++] = per_call(test, bytes, calls) * 1e6;
    must(MPI_File_close(&file));
    if (rank == 0) MPI_File_delete(name, MPI_INFO_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) print_figure(&figure, is_wrong ? "wrong" : "ok");
}

static int is_named(const struct test *test, int on_disk, char **words)
{
    for (; *words; words++) {
        int says_disk = strncmp(*words, "disk_", 5) == 0;
        if (strcmp(*words, "all") == 0) return 1;
        if (says_disk == on_disk && strcmp(*words + 5 * says_disk, test->name) == 0) return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int option; (option = getopt(argc, argv, "t:")) != -1;) {
        if (option == 't') point_s = atof(optarg) * 1e-3;
        else fail("wrong arguments; see the head of benches/files.c");
    }
    if (optind == argc || point_s <= 0) fail("wrong arguments; see the head of benches/files.c");
    share = ALL_BYTES / size / TURN * TURN;
    buffer = calloc(1, share);
    if (!buffer) fail("no memory");
    MPI_Get_library_version(library, &length);
    if (rank == 0) printf("library %.*s\n", (int)strcspn(library, "\n"), library);
    for (int on_disk = 0; on_disk < 2; on_disk++)
        for (int test = 0; test < TESTS; test++)
            if (is_named(&tests[test], on_disk, argv + optind)) point(&tests[test], on_disk);
    free(buffer);
    MPI_Finalize();
    return 0;
}
