/* Halo exchange of a 2-D array by five ways, each verified, and their times.
 *
 *   mpicc -O2 examples/halo.c -o halo
 *   mpirun -n 4 ./halo [--verify] [EDGE ...]
 *
 * Each rank has a square of EDGE x EDGE numbers (16, 128 and 1024) and a halo of one cell around it. An
 * exchange fills the halo with the cells at the edges of the four neighbors, for a 5-point stencil:
 *
 *                  up
 *             +----------+
 *             |    0     |        0 .. 3: sides; the neighbor on side s has this rank on side s ^ 1
 *       left  | 2      3 |  right
 *             |    1     |        rows are adjacent in memory, columns are not
 *             +----------+
 *                 down
 *
 * Every way moves the same array, in memory of MPI_Win_allocate. Ranks at the border of the grid have
 * fewer neighbors, which are MPI_PROC_NULL. The table has microseconds for an exchange: the median of
 * several batches, of the slowest rank in each; and the ratio to the first way. With --verify, only the
 * results are compared. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDES = 4, STEPS = 5, PARTITIONS = 4, BATCHES = 21, EDGES_MAX = 8 };

static const double BATCH_SECONDS = 2e-3;

/* The grid of ranks: the same for all sizes. */
static MPI_Comm grid;
static MPI_Group neighbor_group;
static int rank, ranks, dims[2], coords[2], neighbors[SIDES];

/* The array of this rank. */
static int edge, stride;
static double *field, *next;
static MPI_Win window;

/* The cells that are sent to each side, and where those of its neighbor go: index and datatype. */
static int edge_cells[SIDES], halo_cells[SIDES];
static MPI_Datatype types[SIDES];

/* Persistent operations. */
static MPI_Request messages[2 * SIDES], partitioned[2 * SIDES], collective;
static int partitions;

/* ---- the ways ---- */

static void open_messages(void)
{
    for (int side = 0; side < SIDES; side++) {
        MPI_Send_init(field + edge_cells[side], 1, types[side], neighbors[side], side, grid,
                      &messages[side]);
        MPI_Recv_init(field + halo_cells[side], 1, types[side], neighbors[side], side ^ 1, grid,
                      &messages[SIDES + side]);
    }
}

static void by_messages(void)
{
    MPI_Startall(2 * SIDES, messages);
    MPI_Waitall(2 * SIDES, messages, MPI_STATUSES_IGNORE);
}

static void put_edges(void)
{
    for (int side = 0; side < SIDES; side++)
        MPI_Put(field + edge_cells[side], 1, types[side], neighbors[side], halo_cells[side ^ 1], 1,
                types[side], window);
}

/* The first fence waits until no neighbor reads its halo any more. */
static void by_fences(void)
{
    MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
    put_edges();
    MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOSUCCEED, window);
}

/* The same among neighbors only. */
static void by_posts(void)
{
    MPI_Win_post(neighbor_group, 0, window);
    MPI_Win_start(neighbor_group, 0, window);
    put_edges();
    MPI_Win_complete(window);
    MPI_Win_wait(window);
}

/* A partition is a part of a row or a column. */
static void open_partitions(void)
{
    MPI_Datatype cell;
    MPI_Type_create_resized(MPI_DOUBLE, 0, stride * (MPI_Aint)sizeof(double), &cell);
    MPI_Type_commit(&cell);
    partitions = edge % PARTITIONS == 0 ? PARTITIONS : 1;
    for (int side = 0; side < SIDES; side++) {
        MPI_Datatype type = side < 2 ? MPI_DOUBLE : cell;
        MPI_Psend_init(field + edge_cells[side], partitions, edge / partitions, type,
                       neighbors[side], side, grid, MPI_INFO_NULL, &partitioned[side]);
        MPI_Precv_init(field + halo_cells[side], partitions, edge / partitions, type,
                       neighbors[side], side ^ 1, grid, MPI_INFO_NULL,
                       &partitioned[SIDES + side]);
    }
    MPI_Type_free(&cell);
}

/* An application calls MPI_Pready where it has computed a partition, also in several threads. */
static void by_partitions(void)
{
    MPI_Startall(2 * SIDES, partitioned);
    for (int side = 0; side < SIDES; side++)
        MPI_Pready_range(0, partitions - 1, partitioned[side]);
    MPI_Waitall(2 * SIDES, partitioned, MPI_STATUSES_IGNORE);
}

static void open_collective(void)
{
    static int ones[SIDES] = {1, 1, 1, 1};
    static MPI_Aint from[SIDES], into[SIDES];
    for (int side = 0; side < SIDES; side++) {
        from[side] = edge_cells[side] * (MPI_Aint)sizeof(double);
        into[side] = halo_cells[side] * (MPI_Aint)sizeof(double);
    }
    MPI_Neighbor_alltoallw_init(field, ones, from, types, field, ones, into, types, grid,
                                MPI_INFO_NULL, &collective);
}

