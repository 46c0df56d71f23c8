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

#define _POSIX_C_SOURCE 200809L

#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    CHECK_TAG = 1,           /* in the communicator of this header only */
    CHECK_SHOWN = 40,        /* failures that one rank describes; the others are counted */
    CHECK_LIMIT_S = 300      /* a rank that lives longer than this is ended by SIGALRM */
};

static int check_rank = -1;
static int check_size = 0;
static int check_errors = 0;
static MPI_Comm check_comm; /* a copy of the world, so that no wildcard meets what is sent here */

/* Count a failure and describe it on stderr. */
__attribute__((format(printf, 3, 4), unused))
static void check_fail(const char *file, int line, const char *format, ...)
{
    if (check_errors++ >= CHECK_SHOWN)
        return;
    char text[512 + MPI_MAX_ERROR_STRING];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s:%d: rank %d of %d: %s\n", file, line, check_rank, check_size, text);
}

/* The condition must hold; the program goes on if it does not. */
#define CHECK(condition)                                                                         \
    do {                                                                                         \
        if (!(condition))                                                                        \
            check_fail(__FILE__, __LINE__, "not true: %s", #condition);                          \
    } while (0)

/* Whether strict checks count. */
__attribute__((unused))
static int check_strict(void)
{
    const char *strict = getenv("CHECK_STRICT");
    return strict != NULL && strcmp(strict, "1") == 0;
}

/* The condition must hold where checks are strict; elsewhere it is not even evaluated. */
#define CHECK_STRICTLY(condition)                                                                \
    do {                                                                                         \
        if (check_strict())                                                                      \
            CHECK(condition);                                                                    \
    } while (0)

/* Two integers must be equal. */
#define CHECK_EQUAL(actual, expected)                                                            \
    do {                                                                                         \
        long long check_a = (long long)(actual), check_e = (long long)(expected);                \
        if (check_a != check_e)                                                                  \
            check_fail(__FILE__, __LINE__, "%s is %lld, not %lld", #actual, check_a, check_e);   \
    } while (0)

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

/* Rank 0 names what is tried next. */
__attribute__((format(printf, 1, 2), unused))
static void section(const char *format, ...)
{
    if (check_rank != 0)
        return;
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    putchar('\n');
    fflush(stdout);
    va_end(arguments);
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

/* The last line of the output, and the exit code of the program. */
__attribute__((unused))
static int check_verdict(int total)
{
    if (check_rank == 0) {
        printf("errors = %d\n", total);
        fflush(stdout);
    }
    return total == 0 ? 0 : 1;
}

__attribute__((unused))
static int check_end(void)
{
    int total = check_total();
    MUST(MPI_Comm_free(&check_comm));
    MUST(MPI_Finalize());
    return check_verdict(total);
}

/* Do something else than MPI for a while. */
__attribute__((unused))
static void sleep_ms(long milliseconds)
{
    struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

/* A byte that depends on its place and on who made it. */
__attribute__((unused))
static unsigned char pattern(size_t place, unsigned seed)
{
    uint32_t low = (uint32_t)place;
    return (unsigned char)(low * 31 + (low >> 8) * 7 + (low >> 16) * 3 + seed * 101 + 17);
}

/* The part of pattern() that is the same for the 256 places of a block. */
__attribute__((unused))
static unsigned char pattern_of_block(size_t place, unsigned seed)
{
    return (unsigned char)(pattern(place, seed) - (unsigned char)(place * 31));
}

__attribute__((unused))
static void fill(void *buffer, size_t bytes, unsigned seed)
{
    unsigned char *byte = buffer;
    for (size_t block = 0; block < bytes; block += 256) {
        unsigned char base = pattern_of_block(block, seed);
        unsigned length = bytes - block < 256 ? (unsigned)(bytes - block) : 256;
        for (unsigned place = 0; place < length; place++)
            byte[block + place] = (unsigned char)(place * 31 + base);
    }
}

/* How many of the bytes are not what fill() put there. */
__attribute__((unused))
static size_t spoiled(const void *buffer, size_t bytes, unsigned seed)
{
    const unsigned char *byte = buffer;
    size_t wrong = 0;
    for (size_t block = 0; block < bytes; block += 256) {
        unsigned char base = pattern_of_block(block, seed);
        unsigned length = bytes - block < 256 ? (unsigned)(bytes - block) : 256;
        unsigned here = 0;
        for (unsigned place = 0; place < length; place++)
            here += byte[block + place] != (unsigned char)(place * 31 + base);
        wrong += here;
    }
    return wrong;
}

/* The next number of a small generator, below the limit; the same on every rank. */
__attribute__((unused))
static unsigned draw(uint64_t *state, unsigned limit)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((*state >> 33) % limit);
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
