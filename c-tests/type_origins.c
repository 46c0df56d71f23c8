/* Envelope and contents of what every constructor makes, in both forms; basic elements in a status;
 * attributes of predefined types; arguments that no constructor takes. */
#include "check.h"

enum { ROOM = 64 };

/* The arguments that a constructor must have kept, in the order of section 5.1.13. */
struct origin {
    int combiner;
    int integer_count, address_count, count_count;
    int integers[ROOM];
    MPI_Aint addresses[ROOM];
    MPI_Count counts[ROOM];
    MPI_Datatype old;
};

/* Check and free a type. */
static void expect(const char *name, MPI_Datatype type, const struct origin *wanted)
{
    MPI_Count numbers[4] = {-1, -1, -1, -1}, counts[ROOM];
    int combiner = -1, integers[ROOM], small[3] = {-1, -1, -1};
    MPI_Aint addresses[ROOM];
    MPI_Datatype old = MPI_DATATYPE_NULL;
    MUST(MPI_Type_get_envelope_c(type, &numbers[0], &numbers[1], &numbers[2], &numbers[3],
                                 &combiner));
    section("  %s: %d, %d integers, %d addresses, %d counts, %d types", name, combiner,
            (int)numbers[0], (int)numbers[1], (int)numbers[2], (int)numbers[3]);
    CHECK_EQUAL(combiner, wanted->combiner);
    CHECK(numbers[0] == wanted->integer_count && numbers[1] == wanted->address_count);
    CHECK(numbers[2] == wanted->count_count && numbers[3] == 1);
    MUST(MPI_Type_get_contents_c(type, ROOM, ROOM, ROOM, 1, integers, addresses, counts, &old));
    for (int index = 0; index < wanted->integer_count; index++)
        CHECK_EQUAL(integers[index], wanted->integers[index]);
    for (int index = 0; index < wanted->address_count; index++)
        CHECK_EQUAL(addresses[index], wanted->addresses[index]);
    for (int index = 0; index < wanted->count_count; index++)
        CHECK_EQUAL(counts[index], wanted->counts[index]);
    CHECK(old == wanted->old);
    if (wanted->count_count == 0) {
        MUST(MPI_Type_get_envelope(type, &small[0], &small[1], &small[2], &combiner));
        CHECK(small[0] == numbers[0] && small[1] == numbers[1] && small[2] == 1);
        CHECK_EQUAL(combiner, wanted->combiner);
    }
    MUST(MPI_Type_free(&type));
}

static void int_forms(void)
{
    const int lengths[] = {2, 1}, places[] = {0, 5};
    const MPI_Aint wide[] = {-8, 40};
    MPI_Datatype type;
    section("int forms");
    MUST(MPI_Type_dup(MPI_INT, &type));
    expect("dup", type, &(struct origin){MPI_COMBINER_DUP, 0, 0, 0, .old = MPI_INT});
    MUST(MPI_Type_contiguous(7, MPI_CHAR, &type));
    expect("contiguous", type,
           &(struct origin){MPI_COMBINER_CONTIGUOUS, 1, 0, 0, {7}, .old = MPI_CHAR});
    MUST(MPI_Type_vector(3, 2, -4, MPI_INT, &type));
    expect("vector", type,
           &(struct origin){MPI_COMBINER_VECTOR, 3, 0, 0, {3, 2, -4}, .old = MPI_INT});
    MUST(MPI_Type_create_hvector(3, 2, -40, MPI_INT, &type));
    expect("hvector", type,
           &(struct origin){MPI_COMBINER_HVECTOR, 2, 1, 0, {3, 2}, {-40}, .old = MPI_INT});
    MUST(MPI_Type_indexed(2, lengths, places, MPI_INT, &type));
    expect("indexed", type,
           &(struct origin){MPI_COMBINER_INDEXED, 5, 0, 0, {2, 2, 1, 0, 5}, .old = MPI_INT});
    MUST(MPI_Type_create_hindexed(2, lengths, wide, MPI_INT, &type));
    expect("hindexed", type,
           &(struct origin){MPI_COMBINER_HINDEXED, 3, 2, 0, {2, 2, 1}, {-8, 40}, .old = MPI_INT});
    MUST(MPI_Type_create_indexed_block(2, 3, places, MPI_INT, &type));
    expect("indexed block", type,
           &(struct origin){MPI_COMBINER_INDEXED_BLOCK, 4, 0, 0, {2, 3, 0, 5}, .old = MPI_INT});
    MUST(MPI_Type_create_hindexed_block(2, 3, wide, MPI_INT, &type));
    expect("hindexed block", type,
           &(struct origin){MPI_COMBINER_HINDEXED_BLOCK, 2, 2, 0, {2, 3}, {-8, 40},
                            .old = MPI_INT});
    MUST(MPI_Type_create_struct(1, lengths, wide, &(MPI_Datatype){MPI_INT}, &type));
    expect("struct", type,
           &(struct origin){MPI_COMBINER_STRUCT, 2, 1, 0, {1, 2}, {-8}, .old = MPI_INT});
    MUST(MPI_Type_create_resized(MPI_INT, -3, 9, &type));
    expect("resized", type,
           &(struct origin){MPI_COMBINER_RESIZED, 0, 2, 0, .addresses = {-3, 9}, .old = MPI_INT});
}

