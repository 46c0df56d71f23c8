/* Rank 1 dies without a word in the middle of one-sided communication, of the kind that is told: while it
 * holds a lock (`shared`, `exclusive`, `all`), between two fences (`fence`), in an epoch of start and post
 * (`pscw`), or in an accumulate (`accumulate`; `served` if its target makes no call on the window, and the
 * other origins test), on a window that is `allocated` or `created`. All others then need it: what they call
 * cannot return success.
 *
 *   mpirun -n N rma_dies KIND WINDOW, with N > 2 */
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BYTES = 1 << 16, DYING = 1 };

static MPI_Win win;
static int rank, size;

/* Rank 1 is about to die. */
static void tell(void)
{
    for (int other = 0; other < size; other++)
        if (other != DYING)
            MPI_Send(NULL, 0, MPI_BYTE, other, 0, MPI_COMM_WORLD);
}

static void die(void)
{
    tell();
    raise(SIGKILL);
}

static void hear(void)
{
    MPI_Recv(NULL, 0, MPI_BYTE, DYING, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* A call that must not succeed. */
static void need(const char *call, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "success";
    int length, class = MPI_SUCCESS;
    if (code != MPI_SUCCESS) {
        MPI_Error_class(code, &class);
        MPI_Error_string(class, text, &length);
    }
    printf("%s: %s\n", call, text);
    fflush(stdout);
}

static void locked(int type)
{
    if (rank == DYING) {
        MPI_Win_lock(type, 0, 0, win);
        die();
    }
    hear();
    need("lock", MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
}

/* A lock that is asked for by messages is held since the first access. */
static void all_locked(const char *data)
{
    if (rank == DYING) {
        MPI_Win_lock_all(0, win);
        MPI_Put(data, 8, MPI_BYTE, 2, 0, 8, MPI_BYTE, win);
        MPI_Win_flush(2, win);
        die();
    }
    hear();
    need("lock", MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, win));
}

static void fenced(const char *data)
{
    MPI_Win_fence(0, win);
    MPI_Put(data, 8, MPI_BYTE, (rank + 1) % size, 0, 8, MPI_BYTE, win);
    if (rank == DYING)
        die();
    hear();
    need("fence", MPI_Win_fence(0, win));
}

/* Rank 0 is exposed to rank 1, which does not complete; rank 2 needs a post of rank 1. */
static void in_epochs(const char *data)
{
    static const int dying[1] = {DYING}, first[1] = {0};
    MPI_Group world, one;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, rank == DYING ? first : dying, &one);
    if (rank == DYING) {
        MPI_Win_start(one, 0, win);
        MPI_Put(data, 8, MPI_BYTE, 0, 0, 8, MPI_BYTE, win);
        die();
    }
    if (rank == 0)
        MPI_Win_post(one, 0, win);
    hear();
    if (rank == 0)
        need("wait", MPI_Win_wait(win));
    if (rank != 0)
        need("start", MPI_Win_start(one, 0, win));
}

/* Fetches and accumulates a byte of rank 0. A rank that tests does not look for ranks that have ended. */
static int fetch(const char *operand)
{
    int is_done = 0;
    char fetched;
    MPI_Request request;
    int code = MPI_Rget_accumulate(operand, 1, MPI_BYTE, &fetched, 1, MPI_BYTE, 0, 0, 1, MPI_BYTE,
                                   MPI_BXOR, win, &request);
    while (code == MPI_SUCCESS && !is_done)
        code = MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
    return code == MPI_SUCCESS ? MPI_Win_flush(0, win) : code;
}

static int accumulate(const char *operand)
{
    int code = MPI_Accumulate(operand, 1, MPI_BYTE, 0, 0, 1, MPI_BYTE, MPI_BXOR, win);
    return code == MPI_SUCCESS ? MPI_Win_flush(0, win) : code;
}

/* The operand has a page that cannot be read: rank 1 dies in the accumulate, if memory is mapped, and else
 * before it. */
static void accumulating(int is_served)
{
    enum { ROUNDS = 5000 };
    int protection = rank == DYING ? PROT_NONE : PROT_READ, code = MPI_SUCCESS;
    char *operand = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(operand + BYTES / 2, BYTES / 2, protection);
    MPI_Win_lock_all(0, win);
    if (rank == DYING) {
        tell();
        MPI_Accumulate(operand, BYTES, MPI_BYTE, 0, 0, BYTES, MPI_BYTE, MPI_BXOR, win);
    }
    hear();
    if (is_served && rank == 0) {
        MPI_Recv(NULL, 0, MPI_BYTE, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    for (int round = 0; round < ROUNDS && code == MPI_SUCCESS; round++)
        code = is_served ? fetch(operand) : accumulate(operand);
    if (code == MPI_SUCCESS)
        code = MPI_Win_unlock_all(win);
    if (code == MPI_SUCCESS)
        code = MPI_Win_fence(0, win);
    need("accumulate", code);
    if (is_served && rank == size - 1)
        MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    const char *kind = argc > 2 ? argv[1] : "", *data = "12345678";
    void *base;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 2 && strcmp(argv[2], "created") == 0)
        MPI_Win_create(calloc(1, BYTES), BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    else
        MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(kind, "shared") == 0)
        locked(MPI_LOCK_SHARED);
    else if (strcmp(kind, "exclusive") == 0)
        locked(MPI_LOCK_EXCLUSIVE);
    else if (strcmp(kind, "all") == 0)
        all_locked(data);
    else if (strcmp(kind, "fence") == 0)
        fenced(data);
    else if (strcmp(kind, "pscw") == 0)
        in_epochs(data);
    else if (strcmp(kind, "accumulate") == 0 || strcmp(kind, "served") == 0)
        accumulating(strcmp(kind, "served") == 0);
    _exit(0);
}
