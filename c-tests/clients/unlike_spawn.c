/* Each process of a world spawns one. A child has what the machine has, and its parent what the client says
 * that it has: the argument says for each rank whether these are alike ('a') or unlike ('u'). */
#include "unlike.h"

/* Elements of every type to the other side and back. */
static void exchange(MPI_Comm other, int is_child)
{
    for (int of = 0; of < type_count; of++) {
        char *out = elements_of(types[of], 4, is_child), *in = room(types[of], 4);
        MUST(MPI_Sendrecv(out, 4, types[of], 0, 1, in, 4, types[of], 0, 1, other, MPI_STATUS_IGNORE));
        check_elements(__LINE__, "exchange", in, types[of], 4, !is_child);
        free(out);
        free(in);
    }
    int mine = is_child ? 100 : 1, sum = 0;
    MUST(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, other));
    CHECK_EQUAL(sum, is_child ? 1 : 100);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    make_types();
    MPI_Comm parent, child;
    MUST(MPI_Comm_get_parent(&parent));
    if (parent != MPI_COMM_NULL) {
        CHECK_EQUAL(is_external(parent), argc > 1 && *argv[1] == 'u');
        exchange(parent, 1);
        MUST(MPI_Send(&check_errors, 1, MPI_INT, 0, 2, parent));
        MUST(MPI_Comm_disconnect(&parent));
    } else {
        char *arguments[] = {argc > 1 && argv[1][check_rank] == 'u' ? "u" : "a", NULL};
        int errors = 0;
        MUST(MPI_Comm_spawn(argv[0], arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &child, MPI_ERRCODES_IGNORE));
        CHECK_EQUAL(is_external(child), *arguments[0] == 'u');
        exchange(child, 0);
        MUST(MPI_Recv(&errors, 1, MPI_INT, 0, 2, child, MPI_STATUS_IGNORE));
        check_errors += errors;
        MUST(MPI_Comm_disconnect(&child));
    }
    free_types();
    return check_end();
}
