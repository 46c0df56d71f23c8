/* Programs of a communicator inside a host keep running when the job spawns another one, whose processes
 * they do not reach: persistent collectives with those run by messages.
 *
 *   mpirun -n 2 offload_jobs */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    MPI_Comm parent, inter, all;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    int own, r, bad = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    int before = own == 0 ? 5 : 0;
    MPI_Request early;
    MPI_Bcast_init(&before, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &early);
    if (parent == MPI_COMM_NULL) {
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                       MPI_ERRCODES_IGNORE);
        MPI_Intercomm_merge(inter, 0, &all);
    } else {
        MPI_Intercomm_merge(parent, 1, &all);
    }
    MPI_Comm_rank(all, &r);
    static int big[300000], sum, one = 1, size;
    MPI_Comm_size(all, &size);
    MPI_Request q[2];
    MPI_Bcast_init(big, 300000, MPI_INT, 0, all, MPI_INFO_NULL, &q[0]);
    MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, all, MPI_INFO_NULL, &q[1]);
    for (int t = 1; t < 5; t++) {
        for (int i = 0; i < 300000; i++) big[i] = r == 0 ? t * i : 0;
        sum = 0;
        MPI_Startall(2, q);
        MPI_Start(&early);
        MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
        MPI_Wait(&early, MPI_STATUS_IGNORE);
        if (sum != size || big[299999] != t * 299999 || before != 5) bad++;
    }
    MPI_Request_free(&q[0]);
    MPI_Request_free(&q[1]);
    MPI_Request_free(&early);
    int all_bad;
    MPI_Allreduce(&bad, &all_bad, 1, MPI_INT, MPI_SUM, all);
    if (r == 0) printf("errors = %d\n", all_bad);
    MPI_Finalize();
    return bad != 0;
}
