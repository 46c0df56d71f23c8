/* Ranks end at random times while all use locks and accumulates of each other; those that live never wait for
 * ever, and a lock is never held twice. Then all of them revoke the window or not, and free it. Arguments: a
 * seed, and the kind of memory. */
#include "window_make.h"
#include <time.h>

static MPI_Win win;
static long *memory;
static MPI_Aint bases[64];
static int revokes;

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec + 1e-9 * at.tv_nsec;
}

/* A call may fail that needs a rank which has failed, or a window that was revoked. */
static int is_lost(int code)
{
    int class = class_of(code);
    if (class != MPIX_ERR_PROC_FAILED && !(revokes && class == MPIX_ERR_REVOKED))
        EXPECT_IS(class, MPI_SUCCESS);
    return class != MPI_SUCCESS;
}

/* With an exclusive lock, no other rank writes the word between. */
static void exclusive(int target, unsigned *random)
{
    long mine = rank + 1 + 64L * (rand_r(random) & 0xffff), found = -1;
    if (is_lost(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win)))
        return;
    is_lost(MPI_Put(&mine, 1, MPI_LONG, target, bases[target], 1, MPI_LONG, win));
    int lost = is_lost(MPI_Win_flush(target, win));
    if (rand_r(random) % 8 == 0)
        usleep(rand_r(random) % 300);
    lost |= is_lost(MPI_Get(&found, 1, MPI_LONG, target, bases[target], 1, MPI_LONG, win));
    lost |= is_lost(MPI_Win_flush(target, win));
    if (!lost)
        EXPECT_IS(found, mine);
    is_lost(MPI_Win_unlock(target, win));
}

static void shared(int target)
{
    long one = 1, old[2] = {-1, -1};
    if (is_lost(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win)))
        return;
    is_lost(MPI_Accumulate(&one, 1, MPI_LONG, target, bases[target] + 64, 1, MPI_LONG, MPI_SUM, win));
    /* No writer is inside. */
    int lost = is_lost(MPI_Get(&old[0], 1, MPI_LONG, target, bases[target], 1, MPI_LONG, win));
    lost |= is_lost(MPI_Win_flush(target, win));
    lost |= is_lost(MPI_Get(&old[1], 1, MPI_LONG, target, bases[target], 1, MPI_LONG, win));
    lost |= is_lost(MPI_Win_flush(target, win));
    if (!lost)
        EXPECT_IS(old[0], old[1]);
    is_lost(MPI_Win_unlock(target, win));
}

static void all_targets(int target)
{
    long one = 1, old = -1;
    if (is_lost(MPI_Win_lock_all(0, win)))
        return;
    is_lost(MPI_Fetch_and_op(&one, &old, MPI_LONG, target, bases[target] + 64, MPI_SUM, win));
    is_lost(MPI_Win_flush(target, win));
    is_lost(MPI_Win_unlock_all(win));
}

/* Long operations, whose data are messages of their own where memory is not shared. */
static void large(int target)
{
    enum { COUNT = 30000 };
    static long out[COUNT], in[COUNT];
    MPI_Request request;
    if (is_lost(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win)))
        return;
    is_lost(MPI_Accumulate(out, COUNT, MPI_LONG, target, bases[target] + 8192, COUNT, MPI_LONG, MPI_BOR, win));
    is_lost(MPI_Put(out, COUNT, MPI_LONG, target, bases[target] + 8192 + sizeof out, COUNT, MPI_LONG, win));
    if (!is_lost(MPI_Rget(in, COUNT, MPI_LONG, target, bases[target] + 8192, COUNT, MPI_LONG, win, &request)))
        is_lost(MPI_Wait(&request, MPI_STATUS_IGNORE));
    is_lost(MPI_Win_unlock(target, win));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    unsigned seed = argc > 1 ? atoi(argv[1]) : 1, random = seed * 1000 + rank, common = seed;
    const char *kind = argc > 2 ? argv[2] : "allocate";
    revokes = rand_r(&common) % 2;
    int dying = 1 + rand_r(&common) % (size - 1), alive = size;
    /* These ranks end, one of the others does not. */
    int ends = 0, survivor = rand_r(&common) % size;
    for (int i = 0; i < dying; i++) {
        int which = rand_r(&common) % size;
        ends |= which == rank && which != survivor;
    }
    EXPECT_IS(make_window(kind, MPI_COMM_WORLD, &memory, bases, &win), MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    double end_at = now() + (ends ? 1e-6 * (rand_r(&random) % 60000) : 0.1);
    if (ends) {
        die_in(1 + rand_r(&random) % 60000);
        end_at = now() + 10;
    }
    while (now() < end_at) {
        int target = rand_r(&random) % size;
        switch (rand_r(&random) % 5) {
        case 0:
        case 1: exclusive(target, &random); break;
        case 2: shared(target); break;
        case 3: all_targets(target); break;
        case 4: large(target); break;
        }
    }
    if (revokes && rand_r(&random) % 2)
        EXPECT_IS(MPIX_Win_revoke(win), MPI_SUCCESS);
    int code = class_of(MPI_Win_free(&win));
    EXPECT(code == MPI_SUCCESS || code == MPIX_ERR_PROC_FAILED);
    EXPECT(win == MPI_WIN_NULL);
    /* All have ended that will. */
    MPI_Comm survivors = MPI_COMM_WORLD, next;
    EXPECT_IS(MPIX_Comm_shrink(survivors, &next), MPI_SUCCESS);
    MPI_Comm_size(next, &alive);
    check_works(next, alive);
    return end(next);
}
