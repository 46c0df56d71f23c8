/* Gather and scatter and their v forms: every root, in place, nothing from some ranks, unlike
 * types on the two sides, blocks in any order with gaps. */
#include "comms.h"

static int number(int rank, int index)
{
    return rank * 100000 + index;
}

/* Memory for `count` ints, all -1. */
static int *blank(int count)
{
    int *memory = take((size_t)count * sizeof(int));
    for (int index = 0; index < count; index++)
        memory[index] = -1;
    return memory;
}

static void gather_of(const Place *at, int count, int root)
{
    int *mine = blank(count + 1), *all = blank(count * at->size + 1), wrong = 0;
    for (int index = 0; index < count; index++)
        mine[index] = number(at->rank, index);
    if (at->rank == root)
        MUST(MPI_Gather(mine, count, MPI_INT, all, count, MPI_INT, root, at->comm));
    else
        MUST(MPI_Gather(mine, count, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, root, at->comm));
    for (int place = 0; place < count * at->size; place++)
        wrong += all[place]
            != (at->rank == root ? number(place / count, place % count) : -1);
    wrong += all[count * at->size] != -1;
    if (at->rank == root)
        for (int index = 0; index < count; index++)
            all[root * count + index] = number(root, index) + 1;
    MUST(MPI_Gather(at->rank == root ? MPI_IN_PLACE : mine, count, MPI_INT, all, count, MPI_INT,
                    root, at->comm));
    for (int place = 0; place < count * at->size && at->rank == root; place++)
        wrong += all[place] != number(place / count, place % count) + (place / count == root);
    CHECK_EQUAL(wrong, 0);
    free(mine);
    free(all);
}

static void scatter_of(const Place *at, int count, int root)
{
    int *mine = blank(count + 1), *all = blank(count * at->size), wrong = 0;
    for (int place = 0; place < count * at->size && at->rank == root; place++)
        all[place] = number(place / count, place % count);
    if (at->rank == root)
        MUST(MPI_Scatter(all, count, MPI_INT, mine, count, MPI_INT, root, at->comm));
    else
        MUST(MPI_Scatter(NULL, 0, MPI_DATATYPE_NULL, mine, count, MPI_INT, root, at->comm));
    for (int index = 0; index < count; index++) {
        wrong += mine[index] != number(at->rank, index);
        mine[index] = -1;
    }
    wrong += mine[count] != -1;
    MUST(MPI_Scatter(all, count, MPI_INT, at->rank == root ? MPI_IN_PLACE : mine, count, MPI_INT,
                     root, at->comm));
    for (int index = 0; index < count; index++)
        wrong += mine[index] != (at->rank == root ? -1 : number(at->rank, index));
    CHECK_EQUAL(wrong, 0);
    free(mine);
    free(all);
}

static void plain(const Place *at)
{
    static const int counts[] = {0, 1, 3, 10, 11, 500, 3000, 30000};
    for (size_t index = 0; index < sizeof counts / sizeof counts[0]; index++)
        for (int root = 0; root < at->size; root++) {
            gather_of(at, counts[index], root);
            scatter_of(at, counts[index], root);
        }
}

/* Rank r has (r * 3) % 5 * scale ints, so some have none; blocks lie backwards with gaps. */
typedef struct {
    int *counts, *begin, total;
} Blocks;

static Blocks blocks_of(const Place *at, int scale)
{
    Blocks blocks = {take((size_t)at->size * sizeof(int)), take((size_t)at->size * sizeof(int)),
                     0};
    for (int rank = at->size - 1; rank >= 0; rank--) {
        blocks.counts[rank] = rank * 3 % 5 * scale;
        blocks.begin[rank] = blocks.total;
        blocks.total += blocks.counts[rank] + 2;
    }
    return blocks;
}

/* How many ints of `all` are not what the blocks say; gaps must be -1. */
static int misplaced(const Place *at, const Blocks *blocks, int *all)
{
    int wrong = 0;
    for (int rank = 0; rank < at->size; rank++)
        for (int index = 0; index < blocks->counts[rank]; index++) {
            wrong += all[blocks->begin[rank] + index] != number(rank, index);
            all[blocks->begin[rank] + index] = -1;
        }
    for (int place = 0; place < blocks->total; place++)
        wrong += all[place] != -1;
    return wrong;
}

