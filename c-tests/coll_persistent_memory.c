/* Starting a persistent collective and testing for its end allocates no memory: all calls of
 * malloc and similar functions in the process are counted, those of the library too. */
#include "check.h"
#include <stdatomic.h>

enum { ELEMENTS = 3000, WARM = 50, STARTS = 100 };

static atomic_int counted;

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

void *malloc(size_t bytes)
{
    atomic_fetch_add(&counted, 1);
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    atomic_fetch_add(&counted, 1);
    return __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
    atomic_fetch_add(&counted, 1);
    return __libc_realloc(old, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    atomic_fetch_add(&counted, 1);
    return __libc_memalign(alignment, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    *memory = aligned_alloc(alignment, bytes);
    return *memory == NULL;
}

static void add(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)type;
    for (int index = 0; index < *length; index++)
        ((int *)inout)[index] += ((int *)in)[index];
}

/* Start it again and again. A wait that sleeps says what it waits for, which takes memory: these
 * are tests. Queues that grow once in a while are no memory for a start. */
static void starts(const char *name, MPI_Request request)
{
    int taken = 0;
    for (int time = 0; time < WARM + STARTS; time++) {
        int before = atomic_load(&counted), over = 0;
        MUST(MPI_Start(&request));
        while (!over)
            MUST(MPI_Test(&request, &over, MPI_STATUS_IGNORE));
        if (time >= WARM)
            taken += atomic_load(&counted) - before;
        /* Nobody is far ahead, so that no more messages are early than before. */
        check_meet();
    }
    if (check_strict() && taken > STARTS / 10)
        check_fail(__FILE__, __LINE__, "%s: memory was taken %d times in %d starts", name, taken,
                   STARTS);
    MUST(MPI_Request_free(&request));
}

int main(int argc, char **argv)
{
    static int out[8 * ELEMENTS], in[2 * 8 * ELEMENTS];
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Info none = MPI_INFO_NULL;
    MPI_Request request;
    MPI_Datatype sparse;
    MPI_Op sum;
    check_start(&argc, &argv);
    /* Ranks that test without end are slow where they share cores. */
    if (check_size > 4)
        return check_end();
    MUST(MPI_Type_vector(ELEMENTS / 3, 1, 2, MPI_INT, &sparse));
    MUST(MPI_Type_commit(&sparse));
    MUST(MPI_Op_create(add, 1, &sum));

    section("moving");
    MUST(MPI_Barrier_init(world, none, &request));
    starts("barrier", request);
    MUST(MPI_Bcast_init(in, 2, MPI_INT, 0, world, none, &request));
    starts("bcast of 8 bytes", request);
    MUST(MPI_Bcast_init(in, 1, sparse, 0, world, none, &request));
    starts("bcast of a sparse type", request);
    MUST(MPI_Allgather_init(out, 2, MPI_INT, in, 2, MPI_INT, world, none, &request));
    starts("allgather of 8 bytes", request);
    MUST(MPI_Alltoall_init(out, ELEMENTS, MPI_INT, in, ELEMENTS, MPI_INT, world, none, &request));
    starts("alltoall of long blocks", request);
    MUST(MPI_Alltoall_init(MPI_IN_PLACE, 0, MPI_INT, in, ELEMENTS, MPI_INT, world, none,
                           &request));
    starts("alltoall in place", request);

    section("combining");
    MUST(MPI_Allreduce_init(out, in, 2, MPI_INT, MPI_SUM, world, none, &request));
    starts("allreduce of 8 bytes", request);
    MUST(MPI_Allreduce_init(out, in, 8 * ELEMENTS, MPI_INT, MPI_SUM, world, none, &request));
    starts("allreduce of many", request);
    MUST(MPI_Scan_init(out, in, ELEMENTS, MPI_INT, MPI_SUM, world, none, &request));
    starts("scan", request);
    MUST(MPI_Reduce_init(out, in, 4, MPI_INT, sum, 0, world, none, &request));
    starts("reduce by a function", request);

    MUST(MPI_Op_free(&sum));
    MUST(MPI_Type_free(&sparse));
    return check_end();
}
