/* LU, symmetric successive over-relaxation (SSOR): the steady state of the compressible
 * Navier-Stokes equations on a cube, approached in time steps. In each step the residual of the
 * equations is swept through the cube from its lowest corner to the highest and back; a point is
 * solved for once its three neighbours on the way are.
 *
 * Columns along z are distributed over a grid of ranks. A rank computes one plane of its column
 * after the other and passes the edges on, so that planes move over the grid as a wavefront:
 *
 *     plane 3    . o o      o: done,  *: now,  .: not yet
 *     plane 2    o o *
 *     plane 1    o * .      (one row of ranks)
 *
 * The two points around a column come from its neighbours by persistent messages. Every field has
 * that shell, in z too, where it stays empty, so a step along an axis is a stride in all of them.
 *
 * Blocks of 5 x 5 are not formed: a neighbour's block is applied to its vector as the derivative of
 * a flux, and in the block of the point itself nothing stands above the diagonal. The published
 * number of operations is that of programs which form them. */
#include "npb.h"

enum { PARTS = 5, AXES = 3, GRID_AXES = 2, SHELL = 2, WEIGHTS = 5, TAG = 1 };
#define TOLERANCE 1e-8

/* Constants of the equations, as in the specification. */
#define GAS 0.4          /* the ratio of heats, minus one */
#define VISCOSITY 0.1
#define CONDUCTION 1.96  /* the ratio of heats, squared */
#define DISSIPATION 0.25
#define RELAXATION 1.2
static const double diffusion[AXES] = {0.75, 0.75, 1};

/* The exact solution: a constant, then three coefficients (x, y, z) for each power 1 to 4. */
static const double exact[PARTS][13] = {
    {2, 0, 0, 4, 5, 3, .5, .02, .01, .03, .5, .4, .3},
    {1, 0, 0, 0, 1, 2, 3, .01, .03, .02, .4, .3, .5},
    {2, 2, 0, 0, 0, 2, 3, .04, .03, .05, .3, .5, .4},
    {2, 2, 0, 0, 0, 2, 3, .03, .05, .04, .2, .1, .3},
    {5, 4, 3, 2, .1, .4, .3, .05, .04, .03, .1, .3, .2},
};

/* After the last step: the norms of the residual and of the error, and the surface integral. */
typedef struct {
    double residual[PARTS], error[PARTS], surface;
} Norms;

static const struct {
    int side, steps;
    double time_step;
    Norms norms;
} classes[] = {
    {12, 50, 0.5,
     {{1.6196343210976702e-02, 2.1976745164821318e-03, 1.5179927653399185e-03,
       1.5029584435994323e-03, 3.4264073155896461e-02},
      {6.4223319957960924e-04, 8.4144342047347926e-05, 5.8588269616485186e-05,
       5.8474222595157350e-05, 1.3103347914111294e-03},
      7.8418928865937083e+00}},
    {33, 300, 1.5e-3,
     {{0.1236511638192e+02, 0.1317228477799e+01, 0.2550120713095e+01, 0.2326187750252e+01,
       0.2826799444189e+02},
      {0.4867877144216e+00, 0.5064652880982e-01, 0.9281818101960e-01, 0.8570126542733e-01,
       0.1084277417792e+01},
      0.1161399311023e+02}},
    {64, 250, 2,
     {{7.7902107606689367e+02, 6.3402765259692870e+01, 1.9499249727292479e+02,
       1.7845301160418537e+02, 1.8384760349464247e+03},
      {2.9964085685471943e+01, 2.8194576365003349e+00, 7.3473412698774742e+00,
       6.7139225687777051e+00, 7.0715315688392578e+01},
      2.6030925604886277e+01}},
    {102, 250, 2,
     {{3.5532672969982736e+03, 2.6214750795310692e+02, 8.8333721850952190e+02,
       7.7812774739425265e+02, 7.3087969592545314e+03},
      {1.1401176380212709e+02, 8.1098963655421574e+00, 2.8480597317698308e+01,
       2.5905394567832939e+01, 2.6054907504857413e+02},
      4.7887162703308227e+01}},
};

/* Density, momenta, energy: of the gas in a volume. */
typedef struct {
    double part[PARTS];
} State;

