/* Checked mode (SUIRO_CHECK=1): operations that conflict in one epoch are errors, those of one rank at
 * once and without an effect, those of several ranks at the end of the epoch of one of them. Programs
 * that come near to a conflict are silent, also without this mode. Wrong assertions are errors, too. */
#include "rma.h"

enum { INTS = 16, HERE = 4 };

static int right, target;
static int data[INTS], found[INTS], compare;
static MPI_Group world;

static MPI_Aint place(const struct area *area, int rank, int index)
{
    return area_disp(area, rank, index * (MPI_Aint)sizeof(int));
}

/* ---- legal programs ---- */

/* Each rank has places of its own, which touch those of others; all read the same. */
static void neighbors_in_memory(const struct area *area)
{
    MPI_Datatype every_second;
    MPI_Win win = area->win;
    MUST(MPI_Type_vector(3, 1, 2, MPI_INT, &every_second));
    MUST(MPI_Type_commit(&every_second));
    MUST(MPI_Win_fence(0, win));
    if (check_rank < 2)
        MUST(MPI_Put(data, 3, MPI_INT, target, place(area, target, check_rank), 1, every_second,
                     win));
    MUST(MPI_Get(found, 2, MPI_INT, target, place(area, target, 6), 2, MPI_INT, win));
    MUST(MPI_Get(found + 2, 2, MPI_INT, target, place(area, target, 7), 2, MPI_INT, win));
    MUST(MPI_Put(data, 0, MPI_INT, target, place(area, target, 6), 0, MPI_INT, win));
    MUST(MPI_Win_fence(0, win));
    /* The next epoch. */
    if (check_rank < 2)
        MUST(MPI_Put(data, 3, MPI_INT, target, place(area, target, 1 - check_rank), 1,
                     every_second, win));
    MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    MUST(MPI_Type_free(&every_second));
}

/* One operation, and readers and swaps beside it; one rank alone may change the operation. */
static void accumulates(const struct area *area)
{
    MPI_Win win = area->win;
    MPI_Aint one = place(area, target, 0), own = place(area, right, 1);
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Accumulate(data, 1, MPI_INT, target, one, 1, MPI_INT, MPI_SUM, win));
    MUST(MPI_Fetch_and_op(data, found, MPI_INT, target, one, MPI_SUM, win));
    MUST(MPI_Get_accumulate(NULL, 0, MPI_INT, found, 1, MPI_INT, target, one, 1, MPI_INT,
                            MPI_NO_OP, win));
    MUST(MPI_Compare_and_swap(data, &compare, found, MPI_INT, target, one, win));
    MUST(MPI_Accumulate(data, 1, MPI_INT, right, own, 1, MPI_INT, MPI_MAX, win));
    MUST(MPI_Accumulate(data, 1, MPI_INT, right, own, 1, MPI_INT, MPI_REPLACE, win));
    MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
}

