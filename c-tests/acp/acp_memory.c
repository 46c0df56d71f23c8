/* Registered memory: keys, addresses, arithmetic, and what is refused. */
#include "acp_check.h"

static unsigned char global[300];

/* Accesses that must be refused, and leave the memory of the target as it is. */
#define REFUSED(call)                                                                            \
    do {                                                                                         \
        acp_handle_t check_handle = (call);                                                      \
        if (check_handle != NONE)                                                                \
            check_fail(__FILE__, __LINE__, "%s is not refused", #call);                          \
        acp_complete(check_handle);                                                              \
    } while (0)

/* A get and a put of all bytes by the right neighbour. */
static void neighbour_accesses(acp_ga_t mine, unsigned char *memory, size_t bytes)
{
    uint64_t *all = calloc((size_t)check_size, sizeof *all);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    struct memory copy = memory_open(bytes);
    fill(memory, bytes, (unsigned)check_rank);
    gather(mine, all);
    DONE(acp_copy(copy.at[check_rank], all[right], bytes, NONE));
    CHECK_EQUAL(spoiled(copy.base, bytes, (unsigned)right), 0);
    acp_sync();
    fill(copy.base, bytes, 50 + (unsigned)check_rank);
    DONE(acp_copy(all[right], copy.at[check_rank], bytes, NONE));
    acp_sync();
    CHECK_EQUAL(spoiled(memory, bytes, 50 + (unsigned)left), 0);
    memory_close(&copy);
    free(all);
}

static void kinds_of_memory(void)
{
    unsigned char stack[301], *heap = malloc(302);
    struct { unsigned char *base; size_t bytes; } kinds[] = {{global, 300}, {stack, 301}, {heap, 302},
                                                             {heap + 3, 7}, {stack + 1, 1}};
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        unsigned char *base = kinds[kind].base;
        size_t bytes = kinds[kind].bytes;
        acp_atkey_t key = acp_register_memory(base, bytes, 0);
        CHECK(key != ACP_ATKEY_NULL);
        acp_ga_t first = acp_query_ga(key, base);
        CHECK(first != ACP_GA_NULL);
        CHECK_EQUAL(first % 8, (uintptr_t)base % 8);
        CHECK_EQUAL(acp_query_rank(first), check_rank);
        for (size_t byte = 0; byte <= bytes; byte++)
            CHECK_EQUAL(acp_query_ga(key, base + byte), first + byte);
        CHECK(acp_query_address(first + bytes - 1) == base + bytes - 1);
        CHECK_EQUAL(acp_query_ga(key, base - 1), ACP_GA_NULL);
        CHECK_EQUAL(acp_query_ga(key, base + bytes + 1), ACP_GA_NULL);
        neighbour_accesses(first, base, bytes);
        CHECK_EQUAL(acp_unregister_memory(key), 0);
        CHECK_EQUAL(acp_unregister_memory(key), -1);
        CHECK_EQUAL(acp_query_ga(key, base), ACP_GA_NULL);
        CHECK(acp_query_address(first) == NULL);
    }
    free(heap);
}

/* Regions that overlap, many at a time, in any order of their ends. */
static void many_regions(void)
{
    enum { COUNT = 700 };
    static unsigned char memory[COUNT + 16];
    acp_atkey_t keys[COUNT];
    acp_ga_t firsts[COUNT];
    for (int at = 0; at < COUNT; at++) {
        keys[at] = acp_register_memory(memory + at, 16, at % acp_colors());
        firsts[at] = acp_query_ga(keys[at], memory + at);
        CHECK(keys[at] != ACP_ATKEY_NULL && firsts[at] != ACP_GA_NULL);
        CHECK_EQUAL(acp_query_color(firsts[at]), at % acp_colors());
        for (int before = 0; before < at; before += 37)
            CHECK(keys[before] != keys[at] && firsts[before] != firsts[at]);
    }
    uint64_t *all = calloc((size_t)check_size, sizeof *all);
    int right = (check_rank + 1) % check_size;
    for (int at = 0; at < COUNT; at += 53) {
        memset(memory, at, sizeof memory);
        gather(firsts[at], all);
        *own_number(CHECK_OWN) = 0;
        DONE(acp_copy(starter(check_rank, CHECK_OWN), all[right] + 15, 1, NONE));
        CHECK_EQUAL(*own_number(CHECK_OWN), (unsigned char)at);
        acp_sync();
    }
    for (int at = 0; at < COUNT; at++)
        CHECK_EQUAL(acp_unregister_memory(keys[at * 297 % COUNT]), 0);
    for (int at = 0; at < COUNT; at++)
        CHECK(acp_query_address(firsts[at]) == NULL);
    free(all);
}

