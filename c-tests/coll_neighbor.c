/* Neighborhood collectives in every form, one after the other and several at once, on grids of all
 * periods, graphs and distributed graphs with loops, several edges between two ranks and ranks
 * without any: against messages from point to point, as the standard defines them. */
#include "check.h"

enum { PLACES = 64, EDGES_MAX = 96, FORMS = 5, LONGEST = 5 };
enum { ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW };
enum { BLOCKING, NONBLOCKING, PERSISTENT, MODES };

static uint64_t state = 4711;

/* An int and a gap of one. */
static MPI_Datatype spread;

/* This rank's places in a topology, and for each source its place there. */
typedef struct {
    MPI_Comm comm;
    int rank, in, out, grid;
    int sources[PLACES], destinations[PLACES], origins[PLACES];
} Hood;

/* One call with all it needs until its end. Side 0 is sent, side 1 received. */
typedef struct {
    const Hood *hood;
    int form, large, mode, unit, variant, salt;
    size_t room, bytes;
    int *send, *receive, *due;
    int counts[2][PLACES], begin[2][PLACES];
    MPI_Count large_counts[2][PLACES];
    MPI_Aint large_begin[2][PLACES];
    MPI_Datatype types[2][PLACES];
    MPI_Request request;
} Call;

/* Tells each destination from which place its block comes. In a grid, what comes from the rank
 * before was sent to the rank after; in graphs messages keep their order. */
static void meet(Hood *hood)
{
    MPI_Request requests[2 * PLACES];
    int places[PLACES];
    for (int place = 0; place < hood->in; place++) {
        hood->origins[place] = -1;
        MUST(MPI_Irecv(&hood->origins[place], 1, MPI_INT, hood->sources[place],
                       hood->grid ? place ^ 1 : 0, hood->comm, &requests[place]));
    }
    for (int place = 0; place < hood->out; place++) {
        places[place] = place;
        MUST(MPI_Isend(&places[place], 1, MPI_INT, hood->destinations[place],
                       hood->grid ? place : 0, hood->comm, &requests[hood->in + place]));
    }
    MUST(MPI_Waitall(hood->in + hood->out, requests, MPI_STATUSES_IGNORE));
}

static Hood hood_of(MPI_Comm comm)
{
    Hood hood = {.comm = comm};
    int kind, weighted, dimensions;
    MUST(MPI_Topo_test(comm, &kind));
    MUST(MPI_Comm_rank(comm, &hood.rank));
    if (kind == MPI_CART) {
        hood.grid = 1;
        MUST(MPI_Cartdim_get(comm, &dimensions));
        hood.in = hood.out = 2 * dimensions;
        for (int dimension = 0; dimension < dimensions; dimension++)
            MUST(MPI_Cart_shift(comm, dimension, 1, &hood.sources[2 * dimension],
                                &hood.sources[2 * dimension + 1]));
        memcpy(hood.destinations, hood.sources, sizeof hood.sources);
    } else if (kind == MPI_GRAPH) {
        MUST(MPI_Graph_neighbors_count(comm, hood.rank, &hood.in));
        hood.out = hood.in;
        MUST(MPI_Graph_neighbors(comm, hood.rank, PLACES, hood.sources));
        memcpy(hood.destinations, hood.sources, sizeof hood.sources);
    } else {
        MUST(MPI_Dist_graph_neighbors_count(comm, &hood.in, &hood.out, &weighted));
        MUST(MPI_Dist_graph_neighbors(comm, hood.in, hood.sources, MPI_UNWEIGHTED, hood.out,
                                      hood.destinations, MPI_UNWEIGHTED));
    }
    meet(&hood);
    return hood;
}

/* Elements that a rank sends from a place. */
static int length(const Call *call, int rank, int place)
{
    switch (call->form) {
    case ALLGATHER: case ALLTOALL:
        return 3 * call->unit;
    case ALLGATHERV:
        return rank % 4 * call->unit;
    default:
        return (rank * 3 + place) % LONGEST * call->unit;
    }
}

/* Ints from one element to the next. */
static int stride(const Call *call, int side, int place)
{
    if (call->form == ALLTOALLW)
        return place % 2 ? 1 : 2;
    return call->variant >> side & 1 ? 2 : 1;
}

