/* hosts.h: which ranks of the world run on the host of this rank, by the names of processors. Two clients
 * of a world (IMPI) have no host in common. */
#ifndef SUIRO_HOSTS_H
#define SUIRO_HOSTS_H

#include "check.h"

#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

/* The number of the client of this rank. */
static int client_of_rank(void)
{
    int *color = NULL, is_told = 0;
#ifdef SUIRO_MPI_EXT_H
    MUST(MPI_Comm_get_attr(MPI_COMM_WORLD, IMPI_CLIENT_COLOR, &color, &is_told));
#endif
    return is_told ? *color : 0;
}

/* For each rank whether it is on this host. The caller frees it. */
static int *same_host(void)
{
    enum { ROOM = MPI_MAX_PROCESSOR_NAME + 16 };
    char own[ROOM] = "";
    char(*all)[ROOM] = take(sizeof own * (size_t)check_size);
    int len = 0, *same = take(sizeof(int) * (size_t)check_size);
    MUST(MPI_Get_processor_name(own, &len));
    snprintf(own + len, 16, " %d", client_of_rank());
    MUST(MPI_Allgather(own, ROOM, MPI_CHAR, all, ROOM, MPI_CHAR, MPI_COMM_WORLD));
    for (int rank = 0; rank < check_size; rank++)
        same[rank] = strcmp(all[rank], own) == 0;
    free(all);
    return same;
}

#endif
