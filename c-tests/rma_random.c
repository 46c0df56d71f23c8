/* Random programs of one-sided communication against an oracle.
 *
 *   rma_random [FIRST_SEED [PROGRAMS]]
 *
 * A seed makes a program of several phases, each with one way to synchronize. Every rank computes the
 * program of all ranks on a model of all memory, and executes its own part. In each phase each block
 * of each rank's memory has a use in which the result does not depend on the order of ranks:
 *
 *   PRIVATE   one rank does anything; what is not ordered by the standard is ordered by a flush
 *   REVIEWED  one rank changes and fetches elements, and gets them after a flush, in turn
 *   SUMMED    all ranks accumulate by one operation, without looking at results
 *   READ      all ranks read
 *   COUNTER   all ranks add 1: atomically, or by get and put under an exclusive lock
 *   LOCAL     the rank itself stores
 *
 * Results are compared as soon as they must be there, and origin buffers are overwritten as soon as
 * they are free; memory is compared after each phase. A failure tells the seed. */
#include "rma.h"

enum use { PRIVATE, REVIEWED, SUMMED, READ, COUNTER, LOCAL, USES };
enum style { FENCE, PSCW, LOCK_ALL, SINGLE, SEVERAL, MIXED, STYLES };
enum hazard { NONE, ACCUMULATED, PLAIN };
enum { BLOCKS = 5, PHASES = 3, PENDING = 64, DOUBLE = 4, TYPES = 5, OPS = 7, REPLACE = 6,
       REVIEWS = 3 };

static struct {
    MPI_Datatype type;
    int bytes;
} types[TYPES];
static MPI_Op ops[OPS];

struct pending {
    int target, count;
    unsigned char *origin, *result;
    int64_t *due; /* of the result, or NULL */
};

/* The program in progress. */
static uint64_t state, seed;
static struct area area;
static enum kind kind;
static int type, bytes, block_length;
static int64_t *model; /* of all ranks */

/* The phase in progress. */
static enum style style;
static MPI_Win win;
static struct {
    enum use use;
    enum hazard hazard;
    int owner, op;
} *blocks;
static unsigned char *reaches; /* [origin][target], for PSCW */
static unsigned char *by_one;  /* of each rank: one lock at a time, for MIXED */
static struct pending pendings[PENDING];
static int pending_count;

static int64_t normal(int64_t value)
{
    switch (type) {
    case 0:
        return (int32_t)(uint32_t)value;
    case 2:
        return (uint8_t)value;
    case 3:
        return (int16_t)(uint16_t)value;
    default:
        return value;
    }
}

static int64_t combined(int op, int64_t old, int64_t operand)
{
    switch (op) {
    case 0:
        return normal((int64_t)((uint64_t)old + (uint64_t)operand));
    case 1:
        return old > operand ? old : operand;
    case 2:
        return old < operand ? old : operand;
    case 3:
        return normal(old ^ operand);
    case 4:
        return normal(old | operand);
    case 5:
        return normal(old & operand);
    default:
        return operand;
    }
}

static void store(unsigned char *at, int64_t value)
{
    double number = (double)value;
    if (type == DOUBLE)
        memcpy(at, &number, sizeof number);
    else
        memcpy(at, &value, (size_t)bytes);
}

static int64_t load(const unsigned char *at)
{
    int64_t value = 0;
    double number;
    if (type == DOUBLE) {
        memcpy(&number, at, sizeof number);
        return (int64_t)number;
    }
    memcpy(&value, at, (size_t)bytes);
    return normal(value);
}

static int64_t *model_at(int rank, int element)
{
    return &model[(size_t)rank * BLOCKS * (size_t)block_length + (size_t)element];
}

static int draws(unsigned limit)
{
    return (int)draw(&state, limit);
}

static void wrong(const char *what)
{
    check_fail(__FILE__, __LINE__, "seed %llu, %s window, style %d, type %d: %s",
               (unsigned long long)seed, kind_name(kind), style, type, what);
}

/* ---- operations in progress ---- */

/* The operations with a target (-1: all) are complete here. */
static void completed(int target)
{
    for (int index = 0; index < pending_count; index++) {
        struct pending *one = &pendings[index];
        if (target >= 0 && one->target != target)
            continue;
        for (int element = 0; one->due != NULL && element < one->count; element++) {
            if (load(one->result + element * bytes) != one->due[element]) {
                wrong("a result");
                break;
            }
        }
        memset(one->origin, 0xee, (size_t)(one->count * bytes));
        free(one->origin);
        free(one->result);
        free(one->due);
        *one-- = pendings[--pending_count];
        index--;
    }
}

