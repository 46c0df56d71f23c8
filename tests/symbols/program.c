/* Calls functions that a tool may interpose, and prints what they gave. */

#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int version = 0, subversion = 0, length = 0, received = 0;
    const int sent = 42;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Request request;
    MPI_Get_version(&version, &subversion);
    MPI_Error_string(MPI_ERR_TAG, text, &length);
    MPI_Pcontrol(1, 2.5, "three");
    printf("MPI %d.%d, %d bytes: %s\n", version, subversion, length, text);
    MPI_Init(&argc, &argv);
    MPI_Irecv(&received, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &request);
    MPI_Send(&sent, 1, MPI_INT, 0, 7, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Finalize();
    printf("received %d\n", received);
    return 0;
}
