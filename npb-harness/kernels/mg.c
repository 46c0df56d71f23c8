/* MG, multigrid: V-cycles for the Poisson equation on a periodic cube with ten charges of +1 and
 * ten of -1.
 *
 * The ranks are a box, each with a part of every cube, and a shell of one point around it that is
 * exchanged axis by axis: a persistent collective operation with the neighbours of a line of ranks
 * for each axis of each field, whose datatypes name the faces where they lie. The cubes halve in
 * size from one level to the next; one with too few points to be distributed is gathered, and it
 * and all below it every rank computes in whole:
 *
 *     chain[0]     2 points a side, whole        (the bottom of the V-cycle)
 *     ...
 *     chain[b-1]   2^b points a side, whole
 *     chain[b]     the same cube, my part        (between these two: gather and take part)
 *     ...
 *     chain[top]   2^top points a side, my part
 *
 * Any number of ranks whose largest prime factor leaves every rank points of chain[b]. */
#include "npb.h"

enum { AXES = 3, CHARGES = 10, LEVELS_MAX = 9 };
#define SEED UINT64_C(314159265)
#define TOLERANCE 1e-8

static const struct {
    int side_bits, iterations;
    /* Of the smoother: for the point, its neighbours, theirs in a second direction. */
    double smoother[3];
    double norm;
} classes[] = {
    {5, 4, {-3.0 / 8, 1.0 / 32, -1.0 / 64}, 0.5307707005734e-4},
    {7, 4, {-3.0 / 8, 1.0 / 32, -1.0 / 64}, 0.6467329375339e-5},
    {8, 4, {-3.0 / 8, 1.0 / 32, -1.0 / 64}, 0.2433365309069e-5},
    {8, 20, {-3.0 / 17, 1.0 / 33, -1.0 / 61}, 0.1800564401355e-5},
};

/* How the shell of a field is filled along one axis. The arrays have to stay while the request
 * does (MPI 5.0 section 6.13). */
typedef struct {
    MPI_Request request;
    MPI_Datatype faces[2];
    MPI_Aint out[2], in[2];
} Exchange;

/* A cube or a part of one: x varies fastest, positions 1 to extent are its own points. */
typedef struct {
    int extent[AXES];
    /* Number of ranks along each axis. */
    int spread[AXES];
    double *solution, *residual;
    /* For axes with several ranks. */
    Exchange solution_shell[AXES], residual_shell[AXES];
} Grid;

static int class, rank, ranks, top, base;
static int spread[AXES], my_place[AXES];
static Grid chain[LEVELS_MAX + 1];
static double *charges;

/* My line of ranks along each axis, a ring; and whether neighbourhood collectives put what comes
 * from its lower neighbour second: where a ring has two ranks both neighbours are one, and not all
 * libraries distinguish its messages as required since MPI 4.1. */
static MPI_Comm lines[AXES];
static int lower_is_second[AXES];

/* Buffers for sums of lines, and for a face. */
static double *near_sums, *far_sums, *face_copy;

static size_t points(const Grid *grid)
{
    return (size_t)(grid->extent[0] + 2) * (size_t)(grid->extent[1] + 2)
        * (size_t)(grid->extent[2] + 2);
}

static long row_of(const Grid *grid)
{
    return grid->extent[0] + 2;
}

static long plane_of(const Grid *grid)
{
    return row_of(grid) * (grid->extent[1] + 2);
}

/* The first element of the line in direction x at these positions. */
static long line(const Grid *grid, int y, int z)
{
    return z * plane_of(grid) + y * row_of(grid);
}

/* The first point of a place along an axis, in a distributed cube of 2^level points a side. */
static int first_of(int axis, int place, int level)
{
    return ((1 << base) * place / spread[axis]) << (level - base);
}

static void place_of(int other, int *place)
{
    place[0] = other % spread[0];
    place[1] = other / spread[0] % spread[1];
    place[2] = other / spread[0] / spread[1];
}

