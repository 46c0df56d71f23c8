/* Names of communicators and datatypes: those of predefined objects, new ones, and long ones. */
#include "check.h"

static void expect_comm(MPI_Comm comm, const char *expected)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length = -1;
    memset(name, 'x', sizeof name);
    MUST(MPI_Comm_get_name(comm, name, &length));
    CHECK(strcmp(name, expected) == 0);
    CHECK_EQUAL(length, (long long)strlen(expected));
}

static void expect_type(MPI_Datatype type, const char *expected)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length = -1;
    memset(name, 'x', sizeof name);
    MUST(MPI_Type_get_name(type, name, &length));
    CHECK(strcmp(name, expected) == 0);
    CHECK_EQUAL(length, (long long)strlen(expected));
}

static void predefined(void)
{
    expect_comm(MPI_COMM_WORLD, "MPI_COMM_WORLD");
    expect_comm(MPI_COMM_SELF, "MPI_COMM_SELF");
    expect_comm(MPI_COMM_NULL, "MPI_COMM_NULL");
    expect_type(MPI_DATATYPE_NULL, "MPI_DATATYPE_NULL");
    expect_type(MPI_INT, "MPI_INT");
    expect_type(MPI_C_DOUBLE_COMPLEX, "MPI_C_DOUBLE_COMPLEX");
    expect_type(MPI_2INT, "MPI_2INT");
    expect_type(MPI_PACKED, "MPI_PACKED");
    expect_type(MPI_AINT, "MPI_AINT");
}

/* New objects have no name, and copies do not take one over. */
static void new_ones(void)
{
    MPI_Comm comm, copy;
    MPI_Datatype type, twin;
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    expect_comm(comm, "");
    MUST(MPI_Comm_set_name(comm, "first flush"));
    expect_comm(comm, "first flush");
    MUST(MPI_Comm_dup(comm, &copy));
    expect_comm(copy, "");
    MUST(MPI_Comm_set_name(comm, ""));
    expect_comm(comm, "");
    MUST(MPI_Comm_free(&copy));
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Comm_set_name(MPI_COMM_WORLD, "everybody"));
    expect_comm(MPI_COMM_WORLD, "everybody");
    MUST(MPI_Comm_set_name(MPI_COMM_WORLD, "MPI_COMM_WORLD"));
    MUST(MPI_Type_contiguous(3, MPI_INT, &type));
    expect_type(type, "");
    MUST(MPI_Type_set_name(type, "three"));
    expect_type(type, "three");
    MUST(MPI_Type_dup(type, &twin));
    expect_type(twin, "");
    MUST(MPI_Type_free(&twin));
    MUST(MPI_Type_free(&type));
    MUST(MPI_Type_set_name(MPI_INT, "integer"));
    expect_type(MPI_INT, "integer");
    MUST(MPI_Type_set_name(MPI_INT, "MPI_INT"));
}

/* What does not fit is cut; the longest name has one byte less than the room. */
static void long_ones(void)
{
    static char name[2 * MPI_MAX_OBJECT_NAME];
    MPI_Comm comm;
    MPI_Datatype type;
    MUST(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    MUST(MPI_Type_contiguous(2, MPI_CHAR, &type));
    memset(name, 'n', MPI_MAX_OBJECT_NAME - 1);
    MUST(MPI_Comm_set_name(comm, name));
    expect_comm(comm, name);
    MUST(MPI_Type_set_name(type, name));
    expect_type(type, name);
    if (check_strict()) { /* MPICH 5 says that they are too long. */
        memset(name, 'm', sizeof name - 1);
        MUST(MPI_Comm_set_name(comm, name));
        MUST(MPI_Type_set_name(type, name));
        name[MPI_MAX_OBJECT_NAME - 1] = 0;
        expect_comm(comm, name);
        expect_type(type, name);
    }
    MUST(MPI_Type_free(&type));
    MUST(MPI_Comm_free(&comm));
}

/* Names are bytes in any encoding: here Latin-1, which is not UTF-8, also cut at the limit. */
static void in_any_encoding(void)
{
    static char name[2 * MPI_MAX_OBJECT_NAME];
    MPI_Comm comm;
    MPI_Datatype type;
    MUST(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    MUST(MPI_Type_contiguous(2, MPI_CHAR, &type));
    MUST(MPI_Comm_set_name(comm, "caf\xe9 \xff"));
    expect_comm(comm, "caf\xe9 \xff");
    MUST(MPI_Type_set_name(type, "\xe9t\xe9"));
    expect_type(type, "\xe9t\xe9");
    memset(name, '\xe9', MPI_MAX_OBJECT_NAME - 1);
    MUST(MPI_Comm_set_name(comm, name));
    expect_comm(comm, name);
    MUST(MPI_Type_free(&type));
    MUST(MPI_Comm_free(&comm));
}

static void wrong(void)
{
    MPI_Comm comm, freed;
    char name[MPI_MAX_OBJECT_NAME];
    int length = -1;
    MUST_FAIL(MPI_Comm_set_name(MPI_COMM_NULL, "nobody"), MPI_ERR_COMM);
    MUST_FAIL(MPI_Type_set_name(MPI_DATATYPE_NULL, "nothing"), MPI_ERR_TYPE);
    expect_comm(MPI_COMM_NULL, "MPI_COMM_NULL");
    if (!check_strict())
        return;
    MUST_FAIL(MPI_Comm_set_name(MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
    MUST_FAIL(MPI_Type_set_name(MPI_INT, NULL), MPI_ERR_ARG);
    MUST(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    freed = comm;
    MUST(MPI_Comm_free(&comm));
    MUST_FAIL(MPI_Comm_get_name(freed, name, &length), MPI_ERR_COMM);
    MUST_FAIL(MPI_Comm_set_name(freed, "gone"), MPI_ERR_COMM);
}

/* The same, another context, another order, other processes. */
static void compared(void)
{
    MPI_Comm copy, reversed, alone;
    int result = -1;
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    MUST(MPI_Comm_split(MPI_COMM_WORLD, 0, -check_rank, &reversed));
    MUST(MPI_Comm_split(MPI_COMM_WORLD, check_rank, 0, &alone));
    MUST(MPI_Comm_compare(copy, copy, &result));
    CHECK_EQUAL(result, MPI_IDENT);
    MUST(MPI_Comm_compare(MPI_COMM_WORLD, copy, &result));
    CHECK_EQUAL(result, MPI_CONGRUENT);
    MUST(MPI_Comm_compare(copy, reversed, &result));
    CHECK_EQUAL(result, check_size > 1 ? MPI_SIMILAR : MPI_CONGRUENT);
    MUST(MPI_Comm_compare(alone, reversed, &result));
    CHECK_EQUAL(result, check_size > 1 ? MPI_UNEQUAL : MPI_CONGRUENT);
    MUST(MPI_Comm_compare(alone, MPI_COMM_SELF, &result));
    CHECK_EQUAL(result, MPI_CONGRUENT);
    MUST_FAIL(MPI_Comm_compare(MPI_COMM_NULL, copy, &result), MPI_ERR_COMM);
    MUST_FAIL(MPI_Comm_compare(copy, MPI_COMM_NULL, &result), MPI_ERR_COMM);
    MUST(MPI_Comm_free(&alone));
    MUST(MPI_Comm_free(&reversed));
    MUST(MPI_Comm_free(&copy));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    section("predefined objects");
    predefined();
    section("new objects");
    new_ones();
    section("long names");
    long_ones();
    section("in any encoding");
    in_any_encoding();
    section("what is wrong");
    wrong();
    section("comparison");
    compared();
    return check_end();
}
