/* Communicators: the predefined ones, duplicates, comparison, creation from groups, freeing;
 * with messages and a collective in each. */
#include "check.h"

/* Each member sends a message to the next one; a reduction adds the ranks. */
static void use(MPI_Comm comm, int expected_size, int expected_rank)
{
    int size = -1, rank = -1, got = -1, sum = -1;
    MUST(MPI_Comm_size(comm, &size));
    MUST(MPI_Comm_rank(comm, &rank));
    CHECK_EQUAL(size, expected_size);
    CHECK_EQUAL(rank, expected_rank);
    MUST(MPI_Sendrecv(&check_rank, 1, MPI_INT, (rank + 1) % size, 1, &got, 1, MPI_INT,
                      (rank + size - 1) % size, 1, comm, MPI_STATUS_IGNORE));
    CHECK(got >= 0 && got < check_size);
    MUST(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK_EQUAL(sum, size * (size - 1) / 2);
}

static void expect_relation(MPI_Comm first, MPI_Comm second, int expected)
{
    int relation = -1;
    MUST(MPI_Comm_compare(first, second, &relation));
    CHECK_EQUAL(relation, expected);
}

static void predefined(void)
{
    int flag = 1;
    use(MPI_COMM_WORLD, check_size, check_rank);
    use(MPI_COMM_SELF, 1, 0);
    expect_relation(MPI_COMM_WORLD, MPI_COMM_WORLD, MPI_IDENT);
    expect_relation(MPI_COMM_WORLD, MPI_COMM_SELF, check_size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL);
    MUST(MPI_Comm_test_inter(MPI_COMM_WORLD, &flag));
    CHECK(!flag);
}

static void duplicates(void)
{
    MPI_Comm dup, of_dup, self;
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    use(dup, check_size, check_rank);
    expect_relation(MPI_COMM_WORLD, dup, MPI_CONGRUENT);
    expect_relation(dup, dup, MPI_IDENT);
    MUST(MPI_Comm_dup(dup, &of_dup));
    MUST(MPI_Comm_free(&dup));
    CHECK(dup == MPI_COMM_NULL);
    use(of_dup, check_size, check_rank);
    MUST(MPI_Comm_dup_with_info(of_dup, MPI_INFO_NULL, &dup));
    use(dup, check_size, check_rank);
    MUST(MPI_Comm_free(&dup));
    MUST(MPI_Comm_free(&of_dup));
    MUST(MPI_Comm_dup(MPI_COMM_SELF, &self));
    use(self, 1, 0);
    expect_relation(MPI_COMM_SELF, self, MPI_CONGRUENT);
    MUST(MPI_Comm_free(&self));
}

/* From groups: all in reverse, the even ranks, nobody. */
static void created(void)
{
    MPI_Group world, group;
    MPI_Comm comm;
    int range[1][3] = {{check_size - 1, 0, -1}};
    MUST(MPI_Comm_group(MPI_COMM_WORLD, &world));
    MUST(MPI_Group_range_incl(world, 1, range, &group));
    MUST(MPI_Comm_create(MPI_COMM_WORLD, group, &comm));
    use(comm, check_size, check_size - 1 - check_rank);
    expect_relation(comm, MPI_COMM_WORLD, check_size == 1 ? MPI_CONGRUENT : MPI_SIMILAR);
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Group_free(&group));
    range[0][0] = 0;
    range[0][1] = check_size - 1;
    range[0][2] = 2;
    MUST(MPI_Group_range_incl(world, 1, range, &group));
    MUST(MPI_Comm_create(MPI_COMM_WORLD, group, &comm));
    CHECK_EQUAL(comm == MPI_COMM_NULL, check_rank % 2);
    if (comm != MPI_COMM_NULL) {
        use(comm, (check_size + 1) / 2, check_rank / 2);
        if (check_size > 1)
            expect_relation(comm, MPI_COMM_WORLD, MPI_UNEQUAL);
        MUST(MPI_Comm_free(&comm));
    }
    MUST(MPI_Group_free(&group));
    MUST(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &comm));
    CHECK(comm == MPI_COMM_NULL);
    MUST(MPI_Group_free(&world));
}

/* Disjoint groups in one call. */
static void created_disjoint(void)
{
    MPI_Group world, group;
    MPI_Comm comm;
    int odd = check_rank % 2, range[1][3] = {{odd, check_size - 1, 2}};
    MUST(MPI_Comm_group(MPI_COMM_WORLD, &world));
    MUST(MPI_Group_range_incl(world, 1, range, &group));
    MUST(MPI_Comm_create(MPI_COMM_WORLD, group, &comm));
    use(comm, (check_size + 1 - odd) / 2, check_rank / 2);
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Group_free(&group));
    MUST(MPI_Group_free(&world));
}

/* Only the members call; two groups with different tags at the same time. */
static void created_by_members(void)
{
    MPI_Group world, group;
    MPI_Comm comm, second;
    int range[1][3] = {{check_size / 2, check_size - 1, 1}};
    MUST(MPI_Comm_group(MPI_COMM_WORLD, &world));
    MUST(MPI_Group_range_incl(world, 1, range, &group));
    if (check_rank >= check_size / 2) {
        MUST(MPI_Comm_create_group(MPI_COMM_WORLD, group, 11, &comm));
        MUST(MPI_Comm_create_group(MPI_COMM_WORLD, group, 12, &second));
        use(comm, check_size - check_size / 2, check_rank - check_size / 2);
        use(second, check_size - check_size / 2, check_rank - check_size / 2);
        expect_relation(comm, second, MPI_CONGRUENT);
        MUST(MPI_Comm_free(&second));
        MUST(MPI_Comm_free(&comm));
    }
    MUST(MPI_Group_free(&group));
    MUST(MPI_Group_free(&world));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    section("predefined");
    predefined();
    section("duplicates");
    duplicates();
    section("created");
    created();
    created_disjoint();
    section("created by the members alone");
    created_by_members();
    return check_end();
}
