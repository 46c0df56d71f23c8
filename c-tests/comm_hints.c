/* Hints of communicators: stored, returned with their defaults, and separate for each
 * communicator. */
#include "check.h"

static const char *const flags[] = {
    "mpi_assert_no_any_tag", "mpi_assert_no_any_source", "mpi_assert_exact_length",
    "mpi_assert_allow_overtaking", "mpi_assert_strict_persistent_collective_ordering"};

static MPI_Info with(const char *key, const char *value)
{
    MPI_Info info;
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, key, value));
    return info;
}

/* The hint of a communicator; no value for one that is not there. */
static void expect(MPI_Comm comm, const char *key, const char *value)
{
    MPI_Info info;
    char got[MPI_MAX_INFO_VAL] = "";
    int room = sizeof got, flag = 0;
    MUST(MPI_Comm_get_info(comm, &info));
    MUST(MPI_Info_get_string(info, key, &room, got, &flag));
    if (flag != (value != NULL) || (flag && strcmp(got, value) != 0))
        check_fail(__FILE__, __LINE__, "%s is %s, not %s", key, flag ? got : "not there",
                   value ? value : "nothing");
    MUST(MPI_Info_free(&info));
    CHECK(info == MPI_INFO_NULL);
}

/* Only the hint with this number is true. */
static void expect_only(MPI_Comm comm, int number)
{
    for (int index = 0; index < 5; index++)
        expect(comm, flags[index], index == number ? "true" : "false");
    expect(comm, "nobody_knows_this_hint", NULL);
}

static void set(MPI_Comm comm, const char *key, const char *value)
{
    MPI_Info info = with(key, value);
    MUST(MPI_Comm_set_info(comm, info));
    MUST(MPI_Info_free(&info));
}

static void changes(void)
{
    MPI_Comm comm;
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    expect_only(comm, -1);
    for (int index = 0; index < 5; index++) {
        set(comm, flags[index], "true");
        expect_only(comm, index);
        set(comm, "nobody_knows_this_hint", "true");
        expect_only(comm, index);
        set(comm, flags[(index + 1) % 5], "false");
        expect_only(comm, index);
        set(comm, flags[index], "false");
    }
    expect_only(comm, -1);
    if (check_strict()) { /* MPICH 5 keeps spaces, and takes what is neither true nor false. */
        set(comm, flags[2], " true ");
        set(comm, flags[2], "perhaps");
        expect_only(comm, 2);
    }
    MUST(MPI_Comm_free(&comm));
    expect_only(MPI_COMM_WORLD, -1);
    expect_only(MPI_COMM_SELF, -1);
}

/* Given to a new communicator; a copy of that has none. */
static void creation(void)
{
    MPI_Info info = with(flags[1], "true");
    MPI_Comm comm, copy, half;
    MPI_Request request;
    MUST(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
    expect_only(comm, 1);
    MUST(MPI_Comm_dup(comm, &copy));
    expect_only(copy, -1);
    MUST(MPI_Comm_free(&copy));
    MUST(MPI_Comm_idup_with_info(comm, info, &copy, &request));
    MUST(MPI_Info_set(info, flags[1], "false"));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    expect_only(copy, 1);
    MUST(MPI_Comm_free(&copy));
    MUST(MPI_Comm_idup(comm, &copy, &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    expect_only(copy, -1);
    MUST(MPI_Comm_free(&copy));
    MUST(MPI_Comm_dup_with_info(comm, MPI_INFO_NULL, &copy));
    expect_only(copy, -1);
    MUST(MPI_Comm_free(&copy));
    MUST(MPI_Comm_split(comm, check_rank % 2, 0, &half));
    expect_only(half, -1);
    MUST(MPI_Comm_free(&half));
    if (check_strict()) { /* MPICH 5 does not look at hints here. */
        MPI_Group group;
        MUST(MPI_Comm_group(MPI_COMM_WORLD, &group));
        MUST(MPI_Comm_create_from_group(group, "hints", info, MPI_ERRORS_RETURN, &copy));
        expect_only(copy, -1);
        MUST(MPI_Comm_free(&copy));
        MUST(MPI_Info_set(info, flags[4], "true"));
        MUST(MPI_Info_set(info, flags[1], "maybe"));
        MUST(MPI_Comm_create_from_group(group, "hints", info, MPI_ERRORS_RETURN, &copy));
        expect_only(copy, 4);
        MUST(MPI_Info_set(info, flags[4], "false"));
        MUST(MPI_Comm_free(&copy));
        MUST(MPI_Group_free(&group));
        MUST(MPI_Info_set(info, flags[3], "true"));
        MUST(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, info, &copy));
        expect_only(copy, 3);
        MUST(MPI_Comm_free(&copy));
    }
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Info_free(&info));
}

/* The system's memory and MPI's can be sent, and may be asserted to be all. */
static void memory_kinds(void)
{
    MPI_Comm comm;
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    expect(comm, "mpi_memory_alloc_kinds", "mpi,system");
    expect(comm, "mpi_assert_memory_alloc_kinds", NULL);
    if (check_strict()) { /* MPICH 5 does not tell what was asserted. */
        set(comm, "mpi_assert_memory_alloc_kinds", "system");
        expect(comm, "mpi_assert_memory_alloc_kinds", "system");
        set(comm, "mpi_assert_memory_alloc_kinds", "tea:green");
        expect(comm, "mpi_assert_memory_alloc_kinds", "system");
        expect(comm, "mpi_memory_alloc_kinds", "mpi,system");
    }
    MUST(MPI_Comm_free(&comm));
}

static void wrong(void)
{
    MPI_Info info = with("a", "b"), freed = info;
    MPI_Comm comm;
    MPI_Request request;
    MUST_FAIL(MPI_Comm_get_info(MPI_COMM_NULL, &freed), MPI_ERR_COMM);
    MUST_FAIL(MPI_Comm_set_info(MPI_COMM_NULL, info), MPI_ERR_COMM);
    MUST_FAIL_2(MPI_Comm_set_info(MPI_COMM_WORLD, MPI_INFO_NULL), MPI_ERR_INFO, MPI_ERR_ARG);
    MUST(MPI_Info_free(&info));
    if (check_strict()) {
        MUST_FAIL(MPI_Comm_set_info(MPI_COMM_WORLD, freed), MPI_ERR_INFO);
        MUST_FAIL(MPI_Comm_dup_with_info(MPI_COMM_WORLD, freed, &comm), MPI_ERR_INFO);
        MUST_FAIL(MPI_Comm_idup_with_info(MPI_COMM_WORLD, freed, &comm, &request), MPI_ERR_INFO);
    }
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    section("changes");
    changes();
    section("at creation");
    creation();
    section("memory kinds");
    memory_kinds();
    section("what is wrong");
    wrong();
    return check_end();
}
