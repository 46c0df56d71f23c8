/* Prints how many persistent collectives, one after the other, the interfaces of all ranks leave to
 * software.
 *
 *   mpirun -n N offload_fits */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { NUMBERS = 1024 };

static MPI_Comm comm;

/* Starts an operation twice, so that both tanks are used. */
static void twice(MPI_Request request)
{
    for (int instance = 0; instance < 2; instance++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
}

static void every_operation(int count)
{
    int size;
    MPI_Comm_size(comm, &size);
    long *own = calloc((size_t)size * count, sizeof *own), *all = calloc((size_t)size * count, sizeof *all);
    MPI_Info info = MPI_INFO_NULL;
    MPI_Datatype type = MPI_LONG;
    MPI_Request request;
    MPI_Barrier_init(comm, info, &request);
    twice(request);
    MPI_Bcast_init(own, count, type, 0, comm, info, &request);
    twice(request);
    MPI_Gather_init(own, count, type, all, count, type, 0, comm, info, &request);
    twice(request);
    MPI_Scatter_init(own, count, type, all, count, type, 0, comm, info, &request);
    twice(request);
    MPI_Allgather_init(own, count, type, all, count, type, comm, info, &request);
    twice(request);
    MPI_Alltoall_init(own, count, type, all, count, type, comm, info, &request);
    twice(request);
    MPI_Reduce_init(own, all, count, type, MPI_SUM, 0, comm, info, &request);
    twice(request);
    MPI_Allreduce_init(own, all, count, type, MPI_SUM, comm, info, &request);
    twice(request);
    MPI_Reduce_scatter_block_init(own, all, count, type, MPI_SUM, comm, info, &request);
    twice(request);
    MPI_Scan_init(own, all, count, type, MPI_SUM, comm, info, &request);
    twice(request);
    MPI_Exscan_init(own, all, count, type, MPI_SUM, comm, info, &request);
    twice(request);
    free(own);
    free(all);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    comm = MPI_COMM_WORLD;
    every_operation(1);
    every_operation(NUMBERS);
    int provided, index, count, rank;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    unsigned long long own = 0, all = 0;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    if (MPI_T_pvar_get_index("suiro_offload_host_programs", MPI_T_PVAR_CLASS_COUNTER, &index)) return 2;
    MPI_T_pvar_session_create(&session);
    if (MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) || count != 1) return 3;
    if (MPI_T_pvar_read(session, handle, &own)) return 4;
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    MPI_Reduce(&own, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, comm);
    MPI_Comm_rank(comm, &rank);
    if (rank == 0) printf("%llu by software\n", all);
    MPI_Finalize();
    return 0;
}
