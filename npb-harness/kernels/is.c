/* IS, integer sort: rank 2^k keys ten times, by buckets. Every rank counts its keys by bucket,
 * the counts are added up, buckets are distributed so that every rank gets a range of keys, and the
 * keys are exchanged in one MPI_Alltoallv. Five test keys are checked in every iteration, and at the
 * end that the keys can be put in full order. Any number of ranks. */
#include "npb.h"

#include <limits.h>

enum { ITERATIONS = 10, BUCKET_BITS = 10, BUCKETS = 1 << BUCKET_BITS, TESTS = 5 };
#define SEED UINT64_C(314159265)

static const struct {
    int keys_bits, key_bits;
    long index[TESTS];
    /* The rank expected in iteration t is rank + sign * t + offset. */
    long rank[TESTS];
    int sign[TESTS], offset[TESTS];
} classes[] = {
    {16, 11, {48427, 17148, 23627, 62548, 4431}, {0, 18, 346, 64917, 65463},
     {1, 1, 1, -1, -1}, {0, 0, 0, 0, 0}},
    {20, 16, {357773, 934767, 875723, 898999, 404505},
     {1249, 11698, 1039987, 1043896, 1048018}, {1, 1, -1, -1, -1}, {-2, -2, 0, 0, 0}},
    {23, 19, {2112377, 662041, 5336171, 3642833, 4250760},
     {104, 17523, 123928, 8288932, 8388264}, {1, 1, 1, -1, -1}, {-1, -1, -1, 1, 1}},
    {25, 21, {41869, 812306, 5102857, 18232239, 26860214},
     {33422937, 10244, 59149, 33135281, 99}, {-1, 1, 1, -1, 1}, {0, 0, 0, 0, 0}},
};

static int class, rank, ranks;

/* The keys of this rank, [first, first + count) of all. */
static long first_key, key_count;
static int *keys, *sorted_by_bucket;

/* After an iteration: keys received, their range, how many of each and how many are smaller on
 * the ranks before. */
static int *received;
static long received_count, received_room;
static int range_start, range_end;
static int *ranking;
static long smaller_elsewhere;

static long first_of(int owner)
{
    return (long)(((int64_t)owner << classes[class].keys_bits) / ranks);
}

/* A key is the scaled mean of four random numbers. */
static void make_keys(void)
{
    uint64_t number;
    first_key = first_of(rank);
    key_count = first_of(rank + 1) - first_key;
    keys = npb_take((size_t)key_count * sizeof *keys);
    sorted_by_bucket = npb_take((size_t)key_count * sizeof *keys);
    number = npb_ahead(SEED, 4 * (uint64_t)first_key);
    for (long place = 0; place < key_count; place++) {
        uint64_t sum = 0;
        for (int part = 0; part < 4; part++) {
            number = npb_next(number);
            sum += number;
        }
        keys[place] = (int)(sum >> (48 - classes[class].key_bits));
    }
}

static int bucket_of(int key)
{
    return key >> (classes[class].key_bits - BUCKET_BITS);
}

/* The first bucket of each rank, so that every rank gets about as many keys. */
static void deal_buckets(const int *totals, int *first_bucket)
{
    long keys_so_far = 0, total = 1L << classes[class].keys_bits;
    int owner = 0;
    first_bucket[0] = 0;
    for (int bucket = 0; bucket < BUCKETS; bucket++) {
        keys_so_far += totals[bucket];
        while (owner + 1 < ranks && keys_so_far >= (owner + 1) * total / ranks)
            first_bucket[++owner] = bucket + 1;
    }
    while (owner < ranks)
        first_bucket[++owner] = BUCKETS;
}

/* Sort the local keys by bucket; the begin of each bucket. */
static void sort_by_bucket(const int *sizes, int *begin)
{
    int next[BUCKETS];
    begin[0] = 0;
    for (int bucket = 0; bucket < BUCKETS; bucket++)
        begin[bucket + 1] = begin[bucket] + sizes[bucket];
    memcpy(next, begin, sizeof next);
    for (long place = 0; place < key_count; place++)
        sorted_by_bucket[next[bucket_of(keys[place])]++] = keys[place];
}

/* Keys of the buckets [first_bucket[r], first_bucket[r + 1]) go to rank r. */
static void exchange_keys(const int *begin, const int *first_bucket)
{
    int *out = npb_take(4 * (size_t)ranks * sizeof *out);
    int *in = out + ranks, *out_place = in + ranks, *in_place = out_place + ranks;
    for (int other = 0; other < ranks; other++) {
        out_place[other] = begin[first_bucket[other]];
        out[other] = begin[first_bucket[other + 1]] - out_place[other];
    }
    MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
    received_count = 0;
    for (int other = 0; other < ranks; other++) {
        in_place[other] = (int)received_count;
        received_count += in[other];
    }
    if (received_count > received_room) {
        free(received);
        received_room = received_count + received_count / 8;
        received = npb_take((size_t)received_room * sizeof *received);
    }
    MPI_Alltoallv(sorted_by_bucket, out, out_place, MPI_INT, received, in, in_place, MPI_INT,
                  MPI_COMM_WORLD);
    free(out);
}

