/* EP, "embarrassingly parallel": 2^m pairs of uniform numbers; those inside the unit circle
 * become Gaussian deviates, which are summed and counted by square annuli. Batches of 2^16 pairs
 * are distributed over the ranks; only the sums are communicated. Any number of ranks. */
#include "npb.h"

enum { BATCH_BITS = 16, ANNULI = 10 };
#define SEED UINT64_C(271828183)
#define TOLERANCE 1e-8

static const struct {
    int pairs_bits;
    double x, y;
} classes[] = {
    {24, -3.247834652034740e3, -6.958407078382297e3},
    {25, -2.863319731645753e3, -6.320053679109499e3},
    {28, -4.295875165629892e3, -1.580732573678431e4},
    {30, 4.033815542441498e4, -2.660669192809235e4},
};

typedef struct {
    double x, y;
    double counts[ANNULI];
} Sums;

static void add_batch(uint64_t batch, Sums *sums)
{
    uint64_t number = npb_ahead(SEED, batch << (BATCH_BITS + 1));
    for (long pair = 0; pair < 1L << BATCH_BITS; pair++) {
        number = npb_next(number);
        double x = 2 * NPB_SCALE * (double)number - 1;
        number = npb_next(number);
        double y = 2 * NPB_SCALE * (double)number - 1;
        double square = x * x + y * y;
        if (square > 1)
            continue;
        double factor = sqrt(-2 * log(square) / square);
        x *= factor;
        y *= factor;
        double larger = fabs(x) > fabs(y) ? fabs(x) : fabs(y);
        sums->counts[(int)larger] += 1;
        sums->x += x;
        sums->y += y;
    }
}

int main(int argc, char **argv)
{
    int rank, ranks;
    Sums mine = {0}, all = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int class = npb_class(argc, argv), bits = classes[class].pairs_bits;

    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = -MPI_Wtime(), slowest = 0;
    for (uint64_t batch = (uint64_t)rank; batch < UINT64_C(1) << (bits - BATCH_BITS);
         batch += (uint64_t)ranks)
        add_batch(batch, &mine);
    MPI_Allreduce(&mine, &all, sizeof mine / sizeof(double), MPI_DOUBLE, MPI_SUM,
                  MPI_COMM_WORLD);
    seconds += MPI_Wtime();
    MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);

    int verified = npb_near(all.x, classes[class].x, TOLERANCE)
        && npb_near(all.y, classes[class].y, TOLERANCE);
    if (rank == 0) {
        double pairs = 0;
        for (int annulus = 0; annulus < ANNULI; annulus++)
            pairs += all.counts[annulus];
        printf(" Gaussian pairs = %.0f\n Sums = %25.15e %25.15e\n", pairs, all.x, all.y);
        npb_report(&(NpbResult){"EP", "SWAB"[class], 1L << (bits + 1), 0, ranks, slowest,
                                ldexp(1e-6, bits + 1), "Random numbers generated", verified});
    }
    MPI_Finalize();
    return verified ? 0 : 1;
}
