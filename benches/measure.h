/* measure.h: what the programs that measure share: the clock, the processor, and one line a figure.
 *
 * A line is `TEST RANKS BYTES UNIT MEDIAN BEST WINDOWS STATUS`, separated by single spaces. Median
 * and best are taken of the windows; a window is as many repetitions as give it a length that the
 * clock resolves. STATUS is ok, or why there is no figure (then both are -): unsupported,
 * error-CLASS, budget; or `wrong`, if the data were not what they must be. */
#ifndef SUIRO_MEASURE_H
#define SUIRO_MEASURE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WINDOWS_MAX = 64 };

/* One figure in the making. */
struct figure {
    const char *test;
    const char *unit;
    int ranks;
    long bytes;
    int larger_is_better;
    int windows;
    double values[WINDOWS_MAX];
};

static inline double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

/* Confines this process to the machine's processor number `wanted`, counted without those that it
 * must not use; 0 if there are not so many. Launchers may bind each rank to one, so all count. */
static inline int confine(int wanted)
{
    for (int cpu = 0, seen = 0; cpu < CPU_SETSIZE; cpu++) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        if (sched_setaffinity(0, sizeof one, &one) == 0 && seen++ == wanted) return 1;
    }
    return 0;
}

static inline int compare_values(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Writes the line; the windows are sorted by it. */
static inline void print_figure(struct figure *figure, const char *status)
{
    printf("%s %d %ld %s ", figure->test, figure->ranks, figure->bytes, figure->unit);
    if (figure->windows == 0) {
        printf("- - 0 %s\n", status);
    } else {
        int last = figure->windows - 1;
        qsort(figure->values, figure->windows, sizeof figure->values[0], compare_values);
        printf("%.6g %.6g %d %s\n", figure->values[last / 2],
               figure->values[figure->larger_is_better ? last : 0], figure->windows, status);
    }
    fflush(stdout);
}

#endif