/* Quantities derived from these. */
typedef struct {
    double volume, velocity[AXES], pressure, heat;
} Flow;

static int class, rank, ranks;
static MPI_Comm grid;
static int before[GRID_AXES], after[GRID_AXES];

/* The local column: `extent` points from `start`; those from `low` to below `high` are not on the
 * boundary of the cube. In z, all points. */
static int side, start[AXES], extent[AXES], low[AXES], high[AXES];
static long stride[AXES];
static double gap, time_step;

static State *solution, *residual, *forces;
static Flow *flows;

/* Coefficients of the fourth difference at every position along a side. */
static double (*weights)[WEIGHTS];

/* A point, an edge of a plane across x or y, and the messages that fill the shell. */
static MPI_Datatype point_type, edge_types[GRID_AXES];
static MPI_Request shell[4 * GRID_AXES];

static long at(int x, int y, int z)
{
    return (x + SHELL) * stride[0] + (y + SHELL) * stride[1] + (z + SHELL) * stride[2];
}

static void lay_out_column(void)
{
    int dims[GRID_AXES] = {0, 0}, ends[GRID_AXES] = {0, 0}, place[GRID_AXES];
    side = classes[class].side;
    gap = 1.0 / (side - 1);
    time_step = classes[class].time_step;
    MPI_Dims_create(ranks, GRID_AXES, dims);
    if (side / dims[0] < SHELL)
        npb_refuse("LU class %c cannot be distributed over %d ranks, %d in a row: "
                   "each needs %d points",
                   "SWAB"[class], ranks, dims[0], SHELL);
    MPI_Cart_create(MPI_COMM_WORLD, GRID_AXES, dims, ends, 1, &grid);
    MPI_Comm_rank(grid, &rank);
    MPI_Cart_coords(grid, rank, GRID_AXES, place);
    extent[2] = side;
    for (int axis = 0; axis < GRID_AXES; axis++) {
        MPI_Cart_shift(grid, axis, 1, &before[axis], &after[axis]);
        start[axis] = side * place[axis] / dims[axis];
        extent[axis] = side * (place[axis] + 1) / dims[axis] - start[axis];
    }
    stride[0] = 1;
    for (int axis = 0; axis < AXES; axis++) {
        low[axis] = start[axis] == 0;
        high[axis] = extent[axis] - (start[axis] + extent[axis] == side);
        if (axis > 0)
            stride[axis] = stride[axis - 1] * (extent[axis - 1] + 2 * SHELL);
    }
}

static void *take_field(size_t size)
{
    size_t bytes = (size_t)(stride[2] * (side + 2 * SHELL)) * size;
    return memset(npb_take(bytes), 0, bytes);
}

static void take_fields(void)
{
    static const double inside[WEIGHTS] = {1, -4, 6, -4, 1};
    solution = take_field(sizeof *solution);
    residual = take_field(sizeof *residual);
    forces = take_field(sizeof *forces);
    flows = take_field(sizeof *flows);
    weights = npb_take((size_t)side * sizeof *weights);
    for (int place = 0; place < side; place++)
        for (int other = 0; other < WEIGHTS; other++)
            weights[place][other] = DISSIPATION * inside[other];
    /* Near the boundary it uses fewer points: none beyond it, and not always the one on it. */
    weights[1][0] = weights[1][1] = weights[2][0] = 0;
    weights[side - 2][4] = weights[side - 2][3] = weights[side - 3][4] = 0;
    weights[1][2] = weights[side - 2][2] = 5 * DISSIPATION;
}

static void leave_fields(void)
{
    free(solution);
    free(residual);
    free(forces);
    free(flows);
    free(weights);
}

/* SHELL layers from `first` on, across an axis, all along the others. */
static MPI_Datatype layers(int axis, int first)
{
    int whole[AXES], part[AXES], begin[AXES];
    MPI_Datatype type;
    for (int other = 0; other < AXES; other++) {
        whole[2 - other] = extent[other] + 2 * SHELL;
        part[2 - other] = other == axis ? SHELL : extent[other];
        begin[2 - other] = SHELL + (other == axis ? first : 0);
    }
    MPI_Type_create_subarray(AXES, whole, part, begin, MPI_ORDER_C, point_type, &type);
    MPI_Type_commit(&type);
    return type;
}

