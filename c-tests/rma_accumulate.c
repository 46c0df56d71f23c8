/* Accumulates of every predefined operation with every predefined type that it takes, compared with
 * MPI_Reduce_local; pairs; replacement and no operation; one element, compare-and-swap; atomicity of
 * many ranks on one place; the order of accumulates of one rank. */
#include "rma.h"

#include <complex.h>

enum { COUNT = 3, SLOT = 128 };

static int right, left;

enum group { INTEGER = 1, FLOATING = 2, COMPLEX = 4, LOGICAL = 8, BYTE = 16, PAIR = 32, ADDRESS = 64 };

struct type {
    MPI_Datatype type;
    enum group group;
};

static struct type types[64];
static int type_count;

static void add(MPI_Datatype type, enum group group)
{
    int bytes = 0;
    if (type != MPI_DATATYPE_NULL && MPI_Type_size(type, &bytes) == MPI_SUCCESS && bytes > 0)
        types[type_count++] = (struct type){type, group};
}

static void list_types(void)
{
    const MPI_Datatype integers[] = {
        MPI_INT, MPI_LONG, MPI_SHORT, MPI_UNSIGNED_SHORT, MPI_UNSIGNED, MPI_UNSIGNED_LONG,
        MPI_LONG_LONG, MPI_UNSIGNED_LONG_LONG, MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_INT8_T,
        MPI_INT16_T, MPI_INT32_T, MPI_INT64_T, MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T,
        MPI_UINT64_T};
    const MPI_Datatype pairs[] = {MPI_2INT, MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT,
                                  MPI_SHORT_INT, MPI_LONG_DOUBLE_INT};
    for (size_t index = 0; index < sizeof integers / sizeof *integers; index++)
        add(integers[index], INTEGER);
    add(MPI_FLOAT, FLOATING);
    add(MPI_DOUBLE, FLOATING);
    add(MPI_LONG_DOUBLE, FLOATING);
    add(MPI_C_FLOAT_COMPLEX, COMPLEX);
    add(MPI_C_DOUBLE_COMPLEX, COMPLEX);
    add(MPI_C_BOOL, LOGICAL);
    add(MPI_BYTE, BYTE);
    add(MPI_AINT, ADDRESS);
    add(MPI_OFFSET, ADDRESS);
    add(MPI_COUNT, ADDRESS);
    for (size_t index = 0; index < sizeof pairs / sizeof *pairs; index++)
        add(pairs[index], PAIR);
}

struct op {
    const char *name;
    MPI_Op op;
    int groups;
};

enum {
    ORDERED = INTEGER | FLOATING | ADDRESS,
    NUMBERS = ORDERED | COMPLEX,
    LOGICALS = INTEGER | LOGICAL,
    BITS = INTEGER | BYTE | ADDRESS,
    ALL = NUMBERS | LOGICAL | BYTE | PAIR,
    OPS = 14
};

static const struct op *ops(void)
{
    static struct op table[OPS];
    const struct op all[OPS] = {
        {"max", MPI_MAX, ORDERED},         {"min", MPI_MIN, ORDERED},
        {"sum", MPI_SUM, NUMBERS},         {"prod", MPI_PROD, NUMBERS},
        {"land", MPI_LAND, LOGICALS},      {"lor", MPI_LOR, LOGICALS},
        {"lxor", MPI_LXOR, LOGICALS},      {"band", MPI_BAND, BITS},
        {"bor", MPI_BOR, BITS},            {"bxor", MPI_BXOR, BITS},
        {"minloc", MPI_MINLOC, PAIR},      {"maxloc", MPI_MAXLOC, PAIR},
        {"replace", MPI_REPLACE, ALL},     {"no op", MPI_NO_OP, ALL}};
    memcpy(table, all, sizeof all);
    return table;
}


/* A number as the first member of a type. */
static void put_number(unsigned char *at, MPI_Datatype type, int number)
{
    float single = (float)number;
    double twice = number;
    long double most = number;
    if (type == MPI_FLOAT || type == MPI_FLOAT_INT || type == MPI_C_FLOAT_COMPLEX)
        memcpy(at, &single, sizeof single);
    else if (type == MPI_DOUBLE || type == MPI_DOUBLE_INT || type == MPI_C_DOUBLE_COMPLEX)
        memcpy(at, &twice, sizeof twice);
    else if (type == MPI_LONG_DOUBLE || type == MPI_LONG_DOUBLE_INT)
        memcpy(at, &most, 10);
    else
        at[0] = (unsigned char)number;
}

