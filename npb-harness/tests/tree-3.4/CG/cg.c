/* Has a wrong result. */
#include "../common/kernel.h"
#include "npbparams.h"

int main(int argc, char **argv)
{
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) {
        puts(" VERIFICATION FAILED\n Zeta is 1.0 and should be 2.0");
        c_print_results("CG", CLASS, size, 0.01, 1.0, 0);
    }
    MPI_Finalize();
    return 0;
}
