/* check.h: what every C test program shares.
 *
 * A program starts with check_start (or its own MPI_Init and check_adopt), names what it tries
 * with section(), and returns check_end(). Only rank 0 writes to stdout, and only what every
 * correct MPI library must print, so that two libraries can be compared byte for byte; the last
 * line is "errors = 0". Failures go to stderr with file, line and rank.
 *
 * Only blocking send and receive, and one MPI_Comm_dup, are used in here, so that a program about
 * one chapter does not fail because of another.
 *
 * Some checks are strict: they ask for more than the standard promises, or for something that a
 * peer library is known to do wrong. They count only with CHECK_STRICT=1 in the environment, which
 * the tests of this project set for its own library. */
#ifndef SUIRO_CHECK_H
#define SUIRO_CHECK_H

#include "check_basic.h"

#include <mpi.h>

enum {
    CHECK_TAG = 1           /* in the communicator of this header only */
};

static MPI_Comm check_comm; /* a copy of the world, so that no wildcard meets what is sent here */

/* The call must return MPI_SUCCESS; otherwise the whole job ends, since others would hang. */
#define MUST(call)                                                                               \
    do {                                                                                         \
        int check_code = (call);                                                                 \
        if (check_code != MPI_SUCCESS)                                                           \
            check_abort(__FILE__, __LINE__, #call, check_code);                                  \
    } while (0)

/* The call must fail with one of these error classes. */
#define MUST_FAIL(call, wanted) MUST_FAIL_2(call, wanted, wanted)
#define MUST_FAIL_2(call, wanted, or_wanted)                                                     \
    do {                                                                                         \
        int check_class_ = check_class(call);                                                    \
        if (check_class_ != (wanted) && check_class_ != (or_wanted))                             \
            check_fail(__FILE__, __LINE__, "%s gives class %d, not %s", #call, check_class_,     \
                       #wanted);                                                                 \
    } while (0)

__attribute__((unused))
static void check_abort(const char *file, int line, const char *call, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    check_errors = 0;
    check_fail(file, line, "%s returned %d: %s", call, code, text);
    fflush(NULL);
    MPI_Abort(MPI_COMM_WORLD, 3);
    _exit(3);
}

__attribute__((unused))
static int check_class(int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}

/* After MPI_Init: learn who we are; errors are returned from here on. */
__attribute__((unused))
static void check_adopt(void)
{
    alarm(CHECK_LIMIT_S);
    MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &check_size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &check_comm);
}

__attribute__((unused))
static void check_start(int *argc, char ***argv)
{
    if (MPI_Init(argc, argv) != MPI_SUCCESS) {
        fprintf(stderr, "MPI_Init failed\n");
        exit(2);
    }
    check_adopt();
}

/* No rank leaves before all have come: a token to rank 0 and back. */
__attribute__((unused))
static void check_meet(void)
{
    if (check_rank != 0) {
        MUST(MPI_Send(NULL, 0, MPI_BYTE, 0, CHECK_TAG, check_comm));
        MUST(MPI_Recv(NULL, 0, MPI_BYTE, 0, CHECK_TAG, check_comm, MPI_STATUS_IGNORE));
        return;
    }
    for (int rank = 1; rank < check_size; rank++)
        MUST(MPI_Recv(NULL, 0, MPI_BYTE, rank, CHECK_TAG, check_comm, MPI_STATUS_IGNORE));
    for (int rank = 1; rank < check_size; rank++)
        MUST(MPI_Send(NULL, 0, MPI_BYTE, rank, CHECK_TAG, check_comm));
}

/* The failures of all ranks, on rank 0; elsewhere those of this rank. */
__attribute__((unused))
static int check_total(void)
{
    int total = check_errors;
    if (check_rank != 0) {
        MUST(MPI_Send(&total, 1, MPI_INT, 0, CHECK_TAG, check_comm));
        return total;
    }
    for (int rank = 1; rank < check_size; rank++) {
        int theirs = 0;
        MUST(MPI_Recv(&theirs, 1, MPI_INT, rank, CHECK_TAG, check_comm, MPI_STATUS_IGNORE));
        total += theirs;
    }
    return total;
}

__attribute__((unused))
static int check_end(void)
{
    int total = check_total();
    MUST(MPI_Comm_free(&check_comm));
    MUST(MPI_Finalize());
    return check_verdict(total);
}

/* Memory that is there, or the end of the job. */
__attribute__((unused))
static void *take(size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);
    if (memory == NULL) {
        fprintf(stderr, "rank %d: no memory for %zu bytes\n", check_rank, bytes);
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
    return memory;
}

/* Every field of an empty status (MPI 5.0, section 3.7.3). */
__attribute__((unused))
static int status_is_empty(const MPI_Status *status)
{
    int count = -1, cancelled = -1;
    MPI_Get_count(status, MPI_BYTE, &count);
    MPI_Test_cancelled(status, &cancelled);
    return status->MPI_SOURCE == MPI_ANY_SOURCE && status->MPI_TAG == MPI_ANY_TAG && count == 0
        && !cancelled;
}

/* The status of a receive from MPI_PROC_NULL (section 3.10). */
__attribute__((unused))
static int status_is_of_null(const MPI_Status *status)
{
    int count = -1;
    MPI_Get_count(status, MPI_BYTE, &count);
    return status->MPI_SOURCE == MPI_PROC_NULL && status->MPI_TAG == MPI_ANY_TAG && count == 0;
}

/* A status with nothing in it that a test could take for an answer. */
__attribute__((unused))
static MPI_Status scrambled_status(void)
{
    MPI_Status status;
    memset(&status, 0x5a, sizeof status);
    return status;
}

#endif
