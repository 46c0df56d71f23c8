/* Random trees of datatypes from a seed: every constructor in both forms over every kind of
 * predefined type. For each seed the sizes and bounds, a checksum of how the types were made, of the
 * packed bytes and of where they are unpacked are printed; two libraries must agree on all.
 *
 * Libraries differ where the standard leaves them a choice, or is read in two ways, so the trees
 * keep away from that: places, strides in bytes, and bounds are multiples of the largest alignment
 * (then it does not matter which extents are rounded up); a structure has either only parts with
 * bounds of their own or none; no type is empty; long double is left out, because its padding may
 * be sent or not. True bounds of cyclic arrays are left out, and elements are counted strictly only:
 * at least one peer has them wrong.
 *
 * Arguments: how many seeds, and the first of them. */
#include "check.h"

enum {
    SEEDS = 300,
    ALIGNMENT = 16,            /* more than any of the types has */
    PARTS = 4,                 /* arguments of one constructor, at most */
    SIZE_MAX_BYTES = 4096,     /* of packed data: larger types are not kept */
    REACH_BYTES = 1 << 16,     /* no byte is farther from the start, no extent longer */
    COUNT = 2,                 /* elements that are packed */
    ARENA_BYTES = 2 * REACH_BYTES * (COUNT + 1),
    EVERY_SEND = 8             /* one type in so many is sent too */
};

static uint64_t state;
static int is_cyclic; /* this tree has a cyclic array */
static unsigned char arena[ARENA_BYTES], other[ARENA_BYTES];
static unsigned char packed[COUNT * SIZE_MAX_BYTES], again[COUNT * SIZE_MAX_BYTES];

static uint64_t mixed(uint64_t sum, uint64_t value)
{
    sum = (sum ^ value) * 0x9e3779b97f4a7c15u;
    return sum ^ sum >> 29;
}

static uint64_t checksum(const unsigned char *bytes, size_t count)
{
    uint64_t sum = count;
    for (size_t place = 0; place < count; place++)
        sum = mixed(sum, bytes[place]);
    return sum;
}

/* A number from `low` to `high`. */
static int between(int low, int high)
{
    return low + (int)draw(&state, (unsigned)(high - low + 1));
}

/* Arguments of a constructor in both widths. */
typedef struct {
    int narrow[PARTS];
    MPI_Aint wide[PARTS];
    MPI_Count large[PARTS];
} Numbers;

static void draw_numbers(Numbers *numbers, int count, int low, int high, int unit)
{
    for (int index = 0; index < count; index++) {
        int number = between(low, high) * unit;
        numbers->narrow[index] = number;
        numbers->wide[index] = number;
        numbers->large[index] = number;
    }
}

/* Lengths of blocks, of which the first is not empty. */
static void draw_lengths(Numbers *lengths)
{
    draw_numbers(lengths, PARTS, 0, 3, 1);
    if (lengths->narrow[0] == 0)
        lengths->narrow[0] = 1;
    lengths->large[0] = lengths->narrow[0];
}

/* A datatype of the tree, and whether its bounds were given. */
typedef struct {
    MPI_Datatype type;
    int bounded;
} Node;

static MPI_Datatype leaf(void)
{
    MPI_Datatype leaves[] = {
        MPI_CHAR, MPI_BYTE, MPI_SHORT, MPI_INT, MPI_LONG, MPI_UNSIGNED_LONG_LONG, MPI_FLOAT,
        MPI_DOUBLE, MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_INT16_T,
        MPI_C_BOOL, MPI_WCHAR, MPI_AINT, MPI_2INT, MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_SHORT_INT,
        MPI_LONG_INT
    };
    return leaves[draw(&state, sizeof leaves / sizeof *leaves)];
}

static void give_back(MPI_Datatype *type)
{
    int integers, addresses, types, combiner;
    MPI_Count large_integers, large_addresses, counts, large_types;
    MUST(MPI_Type_get_envelope_c(*type, &large_integers, &large_addresses, &counts, &large_types,
                                 &combiner));
    if (counts == 0) {
        MUST(MPI_Type_get_envelope(*type, &integers, &addresses, &types, &combiner));
        CHECK(integers == large_integers && addresses == large_addresses && types == large_types);
    }
    if (combiner != MPI_COMBINER_NAMED)
        MUST(MPI_Type_free(type));
}