static int is_passive(void)
{
    return style >= LOCK_ALL;
}

static int locks_one(int origin)
{
    return style == SINGLE || (style == MIXED && by_one[origin]);
}

/* Operations before are ordered before those after. */
static void flush(int origin, int target)
{
    int all = draws(4) == 0 && (style == LOCK_ALL || style == MIXED);
    for (int rank = 0; rank < check_size; rank++) {
        for (int block = 0; (all || rank == target) && block < BLOCKS; block++) {
            if (blocks[rank * BLOCKS + block].owner == origin)
                blocks[rank * BLOCKS + block].hazard = NONE;
        }
    }
    if (origin != check_rank)
        return;
    MUST(all ? MPI_Win_flush_all(win) : MPI_Win_flush(target, win));
    completed(all ? -1 : target);
}

struct access {
    int origin, target, block, start, count, stride, op;
    enum { PUT, GET, ACCUMULATE, GET_ACCUMULATE, FETCH, SWAP, FETCHES } call;
    int by_request, exclusive, early, swap_hits;
    int64_t operand;
};

static MPI_Datatype layout(const struct access *access)
{
    MPI_Datatype made;
    MUST(MPI_Type_vector(access->count, 1, access->stride, types[type].type, &made));
    MUST(MPI_Type_commit(&made));
    return made;
}

static void issue(const struct access *a, struct pending *p, int64_t compare)
{
    MPI_Aint disp = area_disp(&area, a->target,
                              (MPI_Aint)bytes * (a->block * block_length + a->start));
    MPI_Datatype base = types[type].type, far = base;
    MPI_Request request;
    MPI_Op op = ops[a->op];
    int count = a->count, t = a->target, many = count, with = a->by_request && is_passive();
    unsigned char expected[8];
    if (a->stride > 1) {
        far = layout(a);
        many = 1;
    }
    switch (a->call) {
    case PUT:
        MUST(with ? MPI_Rput(p->origin, count, base, t, disp, many, far, win, &request)
                  : MPI_Put(p->origin, count, base, t, disp, many, far, win));
        break;
    case GET:
        MUST(with ? MPI_Rget(p->result, count, base, t, disp, many, far, win, &request)
                  : MPI_Get(p->result, count, base, t, disp, many, far, win));
        break;
    case ACCUMULATE:
        MUST(with ? MPI_Raccumulate(p->origin, count, base, t, disp, many, far, op, win, &request)
                  : MPI_Accumulate(p->origin, count, base, t, disp, many, far, op, win));
        break;
    case GET_ACCUMULATE:
        MUST(with ? MPI_Rget_accumulate(p->origin, count, base, p->result, count, base, t, disp,
                                        many, far, op, win, &request)
                  : MPI_Get_accumulate(p->origin, count, base, p->result, count, base, t, disp,
                                       many, far, op, win));
        break;
    case FETCH:
        with = 0;
        MUST(MPI_Fetch_and_op(p->origin, p->result, base, t, disp, op, win));
        break;
    default:
        with = 0;
        store(expected, compare);
        /* The comparand lies behind the origin. */
        memcpy(p->origin + bytes, expected, (size_t)bytes);
        MUST(MPI_Compare_and_swap(p->origin, p->origin + bytes, p->result, base, t, disp, win));
    }
    if (far != base)
        MUST(MPI_Type_free(&far));
    if (with) {
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
        struct pending saved = pendings[--pending_count];
        int kept = pending_count;
        /* Only this one is complete. */
        struct pending others[PENDING];
        memcpy(others, pendings, sizeof others);
        pendings[0] = saved;
        pending_count = 1;
        completed(-1);
        memcpy(pendings, others, sizeof others);
        pending_count = kept;
    }
}

