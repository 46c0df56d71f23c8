/* Derived datatypes on both sides of one-sided operations: every layout with every other one, compared
 * with MPI_Pack and MPI_Unpack; types that are freed before the operation completes; elements of
 * several types; long operations with holes. */
#include "rma.h"

#include <stddef.h>

enum { INTS = 12, ROOM = 512, START = 160, LAYOUTS = 10 };

static int right, left;
static MPI_Datatype made[LAYOUTS];

/* Each layout has INTS integers within ROOM bytes; the first may lie behind others. */
static void make_layouts(void)
{
    MPI_Datatype pair, part;
    int lengths[3] = {3, 7, 2}, places[3] = {20, 4, 0}, sizes[2] = {6, 8}, inner[2] = {3, 4},
        starts[2] = {2, 1}, singles[INTS];
    MPI_Aint bytes[3] = {-40, 100, -80};
    MPI_Datatype parts[3] = {MPI_INT, MPI_INT, MPI_INT};
    for (int index = 0; index < INTS; index++)
        singles[index] = 2 * (INTS - index) + index % 2;
    MUST(MPI_Type_contiguous(INTS, MPI_INT, &made[0]));
    MUST(MPI_Type_vector(4, 3, 5, MPI_INT, &made[1]));
    MUST(MPI_Type_vector(INTS, 1, -2, MPI_INT, &made[2]));
    MUST(MPI_Type_indexed(3, lengths, places, MPI_INT, &made[3]));
    MUST(MPI_Type_create_hindexed(3, lengths, bytes, MPI_INT, &made[4]));
    MUST(MPI_Type_create_struct(3, lengths, bytes, parts, &made[5]));
    MUST(MPI_Type_create_subarray(2, sizes, inner, starts, MPI_ORDER_C, MPI_INT, &made[6]));
    MUST(MPI_Type_create_indexed_block(INTS, 1, singles, MPI_INT, &made[7]));
    MUST(MPI_Type_contiguous(2, MPI_INT, &pair));
    MUST(MPI_Type_create_resized(pair, -4, 20, &part));
    MUST(MPI_Type_contiguous(INTS / 2, part, &made[8]));
    MUST(MPI_Type_create_hvector(2, 3, 130, pair, &made[9]));
    MUST(MPI_Type_free(&pair));
    MUST(MPI_Type_free(&part));
    for (int index = 0; index < LAYOUTS; index++)
        MUST(MPI_Type_commit(&made[index]));
}

static void fill_ints(unsigned char *memory, int seed)
{
    for (int index = 0; index < ROOM / 4; index++)
        ((int *)(void *)memory)[index] = seed * 1000 + index;
}

/* The memory after the elements of one layout have been moved into another. */
static void move(const unsigned char *from, MPI_Datatype type, unsigned char *into,
                 MPI_Datatype into_type)
{
    int packed[INTS], position = 0;
    MUST(MPI_Pack(from + START, 1, type, packed, sizeof packed, &position, MPI_COMM_SELF));
    CHECK_EQUAL(position, sizeof packed);
    position = 0;
    MUST(MPI_Unpack(packed, sizeof packed, &position, into + START, 1, into_type, MPI_COMM_SELF));
}

static void add(const unsigned char *from, MPI_Datatype type, unsigned char *into,
                MPI_Datatype into_type)
{
    int packed[INTS], sum[INTS], position = 0;
    MUST(MPI_Pack(from + START, 1, type, packed, sizeof packed, &position, MPI_COMM_SELF));
    position = 0;
    MUST(MPI_Pack(into + START, 1, into_type, sum, sizeof sum, &position, MPI_COMM_SELF));
    for (int index = 0; index < INTS; index++)
        sum[index] += packed[index];
    position = 0;
    MUST(MPI_Unpack(sum, sizeof sum, &position, into + START, 1, into_type, MPI_COMM_SELF));
}

enum call { PUT, GET, ACCUMULATE, GET_ACCUMULATE, CALLS };

