/* An allreduce of one double under noise, on any MPI library. All ranks must be on one host, as they
 * start by its clock.
 *
 *   mpirun -n N noise [-c CALLS] [-g GAP_US] [-b CALLS]
 *
 *   -c   calls that start at agreed times, drawn evenly so that they meet the noise anywhere (60)
 *   -g   the mean time between two of these starts in microseconds (20000). A call should take less than
 *        half of it
 *   -b   calls back to back (100)
 *
 * One line: `noise RANKS CALLS MEAN MAX LATE LOOP STATUS`, times in microseconds:
 *
 *   MEAN   from the agreed start until a rank has the result; mean over ranks and calls
 *   MAX    the same of the last rank; mean over calls
 *   LATE   starts that a rank missed by 200 us or more, as it was still in an earlier call or got no
 *          processor, in percent
 *   LOOP   a call, back to back
 *   STATUS ok; `wrong`, if a result is not near the sum that each rank computes itself; `unlike`, if the
 *          results of two ranks differ in a bit */
#include "measure.h"
#include <math.h>
#include <mpi.h>

static int rank, size;

static struct {
    long calls, gap_us, loop;
} options = {60, 20000, 100};

static const double late_s = 200e-6;

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

/* Times of the calls from their agreed starts on; the number of late starts. */
static long started(double *times)
{
    double gap_s = options.gap_us * 1e-6, begin = seconds() + gap_s;
    long late = 0;
    MPI_Bcast(&begin, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (long call = 0; call < options.calls; call++) {
        double start = begin + (call + drawn() / 2) * gap_s;
        sleep_until(start);
        late += seconds() - start >= late_s;
        reduce(call);
        times[call] = seconds() - start;
    }
    return late;
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

static void report(double *times, long late, double loop)
{
    double *of_all = malloc(options.calls * sizeof *of_all), mean = 0, last = 0;
    long all_late = 0;
    int all_right = 0, alike = are_alike();
    MPI_Reduce(times, of_all, options.calls, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    for (long call = 0; call < options.calls; call++) mean += of_all[call] / size;
    MPI_Reduce(times, of_all, options.calls, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    for (long call = 0; call < options.calls; call++) last += of_all[call];
    MPI_Reduce(&late, &all_late, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&is_right, &all_right, 1, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        double calls = options.calls > 0 ? options.calls : 1;
        printf("noise %d %ld %.1f %.1f %.1f %.1f %s\n", size, options.calls, mean / calls * 1e6,
               last / calls * 1e6, 100 * all_late / calls / size, loop * 1e6,
               !all_right ? "wrong" : alike ? "ok" : "unlike");
    }
    free(of_all);
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
        case 'b': options.loop = value; break;
        default: MPI_Abort(MPI_COMM_WORLD, 2);
        }
    }
    results = calloc(options.calls + options.loop + 1, sizeof *results);
    double *times = calloc(options.calls + 1, sizeof *times);
    long late = started(times);
    report(times, late, loop_s());
    free(times);
    free(results);
    MPI_Finalize();
    return 0;
}