static void arrays(void)
{
    const int sizes[] = {4, 6}, parts[] = {2, 3}, starts[] = {1, 2};
    const MPI_Count wide_sizes[] = {4, 6}, wide_parts[] = {2, 3}, wide_starts[] = {1, 2};
    const int kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, grid[] = {2, 1};
    const int lengths[] = {MPI_DISTRIBUTE_DFLT_DARG, 2};
    const int fortran = MPI_ORDER_FORTRAN, darg = MPI_DISTRIBUTE_DFLT_DARG;
    MPI_Datatype type;
    section("arrays");
    MUST(MPI_Type_create_subarray(2, sizes, parts, starts, fortran, MPI_INT, &type));
    expect("subarray", type,
           &(struct origin){MPI_COMBINER_SUBARRAY, 8, 0, 0, {2, 4, 6, 2, 3, 1, 2, fortran},
                            .old = MPI_INT});
    MUST(MPI_Type_create_subarray_c(2, wide_sizes, wide_parts, wide_starts, fortran, MPI_INT,
                                    &type));
    expect("subarray_c", type,
           &(struct origin){MPI_COMBINER_SUBARRAY, 2, 0, 6, {2, fortran},
                            .counts = {4, 6, 2, 3, 1, 2}, .old = MPI_INT});
    MUST(MPI_Type_create_darray(2, 1, 2, sizes, kinds, lengths, grid, MPI_ORDER_C, MPI_INT,
                                &type));
    expect("darray", type,
           &(struct origin){MPI_COMBINER_DARRAY, 12, 0, 0,
                            {2, 1, 2, 4, 6, kinds[0], kinds[1], darg, 2, 2, 1, MPI_ORDER_C},
                            .old = MPI_INT});
    MUST(MPI_Type_create_darray_c(2, 1, 2, wide_sizes, kinds, lengths, grid, MPI_ORDER_C, MPI_INT,
                                  &type));
    expect("darray_c", type,
           &(struct origin){MPI_COMBINER_DARRAY, 10, 0, 2,
                            {2, 1, 2, kinds[0], kinds[1], darg, 2, 2, 1, MPI_ORDER_C},
                            .counts = {4, 6}, .old = MPI_INT});
}

static void large_forms(void)
{
    const MPI_Count lengths[] = {2, 1}, places[] = {-8, 40};
    MPI_Datatype type;
    section("large forms");
    MUST(MPI_Type_contiguous_c(7, MPI_CHAR, &type));
    expect("contiguous_c", type,
           &(struct origin){MPI_COMBINER_CONTIGUOUS, 0, 0, 1, .counts = {7}, .old = MPI_CHAR});
    MUST(MPI_Type_vector_c(3, 2, -4, MPI_INT, &type));
    expect("vector_c", type,
           &(struct origin){MPI_COMBINER_VECTOR, 0, 0, 3, .counts = {3, 2, -4}, .old = MPI_INT});
    MUST(MPI_Type_create_hvector_c(3, 2, -40, MPI_INT, &type));
    expect("hvector_c", type,
           &(struct origin){MPI_COMBINER_HVECTOR, 0, 0, 3, .counts = {3, 2, -40},
                            .old = MPI_INT});
    MUST(MPI_Type_indexed_c(2, lengths, places, MPI_INT, &type));
    expect("indexed_c", type,
           &(struct origin){MPI_COMBINER_INDEXED, 0, 0, 5, .counts = {2, 2, 1, -8, 40},
                            .old = MPI_INT});
    MUST(MPI_Type_create_hindexed_c(2, lengths, places, MPI_INT, &type));
    expect("hindexed_c", type,
           &(struct origin){MPI_COMBINER_HINDEXED, 0, 0, 5, .counts = {2, 2, 1, -8, 40},
                            .old = MPI_INT});
    MUST(MPI_Type_create_indexed_block_c(2, 3, places, MPI_INT, &type));
    expect("indexed_block_c", type,
           &(struct origin){MPI_COMBINER_INDEXED_BLOCK, 0, 0, 4, .counts = {2, 3, -8, 40},
                            .old = MPI_INT});
    MUST(MPI_Type_create_hindexed_block_c(2, 3, places, MPI_INT, &type));
    expect("hindexed_block_c", type,
           &(struct origin){MPI_COMBINER_HINDEXED_BLOCK, 0, 0, 4, .counts = {2, 3, -8, 40},
                            .old = MPI_INT});
    MUST(MPI_Type_create_struct_c(1, lengths, places, &(MPI_Datatype){MPI_INT}, &type));
    expect("struct_c", type,
           &(struct origin){MPI_COMBINER_STRUCT, 0, 0, 3, .counts = {1, 2, -8}, .old = MPI_INT});
    MUST(MPI_Type_create_resized_c(MPI_INT, -3, 9, &type));
    expect("resized_c", type,
           &(struct origin){MPI_COMBINER_RESIZED, 0, 0, 2, .counts = {-3, 9}, .old = MPI_INT});
}

