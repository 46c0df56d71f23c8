/* Groups: set operations, ranges, translation and comparison, against lists made by hand. */
#include "check.h"

static MPI_Group world;

/* The group has exactly these world ranks in this order. Frees it. */
static void expect(MPI_Group group, int count, const int *ranks)
{
    int size = -1, mine = MPI_UNDEFINED, rank = -1;
    MUST(MPI_Group_size(group, &size));
    CHECK_EQUAL(size, count);
    MUST(MPI_Group_rank(group, &rank));
    for (int place = 0; place < size && place < count; place++) {
        int in_world = -1;
        MUST(MPI_Group_translate_ranks(group, 1, &place, world, &in_world));
        CHECK_EQUAL(in_world, ranks[place]);
        if (ranks[place] == check_rank)
            mine = place;
    }
    CHECK_EQUAL(rank, mine);
    if (group != MPI_GROUP_EMPTY)
        MUST(MPI_Group_free(&group));
}

/* A list of the ranks first, first + step, ... below the size. */
static int list(int *ranks, int first, int step)
{
    int count = 0;
    for (int rank = first; rank < check_size; rank += step)
        ranks[count++] = rank;
    return count;
}

static void include_and_exclude(void)
{
    int ranks[64], others[64];
    MPI_Group group;
    for (int place = 0; place < check_size; place++)
        ranks[place] = check_size - 1 - place;
    MUST(MPI_Group_incl(world, check_size, ranks, &group));
    expect(group, check_size, ranks);
    int even = list(ranks, 0, 2), odd = list(others, 1, 2);
    MUST(MPI_Group_incl(world, even, ranks, &group));
    expect(group, even, ranks);
    MUST(MPI_Group_excl(world, even, ranks, &group));
    expect(group, odd, others);
    MUST(MPI_Group_excl(world, 0, NULL, &group));
    expect(group, check_size, (list(ranks, 0, 1), ranks));
    MUST(MPI_Group_incl(world, 0, NULL, &group));
    CHECK(group == MPI_GROUP_EMPTY);
    MUST(MPI_Group_excl(world, check_size, ranks, &group));
    CHECK(group == MPI_GROUP_EMPTY);
}

static void ranges(void)
{
    int ranks[64] = {0}, last = check_size - 1, count;
    int range[2][3] = {{last, 0, -2}, {0, 0, 1}};
    MPI_Group group;
    count = 0;
    for (int rank = last; rank >= 0; rank -= 2)
        ranks[count++] = rank;
    MUST(MPI_Group_range_incl(world, 1, range, &group));
    expect(group, count, ranks);
    count = 0;
    for (int rank = 0; rank <= last; rank++)
        if ((last - rank) % 2)
            ranks[count++] = rank;
    MUST(MPI_Group_range_excl(world, 1, range, &group));
    expect(group, count, ranks);
    int both[2][3] = {{last, last, 1}, {0, last - 1, 3}};
    count = 0;
    ranks[count++] = last;
    for (int rank = 0; rank <= last - 1; rank += 3)
        ranks[count++] = rank;
    MUST(MPI_Group_range_incl(world, last > 0 ? 2 : 1, both, &group));
    expect(group, count, ranks);
    MUST(MPI_Group_range_incl(world, 0, both, &group));
    CHECK(group == MPI_GROUP_EMPTY);
}

static void set_operations(void)
{
    int evens[64], thirds[64], ranks[64], count = 0;
    int even = list(evens, 0, 2), third = list(thirds, 0, 3);
    MPI_Group first, second, group;
    MUST(MPI_Group_incl(world, even, evens, &first));
    MUST(MPI_Group_incl(world, third, thirds, &second));
    MUST(MPI_Group_union(first, second, &group));
    memcpy(ranks, evens, sizeof ranks);
    count = even;
    for (int place = 0; place < third; place++)
        if (thirds[place] % 2)
            ranks[count++] = thirds[place];
    expect(group, count, ranks);
    MUST(MPI_Group_intersection(first, second, &group));
    expect(group, list(ranks, 0, 6), ranks);
    MUST(MPI_Group_difference(first, second, &group));
    count = 0;
    for (int place = 0; place < even; place++)
        if (evens[place] % 3)
            ranks[count++] = evens[place];
    expect(group, count, ranks);
    MUST(MPI_Group_difference(first, first, &group));
    CHECK(group == MPI_GROUP_EMPTY);
    MUST(MPI_Group_union(first, MPI_GROUP_EMPTY, &group));
    expect(group, even, evens);
    MUST(MPI_Group_intersection(MPI_GROUP_EMPTY, second, &group));
    CHECK(group == MPI_GROUP_EMPTY);
    MUST(MPI_Group_free(&first));
    MUST(MPI_Group_free(&second));
}

static void compare(void)
{
    int ranks[64], result = -1, size = -1, rank = -1;
    MPI_Group same, reversed, fewer;
    list(ranks, 0, 1);
    MUST(MPI_Group_incl(world, check_size, ranks, &same));
    for (int place = 0; place < check_size; place++)
        ranks[place] = check_size - 1 - place;
    MUST(MPI_Group_incl(world, check_size, ranks, &reversed));
    MUST(MPI_Group_incl(world, check_size - 1, ranks, &fewer));
    MUST(MPI_Group_compare(world, same, &result));
    CHECK_EQUAL(result, MPI_IDENT);
    MUST(MPI_Group_compare(world, reversed, &result));
    CHECK_EQUAL(result, check_size > 1 ? MPI_SIMILAR : MPI_IDENT);
    MUST(MPI_Group_compare(world, fewer, &result));
    CHECK_EQUAL(result, MPI_UNEQUAL);
    MUST(MPI_Group_compare(MPI_GROUP_EMPTY, MPI_GROUP_EMPTY, &result));
    CHECK_EQUAL(result, MPI_IDENT);
    MUST(MPI_Group_size(MPI_GROUP_EMPTY, &size));
    CHECK_EQUAL(size, 0);
    MUST(MPI_Group_rank(MPI_GROUP_EMPTY, &rank));
    CHECK_EQUAL(rank, MPI_UNDEFINED);
    MUST(MPI_Group_free(&same));
    MUST(MPI_Group_free(&reversed));
    if (fewer != MPI_GROUP_EMPTY)
        MUST(MPI_Group_free(&fewer));
}

static void translate(void)
{
    int evens[64], from[3] = {0, MPI_PROC_NULL, check_size - 1}, to[3];
    MPI_Group group;
    int even = list(evens, 0, 2);
    MUST(MPI_Group_incl(world, even, evens, &group));
    MUST(MPI_Group_translate_ranks(world, 3, from, group, to));
    CHECK_EQUAL(to[0], 0);
    CHECK_EQUAL(to[1], MPI_PROC_NULL);
    CHECK_EQUAL(to[2], check_size % 2 ? check_size / 2 : MPI_UNDEFINED);
    MUST(MPI_Group_translate_ranks(world, 0, NULL, group, NULL));
    MUST(MPI_Group_free(&group));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    MUST(MPI_Comm_group(MPI_COMM_WORLD, &world));
    section("include and exclude");
    include_and_exclude();
    section("ranges");
    ranges();
    section("set operations");
    set_operations();
    section("compare and translate");
    compare();
    translate();
    MUST(MPI_Group_free(&world));
    CHECK(world == MPI_GROUP_NULL);
    return check_end();
}
