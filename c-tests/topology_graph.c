/* Graphs passed whole by every rank, and distributed graphs: random ones with loops, several
 * edges between two ranks and ranks without any, against lists kept here. */
#include "check.h"

enum { RANKS_MAX = 64, EDGES_MAX = 512 };

static uint64_t state = 2024;

static void whole(int nodes, int reorder)
{
    int ends[RANKS_MAX + 1] = {0}, edges[EDGES_MAX], count = 0;
    for (int node = 0; node < nodes; node++) {
        for (int more = (int)draw(&state, 5); more > 0; more--)
            edges[count++] = (int)draw(&state, (unsigned)nodes);
        ends[node] = count;
    }
    MPI_Comm graph = MPI_COMM_WORLD, twin;
    MUST(MPI_Graph_create(MPI_COMM_WORLD, nodes, ends, edges, reorder, &graph));
    int member = graph != MPI_COMM_NULL, members = 0;
    MUST(MPI_Allreduce(&member, &members, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQUAL(members, nodes);
    int mapped = -9;
    if (nodes > 0) {
        MUST(MPI_Graph_map(MPI_COMM_WORLD, nodes, ends, edges, &mapped));
        CHECK(mapped == MPI_UNDEFINED || (mapped >= 0 && mapped < nodes));
    }
    if (!member)
        return;
    MUST(MPI_Comm_dup(graph, &twin));
    MUST(MPI_Comm_free(&graph));
    int found = -1, got_nodes = -1, got_edges = -1, got_ends[RANKS_MAX], got[EDGES_MAX];
    MUST(MPI_Topo_test(twin, &found));
    CHECK_EQUAL(found, MPI_GRAPH);
    MUST(MPI_Graphdims_get(twin, &got_nodes, &got_edges));
    CHECK_EQUAL(got_nodes, nodes);
    CHECK_EQUAL(got_edges, count);
    MUST(MPI_Graph_get(twin, RANKS_MAX, EDGES_MAX, got_ends, got));
    CHECK(memcmp(got_ends, ends, (size_t)nodes * sizeof *ends) == 0);
    CHECK(memcmp(got, edges, (size_t)count * sizeof *edges) == 0);
    for (int node = 0; node < nodes; node++) {
        int start = node ? ends[node - 1] : 0, degree = ends[node] - start;
        MUST(MPI_Graph_neighbors_count(twin, node, &found));
        CHECK_EQUAL(found, degree);
        MUST(MPI_Graph_neighbors(twin, node, EDGES_MAX, got));
        CHECK(memcmp(got, edges + start, (size_t)degree * sizeof *edges) == 0);
    }
    MUST_FAIL(MPI_Graph_neighbors_count(twin, nodes, &found), MPI_ERR_RANK);
    MUST_FAIL(MPI_Graph_neighbors(twin, -1, EDGES_MAX, got), MPI_ERR_RANK);
    MUST_FAIL(MPI_Cartdim_get(twin, &found), MPI_ERR_TOPOLOGY);
    MUST(MPI_Comm_free(&twin));
}

struct edge {
    int source, destination, weight;
};

static int by_rank(const void *left, const void *right)
{
    const struct edge *a = left, *b = right;
    if (a->source != b->source)
        return a->source < b->source ? -1 : 1;
    if (a->destination != b->destination)
        return a->destination < b->destination ? -1 : 1;
    return (a->weight > b->weight) - (a->weight < b->weight);
}

/* The neighbors that a rank has are, in some order, the edges that were given. */
static void compare(MPI_Comm graph, const struct edge *edges, int count, int weighted)
{
    int rank, into, out, flag, kind = -1;
    int sources[EDGES_MAX], destinations[EDGES_MAX], from[EDGES_MAX], to[EDGES_MAX];
    int *from_weights = weighted ? from : MPI_UNWEIGHTED;
    int *to_weights = weighted ? to : MPI_UNWEIGHTED;
    struct edge expected[2][EDGES_MAX], got[2][EDGES_MAX];
    int wanted[2] = {0, 0};
    MUST(MPI_Topo_test(graph, &kind));
    CHECK_EQUAL(kind, MPI_DIST_GRAPH);
    MUST(MPI_Comm_rank(graph, &rank));
    for (int e = 0; e < count; e++) {
        if (edges[e].destination == rank)
            expected[0][wanted[0]++] = edges[e];
        if (edges[e].source == rank)
            expected[1][wanted[1]++] = edges[e];
    }
    MUST(MPI_Dist_graph_neighbors_count(graph, &into, &out, &flag));
    CHECK_EQUAL(into, wanted[0]);
    CHECK_EQUAL(out, wanted[1]);
    CHECK_EQUAL(!flag, !weighted);
    MUST(MPI_Dist_graph_neighbors(graph, into, sources, from_weights, out, destinations,
                                  to_weights));
    for (int e = 0; e < into; e++)
        got[0][e] = (struct edge){sources[e], rank, weighted ? from[e] : 1};
    for (int e = 0; e < out; e++)
        got[1][e] = (struct edge){rank, destinations[e], weighted ? to[e] : 1};
    for (int side = 0; side < 2; side++) {
        size_t bytes = sizeof **got;
        qsort(expected[side], (size_t)wanted[side], bytes, by_rank);
        qsort(got[side], (size_t)wanted[side], bytes, by_rank);
        for (int e = 0; e < wanted[side]; e++)
            CHECK(by_rank(&expected[side][e], &got[side][e]) == 0);
    }
    /* Less room: the first ones, and nothing behind. MPICH 5 calls that an error. */
    if (into > 1 && check_strict()) {
        int first = sources[0], second = -7;
        int room[2] = {-7, -7};
        MUST(MPI_Dist_graph_neighbors(graph, 1, room, MPI_UNWEIGHTED, 0, &second,
                                      MPI_UNWEIGHTED));
        CHECK(room[0] == first && room[1] == -7 && second == -7);
    }
}

/* The same random graph on every rank. */
static int random_edges(struct edge *edges, int weighted)
{
    int count = (int)draw(&state, (unsigned)(4 * check_size + 1));
    for (int e = 0; e < count; e++) {
        edges[e].source = (int)draw(&state, (unsigned)check_size);
        edges[e].destination = (int)draw(&state, (unsigned)check_size);
        edges[e].weight = weighted ? (int)draw(&state, 4) * 1000003 : 1;
    }
    return count;
}

/* Each rank gives a share of the edges, in pieces of one source each. */
static void anywhere(int weighted, int reorder)
{
    struct edge edges[EDGES_MAX];
    int count = random_edges(edges, weighted), given = 0, pieces = 0;
    int sources[EDGES_MAX], degrees[EDGES_MAX], destinations[EDGES_MAX], weights[EDGES_MAX];
    for (int e = 0; e < count; e++) {
        if ((int)draw(&state, (unsigned)check_size) != check_rank)
            continue;
        if (pieces == 0 || sources[pieces - 1] != edges[e].source) {
            sources[pieces] = edges[e].source;
            degrees[pieces++] = 0;
        }
        degrees[pieces - 1]++;
        destinations[given] = edges[e].destination;
        weights[given++] = edges[e].weight;
    }
    MPI_Comm graph, twin;
    MUST(MPI_Dist_graph_create(MPI_COMM_WORLD, pieces, sources, degrees, destinations,
                               weighted ? weights : MPI_UNWEIGHTED, MPI_INFO_NULL, reorder,
                               &graph));
    if (count > 0 || !weighted)
        compare(graph, edges, count, weighted);
    MUST(MPI_Comm_dup(graph, &twin));
    MUST(MPI_Comm_free(&graph));
    if (count > 0 || !weighted)
        compare(twin, edges, count, weighted);
    MUST(MPI_Comm_free(&twin));
}

/* Each rank gives its own edges, which come back in the order in which they were given. */
static void own(int weighted, int reorder)
{
    struct edge edges[EDGES_MAX];
    int count = random_edges(edges, weighted), into = 0, out = 0;
    int sources[EDGES_MAX], from[EDGES_MAX], destinations[EDGES_MAX], to[EDGES_MAX];
    for (int e = 0; e < count; e++) {
        if (edges[e].destination == check_rank) {
            sources[into] = edges[e].source;
            from[into++] = edges[e].weight;
        }
        if (edges[e].source == check_rank) {
            destinations[out] = edges[e].destination;
            to[out++] = edges[e].weight;
        }
    }
    MPI_Comm graph;
    MUST(MPI_Dist_graph_create_adjacent(
        MPI_COMM_WORLD, into, sources, weighted ? into ? from : MPI_WEIGHTS_EMPTY : MPI_UNWEIGHTED,
        out, destinations, weighted ? out ? to : MPI_WEIGHTS_EMPTY : MPI_UNWEIGHTED,
        MPI_INFO_NULL, reorder, &graph));
    compare(graph, edges, count, weighted);
    if (!reorder) {
        int got_sources[EDGES_MAX], got_destinations[EDGES_MAX];
        /* MPICH 5 copies as many as there is room for. */
        int more = check_strict() ? 5 : 0;
        MUST(MPI_Dist_graph_neighbors(graph, into + more, got_sources, MPI_UNWEIGHTED,
                                      out + more, got_destinations, MPI_UNWEIGHTED));
        CHECK(memcmp(got_sources, sources, (size_t)into * sizeof *sources) == 0);
        CHECK(memcmp(got_destinations, destinations, (size_t)out * sizeof *to) == 0);
    }
    MUST(MPI_Comm_free(&graph));
}

static void whole_errors(void)
{
    MPI_Comm graph = MPI_COMM_SELF;
    int ends[RANKS_MAX + 1] = {1}, edges[] = {0}, found;
    for (int node = 1; node <= check_size; node++)
        ends[node] = 1;
    MUST_FAIL(MPI_Graph_create(MPI_COMM_WORLD, check_size + 1, ends, edges, 0, &graph),
              MPI_ERR_ARG);
    if (check_strict()) { /* MPICH 5 makes graphs of these. */
        edges[0] = check_size;
        MUST_FAIL(MPI_Graph_create(MPI_COMM_WORLD, check_size, ends, edges, 0, &graph),
                  MPI_ERR_ARG);
        edges[0] = -1;
        MUST_FAIL(MPI_Graph_create(MPI_COMM_WORLD, check_size, ends, edges, 0, &graph),
                  MPI_ERR_ARG);
        ends[0] = -1;
        MUST_FAIL(MPI_Graph_create(MPI_COMM_WORLD, 1, ends, edges, 0, &graph), MPI_ERR_ARG);
        CHECK(graph == MPI_COMM_SELF);
    }
    MUST_FAIL(MPI_Graphdims_get(MPI_COMM_WORLD, &found, &found), MPI_ERR_TOPOLOGY);
    MUST_FAIL(MPI_Graph_get(MPI_COMM_WORLD, 1, 1, ends, edges), MPI_ERR_TOPOLOGY);
    MUST_FAIL(MPI_Graph_neighbors_count(MPI_COMM_WORLD, 0, &found), MPI_ERR_TOPOLOGY);
    MUST_FAIL(MPI_Graph_neighbors(MPI_COMM_WORLD, 0, 1, edges), MPI_ERR_TOPOLOGY);
    MUST_FAIL(MPI_Dist_graph_neighbors_count(MPI_COMM_WORLD, &found, &found, &found),
              MPI_ERR_TOPOLOGY);
    MUST_FAIL(MPI_Dist_graph_neighbors(MPI_COMM_WORLD, 0, &found, MPI_UNWEIGHTED, 0, &found,
                                       MPI_UNWEIGHTED), MPI_ERR_TOPOLOGY);
    MUST_FAIL(MPI_Dist_graph_create(MPI_COMM_NULL, 0, ends, ends, ends, MPI_UNWEIGHTED,
                                    MPI_INFO_NULL, 0, &graph), MPI_ERR_COMM);
}

/* One rank is wrong, and all hear of it. MPICH 5 ends the job, or waits for ever. */
static void wrong_on_one_rank(void)
{
    MPI_Comm graph = MPI_COMM_SELF;
    for (int kind = 0; kind < 5; kind++) {
        int wrong = check_rank == kind % check_size;
        int source[] = {check_rank}, degree[] = {1}, to[] = {0}, weight[] = {1}, n = 1;
        if (wrong) {
            to[0] = kind == 0 ? check_size : kind == 1 ? -1 : 0;
            weight[0] = kind == 2 ? -1 : 1;
            degree[0] = kind == 3 ? -1 : 1;
            n = kind == 4 ? -1 : 1;
        }
        MUST_FAIL(MPI_Dist_graph_create(MPI_COMM_WORLD, n, source, degree, to, weight,
                                        MPI_INFO_NULL, 0, &graph), MPI_ERR_ARG);
        if (kind == 3)
            continue;
        MUST_FAIL(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_WEIGHTS_EMPTY, n,
                                                 to, weight, MPI_INFO_NULL, 1, &graph),
                  MPI_ERR_ARG);
    }
    int to[] = {0}, weight[] = {1};
    MUST_FAIL(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_UNWEIGHTED, 1, to,
                                             MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &graph),
              MPI_ERR_ARG);
    MUST_FAIL(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, to, weight, 1, to,
                                             MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph),
              MPI_ERR_ARG);
    if (check_size > 1)
        MUST_FAIL(MPI_Dist_graph_create_adjacent(
                      MPI_COMM_WORLD, 0, NULL, MPI_UNWEIGHTED, 1, to,
                      check_rank ? MPI_UNWEIGHTED : weight, MPI_INFO_NULL, 0, &graph),
                  MPI_ERR_ARG);
    CHECK(graph == MPI_COMM_SELF);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    section("graphs");
    for (int nodes = 0; nodes <= check_size; nodes++)
        whole(nodes, nodes % 2);
    section("distributed graphs");
    for (int form = 0; form < 16; form++) {
        uint64_t before = state;
        anywhere(form & 1, form >> 1 & 1);
        state = before + 77;
        own(form & 1, form >> 1 & 1);
    }
    section("errors");
    whole_errors();
    if (check_strict())
        wrong_on_one_rank();
    return check_end();
}