/* One call with all pairs of layouts, each in its own part of the window. */
static void all_pairs(struct area *area, enum call call)
{
    enum { PAIRS = LAYOUTS * LAYOUTS };
    static unsigned char near[PAIRS][ROOM], results[PAIRS][ROOM];
    MUST(MPI_Win_fence(0, area->win));
    for (int pair = 0; pair < PAIRS; pair++) {
        fill_ints(near[pair], 10 * check_rank + 1);
        fill_ints(area->base + pair * ROOM, 10 * check_rank + 5);
        fill_ints(results[pair], 10 * check_rank + 7);
    }
    MUST(MPI_Win_fence(0, area->win));
    for (int pair = 0; pair < PAIRS; pair++) {
        MPI_Datatype own = made[pair / LAYOUTS], far = made[pair % LAYOUTS], copy;
        MPI_Aint disp = area_disp(area, right, pair * ROOM + START);
        unsigned char *at = near[pair] + START;
        /* The operation keeps what it needs of the type. */
        MUST(MPI_Type_dup(far, &copy));
        switch (call) {
        case PUT:
            MUST(MPI_Put(at, 1, own, right, disp, 1, copy, area->win));
            break;
        case GET:
            MUST(MPI_Get(at, 1, own, right, disp, 1, copy, area->win));
            break;
        case ACCUMULATE:
            MUST(MPI_Accumulate(at, 1, own, right, disp, 1, copy, MPI_SUM, area->win));
            break;
        default:
            MUST(MPI_Get_accumulate(at, 1, own, results[pair] + START, 1,
                                    made[(pair + 3) % LAYOUTS], right, disp, 1, copy, MPI_SUM,
                                    area->win));
        }
        MUST(MPI_Type_free(&copy));
    }
    MUST(MPI_Win_fence(0, area->win));
    for (int pair = 0; pair < PAIRS; pair++) {
        MPI_Datatype own = made[pair / LAYOUTS], far = made[pair % LAYOUTS];
        unsigned char origin[ROOM], target[ROOM], result[ROOM], theirs[ROOM], before[ROOM];
        fill_ints(origin, 10 * check_rank + 1);
        fill_ints(target, 10 * check_rank + 5);
        fill_ints(result, 10 * check_rank + 7);
        fill_ints(theirs, 10 * left + 1);
        fill_ints(before, 10 * right + 5);
        if (call == PUT)
            move(theirs, own, target, far);
        else if (call == GET)
            move(before, far, origin, own);
        else
            add(theirs, own, target, far);
        if (call == GET_ACCUMULATE)
            move(before, far, result, made[(pair + 3) % LAYOUTS]);
        if (memcmp(origin, near[pair], ROOM) || memcmp(target, area->base + pair * ROOM, ROOM)
            || memcmp(result, results[pair], ROOM))
            check_fail(__FILE__, __LINE__, "call %d, layout %d with layout %d", call,
                       pair / LAYOUTS, pair % LAYOUTS);
    }
}

struct mixed {
    double number;
    char letters[3];
    int64_t value;
};

