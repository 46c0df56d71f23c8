/* Dynamic windows: memory that is attached and detached, several regions, displacements that are
 * addresses, regions beside each other, counters that grow, lists of all ranks. */
#include "rma.h"

static int right, left;
static MPI_Win win;

static MPI_Aint address_of(void *memory)
{
    MPI_Aint address;
    MUST(MPI_Get_address(memory, &address));
    return address;
}

static void tell(MPI_Aint own, MPI_Aint *all)
{
    MUST(MPI_Allgather(&own, 1, MPI_AINT, all, 1, MPI_AINT, MPI_COMM_WORLD));
}

/* Regions come and go while the window lives. */
static void rounds(void)
{
    enum { ROUNDS = 6 };
    MPI_Aint *starts = take(sizeof *starts * (size_t)check_size);
    for (int round = 0; round < ROUNDS; round++) {
        int count = 10 + 100 * round, wrong = 0;
        size_t bytes = sizeof(int) * (size_t)count;
        int *memory = take(bytes), *from = take(bytes), *into = take(bytes);
        memset(memory, 0, bytes);
        for (int index = 0; index < count; index++)
            from[index] = 1000 * round + 100 * check_rank + index % 50;
        MUST(MPI_Win_attach(win, memory, (MPI_Aint)bytes));
        tell(address_of(memory), starts);
        MUST(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
        MUST(MPI_Put(from, count, MPI_INT, right, starts[right], count, MPI_INT, win));
        MUST(MPI_Win_flush(right, win));
        MUST(MPI_Get(into, count, MPI_INT, right, starts[right], count, MPI_INT, win));
        MUST(MPI_Win_unlock(right, win));
        MUST(MPI_Barrier(MPI_COMM_WORLD));
        for (int index = 0; index < count; index++) {
            wrong += memory[index] != 1000 * round + 100 * left + index % 50;
            wrong += into[index] != from[index];
        }
        CHECK_EQUAL(wrong, 0);
        MUST(MPI_Win_detach(win, memory));
        free(memory);
        free(from);
        free(into);
    }
    free(starts);
}

/* Many regions at once, in one array, with gaps; two that touch; detached in another order. */
static void regions(void)
{
    enum { REGIONS = 12, EACH = 8, APART = 2 * EACH };
    static int memory[REGIONS * APART + EACH];
    int value[REGIONS];
    MPI_Aint *starts = take(sizeof *starts * (size_t)check_size);
    memset(memory, 0, sizeof memory);
    for (int index = 0; index < REGIONS; index++)
        MUST(MPI_Win_attach(win, memory + index * APART, EACH * sizeof(int)));
    MUST(MPI_Win_attach(win, memory + EACH, EACH * sizeof(int)));
    tell(address_of(memory), starts);
    MUST(MPI_Win_fence(0, win));
    for (int index = 0; index < REGIONS; index++) {
        MPI_Aint byte = (MPI_Aint)sizeof(int) * (index * APART + EACH - 1);
        value[index] = 100 * index + check_rank;
        MUST(MPI_Put(&value[index], 1, MPI_INT, right, MPI_Aint_add(starts[right], byte), 1,
                     MPI_INT, win));
    }
    MUST(MPI_Accumulate(value, 1, MPI_INT, right,
                        MPI_Aint_add(starts[right], EACH * (MPI_Aint)sizeof(int)), 1, MPI_INT,
                        MPI_SUM, win));
    MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    for (int index = 0; index < REGIONS; index++)
        CHECK_EQUAL(memory[index * APART + EACH - 1], 100 * index + left);
    CHECK_EQUAL(memory[EACH], left);
    for (int index = 0; index < REGIONS; index++)
        MUST(MPI_Win_detach(win, memory + index * 5 % REGIONS * APART));
    MUST(MPI_Win_detach(win, memory + EACH));
    free(starts);
}

struct node {
    int64_t value;
    MPI_Aint next;
    int64_t next_rank;
};

/* A stack on rank 0: the head is a rank, as the nodes of each rank are at a place that all know. */
static void stack(void)
{
    enum { EACH = 8 };
    struct node nodes[EACH];
    int64_t head = -1;
    MPI_Aint *heads = take(sizeof *heads * (size_t)check_size),
             *starts = take(sizeof *starts * (size_t)check_size);
    memset(nodes, 0, sizeof nodes);
    MUST(MPI_Win_attach(win, &head, sizeof head));
    MUST(MPI_Win_attach(win, nodes, sizeof nodes));
    tell(address_of(&head), heads);
    tell(address_of(nodes), starts);
    MUST(MPI_Win_lock_all(0, win));
    for (int index = 0; index < EACH; index++) {
        int64_t mine = (int64_t)check_rank * EACH + index, old = -1, found;
        nodes[index].value = 1 + mine;
        for (;;) {
            nodes[index].next_rank = old;
            MUST(MPI_Win_sync(win));
            MUST(MPI_Compare_and_swap(&mine, &old, &found, MPI_INT64_T, 0, heads[0], win));
            MUST(MPI_Win_flush(0, win));
            if (found == old)
                break;
            old = found;
        }
    }
    MUST(MPI_Win_sync(win));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    if (check_rank == 0) {
        int64_t sum = 0, count = 0, at;
        MUST(MPI_Fetch_and_op(NULL, &at, MPI_INT64_T, 0, heads[0], MPI_NO_OP, win));
        MUST(MPI_Win_flush(0, win));
        while (at >= 0 && count <= EACH * check_size) {
            struct node node;
            int rank = (int)(at / EACH);
            MPI_Aint byte = (MPI_Aint)sizeof node * (at % EACH);
            MUST(MPI_Get(&node, sizeof node, MPI_BYTE, rank, MPI_Aint_add(starts[rank], byte),
                         sizeof node, MPI_BYTE, win));
            MUST(MPI_Win_flush(rank, win));
            sum += node.value;
            count++;
            at = node.next_rank;
        }
        int64_t total = (int64_t)EACH * check_size;
        CHECK_EQUAL(count, total);
        CHECK_EQUAL(sum, total * (total + 1) / 2);
    }
    MUST(MPI_Win_unlock_all(win));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Win_detach(win, &head));
    MUST(MPI_Win_detach(win, nodes));
    free(heads);
    free(starts);
}

/* Memory that was detached is not reached any more. */
static void detached(void)
{
    int memory[16] = {0}, one = 1, code;
    MPI_Aint *starts = take(sizeof *starts * (size_t)check_size);
    if (check_strict()) {
        MUST(MPI_Win_attach(win, memory, sizeof memory));
        tell(address_of(memory), starts);
        MUST(MPI_Win_detach(win, memory));
        MUST(MPI_Barrier(MPI_COMM_WORLD));
        MUST(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
        code = MPI_Put(&one, 1, MPI_INT, right, starts[right], 1, MPI_INT, win);
        if (code == MPI_SUCCESS)
            code = MPI_Win_flush(right, win);
        CHECK_EQUAL(check_class(code), MPI_ERR_RMA_RANGE);
        MUST(MPI_Win_unlock(right, win));
        MUST(MPI_Barrier(MPI_COMM_WORLD));
        CHECK_EQUAL(memory[0], 0);
    }
    free(starts);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    right = (check_rank + 1) % check_size;
    left = (check_rank + check_size - 1) % check_size;
    MUST(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MUST(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    section("regions that come and go");
    rounds();
    section("many regions");
    regions();
    section("a list of all ranks");
    stack();
    section("detached memory");
    detached();
    MUST(MPI_Win_free(&win));
    return check_end();
}
