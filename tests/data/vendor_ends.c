/* Ends in the way that the argument names, under the launcher of another library. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void exchange(MPI_Comm comm)
{
    int rank, sum = -1, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    if (sum != size * (size - 1) / 2)
        printf("wrong sum %d\n", sum);
}

static void session(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    exchange(comm);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int rank;
    if (!strcmp(how, "sessions")) {
        session();
        session();
        return 0;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    exchange(MPI_COMM_WORLD);
    if (!strcmp(how, "killed") && rank == 1)
        abort();
    if (!strcmp(how, "exit") && rank == 1)
        exit(7);
    if (!strcmp(how, "killed") || !strcmp(how, "exit"))
        MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(how, "connect")) {
        char port[MPI_MAX_PORT_NAME];
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        char text[MPI_MAX_ERROR_STRING];
        int length, code = MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Error_string(code, text, &length);
        if (rank == 0)
            printf("open_port %d\n", code != MPI_SUCCESS);
        MPI_Comm children;
        code = MPI_Comm_spawn("true", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children,
                              MPI_ERRCODES_IGNORE);
        if (rank == 0)
            printf("spawn %d\n", code != MPI_SUCCESS);
    }
    MPI_Finalize();
    if (!strcmp(how, "late") && rank == 0)
        sleep(1);
    if (!strcmp(how, "session"))
        session();
    if (!strcmp(how, "fork"))
        return fork() == 0 ? 3 : 0;
    return 0;
}