static void by_collective(void)
{
    MPI_Start(&collective);
    MPI_Wait(&collective, MPI_STATUS_IGNORE);
}

static const struct way {
    const char *name;
    void (*exchange)(void);
} ways[] = {
    {"persistent sends", by_messages},
    {"window, fences", by_fences},
    {"window, post and start", by_posts},
    {"partitioned messages", by_partitions},
    {"neighborhood collective", by_collective},
};

enum { WAYS = sizeof ways / sizeof *ways };

/* ---- the array ---- */

static void *take(size_t bytes)
{
    void *memory = malloc(bytes);
    if (memory == NULL) {
        fprintf(stderr, "halo: no memory for %zu bytes\n", bytes);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return memory;
}

static void open_grid(void)
{
    int found[SIDES], count = 0;
    MPI_Group all;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, (int[2]){0, 0}, 1, &grid);
    MPI_Comm_rank(grid, &rank);
    MPI_Cart_coords(grid, rank, 2, coords);
    for (int axis = 0; axis < 2; axis++)
        MPI_Cart_shift(grid, axis, 1, &neighbors[2 * axis], &neighbors[2 * axis + 1]);
    for (int side = 0; side < SIDES; side++) {
        if (neighbors[side] != MPI_PROC_NULL)
            found[count++] = neighbors[side];
    }
    MPI_Comm_group(grid, &all);
    MPI_Group_incl(all, count, found, &neighbor_group);
    MPI_Group_free(&all);
}

static void open_array(int edge_length)
{
    edge = edge_length;
    stride = edge + 2;
    size_t bytes = (size_t)stride * (size_t)stride * sizeof(double);
    MPI_Win_allocate((MPI_Aint)bytes, sizeof(double), MPI_INFO_NULL, grid, &field, &window);
    next = take(bytes);
    edge_cells[0] = edge_cells[2] = stride + 1;
    edge_cells[1] = edge * stride + 1;
    edge_cells[3] = stride + edge;
    halo_cells[0] = 1;
    halo_cells[1] = (edge + 1) * stride + 1;
    halo_cells[2] = stride;
    halo_cells[3] = stride + edge + 1;
    for (int side = 0; side < SIDES; side++) {
        if (side < 2)
            MPI_Type_contiguous(edge, MPI_DOUBLE, &types[side]);
        else
            MPI_Type_vector(edge, 1, stride, MPI_DOUBLE, &types[side]);
        MPI_Type_commit(&types[side]);
    }
    open_messages();
    open_partitions();
    open_collective();
}

static void close_array(void)
{
    for (int index = 0; index < 2 * SIDES; index++) {
        MPI_Request_free(&messages[index]);
        MPI_Request_free(&partitioned[index]);
    }
    MPI_Request_free(&collective);
    for (int side = 0; side < SIDES; side++)
        MPI_Type_free(&types[side]);
    free(next);
    MPI_Win_free(&window);
}

/* ---- verification ---- */

/* Whether a position is in the whole grid. */
static int is_inside(int row, int column)
{
    return row >= 0 && row < dims[0] * edge && column >= 0 && column < dims[1] * edge;
}

/* The array at the beginning, by the position in the whole grid; 0 outside of it, for ever. */
static double initial(int row, int column)
{
    long long mixed = 31LL * row + 17LL * column + (long long)row * column % 7;
    return is_inside(row, column) ? (double)(mixed % 101) : 0;
}

static double stencil(const double *cell, int row_length)
{
    return 0.25 * (cell[-row_length] + cell[row_length] + cell[-1] + cell[1]);
}

/* The cells of this rank after all steps, computed without any other rank: a cell depends on those in a
 * distance of one for each step. */
static double *expected(void)
{
    int length = edge + 2 * STEPS;
    size_t bytes = (size_t)length * (size_t)length * sizeof(double);
    double *now = take(bytes), *then = take(bytes);
    int top = coords[0] * edge - STEPS, left = coords[1] * edge - STEPS;
    for (int row = 0; row < length; row++) {
        for (int column = 0; column < length; column++)
            now[row * length + column] = initial(top + row, left + column);
    }
    memcpy(then, now, bytes);
    for (int step = 1; step <= STEPS; step++) {
        for (int row = step; row < length - step; row++) {
            for (int column = step; column < length - step; column++) {
                if (is_inside(top + row, left + column))
                    then[row * length + column] = stencil(&now[row * length + column], length);
            }
        }
        double *last = now;
        now = then;
        then = last;
    }
    free(then);
    return now;
}

static void compute(void)
{
    for (int row = 1; row <= edge; row++) {
        for (int column = 1; column <= edge; column++)
            next[row * stride + column] = stencil(&field[row * stride + column], stride);
    }
    for (int row = 1; row <= edge; row++)
        memcpy(&field[row * stride + 1], &next[row * stride + 1], (size_t)edge * sizeof(double));
}

