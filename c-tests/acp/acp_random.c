/* Random plans of accesses between all ranks, against a model that every rank computes.
 *
 * The memory of each rank has a part for each initiator, a part that is only read, and counters. An
 * initiator writes only to its own part on any rank, so the accesses of one initiator are a
 * sequence: an access that touches what an unfinished one touches has an order behind it. Counters
 * are only added to. The arguments are a seed and a number of rounds. */
#include "acp_check.h"

enum { PART = 512, COUNTERS = 4, ACCESSES = 60, LONGEST = 120 };

/* Where a piece of memory is. */
struct piece {
    int rank;
    size_t at, bytes;
};

struct step {
    enum { COPY, UPDATE, COUNT, KINDS } kind;
    struct piece to, from;
    int operation; /* of an update */
    uint64_t operand, operand2;
    acp_handle_t order;
};

static size_t parts(void)
{
    return (size_t)check_size * PART;
}

static size_t counters(void)
{
    return parts() + PART;
}

static size_t memory_bytes(void)
{
    return counters() + 8 * COUNTERS;
}

static int meet(struct piece a, struct piece b)
{
    return a.rank == b.rank && a.at < b.at + b.bytes && b.at < a.at + a.bytes;
}

/* Whether the second step must be behind the first. */
static int depends(const struct step *first, const struct step *second)
{
    int only_read = first->kind == COPY && second->kind == COPY;
    int only_count = first->kind == COUNT && second->kind == COUNT;
    return meet(first->to, second->to) || meet(first->to, second->from) || meet(first->from, second->to)
        || (!only_read && !only_count && meet(first->from, second->from));
}

/* A piece of the initiator's part, or for sources of the part that is only read. */
static struct piece draw_piece(uint64_t *state, int initiator, size_t bytes, int is_source)
{
    struct piece piece = {.rank = (int)draw(state, (unsigned)check_size), .bytes = bytes};
    size_t part = is_source && draw(state, 3) == 0 ? parts() : (size_t)initiator * PART;
    piece.at = part + draw(state, (unsigned)(PART - bytes + 1));
    return piece;
}

/* A number of the part of the initiator. */
static struct piece draw_number(uint64_t *state, int initiator, int rank, size_t bytes)
{
    size_t at = (size_t)initiator * PART + bytes * draw(state, (unsigned)(PART / bytes));
    return (struct piece){.rank = rank, .at = at, .bytes = bytes};
}

/* The order of a step behind those it depends on, as handles from 1 on in this plan. */
static acp_handle_t draw_order(uint64_t *state, const struct step *steps, int step, int complete)
{
    int last = 0, count = 0; /* the last one it depends on, from 1 on; how many there are */
    for (int before = complete; before < step; before++)
        if (depends(&steps[before], &steps[step])) {
            last = before + 1;
            count++;
        }
    unsigned choice = draw(state, 4);
    if (last == 0)
        return choice < 2 ? NONE : choice == 2 ? ALL : (acp_handle_t)draw(state, (unsigned)step + 1);
    if (choice == 0)
        return ALL;
    if (choice == 1 && last == step && count == 1)
        return CONT;
    return last + (acp_handle_t)draw(state, (unsigned)(step - last + 1));
}

static struct step draw_step(uint64_t *state, int initiator)
{
    struct step step = {.kind = (int)draw(state, 2 * KINDS)};
    if ((int)step.kind >= KINDS)
        step.kind = COPY;
    size_t bytes = step.kind == COPY ? draw(state, LONGEST + 1) : draw(state, 2) ? 8 : 4;
    if (step.kind == COPY) {
        step.to = draw_piece(state, initiator, bytes, 0);
        do
            step.from = draw_piece(state, initiator, bytes, 1);
        while (meet(step.to, step.from));
        return step;
    }
    step.operation = (int)draw(state, 6);
    step.operand = draw(state, 1u << 30) * 0x100000001u;
    step.operand2 = draw(state, 1u << 30) * 0x300000007u;
    step.to = draw_number(state, initiator, initiator, bytes);
    do
        step.from = draw_number(state, initiator, (int)draw(state, (unsigned)check_size), bytes);
    while (meet(step.to, step.from));
    if (step.kind == COUNT) {
        /* The old number of a counter depends on the other ranks: nobody reads it. */
        size_t at = counters() + 8 * draw(state, COUNTERS);
        step.from = (struct piece){.rank = step.from.rank, .at = at, .bytes = 8};
        step.to = (struct piece){.rank = initiator, .at = 0, .bytes = 0};
    }
    return step;
}

static uint64_t number_at(const unsigned char *place, size_t bytes)
{
    uint64_t eight = 0;
    memcpy(&eight, place, bytes);
    return eight;
}