static int largest_prime_factor(int number)
{
    for (int factor = 2; factor * factor <= number; factor++)
        while (number % factor == 0 && number > factor)
            number /= factor;
    return number;
}

/* Distribute the prime factors of the number of ranks over the axes, largest first, z before x. */
static void spread_ranks(void)
{
    for (int axis = 0; axis < AXES; axis++)
        spread[axis] = 1;
    for (int rest = ranks; rest > 1;) {
        int factor = largest_prime_factor(rest), axis = 2;
        for (int other = 1; other >= 0; other--)
            if (spread[other] < spread[axis])
                axis = other;
        spread[axis] *= factor;
        rest /= factor;
    }
    place_of(rank, my_place);
}

/* The smallest distributed cube: as even as can be, or at least nearly so. */
static void choose_base(void)
{
    top = classes[class].side_bits;
    base = 1;
    for (int axis = 0; axis < AXES; axis++) {
        while (base < top - 1 && (1 << base) % spread[axis] != 0 && 1 << base < 4 * spread[axis])
            base++;
        if (1 << base < spread[axis])
            npb_refuse("MG class %c cannot be distributed over %d ranks: "
                       "no axis of the cube takes %d; "
                       "use a power of two", "SWAB"[class], ranks, spread[axis]);
    }
}

/* The points of a face: the shell of the axes before it belongs to it, so that after all three
 * axes the corners have their values too. */
typedef struct {
    int begin[2], end[2];
    long stride[2];
} Face;

static Face face_of(const Grid *grid, int axis)
{
    long strides[AXES] = {1, row_of(grid), plane_of(grid)};
    Face face;
    for (int index = 0, other = 0; other < AXES; other++) {
        if (other == axis)
            continue;
        face.begin[index] = other < axis ? 0 : 1;
        face.end[index] = grid->extent[other] + (other < axis ? 2 : 1);
        face.stride[index++] = strides[other];
    }
    return face;
}

static void pack(const Face *face, const double *field, double *out)
{
    for (int outer = face->begin[1]; outer < face->end[1]; outer++)
        for (int inner = face->begin[0]; inner < face->end[0]; inner++)
            *out++ = field[outer * face->stride[1] + inner * face->stride[0]];
}

static void unpack(const Face *face, const double *in, double *field)
{
    for (int outer = face->begin[1]; outer < face->end[1]; outer++)
        for (int inner = face->begin[0]; inner < face->end[0]; inner++)
            field[outer * face->stride[1] + inner * face->stride[0]] = *in++;
}

