/* Queries of datatypes: names, how it was made, pairs, matching sizes; packing by hand
 * with its errors; and attribute functions that refuse. */
#include "check.h"

static int is_named(MPI_Datatype type, const char *expected)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length = -1;
    memset(name, 'x', sizeof name);
    MUST(MPI_Type_get_name(type, name, &length));
    return strcmp(name, expected) == 0 && length == (int)strlen(expected);
}

static void names(void)
{
    char long_name[2 * MPI_MAX_OBJECT_NAME + 1], name[MPI_MAX_OBJECT_NAME];
    int length = -1;
    MPI_Datatype type, copy;
    section("names");
    CHECK(is_named(MPI_INT, "MPI_INT") && is_named(MPI_DOUBLE_INT, "MPI_DOUBLE_INT"));
    CHECK(is_named(MPI_PACKED, "MPI_PACKED") && is_named(MPI_UINT64_T, "MPI_UINT64_T"));
    /* Synonyms share a handle, named as in table 3.2. */
    CHECK(is_named(MPI_C_FLOAT_COMPLEX, "MPI_C_COMPLEX"));
    CHECK(is_named(MPI_LONG_LONG, "MPI_LONG_LONG_INT"));
    CHECK(is_named(MPI_DATATYPE_NULL, "MPI_DATATYPE_NULL"));
    MUST(MPI_Type_contiguous(3, MPI_INT, &type));
    CHECK(is_named(type, ""));
    MUST(MPI_Type_set_name(type, "three of them"));
    CHECK(is_named(type, "three of them"));
    MUST(MPI_Type_dup(type, &copy));
    CHECK(is_named(copy, ""));
    MUST(MPI_Type_set_name(type, ""));
    CHECK(is_named(type, ""));
    memset(long_name, 'n', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    MUST(MPI_Type_set_name(type, long_name));
    MUST(MPI_Type_get_name(type, name, &length));
    CHECK(length == MPI_MAX_OBJECT_NAME - 1 && name[length] == '\0');
    CHECK(memcmp(name, long_name, (size_t)length) == 0);
    MUST(MPI_Type_set_name(MPI_INT, "number"));
    CHECK(is_named(MPI_INT, "number") && is_named(MPI_LONG, "MPI_LONG"));
    MUST(MPI_Type_free(&type));
    MUST_FAIL(MPI_Type_set_name(MPI_DATATYPE_NULL, "none"), MPI_ERR_TYPE);
    MUST(MPI_Type_free(&copy));
    CHECK(copy == MPI_DATATYPE_NULL);
}

/* The contents of a structure, down to its derived part. */
static void structure(void)
{
    int lengths[2] = {1, 2}, integers[3], combiner, numbers[3];
    MPI_Aint places[2] = {0, 16}, addresses[2];
    MPI_Datatype parts[2] = {MPI_CHAR, MPI_DATATYPE_NULL}, found[2], type;
    section("contents");
    MUST(MPI_Type_vector(3, 2, 4, MPI_INT, &parts[1]));
    MUST(MPI_Type_create_struct(2, lengths, places, parts, &type));
    MUST(MPI_Type_free(&parts[1]));
    MUST(MPI_Type_get_envelope(type, &numbers[0], &numbers[1], &numbers[2], &combiner));
    CHECK(numbers[0] == 3 && numbers[1] == 2 && numbers[2] == 2);
    CHECK_EQUAL(combiner, MPI_COMBINER_STRUCT);
    MUST(MPI_Type_get_contents(type, 3, 2, 2, integers, addresses, found));
    CHECK(integers[0] == 2 && integers[1] == 1 && integers[2] == 2);
    CHECK(addresses[0] == 0 && addresses[1] == 16 && found[0] == MPI_CHAR);
    MUST_FAIL_2(MPI_Type_get_contents(type, 2, 2, 2, integers, addresses, parts), MPI_ERR_ARG,
                MPI_ERR_OTHER);
    MUST_FAIL_2(MPI_Type_get_contents(type, 3, 1, 2, integers, addresses, parts), MPI_ERR_ARG,
                MPI_ERR_OTHER);
    MUST_FAIL_2(MPI_Type_get_contents(type, 3, 2, 1, integers, addresses, parts), MPI_ERR_ARG,
                MPI_ERR_OTHER);
    MUST(MPI_Type_free(&type));
    MUST(MPI_Type_get_contents(found[1], 3, 0, 1, integers, NULL, parts));
    CHECK(integers[0] == 3 && integers[1] == 2 && integers[2] == 4 && parts[0] == MPI_INT);
    MUST(MPI_Type_free(&found[1]));
    MUST(MPI_Type_get_envelope(MPI_INT, &numbers[0], &numbers[1], &numbers[2], &combiner));
    CHECK(numbers[0] == 0 && numbers[1] == 0 && numbers[2] == 0);
    CHECK_EQUAL(combiner, MPI_COMBINER_NAMED);
    MUST_FAIL(MPI_Type_get_contents(MPI_INT, 3, 2, 2, integers, addresses, parts), MPI_ERR_TYPE);
}

/* A type made with large counts shows them to the large form only. */
static void large_contents(void)
{
    MPI_Count numbers[4], counts[5], lengths[2] = {2, 1}, places[2] = {0, 7};
    int small[3], combiner, integers[1];
    MPI_Aint addresses[1];
    MPI_Datatype type, old;
    section("large contents");
    MUST(MPI_Type_indexed_c(2, lengths, places, MPI_SHORT, &type));
    MUST(MPI_Type_get_envelope_c(type, &numbers[0], &numbers[1], &numbers[2], &numbers[3],
                                 &combiner));
    CHECK(numbers[0] == 0 && numbers[1] == 0 && numbers[2] == 5 && numbers[3] == 1);
    CHECK_EQUAL(combiner, MPI_COMBINER_INDEXED);
    MUST(MPI_Type_get_contents_c(type, 0, 0, 5, 1, integers, addresses, counts, &old));
    CHECK(counts[0] == 2 && counts[1] == 2 && counts[2] == 1 && counts[3] == 0 && counts[4] == 7);
    CHECK(old == MPI_SHORT);
    MUST_FAIL_2(MPI_Type_get_contents_c(type, 0, 0, 4, 1, integers, addresses, counts, &old),
                MPI_ERR_ARG, MPI_ERR_OTHER);
    MUST_FAIL(MPI_Type_get_envelope(type, &small[0], &small[1], &small[2], &combiner),
              MPI_ERR_TYPE);
    MUST_FAIL(MPI_Type_get_contents(type, 9, 9, 9, integers, addresses, &old), MPI_ERR_TYPE);
    MUST(MPI_Type_free(&type));
}

static void choices(void)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    section("pairs and sizes");
    MUST(MPI_Type_get_value_index(MPI_FLOAT, MPI_INT, &type));
    CHECK(type == MPI_FLOAT_INT);
    MUST(MPI_Type_get_value_index(MPI_INT, MPI_INT, &type));
    CHECK(type == MPI_2INT);
    MUST(MPI_Type_get_value_index(MPI_LONG_DOUBLE, MPI_INT, &type));
    CHECK(type == MPI_LONG_DOUBLE_INT);
    int sizes[] = {4, 8}, size;
    int classes[] = {MPI_TYPECLASS_INTEGER, MPI_TYPECLASS_REAL};
    for (int class = 0; class < 2; class++)
        for (int index = 0; index < 2; index++) {
            MUST(MPI_Type_match_size(classes[class], sizes[index], &type));
            MUST(MPI_Type_size(type, &size));
            CHECK_EQUAL(size, sizes[index]);
        }
    MUST_FAIL(MPI_Type_match_size(MPI_TYPECLASS_REAL, 3, &type), MPI_ERR_ARG);
    MUST_FAIL(MPI_Type_match_size(-77, 4, &type), MPI_ERR_ARG);
}

