/* Processes of two jobs that have exchanged no message: those that wait for one that has ended learn of it. The
 * argument says which end: 0 a child, 1 a parent, 2 all children, 3 all parents but the root. */
#include "failures.h"

#define CHILDREN 3

static int is_victim(int way, int is_child, int size)
{
    switch (way) {
    case 0: return is_child && rank == 1;
    case 1: return !is_child && rank == size - 1;
    case 2: return is_child;
    default: return !is_child && rank > 0;
    }
}

/* Receives from, or sends to, every process of the other group that ends. */
static void wait_for_the_ended(MPI_Comm inter, int way, int is_child, int others)
{
    int mine = rank, value = 0;
    for (int other = 0; other < others; other++) {
        rank = other;
        int ends = is_victim(way, !is_child, others);
        rank = mine;
        if (!ends)
            continue;
        int code = rank % 2 ? MPI_Ssend(&value, 1, MPI_INT, other, 9, inter)
                            : MPI_Recv(&value, 1, MPI_INT, other, 9, inter, MPI_STATUS_IGNORE);
        EXPECT_IS(class_of(code), MPIX_ERR_PROC_FAILED);
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int way = argc > 1 ? atoi(argv[1]) : 0, others, code;
    MPI_Comm inter, next, survivors;
    MPI_Comm_get_parent(&inter);
    int is_child = inter != MPI_COMM_NULL;
    if (!is_child) {
        char number[8], *words[] = {number, NULL};
        snprintf(number, sizeof number, "%d", way);
        EXPECT_IS(MPI_Comm_spawn(argv[0], words, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                                 MPI_ERRCODES_IGNORE),
                  MPI_SUCCESS);
    }
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    MPI_Comm_remote_size(inter, &others);
    /* The call that connects both groups has ended at all processes of this one. */
    int flag = 1;
    MPIX_Comm_agree(MPI_COMM_WORLD, &flag);
    if (is_victim(way, is_child, size))
        die();
    if (way < 2 || (way == 2) != is_child)
        wait_for_the_ended(inter, way, is_child, others);
    do
        code = MPI_Barrier(inter);
    while (code == MPI_SUCCESS);
    EXPECT_IS(class_of(code), MPIX_ERR_PROC_FAILED);
    EXPECT_IS(class_of(MPIX_Comm_shrink(inter, &next)), way == 2 ? MPIX_ERR_PROC_FAILED : MPI_SUCCESS);
    if (way != 2) {
        int total = 0;
        EXPECT_IS(MPI_Barrier(next), MPI_SUCCESS);
        EXPECT_IS(MPI_Allreduce(&errors, &total, 1, MPI_INT, MPI_SUM, next), MPI_SUCCESS);
        errors = is_child ? 0 : errors + total;
        EXPECT_IS(MPI_Comm_disconnect(&next), MPI_SUCCESS);
    }
    EXPECT_IS(MPI_Comm_free(&inter), MPI_SUCCESS);
    if (is_child) {
        MPI_Finalize();
        return 0;
    }
    EXPECT_IS(MPIX_Comm_shrink(MPI_COMM_WORLD, &survivors), MPI_SUCCESS);
    return end(survivors);
}
