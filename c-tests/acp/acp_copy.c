/* Copies between all pairs of ranks, by all ranks, of many sizes at many places. */
#include "acp_check.h"

enum { SMALL = 4097, PITCH = 4224, LONG = (1 << 20) + 13 };

static const size_t sizes[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 63, 64, 65, 255, 1000, 4096, SMALL};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* A place that is aligned for some sizes only. */
static size_t shift(size_t size, int by, int rank)
{
    return (size_t)(by * 3 + rank * 5) % 8 + size % 3;
}

/* The bytes of a copy. */
static unsigned seed(int from, size_t size)
{
    return (unsigned)from * 29 + (unsigned)size;
}

/* Each rank copies from each rank to each rank. The target of a copy is a place of its own. */
static void all_triples(void)
{
    size_t areas = (size_t)check_size * (size_t)check_size;
    struct memory source = memory_open(PITCH), target = memory_open(areas * PITCH);
    for (int at = 0; at < SIZES; at++) {
        size_t size = sizes[at];
        section("%zu bytes", size);
        memset(target.base, 0xee, target.bytes);
        fill(source.base + at % 8, size, seed(check_rank, size));
        acp_sync();
        acp_handle_t order = at % 2 == 0 ? NONE : ALL, last = NONE;
        for (int from = 0; from < check_size; from++) {
            size_t area = ((size_t)check_rank * (size_t)check_size + (size_t)from) * PITCH;
            for (int to = 0; to < check_size; to++) {
                acp_ga_t place = target.at[to] + area + shift(size, check_rank, from);
                last = acp_copy(place, source.at[from] + (acp_ga_t)(at % 8), size, order);
                CHECK(last > 0);
            }
        }
        acp_complete(last);
        acp_sync();
        for (size_t area = 0; area < areas; area++) {
            int by = (int)area / check_size, from = (int)area % check_size;
            unsigned char *place = target.base + area * PITCH + shift(size, by, from);
            CHECK_EQUAL(spoiled(place, size, seed(from, size)), 0);
            CHECK_EQUAL(place[size], 0xee);
            if (shift(size, by, from) > 0)
                CHECK_EQUAL(place[-1], 0xee);
        }
        acp_sync();
    }
    memory_close(&source);
    memory_close(&target);
}

/* Each rank copies from `from` ranks on to `to` ranks on. */
static void long_copies(int from, int to)
{
    section("%d bytes, from %d to %d", LONG, from, to);
    struct memory source = memory_open(LONG + 3), target = memory_open(LONG + 1);
    int source_rank = (check_rank + from) % check_size, target_rank = (check_rank + to) % check_size;
    int giver = (check_rank + check_size - to % check_size + from) % check_size;
    fill(source.base + 3, LONG, (unsigned)check_rank);
    acp_sync();
    DONE(acp_copy(target.at[target_rank] + 1, source.at[source_rank] + 3, LONG, ALL));
    acp_sync();
    CHECK_EQUAL(spoiled(target.base + 1, LONG, (unsigned)giver), 0);
    CHECK_EQUAL(target.base[0], 0);
    memory_close(&source);
    memory_close(&target);
}

/* A get of one's own memory, and a copy onto itself and next to itself. */
static void own_copies(void)
{
    section("within this rank");
    unsigned char *memory = own(CHECK_OWN);
    fill(memory, 512, 3);
    DONE(acp_copy(starter(check_rank, CHECK_OWN), starter(check_rank, CHECK_OWN), 512, NONE));
    CHECK_EQUAL(spoiled(memory, 512, 3), 0);
    DONE(acp_copy(starter(check_rank, CHECK_OWN + 512), starter(check_rank, CHECK_OWN), 512, NONE));
    CHECK_EQUAL(spoiled(memory + 512, 512, 3), 0);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    all_triples();
    long_copies(0, 1);
    long_copies(1, 0);
    long_copies(1, 2);
    own_copies();
    return check_end();
}
