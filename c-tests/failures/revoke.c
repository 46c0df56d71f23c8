/* One rank revokes: operations of all members end, those of other communicators do not. With the argument
 * "die", the rank that revokes ends at once. */
#include "failures.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int dies = argc > 1 && strcmp(argv[1], "die") == 0, value = 0, flag = -1;
    MPI_Comm comm, other;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    static char large[1 << 20];
    int next = (rank + 1) % size;
    EXPECT_IS(MPIX_Comm_is_revoked(comm, &flag), MPI_SUCCESS);
    EXPECT_IS(flag, 0);
    MPI_Request kept;
    EXPECT_IS(MPI_Send_init(NULL, 0, MPI_INT, MPI_PROC_NULL, 1, comm, &kept), MPI_SUCCESS);
    MPI_Barrier(other);
    if (rank == 0) {
        /* Rank 1 has started its operations; the others may be early or late. */
        EXPECT_IS(MPI_Recv(&value, 0, MPI_INT, 1, 1, other, MPI_STATUS_IGNORE), MPI_SUCCESS);
        usleep(30000);
        EXPECT_IS(MPIX_Comm_revoke(comm), MPI_SUCCESS);
        if (dies)
            die();
        EXPECT_IS(MPIX_Comm_revoke(comm), MPI_SUCCESS);
    } else if (rank == 1) {
        MPI_Request requests[3];
        MPI_Status statuses[3];
        MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, &requests[0]);
        MPI_Isend(large, sizeof large, MPI_CHAR, next, 99, comm, &requests[1]);
        MPI_Irecv(&value, 1, MPI_INT, 0, MPI_ANY_TAG, comm, &requests[2]);
        EXPECT_IS(MPI_Send(&value, 0, MPI_INT, 0, 1, other), MPI_SUCCESS);
        EXPECT_IS(class_of(MPI_Waitall(3, requests, statuses)), MPI_ERR_IN_STATUS);
        EXPECT_IS(class_of(statuses[0].MPI_ERROR), MPIX_ERR_REVOKED);
        EXPECT_IS(class_of(statuses[2].MPI_ERROR), MPIX_ERR_REVOKED);
    } else if (rank == 2) {
        EXPECT_IS(class_of(MPI_Barrier(comm)), MPIX_ERR_REVOKED);
    } else {
        EXPECT_IS(class_of(MPI_Recv(&value, 1, MPI_INT, 1, 1, comm, MPI_STATUS_IGNORE)),
                  MPIX_ERR_REVOKED);
    }
    EXPECT_IS(class_of(MPI_Send(&value, 1, MPI_INT, next, 1, comm)), MPIX_ERR_REVOKED);
    EXPECT_IS(class_of(MPI_Barrier(comm)), MPIX_ERR_REVOKED);
    MPI_Request request, to_none;
    EXPECT_IS(class_of(MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, 1, comm)), MPIX_ERR_REVOKED);
    EXPECT_IS(class_of(MPI_Isend(NULL, 0, MPI_INT, MPI_PROC_NULL, 1, comm, &to_none)), MPIX_ERR_REVOKED);
    EXPECT_IS(class_of(MPI_Ssend(NULL, 0, MPI_INT, MPI_PROC_NULL, 1, comm)), MPIX_ERR_REVOKED);
    EXPECT_IS(class_of(MPI_Recv(NULL, 0, MPI_INT, MPI_PROC_NULL, 1, comm, MPI_STATUS_IGNORE)),
              MPIX_ERR_REVOKED);
    EXPECT_IS(class_of(MPI_Start(&kept)), MPIX_ERR_REVOKED);
    EXPECT_IS(class_of(MPI_Psend_init(NULL, 1, 0, MPI_INT, MPI_PROC_NULL, 1, comm, MPI_INFO_NULL, &to_none)),
              MPIX_ERR_REVOKED);
    EXPECT_IS(class_of(MPI_Ibarrier(comm, &request)), MPIX_ERR_REVOKED);
    MPI_Comm copy;
    EXPECT_IS(class_of(MPI_Comm_dup(comm, &copy)), MPIX_ERR_REVOKED);
    EXPECT_IS(class_of(MPI_Iprobe(MPI_ANY_SOURCE, 1, comm, &flag, MPI_STATUS_IGNORE)),
              MPIX_ERR_REVOKED);
    EXPECT_IS(MPIX_Comm_is_revoked(comm, &flag), MPI_SUCCESS);
    EXPECT_IS(flag, 1);
    flag = rank == size - 1 ? 6 : 7;
    int code = class_of(MPIX_Comm_agree(comm, &flag));
    EXPECT(code == MPI_SUCCESS || (dies && code == MPIX_ERR_PROC_FAILED));
    EXPECT_IS(flag, 6);
    MPI_Comm survivors;
    EXPECT_IS(MPIX_Comm_shrink(comm, &survivors), MPI_SUCCESS);
    int left;
    MPI_Comm_size(survivors, &left);
    /* A failure that comes after the shrink's agreement is met by the next one. */
    while (dies && left == size) {
        MPI_Comm again;
        EXPECT_IS(MPIX_Comm_shrink(survivors, &again), MPI_SUCCESS);
        MPI_Comm_free(&survivors);
        survivors = again;
        MPI_Comm_size(survivors, &left);
    }
    check_works(survivors, dies ? size - 1 : size);
    MPI_Comm_free(&comm);
    if (!dies)
        EXPECT_IS(MPI_Barrier(other), MPI_SUCCESS);
    return end(survivors);
}
