/* Memory that processes of two jobs of one host share (MPI 5.0 §7.4.2, §12.2.3): MPI_Comm_split_type, windows of
 * MPI_Win_allocate_shared, and mapped windows. The jobs do not share memory where SUIRO_DEVICE is tcp. Children are
 * this program, too. With arguments it is one of two jobs that meet at a port whose name is in a file: "stays FILE",
 * and "ends FILE", which ends while it has a lock and accumulates, or "shm FILE" and "tcp FILE", of which one has the
 * device tcp: they share no memory. */
#include "children.h"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>

enum { CHILDREN = 2 };

static int shares;  /* whether the jobs share memory */
static int rounds;  /* contended operations: by messages, each takes several switches between processes */

static int entries(const char *path)
{
    DIR *folder = opendir(path);
    int count = 0;
    while (folder != NULL && readdir(folder) != NULL)
        count++;
    if (folder != NULL)
        closedir(folder);
    return count;
}

/* Mappings of segments in this process. */
static int segments(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[1024];
    int count = 0;
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        count += strstr(line, "memfd:suiro") != NULL;
    if (maps != NULL)
        fclose(maps);
    return count;
}

/* Which processes come together: all, or those of the own job. */
static MPI_Comm split(MPI_Comm all, int own_size)
{
    MPI_Comm near, same;
    MPI_Info machine;
    int size, total, other;
    MUST(MPI_Comm_size(all, &total));
    MUST(MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near));
    MUST(MPI_Comm_size(near, &size));
    CHECK_EQUAL(size, shares ? total : own_size);
    MUST(MPI_Info_create(&machine));
    MUST(MPI_Info_set(machine, "mpi_hw_resource_type", "hwloc://Machine"));
    MUST(MPI_Comm_split_type(all, MPI_COMM_TYPE_HW_GUIDED, 0, machine, &same));
    MUST(MPI_Comm_size(same, &other));
    CHECK_EQUAL(other, size);
    MUST(MPI_Info_free(&machine));
    MUST(MPI_Comm_free(&same));
    return near;
}

/* The same for an intercommunicator: its groups are those of the jobs. */
static void split_between(MPI_Comm between)
{
    MPI_Comm near;
    int others, remote = 0;
    MUST(MPI_Comm_remote_size(between, &others));
    MUST(MPI_Comm_split_type(between, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near));
    CHECK((near != MPI_COMM_NULL) == shares);
    if (near == MPI_COMM_NULL)
        return;
    MUST(MPI_Comm_remote_size(near, &remote));
    CHECK_EQUAL(remote, others);
    MUST(MPI_Comm_free(&near));
}

static void check_access(MPI_Win window, const char *expected)
{
    MPI_Info info;
    char value[64] = "";
    int length = sizeof value, found = 0;
    if (!check_strict())
        return;
    MUST(MPI_Win_get_info(window, &info));
    MUST(MPI_Info_get_string(info, "suiro_access", &length, value, &found));
    CHECK(found);
    if (strcmp(value, expected) != 0)
        check_fail(__FILE__, __LINE__, "memory is accessed by %s, not %s", value, expected);
    MUST(MPI_Info_free(&info));
}

/* Every process stores in the memory of all, and finds there what all have stored. */
static void loads_and_stores(MPI_Comm near, int contiguous)
{
    int rank, size;
    MPI_Win window;
    MPI_Info info;
    int *own, *base[64];
    MUST(MPI_Comm_rank(near, &rank));
    MUST(MPI_Comm_size(near, &size));
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "alloc_shared_noncontig", contiguous ? "false" : "true"));
    /* The process of rank 0 has none. */
    MPI_Aint bytes = rank * 64 * sizeof(int);
    MUST(MPI_Win_allocate_shared(bytes, sizeof(int), info, near, &own, &window));
    check_access(window, "mapped");
    MPI_Aint length;
    int unit, *lowest;
    for (int other = 0; other < size; other++) {
        MUST(MPI_Win_shared_query(window, other, &length, &unit, &base[other]));
        CHECK(length == (MPI_Aint)(other * 64 * sizeof(int)) && unit == sizeof(int));
        CHECK((base[other] == NULL) == (length == 0));
        if (contiguous && other > 1)
            CHECK(base[other] == base[other - 1] + (other - 1) * 64);
    }
    CHECK(rank == 0 || base[rank] == own);
    MUST(MPI_Win_shared_query(window, MPI_PROC_NULL, &length, &unit, &lowest));
    CHECK(size == 1 || lowest == base[1]);
    MUST(MPI_Win_lock_all(MPI_MODE_NOCHECK, window));
    for (int round = 0; round < 10; round++) {
        for (int other = 1; other < size; other++)
            base[other][rank] = round * 10000 + other * 100 + rank;
        MUST(MPI_Win_sync(window));
        MUST(MPI_Barrier(near));
        MUST(MPI_Win_sync(window));
        for (int other = 1; other < size; other++)
            for (int from = 0; from < size; from++)
                CHECK_EQUAL(base[other][from], round * 10000 + other * 100 + from);
        MUST(MPI_Barrier(near));
    }
    MUST(MPI_Win_unlock_all(window));
    MUST(MPI_Win_free(&window));
    MUST(MPI_Info_free(&info));
}