/* Elements of unlike types, and an array of them. */
static void mixed(enum kind kind)
{
    enum { COUNT = 50 };
    struct area area = area_open(kind, 2 * COUNT * sizeof(struct mixed), 1, MPI_INFO_NULL);
    struct mixed *own = (struct mixed *)(void *)area.base, from[COUNT], into[COUNT];
    int lengths[3] = {1, 3, 1};
    MPI_Aint places[3] = {offsetof(struct mixed, number), offsetof(struct mixed, letters),
                          offsetof(struct mixed, value)};
    MPI_Datatype parts[3] = {MPI_DOUBLE, MPI_CHAR, MPI_INT64_T}, plain, type;
    MUST(MPI_Type_create_struct(3, lengths, places, parts, &plain));
    MUST(MPI_Type_create_resized(plain, 0, sizeof(struct mixed), &type));
    MUST(MPI_Type_commit(&type));
    MUST(MPI_Type_free(&plain));
    memset(into, 0, sizeof into);
    for (int index = 0; index < COUNT; index++) {
        from[index] = (struct mixed){check_rank + index / 4.0, {'a', (char)index, 'z'},
                                     (int64_t)index << 40};
        own[COUNT + index] = from[index];
    }
    MUST(MPI_Win_fence(0, area.win));
    MUST(MPI_Put(from, COUNT, type, right, area_disp(&area, right, 0), COUNT, type, area.win));
    MUST(MPI_Get(into, COUNT, type, right,
                 area_disp(&area, right, COUNT * sizeof(struct mixed)), COUNT, type, area.win));
    MUST(MPI_Win_fence(0, area.win));
    for (int index = 0; index < COUNT; index++) {
        CHECK(own[index].number == left + index / 4.0 && own[index].letters[1] == (char)index);
        CHECK(own[index].letters[0] == 'a' && own[index].value == (int64_t)index << 40);
        CHECK(into[index].number == right + index / 4.0 && into[index].letters[2] == 'z');
        CHECK(into[index].value == (int64_t)index << 40);
    }
    MUST(MPI_Type_free(&type));
    area_close(&area, kind);
}

/* A long column of a matrix into a row, and back; atomically, too. */
static void long_ones(enum kind kind)
{
    enum { ROWS = 20000 };
    struct area area = area_open(kind, 3 * ROWS * sizeof(int), sizeof(int), MPI_INFO_NULL);
    int *own = (int *)(void *)area.base, *from = take(ROWS * sizeof(int)),
        *into = take(2 * ROWS * sizeof(int)), wrong = 0;
    MPI_Datatype column, pairs;
    MUST(MPI_Type_vector(ROWS, 1, 3, MPI_INT, &column));
    MUST(MPI_Type_commit(&column));
    MUST(MPI_Type_vector(ROWS, 1, 2, MPI_INT, &pairs));
    MUST(MPI_Type_commit(&pairs));
    for (int row = 0; row < ROWS; row++) {
        from[row] = 7 * row + check_rank;
        into[2 * row] = into[2 * row + 1] = -1;
    }
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, area.win));
    MUST(MPI_Put(from, ROWS, MPI_INT, right, area_disp(&area, right, 4), 1, column, area.win));
    MUST(MPI_Win_flush(right, area.win));
    MUST(MPI_Accumulate(from, ROWS, MPI_INT, right, area_disp(&area, right, 4), 1, column, MPI_SUM,
                        area.win));
    MUST(MPI_Win_flush(right, area.win));
    MUST(MPI_Get(into, 1, pairs, right, area_disp(&area, right, 4), 1, column, area.win));
    MUST(MPI_Win_unlock(right, area.win));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    for (int row = 0; row < ROWS; row++) {
        wrong += own[3 * row] != 0 || own[3 * row + 1] != 2 * (7 * row + left);
        wrong += own[3 * row + 2] != 0;
        wrong += into[2 * row] != 2 * from[row] || into[2 * row + 1] != -1;
    }
    CHECK_EQUAL(wrong, 0);
    MUST(MPI_Type_free(&column));
    MUST(MPI_Type_free(&pairs));
    free(from);
    free(into);
    area_close(&area, kind);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    right = (check_rank + 1) % check_size;
    left = (check_rank + check_size - 1) % check_size;
    make_layouts();
    for (enum kind kind = 0; kind < KINDS; kind++) {
        section("%s", kind_name(kind));
        if (!kind_possible(kind))
            continue;
        struct area area = area_open(kind, LAYOUTS * LAYOUTS * ROOM, 1, MPI_INFO_NULL);
        for (enum call call = 0; call < CALLS; call++)
            all_pairs(&area, call);
        area_close(&area, kind);
        mixed(kind);
        long_ones(kind);
    }
    for (int index = 0; index < LAYOUTS; index++)
        MUST(MPI_Type_free(&made[index]));
    return check_end();
}
