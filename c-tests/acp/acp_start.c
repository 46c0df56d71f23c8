/* Begin, end and reset of ACP, and what a process learns of the job. */
#include "acp_check.h"

/* Before acp_init and after acp_finalize. */
static void nothing_is_in_use(void)
{
    CHECK_EQUAL(acp_rank(), -1);
    CHECK_EQUAL(acp_procs(), -1);
    CHECK_EQUAL(acp_colors(), -1);
    CHECK_EQUAL(acp_query_starter_ga(0), ACP_GA_NULL);
    CHECK_EQUAL(acp_copy(1, 1, 0, NONE), NONE);
    CHECK_EQUAL(acp_add8(1, 1, 0, NONE), NONE);
    CHECK_EQUAL(acp_sync(), -1);
    CHECK_EQUAL(acp_reset(0), -1);
    CHECK_EQUAL(acp_finalize(), -1);
    CHECK_EQUAL(acp_inquire(ALL), 0);
    acp_complete(ALL);
    CHECK(acp_register_memory(&check_errors, sizeof check_errors, 0) == ACP_ATKEY_NULL);
    CHECK_EQUAL(acp_malloc(8, 0), ACP_GA_NULL);
    CHECK(acp_create_ch(0, 1) == ACP_CH_NULL);
    CHECK(acp_create_ws(8) == ACP_WSD_NULL);
}

static void starter_memory_is_new(void)
{
    unsigned char *memory = own(0);
    for (size_t byte = 0; byte < CHECK_STARTER; byte++)
        CHECK_EQUAL(memory[byte], 0);
    acp_sync();
}

/* Every rank writes to its right neighbour. */
static void accesses_work(unsigned seed)
{
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    size_t source = CHECK_OWN, target = CHECK_OWN + 1000;
    fill(own(source), 1000, seed + (unsigned)check_rank);
    DONE(acp_copy(starter(right, target), starter(check_rank, source), 1000, NONE));
    acp_sync();
    CHECK_EQUAL(spoiled(own(target), 1000, seed + (unsigned)left), 0);
    acp_sync();
}

static void places_are_known(void)
{
    CHECK(acp_colors() >= 1);
    CHECK_EQUAL(acp_query_starter_ga(-1), ACP_GA_NULL);
    CHECK_EQUAL(acp_query_starter_ga(check_size), ACP_GA_NULL);
    for (int rank = 0; rank < check_size; rank++) {
        acp_ga_t last = starter(rank, CHECK_STARTER - 1);
        CHECK_EQUAL(acp_query_rank(last), rank);
        CHECK_EQUAL(acp_query_color(last), 0);
        CHECK_EQUAL(acp_query_starter_ga(rank) % 64, 0);
        CHECK((acp_query_address(last) != NULL) == (rank == check_rank));
    }
    CHECK_EQUAL((uintptr_t)own(0) % 64, 0);
    CHECK_EQUAL(acp_query_rank(ACP_GA_NULL), -1);
    CHECK_EQUAL(acp_query_color(ACP_GA_NULL), -1);
    CHECK(acp_query_address(ACP_GA_NULL) == NULL);
}

/* All ranks take the rank that is `by` on. */
static void reset(int by, unsigned seed)
{
    acp_ga_t block = acp_malloc(100, check_rank);
    CHECK(block != ACP_GA_NULL);
    int before = check_rank, key_count = 3;
    for (int key = 0; key < key_count; key++)
        CHECK(acp_register_memory(&check_errors, sizeof check_errors, 0) != ACP_ATKEY_NULL);
    CHECK_EQUAL(acp_reset((before + by) % check_size), 0);
    check_rank = acp_rank();
    CHECK_EQUAL(check_rank, (before + by) % check_size);
    CHECK_EQUAL(acp_procs(), check_size);
    starter_memory_is_new();
    places_are_known();
    accesses_work(seed);
    CHECK(acp_malloc(100, (check_rank + 1) % check_size) != ACP_GA_NULL);
    acp_sync();
}

int main(int argc, char **argv)
{
    nothing_is_in_use();
    enum { TIMES = 6 };
    int errors = 0;
    for (int time = 0; time < TIMES; time++) {
        check_start(&argc, &argv);
        section("begin %d", time);
        CHECK_EQUAL(acp_init(&argc, &argv), -1);
        starter_memory_is_new();
        places_are_known();
        accesses_work((unsigned)time);
        if (time + 1 < TIMES) {
            CHECK_EQUAL(acp_finalize(), 0);
            nothing_is_in_use();
        }
    }

    section("reset");
    reset(0, 100);
    reset(1, 101);
    reset(check_size - 1, 102);
    section("reset to ranks that are no permutation");
    int before = check_rank;
    CHECK_EQUAL(acp_reset(check_size > 1 ? 0 : 5), -1);
    CHECK_EQUAL(acp_reset(check_rank == 0 ? -1 : check_rank), -1);
    CHECK_EQUAL(acp_rank(), before);
    accesses_work(103);
    errors = check_end();
    nothing_is_in_use();
    return check_errors > 0 ? 1 : errors;
}
