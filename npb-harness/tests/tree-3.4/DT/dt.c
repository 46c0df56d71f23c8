/* Wants the name of a graph, and as many ranks as that has nodes. */
#include "../common/kernel.h"
#include "npbparams.h"

int main(int argc, char **argv)
{
    int rank, size, nodes;
    const char *graph = argc == 2 ? argv[1] : "none";

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    nodes = strcmp(graph, "SH") == 0 ? 12 : strcmp(graph, "BH") && strcmp(graph, "WH") ? 0 : 5;
    if (nodes == 0 || size < nodes) {
        if (rank == 0) fprintf(stderr, "** no graph %s on %d processes\n", graph, size);
        MPI_Finalize();
        return 1;
    }
    if (rank == 0) c_print_results("DT", CLASS, size, 0.5, 12.5, 1);
    MPI_Finalize();
    return 0;
}
