/* Spawned processes (MPI 5.0 §11.8): arguments, several programs, error codes, collectives over parents and
 * children, children that spawn, many jobs one after the other. Children are this program, too. */
#include "../check.h"

static const char *self;

/* Every collective pattern that a merged communicator may take: a sum, all ranks, a long message. */
static void check_merged(MPI_Comm between, int high, int expected)
{
    MPI_Comm all;
    MUST(MPI_Intercomm_merge(between, high, &all));
    int rank, size;
    MUST(MPI_Comm_rank(all, &rank));
    MUST(MPI_Comm_size(all, &size));
    CHECK(size == expected);
    int sum = 0;
    MUST(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, all));
    CHECK(sum == size * (size - 1) / 2);
    int *ranks = malloc(size * sizeof *ranks);
    MUST(MPI_Allgather(&rank, 1, MPI_INT, ranks, 1, MPI_INT, all));
    for (int other = 0; other < size; other++)
        CHECK(ranks[other] == other);
    free(ranks);
    enum { LONG = 300000 };
    for (int root = 0; root < size; root += size - 1) {
        int *data = malloc(LONG * sizeof *data);
        for (int at = 0; at < LONG; at++)
            data[at] = rank == root ? at * 3 + root : -1;
        MUST(MPI_Bcast(data, LONG, MPI_INT, root, all));
        int good = 1;
        for (int at = 0; at < LONG; at++)
            good &= data[at] == at * 3 + root;
        CHECK(good);
        free(data);
        if (size == 1)
            break;
    }
    /* Ranks that share memory are on one host; those of another job may be apart. */
    MPI_Comm near;
    MUST(MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near));
    int beside = 0;
    MUST(MPI_Allreduce(&rank, &beside, 1, MPI_INT, MPI_MAX, near));
    CHECK(beside >= rank);
    MUST(MPI_Comm_free(&near));
    MUST(MPI_Comm_free(&all));
}

/* One message each way between the first processes. */
static void check_messages(MPI_Comm between)
{
    int rank;
    MUST(MPI_Comm_rank(between, &rank));
    if (rank > 0)
        return;
    int sent = 7, received = 0;
    MUST(MPI_Sendrecv(&sent, 1, MPI_INT, 0, 5, &received, 1, MPI_INT, 0, 5, between, MPI_STATUS_IGNORE));
    CHECK(received == 7);
}

static MPI_Comm spawn(const char *role, int count, int root, MPI_Comm comm, MPI_Info info)
{
    char *arguments[] = {(char *)role, "two words", "", "\"quoted\" $HOME *", NULL};
    int codes[16];
    for (int at = 0; at < 16; at++)
        codes[at] = -1;
    MPI_Comm children;
    int rank;
    MUST(MPI_Comm_rank(comm, &rank));
    /* Only the arguments of the root count. */
    int is_root = rank == root;
    MUST(MPI_Comm_spawn(is_root ? self : NULL, is_root ? arguments : NULL, is_root ? count : -5,
                        is_root ? info : MPI_INFO_NULL, root, comm, &children, codes));
    for (int at = 0; at < count; at++)
        CHECK(codes[at] == MPI_SUCCESS);
    int remote, is_inter = 0;
    MUST(MPI_Comm_test_inter(children, &is_inter));
    MUST(MPI_Comm_remote_size(children, &remote));
    CHECK(is_inter && remote == count);
    return children;
}

static int child(MPI_Comm parent, int argc, char **argv)
{
    CHECK(argc == 5 && strcmp(argv[2], "two words") == 0 && argv[3][0] == 0);
    CHECK(argc == 5 && strcmp(argv[4], "\"quoted\" $HOME *") == 0);
    int size, parents;
    MUST(MPI_Comm_size(MPI_COMM_WORLD, &size));
    MUST(MPI_Comm_remote_size(parent, &parents));
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    MUST(MPI_Comm_get_name(parent, name, &length));
    CHECK(strcmp(name, "MPI_COMM_PARENT") == 0);
    check_messages(parent);
    check_merged(parent, 1, size + parents);
    if (strcmp(argv[1], "parent") == 0) {
        MPI_Comm grandchildren = spawn("child", 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL);
        check_messages(grandchildren);
        check_merged(grandchildren, 0, size + 1);
        MUST(MPI_Comm_disconnect(&grandchildren));
    }
    if (strcmp(argv[1], "stays") != 0) {
        MUST(MPI_Comm_disconnect(&parent));
        MUST(MPI_Comm_get_parent(&parent));
        CHECK(parent == MPI_COMM_NULL);
    }
    int errors = check_errors;
    MPI_Finalize();
    return errors != 0;
}

