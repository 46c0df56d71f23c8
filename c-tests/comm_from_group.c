/* Communicators from groups alone: who calls, what keeps creations apart, errors. */
#include "members.h"

enum { CREATIONS = 12 };

static MPI_Comm make(MPI_Group group, const char *tag)
{
    MPI_Comm comm = MPI_COMM_NULL;
    MUST(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    return comm;
}

/* Everybody is first in one group and last in another; the same string again and again. */
static void turned(void)
{
    for (int first = 0; first < check_size; first++) {
        int ranges[2][3] = {{first, check_size - 1, 1}, {0, first - 1, 1}};
        MPI_Group group;
        MUST(MPI_Group_range_incl(world, first ? 2 : 1, ranges, &group));
        for (int time = 0; time < 3; time++) {
            MPI_Comm comm = make(group, "turned");
            use(comm, check_size, (check_rank - first + check_size) % check_size);
            MUST(MPI_Comm_free(&comm));
        }
        MUST(MPI_Group_free(&group));
    }
}

/* A chain of pairs, even ones first, none of which waits for the whole chain. */
static void pairs(void)
{
    MPI_Comm made[2] = {MPI_COMM_NULL, MPI_COMM_NULL};
    for (int step = 0; step < 2; step++) {
        int first = step == check_rank % 2 ? check_rank : check_rank - 1;
        if (first < 0 || first + 1 >= check_size)
            continue;
        int ranks[2] = {first, first + 1};
        MPI_Group group;
        MUST(MPI_Group_incl(world, 2, ranks, &group));
        made[first != check_rank] = make(group, "pair");
        MUST(MPI_Group_free(&group));
    }
    for (int side = 0; side < 2; side++)
        if (made[side] != MPI_COMM_NULL) {
            use(made[side], 2, side);
            MUST(MPI_Comm_free(&made[side]));
        }
}

/* Contexts differ: what was sent last on one communicator is received first on another. */
static void apart(void)
{
    MPI_Comm comms[CREATIONS];
    MPI_Request requests[CREATIONS];
    int values[CREATIONS], next = (check_rank + 1) % check_size;
    int previous = (check_rank + check_size - 1) % check_size;
    for (int place = 0; place < CREATIONS; place++) {
        char tag[MPI_MAX_STRINGTAG_LEN];
        snprintf(tag, sizeof tag, "apart %d", place);
        comms[place] = make(world, tag);
        values[place] = 100 * place + check_rank;
    }
    for (int place = 0; place < CREATIONS; place++)
        MUST(MPI_Isend(&values[place], 1, MPI_INT, next, 7, comms[place], &requests[place]));
    for (int place = CREATIONS - 1; place >= 0; place--) {
        int value = -1;
        MUST(MPI_Recv(&value, 1, MPI_INT, previous, 7, comms[place], MPI_STATUS_IGNORE));
        CHECK_EQUAL(value, 100 * place + previous);
    }
    MUST(MPI_Waitall(CREATIONS, requests, MPI_STATUSES_IGNORE));
    for (int place = 0; place < CREATIONS; place++)
        MUST(MPI_Comm_free(&comms[place]));
}

static void arguments(void)
{
    static char tag[MPI_MAX_STRINGTAG_LEN + 8];
    int own = check_rank, next = (check_rank + 1) % check_size, result = -1;
    MPI_Group me, other;
    MPI_Comm comm = MPI_COMM_WORLD, again;
    MPI_Errhandler handler;

    MUST(MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "empty", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                    &comm));
    CHECK(comm == MPI_COMM_NULL);
    MUST(MPI_Group_incl(world, 1, &own, &me));
    memset(tag, 'x', MPI_MAX_STRINGTAG_LEN - 1);
    comm = make(me, tag);
    again = make(me, "");
    use(comm, 1, 0);
    MUST(MPI_Comm_compare(comm, again, &result));
    CHECK_EQUAL(result, MPI_CONGRUENT);
    MUST(MPI_Comm_get_errhandler(comm, &handler));
    CHECK(handler == MPI_ERRORS_RETURN);
    MUST_FAIL(MPI_Send(NULL, 0, MPI_BYTE, 9, 0, comm), MPI_ERR_RANK);
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Comm_free(&again));

    comm = MPI_COMM_WORLD;
    MUST_FAIL(MPI_Comm_create_from_group(MPI_GROUP_NULL, "null", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                         &comm), MPI_ERR_GROUP);
    if (check_strict()) { /* MPICH 5 takes both. */
        memset(tag, 'x', MPI_MAX_STRINGTAG_LEN);
        MUST_FAIL(MPI_Comm_create_from_group(me, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm),
                  MPI_ERR_ARG);
        MUST_FAIL(MPI_Comm_create_from_group(me, NULL, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm),
                  MPI_ERR_ARG);
        if (check_size > 1) {
            MUST(MPI_Group_incl(world, 1, &next, &other));
            MUST_FAIL(MPI_Comm_create_from_group(other, "not mine", MPI_INFO_NULL,
                                                 MPI_ERRORS_RETURN, &comm), MPI_ERR_GROUP);
            MUST(MPI_Group_free(&other));
        }
    }
    CHECK_STRICTLY(comm == MPI_COMM_WORLD);
    MUST(MPI_Group_free(&me));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    MUST(MPI_Comm_group(MPI_COMM_WORLD, &world));
    section("the world in all turns");
    turned();
    section("pairs that overlap");
    pairs();
    section("many at once");
    apart();
    section("arguments");
    arguments();
    MUST(MPI_Group_free(&world));
    return check_end();
}