/* Several things in one buffer, and what does not fit. */
static void packing(void)
{
    int numbers[6] = {1, 2, 3, 4, 5, 6}, got[6] = {0}, position = 0, size, end;
    double real = 2.5, real_got = 0;
    char buffer[64];
    MPI_Datatype comb;
    section("packing");
    MUST(MPI_Type_vector(3, 1, 2, MPI_INT, &comb));
    MUST_FAIL(MPI_Pack(numbers, 1, comb, buffer, 64, &position, MPI_COMM_SELF), MPI_ERR_TYPE);
    MUST(MPI_Type_commit(&comb));
    MUST(MPI_Pack_size(1, comb, MPI_COMM_SELF, &size));
    CHECK(size >= 12);
    MUST(MPI_Pack(&real, 1, MPI_DOUBLE, buffer, 64, &position, MPI_COMM_SELF));
    MUST(MPI_Pack(numbers, 1, comb, buffer, 64, &position, MPI_COMM_SELF));
    MUST(MPI_Pack(NULL, 0, MPI_INT, buffer, 64, &position, MPI_COMM_SELF));
    end = position;
    if (check_strict())
        MUST_FAIL(MPI_Pack(numbers, 1, comb, buffer, end + 11, &position, MPI_COMM_SELF),
                  MPI_ERR_ARG);
    MUST_FAIL_2(MPI_Pack(numbers, -1, comb, buffer, 64, &position, MPI_COMM_SELF), MPI_ERR_COUNT,
                MPI_ERR_ARG);
    MUST_FAIL(MPI_Pack(numbers, 1, comb, buffer, 64, &position, MPI_COMM_NULL), MPI_ERR_COMM);
    CHECK_EQUAL(position, end);
    position = 0;
    MUST(MPI_Unpack(buffer, end, &position, &real_got, 1, MPI_DOUBLE, MPI_COMM_SELF));
    if (check_strict())
        MUST_FAIL(MPI_Unpack(buffer, end - 1, &position, got, 3, MPI_INT, MPI_COMM_SELF),
                  MPI_ERR_ARG);
    MUST(MPI_Unpack(buffer, end, &position, got, 3, MPI_INT, MPI_COMM_SELF));
    CHECK(real_got == 2.5 && got[0] == 1 && got[1] == 3 && got[2] == 5 && got[3] == 0);
    CHECK_EQUAL(position, end);
    MUST(MPI_Type_free(&comb));
}

