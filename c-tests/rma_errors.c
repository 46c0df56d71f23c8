/* Errors of one-sided communication: the class of each misuse, epochs that survive it, and memory
 * that stays as it was. */
#include "rma.h"

enum { UNTOUCHED = 0x5a, BYTES = 64 };

static int right, left;
static int one = 1, found;

static void fresh(struct area *area)
{
    memset(area->base, UNTOUCHED, BYTES);
    found = 77;
}

/* Nothing has been written, here or at the origin. */
static void unchanged(const struct area *area)
{
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    for (int place = 0; place < BYTES; place++)
        CHECK_EQUAL(area->base[place], UNTOUCHED);
    CHECK_EQUAL(found, 77);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
}

/* Every operation fails with this class. */
static void operations_fail(int rank, MPI_Aint disp, int class, MPI_Win win)
{
    int compare = 0;
    MUST_FAIL(MPI_Put(&one, 1, MPI_INT, rank, disp, 1, MPI_INT, win), class);
    MUST_FAIL(MPI_Put_c(&one, 1, MPI_INT, rank, disp, 1, MPI_INT, win), class);
    MUST_FAIL(MPI_Get(&found, 1, MPI_INT, rank, disp, 1, MPI_INT, win), class);
    MUST_FAIL(MPI_Get_c(&found, 1, MPI_INT, rank, disp, 1, MPI_INT, win), class);
    MUST_FAIL(MPI_Accumulate(&one, 1, MPI_INT, rank, disp, 1, MPI_INT, MPI_SUM, win), class);
    MUST_FAIL(MPI_Accumulate_c(&one, 1, MPI_INT, rank, disp, 1, MPI_INT, MPI_SUM, win), class);
    MUST_FAIL(MPI_Get_accumulate(&one, 1, MPI_INT, &found, 1, MPI_INT, rank, disp, 1, MPI_INT,
                                 MPI_SUM, win), class);
    MUST_FAIL(MPI_Fetch_and_op(&one, &found, MPI_INT, rank, disp, MPI_SUM, win), class);
    MUST_FAIL(MPI_Compare_and_swap(&one, &compare, &found, MPI_INT, rank, disp, win), class);
}

static void requests_fail(int rank, MPI_Aint disp, int class, MPI_Win win)
{
    MPI_Request request = MPI_REQUEST_NULL;
    /* MPICH 5 lets them pass without an epoch. */
    if (!check_strict() && class == MPI_ERR_RMA_SYNC)
        return;
    MUST_FAIL(MPI_Rput(&one, 1, MPI_INT, rank, disp, 1, MPI_INT, win, &request), class);
    MUST_FAIL(MPI_Rget(&found, 1, MPI_INT, rank, disp, 1, MPI_INT, win, &request), class);
    MUST_FAIL(MPI_Raccumulate(&one, 1, MPI_INT, rank, disp, 1, MPI_INT, MPI_SUM, win, &request),
              class);
    MUST_FAIL(MPI_Rget_accumulate(&one, 1, MPI_INT, &found, 1, MPI_INT, rank, disp, 1, MPI_INT,
                                  MPI_SUM, win, &request), class);
}