/* A status counts the basic elements, a pair as two. */
static void elements(void)
{
    const int lengths[] = {1, 2};
    const MPI_Aint places[] = {0, 8};
    const MPI_Datatype parts[] = {MPI_CHAR, MPI_DOUBLE};
    MPI_Datatype type;
    MPI_Status status = scrambled_status();
    int count = -1;
    MPI_Count large = -1;
    section("elements");
    MUST(MPI_Type_create_struct(2, lengths, places, parts, &type));
    MUST(MPI_Type_commit(&type));
    for (int wanted = 0; wanted < 8; wanted++) {
        MUST(MPI_Status_set_elements(&status, type, wanted));
        MUST(MPI_Get_elements(&status, type, &count));
        CHECK_EQUAL(count, wanted);
        MUST(MPI_Get_elements_c(&status, type, &large));
        CHECK_EQUAL(large, wanted);
        MUST(MPI_Get_count(&status, type, &count));
        CHECK_EQUAL(count, wanted % 3 == 0 ? wanted / 3 : MPI_UNDEFINED);
    }
    MUST(MPI_Status_set_elements_c(&status, MPI_INT, (MPI_Count)1 << 33));
    MUST(MPI_Get_elements(&status, MPI_INT, &count));
    CHECK_EQUAL(count, MPI_UNDEFINED);
    MUST(MPI_Get_elements_x(&status, MPI_INT, &large));
    CHECK_EQUAL(large, (MPI_Count)1 << 33);
    if (check_strict()) {
        MUST(MPI_Status_set_elements(&status, MPI_DOUBLE_INT, 3));
        MUST(MPI_Get_elements(&status, MPI_DOUBLE_INT, &count));
        CHECK_EQUAL(count, 3);
        MUST(MPI_Get_count(&status, MPI_DOUBLE_INT, &count));
        CHECK_EQUAL(count, MPI_UNDEFINED);
        MUST_FAIL(MPI_Status_set_elements(&status, MPI_INT, -1), MPI_ERR_COUNT);
    }
    MUST(MPI_Type_free(&type));
}

static int copies, deletions;

static int copy(MPI_Datatype type, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)type, (void)keyval, (void)extra;
    *(void **)out = in;
    *flag = 1;
    copies++;
    return MPI_SUCCESS;
}

static int drop(MPI_Datatype type, int keyval, void *value, void *extra)
{
    (void)type, (void)keyval, (void)value, (void)extra;
    deletions++;
    return MPI_SUCCESS;
}

