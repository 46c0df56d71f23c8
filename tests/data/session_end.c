/* Rank 0 waits for a message of rank 1; all others end their session and their process. */
#include <mpi.h>

int main(void)
{
    int rank, number;
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "all", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Barrier(comm);
    if (rank == 0) MPI_Recv(&number, 1, MPI_INT, 1, 7, comm, MPI_STATUS_IGNORE);
    return MPI_Session_finalize(&session);
}
