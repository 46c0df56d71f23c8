/* npb.h: shared code of the bundled kernels of the NAS Parallel Benchmarks: the random numbers, the
 * class, and the lines that a harness reads.
 *
 * The numbers are x(k+1) = a x(k) mod 2^46 with a = 5^13, scaled by 2^-46 (D. Bailey et al., "The
 * NAS Parallel Benchmarks", NASA RNR-94-007, section 2.3). 2^46 divides 2^64, so the wrapping
 * product of unsigned 64-bit integers is exact. */
#ifndef NPB_H
#define NPB_H

#include <math.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NPB_MULTIPLIER UINT64_C(1220703125)
#define NPB_MASK ((UINT64_C(1) << 46) - 1)
#define NPB_SCALE (1.0 / (double)(UINT64_C(1) << 46))

/* The number after x. */
static inline uint64_t npb_next(uint64_t x)
{
    return NPB_MULTIPLIER * x & NPB_MASK;
}

/* The number `steps` after x. */
static inline uint64_t npb_ahead(uint64_t x, uint64_t steps)
{
    for (uint64_t power = NPB_MULTIPLIER; steps > 0; steps >>= 1) {
        if (steps & 1)
            x = x * power & NPB_MASK;
        power = power * power & NPB_MASK;
    }
    return x;
}

/* Whether the value is the expected one up to a relative error of `tolerance`. */
static inline int npb_near(double value, double expected, double tolerance)
{
    return fabs((value - expected) / expected) <= tolerance;
}

typedef struct {
    const char *kernel;
    char class;
    long size;
    int iterations;
    int ranks;
    double seconds;
    double operations;   /* in millions */
    const char *kind;    /* of operation */
    int verified;
} NpbResult;

/* The lines that NPB prints. */
static inline void npb_report(const NpbResult *result)
{
    double rate = result->seconds > 0 ? result->operations / result->seconds : 0;
    printf("\n\n %s Benchmark Completed\n", result->kernel);
    printf(" Class           =                        %c\n", result->class);
    printf(" Size            =             %12ld\n", result->size);
    printf(" Iterations      =             %12d\n", result->iterations);
    printf(" Time in seconds =             %12.4f\n", result->seconds);
    printf(" Total processes =             %12d\n", result->ranks);
    printf(" Mop/s total     =             %12.2f\n", rate);
    printf(" Mop/s/process   =             %12.2f\n", rate / result->ranks);
    printf(" Operation type  = %24s\n", result->kind);
    printf(" Verification    =             %12s\n",
           result->verified ? "SUCCESSFUL" : "UNSUCCESSFUL");
    fflush(stdout);
}

/* End the job with a message of rank 0; called by every rank. */
static inline void npb_refuse(const char *format, ...)
{
    int rank;
    va_list values;
    va_start(values, format);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        fputs("error: ", stderr);
        vfprintf(stderr, format, values);
        fputc('\n', stderr);
    }
    va_end(values);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

/* The index of the class in "SWAB", or the end of the job. */
static inline int npb_class(int argc, char **argv)
{
    const char *all = "SWAB";
    const char *found = argc == 2 && strlen(argv[1]) == 1 ? strchr(all, argv[1][0]) : NULL;
    if (found == NULL) {
        fprintf(stderr, "usage: %s CLASS, one of S W A B\n", argv[0]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return (int)(found - all);
}

static inline void *npb_take(size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);
    if (memory == NULL) {
        fprintf(stderr, "no memory for %zu bytes\n", bytes);
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
    return memory;
}

#endif
