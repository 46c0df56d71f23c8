/* acp_check.h: what every C test program about ACP shares, over check_basic.h.
 *
 * A program starts with check_start, names what it tries with section(), and returns check_end().
 * The first CHECK_OWN bytes of the starter memory belong to this header. */
#ifndef SUIRO_ACP_CHECK_H
#define SUIRO_ACP_CHECK_H

#include "../check_basic.h"

#include <acp.h>
#include <sched.h>

enum {
    CHECK_TOTAL = 0,         /* places in starter memory: failures of all ranks, on rank 0 */
    CHECK_OLD = 8,           /* old numbers that nobody reads */
    CHECK_OUT = 16,          /* what this rank tells the others */
    CHECK_IN = 24,           /* what another one has told */
    CHECK_OWN = 64,
    CHECK_STARTER = 10240    /* bytes of starter memory without an option */
};

static const acp_handle_t ALL = (acp_handle_t)ACP_HANDLE_ALL;
static const acp_handle_t CONT = (acp_handle_t)ACP_HANDLE_CONT;
static const acp_handle_t NONE = (acp_handle_t)ACP_HANDLE_NULL;

/* A place in the starter memory of a rank. */
__attribute__((unused))
static acp_ga_t starter(int rank, size_t place)
{
    return acp_query_starter_ga(rank) + place;
}

/* The same of this rank, for its own instructions. */
__attribute__((unused))
static void *own(size_t place)
{
    return acp_query_address(starter(check_rank, place));
}

__attribute__((unused))
static volatile uint64_t *own_number(size_t place)
{
    return own(place);
}

/* Waits until another rank has raised a number, without a call of ACP. */
__attribute__((unused))
static void wait_for(volatile uint64_t *number, uint64_t least)
{
    while (*number < least)
        sched_yield();
}

/* The access must have been accepted; it is complete at the end. */
#define DONE(call)                                                                               \
    do {                                                                                         \
        acp_handle_t check_handle = (call);                                                      \
        if (check_handle <= 0)                                                                   \
            check_fail(__FILE__, __LINE__, "%s is refused", #call);                              \
        acp_complete(check_handle);                                                              \
    } while (0)

__attribute__((unused))
static void check_start(int *argc, char ***argv)
{
    if (acp_init(argc, argv) != 0) {
        fprintf(stderr, "acp_init failed\n");
        exit(2);
    }
    alarm(CHECK_LIMIT_S);
    check_rank = acp_rank();
    check_size = acp_procs();
}

/* The last line of the output, and the exit code of the program. */
__attribute__((unused))
static int check_end(void)
{
    acp_sync();
    DONE(acp_add8(starter(check_rank, CHECK_OLD), starter(0, CHECK_TOTAL), (uint64_t)check_errors, NONE));
    acp_sync();
    int total = check_rank == 0 ? (int)*own_number(CHECK_TOTAL) : check_errors;
    CHECK_EQUAL(acp_finalize(), 0);
    return check_verdict(total);
}

/* A number of every rank, in order; all ranks together. */
__attribute__((unused))
static void gather(uint64_t mine, uint64_t *all)
{
    *own_number(CHECK_OUT) = mine;
    acp_sync();
    for (int rank = 0; rank < check_size; rank++) {
        DONE(acp_copy(starter(check_rank, CHECK_IN), starter(rank, CHECK_OUT), 8, NONE));
        all[rank] = *own_number(CHECK_IN);
    }
    acp_sync();
}

/* Registered memory of every rank, all 0. */
struct memory {
    unsigned char *base;
    size_t bytes;
    acp_atkey_t key;
    acp_ga_t *at;            /* of each rank */
};

__attribute__((unused))
static struct memory memory_open(size_t bytes)
{
    struct memory memory = {.bytes = bytes};
    memory.base = calloc(bytes ? bytes : 1, 1);
    memory.at = calloc((size_t)check_size, sizeof *memory.at);
    memory.key = acp_register_memory(memory.base, bytes, 0);
    CHECK(memory.key != ACP_ATKEY_NULL);
    gather(acp_query_ga(memory.key, memory.base), memory.at);
    return memory;
}

__attribute__((unused))
static void memory_close(struct memory *memory)
{
    acp_sync();
    CHECK_EQUAL(acp_unregister_memory(memory->key), 0);
    free(memory->base);
    free(memory->at);
}

#endif