/* Executes an access of this rank; `due` has the elements before it, if the result is determined. */
static void execute(const struct access *a, const int64_t *due, int64_t compare)
{
    int each = locks_one(a->origin);
    if (pending_count == PENDING)
        return check_fail(__FILE__, __LINE__, "too many operations");
    if (each)
        MUST(MPI_Win_lock(a->exclusive ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, a->target, 0, win));
    struct pending *p = &pendings[pending_count++];
    p->target = a->target;
    p->count = a->count;
    p->origin = take((size_t)(a->count + 1) * (size_t)bytes);
    p->result = take((size_t)a->count * (size_t)bytes);
    p->due = NULL;
    for (int element = 0; element < a->count; element++)
        store(p->origin + element * bytes, normal(a->operand + element % 3));
    if (due != NULL && a->call != PUT && a->call != ACCUMULATE) {
        p->due = take(sizeof *due * (size_t)a->count);
        memcpy(p->due, due, sizeof *due * (size_t)a->count);
    }
    issue(a, p, compare);
    if (each) {
        MUST(MPI_Win_unlock(a->target, win));
        completed(a->target);
    } else if (is_passive() && a->early) {
        MUST(MPI_Win_flush_local(a->target, win));
        completed(a->target);
    }
}

/* ---- what a rank does with a block ---- */

static void access_private(struct access *a, enum hazard *hazard)
{
    enum hazard next = a->call == PUT || a->call == GET ? PLAIN : ACCUMULATED;
    int first = a->block * block_length + a->start;
    int64_t *due = take(sizeof *due * (size_t)a->count), compare = 0;
    if (a->call == SWAP && type == DOUBLE)
        a->call = FETCH;
    if (a->call >= FETCH)
        a->count = a->stride = 1;
    if (*hazard != NONE && (*hazard != next || next == PLAIN)) {
        if (!is_passive()) {
            free(due);
            return;
        }
        flush(a->origin, a->target);
    }
    *hazard = locks_one(a->origin) ? NONE : next;
    for (int element = 0; element < a->count; element++) {
        int64_t *at = model_at(a->target, first + element * a->stride);
        int64_t operand = normal(a->operand + element % 3);
        due[element] = *at;
        if (a->call == SWAP) {
            compare = a->swap_hits ? *at : normal(*at + 1);
            *at = a->swap_hits ? operand : *at;
        } else if (a->call != GET) {
            *at = combined(a->call == PUT ? REPLACE : a->op, *at, operand);
        }
    }
    if (a->origin == check_rank)
        execute(a, due, compare);
    free(due);
}

/* A get may be done in another way than the fetching accumulate before it: the flush between them
 * orders both. */
static void access_reviewed(const struct access *a, enum hazard *hazard)
{
    for (int review = 0; review < (is_passive() ? REVIEWS : 1); review++) {
        struct access one = *a;
        one.call = GET_ACCUMULATE + review % (FETCHES - GET_ACCUMULATE);
        access_private(&one, hazard);
        one.call = GET;
        access_private(&one, hazard);
    }
}

static void access_summed(struct access *a, int op)
{
    int first = a->block * block_length + a->start;
    a->op = op;
    a->call = a->call % 3 == 0 ? ACCUMULATE : a->call % 3 == 1 ? GET_ACCUMULATE : FETCH;
    if (a->call == FETCH)
        a->count = a->stride = 1;
    for (int element = 0; element < a->count; element++) {
        int64_t *at = model_at(a->target, first + element * a->stride);
        *at = combined(op, *at, normal(a->operand + element % 3));
    }
    if (a->origin == check_rank)
        execute(a, NULL, 0);
}

static void access_read(struct access *a)
{
    int first = a->block * block_length + a->start;
    int64_t *due = take(sizeof *due * (size_t)a->count);
    for (int element = 0; element < a->count; element++)
        due[element] = *model_at(a->target, first + element * a->stride);
    a->call = GET;
    if (a->origin == check_rank)
        execute(a, due, 0);
    free(due);
}

/* Adds 1 by get and put, alone by an exclusive lock. */
static void add_locked(const struct access *a, MPI_Aint disp)
{
    unsigned char value[8] = {0};
    MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, a->target, 0, win));
    MUST(MPI_Get(value, 1, types[type].type, a->target, disp, 1, types[type].type, win));
    MUST(MPI_Win_flush(a->target, win));
    store(value, normal(load(value) + 1));
    MUST(MPI_Put(value, 1, types[type].type, a->target, disp, 1, types[type].type, win));
    MUST(MPI_Win_unlock(a->target, win));
}

static void add_by_swaps(const struct access *a, MPI_Aint disp)
{
    unsigned char next[8] = {0}, seen[8] = {0}, found[8] = {0};
    for (;;) {
        store(next, normal(load(seen) + 1));
        MUST(MPI_Compare_and_swap(next, seen, found, types[type].type, a->target, disp, win));
        MUST(MPI_Win_flush(a->target, win));
        if (memcmp(seen, found, (size_t)bytes) == 0)
            break;
        memcpy(seen, found, sizeof seen);
    }
    completed(a->target);
}