static void gatherv_of(const Place *at, int scale, int root)
{
    Blocks blocks = blocks_of(at, scale);
    int count = blocks.counts[at->rank], *mine = blank(count), *all = blank(blocks.total);
    for (int index = 0; index < count; index++)
        mine[index] = number(at->rank, index);
    if (at->rank == root)
        MUST(MPI_Gatherv(mine, count, MPI_INT, all, blocks.counts, blocks.begin, MPI_INT, root,
                         at->comm));
    else
        MUST(MPI_Gatherv(mine, count, MPI_INT, NULL, NULL, NULL, MPI_DATATYPE_NULL, root,
                         at->comm));
    if (at->rank == root) {
        CHECK_EQUAL(misplaced(at, &blocks, all), 0);
        memcpy(all + blocks.begin[root], mine, (size_t)count * sizeof(int));
    }
    MUST(MPI_Gatherv(at->rank == root ? MPI_IN_PLACE : mine, count, MPI_INT, all, blocks.counts,
                     blocks.begin, MPI_INT, root, at->comm));
    if (at->rank == root)
        CHECK_EQUAL(misplaced(at, &blocks, all), 0);
    free(mine);
    free(all);
    free(blocks.counts);
    free(blocks.begin);
}

static void scatterv_of(const Place *at, int scale, int root)
{
    Blocks blocks = blocks_of(at, scale);
    int count = blocks.counts[at->rank], *mine = blank(count + 1), *all = blank(blocks.total);
    int wrong = 0;
    for (int rank = 0; rank < at->size; rank++)
        for (int index = 0; index < blocks.counts[rank]; index++)
            all[blocks.begin[rank] + index] = number(rank, index);
    if (at->rank == root)
        MUST(MPI_Scatterv(all, blocks.counts, blocks.begin, MPI_INT, mine, count, MPI_INT, root,
                          at->comm));
    else
        MUST(MPI_Scatterv(NULL, NULL, NULL, MPI_DATATYPE_NULL, mine, count, MPI_INT, root,
                          at->comm));
    for (int index = 0; index < count; index++)
        wrong += mine[index] != number(at->rank, index);
    MUST(MPI_Scatterv(all, blocks.counts, blocks.begin, MPI_INT,
                      at->rank == root ? MPI_IN_PLACE : mine, count, MPI_INT, root, at->comm));
    wrong += mine[count] != -1;
    CHECK_EQUAL(wrong, 0);
    CHECK_EQUAL(misplaced(at, &blocks, all), 0);
    free(mine);
    free(all);
    free(blocks.counts);
    free(blocks.begin);
}

static void unequal(const Place *at)
{
    static const int scales[] = {0, 1, 7, 400, 6000};
    for (size_t index = 0; index < sizeof scales / sizeof scales[0]; index++)
        for (int root = 0; root < at->size; root++) {
            gatherv_of(at, scales[index], root);
            scatterv_of(at, scales[index], root);
        }
}

/* Each rank has a row; the root gathers columns, and scatters them again. */
static void typed(const Place *at)
{
    enum { ROWS = 700 };
    int n = at->size, *row = blank(ROWS), *matrix = blank(ROWS * n), wrong = 0;
    MPI_Datatype column, narrow;
    MUST(MPI_Type_vector(ROWS, 1, n, MPI_INT, &column));
    MUST(MPI_Type_create_resized(column, 0, sizeof(int), &narrow));
    MUST(MPI_Type_commit(&narrow));
    for (int root = 0; root < n; root++) {
        for (int index = 0; index < ROWS; index++)
            row[index] = number(at->rank, index + root);
        MUST(MPI_Gather(row, ROWS, MPI_INT, matrix, 1, narrow, root, at->comm));
        for (int place = 0; place < ROWS * n && at->rank == root; place++)
            wrong += matrix[place] != number(place % n, place / n + root);
        memset(row, 0, ROWS * sizeof(int));
        MUST(MPI_Scatter(matrix, 1, narrow, row, ROWS, MPI_INT, root, at->comm));
        for (int index = 0; index < ROWS; index++)
            wrong += row[index] != number(at->rank, index + root);
    }
    CHECK_EQUAL(wrong, 0);
    MUST(MPI_Type_free(&column));
    MUST(MPI_Type_free(&narrow));
    free(row);
    free(matrix);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    comms_open();
    section("gather and scatter");
    comms_each(plain);
    section("gatherv and scatterv");
    comms_each(unequal);
    section("columns");
    comms_each(typed);
    comms_close();
    return check_end();
}
