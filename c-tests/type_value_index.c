/* Pairs of a value and an index: those with a name, and those that MPI_Type_get_value_index alone
 * gives. A library need not have the latter; ours does. */
#include "check.h"

struct wide { double value; uint64_t index; };
struct uneven { int8_t value; int64_t index; };
struct extended { long double value; short index; };

static MPI_Datatype pair(MPI_Datatype value, MPI_Datatype index)
{
    MPI_Datatype type = MPI_INT, again = MPI_INT;
    MUST(MPI_Type_get_value_index(value, index, &type));
    MUST(MPI_Type_get_value_index(value, index, &again));
    CHECK(type == again);
    CHECK_STRICTLY(type != MPI_DATATYPE_NULL);
    return type;
}

static void named(void)
{
    MPI_Datatype type = MPI_INT, two;
    section("pairs with a name, and none");
    CHECK(pair(MPI_DOUBLE, MPI_INT) == MPI_DOUBLE_INT);
    CHECK(pair(MPI_SHORT, MPI_INT) == MPI_SHORT_INT);
    CHECK(pair(MPI_INT, MPI_INT) == MPI_2INT);
    MUST(MPI_Type_get_value_index(MPI_C_DOUBLE_COMPLEX, MPI_INT, &type));
    CHECK(type == MPI_DATATYPE_NULL);
    MUST(MPI_Type_get_value_index(MPI_INT, MPI_C_BOOL, &type));
    CHECK(type == MPI_DATATYPE_NULL);
    MUST(MPI_Type_contiguous(2, MPI_INT, &two));
    MUST(MPI_Type_get_value_index(two, MPI_INT, &type));
    CHECK(type == MPI_DATATYPE_NULL);
    MUST(MPI_Type_free(&two));
    MUST_FAIL(MPI_Type_get_value_index(MPI_DATATYPE_NULL, MPI_INT, &type), MPI_ERR_TYPE);
    MUST_FAIL(MPI_Type_get_value_index(MPI_INT, MPI_DATATYPE_NULL, &type), MPI_ERR_TYPE);
}

/* How it was asked for, how it lies, and that it is predefined. */
static void described(MPI_Datatype value, MPI_Datatype index, size_t extent, int size)
{
    MPI_Datatype type = pair(value, index), kept = type, parts[2], copy;
    int integers, addresses, types, combiner, bytes, length = 7;
    MPI_Count numbers[4];
    MPI_Aint lb, found;
    char name[MPI_MAX_OBJECT_NAME] = "x";
    if (type == MPI_DATATYPE_NULL) return;
    MUST(MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner));
    CHECK(integers == 0 && addresses == 0 && types == 2 && combiner == MPI_COMBINER_VALUE_INDEX);
    MUST(MPI_Type_get_envelope_c(type, &numbers[0], &numbers[1], &numbers[2], &numbers[3],
                                 &combiner));
    CHECK(numbers[0] + numbers[1] + numbers[2] == 0 && numbers[3] == 2);
    MUST(MPI_Type_get_contents(type, 0, 0, 2, NULL, NULL, parts));
    CHECK(parts[0] == value && parts[1] == index);
    MUST(MPI_Type_get_extent(type, &lb, &found));
    CHECK(lb == 0 && (size_t)found == extent);
    MUST(MPI_Type_size(type, &bytes));
    CHECK_EQUAL(bytes, size);
    MUST(MPI_Type_get_name(type, name, &length));
    CHECK(length == 0 && name[0] == 0);
    MUST_FAIL(MPI_Type_free(&kept), MPI_ERR_TYPE);
    MUST(MPI_Type_commit(&kept));
    MUST(MPI_Type_dup(type, &copy));
    MUST(MPI_Type_get_contents(copy, 0, 0, 1, NULL, NULL, parts));
    CHECK(parts[0] == type);
    MUST(MPI_Type_free(&copy));
}

static void reduced(void)
{
    MPI_Datatype type = pair(MPI_DOUBLE, MPI_UINT64_T);
    uint64_t far = UINT64_MAX - 100;
    if (type != MPI_DATATYPE_NULL) {
        struct wide mine[3] = {{check_rank, far + check_rank}, {-check_rank, far}, {2, check_rank}};
        struct wide best[3];
        MUST(MPI_Allreduce(mine, best, 3, type, MPI_MAXLOC, MPI_COMM_WORLD));
        CHECK(best[0].value == check_size - 1 && best[0].index == far + check_size - 1);
        CHECK(best[1].value == 0 && best[1].index == far);
        CHECK(best[2].value == 2 && best[2].index == 0);
        MUST(MPI_Reduce_local(mine, best, 3, type, MPI_MINLOC));
        CHECK(best[0].value == check_rank && best[0].index == far + check_rank);
    }
    type = pair(MPI_INT8_T, MPI_INT64_T);
    if (type != MPI_DATATYPE_NULL) {
        struct uneven mine[2] = {{(int8_t)-check_rank, -check_rank}, {3, -check_rank}}, best[2];
        MUST(MPI_Allreduce(mine, best, 2, type, MPI_MINLOC, MPI_COMM_WORLD));
        CHECK(best[0].value == 1 - check_size && best[0].index == 1 - check_size);
        CHECK(best[1].value == 3 && best[1].index == 1 - check_size);
        MUST_FAIL(MPI_Allreduce(mine, best, 2, type, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_OP);
    }
    type = pair(MPI_LONG_DOUBLE, MPI_SHORT);
    if (type != MPI_DATATYPE_NULL) {
        struct extended mine[2] = {{0.5L + check_rank, (short)check_rank}, {1, 1}}, best[2];
        MUST(MPI_Allreduce(mine, best, 2, type, MPI_MAXLOC, MPI_COMM_WORLD));
        CHECK(best[0].value == check_size - 0.5L && best[0].index == check_size - 1);
    }
}

/* Messages count its two elements; external32 has the lengths of its parts. */
static void moved(void)
{
    MPI_Datatype type = pair(MPI_LONG, MPI_UINT64_T);
    struct { long value; uint64_t index; } sent[2] = {{-2, 3}, {4, UINT64_MAX}}, got[2];
    char buffer[64];
    MPI_Aint size = 0, position = 0;
    MPI_Status status;
    int elements = 0;
    if (type == MPI_DATATYPE_NULL) return;
    MUST(MPI_Pack_external_size("external32", 2, type, &size));
    CHECK_EQUAL(size, 24);
    MUST(MPI_Pack_external("external32", sent, 2, type, buffer, sizeof buffer, &position));
    CHECK(position == 24 && buffer[3] == -2 && buffer[11] == 3 && buffer[15] == 4);
    position = 0;
    MUST(MPI_Unpack_external("external32", buffer, 24, &position, got, 2, type));
    CHECK(memcmp(sent, got, sizeof sent) == 0);
    memset(got, 0, sizeof got);
    MUST(MPI_Sendrecv(sent, 2, type, check_rank, 1, got, 2, type, check_rank, 1, MPI_COMM_WORLD,
                      &status));
    MUST(MPI_Get_elements(&status, type, &elements));
    CHECK(elements == 4 && memcmp(sent, got, sizeof sent) == 0);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    named();
    section("pairs without a name");
    described(MPI_DOUBLE, MPI_UINT64_T, sizeof(struct wide), 16);
    described(MPI_INT8_T, MPI_INT64_T, sizeof(struct uneven), 9);
    described(MPI_LONG_DOUBLE, MPI_SHORT, sizeof(struct extended), 18);
    described(MPI_INTEGER4, MPI_INTEGER4, 8, 8);
    section("reductions");
    reduced();
    section("messages");
    moved();
    return check_end();
}