/* The int where a block begins: blocks of their own lengths lie in reverse. */
static size_t begin(const Call *call, int side, int place)
{
    int in_row = call->form == ALLGATHER || call->form == ALLTOALL;
    if (side == 0 && call->form <= ALLGATHERV)
        return 0;
    if (in_row)
        return (size_t)(place * length(call, 0, 0) * stride(call, side, place));
    int places = side ? call->hood->in : call->hood->out;
    return (size_t)(places - 1 - place) * call->room;
}

static void put(const Call *call, int side, int place, int *to, int rank, int origin)
{
    int elements = length(call, rank, origin), step = stride(call, side, place);
    if (call->form <= ALLGATHERV)
        origin = 0;
    for (int index = 0; index < elements; index++)
        to[begin(call, side, place) + (size_t)(index * step)] =
            rank * 1000003 + origin * 10007 + call->salt * 131 + index;
}

static void describe(Call *call, int side, int place, int elements)
{
    int step = stride(call, side, place);
    size_t first = begin(call, side, place);
    call->counts[side][place] = elements;
    call->large_counts[side][place] = elements;
    call->begin[side][place] = (int)first / step;
    call->large_begin[side][place] =
        (MPI_Aint)(call->form == ALLTOALLW ? first * sizeof(int) : first / (size_t)step);
    call->types[side][place] = step == 2 ? spread : MPI_INT;
}

/* What is sent and what must come; where no neighbor is, and between elements, nothing. */
static void prepare(Call *call)
{
    const Hood *hood = call->hood;
    int sends = call->form <= ALLGATHERV ? 1 : hood->out;
    memset(call->send, 0x55, call->bytes);
    memset(call->receive, 0xff, call->bytes);
    memset(call->due, 0xff, call->bytes);
    /* Without a neighbor the arguments still describe a block. */
    describe(call, 0, 0, length(call, hood->rank, 0));
    describe(call, 1, 0, length(call, 0, 0));
    for (int place = 0; place < sends; place++) {
        describe(call, 0, place, length(call, hood->rank, place));
        put(call, 0, place, call->send, hood->rank, place);
    }
    for (int place = 0; place < hood->in; place++) {
        int source = hood->sources[place], origin = hood->origins[place];
        if (source == MPI_PROC_NULL) {
            describe(call, 1, place, 3 * call->unit);
            continue;
        }
        describe(call, 1, place, length(call, source, origin));
        put(call, 1, place, call->due, source, origin);
    }
}

static void call_open(Call *call, const Hood *hood, int form, int large, int mode, int unit)
{
    memset(call, 0, sizeof *call);
    call->hood = hood;
    call->form = form;
    call->large = large;
    call->mode = mode;
    call->unit = unit;
    call->variant = form + large + mode;
    call->room = (size_t)(2 * LONGEST * unit + 2);
    call->request = MPI_REQUEST_NULL;
    int places = hood->in > hood->out ? hood->in : hood->out;
    call->bytes = (size_t)(places + 1) * call->room * sizeof(int);
    call->send = take(call->bytes);
    call->receive = take(call->bytes);
    call->due = take(call->bytes);
}

static void call_close(Call *call)
{
    if (call->request != MPI_REQUEST_NULL)
        MUST(MPI_Request_free(&call->request));
    free(call->send);
    free(call->receive);
    free(call->due);
}

