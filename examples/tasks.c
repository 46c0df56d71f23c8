/* Ranks share tasks by a counter in the memory of rank 0, and put the results there. Rank 0 calls nothing
 * for that: it works as the others do.
 *
 *   acpcc -O2 examples/tasks.c -o tasks && acprun -np 4 ./tasks */
#include <acp.h>
#include <math.h>
#include <stdio.h>

enum { TASKS = 1000, COUNTER = 0, NUMBER = 8, RESULT = 16, RESULTS = 64 };

/* Where starter memory has what, in bytes from its begin, on this rank and on rank 0. */
static double *own(size_t place)
{
    return acp_query_address(acp_query_starter_ga(acp_rank()) + place);
}

static acp_ga_t here(size_t place) { return acp_query_starter_ga(acp_rank()) + place; }
static acp_ga_t first(size_t place) { return acp_query_starter_ga(0) + place; }

/* The next task that no rank has taken. */
static uint64_t next_task(void)
{
    acp_complete(acp_add8(here(NUMBER), first(COUNTER), 1, ACP_HANDLE_NULL));
    return *(uint64_t *)own(NUMBER);
}

int main(int argc, char **argv)
{
    int done = 0;
    if (acp_init(&argc, &argv) != 0)
        return 1;
    for (uint64_t task; (task = next_task()) < TASKS; done++) {
        *own(RESULT) = sqrt((double)task);
        acp_complete(acp_copy(first(RESULTS + 8 * task), here(RESULT), 8, ACP_HANDLE_NULL));
    }
    printf("rank %d has done %d tasks\n", acp_rank(), done);
    acp_sync();
    if (acp_rank() == 0) {
        double sum = 0;
        for (int task = 0; task < TASKS; task++)
            sum += own(RESULTS)[task];
        printf("sum of the results: %.6f\n", sum);
    }
    return acp_finalize() == 0 ? 0 : 1;
}