/* Registrations of one variable, as the calls of a library register what is on its stack. */
static void short_registrations(void)
{
    int right = (check_rank + 1) % check_size;
    for (uint64_t time = 0; time < 400; time++) {
        uint64_t number = 0;
        acp_atkey_t key = acp_register_memory(&number, sizeof number, 0);
        acp_ga_t at = acp_query_ga(key, &number);
        DONE(acp_add8(at, starter(right, CHECK_OWN + 8), 1, NONE));
        CHECK_EQUAL(number, time);
        CHECK_EQUAL(acp_unregister_memory(key), 0);
    }
    acp_sync();
    CHECK_EQUAL(*own_number(CHECK_OWN + 8), 400);
    acp_sync();
}

static void refused_accesses(void)
{
    struct memory memory = memory_open(64);
    int right = (check_rank + 1) % check_size;
    acp_ga_t here = memory.at[check_rank], word = starter(check_rank, CHECK_OWN);
    memset(memory.base, 7, 64);
    memset(own(CHECK_OWN), 9, 128);
    acp_sync();

    section("out of a region");
    REFUSED(acp_copy(here + 60, word, 5, NONE));
    REFUSED(acp_copy(here - 1, word, 2, NONE));
    REFUSED(acp_copy(word, here + 64, 1, NONE));
    REFUSED(acp_copy(here, word, SIZE_MAX, NONE));
    REFUSED(acp_copy(starter(right, CHECK_STARTER - 1), word, 2, NONE));
    REFUSED(acp_copy(word, starter(right, CHECK_STARTER - 1), 2, NONE));
    REFUSED(acp_copy(here, starter(right, CHECK_STARTER), 1, NONE));
    REFUSED(acp_copy(word, starter(right, 8), SIZE_MAX, NONE));
    REFUSED(acp_add8(word, starter(right, CHECK_STARTER), 1, NONE));

    section("no memory");
    REFUSED(acp_copy(ACP_GA_NULL, word, 1, NONE));
    REFUSED(acp_copy(here, ACP_GA_NULL, 1, NONE));
    REFUSED(acp_copy(12345, word, 1, NONE));
    REFUSED(acp_swap8(word, ACP_GA_NULL, 1, NONE));

    section("old number of another rank, or not aligned");
    if (check_size > 1)
        REFUSED(acp_add8(starter(right, CHECK_OWN), word, 1, NONE));
    uintptr_t odd = (8 - (uintptr_t)memory.base % 8) % 8 + 4;
    REFUSED(acp_add8(word, here + odd, 1, NONE));
    REFUSED(acp_add8(word, starter(right, CHECK_OWN + 4), 1, NONE));
    REFUSED(acp_add8(word + 4, starter(right, CHECK_OWN), 1, NONE));
    REFUSED(acp_cas4(word, here + odd + 1, 1, 1, NONE));
    REFUSED(acp_or4(word + 1, here + odd, 1, NONE));

    section("no place for a registration");
    CHECK(acp_register_memory(memory.base, 64, acp_colors()) == ACP_ATKEY_NULL);
    CHECK(acp_register_memory(memory.base, 64, -1) == ACP_ATKEY_NULL);
    CHECK(acp_register_memory(memory.base, SIZE_MAX, 0) == ACP_ATKEY_NULL);
    CHECK_EQUAL(acp_unregister_memory(ACP_ATKEY_NULL), -1);
    CHECK_EQUAL(acp_unregister_memory(acp_query_starter_ga(check_rank)), -1);

    section("size 0");
    DONE(acp_copy(memory.at[right] + 1000, word, 0, NONE));
    DONE(acp_copy(ACP_GA_NULL, ACP_GA_NULL, 0, ALL));

    section("nothing was written");
    acp_sync();
    for (int byte = 0; byte < 64; byte++)
        CHECK_EQUAL(memory.base[byte], 7);
    for (int byte = 0; byte < 128; byte++)
        CHECK_EQUAL(((unsigned char *)own(CHECK_OWN))[byte], 9);
    acp_sync();

    section("after the end of a registration");
    acp_ga_t old = here;
    memory_close(&memory);
    REFUSED(acp_copy(word, old, 8, NONE));
    REFUSED(acp_copy(old, word, 8, NONE));
    REFUSED(acp_add8(word, old, 1, NONE));
    /* The next region is not taken for the old one. */
    memory = memory_open(64);
    REFUSED(acp_copy(word, old, 8, NONE));
    REFUSED(acp_copy(old, word, 8, NONE));
    memory_close(&memory);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    section("stack, heap, globals");
    kinds_of_memory();
    section("many regions");
    many_regions();
    section("short registrations");
    short_registrations();
    refused_accesses();
    return check_end();
}
