/* files.h: names of files for the programs about them. */
#ifndef SUIRO_FILES_H
#define SUIRO_FILES_H

#include "check.h"

#include <stdlib.h>
#include <unistd.h>

static char file_name[256];

/* The same name on all ranks, and on no other job; the file does not exist. */
__attribute__((unused))
static void name_file(const char *what)
{
    /* Of all hosts, if there are several. */
    const char *folder = getenv("SHARED_FOLDER") ? getenv("SHARED_FOLDER") : getenv("TMPDIR");
    if (check_rank == 0)
        snprintf(file_name, sizeof file_name, "%s/suiro-%s-%ld", folder ? folder : "/tmp", what,
                 (long)getpid());
    MUST(MPI_Bcast(file_name, sizeof file_name, MPI_CHAR, 0, MPI_COMM_WORLD));
    if (check_rank == 0)
        unlink(file_name);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
}

/* The number of bytes that a status tells. */
__attribute__((unused))
static long long bytes_of(MPI_Status *status)
{
    MPI_Count count = -1;
    MUST(MPI_Get_count_c(status, MPI_BYTE, &count));
    return (long long)count;
}

/* Opens the file on all ranks, new, and closed it is gone. */
__attribute__((unused))
static MPI_File open_new(MPI_Info info)
{
    MPI_File file;
    MUST(MPI_File_open(MPI_COMM_WORLD, file_name,
                       MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, info, &file));
    return file;
}

#endif