static uint64_t updated(const struct step *step, uint64_t old)
{
    uint64_t mask = step->from.bytes == 8 ? UINT64_MAX : UINT32_MAX, one = step->operand & mask;
    switch (step->operation) {
    case 0: return old + one;
    case 1: return one;
    case 2: return old ^ one;
    case 3: return old | one;
    case 4: return old & one;
    default: return old == one ? step->operand2 & mask : old;
    }
}

/* What a step does to the memory of all ranks. */
static void model(unsigned char **all, const struct step *step)
{
    unsigned char *from = all[step->from.rank] + step->from.at, *to = all[step->to.rank] + step->to.at;
    if (step->kind == COPY) {
        memcpy(to, from, step->to.bytes);
        return;
    }
    uint64_t old = number_at(from, step->from.bytes);
    uint64_t new = step->kind == COUNT ? old + step->operand : updated(step, old);
    memcpy(from, &new, step->from.bytes);
    memcpy(to, &old, step->to.bytes);
}

static acp_handle_t update(const struct step *step, acp_ga_t old, acp_ga_t at, acp_handle_t order)
{
    uint64_t one = step->operand, two = step->operand2;
    uint32_t one4 = (uint32_t)one, two4 = (uint32_t)two;
    int is_8 = step->from.bytes == 8;
    switch (step->operation) {
    case 0: return is_8 ? acp_add8(old, at, one, order) : acp_add4(old, at, one4, order);
    case 1: return is_8 ? acp_swap8(old, at, one, order) : acp_swap4(old, at, one4, order);
    case 2: return is_8 ? acp_xor8(old, at, one, order) : acp_xor4(old, at, one4, order);
    case 3: return is_8 ? acp_or8(old, at, one, order) : acp_or4(old, at, one4, order);
    case 4: return is_8 ? acp_and8(old, at, one, order) : acp_and4(old, at, one4, order);
    default: return is_8 ? acp_cas8(old, at, one, two, order) : acp_cas4(old, at, one4, two4, order);
    }
}

static acp_handle_t issue(const struct memory *memory, const struct step *step, acp_handle_t order)
{
    acp_ga_t from = memory->at[step->from.rank] + step->from.at, to = memory->at[step->to.rank] + step->to.at;
    switch (step->kind) {
    case COPY:
        return acp_copy(to, from, step->to.bytes, order);
    case COUNT:
        return acp_add8(starter(check_rank, CHECK_OLD), from, step->operand, order);
    default:
        return update(step, to, from, order);
    }
}

/* The steps of one initiator; the model computes those of all, the initiator also issues its own.
 */
static void plan(struct memory *memory, unsigned char **all, int initiator, uint64_t state)
{
    struct step steps[ACCESSES];
    acp_handle_t handles[ACCESSES + 1] = {NONE};
    int complete = 0;
    for (int at = 0; at < ACCESSES; at++) {
        struct step *step = &steps[at];
        *step = draw_step(&state, initiator);
        step->order = draw_order(&state, steps, at, complete);
        int completes = draw(&state, 12) == 0;
        model(all, step);
        if (initiator == check_rank) {
            acp_handle_t order = step->order > 0 ? handles[step->order] : step->order;
            handles[at + 1] = issue(memory, step, order);
            CHECK(handles[at + 1] > 0);
        }
        if (completes) {
            if (initiator == check_rank)
                acp_complete(handles[at + 1]);
            complete = at + 1;
        }
    }
    acp_complete(ALL);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int rounds = argc > 2 ? atoi(argv[2]) : 12;
    struct memory memory = memory_open(memory_bytes());
    unsigned char **all = calloc((size_t)check_size, sizeof *all);
    for (int rank = 0; rank < check_size; rank++)
        all[rank] = calloc(memory_bytes(), 1);
    for (int round = 0; round < rounds; round++) {
        section("round %d", round);
        uint64_t seed = (first + (uint64_t)round) * 0x9e3779b97f4a7c15u;
        for (int rank = 0; rank < check_size; rank++) {
            fill(all[rank], counters(), (unsigned)(seed >> 7) + (unsigned)rank);
            memset(all[rank] + counters(), 0, 8 * COUNTERS);
        }
        memcpy(memory.base, all[check_rank], memory.bytes);
        acp_sync();
        /* Others see what is finished here only after the next synchronization: the order does not
         * matter. */
        for (int step = 0; step < check_size; step++) {
            int initiator = (check_rank + step) % check_size;
            plan(&memory, all, initiator, seed + (uint64_t)initiator);
        }
        acp_sync();
        for (size_t byte = 0; byte < memory.bytes; byte++)
            if (memory.base[byte] != all[check_rank][byte]) {
                check_fail(__FILE__, __LINE__, "seed %llu: byte %zu is %u, not %u",
                           (unsigned long long)first + (unsigned)round, byte, memory.base[byte],
                           all[check_rank][byte]);
                break;
            }
        acp_sync();
    }
    for (int rank = 0; rank < check_size; rank++)
        free(all[rank]);
    free(all);
    memory_close(&memory);
    return check_end();
}
