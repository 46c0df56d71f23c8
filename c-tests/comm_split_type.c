/* MPI_Comm_split_type: by shared memory, by hardware, by process sets; what is not known and what
 * is wrong. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "check.h"
#include "hosts.h"

#include <sched.h>

static int processor; /* The only one that this rank may use. */
static int *here;     /* For each rank whether it is on this host. */

/* Keeps this rank on one of the processors that it may use, another one than its neighbours. */
static void bind_to_one(void)
{
    cpu_set_t set;
    int wanted = 0;
    CHECK_EQUAL(sched_getaffinity(0, sizeof set, &set), 0);
    wanted = check_rank % CPU_COUNT(&set);
    for (processor = 0; processor < CPU_SETSIZE - 1; processor++)
        if (CPU_ISSET(processor, &set) && wanted-- == 0)
            break;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    CHECK_EQUAL(sched_setaffinity(0, sizeof set, &set), 0);
}

static MPI_Info with(const char *key, const char *value)
{
    MPI_Info info;
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, key, value));
    return info;
}

/* The ranks of the world that are in a communicator, in its order. */
static int members(MPI_Comm comm, int *ranks)
{
    int size = 0;
    if (comm == MPI_COMM_NULL)
        return 0;
    MUST(MPI_Comm_size(comm, &size));
    MUST(MPI_Allgather(&check_rank, 1, MPI_INT, ranks, 1, MPI_INT, comm));
    return size;
}

/* Everybody is in it, in reverse. Frees it. */
static void expect_all(MPI_Comm comm)
{
    int ranks[64], size = members(comm, ranks);
    CHECK_EQUAL(size, check_size);
    for (int place = 0; place < size; place++)
        CHECK_EQUAL(ranks[place], check_size - 1 - place);
    if (comm != MPI_COMM_NULL)
        MUST(MPI_Comm_free(&comm));
}

static MPI_Comm split(int type, MPI_Info info)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, type, -check_rank, info, &comm));
    return comm;
}

/* All ranks of this host are in it, in reverse. Frees it. */
static void expect_host(MPI_Comm comm)
{
    int ranks[64], size = members(comm, ranks), place = 0;
    for (int rank = check_size - 1; rank >= 0; rank--)
        if (here[rank] && place < size)
            CHECK_EQUAL(ranks[place++], rank);
        else
            CHECK(!here[rank]);
    CHECK_EQUAL(place, size);
    if (comm != MPI_COMM_NULL)
        MUST(MPI_Comm_free(&comm));
}

static void shared_memory(void)
{
    MPI_Info info = with("mpi_hw_resource_type", "mpi_shared_memory");
    MPI_Comm comm;
    expect_host(split(MPI_COMM_TYPE_SHARED, MPI_INFO_NULL));
    expect_host(split(MPI_COMM_TYPE_SHARED, info));
    expect_host(split(MPI_COMM_TYPE_HW_GUIDED, info));
    expect_host(split(MPI_COMM_TYPE_RESOURCE_GUIDED, info));
    CHECK(split(MPI_UNDEFINED, info) == MPI_COMM_NULL);
    comm = split(check_rank % 2 ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, MPI_INFO_NULL);
    CHECK_EQUAL(comm == MPI_COMM_NULL, check_rank % 2);
    if (comm != MPI_COMM_NULL) {
        int ranks[64], size = members(comm, ranks), even = 0;
        for (int rank = 0; rank < check_size; rank += 2)
            even += here[rank];
        CHECK_EQUAL(size, even);
        MUST(MPI_Comm_free(&comm));
    }
    MUST(MPI_Info_free(&info));
}

/* Without a resource that the library knows nobody gets anything. */
static void unknown(void)
{
    static const int types[] = {MPI_COMM_TYPE_HW_GUIDED, MPI_COMM_TYPE_RESOURCE_GUIDED};
    MPI_Info other = with("color", "green");
    for (int index = 0; index < 2; index++) {
        MPI_Info info = with("mpi_hw_resource_type", "tea://Kettle");
        CHECK(split(types[index], MPI_INFO_NULL) == MPI_COMM_NULL);
        CHECK(split(types[index], other) == MPI_COMM_NULL);
        CHECK(split(types[index], info) == MPI_COMM_NULL);
        MUST(MPI_Info_free(&info));
    }
    MUST(MPI_Info_free(&other));
}

/* Ranks on the same processor stay together; by a package or a core, so do at least those. */
static void hardware(void)
{
    static const char *const kinds[] = {"hwloc://PU", "hwloc://Core", "hwloc://Package"};
    int ranks[64], *processors = take(sizeof(int) * (size_t)check_size);
    MUST(MPI_Allgather(&processor, 1, MPI_INT, processors, 1, MPI_INT, MPI_COMM_WORLD));
    for (int index = 0; index < 3; index++) {
        MPI_Info info = with("mpi_hw_resource_type", kinds[index]);
        MPI_Comm comm = split(MPI_COMM_TYPE_HW_GUIDED, info);
        int size = members(comm, ranks), expected = 0, same = 0;
        CHECK(index > 0 || comm != MPI_COMM_NULL);
        for (int place = 0; place < size; place++)
            same += processors[ranks[place]] == processor;
        for (int rank = 0; rank < check_size; rank++)
            expected += here[rank] && processors[rank] == processor;
        if (comm != MPI_COMM_NULL) {
            CHECK_EQUAL(same, expected);
            CHECK(index > 0 || size == same);
            MUST(MPI_Comm_free(&comm));
        }
        MUST(MPI_Info_free(&info));
    }
    free(processors);
}