static void prepare_messages(void)
{
    MPI_Request *next = shell;
    MPI_Type_contiguous(PARTS, MPI_DOUBLE, &point_type);
    MPI_Type_commit(&point_type);
    /* An edge across x goes along y, and the other way round. */
    MPI_Type_vector(extent[1], 1, (int)stride[1], point_type, &edge_types[0]);
    MPI_Type_contiguous(extent[0], point_type, &edge_types[1]);
    for (int axis = 0; axis < GRID_AXES; axis++) {
        int first[4] = {-SHELL, extent[axis], 0, extent[axis] - SHELL};
        MPI_Type_commit(&edge_types[axis]);
        for (int turn = 0; turn < 4; turn++) {
            int other = turn % 2 == 0 ? before[axis] : after[axis];
            MPI_Datatype type = layers(axis, first[turn]);
            if (turn < 2)
                MPI_Recv_init(solution, 1, type, other, TAG, grid, next++);
            else
                MPI_Send_init(solution, 1, type, other, TAG, grid, next++);
            MPI_Type_free(&type);
        }
    }
}

static void leave_messages(void)
{
    for (int index = 0; index < 4 * GRID_AXES; index++)
        MPI_Request_free(&shell[index]);
    for (int axis = 0; axis < GRID_AXES; axis++)
        MPI_Type_free(&edge_types[axis]);
    MPI_Type_free(&point_type);
    MPI_Comm_free(&grid);
}

static State exact_at(double x, double y, double z)
{
    const double place[AXES] = {x, y, z};
    State state;
    for (int part = 0; part < PARTS; part++) {
        state.part[part] = exact[part][0];
        for (int axis = 0; axis < AXES; axis++) {
            const double *factor = exact[part] + 1 + axis;
            double s = place[axis];
            state.part[part] += s * (factor[0] + s * (factor[3] + s * (factor[6] + s * factor[9])));
        }
    }
    return state;
}

static State exact_here(int x, int y, int z)
{
    return exact_at(gap * (start[0] + x), gap * (start[1] + y), gap * z);
}

/* The initial values: a blend of the six faces. */
static State blend_at(double x, double y, double z)
{
    State faces[AXES][2] = {{exact_at(0, y, z), exact_at(1, y, z)},
                            {exact_at(x, 0, z), exact_at(x, 1, z)},
                            {exact_at(x, y, 0), exact_at(x, y, 1)}};
    const double place[AXES] = {x, y, z};
    State state;
    for (int part = 0; part < PARTS; part++) {
        double a[AXES];
        for (int axis = 0; axis < AXES; axis++)
            a[axis] = (1 - place[axis]) * faces[axis][0].part[part]
                + place[axis] * faces[axis][1].part[part];
        state.part[part] = a[0] + a[1] + a[2] - a[0] * a[1] - a[1] * a[2] - a[2] * a[0]
            + a[0] * a[1] * a[2];
    }
    return state;
}

static void set_start(void)
{
    for (int z = 0; z < side; z++)
        for (int y = 0; y < extent[1]; y++)
            for (int x = 0; x < extent[0]; x++) {
                int inside = x >= low[0] && x < high[0] && y >= low[1] && y < high[1]
                    && z >= low[2] && z < high[2];
                solution[at(x, y, z)] = inside
                    ? blend_at(gap * (start[0] + x), gap * (start[1] + y), gap * z)
                    : exact_here(x, y, z);
            }
}

static Flow flow_of(const State *state)
{
    const double *u = state->part;
    Flow flow = {1 / u[0], {u[1] / u[0], u[2] / u[0], u[3] / u[0]}, 0, 0};
    double squares = 0;
    for (int axis = 0; axis < AXES; axis++)
        squares += flow.velocity[axis] * flow.velocity[axis];
    flow.pressure = GAS * (u[4] - 0.5 * u[0] * squares);
    flow.heat = 0.5 * (1 - CONDUCTION) * squares + CONDUCTION * u[4] * flow.volume;
    return flow;
}