static MPI_Datatype with_one_length(int kind, int large, MPI_Datatype old)
{
    Numbers places;
    MPI_Datatype made = MPI_DATATYPE_NULL;
    int count = between(1, 4), length = between(1, 3), stride = between(-6, 9);
    int bytes = between(-4, 8) * ALIGNMENT, blocks = between(1, PARTS);
    draw_numbers(&places, PARTS, -8, 12, kind == 4 ? ALIGNMENT : 1);
    switch (kind) {
    case 0:
        MUST(large ? MPI_Type_contiguous_c(count, old, &made)
                   : MPI_Type_contiguous(count, old, &made));
        break;
    case 1:
        MUST(large ? MPI_Type_vector_c(count, length, stride, old, &made)
                   : MPI_Type_vector(count, length, stride, old, &made));
        break;
    case 2:
        MUST(large ? MPI_Type_create_hvector_c(count, length, bytes, old, &made)
                   : MPI_Type_create_hvector(count, length, bytes, old, &made));
        break;
    case 3:
        MUST(large ? MPI_Type_create_indexed_block_c(blocks, length, places.large, old, &made)
                   : MPI_Type_create_indexed_block(blocks, length, places.narrow, old, &made));
        break;
    default:
        MUST(large ? MPI_Type_create_hindexed_block_c(blocks, length, places.large, old, &made)
                   : MPI_Type_create_hindexed_block(blocks, length, places.wide, old, &made));
    }
    return made;
}

static MPI_Datatype with_lengths(int kind, int large, MPI_Datatype old)
{
    Numbers lengths, places;
    MPI_Datatype made = MPI_DATATYPE_NULL;
    int blocks = between(1, PARTS);
    draw_lengths(&lengths);
    draw_numbers(&places, PARTS, -8, 20, kind == 1 ? ALIGNMENT : 1);
    if (kind == 0)
        MUST(large ? MPI_Type_indexed_c(blocks, lengths.large, places.large, old, &made)
                   : MPI_Type_indexed(blocks, lengths.narrow, places.narrow, old, &made));
    else
        MUST(large ? MPI_Type_create_hindexed_c(blocks, lengths.large, places.large, old, &made)
                   : MPI_Type_create_hindexed(blocks, lengths.narrow, places.wide, old, &made));
    return made;
}

static MPI_Datatype structure(int large, MPI_Datatype *parts)
{
    Numbers lengths, places;
    MPI_Datatype made = MPI_DATATYPE_NULL;
    draw_lengths(&lengths);
    draw_numbers(&places, PARTS, -4, 16, ALIGNMENT);
    MUST(large ? MPI_Type_create_struct_c(PARTS, lengths.large, places.large, parts, &made)
               : MPI_Type_create_struct(PARTS, lengths.narrow, places.wide, parts, &made));
    return made;
}

static MPI_Datatype subarray(int large, MPI_Datatype old)
{
    Numbers sizes, parts, starts;
    MPI_Datatype made = MPI_DATATYPE_NULL;
    int dimensions = between(1, 3), order = between(0, 1) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    draw_numbers(&sizes, dimensions, 1, 5, 1);
    for (int index = 0; index < dimensions; index++) {
        int size = sizes.narrow[index], part = between(1, size), start = between(0, size - part);
        parts.large[index] = parts.narrow[index] = part;
        starts.large[index] = starts.narrow[index] = start;
    }
    MUST(large ? MPI_Type_create_subarray_c(dimensions, sizes.large, parts.large, starts.large,
                                            order, old, &made)
               : MPI_Type_create_subarray(dimensions, sizes.narrow, parts.narrow, starts.narrow,
                                          order, old, &made));
    return made;
}

static MPI_Datatype darray(int large, MPI_Datatype old)
{
    Numbers sizes;
    int kinds[PARTS], lengths[PARTS], grid[PARTS], processes = 1;
    MPI_Datatype made = MPI_DATATYPE_NULL;
    int dimensions = between(1, 3), order = between(0, 1) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    draw_numbers(&sizes, dimensions, 1, 7, 1);
    for (int index = 0; index < dimensions; index++) {
        int kind = between(0, 4), size = sizes.narrow[index];
        grid[index] = kind == 0 ? 1 : between(1, 3);
        kinds[index] = kind == 0 ? MPI_DISTRIBUTE_NONE
                     : kind < 3 ? MPI_DISTRIBUTE_BLOCK : MPI_DISTRIBUTE_CYCLIC;
        lengths[index] = kind == 2 ? (size + grid[index] - 1) / grid[index] + between(0, 1)
                       : kind == 4 ? between(1, 3) : MPI_DISTRIBUTE_DFLT_DARG;
        processes *= grid[index];
        is_cyclic |= kind > 2;
    }
    int rank = between(0, processes - 1);
    MUST(large ? MPI_Type_create_darray_c(processes, rank, dimensions, sizes.large, kinds, lengths,
                                          grid, order, old, &made)
               : MPI_Type_create_darray(processes, rank, dimensions, sizes.narrow, kinds, lengths,
                                        grid, order, old, &made));
    return made;
}

