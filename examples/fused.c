/* Conjugate gradients on two kinds of machines: what a fused multiply-add does to a program whose ranks
 * decide by numbers that each of them computes itself.
 *
 * Each rank has some rows of the matrix, and a copy of all vectors. It computes the scalars and the
 * updates of all elements itself, which saves two reductions. That is right only if all ranks round alike:
 * with a fused multiply-add in some builds the copies part, and ranks disagree on when to stop. With the
 * argument "one" all ranks take the scalars and the elements of rank 0, and agree.
 *
 *   fused [one]
 *
 * docs/impi.md has the experiment. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 96, ROUNDS_MAX = 400 };

static double x[N], r[N], p[N], q[N];

/* Whether the compiler makes one operation of a product and a sum: the square of a is rounded to -b
 * otherwise. */
static int is_fused(void)
{
    volatile double a = 1 + 0x1p-30, b = -(1 + 0x1p-29);
    double c = a, d = b;
    return c * c + d != 0;
}

static double dot(const double *one, const double *other)
{
    double sum = 0;
    for (int i = 0; i < N; i++)
        sum += one[i] * other[i];
    return sum;
}

/* A matrix with a large condition number: the rounding shows after a few rounds. */
static double element(int i, int j)
{
    return 1.0 / (i + j + 1) + (i == j ? 1e-7 : 0);
}

int main(int argc, char **argv)
{
    int rank, size, stop = 0, left = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int by_one = argc > 1 && strcmp(argv[1], "one") == 0, rows = N / size, first = rank * rows;
    if (N % size) {
        fprintf(stderr, "fused: %d rows cannot be divided by %d ranks\n", N, size);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = 0; i < N; i++)
        r[i] = p[i] = 1;
    double rho = dot(r, r), enough = 1e-18 * rho;
    for (int round = 1; left && round <= ROUNDS_MAX; round++) {
        double part[N];
        for (int i = 0; i < rows; i++) {
            part[i] = 0;
            for (int j = 0; j < N; j++)
                part[i] += element(first + i, j) * p[j];
        }
        MPI_Allgather(part, rows, MPI_DOUBLE, q, rows, MPI_DOUBLE, MPI_COMM_WORLD);
        double alpha = rho / dot(p, q), before = rho;
        for (int i = 0; i < N; i++) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        rho = dot(r, r);
        for (int i = 0; i < N; i++)
            p[i] = r[i] + rho / before * p[i];
        if (by_one) {
            MPI_Bcast(&rho, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
            MPI_Bcast(r, N, MPI_DOUBLE, 0, MPI_COMM_WORLD);
            MPI_Bcast(p, N, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        }
        if (!stop && rho < enough)
            stop = round;
        /* A program that left the loop here would leave others waiting for it. */
        int mine = stop == 0;
        MPI_Allreduce(&mine, &left, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
    }
    struct { int fused, stop; double value; } own = {is_fused(), stop, x[0]}, *all = malloc((size_t)size * sizeof own);
    int lengths[] = {2, 1};
    MPI_Aint places[] = {0, 8};
    MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE}, result;
    MPI_Type_create_struct(2, lengths, places, types, &result);
    MPI_Type_commit(&result);
    MPI_Gather(&own, 1, result, all, 1, result, 0, MPI_COMM_WORLD);
    for (int of = 0; of < size && rank == 0; of++) {
        printf("rank %d, %s: ", of, all[of].fused ? "fused" : "strict");
        if (all[of].stop)
            printf("converges in %d rounds, x[0] = %.9f\n", all[of].stop, all[of].value);
        else
            printf("does not converge in %d rounds, x[0] = %.9f\n", ROUNDS_MAX, all[of].value);
    }
    MPI_Type_free(&result);
    free(all);
    MPI_Finalize();
    return 0;
}
