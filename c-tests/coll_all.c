/* Allgather and alltoall and their v forms: sizes, in place, nothing between some ranks, derived
 * types, blocks in any order. */
#include "comms.h"

static int number(int from, int to, int index)
{
    return from * 1000000 + to * 10000 + index % 10000;
}

static int *blank(int count)
{
    int *memory = take((size_t)count * sizeof(int));
    for (int index = 0; index < count; index++)
        memory[index] = -1;
    return memory;
}

static void allgather_of(const Place *at, int count)
{
    int *mine = blank(count), *all = blank(count * at->size + 1), wrong = 0;
    for (int index = 0; index < count; index++)
        mine[index] = number(at->rank, 0, index);
    MUST(MPI_Allgather(mine, count, MPI_INT, all, count, MPI_INT, at->comm));
    for (int place = 0; place < count * at->size; place++) {
        wrong += all[place] != number(place / count, 0, place % count);
        if (place / count != at->rank)
            all[place] = -1;
    }
    MUST(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, count, MPI_INT, at->comm));
    for (int place = 0; place < count * at->size; place++)
        wrong += all[place] != number(place / count, 0, place % count);
    wrong += all[count * at->size] != -1;
    CHECK_EQUAL(wrong, 0);
    free(mine);
    free(all);
}

static void alltoall_of(const Place *at, int count)
{
    int total = count * at->size, *out = blank(total), *in = blank(total + 1), wrong = 0;
    for (int place = 0; place < total; place++)
        out[place] = number(at->rank, place / count, place % count);
    MUST(MPI_Alltoall(out, count, MPI_INT, in, count, MPI_INT, at->comm));
    for (int place = 0; place < total; place++)
        wrong += in[place] != number(place / count, at->rank, place % count);
    wrong += in[total] != -1;
    MUST(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, count, MPI_INT, at->comm));
    for (int place = 0; place < total; place++)
        wrong += out[place] != number(place / count, at->rank, place % count);
    CHECK_EQUAL(wrong, 0);
    free(out);
    free(in);
}

static void plain(const Place *at)
{
    static const int counts[] = {0, 1, 2, 10, 11, 500, 3000, 20000};
    for (size_t index = 0; index < sizeof counts / sizeof counts[0]; index++) {
        allgather_of(at, counts[index]);
        alltoall_of(at, counts[index]);
    }
}

/* Rank r gives r * 3 % 5 * scale ints; blocks lie backwards with gaps of two. */
static void allgatherv_of(const Place *at, int scale)
{
    int *counts = blank(at->size), *begin = blank(at->size), total = 0, wrong = 0;
    for (int rank = at->size - 1; rank >= 0; rank--) {
        counts[rank] = rank * 3 % 5 * scale;
        begin[rank] = total;
        total += counts[rank] + 2;
    }
    int *mine = blank(counts[at->rank]), *all = blank(total);
    for (int index = 0; index < counts[at->rank]; index++)
        mine[index] = number(at->rank, 1, index);
    for (int in_place = 0; in_place < 2; in_place++) {
        if (in_place)
            MUST(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, counts, begin, MPI_INT,
                                at->comm));
        else
            MUST(MPI_Allgatherv(mine, counts[at->rank], MPI_INT, all, counts, begin, MPI_INT,
                                at->comm));
        for (int rank = 0; rank < at->size; rank++) {
            for (int index = 0; index < counts[rank]; index++) {
                wrong += all[begin[rank] + index] != number(rank, 1, index);
                if (rank != at->rank)
                    all[begin[rank] + index] = -1;
            }
            wrong += all[begin[rank] + counts[rank]] != -1;
        }
    }
    CHECK_EQUAL(wrong, 0);
    free(counts);
    free(begin);
    free(mine);
    free(all);
}

/* What rank `from` has for rank `to`: nothing for some. */
static int amount(int from, int to, int scale)
{
    return (from * 2 + to * 3) % 4 * scale;
}