#define FORM(name, suffix, ...)                                                                  \
    do {                                                                                         \
        if (call->mode == BLOCKING)                                                              \
            MUST(MPI_Neighbor_##name##suffix(__VA_ARGS__, comm));                                \
        else if (call->mode == NONBLOCKING)                                                      \
            MUST(MPI_Ineighbor_##name##suffix(__VA_ARGS__, comm, &call->request));               \
        else if (call->request == MPI_REQUEST_NULL)                                              \
            MUST(MPI_Neighbor_##name##_init##suffix(__VA_ARGS__, comm, MPI_INFO_NULL,            \
                                                    &call->request));                            \
    } while (0)

static void begin_int(Call *call)
{
    MPI_Comm comm = call->hood->comm;
    int(*counts)[PLACES] = call->counts, (*from)[PLACES] = call->begin;
    MPI_Datatype(*types)[PLACES] = call->types;
    void *send = call->send, *receive = call->receive;
    switch (call->form) {
    case ALLGATHER:
        FORM(allgather, , send, *counts[0], *types[0], receive, *counts[1], *types[1]);
        break;
    case ALLGATHERV:
        FORM(allgatherv, , send, *counts[0], *types[0], receive, counts[1], from[1], *types[1]);
        break;
    case ALLTOALL:
        FORM(alltoall, , send, *counts[0], *types[0], receive, *counts[1], *types[1]);
        break;
    case ALLTOALLV:
        FORM(alltoallv, , send, counts[0], from[0], *types[0], receive, counts[1], from[1],
             *types[1]);
        break;
    case ALLTOALLW:
        FORM(alltoallw, , send, counts[0], call->large_begin[0], types[0], receive, counts[1],
             call->large_begin[1], types[1]);
        break;
    }
}

static void begin_large(Call *call)
{
    MPI_Comm comm = call->hood->comm;
    MPI_Count(*counts)[PLACES] = call->large_counts;
    MPI_Aint(*from)[PLACES] = call->large_begin;
    MPI_Datatype(*types)[PLACES] = call->types;
    void *send = call->send, *receive = call->receive;
    switch (call->form) {
    case ALLGATHER:
        FORM(allgather, _c, send, *counts[0], *types[0], receive, *counts[1], *types[1]);
        break;
    case ALLGATHERV:
        FORM(allgatherv, _c, send, *counts[0], *types[0], receive, counts[1], from[1], *types[1]);
        break;
    case ALLTOALL:
        FORM(alltoall, _c, send, *counts[0], *types[0], receive, *counts[1], *types[1]);
        break;
    case ALLTOALLV:
        FORM(alltoallv, _c, send, counts[0], from[0], *types[0], receive, counts[1], from[1],
             *types[1]);
        break;
    case ALLTOALLW:
        FORM(alltoallw, _c, send, counts[0], from[0], types[0], receive, counts[1], from[1],
             types[1]);
        break;
    }
}

static void start(Call *call)
{
    prepare(call);
    if (call->large)
        begin_large(call);
    else
        begin_int(call);
    if (call->mode == PERSISTENT)
        MUST(MPI_Start(&call->request));
}

static void compare(const Call *call)
{
    int wrong = memcmp(call->receive, call->due, call->bytes) != 0;
    if (wrong)
        fprintf(stderr, "form %d, large %d, mode %d, %d in, %d out, grid %d\n", call->form,
                call->large, call->mode, call->hood->in, call->hood->out, call->hood->grid);
    CHECK_EQUAL(wrong, 0);
}

/* Each form alone, the second time with other data; a persistent request is started again. */
static void one_by_one(const Hood *hood, int unit)
{
    Call call;
    for (int form = 0; form < FORMS; form++)
        for (int other = 0; other < 2 * MODES; other++) {
            call_open(&call, hood, form, other & 1, other >> 1, unit);
            for (call.salt = 0; call.salt < 2; call.salt++) {
                start(&call);
                MUST(MPI_Wait(&call.request, MPI_STATUS_IGNORE));
                compare(&call);
            }
            call_close(&call);
        }
}

/* All forms under way at once, ended in an order of each rank's own. */
static void all_at_once(const Hood *hood)
{
    static Call calls[2 * FORMS];
    MPI_Request requests[2 * FORMS];
    for (int number = 0; number < 2 * FORMS; number++) {
        Call *call = &calls[number];
        int mode = number % 3 ? NONBLOCKING : PERSISTENT;
        call_open(call, hood, number * 3 % FORMS, number & 1, mode, 1);
        call->salt = number;
        start(call);
        requests[number] = call->request;
    }
    for (int left = 2 * FORMS; left > 0; left--) {
        int number = -1;
        if (hood->rank % 2) {
            MUST(MPI_Waitany(2 * FORMS, requests, &number, MPI_STATUS_IGNORE));
        } else {
            number = left - 1;
            MUST(MPI_Wait(&requests[number], MPI_STATUS_IGNORE));
        }
        compare(&calls[number]);
        calls[number].request = requests[number];
        call_close(&calls[number]);
        requests[number] = MPI_REQUEST_NULL;
    }
}

/* Takes the communicator. */
static void try_on(MPI_Comm comm)
{
    if (comm == MPI_COMM_NULL)
        return;
    Hood hood = hood_of(comm);
    one_by_one(&hood, 1);
    all_at_once(&hood);
    MUST(MPI_Comm_free(&hood.comm));
}

static void grid(int dimensions, const int *lens)
{
    for (int bits = 0; bits < 1 << dimensions; bits++) {
        int periods[3];
        MPI_Comm comm;
        for (int dimension = 0; dimension < dimensions; dimension++)
            periods[dimension] = bits >> dimension & 1;
        MUST(MPI_Cart_create(MPI_COMM_WORLD, dimensions, lens, periods, bits & 1, &comm));
        try_on(comm);
    }
}

static void grids(void)
{
    for (int dimensions = 0; dimensions <= 3; dimensions++) {
        int lens[3] = {0};
        if (dimensions > 0)
            MUST(MPI_Dims_create(check_size, dimensions, lens));
        grid(dimensions, lens);
    }
    grid(2, (int[]){1, check_size});
    grid(3, (int[]){1, (check_size + 1) / 2, 1});
}

typedef struct {
    int source, destination;
} Edge;

/* The same random edges on every rank. Elsewhere than here none comes twice: MPICH 5.0.2 lets
 * several edges between two ranks of a graph meet in reverse. */
static int random_edges(Edge *edges)
{
    int wanted = (int)draw(&state, (unsigned)(3 * check_size + 1)), count = 0;
    for (int edge = 0; edge < wanted; edge++) {
        Edge new = {(int)draw(&state, (unsigned)check_size),
                    (int)draw(&state, (unsigned)check_size)};
        int known = 0;
        for (int other = 0; other < count; other++)
            known |= memcmp(&edges[other], &new, sizeof new) == 0;
        if (!known || check_strict())
            edges[count++] = new;
    }
    return count;
}

/* Every edge in both directions, known to all. */
static void graph(void)
{
    Edge edges[EDGES_MAX];
    int ends[PLACES] = {0}, list[2 * EDGES_MAX], count = random_edges(edges), total = 0;
    for (int rank = 0; rank < check_size; rank++) {
        for (int edge = 0; edge < count; edge++) {
            Edge it = edges[edge];
            int twice = 0;
            for (int other = 0; other < edge && !check_strict(); other++)
                twice |= edges[other].source == it.destination
                    && edges[other].destination == it.source;
            if (!twice && it.source == rank)
                list[total++] = it.destination;
            else if (!twice && it.destination == rank)
                list[total++] = it.source;
        }
        ends[rank] = total;
    }
    MPI_Comm comm;
    MUST(MPI_Graph_create(MPI_COMM_WORLD, check_size, ends, list, 0, &comm));
    try_on(comm);
}

/* Each rank knows its own edges. */
static void adjacent(void)
{
    Edge edges[EDGES_MAX];
    int sources[EDGES_MAX], destinations[EDGES_MAX], from[EDGES_MAX], to[EDGES_MAX];
    int count = random_edges(edges), in = 0, out = 0;
    for (int edge = 0; edge < count; edge++) {
        if (edges[edge].destination == check_rank) {
            from[in] = edge;
            sources[in++] = edges[edge].source;
        }
        if (edges[edge].source == check_rank) {
            to[out] = edge;
            destinations[out++] = edges[edge].destination;
        }
    }
    MPI_Comm comm;
    MUST(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, sources, in ? from : MPI_WEIGHTS_EMPTY,
                                        out, destinations, out ? to : MPI_WEIGHTS_EMPTY,
                                        MPI_INFO_NULL, 0, &comm));
    try_on(comm);
}

