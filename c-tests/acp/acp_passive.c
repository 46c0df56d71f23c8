/* A target that calls nothing: it computes and looks at its memory while the others access it. */
#include "acp_check.h"

enum { FLAG = CHECK_OWN, DATA = CHECK_OWN + 64, BYTES = 3000, LONG = 3 << 20 };

/* Rank 0 waits by its instructions; the last rank writes, reads, and copies from and to it. */
static void small(int target, int initiator)
{
    volatile uint64_t *flag = own_number(FLAG);
    *flag = 0;
    acp_sync();
    if (check_rank == target)
        while (*flag != 3) {
        }
    if (check_rank == initiator) {
        acp_ga_t old = starter(check_rank, CHECK_OLD), number = starter(target, FLAG);
        fill(own(DATA), BYTES, 8);
        acp_copy(starter(target, DATA), starter(check_rank, DATA), BYTES, NONE);
        DONE(acp_add8(old, number, 1, ALL));
        DONE(acp_copy(starter(check_rank, DATA + BYTES), starter(target, DATA), BYTES, NONE));
        CHECK_EQUAL(spoiled(own(DATA + BYTES), BYTES, 8), 0);
        acp_copy(starter(target, DATA + BYTES), starter(target, DATA), BYTES, ALL);
        DONE(acp_add8(old, number, 2, ALL));
    }
    if (check_rank == target) {
        CHECK_EQUAL(spoiled(own(DATA), BYTES, 8), 0);
        CHECK_EQUAL(spoiled(own(DATA + BYTES), BYTES, 8), 0);
    }
    acp_sync();
}

/* A third rank moves long data between two that call nothing. */
static void third_party(void)
{
    int source = 0, target = 1, mover = check_size - 1;
    volatile uint64_t *flag = own_number(FLAG);
    *flag = 0;
    struct memory memory = memory_open(LONG + 1);
    if (check_rank == source)
        fill(memory.base, LONG, 21);
    acp_sync();
    if (check_rank == source || check_rank == target)
        while (*flag != 1) {
        }
    if (check_rank == mover) {
        acp_ga_t old = starter(check_rank, CHECK_OLD);
        acp_handle_t copy = acp_copy(memory.at[target] + 1, memory.at[source], LONG, NONE);
        acp_add8(old, starter(target, FLAG), 1, copy);
        DONE(acp_add8(old, starter(source, FLAG), 1, copy));
    }
    if (check_rank == target)
        CHECK_EQUAL(spoiled(memory.base + 1, LONG, 21), 0);
    memory_close(&memory);
}

/* An access after an order goes on while its initiator computes. */
static void initiator_computes(int target, int helper)
{
    volatile uint64_t *flag = own_number(FLAG);
    *flag = 0;
    struct memory memory = memory_open(LONG);
    fill(memory.base, LONG, (unsigned)check_rank);
    acp_sync();
    if (check_rank == 0) {
        acp_ga_t old = starter(0, CHECK_OLD);
        acp_handle_t copy = acp_copy(memory.at[target], memory.at[helper], LONG, NONE);
        acp_handle_t told = acp_add8(old, starter(target, FLAG), 1, copy);
        CHECK(told > 0);
        acp_add8(old, starter(0, FLAG), 1, told);
        while (*flag != 1) {
        }
    }
    if (check_rank == target && target != 0)
        while (*flag != 1) {
        }
    if (check_rank == target)
        CHECK_EQUAL(spoiled(memory.base, LONG, (unsigned)helper), 0);
    memory_close(&memory);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    if (check_size > 1) {
        section("one target");
        small(0, check_size - 1);
        small(check_size - 1, 0);
    }
    if (check_size > 2) {
        section("source and target");
        third_party();
        section("the initiator computes");
        initiator_computes(check_size - 1, 1);
    }
    return check_end();
}
