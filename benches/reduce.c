/* MPI_Reduce_local beside the same loop in C, as this program's compiler makes it.
 *
 *   reduce [SECONDS]     so long for each figure (default 0.02)
 *
 * For each operation and type, with both arrays in the first cache, in the second, and in memory:
 * gigabytes per second of one operand, of the library and of the loop, and their ratio. They take
 * turns, and the best of several windows counts. scripts/bench-reduce compiles and runs it. */
#include "measure.h"
#include <complex.h>
#include <mpi.h>
#include <stdint.h>

enum { WINDOWS = 9 };

/* Bytes of each of the two operands. */
static const size_t sizes[] = {8 << 10, 256 << 10, 64 << 20};

typedef void loop(const void *restrict from, void *restrict into, size_t count);

#define LOOP(name, type, expression)                                                              \
    __attribute__((noinline)) static void name(const void *restrict from, void *restrict into,    \
                                               size_t count)                                      \
    {                                                                                             \
        const type *restrict a = from;                                                            \
        type *restrict b = into;                                                                  \
        for (size_t i = 0; i < count; i++) b[i] = (expression);                                   \
    }

#define NUMBERS(type, name)                                                                       \
    LOOP(name##_sum, type, a[i] + b[i])                                                           \
    LOOP(name##_prod, type, a[i] * b[i])                                                          \
    LOOP(name##_min, type, a[i] < b[i] ? a[i] : b[i])                                             \
    LOOP(name##_max, type, a[i] > b[i] ? a[i] : b[i])
#define INTEGERS(type, name)                                                                      \
    NUMBERS(type, name)                                                                           \
    LOOP(name##_band, type, a[i] & b[i])                                                          \
    LOOP(name##_land, type, a[i] && b[i])

INTEGERS(int8_t, int8)
INTEGERS(int32_t, int)
INTEGERS(int64_t, int64)
NUMBERS(float, float)
NUMBERS(double, double)
LOOP(complex_sum, double complex, a[i] + b[i])
/* As most libraries do it: infinities are not sought in numbers that are none. */
#pragma GCC push_options
#pragma GCC optimize("cx-limited-range")
LOOP(complex_prod, double complex, a[i] * b[i])
#pragma GCC pop_options

struct int_int { int value, index; };
struct double_int { double value; int index; };
struct short_int { short value; int index; };
struct long_int { long value; int index; };
struct extended_int { long double value; int index; };
#define LOCATION(name, pair, before)                                                              \
    LOOP(name, struct pair,                                                                       \
         (a[i].value before b[i].value || (a[i].value == b[i].value && a[i].index < b[i].index))  \
             ? a[i] : b[i])
LOCATION(int_minloc, int_int, <)
LOCATION(double_minloc, double_int, <)
LOCATION(short_minloc, short_int, <)
LOCATION(long_minloc, long_int, <)
LOCATION(extended_maxloc, extended_int, >)

struct row {
    const char *type, *op;
    loop *loop;
    size_t size;
    char kind; /* how to fill: i, l, f, d, z: numbers; p to t: pairs */
    MPI_Datatype datatype;
    MPI_Op operation;
};

static uint64_t state = 1;

static double draw(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 40) / (1 << 24);
}

/* Numbers that stay what they are, however often they are combined: no overflow, no denormals. */
static void fill(void *memory, size_t count, const struct row *row)
{
    int product = strcmp(row->op, "PROD") == 0, sum = strcmp(row->op, "SUM") == 0;
    for (size_t i = 0; i < count; i++) {
        double value = product ? 1 : sum ? 0 : draw() * 100 - 50;
        switch (row->kind) {
        case 'b': ((int8_t *)memory)[i] = (int8_t)value; break;
        case 'i': ((int32_t *)memory)[i] = (int32_t)value; break;
        case 'l': ((int64_t *)memory)[i] = (int64_t)value; break;
        case 'f': ((float *)memory)[i] = (float)value; break;
        case 'd': ((double *)memory)[i] = value; break;
        case 'z': ((double complex *)memory)[i] = value; break;
        case 'p': ((struct int_int *)memory)[i] = (struct int_int){(int)value, (int)i}; break;
        case 'q': ((struct double_int *)memory)[i] = (struct double_int){value, (int)i}; break;
        case 'r': ((struct short_int *)memory)[i] = (struct short_int){(short)value, (int)i}; break;
        case 's': ((struct long_int *)memory)[i] = (struct long_int){(long)value, (int)i}; break;
        case 't': ((struct extended_int *)memory)[i] = (struct extended_int){value, (int)i}; break;
        }
    }
}

static double best(const struct row *row, int library, const void *from, void *into, size_t count,
                   double budget)
{
    size_t times = 1;
    double least = 1e9;
    for (int window = 0; window < WINDOWS;) {
        double start = seconds();
        for (size_t i = 0; i < times; i++) {
            if (library)
                MPI_Reduce_local(from, into, (int)count, row->datatype, row->operation);
            else
                row->loop(from, into, count);
        }
        double took = seconds() - start;
        if (took < budget / WINDOWS && times < (size_t)1 << 24 && window == 0 && took < 1e-4) {
            times *= 4;
            continue;
        }
        if (took / (double)times < least) least = took / (double)times;
        window++;
    }
    return least;
}

int main(int argc, char **argv)
{
    double budget = argc > 1 ? atof(argv[1]) : 0.02;
    MPI_Init(&argc, &argv);
    confine(0);
#define R(name, type, low, op, kind, mpi) {name, #op, type##_##low, sizeof(type##_t_), kind, mpi, MPI_##op}
    typedef int8_t int8_t_;
    typedef int32_t int_t_;
    typedef int64_t int64_t_;
    typedef float float_t_;
    typedef double double_t_;
    typedef double complex complex_t_;
#define NUMBER_ROWS(name, type, kind, mpi)                                                        \
    R(name, type, sum, SUM, kind, mpi), R(name, type, prod, PROD, kind, mpi),                     \
    R(name, type, min, MIN, kind, mpi), R(name, type, max, MAX, kind, mpi)
#define INTEGER_ROWS(name, type, kind, mpi)                                                       \
    NUMBER_ROWS(name, type, kind, mpi), R(name, type, band, BAND, kind, mpi),                     \
    R(name, type, land, LAND, kind, mpi)
    const struct row rows[] = {
        INTEGER_ROWS("int8", int8, 'b', MPI_INT8_T), INTEGER_ROWS("int", int, 'i', MPI_INT),
        INTEGER_ROWS("int64", int64, 'l', MPI_INT64_T),
        NUMBER_ROWS("float", float, 'f', MPI_FLOAT),
        NUMBER_ROWS("double", double, 'd', MPI_DOUBLE),
        R("complex", complex, sum, SUM, 'z', MPI_C_DOUBLE_COMPLEX),
        R("complex", complex, prod, PROD, 'z', MPI_C_DOUBLE_COMPLEX),
        {"2int", "MINLOC", int_minloc, sizeof(struct int_int), 'p', MPI_2INT, MPI_MINLOC},
        {"double_int", "MINLOC", double_minloc, sizeof(struct double_int), 'q', MPI_DOUBLE_INT,
         MPI_MINLOC},
        {"short_int", "MINLOC", short_minloc, sizeof(struct short_int), 'r', MPI_SHORT_INT,
         MPI_MINLOC},
        {"long_int", "MINLOC", long_minloc, sizeof(struct long_int), 's', MPI_LONG_INT,
         MPI_MINLOC},
        {"ldbl_int", "MAXLOC", extended_maxloc, sizeof(struct extended_int), 't',
         MPI_LONG_DOUBLE_INT, MPI_MAXLOC},
    };
    size_t largest = sizes[sizeof sizes / sizeof *sizes - 1];
    char *from = aligned_alloc(4096, largest), *into = aligned_alloc(4096, largest);
    printf("%-10s %-7s", "type", "op");
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        printf(" | %6zu KiB:  lib  loop ratio", sizes[s] >> 10);
    printf("\n");
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const struct row *row = &rows[r];
        printf("%-10s %-7s", row->type, row->op);
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            size_t count = sizes[s] / row->size;
            fill(from, count, row);
            fill(into, count, row);
            double library = best(row, 1, from, into, count, budget);
            double loop = best(row, 0, from, into, count, budget);
            double bytes = (double)(count * row->size) / 1e9;
            printf(" | %16.1f %5.1f %5.2f", bytes / library, bytes / loop, loop / library);
        }
        printf("\n");
        fflush(stdout);
    }
    free(from);
    free(into);
    MPI_Finalize();
    return 0;
}