enum { PUT_AT = 0, SUM_AT = 64, GET_AT = 65, COUNT_AT = 66, NEXT_AT = 67, SWAP_AT = 68, LONGS = 70 };

/* One-sided operations of all processes on the memory of all. */
static void operations(MPI_Win window, long *memory, int rank, int size)
{
    for (int at = 0; at < LONGS; at++)
        memory[at] = 0;
    memory[GET_AT] = 1000 + rank;
    long given[64], got[64], addend = rank + 1;
    MUST(MPI_Win_fence(0, window));
    for (int other = 0; other < size; other++) {
        given[other] = rank * 100 + other;
        MUST(MPI_Put(&given[other], 1, MPI_LONG, other, PUT_AT + rank, 1, MPI_LONG, window));
        MUST(MPI_Get(&got[other], 1, MPI_LONG, other, GET_AT, 1, MPI_LONG, window));
        for (int turn = 0; turn < rounds; turn++)
            MUST(MPI_Accumulate(&addend, 1, MPI_LONG, other, SUM_AT, 1, MPI_LONG, MPI_SUM, window));
    }
    MUST(MPI_Win_fence(0, window));
    for (int other = 0; other < size; other++) {
        CHECK_EQUAL(got[other], 1000 + other);
        CHECK_EQUAL(memory[PUT_AT + other], other * 100 + rank);
    }
    CHECK_EQUAL(memory[SUM_AT], rounds * size * (size + 1) / 2);
    MUST(MPI_Win_fence(0, window));
}

/* All processes want the same lock, and change the same numbers. */
static void contention(MPI_Win window, MPI_Comm comm, long *memory, int rank, int size)
{
    int target = size - 1;
    for (int turn = 0; turn < rounds; turn++) {
        long value = -1, one = 1, old = -1;
        MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window));
        MUST(MPI_Get(&value, 1, MPI_LONG, target, COUNT_AT, 1, MPI_LONG, window));
        MUST(MPI_Win_flush(target, window));
        value++;
        MUST(MPI_Put(&value, 1, MPI_LONG, target, COUNT_AT, 1, MPI_LONG, window));
        MUST(MPI_Win_unlock(target, window));
        MUST(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window));
        MUST(MPI_Fetch_and_op(&one, &old, MPI_LONG, target, NEXT_AT, MPI_SUM, window));
        MUST(MPI_Win_flush(target, window));
        CHECK(old >= turn && old < rounds * size);
        long seen, guess = 0;
        do {
            long next = guess + 1;
            seen = guess;
            MUST(MPI_Compare_and_swap(&next, &guess, &old, MPI_LONG, target, SWAP_AT, window));
            MUST(MPI_Win_flush(target, window));
            guess = old;
        } while (old != seen);
        MUST(MPI_Win_unlock(target, window));
    }
    MUST(MPI_Barrier(comm));
    if (rank == target) {
        MUST(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window));
        CHECK_EQUAL(memory[COUNT_AT], rounds * size);
        CHECK_EQUAL(memory[NEXT_AT], rounds * size);
        CHECK_EQUAL(memory[SWAP_AT], rounds * size);
        MUST(MPI_Win_unlock(target, window));
    }
    /* A process that sleeps until the lock is free. */
    MUST(MPI_Win_lock_all(0, window));
    MUST(MPI_Win_unlock_all(window));
    MUST(MPI_Barrier(comm));
    if (rank == 0)
        MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window));
    MUST(MPI_Barrier(comm));
    if (rank == 0)
        nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
    else
        MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window));
    MUST(MPI_Win_unlock(target, window));
    MUST(MPI_Barrier(comm));
}

/* Each process is a target of the one before it, whose call may come late. */
static void post_and_start(MPI_Win window, MPI_Comm comm, long *memory, int rank, int size)
{
    MPI_Group all, before, after;
    int previous = (rank + size - 1) % size, next = (rank + 1) % size;
    MUST(MPI_Comm_group(comm, &all));
    MUST(MPI_Group_incl(all, 1, &previous, &before));
    MUST(MPI_Group_incl(all, 1, &next, &after));
    for (long turn = 0; turn < 20; turn++) {
        long value = turn * 100 + rank;
        if (turn % 10 == 5 && rank == turn / 10)
            nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        MUST(MPI_Win_post(before, 0, window));
        MUST(MPI_Win_start(after, 0, window));
        MUST(MPI_Put(&value, 1, MPI_LONG, next, PUT_AT, 1, MPI_LONG, window));
        MUST(MPI_Win_complete(window));
        MUST(MPI_Win_wait(window));
        CHECK_EQUAL(memory[PUT_AT], turn * 100 + previous);
    }
    MUST(MPI_Group_free(&all));
    MUST(MPI_Group_free(&before));
    MUST(MPI_Group_free(&after));
}