/* The offset of the second member of a pair or of a complex number, or 0. */
static size_t second(const struct type *type)
{
    int bytes;
    MUST(MPI_Type_size(type->type, &bytes));
    if (type->group == COMPLEX)
        return (size_t)bytes / 2;
    return type->group == PAIR ? (type->type == MPI_SHORT_INT ? 4 : (size_t)bytes - 4) : 0;
}

/* Small numbers that depend on rank, place and seed; gaps are 0. */
static void values(void *memory, const struct type *type, int rank, int seed)
{
    MPI_Aint lower, extent;
    MUST(MPI_Type_get_extent(type->type, &lower, &extent));
    memset(memory, 0, SLOT);
    for (int place = 0; place < COUNT; place++) {
        unsigned char *at = (unsigned char *)memory + place * extent;
        int number = (rank * 7 + place * 3 + seed * 5) % 11 + 1;
        if (type->group == LOGICAL)
            number %= 2;
        put_number(at, type->type, number);
        if (type->group == PAIR)
            put_number(at + second(type), MPI_INT, place + 4 + rank % 3);
        else if (type->group == COMPLEX)
            put_number(at + second(type), type->type, place + 1);
    }
}

/* What the target has afterwards. */
static void combine(void *memory, void *origin, int count, const struct type *type, MPI_Op op)
{
    MPI_Aint lower, extent;
    MUST(MPI_Type_get_extent(type->type, &lower, &extent));
    if (op == MPI_REPLACE)
        memcpy(memory, origin, (size_t)(extent * count));
    else if (op != MPI_NO_OP)
        MUST(MPI_Reduce_local(origin, memory, count, type->type, op));
}

static int differ(const void *left_memory, const void *right_memory)
{
    return memcmp(left_memory, right_memory, SLOT) != 0;
}

enum call { ACCUMULATE, ACCUMULATE_C, GET_ACCUMULATE, GET_ACCUMULATE_C, FETCH_AND_OP, CALLS };

static void issue(enum call call, void *origin, void *result, const struct type *type,
                  const struct op *op, MPI_Aint disp, MPI_Win win)
{
    MPI_Datatype of = type->type;
    /* Without an operation the origin counts for nothing. */
    if (op->op == MPI_NO_OP)
        origin = NULL;
    int many = origin == NULL ? 0 : COUNT;
    switch (call) {
    case ACCUMULATE:
        MUST(MPI_Accumulate(origin, COUNT, of, right, disp, COUNT, of, op->op, win));
        break;
    case ACCUMULATE_C:
        MUST(MPI_Accumulate_c(origin, COUNT, of, right, disp, COUNT, of, op->op, win));
        break;
    case GET_ACCUMULATE:
        MUST(MPI_Get_accumulate(origin, many, of, result, COUNT, of, right, disp, COUNT, of,
                                op->op, win));
        break;
    case GET_ACCUMULATE_C:
        MUST(MPI_Get_accumulate_c(origin, many, of, result, COUNT, of, right, disp, COUNT, of,
                                  op->op, win));
        break;
    default:
        MUST(MPI_Fetch_and_op(origin, result, of, right, disp, op->op, win));
    }
}

static unsigned char origins[64][SLOT], results[64][SLOT];

/* One operation with all its types. */
static void one_operation(struct area *area, const struct op *op, enum call call)
{
    int count = call == FETCH_AND_OP ? 1 : COUNT;
    for (int index = 0; index < type_count; index++) {
        values(area->base + index * SLOT, &types[index], check_rank, 1);
        values(origins[index], &types[index], check_rank, 2);
        memset(results[index], 0, SLOT);
    }
    MUST(MPI_Win_fence(0, area->win));
    for (int index = 0; index < type_count; index++) {
        if (types[index].group & (unsigned)op->groups)
            issue(call, origins[index], results[index], &types[index], op,
                  area_disp(area, right, index * SLOT), area->win);
    }
    MUST(MPI_Win_fence(0, area->win));
    for (int index = 0; index < type_count; index++) {
        unsigned char due[SLOT], theirs[SLOT], before[SLOT];
        if (!(types[index].group & (unsigned)op->groups))
            continue;
        values(due, &types[index], check_rank, 1);
        values(theirs, &types[index], left, 2);
        combine(due, theirs, count, &types[index], op->op);
        if (differ(area->base + index * SLOT, due))
            check_fail(__FILE__, __LINE__, "%s, type %d, call %d: target", op->name, index, call);
        if (call < GET_ACCUMULATE)
            continue;
        values(before, &types[index], right, 1);
        if (call == FETCH_AND_OP) {
            MPI_Aint lower, extent;
            MUST(MPI_Type_get_extent(types[index].type, &lower, &extent));
            memset(before + extent, 0, SLOT - (size_t)extent);
        }
        if (differ(results[index], before))
            check_fail(__FILE__, __LINE__, "%s, type %d, call %d: result", op->name, index, call);
    }
}

