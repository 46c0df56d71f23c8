/* Random sequences of collectives, drawn from a seed: all kinds, roots and lengths, in place or
 * not, blocking, nonblocking and persistent at once, on several communicators, each rank with
 * datatypes of its own for the same signature. Everything is compared with naive results, and every
 * byte that is not part of a result must be as it was. COLL_RANDOM_SEED sets another first seed,
 * COLL_RANDOM_CALLS another number of calls for each. */
#include "comms.h"

enum {
    SEEDS = 2,
    CALLS = 150,
    GUARD = 8,         /* words before and after each buffer */
    STEP = 12,         /* lengths are multiples of it, so that many shapes of elements fit */
    PENDING_MAX = 12,
    IMAGES = 2,
    RANKS_MAX = 64,
    ON = COMMS + 1
};

typedef uint32_t Word;

enum kind {
    BARRIER, BCAST, GATHER, GATHERV, SCATTER, SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV,
    ALLTOALLW, REDUCE, ALLREDUCE, REDUCE_SCATTER_BLOCK, REDUCE_SCATTER, SCAN, EXSCAN, KINDS
};

static const char *const kind_names[KINDS] = {
    "barrier", "bcast", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv",
    "alltoall", "alltoallv", "alltoallw", "reduce", "allreduce", "reduce_scatter_block",
    "reduce_scatter", "scan", "exscan"};

enum mode { BLOCKING, NONBLOCKING, PERSISTENT, MODES };

static const char *const mode_names[MODES] = {"", ", nonblocking", ", persistent"};

/* How the words of a signature lie in memory: elements of `words` words, `extent` words apart. */
struct shape {
    MPI_Datatype type;
    int words, extent;
    int places[STEP];
};

/* A buffer, and what must be in it in the end. */
struct image {
    Word *now, *due;
    size_t words;
};

/* A call that is drawn, and under way until its request is complete. */
struct call {
    enum kind kind;
    int number, root, in_place, length, twice;
    enum mode mode;
    const Place *at;
    Word salt;
    MPI_Request request;
    struct image images[IMAGES];
    struct shape shapes[IMAGES];
    int counts[2][RANKS_MAX], displacements[2][RANKS_MAX];
    MPI_Datatype types[2][RANKS_MAX];
};

static uint64_t all_draw, own_draw, seed;
static struct call *pending[PENDING_MAX];
static int pending_count;
static Place on[ON];
static MPI_Datatype pair;
static MPI_Op affine;

/* Word `place` of what a rank gives in a call. */
static Word given(const struct call *call, int rank, size_t place)
{
    Word word = call->salt ^ (Word)rank * 0x9e3779b9u ^ (Word)place * 0x85ebca6bu;
    word ^= word >> 15;
    word *= 0x2c1b3c6du;
    return word ^ word >> 12;
}

/* (a, b) is x -> a x + b; left after right. It does not commute. */
static void compose(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const Word *left = in;
    Word *right = inout;
    (void)type;
    for (int at = 0; at < 2 * *count; at += 2) {
        right[at + 1] = left[at] * right[at + 1] + left[at + 1];
        right[at] = left[at] * right[at];
    }
}

static void shape_open(struct shape *shape)
{
    static const int divisors[] = {1, 2, 3, 4, 6, 12};
    int places[STEP], count = divisors[draw(&own_draw, 6)];
    MPI_Datatype raw;
    shape->words = count;
    switch (draw(&own_draw, 4)) {
    case 0: /* the words themselves */
        shape->words = shape->extent = 1;
        shape->places[0] = 0;
        MUST(MPI_Type_dup(MPI_UINT32_T, &shape->type));
        return;
    case 1: /* together */
        shape->extent = count;
        for (int word = 0; word < count; word++)
            shape->places[word] = word;
        MUST(MPI_Type_contiguous(count, MPI_UINT32_T, &shape->type));
        MUST(MPI_Type_commit(&shape->type));
        return;
    case 2: /* each with a gap behind it */
        shape->extent = 2 * count;
        for (int word = 0; word < count; word++)
            shape->places[word] = 2 * word;
        MUST(MPI_Type_vector(count, 1, 2, MPI_UINT32_T, &raw));
        break;
    default: /* backwards, with a gap between elements */
        shape->extent = count + 1;
        for (int word = 0; word < count; word++)
            shape->places[word] = places[word] = count - 1 - word;
        MUST(MPI_Type_create_indexed_block(count, 1, places, MPI_UINT32_T, &raw));
    }
    MUST(MPI_Type_create_resized(raw, 0, shape->extent * (MPI_Aint)sizeof(Word), &shape->type));
    MUST(MPI_Type_commit(&shape->type));
    MUST(MPI_Type_free(&raw));
}

