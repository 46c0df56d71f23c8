/* Post, start, complete, wait and test: rings, groups that differ by rank, empty groups, epochs
 * without operations, assertions, exposure and access at once, many epochs after each other. */
#include "rma.h"

static int right, left;
static MPI_Group world;

static MPI_Group group_of(int count, const int *ranks)
{
    MPI_Group group;
    MUST(MPI_Group_incl(world, count, ranks, &group));
    return group;
}

/* The end of an exposure by one of two functions. */
static void expect_done(MPI_Win win, int by_test)
{
    int flag = 0;
    if (!by_test) {
        MUST(MPI_Win_wait(win));
        return;
    }
    while (!flag)
        MUST(MPI_Win_test(win, &flag));
}

static void ring(enum kind kind)
{
    enum { ROUNDS = 6 };
    struct area area = area_open(kind, 2 * sizeof(int), sizeof(int), MPI_INFO_NULL);
    int *own = (int *)(void *)area.base;
    MPI_Group to = group_of(1, &right), from = group_of(1, &left);
    for (int round = 0; round < ROUNDS; round++) {
        int value = 100 * round + check_rank, found = -1;
        own[1] = value + 50;
        MUST(MPI_Win_post(from, round % 3 == 1 ? MPI_MODE_NOSTORE : 0, area.win));
        MUST(MPI_Win_start(to, 0, area.win));
        MUST(MPI_Put(&value, 1, MPI_INT, right, area_disp(&area, right, 0), 1, MPI_INT, area.win));
        MUST(MPI_Get(&found, 1, MPI_INT, right, area_disp(&area, right, 4), 1, MPI_INT, area.win));
        MUST(MPI_Win_complete(area.win));
        CHECK_EQUAL(found, 100 * round + right + 50);
        expect_done(area.win, round % 2);
        CHECK_EQUAL(own[0], 100 * round + left);
    }
    MUST(MPI_Group_free(&to));
    MUST(MPI_Group_free(&from));
    area_close(&area, kind);
}

/* Rank r accesses all ranks below it in round 0, and is exposed to all above; then reversed. */
static void triangle(enum kind kind)
{
    struct area area = area_open(kind, (MPI_Aint)sizeof(int) * check_size, 4, MPI_INFO_NULL);
    int *own = (int *)(void *)area.base, below = check_rank, above = check_size - check_rank - 1;
    int *ranks = take(sizeof(int) * (size_t)check_size);
    for (int rank = 0; rank < check_size; rank++)
        ranks[rank] = rank;
    MPI_Group lower = group_of(below, ranks), upper = group_of(above, ranks + check_rank + 1);
    for (int round = 0; round < 2; round++) {
        int first = round == 0 ? 0 : check_rank + 1, last = round == 0 ? below : check_size;
        int value = 10 * round + 1;
        MUST(MPI_Win_post(round == 0 ? upper : lower, 0, area.win));
        MUST(MPI_Win_start(round == 0 ? lower : upper, 0, area.win));
        for (int rank = first; rank < last; rank++)
            MUST(MPI_Accumulate(&value, 1, MPI_INT, rank, area_disp(&area, rank, 4 * check_rank),
                                1, MPI_INT, MPI_SUM, area.win));
        MUST(MPI_Win_complete(area.win));
        MUST(MPI_Win_wait(area.win));
        for (int rank = 0; rank < check_size; rank++) {
            int due = rank > check_rank ? 1 : rank < check_rank && round == 1 ? 11 : 0;
            CHECK_EQUAL(own[rank], due);
        }
    }
    MUST(MPI_Group_free(&lower));
    MUST(MPI_Group_free(&upper));
    free(ranks);
    area_close(&area, kind);
}

/* One target of all other ranks and of itself; the accumulates of all are in its memory at the
 * end, of which MPI_Win_test tells. Then one origin of all. */
static void many_and_one(enum kind kind)
{
    struct area area = area_open(kind, sizeof(int64_t), 1, MPI_INFO_NULL);
    int64_t one = 1, *own = (int64_t *)(void *)area.base;
    int hub = check_size - 1;
    MPI_Group center = group_of(1, &hub);
    for (int round = 0; round < 3; round++) {
        if (check_rank == hub)
            MUST(MPI_Win_post(world, 0, area.win));
        MUST(MPI_Win_start(center, 0, area.win));
        MUST(MPI_Accumulate(&one, 1, MPI_INT64_T, hub, area_disp(&area, hub, 0), 1, MPI_INT64_T,
                            MPI_SUM, area.win));
        MUST(MPI_Win_complete(area.win));
        if (check_rank == hub) {
            expect_done(area.win, round != 1);
            CHECK_EQUAL(*own, (round + 1) * check_size);
        }
    }
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    for (int round = 0; round < 3; round++) {
        int64_t value = 1000 + round;
        MUST(MPI_Win_post(center, 0, area.win));
        if (check_rank == hub) {
            MUST(MPI_Win_start(world, 0, area.win));
            for (int rank = 0; rank < check_size; rank++)
                MUST(MPI_Put(&value, 1, MPI_INT64_T, rank, area_disp(&area, rank, 0), 1,
                             MPI_INT64_T, area.win));
            MUST(MPI_Win_complete(area.win));
        }
        expect_done(area.win, round == 1);
        CHECK_EQUAL(*own, value);
    }
    MUST(MPI_Group_free(&center));
    area_close(&area, kind);
}

