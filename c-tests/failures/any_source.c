/* Receives from any source after a failure: in doubt until it is acknowledged. */
#include "failures.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int victim = size - 1, value = -1, index, flag, acknowledged = -1, members = -1;
    if (rank == victim) {
        usleep(20000);
        die();
    }
    MPI_Request request;
    MPI_Status status;
    if (rank == 0) {
        MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &request);
        if (size == 2) {
            /* Nobody is left who might send. */
            EXPECT_IS(class_of(MPI_Wait(&request, &status)), MPIX_ERR_PROC_FAILED);
        } else {
            EXPECT_IS(class_of(MPI_Wait(&request, &status)), MPIX_ERR_PROC_FAILED_PENDING);
            EXPECT(request != MPI_REQUEST_NULL);
            EXPECT_IS(class_of(MPI_Test(&request, &flag, &status)), MPIX_ERR_PROC_FAILED_PENDING);
            EXPECT_IS(class_of(MPI_Waitany(1, &request, &index, &status)),
                      MPIX_ERR_PROC_FAILED_PENDING);
            EXPECT_IS(class_of(MPI_Waitall(1, &request, &status)), MPI_ERR_IN_STATUS);
            EXPECT_IS(class_of(status.MPI_ERROR), MPIX_ERR_PROC_FAILED_PENDING);
            EXPECT_IS(class_of(MPI_Recv(&flag, 1, MPI_INT, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD,
                                        &status)),
                      MPIX_ERR_PROC_FAILED);
            EXPECT_IS(class_of(MPI_Probe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &status)),
                      MPIX_ERR_PROC_FAILED);
            EXPECT_IS(MPIX_Comm_ack_failed(MPI_COMM_WORLD, 0, &acknowledged), MPI_SUCCESS);
            EXPECT_IS(acknowledged, 0);
            EXPECT_IS(MPIX_Comm_ack_failed(MPI_COMM_WORLD, size, &acknowledged), MPI_SUCCESS);
            EXPECT_IS(acknowledged, 1);
            MPI_Group group;
            EXPECT_IS(MPIX_Comm_failure_get_acked(MPI_COMM_WORLD, &group), MPI_SUCCESS);
            MPI_Group_size(group, &members);
            EXPECT_IS(members, 1);
            MPI_Group_free(&group);
            /* The request goes on, and so do new receives. */
            EXPECT_IS(MPI_Send(&value, 0, MPI_INT, 1, 1, MPI_COMM_WORLD), MPI_SUCCESS);
            EXPECT_IS(MPI_Wait(&request, &status), MPI_SUCCESS);
            EXPECT_IS(value, 42);
            EXPECT_IS(status.MPI_SOURCE, 1);
            EXPECT_IS(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &status),
                      MPI_SUCCESS);
        }
    } else if (rank == 1) {
        EXPECT_IS(MPI_Recv(&value, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, &status), MPI_SUCCESS);
        value = 42;
        EXPECT_IS(MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD), MPI_SUCCESS);
        EXPECT_IS(MPI_Send(&value, 1, MPI_INT, 0, 6, MPI_COMM_WORLD), MPI_SUCCESS);
    }
    MPI_Comm survivors;
    EXPECT_IS(MPIX_Comm_shrink(MPI_COMM_WORLD, &survivors), MPI_SUCCESS);
    check_works(survivors, size - 1);
    return end(survivors);
}
