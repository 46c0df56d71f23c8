/* CG, conjugate gradient: the smallest eigenvalue of a large sparse symmetric matrix by inverse
 * iteration; each step solves a system by 25 iterations of conjugate gradient.
 *
 * The ranks are a grid of `grid_rows` times `grid_columns`, the latter `pieces` times the former.
 * A rank has one block of the matrix. A vector is cut into one block for each column of the grid,
 * and every rank of a column has that block. A product with the matrix is
 *
  *     block * vector     partial sums for the rows of this rank's block
  *     sum over the row   of the one piece (a block of a vector) of this rank
  *     transpose          with the rank that has the piece of this rank's column, and vice versa
 *
  * and sums are pairwise exchanges. Any number of ranks: `grid_rows` is the largest power of
 * two whose square divides it. */
#include "npb.h"

enum { ITERATIONS_INSIDE = 25, TAG_SUM = 1, TAG_TRANSPOSE = 2 };
#define SEED UINT64_C(314159265)
#define CONDITION 0.1
#define TOLERANCE 1e-10

static const struct {
    int order, nonzeros, iterations;
    double shift, zeta;
} classes[] = {
    {1400, 7, 15, 10, 8.5971775078648},
    {7000, 8, 15, 12, 10.362595087124},
    {14000, 11, 15, 20, 17.130235054029},
    {75000, 13, 75, 60, 22.712745482631},
};

static int class, rank, ranks;
static int grid_rows, grid_columns, pieces, my_row, my_column;

/* The matrix block, row by row: columns count from the block's first. */
static int first_row, row_count, first_column, column_count;
static int *row_begin, *column_of;
static double *value_of;

/* Vectors with a block of the column's length, and one of a row's length for sums. */
static double *x, *z, *p, *q, *r, *sums, *incoming;

/* The first index of the block of a grid column in a vector. */
static int first_of(int column)
{
    return (int)((int64_t)classes[class].order * column / grid_columns);
}

static void lay_out_grid(void)
{
    grid_rows = 1;
    while (ranks % (4 * grid_rows * grid_rows) == 0)
        grid_rows *= 2;
    grid_columns = ranks / grid_rows;
    pieces = grid_columns / grid_rows;
    my_row = rank / grid_columns;
    my_column = rank % grid_columns;
    first_column = first_of(my_column);
    column_count = first_of(my_column + 1) - first_column;
    first_row = first_of(my_row * pieces);
    row_count = first_of((my_row + 1) * pieces) - first_row;
}

/* A sparse vector: `count` elements, one of which is 1/2 at the vector's own index. */
typedef struct {
    int count;
    int *index;
    double *value;
} Sparse;

/* Fill with random values at distinct random indices; returns the next random number. */
static uint64_t make_sparse(Sparse *vector, int own, int *last_use, uint64_t number)
{
    int order = classes[class].order, power_bits = 0;
    while (1 << power_bits < order)
        power_bits++;
    vector->count = 0;
    while (vector->count < classes[class].nonzeros) {
        number = npb_next(number);
        double value = NPB_SCALE * (double)number;
        number = npb_next(number);
        int index = (int)(number >> (46 - power_bits));
        if (index >= order || last_use[index] == own)
            continue;
        last_use[index] = own;
        vector->index[vector->count] = index;
        vector->value[vector->count++] = value;
    }
    int place = 0;
    while (place < vector->count && vector->index[place] != own)
        place++;
    vector->count += place == vector->count;
    vector->index[place] = own;
    vector->value[place] = 0.5;
    return number;
}

/* The vectors whose outer products add up to the matrix: every rank makes all of them. */
static Sparse *make_vectors(void)
{
    int order = classes[class].order, room = classes[class].nonzeros + 1;
    Sparse *vectors = npb_take((size_t)order * sizeof *vectors);
    int *indices = npb_take((size_t)order * (size_t)room * sizeof *indices);
    double *values = npb_take((size_t)order * (size_t)room * sizeof *values);
    int *last_use = npb_take((size_t)order * sizeof *last_use);
    /* The published generator discards one number before the first vector. */
    uint64_t number = npb_next(SEED);
    for (int index = 0; index < order; index++)
        last_use[index] = -1;
    for (int own = 0; own < order; own++) {
        vectors[own].index = indices + (size_t)own * (size_t)room;
        vectors[own].value = values + (size_t)own * (size_t)room;
        number = make_sparse(&vectors[own], own, last_use, number);
    }
    free(last_use);
    return vectors;
}

static int in_my_rows(int index)
{
    return index >= first_row && index < first_row + row_count;
}

static int in_my_columns(int index)
{
    return index >= first_column && index < first_column + column_count;
}

/* The vectors with an element in each local row: for row i, members[begin[i]..begin[i + 1]]. */
typedef struct {
    int *begin, *members;
    double *values;
} Members;

