/* check_basic.h: what every C test program shares that calls no library: check.h for programs that
 * use MPI, acp/acp_check.h for those that use ACP. */
#ifndef SUIRO_CHECK_BASIC_H
#define SUIRO_CHECK_BASIC_H

#define _POSIX_C_SOURCE 200809L

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    CHECK_SHOWN = 40,        /* failures that one rank describes; the others are counted */
    CHECK_LIMIT_S = 300      /* a rank that lives longer than this is ended by SIGALRM */
};

static int check_rank = -1;
static int check_size = 0;
static int check_errors = 0;

/* Count a failure and describe it on stderr. */
__attribute__((format(printf, 3, 4), unused))
static void check_fail(const char *file, int line, const char *format, ...)
{
    if (check_errors++ >= CHECK_SHOWN)
        return;
    char text[1024];
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

#endif