/* Each edge is given by some rank. */
static void anywhere(void)
{
    Edge edges[EDGES_MAX];
    int sources[EDGES_MAX], degrees[EDGES_MAX], destinations[EDGES_MAX];
    int count = random_edges(edges), given = 0;
    for (int edge = 0; edge < count; edge++) {
        if ((edges[edge].source + edges[edge].destination) % check_size != check_rank)
            continue;
        sources[given] = edges[edge].source;
        degrees[given] = 1;
        destinations[given++] = edges[edge].destination;
    }
    MPI_Comm comm;
    MUST(MPI_Dist_graph_create(MPI_COMM_WORLD, given, sources, degrees, destinations,
                               MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &comm));
    try_on(comm);
}

/* Blocks that are too long for one packet. */
static void long_blocks(void)
{
    MPI_Comm comm;
    MUST(MPI_Cart_create(MPI_COMM_WORLD, 1, &check_size, (int[]){1}, 0, &comm));
    Hood hood = hood_of(comm);
    one_by_one(&hood, 5000);
    MUST(MPI_Comm_free(&comm));
}

/* The border of an array gets the inside of its neighbors', in one array. */
static void halo(void)
{
    enum { SIDE = 6 };
    int lens[2] = {0}, whole[] = {SIDE, SIDE}, coordinates[2], rank, wrong = 0;
    int field[SIDE][SIDE], ones[] = {1, 1, 1, 1};
    MPI_Aint none[4] = {0};
    MPI_Datatype out[4], in[4];
    MPI_Comm comm;
    MUST(MPI_Dims_create(check_size, 2, lens));
    MUST(MPI_Cart_create(MPI_COMM_WORLD, 2, lens, (int[]){1, 1}, 0, &comm));
    MUST(MPI_Comm_rank(comm, &rank));
    MUST(MPI_Cart_coords(comm, rank, 2, coordinates));
    for (int place = 0; place < 4; place++) {
        int along = place / 2, far = place % 2;
        int part[2] = {SIDE - 2, SIDE - 2}, first[2] = {1, 1};
        part[along] = 1;
        first[along] = far ? SIDE - 2 : 1;
        MUST(MPI_Type_create_subarray(2, whole, part, first, MPI_ORDER_C, MPI_INT, &out[place]));
        first[along] = far ? SIDE - 1 : 0;
        MUST(MPI_Type_create_subarray(2, whole, part, first, MPI_ORDER_C, MPI_INT, &in[place]));
        MUST(MPI_Type_commit(&out[place]));
        MUST(MPI_Type_commit(&in[place]));
    }
    int rows = lens[0] * (SIDE - 2), columns = lens[1] * (SIDE - 2);
    for (int row = 0; row < SIDE; row++)
        for (int column = 0; column < SIDE; column++) {
            int inside = row % (SIDE - 1) && column % (SIDE - 1);
            field[row][column] = inside
                ? (coordinates[0] * (SIDE - 2) + row - 1) * 1000
                    + coordinates[1] * (SIDE - 2) + column - 1
                : -1;
        }
    MUST(MPI_Neighbor_alltoallw(field, ones, none, out, field, ones, none, in, comm));
    for (int row = 0; row < SIDE; row++)
        for (int column = 0; column < SIDE; column++) {
            int corner = row % (SIDE - 1) == 0 && column % (SIDE - 1) == 0;
            int high = (coordinates[0] * (SIDE - 2) + row - 1 + rows) % rows;
            int wide = (coordinates[1] * (SIDE - 2) + column - 1 + columns) % columns;
            wrong += field[row][column] != (corner ? -1 : high * 1000 + wide);
        }
    CHECK_EQUAL(wrong, 0);
    for (int place = 0; place < 4; place++) {
        MUST(MPI_Type_free(&out[place]));
        MUST(MPI_Type_free(&in[place]));
    }
    MUST(MPI_Comm_free(&comm));
}