/* Calls outside of the epoch that they need. */
static void without_epoch(struct area *area)
{
    int flag = 0;
    MPI_Win win = area->win;
    fresh(area);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    operations_fail(right, area_disp(area, right, 0), MPI_ERR_RMA_SYNC, win);
    requests_fail(right, area_disp(area, right, 0), MPI_ERR_RMA_SYNC, win);
    MUST_FAIL(MPI_Win_unlock(right, win), MPI_ERR_RMA_SYNC);
    MUST_FAIL(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC);
    MUST_FAIL(MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
    MUST_FAIL(MPI_Win_wait(win), MPI_ERR_RMA_SYNC);
    MUST_FAIL(MPI_Win_test(win, &flag), MPI_ERR_RMA_SYNC);
    MUST_FAIL(MPI_Win_flush(right, win), MPI_ERR_RMA_SYNC);
    MUST_FAIL(MPI_Win_flush_all(win), MPI_ERR_RMA_SYNC);
    MUST_FAIL(MPI_Win_flush_local(right, win), MPI_ERR_RMA_SYNC);
    MUST_FAIL(MPI_Win_flush_local_all(win), MPI_ERR_RMA_SYNC);
    unchanged(area);
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    /* MPICH 5 opens an epoch all the same. */
    if (check_strict())
        operations_fail(right, area_disp(area, right, 0), MPI_ERR_RMA_SYNC, win);
    unchanged(area);
}

/* A second epoch where one is open; the open one goes on. */
static void nested(struct area *area)
{
    MPI_Group world, to, from;
    MPI_Win win = area->win;
    int other = (right + 1) % check_size, value = 5;
    MUST(MPI_Comm_group(MPI_COMM_WORLD, &world));
    MUST(MPI_Group_incl(world, 1, &right, &to));
    MUST(MPI_Group_incl(world, 1, &left, &from));
    fresh(area);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
    MUST_FAIL(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win), MPI_ERR_RMA_SYNC);
    MUST_FAIL(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
    MUST_FAIL(MPI_Win_start(to, 0, win), MPI_ERR_RMA_SYNC);
    MUST_FAIL(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC);
    MUST_FAIL(MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
    MUST_FAIL(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC);
    /* MPICH 5 asserts, or takes them for operations of a new epoch. */
    if (other != right && check_strict()) {
        operations_fail(other, area_disp(area, other, 0), MPI_ERR_RMA_SYNC, win);
        MUST_FAIL(MPI_Win_unlock(other, win), MPI_ERR_RMA_SYNC);
        MUST_FAIL(MPI_Win_flush(other, win), MPI_ERR_RMA_SYNC);
    }
    MUST(MPI_Win_unlock(right, win));
    MUST(MPI_Win_lock_all(0, win));
    MUST_FAIL(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
    MUST_FAIL(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win), MPI_ERR_RMA_SYNC);
    MUST_FAIL(MPI_Win_unlock(right, win), MPI_ERR_RMA_SYNC);
    MUST_FAIL(MPI_Win_start(to, 0, win), MPI_ERR_RMA_SYNC);
    MUST_FAIL(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC);
    MUST(MPI_Win_unlock_all(win));
    unchanged(area);
    MUST(MPI_Win_post(from, 0, win));
    MUST_FAIL(MPI_Win_post(from, 0, win), MPI_ERR_RMA_SYNC);
    CHECK_STRICTLY(check_class(MPI_Win_fence(0, win)) == MPI_ERR_RMA_SYNC);
    MUST(MPI_Win_start(to, 0, win));
    MUST_FAIL(MPI_Win_start(to, 0, win), MPI_ERR_RMA_SYNC);
    MUST_FAIL(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win), MPI_ERR_RMA_SYNC);
    MUST_FAIL(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
    CHECK_STRICTLY(check_class(MPI_Win_flush(right, win)) == MPI_ERR_RMA_SYNC);
    /* Requests are of passive epochs only. */
    requests_fail(right, area_disp(area, right, 0), MPI_ERR_RMA_SYNC, win);
    if (other != right && check_strict())
        operations_fail(other, area_disp(area, other, 0), MPI_ERR_RMA_SYNC, win);
    MUST(MPI_Put(&value, 1, MPI_INT, right, area_disp(area, right, 8), 1, MPI_INT, win));
    MUST(MPI_Win_complete(win));
    MUST(MPI_Win_wait(win));
    CHECK_EQUAL(((int *)(void *)area->base)[2], 5);
    MUST(MPI_Group_free(&world));
    MUST(MPI_Group_free(&to));
    MUST(MPI_Group_free(&from));
}

/* A window is not freed within an epoch, and is as usable as before. */
static void freed_in_an_epoch(enum kind kind)
{
    struct area area = area_open(kind, 8, 1, MPI_INFO_NULL);
    MPI_Win win = area.win;
    int value = check_rank;
    if (check_strict()) {
        MUST(MPI_Barrier(MPI_COMM_WORLD));
        MUST(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, area.win));
        MUST_FAIL(MPI_Win_free(&win), MPI_ERR_RMA_SYNC);
        CHECK(win == area.win);
        MUST(MPI_Put(&value, 1, MPI_INT, right, area_disp(&area, right, 0), 1, MPI_INT, win));
        MUST(MPI_Win_unlock(right, win));
        MUST(MPI_Barrier(MPI_COMM_WORLD));
        CHECK_EQUAL(*(int *)(void *)area.base, left);
    }
    area_close(&area, kind);
}

/* Arguments of operations, inside an epoch. */
static void arguments(struct area *area)
{
    MPI_Win win = area->win;
    const MPI_Aint start = area_disp(area, right, 0);
    const MPI_Datatype none = MPI_DATATYPE_NULL;
    fresh(area);
    MUST(MPI_Win_fence(0, win));
    operations_fail(check_size, start, MPI_ERR_RANK, win);
    operations_fail(-7, start, MPI_ERR_RANK, win);
    MUST_FAIL(MPI_Put(&one, -1, MPI_INT, right, start, 1, MPI_INT, win), MPI_ERR_COUNT);
    MUST_FAIL(MPI_Put(&one, 1, MPI_INT, right, start, -1, MPI_INT, win), MPI_ERR_COUNT);
    MUST_FAIL(MPI_Get(&found, -1, MPI_INT, right, start, 1, MPI_INT, win), MPI_ERR_COUNT);
    MUST_FAIL(MPI_Get_c(&found, 1, MPI_INT, right, start, -1, MPI_INT, win), MPI_ERR_COUNT);
    MUST_FAIL(MPI_Accumulate(&one, -1, MPI_INT, right, start, 1, MPI_INT, MPI_SUM, win),
              MPI_ERR_COUNT);
    MUST_FAIL(MPI_Get_accumulate(&one, 1, MPI_INT, &found, -1, MPI_INT, right, start, 1, MPI_INT,
                                 MPI_SUM, win), MPI_ERR_COUNT);
    MUST_FAIL(MPI_Put(&one, 1, none, right, start, 1, MPI_INT, win), MPI_ERR_TYPE);
    MUST_FAIL(MPI_Put(&one, 1, MPI_INT, right, start, 1, none, win), MPI_ERR_TYPE);
    MUST_FAIL(MPI_Get(&found, 1, none, right, start, 1, MPI_INT, win), MPI_ERR_TYPE);
    MUST_FAIL(MPI_Accumulate(&one, 1, MPI_INT, right, start, 1, none, MPI_SUM, win),
              MPI_ERR_TYPE);
    MUST_FAIL(MPI_Fetch_and_op(&one, &found, none, right, start, MPI_SUM, win), MPI_ERR_TYPE);
    MUST_FAIL(MPI_Compare_and_swap(&one, &one, &found, none, right, start, win), MPI_ERR_TYPE);
    MPI_Datatype pair, mixed, parts[2] = {MPI_INT, MPI_FLOAT};
    int lengths[2] = {1, 1};
    MPI_Aint places[2] = {0, 4};
    MUST(MPI_Type_contiguous(2, MPI_INT, &pair));
    MUST_FAIL(MPI_Put(&one, 1, pair, right, start, 1, MPI_INT, win), MPI_ERR_TYPE);
    MUST(MPI_Type_commit(&pair));
    MUST(MPI_Type_create_struct(2, lengths, places, parts, &mixed));
    MUST(MPI_Type_commit(&mixed));
    int two[2] = {1, 1}, result[2];
    float number = 1, before = 0;
    MUST_FAIL(MPI_Fetch_and_op(two, result, pair, right, start, MPI_SUM, win), MPI_ERR_TYPE);
    MUST_FAIL(MPI_Compare_and_swap(two, two, result, pair, right, start, win), MPI_ERR_TYPE);
    MUST_FAIL(MPI_Compare_and_swap(&number, &before, &found, MPI_FLOAT, right, start, win),
              MPI_ERR_TYPE);
    if (check_strict()) {
        /* Elements of two types, or of unlike ones on the two sides. */
        MUST_FAIL(MPI_Accumulate(two, 1, mixed, right, start, 1, mixed, MPI_SUM, win),
                  MPI_ERR_TYPE);
        MUST_FAIL(MPI_Accumulate(&number, 1, MPI_FLOAT, right, start, 1, MPI_INT, MPI_SUM, win),
                  MPI_ERR_TYPE);
    }
    MUST(MPI_Type_free(&pair));
    MUST(MPI_Type_free(&mixed));
    unchanged(area);
    MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
}

static void keep(void *from, void *into, int *count, MPI_Datatype *type)
{
    (void)from, (void)into, (void)count, (void)type;
}

/* Operations that do not exist here, or not for the type. */
static void wrong_operations(struct area *area)
{
    MPI_Win win = area->win;
    const MPI_Aint start = area_disp(area, right, 0);
    MPI_Op own;
    double number = 1, result;
    char byte = 1;
    MUST(MPI_Op_create(keep, 1, &own));
    fresh(area);
    MUST(MPI_Win_fence(0, win));
    MUST_FAIL(MPI_Accumulate(&one, 1, MPI_INT, right, start, 1, MPI_INT, own, win), MPI_ERR_OP);
    MUST_FAIL(MPI_Get_accumulate(&one, 1, MPI_INT, &found, 1, MPI_INT, right, start, 1, MPI_INT,
                                 own, win), MPI_ERR_OP);
    MUST_FAIL(MPI_Fetch_and_op(&one, &found, MPI_INT, right, start, own, win), MPI_ERR_OP);
    MUST_FAIL(MPI_Accumulate(&one, 1, MPI_INT, right, start, 1, MPI_INT, MPI_OP_NULL, win),
              MPI_ERR_OP);
    MUST_FAIL(MPI_Fetch_and_op(&one, &found, MPI_INT, right, start, MPI_OP_NULL, win),
              MPI_ERR_OP);
    /* MPICH 5 asserts at the end of the epoch. */
    if (check_strict()) {
        MUST_FAIL(MPI_Accumulate(&number, 1, MPI_DOUBLE, right, start, 1, MPI_DOUBLE, MPI_BAND,
                                 win), MPI_ERR_OP);
        MUST_FAIL(MPI_Accumulate(&one, 1, MPI_INT, right, start, 1, MPI_INT, MPI_MINLOC, win),
                  MPI_ERR_OP);
        MUST_FAIL(MPI_Accumulate(&one, 1, MPI_INT, right, start, 1, MPI_INT, MPI_NO_OP, win),
                  MPI_ERR_OP);
        MUST_FAIL(MPI_Fetch_and_op(&number, &result, MPI_DOUBLE, right, start, MPI_LXOR, win),
                  MPI_ERR_OP);
        MUST_FAIL(MPI_Accumulate(&byte, 1, MPI_BYTE, right, start, 1, MPI_BYTE, MPI_SUM, win),
                  MPI_ERR_OP);
    }
    unchanged(area);
    MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    MUST(MPI_Op_free(&own));
}

/* Displacements outside of the memory of the target: also if only the last byte is outside. */
static void outside(struct area *area, enum kind kind)
{
    MPI_Win win = area->win;
    const MPI_Aint start = area->starts[right];
    const MPI_Aint beyond[] = {BYTES, BYTES - 3, 1 << 30};
    fresh(area);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    if (!check_strict())
        return;
    if (kind != DYNAMIC) {
        MUST(MPI_Win_lock_all(0, win));
        for (int index = 0; index < 3; index++) {
            operations_fail(right, beyond[index], MPI_ERR_RMA_RANGE, win);
            requests_fail(right, beyond[index], MPI_ERR_RMA_RANGE, win);
        }
        MUST_FAIL_2(MPI_Put(&one, 1, MPI_INT, right, -1, 1, MPI_INT, win), MPI_ERR_DISP,
                    MPI_ERR_RMA_RANGE);
        MUST_FAIL_2(MPI_Put(&one, 1, MPI_INT, right, PTRDIFF_MAX, 1, MPI_INT, win), MPI_ERR_DISP,
                    MPI_ERR_RMA_RANGE);
        MUST(MPI_Win_unlock_all(win));
        unchanged(area);
        return;
    }
    /* Only the target knows what is attached: the error may come from the flush. */
    for (int index = 0; index < 3; index++) {
        MPI_Aint disp = MPI_Aint_add(start, beyond[index]);
        MUST(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
        int code = MPI_Put(&one, 1, MPI_INT, right, disp, 1, MPI_INT, win);
        if (code == MPI_SUCCESS)
            code = MPI_Win_flush(right, win);
        CHECK_EQUAL(check_class(code), MPI_ERR_RMA_RANGE);
        code = MPI_Get(&found, 1, MPI_INT, right, disp, 1, MPI_INT, win);
        if (code == MPI_SUCCESS)
            code = MPI_Win_flush(right, win);
        CHECK_EQUAL(check_class(code), MPI_ERR_RMA_RANGE);
        code = MPI_Fetch_and_op(&one, &found, MPI_INT, right, disp, MPI_SUM, win);
        if (code == MPI_SUCCESS)
            code = MPI_Win_flush(right, win);
        CHECK_EQUAL(check_class(code), MPI_ERR_RMA_RANGE);
        MUST(MPI_Win_unlock(right, win));
    }
    unchanged(area);
}

/* Arguments of synchronization. */
static void synchronization(struct area *area)
{
    MPI_Win win = area->win;
    MUST_FAIL(MPI_Win_lock(MPI_LOCK_SHARED, check_size, 0, win), MPI_ERR_RANK);
    MUST_FAIL(MPI_Win_lock(MPI_LOCK_SHARED, -7, 0, win), MPI_ERR_RANK);
    MUST_FAIL_2(MPI_Win_lock(17, right, 0, win), MPI_ERR_LOCKTYPE, MPI_ERR_ARG);
    MUST_FAIL_2(MPI_Win_lock(MPI_LOCK_SHARED, right, 1 << 20, win), MPI_ERR_ASSERT, MPI_ERR_ARG);
    MUST_FAIL_2(MPI_Win_fence(1 << 20, win), MPI_ERR_ASSERT, MPI_ERR_ARG);
    CHECK_STRICTLY(check_class(MPI_Win_lock_all(1 << 20, win)) == MPI_ERR_ASSERT);
    MUST_FAIL(MPI_Win_post(MPI_GROUP_NULL, 0, win), MPI_ERR_GROUP);
    MUST_FAIL(MPI_Win_start(MPI_GROUP_NULL, 0, win), MPI_ERR_GROUP);
    if (check_strict()) {
        MUST_FAIL(MPI_Win_post(MPI_GROUP_EMPTY, 1 << 20, win), MPI_ERR_ASSERT);
        MUST_FAIL(MPI_Win_start(MPI_GROUP_EMPTY, 1 << 20, win), MPI_ERR_ASSERT);
    }
    MUST(MPI_Win_lock_all(0, win));
    MUST_FAIL(MPI_Win_flush(check_size, win), MPI_ERR_RANK);
    MUST_FAIL(MPI_Win_flush_local(-7, win), MPI_ERR_RANK);
    MUST(MPI_Win_unlock_all(win));
}

/* No window. */
static void null_window(void)
{
    MPI_Win null = MPI_WIN_NULL;
    MPI_Aint size;
    MPI_Group group;
    int unit, flag;
    void *base;
    MUST(MPI_Comm_group(MPI_COMM_WORLD, &group));
    operations_fail(right, 0, MPI_ERR_WIN, null);
    requests_fail(right, 0, MPI_ERR_WIN, null);
    MUST_FAIL(MPI_Win_fence(0, null), MPI_ERR_WIN);
    MUST_FAIL(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, null), MPI_ERR_WIN);
    MUST_FAIL(MPI_Win_unlock(right, null), MPI_ERR_WIN);
    MUST_FAIL(MPI_Win_lock_all(0, null), MPI_ERR_WIN);
    MUST_FAIL(MPI_Win_unlock_all(null), MPI_ERR_WIN);
    MUST_FAIL(MPI_Win_flush(right, null), MPI_ERR_WIN);
    MUST_FAIL(MPI_Win_flush_all(null), MPI_ERR_WIN);
    MUST_FAIL(MPI_Win_flush_local(right, null), MPI_ERR_WIN);
    MUST_FAIL(MPI_Win_flush_local_all(null), MPI_ERR_WIN);
    MUST_FAIL(MPI_Win_sync(null), MPI_ERR_WIN);
    MUST_FAIL(MPI_Win_post(group, 0, null), MPI_ERR_WIN);
    MUST_FAIL(MPI_Win_start(group, 0, null), MPI_ERR_WIN);
    MUST_FAIL(MPI_Win_complete(null), MPI_ERR_WIN);
    MUST_FAIL(MPI_Win_wait(null), MPI_ERR_WIN);
    MUST_FAIL(MPI_Win_test(null, &flag), MPI_ERR_WIN);
    MUST_FAIL(MPI_Win_shared_query(null, 0, &size, &unit, &base), MPI_ERR_WIN);
    MUST_FAIL(MPI_Win_attach(null, &one, sizeof one), MPI_ERR_WIN);
    MUST_FAIL(MPI_Win_detach(null, &one), MPI_ERR_WIN);
    MUST(MPI_Group_free(&group));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    right = (check_rank + 1) % check_size;
    left = (check_rank + check_size - 1) % check_size;
    section("no window");
    null_window();
    for (enum kind kind = 0; kind < KINDS; kind++) {
        section("%s", kind_name(kind));
        if (!kind_possible(kind))
            continue;
        struct area area = area_open(kind, BYTES, 1, MPI_INFO_NULL);
        without_epoch(&area);
        nested(&area);
        arguments(&area);
        wrong_operations(&area);
        outside(&area, kind);
        synchronization(&area);
        area_close(&area, kind);
        freed_in_an_epoch(kind);
    }
    return check_end();
}
