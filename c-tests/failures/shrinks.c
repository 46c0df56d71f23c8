/* Processes are killed one after the other, each at a random instruction (by a timer), while all of them work.
 * After each death the others get an error of the right class, shrink, and verify the new communicator, until
 * one process is left.
 *
 *   shrinks SEED [FILE]
 *
 * The last process prints the number of shrinks. With FILE, which all processes map, it also prints the longest
 * time from a death to the first error of class MPIX_ERR_PROC_FAILED that it caused in a process. */
#include "failures.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

enum { LONG = 40000 };

/* When a process has died, in nanoseconds of the monotonic clock; 0 before. */
static volatile long long *death_of;

static long long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void map_deaths(const char *path)
{
    size_t bytes = size * sizeof *death_of;
    int file = open(path, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, bytes) != 0)
        MPI_Abort(MPI_COMM_WORLD, 2);
    death_of = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
}

static void on_alarm(int signal)
{
    (void)signal;
    if (death_of)
        death_of[rank] = now_ns();
    raise(SIGKILL);
}

/* A round of work; the first error. */
static int work(MPI_Comm comm, int round)
{
    static int from[LONG], to[LONG];
    int me, members;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &members);
    int count = round % 4 == 3 ? LONG : 1 + round % 4, next = (me + 1) % members;
    for (int index = 0; index < count; index++)
        from[index] = me + index;
    int code = MPI_Sendrecv(from, count, MPI_INT, next, 1, to, count, MPI_INT, (me + members - 1) % members, 1,
                            comm, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS)
        return code;
    EXPECT_IS(to[count - 1], (me + members - 1) % members + count - 1);
    code = MPI_Allreduce(from, to, count, MPI_INT, MPI_SUM, comm);
    if (code == MPI_SUCCESS)
        EXPECT_IS(to[count - 1], members * (members - 1) / 2 + members * (count - 1));
    return code;
}

static int in_world(MPI_Comm comm, int member)
{
    MPI_Group members, world;
    int world_rank;
    MPI_Comm_group(comm, &members);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_translate_ranks(members, 1, &member, world, &world_rank);
    MPI_Group_free(&members);
    MPI_Group_free(&world);
    return world_rank;
}

/* Works until the process `victim` has died, and returns how long it took to find out: 0 if another process told. */
static long long lose(MPI_Comm comm, int victim)
{
    int world_rank = in_world(comm, victim), code, round = 0;
    while ((code = work(comm, round++)) == MPI_SUCCESS)
        ;
    int class = class_of(code);
    EXPECT(class == MPIX_ERR_PROC_FAILED || class == MPIX_ERR_REVOKED);
    if (class != MPIX_ERR_PROC_FAILED || !death_of)
        return 0;
    EXPECT(death_of[world_rank] != 0);
    return now_ns() - death_of[world_rank];
}

/* Dies somewhere in the work. */
static void fall(MPI_Comm comm, int delay_us)
{
    setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {.tv_usec = delay_us}}, NULL);
    for (int round = 0;; round++)
        work(comm, round);
}

/* Whether all is well so far. No process can die before all have come here: an operation that it has left may
 * still fail in others. */
static void meet(MPI_Comm comm)
{
    int good = errors == 0;
    EXPECT_IS(MPIX_Comm_agree(comm, &good), MPI_SUCCESS);
    EXPECT(good);
}

/* A communicator of those that live, instead of `comm`. */
static MPI_Comm without_failed(MPI_Comm comm, int expected)
{
    MPI_Comm next;
    int members, sum = 0, one = 1;
    MPIX_Comm_revoke(comm);
    EXPECT_IS(MPIX_Comm_shrink(comm, &next), MPI_SUCCESS);
    if (comm != MPI_COMM_WORLD)
        MPI_Comm_free(&comm);
    MPI_Comm_set_errhandler(next, MPI_ERRORS_RETURN);
    MPI_Comm_size(next, &members);
    EXPECT_IS(members, expected);
    EXPECT_IS(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, next), MPI_SUCCESS);
    EXPECT_IS(sum, expected);
    return next;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int seed = argc > 1 ? atoi(argv[1]) : 1;
    long long longest = 0, all = 0;
    if (argc > 2)
        map_deaths(argv[2]);
    signal(SIGALRM, on_alarm);
    MPI_Comm comm = MPI_COMM_WORLD;
    for (int members = size; members > 1; members--) {
        int me;
        MPI_Comm_rank(comm, &me);
        srand(seed * 100 + members);
        int victim = rand() % members, delay_us = 1 + rand() % 5000;
        meet(comm);
        if (me == victim)
            fall(comm, delay_us);
        long long took = lose(comm, victim);
        comm = without_failed(comm, members - 1);
        longest = took > longest ? took : longest;
        EXPECT_IS(MPI_Allreduce(&longest, &all, 1, MPI_LONG_LONG, MPI_MAX, comm), MPI_SUCCESS);
        longest = all;
    }
    printf("shrinks = %d, longest = %lld us\n", size - 1, longest / 1000);
    return end(comm);
}
