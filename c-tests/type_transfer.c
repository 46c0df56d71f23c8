/* Data of derived types on the way: sent typed and received packed, the reverse, and between
 * different types of equal signature; random nested types against a list of addresses made by
 * hand. */
#include "check.h"

#include <stddef.h>

enum { PLACES = 4096, ROOM = 65536, RANDOM_TYPES = 60 };

/* A type of ints together with the naive list of where its ints are, in units of an int. */
typedef struct {
    MPI_Datatype type;
    int count;
    int places[PLACES];
    int extent;
} Layout;

static int partner;
static int memory[2 * ROOM], arrived[2 * ROOM], packed[PLACES * 8];

static void plain(Layout *layout)
{
    MUST(MPI_Type_contiguous(1, MPI_INT, &layout->type));
    layout->count = 1;
    layout->places[0] = 0;
    layout->extent = 1;
}

/* `blocks` blocks of `length` elements; block b begins `begin[b]` extents from the start. */
static void repeat(Layout *layout, int blocks, int length, const int *begin)
{
    static int old[PLACES];
    int old_count = layout->count, lower = 0, upper = 0, first = 1;
    memcpy(old, layout->places, sizeof old);
    layout->count = 0;
    for (int block = 0; block < blocks; block++)
        for (int element = 0; element < length; element++) {
            int shift = (begin[block] + element) * layout->extent;
            for (int place = 0; place < old_count; place++)
                layout->places[layout->count++] = old[place] + shift;
            lower = first || shift < lower ? shift : lower;
            upper = first || shift + layout->extent > upper ? shift + layout->extent : upper;
            first = 0;
        }
    layout->extent = upper - lower;
}

/* Wrap the type once more, in one of five ways. Extents stay positive and lower bounds zero, so
 * that the naive list is easy to see through. */
static void wrap(Layout *layout, uint64_t *state)
{
    MPI_Datatype inner = layout->type;
    int blocks = 1 + (int)draw(state, 3), length = 1 + (int)draw(state, 3);
    int begin[4] = {0}, lengths[4], gap = (int)draw(state, 3);
    MPI_Aint wide[4];
    MPI_Datatype parts[4];
    if (layout->count * blocks * length > PLACES / 4)
        return;
    for (int block = 0; block < blocks; block++) {
        begin[block] = block * (length + gap);
        lengths[block] = length;
        wide[block] = (MPI_Aint)begin[block] * layout->extent * (MPI_Aint)sizeof(int);
        parts[block] = inner;
    }
    switch (draw(state, 5)) {
    case 0:
        MUST(MPI_Type_vector(blocks, length, length + gap, inner, &layout->type));
        break;
    case 1:
        MUST(MPI_Type_indexed(blocks, lengths, begin, inner, &layout->type));
        break;
    case 2:
        MUST(MPI_Type_create_hindexed(blocks, lengths, wide, inner, &layout->type));
        break;
    case 3:
        MUST(MPI_Type_create_struct(blocks, lengths, wide, parts, &layout->type));
        break;
    default:
        MUST(MPI_Type_create_hvector(blocks, length, blocks > 1 ? wide[1] : 0, inner,
                                     &layout->type));
    }
    repeat(layout, blocks, length, begin);
    MUST(MPI_Type_free(&inner));
}

static void stretch(Layout *layout, uint64_t *state)
{
    MPI_Datatype inner = layout->type;
    layout->extent += (int)draw(state, 4);
    MUST(MPI_Type_create_resized(inner, 0, layout->extent * (MPI_Aint)sizeof(int),
                                 &layout->type));
    MUST(MPI_Type_free(&inner));
}

/* How many elements of the layout to send. */
static int elements_of(const Layout *layout)
{
    int most = ROOM / (layout->extent > 0 ? layout->extent : 1);
    int some = PLACES * 8 / layout->count;
    int least = most < some ? most : some;
    return least > 7 ? 7 : least;
}

static int number_at(int place, int rank)
{
    return rank * 1000000 + place;
}

/* Typed to packed. */
static void gather_side(const Layout *layout, int elements)
{
    MPI_Request request;
    int ints = elements * layout->count, wrong = 0;
    MUST(MPI_Irecv(packed, ints, MPI_INT, partner, 1, MPI_COMM_WORLD, &request));
    MUST(MPI_Send(memory, elements, layout->type, partner, 1, MPI_COMM_WORLD));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int index = 0; index < ints; index++) {
        int element = index / layout->count, place = layout->places[index % layout->count];
        wrong += packed[index] != number_at(place + element * layout->extent, partner);
    }
    CHECK_EQUAL(wrong, 0);
}

