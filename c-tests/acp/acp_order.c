/* Handles, their order, and what the order of an access promises. */
#include "acp_check.h"

enum { LETTERS = 5 };

/* The letters of every rank go round the ring: the source of each copy is the target of the one
 * before, on another rank, and all ranks do so at once. */
static void ring(acp_handle_t order_of_copies)
{
    size_t row = (size_t)check_size * LETTERS;
    struct memory memory = memory_open(row * (size_t)check_size);
    unsigned char *mine = memory.base + (size_t)check_rank * row;
    for (int letter = 0; letter < LETTERS; letter++)
        mine[letter] = (unsigned char)('A' + check_rank + letter);
    acp_sync();
    /* Row r of rank q: the letters of rank r, copied from the rank before q in the ring. */
    acp_handle_t order = NONE, last = NONE;
    size_t place = (size_t)check_rank * row;
    for (int hop = 1; hop < check_size; hop++) {
        int from = (check_rank + hop - 1) % check_size, to = (check_rank + hop) % check_size;
        last = acp_copy(memory.at[to] + place, memory.at[from] + place, row, order);
        CHECK(last > 0);
        order = order_of_copies == NONE ? last : order_of_copies;
    }
    acp_complete(last);
    acp_sync();
    for (int rank = 0; rank < check_size; rank++)
        for (int letter = 0; letter < LETTERS; letter++)
            CHECK_EQUAL(memory.base[(size_t)rank * row + (size_t)letter], 'A' + rank + letter);
    memory_close(&memory);
}

/* A number travels over all ranks and back, one step behind the other, many times. */
static void relay(void)
{
    enum { ROUNDS = 20 };
    struct memory memory = memory_open(16 * (size_t)check_size);
    size_t place = 16 * (size_t)check_rank;
    volatile uint64_t *mine = (uint64_t *)(void *)(memory.base + place);
    mine[0] = 77;
    acp_handle_t order = NONE;
    for (int round = 0; round < ROUNDS; round++)
        for (int hop = 0; hop < check_size; hop++) {
            int from = (check_rank + hop) % check_size, to = (check_rank + hop + 1) % check_size;
            order = acp_copy(memory.at[to] + place, memory.at[from] + place, 8, order);
            order = acp_add8(memory.at[check_rank] + place + 8, memory.at[to] + place, 1, order);
        }
    acp_complete(order);
    CHECK_EQUAL(mine[0], 77 + ROUNDS * check_size);
    memory_close(&memory);
}

static void handles_ascend(void)
{
    int right = (check_rank + 1) % check_size;
    acp_ga_t from = starter(check_rank, CHECK_OWN), to = starter(right, CHECK_OWN + 8);
    acp_handle_t before = acp_copy(to, from, 0, NONE);
    CHECK(before > 0);
    for (int count = 0; count < 100; count++) {
        acp_handle_t next = count % 2 ? acp_copy(to, from, 8, count % 3 ? NONE : ALL)
                                      : acp_add4(from, to, 0, NONE);
        CHECK_EQUAL(next, before + 1);
        before = next;
    }
    acp_complete(before);
    for (acp_handle_t handle = 1; handle <= before; handle++)
        CHECK_EQUAL(acp_inquire(handle), 0);
}

/* Handles of nothing that is outstanding. */
static void idle_handles(void)
{
    acp_complete(ALL);
    const acp_handle_t idle[] = {NONE, ALL, CONT, 1, INT64_MAX, INT64_MIN, -3};
    int right = (check_rank + 1) % check_size;
    for (size_t at = 0; at < sizeof idle / sizeof *idle; at++) {
        acp_complete(idle[at]);
        CHECK_EQUAL(acp_inquire(idle[at]), 0);
        *own_number(CHECK_OWN) = 40 + at;
        DONE(acp_copy(starter(right, CHECK_OWN + 8), starter(check_rank, CHECK_OWN), 8, idle[at]));
        acp_sync();
        CHECK_EQUAL(*own_number(CHECK_OWN + 8), 40 + at);
        acp_sync();
    }
}

/* More accesses outstanding than any queue has places. */
static void many_outstanding(void)
{
    enum { COUNT = 3000 };
    struct memory source = memory_open(8 * COUNT), target = memory_open(8 * COUNT);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    fill(source.base, source.bytes, (unsigned)check_rank);
    acp_handle_t last = NONE;
    for (size_t at = 0; at < COUNT; at++)
        last = acp_copy(target.at[right] + 8 * at, source.at[check_rank] + 8 * at, 8, NONE);
    while (acp_inquire(last) == 1) {
    }
    acp_complete(last);
    acp_sync();
    CHECK_EQUAL(spoiled(target.base, target.bytes, (unsigned)left), 0);
    memory_close(&source);
    memory_close(&target);
}

/* Accesses to one rank take effect in the order of their calls: data are there before the flag that
 * follows them, without an order. */
static void data_before_flag(void)
{
    enum { ROUNDS = 40, BYTES = 20000 };
    struct memory memory = memory_open(2 * BYTES + 24);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    volatile uint64_t *flag = (uint64_t *)(void *)(memory.base + 2 * BYTES), *acknowledged = flag + 1;
    acp_ga_t here = memory.at[check_rank], there = memory.at[right];
    for (unsigned round = 1; round <= ROUNDS; round++) {
        size_t bytes = round % 2 ? BYTES : 24;
        fill(memory.base, bytes, (unsigned)check_rank + round);
        acp_handle_t data = acp_copy(there + BYTES, here, bytes, NONE);
        acp_handle_t tell = round % 3 ? acp_add8(here + 2 * BYTES + 16, there + 2 * BYTES, 1, NONE)
                                      : acp_swap8(here + 2 * BYTES + 16, there + 2 * BYTES, round, NONE);
        CHECK(data > 0 && tell == data + 1);
        wait_for(flag, round);
        CHECK_EQUAL(spoiled(memory.base + BYTES, bytes, (unsigned)left + round), 0);
        acp_complete(tell);
        DONE(acp_add8(here + 2 * BYTES + 16, memory.at[left] + 2 * BYTES + 8, 1, NONE));
        wait_for(acknowledged, round);
    }
    memory_close(&memory);
}

/* CONT: behind the access before, and as that one behind others. */
static void continuation(void)
{
    struct memory memory = memory_open(4096);
    int right = (check_rank + 1) % check_size, next = (check_rank + 2) % check_size;
    acp_ga_t here = memory.at[check_rank], there = memory.at[right];
    if (check_size > 2) {
        fill(memory.base, 64, (unsigned)check_rank);
        acp_handle_t first = acp_copy(there + 1024, here, 64, NONE);
        acp_handle_t second = acp_copy(memory.at[next] + 2048, there + 1024, 64, first);
        acp_handle_t third = acp_copy(memory.at[next] + 2112, there + 1024, 64, CONT);
        acp_handle_t last = acp_copy(here + 3072, memory.at[next] + 2112, 64, CONT);
        CHECK(first > 0 && second > 0 && third > 0);
        acp_complete(last);
        CHECK_EQUAL(spoiled(memory.base + 3072, 64, (unsigned)check_rank), 0);
    }
    memory_close(&memory);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    section("handles ascend");
    handles_ascend();
    section("idle handles");
    idle_handles();
    section("round the ring, each after the one before");
    ring(NONE);
    section("round the ring, each after all");
    ring(ALL);
    section("round the ring, as continuations");
    ring(CONT);
    section("a relay of copies and additions");
    relay();
    section("continuations");
    continuation();
    section("3000 outstanding");
    many_outstanding();
    section("data before the flag");
    data_before_flag();
    return check_end();
}