static MPI_Datatype resized(int large, MPI_Datatype old)
{
    int lower = between(-2, 2) * ALIGNMENT, extent = between(1, 6) * ALIGNMENT;
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MUST(large ? MPI_Type_create_resized_c(old, lower, extent, &made)
               : MPI_Type_create_resized(old, lower, extent, &made));
    return made;
}

/* Give new bounds to all parts of a structure if one has any, or begins at an odd place. */
static void make_alike(Node *parts)
{
    int some = 0;
    for (int part = 0; part < PARTS; part++) {
        MPI_Count lower, extent;
        MUST(MPI_Type_get_extent_c(parts[part].type, &lower, &extent));
        some |= parts[part].bounded || lower % ALIGNMENT != 0;
    }
    for (int part = 0; some && part < PARTS; part++) {
        MPI_Datatype made = resized(0, parts[part].type);
        give_back(&parts[part].type);
        parts[part] = (Node){made, 1};
    }
}

/* Whether the type is small enough to go on with. */
static int is_handy(MPI_Datatype type)
{
    MPI_Count size, lower, extent, true_lower, true_extent;
    MUST(MPI_Type_size_c(type, &size));
    MUST(MPI_Type_get_extent_c(type, &lower, &extent));
    MUST(MPI_Type_get_true_extent_c(type, &true_lower, &true_extent));
    return size > 0 && size <= SIZE_MAX_BYTES && lower > -REACH_BYTES && lower < REACH_BYTES
        && extent > -REACH_BYTES && extent < REACH_BYTES && true_lower > -REACH_BYTES
        && true_lower + true_extent < REACH_BYTES;
}

static MPI_Datatype wrapped(int kind, int large, Node *parts)
{
    MPI_Datatype types[PARTS], made = MPI_DATATYPE_NULL, old = parts[0].type;
    if (kind < 5)
        return with_one_length(kind, large, old);
    switch (kind) {
    case 5:
    case 6:
        return with_lengths(kind - 5, large, old);
    case 7:
        make_alike(parts);
        for (int part = 0; part < PARTS; part++)
            types[part] = parts[part].type;
        return structure(large, types);
    case 8:
        return subarray(large, old);
    case 9:
        return darray(large, old);
    case 10:
        return resized(large, old);
    default:
        MUST(MPI_Type_dup(old, &made));
        return made;
    }
}

/* A tree at most `depth` constructors high. */
static Node tree(int depth)
{
    if (depth == 0 || draw(&state, 8) == 0)
        return (Node){leaf(), 0};
    int kind = between(0, 11), large = between(0, 3) == 0;
    int used = kind == 7 ? PARTS : 1;
    Node parts[PARTS], made;
    for (int part = 0; part < used; part++)
        parts[part] = tree(depth - 1);
    made.type = wrapped(kind, large, parts);
    made.bounded = parts[0].bounded || (kind >= 8 && kind <= 10);
    for (int part = 0; part < used; part++)
        give_back(&parts[part].type);
    if (is_handy(made.type))
        return made;
    MUST(MPI_Type_free(&made.type));
    return (Node){leaf(), 0};
}

/* A checksum of how the type was made. */
static uint64_t history(MPI_Datatype type)
{
    MPI_Count integers, addresses, counts, types;
    int combiner;
    MUST(MPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &combiner));
    uint64_t sum = mixed(mixed(mixed(mixed(mixed(1, (uint64_t)integers), (uint64_t)addresses),
                                     (uint64_t)counts), (uint64_t)types), (uint64_t)combiner);
    if (combiner == MPI_COMBINER_NAMED)
        return mixed(sum, (uint64_t)MPI_Type_toint(type));
    int *integer = take((size_t)integers * sizeof *integer);
    MPI_Aint *address = take((size_t)addresses * sizeof *address);
    MPI_Count *count = take((size_t)counts * sizeof *count);
    MPI_Datatype *part = take((size_t)types * sizeof *part);
    MUST(MPI_Type_get_contents_c(type, integers, addresses, counts, types, integer, address, count,
                                 part));
    for (MPI_Count index = 0; index < integers; index++)
        sum = mixed(sum, (uint64_t)integer[index]);
    for (MPI_Count index = 0; index < addresses; index++)
        sum = mixed(sum, (uint64_t)address[index]);
    for (MPI_Count index = 0; index < counts; index++)
        sum = mixed(sum, (uint64_t)count[index]);
    for (MPI_Count index = 0; index < types; index++) {
        sum = mixed(sum, history(part[index]));
        give_back(&part[index]);
    }
    free(integer);
    free(address);
    free(count);
    free(part);
    return sum;
}

