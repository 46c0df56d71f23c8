/* Common parts of programs that lose processes on purpose. */
#ifndef FAILURES_H
#define FAILURES_H

#include <mpi.h>
#include <mpi-ext.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static int errors, rank, size;

#define EXPECT(condition)                                                                   \
    do {                                                                                    \
        if (!(condition)) {                                                                 \
            printf("rank %d, line %d: %s\n", rank, __LINE__, #condition);                   \
            fflush(stdout);                                                                 \
            errors++;                                                                       \
        }                                                                                   \
    } while (0)

/* Expects that an expression has this value. */
#define EXPECT_IS(actual, expected)                                                         \
    do {                                                                                    \
        long was = (actual);                                                                \
        if (was != (long)(expected)) {                                                      \
            printf("rank %d, line %d: %s is %ld, not %s\n", rank, __LINE__, #actual, was,   \
                   #expected);                                                              \
            fflush(stdout);                                                                 \
            errors++;                                                                       \
        }                                                                                   \
    } while (0)

static inline void begin(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}

/* Ends this process without MPI_Finalize, in one of three ways. */
static inline void die_by(int way)
{
    if (way % 3 == 1)
        exit(0);
    if (way % 3 == 2)
        _exit(3);
    raise(SIGKILL);
}

static inline void die(void)
{
    die_by(0);
}

/* A signal ends this process in so many microseconds, at any point of any call. */
static inline void die_in(long delay_us)
{
    struct itimerval soon = {.it_value = {.tv_usec = delay_us}};
    signal(SIGALRM, SIG_DFL);
    setitimer(ITIMER_REAL, &soon, NULL);
}

static inline int class_of(int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}

/* All collectives that matter work on `comm`, which has `expected` processes. */
static inline void check_works(MPI_Comm comm, int expected)
{
    int members = 0, me = -1, sum = -1, all[64], value;
    MPI_Comm_size(comm, &members);
    MPI_Comm_rank(comm, &me);
    EXPECT_IS(members, expected);
    value = me + 1;
    EXPECT_IS(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
    EXPECT_IS(sum, members * (members + 1) / 2);
    EXPECT_IS(MPI_Barrier(comm), MPI_SUCCESS);
    EXPECT_IS(MPI_Allgather(&value, 1, MPI_INT, all, 1, MPI_INT, comm), MPI_SUCCESS);
    for (int other = 0; other < members; other++)
        EXPECT_IS(all[other], other + 1);
    value = me == members - 1 ? 77 : 0;
    EXPECT_IS(MPI_Bcast(&value, 1, MPI_INT, members - 1, comm), MPI_SUCCESS);
    EXPECT_IS(value, 77);
    MPI_Comm copy;
    EXPECT_IS(MPI_Comm_dup(comm, &copy), MPI_SUCCESS);
    EXPECT_IS(MPI_Barrier(copy), MPI_SUCCESS);
    EXPECT_IS(MPI_Comm_free(&copy), MPI_SUCCESS);
}

/* Ends the program; the lowest rank that survives prints the errors of all that do. */
static inline int end(MPI_Comm survivors)
{
    int all = -1, me = -1;
    EXPECT_IS(MPI_Allreduce(&errors, &all, 1, MPI_INT, MPI_SUM, survivors), MPI_SUCCESS);
    MPI_Comm_rank(survivors, &me);
    if (me == 0)
        printf("errors = %d\n", all);
    MPI_Finalize();
    return all != 0;
}

#endif