static Members find_members(const Sparse *vectors)
{
    int order = classes[class].order;
    Members found = {npb_take(((size_t)row_count + 2) * sizeof(int)), NULL, NULL};
    memset(found.begin, 0, ((size_t)row_count + 2) * sizeof(int));
    /* Counts are stored two places further, so that they become begins while rows are filled. */
    int *next = found.begin + 1;
    for (int own = 0; own < order; own++)
        for (int place = 0; place < vectors[own].count; place++)
            if (in_my_rows(vectors[own].index[place]))
                next[vectors[own].index[place] - first_row + 1]++;
    for (int row = 0; row < row_count; row++)
        next[row + 1] += next[row];
    found.members = npb_take((size_t)next[row_count] * sizeof *found.members);
    found.values = npb_take((size_t)next[row_count] * sizeof *found.values);
    for (int own = 0; own < order; own++)
        for (int place = 0; place < vectors[own].count; place++)
            if (in_my_rows(vectors[own].index[place])) {
                int at = next[vectors[own].index[place] - first_row]++;
                found.members[at] = own;
                found.values[at] = vectors[own].value[place];
            }
    return found;
}

/* An upper limit of the elements of the local block: coinciding elements count several times. */
static size_t most_elements(const Sparse *vectors)
{
    size_t most = (size_t)row_count;
    for (int own = 0; own < classes[class].order; own++) {
        size_t rows = 0, columns = 0;
        for (int place = 0; place < vectors[own].count; place++) {
            rows += (size_t)in_my_rows(vectors[own].index[place]);
            columns += (size_t)in_my_columns(vectors[own].index[place]);
        }
        most += rows * columns;
    }
    return most;
}

/* One row of the block: sums by column in `dense`, which is zero before and after. */
static void make_row(int row, const Sparse *vectors, const Members *members, const double *weights,
                     double *dense)
{
    int begin = row_begin[row], end = begin, diagonal = first_row + row - first_column;
    for (int at = members->begin[row]; at < members->begin[row + 1]; at++) {
        int own = members->members[at];
        double scale = weights[own] * members->values[at];
        for (int place = 0; place < vectors[own].count; place++) {
            if (!in_my_columns(vectors[own].index[place]))
                continue;
            int column = vectors[own].index[place] - first_column;
            /* All terms are positive, so zero means that the column is new in this row. */
            if (dense[column] == 0)
                column_of[end++] = column;
            dense[column] += scale * vectors[own].value[place];
        }
    }
    for (int at = begin; at < end; at++) {
        value_of[at] = dense[column_of[at]];
        dense[column_of[at]] = 0;
        if (column_of[at] == diagonal)
            value_of[at] += CONDITION - classes[class].shift;
    }
    row_begin[row + 1] = end;
}

/* The sum of weight(i) v(i) v(i)^T, weights falling from 1 to CONDITION, minus a shifted unit. */
static void make_matrix(void)
{
    int order = classes[class].order;
    Sparse *vectors = make_vectors();
    Members members = find_members(vectors);
    double *weights = npb_take((size_t)order * sizeof *weights), weight = 1;
    double ratio = pow(CONDITION, 1.0 / order);
    double *dense = npb_take((size_t)column_count * sizeof *dense);
    size_t most = most_elements(vectors);
    for (int own = 0; own < order; own++, weight *= ratio)
        weights[own] = weight;
    for (int column = 0; column < column_count; column++)
        dense[column] = 0;
    row_begin = npb_take(((size_t)row_count + 1) * sizeof *row_begin);
    column_of = npb_take(most * sizeof *column_of);
    value_of = npb_take(most * sizeof *value_of);
    row_begin[0] = 0;
    for (int row = 0; row < row_count; row++)
        make_row(row, vectors, &members, weights, dense);
    free(dense);
    free(weights);
    free(members.values);
    free(members.members);
    free(members.begin);
    free(vectors[0].index);
    free(vectors[0].value);
    free(vectors);
}