static void programs(void)
{
    section("several programs");
    char *commands[] = {(char *)self, (char *)self};
    char *first[] = {"child", "two words", "", "\"quoted\" $HOME *", NULL};
    char **arguments[] = {first, first};
    int counts[] = {1, 2}, codes[3] = {-1, -1, -1};
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm children;
    MUST(MPI_Comm_spawn_multiple(2, commands, arguments, counts, infos, 0, MPI_COMM_WORLD, &children,
                                 codes));
    CHECK(codes[0] == MPI_SUCCESS && codes[1] == MPI_SUCCESS && codes[2] == MPI_SUCCESS);
    check_messages(children);
    check_merged(children, 0, check_size + 3);
    MUST(MPI_Comm_disconnect(&children));
}

static void failures(void)
{
    section("programs that do not start");
    MPI_Comm children;
    int codes[2] = {-1, -1};
    MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MUST_FAIL(MPI_Comm_spawn("./no-such-program", MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
                             &children, codes), MPI_ERR_SPAWN);
    CHECK(check_class(codes[0]) == MPI_ERR_SPAWN && check_class(codes[1]) == MPI_ERR_SPAWN);
    /* One that never initializes MPI must not be waited for. */
    MUST_FAIL(MPI_Comm_spawn("true", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                             MPI_ERRCODES_IGNORE), MPI_ERR_SPAWN);
    MUST_FAIL(MPI_Comm_spawn(self, MPI_ARGV_NULL, 0, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                             MPI_ERRCODES_IGNORE), MPI_ERR_ARG);
    MUST_FAIL(MPI_Comm_spawn(self, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 99, MPI_COMM_WORLD, &children,
                             MPI_ERRCODES_IGNORE), MPI_ERR_ROOT);
    MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv)
{
    MPI_Comm parent, children;
    self = argv[0];
    MUST(MPI_Init(&argc, &argv));
    MUST(MPI_Comm_get_parent(&parent));
    if (parent != MPI_COMM_NULL) {
        MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
        MPI_Comm_size(MPI_COMM_WORLD, &check_size);
        return child(parent, argc, argv);
    }
    check_adopt();

    section("children of all");
    for (int root = 0; root < check_size; root += check_size > 1 ? check_size - 1 : 1) {
        children = spawn("child", 2, root, MPI_COMM_WORLD, MPI_INFO_NULL);
        check_messages(children);
        check_merged(children, 0, check_size + 2);
        MUST(MPI_Comm_disconnect(&children));
        CHECK(children == MPI_COMM_NULL);
    }

    section("children of one, at the same time as others");
    children = spawn("child", 1, 0, MPI_COMM_SELF, MPI_INFO_NULL);
    check_messages(children);
    check_merged(children, 0, 2);
    MUST(MPI_Comm_disconnect(&children));

    section("children that have children");
    children = spawn("parent", 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL);
    check_messages(children);
    check_merged(children, 0, check_size + 1);
    MUST(MPI_Comm_disconnect(&children));

    programs();
    failures();

    section("one job after the other");
    for (int turn = 0; turn < 5; turn++) {
        children = spawn("child", 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL);
        check_messages(children);
        check_merged(children, 0, check_size + 1);
        MUST(MPI_Comm_disconnect(&children));
    }

    section("children that are connected at the end");
    children = spawn("stays", 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL);
    check_messages(children);
    check_merged(children, 0, check_size + 1);
    return check_end();
}
