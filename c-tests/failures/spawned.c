/* Processes of two jobs, of which one ends: a spawned one, or a parent. Those that are left find out, agree,
 * shrink, and spawn others in its place. The argument says when which process ends. */
#include "failures.h"

enum { CHILDREN = 3 };

static const char *self;

static MPI_Comm spawn(MPI_Comm comm, int count, const char *role)
{
    MPI_Comm between;
    char *arguments[] = {(char *)role, NULL};
    EXPECT_IS(MPI_Comm_spawn(self, arguments, count, MPI_INFO_NULL, 0, comm, &between,
                             MPI_ERRCODES_IGNORE),
              MPI_SUCCESS);
    MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN);
    return between;
}

static MPI_Comm merge(MPI_Comm between, int high)
{
    MPI_Comm all;
    EXPECT_IS(MPI_Intercomm_merge(between, high, &all), MPI_SUCCESS);
    MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
    return all;
}

/* The process of rank `lost` ends once all have merged; only rank 0 has ever sent something to it. */
static MPI_Comm recover(MPI_Comm all, int lost)
{
    int flag = 1, value = 0, me, members;
    MPI_Comm survivors;
    MPI_Comm_rank(all, &me);
    MPI_Comm_size(all, &members);
    if (me == lost) {
        EXPECT_IS(MPI_Recv(&value, 1, MPI_INT, 0, 8, all, MPI_STATUS_IGNORE), MPI_SUCCESS);
        die();
    }
    for (int other = 1; me == 0 && other < members; other++)
        if (other != lost)
            EXPECT_IS(MPI_Recv(&value, 1, MPI_INT, other, 8, all, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_IS(MPI_Send(&value, 1, MPI_INT, me == 0 ? lost : 0, 8, all), MPI_SUCCESS);
    EXPECT_IS(class_of(MPI_Recv(&value, 1, MPI_INT, lost, 9, all, MPI_STATUS_IGNORE)), MPIX_ERR_PROC_FAILED);
    EXPECT_IS(class_of(MPIX_Comm_agree(all, &flag)), MPIX_ERR_PROC_FAILED);
    EXPECT_IS(flag, 1);
    EXPECT_IS(MPIX_Comm_shrink(all, &survivors), MPI_SUCCESS);
    MPI_Comm_set_errhandler(survivors, MPI_ERRORS_RETURN);
    check_works(survivors, members - 1);
    return survivors;
}

static void replace(MPI_Comm survivors, int expected)
{
    MPI_Comm more = spawn(survivors, 1, "new");
    MPI_Comm all = merge(more, 0);
    check_works(all, expected);
    exit(end(all));
}

static void child(MPI_Comm parents, const char *role)
{
    int parent_count;
    MPI_Comm_set_errhandler(parents, MPI_ERRORS_RETURN);
    MPI_Comm_remote_size(parents, &parent_count);
    MPI_Comm all = merge(parents, 1);
    if (!strcmp(role, "new")) {
        check_works(all, parent_count + 1);
        exit(end(all));
    }
    int lost = !strcmp(role, "child") ? parent_count + CHILDREN - 1 : parent_count - 1;
    replace(recover(all, lost), parent_count + CHILDREN);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    self = argv[0];
    MPI_Comm parents;
    MPI_Comm_get_parent(&parents);
    if (parents != MPI_COMM_NULL)
        child(parents, argv[1]);
    int lost = !strcmp(argv[1], "parent") ? size - 1 : size + CHILDREN - 1;
    MPI_Comm all = merge(spawn(MPI_COMM_WORLD, CHILDREN, argv[1]), 0);
    replace(recover(all, lost), size + CHILDREN);
}
