/* FT, Fourier transform: a diffusion equation on a periodic box, solved in the space of
 * frequencies: one transform forward, then in each step a factor for every frequency, a transform
 * back and a checksum.
 *
  *     slab       local planes, x fastest     transforms along x and y
  *     spectrum   local columns, z fastest    transform along z
 *
 * A column is a pair (x, y). The layouts are converted into each other by MPI_Alltoall if
 * planes and columns are distributed evenly, otherwise by MPI_Alltoallv: any number of ranks.
 *
 * The one-dimensional transform is Stockham's, of radix 4 with a last step of radix 2, over
 * several lines at once (P. Swarztrauber, "FFT algorithms for vector computers", Parallel
 * Computing 1, 1984): the lines are the fastest index, so the innermost loop is a vector's. */
#include "npb.h"

enum { STEPS_MAX = 20, SAMPLES = 1024, LINES = 8, TILE = 8 };
#define SEED UINT64_C(314159265)
#define DIFFUSION 1e-6
#define TOLERANCE 1e-12
#define PI 3.14159265358979323846

typedef struct {
    double real, imaginary;
} Complex;

static const struct {
    int x, y, z, steps;
    Complex checksums[STEPS_MAX];
} classes[] = {
    {64, 64, 64, 6,
     {{554.6087004964, 484.5363331978}, {554.6385409189, 486.5304269511},
      {554.6148406171, 488.3910722336}, {554.5423607415, 490.1273169046},
      {554.4255039624, 491.7475857993}, {554.2683411902, 493.2597244941}}},
    {128, 128, 32, 6,
     {{567.3612178944, 529.3246849175}, {563.1436885271, 528.2149986629},
      {559.4024089970, 527.0996558037}, {556.0698047020, 526.0027904925},
      {553.0898991250, 524.9400845633}, {550.4159734538, 523.9212247086}}},
    {256, 256, 128, 6,
     {{504.6735008193, 511.4047905510}, {505.9412319734, 509.8809666433},
      {506.9376896287, 509.8144042213}, {507.7892868474, 510.1336130759},
      {508.5233095391, 510.4914655194}, {509.1487099959, 510.7917842803}}},
    {512, 256, 256, 20,
     {{517.7643571579, 507.7803458597}, {515.4521291263, 508.8249431599},
      {514.6409228649, 509.6208912659}, {514.2378756213, 510.1023387619},
      {513.9626667737, 510.3976610617}, {513.7423460082, 510.5948019802},
      {513.5547056878, 510.7404165783}, {513.3910925466, 510.8576573661},
      {513.2470705390, 510.9577278523}, {513.1197729984, 511.0460304483},
      {513.0070319283, 511.1252433800}, {512.9070537032, 511.1968077718},
      {512.8182883502, 511.2616233064}, {512.7393733383, 511.3203605551},
      {512.6691062020, 511.3735928093}, {512.6064276004, 511.4218460548},
      {512.5504076570, 511.4656139760}, {512.5002331720, 511.5053595966},
      {512.4551951846, 511.5415130407}, {512.4146770029, 511.5744692211}}},
};

static int class, rank, ranks;
static long width, height, depth, all_columns;

/* The local part: planes [first_plane, first_plane + planes), columns likewise. */
static long first_plane, planes, first_column, columns;

static Complex *slab, *spectrum, *outgoing, *incoming;

/* The factor of a step for each frequency of the local columns. */
static double *decay;

/* The roots of unity of the longest side, and the lines under transform: two buffers of real and
 * imaginary parts. */
static long longest;
static Complex *roots;
static double *buffers;

/* Counts and displacements of an exchange, by rank. */
static int *counts, *places, *their_counts, *their_places;

static long share(long total, int owner)
{
    return total * owner / ranks;
}

static long largest(long left, long right)
{
    return left > right ? left : right;
}

static void take_memory(void)
{
    width = classes[class].x;
    height = classes[class].y;
    depth = classes[class].z;
    all_columns = width * height;
    first_plane = share(depth, rank);
    planes = share(depth, rank + 1) - first_plane;
    first_column = share(all_columns, rank);
    columns = share(all_columns, rank + 1) - first_column;
    size_t most = (size_t)largest(planes * all_columns, columns * depth);
    slab = npb_take(most * sizeof *slab);
    spectrum = npb_take(most * sizeof *spectrum);
    outgoing = npb_take(most * sizeof *outgoing);
    incoming = npb_take(most * sizeof *incoming);
    decay = npb_take((size_t)(columns * depth) * sizeof *decay);
    longest = largest(largest(width, height), depth);
    roots = npb_take((size_t)longest * sizeof *roots);
    buffers = npb_take((size_t)(4 * LINES * longest) * sizeof *buffers);
    counts = npb_take(4 * (size_t)ranks * sizeof *counts);
    places = counts + ranks;
    their_counts = places + ranks;
    their_places = their_counts + ranks;
}