/* Packed to typed; what is not part of the type is not touched. */
static void scatter_side(const Layout *layout, int elements)
{
    MPI_Request request;
    MPI_Status status;
    int ints = elements * layout->count, wrong = 0, count = -1;
    for (int index = 0; index < ints; index++)
        packed[index] = number_at(index, check_rank);
    memset(arrived, 0xff, sizeof arrived);
    MUST(MPI_Irecv(arrived, elements, layout->type, partner, 2, MPI_COMM_WORLD, &request));
    MUST(MPI_Send(packed, ints, MPI_INT, partner, 2, MPI_COMM_WORLD));
    MUST(MPI_Wait(&request, &status));
    MUST(MPI_Get_count(&status, layout->type, &count));
    CHECK_EQUAL(count, elements);
    MUST(MPI_Get_elements(&status, layout->type, &count));
    CHECK_EQUAL(count, ints);
    for (int index = 0; index < ints; index++) {
        int place = layout->places[index % layout->count]
            + index / layout->count * layout->extent;
        wrong += arrived[place] != number_at(index, partner);
        arrived[place] = -1;
    }
    for (int place = 0; place < 2 * ROOM; place++)
        wrong += arrived[place] != -1;
    CHECK_EQUAL(wrong, 0);
}

static void random_types(void)
{
    static Layout layout;
    uint64_t state = 77;
    for (int round = 0; round < RANDOM_TYPES; round++) {
        plain(&layout);
        for (unsigned depth = draw(&state, 4) + 1; depth > 0; depth--) {
            wrap(&layout, &state);
            if (draw(&state, 3) == 0)
                stretch(&layout, &state);
        }
        MUST(MPI_Type_commit(&layout.type));
        int elements = elements_of(&layout);
        if (elements > 0) {
            gather_side(&layout, elements);
            scatter_side(&layout, elements);
        }
        MUST(MPI_Type_free(&layout.type));
    }
}

/* A long strided message: packets end in the middle of blocks. */
static void long_and_strided(int ints)
{
    MPI_Datatype comb, pairs;
    MPI_Request request;
    int *source = take((size_t)ints * 3 * sizeof(int)), wrong = 0;
    int *target = take((size_t)ints * 2 * sizeof(int));
    for (int place = 0; place < 3 * ints; place++)
        source[place] = number_at(place, check_rank);
    memset(target, 0xff, (size_t)ints * 2 * sizeof(int));
    MUST(MPI_Type_vector(ints, 1, 3, MPI_INT, &comb));
    MUST(MPI_Type_vector(ints / 5, 5, 10, MPI_INT, &pairs));
    MUST(MPI_Type_commit(&comb));
    MUST(MPI_Type_commit(&pairs));
    MUST(MPI_Irecv(target, 1, pairs, partner, 3, MPI_COMM_WORLD, &request));
    MUST(MPI_Send(source, 1, comb, partner, 3, MPI_COMM_WORLD));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int place = 0; place < 2 * ints; place++) {
        int index = place / 10 * 5 + place % 10;
        wrong += target[place] != (place % 10 < 5 ? number_at(3 * index, partner) : -1);
    }
    CHECK_EQUAL(wrong, 0);
    MUST(MPI_Type_free(&comb));
    MUST(MPI_Type_free(&pairs));
    free(source);
    free(target);
}

/* Mixed basic types: {char, double, int} spread out on one side, dense on the other. */
static void mixed(int elements)
{
    struct wide { char letter; double number; int count; };
    const int lengths[] = {1, 1, 1};
    const MPI_Aint spread[] = {0, offsetof(struct wide, number), offsetof(struct wide, count)};
    const MPI_Aint dense[] = {0, 1, 9};
    const MPI_Datatype parts[] = {MPI_CHAR, MPI_DOUBLE, MPI_INT};
    MPI_Datatype wide, padded, tight;
    MPI_Request request;
    struct wide *source = take((size_t)elements * sizeof *source);
    unsigned char *target = take((size_t)elements * 13);
    int wrong = 0;
    for (int index = 0; index < elements; index++)
        source[index] = (struct wide){(char)(index % 100), index * 0.5 + check_rank, -index};
    MUST(MPI_Type_create_struct(3, lengths, spread, parts, &wide));
    MUST(MPI_Type_create_struct(3, lengths, dense, parts, &padded));
    MUST(MPI_Type_create_resized(padded, 0, 13, &tight));
    MUST(MPI_Type_free(&padded));
    MUST(MPI_Type_commit(&wide));
    MUST(MPI_Type_commit(&tight));
    MUST(MPI_Irecv(target, elements, tight, partner, 4, MPI_COMM_WORLD, &request));
    MUST(MPI_Send(source, elements, wide, partner, 4, MPI_COMM_WORLD));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int index = 0; index < elements; index++) {
        double number;
        int count;
        memcpy(&number, target + 13 * index + 1, sizeof number);
        memcpy(&count, target + 13 * index + 9, sizeof count);
        wrong += target[13 * index] != index % 100 || number != index * 0.5 + partner
            || count != -index;
    }
    CHECK_EQUAL(wrong, 0);
    MUST(MPI_Type_free(&wide));
    MUST(MPI_Type_free(&tight));
    free(source);
    free(target);
}

