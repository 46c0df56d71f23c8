/* comms.h: the communicators on which every collective is tried: the world, the world backwards,
 * its two halves, this rank alone. */
#ifndef SUIRO_COMMS_H
#define SUIRO_COMMS_H

#include "check.h"

enum { COMMS = 4 };

typedef struct {
    MPI_Comm comm;
    int rank, size;
    const char *name;
} Place;

static Place places[COMMS];

static void comms_open(void)
{
    static const char *names[COMMS] = {"the world", "the world backwards", "a half", "oneself"};
    places[0].comm = MPI_COMM_WORLD;
    MUST(MPI_Comm_split(MPI_COMM_WORLD, 0, -check_rank, &places[1].comm));
    MUST(MPI_Comm_split(MPI_COMM_WORLD, check_rank < check_size / 2, check_rank,
                        &places[2].comm));
    places[3].comm = MPI_COMM_SELF;
    for (int index = 0; index < COMMS; index++) {
        MUST(MPI_Comm_rank(places[index].comm, &places[index].rank));
        MUST(MPI_Comm_size(places[index].comm, &places[index].size));
        places[index].name = names[index];
    }
}

static void comms_close(void)
{
    MUST(MPI_Comm_free(&places[1].comm));
    MUST(MPI_Comm_free(&places[2].comm));
}

/* Try something on each of them. */
__attribute__((unused))
static void comms_each(void (*try_on)(const Place *))
{
    for (int index = 0; index < COMMS; index++) {
        section("  %s", places[index].name);
        try_on(&places[index]);
    }
}

#endif