/* Where word `place` of a signature is, counted from where its buffer begins. */
static size_t place_of(const struct shape *shape, size_t place)
{
    return place / shape->words * shape->extent + shape->places[place % shape->words];
}

/* Room for so many words of a signature, filled with what must stay. */
static void *image_open(struct image *image, const struct shape *shape, size_t length)
{
    image->words = length / shape->words * shape->extent + 2 * GUARD;
    image->now = take(image->words * sizeof(Word));
    image->due = take(image->words * sizeof(Word));
    for (size_t place = 0; place < image->words; place++)
        image->now[place] = image->due[place] = 0xa5000000u + (Word)place;
    return image->now + GUARD;
}

/* The buffer of an image holds this word before the call, and after it too unless told else. */
static void hold(struct image *image, const struct shape *shape, size_t place, Word word)
{
    size_t at = GUARD + place_of(shape, place);
    image->now[at] = image->due[at] = word;
}

static void expect(struct image *image, const struct shape *shape, size_t place, Word word)
{
    image->due[GUARD + place_of(shape, place)] = word;
}

/* So many words of what a rank gives, from word `from` on, for the place `to`. */
static void hold_given(struct call *call, int which, int rank, size_t from, size_t to, size_t count)
{
    for (size_t word = 0; word < count; word++)
        hold(&call->images[which], &call->shapes[which], to + word, given(call, rank, from + word));
}

static void expect_given(struct call *call, int which, int rank, size_t from, size_t to,
                         size_t count)
{
    for (size_t word = 0; word < count; word++)
        expect(&call->images[which], &call->shapes[which], to + word,
               given(call, rank, from + word));
}

/* Frees what a call has, which is over, and compares. */
static void call_close(struct call *call)
{
    for (int which = 0; which < IMAGES; which++) {
        struct image *image = &call->images[which];
        if (image->now == NULL)
            continue;
        size_t wrong = 0, first = 0;
        for (size_t place = image->words; place-- > 0;)
            if (image->now[place] != image->due[place]) {
                wrong++;
                first = place;
            }
        if (wrong > 0)
            check_fail(__FILE__, __LINE__,
                       "seed %llu, call %d on %s, %s of %d words, root %d%s%s: %zu words of buffer "
                       "%d are wrong, the first is word %zu of %zu: %x, not %x",
                       (unsigned long long)seed, call->number, call->at->name,
                       kind_names[call->kind], call->length, call->root,
                       call->in_place ? ", in place" : "",
                       mode_names[call->mode], wrong, which, first,
                       image->words, (unsigned)image->now[first], (unsigned)image->due[first]);
        free(image->now);
        free(image->due);
    }
    free(call);
}

/* Calls MPI_NAME or MPI_INAME, or starts what MPI_NAME_init makes, which some calls do twice; the
 * trailing arguments are those that all three have. */