static void alltoallv_of(const Place *at, int scale)
{
    int n = at->size, *table = blank(4 * n), out_total = 0, in_total = 0, wrong = 0;
    int *out_counts = table, *out_begin = table + n, *in_counts = table + 2 * n;
    int *in_begin = table + 3 * n;
    for (int rank = n - 1; rank >= 0; rank--) {
        out_counts[rank] = amount(at->rank, rank, scale);
        in_counts[rank] = amount(rank, at->rank, scale);
        out_begin[rank] = out_total;
        in_begin[rank] = in_total;
        out_total += out_counts[rank] + 1;
        in_total += in_counts[rank] + 3;
    }
    int *out = blank(out_total), *in = blank(in_total);
    for (int rank = 0; rank < n; rank++)
        for (int index = 0; index < out_counts[rank]; index++)
            out[out_begin[rank] + index] = number(at->rank, rank, index);
    MUST(MPI_Alltoallv(out, out_counts, out_begin, MPI_INT, in, in_counts, in_begin, MPI_INT,
                       at->comm));
    for (int rank = 0; rank < n; rank++) {
        for (int index = 0; index < in_counts[rank]; index++)
            wrong += in[in_begin[rank] + index] != number(rank, at->rank, index);
        for (int gap = 0; gap < 3; gap++)
            wrong += in[in_begin[rank] + in_counts[rank] + gap] != -1;
    }
    CHECK_EQUAL(wrong, 0);
    free(table);
    free(out);
    free(in);
}

/* In place the amounts must be the same in both directions. */
static void alltoallv_in_place(const Place *at, int scale)
{
    int n = at->size, *counts = blank(n), *begin = blank(n), total = 0, wrong = 0;
    for (int rank = 0; rank < n; rank++) {
        counts[rank] = (at->rank + rank) % 3 * scale;
        begin[rank] = total;
        total += counts[rank] + 1;
    }
    int *both = blank(total);
    for (int rank = 0; rank < n; rank++)
        for (int index = 0; index < counts[rank]; index++)
            both[begin[rank] + index] = number(at->rank, rank, index);
    MUST(MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, both, counts, begin, MPI_INT,
                       at->comm));
    for (int rank = 0; rank < n; rank++) {
        for (int index = 0; index < counts[rank]; index++)
            wrong += both[begin[rank] + index] != number(rank, at->rank, index);
        wrong += both[begin[rank] + counts[rank]] != -1;
    }
    CHECK_EQUAL(wrong, 0);
    free(counts);
    free(begin);
    free(both);
}

static void unequal(const Place *at)
{
    static const int scales[] = {0, 1, 9, 300, 5000};
    for (size_t index = 0; index < sizeof scales / sizeof scales[0]; index++) {
        allgatherv_of(at, scales[index]);
        alltoallv_of(at, scales[index]);
        alltoallv_in_place(at, scales[index]);
    }
}

/* A matrix is transposed by columns on the sending side. */
static void transposed(const Place *at)
{
    enum { ROWS = 300 };
    int n = at->size, *matrix = blank(ROWS * n), *rows = blank(ROWS * n), wrong = 0;
    MPI_Datatype column, narrow;
    MUST(MPI_Type_vector(ROWS, 1, n, MPI_INT, &column));
    MUST(MPI_Type_create_resized(column, 0, sizeof(int), &narrow));
    MUST(MPI_Type_commit(&narrow));
    for (int place = 0; place < ROWS * n; place++)
        matrix[place] = number(at->rank, place % n, place / n);
    MUST(MPI_Alltoall(matrix, 1, narrow, rows, ROWS, MPI_INT, at->comm));
    for (int place = 0; place < ROWS * n; place++)
        wrong += rows[place] != number(place / ROWS, at->rank, place % ROWS);
    for (int place = 0; place < ROWS * n; place++)
        matrix[place] = -1;
    MUST(MPI_Allgather(rows + at->rank * ROWS, ROWS, MPI_INT, matrix, 1, narrow, at->comm));
    for (int place = 0; place < ROWS * n; place++)
        wrong += matrix[place] != number(place % n, place % n, place / n);
    CHECK_EQUAL(wrong, 0);
    MUST(MPI_Type_free(&column));
    MUST(MPI_Type_free(&narrow));
    free(matrix);
    free(rows);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    comms_open();
    section("allgather and alltoall");
    comms_each(plain);
    section("allgatherv and alltoallv");
    comms_each(unequal);
    section("columns");
    comms_each(transposed);
    comms_close();
    return check_end();
}
