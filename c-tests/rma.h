/* rma.h: windows of every kind behind one face, for the programs about one-sided communication. */
#ifndef SUIRO_RMA_H
#define SUIRO_RMA_H

#include "check.h"

enum kind { CREATED, ALLOCATED, SHARED, DYNAMIC, KINDS };

/* A window of all ranks of the world, and where the memory of each begins. */
struct area {
    MPI_Win win;
    unsigned char *base; /* of this rank */
    MPI_Aint bytes;      /* of this rank */
    void *owned;         /* memory of this program below the window */
    MPI_Aint *starts;    /* of each rank: 0, or the address for a dynamic window */
    MPI_Aint *units;     /* of each rank */
};

__attribute__((unused))
static const char *kind_name(enum kind kind)
{
    static const char *const names[KINDS] = {"created", "allocated", "shared", "dynamic"};
    return names[kind];
}

/* Whether windows of this kind are possible: shared ones need all ranks on one host, and a library
 * that has them there. */
__attribute__((unused))
static int kind_possible(enum kind kind)
{
    int size = 0, least = 0, code;
    MPI_Comm host;
    MPI_Win win;
    void *base;
    if (kind != SHARED)
        return 1;
    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
    MUST(MPI_Comm_size(host, &size));
    MUST(MPI_Comm_free(&host));
    MUST(MPI_Allreduce(&size, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    if (least < check_size)
        return 0;
    code = MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    if (code == MPI_SUCCESS)
        MUST(MPI_Win_free(&win));
    else
        CHECK_EQUAL(check_class(code), MPI_ERR_RMA_SHARED);
    return code == MPI_SUCCESS;
}

/* A window over `bytes` bytes, all 0, of this rank. */
__attribute__((unused))
static struct area area_open(enum kind kind, MPI_Aint bytes, int unit, MPI_Info info)
{
    struct area area = {.win = MPI_WIN_NULL, .bytes = bytes};
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Aint start = 0, scale = kind == DYNAMIC ? 1 : unit;
    if (kind == CREATED || kind == DYNAMIC)
        area.owned = area.base = take((size_t)bytes);
    switch (kind) {
    case CREATED:
        MUST(MPI_Win_create(area.base, bytes, unit, info, comm, &area.win));
        break;
    case ALLOCATED:
        MUST(MPI_Win_allocate(bytes, unit, info, comm, &area.base, &area.win));
        break;
    case SHARED:
        MUST(MPI_Win_allocate_shared(bytes, unit, info, comm, &area.base, &area.win));
        break;
    default:
        MUST(MPI_Win_create_dynamic(info, comm, &area.win));
        if (bytes > 0)
            MUST(MPI_Win_attach(area.win, area.base, bytes));
        MUST(MPI_Get_address(area.base, &start));
    }
    MUST(MPI_Win_set_errhandler(area.win, MPI_ERRORS_RETURN));
    if (bytes > 0)
        memset(area.base, 0, (size_t)bytes);
    area.starts = take(sizeof(MPI_Aint) * (size_t)check_size);
    area.units = take(sizeof(MPI_Aint) * (size_t)check_size);
    MUST(MPI_Allgather(&start, 1, MPI_AINT, area.starts, 1, MPI_AINT, comm));
    MUST(MPI_Allgather(&scale, 1, MPI_AINT, area.units, 1, MPI_AINT, comm));
    return area;
}

__attribute__((unused))
static void area_close(struct area *area, enum kind kind)
{
    if (kind == DYNAMIC) {
        MUST(MPI_Barrier(MPI_COMM_WORLD));
        if (area->bytes > 0)
            MUST(MPI_Win_detach(area->win, area->base));
    }
    MUST(MPI_Win_free(&area->win));
    CHECK(area->win == MPI_WIN_NULL);
    free(area->owned);
    free(area->starts);
    free(area->units);
}

/* The displacement of a byte in the memory of a rank. */
__attribute__((unused))
static MPI_Aint area_disp(const struct area *area, int rank, MPI_Aint byte)
{
    return MPI_Aint_add(area->starts[rank], byte / area->units[rank]);
}

#endif