/* Empty groups, and epochs in which nothing is done. */
static void nothing(enum kind kind)
{
    struct area area = area_open(kind, 8, 1, MPI_INFO_NULL);
    MPI_Group to = group_of(1, &right), from = group_of(1, &left);
    for (int round = 0; round < 4; round++) {
        /* MPICH 5 counts the posts of the next epoch here, and waits for ever. */
        if (check_strict()) {
            MUST(MPI_Win_post(MPI_GROUP_EMPTY, 0, area.win));
            MUST(MPI_Win_start(MPI_GROUP_EMPTY, 0, area.win));
            MUST(MPI_Win_complete(area.win));
            expect_done(area.win, round % 2);
        }
        MUST(MPI_Win_post(from, 0, area.win));
        MUST(MPI_Win_start(to, 0, area.win));
        MUST(MPI_Win_complete(area.win));
        expect_done(area.win, round / 2);
    }
    MUST(MPI_Group_free(&to));
    MUST(MPI_Group_free(&from));
    area_close(&area, kind);
}

/* MPI_Win_test says no while the access goes on: the origin waits for a message sent after it. */
static void not_yet(enum kind kind)
{
    struct area area = area_open(kind, 4, 1, MPI_INFO_NULL);
    MPI_Group to = group_of(1, &right), from = group_of(1, &left);
    int flag = 1, value = check_rank;
    MUST(MPI_Win_post(from, 0, area.win));
    MUST(MPI_Win_start(to, 0, area.win));
    MUST(MPI_Put(&value, 1, MPI_INT, right, area_disp(&area, right, 0), 1, MPI_INT, area.win));
    MUST(MPI_Win_test(area.win, &flag));
    CHECK(!flag);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Win_complete(area.win));
    expect_done(area.win, 1);
    CHECK_EQUAL(*(int *)(void *)area.base, left);
    MUST(MPI_Group_free(&to));
    MUST(MPI_Group_free(&from));
    area_close(&area, kind);
}

/* Posts come before starts by another message, so that starts need not wait. */
static void unchecked(enum kind kind)
{
    struct area area = area_open(kind, 4, 1, MPI_INFO_NULL);
    MPI_Group to = group_of(1, &right), from = group_of(1, &left);
    for (int round = 0; round < 3; round++) {
        int value = 70 * round + check_rank;
        MUST(MPI_Win_post(from, MPI_MODE_NOCHECK, area.win));
        MUST(MPI_Barrier(MPI_COMM_WORLD));
        MUST(MPI_Win_start(to, MPI_MODE_NOCHECK, area.win));
        MUST(MPI_Put(&value, 1, MPI_INT, right, area_disp(&area, right, 0), 1, MPI_INT,
                     area.win));
        MUST(MPI_Win_complete(area.win));
        MUST(MPI_Win_wait(area.win));
        CHECK_EQUAL(*(int *)(void *)area.base, 70 * round + left);
    }
    MUST(MPI_Group_free(&to));
    MUST(MPI_Group_free(&from));
    area_close(&area, kind);
}

/* Two windows with exposures at once, ended in the other order. */
static void two_windows(enum kind kind)
{
    struct area areas[2] = {area_open(kind, 4, 1, MPI_INFO_NULL),
                            area_open(kind, 4, 1, MPI_INFO_NULL)};
    MPI_Group to = group_of(1, &right), from = group_of(1, &left);
    int value[2] = {check_rank + 1, check_rank + 1001};
    for (int which = 0; which < 2; which++)
        MUST(MPI_Win_post(from, 0, areas[which].win));
    for (int which = 1; which >= 0; which--)
        MUST(MPI_Win_start(to, 0, areas[which].win));
    for (int which = 0; which < 2; which++)
        MUST(MPI_Put(&value[which], 1, MPI_INT, right, area_disp(&areas[which], right, 0), 1,
                     MPI_INT, areas[which].win));
    for (int which = 1; which >= 0; which--)
        MUST(MPI_Win_complete(areas[which].win));
    for (int which = 0; which < 2; which++)
        MUST(MPI_Win_wait(areas[which].win));
    CHECK_EQUAL(*(int *)(void *)areas[0].base, left + 1);
    CHECK_EQUAL(*(int *)(void *)areas[1].base, left + 1001);
    MUST(MPI_Group_free(&to));
    MUST(MPI_Group_free(&from));
    area_close(&areas[0], kind);
    area_close(&areas[1], kind);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    right = (check_rank + 1) % check_size;
    left = (check_rank + check_size - 1) % check_size;
    MUST(MPI_Comm_group(MPI_COMM_WORLD, &world));
    for (enum kind kind = 0; kind < KINDS; kind++) {
        section("%s", kind_name(kind));
        if (!kind_possible(kind))
            continue;
        ring(kind);
        triangle(kind);
        many_and_one(kind);
        nothing(kind);
        not_yet(kind);
        unchecked(kind);
        two_windows(kind);
    }
    MUST(MPI_Group_free(&world));
    return check_end();
}
