/* Intercommunicators that lose processes: messages and collectives end, both groups agree, and shrink leaves an
 * intercommunicator of the survivors. The argument is the way in which they are lost: 0 one of each group,
 * 1 one of the second group, 2 the first process of each group, 3 all of the second group. */
#include "failures.h"

static int is_victim(int way, int side, int mine, int local)
{
    switch (way) {
    case 0: return mine == local - 1;
    case 1: return side == 1 && mine == 0;
    case 2: return mine == 0;
    default: return side == 1;
    }
}

/* Survivors of a group of `local` processes. */
static int left(int way, int side, int local)
{
    int count = 0;
    for (int mine = 0; mine < local; mine++)
        count += !is_victim(way, side, mine, local);
    return count;
}

/* Messages and collectives work between groups of these sizes. */
static void check_between(MPI_Comm inter, int local, int remote)
{
    int is_inter = 0, size_here, size_there, me, sum = -1, one = 1;
    EXPECT_IS(MPI_Comm_test_inter(inter, &is_inter), MPI_SUCCESS);
    EXPECT(is_inter);
    MPI_Comm_size(inter, &size_here);
    MPI_Comm_remote_size(inter, &size_there);
    MPI_Comm_rank(inter, &me);
    EXPECT_IS(size_here, local);
    EXPECT_IS(size_there, remote);
    EXPECT_IS(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter), MPI_SUCCESS);
    EXPECT_IS(sum, remote);
    EXPECT_IS(MPI_Barrier(inter), MPI_SUCCESS);
    MPI_Request requests[64];
    int from[32], count = 0;
    for (int other = 0; other < remote; other++) {
        MPI_Irecv(&from[other], 1, MPI_INT, other, 3, inter, &requests[count++]);
        MPI_Isend(&me, 1, MPI_INT, other, 3, inter, &requests[count++]);
    }
    EXPECT_IS(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    for (int other = 0; other < remote; other++)
        EXPECT_IS(from[other], other);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int way = argc > 1 ? atoi(argv[1]) : 0, middle = size / 2, side = rank >= middle, mine, local, remote;
    MPI_Comm half, inter, next, whole;
    MPI_Comm_split(MPI_COMM_WORLD, side, rank, &half);
    MPI_Comm_rank(half, &mine);
    MPI_Comm_size(half, &local);
    remote = size - local;
    EXPECT_IS(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, side ? 0 : middle, 5, &inter), MPI_SUCCESS);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    check_between(inter, local, remote);
    int flag = 0xff & ~(1 << rank);
    EXPECT_IS(MPIX_Comm_agree(inter, &flag), MPI_SUCCESS);
    EXPECT_IS(flag, 0xff & ~((1 << size) - 1));
    EXPECT_IS(MPIX_Comm_shrink(inter, &next), MPI_SUCCESS);
    check_between(next, local, remote);
    MPI_Comm_free(&next);

    /* All have what victims have sent; the barrier itself may fail. */
    MPI_Barrier(MPI_COMM_WORLD);
    if (is_victim(way, side, mine, local))
        die_by(way);
    int code;
    do
        code = MPI_Barrier(inter);
    while (code == MPI_SUCCESS);
    EXPECT_IS(class_of(code), MPIX_ERR_PROC_FAILED);
    for (int other = 0; other < remote; other++)
        if (is_victim(way, !side, other, remote))
            EXPECT_IS(class_of(MPI_Recv(&flag, 1, MPI_INT, other, 7, inter, MPI_STATUS_IGNORE)),
                      MPIX_ERR_PROC_FAILED);
    do {
        flag = 6;
        code = MPIX_Comm_agree(inter, &flag);
        EXPECT_IS(flag, 6);
    } while (code == MPI_SUCCESS);
    EXPECT_IS(class_of(code), MPIX_ERR_PROC_FAILED);
    EXPECT_IS(MPIX_Comm_revoke(inter), MPI_SUCCESS);
    EXPECT_IS(class_of(MPI_Barrier(inter)), MPIX_ERR_REVOKED);

    int here = left(way, side, local), there = left(way, !side, remote);
    int wanted = there ? MPI_SUCCESS : MPIX_ERR_PROC_FAILED;
    EXPECT_IS(class_of(MPIX_Comm_shrink(inter, &next)), wanted);
    if (there) {
        check_between(next, here, there);
        EXPECT_IS(MPI_Intercomm_merge(next, side, &whole), MPI_SUCCESS);
        check_works(whole, here + there);
        MPI_Comm_free(&whole);
        MPI_Comm_free(&next);
    }
    MPI_Comm_free(&inter);
    MPI_Comm survivors;
    EXPECT_IS(MPIX_Comm_shrink(MPI_COMM_WORLD, &survivors), MPI_SUCCESS);
    return end(survivors);
}
