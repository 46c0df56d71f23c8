/* Prints the first word of the name that the library under it gives itself. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    char name[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(name, &length);
    printf("%.*s\n", (int)strcspn(name, " \n"), name);
    MPI_Finalize();
    return 0;
}
