/* A rank ends while the others are in each kind of collective; then again in the communicator that is left:
 * three failures, one after the other. */
#include "failures.h"

static int call(int which, MPI_Comm comm)
{
    static char from[1 << 16], to[64 << 16];
    int value = 1, sum;
    MPI_Request request;
    switch (which % 6) {
    case 0: return MPI_Barrier(comm);
    case 1: return MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
    case 2: return MPI_Allgather(from, 1 << 16, MPI_CHAR, to, 1 << 16, MPI_CHAR, comm);
    case 3: return MPI_Alltoall(to, 1 << 14, MPI_CHAR, to + (32 << 16), 1 << 14, MPI_CHAR, comm);
    case 4: {
        int code = MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
        return code ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    default: return MPI_Allreduce(from, to, 1 << 14, MPI_INT, MPI_SUM, comm);
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int which = argc > 1 ? atoi(argv[1]) : 0;
    MPI_Comm comm, next;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int failure = 0; failure < 3; failure++) {
        int me, members, code;
        MPI_Comm_rank(comm, &me);
        MPI_Comm_size(comm, &members);
        if (members == 1)
            break;
        for (int round = 0; round < 20; round++)
            EXPECT_IS(call(which, comm), MPI_SUCCESS);
        /* It ends when all have seen the end of the last round: a failure may reach them first. */
        int victim = failure == 1 ? 0 : members - 1;
        for (int other = 0; me == victim && other < members - 1; other++)
            MPI_Recv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, 1, comm, MPI_STATUS_IGNORE);
        if (me == victim)
            die_by(which);
        EXPECT_IS(MPI_Send(NULL, 0, MPI_INT, victim, 1, comm), MPI_SUCCESS);
        do
            code = call(which, comm);
        while (code == MPI_SUCCESS);
        EXPECT_IS(class_of(code), MPIX_ERR_PROC_FAILED);
        EXPECT_IS(class_of(call(which, comm)), MPIX_ERR_PROC_FAILED);
        EXPECT_IS(MPIX_Comm_shrink(comm, &next), MPI_SUCCESS);
        MPI_Comm_free(&comm);
        comm = next;
        check_works(comm, members - 1);
        which++;
    }
    return end(comm);
}
