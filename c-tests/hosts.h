/* hosts.h: which ranks of the world run on the host of this rank, by the names of processors. */
#ifndef SUIRO_HOSTS_H
#define SUIRO_HOSTS_H

#include "check.h"

/* For each rank whether it is on this host. The caller frees it. */
static int *same_host(void)
{
    enum { ROOM = MPI_MAX_PROCESSOR_NAME };
    char own[ROOM] = "";
    char(*all)[ROOM] = take(sizeof own * (size_t)check_size);
    int len = 0, *same = take(sizeof(int) * (size_t)check_size);
    MUST(MPI_Get_processor_name(own, &len));
    MUST(MPI_Allgather(own, ROOM, MPI_CHAR, all, ROOM, MPI_CHAR, MPI_COMM_WORLD));
    for (int rank = 0; rank < check_size; rank++)
        same[rank] = strcmp(all[rank], own) == 0;
    free(all);
    return same;
}

#endif