static void operations(enum kind kind)
{
    struct area area = area_open(kind, 64 * SLOT, 1, MPI_INFO_NULL);
    for (int index = 0; index < OPS; index++) {
        const struct op *op = &ops()[index];
        for (enum call call = 0; call < CALLS; call++) {
            int is_large = call == ACCUMULATE_C || call == GET_ACCUMULATE_C;
            if ((op->op != MPI_NO_OP || call >= GET_ACCUMULATE) && (!is_large || kind == CREATED))
                one_operation(&area, op, call);
        }
    }
    area_close(&area, kind);
}

/* Compare-and-swap with each type that it takes: it swaps where the value is equal. */
static void swaps(enum kind kind)
{
    static unsigned char compared[64][SLOT];
    const unsigned groups = INTEGER | LOGICAL | BYTE | ADDRESS;
    struct area area = area_open(kind, 64 * SLOT, 1, MPI_INFO_NULL);
    for (int index = 0; index < type_count; index++)
        values(area.base + index * SLOT, &types[index], check_rank, 1);
    MUST(MPI_Win_fence(0, area.win));
    for (int index = 0; index < type_count; index++) {
        if (!(types[index].group & groups))
            continue;
        values(origins[index], &types[index], check_rank, 3);
        values(compared[index], &types[index], right, index % 2 ? 1 : 2);
        memset(results[index], 0, SLOT);
        MUST(MPI_Compare_and_swap(origins[index], compared[index], results[index],
                                  types[index].type, right,
                                  area_disp(&area, right, index * SLOT), area.win));
    }
    MUST(MPI_Win_fence(0, area.win));
    for (int index = 0; index < type_count; index++) {
        int bytes;
        unsigned char due[SLOT], theirs[SLOT], before[SLOT], compare[SLOT];
        if (!(types[index].group & groups))
            continue;
        MUST(MPI_Type_size(types[index].type, &bytes));
        values(before, &types[index], right, 1);
        CHECK(memcmp(results[index], before, (size_t)bytes) == 0);
        values(due, &types[index], check_rank, 1);
        values(compare, &types[index], check_rank, index % 2 ? 1 : 2);
        values(theirs, &types[index], left, 3);
        if (memcmp(compare, due, (size_t)bytes) == 0)
            memcpy(due, theirs, (size_t)bytes);
        CHECK(!differ(area.base + index * SLOT, due));
    }
    area_close(&area, kind);
}

enum { ROUNDS = 20, MANY = 300 };

/* All ranks accumulate in the memory of all, by several functions and in blocks of unlike lengths;
 * nothing is lost. */
static void atomicity(enum kind kind)
{
    struct area area = area_open(kind, MANY * sizeof(int64_t), sizeof(int64_t), MPI_INFO_NULL);
    int64_t *own = (int64_t *)(void *)area.base, *ones = take(MANY * sizeof *ones), old[MANY],
            single = 1, found;
    for (int index = 0; index < MANY; index++)
        ones[index] = 1;
    MUST(MPI_Win_fence(0, area.win));
    for (int round = 0; round < ROUNDS; round++) {
        for (int rank = 0; rank < check_size; rank++) {
            MPI_Aint start = area_disp(&area, rank, 0);
            MUST(MPI_Accumulate(ones, MANY, MPI_INT64_T, rank, start, MANY, MPI_INT64_T, MPI_SUM,
                                area.win));
            MUST(MPI_Fetch_and_op(&single, &found, MPI_INT64_T, rank, start, MPI_SUM, area.win));
            MUST(MPI_Get_accumulate(ones, 2, MPI_INT64_T, old, 2, MPI_INT64_T, rank, start, 2,
                                    MPI_INT64_T, MPI_SUM, area.win));
        }
    }
    MUST(MPI_Win_fence(0, area.win));
    for (int index = 0; index < MANY; index++) {
        int each = 1 + (index == 0) + (index < 2);
        CHECK_EQUAL(own[index], each * ROUNDS * check_size);
    }
    free(ones);
    area_close(&area, kind);
}

