/* The beginning of the program that tests/handles.rs makes: what is no handle, and what a call
 * with it must give. */
#include "check.h"

#include <signal.h>

enum { BAD_MAX = 16, BUFFERS = 24, BUFFER_BYTES = 16384 };

/* Values that are no handles of a kind, and what they are. */
struct bad {
    int count;
    uintptr_t value[BAD_MAX];
    const char *what[BAD_MAX];
    int good; /* of attribute keys */
};

static long long buffers[BUFFERS][BUFFER_BYTES / sizeof(long long)];
static char attempt[256];
static MPI_Group group;
static MPI_Info info;
static MPI_Win win;
static MPI_File file;
__attribute__((unused)) static MPI_Session session;
__attribute__((unused)) static MPI_Comm topology, graph, dist_graph;
static struct bad keyvals, comm_keyvals, type_keyvals, win_keyvals;

#define FILE_MODE (MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE)
#define FILE_NAME file_name()

/* Of a file of this process alone. */
static const char *file_name(void)
{
    static char name[256];
    const char *folder = getenv("TMPDIR");
    snprintf(name, sizeof name, "%s/suiro-handles-%ld", folder ? folder : "/tmp", (long)getpid());
    return name;
}

static void add(struct bad *bad, uintptr_t value, const char *what)
{
    bad->value[bad->count] = value;
    bad->what[bad->count] = what;
    bad->count++;
}

static void add_garbage(struct bad *bad)
{
    static const uintptr_t garbage[] = {0,          1,          17, 0xfff, 0x12345678,
                                        0x7fffffff, 0x80000101, (uintptr_t)-1};
    for (size_t index = 0; index < sizeof garbage / sizeof garbage[0]; index++)
        add(bad, garbage[index], "garbage");
    add(bad, (uintptr_t)0x100000101, "too wide");
    add(bad, (uintptr_t)attempt, "an address");
}

/* What runs if the program ends too soon. */
static void on_signal(int number)
{
    static const char end[] = " ended the program\n";
    (void)number;
    ssize_t written = write(STDERR_FILENO, attempt, strlen(attempt));
    written += write(STDERR_FILENO, end, sizeof end - 1);
    _exit(written > 0 ? 9 : 10);
}

static void trying(const char *function, const char *argument, const char *what)
{
    snprintf(attempt, sizeof attempt, "%s: %s is %s", function, argument, what);
}

static void expect(int code, int class)
{
    int found = check_class(code);
    if (found != class)
        check_fail(__FILE__, __LINE__, "%s: class %d, not %d", attempt, found, class);
}

__attribute__((unused))
static void combine(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in;
    (void)inout;
    (void)count;
    (void)type;
}

__attribute__((unused))
static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
}

/* A message that a matched probe took. */
__attribute__((unused))
static int probed(MPI_Message *message)
{
    MPI_Request request;
    MUST(MPI_Isend(NULL, 0, MPI_INT, 0, 8, MPI_COMM_SELF, &request));
    MUST(MPI_Mprobe(0, 8, MPI_COMM_SELF, message, MPI_STATUS_IGNORE));
    return MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Keys that are none for a kind of object: `freed` was one, `other` is one for another kind. */
static void add_keys(struct bad *bad, int good, int freed, int other)
{
    bad->good = good;
    add(bad, MPI_KEYVAL_INVALID, "MPI_KEYVAL_INVALID");
    add(bad, (uintptr_t)freed, "a freed one");
    add(bad, (uintptr_t)other, "another kind's");
    add(bad, 1, "garbage");
    add(bad, (uintptr_t)-1, "garbage");
    add(bad, 0x7fffffff, "garbage");
}

static void begin(int *argc, char ***argv)
{
    int of_comms, of_types, of_wins, old;
    check_start(argc, argv);
    signal(SIGSEGV, on_signal);
    signal(SIGBUS, on_signal);
    signal(SIGABRT, on_signal);
    signal(SIGALRM, on_signal);
    alarm(50);
    MUST(MPI_Comm_group(MPI_COMM_SELF, &group));
    MUST(MPI_Info_create(&info));
    MUST(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_SELF, &win));
    MUST(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    MUST(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &old, NULL));
    int freed = old;
    MUST(MPI_Comm_free_keyval(&old));
    MUST(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &of_comms, NULL));
    MUST(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &of_types, NULL));
    MUST(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &of_wins, NULL));
    add_keys(&comm_keyvals, of_comms, freed, of_types);
    add_keys(&keyvals, of_comms, freed, of_wins);
    add_keys(&type_keyvals, of_types, freed, of_comms);
    add_keys(&win_keyvals, of_wins, freed, of_types);
}