/* Exchange with another rank. */
static void exchange(const double *out, int out_count, double *in, int in_count, int other, int tag)
{
    MPI_Request request;
    MPI_Irecv(in, in_count, MPI_DOUBLE, other, tag, MPI_COMM_WORLD, &request);
    MPI_Send(out, out_count, MPI_DOUBLE, other, tag, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Add up `count` values over the ranks of this row whose columns differ from this one by a multiple
 * of `step`: a power of two of them, so doubling reaches all. */
static void sum_by_doubling(double *values, int count, int step)
{
    for (int distance = 1; distance * step < grid_columns; distance *= 2) {
        int other = ((my_column / step) ^ distance) * step + my_column % step;
        exchange(values, count, incoming, count, my_row * grid_columns + other, TAG_SUM);
        for (int place = 0; place < count; place++)
            values[place] += incoming[place];
    }
}

/* The sum of a number over this row. */
static double sum_number(double mine)
{
    int group = my_column - my_column % pieces;
    double sum = 0;
    for (int turn = 0; turn < pieces; turn++) {
        /* All ranks add in the same order, so that results are bitwise equal. */
        int other = (turn - my_column % pieces + pieces) % pieces;
        double theirs = mine;
        if (other != my_column % pieces)
            exchange(&mine, 1, &theirs, 1, my_row * grid_columns + group + other, TAG_SUM);
        incoming[other] = theirs;
    }
    for (int member = 0; member < pieces; member++)
        sum += incoming[member];
    sum_by_doubling(&sum, 1, pieces);
    return sum;
}

/* Add up this rank's piece of `sums` over the row: first among the `pieces` neighbours, which have
 * different pieces, then among ranks with the same one; returns the piece. */
static double *sum_piece(void)
{
    int group = my_column - my_column % pieces, me = my_column % pieces;
    int first_piece = my_row * pieces;
    double *mine = sums + (first_of(first_piece + me) - first_row);
    int count = first_of(first_piece + me + 1) - first_of(first_piece + me);
    for (int turn = 0; turn < pieces; turn++) {
        int other = (turn - me + pieces) % pieces;
        if (other == me)
            continue;
        int begin = first_of(first_piece + other), end = first_of(first_piece + other + 1);
        exchange(sums + (begin - first_row), end - begin, incoming, count,
                 my_row * grid_columns + group + other, TAG_SUM);
        for (int place = 0; place < count; place++)
            mine[place] += incoming[place];
    }
    sum_by_doubling(mine, count, pieces);
    return mine;
}

/* result = matrix * vector */
static void multiply(const double *vector, double *result)
{
    for (int row = 0; row < row_count; row++) {
        double sum = 0;
        for (int at = row_begin[row]; at < row_begin[row + 1]; at++)
            sum += value_of[at] * vector[column_of[at]];
        sums[row] = sum;
    }
    int me = my_column % pieces, have = my_row * pieces + me;
    int have_count = first_of(have + 1) - first_of(have);
    int other = my_column / pieces * grid_columns + have;
    const double *piece = sum_piece();
    if (other == rank)
        memcpy(result, piece, (size_t)column_count * sizeof *result);
    else
        exchange(piece, have_count, result, column_count, other, TAG_TRANSPOSE);
}

static double product(const double *left, const double *right)
{
    double sum = 0;
    for (int place = 0; place < column_count; place++)
        sum += left[place] * right[place];
    return sum_number(sum);
}

/* Solve matrix * z = x from z = 0; returns the norm of the residual. */
static double solve(void)
{
    size_t bytes = (size_t)column_count * sizeof(double);
    memset(z, 0, bytes);
    memcpy(r, x, bytes);
    memcpy(p, x, bytes);
    double rho = product(r, r);
    for (int iteration = 0; iteration < ITERATIONS_INSIDE; iteration++) {
        multiply(p, q);
        double alpha = rho / product(p, q), before = rho;
        for (int place = 0; place < column_count; place++) {
            z[place] += alpha * p[place];
            r[place] -= alpha * q[place];
        }
        rho = product(r, r);
        for (int place = 0; place < column_count; place++)
            p[place] = r[place] + rho / before * p[place];
    }
    multiply(z, q);
    for (int place = 0; place < column_count; place++)
        r[place] = x[place] - q[place];
    return sqrt(product(r, r));
}

/* One step of inverse iteration; returns the estimate of the eigenvalue. */
static double step(double *residual)
{
    *residual = solve();
    double zeta = classes[class].shift + 1 / product(x, z);
    double factor = 1 / sqrt(product(z, z));
    for (int place = 0; place < column_count; place++)
        x[place] = factor * z[place];
    return zeta;
}

static void start_with_ones(void)
{
    for (int place = 0; place < column_count; place++)
        x[place] = 1;
}

static void take_vectors(void)
{
    size_t length = (size_t)column_count, most = (size_t)classes[class].order + (size_t)pieces;
    x = npb_take(5 * length * sizeof *x);
    z = x + length;
    p = z + length;
    q = p + length;
    r = q + length;
    sums = npb_take((size_t)row_count * sizeof *sums);
    incoming = npb_take(most * sizeof *incoming);
}

static double operations(void)
{
    double row = (double)classes[class].nonzeros * (classes[class].nonzeros + 1);
    return 2e-6 * classes[class].iterations * classes[class].order
        * (3 + row + ITERATIONS_INSIDE * (5 + row) + 3);
}

int main(int argc, char **argv)
{
    double zeta = 0, residual = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    class = npb_class(argc, argv);
    lay_out_grid();
    make_matrix();
    take_vectors();
    start_with_ones();
    step(&residual);
    start_with_ones();

    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = -MPI_Wtime(), slowest = 0;
    for (int iteration = 0; iteration < classes[class].iterations; iteration++)
        zeta = step(&residual);
    seconds += MPI_Wtime();
    MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);

    int mine = npb_near(zeta, classes[class].zeta, TOLERANCE), verified = 0;
    MPI_Allreduce(&mine, &verified, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (rank == 0) {
        printf(" Zeta = %20.13e\n Residual = %20.13e\n", zeta, residual);
        npb_report(&(NpbResult){"CG", "SWAB"[class], classes[class].order,
                                classes[class].iterations, ranks, slowest, operations(),
                                "floating point", verified});
    }
    free(incoming);
    free(sums);
    free(x);
    free(value_of);
    free(column_of);
    free(row_begin);
    MPI_Finalize();
    return verified ? 0 : 1;
}
