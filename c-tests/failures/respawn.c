/* Processes of several jobs: children that take the places of ranks that have ended, and end themselves; also
 * processes that have exchanged no message with those that wait for them. */
#include "failures.h"

static void child(MPI_Comm parent)
{
    MPI_Comm whole, next;
    int me, first = 0, code, flag = 1;
    MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN);
    EXPECT_IS(MPI_Intercomm_merge(parent, 1, &whole), MPI_SUCCESS);
    MPI_Comm_set_errhandler(whole, MPI_ERRORS_RETURN);
    EXPECT_IS(MPIX_Comm_agree(parent, &flag), MPI_SUCCESS);
    EXPECT_IS(flag, 1);
    MPI_Comm_rank(whole, &me);
    EXPECT_IS(MPI_Bcast(&first, 1, MPI_INT, 0, whole), MPI_SUCCESS);
    /* The second child ends once all have the word of rank 0; the first one goes on. */
    if (rank == 0) {
        EXPECT_IS(MPI_Recv(&code, 1, MPI_INT, 0, 8, whole, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_IS(MPI_Send(&code, 1, MPI_INT, 1, 8, MPI_COMM_WORLD), MPI_SUCCESS);
    } else {
        EXPECT_IS(MPI_Recv(&code, 1, MPI_INT, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
        die();
    }
    do
        code = MPI_Barrier(whole);
    while (code == MPI_SUCCESS);
    EXPECT_IS(class_of(code), MPIX_ERR_PROC_FAILED);
    EXPECT_IS(MPIX_Comm_shrink(whole, &next), MPI_SUCCESS);
    check_works(next, first);
    int all = 0;
    MPI_Allreduce(&errors, &all, 1, MPI_INT, MPI_SUM, next);
    MPI_Comm_free(&next);
    MPI_Comm_free(&whole);
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    exit(0);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm survivors, inter, whole, next, parent;
    int code, flag = 1, value;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL)
        child(parent);

    /* A spawn on a communicator that has lost a process starts nothing, and fails. */
    if (rank == size - 1)
        die();
    do
        code = MPI_Barrier(MPI_COMM_WORLD);
    while (code == MPI_SUCCESS);
    EXPECT_IS(class_of(code), MPIX_ERR_PROC_FAILED);
    int codes[2] = {0, 0};
    code = MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes);
    EXPECT_IS(class_of(code), MPIX_ERR_PROC_FAILED);

    EXPECT_IS(MPIX_Comm_shrink(MPI_COMM_WORLD, &survivors), MPI_SUCCESS);
    code = MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, survivors, &inter, codes);
    EXPECT_IS(code, MPI_SUCCESS);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    EXPECT_IS(MPI_Intercomm_merge(inter, 0, &whole), MPI_SUCCESS);
    MPI_Comm_set_errhandler(whole, MPI_ERRORS_RETURN);
    EXPECT_IS(MPIX_Comm_agree(inter, &flag), MPI_SUCCESS);
    EXPECT_IS(flag, 1);
    int left = size;
    EXPECT_IS(MPI_Bcast(&left, 1, MPI_INT, 0, whole), MPI_SUCCESS);
    EXPECT_IS(MPI_Barrier(survivors), MPI_SUCCESS);
    if (rank == 0)
        EXPECT_IS(MPI_Send(&left, 1, MPI_INT, size - 1, 8, whole), MPI_SUCCESS);
    /* Nothing has been sent between the child that ends and most parents. */
    EXPECT_IS(class_of(MPI_Recv(&value, 1, MPI_INT, 1, 9, inter, MPI_STATUS_IGNORE)), MPIX_ERR_PROC_FAILED);
    EXPECT_IS(class_of(MPI_Recv(&value, 1, MPI_INT, size, 9, whole, MPI_STATUS_IGNORE)),
              MPIX_ERR_PROC_FAILED);
    do
        code = MPI_Barrier(whole);
    while (code == MPI_SUCCESS);
    EXPECT_IS(class_of(code), MPIX_ERR_PROC_FAILED);
    EXPECT_IS(MPIX_Comm_shrink(whole, &next), MPI_SUCCESS);
    check_works(next, size);
    int all = 0;
    MPI_Allreduce(&errors, &all, 1, MPI_INT, MPI_SUM, next);
    errors = rank ? 0 : all;
    MPI_Comm_free(&next);
    MPI_Comm_free(&whole);
    MPI_Comm_disconnect(&inter);
    return end(survivors);
}