/* The number of ranks for which the way gives other results. */
static int wrong_ranks(const struct way *way, const double *due)
{
    int wrong = 0, all = 0, length = edge + 2 * STEPS;
    for (int row = 0; row < stride; row++) {
        for (int column = 0; column < stride; column++) {
            int in_halo = row == 0 || row > edge || column == 0 || column > edge;
            int global_row = coords[0] * edge + row - 1, global = coords[1] * edge + column - 1;
            /* The halo comes from the neighbors. */
            int is_unknown = in_halo && is_inside(global_row, global);
            field[row * stride + column] = is_unknown ? -1 : initial(global_row, global);
        }
    }
    for (int step = 0; step < STEPS; step++) {
        way->exchange();
        compute();
    }
    for (int row = 0; row < edge; row++)
        wrong |= memcmp(&field[(row + 1) * stride + 1], &due[(row + STEPS) * length + STEPS],
                        (size_t)edge * sizeof(double)) != 0;
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, grid);
    return all;
}

static int verify(void)
{
    int wrong = 0;
    double *due = expected();
    for (int way = 0; way < WAYS; way++) {
        int here = wrong_ranks(&ways[way], due);
        if (here > 0 && rank == 0)
            fprintf(stderr, "halo: %s: wrong results on %d ranks, edge %d\n", ways[way].name, here,
                    edge);
        wrong += here;
    }
    free(due);
    return wrong;
}

/* ---- times ---- */

/* Seconds of `count` exchanges on the slowest rank. */
static double seconds(const struct way *way, int count)
{
    double start, here, slowest;
    MPI_Barrier(grid);
    start = MPI_Wtime();
    for (int index = 0; index < count; index++)
        way->exchange();
    here = MPI_Wtime() - start;
    MPI_Allreduce(&here, &slowest, 1, MPI_DOUBLE, MPI_MAX, grid);
    return slowest;
}

static int by_value(const void *one, const void *other)
{
    double left = *(const double *)one, right = *(const double *)other;
    return (left > right) - (left < right);
}

/* Median microseconds of each way. The ways take turns, so that all meet the same disturbances. */
static void measure(double medians[WAYS])
{
    static double batches[WAYS][BATCHES];
    int counts[WAYS];
    for (int way = 0; way < WAYS; way++) {
        for (counts[way] = 1; seconds(&ways[way], counts[way]) < BATCH_SECONDS;)
            counts[way] *= 2;
    }
    for (int batch = 0; batch < BATCHES; batch++) {
        for (int way = 0; way < WAYS; way++)
            batches[way][batch] = 1e6 * seconds(&ways[way], counts[way]) / counts[way];
    }
    for (int way = 0; way < WAYS; way++) {
        qsort(batches[way], BATCHES, sizeof(double), by_value);
        medians[way] = batches[way][BATCHES / 2];
    }
}

static void print_table(int count, const int edges[], double medians[][WAYS])
{
    if (rank != 0)
        return;
    printf("%d ranks (%d x %d), microseconds for an exchange and the ratio to the first way\n\n",
           ranks, dims[0], dims[1]);
    printf("%-24s", "bytes of a side");
    for (int index = 0; index < count; index++)
        printf("  %14zu", (size_t)edges[index] * sizeof(double));
    for (int way = 0; way < WAYS; way++) {
        printf("\n%-24s", ways[way].name);
        for (int index = 0; index < count; index++)
            printf("  %8.2f %5.2f", medians[index][way], medians[index][way] / medians[index][0]);
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    static double medians[EDGES_MAX][WAYS];
    int edges[EDGES_MAX] = {16, 128, 1024}, count = 3, wrong = 0, verify_only = 0, given = 0;
    MPI_Init(&argc, &argv);
    for (int index = 1; index < argc; index++) {
        if (strcmp(argv[index], "--verify") == 0)
            verify_only = 1;
        else if (atoi(argv[index]) > 0 && given < EDGES_MAX)
            edges[given++] = atoi(argv[index]);
        else
            wrong = 1;
    }
    open_grid();
    if (wrong && rank == 0)
        fprintf(stderr, "usage: halo [--verify] [EDGE ...], at most %d\n", EDGES_MAX);
    if (wrong) {
        MPI_Finalize();
        return 2;
    }
    count = given > 0 ? given : count;
    for (int index = 0; index < count; index++) {
        open_array(edges[index]);
        wrong += verify();
        if (!verify_only)
            measure(medians[index]);
        close_array();
    }
    if (!verify_only)
        print_table(count, edges, medians);
    if (rank == 0)
        printf("%s\n", wrong == 0 ? "all results are equal" : "results differ");
    MPI_Group_free(&neighbor_group);
    MPI_Comm_free(&grid);
    MPI_Finalize();
    return wrong != 0;
}