/* How many received keys are at most as large as each key of this rank's range. */
static void rank_received(const int *totals, const int *first_bucket)
{
    int shift = classes[class].key_bits - BUCKET_BITS;
    range_start = first_bucket[rank] << shift;
    range_end = first_bucket[rank + 1] << shift;
    smaller_elsewhere = 0;
    for (int bucket = 0; bucket < first_bucket[rank]; bucket++)
        smaller_elsewhere += totals[bucket];
    memset(ranking, 0, (size_t)(range_end - range_start) * sizeof *ranking);
    for (long place = 0; place < received_count; place++)
        ranking[received[place] - range_start]++;
    for (int key = range_start + 1; key < range_end; key++)
        ranking[key - range_start] += ranking[key - range_start - 1];
}

/* How many of the test keys that lie in this rank's range have the rank they should have. */
static int check_tests(const int *test_keys, int iteration)
{
    int passed = 0;
    for (int test = 0; test < TESTS; test++) {
        int key = test_keys[test];
        if (key < range_start || key >= range_end)
            continue;
        long found = smaller_elsewhere + (key > range_start ? ranking[key - range_start - 1] : 0);
        long expected = classes[class].rank[test] + classes[class].sign[test] * iteration
            + classes[class].offset[test];
        passed += found == expected;
    }
    return passed;
}

/* One iteration; the tests passed by this rank. */
static int rank_keys(int iteration)
{
    int counts[BUCKETS + TESTS] = {0}, totals[BUCKETS + TESTS];
    int begin[BUCKETS + 1], *first_bucket = npb_take(((size_t)ranks + 1) * sizeof(int));
    if (rank == 0) {
        keys[iteration] = iteration;
        keys[iteration + ITERATIONS] = (1 << classes[class].key_bits) - iteration;
    }
    for (int test = 0; test < TESTS; test++) {
        long place = classes[class].index[test] - first_key;
        if (place >= 0 && place < key_count)
            counts[BUCKETS + test] = keys[place];
    }
    for (long place = 0; place < key_count; place++)
        counts[bucket_of(keys[place])]++;
    sort_by_bucket(counts, begin);
    MPI_Allreduce(counts, totals, BUCKETS + TESTS, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    deal_buckets(totals, first_bucket);
    exchange_keys(begin, first_bucket);
    rank_received(totals, first_bucket);
    free(first_bucket);
    return check_tests(totals + BUCKETS, iteration);
}

/* Put the received keys in order by their ranks; whether they are, across ranks too. */
static int sorted_in_full(void)
{
    int *sorted = npb_take((size_t)received_count * sizeof *sorted), *ends;
    int wrong = 0;
    for (long place = received_count - 1; place >= 0; place--)
        sorted[--ranking[received[place] - range_start]] = received[place];
    for (long place = 1; place < received_count; place++)
        wrong += sorted[place - 1] > sorted[place];
    int mine[2] = {INT_MAX, INT_MIN}, largest = INT_MIN;
    if (received_count > 0) {
        mine[0] = sorted[0];
        mine[1] = sorted[received_count - 1];
    }
    ends = npb_take(2 * (size_t)ranks * sizeof *ends);
    MPI_Allgather(mine, 2, MPI_INT, ends, 2, MPI_INT, MPI_COMM_WORLD);
    for (int other = 0; other < ranks; other++) {
        wrong += ends[2 * other] < largest;
        if (ends[2 * other + 1] > largest)
            largest = ends[2 * other + 1];
    }
    free(ends);
    free(sorted);
    return wrong == 0;
}

int main(int argc, char **argv)
{
    int mine = 0, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    class = npb_class(argc, argv);
    ranking = npb_take(sizeof *ranking << classes[class].key_bits);
    make_keys();
    rank_keys(1);

    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = -MPI_Wtime(), slowest = 0;
    for (int iteration = 1; iteration <= ITERATIONS; iteration++)
        mine += rank_keys(iteration);
    seconds += MPI_Wtime();
    MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);

    mine += sorted_in_full();
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    int verified = all == ITERATIONS * TESTS + ranks;
    if (rank == 0) {
        long total = 1L << classes[class].keys_bits;
        npb_report(&(NpbResult){"IS", "SWAB"[class], total, ITERATIONS, ranks, slowest,
                                1e-6 * ITERATIONS * (double)total, "keys ranked", verified});
    }
    free(ranking);
    free(received);
    free(keys);
    free(sorted_by_bucket);
    MPI_Finalize();
    return verified ? 0 : 1;
}
