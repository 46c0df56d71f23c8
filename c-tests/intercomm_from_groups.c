/* Intercommunicators from two groups and a string alone. */
#include "check.h"

static MPI_Group world;

/* Ranks below the border, in order, and the others backwards; which of them this rank is in. */
static int halves(int border, MPI_Group groups[2])
{
    int ranges[2][1][3] = {{{0, border - 1, 1}}, {{check_size - 1, border, -1}}};
    for (int side = 0; side < 2; side++)
        MUST(MPI_Group_range_incl(world, 1, ranges[side], &groups[side]));
    return check_rank >= border;
}

static void use(MPI_Comm comm, MPI_Group local, MPI_Group remote)
{
    int flag = -1, likeness = -1, size = -1, in = -1, rank = -1;
    MPI_Group found;
    MUST(MPI_Comm_test_inter(comm, &flag));
    CHECK_EQUAL(flag, 1);
    MUST(MPI_Comm_group(comm, &found));
    MUST(MPI_Group_compare(found, local, &likeness));
    CHECK_EQUAL(likeness, MPI_IDENT);
    MUST(MPI_Group_free(&found));
    MUST(MPI_Comm_remote_group(comm, &found));
    MUST(MPI_Group_compare(found, remote, &likeness));
    CHECK_EQUAL(likeness, MPI_IDENT);
    MUST(MPI_Group_free(&found));
    MUST(MPI_Comm_remote_size(comm, &size));
    MUST(MPI_Comm_rank(comm, &rank));
    /* A token from each rank to each rank of the other side. */
    for (int peer = 0; peer < size; peer++) {
        MPI_Request request;
        MUST(MPI_Isend(&rank, 1, MPI_INT, peer, 0, comm, &request));
        MUST(MPI_Recv(&in, 1, MPI_INT, peer, 0, comm, MPI_STATUS_IGNORE));
        CHECK_EQUAL(in, peer);
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    MUST(MPI_Comm_group(MPI_COMM_WORLD, &world));
    for (int border = 1; border < check_size; border++)
        for (int time = 0; time < 2; time++) {
            MPI_Group groups[2];
            MPI_Comm comms[2] = {MPI_COMM_NULL, MPI_COMM_NULL};
            int side = halves(border, groups), sizes[2] = {border, check_size - border};
            int last = time * (sizes[side] - 1), other_last = time * (sizes[!side] - 1);
            for (int copy = 0; copy < 2; copy++) {
                MUST(MPI_Intercomm_create_from_groups(groups[side], last, groups[!side],
                                                      other_last, copy ? "second" : "first",
                                                      MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                                      &comms[copy]));
                use(comms[copy], groups[side], groups[!side]);
            }
            for (int copy = 0; copy < 2; copy++)
                MUST(MPI_Comm_free(&comms[copy]));
            for (int group = 0; group < 2; group++)
                MUST(MPI_Group_free(&groups[group]));
        }
    section("nobody on the other side");
    MPI_Group self;
    MPI_Comm comm = MPI_COMM_WORLD;
    MUST(MPI_Comm_group(MPI_COMM_SELF, &self));
    MUST(MPI_Intercomm_create_from_groups(self, 0, MPI_GROUP_EMPTY, 0, "", MPI_INFO_NULL,
                                          MPI_ERRORS_RETURN, &comm));
    CHECK(comm == MPI_COMM_NULL);
    comm = MPI_COMM_WORLD;
    MUST(MPI_Intercomm_create_from_groups(MPI_GROUP_EMPTY, 0, self, 0, "", MPI_INFO_NULL,
                                          MPI_ERRORS_RETURN, &comm));
    CHECK(comm == MPI_COMM_NULL);
    section("errors");
    comm = MPI_COMM_WORLD;
    if (check_strict()) { /* MPICH 5 does not look at leaders, and crashes. */
        MUST_FAIL(MPI_Intercomm_create_from_groups(self, 1, self, 0, "x", MPI_INFO_NULL,
                                                   MPI_ERRORS_RETURN, &comm), MPI_ERR_RANK);
        MUST_FAIL(MPI_Intercomm_create_from_groups(self, 0, world, check_size, "x", MPI_INFO_NULL,
                                                   MPI_ERRORS_RETURN, &comm), MPI_ERR_RANK);
        MUST_FAIL(MPI_Intercomm_create_from_groups(self, 0, self, 0, "x", MPI_INFO_NULL,
                                                   MPI_ERRORS_RETURN, &comm), MPI_ERR_RANK);
        MUST_FAIL(MPI_Intercomm_create_from_groups(self, 0, MPI_GROUP_NULL, 0, "x", MPI_INFO_NULL,
                                                   MPI_ERRORS_RETURN, &comm), MPI_ERR_GROUP);
    }
    CHECK(comm == MPI_COMM_WORLD);
    MUST(MPI_Group_free(&self));
    MUST(MPI_Group_free(&world));
    return check_end();
}
