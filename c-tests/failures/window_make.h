/* Windows of each kind of memory. */
#ifndef WINDOW_MAKE_H
#define WINDOW_MAKE_H

#include "failures.h"

enum { WINDOW_BYTES = 1 << 19 };

/* A window of all ranks of a communicator, with memory of zeros. The displacement of the memory of each rank goes
 * to `base`, where that is not null. */
static inline int make_window(const char *kind, MPI_Comm comm, long **memory, MPI_Aint *base, MPI_Win *win)
{
    int code, ranks;
    MPI_Comm_size(comm, &ranks);
    for (int other = 0; base && other < ranks; other++)
        base[other] = 0;
    if (strcmp(kind, "allocate") == 0) {
        code = MPI_Win_allocate(WINDOW_BYTES, 1, MPI_INFO_NULL, comm, memory, win);
    } else if (strcmp(kind, "shared") == 0) {
        code = MPI_Win_allocate_shared(WINDOW_BYTES, 1, MPI_INFO_NULL, comm, memory, win);
    } else {
        *memory = malloc(WINDOW_BYTES);
        if (strcmp(kind, "create") == 0)
            code = MPI_Win_create(*memory, WINDOW_BYTES, 1, MPI_INFO_NULL, comm, win);
        else
            code = MPI_Win_create_dynamic(MPI_INFO_NULL, comm, win);
        if (code == MPI_SUCCESS && strcmp(kind, "dynamic") == 0) {
            MPI_Aint address;
            EXPECT_IS(MPI_Win_attach(*win, *memory, WINDOW_BYTES), MPI_SUCCESS);
            MPI_Get_address(*memory, &address);
            EXPECT_IS(MPI_Allgather(&address, 1, MPI_AINT, base, 1, MPI_AINT, comm), MPI_SUCCESS);
        }
    }
    if (code != MPI_SUCCESS)
        return code;
    memset(*memory, 0, WINDOW_BYTES);
    return MPI_Win_set_errhandler(*win, MPI_ERRORS_RETURN);
}

#endif