/* Each kind of window over processes of both jobs. */
static void windows(MPI_Comm comm, const char *kind, const char *access)
{
    int rank, size;
    long *memory, fixed[LONGS];
    MPI_Win window;
    MPI_Aint bytes = LONGS * sizeof(long);
    MUST(MPI_Comm_rank(comm, &rank));
    MUST(MPI_Comm_size(comm, &size));
    if (strcmp(kind, "shared") == 0)
        MUST(MPI_Win_allocate_shared(bytes, sizeof(long), MPI_INFO_NULL, comm, &memory, &window));
    else if (strcmp(kind, "allocate") == 0)
        MUST(MPI_Win_allocate(bytes, sizeof(long), MPI_INFO_NULL, comm, &memory, &window));
    else
        MUST(MPI_Win_create(memory = fixed, bytes, sizeof(long), MPI_INFO_NULL, comm, &window));
    if (access != NULL)
        check_access(window, access);
    operations(window, memory, rank, size);
    contention(window, comm, memory, rank, size);
    post_and_start(window, comm, memory, rank, size);
    MUST(MPI_Win_free(&window));
}

/* One process can open no more files: all get the error, and go on. */
static void refusals(MPI_Comm near)
{
    int rank, size;
    MPI_Win window;
    void *memory;
    struct rlimit old, none;
    MUST(MPI_Comm_rank(near, &rank));
    MUST(MPI_Comm_size(near, &size));
    MUST(MPI_Barrier(near));
    for (int refused = 0; refused < size; refused += size - 1) {
        if (rank == refused) {
            getrlimit(RLIMIT_NOFILE, &old);
            none = old;
            none.rlim_cur = 3;
            setrlimit(RLIMIT_NOFILE, &none);
        }
        MUST_FAIL(MPI_Win_allocate_shared(4096, 1, MPI_INFO_NULL, near, &memory, &window), MPI_ERR_RMA_SHARED);
        if (rank == refused)
            setrlimit(RLIMIT_NOFILE, &old);
    }
    MUST_FAIL(MPI_Win_allocate_shared((MPI_Aint)1 << 50, 1, MPI_INFO_NULL, near, &memory, &window),
              MPI_ERR_RMA_SHARED);
}

static void share(MPI_Comm between, int is_child)
{
    MPI_Comm all, near;
    int own;
    MUST(MPI_Comm_size(between, &own));
    MUST(MPI_Intercomm_merge(between, is_child, &all));
    MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
    section("splits");
    split_between(between);
    near = split(all, own);
    MPI_Comm_set_errhandler(near, MPI_ERRORS_RETURN);
    section("loads and stores");
    loads_and_stores(near, 1);
    loads_and_stores(near, 0);
    section("operations");
    windows(near, "shared", "mapped");
    windows(all, "allocate", shares ? "mapped" : NULL);
    windows(all, "create", NULL);
    int files = 0, maps = 0, now;
    /* The second time, no connection and no buffer is new. */
    for (int turn = 0; turn < 2; turn++) {
        section(turn == 0 ? "refusals" : "nothing is left");
        if (shares)
            refusals(near);
        loads_and_stores(near, 1);
        windows(all, "allocate", NULL);
        MUST(MPI_Barrier(all));
        if (turn == 0) {
            files = entries("/proc/self/fd");
            maps = segments();
        }
    }
    now = entries("/proc/self/fd");
    CHECK(now <= files);
    now = segments();
    CHECK(now <= maps);
    if (!shares) {
        void *memory;
        MPI_Win window;
        MUST_FAIL(MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, all, &memory, &window), MPI_ERR_RMA_SHARED);
    }
    MUST(MPI_Comm_free(&near));
    MUST(MPI_Comm_free(&all));
}

/* The name of the port, from the job that stays. */
static void read_port(const char *path, char *port)
{
    FILE *file;
    while ((file = fopen(path, "r")) == NULL)
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    CHECK(fgets(port, MPI_MAX_PORT_NAME, file) != NULL);
    port[strcspn(port, "\n")] = 0;
    fclose(file);
}