static void leave_memory(void)
{
    free(slab);
    free(spectrum);
    free(outgoing);
    free(incoming);
    free(decay);
    free(roots);
    free(buffers);
    free(counts);
}

/* Random numbers, one complex number for each point, in the order of the slab. */
static void set_initial_values(void)
{
    uint64_t number = npb_ahead(SEED, 2 * (uint64_t)(first_plane * all_columns));
    for (long point = 0; point < planes * all_columns; point++) {
        number = npb_next(number);
        slab[point].real = NPB_SCALE * (double)number;
        number = npb_next(number);
        slab[point].imaginary = NPB_SCALE * (double)number;
    }
}

/* The square of a frequency, which counts from -side/2 to side/2. */
static long square(long index, long side)
{
    long frequency = index < side / 2 ? index : index - side;
    return frequency * frequency;
}

static void set_decay(void)
{
    for (long column = 0; column < columns; column++) {
        long x = (first_column + column) % width, y = (first_column + column) / width;
        long flat = square(x, width) + square(y, height);
        for (long z = 0; z < depth; z++)
            decay[column * depth + z] =
                exp(-4 * DIFFUSION * PI * PI * (double)(flat + square(z, depth)));
    }
}

static void set_roots(void)
{
    for (long index = 0; index < longest; index++) {
        double angle = 2 * PI * (double)index / (double)longest;
        roots[index] = (Complex){cos(angle), -sin(angle)};
    }
}

/* Real and imaginary parts of lines, the line being the fastest index. */
typedef struct {
    double *restrict real, *restrict imaginary;
} Split;

/* One step of radix 4 over sequences of `length` at distance `stride`. */
static void step_by_4(long length, long stride, Split from, Split to)
{
    long quarter = length / 4, hop = quarter * stride;
    for (long place = 0; place < quarter; place++) {
        Complex w1 = roots[place * (longest / length)];
        Complex w2 = roots[2 * place * (longest / length)];
        Complex w3 = roots[3 * place * (longest / length)];
        const double *restrict real = from.real + place * stride;
        const double *restrict imaginary = from.imaginary + place * stride;
        double *restrict to_real = to.real + 4 * place * stride;
        double *restrict to_imaginary = to.imaginary + 4 * place * stride;
        for (long line = 0; line < stride; line++) {
            double sum_r = real[line] + real[line + 2 * hop];
            double sum_i = imaginary[line] + imaginary[line + 2 * hop];
            double gap_r = real[line] - real[line + 2 * hop];
            double gap_i = imaginary[line] - imaginary[line + 2 * hop];
            double odd_sum_r = real[line + hop] + real[line + 3 * hop];
            double odd_sum_i = imaginary[line + hop] + imaginary[line + 3 * hop];
            double odd_gap_r = real[line + hop] - real[line + 3 * hop];
            double odd_gap_i = imaginary[line + hop] - imaginary[line + 3 * hop];
            double b_r = gap_r + odd_gap_i, b_i = gap_i - odd_gap_r;
            double c_r = sum_r - odd_sum_r, c_i = sum_i - odd_sum_i;
            double d_r = gap_r - odd_gap_i, d_i = gap_i + odd_gap_r;
            to_real[line] = sum_r + odd_sum_r;
            to_imaginary[line] = sum_i + odd_sum_i;
            to_real[line + stride] = w1.real * b_r - w1.imaginary * b_i;
            to_imaginary[line + stride] = w1.real * b_i + w1.imaginary * b_r;
            to_real[line + 2 * stride] = w2.real * c_r - w2.imaginary * c_i;
            to_imaginary[line + 2 * stride] = w2.real * c_i + w2.imaginary * c_r;
            to_real[line + 3 * stride] = w3.real * d_r - w3.imaginary * d_i;
            to_imaginary[line + 3 * stride] = w3.real * d_i + w3.imaginary * d_r;
        }
    }
}

