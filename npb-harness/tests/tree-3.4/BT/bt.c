/* Writes a file where it is run, in the way that it was built for. */
#include "../common/kernel.h"
#include "npbparams.h"

int write_file(void);

int main(int argc, char **argv)
{
    int rank, size, is_verified;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    is_verified = write_file();
    if (rank == 0) c_print_results("BT", CLASS, size, 1.0, 100.0, is_verified);
    MPI_Finalize();
    return 0;
}