/* Flushes, results that are there, requests of gets, messages and exclusive locks order operations. */
static void ordered(const struct area *area)
{
    MPI_Win win = area->win;
    MPI_Request request;
    int token = 0;
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Win_lock_all(0, win));
    MUST(MPI_Put(data, 2, MPI_INT, right, place(area, right, 0), 2, MPI_INT, win));
    MUST(MPI_Win_flush(right, win));
    MUST(MPI_Get(found, 2, MPI_INT, right, place(area, right, 0), 2, MPI_INT, win));
    MUST(MPI_Win_flush_local(right, win));
    MUST(MPI_Put(data, 2, MPI_INT, right, place(area, right, 0), 2, MPI_INT, win));
    MUST(MPI_Win_flush_all(win));
    MUST(MPI_Rget(found, 1, MPI_INT, right, place(area, right, 1), 1, MPI_INT, win, &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MUST(MPI_Put(data, 1, MPI_INT, right, place(area, right, 1), 1, MPI_INT, win));
    MUST(MPI_Win_flush_all(win));
    /* One after the other. */
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    if (check_rank > 0)
        MUST(MPI_Recv(&token, 1, MPI_INT, check_rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MUST(MPI_Get(found, 1, MPI_INT, target, place(area, target, 2), 1, MPI_INT, win));
    MUST(check_rank % 2 ? MPI_Win_flush_local(target, win) : MPI_Win_flush_local_all(win));
    MUST(MPI_Put(data, 1, MPI_INT, target, place(area, target, 2), 1, MPI_INT, win));
    MUST(MPI_Win_flush(target, win));
    if (check_rank < check_size - 1)
        MUST(MPI_Send(&token, 1, MPI_INT, check_rank + 1, 0, MPI_COMM_WORLD));
    MUST(MPI_Win_unlock_all(win));
    for (int round = 0; round < 5; round++) {
        MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
        MUST(MPI_Put(data, 3, MPI_INT, target, place(area, target, 0), 3, MPI_INT, win));
        MUST(MPI_Win_unlock(target, win));
    }
    MUST(MPI_Barrier(MPI_COMM_WORLD));
}

/* One exposure for each rank in turn. */
static void exposures(const struct area *area)
{
    MPI_Group to, from;
    MUST(MPI_Group_incl(world, 1, &target, &to));
    for (int origin = 0; origin < check_size; origin++) {
        MUST(MPI_Group_incl(world, 1, &origin, &from));
        if (check_rank == target)
            MUST(MPI_Win_post(from, 0, area->win));
        if (check_rank == origin) {
            MUST(MPI_Win_start(to, 0, area->win));
            MUST(MPI_Put(data, 2, MPI_INT, target, place(area, target, 0), 2, MPI_INT,
                         area->win));
            MUST(MPI_Win_complete(area->win));
        }
        if (check_rank == target)
            MUST(MPI_Win_wait(area->win));
        MUST(MPI_Group_free(&from));
    }
    MUST(MPI_Group_free(&to));
}

/* ---- conflicts of one rank ---- */

static void of_one_rank(struct area *area, int by_lock)
{
    const int class = MPI_ERR_RMA_CONFLICT;
    MPI_Win win = area->win;
    MPI_Aint at = place(area, right, HERE);
    MPI_Datatype sparse;
    int *own = (int *)(void *)area->base, one = 11, other = 22;
    MUST(MPI_Type_vector(2, 1, 3, MPI_INT, &sparse));
    MUST(MPI_Type_commit(&sparse));
    memset(area->base, 0, INTS * sizeof(int));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(by_lock ? MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win) : MPI_Win_fence(0, win));
    MUST(MPI_Put(&one, 1, MPI_INT, right, at, 1, MPI_INT, win));
    MUST_FAIL(MPI_Put(&other, 1, MPI_INT, right, at, 1, MPI_INT, win), class);
    MUST_FAIL(MPI_Put(data, 2, MPI_INT, right, place(area, right, HERE - 3), 1, sparse, win),
              class);
    MUST_FAIL(MPI_Get(found, 3, MPI_INT, right, place(area, right, HERE - 2), 3, MPI_INT, win),
              class);
    MUST_FAIL(MPI_Accumulate(&other, 1, MPI_INT, right, at, 1, MPI_INT, MPI_SUM, win), class);
    MUST_FAIL(MPI_Fetch_and_op(&other, found, MPI_INT, right, at, MPI_SUM, win), class);
    MUST_FAIL(MPI_Compare_and_swap(&other, &one, found, MPI_INT, right, at, win), class);
    MUST(MPI_Get(found, 2, MPI_INT, right, place(area, right, HERE + 1), 2, MPI_INT, win));
    MUST_FAIL(MPI_Put(&other, 1, MPI_INT, right, place(area, right, HERE + 2), 1, MPI_INT, win),
              class);
    MUST(MPI_Accumulate(&one, 1, MPI_INT, right, place(area, right, HERE + 3), 1, MPI_INT,
                        MPI_SUM, win));
    MUST_FAIL(MPI_Get(found, 1, MPI_INT, right, place(area, right, HERE + 3), 1, MPI_INT, win),
              class);
    if (by_lock) {
        MPI_Request request;
        MUST(MPI_Win_flush_local(right, win));
        /* The target may not have the put yet; the get is complete. */
        MUST_FAIL(MPI_Rput(&other, 1, MPI_INT, right, at, 1, MPI_INT, win, &request), class);
        MUST(MPI_Put(&other, 1, MPI_INT, right, place(area, right, HERE + 2), 1, MPI_INT, win));
        MUST(MPI_Win_unlock(right, win));
        MUST(MPI_Barrier(MPI_COMM_WORLD));
    } else {
        MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    }
    CHECK_EQUAL(own[HERE], one);
    CHECK_EQUAL(own[HERE - 3], 0);
    CHECK_EQUAL(own[HERE + 2], by_lock ? other : 0);
    CHECK_EQUAL(own[HERE + 3], one);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Type_free(&sparse));
}

/* ---- conflicts between ranks ---- */

enum call { PUT, GET, SUM, MAX, CALLS };

static int issue(enum call call, const struct area *area)
{
    MPI_Aint at = place(area, target, HERE);
    switch (call) {
    case PUT:
        return MPI_Put(data, 2, MPI_INT, target, at, 2, MPI_INT, area->win);
    case GET:
        return MPI_Get(found, 2, MPI_INT, target, at, 2, MPI_INT, area->win);
    default:
        return MPI_Accumulate(data, 2, MPI_INT, target, at, 2, MPI_INT,
                              call == SUM ? MPI_SUM : MPI_MAX, area->win);
    }
}

/* How many ranks got an error, which has this class. */
static void expect(int code, int class, int wanted)
{
    int mine = code != MPI_SUCCESS, all = 0;
    if (mine)
        CHECK_EQUAL(check_class(code), class);
    MUST(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQUAL(all, wanted);
}

/* Rank 0 calls `first`, rank 1 `second`, on the same bytes of the last rank. */
static void of_two_ranks(const struct area *area, enum call first, enum call second)
{
    enum call call = check_rank == 0 ? first : second;
    int wanted = first != second || first == PUT, code = MPI_SUCCESS;
    MPI_Win win = area->win;
    MPI_Group to, from;
    MUST(MPI_Win_fence(0, win));
    if (check_rank < 2)
        MUST(issue(call, area));
    expect(MPI_Win_fence(MPI_MODE_NOSUCCEED, win), MPI_ERR_RMA_CONFLICT, wanted);
    MUST(MPI_Group_incl(world, 1, &target, &to));
    MUST(MPI_Group_incl(world, 2, (int[2]){0, 1}, &from));
    if (check_rank == target)
        MUST(MPI_Win_post(from, 0, win));
    if (check_rank < 2) {
        MUST(MPI_Win_start(to, 0, win));
        MUST(issue(call, area));
        code = MPI_Win_complete(win);
    }
    if (check_rank == target)
        MUST(MPI_Win_wait(win));
    expect(code, MPI_ERR_RMA_CONFLICT, wanted);
    MUST(MPI_Group_free(&to));
    MUST(MPI_Group_free(&from));
    /* Rank 1 starts and ends its operation while that of rank 0 is in progress. */
    MUST(MPI_Win_lock_all(0, win));
    if (check_rank == 0)
        MUST(issue(call, area));
    if (check_rank == 0 && first != GET)
        MUST(MPI_Win_flush_local(target, win));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    code = MPI_SUCCESS;
    if (check_rank == 1) {
        MUST(issue(call, area));
        code = MPI_Win_flush(target, win);
    }
    /* How long a get with a lock lasts is known to its origin only. */
    expect(code, MPI_ERR_RMA_CONFLICT, wanted && first != GET);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Win_unlock_all(win));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
}

/* ---- assertions ---- */

/* A fence that denies the operations before it completes them all the same. */
static void denied_operations(const struct area *area)
{
    MPI_Win win = area->win;
    int *own = (int *)(void *)area->base, value = 33;
    own[HERE] = 0;
    MUST(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    if (check_rank == 0)
        MUST(MPI_Put(&value, 1, MPI_INT, target, place(area, target, HERE), 1, MPI_INT, win));
    expect(MPI_Win_fence(MPI_MODE_NOPRECEDE, win), MPI_ERR_ASSERT, 1);
    if (check_rank == target)
        CHECK_EQUAL(own[HERE], value);
    expect(MPI_Win_fence(MPI_MODE_NOPRECEDE, win), MPI_ERR_ASSERT, 0);
    MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
}

/* Rank 0 updates memory of which another rank says that nothing does. */
static void denied_updates(const struct area *area, enum call call)
{
    MPI_Win win = area->win;
    MPI_Group to, from;
    int code = MPI_SUCCESS, no_put = check_rank == target ? MPI_MODE_NOPUT : 0;
    MUST(MPI_Win_fence(no_put, win));
    if (check_rank == 0)
        MUST(issue(call, area));
    expect(MPI_Win_fence(0, win), MPI_ERR_ASSERT, call != GET);
    if (check_rank == 0)
        MUST(issue(call, area));
    expect(MPI_Win_fence(MPI_MODE_NOSUCCEED, win), MPI_ERR_ASSERT, 0);
    MUST(MPI_Group_incl(world, 1, &target, &to));
    MUST(MPI_Group_incl(world, 1, (int[1]){0}, &from));
    for (int round = 0; round < 2; round++) {
        if (check_rank == target)
            MUST(MPI_Win_post(from, round == 0 ? MPI_MODE_NOPUT : 0, win));
        if (check_rank == 0) {
            MUST(MPI_Win_start(to, 0, win));
            MUST(issue(call, area));
            code = MPI_Win_complete(win);
        }
        if (check_rank == target)
            MUST(MPI_Win_wait(win));
        expect(code, MPI_ERR_ASSERT, round == 0 && call != GET);
    }
    MUST(MPI_Group_free(&to));
    MUST(MPI_Group_free(&from));
}

int main(int argc, char **argv)
{
    const char *check = getenv("SUIRO_CHECK");
    check_start(&argc, &argv);
    int is_checked = check_strict() && check != NULL && strcmp(check, "1") == 0;
    right = (check_rank + 1) % check_size;
    target = check_size - 1;
    MUST(MPI_Comm_group(MPI_COMM_WORLD, &world));
    for (int index = 0; index < INTS; index++)
        data[index] = index + 1;
    for (enum kind kind = 0; kind < KINDS; kind++) {
        section("%s", kind_name(kind));
        if (!kind_possible(kind))
            continue;
        struct area area = area_open(kind, INTS * sizeof(int), sizeof(int), MPI_INFO_NULL);
        neighbors_in_memory(&area);
        accumulates(&area);
        ordered(&area);
        exposures(&area);
        /* Elsewhere these programs are wrong. */
        for (int by_lock = 0; is_checked && by_lock < 2; by_lock++)
            of_one_rank(&area, by_lock);
        for (enum call first = 0; is_checked && check_size > 1 && first < CALLS; first++) {
            for (enum call second = 0; second < CALLS; second++)
                of_two_ranks(&area, first, second);
        }
        if (is_checked)
            denied_operations(&area);
        for (enum call call = 0; is_checked && call < CALLS; call++)
            denied_updates(&area, call);
        MUST(MPI_Barrier(MPI_COMM_WORLD));
        area_close(&area, kind);
    }
    MUST(MPI_Group_free(&world));
    return check_end();
}
