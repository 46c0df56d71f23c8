/* Communicators made by their members alone, from groups that overlap; names; freeing what must
 * not be freed; leaving. */
#include "members.h"

/* Everybody is first in one group and last in another, always with the same tag. */
static void turned(void)
{
    for (int first = 0; first < check_size; first++) {
        int ranges[2][3] = {{first, check_size - 1, 1}, {0, first - 1, 1}};
        MPI_Group group;
        MPI_Comm comm;
        MUST(MPI_Group_range_incl(world, first ? 2 : 1, ranges, &group));
        MUST(MPI_Comm_create_group(MPI_COMM_WORLD, group, 5, &comm));
        use(comm, check_size, (check_rank - first + check_size) % check_size);
        MUST(MPI_Comm_free(&comm));
        MUST(MPI_Group_free(&group));
    }
}

/* A chain of pairs, even ones first, none of which waits for the whole chain. */
static void pairs(void)
{
    MPI_Comm left = MPI_COMM_NULL, right = MPI_COMM_NULL;
    for (int step = 0; step < 2; step++) {
        int first = step == check_rank % 2 ? check_rank : check_rank - 1;
        if (first < 0 || first + 1 >= check_size)
            continue;
        int ranks[2] = {first, first + 1};
        MPI_Group group;
        MUST(MPI_Group_incl(world, 2, ranks, &group));
        MUST(MPI_Comm_create_group(MPI_COMM_WORLD, group, first << 20,
                                   first == check_rank ? &right : &left));
        MUST(MPI_Group_free(&group));
    }
    if (right != MPI_COMM_NULL)
        use(right, 2, 0);
    if (left != MPI_COMM_NULL) {
        use(left, 2, 1);
        MUST(MPI_Comm_free(&left));
    }
    if (right != MPI_COMM_NULL)
        MUST(MPI_Comm_free(&right));
}

static void outside(void)
{
    int own = check_rank, next = (check_rank + 1) % check_size;
    MPI_Group me, other;
    MPI_Comm self, comm = MPI_COMM_WORLD;
    MUST(MPI_Group_incl(world, 1, &own, &me));
    MUST(MPI_Comm_create_group(MPI_COMM_WORLD, me, 1, &self));
    use(self, 1, 0);
    if (check_size > 1) {
        MUST(MPI_Group_incl(world, 1, &next, &other));
        MUST_FAIL(MPI_Comm_create(self, other, &comm), MPI_ERR_GROUP);
        if (check_strict()) /* MPICH 5 only sees that the caller is no member. */
            MUST_FAIL(MPI_Comm_create_group(self, other, 1, &comm), MPI_ERR_GROUP);
        CHECK_STRICTLY(comm == MPI_COMM_WORLD);
        MUST(MPI_Group_free(&other));
    }
    MUST_FAIL(MPI_Comm_create_group(self, me, -1, &comm), MPI_ERR_TAG);
    MUST(MPI_Comm_free(&self));
    MUST(MPI_Group_free(&me));
}

static void expect_name(MPI_Comm comm, const char *expected)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length = -1;
    memset(name, 1, sizeof name);
    MUST(MPI_Comm_get_name(comm, name, &length));
    CHECK(strcmp(name, expected) == 0);
    CHECK_EQUAL(length, (long long)strlen(expected));
}

static void names(void)
{
    char lengthy[2 * MPI_MAX_OBJECT_NAME];
    MPI_Comm comm;
    expect_name(MPI_COMM_WORLD, "MPI_COMM_WORLD");
    expect_name(MPI_COMM_SELF, "MPI_COMM_SELF");
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    expect_name(comm, "");
    MUST(MPI_Comm_set_name(comm, " two words "));
    expect_name(comm, " two words ");
    memset(lengthy, 'n', sizeof lengthy - 1);
    lengthy[sizeof lengthy - 1] = '\0';
    MUST(MPI_Comm_set_name(comm, lengthy));
    lengthy[MPI_MAX_OBJECT_NAME - 1] = '\0';
    expect_name(comm, lengthy);
    MUST(MPI_Comm_set_name(comm, ""));
    expect_name(comm, "");
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Comm_set_name(MPI_COMM_SELF, "me"));
    expect_name(MPI_COMM_SELF, "me");
}

/* Leaving waits for what this process has started. */
static void leaving(void)
{
    enum { LONG = 50000 };
    static int out[LONG], in[LONG];
    MPI_Comm comm, predefined = MPI_COMM_WORLD;
    MPI_Request request[2];
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    out[LONG - 1] = check_rank;
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MUST(MPI_Irecv(in, LONG, MPI_INT, left, 1, comm, &request[0]));
    MUST(MPI_Isend(out, LONG, MPI_INT, right, 1, comm, &request[1]));
    if (!check_strict()) /* MPICH 5 waits forever for requests that nobody has waited for. */
        MUST(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
    MUST(MPI_Comm_disconnect(&comm));
    CHECK(comm == MPI_COMM_NULL);
    CHECK_EQUAL(in[LONG - 1], left);
    MUST(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
    MUST_FAIL(MPI_Comm_free(&predefined), MPI_ERR_COMM);
    CHECK(predefined == MPI_COMM_WORLD);
    predefined = MPI_COMM_SELF;
    if (check_strict()) /* MPICH 5 disconnects it. */
        MUST_FAIL(MPI_Comm_disconnect(&predefined), MPI_ERR_COMM);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    MUST(MPI_Comm_group(MPI_COMM_WORLD, &world));
    section("turned");
    turned();
    section("pairs");
    pairs();
    section("outside");
    outside();
    section("names");
    names();
    section("leaving");
    leaving();
    MUST(MPI_Group_free(&world));
    return check_end();
}