/* A duplicate has the topology; a call on it and one on the original do not meet. */
static void duplicates(void)
{
    MPI_Comm comm, twin;
    MUST(MPI_Cart_create(MPI_COMM_WORLD, 1, &check_size, (int[]){1}, 0, &comm));
    MUST(MPI_Comm_dup(comm, &twin));
    int own[] = {check_rank, check_rank + 1000}, got[2][2] = {{-1, -1}, {-1, -1}};
    MPI_Request requests[2];
    MPI_Comm first = check_rank % 2 ? comm : twin, second = check_rank % 2 ? twin : comm;
    int *to_first = got[check_rank % 2], *to_second = got[!(check_rank % 2)];
    MUST(MPI_Ineighbor_allgather(&own[check_rank % 2], 1, MPI_INT, to_first, 1, MPI_INT, first,
                                 &requests[0]));
    MUST(MPI_Ineighbor_allgather(&own[!(check_rank % 2)], 1, MPI_INT, to_second, 1, MPI_INT,
                                 second, &requests[1]));
    MUST(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    int before = (check_rank + check_size - 1) % check_size, after = (check_rank + 1) % check_size;
    for (int which = 0; which < 2; which++) {
        CHECK_EQUAL(got[which][0], before + which * 1000);
        CHECK_EQUAL(got[which][1], after + which * 1000);
    }
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Comm_free(&twin));
}