/* The flows of all points that a residual needs: those inside and their neighbours. */
static void find_flows(void)
{
    for (int z = 0; z < side; z++)
        for (int y = low[1] - 1; y <= high[1]; y++)
            for (int x = low[0] - 1; x <= high[0]; x++) {
                int corner = (x < 0 || x == extent[0]) && (y < 0 || y == extent[1]);
                if (!corner)
                    flows[at(x, y, z)] = flow_of(&solution[at(x, y, z)]);
            }
}

/* Add what the neighbours along an axis contribute at a point. */
static inline void add_differences(int axis, int place, long here, double *sum)
{
    long step = stride[axis];
    const State *u = solution + here;
    const Flow *f = flows + here, *f0 = f - step, *f1 = f + step;
    double v0 = f0->velocity[axis], v = f->velocity[axis], v1 = f1->velocity[axis];
    double half = 0.5 / gap, square = 1 / (gap * gap);
    const double *weight = weights[place];
    for (int part = 0; part < PARTS; part++) {
        double u0 = u[-step].part[part], um = u->part[part], u1 = u[step].part[part];
        sum[part] += half * (v0 * u0 - v1 * u1) + square * diffusion[axis] * (u0 - 2 * um + u1)
            - (weight[0] * u[-2 * step].part[part] + weight[1] * u0 + weight[2] * um
               + weight[3] * u1 + weight[4] * u[2 * step].part[part]);
    }
    sum[1 + axis] += half * (f0->pressure - f1->pressure)
        + square * VISCOSITY / 3 * (v0 - 2 * v + v1);
    sum[4] += half * (v0 * f0->pressure - v1 * f1->pressure)
        + square * VISCOSITY * (f0->heat - 2 * f->heat + f1->heat
                                + (v0 * v0 - 2 * v * v + v1 * v1) / 6);
    for (int other = 0; other < AXES; other++)
        sum[1 + other] += square * VISCOSITY
            * (f0->velocity[other] - 2 * f->velocity[other] + f1->velocity[other]);
}

/* The residual of the equations at all inner points. */
static void find_residual(void)
{
    MPI_Startall(4 * GRID_AXES, shell);
    MPI_Waitall(4 * GRID_AXES, shell, MPI_STATUSES_IGNORE);
    find_flows();
    for (int z = low[2]; z < high[2]; z++)
        for (int y = low[1]; y < high[1]; y++)
            for (int x = low[0]; x < high[0]; x++) {
                long here = at(x, y, z);
                double sum[PARTS];
                for (int part = 0; part < PARTS; part++)
                    sum[part] = -forces[here].part[part];
                add_differences(0, start[0] + x, here, sum);
                add_differences(1, start[1] + y, here, sum);
                add_differences(2, z, here, sum);
                memcpy(residual[here].part, sum, sizeof sum);
            }
}

/* The forces under which the exact solution is steady. */
static void set_forces(void)
{
    size_t bytes = (size_t)(stride[2] * (side + 2 * SHELL)) * sizeof *forces;
    for (int z = 0; z < side; z++)
        for (int y = 0; y < extent[1]; y++)
            for (int x = 0; x < extent[0]; x++)
                solution[at(x, y, z)] = exact_here(x, y, z);
    find_residual();
    memcpy(forces, residual, bytes);
}

/* Add the derivative of the neighbour's flux along an axis in the direction of its vector:
 * `carried` times that of convection, `spread` times that of diffusion. */
static inline void add_neighbour(int axis, double carried, double spread, long there, double *sum)
{
    const double *u = solution[there].part, *x = residual[there].part;
    const Flow *f = flows + there;
    double v = f->velocity[axis], turned[AXES], work = 0, squares = 0;
    for (int other = 0; other < AXES; other++) {
        turned[other] = f->volume * (x[1 + other] - f->velocity[other] * x[0]);
        work += f->velocity[other] * turned[other];
        squares += f->velocity[other] * f->velocity[other];
    }
    double pushed = GAS * (x[4] - u[0] * work - 0.5 * squares * x[0]);
    double along = carried * turned[axis], all = carried * v + spread * diffusion[axis];
    double viscous = spread * VISCOSITY;
    for (int part = 0; part < PARTS; part++)
        sum[part] += all * x[part] + along * u[part];
    for (int other = 0; other < AXES; other++)
        sum[1 + other] += viscous * turned[other];
    sum[1 + axis] += carried * pushed + viscous / 3 * turned[axis];
    sum[4] += along * f->pressure + carried * v * pushed
        + viscous * ((1 - CONDUCTION) * work + v * turned[axis] / 3
                     + CONDUCTION * f->volume * (x[4] - u[4] * f->volume * x[0]));
}

