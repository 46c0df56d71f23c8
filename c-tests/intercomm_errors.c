/* Mistakes with intercommunicators: every rank gets the right class, and no rank hangs. */
#include "check.h"

static MPI_Comm half, inter;
static int side, rank, size, remote;

/* On an intracommunicator these have no meaning. */
static void not_inter(MPI_Comm comm)
{
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Comm made = MPI_COMM_WORLD;
    int found = -7;
    MUST_FAIL(MPI_Comm_remote_size(comm, &found), MPI_ERR_COMM);
    MUST_FAIL(MPI_Intercomm_merge(comm, 0, &made), MPI_ERR_COMM);
    MUST_FAIL(MPI_Comm_remote_group(comm, &group), MPI_ERR_COMM);
    CHECK_EQUAL(found, -7);
    CHECK(group == MPI_GROUP_NULL);
    CHECK_STRICTLY(made == MPI_COMM_WORLD);
}

static void no_handle(void)
{
    int flag = -7;
    MPI_Comm made = MPI_COMM_WORLD, stale = MPI_COMM_NULL;
    MUST_FAIL(MPI_Comm_test_inter(MPI_COMM_NULL, &flag), MPI_ERR_COMM);
    MUST_FAIL(MPI_Comm_remote_size(MPI_COMM_NULL, &flag), MPI_ERR_COMM);
    MUST_FAIL(MPI_Intercomm_merge(MPI_COMM_NULL, 0, &made), MPI_ERR_COMM);
    MUST_FAIL(MPI_Intercomm_create(MPI_COMM_NULL, 0, MPI_COMM_WORLD, 0, 0, &made), MPI_ERR_COMM);
    if (check_strict() && check_size > 1) {
        MPI_Comm gone;
        MUST(MPI_Comm_dup(inter, &stale));
        gone = stale;
        MUST(MPI_Comm_free(&stale));
        MUST_FAIL(MPI_Comm_test_inter(gone, &flag), MPI_ERR_COMM);
        MUST_FAIL(MPI_Comm_remote_size(gone, &flag), MPI_ERR_COMM);
        MUST_FAIL(MPI_Intercomm_merge(gone, 0, &made), MPI_ERR_COMM);
    }
    CHECK_EQUAL(flag, -7);
    CHECK_STRICTLY(made == MPI_COMM_WORLD);
}

/* Arguments that every rank can check for itself. */
static void everywhere(void)
{
    MPI_Comm made = MPI_COMM_WORLD;
    int other = !side;
    MUST_FAIL(MPI_Intercomm_create(half, size, MPI_COMM_WORLD, other, 1, &made), MPI_ERR_RANK);
    MUST_FAIL(MPI_Intercomm_create(half, -1, MPI_COMM_WORLD, other, 1, &made), MPI_ERR_RANK);
    MUST_FAIL(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, other, -1, &made), MPI_ERR_TAG);
    MUST_FAIL(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, other, MPI_ANY_TAG, &made),
              MPI_ERR_TAG);
    MUST_FAIL(MPI_Intercomm_create(inter, 0, MPI_COMM_WORLD, other, 1, &made), MPI_ERR_COMM);
    CHECK_STRICTLY(made == MPI_COMM_WORLD);
}

/* Arguments that count at the leader only; the other ranks hear from it. MPICH 5 lets them wait
 * for ever. */
static void at_the_leader(void)
{
    MPI_Comm made = MPI_COMM_WORLD;
    MPI_Comm peer = rank == size - 1 ? MPI_COMM_NULL : MPI_COMM_WORLD;
    MUST_FAIL(MPI_Intercomm_create(half, size - 1, peer, 0, 1, &made), MPI_ERR_COMM);
    MUST_FAIL(MPI_Intercomm_create(half, 0, rank == 0 ? MPI_COMM_WORLD : MPI_COMM_NULL, check_size,
                                   1, &made), MPI_ERR_RANK);
    MUST_FAIL(MPI_Intercomm_create(half, 0, rank == 0 ? MPI_COMM_SELF : MPI_COMM_NULL, 0, 1,
                                   &made), MPI_ERR_RANK);
    MUST_FAIL(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, MPI_ANY_SOURCE, 1, &made),
              MPI_ERR_RANK);
    CHECK_STRICTLY(made == MPI_COMM_WORLD);
}

/* Ranks 0 and 1 of the world are the leaders of groups that both have the last rank. MPICH 5 waits
 * for ever. */