static void refused(void)
{
    int own[4] = {0}, got[8] = {0};
    MPI_Request request;
    MUST_FAIL(MPI_Neighbor_allgather(own, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD),
              MPI_ERR_TOPOLOGY);
    MUST_FAIL(MPI_Neighbor_alltoall_init(own, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD,
                                         MPI_INFO_NULL, &request), MPI_ERR_TOPOLOGY);
    MUST_FAIL(MPI_Ineighbor_alltoall(own, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD, &request),
              MPI_ERR_TOPOLOGY);
    MUST_FAIL(MPI_Neighbor_alltoall(own, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_NULL),
              MPI_ERR_COMM);
    MPI_Comm comm;
    MUST(MPI_Cart_create(MPI_COMM_WORLD, 1, &check_size, (int[]){1}, 0, &comm));
    MUST_FAIL(MPI_Neighbor_allgather(own, -1, MPI_INT, got, 1, MPI_INT, comm), MPI_ERR_COUNT);
    MUST_FAIL(MPI_Neighbor_alltoall(own, 1, MPI_INT, got, 1, MPI_DATATYPE_NULL, comm),
              MPI_ERR_TYPE);
    MUST_FAIL(MPI_Neighbor_alltoallv(own, NULL, NULL, MPI_INT, got, NULL, NULL, MPI_INT, comm),
              MPI_ERR_ARG);
    MUST_FAIL(MPI_Neighbor_alltoall(MPI_IN_PLACE, 0, MPI_INT, got, 1, MPI_INT, comm),
              MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Neighbor_allgather(own, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, comm),
              MPI_ERR_BUFFER);
    MUST_FAIL(MPI_Neighbor_allgather(got, 1, MPI_INT, got, 1, MPI_INT, comm), MPI_ERR_BUFFER);
    MUST(MPI_Comm_free(&comm));
}

/* Rank 0 sends and expects an amount that the others do not. */
static void unlike_amounts(void)
{
    MPI_Comm comm;
    MUST(MPI_Cart_create(MPI_COMM_WORLD, 1, &check_size, (int[]){1}, 0, &comm));
    for (int less = 0; less < 2 && check_size > 1; less++) {
        int own[8] = {0}, got[8] = {0}, count = check_rank ? 1 + less : 2 - less;
        int before = (check_rank + check_size - 1) % check_size;
        int after = (check_rank + 1) % check_size;
        int meets = check_rank == 0 || before == 0 || after == 0;
        int fewer = (check_rank == 0) != less;
        int code = MPI_Neighbor_alltoall(own, count, MPI_INT, got, count, MPI_INT, comm);
        if (!meets)
            CHECK_EQUAL(code, MPI_SUCCESS);
        else
            CHECK_EQUAL(check_class(code), fewer ? MPI_ERR_COUNT : MPI_ERR_TRUNCATE);
    }
    MUST(MPI_Comm_free(&comm));
    /* A graph with an edge in one direction only. */
    int ends[PLACES], none = 0, got[1];
    for (int rank = 0; rank < check_size; rank++)
        ends[rank] = rank < 1 ? 0 : 1;
    if (check_size == 1)
        return;
    MUST(MPI_Graph_create(MPI_COMM_WORLD, check_size, ends, &none, 0, &comm));
    int class = check_class(MPI_Neighbor_allgather(&none, 1, MPI_INT, got, 1, MPI_INT, comm));
    /* In checked mode all hear of it. */
    CHECK(class == MPI_ERR_TOPOLOGY || (class == MPI_SUCCESS && check_rank != 1));
    MUST(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    MUST(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spread));
    MUST(MPI_Type_commit(&spread));
    section("grids");
    grids();
    section("graphs");
    for (int time = 0; time < 2; time++) {
        graph();
        adjacent();
        anywhere();
    }
    section("long blocks");
    long_blocks();
    section("one array");
    halo();
    section("duplicates");
    duplicates();
    section("errors");
    if (check_strict()) { /* Other libraries look at less, or wait for ever. */
        refused();
        unlike_amounts();
    }
    MUST(MPI_Type_free(&spread));
    return check_end();
}