/* Solve with the point's own block: one, and the diffusion along all axes from both sides. */
static inline void solve_point(double spread, long here, double *sum)
{
    const Flow *f = flows + here;
    double own = 1 + spread * (diffusion[0] + diffusion[1] + diffusion[2]);
    double viscous = spread * VISCOSITY * f->volume, stress = viscous * 10 / 3, work = 0;
    double scale = 1 / (own + stress);
    sum[0] /= own;
    for (int axis = 0; axis < AXES; axis++) {
        sum[1 + axis] = scale * (sum[1 + axis] + stress * f->velocity[axis] * sum[0]);
        work += f->velocity[axis] * (sum[1 + axis] - f->velocity[axis] * sum[0]);
    }
    double lost = viscous * ((3 * (1 - CONDUCTION) + 1.0 / 3) * work
                             - 3 * CONDUCTION * f->volume * solution[here].part[4] * sum[0]);
    sum[4] = (sum[4] - lost) / (own + 3 * CONDUCTION * viscous);
}

/* Exchange the edges of a plane: receive the points outside from `from`, send those at the far end
 * to `to`. */
static void receive_edges(const int *from, int outside_x, int outside_y, int z)
{
    MPI_Recv(&residual[at(outside_x, 0, z)], 1, edge_types[0], from[0], TAG, grid,
             MPI_STATUS_IGNORE);
    MPI_Recv(&residual[at(0, outside_y, z)], 1, edge_types[1], from[1], TAG, grid,
             MPI_STATUS_IGNORE);
}

static void send_edges(const int *to, int last_x, int last_y, int z)
{
    MPI_Send(&residual[at(last_x, 0, z)], 1, edge_types[0], to[0], TAG, grid);
    MPI_Send(&residual[at(0, last_y, z)], 1, edge_types[1], to[1], TAG, grid);
}

/* Up through the cube: the residual becomes a vector, from the neighbours below. */
static void sweep_up(void)
{
    double carried = RELAXATION * time_step * 0.5 / gap;
    double spread = RELAXATION * time_step / (gap * gap);
    for (int z = low[2]; z < high[2]; z++) {
        receive_edges(before, -1, -1, z);
        for (int y = low[1]; y < high[1]; y++)
            for (int x = low[0]; x < high[0]; x++) {
                long here = at(x, y, z);
                double sum[PARTS];
                for (int part = 0; part < PARTS; part++)
                    sum[part] = time_step * residual[here].part[part];
                for (int axis = AXES - 1; axis >= 0; axis--)
                    add_neighbour(axis, carried, spread, here - stride[axis], sum);
                solve_point(2 * time_step / (gap * gap), here, sum);
                memcpy(residual[here].part, sum, sizeof sum);
            }
        send_edges(after, extent[0] - 1, extent[1] - 1, z);
    }
}

/* Down again: the vector becomes the change of the solution. */
static void sweep_down(void)
{
    double carried = -RELAXATION * time_step * 0.5 / gap;
    double spread = RELAXATION * time_step / (gap * gap);
    for (int z = high[2] - 1; z >= low[2]; z--) {
        receive_edges(after, extent[0], extent[1], z);
        for (int y = high[1] - 1; y >= low[1]; y--)
            for (int x = high[0] - 1; x >= low[0]; x--) {
                long here = at(x, y, z);
                double sum[PARTS] = {0};
                for (int axis = AXES - 1; axis >= 0; axis--)
                    add_neighbour(axis, carried, spread, here + stride[axis], sum);
                solve_point(2 * time_step / (gap * gap), here, sum);
                for (int part = 0; part < PARTS; part++)
                    residual[here].part[part] += sum[part];
            }
        send_edges(before, 0, 0, z);
    }
}