/* The line of ranks along every axis. */
static void find_lines(void)
{
    /* Ranks count along x first, which in a Cartesian communicator is the last dimension. */
    int dims[AXES] = {spread[2], spread[1], spread[0]}, rings[AXES] = {1, 1, 1};
    enum { TO_LOWER, TO_UPPER };
    int sent[2] = {TO_LOWER, TO_UPPER}, received[2];
    MPI_Comm box;
    MPI_Request request;
    MPI_Cart_create(MPI_COMM_WORLD, AXES, dims, rings, 0, &box);
    for (int axis = 0; axis < AXES; axis++) {
        int kept[AXES] = {axis == 2, axis == 1, axis == 0};
        MPI_Cart_sub(box, kept, &lines[axis]);
        MPI_Neighbor_alltoall_init(sent, 1, MPI_INT, received, 1, MPI_INT, lines[axis],
                                   MPI_INFO_NULL, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
        lower_is_second[axis] = received[0] != TO_UPPER;
    }
    MPI_Comm_free(&box);
}

/* A face across an axis at position 0, with the shell of the axes before it as in face_of. */
static MPI_Datatype face_type(const Grid *grid, int axis)
{
    int whole[AXES], part[AXES], begin[AXES];
    MPI_Datatype face;
    for (int other = 0; other < AXES; other++) {
        whole[2 - other] = grid->extent[other] + 2;
        part[2 - other] = other == axis ? 1 : grid->extent[other] + (other < axis ? 2 : 0);
        begin[2 - other] = other > axis;
    }
    MPI_Type_create_subarray(AXES, whole, part, begin, MPI_ORDER_C, MPI_DOUBLE, &face);
    MPI_Type_commit(&face);
    return face;
}

static void prepare_shell(const Grid *grid, double *field, Exchange *exchanges)
{
    static const int one[2] = {1, 1};
    long strides[AXES] = {1, row_of(grid), plane_of(grid)};
    for (int axis = 0; axis < AXES; axis++) {
        Exchange *exchange = &exchanges[axis];
        MPI_Aint step = strides[axis] * (MPI_Aint)sizeof *field, last = grid->extent[axis] * step;
        exchange->request = MPI_REQUEST_NULL;
        if (grid->spread[axis] == 1)
            continue;
        exchange->out[0] = step;
        exchange->out[1] = last;
        exchange->in[lower_is_second[axis]] = 0;
        exchange->in[!lower_is_second[axis]] = last + step;
        exchange->faces[0] = exchange->faces[1] = face_type(grid, axis);
        MPI_Neighbor_alltoallw_init(field, one, exchange->out, exchange->faces, field, one,
                                    exchange->in, exchange->faces, lines[axis], MPI_INFO_NULL,
                                    &exchange->request);
    }
}

static void leave_shell(Exchange *exchanges)
{
    for (int axis = 0; axis < AXES; axis++)
        if (exchanges[axis].request != MPI_REQUEST_NULL) {
            MPI_Request_free(&exchanges[axis].request);
            MPI_Type_free(&exchanges[axis].faces[0]);
        }
}

/* Fill the shell in one direction from the far end of the local points. */
static void wrap_axis(const Grid *grid, double *field, int axis)
{
    long strides[AXES] = {1, row_of(grid), plane_of(grid)}, step = strides[axis];
    long last = grid->extent[axis] * step;
    Face face = face_of(grid, axis);
    pack(&face, field + last, face_copy);
    unpack(&face, face_copy, field);
    pack(&face, field + step, face_copy);
    unpack(&face, face_copy, field + last + step);
}

static void exchange_shell(const Grid *grid, double *field, const Exchange *exchanges)
{
    for (int axis = 0; axis < AXES; axis++) {
        MPI_Request request = exchanges[axis].request;
        if (request == MPI_REQUEST_NULL) {
            wrap_axis(grid, field, axis);
        } else {
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
}

static void take_grid(Grid *grid, const int *extent, const int *ranks_along)
{
    memcpy(grid->extent, extent, sizeof grid->extent);
    memcpy(grid->spread, ranks_along, sizeof grid->spread);
    grid->solution = npb_take(2 * points(grid) * sizeof(double));
    grid->residual = grid->solution + points(grid);
    memset(grid->solution, 0, 2 * points(grid) * sizeof(double));
    prepare_shell(grid, grid->solution, grid->solution_shell);
    prepare_shell(grid, grid->residual, grid->residual_shell);
}

static void take_grids(void)
{
    static const int alone[AXES] = {1, 1, 1};
    int extent[AXES];
    for (int level = 1; level <= base; level++) {
        for (int axis = 0; axis < AXES; axis++)
            extent[axis] = 1 << level;
        take_grid(&chain[level - 1], extent, alone);
    }
    for (int level = base; level <= top; level++) {
        for (int axis = 0; axis < AXES; axis++)
            extent[axis] = first_of(axis, my_place[axis] + 1, level)
                - first_of(axis, my_place[axis], level);
        take_grid(&chain[level], extent, spread);
    }
    size_t longest = (size_t)(1 << top) + 2;
    charges = npb_take(points(&chain[top]) * sizeof *charges);
    near_sums = npb_take(2 * longest * sizeof *near_sums);
    far_sums = near_sums + longest;
    face_copy = npb_take(longest * longest * sizeof *face_copy);
}

static void leave_grids(void)
{
    for (int index = 0; index <= top; index++) {
        leave_shell(chain[index].solution_shell);
        leave_shell(chain[index].residual_shell);
        free(chain[index].solution);
    }
    for (int axis = 0; axis < AXES; axis++)
        MPI_Comm_free(&lines[axis]);
    free(charges);
    free(near_sums);
    free(face_copy);
}

/* For every point of a line: the sum of its four neighbours in y and z, and of the four across. */
static void sum_around(const Grid *grid, const double *centre)
{
    long row = row_of(grid), plane = plane_of(grid);
    for (int x = 0; x < grid->extent[0] + 2; x++) {
        near_sums[x] = centre[x - row] + centre[x + row] + centre[x - plane] + centre[x + plane];
        far_sums[x] = centre[x - plane - row] + centre[x - plane + row] + centre[x + plane - row]
            + centre[x + plane + row];
    }
}

/* residual = right - A solution; `right` may be the residual itself. */
static void find_residual(const Grid *grid, const double *right)
{
    for (int z = 1; z <= grid->extent[2]; z++)
        for (int y = 1; y <= grid->extent[1]; y++) {
            long begin = line(grid, y, z);
            const double *u = grid->solution + begin, *v = right + begin;
            double *r = grid->residual + begin;
            sum_around(grid, u);
            for (int x = 1; x <= grid->extent[0]; x++)
                r[x] = v[x] + 8.0 / 3 * u[x]
                    - 1.0 / 6 * (far_sums[x] + near_sums[x - 1] + near_sums[x + 1])
                    - 1.0 / 12 * (far_sums[x - 1] + far_sums[x + 1]);
        }
    exchange_shell(grid, grid->residual, grid->residual_shell);
}

/* solution += smoother residual */
static void smooth(const Grid *grid)
{
    const double *weights = classes[class].smoother;
    for (int z = 1; z <= grid->extent[2]; z++)
        for (int y = 1; y <= grid->extent[1]; y++) {
            long begin = line(grid, y, z);
            const double *r = grid->residual + begin;
            double *u = grid->solution + begin;
            sum_around(grid, r);
            for (int x = 1; x <= grid->extent[0]; x++)
                u[x] += weights[0] * r[x] + weights[1] * (r[x - 1] + r[x + 1] + near_sums[x])
                    + weights[2] * (far_sums[x] + near_sums[x - 1] + near_sums[x + 1]);
        }
    exchange_shell(grid, grid->solution, grid->solution_shell);
}

/* The residual of the coarser grid: a weighted mean of 27 points of the finer. */
static void restrict_residual(const Grid *fine, const Grid *coarse)
{
    for (int z = 1; z <= coarse->extent[2]; z++)
        for (int y = 1; y <= coarse->extent[1]; y++) {
            const double *from = fine->residual + line(fine, 2 * y, 2 * z);
            double *to = coarse->residual + line(coarse, y, z);
            sum_around(fine, from);
            for (int x = 1; x <= coarse->extent[0]; x++) {
                int middle = 2 * x, left = middle - 1, right = middle + 1;
                to[x] = 0.5 * from[middle]
                    + 0.25 * (from[left] + from[right] + near_sums[middle])
                    + 0.125 * (near_sums[left] + near_sums[right] + far_sums[middle])
                    + 0.0625 * (far_sums[left] + far_sums[right]);
            }
        }
}

/* Add the coarser grid's solution to the finer one's, linear in between, shell included. */
static void interpolate(const Grid *coarse, const Grid *fine)
{
    for (int z = 0; z < fine->extent[2] + 2; z++)
        for (int y = 0; y < fine->extent[1] + 2; y++) {
            /* A fine line lies on a coarse one, or amid two or four. */
            const double *low = coarse->solution + line(coarse, y / 2, z / 2);
            long aside = y % 2 * row_of(coarse), above = z % 2 * plane_of(coarse);
            double *to = fine->solution + line(fine, y, z);
            for (int x = 0; x <= coarse->extent[0] + 1; x++)
                near_sums[x] = 0.25 * (low[x] + low[x + aside] + low[x + above]
                                       + low[x + aside + above]);
            for (int x = 0; x <= coarse->extent[0]; x++) {
                to[2 * x] += near_sums[x];
                to[2 * x + 1] += 0.5 * (near_sums[x] + near_sums[x + 1]);
            }
        }
}

/* Gather the parts of the residual of all ranks. */
static void gather(const Grid *part, const Grid *whole)
{
    int *counts = npb_take(2 * (size_t)ranks * sizeof *counts), *begins = counts + ranks;
    int place[AXES], total = 0;
    double *mine = npb_take(points(part) * sizeof *mine), *out = mine;
    double *all = npb_take(points(whole) * sizeof *all);
    for (int other = 0; other < ranks; other++) {
        counts[other] = 1;
        place_of(other, place);
        for (int axis = 0; axis < AXES; axis++)
            counts[other] *= first_of(axis, place[axis] + 1, base)
                - first_of(axis, place[axis], base);
        begins[other] = total;
        total += counts[other];
    }
    for (int z = 1; z <= part->extent[2]; z++)
        for (int y = 1; y <= part->extent[1]; y++, out += part->extent[0])
            memcpy(out, part->residual + line(part, y, z) + 1,
                   (size_t)part->extent[0] * sizeof *out);
    MPI_Allgatherv(mine, counts[rank], MPI_DOUBLE, all, counts, begins, MPI_DOUBLE,
                   MPI_COMM_WORLD);
    for (int other = 0; other < ranks; other++) {
        const double *in = all + begins[other];
        place_of(other, place);
        int left = first_of(0, place[0], base), right = first_of(0, place[0] + 1, base);
        for (int z = first_of(2, place[2], base); z < first_of(2, place[2] + 1, base); z++)
            for (int y = first_of(1, place[1], base); y < first_of(1, place[1] + 1, base); y++) {
                memcpy(whole->residual + line(whole, y + 1, z + 1) + left + 1, in,
                       (size_t)(right - left) * sizeof *in);
                in += right - left;
            }
    }
    free(all);
    free(mine);
    free(counts);
}

/* The inverse: the local part of the solution, including the shell. */
static void take_part(const Grid *whole, const Grid *part)
{
    int first[AXES];
    for (int axis = 0; axis < AXES; axis++)
        first[axis] = first_of(axis, my_place[axis], base);
    for (int z = 0; z < part->extent[2] + 2; z++)
        for (int y = 0; y < part->extent[1] + 2; y++)
            memcpy(part->solution + line(part, y, z),
                   whole->solution + line(whole, first[1] + y, first[2] + z) + first[0],
                   (size_t)(part->extent[0] + 2) * sizeof(double));
}

/* One V-cycle: the residual down, corrections of the solution up. */
static void cycle(void)
{
    for (int index = top; index > 0; index--) {
        const Grid *coarse = &chain[index - 1];
        if (index == base)
            gather(&chain[index], coarse);
        else
            restrict_residual(&chain[index], coarse);
        exchange_shell(coarse, coarse->residual, coarse->residual_shell);
    }
    memset(chain[0].solution, 0, points(&chain[0]) * sizeof(double));
    smooth(&chain[0]);
    for (int index = 1; index <= top; index++) {
        const Grid *grid = &chain[index];
        if (index == base) {
            take_part(&chain[index - 1], grid);
            continue;
        }
        if (index < top)
            memset(grid->solution, 0, points(grid) * sizeof(double));
        interpolate(&chain[index - 1], grid);
        find_residual(grid, index < top ? grid->residual : charges);
        smooth(grid);
    }
}

/* A random number and its point. */
typedef struct {
    uint64_t number;
    size_t point;
} Extreme;

/* Keep the largest, in falling order. */
static void keep(Extreme *largest, uint64_t number, size_t point)
{
    int place = CHARGES - 1;
    if (number <= largest[place].number)
        return;
    for (; place > 0 && largest[place - 1].number < number; place--)
        largest[place] = largest[place - 1];
    largest[place] = (Extreme){number, point};
}

/* My points with the largest numbers and with the smallest: for these, what is missing to 2^46. */
static void find_extremes(Extreme (*extremes)[CHARGES])
{
    const Grid *grid = &chain[top];
    uint64_t side = UINT64_C(1) << top;
    for (int z = 0; z < grid->extent[2]; z++)
        for (int y = 0; y < grid->extent[1]; y++) {
            uint64_t above = (uint64_t)(z + first_of(2, my_place[2], top)) * side;
            uint64_t before = (above + (uint64_t)(y + first_of(1, my_place[1], top))) * side;
            uint64_t number = npb_ahead(SEED, before + (uint64_t)first_of(0, my_place[0], top));
            for (int x = 0; x < grid->extent[0]; x++) {
                size_t point = (size_t)(line(grid, y + 1, z + 1) + x + 1);
                number = npb_next(number);
                keep(extremes[0], number, point);
                keep(extremes[1], NPB_MASK + 1 - number, point);
            }
        }
}

/* Charges of +1 where the ten largest numbers of all ranks are, of -1 where the ten smallest. */
static void place_charges(void)
{
    Extreme extremes[2][CHARGES] = {{{0, 0}}};
    int next[2] = {0, 0};
    find_extremes(extremes);
    memset(charges, 0, points(&chain[top]) * sizeof *charges);
    for (int charge = 0; charge < CHARGES; charge++) {
        uint64_t mine[2], all[2];
        for (int sign = 0; sign < 2; sign++)
            mine[sign] = next[sign] < CHARGES ? extremes[sign][next[sign]].number : 0;
        MPI_Allreduce(mine, all, 2, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
        for (int sign = 0; sign < 2; sign++)
            if (mine[sign] == all[sign])
                charges[extremes[sign][next[sign]++].point] = sign == 0 ? 1 : -1;
    }
    Exchange shell[AXES];
    prepare_shell(&chain[top], charges, shell);
    exchange_shell(&chain[top], charges, shell);
    leave_shell(shell);
}

/* The root of the mean of the squares. */
static double norm(const Grid *grid, const double *field)
{
    double mine = 0, all;
    for (int z = 1; z <= grid->extent[2]; z++)
        for (int y = 1; y <= grid->extent[1]; y++) {
            const double *values = field + line(grid, y, z);
            for (int x = 1; x <= grid->extent[0]; x++)
                mine += values[x] * values[x];
        }
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sqrt(ldexp(all, -3 * top));
}

/* The norm of the residual after `iterations` cycles from a solution of zero. */
static double iterate(int iterations)
{
    const Grid *grid = &chain[top];
    memset(grid->solution, 0, points(grid) * sizeof(double));
    find_residual(grid, charges);
    for (int iteration = 0; iteration < iterations; iteration++) {
        cycle();
        find_residual(grid, charges);
    }
    return norm(grid, grid->residual);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    class = npb_class(argc, argv);
    spread_ranks();
    choose_base();
    find_lines();
    take_grids();
    place_charges();
    iterate(1);

    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = -MPI_Wtime(), slowest = 0;
    double result = iterate(classes[class].iterations);
    seconds += MPI_Wtime();
    MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);

    int verified = npb_near(result, classes[class].norm, TOLERANCE);
    if (rank == 0) {
        printf(" Norm = %20.13e\n", result);
        npb_report(&(NpbResult){"MG", "SWAB"[class], 1L << top, classes[class].iterations, ranks,
                                slowest, ldexp(58e-6, 3 * top) * classes[class].iterations,
                                "floating point", verified});
    }
    leave_grids();
    MPI_Finalize();
    return verified ? 0 : 1;
}