/* Predefined types have attributes and names like others; their duplicates get the attributes. */
static void predefined(void)
{
    int keyval, value = 3, flag = 0, length = 0, *found = NULL;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Datatype twin;
    section("predefined");
    MUST(MPI_Type_create_keyval(copy, drop, &keyval, NULL));
    MUST(MPI_Type_set_attr(MPI_INT, keyval, &value));
    MUST(MPI_Type_get_attr(MPI_INT, keyval, &found, &flag));
    CHECK(flag && found == &value);
    MUST(MPI_Type_get_attr(MPI_LONG, keyval, &found, &flag));
    CHECK(!flag);
    MUST(MPI_Type_dup(MPI_INT, &twin));
    CHECK_EQUAL(copies, 1);
    found = NULL;
    MUST(MPI_Type_get_attr(twin, keyval, &found, &flag));
    CHECK(flag && found == &value);
    MUST(MPI_Type_get_name(twin, name, &length));
    CHECK_STRICTLY(length == 0); /* MPICH 5 copies the name of a predefined type */
    MUST(MPI_Type_free(&twin));
    CHECK_EQUAL(deletions, 1);
    MUST(MPI_Type_delete_attr(MPI_INT, keyval));
    CHECK_EQUAL(deletions, 2);
    MUST(MPI_Type_get_attr(MPI_INT, keyval, &found, &flag));
    CHECK(!flag);
    MUST(MPI_Type_free_keyval(&keyval));
    twin = MPI_INT;
    MUST(MPI_Type_commit(&twin));
    CHECK(twin == MPI_INT);
    if (check_strict())
        MUST_FAIL(MPI_Type_free(&twin), MPI_ERR_TYPE);
}

static void refused(void)
{
    int sizes[] = {4, 6}, parts[] = {2, 3}, starts[] = {1, 2}, grid[] = {2, 1};
    int kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
    int lengths[] = {MPI_DISTRIBUTE_DFLT_DARG, 2};
    const int order = MPI_ORDER_C;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    section("refused");
    if (!check_strict())
        return; /* MPICH 5 takes parts outside of their array, and other classes than ours */
#define SUBARRAY(dimensions, how)                                                                \
    MPI_Type_create_subarray(dimensions, sizes, parts, starts, how, MPI_INT, &type)
#define DARRAY(size, rank, how)                                                                  \
    MPI_Type_create_darray(size, rank, 2, sizes, kinds, lengths, grid, how, MPI_INT, &type)
    MUST_FAIL(SUBARRAY(0, order), MPI_ERR_ARG);
    MUST_FAIL_2(SUBARRAY(-1, order), MPI_ERR_ARG, MPI_ERR_DIMS);
    MUST_FAIL(SUBARRAY(2, 77), MPI_ERR_ARG);
    starts[1] = 4;
    MUST_FAIL(SUBARRAY(2, order), MPI_ERR_ARG);
    starts[1] = -1;
    MUST_FAIL(SUBARRAY(2, order), MPI_ERR_ARG);
    starts[1] = 2;
    parts[0] = 5;
    MUST_FAIL(SUBARRAY(2, order), MPI_ERR_ARG);
    parts[0] = 0;
    MUST_FAIL(SUBARRAY(2, order), MPI_ERR_ARG);
    parts[0] = 2;
    sizes[0] = 0;
    MUST_FAIL(SUBARRAY(2, order), MPI_ERR_ARG);
    sizes[0] = 4;
    MUST_FAIL(DARRAY(2, 2, order), MPI_ERR_ARG);
    MUST_FAIL(DARRAY(2, -1, order), MPI_ERR_ARG);
    MUST_FAIL(DARRAY(2, 0, 77), MPI_ERR_ARG);
    MUST_FAIL(DARRAY(3, 0, order), MPI_ERR_ARG);
    lengths[0] = 1;
    MUST_FAIL(DARRAY(2, 0, order), MPI_ERR_ARG);
    lengths[0] = 0;
    MUST_FAIL(DARRAY(2, 0, order), MPI_ERR_ARG);
    lengths[0] = MPI_DISTRIBUTE_DFLT_DARG;
    kinds[0] = MPI_DISTRIBUTE_NONE;
    MUST_FAIL(DARRAY(2, 0, order), MPI_ERR_ARG);
    kinds[0] = 5;
    MUST_FAIL(DARRAY(2, 0, order), MPI_ERR_ARG);
    MUST_FAIL_2(MPI_Type_vector(-1, 1, 1, MPI_INT, &type), MPI_ERR_COUNT, MPI_ERR_ARG);
    MUST_FAIL(MPI_Type_vector(1, -1, 1, MPI_INT, &type), MPI_ERR_ARG);
    MUST_FAIL_2(MPI_Type_create_indexed_block(1, -1, starts, MPI_INT, &type), MPI_ERR_ARG,
                MPI_ERR_COUNT);
    CHECK(type == MPI_DATATYPE_NULL);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    int_forms();
    arrays();
    large_forms();
    elements();
    predefined();
    refused();
    return check_end();
}