/* Smaller and smaller, each time by some resource, down to those on the same processor. */
static void unguided(void)
{
    MPI_Comm comm, smaller;
    int size, smaller_size, flag = 0, rounds = 0;
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (;;) {
        char kind[64] = "", first[64];
        int room = sizeof kind;
        MPI_Info info;
        MUST(MPI_Info_create(&info));
        MUST(MPI_Comm_size(comm, &size));
        MUST(MPI_Comm_split_type(comm, MPI_COMM_TYPE_HW_UNGUIDED, 0, info, &smaller));
        MUST(MPI_Info_get_string(info, "mpi_hw_resource_type", &room, kind, &flag));
        MUST(MPI_Info_free(&info));
        CHECK_EQUAL(flag, smaller != MPI_COMM_NULL);
        if (smaller == MPI_COMM_NULL)
            break;
        MUST(MPI_Comm_size(smaller, &smaller_size));
        CHECK(smaller_size < size);
        memcpy(first, kind, sizeof first);
        MUST(MPI_Bcast(first, sizeof first, MPI_CHAR, 0, smaller));
        CHECK(strcmp(first, kind) == 0);
        MUST(MPI_Comm_free(&comm));
        comm = smaller;
        CHECK(++rounds < 16);
    }
    int first = processor;
    MUST(MPI_Bcast(&first, 1, MPI_INT, 0, comm));
    CHECK_EQUAL(first, processor);
    MUST(MPI_Comm_free(&comm));
}

static void told(void)
{
    MPI_Info info;
    char value[8];
    int count = 0;
    MUST(MPI_Get_hw_resource_info(&info));
    MUST(MPI_Info_get_nkeys(info, &count));
    for (int index = 0; index < count; index++) {
        char key[MPI_MAX_INFO_KEY];
        int room = sizeof value, flag = 0;
        MUST(MPI_Info_get_nthkey(info, index, key));
        MUST(MPI_Info_get_string(info, key, &room, value, &flag));
        CHECK(flag && (strcmp(value, "true") == 0 || strcmp(value, "false") == 0));
        CHECK(strstr(key, "://") != NULL);
        MPI_Info hint = with("mpi_hw_resource_type", key);
        MPI_Comm comm = split(MPI_COMM_TYPE_RESOURCE_GUIDED, hint);
        CHECK_EQUAL(comm != MPI_COMM_NULL, strcmp(value, "true") == 0);
        if (comm != MPI_COMM_NULL)
            MUST(MPI_Comm_free(&comm));
        MUST(MPI_Info_free(&hint));
    }
    MUST(MPI_Info_free(&info));
}

static void process_sets(void)
{
    MPI_Info info = with("mpi_pset_name", "mpi://WORLD");
    expect_all(split(MPI_COMM_TYPE_RESOURCE_GUIDED, info));
    CHECK(split(MPI_COMM_TYPE_HW_GUIDED, info) == MPI_COMM_NULL);
    if (check_strict()) { /* As in all calls with names of process sets, the case does not matter. */
        MUST(MPI_Info_set(info, "mpi_pset_name", "mpi://world"));
        expect_all(split(MPI_COMM_TYPE_RESOURCE_GUIDED, info));
    }
    MUST(MPI_Info_set(info, "mpi_pset_name", "mpi://SELF"));
    MPI_Comm comm = split(MPI_COMM_TYPE_RESOURCE_GUIDED, info);
    int rank = -1;
    CHECK_EQUAL(members(comm, &rank), 1);
    CHECK_EQUAL(rank, check_rank);
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Info_set(info, "mpi_pset_name", "mpi://NOBODY"));
    CHECK(split(MPI_COMM_TYPE_RESOURCE_GUIDED, info) == MPI_COMM_NULL);
    MUST(MPI_Info_set(info, "mpi_hw_resource_type", "hwloc://Core"));
    MUST_FAIL(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &comm),
              MPI_ERR_INFO);
    MUST(MPI_Info_free(&info));
}

static void wrong(void)
{
    MPI_Comm comm = MPI_COMM_NULL;
    MUST_FAIL(MPI_Comm_split_type(MPI_COMM_WORLD, 99, 0, MPI_INFO_NULL, &comm), MPI_ERR_ARG);
    MUST_FAIL(MPI_Comm_split_type(MPI_COMM_NULL, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm),
              MPI_ERR_COMM);
    if (!check_strict())
        return;
    if (check_size > 1) {
        int type = check_rank ? MPI_COMM_TYPE_SHARED : MPI_COMM_TYPE_HW_UNGUIDED;
        MUST_FAIL(MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, MPI_INFO_NULL, &comm),
                  MPI_ERR_ARG);
    }
    MPI_Info info = with("a", "b"), freed = info;
    MUST(MPI_Info_free(&info));
    MUST_FAIL(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, freed, &comm),
              MPI_ERR_INFO);
    expect_host(split(MPI_COMM_TYPE_SHARED, MPI_INFO_NULL));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    bind_to_one();
    here = same_host();
    section("shared memory");
    shared_memory();
    section("unknown resources");
    unknown();
    section("hardware");
    if (check_strict()) { /* MPICH 5 looks at its processors only once, and tells no types. */
        hardware();
        unguided();
        told();
    }
    section("process sets");
    if (check_strict()) /* MPICH 5 knows no process sets here. */
        process_sets();
    section("what is wrong");
    wrong();
    free(here);
    return check_end();
}