/* `steps` steps, each from a residual to the next. */
static void advance(int steps)
{
    for (int step = 0; step < steps; step++) {
        sweep_up();
        sweep_down();
        for (int z = low[2]; z < high[2]; z++)
            for (int y = low[1]; y < high[1]; y++)
                for (long here = at(low[0], y, z); here < at(high[0], y, z); here++)
                    for (int part = 0; part < PARTS; part++)
                        solution[here].part[part] +=
                            residual[here].part[part] / (RELAXATION * (2 - RELAXATION));
        find_residual();
    }
}

/* The integral of the pressure over the six faces of a box inside, by trapezoids: a point in a
 * face counts in full, on an edge of it half, at a corner a quarter. */
static double my_surface(void)
{
    const int first[AXES] = {1, 1, 2}, last[AXES] = {side - 2, side - 3, side - 2};
    double sum = 0;
    for (int z = first[2]; z <= last[2]; z++)
        for (int y = 0; y < extent[1]; y++)
            for (int x = 0; x < extent[0]; x++) {
                int place[AXES] = {start[0] + x, start[1] + y, z}, ends = 0, outside = 0;
                for (int axis = 0; axis < AXES; axis++) {
                    ends += place[axis] == first[axis] || place[axis] == last[axis];
                    outside += place[axis] < first[axis] || place[axis] > last[axis];
                }
                /* The weight by the number of faces and edges that have the point. */
                if (!outside && ends > 0)
                    sum += ldexp(ends, 1 - ends) * flows[at(x, y, z)].pressure;
            }
    return gap * gap * sum;
}

static Norms find_norms(void)
{
    Norms mine = {{0}, {0}, my_surface()}, all;
    for (int z = low[2]; z < high[2]; z++)
        for (int y = low[1]; y < high[1]; y++)
            for (int x = low[0]; x < high[0]; x++) {
                State right = exact_here(x, y, z);
                for (int part = 0; part < PARTS; part++) {
                    double rest = residual[at(x, y, z)].part[part];
                    double error = right.part[part] - solution[at(x, y, z)].part[part];
                    mine.residual[part] += rest * rest;
                    mine.error[part] += error * error;
                }
            }
    MPI_Allreduce(&mine, &all, sizeof mine / sizeof(double), MPI_DOUBLE, MPI_SUM, grid);
    for (int part = 0; part < PARTS; part++) {
        all.residual[part] = sqrt(all.residual[part] / pow(side - 2, 3));
        all.error[part] = sqrt(all.error[part] / pow(side - 2, 3));
    }
    return all;
}

static int verify(const Norms *norms)
{
    const Norms *right = &classes[class].norms;
    int verified = npb_near(norms->surface, right->surface, TOLERANCE);
    for (int part = 0; part < PARTS; part++)
        verified &= npb_near(norms->residual[part], right->residual[part], TOLERANCE)
            && npb_near(norms->error[part], right->error[part], TOLERANCE);
    return verified;
}

static double operations(void)
{
    double n = side;
    return 1e-6 * classes[class].steps
        * (1984.77 * n * n * n - 10923.3 * n * n + 27770.9 * n - 144010);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    class = npb_class(argc, argv);
    lay_out_column();
    take_fields();
    prepare_messages();
    set_forces();
    set_start();
    find_residual();
    advance(1);
    set_start();
    find_residual();

    MPI_Barrier(grid);
    double seconds = -MPI_Wtime(), slowest = 0;
    advance(classes[class].steps);
    seconds += MPI_Wtime();
    MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, grid);

    Norms norms = find_norms();
    int verified = verify(&norms);
    if (rank == 0) {
        for (int part = 0; part < PARTS; part++)
            printf(" Part %d: residual %20.13e, error %20.13e\n", part + 1, norms.residual[part],
                   norms.error[part]);
        printf(" Surface integral %20.13e\n", norms.surface);
        npb_report(&(NpbResult){"LU", "SWAB"[class], side, classes[class].steps, ranks, slowest,
                                operations(), "floating point", verified});
    }
    leave_messages();
    leave_fields();
    MPI_Finalize();
    return verified ? 0 : 1;
}
