/* Works until a rank of the job, or all ranks of one of its two hosts, are killed from outside; the others shrink,
 * verify, and end.
 *
 *   survivors
 *
 * The lowest rank that is left prints "survivors = N, errors = E". A process that fails during MPI_Init or so
 * early that no call has met it is found by a later call. */
#include "../../c-tests/failures/failures.h"

static int work(MPI_Comm comm)
{
    enum { LONG = 30000 };
    static char out[LONG], in[LONG];
    int me, members, sum = 0, one = 1;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &members);
    int code = MPI_Sendrecv(out, LONG, MPI_CHAR, (me + 1) % members, 1, in, LONG, MPI_CHAR,
                            (me + members - 1) % members, 1, comm, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS)
        code = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    if (code == MPI_SUCCESS)
        EXPECT_IS(sum, members);
    return code;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm comm = MPI_COMM_WORLD, next;
    int members = size, rounds = 0;
    /* The ranks of a lost host may fail one after the other. */
    while (members == size || rounds < 200) {
        int code = work(comm);
        if (code == MPI_SUCCESS) {
            rounds++;
            continue;
        }
        int class = class_of(code);
        EXPECT(class == MPIX_ERR_PROC_FAILED || class == MPIX_ERR_REVOKED);
        MPIX_Comm_revoke(comm);
        EXPECT_IS(MPIX_Comm_shrink(comm, &next), MPI_SUCCESS);
        MPI_Comm_set_errhandler(next, MPI_ERRORS_RETURN);
        MPI_Comm_size(next, &members);
        comm = next;
        rounds = 0;
    }
    /* Nobody else is killed, and no process is believed to be dead that is not. */
    EXPECT(members == size - 1 || members == size / 2);
    check_works(comm, members);
    int me, all = -1;
    EXPECT_IS(MPI_Allreduce(&errors, &all, 1, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
    MPI_Comm_rank(comm, &me);
    if (me == 0)
        printf("survivors = %d, errors = %d\n", members, all);
    MPI_Finalize();
    return errors != 0;
}