static void overlapping(void)
{
    if (check_size < 3)
        return;
    MPI_Group world, groups[2];
    MPI_Comm comms[2] = {MPI_COMM_NULL, MPI_COMM_NULL}, made = MPI_COMM_WORLD;
    MUST(MPI_Comm_group(MPI_COMM_WORLD, &world));
    for (int place = 0; place < 2; place++) {
        int ranks[2] = {place, check_size - 1};
        MUST(MPI_Group_incl(world, 2, ranks, &groups[place]));
        if (check_rank == place || check_rank == check_size - 1) {
            MUST(MPI_Comm_create_group(MPI_COMM_WORLD, groups[place], place, &comms[place]));
            MUST(MPI_Comm_set_errhandler(comms[place], MPI_ERRORS_RETURN));
        }
        MUST(MPI_Group_free(&groups[place]));
    }
    for (int place = 0; place < 2; place++)
        if (comms[place] != MPI_COMM_NULL) {
            MUST_FAIL(MPI_Intercomm_create(comms[place], 0, MPI_COMM_WORLD, !place, 3, &made),
                      MPI_ERR_COMM);
            MUST(MPI_Comm_free(&comms[place]));
        }
    CHECK_STRICTLY(made == MPI_COMM_WORLD);
    MUST(MPI_Group_free(&world));
}

/* Ranks are those of the other group. */
static void ranks(void)
{
    int value = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MUST_FAIL(MPI_Send(&value, 1, MPI_INT, remote, 0, inter), MPI_ERR_RANK);
    MUST_FAIL(MPI_Recv(&value, 1, MPI_INT, remote, 0, inter, MPI_STATUS_IGNORE), MPI_ERR_RANK);
    MUST_FAIL(MPI_Isend(&value, 1, MPI_INT, -5, 0, inter, &request), MPI_ERR_RANK);
    MUST_FAIL(MPI_Irecv(&value, 1, MPI_INT, remote, 0, inter, &request), MPI_ERR_RANK);
    MUST_FAIL(MPI_Probe(remote, 0, inter, MPI_STATUS_IGNORE), MPI_ERR_RANK);
    MUST_FAIL(MPI_Send_init(&value, 1, MPI_INT, remote, 0, inter, &request), MPI_ERR_RANK);
    MUST_FAIL(MPI_Send(&value, 1, MPI_INT, 0, -1, inter), MPI_ERR_TAG);
}

/* What is for intracommunicators only, and groups that are not of this side. */
static void other_functions(void)
{
    MPI_Group local, theirs;
    MPI_Comm made = MPI_COMM_WORLD;
    int in = 0, out = 0;
    MUST(MPI_Comm_group(inter, &local));
    MUST(MPI_Comm_remote_group(inter, &theirs));
    MUST_FAIL(MPI_Comm_create_group(inter, local, 0, &made), MPI_ERR_COMM);
    MUST_FAIL(MPI_Scan(&in, &out, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_COMM);
    MUST_FAIL(MPI_Exscan(&in, &out, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_COMM);
    if (check_strict()) { /* MPICH 5 crashes. */
        MUST_FAIL(MPI_Comm_create(inter, theirs, &made), MPI_ERR_GROUP);
        MUST_FAIL(MPI_Comm_split(inter, -5, 0, &made), MPI_ERR_ARG);
    }
    CHECK_STRICTLY(made == MPI_COMM_WORLD);
    MUST(MPI_Group_free(&theirs));
    MUST(MPI_Group_free(&local));
}

/* All ranks of a group must say the same; all are told if they do not. */
static void merge(void)
{
    MPI_Comm made = MPI_COMM_WORLD;
    if (check_size > 2 && check_strict()) {
        MUST_FAIL(MPI_Intercomm_merge(inter, rank == 0, &made), MPI_ERR_ARG);
        CHECK_STRICTLY(made == MPI_COMM_WORLD);
    }
    MUST(MPI_Intercomm_merge(inter, side, &made));
    CHECK(made != MPI_COMM_WORLD);
    MUST(MPI_Comm_free(&made));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    if (check_strict()) /* MPICH 5 crashes. */
        not_inter(MPI_COMM_WORLD);
    if (check_size > 1) {
        side = check_rank % 2;
        MUST(MPI_Comm_split(MPI_COMM_WORLD, side, 0, &half));
        MUST(MPI_Comm_rank(half, &rank));
        MUST(MPI_Comm_size(half, &size));
        MUST(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, !side, 0, &inter));
        MUST(MPI_Comm_remote_size(inter, &remote));
        everywhere();
        if (check_strict()) {
            at_the_leader();
            overlapping();
        }
        ranks();
        other_functions();
        merge();
    }
    no_handle();
    if (check_size > 1) {
        MUST(MPI_Comm_free(&inter));
        MUST(MPI_Comm_free(&half));
    }
    return check_end();
}
