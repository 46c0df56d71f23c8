#include <mpi.h>

int write_file(void)
{
    MPI_File file;
    int error = MPI_File_open(MPI_COMM_WORLD, "btio.full.out", MPI_MODE_CREATE | MPI_MODE_WRONLY,
        MPI_INFO_NULL, &file);

    return error == MPI_SUCCESS && MPI_File_close(&file) == MPI_SUCCESS;
}