static void access_counter(struct access *a)
{
    int first = a->block * block_length;
    MPI_Aint disp = area_disp(&area, a->target, (MPI_Aint)bytes * first);
    int64_t *at = model_at(a->target, first);
    *at = normal(*at + 1);
    if (a->origin != check_rank)
        return;
    a->start = a->op = 0;
    a->operand = a->count = a->stride = 1;
    a->call = FETCH;
    if (style == SINGLE)
        add_locked(a, disp);
    else if (is_passive() && !locks_one(a->origin) && type != DOUBLE && a->swap_hits)
        add_by_swaps(a, disp);
    else
        execute(a, NULL, 0);
}

/* The next access of a rank, by the use of the block that it draws. */
static void one_access(int origin)
{
    struct access a = {.origin = origin, .target = draws((unsigned)check_size),
                       .block = draws(BLOCKS), .stride = 1 + draws(2)};
    int index = a.target * BLOCKS + a.block;
    a.call = draws(FETCHES);
    a.op = draws(type == DOUBLE ? 3 : OPS);
    a.count = 1 + draws((unsigned)(block_length / a.stride));
    a.start = draws((unsigned)(block_length - (a.count - 1) * a.stride));
    a.operand = normal(1 + draws(100));
    a.by_request = draws(3) == 0;
    /* A library may get the locks of MPI_Win_lock_all one by one, in the order of their use. Two such
     * ranks would wait for each other through writers that come between them. */
    a.exclusive = draws(3) == 0;
    a.early = draws(3) == 0;
    a.swap_hits = draws(2);
    /* Whichever rank drew it, so that there are enough of them. */
    if (blocks[index].use == REVIEWED)
        a.origin = blocks[index].owner;
    if (style == PSCW && !reaches[a.origin * check_size + a.target])
        return;
    switch (blocks[index].use) {
    case PRIVATE:
        if (blocks[index].owner == origin)
            access_private(&a, &blocks[index].hazard);
        break;
    case REVIEWED:
        access_reviewed(&a, &blocks[index].hazard);
        break;
    case SUMMED:
        access_summed(&a, blocks[index].op);
        break;
    case READ:
        access_read(&a);
        break;
    case COUNTER:
        access_counter(&a);
        break;
    default:
        if (a.target == origin) {
            int element = a.block * block_length + a.start;
            *model_at(origin, element) = a.operand;
            if (origin == check_rank)
                store(area.base + element * bytes, a.operand);
        }
    }
}

/* ---- phases ---- */

static void draw_phase(void)
{
    style = (enum style)draws(STYLES);
    for (int index = 0; index < check_size * BLOCKS; index++) {
        blocks[index].use = (enum use)draws(USES);
        blocks[index].owner = draws((unsigned)check_size);
        blocks[index].op = draws(type == DOUBLE ? 3 : OPS - 1);
        blocks[index].hazard = NONE;
    }
    for (int index = 0; index < check_size * check_size; index++)
        reaches[index] = draws(2) == 0;
    for (int rank = 0; rank < check_size; rank++)
        by_one[rank] = draws(2) == 0;
}

/* The ranks that this one reaches, or that reach it. */
static MPI_Group neighbors(int origins)
{
    MPI_Group world, group;
    int count = 0, *ranks = take(sizeof(int) * (size_t)check_size);
    for (int rank = 0; rank < check_size; rank++) {
        int from = origins ? rank : check_rank, into = origins ? check_rank : rank;
        if (reaches[from * check_size + into])
            ranks[count++] = rank;
    }
    MUST(MPI_Comm_group(MPI_COMM_WORLD, &world));
    MUST(MPI_Group_incl(world, count, ranks, &group));
    MUST(MPI_Group_free(&world));
    free(ranks);
    return group;
}

/* MPICH 5 may wait for ever in epochs with empty groups. */
static int is_used(MPI_Group group)
{
    int size = 0;
    MUST(MPI_Group_size(group, &size));
    return size > 0 || check_strict();
}

