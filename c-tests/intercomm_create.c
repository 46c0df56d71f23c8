/* Intercommunicators: made between groups of every shape, taken apart again, compared, duplicated,
 * split and merged. */
#include "check.h"

/* Both groups of a communicator must be these ranks of the world, in this order. */
static void expect_group(MPI_Group group, const int *ranks, int count)
{
    MPI_Group world, expected;
    int likeness = -1;
    MUST(MPI_Comm_group(MPI_COMM_WORLD, &world));
    MUST(MPI_Group_incl(world, count, ranks, &expected));
    MUST(MPI_Group_compare(group, expected, &likeness));
    CHECK_EQUAL(likeness, MPI_IDENT);
    MUST(MPI_Group_free(&expected));
    MUST(MPI_Group_free(&world));
}

static int place_of(const int *ranks, int count)
{
    for (int place = 0; place < count; place++)
        if (ranks[place] == check_rank)
            return place;
    return -1;
}

/* The communicator is there if this rank is in one of the lists and none is empty; then it has
 * these groups, and everybody gets a message from everybody on the other side. */
static void expect_inter(MPI_Comm comm, const int *ranks[2], const int counts[2])
{
    int side = place_of(ranks[1], counts[1]) >= 0;
    int place = place_of(ranks[side], counts[side]);
    if (place < 0 || counts[0] == 0 || counts[1] == 0) {
        CHECK(comm == MPI_COMM_NULL);
        return;
    }
    CHECK(comm != MPI_COMM_NULL);
    if (comm == MPI_COMM_NULL)
        return;
    int flag = -1, size = -1, rank = -1, remote = -1;
    MPI_Group local_group, remote_group;
    MUST(MPI_Comm_test_inter(comm, &flag));
    MUST(MPI_Comm_size(comm, &size));
    MUST(MPI_Comm_rank(comm, &rank));
    MUST(MPI_Comm_remote_size(comm, &remote));
    CHECK_EQUAL(flag, 1);
    CHECK_EQUAL(size, counts[side]);
    CHECK_EQUAL(rank, place);
    CHECK_EQUAL(remote, counts[!side]);
    MUST(MPI_Comm_group(comm, &local_group));
    MUST(MPI_Comm_remote_group(comm, &remote_group));
    expect_group(local_group, ranks[side], counts[side]);
    expect_group(remote_group, ranks[!side], counts[!side]);
    MUST(MPI_Group_free(&local_group));
    MUST(MPI_Group_free(&remote_group));
    MPI_Request requests[16];
    int in[16];
    for (int peer = 0; peer < remote; peer++)
        MUST(MPI_Irecv(&in[peer], 1, MPI_INT, peer, 3, comm, &requests[peer]));
    for (int peer = 0; peer < remote; peer++)
        MUST(MPI_Send(&check_rank, 1, MPI_INT, peer, 3, comm));
    MUST(MPI_Waitall(remote, requests, MPI_STATUSES_IGNORE));
    for (int peer = 0; peer < remote; peer++)
        CHECK_EQUAL(in[peer], ranks[!side][peer]);
}

/* The world in two: ranks below the border, and the others backwards. */
static int lists[2][16], counts[2];
static const int *sides[2] = {lists[0], lists[1]};

static MPI_Comm half_of_world(int border)
{
    MPI_Comm half;
    int side = check_rank >= border;
    counts[0] = border;
    counts[1] = check_size - border;
    for (int rank = 0; rank < check_size; rank++)
        if (rank < border)
            lists[0][rank] = rank;
        else
            lists[1][check_size - 1 - rank] = rank;
    MUST(MPI_Comm_split(MPI_COMM_WORLD, side, side ? -check_rank : check_rank, &half));
    return half;
}

/* An intercommunicator of both halves, with the leaders first and last in their groups. */
static MPI_Comm bridge(MPI_Comm half, int border, int tag)
{
    MPI_Comm inter = MPI_COMM_NULL;
    int side = check_rank >= border;
    int leaders[2] = {border - 1, check_size - 1};
    MUST(MPI_Intercomm_create(half, place_of(sides[side], counts[side]) < 0 ? 0
                                    : side == 0 ? border - 1 : 0,
                              MPI_COMM_WORLD, leaders[!side], tag, &inter));
    return inter;
}

