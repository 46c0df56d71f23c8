/* What the application is told: an error handler gets the error of the request that has failed, also in calls
 * that return one error for several requests; the attribute MPIX_FT is 1. */
#include "failures.h"

static int calls, told;

static void note(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    calls++;
    told = class_of(*code);
}

/* Two requests of which the second cannot complete, ended by each function for several requests. */
static int complete(int which, MPI_Comm comm, int victim)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int indices[2], count, done = 0, value, code;
    MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, comm, &requests[0]);
    MPI_Irecv(&value, 1, MPI_INT, victim, 1, comm, &requests[1]);
    switch (which) {
    case 0: return MPI_Waitall(2, requests, statuses);
    case 1:
        do
            code = MPI_Testall(2, requests, &done, statuses);
        while (!code && !done);
        return code;
    case 2:
        do
            code = MPI_Waitsome(2, requests, &count, indices, statuses);
        while (!code);
        return code;
    default:
        do
            code = MPI_Testsome(2, requests, &count, indices, statuses);
        while (!code);
        return code;
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm survivors;
    MPI_Errhandler handler;
    int *attribute, is_set = 0, value, victim = size - 1;
    EXPECT_IS(MPI_Comm_get_attr(MPI_COMM_WORLD, MPIX_FT, &attribute, &is_set), MPI_SUCCESS);
    EXPECT(is_set && *attribute == 1);
    MPI_Comm_create_errhandler(note, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    if (rank == victim)
        die();
    EXPECT_IS(class_of(MPI_Recv(&value, 1, MPI_INT, victim, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)),
              MPIX_ERR_PROC_FAILED);
    EXPECT_IS(calls, 1);
    EXPECT_IS(told, MPIX_ERR_PROC_FAILED);
    for (int which = 0; which < 4; which++) {
        calls = told = 0;
        EXPECT_IS(class_of(complete(which, MPI_COMM_WORLD, victim)), MPI_ERR_IN_STATUS);
        EXPECT_IS(calls, 1);
        EXPECT_IS(told, MPIX_ERR_PROC_FAILED);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    EXPECT_IS(MPIX_Comm_shrink(MPI_COMM_WORLD, &survivors), MPI_SUCCESS);
    return end(survivors);
}