/* The last step if the length is not a power of 4: pairs, without factors. */
static void step_by_2(long stride, Split from, Split to)
{
    for (long line = 0; line < stride; line++) {
        to.real[line] = from.real[line] + from.real[line + stride];
        to.imaginary[line] = from.imaginary[line] + from.imaginary[line + stride];
        to.real[line + stride] = from.real[line] - from.real[line + stride];
        to.imaginary[line + stride] = from.imaginary[line] - from.imaginary[line + stride];
    }
}

/* Transform `lines` lines of a power of two points; returns the buffer of the result. */
static Split transform_split(long length, long lines, Split lines_in, Split other)
{
    long stride = lines;
    while (length > 1) {
        if (length % 4 == 0)
            step_by_4(length, stride, lines_in, other);
        else
            step_by_2(stride, lines_in, other);
        stride *= length % 4 == 0 ? 4 : 2;
        length /= length % 4 == 0 ? 4 : 2;
        Split result = other;
        other = lines_in;
        lines_in = result;
    }
    return lines_in;
}

/* How lines lie in memory: elements and lines at these distances. */
typedef struct {
    long length, step, lines, line_step;
} Layout;

/* Transform lines in place. With real and imaginary parts swapped, before and after, it is the
 * inverse, except for the factor 1 / length. */
static void transform_lines(Complex *field, Layout layout, int inverse)
{
    long room = LINES * layout.length;
    for (long first = 0; first < layout.lines; first += LINES) {
        long lines = layout.lines - first < LINES ? layout.lines - first : LINES;
        Complex *start = field + first * layout.line_step;
        Split in = {buffers + inverse * room, buffers + !inverse * room};
        Split other = {buffers + 2 * room, buffers + 3 * room};
        for (long place = 0; place < layout.length; place++)
            for (long line = 0; line < lines; line++) {
                Complex value = start[place * layout.step + line * layout.line_step];
                buffers[place * lines + line] = value.real;
                buffers[room + place * lines + line] = value.imaginary;
            }
        Split out = transform_split(layout.length, lines, in, other);
        const double *real = inverse ? out.imaginary : out.real;
        const double *imaginary = inverse ? out.real : out.imaginary;
        for (long place = 0; place < layout.length; place++)
            for (long line = 0; line < lines; line++)
                start[place * layout.step + line * layout.line_step] =
                    (Complex){real[place * lines + line], imaginary[place * lines + line]};
    }
}

static void transform_x(int inverse)
{
    transform_lines(slab, (Layout){width, 1, planes * height, width}, inverse);
}

static void transform_y(int inverse)
{
    for (long plane = 0; plane < planes; plane++)
        transform_lines(slab + plane * all_columns, (Layout){height, width, width, 1}, inverse);
}

static void transform_z(Complex *field, int inverse)
{
    transform_lines(field, (Layout){depth, 1, columns, depth}, inverse);
}

/* to[b][a] = from[a][b], in tiles, so that whole cache lines are used. */
static void transpose(const Complex *from, long from_step, long count_a, long count_b, Complex *to,
                      long to_step)
{
    for (long tile = 0; tile < count_b; tile += TILE) {
        long end = tile + TILE < count_b ? tile + TILE : count_b;
        for (long a = 0; a < count_a; a++)
            for (long b = tile; b < end; b++)
                to[b * to_step + a] = from[a * from_step + b];
    }
}

/* Buffers for the exchange of columns between ranks. */
static void count_exchange(void)
{
    for (int other = 0; other < ranks; other++) {
        long other_columns = share(all_columns, other + 1) - share(all_columns, other);
        long other_planes = share(depth, other + 1) - share(depth, other);
        counts[other] = (int)(other_columns * planes);
        places[other] = (int)(share(all_columns, other) * planes);
        their_counts[other] = (int)(other_planes * columns);
        their_places[other] = (int)(share(depth, other) * columns);
    }
}

/* `outgoing` to `incoming`. */
static void exchange(const int *out, const int *out_places, const int *in, const int *in_places)
{
    if (depth % ranks == 0 && all_columns % ranks == 0)
        MPI_Alltoall(outgoing, out[0], MPI_C_DOUBLE_COMPLEX, incoming, in[0],
                     MPI_C_DOUBLE_COMPLEX, MPI_COMM_WORLD);
    else
        MPI_Alltoallv(outgoing, out, out_places, MPI_C_DOUBLE_COMPLEX, incoming, in, in_places,
                      MPI_C_DOUBLE_COMPLEX, MPI_COMM_WORLD);
}