static void begin_phase(MPI_Group to, MPI_Group from)
{
    if (is_passive())
        MUST(MPI_Barrier(MPI_COMM_WORLD));
    if (style == FENCE)
        MUST(MPI_Win_fence(0, win));
    if (style == PSCW && is_used(from))
        MUST(MPI_Win_post(from, 0, win));
    if (style == PSCW && is_used(to))
        MUST(MPI_Win_start(to, 0, win));
    if (style == LOCK_ALL || (style == MIXED && !by_one[check_rank]))
        MUST(MPI_Win_lock_all(0, win));
    for (int rank = 0; style == SEVERAL && rank < check_size; rank++)
        MUST(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
}

static void end_phase(MPI_Group to, MPI_Group from)
{
    if (style == FENCE)
        MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    if (style == PSCW && is_used(to))
        MUST(MPI_Win_complete(win));
    if (style == PSCW && is_used(from))
        MUST(MPI_Win_wait(win));
    if (style == LOCK_ALL || (style == MIXED && !by_one[check_rank]))
        MUST(MPI_Win_unlock_all(win));
    for (int rank = check_size - 1; style == SEVERAL && rank >= 0; rank--)
        MUST(MPI_Win_unlock(rank, win));
    completed(-1);
    if (is_passive())
        MUST(MPI_Barrier(MPI_COMM_WORLD));
}

static void compare_memory(void)
{
    if (is_passive())
        MUST(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win));
    for (int element = 0; element < BLOCKS * block_length; element++) {
        int64_t found = load(area.base + element * bytes), due = *model_at(check_rank, element);
        if (found != due) {
            check_fail(__FILE__, __LINE__,
                       "seed %llu, %s window, style %d, type %d, block of use %d: element %d is "
                       "%lld, not %lld", (unsigned long long)seed, kind_name(kind), style, type,
                       blocks[check_rank * BLOCKS + element / block_length].use, element,
                       (long long)found, (long long)due);
            break;
        }
    }
    if (is_passive())
        MUST(MPI_Win_unlock(check_rank, win));
}

static void one_phase(void)
{
    draw_phase();
    MPI_Group to = neighbors(0), from = neighbors(1);
    begin_phase(to, from);
    for (int origin = 0; origin < check_size; origin++) {
        int count = draws(12);
        for (int index = 0; index < count; index++)
            one_access(origin);
    }
    end_phase(to, from);
    compare_memory();
    MUST(MPI_Group_free(&to));
    MUST(MPI_Group_free(&from));
}

static void one_program(const int *possible)
{
    static const int lengths[] = {8, 8, 8, 8, 8, 30, 30, 400, 3000};
    state = seed * 2654435761u + 12345;
    draws(2);
    kind = (enum kind)draws(KINDS);
    if (!possible[kind])
        kind = ALLOCATED;
    type = draws(TYPES);
    bytes = types[type].bytes;
    block_length = lengths[draws(sizeof lengths / sizeof *lengths)];
    size_t elements = (size_t)BLOCKS * (size_t)block_length;
    model = take(sizeof *model * elements * (size_t)check_size);
    memset(model, 0, sizeof *model * elements * (size_t)check_size);
    area = area_open(kind, (MPI_Aint)elements * bytes, draws(2) ? bytes : 1, MPI_INFO_NULL);
    win = area.win;
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    for (int phase = 0; phase < PHASES; phase++)
        one_phase();
    area_close(&area, kind);
    free(model);
}

int main(int argc, char **argv)
{
    int possible[KINDS];
    check_start(&argc, &argv);
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    uint64_t programs = argc > 2 ? strtoull(argv[2], NULL, 0) : 10;
    const MPI_Datatype of_mpi[TYPES] = {MPI_INT32_T, MPI_INT64_T, MPI_UINT8_T, MPI_INT16_T,
                                        MPI_DOUBLE};
    const int sizes[TYPES] = {4, 8, 1, 2, 8};
    const MPI_Op all[OPS] = {MPI_SUM, MPI_MAX, MPI_MIN, MPI_BXOR, MPI_BOR, MPI_BAND, MPI_REPLACE};
    for (int index = 0; index < TYPES; index++) {
        types[index].type = of_mpi[index];
        types[index].bytes = sizes[index];
    }
    memcpy(ops, all, sizeof all);
    blocks = take(sizeof *blocks * (size_t)(check_size * BLOCKS));
    reaches = take((size_t)(check_size * check_size));
    by_one = take((size_t)check_size);
    for (enum kind each = 0; each < KINDS; each++)
        possible[each] = kind_possible(each);
    for (seed = first; seed < first + programs; seed++)
        one_program(possible);
    free(blocks);
    free(reaches);
    free(by_one);
    return check_end();
}
