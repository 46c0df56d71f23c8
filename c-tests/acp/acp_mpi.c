/* ACP and MPI in one program, in every order of their begin and end. */
#include "../check.h"

#include <acp.h>

static const acp_handle_t NONE = (acp_handle_t)ACP_HANDLE_NULL;

/* A message of MPI and a copy of ACP cross; each rank gets both. */
static void use_both(int round)
{
    int rank = acp_rank(), size = acp_procs(), right = (rank + 1) % size, left = (rank + size - 1) % size;
    int world_rank = -1, world_size = 0, received = -1, sent = rank * 10 + round;
    MUST(MPI_Comm_rank(MPI_COMM_WORLD, &world_rank));
    MUST(MPI_Comm_size(MPI_COMM_WORLD, &world_size));
    CHECK_EQUAL(world_rank, rank);
    CHECK_EQUAL(world_size, size);
    volatile int *memory = acp_query_address(acp_query_starter_ga(rank));
    memory[32] = sent;
    acp_ga_t here = acp_query_starter_ga(rank), there = acp_query_starter_ga(right);
    acp_handle_t copy = acp_copy(there + 256, here + 128, sizeof(int), NONE);
    CHECK(copy > 0);
    MUST(MPI_Sendrecv(&sent, 1, MPI_INT, right, 5, &received, 1, MPI_INT, left, 5, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE));
    CHECK_EQUAL(received, left * 10 + round);
    acp_complete(copy);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_EQUAL(memory[64], left * 10 + round);
    int sum = 0;
    MUST(MPI_Allreduce(&sent, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQUAL(sum, 10 * size * (size - 1) / 2 + round * size);
    CHECK_EQUAL(acp_sync(), 0);
}

/* A window of MPI and registered memory of ACP are the same bytes. */
static void one_memory(void)
{
    int rank = acp_rank(), size = acp_procs(), right = (rank + 1) % size;
    uint64_t *base = NULL;
    MPI_Win window;
    MUST(MPI_Win_allocate(16, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window));
    base[0] = base[1] = 0;
    acp_atkey_t key = acp_register_memory(base, 16, 0);
    acp_ga_t mine = acp_query_ga(key, base), *all = take(sizeof *all * (size_t)size);
    MUST(MPI_Allgather(&mine, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, MPI_COMM_WORLD));
    uint64_t one = 1;
    MUST(MPI_Win_lock_all(0, window));
    MUST(MPI_Accumulate(&one, 1, MPI_UINT64_T, right, 0, 1, MPI_UINT64_T, MPI_SUM, window));
    MUST(MPI_Win_flush_all(window));
    acp_complete(acp_add8(acp_query_starter_ga(rank), all[right] + 8, 2, NONE));
    MUST(MPI_Win_unlock_all(window));
    CHECK_EQUAL(acp_sync(), 0);
    CHECK(base[0] == 1 && base[1] == 2);
    CHECK_EQUAL(acp_unregister_memory(key), 0);
    MUST(MPI_Win_free(&window));
    free(all);
}

int main(int argc, char **argv)
{
    /* ACP before MPI, and again without it. */
    for (int time = 0; time < 2; time++) {
        int rank = 0, is_initialized = 1;
        CHECK_EQUAL(acp_init(&argc, &argv), 0);
        rank = acp_rank();
        MPI_Initialized(&is_initialized);
        CHECK_EQUAL(is_initialized, 0);
        CHECK_EQUAL(acp_query_rank(acp_query_starter_ga(rank)), rank);
        CHECK_EQUAL(acp_finalize(), 0);
    }
    /* ACP first, then MPI within it. */
    CHECK_EQUAL(acp_init(&argc, &argv), 0);
    check_start(&argc, &argv);
    section("MPI within ACP");
    use_both(0);
    one_memory();
    CHECK_EQUAL(acp_finalize(), 0);
    /* ACP within MPI, twice. */
    for (int round = 1; round < 3; round++) {
        section("ACP within MPI");
        CHECK_EQUAL(acp_init(&argc, &argv), 0);
        use_both(round);
        CHECK_EQUAL(acp_finalize(), 0);
    }
    /* ACP goes on after MPI. */
    CHECK_EQUAL(acp_init(&argc, &argv), 0);
    section("ACP after MPI");
    int rank = acp_rank(), right = (rank + 1) % acp_procs(), code = check_end();
    for (int time = 0; time < 100; time++)
        acp_complete(acp_add8(acp_query_starter_ga(rank), acp_query_starter_ga(right) + 8, 1, NONE));
    acp_sync();
    if (*(uint64_t *)acp_query_address(acp_query_starter_ga(rank) + 8) != 100)
        code = 1;
    return acp_finalize() != 0 ? 1 : code;
}