/* Tickets of a counter on rank 0: each number is drawn once. */
static void tickets(enum kind kind, MPI_Datatype type, int bytes)
{
    struct area area = area_open(kind, 8, 8, MPI_INFO_NULL);
    int total = ROUNDS * check_size, *drawn = take(sizeof(int) * (size_t)total),
        *sum = take(sizeof(int) * (size_t)total);
    memset(drawn, 0, sizeof(int) * (size_t)total);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Win_lock_all(0, area.win));
    for (int round = 0; round < ROUNDS; round++) {
        int64_t one = 1, ticket = 0;
        MUST(MPI_Fetch_and_op(&one, &ticket, type, 0, area_disp(&area, 0, 0), MPI_SUM, area.win));
        MUST(MPI_Win_flush(0, area.win));
        CHECK(ticket >= 0 && ticket < total);
        if (ticket >= 0 && ticket < total)
            drawn[ticket]++;
    }
    MUST(MPI_Win_unlock_all(area.win));
    MUST(MPI_Allreduce(drawn, sum, total, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    for (int index = 0; index < total; index++)
        CHECK_EQUAL(sum[index], 1);
    if (check_rank == 0)
        CHECK(memcmp(area.base, &(int64_t){total}, (size_t)bytes) == 0);
    free(drawn);
    free(sum);
    area_close(&area, kind);
}

/* All ranks add by compare-and-swap until it succeeds. */
static void contended_swaps(enum kind kind)
{
    struct area area = area_open(kind, 8, 4, MPI_INFO_NULL);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Win_lock_all(0, area.win));
    for (int round = 0, seen = 0; round < ROUNDS;) {
        int next = seen + 1, found = -1;
        MUST(MPI_Compare_and_swap(&next, &seen, &found, MPI_INT, 0, area_disp(&area, 0, 4),
                                  area.win));
        MUST(MPI_Win_flush(0, area.win));
        round += found == seen;
        seen = found == seen ? next : found;
    }
    MUST(MPI_Win_unlock_all(area.win));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, area.win));
    CHECK_EQUAL(((int *)(void *)area.base)[1], check_rank == 0 ? ROUNDS * check_size : 0);
    MUST(MPI_Win_unlock(check_rank, area.win));
    area_close(&area, kind);
}

/* Accumulates of one rank to one place take effect in order, to others and to itself. */
static void order(enum kind kind)
{
    enum { LONG = 3000 };
    struct area area = area_open(kind, LONG * sizeof(int), sizeof(int), MPI_INFO_NULL);
    int *from = take(ROUNDS * LONG * sizeof(int)), *into = take(2 * ROUNDS * LONG * sizeof(int));
    for (int target = right, pass = 0; pass < 2; target = check_rank, pass++) {
        MPI_Aint start = area_disp(&area, target, 0);
        memset(area.base, 0, LONG * sizeof(int));
        MUST(MPI_Barrier(MPI_COMM_WORLD));
        MUST(MPI_Win_lock_all(0, area.win));
        for (int round = 0; round < ROUNDS; round++) {
            int count = round % 3 == 0 ? LONG : round % 3 == 1 ? 1 : 100;
            for (int index = 0; index < count; index++)
                from[round * LONG + index] = 1000 * round + index % 7;
            MUST(MPI_Accumulate(from + round * LONG, count, MPI_INT, target, start, count, MPI_INT,
                                MPI_REPLACE, area.win));
            MUST(MPI_Get_accumulate(NULL, 0, MPI_INT, into + 2 * round * LONG, count, MPI_INT,
                                    target, start, count, MPI_INT, MPI_NO_OP, area.win));
            MUST(MPI_Fetch_and_op(NULL, into + (2 * round + 1) * LONG, MPI_INT, target, start,
                                  MPI_NO_OP, area.win));
        }
        MUST(MPI_Win_unlock_all(area.win));
        for (int round = 0; round < ROUNDS; round++) {
            int count = round % 3 == 0 ? LONG : round % 3 == 1 ? 1 : 100, wrong = 0;
            for (int index = 0; index < count; index++)
                wrong += into[2 * round * LONG + index] != 1000 * round + index % 7;
            CHECK_EQUAL(wrong, 0);
            CHECK_EQUAL(into[(2 * round + 1) * LONG], 1000 * round);
        }
        MUST(MPI_Barrier(MPI_COMM_WORLD));
        CHECK_EQUAL(((int *)(void *)area.base)[0], 1000 * (ROUNDS - 1));
        MUST(MPI_Barrier(MPI_COMM_WORLD));
    }
    free(from);
    free(into);
    area_close(&area, kind);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    right = (check_rank + 1) % check_size;
    left = (check_rank + check_size - 1) % check_size;
    list_types();
    for (enum kind kind = 0; kind < KINDS; kind++) {
        section("%s", kind_name(kind));
        if (!kind_possible(kind))
            continue;
        operations(kind);
        swaps(kind);
        atomicity(kind);
        tickets(kind, MPI_INT64_T, 8);
        tickets(kind, MPI_INT32_T, 4);
        tickets(kind, MPI_UINT16_T, 2);
        contended_swaps(kind);
        order(kind);
    }
    return check_end();
}
