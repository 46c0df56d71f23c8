/* members.h: communicators that only their members make. */
#ifndef SUIRO_MEMBERS_H
#define SUIRO_MEMBERS_H

#include "check.h"

static MPI_Group world;

/* The communicator is that large, has this rank here, and works. */
static void use(MPI_Comm comm, int expected_size, int expected_rank)
{
    int size = -1, rank = -1, sum = -1;
    MUST(MPI_Comm_size(comm, &size));
    MUST(MPI_Comm_rank(comm, &rank));
    CHECK_EQUAL(size, expected_size);
    CHECK_EQUAL(rank, expected_rank);
    MUST(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK_EQUAL(sum, size * (size - 1) / 2);
}

#endif