/* From planes to columns, `slab` to `spectrum`. */
static void slab_to_columns(void)
{
    for (int other = 0; other < ranks; other++) {
        long begin = share(all_columns, other), end = share(all_columns, other + 1);
        transpose(slab + begin, all_columns, planes, end - begin, outgoing + places[other],
                  planes);
    }
    exchange(counts, places, their_counts, their_places);
    for (int other = 0; other < ranks; other++) {
        long begin = share(depth, other), length = share(depth, other + 1) - begin;
        for (long column = 0; column < columns; column++)
            memcpy(spectrum + column * depth + begin,
                   incoming + their_places[other] + column * length,
                   (size_t)length * sizeof *spectrum);
    }
}

/* From columns to planes, `incoming` through `outgoing` to `slab`. */
static void columns_to_slab(void)
{
    for (int other = 0; other < ranks; other++) {
        long begin = share(depth, other), length = share(depth, other + 1) - begin;
        transpose(incoming + begin, depth, columns, length, outgoing + their_places[other],
                  columns);
    }
    exchange(their_counts, their_places, counts, places);
    for (int other = 0; other < ranks; other++) {
        long begin = share(all_columns, other), length = share(all_columns, other + 1) - begin;
        for (long plane = 0; plane < planes; plane++)
            memcpy(slab + plane * all_columns + begin,
                   incoming + places[other] + plane * length, (size_t)length * sizeof *slab);
    }
}

static void transform_forward(void)
{
    transform_x(0);
    transform_y(0);
    slab_to_columns();
    transform_z(spectrum, 0);
}

/* One step in time of the spectrum, and the slab it belongs to. */
static void advance(void)
{
    for (long point = 0; point < columns * depth; point++) {
        spectrum[point].real *= decay[point];
        spectrum[point].imaginary *= decay[point];
        incoming[point] = spectrum[point];
    }
    transform_z(incoming, 1);
    columns_to_slab();
    transform_y(1);
    transform_x(1);
}

/* The sum of some points of the slab, on rank 0. */
static Complex add_samples(void)
{
    Complex mine = {0, 0}, all = {0, 0};
    double points = (double)(all_columns * depth);
    for (long sample = 1; sample <= SAMPLES; sample++) {
        long z = 5 * sample % depth - first_plane;
        if (z < 0 || z >= planes)
            continue;
        Complex value = slab[z * all_columns + 3 * sample % height * width + sample % width];
        mine.real += value.real;
        mine.imaginary += value.imaginary;
    }
    MPI_Reduce(&mine, &all, 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, 0, MPI_COMM_WORLD);
    return (Complex){all.real / points, all.imaginary / points};
}

/* The absolute value of the complex relative error. */
static int correct(Complex sum, Complex expected)
{
    double error = hypot(sum.real - expected.real, sum.imaginary - expected.imaginary);
    return error <= TOLERANCE * hypot(expected.real, expected.imaginary);
}

static void set_up(void)
{
    set_decay();
    set_initial_values();
    set_roots();
    transform_forward();
}

static double operations(void)
{
    double points = (double)(all_columns * depth), log_points = log(points);
    return 1e-6 * points
        * (14.8157 + 7.19641 * log_points
           + (5.23518 + 7.21113 * log_points) * classes[class].steps);
}

int main(int argc, char **argv)
{
    Complex sums[STEPS_MAX];
    int verified = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    class = npb_class(argc, argv);
    take_memory();
    count_exchange();
    set_up();

    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = -MPI_Wtime(), slowest = 0;
    set_up();
    for (int step = 0; step < classes[class].steps; step++) {
        advance();
        sums[step] = add_samples();
    }
    seconds += MPI_Wtime();
    MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);

    if (rank == 0) {
        for (int step = 0; step < classes[class].steps; step++) {
            printf(" Checksum %2d = %.10f %.10f\n", step + 1, sums[step].real,
                   sums[step].imaginary);
            verified &= correct(sums[step], classes[class].checksums[step]);
        }
        npb_report(&(NpbResult){"FT", "SWAB"[class], all_columns * depth, classes[class].steps,
                                ranks, slowest, operations(), "floating point", verified});
    }
    MPI_Bcast(&verified, 1, MPI_INT, 0, MPI_COMM_WORLD);
    leave_memory();
    MPI_Finalize();
    return verified ? 0 : 1;
}