static void duplicates(MPI_Comm inter)
{
    MPI_Comm copies[3];
    MPI_Request request;
    int likeness = -1;
    MUST(MPI_Comm_dup(inter, &copies[0]));
    MUST(MPI_Comm_idup(copies[0], &copies[1], &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MUST(MPI_Comm_dup_with_info(copies[1], MPI_INFO_NULL, &copies[2]));
    for (int copy = 0; copy < 3; copy++) {
        expect_inter(copies[copy], sides, counts);
        MUST(MPI_Comm_compare(inter, copies[copy], &likeness));
        CHECK_EQUAL(likeness, MPI_CONGRUENT);
    }
    MUST(MPI_Comm_compare(inter, inter, &likeness));
    CHECK_EQUAL(likeness, MPI_IDENT);
    MUST(MPI_Comm_free(&copies[0]));
    MUST(MPI_Comm_disconnect(&copies[1]));
    CHECK(copies[1] == MPI_COMM_NULL);
    MUST(MPI_Comm_free(&copies[2]));
}

/* Even and odd places of each side, backwards; the last rank of the world stays out. */
static void splits(MPI_Comm inter)
{
    int rank = -1;
    MUST(MPI_Comm_rank(inter, &rank));
    int parts[2][16], of[2] = {0, 0};
    const int *lists_of[2] = {parts[0], parts[1]};
    for (int side = 0; side < 2; side++)
        for (int place = counts[side] - 1; place >= 0; place--)
            if (place % 2 == rank % 2 && sides[side][place] != check_size - 1)
                parts[side][of[side]++] = sides[side][place];
    MPI_Comm part = MPI_COMM_WORLD;
    int color = check_rank == check_size - 1 ? MPI_UNDEFINED : rank % 2;
    MUST(MPI_Comm_split(inter, color, -rank, &part));
    expect_inter(part, lists_of, of);
    if (part != MPI_COMM_NULL)
        MUST(MPI_Comm_free(&part));
}

/* All but the first of each side, backwards; then nobody of side 1. */
static void subgroups(MPI_Comm inter)
{
    int side = place_of(sides[1], counts[1]) >= 0, rank = -1;
    MUST(MPI_Comm_rank(inter, &rank));
    for (int empty = 0; empty < 2; empty++) {
        int parts[2][16], of[2] = {0, 0};
        const int *lists_of[2] = {parts[0], parts[1]};
        for (int group = 0; group < 2; group++)
            for (int place = counts[group] - 1; place >= (counts[group] > 1); place--)
                if (!(empty && group == 1))
                    parts[group][of[group]++] = sides[group][place];
        MPI_Group local, group = MPI_GROUP_EMPTY;
        MPI_Comm made = MPI_COMM_WORLD;
        MUST(MPI_Comm_group(inter, &local));
        int range[1][3] = {{counts[side] - 1, counts[side] > 1, -1}};
        if (of[side] > 0)
            MUST(MPI_Group_range_incl(local, 1, range, &group));
        MUST(MPI_Comm_create(inter, group, &made));
        expect_inter(made, lists_of, of);
        if (made != MPI_COMM_NULL)
            MUST(MPI_Comm_free(&made));
        if (of[side] > 0)
            MUST(MPI_Group_free(&group));
        MUST(MPI_Group_free(&local));
    }
}

static void merges(MPI_Comm inter)
{
    int side = place_of(sides[1], counts[1]) >= 0, place = place_of(sides[side], counts[side]);
    for (int high = 0; high < 4; high++) {
        MPI_Comm merged = MPI_COMM_NULL;
        int own = side ? high >> 1 & 1 : high & 1;
        int size = -1, rank = -1, flag = -1, sum = -1;
        MUST(MPI_Intercomm_merge(inter, own ? 7 : 0, &merged));
        MUST(MPI_Comm_size(merged, &size));
        MUST(MPI_Comm_rank(merged, &rank));
        MUST(MPI_Comm_test_inter(merged, &flag));
        CHECK_EQUAL(size, check_size);
        CHECK_EQUAL(flag, 0);
        if (high == 1)
            CHECK_EQUAL(rank, side ? place : place + counts[1]);
        if (high == 2)
            CHECK_EQUAL(rank, side ? place + counts[0] : place);
        if (high == 0 || high == 3) /* Either order, but the groups stay together. */
            CHECK(rank == place || rank == place + counts[!side]);
        MUST(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, merged));
        CHECK_EQUAL(sum, size * (size - 1) / 2);
        MUST(MPI_Comm_free(&merged));
    }
}

/* Between two halves of a half, over an intercommunicator as the peer. */
static void over_another(MPI_Comm half, MPI_Comm inter)
{
    MPI_Comm again = MPI_COMM_NULL;
    int likeness = -1;
    MUST(MPI_Intercomm_create(half, 0, inter, 0, 0, &again));
    expect_inter(again, sides, counts);
    MUST(MPI_Comm_compare(inter, again, &likeness));
    CHECK_EQUAL(likeness, MPI_CONGRUENT);
    MUST(MPI_Comm_compare(inter, half, &likeness));
    CHECK_EQUAL(likeness, MPI_UNEQUAL);
    MUST(MPI_Comm_free(&again));
}

/* Names, attributes and error handlers as on every communicator. */
static void furniture(MPI_Comm half, MPI_Comm inter)
{
    char name[MPI_MAX_OBJECT_NAME] = "x";
    int length = -1, keyval = MPI_KEYVAL_INVALID, flag = -1, value = 5;
    void *found = NULL;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm copy;
    MUST(MPI_Comm_get_name(inter, name, &length));
    CHECK_EQUAL(length, 0);
    MUST(MPI_Comm_set_name(inter, "bridge"));
    MUST(MPI_Comm_get_name(inter, name, &length));
    CHECK(strcmp(name, "bridge") == 0);
    MUST(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL));
    MUST(MPI_Comm_set_attr(inter, keyval, &value));
    MUST(MPI_Comm_dup(inter, &copy));
    MUST(MPI_Comm_get_attr(copy, keyval, &found, &flag));
    CHECK(flag && found == &value);
    MUST(MPI_Comm_free_keyval(&keyval));
    MUST(MPI_Comm_free(&copy));
    MUST(MPI_Comm_get_errhandler(half, &handler));
    CHECK(handler == MPI_ERRORS_RETURN);
    MUST(MPI_Comm_get_errhandler(inter, &handler));
    CHECK(handler == MPI_ERRORS_RETURN);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    for (int border = 1; border < check_size; border++) {
        MPI_Comm half = half_of_world(border);
        MPI_Comm inter = bridge(half, border, border << 16);
        expect_inter(inter, sides, counts);
        duplicates(inter);
        splits(inter);
        subgroups(inter);
        merges(inter);
        over_another(half, inter);
        furniture(half, inter);
        MUST(MPI_Comm_free(&half));
        MUST(MPI_Comm_free(&inter));
    }
    return check_end();
}