#define RUN(name, iname, ...)                                                                    \
    do {                                                                                         \
        if (call->mode == BLOCKING) {                                                            \
            MUST(MPI_##name(__VA_ARGS__));                                                       \
        } else if (call->mode == NONBLOCKING) {                                                  \
            MUST(MPI_##iname(__VA_ARGS__, &call->request));                                      \
        } else {                                                                                 \
            MUST(MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &call->request));                 \
            start_persistent(call);                                                              \
        }                                                                                        \
    } while (0)

static void start_persistent(struct call *call)
{
    MUST(MPI_Start(&call->request));
    if (call->twice) {
        MUST(MPI_Wait(&call->request, MPI_STATUS_IGNORE));
        MUST(MPI_Start(&call->request));
    }
}

/* The number of elements of a shape that `words` words are. */
static int elements(const struct shape *shape, int words)
{
    return words / shape->words;
}

static void run_bcast(struct call *call)
{
    struct shape *shape = &call->shapes[0];
    void *buffer = image_open(&call->images[0], shape, call->length);
    if (call->at->rank == call->root)
        hold_given(call, 0, call->root, 0, 0, call->length);
    expect_given(call, 0, call->root, 0, 0, call->length);
    RUN(Bcast, Ibcast, buffer, elements(shape, call->length), shape->type, call->root,
        call->at->comm);
}

/* Gather, and allgather if there is no root. */
static void run_gather(struct call *call, int has_root)
{
    const struct shape *out = &call->shapes[0], *in = &call->shapes[1];
    int size = call->at->size, rank = call->at->rank, length = call->length;
    int receives = !has_root || rank == call->root;
    int in_place = call->in_place && receives;
    void *send = MPI_IN_PLACE, *receive = NULL;
    if (!in_place) {
        send = image_open(&call->images[0], out, length);
        hold_given(call, 0, rank, 0, 0, length);
    }
    if (receives) {
        receive = image_open(&call->images[1], in, (size_t)length * size);
        if (in_place)
            hold_given(call, 1, rank, 0, (size_t)rank * length, length);
        for (int from = 0; from < size; from++)
            expect_given(call, 1, from, 0, (size_t)from * length, length);
    }
    if (has_root)
        RUN(Gather, Igather, send, elements(out, length), out->type, receive,
            elements(in, length), in->type, call->root, call->at->comm);
    else
        RUN(Allgather, Iallgather, send, elements(out, length), out->type, receive,
            elements(in, length), in->type, call->at->comm);
}

static void run_scatter(struct call *call)
{
    const struct shape *out = &call->shapes[0], *in = &call->shapes[1];
    int size = call->at->size, rank = call->at->rank, length = call->length;
    int in_place = call->in_place && rank == call->root;
    void *send = NULL, *receive = MPI_IN_PLACE;
    if (rank == call->root) {
        send = image_open(&call->images[0], out, (size_t)length * size);
        hold_given(call, 0, rank, 0, 0, (size_t)length * size);
    }
    if (!in_place) {
        receive = image_open(&call->images[1], in, length);
        expect_given(call, 1, call->root, (size_t)rank * length, 0, length);
    }
    RUN(Scatter, Iscatter, send, elements(out, length), out->type, receive, elements(in, length),
        in->type, call->root, call->at->comm);
}

/* The length of a block between two ranks, or of one; the same on all ranks. */
static int block(const struct call *call, int from, int to)
{
    return (int)(given(call, from * RANKS_MAX + to, 77) % 5) * (call->length / 2 / STEP) * STEP;
}

/* Lays out a block for each rank with a gap of an element after each; words in all. */
static size_t lay_out(struct call *call, int which, int lengths[])
{
    const struct shape *shape = &call->shapes[which];
    int end = 0;
    for (int rank = 0; rank < call->at->size; rank++) {
        call->counts[which][rank] = elements(shape, lengths[rank]);
        call->displacements[which][rank] = end;
        end += call->counts[which][rank] + 1;
    }
    return (size_t)end * shape->words;
}

/* Where the block of a rank begins, in words of the signature. */
static size_t start(const struct call *call, int which, int rank)
{
    return (size_t)call->displacements[which][rank] * call->shapes[which].words;
}

/* Gatherv, and allgatherv if there is no root. */
static void run_gatherv(struct call *call, int has_root)
{
    const struct shape *out = &call->shapes[0], *in = &call->shapes[1];
    int size = call->at->size, rank = call->at->rank, lengths[RANKS_MAX] = {0};
    int receives = !has_root || rank == call->root;
    int in_place = call->in_place && receives;
    void *send = MPI_IN_PLACE, *receive = NULL;
    for (int from = 0; from < size; from++)
        lengths[from] = block(call, from, 0);
    if (!in_place) {
        send = image_open(&call->images[0], out, lengths[rank]);
        hold_given(call, 0, rank, 0, 0, lengths[rank]);
    }
    if (receives) {
        receive = image_open(&call->images[1], in, lay_out(call, 1, lengths));
        if (in_place)
            hold_given(call, 1, rank, 0, start(call, 1, rank), lengths[rank]);
        for (int from = 0; from < size; from++)
            expect_given(call, 1, from, 0, start(call, 1, from), lengths[from]);
    }
    if (has_root)
        RUN(Gatherv, Igatherv, send, elements(out, lengths[rank]), out->type, receive,
            call->counts[1], call->displacements[1], in->type, call->root, call->at->comm);
    else
        RUN(Allgatherv, Iallgatherv, send, elements(out, lengths[rank]), out->type, receive,
            call->counts[1], call->displacements[1], in->type, call->at->comm);
}

static void run_scatterv(struct call *call)
{
    const struct shape *out = &call->shapes[0], *in = &call->shapes[1];
    int size = call->at->size, rank = call->at->rank, lengths[RANKS_MAX] = {0};
    int in_place = call->in_place && rank == call->root;
    void *send = NULL, *receive = MPI_IN_PLACE;
    for (int to = 0; to < size; to++)
        lengths[to] = block(call, 0, to);
    if (rank == call->root) {
        send = image_open(&call->images[0], out, lay_out(call, 0, lengths));
        for (int to = 0; to < size; to++)
            hold_given(call, 0, rank, (size_t)to * 1000, start(call, 0, to), lengths[to]);
    }
    if (!in_place) {
        receive = image_open(&call->images[1], in, lengths[rank]);
        expect_given(call, 1, call->root, (size_t)rank * 1000, 0, lengths[rank]);
    }
    RUN(Scatterv, Iscatterv, send, call->counts[0], call->displacements[0], out->type, receive,
        elements(in, lengths[rank]), in->type, call->root, call->at->comm);
}

static void run_alltoall(struct call *call)
{
    const struct shape *out = &call->shapes[0], *in = &call->shapes[1];
    int size = call->at->size, rank = call->at->rank, length = call->length;
    size_t all = (size_t)length * size;
    void *send = MPI_IN_PLACE, *receive = image_open(&call->images[1], in, all);
    if (call->in_place) {
        hold_given(call, 1, rank, 0, 0, all);
    } else {
        send = image_open(&call->images[0], out, all);
        hold_given(call, 0, rank, 0, 0, all);
    }
    for (int from = 0; from < size; from++)
        expect_given(call, 1, from, (size_t)rank * length, (size_t)from * length, length);
    RUN(Alltoall, Ialltoall, send, elements(out, length), out->type, receive, elements(in, length),
        in->type, call->at->comm);
}

/* Alltoallv, and alltoallw, whose displacements are bytes. In place, a block comes back as long as
 * it went. */
static void run_alltoallv(struct call *call)
{
    const struct shape *out = &call->shapes[0], *in = &call->shapes[1];
    int size = call->at->size, rank = call->at->rank;
    int sent[RANKS_MAX], received[RANKS_MAX];
    void *send = MPI_IN_PLACE, *receive;
    for (int other = 0; other < size; other++) {
        int low = other < rank ? other : rank, high = other < rank ? rank : other;
        sent[other] = call->in_place ? block(call, low, high) : block(call, rank, other);
        received[other] = call->in_place ? block(call, low, high) : block(call, other, rank);
    }
    receive = image_open(&call->images[1], in, lay_out(call, 1, received));
    if (!call->in_place)
        send = image_open(&call->images[0], out, lay_out(call, 0, sent));
    for (int other = 0; other < size; other++) {
        int which = call->in_place ? 1 : 0;
        hold_given(call, which, rank, (size_t)other * 1000, start(call, which, other), sent[other]);
    }
    for (int other = 0; other < size; other++)
        expect_given(call, 1, other, (size_t)rank * 1000, start(call, 1, other), received[other]);
    if (call->kind == ALLTOALLV) {
        RUN(Alltoallv, Ialltoallv, send, call->counts[0], call->displacements[0], out->type,
            receive, call->counts[1], call->displacements[1], in->type, call->at->comm);
        return;
    }
    for (int which = 0; which < 2; which++)
        for (int other = 0; other < size; other++) {
            const struct shape *shape = &call->shapes[which];
            call->displacements[which][other] *= shape->extent * (int)sizeof(Word);
            call->types[which][other] = shape->type;
        }
    RUN(Alltoallw, Ialltoallw, send, call->counts[0], call->displacements[0], call->types[0],
        receive, call->counts[1], call->displacements[1], call->types[1], call->at->comm);
}

/* The words of what ranks below `end` give, combined one by one. */
static void combined(const struct call *call, MPI_Op op, int end, size_t length, Word *into)
{
    for (size_t place = 0; place < length; place++)
        into[place] = given(call, end - 1, place);
    for (int rank = end - 2; rank >= 0; rank--)
        for (size_t place = 0; place < length; place++) {
            Word left = given(call, rank, place);
            if (op == MPI_SUM)
                into[place] += left;
            else if (op == MPI_BXOR)
                into[place] ^= left;
            else if (op == MPI_MAX)
                into[place] = left > into[place] ? left : into[place];
            else if (place % 2 == 0) {
                Word right[2] = {into[place], into[place + 1]};
                into[place + 1] = left * right[1] + given(call, rank, place + 1);
                into[place] = left * right[0];
            } else
                continue;
        }
}

/* All reductions: ranks must agree on the datatype, which is the words or pairs of them. */
static void run_reduction(struct call *call)
{
    static const struct shape plain = {MPI_UINT32_T, 1, 1, {0}};
    const MPI_Op ops[] = {MPI_SUM, MPI_BXOR, MPI_MAX, affine};
    enum kind kind = call->kind;
    int size = call->at->size, rank = call->at->rank, ranks = size, length = call->length;
    MPI_Op op = ops[call->salt % 4];
    int each = op == affine ? 2 : 1, total = 0, before = 0, result = length, lengths[RANKS_MAX] = {0};
    MPI_Datatype type = op == affine ? pair : MPI_UINT32_T;
    int has_result = kind == REDUCE ? rank == call->root : kind != EXSCAN || rank > 0;
    int in_place = call->in_place && (kind != REDUCE || has_result);
    for (int other = 0; other < size; other++) {
        lengths[other] = kind == REDUCE_SCATTER ? block(call, other, 0) : length;
        call->counts[0][other] = lengths[other] / each;
        before += other < rank ? lengths[other] : 0;
        total += lengths[other];
    }
    call->shapes[0] = call->shapes[1] = plain;
    if (kind == REDUCE_SCATTER || kind == REDUCE_SCATTER_BLOCK) {
        length = total;
        result = lengths[rank];
    } else {
        before = 0;
    }
    if (kind == SCAN || kind == EXSCAN)
        ranks = rank + (kind == SCAN);
    void *send = MPI_IN_PLACE, *receive = image_open(&call->images[1], &plain, length);
    if (!in_place)
        send = image_open(&call->images[0], &plain, length);
    hold_given(call, in_place ? 1 : 0, rank, 0, 0, length);
    if (has_result) {
        Word *words = take(length * sizeof(Word));
        combined(call, op, ranks, length, words);
        for (int place = 0; place < result; place++)
            expect(&call->images[1], &plain, place, words[before + place]);
        free(words);
    }
    MPI_Comm comm = call->at->comm;
    int count = call->length / each;
    switch (kind) {
    case REDUCE:
        RUN(Reduce, Ireduce, send, receive, count, type, op, call->root, comm);
        break;
    case ALLREDUCE:
        RUN(Allreduce, Iallreduce, send, receive, count, type, op, comm);
        break;
    case REDUCE_SCATTER_BLOCK:
        RUN(Reduce_scatter_block, Ireduce_scatter_block, send, receive, count, type, op, comm);
        break;
    case REDUCE_SCATTER:
        RUN(Reduce_scatter, Ireduce_scatter, send, receive, call->counts[0], type, op, comm);
        break;
    case SCAN:
        RUN(Scan, Iscan, send, receive, count, type, op, comm);
        break;
    default:
        RUN(Exscan, Iexscan, send, receive, count, type, op, comm);
    }
}

static void run(struct call *call)
{
    switch (call->kind) {
    case BARRIER: RUN(Barrier, Ibarrier, call->at->comm); break;
    case BCAST: run_bcast(call); break;
    case GATHER: run_gather(call, 1); break;
    case GATHERV: run_gatherv(call, 1); break;
    case SCATTER: run_scatter(call); break;
    case SCATTERV: run_scatterv(call); break;
    case ALLGATHER: run_gather(call, 0); break;
    case ALLGATHERV: run_gatherv(call, 0); break;
    case ALLTOALL: run_alltoall(call); break;
    case ALLTOALLV: case ALLTOALLW: run_alltoallv(call); break;
    default: run_reduction(call);
    }
}

/* Draws a call and starts it; what is blocking is over then. */
static void next(int number)
{
    static const int lengths[] = {0, STEP, 2 * STEP, 10 * STEP, 80 * STEP};
    struct call *call = take(sizeof *call);
    memset(call, 0, sizeof *call);
    call->number = number;
    call->kind = draw(&all_draw, KINDS);
    call->mode = draw(&all_draw, MODES);
    call->at = &on[draw(&all_draw, ON)];
    call->length = lengths[draw(&all_draw, 5)];
    if (draw(&all_draw, 16) == 0)
        call->length = 1600 * STEP;
    call->root = (int)draw(&all_draw, 1 << 20) % call->at->size;
    call->in_place = draw(&all_draw, 3) == 0;
    call->salt = draw(&all_draw, 1u << 31);
    /* What is in place has another operand the second time. */
    call->twice = draw(&all_draw, 2) == 0 && !call->in_place;
    shape_open(&call->shapes[0]);
    shape_open(&call->shapes[1]);
    MPI_Datatype types[] = {call->shapes[0].type, call->shapes[1].type};
    run(call);
    /* A call that is under way keeps its datatypes. */
    MUST(MPI_Type_free(&types[0]));
    MUST(MPI_Type_free(&types[1]));
    if (call->mode == BLOCKING)
        call_close(call);
    else
        pending[pending_count++] = call;
}

/* Completes some of what is under way, in an order of this rank's own, until `left` are left. */
static void complete(int left)
{
    while (pending_count > left) {
        MPI_Request requests[PENDING_MAX];
        int index;
        for (int at = 0; at < pending_count; at++)
            requests[at] = pending[at]->request;
        if (draw(&own_draw, 2) == 0) {
            index = (int)draw(&own_draw, pending_count);
            MUST(MPI_Wait(&requests[index], MPI_STATUS_IGNORE));
        } else {
            MUST(MPI_Waitany(pending_count, requests, &index, MPI_STATUS_IGNORE));
        }
        CHECK((requests[index] != MPI_REQUEST_NULL) == (pending[index]->mode == PERSISTENT));
        if (pending[index]->mode == PERSISTENT)
            MUST(MPI_Request_free(&requests[index]));
        call_close(pending[index]);
        pending[index] = pending[--pending_count];
    }
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    const char *first = getenv("COLL_RANDOM_SEED"), *many = getenv("COLL_RANDOM_CALLS");
    int calls = many ? atoi(many) : CALLS;
    comms_open();
    memcpy(on, places, sizeof places);
    on[COMMS] = (Place){MPI_COMM_NULL, check_rank, check_size, "a copy of the world"};
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &on[COMMS].comm));
    MUST(MPI_Type_contiguous(2, MPI_UINT32_T, &pair));
    MUST(MPI_Type_commit(&pair));
    MUST(MPI_Op_create(compose, 0, &affine));
    for (int round = 0; round < SEEDS; round++) {
        seed = (first ? strtoull(first, NULL, 0) : 1) + round;
        section("sequence %d", round);
        all_draw = seed;
        own_draw = seed ^ (uint64_t)(check_rank + 1) << 40;
        for (int number = 0; number < calls; number++) {
            next(number);
            complete(pending_count == PENDING_MAX ? (int)draw(&own_draw, PENDING_MAX)
                                                  : PENDING_MAX);
        }
        complete(0);
    }
    MUST(MPI_Op_free(&affine));
    MUST(MPI_Type_free(&pair));
    MUST(MPI_Comm_free(&on[COMMS].comm));
    comms_close();
    return check_end();
}