/* Absolute addresses from MPI_BOTTOM: three variables that lie anywhere. */
static void absolute(void)
{
    static int first;
    int second, *third = take(sizeof *third), got[3];
    const int lengths[] = {1, 1, 1};
    const MPI_Datatype parts[] = {MPI_INT, MPI_INT, MPI_INT};
    MPI_Aint places[3];
    MPI_Datatype type;
    MPI_Request request;
    first = check_rank;
    second = check_rank + 1;
    *third = check_rank + 2;
    MUST(MPI_Get_address(&first, &places[0]));
    MUST(MPI_Get_address(&second, &places[1]));
    MUST(MPI_Get_address(third, &places[2]));
    MUST(MPI_Type_create_struct(3, lengths, places, parts, &type));
    MUST(MPI_Type_commit(&type));
    MUST(MPI_Irecv(got, 3, MPI_INT, partner, 5, MPI_COMM_WORLD, &request));
    MUST(MPI_Send(MPI_BOTTOM, 1, type, partner, 5, MPI_COMM_WORLD));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(got[0] == partner && got[1] == partner + 1 && got[2] == partner + 2);
    MUST(MPI_Irecv(MPI_BOTTOM, 1, type, partner, 6, MPI_COMM_WORLD, &request));
    MUST(MPI_Send(&(int[]){7, 8, 9}, 3, MPI_INT, partner, 6, MPI_COMM_WORLD));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(first == 7 && second == 8 && *third == 9);
    MUST(MPI_Type_free(&type));
    free(third);
}

/* Backwards and from the middle: what is sent first lies last. */
static void backwards(void)
{
    int numbers[10], got[5] = {0};
    MPI_Datatype type;
    MPI_Request request;
    for (int place = 0; place < 10; place++)
        numbers[place] = number_at(place, check_rank);
    MUST(MPI_Type_vector(5, 1, -2, MPI_INT, &type));
    MUST(MPI_Type_commit(&type));
    MUST(MPI_Irecv(got, 5, MPI_INT, partner, 7, MPI_COMM_WORLD, &request));
    MUST(MPI_Send(&numbers[9], 1, type, partner, 7, MPI_COMM_WORLD));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int index = 0; index < 5; index++)
        CHECK_EQUAL(got[index], number_at(9 - 2 * index, partner));
    MUST(MPI_Type_free(&type));
}

/* A type is freed while a message of it is under way. */
static void freed_under_way(int ints)
{
    MPI_Datatype comb;
    MPI_Request receive, send;
    int *source = take((size_t)ints * 2 * sizeof(int)), wrong = 0;
    int *target = take((size_t)ints * 2 * sizeof(int));
    for (int place = 0; place < 2 * ints; place++)
        source[place] = number_at(place, check_rank);
    MUST(MPI_Type_vector(ints, 1, 2, MPI_INT, &comb));
    MUST(MPI_Type_commit(&comb));
    MUST(MPI_Irecv(target, 1, comb, partner, 8, MPI_COMM_WORLD, &receive));
    MUST(MPI_Isend(source, 1, comb, partner, 8, MPI_COMM_WORLD, &send));
    MUST(MPI_Type_free(&comb));
    MUST(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    MUST(MPI_Wait(&send, MPI_STATUS_IGNORE));
    for (int place = 0; place < 2 * ints; place += 2)
        wrong += target[place] != number_at(place, partner);
    CHECK_EQUAL(wrong, 0);
    free(source);
    free(target);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    partner = (check_rank ^ 1) < check_size ? check_rank ^ 1 : check_rank;
    for (int place = 0; place < 2 * ROOM; place++)
        memory[place] = number_at(place, check_rank);
    section("random types");
    random_types();
    section("long and strided");
    long_and_strided(1000);
    long_and_strided(20000);
    long_and_strided(1000000);
    section("mixed");
    mixed(1);
    mixed(3);
    mixed(1000);
    mixed(100000);
    section("absolute addresses and backwards");
    absolute();
    backwards();
    section("freed under way");
    freed_under_way(10);
    freed_under_way(300000);
    return check_end();
}
