/* MPI_Comm_idup: the duplicate is there when the request is; several at once; work in between. */
#include "check.h"

enum { SEVERAL = 4 };

int main(int argc, char **argv)
{
    MPI_Comm comm[SEVERAL];
    MPI_Request request[SEVERAL];
    check_start(&argc, &argv);
    section("several at once");
    for (int index = 0; index < SEVERAL; index++)
        MUST(MPI_Comm_idup(MPI_COMM_WORLD, &comm[index], &request[index]));
    int sum = -1;
    MUST(MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQUAL(sum, check_size * (check_size - 1) / 2);
    MUST(MPI_Waitall(SEVERAL, request, MPI_STATUSES_IGNORE));
    for (int index = 0; index < SEVERAL; index++) {
        int relation = -1;
        MUST(MPI_Comm_compare(comm[index], MPI_COMM_WORLD, &relation));
        CHECK_EQUAL(relation, MPI_CONGRUENT);
        MUST(MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_MAX, comm[index]));
        CHECK_EQUAL(sum, check_size - 1);
        MUST(MPI_Comm_free(&comm[index]));
    }
    return check_end();
}