/* Where the elements begin: in the middle. */
static void *start_of(unsigned char *memory)
{
    return memory + ARENA_BYTES / 2;
}

static int pack(unsigned char *from, unsigned char *to, MPI_Datatype type)
{
    int position = 0;
    MUST(MPI_Pack(start_of(from), COUNT, type, to, sizeof packed, &position, MPI_COMM_WORLD));
    return position;
}

static void unpack(const unsigned char *from, int bytes, MPI_Datatype type)
{
    int position = 0;
    memset(other, 0, sizeof other);
    MUST(MPI_Unpack(from, bytes, &position, start_of(other), COUNT, type, MPI_COMM_WORLD));
    CHECK_EQUAL(position, bytes);
}

/* Whether no byte of the elements is there twice: only then may they be written. */
static int is_writable(int bytes, MPI_Datatype type)
{
    memset(again, 0xff, sizeof again);
    unpack(again, bytes, type);
    int touched = 0;
    for (size_t place = 0; place < sizeof other; place++)
        touched += other[place] != 0;
    return touched == bytes;
}

/* Round a ring, and packed bytes arrive. */
static void send_round(int bytes, MPI_Datatype type)
{
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    int count = 0;
    MPI_Status status;
    memset(again, 0, sizeof again);
    MUST(MPI_Sendrecv(start_of(arena), COUNT, type, right, 0, again, bytes, MPI_PACKED, left, 0,
                      MPI_COMM_WORLD, &status));
    MUST(MPI_Get_count(&status, MPI_PACKED, &count));
    CHECK_EQUAL(count, bytes);
    CHECK(memcmp(packed, again, (size_t)bytes) == 0);
}

/* Every number of basic elements up to those of two items can be set in a status and read. */
static void count_elements(MPI_Datatype type, int size)
{
    int whole, count;
    MPI_Status status;
    MUST(MPI_Status_set_elements(&status, MPI_BYTE, size));
    MUST(MPI_Get_count(&status, type, &count));
    CHECK_EQUAL(count, 1);
    if (!check_strict())
        return;
    MUST(MPI_Get_elements(&status, type, &whole));
    for (int some = 0; some <= 2 * whole; some++) {
        MUST(MPI_Status_set_elements(&status, type, some));
        MUST(MPI_Get_elements(&status, type, &count));
        CHECK_EQUAL(count, some);
        MUST(MPI_Get_count(&status, type, &count));
        CHECK_EQUAL(count, some % whole == 0 ? some / whole : MPI_UNDEFINED);
    }
}

static void try_seed(uint64_t seed)
{
    MPI_Aint lower, extent, true_lower, true_extent;
    int size, room;
    uint64_t unpacked = 0;
    is_cyclic = 0;
    state = seed * 0x9e3779b97f4a7c15u + 1;
    MPI_Datatype type = tree(between(1, 4)).type;
    MUST(MPI_Type_commit(&type));
    MUST(MPI_Type_size(type, &size));
    MUST(MPI_Type_get_extent(type, &lower, &extent));
    MUST(MPI_Type_get_true_extent(type, &true_lower, &true_extent));
    MUST(MPI_Pack_size(COUNT, type, MPI_COMM_WORLD, &room));
    int bytes = pack(arena, packed, type);
    if (is_cyclic)
        true_lower = true_extent = 0;
    CHECK(bytes == COUNT * size && room >= bytes);
    if (is_writable(bytes, type)) {
        unpack(packed, bytes, type);
        unpacked = checksum(other, sizeof other);
        CHECK_EQUAL(pack(other, again, type), bytes);
        CHECK(memcmp(packed, again, (size_t)bytes) == 0);
    }
    count_elements(type, size);
    if (draw(&state, EVERY_SEND) == 0)
        send_round(bytes, type);
    section("%llu: %d bytes, %ld + %ld, truly %ld + %ld, made %016llx, "
            "packed %016llx, unpacked %016llx", (unsigned long long)seed, size,
            (long)lower, (long)extent, (long)true_lower, (long)true_extent,
            (unsigned long long)history(type),
            (unsigned long long)checksum(packed, (size_t)bytes), (unsigned long long)unpacked);
    give_back(&type);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    uint64_t seeds = argc > 1 ? strtoull(argv[1], NULL, 10) : SEEDS;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    fill(arena, sizeof arena, 1);
    for (uint64_t seed = first; seed < first + seeds; seed++)
        try_seed(seed);
    return check_end();
}
