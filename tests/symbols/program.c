/* Calls functions that a tool may interpose, and prints what they gave. */

#include <mpi.h>
#include <stdio.h>

int main(void) {
    int version = 0, subversion = 0, length = 0;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Get_version(&version, &subversion);
    MPI_Error_string(MPI_ERR_TAG, text, &length);
    MPI_Pcontrol(1, 2.5, "three");
    printf("MPI %d.%d, %d bytes: %s\n", version, subversion, length, text);
    return 0;
}