/* A committed type stays so in its duplicate, and neither needs the other. */
static void duplicates(void)
{
    int numbers[4] = {7, 8, 9, 10}, position = 0;
    char buffer[16];
    MPI_Datatype type, copy;
    section("duplicates");
    MUST(MPI_Type_contiguous(2, MPI_INT, &type));
    MUST(MPI_Type_dup(type, &copy));
    MUST_FAIL(MPI_Pack(numbers, 1, copy, buffer, 16, &position, MPI_COMM_SELF), MPI_ERR_TYPE);
    MUST(MPI_Type_free(&copy));
    MUST(MPI_Type_commit(&type));
    MUST(MPI_Type_commit(&type));
    MUST(MPI_Type_dup(type, &copy));
    MUST(MPI_Type_free(&type));
    MUST(MPI_Pack(numbers, 1, copy, buffer, 16, &position, MPI_COMM_SELF));
    CHECK_EQUAL(position, 8);
    MUST(MPI_Type_free(&copy));
    MUST(MPI_Type_dup(MPI_INT, &copy));
    MUST(MPI_Pack(numbers, 2, copy, buffer, 16, &position, MPI_COMM_SELF));
    CHECK_EQUAL(position, 16);
    MUST(MPI_Type_free(&copy));
}

static int refusals;

static int refuse_copy(MPI_Datatype type, int keyval, void *extra, void *in, void *out, int *flag)
{
    int size = 0;
    (void)keyval, (void)extra, (void)in, (void)out;
    MUST(MPI_Type_size(type, &size));
    CHECK_EQUAL(size, 8);
    *flag = 0;
    return refusals-- > 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int refuse_delete(MPI_Datatype type, int keyval, void *value, void *extra)
{
    int size = 0;
    (void)keyval, (void)value, (void)extra;
    MUST(MPI_Type_size(type, &size));
    CHECK_EQUAL(size, 8);
    return refusals-- > 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

/* A function that refuses keeps its type from being duplicated or freed. */
static void attributes(void)
{
    int keyval, flag = 1, value = 5, *found = NULL;
    MPI_Datatype type, copy;
    section("refusals");
    MUST(MPI_Type_create_keyval(refuse_copy, refuse_delete, &keyval, NULL));
    MUST(MPI_Type_contiguous(2, MPI_INT, &type));
    MUST(MPI_Type_set_attr(type, keyval, &value));
    refusals = 1;
    MUST_FAIL(MPI_Type_dup(type, &copy), MPI_ERR_OTHER);
    refusals = 0;
    MUST(MPI_Type_dup(type, &copy));
    MUST(MPI_Type_get_attr(copy, keyval, &found, &flag));
    CHECK(!flag);
    MUST(MPI_Type_free(&copy));
    MUST(MPI_Type_free_keyval(&keyval));
    if (check_strict()) {
        refusals = 1;
        MUST_FAIL(MPI_Type_free(&type), MPI_ERR_OTHER);
        CHECK(type != MPI_DATATYPE_NULL);
    }
    MUST(MPI_Type_free(&type));
    CHECK(type == MPI_DATATYPE_NULL);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    names();
    structure();
    large_contents();
    choices();
    packing();
    duplicates();
    attributes();
    return check_end();
}
