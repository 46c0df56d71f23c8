/* A profiling tool: counts calls and passes them on to the PMPI_ names. */

#include <mpi.h>
#include <stdio.h>

static int calls;

int MPI_Get_version(int *version, int *subversion) {
    printf("tool: call %d is MPI_Get_version\n", ++calls);
    return PMPI_Get_version(version, subversion);
}

int MPI_Error_string(int errorcode, char *string, int *resultlen) {
    printf("tool: call %d is MPI_Error_string of %d\n", ++calls, errorcode);
    return PMPI_Error_string(errorcode, string, resultlen);
}

int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
    printf("tool: call %d is MPI_Send of %d with tag %d\n", ++calls, count, tag);
    return PMPI_Send(buf, count, datatype, dest, tag, comm);
}