static void write_port(const char *path, const char *port)
{
    char draft[1024];
    snprintf(draft, sizeof draft, "%s.new", path);
    FILE *file = fopen(draft, "w");
    CHECK(file != NULL && fprintf(file, "%s\n", port) > 0 && fclose(file) == 0);
    CHECK(rename(draft, path) == 0);
}

/* Connects with the job that does not accept, or that does. */
static MPI_Comm meet(int accepts, const char *path, char *port)
{
    MPI_Comm between;
    if (accepts && check_rank == 0) {
        MUST(MPI_Open_port(MPI_INFO_NULL, port));
        write_port(path, port);
    }
    if (!accepts && check_rank == 0)
        read_port(path, port);
    MUST(accepts ? MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between)
                 : MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between));
    return between;
}

/* The jobs stay apart. */
static int apart(int accepts, const char *path)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm between = meet(accepts, path, port), all, near;
    MPI_Win window;
    void *memory;
    shares = 0;
    rounds = 20;
    section("jobs of which one shares no memory");
    split_between(between);
    MUST(MPI_Intercomm_merge(between, !accepts, &all));
    MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
    near = split(all, check_size);
    MUST_FAIL(MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, all, &memory, &window), MPI_ERR_RMA_SHARED);
    loads_and_stores(near, 1);
    windows(all, "allocate", NULL);
    windows(all, "create", NULL);
    MUST(MPI_Comm_free(&near));
    MUST(MPI_Comm_free(&all));
    MUST(MPI_Comm_disconnect(&between));
    if (accepts && check_rank == 0)
        MUST(MPI_Close_port(port));
    return check_end();
}

enum { ADDED = 4096 };

/* Accumulates in the memory of rank 0 until a signal ends this process. */
static void add_until_killed(MPI_Win window)
{
    static int zeros[ADDED];
    struct itimerval soon = {.it_value = {.tv_usec = 50000}};
    signal(SIGALRM, SIG_DFL);
    setitimer(ITIMER_REAL, &soon, NULL);
    for (;;)
        MPI_Accumulate(zeros, ADDED, MPI_INT, 0, 1, ADDED, MPI_INT, MPI_SUM, window);
}

/* A job ends while one of its processes has the lock of rank 0 and others may wait for it. */
static int lose(int stays, const char *path)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm between = meet(stays, path, port), all;
    MPI_Win window;
    int rank, *memory, class;
    MUST(MPI_Intercomm_merge(between, !stays, &all));
    MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
    MUST(MPI_Comm_rank(all, &rank));
    MPI_Aint bytes = (1 + ADDED) * sizeof *memory;
    MUST(MPI_Win_allocate_shared(bytes, sizeof *memory, MPI_INFO_NULL, all, &memory, &window));
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    memory[0] = rank;
    memory[1] = 0;
    if (!stays && check_rank == 0)
        MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window));
    MUST(MPI_Barrier(all));
    if (!stays && check_rank == 0)
        add_until_killed(window);
    while (!stays)
        pause();
    section("the lock of a process that has ended");
    /* It goes to the next; what was stored stays. */
    MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window));
    int *first;
    MPI_Aint size;
    int unit;
    MUST(MPI_Win_shared_query(window, check_size, &size, &unit, &first));
    CHECK(size == bytes && *first == check_size);
    int one = 1, sum = -1;
    MUST(MPI_Accumulate(&one, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_SUM, window));
    MUST(MPI_Get(&sum, 1, MPI_INT, 0, 1, 1, MPI_INT, window));
    MUST(MPI_Win_unlock(0, window));
    CHECK(sum >= 1 && sum <= check_size);
    MPI_Error_class(MPI_Win_fence(0, window), &class);
    CHECK(class != MPI_SUCCESS);
    MPI_Error_class(MPI_Win_free(&window), &class);
    CHECK(class != MPI_SUCCESS && window == MPI_WIN_NULL);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&between);
    if (check_rank == 0)
        MUST(MPI_Close_port(port));
    return check_end();
}

int main(int argc, char **argv)
{
    MPI_Comm between;
    MUST(MPI_Init(&argc, &argv));
    MUST(MPI_Comm_get_parent(&between));
    shares = jobs_share_memory();
    rounds = shares ? 100 : 20;
    int is_child = between != MPI_COMM_NULL;
    if (is_child) {
        child_begin();
        share(between, 1);
        return child_end(&between);
    }
    check_adopt();
    if (argc > 2 && (strcmp(argv[1], "shm") == 0 || strcmp(argv[1], "tcp") == 0))
        return apart(strcmp(argv[1], "shm") == 0, argv[2]);
    if (argc > 2)
        return lose(strcmp(argv[1], "stays") == 0, argv[2]);
    MUST(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between,
                        MPI_ERRCODES_IGNORE));
    share(between, 0);
    MUST(MPI_Comm_disconnect(&between));
    return check_end();
}
