/* An allreduce of one double under noise, on any MPI library. All ranks must be on one host, as they
 * start by its clock.
 *
 *   mpirun -n N noise [-c CALLS] [-g GAP_US] [-l LATE_US] [-b CALLS]
 *
 *   -c   calls that start at agreed times, drawn evenly so that they meet the noise anywhere (60)
 *   -g   the mean time between two of these starts in microseconds (20000). A call should take less than
 *        half of it
 *   -l   calls whose start a rank misses by more than so many microseconds do not count: it was still in
 *        an earlier call, or got no processor (200)
 *   -b   calls back to back (100)
 *
 * One line: `noise RANKS CALLS MEAN MAX LOOP STATUS`, times in microseconds:
 *
 *   CALLS  the calls that count
 *   MEAN   from the agreed start until a rank has the result; mean over ranks and calls
 *   MAX    the same of the last rank; mean over calls
 *   LOOP   a call, back to back
 *   STATUS ok; `wrong`, if a result is not near the sum that each rank computes itself; `unlike`, if the
 *          results of two ranks differ in a bit */
#include "measure.h"
#include <math.h>
#include <mpi.h>

static int rank, size;

static struct {
    long calls, gap_us, late_us, loop;
} options = {60, 20000, 200, 100};

/* Operands whose sum depends on the association, and which differ in sign and size. */
static double operand(int of, long call)
{
    double value = (of % 2 ? -1 : 1) * (0.1 + of * 1.37);
    for (long power = (of * 7 + call) % 11; power > 0; power--) value *= 3;
    return value;
}

/* The results of all calls, and whether each is near the sum in the order of the ranks. */
static double *results;
static int is_right = 1;

static void reduce(long call)
{
    double own = operand(rank, call), sum = 0, size_of_terms = 0;
    MPI_Allreduce(&own, &results[call], 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int of = 0; of < size; of++) {
        sum += operand(of, call);
        size_of_terms += fabs(operand(of, call));
    }
    is_right &= fabs(results[call] - sum) <= 1e-14 * size * size_of_terms;
}

static void sleep_until(double time_s)
{
    struct timespec until = {(time_t)time_s, (time_s - (time_t)time_s) * 1e9};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0) continue;
}

/* Equal on all ranks. */
static double drawn(void)
{
    static unsigned long state = 1;
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    return (state >> 33) / 2147483648.0;
}

/* Of each call from its agreed start on: the time until it begins, and until it has ended. */
static void started(double *lates, double *times)
{
    double gap_s = options.gap_us * 1e-6, begin = seconds() + gap_s;
    MPI_Bcast(&begin, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (long call = 0; call < options.calls; call++) {
        double start = begin + (call + drawn() / 2) * gap_s;
        sleep_until(start);
        lates[call] = seconds() - start;
        reduce(call);
        times[call] = seconds() - start;
    }
}

static double loop_s(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = seconds();
    for (long call = 0; call < options.loop; call++) reduce(options.calls + call);
    return options.loop > 0 ? (seconds() - begin) / options.loop : 0;
}

/* Whether all ranks have the bits of rank 0. */
static int are_alike(void)
{
    long calls = options.calls + options.loop;
    double *first = malloc(calls * sizeof *first);
    memcpy(first, results, calls * sizeof *first);
    MPI_Bcast(first, calls, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    int alike = memcmp(first, results, calls * sizeof *first) == 0, all;
    MPI_Reduce(&alike, &all, 1, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
    free(first);
    return all;
}

/* The values of all ranks by `op`, on rank 0, in place. */
static void gather(double *values, MPI_Op op)
{
    void *from = rank == 0 ? MPI_IN_PLACE : values;
    MPI_Reduce(from, values, options.calls, MPI_DOUBLE, op, 0, MPI_COMM_WORLD);
}

static void report(double *lates, double *times, double loop)
{
    double *lasts = malloc((options.calls + 1) * sizeof *lasts), mean = 0, last = 0;
    int all_right = 0, alike = are_alike();
    long counted = 0;
    memcpy(lasts, times, options.calls * sizeof *lasts);
    gather(lates, MPI_MAX);
    gather(times, MPI_SUM);
    gather(lasts, MPI_MAX);
    MPI_Reduce(&is_right, &all_right, 1, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
    for (long call = 0; call < options.calls; call++) {
        if (lates[call] > options.late_us * 1e-6) continue;
        counted++;
        mean += times[call] / size;
        last += lasts[call];
    }
    if (rank == 0) {
        double calls = counted > 0 ? counted : 1;
        printf("noise %d %ld %.1f %.1f %.1f %s\n", size, counted, mean / calls * 1e6,
               last / calls * 1e6, loop * 1e6, !all_right ? "wrong" : alike ? "ok" : "unlike");
    }
    free(lasts);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int word = 1; word + 1 < argc; word += 2) {
        long value = atol(argv[word + 1]);
        switch (argv[word][1]) {
        case 'c': options.calls = value; break;
        case 'g': options.gap_us = value; break;
        case 'l': options.late_us = value; break;
        case 'b': options.loop = value; break;
        default: MPI_Abort(MPI_COMM_WORLD, 2);
        }
    }
    results = calloc(options.calls + options.loop + 1, sizeof *results);
    double *lates = calloc(options.calls + 1, sizeof *lates);
    double *times = calloc(options.calls + 1, sizeof *times);
    started(lates, times);
    report(lates, times, loop_s());
    free(lates);
    free(times);
    free(results);
    MPI_Finalize();
    return 0;
}
