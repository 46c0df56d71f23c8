/* Barrier and broadcast: no rank leaves a barrier before all have entered; every root, every size,
 * unlike types of equal signature. */
#include "comms.h"

static int64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* All ranks are on one machine, so their clocks are one: the last to come is before the first to
 * leave. */
static void barrier(const Place *at)
{
    for (int late = 0; late < at->size; late++) {
        int64_t times[2], first_out = INT64_MAX, last_in = 0;
        if (at->rank == late)
            sleep_ms(5);
        times[0] = nanoseconds();
        MUST(MPI_Barrier(at->comm));
        times[1] = nanoseconds();
        if (at->rank != 0) {
            MUST(MPI_Send(times, 2, MPI_INT64_T, 0, 1, at->comm));
            continue;
        }
        for (int rank = 0; rank < at->size; rank++) {
            if (rank > 0)
                MUST(MPI_Recv(times, 2, MPI_INT64_T, rank, 1, at->comm, MPI_STATUS_IGNORE));
            last_in = times[0] > last_in ? times[0] : last_in;
            first_out = times[1] < first_out ? times[1] : first_out;
        }
        CHECK(last_in <= first_out);
    }
    for (int round = 0; round < 30; round++)
        MUST(MPI_Barrier(at->comm));
}

static void bytes(const Place *at)
{
    static const int sizes[] = {0, 1, 7, 8, 40, 41, 64, 1000, 4096, 8191, 20000, 65537, 300001};
    static unsigned char buffer[300001 + 8];
    for (size_t index = 0; index < sizeof sizes / sizeof sizes[0]; index++)
        for (int root = 0; root < at->size; root++) {
            int size = sizes[index];
            unsigned seed = (unsigned)(root * 7 + size);
            memset(buffer, 0xcc, (size_t)size + 8);
            if (at->rank == root)
                fill(buffer, (size_t)size, seed);
            MUST(MPI_Bcast(buffer, size, MPI_BYTE, root, at->comm));
            CHECK_EQUAL(spoiled(buffer, (size_t)size, seed), 0);
            CHECK_EQUAL(buffer[size], 0xcc);
        }
}

/* The root sends every third int; odd ranks receive pairs, even ones every second. */
static void unlike_types(const Place *at)
{
    for (int ints = 2; ints <= 20000; ints *= 100) {
        int step = at->rank % 2 ? 1 : 2, wrong = 0;
        int *buffer = take((size_t)ints * 3 * sizeof(int));
        MPI_Datatype comb, pair;
        MUST(MPI_Type_contiguous(2, MPI_INT, &pair));
        MUST(MPI_Type_commit(&pair));
        for (int root = 0; root < at->size; root++) {
            int mine = at->rank == root ? 3 : step;
            for (int place = 0; place < 3 * ints; place++)
                buffer[place] = at->rank == root ? place + root : -1;
            MUST(MPI_Type_vector(ints, 1, mine, MPI_INT, &comb));
            MUST(MPI_Type_commit(&comb));
            if (mine == 1)
                MUST(MPI_Bcast(buffer, ints / 2, pair, root, at->comm));
            else
                MUST(MPI_Bcast(buffer, 1, comb, root, at->comm));
            for (int index = 0; index < ints; index++)
                wrong += buffer[index * mine] != 3 * index + root;
            if (mine == 2)
                for (int index = 0; index < ints - 1; index++)
                    wrong += buffer[2 * index + 1] != -1;
            MUST(MPI_Type_free(&comb));
        }
        CHECK_EQUAL(wrong, 0);
        MUST(MPI_Type_free(&pair));
        free(buffer);
    }
}

/* One after the other without waiting, the roots in turn. */
static void in_a_row(const Place *at)
{
    for (int round = 0; round < 60; round++) {
        int value = at->rank == round % at->size ? round : -1;
        MUST(MPI_Bcast(&value, 1, MPI_INT, round % at->size, at->comm));
        CHECK_EQUAL(value, round);
    }
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    comms_open();
    section("barrier");
    comms_each(barrier);
    section("bytes");
    comms_each(bytes);
    section("unlike types");
    comms_each(unlike_types);
    section("in a row");
    comms_each(in_a_row);
    comms_close();
    return check_end();
}
