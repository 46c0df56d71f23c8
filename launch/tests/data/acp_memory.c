/* Has each rank the memory that its launcher requested? acp_memory STARTER_BYTES HEAP_BYTES
 *
 * Prints the rank, the number of ranks, and the number of arguments that are left. */
#include <acp.h>

#include <stdio.h>
#include <stdlib.h>

static void expect(int is_true, const char *what)
{
    if (!is_true) {
        fprintf(stderr, "rank %d: %s\n", acp_rank(), what);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    if (acp_init(&argc, &argv) != 0 || argc < 3)
        return 2;
    size_t starter = strtoul(argv[1], NULL, 10), heap = strtoul(argv[2], NULL, 10);
    int rank = acp_rank(), ranks = acp_procs();
    acp_ga_t own = acp_query_starter_ga(rank), next = acp_query_starter_ga((rank + 1) % ranks);
    char *memory = acp_query_address(own);
    expect(memory != NULL && acp_query_address(own + starter + 1) == NULL, "size of own memory");

    memory[0] = 7;
    acp_complete(acp_copy(next + starter - 1, own, 1, ACP_HANDLE_NULL));
    acp_sync();
    expect(memory[starter - 1] == 7, "the last byte has not arrived");
    acp_handle_t beyond = acp_copy(next + starter, own, 1, ACP_HANDLE_NULL);
    expect((uint64_t)beyond == ACP_HANDLE_NULL, "a byte beyond the memory was written");

    acp_ga_t all = acp_malloc(heap, rank), half = acp_malloc(heap / 2, rank);
    expect(all == ACP_GA_NULL && half != ACP_GA_NULL, "size of the heap");
    printf("%d/%d %d\n", rank, ranks, argc);
    acp_sync();
    return acp_finalize();
}
