/* Common parts of programs that spawn themselves once. */
#ifndef CHILDREN_H
#define CHILDREN_H

#include "../check.h"

/* Whether jobs of this host share memory: not where the device is tcp. */
static int jobs_share_memory(void)
{
    const char *device = getenv("SUIRO_DEVICE");
    return device == NULL || strcmp(device, "tcp") != 0;
}

/* Begins a child. Messages name its rank above 1000. */
static void child_begin(void)
{
    alarm(CHECK_LIMIT_S);
    MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &check_size);
    check_rank += 1000;
}

/* Ends a child; its exit code. */
static int child_end(MPI_Comm *between)
{
    MUST(MPI_Comm_disconnect(between));
    int errors = check_errors;
    MPI_Finalize();
    return errors != 0;
}

#endif
